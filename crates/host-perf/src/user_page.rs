//! Reading counters without a system call: the page protocol of `perf_event_mmap_page` plus RDPMC.
//!
//! RDPMC reads the counters of the CPU it runs on, so all of this works only on the thread that is counted.
//! On a hybrid host keep that thread on the big cores: a migration between looking at the page and the
//! instruction would ask a small core for a counter that it does not have, and that faults.

#![expect(unsafe_code, reason = "RDPMC")]

use std::marker::PhantomData;

use crate::error::HostPerfError;
use crate::event::Event;
use crate::host::HostPmu;
use crate::kernel::{PageFields, PageView, PerfFd};
use crate::spec::Target;

/// The kernel rewrites the page only when the event is scheduled or read, so a second attempt nearly always
/// works. The bound keeps a misbehaving page from hanging the caller.
const ATTEMPTS: usize = 64;

/// The mapped page of one event that counts the current thread. Stays valid when the event is closed.
#[derive(Debug)]
pub struct UserPage {
    event: Event,
    /// Device name of the core PMU.
    pmu: String,
    pub(crate) page: Box<dyn PageView>,
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
        let caller = host.current_tid();
        let target = match target {
            Target::CurrentThread | Target::Thread(0) => owner,
            Target::Thread(tid) => tid,
        };
        if target != caller {
            return Err(HostPerfError::WrongThread { event, target, caller });
        }
        let page = fd.map_page().map_err(|e| HostPerfError::on_event("mmap", event, e))?;
        let pmu = host.core_pmu().map_or("cpu", |pmu| &pmu.name).to_owned();
        let page = UserPage { event, pmu, page, not_send: PhantomData };
        if page.stable(|fields| Ok(fields.cap_user_rdpmc))? { Ok(page) } else { Err(page.no_user_rdpmc()) }
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
    pub(crate) fn stable<T>(
        &self,
        body: impl Fn(PageFields) -> Result<T, HostPerfError>,
    ) -> Result<T, HostPerfError> {
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

    pub(crate) fn check(&self, fields: &PageFields) -> Result<(), HostPerfError> {
        if !fields.cap_user_rdpmc {
            return Err(self.no_user_rdpmc());
        }
        if fields.index == 0 {
            return Err(self.not_on_pmu());
        }
        Ok(())
    }

    fn no_user_rdpmc(&self) -> HostPerfError {
        HostPerfError::NoUserRdpmc { event: self.event, pmu: self.pmu.clone() }
    }

    pub(crate) fn not_on_pmu(&self) -> HostPerfError {
        HostPerfError::NotOnPmu { event: self.event }
    }
}

/// A counter of `width` bits as a signed number. Width 0 or above 64 means all 64 bits.
fn sign_extend(raw: u64, width: u16) -> i64 {
    let shift = 64 - effective(width);
    (raw << shift).cast_signed() >> shift
}

pub(crate) fn zero_extend(raw: u64, width: u16) -> u64 {
    raw & (u64::MAX >> (64 - effective(width)))
}

fn effective(width: u16) -> u32 {
    if (1..=64).contains(&width) { width.into() } else { 64 }
}
