//! Counts of the soft engine with a model of the core: every event that the model knows.
//!
//! Instructions and branches are exact, everything else is what the model computes. A counter overflows after the
//! very instruction in which it passes its top: [`TimingCore`] looks at every one, if it has to.

mod amd;
mod event;

use super::Source;
use core_model::{CORES, CoreTotals, Model, PerCycle};
use event::{ByCycle, Total};
use platform::convert::scale;
use retire::{Block, BlockId, CoreEvent, Instruction, Observer};
use soft_cpu::describe;
use std::cell::{RefCell, RefMut};
use std::fmt;
use std::rc::Rc;
use vpmu::event::{Encoding, Event, EventCode, EventTable};
use vpmu::metrics::ALL_FIELDS;
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Active, CounterId, CountsSource, Profile, Provenance, TopdownSlots};

/// Why there is no model of a profile's core.
#[derive(Debug, thiserror::Error)]
pub enum TimingError {
    /// No core has been described.
    #[error("there is no model of {core}, the core of {profile}")]
    NoModel {
        /// The profile.
        profile: &'static str,
        /// Its core.
        core: &'static str,
    },
    /// A defect of ours.
    #[error("the model of {core}: {reason}")]
    Table {
        /// The core.
        core: &'static str,
        /// What is wrong.
        reason: core_model::TableError,
    },
}

/// The core that a profile's CPU is made of, if there is a model of it.
#[must_use]
pub fn core_of(profile: &Profile) -> Option<&'static core_model::Core> {
    CORES.iter().copied().find(|core| core.name == profile.core)
}

/// Something that can be totalled from what the model knows.
#[derive(Clone)]
enum Quantity {
    Total(Total),
    /// Cycles in which an event happens as often as CMASK and INV say, or with E the starts of such cycles.
    ByCycle(ByCycle, EventCode),
    /// The same of instructions, which the model counts by cycle only when it is asked to.
    InstructionsByCycle(EventCode),
    Cycles,
    Crystal,
    Slots,
    Field(usize),
    /// Uops of some ports: their positions in [`CoreTotals::ports`].
    Ports(Vec<usize>),
    BranchRecords,
    /// Occurrences, at most so many in a cycle.
    Limited(ByCycle, u8),
    /// Floating-point operations of these kinds; at most so many in a cycle, if there is a limit.
    Flops(u8, Option<u8>),
    /// Events that add up.
    Sum(Vec<Quantity>),
    Never,
}

/// How fast a quantity can grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rate {
    Cycle(u64),
    Instruction(u64),
    Unbounded,
}

impl Quantity {
    fn rate(&self, width: u64) -> Rate {
        match self {
            Self::Cycles | Self::Crystal | Self::Never => Rate::Cycle(1),
            Self::Slots | Self::Field(_) => Rate::Cycle(width),
            Self::Flops(..) => Rate::Instruction(FLOPS_PER_INSTRUCTION),
            Self::ByCycle(..) | Self::InstructionsByCycle(_) | Self::Limited(..) => Rate::Unbounded,
            Self::Total(_) | Self::Ports(_) | Self::BranchRecords | Self::Sum(_) => Rate::Unbounded,
        }
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Total(_) => "Total",
            Self::ByCycle(..) => "ByCycle",
            Self::InstructionsByCycle(_) => "InstructionsByCycle",
            Self::Cycles => "Cycles",
            Self::Crystal => "Crystal",
            Self::Slots => "Slots",
            Self::Field(_) => "Field",
            Self::Ports(_) => "Ports",
            Self::BranchRecords => "BranchRecords",
            Self::Limited(..) => "Limited",
            Self::Flops(..) => "Flops",
            Self::Sum(_) => "Sum",
            Self::Never => "Never",
        })
    }
}

/// Most floating-point operations of one instruction: those of DPPS, rounded up.
const FLOPS_PER_INSTRUCTION: u64 = 8;

/// More cycles than any instruction takes on average over a block: two page walks, and a line from memory behind all
/// others that can be on their way.
const MOST_CYCLES: u64 = 2048;

/// Instructions, of those for which nothing can be due, from which on it is not asked whether there are more.
const ENOUGH: u64 = 1024;

