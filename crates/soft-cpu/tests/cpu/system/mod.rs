//! What system software relies on: paging, exceptions, interrupts, self-modifying code, and exact
//! accounting across all of them.

/// 64-bit code that starts at [`CODE`].
macro_rules! code {
    ($($mnemonic:ident($($operand:expr),*));*) => {{
        #[allow(unused_imports, reason = "registers and operands, for most code")]
        use iced_x86::code_asm::*;
        let mut assembler = CodeAssembler::new(64).unwrap();
        $(assembler.$mnemonic($($operand),*).unwrap();)*
        assembler.assemble(CODE).unwrap()
    }};
}

mod debug;
mod newer;
mod protection;
mod sample;
mod silicon;
mod vector;
mod xsave;

use crate::common::TestBus;
use retire::BranchKind;
use soft_cpu::silicon::Silicon;
use soft_cpu::{Arithmetic, Budget, Cpu, DescriptorTable, Exit, Flop, Segment, State};

const PML4: u64 = 0x1000;
const GDT: u64 = 0x5000;
const IDT: u64 = 0x6000;
const TSS: u64 = 0x7000;
const CODE: u64 = 0x1_0000;
/// Each handler has 16 bytes here.
const HANDLERS: u64 = 0x2_0000;
const STACK: u64 = 0x4_0000;
const RSP0: u64 = 0x5_0000;
const IST1: u64 = 0x6_0000;
const DATA: u64 = 0x8_0000;

/// 64-bit machine: first 2 MiB mapped in small pages, ring 0, handlers that are HLT.
struct Guest {
    bus: TestBus,
    state: State,
    silicon: Silicon,
}

impl Guest {
    fn new(code: &[u8]) -> Self {
        let mut bus = TestBus::new(4 << 20);
        bus.write_u64(PML4, 0x2000 | 7);
        bus.write_u64(0x2000, 0x3000 | 7);
        bus.write_u64(0x3000, 0x4000 | 7);
        for page in 0..512 {
            bus.write_u64(0x4000 + page * 8, page << 12 | 7);
        }
        for (n, descriptor) in [
            0,
            0x00AF_9B00_0000_FFFF,
            0x00CF_9300_0000_FFFF,
            0x00CF_FB00_0000_FFFF,
            0x00CF_F300_0000_FFFF,
            0x00AF_FB00_0000_FFFF,
        ]
        .into_iter()
        .enumerate()
        {
            bus.write_u64(GDT + 8 * n as u64, descriptor);
        }
        bus.write_u64(TSS + 4, RSP0);
        bus.write_u64(TSS + 0x24, IST1);
        let mut guest = Self { bus, state: State::default(), silicon: Silicon::Intel };
        for vector in 0..=255 {
            guest.gate(vector, 0x8E, 0);
            guest.bus.write(HANDLERS + u64::from(vector) * 16, &[0xF4]);
        }
        guest.bus.write(CODE, code);
        guest.state = State {
            rip: CODE,
            cr0: 0x8001_0033,
            cr3: PML4,
            cr4: 0x620,
            efer: 0xD01,
            gdtr: DescriptorTable { base: GDT, limit: 0x2F },
            idtr: DescriptorTable { base: IDT, limit: 0xFFF },
            tr: Segment { selector: 0x40, base: TSS, limit: 0x67, rights: 0x8B },
            ..State::default()
        };
        guest.state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xA09B };
        guest.state.gpr[4] = STACK;
        guest
    }

    fn user(mut self) -> Self {
        self.state.segments[1] = Segment { selector: 0x2B, base: 0, limit: u32::MAX, rights: 0xA0FB };
        self.state.segments[2] = Segment { selector: 0x23, base: 0, limit: u32::MAX, rights: 0xC0F3 };
        self
    }

    fn gate(&mut self, vector: u8, rights: u64, ist: u64) {
        let handler = HANDLERS + u64::from(vector) * 16;
        let at = IDT + u64::from(vector) * 16;
        self.bus.write_u64(at, handler & 0xFFFF | 8 << 16 | ist << 32 | rights << 40 | (handler >> 16) << 48);
        self.bus.write_u64(at + 8, 0);
    }

    fn handler(&mut self, vector: u8, code: &[u8]) {
        self.bus.write(HANDLERS + u64::from(vector) * 16, code);
    }

    fn page(&mut self, address: u64, entry: u64) {
        self.bus.write_u64(0x4000 + (address >> 12) * 8, entry);
    }

    fn cpu(&self) -> Cpu<TestBus> {
        Cpu::new(&self.state).with_silicon(self.silicon)
    }
}

