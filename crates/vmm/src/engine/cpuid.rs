//! Bits of CPUID that the machine decides, on every engine. Those of the PMU are in [`vpmu::register::cpuid`], those of
//! instruction sets in [`super::instruction_sets`].
//!
//! Source: SDM volume 2A, CPUID; APM volume 3, appendix E.

/// Leaf 01H EDX: the local APIC is enabled.
pub(super) const APIC: u32 = 1 << 9;
/// Leaf 01H ECX: x2APIC mode exists.
pub(super) const X2APIC: u32 = 1 << 21;
/// Leaf 01H ECX: a hypervisor is present.
pub(super) const HYPERVISOR: u32 = 1 << 31;
/// Leaf 06H EAX: the APIC timer never stops.
pub(super) const ARAT: u32 = 1 << 2;
/// Leaf 8000_0001H ECX: leaves 8000_001DH and 8000_001EH exist (TopologyExtensions).
pub(super) const TOPOEXT: u32 = 1 << 22;
/// Leaf 8000_0007H EDX: the TSC runs at one rate.
pub(super) const INVARIANT_TSC: u32 = 1 << 8;
