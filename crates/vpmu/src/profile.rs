//! Profiles: the CPUs whose PMU can be shown to a guest.
//!
//! A profile is data. What is not implemented is not announced: no profile offers PEBS, branch
//! records or the debug store, so those bits of PERF_CAPABILITIES and CPUID are 0.

use crate::event::EventTable;
use crate::register::intel::PerfCapabilities;

mod icelake_sp;
mod sapphire_rapids;

pub use icelake_sp::ICELAKE_SP;
pub use sapphire_rapids::SAPPHIRE_RAPIDS;

/// Most general-purpose counters that a profile may have.
pub const MAX_GP: usize = 8;
/// Most fixed-function counters that a profile may have.
pub const MAX_FIXED: usize = 4;

/// Every built-in profile.
pub static PROFILES: &[&Profile] = &[&ICELAKE_SP, &SAPPHIRE_RAPIDS];

/// A CPU whose PMU is shown to the guest.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Name on the command line, for example `icelake-sp`.
    pub name: &'static str,
    /// One line for humans.
    pub summary: &'static str,
    /// CPUID.01H:EAX: family, model, stepping.
    pub signature: u32,
    /// Architectural perfmon version, CPUID.0AH:EAX bits 7:0.
    pub version: u8,
    /// General-purpose counters, at most [`MAX_GP`].
    pub gp_counters: u8,
    /// Width of a general-purpose counter in bits, at most 63.
    pub gp_width: u8,
    /// Fixed-function counters, contiguous from 0, at most [`MAX_FIXED`].
    pub fixed_counters: u8,
    /// Width of a fixed-function counter in bits, at most 63.
    pub fixed_width: u8,
    /// Number of architectural events announced, CPUID.0AH:EAX bits 31:24.
    pub arch_events: u8,
    /// Architectural events that are not available, CPUID.0AH:EBX.
    pub arch_events_unavailable: u32,
    /// CPUID.0AH:EDX bit 15.
    pub any_thread_deprecated: bool,
    /// IA32_PERF_CAPABILITIES.
    pub perf_capabilities: PerfCapabilities,
    /// PERF_METRICS: 0 none, 1 four fields, 2 eight fields.
    pub metrics_level: u8,
    /// Issue slots per core cycle with one active hardware thread.
    pub slots_per_cycle: u8,
    /// Nominal TSC rate in Hz.
    pub tsc_hz: u64,
    /// Core crystal clock in Hz, CPUID.15H:ECX.
    pub crystal_hz: u32,
    /// Valid bits of OFFCORE_RSP_0/1; 0 when they do not exist.
    pub offcore_rsp_mask: u64,
    /// Valid bits of the load latency threshold; 0 when it does not exist.
    pub ld_lat_mask: u64,
    /// Valid bits of the front-end event register; 0 when it does not exist.
    pub frontend_mask: u64,
    /// Encodings of the events.
    pub events: EventTable,
}

impl Profile {
    /// The built-in profile of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PROFILES.iter().copied().find(|profile| profile.name == name)
    }

    /// GLOBAL_CTRL after RESET: every general-purpose counter, no fixed one.
    #[must_use]
    pub fn global_ctrl_reset(&self) -> u64 {
        crate::register::low_bits(u32::from(self.gp_counters))
    }

    /// CPU family and model as the SDM computes them from the signature.
    #[must_use]
    pub fn family_model(&self) -> (u32, u32) {
        let family = (self.signature >> 8) & 0xF;
        let model = (self.signature >> 4) & 0xF | (self.signature >> 12) & 0xF0;
        let extended = if family == 0xF { (self.signature >> 20) & 0xFF } else { 0 };
        (family + extended, model)
    }
}
