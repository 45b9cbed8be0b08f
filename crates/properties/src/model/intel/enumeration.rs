//! What the guest finds out about the CPU.

use crate::Latched;
use vpmu::cpuid::{CpuidResult, patch};
use vpmu::{Level, Profile, ReadOutcome, source::ScriptedSource};

/// The two cores differ in what some event codes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum Core {
    SunnyCove,
    GoldenCove,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Cpu {
    pub(super) core: Core,
    pub(super) version: u32,
    pub(super) gp: u32,
    pub(super) gp_width: u32,
    pub(super) fixed: u32,
    pub(super) fixed_width: u32,
    pub(super) any_thread_deprecated: bool,
    /// IA32_PERF_CAPABILITIES.
    pub(super) capabilities: u64,
    // By model number; CPUID does not tell.
    pub(super) metric_fields: usize,
    pub(super) offcore_mask: u64,
    pub(super) ld_lat_mask: u64,
    pub(super) frontend_mask: u64,
}

impl Cpu {
    /// Enumerates as a guest does, and takes from the profile only what a guest knows by model number.
    pub(super) fn enumerate(profile: &Profile, core: Core) -> Self {
        let intel = profile.intel().expect("an Intel CPU");
        let mut pmu = Latched::new(profile.clone());
        let leaf = patch(pmu.profile(), 0xA, 0, CpuidResult::default());
        let version = leaf.eax & 0xFF;
        let fixed = leaf.edx & 0x1F;
        if version >= 5 {
            assert_eq!(leaf.ecx, (1 << fixed) - 1, "both ways to enumerate fixed counters agree");
        }
        let one = patch(pmu.profile(), 0x1, 0, CpuidResult::default());
        assert_eq!(one.ecx >> 15 & 1, 1, "PDCM");
        let ReadOutcome::Value(capabilities) =
            pmu.read_register(Level::Kernel, 0x345, &mut ScriptedSource::new())
        else {
            unreachable!("PDCM announces IA32_PERF_CAPABILITIES");
        };
        Self {
            core,
            version,
            gp: leaf.eax >> 8 & 0xFF,
            gp_width: leaf.eax >> 16 & 0xFF,
            fixed,
            fixed_width: leaf.edx >> 5 & 0xFF,
            any_thread_deprecated: leaf.edx >> 15 & 1 == 1,
            capabilities,
            metric_fields: match (capabilities >> 15 & 1, core) {
                (0, _) => 0,
                (_, Core::SunnyCove) => 4,
                (_, Core::GoldenCove) => 8,
            },
            offcore_mask: intel.offcore_rsp_mask,
            ld_lat_mask: intel.ld_lat_mask,
            frontend_mask: intel.frontend_mask,
        }
    }

    pub(super) fn freeze_while_smm(&self) -> bool {
        super::bit(self.capabilities, 12)
    }

    pub(super) fn full_width_writes(&self) -> bool {
        super::bit(self.capabilities, 13)
    }

    pub(super) fn metrics(&self) -> bool {
        super::bit(self.capabilities, 15)
    }

    pub(super) fn metrics_clear(&self) -> bool {
        super::bit(self.capabilities, 19)
    }

    /// AnyThread came with version 3; from version 5 CPUID may say that it is gone.
    pub(super) fn any_thread(&self) -> bool {
        self.version >= 3 && !self.any_thread_deprecated
    }
}
