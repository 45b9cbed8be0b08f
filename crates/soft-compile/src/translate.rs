//! One block of guest code becomes one piece of host code.

use crate::emit::{Emitter, Label, Mark};
use crate::frame::{
    BETWEEN, BLOCK, CLASSES, DETAIL, FLOATS, GROUPS, LOADED, MOST, NO_FLOATS, NOTE, RESUME, RIP, T0, at,
    group_slot, limit, limit_of, local,
};
use crate::live;
use crate::plan::{Alone, Plan};
use crate::registers::Vectors;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Register};
use soft_cpu::Features;
use soft_cpu::compiled::{OPERATIONS, Source};

/// Where a block's code goes, and what is around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    /// Address of the first byte, and how far it is from where all code begins.
    pub(crate) start: u64,
    pub(crate) offset: u32,
    /// Address of the code that goes out.
    pub(crate) exit: u64,
    /// Addresses of the functions that move limits, by class of block.
    pub(crate) refill: [u64; CLASSES.len()],
    /// Addresses of the functions that load vector registers.
    pub(crate) load_vectors: [u64; 3],
    /// Address of a link's words.
    pub(crate) link_words: u64,
    /// Address of the table of blocks by address.
    pub(crate) table: u64,
    /// What this host's CPU has.
    pub(crate) host: Features,
    /// It is Intel's.
    pub(crate) intel: bool,
}

/// What is written of a block, and what is known where it has come to.
pub(crate) struct Translation<'a> {
    pub(crate) e: Emitter,
    pub(crate) source: &'a Source<'a>,
    pub(crate) around: &'a Surroundings,
    /// The host's flags are the guest's.
    pub(crate) in_host: bool,
    /// AX has them.
    pub(crate) in_ax: bool,
    /// Which vector registers are the guest's.
    pub(crate) vectors: Vectors,
    /// Float instructions of the guest may be executed.
    pub(crate) floats: bool,
    /// Floating-point operations that are not counted yet.
    pub(crate) operations: Operations,
    /// Operands by the same register.
    pub(crate) plan: Plan,
    /// Groups of these that have been looked up: a bit for each.
    pub(crate) groups: u32,
    /// Accesses out of the way.
    pub(crate) alone: Vec<Alone>,
    /// Number of this instruction.
    pub(crate) index: usize,
    /// The flags that matter behind this instruction.
    pub(crate) live: u32,
    /// Where it goes if this instruction is left to the interpreter.
    slow: Option<Label>,
    /// Those of all instructions.
    all_slow: Vec<Slow>,
    /// Calls out of the way: where they are, where they go on.
    pub(crate) loads: Vec<Load>,
    /// First code.
    head: Label,
    /// Links by number, with the address that they lead to.
    pub(crate) links: Vec<Link>,
    /// Number of the next link.
    pub(crate) next_link: u32,
}

/// As [`soft_cpu::compiled::operations`] has them.
type Operations = [u16; OPERATIONS];

/// A way out to the interpreter.
struct Slow {
    label: Label,
    /// What was not counted yet.
    operations: Operations,
    /// Number of the instruction.
    instruction: u32,
    /// Where it goes on.
    resume: Option<Resume>,
}

/// A place where code goes on when the interpreter has executed what is before it.
#[derive(Clone, Copy)]
struct Resume {
    label: Label,
    /// How far it is from where all code begins.
    at: u32,
    /// Instructions of the block that are before it.
    behind: u32,
    /// What code there takes for granted.
    state: Known,
}

/// What code takes for granted.
#[derive(Debug, Clone, Copy)]
struct Known {
    flags: (bool, bool),
    vectors: (Vectors, bool),
    /// Operations that will be counted with those behind.
    operations: Operations,
    groups: u32,
}

impl Known {
    /// Where code is entered: AX has the flags, and nothing else is known.
    const ENTERED: Self = Self {
        flags: (false, true),
        vectors: (Vectors::None, false),
        operations: [0; OPERATIONS],
        groups: 0,
    };
}

/// Where vector registers are loaded.
pub(crate) struct Load {
    pub(crate) call: Label,
    pub(crate) back: Label,
    /// Where it goes if these cannot be had.
    pub(crate) slow: Label,
    pub(crate) wanted: Vectors,
}

