//! Small workloads, each with one clear bottleneck, for guest and host alike.
//!
//! They exist to be measured: the same code runs in a guest image and on the host, and the top-down
//! breakdown (TMA) of a correct counter points at the category that the workload was written for.
//! Everything is deterministic; the checksum shows that the work was really done.
//!
//! ```
//! let workload = workloads::find("divide").unwrap();
//! let mut memory = vec![0; workload.memory_words];
//! let mut prepared = workload.prepare(&mut memory).unwrap();
//! // measure from here
//! let checksum = prepared.run(1_000);
//! // to here
//! # assert_ne!(checksum, 0);
//! ```
#![no_std]

mod code;
mod compute;
mod control;
mod float;
mod memory;
mod random;
#[cfg(target_arch = "x86_64")]
mod vector;

use core::fmt;

#[cfg(target_arch = "x86_64")]
pub use vector::Extension;

/// Where a top-down analysis should see most slots: the categories of level 2, each a part of one of level 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// Retiring: slots of micro-operations of simple instructions.
    LightOperations,
    /// Bad speculation: slots lost to mispredicted branches.
    BranchMispredicts,
    /// Frontend bound: slots of cycles in which fetch delivered nothing.
    FetchLatency,
    /// Frontend bound: slots of cycles in which decode delivered less than could be taken.
    FetchBandwidth,
    /// Backend bound: slots lost waiting for loads and stores.
    MemoryBound,
    /// Backend bound: slots lost waiting for execution units or long latencies.
    CoreBound,
}

impl Category {
    /// The category of level 1 that this is a part of, as `vpmu stat` names it.
    #[must_use]
    pub fn level1(self) -> &'static str {
        match self {
            Self::LightOperations => "Retiring",
            Self::BranchMispredicts => "Bad speculation",
            Self::FetchLatency | Self::FetchBandwidth => "Frontend bound",
            Self::MemoryBound | Self::CoreBound => "Backend bound",
        }
    }

    /// The category itself, as `vpmu stat` names it.
    #[must_use]
    pub fn level2(self) -> &'static str {
        match self {
            Self::LightOperations => "Light operations",
            Self::BranchMispredicts => "Branch mispredicts",
            Self::FetchLatency => "Fetch latency",
            Self::FetchBandwidth => "Fetch bandwidth",
            Self::MemoryBound => "Memory bound",
            Self::CoreBound => "Core bound",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.level2())
    }
}

/// Instructions beyond the architecture itself: no workload here has any.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extension {}

#[cfg(not(target_arch = "x86_64"))]
impl Extension {
    /// There is none.
    #[must_use]
    pub fn is_usable(self) -> bool {
        match self {}
    }
}

/// A workload: what it is and how to get it ready.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Name, one word of lower-case letters, digits and hyphens.
    pub name: &'static str,
    /// What one iteration does.
    pub summary: &'static str,
    /// The category that should dominate; `None` if none should.
    pub dominant: Option<Category>,
    /// What the CPU needs besides the instructions that every one has.
    pub extension: Option<Extension>,
    /// Memory that it works on, in words of 8 bytes.
    pub memory_words: usize,
    /// Iterations between two looks at the clock: some 100,000 instructions, a millisecond at most.
    pub batch: u64,
    prepare: fn(&mut [u64]),
    run: fn(&mut [u64], u64) -> u64,
}

impl Workload {
    /// True if this CPU has the instructions.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.extension.is_none_or(Extension::is_usable)
    }

    /// Fills the first [`memory_words`](Self::memory_words) of `memory`. `None` if it is shorter, or the workload is
    /// not [usable](Self::is_usable).
    #[must_use]
    pub fn prepare<'a>(&self, memory: &'a mut [u64]) -> Option<Prepared<'a>> {
        if !self.is_usable() {
            return None;
        }
        let memory = memory.get_mut(..self.memory_words)?;
        (self.prepare)(memory);
        Some(Prepared { memory, run: self.run })
    }
}

/// A workload that is ready to run: no set-up is left in what [`run`](Self::run) does.
#[derive(Debug)]
pub struct Prepared<'a> {
    memory: &'a mut [u64],
    run: fn(&mut [u64], u64) -> u64,
}

impl Prepared<'_> {
    /// Runs `iterations` and returns a checksum of what was computed. Equal calls after
    /// [`Workload::prepare`] give equal checksums.
    pub fn run(&mut self, iterations: u64) -> u64 {
        (self.run)(self.memory, iterations)
    }
}

