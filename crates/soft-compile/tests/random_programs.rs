//! Random programs with every block compiled and with none: state, totals, recorded branches and memory are the same
//! after every run, whatever its budget.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::redundant_closure_for_method_calls, reason = "test code")]
#![expect(unsafe_code, reason = "compiled code accesses the RAM of the test")]

#[path = "../../soft-cpu/tests/common/mod.rs"]
mod common;
#[path = "common/vectors.rs"]
mod vectors;

use common::{Random, TestBus};
use iced_x86::code_asm::*;
use soft_compile::{BlockCompiler, Ram, Vectors};
use soft_cpu::{Budget, Cpu, DescriptorTable, Exit, Segment, State};

const RAM: usize = 1 << 20;
const CODE: u64 = 0x1_0000;
const STACK: u64 = 0x8_0000;
/// Present, writable, user.
const ALL: u64 = 7;

const R64: [AsmRegister64; 16] =
    [rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15];
const R32: [AsmRegister32; 16] =
    [eax, ecx, edx, ebx, esp, ebp, esi, edi, r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d];
const R16: [AsmRegister16; 16] =
    [ax, cx, dx, bx, sp, bp, si, di, r8w, r9w, r10w, r11w, r12w, r13w, r14w, r15w];
const R8: [AsmRegister8; 20] =
    [al, cl, dl, bl, spl, bpl, sil, dil, r8b, r9b, r10b, r11b, r12b, r13b, r14b, r15b, ah, ch, dh, bh];

struct Program<'a> {
    a: CodeAssembler,
    random: &'a mut Random,
    /// Most instructions access memory by the same registers, or move these.
    same_registers: bool,
}

