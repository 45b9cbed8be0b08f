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
#![forbid(unsafe_code)]

mod code;
mod compute;
mod memory;

use core::fmt;

/// Where a top-down analysis should see most slots. Backend bound is split into its two level-2 parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// Slots that retired micro-operations.
    Retiring,
    /// Slots lost to mispredicted branches.
    BadSpeculation,
    /// Slots without micro-operations, because fetch or decode did not deliver.
    FrontendBound,
    /// Slots lost waiting for execution units or long latencies.
    CoreBound,
    /// Slots lost waiting for loads.
    MemoryBound,
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Retiring => "retiring",
            Self::BadSpeculation => "bad speculation",
            Self::FrontendBound => "frontend bound",
            Self::CoreBound => "core bound",
            Self::MemoryBound => "memory bound",
        })
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
    /// Memory that it works on, in words of 8 bytes.
    pub memory_words: usize,
    prepare: fn(&mut [u64]),
    run: fn(&mut [u64], u64) -> u64,
}

impl Workload {
    /// Fills the first [`memory_words`](Self::memory_words) of `memory`. `None` if it is shorter.
    #[must_use]
    pub fn prepare<'a>(&self, memory: &'a mut [u64]) -> Option<Prepared<'a>> {
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
    /// Runs `iterations` and returns a checksum of what was computed. Equal iterations give equal
    /// checksums, also when run again.
    pub fn run(&mut self, iterations: u64) -> u64 {
        (self.run)(self.memory, iterations)
    }
}

fn prepare_nothing(_: &mut [u64]) {}

const KIB: usize = 1024 / size_of::<u64>();

/// All workloads.
pub const ALL: &[Workload] = &[
    Workload {
        name: "alu",
        summary: "six independent chains of two additions, subtractions or exclusive ors",
        dominant: Some(Category::Retiring),
        memory_words: 0,
        prepare: prepare_nothing,
        run: compute::alu,
    },
    Workload {
        name: "divide",
        summary: "one 64-bit division whose divisor is the previous quotient",
        dominant: Some(Category::CoreBound),
        memory_words: 0,
        prepare: prepare_nothing,
        run: compute::divide,
    },
    Workload {
        name: "branches",
        summary: "two conditional branches on random bits",
        dominant: Some(Category::BadSpeculation),
        memory_words: 0,
        prepare: prepare_nothing,
        run: compute::branches,
    },
    Workload {
        name: "code",
        summary: "one pass through 128 KiB of straight code with long instructions",
        dominant: Some(Category::FrontendBound),
        memory_words: 0,
        prepare: prepare_nothing,
        run: code::run,
    },
    Workload {
        name: "chase-l1",
        summary: "one load whose address is the previous load, within 16 KiB",
        dominant: Some(Category::MemoryBound),
        memory_words: 16 * KIB,
        prepare: memory::prepare_chase,
        run: memory::chase,
    },
    Workload {
        name: "chase-l2",
        summary: "one load whose address is the previous load, within 256 KiB",
        dominant: Some(Category::MemoryBound),
        memory_words: 256 * KIB,
        prepare: memory::prepare_chase,
        run: memory::chase,
    },
    Workload {
        name: "chase-dram",
        summary: "one load whose address is the previous load, within 64 MiB",
        dominant: Some(Category::MemoryBound),
        memory_words: 64 * 1024 * KIB,
        prepare: memory::prepare_chase,
        run: memory::chase,
    },
    Workload {
        name: "mixed",
        summary: "an arithmetic step, a random branch and a dependent load within 256 KiB",
        dominant: None,
        memory_words: 256 * KIB,
        prepare: memory::prepare_chase,
        run: memory::mixed,
    },
];

/// The workload called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Workload> {
    ALL.iter().find(|workload| workload.name == name)
}

#[cfg(test)]
mod tests;
