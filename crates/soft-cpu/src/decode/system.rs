//! Handlers of system instructions, far branches, port I/O and the x87 state.

use super::operands::{is_memory, size};
use super::select::{place, word_width};
use crate::bus::Bus;
use crate::context::{DS, Mode, number};
use crate::exec::operand::{Dst, Mem, Src};
use crate::exec::{Handler, Insn, direct, far, io, mov, protection, random, system, tsc_aux, x87, xsave};
use crate::low::Low;
use iced_x86::{Code as C, Instruction, Mnemonic as M, OpKind};

pub(super) fn handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>, mode: Mode) -> Option<Handler<B>> {
    segments_and_control(ins, insn)
        .or_else(|| far_handler(ins, insn, mode))
        .or_else(|| protection_handler(ins))
        .or_else(|| other(ins, insn))
}

fn segments_and_control<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let size0 = size(ins, 0);
    let handler: Handler<B> = match ins.mnemonic() {
        M::Mov => {
            let (to, from) = (ins.op0_register(), ins.op1_register());
            if to.is_segment_register() {
                insn.aux = to.number().low_u8();
                place!(is_memory(ins, 1), Src, S => system::mov_to_segment::<B, S>)
            } else if from.is_segment_register() {
                insn.aux = from.number().low_u8();
                if is_memory(ins, 0) {
                    mov::mov_from_segment::<B, u16, Mem>
                } else {
                    word_width!(size0, T => mov::mov_from_segment::<B, T, Dst>)
                }
            } else if to.is_cr() {
                insn.aux = to.number().low_u8();
                system::mov_to_cr::<B>
            } else if from.is_cr() {
                insn.aux = from.number().low_u8();
                system::mov_from_cr::<B>
            } else if to.is_dr() {
                insn.aux = to.number().low_u8();
                system::mov_to_dr::<B>
            } else if from.is_dr() {
                insn.aux = from.number().low_u8();
                system::mov_from_dr::<B>
            } else {
                return None;
            }
        }
        M::Lds | M::Les | M::Lfs | M::Lgs | M::Lss => {
            insn.aux = match ins.mnemonic() {
                M::Les => 0,
                M::Lss => 2,
                M::Lds => 3,
                M::Lfs => 4,
                _ => 5,
            };
            word_width!(size0, T => system::load_far_pointer::<B, T>)
        }
        M::Clts => system::clts::<B>,
        M::Smsw if is_memory(ins, 0) => system::smsw::<B, u16, Mem>,
        M::Smsw => word_width!(size0, T => system::smsw::<B, T, Dst>),
        M::Lmsw => place!(is_memory(ins, 0), Dst, S => system::lmsw::<B, S>),
        M::Lgdt | M::Lidt => {
            insn.aux = if matches!(ins.code(), C::Lgdt_m1632_16 | C::Lidt_m1632_16) { 2 } else { 0 };
            if ins.mnemonic() == M::Lgdt {
                system::load_table::<B, true>
            } else {
                system::load_table::<B, false>
            }
        }
        M::Sgdt => system::store_table::<B, true>,
        M::Sidt => system::store_table::<B, false>,
        M::Lldt => place!(is_memory(ins, 0), Dst, S => system::lldt::<B, S>),
        M::Ltr => place!(is_memory(ins, 0), Dst, S => system::ltr::<B, S>),
        M::Sldt if is_memory(ins, 0) => system::store_selector::<B, true, u16, Mem>,
        M::Sldt => word_width!(size0, T => system::store_selector::<B, true, T, Dst>),
        M::Str if is_memory(ins, 0) => system::store_selector::<B, false, u16, Mem>,
        M::Str => word_width!(size0, T => system::store_selector::<B, false, T, Dst>),
        M::Verr => place!(is_memory(ins, 0), Dst, S => system::verify::<B, false, S>),
        M::Verw => place!(is_memory(ins, 0), Dst, S => system::verify::<B, true, S>),
        M::Lar => {
            place!(is_memory(ins, 1), Src, S => word_width!(size0, T => system::inspect::<B, true, T, S>))
        }
        M::Lsl => {
            place!(is_memory(ins, 1), Src, S => word_width!(size0, T => system::inspect::<B, false, T, S>))
        }
        _ => return None,
    };
    Some(handler)
}

fn far_handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>, mode: Mode) -> Option<Handler<B>> {
    let direct = matches!(ins.op0_kind(), OpKind::FarBranch16 | OpKind::FarBranch32);
    let handler: Handler<B> = match ins.mnemonic() {
        M::Jmp | M::Call => {
            insn.aux = match ins.code() {
                C::Jmp_ptr1616 | C::Jmp_m1616 | C::Call_ptr1616 | C::Call_m1616 => 2,
                C::Jmp_ptr1632 | C::Jmp_m1632 | C::Call_ptr1632 | C::Call_m1632 => 4,
                C::Jmp_m1664 | C::Call_m1664 => 8,
                _ => return None,
            };
            match (direct, ins.mnemonic() == M::Call) {
                (true, true) => far::branch::<B, true, true>,
                (true, false) => far::branch::<B, true, false>,
                (false, true) => far::branch::<B, false, true>,
                (false, false) => far::branch::<B, false, false>,
            }
        }
        M::Retf => {
            insn.aux = match ins.code() {
                C::Retfw | C::Retfw_imm16 => 2,
                C::Retfd | C::Retfd_imm16 => 4,
                _ => 8,
            };
            far::ret::<B>
        }
        M::Iret => {
            insn.aux = 2;
            far::iret::<B>
        }
        M::Iretd => {
            insn.aux = 4;
            far::iret::<B>
        }
        M::Iretq => {
            insn.aux = 8;
            far::iret::<B>
        }
        M::Int => far::int::<B>,
        M::Int3 => {
            insn.imm = 3;
            far::int::<B>
        }
        M::Int1 => far::int1::<B>,
        M::Into => far::into::<B>,
        M::Bound => {
            insn.aux = size(ins, 0).low_u8();
            far::bound::<B>
        }
        M::Syscall => far::syscall::<B>,
        M::Sysret => {
            insn.aux = 4;
            far::sysret::<B>
        }
        M::Sysretq => {
            insn.aux = 8;
            far::sysret::<B>
        }
        M::Sysenter => far::sysenter::<B>,
        M::Sysexit => {
            insn.aux = 4;
            far::sysexit::<B>
        }
        M::Sysexitq if mode == Mode::Bits64 => {
            insn.aux = 8;
            far::sysexit::<B>
        }
        _ => return None,
    };
    Some(handler)
}

