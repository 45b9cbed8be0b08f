//! A guest that programs nonsense into every register of the PMU, runs a while, and then wants to
//! count: after a clean-up the PMU has to be as good as new.
#![no_std]
#![no_main]

use guest_images::{
    msr::{
        DEBUGCTL, FIXED_CTR_CTRL, GLOBAL_CTRL, GLOBAL_STATUS, PERF_METRICS, PERFEVTSEL0, PMC0, STATUS_RESET,
        event, global,
    },
    pmi,
    pmu::{count, count_fixed, fixed, fixed_counters, gp, gp_counters, read, window, write},
    storm::{msr, value_for},
    work::busy,
};
use guest_runtime::{Frame, PerfMon, check, check_eq, println, random::Random, rdmsr, wrmsr};

guest_runtime::image!(program);

const ROUNDS: u64 = 20;
const WRITES: u64 = 400;

fn ignore(frame: &mut Frame) {
    pmi::arrived(frame);
}

/// What the first lines of a PMU driver do.
fn clean_up() {
    for msr in [GLOBAL_CTRL, FIXED_CTR_CTRL, DEBUGCTL] {
        write(msr, 0);
    }
    for n in 0..gp_counters() {
        write(PERFEVTSEL0 + n, 0);
        write(PMC0 + n, 0);
    }
    fixed_counters().for_each(|n| write(0x309 + n, 0));
    if PerfMon::discover().capabilities & 1 << 15 != 0 {
        write(PERF_METRICS, 0);
    }
    write(STATUS_RESET, read(GLOBAL_STATUS));
    check_eq!(read(GLOBAL_STATUS), 0);
}

fn program() {
    if PerfMon::discover().version < 2 {
        println!("# no PMU");
        return;
    }
    let mut random = Random::new(0x5EED);
    let mut accepted = 0_u64;
    for round in 0..ROUNDS {
        pmi::as_nmi_to(ignore);
        for _ in 0..WRITES {
            let msr = msr(&mut random);
            accepted += u64::from(wrmsr(msr, value_for(msr, &mut random)).is_ok());
        }
        for msr in (0..gp_counters()).map(|n| PERFEVTSEL0 + n).chain([GLOBAL_CTRL, FIXED_CTR_CTRL]) {
            // Reserved bits now and then, or nothing would be enabled.
            let value = random.bits() & if random.below(4) == 0 { u64::MAX } else { 0x0001_000F_FFFF_FFFF };
            accepted += u64::from(wrmsr(msr, value).is_ok());
            check!(rdmsr(msr).is_ok(), "MSR {msr:#x} cannot be read in round {round}");
        }
        busy();
        clean_up();
        count(0, event::INSTRUCTIONS);
        count_fixed(0b1);
        window(1 | global::fixed(0), busy);
        check!(gp(0) > 0 && fixed(0) > 0, "nothing counts after round {round}");
        check_eq!(read(GLOBAL_STATUS), 0, "round {round}");
    }
    println!("# {ROUNDS} rounds, {accepted} writes accepted");
}
