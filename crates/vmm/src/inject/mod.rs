//! Files of planned faults, and how late interrupts are.
//!
//! ```toml
//! [[fault]]                 # the third PMI comes 500 instructions late
//! pmi = 3
//! do = "delay-pmi"
//! by = 500
//!
//! [[fault]]                 # every second read of the fixed counter gives what the read before it gave
//! read = "FIXED_CTR0"
//! nth = 2
//! every = 2
//! do = "stale"
//! ```
//!
//! All keys and faults are in `docs/inject.md`; what they do is in [`vpmu::inject`].

mod skid;

pub use self::skid::{SkidChoice, SkidError, SkidRange};

use crate::machine::pmu::PlannedFault;
use crate::machine::pmu::window::counter_name;
use serde::Deserialize;
use std::fmt;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use toml::Spanned;
use vpmu::inject::{Effect, Fault, Trigger, Unfit, When};
use vpmu::register::{RegisterId, amd, arm, index_by_name, intel, locate, registers};
use vpmu::{CounterId, Profile};

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 256 * 1024;
/// Most branch records of any CPU.
const MAX_RECORDS: i64 = 32;
/// Most faults of a file.
const MAX_FAULTS: usize = 1024;

/// A file of faults is of no use.
#[derive(Debug, thiserror::Error)]
#[error("faults {}", path.display())]
pub struct InjectError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub problem: InjectProblem,
}

/// Why a file of faults is of no use.
#[derive(Debug, thiserror::Error)]
pub enum InjectProblem {
    /// It cannot be read.
    #[error("it cannot be read")]
    Read(#[from] std::io::Error),
    /// It is far longer than such a file.
    #[error("it is longer than {} KiB", MAX_FILE / 1024)]
    TooLong,
    /// It is not TOML, or has keys that there are not.
    #[error("{}", .0.to_string().trim_end())]
    Syntax(Box<toml::de::Error>),
    /// It plans nothing.
    #[error("it has no [[fault]]")]
    Empty,
    /// Far more than are written by hand.
    #[error("it has more than {MAX_FAULTS} faults")]
    TooMany,
    /// A fault that is not to be had.
    #[error("line {line}: {reason}")]
    Fault {
        /// Its line, from 1.
        line: usize,
        /// Why.
        reason: Reason,
    },
}

/// Why a fault is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// None of the keys that say when, or two of them.
    #[error("a fault has one of `pmi`, `read`, `write` and `instruction`")]
    Trigger,
    /// `nth` of what is a number itself.
    #[error("`nth` goes with `read` and `write`")]
    Nth,
    /// 0 where counting begins at 1.
    #[error("`{0}` begins at 1")]
    Zero(&'static str),
    /// `times` without `every`.
    #[error("`times` goes with `every`")]
    Times,
    /// A key that its kind of fault needs.
    #[error("{what} needs `{key}`: {meaning}")]
    Missing {
        /// The kind.
        what: &'static str,
        /// The key.
        key: &'static str,
        /// What it is.
        meaning: &'static str,
    },
    /// A key of another kind of fault.
    #[error("`{key}` does not belong to {what}{}", Takes(allowed))]
    Foreign {
        /// The kind.
        what: &'static str,
        /// The key.
        key: &'static str,
        /// Those that do.
        allowed: &'static [&'static str],
    },
    /// A number out of its range.
    #[error("`{key}` = {value} is not between {low} and {high}")]
    Range {
        /// The key.
        key: &'static str,
        /// What was given.
        value: i64,
        /// Smallest value.
        low: i64,
        /// Largest value.
        high: i64,
    },
    /// A register that the CPU has not.
    #[error("{name:?} is no register of the PMU of {profile}")]
    Register {
        /// What was given.
        name: String,
        /// The profile.
        profile: String,
    },
    /// A counter that the CPU has not.
    #[error("{profile} has no counter {name:?}: {allowed}")]
    Counter {
        /// What was given.
        name: String,
        /// The profile.
        profile: String,
        /// Those that it has.
        allowed: String,
    },
    /// A bit of the status that the CPU has not.
    #[error("the overflow status of {profile} has no bit {bit}: {allowed}")]
    Bit {
        /// What was given.
        bit: u8,
        /// The profile.
        profile: String,
        /// Those that it has.
        allowed: String,
    },
    /// What the CPU cannot have.
    #[error("{profile}: {reason}")]
    Unfit {
        /// The profile.
        profile: String,
        /// Why.
        reason: Unfit,
    },
}

