//! Profiles: the CPUs whose PMU can be shown to a guest.
//!
//! A profile is data. Branch records need an engine that reports branches; for one that does not, take
//! [`Profile::without_lbr`]. PEBS needs one that writes its records: the bits of PERF_CAPABILITIES and CPUID that
//! announce it are 0 but for [`Profile::with_pebs`]. There is no branch trace store.

use crate::event::{Encoding, EventCode, EventTable, MatrixEvent};
use crate::lbr::MAX_DEPTH;
use crate::register::intel::{MiscEnable, PerfCapabilities};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};

/// One line for each file: the profiles in it.
macro_rules! profiles {
    ($($file:ident: $($profile:ident),+;)*) => {
        $(
            mod $file;
            pub use $file::{$($profile),+};
        )*

        /// Every built-in profile.
        pub static PROFILES: &[&Profile] = &[$($(&$profile),+),*];
    };
}

profiles! {
    skylake_sp: SKYLAKE_SP;
    cascade_lake: CASCADE_LAKE;
    icelake_client: ICELAKE_CLIENT;
    icelake_sp: ICELAKE_SP;
    tiger_lake: TIGER_LAKE;
    rocket_lake: ROCKET_LAKE;
    alder_lake_p: ALDER_LAKE_P;
    sapphire_rapids: SAPPHIRE_RAPIDS;
    emerald_rapids: EMERALD_RAPIDS;
    granite_rapids: GRANITE_RAPIDS;
    lunar_lake_p: LUNAR_LAKE_P;
    zen: ZEN2, ZEN3, ZEN4, ZEN5;
    falkor: FALKOR;
}

/// Most general-purpose counters that a profile may have.
pub const MAX_GP: usize = 10;
/// Most fixed-function counters that a profile may have.
pub const MAX_FIXED: usize = 4;

/// Linux' name of Falkor's PMU.
const FALKOR_PMU: &str = "qcom_pmuv3_0";

/// Which last branch records a CPU has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LbrKind {
    /// None.
    None,
    /// The model-specific stack of LBR_FMT 5, 32 deep.
    Legacy,
    /// The architectural stack.
    Architectural {
        /// Bit n: a depth of 8·(n + 1) is possible, at most [`MAX_DEPTH`]; CPUID.1CH:EAX
        /// bits 7:0.
        depths: u8,
    },
    /// AMD: one record of the last branch, which DBG_CTL_MSR switches on.
    LastBranch,
    /// AMD: the last branch, and the stack of LbrExtV2.
    ExtV2 {
        /// Records of the stack, at most [`MAX_DEPTH`]; CPUID.8000_0022H:EBX bits 9:4.
        depth: u8,
    },
}

impl LbrKind {
    /// PERF_CAPABILITIES.LBR_FMT of the model-specific stack.
    pub const LEGACY_FORMAT: u64 = 5;
    /// PERF_CAPABILITIES.LBR_FMT of the architectural stack.
    pub const ARCHITECTURAL_FORMAT: u64 = 0x3F;

    /// PERF_CAPABILITIES.LBR_FMT that announces these records.
    #[must_use]
    pub fn format(self) -> u64 {
        match self {
            Self::Legacy => Self::LEGACY_FORMAT,
            Self::Architectural { .. } => Self::ARCHITECTURAL_FORMAT,
            Self::None | Self::LastBranch | Self::ExtV2 { .. } => 0,
        }
    }

    /// Number of records of the deepest stack.
    #[must_use]
    pub fn max_depth(self) -> u64 {
        match self {
            Self::None | Self::LastBranch => 0,
            Self::ExtV2 { depth } => u64::from(depth).min(MAX_DEPTH as u64),
            Self::Legacy => MAX_DEPTH as u64,
            Self::Architectural { depths } => {
                u64::from(8 * (u8::BITS - depths.leading_zeros())).clamp(8, MAX_DEPTH as u64)
            }
        }
    }

