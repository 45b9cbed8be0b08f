//! Runs user-mode instructions natively and in the interpreter, on the same registers, flags and memory.
#![expect(unsafe_code, reason = "executes code on the host's CPU")]

mod bmi;
mod crypto;
mod integer;
mod sse;
mod vector;
mod x87;

use crate::common::{Random, TestBus};
use soft_cpu::{Budget, Cpu, Exit, Segment, State};
use std::arch::asm;

pub(crate) const CF: u64 = 1;
pub(crate) const PF: u64 = 1 << 2;
pub(crate) const AF: u64 = 1 << 4;
pub(crate) const ZF: u64 = 1 << 6;
pub(crate) const SF: u64 = 1 << 7;
pub(crate) const OF: u64 = 1 << 11;
pub(crate) const FLAGS: u64 = CF | PF | AF | ZF | SF | OF;

/// Where the scratch memory is, natively and in the guest.
const SCRATCH: u64 = 0x1000_0000;
const SCRATCH_LEN: usize = 8192;
/// Guest physical addresses.
const TABLES: u64 = 0x10_0000;
const CODE: u64 = 0x20_0000;
const DATA: u64 = 0x30_0000;

/// What goes in and comes out. RSP, RBP, RDI, R14 and R15 belong to the harness.
#[repr(C, align(16))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) xmm: [u128; 4],
    rax: u64,
    rcx: u64,
    rdx: u64,
    rbx: u64,
    rsi: u64,
    r8: u64,
    r9: u64,
    flags: u64,
    pub(crate) mxcsr: u64,
    /// Address of the code, then space for the harness.
    code: u64,
}

/// Pages at a fixed or any address. Linux system call, because the crate has no libc.
fn map(address: u64, len: usize, executable: bool) -> *mut u8 {
    const MMAP: u64 = 9;
    const READ_WRITE: u64 = 3;
    const EXEC: u64 = 4;
    const PRIVATE_ANONYMOUS: u64 = 0x22;
    const FIXED_NOREPLACE: u64 = 0x10_0000;
    let result: i64;
    let protection = READ_WRITE | if executable { EXEC } else { 0 };
    let flags = PRIVATE_ANONYMOUS | if address != 0 { FIXED_NOREPLACE } else { 0 };
    // SAFETY: a new anonymous mapping touches no existing memory.
    unsafe {
        asm!("syscall", inlateout("rax") MMAP => result, in("rdi") address, in("rsi") len, in("rdx") protection,
            in("r10") flags, in("r8") -1_i64, in("r9") 0, out("rcx") _, out("r11") _);
    }
    assert!(result > 0, "mmap failed: {result}");
    result as *mut u8
}

/// Runs the code natively.
fn native(context: &mut Context) {
    // SAFETY: the code is one of the cases below; they change what is listed here, and memory
    // at SCRATCH.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "movdqu xmm0, [r14]",
            "movdqu xmm1, [r14 + 16]",
            "movdqu xmm2, [r14 + 32]",
            "movdqu xmm3, [r14 + 48]",
            "ldmxcsr [r14 + 128]",
            "mov rax, [r14 + 64]",
            "mov rcx, [r14 + 72]",
            "mov rdx, [r14 + 80]",
            "mov rbx, [r14 + 88]",
            "mov rsi, [r14 + 96]",
            "mov r8, [r14 + 104]",
            "mov r9, [r14 + 112]",
            "push qword ptr [r14 + 120]",
            "popfq",
            "call [r14 + 136]",
            "pushfq",
            "pop qword ptr [r14 + 120]",
            "cld",
            "movdqu [r14], xmm0",
            "movdqu [r14 + 16], xmm1",
            "movdqu [r14 + 32], xmm2",
            "movdqu [r14 + 48], xmm3",
            "stmxcsr [r14 + 128]",
            "mov [r14 + 64], rax",
            "mov [r14 + 72], rcx",
            "mov [r14 + 80], rdx",
            "mov [r14 + 88], rbx",
            "mov [r14 + 96], rsi",
            "mov [r14 + 104], r8",
            "mov [r14 + 112], r9",
            "pop rbp",
            "pop rbx",
            in("r14") context,
            out("rax") _, out("rcx") _, out("rdx") _, out("rsi") _, out("rdi") _, out("r8") _, out("r9") _,
            out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r15") _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
        );
        let mxcsr = 0x1F80_u32;
        asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr);
    }
}

