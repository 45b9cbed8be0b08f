//! RDPMC.

use super::{Intel, SLOTS_COUNTER};
use crate::metrics::Metrics;
use crate::pmu::{Fault, ReadOutcome};
use crate::register::intel::FixedCtrCtrl;
use crate::source::CountsSource;

/// ECX bits 31:16 of a general-purpose counter.
const TYPE_GP: u32 = 0x0000;
/// ECX bits 31:16 of a fixed-function counter.
const TYPE_FIXED: u32 = 0x4000;
/// ECX bits 31:16 of PERF_METRICS.
const TYPE_METRICS: u32 = 0x2000;

impl Intel {
    /// Executes RDPMC at a privilege level that may. Types: SDM vol. 2B, RDPMC. The fast-read bit 31 belongs to CPUs
    /// without an architectural PMU; here it is an unknown type.
    pub(in crate::pmu) fn rdpmc(&mut self, ecx: u32, source: &mut dyn CountsSource) -> ReadOutcome {
        let index = ecx & 0xFFFF;
        let value = match ecx >> 16 {
            TYPE_GP if self.intel.version >= 1 && index < u32::from(self.profile.gp_counters) => {
                self.read_gp(index, source)
            }
            TYPE_FIXED if self.intel.version >= 2 && index < u32::from(self.intel.fixed_counters) => {
                self.read_fixed(index, source)
            }
            TYPE_METRICS if index == 0 && self.intel.perf_capabilities.perf_metrics_available() => {
                self.rdpmc_metrics(source)
            }
            _ => return ReadOutcome::Fault(Fault::RdpmcIndex(ecx)),
        };
        ReadOutcome::Value(value)
    }

    fn rdpmc_metrics(&mut self, source: &mut dyn CountsSource) -> u64 {
        let value = self.read_metrics(source);
        let clears = self.intel.perf_capabilities.rdpmc_metrics_clear()
            && self.bank.get::<FixedCtrCtrl>().metrics_clear();
        if clears {
            self.metrics = Metrics::default();
            self.fixed[SLOTS_COUNTER].value = 0;
            self.rearm(source);
        }
        value
    }
}
