//! AMD's Zen 5, as in the EPYC 9005 series.
//!
//! Sources, named below by their short form:
//!
//! - *guide*: Software Optimization Guide for the AMD Zen5 Microarchitecture (58455)
//! - *CPUID*: leaves 8000_0005H and 8000_001DH of an EPYC 9005
//! - *Chips and Cheese*: "AMD's Strix Point: Zen 5 Hits Mobile", "AMD's Ryzen 9950X: Zen 5 on Desktop"
//! - *measured*: on an EPYC 9005 in a virtual machine, `xtask/data/silicon/zen5-micro.tsv`, and blocks of one or two
//!   instructions (docs/silicon.md)
//! - *estimate*: in no source that was found; the reason is beside it

use super::zen::{ZEN3, ZEN4};
use crate::core::{
    BranchCycles, Bypass, Core, Divider, Flows, Forwarding, FrontEnd, Geometry, LinearTags, Memory,
    MemoryRenaming, OverriddenDirections, Pairing, PortBinding, Prediction, RenamedAccesses,
    RestartedTargets,
};

/// Turin.
pub const ZEN5: Core = Core {
    name: "Zen 5",
    // LLVM 19 schedules it as Zen 4; the table is measured (docs/silicon.md).
    llvm_name: "znver5",
    // guide: dispatch and retirement of 8 macro-ops, retire queue 448, store queue 104. Chips and Cheese: 202 loads.
    dispatch_width: 8,
    retire_width: 8,
    reorder_buffer: 448,
    load_buffer: 202,
    store_buffer: 104,
    // guide: 88 for integer, 56 for addresses, 3 times 38 for floating point.
    scheduler: 258,
    memory_scheduler: Some((56, &["AGU0", "AGU1", "AGU2", "AGU3"])),
    // measured: a comparison behind LEA of its register takes half a cycle with it, not a third.
    selects_early: true,
    // measured: sums take two cycles to each other, three to products, shuffles and integers.
    bypass: Bypass::Sums(1),
    // measured: PUSH and a move from the stack pointer take half a cycle.
    reads_synchronise: false,
    // measured: MOV and each of these operations take a place of eight and a unit of six.
    joins_moves: true,
    front_end: FrontEnd {
        // guide: op cache of 64 sets and 16 ways, of 6 instructions each. Two clusters of 4 decoders, of which one
        // thread has one. Queue: estimate, as Zen 4.
        queue: 144,
        uop_cache_width: 12,
        // measured: 900 lines of code of six instructions fit, 700 of seven, 450 of twelve; of lines that each begin
        // behind a jump 1024 of six, 512 of 7 to 12, 341 of 13 to 18, and half of those that are entered in the middle
        // of one also.
        uop_cache: Geometry { sets: 64, ways: 16 },
        uop_cache_shift: 6,
        uop_cache_instructions: 6,
        decode_width: 4,
        decode_uops: 4,
        // measured: code without jumps behind microcode (docs/silicon.md) runs at 16 bytes or 4 instructions a cycle.
        decode_bytes: 16,
        decodes_until_branch: true,
        fence_branches: 0,
        // Zen 3 and Zen 4 have these; here they were not looked for.
        dispatched_lines: 0,
        line_a_cycle: false,
        line_cycles: 2,
        // measured: jumps through 96 to 512 pages take 2 to 2.3 cycles each.
        page_cycles: 2,
        icache: Geometry { sets: 64, ways: 8 },
        itlb: Geometry { sets: 1, ways: 64 },
        itlb_large: Geometry { sets: 1, ways: 64 },
        ..ZEN4.front_end
    },
    prediction: Prediction {
        // measured: 8,192 random directions that repeat are learnt, of 16,384 nine in ten, of 32,768 hardly any.
        tagged: Geometry { sets: 1024, ways: 4 },
        histories: &[36, 84, 178, 224, 286],
        // guide: 16 K targets, and 8 K behind them; return stack of 52. Ways, and how directions are
        // predicted: estimates, as Zen 4.
        targets: Geometry { sets: 2048, ways: 12 },
        // measured: 4096 jumps 8 bytes apart take a cycle each, and no more than half of one as far as the uop cache
        // has them.
        fast_targets: Geometry { sets: 1024, ways: 16 },
        fast_target_window: 3,
        indirect_bits: 11,
        // measured: of one jump to 16 targets 1024 in turn are learnt, of 2048 half of them, of 4096 a fifth; with two
        // targets, which need longer histories, 1024 no more. The 3072 targets of the guide learn two thirds of 4096
        // here. Which history has how many is an estimate.
        indirect: &[
            (0, Geometry { sets: 128, ways: 4 }),
            (1, Geometry { sets: 128, ways: 4 }),
            (3, Geometry { sets: 32, ways: 4 }),
        ],
        return_stack: 52,
        taken_branches: 2,
        loop_branches_alone: false,
        slow_target: 1,
        // measured: calls of any kind and returns 2 cycles each, indirect jumps one, unless fetch has as much to do;
        // jumps, calls and returns with one to four jumps behind them (docs/silicon.md, "Mechanisms").
        branch_cycles: BranchCycles {
            indirect_jumps: 1,
            calls: 2,
            returns: 2,
            overridden: 3,
            overrides_returns: false,
            pairing: Pairing::TwoAhead,
        },
        indirect_bubble: 0,
        // estimate: as Zen 3.
        unknown_branch: 10,
        call_bubble: 0,
        indirect_call_bubble: 0,
        indirect_directions: 0,
        overridden_directions: OverriddenDirections::NONE,
        restarted_targets: RestartedTargets::NONE,
        predicts_more_returns: true,
        // measured: a branch on a random bit that is computed costs 23.7 cycles for each misprediction, behind a load
        // 29 (guide: 12 to 18). How they divide is an estimate.
        recovery: 5,
        refill: 16,
        ..ZEN4.prediction
    },
    memory: Memory {
        // CPUID: 48 KiB of 12 ways, 1 MiB of 16 ways, 32 MiB of 16 ways for eight cores.
        l1d: Geometry { sets: 64, ways: 12 },
        l2: Geometry { sets: 1024, ways: 16 },
        llc: Geometry { sets: 32768, ways: 16 },
        // measured: chases; the memory's is that of a virtual machine beside others.
        l2_latency: 14,
        llc_latency: 50,
        memory_latency: 600,
        uncached_latency: 900,
        // guide: 96 entries for all pages, second level 4096 of 16 ways.
        dtlb_load: Geometry { sets: 1, ways: 96 },
        dtlb_load_large: Geometry { sets: 1, ways: 96 },
        dtlb_store: Geometry { sets: 1, ways: 96 },
        stlb: Geometry { sets: 256, ways: 16 },
        // measured, as all below.
        split_load: 2,
        split_ports: [1, 1],
        page_split_store: 21,
        scaled_index: 1,
        store_forward: Forwarding { load: 7, operand: 7, update: 7, vector: 9 },
        // measured: 14 cycles of a store and a load, whatever registers.
        store_forward_block: [9, 6],
        // A chain of loads behind stores of the same low 12 bits takes 7.4 cycles each, with parts of the same eight
        // bytes and at 64 KiB 10.9, which is not told apart here.
        alias_block: 4,
        joins_stores: 64,
        joins_runs: false,
        renames_memory: MemoryRenaming::Predicted {
            accesses: RenamedAccesses::Operand,
            loads: 24,
            distance: 15,
        },
        // eight POP or loads of a line that was used by another address take a cycle more, a chain of them does not.
        linear_tags: LinearTags::LoadAgain(4),
        // Zen 3 has all of these; here they were not looked for, or are not there.
        replays_loads: false,
        dependent_loads: [0, 0],
        forwarded_loads: 0,
        mixed_loads: 0,
        l1_line_cycles: [0, 0],
        overtaking_loads: false,
        partial_store: 0,
        // measured in a virtual machine, where translations are nested.
        walk_base: 23,
        ..ZEN3.memory
    },
    flows: Flows {
        // measured, all of this.
        lock: 20,
        lock_line: [0, 0],
        pause: 99,
        string_moves: &[(64, 7), (256, 32), (1024, 45), (4096, 117), (16384, 417)],
        string_stores: &[(64, 6), (256, 35), (1024, 41), (4096, 114), (16384, 419)],
        divider: Divider {
            integer: 6,
            wide_integer: 7,
            long_integer: [11, 19],
            single: 3,
            double: 4,
            root_single: 5,
            root_double: 8,
        },
        ..ZEN4.flows
    },
    table: include_str!("../../data/znver5.tsv"),
    corrections: &[],
    system: concat!(
        include_str!("../../data/x86.system.tsv"),
        include_str!("../../data/zen3.system.tsv"),
        include_str!("../../data/zen5.system.tsv")
    ),
    // Zen 3 has them; here they were not looked for.
    binding: PortBinding::AtExecution,
    own_move_elimination: false,
    ..ZEN3
};
