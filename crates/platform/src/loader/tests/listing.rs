//! The list of tests in an image.

use guest_protocol::Needs;

use super::elf_writer::{SHT_NOBITS, SHT_PROGBITS, patch};
use super::*;

/// Linked high, so that virtual and physical addresses differ.
const TEXT: u64 = 0xFFFF_FFFF_8010_0000;

/// The strings that descriptors point to, behind the code.
const STRINGS: &[u8] = b"pmu::wrap|tests/pmu.rs|A counter wraps.|bell\x07|\xFF";

/// Address and length of a part of [`STRINGS`].
fn string(text: &[u8]) -> [u64; 2] {
    let at = STRINGS.windows(text.len()).position(|w| w == text).unwrap();
    [TEXT + 0x80 + at as u64, text.len() as u64]
}

/// One descriptor, laid out by hand as `guest_protocol::TestDescriptor`.
fn descriptor(
    name: [u64; 2],
    file: [u64; 2],
    summary: [u64; 2],
    function: u64,
    needs: u32,
    line: u32,
) -> Vec<u8> {
    let words = [name, file, summary].concat();
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(function.to_le_bytes());
    bytes.extend(needs.to_le_bytes());
    bytes.extend(line.to_le_bytes());
    bytes
}

fn good() -> Vec<u8> {
    descriptor(
        string(b"pmu::wrap"),
        string(b"tests/pmu.rs"),
        string(b"A counter wraps."),
        TEXT + 0x40,
        (Needs::PMU | Needs::EXACT).bits(),
        42,
    )
}

fn image_with(kind: u32, section: Vec<u8>) -> Vec<u8> {
    ElfWriter::elf64()
        .segment_at(PT_LOAD, TEXT, BASE, [&code(), STRINGS].concat(), 0x1000)
        .segment(PT_NOTE, 0, pvh_note(ENTRY.into()), 0)
        .section(".text", SHT_PROGBITS, code())
        .section(".guest_tests", kind, section)
        .build()
}

fn list(image: Vec<u8>) -> Result<Vec<TestInfo>, String> {
    tests(&Image::parse(image).unwrap()).map_err(|error| error.to_string())
}

#[track_caller]
fn assert_broken(descriptor: &[u8], reason: &str) {
    // A good one before it, so that the index in the error means something.
    let section = [&good(), descriptor].concat();
    let expected = format!("Test 1 of the image's list is broken: {reason}");
    assert_eq!(list(image_with(SHT_PROGBITS, section)), Err(expected));
}

#[test]
fn tests_are_listed_in_order_with_all_their_fields() {
    let second = descriptor(string(b"pmu.rs"), [0, 0], [0, 0], TEXT, 0, 7);
    let listed = list(image_with(SHT_PROGBITS, [good(), second].concat())).unwrap();
    let first = TestInfo {
        name: "pmu::wrap".into(),
        file: "tests/pmu.rs".into(),
        line: 42,
        summary: "A counter wraps.".into(),
        needs: Needs::PMU | Needs::EXACT,
    };
    let second = TestInfo {
        name: "pmu.rs".into(),
        file: String::new(),
        line: 7,
        summary: String::new(),
        needs: Needs::default(),
    };
    assert_eq!(listed, [first, second]);
}

#[test]
fn an_image_without_the_section_lists_nothing() {
    for image in [pvh().build(), multiboot().build(), multiboot_raw(0, 0)] {
        assert_eq!(list(image), Ok(vec![]));
    }
    assert_eq!(list(image_with(SHT_PROGBITS, vec![])), Ok(vec![]));
    // A name that only starts alike is another section.
    let similar = pvh().section(".guest_tests.old", SHT_PROGBITS, good()).build();
    assert_eq!(list(similar), Ok(vec![]));
}

#[test]
fn an_image_without_section_table_lists_nothing() {
    let stripped = patch(image_with(SHT_PROGBITS, good()), 40, &[0; 8]);
    assert_eq!(list(stripped), Ok(vec![]));
}

