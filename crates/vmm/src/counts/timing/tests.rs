//! The source over a core that executes a few instructions.

use super::*;
use iced_x86::{Decoder, DecoderOptions};
use soft_cpu::BranchStep;
use vpmu::event::{FixedEvent, IDENTITIES};
use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS, SKYLAKE_SP};

const ALL: PrivilegeFilter = PrivilegeFilter::ALL;

fn prepared(core: &SharedCore, bytes: &[u8]) -> (Prepared, u8) {
    let instruction = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
    (core.get().model().prepare(&instruction), instruction.len() as u8)
}

/// DEC, JNZ; a load and a DIV now and then; some of it at CPL 3. Stops when something is due.
fn run(core: &SharedCore, instructions: u64) -> u64 {
    let dec = prepared(core, &[0xFF, 0xC9]);
    let jnz = prepared(core, &[0x75, 0xF0]);
    let load = prepared(core, &[0x48, 0x8B, 0x06]);
    let div = prepared(core, &[0x48, 0xF7, 0xF1]);
    for n in 0..instructions {
        let (prepared, length) = match n % 8 {
            3 => &load,
            5 => &div,
            7 => &jnz,
            _ => &dec,
        };
        let linear = 0x10_0000 + n * 4096;
        let access =
            core_model::MemoryAccess { linear, physical: linear, size: 8, page: 12, ..Default::default() };
        let branch = BranchStep {
            kind: core_model::BranchKind::Conditional,
            taken: n % 24 < 16,
            target: 0x1000 + (n % 24 / 16) * 16,
        };
        let step = Step {
            rip: 0x1000 + n % 8 * 2,
            fetch_pa: 0x1000 + n % 8 * 2,
            fetch_page: 12,
            length: *length,
            user: n % 1000 >= 500,
            memory: if n % 8 == 3 { std::slice::from_ref(&access) } else { &[] },
            branch: (n % 8 == 7).then_some(branch),
            repetitions: 1,
        };
        if core.drive().retire(prepared, &step) {
            return n + 1;
        }
    }
    instructions
}

fn new(profile: &Profile) -> (SharedCore, TimingSource) {
    let core = SharedCore::new(profile).expect("a model");
    (core.clone(), TimingSource::new(profile, core))
}

fn named(event: Event) -> EventRequest {
    EventRequest::named(event, EventCode::default())
}

fn coded(table: EventTable, code: EventCode) -> EventRequest {
    let resolved = table.resolve(code);
    EventRequest { code, event: resolved.exact, base: resolved.base, limit: None }
}

fn active(request: EventRequest, until_overflow: u64) -> Active {
    Active { counter: CounterId::Gp(0), request, filter: ALL, until_overflow, interrupts: true }
}

/// What the model cannot know; all others count.
#[test]
fn unknown_events() {
    let mut unknown: Vec<&str> = [&SKYLAKE_SP, &ICELAKE_SP, &SAPPHIRE_RAPIDS]
        .into_iter()
        .flat_map(|profile| {
            let (_, source) = new(profile);
            let requests = profile.events.encodings().iter().map(move |encoding| EventRequest {
                event: Some(encoding.event),
                ..coded(profile.events, encoding.code)
            });
            let fixed = (0..4).filter_map(FixedEvent::event).map(named);
            let unknown = move |request: &EventRequest| source.provenance(request) == Provenance::Unknown;
            requests.chain(fixed).filter(unknown).filter_map(|request| request.event)
        })
        .map(Event::name)
        .filter(|name| !name.contains("LOAD_LATENCY_GT"))
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    assert_eq!(
        unknown,
        ["ASSISTS.ANY", "ASSISTS.FP", "FRONTEND_RETIRED.LATENCY_GE_2_BUBBLES_GE_1"],
        "the model does not see the values that need an assist"
    );
}

#[test]
fn sums_and_slots_add_up() {
    for profile in [&ICELAKE_SP, &SAPPHIRE_RAPIDS] {
        let (core, mut source) = new(profile);
        run(&core, 20_000);
        for filter in
            [ALL, PrivilegeFilter { os: true, usr: false }, PrivilegeFilter { os: false, usr: true }]
        {
            for identity in IDENTITIES {
                let known = |event: &Event| source.quantity(&named(*event)).is_some();
                if known(&identity.total) && identity.parts.iter().all(known) {
                    let total = source.total(&named(identity.total), filter);
                    let parts: u64 =
                        identity.parts.iter().map(|part| source.total(&named(*part), filter)).sum();
                    assert_eq!(total, parts, "{}", identity.total);
                }
            }
            let slots = source.topdown(filter).expect("metrics");
            assert_eq!(slots.fields[..4].iter().sum::<u64>(), slots.slots);
            assert_eq!(slots.slots, source.total(&named(Event::TopdownSlots), filter));
        }
        assert_eq!(source.total(&named(Event::InstRetiredAny), ALL), 20_000);
        assert_eq!(source.total(&named(Event::BrInstRetiredCond), ALL), 2_500);
    }
}

