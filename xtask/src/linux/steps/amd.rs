//! Steps on AMD profiles.
//!
//! The kernel runs its watchdog on one of the six counters, so five are free. AMD's own events are written `<NAME>` and
//! asked for by their codes, because Debian 12's perf has no names of Zen 5.

use super::super::session::{Step, near};
use super::{dominates, shared};
use linux_guest::{FixedWork, fixed_flops};
use vpmu::event::Event;

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "the kernel's driver takes the PMU",
        command: "dmesg | grep -e 'Performance Events' -e 'NMI watchdog' -e '\\.\\.\\. '; \
                  grep . /sys/bus/event_source/devices/cpu/caps/* /sys/bus/event_source/devices/cpu/events/*",
        fits: |_| true,
        short: true,
        check: |output| {
            output.has("Performance Events: Fam17h+ ")?;
            output.has("core perfctr, AMD PMU driver.")?;
            output.has("NMI watchdog: Enabled")?;
            let version = if output.facts.perf_mon_v2 { 2 } else { 0 };
            near("version", output.number("version:")?, version, 0)?;
            near("counters", output.number("generic registers:")?, 6, 0)?;
            near("bits", output.number("bit width:")?, 48, 0)?;
            if output.facts.perf_mon_v2 {
                output.has("16-deep LBR")?;
                output.has("branches:16")?;
            }
            for (event, code) in [
                ("cpu-cycles", "event=0x76"),
                ("instructions", "event=0xc0"),
                ("branch-instructions", "event=0xc2"),
                ("branch-misses", "event=0xc3"),
            ] {
                output.has(&format!("/{event}:{code}"))?;
            }
            Ok(())
        },
    },
    Step {
        name: "perf stat and the VMM count the same process",
        // Far transfers: SYSCALL, exceptions and interrupts, all of which AMD's count of branches holds.
        command: "perf stat -e '{instructions:u,branches:u,<ex_ret_brn_far>u},page-faults:u' fixed-work",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            near("instructions:u", output.count("instructions:u")?, FixedWork::X86_64.instructions, 0)?;
            let far = output.count("ex_ret_brn_far")?;
            near("branches:u", output.count("branches:u")?, FixedWork::X86_64.branches + far, 0)?;
            if far < FixedWork::X86_64.system_calls + output.count("page-faults:u")? {
                return Err(format!("{far} far transfers are too few"));
            }
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
        name: "perf stat shares the counters among more events than there are",
        command: "perf stat -e instructions,branches,cycles,cpu/event=0xc0/,cpu/event=0xc2/,cpu/event=0x76/,\
                  cpu/event=0xc4/,cpu/event=0xc6/,cpu/event=0xc8/,cpu/event=0xd1/,cpu/event=0xc3/,\
                  cpu/event=0x29,umask=1/ call-chain 1000000",
        fits: |_| true,
        short: false,
        check: |output| shared(output, "cpu/event=0xc0/"),
    },
    Step {
        name: "a group that is too large is refused",
        command: "perf stat -e '{cycles,instructions,branches,cpu/event=0xc4/,cpu/event=0xc6/,cpu/event=0xc8/,\
                  cpu/event=0xd1/}' call-chain 100",
        fits: |_| true,
        short: false,
        check: |output| output.has("not supported"),
    },
    Step {
        name: "two large-increment events find their pairs of counters",
        command: "perf stat -e <fp_ret_sse_avx_ops.add_sub_flops>u,<fp_ret_sse_avx_ops.mult_flops>u fixed-flops",
        fits: |_| true,
        short: true,
        check: |output| {
            output.success()?;
            output.has_not("%)")?;
            let count = |event: &str| output.count(&format!("fp_ret_sse_avx_ops.{event}"));
            // The start-up of a C library does a few conversions at most.
            near("additions", count("add_sub_flops")?, fixed_flops::ADDITIONS, 100)?;
            near("multiplications", count("mult_flops")?, fixed_flops::MULTIPLICATIONS, 100)
        },
    },
    Step {
        name: "perf stat counts SSE instructions",
        command: "perf stat -e <ex_ret_mmx_fp_instr.sse_instr>u fixed-flops",
        // Zen 4's list does not have it.
        fits: |facts| facts.events.by_event(Event::ExRetMmxFpInstrSse).is_some(),
        short: true,
        check: |output| {
            output.success()?;
            let count = output.count("ex_ret_mmx_fp_instr.sse_instr")?;
            // And what the C library's start-up moves by SSE registers.
            near("SSE instructions", count, 2 * fixed_flops::ROUNDS, 10_000)
        },
    },
    Step {
        name: "a third pair beside the watchdog has to share",
        command: "perf stat -e <fp_ret_sse_avx_ops.div_flops>u,<fp_ret_sse_avx_ops.mult_flops>u,\
                  <fp_ret_sse_avx_ops.add_sub_flops>u fixed-flops 20",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            output.has("%)")?;
            let expected = 20 * fixed_flops::ADDITIONS;
            near("additions", output.count("fp_ret_sse_avx_ops.add_sub_flops")?, expected, expected / 20)
        },
    },
    Step {
        name: "perf record samples a large-increment event",
        command: "perf record -q -o flops.data -c 100003 -e <fp_ret_sse_avx_ops.mult_flops>u fixed-flops && \
                  perf report -i flops.data --stdio",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            let samples = fixed_flops::MULTIPLICATIONS / 100_003;
            near("samples", output.number("# Samples")?, samples, 1)?;
            dominates(output, "flops")
        },
    },
    Step {
        name: "perf record -b records branches with symbols",
        command: "perf record -q -o branches.data -c 101 -b -e branches:u call-chain 8 && \
                  perf script -i branches.data -F brstacksym | grep leaf+ | grep outer+ | tail -n 1",
        fits: |facts| facts.perf_mon_v2,
        short: true,
        check: |output| {
            output.success()?;
            let record = output.text.lines().rev().find(|line| line.contains('/')).unwrap_or_default();
            for edge in ["leaf+0x", "middle+0x", "outer+0x"] {
                if !record.contains(edge) {
                    return Err(format!("no branch from or to {edge}"));
                }
            }
            Ok(())
        },
    },
    Step {
        name: "branch records are refused without LbrExtV2",
        command: "perf record -q -o branches.data -b -e branches:u call-chain 10",
        fits: |facts| !facts.perf_mon_v2,
        short: false,
        check: |output| if output.status == 0 { Err("it was accepted".to_owned()) } else { Ok(()) },
    },
    Step {
        name: "two processes at once each keep their counts",
        command: "for n in 1 2; do \
                  perf stat -o group.$n -e '{instructions:u,branches:u,<ex_ret_cond>u}' call-chain 300000 \
                  & done; wait; perf stat -o group.3 -e '{instructions:u,branches:u,<ex_ret_cond>u},context-switches' \
                  call-chain 300000; cat group.1 group.2 group.3",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            for event in ["instructions:u", "branches:u", "ex_ret_cond"] {
                let &[one, two, alone] = &*output.counts(event) else {
                    return Err(format!("not three counts of {event}"));
                };
                // Address-space randomisation changes the start-up, and AMD counts interrupts as branches.
                near(event, one, alone, alone / 1000)?;
                near(event, two, alone, alone / 1000)?;
            }
            Ok(())
        },
    },
];
