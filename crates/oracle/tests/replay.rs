//! What CPUs have made of recorded cases, on machines without KVM too.
#![allow(missing_docs)]

use oracle::corpus::{Corpus, CorpusError};
use oracle::cpu::CpuId;
use oracle::soft::Soft;
use soft_cpu::silicon::Silicon;
use std::fmt::Write as _;
use std::path::Path;

const ZEN_5: &[u8] = include_bytes!("../corpus/zen5.bin");
const RECORDINGS: [(&str, &[u8]); 5] = [
    ("cascade-lake.bin", include_bytes!("../corpus/cascade-lake.bin")),
    ("emerald-rapids.bin", include_bytes!("../corpus/emerald-rapids.bin")),
    ("zen3.bin", include_bytes!("../corpus/zen3.bin")),
    ("zen4.bin", include_bytes!("../corpus/zen4.bin")),
    ("zen5.bin", ZEN_5),
];

/// Recordings of some encodings, in which the vendors need not differ, and how many cases they have.
const PARTIAL: [(&str, usize, &[u8]); 10] = [
    ("granite-rapids.bin", 12000, include_bytes!("../corpus/granite-rapids.bin")),
    ("granite-rapids-crypto.bin", 3000, include_bytes!("../corpus/granite-rapids-crypto.bin")),
    ("granite-rapids-xsave.bin", 160, include_bytes!("../corpus/granite-rapids-xsave.bin")),
    ("zen3-vex.bin", 5000, include_bytes!("../corpus/zen3-vex.bin")),
    ("zen4-vex.bin", 6000, include_bytes!("../corpus/zen4-vex.bin")),
    ("zen4-float.bin", 1000, include_bytes!("../corpus/zen4-float.bin")),
    ("zen5-vex.bin", 6000, include_bytes!("../corpus/zen5-vex.bin")),
    ("zen5-float.bin", 1000, include_bytes!("../corpus/zen5-float.bin")),
    ("zen5-crypto.bin", 3000, include_bytes!("../corpus/zen5-crypto.bin")),
    ("zen5-xsave.bin", 160, include_bytes!("../corpus/zen5-xsave.bin")),
];

#[test]
fn the_interpreter_does_what_each_cpu_did() {
    replay_all(|silicon| Some(Soft::new(silicon)));
}

#[test]
fn compiled_blocks_do_what_each_cpu_did() {
    let mut executed = (0, 0);
    replay_all(|silicon| match Soft::compiling(silicon) {
        Ok(soft) => Some(soft),
        Err(error) => {
            println!("SKIP compiled blocks: {error}");
            None
        }
    })
    .into_iter()
    .for_each(|(all, compiled)| executed = (executed.0 + all, executed.1 + compiled));
    let (all, compiled) = executed;
    println!("{compiled} of {all} instructions executed in compiled code");
    assert!(compiled > all / 20, "{compiled} of {all} instructions");
}

/// Replays all recordings on a CPU, where there is one. How many instructions it has executed, and how many of them in
/// compiled code.
fn replay_all(new: impl Fn(Silicon) -> Option<Soft>) -> Vec<(u64, u64)> {
    let mut executed = Vec::new();
    let whole = RECORDINGS.map(|(name, bytes)| (name, 2000, bytes));
    for (name, least, bytes) in whole.into_iter().chain(PARTIAL) {
        let corpus = Corpus::from_bytes(bytes).expect("a corpus");
        assert!(corpus.len() >= least, "{name}: {} cases", corpus.len());
        let named = CpuId::from_file_name(Path::new(name)).expect("a core");
        let cpu = corpus.cpu.unwrap_or(named);
        assert_eq!(cpu.core(), named.core(), "{name}");
        let Some(mut soft) = new(cpu.silicon()) else { continue };
        let replay = corpus.replay(&mut soft, usize::MAX);
        executed.push(soft.executed());
        let mut text = String::new();
        for difference in replay.different.iter().take(10) {
            let _ = writeln!(text, "{difference}");
        }
        let count = replay.different.len();
        assert_eq!(count, 0, "{name}: {count} of {} cases differ:\n{text}", corpus.len());
    }
    executed
}

#[test]
fn the_rules_of_another_cpu_do_not_explain_a_recording() {
    for (name, bytes) in RECORDINGS {
        let corpus = Corpus::from_bytes(bytes).expect("a corpus");
        let own = CpuId::from_file_name(Path::new(name)).expect("a core").silicon();
        for (other, _) in RECORDINGS {
            let other = CpuId::from_file_name(Path::new(other)).expect("a core").silicon();
            if other != own {
                let replay = corpus.replay(&mut Soft::new(other), 1);
                assert!(!replay.different.is_empty(), "{name} as {other:?}");
            }
        }
    }
}

#[test]
fn other_bytes_are_refused() {
    assert!(matches!(Corpus::from_bytes(&[]), Err(CorpusError::Format(_))));
    let mut bytes = ZEN_5.to_vec();
    bytes[0] ^= 1;
    assert!(matches!(Corpus::from_bytes(&bytes), Err(CorpusError::Stale)));
}
