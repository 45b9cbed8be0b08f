use super::*;
use alloc::vec;
use proptest::collection::vec as many;
use proptest::prelude::*;

fn header() -> Header {
    Header { profile: "icelake-sp".into(), counted: true, unavailable_events: 0x80 }
}

fn write(header: &Header, entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(header, &mut bytes);
    entries.iter().for_each(|entry| writer.write(entry, &mut bytes));
    writer.finish(&mut bytes);
    bytes
}

fn read(bytes: &[u8]) -> Result<(Header, Vec<Entry>), Malformed> {
    let (header, mut reader) = Reader::new(bytes)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.read()? {
        entries.push(entry);
    }
    Ok((header, entries))
}

/// The bytes of the format's description: they must not change within a version.
#[test]
fn the_bytes_are_those_of_the_description() {
    let kernel = Level::Kernel;
    let entries = [
        Entry {
            instructions: 300,
            event: Event::Write { level: kernel, index: 0x38F, value: 1, outcome: WriteOutcome::Done },
        },
        Entry { instructions: 310, event: Event::Pmi },
        Entry {
            instructions: 310,
            event: Event::Rdpmc { ecx: 9, outcome: ReadOutcome::Fault(Fault::RdpmcIndex(9)) },
        },
        Entry { instructions: 311, event: Event::Line(true) },
    ];
    let bytes = write(&Header { profile: "ab".into(), ..header() }, &entries);
    let expected = [
        &b"vpmurec\0\x01\x02ab\x01\x80\x01"[..],
        &[1, 0xAC, 2, 0x8F, 7, 1],
        &[3, 10],
        &[0x22, 0, 9, 10, 9],
        &[0x14, 1],
        &[15, 0, 4],
    ];
    assert_eq!(bytes, expected.concat());
    assert_eq!(read(&bytes).map(|(_, entries)| entries), Ok(entries.to_vec()));
}

#[test]
fn what_is_no_recording_says_why() {
    let good = write(&header(), &[Entry { instructions: 5, event: Event::Pmi }]);
    assert!(read(&good).is_ok());
    assert_eq!(read(b"nonsense"), Err(Malformed::Magic));
    assert_eq!(read(&[]), Err(Malformed::Magic));
    let mut other = good.clone();
    other[8] = 2;
    assert_eq!(read(&other), Err(Malformed::Version(2)));
    for length in MAGIC.len()..good.len() {
        assert_eq!(read(&good[..length]), Err(Malformed::Truncated), "{length} bytes");
    }
    assert_eq!(read(&[&good[..], &[0]].concat()), Err(Malformed::End));
    let entry = good.len() - 5;
    for (byte, error) in [(6, Malformed::Entry(0)), (0x13, Malformed::Entry(0)), (0x1F, Malformed::End)] {
        let mut damaged = good.clone();
        damaged[entry] = byte;
        assert_eq!(read(&damaged), Err(error), "{byte:#x}");
    }
    // Instructions beyond any number, in the distance of a second entry and in one of eleven bytes.
    let mut far = good[..entry].to_vec();
    far.extend([3, 1, 3]);
    far.extend([0xFF; 9]);
    far.extend([1, 15, 0, 2]);
    assert_eq!(read(&far), Err(Malformed::Entry(1)));
    let mut long = good[..entry].to_vec();
    long.push(3);
    long.extend(vec![0x80; 10]);
    long.push(0);
    assert_eq!(read(&long), Err(Malformed::Entry(0)));
}

fn faults() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::Absent),
        Just(Fault::ReadOnly),
        Just(Fault::WriteOnly),
        Just(Fault::Privilege),
        Just(Fault::Trapped),
        any::<u64>().prop_map(Fault::ReservedBits),
        any::<u64>().prop_map(Fault::FixedBits),
        any::<u64>().prop_map(|depth| Fault::BeyondDepth { depth }),
        any::<u64>().prop_map(Fault::Depth),
        any::<u64>().prop_map(Fault::NonCanonical),
        any::<u32>().prop_map(Fault::RdpmcIndex),
        Just(Fault::RdpmcPrivilege),
    ]
}

fn reads() -> impl Strategy<Value = ReadOutcome> {
    prop_oneof![any::<u64>().prop_map(ReadOutcome::Value), faults().prop_map(ReadOutcome::Fault)]
}

fn events() -> impl Strategy<Value = Event> {
    let level = || prop_oneof![Just(Level::Kernel), Just(Level::User)];
    let writes = prop_oneof![Just(WriteOutcome::Done), faults().prop_map(WriteOutcome::Fault)];
    prop_oneof![
        (level(), any::<u32>(), reads()).prop_map(|(level, index, outcome)| Event::Read {
            level,
            index,
            outcome
        }),
        (level(), any::<u32>(), any::<u64>(), writes)
            .prop_map(|(level, index, value, outcome)| Event::Write { level, index, value, outcome }),
        (any::<u32>(), reads()).prop_map(|(ecx, outcome)| Event::Rdpmc { ecx, outcome }),
        Just(Event::Pmi),
        any::<bool>().prop_map(Event::Line),
        Just(Event::Nmi),
    ]
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        counted in any::<bool>(),
        unavailable_events in any::<u32>(),
        profile in "\\PC{0,40}",
        steps in many((0..1_u64 << 40, events()), 0..40),
    ) {
        let mut instructions = 0;
        let entry = |(distance, event)| {
            instructions += if counted { distance } else { 0 };
            Entry { instructions, event }
        };
        let entries: Vec<Entry> = steps.into_iter().map(entry).collect();
        let header = Header { profile, counted, unavailable_events };
        prop_assert_eq!(read(&write(&header, &entries)), Ok((header, entries)));
    }

    /// Any bytes are read or refused, and what is read is written as it was but for numbers with idle bytes.
    #[test]
    fn hostile_bytes_are_refused_or_read(bytes in many(any::<u8>(), 0..200)) {
        let whole = [&MAGIC[..], &[VERSION, 2, b'a', b'b', 1, 0], &bytes].concat();
        for bytes in [&bytes, &whole] {
            if let Ok((header, entries)) = read(bytes) {
                prop_assert_eq!(read(&write(&header, &entries)), Ok((header, entries)));
            }
        }
    }

    /// A byte that is changed is noticed, or stands for something else that can be read.
    #[test]
    fn damage_does_no_harm(steps in many(events(), 1..20), at in any::<usize>(), to in any::<u8>()) {
        let entries: Vec<Entry> = steps.into_iter().map(|event| Entry { instructions: 1, event }).collect();
        let mut bytes = write(&header(), &entries);
        let at = at % bytes.len();
        bytes[at] = to;
        let _ = read(&bytes);
    }
}
