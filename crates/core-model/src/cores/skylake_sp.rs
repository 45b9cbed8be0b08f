//! Skylake as in Skylake-SP and Cascade Lake.
//!
//! Sources, named below by their short form:
//!
//! - *manual*: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on Skylake
//! - *events*: Intel's event lists, `intel/perfmon` `SKX/events/skylakex_core.json`
//! - *TMA*: constants of Intel's published TMA formulas, `intel/perfmon` `TMA_Metrics-full.csv`, columns SKX and CLX
//! - *CPUID*: leaves 2 and 4 of a Xeon Gold 6130, `InstLatx64/InstLatx64` `GenuineIntel0050654_SkylakeXeon_CPUID2`
//! - *InstLatx64*: measured latencies and throughputs, same repository, `GenuineIntel0050654_SkylakeX_InstLatX64` and
//!   `_NewMemLat` (Core i9-7900X), `GenuineIntel0050656_CascadeLakeSP_InstLatX64`
//! - *uiCA*: parameters of the simulator of uops.info, found by measuring, `andreas-abel/uiCA` `microArchConfigs.py`
//! - *Agner Fog*: "The microarchitecture of Intel, AMD, and VIA CPUs", section on Skylake
//! - *estimate*: in no source that was found; the reason is beside it

use crate::core::{
    BranchCycles, Bypass, Core, Divider, Flows, Forwarding, FrontEnd, Geometry, Isa, LinearTags, Memory,
    MemoryOperands, MemoryRenaming, OverriddenDirections, PortBinding, Prediction, RestartedTargets,
    WideUnits,
};

