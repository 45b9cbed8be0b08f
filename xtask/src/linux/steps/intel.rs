//! Steps on Intel profiles.

use super::super::session::{Step, near};
use super::{dominates, shared};
use linux_guest::{FixedWork, fixed_flops};

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "the kernel's driver takes the PMU",
        command: "dmesg | grep -e 'Performance Events' -e 'NMI watchdog'; \
                  grep . /sys/bus/event_source/devices/cpu/caps/*",
        fits: |_| true,
        short: true,
        check: |output| {
            output.has("Performance Events: ")?;
            output.has("full-width counters, Intel PMU driver")?;
            output.has("NMI watchdog: Enabled")?;
            output.has("branches:32")
        },
    },
    Step {
        name: "perf stat and the VMM count the same process",
        command: "perf stat -e instructions:u,branches:u fixed-work",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            // From the first instruction of the process to its last, and no start-up of a C library.
            near("instructions:u", output.count("instructions:u")?, FixedWork::X86_64.instructions, 0)?;
            let branches = FixedWork::X86_64.branches + FixedWork::X86_64.system_calls;
            near("branches:u", output.count("branches:u")?, branches, 0)?;
            let vmm = |event| output.interval("fixed-work", event);
            near("VMM's instructions", vmm("INST_RETIRED.ANY")?, FixedWork::X86_64.interval_instructions, 0)?;
            near(
                "VMM's branches",
                vmm("BR_INST_RETIRED.ALL_BRANCHES")?,
                FixedWork::X86_64.interval_branches,
                0,
            )
        },
    },
    Step {
        name: "perf stat reads slots and level 1 metrics as a group",
        command: "perf stat -e '{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}' \
                  call-chain 10000",
        fits: |facts| facts.metrics_level >= 1,
        short: true,
        check: |output| {
            output.success()?;
            let slots = output.count("slots")?;
            let metrics = ["retiring", "bad-spec", "fe-bound", "be-bound"];
            let mut sum = 0;
            for metric in metrics {
                sum += output.count(&format!("topdown-{metric}"))?;
            }
            // Each is rounded down to 1/255 by the register, and by the kernel.
            near("sum of the metrics", sum, slots, slots / 255 * 4)?;
            output.has("% Retiring")
        },
    },
    Step {
        name: "perf stat -M TopdownL1",
        command: "perf stat -M TopdownL1 call-chain 10000",
        fits: |facts| facts.metrics_level >= 1,
        short: false,
        check: |output| {
            output.success()?;
            for metric in ["tma_retiring", "tma_bad_speculation", "tma_frontend_bound", "tma_backend_bound"] {
                output.has(metric)?;
            }
            output.has_not("not supported")?;
            output.has_not("not counted")
        },
    },
    Step {
        name: "perf stat -M TopdownL1 from general counters",
        // The metrics share counters, so they are estimates; the groups before them are not.
        command: "perf stat -e '{uops_issued.any:u,uops_retired.retire_slots:u,int_misc.recovery_cycles:u},\
                  {cpu_clk_unhalted.one_thread_active:u,cpu_clk_unhalted.ref_xclk:u}' call-chain 100000 && \
                  perf stat -M TopdownL1 call-chain 1000000",
        fits: |facts| facts.metrics_level == 0,
        short: false,
        check: |output| {
            output.success()?;
            let issued =
                output.count("uops_issued.any:u")? + 4 * output.count("int_misc.recovery_cycles:u")?;
            if issued < output.count("uops_retired.retire_slots:u")? {
                return Err("more slots retire than are issued".to_owned());
            }
            let reference = output.count("cpu_clk_unhalted.ref_xclk:u")?;
            let alone = output.count("cpu_clk_unhalted.one_thread_active:u")?;
            near("cycles without a sibling", alone, reference, reference / 100)?;
            for metric in ["tma_retiring", "tma_bad_speculation", "tma_frontend_bound", "tma_backend_bound"] {
                let percent = output.percent(metric)?;
                // A share of all slots, but for what sharing counters costs.
                if !(-2.0..=102.0).contains(&percent) {
                    return Err(format!("{metric} is {percent} %"));
                }
            }
            Ok(())
        },
    },
    Step {
        name: "perf stat counts floating-point operations by width",
        command: "perf stat -e '{fp_arith_inst_retired.128b_packed_double:u,\
                  fp_arith_inst_retired.128b_packed_single:u}' fixed-flops",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            for kind in ["double", "single"] {
                let count = output.count(&format!("fp_arith_inst_retired.128b_packed_{kind}:u"))?;
                // The start-up of a C library does a few at most.
                near(kind, count, fixed_flops::ROUNDS, 100)?;
            }
            Ok(())
        },
    },
    Step {
        name: "perf stat -M TopdownL2, multiplexed beside the NMI watchdog",
        command: "perf stat -M TopdownL2 call-chain 200000",
        fits: |facts| facts.metrics_level >= 2,
        short: false,
        check: |output| {
            output.success()?;
            for metric in
                ["tma_branch_mispredicts", "tma_fetch_latency", "tma_memory_bound", "tma_machine_clears"]
            {
                output.has(metric)?;
            }
            output.has_not("not supported")
        },
    },
    Step {
        name: "perf stat --topdown -a",
        command: "perf stat --topdown -a call-chain 10000",
        fits: |facts| facts.metrics_level >= 1,
        short: false,
        check: |output| {
            output.success()?;
            output.has("%")?;
            output.has_not("not supported")
        },
    },
    Step {
        name: "perf stat shares the counters among more events than there are",
        command: "perf stat -e instructions,branches,cycles,ref-cycles,cpu/event=0xc0/,cpu/event=0xc4/,\
                  cpu/event=0x3c/,cpu/event=0xc4,umask=2/,cpu/event=0xc4,umask=8/,cpu/event=0xc4,umask=0x40/,\
                  cpu/event=0xc4,umask=0x80/,cpu/event=0xc4,umask=0x10/ call-chain 1000000",
        fits: |_| true,
        short: false,
        check: |output| shared(output, "cpu/event=0xc0/"),
    },
    Step {
        name: "a group that is too large is refused",
        command: "perf stat -e '{cycles,instructions,branches,cpu/event=0xc4,umask=1/,cpu/event=0xc4,umask=2/,\
                  cpu/event=0xc4,umask=8/,cpu/event=0xc4,umask=0x40/,cpu/event=0xc4,umask=0x80/,\
                  cpu/event=0xc4,umask=0x10/,cpu/event=0xc4,umask=0x20/,ref-cycles,cpu/event=0xc4/}' call-chain 100",
        fits: |_| true,
        short: false,
        check: |output| output.has("not supported"),
    },
    Step {
        name: "perf record -e slots samples fixed counter 3",
        command: "perf record -q -o slots.data -c 1000000 -e slots call-chain 100000 && \
                  perf report -i slots.data --stdio",
        fits: |facts| facts.metrics_level >= 1,
        short: false,
        check: |output| {
            output.success()?;
            output.has("of event 'slots'")?;
            dominates(output, "leaf")
        },
    },
    Step {
        name: "leader sampling reads slots and metrics in the NMI",
        // With slots as the leader the second event is the one that samples.
        command: "perf record -q -o leader.data -c 1000003 -e '{slots:u,instructions:u,topdown-retiring:u,\
                  topdown-bad-spec:u,topdown-fe-bound:u,topdown-be-bound:u}:S' call-chain 100000 && \
                  perf script -i leader.data -F event,period | awk '{ sub(\":.*\", \"\", $2); n[$2]++; s[$2] += $1 } \
                  END { for (e in n) print s[e], e, \"in\", n[e], \"samples\" }'",
        fits: |facts| facts.metrics_level >= 1,
        short: false,
        check: |output| {
            output.success()?;
            let slots = output.count("slots")?;
            // A sample each million of at least 50 million instructions, and what passed since the one before.
            if slots < 50_000_000 {
                return Err(format!("{slots} slots in all samples"));
            }
            // perf writes none of a metric without slots.
            let metrics = ["topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"];
            let sum: u64 = metrics.into_iter().flat_map(|metric| output.counts(metric)).sum();
            // PERF_METRICS has eight bits for a metric.
            near("the metrics' slots", sum, slots, slots / 100)
        },
    },
    Step {
        name: "perf record -b records branches with symbols",
        command: "perf record -q -o branches.data -c 2003 -b -e branches:u call-chain 10 && \
                  perf report -i branches.data --stdio -b | head -n 24; \
                  perf script -i branches.data -F brstacksym | tail -n 1",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            // The loop, the call into it and the returns out of it.
            let edges = ["leaf+0x", "middle+0x", "outer+0x"];
            let record = output.text.lines().rev().find(|line| line.contains('/')).unwrap_or_default();
            for edge in edges {
                if !record.contains(edge) {
                    return Err(format!("no branch from or to {edge}"));
                }
            }
            // Only architectural records hold the type of a branch.
            if output.facts.metrics_level == 2 {
                output.has("/RET")?;
                output.has("/CALL")?;
            }
            Ok(())
        },
    },
    Step {
        name: "perf record --call-graph lbr unwinds the chain",
        command: "perf record -q -o chain.data -c 1000003 --call-graph lbr -e instructions:u call-chain 100000 && \
                  perf report -i chain.data --stdio --no-children",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            let chain = ["leaf", "middle", "outer", "main"];
            let mut rest = output.text.split_once("---").ok_or("no call chain")?.1;
            for function in chain {
                rest = rest.split_once(function).ok_or_else(|| format!("{function} is not in its place"))?.1;
            }
            Ok(())
        },
    },
    Step {
        name: "a metric cannot be sampled",
        command: "perf record -q -o metric.data -e topdown-retiring call-chain 100",
        fits: |facts| facts.metrics_level >= 1,
        short: false,
        check: |output| if output.status == 0 { Err("it was accepted".to_owned()) } else { Ok(()) },
    },
    Step {
        name: "two processes at once each keep their slots and metrics",
        command: "for n in 1 2; do perf stat -o group.$n -e '{slots:u,topdown-retiring:u,topdown-bad-spec:u,\
                  topdown-fe-bound:u,topdown-be-bound:u},instructions:u' call-chain 300000 & done; wait; \
                  perf stat -o group.3 -e '{slots:u,topdown-retiring:u,topdown-bad-spec:u,topdown-fe-bound:u,\
                  topdown-be-bound:u},instructions:u,context-switches' call-chain 300000; cat group.1 group.2 group.3",
        fits: |facts| facts.metrics_level >= 1,
        short: false,
        check: |output| {
            output.success()?;
            for event in ["slots:u", "topdown-retiring:u", "instructions:u"] {
                let &[one, two, alone] = &*output.counts(event) else {
                    return Err(format!("not three counts of {event}"));
                };
                // Address-space randomisation changes the start-up a little, and each switch rounds a metric to 1/255
                // of the slots.
                let slots = if event.starts_with("topdown") { output.count("slots:u")? } else { 0 };
                let tolerance = alone / 1000 + slots / 255;
                near(event, one, alone, tolerance)?;
                near(event, two, alone, tolerance)?;
            }
            Ok(())
        },
    },
];
