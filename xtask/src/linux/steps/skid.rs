//! Steps with late interrupts (`--skid`).

use super::super::session::{Facts, Output, Step};
use super::{all_good, by_instruction};
use vpmu::profile::Vendor;

/// Where in `sampled-loop` its call is, of which each round has one.
const CALL: usize = 2;

fn intel(facts: &Facts) -> bool {
    facts.vendor == Vendor::Intel
}

/// Late interrupts find any of the six instructions of a round, some of them often.
fn spread(output: &Output<'_>) -> Result<(), String> {
    // The kernel throttles at 400 in a tick.
    all_good(output, 300)?;
    let counts = by_instruction(output)?;
    let often = counts.iter().filter(|&&count| count >= 20).count();
    if often >= 4 { Ok(()) } else { Err(format!("interrupts at {counts:?}")) }
}

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "interrupts of calls come anywhere in the loop",
        command: "perf record -q -o late.data -c 997 -e cpu/event=0xc4,umask=2/u sampled-loop run 1000000 && \
                  perf script -i late.data -F ip,sym,symoff | sampled-loop check",
        fits: intel,
        short: false,
        check: spread,
    },
    Step {
        name: "PEBS records are about the calls themselves",
        command: "perf record -q -o exact.data -c 997 -e cpu/event=0xc4,umask=2/upp sampled-loop run 1000000 && \
                  perf script -i exact.data -F ip,sym,symoff | sampled-loop check",
        fits: intel,
        short: false,
        check: |output| {
            all_good(output, 900)?;
            let counts = by_instruction(output)?;
            let others: u64 =
                counts.iter().enumerate().filter(|(n, _)| *n != CALL).map(|(_, count)| count).sum();
            if others == 0 { Ok(()) } else { Err(format!("records about {counts:?}")) }
        },
    },
    Step {
        name: "interrupts of returns come anywhere in the loop",
        command: "perf record -q -o late.data -c 997 -e cpu/event=0xc8/u sampled-loop run 1000000 && \
                  perf script -i late.data -F ip,sym,symoff | sampled-loop check",
        fits: |facts| !intel(facts),
        short: false,
        check: spread,
    },
];