#[test]
fn modifiers_count_cycles_and_their_starts() {
    let (core, mut source) = new(&ICELAKE_SP);
    run(&core, 20_000);
    // What has been allocated has also retired.
    core.drive().event(CoreEvent::Serialise);
    let table = ICELAKE_SP.events;
    let mut count = |code: EventCode| {
        let request = coded(table, code);
        assert_ne!(source.provenance(&request), Provenance::Unknown, "{code}");
        source.total(&request, ALL)
    };
    let cycles = count(EventCode::new(0x3C, 0));
    let slots = EventCode::new(0xC2, 2);
    for cmask in [2, 3, 5, 9] {
        let with = count(EventCode { cmask, ..slots });
        let without = count(EventCode { cmask, inv: true, ..slots });
        assert_eq!(with + without, cycles, "cmask {cmask}");
        assert!(count(EventCode { cmask, edge: true, ..slots }) <= with);
    }
    // perf's cycles:pp: fewer than 16 instructions retire in every cycle.
    assert_eq!(count(EventCode { cmask: 17, inv: true, ..EventCode::new(0xC0, 0) }), cycles);
    assert_eq!(count(EventCode { cmask: 1, ..EventCode::new(0x3C, 0) }), cycles);
    assert_eq!(count(EventCode { cmask: 2, ..EventCode::new(0x3C, 0) }), 0);
    // A unit mask without a name: scalar and packed doubles.
    assert_eq!(count(EventCode::new(0xC7, 5)), 0);
    let unknown = coded(table, EventCode { cmask: 3, ..EventCode::new(0xC0, 0) });
    assert_eq!(source.provenance(&unknown), Provenance::Unknown, "instructions are not known by cycle");
}

/// The core asks to stop after the instruction in which a counter passes its top, and not before.
#[test]
fn overflows_stop_at_the_instruction() {
    for (event, until) in [
        (Event::InstRetiredAny, 1_000),
        (Event::CpuClkUnhaltedThread, 3_000),
        (Event::TopdownSlots, 20_001),
        (Event::BrInstRetiredAllBranches, 77),
        (Event::UopsRetiredHeavy, 50),
        (Event::MemInstRetiredAllLoads, 33),
    ] {
        let (core, mut source) = new(&SAPPHIRE_RAPIDS);
        run(&core, 100);
        let start = source.total(&named(event), ALL);
        source.rearm(&[active(named(event), until)]);
        core.drive().arm(u64::MAX);
        let stopped = run(&core, 100_000);
        let now = source.total(&named(event), ALL);
        assert!(now - start >= until, "{event}: {} of {until}", now - start);
        assert!(stopped < 100_000, "{event}");

        let (again, mut before) = new(&SAPPHIRE_RAPIDS);
        run(&again, 100);
        run(&again, stopped - 1);
        assert!(before.total(&named(event), ALL) - start < until, "{event} has overflowed before");
    }
}

#[test]
fn the_timer_stops_the_core() {
    let (core, _) = new(&ICELAKE_SP);
    core.drive().arm(5_000);
    run(&core, 1_000_000);
    let late = core.get().cycles() - 5_000;
    assert!(late < 500, "{late} cycles late");
}

#[test]
fn pauses_gaps_and_branch_records_are_counted() {
    let (core, mut source) = new(&SAPPHIRE_RAPIDS);
    run(&core, 20_000);
    let (pause, length) = prepared(&core, &[0xF3, 0x90]);
    for n in 0..5 {
        let rip = 0x9000 + 0x4000 * n;
        core.drive().retire(
            &pause,
            &Step {
                rip,
                fetch_pa: rip,
                fetch_page: 12,
                length,
                user: true,
                repetitions: 1,
                memory: &[],
                branch: None,
            },
        );
    }
    core.drive().event(CoreEvent::Serialise);
    let mut user = |event: Event| source.total(&named(event), PrivilegeFilter { os: false, usr: true });
    assert_eq!((user(Event::MiscRetiredPauseInst), user(Event::CpuClkUnhaltedPauseInst)), (5, 5));
    assert_eq!(user(Event::CpuClkUnhaltedPause), user(Event::CpuClkUnhaltedC0Wait));
    assert!(user(Event::CpuClkUnhaltedPause) >= 5 * 100);
    // Each was in code that nobody had fetched.
    let gaps = [1, 4, 16, 64].map(|n| match n {
        1 => user(Event::FrontendRetiredLatencyGe1),
        4 => user(Event::FrontendRetiredLatencyGe4),
        16 => user(Event::FrontendRetiredLatencyGe16),
        _ => user(Event::FrontendRetiredLatencyGe64),
    });
    assert!(gaps.is_sorted_by(|more, less| more >= less) && gaps[3] >= 5, "{gaps:?}");
    assert!((1..=user(Event::RsEmpty)).contains(&user(Event::RsEmptyCount)));
    assert_eq!(user(Event::MiscRetiredLbrInserts), 0);
    core.drive().count_branch_record(true);
    core.drive().count_branch_record(false);
    assert_eq!(source.total(&named(Event::MiscRetiredLbrInserts), ALL), 2);
}
