//! A case, and what comes out of it.

use crate::changes::Memory;
use crate::layout::{CODE, RING0_STACK, has_error_code};
use crate::machine::{Machine, Zmm};

/// Instructions and the state in which they start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Machine code. INT3s follow.
    pub code: Vec<u8>,
    /// Where it is in the code pages, in bytes from [`CODE`].
    pub offset: u16,
    /// Seed of [`Start`](crate::start::Start).
    pub seed: u64,
    /// Which registers it can use.
    pub machine: Machine,
}

impl Case {
    /// Address of the first instruction.
    #[must_use]
    pub fn rip(&self) -> u64 {
        CODE + u64::from(self.offset)
    }
}

/// Why a side has no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It does not end.
    #[error("does not end")]
    Endless,
    /// An exception could not be delivered.
    #[error("triple fault")]
    Shutdown,
    /// KVM refused.
    #[error("KVM: {0}")]
    Kvm(String),
}

/// The state at the exception that ended the case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Vector of the exception; 3 at the regular end.
    pub vector: u8,
    /// Error code, or 0.
    pub error: u64,
    /// CR2 after #PF, otherwise 0.
    pub cr2: u64,
    /// RIP that the exception pushed.
    pub rip: u64,
    /// RFLAGS that the exception pushed, without RF.
    pub rflags: u64,
    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15.
    pub gpr: [u64; 16],
    /// ZMM0 to ZMM31.
    pub zmm: [Zmm; 32],
    /// k0 to k7.
    pub k: [u64; 8],
    /// MXCSR.
    pub mxcsr: u32,
    /// x87 control word.
    pub fcw: u16,
    /// x87 status word.
    pub fsw: u16,
    /// Abridged x87 tag word.
    pub ftw: u8,
    /// ST0 to ST7, 80 bits each.
    pub st: [u128; 8],
    /// What has changed in the scratch pages.
    pub memory: Memory,
}

const RF: u64 = 1 << 16;

impl Outcome {
    /// Fills RIP, RFLAGS, RSP and the error code from the frame on the stack of ring 0.
    pub(crate) fn read_frame(&mut self, ram: &[u8]) {
        let word = |n: u64| {
            let at = (RING0_STACK - 8 * n) as usize;
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&ram[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        // SS, RSP, RFLAGS, CS, RIP, error code.
        self.gpr[4] = word(2);
        self.rflags = word(3) & !RF;
        self.rip = word(5);
        self.error = if has_error_code(self.vector) { word(6) } else { 0 };
    }
}
