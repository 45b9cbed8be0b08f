/// What an instruction's encoding says beyond what it does, and what cores treat in ways of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Encoding {
    /// How its address is made, of an access or of LEA.
    pub addressing: Addressing,
    /// What it adds to the stack pointer beside what it does: -8 for PUSH and CALL, 8 for POP and RET.
    pub stack_change: i8,
    /// Reads the stack pointer as an operand, or as a part of an address that it names.
    pub stack_pointer: bool,
    /// It has a constant of 64 bits, or an immediate and a displacement of 32.
    pub wide: bool,
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
