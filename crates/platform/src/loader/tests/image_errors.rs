//! Every way in which an image can be wrong, and what the user reads then.

use std::path::Path;

use super::elf_writer::{PT_INTERP, patch, program_field};
use super::*;

#[track_caller]
fn assert_error(bytes: impl Into<Vec<u8>>, expected: &str) {
    let error = Image::parse(bytes).unwrap_err().to_string();
    assert_eq!(error, expected);
}

#[test]
fn a_missing_file_has_the_hosts_reason() {
    let error = Image::open("/nonexistent/kernel").unwrap_err();
    assert_eq!(error.to_string(), "it cannot be read");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("No such file"), "{source}");
}

#[test]
fn directories_and_devices_are_refused_without_reading() {
    let error = |path: &str| Image::open(Path::new(path)).unwrap_err().to_string();
    assert_eq!(error("/"), "it is a directory, not an image file");
    assert_eq!(error("/dev/zero"), "it is a device, not an image file");
}

#[test]
fn a_huge_file_is_refused_without_reading() {
    let file = vmm_sys_util::tempfile::TempFile::new().unwrap();
    file.as_file().set_len(image::MAX_IMAGE_SIZE + 1).unwrap();
    assert_eq!(
        Image::open(file.as_path()).unwrap_err().to_string(),
        "The image is larger than 1073741824 bytes"
    );
}

#[test]
fn an_empty_file() {
    assert_error([], "The image is empty (0 bytes)");
}

#[test]
fn a_linux_bzimage_that_is_too_old_or_32_bit_or_cut_off() {
    assert_error(
        bzimage(0x0206, 1, 0x100),
        "The bzImage cannot be booted: its boot protocol 2.06 is older than 2.12",
    );
    assert_error(
        bzimage(0x020F, 0, 0x100),
        "The bzImage cannot be booted: it is a 32-bit kernel, without the 64-bit entry point",
    );
    let whole = bzimage(0x020F, 1, 0x100);
    assert!(Image::parse(whole.clone()).is_ok());
    assert_error(
        whole[..0x500].to_vec(),
        "The image is truncated: the protected-mode kernel is at bytes 0x400..0x1400, but the file ends at 0x500",
    );
    assert_error(
        whole[..0x210].to_vec(),
        "The image is truncated: the setup header is at bytes 0x1f1..0x26c, but the file ends at 0x210",
    );
}

#[test]
fn other_formats_are_recognised() {
    for (start, what) in [
        (&b"\x1F\x8B\x08"[..], "it is gzip-compressed"),
        (b"\xFD7zXZ\0", "it is xz-compressed"),
        (b"\x28\xB5\x2F\xFD", "it is zstd-compressed"),
        (b"BZh9", "it is bzip2-compressed"),
        (b"MZ\x90", "it is a PE/EFI program"),
        (b"#!/bin/sh", "it is a script"),
        (b"hello", "it has neither the ELF magic number nor a multiboot header"),
    ] {
        assert_error(start, &format!("Not an ELF image: {what}"));
    }
}

#[test]
fn elf_for_another_machine_is_named() {
    let error = |machine| Image::parse(pvh().machine(machine).build()).unwrap_err().to_string();
    assert_eq!(
        error(243),
        "The image is for RISC-V, e_machine 243; guests are EM_386, EM_X86_64 or EM_AARCH64"
    );
    assert!(error(243).contains("RISC-V"));
    assert!(error(999).contains("an unknown machine, e_machine 999"));
    // i386 code in a 64-bit container does not exist.
    assert!(error(3).contains("Intel 80386"));
}

#[test]
fn big_endian_elf() {
    let image = patch(pvh().build(), 5, &[2]);
    assert_error(
        patch(image, 18, &[0, 22]),
        "The image is big-endian (for S390, e_machine 22); guests are little-endian",
    );
}

#[test]
fn broken_identification() {
    let text = |field: &str, value: u8| {
        format!("Broken ELF identification: {field} is {value}, which no ELF standard defines")
    };
    assert_error(patch(pvh().build(), 4, &[3]), &text("class", 3));
    assert_error(patch(pvh().build(), 5, &[0]), &text("data encoding", 0));
    assert_error(patch(pvh().build(), 6, &[9]), &text("version", 9));
}

#[test]
fn not_an_executable() {
    let error = |kind| Image::parse(pvh().kind(kind).build()).unwrap_err().to_string();
    assert_eq!(error(1), "The ELF file is a relocatable object file, not an executable");
    assert!(error(4).contains("a core dump"));
    assert!(error(0x1234).contains("of unknown type 0x1234"));
}

