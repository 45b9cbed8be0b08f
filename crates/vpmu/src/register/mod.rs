//! Every PMU register, declared once.
//!
//! A [`Register`] is data: address, instances, access kind and fields. Access checks
//! ([`Register::reserved`], [`Register::stored`]), decoding ([`crate::decode`]), the list of MSRs
//! that a VMM has to trap ([`Profile::trapped_ranges`]) and the register documentation are computed from it.
//! The declarations are in [`intel`], [`amd`] and [`arm`]; an MSR index may stand for a register of each vendor of x86
//! CPUs.

pub mod amd;
pub mod arm;
pub(crate) mod bank;
pub mod cpuid;
pub mod intel;
mod macros;
pub(crate) mod set;
mod trapped;

pub use trapped::{FilterRange, MsrRange, filter_ranges, trapped_ranges};

pub use crate::bits::low_bits;
use crate::bits::{bit, low_u32};
use crate::profile::{AmdPmu, Architecture, ArmPmu, IntelPmu, LbrKind, PmuKind, Profile, Vendor};

/// Identifies a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegisterId {
    /// One of Intel's.
    Intel(intel::RegisterId),
    /// One of AMD's.
    Amd(amd::RegisterId),
    /// One of Arm's, or Falkor's.
    Arm(arm::RegisterId),
}

impl RegisterId {
    /// Whose register it is.
    #[must_use]
    pub const fn vendor(self) -> Vendor {
        match self {
            Self::Intel(_) => Vendor::Intel,
            Self::Amd(_) => Vendor::Amd,
            Self::Arm(_) => Vendor::Qualcomm,
        }
    }
}

/// A condition under which a register or a field exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// In every profile.
    Always,
    /// Architectural perfmon version 2 or later.
    Version2,
    /// Version 4 or later.
    Version4,
    /// Version 6 or later: the addresses from 1900H.
    Version6,
    /// Before version 6.
    BeforeVersion6,
    /// CPUID.23H.0:EBX bit 0: the second half of the unit mask.
    UnitMask2,
    /// Version 3 or later, and AnyThread is not deprecated (CPUID.0AH:EDX bit 15 = 0, as always before version 5).
    AnyThread,
    /// Version 5 or later, and AnyThread is deprecated (CPUID.0AH:EDX bit 15 = 1).
    AnyThreadDeprecated,
    /// PERF_CAPABILITIES bit 13: full-width counter writes.
    FullWidth,
    /// PERF_CAPABILITIES bit 15: PERF_METRICS.
    Metrics,
    /// PERF_METRICS with the four level-2 fields.
    MetricsLevel2,
    /// PERF_CAPABILITIES bit 19: RDPMC of the metrics may clear them.
    MetricsClear,
    /// PERF_CAPABILITIES bit 12: FREEZE_WHILE_SMM.
    FreezeWhileSmm,
    /// PERF_CAPABILITIES bits 11:8 are not 0: PEBS.
    Pebs,
    /// PEBS with PERF_CAPABILITIES bit 14: adaptive records, on every counter.
    PebsBaseline,
    /// PEBS without it.
    PebsBeforeBaseline,
    /// The profile has an offcore response mask.
    OffcoreResponse,
    /// The profile has a load latency threshold.
    LoadLatency,
    /// The profile has a front-end event register.
    Frontend,
    /// The profile has the model-specific stack of branch records.
    LegacyLbr,
    /// It has not.
    NoLegacyLbr,
    /// The profile has the architectural stack of branch records, CPUID.07H:EDX bit 19.
    ArchLbr,
    /// CPUID.1CH:ECX bits 19:16: events of some counters are logged with architectural branch records.
    LbrEventLogging,
    /// They are not.
    NoLbrEventLogging,
    /// The profile has branch records of either kind.
    AnyLbr,
    /// It has none.
    NoLbr,
    /// AMD: core counters 4 and 5 and the addresses from C001_0200H, CPUID.8000_0001H:ECX bit 23.
    ExtCore,
    /// AMD: the global registers, CPUID.8000_0022H:EAX bit 0.
    PerfMonV2,
    /// AMD: freezing on a PMI, CPUID.8000_0022H:EAX bit 2.
    PmcFreeze,
    /// AMD: no freezing.
    NoPmcFreeze,
    /// AMD: DebugCtl bits 5:2 are pin controls, as before the bus-lock trap.
    PinControl,
    /// AMD: DebugCtl bit 2 is the bus-lock trap.
    BusLockTrap,
    /// AMD: the branch record stack, CPUID.8000_0022H:EAX bit 1.
    LbrExtV2,
    /// AMD: instruction-based sampling, CPUID.8000_0001H:ECX bit 10.
    Ibs,
    /// AMD: IBS that can drop samples without a miss of the L3, CPUID.8000_001BH:EAX bit 11.
    IbsL3Miss,
    /// Arm: PMUv3 of Armv8.1 on, with event numbers of 16 bits.
    EventNumbers16,
    /// Arm: AArch32 is there, so that PMCR_EL0.LC can be 0.
    Aarch32,
    /// Arm: AArch64 only.
    NoAarch32,
    /// Falkor's matrix of events.
    Matrix,
}