#[test]
fn elf32_images_list_tests_too() {
    let strings = [&code(), &b"name"[..]].concat();
    let test = descriptor([BASE + 0x80, 4], [0, 0], [0, 0], BASE, 0, 1);
    let image = ElfWriter::elf32()
        .segment(PT_LOAD, BASE, strings, 0)
        .segment(PT_NOTE, 0, pvh_note(ENTRY.into()), 0)
        .section(".guest_tests", SHT_PROGBITS, test)
        .build();
    assert_eq!(list(image).unwrap()[0].name, "name");
}

#[test]
fn a_broken_section_is_an_error() {
    let error = |image| list(image).unwrap_err();
    assert_eq!(
        error(image_with(SHT_PROGBITS, vec![0; 65])),
        "Broken test list (section .guest_tests): 65 bytes is not a multiple of 64, the size of a test"
    );
    assert_eq!(
        error(image_with(SHT_PROGBITS, vec![0; 64 * 4097])),
        "Broken test list (section .guest_tests): 4097 tests are more than the limit of 4096"
    );
    assert_eq!(
        error(image_with(SHT_NOBITS, good())),
        "Broken test list (section .guest_tests): section .guest_tests has no bytes in the file (NOBITS)"
    );
}

#[test]
fn a_broken_section_table_is_an_error() {
    let image = image_with(SHT_PROGBITS, good());
    let beyond = patch(image.clone(), 40, &(image.len() as u64).to_le_bytes());
    assert!(list(beyond).unwrap_err().starts_with("Broken test list"));
    let names = patch(image.clone(), 62, &500u16.to_le_bytes());
    assert!(list(names).unwrap_err().contains("section 500 with the section names does not exist"));
    // Section 2 is ours; its sh_size is 32 bytes into the header.
    let table = u64::from_le_bytes(image[40..48].try_into().unwrap()) as usize;
    let size = patch(image, table + 2 * 64 + 32, &0x1000_0000u64.to_le_bytes());
    assert!(list(size).unwrap_err().starts_with("The image is truncated: section .guest_tests is at bytes"));
}

#[test]
fn a_descriptor_with_a_bad_address_is_an_error() {
    let nowhere = [0xDEAD_0000, 4];
    let empty = [0, 0];
    assert_broken(
        &descriptor(nowhere, empty, empty, TEXT, 0, 0),
        "its name is at 0xdead0000 (4 bytes), which the file does not load",
    );
    assert_broken(
        &descriptor(string(b"pmu"), nowhere, empty, TEXT, 0, 0),
        "its source file is at 0xdead0000 (4 bytes), which the file does not load",
    );
    assert_broken(
        &descriptor(string(b"pmu"), empty, [u64::MAX, 4], TEXT, 0, 0),
        "its summary is at 0xffffffffffffffff (4 bytes), which the file does not load",
    );
    assert_broken(
        &descriptor(string(b"pmu"), empty, empty, 0x1234, 0, 0),
        "its function is at 0x1234, which the file does not load",
    );
    // Right behind the bytes of the file there is only bss.
    let end = TEXT + 0x80 + STRINGS.len() as u64;
    assert_broken(
        &descriptor(string(b"pmu"), empty, empty, end, 0, 0),
        &format!("its function is at {end:#x}, which the file does not load"),
    );
    // The last byte is bss.
    let [start, _] = string(b"\xFF");
    assert_broken(
        &descriptor([start - 1, 3], empty, empty, TEXT, 0, 0),
        &format!("its name is at {:#x} (3 bytes), which the file does not load", start - 1),
    );
}

#[test]
fn a_descriptor_with_bad_text_is_an_error() {
    let empty = [0, 0];
    let name = |name| descriptor(name, empty, empty, TEXT, 0, 0);
    assert_broken(&name(empty), "its name is empty");
    assert_broken(&name([TEXT, 1025]), "its name has 1025 bytes; the limit is 1024");
    assert_broken(&name([TEXT, u64::MAX]), "its name has 18446744073709551615 bytes; the limit is 1024");
    assert_broken(&name(string(b"\xFF")), "its name is not UTF-8");
    assert_broken(&name(string(b"bell\x07")), "its name contains the control character '\\u{7}'");
}

#[test]
fn a_need_that_we_do_not_know_is_an_error() {
    assert_broken(
        &descriptor(string(b"pmu"), [0, 0], [0, 0], TEXT, 0x8000_0001, 0),
        "it has unknown needs 0x80000000; the image is newer than this program",
    );
}
