//! AMD's Zen 2, Zen 3 and Zen 4, as in the EPYC 7002, 7003 and 9004 series.
//!
//! Zen 5 is not here: LLVM 19 schedules it as Zen 4, with four integer units where it has six.
//!
//! Sources, named below by their short form:
//!
//! - *guide*: Software Optimization Guides for AMD Family 17h Models 30h and greater, Family 19h, and Zen 4 (56305,
//!   56665, 57647), as LLVM's `X86ScheduleZnver3.td` and `X86ScheduleZnver4.td`
//!   and Jiegec ("AMD Zen 2 的 BTB 结构分析"
//!   and the same of Zen 3, jia.je, 2025) quote them
//! - *CPUID*: leaves 8000_0005H, 8000_0006H and 8000_001DH of EPYC 7742, 7713 and 9654, `InstLatx64/InstLatx64`
//! - *InstLatx64*: measured latencies and throughputs, same repository: EPYC 7742, Ryzen 9 5950X, EPYC 9654,
//!   Threadripper PRO 7995WX
//! - *WikiChip*: page Zen 2, and Fuse "A Look At The AMD Zen 2 Core"
//! - *AnandTech*: "AMD Zen 2 Microarchitecture Analysis", "AMD Zen 3 Ryzen Deep Dive Review"
//! - *Chips and Cheese*: "AMD's Zen 4", parts 1 and 2; "Popping the Hood on Golden Cove" for Zen 3's resources
//! - *estimate*: in no source that was found; the reason is beside it

use crate::core::{
    BranchCycles, Bypass, Core, Divider, Flows, Forwarding, FrontEnd, Geometry, Isa, LinearTags, Memory,
    MemoryOperands, MemoryRenaming, OverriddenDirections, PortBinding, Prediction, RenamedAccesses,
    RestartedTargets,
};

