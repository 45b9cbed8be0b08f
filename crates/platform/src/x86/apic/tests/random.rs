//! Random operations against a naive model, and garbage.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Priority logic as a beginner would write it down from the manual: sets of numbers.
#[derive(Debug, Default)]
struct Model {
    requested: BTreeSet<u8>,
    in_service: BTreeSet<u8>,
    tpr: u8,
}

impl Model {
    fn ppr_class(&self) -> u8 {
        let service = self.in_service.last().map_or(0, |vector| vector / 16);
        service.max(self.tpr / 16)
    }

    fn accept(&mut self) -> Option<u8> {
        let best = *self.requested.last()?;
        if best / 16 <= self.ppr_class() {
            return None;
        }
        self.requested.remove(&best);
        self.in_service.insert(best);
        Some(best)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Inject(u8),
    SelfIpi(u8),
    Accept,
    EndOfInterrupt,
    Tpr(u8),
    Cr8(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<u8>().prop_map(Step::Inject),
        1 => any::<u8>().prop_map(Step::SelfIpi),
        4 => Just(Step::Accept),
        3 => Just(Step::EndOfInterrupt),
        1 => any::<u8>().prop_map(Step::Tpr),
        1 => (0..16_u8).prop_map(Step::Cr8),
    ]
}

fn words(set: &BTreeSet<u8>) -> [u32; 8] {
    let mut words = [0; 8];
    for vector in set {
        words[usize::from(vector / 32)] |= 1_u32 << (vector % 32);
    }
    words
}

proptest! {
    #[test]
    fn priorities_match_the_naive_model(steps in prop::collection::vec(step(), 1..200)) {
        let mut apic = enabled();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Inject(vector) | Step::SelfIpi(vector) => {
                    if let Step::SelfIpi(_) = step {
                        apic.set(ICR_LOW, 1 << 18 | u32::from(vector));
                    } else {
                        apic.inject_message(vector);
                    }
                    if vector >= 16 {
                        model.requested.insert(vector);
                    }
                }
                Step::Accept => {
                    let announced = apic.pending().vector;
                    let accepted = apic.accept_vector();
                    prop_assert_eq!(announced, accepted);
                    prop_assert_eq!(accepted, model.accept());
                }
                Step::EndOfInterrupt => {
                    apic.set(EOI, 0);
                    model.in_service.pop_last();
                }
                Step::Tpr(value) => {
                    apic.set(TPR, value.into());
                    model.tpr = value;
                }
                Step::Cr8(class) => {
                    apic.set_cr8(class.into()).unwrap();
                    model.tpr = class * 16;
                }
            }
            let mut irr = [0; 8];
            let mut isr = [0; 8];
            for index in 0..8 {
                isr[index] = apic.get(0x100 + 16 * index as u64);
                irr[index] = apic.get(0x200 + 16 * index as u64);
            }
            prop_assert_eq!(irr, words(&model.requested));
            prop_assert_eq!(isr, words(&model.in_service));
            prop_assert_eq!(apic.get(PPR) / 16, u32::from(model.ppr_class()));
        }
    }
}

#[derive(Debug, Clone)]
enum Garbage {
    MmioRead { offset: u64, length: usize },
    MmioWrite { offset: u64, data: Vec<u8> },
    ReadMsr(u32),
    WriteMsr(u32, u64),
    Base(u64),
    TscDeadline(u64, u64),
    Lint(bool, bool),
    Pmi,
    Advance(u64),
    Accept,
}

fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![8 => (0..0x40_u64).prop_map(|slot| slot * 16), 1 => 0..0x1000_u64, 1 => any::<u64>()]
}

fn garbage() -> impl Strategy<Value = Garbage> {
    let bases = prop_oneof![
        Just(0xFEE0_0000_u64),
        Just(0xFEE0_0800_u64),
        Just(0xFEE0_0C00_u64),
        Just(0xFEE0_0400_u64),
        any::<u64>()
    ];
    let value = prop_oneof![any::<u64>(), 0..1_u64 << 20, (0..64_u32).prop_map(|bit| 1_u64 << bit)];
    prop_oneof![
        4 => (offset(), 0..20_usize).prop_map(|(offset, length)| Garbage::MmioRead { offset, length }),
        2 => (offset(), prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(offset, data)| Garbage::MmioWrite { offset, data }),
        6 => (offset(), any::<u32>())
            .prop_map(|(offset, value)| Garbage::MmioWrite { offset, data: value.to_le_bytes().to_vec() }),
        2 => (0x7F0..0x910_u32).prop_map(Garbage::ReadMsr),
        6 => (0x800..0x840_u32, value).prop_map(|(index, value)| Garbage::WriteMsr(index, value)),
        1 => bases.prop_map(Garbage::Base),
        1 => (any::<u64>(), any::<u64>()).prop_map(|(value, tsc)| Garbage::TscDeadline(value, tsc)),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(pin, level)| Garbage::Lint(pin, level)),
        1 => Just(Garbage::Pmi),
        3 => prop_oneof![0..1_000_000_u64, any::<u64>()].prop_map(Garbage::Advance),
        2 => Just(Garbage::Accept),
    ]
}

proptest! {
    /// Whatever a guest does: no panic, no illegal vector, time never goes backwards, reads do not
    /// depend on being repeated, and the state can be saved and restored.
    #[test]
    fn garbage_does_no_harm(steps in prop::collection::vec(garbage(), 1..150)) {
        let config = ApicConfig {
            timer_hz: 24_000_000,
            tsc_deadline_hz: Some(2_100_000_000),
            ..ApicConfig::default()
        };
        let mut apic = with(config);
        let mut now = GuestTime(0);
        for step in steps {
            match step {
                Garbage::MmioRead { offset, length } => {
                    let (mut first, mut second) = (vec![0x5A; length], vec![0xA5; length]);
                    apic.mmio_read(offset, &mut first, now);
                    apic.mmio_read(offset, &mut second, now);
                    // An illegal address may raise the error interrupt, which shows in IRR.
                    prop_assert!(first == second || length > 4);
                }
                Garbage::MmioWrite { offset, data } => apic.mmio_write(offset, &data, now),
                Garbage::ReadMsr(index) => {
                    prop_assert_eq!(apic.read_msr(index, now), apic.read_msr(index, now));
                }
                Garbage::WriteMsr(index, value) => {
                    let before = apic.save();
                    if apic.write_msr(index, value, now).is_err() {
                        prop_assert_eq!(apic.save(), before);
                    }
                }
                Garbage::Base(value) => {
                    let _ = apic.set_base(value);
                }
                Garbage::TscDeadline(value, tsc) => {
                    let _ = apic.write_tsc_deadline(value, tsc, now);
                }
                Garbage::Lint(pin, level) => {
                    let pin = if pin { crate::x86::apic::LintPin::Lint0 } else { crate::x86::apic::LintPin::Lint1 };
                    apic.set_lint(pin, level);
                }
                Garbage::Pmi => {
                    apic.raise_pmi();
                }
                Garbage::Advance(by) => {
                    now = GuestTime((now + by).0.min(1 << 62));
                    apic.advance(now);
                }
                Garbage::Accept => {
                    prop_assert!(apic.accept_vector().is_none_or(|vector| vector >= 16));
                    apic.take_nmi();
                }
            }
            if let Some(due) = apic.next_deadline() {
                prop_assert!(due > now, "deadline {:?} is not after {:?}", due, now);
            }
            let mut copy = with(config);
            copy.restore(&apic.save()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&copy, &apic);
        }
    }
}
