//! Requests for a performance-monitoring interrupt, on their way to the local APIC.

use core::ops::AddAssign;

/// Performance-monitoring interrupts (PMIs) that the vPMU has requested, each to be delivered once through the local
/// APIC's LVTPC.
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// use vpmu::{Vpmu, profile, source::ScriptedSource};
///
/// let mut pmu = Vpmu::new(profile::ICELAKE_SP);
/// // A PMI would be lost here, so this does not compile.
/// pmu.sync(&mut ScriptedSource::new());
/// ```
#[must_use = "a PMI that is not delivered is lost"]
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PmiRequests(u32);

impl PmiRequests {
    /// None.
    pub const NONE: Self = Self(0);

    pub(super) fn of(requested: bool) -> Self {
        Self(requested.into())
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0
    }

    /// Calls `raise` for each: it applies LVTPC.
    pub fn deliver(self, raise: impl FnMut()) {
        core::iter::repeat_with(raise).take(self.0 as usize).for_each(drop);
    }
}

impl AddAssign for PmiRequests {
    fn add_assign(&mut self, more: Self) {
        self.0 += more.0;
    }
}

/// What an operation ends in, with the PMIs that it requests: those of overflows before it.
#[must_use = "a PMI that is not delivered is lost"]
#[derive(Debug, PartialEq, Eq)]
pub struct Answer<T> {
    outcome: T,
    pmis: PmiRequests,
}

impl<T> Answer<T> {
    /// An outcome with what it requests.
    pub fn new(outcome: T, pmis: PmiRequests) -> Self {
        Self { outcome, pmis }
    }

    /// Calls `raise` for each PMI, and says what the operation ended in.
    pub fn deliver(self, raise: impl FnMut()) -> T {
        self.pmis.deliver(raise);
        self.outcome
    }

    /// The outcome, and PMIs to be delivered later.
    pub fn into_parts(self) -> (T, PmiRequests) {
        (self.outcome, self.pmis)
    }
}

#[cfg(test)]
impl<T> Answer<T> {
    /// The outcome of an operation that requests nothing.
    #[track_caller]
    pub(crate) fn quiet(self) -> T {
        assert_eq!(self.pmis, PmiRequests::NONE);
        self.outcome
    }
}

/// Equal to the outcome alone while nothing is requested.
#[cfg(test)]
impl PartialEq<crate::ReadOutcome> for Answer<crate::ReadOutcome> {
    fn eq(&self, other: &crate::ReadOutcome) -> bool {
        (&self.outcome, self.pmis.0) == (other, 0)
    }
}

/// Equal to the outcome alone while nothing is requested.
#[cfg(test)]
impl PartialEq<crate::WriteOutcome> for Answer<crate::WriteOutcome> {
    fn eq(&self, other: &crate::WriteOutcome) -> bool {
        (&self.outcome, self.pmis.0) == (other, 0)
    }
}
