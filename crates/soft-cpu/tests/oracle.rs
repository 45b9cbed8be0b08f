//! The host's CPU as oracle: user-mode instructions run natively and in the interpreter, on the same
//! registers, flags and memory, and must agree. Flags that the SDM leaves undefined are masked per
//! instruction.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use common::TestBus;
use soft_cpu::{Budget, Cpu, Exit, Segment, State};
use std::arch::asm;

const CF: u64 = 1;
const PF: u64 = 1 << 2;
const AF: u64 = 1 << 4;
const ZF: u64 = 1 << 6;
const SF: u64 = 1 << 7;
const OF: u64 = 1 << 11;
const FLAGS: u64 = CF | PF | AF | ZF | SF | OF;

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
struct Context {
    xmm: [u128; 4],
    rax: u64,
    rcx: u64,
    rdx: u64,
    rbx: u64,
    rsi: u64,
    r8: u64,
    r9: u64,
    flags: u64,
    mxcsr: u64,
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
            asm!("lea {0}, [rip + 2f]", "lea {1}, [rip + 3f]", ".pushsection .rodata.oracle, \"a\", @progbits",
                "2:", $text, "3:", ".popsection", out(reg) start, out(reg) end);
            std::slice::from_raw_parts(start, end.offset_from(start) as usize)
        }
    }};
}

struct Case {
    text: &'static str,
    bytes: &'static [u8],
    undefined: u64,
}

macro_rules! cases {
    ($list:ident: $($undefined:expr => $($text:literal)*;)*) => {
        $( $( $list.push(Case { text: $text, bytes: assemble!($text), undefined: $undefined }); )* )*
    };
}

/// Deterministic values: edges, and xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

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
    (bus, Cpu::default())
}

fn user_state(context: &Context) -> State {
    let mut state = State {
        rflags: context.flags | 2,
        cr0: 0x8001_0033,
        cr3: TABLES,
        cr4: 0x620,
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

/// How the inputs look.
#[derive(Clone, Copy, PartialEq)]
enum Inputs {
    Integers,
    Doubles,
    Singles,
    /// A dividend that fits: RDX small or the sign of RAX.
    Dividend,
}

/// Runs every case `rounds` times; returns the differences.
fn compare(cases: &[Case], rounds: usize, inputs: Inputs) -> Vec<String> {
    static LOCK: std::sync::Mutex<Option<(usize, usize)>> = std::sync::Mutex::new(None);
    let mut maps = LOCK.lock().unwrap();
    let (code, scratch) =
        *maps.get_or_insert_with(|| (map(0, 4096, true) as usize, map(SCRATCH, SCRATCH_LEN, false) as usize));
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut bus, mut cpu) = guest();
    let mut differences = Vec::new();
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
            let mxcsr =
                if float { 0x1F80 | (random.next() & 3) << 13 | random.next() & 0x3F } else { 0x1F80 };
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
            if inputs == Inputs::Dividend {
                context.rcx |= 0x8_0008;
                context.rcx |= (random.next() & 1) << 40;
                context.rax &= 0x3FF;
                context.rdx = 0;
            }
            let mut image = [0_u8; SCRATCH_LEN];
            for (n, byte) in image.iter_mut().enumerate() {
                *byte = (n * 7 + round) as u8;
            }
            image[0x800..0x810].copy_from_slice(&memory[0].to_le_bytes());
            image[0x810..0x820].copy_from_slice(&memory[1].to_le_bytes());
            bus.write(DATA, &image);
            // SAFETY: the mapping has this size.
            unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), scratch as *mut u8, SCRATCH_LEN) };

            let before = context;
            native(&mut context);
            cpu.set_state(&user_state(&before));
            let exit = cpu.run(&mut bus, Budget { instructions: count(case.bytes), interrupt_window: false });
            let mut ours = interpreted(&before, &cpu.state());
            let mut theirs = context;
            ours.flags &= FLAGS & !case.undefined;
            theirs.flags &= FLAGS & !case.undefined;
            let end = cpu.state().rip == case.bytes.len() as u64;
            // SAFETY: the mapping has this size, and nobody writes to it now.
            let native_memory = unsafe { std::slice::from_raw_parts(scratch as *const u8, SCRATCH_LEN) };
            let memory_agrees = native_memory == &bus.ram[DATA as usize..DATA as usize + SCRATCH_LEN];
            if ours != theirs || !memory_agrees || exit != Exit::Budget || !end {
                differences.push(format!(
                    "{}: {exit:?}, memory {}, rip {:#x}\n before {before:x?}\n native {theirs:x?}\n soft   {ours:x?}",
                    case.text,
                    if memory_agrees { "agrees" } else { "differs" },
                    cpu.state().rip,
                ));
                break;
            }
        }
    }
    differences
}

