//! What the summary of a run looks like.

use super::*;
use crate::output::test_report;
use vmm::engine::RegisterDump;
use vmm::machine::exceptions::{Details, MsrAccess, RaisedException};
use vmm::machine::pmu::AccessStats;

fn shown(report: &RunReport) -> String {
    anstream::adapter::strip_str(&summary(report, Some(Path::new("smoke.elf")))).to_string()
}

#[test]
fn a_pass_looks_like_this() {
    let mut report = test_report();
    report.accesses =
        AccessStats { rdmsr: 12, wrmsr: 1_200, rdpmc: 0, faults: 1, pmis: 3, ..AccessStats::default() };
    report.unknown_msrs = UnknownMsrs {
        seen: vec![
            UnknownMsr {
                index: 0x1B8,
                count: 2,
                first: MsrAccess::Wrmsr { index: 0x1B8, value: 0x10 },
                rip: Some(0x10_0042),
            },
            UnknownMsr { index: 0x1FC, count: 1, first: MsrAccess::Rdmsr { index: 0x1FC }, rip: None },
        ],
        further_accesses: 1_200,
    };
    report.warnings = vec!["something to know".to_owned().into()];
    insta::assert_snapshot!(shown(&report));
}

#[test]
fn a_crash_looks_like_this() {
    let mut report = test_report();
    report.outcome = Outcome::TripleFault;
    report.registers = Some(RegisterDump {
        registers: vec![("rip", 0x10_01B2), ("rflags", 0x46), ("rax", u64::MAX), ("apic_base", 0xFEE0_0900)],
        code: vec![0x0F, 0x30],
        instruction: Some("wrmsr".to_owned()),
    });
    let raised = |title: &str, in_delivery: &str| RaisedException {
        title: title.to_owned(),
        details: Details::X86 { vector: 13, error_code: None, cr2: None, cpl: 0, rip: 0x10_01B2 },
        instruction: Some("wrmsr".to_owned()),
        refused: None,
        delivery_raised: Some(in_delivery.to_owned()),
    };
    let refused = "WRMSR IA32_PERF_GLOBAL_CTRL (0x38f) = 0x100: reserved bits 0x100 are set".to_owned();
    let first = raised("#GP(0x0)", "#GP(0x6b: IDT gate 13 (#GP))");
    let second = raised("#DF(0x0)", "#GP(0x43: IDT gate 8 (#DF))");
    let exceptions = vec![RaisedException { refused: Some(refused), ..first }, second];
    report.cause = Some(Cause { exceptions, ..Cause::default() });
    insta::assert_snapshot!(shown(&report));
}

#[test]
fn under_kvm_a_refused_access_is_the_cause_only_where_the_guest_still_is() {
    let refused = "WRMSR 0x1b8 = 0x1: this MSR is not implemented";
    for (rip, sure) in [(0x1000, true), (0x2000, false)] {
        let mut report = test_report();
        report.outcome = Outcome::TripleFault;
        report.registers =
            Some(RegisterDump { registers: vec![("rip", rip)], code: Vec::new(), instruction: None });
        let (refused, refused_rip) = (Some(refused.to_owned()), Some(0x1000));
        report.cause = Some(Cause { refused, refused_rip, ..Cause::default() });
        let text = shown(&report);
        assert_eq!(text.contains("most likely the #GP at 0x1000"), sure, "{text}");
        assert_eq!(text.contains("not known"), !sure, "{text}");
        assert!(text.contains("WRMSR 0x1b8 = 0x1"), "{text}");
    }
}

#[test]
fn register_rows_fit_80_columns() {
    let mut report = test_report();
    report.outcome = Outcome::Halted;
    report.registers = Some(RegisterDump {
        registers: vec![("apic_base", u64::MAX); 6],
        code: vec![0xFF; 15],
        instruction: None,
    });
    let text = anstream::adapter::strip_str(&postmortem(&report, Some(Path::new("x")))).to_string();
    let rows = text.lines().filter(|line| !line.contains("next:"));
    assert!(rows.clone().count() >= 4);
    assert!(rows.clone().all(|row| row.len() <= 80), "{text}");
}

#[test]
fn every_end_without_a_result_has_a_next_step() {
    for outcome in [
        Outcome::TripleFault,
        Outcome::Panicked,
        Outcome::Halted,
        Outcome::Idle,
        Outcome::TimedOut,
        Outcome::CannotExecute { what: "vaddpd".to_owned() },
    ] {
        let mut report = test_report();
        report.outcome = outcome;
        assert!(postmortem(&report, Some(Path::new("x"))).contains("next:"), "{:?}", report.outcome);
    }
}

#[test]
fn a_lost_part_of_the_console_is_said() {
    let mut report = test_report();
    report.console_dropped = 1_000;
    assert!(warnings(&report).contains("1,000 bytes"));
}

#[test]
fn an_interval_that_the_guest_marked_is_a_line() {
    use vmm::machine::pmu::interval::{Interval, IntervalRow};
    let mut report = test_report();
    let row =
        IntervalRow { event: "INST_RETIRED.ANY", user: 6_500_002, kernel: 1, provenance: Provenance::Exact };
    report.intervals = vec![Interval { label: "a\x1bb".into(), rows: vec![row], topdown_user: None }];
    let text = anstream::adapter::strip_str(&summary(&report, Some(Path::new("x")))).to_string();
    let line = text.lines().find(|line| line.starts_with("interval")).unwrap_or_default();
    assert!(line.ends_with("b: INST_RETIRED.ANY 6,500,002:u 1:k") && !line.contains('\x1b'), "{line}");
}

#[test]
fn a_time_out_on_kvm_names_the_other_engine() {
    let mut report = test_report();
    report.outcome = Outcome::TimedOut;
    report.engine = "kvm";
    assert!(postmortem(&report, Some(Path::new("x"))).contains("--engine soft"));
    report.engine = "soft";
    assert!(!postmortem(&report, Some(Path::new("x"))).contains("--engine soft"));
}

#[test]
fn nobody_is_sent_to_addr2line_with_a_compressed_kernel() {
    let mut report = test_report();
    report.outcome = Outcome::TimedOut;
    assert!(postmortem(&report, Some(Path::new("x"))).contains("objdump"));
    let text = postmortem(&report, None);
    assert!(
        text.contains("System.map") && !text.contains("addr2line") && !text.contains("objdump"),
        "{text}"
    );
}

#[test]
fn what_has_no_model_behind_it_is_said_once_with_what_to_do() {
    let mut report = test_report();
    report.warnings = vec![Warning::NoCoreModel];
    let text = warnings(&report);
    assert_eq!((text.lines().count(), text.matches("--detail timing").count()), (1, 1), "{text}");
}
