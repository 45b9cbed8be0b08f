//! What compiled code finds where: registers of the guest in those of the host, the rest on the host's stack; and the
//! code that goes in and out.
//!
//! | host register | what is in it |
//! | --- | --- |
//! | RBX, RBP, RSI, RDI, R8 to R13 | RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 and R9 of the guest |
//! | RCX, RDX, R14 | nothing that lasts |
//! | AH and AL | between blocks: SF, ZF, AF, PF and CF as LAHF has them, and OF |
//! | R15 | where the next note goes |
//! | RSP | the frame, by the offsets below |
//! | XMM0 to XMM15, MXCSR | those of the guest, from the first SSE instruction on |
//! | YMM0 to YMM15, ZMM0 to ZMM15 | the same from the first AVX instruction on |
//! | ZMM16 to ZMM31, K0 to K7 | the same from the first AVX-512 instruction on |

use crate::emit::Emitter;
use iced_x86::{Code, MemoryOperand, Register};
use retire::BranchKind;
use soft_cpu::compiled::{LONGEST, NOTES, OPERATIONS, place};

/// What goes in and out; its first fields have the same offsets in the frame.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) registers: *mut u64,
    pub(crate) epoch: u64,
    pub(crate) limit: *mut u64,
    pub(crate) tlb: *const soft_base::Entry,
    /// The distance of the last entry.
    pub(crate) tlb_mask: u64,
    pub(crate) ram: *mut u8,
    pub(crate) ram_end: u64,
    /// The same for the first of a page of bytes.
    pub(crate) group_end: u64,
    pub(crate) fs: u64,
    pub(crate) gs: u64,
    pub(crate) rip: u64,
    pub(crate) block: u32,
    pub(crate) detail: u32,
    pub(crate) branches: *mut u64,
    pub(crate) note: *mut u64,
    pub(crate) flags: u64,
    pub(crate) vectors: *mut u8,
    pub(crate) operations: *mut u64,
    pub(crate) masks: *mut u64,
    /// The guest's, or what does no harm if `no_floats`.
    pub(crate) mxcsr: u32,
    /// Which vector registers may be the guest's at most, `Vectors` as a number: instructions on others are the
    /// interpreter's.
    pub(crate) most: u32,
    /// Those are that look at MXCSR or change it.
    pub(crate) no_floats: u32,
    /// Where in the code it goes on behind what is the interpreter's; 0: nowhere.
    pub(crate) resume: u32,
    /// The end of the notes that may be used.
    pub(crate) room: *mut u64,
    /// Instructions that may be executed.
    pub(crate) left: u64,
}

macro_rules! offsets {
    ($($name:ident: $field:ident),*) => {
        $(pub(crate) const $name: i64 = core::mem::offset_of!(Passed, $field) as i64;)*
    };
}
offsets!(
    EPOCH: epoch, TLB: tlb, TLB_MASK: tlb_mask, RAM: ram, RAM_END: ram_end,
    GROUP_END: group_end, FS: fs, GS: gs, RIP: rip,
    BLOCK: block, DETAIL: detail
);
offsets!(
    PASSED_LIMIT: limit, PASSED_BRANCHES: branches, PASSED_NOTE: note, PASSED_FLAGS: flags, PASSED_VECTORS: vectors,
    PASSED_OPERATIONS: operations, PASSED_MASKS: masks, PASSED_MXCSR: mxcsr,
    PASSED_MOST: most, PASSED_NO_FLOATS: no_floats, PASSED_RESUME: resume,
    PASSED_ROOM: room, PASSED_LEFT: left
);

