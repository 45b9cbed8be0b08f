//! Exceptions, system registers and accounting at EL1 and EL0.

use crate::common::{BASE, TestBus, reset};
use arm_cpu::{
    Budget, Cause, Class, Cpu, DebugStop, DebugStops, ExceptionCount, Exit, State, SystemRegister,
};
use retire::BranchKind;

const VBAR: u64 = BASE + 0x1000;
const VBAR_EL1: SystemRegister = SystemRegister::new(3, 0, 12, 0, 0);
const ESR_EL1: SystemRegister = SystemRegister::new(3, 0, 5, 2, 0);
const FAR_EL1: SystemRegister = SystemRegister::new(3, 0, 6, 0, 0);
const ELR_EL1: SystemRegister = SystemRegister::new(3, 0, 4, 0, 1);
const SPSR_EL1: SystemRegister = SystemRegister::new(3, 0, 4, 0, 0);
const SCTLR_EL1: SystemRegister = SystemRegister::new(3, 0, 1, 0, 0);
const MDSCR_EL1: SystemRegister = SystemRegister::new(2, 0, 0, 2, 2);
const CPACR_EL1: SystemRegister = SystemRegister::new(3, 0, 1, 0, 2);

/// hvc #0, which with X0 0 ends the run.
const END: u32 = 0xD400_0002;
const NOP: u32 = 0xD503_201F;
const ERET: u32 = 0xD69F_03E0;
/// EL0, interrupts enabled.
const EL0: u64 = 0;

/// A machine with code at the start of RAM, and vectors that end the run.
fn machine(code: &[u32]) -> (TestBus, State) {
    let mut bus = TestBus::new(1 << 20);
    bus.write_words(BASE, code);
    for vector in 0..16 {
        bus.write_words(VBAR + 0x80 * vector, &[END]);
    }
    let mut state = reset();
    state.set_system_register(VBAR_EL1, VBAR);
    state.sp = [BASE + 0x8000, BASE + 0x9000];
    (bus, state)
}

/// Runs until something ends it, at most 100 instructions.
fn run(bus: &mut TestBus, state: &State) -> (Cpu<TestBus>, Exit) {
    let mut cpu = Cpu::new(state);
    let exit = cpu.run(bus, Budget { instructions: 100 });
    (cpu, exit)
}

/// Class and ISS of the only exception.
fn only_exception(bus: &TestBus) -> (Class, u32) {
    let [delivery] = &bus.deliveries[..] else { panic!("{:x?}", bus.deliveries) };
    let Cause::Synchronous(exception) = delivery.cause else { panic!("{delivery:?}") };
    (exception.class, exception.iss)
}

