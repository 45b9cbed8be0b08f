//! Hot blocks as code of the host: what a compiler of blocks needs of the CPU.
//!
//! The compiler is the embedder's. It executes whole blocks, one behind the other, up to the next instruction that it
//! leaves to the interpreter: then nothing of that instruction has happened, and everything before it in its block
//! has. Compiled code does not look at events, and at the budget only where the longest blocks might not fit what is
//! left of it. It notes each block in the [`Notes`], from which everything is counted.

pub use crate::account::trail::Notes;

use crate::account::totals;
use crate::account::trail;
use crate::block::Position;
use crate::decode::MAX_INSNS;
use crate::features::Features;
use core::fmt::Debug;
use iced_x86::Instruction;
use retire::BranchKind;

/// A block of 64-bit code that is to be compiled. It is executed at this address only.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its address.
    pub rip: u64,
    /// The instructions; a branch can only be the last one.
    pub bytes: &'a [u8],
    /// How [`Exit::Inside`] names it.
    pub block: u32,
    /// What to note beside the address each time that it has been executed.
    pub end: u64,
    /// What the guest's CPU has: other instructions are not what their encodings say.
    pub features: Features,
}

impl Source<'_> {
    /// How many there are.
    #[must_use]
    pub fn instructions(&self) -> u8 {
        let bytes = self.end.to_le_bytes();
        bytes[core::mem::offset_of!(Position, index)]
    }
}

/// What compiled code works on.
#[derive(Debug)]
#[repr(C)]
pub struct Frame<'a> {
    /// The general-purpose registers, then others that compiled code does not touch.
    pub registers: &'a mut [u64; 256],
    /// Translations that are allowed at the current privilege level: a power of two. The page number of a linear
    /// address, modulo how many there are, says which may be of it.
    pub tlb: &'a [soft_base::Entry],
    /// Addresses and ends of the blocks executed.
    pub notes: &'a mut Notes,
    /// Linear bases by segment number.
    pub bases: &'a [u64; 8],
    /// Where the next note goes, at first and then.
    pub next: usize,
    /// Where it must not go any more: behind the first place, and at most at `room`.
    pub limit: usize,
    /// The end of the notes that may be used. Code that comes to the limit before it may go on with blocks that fit
    /// what the noted ones have left of the budget.
    pub room: usize,
    /// The budget: instructions that may be executed.
    pub left: u64,
    /// The arithmetic flags of RFLAGS, at first and then.
    pub flags: u64,
    /// Address of the first block, and then of the block that is next or that was left.
    pub rip: u64,
    /// What was known of addresses of code with another number no longer holds.
    pub epoch: u64,
    /// Branches executed, by [`place`].
    pub branches: [u64; 8],
    /// Floating-point operations, as [`operations`] counts them.
    pub operations: [u64; OPERATIONS],
    /// ZMM0, with the 31 others behind it, each [`VECTOR`] bytes from the one before.
    pub vectors: *mut u8,
    /// MXCSR, at first and then.
    pub mxcsr: u32,
    /// k0 to k7.
    pub masks: &'a mut [u64; 8],
    /// SSE instructions raise neither #UD nor #NM.
    pub sse: bool,
    /// Neither do VEX-encoded vector instructions.
    pub avx: bool,
    /// Neither do those on 512 bits, registers from 16 on or masks.
    pub avx512: bool,
}

/// Kinds of floating-point operations and instructions that are counted.
pub const OPERATIONS: usize = totals::OPERATIONS;

/// What an instruction adds to [`Frame::operations`].
#[must_use]
pub fn operations(instruction: &Instruction) -> [u8; OPERATIONS] {
    let mut all = [0; OPERATIONS];
    if let Some(arithmetic) = crate::describe::arithmetic(instruction) {
        let (flops, counts) = all.split_at_mut(arithmetic.operations.len());
        flops.copy_from_slice(&arithmetic.operations);
        if let Some(count) = counts.get_mut(totals::Arithmetic::described(&arithmetic) as usize) {
            *count = arithmetic.count;
        }
    }
    all
}

/// Notes that there are at most.
pub const NOTES: usize = trail::NOTES;

/// Instructions of the longest blocks.
pub const LONGEST: usize = MAX_INSNS;

/// Bytes from one vector register to the next.
pub const VECTOR: usize = 64;

/// Where branches of a kind are counted in [`Frame::branches`]; only conditional ones may not be taken.
#[must_use]
pub const fn place(kind: BranchKind, taken: bool) -> usize {
    totals::place(kind, taken)
}

/// What a [`Compiler`] knows a block by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

/// Why a block was not compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCompiled {
    /// Nothing would be gained.
    Unsuitable,
    /// There is no room: [`Compiler::clear`] makes some.
    Full,
}

/// How compiled code was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Before a block.
    Between,
    /// Before an instruction of a block, which is left to the interpreter.
    Inside {
        /// [`Source::block`].
        block: u32,
        /// How many instructions of the block have been executed.
        instruction: u32,
        /// Where code goes on in the block, if it does.
        resume: Option<Resume>,
    },
}

/// A place in compiled code behind instructions that are the interpreter's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// What the compiler knows it by.
    pub at: u32,
    /// Number of the instruction in its block: those before it have to be executed.
    pub instruction: u32,
}

/// Where compiled code is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// At the first instruction of a block.
    Block(Code),
    /// In the block that code has just been left in, as [`Exit::Inside`] said.
    Inside(Resume),
}

/// Makes code of blocks, and executes it.
pub trait Compiler: Debug + Send {
    /// Executions after which a block is compiled.
    fn threshold(&self) -> u32;

    /// Compiles a block.
    ///
    /// # Errors
    /// It is left to the interpreter.
    fn compile(&mut self, source: &Source<'_>) -> Result<Code, NotCompiled>;

    /// Executes a block that is at [`Frame::rip`], or the rest of it, and those behind it.
    fn run(&mut self, entry: Entry, frame: &mut Frame<'_>) -> Exit;

    /// Forgets all code.
    fn clear(&mut self);
}

/// What has become of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compiled {
    pub(crate) code: Option<Code>,
    /// The address that it was compiled for.
    pub(crate) rip: u64,
    /// Times that it was entered for little.
    pub(crate) futile: u8,
}
