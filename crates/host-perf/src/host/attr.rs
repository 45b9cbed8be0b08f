//! A request as the kernel takes it: `perf_event_attr`.

use perf_event_open_sys::bindings as sys;

use super::core_pmu::CorePmu;
use crate::error::HostPerfError;
use crate::event::{Event, SLOTS_CONFIG, SoftwareEvent};
use crate::kernel::perf_event_attr;
use crate::spec::{EventSpec, MAX_PERIOD, Scope};

/// Place of an event in its group. A single event is its own leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Leader,
    Sibling,
}

/// Both times, so that multiplexing can be seen.
pub(crate) const READ_SINGLE: u64 =
    (sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING) as u64;
/// The same for a group, with an id next to each value.
pub(crate) const READ_GROUP: u64 = READ_SINGLE | (sys::PERF_FORMAT_GROUP | sys::PERF_FORMAT_ID) as u64;

impl Event {
    /// `(type, config)` for `perf_event_attr` on a host with this core PMU.
    ///
    /// Generic events of a hybrid host carry the PMU's type in the upper half of `config`, so that they count
    /// on the big cores, where the slots are.
    ///
    /// # Errors
    /// [`HostPerfError::NoPmu`] for an event that only a core PMU defines, and the errors of
    /// [`CorePmu::encode`].
    pub fn encode(self, pmu: Option<&CorePmu>) -> Result<(u32, u64), HostPerfError> {
        let generic = |id: u32| {
            let extended = pmu.filter(|p| p.is_hybrid()).map_or(0, |p| u64::from(p.pmu_type) << 32);
            Ok((sys::PERF_TYPE_HARDWARE, extended | u64::from(id)))
        };
        let core = || pmu.ok_or(HostPerfError::NoPmu);
        match self {
            Event::Instructions => generic(sys::PERF_COUNT_HW_INSTRUCTIONS),
            Event::CpuCycles => generic(sys::PERF_COUNT_HW_CPU_CYCLES),
            Event::RefCycles => generic(sys::PERF_COUNT_HW_REF_CPU_CYCLES),
            Event::Branches => generic(sys::PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
            Event::BranchMisses => generic(sys::PERF_COUNT_HW_BRANCH_MISSES),
            Event::CacheReferences => generic(sys::PERF_COUNT_HW_CACHE_REFERENCES),
            Event::CacheMisses => generic(sys::PERF_COUNT_HW_CACHE_MISSES),
            Event::Raw(raw) => core().and_then(|p| Ok((p.pmu_type, p.encode(raw)?))),
            Event::Slots => core().map(|p| (p.pmu_type, SLOTS_CONFIG)),
            Event::Topdown(metric) => core().map(|p| (p.pmu_type, metric.config())),
            Event::Software(event) => Ok((
                sys::PERF_TYPE_SOFTWARE,
                u64::from(match event {
                    SoftwareEvent::TaskClock => sys::PERF_COUNT_SW_TASK_CLOCK,
                    SoftwareEvent::PageFaults => sys::PERF_COUNT_SW_PAGE_FAULTS,
                    SoftwareEvent::ContextSwitches => sys::PERF_COUNT_SW_CONTEXT_SWITCHES,
                }),
            )),
        }
    }
}

impl EventSpec {
    /// The kernel's form of the request. `read_format` is a set of `PERF_FORMAT_*` bits.
    pub(crate) fn attr(
        &self,
        pmu: Option<&CorePmu>,
        place: Place,
        read_format: u64,
    ) -> Result<perf_event_attr, HostPerfError> {
        let event = self.event;
        if !self.filter.os && !self.filter.usr {
            return Err(HostPerfError::EmptyFilter { event });
        }
        if self.period > MAX_PERIOD {
            return Err(HostPerfError::BadPeriod { period: self.period });
        }
        let (type_, config) = event.encode(pmu)?;
        let mut attr = perf_event_attr {
            type_,
            size: u32::try_from(size_of::<perf_event_attr>()).unwrap_or(0),
            config,
            read_format,
            ..Default::default()
        };
        attr.sample_period = self.period;
        // Siblings start and stop with their leader.
        attr.set_disabled(u64::from(place == Place::Leader));
        attr.set_pinned(u64::from(self.pinned));
        attr.set_exclude_user(u64::from(!self.filter.usr));
        attr.set_exclude_kernel(u64::from(!self.filter.os));
        attr.set_exclude_host(u64::from(self.scope == Scope::GuestOnly));
        attr.set_exclude_guest(u64::from(self.scope == Scope::HostOnly));
        Ok(attr)
    }
}
