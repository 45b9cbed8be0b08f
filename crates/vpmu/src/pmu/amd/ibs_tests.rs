//! IBS as a guest and its embedder see it.

use crate::event::Event;
use crate::ibs::{IbsAnswer, IbsBranch, IbsSample, IbsTags};
use crate::pmu::test_guest::Guest;
use crate::precise::{DataSource, MemoryAccess, Page, Served, Translation};
use crate::profile::{ICELAKE_SP, Profile, ZEN2, ZEN3, ZEN4, ZEN5};
use crate::{Fault, Level, ReadOutcome, cpuid};

const FETCH_CTL: u32 = 0xC001_1030;
const FETCH_LINADDR: u32 = 0xC001_1031;
const OP_CTL: u32 = 0xC001_1033;
const OP_RIP: u32 = 0xC001_1034;
const OP_DATA: u32 = 0xC001_1035;
const OP_DATA2: u32 = 0xC001_1036;
const OP_DATA3: u32 = 0xC001_1037;
const DC_LINADDR: u32 = 0xC001_1038;
const IBS_CTL: u32 = 0xC001_103A;
const BR_TARGET: u32 = 0xC001_103B;

const FETCH_ENABLE: u64 = 1 << 48;
const FETCH_VALID: u64 = 1 << 49;
const FETCH_RANDOM: u64 = 1 << 57;
const OP_ENABLE: u64 = 1 << 17;
const OP_VALID: u64 = 1 << 18;
const OPS: u64 = 1 << 19;
const OP: IbsTags = IbsTags { fetch: false, op: true };
const FETCH: IbsTags = IbsTags { fetch: true, op: false };

impl Guest {
    fn with_ibs(profile: &Profile) -> Self {
        Self::on(&profile.clone().with_ibs())
    }

    fn dispatch(&mut self, ops: u64) {
        self.source.add_user(Event::UopsRetiredSlots, ops);
        self.sync();
    }

    fn ibs(&mut self, tags: IbsTags, sample: &IbsSample) -> IbsAnswer {
        let answer = self.pmu.ibs_sample(tags, sample, &mut self.source);
        self.note(answer)
    }
}

fn sample() -> IbsSample {
    IbsSample { address: 0x40_1000, physical: Some(0x1000), page: Page::Large, ..IbsSample::default() }
}

#[test]
fn an_op_is_tagged_at_the_maximum_and_sampled_once() {
    for profile in [&ZEN2, &ZEN3, &ZEN4, &ZEN5] {
        let mut guest = Guest::with_ibs(profile);
        // 0x25 * 16 ops, of which 7 have been counted.
        guest.wrmsr(OP_CTL, 0x25 | OP_ENABLE | OPS | 7 << 32);
        assert_eq!(guest.pmu.active().next().map(|active| active.until_overflow), Some(0x250 - 7));
        guest.dispatch(0x250 - 8);
        assert_eq!(guest.pmu.ibs_tags(), IbsTags::default());
        assert_eq!(guest.rdmsr(OP_CTL) >> 32, 0x24F, "{}", profile.name);
        guest.dispatch(1);
        assert_eq!(guest.pmu.ibs_tags(), OP);
        assert_eq!(guest.pmu.active().count(), 0, "nothing is counted until software goes on");
        let answer = guest.ibs(OP, &sample());
        assert_eq!(answer, IbsAnswer { sampled: OP, interrupt: Some(0) });
        assert_eq!(guest.rdmsr(OP_RIP), 0x40_1000);
        let control = guest.rdmsr(OP_CTL);
        assert_eq!(control & (OP_VALID | OP_ENABLE), OP_VALID | OP_ENABLE);
        assert!(control >> 32 < 128, "the count begins at random");
        assert_eq!(guest.pmu.ibs_tags(), IbsTags::default());
        guest.dispatch(10_000);
        assert_eq!(guest.ibs(OP, &sample()), IbsAnswer::default(), "no second one");
        assert!(!guest.take_pmi(), "the interrupt is not LVTPC's");
    }
}

#[test]
fn the_maximum_of_ops_has_27_bits() {
    let mut guest = Guest::with_ibs(&ZEN2);
    guest.wrmsr(OP_CTL, 0xFFFF | 0x7F << 20 | OP_ENABLE | OPS);
    assert_eq!(guest.pmu.active().next().map(|active| active.until_overflow), Some(0x7FF_FFF0));
    guest.dispatch(0x7FF_FFEF);
    assert_eq!((guest.rdmsr(OP_CTL) >> 32, guest.pmu.ibs_tags().op), (0x7FF_FFEF, false));
}