fn budget(instructions: u64) -> Budget {
    Budget { instructions, interrupt_window: false }
}

/// Runs to the HLT of a handler and checks which one it was.
#[track_caller]
fn expect_vector(guest: &mut Guest, vector: u8) -> Cpu<TestBus> {
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(1000)), Exit::Halted);
    let handler = (cpu.state().rip - HANDLERS) / 16;
    assert_eq!(handler, u64::from(vector), "{:#x?}", cpu.state());
    cpu
}

/// The frame that the last exception pushed: error code if any, RIP, CS, RFLAGS, RSP, SS.
fn frame(guest: &Guest, cpu: &Cpu<TestBus>, n: u64) -> u64 {
    guest.bus.read_u64(cpu.state().gpr[4] + 8 * n)
}

#[test]
fn page_faults_say_what_was_wrong() {
    let read = code!(mov(rcx, qword_ptr(DATA)));
    let write = code!(mov(qword_ptr(DATA), rcx));
    // (user, write, entry, error code)
    let table = [
        (false, false, 0, 0b0_0000),
        (false, true, 0, 0b0_0010),
        (true, false, 0, 0b0_0100),
        (true, true, DATA | 5, 0b0_0111),
        (true, false, DATA | 3, 0b0_0101),
        (false, true, DATA | 1, 0b0_0011),
        (false, false, DATA | 7 | 1 << 51, 0b0_1001),
    ];
    for (user, writes, entry, code) in table {
        let mut guest = Guest::new(if writes { &write } else { &read });
        if user {
            guest = guest.user();
        }
        guest.page(DATA, entry);
        let cpu = expect_vector(&mut guest, 14);
        assert_eq!(frame(&guest, &cpu, 0), code, "user {user} write {writes} entry {entry:#x}");
        assert_eq!(frame(&guest, &cpu, 1), CODE);
        assert_eq!(cpu.state().cr2, DATA);
        // The access did not retire; the HLT did.
        assert_eq!(cpu.totals().instructions(), 1);
    }
}

#[test]
fn a_call_looks_at_its_stack_before_its_target() {
    const NOWHERE: u64 = 1 << 63;
    // (call rax; jmp rax), (RAX, RSP, vector)
    let (call, jump) = ([0xFF, 0xD0], [0xFF, 0xE0]);
    let table = [
        (call, CODE, NOWHERE, 12),
        (call, NOWHERE, NOWHERE, 12),
        (call, NOWHERE, DATA + 8, 14),
        (call, NOWHERE, DATA + 0x1008, 13),
        (jump, NOWHERE, NOWHERE, 13),
    ];
    for (code, target, stack, vector) in table {
        // From ring 3, so that the handler has a stack of its own.
        let mut guest = Guest::new(&code).user();
        guest.silicon = Silicon::Zen5;
        guest.page(DATA, DATA | 5);
        (guest.state.gpr[0], guest.state.gpr[4]) = (target, stack);
        let cpu = expect_vector(&mut guest, vector);
        assert_eq!((frame(&guest, &cpu, 1), frame(&guest, &cpu, 4)), (CODE, stack), "nothing has moved");
        assert_eq!(guest.bus.read_u64(DATA + 0x1000), 0, "{target:#x} {stack:#x}: something is pushed");
    }
}

