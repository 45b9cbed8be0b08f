//! The registers behind a slots group, read with RDPMC.

#![expect(unsafe_code, reason = "RDPMC")]

use super::counts::SlotCounts;
use crate::error::HostPerfError;
use crate::event::Level;
use crate::user_page::{UserPage, zero_extend};

/// RDPMC selector of fixed counter 3 (slots).
const RDPMC_SLOTS: u32 = 0x4000_0003;
/// RDPMC selector of PERF_METRICS.
const RDPMC_METRICS: u32 = 0x2000_0000;

/// The pages of a slots leader and of one of its metrics: access to the raw registers.
///
/// Do not mix with [`SlotsGroup::read`](crate::SlotsGroup::read): that system call zeroes both registers.
#[derive(Debug)]
pub struct UserMetrics {
    pub(super) slots: UserPage,
    pub(super) metric: UserPage,
}

/// Fixed counter 3 and PERF_METRICS, read as one pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawMetrics {
    /// Slots since the kernel last zeroed the pair (at the start and at every read by system call).
    pub slots: u64,
    /// PERF_METRICS: the fractions of these slots, one byte each, in 1/255.
    pub metrics: u64,
}

impl UserMetrics {
    /// Reads the two registers with RDPMC, without conversion.
    ///
    /// For an interval take the difference of [`RawMetrics::counts`]; the 8-bit fractions describe the whole
    /// time since the last reset, so short intervals lose precision as that time grows.
    ///
    /// # Errors
    /// [`HostPerfError::NotOnPmu`] when the group is not on fixed counter 3 at this moment,
    /// [`HostPerfError::NoUserRdpmc`] when the permission was withdrawn.
    pub fn read(&self) -> Result<RawMetrics, HostPerfError> {
        self.slots.stable(|slots| {
            let metric = self.metric.page.fields();
            self.slots.check(&slots)?;
            self.metric.check(&metric)?;
            if slots.index != RDPMC_SLOTS + 1 {
                return Err(self.slots.not_on_pmu());
            }
            if metric.index != RDPMC_METRICS + 1 {
                return Err(self.metric.not_on_pmu());
            }
            // SAFETY: both pages allow RDPMC, and name just these two registers.
            let (counter, metrics) =
                unsafe { (self.slots.page.rdpmc(RDPMC_SLOTS), self.slots.page.rdpmc(RDPMC_METRICS)) };
            Ok(RawMetrics { slots: zero_extend(counter, slots.pmc_width), metrics })
        })
    }
}

impl RawMetrics {
    /// The pair as slot counts, with the kernel's conversion.
    pub fn counts(self, level: Level) -> SlotCounts {
        SlotCounts::from_metrics(self.slots, self.metrics, level)
    }
}
