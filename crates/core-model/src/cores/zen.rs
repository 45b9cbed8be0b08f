//! AMD's Zen 2, Zen 3 and Zen 4, as in the EPYC 7002, 7003 and 9004 series.
//!
//! Zen 5 is not here: LLVM 19 schedules it as Zen 4, with four integer units where it has six.
//!
//! Sources, named below by their short form:
//!
//! - *guide*: Software Optimization Guides for AMD Family 17h Models 30h and greater, Family 19h, and Zen 4 (56305, 56665,
//!   57647), of which LLVM's `X86ScheduleZnver3.td` and `X86ScheduleZnver4.td` quote the sizes
//! - *WikiChip*: pages Zen 2 and Zen 4
//! - *AnandTech*: reviews of Rome, "AMD Zen 3 Ryzen Deep Dive Review", and of Zen 4
//! - *Chips and Cheese*: "AMD's Zen 4", parts 1 and 2
//! - *choice*: no source; plausible for the class

use crate::core::{Core, Divider, Flows, FrontEnd, Geometry, Memory, Prediction};

/// Rome.
pub const ZEN2: Core = Core {
    name: "Zen 2",
    llvm_name: "znver2",
    // guide: dispatch of 6 macro-ops, retirement of 8, retire queue 224; load queue 44, store queue 48.
    dispatch_width: 6,
    retire_width: 8,
    reorder_buffer: 224,
    load_buffer: 44,
    store_buffer: 48,
    // WikiChip: 64 for integer, 28 for addresses, 36 for floating point.
    scheduler: 128,
    fusion: true,
    move_elimination: true,
    front_end: FrontEnd {
        // guide: queue of 72, op cache of 4096 that delivers 8, 4 decoders, 32 bytes a cycle.
        queue: 72,
        uop_cache_width: 8,
        uop_cache: Geometry { sets: 64, ways: 8 },
        uop_cache_shift: 5,
        decode_width: 4,
        decode_bytes: 32,
        decoder_uops: 2,
        loop_stream: false,
        decode_switch: 2,
        microcode_width: 4,
        microcode_switch: 2,
        length_changing_prefix: 0,
        icache: Geometry { sets: 64, ways: 8 },
        // guide: 64 entries for all pages.
        itlb: Geometry { sets: 1, ways: 64 },
        itlb_large: Geometry { sets: 1, ways: 64 },
    },
    prediction: Prediction {
        // guide: TAGE; 7168 targets, 512 of them fast; 1024 indirect; return stack of 31.
        bimodal_bits: 13,
        tagged_bits: 10,
        histories: &[5, 11, 22, 44, 88],
        targets: Geometry { sets: 1024, ways: 7 },
        fast_targets: Geometry { sets: 128, ways: 4 },
        indirect_bits: 10,
        return_stack: 31,
        slow_target: 1,
        unknown_branch: 10,
        // guide: 12 to 18 cycles, 16 on average.
        recovery: 5,
        refill: 11,
    },
    memory: Memory {
        // guide: 32 KiB of 8 ways, 512 KiB of 8 ways, 16 MiB of 16 ways for four cores.
        l1d: Geometry { sets: 64, ways: 8 },
        l2: Geometry { sets: 1024, ways: 8 },
        llc: Geometry { sets: 16384, ways: 16 },
        // guide: 12 cycles and 39. AnandTech: about 105 ns from memory, at 3.3 GHz.
        l2_latency: 12,
        llc_latency: 39,
        memory_latency: 350,
        uncached_latency: 650,
        // guide: 22 miss address buffers; choice: 48 lines to the second level.
        fill_buffers: 22,
        l2_fill_buffers: 48,
        llc_line_cycles: 3,
        memory_line_cycles: 12,
        // guide: 64 entries for all pages, second level 2048.
        dtlb_load: Geometry { sets: 1, ways: 64 },
        dtlb_load_large: Geometry { sets: 1, ways: 64 },
        dtlb_store: Geometry { sets: 1, ways: 64 },
        stlb: Geometry { sets: 128, ways: 16 },
        stlb_latency: 7,
        walk_base: 9,
        walkers: 2,
        // Agner Fog, microarchitecture: 7 cycles through memory.
        store_forward: 7,
        store_forward_block: 14,
        alias_block: 0,
        stream_distance: 8,
        stream_llc_distance: 0,
        adjacent_line: true,
    },
    flows: Flows {
        // Agner Fog, instruction tables: 17 cycles for LOCK ADD.
        lock: 17,
        interrupt_uops: 80,
        interrupt_cycles: 250,
        machine_clear: 30,
        // guide: the divider makes 1 or 2 bits a cycle; floating point is not pipelined for some cycles.
        divider: Divider {
            integer: 12,
            wide_integer: 20,
            single: 3,
            double: 5,
            root_single: 5,
            root_double: 9,
        },
        string_start: 25,
        string_bytes: 32,
    },
    table: include_str!("../../data/znver2.tsv"),
    corrections: "",
};