impl When {
    /// True when `profile` meets the condition.
    #[must_use]
    pub fn holds(self, profile: &Profile) -> bool {
        match &profile.pmu {
            PmuKind::Intel(pmu) => self.holds_on_intel(profile.lbr, pmu),
            PmuKind::Amd(pmu) => self.holds_on_amd(profile.lbr, pmu),
            PmuKind::Arm(pmu) => self.holds_on_arm(pmu),
        }
    }

    fn holds_on_arm(self, pmu: &ArmPmu) -> bool {
        match self {
            Self::Always => true,
            Self::EventNumbers16 => pmu.version >= 4,
            Self::Aarch32 => pmu.aarch32,
            Self::NoAarch32 => !pmu.aarch32,
            Self::Matrix => pmu.matrix,
            _ => false,
        }
    }

    fn holds_on_amd(self, lbr: LbrKind, pmu: &AmdPmu) -> bool {
        match self {
            Self::Always => true,
            Self::ExtCore => pmu.ext_core,
            Self::PerfMonV2 => pmu.v2,
            Self::PmcFreeze => pmu.v2 && pmu.freeze,
            Self::NoPmcFreeze => !Self::PmcFreeze.holds_on_amd(lbr, pmu),
            Self::PinControl => !pmu.bus_lock_trap,
            Self::BusLockTrap => pmu.bus_lock_trap,
            Self::LbrExtV2 => matches!(lbr, LbrKind::ExtV2 { .. }),
            Self::AnyLbr => lbr != LbrKind::None,
            Self::NoLbr => lbr == LbrKind::None,
            Self::Ibs => pmu.shows_ibs,
            Self::IbsL3Miss => pmu.shows_ibs && cpuid::IbsEax::from(pmu.ibs).l3_miss_filter(),
            _ => false,
        }
    }

    fn holds_on_intel(self, lbr: LbrKind, pmu: &IntelPmu) -> bool {
        let caps = pmu.perf_capabilities;
        match self {
            Self::Always => true,
            Self::Version2 => pmu.version >= 2,
            Self::Version4 => pmu.version >= 4,
            Self::Version6 => pmu.version >= 6,
            Self::BeforeVersion6 => pmu.version < 6,
            Self::UnitMask2 => pmu.version >= 6 && pmu.umask2,
            Self::AnyThread => pmu.version >= 3 && !Self::AnyThreadDeprecated.holds_on_intel(lbr, pmu),
            Self::AnyThreadDeprecated => pmu.version >= 5 && pmu.any_thread_deprecated,
            Self::FullWidth => caps.fw_write(),
            Self::Metrics => caps.perf_metrics_available(),
            Self::MetricsLevel2 => caps.perf_metrics_available() && pmu.metrics_level >= 2,
            Self::MetricsClear => caps.perf_metrics_available() && caps.rdpmc_metrics_clear(),
            Self::FreezeWhileSmm => caps.freeze_while_smm(),
            Self::Pebs => caps.pebs_format() != 0,
            Self::PebsBaseline => caps.pebs_format() != 0 && caps.pebs_baseline(),
            Self::PebsBeforeBaseline => caps.pebs_format() != 0 && !caps.pebs_baseline(),
            Self::OffcoreResponse => pmu.offcore_rsp_mask != 0,
            Self::LoadLatency => pmu.ld_lat_mask != 0,
            Self::Frontend => pmu.frontend_mask != 0,
            Self::LegacyLbr => lbr == LbrKind::Legacy,
            Self::NoLegacyLbr => lbr != LbrKind::Legacy,
            Self::ArchLbr => matches!(lbr, LbrKind::Architectural { .. }),
            Self::LbrEventLogging => Self::ArchLbr.holds_on_intel(lbr, pmu) && pmu.lbr_event_logging != 0,
            Self::NoLbrEventLogging => !Self::LbrEventLogging.holds_on_intel(lbr, pmu),
            Self::AnyLbr => lbr != LbrKind::None,
            Self::NoLbr => lbr == LbrKind::None,
            Self::ExtCore
            | Self::PerfMonV2
            | Self::PmcFreeze
            | Self::NoPmcFreeze
            | Self::PinControl
            | Self::BusLockTrap
            | Self::LbrExtV2
            | Self::Ibs
            | Self::IbsL3Miss
            | Self::EventNumbers16
            | Self::Aarch32
            | Self::NoAarch32
            | Self::Matrix => false,
        }
    }
}