/// Skylake-SP.
pub const SKYLAKE_SP: Core = Core {
    name: "Skylake-SP",
    isa: Isa::X86,
    llvm_name: "skylake-avx512",
    // TMA: `Pipeline_Width` and `Retire_Width`. manual and uiCA: the same, reorder buffer, scheduler. manual: buffers.
    dispatch_width: 4,
    retire_width: 4,
    reorder_buffer: 224,
    load_buffer: 72,
    store_buffer: 56,
    scheduler: 97,
    // Intel has 97 entries for all. Travis Downs found that memory has some of its own (64 and 33, by additions
    // that wait for a load; pull request 2 of microarchitecturometer). That it is 58 for ports 0, 1, 5 and 6 is
    // measured: LEA and a comparison take 0.56 cycles, in a loop and unrolled, an addition and a comparison 1.05,
    // where 97 make 0.54 and 1.09, and loops of stores 1.49, where 39 entries for memory make 1.57 and 33 make 1.70
    // (docs/silicon.md).
    memory_scheduler: Some((39, &["SKXPort2", "SKXPort3", "SKXPort4", "SKXPort7"])),
    // uiCA (`uiCA.py`).
    wakes_late: true,
    selects_early: false,
    fusion: true,
    // Peter Cordes, "Micro fusion and addressing modes" (Stack Overflow), of Haswell and Skylake. That stores with an
    // index stay one uop is measured (docs/silicon.md).
    memory_operands: MemoryOperands::FusedUnlessIndexed,
    allocates_whole: false,
    // uiCA: measured on all cores from Sandy Bridge to Rocket Lake.
    binding: PortBinding::ByPressure { ranks: 2, much: 3 },
    // uiCA: up to four at a time; here without a limit.
    // uiCA: ports 0, 1, 5, 6.
    stack_engine: Some((4, "Add_r64_rm64")),
    reads_synchronise: true,
    // manual: "Mixing AVX Code with SSE Code". Whether the blend is a uop of its own is not said.
    merges_upper_bits: true,
    bypass: Bypass::None,
    move_elimination: true,
    own_move_elimination: false,
    moves_stack_pointer: false,
    breaks_borrow: false,
    fuses_nops: false,
    joins_moves: false,
    adds_at_renaming: false,
    front_end: FrontEnd {
        // manual, uiCA: queue of 64 uops a thread. TMA: `DSB_Width`. manual: uop cache of 1536.
        queue: 64,
        uop_cache_width: 6,
        // manual: 256 lines of 6 uops, three for 32 bytes of code; in this model, a line holds 16 bytes.
        uop_cache: Geometry { sets: 32, ways: 8 },
        uop_cache_shift: 4,
        uop_cache_instructions: 0,
        dispatched_lines: 0,
        line_a_cycle: false,
        // TMA: `Decode_Width`; uiCA: 4 decoders, 16 bytes. TMA: up to 5 uops (`MITE_Width`), if the first decoder makes
        // several.
        decode_width: 4,
        decode_uops: 5,
        decode_bytes: 16,
        // uiCA: 5 instructions of 16 bytes.
        predecode_width: 5,
        // Intel, "Mitigations for Jump Conditional Code Erratum": microcode since November 2019. uiCA also keeps the
        // other half of the line out; loops of blocks on silicon do not bear that out.
        bars_boundary_branches: true,
        // uiCA (`uiCA.py`): they go on up to a branch.
        decodes_until_branch: true,
        // Measured: unrolled blocks behind MFENCE or LFENCE and a jump come at the pace of the decoders
        // (docs/silicon.md). That the second jump ends it is measured on Zen 5.
        fence_branches: 2,
        // manual: up to 4 uops from the first decoder.
        decoder_uops: 4,
        simple_uops: 1,
        // Agner Fog, uop cache: more than 32 bits of data take two entries. uiCA: which constants those are, and that
        // the cycle ends with them.
        wide_alone: true,
        branch_decoder: false,
        // Intel erratum SKX150: the loop stream detector is off. uiCA: the same.
        loop_stream: false,
        // events, DSB2MITE_SWITCHES.PENALTY_CYCLES: 0 to 2 cycles most often.
        decode_switch: 2,
        // TMA: `MS_Width` and `MS_Switches_Cost`.
        microcode_width: 4,
        microcode_switch: 2,
        // events: "a three-cycle penalty for each" (DECODE.LCP).
        length_changing_prefix: 3,
        // estimate: a queue of 24 fetches, of 32 bytes each, which the decoders take two cycles for. That code far
        // beyond the first level runs as fast as decoders take it is measured (docs/silicon.md).
        run_ahead: 48,
        // Measured: 16 bytes a cycle, as decoders take no more (docs/silicon.md).
        line_cycles: 4,
        page_cycles: 0,
        // CPUID. The TLB for 4 KiB is the manual's, 128 entries of 8 ways; CPUID has 64.
        icache: Geometry { sets: 64, ways: 8 },
        itlb: Geometry { sets: 16, ways: 8 },
        itlb_large: Geometry { sets: 1, ways: 8 },
    },
    prediction: Prediction {
        // Half&Half (Yavarzadeh and others, 2023), and jia.je/cpu/cbp.html, for Cascade Lake too: three tables, their
        // sets and ways, how much of the history of taken branches each looks at, and the bits that one adds. The table
        // without history: estimate. Measured: 5,000 random directions that repeat are not learnt (docs/silicon.md).
        bimodal_bits: 13,
        tagged: Geometry { sets: 512, ways: 4 },
        histories: &[22, 58, 186],
        spreads_branches: false,
        trusts_new_entries: false,
        path_address: 3,
        // Hardware Times, "Intel's P-Core Architectures Compared": 128 and 4096 targets. Ways: estimate.
        targets: Geometry { sets: 1024, ways: 4 },
        fast_targets: Geometry { sets: 32, ways: 4 },
        fast_target_window: 5,
        // estimate: half of Sunny Cove's.
        indirect_bits: 9,
        indirect: &[(0, Geometry { sets: 512, ways: 1 })],
        // Agner Fog: 16 entries.
        return_stack: 16,
        taken_branches: 1,
        loop_branches_alone: false,
        predicts_more_returns: false,
        // estimate: as the one cycle a level that was measured on Golden Cove.
        slow_target: 1,
        branch_cycles: BranchCycles::NONE,
        // estimate.
        lead: 8,
        // Measured: a loop with an indirect and two other jumps takes 6 cycles (docs/silicon.md).
        indirect_bubble: 2,
        indirect_directions: 0,
        overridden_directions: OverriddenDirections::NONE,
        restarted_targets: RestartedTargets::NONE,
        // Measured: 3.6 to 4.7 cycles for a call and its return (docs/silicon.md).
        call_bubble: 2,
        indirect_call_bubble: 0,
        // TMA: `BAClear_Cost`.
        unknown_branch: 9,
        // Agner Fog: 15 to 20 cycles in all. How they divide is an estimate.
        recovery: 6,
        refill: 10,
    },
    memory: Memory {
        // CPUID: 32 KiB of 8 ways, 1 MiB of 16, and 22 MiB of 11 for 16 cores.
        l1d: Geometry { sets: 64, ways: 8 },
        l2: Geometry { sets: 1024, ways: 16 },
        llc: Geometry { sets: 32768, ways: 11 },
        // InstLatx64: 14 cycles from the second level. TMA: 3.5, 20.5 and 80 ns; cycles are in the same proportion.
        // (InstLatx64: 75 and about 280, at 3.3 GHz.)
        l2_latency: 14,
        llc_latency: 82,
        memory_latency: 320,
        // estimate: more than memory, as devices are farther away.
        uncached_latency: 550,
        // manual: 12 fill buffers. The second level's queue: estimate, as Chips and Cheese have it for Sunny Cove.
        fill_buffers: 12,
        l2_fill_buffers: 32,
        // estimate: 10 bytes a cycle from the last level, 4 from memory, for one core.
        llc_line_cycles: 6,
        memory_line_cycles: 16,
        // CPUID: 64 entries of 4 ways, 32 for 2 MiB, 1536 in the second level; manual: of 12 ways. Loads and stores
        // share the first level in silicon.
        dtlb_load: Geometry { sets: 16, ways: 4 },
        dtlb_load_large: Geometry { sets: 8, ways: 4 },
        dtlb_store: Geometry { sets: 16, ways: 4 },
        stlb: Geometry { sets: 128, ways: 12 },
        // TMA: `Mem_STLB_Hit_Cost`. InstLatx64: the same, 23 cycles instead of 14 from the second level.
        stlb_latency: 9,
        // estimate: four steps through structures that cache the upper levels.
        walk_base: 9,
        // manual: two walks at a time.
        walkers: 2,
        // InstLatx64: 4.4 cycles (PUSH and POP of a register); measured: 4, and 5 of XMM registers (docs/silicon.md).
        // manual: base and a displacement below 2048. uiCA: from a load only; no more on Ice Lake.
        fast_pointer: true,
        scaled_index: 0,
        displaced_index: 0,
        store_forward: Forwarding { load: 4, operand: 4, update: 4, vector: 5 },
        // Chains of a read-modify-write take 5.5 cycles (measured, docs/silicon.md), of which one is the operation.
        store_forward_again: 1,
        forward_interval: 0,
        // Four unaligned stores, of which one crosses a line, take 5.3 cycles (measured).
        joins_stores: 0,
        joins_runs: false,
        // Measured: loads from the second level take twice the ports of those from the first (docs/silicon.md). Travis
        // Downs, "uop replay after L1 miss" (Real World Tech, 2018): what needs the line is dispatched once more.
        replays_loads: true,
        // Travis Downs, "Unexpectedly poor and weirdly bimodal performance for store loop on Intel Skylake" (Stack
        // Overflow): 1.25 cycles for each of four stores to a line of the second level. Measured: the same.
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
        // estimate: the second half takes as long as the first. Agner Fog: one load across lines a cycle.
        split_load: 4,
        split_ports: [1, 1],
        page_split_store: 0,
        renames_memory: MemoryRenaming::None,
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
        // InstLatx64: 18.1 cycles for LOCK ADD.
        lock: 18,
        // Measured: 23 cycles if each is on another line, 25 with loads in between (docs/silicon.md).
        lock_line: [0, 5],
        lock_after_load: 7,
        lock_drain: 0,
        // InstLatx64: 141 cycles.
        pause: 141,
        // estimate: Agner Fog's tables have INT n at about 80 uops and some hundred cycles.
        interrupt_uops: 80,
        interrupt_cycles: 250,
        // TMA: `FP_Assists` and `Avg_Assist_Cost` have 34 slots. Agner Fog: about 150 cycles for a subnormal result.
        fp_assist_uops: 34,
        page_assist_uops: 34,
        assist_cycles: 150,
        // estimate: a misprediction and as much again to restart at an instruction that had retired.
        machine_clear: 30,
        // InstLatx64: reciprocal throughputs. DIV of 64 bits takes 21 cycles if RDX is 0, IDIV 24 for small dividends,
        // and both 87 to 96 for 128 bits.
        divider: Divider {
            integer: 6,
            wide_integer: 24,
            // Measured: 83 cycles from result to result (docs/silicon.md), of which 6 are for the other uops.
            long_integer: [83, 77],
            single: 3,
            double: 4,
            root_single: 3,
            root_double: 6,
        },
        // manual: about 35 cycles for REP MOVSB. InstLatx64: REP MOVSB reads and writes 57 bytes a cycle within the
        // first level, REP STOSB writes 42.
        string_start: 35,
        string_bytes: 48,
        // Measured, less the loop around it: docs/silicon.md.
        string_moves: &[(64, 24), (256, 36), (1024, 60), (4096, 115), (16_384, 314)],
        string_stores: &[(64, 27), (256, 34), (1024, 46), (4096, 90), (16_384, 283)],
    },
    table: include_str!("../../data/skylake-avx512.tsv"),
    // manual: uops of 512 bits take the vector units of ports 0 and 1 together, by port 0, or that of port 5.
    wide: &[
        WideUnits { from: &["SKXPort0", "SKXPort1", "SKXPort5"], to: &["SKXPort0", "SKXPort5"], of: &[] },
        WideUnits { from: &["SKXPort0", "SKXPort1"], to: &["SKXPort0"], of: &[] },
        WideUnits { from: &["SKXPort1", "SKXPort5"], to: &["SKXPort5"], of: &[] },
    ],
    corrections: &[include_str!("../../data/skylake-avx512.corrections.tsv")],
    system: include_str!("../../data/x86.system.tsv"),
};

/// Cascade Lake: the same. Its loop stream detector is off too: loops that would fit run at the speed of the uop cache
/// (docs/silicon.md).
pub const CASCADE_LAKE: Core = Core {
    name: "Cascade Lake",
    flows: Flows {
        // Measured: 14 (docs/silicon.md). TMA, `Slow_Pause`, and InstLatx64 have 40.
        pause: 14,
        ..SKYLAKE_SP.flows
    },
    ..SKYLAKE_SP
};
