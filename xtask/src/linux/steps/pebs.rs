//! Steps on Intel profiles that show PEBS (`--precise on`).

use super::super::session::{Step, near};
use super::{all_good, dominates};
use linux_guest::FixedWork;

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "the kernel's driver takes PEBS",
        command: "dmesg | grep -e 'Performance Events'; cat /sys/bus/event_source/devices/cpu/caps/max_precise",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            output.has(" PEBS fmt")?;
            output.has("\r\n3\r\n")
        },
    },
    Step {
        name: "a record for each period, many to an interrupt",
        command: "perf record -q -o period.data -c 10007 -e instructions:upp fixed-work && \
                  perf report -i period.data --stdio; \
                  perf script -i period.data -F ip | awk '{ n++ } END { print n \" samples, 0 bad\" }'",
        fits: |_| true,
        short: true,
        check: |output| {
            all_good(output, FixedWork::X86_64.instructions / 10_007 - 1)?;
            let lost = output.report["accesses"]["pebs_lost"].as_u64();
            near("lost records", lost.unwrap_or(u64::MAX), 0, 0)
        },
    },
    Step {
        name: "perf record -e instructions:ppp finds the loop",
        command: "perf record -q -o precise.data -c 10007 -e instructions:uppp call-chain 10000 && \
                  perf report -i precise.data --stdio",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            dominates(output, "leaf")
        },
    },
    Step {
        name: "perf record -e cycles:P",
        command: "perf record -q -o cycles.data -c 10007 -e cycles:uP call-chain 10000 && \
                  perf report -i cycles.data --stdio",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            dominates(output, "leaf")
        },
    },
    Step {
        name: "every sampled taken branch is the newest branch record",
        command: "perf record -q -o taken.data -c 997 -j any,u -e br_inst_retired.near_taken:upp \
                  call-chain 100000 && perf script -i taken.data -F ip,brstack | \
                  awk 'NF { n++; split($2, at, \"/\"); if (\"0x\" $1 != at[1]) bad++ } \
                  END { print n \" samples, \" bad + 0 \" bad\" }'",
        fits: |_| true,
        short: true,
        check: |output| all_good(output, 1_000),
    },
    Step {
        name: "sampled loads have their addresses",
        command: "perf record -q -o loads.data -c 9973 -d -e mem_inst_retired.all_loads:upp \
                  call-chain 100000 && perf script -i loads.data -F addr,ip | \
                  awk 'NF { n++; if ($1 == 0) bad++ } END { print n \" samples, \" bad + 0 \" bad\" }'",
        fits: |_| true,
        short: false,
        check: |output| all_good(output, 1_000),
    },
];