/// A way out of a block to a known address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) unknown: Label,
    pub(crate) number: u32,
    pub(crate) target: u64,
}

/// How far a translation has come.
#[derive(Debug, Clone, Copy)]
struct Point {
    mark: Mark,
    state: Known,
    loads: usize,
    alone: usize,
    links: usize,
    next_link: u32,
}

/// Not compiled: the interpreter does it.
#[derive(Debug)]
pub(crate) struct Left;
pub(crate) type Done = Result<(), Left>;

/// Instructions between two that are the interpreter's for which code is not worth to be entered.
const FEW: usize = 8;

/// A block's code, and the number of the next link. None if nothing is gained.
pub(crate) fn translate(
    source: &Source<'_>,
    around: &Surroundings,
    next_link: u32,
) -> Option<(Vec<u8>, u32)> {
    let mut decoder = Decoder::with_ip(64, source.bytes, source.rip, DecoderOptions::NONE);
    let mut instructions = Vec::new();
    while decoder.can_decode() {
        instructions.push(decoder.decode());
    }
    let live = live::behind(&instructions);
    let mut left = vec![false; instructions.len()];
    loop {
        let mut translation = Translation::new(source, around, next_link);
        translation.plan = Plan::new(&instructions);
        translation.block(&instructions, &live, &mut left)?;
        if left.iter().all(|left| *left) {
            return None;
        }
        if !leave_few(&mut left) {
            let next_link = translation.next_link;
            return Some((translation.e.finish()?, next_link));
        }
    }
}

/// Leaves instructions to the interpreter of which there are few between two others of those. True if there are any.
fn leave_few(left: &mut [bool]) -> bool {
    let mut changed = false;
    let mut start = None;
    for end in 0..left.len() {
        if !left[end] {
            continue;
        }
        if let Some(start) = start
            && end - start <= FEW
            && end > start
        {
            left[start..end].fill(true);
            changed = true;
        }
        start = Some(end + 1);
    }
    changed
}

impl<'a> Translation<'a> {
    fn new(source: &'a Source<'a>, around: &'a Surroundings, next_link: u32) -> Self {
        let mut e = Emitter::new(around.start);
        let head = e.label();
        Self {
            e,
            source,
            around,
            in_host: false,
            in_ax: true,
            vectors: Vectors::None,
            floats: false,
            operations: [0; OPERATIONS],
            plan: Plan::default(),
            groups: 0,
            alone: Vec::new(),
            index: 0,
            live: 0,
            slow: None,
            all_slow: Vec::new(),
            loads: Vec::new(),
            head,
            links: Vec::new(),
            next_link,
        }
    }

    /// Writes the code of all instructions but those that are `left`, and notes which others are.
    fn block(&mut self, instructions: &[Instruction], live: &[u32], left: &mut [bool]) -> Option<()> {
        let full = self.e.label();
        self.e.place(self.head);
        let class = limit_of(usize::from(self.source.instructions()));
        self.e.rm(Code::Cmp_r64_rm64, NOTE, limit(class));
        self.e.jump_if(3, full);
        let begin = self.e.label();
        self.e.place(begin);
        let mut ended = false;
        // The first of some instructions that are left, and the way out before it.
        let mut out: Option<(u32, Label, Operations)> = None;
        for (index, (instruction, live)) in instructions.iter().zip(live).enumerate() {
            let number = u32::try_from(index).ok()?;
            if !left[index] {
                let before = self.point();
                if out.is_some() {
                    self.take_for_granted(Known::ENTERED);
                }
                let operations = self.operations;
                (self.live, self.slow, self.index) = (*live, None, index);
                let last = index + 1 == instructions.len() && is_branch(instruction);
                let done = if last { self.branch(instruction) } else { self.instruction(instruction) };
                if done.is_ok() {
                    ended = last;
                    if let Some((first, label, operations)) = out.take() {
                        let at = self.around.offset + before.mark.len();
                        let state = Known::ENTERED;
                        // Nothing has to be done there, so that nothing jumps to it.
                        let resume = Some(Resume { label, at, behind: number, state });
                        self.all_slow.push(Slow { label, operations, instruction: first, resume });
                    }
                    if let Some(label) = self.slow {
                        let resume = (index + 1 < instructions.len()).then(|| self.resume(number + 1));
                        self.all_slow.push(Slow { label, operations, instruction: number, resume });
                    }
                    continue;
                }
                self.back_to(before);
                left[index] = true;
            }
            if out.is_none() {
                self.save_flags();
                let label = self.e.label();
                self.e.jump(label);
                out = Some((number, label, self.operations));
            }
        }
        if let Some((first, label, operations)) = out {
            self.all_slow.push(Slow { label, operations, instruction: first, resume: None });
        } else if !ended {
            self.save_flags();
            self.note();
            self.count_no_branch();
            let next = self.source.rip.wrapping_add(self.source.bytes.len() as u64);
            self.link(next);
        }
        self.look_alone().ok()?;
        self.leave((full, begin), class);
        Some(())
    }

