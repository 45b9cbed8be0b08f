//! PEBS as a guest and its embedder see it.

use crate::event::Event;
use crate::pebs::{DebugStore, Lost, NotMapped, PebsSample};
use crate::pmu::test_guest::Guest;
use crate::precise::{DataSource, MemoryAccess, Served, Translation};
use crate::profile::{GRANITE_RAPIDS, ICELAKE_SP, LUNAR_LAKE_P, Profile, SAPPHIRE_RAPIDS, SKYLAKE_SP, ZEN4};
use crate::source::{
    Active, CountsSource, EventRequest, PrivilegeFilter, Provenance, ScriptedSource, TopdownSlots,
};
use crate::{Level, ReadOutcome, Vpmu, cpuid};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

const WIDTH_MASK: u64 = (1 << 48) - 1;
const INSTRUCTIONS: u64 = 0x43_00C0;
const ADAPTIVE: u64 = 1 << 34;
const PEBS_ENABLE: u32 = 0x3F1;
const DATA_CFG: u32 = 0x3F2;
const DS_AREA: u32 = 0x600;
const GLOBAL_STATUS: u32 = 0x38E;
const OVF_BUFFER: u64 = 1 << 62;
const DATA: u64 = 0x1000;
const BUFFER: u64 = 0x2000;

/// Memory from [`DATA`] on.
struct Memory(Vec<u8>);

impl Memory {
    /// Management area with room for `bytes` and a threshold at `threshold` bytes; counters restart at `reset`.
    fn new(bytes: u64, threshold: u64, reset: u64) -> Self {
        let mut memory = Self(vec![0; 0x2000]);
        for (n, word) in (0..).zip([0, 0, 0, 0, BUFFER, BUFFER, BUFFER + bytes, BUFFER + threshold]) {
            memory.set(DATA + 8 * n, word);
        }
        for counter in 0..12 {
            memory.set(DATA + 64 + 8 * counter, reset);
        }
        memory
    }

    fn set(&mut self, address: u64, word: u64) {
        self.write(address, &word.to_le_bytes()).expect("inside");
    }

    fn word(&mut self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).expect("inside");
        u64::from_le_bytes(bytes)
    }

    fn at(&mut self, address: u64, len: usize) -> Result<&mut [u8], NotMapped> {
        let start = usize::try_from(address.checked_sub(DATA).ok_or(NotMapped)?).map_err(|_| NotMapped)?;
        self.0.get_mut(start..start + len).ok_or(NotMapped)
    }
}