#[test]
fn exceptions_have_their_syndromes() {
    // Instruction, exception level, class and ISS.
    let table: [(&str, u32, u64, Class, u32); 17] = [
        ("udf #0", 0, 0x3C5, Class::Unknown, 0),
        ("svc #0x1234", 0xD402_4681, 0x3C5, Class::Svc, 0x1234),
        ("svc #7", 0xD400_00E1, EL0, Class::Svc, 7),
        ("brk #0x800", 0xD421_0000, EL0, Class::Brk, 0x800),
        ("hlt #0", 0xD440_0000, 0x3C5, Class::Unknown, 0),
        ("smc #0", 0xD400_0003, 0x3C5, Class::Unknown, 0),
        ("hvc #0 at EL0", END, EL0, Class::Unknown, 0),
        ("eret at EL0", ERET, EL0, Class::Unknown, 0),
        ("drps", 0xD6BF_03E0, 0x3C5, Class::Unknown, 0),
        // Direction, Rt 0, CRm 2, op2 1 and so on of the access.
        ("mrs x0, daif at EL0", 0xD53B_4220, EL0, Class::TrappedSystem, 0x32_D005),
        ("msr daifset, #2 at EL0", 0xD503_42DF, EL0, Class::TrappedSystem, 0x0C_D3E4),
        ("mrs x3, ctr_el0 at EL0", 0xD53B_0023, EL0, Class::TrappedSystem, 0x32_C061),
        ("mrs x0, sctlr_el1 at EL0", 0xD538_1000, EL0, Class::Unknown, 0),
        ("msr midr_el1, x0", 0xD518_0000, 0x3C5, Class::Unknown, 0),
        ("wfi at EL0", 0xD503_207F, EL0, Class::TrappedWait, 0x1E0_0000),
        ("dc zva, x0 at EL0", 0xD50B_7420, EL0, Class::TrappedSystem, 0x12_DC08),
        ("msr spsel, #0 at EL0", 0xD500_40BF, EL0, Class::Unknown, 0),
    ];
    for (name, word, pstate, class, iss) in table {
        let (mut bus, mut state) = machine(&[word]);
        state.pstate = pstate;
        let (cpu, exit) = run(&mut bus, &state);
        assert_eq!(exit, Exit::Attention, "{name}");
        assert_eq!(only_exception(&bus), (class, iss), "{name}");
        let state = cpu.state();
        let group = if pstate == EL0 { 0x400 } else { 0x200 };
        assert_eq!(state.pc, VBAR + group + 4, "{name}");
        assert_eq!(state.pstate & 0x3CF, 0x3C5, "{name}");
        assert_eq!(state.system_register(SPSR_EL1), Some(pstate), "{name}");
        let behind = if class == Class::Svc { 4 } else { 0 };
        assert_eq!(state.system_register(ELR_EL1), Some(BASE + behind), "{name}");
    }
}

#[test]
fn el_is_in_the_class_of_aborts() {
    // ldr x0, [x1] where nothing is; bit 6 of a store.
    for (word, iss) in [(0xF940_0020, 0x10), (0xF900_0020, 0x50)] {
        for (pstate, class) in [(0x3C5, 0x25), (EL0, 0x24)] {
            let (mut bus, mut state) = machine(&[word]);
            state.pstate = pstate;
            state.x[1] = 0x1000;
            let (cpu, _) = run(&mut bus, &state);
            assert_eq!(cpu.state().system_register(ESR_EL1), Some(class << 26 | 1 << 25 | iss));
            assert_eq!(cpu.state().system_register(FAR_EL1), Some(0x1000));
            assert_eq!(bus.deliveries.len(), 1);
        }
    }
}

#[test]
fn unaligned_addresses_fault_where_they_must() {
    // Everything is Device memory with the MMU off: ldr x0, [x1]; ldxr x0, [x1]; br x1; ldr x0, [sp].
    let table: [(u32, Class, u32); 3] = [
        (0xF940_0020, Class::DataAbort, 0x21),
        (0xC85F_7C20, Class::DataAbort, 0x21),
        (0xD61F_0020, Class::PcAlignment, 0),
    ];
    for (word, class, iss) in table {
        let (mut bus, mut state) = machine(&[word]);
        state.x[1] = BASE + 0x101;
        run(&mut bus, &state);
        assert_eq!(only_exception(&bus), (class, iss), "{word:#x}");
    }
    let (mut bus, mut state) = machine(&[0xF940_03E0, END]);
    state.sp[1] = BASE + 0x108;
    run(&mut bus, &state);
    assert!(bus.deliveries.is_empty(), "SCTLR_EL1.SA is 0");
    state.set_system_register(SCTLR_EL1, 1 << 3);
    run(&mut bus, &state);
    assert_eq!(only_exception(&bus), (Class::SpAlignment, 0));
}

