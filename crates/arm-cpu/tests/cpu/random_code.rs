//! Random code with random registers and translation tables: nothing panics, every run ends, and accounting holds.

use crate::common::{BASE, CONSOLE, ObservedBus, Recorder, TestBus, reset};
use arm_cpu::{Budget, Cpu, Exit, SystemRegister};
use proptest::prelude::*;
use std::fmt;

/// Runs of this many instructions end a case.
const RUNS: usize = 8;
const BUDGET: u64 = 300;

/// A word: anything, or one of the groups of which most words are allocated (bits 28:25).
fn word() -> impl Strategy<Value = u32> {
    let groups = prop::sample::select(vec![0x8_u32, 0x9, 0xA, 0xA, 0xB, 0x4, 0xC, 0x6, 0x5, 0xD, 0x7, 0xF]);
    let system = any::<u32>().prop_map(|word| 0xD500_0000 | word & 0x3F_FFFF);
    prop_oneof![
        1 => any::<u32>(),
        8 => (any::<u32>(), groups).prop_map(|(word, group)| word & !(0xF << 25) | group << 25),
        2 => system,
    ]
}

/// Something that may be an address.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), (0..0x1_0000_u64).prop_map(|offset| BASE + offset), Just(CONSOLE), 0..64_u64]
}

#[derive(Clone)]
struct Case {
    code: Vec<u32>,
    x: [u64; 31],
    pstate: u64,
    /// SCTLR_EL1, TCR_EL1, MAIR_EL1, MDSCR_EL1.
    controls: [u64; 4],
    mmu: bool,
    tables: Vec<u64>,
    interrupts: [bool; 2],
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, x, pstate, controls, mmu, tables, interrupts } = self;
        write!(f, "code {code:08x?}, x {x:x?}, pstate {pstate:x}, controls {controls:x?}, mmu {mmu}, ")?;
        write!(f, "tables {tables:x?}, interrupts {interrupts:?}")
    }
}

fn case() -> impl Strategy<Value = Case> {
    let descriptor = prop_oneof![
        (0..0x20_u64, 0..4_u64, any::<u64>()).prop_map(|(page, kind, bits)| {
            (BASE + 0x1000 * page) | kind | 1 << 10 | bits & 0x7860_0000_0000_0FFC
        }),
        any::<u64>(),
    ];
    (
        prop::collection::vec(word(), 64),
        prop::array::uniform32(value()),
        prop::sample::select(vec![0_u64, 0x3C5, 5, 4, 0x20_0000, 0x10_0000]),
        prop::array::uniform4(any::<u64>()),
        any::<bool>(),
        prop::collection::vec(descriptor, 16),
        any::<[bool; 2]>(),
    )
        .prop_map(|(code, x, pstate, controls, mmu, tables, interrupts)| {
            let mut registers = [0; 31];
            registers.copy_from_slice(&x[..31]);
            Case { code, x: registers, pstate, controls, mmu, tables, interrupts }
        })
}

fn prepare<const OBSERVED: bool>(case: &Case, bus: &mut crate::common::AnyBus<OBSERVED>) -> arm_cpu::State {
    bus.write_words(BASE, &case.code);
    // Vectors are code as well.
    for vector in 0..16 {
        bus.write_words(BASE + 0x1000 + 0x80 * vector, &case.code[..8]);
    }
    // Each table begins with the same descriptors, whichever level it is taken for.
    for page in 0..0x20_u64 {
        for (n, descriptor) in (0..).zip(&case.tables) {
            bus.write_u64(BASE + 0x8000 + 0x1000 * (page & 7) + 8 * ((n * 37 + page) & 0x1FF), *descriptor);
        }
    }
    let mut state = reset();
    (state.x, state.pstate) = (case.x, case.pstate);
    state.interrupts = case.interrupts;
    let [sctlr, tcr, mair, mdscr] = case.controls;
    let registers = [
        (SystemRegister::new(3, 0, 1, 0, 0), sctlr & !1 | u64::from(case.mmu)),
        (SystemRegister::new(3, 0, 2, 0, 0), BASE + 0x8000),
        (SystemRegister::new(3, 0, 2, 0, 1), BASE + 0x9000),
        (SystemRegister::new(3, 0, 2, 0, 2), tcr),
        (SystemRegister::new(3, 0, 10, 2, 0), mair),
        (SystemRegister::new(3, 0, 12, 0, 0), BASE + 0x1000),
        (SystemRegister::new(3, 0, 1, 0, 2), 3 << 20),
        (SystemRegister::new(2, 0, 0, 2, 2), mdscr),
    ];
    for (register, value) in registers {
        assert!(state.set_system_register(register, value));
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_runs_are_reproducible(case in case()) {
        let mut whole = TestBus::new(1 << 16);
        let state = prepare(&case, &mut whole);
        let mut cpu = Cpu::<TestBus>::new(&state);
        let mut pieces_bus = TestBus::new(1 << 16);
        prepare(&case, &mut pieces_bus);
        let mut pieces = Cpu::<TestBus>::new(&state);
        let mut observed_bus = ObservedBus::new(1 << 16);
        prepare(&case, &mut observed_bus);
        observed_bus.recorder = Some(Recorder::new(40));
        let mut observed = Cpu::<ObservedBus>::new(&state);
        for _ in 0..RUNS {
            let before = cpu.totals().instructions();
            (whole.attention, pieces_bus.attention, observed_bus.attention) = (false, false, false);
            let exit = cpu.run(&mut whole, Budget { instructions: BUDGET });
            let retired = cpu.totals().instructions() - before;
            prop_assert!(retired <= BUDGET);
            prop_assert_eq!(exit == Exit::Budget, retired == BUDGET && exit == Exit::Budget);
            // The same in runs of a few instructions, until as many have retired.
            let goal = cpu.totals().instructions();
            let mut idle = 0;
            while pieces.totals().instructions() < goal && idle < 3 {
                pieces_bus.attention = false;
                let left = goal - pieces.totals().instructions();
                let before = pieces.totals().instructions();
                pieces.run(&mut pieces_bus, Budget { instructions: left.min(3) });
                idle = if pieces.totals().instructions() == before { idle + 1 } else { 0 };
            }
            let observed_exit = observed.run(&mut observed_bus, Budget { instructions: BUDGET });
            prop_assert_eq!(observed_exit, exit);
            prop_assert_eq!(observed.totals(), cpu.totals());
            prop_assert_eq!(observed.state(), cpu.state());
            prop_assert_eq!(&observed_bus.ram, &whole.ram);
            if exit != Exit::Budget {
                break;
            }
            prop_assert_eq!(pieces.totals(), cpu.totals());
            prop_assert_eq!(pieces.state(), cpu.state());
        }
        let reported = observed_bus.recorder.unwrap().steps.len() as u64;
        prop_assert_eq!(reported, observed.totals().instructions());
    }
}
