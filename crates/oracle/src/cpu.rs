//! Which CPU it is: of the host, or of a recording.

use serde::{Deserialize, Serialize};
use soft_cpu::silicon::Silicon;
use std::fmt;
use std::path::Path;

/// A CPU by its CPUID signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuId {
    /// Its vendor is AMD; otherwise it is Intel.
    pub amd: bool,
    /// Family, with the extended family.
    pub family: u16,
    /// Model, with the extended model.
    pub model: u8,
    /// Stepping.
    pub stepping: u8,
}

/// A core whose CPU a recording of the repository or `cargo xtask oracle` has been compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownCore {
    /// As file names have it.
    pub name: &'static str,
    /// As it is called.
    pub title: &'static str,
    amd: bool,
    family: u16,
    /// First and last model, and the first stepping.
    models: (u8, u8, u8),
}

/// Its first model.
const GRANITE_RAPIDS: u8 = 173;

/// The cores that are known (signatures: Linux, arch/x86/include/asm/intel-family.h and arch/x86/kernel/cpu/amd.c).
pub const CORES: [KnownCore; 6] = [
    // Steppings below 5 are Skylake.
    KnownCore {
        name: "cascade-lake",
        title: "Intel Cascade Lake",
        amd: false,
        family: 6,
        models: (85, 85, 5),
    },
    KnownCore {
        name: "emerald-rapids",
        title: "Intel Emerald Rapids",
        amd: false,
        family: 6,
        models: (207, 207, 0),
    },
    KnownCore {
        name: "granite-rapids",
        title: "Intel Granite Rapids",
        amd: false,
        family: 6,
        models: (GRANITE_RAPIDS, 174, 0),
    },
    KnownCore { name: "zen3", title: "AMD Zen 3", amd: true, family: 25, models: (0, 15, 0) },
    KnownCore { name: "zen4", title: "AMD Zen 4", amd: true, family: 25, models: (16, 31, 0) },
    KnownCore { name: "zen5", title: "AMD Zen 5", amd: true, family: 26, models: (0, 31, 0) },
];

/// There is no telling which vendor's rules the CPU of a recording follows.
#[derive(Debug, thiserror::Error)]
#[error(
    "the recording does not say which CPU it is of; give the file a name that begins with its core: {}",
    CORES.map(|core| core.name).join(", ")
)]
pub struct UnknownCpu;

impl CpuId {
    /// The host's CPU. `None` if neither Intel nor AMD made it, or it is no x86.
    #[must_use]
    pub fn host() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{__cpuid, __cpuid_count};
            let leaf = __cpuid(0);
            let mut name = [0; 12];
            for (bytes, word) in name.chunks_exact_mut(4).zip([leaf.ebx, leaf.edx, leaf.ecx]) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            let amd = match &name {
                b"GenuineIntel" => false,
                b"AuthenticAMD" | b"HygonGenuine" => true,
                _ => return None,
            };
            let cpu = Self::from_signature(amd, __cpuid(1).eax);
            Some(Self { model: cpu.undisguised(__cpuid_count(7, 0).edx, __cpuid_count(4, 1)), ..cpu })
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// The model, where a hypervisor shows that of Rocket Lake with what only Granite Rapids has: AMX (EDX of leaf 7 of
    /// CPUID) and 64 KiB of L1I (leaf 4; Sapphire Rapids and Emerald Rapids have 32).
    #[cfg(target_arch = "x86_64")]
    fn undisguised(self, features: u32, l1i: std::arch::x86_64::CpuidResult) -> u8 {
        const ROCKET_LAKE: u8 = 167;
        const AMX_TILE: u32 = 1 << 24;
        let field = |value: u32, shift: u32, bits: u32| u64::from(value >> shift & ((1 << bits) - 1)) + 1;
        let ways = field(l1i.ebx, 22, 10) * field(l1i.ebx, 12, 10) * field(l1i.ebx, 0, 12);
        let size = ways * (u64::from(l1i.ecx) + 1);
        let granite = !self.amd && self.family == 6 && features & AMX_TILE != 0 && size == 64 << 10;
        if granite && self.model == ROCKET_LAKE { GRANITE_RAPIDS } else { self.model }
    }

    /// From EAX of CPUID leaf 1 (SDM volume 2, figure 3-6).
    fn from_signature(amd: bool, eax: u32) -> Self {
        let field = |shift: u32, mask: u32| (eax >> shift & mask) as u8;
        let base = field(8, 15);
        let family = u16::from(base) + if base == 15 { u16::from(field(20, 0xFF)) } else { 0 };
        let extended = if matches!(base, 6 | 15) { field(16, 15) << 4 } else { 0 };
        Self { amd, family, model: field(4, 15) | extended, stepping: field(0, 15) }
    }

