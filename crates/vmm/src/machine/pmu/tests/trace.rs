//! The trace: one JSON object per access.

use super::*;
use serde_json::json;

fn at(ns: u64, rip: u64) -> Origin {
    Origin { now: GuestTime(ns), rip: Some(rip) }
}

#[test]
fn a_write_is_decoded() {
    let mut bench = Bench::new(ICELAKE_SP);
    let outcome = quiet(bench.device.wrmsr(FIXED_CTR_CTRL, 0xB, at(1_500, 0x10_0000)));
    assert_eq!(outcome, WriteOutcome::Done);
    let line = &bench.trace()[0];
    assert_eq!(line["t_ns"], 1500);
    assert_eq!(line["op"], "wrmsr");
    assert_eq!(line["index"], "0x38d");
    assert_eq!(line["name"], "IA32_FIXED_CTR_CTRL");
    assert_eq!(line["value"], "0xb");
    assert_eq!(line["rip"], "0x100000");
    let decoded = line["decoded"].as_str().unwrap();
    assert!(decoded.contains("EN0_OS"), "{decoded}");
    assert!(line.get("fault").is_none());
}

#[test]
fn a_read_shows_the_value() {
    let mut bench = Bench::new(ICELAKE_SP);
    quiet(bench.device.rdmsr(0x345, Origin { now: GuestTime(7), rip: None }));
    let line = &bench.trace()[0];
    assert_eq!(line["op"], "rdmsr");
    assert_eq!(line["name"], "IA32_PERF_CAPABILITIES");
    assert_eq!(line["value"], "0xb005");
    assert!(line.get("rip").is_none(), "unknown, so not there");
}

#[test]
fn faults_say_why() {
    let mut bench = Bench::new(ICELAKE_SP);
    quiet(bench.device.wrmsr(FIXED_CTR_CTRL, 1 << 63, at(1, 2)));
    quiet(bench.device.wrmsr(GLOBAL_STATUS, 0, at(1, 2)));
    quiet(bench.device.rdmsr(0x30D, at(1, 2)));
    // Not the PMU's: another part of the machine has an answer.
    assert_eq!(quiet(bench.device.rdmsr(0x10, at(1, 2))), ReadOutcome::NotHandled);
    let user = RdpmcContext { cpl: 3, pce: false, protected_mode: true };
    quiet(bench.device.rdpmc(0, user, at(1, 2)));
    let faults: Vec<_> = bench.trace().into_iter().map(|line| line["fault"].clone()).collect();
    assert_eq!(
        faults,
        [
            json!("reserved bits 0x8000000000000000 are set"),
            json!("the register is read-only"),
            json!("this CPU has no such register"),
            json!("RDPMC at CPL > 0 needs CR4.PCE"),
        ]
    );
    let first = &bench.trace()[0];
    assert_eq!(first["value"], "0x8000000000000000", "what the guest tried to write");
    assert!(bench.trace()[2].get("value").is_none(), "a faulting read has no value");
    assert_eq!(bench.device.stats().faults, 4, "an MSR of another part is no fault of the PMU");
}

#[test]
fn rdpmc_names_the_register_it_reads() {
    let mut bench = Bench::new(ICELAKE_SP);
    let name = |bench: &mut Bench, ecx| {
        quiet(bench.device.rdpmc(ecx, RdpmcContext::RING0, Origin::default()));
        let line = bench.trace().pop().unwrap();
        assert_eq!(line["op"], "rdpmc");
        assert_eq!(line["index"], format!("{ecx:#x}"));
        line.get("name").cloned()
    };
    assert_eq!(name(&mut bench, 2), Some(json!("IA32_PMC2")));
    assert_eq!(name(&mut bench, 0x4000_0003), Some(json!("IA32_FIXED_CTR3")));
    assert_eq!(name(&mut bench, 0x2000_0000), Some(json!("IA32_PERF_METRICS")));
    // These faulting indices land on PERFEVTSEL0 and PERF_METRICS when added to the counters' addresses.
    assert_eq!(name(&mut bench, 0xC5), None);
    assert_eq!(name(&mut bench, 0x4000_0020), None);
    assert_eq!(name(&mut bench, 0x8000_0000), None);
}

#[test]
fn a_pmi_shows_its_delivery() {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.device.trace_pmi("nmi", GuestTime(99));
    assert_eq!(bench.trace(), [json!({"t_ns": 99, "op": "pmi", "delivery": "nmi"})]);
}

#[test]
fn the_first_write_error_is_kept_and_ends_the_trace() {
    let mut bench = Bench::with_room(ICELAKE_SP, 300);
    for _ in 0..20 {
        bench.read(GLOBAL_CTRL);
    }
    let error = bench.device.finish_trace().unwrap_err();
    assert_eq!(error.to_string(), "disk full");
    assert!(bench.lines.bytes.borrow().len() <= 300);
}