/// What a kind of fault takes.
struct Takes<'a>(&'a [&'a str]);

impl fmt::Display for Takes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str(", which takes none"),
            keys => {
                f.write_str(", which takes")?;
                keys.iter().try_for_each(|key| write!(f, " `{key}`"))
            }
        }
    }
}

/// The faults of a file, for one profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultPlan {
    faults: Vec<PlannedFault>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    fault: Vec<Spanned<Raw>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    pmi: Option<u64>,
    read: Option<String>,
    write: Option<String>,
    instruction: Option<u64>,
    nth: Option<u64>,
    every: Option<u64>,
    times: Option<u64>,
    r#do: Kind,
    counter: Option<String>,
    by: Option<i64>,
    r#for: Option<i64>,
    bit: Option<i64>,
    bytes: Option<i64>,
    records: Option<i64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    LosePmi,
    DelayPmi,
    DoublePmi,
    AddPmi,
    SpuriousNmi,
    LoseCounts,
    Freeze,
    Jump,
    Stale,
    StatusBit,
    LoseBranches,
    TruncatePebs,
}

impl Kind {
    /// The word for it, and the keys that belong to it.
    fn spelled(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::LosePmi => ("lose-pmi", &[]),
            Self::DelayPmi => ("delay-pmi", &["by"]),
            Self::DoublePmi => ("double-pmi", &["by"]),
            Self::AddPmi => ("add-pmi", &[]),
            Self::SpuriousNmi => ("spurious-nmi", &[]),
            Self::LoseCounts => ("lose-counts", &["counter", "by"]),
            Self::Freeze => ("freeze", &["counter", "for"]),
            Self::Jump => ("jump", &["counter", "by"]),
            Self::Stale => ("stale", &[]),
            Self::StatusBit => ("status-bit", &["bit"]),
            Self::LoseBranches => ("lose-branches", &["records"]),
            Self::TruncatePebs => ("truncate-pebs", &["bytes"]),
        }
    }
}

impl FaultPlan {
    /// Reads a file for a profile.
    ///
    /// # Errors
    /// [`InjectError`] with the first thing that is wrong.
    pub fn load(path: &Path, profile: &Profile) -> Result<Self, InjectError> {
        let read = || {
            if std::fs::metadata(path)?.len() > MAX_FILE {
                return Err(InjectProblem::TooLong);
            }
            Self::parse(&std::fs::read_to_string(path)?, profile)
        };
        read().map_err(|problem| InjectError { path: path.to_owned(), problem })
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// [`InjectProblem`] with the first thing that is wrong.
    pub fn parse(text: &str, profile: &Profile) -> Result<Self, InjectProblem> {
        let file: File = toml::from_str(text).map_err(|error| InjectProblem::Syntax(Box::new(error)))?;
        if file.fault.is_empty() {
            return Err(InjectProblem::Empty);
        }
        if file.fault.len() > MAX_FAULTS {
            return Err(InjectProblem::TooMany);
        }
        let planned = |raw: Spanned<Raw>| {
            let line = 1 + text.bytes().take(raw.span().start).filter(|byte| *byte == b'\n').count();
            let planned = raw.into_inner().planned(profile);
            let (text, fault) = planned.map_err(|reason| InjectProblem::Fault { line, reason })?;
            Ok(PlannedFault { line, text, fault })
        };
        Ok(Self { faults: file.fault.into_iter().map(planned).collect::<Result<_, InjectProblem>>()? })
    }

    /// The faults.
    #[must_use]
    pub fn faults(&self) -> &[PlannedFault] {
        &self.faults
    }

    /// A fault waits for an instruction, or for some of them: only an engine that stops there can have it.
    #[must_use]
    pub fn counts_instructions(&self) -> bool {
        self.faults.iter().any(|planned| {
            let Fault { when, effect } = planned.fault;
            let waits = match effect {
                Effect::DelayPmi(_) | Effect::Freeze { instructions: Some(_), .. } => true,
                Effect::DoublePmi(instructions) => instructions > 0,
                _ => false,
            };
            waits || when.trigger == Trigger::Instruction
        })
    }
}

impl Raw {
    fn planned(&self, profile: &Profile) -> Result<(String, Fault), Reason> {
        let when = self.when(profile)?;
        let effect = self.effect(profile)?;
        let fault = Fault { when, effect };
        let name = || profile.name.to_string();
        fault.check(profile).map_err(|unfit| match unfit {
            Unfit::StatusBit(bit) => Reason::Bit { bit, profile: name(), allowed: bits(profile) },
            reason => Reason::Unfit { profile: name(), reason },
        })?;
        Ok((self.text(), fault))
    }

