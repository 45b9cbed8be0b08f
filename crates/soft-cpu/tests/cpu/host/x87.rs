//! x87 and MMX with the host's CPU as oracle: each instruction runs natively and in the interpreter on the same
//! FXSAVE image, flags and memory, with random operands, rounding and precision modes and exception masks, and must
//! leave the same.
//!
//! Not compared: the opcode and pointers, which depend on vendor and model.

use crate::common::{Random, TestBus};
use soft_cpu::{Budget, Cpu, Exit, Segment, State};
use std::arch::asm;
use std::fmt::Write as _;
use std::sync::Mutex;

/// Guest addresses, identity-mapped by one large page.
const TABLES: u64 = 0x1000;
const CODE: u64 = 0x4000;
const DATA: u64 = 0x5000;

/// What an instruction sees and leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
struct Machine {
    /// FXSAVE image.
    image: [u8; 512],
    /// RSI points here.
    memory: [u8; 128],
    rax: u64,
    flags: u64,
    code: u64,
}

impl Machine {
    fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.image[at..at + 2].try_into().unwrap())
    }
    fn set_word(&mut self, at: usize, value: u16) {
        self.image[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    fn vector(&self, at: usize) -> u128 {
        u128::from_le_bytes(self.image[at..at + 16].try_into().unwrap())
    }
    fn set_vector(&mut self, at: usize, value: u128) {
        self.image[at..at + 16].copy_from_slice(&value.to_le_bytes());
    }
    fn describe(&self, memory: usize) -> String {
        let mut text = format!("cw {:04x} sw {:04x} tw {:02x}", self.word(0), self.word(2), self.image[4]);
        for n in 0..8 {
            write!(text, " {:020x}", self.vector(32 + 16 * n)).unwrap();
        }
        write!(text, " xmm {:032x} {:032x}", self.vector(160), self.vector(176)).unwrap();
        write!(text, " rax {:x} flags {:x} memory {:02x?}", self.rax, self.flags, &self.memory[..memory])
            .unwrap();
        text
    }
}

/// A page for code.
fn executable_page() -> u64 {
    const MMAP: u64 = 9;
    let result: i64;
    // SAFETY: a new anonymous mapping touches no existing memory.
    unsafe {
        asm!("syscall", inlateout("rax") MMAP => result, in("rdi") 0, in("rsi") 4096, in("rdx") 7,
            in("r10") 0x22, in("r8") -1_i64, in("r9") 0, out("rcx") _, out("r11") _);
    }
    assert!(result > 0, "mmap failed: {result}");
    result as u64
}

/// Runs the code natively. FNINIT clears pending exceptions before anything could wait for them.
fn native(machine: &mut Machine) {
    // SAFETY: the code is one of the cases below; they change what is listed here, and `memory`.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "fxrstor64 [r14]",
            "lea rsi, [r14 + 512]",
            "mov rax, [r14 + 640]",
            "push qword ptr [r14 + 648]",
            "popfq",
            "call [r14 + 656]",
            "pushfq",
            "pop qword ptr [r14 + 648]",
            "mov [r14 + 640], rax",
            "fxsave64 [r14]",
            "fninit",
            "pop rbp",
            "pop rbx",
            in("r14") machine,
            out("rax") _, out("rcx") _, out("rdx") _, out("rsi") _, out("rdi") _, out("r8") _, out("r9") _,
            out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r15") _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
            out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
        );
        let mxcsr = 0x1F80_u32;
        asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr);
    }
}

fn guest() -> (TestBus, Cpu<TestBus>) {
    let mut bus = TestBus::new(1 << 20);
    bus.write_u64(TABLES, (TABLES + 0x1000) | 7);
    bus.write_u64(TABLES + 0x1000, (TABLES + 0x2000) | 7);
    bus.write_u64(TABLES + 0x2000, 0x87);
    (bus, Cpu::default().with_silicon(crate::common::host_silicon()))
}