#[test]
fn illegal_returns_set_il() {
    // mov x0, #0; eret, with SPSR of AArch32, of EL2, and of a reserved level.
    for spsr in [0x10, 0x1D3, 0x9, 0xC, 0x1, 0x6] {
        let (mut bus, mut state) = machine(&[ERET]);
        bus.write_words(BASE + 0x100, &[NOP]);
        state.set_system_register(SPSR_EL1, spsr);
        state.set_system_register(ELR_EL1, BASE + 0x100);
        let (cpu, _) = run(&mut bus, &state);
        assert_eq!(only_exception(&bus), (Class::IllegalState, 0), "{spsr:#x}");
        let state = cpu.state();
        assert_eq!(state.system_register(ELR_EL1), Some(BASE + 0x100));
        assert_eq!(state.system_register(SPSR_EL1).unwrap() & (1 << 20 | 0xF), 1 << 20 | 5, "{spsr:#x}");
        assert_eq!(state.pstate & 1 << 20, 0, "IL is 0 in the handler");
    }
}

#[test]
fn counts_are_by_level_and_kind() {
    // At EL1: eret. At EL0: ldr x1, [x2]; str x1, [x2]; cbz x3, .+4; cbnz x3, .+8; bl .+4; svc #0.
    let (mut bus, mut state) = machine(&[ERET]);
    let user = BASE + 0x100;
    bus.write_words(user, &[0xF940_0041, 0xF900_0041, 0xB400_0023, 0xB500_0043, 0x9400_0001, 0xD400_0001]);
    state.x[2] = BASE + 0x2000;
    state.set_system_register(SPSR_EL1, EL0);
    state.set_system_register(ELR_EL1, user);
    let (cpu, exit) = run(&mut bus, &state);
    assert_eq!(exit, Exit::Attention);
    let totals = cpu.totals();
    // ERET and the HVC in the handler.
    let el1 = totals.el1();
    assert_eq!((el1.instructions, el1.exception_returns, el1.taken(BranchKind::Far)), (2, 1, 1));
    assert_eq!(el1.exceptions(ExceptionCount::Hvc), 1);
    let el0 = totals.el0();
    assert_eq!((el0.instructions, el0.loads, el0.stores), (6, 1, 1));
    assert_eq!((el0.conditional_branches(), el0.not_taken(), el0.taken(BranchKind::DirectCall)), (2, 1, 1));
    assert_eq!((el0.exceptions(ExceptionCount::Svc), el0.all_exceptions()), (1, 1));
}

#[test]
fn a_budget_is_exact_wherever_it_ends() {
    // add x0, x0, #1; add x1, x1, #1; ldr x3, [x2]; b .-12
    let code = [0x9100_0400, 0x9100_0421, 0xF940_0043, 0x17FF_FFFD];
    for budget in 0..30 {
        let (mut bus, mut state) = machine(&code);
        state.x[2] = BASE + 0x2000;
        let mut cpu = Cpu::<TestBus>::new(&state);
        assert_eq!(cpu.run(&mut bus, Budget { instructions: budget }), Exit::Budget);
        assert_eq!(cpu.totals().instructions(), budget);
        assert_eq!(cpu.totals().el1().loads, (budget + 1) / 4);
        assert_eq!(cpu.state().pc, BASE + budget % 4 * 4);
        assert_eq!(cpu.state().x[0], budget.div_ceil(4));
        // In pieces it is the same.
        let mut pieces = Cpu::<TestBus>::new(&state);
        for _ in 0..budget {
            assert_eq!(pieces.run(&mut bus, Budget { instructions: 1 }), Exit::Budget);
        }
        assert_eq!(pieces.state(), cpu.state());
        assert_eq!(pieces.totals(), cpu.totals());
    }
}

#[test]
fn interrupts_are_taken_at_the_first_boundary_that_allows_them() {
    // nop; msr daifclr, #2; nop
    let (mut bus, state) = machine(&[NOP, 0xD503_42FF, NOP, NOP]);
    let mut cpu = Cpu::<TestBus>::new(&state);
    cpu.set_interrupt_lines(true, false);
    assert_eq!(cpu.run(&mut bus, Budget { instructions: 100 }), Exit::Attention);
    let [delivery] = bus.deliveries[..] else { panic!() };
    assert_eq!((delivery.cause, delivery.return_address), (Cause::Irq, BASE + 8));
    assert_eq!(delivery.vector, VBAR + 0x280);
    assert_eq!(cpu.totals().el1().exceptions(ExceptionCount::Irq), 1);
}

