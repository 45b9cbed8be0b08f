//! A guest that reads and writes registers of the PMU and their neighbours at random, from both exception levels,
//! and then wants to count: every answer is a value or an orderly exception, and after a clean-up the PMU is as good
//! as new.
#![no_std]
#![no_main]

use guest_images_aarch64::{
    counting::{Level, program, run_loop},
    falkor::MATRIX_REGISTERS,
    pmu::{
        self, CYCLES, PMCCFILTR, PMCCNTR, PMCNTENCLR, PMCNTENSET, PMCR, PMINTENCLR, PMINTENSET, PMOVSCLR,
        PMOVSSET, PMSELR, PMSWINC, PMUSERENR, PMXEVCNTR, PMXEVTYPER, counter, event, event_type,
    },
};
use guest_runtime::{
    Exception, at_el0, check, check_eq, counters, println,
    random::Random,
    registers::{self, packed},
};

guest_runtime::image!(program_main);

const ROUNDS: u64 = 20;
const ACCESSES: u64 = 500;
const REGISTERS: [u32; 13] = [
    PMCR, PMCNTENSET, PMCNTENCLR, PMINTENSET, PMINTENCLR, PMOVSCLR, PMOVSSET, PMSELR, PMSWINC, PMXEVTYPER,
    PMXEVCNTR, PMUSERENR, PMCCFILTR,
];

fn register(random: &mut Random) -> u32 {
    match random.below(8) {
        0 | 1 => REGISTERS[random.below(REGISTERS.len() as u64) as usize],
        2 => MATRIX_REGISTERS[random.below(MATRIX_REGISTERS.len() as u64) as usize],
        3 => counter(random.below(32) as u32),
        4 => event_type(random.below(32) as u32),
        5 => PMCCNTR,
        // Whatever is beside them, in the spaces of the PMU and of the implementation.
        6 => packed(3, 3, 9, 12 + random.below(4) as u32, random.below(8) as u32),
        _ => packed(3, 5, 11, random.below(16) as u32, random.below(8) as u32),
    }
}

fn is_orderly<T>(result: Result<T, Exception>) -> bool {
    result.map_or_else(
        |exception| exception == Exception::UNDEFINED || exception.class() == Exception::CLASS_SYSTEM,
        |_| true,
    )
}

/// What the first lines of a driver do. The matrix is absent on other CPUs.
fn clean_up() {
    pmu::write(PMCR, 0);
    for register in MATRIX_REGISTERS {
        let _ = registers::write(register, 0);
    }
    for clear in [PMCNTENCLR, PMINTENCLR, PMOVSCLR] {
        pmu::write(clear, !0);
    }
    (0..counters()).for_each(|n| pmu::write(event_type(n), 0));
    pmu::write(PMCCFILTR, 0);
    pmu::write(PMUSERENR, 0);
    pmu::write(PMCR, pmu::pmcr::P | pmu::pmcr::C);
    check_eq!(pmu::read(PMOVSCLR), 0);
}

fn program_main() {
    if counters() == 0 {
        println!("# no PMU");
        return;
    }
    let mut random = Random::new(0x5EED);
    let mut refused = 0_u64;
    for round in 0..ROUNDS {
        for _ in 0..ACCESSES {
            let (register, value) = (register(&mut random), random.value());
            let access = || {
                if value & 1 == 0 {
                    registers::read(register).map(|_| ())
                } else {
                    registers::write(register, value)
                }
            };
            let result = if random.below(4) == 0 { at_el0(access) } else { access() };
            check!(is_orderly(result), "{register:#x}, {value:#x} ended in {result:?} in round {round}");
            refused += u64::from(result.is_err());
        }
        clean_up();
        program(0, event::INST_RETIRED);
        pmu::write(PMCNTENSET, 1 << CYCLES);
        run_loop(Level::Kernel, 100);
        check!(pmu::read(counter(0)) > 100 && pmu::read(PMCCNTR) > 0, "nothing counts after round {round}");
        check_eq!(pmu::read(PMOVSCLR), 0, "round {round}");
    }
    println!("# {ROUNDS} rounds of {ACCESSES} accesses, {refused} refused");
}
