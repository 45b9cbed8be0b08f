//! Images for AArch64.

use super::*;
use crate::arm::memory::LAYOUT;
use crate::loader::arm as aarch64;
use flate2::Compression;
use flate2::write::GzEncoder;
use guest_protocol::mmio;
use proptest::prelude::*;
use std::io::Write as _;

const EM_AARCH64: u16 = 183;
const RAM: u64 = mmio::RAM;
const KERNEL: u64 = RAM + (2 << 20);

fn memory(size_mib: u64) -> GuestMemory {
    GuestMemory::with_available(MemoryConfig { size_mib }, &LAYOUT, None).unwrap()
}

/// A kernel of this size in memory, with a page of code.
fn kernel(text_offset: u64, image_size: u64, flags: u64) -> Vec<u8> {
    let mut image = vec![7; 4096];
    for (at, field) in [(8, text_offset), (16, image_size), (24, flags)] {
        image[at..at + 8].copy_from_slice(&field.to_le_bytes());
    }
    image[56..60].copy_from_slice(b"ARM\x64");
    image
}

fn elf(address: u64) -> Vec<u8> {
    ElfWriter::elf64()
        .machine(EM_AARCH64)
        .entry(address + 0x40)
        .segment(PT_LOAD, address, code(), 0x1000)
        .build()
}

fn boot(image: Vec<u8>, memory: &GuestMemory, params: &BootParams) -> Result<aarch64::BootState, LoadError> {
    aarch64::load(&Image::parse(image).unwrap(), memory, params)
}

fn with_initrd(bytes: usize) -> BootParams {
    let initrd = Module { cmdline: String::new(), data: vec![0x5A; bytes] };
    BootParams { cmdline: "console=ttyAMA0".into(), modules: vec![initrd], ..BootParams::default() }
}

/// Words of a property in a flattened devicetree, found by its name: the names here are used once.
fn property(tree: &[u8], name: &str) -> Vec<u8> {
    let word = |at: usize| u32::from_be_bytes(tree[at..at + 4].try_into().unwrap()) as usize;
    let (structure, strings) = (word(8), word(12));
    let text = |at: usize| tree[at..].split(|byte| *byte == 0).next().unwrap();
    let mut at = structure;
    loop {
        match word(at) {
            // FDT_BEGIN_NODE with its name, FDT_END_NODE, FDT_PROP.
            1 => at += 4 + (text(at + 4).len() + 1).next_multiple_of(4),
            2 => at += 4,
            3 if text(strings + word(at + 8)) == name.as_bytes() => {
                return tree[at + 12..at + 12 + word(at + 4)].to_vec();
            }
            3 => at += 12 + word(at + 4).next_multiple_of(4),
            other => panic!("no property {name}: token {other}"),
        }
    }
}

#[test]
fn a_kernel_lies_two_mebibytes_into_ram_and_its_devicetree_at_the_start() {
    let memory = memory(64);
    let state = boot(kernel(0x1000, 0x20_0000, 0b1010), &memory, &with_initrd(5000)).unwrap();
    assert_eq!((state.pc, state.devicetree), (KERNEL + 0x1000, RAM));
    let tree = bytes_at(&memory, RAM, 0x1000);
    assert_eq!(tree[..4], [0xD0, 0x0D, 0xFE, 0xED]);
    assert_eq!(property(&tree, "bootargs"), b"console=ttyAMA0\0");
    let address = |name| u64::from_be_bytes(property(&tree, name).try_into().unwrap());
    let (start, end) = (address("linux,initrd-start"), address("linux,initrd-end"));
    assert_eq!((start % 4096, end - start), (0, 5000));
    assert_eq!(bytes_at(&memory, start, 5001), [vec![0x5A; 5000], vec![0]].concat());
    assert_eq!(bytes_at(&memory, KERNEL + 0x1000 + 64, 1), [7]);
    let image = Image::parse(kernel(0, 4096, 0)).unwrap();
    assert_eq!(
        (image.architecture(), image.is_linux(), image.is_elf()),
        (Architecture::Aarch64, true, false)
    );
}

