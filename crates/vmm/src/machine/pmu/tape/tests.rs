use super::*;
use crate::counts::model::{ModelSource, Retired};
use crate::machine::pmu::{Origin, PmuDevice};
use platform::devices::Capture;
use soft_cpu::Totals;
use vpmu::profile::{ICELAKE_SP, ZEN4};
use vpmu::{Level, ReadOutcome};

const FIXED_CTR0: u32 = 0x309;

/// A PMU whose engine retires as many instructions as the test says.
fn device() -> PmuDevice {
    let retired = Retired::<Totals>::default();
    PmuDevice::new(ICELAKE_SP, Box::new(ModelSource::new(&ICELAKE_SP, retired)), None)
}

fn header() -> Header {
    Header { profile: "icelake-sp".into(), counted: true, unavailable_events: 0 }
}

/// The bytes of these entries.
fn tape(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&header(), &mut bytes);
    entries.iter().for_each(|entry| writer.write(entry, &mut bytes));
    writer.finish(&mut bytes);
    bytes
}

fn read(index: u32, value: u64) -> Event {
    Event::Read { level: Level::Kernel, index, outcome: ReadOutcome::Value(value) }
}

fn replaying(entries: &[Entry]) -> PmuDevice {
    let mut device = device();
    device.replay(Replayer::new(tape(entries), &ICELAKE_SP).expect("a recording"));
    device
}

fn rdmsr(device: &mut PmuDevice, index: u32) -> (ReadOutcome, u32) {
    let (outcome, pmis) = device.rdmsr(index, Origin::default()).into_parts();
    (outcome, pmis.count())
}

#[test]
fn a_recording_has_what_the_guest_got() {
    let mut device = device();
    let file = Capture::new(1 << 16);
    device.record(Recorder::new(Box::new(file.clone()), &header()));
    device.set_instructions(10);
    let _ = device.wrmsr(0x38D, 3, Origin::default()).into_parts();
    device.set_instructions(12);
    let _ = device.rdmsr(FIXED_CTR0, Origin::default()).into_parts();
    // No register of the PMU: nothing of it.
    let _ = device.rdmsr(0x10, Origin::default()).into_parts();
    device.finish_recording().expect("a place to write to");
    let (_, mut reader) = Reader::new(file.bytes()).expect("a recording");
    let mut entries = Vec::new();
    while let Some(entry) = reader.read().expect("whole entries") {
        entries.push(entry);
    }
    let write =
        Event::Write { level: Level::Kernel, index: 0x38D, value: 3, outcome: vpmu::WriteOutcome::Done };
    assert_eq!(
        entries,
        [Entry { instructions: 10, event: write }, Entry { instructions: 12, event: read(FIXED_CTR0, 0) }]
    );
}

#[test]
fn answers_and_interrupts_are_the_recordings() {
    let mut device = replaying(&[
        Entry { instructions: 5, event: read(FIXED_CTR0, 77) },
        Entry { instructions: 9, event: Event::Pmi },
        Entry { instructions: 20, event: read(FIXED_CTR0, 78) },
    ]);
    device.set_instructions(5);
    assert_eq!(rdmsr(&mut device, FIXED_CTR0), (ReadOutcome::Value(77), 0));
    assert_eq!(device.until_injection(), Some(4));
    device.set_instructions(9);
    assert_eq!(device.inject_due().count(), 1);
    device.set_instructions(20);
    assert_eq!(rdmsr(&mut device, FIXED_CTR0), (ReadOutcome::Value(78), 0));
    assert_eq!(device.replayed(), Some(ReplayReport { replayed: 3, left: 0, divergence: None }));
}

/// Under KVM no instructions are counted: what follows an access comes with it.
#[test]
fn without_instructions_interrupts_come_with_the_access_before() {
    let mut device = replaying(&[
        Entry { instructions: 5, event: read(FIXED_CTR0, 77) },
        Entry { instructions: 9, event: Event::Pmi },
    ]);
    assert_eq!(rdmsr(&mut device, FIXED_CTR0), (ReadOutcome::Value(77), 1));
}