/// Rome.
pub const ZEN2: Core = Core {
    name: "Zen 2",
    isa: Isa::X86,
    llvm_name: "znver2",
    // WikiChip: dispatch of 6 macro-ops, retirement of 8, retire queue 224, load queue 44. AnandTech: store queue 48.
    dispatch_width: 6,
    retire_width: 8,
    reorder_buffer: 224,
    load_buffer: 44,
    store_buffer: 48,
    // WikiChip, AnandTech: 64 for integer, 28 for addresses; WikiChip: 36 for floating point.
    scheduler: 128,
    memory_scheduler: None,
    wakes_late: false,
    selects_early: false,
    fusion: true,
    memory_operands: MemoryOperands::Fused,
    allocates_whole: false,
    binding: PortBinding::AtExecution,
    stack_engine: None,
    reads_synchronise: true,
    merges_upper_bits: false,
    bypass: Bypass::None,
    move_elimination: true,
    own_move_elimination: false,
    moves_stack_pointer: false,
    breaks_borrow: false,
    fuses_nops: false,
    joins_moves: false,
    adds_at_renaming: false,
    front_end: FrontEnd {
        // WikiChip: queue of 72, op cache of 4096 that delivers 8, 4 decoders, 32 bytes a cycle. guide, of Zen 3: 64
        // sets of 8 ways, each of 8 ops. In this model a line holds 32 bytes of code.
        queue: 72,
        uop_cache_width: 8,
        uop_cache: Geometry { sets: 64, ways: 8 },
        uop_cache_shift: 5,
        uop_cache_instructions: 0,
        dispatched_lines: 0,
        line_a_cycle: false,
        decode_width: 4,
        decode_uops: 4,
        decode_bytes: 32,
        predecode_width: 0,
        bars_boundary_branches: false,
        decodes_until_branch: false,
        fence_branches: 0,
        // WikiChip: more than two macro-ops are microcode.
        decoder_uops: 2,
        simple_uops: 1,
        wide_alone: false,
        branch_decoder: false,
        loop_stream: false,
        // estimates: as Intel's cores; there is no stall in the decoders for prefixes.
        decode_switch: 2,
        microcode_width: 4,
        microcode_switch: 2,
        length_changing_prefix: 0,
        // estimate: a queue of 24 fetches, of 32 bytes each, which the decoders take two cycles for. That code far
        // beyond the first level runs as fast as decoders take it is measured (docs/silicon.md).
        run_ahead: 48,
        // guide: 32 bytes a cycle.
        line_cycles: 2,
        page_cycles: 0,
        // CPUID: 32 KiB of 8 ways, 64 entries for all pages. The second level for code, 512 entries, is that of data
        // here.
        icache: Geometry { sets: 64, ways: 8 },
        itlb: Geometry { sets: 1, ways: 64 },
        itlb_large: Geometry { sets: 1, ways: 64 },
    },
    prediction: Prediction {
        // guide: 7168 targets with four bubbles, 512 with one, which is left out here. WikiChip: 1024 indirect
        // targets, return stack of 31. Ways, and the direction predictor (TAGE): estimate, as Sunny Cove.
        bimodal_bits: 13,
        tagged: Geometry { sets: 512, ways: 4 },
        histories: &[36, 68, 132, 388],
        spreads_branches: true,
        trusts_new_entries: false,
        path_address: 0,
        targets: Geometry { sets: 1024, ways: 7 },
        fast_targets: Geometry { sets: 128, ways: 4 },
        fast_target_window: 5,
        indirect_bits: 10,
        indirect: &[(0, Geometry { sets: 1024, ways: 1 })],
        return_stack: 31,
        taken_branches: 1,
        loop_branches_alone: false,
        predicts_more_returns: false,
        slow_target: 4,
        branch_cycles: BranchCycles::NONE,
        // estimate.
        lead: 8,
        indirect_bubble: 0,
        indirect_directions: 0,
        overridden_directions: OverriddenDirections::NONE,
        restarted_targets: RestartedTargets::NONE,
        call_bubble: 0,
        indirect_call_bubble: 0,
        // estimate: as Intel's cores.
        unknown_branch: 10,
        // guide: 12 to 18 cycles, 16 in the common case. How they divide is an estimate.
        recovery: 5,
        refill: 11,
    },
    memory: Memory {
        // CPUID: 32 KiB of 8 ways, 512 KiB of 8 ways, 16 MiB of 16 ways for four cores.
        l1d: Geometry { sets: 64, ways: 8 },
        l2: Geometry { sets: 1024, ways: 8 },
        llc: Geometry { sets: 16384, ways: 16 },
        // InstLatx64: 12 cycles, and 45 from the last level (guide: 39 on average). Memory: estimate, 105 ns at 3.3
        // GHz, as the other two have 110 to 115 ns.
        l2_latency: 12,
        llc_latency: 45,
        memory_latency: 350,
        // estimate: more than memory, as devices are farther away.
        uncached_latency: 650,
        // estimates: a few less than Zen 3, whose figures are measured.
        fill_buffers: 22,
        l2_fill_buffers: 48,
        // estimates: 21 bytes a cycle from the last level, which runs at the core's clock, 5 from memory, for one
        // core.
        llc_line_cycles: 3,
        memory_line_cycles: 12,
        // CPUID: 64 entries for all pages, second level 2048.
        dtlb_load: Geometry { sets: 1, ways: 64 },
        dtlb_load_large: Geometry { sets: 1, ways: 64 },
        dtlb_store: Geometry { sets: 1, ways: 64 },
        stlb: Geometry { sets: 128, ways: 16 },
        // InstLatx64: 19 cycles instead of 12 from the second level.
        stlb_latency: 7,
        // estimates: four steps through structures that cache the upper levels; walkers as WikiChip has for Zen.
        walk_base: 9,
        walkers: 2,
        // Agner Fog, microarchitecture: 7 cycles through memory. InstLatx64, Zen 3: 7.8.
        fast_pointer: false,
        scaled_index: 0,
        displaced_index: 0,
        store_forward: Forwarding { load: 7, operand: 7, update: 7, vector: 7 },
        store_forward_again: 0,
        forward_interval: 0,
        joins_stores: 6,
        joins_runs: false,
        replays_loads: false,
        fill_cycles: 0,
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
        split_load: 4,
        split_ports: [0, 0],
        page_split_store: 0,
        renames_memory: MemoryRenaming::None,
        // estimates: as Intel's cores, without their aliases of 4 KiB; a shorter streamer, to the second level.
        store_forward_block: [14; 2],
        alias_block: 0,
        stream_distance: 8,
        stream_llc_distance: 0,
        adjacent_line: true,
    },
    flows: Flows {
        // InstLatx64: 17.7 cycles for LOCK ADD, 65 for PAUSE on all three.
        lock: 18,
        lock_line: [0, 0],
        lock_after_load: 0,
        lock_drain: 0,
        pause: 65,
        // estimates, as Intel's cores.
        interrupt_uops: 80,
        interrupt_cycles: 250,
        machine_clear: 30,
        // Agner Fog: subnormal numbers cost a few cycles, without microcode. Page tables: estimate, as Intel's cores.
        fp_assist_uops: 0,
        page_assist_uops: 34,
        assist_cycles: 150,
        // InstLatx64: reciprocal throughputs. DIV takes 14 cycles for short quotients, 30 and 46 for the longest:
        // estimate.
        divider: Divider {
            integer: 14,
            wide_integer: 20,
            long_integer: [0; 2],
            single: 4,
            double: 5,
            root_single: 6,
            root_double: 9,
        },
        // estimate. InstLatx64: REP STOSB writes 30 bytes a cycle within the first level, REP MOVSB reads and writes
        // 56.
        string_start: 25,
        string_bytes: 32,
        string_moves: &[],
        string_stores: &[],
    },
    table: include_str!("../../data/znver2.tsv"),
    wide: &[],
    corrections: &[],
    system: include_str!("../../data/x86.system.tsv"),
};

