//! Steps on AMD profiles that show IBS (`--precise on`).
//!
//! Linux 6.1 has IBS for whole CPUs only (`-a`). With less than some 25,000 cycles from one sample to the next it
//! throttles: guest time is a cycle for each instruction.

use super::super::session::{Output, Step};
use super::{all_good, by_instruction, dominates, levels};

/// Nothing of the six instructions of a round is left out. In a modelled core DEC and the branch behind it are one op,
/// which is about the branch.
fn every_instruction(output: &Output<'_>, least: u64) -> Result<(), String> {
    all_good(output, least)?;
    let counts = by_instruction(output)?;
    // The return behind the loop executes once.
    match counts[..] {
        [first, second, third, fourth, fifth, _, seventh] => {
            let fourth = if output.facts.one_cycle { fourth } else { fourth.max(fifth) };
            let of_round = [first, second, third, fourth, fifth, seventh];
            let few = of_round.iter().any(|count| count * 50 < least);
            if few { Err(format!("an instruction has too few samples: {counts:?}")) } else { Ok(()) }
        }
        _ => Err(format!("counts of {} instructions", counts.len())),
    }
}

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "the kernel's driver takes IBS",
        command: "dmesg | grep -e 'IBS' -e 'LVT offset' -e 'Firmware Bug.*MSR'; \
                  cd /sys/bus/event_source/devices && grep . ibs_op/format/* ibs_fetch/format/*",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            output.has("AMD IBS detected (0x00000")?;
            output.has("LVT offset 0 assigned for vector 0x400")?;
            output.has_not("[Firmware Bug]")?;
            output.has("ibs_op/format/cnt_ctl:config:19")?;
            output.has("ibs_fetch/format/rand_en:config:57")
        },
    },
    Step {
        name: "every op sampled by perf record -e ibs_op// is an instruction of the loop",
        command: "perf record -q -a -o op.data -c 40000 -e ibs_op/cnt_ctl=1/ sampled-loop run 70000000 && \
                  perf script -i op.data --comm sampled-loop -F ip,sym,symoff | sampled-loop check",
        fits: |facts| facts.one_cycle,
        short: false,
        check: |output| every_instruction(output, 10_000),
    },
    Step {
        name: "every op sampled in a modelled core is an instruction of the loop",
        command: "perf record -q -a -o op.data -c 40000 -e ibs_op/cnt_ctl=1/ sampled-loop run 10000000 && \
                  perf script -i op.data --comm sampled-loop -F ip,sym,symoff | sampled-loop check",
        fits: |facts| !facts.one_cycle,
        short: false,
        check: |output| every_instruction(output, 1_000),
    },
    Step {
        name: "every op sampled by cycles is an instruction of the loop",
        command: "perf record -q -a -o cycles.data -c 40000 -e ibs_op// sampled-loop run 10000000 && \
                  perf script -i cycles.data --comm sampled-loop -F ip,sym,symoff | sampled-loop check",
        fits: |_| true,
        short: true,
        check: |output| all_good(output, 1_000),
    },
    Step {
        name: "every fetch sampled by perf record -e ibs_fetch// is an instruction of the loop",
        command: "perf record -q -a -o fetch.data -c 40000 -e ibs_fetch/rand_en=1/ sampled-loop run 10000000 && \
                  perf script -i fetch.data --comm sampled-loop -F ip,sym,symoff | sampled-loop check",
        fits: |_| true,
        short: true,
        check: |output| every_instruction(output, 1_000),
    },
    Step {
        name: "cycles:pp of whole CPUs is sampled by IBS",
        // By frequency: it begins with 16 cycles from one sample to the next, and the kernel throttles.
        command: "perf record -q -a -o precise.data -e cycles:pp call-chain 100000 && \
                  perf report -i precise.data --stdio --comm call-chain --percentage relative",
        fits: |facts| facts.one_cycle,
        short: false,
        check: |output| {
            output.success()?;
            dominates(output, "leaf")
        },
    },
    Step {
        name: "perf mem record and perf c2c take loads and stores from IBS",
        command: "perf mem record -o mem.data -- -q -a -c 40000 sampled-loop chase 4096 1000000 && \
                  perf mem -i mem.data report --stdio --sort=mem,sym | grep sampled_chase; \
                  perf c2c record -o c2c.data -- -q -a -c 40000 sampled-loop chase 4096 300000 && \
                  perf c2c report -i c2c.data --stdio | grep -e 'Load Operations' -e 'Total records'",
        fits: |facts| !facts.one_cycle,
        short: false,
        check: |output| {
            output.success()?;
            output.has("L3")?;
            output.has("Load Operations")
        },
    },
    Step {
        name: "data sources are those of chases through known amounts of memory",
        command: "for kib in 16 256 4096 $LARGE; do \
                  perf record -q -a -o mem.data -d -c 16000 -e ibs_op/cnt_ctl=1/ sampled-loop chase $kib 3000000 && \
                  perf script -i mem.data -F ip,sym,data_src | grep 'sampled_chase' | grep 'OP LOAD' | \
                  grep -o 'LVL [^|]*' | sort | uniq -c | sort -rn | head -n 1; done",
        fits: |facts| !facts.one_cycle,
        short: false,
        check: levels,
    },
    Step {
        name: "raw samples say what the ops were",
        // All calls and returns of the loop are taken, and its stores have 8 bytes.
        command: "perf record -q -a -R -o raw.data -c 40000 -e ibs_op/cnt_ctl=1/ sampled-loop run 10000000 && \
                  perf report -i raw.data -D > raw.txt; \
                  echo \"returns $(grep -c 'OpReturn 1' raw.txt)\"; \
                  echo \"returns not taken $(grep 'OpReturn 1' raw.txt | grep -c 'BrnTaken 0')\"; \
                  echo \"stores $(grep -c 'StOp 1' raw.txt)\"; \
                  echo \"stores of other sizes $(grep 'StOp 1' raw.txt | grep -c -v 'OpMemWidth  *8 bytes')\"; \
                  grep -m 1 'StOp 1' raw.txt",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            for (name, least, most) in [
                ("returns ", 10, u64::MAX),
                ("returns not taken ", 0, 0),
                ("stores ", 10, u64::MAX),
                // Of the kernel, which is sampled too.
                ("stores of other sizes ", 0, 5),
            ] {
                let number =
                    output.text.lines().find_map(|line| line.trim().strip_prefix(name)?.parse::<u64>().ok());
                match number {
                    Some(number) if (least..=most).contains(&number) => {}
                    _ => return Err(format!("{name}: {number:?}")),
                }
            }
            Ok(())
        },
    },
];