#[test]
fn counting_cycles_begins_at_random_below_128() {
    let mut guest = Guest::with_ibs(&ZEN2);
    let mut first = Guest::with_ibs(&ZEN2);
    let begun = |guest: &mut Guest| -> alloc::vec::Vec<u64> {
        (0..64)
            .map(|_| {
                guest.wrmsr(OP_CTL, 0x100 | OP_ENABLE | 5 << 32);
                guest.rdmsr(OP_CTL) >> 32
            })
            .collect()
    };
    let counts = begun(&mut guest);
    assert!(counts.iter().all(|count| *count < 128), "{counts:?}");
    assert!(counts.iter().collect::<alloc::collections::BTreeSet<_>>().len() > 16, "{counts:?}");
    assert_eq!(counts, begun(&mut first), "the same in every run");
}

#[test]
fn a_fetch_keeps_its_maximum_in_its_count() {
    let mut guest = Guest::with_ibs(&ZEN4);
    guest.wrmsr(FETCH_CTL, 0x10 | FETCH_ENABLE);
    guest.source.add_os(Event::InstRetiredAny, 0xFF);
    guest.sync();
    assert_eq!(guest.rdmsr(FETCH_CTL), 0x10 | 0xF << 16 | FETCH_ENABLE);
    guest.source.add_os(Event::InstRetiredAny, 1);
    guest.sync();
    assert_eq!(guest.pmu.ibs_tags(), FETCH);
    assert_eq!(guest.ibs(FETCH, &sample()).sampled, FETCH);
    // Complete, with its physical address, in a page of 2 MiB.
    assert_eq!(
        guest.rdmsr(FETCH_CTL),
        0x10 | 0x10 << 16 | FETCH_ENABLE | FETCH_VALID | 1 << 50 | 1 << 52 | 1 << 53
    );
    assert_eq!((guest.rdmsr(FETCH_LINADDR), guest.rdmsr(0xC001_1032)), (0x40_1000, 0x1000));
}

#[test]
fn random_tagging_moves_the_fetch_by_less_than_16() {
    let mut seen = alloc::collections::BTreeSet::new();
    let mut guest = Guest::with_ibs(&ZEN4);
    for _ in 0..100 {
        guest.wrmsr(FETCH_CTL, 0x10 | FETCH_ENABLE | FETCH_RANDOM);
        let left = guest.pmu.active().next().map(|active| active.until_overflow);
        seen.insert(left.expect("it runs"));
    }
    assert_eq!((seen.first(), seen.last(), seen.len()), (Some(&0xF1), Some(&0x100), 16));
}

#[test]
fn a_branch_says_where_it_went() {
    let mut guest = Guest::with_ibs(&ZEN2);
    guest.wrmsr(OP_CTL, 1 | OP_ENABLE | OPS);
    guest.dispatch(16);
    let branch = IbsBranch { returned: true, target: Some(0x1234), mispredicted: true, fused: false };
    assert!(guest.ibs(OP, &IbsSample { branch: Some(branch), ..sample() }).sampled.op);
    assert_eq!(guest.rdmsr(OP_DATA), 0xF << 34);
    assert_eq!(guest.rdmsr(BR_TARGET), 0x1234);
    assert_eq!(guest.rdmsr(OP_DATA3), 0, "no access");
}

/// The encodings that Linux reads (`arch/x86/events/amd/ibs.c`).
#[test]
fn an_access_says_where_its_data_came_from() {
    let access =
        MemoryAccess { address: 0x7FF8, physical: Some(0x3FF8), bytes: 8, load: true, ..Default::default() };
    let served = |source| {
        Some(Served { source, latency: 90, translation: Translation::Walk, translation_latency: 20 })
    };
    let (miss, l2_miss, walk) = (1 << 7, 1 << 20, 0b11 << 2);
    let cases = [
        (None, 0, 0, 0),
        (served(DataSource::L1), walk | 20 << 48, 0, 0),
        (served(DataSource::L2), walk | 20 << 48 | miss | 90 << 32, 0, 0),
        (served(DataSource::L3), walk | 20 << 48 | miss | l2_miss | 90 << 32, 2 | 1 << 5, 1 | 1 << 5),
        (served(DataSource::Memory), walk | 20 << 48 | miss | l2_miss | 90 << 32, 3, 3),
        (served(DataSource::InFlight), walk | 20 << 48 | miss | l2_miss | 90 << 32 | 1 << 16, 0, 0),
    ];
    for (served, data3, zen2, zen4) in cases {
        for (profile, source) in [(&ZEN2, zen2), (&ZEN4, zen4)] {
            let mut guest = Guest::with_ibs(profile);
            guest.wrmsr(OP_CTL, 1 | OP_ENABLE | OPS);
            guest.dispatch(16);
            let access = Some(MemoryAccess { served, ..access });
            assert!(guest.ibs(OP, &IbsSample { access, ..sample() }).sampled.op);
            // A load of 8 bytes, with both addresses.
            let always = 1 | 1 << 17 | 1 << 18 | 4 << 22;
            assert_eq!(guest.rdmsr(OP_DATA3), always | data3, "{served:?} on {}", profile.name);
            assert_eq!(guest.rdmsr(OP_DATA2), source, "{served:?} on {}", profile.name);
            assert_eq!(guest.rdmsr(DC_LINADDR), 0x7FF8);
        }
    }
}

