//! The instruction that a precise sample is about.

/// An instruction that has retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// Its address (RIP).
    pub rip: u64,
    /// Linear address of its first memory operand, implicit ones included; of gathers none.
    pub data: Option<u64>,
}
