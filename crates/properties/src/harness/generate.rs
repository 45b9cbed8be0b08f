//! Random operations, biased to where the rules are: programmed counters, values next to an
//! overflow, single reserved bits, half-written pairs.

use super::op::Op;
use crate::model::counting::{Occurrences, Slots, Tick};
use crate::model::enumeration::Cpu;
use crate::model::events::Stream;
use crate::model::ones;
use crate::model::rdpmc::Privilege;
use crate::rng::Rng;

/// Event select and unit mask of the streams, of the fixed counters' pseudo codes (which select
/// nothing) and of codes that no core has.
const CODES: [u64; 16] = [
    0x00C0, 0x00C0, 0x003C, 0x013C, 0x4F2E, 0x412E, 0x00C4, 0x00C5, 0x01A4, 0x01A4, 0x81D0, 0x01C6, 0x01CD,
    0x02C2, 0x0100, 0x00EE,
];

/// A guest that first programs its PMU and then does anything.
pub fn sequence(cpu: &Cpu, rng: &mut Rng, length: usize) -> Vec<Op> {
    let mut ops = Vec::with_capacity(length + 16);
    for n in 0..cpu.gp.min(4) {
        ops.push(Op::Wrmsr { index: 0x186 + n, value: evtsel(rng) });
    }
    if cpu.version >= 2 {
        ops.push(Op::Wrmsr { index: 0x38D, value: fixed_ctr_ctrl(cpu, rng) });
        ops.push(Op::Wrmsr { index: 0x38F, value: legal_enables(cpu) });
    }
    while ops.len() < length {
        step(cpu, rng, &mut ops);
    }
    ops
}

fn step(cpu: &Cpu, rng: &mut Rng, ops: &mut Vec<Op>) {
    match rng.below(100) {
        0..34 => {
            let index = written(cpu, rng);
            ops.push(Op::Wrmsr { index, value: value(cpu, index, rng) });
        }
        // A context switch: the pair in the order that the manual asks for, sometimes not.
        34..38 if cpu.metrics() => {
            let slots = Op::Wrmsr { index: 0x30C, value: counter(cpu.fixed_width, rng) };
            let metrics = Op::Wrmsr { index: 0x329, value: perf_metrics(rng) };
            ops.extend(if rng.one_in(5) { [metrics, slots] } else { [slots, metrics] });
        }
        34..54 => ops.push(Op::Rdmsr { index: any_index(rng) }),
        54..64 => ops.push(rdpmc(rng)),
        64..92 => ops.push(Op::Advance { ticks: (0..=rng.below(4)).map(|_| tick(rng)).collect() }),
        92..94 => ops.push(Op::Migrate { fresh: rng.one_in(2) }),
        94 => ops.push(rng.pick(&[&Op::Snapshot, &Op::RollBack]).clone()),
        95..99 => ops.push(Op::TakePmi),
        _ if rng.one_in(4) => ops.push(Op::Reset),
        _ => ops.push(Op::LookAtAll),
    }
}

/// An MSR to write: mostly one that exists.
fn written(cpu: &Cpu, rng: &mut Rng) -> u32 {
    let counter = |rng: &mut Rng, count: u32| rng.below(u64::from(count.max(1))) as u32;
    match rng.below(40) {
        0..3 => 0x0C1 + counter(rng, cpu.gp),
        3..6 => 0x4C1 + counter(rng, cpu.gp),
        6..13 => 0x186 + counter(rng, cpu.gp),
        13..16 => 0x309 + counter(rng, cpu.fixed),
        16..18 => 0x329,
        18..22 => 0x38D,
        22..26 => 0x38F,
        26..29 => 0x390,
        29 => 0x391,
        30..32 => 0x1D9,
        32 => 0x1A0,
        33..35 => 0x3F7,
        35 => 0x3F6,
        36 => 0x1A6 + counter(rng, 2),
        _ => any_index(rng),
    }
}

/// Any MSR, existing or not, with the neighbours of every range.
fn any_index(rng: &mut Rng) -> u32 {
    let (first, last) = rng.pick(&[
        (0x0C0, 0x0CA),
        (0x4C0, 0x4CA),
        (0x185, 0x18F),
        (0x308, 0x311),
        (0x329, 0x32A),
        (0x344, 0x346),
        (0x38C, 0x393),
        (0x1A0, 0x1A8),
        (0x1C8, 0x1DA),
        (0x3F0, 0x3F8),
        (0x600, 0x600),
        (0x680, 0x6C1),
        (0x14CE, 0x14CF),
        (0x1900, 0x1983),
        (0, u32::MAX),
    ]);
    first + rng.below(u64::from(last - first) + 1) as u32
}

fn value(cpu: &Cpu, index: u32, rng: &mut Rng) -> u64 {
    if rng.one_in(25) {
        return rng.bits();
    }
    let value = match index {
        0x0C1..=0x0C8 | 0x4C1..=0x4C8 => counter(cpu.gp_width, rng),
        0x186..=0x18D => evtsel(rng),
        0x309..=0x30F => counter(cpu.fixed_width.max(32), rng),
        0x329 => perf_metrics(rng),
        0x38D => fixed_ctr_ctrl(cpu, rng),
        0x38F => match rng.below(8) {
            0 => 0,
            1 | 2 => legal_enables(cpu) & rng.bits(),
            _ => legal_enables(cpu),
        },
        0x390 | 0x391 => match rng.below(4) {
            0 => legal_enables(cpu),
            1 => legal_enables(cpu) & rng.bits(),
            2 => 1 << 59,
            _ => 1 << rng.below(64),
        },
        0x1D9 => rng.pick(&[0, 1 << 12, 1 << 12, 1 << 12, 1 << 12 | 1 << 11 | 1, 1 << 14, 1 << 6, 1 << 2]),
        0x1A0 => {
            let bits = rng.pick(&[0, 1, 1 << 3, 1 << 16, 1 << 34, 0x4_00C5_0809, 1 << 7, 1 << 11, 1 << 12]);
            0x1880 ^ bits
        }
        0x1A6 | 0x1A7 => cpu.offcore_mask & rng.bits(),
        0x3F6 => rng.pick(&[4, 4, 8, 3, 0xFFFF, 0x1_0000]),
        0x3F7 => rng.pick(&[0x11, 0x11, 0x12, 0x1, 0x50_0206, 0x80_0000]),
        _ => rng.bits() & rng.bits(),
    };
    // One bit too many.
    if rng.one_in(12) { value | 1 << rng.below(64) } else { value }
}