    fn when(&self, profile: &Profile) -> Result<When, Reason> {
        let register = |name: &String| {
            register(profile, name)
                .ok_or_else(|| Reason::Register { name: name.clone(), profile: profile.name.to_string() })
        };
        let nth = self.nth.unwrap_or(1);
        let (trigger, first, key) = match (self.pmi, &self.read, &self.write, self.instruction) {
            (Some(n), None, None, None) => (Trigger::Pmi, n, "pmi"),
            (None, Some(name), None, None) => (Trigger::Read(register(name)?), nth, "nth"),
            (None, None, Some(name), None) => (Trigger::Write(register(name)?), nth, "nth"),
            (None, None, None, Some(n)) => (Trigger::Instruction, n, "instruction"),
            _ => return Err(Reason::Trigger),
        };
        if self.nth.is_some() && key != "nth" {
            return Err(Reason::Nth);
        }
        let first = NonZeroU64::new(first).ok_or(Reason::Zero(key))?;
        let every = self.every.map(|every| NonZeroU64::new(every).ok_or(Reason::Zero("every")));
        let times = self.times.map(|times| NonZeroU64::new(times).ok_or(Reason::Zero("times")));
        if times.is_some() && every.is_none() {
            return Err(Reason::Times);
        }
        Ok(When { trigger, first, every: every.transpose()?, times: times.transpose()? })
    }

    fn effect(&self, profile: &Profile) -> Result<Effect, Reason> {
        let (what, allowed) = self.r#do.spelled();
        let given = [
            ("counter", self.counter.is_some()),
            ("by", self.by.is_some()),
            ("for", self.r#for.is_some()),
            ("bit", self.bit.is_some()),
            ("bytes", self.bytes.is_some()),
            ("records", self.records.is_some()),
        ];
        if let Some((key, _)) = given.into_iter().find(|(key, given)| *given && !allowed.contains(key)) {
            return Err(Reason::Foreign { what, key, allowed });
        }
        let missing = |key, meaning| Reason::Missing { what, key, meaning };
        let counter = || {
            let name = self.counter.as_ref().ok_or(missing("counter", "the name of one"))?;
            counter(profile, name).ok_or_else(|| Reason::Counter {
                name: name.clone(),
                profile: profile.name.to_string(),
                allowed: counters(profile).map(|(name, _)| name).collect::<Vec<_>>().join(", "),
            })
        };
        let by = |meaning| self.by.ok_or(missing("by", meaning));
        Ok(match self.r#do {
            Kind::LosePmi => Effect::LosePmi,
            Kind::DelayPmi => Effect::DelayPmi(within("by", by("instructions")?, (1, i64::MAX))?),
            Kind::DoublePmi => Effect::DoublePmi(within("by", self.by.unwrap_or(0), (0, i64::MAX))?),
            Kind::AddPmi => Effect::AddPmi,
            Kind::SpuriousNmi => Effect::SpuriousNmi,
            Kind::LoseCounts => {
                let by = within("by", by("how many counts")?, (1, i64::MAX))?;
                Effect::LoseCounts { counter: counter()?, by }
            }
            Kind::Freeze => {
                let instructions = self.r#for.map(|n| within::<u64>("for", n, (1, i64::MAX))).transpose()?;
                Effect::Freeze { counter: counter()?, instructions: instructions.and_then(NonZeroU64::new) }
            }
            Kind::Jump => Effect::Jump { counter: counter()?, by: by("how far, up or down")? },
            Kind::Stale => Effect::Stale,
            Kind::StatusBit => {
                let bit = self.bit.ok_or(missing("bit", "its number"))?;
                Effect::StatusBit(within("bit", bit, (0, 63))?)
            }
            Kind::LoseBranches => {
                let records = self.records.ok_or(missing("records", "how many"))?;
                Effect::LoseBranches(within("records", records, (1, MAX_RECORDS))?)
            }
            Kind::TruncatePebs => {
                let bytes = self.bytes.ok_or(missing("bytes", "how many are left"))?;
                Effect::TruncatePebs(within("bytes", bytes, (0, u16::MAX.into()))?)
            }
        })
    }

