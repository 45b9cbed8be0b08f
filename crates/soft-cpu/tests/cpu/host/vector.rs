//! AVX to AVX-512 against the host's CPU, where it has them: each form that is implemented, with random operands,
//! masks, rounding and memory. Nothing here faults; `crates/oracle` compares that too.

use crate::common::{Random, TestBus};
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, EncodingKind, Instruction, Mnemonic, OpCodeInfo,
    OpCodeOperandKind as K, OpKind, Register, RoundingControl,
};
use soft_cpu::{Budget, Cpu, Exit, Features, Segment, State};
use std::arch::asm;
use std::fmt::Write;

/// Where everything is, natively and in the guest.
const BASE: u64 = 0x2000_0000;
const DATA: u64 = BASE + 0x4000;
const DATA_LEN: usize = 0x2000;
const CODE: u64 = BASE + 0x8000;
const LEN: usize = 0x1_0000;
/// Guest physical addresses.
const TABLES: u64 = 0x10_0000;
const PHYSICAL: u64 = 0x20_0000;
/// ZF, SF and so on.
const FLAGS: u64 = 0x8D5;

/// What goes in and comes out, at BASE.
#[repr(C, align(64))]
#[derive(Clone, Copy, PartialEq)]
struct Context {
    zmm: [[u128; 4]; 32],
    masks: [u64; 8],
    gpr: [u64; 16],
    flags: u64,
    mxcsr: u64,
    rsp: u64,
    default_mxcsr: u64,
}

const MASKS: u64 = BASE + 2048;
const GPR: u64 = MASKS + 64;
const FLAG_WORD: u64 = GPR + 128;
const MXCSR: u64 = FLAG_WORD + 8;
const RSP: u64 = MXCSR + 8;
const DEFAULT_MXCSR: u64 = RSP + 8;

/// Pages at BASE. Linux system call, because the crate has no libc.
fn map() {
    let result: i64;
    // SAFETY: a new anonymous mapping (not replacing any) touches no existing memory.
    unsafe {
        asm!("syscall", inlateout("rax") 9_u64 => result, in("rdi") BASE, in("rsi") LEN, in("rdx") 7,
            in("r10") 0x10_0022, in("r8") -1_i64, in("r9") 0, out("rcx") _, out("r11") _);
    }
    assert_eq!(result, BASE as i64, "mmap");
}

/// A function that loads everything, executes the instruction and stores everything.
fn wrap(instruction: &[u8]) -> Vec<u8> {
    use iced_x86::code_asm::registers::{k::get_k, zmm::get_zmm};
    use iced_x86::code_asm::*;
    let mut a = CodeAssembler::new(64).unwrap();
    let saved = [rbx, rbp, r12, r13, r14, r15];
    let gprs = [rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15];
    let number = |register: AsmRegister64| Register::from(register).number() as u64;
    let vector = |n: u64| -> AsmRegisterZmm { get_zmm(Register::ZMM0 + n as u32).unwrap() };
    let mask = |n: u64| get_k(Register::K0 + n as u32).unwrap();
    saved.iter().for_each(|register| a.push(*register).unwrap());
    a.mov(rax, BASE).unwrap();
    a.mov(qword_ptr(rax + (RSP - BASE) as i32), rsp).unwrap();
    a.ldmxcsr(dword_ptr(rax + (MXCSR - BASE) as i32)).unwrap();
    (0..32).for_each(|n| a.vmovdqu64(vector(n), zmmword_ptr(rax + 64 * n as i32)).unwrap());
    (0..8).for_each(|n| a.kmovq(mask(n), qword_ptr(rax + (MASKS - BASE + 8 * n) as i32)).unwrap());
    a.push(qword_ptr(rax + (FLAG_WORD - BASE) as i32)).unwrap();
    a.popfq().unwrap();
    gprs.iter().for_each(|r| a.mov(*r, qword_ptr(rax + (GPR - BASE + 8 * number(*r)) as i32)).unwrap());
    a.mov(rax, qword_ptr(rax + (GPR - BASE) as i32)).unwrap();
    a.db(instruction).unwrap();
    // MOV to an absolute address.
    a.db(&[0x48, 0xA3]).unwrap();
    a.db(&GPR.to_le_bytes()).unwrap();
    a.mov(rax, BASE).unwrap();
    gprs.iter().for_each(|r| a.mov(qword_ptr(rax + (GPR - BASE + 8 * number(*r)) as i32), *r).unwrap());
    a.pushfq().unwrap();
    a.pop(qword_ptr(rax + (FLAG_WORD - BASE) as i32)).unwrap();
    a.stmxcsr(dword_ptr(rax + (MXCSR - BASE) as i32)).unwrap();
    a.ldmxcsr(dword_ptr(rax + (DEFAULT_MXCSR - BASE) as i32)).unwrap();
    (0..32).for_each(|n| a.vmovdqu64(zmmword_ptr(rax + 64 * n as i32), vector(n)).unwrap());
    (0..8).for_each(|n| a.kmovq(qword_ptr(rax + (MASKS - BASE + 8 * n) as i32), mask(n)).unwrap());
    a.vzeroupper().unwrap();
    saved.iter().rev().for_each(|register| a.pop(*register).unwrap());
    a.ret().unwrap();
    a.assemble(CODE).unwrap()
}

