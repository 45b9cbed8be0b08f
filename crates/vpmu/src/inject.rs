//! Faults on command: what a vPMU does wrong, when, and the skid of its interrupts.
//!
//! Software that uses a PMU has to live with interrupts that come late, twice or not at all, with counters that stop
//! or jump, and with records that are incomplete; hardware shows each of them rarely. An embedder plans [`Fault`]s and
//! hands them to [`Vpmu::inject`](crate::Vpmu::inject). Without that call nothing here ever acts.
//!
//! Counts of the [ledger](crate::pmu::Ledger) stay what they were: faults change what the guest sees.

use crate::bits::low_u64;
use crate::profile::{LbrKind, Profile, Vendor};
use crate::register::{RegisterId, amd, arm, intel, locate, registers};
use crate::source::CounterId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// The longest PEBS record, in bytes: basic, memory and GPR groups, 16 XMM registers and 32 branch records.
const MAX_RECORD: usize = 32 + 32 + 18 * 8 + 16 * 16 + 32 * 24;
/// Most interrupts and ends of faults that wait for their instruction; what finds no room does not wait.
const MAX_WAITING: usize = 1024;
/// Most injections kept until [`Vpmu::take_injected`](crate::Vpmu::take_injected) asks for them.
const MAX_LOG: usize = 4096;
/// Most interrupts that faults lose before one comes.
const MAX_PENDING: u64 = 1 << 32;

/// What a fault waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The PMU requests an interrupt: a PMI, or the rise of an Arm CPU's line. Those that faults add are not counted.
    Pmi,
    /// The guest reads the register with this index or encoding, by RDMSR, RDPMC or MRS. The fault comes before it.
    Read(u32),
    /// The guest writes it. The fault comes after it.
    Write(u32),
    /// So many instructions have retired; needs an embedder that [counts them](crate::Vpmu::set_instructions).
    Instruction,
}

/// When a fault happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    /// What it waits for.
    pub trigger: Trigger,
    /// At which occurrence, from 1; for [`Trigger::Instruction`] after how many instructions.
    pub first: NonZeroU64,
    /// And again each time after so many more.
    pub every: Option<NonZeroU64>,
    /// How often at most; `None` is no limit.
    pub times: Option<NonZeroU64>,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// This PMI, or else the next, does not come.
    LosePmi,
    /// It comes so many instructions later.
    DelayPmi(u64),
    /// It comes twice, the second time so many instructions later. Two at once are one to most interrupt controllers.
    DoublePmi(u64),
    /// A PMI without an overflow, through LVTPC as any. On an Arm CPU the line rises until the guest's next access to
    /// the PMU.
    AddPmi,
    /// An NMI that no PMI is behind: it comes whatever LVTPC says.
    SpuriousNmi,
    /// The last counts of a counter are gone, at most what it has.
    LoseCounts {
        /// Which.
        counter: CounterId,
        /// How many.
        by: u64,
    },
    /// A counter stands still although it is enabled.
    Freeze {
        /// Which.
        counter: CounterId,
        /// For so many instructions; `None`: for ever.
        instructions: Option<NonZeroU64>,
    },
    /// A counter's value changes, without an overflow.
    Jump {
        /// Which.
        counter: CounterId,
        /// By how much, up or down.
        by: i64,
    },
    /// The read that triggers it gives the value of the read of this register before it, or 0.
    Stale,
    /// A bit of the status register, IA32_PERF_GLOBAL_STATUS or what the CPU has for it, changes.
    StatusBit(u8),
    /// The newest branch records are missing: so many.
    LoseBranches(u8),
    /// The next PEBS record ends after so many bytes.
    TruncatePebs(u16),
}

/// One planned fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub when: When,
    /// What.
    pub effect: Effect,
}

