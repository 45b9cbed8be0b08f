use super::{CounterId, PmiRequests, ReadOutcome, Vpmu, WriteOutcome};
use crate::event::Event;
use crate::inject::{Effect, Fault, Injector, Skid, Trigger, When};
use crate::profile::{FALKOR, ICELAKE_SP, Profile, ZEN4};
use crate::source::{Level, ScriptedSource, TopdownSlots};
use alloc::vec::Vec;
use core::num::NonZeroU64;

const FIXED_CTR0: u32 = 0x309;
const METRICS: u32 = 0x329;
const GLOBAL_STATUS: u32 = 0x38E;

/// A PMU whose fixed counter 0 counts instructions and requests a PMI each time the test sets it so.
struct Guest {
    pmu: Vpmu,
    source: ScriptedSource,
    retired: u64,
}

impl Guest {
    fn new(faults: &[Fault], skid: Option<Skid>) -> Self {
        let mut guest = Self::of(ICELAKE_SP, faults, skid);
        guest.write(0x38D, 0xB);
        guest.write(0x38F, 1 << 32);
        guest
    }

    fn of(profile: Profile, faults: &[Fault], skid: Option<Skid>) -> Self {
        for fault in faults {
            assert_eq!(fault.check(&profile), Ok(()), "{fault:?}");
        }
        let mut pmu = Vpmu::new(profile);
        pmu.inject(Injector::new(faults, skid));
        Self { pmu, source: ScriptedSource::new(), retired: 0 }
    }

    fn write(&mut self, index: u32, value: u64) {
        drop(self.write_for(index, value));
    }

    /// A write, and the interrupts that it requests.
    fn write_for(&mut self, index: u32, value: u64) -> PmiRequests {
        let (outcome, pmis) =
            self.pmu.write_register(Level::Kernel, index, value, &mut self.source).into_parts();
        assert_eq!(outcome, WriteOutcome::Done, "{index:#x}");
        pmis
    }

    fn read(&mut self, index: u32) -> u64 {
        let (outcome, _) = self.pmu.read_register(Level::Kernel, index, &mut self.source).into_parts();
        match outcome {
            ReadOutcome::Value(value) => value,
            other => panic!("{other:?} of {index:#x}"),
        }
    }

    /// So many instructions retire, one by one. PMIs, with the instruction of each.
    fn run(&mut self, instructions: u64) -> Vec<u64> {
        let mut pmis = Vec::new();
        for _ in 0..instructions {
            self.retired += 1;
            self.source.add_user(Event::InstRetiredAny, 1);
            self.pmu.set_instructions(self.retired);
            let mut requests = self.pmu.sync(&mut self.source);
            if self.pmu.until_injection() == Some(0) {
                requests += self.pmu.inject_due(&mut self.source);
            }
            pmis.extend((0..requests.count()).map(|_| self.retired));
        }
        pmis
    }

    /// The counter overflows after so many instructions.
    fn arm(&mut self, period: u64) {
        self.write(FIXED_CTR0, (1 << 48) - period);
    }

    /// Overflows each 10 instructions, and when their PMIs come.
    fn overflow(&mut self, times: u64) -> Vec<u64> {
        let mut pmis = Vec::new();
        for _ in 0..times {
            self.arm(10);
            pmis.extend(self.run(10));
        }
        pmis
    }
}

fn at(trigger: Trigger, first: u64, effect: Effect) -> Fault {
    let first = NonZeroU64::new(first).expect("from 1");
    Fault { when: When { trigger, first, every: None, times: None }, effect }
}

fn pmi(first: u64, effect: Effect) -> Fault {
    at(Trigger::Pmi, first, effect)
}

const COUNTER: CounterId = CounterId::Fixed(0);

#[test]
fn pmis_are_lost_late_and_doubled() {
    assert_eq!(Guest::new(&[], None).overflow(3), [10, 20, 30]);
    assert_eq!(Guest::new(&[pmi(2, Effect::LosePmi)], None).overflow(3), [10, 30]);
    assert_eq!(Guest::new(&[pmi(2, Effect::DelayPmi(3))], None).overflow(3), [10, 23, 30]);
    assert_eq!(Guest::new(&[pmi(2, Effect::DoublePmi(0))], None).overflow(3), [10, 20, 20, 30]);
    assert_eq!(Guest::new(&[pmi(2, Effect::DoublePmi(4))], None).overflow(3), [10, 20, 24, 30]);
    assert_eq!(Guest::new(&[pmi(2, Effect::AddPmi)], None).overflow(3), [10, 20, 20, 30]);
    let mut every = pmi(1, Effect::LosePmi);
    every.when.every = NonZeroU64::new(2);
    assert_eq!(Guest::new(&[every], None).overflow(6), [20, 40, 60]);
    every.when.times = NonZeroU64::new(2);
    assert_eq!(Guest::new(&[every], None).overflow(6), [20, 40, 50, 60]);
    // Of two at once each has its effect.
    let both = [pmi(1, Effect::LosePmi), pmi(1, Effect::AddPmi)];
    assert_eq!(Guest::new(&both, None).overflow(2), [10, 20]);
}