fn user_state(machine: &Machine) -> State {
    let mut state = State {
        rip: CODE,
        rflags: machine.flags | 2,
        cr0: 0x8001_0033,
        cr3: TABLES,
        cr4: 0x620,
        efer: 0xD00,
        fcw: machine.word(0),
        fsw: machine.word(2),
        ftw: machine.image[4],
        ..State::default()
    };
    state.segments[1] = Segment { selector: 0x33, base: 0, limit: u32::MAX, rights: 0xA0FB };
    state.segments[2] = Segment { selector: 0x2B, base: 0, limit: u32::MAX, rights: 0xC0F3 };
    state.gpr[0] = machine.rax;
    state.gpr[4] = 0x10000;
    state.gpr[6] = DATA;
    for n in 0..8 {
        state.st[n] = machine.vector(32 + 16 * n);
        state.xmm[n] = machine.vector(160 + 16 * n);
    }
    state
}

fn interpreted(before: &Machine, state: &State, bus: &TestBus) -> Machine {
    let mut after = *before;
    after.set_word(0, state.fcw);
    after.set_word(2, state.fsw);
    after.image[4] = state.ftw;
    after.image[24..28].copy_from_slice(&state.mxcsr.to_le_bytes());
    for n in 0..8 {
        after.set_vector(32 + 16 * n, state.st[n]);
        after.set_vector(160 + 16 * n, state.xmm[n]);
    }
    after.rax = state.gpr[0];
    after.flags = state.rflags;
    after.memory.copy_from_slice(&bus.ram[DATA as usize..DATA as usize + 128]);
    after
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
}

macro_rules! cases {
    ($($text:literal)*) => { [$( Case { text: $text, bytes: assemble!($text) } ),*] };
}

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    fn significand(&mut self) -> u64 {
        let long = self.next();
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1,
            // Ends near the rounding points of the three precisions.
            3 => long & !0 << [0, 10, 11, 12, 39, 40, 41][self.below(7) as usize],
            4 => long | !0 >> [1, 25, 24, 54, 53][self.below(5) as usize],
            5 => long >> self.below(64),
            6 => long << self.below(64),
            _ => long,
        }
    }

    /// Any 80 bits, with the special encodings frequent.
    fn extended(&mut self) -> u128 {
        let sign = (self.next() & 0x8000) as u16;
        let integer_bit = 1_u64 << 63;
        let significand = self.significand();
        let (exponent, significand) = match self.below(16) {
            0 => (0, 0),
            1 => (0, significand & !integer_bit),
            2 => (0, significand | integer_bit),
            3 => (0x7FFF, integer_bit),
            4 => (0x7FFF, significand | integer_bit),
            5 => (0x7FFF, integer_bit | (self.next() & 3) << 61 | self.next() & 1),
            6 => (self.next() as u16, significand),
            7 => ((self.below(80)) as u16 + 1, significand | integer_bit),
            8 => (0x7FFE - self.below(80) as u16, significand | integer_bit),
            9 => (self.next() as u16 & 0x7FFF, significand | integer_bit),
            // Around the limits of single and double precision.
            10 => (0x3FFF - 127 - 24 + self.below(30) as u16, significand | integer_bit),
            11 => (0x3FFF - 1023 - 53 + self.below(60) as u16, significand | integer_bit),
            12 => (
                0x3FFF + [120, 1016][self.below(2) as usize] + self.below(12) as u16,
                significand | integer_bit,
            ),
            _ => (0x3FFF - 10 + self.below(90) as u16, significand | integer_bit),
        };
        u128::from(exponent & 0x7FFF | sign) << 64 | u128::from(significand)
    }

    fn single(&mut self) -> u32 {
        let bits = self.next() as u32;
        match self.below(6) {
            0 => bits & 0x807F_FFFF,
            1 => bits | 0x7F80_0000,
            2 => (bits as i32 as f32 / 64.0).to_bits(),
            3 => bits & 0xFF80_0000,
            _ => bits,
        }
    }

    fn double(&mut self) -> u64 {
        let bits = self.next();
        match self.below(6) {
            0 => bits & !(0x7FF << 52),
            1 => bits | 0x7FF << 52,
            2 => (bits as i64 as f64 / 64.0).to_bits(),
            3 => bits & 0xFFF << 52,
            _ => bits,
        }
    }
}

/// What RSI points to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Memory {
    Single,
    Double,
    Extended,
    Integer,
    Bcd,
    Environment,
}

