//! The arithmetic of bits, for every value.
//!
//! What is too large to try out is cut down by an argument that each test names:
//!
//! * **linear**: made of copies of bits, masks and XOR only, so f(a XOR b) = f(a) XOR f(b), and what holds for each
//!   single bit holds for every value;
//! * **bit by bit**: an OR over bits of something that each bit decides alone, so the single bits are all cases;
//! * **any width**: the width is an argument that only shifts and masks, so narrow counters have every case of a carry
//!   that wide ones have, and those are tried at their borders.

use super::counter::Counter;
use super::{Fault, ReadOutcome, Vpmu, WriteOutcome};
use crate::event::Event;
use crate::event::EventCode;
use crate::metrics::{ALL_FIELDS, FULL_SCALE, LEVEL1_FIELDS, field, fractions};
use crate::profile::{Architecture, ICELAKE_SP, LUNAR_LAKE_P, Profile, ZEN4};
use crate::register::{Access, RegisterId, intel, low_bits, registers};
use crate::source::{CounterId, EventRequest, Level, PrivilegeFilter, ScriptedSource};

fn running(value: u64, width: u32, source: &mut ScriptedSource) -> Counter {
    let mut counter =
        Counter::new(CounterId::Gp(0), EventRequest::named(Event::InstRetiredAny, EventCode::default()));
    counter.value = value & low_bits(width);
    counter.run(true, PrivilegeFilter::ALL, source);
    counter
}

/// Counts `delta` and says what the counter holds then, and whether it wrapped.
fn counted(value: u64, delta: u64, width: u32) -> (u64, bool) {
    let mut source = ScriptedSource::new();
    let mut counter = running(value, width, &mut source);
    source.add_user(Event::InstRetiredAny, delta);
    let wrapped = counter.sync(width, &mut source);
    (counter.value, wrapped != 0)
}

fn wrmsr(pmu: &mut Vpmu, index: u32, value: u64) {
    assert_eq!(
        pmu.write_register(Level::Kernel, index, value, &mut ScriptedSource::new()),
        WriteOutcome::Done,
        "{index:#x}"
    );
}

fn rdmsr(pmu: &mut Vpmu, index: u32) -> u64 {
    match pmu.read_register(Level::Kernel, index, &mut ScriptedSource::new()).quiet() {
        ReadOutcome::Value(value) => value,
        outcome => unreachable!("RDMSR {index:#x}: {outcome:?}"),
    }
}

/// Every value and increment of narrow counters, compared with counting one by one.
#[test]
fn counting_is_modulo_the_width_and_wraps_past_the_top() {
    for width in 1..=6 {
        for value in 0..1_u64 << width {
            let (mut expected, mut wrapped) = (value, false);
            for delta in 0..3 << width {
                assert_eq!(
                    counted(value, delta, width),
                    (expected, wrapped),
                    "{value} + {delta}, {width} bits"
                );
                expected = if expected == low_bits(width) { 0 } else { expected + 1 };
                wrapped |= expected == 0;
            }
        }
    }
}

/// Any width: the borders of wide counters, the 64 bits of a merged pair among them.
#[test]
fn counting_at_the_borders_of_every_width() {
    for width in 7..=64_u32 {
        let top = low_bits(width);
        for value in [0, 1, top / 2, top / 2 + 1, top - 1, top] {
            for delta in [0, 1, 2, top / 2, top - 1, top, u64::MAX] {
                let sum = u128::from(value) + u128::from(delta);
                let expected = ((sum % (1 << width)) as u64, sum >= 1 << width);
                assert_eq!(counted(value, delta, width), expected, "{value:#x} + {delta:#x}, {width} bits");
            }
        }
    }
}