fn protection_handler<B: Bus>(ins: &Instruction) -> Option<Handler<B>> {
    let size = size(ins, 0);
    let handler: Handler<B> = match ins.mnemonic() {
        M::Stac => protection::access_control::<B, true>,
        M::Clac => protection::access_control::<B, false>,
        M::Invpcid => protection::invpcid::<B>,
        M::Rdfsbase => word_width!(size, T => protection::read_base::<B, T, false>),
        M::Rdgsbase => word_width!(size, T => protection::read_base::<B, T, true>),
        M::Wrfsbase => word_width!(size, T => protection::write_base::<B, T, false>),
        M::Wrgsbase => word_width!(size, T => protection::write_base::<B, T, true>),
        _ => return None,
    };
    Some(handler)
}

fn other<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let handler: Handler<B> = match ins.mnemonic() {
        M::In => {
            insn.aux = size(ins, 0).low_u8();
            if ins.op1_kind() == OpKind::Immediate8 {
                io::port_in::<B, true>
            } else {
                io::port_in::<B, false>
            }
        }
        M::Out => {
            insn.aux = size(ins, 1).low_u8();
            if ins.op0_kind() == OpKind::Immediate8 {
                io::port_out::<B, true>
            } else {
                io::port_out::<B, false>
            }
        }
        M::Hlt => system::hlt::<B>,
        M::Invlpg => system::invlpg::<B>,
        M::Wbinvd | M::Wbnoinvd | M::Invd => system::cache_control::<B>,
        M::Clflush | M::Clflushopt | M::Clwb => system::clflush::<B>,
        M::Rdrand | M::Rdseed => word_width!(size(ins, 0), T => random::random::<B, T>),
        M::Movdiri if size(ins, 1) == 8 => direct::movdiri::<B, u64>,
        M::Movdiri => direct::movdiri::<B, u32>,
        M::Movdir64b => direct::movdir64b::<B>,
        M::Clzero => {
            insn.aux = match ins.code() {
                C::Clzerow => 2,
                C::Clzerod => 4,
                _ => 8,
            };
            let segment = ins.segment_prefix();
            insn.seg = if segment.is_segment_register() { segment.number().low_u8() } else { number(DS) };
            direct::clzero::<B>
        }
        M::Serialize | M::Cldemote | M::Prefetchit0 | M::Prefetchit1 => crate::exec::nop::<B>,
        M::Swapgs => system::swapgs::<B>,
        M::Rdmsr => system::rdmsr::<B>,
        M::Wrmsr => system::wrmsr::<B>,
        M::Rdpmc => system::rdpmc::<B>,
        M::Rdtsc => system::rdtsc::<B>,
        M::Rdtscp => tsc_aux::rdtscp::<B>,
        M::Rdpid => tsc_aux::rdpid::<B>,
        M::Cpuid => system::cpuid::<B>,
        M::Ud0 | M::Ud1 | M::Ud2 => crate::exec::undefined::<B>,
        M::Fninit => x87::fninit::<B>,
        M::Wait => x87::fwait::<B>,
        M::Fnclex => x87::fnclex::<B>,
        M::Fldcw => x87::fldcw::<B>,
        M::Fnstcw => x87::fnstcw::<B>,
        M::Fnstsw if is_memory(ins, 0) => x87::fnstsw::<B>,
        M::Fnstsw => x87::fnstsw_ax::<B>,
        M::Xgetbv => xsave::xgetbv::<B>,
        M::Xsetbv => xsave::xsetbv::<B>,
        M::Xsave => xsave::xsave::<B, false, false>,
        M::Xsave64 => xsave::xsave::<B, false, true>,
        M::Xsaveopt => xsave::xsave::<B, true, false>,
        M::Xsaveopt64 => xsave::xsave::<B, true, true>,
        M::Xsavec => xsave::xsave_compacted::<B, false, false>,
        M::Xsavec64 => xsave::xsave_compacted::<B, false, true>,
        M::Xsaves => xsave::xsave_compacted::<B, true, false>,
        M::Xsaves64 => xsave::xsave_compacted::<B, true, true>,
        M::Xrstor => xsave::xrstor::<B, false, false>,
        M::Xrstor64 => xsave::xrstor::<B, false, true>,
        M::Xrstors => xsave::xrstor::<B, true, false>,
        M::Xrstors64 => xsave::xrstor::<B, true, true>,
        M::Fxsave => x87::fxsave::<B, false>,
        M::Fxsave64 => x87::fxsave::<B, true>,
        M::Fxrstor => x87::fxrstor::<B, false>,
        M::Fxrstor64 => x87::fxrstor::<B, true>,
        _ => return None,
    };
    Some(handler)
}