impl DebugStore for Memory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NotMapped> {
        bytes.copy_from_slice(self.at(address, bytes.len())?);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotMapped> {
        self.at(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
}

/// A load that took nine cycles.
fn access(source: DataSource) -> MemoryAccess {
    let served = Served { source, latency: 9, translation: Translation::L1Tlb, translation_latency: 0 };
    MemoryAccess { address: 0xABC0, load: true, served: Some(served), ..MemoryAccess::default() }
}

fn sample() -> PebsSample {
    PebsSample {
        event_ip: 0x40_1000,
        rip: 0x40_1003,
        rflags: 0x246,
        gpr: core::array::from_fn(|n| 100 + n as u64),
        xmm: core::array::from_fn(|n| n as u128),
        tsc: 77,
        memory: Some(access(DataSource::L2)),
    }
}

impl Guest {
    fn retire_and_sync(&mut self, instructions: u64) {
        self.source.add_user(Event::InstRetiredAny, instructions);
        self.sync();
    }

    fn sampled(&mut self, memory: &mut Memory) -> Option<Result<(), Lost>> {
        let answer = self.pmu.write_pebs(&sample(), memory, &mut self.source);
        answer.pmis.deliver(|| self.pmi = true);
        answer.record
    }

    /// PMC0 samples instructions, `left` before its overflow.
    fn precise(profile: &Profile, left: u64, select: u64) -> Self {
        let mut guest = Self::on(&profile.clone().with_pebs());
        guest.wrmsr(0x38F, 0);
        guest.wrmsr(DS_AREA, DATA);
        guest.wrmsr(0x186, INSTRUCTIONS | select);
        guest.wrmsr(0x4C1, WIDTH_MASK + 1 - left);
        guest.wrmsr(PEBS_ENABLE, 1);
        guest.wrmsr(0x38F, 1);
        guest
    }
}

#[test]
fn the_event_after_the_overflow_is_sampled_and_the_counter_starts_anew() {
    for profile in [&SKYLAKE_SP, &ICELAKE_SP, &SAPPHIRE_RAPIDS] {
        let mut guest = Guest::precise(profile, 10, 0);
        let mut memory = Memory::new(400, 400, WIDTH_MASK - 4);
        guest.retire_and_sync(9);
        assert!(!guest.pmu.pebs_armed(), "{}", profile.name);
        guest.retire_and_sync(1);
        assert!(guest.pmu.pebs_armed() && !guest.pmu.pebs_due(), "{}", profile.name);
        let next = guest.pmu.active().map(|active| active.until_overflow).min();
        assert_eq!(next, Some(1), "the very next event");
        assert_eq!(guest.sampled(&mut memory), None);
        guest.retire_and_sync(1);
        assert!(guest.pmu.pebs_due());
        assert_eq!(guest.sampled(&mut memory), Some(Ok(())), "{}", profile.name);
        assert_eq!(guest.rdmsr(0x4C1), WIDTH_MASK - 4, "the reset value");
        // No status bit of its own, no PMI.
        assert_eq!((guest.rdmsr(GLOBAL_STATUS), guest.take_pmi()), (0, false));
        assert!(!guest.pmu.pebs_armed() && !guest.pmu.pebs_due());
    }
}

/// The source of an engine that stops behind what is sampled, not before it.
#[derive(Default)]
struct Through {
    counts: ScriptedSource,
    deadlines: Vec<u64>,
}

impl CountsSource for Through {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        self.counts.provenance(request)
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        self.counts.total(request, filter)
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        self.counts.topdown(filter)
    }

    fn runs_through_samples(&self) -> bool {
        true
    }

    fn rearm(&mut self, active: &[Active]) {
        self.deadlines = active.iter().map(|active| active.until_overflow).collect();
    }
}

#[test]
fn an_engine_may_run_through_the_instruction_that_is_sampled() {
    let fixed = (0x309, 1 << 32);
    // The counter, its event, its deadline ten events before the overflow, and whether a record is due then.
    for (profile, (counter, bit), select, event, deadline, due) in [
        (&SKYLAKE_SP, (0x4C1, 1), 0x43_00C0, Event::InstRetiredAny, 11, true),
        (&SAPPHIRE_RAPIDS, (0x4C1, 1), 0x43_00C0, Event::InstRetiredAny, 11, true),
        (&SAPPHIRE_RAPIDS, fixed, 0, Event::InstRetiredAny, 10, true),
        // Several may be the same instruction's.
        (&SKYLAKE_SP, (0x4C1, 1), 0x43_00C4, Event::BrInstRetiredAllBranches, 10, false),
    ] {
        let what = format!("{} {counter:#x} {select:#x}", profile.name);
        for parts in [vec![deadline], vec![deadline - 1, 1], vec![3, deadline - 3]] {
            let mut source = Through::default();
            let mut pmu = Vpmu::new(profile.clone().with_pebs());
            let written = [
                (DS_AREA, DATA),
                (0x186, select),
                (0x38D, 3),
                (counter, WIDTH_MASK - 9),
                (PEBS_ENABLE, bit),
                (0x38F, bit),
            ];
            for (index, value) in written {
                let written = pmu.write_register(Level::Kernel, index, value, &mut source).quiet();
                assert_eq!(written, crate::WriteOutcome::Done, "{what} {index:#x}");
            }
            assert_eq!(source.deadlines, [deadline], "{what}");
            assert_eq!(pmu.pebs_samples_instructions(), event == Event::InstRetiredAny, "{what}");
            for part in &parts {
                assert!(!pmu.pebs_due(), "{what} {parts:?}");
                source.counts.add_user(event, *part);
                pmu.sync(&mut source).deliver(|| panic!("no PMI"));
            }
            assert_eq!((pmu.pebs_due(), pmu.pebs_armed()), (due, !due), "{what} {parts:?}");
            if due {
                let mut memory = Memory::new(400, 400, WIDTH_MASK - 4);
                let answer = pmu.write_pebs(&sample(), &mut memory, &mut source);
                assert_eq!(answer.record, Some(Ok(())), "{what}");
                assert_eq!(source.deadlines, [deadline - 5], "{what}");
            }
        }
    }
}

#[test]
fn a_record_of_skylake_has_all_registers() {
    let mut guest = Guest::precise(&SKYLAKE_SP, 1, 0);
    let mut memory = Memory::new(200, 200, 0);
    guest.retire_and_sync(1);
    guest.retire_and_sync(1);
    assert_eq!(guest.sampled(&mut memory), Some(Ok(())));
    let words: Vec<u64> = (0..25).map(|n| memory.word(BUFFER + 8 * n)).collect();
    // flags, ip, ax, bx, cx, dx, si, di, bp, sp, r8 to r15.
    assert_eq!(words[..10], [0x246, 0x40_1003, 100, 103, 101, 102, 106, 107, 105, 104]);
    assert_eq!(words[10..18], [108, 109, 110, 111, 112, 113, 114, 115]);
    // Counters, address, source, latency, address of the instruction, TSX, TSC.
    assert_eq!(words[18..], [1, 0xABC0, 3, 9, 0x40_1000, 0, 77]);
    assert_eq!(memory.word(DATA + 40), BUFFER + 200);
    assert_eq!((guest.rdmsr(GLOBAL_STATUS), guest.take_pmi()), (OVF_BUFFER, true), "the threshold");
}

#[test]
fn adaptive_records_have_the_groups_that_are_asked_for() {
    let groups = [
        (0, 32),
        (1, 64),
        (2, 176),
        (4, 288),
        (8 | 2 << 24, 104),
        (15 | 31 << 24, 32 + 32 + 144 + 256 + 768),
    ];
    for (config, size) in groups {
        for adaptive in [false, true] {
            let mut guest = Guest::precise(&SAPPHIRE_RAPIDS, 1, if adaptive { ADAPTIVE } else { 0 });
            guest.wrmsr(DATA_CFG, config);
            let mut memory = Memory::new(0x1000 - 1, 0x1000, 0);
            guest.retire_and_sync(1);
            guest.retire_and_sync(1);
            assert_eq!(guest.sampled(&mut memory), Some(Ok(())));
            let (config, size) = if adaptive { (config, size) } else { (0, 32) };
            assert_eq!(memory.word(BUFFER), size << 48 | config, "{config:#x}");
            assert_eq!(memory.word(BUFFER + 8), 0x40_1000);
            assert_eq!((memory.word(BUFFER + 16), memory.word(BUFFER + 24)), (1, 77));
            assert_eq!(memory.word(DATA + 40), BUFFER + size);
            if config == 2 {
                let words: Vec<u64> = (4..8).map(|n| memory.word(BUFFER + 8 * n)).collect();
                assert_eq!(words, [0x246, 0x40_1003, 100, 101]);
            }
        }
    }
}

#[test]
fn records_hold_the_newest_branches_first() {
    let mut guest = Guest::precise(&SAPPHIRE_RAPIDS, 1, ADAPTIVE);
    guest.wrmsr(DATA_CFG, 8 | 1 << 24);
    guest.wrmsr(0x14CE, 1 | 6 | 0x7F << 16);
    for n in 1..=3 {
        guest.pmu.record_branch(&crate::BranchRecord {
            from: 0x100 * n,
            to: 0x1000 * n,
            cycle: n,
            mispredicted: false,
            kind: crate::BranchKind::Conditional,
            from_cpl: 3,
            cpl: 3,
        });
    }
    let mut memory = Memory::new(400, 400, 0);
    guest.retire_and_sync(1);
    guest.retire_and_sync(1);
    assert_eq!(guest.sampled(&mut memory), Some(Ok(())));
    let at = |memory: &mut Memory, n: u64| memory.word(BUFFER + 32 + 8 * n);
    assert_eq!((at(&mut memory, 0), at(&mut memory, 1)), (0x300, 0x3000));
    assert_eq!((at(&mut memory, 3), at(&mut memory, 4)), (0x200, 0x2000));
    assert_eq!(memory.word(BUFFER) >> 48, 32 + 48);
}

#[test]
fn a_fixed_counter_samples_with_adaptive_pebs_only() {
    let fixed = 1 << 32;
    assert_eq!(
        Guest::on(&SKYLAKE_SP.clone().with_pebs()).fault(PEBS_ENABLE, 1 << 36),
        crate::pmu::Fault::ReservedBits(1 << 36)
    );
    let mut guest = Guest::on(&ICELAKE_SP.clone().with_pebs());
    guest.wrmsr(DS_AREA, DATA);
    guest.wrmsr(0x38D, 3);
    guest.wrmsr(0x309, WIDTH_MASK);
    guest.wrmsr(PEBS_ENABLE, fixed);
    guest.wrmsr(0x38F, fixed);
    let mut memory = Memory::new(400, 400, 0);
    memory.set(DATA + 64 + 8 * 8, WIDTH_MASK - 9);
    guest.retire_and_sync(1);
    assert_eq!(guest.sampled(&mut memory), Some(Ok(())));
    assert_eq!(memory.word(BUFFER + 16), fixed);
    assert_eq!(guest.rdmsr(0x309), WIDTH_MASK - 9);
}

/// With precise distribution the record is about the event that makes the counter overflow, else about the next one.
#[test]
fn some_counters_sample_what_makes_them_overflow() {
    const NEAR_CALL: u64 = 0x43_02C4;
    const PREC_DIST: u64 = 0x43_01C0;
    let cases = [
        (&SKYLAKE_SP, 1, PREC_DIST, true),
        (&SKYLAKE_SP, 1, INSTRUCTIONS, false),
        (&SKYLAKE_SP, 0, NEAR_CALL, false),
        (&ICELAKE_SP, 0, NEAR_CALL, false),
        (&SAPPHIRE_RAPIDS, 0, NEAR_CALL, true),
        (&SAPPHIRE_RAPIDS, 1, NEAR_CALL, false),
        (&SAPPHIRE_RAPIDS, 0, INSTRUCTIONS, false),
    ];
    for (profile, counter, select, distributed) in cases {
        let what = format!("{select:#x} on counter {counter} of {}", profile.name);
        let event = if select == NEAR_CALL { Event::BrInstRetiredNearCall } else { Event::InstRetiredAny };
        for left in [1, 2, 10] {
            let mut guest = Guest::on(&profile.clone().with_pebs());
            guest.wrmsr(0x38F, 0);
            guest.wrmsr(DS_AREA, DATA);
            guest.wrmsr(0x186 + counter, select);
            guest.wrmsr(0x4C1 + counter, WIDTH_MASK + 1 - left);
            guest.wrmsr(PEBS_ENABLE, 1 << counter);
            assert!(!guest.pmu.pebs_armed(), "{what}: it does not count yet");
            guest.wrmsr(0x38F, 1 << counter);
            let mut memory = Memory::new(1_000, 1_000, WIDTH_MASK + 1 - left);
            let period = if distributed { left } else { left + 1 };
            for n in 1..=3 * period {
                assert_eq!(guest.pmu.pebs_armed(), (n - 1) % period == period - 1, "{what}, {left}: {n}");
                guest.source.add_user(event, 1);
                guest.sync();
                assert_eq!(guest.pmu.pebs_due(), n % period == 0, "{what}, {left}: {n}");
                assert_eq!(guest.sampled(&mut memory).is_some(), n % period == 0);
            }
        }
    }
}

#[test]
fn a_hostile_area_loses_the_record_and_nothing_else() {
    // An index below the base, at the end, beyond it, and where the sum wraps.
    for index in [BUFFER - 8, BUFFER + 400, BUFFER + 300, u64::MAX - 8] {
        let mut guest = Guest::precise(&SKYLAKE_SP, 1, 0);
        let mut memory = Memory::new(400, 400, 5);
        memory.set(DATA + 40, index);
        guest.retire_and_sync(1);
        guest.retire_and_sync(1);
        assert_eq!(guest.sampled(&mut memory), Some(Err(Lost::Full)), "{index:#x}");
        assert_eq!(guest.rdmsr(0x4C1), 5);
        assert!(!guest.take_pmi());
    }
    let mut guest = Guest::precise(&SKYLAKE_SP, 1, 0);
    guest.wrmsr(DS_AREA, 0xFFFF_8000_0000_0000);
    guest.retire_and_sync(2);
    guest.retire_and_sync(1);
    assert_eq!(guest.sampled(&mut Memory::new(0, 0, 0)), Some(Err(Lost::NotMapped)));
}

#[test]
fn switching_pebs_off_or_writing_the_counter_disarms() {
    for (index, value) in [(PEBS_ENABLE, 0), (0x4C1, 5), (0xC1, 5)] {
        let mut guest = Guest::precise(&ICELAKE_SP, 1, 0);
        guest.retire_and_sync(1);
        assert!(guest.pmu.pebs_armed());
        guest.wrmsr(index, value);
        assert!(!guest.pmu.pebs_armed(), "{index:#x}");
    }
}

#[test]
fn an_armed_counter_survives_a_snapshot() {
    let mut guest = Guest::precise(&ICELAKE_SP, 1, 0);
    guest.retire_and_sync(1);
    let state = guest.save();
    let mut other = Guest::on(&ICELAKE_SP.clone().with_pebs());
    other.pmu.restore(&state, &mut other.source).expect("as saved");
    assert!(other.pmu.pebs_armed());
}

#[test]
fn it_is_announced_where_it_is_and_absent_elsewhere() {
    let all = cpuid::CpuidResult { eax: !0, ebx: !0, ecx: !0, edx: !0 };
    for (profile, capabilities) in [
        (&SKYLAKE_SP, Some(0x33C5)),
        (&ICELAKE_SP, Some(0xF4C5)),
        (&SAPPHIRE_RAPIDS, Some(0xF4FF)),
        (&LUNAR_LAKE_P, None),
        (&ZEN4, None),
    ] {
        let shown = profile.clone().with_pebs();
        assert_eq!(shown.has_pebs(), capabilities.is_some(), "{}", profile.name);
        let leaf = cpuid::patch(&shown, 1, 0, all);
        assert_eq!(
            (leaf.ecx >> 2 & 1, leaf.edx >> 21 & 1),
            (shown.has_pebs().into(), shown.has_pebs().into())
        );
        let mut pmu = Vpmu::new(shown);
        let mut source = ScriptedSource::new();
        let mut read = |index| pmu.read_register(Level::Kernel, index, &mut source).quiet();
        assert_eq!(matches!(read(DS_AREA), ReadOutcome::Value(0)), capabilities.is_some());
        if let Some(expected) = capabilities {
            assert_eq!(read(0x345), ReadOutcome::Value(expected), "{}", profile.name);
            // No branch trace store, but PEBS.
            assert_eq!(read(0x1A0), ReadOutcome::Value(0x881), "{}", profile.name);
        }
    }
    assert!(GRANITE_RAPIDS.clone().with_pebs().has_pebs());
}

/// The encodings that Linux reads (`arch/x86/events/intel/ds.c`, `pebs_data_source`).
#[test]
fn the_source_of_data_is_encoded_as_linux_reads_it() {
    let cases = [
        (DataSource::L1, 1),
        (DataSource::InFlight, 2),
        (DataSource::L2, 3),
        (DataSource::L3, 4),
        (DataSource::Memory, 0xA),
    ];
    for profile in [&SKYLAKE_SP, &ICELAKE_SP, &SAPPHIRE_RAPIDS] {
        // Where the three words are.
        let (config, at) = if profile.name == "skylake-sp" { (None, 19) } else { (Some(1), 4) };
        let word = |memory: MemoryAccess, select: u64| {
            let mut guest = Guest::precise(profile, 1, if config.is_some() { ADAPTIVE } else { 0 });
            if let Some(config) = config {
                guest.wrmsr(DATA_CFG, config);
            }
            let mut store = Memory::new(400, 400, WIDTH_MASK - 4);
            guest.retire_and_sync(1);
            guest.retire_and_sync(1);
            // What it counts matters for stores only.
            guest.wrmsr(0x186, guest_select(select) | if config.is_some() { ADAPTIVE } else { 0 });
            let sample = PebsSample { memory: Some(memory), ..sample() };
            let answer = guest.pmu.write_pebs(&sample, &mut store, &mut guest.source);
            answer.pmis.deliver(|| {});
            assert_eq!(answer.record, Some(Ok(())));
            [0, 1, 2].map(|n| store.word(BUFFER + 8 * (at + n)))
        };
        for (source, code) in cases {
            let twice = if profile.name == "sapphire-rapids" { 9 << 32 } else { 0 };
            assert_eq!(
                word(access(source), 0xC0),
                [0xABC0, code, 9 | twice],
                "{source:?} on {}",
                profile.name
            );
            // Of a store only its events say more than whether it hit.
            let store = MemoryAccess { load: false, store: true, ..access(source) };
            assert_eq!(word(store, 0x82D0)[1], u64::from(code == 1), "{source:?}");
            assert_eq!(word(store, 0x2CD)[1], code, "{source:?}");
        }
        let mut walked = access(DataSource::L1);
        walked.locked = true;
        walked.served.as_mut().expect("it has").translation = Translation::Walk;
        assert_eq!(word(walked, 0xC0)[1], 0x31);
        let unknown = MemoryAccess { served: None, ..access(DataSource::L1) };
        assert_eq!(word(unknown, 0xC0), [0xABC0, 0, 0]);
    }
}

fn guest_select(select: u64) -> u64 {
    INSTRUCTIONS & !0xFFFF | select
}

/// MEM_TRANS_RETIRED.LOAD_LATENCY asks for loads above MSR_PEBS_LD_LAT_THRESHOLD, any value of it.
#[test]
fn the_threshold_of_load_latency_goes_to_the_source() {
    for threshold in [3, 30, 0x200] {
        let mut guest = Guest::on(&ICELAKE_SP.with_pebs());
        guest.wrmsr(0x3F6, threshold);
        guest.wrmsr(0x186, 0x43_01CD);
        assert_eq!(asked(&guest).map(u64::from), Some(threshold));
    }
    // Without PEBS no loads are picked.
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.wrmsr(0x3F6, 30);
    guest.wrmsr(0x186, 0x43_01CD);
    assert_eq!(asked(&guest), None);
}

/// The threshold that PMC0 asks for.
fn asked(guest: &Guest) -> Option<u16> {
    let crate::pmu::Machine::Intel(own) = &guest.pmu.machine else { return None };
    own.gp[0].request.threshold
}
