//! Which rules a set of sequences reaches, so that a test can say that it still tests something.

use super::op::Op;
use super::{SEQUENCE, generate, seed};
use crate::harness::variants::Variant;
use crate::model::{Answer, Cause, Model};
use std::collections::BTreeMap;

/// How often each of the named things happens in `sequences` sequences.
pub fn happenings(variant: &Variant, sequences: u64) -> BTreeMap<&'static str, u32> {
    let mut seen = BTreeMap::new();
    let mut note = |what| *seen.entry(what).or_insert(0) += 1;
    let cpu = variant.cpu();
    for number in 0..sequences {
        let mut rng = crate::rng::Rng::new(seed()).fork("coverage").nth(number);
        let mut model = Model::power_on(cpu);
        for op in generate::sequence(&cpu, &mut rng, SEQUENCE) {
            let before = model.clone();
            match op {
                Op::Wrmsr { index, value } => match model.wrmsr(index, value) {
                    Answer::Done => note("write done"),
                    Answer::Gp(Cause::Reserved(_)) => note("reserved bits"),
                    Answer::Gp(Cause::Absent) => note("absent"),
                    Answer::Gp(Cause::ReadOnly) => note("read-only"),
                    Answer::Gp(Cause::Unchangeable(_)) => note("unchangeable bits"),
                    Answer::Unclaimed => note("not the PMU's"),
                    other => panic!("WRMSR answered {other:?}"),
                },
                Op::Rdpmc { ecx, privilege } => match model.rdpmc(ecx, privilege) {
                    Answer::Value(_) if ecx == 0x2000_0000 && model.fixed[3] < before.fixed[3] => {
                        note("metrics cleared by RDPMC");
                    }
                    Answer::Value(_) => note("RDPMC done"),
                    Answer::Gp(Cause::RdpmcPrivilege) => note("RDPMC not allowed"),
                    _ => note("RDPMC index"),
                },
                Op::Advance { ticks } => ticks.iter().for_each(|tick| model.tick(tick)),
                Op::TakePmi => {
                    if model.take_pmi() {
                        note("PMI taken");
                    }
                }
                Op::Reset => model.reset(),
                Op::Rdmsr { .. } | Op::Migrate { .. } | Op::Snapshot | Op::RollBack | Op::LookAtAll => {}
            }
            let set = model.global_status & !before.global_status;
            for (bits, what) in [
                (0xFF, "general-purpose overflow"),
                (0x7_0000_0000, "fixed overflow"),
                (1 << 35, "slots overflow"),
                (1 << 48, "metrics overflow"),
                (1 << 59, "counters frozen"),
            ] {
                if set & bits != 0 {
                    note(what);
                }
            }
            if !before.pmi && model.pmi && before.global_ctrl != 0 && model.global_ctrl == 0 {
                note("enables cleared by a PMI");
            }
            if model.metrics.counting && model.metrics.counts[0] != before.metrics.counts[0] {
                note("metrics counted");
            }
        }
    }
    seen
}