macro_rules! pick {
    ($self:ident, $n:expr; $($case:expr),* $(,)?) => {{
        let mut cases: Vec<Box<dyn FnOnce(&mut Program<'_>) -> Result<(), iced_x86::IcedError>>> = Vec::new();
        $(cases.push(Box::new($case));)*
        let _ = $n;
        let chosen = ($self.random.next() >> 7) as usize % cases.len();
        cases.swap_remove(chosen)($self).unwrap()
    }};
}

impl Program<'_> {
    fn below(&mut self, n: usize) -> usize {
        (self.random.next() >> 11) as usize % n
    }
    /// Any but RSP, mostly.
    fn number(&mut self) -> usize {
        loop {
            let number = self.below(16);
            if number != 4 || self.below(40) == 0 {
                return number;
            }
        }
    }
    fn q(&mut self) -> AsmRegister64 {
        R64[self.number()]
    }
    fn d(&mut self) -> AsmRegister32 {
        R32[self.number()]
    }
    fn w(&mut self) -> AsmRegister16 {
        R16[self.number()]
    }
    fn b(&mut self) -> AsmRegister8 {
        loop {
            let number = if self.below(16) == 0 { self.below(20) } else { self.below(16) };
            if number != 4 {
                return R8[number];
            }
        }
    }
    fn imm(&mut self) -> i32 {
        let any = self.random.next() as i32;
        match self.below(3) {
            0 => any % 8,
            1 => any % 0x1_0000,
            _ => any,
        }
    }
    /// Mostly in mapped memory: the data register has been loaded with an address before, by chance.
    fn mem(&mut self) -> AsmMemoryOperand {
        let displacement = self.below(256) as i32 - 128;
        match self.below(6) {
            0 => rsi + displacement,
            1 => rdi + displacement * 8,
            2 => {
                let base = self.q();
                base + displacement
            }
            3 => r13 + rcx * 4 + displacement,
            4 => rsp + displacement.abs() * 8,
            _ => r10 + displacement,
        }
    }

    fn by_same_register(&mut self) {
        fn near(p: &mut Program<'_>) -> i32 {
            p.below(96) as i32 - 48
        }
        let base = if self.below(3) == 0 { rdi } else { rsi };
        // Not the ones that addresses are made of.
        let other = [0, 1, 2, 8, 14, 15][self.below(6)];
        let (x, y) = (R64[other], R32[other]);
        pick!(self, 0;
            |p| { let m = base + near(p); p.a.mov(x, m) },
            |p| { let m = base + near(p); p.a.mov(m, y) },
            |p| { let m = base + near(p); p.a.add(m, x) },
            |p| { let m = base + near(p); p.a.xor(y, m) },
            |p| { let m = base + near(p) * 8; p.a.movdqu(xmm1, m) },
            |p| { let m = rsp + near(p).abs(); p.a.mov(x, m) },
            |p| { let y = near(p); p.a.add(base, y) },
            |p| { let y = near(p); p.a.sub(base, y) },
            |p| { let y = near(p); p.a.lea(base, base + y) },
            |p| p.a.inc(base),
            |p| p.a.dec(base),
            |p| p.a.push(x),
            |p| p.a.pop(x),
            |p| { let m = base + near(p); p.a.push(qword_ptr(m)) },
            |p| { let y = p.below(4) as i32 * 8; p.a.sub(rsp, y) },
            |p| { let y = p.below(32); p.a.mov(rdi, 0x5_0FF0 + y as u64) },
        );
    }

    fn instruction(&mut self) {
        if self.same_registers && self.below(24) != 0 {
            return self.by_same_register();
        }
        pick!(self, 0;
            |p| { let (x, y) = (p.q(), p.q()); p.a.mov(x, y) },
            |p| { let (x, y) = (p.d(), p.d()); p.a.mov(x, y) },
            |p| { let (x, y) = (p.w(), p.w()); p.a.mov(x, y) },
            |p| { let (x, y) = (p.q(), p.imm()); p.a.mov(x, i64::from(y)) },
            |p| { let (x, y) = (p.d(), p.imm()); p.a.mov(x, y) },
            |p| { let (x, y) = (p.q(), p.random.next()); p.a.mov(x, y) },
            |p| { let (x, m) = (p.q(), p.mem()); p.a.mov(x, m) },
            |p| { let (x, m) = (p.d(), p.mem()); p.a.mov(x, m) },
            |p| { let (x, m) = (p.w(), p.mem()); p.a.mov(x, m) },
            |p| { let (x, m) = (p.b(), p.mem()); p.a.mov(x, m).or(Ok(())) },
            |p| { let (x, m) = (p.q(), p.mem()); p.a.mov(m, x) },
            |p| { let (x, m) = (p.d(), p.mem()); p.a.mov(m, x) },
            |p| { let (x, m) = (p.imm(), p.mem()); p.a.mov(qword_ptr(m), x) },
            |p| { let (x, m) = (p.b(), p.mem()); p.a.mov(m, x).or(Ok(())) },
            |p| { let (x, y) = (p.q(), p.mem()); p.a.lea(x, y) },
            |p| { let (x, y) = (p.d(), p.mem()); p.a.lea(x, y) },
            |p| { let (x, y) = (p.w(), p.mem()); p.a.lea(x, y) },
            |p| p.binary(),
            |p| p.binary(),
            |p| p.binary(),
            |p| p.binary(),
            |p| p.unary(),
            |p| p.unary(),
            |p| p.shift(),
            |p| p.shift(),
            |p| p.conditional(),
            |p| p.conditional(),
            |p| { let (x, y) = (p.d(), p.w()); p.a.movzx(x, y) },
            |p| { let (x, y) = (p.q(), p.b()); p.a.movsx(x, y).or(Ok(())) },
            |p| { let (x, y) = (p.d(), p.b()); p.a.movzx(x, y).or(Ok(())) },
            |p| { let (x, m) = (p.q(), p.mem()); p.a.movzx(x, word_ptr(m)) },
            |p| { let (x, m) = (p.w(), p.mem()); p.a.movsx(x, byte_ptr(m)) },
            |p| { let (x, m) = (p.q(), p.mem()); p.a.movsxd(x, dword_ptr(m)) },
            |p| { let (x, y) = (p.q(), p.d()); p.a.movsxd(x, y) },
            |p| { let (x, y) = (p.q(), p.q()); p.a.imul_2(x, y) },
            |p| { let (x, m) = (p.d(), p.mem()); p.a.imul_2(x, m) },
            |p| { let (x, y, i) = (p.q(), p.q(), p.imm()); p.a.imul_3(x, y, i) },
            |p| { let (x, y, i) = (p.w(), p.w(), p.imm()); p.a.imul_3(x, y, i % 0x4000) },
            |p| { let x = p.q(); p.a.mul(x) },
            |p| { let x = p.d(); p.a.imul(x) },
            |p| { let m = p.mem(); p.a.mul(qword_ptr(m)) },
            |p| { let x = p.d(); p.a.div(x) },
            |p| { let (x, y) = (p.q(), p.q()); p.a.xchg(x, y) },
            |p| { let (x, y) = (p.d(), p.d()); p.a.xchg(x, y) },
            |p| { let x = p.q(); p.a.bswap(x) },
            |p| { let x = p.d(); p.a.bswap(x) },
            |p| { let (x, y) = (p.q(), p.q()); p.a.bt(x, y) },
            |p| { let (x, y) = (p.d(), p.below(32)); p.a.bts(x, y as i32) },
            |p| { let (x, y) = (p.w(), p.w()); p.a.btr(x, y) },
            |p| { let (m, y) = (p.mem(), p.below(32)); p.a.btc(dword_ptr(m), y as i32) },
            |p| { let (x, y) = (p.q(), p.q()); p.a.popcnt(x, y) },
            |p| { let (x, y) = (p.q(), p.q()); p.a.bsf(x, y) },
            |p| p.a.cdq(), |p| p.a.cqo(), |p| p.a.cdqe(), |p| p.a.cwde(), |p| p.a.nop(), |p| p.a.stc(), |p| p.a.cmc(),
            |p| p.a.lahf(), |p| p.a.sahf(), |p| p.a.pushfq(),
            |p| { let x = p.q(); p.a.push(x) },
            |p| { let x = p.q(); p.a.push(x) },
            |p| { let x = p.imm(); p.a.push(x) },
            |p| { let x = p.q(); p.a.pop(x) },
            |p| { let x = p.q(); p.a.pop(x) },
            |p| { let m = p.mem(); p.a.push(qword_ptr(m)) },
            |p| p.a.mov(rsi, 0x4_0000_u64), |p| p.a.mov(rdi, 0x5_0FF0_u64), |p| p.a.mov(r10, 0x6_0000_u64),
            |p| p.a.mov(rsp, STACK - 0x100), |p| p.a.mov(r13, 0x7_0000_u64), |p| p.a.and(ecx, 0xFFF),
            |p| { let (x, y) = (p.q(), p.below(0x8_0000)); p.a.mov(x, 0x3_0000 + y as u64) },
            |p| p.vector(),
            |p| p.vector(),
            |p| p.encoded_vector(),
            |p| p.encoded_vector(),
        );
    }

    fn vector(&mut self) -> Result<(), iced_x86::IcedError> {
        const X: [AsmRegisterXmm; 16] = [
            xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14,
            xmm15,
        ];
        let (x, y, m, q, d) = (X[self.below(16)], X[self.below(16)], self.mem(), self.q(), self.d());
        let a = &mut self.a;
        match (self.random.next() >> 9) % 44 {
            0 => a.movdqu(x, m),
            1 => a.movdqu(m, x),
            2 => a.movdqa(x, y),
            3 => a.movups(x, m),
            4 => a.movaps(m, x),
            5 => a.movq(x, q),
            6 => a.movd(d, x),
            7 => a.movq(x, qword_ptr(m)),
            8 => a.movq(qword_ptr(m), x),
            9 => a.pxor(x, y),
            10 => a.paddd(x, y),
            11 => a.pcmpeqb(x, xmmword_ptr(m)),
            12 => a.pmovmskb(d, x),
            13 => a.pshufd(x, y, 27),
            14 => a.punpcklbw(x, y),
            15 => a.psrldq(x, 3),
            16 => a.pslld(x, 5),
            17 => a.psubq(x, y),
            18 => a.pminub(x, y),
            19 => a.por(x, xmmword_ptr(m)),
            20 => a.addsd(x, y),
            21 => a.mulsd(x, y),
            22 => a.subss(x, dword_ptr(m)),
            23 => a.addpd(x, y),
            24 => a.mulps(x, y),
            25 => a.divsd(x, y),
            26 => a.cvtsi2sd(x, d),
            27 => a.cvttsd2si(q, x),
            28 => a.movsd_2(x, qword_ptr(m)),
            29 => a.movsd_2(qword_ptr(m), x),
            30 => a.movss(x, y),
            31 => a.ucomisd(x, y),
            32 => a.comiss(x, y),
            33 => a.sqrtsd(x, y),
            34 => a.minsd(x, y),
            35 => a.cvtss2sd(x, y),
            36 => a.cvtsd2ss(x, y),
            37 => a.cvtsi2ss(x, q),
            38 => a.xorps(x, y),
            39 => a.unpcklpd(x, y),
            40 => a.shufps(x, y, 0x4E),
            41 => a.movhps(x, qword_ptr(m)),
            42 => a.movapd(x, xmmword_ptr(m)),
            _ => a.pand(x, y),
        }
    }

    /// Any instruction encoded with VEX or EVEX.
    fn encoded_vector(&mut self) -> Result<(), iced_x86::IcedError> {
        let instruction = vectors::any(&mut |n| self.below(n));
        self.a.add_instruction(instruction)
    }

    fn binary(&mut self) -> Result<(), iced_x86::IcedError> {
        macro_rules! operation {
            ($name:ident) => {
                match self.below(12) {
                    0 => {
                        let (x, y) = (self.q(), self.q());
                        self.a.$name(x, y)
                    }
                    1 => {
                        let (x, y) = (self.d(), self.d());
                        self.a.$name(x, y)
                    }
                    2 => {
                        let (x, y) = (self.w(), self.w());
                        self.a.$name(x, y)
                    }
                    3 => {
                        let (x, y) = (self.b(), self.b());
                        self.a.$name(x, y).or(Ok(()))
                    }
                    4 => {
                        let (x, y) = (self.q(), self.imm());
                        self.a.$name(x, y)
                    }
                    5 => {
                        let (x, y) = (self.d(), self.imm());
                        self.a.$name(x, y)
                    }
                    6 => {
                        let y = self.imm();
                        self.a.$name(rax, y)
                    }
                    7 => {
                        let (x, m) = (self.q(), self.mem());
                        self.a.$name(m, x)
                    }
                    8 => {
                        let (x, m) = (self.imm(), self.mem());
                        self.a.$name(dword_ptr(m), x)
                    }
                    9 => {
                        let (x, m) = (self.d(), self.mem());
                        self.a.$name(m, x)
                    }
                    10 => {
                        let (x, y) = (self.b(), self.imm());
                        self.a.$name(x, y & 0x7F)
                    }
                    _ => {
                        let (x, y) = (self.w(), self.imm());
                        self.a.$name(x, y % 0x8000)
                    }
                }
            };
        }
        match self.below(10) {
            0 => operation!(add),
            1 => operation!(adc),
            2 => operation!(sub),
            3 => operation!(sbb),
            4 => operation!(and),
            5 => operation!(or),
            6 => operation!(xor),
            7 => operation!(cmp),
            8 => operation!(test),
            _ => {
                let (x, m) = (self.q(), self.mem());
                if self.below(2) == 0 { self.a.add(x, m) } else { self.a.sbb(x, m) }
            }
        }
    }

    fn unary(&mut self) -> Result<(), iced_x86::IcedError> {
        macro_rules! operation {
            ($name:ident) => {
                match self.below(5) {
                    0 => {
                        let x = self.q();
                        self.a.$name(x)
                    }
                    1 => {
                        let x = self.d();
                        self.a.$name(x)
                    }
                    2 => {
                        let x = self.w();
                        self.a.$name(x)
                    }
                    3 => {
                        let x = self.b();
                        self.a.$name(x)
                    }
                    _ => {
                        let m = self.mem();
                        self.a.$name(qword_ptr(m))
                    }
                }
            };
        }
        match self.below(4) {
            0 => operation!(inc),
            1 => operation!(dec),
            2 => operation!(neg),
            _ => operation!(not),
        }
    }

    fn shift(&mut self) -> Result<(), iced_x86::IcedError> {
        macro_rules! operation {
            ($name:ident) => {
                match self.below(9) {
                    0 => {
                        let (x, n) = (self.q(), self.below(66) as i32);
                        self.a.$name(x, n)
                    }
                    1 => {
                        let (x, n) = (self.d(), self.below(34) as i32);
                        self.a.$name(x, n)
                    }
                    2 => {
                        let (x, n) = (self.w(), self.below(34) as i32);
                        self.a.$name(x, n)
                    }
                    3 => {
                        let (x, n) = (self.b(), self.below(12) as i32);
                        self.a.$name(x, n)
                    }
                    4 => {
                        let x = self.q();
                        self.a.$name(x, 1)
                    }
                    5 => {
                        let x = self.q();
                        self.a.$name(x, cl)
                    }
                    6 => {
                        let x = self.d();
                        self.a.$name(x, cl)
                    }
                    7 => {
                        let (m, n) = (self.mem(), self.below(40) as i32);
                        self.a.$name(qword_ptr(m), n)
                    }
                    _ => {
                        let (m, n) = (self.mem(), self.below(40) as i32);
                        self.a.$name(dword_ptr(m), n)
                    }
                }
            };
        }
        match self.below(6) {
            0 => operation!(shl),
            1 => operation!(shr),
            2 => operation!(sar),
            3 => operation!(rol),
            4 => operation!(ror),
            _ => operation!(rcl),
        }
    }

    fn conditional(&mut self) -> Result<(), iced_x86::IcedError> {
        macro_rules! all {
            ($($move:ident $set:ident)*) => {{
                let n = self.below(16);
                let mut k = 0;
                $(
                    if n == k {
                        return match self.below(4) {
                            0 => { let (x, y) = (self.q(), self.q()); self.a.$move(x, y) }
                            1 => { let (x, y) = (self.d(), self.d()); self.a.$move(x, y) }
                            2 => { let x = self.b(); self.a.$set(x) }
                            _ => { let (x, m) = (self.d(), self.mem()); self.a.$move(x, m) }
                        };
                    }
                    k += 1;
                )*
                let _ = k;
            }};
        }
        all!(cmovo seto cmovno setno cmovb setb cmovae setae cmove sete cmovne setne cmovbe setbe cmova seta
             cmovs sets cmovns setns cmovp setp cmovnp setnp cmovl setl cmovge setge cmovle setle cmovg setg);
        Ok(())
    }

    fn jump(&mut self, to: CodeLabel) -> Result<(), iced_x86::IcedError> {
        macro_rules! all {
            ($($name:ident)*) => {{
                let n = self.below(24);
                let mut k = 0;
                $(
                    if n == k {
                        return self.a.$name(to);
                    }
                    k += 1;
                )*
                let _ = k;
            }};
        }
        all!(jo jno jb jae je jne jbe ja js jns jp jnp jl jge jle jg jmp call);
        match self.below(6) {
            0 => self.a.ret(),
            1 => self.a.jmp(rbx),
            2 => self.a.call(rbx),
            3 => self.a.loop_(to),
            4 => self.a.loope(to),
            _ => self.a.jrcxz(to),
        }
    }
}

