//! Sunny Cove as in Ice Lake-SP and Ice Lake; Willow Cove and Cypress Cove are the same pipeline with other caches.
//!
//! Sources, named below by their short form:
//!
//! - *manual*: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapters on Ice Lake client and
//!   Golden Cove
//! - *TMA*: constants of Intel's published TMA formulas, `intel/perfmon` `TMA_Metrics-full.csv`, columns ICX, ICL, TGL
//!   and RKL
//! - *events*: Intel's event lists, `intel/perfmon` `SKX/events` and `ICX/events`
//! - *CPUID*: leaves 4 and 18H of a Xeon Gold 6330, `InstLatx64/InstLatx64` `GenuineIntel00606A6_ICX_CPUID2`, and of
//!   other CPUs in that repository, which are named
//! - *InstLatx64*: measured latencies and throughputs, same repository, `GenuineIntel00606A6_ICX_InstLatX64`, and
//!   `_NewMemLat` of the other CPUs
//! - *uiCA*: parameters of the simulator of uops.info, found by measuring, `andreas-abel/uiCA` `microArchConfigs.py`
//! - *WikiChip*: page Sunny Cove
//! - *Chips and Cheese*: "Popping the Hood on Golden Cove", table of resources, measured on a Xeon 8370C
//! - *estimate*: in no source that was found; the reason is beside it

use crate::core::{
    BranchCycles, Bypass, Core, Divider, Flows, Forwarding, FrontEnd, Geometry, Isa, LinearTags, Memory,
    MemoryOperands, MemoryRenaming, OverriddenDirections, PortBinding, Prediction, RestartedTargets,
    WideUnits,
};

/// manual: uops of 512 bits take the vector units of ports 0 and 1 together, by port 0, or that of port 5.
const FUSED: [WideUnits; 3] = [
    WideUnits { from: &["ICXPort0", "ICXPort1", "ICXPort5"], to: &["ICXPort0", "ICXPort5"], of: &[] },
    WideUnits { from: &["ICXPort0", "ICXPort1"], to: &["ICXPort0"], of: &[] },
    WideUnits { from: &["ICXPort1", "ICXPort5"], to: &["ICXPort5"], of: &[] },
];
/// Servers multiply and add 512 bits on port 5 too (Intel ARK, Xeon Platinum 8358: two units of 512 bits), which LLVM
/// has for Skylake-SP, and not here.
const SECOND_MULTIPLIER: WideUnits = WideUnits {
    from: &["ICXPort0"],
    to: &["ICXPort0", "ICXPort5"],
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
    ],
};