#[test]
fn truncated_says_what_is_missing() {
    let image = pvh().build();
    assert_error(
        &image[..10],
        "The image is truncated: the ELF identification is at bytes 0x0..0x14, but the file ends at 0xa",
    );
    assert_error(
        &image[..40],
        "The image is truncated: the ELF header is at bytes 0x0..0x40, but the file ends at 0x28",
    );
    assert_error(
        &image[..100],
        "The image is truncated: the program header table is at bytes 0x40..0xb0, but the file ends at 0x64",
    );
    assert_error(
        &image[..0x100],
        "The image is truncated: the segment of program header 0 is at bytes 0xb0..0x130, but the file ends at 0x100",
    );
    assert_error(
        patch(image.clone(), program_field(1, "p_offset"), &u64::MAX.to_le_bytes()),
        "The image is truncated: the segment of program header 1 is at bytes \
         0xffffffffffffffff..0xffffffffffffffff, but the file ends at 0x1e0",
    );
}

#[test]
fn too_many_program_headers() {
    assert_error(
        patch(pvh().build(), 56, &129u16.to_le_bytes()),
        "The image has 129 program headers; the limit is 128",
    );
    // 0xFFFF means "the count is elsewhere".
    assert!(Image::parse(patch(pvh().build(), 56, &[0xFF; 2])).is_err());
}

#[test]
fn a_wrong_program_header_size() {
    assert_error(
        patch(pvh().build(), 54, &32u16.to_le_bytes()),
        "Broken ELF: program header entries are 32 bytes, but this class has 56",
    );
}

#[test]
fn nothing_to_load() {
    let text = "The image has nothing to load: no PT_LOAD segment with a size";
    assert_error(ElfWriter::elf64().build(), text);
    assert_error(ElfWriter::elf64().segment(PT_LOAD, BASE, vec![], 0).build(), text);
}

#[test]
fn more_in_the_file_than_in_memory() {
    assert_error(
        patch(pvh().build(), program_field(0, "p_memsz"), &0x7Fu64.to_le_bytes()),
        "Program header 0 has 0x80 bytes in the file for 0x7f bytes of memory",
    );
}

#[test]
fn a_segment_that_wraps_around() {
    assert_error(
        patch(pvh().build(), program_field(0, "p_paddr"), &(u64::MAX - 0x7F).to_le_bytes()),
        "Program header 0 wraps around the address space: 0x1080 bytes at 0xffffffffffffff80",
    );
    assert_error(
        patch(pvh().build(), program_field(0, "p_memsz"), &u64::MAX.to_le_bytes()),
        "Program header 0 wraps around the address space: 0xffffffffffffffff bytes at 0x100000",
    );
}

#[test]
fn overlapping_segments() {
    assert_error(
        pvh().segment(PT_LOAD, BASE - 0x10, vec![0; 0x11], 0).build(),
        "Two segments overlap in physical memory: 0xffff0..0x100001 and 0x100000..0x101080",
    );
    let touching = pvh().segment(PT_LOAD, BASE - 0x10, vec![0; 0x10], 0).build();
    assert!(Image::parse(touching).is_ok());
}

#[test]
fn malformed_notes() {
    let with_note = |bytes: Vec<u8>| {
        ElfWriter::elf64().segment(PT_LOAD, BASE, code(), 0).segment(PT_NOTE, 0, bytes, 0).build()
    };
    let at = "Malformed ELF note segment at file offset 0x130";
    assert_error(with_note(vec![0; 11]), &format!("{at}: ELF note is too short"));
    let note = pvh_note(ENTRY.into());
    assert_error(with_note(patch(note.clone(), 0, &[0xFF; 4])), &format!("{at}: Invalid ELF note namesz"));
    assert_error(with_note(patch(note.clone(), 4, &[0xFF; 4])), &format!("{at}: Invalid ELF note descsz"));
    assert_error(
        patch(with_note(note), program_field(1, "p_align"), &64u64.to_le_bytes()),
        &format!("{at}: Invalid ELF note alignment (p_align is 0x40)"),
    );
    assert_error(
        with_note(super::note(b"Xen\0", 18, b"abcdef")),
        &format!("{at}: the PVH entry point has 6 bytes instead of 4 or 8"),
    );
    assert_error(
        with_note(vec![0; (1 << 20) + 1]),
        &format!("{at}: 1048577 bytes is more than the limit of 1048576"),
    );
}

#[test]
fn an_entry_point_outside_of_the_loaded_bytes() {
    let with_entry = |entry| {
        ElfWriter::elf64()
            .segment(PT_LOAD, BASE, code(), 0x1000)
            .segment(PT_NOTE, 0, pvh_note(entry), 0)
            .build()
    };
    let text = |entry: &str| {
        format!("The entry point of PVH, {entry}, lies outside of the code and data that the file loads")
    };
    assert_error(with_entry(BASE - 1), &text("0xfffff"));
    // In bss there are only zeros.
    assert_error(with_entry(BASE + 0x80), &text("0x100080"));
    assert_error(with_entry(u64::MAX), &text("0xffffffffffffffff"));
    assert!(Image::parse(with_entry(BASE + 0x7F)).is_ok());
    assert_error(
        multiboot().entry(0x1000).build(),
        "The entry point of multiboot, 0x1000, lies outside of the code and data that the file loads",
    );
}

