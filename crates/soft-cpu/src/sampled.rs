//! The instruction that a precise sample is about.

use retire::BranchKind;

/// What a CPU remembers of an instruction that is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// Nothing: none is.
    #[default]
    Off,
    /// Its address; [`Sampled`] has nothing else.
    Address,
    /// Everything, for which it is decoded.
    All,
}

/// An instruction that has retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// Its address (RIP).
    pub rip: u64,
    /// Its linear address.
    pub linear: u64,
    /// Its length in bytes.
    pub length: u8,
    /// Where its first byte is.
    pub physical: Option<Physical>,
    /// What kind of branch it is.
    pub branch: Option<BranchKind>,
    /// Its first memory operand, implicit ones included; of gathers none.
    pub data: Option<SampledData>,
}

/// A physical address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Physical {
    /// The address.
    pub address: u64,
    /// Log2 of the page's size: 12, 21 or 30. Pages of 4 MiB count as one of 2 MiB.
    pub page: u8,
}

/// A memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SampledData {
    /// Linear address.
    pub address: u64,
    /// Where that is.
    pub physical: Option<Physical>,
    /// Bytes; 0 where the instruction does not say, as XSAVE.
    pub bytes: u16,
    /// It is read.
    pub load: bool,
    /// It is written.
    pub store: bool,
    /// With LOCK, or an XCHG that needs none.
    pub locked: bool,
    /// A software prefetch.
    pub prefetch: bool,
}
