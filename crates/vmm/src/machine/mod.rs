//! The machine: what a vCPU sees around it, the same for every engine.
//!
//! An engine executes instructions and calls the machine for port I/O, MMIO, MSRs and RDPMC; tells
//! it how guest time goes by; and asks it which interrupt is due.

mod amd_msr;
mod error;
pub mod exceptions;
mod json_lines;
mod outcome;
pub mod pmu;
pub mod progress;
pub mod stop;
mod unknown_msrs;

pub use self::error::{SaveRestoreError, StateError};
use self::exceptions::{ExceptionLog, MsrAccess, Refusal, RefusalReason};
pub use self::outcome::Outcome;
use self::pmu::{Origin, PmuDevice, PmuState};
use self::progress::RunProgress;
use self::stop::StopRequest;
pub use self::unknown_msrs::{UnknownMsr, UnknownMsrs};
use crate::counts::Slice;
use platform::convert::scale;
use platform::memory::GuestMemory;
use platform::time::GuestTime;
pub use platform::x86::apic::spec::{MSR_APIC_BASE, MSR_TSC_DEADLINE};
use platform::x86::apic::{ApicState, LocalApic, TimerState};
use platform::x86::devices::{Devices, DevicesState, IoApic, PortEffect, TestDevice};
use serde::{Deserialize, Serialize};
pub use soft_cpu::GeneralProtection;
use vpmu::pmu::RdpmcContext;
use vpmu::profile::Vendor;
use vpmu::{PmiRequests, ReadOutcome, WriteOutcome};

/// IA32_MCG_CAP: 0, no error-reporting banks. Guests read it without asking CPUID.
pub const MSR_MCG_CAP: u32 = 0x179;
/// Latest time of a saved machine, in ns or timer ticks: after decades.
const MAX_TIME: u64 = 1 << 60;

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

/// Everything around the vCPU.
#[derive(Debug)]
pub struct Machine {
    /// Guest RAM.
    pub memory: GuestMemory,
    /// Port devices.
    pub devices: Devices,
    /// The local APIC.
    pub apic: LocalApic,
    /// The virtual PMU.
    pub pmu: PmuDevice,
    /// What the CPU delivers through the IDT.
    pub exceptions: ExceptionLog,
    /// TSC rate that the guest sees, in Hz.
    pub tsc_hz: u64,
    now: GuestTime,
    /// What the guest's writes to its TSC have added to it.
    tsc_offset: u64,
    outcome: Option<Outcome>,
    stop_request: StopRequest,
    progress: RunProgress,
    unknown_msrs: UnknownMsrs,
}

/// The saved state of a [`Machine`] without its RAM.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineState {
    now: GuestTime,
    apic: ApicState,
    pub(crate) devices: DevicesState,
    pmu: PmuState,
    unknown_msrs: UnknownMsrs,
}

impl Machine {
    /// Puts the parts together.
    #[must_use]
    pub fn new(memory: GuestMemory, devices: Devices, apic: LocalApic, pmu: PmuDevice, tsc_hz: u64) -> Self {
        Self {
            memory,
            devices,
            apic,
            pmu,
            exceptions: ExceptionLog::default(),
            tsc_hz,
            now: GuestTime::default(),
            tsc_offset: 0,
            outcome: None,
            stop_request: StopRequest::default(),
            progress: RunProgress::default(),
            unknown_msrs: UnknownMsrs::default(),
        }
    }

    /// Takes a copy of everything but RAM, between two instructions.
    pub fn save(&mut self) -> MachineState {
        let (pmu, pmis) = self.pmu.save_all().into_parts();
        self.deliver(pmis);
        MachineState {
            now: self.now,
            apic: self.apic.save(),
            devices: self.devices.save(),
            pmu,
            unknown_msrs: self.unknown_msrs.clone(),
        }
    }

    /// Goes on from a saved state, on a fresh machine whose devices [have been
    /// resumed](platform::x86::devices::Devices::resume) and whose counts source has its totals again.
    ///
    /// # Errors
    /// What this machine cannot have saved.
    pub fn resume(&mut self, saved: &MachineState) -> Result<(), StateError> {
        let times = match saved.apic.timer {
            TimerState::Idle => [0; 2],
            TimerState::Counting { start, end } => [start, end],
            TimerState::Deadline { due, .. } => [due, 0],
        };
        if saved.now.0 > MAX_TIME || times.iter().any(|time| *time > MAX_TIME) {
            return Err(StateError::Time);
        }
        self.apic.restore(&saved.apic)?;
        self.now = saved.now;
        self.unknown_msrs = saved.unknown_msrs.clone();
        self.pmu.resume(&saved.pmu)
    }