/// Ice Lake-SP.
pub const SUNNY_COVE: Core = Core {
    name: "Sunny Cove",
    isa: Isa::X86,
    llvm_name: "icelake-server",
    // TMA: `Pipeline_Width`, `Retire_Width`. uiCA, Chips and Cheese: the same, and reorder buffer 352. Chips and
    // Cheese, manual: load buffer 128, store buffer 72.
    dispatch_width: 5,
    retire_width: 8,
    reorder_buffer: 352,
    load_buffer: 128,
    store_buffer: 72,
    // uiCA, Chips and Cheese: 160 entries together.
    scheduler: 160,
    memory_scheduler: None,
    // uiCA (`uiCA.py`).
    wakes_late: true,
    selects_early: false,
    fusion: true,
    // Not known for this core.
    memory_operands: MemoryOperands::Fused,
    allocates_whole: false,
    // uiCA: measured on all cores from Sandy Bridge to Rocket Lake.
    binding: PortBinding::ByPressure { ranks: 2, much: 3 },
    // Intel erratum ICL065: moves of general-purpose registers are not eliminated. uiCA: the same.
    // uiCA: ports 0, 1, 5, 6.
    stack_engine: Some((4, "Add_r64_rm64")),
    reads_synchronise: true,
    // estimate: as on its successor.
    merges_upper_bits: false,
    bypass: Bypass::None,
    move_elimination: false,
    own_move_elimination: false,
    moves_stack_pointer: false,
    breaks_borrow: false,
    fuses_nops: false,
    joins_moves: false,
    adds_at_renaming: false,
    front_end: FrontEnd {
        // WikiChip, uiCA: queue of 70 uops a thread. TMA: `DSB_Width`. Chips and Cheese, WikiChip: 2.25 K uops.
        queue: 70,
        uop_cache_width: 6,
        // 384 lines of 6 uops; their sets are an estimate (8 ways of 48 sets are no power of two). In this model, a
        // line holds 16 bytes of code.
        uop_cache: Geometry { sets: 64, ways: 6 },
        uop_cache_shift: 4,
        uop_cache_instructions: 0,
        dispatched_lines: 0,
        line_a_cycle: false,
        // TMA: `Decode_Width`; manual: Golden Cove has 6 decoders and 32 bytes a cycle where this has 4 and 16.
        // WikiChip's 5 are the uops that they make together (`MITE_Width`).
        decode_width: 4,
        decode_uops: 4,
        decode_bytes: 16,
        predecode_width: 0,
        bars_boundary_branches: false,
        // uiCA (`uiCA.py`): they go on up to a branch.
        decodes_until_branch: true,
        fence_branches: 0,
        // manual, of Skylake: up to 4 uops from the first decoder.
        decoder_uops: 4,
        simple_uops: 1,
        wide_alone: false,
        branch_decoder: false,
        // uiCA, WikiChip: loops of up to 70 uops.
        loop_stream: true,
        // events, of Skylake: 0 to 2 cycles most often.
        decode_switch: 2,
        // TMA: `MS_Width` and `MS_Switches_Cost`.
        microcode_width: 4,
        microcode_switch: 3,
        // events: "a three-cycle penalty for each" (DECODE.LCP).
        length_changing_prefix: 3,
        // estimate: a queue of 24 fetches, of 32 bytes each, which the decoders take two cycles for. That code far
        // beyond the first level runs as fast as decoders take it is measured (docs/silicon.md).
        run_ahead: 48,
        // estimate: as Skylake.
        line_cycles: 4,
        page_cycles: 0,
        // CPUID, of Tiger Lake for the TLBs: 16 sets of 8 ways, and 2 of 8 for large pages.
        icache: Geometry { sets: 64, ways: 8 },
        itlb: Geometry { sets: 16, ways: 8 },
        itlb_large: Geometry { sets: 2, ways: 8 },
    },
    prediction: Prediction {
        // jia.je/cpu/cbp.html (Half&Half has three tables): tables, sets, ways, bits of history, and those that a
        // taken branch adds. The rest: estimate.
        bimodal_bits: 13,
        tagged: Geometry { sets: 512, ways: 4 },
        histories: &[36, 68, 132, 388],
        spreads_branches: true,
        trusts_new_entries: false,
        path_address: 0,
        // Intel's Architecture Day 2021, of Golden Cove: 12 K targets, up from 5 K. Ways: estimate.
        targets: Geometry { sets: 1024, ways: 5 },
        // Chips and Cheese: more than Golden Cove's 128, which is all that is known of it. The rest: estimate, twice
        // the indirect targets of Skylake by address, Golden Cove's by history, and Skylake's return stack.
        fast_targets: Geometry { sets: 32, ways: 4 },
        fast_target_window: 5,
        indirect_bits: 10,
        indirect: &[
            (1, Geometry { sets: 512, ways: 2 }),
            (2, Geometry { sets: 512, ways: 2 }),
            (3, Geometry { sets: 512, ways: 2 }),
        ],
        return_stack: 16,
        taken_branches: 1,
        loop_branches_alone: false,
        predicts_more_returns: false,
        // estimate: as the one cycle a level that was measured on Golden Cove.
        slow_target: 1,
        branch_cycles: BranchCycles::NONE,
        // estimate.
        lead: 8,
        indirect_bubble: 0,
        indirect_directions: 0,
        overridden_directions: OverriddenDirections::NONE,
        restarted_targets: RestartedTargets::NONE,
        call_bubble: 0,
        indirect_call_bubble: 0,
        // TMA: `BAClear_Cost`.
        unknown_branch: 10,
        // Agner Fog, microarchitecture: 15 to 20 cycles in all on Skylake; WikiChip: 14 to 19 stages. How they
        // divide is an estimate.
        recovery: 6,
        refill: 10,
    },
    memory: Memory {
        // CPUID: 48 KiB of 12 ways, 1.25 MiB of 20 ways.
        l1d: Geometry { sets: 64, ways: 12 },
        l2: Geometry { sets: 1024, ways: 20 },
        // CPUID: 1.5 MiB of 12 ways a core; 48 MiB for 32 cores.
        llc: Geometry { sets: 65536, ways: 12 },
        // manual: 14 cycles. InstLatx64: the same on Tiger Lake, whose second level is as large. TMA: 4, 23 and 66.5
        // ns; cycles are in the same proportion.
        l2_latency: 14,
        llc_latency: 81,
        memory_latency: 233,
        // estimate: more than memory, as devices are farther away.
        uncached_latency: 600,
        // Chips and Cheese: 12 fill buffers, 32 entries of the second level's queue.
        fill_buffers: 12,
        l2_fill_buffers: 32,
        // estimate: 10 bytes a cycle from the last level, 4 from memory, for one core.
        llc_line_cycles: 6,
        memory_line_cycles: 16,
        // CPUID: 64 entries of 4 ways, 32 for 2 MiB, 16 for stores; second level of two halves with 8 ways each, one
        // for 4 KiB and 2 MiB, one for 4 KiB and 1 GiB, here one for all.
        dtlb_load: Geometry { sets: 16, ways: 4 },
        dtlb_load_large: Geometry { sets: 8, ways: 4 },
        dtlb_store: Geometry { sets: 1, ways: 16 },
        stlb: Geometry { sets: 128, ways: 16 },
        // TMA: `Mem_STLB_Hit_Cost`. InstLatx64, Tiger Lake: the same, 21 cycles instead of 14 from the second level.
        stlb_latency: 7,
        // estimate: four steps through structures that cache the upper levels.
        walk_base: 9,
        // manual, of Skylake: two walks at a time; Golden Cove's four are called new.
        walkers: 2,
        // InstLatx64: 5 cycles (PUSH and POP of a register).
        fast_pointer: false,
        scaled_index: 0,
        displaced_index: 0,
        store_forward: Forwarding { load: 5, operand: 5, update: 5, vector: 5 },
        store_forward_again: 0,
        forward_interval: 0,
        joins_stores: 6,
        joins_runs: false,
        // Measured: loads from the second level take twice the ports of those from the first (docs/silicon.md). Travis
        // Downs, "uop replay after L1 miss" (Real World Tech, 2018): what needs the line is dispatched once more.
        replays_loads: true,
        // Travis Downs, "Unexpectedly poor and weirdly bimodal performance for store loop on Intel Skylake" (Stack
        // Overflow): 1.25 cycles for each of four stores to a line of the second level. Here: as on Skylake.
        fill_cycles: 1,
        store_fill: [0, 0],
        store_prefetch: 0,
        l1_line_cycles: [0, 0],
        linear_tags: LinearTags::None,
        dependent_loads: [0, 0],
        forwarded_loads: 0,
        mixed_loads: 0,
        overtaking_loads: false,
        partial_store: 0,
        load_banks: false,
        // estimate: as on Skylake, and for stores, of which nothing is known.
        split_load: 4,
        split_ports: [1, 1],
        page_split_store: 0,
        // Travis Downs, "A quick check of split forwarding scenarios": 0.58 cycles for a store and a load of it.
        renames_memory: MemoryRenaming::Plain,
        // TMA: 13 cycles in `Store_Fwd_Blk`; `4K_Aliasing` has 1. manual: re-issued after a few cycles; 7 is an
        // estimate.
        store_forward_block: [13; 2],
        alias_block: 7,
        // manual: the streamer runs up to 20 lines ahead, and what is far ahead goes to the last level only. How far
        // that is, half of it, is an estimate. manual: the spatial prefetcher completes pairs of lines.
        stream_distance: 10,
        stream_llc_distance: 20,
        adjacent_line: true,
    },
    flows: Flows {
        // InstLatx64: 20 cycles for LOCK ADD, 21 on Tiger Lake and Rocket Lake.
        lock: 20,
        // estimate: nothing is known of other lines, of loads and of stores in between.
        lock_line: [0, 0],
        lock_after_load: 0,
        lock_drain: 0,
        // TMA, `Slow_Pause`: 37 cycles on ICX. InstLatx64: 34.
        pause: 37,
        // estimate: Agner Fog's tables have INT n at about 80 uops and some hundred cycles.
        interrupt_uops: 80,
        interrupt_cycles: 250,
        // TMA: `FP_Assists` and `Avg_Assist_Cost` have 34 slots. Agner Fog, of Skylake: about 150 cycles for a
        // subnormal result.
        fp_assist_uops: 34,
        page_assist_uops: 34,
        assist_cycles: 150,
        // estimate: a misprediction and as much again to restart at an instruction that had retired.
        machine_clear: 30,
        // InstLatx64: reciprocal throughputs.
        divider: Divider {
            integer: 6,
            wide_integer: 10,
            long_integer: [0; 2],
            single: 3,
            double: 4,
            root_single: 3,
            root_double: 6,
        },
        // manual: about 35 cycles for REP MOVSB, fewer since short ones are fast (CPUID FSRM): estimate. InstLatx64:
        // REP STOSB writes 62 bytes a cycle within the first level; REP MOVSB reads and writes 118, here no more
        // than the other.
        string_start: 30,
        string_bytes: 64,
        string_moves: &[],
        string_stores: &[],
    },
    table: include_str!("../../data/icelake-server.tsv"),
    wide: &[FUSED[0], FUSED[1], FUSED[2], SECOND_MULTIPLIER],
    corrections: &[include_str!("../../data/icelake-server.corrections.tsv")],
    system: include_str!("../../data/x86.system.tsv"),
};