fn prepare_nothing(_: &mut [u64]) {}

/// Iterations of a few instructions each.
const BATCH: u64 = 2_000;
const KIB: usize = 1024 / size_of::<u64>();

/// All workloads.
pub const ALL: &[Workload] = &[
    Workload {
        name: "alu",
        summary: "six independent chains of two additions, subtractions or exclusive ors",
        dominant: Some(Category::LightOperations),
        extension: None,
        memory_words: 0,
        batch: BATCH,
        prepare: prepare_nothing,
        run: compute::alu,
    },
    Workload {
        name: "divide",
        summary: "one 64-bit division whose divisor is the previous quotient",
        dominant: Some(Category::CoreBound),
        extension: None,
        memory_words: 0,
        batch: BATCH,
        prepare: prepare_nothing,
        run: compute::divide,
    },
    Workload {
        name: "branches",
        summary: "two conditional branches on random bits",
        dominant: Some(Category::BranchMispredicts),
        extension: None,
        memory_words: 1,
        batch: BATCH,
        prepare: compute::prepare_random,
        run: compute::branches,
    },
    Workload {
        name: "decode",
        summary: "one pass through 29 KiB of straight code with long instructions, more than the uop cache holds",
        // Fetch bandwidth on Sunny Cove; the larger uop cache of Golden Cove holds most of it.
        dominant: None,
        extension: None,
        memory_words: 0,
        batch: 100,
        prepare: prepare_nothing,
        run: code::decode,
    },
    Workload {
        name: "code",
        summary: "one pass through 128 KiB of straight code, four times what the first-level cache holds",
        // Fetched ahead from the second level as fast as decoders take it, 12 uops in 4.25 cycles, where decoders
        // take 16 bytes a cycle (measured: docs/silicon.md, `code 64K`, `nop8 64K`), and a line in 5 cycles on Golden
        // Cove.
        dominant: None,
        extension: None,
        memory_words: 0,
        batch: 20,
        prepare: prepare_nothing,
        run: code::run,
    },
    Workload {
        name: "chase-l1",
        summary: "one load whose address is the previous load, within 16 KiB",
        dominant: Some(Category::MemoryBound),
        extension: None,
        memory_words: 16 * KIB,
        batch: BATCH,
        prepare: memory::prepare_chase,
        run: memory::chase,
    },
    Workload {
        name: "chase-l2",
        summary: "one load whose address is the previous load, within 256 KiB",
        dominant: Some(Category::MemoryBound),
        extension: None,
        memory_words: 256 * KIB,
        batch: BATCH,
        prepare: memory::prepare_chase,
        run: memory::chase,
    },
    Workload {
        name: "chase-dram",
        summary: "one load whose address is the previous load, within 64 MiB",
        dominant: Some(Category::MemoryBound),
        extension: None,
        memory_words: 64 * 1024 * KIB,
        batch: BATCH,
        prepare: memory::prepare_chase,
        run: memory::chase,
    },
    Workload {
        name: "chase-llc",
        summary: "one load whose address is the previous load, within 8 MiB",
        dominant: Some(Category::MemoryBound),
        extension: None,
        memory_words: 8 * 1024 * KIB,
        batch: BATCH,
        prepare: memory::prepare_chase,
        run: memory::chase,
    },
    Workload {
        name: "stream",
        summary: "eight loads, eight additions and eight stores, one cache line further, within 64 MiB",
        dominant: Some(Category::MemoryBound),
        extension: None,
        memory_words: 64 * 1024 * KIB,
        batch: BATCH,
        prepare: memory::prepare_stream,
        run: memory::stream,
    },
    Workload {
        name: "multiply",
        summary: "four dependent floating-point multiplications and additions",
        dominant: Some(Category::CoreBound),
        extension: None,
        memory_words: 0,
        batch: BATCH,
        prepare: prepare_nothing,
        run: float::multiply,
    },
    Workload {
        name: "flops",
        summary: "packed single and double precision in eight independent chains",
        dominant: None,
        extension: None,
        memory_words: 64,
        batch: BATCH,
        prepare: float::prepare_flops,
        run: float::flops,
    },
    Workload {
        name: "indirect",
        summary: "one call through a table of sixteen functions, chosen at random",
        dominant: Some(Category::BranchMispredicts),
        extension: None,
        memory_words: 1,
        batch: BATCH,
        prepare: compute::prepare_random,
        run: control::indirect,
    },
    Workload {
        name: "calls",
        summary: "a recursion 64 calls deep, which is more than a return stack holds",
        dominant: Some(Category::BranchMispredicts),
        extension: None,
        memory_words: 1,
        batch: 200,
        prepare: compute::prepare_random,
        run: control::calls,
    },
    Workload {
        name: "jumps",
        summary: "2,048 calls of small functions, none in the line after the one before",
        dominant: Some(Category::FetchLatency),
        extension: None,
        memory_words: 0,
        batch: 20,
        prepare: prepare_nothing,
        run: code::jumps,
    },
    Workload {
        name: "locks",
        summary: "two locked additions to memory that nothing else uses",
        dominant: Some(Category::MemoryBound),
        extension: None,
        memory_words: 0,
        batch: BATCH,
        prepare: prepare_nothing,
        run: memory::locks,
    },
    Workload {
        name: "random",
        summary: "the C library's random() in a process with one thread: a lock without LOCK prefix",
        // A chain of 14 to 16 cycles through the lock, for some 56 slots: of which there is more depends on the width.
        dominant: None,
        extension: None,
        memory_words: random::MEMORY_WORDS,
        batch: BATCH,
        prepare: random::prepare,
        run: random::single_thread,
    },
    Workload {
        name: "random-locked",
        summary: "the C library's random() with a lock that is always atomic",
        // TMA has the latency of locks below memory bound, but only cycles in which nothing executes. Meanwhile the
        // next call does: which of both is more depends on the core, and on where code lies.
        dominant: None,
        extension: None,
        memory_words: random::MEMORY_WORDS,
        batch: BATCH,
        prepare: random::prepare,
        run: random::locked,
    },
    Workload {
        name: "mixed",
        summary: "an arithmetic step, a random branch and a dependent load within 256 KiB",
        dominant: None,
        extension: None,
        memory_words: 256 * KIB,
        batch: BATCH,
        prepare: memory::prepare_mixed,
        run: memory::mixed,
    },
    #[cfg(target_arch = "x86_64")]
    Workload {
        name: "flops-avx2",
        summary: "four fused multiplications and additions of YMM registers in each of six chains",
        dominant: Some(Category::CoreBound),
        extension: Some(Extension::Avx2),
        memory_words: 0,
        batch: BATCH,
        prepare: prepare_nothing,
        run: vector::flops_avx2,
    },
    #[cfg(target_arch = "x86_64")]
    Workload {
        name: "flops-avx512",
        summary: "four fused multiplications and additions of ZMM registers in each of six chains",
        dominant: Some(Category::CoreBound),
        extension: Some(Extension::Avx512),
        memory_words: 0,
        batch: BATCH,
        prepare: prepare_nothing,
        run: vector::flops_avx512,
    },
    #[cfg(target_arch = "x86_64")]
    Workload {
        name: "copy-erms",
        summary: "a kibibyte copied by REP MOVSB, within 8 MiB",
        dominant: Some(Category::MemoryBound),
        extension: Some(Extension::Erms),
        memory_words: 8 * 1024 * KIB,
        batch: 200,
        prepare: vector::prepare_copy,
        run: vector::copy_erms,
    },
    #[cfg(target_arch = "x86_64")]
    Workload {
        name: "copy-avx",
        summary: "a kibibyte copied by YMM registers, within 8 MiB",
        dominant: Some(Category::MemoryBound),
        extension: Some(Extension::Avx2),
        memory_words: 8 * 1024 * KIB,
        batch: 200,
        prepare: vector::prepare_copy,
        run: vector::copy_avx,
    },
    #[cfg(target_arch = "x86_64")]
    Workload {
        name: "copy-evex",
        summary: "a kibibyte copied by YMM16 to YMM19, within 8 MiB",
        dominant: Some(Category::MemoryBound),
        extension: Some(Extension::Avx512),
        memory_words: 8 * 1024 * KIB,
        batch: 200,
        prepare: vector::prepare_copy,
        run: vector::copy_evex,
    },
];

/// The workload called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Workload> {
    ALL.iter().find(|workload| workload.name == name)
}

/// Runs the workload called `name` on this memory; false if there is none, the memory is too small for it, or the CPU
/// lacks what it needs.
pub fn run(name: &str, memory: &mut [u64], iterations: u64) -> bool {
    let prepared = find(name).and_then(|workload| workload.prepare(memory));
    let found = prepared.is_some();
    if let Some(mut prepared) = prepared {
        core::hint::black_box(prepared.run(iterations));
    }
    found
}

#[cfg(test)]
mod tests;