/// Pointer to the [`Passed`].
pub(crate) const PASSED: i64 = 0;
/// Room for a value.
pub(crate) const TEMPORARY: i64 = DETAIL + 4;
/// Registers of the guest that no register of the host has.
const SPILLED: i64 = TEMPORARY + 8;
const FIRST_SPILLED: usize = 10;
/// Blocks executed, by the branch at their ends: how many, and from bit [`INSTRUCTIONS`] on their instructions.
pub(crate) const BRANCHES: i64 = SPILLED + 8 * (16 - FIRST_SPILLED as i64);
/// There are fewer blocks in a run of code than these bits can count, as each takes a note.
pub(crate) const INSTRUCTIONS: u32 = u16::BITS;
const _: () = assert!(NOTES < 1 << INSTRUCTIONS);
/// Those that end without a branch are with the far ones, which are not compiled; they add instructions only.
pub(crate) const WITHOUT_BRANCH: i64 = BRANCHES + 8 * place(BranchKind::Far, true) as i64;
/// Which vector registers are the guest's, `Vectors` as a number; if any are, MXCSR is too.
pub(crate) const LOADED: i64 = BRANCHES + 8 * 8;
/// Which may be.
pub(crate) const MOST: i64 = LOADED + 4;
pub(crate) const NO_FLOATS: i64 = LOADED + 8;
pub(crate) const RESUME: i64 = LOADED + 12;
/// MXCSR of the host's code.
pub(crate) const HOST_MXCSR: i64 = LOADED + 16;
/// Floating-point operations, while the vector registers are the guest's.
pub(crate) const FLOATS: i64 = LOADED + 24;
/// Where registers point to in the host's memory by which there are several accesses.
const GROUP_SLOTS: i64 = FLOATS + 8 * OPERATIONS as i64;
/// How many of them a block has at most.
pub(crate) const GROUPS: usize = 8;
/// Where NOTE must not be any more before a block: a limit for each class.
const LIMITS: i64 = GROUP_SLOTS + 8 * GROUPS as i64;
const SIZE: i64 = LIMITS + 8 * CLASSES.len() as i64;
/// Vector registers without AVX-512, and with it.
pub(crate) const VECTORS: u32 = 16;
pub(crate) const ALL_VECTORS: u32 = 32;

/// Left before a block; [`Passed::detail`] is the link that led there.
pub(crate) const BETWEEN: u32 = u32::MAX;

/// Registers that hold nothing that lasts.
pub(crate) const T0: Register = Register::RCX;
pub(crate) const T1: Register = Register::RDX;
pub(crate) const T2: Register = Register::R14;
/// Where the next note goes.
pub(crate) const NOTE: Register = Register::R15;

const HOME: [Register; FIRST_SPILLED] = [
    Register::RBX,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
];
const SAVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// The host's register of one of the guest's.
pub(crate) fn home(number: usize) -> Option<Register> {
    HOME.get(number).copied()
}

/// In memory.
pub(crate) fn at(base: Register, offset: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(base, offset)
}

/// In the frame.
pub(crate) fn local(offset: i64) -> MemoryOperand {
    at(Register::RSP, offset)
}

/// Where a register of the guest is in the frame that has no other home.
pub(crate) fn spilled(number: usize) -> MemoryOperand {
    local(SPILLED + 8 * (number as i64 - FIRST_SPILLED as i64))
}

/// Where a group's register points to in the host's memory; 0 is unknown.
pub(crate) fn group_slot(number: usize) -> MemoryOperand {
    local(GROUP_SLOTS + 8 * number as i64)
}

/// The part of a 64-bit register with so many bytes.
pub(crate) fn part(register: Register, bytes: usize) -> Register {
    let number = u32::try_from(register.number()).unwrap_or(0);
    match bytes {
        1 if number < 4 => Register::AL + number,
        1 => Register::SPL + (number - 4),
        2 => Register::AX + number,
        4 => register.full_register32(),
        _ => register.full_register(),
    }
}

