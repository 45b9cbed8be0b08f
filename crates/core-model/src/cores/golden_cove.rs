//! Golden Cove as in Sapphire Rapids and Alder Lake; Raptor Cove and Redwood Cove are nearly the same pipeline.
//!
//! Sources, named below by their short form:
//!
//! - *manual*: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on Golden Cove
//! - *Jiegec*: "Intel Golden Cove 微架构评测" (jia.je, 2025), which quotes the manual and measures a desktop CPU
//! - *Chips and Cheese*: "Popping the Hood on Golden Cove", "Sapphire Rapids: Golden Cove Hits Servers"
//! - *LLVM*: `X86SchedSapphireRapids.td`
//! - *TMA*: constants of Intel's published TMA formulas, `intel/perfmon` `TMA_Metrics-full.csv`, columns SPR and
//!   ADL/RPL, which EMR continues
//! - *CPUID*: leaves 4 and 18H of a Xeon w7-2475X, `InstLatx64/InstLatx64`
//!   `GenuineIntel00806F8_SapphireRapids_05_CPUID`, and of other CPUs in that repository, which are named
//! - *InstLatx64*: measured latencies and throughputs, same repository, `GenuineIntel0090672_AlderLake_01_BC_AVX512`
//! - *estimate*: in no source that was found; the reason is beside it

use crate::core::{
    BranchCycles, Bypass, Core, Divider, Flows, Forwarding, FrontEnd, Geometry, Isa, LinearTags, Memory,
    MemoryOperands, MemoryRenaming, OverriddenDirections, Pairing, PortBinding, Prediction, RestartedTargets,
    WideUnits,
};