    /// Guest time.
    #[must_use]
    pub fn now(&self) -> GuestTime {
        self.now
    }

    /// The TSC as of [`now`](Self::now), never later than what the guest reads.
    fn tsc(&self) -> u64 {
        let ticks = scale(self.now.0, self.tsc_hz, 1_000_000_000);
        ticks.wrapping_add(self.tsc_offset)
    }

    /// Tells what the guest's writes to its TSC have added to it.
    pub fn set_tsc_offset(&mut self, offset: u64) {
        self.tsc_offset = offset;
    }

    /// The guest has written its TSC: what waits for a value of it waits for another time. `offset` as in
    /// [`set_tsc_offset`](Self::set_tsc_offset).
    pub fn move_tsc(&mut self, offset: u64) {
        self.tsc_offset = offset;
        if let Ok(deadline @ 1..) = self.apic.read_tsc_deadline() {
            let rearmed = self.apic.write_tsc_deadline(deadline, self.tsc(), self.now);
            log::debug!("TSC deadline {deadline:#x} after the TSC was written: {rearmed:?}");
        }
    }

    /// From here on tells this how far the run is.
    pub fn set_progress(&mut self, progress: RunProgress) {
        self.progress = progress;
    }

    /// So many instructions have retired since boot.
    pub(crate) fn note_progress(&self, instructions: u64) {
        self.progress.note(instructions, self.now);
    }