/// How often a register or field repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Once.
    Once,
    /// For each general-purpose counter; registers: [`Register::step`] addresses further each, fields: `stride` bits.
    PerGp {
        /// Distance of two repetitions, in bits of the register.
        stride: u8,
    },
    /// For each fixed counter.
    PerFixed {
        /// Distance of two repetitions, in bits of the register.
        stride: u8,
    },
    /// For each branch record; registers only.
    PerLbr,
    /// For each region of Falkor's matrix; registers only.
    PerRegion,
}

impl Repeat {
    /// How many there are in `profile`.
    #[must_use]
    pub fn count(self, profile: &Profile) -> u32 {
        match self {
            Self::Once => 1,
            Self::PerGp { .. } => u32::from(profile.gp_counters),
            Self::PerFixed { .. } => u32::from(profile.fixed_counters()),
            Self::PerLbr => low_u32(profile.lbr.max_depth()),
            Self::PerRegion => crate::event::REGIONS,
        }
    }

    fn stride(self) -> u32 {
        match self {
            Self::Once | Self::PerLbr | Self::PerRegion => 0,
            Self::PerGp { stride } | Self::PerFixed { stride } => u32::from(stride),
        }
    }
}

/// Width of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// A number of bits that is the same in every profile.
    Bits(u8),
    /// As wide as a general-purpose counter.
    GpCounter,
    /// As wide as a fixed counter.
    FixedCounter,
    /// 64 bits, of which those above a linear address are copies of its highest; others raise #GP.
    LinearAddress,
    /// The bits of a mask that the profile gives (event registers such as OFFCORE_RSP).
    OffcoreMask,
    /// The bits of the profile's load latency mask.
    LoadLatencyMask,
    /// The bits of the profile's front-end event mask.
    FrontendMask,
}

/// What a guest write does to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnWrite {
    /// The written bits are stored.
    Store,
    /// Accepted, but the field keeps its value.
    Ignore,
    /// A write that would change the field raises #GP.
    FaultOnChange,
}

/// A field of a register.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Name in the manual's spelling; `{n}` stands for the repetition.
    pub name: &'static str,
    /// One line of explanation.
    pub doc: &'static str,
    /// Lowest bit (of repetition 0).
    pub lsb: u8,
    /// Width of one repetition.
    pub width: Width,
    /// Repetitions inside the register.
    pub repeat: Repeat,
    /// When the field exists; otherwise its bits are reserved.
    pub when: When,
    /// What a write does.
    pub on_write: OnWrite,
}

impl Field {
    /// Mask of one repetition, in place.
    #[must_use]
    pub fn mask_of(&self, repetition: u32, profile: &Profile) -> u64 {
        let bits = match self.width {
            Width::Bits(bits) => low_bits(u32::from(bits)),
            Width::GpCounter => low_bits(u32::from(profile.gp_width)),
            Width::FixedCounter => low_bits(u32::from(profile.fixed_width())),
            Width::LinearAddress => u64::MAX,
            Width::OffcoreMask => profile.intel().map_or(0, |pmu| pmu.offcore_rsp_mask),
            Width::LoadLatencyMask => profile.intel().map_or(0, |pmu| pmu.ld_lat_mask),
            Width::FrontendMask => profile.intel().map_or(0, |pmu| pmu.frontend_mask),
        };
        bits.checked_shl(self.shift_of(repetition)).unwrap_or(0)
    }

    /// Lowest bit of one repetition.
    #[must_use]
    pub fn shift_of(&self, repetition: u32) -> u32 {
        u32::from(self.lsb) + repetition * self.repeat.stride()
    }

