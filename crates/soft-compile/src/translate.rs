//! One block of guest code becomes one piece of host code.

use crate::emit::{Emitter, Label};
use crate::frame::{BETWEEN, BLOCK, DETAIL, LIMIT, NOTE, RIP, T0, home, local, part, spilled};
use crate::live;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Register};
use soft_cpu::compiled::Source;

/// What is written of a block, and what is known where it has come to.
pub(crate) struct Translation<'a> {
    pub(crate) e: Emitter,
    pub(crate) source: &'a Source<'a>,
    /// Address of the code that goes out.
    pub(crate) exit: u64,
    /// The host's flags are the guest's.
    pub(crate) in_host: bool,
    /// AX has them.
    pub(crate) in_ax: bool,
    /// The flags that matter behind this instruction.
    pub(crate) live: u32,
    /// Number of this instruction.
    pub(crate) index: u32,
    /// Where it goes if this instruction is left to the interpreter.
    slow: Option<Label>,
    /// Those of all instructions.
    all_slow: Vec<(Label, u32)>,
    /// First code.
    head: Label,
    /// Links by number, with the address that they lead to.
    pub(crate) links: Vec<Link>,
    /// Number of the next link.
    pub(crate) next_link: u32,
    /// Address of a link's words.
    pub(crate) link_words: u64,
    /// Address of the table of blocks by address.
    pub(crate) table: u64,
}

/// A way out of a block to a known address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) unknown: Label,
    pub(crate) number: u32,
    pub(crate) target: u64,
}

/// Not compiled: the interpreter does it.
#[derive(Debug)]
pub(crate) struct Left;
pub(crate) type Done = Result<(), Left>;

impl<'a> Translation<'a> {
    pub(crate) fn new(
        source: &'a Source<'a>,
        start: u64,
        exit: u64,
        next_link: u32,
        link_words: u64,
        table: u64,
    ) -> Self {
        let mut e = Emitter::new(start);
        let head = e.label();
        Self {
            e,
            source,
            exit,
            in_host: false,
            in_ax: true,
            live: 0,
            index: 0,
            slow: None,
            all_slow: Vec::new(),
            head,
            links: Vec::new(),
            next_link,
            link_words,
            table,
        }
    }

    /// The code, and the number of the next link. None if nothing is gained.
    pub(crate) fn translate(mut self) -> Option<(Vec<u8>, u32)> {
        let mut decoder = Decoder::with_ip(64, self.source.bytes, self.source.rip, DecoderOptions::NONE);
        let mut instructions = Vec::new();
        while decoder.can_decode() {
            instructions.push(decoder.decode());
        }
        let live = live::behind(&instructions);
        let full = self.e.label();
        self.e.place(self.head);
        self.e.rm(Code::Cmp_r64_rm64, NOTE, local(LIMIT));
        self.e.jump_if(3, full);
        let mut ended = false;
        for (index, (instruction, live)) in instructions.iter().zip(live).enumerate() {
            self.index = u32::try_from(index).ok()?;
            self.live = live;
            self.slow = None;
            let (mark, in_host, in_ax) = (self.e.mark(), self.in_host, self.in_ax);
            let last = index + 1 == instructions.len();
            let done = if last && is_branch(instruction) {
                ended = true;
                self.branch(instruction)
            } else {
                self.instruction(instruction)
            };
            if done.is_err() {
                if index == 0 {
                    return None;
                }
                self.e.back_to(mark);
                (self.in_host, self.in_ax) = (in_host, in_ax);
                self.slow = None;
                ended = true;
                self.save_flags();
                let slow = self.slow();
                self.e.jump(slow);
                self.all_slow.push((slow, self.index));
                break;
            }
            if let Some(slow) = self.slow {
                self.all_slow.push((slow, self.index));
            }
        }
        if !ended {
            self.save_flags();
            self.note();
            let next = self.source.rip.wrapping_add(self.source.bytes.len() as u64);
            self.link(next);
        }
        self.leave(full);
        let next_link = self.next_link;
        Some((self.e.finish()?, next_link))
    }