/// Code with blocks of random instructions that jump to each other.
fn program(random: &mut Random, same_registers: bool) -> Option<Vec<u8>> {
    let mut p = Program { a: CodeAssembler::new(64).unwrap(), random, same_registers };
    let blocks = 3 + p.below(12);
    let mut labels: Vec<CodeLabel> = (0..blocks).map(|_| p.a.create_label()).collect();
    for n in 0..blocks {
        p.a.set_label(&mut labels[n]).unwrap();
        let most = if p.random.next() & 3 == 0 { 40 } else { 8 };
        let count = p.below(most);
        for _ in 0..count {
            p.instruction();
        }
        if p.below(3) == 0 {
            let to = labels[p.below(blocks)];
            p.a.lea(rbx, ptr(to)).unwrap();
        }
        let to = labels[p.below(blocks)];
        p.jump(to).unwrap();
        p.a.nop().unwrap();
    }
    p.a.jmp(labels[0]).unwrap();
    // Some have AH beside a register that needs REX.
    p.a.assemble(CODE).ok()
}

fn bus(random: &mut Random, code: &[u8]) -> TestBus {
    let mut bus = TestBus::new(RAM);
    bus.write_u64(0x1000, 0x2000 | ALL);
    bus.write_u64(0x2000, 0x3000 | ALL);
    bus.write_u64(0x3000, 0x4000 | ALL);
    for page in 0..512 {
        let strange = page > 0x30 && page != 0x7F && random.next().is_multiple_of(12);
        bus.write_u64(0x4000 + page * 8, page << 12 | if strange { random.next() & ALL } else { ALL });
    }
    for at in (0x3_0000..RAM as u64).step_by(8) {
        bus.write_u64(at, random.next());
    }
    for n in 0..256 {
        bus.write_u64(0x6000 + n * 16, 0x0000_8E00_0008_8000);
        bus.write_u64(0x6008 + n * 16, 0);
    }
    bus.write_u64(0x5008, 0x00AF_9B00_0000_FFFF);
    bus.write_u64(0x5010, 0x00CF_9300_0000_FFFF);
    // Exceptions start the program again: MOV RSP; JMP.
    bus.write(0x8000, &[0x48, 0xC7, 0xC4, 0, 0xFF, 7, 0, 0xE9, 0xF4, 0x7F, 0, 0]);
    bus.write(CODE, code);
    bus
}

