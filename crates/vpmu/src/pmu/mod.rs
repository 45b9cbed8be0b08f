//! The state machine of one vCPU's PMU.
//!
//! [`Vpmu`] is what an embedder sees. Below it each vendor has a state machine of its own, because registers,
//! freezing and what counters can do have little in common; counters and the ledger are shared.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | the one interface |
//! | `intel/` | Intel's registers |
//! | `amd/` | AMD's registers |
//! | `arm/` | Arm's PMUv3, with Falkor's matrix |
//! | `faulty.rs` | what faults do to the state of each |
//! | `injected.rs` | faults on command, and skid |
//! | `masks.rs` | what the register declarations say for a profile |
//! | `counter.rs` | one counter |
//! | `ledger.rs` | what was counted over time |
//! | `outcome.rs` | what accesses end in |
//! | `pmi.rs` | requests for an interrupt |
//! | `running.rs` | counters as records of measurements see them |

mod amd;
mod arm;
mod counter;
mod faulty;
mod injected;
mod intel;
mod ledger;
mod masks;
mod outcome;
mod pmi;
mod running;

pub use intel::LBR_COMPONENT_WORDS;
pub use ledger::{Ledger, LedgerKey, MAX_ENTRIES};
pub use outcome::{Fault, RdpmcContext, ReadOutcome, WriteOutcome};
pub use pmi::{Answer, PmiRequests};

use crate::bits::low_u8;
use crate::ibs::{IbsAnswer, IbsSample, IbsTags};
use crate::inject::Injector;
use crate::lbr::{BranchFilter, BranchRecord};
use crate::pebs::{DebugStore, PebsAnswer, PebsSample};
use crate::profile::{MAX_FIXED, MAX_GP, PmuKind, Profile};
use crate::register::{RegisterId, is_pmu_register, locate, rdpmc_msr};
pub use crate::source::{Active, CounterId, Running};
use crate::source::{CountsSource, Level};
use crate::state::{RestoreError, VpmuState};
use alloc::boxed::Box;
use amd::Amd;
use arm::Arm;
use intel::Intel;

/// The virtual PMU of one vCPU.
///
/// Every method that looks at counters takes the [`CountsSource`] that backs them; pass the same
/// one every time.
#[derive(Debug, Clone)]
pub struct Vpmu {
    machine: Machine,
    /// What goes wrong on command.
    injector: Option<Box<Injector>>,
}

/// The state machine of the profile's vendor.
#[derive(Debug, Clone)]
enum Machine {
    Intel(Box<Intel>),
    Amd(Box<Amd>),
    Arm(Box<Arm>),
}

/// The same call on whichever machine there is.
macro_rules! each {
    ($machine:expr, $own:ident => $call:expr) => {
        match $machine {
            Machine::Intel($own) => $call,
            Machine::Amd($own) => $call,
            Machine::Arm($own) => $call,
        }
    };
}
use each;

impl Vpmu {
    /// A PMU in its RESET state.
    ///
    /// Counts beyond [`MAX_GP`], [`MAX_FIXED`] or 63 bits in the profile are limited to those.
    #[must_use]
    pub fn new(mut profile: Profile) -> Self {
        profile.gp_counters = profile.gp_counters.min(low_u8(MAX_GP as u64));
        profile.gp_width = profile.gp_width.clamp(32, 63);
        let profile = profile.with_intel(|pmu| {
            pmu.fixed_counters = pmu.fixed_counters.min(low_u8(MAX_FIXED as u64));
            pmu.fixed_width = pmu.fixed_width.clamp(32, 63);
        });
        let machine = match profile.pmu.clone() {
            PmuKind::Intel(pmu) => Machine::Intel(Box::new(Intel::new(profile, pmu))),
            PmuKind::Amd(pmu) => Machine::Amd(Box::new(Amd::new(profile, pmu))),
            PmuKind::Arm(pmu) => Machine::Arm(Box::new(Arm::new(profile, pmu))),
        };
        Self { machine, injector: None }
    }