/// Ice Lake.
pub const SUNNY_COVE_CLIENT: Core = Core {
    name: "Sunny Cove (client)",
    memory: Memory {
        // CPUID of a Core i5-1035G4: 512 KiB of 8 ways. WikiChip: 2 MiB of 16 ways a core, for four cores.
        l2: Geometry { sets: 1024, ways: 8 },
        llc: Geometry { sets: 8192, ways: 16 },
        // InstLatx64, Rocket Lake: 13 cycles. TMA: 3.5 and 12.5 ns. Memory: estimate, 90 ns as laptops of that time.
        l2_latency: 13,
        llc_latency: 46,
        memory_latency: 334,
        ..SUNNY_COVE.memory
    },
    flows: Flows {
        // TMA, `Slow_Pause`: 140 cycles on ICL. InstLatx64: 140 on Tiger Lake, 139 on Rocket Lake.
        pause: 140,
        ..SUNNY_COVE.flows
    },
    wide: &FUSED,
    ..SUNNY_COVE
};

/// Tiger Lake.
pub const WILLOW_COVE: Core = Core {
    name: "Willow Cove",
    memory: Memory {
        // CPUID of a Core i5-1135G7: 1.25 MiB of 20 ways, as Ice Lake-SP. AnandTech, "Intel's Tiger Lake 11th Gen Core
        // i7-1185G7 Review and Deep Dive": 3 MiB of 12 ways a core, for four cores.
        llc: Geometry { sets: 16384, ways: 12 },
        // TMA: 5 and 22.5 ns; the second level has 14 cycles. InstLatx64, Core i5-1135G7 at 2.4 GHz: 14, 61 to 76, and
        // 310 from memory.
        llc_latency: 63,
        memory_latency: 310,
        ..SUNNY_COVE.memory
    },
    flows: SUNNY_COVE_CLIENT.flows,
    wide: &FUSED,
    ..SUNNY_COVE
};

/// Rocket Lake: Ice Lake's core and caches, for eight cores.
pub const CYPRESS_COVE: Core = Core {
    name: "Cypress Cove",
    // uiCA: moves of general-purpose registers are eliminated, without a limit.
    // estimate: as on its successor.
    merges_upper_bits: false,
    bypass: Bypass::None,
    move_elimination: true,
    memory: Memory {
        // CPUID of a Core i9-11900K: 16 MiB of 16 ways.
        llc: Geometry { sets: 16384, ways: 16 },
        // InstLatx64, Core i9-11900K at 3.5 GHz: 13, 58 and 270 cycles. TMA has Ice Lake's 12.5 ns.
        llc_latency: 58,
        memory_latency: 270,
        ..SUNNY_COVE_CLIENT.memory
    },
    flows: SUNNY_COVE_CLIENT.flows,
    wide: &FUSED,
    ..SUNNY_COVE
};
