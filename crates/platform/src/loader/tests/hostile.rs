//! Images that no tool makes: mutated, cut and random ones. Whatever they are, the loader
//! answers, and what it loads obeys its own rules.

use proptest::collection::vec;
use proptest::prelude::*;

use super::elf_writer::SHT_PROGBITS;
use super::*;
use crate::loader::placement::Placement;

/// Values that overflow sums, change signs or cross pages.
const NASTY: [u64; 12] = [
    0,
    1,
    0x7F,
    0x80,
    0xFFF,
    0x1000,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    0x1_0000_0000,
    0x7FFF_FFFF_FFFF_FFFF,
    u64::MAX - 0xFFF,
    u64::MAX,
];

#[derive(Debug, Clone)]
enum Mutation {
    /// Flip one bit.
    Flip { at: prop::sample::Index, bit: u8 },
    /// Overwrite 1, 2, 4 or 8 aligned bytes with a nasty value. Headers come first in the file, so
    /// small offsets matter most.
    Set { slot: u16, size: usize, value: u64 },
    /// Cut the file.
    Truncate { at: prop::sample::Index },
    /// Copy a piece of the file over another.
    Copy { from: prop::sample::Index, to: prop::sample::Index, len: usize },
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (index(), 0..8u8).prop_map(|(at, bit)| Mutation::Flip { at, bit }),
        6 => (0..128u16, prop::sample::select(vec![1, 2, 4, 8]), prop::sample::select(NASTY.to_vec()))
            .prop_map(|(slot, size, value)| Mutation::Set { slot, size, value }),
        1 => index().prop_map(|at| Mutation::Truncate { at }),
        1 => (index(), index(), 1..64usize).prop_map(|(from, to, len)| Mutation::Copy { from, to, len }),
    ]
}

fn mutate(mut image: Vec<u8>, mutations: &[Mutation]) -> Vec<u8> {
    for mutation in mutations {
        if image.is_empty() {
            break;
        }
        match mutation {
            Mutation::Flip { at, bit } => {
                let at = at.index(image.len());
                image[at] ^= 1 << bit;
            }
            Mutation::Set { slot, size, value } => {
                let at = usize::from(*slot) * size;
                if let Some(place) = image.get_mut(at..at + size) {
                    place.copy_from_slice(&value.to_le_bytes()[..*size]);
                }
            }
            Mutation::Truncate { at } => image.truncate(at.index(image.len())),
            Mutation::Copy { from, to, len } => {
                let (from, to) = (from.index(image.len()), to.index(image.len()));
                let len = (*len).min(image.len() - from.max(to));
                image.copy_within(from..from + len, to);
            }
        }
    }
    image
}

/// A PVH image with a list of tests.
fn listed_pvh() -> Vec<u8> {
    let mut test = [BASE + 0x10, 4, BASE + 0x20, 4, BASE + 0x30, 4, ENTRY.into(), 0]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect::<Vec<u8>>();
    test.extend(test.clone());
    ElfWriter::elf64()
        .segment(PT_LOAD, BASE, [vec![b'a'; 0x40], vec![2; 0x40]].concat(), 0x1000)
        .segment(PT_NOTE, 0, pvh_note(ENTRY.into()), 0)
        .segment(PT_LOAD, BASE + 0x10_0000, vec![5; 100], 1000)
        .section(".guest_tests", SHT_PROGBITS, test)
        .build()
}

/// Does everything that the VMM does with an image. Panics are found by the test runner.
fn exercise(bytes: Vec<u8>) -> Result<bool, TestCaseError> {
    let Ok(image) = Image::parse(bytes) else {
        return Ok(false);
    };
    prop_assert!(image.protocols().count() > 0, "a parsed image can be booted");
    if let Ok(tests) = tests(&image) {
        prop_assert!(tests.len() <= image.bytes().len() / 64, "no more tests than fit the file");
    }
    let mut any_loaded = false;
    for protocol in image.protocols() {
        let memory = memory(4);
        let module = Module { cmdline: "m".into(), data: vec![6; 5000] };
        let params = BootParams { cmdline: "a b".into(), modules: vec![module], protocol: Some(protocol) };
        match load(&image, &memory, &params) {
            Ok(state) => {
                check_state(&state, &memory)?;
                any_loaded = true;
            }
            Err(_) => prop_assert!(is_zero(&memory, 0, 4 << 20), "a refused image wrote something"),
        }
    }
    Ok(any_loaded)
}

