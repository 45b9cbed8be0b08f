//! Qualcomm's Falkor, as in the Centriq 2400.
//!
//! Sources, named below by their short form:
//!
//! - *LLVM*: `AArch64SchedFalkor.td`, `AArch64SchedFalkorDetails.td` and `isFalkorShiftExtFast`, which Qualcomm wrote
//! - *AnandTech*: "Analyzing Falkor's Microarchitecture" (2017), on Qualcomm's talk at Hot Chips 29
//! - *WikiChip*: pages Falkor and Centriq 2460
//! - *Chips and Cheese*: "Qualcomm's Centriq 2400 and the Falkor Architecture" (2025), as others quote its measurements
//! - *estimate*: in no source that was found; the reason is beside it

use crate::core::{
    BranchCycles, Bypass, Core, Divider, Flows, Forwarding, FrontEnd, Geometry, Isa, LinearTags, Memory,
    MemoryOperands, MemoryRenaming, OverriddenDirections, PortBinding, Prediction, RestartedTargets,
};

/// Falkor. The other core of its duplex, which has a part in the second-level cache, is idle.
pub const FALKOR: Core = Core {
    name: "Falkor",
    isa: Isa::A64,
    llvm_name: "falkor",
    // AnandTech: four instructions are decoded and renamed in a cycle, and up to eight uops go from there to the
    // queues of the units. Four usually retire.
    dispatch_width: 4,
    retire_width: 4,
    // WikiChip: 256 and 76. (LLVM has one buffer of 128 for both.)
    reorder_buffer: 256,
    scheduler: 76,
    memory_scheduler: None,
    wakes_late: false,
    selects_early: false,
    // estimates: in proportion to the reorder buffer, as Skylake has them.
    load_buffer: 72,
    store_buffer: 56,
    // A store is split on the way to the queues, of which eight are filled in a cycle, after renaming (AnandTech).
    // LLVM: a move between registers takes a unit.
    fusion: true,
    memory_operands: MemoryOperands::Fused,
    allocates_whole: false,
    binding: PortBinding::AtExecution,
    stack_engine: None,
    reads_synchronise: true,
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
        // estimate: a few cycles of decoding.
        queue: 24,
        // AnandTech: three instructions and a direct branch in a cycle. The cache in front of the first level (L0), of
        // 24 KiB, is read in a cycle. Its three ways follow from lines of 64 bytes and a power of two of sets.
        uop_cache_width: 3,
        uop_cache: Geometry { sets: 128, ways: 3 },
        uop_cache_shift: 6,
        uop_cache_instructions: 0,
        dispatched_lines: 0,
        line_a_cycle: false,
        decode_width: 3,
        decode_uops: 3,
        decode_bytes: 16,
        predecode_width: 0,
        bars_boundary_branches: false,
        decodes_until_branch: false,
        fence_branches: 0,
        // LLVM: there is no microcode; all decoders make as many uops as it takes.
        decoder_uops: u32::MAX,
        simple_uops: u32::MAX,
        wide_alone: false,
        branch_decoder: true,
        // LLVM: its buffer for loops of 16 uops is meant for the unrolling of loops.
        loop_stream: false,
        // estimate: two more stages of fetch, of four in all (AnandTech), for the first level.
        decode_switch: 2,
        // Not used.
        microcode_width: 4,
        microcode_switch: 0,
        length_changing_prefix: 0,
        run_ahead: 0,
        // estimate: as Skylake.
        line_cycles: 4,
        page_cycles: 0,
        // WikiChip: 64 KiB, 8 ways. TLB: estimate, as that of data.
        icache: Geometry { sets: 128, ways: 8 },
        itlb: Geometry { sets: 1, ways: 64 },
        itlb_large: Geometry { sets: 1, ways: 64 },
    },
    prediction: Prediction {
        // estimates: as Skylake, its contemporary.
        bimodal_bits: 13,
        tagged: Geometry { sets: 512, ways: 4 },
        histories: &[22, 58, 186],
        spreads_branches: false,
        trusts_new_entries: false,
        path_address: 3,
        targets: Geometry { sets: 1024, ways: 4 },
        fast_targets: Geometry { sets: 32, ways: 4 },
        fast_target_window: 5,
        indirect_bits: 9,
        indirect: &[(0, Geometry { sets: 512, ways: 1 })],
        return_stack: 16,
        taken_branches: 1,
        loop_branches_alone: false,
        predicts_more_returns: false,
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
        // AnandTech: four stages of fetch and one of decoding.
        unknown_branch: 5,
        // LLVM: at least 11 cycles in all. AnandTech: fetch, decoding and renaming are six of them.
        recovery: 5,
        refill: 6,
    },
    memory: Memory {
        // WikiChip: 32 KiB of 8 ways; 512 KiB of 8 ways for two cores; 60 MiB in twelve parts, of 20 ways. In this
        // model the last level has a power of two of sets.
        l1d: Geometry { sets: 64, ways: 8 },
        l2: Geometry { sets: 1024, ways: 8 },
        llc: Geometry { sets: 32768, ways: 30 },
        // AnandTech: at least 15 cycles. Chips and Cheese: 40.9 ns from the last level; at the 2.6 GHz of one core.
        l2_latency: 15,
        llc_latency: 106,
        // estimate: 120 ns, as other servers with six channels of DDR4.
        memory_latency: 312,
        // estimate: more than memory, as devices are farther away.
        uncached_latency: 500,
        // estimates: as Skylake.
        fill_buffers: 12,
        l2_fill_buffers: 32,
        // AnandTech: 32 bytes a cycle in each direction within the duplex; half of it for one core on the ring, and
        // memory: estimates.
        llc_line_cycles: 4,
        memory_line_cycles: 12,
        // AnandTech: 64 entries, and 512 in the second level. All pages, and ways: estimates.
        dtlb_load: Geometry { sets: 1, ways: 64 },
        dtlb_load_large: Geometry { sets: 1, ways: 64 },
        dtlb_store: Geometry { sets: 1, ways: 64 },
        stlb: Geometry { sets: 128, ways: 4 },
        // estimates: half of the second level's cache; 64 entries for upper levels (AnandTech: "non-final") make most
        // walks a single access; one walker.
        stlb_latency: 7,
        walk_base: 6,
        walkers: 1,
        // estimates: two cycles more than a hit, and as long again as a store takes to the cache if not forwarded.
        fast_pointer: false,
        scaled_index: 0,
        displaced_index: 0,
        store_forward: Forwarding { load: 5, operand: 5, update: 5, vector: 5 },
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
        store_forward_block: [12; 2],
        alias_block: 0,
        // estimate: prefetchers follow strides and look in the second and third level (AnandTech). How far is unknown.
        stream_distance: 8,
        stream_llc_distance: 0,
        // AnandTech: lines of the second level have 128 bytes.
        adjacent_line: true,
    },
    flows: Flows {
        // Not used: there are no locked instructions in Armv8.0.
        lock: 0,
        lock_line: [0, 0],
        lock_after_load: 0,
        lock_drain: 0,
        // LLVM: a hint takes a slot, and no unit.
        pause: 1,
        // estimates: an exception is a flush, a fetch from the vector and three registers, without microcode.
        interrupt_uops: 1,
        interrupt_cycles: 30,
        // Hardware takes subnormal numbers, and does not set the access flag (Armv8.0).
        fp_assist_uops: 0,
        page_assist_uops: 0,
        assist_cycles: 0,
        // estimate: a misprediction and as much again to restart at an instruction that had retired.
        machine_clear: 22,
        // LLVM: integers. It has FP division and square root pipelined, and yet four singles take twice as long as
        // two: so they are not, and their latencies are what they take.
        divider: Divider {
            integer: 8,
            wide_integer: 11,
            long_integer: [0; 2],
            single: 10,
            double: 14,
            root_single: 12,
            root_double: 21,
        },
        // Not used.
        string_start: 0,
        string_bytes: 16,
        string_moves: &[],
        string_stores: &[],
    },
    table: include_str!("../../data/falkor.tsv"),
    wide: &[],
    corrections: &[include_str!("../../data/falkor.corrections.tsv")],
    system: include_str!("../../data/a64.system.tsv"),
};