    /// True for a value that IA32_LBR_DEPTH takes.
    #[must_use]
    pub fn supports_depth(self, depth: u64) -> bool {
        match self {
            Self::Architectural { depths } => {
                (8..=self.max_depth()).contains(&depth)
                    && depth.is_multiple_of(8)
                    && u64::from(depths) >> (depth / 8 - 1) & 1 != 0
            }
            Self::None | Self::Legacy | Self::LastBranch | Self::ExtV2 { .. } => false,
        }
    }
}

/// The most of the instruction sets of an x86-64 CPU that a guest is shown: the levels of the x86-64 psABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Isa {
    /// Up to SSE4.2.
    V2,
    /// AVX, AVX2, FMA, BMI.
    V3,
    /// AVX-512 too: all that the CPU has.
    #[default]
    V4,
}

impl Isa {
    /// All, the lowest first.
    pub const ALL: [Self; 3] = [Self::V2, Self::V3, Self::V4];

    /// `v2`, `v3`, `v4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3 => "v3",
            Self::V4 => "v4",
        }
    }
}

/// A CPU whose PMU is shown to the guest.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Name on the command line, for example `icelake-sp`.
    pub name: Cow<'static, str>,
    /// One line for humans.
    pub summary: Cow<'static, str>,
    /// Name of the core, for example `Sunny Cove`, by which `--detail timing` finds the model of its pipeline.
    /// Generations with the same pipeline share a name.
    pub core: &'static str,
    /// CPUID.01H:EAX: family, model, stepping. Of an Arm CPU MIDR_EL1.
    pub signature: u32,
    /// General-purpose counters, at most [`MAX_GP`].
    pub gp_counters: u8,
    /// Width of a general-purpose counter in bits, at most 63.
    pub gp_width: u8,
    /// Last branch records.
    pub lbr: LbrKind,
    /// Issue slots per core cycle with one active hardware thread.
    pub slots_per_cycle: u8,
    /// Nominal TSC rate in Hz; of an Arm CPU the nominal rate of the core.
    pub tsc_hz: u64,
    /// Clock of the local APIC's timer in Hz; on Intel the core crystal, CPUID.15H:ECX. Of an Arm CPU the clock of the
    /// generic timer, CNTFRQ_EL0.
    pub crystal_hz: u32,
    /// The most of its instruction sets that is shown; the CPU of an Arm profile has no such levels.
    pub isa: Isa,
    /// Encodings of the events.
    pub events: EventTable,
    /// What only this vendor's PMU has.
    pub pmu: PmuKind,
}

/// The vendor's PMU architecture.
#[derive(Debug, Clone)]
pub enum PmuKind {
    /// Intel architectural performance monitoring.
    Intel(IntelPmu),
    /// AMD core performance counters.
    Amd(AmdPmu),
    /// Arm's PMUv3.
    Arm(ArmPmu),
}

/// An instruction set, with what a guest finds of the PMU around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// Registers are MSRs, CPUID announces them, the PMU requests PMIs.
    X86_64,
    /// Registers are system registers, ID registers announce them, the PMU has an interrupt line.
    Aarch64,
}

impl Architecture {
    /// The built-in profiles of CPUs with this instruction set.
    pub fn profiles(self) -> impl Iterator<Item = &'static Profile> {
        PROFILES.iter().copied().filter(move |profile| profile.architecture() == self)
    }
}

/// Who made the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vendor {
    /// GenuineIntel.
    Intel,
    /// AuthenticAMD.
    Amd,
    /// MIDR_EL1.Implementer 51H.
    Qualcomm,
}

impl Vendor {
    /// Every vendor.
    pub const ALL: [Self; 3] = [Self::Intel, Self::Amd, Self::Qualcomm];