/// The function that is called: RDI is a [`Passed`], RSI the code of a block.
pub(crate) fn entry(e: &mut Emitter) {
    for register in SAVED {
        e.r(Code::Push_r64, register);
    }
    e.ri(Code::Sub_rm64_imm32, Register::RSP, SIZE as i32);
    e.mr(Code::Mov_rm64_r64, local(PASSED), Register::RDI);
    for offset in [EPOCH, TLB, TLB_MASK, RAM, RAM_END, GROUP_END, FS, GS] {
        e.rm(Code::Mov_r64_rm64, T0, at(Register::RDI, offset));
        e.mr(Code::Mov_rm64_r64, local(offset), T0);
    }
    e.rm(Code::Mov_r64_rm64, T0, at(Register::RDI, PASSED_LIMIT));
    for class in 0..CLASSES.len() {
        e.mr(Code::Mov_rm64_r64, limit(class), T0);
    }
    for place in 0..8 {
        e.mi(Code::Mov_rm64_imm32, local(BRANCHES + 8 * place), 0);
    }
    for group in 0..GROUPS {
        e.mi(Code::Mov_rm64_imm32, group_slot(group), 0);
    }
    for (offset, from) in [(MOST, PASSED_MOST), (NO_FLOATS, PASSED_NO_FLOATS)] {
        e.rm(Code::Mov_r32_rm32, Register::ECX, at(Register::RDI, from));
        e.mr(Code::Mov_rm32_r32, local(offset), Register::ECX);
    }
    for offset in [LOADED, RESUME] {
        e.mi(Code::Mov_rm32_imm32, local(offset), 0);
    }
    e.rm(Code::Mov_r64_rm64, NOTE, at(Register::RDI, PASSED_NOTE));
    e.rm(Code::Mov_r64_rm64, Register::RAX, at(Register::RDI, PASSED_FLAGS));
    // Where to go on, while RSI and RDI get what is the guest's.
    e.mr(Code::Mov_rm64_r64, local(TEMPORARY), Register::RSI);
    e.rm(Code::Mov_r64_rm64, T1, at(Register::RDI, PASSED));
    for number in FIRST_SPILLED..16 {
        e.rm(Code::Mov_r64_rm64, T0, at(T1, 8 * number as i64));
        e.mr(Code::Mov_rm64_r64, spilled(number), T0);
    }
    for (number, register) in HOME.into_iter().enumerate() {
        e.rm(Code::Mov_r64_rm64, register, at(T1, 8 * number as i64));
    }
    e.m(Code::Jmp_rm64, local(TEMPORARY));
}

/// Where code jumps to that is left; what it stores vector registers by finds the [`Passed`] in the last temporary
/// register. [`RIP`], [`BLOCK`] and [`DETAIL`] are set.
pub(crate) fn exit(e: &mut Emitter, store_vectors: impl FnOnce(&mut Emitter)) {
    e.rm(Code::Mov_r64_rm64, T2, local(PASSED));
    e.rm(Code::Mov_r64_rm64, T1, at(T2, PASSED));
    for (number, register) in HOME.into_iter().enumerate() {
        e.mr(Code::Mov_rm64_r64, at(T1, 8 * number as i64), register);
    }
    for number in FIRST_SPILLED..16 {
        e.rm(Code::Mov_r64_rm64, T0, spilled(number));
        e.mr(Code::Mov_rm64_r64, at(T1, 8 * number as i64), T0);
    }
    e.rm(Code::Mov_r64_rm64, T1, at(T2, PASSED_BRANCHES));
    for place in 0..8 {
        // Without the instructions.
        e.rm(Code::Movzx_r32_rm16, part(T0, 4), local(BRANCHES + 8 * place));
        e.mr(Code::Mov_rm64_r64, at(T1, 8 * place), T0);
    }
    for offset in [RIP, BLOCK] {
        e.rm(Code::Mov_r64_rm64, T0, local(offset));
        e.mr(Code::Mov_rm64_r64, at(T2, offset), T0);
    }
    e.rm(Code::Mov_r32_rm32, Register::ECX, local(RESUME));
    e.mr(Code::Mov_rm32_r32, at(T2, PASSED_RESUME), Register::ECX);
    let unloaded = e.label();
    e.mi(Code::Cmp_rm32_imm8, local(LOADED), 0);
    e.jump_if(4, unloaded);
    store_vectors(e);
    e.rm(Code::Mov_r64_rm64, T1, at(T2, PASSED_OPERATIONS));
    for offset in (0..OPERATIONS as i64).map(|number| 8 * number) {
        e.rm(Code::Mov_r64_rm64, T0, local(FLOATS + offset));
        e.mr(Code::Mov_rm64_r64, at(T1, offset), T0);
    }
    e.m(Code::Stmxcsr_m32, at(T2, PASSED_MXCSR));
    e.m(Code::Ldmxcsr_m32, local(HOST_MXCSR));
    e.place(unloaded);
    e.mr(Code::Mov_rm64_r64, at(T2, PASSED_NOTE), NOTE);
    e.mr(Code::Mov_rm64_r64, at(T2, PASSED_FLAGS), Register::RAX);
    e.ri(Code::Add_rm64_imm32, Register::RSP, SIZE as i32);
    for register in SAVED.into_iter().rev() {
        e.r(Code::Pop_r64, register);
    }
    e.bare(Code::Retnq);
}