#[test]
fn an_elf_file_starts_at_its_entry_point_with_its_bss_cleared() {
    let memory = memory(16);
    memory.write(KERNEL + 0x80, &[0xEE; 64]).unwrap();
    let state = boot(elf(KERNEL), &memory, &BootParams::default()).unwrap();
    assert_eq!((state.pc, state.devicetree), (KERNEL + 0x40, RAM));
    assert_eq!(bytes_at(&memory, KERNEL + 0x7F, 3), [2, 0, 0]);
    let image = Image::parse(elf(KERNEL)).unwrap();
    assert_eq!((image.architecture(), image.is_linux()), (Architecture::Aarch64, false));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An EFI zboot file with this payload, which is said to be compressed so.
fn zboot(payload: &[u8], compression: &str) -> Vec<u8> {
    let mut file = b"MZ\0\0zimg".to_vec();
    file.extend(512_u32.to_le_bytes());
    file.extend((payload.len() as u32).to_le_bytes());
    file.resize(24, 0);
    file.extend(compression.bytes());
    file.resize(512, 0);
    file.extend(payload);
    file
}

#[test]
fn compressed_kernels_are_unpacked() {
    let plain = kernel(0, 0x10_0000, 2);
    for packed in [gzip(&plain), zboot(&gzip(&plain), "gzip")] {
        let image = Image::parse(packed).unwrap();
        assert!(image.is_linux());
        assert_eq!(image.bytes(), plain);
        assert_eq!(image.architecture(), Architecture::Aarch64);
    }
}

#[test]
fn compressed_files_that_are_no_kernels_are_refused() {
    let reason = |bytes: &[u8]| Image::parse(bytes).unwrap_err().to_string();
    let packed = gzip(&kernel(0, 0x10_0000, 2));
    let ends = |text: String, end: &str| assert!(text.ends_with(end), "{text}");
    ends(reason(&gzip(b"hello")), "it is gzip-compressed");
    ends(reason(&packed[..20]), "it is gzip-compressed");
    assert!(reason(&packed[..packed.len() - 9]).contains("it cannot be unpacked"));
    ends(reason(&zboot(&packed, "zstd")), "compressed by \"zstd\", and only gzip can be unpacked");
    ends(reason(&zboot(b"hello", "gzip")), "is no arm64 kernel");
    let mut cut = zboot(&packed, "gzip");
    cut.pop();
    ends(reason(&cut), "is cut off");
    cut[8..16].fill(0xFF);
    ends(reason(&cut), "is cut off");
    ends(reason(&cut[..10]), "only gzip can be unpacked");
}

#[test]
fn an_image_for_other_cpus_is_refused() {
    let error = boot(pvh().build(), &memory(16), &BootParams::default()).unwrap_err().to_string();
    assert_eq!(error, "The image is for x86, and the CPU of the profile is AArch64");
    let image = Image::parse(elf(KERNEL)).unwrap();
    let error = load(&image, &super::memory(16), &BootParams::default()).unwrap_err().to_string();
    assert_eq!(error, "The image is for AArch64, and the CPU of the profile is x86");
}

#[test]
fn kernels_that_the_machine_cannot_run_are_refused_with_the_reason() {
    let cases = [
        (kernel(0, 0, 0), "it says no size"),
        (kernel(0, 4096, 1), "it is big-endian"),
        (kernel(0, 4096, 0b110), "pages of 64 KiB"),
        (kernel(0, 4096, 0b100), "pages of 16 KiB"),
        (kernel(u64::MAX - 100, 4096, 0), "out of range"),
        (kernel(0, u64::MAX, 0), "out of range"),
    ];
    for (image, reason) in cases {
        let error = Image::parse(image).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let no_room = |image, params: &BootParams| boot(image, &memory(16), params).unwrap_err().to_string();
    assert!(no_room(kernel(0, 32 << 20, 0), &BootParams::default()).contains("at least 34 MiB"));
    assert!(no_room(elf(0x10_0000), &BootParams::default()).contains("no guest has RAM"));
    assert!(no_room(elf(KERNEL), &with_initrd(16 << 20)).contains("Module 0"));
    let two = BootParams { modules: vec![Module::default(); 2], ..BootParams::default() };
    assert!(no_room(elf(KERNEL), &two).contains("one initrd"));
    let nul = BootParams { cmdline: "a\0b".into(), ..BootParams::default() };
    assert!(no_room(elf(KERNEL), &nul).contains("NUL byte at position 1"));
    let pvh = BootParams { protocol: Some(Protocol::Pvh), ..BootParams::default() };
    assert!(no_room(elf(KERNEL), &pvh).contains("cannot be booted with PVH"));
}

proptest! {
    /// Any header gives an error or an image whose parts lie in RAM.
    #[test]
    fn hostile_headers_do_no_harm(header in prop::collection::vec(any::<u8>(), 8..56), cut in 0..5000_usize) {
        let mut image = kernel(0, 0, 0);
        image[..header.len()].copy_from_slice(&header);
        image.truncate(cut);
        if let Ok(image) = Image::parse(image) {
            let memory = memory(16);
            if let Ok(state) = aarch64::load(&image, &memory, &BootParams::default()) {
                for range in state.loaded {
                    prop_assert!(memory.contains(range.start, range.end));
                }
            }
        }
    }
}
