//! Qualcomm Falkor, the core of the Centriq 2400.
//!
//! Sources: MIDR from Linux `arch/arm64/include/asm/cputype.h`; the matrix from the published patch and its review (see
//! `docs/falkor.md`). Not published, and so an assumption: the number of counters, the version of PMUv3, IDCODE, and
//! clocks.

use alloc::borrow::Cow;

use super::{ArmPmu, BeyondLast, Isa, LbrKind, PmuKind, Profile};
use crate::event::EventTable;

/// Centriq 2400 in production (part C00H), AArch64 only.
pub const FALKOR: Profile = Profile {
    name: Cow::Borrowed("falkor"),
    summary: Cow::Borrowed("Centriq 2400 (Falkor): PMUv3, 24 of the matrix events at a time"),
    core: "Falkor",
    signature: 0x510F_C000,
    // The published measurements always program eight events beside the cycle counter.
    gp_counters: 8,
    gp_width: 32,
    lbr: LbrKind::None,
    slots_per_cycle: 4,
    // Clocks are assumptions.
    tsc_hz: 2_200_000_000,
    crystal_hz: 24_000_000,
    isa: Isa::V4,
    events: EventTable::FALKOR,
    pmu: PmuKind::Arm(ArmPmu {
        version: 1,
        implementer: 0x51,
        id_code: 0,
        aarch32: false,
        selected_beyond: BeyondLast::Zero,
        direct_beyond: BeyondLast::Undefined,
        matrix: true,
        poison: None,
    }),
};
