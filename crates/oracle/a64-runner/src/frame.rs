//! The frame of a signal on AArch64 Linux (arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h).

use a64_runner::State;
use zerocopy::FromZeros;

/// The head of a `siginfo_t`.
#[repr(C)]
pub(crate) struct SignalInfo {
    signal: i32,
    error: i32,
    pub(crate) code: i32,
    /// Fields of other signals begin at a multiple of 8.
    padding: i32,
    /// `si_addr` of faults.
    pub(crate) address: u64,
}

/// A `ucontext_t`, with the record of FP registers that always comes first in its reserved space.
#[repr(C)]
pub(crate) struct Frame {
    flags: u64,
    link: u64,
    stack: [u64; 3],
    /// `sigset_t`, and room for a larger one.
    mask: [u64; 16],
    padding: u64,
    /// Of faults.
    address: u64,
    x: [u64; 31],
    sp: u64,
    pc: u64,
    pstate: u64,
    padding_of_records: u64,
    /// `FPSIMD_MAGIC`, and the bytes of this record.
    head: [u32; 2],
    fpsr: u32,
    fpcr: u32,
    v: [[u64; 2]; 32],
}

const _: () = assert!(core::mem::offset_of!(Frame, address) == 176);
const _: () = assert!(core::mem::offset_of!(Frame, head) == 464);

/// N, Z, C and V.
const NZCV: u64 = 0xF << 28;

impl Frame {
    pub(crate) fn get(&self) -> State {
        let mut state = State::new_zeroed();
        (state.x, state.sp, state.pc, state.nzcv) = (self.x, self.sp, self.pc, self.pstate & NZCV);
        (state.fpsr, state.fpcr, state.v) = (self.fpsr, self.fpcr, self.v);
        state
    }

    pub(crate) fn set(&mut self, state: &State) {
        (self.x, self.sp, self.pc) = (state.x, state.sp, state.pc);
        self.pstate = self.pstate & !NZCV | state.nzcv & NZCV;
        (self.fpsr, self.fpcr, self.v) = (state.fpsr, state.fpcr, state.v);
    }
}
