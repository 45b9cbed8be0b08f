//! Steps for Arm's PMUv3.

use super::super::session::{Output, Step, near};
use super::shared;
use linux_guest::FixedWork;

/// Event counters of the PMU and its cycle counter.
const COUNTERS: u64 = 9;

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "the driver finds the PMU and its counters",
        command: "dmesg | grep -i perfevents",
        fits: |_| true,
        short: true,
        check: |output| {
            output.has("armv8_pmuv3")?;
            near("counters", output.number("PMU driver,")?, COUNTERS, 0)
        },
    },
    Step {
        name: "sysfs has the common events that the PMU announces",
        command: "ls /sys/bus/event_source/devices/armv8_pmuv3*/events",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            for event in ["br_retired", "cpu_cycles", "exc_taken", "inst_retired", "ld_retired"] {
                output.has(event)?;
            }
            Ok(())
        },
    },
    Step {
        name: "the process of known instructions is counted exactly",
        command: "perf stat -e '{instructions:u,branches:u,r08:u,r21:u}' fixed-work",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            let work = FixedWork::AARCH64;
            for event in ["instructions:u", "r08:u"] {
                near(event, output.count(event)?, work.instructions, 0)?;
            }
            // A system call is no branch of this event.
            near("r21:u", output.count("r21:u")?, work.branches, 0)?;
            // Linux takes PC_WRITE_RETIRED: branches that are taken.
            near("branches:u", output.count("branches:u")?, work.branches - FixedWork::NOT_TAKEN, 0)?;
            let vmm = |event| output.interval("fixed-work", event);
            near("VMM's instructions", vmm("INST_RETIRED.ANY")?, work.interval_instructions, 0)?;
            near("VMM's branches", vmm("BR_INST_RETIRED.ALL_BRANCHES")?, work.interval_branches, 0)
        },
    },
    Step {
        name: "raw events are programmed as asked",
        // EXC_TAKEN from user space: the system calls of the process and its page faults. A selector of the matrix
        // counts nothing while its region is off.
        command: "perf stat -e armv8_pmuv3/event=0x9/u,armv8_pmuv3/event=0xdb/,r11 fixed-work",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            output.has_not("not supported")?;
            let taken = output.count("armv8_pmuv3/event=0x9/u")?;
            if taken < FixedWork::AARCH64.system_calls {
                return Err(format!("{taken} exceptions"));
            }
            near("the matrix", output.count("armv8_pmuv3/event=0xdb/")?, 0, 0)?;
            if output.count("r11")? == 0 { Err("no cycles".to_owned()) } else { Ok(()) }
        },
    },
    Step {
        name: "perf stat shares the counters among more events than there are",
        command: "perf stat -e instructions,branches,cycles,r08,r09,r0a,r06,r07,r21,r04,r11,r13 call-chain 1000000",
        fits: |_| true,
        short: false,
        check: |output| shared(output, "r08"),
    },
    Step {
        name: "a group that is too large is refused",
        command: "perf stat -e '{r08,r09,r0a,r06,r07,r21,r04,r13,r10}' call-chain 100",
        fits: |_| true,
        short: false,
        check: |output| output.has("not supported"),
    },
    Step {
        name: "perf record -e branches finds the loop",
        command: "perf record -q -o branches.data -c 10007 -e branches:u call-chain 10000 && \
                  perf report -i branches.data --stdio",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            super::dominates(output, "leaf")
        },
    },
];

/// Fails unless interrupts of the PMU have come.
pub(super) const INTERRUPTS: Step = Step {
    name: "the PMU has interrupted, and nothing complains",
    command: "dmesg | grep -i -e 'WARNING: CPU' -e 'BUG:' -e 'lockup' -e 'perf: interrupt took' -e 'Internal error'; \
              grep -i pmu /proc/interrupts",
    fits: |_| true,
    short: true,
    check: |output| {
        complaints(output)?;
        // GIC's INTID 23 is the fourth column behind the count.
        let line = output.text.lines().skip(1).find(|line| line.contains("arm-pmu"));
        let count = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        match count {
            Some(1..) => Ok(()),
            _ => Err(format!("{} interrupts", count.unwrap_or(0))),
        }
    },
};

fn complaints(output: &Output<'_>) -> Result<(), String> {
    for complaint in ["WARNING: CPU", "BUG:", "lockup", "interrupt took", "Internal error"] {
        let lines = output.text.lines().skip(1);
        if let Some(line) = lines.clone().find(|line| line.contains(complaint) && !line.contains("grep")) {
            return Err(line.to_owned());
        }
    }
    Ok(())
}