/// The bytes of an instruction, from the assembler.
macro_rules! assemble {
    ($text:expr) => {{
        let (start, end): (*const u8, *const u8);
        // SAFETY: only takes addresses of read-only data.
        unsafe {
            std::arch::asm!(
                "lea {0}, [rip + 2f]", "lea {1}, [rip + 3f]",
                ".pushsection .rodata.oracle, \"a\", @progbits", "2:", $text, "3:", ".popsection",
                out(reg) start, out(reg) end,
            );
            std::slice::from_raw_parts(start, end.offset_from(start) as usize)
        }
    }};
}

pub(crate) struct Case {
    pub(crate) text: &'static str,
    pub(crate) bytes: &'static [u8],
    /// Flags to ignore.
    pub(crate) undefined: u64,
}

macro_rules! cases {
    ($list:ident: $($undefined:expr => $($text:literal)*;)*) => {
        $( $( $list.push($crate::host::Case {
            text: $text,
            bytes: $crate::host::assemble!($text),
            undefined: $undefined,
        }); )* )*
    };
}

pub(crate) use {assemble, cases};

/// Edges, and random values.
impl Random {
    fn value(&mut self) -> u64 {
        const EDGES: [u64; 14] = [
            0,
            1,
            2,
            0x7F,
            0x80,
            0xFF,
            0x7FFF,
            0x8000,
            0xFFFF,
            0x7FFF_FFFF,
            0x8000_0000,
            0xFFFF_FFFF,
            1 << 63,
            u64::MAX,
        ];
        let pick = self.next();
        match pick % 4 {
            0 => EDGES[(pick >> 8) as usize % EDGES.len()],
            1 => self.next() >> (pick >> 8 & 63),
            _ => self.next(),
        }
    }

    fn float(&mut self) -> u64 {
        const EDGES: [f64; 10] =
            [0.0, -0.0, 1.0, -1.5, 2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e-300];
        let pick = self.next();
        match pick % 6 {
            0 => EDGES[(pick >> 8) as usize % EDGES.len()].to_bits(),
            1 => ((self.next() as i32) as f64 / 8.0).to_bits(),
            2 => (self.next() as i64 as f64 * 1e-9).to_bits(),
            // A signalling NaN, a subnormal.
            3 if pick & 0x700 == 0 => 0x7FF0_0000_0000_0001,
            3 if pick & 0x700 == 0x100 => pick >> 20,
            3 => ((self.next() % 1000) as f64).to_bits(),
            _ => self.next(),
        }
    }

    fn floats32(&mut self) -> u64 {
        let mut one = || match self.next() % 3 {
            0 => u64::from((f64::from_bits(self.float()) as f32).to_bits()),
            1 => u64::from(((self.next() % 2000) as f32 / 4.0 - 100.0).to_bits()),
            _ => self.next() & 0xFFFF_FFFF,
        };
        one() << 32 | one()
    }

    /// Bytes or words, few different ones, with an end in most cases.
    fn text(&mut self) -> u128 {
        let words = self.next() & 1 != 0;
        let mut all = 0;
        for _ in 0..if words { 8 } else { 16 } {
            let pick = self.next();
            let character = match pick & 15 {
                0 => 0,
                1 => 0x80 + (pick >> 8 & 3),
                2 => 0xFFFF,
                _ => 0x61 + (pick >> 8 & 3),
            };
            all = if words {
                all << 16 | u128::from(character)
            } else {
                all << 8 | u128::from(character & 0xFF)
            };
        }
        all
    }

    /// Of a string: mostly short, also negative and huge.
    fn length(&mut self) -> u64 {
        let pick = self.next();
        match pick % 8 {
            0 => self.next(),
            1 => (pick >> 8 & 31).wrapping_neg(),
            2 => u64::from((pick >> 8 & 31) as u32).wrapping_neg() & 0xFFFF_FFFF,
            3 => [1 << 31, 1 << 63, 0xFFFF_FFFF, 1 << 32][(pick >> 8 & 3) as usize],
            _ => pick >> 8 & 31,
        }
    }
}

