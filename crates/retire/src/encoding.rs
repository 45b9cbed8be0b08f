/// What an instruction's encoding says beyond what it does, and what cores treat in ways of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Encoding {
    /// How its address is made, of an access or of LEA.
    pub addressing: Addressing,
    /// A part of the address is multiplied.
    pub scaled: bool,
    /// What it adds to the stack pointer beside what it does: -8 for PUSH and CALL, 8 for POP and RET.
    pub stack_change: i8,
    /// Reads the stack pointer as an operand, or as a part of an address that it names.
    pub stack_pointer: bool,
    /// Its immediate value is more than a sign-extended one of 32 bits, or of 16 bits if it has an operand in memory.
    pub wide: bool,
    /// Its displacement, be it 0 or of a direct branch, and its immediate value: none, one, or both; an immediate value
    /// of 64 bits counts as two. NOPs have none.
    pub constants: u8,
    /// Where its opcode is, in bytes from its start: behind prefixes and escape bytes. 0 where all are of one length.
    pub opcode: u8,
    /// It has two operands, reads and writes the first, a register, and reads no flags.
    pub two_operands: bool,
    /// The bytes that it works on, 4 or 8, if it is a move between general-purpose registers, or one of the operations
    /// on such a register that cores make one with the move before it: AND, OR, XOR, NOT, a sum or difference
    /// without a carry, or a shift, with a constant or another register; else 0.
    pub joined_move: u8,
    /// Its access to memory is one that renaming can follow on cores that connect loads with stores there: no index, no
    /// 16 bits, no extension of a sign, no register to a destination in memory that it also reads.
    pub plain_access: bool,
    /// Its access to memory is of 4 or 8 bytes, and a load that is moved as it is, on a condition or not, a store, or
    /// an operation in place.
    pub whole_access: bool,
    /// It is no load that extends a shorter value with zeros, or in another order.
    pub operand_access: bool,
    /// The same for accesses whose address is made of the same registers, factor and displacement; one in 256
    /// others has it too.
    pub expression: u8,
    /// What kind of operation it is on general-purpose registers, where cores make something of it.
    pub operation: Operation,
    /// A general-purpose register is an operand by its bits 8 to 15 alone: x86's AH, BH, CH and DH.
    pub high_byte: bool,
    /// What it does to the upper bits of vector registers.
    pub upper_bits: UpperBits,
}

/// Kinds of operations on general-purpose registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Operation {
    /// None of the others.
    #[default]
    Other,
    /// Logic, which makes flags: x86's AND, OR, XOR, TEST, ANDN, BLSR.
    Logic,
    /// It has one of two values by a condition that no more than one flag, or the sign and overflow flags, decide:
    /// x86's CMOVcc and SETcc without A and BE.
    Select,
    /// A shift or rotation that is no more than that.
    Shift,
}

/// What an instruction does to those bits of vector registers that older instructions of the same registers do not
/// name: bits 128 and above of x86's registers 0 to 15, which legacy SSE instructions keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpperBits {
    /// Nothing, or makes those of single registers 0.
    #[default]
    None,
    /// Keeps those of the register with this number, less than [`REGISTERS`](crate::REGISTERS), of which it writes the
    /// lower ones.
    Kept(u8),
    /// Writes some of them.
    Written,
    /// Makes all of them 0: VZEROUPPER and VZEROALL.
    Cleared,
}

/// Parts of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addressing {
    /// None, or nothing but a register that the instruction has without naming it.
    #[default]
    None,
    /// A register and a displacement from 0 to 2047.
    Near,
    /// A register and any other displacement, or a displacement alone.
    Far,
    /// An index, with or without one other part.
    Index,
    /// An index, a register and a displacement.
    All,
}
