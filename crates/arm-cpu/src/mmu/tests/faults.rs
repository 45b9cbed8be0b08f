//! A table for each fault, and what is allowed at EL0 and EL1.

use super::{Memory, Registers};
use crate::mmu::{Intent, Request, Status, Translation, translate};

/// Tables of addresses with 39 bits: 0x1000, 0x3000 and 0x4000 are levels 1, 2 and 3.
const PAGE_VA: u64 = 0x40_3000;
const BLOCK_2M: u64 = 0x60_0000;
const BLOCK_1G: u64 = 0x4000_0000;

const AF: u64 = 1 << 10;
const EL0: u64 = 1 << 6;
const READ_ONLY: u64 = 1 << 7;
const PXN: u64 = 1 << 53;
const UXN: u64 = 1 << 54;

const READ: Request = Request { intent: Intent::Read, el0: false, aligned: true };

fn tables() -> Memory {
    let mut memory = Memory::default();
    memory.set_word(0x1000, 0x3003);
    memory.set_word(0x1008, 0x8000_0001 | AF);
    memory.set_word(0x3000 + 2 * 8, 0x4003);
    memory.set_word(0x3000 + 3 * 8, 0x80_0001 | AF);
    memory.set_word(0x4000 + 3 * 8, 0x9_9003 | AF);
    memory.set_word(0x2000, 0);
    memory
}

fn code(memory: &mut Memory, registers: &Registers, va: u64, request: Request) -> Option<u32> {
    translate(&registers.regime(), memory, va, request).err().map(Status::code)
}

fn found(memory: &mut Memory, registers: &Registers, va: u64) -> Translation {
    translate(&registers.regime(), memory, va, READ).unwrap()
}

#[test]
fn pages_and_blocks_are_found() {
    let mut memory = tables();
    for (va, address, size) in [
        (PAGE_VA + 0x123, 0x9_9123, 12),
        (BLOCK_2M + 0x1_2345, 0x81_2345, 21),
        (BLOCK_1G + 0x123_4567, 0x8123_4567, 30),
    ] {
        let translation = found(&mut memory, &Registers::USUAL, va);
        assert_eq!((translation.address, translation.size), (address, size));
        assert!(translation.writable && !translation.is_device());
    }
}

#[test]
fn each_level_has_its_translation_fault() {
    let usual = Registers::USUAL;
    let mut memory = tables();
    memory.set_word(0x3000 + 2 * 8 + 8 * 2, 0x5003);
    memory.set_word(0x5000, 0);
    for (va, expected) in [
        // Between the halves, at either end.
        (1 << 39, 0b00_0100),
        (!(1 << 39), 0b00_0100),
        // A tag that is not ignored.
        (0x5A << 56 | PAGE_VA, 0b00_0100),
        (2 << 30, 0b00_0101),
        (0, 0b00_0110),
        (0x40_0000, 0b00_0111),
        (4 * 0x20_0000, 0b00_0111),
    ] {
        assert_eq!(code(&mut memory, &usual, va, READ), Some(expected), "{va:#x}");
    }
    // A descriptor of level 3 without bit 1, and a block at level 0.
    memory.set_word(0x4000 + 3 * 8, 0x9_9001 | AF);
    assert_eq!(code(&mut memory, &usual, PAGE_VA, READ), Some(0b00_0111));
    let wide = Registers { tcr: usual.tcr & !0x3F | 16, ..usual };
    memory.set_word(0x1000, 1 | AF);
    assert_eq!(code(&mut memory, &wide, PAGE_VA, READ), Some(0b00_0100));
    // EPD0, and sizes that are out of range.
    for tcr in [usual.tcr | 1 << 7, usual.tcr & !0x3F | 15, usual.tcr & !0x3F | 40] {
        assert_eq!(code(&mut tables(), &Registers { tcr, ..usual }, PAGE_VA, READ), Some(0b00_0100));
    }
}

#[test]
fn sizes_start_at_their_level() {
    for (size, level) in [(16, 0), (24, 0), (25, 1), (33, 1), (34, 2), (39, 2)] {
        let mut memory = Memory::default();
        memory.set_word(0x1000, 0);
        let registers = Registers { tcr: Registers::USUAL.tcr & !0x3F | size, ..Registers::USUAL };
        assert_eq!(code(&mut memory, &registers, 0, READ), Some(0b00_0100 | level), "T0SZ {size}");
    }
}