fn random_machine(random: &mut Random, memory: Memory, code: u64) -> Machine {
    let mut machine = Machine { image: [0; 512], memory: [0; 128], rax: random.next(), flags: 0x202, code };
    machine.flags |= random.next() & 0x8D5;
    // All exceptions masked in most rounds, any mask else.
    let masks = if random.below(4) == 0 { random.next() as u16 & 0x3F } else { 0x3F };
    let control = masks | 0x40 | (random.next() as u16 & 0xF00);
    machine.set_word(0, control);
    // Condition codes and TOP; set exception flags only where they are masked.
    let status = random.next() as u16 & 0x7F00 | random.next() as u16 & (masks | 0x40);
    machine.set_word(2, status);
    machine.image[4] = match random.below(6) {
        0 => random.next() as u8,
        1 => 0,
        _ => {
            // The top registers are in use and one below is free.
            let top = u32::from(status >> 11 & 7);
            0x7F_u8.rotate_left(top)
        }
    };
    machine.image[24..28].copy_from_slice(&0x1F80_u32.to_le_bytes());
    for n in 0..8 {
        let value = random.extended();
        machine.set_vector(32 + 16 * n, value);
        machine.set_vector(160 + 16 * n, u128::from(random.next()) << 64 | u128::from(random.next()));
    }
    // Related operands: equal, opposite, near.
    if random.below(6) == 0 {
        let st0 = machine.vector(32);
        let other = match random.below(4) {
            0 => st0,
            1 => st0 ^ 1 << 79,
            2 => st0 ^ 1,
            _ => (st0 ^ 1 << 79).wrapping_add(1 << 64) & ((1 << 80) - 1),
        };
        machine.set_vector(48, other);
    }
    for n in (0..128).step_by(8) {
        machine.memory[n..n + 8].copy_from_slice(&random.next().to_le_bytes());
    }
    match memory {
        Memory::Single => machine.memory[..4].copy_from_slice(&random.single().to_le_bytes()),
        Memory::Double => machine.memory[..8].copy_from_slice(&random.double().to_le_bytes()),
        Memory::Extended => machine.memory[..16].copy_from_slice(&random.extended().to_le_bytes()),
        Memory::Integer => {
            let value = random.significand() as i64 >> random.below(64);
            machine.memory[..8].copy_from_slice(&value.to_le_bytes());
        }
        Memory::Bcd => {
            let mut value = random.next() & 0xFF00_0000_0000_0000;
            for n in 0..14 {
                value |= random.below(10) << (4 * n);
            }
            let bcd = u128::from(random.next() & 0x80) << 72
                | u128::from(random.below(10) << 4 | random.below(10)) << 64
                | u128::from(value & !(0xFF << 56) | random.below(10) << 60 | random.below(10) << 56);
            machine.memory[..16].copy_from_slice(&bcd.to_le_bytes());
        }
        Memory::Environment => {
            // Control and status word of a possible environment.
            machine.memory[0] |= 0x40;
        }
    }
    machine
}

