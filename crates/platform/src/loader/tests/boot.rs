//! What a guest finds when it starts.

use super::*;

const MIB: u64 = 1 << 20;

/// Joins parts of expected boot information.
fn expected(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn words32(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words64(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn pvh_starts_at_the_note_in_flat_32_bit_mode() {
    let memory = memory(16);
    let state = booted(pvh().build(), &memory, &BootParams::default());
    assert_eq!((state.protocol, state.eip, state.eax, state.ebx), (Protocol::Pvh, ENTRY, 0, 0x9000));
    assert_eq!((state.cr0, state.cr4, state.eflags), (0x11, 0, 2));
    let code = SegmentState {
        selector: 8,
        base: 0,
        limit: 0xFFFF_FFFF,
        kind: 0xB,
        code_or_data: true,
        default_32: true,
        long: false,
        granular: true,
    };
    assert_eq!(state.code, code);
    assert_eq!(state.data, SegmentState { selector: 0x10, kind: 3, ..code });
    assert_eq!((state.task.base, state.task.limit, state.task.kind), (0, 0x67, 0xB));
}

#[test]
fn pvh_start_info_matches_the_xen_layout_byte_by_byte() {
    let memory = memory(16);
    let params = BootParams {
        cmdline: "console=ttyS0".into(),
        modules: vec![Module { cmdline: "rd".into(), data: b"abc".into() }],
        protocol: None,
    };
    let state = booted(pvh().build(), &memory, &params);

    let info = expected(&[
        // magic, version, flags, nr_modules
        &words32(&[0x336E_C578, 1, 0, 1]),
        // modlist, cmdline, rsdp, memmap
        &words64(&[0x9088, 0x90A8, 0xE_0000, 0x9038]),
        // memmap_entries, reserved
        &words32(&[3, 0]),
        // 0x9038: addr, size, type and reserved of each entry
        &words64(&[0, 0x9_FC00, 1]),
        &words64(&[0x9_FC00, 0x6_0400, 2]),
        &words64(&[0x10_0000, 0xF0_0000, 1]),
        // 0x9080: string of the module, padding to 8
        b"rd\0\0\0\0\0\0",
        // 0x9088: paddr, size, cmdline, reserved of the module
        &words64(&[16 * MIB - 4096, 3, 0x9080, 0]),
        // 0x90A8
        b"console=ttyS0\0",
    ]);
    assert_eq!(state.ebx, 0x9000);
    assert_eq!(bytes_at(&memory, 0x9000, info.len()), info);
    assert_eq!(bytes_at(&memory, 16 * MIB - 4096, 3), b"abc");
}

#[test]
fn multiboot_info_matches_the_specification_byte_by_byte() {
    let memory = memory(16);
    let params = BootParams {
        cmdline: "arg1".into(),
        modules: vec![Module { cmdline: "env".into(), data: b"NR_CPUS=1\n".into() }],
        protocol: None,
    };
    let image = Image::parse(multiboot().build()).unwrap().with_name("pmu.flat");
    let state = load(&image, &memory, &params).unwrap();
    assert_eq!((state.protocol, state.eip), (Protocol::Multiboot, ENTRY));
    assert_eq!((state.eax, state.ebx), (0x2BAD_B002, 0x9000));

    let module = 16 * 1024 * 1024 - 4096;
    let info = expected(&[
        // flags: memory, cmdline, modules, memory map, loader name
        &words32(&[0x24D]),
        // mem_lower, mem_upper: KiB from 0, KiB from 1 MiB
        &words32(&[639, 15 * 1024]),
        // boot_device, cmdline, mods_count, mods_addr
        &words32(&[0, 0x90D0, 1, 0x90C0]),
        // symbols
        &words32(&[0; 4]),
        // 44: mmap_length, mmap_addr
        &words32(&[72, 0x9074]),
        // drives, config table
        &words32(&[0; 3]),
        // 64: boot_loader_name
        &words32(&[0x90DE]),
        // APM, VBE, framebuffer
        &words32(&[0; 12]),
        // 0x9074: size, base, length, type of each entry
        &words32(&[20, 0, 0, 0x9_FC00, 0, 1]),
        &words32(&[20, 0x9_FC00, 0, 0x6_0400, 0, 2]),
        &words32(&[20, 0x10_0000, 0, 0xF0_0000, 0, 1]),
        // 0x90BC: string of the module
        b"env\0",
        // 0x90C0: start, end, string, reserved
        &words32(&[module, module + 10, 0x90BC, 0]),
        // 0x90D0, 0x90DE
        b"pmu.flat arg1\0",
        b"vpmu\0",
    ]);
    assert_eq!(bytes_at(&memory, 0x9000, info.len()), info);
    assert_eq!(bytes_at(&memory, module.into(), 10), b"NR_CPUS=1\n");
}

#[test]
fn ram_above_4_gib_is_in_the_map_but_not_in_mem_upper() {
    let memory = memory(4096);
    booted(multiboot().build(), &memory, &BootParams::default());
    assert_eq!(bytes_at(&memory, 0x9008, 4), words32(&[2 * 1024 * 1024 + 1023 * 1024]));
    assert_eq!(bytes_at(&memory, 0x9074 + 3 * 24, 24), words32(&[20, 0, 1, 0x4000_0000, 0, 1]));
}

#[test]
fn segments_and_bss_are_placed_by_physical_address() {
    let memory = memory(16);
    // Dirty memory: bss must be cleared whatever was there, and nothing else must be.
    memory.write(BASE, &[0xAA; 0x2000]).unwrap();
    let high = 0xFFFF_FFFF_8010_0000;
    let image = ElfWriter::elf64()
        .entry(high)
        .segment_at(PT_LOAD, high, BASE, code(), 0x1000)
        .segment(PT_NOTE, 0, pvh_note(ENTRY.into()), 0)
        .build();
    let state = booted(image, &memory, &BootParams::default());
    assert_eq!(state.eip, ENTRY);
    assert_eq!(bytes_at(&memory, BASE, 0x80), code());
    assert_eq!(bytes_at(&memory, BASE + 0x80, 0x1000), [0; 0x1000]);
    assert_eq!(bytes_at(&memory, BASE + 0x1080, 1), [0xAA]);
    let image = LoadedRange { content: Content::Image, start: BASE, end: BASE + 0x1080 };
    assert_eq!(state.loaded[0], image);
}

#[test]
fn a_multiboot_entry_that_is_virtual_is_translated() {
    let image = ElfWriter::elf32()
        .entry(0xC000_0000 + u64::from(ENTRY))
        .segment_at(PT_LOAD, 0xC000_0000 + BASE, BASE, multiboot_code(0), 0)
        .build();
    assert_eq!(booted(image, &memory(4), &BootParams::default()).eip, ENTRY);
}

#[test]
fn multiboot_works_in_elf64_and_with_the_flags_that_we_always_fulfil() {
    let image = ElfWriter::elf64().entry(ENTRY.into()).segment(PT_LOAD, BASE, multiboot_code(3), 0).build();
    assert_eq!(booted(image, &memory(4), &BootParams::default()).eip, ENTRY);
}

#[test]
fn pvh_works_in_elf32_and_with_a_4_byte_entry() {
    let image = ElfWriter::elf32()
        .segment(PT_LOAD, BASE, code(), 0)
        .segment(PT_NOTE, 0, note(b"Xen\0", 18, &ENTRY.to_le_bytes()), 0)
        .build();
    assert_eq!(booted(image, &memory(4), &BootParams::default()).eip, ENTRY);
}

#[test]
fn the_pvh_note_is_found_among_others() {
    let notes = [
        note(b"GNU\0", 18, b"not this one"),
        note(b"Xen\0", 6, b"linux\0"),
        note(b"Xen\0", 18, &u64::from(ENTRY).to_le_bytes()),
    ]
    .concat();
    let image = ElfWriter::elf64()
        .segment(PT_NOTE, 0, note(b"Linux\0", 0, b""), 0)
        .segment(PT_NOTE, 0, notes, 0)
        .segment(PT_LOAD, BASE, code(), 0)
        .build();
    assert_eq!(booted(image, &memory(4), &BootParams::default()).eip, ENTRY);
}

#[test]
fn an_image_with_both_protocols_prefers_pvh_unless_asked() {
    let image = ElfWriter::elf64()
        .entry(ENTRY.into())
        .segment(PT_LOAD, BASE, multiboot_code(0), 0)
        .segment(PT_NOTE, 0, pvh_note(u64::from(ENTRY) + 4), 0)
        .build();
    let image = Image::parse(image).unwrap();
    assert_eq!(image.protocols().collect::<Vec<_>>(), [Protocol::Pvh, Protocol::Multiboot]);
    let memory = memory(4);
    let eip =
        |protocol| load(&image, &memory, &BootParams { protocol, ..BootParams::default() }).unwrap().eip;
    assert_eq!(eip(None), ENTRY + 4);
    assert_eq!(eip(Some(Protocol::Pvh)), ENTRY + 4);
    assert_eq!(eip(Some(Protocol::Multiboot)), ENTRY);
}

#[test]
fn a_broken_note_does_not_hide_a_good_multiboot_header() {
    let image = multiboot().segment(PT_NOTE, 0, vec![0xFF; 16], 0).build();
    assert_eq!(booted(image, &memory(4), &BootParams::default()).protocol, Protocol::Multiboot);
}

#[test]
fn a_file_without_elf_is_loaded_by_its_address_fields() {
    let base = BASE as u32;
    let memory = memory(4);
    memory.write(BASE, &[0xAA; 0x200]).unwrap();
    let image = multiboot_raw(base + 0x60, base + 0x100);
    let state = booted(image.clone(), &memory, &BootParams::default());
    assert_eq!((state.protocol, state.eip), (Protocol::Multiboot, ENTRY));
    assert_eq!(bytes_at(&memory, BASE, 0x60), image[..0x60]);
    assert_eq!(bytes_at(&memory, BASE + 0x60, 0xA0), [0; 0xA0]);
    assert_eq!(bytes_at(&memory, BASE + 0x100, 1), [0xAA]);
}

#[test]
fn zero_address_fields_mean_the_whole_file_and_no_bss() {
    let memory = memory(4);
    let image = multiboot_raw(0, 0);
    let state = booted(image.clone(), &memory, &BootParams::default());
    assert_eq!(bytes_at(&memory, BASE, image.len()), image);
    assert_eq!(state.loaded[0].end, BASE + image.len() as u64);
}

#[test]
fn a_header_with_a_wrong_checksum_does_not_hide_a_later_one() {
    let mut code = multiboot_code(0);
    code.copy_within(0..12, 0x20);
    code[8] ^= 1;
    let image = ElfWriter::elf32().entry(ENTRY.into()).segment(PT_LOAD, BASE, code, 0).build();
    assert_eq!(booted(image, &memory(4), &BootParams::default()).eip, ENTRY);
}

#[test]
fn without_a_command_line_multiboot_guests_get_the_name_and_pvh_guests_nothing() {
    let memory = memory(4);
    let image = Image::parse(multiboot().build()).unwrap().with_name("my test.flat");
    let state = load(&image, &memory, &BootParams::default()).unwrap();
    let cmdline = u32::from_le_bytes(bytes_at(&memory, u64::from(state.ebx) + 16, 4).try_into().unwrap());
    assert_eq!(bytes_at(&memory, cmdline.into(), 13), b"my_test.flat\0");

    let state = booted(pvh().build(), &memory, &BootParams::default());
    let cmdline = u64::from_le_bytes(bytes_at(&memory, u64::from(state.ebx) + 24, 8).try_into().unwrap());
    assert_eq!(bytes_at(&memory, cmdline, 1), b"\0");
}

#[test]
fn modules_are_page_aligned_in_ascending_order_beside_the_image() {
    let memory = memory(4);
    // The image covers the top page of RAM.
    let top = 4 * MIB - 4096;
    let image = pvh().segment(PT_LOAD, top, vec![3; 16], 4096 - 16).build();
    let module = |len: usize, byte| Module { cmdline: String::new(), data: vec![byte; len] };
    let params = BootParams { modules: vec![module(4097, 7), module(1, 8)], ..BootParams::default() };
    let state = booted(image, &memory, &params);
    let start = |wanted| state.loaded.iter().find(|l| l.content == wanted).unwrap().start;
    assert_eq!(start(Content::Module(1)), top - 4096);
    assert_eq!(start(Content::Module(0)), top - 3 * 4096);
    assert_eq!(bytes_at(&memory, top - 3 * 4096, 4097), [7; 4097]);
    assert_eq!(bytes_at(&memory, top, 16), [3; 16]);
}

#[test]
fn modules_of_large_guests_stay_below_2_gib() {
    let module = Module { cmdline: String::new(), data: vec![1; 5] };
    let params = BootParams { modules: vec![module], ..BootParams::default() };
    let state = booted(pvh().build(), &memory(4096), &params);
    let module = LoadedRange { content: Content::Module(0), start: 0x7FFF_F000, end: 0x7FFF_F005 };
    assert!(state.loaded.contains(&module), "{:x?}", state.loaded);
}

#[test]
fn boot_information_moves_out_of_the_image_s_way() {
    let info_at = |start: u64, size: u64| {
        let image = pvh().segment(PT_LOAD, start, vec![], size).build();
        let state = booted(image, &memory(4), &BootParams::default());
        state.ebx
    };
    assert_eq!(info_at(0x7000, 0x3010), 0xB000, "behind an image that covers 0x9000");
    assert_eq!(info_at(0x9000, 0x9_0000 + 0x7000), 0x1000, "below an image that fills the first choice");
    assert_eq!(info_at(0, 0xA_0000), 0x3F_F000, "at the top of RAM if low memory is full");
}

#[test]
fn an_image_from_a_file_is_named_after_it() {
    let file = vmm_sys_util::tempfile::TempFile::new().unwrap();
    std::fs::write(file.as_path(), pvh().build()).unwrap();
    let image = Image::open(file.as_path()).unwrap();
    assert_eq!(image.name(), file.as_path().file_name().unwrap().to_str().unwrap());
    assert_eq!(image.bytes(), pvh().build());
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn a_bzimage_starts_in_long_mode_at_its_64_bit_entry() {
    let memory = memory(64);
    let params = BootParams {
        cmdline: "console=ttyS0".into(),
        modules: vec![Module { cmdline: String::new(), data: b"abc".into() }],
        protocol: None,
    };
    let state = booted(bzimage(0x020F, 1, 0x100), &memory, &params);
    assert_eq!((state.protocol, state.eip, state.ebx, state.esi), (Protocol::Linux, 0x100_0200, 0, 0x9000));
    assert_eq!(bytes_at(&memory, 0x100_01FE, 4), [1, 1, 2, 2]);
    // PG, ET, PE; PAE; LMA, LME; interrupts off.
    assert_eq!((state.cr0, state.cr4, state.efer, state.eflags), (0x8000_0011, 0x20, 0x500, 2));
    assert_eq!((state.code.selector, state.code.long, state.code.default_32), (0x10, true, false));
    assert_eq!(state.data.selector, 0x18);
    let gdt = bytes_at(&memory, state.gdt.0, 32);
    assert_eq!(
        (state.gdt.1, u64_at(&gdt, 16), u64_at(&gdt, 24)),
        (31, 0xAF_9B00_0000_FFFF, 0xCF_9300_0000_FFFF)
    );

    let params = bytes_at(&memory, 0x9000, 4096);
    assert_eq!(u64_at(&params, 0x70), 0xE_0000, "RSDP");
    let table: Vec<u64> =
        (0..3).flat_map(|n| [u64_at(&params, 0x2D0 + 20 * n), u64_at(&params, 0x2D8 + 20 * n)]).collect();
    assert_eq!((params[0x1E8], table), (3, vec![0, 0x9_FC00, 0x9_FC00, 0x6_0400, MIB, 63 * MIB]));
    assert_eq!(u32_at(&params, 0x2D0 + 16), 1);
    assert_eq!((params[0x1EF], &params[0x202..0x206], params[0x210]), (0, b"HdrS".as_slice(), 0xFF));
    let initrd = u32_at(&params, 0x218);
    assert_eq!((bytes_at(&memory, initrd.into(), 3), u32_at(&params, 0x21C)), (b"abc".to_vec(), 3));
    assert_eq!(initrd % 4096, 0);
    let cmdline = bytes_at(&memory, u32_at(&params, 0x228).into(), 14);
    assert_eq!(cmdline, b"console=ttyS0\0");
}

#[test]
fn the_page_tables_map_4_gib_one_to_one() {
    let memory = memory(64);
    let state = booted(bzimage(0x020F, 1, 0x100), &memory, &BootParams::default());
    let entry = |table: u64, index: u64| u64_at(&bytes_at(&memory, (table & !0xFFF) + 8 * index, 8), 0);
    for address in [0, 0x9000, 0x100_0200, 0xFEE0_0000, 0xFFFF_FFFF_u64] {
        let second = entry(entry(state.cr3, address >> 39), address >> 30);
        let last = entry(second, address >> 21 & 511);
        assert_eq!((last & !0x1F_FFFF, last & 0x83), (address & !0x1F_FFFF, 0x83), "{address:#x}");
    }
    assert_eq!(entry(entry(state.cr3, 0), 4), 0);
}

#[test]
fn a_vmlinux_offers_the_linux_protocol_after_pvh() {
    let vmlinux = || {
        ElfWriter::elf64().entry(ENTRY.into()).segment(PT_LOAD, BASE, code(), 0x1000).segment(
            PT_NOTE,
            0,
            [note(b"Linux\0", 0x100, b"6.1\0"), pvh_note(ENTRY.into())].concat(),
            0,
        )
    };
    let image = Image::parse(vmlinux().build()).unwrap();
    assert_eq!(image.protocols().collect::<Vec<_>>(), [Protocol::Pvh, Protocol::Linux]);
    let params = BootParams { protocol: Some(Protocol::Linux), ..BootParams::default() };
    let state = booted(vmlinux().build(), &memory(16), &params);
    assert_eq!((state.eip, state.esi, state.code.long), (ENTRY, 0x9000, true));
}