#[test]
fn no_execute_faults_on_fetch_only() {
    let mut guest = Guest::new(&[0xFF, 0xE0]);
    guest.state.gpr[0] = DATA + 8;
    guest.page(DATA, DATA | 7 | 1 << 63);
    let cpu = expect_vector(&mut guest, 14);
    assert_eq!(frame(&guest, &cpu, 0), 0b1_0001);
    assert_eq!(frame(&guest, &cpu, 1), DATA + 8);
    assert_eq!(cpu.totals().os().taken(BranchKind::IndirectJump), 1);
}

#[test]
fn write_protection_and_dirty_bits() {
    let mut guest = Guest::new(&code!(mov(qword_ptr(DATA), rax); hlt()));
    guest.page(DATA, DATA | 5);
    guest.state.cr0 &= !(1 << 16);
    guest.state.gpr[0] = 42;
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
    assert_eq!(guest.bus.read_u64(DATA), 42, "CR0.WP is off");
    assert_eq!(guest.bus.read_u64(0x4000 + (DATA >> 12) * 8), DATA | 0x65, "accessed and dirty");
    assert_eq!(guest.bus.read_u64(0x4000 + (CODE >> 12) * 8), CODE | 0x27, "accessed");
    assert_eq!(guest.bus.read_u64(PML4), 0x2000 | 0x27);
}

#[test]
fn large_pages_translate() {
    let mut guest = Guest::new(&code!(
        mov(rax, qword_ptr(0x4000_0000 + DATA));
        mov(rbx, qword_ptr(0x20_0000 + DATA));
        hlt()
    ));
    guest.bus.write_u64(0x2008, 0x83);
    guest.bus.write_u64(0x3008, 0x83);
    guest.bus.write_u64(DATA, 0x1234_5678);
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
    assert_eq!((cpu.state().gpr[0], cpu.state().gpr[3]), (0x1234_5678, 0x1234_5678));
}

#[test]
fn stale_translations_go_with_invlpg_and_cr3() {
    let entry = 0x4000 + (DATA >> 12) * 8;
    let mut guest = Guest::new(&code!(
        mov(rax, qword_ptr(DATA));
        mov(qword_ptr(entry), rcx);
        invlpg(byte_ptr(DATA));
        mov(rbx, qword_ptr(DATA));
        hlt()
    ));
    guest.bus.write_u64(DATA, 1);
    guest.bus.write_u64(DATA + 0x1000, 2);
    guest.state.gpr[1] = (DATA + 0x1000) | 7;
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
    assert_eq!((cpu.state().gpr[0], cpu.state().gpr[3]), (1, 2));
}

#[test]
fn exceptions_push_what_they_should() {
    // (code, vector, error code, RIP that is pushed)
    let table = [
        (code!(ud2()), 6, None, CODE),
        (code!(int3()), 3, None, CODE + 1),
        (code!(int(0x40)), 0x40, None, CODE + 2),
        (code!(int(0)), 0, None, CODE + 2),
        (code!(xor(ecx, ecx); div(ecx)), 0, None, CODE + 2),
        (code!(mov(eax, 0x50); mov(ds, eax)), 13, Some(0x50), CODE + 5),
        (code!(wrmsr()), 13, Some(0), CODE),
        (code!(addps(xmm0, xmmword_ptr(DATA + 1))), 13, Some(0), CODE),
        (code!(vzeroupper()), 6, None, CODE),
    ];
    for (code, vector, error, rip) in table {
        let mut guest = Guest::new(&code);
        let cpu = expect_vector(&mut guest, vector);
        if let Some(error) = error {
            assert_eq!(frame(&guest, &cpu, 0), error, "vector {vector}");
        }
        let first = u64::from(error.is_some());
        assert_eq!(frame(&guest, &cpu, first), rip, "vector {vector}");
        assert_eq!(frame(&guest, &cpu, first + 1), 8);
        assert_eq!(frame(&guest, &cpu, first + 3), STACK);
    }
}

