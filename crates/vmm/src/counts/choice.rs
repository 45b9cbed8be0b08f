//! Which source when.

use super::host::{HostSource, VcpuThread};
use super::model::{ModelSource, Retired};
use super::source::Source;
use super::synthetic::{Rates, RatesError, SyntheticSource};
use host_perf::{HostPerfError, HostPmu};
use std::path::PathBuf;
use thiserror::Error;
use vpmu::Profile;

/// Which source supplies the counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CountsChoice {
    /// The host, if it can; never made-up numbers.
    #[default]
    Auto,
    /// The host's PMU.
    Host,
    /// Numbers made up from run time.
    Synthetic {
        /// A rates file; `None` takes the built-in rates.
        rates: Option<PathBuf>,
    },
    /// A software model of the core.
    Model,
}

#[cfg(feature = "clap")]
impl clap::ValueEnum for CountsChoice {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: [CountsChoice; 4] = [
            CountsChoice::Auto,
            CountsChoice::Host,
            CountsChoice::Synthetic { rates: None },
            CountsChoice::Model,
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let (name, help) = match self {
            Self::Auto => ("auto", "Real counts, or an error that says what is missing"),
            Self::Host => ("host", "The host's perf events"),
            Self::Synthetic { .. } => {
                ("synthetic", "Made up from run time and rates; never chosen by itself")
            }
            Self::Model => ("model", "What the soft engine retires, exactly"),
        };
        Some(clap::builder::PossibleValue::new(name).help(help))
    }
}

/// Why there is no counts source.
#[derive(Debug, Error)]
pub enum CountsError {
    /// `auto` or `host` on a host that cannot count guests.
    #[error("no counts for the guest")]
    NoHostCounts(#[source] HostPerfError),
    /// `model` under KVM.
    #[error("the counts source `model` belongs to the soft engine")]
    ModelNeedsSoftEngine,
    /// `host` or `synthetic` under the soft engine.
    #[error("the soft engine counts by itself")]
    SoftCountsItself {
        /// What was asked for.
        choice: CountsChoice,
    },
    /// The rates file.
    #[error(transparent)]
    Rates(#[from] RatesError),
}

/// Sets up the source for a vCPU of the KVM engine.
///
/// Call it on the thread that runs the vCPU. `tsc_hz` is the TSC rate that the guest sees,
/// `kick_signal` the signal that makes the thread leave the guest.
///
/// # Errors
/// See [`CountsError`].
pub fn choose(
    choice: &CountsChoice,
    profile: &Profile,
    tsc_hz: u64,
    kick_signal: i32,
) -> Result<Box<dyn Source>, CountsError> {
    choose_on(choice, profile, tsc_hz, VcpuThread::current(kick_signal), HostPmu::detect)
}

/// Sets up the source for an x86 vCPU of the soft engine, which publishes what it retires in `retired`.
///
/// # Errors
/// As [`check_soft`].
pub fn choose_soft(
    choice: &CountsChoice,
    profile: &Profile,
    retired: Retired<soft_cpu::Totals>,
) -> Result<Box<dyn Source>, CountsError> {
    check_soft(choice)?;
    Ok(Box::new(ModelSource::new(profile, retired)))
}

/// Checks that the soft engine can have this source.
///
/// # Errors
/// The choice is one that only KVM has.
pub fn check_soft(choice: &CountsChoice) -> Result<(), CountsError> {
    match choice {
        CountsChoice::Auto | CountsChoice::Model => Ok(()),
        CountsChoice::Host | CountsChoice::Synthetic { .. } => {
            Err(CountsError::SoftCountsItself { choice: choice.clone() })
        }
    }
}

fn choose_on(
    choice: &CountsChoice,
    profile: &Profile,
    tsc_hz: u64,
    thread: VcpuThread,
    detect: impl FnOnce() -> HostPmu,
) -> Result<Box<dyn Source>, CountsError> {
    match choice {
        CountsChoice::Auto | CountsChoice::Host => HostSource::new(detect(), profile, thread)
            .map(|source| Box::new(source) as Box<dyn Source>)
            .map_err(CountsError::NoHostCounts),
        CountsChoice::Synthetic { rates } => {
            let rates = match rates {
                Some(path) => Rates::load(path)?,
                None => Rates::built_in()?,
            };
            Ok(Box::new(SyntheticSource::new(profile, &rates, tsc_hz)))
        }
        CountsChoice::Model => Err(CountsError::ModelNeedsSoftEngine),
    }
}

#[cfg(test)]
mod tests;