/// Why a CPU cannot have a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A register of another CPU.
    #[error("this CPU has no such register")]
    Register,
    /// A counter of another CPU.
    #[error("this CPU has no such counter")]
    Counter,
    /// A status bit that the register does not have.
    #[error("the overflow status of this CPU has no bit {0}")]
    StatusBit(u8),
    /// PERF_GLOBAL_STATUS of a CPU that has none.
    #[error("this CPU has no overflow status register")]
    NoStatus,
    /// A stale value without a read.
    #[error("only a read can be stale")]
    StaleWithoutRead,
    /// Branch records of a CPU that has none.
    #[error("this CPU has no stack of branch records")]
    NoBranches,
    /// PEBS of a CPU that has none.
    #[error("this CPU has no PEBS")]
    NoPebs,
    /// No record is so long.
    #[error("no PEBS record is longer than {MAX_RECORD} bytes")]
    LongRecord,
    /// An interrupt line has levels, and no number of interrupts.
    #[error("this CPU's PMU has an interrupt line, which cannot rise twice")]
    LineTwice,
    /// An NMI of an Arm CPU.
    #[error("this CPU has no NMI")]
    NoNmi,
}

impl Fault {
    /// Whether a CPU with this profile can have the fault.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, profile: &Profile) -> Result<(), Unfit> {
        if let Trigger::Read(index) | Trigger::Write(index) = self.when.trigger
            && !locate(profile.vendor(), index).is_some_and(|located| located.exists_in(profile))
        {
            return Err(Unfit::Register);
        }
        let arm = profile.arm().is_some();
        match self.effect {
            Effect::DoublePmi(_) if arm => Err(Unfit::LineTwice),
            Effect::SpuriousNmi if arm => Err(Unfit::NoNmi),
            Effect::LosePmi
            | Effect::DelayPmi(_)
            | Effect::DoublePmi(_)
            | Effect::AddPmi
            | Effect::SpuriousNmi => Ok(()),
            Effect::LoseCounts { counter, .. }
            | Effect::Freeze { counter, .. }
            | Effect::Jump { counter, .. } => {
                if has_counter(profile, counter) {
                    Ok(())
                } else {
                    Err(Unfit::Counter)
                }
            }
            Effect::Stale if matches!(self.when.trigger, Trigger::Read(_)) => Ok(()),
            Effect::Stale => Err(Unfit::StaleWithoutRead),
            Effect::StatusBit(bit) => match status_bits(profile) {
                0 => Err(Unfit::NoStatus),
                bits if bits.checked_shr(bit.into()).unwrap_or_default() & 1 == 0 => {
                    Err(Unfit::StatusBit(bit))
                }
                _ => Ok(()),
            },
            Effect::LoseBranches(_) if matches!(profile.lbr, LbrKind::None | LbrKind::LastBranch) => {
                Err(Unfit::NoBranches)
            }
            Effect::LoseBranches(_) => Ok(()),
            Effect::TruncatePebs(_) if !profile.has_pebs() => Err(Unfit::NoPebs),
            Effect::TruncatePebs(bytes) if usize::from(bytes) > MAX_RECORD => Err(Unfit::LongRecord),
            Effect::TruncatePebs(_) => Ok(()),
        }
    }
}

fn has_counter(profile: &Profile, counter: CounterId) -> bool {
    match counter {
        CounterId::Gp(n) => n < profile.gp_counters,
        // The cycle counter.
        CounterId::Fixed(n) if profile.arm().is_some() => n == 0,
        CounterId::Fixed(n) => n < profile.fixed_counters(),
        CounterId::Metric(_) | CounterId::Ibs(_) => false,
    }
}

/// Bits that the profile's overflow status has; 0 without such a register.
#[must_use]
pub fn status_bits(profile: &Profile) -> u64 {
    let id = match profile.vendor() {
        Vendor::Intel => RegisterId::Intel(intel::RegisterId::PerfGlobalStatus),
        Vendor::Amd => RegisterId::Amd(amd::RegisterId::PerfCntrGlobalStatus),
        Vendor::Qualcomm => RegisterId::Arm(arm::RegisterId::PmovsSet),
    };
    let register = registers(profile.vendor()).iter().find(|register| register.id == id);
    register.filter(|register| register.instances(profile) > 0).map_or(0, |register| {
        register.fields.iter().map(|field| field.mask(profile)).fold(0, |all, mask| all | mask)
    })
}