#[test]
fn wfi_waits_for_a_line_even_if_it_is_masked() {
    let (mut bus, state) = machine(&[0xD503_207F, NOP, END]);
    let mut cpu = Cpu::<TestBus>::new(&state);
    let budget = Budget { instructions: 100 };
    assert_eq!(cpu.run(&mut bus, budget), Exit::WaitForInterrupt);
    assert_eq!(cpu.run(&mut bus, budget), Exit::WaitForInterrupt);
    assert_eq!(cpu.totals().instructions(), 1);
    cpu.set_interrupt_lines(true, false);
    assert_eq!(cpu.run(&mut bus, budget), Exit::Attention);
    assert!(bus.deliveries.is_empty());
}

#[test]
fn exclusive_stores_need_their_mark() {
    // stxr w0, x1, [x2]; ldxr x3, [x2]; stxr w4, x1, [x2]; stxr w5, x1, [x2]; ldxr x3, [x2]; clrex;
    // stxr w6, x1, [x2]; ldxr x3, [x2]; stxr w7, w1, [x2] (another size)
    let code = [
        0xC800_7C41,
        0xC85F_7C43,
        0xC804_7C41,
        0xC805_7C41,
        0xC85F_7C43,
        0xD503_305F,
        0xC806_7C41,
        0xC85F_7C43,
        0x8807_7C41,
        0xD280_0000,
        END,
    ];
    let (mut bus, mut state) = machine(&code);
    (state.x[1], state.x[2]) = (0x55, BASE + 0x2000);
    let mut cpu = Cpu::<TestBus>::new(&state);
    assert_eq!(cpu.run(&mut bus, Budget { instructions: 1 }), Exit::Budget);
    let first = cpu.state().x[0];
    assert_eq!(cpu.run(&mut bus, Budget { instructions: 100 }), Exit::Attention);
    let x = cpu.state().x;
    assert_eq!((first, x[4], x[5], x[6], x[7], x[3]), (1, 0, 1, 1, 1, 0x55));
    assert_eq!(bus.read_u64(BASE + 0x2000), 0x55);
}

#[test]
fn code_that_is_written_is_executed() {
    // str w0, [x1]; b .+4; (overwritten) brk #0; mov x0, #0; hvc #0
    let (mut bus, mut state) = machine(&[0xB900_0020, 0x1400_0001, 0xD420_0000, 0xD280_0000, END]);
    (state.x[0], state.x[1]) = (u64::from(NOP), BASE + 8);
    // The block is decoded before it is overwritten.
    let (_, exit) = run(&mut bus, &state);
    assert_eq!(exit, Exit::Attention);
    assert!(bus.deliveries.is_empty(), "{:?}", bus.deliveries);
    // The very next instruction of the same block.
    let (mut bus, mut state) = machine(&[0xB900_0020, 0xD420_0000, 0xD280_0000, END]);
    (state.x[0], state.x[1]) = (u64::from(NOP), BASE + 4);
    run(&mut bus, &state);
    assert!(bus.deliveries.is_empty(), "{:?}", bus.deliveries);
}

#[test]
fn software_step_executes_one_instruction() {
    // At EL1: eret to EL0 with SPSR.SS; the handler returns by HVC.
    let (mut bus, mut state) = machine(&[0xD280_0000, ERET]);
    bus.write_words(BASE + 0x100, &[NOP, NOP, NOP]);
    state.set_system_register(MDSCR_EL1, 1);
    state.set_system_register(SPSR_EL1, 1 << 21);
    state.set_system_register(ELR_EL1, BASE + 0x100);
    run(&mut bus, &state);
    // UDF behind them: the OS lock disables debug exceptions.
    assert_eq!(only_exception(&bus), (Class::Unknown, 0));
    bus.deliveries.clear();
    // msr oslar_el1, xzr
    bus.write_words(BASE, &[0xD510_109F, ERET]);
    bus.attention = false;
    let (cpu, exit) = run(&mut bus, &state);
    assert_eq!(exit, Exit::Attention);
    assert_eq!(only_exception(&bus), (Class::Step, 1 << 24 | 0x22));
    assert_eq!(cpu.state().system_register(ELR_EL1), Some(BASE + 0x104));
    assert_eq!(cpu.state().system_register(ESR_EL1).unwrap() >> 26, 0x32);
    assert_eq!(cpu.totals().el0().instructions, 1);
}