    /// The end of the run, once it has come.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Ends the run. The first reason stays.
    pub fn stop(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    /// MSRs that the guest accessed and that are not implemented.
    #[must_use]
    pub fn unknown_msrs(&self) -> &UnknownMsrs {
        &self.unknown_msrs
    }

    /// Guest time is now `now`; of the time since the last call the guest ran for `ran`.
    pub fn advance(&mut self, now: GuestTime, ran: Slice) {
        self.now = self.now.max(now);
        let pmis = self.pmu.advance(ran);
        self.apic.advance(self.now);
        self.devices.advance(self.now);
        self.deliver(pmis);
    }

    /// Passes what the devices ask for through the I/O APIC to the local APIC.
    pub fn route_interrupts(&mut self) {
        if let Some(vector) = self.apic.take_eoi() {
            self.devices.ioapic_mut().end_of_interrupt(vector);
        }
        while let Some(message) = self.devices.take_interrupt() {
            self.apic.receive(message);
        }
    }

    /// From here on the run ends when this asks for it.
    pub fn set_stop_request(&mut self, request: StopRequest) {
        self.stop_request = request;
    }

    /// Passes on what has been typed; ends the run when the user or a signal wants that.
    pub fn poll_input(&mut self) {
        if self.devices.poll_input() {
            self.route_interrupts();
        }
        self.end_on_request();
    }

    fn end_on_request(&mut self) {
        if self.devices.quit_requested() {
            self.stop(Outcome::Quit);
        }
        if let Some(signal) = self.stop_request.signal() {
            self.stop(Outcome::Interrupted { signal });
        }
    }

    /// The guest halts. True if its serial port has something new for it.
    pub fn idle_input(&mut self) -> bool {
        let any = self.devices.idle_input();
        self.route_interrupts();
        self.end_on_request();
        any
    }

    /// The host says that a counter may have overflowed.
    pub fn poll_pmu(&mut self) {
        let pmis = self.pmu.poll();
        self.deliver(pmis);
    }

    fn deliver(&mut self, pmis: PmiRequests) {
        pmis.deliver(|| {
            let delivery = self.apic.raise_pmi();
            self.pmu.trace_pmi(delivery.as_str(), self.now);
        });
    }

    /// IN of `data.len()` bytes (1, 2 or 4).
    pub fn port_in(&mut self, port: u16, data: &mut [u8]) {
        self.devices.read_port(port, data);
        self.route_interrupts();
    }

    /// OUT of `data.len()` bytes (1, 2 or 4).
    pub fn port_out(&mut self, port: u16, data: &[u8]) {
        match self.devices.write_port(port, data) {
            PortEffect::None => {}
            PortEffect::Exit { status } => self.stop(Outcome::Exit { status }),
            PortEffect::Reset => self.stop(Outcome::Reset),
            PortEffect::PowerOff => self.stop(Outcome::PoweredOff),
            PortEffect::Panicked => self.stop(Outcome::Panicked),
            PortEffect::Label(label) => self.pmu.label_window(label),
            PortEffect::IntervalBegin => self.pmu.begin_interval(),
            PortEffect::IntervalEnd => self.pmu.end_interval(),
            PortEffect::SaveRestore => {
                let (result, pmis) = self.pmu.save_and_restore().into_parts();
                if let Err(reason) = &result {
                    log::error!("save and restore of the vPMU failed: {reason}");
                }
                self.devices.control_done(result.is_ok());
                self.deliver(pmis);
            }
        }
        self.route_interrupts();
    }

    /// The guest executes for the first time what the engine does not implement, and gets #UD.
    pub fn note_unimplemented(&mut self, code: &str, rip: u64) {
        self.pmu.trace_unimplemented(code, Origin { now: self.now, rip: Some(rip) });
    }

    /// MMIO read; addresses of no device read as all ones.
    pub fn mmio_read(&mut self, address: u64, data: &mut [u8]) {
        if let Some(offset) = self.apic.page_offset(address) {
            self.apic.mmio_read(offset, data, self.now);
        } else if let Some(offset) = IoApic::page_offset(address) {
            self.devices.ioapic_mut().read(offset, data);
        } else if let Some(offset) = TestDevice::memory_offset(address) {
            self.devices.test_mut().read(offset, data);
        } else {
            data.fill(0xFF);
        }
    }

    /// MMIO write; addresses of no device swallow it.
    pub fn mmio_write(&mut self, address: u64, data: &[u8]) {
        if let Some(offset) = self.apic.page_offset(address) {
            self.apic.mmio_write(offset, data, self.now);
        } else if let Some(offset) = IoApic::page_offset(address) {
            self.devices.ioapic_mut().write(offset, data);
        } else if let Some(offset) = TestDevice::memory_offset(address) {
            self.devices.test_mut().write(offset, data);
        } else {
            return;
        }
        self.route_interrupts();
    }

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
            MSR_APIC_BASE => Ok(self.apic.base()),
            MSR_MCG_CAP => Ok(0),
            MSR_TSC_DEADLINE => self.apic.read_tsc_deadline(),
            _ if LocalApic::owns_msr(index) => self.apic.read_msr(index, self.now),
            MSR_BIOS_SIGN_ID if self.is_amd() => Ok(MICROCODE_REVISION),
            MSR_BIOS_SIGN_ID => Ok(MICROCODE_REVISION << 32),
            MSR_ARCH_CAPABILITIES if !self.is_amd() => Ok(ARCH_CAPABILITIES),
            _ => match self.configuration(index) {
                Some(value) => Ok(value),
                None => return Err(self.unknown(access, rip)),
            },
        };
        value.map_err(|_| self.refuse(access, rip, RefusalReason::Apic))
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
            WriteOutcome::Fault(fault) => return Err(self.refuse(access, rip, RefusalReason::Pmu(fault))),
        }
        let written = match index {
            MSR_APIC_BASE => self.apic.set_base(value),
            MSR_TSC_DEADLINE => self.apic.write_tsc_deadline(value, self.tsc(), self.now),
            _ if LocalApic::owns_msr(index) => {
                let result = self.apic.write_msr(index, value, self.now);
                self.route_interrupts();
                result
            }
            // Software writes 0 and executes CPUID before it reads the revision.
            MSR_BIOS_SIGN_ID => Ok(()),
            // Configuration without effect here.
            _ if self.configuration(index).is_some() => Ok(()),
            _ => return Err(self.unknown(access, rip)),
        };
        written.map_err(|_| self.refuse(access, rip, RefusalReason::Apic))
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
            ReadOutcome::Fault(fault) => Err(self.refuse(access, rip, RefusalReason::Pmu(fault))),
            ReadOutcome::NotHandled => Err(self.unknown(access, rip)),
        }
    }

    fn refuse(&mut self, access: MsrAccess, rip: Option<u64>, reason: RefusalReason) -> GeneralProtection {
        self.exceptions.refuse(Refusal { access, rip, reason });
        GeneralProtection
    }

    #[cold]
    fn unknown(&mut self, access: MsrAccess, rip: Option<u64>) -> GeneralProtection {
        self.unknown_msrs.note(access, rip);
        self.pmu.trace_unknown_msr(access, Origin { now: self.now, rip });
        self.refuse(access, rip, RefusalReason::Unknown)
    }
}

#[cfg(test)]
mod tests;