/// How late interrupts are: a number of instructions, the same likelihood for each in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skid {
    least: u64,
    most: u64,
    state: u64,
}

impl Skid {
    /// From `least` to `most` instructions, both included, drawn from a generator that starts with `seed`.
    #[must_use]
    pub fn new(least: u64, most: u64, seed: u64) -> Self {
        Self { least, most: most.max(least), state: seed }
    }

    /// SplitMix64 (Steele, Lea, Flood), and the upper half of a product instead of a remainder.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        let random = mixed ^ mixed >> 31;
        let values = u128::from(self.most - self.least) + 1;
        self.least + low_u64((u128::from(random) * values) >> 64)
    }
}

/// A fault that has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injected {
    /// Which, by its place in the plan.
    pub fault: usize,
    /// Instructions retired, as far as the embedder has told.
    pub instructions: u64,
}

/// A planned fault and how far it is.
#[derive(Debug, Clone)]
struct Planned {
    fault: Fault,
    /// Occurrences of its trigger.
    seen: u64,
    /// Occurrence, or instruction, at which it happens next; `None` when it is over.
    next: Option<u64>,
    /// How often it has happened.
    times: u64,
}

impl Planned {
    fn new(fault: Fault) -> Self {
        Self { fault, seen: 0, next: Some(fault.when.first.get()), times: 0 }
    }

    /// It happens.
    fn happen(&mut self) {
        let When { every, times, .. } = self.fault.when;
        self.times += 1;
        let again = times.is_none_or(|times| self.times < times.get());
        self.next = every.filter(|_| again).and_then(|every| self.next?.checked_add(every.get()));
    }
}

/// What waits for an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Later {
    /// So many PMIs that a fault has delayed, or the rise of a line.
    Delayed(u32),
    /// The same by skid: none is left when the CPU waits for an interrupt.
    Skidded(u32),
    /// The end of [`Effect::Freeze`].
    Thaw(CounterId),
}

/// What becomes of a PMI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Waits,
    Comes(u32),
}

/// Planned faults, and the skid of interrupts.
#[derive(Debug, Clone, Default)]
pub struct Injector {
    plan: Vec<Planned>,
    skid: Option<Skid>,
    now: u64,
    lose: u64,
    doubles: VecDeque<u64>,
    delays: VecDeque<u64>,
    waiting: Vec<(u64, Later)>,
    /// What the last read of a register gave, where that matters.
    reads: Vec<(u32, u64)>,
    /// The level of an Arm CPU's line that the embedder knows.
    pub(crate) line: bool,
    /// It was raised without an overflow.
    pub(crate) pulse: bool,
    /// The guest has accessed the PMU since.
    pub(crate) touched: bool,
    /// Interrupts that an access has added, for its answer.
    pub(crate) held: (u32, u32, Option<bool>),
    log: Vec<Injected>,
}