/// The rules of [`BootState`]: ranges in RAM, apart from each other, nothing written beside them.
fn check_state(state: &BootState, memory: &GuestMemory) -> Result<(), TestCaseError> {
    let mut ranges = state.loaded.clone();
    ranges.sort_by_key(|range| range.start);
    let mut free_from = 0;
    for range in &ranges {
        prop_assert!(memory.contains(range.start, range.end), "{range:?} is not RAM");
        prop_assert!(free_from <= range.start, "{range:?} overlaps another in {ranges:?}");
        prop_assert!(is_zero(memory, free_from, range.start), "something was written below {range:?}");
        free_from = range.end;
    }
    prop_assert!(is_zero(memory, free_from, 4 << 20));
    let within = |address: u32, content: Content| {
        let address = u64::from(address);
        ranges.iter().any(|r| r.content == content && (r.start..r.end).contains(&address))
    };
    prop_assert!(within(state.eip, Content::Image), "EIP is not in the image");
    prop_assert!(within(state.ebx, Content::BootInfo), "EBX does not point to boot information");
    Ok(())
}

fn is_zero(memory: &GuestMemory, start: u64, end: u64) -> bool {
    let bytes = bytes_at(memory, start, (end - start) as usize);
    bytes == vec![0; bytes.len()]
}

#[test]
fn the_unchanged_images_load() {
    // Otherwise the properties below would say nothing.
    for image in [listed_pvh(), multiboot().build(), multiboot_raw(0, 0)] {
        assert!(exercise(image).unwrap());
    }
    assert_eq!(tests(&Image::parse(listed_pvh()).unwrap()).unwrap().len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_pvh_images_are_answered(mutations in vec(mutation(), 1..6)) {
        exercise(mutate(listed_pvh(), &mutations))?;
    }

    #[test]
    fn mutated_multiboot_images_are_answered(mutations in vec(mutation(), 1..6)) {
        exercise(mutate(multiboot().build(), &mutations))?;
    }

    /// The header's checksum is made right again, so that the address fields are reached.
    #[test]
    fn any_multiboot_addresses_are_answered(
        fields in prop::array::uniform5(prop_oneof![
            any::<u32>(),
            (BASE as u32 - 64)..(BASE as u32 + 256),
            Just(0),
        ]),
        before in 0..8usize,
        size in 0..512usize,
    ) {
        let mut image = vec![0; before * 4];
        image.extend(multiboot_header(1 << 16, &fields));
        image.resize(image.len() + size, 0xC3);
        exercise(image)?;
    }

    #[test]
    fn random_bytes_are_answered(bytes in vec(any::<u8>(), 0..600), start in 0..3usize) {
        let start = [&b""[..], b"\x7FELF\x02\x01\x01", &[0x02, 0xB0, 0xAD, 0x1B]][start];
        exercise([start, &bytes].concat())?;
    }

    #[test]
    fn a_free_place_is_free(
        taken in vec((0..0x4000u64, 0..0x1000u64), 0..20),
        size in 0..0x2000u64,
        align in 0..13u32,
        low in 0..0x4000u64,
        room in 0..0x4000u64,
        from_above: bool,
    ) {
        let (align, window) = (1 << align, low..low + room);
        let mut placement = Placement::default();
        for &(start, len) in &taken {
            placement.take(start..start + len);
        }
        let place = if from_above {
            placement.highest(size, align, window.clone())
        } else {
            placement.lowest(size, align, window.clone())
        };
        let fits = |start: u64| {
            let end = start + size;
            window.start <= start && end <= window.end && start.is_multiple_of(align)
                && taken.iter().all(|&(s, len)| len == 0 || end <= s || s + len <= start)
        };
        match place {
            Some(start) => prop_assert!(fits(start)),
            // An empty thing may have no place inside something taken; all others were looked for.
            None => prop_assert!(size == 0 || !(window.clone().any(fits))),
        }
    }
}