fn guest() -> (TestBus, Cpu<TestBus>) {
    let mut bus = TestBus::new(8 << 20);
    // Linear 0 to 2 MiB of the gigabyte at CODE, and SCRATCH.
    bus.write_u64(TABLES, (TABLES + 0x1000) | 7);
    bus.write_u64(TABLES + 0x1000, (TABLES + 0x2000) | 7);
    bus.write_u64(TABLES + 0x2000, CODE | 0x87);
    bus.write_u64(TABLES + 0x2000 + (SCRATCH >> 21) * 8, (TABLES + 0x3000) | 7);
    for page in 0..SCRATCH_LEN as u64 / 4096 {
        bus.write_u64(TABLES + 0x3000 + page * 8, (DATA + page * 4096) | 7);
    }
    (bus, Cpu::default().with_silicon(crate::common::host_silicon()))
}

fn user_state(context: &Context) -> State {
    let mut state = State {
        rflags: context.flags | 2,
        cr0: 0x8001_0033,
        cr3: TABLES,
        // OSXSAVE too.
        cr4: 0x4_0620,
        xcr0: 0xE7,
        efer: 0xD00,
        mxcsr: context.mxcsr as u32,
        ..State::default()
    };
    state.segments[1] = Segment { selector: 0x33, base: 0, limit: u32::MAX, rights: 0xA0FB };
    state.segments[2] = Segment { selector: 0x2B, base: 0, limit: u32::MAX, rights: 0xC0F3 };
    let c = context;
    state.gpr[..4].copy_from_slice(&[c.rax, c.rcx, c.rdx, c.rbx]);
    // Not in the scratch memory: the native stack is elsewhere too.
    state.gpr[4] = 0x10_0000;
    state.gpr[6] = c.rsi;
    state.gpr[7] = SCRATCH + 0x400;
    state.gpr[8..10].copy_from_slice(&[c.r8, c.r9]);
    state.xmm[..4].copy_from_slice(&c.xmm);
    state
}

fn interpreted(context: &Context, state: &State) -> Context {
    Context {
        xmm: state.xmm[..4].try_into().unwrap(),
        rax: state.gpr[0],
        rcx: state.gpr[1],
        rdx: state.gpr[2],
        rbx: state.gpr[3],
        rsi: state.gpr[6],
        r8: state.gpr[8],
        r9: state.gpr[9],
        flags: state.rflags,
        mxcsr: u64::from(state.mxcsr),
        code: context.code,
    }
}

/// What the registers and memory hold.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Inputs {
    Integers,
    Doubles,
    Singles,
    /// A dividend that fits: RDX small or the sign of RAX.
    Dividend,
    /// Strings over a few characters; lengths in RAX and RDX.
    Text,
}

/// What one run gave on both sides.
struct Outcome {
    before: Context,
    native: Context,
    soft: Context,
    exit: Exit,
    rip: u64,
    memory_agrees: bool,
}