/// Milan.
pub const ZEN3: Core = Core {
    name: "Zen 3",
    llvm_name: "znver3",
    // guide: dispatch of 6 macro-ops, retirement of 8, retire queue 256, 72 loads, store queue 64.
    reorder_buffer: 256,
    load_buffer: 72,
    store_buffer: 64,
    // guide, AnandTech: 4 times 24 for integer and addresses, 2 times 32 for floating point.
    scheduler: 160,
    prediction: Prediction {
        // guide: 1024 fast targets, 6656 in the larger buffer, here a power of two of sets; return stack of 32. The
        // rest is a choice between Zen 2 and Zen 4.
        bimodal_bits: 14,
        tagged_bits: 10,
        histories: &[5, 11, 22, 44, 88],
        targets: Geometry { sets: 1024, ways: 7 },
        fast_targets: Geometry { sets: 256, ways: 4 },
        indirect_bits: 10,
        return_stack: 32,
        slow_target: 1,
        unknown_branch: 10,
        // guide: 11 to 18 cycles, 13 in the common case.
        recovery: 4,
        refill: 9,
    },
    memory: Memory {
        // guide: 46 cycles to 32 MiB of 16 ways for eight cores. Memory: choice, as Zen 2 at 3.6 GHz.
        llc: Geometry { sets: 32768, ways: 16 },
        llc_latency: 46,
        memory_latency: 380,
        // guide: 24 miss address buffers. AnandTech: 6 walkers.
        fill_buffers: 24,
        l2_fill_buffers: 64,
        walkers: 6,
        ..ZEN2.memory
    },
    flows: Flows {
        // LLVM: 10 to 17 cycles for DIV of 32 and 64 bits.
        divider: Divider {
            integer: 6,
            wide_integer: 10,
            single: 3,
            double: 5,
            root_single: 5,
            root_double: 9,
        },
        ..ZEN2.flows
    },
    table: include_str!("../../data/znver3.tsv"),
    ..ZEN2
};

/// Genoa.
pub const ZEN4: Core = Core {
    name: "Zen 4",
    llvm_name: "znver4",
    // guide: dispatch of 6 macro-ops, retire queue 320, store queue 64. Chips and Cheese: load queue 88, retirement of 8;
    // LLVM has 72 and 9.
    dispatch_width: 6,
    retire_width: 8,
    reorder_buffer: 320,
    load_buffer: 88,
    store_buffer: 64,
    // Chips and Cheese: 4 times 24 for integer and addresses, 2 times 32 for floating point.
    scheduler: 160,
    front_end: FrontEnd {
        // guide: queue of 144, op cache of 6912 that delivers 9.
        queue: 144,
        uop_cache_width: 9,
        uop_cache: Geometry { sets: 64, ways: 12 },
        itlb: Geometry { sets: 1, ways: 64 },
        itlb_large: Geometry { sets: 1, ways: 64 },
        ..ZEN2.front_end
    },
    prediction: Prediction {
        // guide: 1.5 K fast targets of up to two branches, 7 K in the larger buffer; 3072 indirect; return stack of 32.
        bimodal_bits: 14,
        tagged_bits: 11,
        histories: &[5, 12, 27, 58, 120],
        targets: Geometry { sets: 1024, ways: 8 },
        fast_targets: Geometry { sets: 512, ways: 3 },
        indirect_bits: 11,
        return_stack: 32,
        slow_target: 1,
        unknown_branch: 10,
        // guide: 11 to 18 cycles, 13 on average.
        recovery: 4,
        refill: 9,
    },
    memory: Memory {
        // guide: 32 KiB of 8 ways, 1 MiB of 8 ways, 32 MiB of 16 ways for eight cores.
        l1d: Geometry { sets: 64, ways: 8 },
        l2: Geometry { sets: 2048, ways: 8 },
        llc: Geometry { sets: 32768, ways: 16 },
        // guide: 14 cycles and 50. Chips and Cheese: about 115 ns from memory, at 3.7 GHz.
        l2_latency: 14,
        llc_latency: 50,
        memory_latency: 420,
        uncached_latency: 750,
        fill_buffers: 24,
        l2_fill_buffers: 64,
        llc_line_cycles: 3,
        memory_line_cycles: 12,
        // guide: 72 entries for all pages, second level 3072 of 24 ways.
        dtlb_load: Geometry { sets: 1, ways: 72 },
        dtlb_load_large: Geometry { sets: 1, ways: 72 },
        dtlb_store: Geometry { sets: 1, ways: 72 },
        stlb: Geometry { sets: 128, ways: 24 },
        walkers: 6,
        ..ZEN2.memory
    },
    flows: Flows {
        // uops.info: 10 to 18 cycles for DIV of 64 bits.
        divider: Divider {
            integer: 6,
            wide_integer: 10,
            single: 3,
            double: 5,
            root_single: 5,
            root_double: 9,
        },
        ..ZEN2.flows
    },
    table: include_str!("../../data/znver4.tsv"),
    ..ZEN2
};