fn state(random: &mut Random) -> State {
    let mut state = State {
        rip: CODE,
        rflags: random.next() & 0x8D5 | 2,
        cr0: 0x8001_0033,
        cr3: 0x1000,
        cr4: 0x4_0620,
        xcr0: [0xE7, 0xE7, 0xE7, 7, 3][(random.next() >> 9) as usize % 5],
        efer: 0xD01,
        mxcsr: if random.next() & 3 == 0 { 0x9FC0 } else { 0x1F80 },
        ..State::default()
    };
    for register in &mut state.gpr {
        *register = if random.next() & 1 == 0 { random.next() % RAM as u64 } else { random.next() };
    }
    for register in &mut state.xmm {
        let number = |random: &mut Random| (random.next() as i32 as f64 / 64.0).to_bits();
        *register = u128::from(number(random)) << 64 | u128::from(number(random));
    }
    for register in state.ymm_high.iter_mut().chain(state.zmm_high.as_flattened_mut()) {
        *register = u128::from(random.next()) << 64 | u128::from(random.next());
    }
    if random.next() & 2 == 0 {
        state.zmm_high = [[0; 2]; 16];
    }
    for register in state.zmm_16_to_31.as_flattened_mut() {
        *register = u128::from(random.next()) << 64 | u128::from(random.next());
    }
    state.opmask.fill_with(|| random.next());
    (state.gpr[3], state.gpr[4], state.gpr[6], state.gpr[7]) = (CODE, STACK - 0x100, 0x4_0000, 0x5_0000);
    state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xA09B };
    for number in [0, 2, 3, 4, 5] {
        state.segments[number] = Segment { selector: 16, base: 0, limit: u32::MAX, rights: 0xC093 };
    }
    state.gdtr = DescriptorTable { base: 0x5000, limit: 0xFFF };
    state.idtr = DescriptorTable { base: 0x6000, limit: 0xFFF };
    state.tr = Segment { selector: 0x40, base: 0x7000, limit: 0x2067, rights: 0x8B };
    state
}