/// Runs it natively on BASE's pages.
fn native(instruction: &[u8], context: &mut Context, data: &mut [u8]) {
    let code = wrap(instruction);
    // SAFETY: the pages at BASE belong to this test; the code saves what the calling convention asks for, and the
    // instruction changes what the context has and memory at DATA.
    unsafe {
        std::ptr::copy_nonoverlapping(code.as_ptr(), CODE as *mut u8, code.len());
        std::ptr::copy_nonoverlapping(data.as_ptr(), DATA as *mut u8, data.len());
        *(BASE as *mut Context) = *context;
        let function: extern "C" fn() = std::mem::transmute(CODE);
        function();
        *context = *(BASE as *const Context);
        std::ptr::copy_nonoverlapping(DATA as *const u8, data.as_mut_ptr(), data.len());
    }
}

fn guest() -> TestBus {
    let mut bus = TestBus::new(4 << 20);
    bus.write_u64(TABLES, (TABLES + 0x1000) | 7);
    bus.write_u64(TABLES + 0x1000, (TABLES + 0x2000) | 7);
    bus.write_u64(TABLES + 0x2000 + (BASE >> 21) * 8, PHYSICAL | 0x87);
    bus
}

/// PUSH of what RSI points to, and POP: brings the page into the TLB.
const TOUCH: [u8; 4] = [0xFF, 0x36, 0x8F, 0x06];
/// NOPs behind it, with which a block ends.
const REST: usize = 8;

/// Runs it in the interpreter, alone or (`quick`) in a block and with translations at hand; why it did not complete.
fn soft(
    bus: &mut TestBus,
    instruction: &[u8],
    quick: bool,
    context: &mut Context,
    data: &mut [u8],
) -> Result<(), String> {
    let mut code = if quick { TOUCH.to_vec() } else { Vec::new() };
    code.extend(instruction);
    code.extend([0x90; REST]);
    bus.write(PHYSICAL + (CODE - BASE), &code);
    bus.write(PHYSICAL + (CODE - BASE) + code.len() as u64, &[0xEB, 0xFE]);
    bus.write(PHYSICAL + (DATA - BASE), data);
    let mut state = State {
        rip: CODE,
        cr0: 0x8001_0033,
        cr3: TABLES,
        cr4: 0x4_0620,
        efer: 0xD01,
        xcr0: 0xE7,
        gpr: context.gpr,
        rflags: context.flags,
        mxcsr: context.mxcsr as u32,
        opmask: context.masks,
        xmm: std::array::from_fn(|n| context.zmm[n][0]),
        ymm_high: std::array::from_fn(|n| context.zmm[n][1]),
        zmm_high: std::array::from_fn(|n| [context.zmm[n][2], context.zmm[n][3]]),
        zmm_16_to_31: std::array::from_fn(|n| context.zmm[16 + n]),
        ..State::default()
    };
    state.gpr[4] = BASE + LEN as u64;
    state.segments[1] = Segment { selector: 0x2B, base: 0, limit: u32::MAX, rights: 0xA0FB };
    state.segments[2] = Segment { selector: 0x23, base: 0, limit: u32::MAX, rights: 0xC0F3 };
    let mut cpu = Cpu::new(&state).with_silicon(crate::common::host_silicon());
    // With the jump behind it the block is executed as a whole.
    let (instructions, end) = if quick { (4 + REST as u64, code.len()) } else { (1, instruction.len()) };
    let exit = cpu.run(bus, Budget { instructions, interrupt_window: false });
    let state = cpu.state();
    if exit != Exit::Budget || state.rip != CODE + end as u64 {
        return Err(format!("{exit:?} at {:#x} CR2 {:#x} {:?}", state.rip, state.cr2, cpu.unimplemented()));
    }
    let old = *context;
    *context = Context {
        zmm: std::array::from_fn(|n| match n.checked_sub(16) {
            Some(n) => state.zmm_16_to_31[n],
            None => [state.xmm[n], state.ymm_high[n], state.zmm_high[n][0], state.zmm_high[n][1]],
        }),
        masks: state.opmask,
        gpr: state.gpr,
        flags: state.rflags,
        mxcsr: state.mxcsr.into(),
        ..old
    };
    let from = (PHYSICAL + (DATA - BASE)) as usize;
    data.copy_from_slice(&bus.ram[from..from + data.len()]);
    Ok(())
}