    /// `jump counter=PMC0 by=100`.
    fn text(&self) -> String {
        let (what, _) = self.r#do.spelled();
        let numbers = [
            ("by", self.by),
            ("for", self.r#for),
            ("bit", self.bit),
            ("bytes", self.bytes),
            ("records", self.records),
        ];
        let numbers = numbers.into_iter().filter_map(|(key, value)| Some(format!(" {key}={}", value?)));
        let counter = self.counter.iter().map(|name| format!(" counter={name}"));
        counter.chain(numbers).fold(what.to_owned(), |text, more| text + &more)
    }
}

/// A number in its range.
fn within<T: TryFrom<i64>>(key: &'static str, value: i64, (low, high): (i64, i64)) -> Result<T, Reason> {
    let out = Reason::Range { key, value, low, high };
    if (low..=high).contains(&value) { T::try_from(value).map_err(|_| out) } else { Err(out) }
}

/// The index of a register that the profile has, by its name.
fn register(profile: &Profile, name: &str) -> Option<u32> {
    let has =
        |index: &u32| locate(profile.vendor(), *index).is_some_and(|located| located.exists_in(profile));
    index_by_name(name).filter(has).or_else(|| {
        // Another vendor's register of this name came first.
        let wanted = name.to_ascii_uppercase();
        registers(profile.vendor()).iter().find_map(|register| {
            let instances = 0..register.instances(profile);
            let named = |n: &u32| register.instance_name(*n).to_ascii_uppercase() == wanted;
            instances.into_iter().find(named).map(|n| register.index_of(n))
        })
    })
}

/// The counters of a profile, as reports call them.
fn counters(profile: &Profile) -> impl Iterator<Item = (String, CounterId)> + '_ {
    let fixed = if profile.arm().is_some() { 1 } else { profile.fixed_counters() };
    let gp = (0..profile.gp_counters).map(CounterId::Gp);
    gp.chain((0..fixed).map(CounterId::Fixed)).map(|id| (counter_name(profile, id), id))
}

/// A counter by the name that reports give it, or by that of its register.
fn counter(profile: &Profile, name: &str) -> Option<CounterId> {
    let reported = counters(profile).find(|(known, _)| known.eq_ignore_ascii_case(name));
    reported.map(|(_, id)| id).or_else(|| {
        let located = locate(profile.vendor(), register(profile, name)?)?;
        let n = u8::try_from(located.instance).ok()?;
        match located.register.id {
            RegisterId::Intel(intel::RegisterId::Pmc | intel::RegisterId::APmc)
            | RegisterId::Amd(amd::RegisterId::PerfCtr | amd::RegisterId::LegacyPerfCtr)
            | RegisterId::Arm(arm::RegisterId::Pmevcntr) => Some(CounterId::Gp(n)),
            RegisterId::Intel(intel::RegisterId::FixedCtr) => Some(CounterId::Fixed(n)),
            RegisterId::Arm(arm::RegisterId::Pmccntr) => Some(CounterId::Fixed(0)),
            _ => None,
        }
    })
}

/// The bits of the overflow status.
fn bits(profile: &Profile) -> String {
    let bits = vpmu::inject::status_bits(profile);
    (0..64).filter(|bit| bits >> bit & 1 != 0).map(|bit| bit.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
