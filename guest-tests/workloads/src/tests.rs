extern crate std;

use std::{collections::HashSet, println, string::String, vec, vec::Vec};

use super::*;

fn checksum(name: &str, iterations: u64) -> u64 {
    let workload = find(name).unwrap();
    let mut memory = vec![u64::MAX; workload.memory_words];
    workload.prepare(&mut memory).unwrap().run(iterations)
}

/// The checksums are part of the contract: guest and host compare them.
#[test]
fn checksums_do_not_change() {
    let all: Vec<(&str, u64)> =
        usable().map(|workload| (workload.name, checksum(workload.name, 1_000))).collect();
    let expected = [
        ("alu", 3_133_037_910_340_196_744),
        ("divide", 2_099_164_902),
        ("branches", 12_667_475_180_134_044_203),
        ("decode", 11_432_476_422_993_173_755),
        ("code", 8_865_843_834_823_916_378),
        ("chase-l1", 1_088),
        ("chase-l2", 31_808),
        ("chase-dram", 556_096),
        ("chase-llc", 556_096),
        ("stream", 11_400_714_819_323_206_485),
        ("multiply", 9_187_132_133_603_278_850),
        ("flops", 8_070_537_521_203_432_334),
        ("indirect", 2_340_670_669_413_020_910),
        ("calls", 6_191_464_735_165_382_503),
        ("jumps", 15_400_975_142_929_988_629),
        ("locks", 626_981_770_695_586_272),
        ("random", 1_091_191_137_495),
        ("random-locked", 1_091_191_137_495),
        ("mixed", 7_338_182_443_114_965_619),
        ("flops-avx2", 4_647_714_824_036_310_464),
        ("flops-avx512", 4_647_714_824_036_310_464),
        ("copy-erms", 128_127),
        ("copy-avx", 128_127),
        ("copy-evex", 128_127),
    ];
    let expected: Vec<(&str, u64)> =
        expected.into_iter().filter(|(name, _)| find(name).is_some_and(Workload::is_usable)).collect();
    assert_eq!(all, expected);
}

/// The workloads that this CPU executes; the others are named.
fn usable() -> impl Iterator<Item = &'static Workload> {
    ALL.iter().filter(|workload| {
        if !workload.is_usable() {
            println!("skipped: this CPU does not execute {}", workload.name);
        }
        workload.is_usable()
    })
}

/// The numbers that glibc's `random()` gives without a call of `srandom`.
#[test]
fn random_is_the_c_librarys() {
    for name in ["random", "random-locked"] {
        let workload = find(name).unwrap();
        let mut memory = vec![0; workload.memory_words];
        let mut prepared = workload.prepare(&mut memory).unwrap();
        let first: Vec<u64> = (0..5).map(|_| prepared.run(1)).collect();
        assert_eq!(first, [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793]);
        // And after the state has been used up twice.
        let sum: u64 = prepared.run(95);
        assert_eq!(sum, 109_424_435_930, "{name}");
    }
}

#[test]
fn equal_runs_give_equal_checksums() {
    for workload in usable() {
        let mut memory = vec![0; workload.memory_words];
        let mut twice = || {
            let mut prepared = workload.prepare(&mut memory).unwrap();
            [prepared.run(500), prepared.run(500)]
        };
        assert_eq!(twice(), twice(), "{}", workload.name);
    }
}

#[test]
fn the_checksum_depends_on_every_iteration() {
    for workload in usable() {
        let sums: HashSet<u64> = (100..120).map(|n| checksum(workload.name, n)).collect();
        assert_eq!(sums.len(), 20, "{}", workload.name);
    }
}

#[test]
fn too_little_memory_is_refused() {
    let workload = find("chase-l1").unwrap();
    assert!(workload.prepare(&mut vec![0; workload.memory_words - 1]).is_none());
    assert!(workload.prepare(&mut vec![0; workload.memory_words + 1]).is_some());
}

/// Otherwise a large working set would never be seen in small batches.
#[test]
fn the_next_call_goes_on_where_the_last_one_stopped() {
    for name in ["chase-l1", "chase-dram", "stream", "copy-avx", "copy-evex"] {
        let Some(workload) = usable().find(|workload| workload.name == name) else { continue };
        let run = |calls: &[u64]| {
            let mut memory = vec![0; workload.memory_words];
            let mut prepared = workload.prepare(&mut memory).unwrap();
            calls.iter().fold(0, |_, &iterations| prepared.run(iterations))
        };
        assert_eq!(run(&[1_000]), run(&[400, 1, 599]), "{name}");
        assert_ne!(run(&[400]), run(&[400, 400]), "{name}");
    }
}

/// Otherwise the working set would be smaller than the name says.
#[test]
fn a_chase_visits_every_line_before_it_repeats() {
    for name in ["chase-l1", "chase-l2"] {
        let workload = find(name).unwrap();
        let mut memory = vec![0; workload.memory_words];
        workload.prepare(&mut memory).unwrap();
        let lines = workload.memory_words / 8;
        let mut seen = HashSet::new();
        let mut position = 0;
        while seen.insert(position) {
            position = memory[position as usize];
        }
        assert_eq!(seen.len(), lines, "{name}");
        assert!(seen.iter().all(|position| position % 8 == 0), "{name}: one word of each line");
    }
}

#[test]
fn names_are_unique_words() {
    let names: HashSet<&str> = ALL.iter().map(|workload| workload.name).collect();
    assert_eq!(names.len(), ALL.len());
    for name in names {
        let plain: String =
            name.chars().filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-').collect();
        assert_eq!(name, plain);
        assert!(find(name).is_some());
    }
    assert!(find("nothing").is_none());
}