#[test]
fn an_entry_point_above_4_gib() {
    let high = 1 << 32;
    assert_error(
        ElfWriter::elf64().segment(PT_LOAD, high, code(), 0).segment(PT_NOTE, 0, pvh_note(high), 0).build(),
        "The entry point of PVH, 0x100000000, is above 4 GiB, where 32-bit code cannot start",
    );
}

#[test]
fn elf_without_a_boot_protocol() {
    let text = "The ELF file has no boot protocol: neither a PVH note (Xen, type 18) nor a multiboot 1 header \
                in its first 8 KiB";
    let plain = || ElfWriter::elf64().segment(PT_LOAD, BASE, code(), 0);
    assert_error(plain().build(), text);
    assert_error(
        plain().segment(PT_INTERP, 0, b"/lib64/ld.so\0".into(), 0).build(),
        &format!("{text}; it is a program for an operating system"),
    );
}

#[test]
fn a_multiboot_header_counts_at_every_fourth_byte_of_the_first_8_kib() {
    let base = BASE as u32;
    let header_at = |offset: usize| {
        let mut image = vec![0; offset];
        image.extend(multiboot_header(1 << 16, &[base + offset as u32, base, 0, 0, base]));
        Image::parse(image).map(|_| ()).map_err(|error| error.to_string())
    };
    let unknown = "Not an ELF image: it has neither the ELF magic number nor a multiboot header";
    assert_eq!(header_at(4), Ok(()));
    assert_eq!(header_at(2), Err(unknown.into()));
    assert_eq!(header_at(8192 - 32), Ok(()));
    assert_eq!(
        header_at(8192 - 28),
        Err("The multiboot header at offset 0x1fe4 does not end within the first 8 KiB of the file".into())
    );
    assert_eq!(header_at(8192), Err(unknown.into()));
}

#[test]
fn multiboot_2_only() {
    let mut code = code();
    code[..4].copy_from_slice(&0xE852_50D6u32.to_le_bytes());
    assert_error(
        ElfWriter::elf64().segment(PT_LOAD, BASE, code, 0).build(),
        "The image offers multiboot 2 only, which is not supported",
    );
}

#[test]
fn multiboot_header_with_a_wrong_checksum() {
    let image = ElfWriter::elf32().entry(BASE).segment(PT_LOAD, BASE, multiboot_code(0), 0).build();
    let header = image.windows(4).position(|w| w == 0x1BAD_B002u32.to_le_bytes()).unwrap();
    assert_error(
        patch(image, header + 8, &[0; 4]),
        &format!(
            "The multiboot header at offset {header:#x} has checksum 0x00000000; \
             magic, flags and checksum must add up to 0"
        ),
    );
}

#[test]
fn multiboot_header_that_is_cut() {
    let text = "The multiboot header at offset 0x0 does not end within the first 8 KiB of the file";
    assert_error(&multiboot_header(0, &[])[..8], text);
    assert_error(multiboot_header(1 << 16, &[0; 4]), text);
}

#[test]
fn multiboot_demands_that_we_do_not_know() {
    assert_error(
        ElfWriter::elf32().entry(BASE).segment(PT_LOAD, BASE, multiboot_code(7), 0).build(),
        "The multiboot header asks for unsupported features: flags 0x4 (bit 2 is a video mode)",
    );
}

#[test]
fn multiboot_without_elf_and_without_addresses() {
    assert_error(
        multiboot_header(0, &[]),
        "The multiboot image is neither ELF nor does its header give load addresses (flag bit 16)",
    );
}

#[test]
fn multiboot_addresses_that_contradict_each_other() {
    let error = |addresses: &[u32; 5]| {
        let mut image = multiboot_header(1 << 16, addresses);
        image.resize(0x80, 0);
        Image::parse(image).unwrap_err().to_string()
    };
    let base = BASE as u32;
    let prefix = "The multiboot header's address fields contradict each other:";
    assert_eq!(
        error(&[base, base + 1, 0, 0, base]),
        format!("{prefix} load_addr 0x100001 is above header_addr 0x100000")
    );
    assert_eq!(
        error(&[base, base - 4, 0, 0, base]),
        format!("{prefix} 0x4 bytes before the header are to be loaded, but it is at file offset 0x0")
    );
    assert_eq!(
        error(&[base, base, base - 1, 0, base]),
        format!("{prefix} load_end_addr 0xfffff is below load_addr 0x100000")
    );
    assert_eq!(
        error(&[base, base, 0, base + 0x7F, base]),
        format!("{prefix} bss_end_addr 0x10007f is below the end of the data 0x100080")
    );
    assert_eq!(
        error(&[base, base, base + 0x81, 0, base]),
        "The image is truncated: what the multiboot header loads is at bytes 0x0..0x81, but the file ends at 0x80"
    );
    assert_eq!(
        error(&[base, base, base, 0, base]),
        "The image has nothing to load: no PT_LOAD segment with a size"
    );
    assert_eq!(
        error(&[base, base, 0, 0, base + 0x80]),
        "The entry point of multiboot, 0x100080, lies outside of the code and data that the file loads"
    );
}