    /// The vendor's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Intel => "Intel",
            Self::Amd => "AMD",
            Self::Qualcomm => "Qualcomm",
        }
    }

    /// The instruction set of the CPUs here.
    #[must_use]
    pub const fn architecture(self) -> Architecture {
        match self {
            Self::Intel | Self::Amd => Architecture::X86_64,
            Self::Qualcomm => Architecture::Aarch64,
        }
    }

    /// The vendors of CPUs with an instruction set.
    pub fn of(architecture: Architecture) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |vendor| vendor.architecture() == architecture)
    }

    /// The twelve characters of CPUID leaf 0, in the order EBX, EDX, ECX; `None` for CPUs without CPUID.
    #[must_use]
    pub const fn signature(self) -> Option<&'static [u8; 12]> {
        match self {
            Self::Intel => Some(b"GenuineIntel"),
            Self::Amd => Some(b"AuthenticAMD"),
            Self::Qualcomm => None,
        }
    }
}

/// The PMU of an Intel CPU, as CPUID leaf 0AH and IA32_PERF_CAPABILITIES describe it.
#[derive(Debug, Clone)]
pub struct IntelPmu {
    /// Architectural perfmon version, CPUID.0AH:EAX bits 7:0.
    pub version: u8,
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
    /// CPUID.23H.0:EBX bit 0: unit masks of 16 bits. Needs version 6.
    pub umask2: bool,
    /// CPUID.1CH:ECX bits 19:16: general-purpose counters whose events are logged with architectural branch records.
    pub lbr_event_logging: u8,
    /// CPUID.1AH:EAX of a core of a hybrid part: its type in bits 31:24 (40H Core, 20H Atom), its native model ID in
    /// bits 23:0. CPUID.07H:EDX bit 15 announces it. 0: not hybrid.
    pub hybrid_core: u32,
    /// IA32_PERF_CAPABILITIES.
    pub perf_capabilities: PerfCapabilities,
    /// The PEBS of its silicon, which [`Profile::with_pebs`] shows.
    pub pebs: PebsKind,
    /// PERF_METRICS: 0 none, 1 four fields, 2 eight fields.
    pub metrics_level: u8,
    /// Valid bits of OFFCORE_RSP_0/1; 0 when they do not exist.
    pub offcore_rsp_mask: u64,
    /// Valid bits of the load latency threshold; 0 when it does not exist.
    pub ld_lat_mask: u64,
    /// Valid bits of the front-end event register; 0 when it does not exist.
    pub frontend_mask: u64,
}

/// Which PEBS records a CPU writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PebsKind {
    /// None, or of a format that is not built.
    Unknown,
    /// Format 3: records of 200 bytes, on general-purpose counters (Skylake).
    Format3,
    /// Format 4: adaptive records, on every counter (Ice Lake on).
    Adaptive,
}

/// The PMU of an AMD CPU.
#[derive(Debug, Clone)]
pub struct AmdPmu {
    /// PerfCtrExtCore, CPUID.8000_0001H:ECX bit 23: six counters and the addresses from C001_0200H.
    pub ext_core: bool,
    /// PerfMonV2, CPUID.8000_0022H:EAX bit 0: the global registers.
    pub v2: bool,
    /// LbrAndPmcFreeze, CPUID.8000_0022H:EAX bit 2. Needs `v2`.
    pub freeze: bool,
    /// An odd counter can be merged with the even one below it (event FFFH, Family 17h on). Needs `ext_core`.
    pub merge: bool,
    /// DebugCtl bit 2 is the bus-lock trap, which is not offered. Before it, bits 5:2 are pin controls.
    pub bus_lock_trap: bool,
    /// Most occurrences that one counter adds in a core cycle; merged pairs add up to 255.
    pub increment_limit: u8,
    /// Instruction-based sampling of its silicon, CPUID.8000_001BH:EAX; 0 where there is none.
    pub ibs: u32,
    /// IBS is announced and its registers exist: [`Profile::with_ibs`].
    pub shows_ibs: bool,
}