/// Blocks with at most so many instructions have a limit of their own.
pub(crate) const CLASSES: [usize; 3] = [8, 16, LONGEST];

/// The limit of blocks with so many instructions: where NOTE must not be any more before one of them.
pub(crate) fn limit_of(instructions: usize) -> usize {
    CLASSES.iter().position(|most| instructions <= *most).unwrap_or(CLASSES.len() - 1)
}

/// In the frame.
pub(crate) fn limit(class: usize) -> MemoryOperand {
    local(LIMITS + 8 * class as i64)
}

/// The function that code calls before a block of a class when it has come to the limit, with the block's instructions
/// in the first temporary register. It uses all of those, and clears ZF if the block fits what is left of the budget:
/// near the end of a budget code would else be entered anew for every few blocks. Limits move to where so many more
/// blocks of the class fit what is left then, and longer ones have to ask before each: blocks that are executed often
/// are mostly as long as this one, and the more fit, the fewer calls there are, which no CPU foresees.
pub(crate) fn refill(e: &mut Emitter, class: usize) {
    const _: () =
        assert!(CLASSES[0].is_power_of_two() && CLASSES[1].is_power_of_two() && LONGEST.is_power_of_two());
    // Above the return address.
    let local = |offset: i64| local(offset + 8);
    let stop = e.label();
    e.rm(Code::Mov_r64_rm64, T2, local(PASSED));
    e.rm(Code::Cmp_r64_rm64, NOTE, at(T2, PASSED_ROOM));
    e.jump_if(3, stop);
    // The instructions of all blocks since code was entered.
    e.rm(Code::Mov_r64_rm64, T1, local(BRANCHES));
    for place in 1..8 {
        e.rm(Code::Add_r64_rm64, T1, local(BRANCHES + 8 * place));
    }
    e.ri(Code::Shr_rm64_imm8, T1, INSTRUCTIONS.cast_signed());
    e.r(Code::Neg_rm64, T1);
    e.rm(Code::Add_r64_rm64, T1, at(T2, PASSED_LEFT));
    e.rr(Code::Sub_r64_rm64, T1, T0);
    e.jump_if(2, stop);
    e.ri(Code::Shr_rm64_imm8, T1, CLASSES[class].trailing_zeros().cast_signed());
    e.rm(Code::Lea_r64_m, T1, MemoryOperand::with_base_index_scale_displ_size(NOTE, T1, 8, 8, 1));
    e.rm(Code::Mov_r64_rm64, T0, at(T2, PASSED_ROOM));
    e.rr(Code::Cmp_r64_rm64, T1, T0);
    e.rr(Code::Cmova_r64_rm64, T1, T0);
    for other in 0..CLASSES.len() {
        let place = local(LIMITS + 8 * other as i64);
        if other <= class {
            e.mr(Code::Mov_rm64_r64, place, T1);
        } else {
            e.mi(Code::Mov_rm64_imm32, place, 0);
        }
    }
    e.ri(Code::Test_rm64_imm32, Register::RSP, -1);
    e.bare(Code::Retnq);
    e.place(stop);
    e.rr(Code::Xor_r32_rm32, part(T0, 4), part(T0, 4));
    e.bare(Code::Retnq);
}

/// As AX has the flags between blocks.
pub(crate) fn packed(rflags: u64) -> u64 {
    (rflags & 0xFF | 2) << 8 | rflags >> 11 & 1
}

/// The flags of RFLAGS from AX.
pub(crate) fn unpacked(ax: u64) -> u64 {
    ax >> 8 & 0xD5 | (ax & 1) << 11
}
