//! The same branches are recorded whether code runs in one go, in pieces, one by one or under an observer, and
//! however few of them matter.

use crate::common::{AnyBus, Random, Recorder, TestBus};
use retire::BranchKind;
use soft_cpu::{Budget, Cpu, DescriptorTable, Exit, Segment, State, TakenBranch, Totals};

const RAM: usize = 1 << 20;
const CODE: u64 = 0x2_0000;
/// Pieces of code, of so many bytes at most.
const PIECES: u64 = 40;
const PIECE: u64 = 48;
/// Handler of exceptions and INT n.
const HANDLER: u64 = 0x1_8000;
/// The middle of the stack, which is full of addresses of pieces.
const STACK: u64 = 0x8_0000;
/// Where there is no RAM.
const DEVICE: u64 = 0x18_0000;
const INSTRUCTIONS: u64 = 6000;
/// Present, writable, user.
const ALL: u64 = 7;

fn piece(number: u64) -> u64 {
    CODE + number % PIECES * PIECE
}

/// A few instructions, and a branch to another piece or to the next instruction.
fn code(random: &mut Random, at: u64) -> Vec<u8> {
    let mut code = Vec::new();
    for _ in 0..random.next() % 5 {
        match random.next() % 16 {
            // Accesses to a device: mov eax, [rbp]; mov [rbp], eax.
            0 => code.extend([0x8B, 0x45, 0]),
            1 => code.extend([0x89, 0x45, 0]),
            // An exception: ud2, which the handler steps over.
            2 => code.extend([0x0F, 0x0B]),
            // INT n.
            3 => code.extend([0xCD, 0x30]),
            // Jcc to the next instruction, with and without an instruction that compares before it.
            4 => code.extend([0x39, 0xCA, 0x70 | (random.next() as u8 % 16), 0]),
            5 => code.extend([0x0F, 0x80 | (random.next() as u8 % 16), 0, 0, 0, 0]),
            // inc edx; add ecx, edx; test dl, 3.
            6..9 => code.extend([0xFF, 0xC2]),
            9..12 => code.extend([0x01, 0xD1]),
            _ => code.extend([0xF6, 0xC2, 3]),
        }
    }
    let target = piece(random.next());
    let relative = |code: &[u8], len: u64| {
        let next = at + code.len() as u64 + len;
        (target.wrapping_sub(next) as i32).to_le_bytes()
    };
    match random.next() % 12 {
        0 => {
            let to = relative(&code, 5);
            code.extend([[0xE9].as_slice(), &to].concat());
        }
        1 => {
            let to = relative(&code, 5);
            code.extend([[0xE8].as_slice(), &to].concat());
        }
        // mov eax, target; jmp or call rax.
        2 | 3 => {
            code.extend([[0xB8].as_slice(), &(target as u32).to_le_bytes()].concat());
            code.extend([0xFF, if random.next() & 1 == 0 { 0xE0 } else { 0xD0 }]);
        }
        4 | 5 => code.push(0xC3),
        // loop +0, jrcxz +0: both ways end here.
        6 => code.extend([if random.next() & 1 == 0 { 0xE2 } else { 0xE3 }, 0]),
        // A call that pushes to a device: xchg rsp, rbp; call +0; xchg rsp, rbp; and back: lea rbp, [rbp + 8].
        7 => code.extend([0x48, 0x87, 0xEC, 0xE8, 0, 0, 0, 0, 0x48, 0x87, 0xEC, 0x48, 0x8D, 0x6D, 8]),
        _ => {
            let to = relative(&code, 6);
            code.extend([[0x0F, 0x80 | (random.next() as u8 % 16)].as_slice(), &to].concat());
        }
    }
    assert!(code.len() as u64 <= PIECE);
    code.resize(PIECE as usize, 0x90);
    code
}

