//! AT and the operands of TLBI.

use super::{Memory, Registers};
use crate::mmu::{Invalidation, Status, probe};

const VA: u64 = 0x3000;

fn memory(leaf: u64) -> Memory {
    let mut memory = Memory::default();
    memory.set_word(0x1000, 0x3003);
    memory.set_word(0x3000, 0x4003);
    memory.set_word(0x4000 + 3 * 8, leaf);
    memory
}

fn at(leaf: u64, op2: u32, va: u64) -> u64 {
    probe(&Registers::USUAL.regime(), &mut memory(leaf), op2, va).unwrap()
}

#[test]
fn at_answers_with_the_page_and_its_attributes() {
    let page = 0x7_7403;
    // Inner Shareable Normal memory; a device and memory without caches are Outer Shareable.
    for (leaf, expected) in [
        (page | 3 << 8, 0xFF << 56 | 0x7_7000 | 0xA00 | 3 << 7),
        (page, 0xFF << 56 | 0x7_7000 | 0xA00),
        (page | 1 << 2, 0x04 << 56 | 0x7_7000 | 0xA00 | 2 << 7),
        (page | 2 << 2 | 3 << 8, 0x44 << 56 | 0x7_7000 | 0xA00 | 2 << 7),
    ] {
        assert_eq!(at(leaf, 0, VA + 0x123), expected, "{leaf:#x}");
    }
}

#[test]
fn at_answers_with_the_fault() {
    let page = 0x7_7403;
    let aborted = |status: u64| 0x801 | status << 1;
    for (op2, kernel_page, read_only) in [
        (0, 0xFF << 56 | 0x7_7A00, 0xFF << 56 | 0x7_7A00),
        (1, 0xFF << 56 | 0x7_7A00, aborted(0b00_1111)),
        (2, aborted(0b00_1111), 0xFF << 56 | 0x7_7A00),
        (3, aborted(0b00_1111), aborted(0b00_1111)),
    ] {
        assert_eq!(at(page, op2, VA), kernel_page, "{op2}");
        assert_eq!(at(page | 3 << 6, op2, VA), read_only, "{op2}");
    }
    assert_eq!(at(0, 0, VA), aborted(0b00_0111));
    assert_eq!(at(page & !(1 << 10), 0, VA), aborted(0b00_1011));
}

#[test]
fn an_external_abort_of_at_is_taken() {
    let registers = Registers { tables: [0x9000, 0], ..Registers::USUAL };
    let answer = probe(&registers.regime(), &mut memory(0), 0, VA);
    assert_eq!(answer, Err(Status::ExternalOnWalk(1)));
}

#[test]
fn tlbi_has_an_address_or_an_asid() {
    let operand = 0x1234_0FFF_8000_8123;
    for (op2, expected) in [
        (0, Some(Invalidation::All)),
        (1, Some(Invalidation::Address(0xFFFF_F800_0812_3000))),
        (2, Some(Invalidation::Asid(0x1234))),
        (3, Some(Invalidation::Address(0xFFFF_F800_0812_3000))),
        (4, None),
        (5, Some(Invalidation::Address(0xFFFF_F800_0812_3000))),
        (6, None),
        (7, Some(Invalidation::Address(0xFFFF_F800_0812_3000))),
    ] {
        assert_eq!(Invalidation::decode(op2, operand), expected, "{op2}");
    }
    assert_eq!(Invalidation::decode(1, 0x40_0000), Some(Invalidation::Address(0x4_0000_0000)));
}
