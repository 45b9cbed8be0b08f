//! Any registers, tables and addresses: the same as the naive walk says, and no panic.

use super::naive::{self, Found};
use super::{Memory, Registers};
use crate::mmu::{Intent, Request, Status, translate};
use proptest::prelude::*;

/// Pages of tables, and where they are.
const PAGES: u64 = 6;
const FIRST: u64 = 0x8_0000;
/// Different descriptors of a page, which repeat.
const VARIETY: usize = 8;

fn table_address() -> impl Strategy<Value = u64> {
    prop_oneof![
        30 => (0..PAGES).prop_map(|page| FIRST + page * 4096),
        1 => any::<u64>(),
        1 => (28_u32..48).prop_map(|at| 1 << at),
    ]
}

fn descriptor() -> impl Strategy<Value = u64> {
    let limits = prop_oneof![3 => Just(0), 1 => 0..16_u64].prop_map(|limits| limits << 59);
    let table = (table_address(), limits).prop_map(|(table, limits)| table & 0xFFFF_FFFF_F000 | limits | 3);
    // Address, attributes and the kind; the access flag is set more often than not.
    let leaf = (any::<u64>(), 0..40_u32, any::<bool>(), 0..4_u64).prop_map(|(any, bits, page, flag)| {
        let narrow = any & (0xFFFF_FFFF_F000 >> bits & !0xFFF);
        any & !0xFFFF_FFFF_F003 | narrow | 1 | u64::from(page) << 1 | u64::from(flag != 0) << 10
    });
    prop_oneof![8 => table, 8 => leaf, 1 => any::<u64>(), 1 => Just(0)]
}

fn memory() -> impl Strategy<Value = Memory> {
    let page = prop::collection::vec(descriptor(), VARIETY);
    prop::collection::vec(page, PAGES as usize).prop_map(|pages| {
        let mut memory = Memory::default();
        for (page, descriptors) in (0..).zip(&pages) {
            for (at, descriptor) in (0..512).zip(descriptors.iter().cycle()) {
                memory.set_word(FIRST + page * 4096 + at * 8, *descriptor);
            }
        }
        memory
    })
}

fn registers() -> impl Strategy<Value = Registers> {
    let size = || prop_oneof![10 => 16..40_u64, 1 => 0..64_u64];
    let rare = || prop_oneof![10 => Just(0), 1 => Just(1_u64)];
    let tcr = (size(), size(), rare(), rare(), 0..8_u64, any::<bool>(), any::<bool>()).prop_map(
        |(t0, t1, epd0, epd1, ips, tbi0, tbi1)| {
            t0 | epd0 << 7 | t1 << 16 | epd1 << 23 | ips << 32 | u64::from(tbi0) << 37 | u64::from(tbi1) << 38
        },
    );
    let sctlr = prop_oneof![4 => Just(1), 4 => Just(1 | 1 << 19), 1 => any::<u64>()];
    (sctlr, tcr, any::<u64>(), [table_address(), table_address()], 0..6_u64)
        .prop_map(|(sctlr, tcr, mair, tables, mmfr0)| Registers { sctlr, tcr, mair, tables, mmfr0 })
}

/// Addresses of a half with so many bits, or whatever.
fn address() -> impl Strategy<Value = u64> {
    let narrow = (any::<u64>(), 20..50_u32, any::<bool>()).prop_map(|(any, bits, upper)| {
        let offset = any & ((1 << bits) - 1);
        if upper { !offset } else { offset }
    });
    let tagged =
        (any::<u8>(), narrow.clone()).prop_map(|(tag, va)| va & (u64::MAX >> 8) | u64::from(tag) << 56);
    prop_oneof![6 => narrow, 2 => tagged, 1 => any::<u64>()]
}

fn intent() -> impl Strategy<Value = Intent> {
    prop::sample::select(vec![
        Intent::Read,
        Intent::Write,
        Intent::Fetch,
        Intent::Maintain,
        Intent::Invalidate,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_walk_finds_what_a_naive_one_does(
        mut memory in memory(),
        registers in registers(),
        addresses in prop::collection::vec(address(), 16),
        intent in intent(),
        el0 in any::<bool>(),
        aligned in any::<bool>(),
    ) {
        let regime = registers.regime();
        for va in addresses {
            let expected = naive::access(&memory, &registers, va, intent, el0, aligned);
            let request = Request { intent, el0, aligned };
            let found = translate(&regime, &mut memory, regime.untagged(va), request);
            if let Ok(found) = found {
                let write = naive::access(&memory, &registers, va, Intent::Write, el0, true);
                prop_assert_eq!(found.writable, write.is_ok());
            }
            let found = found
                .map(|found| Found {
                    address: found.address,
                    size: 1 << found.size,
                    attributes: u64::from(found.attributes),
                })
                .map_err(Status::code);
            prop_assert_eq!(found, expected, "{:#x} {:?} el0 {} aligned {}", va, intent, el0, aligned);
        }
    }
}
