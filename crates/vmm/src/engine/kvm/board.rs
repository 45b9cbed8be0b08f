//! What the exit loop needs from what is around the vCPU.
//!
//! The loop is generic over [`Board`], so that the same loop runs a [`Machine`] and, for measuring
//! what an exit costs by itself, an [`EmptyBoard`].

use crate::counts::Slice;
use crate::machine::{GeneralProtection, Machine, MsrResult, Outcome};
use guest_protocol::ports;
use platform::memory::GuestMemory;
use platform::time::GuestTime;
use platform::x86::apic::Pending;
use platform::x86::apic::spec::ApicBase;
use vpmu::pmu::RdpmcContext;

/// When the guest has to be left next, at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Deadlines {
    /// The local APIC timer.
    pub timer: Option<GuestTime>,
    /// Nanoseconds of run time until a counter may overflow or the privilege level wants sampling.
    pub run: Option<u64>,
}

/// What is around the vCPU. [`Machine`] documents the methods of the same names.
pub trait Board {
    /// Guest RAM.
    fn memory(&self) -> &GuestMemory;
    /// The machine on which the interpreter can complete what KVM cannot emulate.
    fn machine(&mut self) -> Option<&mut Machine> {
        None
    }
    /// The end of the run, once it has come.
    fn outcome(&self) -> Option<&Outcome>;
    /// Ends the run; the first reason stays.
    fn stop(&mut self, outcome: Outcome);
    /// Guest time is now `now`; of the time since the last call the guest ran for `ran`.
    fn advance(&mut self, now: GuestTime, ran: Slice);
    /// A host signal has come, which may tell of a counter overflow.
    fn poll_pmu(&mut self);
    /// When the guest has to be left next.
    fn deadlines(&self) -> Deadlines;

    /// Passes on what has been typed.
    fn poll_input(&mut self) {}
    /// The guest halts. True if its serial port has something new for it.
    fn idle_input(&mut self) -> bool {
        false
    }
    /// Somebody may type.
    fn has_live_input(&self) -> bool {
        false
    }

    /// What waits to be injected.
    fn pending(&self) -> Pending;
    /// Takes the pending NMI.
    fn take_nmi(&mut self) -> bool;
    /// Interrupt acknowledge.
    fn accept_vector(&mut self) -> Option<u8>;
    /// Task-priority class.
    fn cr8(&self) -> u8;
    /// The guest has written CR8.
    fn set_cr8(&mut self, value: u8);
    /// IA32_APIC_BASE.
    fn apic_base(&self) -> u64;

    /// IN.
    fn port_in(&mut self, port: u16, data: &mut [u8]);
    /// OUT.
    fn port_out(&mut self, port: u16, data: &[u8]);
    /// MMIO read.
    fn mmio_read(&mut self, address: u64, data: &mut [u8]);
    /// MMIO write.
    fn mmio_write(&mut self, address: u64, data: &[u8]);
    /// RDMSR.
    ///
    /// # Errors
    /// #GP(0) for the guest.
    fn rdmsr(&mut self, index: u32, rip: Option<u64>) -> MsrResult<u64>;
    /// WRMSR.
    ///
    /// # Errors
    /// #GP(0) for the guest.
    fn wrmsr(&mut self, index: u32, value: u64, rip: Option<u64>) -> MsrResult<()>;
    /// RDPMC.
    ///
    /// # Errors
    /// #GP(0) for the guest.
    fn rdpmc(&mut self, ecx: u32, context: RdpmcContext, rip: Option<u64>) -> MsrResult<u64>;
}

impl Board for Machine {
    fn memory(&self) -> &GuestMemory {
        &self.memory
    }

    fn machine(&mut self) -> Option<&mut Machine> {
        Some(self)
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.outcome()
    }

    fn stop(&mut self, outcome: Outcome) {
        self.stop(outcome);
    }

    fn advance(&mut self, now: GuestTime, ran: Slice) {
        self.advance(now, ran);
    }

    fn poll_pmu(&mut self) {
        self.poll_pmu();
    }

    fn deadlines(&self) -> Deadlines {
        let source = self.pmu.source();
        let run = [source.earliest_overflow(), source.sample_interval()].into_iter().flatten().min();
        Deadlines { timer: self.apic.next_deadline(), run }
    }

