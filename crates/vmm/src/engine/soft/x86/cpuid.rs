//! CPUID of the soft engine: what the interpreter implements, in the CPU of the profile.

use crate::engine::cpuid::{APIC, ARAT, HYPERVISOR, INVARIANT_TSC, TOPOEXT, X2APIC};
use crate::engine::{SIGNATURE, caches, frequency, instruction_sets};
use soft_cpu::silicon::Silicon;
use soft_cpu::{CpuidLeaf, Features};
use vpmu::Profile;
use vpmu::cpuid::CpuidResult;
use vpmu::profile::{LbrKind, Vendor};

/// Leaf 07H EDX: IA32_ARCH_CAPABILITIES exists.
const ARCH_CAPABILITIES: u32 = 1 << 29;
/// First leaf of the hypervisor range.
const HYPERVISOR_LEAF: u32 = 0x4000_0000;
/// Highest basic leaf: base and bus frequencies.
const MAX_BASIC: u32 = 0x16;
/// Architectural last branch records, where the profile has them.
const LBR_LEAF: u32 = 0x1C;
/// Of the one CPU, as in leaf 1.
const APIC_ID: u32 = 0;
/// The brand string's first leaf.
const BRAND: u32 = 0x8000_0002;

/// Whose silicon the profile's CPU is.
pub(in crate::engine) fn silicon(profile: &Profile) -> Silicon {
    match profile.vendor() {
        Vendor::Intel => Silicon::Intel,
        Vendor::Amd => match profile.core {
            "Zen 5" => Silicon::Zen5,
            "Zen 4" => Silicon::Zen4,
            _ => Silicon::Zen3,
        },
        // No x86 CPU: a run with its profile does not begin.
        Vendor::Qualcomm => Silicon::Intel,
    }
}

/// The instructions that the guest's CPU has.
pub(super) fn features(profile: &Profile) -> Features {
    Features::of(|number, subleaf| leaf(profile, false, number, subleaf))
}

/// One leaf as the guest sees it.
pub(super) fn leaf(profile: &Profile, x2apic: bool, leaf: u32, subleaf: u32) -> CpuidLeaf {
    let CpuidLeaf { eax, ebx, ecx, edx } = soft_cpu::cpuid::leaf(leaf, subleaf);
    let mut own = instruction_sets::announced(profile, leaf, subleaf, CpuidResult { eax, ebx, ecx, edx });
    if profile.vendor() == Vendor::Amd {
        own = amd(leaf, own);
    }
    if let Some(described) = caches::leaf(profile, APIC_ID, leaf, subleaf) {
        own = described;
    }
    match leaf {
        0 if profile.vendor() == Vendor::Amd => {}
        0 if matches!(profile.lbr, LbrKind::Architectural { .. }) => own.eax = LBR_LEAF,
        0 => own.eax = MAX_BASIC,
        1 => {
            own.edx |= APIC;
            own.ecx |= HYPERVISOR | if x2apic { X2APIC } else { 0 };
        }
        6 => own.eax = ARAT,
        7 if subleaf == 0 && profile.vendor() == Vendor::Intel => own.edx |= ARCH_CAPABILITIES,
        0x15 => own = frequency::leaf_15(profile.crystal_hz.into(), tsc_khz(profile)),
        0x16 => own = frequency::leaf_16(tsc_khz(profile)),
        HYPERVISOR_LEAF => {
            let word = |n: usize| {
                u32::from_le_bytes([SIGNATURE[n], SIGNATURE[n + 1], SIGNATURE[n + 2], SIGNATURE[n + 3]])
            };
            own = CpuidResult { eax: HYPERVISOR_LEAF, ebx: word(0), ecx: word(4), edx: word(8) };
        }
        0x8000_0002..=0x8000_0004 => {
            own = instruction_sets::brand_string(profile)[(leaf - BRAND) as usize % 3];
        }
        _ => {}
    }
    let CpuidResult { eax, ebx, ecx, edx } = vpmu::cpuid::patch(profile, leaf, subleaf, own);
    CpuidLeaf { eax, ebx, ecx, edx }
}

/// What AMD CPUs have and Intel's do not, without caches.
fn amd(leaf: u32, own: CpuidResult) -> CpuidResult {
    match leaf {
        0x8000_0000 => CpuidResult { eax: own.eax.max(caches::MAX_AMD), ..own },
        0x8000_0001 => CpuidResult { ecx: own.ecx | TOPOEXT, ..own },
        0x8000_0007 => CpuidResult { edx: own.edx | INVARIANT_TSC, ..own },
        _ => own,
    }
}

fn tsc_khz(profile: &Profile) -> u32 {
    u32::try_from(profile.tsc_hz / 1000).unwrap_or(0)
}
