//! Guests that raise exceptions are in the tests of the soft engine.

use super::*;
use crate::machine::Outcome;
use crate::machine::exceptions::{Cause, ExceptionLog, Moment, MsrAccess, Refusal, RefusalReason};
use vpmu::pmu::Fault;
use vpmu::profile::ICELAKE_SP;

const RIP: u64 = 0x1000;
/// What delivery raises.
const MISSING: Exception = Exception { vector: 11, error: Some(0x33), address: 0 };

fn exception(vector: u8, error: Option<u32>, delivered: bool) -> Delivery {
    Delivery {
        event: Exception { vector, error, address: 0x1234 },
        kind: EventKind::Exception,
        from: Place { cs: 8, rip: RIP, cpl: 0 },
        handler: if delivered { Ok(Place { cs: 8, rip: 0x2000, cpl: 0 }) } else { Err(MISSING) },
    }
}

fn cause(log: &ExceptionLog<Delivery>, outcome: &Outcome) -> Option<Cause> {
    log.cause(outcome, &ICELAKE_SP, |rip| Some(format!("instruction at {rip:#x}")))
}

fn note(log: &mut ExceptionLog<Delivery>, delivery: &Delivery) {
    log.note(delivery, &ICELAKE_SP, Moment::default());
}

#[test]
fn error_codes_have_a_meaning() {
    let meaning = |vector, code| error_meaning(&Exception { vector, error: Some(code), address: 0 });
    assert_eq!(meaning(GP, 0), None);
    assert_eq!(meaning(GP, 0x6B).as_deref(), Some("IDT gate 13 (#GP)"));
    assert_eq!(meaning(GP, 0x202).as_deref(), Some("IDT gate 64"));
    assert_eq!(meaning(GP, 0x18).as_deref(), Some("GDT selector 0x18"));
    assert_eq!(meaning(11, 0x1C).as_deref(), Some("LDT selector 0x1c"));
    assert_eq!(meaning(PF, 0x2).as_deref(), Some("write, page not present"));
    assert_eq!(meaning(PF, 0x5).as_deref(), Some("read in user mode, not permitted"));
    assert_eq!(meaning(PF, 0x11).as_deref(), Some("fetch, not permitted"));
}

#[test]
fn a_triple_fault_is_what_could_not_be_delivered_since_something_could() {
    let mut log = ExceptionLog::default();
    note(&mut log, &exception(6, None, false));
    note(&mut log, &exception(GP, Some(0x33), true));
    assert_eq!(cause(&log, &Outcome::TripleFault), None);
    for (vector, error) in [(PF, 2), (PF, 0), (8, 0)] {
        note(&mut log, &exception(vector, Some(error), false));
    }
    let cause = cause(&log, &Outcome::TripleFault).expect("three exceptions");
    let titles: Vec<&str> = cause.exceptions.iter().map(|raised| raised.title.as_str()).collect();
    let first = "#PF(0x2: write, page not present) of address 0x1234";
    assert_eq!(titles, [first, "#PF(0x0: read, page not present) of address 0x1234", "#DF(0x0)"]);
    assert_eq!(cause.exceptions[0].delivery_raised.as_deref(), Some("#NP(0x33: IDT gate 6 (#UD))"));
    assert_eq!(cause.exceptions[0].instruction.as_deref(), Some("instruction at 0x1000"));
}

#[test]
fn other_crashes_have_the_newest_exception_and_results_have_none() {
    let mut log = ExceptionLog::default();
    assert_eq!(cause(&log, &Outcome::Halted), None);
    note(&mut log, &exception(6, None, true));
    note(&mut log, &exception(0, None, true));
    for outcome in [Outcome::Halted, Outcome::Panicked, Outcome::Reset] {
        let cause = cause(&log, &outcome).expect("an exception");
        let [raised] = &*cause.exceptions else { panic!("{cause:?}") };
        assert!(matches!(raised.details, Details::X86 { vector: 0, .. }), "{raised:?}");
        assert_eq!(cause.exceptions[0].delivery_raised, None);
    }
    assert_eq!(cause(&log, &Outcome::Exit { status: 3 }), None);
}

#[test]
fn a_refused_access_explains_its_own_exception_only() {
    let refusal = Refusal {
        access: MsrAccess::Wrmsr { index: 0x38F, value: 0x100 },
        rip: Some(RIP),
        reason: RefusalReason::Pmu(Fault::ReservedBits(0x100)),
    };
    let text = "WRMSR IA32_PERF_GLOBAL_CTRL (0x38f) = 0x100: reserved bits 0x100 are set";
    let mut log = ExceptionLog::default();
    log.refuse(refusal);
    note(&mut log, &exception(GP, Some(0), false));
    note(&mut log, &exception(GP, Some(0x6B), false));
    let refused = |cause: Option<Cause>| -> Vec<_> {
        cause.into_iter().flat_map(|cause| cause.exceptions).map(|raised| raised.refused).collect()
    };
    assert_eq!(refused(cause(&log, &Outcome::TripleFault)), [Some(text.to_owned()), None]);

    let mut log = ExceptionLog::default();
    log.refuse(Refusal { rip: Some(RIP + 2), ..refusal });
    note(&mut log, &exception(GP, Some(0), true));
    assert_eq!(refused(cause(&log, &Outcome::Halted)), [None], "another instruction");
}

#[test]
fn where_exceptions_are_not_seen_the_newest_refused_access_is_told() {
    let mut log = ExceptionLog::default();
    assert_eq!(cause(&log, &Outcome::TripleFault), None);
    let access = MsrAccess::Rdpmc { index: 9 };
    log.refuse(Refusal { access, rip: Some(RIP), reason: RefusalReason::Pmu(Fault::RdpmcIndex(9)) });
    let cause = cause(&log, &Outcome::TripleFault).expect("an access");
    assert_eq!(cause.refused_rip, Some(RIP));
    assert!(cause.refused.is_some_and(|text| text.contains("RDPMC index 0x9 does not exist")));
}
