//! What a reader of a run's report has to know.

use crate::counts::model;
use crate::machine::pmu::PmuDevice;
use crate::machine::pmu::window::MAX_WINDOWS;
use serde::Serialize;
use std::fmt;

/// A warning. It reads as a sentence, in JSON too; what to do about it is for a front end to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum Warning {
    /// The guest looked at top-down slots, which were counted without a model of the core.
    NoCoreModel,
    /// More measuring windows than are listed: how many there were.
    Windows(u64),
    /// Anything else.
    Other(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCoreModel => f.write_str(
                "the guest looked at top-down slots, and no model of the core stood behind them: each instruction \
                 retires in a slot, and all others wait for the back end",
            ),
            Self::Windows(all) => {
                write!(f, "the guest had {all} measuring windows, of which the first {MAX_WINDOWS} are listed")
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<String> for Warning {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<Warning> for String {
    fn from(warning: Warning) -> Self {
        warning.to_string()
    }
}

/// True if the guest has counted slots, or what becomes of them, or has read PERF_METRICS, which may never have run.
pub(crate) fn looked_at_slots(pmu: &mut PmuDevice) -> bool {
    let read = pmu.stats().metrics > 0;
    let ledger = pmu.ledger();
    read || ledger.topdown().slots > 0
        || ledger.entries().any(|(key, _)| key.request.events().any(model::is_about_slots))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::model::{ModelSource, Retired};
    use crate::machine::pmu::Origin;
    use vpmu::pmu::RdpmcContext;
    use vpmu::profile::{ICELAKE_SP, SKYLAKE_SP, ZEN4};
    use vpmu::{Profile, ReadOutcome, WriteOutcome};

    fn device(profile: &Profile) -> PmuDevice {
        let source = ModelSource::new(profile, Retired::default());
        PmuDevice::new(profile.clone(), Box::new(source), None)
    }

    fn looks(profile: &Profile, writes: &[(u32, u64)]) -> bool {
        let mut pmu = device(profile);
        for (index, value) in writes {
            let (outcome, _) = pmu.wrmsr(*index, *value, Origin::default()).into_parts();
            assert_eq!(outcome, WriteOutcome::Done, "{index:#x}");
        }
        looked_at_slots(&mut pmu)
    }

    #[test]
    fn a_read_of_metrics_that_never_ran_is_noticed() {
        type Read = fn(&mut PmuDevice) -> ReadOutcome;
        let reads: [(bool, Read); 4] = [
            (true, |pmu| pmu.rdmsr(0x329, Origin::default()).into_parts().0),
            (true, |pmu| pmu.rdpmc(0x2000_0000, RdpmcContext::RING0, Origin::default()).into_parts().0),
            (false, |pmu| pmu.rdmsr(0x309, Origin::default()).into_parts().0),
            (false, |pmu| pmu.rdpmc(0x4000_0000, RdpmcContext::RING0, Origin::default()).into_parts().0),
        ];
        for (noticed, read) in reads {
            let mut pmu = device(&ICELAKE_SP);
            assert!(matches!(read(&mut pmu), ReadOutcome::Value(_)));
            assert_eq!(looked_at_slots(&mut pmu), noticed);
        }
        // It is not there.
        let mut pmu = device(&SKYLAKE_SP);
        assert!(!matches!(pmu.rdmsr(0x329, Origin::default()).into_parts().0, ReadOutcome::Value(_)));
        assert!(!looked_at_slots(&mut pmu));
    }

    #[test]
    fn slots_and_what_becomes_of_them_are_noticed() {
        // Instructions and cycles, then slots as well.
        assert!(!looks(&ICELAKE_SP, &[(0x38D, 0x33), (0x38F, 3 << 32)]));
        assert!(looks(&ICELAKE_SP, &[(0x38D, 0x3033), (0x38F, 0xB << 32)]));
        // UOPS_ISSUED.ANY, and branches.
        assert!(looks(&SKYLAKE_SP, &[(0x186, 0x43_010E), (0x38F, 1)]));
        assert!(!looks(&SKYLAKE_SP, &[(0x186, 0x43_00C4), (0x38F, 1)]));
        // de_no_dispatch_per_slot.no_ops_from_frontend, and retired branches.
        assert!(looks(&ZEN4, &[(0xC001_0200, 0x1_0043_01A0)]));
        assert!(!looks(&ZEN4, &[(0xC001_0200, 0x43_00C2)]));
    }

    #[test]
    fn warnings_are_sentences_in_json_and_name_no_flag() {
        let text = serde_json::to_string(&[Warning::NoCoreModel, Warning::Windows(98_968)]).expect("JSON");
        assert!(text.contains("98968 measuring windows, of which the first 1024 are listed"), "{text}");
        assert!(!text.contains("--"), "{text}");
    }
}
