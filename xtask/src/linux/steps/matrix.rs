//! Steps for Falkor's matrix, whose events a module of ours brings to the kernel's driver.
//!
//! r10ff6 counts instructions and r107f7 cycles here, as their names in docs/falkor.md say.

use super::super::session::{Output, Step, near};
use linux_guest::FixedWork;

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "the module finds the driver and the matrix",
        command: "insmod /falkor_matrix.ko && dmesg | grep falkor_matrix:",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            output.has("3 regions of 8 groups on armv8_pmuv3")
        },
    },
    Step {
        name: "a matrix event counts as exactly as a common one",
        command: "perf stat -e '{instructions:u,r10ff6:u}' fixed-work",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            let work = FixedWork::AARCH64.instructions;
            near("instructions:u", output.count("instructions:u")?, work, 0)?;
            near("r10ff6:u", output.count("r10ff6:u")?, work, 0)
        },
    },
    Step {
        name: "one code in three counters, by privilege level",
        command: "perf stat -e '{r10ff6:u,r10ff6:k,r10ff6,instructions}' call-chain 10000",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            let (user, kernel) = (output.count("r10ff6:u")?, output.count("r10ff6:k")?);
            let all = output.count("r10ff6")?;
            near("user and kernel", user + kernel, all, 0)?;
            near("instructions", output.count("instructions")?, all, 0)
        },
    },
    Step {
        name: "groups and regions side by side, group 7 with its region's enable bit",
        command: "perf stat -e '{r10ff6:u,r107f7:u,r11300:u,r12411:u,cycles:u}' fixed-work",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            near("r10ff6:u", output.count("r10ff6:u")?, FixedWork::AARCH64.instructions, 0)?;
            near("r107f7:u", output.count("r107f7:u")?, output.count("cycles:u")?, 0)
        },
    },
    Step {
        name: "two codes of a group are refused in a group of events",
        command: "perf stat -e '{r10ff6:u,r10fe6:u}' fixed-work",
        fits: |_| true,
        short: true,
        check: |output| output.has("<not supported>      r10fe6:u"),
    },
    Step {
        name: "two codes of a group take turns",
        command: "perf stat -e r10ff6:u,r10fe6:u call-chain 1000000",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            output.has_not("not supported")?;
            let shares = shares(output);
            match shares.as_slice() {
                [one, other] if (30.0..70.0).contains(one) && (99.0..101.0).contains(&(one + other)) => {
                    Ok(())
                }
                _ => Err(format!("their shares are {shares:?}")),
            }
        },
    },
    Step {
        name: "an event goes on when another of its region ends",
        command: "perf stat -e '{r10ff6:u,instructions:u}' \
                  sh -c 'perf stat -e r107f7:u fixed-work; perf stat -e r10ff6:u fixed-work; fixed-work'",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            // The last lines are those of the outer one.
            let (matrix, common) = (output.counts("r10ff6:u"), output.counts("instructions:u"));
            match (matrix.as_slice(), common.as_slice()) {
                ([inner, outer], [instructions]) => {
                    near("the inner", *inner, FixedWork::AARCH64.instructions, 0)?;
                    near("the outer", *outer, *instructions, 0)
                }
                counts => Err(format!("{counts:?}")),
            }
        },
    },
    Step {
        name: "places that the matrix does not have are refused",
        // Region 3, group 8, and code 80H in group 7, which has seven bits.
        command: "perf stat -e r13000,r10008,r10807,armv8_pmuv3/config=0x10ff6,config1=1/ true",
        fits: |_| true,
        short: true,
        check: |output| match output.text.matches("<not supported>").count() {
            4 => Ok(()),
            refused => Err(format!("{refused} of 4 were refused")),
        },
    },
    Step {
        name: "generic events are left alone",
        command: "perf stat -e instructions:u,branches:u,cycles:u,L1-dcache-loads:u fixed-work",
        fits: |_| true,
        short: false,
        check: |output| {
            near("instructions:u", output.count("instructions:u")?, FixedWork::AARCH64.instructions, 0)
        },
    },
    Step {
        name: "perf record of a matrix event finds the loop",
        command: "perf record -q -o matrix.data -c 10007 -e r10ff6:u call-chain 10000 && \
                  perf report -i matrix.data --stdio",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            super::dominates(output, "leaf")
        },
    },
];

/// The shares of time in per cent for which perf stat's events were on a counter.
fn shares(output: &Output<'_>) -> Vec<f64> {
    let share = |line: &str| line.trim_end().strip_suffix("%)")?.rsplit_once('(')?.1.parse().ok();
    output.text.lines().filter_map(share).collect()
}