/// A counter whose overflow requests a PMI.
#[derive(Debug)]
struct Watch {
    quantity: Quantity,
    filter: PrivilegeFilter,
    target: u64,
    rate: Rate,
}

/// The model of the vCPU's core, and what it must not run past.
#[derive(Debug)]
pub struct TimingCore {
    model: Model,
    /// Branches that went into the guest's records, at CPL 0 and above it.
    branch_records: [u64; 2],
    /// Crystal and TSC rate, in Hz. The core runs at the TSC's.
    crystal_hz: u64,
    tsc_hz: u64,
    watches: Vec<Watch>,
    /// Cycle at which the engine wants to look around.
    timer: u64,
    /// Nothing can be due before this cycle and this many instructions.
    quiet_until: u64,
    quiet_for: u64,
    /// What is left of the last [`quiet_horizon`](Observer::quiet_horizon), as long as nothing else has happened.
    quiet: u64,
}

impl TimingCore {
    /// Core cycles since boot, without halted time.
    #[must_use]
    pub fn cycles(&mut self) -> u64 {
        self.model.cycles()
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// From now on the model may work on a thread of its own. No count depends on it.
    pub fn start_thread(&mut self) {
        self.model.start_thread();
    }

    /// The model's running totals of one privilege level.
    #[must_use]
    pub fn totals(&mut self, user: bool) -> &CoreTotals {
        self.model.totals(user)
    }

    /// A branch, not yet retired, goes into the guest's records.
    pub fn count_branch_record(&mut self, user: bool) {
        self.branch_records[usize::from(user)] += 1;
    }

    /// To be called before the core runs on: it must not run past this cycle.
    pub fn arm(&mut self, timer: u64) {
        self.timer = timer;
        self.quiet = 0;
        self.rest();
    }

    #[inline(never)]
    fn is_due(&mut self) -> bool {
        let overflown = self.rest();
        overflown || self.cycles() >= self.timer
    }

    /// Finds out for how long nothing can be due. True if a counter has overflowed.
    fn rest(&mut self) -> bool {
        let now = self.cycles();
        (self.quiet_until, self.quiet_for) = (self.timer, u64::MAX);
        let mut overflown = false;
        let watches = std::mem::take(&mut self.watches);
        for watch in &watches {
            let left = watch.target.saturating_sub(self.sum(&watch.quantity, watch.filter));
            overflown |= left == 0;
            match watch.rate {
                // A cycle that is not over yet may have been booked in part.
                Rate::Cycle(most) => {
                    let cycles = (left / most).saturating_sub(1);
                    self.quiet_until = self.quiet_until.min(now.saturating_add(cycles));
                }
                Rate::Instruction(most) => {
                    self.quiet_for = self.quiet_for.min(left.div_ceil(most).max(1));
                }
                Rate::Unbounded => self.quiet_for = 1,
            }
        }
        self.watches = watches;
        overflown
    }

    fn width(&self) -> u64 {
        u64::from(self.model.core().dispatch_width).max(1)
    }

    fn sum(&mut self, quantity: &Quantity, filter: PrivilegeFilter) -> u64 {
        let os = if filter.os { self.at(quantity, false) } else { 0 };
        let usr = if filter.usr { self.at(quantity, true) } else { 0 };
        os + usr
    }

    fn at(&mut self, quantity: &Quantity, user: bool) -> u64 {
        let totals = self.model.totals(user);
        match quantity {
            Quantity::Total(total) => total(totals),
            Quantity::ByCycle(by_cycle, code) => modified(by_cycle(totals), *code),
            Quantity::InstructionsByCycle(code) => modified(&totals.instructions_by_cycle, *code),
            Quantity::Cycles => totals.cycles,
            Quantity::Crystal => scale(totals.cycles, self.crystal_hz, self.tsc_hz),
            Quantity::Slots => totals.slots.total(),
            Quantity::Field(field) => fields(totals)[*field],
            Quantity::Ports(ports) => ports.iter().map(|port| totals.ports[*port]).sum(),
            Quantity::Sum(parts) => parts.iter().map(|part| self.at(part, user)).sum(),
            Quantity::Limited(by_cycle, limit) => {
                let each = by_cycle(totals);
                (1..=usize::from(*limit)).map(|n| each.at_least(n)).sum()
            }
            Quantity::Flops(kinds, limit) => {
                let chosen = totals.flops.iter().enumerate().filter(|(kind, _)| kinds >> kind & 1 != 0);
                let all: u64 = chosen.map(|(_, count)| count).sum();
                let lost = if limit.is_some() { totals.flops_lost[usize::from(*kinds)] } else { 0 };
                all - lost
            }
            Quantity::BranchRecords => self.branch_records[usize::from(user)],
            Quantity::Never => 0,
        }
    }
}

impl Observer for TimingCore {
    fn define(&mut self, instructions: &[Instruction]) -> BlockId {
        self.model.define(instructions)
    }