/// The distance to the overflow is where it happens and not one earlier: every value of narrow counters, the borders
/// of wide ones.
#[test]
fn the_distance_to_an_overflow_is_exact() {
    let narrow = (1..=10_u32).flat_map(|width| (0..1_u64 << width).map(move |value| (value, width)));
    let wide = (11..=63).flat_map(|width| [0, 1, low_bits(width) / 2, low_bits(width)].map(|v| (v, width)));
    for (value, width) in narrow.chain(wide).chain([(1, 64), (u64::MAX / 2, 64), (u64::MAX, 64)]) {
        let left = running(value, width, &mut ScriptedSource::new()).until_overflow(width);
        assert_eq!(counted(value, left, width), (0, true), "{value:#x}, {width} bits");
        assert_eq!(counted(value, left - 1, width), (low_bits(width), false), "{value:#x}, {width} bits");
    }
    // A full round of 64 bits is one more than can be said.
    assert_eq!(running(0, 64, &mut ScriptedSource::new()).until_overflow(64), u64::MAX);
}

/// Linear: bit 31 of a legacy write is copied upwards, bits 63:32 are dropped; the other addresses store what is
/// written. In every width.
#[test]
fn counter_writes_extend_or_store() {
    for width in 32..=63_u8 {
        let profile = Profile { gp_width: width, ..LUNAR_LAKE_P }.with_intel(|pmu| pmu.fixed_width = width);
        let mut pmu = Vpmu::new(profile);
        let mask = low_bits(width.into());
        for bit in 0..64 {
            wrmsr(&mut pmu, 0xC1, 1 << bit);
            let legacy = match bit {
                0..=30 => 1 << bit,
                31 => mask & !low_bits(31),
                _ => 0,
            };
            assert_eq!(rdmsr(&mut pmu, 0xC1), legacy, "legacy write of bit {bit}, {width} bits");
            wrmsr(&mut pmu, 0x309, 1 << bit);
            assert_eq!(rdmsr(&mut pmu, 0x309), 1 << bit & mask, "fixed counter, bit {bit}, {width} bits");
            for address in [0x4C1, 0x1900] {
                let outcome =
                    pmu.write_register(Level::Kernel, address, 1 << bit, &mut ScriptedSource::new());
                if bit < u32::from(width) {
                    assert_eq!(outcome, WriteOutcome::Done);
                    assert_eq!([rdmsr(&mut pmu, 0xC1), rdmsr(&mut pmu, address)], [1 << bit; 2]);
                } else {
                    assert_eq!(outcome, WriteOutcome::Fault(Fault::ReservedBits(1 << bit)));
                }
            }
        }
    }
}

/// Bit by bit: a write faults if and only if one of its bits belongs to no field, in every register of every x86
/// profile.
#[test]
fn every_bit_of_every_register_is_refused_or_taken() {
    for profile in Architecture::X86_64.profiles() {
        for register in registers(profile.vendor()) {
            for instance in 0..register.instances(profile) {
                every_bit(profile, register, instance);
            }
        }
    }
}

fn holds_an_address(id: RegisterId) -> bool {
    use intel::RegisterId as Id;
    [Id::LastBranchFrom, Id::LastBranchTo, Id::ArchLbrFrom, Id::ArchLbrTo, Id::LerFrom, Id::LerTo]
        .into_iter()
        .any(|address| id == RegisterId::Intel(address))
}

fn every_bit(profile: &Profile, register: &crate::register::Register, instance: u32) {
    let index = register.index_of(instance);
    let mut pmu = Vpmu::new(profile.clone());
    for bit in 0..64_u32 {
        let covered = register.reserved == crate::register::Reserved::Ignore
            || register.fields.iter().any(|field| field.mask(profile) >> bit & 1 != 0);
        let old = rdmsr(&mut pmu, index);
        let outcome =
            pmu.write_register(Level::Kernel, index, old | 1 << bit, &mut ScriptedSource::new()).quiet();
        let expected = match register.access {
            Access::ReadOnly => WriteOutcome::Fault(Fault::ReadOnly),
            _ if !covered => WriteOutcome::Fault(Fault::ReservedBits(1 << bit)),
            // Not of the value's bits alone.
            _ if register.id == RegisterId::Intel(intel::RegisterId::ArchLbrDepth) => outcome,
            _ if holds_an_address(register.id) && !matches!((old | 1 << bit) >> 47, 0 | 0x1_FFFF) => {
                WriteOutcome::Fault(Fault::NonCanonical(old | 1 << bit))
            }
            _ => WriteOutcome::Done,
        };
        assert_eq!(outcome, expected, "{} bit {bit} on {}", register.instance_name(instance), profile.name);
        if matches!(outcome, WriteOutcome::Fault(_)) {
            assert_eq!(rdmsr(&mut pmu, index), old, "{} bit {bit}", register.instance_name(instance));
        }
    }
}

