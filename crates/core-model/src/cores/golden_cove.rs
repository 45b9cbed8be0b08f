//! Golden Cove as in Sapphire Rapids and Alder Lake; Raptor Cove and Redwood Cove are nearly the same pipeline.
//!
//! Sources, named below by their short form:
//!
//! - *manual*: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on Golden Cove
//! - *AnandTech*: "A Deep Dive into Intel's Alder Lake Microarchitectures"
//! - *Chips and Cheese*: "Popping the Hood on Golden Cove", "Intel's Redwood Cove: Baby Steps are Still Steps"
//! - *LLVM*: `X86SchedSapphireRapids.td`
//! - *TMA*: constants in Intel's published TMA formulas, `intel/perfmon` `SPR/metrics/sapphirerapids_metrics.json`, and
//!   those of ADL, EMR and GNR
//! - *uops.info*: measurements of Alder Lake's P-cores
//! - *choice*: no source; plausible for the class, and what the validation runs with

use crate::core::{Core, Divider, Flows, FrontEnd, Geometry, Memory, Prediction};

/// Sapphire Rapids.
pub const GOLDEN_COVE: Core = Core {
    name: "Golden Cove",
    llvm_name: "sapphirerapids",
    // manual: allocation of 6, reorder buffer 512, load buffer 192, store buffer 114, retirement of 8. LLVM has the first
    // two as well.
    dispatch_width: 6,
    retire_width: 8,
    reorder_buffer: 512,
    load_buffer: 192,
    store_buffer: 114,
    // Chips and Cheese: 97 entries for arithmetic, 70 for loads, 38 for stores. LLVM has 112, 72 and 48.
    scheduler: 205,
    fusion: true,
    // uops.info: eliminates moves of general-purpose registers again.
    move_elimination: true,
    front_end: FrontEnd {
        // AnandTech: queue of 144 uops (72 a thread with two), uop cache of 4 K that delivers 8, 6 decoders, 32 bytes.
        queue: 144,
        uop_cache_width: 8,
        // 512 lines of 8 uops; in this model a line holds 32 bytes of code.
        uop_cache: Geometry { sets: 64, ways: 8 },
        uop_cache_shift: 5,
        decode_width: 6,
        decode_bytes: 32,
        decoder_uops: 4,
        loop_stream: true,
        // choice, not published
        decode_switch: 2,
        // manual: 4 uops a cycle from the sequencer. TMA: MS_Switches_Cost.
        microcode_width: 4,
        microcode_switch: 3,
        length_changing_prefix: 3,
        icache: Geometry { sets: 64, ways: 8 },
        // AnandTech: 256 entries, 32 for large pages.
        itlb: Geometry { sets: 32, ways: 8 },
        itlb_large: Geometry { sets: 4, ways: 8 },
    },
    prediction: Prediction {
        // choice: twice Sunny Cove's state.
        bimodal_bits: 14,
        tagged_bits: 11,
        histories: &[5, 12, 27, 58, 120],
        // AnandTech: 12 K targets.
        targets: Geometry { sets: 2048, ways: 6 },
        fast_targets: Geometry { sets: 32, ways: 4 },
        indirect_bits: 11,
        return_stack: 24,
        slow_target: 1,
        // choice, as Sunny Cove: the formulas measure it here.
        unknown_branch: 10,
        // AnandTech: one cycle more than the 16 of the predecessor.
        recovery: 6,
        refill: 11,
    },
    memory: Memory {
        // manual: 48 KiB of 12 ways, 2 MiB of 16 ways in servers.
        l1d: Geometry { sets: 64, ways: 12 },
        l2: Geometry { sets: 2048, ways: 16 },
        // 1.875 MiB of 15 ways a core: 60 MiB for 32 cores.
        llc: Geometry { sets: 65536, ways: 15 },
        // manual: 15 cycles. TMA: 4.4, 37 and 109 ns; cycles are in the same proportion.
        l2_latency: 15,
        llc_latency: 126,
        memory_latency: 372,
        // choice
        uncached_latency: 800,
        // AnandTech: 16 fill buffers, 48 entries of the second level's queue.
        fill_buffers: 16,
        l2_fill_buffers: 48,
        // choice: 10 bytes a cycle from the last level, 4 from memory, for one core.
        llc_line_cycles: 6,
        memory_line_cycles: 16,
        // AnandTech: 96 entries for loads of 6 ways, 16 for stores, second level 2048 of 16 ways, 4 walkers.
        dtlb_load: Geometry { sets: 16, ways: 6 },
        dtlb_load_large: Geometry { sets: 8, ways: 4 },
        dtlb_store: Geometry { sets: 1, ways: 16 },
        stlb: Geometry { sets: 128, ways: 16 },
        // TMA: Mem_STLB_Hit_Cost. Walks: choice.
        stlb_latency: 7,
        walk_base: 9,
        walkers: 4,
        // uops.info: 5 cycles from store to load; zero-latency forwarding of the same address is left out.
        store_forward: 5,
        // TMA: 13 cycles for a blocked forward.
        store_forward_block: 13,
        alias_block: 7,
        // manual: the streamer runs up to 20 lines ahead, and what is far ahead goes to the last level only; choice: half.
        stream_distance: 10,
        stream_llc_distance: 20,
        adjacent_line: true,
    },
    flows: Flows {
        // uops.info: 18 cycles for LOCK ADD.
        lock: 18,
        // choice, as for Sunny Cove.
        interrupt_uops: 80,
        interrupt_cycles: 250,
        machine_clear: 30,
        // uops.info: reciprocal throughputs.
        divider: Divider {
            integer: 6,
            wide_integer: 10,
            single: 3,
            double: 4,
            root_single: 3,
            root_double: 6,
        },
        string_start: 30,
        string_bytes: 32,
    },
    table: include_str!("../../data/sapphirerapids.tsv"),
    corrections: "",
};

/// Alder Lake's P-cores.
pub const GOLDEN_COVE_CLIENT: Core = Core {
    name: "Golden Cove (client)",
    memory: Memory {
        // AnandTech: 1.25 MiB of 10 ways; 30 MiB for eight P-cores and eight E-cores, there of 12 ways.
        l2: Geometry { sets: 2048, ways: 10 },
        llc: Geometry { sets: 32768, ways: 15 },
        // TMA: 3 and 12 ns. Memory: choice, 80 ns.
        llc_latency: 60,
        memory_latency: 400,
        ..GOLDEN_COVE.memory
    },
    ..GOLDEN_COVE
};

/// Emerald Rapids: Golden Cove with a larger last level.
pub const RAPTOR_COVE: Core = Core {
    name: "Raptor Cove",
    memory: Memory {
        // Xeon Platinum 8592+: 320 MiB for 64 cores. The ways are a choice. TMA: latencies as Sapphire Rapids.
        llc: Geometry { sets: 262_144, ways: 20 },
        ..GOLDEN_COVE.memory
    },
    ..GOLDEN_COVE
};

/// Granite Rapids.
pub const REDWOOD_COVE: Core = Core {
    name: "Redwood Cove",
    front_end: FrontEnd {
        // Chips and Cheese: 64 KiB of instruction cache, all other structures as before. Ways: choice.
        icache: Geometry { sets: 64, ways: 16 },
        ..GOLDEN_COVE.front_end
    },
    memory: Memory {
        // Xeon 6972P: 480 MiB for 96 cores. The ways are a choice. TMA: last level as Sapphire Rapids; memory: choice.
        llc: Geometry { sets: 524_288, ways: 15 },
        ..GOLDEN_COVE.memory
    },
    ..GOLDEN_COVE
};