/// Sapphire Rapids.
pub const GOLDEN_COVE: Core = Core {
    name: "Golden Cove",
    isa: Isa::X86,
    llvm_name: "sapphirerapids",
    // manual: allocation of 6, reorder buffer 512, retirement of 8. TMA and LLVM: the same. Chips and Cheese: load
    // buffer 192, store buffer 114.
    dispatch_width: 6,
    retire_width: 8,
    reorder_buffer: 512,
    load_buffer: 192,
    store_buffer: 114,
    // Chips and Cheese: 205, of which 97 for arithmetic, 70 for loads, 38 for stores. LLVM has 112, 72 and 48.
    scheduler: 205,
    memory_scheduler: None,
    wakes_late: false,
    selects_early: false,
    fusion: true,
    memory_operands: MemoryOperands::Fused,
    allocates_whole: false,
    // That ports are bound at allocation as on Raptor Cove is likely, and left out for its cost: with it, `--detail
    // timing` takes 1.1 to 1.3 times as long.
    binding: PortBinding::AtExecution,
    // Chips and Cheese: 5.6 moves a cycle, also dependent ones.
    // As before; no source has it anew.
    stack_engine: Some((4, "Add_r64_rm64")),
    reads_synchronise: true,
    // Measured on Granite Rapids: CVTDQ2PS takes half a cycle whether or not upper bits are in use.
    merges_upper_bits: false,
    // Measured on Raptor Cove (docs/silicon.md).
    bypass: Bypass::Kept { integers: "SPRPort00" },
    move_elimination: true,
    own_move_elimination: false,
    // Measured on Granite Rapids: sums of a register and -1024 to 1023, with or without flags (docs/silicon.md).
    moves_stack_pointer: false,
    breaks_borrow: false,
    fuses_nops: false,
    joins_moves: false,
    adds_at_renaming: true,
    front_end: FrontEnd {
        // manual: queue of 144 uops for one thread, uop cache of 4 K that delivers 8 (TMA: `DSB_Width`).
        queue: 144,
        uop_cache_width: 8,
        // Jiegec: 64 sets of 8 ways, each up to 8 uops within 64 bytes. In this model a line holds 32 bytes, as those
        // have about 8 uops.
        uop_cache: Geometry { sets: 64, ways: 8 },
        uop_cache_shift: 5,
        uop_cache_instructions: 0,
        dispatched_lines: 0,
        line_a_cycle: false,
        // manual: 6 decoders, 32 bytes. TMA: `Decode_Width`.
        decode_width: 6,
        decode_uops: 6,
        decode_bytes: 32,
        predecode_width: 0,
        bars_boundary_branches: false,
        decodes_until_branch: false,
        fence_branches: 0,
        // manual, of Skylake: up to 4 uops from the first decoder.
        decoder_uops: 4,
        simple_uops: 1,
        wide_alone: false,
        branch_decoder: false,
        // Jiegec: loops of up to 144 uops.
        loop_stream: true,
        // estimate: as Skylake, where Intel's event list has 0 to 2 cycles most often.
        decode_switch: 2,
        // TMA: `MS_Width` and `MS_Switches_Cost`.
        microcode_width: 4,
        microcode_switch: 3,
        // Intel's event list: "a three-cycle penalty for each" (DECODE.LCP).
        length_changing_prefix: 3,
        // estimate: a queue of 24 fetches, of 32 bytes each, which the decoders take two cycles for. That code far
        // beyond the first level runs as fast as decoders take it is measured (docs/silicon.md).
        run_ahead: 48,
        // Measured on Granite Rapids: NOPs of 8 bytes take 4.9 cycles a line, those of 4 bytes too.
        line_cycles: 5,
        page_cycles: 0,
        // CPUID: 32 KiB of 8 ways; 256 entries of 8 ways, 32 of 8 for large pages. Jiegec: measured as well.
        icache: Geometry { sets: 64, ways: 8 },
        itlb: Geometry { sets: 32, ways: 8 },
        itlb_large: Geometry { sets: 4, ways: 8 },
    },
    prediction: Prediction {
        // jia.je/cpu/cbp.html, for Redwood Cove too (Half&Half has three tables): tables, sets, ways, bits of history,
        // and those that a taken branch adds. The table without history: estimate, twice Sunny Cove's. Measured on
        // Granite Rapids: 5,000 random directions that repeat are learnt (docs/silicon.md). Measured there and on
        // Emerald Rapids: what a branch did decides another one's target, and its direction, 8, 18, 34, 66 and 194
        // taken branches later, and in between where less than a dozen random ones are further back. Half&Half and
        // Indirector, of Golden Cove, have no table of 8.
        bimodal_bits: 14,
        tagged: Geometry { sets: 512, ways: 4 },
        histories: &[16, 36, 68, 132, 388],
        spreads_branches: true,
        // Measured on Emerald Rapids: of directions of which one in eight differs, 0.149 are mispredicted, and 0.148
        // so; 0.128 if new entries first had to be better.
        trusts_new_entries: true,
        path_address: 0,
        // Chips and Cheese: 128 targets without a lost cycle, 4.5 K with one, 12 K with two. Ways: estimate.
        targets: Geometry { sets: 2048, ways: 6 },
        fast_targets: Geometry { sets: 32, ways: 4 },
        fast_target_window: 5,
        slow_target: 1,
        // Measured on Emerald Rapids (docs/silicon.md, "Mechanisms"): calls, returns, indirect jumps and ends of lines
        // with zero to six jumps behind each; one jump to two, four and 16 targets in turn, 1.3 cycles more than to
        // one. Behind LFENCE 33 jumps of two cycles each are predicted while fetch waits, of which the queue has 18.
        branch_cycles: BranchCycles {
            indirect_jumps: 2,
            calls: 1,
            returns: 2,
            overridden: 3,
            overrides_returns: true,
            pairing: Pairing::InRow { alone: 3, lines_apart: true },
        },
        lead: 28,
        indirect_bubble: 0,
        indirect_directions: 0,
        // Measured on Raptor Cove: loops of 4 and 16 iterations take two to three cycles more than their iterations.
        overridden_directions: OverriddenDirections { cycles: 2, first_is_fast: false },
        // Measured on Raptor Cove: an iteration with a misprediction in every second one takes 1.35, 3.6 and 7.7 cycles
        // more with two, four and eight jumps behind it.
        restarted_targets: RestartedTargets { count: 10, cycles: 2, ahead: 5 },
        call_bubble: 0,
        indirect_call_bubble: 0,
        // Targets by address alone: estimate, twice Sunny Cove's. By history: estimate, from jumps to 16 targets in
        // turn without and with random directions and more jumps in between: on Granite Rapids and Emerald Rapids 512
        // are learnt, 4096 are not (docs/silicon.md). Indirector (Li, Yavarzadeh and Tullsen, 2024) has three tables.
        indirect_bits: 11,
        indirect: &[
            (0, Geometry { sets: 256, ways: 2 }),
            (1, Geometry { sets: 128, ways: 2 }),
            (2, Geometry { sets: 128, ways: 2 }),
            (3, Geometry { sets: 128, ways: 2 }),
            (4, Geometry { sets: 128, ways: 2 }),
        ],
        // Jiegec: 20 entries.
        return_stack: 20,
        taken_branches: 1,
        loop_branches_alone: false,
        // Measured on Granite Rapids: 128 calls within each other lose a cycle each and no more (docs/silicon.md).
        predicts_more_returns: true,
        // estimate, as Sunny Cove: TMA measures it here.
        unknown_branch: 10,
        // Intel's Architecture Day 2021: 17 cycles, one more than the predecessor. How they divide is an estimate.
        recovery: 6,
        refill: 11,
    },
    memory: Memory {
        // CPUID: 48 KiB of 12 ways, 2 MiB of 16, 1.875 MiB of 15 ways a core: 60 MiB for 32 cores.
        l1d: Geometry { sets: 64, ways: 12 },
        l2: Geometry { sets: 2048, ways: 16 },
        llc: Geometry { sets: 65536, ways: 15 },
        // Chips and Cheese: 16 cycles on Sapphire Rapids. TMA: 4.4, 37 and 109 ns; cycles are in the same proportion.
        // Chips and Cheese: 125 cycles and 107 ns at 3.8 GHz.
        l2_latency: 16,
        llc_latency: 135,
        memory_latency: 396,
        // estimate: more than memory, as devices are farther away.
        uncached_latency: 800,
        // Chips and Cheese: 16 fill buffers, 48 entries of the second level's queue.
        fill_buffers: 16,
        l2_fill_buffers: 48,
        // estimate: 10 bytes a cycle from the last level, 4 from memory, for one core.
        llc_line_cycles: 6,
        memory_line_cycles: 16,
        // manual: 96 entries for loads of 6 ways (Jiegec: measured; CPUID: 64), 32 for large pages, 16 for stores,
        // second level 2048, 4 walkers. CPUID: the second level has two halves of 8 ways, here one.
        dtlb_load: Geometry { sets: 16, ways: 6 },
        dtlb_load_large: Geometry { sets: 8, ways: 4 },
        dtlb_store: Geometry { sets: 1, ways: 16 },
        stlb: Geometry { sets: 128, ways: 16 },
        // TMA: `Mem_STLB_Hit_Cost`. Chips and Cheese, Jiegec: the same.
        stlb_latency: 7,
        // estimate: four steps through structures that cache the upper levels.
        walk_base: 9,
        walkers: 4,
        // Chips and Cheese, Jiegec: 5 cycles from store to load, where renaming does not connect the two.
        fast_pointer: false,
        scaled_index: 0,
        displaced_index: 0,
        store_forward: Forwarding { load: 5, operand: 5, update: 5, vector: 5 },
        store_forward_again: 0,
        // Measured on Raptor Cove: 7.3 to 7.4 cycles for a sum in place, and for vectors with up to an addition.
        forward_interval: 7,
        joins_stores: 6,
        joins_runs: false,
        // Measured: loads from the second level take twice the ports of those from the first (docs/silicon.md). Travis
        // Downs, "uop replay after L1 miss" (Real World Tech, 2018): what needs the line is dispatched once more.
        replays_loads: true,
        // Travis Downs, "Unexpectedly poor and weirdly bimodal performance for store loop on Intel Skylake" (Stack
        // Overflow): 1.25 cycles for each of four stores to a line of the second level.
        fill_cycles: 1,
        // Measured on Raptor Cove: stores to lines of the second level at random take 4.1 cycles each, with one, two,
        // four and eight others in between that hit 6.6, 8.3, 12.2 and 17 for all of them, with others of one line 7.7
        // to 8.5. If the lines are prefetched by PREFETCHW or loads, 3.6 alone and with one other, and 6.1 with four.
        store_fill: [7, 4],
        // Chosen to fit what was measured in the last level: 28, 37, 46 and 54 cycles with one, two, four and eight
        // others.
        store_prefetch: 20,
        // Measured on Granite Rapids, lines of the second level: those that are loaded and stored to take 3.9 cycles
        // each, with one and two stores of the first level in between as well, 5.1 with three; copies 5.1
        // (docs/silicon.md).
        l1_line_cycles: [1, 3],
        linear_tags: LinearTags::None,
        dependent_loads: [0, 0],
        forwarded_loads: 0,
        mixed_loads: 0,
        overtaking_loads: false,
        partial_store: 0,
        // Measured on Granite Rapids and Emerald Rapids: three loads a cycle, but two of the same four bytes of lines
        // (docs/silicon.md). uops.info has three of one address on Alder Lake.
        load_banks: true,
        // Measured: a chain of loads across lines or pages takes 12 cycles; one of them a cycle, and one in 3.3.
        split_load: 7,
        split_ports: [2, 9],
        // Measured: 25 cycles.
        page_split_store: 23,
        // Chips and Cheese, and measured: 0.5 cycles for a store and a load.
        renames_memory: MemoryRenaming::Plain,
        // TMA: 13 cycles in `Store_Fwd_Blk`; Jiegec: 19 in all. Measured on Granite Rapids and Emerald Rapids: a chain
        // of loads behind aliasing stores takes 5 cycles each (docs/silicon.md).
        store_forward_block: [13; 2],
        alias_block: 0,
        // manual: the streamer runs up to 20 lines ahead, and what is far ahead goes to the last level only. How far
        // that is, half of it, is an estimate. Jiegec: there is a prefetcher of pairs of lines.
        stream_distance: 10,
        stream_llc_distance: 20,
        adjacent_line: true,
    },
    flows: Flows {
        // InstLatx64: 17.9 cycles for LOCK ADD, of which one is for the line.
        lock: 17,
        // Measured on Redwood Cove: 18 cycles on one line, 17 on several, 25 with a store in between
        // (docs/silicon.md).
        lock_line: [1, 0],
        lock_after_load: 0,
        lock_drain: 6,
        // InstLatx64: 160 cycles. TMA measures it here.
        pause: 160,
        // estimates, as for Sunny Cove.
        interrupt_uops: 80,
        interrupt_cycles: 250,
        machine_clear: 30,
        // TMA: `FP_Assists` has 30 slots; page tables: estimate, the 99 of `Page_Faults`. Agner Fog, of Skylake:
        // about 150 cycles for a subnormal result.
        fp_assist_uops: 30,
        page_assist_uops: 99,
        assist_cycles: 150,
        // InstLatx64: reciprocal throughputs; of integers those of Ice Lake, whose divider LLVM has here too.
        divider: Divider {
            integer: 6,
            wide_integer: 10,
            long_integer: [0; 2],
            single: 3,
            double: 4,
            root_single: 3,
            root_double: 6,
        },
        // estimate, as Sunny Cove. InstLatx64: REP STOSB writes 61 bytes a cycle within the first level; REP MOVSB
        // reads and writes 117, here no more than the other.
        string_start: 30,
        string_bytes: 64,
        // Measured, less the loop around it: docs/silicon.md.
        string_moves: &[(64, 7), (256, 27), (1024, 40), (4096, 67), (16_384, 259)],
        string_stores: &[(64, 8), (256, 28), (1024, 40), (4096, 68), (16_384, 260)],
    },
    table: include_str!("../../data/sapphirerapids.tsv"),
    // Servers multiply and add 512 bits on port 5 too (Intel ARK, Xeon Platinum 8480+: two units of 512 bits), which
    // LLVM has for Skylake-SP, and here for some sums only.
    wide: &[WideUnits {
        from: &["SPRPort00"],
        to: &["SPRPort00", "SPRPort05"],
        of: &[
            "Vaddp",
            "Vsubp",
            "Vmulp",
            "Vfmadd",
            "Vfmsub",
            "Vfnmadd",
            "Vfnmsub",
            "Vrangep",
            "Vscalefp",
            "Vfixupimmp",
            "Vmaxp",
            "Vminp",
            "Vcvt",
            "Vpmul",
            "Vpmadd",
            "Vpdp",
            "Vplzcnt",
        ],
    }],
    corrections: &[include_str!("../../data/golden-cove.corrections.tsv")],
    system: concat!(
        include_str!("../../data/x86.system.tsv"),
        include_str!("../../data/golden-cove.system.tsv")
    ),
};