/// Linear: a merged pair is 48 bits of the even counter below 16 of the odd one, in either order of writing.
#[test]
fn a_merged_pair_is_one_count_of_64_bits() {
    const EVEN: (u32, u32) = (0xC001_0200, 0xC001_0201);
    const ODD: (u32, u32) = (0xC001_0202, 0xC001_0203);
    const MERGE: u64 = 0xF_0040_00FF;
    let words = |bit: u32| if bit < 48 { (1_u64 << bit, 0) } else { (0, 1 << (bit - 48)) };
    for bit in 0..64 {
        for (odd_first, merge_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut pmu = Vpmu::new(ZEN4);
            let (even, odd) = words(bit);
            if merge_first {
                wrmsr(&mut pmu, ODD.0, MERGE);
            }
            for n in if odd_first { [1, 0] } else { [0, 1] } {
                let (index, value) = [(EVEN.1, even), (ODD.1, odd)][n];
                wrmsr(&mut pmu, index, value);
            }
            wrmsr(&mut pmu, ODD.0, MERGE);
            assert_eq!(rdmsr(&mut pmu, EVEN.1), 1 << bit, "bit {bit}");
            assert_eq!(rdmsr(&mut pmu, ODD.1), odd, "bit {bit}");
            // Parted, each keeps its own.
            wrmsr(&mut pmu, ODD.0, 0);
            assert_eq!([rdmsr(&mut pmu, EVEN.1), rdmsr(&mut pmu, ODD.1)], [even, odd], "bit {bit}");
        }
    }
}

/// The carry out of bit 47 of a running pair goes to the odd counter; the one out of bit 63 is the overflow.
#[test]
fn a_merged_pair_carries_between_its_halves() {
    for odd in [0, 1, 0x7FFF, 0xFFFE, 0xFFFF_u64] {
        for below in [1, 2, 100] {
            for added in [below - 1, below, below + 1] {
                let mut source = ScriptedSource::new();
                let mut pmu = Vpmu::new(ZEN4);
                let even = (1_u64 << 48) - below;
                for (index, value) in [
                    (0xC001_0201, even),
                    (0xC001_0203, odd),
                    (0xC001_0202, 0xF_0040_00FF),
                    (0xC001_0200, 0x43_00C0),
                ] {
                    assert_eq!(
                        pmu.write_register(Level::Kernel, index, value, &mut source),
                        WriteOutcome::Done
                    );
                }
                source.add_user(Event::ExRetInstr, added);
                let sum = (u128::from(odd) << 48) + u128::from(even) + u128::from(added);
                let read = [0xC001_0201, 0xC001_0203, 0xC000_0300]
                    .map(|index| pmu.read_register(Level::Kernel, index, &mut source));
                let overflow = u64::from(sum >> 64 != 0);
                let expected = [sum as u64, (sum >> 48) as u64 & 0xFFFF, overflow].map(ReadOutcome::Value);
                assert_eq!(read, expected, "{odd:#x}:{even:#x} + {added}");
            }
        }
    }
}