    fn state(&self) -> Known {
        Known {
            flags: (self.in_host, self.in_ax),
            vectors: (self.vectors, self.floats),
            operations: self.operations,
            groups: self.groups,
        }
    }

    fn take_for_granted(&mut self, state: Known) {
        (self.in_host, self.in_ax) = state.flags;
        (self.vectors, self.floats) = state.vectors;
        self.operations = state.operations;
        self.groups = state.groups;
    }

    fn point(&self) -> Point {
        Point {
            mark: self.e.mark(),
            state: self.state(),
            loads: self.loads.len(),
            alone: self.alone.len(),
            links: self.links.len(),
            next_link: self.next_link,
        }
    }

    /// Code goes on here behind so many instructions.
    fn resume(&mut self, behind: u32) -> Resume {
        let label = self.e.label();
        self.e.place(label);
        Resume { label, at: self.around.offset + self.e.mark().len(), behind, state: self.state() }
    }

    /// Where to enter code to go on there: AX has the flags then, and no vector registers are loaded.
    fn entry(&mut self, resume: Resume) -> u32 {
        let Resume { label, at, behind, state } = resume;
        let (vectors, floats) = state.vectors;
        if !state.flags.0 && vectors == Vectors::None && state.groups == 0 {
            return at;
        }
        let at = self.around.offset + self.e.mark().len();
        // The interpreter may have changed the TLB.
        for group in (0..GROUPS).filter(|group| state.groups >> group & 1 != 0) {
            self.e.mi(Code::Mov_rm64_imm32, group_slot(group), 0);
        }
        if vectors > Vectors::None {
            let slow = self.e.label();
            let operations = [0; OPERATIONS];
            self.all_slow.push(Slow { label: slow, operations, instruction: behind, resume: None });
            self.call_load(vectors, slow);
            if floats {
                self.e.mi(Code::Cmp_rm32_imm8, local(NO_FLOATS), 0);
                self.e.jump_if(5, slow);
            }
            self.count_operations(&state.operations, -1);
        }
        if state.flags.0 {
            (self.in_host, self.in_ax) = (false, true);
            self.restore_flags();
            if state.flags.1 {
                self.save_flags();
            }
        }
        self.e.jump(label);
        at
    }

    /// Calls the function that loads vector registers.
    fn call_load(&mut self, wanted: Vectors, slow: Label) {
        self.e.mi(Code::Cmp_rm32_imm8, local(MOST), wanted as i32);
        self.e.jump_if(2, slow);
        let [sse, avx, avx512] = self.around.load_vectors;
        let function = match wanted {
            Vectors::None | Vectors::Sse => sse,
            Vectors::Avx => avx,
            Vectors::Avx512 => avx512,
        };
        self.e.any(&Instruction::with_branch(Code::Call_rel32_64, function).unwrap_or_default());
        self.e.jump_if(5, slow);
    }

    /// Takes back what has been written since.
    fn back_to(&mut self, point: Point) {
        self.e.back_to(point.mark);
        self.take_for_granted(point.state);
        self.loads.truncate(point.loads);
        self.alone.truncate(point.alone);
        self.links.truncate(point.links);
        (self.next_link, self.slow) = (point.next_link, None);
    }

