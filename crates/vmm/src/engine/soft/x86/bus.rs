//! What the interpreter sees around it: the machine.

use super::branches::{BranchLog, Levels, Noted};
use super::cpuid;
use super::observers::Observers;
use crate::counts::Slice;
use crate::counts::model::Retired;
use crate::counts::switched::Published;
use crate::counts::timing::Probe;
use crate::engine::cpuid::APIC;
use crate::engine::soft::clock::Clock;
use crate::engine::soft::ram::Ram;
use crate::machine::Machine;
use crate::machine::exceptions::Moment;
use crate::machine::program::Program;
use crate::machine::x86::Pc;
use platform::x86::apic::LocalApic;
use platform::x86::apic::spec::ApicMode;
use retire::{BranchKind, CoreEvent, Observer};
use soft_cpu::{
    Access, BranchRecorder, Bus, CpuidLeaf, Delivery, GeneralProtection, LbrState, TakenBranch, Totals,
    Tracer,
};
use std::time::Instant;
use vpmu::Profile;
use vpmu::pmu::{LBR_COMPONENT_WORDS, RdpmcContext};

/// IA32_TIME_STAMP_COUNTER. Reading it is the CPU's business.
const MSR_TSC: u32 = 0x10;
/// CPUID leaf 1 ECX: the APIC timer's TSC-deadline mode.
const TSC_DEADLINE: u32 = 1 << 24;

/// A CPU for which the interpreter stands in, and which keeps time and counts itself.
pub(in crate::engine) trait Principal {
    /// What CPUID answers there.
    fn cpuid(&self, leaf: u32, subleaf: u32) -> CpuidLeaf;
    /// Its time stamp counter.
    fn tsc(&self) -> u64;
}

/// Divides cycles until something is due into instructions, at most `most`, and iterations of REP, which together take
/// no more. If there are few, the rest is left to the next runs; in the last cycle an iteration may come, and the end
/// of its instruction with it.
fn share_cycles(cycles: u64, most: u64) -> (u64, u64) {
    /// Part of the cycles for iterations when instructions could use all of them.
    const SHARE: u64 = 16;
    if cycles > most {
        return (most.max(1), cycles - most);
    }
    let repetitions = (cycles / SHARE).max(1);
    (cycles.saturating_sub(repetitions).max(1), repetitions)
}

/// The machine as the CPU's bus; `OBSERVED` with a model of the core, or with a recorder.
pub(in crate::engine) struct SoftBus<'a, const OBSERVED: bool> {
    pub(super) machine: &'a mut Machine<Pc>,
    /// Another engine's CPU, which has this one complete an instruction.
    principal: Option<&'a dyn Principal>,
    pub(super) ram: Ram<0>,
    profile: &'a Profile,
    retired: Retired<Totals>,
    /// What of the totals is published.
    pub(super) published: Published,
    /// The model of the core, and who records what retires.
    observers: Observers,
    /// Guest time as of the last [`publish`](Self::publish); without a model an instruction is a cycle, and each
    /// iteration of REP another.
    pub(super) clock: Clock,
    branches: BranchLog,
    /// The CPU counts operations by type.
    counting: bool,
    /// Where the last WRMSR was.
    pub(super) last_wrmsr: u64,
    /// Something has happened that the run loop has to look at.
    pub(super) attention: bool,
}

impl<'a, const OBSERVED: bool> SoftBus<'a, OBSERVED> {
    pub(super) fn new(
        machine: &'a mut Machine<Pc>,
        ram: Ram<0>,
        profile: &'a Profile,
        retired: Retired<Totals>,
        observers: Observers,
        clock: Clock,
    ) -> Self {
        Self {
            machine,
            principal: None,
            ram,
            profile,
            branches: BranchLog::new(observers.timing.is_some()),
            counting: retired.operations().are_wanted(),
            retired,
            published: Published::default(),
            observers,
            clock,
            last_wrmsr: 0,
            attention: false,
        }
    }

    /// Brings counts and guest time up to date.
    pub(super) fn publish(&mut self, totals: &Totals) {
        if self.principal.is_some() {
            return;
        }
        self.complete_branch();
        self.published.publish(totals, &self.retired);
        self.branches.deliver(&mut self.machine.pmu);
        self.machine.pmu.set_instructions(totals.instructions());
        self.clock.cycles = self.cycles_at(totals);
        self.machine.advance(self.clock.now(), Slice::default());
        self.machine.poll_pmu();
        self.machine.inject_due();
        self.follow_branches();
    }