fn counter(width: u32, rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => 0,
        1 => ones(width),
        // A preset as perf writes it: minus a period, with or without the bits above the width.
        2..5 => ones(width) - rng.below(200),
        5 | 6 => rng.below(5000).wrapping_neg(),
        7 => rng.pick(&[0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000, 0xFF01_2345_6789]),
        8 => rng.bits() & ones(width),
        _ => rng.below(1000),
    }
}

fn evtsel(rng: &mut Rng) -> u64 {
    let mut value = rng.pick(&CODES);
    value |= rng.pick(&[1, 2, 3, 3]) << 16;
    for (bit, odds) in [(18, 12), (19, 8), (20, 2), (21, 12), (23, 10)] {
        if rng.one_in(odds) {
            value |= 1 << bit;
        }
    }
    if !rng.one_in(8) {
        value |= 1 << 22;
    }
    if value & 0xFFFF == 0x02C2 {
        return value & !(1 << 18) | 1 << 23 | 1 << 24;
    }
    if rng.one_in(10) { value | rng.below(12) << 24 } else { value }
}

fn fixed_ctr_ctrl(cpu: &Cpu, rng: &mut Rng) -> u64 {
    let mut value = 0;
    for n in 0..cpu.fixed {
        let nibble: u64 = rng.pick(&[0, 1, 2, 3, 3, 3, 0xB, 0xB, 0xB, 0x9, 0xA, 0x8]);
        value |= nibble << (4 * n);
    }
    if rng.one_in(6) {
        value |= 4 << (4 * rng.below(5));
    }
    if cpu.metrics_clear() && rng.one_in(2) {
        value |= 1 << 14;
    }
    value
}

fn legal_enables(cpu: &Cpu) -> u64 {
    ones(cpu.gp) | ones(cpu.fixed) << 32 | u64::from(cpu.metrics()) << 48
}

fn perf_metrics(rng: &mut Rng) -> u64 {
    match rng.below(5) {
        0 | 1 => 0,
        2 => rng.bits(),
        3 => rng.pick(&[0xDEAD_DEAD, u64::MAX, 0xFF, 0xFF00_0000_0000, 0x4040_403F]),
        // What a CPU could have shown: level 1 adds up, level 2 is within it.
        _ => {
            let mut left = 255;
            let mut bytes = [0_u8; 8];
            for byte in bytes.iter_mut().take(3) {
                *byte = rng.below(left + 1) as u8;
                left -= u64::from(*byte);
            }
            bytes[3] = left as u8;
            for n in 4..8 {
                bytes[n] = rng.below(u64::from(bytes[n - 4]) + 1) as u8;
            }
            u64::from_le_bytes(bytes)
        }
    }
}

fn rdpmc(rng: &mut Rng) -> Op {
    let ecx = match rng.below(12) {
        0..4 => rng.below(9) as u32,
        4..7 => 0x4000_0000 + rng.below(5) as u32,
        7 | 8 => 0x2000_0000,
        9 => rng.pick(&[0x2000_0001, 0x8000_0000, 0xC000_0000, 0x6000_0000, 64, 0x1_0000]),
        10 => 1 << rng.below(32),
        _ => rng.bits() as u32,
    };
    let privilege = match rng.below(4) {
        0 => Privilege { cpl: rng.below(4) as u8, cr4_pce: rng.one_in(2), cr0_pe: rng.one_in(2) },
        1 => Privilege { cpl: 3, cr4_pce: true, cr0_pe: true },
        _ => Privilege { cpl: 0, cr4_pce: false, cr0_pe: true },
    };
    Op::Rdpmc { ecx, privilege }
}

pub fn tick(rng: &mut Rng) -> Tick {
    let mut tick = Tick::default();
    for _ in 0..rng.below(4) {
        let stream = loop {
            let stream = rng.pick(&Stream::ALL);
            if stream != Stream::Slots {
                break stream;
            }
        };
        tick.events.push(Occurrences { stream, os: rng.one_in(2), count: amount(rng) });
    }
    if !rng.one_in(3) {
        tick.slots.push(slots(rng));
    }
    tick
}

pub fn slots(rng: &mut Rng) -> Slots {
    let mut categories = [0; 8];
    for n in 0..4 {
        categories[n] = if rng.one_in(3) { 0 } else { amount(rng) };
        categories[n + 4] = rng.below(categories[n] + 1);
    }
    Slots { os: rng.one_in(2), categories }
}

/// Mostly few, so that overflows are hit closely; now and then enough to wrap several times.
fn amount(rng: &mut Rng) -> u64 {
    match rng.below(40) {
        0 => rng.below(1 << 50),
        1 => rng.below(1 << 33),
        2..8 => rng.below(1 << 14),
        _ => rng.below(120),
    }
}