#[test]
fn what_is_missing_is_named() {
    let mut guest = Guest::new(&[0xC4, 0xE2, 0x78, 0x49, 0xC0]);
    let cpu = expect_vector(&mut guest, 6);
    assert_eq!(cpu.unimplemented()[0].code, "VEX_Tilerelease");
    assert_eq!(cpu.unimplemented()[0].rip, CODE);
}

#[test]
fn ring_3_enters_ring_0_on_its_stack_and_comes_back() {
    // int 0x40; hlt (faults in ring 3); the handler is IRETQ.
    let mut guest = Guest::new(&[0xCD, 0x40, 0xF4]).user();
    guest.gate(0x40, 0xEE, 0);
    guest.handler(0x40, &[0x48, 0xCF]);
    let cpu = expect_vector(&mut guest, 13);
    assert_eq!(frame(&guest, &cpu, 1), CODE + 2);
    assert_eq!(cpu.state().gpr[4], RSP0 - 48);
    assert_eq!(frame(&guest, &cpu, 4), STACK);
    // INT at CPL 3; IRETQ and the HLT of the #GP handler at CPL 0.
    assert_eq!(cpu.totals().usr().instructions, 1);
    assert_eq!(cpu.totals().usr().taken(BranchKind::Far), 1);
    assert_eq!(cpu.totals().os().instructions, 2);
    assert_eq!(cpu.totals().os().taken(BranchKind::Far), 1);
}

#[test]
fn gates_of_ring_0_are_closed_to_int_n() {
    let mut guest = Guest::new(&[0xCD, 0x40]).user();
    let cpu = expect_vector(&mut guest, 13);
    assert_eq!(frame(&guest, &cpu, 0), 0x40 * 8 + 2);
}

#[test]
fn syscall_and_sysret() {
    // syscall; hlt (#GP in ring 3). Kernel: sysretq.
    let mut guest = Guest::new(&[0x0F, 0x05, 0xF4]).user();
    guest.bus.write(HANDLERS + 0x2000, &[0x48, 0x0F, 0x07]);
    guest.state.star = 8 << 32 | 0x18 << 48;
    guest.state.lstar = HANDLERS + 0x2000;
    guest.state.fmask = 0x200;
    guest.state.rflags |= 0x200;
    let cpu = expect_vector(&mut guest, 13);
    assert_eq!(frame(&guest, &cpu, 1), CODE + 2);
    assert_eq!(frame(&guest, &cpu, 3) & 0x200, 0x200, "SYSRET restores RFLAGS from R11");
    assert_eq!(cpu.state().gpr[1], CODE + 2);
}

/// FMASK keeps single steps out of the kernel; the one of the user's instruction comes after SYSRET.
#[test]
fn single_steps_pass_over_a_system_call() {
    // syscall; hlt. Kernel: sysretq.
    let mut guest = Guest::new(&[0x0F, 0x05, 0xF4]).user();
    guest.bus.write(HANDLERS + 0x2000, &[0x48, 0x0F, 0x07]);
    guest.state.star = 8 << 32 | 0x18 << 48;
    guest.state.lstar = HANDLERS + 0x2000;
    guest.state.fmask = 0x100;
    guest.state.rflags |= 0x100;
    let cpu = expect_vector(&mut guest, 1);
    assert_eq!(frame(&guest, &cpu, 0), CODE + 2);
}