/// Runs every case `rounds` times on both and reports the first differences. `adjust` blanks what need not agree.
fn check(cases: &[Case], memory: Memory, rounds: usize, adjust: impl Fn(&Machine, &mut Machine)) {
    // One native run at a time: there is one page of code.
    static PAGE: Mutex<Option<u64>> = Mutex::new(None);
    let mut page = PAGE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let code = *page.get_or_insert_with(executable_page);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut bus, mut cpu) = guest();
    let mut report = String::new();
    for case in cases {
        // SAFETY: the page has 4096 bytes, and a case is at most some dozen.
        unsafe {
            std::ptr::copy_nonoverlapping(case.bytes.as_ptr(), code as *mut u8, case.bytes.len());
            *(code as *mut u8).add(case.bytes.len()) = 0xC3;
        }
        bus.write(CODE, case.bytes);
        cpu.memory_changed(CODE, 4096);
        let mut differences = 0;
        for _ in 0..rounds {
            let before = random_machine(&mut random, memory, code);
            let mut expected = before;
            native(&mut expected);
            bus.write(DATA, &before.memory);
            cpu.set_state(&user_state(&before));
            let mut steps = 0;
            while cpu.state().rip != CODE + case.bytes.len() as u64 {
                let exit = cpu.run(&mut bus, Budget { instructions: 1, interrupt_window: false });
                assert_eq!(exit, Exit::Budget, "{}: {:?}", case.text, cpu.unimplemented());
                steps += 1;
                assert!(steps < 64, "{}: does not end", case.text);
            }
            let mut actual = interpreted(&before, &cpu.state(), &bus);
            actual.image[5..24].copy_from_slice(&expected.image[5..24]);
            actual.image[28..32].copy_from_slice(&expected.image[28..32]);
            actual.image[288..].copy_from_slice(&expected.image[288..]);
            adjust(&before, &mut expected);
            adjust(&before, &mut actual);
            if actual != expected {
                differences += 1;
                if differences <= 2 {
                    writeln!(
                        report,
                        "{}\n  before   {}\n  expected {}\n  actual   {}",
                        case.text,
                        before.describe(28),
                        expected.describe(28),
                        actual.describe(28)
                    )
                    .unwrap();
                }
            }
        }
        if differences > 0 {
            writeln!(report, "{}: {differences} of {rounds} differ\n", case.text).unwrap();
        }
    }
    assert!(report.is_empty(), "{report}");
}

fn exactly(_before: &Machine, _after: &mut Machine) {}

const C1: u16 = 1 << 9;
const CONDITION_CODES: u16 = 0x4700;

/// AMD keeps C1 where Intel clears it, and sets RFLAGS in spite of an unmasked exception.
fn except_c1(_before: &Machine, after: &mut Machine) {
    let status = after.word(2);
    after.set_word(2, status & !C1);
    if status & 0x80 != 0 {
        after.flags = 0;
    }
}

/// With an unmasked exception, AMD sets the condition codes to "unordered" and Intel keeps them.
fn except_codes_of_unmasked(_before: &Machine, after: &mut Machine) {
    let status = after.word(2);
    if status & 0x80 != 0 {
        after.set_word(2, status & !CONDITION_CODES);
    }
}

/// An unmasked underflow of FSCALE, FPREM and FPREM1 whose result is an exact denormal: Emerald Rapids leaves it as it
/// is and does not set UE; Zen 4 wraps the exponent, as SDM volume 1, Numeric Underflow Exception, says.
fn except_unmasked_underflow(before: &Machine, after: &mut Machine) {
    const UM: u16 = 1 << 4;
    if before.word(0) & UM == 0 {
        after.set_word(2, 0);
        after.image[32..48].fill(0);
    }
}

const ROUNDS: usize = 800;

#[test]
fn register_arithmetic() {
    let list = cases! { "fadd st(0), st(1)" "fadd st(1), st(0)"
    "faddp st(1), st(0)" "fsub st(0), st(1)" "fsub st(1), st(0)"
    "fsubp st(1), st(0)" "fsubr st(0), st(1)" "fsubr st(1), st(0)"
    "fsubrp st(1), st(0)" "fmul st(0), st(1)" "fmul st(2), st(0)"
    "fmulp st(1), st(0)" "fdiv st(0), st(1)" "fdiv st(1), st(0)"
    "fdivp st(1), st(0)" "fdivr st(0), st(1)" "fdivr st(1), st(0)"
    "fdivrp st(3), st(0)" "fadd st(0), st(0)" "fsub st(0), st(0)" };
    check(&list, Memory::Integer, ROUNDS, exactly);
}

#[test]
fn unary_operations() {
    let list = cases! { "fsqrt" "fabs" "fchs" "frndint" "fxtract" };
    check(&list, Memory::Integer, 4 * ROUNDS, exactly);
    let list = cases! { "fscale" };
    check(&list, Memory::Integer, 4 * ROUNDS, except_unmasked_underflow);
}

#[test]
fn remainders() {
    let list = cases! { "fprem" "fprem1" };
    check(&list, Memory::Integer, 4 * ROUNDS, except_unmasked_underflow);
}

