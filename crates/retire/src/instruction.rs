use crate::Encoding;

/// Number of an instruction's form: its encoding and the kinds of its operands. The producer numbers the forms of its
/// instruction set; tables of costs have the forms by name, and the producer resolves the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormId(pub u32);

/// Registers as bits: bit n is register n of the producer. Flags and whatever else instructions wait for count as
/// registers.
pub type RegisterSet = u128;

/// Numbers of registers are less than this.
pub const REGISTERS: u32 = 124;

/// How a producer numbers what the instructions of its instruction set name.
#[derive(Debug, Clone, Copy)]
pub struct InstructionSet {
    /// The form with a name that tables of costs use.
    pub form: fn(&str) -> Option<FormId>,
    /// Numbers of registers are less than this, which is [`REGISTERS`] at most.
    pub registers: u32,
    /// The registers that are flags.
    pub flags: RegisterSet,
}

/// An instruction as a model of a core sees it, whatever the instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Its form.
    pub form: FormId,
    /// Where it begins, in bytes from the start of its block.
    pub offset: u16,
    /// Length in bytes.
    pub length: u8,
    /// One of its operands is memory that the encoding names: it has a form without.
    pub memory_operand: bool,
    /// Reads memory.
    pub loads: bool,
    /// Writes memory.
    pub stores: bool,
    /// Its accesses are atomic.
    pub locked: bool,
    /// Has a prefix that changes the length of the rest.
    pub length_changing: bool,
    /// Registers that its addresses are made of.
    pub address: RegisterSet,
    /// Other registers that it reads.
    pub sources: RegisterSet,
    /// Those of all these that may be farther away than the others: the base of the address that LEA computes,
    /// general-purpose registers of an operation on vector registers, and flags that a condition is of.
    pub distant: RegisterSet,
    /// Registers that it writes, but for [`base`](Self::base).
    pub results: RegisterSet,
    /// The register of its address that it writes back, less than [`REGISTERS`]: it does not wait for memory.
    pub base: Option<u8>,
    /// What is special about it.
    pub class: Class,
    /// Whether it can retire as one with a neighbour.
    pub fusion: Fusion,
    /// What renaming may do in place of execution.
    pub renaming: Renaming,
    /// The divider that it needs.
    pub divider: Option<Divider>,
    /// Its floating-point arithmetic.
    pub arithmetic: Option<Arithmetic>,
    /// The registers that it works on.
    pub register_file: RegisterFile,
    /// Where operations on vector registers execute.
    pub domain: Domain,
    /// What else its encoding says.
    pub encoding: Encoding,
}

/// What is special about an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// Nothing.
    #[default]
    Plain,
    /// Does nothing.
    Nop,
    /// Waits in a spin loop: PAUSE.
    Pause,
    /// Jumps or calls to a constant target, perhaps on a condition.
    DirectBranch,
    /// A string instruction that is repeated as often as a register says.
    Repeated {
        /// Compares or loads, an iteration at a time, instead of moving memory.
        compares: bool,
    },
    /// A software prefetch.
    Prefetch(Prefetch),
    /// Flushes a line from all caches: CLFLUSH.
    LineFlush,
}

/// Where a software prefetch brings its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Prefetch {
    /// To the first level, to be used once: PREFETCHNTA.
    NonTemporal,
    /// To the first level: PREFETCHT0.
    First,
    /// To outer levels: PREFETCHT1 and T2.
    Outer,
    /// To the first level, to be written: PREFETCHW.
    Write,
}

/// Part of an instruction in a macro-fused pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fusion {
    /// None.
    #[default]
    None,
    /// First half, before a jump that may depend on these flags.
    First(JumpFlags),
    /// Second half: a conditional jump, which depends on flags.
    Jump {
        /// On the carry flag.
        carry: bool,
        /// On the sign, overflow or parity flag alone.
        sign: bool,
    },
}

/// Flags that the second half of a macro-fused pair may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JumpFlags {
    /// Any: TEST, AND.
    Any,
    /// Not the sign, overflow or parity flag alone: CMP, ADD, SUB.
    NoSign,
    /// Neither these nor the carry flag: INC, DEC.
    NoSignOrCarry,
}

/// Parts of the vector unit, between which results may take longer than within.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Domain {
    /// Either, or none: a load, a store, a move of a whole register.
    #[default]
    None,
    /// Integers, and what moves elements of any kind.
    Integer,
    /// Floating-point numbers.
    Float,
    /// Sums and differences of these.
    Sum,
}

/// What renaming may do in place of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Renaming {
    /// Nothing.
    #[default]
    None,
    /// The result is zero, whatever the sources are.
    Zero,
    /// A move between general-purpose registers.
    Move,
    /// A move of a general-purpose register of 32 or 64 bits to itself.
    OwnMove,
    /// A move between vector registers.
    VectorMove,
    /// The result does not depend on the sources, but it is not zero.
    Independent,
    /// The result depends on a flag alone, and not on the register with this number, which is named as a source.
    Borrow(u8),
    /// The result is a general-purpose register of 64 bits plus a constant from -1024 to 1023.
    Offset,
    /// The low byte of one general-purpose register, extended by zeros, goes to another one.
    Extension,
}

/// Dividers, by how long they are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divider {
    /// Integers up to 32 bits.
    Integer,
    /// Integers of 64 bits.
    WideInteger,
    /// Floating point, singles.
    Single,
    /// Floating point, doubles and larger.
    Double,
    /// Square root of singles.
    RootSingle,
    /// Square root of doubles and larger.
    RootDouble,
}

/// Floating-point arithmetic of an instruction on vector registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arithmetic {
    /// On doubles, else on singles.
    pub double: bool,
    /// On all lanes of a register.
    pub packed: bool,
    /// Bytes of that register; 16 of a scalar operation.
    pub width: u8,
    /// What it adds to a count of arithmetic instructions (Intel's FP_ARITH_INST_RETIRED): 2 for a dot product and for
    /// a multiplication with addition, which do two operations on each element.
    pub count: u8,
    /// Additions and subtractions, multiplications, divisions and square roots, multiplications with addition: each
    /// lane counts for itself, the last twice, sums and products of a dot product one by one. Comparisons, minima,
    /// conversions, roundings and estimates are none.
    pub operations: [u8; 4],
}

/// The registers that an instruction works on, as AMD's event EX_RET_MMX_FP_INSTR tells them apart on x86.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum RegisterFile {
    /// General-purpose or system registers.
    #[default]
    General,
    /// Those of the x87 unit.
    X87,
    /// MMX registers, and EMMS.
    Mmx,
    /// Vector registers, whatever else is an operand: XMM on x86, V on AArch64.
    Vector,
}

impl RegisterFile {
    /// Number of register files.
    pub const COUNT: usize = 4;
}
