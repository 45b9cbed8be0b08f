//! What records of measurements need to know: which counters run with what in them, and which one an access is about.

use super::{Active, CounterId, Machine, Vpmu};
use crate::bits::low_bits;
use crate::register::arm::RegisterId as Arm;
use crate::register::{RegisterId, amd, intel, locate};
use crate::source::Running;

impl Vpmu {
    /// The running counters with their values, as of the last update. A cycle counter that counts every 64th cycle is
    /// left out, since its value does not say what has occurred.
    pub fn running(&self) -> impl Iterator<Item = Running> + '_ {
        let (x86, arm) = match &self.machine {
            Machine::Intel(_) | Machine::Amd(_) => {
                // The periodic counters of IBS are no counters of software's.
                let counters = self.active().filter(|active| !matches!(active.counter, CounterId::Ibs(_)));
                (Some(counters.map(|active| self.with_value(&active))), None)
            }
            Machine::Arm(own) => (None, Some(own.running())),
        };
        x86.into_iter().flatten().chain(self.held()).chain(arm.into_iter().flatten())
    }

    /// An x86 CPU's counters that only a fault keeps from running.
    fn held(&self) -> impl Iterator<Item = Running> + '_ {
        let (intel, amd) = match &self.machine {
            Machine::Intel(own) => (Some(own.held()), None),
            Machine::Amd(own) => (None, Some(own.held())),
            Machine::Arm(_) => (None, None),
        };
        intel.into_iter().flatten().chain(amd.into_iter().flatten())
    }

    /// An x86 CPU's counter: all overflow at their width, which is below 64.
    fn with_value(&self, active: &Active) -> Running {
        let Active { counter, request, filter, until_overflow, .. } = *active;
        let width = u32::from(match counter {
            CounterId::Gp(_) | CounterId::Ibs(_) => self.profile().gp_width,
            CounterId::Fixed(_) | CounterId::Metric(_) => self.profile().fixed_width(),
        });
        let value = (low_bits(width) + 1).wrapping_sub(until_overflow) & low_bits(width);
        Running { counter, request, filter, value, width }
    }

    /// The counter whose value an access to this register reads or writes; PERF_METRICS is field 0. PMXEVCNTR_EL0 is
    /// the counter that PMSELR_EL0 selects.
    #[must_use]
    pub fn counter_at(&self, register: u32) -> Option<CounterId> {
        use amd::RegisterId::{LegacyPerfCtr, PerfCtr};
        use intel::RegisterId::{APmc, FixedCtr, PerfMetrics, Pmc};
        let located = locate(self.profile().vendor(), register)?;
        let n = u8::try_from(located.instance).ok()?;
        match located.register.id {
            RegisterId::Intel(Pmc | APmc)
            | RegisterId::Amd(PerfCtr | LegacyPerfCtr)
            | RegisterId::Arm(Arm::Pmevcntr) => Some(CounterId::Gp(n)),
            RegisterId::Intel(FixedCtr) => Some(CounterId::Fixed(n)),
            RegisterId::Intel(PerfMetrics) => Some(CounterId::Metric(0)),
            RegisterId::Arm(Arm::Pmccntr) => Some(CounterId::Fixed(0)),
            RegisterId::Arm(Arm::Pmxevcntr) => match &self.machine {
                Machine::Arm(own) => own.selected_event_counter().map(CounterId::Gp),
                Machine::Intel(_) | Machine::Amd(_) => None,
            },
            _ => None,
        }
    }
}