#[test]
fn addresses_that_are_too_large_fault() {
    // TCR_EL1.IPS says 40 bits, and then the CPU has no more.
    let usual = Registers::USUAL;
    let narrow = Registers { tcr: usual.tcr & !(7 << 32) | 2 << 32, ..usual };
    for registers in [narrow, Registers { mmfr0: 2, ..usual }] {
        let high = 1 << 40;
        let base = Registers { tables: [0x1000 | high, 0x2000], ..registers };
        assert_eq!(code(&mut tables(), &base, PAGE_VA, READ), Some(0b00_0000));
        for (descriptor, level) in [(0x1000, 1), (0x3000 + 2 * 8, 2), (0x4000 + 3 * 8, 3)] {
            let mut memory = tables();
            memory.set_word(descriptor, memory.word(descriptor).unwrap() | high);
            assert_eq!(code(&mut memory, &registers, PAGE_VA, READ), Some(level));
        }
        // Before the access flag.
        let mut memory = tables();
        memory.set_word(0x4000 + 3 * 8, 0x9_9003 | high);
        assert_eq!(code(&mut memory, &registers, PAGE_VA, READ), Some(3));
    }
}

#[test]
fn the_access_flag_is_asked_before_rights() {
    for (va, descriptor, level) in [(PAGE_VA, 0x4018, 3), (BLOCK_2M, 0x3018, 2), (BLOCK_1G, 0x1008, 1)] {
        let mut memory = tables();
        memory.set_word(descriptor, memory.word(descriptor).unwrap() & !AF);
        let request = Request { el0: true, ..READ };
        assert_eq!(code(&mut memory, &Registers::USUAL, va, request), Some(0b00_1000 | level));
    }
}

#[test]
fn tables_that_are_not_in_ram_abort() {
    let usual = Registers::USUAL;
    let nowhere = 0x77_0000;
    let base = Registers { tables: [nowhere, 0], ..usual };
    assert_eq!(code(&mut tables(), &base, PAGE_VA, READ), Some(0b01_0101));
    for (descriptor, level) in [(0x1000, 2), (0x3010, 3)] {
        let mut memory = tables();
        memory.set_word(descriptor, nowhere | 3);
        assert_eq!(code(&mut memory, &usual, PAGE_VA, READ), Some(0b01_0100 | level));
    }
}

/// What EL1 and EL0 may do, as letters.
fn rights(leaf: u64, table: u64, wxn: bool) -> String {
    let mut memory = tables();
    memory.set_word(0x4018, memory.word(0x4018).unwrap() | leaf);
    memory.set_word(0x1000, memory.word(0x1000).unwrap() | table);
    let usual = Registers::USUAL;
    let registers = Registers { sctlr: usual.sctlr | u64::from(wxn) << 19, ..usual };
    let mut letters = String::new();
    for el0 in [false, true] {
        for (intent, letter) in [(Intent::Read, 'r'), (Intent::Write, 'w'), (Intent::Fetch, 'x')] {
            let request = Request { intent, el0, aligned: true };
            match code(&mut memory, &registers, PAGE_VA, request) {
                None => letters.push(letter),
                Some(0b00_1111) => letters.push('-'),
                other => panic!("{other:?}"),
            }
        }
    }
    letters
}