    fn release(&mut self, block: BlockId) {
        self.model.release(block);
    }

    /// True if a counter has overflowed with the last of the instructions, or the time has come that
    /// [`arm`](Self::arm) was given.
    #[inline]
    fn retire(&mut self, block: &Block<'_>) -> bool {
        self.model.retire(block);
        let count = u64::from(block.count);
        self.quiet_for = self.quiet_for.saturating_sub(count);
        // Each access of a single instruction, which may have many, may be a line from memory.
        let weight = if block.whole { count } else { count + block.memory.len() as u64 };
        if self.quiet >= weight {
            self.quiet -= weight;
            return false;
        }
        self.quiet = 0;
        (self.quiet_for == 0 || self.cycles() >= self.quiet_until) && self.is_due()
    }

    /// Instructions within which no counter can overflow and no timer can be due, if nothing else happens.
    fn quiet_horizon(&mut self) -> u64 {
        if self.quiet < ENOUGH {
            let cycles = self.quiet_until.saturating_sub(self.cycles());
            let by_cycles = cycles.saturating_sub(1) / MOST_CYCLES;
            self.quiet = by_cycles.min(self.quiet_for.saturating_sub(1));
        }
        self.model.expect_quiet(self.quiet);
        self.quiet
    }

    fn event(&mut self, event: CoreEvent) {
        self.model.event(event);
        self.quiet = 0;
    }
}

/// What CMASK, INV and E make of how often something happens in each cycle.
fn modified(each: &PerCycle, code: EventCode) -> u64 {
    let n = usize::from(code.cmask.max(1));
    match (code.edge, code.inv) {
        // What ends has begun.
        (true, _) => each.rising(n),
        (false, false) => each.at_least(n),
        (false, true) => each.fewer_than(n),
    }
}

/// Slots by PERF_METRICS field, in the order of the register's bytes.
fn fields(totals: &CoreTotals) -> [u64; ALL_FIELDS] {
    let slots = &totals.slots;
    [
        slots.retiring(),
        slots.bad_speculation(),
        slots.frontend_bound(),
        slots.backend_bound(),
        slots.heavy_operations,
        slots.branch_mispredicts,
        slots.fetch_latency,
        slots.memory_bound,
    ]
}

impl Drop for TimingCore {
    /// Everything that the model knows, to compare two of its versions.
    fn drop(&mut self) {
        if !log::log_enabled!(log::Level::Trace) {
            return;
        }
        for (level, user) in [("0", false), ("3", true)] {
            log::trace!("totals of the model at CPL {level}: {:?}", self.model.totals(user));
        }
    }
}

/// The core, shared by the engine, which feeds it, and the counts source, which reads it.
#[derive(Debug, Clone)]
pub struct SharedCore(Rc<RefCell<TimingCore>>);

impl SharedCore {
    /// The core of this profile's CPU, with everything cold.
    ///
    /// # Errors
    /// There is no model of it.
    pub fn new(profile: &Profile) -> Result<Self, TimingError> {
        let core =
            core_of(profile).ok_or(TimingError::NoModel { profile: profile.name, core: profile.core })?;
        let model = Model::new(core, describe::form)
            .map_err(|reason| TimingError::Table { core: core.name, reason })?;
        Ok(Self(Rc::new(RefCell::new(TimingCore {
            model,
            branch_records: [0; 2],
            crystal_hz: u64::from(profile.crystal_hz),
            tsc_hz: profile.tsc_hz.max(1),
            watches: Vec::new(),
            timer: u64::MAX,
            quiet_until: u64::MAX,
            quiet_for: u64::MAX,
            quiet: 0,
        }))))
    }