/// By the quick handlers and, where an exception has to be noted, by the others.
#[test]
fn floating_point_operations_are_counted_by_kind() {
    let code = code!(
        addps(xmm0, xmm1);
        subsd(xmm0, xmm1);
        mulpd(xmm0, xmm1);
        divps(xmm0, xmm1); // 0 / 0
        sqrtss(xmm0, xmm1);
        haddps(xmm0, xmm1);
        maxps(xmm0, xmm1);
        cmpsd_3(xmm0, xmm1, 0);
        roundpd(xmm0, xmm1, 3);
        roundss(xmm0, xmm1, 3);
        rcpss(xmm0, xmm1);
        dppd(xmm0, xmm1, 0xFF);
        movaps(xmm0, xmm1);
        movq(mm0, mm1);
        emms();
        fldz();
        nop();
        hlt()
    );
    let mut guest = Guest::new(&code);
    guest.state.cr4 |= 1 << 9;
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    let totals = *cpu.totals().os();
    let counted = [totals[Flop::AddSub], totals[Flop::Mul], totals[Flop::DivSqrt], totals.all_flops()];
    assert_eq!(counted, [4 + 1 + 4 + 1, 2 + 2, 4 + 1, 19]);
    // A dot product counts twice, a comparison and a rounding not at all.
    use Arithmetic::{PackedDouble, PackedSingle, ScalarDouble, ScalarSingle};
    let arithmetic = [ScalarDouble, ScalarSingle, PackedDouble, PackedSingle].map(|kind| totals[kind]);
    assert_eq!(arithmetic, [1, 2, 1 + 2, 4]);
    assert_eq!((totals.sse, totals.mmx, totals.x87, totals.instructions), (13, 2, 1, 18));
}

#[test]
fn double_and_triple_faults() {
    let mut guest = Guest::new(&[0x0F, 0x0B]);
    guest.gate(6, 0x0E, 0);
    guest.gate(11, 0x0E, 0);
    let cpu = expect_vector(&mut guest, 8);
    assert_eq!(frame(&guest, &cpu, 0), 0);

    // Not present gates for everything: #UD, #NP, #DF, shutdown.
    guest.gate(8, 0x0E, 0);
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Shutdown);
    assert_eq!(cpu.totals().instructions(), 0);
    assert_eq!(cpu.state().rip, CODE);
}

#[test]
fn nmis_use_their_stack_and_block_until_iret() {
    // nop * 8; the handler: nop; iretq
    let mut guest = Guest::new(&[0x90; 8]);
    guest.gate(2, 0x8E, 1);
    guest.handler(2, &[0x90, 0x48, 0xCF]);
    let mut cpu = guest.cpu();
    cpu.run(&mut guest.bus, budget(2));
    cpu.inject_nmi();
    cpu.run(&mut guest.bus, budget(1));
    assert_eq!(cpu.state().rip, HANDLERS + 2 * 16 + 1);
    assert_eq!(cpu.state().gpr[4], IST1 - 40);
    cpu.inject_nmi();
    cpu.run(&mut guest.bus, budget(1));
    assert_eq!(cpu.state().rip, CODE + 2, "the IRET has retired; the second NMI waited for it");
    cpu.run(&mut guest.bus, budget(1));
    assert_eq!(cpu.state().rip, HANDLERS + 2 * 16 + 1);
    assert_eq!(cpu.totals().instructions(), 5);
}

#[test]
fn interrupts_wait_for_sti_and_one_more_instruction() {
    // cli; sti; nop; nop; nop
    let mut guest = Guest::new(&[0xFA, 0xFB, 0x90, 0x90, 0x90]);
    let mut cpu = guest.cpu();
    let window = Budget { instructions: 100, interrupt_window: true };
    assert!(!cpu.inject_interrupt(0x30));
    assert_eq!(cpu.run(&mut guest.bus, window), Exit::InterruptWindow);
    assert_eq!(cpu.state().rip, CODE + 3);
    assert!(cpu.inject_interrupt(0x30));
    assert_eq!(cpu.run(&mut guest.bus, budget(1)), Exit::Halted);
    assert_eq!(cpu.state().rip, HANDLERS + 0x30 * 16 + 1);
    assert_eq!(cpu.state().rflags & 0x200, 0, "an interrupt gate clears IF");
}

