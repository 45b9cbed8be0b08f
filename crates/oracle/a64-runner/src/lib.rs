//! What the A64 oracle and its program under `qemu-aarch64` tell each other: the memory of a case, and the words on
//! the pipes between the two.
//!
//! | address | pages | a case may |
//! | --- | --- | --- |
//! | [`CODE`] | 2 | read, execute |
//! | [`CONSTANTS`] | 1 | read |
//! | [`DATA`] | 2 | read, write |
//! | behind that | 1 | nothing: there is no page |
//! | [`CLOSED`] | 1 | nothing |
//! | [`STACK`] | 1 | read, write |
//!
//! The oracle writes the [`IMAGES`] of constants, data and stack, then batches: the number of cases as a `u64`, and
//! a [`Request`] for each. The answer is a [`Reply`] for each, behind which are its [`Changed`] words.

#![no_std]
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of a page.
pub const PAGE: u64 = 0x1000;
/// First byte of the code. Its address does not fit into 32 bits, so that a truncated one shows.
pub const CODE: u64 = 0x12_3401_0000;
/// Bytes of code; what is not a case's is BRK.
pub const CODE_LEN: u64 = 2 * PAGE;
/// First byte of the constants; within reach of ADR and LDR (literal) from the code.
pub const CONSTANTS: u64 = 0x12_3402_0000;
/// First byte of the data.
pub const DATA: u64 = CONSTANTS + PAGE;
/// Bytes of data.
pub const DATA_LEN: u64 = 2 * PAGE;
/// A page that is mapped without any permission.
pub const CLOSED: u64 = CONSTANTS + 4 * PAGE;
/// First byte of the stack.
pub const STACK: u64 = CONSTANTS + 5 * PAGE;

/// Bytes of an image: from the first constant to the end of the stack.
pub const IMAGE_LEN: usize = 6 * PAGE as usize;
/// Different images.
pub const IMAGES: usize = 64;
/// Instructions of a case at most.
pub const MAX_WORDS: usize = 32;
/// Cases of a batch at most.
pub const MAX_BATCH: usize = 32;
/// What fills the code pages: BRK #0.
pub const BRK: u32 = 0xD420_0000;

/// The state of user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct State {
    /// X0 to X30.
    pub x: [u64; 31],
    /// SP.
    pub sp: u64,
    /// The address of the next instruction.
    pub pc: u64,
    /// NZCV, in bits 31:28.
    pub nzcv: u64,
    /// TPIDR_EL0.
    pub tpidr: u64,
    /// FPSR.
    pub fpsr: u32,
    /// FPCR.
    pub fpcr: u32,
    /// V0 to V31, lower halves first.
    pub v: [[u64; 2]; 32],
}

/// A case.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Request {
    /// The state to start in.
    pub state: State,
    /// Number of the image in data and stack; the constants are always those of image 0.
    pub image: u32,
    /// Instructions in `code`, at most [`MAX_WORDS`], and none beyond the code pages.
    pub words: u32,
    /// From `state.pc` on.
    pub code: [u32; MAX_WORDS],
}

/// What became of it.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Reply {
    /// The state at the signal.
    pub state: State,
    /// `si_addr`.
    pub address: u64,
    /// Number of the signal.
    pub signal: u32,
    /// `si_code`.
    pub code: u32,
    /// Words of memory that follow.
    pub changed: u64,
}

/// An aligned word of data or stack that is not as in the image.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Changed {
    /// Its place in the image, in bytes.
    pub offset: u64,
    /// What it holds.
    pub value: u64,
}