fn compiler(bus: &mut TestBus, threshold: u32, vectors: Vectors) -> Box<BlockCompiler> {
    // SAFETY: the vector stays as long as the CPU, and does not move.
    let ram = unsafe { Ram::new(bus.ram.as_mut_ptr(), bus.ram.len() as u64) };
    Box::new(BlockCompiler::with_vectors(ram, threshold, vectors).unwrap())
}

/// Compares a program's runs. Returns how many instructions it was.
fn compare(seed: u64, threshold: u32) -> u64 {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let code = std::iter::repeat_with(|| program(&mut random, seed % 2 == 1)).flatten().next().unwrap();
    let mut bytes = Random(seed | 1 << 40);
    let mut buses = [bus(&mut Random(bytes.0), &code), bus(&mut Random(bytes.0), &code)];
    let wanted = if bytes.next() & 1 == 0 { 0 } else { bytes.next() as u8 & 0x7F };
    let kept = (bytes.next() & 1 == 0).then_some(32);
    for bus in &mut buses {
        (bus.wanted_branches, bus.kept_branches) = (wanted, kept);
    }
    let start = state(&mut random);
    let [one, other] = &mut buses;
    let vectors = [Vectors::Avx512, Vectors::Avx512, Vectors::Avx, Vectors::Sse][seed as usize / 2 % 4];
    let mut interpreted = Cpu::new(&start);
    let mut compiled = Cpu::new(&start).with_compiler(compiler(other, threshold, vectors));
    for run in 0..40 {
        let instructions = match random.next() % 4 {
            0 => 1 + random.next() % 40,
            1 => 1 + random.next() % 400,
            _ => 1 + random.next() % 20_000,
        };
        let budget = Budget { instructions, interrupt_window: false };
        let exits = [interpreted.run(one, budget), compiled.run(other, budget)];
        let place = format!("seed {seed}, run {run} of {instructions}");
        assert_eq!(interpreted.state(), compiled.state(), "{place}");
        assert_eq!(exits[0], exits[1], "{place}");
        assert_eq!(interpreted.totals(), compiled.totals(), "{place}");
        assert!(one.branches == other.branches, "{place}");
        assert_eq!(one.skipped_branches, other.skipped_branches, "{place}");
        assert!(one.ram == other.ram, "{place}");
        if exits[0] == Exit::Shutdown {
            break;
        }
    }
    interpreted.totals().instructions()
}

#[test]
fn random_programs_run_as_they_are_interpreted() {
    let from = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let count = std::env::var("PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    let mut instructions = 0;
    for seed in from..from + count {
        instructions += compare(seed, if seed % 4 == 0 { 3 } else { 0 });
    }
    println!("{instructions} instructions");
    assert!(instructions > 10_000 * count.min(100));
}