/// Every way to split up to 48 slots into four categories.
///
/// For more slots: the floors of 255·c/s leave a rest of (sum of the remainders)/s, which is whole because
/// everything adds up to 255, and less than four because each remainder is less than s. So giving one each to the
/// largest remainders always ends in 255, and no field moves by a whole step.
#[test]
fn level_1_adds_up_to_255_however_slots_are_split() {
    for slots in 1..=48_u64 {
        for a in 0..=slots {
            for b in 0..=slots - a {
                for c in 0..=slots - a - b {
                    let level1 = [a, b, c, slots - a - b - c];
                    let mut categories = [0; ALL_FIELDS];
                    categories[..LEVEL1_FIELDS].copy_from_slice(&level1);
                    categories[LEVEL1_FIELDS..].copy_from_slice(&level1.map(|count| count / 2));
                    let value = fractions(&categories, slots, 2);
                    let fields: [u64; ALL_FIELDS] = core::array::from_fn(|n| field(value, n));
                    assert_eq!(fields[..4].iter().sum::<u64>(), FULL_SCALE, "{level1:?} of {slots}");
                    for n in 0..LEVEL1_FIELDS {
                        let exact = level1[n] * FULL_SCALE;
                        assert!(
                            (fields[n] * slots).abs_diff(exact) < slots,
                            "{level1:?} of {slots}: {fields:?}"
                        );
                        assert!(fields[n + 4] <= fields[n], "{level1:?} of {slots}: {fields:?}");
                    }
                }
            }
        }
    }
}

/// The same at the top of the counters, where products are largest.
#[test]
fn level_1_adds_up_to_255_at_the_top() {
    let top = low_bits(48);
    for slots in [top, top - 1, 1 << 47, (1 << 47) + 1] {
        for a in [0, 1, slots / 3, slots / 2, slots - 1, slots] {
            for b in [0, 1, (slots - a) / 2, slots - a] {
                let b = b.min(slots - a);
                let categories = [a, b, slots - a - b, 0, 0, 0, 0, 0];
                let value = fractions(&categories, slots, 1);
                let sum: u64 = (0..LEVEL1_FIELDS).map(|n| field(value, n)).sum();
                assert_eq!(sum, FULL_SCALE, "{categories:?} of {slots}");
                assert_eq!(value >> 32, 0, "level 1 has four fields");
            }
        }
    }
}

/// A written pair seeds the accumulators with exactly the slots whenever the fields add up to 255, so a restored
/// register reads back as it was: every split of 255 into three fields, at slots that do not divide evenly.
#[test]
fn a_written_pair_reads_back_after_more_was_counted() {
    let mut source = ScriptedSource::new();
    let mut pmu = Vpmu::new(ICELAKE_SP);
    for (index, value) in [(0x38D, 0x3000), (0x38F, 1 << 48 | 1 << 35)] {
        assert_eq!(pmu.write_register(Level::Kernel, index, value, &mut source), WriteOutcome::Done);
    }
    for a in 0..=255_u64 {
        for b in (0..=255 - a).step_by(3) {
            let value = a | b << 8 | (255 - a - b) << 16;
            for slots in [1_000_003_u64, 0x1234_5678_9ABC] {
                assert_eq!(pmu.write_register(Level::Kernel, 0x30C, slots, &mut source), WriteOutcome::Done);
                assert_eq!(pmu.write_register(Level::Kernel, 0x329, value, &mut source), WriteOutcome::Done);
                assert_eq!(pmu.read_register(Level::Kernel, 0x329, &mut source), ReadOutcome::Value(value));
                // One more slot makes the register a fraction of the accumulators.
                let mut fields = [0; ALL_FIELDS];
                fields[0] = 1;
                source.add_user_slots(crate::source::TopdownSlots { slots: 1, fields });
                let ReadOutcome::Value(now) = pmu.read_register(Level::Kernel, 0x329, &mut source).quiet()
                else {
                    unreachable!()
                };
                for n in 0..LEVEL1_FIELDS {
                    assert!(field(now, n).abs_diff(field(value, n)) <= 1, "{value:#x} became {now:#x}");
                }
                assert_eq!((0..LEVEL1_FIELDS).map(|n| field(now, n)).sum::<u64>(), FULL_SCALE, "{now:#x}");
            }
        }
    }
}