impl Injector {
    /// These faults, in the order in which they happen when they happen together.
    #[must_use]
    pub fn new(faults: &[Fault], skid: Option<Skid>) -> Self {
        let read = |fault: &Fault| match (fault.effect, fault.when.trigger) {
            (Effect::Stale, Trigger::Read(index)) => Some((index, 0)),
            _ => None,
        };
        Self {
            plan: faults.iter().copied().map(Planned::new).collect(),
            skid,
            reads: faults.iter().filter_map(read).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn set_now(&mut self, instructions: u64) {
        self.now = instructions;
    }

    /// Instructions until something is due.
    pub(crate) fn until_due(&self) -> Option<u64> {
        let planned = self.plan.iter().filter(|planned| planned.fault.when.trigger == Trigger::Instruction);
        let planned = planned.filter_map(|planned| planned.next);
        let due = self.waiting.iter().map(|(due, _)| *due).chain(planned).min()?;
        Some(due.saturating_sub(self.now))
    }

    /// Something happens: what goes wrong with it.
    pub(crate) fn occurs(&mut self, trigger: Trigger) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (place, planned) in self.plan.iter_mut().enumerate() {
            if planned.fault.when.trigger != trigger {
                continue;
            }
            planned.seen =
                if trigger == Trigger::Instruction { self.now } else { planned.seen.saturating_add(1) };
            // More than one of an instruction's can be over, where the embedder did not stop there.
            while planned.next.is_some_and(|next| next <= planned.seen) {
                planned.happen();
                if effects.len() >= MAX_LOG {
                    break;
                }
                effects.push(planned.fault.effect);
                if self.log.len() < MAX_LOG {
                    self.log.push(Injected { fault: place, instructions: self.now });
                }
            }
        }
        effects
    }

    pub(crate) fn lose(&mut self) {
        self.lose = (self.lose + 1).min(MAX_PENDING);
    }

    pub(crate) fn double(&mut self, instructions: u64) {
        if self.doubles.len() < MAX_WAITING {
            self.doubles.push_back(instructions);
        }
    }

    pub(crate) fn delay(&mut self, instructions: u64) {
        if self.delays.len() < MAX_WAITING {
            self.delays.push_back(instructions);
        }
    }

    /// Something is due after so many instructions. False if there is no room for it.
    pub(crate) fn later(&mut self, instructions: u64, what: Later) -> bool {
        let room = self.waiting.len() < MAX_WAITING;
        if room {
            self.waiting.push((self.now.saturating_add(instructions), what));
        }
        room
    }

    /// A PMI is requested: what becomes of it.
    pub(crate) fn fate(&mut self) -> Fate {
        if self.lose > 0 {
            self.lose -= 1;
            return Fate::Lost;
        }
        let second = self.doubles.pop_front();
        let apart = second.is_some_and(|after| after > 0 && self.later(after, Later::Delayed(1)));
        let count = 1 + u32::from(second.is_some() && !apart);
        let waits = match (self.delays.pop_front(), &mut self.skid) {
            (Some(instructions), _) => self.later(instructions, Later::Delayed(count)),
            (None, Some(skid)) => {
                let instructions = skid.draw();
                instructions > 0 && self.later(instructions, Later::Skidded(count))
            }
            (None, None) => false,
        };
        if waits { Fate::Waits } else { Fate::Comes(count) }
    }

    /// What is due now, the earliest first.
    pub(crate) fn take_due(&mut self) -> Vec<Later> {
        let mut due: Vec<_> = self.waiting.extract_if(.., |(due, _)| *due <= self.now).collect();
        due.sort_by_key(|(due, _)| *due);
        due.into_iter().map(|(_, what)| what).collect()
    }

    /// PMIs that skid holds back, all of them.
    pub(crate) fn take_skidded(&mut self) -> u32 {
        let skidded = self.waiting.extract_if(.., |(_, what)| matches!(what, Later::Skidded(_)));
        skidded.map(|(_, what)| if let Later::Skidded(count) = what { count } else { 0 }).sum()
    }

    /// A line has fallen before its rise was told.
    pub(crate) fn forget_rises(&mut self) {
        self.waiting.retain(|(_, what)| matches!(what, Later::Thaw(_)));
    }

    /// The guest has read a register: the value that it gets.
    pub(crate) fn read(&mut self, index: u32, value: u64, stale: bool) -> u64 {
        match self.reads.iter_mut().find(|(known, _)| *known == index) {
            Some((_, before)) if stale => *before,
            Some((_, before)) => {
                *before = value;
                value
            }
            None => value,
        }
    }

    pub(crate) fn take_log(&mut self) -> Vec<Injected> {
        core::mem::take(&mut self.log)
    }
}