/// Milan.
pub const ZEN3: Core = Core {
    name: "Zen 3",
    isa: Isa::X86,
    llvm_name: "znver3",
    // guide: dispatch of 6 macro-ops, retirement of 8, retire queue 256, 72 loads out of order, store queue 64.
    reorder_buffer: 256,
    load_buffer: 72,
    store_buffer: 64,
    // AnandTech: 4 times 24 for integer and addresses. guide: 2 times 32 for floating point.
    scheduler: 160,
    // measured, all of this and what else is said to be: `xtask/data/silicon/zen3-micro.tsv`, and blocks of one or two
    // instructions (docs/silicon.md).
    moves_stack_pointer: true,
    own_move_elimination: true,
    binding: PortBinding::InTurn {
        units: &["ALU0", "ALU1", "ALU2", "ALU3"],
        addresses: &["AGU0", "AGU1", "AGU2"],
        jumps: &["ALU0", "ALU3"],
        entries: 24,
    },
    bypass: Bypass::Domains(1),
    breaks_borrow: true,
    stack_engine: Some((4, "Add_r64_rm64")),
    // measured on Zen 4 (docs/silicon.md): operands with an index beside moves.
    memory_operands: MemoryOperands::MacroUnlessIndexed,
    allocates_whole: true,
    // measured: code of NOPs beyond the first level, a line in 4 cycles; loops that cross the end of a line.
    front_end: FrontEnd { line_cycles: 4, dispatched_lines: 2, line_a_cycle: true, ..ZEN2.front_end },
    prediction: Prediction {
        // guide: 1024 targets without a bubble, 6656 with three. Chips and Cheese: return stack of 32. Ways and the
        // rest: estimate, between Zen 2 and Zen 4.
        bimodal_bits: 14,
        tagged: Geometry { sets: 512, ways: 4 },
        histories: &[36, 68, 132, 388],
        spreads_branches: true,
        trusts_new_entries: false,
        path_address: 0,
        targets: Geometry { sets: 512, ways: 13 },
        fast_targets: Geometry { sets: 256, ways: 4 },
        fast_target_window: 5,
        indirect_bits: 10,
        indirect: &[(0, Geometry { sets: 1024, ways: 1 })],
        return_stack: 32,
        taken_branches: 1,
        loop_branches_alone: false,
        predicts_more_returns: true,
        slow_target: 3,
        branch_cycles: BranchCycles::NONE,
        // estimate.
        lead: 8,
        // measured: calls 4 cycles each, of a register 5, indirect jumps 4, with the ends of lines that they cross; 40
        // calls deep returns cost no more.
        indirect_bubble: 0,
        indirect_directions: 0,
        overridden_directions: OverriddenDirections::NONE,
        restarted_targets: RestartedTargets { count: 2, cycles: 3, ahead: 1 },
        call_bubble: 2,
        indirect_call_bubble: 2,
        unknown_branch: 10,
        // guide: 11 to 18 cycles, 13 in the common case. How they divide is an estimate.
        recovery: 4,
        refill: 9,
    },
    memory: Memory {
        // CPUID: 32 MiB of 16 ways for eight cores. Chips and Cheese, "Sapphire Rapids: Golden Cove Hits Servers": 47
        // cycles, and 112 ns from an EPYC 7763's memory, at 3.5 GHz. InstLatx64: 46 to 51.
        llc: Geometry { sets: 32768, ways: 16 },
        llc_latency: 47,
        memory_latency: 393,
        // Chips and Cheese: 24 fill buffers, about 64 lines to the second level. AnandTech: 6 walkers.
        fill_buffers: 24,
        l2_fill_buffers: 64,
        walkers: 6,
        // measured; walks in a virtual machine, where translations are nested.
        walk_base: 80,
        scaled_index: 1,
        split_load: 1,
        split_ports: [1, 1],
        page_split_store: 23,
        store_forward: Forwarding { load: 6, operand: 7, update: 5, vector: 9 },
        joins_stores: 5,
        joins_runs: true,
        replays_loads: true,
        // measured on Zen 4: 2 cycles a line from the second level, whether or not a modified one makes room for it.
        l1_line_cycles: [2, 0],
        linear_tags: LinearTags::StackApart,
        dependent_loads: [5, 2],
        forwarded_loads: 2,
        mixed_loads: 4,
        overtaking_loads: true,
        partial_store: 3,
        renames_memory: MemoryRenaming::Predicted {
            accesses: RenamedAccesses::Whole,
            loads: 24,
            distance: 0,
        },
        // measured: a chain of loads behind stores of the same low 12 bits takes 8.5 cycles each, on Zen 4 as well.
        alias_block: 4,
        ..ZEN2.memory
    },
    flows: Flows {
        // measured: LOCK ADD, PAUSE.
        lock: 6,
        lock_line: [0, 2],
        pause: 79,
        string_moves: &[(64, 18), (256, 32), (1024, 56), (4096, 152), (16384, 544)],
        string_stores: &[(64, 71), (256, 71), (1024, 95), (4096, 191), (16384, 578)],
        // measured: DIV, if the upper half is 0; InstLatx64: the others' reciprocal throughputs.
        divider: Divider {
            integer: 6,
            wide_integer: 7,
            long_integer: [10, 18],
            single: 2,
            double: 4,
            root_single: 4,
            root_double: 8,
        },
        ..ZEN2.flows
    },
    table: include_str!("../../data/znver3.tsv"),
    corrections: &[include_str!("../../data/zen3.corrections.tsv")],
    system: concat!(include_str!("../../data/x86.system.tsv"), include_str!("../../data/zen3.system.tsv")),
    ..ZEN2
};