    /// Takes over which branches the guest wants recorded, and whether it wants to know of operations.
    pub(super) fn follow_branches(&mut self) {
        // The CPU asks for what is wanted when it has been stopped.
        self.attention |= self.branches.follow(&self.machine.pmu);
        let counting = self.retired.operations().are_wanted();
        self.attention |= self.counting != counting;
        self.counting = counting;
        if let Some(timing) = &mut self.observers.timing {
            timing.recording = self.branches.is_recording();
        }
    }

    /// The newest branch has retired: the model knows how.
    fn complete_branch(&mut self) {
        if let Some(timing) = &self.observers.timing {
            self.branches.complete(timing.newest);
        }
    }

    /// With a model, a branch is noted before it has retired: what waits is delivered before the next one.
    // Its arguments fit registers, so that nothing is prepared for it where it is not called.
    #[inline(never)]
    fn note_carefully(&mut self, from: u64, to: u64, kind: BranchKind, levels: Levels, retired: u64) {
        let branch = Noted { from, to, retired, kind, levels };
        if let Some(timing) = &self.observers.timing {
            timing.core.drive().count_branch_record(levels.to() > 0);
            self.complete_branch();
            if self.branches.is_full() {
                self.branches.deliver(&mut self.machine.pmu);
            }
            self.branches.note_carefully(branch);
        } else if self.branches.note_carefully(branch) {
            self.branches.deliver(&mut self.machine.pmu);
        }
    }

    fn cycles_at(&self, totals: &Totals) -> u64 {
        self.observers.timing.as_ref().map_or_else(
            || totals.instructions() + totals.repetitions(),
            |timing| timing.core.drive().cycles(),
        )
    }

    /// What the model of the core has booked.
    pub(super) fn probe(&self) -> Option<Probe> {
        self.observers.timing.as_ref().map(|timing| timing.core.drive().probe())
    }

    /// The time stamp counter as the guest reads it.
    pub(super) fn tsc_at(&self, totals: &Totals) -> u64 {
        self.clock.ticks_at(self.cycles_at(totals)).wrapping_add(self.machine.board.tsc_offset)
    }

    /// Instructions, and iterations of REP, until the first of: `most` instructions, a counter overflow, the APIC
    /// timer. A model of the core looks for the last two by itself.
    pub(super) fn budget(&self, most: u64) -> (u64, u64) {
        if let Some(timing) = &self.observers.timing {
            let timer = self.machine.board.apic.next_deadline();
            let timer =
                timer.map_or(u64::MAX, |then| self.clock.cycles.saturating_add(self.clock.ticks_until(then)));
            timing.core.drive().arm(timer);
            return (most, u64::MAX);
        }
        let source = self.machine.pmu.source();
        let instructions = source.instructions_to_overflow().unwrap_or(u64::MAX).min(most);
        let timer =
            self.machine.board.apic.next_deadline().map_or(u64::MAX, |then| self.clock.ticks_until(then));
        share_cycles(source.cycles_to_overflow().unwrap_or(u64::MAX).min(timer), instructions)
    }

    /// An access to a device or to the local APIC, which takes effect at its end. A model of the core knows how long
    /// it takes. Without one it takes a period of the crystal clock, by which the local APIC runs: with no time at
    /// all, a guest that polls its timer would read the same count for as long as it takes a hundred instructions.
    fn access_device(&mut self, totals: &Totals) {
        if self.observers.timing.is_none() {
            let period = self.profile.tsc_hz.div_ceil(u64::from(self.profile.crystal_hz).max(1));
            self.clock.wait(period);
            // The next timer has come closer.
            self.attention = true;
        }
        self.publish(totals);
    }

    /// An access to an MSR: the local APIC's are a device.
    fn access_msr(&mut self, index: u32, totals: &Totals) {
        if LocalApic::owns_msr(index) {
            self.access_device(totals);
        } else {
            self.publish(totals);
        }
    }

    /// Tells a model of the core.
    fn event(&self, event: CoreEvent) {
        if let Some(timing) = &self.observers.timing {
            timing.core.drive().event(event);
        }
    }

    /// HLT has retired.
    pub(super) fn halt(&self) {
        self.event(CoreEvent::Halt);
    }

    /// Waits for what wakes the CPU from HLT, see [`Clock::sleep`].
    pub(super) fn sleep(&mut self, interrupts_on: bool, end: Instant) -> bool {
        let wakes = |pc: &Pc| {
            let pending = pc.apic.pending();
            pending.nmi || interrupts_on && pending.vector.is_some()
        };
        self.clock.sleep(self.machine, wakes, interrupts_on, end)
    }
}

