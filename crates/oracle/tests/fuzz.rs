//! A short run of the fuzzer.
#![allow(missing_docs)]

use oracle::a64;
use oracle::fuzz::{Fuzzer, Mode, Rounds as _, Source};

/// Rounds in each mode from each source.
const ROUNDS: u64 = 2;

#[test]
fn random_code_does_no_harm() {
    let fuzzer = Fuzzer::new();
    for mode in Mode::ALL {
        for source in Source::ALL {
            let mut retired = 0;
            for seed in 1..=ROUNDS {
                match fuzzer.round(seed, mode, source) {
                    Ok(done) => retired += done,
                    Err(defect) => panic!("{mode:?}, {source:?}, round {seed}: {defect}"),
                }
            }
            assert!(retired > 1000, "{mode:?}, {source:?}: only {retired} instructions");
        }
    }
}

#[test]
fn compiled_random_code_does_what_interpreted_code_does() {
    if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
        return println!("SKIP compiled blocks: they take an x86-64 CPU and Linux");
    }
    let fuzzer = Fuzzer::new().compiling();
    for source in Source::ALL {
        for seed in 1..=ROUNDS {
            if let Err(defect) = fuzzer.round(seed, Mode::Long, source) {
                panic!("{source:?}, round {seed}: {defect}");
            }
        }
    }
    let compiled = fuzzer.compiled().unwrap_or_default();
    assert!(compiled > 5_000, "only {compiled} instructions in compiled code");
}

#[test]
fn a_round_repeats_itself() {
    let fuzzer = Fuzzer::new();
    let round = || fuzzer.round(7, Mode::Long, Source::Mutations);
    assert_eq!(round(), round());
}

#[test]
fn random_a64_code_does_no_harm() {
    let fuzzer = a64::fuzz::Fuzzer::new();
    for (kind, name) in fuzzer.kinds().iter().enumerate() {
        let mut retired = 0;
        for seed in 1..=ROUNDS {
            let done = fuzzer.round(seed, kind);
            assert_eq!(done, fuzzer.round(seed, kind), "{name:?}, round {seed} does not repeat itself");
            match done {
                Ok(done) => retired += done,
                Err(defect) => panic!("{name:?}, round {seed}: {defect}"),
            }
        }
        assert!(retired > 500, "{name:?}: only {retired} instructions");
    }
}