/// Alder Lake's P-cores.
pub const GOLDEN_COVE_CLIENT: Core = Core {
    name: "Golden Cove (client)",
    memory: Memory {
        // CPUID of a Core i9-12900K: 1.25 MiB of 10 ways; 30 MiB of 12 ways, here 15 for a power of two of sets.
        l2: Geometry { sets: 2048, ways: 10 },
        llc: Geometry { sets: 32768, ways: 15 },
        // InstLatx64, `_NewMemLat`, at 3.2 GHz: 15, 63 and 300 cycles. TMA: 3 and 12 ns.
        l2_latency: 15,
        llc_latency: 63,
        memory_latency: 300,
        ..GOLDEN_COVE.memory
    },
    ..GOLDEN_COVE
};

/// Emerald Rapids: Golden Cove with a larger last level.
pub const RAPTOR_COVE: Core = Core {
    name: "Raptor Cove",
    // Measured on an Emerald Rapids: of the uops of a cycle each goes to another port, by its slot (docs/silicon.md).
    binding: PortBinding::ByPressure { ranks: 6, much: 6 },
    // Chips and Cheese, of Golden Cove: 97 entries for arithmetic, 70 for loads, 38 for stores.
    memory_scheduler: Some((
        108,
        &["SPRPort02", "SPRPort03", "SPRPort11", "SPRPort04", "SPRPort07", "SPRPort08", "SPRPort09"],
    )),
    memory: Memory {
        // Xeon Platinum 8592+: 320 MiB for 64 cores. CPUID of an 8570: 20 ways. TMA: latencies as Sapphire Rapids.
        llc: Geometry { sets: 262_144, ways: 20 },
        // Measured: a chase through 3,072 pages of 4 KiB takes 66 cycles, 16 of which are the second level's.
        walk_base: 27,
        ..GOLDEN_COVE.memory
    },
    prediction: Prediction {
        // Measured: 64 jumps 64 bytes apart, taken conditional ones too, with four and eight instructions before each,
        // take 0.84 and 1.5 cycles, which is what they take at allocation, and 0.66 to 0.7 with none; 512 take 2.05. A
        // loop's iterations take a cycle each. What decides targets is measured as on Redwood Cove.
        loop_branches_alone: true,
        branch_cycles: GOLDEN_COVE.prediction.branch_cycles,
        overridden_directions: GOLDEN_COVE.prediction.overridden_directions,
        // Measured: a random direction that is computed from a load takes 20.3 cycles more than a known one.
        refill: 12,
        ..REDWOOD_COVE.prediction
    },
    flows: Flows {
        // Measured: 40 cycles; 18 cycles for a lock on one line and on several, 22 with a store in between.
        pause: 40,
        lock_line: [1, 1],
        lock_drain: 3,
        ..GOLDEN_COVE.flows
    },
    ..GOLDEN_COVE
};

