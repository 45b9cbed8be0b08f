//! Random bytes as guest code: whatever they do, the interpreter neither panics nor hangs, and executes
//! exactly as many instructions as it says. `cargo xtask fuzz` does more of it, and in more ways.

use crate::common::{AnyBus, Random, Recorder};
use soft_cpu::{Budget, Cpu, DescriptorTable, Exit, Segment, State};
use std::hash::{DefaultHasher, Hash, Hasher};

const RAM: usize = 1 << 20;
/// Present, writable, user.
const ALL: u64 = 7;

/// Identity map of the first 2 MiB in small pages, some of them read-only or for the supervisor.
fn tables<const OBSERVED: bool>(bus: &mut AnyBus<OBSERVED>, random: &mut Random) {
    bus.write_u64(0x1000, 0x2000 | ALL);
    bus.write_u64(0x2000, 0x3000 | ALL);
    bus.write_u64(0x3000, 0x4000 | ALL);
    for page in 0..512 {
        let flags = if random.next().is_multiple_of(8) { random.next() & ALL } else { ALL };
        bus.write_u64(0x4000 + page * 8, page << 12 | flags);
    }
}

fn state(random: &mut Random) -> State {
    let mut state = State {
        rip: 0x1_0000 + random.next() % 0x8_0000,
        rflags: random.next() & 0x8D5 | 2,
        cr4: 0x620,
        ..State::default()
    };
    for register in &mut state.gpr {
        *register = if random.next() & 1 == 0 { random.next() % RAM as u64 } else { random.next() };
    }
    for register in &mut state.xmm {
        *register = u128::from(random.next()) << 64 | u128::from(random.next());
    }
    state.gpr[4] = 0x8_0000;
    let long = random.next() & 3;
    let user = random.next() & 1 == 1;
    if long != 0 {
        (state.cr0, state.cr3, state.efer) = (0x8001_0033, 0x1000, 0xD01);
    }
    let dpl = if user { 3 << 5 } else { 0 };
    let code = if long >= 2 { 0xA09B } else { 0xC09B };
    let selector = if user { 3 } else { 0 };
    state.segments[1] = Segment { selector: 8 | selector, base: 0, limit: u32::MAX, rights: code | dpl };
    for number in [0, 2, 3, 4, 5] {
        state.segments[number] =
            Segment { selector: 16 | selector, base: 0, limit: u32::MAX, rights: 0xC093 | dpl };
    }
    state.gdtr = DescriptorTable { base: 0x5000, limit: 0xFFF };
    state.idtr = DescriptorTable { base: 0x6000, limit: 0xFFF };
    state.tr = Segment { selector: 0x40, base: 0x7000, limit: 0x2067, rights: 0x8B };
    state
}

/// Instructions retired, and a digest of all states on the way.
fn run<const OBSERVED: bool>(seeds: std::ops::Range<u64>, runs_per_seed: u64) -> (u64, u64) {
    let mut retired = 0;
    let mut digest = DefaultHasher::new();
    for seed in seeds {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut bus = AnyBus::<OBSERVED>::new(RAM);
        bus.msrs.insert(0x1B, 0xFEE0_0900);
        bus.recorder = OBSERVED.then(Recorder::default);
        let mut cpu = Cpu::default();
        for _ in 0..runs_per_seed {
            bus.exit = None;
            bus.attention = false;
            bus.console.clear();
            bus.ports.clear();
            bus.writes.clear();
            bus.mmio_log.clear();
            for at in (0x5000..RAM as u64).step_by(8) {
                bus.write_u64(at, random.next());
            }
            tables(&mut bus, &mut random);
            // Half of the gates and descriptors make some sense.
            for n in 0..256 {
                if random.next() & 1 == 0 {
                    bus.write_u64(0x6000 + n * 16, 0x0000_8E00_0008_0000 | random.next() & 0xFFFF);
                    bus.write_u64(0x6008 + n * 16, 0);
                }
            }
            bus.write_u64(0x5008, 0x00AF_9B00_0000_FFFF);
            bus.write_u64(0x5010, 0x00CF_9300_0000_FFFF);
            cpu.set_state(&state(&mut random));
            for _ in 0..20 {
                let before = cpu.totals().instructions();
                let budget = 1 + random.next() % 200;
                let exit = cpu.run(&mut bus, Budget { instructions: budget, interrupt_window: false });
                let done = cpu.totals().instructions() - before;
                assert!(done <= budget, "seed {seed}: {done} of {budget} instructions");
                assert!(
                    exit != Exit::Budget || done == budget,
                    "seed {seed}: {done} of {budget} instructions"
                );
                match random.next() % 4 {
                    0 => cpu.inject_nmi(),
                    1 => {
                        cpu.inject_interrupt(random.next() as u8);
                    }
                    _ => {}
                }
                bus.attention = false;
                if let Some(recorder) = &mut bus.recorder {
                    let steps = std::mem::take(&mut recorder.steps);
                    assert_eq!(steps.len() as u64, done, "seed {seed}");
                }
                let state = format!("{exit:?} {:?} {:?}", cpu.state(), cpu.totals());
                (state, &bus.ram).hash(&mut digest);
                if exit == Exit::Shutdown {
                    break;
                }
            }
        }
        retired += cpu.totals().instructions();
    }
    (retired, digest.finish())
}

#[test]
fn random_bytes_do_no_harm() {
    assert!(run::<false>(1..5, 60).0 > 1000);
}

#[test]
fn an_observer_sees_everything_and_changes_nothing() {
    assert_eq!(run::<false>(1..3, 20), run::<true>(1..3, 20));
}
