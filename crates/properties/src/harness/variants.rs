//! CPUs to compare on: the built-in profiles and made-up ones for the rules that these two share. Branch
//! records have a model of their own, in `lbr.rs`.

use crate::model::enumeration::{Core, Cpu};
use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS};
use vpmu::{Profile, register::intel::PerfCapabilities};

/// PERF_CAPABILITIES: FREEZE_WHILE_SMM, FW_WRITE, PERF_METRICS_AVAILABLE, RDPMC_METRICS_CLEAR.
const SMM: u64 = 1 << 12;
const FULL_WIDTH: u64 = 1 << 13;
const METRICS: u64 = 1 << 15;
const CLEAR: u64 = 1 << 19;

#[derive(Debug)]
pub struct Variant {
    pub name: &'static str,
    pub profile: fn() -> Profile,
    core: Core,
}

impl Variant {
    pub fn cpu(&self) -> Cpu {
        Cpu::enumerate(&(self.profile)(), self.core)
    }

    pub fn named(name: &str) -> &'static Self {
        ALL.iter().find(|variant| variant.name == name).expect("a variant of that name")
    }
}

const fn variant(name: &'static str, core: Core, profile: fn() -> Profile) -> Variant {
    Variant { name, profile, core }
}

pub static ALL: &[Variant] = &[
    variant("icelake-sp", Core::SunnyCove, || ICELAKE_SP.without_lbr()),
    variant("sapphire-rapids", Core::GoldenCove, || SAPPHIRE_RAPIDS.without_lbr()),
    // No global registers, no fixed counters, no event registers.
    variant("version 1", Core::SunnyCove, || Profile {
        gp_counters: 2,
        gp_width: 40,
        ..ICELAKE_SP.without_lbr().with_intel(|pmu| {
            pmu.version = 1;
            pmu.any_thread_deprecated = false;
            pmu.perf_capabilities = PerfCapabilities(0);
            pmu.metrics_level = 0;
            pmu.offcore_rsp_mask = 0;
            pmu.ld_lat_mask = 0;
            pmu.frontend_mask = 0;
        })
    }),
    // As KVM offers it on older hosts: legacy freeze, no AnyThread.
    variant("version 2", Core::SunnyCove, || Profile {
        gp_counters: 4,
        ..ICELAKE_SP.without_lbr().with_intel(|pmu| {
            pmu.version = 2;
            pmu.fixed_counters = 3;
            pmu.any_thread_deprecated = false;
            pmu.perf_capabilities = PerfCapabilities(SMM | FULL_WIDTH);
            pmu.metrics_level = 0;
        })
    }),
    variant("version 3", Core::SunnyCove, || {
        ICELAKE_SP.without_lbr().with_intel(|pmu| {
            pmu.version = 3;
            pmu.fixed_counters = 3;
            pmu.any_thread_deprecated = false;
            pmu.perf_capabilities = PerfCapabilities(FULL_WIDTH);
            pmu.metrics_level = 0;
        })
    }),
    // Streamlined freeze with AnyThread.
    variant("version 4", Core::GoldenCove, || {
        SAPPHIRE_RAPIDS.without_lbr().with_intel(|pmu| {
            pmu.version = 4;
            pmu.any_thread_deprecated = false;
        })
    }),
    // CPUID can say that AnyThread is deprecated only from version 5 on.
    variant("version 4 of 5", Core::GoldenCove, || {
        SAPPHIRE_RAPIDS.without_lbr().with_intel(|pmu| {
            pmu.version = 4;
        })
    }),
    variant("no metrics", Core::GoldenCove, || {
        SAPPHIRE_RAPIDS.without_lbr().with_intel(|pmu| {
            pmu.perf_capabilities = PerfCapabilities(SMM | FULL_WIDTH);
            pmu.metrics_level = 0;
        })
    }),
    variant("no full-width writes", Core::SunnyCove, || {
        ICELAKE_SP.without_lbr().with_intel(|pmu| {
            pmu.perf_capabilities = PerfCapabilities(METRICS);
        })
    }),
    variant("metrics clear", Core::GoldenCove, || {
        SAPPHIRE_RAPIDS.without_lbr().with_intel(|pmu| {
            pmu.perf_capabilities = PerfCapabilities(SMM | FULL_WIDTH | METRICS | CLEAR);
        })
    }),
    variant("narrow", Core::GoldenCove, || Profile {
        gp_width: 32,
        gp_counters: 3,
        ..SAPPHIRE_RAPIDS.without_lbr().with_intel(|pmu| {
            pmu.fixed_width = 44;
        })
    }),
    variant("wide", Core::SunnyCove, || Profile {
        gp_width: 63,
        ..ICELAKE_SP.without_lbr().with_intel(|pmu| {
            pmu.fixed_width = 52;
        })
    }),
];