/// What becomes of accesses to counters that the CPU does not have, which the Arm ARM leaves constrained unpredictable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeyondLast {
    /// The instruction is UNDEFINED, as KVM has it.
    Undefined,
    /// Reads as 0, writes are ignored, as QEMU has it for counters that PMSELR_EL0 selects.
    Zero,
}

/// The PMU of an Arm CPU: PMUv3 as ID_AA64DFR0_EL1 and PMCR_EL0 describe it, and Falkor's matrix.
#[derive(Debug, Clone)]
pub struct ArmPmu {
    /// ID_AA64DFR0_EL1.PMUVer: 1 for PMUv3, 4 for its form in Armv8.1 with event numbers of 16 bits.
    pub version: u8,
    /// PMCR_EL0.IMP.
    pub implementer: u8,
    /// PMCR_EL0.IDCODE.
    pub id_code: u8,
    /// EL0 or EL1 can execute AArch32: PMCR_EL0.LC can be 0, and then D works. Otherwise LC is RES1.
    pub aarch32: bool,
    /// PMSELR_EL0.SEL names a counter that does not exist, and PMXEVTYPER_EL0 or PMXEVCNTR_EL0 is accessed; also the
    /// cycle counter by PMXEVCNTR_EL0.
    pub selected_beyond: BeyondLast,
    /// PMEVTYPERn_EL0 or PMEVCNTRn_EL0 of a counter that does not exist.
    pub direct_beyond: BeyondLast,
    /// Falkor's matrix of implementation-defined events: PMRESRn_EL0 and PMXEVCNTCR_EL0.
    pub matrix: bool,
    /// After every reset, what the architecture leaves unknown in the matrix' registers holds pseudorandom bits that
    /// follow from this seed, so that software that relies on zeros fails. `None`: zeros.
    pub poison: Option<u64>,
}