impl<'a> SoftBus<'a, false> {
    /// The bus for one instruction of another engine's CPU.
    pub(in crate::engine) fn on_behalf_of(
        principal: &'a dyn Principal,
        machine: &'a mut Machine<Pc>,
        profile: &'a Profile,
    ) -> Self {
        let ram = Ram::new(&machine.memory);
        let mut bus = Self::new(
            machine,
            ram,
            profile,
            Retired::default(),
            Observers::new(None, None),
            Clock::new(1, 0),
        );
        bus.principal = Some(principal);
        bus
    }
}

impl<const OBSERVED: bool> soft_cpu::Ram for SoftBus<'_, OBSERVED> {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        // The APIC page lies over whatever is there.
        let is_ram = self.ram.has_page(gpa) && self.machine.board.apic.page_offset(gpa).is_none();
        is_ram.then_some(gpa)
    }

    #[inline(always)]
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N] {
        self.ram.read(position)
    }

    #[inline(always)]
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]) {
        self.ram.write(position, bytes);
    }

    #[inline(always)]
    fn ram_read_quick<const N: usize>(&mut self, position: u64) -> Option<[u8; N]> {
        self.ram.read_quick(position)
    }

    #[inline(always)]
    fn ram_write_quick<const N: usize>(&mut self, position: u64, bytes: [u8; N]) -> bool {
        self.ram.write_quick(position, bytes)
    }
}

impl<const OBSERVED: bool> Bus for SoftBus<'_, OBSERVED> {
    const OBSERVED: bool = OBSERVED;

    fn mmio_read(&mut self, gpa: u64, data: &mut [u8], access: &Access<'_>) {
        self.access_device(access.totals);
        self.machine.mmio_read(gpa, data);
    }

    fn mmio_write(&mut self, gpa: u64, data: &[u8], access: &Access<'_>) {
        self.access_device(access.totals);
        self.machine.mmio_write(gpa, data);
        self.attention = true;
    }

    fn port_in(&mut self, port: u16, data: &mut [u8], access: &Access<'_>) {
        self.event(CoreEvent::Serialise);
        self.access_device(access.totals);
        self.machine.port_in(port, data);
        self.attention = true;
    }

    fn port_out(&mut self, port: u16, data: &[u8], access: &Access<'_>) {
        self.event(CoreEvent::Serialise);
        self.access_device(access.totals);
        self.clock.alive();
        self.machine.port_out(port, data);
        self.attention = true;
    }

    fn rdmsr(&mut self, index: u32, access: &Access<'_>) -> Result<u64, GeneralProtection> {
        self.access_msr(index, access.totals);
        self.attention = true;
        self.machine.rdmsr(index, Some(access.rip))
    }

    fn wrmsr(&mut self, index: u32, value: u64, access: &Access<'_>) -> Result<(), GeneralProtection> {
        // Writing to a PMU register takes effect between what is older and what is younger.
        self.event(CoreEvent::Serialise);
        self.access_msr(index, access.totals);
        self.attention = true;
        self.last_wrmsr = access.rip;
        if index == MSR_TSC && self.principal.is_none() {
            let offset = value.wrapping_sub(self.clock.ticks());
            self.machine.board.move_tsc(offset, self.machine.now());
            return Ok(());
        }
        let written = self.machine.wrmsr(index, value, Some(access.rip));
        self.follow_branches();
        written
    }

    fn rdpmc(&mut self, counter: u32, pce: bool, access: &Access<'_>) -> Result<u64, GeneralProtection> {
        self.publish(access.totals);
        self.attention = true;
        let context = RdpmcContext { cpl: access.cpl, pce, protected_mode: true };
        self.machine.rdpmc(counter, context, Some(access.rip))
    }

    fn cpuid(&mut self, leaf: u32, subleaf: u32, _access: &Access<'_>) -> CpuidLeaf {
        if let Some(principal) = self.principal {
            return principal.cpuid(leaf, subleaf);
        }
        let apic = &self.machine.board.apic;
        let mut answer = cpuid::leaf(self.profile, apic.config().x2apic, leaf, subleaf);
        if leaf == 1 && apic.config().tsc_deadline_hz.is_some() {
            answer.ecx |= TSC_DEADLINE;
        }
        match leaf {
            // SDM volume 3, "Local APIC Status and Location": the bit follows IA32_APIC_BASE.EN.
            1 if apic.mode() == ApicMode::Disabled => answer.edx &= !APIC,
            0xA => answer.ebx |= self.machine.pmu.unavailable_events(),
            // The same with the opposite sense.
            0x23 if subleaf == 3 => answer.eax &= !self.machine.pmu.unavailable_events(),
            _ => {}
        }
        answer
    }

    fn tsc(&mut self, access: &Access<'_>) -> u64 {
        if let Some(principal) = self.principal {
            return principal.tsc();
        }
        self.tsc_at(access.totals)
    }

    fn cr8(&mut self) -> u8 {
        self.machine.board.apic.cr8()
    }

    fn set_cr8(&mut self, value: u8) {
        // The CPU has checked the value.
        if self.machine.board.apic.set_cr8(u64::from(value)).is_err() {
            log::warn!("CR8 {value:#x} is more than the APIC holds");
        }
        self.attention = true;
    }

    fn address_space(&mut self, cr3: u64, access: &Access<'_>) {
        if self.principal.is_none() && self.machine.program().is_some() {
            self.publish(access.totals);
            self.attention |= self.machine.switch_space(cr3);
            let counts = self.machine.program().is_some_and(Program::is_measured);
            self.observers.switch(cr3, counts);
        }
    }

    #[inline(always)]
    fn branches(&mut self) -> Option<&mut impl BranchRecorder> {
        Some(self)
    }

    fn lbr_state(&mut self) -> Option<&mut impl LbrState> {
        (self.machine.pmu.lbr_component_words() != 0).then_some(self)
    }

    fn tracer(&mut self) -> Option<&mut impl Tracer> {
        Some(self)
    }

    #[inline(always)]
    fn observer(&mut self) -> Option<&mut impl Observer> {
        OBSERVED.then_some(&mut self.observers)
    }

    fn attention(&self) -> bool {
        self.attention
    }
}

