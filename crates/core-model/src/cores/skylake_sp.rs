//! Skylake as in Skylake-SP and Cascade Lake.
//!
//! Sources, named below by their short form:
//!
//! - *manual*: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on Skylake
//! - *WikiChip*: page Skylake (server)
//! - *TMA*: constants in Intel's published TMA formulas, `intel/perfmon` `SKX/metrics/skylakex_metrics.json`
//! - *uops.info*: measurements of Skylake-X
//! - *choice*: no source; plausible for the class, and what the validation runs with

use crate::core::{Core, Divider, Flows, FrontEnd, Geometry, Memory, Prediction};

/// Skylake-SP.
pub const SKYLAKE_SP: Core = Core {
    name: "Skylake-SP",
    llvm_name: "skylake-avx512",
    // manual: allocation of 4, reorder buffer 224, load buffer 72, store buffer 56, scheduler 97.
    dispatch_width: 4,
    retire_width: 4,
    reorder_buffer: 224,
    load_buffer: 72,
    store_buffer: 56,
    scheduler: 97,
    fusion: true,
    move_elimination: true,
    front_end: FrontEnd {
        // manual: queue of 64 uops a thread, uop cache of 1536 that delivers 6.
        queue: 64,
        uop_cache_width: 6,
        // 256 lines of 6 uops; in this model a line holds 16 bytes of code.
        uop_cache: Geometry { sets: 32, ways: 8 },
        uop_cache_shift: 4,
        // manual: 16 bytes a cycle, 5 uops from the decoders.
        decode_width: 5,
        decode_bytes: 16,
        decoder_uops: 4,
        // Intel erratum SKX150: the loop stream detector is off.
        loop_stream: false,
        // choice, not published
        decode_switch: 2,
        microcode_width: 4,
        // TMA: MS_Switches_Cost.
        microcode_switch: 2,
        length_changing_prefix: 3,
        icache: Geometry { sets: 64, ways: 8 },
        // WikiChip: 128 entries of 8 ways; 8 for large pages.
        itlb: Geometry { sets: 16, ways: 8 },
        itlb_large: Geometry { sets: 1, ways: 8 },
    },
    prediction: Prediction {
        // choice: somewhat less than Sunny Cove, whose predictor Intel calls improved.
        bimodal_bits: 13,
        tagged_bits: 10,
        histories: &[5, 12, 28, 64],
        targets: Geometry { sets: 1024, ways: 4 },
        fast_targets: Geometry { sets: 32, ways: 4 },
        indirect_bits: 9,
        return_stack: 16,
        slow_target: 1,
        // TMA: BAClear_Cost.
        unknown_branch: 9,
        // Agner Fog, microarchitecture: 15 to 20 cycles.
        recovery: 6,
        refill: 10,
    },
    memory: Memory {
        // WikiChip: 32 KiB of 8 ways, 1 MiB of 16 ways.
        l1d: Geometry { sets: 64, ways: 8 },
        l2: Geometry { sets: 1024, ways: 16 },
        // 1.375 MiB of 11 ways a core: 22 MiB for 16 cores.
        llc: Geometry { sets: 32768, ways: 11 },
        // manual: 14 cycles. TMA: 3.5, 20.5 and 80 ns; cycles are in the same proportion.
        l2_latency: 14,
        llc_latency: 82,
        memory_latency: 320,
        // choice
        uncached_latency: 550,
        // manual: 12 fill buffers; choice: 32 entries of the second level's queue.
        fill_buffers: 12,
        l2_fill_buffers: 32,
        // choice: 10 bytes a cycle from the last level, 4 from memory, for one core.
        llc_line_cycles: 6,
        memory_line_cycles: 16,
        // WikiChip: 64 entries of 4 ways, 32 for 2 MiB; second level 1536 of 12 ways. Loads and stores share the
        // first level in silicon.
        dtlb_load: Geometry { sets: 16, ways: 4 },
        dtlb_load_large: Geometry { sets: 8, ways: 4 },
        dtlb_store: Geometry { sets: 16, ways: 4 },
        stlb: Geometry { sets: 128, ways: 12 },
        // TMA: Mem_STLB_Hit_Cost.
        stlb_latency: 9,
        // choice
        walk_base: 9,
        walkers: 2,
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
        // uops.info: reciprocal throughputs.
        divider: Divider {
            integer: 6,
            wide_integer: 38,
            single: 3,
            double: 4,
            root_single: 3,
            root_double: 6,
        },
        string_start: 35,
        string_bytes: 32,
    },
    table: include_str!("../../data/skylake-avx512.tsv"),
    corrections: include_str!("../../data/skylake-avx512.corrections.tsv"),
};
