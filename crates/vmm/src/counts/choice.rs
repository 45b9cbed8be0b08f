//! Which source when.

use super::Source;
use super::host::{HostSource, VcpuThread};
use super::model::{ModelSource, Retired};
use super::synthetic::{Rates, RatesError, SyntheticSource};
use host_perf::{HostPerfError, HostPmu};
use std::path::PathBuf;
use thiserror::Error;
use vpmu::Profile;

/// Who shall supply the counts.
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

/// Why there is no counts source.
#[derive(Debug, Error)]
pub enum CountsError {
    /// `auto` or `host` on a host that cannot count guests.
    #[error(
        "no counts for the guest: {}; {}use --engine soft, which counts by itself, or --counts synthetic for \
         numbers made up from run time, labelled as such",
        reason.cause(),
        fix(reason)
    )]
    NoHostCounts {
        /// What the host said.
        reason: HostPerfError,
    },
    /// `model` under KVM.
    #[error(
        "--counts model belongs to the soft engine; use --engine soft, or with KVM --counts host or --counts \
         synthetic"
    )]
    ModelNeedsSoftEngine,
    /// `host` or `synthetic` under the soft engine.
    #[error("the soft engine counts by itself; leave --counts out, or use --engine kvm with --counts {0}")]
    SoftCountsItself(&'static str),
    /// The rates file.
    #[error(transparent)]
    Rates(#[from] RatesError),
}

/// The host's own advice, unless it is about another counts source.
fn fix(reason: &HostPerfError) -> String {
    match reason.next_step() {
        Some(step) if !step.contains("--counts") => format!("{step}, or "),
        _ => String::new(),
    }
}

/// Sets up the source for a vCPU of the KVM engine.
///
/// Call it on the thread that runs the vCPU. `tsc_hz` is the TSC rate that the guest sees,
/// `kick_signal` the signal that makes the thread leave the guest.
///
/// # Errors
/// See [`CountsError`]; each says what to do.
pub fn choose(
    choice: &CountsChoice,
    profile: &Profile,
    tsc_hz: u64,
    kick_signal: i32,
) -> Result<Box<dyn Source>, CountsError> {
    choose_on(choice, profile, tsc_hz, VcpuThread::current(kick_signal), HostPmu::detect)
}

/// Sets up the source for a vCPU of the soft engine, which publishes what it retires in `retired`.
///
/// # Errors
/// The choice is one that only KVM has.
pub fn choose_soft(
    choice: &CountsChoice,
    profile: &Profile,
    retired: Retired,
) -> Result<Box<dyn Source>, CountsError> {
    match choice {
        CountsChoice::Auto | CountsChoice::Model => Ok(Box::new(ModelSource::new(profile, retired))),
        CountsChoice::Host => Err(CountsError::SoftCountsItself("host")),
        CountsChoice::Synthetic { .. } => Err(CountsError::SoftCountsItself("synthetic")),
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
            .map_err(|reason| CountsError::NoHostCounts { reason }),
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