impl Profile {
    /// The built-in profile of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PROFILES.iter().copied().find(|profile| profile.name == name)
    }

    /// The Intel part, if it is an Intel CPU.
    #[must_use]
    pub fn intel(&self) -> Option<&IntelPmu> {
        match &self.pmu {
            PmuKind::Intel(pmu) => Some(pmu),
            PmuKind::Amd(_) | PmuKind::Arm(_) => None,
        }
    }

    /// The AMD part, if it is an AMD CPU.
    #[must_use]
    pub fn amd(&self) -> Option<&AmdPmu> {
        match &self.pmu {
            PmuKind::Amd(pmu) => Some(pmu),
            PmuKind::Intel(_) | PmuKind::Arm(_) => None,
        }
    }

    /// The Arm part, if it is an Arm CPU.
    #[must_use]
    pub fn arm(&self) -> Option<&ArmPmu> {
        match &self.pmu {
            PmuKind::Arm(pmu) => Some(pmu),
            PmuKind::Intel(_) | PmuKind::Amd(_) => None,
        }
    }

    /// The instruction set of the CPU.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.vendor().architecture()
    }

    /// The event that perf's `config` of a raw event asks for. On Falkor that is the number of a common event, or
    /// 0xPRCCG of the matrix as the RFC V2 of its patch has it.
    #[must_use]
    pub fn code_of_config(&self, config: u64) -> EventCode {
        match self.pmu {
            PmuKind::Intel(_) => EventCode::from_evtsel(config),
            PmuKind::Amd(_) => EventCode::from_perf_ctl(config),
            PmuKind::Arm(_) => MatrixEvent::code_of_number(config),
        }
    }

    /// perf's `config` of a raw event, without what says where and how to count.
    #[must_use]
    pub fn config_of_code(&self, code: EventCode) -> u64 {
        match (&self.pmu, MatrixEvent::from_code(code)) {
            (PmuKind::Intel(_) | PmuKind::Amd(_), _) => code.to_evtsel_bits(),
            (PmuKind::Arm(_), Some(event)) => event.number().into(),
            (PmuKind::Arm(_), None) => code.select.into(),
        }
    }

    /// perf's notation of a code.
    #[must_use]
    pub fn perf_code(&self, code: EventCode) -> String {
        match (&self.pmu, MatrixEvent::from_code(code)) {
            (PmuKind::Intel(_) | PmuKind::Amd(_), _) => code.to_string(),
            (PmuKind::Arm(_), Some(event)) => format!("{FALKOR_PMU}/config={event}/"),
            (PmuKind::Arm(_), None) => format!("{FALKOR_PMU}/event={:#x}/", code.select),
        }
    }

    /// perf's notation of an event, with the extra register that it may need.
    #[must_use]
    pub fn perf_event(&self, encoding: &Encoding) -> String {
        if encoding.extra.is_some() { encoding.to_string() } else { self.perf_code(encoding.code) }
    }

    /// Who made the CPU.
    #[must_use]
    pub fn vendor(&self) -> Vendor {
        match self.pmu {
            PmuKind::Intel(_) => Vendor::Intel,
            PmuKind::Amd(_) => Vendor::Amd,
            PmuKind::Arm(_) => Vendor::Qualcomm,
        }
    }

    /// The same CPU with a changed Intel part; one of another vendor stays as it is.
    #[must_use]
    pub fn with_intel(mut self, change: impl FnOnce(&mut IntelPmu)) -> Self {
        match &mut self.pmu {
            PmuKind::Intel(pmu) => change(pmu),
            PmuKind::Amd(_) | PmuKind::Arm(_) => {}
        }
        self
    }

    /// Fixed-function counters: on an Arm CPU one, the cycle counter.
    #[must_use]
    pub fn fixed_counters(&self) -> u8 {
        match &self.pmu {
            PmuKind::Intel(pmu) => pmu.fixed_counters,
            PmuKind::Amd(_) => 0,
            PmuKind::Arm(_) => 1,
        }
    }

    /// Width of a fixed-function counter in bits; 0 without such counters.
    #[must_use]
    pub fn fixed_width(&self) -> u8 {
        match &self.pmu {
            PmuKind::Intel(pmu) => pmu.fixed_width,
            PmuKind::Amd(_) => 0,
            PmuKind::Arm(_) => 64,
        }
    }

    /// PERF_METRICS: 0 none, 1 four fields, 2 eight fields.
    #[must_use]
    pub fn metrics_level(&self) -> u8 {
        self.intel().map_or(0, |pmu| pmu.metrics_level)
    }

    /// The same CPU with a changed AMD part; one of another vendor stays as it is.
    #[must_use]
    pub fn with_amd(mut self, change: impl FnOnce(&mut AmdPmu)) -> Self {
        match &mut self.pmu {
            PmuKind::Amd(pmu) => change(pmu),
            PmuKind::Intel(_) | PmuKind::Arm(_) => {}
        }
        self
    }

    /// The same CPU with a changed Arm part; one of another vendor stays as it is.
    #[must_use]
    pub fn with_arm(mut self, change: impl FnOnce(&mut ArmPmu)) -> Self {
        match &mut self.pmu {
            PmuKind::Arm(pmu) => change(pmu),
            PmuKind::Intel(_) | PmuKind::Amd(_) => {}
        }
        self
    }

    /// The same CPU without last branch records: LBR_FMT is 0, and CPUID does not announce any.
    #[must_use]
    pub fn without_lbr(self) -> Self {
        self.with_lbr(LbrKind::None)
    }

    /// The same CPU with other last branch records; LBR_FMT follows.
    #[must_use]
    pub fn with_lbr(mut self, lbr: LbrKind) -> Self {
        self.lbr = lbr;
        self.with_intel(|pmu| {
            pmu.perf_capabilities.set_lbr_fmt(lbr.format());
        })
    }

    /// The same CPU with the PEBS of its silicon in PERF_CAPABILITIES. The embedder then has to write the records
    /// that fall due: [`Vpmu::pebs_due`](crate::Vpmu::pebs_due). Changes nothing where the format is unknown, and on
    /// CPUs of other vendors.
    #[must_use]
    pub fn with_pebs(self) -> Self {
        self.with_intel(|pmu| {
            let capabilities = pmu.perf_capabilities.with_pebs_trap(true).with_pebs_arch_reg(true);
            pmu.perf_capabilities = match pmu.pebs {
                PebsKind::Unknown => return,
                PebsKind::Format3 => capabilities.with_pebs_format(3),
                PebsKind::Adaptive => capabilities.with_pebs_format(4).with_pebs_baseline(true),
            };
        })
    }

    /// The same CPU with the instruction-based sampling of its silicon. The embedder then has to say what was sampled
    /// ([`Vpmu::ibs_sample`](crate::Vpmu::ibs_sample)), and to have the four entries of the extended local vector table
    /// in its local APIC (CPUID.8000_0001H:ECX bit 3). Changes nothing on CPUs of other vendors.
    #[must_use]
    pub fn with_ibs(self) -> Self {
        self.with_amd(|pmu| pmu.shows_ibs = pmu.ibs != 0)
    }

    /// Instruction-based sampling is announced.
    #[must_use]
    pub fn has_ibs(&self) -> bool {
        self.amd().is_some_and(|pmu| pmu.shows_ibs)
    }

    /// The same CPU with the precise sampling of its silicon: [`with_pebs`](Self::with_pebs) or
    /// [`with_ibs`](Self::with_ibs).
    #[must_use]
    pub fn with_precise_sampling(self) -> Self {
        self.with_pebs().with_ibs()
    }

    /// PEBS or IBS is announced.
    #[must_use]
    pub fn has_precise_sampling(&self) -> bool {
        self.has_pebs() || self.has_ibs()
    }

    /// Counters that can write PEBS records, as bits of IA32_PEBS_ENABLE: before adaptive PEBS its upper half is about
    /// the latency of loads.
    #[must_use]
    pub fn pebs_counters(&self) -> u64 {
        let Some(pmu) = self.intel().filter(|_| self.has_pebs()) else { return 0 };
        let gp = crate::bits::low_bits(u32::from(self.gp_counters));
        let fixed = crate::bits::low_bits(u32::from(pmu.fixed_counters)) << 32;
        gp | if pmu.perf_capabilities.pebs_baseline() { fixed } else { 0 }
    }

    /// PERF_CAPABILITIES announces PEBS.
    #[must_use]
    pub fn has_pebs(&self) -> bool {
        self.intel().is_some_and(|pmu| pmu.perf_capabilities.pebs_format() != 0)
    }

    /// GLOBAL_CTRL after RESET: every general-purpose counter, no fixed one.
    #[must_use]
    pub fn global_ctrl_reset(&self) -> u64 {
        crate::bits::low_bits(u32::from(self.gp_counters))
    }

    /// IA32_MISC_ENABLE after RESET: fast strings are on, there is perfmon, no branch trace store, and PEBS if it is
    /// announced.
    #[must_use]
    pub fn misc_enable_reset(&self) -> u64 {
        MiscEnable(0)
            .with_fast_strings(true)
            .with_perfmon_available(true)
            .with_bts_unavailable(true)
            .with_pebs_unavailable(!self.has_pebs())
            .0
    }

    /// CPU family and model as the SDM computes them from the signature; of an Arm CPU the implementer and the part
    /// number of MIDR_EL1.
    #[must_use]
    pub fn family_model(&self) -> (u32, u32) {
        if self.architecture() == Architecture::Aarch64 {
            return (self.signature >> 24, self.signature >> 4 & 0xFFF);
        }
        let family = (self.signature >> 8) & 0xF;
        let model = (self.signature >> 4) & 0xF | (self.signature >> 12) & 0xF0;
        let extended = if family == 0xF { (self.signature >> 20) & 0xFF } else { 0 };
        (family + extended, model)
    }
}