/// 64-bit mode, with pages that map to themselves.
fn start(seed: u64) -> (TestBus, State) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut bus = TestBus::new(RAM);
    bus.write_u64(0x1000, 0x2000 | ALL);
    bus.write_u64(0x2000, 0x3000 | ALL);
    bus.write_u64(0x3000, 0x80 | ALL);
    bus.write_u64(0x5008, 0x00AF_9B00_0000_FFFF);
    bus.write_u64(0x5010, 0x00CF_9300_0000_FFFF);
    for vector in 0..0x40 {
        bus.write_u64(0x6000 + vector * 16, 0x0001_8E00_0008_8000 | (HANDLER & 0xFFFF));
    }
    // For INT n: iretq. #UD has a handler of its own: add qword [rsp], 2; iretq.
    bus.write(HANDLER, &[0x48, 0xCF]);
    bus.write_u64(0x6000 + 6 * 16, 0x0001_8E00_0008_8000 | ((HANDLER + 0x40) & 0xFFFF));
    bus.write(HANDLER + 0x40, &[0x48, 0x83, 0x04, 0x24, 2, 0x48, 0xCF]);
    for slot in 0..0x8000 {
        bus.write_u64(STACK - 0x2_0000 + slot * 8, piece(random.next()));
    }
    for number in 0..PIECES {
        let code = code(&mut random, piece(number));
        bus.write(piece(number), &code);
    }
    // Behind the last piece: jmp to the first one.
    let back = CODE.wrapping_sub(CODE + PIECES * PIECE + 5) as u32;
    bus.write(CODE + PIECES * PIECE, &[[0xE9].as_slice(), &back.to_le_bytes()].concat());
    let mut state =
        State { rip: CODE, cr0: 0x8001_0033, cr3: 0x1000, cr4: 0x620, efer: 0xD01, ..State::default() };
    state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xA09B };
    state.segments[2] = Segment { selector: 16, base: 0, limit: u32::MAX, rights: 0xC093 };
    state.gdtr = DescriptorTable { base: 0x5000, limit: 0xFFF };
    state.idtr = DescriptorTable { base: 0x6000, limit: 0x3FF };
    state.gpr[1] = random.next() % 100;
    state.gpr[4] = STACK;
    state.gpr[5] = DEVICE;
    (bus, state)
}

/// How code is executed.
#[derive(Debug, Clone, Copy, Default)]
struct How {
    wanted: u8,
    kept: Option<u64>,
    /// Most instructions in a run; 0 for all.
    piece: u64,
    observed: bool,
    /// Accesses to devices end runs.
    ends: bool,
}

/// What has been recorded.
#[derive(Debug)]
struct Recorded {
    branches: Vec<TakenBranch>,
    skipped: Vec<(usize, u64)>,
    looks: Vec<(Totals, u64)>,
    end: (State, Totals),
}

fn run(seed: u64, how: How) -> Recorded {
    let (bus, state) = start(seed);
    if how.observed {
        run_on(bus.observed(Recorder::default()), &state, seed, how)
    } else {
        run_on(bus, &state, seed, how)
    }
}

fn run_on<const OBSERVED: bool>(mut bus: AnyBus<OBSERVED>, state: &State, seed: u64, how: How) -> Recorded {
    (bus.wanted_branches, bus.kept_branches) = (how.wanted, how.kept);
    bus.looks_end_runs = how.ends;
    let mut cpu = Cpu::new(state);
    let mut random = Random(seed + 1);
    let mut left = INSTRUCTIONS;
    while left > 0 {
        let instructions = if how.piece == 0 { left } else { left.min(1 + random.next() % how.piece) };
        bus.attention = false;
        let exit = cpu.run(&mut bus, Budget { instructions, interrupt_window: false });
        let regular = if bus.attention { Exit::Attention } else { Exit::Budget };
        assert_eq!(exit, regular, "seed {seed}, {:x?}", cpu.state());
        left = INSTRUCTIONS - cpu.totals().instructions();
    }
    let AnyBus { branches, skipped_branches: skipped, looks, .. } = bus;
    Recorded { branches, skipped, looks, end: (cpu.state(), *cpu.totals()) }
}

