//! The retirement stream: what an observer is told, in blocks and one by one.

use crate::common::{BASE, CONSOLE, ObservedBus, Recorder, TestBus, reset};
use arm_cpu::{Budget, Cpu, Exit, State, SystemRegister};
use retire::{Branch, BranchKind, CoreEvent};

const VBAR: SystemRegister = SystemRegister::new(3, 0, 12, 0, 0);
const DATA: u64 = BASE + 0x2000;
const HANDLER: u64 = BASE + 0x1200;

/// Fills and adds up an array, calls a function and the supervisor, and prints.
const PROGRAM: &[u32] = &[
    0xD280_0103, // mov x3, #8
    0xF800_8443, // loop: str x3, [x2], #8
    0xF85F_8044, //       ldur x4, [x2, #-8]
    0x8B04_00A5, //       add x5, x5, x4
    0xF100_0463, //       subs x3, x3, #1
    0x54FF_FF81, //       b.ne loop
    0xA93F_1444, // stp x4, x5, [x2, #-16]
    0x9400_0004, // bl function
    0xD400_0001, // svc #0
    0xD280_0000, // mov x0, #0
    0xD400_0002, // hvc #0
    0x3900_0027, // function: strb w7, [x1]
    0xD65F_03C0, //           ret
];

fn state() -> State {
    let mut state = reset();
    state.set_system_register(VBAR, BASE + 0x1000);
    (state.x[1], state.x[2], state.x[7]) = (CONSOLE, DATA, u64::from(b'!'));
    state
}

fn fill<const OBSERVED: bool>(bus: &mut crate::common::AnyBus<OBSERVED>) {
    bus.write_words(BASE, PROGRAM);
    // The handler of SVC: eret.
    bus.write_words(HANDLER, &[0xD69F_03E0]);
}

fn observed(quiet: u64, budget: u64) -> (ObservedBus, Cpu<ObservedBus>) {
    let mut bus = ObservedBus::new(1 << 16);
    fill(&mut bus);
    bus.recorder = Some(Recorder::new(quiet));
    let mut cpu = Cpu::new(&state());
    while cpu.run(&mut bus, Budget { instructions: budget }) == Exit::Budget {}
    (bus, cpu)
}

#[test]
fn every_instruction_retires_once_with_its_accesses_and_branches() {
    let (bus, cpu) = observed(u64::MAX, u64::MAX);
    let steps = &bus.recorder.as_ref().unwrap().steps;
    assert_eq!(steps.len() as u64, cpu.totals().instructions());
    assert_eq!(bus.text(), "!");

    let first = &steps[1];
    assert_eq!((first.pc, first.branch), (BASE + 4, None));
    let [store] = first.memory[..] else { panic!("{first:?}") };
    assert_eq!((store.linear, store.physical, store.size, store.write), (DATA, DATA, 8, true));

    let pair = steps.iter().find(|step| step.pc == BASE + 0x18).unwrap();
    let stores: Vec<_> =
        pair.memory.iter().map(|access| (access.linear, access.size, access.write)).collect();
    assert_eq!(stores, [(DATA + 48, 8, true), (DATA + 56, 8, true)]);

    let loops: Vec<_> = steps.iter().filter(|step| step.pc == BASE + 0x14).map(|step| step.branch).collect();
    let branch = |taken, target| Some(Branch { kind: BranchKind::Conditional, taken, target });
    assert_eq!(loops[..7], [branch(true, BASE + 4); 7]);
    assert_eq!(loops[7..], [branch(false, BASE + 0x18)]);

    let kinds: Vec<_> =
        steps.iter().filter_map(|step| step.branch).map(|branch| branch.kind).skip(8).collect();
    assert_eq!(kinds, [BranchKind::DirectCall, BranchKind::Return, BranchKind::Far]);

    let device = steps.iter().find(|step| step.pc == BASE + 0x2C).unwrap();
    assert!(device.memory[0].uncached);
    assert_eq!(bus.recorder.unwrap().events, [CoreEvent::Interrupt { user: false }]);
}

#[test]
fn the_stream_is_the_same_however_it_is_cut() {
    let (whole, cpu) = observed(u64::MAX, u64::MAX);
    let whole = whole.recorder.unwrap();
    for (quiet, budget) in [(0, u64::MAX), (3, u64::MAX), (u64::MAX, 1), (u64::MAX, 4), (1, 7)] {
        let (bus, other) = observed(quiet, budget);
        let recorder = bus.recorder.unwrap();
        assert_eq!(recorder.steps, whole.steps, "{quiet} {budget}");
        assert_eq!(recorder.events, whole.events, "{quiet} {budget}");
        assert_eq!(other.totals(), cpu.totals(), "{quiet} {budget}");
        assert_eq!(other.state(), cpu.state(), "{quiet} {budget}");
    }
}

#[test]
fn the_bus_finds_everything_reported_that_it_is_told_of() {
    const SYSTEM: SystemRegister = SystemRegister::new(3, 3, 9, 12, 0);
    let mut bus = ObservedBus::new(1 << 16);
    // ldr x3, [x2]; mrs x4, pmcr_el0; str x3, [x2]; ldrb w5, [x1]; msr pmcr_el0, x4; strb w7, [x1]; mov x0, #0; hvc #0
    let code = [
        0xF940_0043,
        0xD53B_9C04,
        0xF900_0043,
        0x3940_0025,
        0xD51B_9C04,
        0x3900_0027,
        0xD280_0000,
        0xD400_0002,
    ];
    bus.write_words(BASE, &code);
    bus.system.insert(SYSTEM, 0);
    bus.recorder = Some(Recorder::new(u64::MAX));
    let mut cpu = Cpu::new(&state());
    // The bus checks it at each of the five calls.
    assert_eq!(cpu.run(&mut bus, Budget { instructions: 100 }), Exit::Attention);
    let accesses: Vec<_> = bus.recorder.unwrap().steps.iter().map(|step| step.memory.len()).collect();
    assert_eq!(accesses, [1, 0, 1, 1, 0, 1, 0, 0]);
}

#[test]
fn observation_changes_nothing() {
    let (_, observed) = observed(u64::MAX, u64::MAX);
    let mut bus = TestBus::new(1 << 16);
    fill(&mut bus);
    let mut cpu = Cpu::<TestBus>::new(&state());
    assert_eq!(cpu.run(&mut bus, Budget { instructions: u64::MAX }), Exit::Attention);
    assert_eq!(cpu.state(), observed.state());
    assert_eq!(cpu.totals(), observed.totals());
}

#[test]
fn an_instruction_that_faults_does_not_retire() {
    // ldr x3, [x2]; ldr x4, [x9] where nothing is
    let mut bus = ObservedBus::new(1 << 16);
    bus.write_words(BASE, &[0xF940_0043, 0xF940_0124]);
    bus.write_words(HANDLER, &[0xD280_0000, 0xD400_0002]);
    bus.recorder = Some(Recorder::new(u64::MAX));
    let mut cpu = Cpu::new(&State { x: [0x1000; 31], ..state() });
    let mut state = cpu.state();
    state.x[2] = DATA;
    cpu.set_state(&state);
    cpu.run(&mut bus, Budget { instructions: 10 });
    let steps = bus.recorder.unwrap().steps;
    assert_eq!(steps.iter().map(|step| step.pc).collect::<Vec<_>>(), [BASE, HANDLER, HANDLER + 4]);
    assert_eq!(steps[0].memory.len(), 1);
    assert_eq!((cpu.totals().el1().instructions, cpu.totals().el1().loads), (3, 1));
}