#[test]
fn the_filter_of_zen_4_drops_what_did_not_miss_the_l3() {
    let mut guest = Guest::with_ibs(&ZEN4);
    let only = 1 << 16;
    guest.wrmsr(OP_CTL, 0x100 | OP_ENABLE | OPS | only);
    guest.dispatch(0x1000);
    assert_eq!(guest.ibs(OP, &sample()), IbsAnswer::default());
    let control = guest.rdmsr(OP_CTL);
    assert_eq!((control & OP_VALID, control >> 32 < 128), (0, true), "it counts anew");
    guest.dispatch(0x1000);
    let served = Some(Served {
        source: DataSource::Memory,
        latency: 300,
        translation: Translation::L1Tlb,
        translation_latency: 0,
    });
    let access = Some(MemoryAccess { load: true, served, ..Default::default() });
    assert!(guest.ibs(OP, &IbsSample { access, ..sample() }).sampled.op);
    // Zen 2 has no such bit.
    let mut guest = Guest::with_ibs(&ZEN2);
    guest.wrmsr(OP_CTL, only);
    assert_eq!(guest.rdmsr(OP_CTL), 0);
}

#[test]
fn the_interrupt_follows_the_offset_that_ibs_ctl_has() {
    for (control, interrupt) in [(0x100, Some(0)), (0x102, Some(2)), (0, None)] {
        let mut guest = Guest::with_ibs(&ZEN2);
        assert_eq!(guest.rdmsr(IBS_CTL), 0x100, "as firmware leaves it");
        guest.wrmsr(IBS_CTL, control);
        guest.wrmsr(OP_CTL, 1 | OP_ENABLE | OPS);
        guest.dispatch(16);
        assert_eq!(guest.ibs(OP, &sample()).interrupt, interrupt);
    }
}

#[test]
fn software_that_writes_the_control_takes_the_tag_away() {
    let mut guest = Guest::with_ibs(&ZEN2);
    guest.wrmsr(OP_CTL, 1 | OP_ENABLE | OPS);
    guest.dispatch(16);
    guest.wrmsr(OP_CTL, 0);
    assert_eq!(guest.ibs(OP, &sample()), IbsAnswer::default());
    assert_eq!(guest.rdmsr(OP_RIP), 0);
}

#[test]
fn a_saved_state_goes_on_where_it_was() {
    let mut guest = Guest::with_ibs(&ZEN4);
    guest.wrmsr(FETCH_CTL, 0x10 | FETCH_ENABLE | FETCH_RANDOM);
    guest.wrmsr(OP_CTL, 0x100 | OP_ENABLE);
    guest.source.add_os(Event::InstRetiredAny, 0x33);
    guest.source.add_os(Event::CpuClkUnhaltedThread, 0x33);
    let state = guest.save();
    let mut other = Guest::with_ibs(&ZEN4);
    other.source = guest.source.clone();
    other.pmu.restore(&state, &mut other.source).expect("its own state");
    let left = |guest: &Guest| {
        guest.pmu.active().map(|active| active.until_overflow).collect::<alloc::vec::Vec<_>>()
    };
    assert_eq!(left(&guest), left(&other));
    assert_eq!(guest.save(), other.save());
    let mut plain = Guest::on(&ZEN4);
    assert!(plain.pmu.restore(&state, &mut plain.source).is_err(), "a CPU without IBS");
}

#[test]
fn without_it_nothing_is_there() {
    let mut guest = Guest::on(&ZEN4);
    for msr in FETCH_CTL..=0xC001_103C {
        assert_eq!(guest.fault(msr, 0), Fault::Absent, "{msr:#x}");
    }
    let mut intel = Guest::on(&ICELAKE_SP.with_ibs());
    let read = intel.pmu.read_register(Level::Kernel, OP_CTL, &mut intel.source);
    assert_eq!(intel.note(read), ReadOutcome::Fault(Fault::Absent));
}

#[test]
fn cpuid_has_what_the_silicon_has() {
    let leaf = |profile: &Profile, leaf| cpuid::patch(profile, leaf, 0, cpuid::CpuidResult::default());
    for (profile, caps) in [(&ZEN2, 0x3FF), (&ZEN3, 0x3FF), (&ZEN4, 0xBFF), (&ZEN5, 0xBFF)] {
        let shown = profile.clone().with_ibs();
        assert_eq!((leaf(&shown, 0x8000_001B).eax, leaf(profile, 0x8000_001B).eax), (caps, 0));
        assert_eq!(leaf(&shown, 0x8000_0001).ecx & (1 << 10 | 1 << 3), 1 << 10 | 1 << 3);
        assert_eq!(leaf(profile, 0x8000_0001).ecx & 1 << 10, 0);
        assert!(leaf(&shown, 0x8000_0000).eax >= 0x8000_001B);
    }
}