#[test]
fn hardware_breakpoints_and_watchpoints_fault_before() {
    // msr oslar_el1, xzr; msr dbgbvr0_el1, x1; msr dbgbcr0_el1, x2; eret
    let setup = [0xD510_109F, 0xD510_0081, 0xD510_00A2, ERET];
    let (mut bus, mut state) = machine(&setup);
    bus.write_words(BASE + 0x100, &[NOP, NOP, NOP, NOP]);
    state.set_system_register(MDSCR_EL1, 1 << 15);
    state.set_system_register(ELR_EL1, BASE + 0x100);
    // BAS 0xF, PMC 2 (EL0), E.
    (state.x[1], state.x[2]) = (BASE + 0x108, 0x1E5);
    let (cpu, _) = run(&mut bus, &state);
    assert_eq!(only_exception(&bus), (Class::Breakpoint, 0x22));
    assert_eq!(cpu.state().system_register(ELR_EL1), Some(BASE + 0x108));
    assert_eq!(cpu.totals().el0().instructions, 2);

    // The same with dbgwvr0_el1 and dbgwcr0_el1: stores to 4 bytes.
    let (mut bus, mut state) = machine(&[0xD510_109F, 0xD510_00C1, 0xD510_00E2, ERET]);
    // str x3, [x4]; ldr x3, [x5]; str w3, [x5]
    bus.write_words(BASE + 0x100, &[0xF900_0083, 0xF940_00A3, 0xB900_00A3]);
    state.set_system_register(MDSCR_EL1, 1 << 15);
    state.set_system_register(ELR_EL1, BASE + 0x100);
    (state.x[4], state.x[5]) = (BASE + 0x2008, BASE + 0x2000);
    // BAS 0xF, LSC 2 (stores), PAC 2 (EL0), E.
    (state.x[1], state.x[2]) = (BASE + 0x2000, 0x1E0 | 2 << 3 | 2 << 1 | 1);
    let (cpu, _) = run(&mut bus, &state);
    assert_eq!(only_exception(&bus), (Class::Watchpoint, 0x62));
    assert_eq!(cpu.state().system_register(FAR_EL1), Some(BASE + 0x2000));
    assert_eq!(cpu.totals().el0().instructions, 2);
}

#[test]
fn a_debugger_stops_where_it_wants_and_changes_nothing() {
    let (mut bus, state) = machine(&[NOP, NOP, NOP, 0x17FF_FFFD]);
    let mut cpu = Cpu::<TestBus>::new(&state);
    cpu.set_debug_stops(DebugStops { execute: vec![BASE + 8], ..DebugStops::default() });
    let budget = Budget { instructions: 100 };
    assert_eq!(cpu.run(&mut bus, budget), Exit::Debug(DebugStop::Breakpoint));
    assert_eq!((cpu.state().pc, cpu.totals().instructions()), (BASE + 8, 2));
    cpu.set_debug_stops(DebugStops { step: true, ..DebugStops::default() });
    assert_eq!(cpu.run(&mut bus, budget), Exit::Debug(DebugStop::Step));
    assert_eq!((cpu.state().pc, cpu.totals().instructions()), (BASE + 12, 3));
}