#[test]
fn hlt_ends_with_an_interrupt() {
    let mut guest = Guest::new(&[0xFB, 0xF4, 0x90]);
    guest.handler(0x30, &[0x48, 0xCF]);
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
    assert!(cpu.can_take_interrupt());
    cpu.inject_interrupt(0x30);
    assert_eq!(cpu.run(&mut guest.bus, budget(2)), Exit::Budget);
    assert_eq!(cpu.state().rip, CODE + 3);
}

#[test]
fn single_step_traps_after_each_instruction() {
    let mut guest = Guest::new(&[0x90, 0x90, 0xF4]);
    guest.state.rflags |= 0x100;
    let cpu = expect_vector(&mut guest, 1);
    assert_eq!(frame(&guest, &cpu, 0), CODE + 1);
    assert_eq!(cpu.state().dr6 & 0x4000, 0x4000);
    assert_eq!(cpu.state().rflags & 0x100, 0);
}

#[test]
fn a_run_ends_on_the_exact_instruction() {
    // 1: inc rax; dec rcx; jnz 1b; hlt
    let code = [0x48, 0xFF, 0xC0, 0x48, 0xFF, 0xC9, 0x75, 0xF8, 0xF4];
    for stop in [1, 2, 3, 4, 29, 30, 31] {
        let mut guest = Guest::new(&code);
        guest.state.gpr[1] = 100;
        let mut cpu = guest.cpu();
        assert_eq!(cpu.run(&mut guest.bus, budget(stop)), Exit::Budget);
        assert_eq!(cpu.totals().instructions(), stop);
        assert_eq!(cpu.state().gpr[0], stop.div_ceil(3));
        assert_eq!(cpu.totals().os().all_branches(), stop / 3);
        assert_eq!(cpu.run(&mut guest.bus, budget(1000)), Exit::Halted);
        assert_eq!(cpu.totals().instructions(), 301);
        assert_eq!(cpu.totals().os().taken(BranchKind::Conditional), 99);
        assert_eq!(cpu.totals().os().not_taken(), 1);
    }
}

#[test]
fn wrmsr_sees_totals_without_itself() {
    let mut guest = Guest::new(&code!(
        mov(ecx, 0x38F);
        wrmsr();
        nop();
        nop();
        xor(ecx, ecx);
        rdpmc();
        mov(ecx, 0x38F);
        wrmsr();
        hlt()
    ));
    guest.bus.msrs.insert(0x38F, 0);
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    let seen: Vec<u64> = guest.bus.writes.iter().map(|(_, _, totals)| totals.instructions()).collect();
    assert_eq!(seen, [1, 7]);
    assert_eq!(guest.bus.writes[1].1, 5, "RDPMC excludes itself too");
    assert_eq!(cpu.totals().instructions(), 9);
}

#[test]
fn attention_ends_the_run_after_the_instruction() {
    // mov al, 1; out 0xf4, al; nop
    let mut guest = Guest::new(&[0xB0, 1, 0xE6, 0xF4, 0x90, 0x90]);
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Attention);
    assert_eq!((cpu.state().rip, cpu.totals().instructions()), (CODE + 4, 2));
    assert_eq!(guest.bus.exit, Some(1));
}

#[test]
fn mmio_goes_to_the_bus_with_its_width() {
    let mut guest = Guest::new(&code!(
        mov(rbx, DATA);
        mov(dword_ptr(rbx + 0xB0), 7);
        mov(eax, dword_ptr(rbx + 0xB0));
        add(word_ptr(rbx + 0xB0), 1);
        hlt()
    ));
    const APIC: u64 = 0xFEE0_0000;
    guest.page(DATA, APIC | 0x1F);
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    assert_eq!(guest.bus.mmio_log, [(APIC + 0xB0, 7, 4), (APIC + 0xB0, 8, 2)]);
    assert_eq!(cpu.state().gpr[0], 7);
    assert_eq!((cpu.totals().os().loads, cpu.totals().os().stores), (2, 2));
}

