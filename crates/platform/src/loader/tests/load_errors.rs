//! Images and parameters that do not fit a guest, and what the user reads then.

use super::elf_writer::{patch, program_field};
use super::*;

/// The error, after making sure that nothing was written.
#[track_caller]
fn refusal(image: Vec<u8>, size_mib: u64, params: &BootParams) -> String {
    let memory = memory(size_mib);
    let error = load(&Image::parse(image).unwrap(), &memory, params).unwrap_err();
    assert!(bytes_at(&memory, 0, 4 << 20).iter().all(|&byte| byte == 0), "written in spite of {error}");
    error.to_string()
}

#[test]
fn an_image_that_needs_more_memory_says_how_much() {
    // The layout of kvm-unit-tests images: 16.2 MiB with their stacks.
    let image = pvh().segment(PT_LOAD, 0x40_0000, vec![1], 0x103_8000 - 0x40_0001).build();
    assert_eq!(
        refusal(image.clone(), 16, &BootParams::default()),
        "The image needs guest memory at 0x400000..0x1038000; it needs at least 17 MiB, the guest has 16 MiB"
    );
    booted(image, &memory(17), &BootParams::default());
}

#[test]
fn an_image_above_4_gib_counts_the_hole() {
    let image = pvh().segment(PT_LOAD, 4 << 30, vec![1], 0).build();
    assert_eq!(
        refusal(image, 4, &BootParams::default()),
        "The image needs guest memory at 0x100000000..0x100000001; it needs at least 3073 MiB, the guest has 4 MiB"
    );
}

#[test]
fn an_image_where_no_guest_has_ram() {
    for (start, range) in [(0xFEE0_0000, "0xfee00000..0xfee00001"), (1 << 40, "0x10000000000..0x10000000001")]
    {
        let image = pvh().segment(PT_LOAD, start, vec![1], 0).build();
        assert_eq!(
            refusal(image, 4, &BootParams::default()),
            format!(
                "The image wants to be at {range}, where no guest has RAM \
                 (devices are at 3 GiB..4 GiB, RAM ends at 65 GiB)"
            )
        );
    }
}

#[test]
fn a_huge_bss_is_refused_at_once() {
    let huge = patch(pvh().build(), program_field(0, "p_memsz"), &(1u64 << 62).to_le_bytes());
    assert!(refusal(huge, 4, &BootParams::default()).contains("where no guest has RAM"));
}

#[test]
fn a_protocol_that_the_image_does_not_offer() {
    let asked = |protocol| BootParams { protocol: Some(protocol), ..BootParams::default() };
    assert_eq!(
        refusal(pvh().build(), 4, &asked(Protocol::Multiboot)),
        "The image cannot be booted with multiboot; it offers PVH"
    );
    assert_eq!(
        refusal(multiboot().build(), 4, &asked(Protocol::Pvh)),
        "The image cannot be booted with PVH; it offers multiboot"
    );
}

#[test]
fn a_command_line_has_a_bound_that_counts_what_the_guest_gets() {
    let params = |len| BootParams { cmdline: "x".repeat(len), ..BootParams::default() };
    assert_eq!(
        refusal(pvh().build(), 4, &params(2048)),
        "The command line has 2048 bytes; the limit is 2047"
    );
    booted(pvh().build(), &memory(4), &params(2047));
    // "image" and a space come first.
    assert_eq!(
        refusal(multiboot().build(), 4, &params(2042)),
        "The command line has 2048 bytes; the limit is 2047"
    );
    booted(multiboot().build(), &memory(4), &params(2041));
}

#[test]
fn strings_with_nul() {
    let cmdline = BootParams { cmdline: "a\0b".into(), ..BootParams::default() };
    assert_eq!(refusal(pvh().build(), 4, &cmdline), "The command line contains a NUL byte at position 1");
    let module = Module { cmdline: "\0".into(), data: vec![] };
    let params = BootParams { modules: vec![module], ..BootParams::default() };
    assert_eq!(
        refusal(pvh().build(), 4, &params),
        "The module's command line contains a NUL byte at position 0"
    );
}

#[test]
fn too_many_modules() {
    let params = |count| BootParams { modules: vec![Module::default(); count], ..BootParams::default() };
    assert_eq!(refusal(pvh().build(), 4, &params(33)), "33 modules were given; the limit is 32");
    booted(pvh().build(), &memory(4), &params(32));
}

#[test]
fn a_module_that_does_not_fit() {
    let module = Module { cmdline: String::new(), data: vec![0; 3 << 20] };
    let params = BootParams { modules: vec![module], ..BootParams::default() };
    assert_eq!(
        refusal(pvh().build(), 4, &params),
        "Module 0 (3145728 bytes) does not fit into the guest's 4 MiB of memory beside the image"
    );
    booted(pvh().build(), &memory(5), &params);
}

#[test]
fn an_image_that_leaves_no_room_for_boot_information() {
    let all = ElfWriter::elf64()
        .segment(PT_LOAD, 0, code(), (4 << 20) - 0x80)
        .segment(PT_NOTE, 0, pvh_note(0), 0)
        .build();
    let error = refusal(all.clone(), 4, &BootParams::default());
    assert_eq!(
        error,
        "The image covers so much memory that 129 bytes of boot information do not fit beside it"
    );
    booted(all, &memory(5), &BootParams::default());
}

#[test]
fn linux_takes_one_initrd() {
    let params = BootParams { modules: vec![Module::default(); 2], ..BootParams::default() };
    let image = Image::parse(bzimage(0x020F, 1, 0x100)).unwrap();
    assert_eq!(
        load(&image, &memory(64), &params).unwrap_err().to_string(),
        "Linux takes one initrd, 2 modules were given"
    );
}
