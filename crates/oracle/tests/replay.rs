//! What the CPU has made of recorded cases, on machines without KVM too.
#![allow(missing_docs)]

use oracle::corpus::{Corpus, CorpusError};
use oracle::soft::Soft;
use std::fmt::Write as _;

const FILE: &[u8] = include_bytes!("../corpus/cases.bin");

#[test]
fn the_interpreter_does_what_the_cpu_did() {
    let corpus = Corpus::from_bytes(FILE).expect("a corpus");
    assert!(corpus.len() >= 4000, "{} cases", corpus.len());
    let different = corpus.replay(&mut Soft::new());
    let mut text = String::new();
    for (case, lines) in different.iter().take(10) {
        let _ = write!(text, "{}", oracle::compare::listing(case));
        for line in lines {
            let _ = writeln!(text, "    {line}");
        }
    }
    assert!(different.is_empty(), "{} of {} cases differ:\n{text}", different.len(), corpus.len());
}

#[test]
fn other_bytes_are_refused() {
    assert!(matches!(Corpus::from_bytes(&[]), Err(CorpusError::Format(_))));
    let mut bytes = FILE.to_vec();
    bytes[0] ^= 1;
    assert!(matches!(Corpus::from_bytes(&bytes), Err(CorpusError::Stale)));
}
