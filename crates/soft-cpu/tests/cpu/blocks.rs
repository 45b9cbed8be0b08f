//! Code leaves the same state behind each of its instructions, whether it runs in one go or under an observer, who has
//! each one executed by itself: what a block leaves out or does at once cannot be seen.

use crate::common::{Random, Recorder, TestBus};
use soft_cpu::{Budget, Bus, Cpu, Exit, Segment, State, Totals};

const RAM: usize = 1 << 16;
const CODE: u64 = 0x8000;
/// Present, writable, user.
const ALL: u64 = 7;
/// Most instructions of a case.
const LONGEST: u64 = 60;

impl Random {
    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() as usize % list.len()]
    }
}

/// An instruction with registers, immediates, a load, or an exception; some with a jump over the next one.
fn instruction(random: &mut Random, long: bool, code: &mut Vec<u8>) {
    // All but ESP, and EDI that holds an address.
    let register = |random: &mut Random| random.pick(&[0_u8, 1, 2, 3, 5, 6]);
    let (reg, rm) = (register(random), register(random));
    let modrm = 0xC0 | reg << 3 | rm;
    let byte = random.next() as u8;
    let condition = (random.next() % 16) as u8;
    let group = (random.next() % 8) as u8;
    if long && random.next() & 1 == 0 {
        code.push(0x48);
    }
    match random.next() % 16 {
        0..4 => code.extend([random.pick(&[0x01, 0x09, 0x11, 0x19, 0x21, 0x29, 0x31, 0x39, 0x85]), modrm]),
        4 | 5 => code.extend([0x83, 0xC0 | group << 3 | rm, byte]),
        6 => code.extend([0xFF, 0xC0 | (group & 1) << 3 | rm]),
        7 => code.extend([0xC1, 0xC0 | group << 3 | rm, byte]),
        8 => code.extend([0x0F, 0x40 | condition, modrm]),
        // SETcc of AL to BL.
        9 => code.extend([0x0F, 0x90 | condition, 0xC0 | rm & 3]),
        10 => code.extend([0x0F, 0xAF, modrm]),
        // LEA, and a load with ADD.
        11 => code.extend([random.pick(&[0x8D, 0x03]), 0x47 | reg << 3, byte]),
        12 => code.extend([random.pick(&[0x38, 0x84]), 0xC0 | (reg & 3) << 3 | rm & 3]),
        // DIV: by 0 or with too large a dividend, as often as not.
        13 => code.extend([0xF7, 0xF0 | rm]),
        _ => code.extend([0x70 | condition, 2, 0xFF, 0xC0 | rm]),
    }
}

fn start(random: &mut Random, long: bool) -> (TestBus, State) {
    let mut code = Vec::new();
    for _ in 0..random.next() % (LONGEST / 2) {
        instruction(random, long, &mut code);
    }
    code.push(0xF4);
    let mut bus = TestBus::new(RAM);
    bus.write(CODE, &code);
    let mut state = State { rip: CODE, rflags: random.next() & 0x8D5 | 2, ..State::default() };
    for register in &mut state.gpr {
        *register =
            random.next() >> random.pick(&[0, 32, 56, 63]) & if long { u64::MAX } else { 0xFFFF_FFFF };
    }
    (state.gpr[4], state.gpr[7]) = (0x7000, 0x6000);
    if long {
        bus.write_u64(0x1000, 0x2000 | ALL);
        bus.write_u64(0x2000, 0x3000 | ALL);
        bus.write_u64(0x3000, 0x80 | ALL);
        (state.cr0, state.cr3, state.cr4, state.efer) = (0x8000_0033, 0x1000, 0x620, 0xD01);
        state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xA09B };
    }
    (bus, state)
}

/// How the run ends, and in which state.
fn run(bus: &mut impl Bus, state: &State, instructions: u64) -> (Exit, State, Totals) {
    let mut cpu = Cpu::new(state);
    let exit = cpu.run(bus, Budget { instructions, interrupt_window: false });
    (exit, cpu.state(), *cpu.totals())
}

fn compare(long: bool) {
    let (mut halted, mut faulted) = (0, 0);
    for seed in 1..50 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let (mut bus, state) = start(&mut random, long);
        let mut compare = |instructions| {
            let mut recorder = Recorder::default();
            recorder.one_by_one = true;
            let mut observed = std::mem::take(&mut bus).observed(recorder);
            let one_by_one = run(&mut observed, &state, instructions);
            bus = observed.unobserved();
            let at_once = run(&mut bus, &state, instructions);
            assert_eq!(at_once, one_by_one, "seed {seed}, {instructions} instructions");
            (at_once.0, at_once.2.instructions())
        };
        let (exit, instructions) = compare(LONGEST);
        match exit {
            Exit::Halted => halted += 1,
            // There is no gate for the exception.
            other => {
                assert_eq!(other, Exit::Shutdown, "seed {seed}");
                faulted += 1;
            }
        }
        for _ in 0..5 {
            compare(1 + random.next() % instructions.max(1));
        }
    }
    assert!(halted > 10 && faulted > 10, "{halted} cases ended regularly, {faulted} with an exception");
}

#[test]
fn states_between_instructions_in_64_bit_mode() {
    compare(true);
}

#[test]
fn states_between_instructions_in_32_bit_mode() {
    compare(false);
}