impl<const OBSERVED: bool> BranchRecorder for SoftBus<'_, OBSERVED> {
    #[inline(always)]
    fn wanted(&self, cpl: u8) -> u8 {
        self.branches.wanted(cpl)
    }

    fn depth(&self) -> u64 {
        self.branches.depth()
    }

    fn record(&mut self, branch: TakenBranch) {
        let TakenBranch { from, to, kind, from_cpl, to_cpl, retired, .. } = branch;
        let levels = Levels::new(from_cpl, to_cpl);
        if self.branches.is_careful() {
            self.note_carefully(from, to, kind, levels, retired);
        } else {
            self.branches.note(Noted { from, to, retired, kind, levels });
        }
    }

    fn skip(&mut self, count: u64) {
        self.branches.skip(count);
    }

    fn interrupted(&mut self) {
        if self.branches.is_recording() {
            self.complete_branch();
            self.branches.deliver(&mut self.machine.pmu);
            self.machine.pmu.interrupted();
        }
    }

    fn debug_exception(&mut self) {
        self.complete_branch();
        self.branches.deliver(&mut self.machine.pmu);
        self.machine.pmu.debug_exception();
        self.follow_branches();
    }

    fn steps_on_branches(&self) -> bool {
        self.machine.pmu.steps_on_branches()
    }
}

impl<const OBSERVED: bool> LbrState for SoftBus<'_, OBSERVED> {
    fn words(&self) -> usize {
        self.machine.pmu.lbr_component_words()
    }

    fn save(&mut self, words: &mut [u64; LBR_COMPONENT_WORDS], access: &Access<'_>) {
        self.publish(access.totals);
        self.machine.pmu.save_lbr_component(words);
    }

    fn restore(
        &mut self,
        words: Option<&[u64; LBR_COMPONENT_WORDS]>,
        access: &Access<'_>,
    ) -> Result<(), GeneralProtection> {
        self.publish(access.totals);
        let restored = self.machine.pmu.restore_lbr_component(words).map_err(|_| GeneralProtection);
        self.follow_branches();
        restored
    }
}

impl<const OBSERVED: bool> Tracer for SoftBus<'_, OBSERVED> {
    fn delivery(&mut self, delivery: &Delivery, totals: &Totals) {
        let moment = if self.machine.exceptions.is_traced() {
            let cycles = self.cycles_at(totals);
            Moment { now: self.clock.time_at(cycles), instructions: totals.instructions() }
        } else {
            Moment::default()
        };
        self.machine.exceptions.note(delivery, self.profile, moment);
        if self.machine.pmu.logs_branch_events() {
            // The first instruction of the handler is not the record's.
            self.complete_branch();
            self.published.publish(totals, &self.retired);
            self.branches.deliver(&mut self.machine.pmu);
        }
    }

    fn unimplemented(&mut self, code: &str, access: &Access<'_>) {
        if self.principal.is_some() {
            return;
        }
        self.publish(access.totals);
        self.machine.note_unimplemented(code, access.rip);
    }
}