    /// The core, to be driven.
    #[inline(always)]
    #[must_use]
    pub fn drive(&self) -> RefMut<'_, TimingCore> {
        self.0.borrow_mut()
    }
}

/// The source of the soft engine with `--detail timing`.
#[derive(Debug)]
pub struct TimingSource {
    core: SharedCore,
    table: EventTable,
    /// Numbers of the execution ports, in the order of [`CoreTotals::ports`].
    ports: Vec<u32>,
}

impl TimingSource {
    /// A source for this core.
    #[must_use]
    pub fn new(profile: &Profile, core: SharedCore) -> Self {
        let ports = port_numbers(&core.drive().model.ports());
        Self { core, table: profile.events, ports }
    }

    fn quantity(&self, request: &EventRequest) -> Option<Quantity> {
        let code = request.code.normalized();
        if (request.event.is_some() || code.is_plain())
            && let Some(flops) = flops(request)
        {
            return Some(flops);
        }
        // What is known by cycle happens less often than 15 times in each, and a usual limit takes nothing from it.
        if let (Some(limit @ ..15), Some(by_cycle)) =
            (request.limit, request.event.and_then(|event| event::by_cycle(event.counts_as())))
        {
            return Some(Quantity::Limited(by_cycle, limit));
        }
        if let Some(known) = request.event.and_then(|event| self.plain(event)) {
            return Some(known);
        }
        match (request.event, request.base) {
            (_, Some(base)) if !code.is_plain() => self.modified(base, code),
            // Skylake's unit mask has a bit more than that of the uops.
            (Some(Event::IdqDsbCyclesAny | Event::IdqDsbCyclesOk), None) => {
                Some(Quantity::ByCycle(|totals| &totals.dsb_uops, code))
            }
            (None, None) if code.is_plain() && !request.union.is_empty() => {
                let parts: Option<Vec<Quantity>> =
                    request.union.events().map(|event| self.plain(event)).collect();
                parts.map(Quantity::Sum)
            }
            _ => None,
        }
    }

    /// Plain occurrences.
    fn plain(&self, event: Event) -> Option<Quantity> {
        use Event as E;
        let event = event.counts_as();
        Some(match event {
            E::CpuClkUnhaltedThread | E::CpuClkUnhaltedDistributed | E::CpuClkUnhaltedRefTsc => {
                Quantity::Cycles
            }
            // The sibling is never there.
            E::CpuClkUnhaltedRefXclk | E::CpuClkUnhaltedRefDistributed | E::CpuClkUnhaltedOneThreadActive => {
                Quantity::Crystal
            }
            E::TopdownSlots => Quantity::Slots,
            E::MiscRetiredLbrInserts => Quantity::BranchRecords,
            E::AssistsAny => Quantity::Total(self.assists()),
            _ => match event::ports(event) {
                Some(numbers) => Quantity::Ports(self.port_positions(numbers)),
                None => Quantity::Total(event::total(event)?),
            },
        })
    }

    /// Microcode assists of any kind that the CPU's event has: a bit of the unit mask each.
    fn assists(&self) -> Total {
        const PAGE_FAULT: u16 = 1 << 3;
        let of_table = |encoding: &&Encoding| encoding.event == Event::AssistsAny;
        match self.table.encodings().iter().find(of_table) {
            // Skylake has an event of its own for floating point.
            Some(encoding) if encoding.name.starts_with("OTHER_") => |t| t.page_assists,
            Some(encoding) if encoding.code.umask & PAGE_FAULT != 0 => {
                |t| t.fp_assists + t.page_assists + t.page_faults
            }
            _ => |t| t.fp_assists + t.page_assists,
        }
    }

    fn port_positions(&self, numbers: &[u32]) -> Vec<usize> {
        let wanted = self.ports.iter().enumerate().filter(|(_, number)| numbers.contains(number));
        wanted.map(|(position, _)| position).take(core_model::PORTS).collect()
    }