/// Runs every case `rounds` times, until `visit` is false for it.
fn run(cases: &[Case], rounds: usize, inputs: Inputs, mut visit: impl FnMut(&Case, Outcome) -> bool) {
    static LOCK: std::sync::Mutex<Option<(usize, usize)>> = std::sync::Mutex::new(None);
    let mut maps = LOCK.lock().unwrap();
    let (code, scratch) =
        *maps.get_or_insert_with(|| (map(0, 4096, true) as usize, map(SCRATCH, SCRATCH_LEN, false) as usize));
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut bus, mut cpu) = guest();
    let background: Vec<u8> = (0..SCRATCH_LEN).map(|n| (n * 7) as u8).collect();
    for case in cases {
        // SAFETY: the mapping is 4096 bytes, and a case is at most some dozen.
        unsafe {
            std::ptr::copy_nonoverlapping(case.bytes.as_ptr(), code as *mut u8, case.bytes.len());
            *(code as *mut u8).add(case.bytes.len()) = 0xC3;
        }
        bus.write(CODE, case.bytes);
        cpu.memory_changed(CODE, 4096);
        for round in 0..rounds {
            let mut wide = || match inputs {
                Inputs::Doubles => u128::from(random.float()) << 64 | u128::from(random.float()),
                Inputs::Singles => u128::from(random.floats32()) << 64 | u128::from(random.floats32()),
                Inputs::Text => random.text(),
                _ => u128::from(random.value()) << 64 | u128::from(random.value()),
            };
            let xmm = [wide(), wide(), wide(), wide()];
            let memory = [wide(), wide()];
            let flags = match round % 3 {
                0 => 0,
                1 => FLAGS,
                _ => random.next() & FLAGS,
            };
            let float = inputs == Inputs::Doubles || inputs == Inputs::Singles;
            // Rounding mode, exception flags, and in every fourth round DAZ and FTZ.
            let changed = if round % 4 == 3 { 0xE07F } else { 0x603F };
            let mxcsr = 0x1F80 | if float { random.next() & changed } else { 0 };
            let mut context = Context {
                xmm,
                rax: random.value(),
                rcx: random.value(),
                rdx: random.value(),
                rbx: random.value(),
                rsi: SCRATCH + 0x800,
                r8: random.value(),
                r9: random.value(),
                flags: flags | 0x202,
                mxcsr,
                code: code as u64,
            };
            match inputs {
                Inputs::Dividend => {
                    context.rcx |= 0x8_0008;
                    context.rcx |= (random.next() & 1) << 40;
                    context.rax &= 0x3FF;
                    context.rdx = 0;
                }
                Inputs::Text => {
                    context.rax = random.length();
                    context.rdx = random.length();
                }
                _ => {}
            }
            let mut image = background.clone();
            image[0x800..0x810].copy_from_slice(&memory[0].to_le_bytes());
            image[0x810..0x820].copy_from_slice(&memory[1].to_le_bytes());
            bus.write(DATA, &image);
            // SAFETY: the mapping has this size.
            unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), scratch as *mut u8, SCRATCH_LEN) };

            let before = context;
            native(&mut context);
            cpu.set_state(&user_state(&before));
            let exit = cpu.run(&mut bus, Budget { instructions: count(case.bytes), interrupt_window: false });
            let state = cpu.state();
            let mut soft = interpreted(&before, &state);
            soft.flags &= FLAGS & !case.undefined;
            context.flags &= FLAGS & !case.undefined;
            // SAFETY: the mapping has this size, and nothing writes to it now.
            let native_memory = unsafe { std::slice::from_raw_parts(scratch as *const u8, SCRATCH_LEN) };
            let memory_agrees = native_memory == &bus.ram[DATA as usize..DATA as usize + SCRATCH_LEN];
            let outcome = Outcome { before, native: context, soft, exit, rip: state.rip, memory_agrees };
            if !visit(case, outcome) {
                break;
            }
        }
    }
}

/// Runs every case `rounds` times; returns the differences, at most one for each.
fn compare(cases: &[Case], rounds: usize, inputs: Inputs) -> Vec<String> {
    let mut differences = Vec::new();
    run(cases, rounds, inputs, |case, outcome| {
        let Outcome { before, native, soft, exit, rip, memory_agrees } = outcome;
        let agrees =
            native == soft && memory_agrees && exit == Exit::Budget && rip == case.bytes.len() as u64;
        if !agrees {
            let memory = if memory_agrees { "agrees" } else { "differs" };
            differences.push(format!(
                "{}: {exit:?}, memory {memory}, rip {rip:#x}\n before {before:x?}\n native {native:x?}\n \
                 soft   {soft:x?}",
                case.text,
            ));
        }
        agrees
    });
    differences
}

/// The native and the interpreted results of a case whose results may differ.
pub(crate) fn outputs(case: &Case, rounds: usize, inputs: Inputs) -> Vec<(Context, Context)> {
    let mut all = Vec::new();
    run(std::slice::from_ref(case), rounds, inputs, |_, outcome| {
        assert_eq!(outcome.exit, Exit::Budget);
        all.push((outcome.native, outcome.soft));
        true
    });
    all
}

/// Instructions in the case.
fn count(bytes: &[u8]) -> u64 {
    let mut decoder = iced_x86::Decoder::new(64, bytes, 0);
    decoder.iter().count() as u64
}

pub(crate) fn check(cases: &[Case], inputs: Inputs) {
    let differences = compare(cases, 60, inputs);
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), cases.len(), differences.join("\n"));
}
