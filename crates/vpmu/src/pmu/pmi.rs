//! Requests for a performance-monitoring interrupt, on their way to the interrupt controller.

use core::ops::AddAssign;

/// What the vPMU asks of the interrupt controller.
///
/// An x86 CPU's requests performance-monitoring interrupts (PMIs), each to be delivered once through the local APIC's
/// LVTPC: [`deliver`](Self::deliver). An Arm CPU's has an interrupt line, which stays high until software clears the
/// overflow flag; here is its level where an operation has changed it: [`line`](Self::line).
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
pub struct PmiRequests {
    pub(super) count: u32,
    pub(super) nmis: u32,
    pub(super) line: Option<bool>,
}

impl PmiRequests {
    /// None.
    pub const NONE: Self = Self { count: 0, nmis: 0, line: None };

    /// A PMI if one is requested.
    pub(super) fn of(requested: bool) -> Self {
        Self { count: requested.into(), ..Self::NONE }
    }

    /// The level of the interrupt line if it has changed.
    pub(super) fn of_line(line: Option<bool>) -> Self {
        Self { line, ..Self::NONE }
    }

    /// Those of a [recording](crate::recording): so many PMIs, so many NMIs that no PMI is behind, and the change of
    /// the interrupt line.
    pub fn recorded(count: u32, nmis: u32, line: Option<bool>) -> Self {
        Self { count, nmis, line }
    }

    /// How many PMIs there are; always 0 for a CPU with an interrupt line.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// NMIs that no PMI is behind: of [`Effect::SpuriousNmi`](crate::inject::Effect::SpuriousNmi) alone.
    #[must_use]
    pub fn nmis(&self) -> u32 {
        self.nmis
    }

    /// The new level of the interrupt line, `None` where it stays as it is; always `None` for a CPU that requests PMIs.
    #[must_use]
    pub fn line(&self) -> Option<bool> {
        self.line
    }

    /// Calls `raise` for each PMI: it applies LVTPC. For CPUs that request PMIs; others have a [`line`](Self::line).
    pub fn deliver(self, raise: impl FnMut()) {
        core::iter::repeat_with(raise).take(self.count as usize).for_each(drop);
    }
}

impl AddAssign for PmiRequests {
    fn add_assign(&mut self, more: Self) {
        self.count = self.count.saturating_add(more.count);
        self.nmis = self.nmis.saturating_add(more.nmis);
        self.line = more.line.or(self.line);
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
        (&self.outcome, &self.pmis) == (other, &PmiRequests::NONE)
    }
}

/// Equal to the outcome alone while nothing is requested.
#[cfg(test)]
impl PartialEq<crate::WriteOutcome> for Answer<crate::WriteOutcome> {
    fn eq(&self, other: &crate::WriteOutcome) -> bool {
        (&self.outcome, &self.pmis) == (other, &PmiRequests::NONE)
    }
}
