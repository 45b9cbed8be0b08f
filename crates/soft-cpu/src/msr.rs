//! MSRs that the CPU itself owns; all others are the bus's.

use crate::bus::Bus;
use crate::context::{CR0_PG, Core, EFER_LMA, EFER_LME, EFER_NXE, EFER_SCE, FS, GS};
use crate::exception::{Done, Fault};
use crate::mmu::is_canonical;

const TSC: u32 = 0x10;
const SYSENTER_CS: u32 = 0x174;
const SYSENTER_EIP: u32 = 0x176;
const PAT: u32 = 0x277;
const XSS: u32 = 0xDA0;
const EFER: u32 = 0xC000_0080;
const STAR: u32 = 0xC000_0081;
const LSTAR: u32 = 0xC000_0082;
const CSTAR: u32 = 0xC000_0083;
const FMASK: u32 = 0xC000_0084;
const FS_BASE: u32 = 0xC000_0100;
const GS_BASE: u32 = 0xC000_0101;
const KERNEL_GS_BASE: u32 = 0xC000_0102;
const TSC_AUX: u32 = 0xC000_0103;

impl Core {
    pub(crate) fn read_msr<B: Bus>(&mut self, bus: &mut B, index: u32) -> Result<u64, Fault> {
        Ok(match index {
            SYSENTER_CS..=SYSENTER_EIP => self.sysenter[(index - SYSENTER_CS) as usize % 3],
            PAT => self.pat,
            EFER => self.efer,
            STAR => self.star,
            LSTAR => self.lstar,
            CSTAR => self.cstar,
            FMASK => self.fmask,
            FS_BASE => self.segs[FS].base,
            GS_BASE => self.segs[GS].base,
            KERNEL_GS_BASE => self.kernel_gs_base,
            TSC_AUX => u64::from(self.tsc_aux),
            XSS if self.xsave => self.xss,
            TSC => {
                self.sync(bus);
                bus.tsc(&self.access())
            }
            _ => {
                self.sync(bus);
                let answer = bus.rdmsr(index, &self.access());
                self.after_bus(bus);
                return answer.map_err(|_| self.gp(0));
            }
        })
    }

    pub(crate) fn write_msr<B: Bus>(&mut self, bus: &mut B, index: u32, value: u64) -> Done {
        let address =
            matches!(index, 0x175 | SYSENTER_EIP | LSTAR | CSTAR | FS_BASE | GS_BASE | KERNEL_GS_BASE);
        if address && !is_canonical(value) {
            return Err(self.gp(0));
        }
        match index {
            SYSENTER_CS..=SYSENTER_EIP => self.sysenter[(index - SYSENTER_CS) as usize % 3] = value,
            PAT => {
                // Each byte is a memory type: 0, 1, 4 to 7.
                if value.to_le_bytes().iter().any(|kind| !matches!(kind, 0 | 1 | 4..=7)) {
                    return Err(self.gp(0));
                }
                self.pat = value;
            }
            EFER => return self.set_efer(value),
            STAR => self.star = value,
            LSTAR => self.lstar = value,
            CSTAR => self.cstar = value,
            FMASK => {
                if value >> 32 != 0 {
                    return Err(self.gp(0));
                }
                self.fmask = value;
            }
            FS_BASE | GS_BASE => {
                self.segs[if index == FS_BASE { FS } else { GS }].base = value;
                self.update_bases();
            }
            KERNEL_GS_BASE => self.kernel_gs_base = value,
            TSC_AUX => self.tsc_aux = u32::try_from(value).map_err(|_| self.gp(0))?,
            XSS if self.xsave => return self.set_xss(bus, value),
            _ => {
                self.sync(bus);
                let answer = bus.wrmsr(index, value, &self.access());
                self.after_bus(bus);
                return answer.map_err(|_| self.gp(0));
            }
        }
        Ok(())
    }

    fn set_efer(&mut self, value: u64) -> Done {
        let known = EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE;
        let lme_changes = (value ^ self.efer) & EFER_LME != 0;
        if value & !known != 0 || lme_changes && self.cr0 & CR0_PG != 0 {
            return Err(self.gp(0));
        }
        // LMA is read-only.
        self.efer = value & !EFER_LMA | self.efer & EFER_LMA;
        self.flush_tlb();
        self.update_mode();
        Ok(())
    }
}