#[test]
fn memory_arithmetic() {
    let list = cases! { "fadd dword ptr [rsi]" "fsub dword ptr [rsi]" "fsubr dword ptr [rsi]" "fmul dword ptr [rsi]"
    "fdiv dword ptr [rsi]" "fdivr dword ptr [rsi]" "fld dword ptr [rsi]" };
    check(&list, Memory::Single, ROUNDS, exactly);
    let list = cases! { "fadd qword ptr [rsi]" "fsub qword ptr [rsi]" "fsubr qword ptr [rsi]" "fmul qword ptr [rsi]"
    "fdiv qword ptr [rsi]" "fdivr qword ptr [rsi]" "fld qword ptr [rsi]" };
    check(&list, Memory::Double, ROUNDS, exactly);
    let list = cases! { "fiadd word ptr [rsi]" "fisub word ptr [rsi]"
    "fisubr word ptr [rsi]" "fimul word ptr [rsi]" "fidiv word ptr [rsi]"
    "fidivr word ptr [rsi]" "fild word ptr [rsi]" "fiadd dword ptr [rsi]"
    "fisub dword ptr [rsi]" "fisubr dword ptr [rsi]"
    "fimul dword ptr [rsi]" "fidiv dword ptr [rsi]" "fidivr dword ptr [rsi]"
    "fild dword ptr [rsi]" "fild qword ptr [rsi]" };
    check(&list, Memory::Integer, ROUNDS, exactly);
    let list = cases! { "ficom word ptr [rsi]" "ficomp word ptr [rsi]"
    "ficom dword ptr [rsi]" "ficomp dword ptr [rsi]" };
    check(&list, Memory::Integer, ROUNDS, except_codes_of_unmasked);
    let list = cases! { "fcom dword ptr [rsi]" "fcomp dword ptr [rsi]" };
    check(&list, Memory::Single, ROUNDS, except_codes_of_unmasked);
    let list = cases! { "fcom qword ptr [rsi]" "fcomp qword ptr [rsi]" };
    check(&list, Memory::Double, ROUNDS, except_codes_of_unmasked);
    check(&cases! { "fbld tbyte ptr [rsi]" }, Memory::Bcd, ROUNDS, exactly);
    check(&cases! { "fld tbyte ptr [rsi]" }, Memory::Extended, ROUNDS, exactly);
}

#[test]
fn comparisons() {
    let list = cases! { "fcom st(1)" "fcomp st(1)" "fcompp" "fucom st(1)" "fucomp st(1)" "fucompp" "ftst" };
    check(&list, Memory::Integer, ROUNDS, except_codes_of_unmasked);
    let list =
        cases! { "fcomi st(0), st(1)" "fcomip st(0), st(1)" "fucomi st(0), st(1)" "fucomip st(0), st(1)" };
    check(&list, Memory::Integer, ROUNDS, except_c1);
    check(&cases! { "fxam" }, Memory::Integer, ROUNDS, exactly);
}

#[test]
fn stores() {
    let list = cases! { "fst dword ptr [rsi]" "fstp dword ptr [rsi]"
    "fst qword ptr [rsi]" "fstp qword ptr [rsi]" "fstp tbyte ptr [rsi]"
    "fist word ptr [rsi]" "fistp word ptr [rsi]" "fist dword ptr [rsi]" "fistp dword ptr [rsi]" "fistp qword ptr [rsi]"
    "fisttp word ptr [rsi]" "fisttp dword ptr [rsi]" "fisttp qword ptr [rsi]"
    "fbstp tbyte ptr [rsi]" "fst st(3)" "fstp st(2)" };
    check(&list, Memory::Integer, 2 * ROUNDS, exactly);
}

#[test]
fn stack_and_constants() {
    let list = cases! { "fld st(0)" "fld st(3)" "fxch st(1)" "fxch st(5)"
    "ffree st(2)" "fincstp" "fdecstp" "fnop" "fld1" "fldz" "fldpi"
    "fldl2t" "fldl2e" "fldlg2" "fldln2" };
    check(&list, Memory::Integer, ROUNDS, exactly);
    let list = cases! { "fcmovb st(0), st(1)" "fcmove st(0), st(2)" "fcmovbe st(0), st(1)" "fcmovu st(0), st(1)"
    "fcmovnb st(0), st(1)" "fcmovne st(0), st(1)" "fcmovnbe st(0), st(1)" "fcmovnu st(0), st(1)" };
    check(&list, Memory::Integer, ROUNDS, except_c1);
}

