//! RDPMC.

use super::{Answer, Cause, Model, bit};

/// What the instruction checks besides ECX.
#[derive(Debug, Clone, Copy)]
pub struct Privilege {
    pub cpl: u8,
    pub cr4_pce: bool,
    pub cr0_pe: bool,
}

impl Model {
    pub fn rdpmc(&mut self, ecx: u32, privilege: Privilege) -> Answer {
        if privilege.cpl > 0 && !privilege.cr4_pce && privilege.cr0_pe {
            return Answer::Gp(Cause::RdpmcPrivilege);
        }
        for n in 0..self.cpu.gp {
            if ecx == n {
                return Answer::Value(self.pmc[n as usize]);
            }
        }
        for n in 0..self.cpu.fixed {
            if ecx == 0x4000_0000 + n {
                return Answer::Value(self.fixed[n as usize]);
            }
        }
        if ecx == 0x2000_0000 && self.cpu.metrics() {
            let value = self.metrics.read(self.fixed[3], self.cpu.metric_fields);
            if self.cpu.metrics_clear() && bit(self.fixed_ctr_ctrl, 14) {
                self.metrics = Default::default();
                self.fixed[3] = 0;
            }
            return Answer::Value(value);
        }
        Answer::Gp(Cause::RdpmcIndex(ecx))
    }
}
