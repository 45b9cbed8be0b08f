//! Sunny Cove as in Ice Lake-SP and Ice Lake; Willow Cove and Cypress Cove are the same pipeline with other caches.
//!
//! Sources, named below by their short form:
//!
//! - *manual*: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on Ice Lake client
//! - *WikiChip*: page Sunny Cove
//! - *AnandTech*: "Intel's Tiger Lake 11th Gen Core i7-1185G7 Review and Deep Dive", table of caches
//! - *TMA*: constants in Intel's published TMA formulas, `intel/perfmon` `ICX/metrics/icelakex_metrics.json`, and those
//!   of ICL, TGL and RKL
//! - *uops.info*: measurements of Ice Lake
//! - *choice*: no source; plausible for the class, and what the validation runs with

use crate::core::{Core, Divider, Flows, FrontEnd, Geometry, Memory, Prediction};

/// Ice Lake-SP.
pub const SUNNY_COVE: Core = Core {
    name: "Sunny Cove",
    llvm_name: "icelake-server",
    // manual: allocation of 5, reorder buffer 352, load buffer 128, store buffer 72. Retirement: choice, as Golden Cove.
    dispatch_width: 5,
    retire_width: 8,
    reorder_buffer: 352,
    load_buffer: 128,
    store_buffer: 72,
    // WikiChip: schedulers of 160 entries together.
    scheduler: 160,
    fusion: true,
    // Intel erratum ICL065: moves of general-purpose registers are not eliminated.
    move_elimination: false,
    front_end: FrontEnd {
        // manual, WikiChip: queue of 70 uops per thread, uop cache of 2304 uops that delivers 6.
        queue: 70,
        uop_cache_width: 6,
        // 384 lines of 6 uops; in this model a line holds 16 bytes of code.
        uop_cache: Geometry { sets: 64, ways: 6 },
        uop_cache_shift: 4,
        // manual: 16 bytes a cycle; WikiChip: 5 decoders.
        decode_width: 5,
        decode_bytes: 16,
        decoder_uops: 4,
        loop_stream: true,
        // choice, not published
        decode_switch: 2,
        // manual: 4 uops a cycle from the sequencer. TMA: MS_Switches_Cost.
        microcode_width: 4,
        microcode_switch: 3,
        // manual: 3 cycles for a length-changing prefix.
        length_changing_prefix: 3,
        icache: Geometry { sets: 64, ways: 8 },
        // WikiChip: 128 entries of 8 ways; 16 for large pages.
        itlb: Geometry { sets: 16, ways: 8 },
        itlb_large: Geometry { sets: 1, ways: 16 },
    },
    prediction: Prediction {
        // choice: about 32 KiB of state, as published winners of the branch prediction championships used.
        bimodal_bits: 13,
        tagged_bits: 10,
        histories: &[5, 11, 22, 44, 88],
        // AnandTech (Alder Lake): the predecessor of Golden Cove knows 5 K targets.
        targets: Geometry { sets: 1024, ways: 5 },
        fast_targets: Geometry { sets: 32, ways: 4 },
        indirect_bits: 10,
        return_stack: 16,
        slow_target: 1,
        // TMA: BAClear_Cost.
        unknown_branch: 10,
        // Agner Fog, microarchitecture: misprediction costs 15 to 20 cycles from issue of the branch.
        recovery: 6,
        refill: 10,
    },
    memory: Memory {
        // manual: 48 KiB of 12 ways, 1.25 MiB of 20 ways in servers.
        l1d: Geometry { sets: 64, ways: 12 },
        l2: Geometry { sets: 1024, ways: 20 },
        // 1.5 MiB of 12 ways a core: 48 MiB for 32 cores.
        llc: Geometry { sets: 65536, ways: 12 },
        // manual: 14 cycles. TMA: 4, 23 and 66.5 ns; cycles are in the same proportion.
        l2_latency: 14,
        llc_latency: 81,
        memory_latency: 233,
        // choice
        uncached_latency: 600,
        // manual: 12 fill buffers, 48 entries of the second level's queue.
        fill_buffers: 12,
        l2_fill_buffers: 48,
        // choice: 10 bytes a cycle from the last level, 4 from memory, for one core.
        llc_line_cycles: 6,
        memory_line_cycles: 16,
        // WikiChip: 64 entries of 4 ways, 32 for 2 MiB; 16 for stores; second level 2048 of 16 ways.
        dtlb_load: Geometry { sets: 16, ways: 4 },
        dtlb_load_large: Geometry { sets: 8, ways: 4 },
        dtlb_store: Geometry { sets: 1, ways: 16 },
        stlb: Geometry { sets: 128, ways: 16 },
        // TMA: Mem_STLB_Hit_Cost.
        stlb_latency: 7,
        walk_base: 9,
        walkers: 2,
        // uops.info: 5 cycles from store to load.
        store_forward: 5,
        // TMA: 13 cycles for a blocked forward; manual: a few for 4K aliasing.
        store_forward_block: 13,
        alias_block: 7,
        // manual: the streamer runs up to 20 lines ahead, and what is far ahead goes to the last level only; choice: half.
        stream_distance: 10,
        stream_llc_distance: 20,
        adjacent_line: true,
    },
    flows: Flows {
        // uops.info: 18 to 20 cycles for LOCK ADD.
        lock: 18,
        // choice: Agner Fog's tables have INT n at about 80 uops and some hundred cycles.
        interrupt_uops: 80,
        interrupt_cycles: 250,
        machine_clear: 30,
        // manual: REP MOVSB starts in about 35 cycles, then moves 32 bytes a cycle from the first level.
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
    table: include_str!("../../data/icelake-server.tsv"),
    corrections: include_str!("../../data/icelake-server.corrections.tsv"),
};

/// Ice Lake.
pub const SUNNY_COVE_CLIENT: Core = Core {
    name: "Sunny Cove (client)",
    memory: Memory {
        // WikiChip, AnandTech: 512 KiB of 8 ways; 2 MiB of 16 ways a core, for four cores.
        l2: Geometry { sets: 1024, ways: 8 },
        llc: Geometry { sets: 8192, ways: 16 },
        // WikiChip: 13 cycles. TMA: 3.5 and 12.5 ns. Memory: choice, 90 ns.
        l2_latency: 13,
        llc_latency: 46,
        memory_latency: 334,
        ..SUNNY_COVE.memory
    },
    ..SUNNY_COVE
};

/// Tiger Lake.
pub const WILLOW_COVE: Core = Core {
    name: "Willow Cove",
    memory: Memory {
        // AnandTech: 1.25 MiB of 20 ways; 3 MiB of 12 ways a core, for four cores.
        llc: Geometry { sets: 16384, ways: 12 },
        // AnandTech: 14 cycles. TMA: 5 and 22.5 ns. Memory: choice, 90 ns.
        llc_latency: 63,
        memory_latency: 252,
        ..SUNNY_COVE.memory
    },
    ..SUNNY_COVE
};

/// Rocket Lake: Ice Lake's core and caches, for eight cores.
pub const CYPRESS_COVE: Core = Core {
    name: "Cypress Cove",
    memory: Memory {
        llc: Geometry { sets: 16384, ways: 16 },
        // TMA: as Ice Lake. Memory: choice, 65 ns.
        memory_latency: 241,
        ..SUNNY_COVE_CLIENT.memory
    },
    ..SUNNY_COVE
};