/// Instructions in the case.
fn count(bytes: &[u8]) -> u64 {
    let mut decoder = iced_x86::Decoder::new(64, bytes, 0);
    decoder.iter().count() as u64
}

fn check(cases: &[Case], inputs: Inputs) {
    let differences = compare(cases, 60, inputs);
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), cases.len(), differences.join("\n"));
}

#[test]
fn arithmetic_and_logic() {
    let mut list = Vec::new();
    cases! { list:
        0 => "add rax, rcx" "add eax, ecx" "add ax, cx" "add al, cl" "add ah, cl" "add bl, dh" "add r8b, r9b"
             "add rax, [rsi]" "add [rsi], eax" "add word ptr [rsi + 3], ax" "add byte ptr [rsi + 1], bh" "add rax, 0x7fffffff"
             "add eax, -1" "add ax, 0x1234" "add al, 0x80" "add dword ptr [rsi], 1" "add qword ptr [rsi + 8], -2"
             "adc rax, rcx" "adc eax, ecx" "adc ax, cx" "adc al, cl" "adc [rsi], rax" "adc ecx, [rsi]" "adc eax, -1"
             "sub rax, rcx" "sub eax, ecx" "sub ax, cx" "sub al, cl" "sub [rsi], rax" "sub ecx, [rsi]" "sub rax, 5"
             "sbb rax, rcx" "sbb eax, ecx" "sbb ax, cx" "sbb al, cl" "sbb [rsi], rax" "sbb ecx, [rsi]" "sbb eax, eax"
             "cmp rax, rcx" "cmp eax, ecx" "cmp ax, cx" "cmp al, cl" "cmp [rsi], rax" "cmp ecx, [rsi]" "cmp byte ptr [rsi], 9"
             "inc rax" "inc eax" "inc ax" "inc al" "inc dword ptr [rsi]" "dec rax" "dec ecx" "dec dx" "dec bh" "dec byte ptr [rsi]"
             "neg rax" "neg ecx" "neg dx" "neg bl" "neg word ptr [rsi]" "not rax" "not ecx" "not dx" "not bl" "not qword ptr [rsi]"
             "xadd rax, rcx" "xadd eax, ecx" "xadd [rsi], rax" "xadd [rsi], cl" "xadd rax, rax" "lock xadd [rsi], ecx"
             "cmpxchg rcx, rdx" "cmpxchg ecx, edx" "cmpxchg [rsi], rcx" "cmpxchg [rsi], cl" "mov rax, [rsi]; lock cmpxchg [rsi], rcx"
             "cmpxchg8b [rsi]" "cmpxchg16b [rsi]" "mov rax, [rsi]; mov rdx, [rsi + 8]; cmpxchg16b [rsi]"
             "xchg rax, rcx" "xchg eax, ecx" "xchg al, ch" "xchg [rsi], rdx" "xchg [rsi], bh";
        AF => "and rax, rcx" "and eax, ecx" "and ax, cx" "and al, ch" "and [rsi], rax" "and eax, [rsi]" "and eax, 0xff"
              "or rax, rcx" "or eax, ecx" "or ax, cx" "or al, ch" "or [rsi], rax" "or eax, [rsi]" "or rax, -16"
              "xor rax, rcx" "xor eax, ecx" "xor ax, cx" "xor al, ch" "xor [rsi], rax" "xor eax, [rsi]" "xor eax, eax"
              "test rax, rcx" "test eax, ecx" "test ax, cx" "test al, ch" "test [rsi], rax" "test eax, 0xff";
        SF | ZF | AF | PF => "mul rcx" "mul ecx" "mul cx" "mul cl" "mul qword ptr [rsi]" "mul bh" "imul rcx" "imul ecx" "imul cx" "imul cl"
              "imul rax, rcx" "imul eax, ecx" "imul ax, cx" "imul rax, [rsi]" "imul rax, rcx, 1000" "imul eax, [rsi], -3" "imul dx, cx, 7";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn division() {
    let mut list = Vec::new();
    cases! { list:
        FLAGS => "div rcx" "div ecx" "div cx" "div cl" "idiv rcx" "idiv ecx" "idiv cx" "cqo; idiv rcx" "cdq; idiv ecx"
             "neg rax; cqo; idiv rcx" "neg eax; cdq; idiv ecx" "neg ax; cwd; idiv cx" "mov rdx, 3; div rcx";
    }
    // 8-bit divisors are 8 at least, so that quotients of 10 bits fit.
    check(&list[..3], Inputs::Dividend);
    check(&list[4..12], Inputs::Dividend);
}

#[test]
fn shifts_rotates_and_bits() {
    let mut list = Vec::new();
    cases! { list:
        AF => "shl rax, 1" "shl eax, 1" "shl ax, 1" "shl al, 1" "shr rax, 1" "shr eax, 1" "shr ax, 1" "shr al, 1"
              "sar rax, 1" "sar eax, 1" "sar ax, 1" "sar al, 1" "shl dword ptr [rsi], 1" "shr byte ptr [rsi], 1";
        OF | AF => "shl rax, 13" "shl eax, 31" "shr rax, 63" "shr eax, 7" "sar rax, 62" "sar eax, 9"
              "shl rax, cl" "shl eax, cl" "shr rax, cl" "shr eax, cl" "sar rax, cl" "sar eax, cl" "sar ax, cl" "sar al, cl"
              "shl qword ptr [rsi], cl" "sar dword ptr [rsi + 2], cl"
              "shld rax, rdx, 9" "shld eax, edx, 9" "shld rax, rdx, cl" "shld eax, edx, cl" "shrd rax, rdx, 9" "shrd eax, edx, 31"
              "shrd rax, rdx, cl" "shrd eax, edx, cl" "shld [rsi], rdx, cl" "shrd [rsi], edx, 3" "shld ax, dx, 5" "shrd ax, dx, 11";
        // CF is undefined when the count exceeds the width.
        OF | AF | CF => "shl ax, cl" "shl al, cl" "shr ax, cl" "shr al, cl";
        0 => "rol rax, 1" "rol eax, 1" "rol ax, 1" "rol al, 1" "ror rax, 1" "ror eax, 1" "ror ax, 1" "ror al, 1"
             "rcl rax, 1" "rcl eax, 1" "rcl ax, 1" "rcl al, 1" "rcr rax, 1" "rcr eax, 1" "rcr ax, 1" "rcr al, 1" "shl rax, 0";
        OF => "rol rax, cl" "rol eax, cl" "rol ax, cl" "rol al, cl" "ror rax, cl" "ror eax, cl" "ror ax, cl" "ror al, cl"
              "rcl rax, cl" "rcl eax, cl" "rcl ax, cl" "rcl al, cl" "rcr rax, cl" "rcr eax, cl" "rcr ax, cl" "rcr al, cl"
              "rol rax, 9" "ror eax, 16" "rcl eax, 5" "rcr rax, 40" "rol dword ptr [rsi], 3" "rcr word ptr [rsi], cl";
        OF | SF | AF | PF => "bt rax, rcx" "bt eax, ecx" "bt ax, cx" "bt rax, 63" "bt eax, 5" "bts rax, rcx" "bts eax, 7" "btr rax, rcx"
              "btr eax, ecx" "btc rax, rcx" "btc ax, cx" "bts dword ptr [rsi], 9" "btr qword ptr [rsi], 40" "btc word ptr [rsi], 3"
              "movsx rcx, cl; bt [rsi], rcx" "movsx rcx, cl; bts [rsi], rcx" "movsx ecx, cl; btr [rsi], ecx" "movsx cx, cl; btc [rsi], cx";
        CF | OF | SF | AF | PF => "bsf rax, rcx" "bsf eax, ecx" "bsf ax, cx" "bsr rax, rcx" "bsr eax, ecx" "bsr ax, cx" "bsf rax, [rsi]";
        0 => "popcnt rax, rcx" "popcnt eax, [rsi]" "popcnt ax, cx";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn moves_conditions_and_stack() {
    let mut list = Vec::new();
    cases! { list:
        0 => "mov rax, rcx" "mov eax, ecx" "mov ax, cx" "mov al, ch" "mov ah, bl" "mov [rsi], rcx" "mov [rsi], ch" "mov eax, [rsi + 5]"
             "mov rax, 0x123456789abcdef0" "mov rax, -5" "mov dword ptr [rsi], 7" "movzx eax, cl" "movzx eax, ch" "movzx rax, cx"
             "movzx ax, cl" "movzx eax, byte ptr [rsi]" "movsx rax, cl" "movsx eax, cx" "movsx ax, ch" "movsxd rax, ecx"
             "movsx rax, word ptr [rsi]" "movsxd rax, dword ptr [rsi]" "lea rax, [rcx + rdx * 4 + 12]" "lea eax, [rcx + rdx * 8 - 1]"
             "lea ax, [rcx + 3]" "lea rax, [ecx + edx]" "bswap rax" "bswap ecx" "cbw" "cwde" "cdqe" "cwd" "cdq" "cqo" "lahf" "sahf" "clc" "stc" "cmc"
             "movbe rax, [rsi]" "movbe [rsi], ecx" "movbe ax, [rsi]" "movnti [rsi], rax" "nop" "endbr64" "pause" "lfence" "prefetcht0 [rsi]"
             "cmovo rax, rcx" "cmovno eax, ecx" "cmovb ax, cx" "cmovae rax, rcx" "cmove eax, [rsi]" "cmovne rax, [rsi]" "cmovbe rax, rcx"
             "cmova eax, ecx" "cmovs rax, rcx" "cmovns eax, ecx" "cmovp rax, rcx" "cmovnp eax, ecx" "cmovl rax, rcx" "cmovge eax, ecx"
             "cmovle rax, rcx" "cmovg eax, ecx" "seto al" "setno cl" "setb ah" "setae [rsi]" "sete al" "setne al" "setbe al" "seta al"
             "sets al" "setns al" "setp al" "setnp al" "setl al" "setge al" "setle al" "setg al"
             "push rax; pop rcx" "push 5; pop rax" "push -1; pop rdx" "push qword ptr [rsi]; pop rbx" "push cx; pop ax" "pushfq; popfq"
             "push rax; pop qword ptr [rsi]" "mov r9, rsp; mov rax, rcx; push rsp; pop rax; sub rax, r9; xor r9d, r9d; cmp rax, 1"
             "lea rbx, [rsi]; and al, 31; xlatb; xor ebx, ebx";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn strings() {
    let mut list = Vec::new();
    cases! { list:
        0 => "lea rdi, [rsi + 64]; movsb; xor edi, edi" "lea rdi, [rsi + 64]; movsq; xor edi, edi" "lodsb" "lodsw" "lodsd" "lodsq"
             "lea rdi, [rsi + 64]; mov ecx, 37; rep movsb; xor edi, edi" "lea rdi, [rsi + 3]; mov ecx, 9; rep movsq; xor edi, edi"
             "lea rdi, [rsi + 64]; mov ecx, 37; rep stosb; xor edi, edi" "lea rdi, [rsi + 64]; mov ecx, 5; rep stosd; xor edi, edi"
             "mov rdi, rsi; mov ecx, 40; repne scasb; mov rdx, rdi; xor edi, edi; cmp rdx, 5" "mov rdi, rsi; mov ecx, 40; repe scasw; xor edi, edi"
             "lea rdi, [rsi + 2]; mov ecx, 20; repe cmpsb; xor edi, edi" "lea rdi, [rsi + 256]; mov ecx, 40; repne cmpsd; xor edi, edi"
             "lea rdi, [rsi + 64]; std; mov ecx, 20; rep movsb; cld; xor edi, edi" "xor ecx, ecx; rep stosb" "lea rdi, [rsi + 0x7f0]; mov ecx, 30; rep stosq; xor edi, edi";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn sse_integer() {
    let mut list = Vec::new();
    macro_rules! both {
        ($($name:literal)*) => {
            $(
                list.push(Case { text: $name, bytes: assemble!(concat!($name, " xmm0, xmm1; ", $name, " xmm2, xmmword ptr [rsi]")), undefined: 0 });
            )*
        };
    }
    both! { "paddb" "paddw" "paddd" "paddq" "psubb" "psubw" "psubd" "psubq" "paddsb" "paddsw" "paddusb" "paddusw" "psubsb" "psubsw"
    "psubusb" "psubusw" "pmullw" "pmulhw" "pmulhuw" "pmuludq" "pmaddwd" "psadbw" "pavgb" "pavgw" "pminub" "pmaxub"
    "pminsw" "pmaxsw" "pand" "pandn" "por" "pxor" "pcmpeqb" "pcmpeqw" "pcmpeqd" "pcmpgtb" "pcmpgtw" "pcmpgtd" "psllw" "pslld"
    "psllq" "psrlw" "psrld" "psrlq" "psraw" "psrad" "packsswb" "packssdw" "packuswb" "punpcklbw" "punpcklwd" "punpckldq"
    "punpcklqdq" "punpckhbw" "punpckhwd" "punpckhdq" "punpckhqdq" "andps" "andnpd" "orps" "xorpd" "unpcklps" "unpckhps"
    "unpcklpd" "unpckhpd" "movaps" "movups" "movdqa" "movdqu" }
    cases! { list:
        0 => "psllw xmm0, 3" "pslld xmm0, 31" "psllq xmm0, 40" "psrlw xmm0, 16" "psrld xmm0, 1" "psrlq xmm0, 63" "psraw xmm0, 20" "psrad xmm0, 5"
             "pslldq xmm0, 5" "psrldq xmm0, 15" "psrldq xmm0, 16" "pshufd xmm0, xmm1, 0x1b" "pshuflw xmm0, xmm1, 0x93" "pshufhw xmm0, [rsi], 0x4e"
             "shufps xmm0, xmm1, 0xc6" "shufpd xmm0, xmm1, 1" "shufpd xmm0, [rsi], 2" "movd xmm0, eax" "movq xmm0, rax" "movd eax, xmm1" "movq rax, xmm1"
             "movd xmm0, dword ptr [rsi]" "movq xmm0, qword ptr [rsi]" "movd dword ptr [rsi], xmm0" "movq qword ptr [rsi], xmm0" "movq xmm0, xmm1"
             "movss xmm0, xmm1" "movsd xmm0, xmm1" "movss xmm0, [rsi]" "movsd xmm0, [rsi + 3]" "movss [rsi], xmm0" "movsd [rsi], xmm0" "movlps xmm0, [rsi]"
             "movhps xmm0, [rsi]" "movlpd [rsi], xmm0" "movhpd [rsi], xmm0" "movlhps xmm0, xmm1" "movhlps xmm0, xmm1" "pmovmskb eax, xmm0"
             "movmskps eax, xmm0" "movmskpd eax, xmm1" "pinsrw xmm0, eax, 5" "pinsrw xmm0, [rsi], 2" "pextrw eax, xmm0, 3" "movups [rsi + 1], xmm1"
             "movntdq [rsi], xmm2" "movaps [rsi], xmm3" "lea rdi, [rsi + 32]; maskmovdqu xmm0, xmm1; xor edi, edi";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn sse_double() {
    let mut list = Vec::new();
    cases! { list:
        0 => "addsd xmm0, xmm1" "subsd xmm0, xmm1" "mulsd xmm0, xmm1" "divsd xmm0, xmm1" "minsd xmm0, xmm1" "maxsd xmm0, xmm1" "sqrtsd xmm0, xmm1"
             "addpd xmm0, xmm1" "subpd xmm0, [rsi]" "mulpd xmm0, xmm1" "divpd xmm0, xmm1" "minpd xmm0, xmm1" "maxpd xmm0, [rsi]" "sqrtpd xmm0, xmm1"
             "addsd xmm0, [rsi]" "ucomisd xmm0, xmm1" "comisd xmm0, xmm1" "ucomisd xmm0, [rsi]" "cmpeqsd xmm0, xmm1" "cmpltsd xmm0, xmm1"
             "cmplesd xmm0, xmm1" "cmpunordsd xmm0, xmm1" "cmpneqsd xmm0, xmm1" "cmpnltsd xmm0, xmm1" "cmpnlesd xmm0, xmm1" "cmpordpd xmm0, xmm1"
             "cvttsd2si rax, xmm0" "cvttsd2si eax, xmm0" "cvtsd2si rax, xmm0" "cvtsd2si eax, [rsi]" "cvtsi2sd xmm0, rax" "cvtsi2sd xmm0, ecx"
             "cvtsi2sd xmm0, qword ptr [rsi]" "cvtsd2ss xmm0, xmm1" "cvtpd2ps xmm0, xmm1" "cvtdq2pd xmm0, xmm1" "cvttpd2dq xmm0, xmm1"
             "cvtpd2dq xmm0, xmm1" "cvtdq2pd xmm0, [rsi]" "cvtsi2ss xmm0, rax";
    }
    check(&list, Inputs::Doubles);
}

#[test]
fn sse_single() {
    let mut list = Vec::new();
    cases! { list:
        0 => "addss xmm0, xmm1" "subss xmm0, xmm1" "mulss xmm0, xmm1" "divss xmm0, xmm1" "minss xmm0, xmm1" "maxss xmm0, xmm1" "sqrtss xmm0, xmm1"
             "addps xmm0, xmm1" "subps xmm0, [rsi]" "mulps xmm0, xmm1" "divps xmm0, xmm1" "minps xmm0, xmm1" "maxps xmm0, [rsi]" "sqrtps xmm0, xmm1"
             "mulss xmm0, [rsi]" "ucomiss xmm0, xmm1" "comiss xmm0, [rsi]" "cmpeqss xmm0, xmm1" "cmpltps xmm0, xmm1" "cmpleps xmm0, xmm1"
             "cmpunordps xmm0, xmm1" "cmpneqps xmm0, xmm1" "cvttss2si rax, xmm0" "cvttss2si eax, xmm0" "cvtss2si eax, xmm0" "cvtss2sd xmm0, xmm1"
             "cvtps2pd xmm0, xmm1" "cvtps2pd xmm0, [rsi]" "cvtdq2ps xmm0, xmm1" "cvtps2dq xmm0, xmm1" "cvttps2dq xmm0, xmm1";
    }
    check(&list, Inputs::Singles);
}
