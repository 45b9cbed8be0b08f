//! Counting what known code does.

use guest_runtime::{at_el0, check_eq, pmcr_window};

use crate::pmu::{
    CYCLES, PMCCFILTR, PMCCNTR, PMCNTENSET, PMCR, PMUSERENR, counter, event_type, pmcr, read, write,
};

/// Which level a loop runs at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// EL0
    User,
    /// EL1
    Kernel,
}

/// Counter `n` counts `code` (event and filter) from zero; it is enabled in PMCNTENSET.
#[track_caller]
pub fn program(n: u32, code: u64) {
    write(event_type(n), code);
    write(counter(n), 0);
    write(PMCNTENSET, 1 << n);
}

/// The cycle counter counts from zero with this filter; it is enabled in PMCNTENSET.
#[track_caller]
pub fn program_cycles(filter: u64) {
    write(PMCCFILTR, filter);
    write(PMCCNTR, 0);
    write(PMCNTENSET, 1 << CYCLES);
}

/// PMEVCNTRn.
#[track_caller]
#[must_use]
pub fn count(n: u32) -> u64 {
    read(counter(n))
}

/// What PMCR holds besides E, P and C.
fn settings() -> u64 {
    read(PMCR) & !(pmcr::E | pmcr::P | pmcr::C)
}

/// Lets the enabled counters run while the counting loop does so many iterations, at least 1.
pub fn run_loop(level: Level, iterations: u64) {
    let off = settings();
    let window = || pmcr_window(off | pmcr::E, iterations, off);
    match level {
        Level::Kernel => window(),
        Level::User => {
            let before = read(PMUSERENR);
            write(PMUSERENR, before | 1);
            at_el0(window);
            write(PMUSERENR, before);
        }
    }
}

/// Lets the enabled counters run while `body` does. Some instructions of the caller are counted too.
pub fn run<R>(body: impl FnOnce() -> R) -> R {
    let off = settings();
    write(PMCR, off | pmcr::E);
    let result = body();
    write(PMCR, off);
    result
}

/// Lets the enabled counters run around some lines of assembly. Besides them an ISB is counted, one of the MSRs that
/// start and stop the counters, and nothing else. Operands may follow the lines.
#[macro_export]
macro_rules! counted {
    ([$($line:literal),* $(,)?] $(, $($operands:tt)*)?) => {{
        let off = $crate::pmu::read($crate::pmu::PMCR) & !7;
        // SAFETY: the lines are those of a test, which answers for them.
        unsafe {
            ::core::arch::asm!(
                "msr pmcr_el0, {on}", "isb",
                $($line,)*
                "msr pmcr_el0, {off}", "isb",
                on = in(reg) off | $crate::pmu::pmcr::E, off = in(reg) off,
                $($($operands)*)?
            );
        }
    }};
}

/// Instructions that a window counts besides what it is for: an ISB, and either the MSR that starts it or the one that
/// stops it.
pub const WINDOW_INSTRUCTIONS: u64 = 2;

/// Fails the test unless the event of counter 0 occurs `per_iteration` times in each iteration of the loop.
#[track_caller]
pub fn counts_in_loop(level: Level, code: u64, per_iteration: u64) {
    let counted = |iterations| {
        program(0, code);
        run_loop(level, iterations);
        count(0)
    };
    let (short, long) = (counted(100), counted(1_100));
    check_eq!(long - short, 1_000 * per_iteration, "{level:?}, in 1000 iterations");
}