/// Genoa.
pub const ZEN4: Core = Core {
    name: "Zen 4",
    isa: Isa::X86,
    llvm_name: "znver4",
    // guide: dispatch of 6 macro-ops, retire queue 320, store queue 64. LLVM has 72 loads and retirement of 9. AMD's
    // slides: load queue 88. Retirement: estimate, as Zen 3; dispatch is narrower than either.
    reorder_buffer: 320,
    load_buffer: 88,
    // measured, all of this and what else is said to be: `xtask/data/silicon/zen4-micro.tsv`, and blocks of one or two
    // instructions (docs/silicon.md).
    fuses_nops: true,
    bypass: Bypass::None,
    reads_synchronise: false,
    front_end: FrontEnd {
        // guide: op cache of 6.75 K ops in 64 sets. Chips and Cheese: it delivers 9. Queue: estimate, for two threads'
        // share of 72 each.
        queue: 144,
        uop_cache_width: 9,
        uop_cache: Geometry { sets: 64, ways: 12 },
        ..ZEN3.front_end
    },
    prediction: Prediction {
        // AMD's slides: 1.5 K targets without a lost cycle and 7 K others. Chips and Cheese: one cycle for those; 3072
        // indirect, here 2048 for a power of two. Ways: estimate; jumps that are close together are all among the
        // former (measured).
        targets: Geometry { sets: 1024, ways: 7 },
        fast_targets: Geometry { sets: 128, ways: 12 },
        fast_target_window: 6,
        indirect_bits: 11,
        indirect: &[(0, Geometry { sets: 2048, ways: 1 })],
        slow_target: 1,
        // measured: targets that follow from a path of jumps are not learnt, from directions they are. How many:
        // estimate.
        indirect_directions: 12,
        // measured: 32,768 random directions that repeat are learnt, of 65,536 half are not.
        tagged: Geometry { sets: 2048, ways: 4 },
        // measured: random directions that repeat, 1.5 cycles each more than others in a short loop from some 500 on.
        overridden_directions: OverriddenDirections { cycles: 3, first_is_fast: true },
        // measured: 8192 jumps take 15 to 18 cycles each.
        unknown_branch: 16,
        ..ZEN3.prediction
    },
    memory: Memory {
        // CPUID: 1 MiB of 8 ways.
        l2: Geometry { sets: 2048, ways: 8 },
        // InstLatx64: 14 cycles and 50. Memory: 115 ns (288 cycles at 2.5 GHz, Threadripper PRO), at 3.7 GHz.
        l2_latency: 14,
        llc_latency: 50,
        memory_latency: 425,
        // estimate: a device farther away than memory.
        uncached_latency: 750,
        // CPUID: 72 entries for all pages, second level 3072; 24 ways for a power of two of sets.
        dtlb_load: Geometry { sets: 1, ways: 72 },
        dtlb_load_large: Geometry { sets: 1, ways: 72 },
        dtlb_store: Geometry { sets: 1, ways: 72 },
        stlb: Geometry { sets: 128, ways: 24 },
        page_split_store: 32,
        // measured in a virtual machine, where translations are nested.
        walk_base: 56,
        renames_memory: MemoryRenaming::Predicted {
            accesses: RenamedAccesses::Whole,
            loads: 24,
            distance: 12,
        },
        partial_store: 0,
        overtaking_loads: false,
        mixed_loads: 0,
        dependent_loads: [0, 0],
        displaced_index: 1,
        linear_tags: LinearTags::StoreAgain { units: &["Store.0", "Store.1"] },
        ..ZEN3.memory
    },
    flows: Flows {
        // measured.
        pause: 89,
        string_moves: &[(64, 11), (256, 31), (1024, 52), (4096, 147), (16384, 549)],
        string_stores: &[(64, 8), (256, 31), (1024, 46), (4096, 130), (16384, 529)],
        // measured: DIV, if the upper half is 0; InstLatx64: the others' reciprocal throughputs.
        divider: Divider {
            integer: 6,
            wide_integer: 7,
            long_integer: [10, 18],
            single: 3,
            double: 5,
            root_single: 5,
            root_double: 8,
        },
        ..ZEN3.flows
    },
    table: include_str!("../../data/znver4.tsv"),
    corrections: &[
        include_str!("../../data/zen4.vectors.tsv"),
        include_str!("../../data/zen3.corrections.tsv"),
        include_str!("../../data/zen4.corrections.tsv"),
    ],
    system: concat!(
        include_str!("../../data/x86.system.tsv"),
        include_str!("../../data/zen3.system.tsv"),
        include_str!("../../data/zen4.system.tsv")
    ),
    ..ZEN3
};