#[test]
fn registers_keep_the_bits_that_they_have() {
    // msr REGISTER, x0; mrs x1, REGISTER; mov x0, #0; hvc #0
    let table = [
        ("VBAR_EL1", VBAR_EL1, 0xFFFF_FFFF_FFFF_F800),
        ("ESR_EL1", ESR_EL1, 0xFFFF_FFFF),
        ("CPACR_EL1", CPACR_EL1, 0x30_0000),
        ("TPIDR_EL1", SystemRegister::new(3, 0, 13, 0, 4), u64::MAX),
        ("CONTEXTIDR_EL1", SystemRegister::new(3, 0, 13, 0, 1), 0xFFFF_FFFF),
        ("ACTLR_EL1", SystemRegister::new(3, 0, 1, 0, 1), 0),
        ("SPSR_EL1", SPSR_EL1, 0xF030_03DF),
        ("NZCV", SystemRegister::new(3, 3, 4, 2, 0), 0xF000_0000),
        ("FPCR", SystemRegister::new(3, 3, 4, 4, 0), 0x07C0_0000),
        ("FPSR", SystemRegister::new(3, 3, 4, 4, 1), 0x0800_009F),
        ("DBGBVR0_EL1", SystemRegister::new(2, 0, 0, 0, 4), !3),
        ("CSSELR_EL1", SystemRegister::new(3, 2, 0, 0, 0), 0xF),
    ];
    for (name, register, kept) in table {
        let (mut bus, mut state) =
            machine(&[0xD510_0000 | register.0, 0xD530_0001 | register.0, 0xD280_0000, END]);
        state.set_system_register(CPACR_EL1, 3 << 20);
        state.x[0] = u64::MAX;
        let (cpu, exit) = run(&mut bus, &state);
        assert_eq!(exit, Exit::Attention);
        assert!(bus.deliveries.is_empty(), "{name}: {:x?}", bus.deliveries);
        assert_eq!(cpu.state().x[1], kept, "{name}");
        assert_eq!(
            register.to_string().starts_with('S') && register.to_string().contains("_C"),
            name.starts_with("DBGB")
        );
    }
}

#[test]
fn the_bus_has_the_other_registers() {
    // mrs x1, pmcr_el0; msr pmcr_el0, x2; mov x0, #0; hvc #0
    let pmcr = SystemRegister::new(3, 3, 9, 12, 0);
    let (mut bus, mut state) = machine(&[0xD53B_9C01, 0xD51B_9C02, 0xD280_0000, END]);
    bus.system.insert(pmcr, 0x1234);
    state.x[2] = 0x5678;
    let (cpu, _) = run(&mut bus, &state);
    assert_eq!((cpu.state().x[1], bus.system[&pmcr]), (0x1234, 0x5678));
    assert!(bus.deliveries.is_empty());
    bus.trapped.push(pmcr);
    state.pstate = EL0;
    run(&mut bus, &state);
    // op0 3, op2 0, op1 3, CRn 9, Rt 1, CRm 12, a read.
    assert_eq!(
        only_exception(&bus),
        (Class::TrappedSystem, 3 << 20 | 3 << 14 | 9 << 10 | 1 << 5 | 12 << 1 | 1)
    );
}

#[test]
fn the_first_addresses_are_as_any_others() {
    // ldrb w0, [x2]; ldrh w0, [x2]; ldr w0, [x2]; ldr x0, [x2]; ldp x0, x3, [x2]; ldr q0, [x2]; strh w0, [x2]
    for word in [0x3940_0040, 0x7940_0040, 0xB940_0040, 0xF940_0040, 0xA940_0C40, 0x3DC0_0040, 0x7900_0040] {
        for (address, level) in (0..64).flat_map(|address| [(address, 0), (address, 0x3C5)]) {
            let (mut bus, mut state) = machine(&[word]);
            state.set_system_register(CPACR_EL1, 3 << 20);
            (state.x[2], state.pstate) = (address, level);
            run(&mut bus, &state);
            assert_eq!(only_exception(&bus).0, Class::DataAbort, "{word:#x} {address}");
        }
    }
}
