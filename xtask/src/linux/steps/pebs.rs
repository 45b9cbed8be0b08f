//! Steps on Intel profiles that show PEBS (`--precise on`).

use super::super::session::{Step, near};
use super::{all_good, dominates, levels};
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
        command: "perf record -q -o precise.data -c 10007 -e instructions:uppp call-chain 10000 marked && \
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
        command: "perf record -q -o cycles.data -c 10007 -e cycles:uP call-chain 10000 marked && \
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
        name: "every instruction of the loop is sampled, and nothing else",
        command: "perf record -q -o loop.data -c 8009 -e instructions:uppp sampled-loop run 14000000 && \
                  perf script -i loop.data -F ip,sym,symoff | sampled-loop check",
        fits: |facts| facts.one_cycle,
        short: false,
        check: |output| all_good(output, 10_000),
    },
    Step {
        name: "data sources are those of chases through known amounts of memory",
        // From Sapphire Rapids on the event wants another one as its leader.
        command: "aux=''; [ -e /sys/bus/event_source/devices/cpu/events/mem-loads-aux ] && aux=cpu/mem-loads-aux/u,; \
                  for kib in 16 256 4096 $LARGE; do \
                  perf record -q -o mem.data -d -W -c 101 -e \"{${aux}cpu/mem-loads,ldlat=3/upp}\" \
                  sampled-loop chase $kib 300000 && \
                  perf script -i mem.data -F ip,sym,data_src | grep 'sampled_chase' | grep 'OP LOAD' | \
                  grep -o 'LVL [^|]*' | sort | uniq -c | sort -rn | head -n 1; done",
        fits: |facts| !facts.one_cycle,
        short: false,
        check: levels,
    },
    Step {
        name: "data sources and latencies of stores are those of known amounts of memory",
        // MEM_TRANS_RETIRED.STORE_SAMPLE, from Golden Cove on.
        command: "for kib in 16 256 4096 $LARGE; do \
                  perf record -q -o store.data -d -W -c 101 -e cpu/mem-stores/upp sampled-loop store $kib 300000 && \
                  perf script -i store.data -F ip,sym,data_src | grep 'sampled_store' | \
                  grep -o 'LVL [^|]*' | sort | uniq -c | sort -rn | head -n 1; \
                  perf script -i store.data -F weight,ip,sym | grep 'sampled_store' | \
                  awk '{ sum += $1 } END { print \"cycles: \" int(sum / NR) }'; done",
        fits: |facts| !facts.one_cycle && facts.metrics_level == 2,
        short: false,
        check: |output| {
            levels(output)?;
            let cycles = output.text.lines().filter_map(|line| line.trim().strip_prefix("cycles: "));
            let cycles: Vec<u64> = cycles.filter_map(|number| number.parse().ok()).collect();
            match cycles[..] {
                [l1, l2, l3, memory] if l1 < l2 && l2 < l3 && l3 < memory => Ok(()),
                _ => Err(format!("latencies {cycles:?}")),
            }
        },
    },
    Step {
        name: "perf mem record and perf c2c take loads above a latency",
        command: "perf mem -t load record -o mem.data --ldlat 30 -- -q -c 101 sampled-loop chase 4096 200000 && \
                  perf mem -i mem.data report --stdio --sort=mem | grep -v '^#' | grep '%'; \
                  perf script -i mem.data -F weight,ip,sym | grep sampled_chase | \
                  awk '{ n++; if ($1 < 30) bad++ } END { print n \" samples, \" bad + 0 \" bad\" }'; \
                  perf c2c record -o c2c.data -- -q -c 101 sampled-loop chase 4096 200000 && \
                  perf c2c report -i c2c.data --stdio | grep -e 'Load Operations' -e 'Total records'",
        fits: |facts| !facts.one_cycle,
        short: false,
        check: |output| {
            all_good(output, 100)?;
            output.has("L3")?;
            output.has("Load Operations")
        },
    },
    Step {
        name: "perf record without -e takes cycles with the most precision there is",
        command: "perf record -q -o default.data call-chain 10000 && perf evlist -v -i default.data",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            output.has("cycles")?;
            output.has("precise_ip: 3")
        },
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