#[test]
fn code_that_changes_itself_runs_as_changed() {
    // In one block; the first instruction has 8 bytes.
    let mut guest = Guest::new(&code!(mov(byte_ptr(CODE + 9), 5); mov(al, 1); hlt()));
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
    assert_eq!(cpu.state().gpr[0], 5);
    assert_eq!(cpu.totals().instructions(), 3);
}

#[test]
fn code_across_pages_and_its_second_half_changed() {
    // At the end of a page: mov eax, 0x11111111 (5 bytes, 2 in the first page); jmp back to itself once.
    let mut guest = Guest::new(&[]);
    let start = CODE + 0xFFE;
    guest.bus.write(start, &[0xB8, 1, 0, 0, 0, 0xF4]);
    guest.state.rip = start;
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
    assert_eq!(cpu.state().gpr[0], 1);
    guest.bus.write(start + 2, &[9]);
    cpu.memory_changed(start + 2, 1);
    let mut again = cpu.state();
    (again.rip, again.halted) = (start, false);
    cpu.set_state(&again);
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
    assert_eq!(cpu.state().gpr[0], 0x901);
}

#[test]
fn rep_keeps_its_place_across_a_page_fault() {
    // rep movsb; hlt. The destination's second page is missing; the handler maps it and returns.
    let mut guest = Guest::new(&[0xF3, 0xA4, 0xF4]);
    guest.page(DATA + 0x1000, 0);
    let entry = 0x4000 + ((DATA + 0x1000) >> 12) * 8;
    guest.handler(14, &code!(mov(qword_ptr(entry), rbx); add(rsp, 8); iretq()));
    guest.state.gpr[3] = (DATA + 0x1000) | 7;
    guest.state.gpr[6] = CODE;
    guest.state.gpr[7] = DATA + 0xF00;
    guest.state.gpr[1] = 0x200;
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    assert_eq!(guest.bus.ram[DATA as usize + 0xF00..][..0x200], guest.bus.ram[CODE as usize..][..0x200]);
    assert_eq!((cpu.state().gpr[1], cpu.state().cr2), (0, DATA + 0x1000));
    // REP MOVSB once, three instructions of the handler, HLT.
    assert_eq!(cpu.totals().instructions(), 5);
    assert_eq!(cpu.totals().os().stores, 0x200 + 1);
}

#[test]
fn endless_rep_yields() {
    let mut guest = Guest::new(&[0xF3, 0xAC, 0xF4]);
    guest.state.gpr[1] = 1 << 20;
    guest.state.gpr[6] = 0;
    let mut cpu = guest.cpu();
    let mut yields = 0;
    while cpu.run(&mut guest.bus, budget(10)) == Exit::Yield {
        yields += 1;
    }
    assert!(yields >= 10, "{yields}");
    assert_eq!(cpu.totals().instructions(), 2);
}

#[test]
fn branches_are_reported_with_their_kind() {
    // call +1; hlt; jmp [rax] ... : call f; hlt; f: ret
    let mut guest = Guest::new(&[0xE8, 1, 0, 0, 0, 0xF4, 0xC3]);
    guest.bus.wanted_branches = u8::MAX;
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
    let seen: Vec<_> = guest.bus.branches.iter().map(|b| (b.from, b.to, b.kind)).collect();
    assert_eq!(seen, [(CODE, CODE + 6, BranchKind::DirectCall), (CODE + 6, CODE + 5, BranchKind::Return)]);
    assert_eq!(cpu.totals().os().calls(), 1);
}

#[test]
fn state_survives_a_save_and_restore_anywhere() {
    let code = [0x48, 0xFF, 0xC0, 0x48, 0x01, 0xC3, 0x48, 0xFF, 0xC9, 0x75, 0xF5, 0xF4];
    let mut guest = Guest::new(&code);
    guest.state.gpr[1] = 50;
    let mut straight = guest.cpu();
    straight.run(&mut guest.bus, budget(1000));
    let mut state = guest.state.clone();
    for _ in 0..500 {
        let mut cpu = Cpu::new(&state);
        if cpu.run(&mut guest.bus, budget(1)) == Exit::Halted {
            state = cpu.state();
            break;
        }
        state = cpu.state();
    }
    assert_eq!(state, straight.state());
}