    /// Mask of all repetitions that exist in `profile`; 0 when the field does not exist.
    #[must_use]
    pub fn mask(&self, profile: &Profile) -> u64 {
        if !self.when.holds(profile) {
            return 0;
        }
        (0..self.repeat.count(profile)).map(|n| self.mask_of(n, profile)).fold(0, |all, mask| all | mask)
    }
}

/// Who may do what with a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write.
    ReadWrite,
    /// WRMSR raises #GP.
    ReadOnly,
    /// WRMSR is accepted and does nothing.
    WritesDropped,
    /// Each written 1 clears a status bit; reads as 0.
    WriteOneToClear,
    /// Each written 1 sets a status bit; reads as 0.
    WriteOneToSet,
    /// Each written 1 clears a bit; reads all bits.
    ClearBits,
    /// Each written 1 sets a bit; reads all bits.
    SetBits,
    /// A read raises an exception.
    WriteOnly,
    /// None: it is reached through another register. The address is its name in saved states.
    Indirect,
}

/// When EL0 may access a register of an Arm CPU. Where it may not, PMUSERENR_EL0's registers trap to EL1, and others
/// are UNDEFINED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAccess {
    /// Never, as all registers of x86 CPUs at CPL > 0.
    Never,
    /// PMUSERENR_EL0.EN.
    Enabled,
    /// PMUSERENR_EL0.EN or SW.
    SoftwareIncrement,
    /// PMUSERENR_EL0.EN; to read also CR.
    CycleCounter,
    /// PMUSERENR_EL0.EN; to read also ER.
    EventCounter,
    /// PMUSERENR_EL0.EN or ER.
    Select,
    /// Reads always, writes never.
    Read,
    /// PMACTLR_EL0.UEN.
    Matrix,
}

/// What happens to written bits that no field covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// #GP.
    Fault,
    /// They are dropped.
    Ignore,
}

/// Where a register's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// With those of all registers that hold what software wrote.
    Bank,
    /// In a counter.
    Counter,
    /// In the stack of branch records.
    BranchStack,
    /// It has none: it is computed, or only changes another register.
    None,
}

/// A register or a row of like registers.
#[derive(Debug, Clone, Copy)]
pub struct Register {
    /// Which one.
    pub id: RegisterId,
    /// Name in the manual's spelling; `{n}` stands for the instance.
    pub name: &'static str,
    /// One line of explanation.
    pub doc: &'static str,
    /// Where the facts come from.
    pub source: &'static str,
    /// MSR index of instance 0; of an Arm CPU the [encoding](arm::encoding).
    pub base: u32,
    /// Distance of two instances' addresses.
    pub step: u32,
    /// Instances.
    pub repeat: Repeat,
    /// Instances whose addresses belong to this register whether or not the instance exists.
    pub span: u32,
    /// When the register exists.
    pub when: When,
    /// Access kind.
    pub access: Access,
    /// When EL0 may access it.
    pub user: UserAccess,
    /// What happens to uncovered bits.
    pub reserved: Reserved,
    /// Where its value is.
    pub holder: Holder,
    /// Its first word in the bank.
    pub(crate) slot: usize,
    /// Its value after RESET, where it is in the bank.
    pub reset: fn(&Profile) -> u64,
    /// Fields, lowest first.
    pub fields: &'static [Field],
}

impl Register {
    /// Number of instances in `profile`; 0 when the register does not exist there.
    #[must_use]
    pub fn instances(&self, profile: &Profile) -> u32 {
        if self.when.holds(profile) { self.repeat.count(profile).min(self.span) } else { 0 }
    }

    /// Bits that a write may have set without raising an exception.
    #[must_use]
    pub fn accepted(&self, profile: &Profile) -> u64 {
        match self.reserved {
            Reserved::Ignore => u64::MAX,
            Reserved::Fault => self.fields.iter().map(|f| f.mask(profile)).fold(0, |all, mask| all | mask),
        }
    }

    /// Bits that raise an exception when written as 1.
    #[must_use]
    pub fn reserved(&self, profile: &Profile) -> u64 {
        !self.accepted(profile)
    }

    /// Bits of fields with the given write behaviour.
    #[must_use]
    pub fn bits(&self, on_write: OnWrite, profile: &Profile) -> u64 {
        self.fields
            .iter()
            .filter(|f| f.on_write == on_write)
            .map(|f| f.mask(profile))
            .fold(0, |all, mask| all | mask)
    }

    /// Bits that a write stores.
    #[must_use]
    pub fn stored(&self, profile: &Profile) -> u64 {
        self.bits(OnWrite::Store, profile)
    }