/// A form's instruction with random operands; none that the framework of this test cannot run.
fn random(code: Code, info: &OpCodeInfo, random: &mut Random) -> Option<Instruction> {
    let mut ins = Instruction::default();
    ins.set_code(code);
    let high = info.encoding() == EncodingKind::EVEX;
    let mut vsib = None;
    let mut memory = false;
    for n in 0..info.op_count() {
        let pick = random.next();
        let either = pick & 1 == 0;
        let numbered = |first: Register, count: u64| first + ((pick >> 8) % count) as u32;
        let vectors = if high { 32 } else { 16 };
        let general = || {
            let number = (pick >> 8) % 15;
            // Not RSP.
            (number + u64::from(number >= 4)) as u32
        };
        let register = match info.op_kind(n) {
            K::xmm_reg | K::xmm_rm | K::xmm_vvvv | K::xmm_is4 => numbered(Register::XMM0, vectors),
            K::ymm_reg | K::ymm_rm | K::ymm_vvvv | K::ymm_is4 => numbered(Register::YMM0, vectors),
            K::zmm_reg | K::zmm_rm | K::zmm_vvvv => numbered(Register::ZMM0, vectors),
            K::xmm_or_mem if either => numbered(Register::XMM0, vectors),
            K::ymm_or_mem if either => numbered(Register::YMM0, vectors),
            K::zmm_or_mem if either => numbered(Register::ZMM0, vectors),
            K::k_reg | K::k_rm | K::k_vvvv => numbered(Register::K0, 8),
            K::k_or_mem if either => numbered(Register::K0, 8),
            K::r32_reg | K::r32_rm | K::r32_vvvv => Register::EAX + general(),
            K::r64_reg | K::r64_rm | K::r64_vvvv => Register::RAX + general(),
            K::r32_or_mem if either => Register::EAX + general(),
            K::r64_or_mem if either => Register::RAX + general(),
            K::imm8 => {
                ins.set_op_kind(n, OpKind::Immediate8);
                ins.set_immediate8((pick >> 8) as u8);
                continue;
            }
            K::mem_vsib32x | K::mem_vsib64x => {
                vsib = Some(numbered(Register::XMM0, vectors));
                Register::None
            }
            K::mem_vsib32y | K::mem_vsib64y => {
                vsib = Some(numbered(Register::YMM0, vectors));
                Register::None
            }
            K::mem_vsib32z | K::mem_vsib64z => {
                vsib = Some(numbered(Register::ZMM0, vectors));
                Register::None
            }
            K::xmm_or_mem
            | K::ymm_or_mem
            | K::zmm_or_mem
            | K::k_or_mem
            | K::r32_or_mem
            | K::r64_or_mem
            | K::mem => Register::None,
            _ => return None,
        };
        if register == Register::None {
            memory = true;
            ins.set_op_kind(n, OpKind::Memory);
            ins.set_memory_base(Register::RSI);
            if let Some(index) = vsib {
                ins.set_memory_index(index);
                ins.set_memory_index_scale(1);
            }
        } else {
            ins.set_op_kind(n, OpKind::Register);
            ins.set_op_register(n, register);
        }
    }
    let pick = random.next();
    if info.can_use_op_mask_register() && (pick & 3 != 0 || info.require_op_mask_register()) {
        ins.set_op_mask(Register::K1 + (pick >> 8) as u32 % 7);
        ins.set_zeroing_masking(
            info.can_use_zeroing_masking() && pick >> 16 & 1 != 0 && ins.op0_kind() == OpKind::Register,
        );
    }
    let pick = random.next();
    if memory {
        ins.set_is_broadcast(info.can_broadcast() && pick & 1 != 0);
    } else if info.can_use_rounding_control() && pick & 1 != 0 {
        ins.set_rounding_control(
            [
                RoundingControl::RoundToNearest,
                RoundingControl::RoundDown,
                RoundingControl::RoundUp,
                RoundingControl::RoundTowardZero,
            ][(pick >> 8) as usize & 3],
        );
    } else if info.can_suppress_all_exceptions() && pick & 1 != 0 {
        ins.set_suppress_all_exceptions(true);
    }
    Some(ins)
}

