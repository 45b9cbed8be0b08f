//! RDPMC.

use super::{Intel, bit};
use vpmu::pmu::RdpmcContext;
use vpmu::{Fault, ReadOutcome};

impl Intel {
    pub(super) fn read_counter(&mut self, ecx: u32, context: RdpmcContext) -> ReadOutcome {
        if context.cpl > 0 && !context.pce && context.protected_mode {
            return ReadOutcome::Fault(Fault::RdpmcPrivilege);
        }
        for n in 0..self.cpu.gp {
            if ecx == n {
                return ReadOutcome::Value(self.pmc[n as usize]);
            }
        }
        for n in 0..self.cpu.fixed {
            if ecx == 0x4000_0000 + n {
                return ReadOutcome::Value(self.fixed[n as usize]);
            }
        }
        if ecx == 0x2000_0000 && self.cpu.metrics() {
            let value = self.metrics.read(self.fixed[3], self.cpu.metric_fields);
            if self.cpu.metrics_clear() && bit(self.fixed_ctr_ctrl, 14) {
                self.metrics = Default::default();
                self.fixed[3] = 0;
            }
            return ReadOutcome::Value(value);
        }
        ReadOutcome::Fault(Fault::RdpmcIndex(ecx))
    }
}
