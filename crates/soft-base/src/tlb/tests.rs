//! The TLB beside a map that forgets nothing by itself.

use super::{FEWEST, Large, MOST, Tlb};
use crate::{OFFSET, PAGE};
use proptest::prelude::*;
use std::collections::BTreeMap;

const VIEWS: usize = 2;

#[derive(Debug, Clone)]
enum Step {
    /// So many pages in a row from one on, of a large page or not.
    Fill {
        view: usize,
        page: u64,
        count: u64,
        size: u8,
        write: bool,
    },
    Protect(u64),
    FlushPage(u64),
    FlushView(usize),
    Flush,
}

/// Numbers of pages, some of which belong to the same entry whatever the size.
fn page() -> impl Strategy<Value = u64> {
    let far = (0_u64..4).prop_map(|n| (n * 5) << 30);
    (far, 0_u64..3 * MOST as u64).prop_map(|(far, near)| (far >> 12) + near)
}

fn step() -> impl Strategy<Value = Step> {
    let fill = (0..VIEWS, page(), 1_u64..2000, prop::sample::select(vec![12_u8, 21, 30]), any::<bool>());
    prop_oneof![
        6 => fill.prop_map(|(view, page, count, size, write)| Step::Fill { view, page, count, size, write }),
        2 => page().prop_map(Step::Protect),
        2 => page().prop_map(Step::FlushPage),
        1 => (0..VIEWS).prop_map(Step::FlushView),
        1 => Just(Step::Flush),
    ]
}

/// What the newest translation of a page says.
#[derive(Debug, Clone, Copy)]
struct Known {
    size: u8,
    write: bool,
}

/// Physical address of a page, and its position: other ones.
fn gpa(page: u64) -> u64 {
    (page ^ 1) * PAGE
}

fn position(page: u64) -> u64 {
    (page + 7) * PAGE
}

fn check(tlb: &Tlb<VIEWS>, known: &[BTreeMap<u64, Known>; VIEWS]) -> Result<(), TestCaseError> {
    for (view, known) in known.iter().enumerate() {
        prop_assert!(tlb.view(view).len().is_power_of_two());
        for entry in tlb.view(view).iter().filter(|entry| entry.read & OFFSET == 0) {
            let page = entry.read >> 12;
            let known = known.get(&page);
            prop_assert!(known.is_some(), "page {page:#x} of view {view} was forgotten");
            let found = tlb.entry(view, entry.read);
            prop_assert_eq!(found.readable(entry.read + 8, 8), Some(position(page) + 8));
            prop_assert_eq!(found.gpa(), gpa(page));
            let write = known.is_some_and(|known| known.write);
            prop_assert_eq!(found.writable(entry.read, 8).is_some(), write);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Nothing is known that was forgotten, protected or never added, whatever the views have grown to.
    #[test]
    fn only_what_holds_is_known(steps in prop::collection::vec(step(), 1..25)) {
        let mut tlb = Tlb::<VIEWS>::new();
        let mut known: [BTreeMap<u64, Known>; VIEWS] = Default::default();
        for step in steps {
            match step {
                Step::Fill { view, page, count, size, write } => {
                    for page in page..page + count {
                        tlb.fill(view, page * PAGE, position(page), gpa(page), size, write);
                        // A later translation of a page that may be written to does not take that back.
                        let kept = tlb.entry(view, page * PAGE).writable(page * PAGE, 1).is_some();
                        let before = known[view].get(&page).is_some_and(|known| known.write);
                        prop_assert!(kept == write || before && kept);
                        known[view].insert(page, Known { size, write: kept });
                    }
                }
                Step::Protect(page) => {
                    tlb.protect(gpa(page));
                    for known in known.iter_mut().filter_map(|known| known.get_mut(&page)) {
                        known.write = false;
                    }
                }
                Step::FlushPage(page) => {
                    tlb.flush_page(page * PAGE);
                    for known in &mut known {
                        known.retain(|other, known| (other ^ page) >> (known.size - 12) != 0);
                    }
                }
                Step::FlushView(view) => {
                    tlb.flush_view(view);
                    known[view].clear();
                }
                Step::Flush => {
                    tlb.flush();
                    known.iter_mut().for_each(BTreeMap::clear);
                }
            }
            check(&tlb, &known)?;
        }
    }
}

/// Adds all of so many pages that are not known.
fn touch(tlb: &mut Tlb<VIEWS>, pages: u64) -> usize {
    let mut walks = 0;
    for page in 0..pages {
        if tlb.entry(0, page * PAGE).readable(page * PAGE, 1).is_none() {
            tlb.fill(0, page * PAGE, position(page), gpa(page), 12, true);
            walks += 1;
        }
    }
    walks
}

#[test]
fn a_view_grows_until_tables_fit_and_shrinks_when_few_entries_are_used() {
    let mut tlb = Tlb::new();
    assert_eq!(touch(&mut tlb, FEWEST as u64), FEWEST);
    assert_eq!(touch(&mut tlb, FEWEST as u64), 0);
    assert_eq!(tlb.view(0).len(), FEWEST);
    let pages = MOST as u64;
    let rounds = (0..6).take_while(|_| touch(&mut tlb, pages) > 0).count();
    assert!(rounds < 5, "{pages} pages do not fit after {rounds} rounds");
    assert_eq!((tlb.view(0).len(), tlb.view(1).len()), (MOST, FEWEST));
    // More than that displace each other for good.
    assert!(touch(&mut tlb, 2 * pages) > 0);
    assert_eq!(touch(&mut tlb, 2 * pages), 2 * MOST);
    assert_eq!(tlb.view(0).len(), MOST);
    tlb.flush();
    assert_eq!(tlb.view(0).len(), MOST, "all of it was in use");
    for _ in 0..10 {
        touch(&mut tlb, 10);
        tlb.flush();
    }
    assert_eq!(tlb.view(0).len(), FEWEST);
}

#[test]
fn large_pages_are_told_apart() {
    let mut large = Large::default();
    large.note(0x40_3000, 21);
    large.note(5 << 30 | 0x1234, 30);
    large.note(0x80_0000, 12);
    for (linear, known) in [
        (0x40_0000, true),
        (0x5F_FFFF, true),
        (0x60_0000, false),
        (0x80_0000, false),
        (5 << 30, true),
        (6 << 30, false),
    ] {
        assert_eq!(large.may_have(linear), known, "{linear:#x}");
    }
    (0..super::LARGE as u64).for_each(|n| large.note(n << 21, 21));
    assert!(large.may_have(1 << 45), "too many to tell");
    large.clear();
    assert!(!large.may_have(0x40_0000));
}
