//! Reading counters without a system call: the page protocol of `perf_event_mmap_page` plus RDPMC.
//!
//! RDPMC reads the counters of the CPU it runs on, so all of this works only on the thread that is counted.
//! On a hybrid host keep that thread on the big cores: a migration between looking at the page and the
//! instruction would ask a small core for a counter that it does not have, and that faults.

use std::marker::PhantomData;

use crate::error::HostPerfError;
use crate::event::{Event, Level};
use crate::page::PageFields;
use crate::probe::HostPmu;
use crate::slots::SlotCounts;
use crate::spec::Target;
use crate::sys::{PageView, PerfFd};

/// RDPMC selector of fixed counter 3 (slots).
const RDPMC_SLOTS: u32 = 0x4000_0003;
/// RDPMC selector of PERF_METRICS.
const RDPMC_METRICS: u32 = 0x2000_0000;

/// The kernel rewrites the page only when the event is scheduled or read, so a second attempt nearly always
/// works. The bound keeps a misbehaving page from hanging the caller.
const ATTEMPTS: usize = 64;

/// The mapped page of one event that counts the current thread. Stays valid when the event is closed.
#[derive(Debug)]
pub struct UserPage {
    event: Event,
    page: Box<dyn PageView>,
    /// Bound to its thread.
    not_send: PhantomData<*const ()>,
}

/// A count that was read in user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserCount {
    /// Events since the event was opened (or reset).
    pub value: u64,
    /// Nanoseconds enabled, as of the kernel's last update of the page.
    pub enabled: u64,
    /// Nanoseconds on the PMU, as of the kernel's last update of the page.
    pub running: u64,
}

impl UserPage {
    pub(crate) fn map(
        host: &HostPmu,
        fd: &dyn PerfFd,
        event: Event,
        target: Target,
        owner: i32,
    ) -> Result<Self, HostPerfError> {
        let caller = host.sys().current_tid();
        let target = match target {
            Target::CurrentThread | Target::Thread(0) => owner,
            Target::Thread(tid) => tid,
        };
        if target != caller {
            return Err(HostPerfError::WrongThread { event, target, caller });
        }
        let page = fd.map_page().map_err(|e| HostPerfError::on_event("mmap", event, e))?;
        let page = UserPage { event, page, not_send: PhantomData };
        if page.stable(|fields| Ok(fields.cap_user_rdpmc))? {
            Ok(page)
        } else {
            Err(HostPerfError::NoUserRdpmc { event })
        }
    }

    /// Reads the event's count.
    ///
    /// # Errors
    /// [`HostPerfError::NotOnPmu`] when the event is disabled or multiplexed out at this moment,
    /// [`HostPerfError::NoUserRdpmc`] when the permission was withdrawn.
    pub fn read(&self) -> Result<UserCount, HostPerfError> {
        self.stable(|fields| {
            self.check(&fields)?;
            // SAFETY: the page says that this process may use RDPMC and names the counter.
            let raw = unsafe { self.page.rdpmc(fields.index - 1) };
            let value = fields.offset.wrapping_add(sign_extend(raw, fields.pmc_width));
            Ok(UserCount {
                value: value.cast_unsigned(),
                enabled: fields.time_enabled,
                running: fields.time_running,
            })
        })
    }

    /// Runs `body` on the page's fields until the kernel did not change them meanwhile.
    fn stable<T>(&self, body: impl Fn(PageFields) -> Result<T, HostPerfError>) -> Result<T, HostPerfError> {
        for _ in 0..ATTEMPTS {
            let lock = self.page.lock();
            let result = body(self.page.fields());
            // An odd count means that the kernel is in the middle of an update.
            if lock.is_multiple_of(2) && self.page.lock() == lock {
                return result;
            }
        }
        Err(HostPerfError::Contended { event: self.event })
    }

    fn check(&self, fields: &PageFields) -> Result<(), HostPerfError> {
        let event = self.event;
        if !fields.cap_user_rdpmc {
            return Err(HostPerfError::NoUserRdpmc { event });
        }
        if fields.index == 0 {
            return Err(HostPerfError::NotOnPmu { event });
        }
        Ok(())
    }
}

/// The pages of a slots leader and of one of its metrics: access to the raw registers.
///
/// Do not mix with [`SlotsGroup::read`](crate::SlotsGroup::read): that system call zeroes both registers.
#[derive(Debug)]
pub struct UserMetrics {
    pub(crate) slots: UserPage,
    pub(crate) metric: UserPage,
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
                return Err(HostPerfError::NotOnPmu { event: self.slots.event });
            }
            if metric.index != RDPMC_METRICS + 1 {
                return Err(HostPerfError::NotOnPmu { event: self.metric.event });
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

/// A counter of `width` bits as a signed number. Width 0 or above 64 means all 64 bits.
fn sign_extend(raw: u64, width: u16) -> i64 {
    let shift = 64 - effective(width);
    (raw << shift).cast_signed() >> shift
}

fn zero_extend(raw: u64, width: u16) -> u64 {
    raw & (u64::MAX >> (64 - effective(width)))
}

fn effective(width: u16) -> u32 {
    if (1..=64).contains(&width) { width.into() } else { 64 }
}