#[test]
fn long_mode_is_entered_from_protected_mode() {
    // mov eax, cr4.PAE; mov cr4, eax; mov eax, PML4; mov cr3, eax; mov ecx, EFER; rdmsr; or eax, LME; wrmsr;
    // mov eax, PG | PE; mov cr0, eax; ljmp 8:next; next: mov rax, 0x1122334455667788; hlt
    let mut code = vec![
        0xB8, 0x20, 0, 0, 0, 0x0F, 0x22, 0xE0, 0xB8, 0, 0x10, 0, 0, 0x0F, 0x22, 0xD8, 0xB9, 0x80, 0, 0, 0xC0,
        0x0F, 0x32, 0x0D, 0, 1, 0, 0, 0x0F, 0x30, 0xB8, 0x11, 0, 0, 0x80, 0x0F, 0x22, 0xC0, 0xEA,
    ];
    let next = CODE as u32 + code.len() as u32 + 6;
    code.extend_from_slice(&next.to_le_bytes());
    code.extend_from_slice(&[8, 0, 0x48, 0xB8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xF4]);
    let mut guest = Guest::new(&code);
    guest.state = State { rip: CODE, gdtr: guest.state.gdtr, idtr: guest.state.idtr, ..State::default() };
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    assert_eq!(cpu.state().gpr[0], 0x1122_3344_5566_7788);
    assert_eq!(cpu.state().efer, 0x500);
}

#[test]
fn system_segments_need_a_canonical_base() {
    // LLDT and LTR of EAX = 0x30, a 16-byte descriptor.
    for (opcode, kind) in [(0xD0, 0x82_u64), (0xD8, 0x89)] {
        for (high, vector) in [(0, 3), (0xFFFF_8000, 3), (0x8000, 13), (0xAAAA_AAAA, 13)] {
            let mut guest = Guest::new(&[0x66, 0xB8, 0x30, 0, 0x0F, 0, opcode, 0xCC]);
            guest.state.gdtr.limit = 0x3F;
            guest.bus.write_u64(GDT + 0x30, kind << 40 | 0x67);
            guest.bus.write_u64(GDT + 0x38, high);
            let cpu = expect_vector(&mut guest, vector);
            if vector == 13 {
                assert_eq!(frame(&guest, &cpu, 0), 0x30, "the selector is the error code");
            }
        }
    }
}

#[test]
fn rdtscp_and_rdpid_read_tsc_aux() {
    const TSC_AUX: u32 = 0xC000_0103;
    let mut guest = Guest::new(&code!(
        mov(ecx, TSC_AUX);
        mov(eax, 0x1234_5678);
        xor(edx, edx);
        wrmsr();
        rdtscp();
        rdpid(rbx);
        hlt()
    ));
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    let state = cpu.state();
    assert_eq!((state.gpr[1], state.gpr[3], state.tsc_aux), (0x1234_5678, 0x1234_5678, 0x1234_5678));
    assert_eq!(state.gpr[0], 4, "the test's TSC is the instructions retired");

    // CR4.TSD keeps ring 3 from the TSC, and thereby from RDTSCP, but not from RDPID.
    let mut guest = Guest::new(&code!(rdpid(rbx); rdtscp())).user();
    guest.state.cr4 |= 4;
    guest.state.tsc_aux = 7;
    assert_eq!(expect_vector(&mut guest, 13).state().gpr[3], 7);

    // Bits 63:32 are reserved.
    expect_vector(&mut Guest::new(&code!(mov(ecx, TSC_AUX); mov(edx, 1); wrmsr())), 13);
}