#[test]
fn the_first_difference_is_told_with_both_sides() {
    let recorded = [
        Entry { instructions: 5, event: read(FIXED_CTR0, 77) },
        Entry { instructions: 6, event: read(0x38E, 1) },
    ];
    let mut device = replaying(&recorded);
    device.set_instructions(5);
    rdmsr(&mut device, FIXED_CTR0);
    device.set_instructions(8);
    // From there on the PMU answers by itself.
    assert_eq!(rdmsr(&mut device, FIXED_CTR0), (ReadOutcome::Value(0), 0));
    rdmsr(&mut device, 0x38E);
    let report = device.replayed().expect("a replay");
    let expected = Divergence {
        entry: 1,
        recorded: Some("read of IA32_PERF_GLOBAL_STATUS".into()),
        recorded_instructions: Some(6),
        asked: "read of IA32_FIXED_CTR0".into(),
        asked_instructions: Some(8),
    };
    assert_eq!(report, ReplayReport { replayed: 1, left: 1, divergence: Some(expected) });
    // The end is one too.
    let mut device = replaying(&recorded[..1]);
    device.set_instructions(5);
    rdmsr(&mut device, FIXED_CTR0);
    rdmsr(&mut device, FIXED_CTR0);
    let divergence = device.replayed().and_then(|report| report.divergence).expect("a divergence");
    assert_eq!((divergence.entry, divergence.recorded), (1, None));
}

#[test]
fn recordings_of_other_cpus_and_damaged_ones_are_refused() {
    let good = tape(&[Entry { instructions: 1, event: Event::Pmi }]);
    let refused = |bytes: &[u8], profile| Replayer::new(bytes.to_vec(), profile).expect_err("no").to_string();
    assert!(refused(&good, &ZEN4).contains("recorded on profile icelake-sp, and this is zen4"));
    assert!(refused(&good[..good.len() - 1], &ICELAKE_SP).contains("no end"));
    assert!(refused(b"vpmurec", &ICELAKE_SP).contains("no recording"));
}

proptest::proptest! {
    /// A recording may say anything: the guest's accesses are answered, and nothing panics.
    #[test]
    fn hostile_recordings_do_no_harm(
        kinds in proptest::collection::vec((0_u8..6, 0_u64..4, proptest::num::u64::ANY), 0..24),
        accesses in proptest::collection::vec((0_u8..3, 0_u64..4), 0..24),
    ) {
        let indices = [FIXED_CTR0, 0x38F, 0x38E, 0xC1];
        let mut instructions = 0;
        let entry = |&(kind, which, value): &(u8, u64, u64)| {
            instructions += value >> 60;
            let index = indices[which as usize];
            let event = match kind {
                0 => read(index, value),
                1 => Event::Write { level: Level::Kernel, index, value: which, outcome: vpmu::WriteOutcome::Done },
                2 => Event::Rdpmc { ecx: which as u32, outcome: ReadOutcome::Value(value) },
                3 => Event::Pmi,
                4 => Event::Line(value & 1 != 0),
                _ => Event::Nmi,
            };
            Entry { instructions, event }
        };
        let entries: Vec<Entry> = kinds.iter().map(entry).collect();
        let mut device = replaying(&entries);
        for (at, (kind, which)) in (0..).zip(accesses) {
            device.set_instructions(at);
            let _ = device.inject_due().count();
            let index = indices[which as usize];
            let count = match kind {
                0 => rdmsr(&mut device, index).1,
                1 => device.wrmsr(index, which, Origin::default()).into_parts().1.count(),
                _ => device.rdpmc(which as u32, vpmu::RdpmcContext::RING0, Origin::default()).into_parts().1.count(),
            };
            proptest::prop_assert!(count <= entries.len() as u32);
        }
        let report = device.replayed().expect("a replay");
        proptest::prop_assert_eq!(report.replayed + report.left, entries.len() as u64);
    }
}