#[test]
fn faults_come_at_an_instruction() {
    let mut guest = Guest::new(&[at(Trigger::Instruction, 7, Effect::AddPmi)], None);
    assert_eq!(guest.pmu.until_injection(), Some(7));
    assert_eq!(guest.run(20), [7]);
    assert_eq!(guest.pmu.until_injection(), None);
    let injected = guest.pmu.take_injected();
    assert_eq!(injected.iter().map(|one| (one.fault, one.instructions)).collect::<Vec<_>>(), [(0, 7)]);
    assert_eq!(guest.pmu.take_injected(), []);
}

#[test]
fn a_counter_stands_still_and_goes_on() {
    let freeze = |instructions| Effect::Freeze { counter: COUNTER, instructions };
    let mut guest = Guest::new(&[at(Trigger::Instruction, 10, freeze(None))], None);
    guest.run(30);
    assert_eq!(guest.read(FIXED_CTR0), 10);
    // Programming it does not help, and records of measurements know what it would have counted.
    guest.write(0x38D, 0x0);
    guest.write(0x38D, 0xB);
    guest.run(30);
    assert_eq!(guest.read(FIXED_CTR0), 10);
    assert_eq!(guest.pmu.running().count(), 1);
    let mut guest = Guest::new(&[at(Trigger::Instruction, 10, freeze(NonZeroU64::new(5)))], None);
    guest.run(30);
    assert_eq!(guest.read(FIXED_CTR0), 25);
}

#[test]
fn counts_are_lost_and_jump() {
    let read = |effect| at(Trigger::Read(FIXED_CTR0), 2, effect);
    let mut guest = Guest::new(&[read(Effect::LoseCounts { counter: COUNTER, by: 4 })], None);
    guest.run(10);
    assert_eq!([guest.read(FIXED_CTR0), guest.read(FIXED_CTR0), guest.read(FIXED_CTR0)], [10, 6, 6]);
    let mut guest = Guest::new(&[read(Effect::LoseCounts { counter: COUNTER, by: 400 })], None);
    guest.run(10);
    assert_eq!([guest.read(FIXED_CTR0), guest.read(FIXED_CTR0)], [10, 0]);
    let mut guest = Guest::new(&[read(Effect::Jump { counter: COUNTER, by: -11 })], None);
    guest.run(10);
    guest.read(FIXED_CTR0);
    // It moves without overflowing, and overflows one later.
    assert_eq!(guest.read(FIXED_CTR0), (1 << 48) - 1);
    assert_eq!(guest.read(GLOBAL_STATUS), 0);
    assert_eq!(guest.run(3), [11]);
}

#[test]
fn reads_are_stale() {
    let mut guest = Guest::new(&[at(Trigger::Read(METRICS), 2, Effect::Stale)], None);
    let mut fields = [0; 8];
    fields[0] = 100;
    guest.write(0x38D, 0x3003);
    guest.write(0x38F, 1 << 48 | 1 << 35);
    let all = TopdownSlots { slots: 100, fields };
    guest.source.add_user_slots(all);
    assert_eq!(guest.read(METRICS) & 0xFF, 0xFF);
    let mut other = [0; 8];
    other[3] = 100;
    guest.source.add_user_slots(TopdownSlots { slots: 100, fields: other });
    assert_eq!(guest.read(METRICS) & 0xFF, 0xFF, "as before");
    assert_eq!(guest.read(METRICS) & 0xFF, 0x80);
}