    /// The CPU of a core that a file is named after: `cascade-lake-differs.bin`.
    ///
    /// # Errors
    /// The name begins with no core's.
    pub fn from_file_name(path: &Path) -> Result<Self, UnknownCpu> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let core = CORES.iter().find(|core| name.starts_with(core.name)).ok_or(UnknownCpu)?;
        let (model, _, stepping) = core.models;
        Ok(Self { amd: core.amd, family: core.family, model, stepping })
    }

    /// Whose rules it follows.
    #[must_use]
    pub fn silicon(&self) -> Silicon {
        match self.family {
            _ if !self.amd => Silicon::Intel,
            ..25 => Silicon::Zen3,
            25 if !matches!(self.model, 0x10..=0x1F | 0x60..=0xAF) => Silicon::Zen3,
            25 => Silicon::Zen4,
            _ => Silicon::Zen5,
        }
    }

    /// The core, if `soft-cpu` has been compared with one.
    #[must_use]
    pub fn core(&self) -> Option<&'static KnownCore> {
        CORES.iter().find(|core| {
            let (first, last, stepping) = core.models;
            core.amd == self.amd
                && core.family == self.family
                && (first..=last).contains(&self.model)
                && self.stepping >= stepping
        })
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, model, stepping, .. } = self;
        match self.core() {
            Some(core) => f.write_str(core.title)?,
            None => f.write_str(if self.amd { "AMD" } else { "Intel" })?,
        }
        write!(f, " (family {family}, model {model}, stepping {stepping})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_name_their_core() {
        let title = |amd, eax| CpuId::from_signature(amd, eax).core().map(|core| core.name);
        assert_eq!(title(false, 0x50657), Some("cascade-lake"));
        assert_eq!(title(false, 0x50654), None, "Skylake");
        assert_eq!(title(false, 0xC06F2), Some("emerald-rapids"));
        assert_eq!(title(false, 0xA06D1), Some("granite-rapids"));
        assert_eq!(title(true, 0xA10F11), Some("zen4"));
        assert_eq!(title(true, 0xB00F21), Some("zen5"));
        assert_eq!(title(true, 0xA00F11), Some("zen3"));
        assert_eq!(title(true, 0xA20F10), None, "Zen 3 of a desktop");
        assert_eq!(title(false, 0xA10F11), None, "not AMD's");
    }

    #[test]
    fn generations_of_family_25_are_told_by_the_model() {
        let silicon = |eax| CpuId::from_signature(true, eax).silicon();
        for (eax, expected) in [
            (0x830F10, Silicon::Zen3),
            (0xA20F10, Silicon::Zen3),
            (0xA40F41, Silicon::Zen3),
            (0xA60F12, Silicon::Zen4),
            (0xAA0F01, Silicon::Zen4),
            (0xB00F21, Silicon::Zen5),
        ] {
            assert_eq!(silicon(eax), expected, "{eax:#x}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_rocket_lake_with_amx_and_a_large_l1i_is_a_granite_rapids() {
        use std::arch::x86_64::CpuidResult;
        let cpu = CpuId::from_signature(false, 0xA0671);
        // Ways, partitions and line size minus 1; sets minus 1.
        let cache = |sets: u32| CpuidResult { eax: 0, ebx: 15 << 22 | 63, ecx: sets - 1, edx: 0 };
        let tile = 1 << 24;
        assert_eq!(cpu.undisguised(tile, cache(64)), 173);
        assert_eq!(cpu.undisguised(0, cache(64)), 167, "no AMX");
        assert_eq!(cpu.undisguised(tile, cache(32)), 167, "32 KiB");
        let emerald = CpuId::from_signature(false, 0xC06F2);
        assert_eq!(emerald.undisguised(tile, cache(64)), 207);
    }

    #[test]
    fn file_names_begin_with_their_core() {
        let of = |name: &str| CpuId::from_file_name(Path::new(name)).map(|cpu| cpu.to_string());
        assert_eq!(
            of("/tmp/cascade-lake-differs.bin").ok().as_deref(),
            Some("Intel Cascade Lake (family 6, model 85, stepping 5)")
        );
        assert!(of("cases.bin").is_err_and(|error| error.to_string().contains("zen4")));
    }
}
