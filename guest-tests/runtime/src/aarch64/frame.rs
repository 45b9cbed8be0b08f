//! Registers of interrupted code.

/// The interrupted code's registers; a handler may change them. Layout: the firmware's `vectors.S`.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Frame {
    /// X0 to X30.
    pub x: [u64; 31],
    /// SP_EL0. The stack pointer of EL1 is just above the frame.
    pub sp_el0: u64,
    /// ELR_EL1: where it goes on.
    pub pc: u64,
    /// SPSR_EL1.
    pub pstate: u64,
    /// ESR_EL1, if the exception is synchronous.
    pub syndrome: u64,
    /// FAR_EL1, if it is an abort.
    pub address: u64,
    /// Number of the vector (offset / 80H); for an interrupt its INTID while a handler runs.
    pub vector: u64,
    reserved: u64,
}

const _: () = assert!(size_of::<Frame>() == 304);

impl Frame {
    /// Exception level of the interrupted code.
    #[must_use]
    pub fn level(&self) -> u8 {
        (self.pstate >> 2 & 3) as u8
    }
}
