//! The commands of the session, and what each has to print.
//!
//! `call-chain 10000` retires a bit more than 5 million instructions in user space, nearly all of them in `leaf`.

mod amd;
mod arm;
mod ibs;
mod intel;
mod matrix;
mod pebs;
mod skid;

use super::session::{Facts, Output, Step, near};
use crate::tap::Tap;
use vpmu::profile::Vendor;

/// The steps that fit the machine.
pub(super) fn select(facts: &Facts, short: bool) -> Vec<Step> {
    let (own, of_architecture, last) = match facts.vendor {
        Vendor::Intel => (intel::STEPS, X86, &COMPLAINTS),
        Vendor::Amd => (amd::STEPS, X86, &COMPLAINTS),
        Vendor::Qualcomm => (arm::STEPS, &[] as &[Step], &arm::INTERRUPTS),
    };
    let steps = own.iter().chain(COMMON).chain(of_architecture).chain([last]);
    steps.filter(|step| (step.fits)(facts) && (step.short || !short)).copied().collect()
}

/// The steps on a profile that shows PEBS or IBS; none where it has neither.
pub(super) fn precise(facts: &Facts, short: bool) -> Vec<Step> {
    if !facts.precise {
        return Vec::new();
    }
    let own = if facts.vendor == Vendor::Amd { ibs::STEPS } else { pebs::STEPS };
    let steps = own.iter().chain([&COMPLAINTS]);
    steps.filter(|step| (step.fits)(facts) && (step.short || !short)).copied().collect()
}

/// The steps with late interrupts.
pub(super) fn skid(facts: &Facts, short: bool) -> Vec<Step> {
    let steps = skid::STEPS.iter().chain([&COMPLAINTS]);
    steps.filter(|step| (step.fits)(facts) && (step.short || !short)).copied().collect()
}

/// The steps with the module for Falkor's matrix.
pub(super) fn matrix(facts: &Facts, short: bool) -> Vec<Step> {
    let steps = matrix::STEPS.iter().chain([&arm::INTERRUPTS]);
    steps.filter(|step| (step.fits)(facts) && (step.short || !short)).copied().collect()
}

const COMMON: &[Step] = &[
    Step {
        name: "perf stat counts by privilege level",
        // Two runs: AMD's six counters, one of them the watchdog's, do not hold all seven events.
        command: "perf stat -e '{instructions,instructions:u,instructions:k,cycles}' call-chain 10000 && \
                  perf stat -e '{branches,branches:u,branches:k}' call-chain 10000",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            // Else the kernel starts and stops one counter after the other.
            let tolerance = if output.facts.global_control { 0 } else { 2_000 };
            for event in ["instructions", "branches"] {
                let [all, user, kernel] =
                    ["", ":u", ":k"].map(|filter| output.count(&format!("{event}{filter}")));
                let (all, sum) = (all?, user? + kernel?);
                near(event, all, sum, tolerance)?;
            }
            if output.facts.one_cycle {
                // An instruction is a cycle, and so is each further iteration of REP, with which the kernel clears
                // and copies pages, by bytes where ERMS is announced: few beside the loop.
                let (cycles, instructions) = (output.count("cycles")?, output.count("instructions")?);
                let repeated = instructions / 50;
                near("cycles", cycles, instructions + repeated, repeated + tolerance)?;
            }
            Ok(())
        },
    },
    Step {
        name: "perf record -e instructions finds the loop",
        command: "perf record -q -o instructions.data -c 10007 -e instructions:u call-chain 10000 && \
                  perf report -i instructions.data --stdio",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            dominates(output, "leaf")
        },
    },
    Step {
        name: "perf record samples by frequency",
        command: "perf record -q -o cycles.data -e cycles call-chain 100000 && perf report -i cycles.data --stdio",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            dominates(output, "leaf")
        },
    },
];

/// What is about x86, or our programs for it.
const X86: &[Step] = &[
    Step {
        name: "time passes in perf bench, also in a REP",
        command: "perf bench mem memcpy && perf bench mem memset",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            // A timer's interrupt in between makes MB of GB.
            let lines = output.text.lines().map(str::trim);
            let rates: Vec<&str> = lines
                .filter_map(|line| line.strip_suffix("GB/sec").or_else(|| line.strip_suffix("MB/sec")))
                .collect();
            let finite = |rate: &&str| rate.trim().parse::<f64>().is_ok_and(|r| r.is_finite() && r > 0.0);
            match rates.iter().find(|rate| !finite(rate)) {
                Some(rate) => Err(format!("a rate of {}", rate.trim())),
                // By the C library, unrolled, and by REP with both sizes.
                None if rates.len() < 8 => Err(format!("{} rates", rates.len())),
                None => Ok(()),
            }
        },
    },
    Step {
        name: "the kernel sees the caches",
        command: "cd /sys/devices/system/cpu/cpu0/cache && grep . index*/type index*/size index*/ways_of_associativity",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            for cache in
                ["index0/type:Data", "index1/type:Instruction", "index2/type:Unified", "index3/size:"]
            {
                output.has(cache)?;
            }
            output.has_not("size:0K")
        },
    },
    Step {
        name: "perf's own tests about counters, samples and breakpoints",
        // The first reads counters with RDPMC in user space. Others need a compiler, objdump or a second CPU.
        command: "perf test 'mmap interface' 'User space counter' 'TSC support' Breakpoint Watchpoint \
                  'Software clock' 'ample parsing' 'dummy software' sched_switch 'Event times' \
                  'backward ring' 'time to TSC' Sigtrap 'bp modify'",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            output.has_not("FAILED")?;
            let passed = output.text.lines().filter(|line| line.trim_end().ends_with(": Ok")).count();
            let skipped = output.text.lines().filter(|line| line.contains(": Skip")).count();
            // A watchpoint cannot tell a read from a write.
            let right = passed >= 20 && skipped <= 1;
            if right { Ok(()) } else { Err(format!("{passed} passed, {skipped} skipped")) }
        },
    },
    Step {
        name: "host-perf counts, samples and refuses on a real kernel",
        command: "host-perf-check",
        fits: |_| true,
        short: true,
        check: tap,
    },
    Step {
        name: "what the kernel and rr ask of a PMU at their start",
        command: "pmu-checks",
        fits: |_| true,
        short: true,
        check: tap,
    },
];