    /// MSR index or encoding of an instance.
    #[must_use]
    pub const fn index_of(&self, instance: u32) -> u32 {
        self.base + self.step * instance
    }

    /// Name of an instance, for example `IA32_PERFEVTSEL3`.
    #[must_use]
    pub fn instance_name(&self, instance: u32) -> alloc::string::String {
        numbered(self.name, instance)
    }
}

/// Puts a number in place of `{n}`.
#[must_use]
pub fn numbered(name: &str, n: u32) -> alloc::string::String {
    name.replace("{n}", &alloc::format!("{n}"))
}

/// An MSR index or encoding resolved to a register and its instance.
#[derive(Debug, Clone, Copy)]
pub struct Located {
    /// The register.
    pub register: &'static Register,
    /// Which instance; may be one that a profile does not have.
    pub instance: u32,
}

impl Located {
    /// True when `profile` has this instance.
    #[must_use]
    pub fn exists_in(&self, profile: &Profile) -> bool {
        self.register.id.vendor() == profile.vendor() && self.instance < self.register.instances(profile)
    }
}

/// Every register of a vendor, in order of declaration.
#[must_use]
pub fn registers(vendor: Vendor) -> &'static [Register] {
    match vendor {
        Vendor::Intel => intel::REGISTERS,
        Vendor::Amd => amd::REGISTERS,
        Vendor::Qualcomm => arm::REGISTERS,
    }
}

/// The register of a vendor that an MSR index or encoding belongs to, if it is one of the PMU's.
#[must_use]
pub fn locate(vendor: Vendor, index: u32) -> Option<Located> {
    registers(vendor).iter().find_map(|register| {
        let offset = index.wrapping_sub(register.base);
        let hit = offset < register.span * register.step && offset.is_multiple_of(register.step);
        hit.then(|| Located { register, instance: offset / register.step })
    })
}

/// True when the index belongs to a PMU register of any vendor of such CPUs.
#[must_use]
pub fn is_pmu_register(architecture: Architecture, index: u32) -> bool {
    Vendor::of(architecture).any(|vendor| locate(vendor, index).is_some())
}

/// The MSR of the counter that an RDPMC index reads; `None` for an index that no CPU of this vendor has.
#[must_use]
pub fn rdpmc_msr(vendor: Vendor, ecx: u32) -> Option<u32> {
    use intel::{FixedCtr, PerfMetrics, Pmc, RegisterId as Intel};
    let (id, first, step, index) = match (vendor, ecx >> 16) {
        (Vendor::Intel, 0x0000) => (RegisterId::Intel(Intel::Pmc), Pmc::INDEX, 1, ecx & 0xFFFF),
        (Vendor::Intel, 0x4000) => (RegisterId::Intel(Intel::FixedCtr), FixedCtr::INDEX, 1, ecx & 0xFFFF),
        (Vendor::Intel, 0x2000) => {
            (RegisterId::Intel(Intel::PerfMetrics), PerfMetrics::INDEX, 1, ecx & 0xFFFF)
        }
        (Vendor::Amd, 0) => (RegisterId::Amd(amd::RegisterId::PerfCtr), amd::PerfCtr::INDEX, 2, ecx),
        _ => return None,
    };
    // A large index would run into another register's address.
    let msr = first + step * index;
    locate(vendor, msr).filter(|located| located.register.id == id).map(|_| msr)
}

/// Finds a register by its manual's name (`IA32_PERFEVTSEL0`, with or without the `IA32_`/`MSR_`
/// prefix, `PERF_CTL0`, `PMCR_EL0` with or without the level; any case) and returns its MSR index or encoding.
#[must_use]
pub fn index_by_name(name: &str) -> Option<u32> {
    let bare = |s: &str| {
        let upper = s.to_ascii_uppercase();
        let stripped = upper.strip_prefix("IA32_").or_else(|| upper.strip_prefix("MSR_")).unwrap_or(&upper);
        let level = stripped.strip_suffix("_EL0").or_else(|| stripped.strip_suffix("_EL1"));
        alloc::string::String::from(level.unwrap_or(stripped))
    };
    let wanted = bare(name);
    Vendor::ALL.into_iter().flat_map(registers).find_map(|register| {
        (0..register.span)
            .find(|&n| bare(&register.instance_name(n)) == wanted)
            .map(|instance| register.index_of(instance))
    })
}

#[cfg(test)]
mod tests;