    /// With CMASK, INV or E: how often something happens within a cycle.
    fn modified(&self, base: Event, code: EventCode) -> Option<Quantity> {
        let base = base.counts_as();
        if let Some(by_cycle) = event::by_cycle(base) {
            return Some(Quantity::ByCycle(by_cycle, code));
        }
        // Known without a look at each cycle: what happens equally often in each, and more than can happen.
        let (least, most) = match self.plain(base)? {
            Quantity::Cycles => (1, 1),
            Quantity::Slots => {
                let width = self.core.drive().width();
                (width, width)
            }
            // Each uop may be two fused instructions.
            _ if base == Event::InstRetiredAny => {
                (0, 2 * u64::from(self.core.drive().model.core().retire_width))
            }
            _ => return None,
        };
        let threshold = u64::from(code.cmask.max(1));
        let always = match () {
            () if base == Event::InstRetiredAny && threshold <= most => {
                return Some(Quantity::InstructionsByCycle(code));
            }
            () if code.edge => return None,
            () if threshold <= least => !code.inv,
            () if threshold > most => code.inv,
            () => return None,
        };
        Some(if always { Quantity::Cycles } else { Quantity::Never })
    }

    fn is_exact(request: &EventRequest) -> bool {
        let united = request.union.events().all(|event| event.unit() == "BR_INST_RETIRED");
        match request.event {
            Some(event) => event.counts_as() == Event::InstRetiredAny || event.unit() == "BR_INST_RETIRED",
            None => united && !request.union.is_empty() && request.code.is_plain(),
        }
    }
}

/// What a request for floating-point operations counts. In no cycle are there more than 255, so that only a counter
/// that adds less has a limit.
fn flops(request: &EventRequest) -> Option<Quantity> {
    let kinds = request.events().map(amd::flop_kinds).collect::<Option<Vec<u8>>>()?;
    let limit = request.limit.filter(|limit| *limit < u8::MAX);
    (!kinds.is_empty()).then(|| Quantity::Flops(kinds.iter().fold(0, |all, kind| all | kind), limit))
}

/// The numbers in the names of ports.
fn port_numbers(names: &[&str]) -> Vec<u32> {
    let number = |name: &&str| name.rsplit_once("Port").and_then(|(_, digits)| digits.parse().ok());
    names.iter().map(|name| number(name).unwrap_or(u32::MAX)).collect()
}

impl CountsSource for TimingSource {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        match self.quantity(request) {
            Some(Quantity::Flops(_, None)) => Provenance::Exact,
            Some(_) if Self::is_exact(request) => Provenance::Exact,
            Some(_) => Provenance::Modelled,
            None => Provenance::Unknown,
        }
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        let Some(quantity) = self.quantity(request) else { return 0 };
        match quantity {
            Quantity::InstructionsByCycle(_) => self.core.drive().model.count_instructions_by_cycle(),
            Quantity::Flops(_, Some(limit)) => self.core.drive().model.count_lost_flops(limit),
            _ => {}
        }
        self.core.drive().sum(&quantity, filter)
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        let mut core = self.core.drive();
        let mut slots = TopdownSlots { slots: core.sum(&Quantity::Slots, filter), ..TopdownSlots::default() };
        for (field, total) in slots.fields.iter_mut().enumerate() {
            *total = core.sum(&Quantity::Field(field), filter);
        }
        Some(slots)
    }

    fn rearm(&mut self, active: &[Active]) {
        let mut core = self.core.drive();
        core.watches.clear();
        let width = core.width();
        for counter in active.iter().filter(|counter| counter.interrupts) {
            let quantity = match counter.counter {
                CounterId::Metric(field) => Some(Quantity::Field(usize::from(field))),
                CounterId::Gp(_) | CounterId::Fixed(_) => self.quantity(&counter.request),
            };
            let Some(quantity) = quantity else { continue };
            let rate =
                if Self::is_exact(&counter.request) { Rate::Instruction(1) } else { quantity.rate(width) };
            let target = core.sum(&quantity, counter.filter).saturating_add(counter.until_overflow);
            core.watches.push(Watch { quantity, filter: counter.filter, target, rate });
        }
    }
}

impl Source for TimingSource {
    /// The best that the source has; what is only modelled says so in its own provenance.
    fn label(&self) -> Provenance {
        Provenance::Exact
    }
}

#[cfg(test)]
mod tests;
