//! Guest time: what devices and time-driven counts sources measure with.

use core::ops::Add;

/// A point in guest time: nanoseconds since the machine was created.
///
/// The engine moves it: the KVM engine from the host's monotonic clock, the soft engine from its
/// model. Devices never read a clock of their own.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct GuestTime(pub u64);

impl GuestTime {
    /// Nanoseconds from `earlier` to `self`; 0 if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for GuestTime {
    type Output = Self;

    /// Saturating: a guest can ask for a timer that ends after the end of time.
    fn add(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }
}