    fn poll_input(&mut self) {
        Machine::poll_input(self);
    }
    fn idle_input(&mut self) -> bool {
        Machine::idle_input(self)
    }
    fn has_live_input(&self) -> bool {
        self.devices.has_live_input()
    }
    fn pending(&self) -> Pending {
        self.apic.pending()
    }

    fn take_nmi(&mut self) -> bool {
        self.apic.take_nmi()
    }

    fn accept_vector(&mut self) -> Option<u8> {
        self.apic.accept_vector()
    }

    fn cr8(&self) -> u8 {
        self.apic.cr8()
    }

    fn set_cr8(&mut self, value: u8) {
        // KVM has checked the value already: a MOV to CR8 above 15 raised #GP there.
        if self.apic.set_cr8(u64::from(value)).is_err() {
            log::warn!("KVM reports CR8 {value:#x}, which no CPU can hold");
        }
    }

    fn apic_base(&self) -> u64 {
        self.apic.base()
    }

    fn port_in(&mut self, port: u16, data: &mut [u8]) {
        self.port_in(port, data);
    }

    fn port_out(&mut self, port: u16, data: &[u8]) {
        self.port_out(port, data);
    }

    fn mmio_read(&mut self, address: u64, data: &mut [u8]) {
        self.mmio_read(address, data);
    }

    fn mmio_write(&mut self, address: u64, data: &[u8]) {
        self.mmio_write(address, data);
    }

    fn rdmsr(&mut self, index: u32, rip: Option<u64>) -> MsrResult<u64> {
        self.rdmsr(index, rip)
    }

    fn wrmsr(&mut self, index: u32, value: u64, rip: Option<u64>) -> MsrResult<()> {
        self.wrmsr(index, value, rip)
    }

    fn rdpmc(&mut self, ecx: u32, context: RdpmcContext, rip: Option<u64>) -> MsrResult<u64> {
        self.rdpmc(ecx, context, rip)
    }
}

/// A board that answers everything at once and keeps nothing: what remains is the cost of an exit.
/// MSRs read as 0 and swallow writes; the exit port ends the run.
#[derive(Debug)]
pub struct EmptyBoard {
    memory: GuestMemory,
    outcome: Option<Outcome>,
}

impl EmptyBoard {
    /// A board with RAM and the exit port.
    #[must_use]
    pub fn new(memory: GuestMemory) -> Self {
        Self { memory, outcome: None }
    }
}

impl Board for EmptyBoard {
    fn memory(&self) -> &GuestMemory {
        &self.memory
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    fn stop(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    fn advance(&mut self, _now: GuestTime, _ran: Slice) {}

    fn poll_pmu(&mut self) {}

    fn deadlines(&self) -> Deadlines {
        Deadlines::default()
    }

    fn pending(&self) -> Pending {
        Pending::default()
    }

    fn take_nmi(&mut self) -> bool {
        false
    }

    fn accept_vector(&mut self) -> Option<u8> {
        None
    }

    fn cr8(&self) -> u8 {
        0
    }

    fn set_cr8(&mut self, _value: u8) {}

    fn apic_base(&self) -> u64 {
        ApicBase::RESET.0
    }

    fn port_in(&mut self, _port: u16, data: &mut [u8]) {
        data.fill(0xFF);
    }

    fn port_out(&mut self, port: u16, data: &[u8]) {
        if port == ports::EXIT {
            let value = data.first().copied().unwrap_or(0);
            self.stop(Outcome::Exit { status: (value << 1) | 1 });
        }
    }

    fn mmio_read(&mut self, _address: u64, data: &mut [u8]) {
        data.fill(0xFF);
    }

    fn mmio_write(&mut self, _address: u64, _data: &[u8]) {}

    fn rdmsr(&mut self, _index: u32, _rip: Option<u64>) -> MsrResult<u64> {
        Ok(0)
    }

    fn wrmsr(&mut self, _index: u32, _value: u64, _rip: Option<u64>) -> MsrResult<()> {
        Ok(())
    }

    fn rdpmc(&mut self, _ecx: u32, _context: RdpmcContext, _rip: Option<u64>) -> MsrResult<u64> {
        Err(GeneralProtection)
    }
}