#[test]
fn status_bits_and_nmis_appear() {
    let mut guest = Guest::new(&[at(Trigger::Write(0x38F), 2, Effect::StatusBit(0))], None);
    assert_eq!(guest.read(GLOBAL_STATUS), 0, "one write was before");
    guest.write(0x38F, 1 << 32);
    assert_eq!(guest.read(GLOBAL_STATUS), 1);
    let mut guest = Guest::of(ZEN4, &[at(Trigger::Write(0xC000_0301), 1, Effect::StatusBit(2))], None);
    guest.write(0xC000_0301, 1);
    assert_eq!(guest.read(0xC000_0300), 4);
    let mut guest = Guest::of(ICELAKE_SP, &[at(Trigger::Write(0x38F), 1, Effect::SpuriousNmi)], None);
    assert_eq!((guest.write_for(0x38F, 1).nmis(), guest.write_for(0x38F, 1).nmis()), (1, 0));
}

#[test]
fn skid_is_in_its_range_and_the_same_each_time() {
    let late = |seed| {
        let mut guest = Guest::new(&[], Some(Skid::new(2, 9, seed)));
        let overflow = |_| {
            guest.arm(10);
            let overflowed = guest.retired + 10;
            let pmis = guest.run(30);
            assert_eq!(pmis.len(), 1);
            pmis[0] - overflowed
        };
        (0..200).map(overflow).collect::<Vec<_>>()
    };
    let all = late(1);
    assert!(all.iter().all(|late| (2..=9).contains(late)), "{all:?}");
    assert!((2..=9).all(|late| all.contains(&late)), "{all:?}");
    assert_eq!(all, late(1));
    assert_ne!(all, late(2));
    // A CPU that waits for an interrupt has nothing in flight.
    let mut guest = Guest::new(&[], Some(Skid::new(50, 50, 1)));
    guest.arm(5);
    assert!(guest.run(10).is_empty());
    assert_eq!((guest.pmu.end_skid().count(), guest.pmu.end_skid().count()), (1, 0));
    assert!(guest.run(100).is_empty());
}

/// An Arm CPU's line: the register accesses are of counter 0 alone.
#[test]
fn lines_rise_late_or_for_nothing() {
    let register = |name| crate::register::index_by_name(name).expect("a register");
    let start = |faults: &[Fault]| {
        let mut guest = Guest::of(FALKOR, faults, None);
        guest.write(register("PMINTENSET_EL1"), 1);
        guest.write(register("PMEVTYPER0_EL0"), 0x8);
        guest.write(register("PMEVCNTR0_EL0"), (1 << 32) - 10);
        guest.write(register("PMCNTENSET_EL0"), 1);
        guest.write(register("PMCR_EL0"), 1);
        guest
    };
    let run = |guest: &mut Guest, cycles| {
        let mut line = None;
        for _ in 0..cycles {
            guest.retired += 1;
            guest.source.add_user(Event::InstRetired, 1);
            guest.pmu.set_instructions(guest.retired);
            let mut requests = guest.pmu.sync(&mut guest.source);
            if guest.pmu.until_injection() == Some(0) {
                requests += guest.pmu.inject_due(&mut guest.source);
            }
            line = requests.line().map(|high| (guest.retired, high)).or(line);
        }
        line
    };
    assert_eq!(run(&mut start(&[]), 30), Some((10, true)));
    let mut lost = start(&[pmi(1, Effect::LosePmi)]);
    assert_eq!(run(&mut lost, 30), None);
    assert!(!lost.pmu.interrupt_line(), "nor by asking");
    assert_eq!(lost.write_for(register("PMOVSCLR_EL0"), 1).line(), None);
    let mut late = start(&[pmi(1, Effect::DelayPmi(5))]);
    assert_eq!(run(&mut late, 30), Some((15, true)));
    assert_eq!(late.write_for(register("PMOVSCLR_EL0"), 1).line(), Some(false));
    // Cleared before it is told: it is never told.
    let mut cleared = start(&[pmi(1, Effect::DelayPmi(50))]);
    assert_eq!(run(&mut cleared, 20), None);
    assert_eq!(cleared.write_for(register("PMOVSCLR_EL0"), 1).line(), None);
    assert_eq!(run(&mut cleared, 100), None);
    let mut added = start(&[at(Trigger::Instruction, 3, Effect::AddPmi)]);
    assert_eq!(run(&mut added, 4), Some((3, true)));
    // The interrupt controller's registers are none of the PMU's.
    let acknowledge = crate::register::arm::encoding(3, 0, 12, 12, 0);
    let answer = added.pmu.read_register(crate::Level::Kernel, acknowledge, &mut added.source);
    assert_eq!(answer.into_parts(), (crate::ReadOutcome::NotHandled, crate::PmiRequests::NONE));
    assert_eq!(added.write_for(register("PMOVSCLR_EL0"), 1).line(), Some(false));
}
