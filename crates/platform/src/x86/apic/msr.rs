//! x2APIC registers and IA32_TSC_DEADLINE.

use super::spec::{Access, ApicMode, Icr, LvtKind, MSR_X2APIC_FIRST, MSR_X2APIC_LAST, Register, TimerMode};
use super::{GeneralProtection, LocalApic};
use crate::convert::low_u32;
use crate::time::GuestTime;

impl LocalApic {
    /// True for the x2APIC range 0x800 to 0x8FF, which [`read_msr`](Self::read_msr) and
    /// [`write_msr`](Self::write_msr) answer.
    #[must_use]
    pub fn owns_msr(index: u32) -> bool {
        (MSR_X2APIC_FIRST..=MSR_X2APIC_LAST).contains(&index)
    }

    /// RDMSR of an x2APIC register.
    ///
    /// # Errors
    /// [`GeneralProtection`] outside x2APIC mode and for reserved and write-only registers.
    pub fn read_msr(&mut self, index: u32, now: GuestTime) -> Result<u64, GeneralProtection> {
        self.advance(now);
        match self.msr_register(index)? {
            (_, Access::WriteOnly) => Err(GeneralProtection),
            (Register::IcrLow, _) => Ok(self.icr.0),
            (register, _) => Ok(self.read_register(register, now).into()),
        }
    }

    /// WRMSR of an x2APIC register.
    ///
    /// # Errors
    /// [`GeneralProtection`] outside x2APIC mode, for reserved and read-only registers, for reserved
    /// bits ("x2APIC Register Address Space", reserved-bit checking), and for anything but 0 to EOI
    /// and ESR. Nothing changes then.
    pub fn write_msr(&mut self, index: u32, value: u64, now: GuestTime) -> Result<(), GeneralProtection> {
        self.advance(now);
        let (register, access) = self.msr_register(index)?;
        let defined = match register {
            Register::IcrLow => u64::from(Icr::DEFINED_BITS) | !u64::from(u32::MAX),
            other => u64::from(other.defined_bits(self.config.tsc_deadline_hz.is_some())),
        };
        if access == Access::ReadOnly || value & !defined != 0 {
            return Err(GeneralProtection);
        }
        if register == Register::IcrLow {
            self.write_register(Register::IcrHigh, (value >> 32) as u32, now);
        }
        self.write_register(register, low_u32(value), now);
        Ok(())
    }

    /// RDMSR of IA32_TSC_DEADLINE: 0 when disarmed, fired as of the last `advance`, or in another mode.
    ///
    /// # Errors
    /// [`GeneralProtection`] if the configuration does not offer TSC-deadline mode.
    pub fn read_tsc_deadline(&self) -> Result<u64, GeneralProtection> {
        self.config.tsc_deadline_hz.ok_or(GeneralProtection)?;
        Ok(self.timer.deadline())
    }

    /// WRMSR of IA32_TSC_DEADLINE. `tsc` is what RDTSC returns at `now`; the timer then waits for the
    /// rest at the configured frequency. 0 disarms, a value in the past fires at once, and outside
    /// TSC-deadline mode the write is ignored. When the guest moves its TSC, write the value again.
    ///
    /// # Errors
    /// [`GeneralProtection`] if the configuration does not offer TSC-deadline mode.
    pub fn write_tsc_deadline(
        &mut self,
        value: u64,
        tsc: u64,
        now: GuestTime,
    ) -> Result<(), GeneralProtection> {
        let hz = self.config.tsc_deadline_hz.ok_or(GeneralProtection)?;
        self.advance(now);
        if self.lvt(LvtKind::Timer).timer_mode() == TimerMode::TscDeadline {
            self.timer.arm_deadline(value, tsc, hz, now);
            self.advance(now);
        }
        Ok(())
    }

    fn msr_register(&self, index: u32) -> Result<(Register, Access), GeneralProtection> {
        if self.mode() != ApicMode::X2Apic {
            return Err(GeneralProtection);
        }
        let register = self.known(Register::from_msr(index)).ok_or(GeneralProtection)?;
        match register.access(ApicMode::X2Apic) {
            Access::Reserved => Err(GeneralProtection),
            access => Ok((register, access)),
        }
    }
}