/// Values with edges in elements of all sizes.
fn vector(random: &mut Random) -> [u128; 4] {
    std::array::from_fn(|_| {
        let mut word = || {
            let pick = random.next();
            match pick & 7 {
                0 => 0,
                1 => u64::MAX,
                2 => 0x8000_0000_8000_0000,
                3 => 0x7FFF_8001_00FF_FF80,
                4 => pick >> 58,
                5 => 0x3F80_0000_4048_F5C3,
                _ => random.next(),
            }
        };
        u128::from(word()) << 64 | u128::from(word())
    })
}

/// A mnemonic to look at, from the environment.
fn covered(mnemonic: Mnemonic) -> bool {
    let filter = std::env::var("VECTOR_ONLY").unwrap_or_default();
    format!("{mnemonic:?}").to_lowercase().contains(&filter.to_lowercase())
}

#[test]
fn the_host_agrees() {
    if !(is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl")) {
        println!("skipped: the host has no AVX-512");
        return;
    }
    // Exceptions beside others, and estimates, have been compared with Intel's CPUs only.
    if std::arch::x86_64::__cpuid(0).ebx.to_le_bytes() != *b"Genu" {
        println!("skipped: not compared with CPUs of this vendor yet");
        return;
    }
    map();
    let host = Features::of(|leaf, subleaf| {
        let answer = std::arch::x86_64::__cpuid_count(leaf, subleaf);
        soft_cpu::CpuidLeaf { eax: answer.eax, ebx: answer.ebx, ecx: answer.ecx, edx: answer.edx }
    });
    let mut bus = guest();
    let (mut failures, mut run, mut forms) = (String::new(), 0, 0);
    let mut refused = std::collections::BTreeMap::new();
    for code in Code::values() {
        let info = code.op_code();
        if !matches!(info.encoding(), EncodingKind::VEX | EncodingKind::EVEX) || !info.mode64() {
            continue;
        }
        let mut example = Instruction::default();
        example.set_code(code);
        if !covered(code.mnemonic()) || differs_by_model(code.mnemonic()) || !host.allow(&example) {
            continue;
        }
        let mut numbers = Random((code as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (mut wrong, mut cases) = (0, 0);
        for _ in 0..rounds() {
            let Some(ins) = random(code, info, &mut numbers) else { continue };
            let mut encoder = Encoder::new(64);
            if encoder.encode(&ins, CODE).is_err() {
                continue;
            }
            let bytes = encoder.take_buffer();
            // Of gathers some registers must differ.
            if Decoder::with_ip(64, &bytes, CODE, DecoderOptions::NONE).decode().is_invalid() {
                continue;
            }
            let mut start = Context {
                zmm: std::array::from_fn(|_| vector(&mut numbers)),
                masks: std::array::from_fn(|_| numbers.next() & numbers.next()),
                gpr: std::array::from_fn(|_| numbers.next()),
                flags: 0x202 | numbers.next() & FLAGS,
                mxcsr: 0x1F80 | numbers.next() & 0x6000,
                rsp: 0,
                default_mxcsr: 0x1F80,
            };
            let aligned = numbers.next() & 1 == 0 || must_align(code.mnemonic());
            start.gpr[6] = DATA + 0x1000 + if aligned { 0 } else { numbers.next() & 63 };
            start.gpr[4] = 0;
            if ins.memory_index() != Register::None {
                // Indices that stay in the data.
                let index = &mut start.zmm[ins.memory_index().number()];
                let quad = matches!(info.op_kind(1), K::mem_vsib64x | K::mem_vsib64y | K::mem_vsib64z)
                    || matches!(info.op_kind(0), K::mem_vsib64x | K::mem_vsib64y | K::mem_vsib64z);
                for value in index.iter_mut() {
                    *value = if quad {
                        let mut one = || u128::from(((numbers.next() & 0x7FF) as i64 - 1024) as u64);
                        one() << 64 | one()
                    } else {
                        (0..4).fold(0, |all, n| {
                            let one = ((numbers.next() & 0x7FF) as i32 - 1024) as u32;
                            all | u128::from(one) << (32 * n)
                        })
                    };
                }
            }
            let mut data: Vec<u8> = (0..DATA_LEN).map(|_| numbers.next() as u8).collect();
            let (mut ours, mut theirs) = (start, start);
            let mut our_data = data.clone();
            let quick = numbers.next() & 1 != 0;
            if let Err(why) = soft(&mut bus, &bytes, quick, &mut ours, &mut our_data) {
                *refused.entry(format!("{code:?} {why}")).or_insert(0) += 1;
                break;
            }
            native(&bytes, &mut theirs, &mut data);
            (run, cases) = (run + 1, cases + 1);
            let difference = difference(&ours, &theirs, our_data == data);
            if !difference.is_empty() {
                wrong += 1;
                if wrong == 1 {
                    writeln!(
                        failures,
                        "{code:?} {bytes:02x?} quick {quick} mask {:#x}: {difference}",
                        start.masks[ins.op_mask().number() & 7]
                    )
                    .unwrap();
                }
            }
        }
        forms += usize::from(cases > 0);
        if wrong > 0 {
            writeln!(failures, "  {wrong} of {cases}").unwrap();
        }
    }
    println!("{run} cases of {forms} forms; {} forms refused", refused.len());
    if std::env::var("VECTOR_REFUSED").is_ok() {
        refused.keys().for_each(|text| println!("{text}"));
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Cases of each form, from the environment for long runs.
fn rounds() -> usize {
    std::env::var("VECTOR_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// Approximations, and flags of dot products, are each model's own.
fn differs_by_model(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(mnemonic, M::Vrcpps | M::Vrcpss | M::Vrsqrtps | M::Vrsqrtss | M::Vdpps | M::Vdppd)
}

fn must_align(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(
        mnemonic,
        M::Vmovaps
            | M::Vmovapd
            | M::Vmovdqa
            | M::Vmovdqa32
            | M::Vmovdqa64
            | M::Vmovntdq
            | M::Vmovntps
            | M::Vmovntpd
            | M::Vmovntdqa
    )
}

fn difference(ours: &Context, theirs: &Context, same_data: bool) -> String {
    let mut text = String::new();
    for n in 0..32 {
        if ours.zmm[n] != theirs.zmm[n] {
            write!(text, "\n    zmm{n} {:032x?}\n  host {:032x?}", ours.zmm[n], theirs.zmm[n]).unwrap();
        }
    }
    for n in 0..8 {
        if ours.masks[n] != theirs.masks[n] {
            write!(text, " k{n} {:#x} host {:#x}", ours.masks[n], theirs.masks[n]).unwrap();
        }
    }
    for n in (0..16).filter(|n| *n != 4) {
        if ours.gpr[n] != theirs.gpr[n] {
            write!(text, " gpr{n} {:#x} host {:#x}", ours.gpr[n], theirs.gpr[n]).unwrap();
        }
    }
    if (ours.flags ^ theirs.flags) & FLAGS != 0 {
        write!(text, " flags {:#x} host {:#x}", ours.flags & FLAGS, theirs.flags & FLAGS).unwrap();
    }
    if ours.mxcsr != theirs.mxcsr {
        write!(text, " mxcsr {:#x} host {:#x}", ours.mxcsr, theirs.mxcsr).unwrap();
    }
    if !same_data {
        text.push_str(" memory");
    }
    text
}
