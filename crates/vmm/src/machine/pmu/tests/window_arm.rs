//! Measuring windows of PMUv3: PMCR_EL0 and PMCNTENSET_EL0 together start and stop counters.

use super::*;
use vpmu::profile::FALKOR;
use vpmu::register::arm::encoding;

const PMCR: u32 = encoding(3, 3, 9, 12, 0);
const PMCNTENSET: u32 = encoding(3, 3, 9, 12, 1);
const PMCNTENCLR: u32 = encoding(3, 3, 9, 12, 2);
const PMSELR: u32 = encoding(3, 3, 9, 12, 5);
const PMCCNTR: u32 = encoding(3, 3, 9, 13, 0);
const PMXEVCNTR: u32 = encoding(3, 3, 9, 13, 2);
const PMEVCNTR: [u32; 2] = [encoding(3, 3, 14, 8, 0), encoding(3, 3, 14, 8, 1)];
const PMEVTYPER: [u32; 2] = [encoding(3, 3, 14, 12, 0), encoding(3, 3, 14, 12, 1)];
/// PMCR_EL0 bits.
const E: u64 = 1;
const P: u64 = 1 << 1;
const C: u64 = 1 << 2;
const CYCLES: u64 = 1 << 31;
/// INST_RETIRED, and CHAIN.
const INSTRUCTIONS: u64 = 0x08;
const CHAIN: u64 = 0x1E;
/// Not at EL1.
const USER: u64 = 1 << 31;

/// Counter 0 counts instructions at EL0 from 5, the cycle counter everything from 2^63.
fn programmed() -> Bench {
    let mut bench = Bench::new(FALKOR);
    bench.write(&[(PMCR, 0), (PMEVTYPER[0], INSTRUCTIONS | USER), (PMEVCNTR[0], 5), (PMCCNTR, 1 << 63)]);
    bench
}

const ROWS: [(&str, &str, &str, u64, Option<u64>); 2] =
    [("PMEVCNTR0", "INST_RETIRED", ":u", 500, Some(500)), ("PMCCNTR", "CPU_CYCLES", "", 900, Some(900))];

fn work(bench: &mut Bench) {
    bench.script.user(Event::InstRetiredAny, 500);
    bench.script.user(Event::CpuClkUnhaltedThread, 900);
}

#[test]
fn pmcr_opens_and_closes_a_window() {
    let mut bench = programmed();
    bench.write(&[(PMCNTENSET, CYCLES | 1)]);
    work(&mut bench);
    bench.write(&[(PMCR, E)]);
    work(&mut bench);
    bench.write(&[(PMCR, 0)]);
    work(&mut bench);
    assert_eq!((bench.read(PMEVCNTR[0]), bench.read(PMCCNTR)), (505, (1 << 63) + 900));
    assert_eq!(bench.rows(), ROWS);
}

#[test]
fn so_do_the_enables_of_single_counters() {
    let mut bench = programmed();
    bench.write(&[(PMCR, E), (PMCNTENSET, CYCLES | 1)]);
    work(&mut bench);
    bench.write(&[(PMCNTENCLR, CYCLES | 1)]);
    work(&mut bench);
    bench.write(&[(PMSELR, 0)]);
    assert_eq!((bench.read(PMXEVCNTR), bench.read(PMCCNTR)), (505, (1 << 63) + 900));
    assert_eq!(bench.rows(), ROWS);
}

#[test]
fn a_counter_that_stops_early_is_in_the_window_of_the_others() {
    let mut bench = programmed();
    bench.write(&[(PMCNTENSET, CYCLES | 1), (PMCR, E)]);
    work(&mut bench);
    bench.write(&[(PMCNTENCLR, 1)]);
    work(&mut bench);
    bench.write(&[(PMCR, 0)]);
    bench.read(PMEVCNTR[0]);
    assert_eq!(bench.rows()[0], ROWS[0]);
    assert_eq!((bench.rows()[1].0, bench.rows()[1].3), ("PMCCNTR", 1800));
}

#[test]
fn counters_that_pmcr_makes_0_in_between_are_not_compared() {
    for (bits, expected) in [(P, [None, Some(1800)]), (C, [Some(1000), None]), (0, [Some(1000), Some(1800)])]
    {
        let mut bench = programmed();
        bench.write(&[(PMCNTENSET, CYCLES | 1), (PMCR, E)]);
        work(&mut bench);
        bench.write(&[(PMCR, E | bits)]);
        work(&mut bench);
        bench.write(&[(PMCR, 0)]);
        bench.read(PMEVCNTR[0]);
        bench.read(PMCCNTR);
        let rows = bench.rows();
        assert_eq!([rows[0].4, rows[1].4], expected, "{bits:#x}");
        assert_eq!([rows[0].3, rows[1].3], [1000, 1800]);
    }
}

#[test]
fn a_write_that_zeroes_and_starts_begins_at_0() {
    let mut bench = programmed();
    bench.write(&[(PMCNTENSET, CYCLES | 1), (PMCR, E | P | C)]);
    work(&mut bench);
    bench.write(&[(PMCR, 0)]);
    assert_eq!((bench.read(PMEVCNTR[0]), bench.read(PMCCNTR)), (500, 900));
    assert_eq!(bench.rows(), ROWS);
}

#[test]
fn a_chained_counter_has_no_row_of_its_own() {
    let mut bench = programmed();
    bench.write(&[(PMEVTYPER[1], CHAIN), (PMEVCNTR[1], 0), (PMCNTENSET, 3), (PMCR, E)]);
    bench.script.user(Event::InstRetiredAny, 1 << 32);
    bench.read(PMEVCNTR[1]);
    bench.script.user(Event::InstRetiredAny, 7);
    bench.write(&[(PMCR, 0)]);
    assert_eq!(bench.read(PMEVCNTR[1]), 1);
    assert_eq!(bench.rows(), [("PMEVCNTR0", "INST_RETIRED", ":u", (1 << 32) + 7, None)]);
}

#[test]
fn nothing_enabled_makes_no_window() {
    let mut bench = programmed();
    bench.write(&[(PMCR, E), (PMCR, 0), (PMCNTENSET, 1), (PMCNTENCLR, 1)]);
    assert!(bench.device.windows().is_empty());
}

#[test]
fn an_open_window_of_a_64_bit_counter_is_saved_and_goes_on() {
    let mut bench = programmed();
    bench.write(&[(PMCNTENSET, CYCLES | 1), (PMCR, E)]);
    let state = quiet(bench.device.save_all());
    let text = serde_json::to_string(&state).expect("JSON");
    bench.device.resume(&serde_json::from_str(&text).expect("what was written")).expect("a saved state");
    work(&mut bench);
    bench.write(&[(PMCR, 0)]);
    bench.read(PMEVCNTR[0]);
    bench.read(PMCCNTR);
    assert_eq!(bench.rows(), ROWS);
}