#[test]
fn control() {
    let list = cases! { "fninit" "fnclex" "fldcw word ptr [rsi]"
    "fnstcw word ptr [rsi]" "fnstsw word ptr [rsi]" "fnstsw ax" };
    check(&list, Memory::Environment, ROUNDS, exactly);
    // Without the pointers: opcode, FIP, FCS, FDP, FDS.
    let blank = |_: &Machine, after: &mut Machine| after.memory[12..28].fill(0);
    check(&cases! { "fnstenv [rsi]" "fnsave [rsi]" }, Memory::Environment, ROUNDS, blank);
    check(&cases! { "fldenv [rsi]" "frstor [rsi]" }, Memory::Environment, ROUNDS, exactly);
}

#[test]
fn mmx_operations() {
    let mut list = Vec::new();
    macro_rules! both {
        ($($name:literal)*) => { $(
            list.push(Case { text: $name, bytes: assemble!(concat!($name, " mm0, mm1; ", $name, " mm6, [rsi]")) });
        )* };
    }
    both! { "paddb" "paddw" "paddd" "paddq" "psubb" "psubw" "psubd"
    "psubq" "paddsb" "paddsw" "paddusb" "paddusw" "psubsb" "psubsw"
    "psubusb" "psubusw" "pmullw" "pmulhw" "pmulhuw" "pmuludq"
    "pmaddwd" "psadbw" "pavgb" "pavgw" "pminub" "pmaxub" "pminsw"
    "pmaxsw" "pand" "pandn" "por" "pxor" "pcmpeqb" "pcmpeqw"
    "pcmpeqd" "pcmpgtb" "pcmpgtw" "pcmpgtd" "psllw" "pslld" "psllq"
    "psrlw" "psrld" "psrlq" "psraw" "psrad" "packsswb" "packssdw" "packuswb" "punpcklbw" "punpcklwd" "punpckldq"
    "punpckhbw" "punpckhwd" "punpckhdq" "pshufb" "pmaddubsw"
    "pabsb" "pabsw" "pabsd" "psignb" "psignw" "psignd" "pmulhrsw"
    "phaddw" "phaddd" "phaddsw" "phsubw" "phsubd" "phsubsw" "movq" }
    list.extend(cases! { "psllw mm0, 3" "pslld mm0, 31" "psllq mm0, 40"
    "psrlw mm0, 16" "psrld mm0, 1" "psrlq mm0, 63" "psraw mm0, 20"
    "psrad mm0, 5" "pshufw mm0, mm1, 0x1b" "pshufw mm0, [rsi], 0x93" "palignr mm0, mm1, 3" "palignr mm2, [rsi], 11"
    "palignr mm2, mm2, 16" "pinsrw mm0, eax, 6" "pinsrw mm0, [rsi], 1" "pextrw eax, mm0, 7" "pmovmskb eax, mm3" });
    check(&list, Memory::Integer, ROUNDS / 4, exactly);
}

#[test]
fn mmx_moves_and_state() {
    let list = cases! { "emms" "movd mm0, eax" "movd mm0, dword ptr [rsi]"
    "movd eax, mm5" "movd dword ptr [rsi], mm1" "movq mm3, rax"
    "movq rax, mm3" "movq mm3, [rsi]" "movq [rsi], mm3" "movntq [rsi], mm4" "movq2dq xmm0, mm1" "movdq2q mm1, xmm0"
    "lea rdi, [rsi + 5]; maskmovq mm0, mm1" "fninit; movq mm0, mm1; emms; fld1" "fninit; fld1; movq mm1, mm0; fnop" };
    check(&list, Memory::Integer, ROUNDS, exactly);
    let list = cases! { "cvtpi2ps xmm0, mm1" "cvtpi2ps xmm0, [rsi]"
    "cvtpi2pd xmm0, mm1" "cvtpi2pd xmm0, [rsi]" "cvtps2pi mm0, xmm1"
    "cvttps2pi mm0, [rsi]" "cvtpd2pi mm0, xmm1" "cvttpd2pi mm0, [rsi]" };
    check(&list, Memory::Double, ROUNDS, exactly);
}
