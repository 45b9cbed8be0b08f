//! Golden Cove as in Sapphire Rapids; Raptor Cove and Redwood Cove are its close relatives.
//!
//! Sources, named below by their short form:
//!
//! - *manual*: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on Golden Cove
//! - *AnandTech*: "A Deep Dive into Intel's Alder Lake Microarchitectures"
//! - *Chips and Cheese*: "Popping the Hood on Golden Cove", "A Peek at Sapphire Rapids"
//! - *uops.info*: measurements of Alder Lake's P-cores
//! - *choice*: no source; plausible for the class, and what the validation runs with

use crate::core::{Core, Divider, Flows, FrontEnd, Geometry, Memory, Prediction};

/// Sapphire Rapids.
pub const GOLDEN_COVE: Core = Core {
    name: "Golden Cove",
    llvm_name: "sapphirerapids",
    // manual: allocation of 6, reorder buffer 512, load buffer 192, store buffer 114, retirement of 8.
    dispatch_width: 6,
    retire_width: 8,
    reorder_buffer: 512,
    load_buffer: 192,
    store_buffer: 114,
    // Chips and Cheese: 97 entries for arithmetic, 70 for loads, 38 for stores.
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
        decode_switch: 2,
        microcode_width: 4,
        microcode_switch: 2,
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
        unknown_branch: 9,
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
        // manual: 15 cycles. Chips and Cheese: about 33 ns from the last level, 110 ns from memory, at 3.8 GHz.
        l2_latency: 15,
        llc_latency: 125,
        memory_latency: 420,
        uncached_latency: 800,
        // AnandTech: 16 fill buffers, 48 entries of the second level's queue.
        fill_buffers: 16,
        l2_fill_buffers: 48,
        llc_line_cycles: 6,
        memory_line_cycles: 16,
        // AnandTech: 96 entries for loads of 6 ways, 16 for stores, second level 2048 of 16 ways, 4 walkers.
        dtlb_load: Geometry { sets: 16, ways: 6 },
        dtlb_load_large: Geometry { sets: 8, ways: 4 },
        dtlb_store: Geometry { sets: 1, ways: 16 },
        stlb: Geometry { sets: 128, ways: 16 },
        // Intel's TMA formulas: 7 cycles for a hit of the second-level TLB.
        stlb_latency: 7,
        walk_base: 9,
        walkers: 4,
        // uops.info: 5 cycles from store to load; zero-latency forwarding of the same address is left out.
        store_forward: 5,
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
