//! Profiles from files: a CPU that is not built in, as differences from one that is.
//!
//! ```toml
//! base = "sapphire-rapids"        # the built-in profile that everything else comes from
//! name = "cloud"
//! summary = "Sapphire Rapids as a cloud shows it"
//! gp-counters = 6
//! lbr = "none"                    # or "legacy", or [8, 16, 32]: the depths of architectural records
//! isa = "v3"                      # the most instruction sets that are shown: v4 is all that the CPU has
//!
//! [intel]
//! version = 2
//! metrics-level = 1
//! ```
//!
//! PERF_CAPABILITIES is not given but computed from what the profile has, so that the two cannot disagree.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use vpmu::lbr::MAX_DEPTH;
use vpmu::profile::{
    AmdPmu, ArmPmu, BeyondLast, IntelPmu, Isa, LbrKind, MAX_FIXED, MAX_GP, PROFILES, PmuKind, Profile,
};

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 64 * 1024;
/// Bits of an event counter before PMUv3 for Armv8.5.
const ARM_WIDTH: u8 = 32;
/// Longest name, in bytes.
const MAX_NAME: usize = 40;

/// A profile file is of no use.
#[derive(Debug, thiserror::Error)]
#[error("profile {}", path.display())]
pub struct ProfileError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub problem: ProfileProblem,
}