/// `some` leaves out of `all` what it may.
#[track_caller]
fn check(all: &Recorded, some: &Recorded, how: How) {
    let kept = how.kept.unwrap_or(u64::MAX);
    assert_eq!(some.end, all.end, "{how:?}");
    let mut wanted = all.branches.iter().filter(|branch| how.wanted & branch.kind.bit() != 0);
    let mut skipped = some.skipped.iter().peekable();
    for (number, branch) in some.branches.iter().enumerate() {
        while let Some((before, count)) = skipped.next_if(|(before, _)| *before == number) {
            assert!((some.branches.len() - before) as u64 >= kept, "{how:?}");
            assert!(wanted.nth(*count as usize - 1).is_some(), "{how:?}");
        }
        assert_eq!(Some(branch), wanted.next(), "branch {number}, {how:?}");
    }
    assert_eq!(wanted.next(), None, "{how:?}");
    assert_eq!(skipped.next(), None, "{how:?}");
}

#[test]
fn every_branch_is_recorded_in_order_however_code_runs() {
    let mut kinds = [0; BranchKind::COUNT];
    let (mut looks, mut skipped) = (0, 0);
    for seed in 1..25 {
        let single = How { wanted: u8::MAX, piece: 1, ..How::default() };
        let all = run(seed, single);
        all.branches.iter().for_each(|branch| kinds[branch.kind as usize] += 1);
        looks += all.looks.len();
        // The totals know how many there are.
        let counted = |totals: &Totals| totals.os().taken_branches() + totals.os().events;
        assert_eq!(counted(&all.end.1), all.branches.len() as u64);

        let mut random = Random(seed);
        for round in 0..12 {
            let how = How {
                wanted: if round < 6 { u8::MAX } else { random.next() as u8 },
                kept: [None, Some(1), Some(5), Some(33), Some(200)][random.next() as usize % 5],
                piece: [0, 0, 7, 300][random.next() as usize % 4],
                observed: random.next().is_multiple_of(3),
                ends: random.next() & 1 == 0,
            };
            let some = run(seed, how);
            skipped += some.skipped.len();
            check(&all, &some, how);
            // An access to a device sees everything before its instruction.
            if how.wanted == u8::MAX {
                for (totals, branches) in &some.looks {
                    assert_eq!(counted(totals), *branches, "{how:?}");
                }
            }
        }
    }
    for kind in BranchKind::ALL {
        assert!(kinds[kind as usize] > 500, "{kind:?}: {kinds:?}");
    }
    assert!(looks > 1000 && skipped > 100, "{looks} accesses to devices, {skipped} times left out");
}

/// A loop in which nothing is wanted, between branches that are: the ring fills many times.
#[test]
fn what_is_wanted_rarely_is_not_lost() {
    // mov ecx, 3000; 1: dec ecx; jnz 1b; call +0; mov ecx, 3000; 2: dec ecx; jnz 2b; call +0; hlt.
    let around = [0xB9, 0xB8, 0xB, 0, 0, 0xFF, 0xC9, 0x75, 0xFC, 0xE8, 0, 0, 0, 0];
    let program = [around.as_slice(), &around, &[0xF4]].concat();
    for kept in [1, 2, 3, 33] {
        let (mut bus, state) = start(1);
        bus.write(CODE, &program);
        (bus.wanted_branches, bus.kept_branches) = (BranchKind::DirectCall.bit(), Some(kept));
        let mut cpu = Cpu::new(&state);
        assert_eq!(
            cpu.run(&mut bus, Budget { instructions: u64::MAX, interrupt_window: false }),
            Exit::Halted
        );
        let skipped: u64 = bus.skipped_branches.iter().map(|(_, count)| count).sum();
        assert_eq!(bus.branches.len() as u64 + skipped, 2, "{kept} matter");
        let newest = bus.branches.last().map(|branch| (branch.from, branch.to, branch.retired));
        assert_eq!(newest, Some((CODE + 23, CODE + 28, 12003)), "{kept} matter");
    }
}