/// Granite Rapids.
pub const REDWOOD_COVE: Core = Core {
    name: "Redwood Cove",
    front_end: FrontEnd {
        // CPUID of a Xeon 658X: 64 KiB of 16 ways; TLBs and second level as before.
        icache: Geometry { sets: 64, ways: 16 },
        ..GOLDEN_COVE.front_end
    },
    prediction: Prediction {
        // Measured: 8 jumps 32 bytes apart take 3 cycles, loops of 4 to 16 iterations half a cycle each, but longer
        // ones a cycle (docs/silicon.md).
        taken_branches: 2,
        // Measured: 256 jumps with four instructions before each take 0.9 cycles, 384 take 1.4.
        fast_targets: Geometry { sets: 64, ways: 4 },
        // Measured: jumps over 6 bytes take 1.6 cycles each and so do eight in a line in any order, four or less 0.85.
        fast_target_window: 6,
        // Measured: a loop that jumps to 16 targets in turn takes 6 cycles, to one target 1.5.
        branch_cycles: BranchCycles {
            indirect_jumps: 0,
            pairing: Pairing::InRow { alone: 3, lines_apart: false },
            ..GOLDEN_COVE.prediction.branch_cycles
        },
        // Measured: loops of 16 iterations take 8.8 and 9.2 cycles.
        overridden_directions: OverriddenDirections::NONE,
        ..GOLDEN_COVE.prediction
    },
    flows: Flows {
        // Measured (docs/silicon.md).
        pause: 39,
        ..GOLDEN_COVE.flows
    },
    memory: Memory {
        // Xeon 6972P: 480 MiB for 96 cores. CPUID of a Xeon 658X: 16 ways, here 15 for a power of two of sets.
        // Measured, on a virtual machine: a chase on pages of 2 MiB takes 147 cycles in 4 MiB, 153 in 6 and 158 in 8,
        // and 590 in 64; pages of 4 KiB beyond the second-level TLB, whose tables the second level has, 60 in all.
        llc: Geometry { sets: 524_288, ways: 15 },
        llc_latency: 155,
        memory_latency: 600,
        walk_base: 23,
        ..GOLDEN_COVE.memory
    },
    corrections: &[
        include_str!("../../data/golden-cove.corrections.tsv"),
        include_str!("../../data/redwood-cove.corrections.tsv"),
    ],
    ..GOLDEN_COVE
};