    /// The ways out.
    fn leave(&mut self, (full, begin): (Label, Label), class: usize) {
        let (id, rip) = (self.source.block.cast_signed(), self.source.rip);
        let inside = self.e.label();
        for Load { call, back, slow, wanted } in std::mem::take(&mut self.loads) {
            self.e.place(call);
            self.call_load(wanted, slow);
            self.e.jump(back);
        }
        let resumes: Vec<_> = self.all_slow.iter().map(|slow| slow.resume).collect();
        let entries: Vec<_> = resumes
            .into_iter()
            .map(|resume| resume.map(|resume| (self.entry(resume), resume.behind)))
            .collect();
        // Those that entries have added go on nowhere.
        let entries = entries.into_iter().chain(core::iter::repeat(None));
        for (slow, entry) in std::mem::take(&mut self.all_slow).into_iter().zip(entries) {
            let Slow { label, operations, instruction, .. } = slow;
            self.e.place(label);
            self.count_operations(&operations, 1);
            let (at, next) = entry.unwrap_or_default();
            if entry.is_some() {
                self.e.mi(Code::Mov_rm32_imm32, local(RESUME), at.cast_signed());
            }
            self.e.mi(Code::Mov_rm32_imm32, local(DETAIL), (instruction | next << 8).cast_signed());
            self.e.jump(inside);
        }
        let out = self.e.label();
        self.e.place(inside);
        self.e.store_constant(local(RIP), rip, T0);
        self.e.mi(Code::Mov_rm32_imm32, local(BLOCK), id);
        self.e.place(out);
        self.far_jump(self.around.exit);
        let between = self.e.label();
        for Link { unknown, number, target } in std::mem::take(&mut self.links) {
            self.e.place(unknown);
            self.e.store_constant(local(RIP), target, T0);
            self.e.mi(Code::Mov_rm32_imm32, local(DETAIL), number.cast_signed());
            self.e.jump(between);
        }
        self.e.place(full);
        self.e.ri(Code::Mov_r32_imm32, T0.full_register32(), self.instructions());
        self.e.any(
            &Instruction::with_branch(Code::Call_rel32_64, self.around.refill[class]).unwrap_or_default(),
        );
        self.e.jump_if(5, begin);
        self.e.store_constant(local(RIP), rip, T0);
        self.e.mi(Code::Mov_rm32_imm32, local(DETAIL), BETWEEN.cast_signed());
        self.e.place(between);
        self.e.mi(Code::Mov_rm32_imm32, local(BLOCK), BETWEEN.cast_signed());
        self.e.jump(out);
    }

    /// Those of the block.
    pub(crate) fn instructions(&self) -> i32 {
        i32::from(self.source.instructions())
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

// Vectors.
impl Translation<'_> {
    /// These vector registers are the guest's from here on; with `floats` MXCSR is too. AX has the flags.
    pub(crate) fn load_vectors(&mut self, wanted: Vectors, floats: bool) {
        if self.vectors >= wanted && (self.floats || !floats) {
            return;
        }
        self.free_flags();
        if self.vectors < wanted {
            let (call, back, slow) = (self.e.label(), self.e.label(), self.slow());
            self.e.mi(Code::Cmp_rm32_imm8, local(LOADED), wanted as i32);
            self.e.jump_if(2, call);
            self.e.place(back);
            self.loads.push(Load { call, back, slow, wanted });
            self.vectors = wanted;
        }
        if floats && !self.floats {
            let slow = self.slow();
            self.e.mi(Code::Cmp_rm32_imm8, local(NO_FLOATS), 0);
            self.e.jump_if(5, slow);
            self.floats = true;
        }
    }
}

impl Translation<'_> {
    /// Counts floating-point operations, or takes them back with -1. Uses the first temporary register; flags stay.
    pub(crate) fn count_operations(&mut self, operations: &Operations, sign: i64) {
        for (number, count) in (0..).zip(operations).filter(|(_, count)| **count != 0) {
            let place = local(FLOATS + 8 * number);
            self.e.rm(Code::Mov_r64_rm64, T0, place);
            self.e.rm(Code::Lea_r64_m, T0, at(T0, sign * i64::from(*count)));
            self.e.mr(Code::Mov_rm64_r64, place, T0);
        }
    }
}

/// AH, CH, DH or BH, which have no place of their own here.
pub(crate) fn is_high_byte(register: Register) -> bool {
    matches!(register, Register::AH | Register::CH | Register::DH | Register::BH)
}