    /// The profile shown to the guest.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        each!(&self.machine, own => own.profile())
    }

    /// RESET (of an Arm CPU a warm reset): every register returns to its reset value. The ledger stays. The interrupt
    /// line goes low; no answer says so.
    pub fn reset(&mut self, source: &mut dyn CountsSource) {
        each!(&mut self.machine, own => own.reset(source));
        self.follow_line();
    }

    /// Reads a register: RDMSR by MSR index, or MRS by the [encoding](crate::register::arm::encoding) of a system
    /// register.
    pub fn read_register(
        &mut self,
        level: Level,
        index: u32,
        source: &mut dyn CountsSource,
    ) -> Answer<ReadOutcome> {
        let vendor = self.profile().vendor();
        let located = locate(vendor, index).map(|located| (located.register.id, located));
        let stale = located.is_some() && self.before_read(index, source);
        let outcome = match (&mut self.machine, located) {
            (Machine::Arm(own), Some((RegisterId::Arm(id), located))) => own.read(level, id, located, source),
            (Machine::Intel(_) | Machine::Amd(_), Some(_)) if level == Level::User => {
                ReadOutcome::Fault(Fault::Privilege)
            }
            (Machine::Intel(own), Some((RegisterId::Intel(id), located))) => {
                own.read_msr(id, located, source)
            }
            (Machine::Amd(own), Some((RegisterId::Amd(id), located))) => own.read_msr(id, located, source),
            _ if is_pmu_register(vendor.architecture(), index) => ReadOutcome::Fault(Fault::Absent),
            _ => ReadOutcome::NotHandled,
        };
        let outcome = self.after_read(index, outcome, stale);
        self.answer(outcome, source)
    }

    /// Writes a register: WRMSR by MSR index, or MSR by the [encoding](crate::register::arm::encoding) of a system
    /// register. On a fault nothing has changed.
    pub fn write_register(
        &mut self,
        level: Level,
        index: u32,
        value: u64,
        source: &mut dyn CountsSource,
    ) -> Answer<WriteOutcome> {
        let vendor = self.profile().vendor();
        let located = locate(vendor, index).map(|located| (located.register.id, located));
        let outcome = match (&mut self.machine, located) {
            (Machine::Arm(own), Some((RegisterId::Arm(id), located))) => {
                own.write(level, id, located, value, source)
            }
            (Machine::Intel(_) | Machine::Amd(_), Some(_)) if level == Level::User => {
                WriteOutcome::Fault(Fault::Privilege)
            }
            (Machine::Intel(own), Some((RegisterId::Intel(id), located))) => {
                own.write_msr(id, located, value, source)
            }
            (Machine::Amd(own), Some((RegisterId::Amd(id), located))) => {
                own.write_msr(id, located, value, source)
            }
            _ if is_pmu_register(vendor.architecture(), index) => WriteOutcome::Fault(Fault::Absent),
            _ => WriteOutcome::NotHandled,
        };
        if located.is_some() {
            self.after_write(index, source);
        }
        self.answer(outcome, source)
    }

    /// The level of an Arm CPU's PMU interrupt (PMUIRQ) as of the last update of the counters. Operations tell in
    /// their answers where they change it, but for [`reset`](Self::reset) and [`restore`](Self::restore): ask after
    /// those. Always low for CPUs that request PMIs.
    #[must_use]
    pub fn interrupt_line(&self) -> bool {
        self.injector.as_ref().map_or_else(|| self.overflow_line(), |injector| injector.line)
    }

    /// The level as overflows make it.
    fn overflow_line(&self) -> bool {
        match &self.machine {
            Machine::Intel(_) | Machine::Amd(_) => false,
            Machine::Arm(own) => own.interrupt_line(),
        }
    }

    /// Executes RDPMC, which x86 CPUs have.
    ///
    /// `ecx` is ECX as the guest set it (RCX bits 63:32 is ignored by the CPU).
    pub fn rdpmc(
        &mut self,
        ecx: u32,
        context: RdpmcContext,
        source: &mut dyn CountsSource,
    ) -> Answer<ReadOutcome> {
        let register = rdpmc_msr(self.profile().vendor(), ecx);
        let stale = register.is_some_and(|register| self.before_read(register, source));
        let outcome = if context.allowed() {
            match &mut self.machine {
                Machine::Intel(own) => own.rdpmc(ecx, source),
                Machine::Amd(own) => own.rdpmc(ecx, source),
                Machine::Arm(_) => ReadOutcome::Fault(Fault::RdpmcIndex(ecx)),
            }
        } else {
            ReadOutcome::Fault(Fault::RdpmcPrivilege)
        };
        let outcome = register.map_or(outcome, |register| self.after_read(register, outcome, stale));
        self.answer(outcome, source)
    }

    /// The outcome of an operation, with the PMI that it requests.
    fn answer<T>(&mut self, outcome: T, source: &mut dyn CountsSource) -> Answer<T> {
        let requests = self.take_requests();
        let requests = if self.injector.is_some() { self.meddle(requests, source) } else { requests };
        Answer::new(outcome, requests)
    }

    fn take_requests(&mut self) -> PmiRequests {
        each!(&mut self.machine, own => own.take_requests())
    }

    /// Brings every counter up to date and handles overflows.
    ///
    /// Call it when a deadline is reached; accesses call it themselves.
    pub fn sync(&mut self, source: &mut dyn CountsSource) -> PmiRequests {
        each!(&mut self.machine, own => own.sync(source));
        self.answer((), source).into_parts().1
    }

    /// Tells a source what runs, as of the last update of the counters, and when it would overflow. Accesses and
    /// overflows do that themselves: this is for a source that counts in another way from here on.
    pub fn rearm(&self, source: &mut dyn CountsSource) {
        each!(&self.machine, own => own.rearm(source));
    }

    /// The running counters, as of the last update.
    pub fn active(&self) -> impl Iterator<Item = Active> + '_ {
        let (intel, amd, arm) = match &self.machine {
            Machine::Intel(own) => (Some(own.active()), None, None),
            Machine::Amd(own) => (None, Some(own.active()), None),
            Machine::Arm(own) => (None, None, Some(own.active())),
        };
        intel.into_iter().flatten().chain(amd.into_iter().flatten()).chain(arm.into_iter().flatten())
    }

    /// Which branches are being recorded now. Only register writes, overflows,
    /// [`debug_exception`](Self::debug_exception), [`reset`](Self::reset) and [`restore`](Self::restore) change it, so
    /// an engine can keep the answer in between.
    #[inline]
    #[must_use]
    pub fn branch_filter(&self) -> BranchFilter {
        each!(&self.machine, own => own.branch_filter())
    }

    /// A branch has been taken. Branches that are not to be recorded are dropped.
    #[inline]
    pub fn record_branch(&mut self, branch: &BranchRecord) {
        each!(&mut self.machine, own => own.record_branch(branch));
    }

    /// Records of branches hold how often events of some counters have occurred since the record before (LBR event
    /// logging): run one instruction at a time, and tell each branch by
    /// [`record_branch_with_events`](Self::record_branch_with_events) before the counters are updated.
    #[must_use]
    pub fn logs_events(&self) -> bool {
        matches!(&self.machine, Machine::Intel(own) if own.logs_events())
    }

    /// As [`record_branch`](Self::record_branch), while the source has counted up to the end of the branch and nothing
    /// behind it.
    pub fn record_branch_with_events(&mut self, branch: &BranchRecord, source: &mut dyn CountsSource) {
        match &mut self.machine {
            Machine::Intel(own) => own.record_branch_with_events(branch, source),
            Machine::Amd(_) | Machine::Arm(_) => self.record_branch(branch),
        }
    }

    /// An exception or interrupt other than #DB is delivered, or INT n, INT3 or INTO executed: the newest record
    /// becomes the last-exception record. Call it before [`record_branch`](Self::record_branch) for the same event.
    pub fn interrupted(&mut self) {
        each!(&mut self.machine, own => own.interrupted());
    }

    /// #DB is delivered. It stops recording and single-stepping on branches, and is no branch to record. Changes
    /// [`branch_filter`](Self::branch_filter).
    pub fn debug_exception(&mut self) {
        each!(&mut self.machine, own => own.debug_exception());
    }

    /// DEBUGCTL.BTF: while RFLAGS.TF is set, #DB comes after each taken branch instead of after each instruction.
    #[must_use]
    pub fn steps_on_branches(&self) -> bool {
        each!(&self.machine, own => own.steps_on_branches())
    }

    /// 64-bit words of XSAVE state component 15, which holds the architectural records; 0 without them.
    #[must_use]
    pub fn lbr_component_words(&self) -> usize {
        match &self.machine {
            Machine::Intel(own) => own.lbr_component_words(),
            Machine::Amd(_) | Machine::Arm(_) => 0,
        }
    }

    /// What XSAVES stores as component 15: LBR_CTL, LBR_DEPTH, the three words of the last-exception record, then
    /// FROM, TO and INFO of each record, the youngest first. What is not there is 0.
    pub fn save_lbr_component(&self, words: &mut [u64; LBR_COMPONENT_WORDS]) {
        words.fill(0);
        if let Machine::Intel(own) = &self.machine {
            own.save_lbr_component(words);
        }
    }

    /// What XRSTORS does with component 15, or with `None` its initial configuration: nothing is recorded, no
    /// records. Records saved with another depth than the current one are dropped.
    ///
    /// # Errors
    /// Bits that the registers do not have, or no such records; nothing changes.
    pub fn restore_lbr_component(&mut self, words: Option<&[u64; LBR_COMPONENT_WORDS]>) -> Result<(), Fault> {
        match &mut self.machine {
            Machine::Intel(own) => own.restore_lbr_component(words),
            Machine::Amd(_) | Machine::Arm(_) => Err(Fault::Absent),
        }
    }

    /// A PEBS counter has overflowed, and its next event becomes a record: run one instruction at a time, so that the
    /// sample is that of the very instruction.
    #[must_use]
    pub fn pebs_armed(&self) -> bool {
        matches!(&self.machine, Machine::Intel(own) if own.pebs_armed())
    }

    /// A counter of instructions writes records: by a source that
    /// [runs through samples](CountsSource::runs_through_samples) run so that the last instruction is known.
    #[must_use]
    pub fn pebs_samples_instructions(&self) -> bool {
        matches!(&self.machine, Machine::Intel(own) if own.pebs_samples_instructions())
    }

    /// Records of the counters that write some say what memory the instruction has accessed, as of now: else
    /// [`PebsSample::memory`] is not looked at.
    #[must_use]
    pub fn pebs_wants_access(&self) -> bool {
        matches!(&self.machine, Machine::Intel(own) if own.pebs_wants_access())
    }

    /// A PEBS record is due, as of the last update of the counters: call [`write_pebs`](Self::write_pebs) before the
    /// next instruction.
    #[must_use]
    pub fn pebs_due(&self) -> bool {
        matches!(&self.machine, Machine::Intel(own) if own.pebs_due())
    }

    /// Writes the PEBS record that is due into the debug store, and loads the reset values of its counters.
    pub fn write_pebs(
        &mut self,
        sample: &PebsSample,
        store: &mut dyn DebugStore,
        source: &mut dyn CountsSource,
    ) -> PebsAnswer {
        let record = match &mut self.machine {
            Machine::Intel(own) => own.write_pebs(sample, store, source),
            Machine::Amd(_) | Machine::Arm(_) => None,
        };
        let (record, pmis) = self.answer(record, source).into_parts();
        PebsAnswer { record, pmis }
    }

    /// What instruction-based sampling has tagged, as of the last update of the counters: run one instruction, and say
    /// what it was by [`ibs_sample`](Self::ibs_sample).
    #[must_use]
    pub fn ibs_tags(&self) -> IbsTags {
        match &self.machine {
            Machine::Amd(own) => own.ibs_tags(),
            Machine::Intel(_) | Machine::Arm(_) => IbsTags::default(),
        }
    }

    /// The first instruction that has retired since there were these [tags](Self::ibs_tags). The interrupt in the
    /// answer is for the local APIC. Nothing happens where software has written the controls meanwhile.
    pub fn ibs_sample(
        &mut self,
        tags: IbsTags,
        sample: &IbsSample,
        source: &mut dyn CountsSource,
    ) -> Answer<IbsAnswer> {
        let answer = match &mut self.machine {
            Machine::Amd(own) => own.ibs_sample(tags, sample, source),
            Machine::Intel(_) | Machine::Arm(_) => IbsAnswer::default(),
        };
        self.answer(answer, source)
    }

    /// True while a record depends on all branches before it: in call-stack mode, where a return removes one, and
    /// when two recorders want different branches. Otherwise only the newest branches matter; see
    /// [`skip_branches`](Self::skip_branches).
    #[must_use]
    pub fn needs_every_branch(&self) -> bool {
        each!(&self.machine, own => own.needs_every_branch())
    }

    /// `count` branches that the [filter](Self::branch_filter) admits have been taken, and the engine does not say
    /// which: before the stack is read it records more of them than the stack has entries. Only while no record
    /// [needs them](Self::needs_every_branch).
    pub fn skip_branches(&mut self, count: u64) {
        match &mut self.machine {
            Machine::Intel(own) => own.skip_branches(count),
            // Software cannot see where in the ring the newest record is.
            Machine::Amd(_) | Machine::Arm(_) => {}
        }
    }

    /// What has been counted so far, as of the last update of the counters.
    pub fn ledger(&mut self) -> &Ledger {
        each!(&mut self.machine, own => own.ledger())
    }

    /// Replaces what has been counted so far, after a [`restore`](Self::restore) on a fresh vPMU.
    pub fn set_ledger(&mut self, ledger: Ledger) {
        each!(&mut self.machine, own => own.set_ledger(ledger));
    }

    /// Brings the counters up to date and returns the state. A PMI that this requests is not part of it: deliver it to
    /// the local APIC before that is saved.
    pub fn save(&mut self, source: &mut dyn CountsSource) -> Answer<VpmuState> {
        each!(&mut self.machine, own => own.sync(source));
        let mut state = VpmuState::of(self.profile());
        each!(&self.machine, own => own.save(&mut state));
        self.answer(state, source)
    }

    /// Replaces the state. Counting continues from the saved values.
    ///
    /// # Errors
    /// Any value that this vPMU could not have saved is refused, and nothing changes.
    pub fn restore(&mut self, state: &VpmuState, source: &mut dyn CountsSource) -> Result<(), RestoreError> {
        state.check(self.profile())?;
        each!(&mut self.machine, own => own.restore(state, source))?;
        self.follow_line();
        Ok(())
    }
}

#[cfg(test)]
mod exhaustive;
#[cfg(test)]
mod injected_tests;
#[cfg(test)]
mod test_guest;
#[cfg(test)]
mod tests;