/// Why a profile file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ProfileProblem {
    /// It cannot be read.
    #[error("it cannot be read")]
    Read(#[from] std::io::Error),
    /// It is far longer than a profile.
    #[error("it is longer than {} KiB", MAX_FILE / 1024)]
    TooLong,
    /// It is not TOML, or has keys that a profile has not.
    #[error("{}", .0.to_string().trim_end())]
    Syntax(Box<toml::de::Error>),
    /// Nothing is built in under this name.
    #[error("base {0:?} is no built-in profile")]
    Base(String),
    /// A name that would not be usable on the command line.
    #[error("name {0:?} is not 1 to {MAX_NAME} lower-case letters, digits, dots and hyphens")]
    Name(String),
    /// The name of a built-in profile.
    #[error("name {0:?} is that of a built-in profile")]
    NameTaken(String),
    /// A number out of its range.
    #[error("{key} = {value} is not between {low} and {high}")]
    Range {
        /// The key.
        key: &'static str,
        /// What was given.
        value: u64,
        /// Smallest value.
        low: u64,
        /// Largest value.
        high: u64,
    },
    /// Two keys that do not go together.
    #[error("{0}")]
    Conflict(&'static str),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    base: String,
    name: String,
    summary: Option<String>,
    signature: Option<u32>,
    gp_counters: Option<u64>,
    gp_width: Option<u64>,
    slots_per_cycle: Option<u64>,
    tsc_hz: Option<u64>,
    crystal_hz: Option<u64>,
    lbr: Option<Lbr>,
    isa: Option<IsaName>,
    intel: Option<Intel>,
    amd: Option<Amd>,
    arm: Option<Arm>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Lbr {
    Kind(LbrName),
    Depths(Vec<u64>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LbrName {
    None,
    Legacy,
}

/// [`Isa`] by its name.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum IsaName {
    V2,
    V3,
    V4,
}

impl From<IsaName> for Isa {
    fn from(name: IsaName) -> Self {
        match name {
            IsaName::V2 => Self::V2,
            IsaName::V3 => Self::V3,
            IsaName::V4 => Self::V4,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Intel {
    version: Option<u64>,
    fixed_counters: Option<u64>,
    fixed_width: Option<u64>,
    arch_events: Option<u64>,
    arch_events_unavailable: Option<u32>,
    any_thread_deprecated: Option<bool>,
    umask2: Option<bool>,
    metrics_level: Option<u64>,
    full_width_writes: Option<bool>,
    freeze_while_smm: Option<bool>,
    rdpmc_metrics_clear: Option<bool>,
    offcore_rsp_mask: Option<u64>,
    ld_lat_mask: Option<u64>,
    frontend_mask: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Amd {
    ext_core: Option<bool>,
    v2: Option<bool>,
    freeze: Option<bool>,
    merge: Option<bool>,
    increment_limit: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Arm {
    version: Option<ArmVersion>,
    id_code: Option<u64>,
    aarch32: Option<bool>,
    selected_beyond: Option<Beyond>,
    direct_beyond: Option<Beyond>,
    matrix: Option<bool>,
    poison: Option<u64>,
}

/// Versions of PMUv3 by their names.
#[derive(Debug, Clone, Copy, Deserialize)]
enum ArmVersion {
    #[serde(rename = "v8.0")]
    V8p0,
    #[serde(rename = "v8.1")]
    V8p1,
}

/// What accesses to counters beyond the last do.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Beyond {
    Undefined,
    Zero,
}

impl From<Beyond> for BeyondLast {
    fn from(beyond: Beyond) -> Self {
        match beyond {
            Beyond::Undefined => Self::Undefined,
            Beyond::Zero => Self::Zero,
        }
    }
}

/// Reads a profile from a file. Its texts are kept for the rest of the process.
///
/// # Errors
/// [`ProfileError`] with the first thing that is wrong.
pub fn load(path: &Path) -> Result<Profile, ProfileError> {
    let read = || {
        if std::fs::metadata(path)?.len() > MAX_FILE {
            return Err(ProfileProblem::TooLong);
        }
        parse(&std::fs::read_to_string(path)?)
    };
    read().map_err(|problem| ProfileError { path: path.to_owned(), problem })
}

/// Makes a profile of a file's text.
///
/// # Errors
/// [`ProfileProblem`] with the first thing that is wrong.
pub fn parse(text: &str) -> Result<Profile, ProfileProblem> {
    let file: File = toml::from_str(text).map_err(|error| ProfileProblem::Syntax(Box::new(error)))?;
    let base = Profile::by_name(&file.base).ok_or(ProfileProblem::Base(file.base))?;
    if PROFILES.iter().any(|profile| profile.name == file.name) {
        return Err(ProfileProblem::NameTaken(file.name));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if file.name.is_empty() || file.name.len() > MAX_NAME || !file.name.chars().all(plain) {
        return Err(ProfileProblem::Name(file.name));
    }
    let mut profile = base.clone();
    let changed = || format!("{}, changed by a file", base.name);
    profile.summary = file.summary.unwrap_or_else(changed).into();
    profile.name = file.name.into();
    profile.signature = file.signature.unwrap_or(base.signature);
    set(&mut profile.gp_counters, "gp-counters", file.gp_counters, (1, MAX_GP as u64))?;
    set(&mut profile.gp_width, "gp-width", file.gp_width, (32, 63))?;
    set(&mut profile.slots_per_cycle, "slots-per-cycle", file.slots_per_cycle, (1, 16))?;
    set(&mut profile.tsc_hz, "tsc-hz", file.tsc_hz, (100_000_000, 10_000_000_000))?;
    set(&mut profile.crystal_hz, "crystal-hz", file.crystal_hz, (1_000_000, 1_000_000_000))?;
    if let Some(lbr) = file.lbr {
        profile = profile.with_lbr(lbr_kind(&lbr)?);
    }
    profile.isa = file.isa.map_or(profile.isa, Isa::from);
    let lbr = profile.lbr;
    match &profile.pmu {
        PmuKind::Intel(_) if file.amd.is_some() => {
            Err(ProfileProblem::Conflict("[amd] needs an AMD CPU as base"))
        }
        PmuKind::Intel(_) | PmuKind::Amd(_) if file.arm.is_some() => {
            Err(ProfileProblem::Conflict("[arm] needs an Arm CPU as base"))
        }
        PmuKind::Amd(_) | PmuKind::Arm(_) if file.intel.is_some() => {
            Err(ProfileProblem::Conflict("[intel] needs an Intel CPU as base"))
        }
        PmuKind::Arm(_) if file.amd.is_some() => {
            Err(ProfileProblem::Conflict("[amd] needs an AMD CPU as base"))
        }
        PmuKind::Arm(_) if file.isa.is_some() => {
            Err(ProfileProblem::Conflict("isa needs an x86-64 CPU as base"))
        }
        PmuKind::Arm(pmu) => {
            if profile.gp_width != ARM_WIDTH {
                return Err(ProfileProblem::Conflict("gp-width of an Arm CPU is 32"));
            }
            let pmu = arm(pmu.clone(), &file.arm.unwrap_or_default(), lbr)?;
            Ok(profile.with_arm(|old| *old = pmu))
        }
        PmuKind::Intel(pmu) => {
            let pmu = intel(pmu.clone(), &file.intel.unwrap_or_default(), lbr)?;
            Ok(profile.with_intel(|old| *old = pmu))
        }
        PmuKind::Amd(pmu) => {
            let pmu = amd(pmu.clone(), &file.amd.unwrap_or_default(), lbr)?;
            let counters = u64::from(profile.gp_counters);
            let most = if pmu.ext_core { 6 } else { 4 };
            if counters > most {
                return Err(ProfileProblem::Range {
                    key: "gp-counters",
                    value: counters,
                    low: 1,
                    high: most,
                });
            }
            Ok(profile.with_amd(|old| *old = pmu))
        }
    }
}

/// The Arm part.
fn arm(mut pmu: ArmPmu, change: &Arm, lbr: LbrKind) -> Result<ArmPmu, ProfileProblem> {
    if lbr != LbrKind::None {
        return Err(ProfileProblem::Conflict("an Arm CPU has no branch records of x86 CPUs"));
    }
    // ID_AA64DFR0_EL1.PMUVer.
    pmu.version = match change.version {
        None => pmu.version,
        Some(ArmVersion::V8p0) => 1,
        Some(ArmVersion::V8p1) => 4,
    };
    set(&mut pmu.id_code, "id-code", change.id_code, (0, 255))?;
    pmu.aarch32 = change.aarch32.unwrap_or(pmu.aarch32);
    pmu.selected_beyond = change.selected_beyond.map_or(pmu.selected_beyond, BeyondLast::from);
    pmu.direct_beyond = change.direct_beyond.map_or(pmu.direct_beyond, BeyondLast::from);
    pmu.matrix = change.matrix.unwrap_or(pmu.matrix);
    pmu.poison = change.poison.or(pmu.poison);
    if pmu.poison.is_some() && !pmu.matrix {
        return Err(ProfileProblem::Conflict("poison needs the matrix"));
    }
    Ok(pmu)
}

/// The AMD part.
fn amd(mut pmu: AmdPmu, change: &Amd, lbr: LbrKind) -> Result<AmdPmu, ProfileProblem> {
    pmu.ext_core = change.ext_core.unwrap_or(pmu.ext_core);
    pmu.v2 = change.v2.unwrap_or(pmu.v2);
    pmu.freeze = change.freeze.unwrap_or(pmu.freeze);
    pmu.merge = change.merge.unwrap_or(pmu.merge);
    set(&mut pmu.increment_limit, "increment-limit", change.increment_limit, (1, 255))?;
    if pmu.merge && !pmu.ext_core {
        return Err(ProfileProblem::Conflict("merge needs ext-core"));
    }
    if pmu.freeze && !pmu.v2 {
        return Err(ProfileProblem::Conflict("freeze needs v2"));
    }
    if !matches!(lbr, LbrKind::None | LbrKind::LastBranch | LbrKind::ExtV2 { .. }) {
        return Err(ProfileProblem::Conflict("an AMD CPU has no branch records of Intel's kinds"));
    }
    Ok(pmu)
}

/// The Intel part, with PERF_CAPABILITIES as the other fields say.
fn intel(mut pmu: IntelPmu, change: &Intel, lbr: LbrKind) -> Result<IntelPmu, ProfileProblem> {
    if matches!(lbr, LbrKind::LastBranch | LbrKind::ExtV2 { .. }) {
        return Err(ProfileProblem::Conflict("an Intel CPU has no branch records of AMD's kinds"));
    }
    set(&mut pmu.version, "version", change.version, (1, 6))?;
    set(&mut pmu.fixed_counters, "fixed-counters", change.fixed_counters, (0, MAX_FIXED as u64))?;
    set(&mut pmu.fixed_width, "fixed-width", change.fixed_width, (32, 63))?;
    // Linux takes no PMU with fewer than seven architectural events; leaf 0AH has 32 bits for them.
    set(&mut pmu.arch_events, "arch-events", change.arch_events, (7, 32))?;
    set(&mut pmu.metrics_level, "metrics-level", change.metrics_level, (0, 2))?;
    pmu.arch_events_unavailable = change.arch_events_unavailable.unwrap_or(pmu.arch_events_unavailable);
    pmu.any_thread_deprecated = change.any_thread_deprecated.unwrap_or(pmu.any_thread_deprecated);
    pmu.umask2 = change.umask2.unwrap_or(pmu.umask2 && pmu.version >= 6);
    if pmu.umask2 && pmu.version < 6 {
        return Err(ProfileProblem::Conflict("umask2 needs version 6"));
    }
    pmu.offcore_rsp_mask = change.offcore_rsp_mask.unwrap_or(pmu.offcore_rsp_mask);
    pmu.ld_lat_mask = change.ld_lat_mask.unwrap_or(pmu.ld_lat_mask);
    pmu.frontend_mask = change.frontend_mask.unwrap_or(pmu.frontend_mask);
    if pmu.metrics_level > 0 && (pmu.version < 2 || usize::from(pmu.fixed_counters) < MAX_FIXED) {
        return Err(ProfileProblem::Conflict(
            "metrics-level above 0 needs version 2 and fixed-counters = 4, because fixed counter 3 counts the slots",
        ));
    }
    if pmu.version < 2 && lbr != LbrKind::None {
        return Err(ProfileProblem::Conflict("branch records need version 2, because a PMI freezes them"));
    }
    let has = pmu.perf_capabilities;
    let metrics = pmu.metrics_level > 0;
    pmu.perf_capabilities = has
        .with_fw_write(change.full_width_writes.unwrap_or(has.fw_write()))
        .with_freeze_while_smm(change.freeze_while_smm.unwrap_or(has.freeze_while_smm()))
        .with_perf_metrics_available(metrics)
        .with_rdpmc_metrics_clear(metrics && change.rdpmc_metrics_clear.unwrap_or(has.rdpmc_metrics_clear()));
    Ok(pmu)
}

fn lbr_kind(lbr: &Lbr) -> Result<LbrKind, ProfileProblem> {
    let depths = match lbr {
        Lbr::Kind(LbrName::None) => return Ok(LbrKind::None),
        Lbr::Kind(LbrName::Legacy) => return Ok(LbrKind::Legacy),
        Lbr::Depths(depths) => depths,
    };
    let mut bits = 0_u8;
    for &depth in depths {
        if depth == 0 || depth > MAX_DEPTH as u64 || !depth.is_multiple_of(8) {
            return Err(ProfileProblem::Conflict("the depths in lbr are multiples of 8 up to 32"));
        }
        bits |= 1 << (depth / 8 - 1);
    }
    if bits == 0 {
        return Err(ProfileProblem::Conflict("lbr names no depth; write \"none\" for no branch records"));
    }
    Ok(LbrKind::Architectural { depths: bits })
}

fn set<T: TryFrom<u64>>(
    field: &mut T,
    key: &'static str,
    value: Option<u64>,
    (low, high): (u64, u64),
) -> Result<(), ProfileProblem> {
    if let Some(value) = value {
        let out = ProfileProblem::Range { key, value, low, high };
        *field = match T::try_from(value) {
            Ok(new) if (low..=high).contains(&value) => new,
            _ => return Err(out),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests;