/// At the end, over the whole session.
pub(super) const COMPLAINTS: Step = Step {
    name: "the NMI watchdog is not hungry, and nothing complains",
    command: "dmesg | grep -i -e 'unchecked MSR' -e 'not available' -e 'Broken' -e 'irq loop stuck' -e 'Uhhuh' \
              -e 'lockup' -e 'perf: interrupt took' -e 'WARNING: CPU' -e 'BUG:'; \
              cat /proc/interrupts | grep -e NMI -e PMI",
    fits: |_| true,
    short: true,
    check: |output| {
        for complaint in
            ["unchecked MSR", "not available", "Broken", "stuck", "Uhhuh", "lockup", "WARNING: CPU", "BUG:"]
        {
            let lines = output.text.lines().skip(1);
            if let Some(line) = lines.clone().find(|line| line.contains(complaint) && !line.contains("grep"))
            {
                return Err(line.to_owned());
            }
        }
        near("NMIs that are no PMIs", output.number("NMI:")?, output.number("PMI:")?, 0)
    },
};

/// Fails unless `perf stat` let events share counters, and scaled their counts well: those of `instructions` and of the
/// same event by its number.
fn shared(output: &Output<'_>, instructions_again: &str) -> Result<(), String> {
    output.success()?;
    output.has_not("not counted")?;
    let instructions = output.count("instructions")?;
    // Scaled by time, so an estimate.
    near("the same event twice", output.count(instructions_again)?, instructions, instructions / 50)?;
    output.has("%)")
}

/// The most frequent level of each of four chases, from L1 to memory.
fn levels(output: &Output<'_>) -> Result<(), String> {
    output.success()?;
    let found: Vec<&str> =
        output.text.lines().filter(|line| line.contains("LVL ") && !line.starts_with('$')).collect();
    let expected = ["L1", "L2", "L3", "RAM"];
    if found.len() != expected.len() {
        return Err(format!("{} levels", found.len()));
    }
    match found.iter().zip(expected).find(|(line, level)| !line.contains(level)) {
        Some((line, level)) => Err(format!("{} instead of {level}", line.trim())),
        None => Ok(()),
    }
}

/// Samples of each instruction, as `sampled-loop check` prints them.
fn by_instruction(output: &Output<'_>) -> Result<Vec<u64>, String> {
    let line = output.text.lines().find_map(|line| line.trim().strip_prefix("by instruction: ["));
    let line = line.and_then(|line| line.strip_suffix(']')).ok_or("no counts by instruction")?;
    Ok(line.split(", ").filter_map(|word| word.parse().ok()).collect())
}

/// Samples of a summary `N samples, M bad`: all are good, and there are enough.
fn all_good(output: &Output<'_>, least: u64) -> Result<(), String> {
    output.success()?;
    let line = output.text.lines().find(|line| line.ends_with(" bad")).ok_or("no summary")?;
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(samples), Some(0)) if samples >= least => Ok(()),
        _ => Err(line.to_owned()),
    }
}

/// Fails unless nearly all samples of a `perf report` are in this function.
fn dominates(output: &Output<'_>, function: &str) -> Result<(), String> {
    let line =
        output.text.lines().find(|line| line.contains('%') && line.split_whitespace().any(|w| w == function));
    let line = line.ok_or_else(|| format!("no samples in {function}"))?;
    let percent = line.split('%').next().and_then(|text| text.trim().parse::<f64>().ok());
    match percent {
        Some(percent) if percent > 95.0 => Ok(()),
        _ => Err(format!("{function} has too few samples: {}", line.trim())),
    }
}

/// Fails unless the program's checks all ran and passed.
fn tap(output: &Output<'_>) -> Result<(), String> {
    let results = Tap::parse(output.text);
    if let Some(line) = output.text.lines().find(|line| line.starts_with("not ok")) {
        return Err(line.to_owned());
    }
    output.success()?;
    if results.planned == Some(results.seen()) && results.passed > 0 {
        Ok(())
    } else {
        Err(format!("{} results of {:?} planned", results.seen(), results.planned))
    }
}

#[cfg(test)]
mod tests {
    use super::super::session;
    use super::*;
    use vpmu::profile::Architecture;

    #[test]
    fn every_event_by_code_is_one_of_the_profile() {
        for profile in Architecture::X86_64.profiles().filter(|profile| profile.vendor() == Vendor::Amd) {
            let facts = Facts::of(&profile.name, "counts").unwrap();
            let script = session::script(&select(&facts, false), facts.events);
            // None of these steps redirects input.
            assert!(!script.contains('<'), "{}: {script}", profile.name);
        }
    }
}
