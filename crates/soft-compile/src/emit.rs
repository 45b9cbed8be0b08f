//! A piece of host code while it is written: iced's encoder, and jumps within the piece.

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

/// A place that jumps lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// Not placed yet.
const NOWHERE: usize = usize::MAX;

pub(crate) struct Emitter {
    encoder: Encoder,
    /// Address of the first byte.
    start: u64,
    len: usize,
    labels: Vec<usize>,
    /// Where distances of 32 bits go that lead to a label.
    jumps: Vec<(usize, Label)>,
    failed: bool,
}

/// How far a piece has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    len: usize,
    labels: usize,
    jumps: usize,
}

impl Mark {
    /// Bytes.
    pub(crate) fn len(&self) -> u32 {
        self.len as u32
    }
}

impl Emitter {
    pub(crate) fn new(start: u64) -> Self {
        let encoder = Encoder::new(64);
        Self { encoder, start, len: 0, labels: Vec::new(), jumps: Vec::new(), failed: false }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { len: self.len, labels: self.labels.len(), jumps: self.jumps.len() }
    }

    /// Takes back what has been written since.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        let mut bytes = self.encoder.take_buffer();
        bytes.truncate(mark.len);
        self.encoder.set_buffer(bytes);
        self.len = mark.len;
        self.labels.truncate(mark.labels);
        self.jumps.truncate(mark.jumps);
    }

    /// The bytes. None if anything could not be encoded.
    pub(crate) fn finish(mut self) -> Option<Vec<u8>> {
        let mut bytes = self.encoder.take_buffer();
        for (at, Label(label)) in self.jumps {
            let target = i64::try_from(*self.labels.get(label)?).ok()?;
            let distance = i32::try_from(target - i64::try_from(at).ok()? - 4).ok()?;
            bytes.get_mut(at..at + 4)?.copy_from_slice(&distance.to_le_bytes());
        }
        (!self.failed).then_some(bytes)
    }

    /// Address of the next byte.
    pub(crate) fn here(&self) -> u64 {
        self.start + self.len as u64
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(NOWHERE);
        Label(self.labels.len() - 1)
    }

    pub(crate) fn place(&mut self, label: Label) {
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = self.len;
        }
    }

    fn byte(&mut self, byte: u8) {
        self.encoder.write_u8(byte);
        self.len += 1;
    }

    fn distance(&mut self, label: Label) {
        self.jumps.push((self.len, label));
        (0..4).for_each(|_| self.byte(0));
    }

    pub(crate) fn jump(&mut self, label: Label) {
        self.byte(0xE9);
        self.distance(label);
    }

    /// A conditional jump, by the number that instructions have of the condition.
    pub(crate) fn jump_if(&mut self, condition: u8, label: Label) {
        self.byte(0x0F);
        self.byte(0x80 | condition & 0xF);
        self.distance(label);
    }

    pub(crate) fn any(&mut self, instruction: &Instruction) {
        match self.encoder.encode(instruction, self.here()) {
            Ok(len) => self.len += len,
            Err(_) => self.failed = true,
        }
    }

    fn made(&mut self, instruction: Result<Instruction, IcedError>) {
        // What is no instruction does not encode.
        self.any(&instruction.unwrap_or_default());
    }

    pub(crate) fn bare(&mut self, code: Code) {
        self.any(&Instruction::with(code));
    }
    pub(crate) fn r(&mut self, code: Code, a: Register) {
        self.made(Instruction::with1(code, a));
    }
    pub(crate) fn m(&mut self, code: Code, a: MemoryOperand) {
        self.made(Instruction::with1(code, a));
    }
    pub(crate) fn rr(&mut self, code: Code, a: Register, b: Register) {
        self.made(Instruction::with2(code, a, b));
    }
    pub(crate) fn rrm(&mut self, code: Code, a: Register, b: Register, c: MemoryOperand) {
        self.made(Instruction::with3(code, a, b, c));
    }
    pub(crate) fn rm(&mut self, code: Code, a: Register, b: MemoryOperand) {
        self.made(Instruction::with2(code, a, b));
    }
    pub(crate) fn mr(&mut self, code: Code, a: MemoryOperand, b: Register) {
        self.made(Instruction::with2(code, a, b));
    }
    pub(crate) fn ri(&mut self, code: Code, a: Register, b: i32) {
        self.made(Instruction::with2(code, a, b));
    }
    pub(crate) fn mi(&mut self, code: Code, a: MemoryOperand, b: i32) {
        self.made(Instruction::with2(code, a, b));
    }

    /// A 64-bit register becomes a constant. Flags stay.
    pub(crate) fn constant(&mut self, to: Register, value: u64) {
        if let Ok(value) = u32::try_from(value) {
            self.made(Instruction::with2(Code::Mov_r32_imm32, to.full_register32(), value));
        } else if let Ok(value) = i32::try_from(value.cast_signed()) {
            self.ri(Code::Mov_rm64_imm32, to, value);
        } else {
            self.made(Instruction::with2(Code::Mov_r64_imm64, to, value));
        }
    }

    /// A word of 64 bits in memory becomes a constant, through a register. Flags stay.
    pub(crate) fn store_constant(&mut self, at: MemoryOperand, value: u64, through: Register) {
        if let Ok(value) = i32::try_from(value.cast_signed()) {
            self.mi(Code::Mov_rm64_imm32, at, value);
        } else {
            self.constant(through, value);
            self.mr(Code::Mov_rm64_r64, at, through);
        }
    }
}
