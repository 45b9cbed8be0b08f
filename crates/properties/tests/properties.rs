//! The properties on a stable compiler: the committed corpus of the fuzz target, and a few random sequences.

use properties::{Reached, Report, check};
use random_testing::Random;
use std::fs;
use std::path::Path;

#[test]
fn the_corpus_of_the_fuzz_target_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vpmu/fuzz/corpus/msr_sequence");
    let mut report = Report::default();
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let path = entry.expect("a file").path();
        let bytes = fs::read(&path).expect("readable");
        if let Err(violation) = check(&bytes, &mut report) {
            panic!("{}: {violation}", path.display());
        }
    }
    assert!(report.sequences > 0, "an empty corpus tests nothing");
}

/// `cargo xtask properties` runs more of them.
#[test]
fn random_sequences_hold_and_reach_the_rules() {
    let mut random = Random::new(1);
    let mut bytes = [0; 2048];
    let mut report = Report::default();
    while report.operations < 750_000 {
        random.fill(&mut bytes);
        if let Err(violation) = check(&bytes, &mut report) {
            panic!("{violation}");
        }
    }
    for (reached, count) in Reached::ALL.iter().zip(report.reached) {
        assert!(count >= 30, "{:?} was reached {count} times only", reached.name());
    }
}