#[test]
fn rights_are_those_of_the_manual() {
    // Arm ARM D8.4.1, tables of data access permissions and of instruction execution permissions.
    let (no_el0, read_only, uxn_table, pxn_table) = (1 << 61, 1 << 62, 1 << 60, 1 << 59);
    for (leaf, table, wxn, expected) in [
        (0, 0, false, "rwx--x"),
        (EL0, 0, false, "rw-rwx"),
        (READ_ONLY, 0, false, "r-x--x"),
        (READ_ONLY | EL0, 0, false, "r-xr-x"),
        (READ_ONLY | EL0 | PXN, 0, false, "r--r-x"),
        (READ_ONLY | EL0 | UXN, 0, false, "r-xr--"),
        (EL0 | UXN, 0, false, "rw-rw-"),
        (PXN | UXN, 0, false, "rw----"),
        (0, 0, true, "rw---x"),
        (EL0, 0, true, "rw-rw-"),
        (READ_ONLY | EL0, 0, true, "r-xr-x"),
        (EL0, no_el0, false, "rwx--x"),
        (EL0, read_only, false, "r-xr-x"),
        (EL0, no_el0 | read_only, false, "r-x--x"),
        (READ_ONLY | EL0, uxn_table, false, "r-xr--"),
        (READ_ONLY | EL0, pxn_table, false, "r--r-x"),
    ] {
        assert_eq!(rights(leaf, table, wxn), expected, "{leaf:#x} {table:#x} {wxn}");
    }
}

#[test]
fn cache_maintenance_needs_rights() {
    let mut memory = tables();
    memory.set_word(0x4018, memory.word(0x4018).unwrap() | READ_ONLY);
    for (intent, el0, expected) in [
        (Intent::Maintain, false, None),
        (Intent::Maintain, true, Some(0b00_1111)),
        (Intent::Invalidate, false, Some(0b00_1111)),
    ] {
        let request = Request { intent, el0, aligned: true };
        assert_eq!(code(&mut memory, &Registers::USUAL, PAGE_VA, request), expected);
    }
}

#[test]
fn device_memory_takes_aligned_accesses_only() {
    let mut memory = tables();
    // Attribute 1 is a device; and EL0 may not access it, which comes after alignment.
    memory.set_word(0x4018, memory.word(0x4018).unwrap() | 1 << 2);
    for (aligned, intent, el0, expected) in [
        (true, Intent::Read, false, None),
        (false, Intent::Read, false, Some(0b10_0001)),
        (false, Intent::Write, true, Some(0b10_0001)),
        (true, Intent::Write, true, Some(0b00_1111)),
    ] {
        let request = Request { intent, el0, aligned };
        assert_eq!(code(&mut memory, &Registers::USUAL, PAGE_VA, request), expected);
    }
    assert!(found(&mut memory, &Registers::USUAL, PAGE_VA).is_device());
}

#[test]
fn without_the_mmu_addresses_are_physical() {
    let off = Registers { sctlr: 0, mmfr0: 4, ..Registers::USUAL };
    let mut memory = Memory::default();
    let translation = found(&mut memory, &off, 0xFFF_1234_5678);
    assert_eq!((translation.address, translation.is_device()), (0xFFF_1234_5678, true));
    assert_eq!(code(&mut memory, &off, 1 << 44, READ), Some(0b00_0000));
    let unaligned = Request { aligned: false, ..READ };
    assert_eq!(code(&mut memory, &off, 0x123, unaligned), Some(0b10_0001));
    // Instructions are in Normal memory, and not aligned is a fault of the PC, not of the MMU.
    assert_eq!(code(&mut memory, &off, 0x123, Request { intent: Intent::Fetch, ..unaligned }), None);
}

#[test]
fn a_tag_is_ignored_where_it_may_be() {
    let tcr = Registers::USUAL.tcr;
    for (tbi, low, high) in [(0, true, true), (1_u64 << 37, false, true), (1 << 38, true, false)] {
        let regime = Registers { tcr: tcr | tbi, ..Registers::USUAL }.regime();
        let tagged = 0x5A << 56 | PAGE_VA;
        assert_eq!(regime.untagged(tagged) == tagged, low);
        let tagged = 0xA5FF_FFFF_FFFF_F000;
        assert_eq!(regime.untagged(tagged) == tagged, high);
        assert_eq!(regime.untagged(PAGE_VA), PAGE_VA);
    }
}

#[test]
fn syndromes_say_what_the_access_was() {
    let status = Status::Permission(2);
    for (intent, expected) in [
        (Intent::Fetch, 0x00E),
        (Intent::Read, 0x00E),
        (Intent::Write, 0x04E),
        (Intent::Maintain, 0x14E),
        (Intent::Invalidate, 0x14E),
    ] {
        assert_eq!(status.syndrome(intent), expected);
    }
    assert_eq!(Status::External.code(), 0x10);
}