    /// The ways out.
    fn leave(&mut self, full: Label) {
        let (id, rip) = (self.source.block.cast_signed(), self.source.rip);
        let inside = self.e.label();
        for (label, index) in std::mem::take(&mut self.all_slow) {
            self.e.place(label);
            self.e.mi(Code::Mov_rm32_imm32, local(DETAIL), index.cast_signed());
            self.e.jump(inside);
        }
        let out = self.e.label();
        self.e.place(inside);
        self.e.store_constant(local(RIP), rip, T0);
        self.e.mi(Code::Mov_rm32_imm32, local(BLOCK), id);
        self.e.place(out);
        self.far_jump(self.exit);
        let between = self.e.label();
        for Link { unknown, number, target } in std::mem::take(&mut self.links) {
            self.e.place(unknown);
            self.e.store_constant(local(RIP), target, T0);
            self.e.mi(Code::Mov_rm32_imm32, local(DETAIL), number.cast_signed());
            self.e.jump(between);
        }
        self.e.place(full);
        self.e.store_constant(local(RIP), rip, T0);
        self.e.mi(Code::Mov_rm32_imm32, local(DETAIL), BETWEEN.cast_signed());
        self.e.place(between);
        self.e.mi(Code::Mov_rm32_imm32, local(BLOCK), BETWEEN.cast_signed());
        self.e.jump(out);
    }

    fn far_jump(&mut self, address: u64) {
        self.e.any(&Instruction::with_branch(Code::Jmp_rel32_64, address).unwrap_or_default());
    }

    /// Where this instruction goes to be interpreted.
    pub(crate) fn slow(&mut self) -> Label {
        match self.slow {
            Some(label) => label,
            None => {
                let label = self.e.label();
                self.slow = Some(label);
                label
            }
        }
    }

    /// First code of the block.
    pub(crate) fn head(&self) -> Label {
        self.head
    }
}

fn is_branch(instruction: &Instruction) -> bool {
    use iced_x86::FlowControl as F;
    matches!(
        instruction.flow_control(),
        F::ConditionalBranch
            | F::UnconditionalBranch
            | F::IndirectBranch
            | F::Call
            | F::IndirectCall
            | F::Return
    )
}

// Flags.
impl Translation<'_> {
    /// AX has the flags; what the host has stays.
    pub(crate) fn save_flags(&mut self) {
        if !self.in_ax {
            self.e.bare(Code::Lahf);
            self.e.r(Code::Seto_rm8, Register::AL);
            self.in_ax = true;
        }
    }

    /// The host's flags are the guest's.
    pub(crate) fn restore_flags(&mut self) {
        if !self.in_host {
            // Overflows if AL is 1.
            self.e.ri(Code::Add_rm8_imm8, Register::AL, 0x7F);
            self.e.bare(Code::Sahf);
            self.in_host = true;
            self.in_ax = false;
        }
    }

    /// AX has the flags, and what comes changes the host's.
    pub(crate) fn free_flags(&mut self) {
        self.save_flags();
        self.in_host = false;
    }

    /// The host has just made the flags.
    pub(crate) fn host_made_flags(&mut self) {
        self.in_host = true;
        self.in_ax = false;
    }

    /// AX has just got them.
    pub(crate) fn ax_has_flags(&mut self) {
        self.in_host = false;
        self.in_ax = true;
    }
}

// Registers.
impl Translation<'_> {
    /// A guest register in a register of the host, its own or that one.
    pub(crate) fn read(&mut self, register: Register, through: Register) -> Register {
        let number = register.full_register().number();
        let bytes = register.size();
        match home(number) {
            Some(home) => part(home, bytes),
            None => {
                self.e.rm(Code::Mov_r64_rm64, through, spilled(number));
                part(through, bytes)
            }
        }
    }

    /// All 64 bits of it.
    pub(crate) fn read_all(&mut self, register: Register, through: Register) -> Register {
        self.read(register.full_register(), through)
    }

    /// A guest register that is written next, and read before if `old`; afterwards [`written`](Self::written).
    pub(crate) fn write(&mut self, register: Register, through: Register, old: bool) -> Register {
        let number = register.full_register().number();
        match home(number) {
            Some(home) => part(home, register.size()),
            None if old || register.size() < 4 => self.read(register, through),
            None => part(through, register.size()),
        }
    }

    pub(crate) fn written(&mut self, register: Register, through: Register) {
        let number = register.full_register().number();
        if home(number).is_none() {
            self.e.mr(Code::Mov_rm64_r64, spilled(number), through);
        }
    }
}

/// AH, CH, DH or BH, which have no place of their own here.
pub(crate) fn is_high_byte(register: Register) -> bool {
    matches!(register, Register::AH | Register::CH | Register::DH | Register::BH)
}
