//! The user page of a simulated event.

#![expect(unsafe_code, reason = "the page that a kernel would map is memory of ours")]

use std::os::fd::RawFd;

use super::hardware::Kind;
use super::{FakeKernel, State};
use crate::kernel::{PageFields, PageView};

/// Width of the counters.
const WIDTH: u16 = 48;
/// The kernel starts a counter that does not sample half its range below zero.
const START: i64 = (1 << 47) - 1;
const SLOTS: u32 = 0x4000_0003;
const METRICS: u32 = 0x2000_0000;

#[derive(Debug)]
pub(super) struct FakePage {
    pub(super) kernel: FakeKernel,
    pub(super) fd: RawFd,
}

impl State {
    /// RDPMC selector of an event that is on the PMU: general counters are taken in order of opening.
    fn selector(&self, fd: RawFd) -> Option<u32> {
        let event = self.events.get(&fd).filter(|event| event.on_pmu)?;
        match event.kind {
            Kind::Slots => Some(SLOTS),
            Kind::Metric(_) => Some(METRICS),
            Kind::Software(_) => None,
            _ => {
                let earlier = self.events.range(..fd).filter(|(_, other)| {
                    other.on_pmu && matches!(other.kind, Kind::Generic(_) | Kind::Raw(_))
                });
                u32::try_from(earlier.count()).ok()
            }
        }
    }
}

impl PageView for FakePage {
    fn lock(&self) -> u32 {
        self.kernel.state().events.get(&self.fd).map_or(0, |event| event.lock)
    }

    fn fields(&self) -> PageFields {
        let state = self.kernel.state();
        let Some(event) = state.events.get(&self.fd) else { return PageFields::default() };
        PageFields {
            index: state.selector(self.fd).map_or(0, |selector| selector + 1),
            offset: if event.kind == Kind::Slots { event.value.cast_signed() } else { START },
            time_enabled: event.time_enabled,
            time_running: event.time_running,
            cap_user_rdpmc: state.config.user_rdpmc && !matches!(event.kind, Kind::Software(_)),
            pmc_width: WIDTH,
        }
    }

    unsafe fn rdpmc(&self, selector: u32) -> u64 {
        let mut state = self.kernel.state();
        let named = state.events.keys().copied().find(|fd| state.selector(*fd) == Some(selector));
        let Some(fd) = named.filter(|_| state.config.user_rdpmc) else {
            state.faults += 1;
            return u64::MAX;
        };
        if state.disturbances > 0 {
            state.disturbances -= 1;
            if let Some(event) = state.events.get_mut(&self.fd) {
                event.lock += 2;
            }
            return 0xDEAD_BEEF;
        }
        let event = &state.events[&fd];
        match event.kind {
            Kind::Slots => event.pair[0],
            Kind::Metric(_) => u64::from_le_bytes(state.events[&event.leader].metrics()),
            _ => event.value.cast_signed().wrapping_sub(START).cast_unsigned() & ((1 << WIDTH) - 1),
        }
    }
}
