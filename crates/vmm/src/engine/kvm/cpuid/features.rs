//! Feature and topology leaves, reduced to what an Intel CPU in this machine has.

use crate::engine::cpuid::{APIC, ARAT, HYPERVISOR, INVARIANT_TSC, TOPOEXT, X2APIC};
use platform::x86::apic::ApicConfig;
use vpmu::cpuid::CpuidResult;

/// A mask of single bits.
const fn bits<const N: usize>(positions: [u32; N]) -> u32 {
    let mut mask = 0;
    let mut i = 0;
    while i < N {
        mask |= 1 << positions[i];
        i += 1;
    }
    mask
}

/// Leaf 1 ECX, not in this machine: MONITOR (3), VMX (5), SMX (6), EIST (7), TM2 (8), CNXT-ID (10),
/// SDBG (11), xTPR (14), DCA (18), TSC-deadline (24), OSXSAVE (27: KVM sets it with CR4).
const LEAF_1_ECX_ABSENT: u32 = bits([3, 5, 6, 7, 8, 10, 11, 14, 18, 24, 27]);
/// Leaf 1 EDX, not in this machine: PSN (18), ACPI (22), SS (27), HTT (28), TM (29), PBE (31).
const LEAF_1_EDX_ABSENT: u32 = bits([18, 22, 27, 28, 29, 31]);

/// Leaf 1 without what the vPMU decides.
pub(super) fn leaf_1(host: CpuidResult, apic: &ApicConfig) -> CpuidResult {
    let x2apic = if apic.x2apic { X2APIC } else { 0 };
    CpuidResult {
        eax: 0,
        // No brand index; CLFLUSH of 64 bytes (8 x 8); one logical CPU; initial APIC ID.
        ebx: (apic.id & 0xFF) << 24 | 1 << 16 | host.ebx & 0xFF00,
        ecx: host.ecx & !(LEAF_1_ECX_ABSENT | X2APIC) | x2apic | HYPERVISOR,
        edx: host.edx & !LEAF_1_EDX_ABSENT | APIC,
    }
}

/// Leaf 6: our APIC timer never stops, and nothing else.
pub(super) fn leaf_6(_host: CpuidResult) -> CpuidResult {
    CpuidResult { eax: ARAT, ..CpuidResult::default() }
}

/// Leaf 7.0 EBX, not in this machine: SGX (2), RDT-M (12), MPX (14), RDT-A (15), PT (25).
const LEAF_7_EBX_ABSENT: u32 = bits([2, 12, 14, 15, 25]);
/// Leaf 7.0 ECX, not in this machine: TME (13), SGX_LC (30).
const LEAF_7_ECX_ABSENT: u32 = bits([13, 30]);
/// Leaf 7.0 EDX, not in this machine: PCONFIG (18).
const LEAF_7_EDX_ABSENT: u32 = bits([18]);

/// Leaf 7.0 without what the vPMU decides.
pub(super) fn leaf_7(host: CpuidResult) -> CpuidResult {
    CpuidResult {
        eax: host.eax,
        ebx: host.ebx & !LEAF_7_EBX_ABSENT,
        ecx: host.ecx & !LEAF_7_ECX_ABSENT,
        edx: host.edx & !LEAF_7_EDX_ABSENT,
    }
}

/// Leaves 0BH and 1FH: one thread in one core, and the end mark. No APIC ID bits select a thread or
/// core (EAX = 0).
pub(super) fn topology(apic_id: u32) -> [CpuidResult; 3] {
    const THREAD: u32 = 1;
    const CORE: u32 = 2;
    let level = |number: u32, kind: u32, cpus: u32| CpuidResult {
        eax: 0,
        ebx: cpus,
        ecx: kind << 8 | number,
        edx: apic_id,
    };
    [level(0, THREAD, 1), level(1, CORE, 1), level(2, 0, 0)]
}

/// Leaf 8000_0001H ECX on Intel CPUs: LAHF (0), LZCNT (5), PREFETCHW (8).
const EXTENDED_ECX: u32 = bits([0, 5, 8]);
/// Leaf 8000_0001H EDX on Intel CPUs: SYSCALL (11), NX (20), 1 GiB pages (26), RDTSCP (27), LM (29).
/// AMD repeats much of leaf 1 there.
const EXTENDED_EDX: u32 = bits([11, 20, 26, 27, 29]);

pub(super) fn leaf_8000_0001(host: CpuidResult, amd: bool) -> CpuidResult {
    let topology = if amd { TOPOEXT } else { 0 };
    CpuidResult { eax: 0, ebx: 0, ecx: host.ecx & EXTENDED_ECX | topology, edx: host.edx & EXTENDED_EDX }
}

/// Leaf 8000_0007H: the TSC alone.
pub(super) fn leaf_8000_0007(host: CpuidResult) -> CpuidResult {
    CpuidResult { edx: host.edx & INVARIANT_TSC, ..CpuidResult::default() }
}

/// Leaf 8000_0008H: address sizes, and WBNOINVD (EBX bit 9). No more physical bits than the host has,
/// and no more than the APIC model believes in.
pub(super) fn leaf_8000_0008(host: CpuidResult, apic: &ApicConfig) -> CpuidResult {
    let physical = match host.eax & 0xFF {
        0 => u32::from(apic.physical_address_bits),
        host => host.min(u32::from(apic.physical_address_bits)),
    };
    let linear = match host.eax >> 8 & 0xFF {
        0 => 48,
        host => host,
    };
    CpuidResult { eax: linear << 8 | physical, ebx: host.ebx & 1 << 9, ecx: 0, edx: 0 }
}
