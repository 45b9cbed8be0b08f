//! Model-specific registers and RDPMC.

use super::{MSR_APIC_BASE, MSR_TSC_DEADLINE, Pc, amd_msr};
use crate::machine::exceptions::{MsrAccess, RefusalReason};
use crate::machine::pmu::Origin;
use crate::machine::{Board as _, Machine};
use platform::x86::apic::LocalApic;
pub use soft_cpu::GeneralProtection;
use vpmu::pmu::RdpmcContext;
use vpmu::profile::Vendor;
use vpmu::{ReadOutcome, WriteOutcome};

/// IA32_MCG_CAP: 0, no error-reporting banks. Guests read it without asking CPUID.
pub const MSR_MCG_CAP: u32 = 0x179;
/// IA32_BIOS_SIGN_ID: microcode revision, in the high half on Intel CPUs; PATCH_LEVEL in the low half on AMD's.
const MSR_BIOS_SIGN_ID: u32 = 0x8B;
/// Any; guests only want it to be there.
const MICROCODE_REVISION: u64 = 1;
/// IA32_ARCH_CAPABILITIES, announced by CPUID leaf 7 EDX bit 29 where an engine does not speculate.
const MSR_ARCH_CAPABILITIES: u32 = 0x10A;
/// RDCL_NO (0), SSB_NO (4), MDS_NO (5), IF_PSCHANGE_MC_NO (6), TAA_NO (8), SBDR_SSDP_NO (13), FBSDP_NO (14),
/// PSDP_NO (15): so that guests do not pay for mitigations of what cannot happen here.
const ARCH_CAPABILITIES: u64 = 1 << 0 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 13 | 1 << 14 | 1 << 15;

/// The answer to an MSR access: `Err(GeneralProtection)` means #GP(0) for the guest.
pub type MsrResult<T> = Result<T, GeneralProtection>;

impl Machine<Pc> {
    /// RDMSR.
    ///
    /// # Errors
    /// #GP(0) for the guest.
    pub fn rdmsr(&mut self, index: u32, rip: Option<u64>) -> MsrResult<u64> {
        let access = MsrAccess::Rdmsr { index };
        let (outcome, pmis) = self.pmu.rdmsr(index, Origin { now: self.now, rip }).into_parts();
        self.deliver(pmis);
        if outcome != ReadOutcome::NotHandled {
            return self.answer(access, rip, outcome);
        }
        let value = match index {
            MSR_APIC_BASE => Ok(self.board.apic.base()),
            MSR_MCG_CAP => Ok(0),
            MSR_TSC_DEADLINE => self.board.apic.read_tsc_deadline(),
            _ if LocalApic::owns_msr(index) => self.board.apic.read_msr(index, self.now),
            MSR_BIOS_SIGN_ID if self.is_amd() => Ok(MICROCODE_REVISION),
            MSR_BIOS_SIGN_ID => Ok(MICROCODE_REVISION << 32),
            MSR_ARCH_CAPABILITIES if !self.is_amd() => Ok(ARCH_CAPABILITIES),
            _ => match self.configuration(index) {
                Some(value) => Ok(value),
                None => return Err(self.not_implemented(access, rip)),
            },
        };
        value.map_err(|_| self.general_protection(access, rip, RefusalReason::Apic))
    }

    /// WRMSR.
    ///
    /// # Errors
    /// #GP(0) for the guest; nothing has changed.
    pub fn wrmsr(&mut self, index: u32, value: u64, rip: Option<u64>) -> MsrResult<()> {
        let access = MsrAccess::Wrmsr { index, value };
        let (outcome, pmis) = self.pmu.wrmsr(index, value, Origin { now: self.now, rip }).into_parts();
        self.deliver(pmis);
        match outcome {
            WriteOutcome::NotHandled => {}
            WriteOutcome::Done => return Ok(()),
            WriteOutcome::Fault(fault) => {
                return Err(self.general_protection(access, rip, RefusalReason::Pmu(fault)));
            }
        }
        let written = match index {
            MSR_APIC_BASE => self.board.apic.set_base(value),
            MSR_TSC_DEADLINE => self.board.apic.write_tsc_deadline(value, self.board.tsc(self.now), self.now),
            _ if LocalApic::owns_msr(index) => {
                let result = self.board.apic.write_msr(index, value, self.now);
                self.board.route_interrupts();
                result
            }
            // Software writes 0 and executes CPUID before it reads the revision.
            MSR_BIOS_SIGN_ID => Ok(()),
            // Configuration without effect here.
            _ if self.configuration(index).is_some() => Ok(()),
            _ => return Err(self.not_implemented(access, rip)),
        };
        written.map_err(|_| self.general_protection(access, rip, RefusalReason::Apic))
    }

    /// A model-specific configuration register.
    fn configuration(&self, index: u32) -> Option<u64> {
        amd_msr::read(index).filter(|_| self.is_amd())
    }

    fn is_amd(&self) -> bool {
        self.pmu.profile().vendor() == Vendor::Amd
    }

    /// RDPMC.
    ///
    /// # Errors
    /// #GP(0) for the guest.
    pub fn rdpmc(&mut self, ecx: u32, context: RdpmcContext, rip: Option<u64>) -> MsrResult<u64> {
        let (outcome, pmis) = self.pmu.rdpmc(ecx, context, Origin { now: self.now, rip }).into_parts();
        self.deliver(pmis);
        self.answer(MsrAccess::Rdpmc { index: ecx }, rip, outcome)
    }

    /// What the PMU has read.
    fn answer(&mut self, access: MsrAccess, rip: Option<u64>, outcome: ReadOutcome) -> MsrResult<u64> {
        match outcome {
            ReadOutcome::Value(value) => Ok(value),
            ReadOutcome::Fault(fault) => Err(self.general_protection(access, rip, RefusalReason::Pmu(fault))),
            ReadOutcome::NotHandled => Err(self.not_implemented(access, rip)),
        }
    }

    fn general_protection(
        &mut self,
        access: MsrAccess,
        rip: Option<u64>,
        reason: RefusalReason,
    ) -> GeneralProtection {
        self.refuse(access, rip, reason);
        GeneralProtection
    }

    fn not_implemented(&mut self, access: MsrAccess, rip: Option<u64>) -> GeneralProtection {
        self.unknown(access, rip);
        GeneralProtection
    }
}
