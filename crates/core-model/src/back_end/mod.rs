//! Allocation, execution and retirement, one instruction after the other.
//!
//! Instructions come in program order, and each uop takes the first free cycle of one of its ports once its sources
//! are ready. That gives what an oldest-first scheduler does, without simulating cycles in which nothing happens.

mod allocation;
mod binding;
mod booking;
mod bypass;
mod far;
mod group;
mod lane;
mod late;
mod ports;
mod scheduler;
mod state;
mod turns;

use crate::core::{Core, PortBinding};
use crate::instruction::prepared::Rest;
use crate::instruction::{Executed, Prepared, READY, RESOURCES, Traits, UnitsInTurn};
use crate::memory::Follow;
use crate::state::cycle_bits::CycleBits;
use crate::table::{Uops, is_port};
use crate::totals::{CoreTotals, PORTS};
use allocation::Allocation;
pub(crate) use allocation::Leaf;
use binding::{BOUND, Rule};
use bypass::Domains;
pub(crate) use bypass::Kind;
use far::Far;
use lane::Lane;
use ports::Ports;
use retire::{REGISTERS, RegisterSet};
use scheduler::Scheduler;
use std::ops::Range;
use turns::Turns;

/// Places for what is in the reorder buffer, and for loads: more than any core has.
const IN_FLIGHT: usize = 1024;
const LOAD_BUFFER: usize = 256;

/// Cycles from allocation to dispatch in addition to the one that there is here, in which uops are in the scheduler
/// already (uiCA: five together).
const DISPATCH: u64 = 4;

/// Something in the reorder buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct InFlight {
    retired: u64,
    slots: u16,
    /// Cycles before it retires since which it waits for memory, and after which it only computes.
    memory_for: u32,
    computes_for: u16,
}

impl InFlight {
    /// What matters of its wait for memory if it becomes the oldest at this cycle.
    #[inline(always)]
    fn waits_from(&self, cycle: u64) -> (u64, u64) {
        let (memory_for, computes_for) = (u64::from(self.memory_for), u64::from(self.computes_for));
        let memory_for = memory_for.min(self.retired - cycle);
        if memory_for <= computes_for { (0, 0) } else { (memory_for, computes_for) }
    }
}

/// Why allocation begins again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Restart {
    /// When the reason is known.
    pub(crate) resolved: u64,
    /// When recovery is over.
    pub(crate) recovered: u64,
    pub(crate) leaf: Leaf,
}

/// What is noted by cycle, for events that ask what was outstanding when nothing was executed: that no uop waits in
/// the schedulers, loads by how many levels they missed at least, and dividers that are busy.
type Activity = CycleBits<8>;
const EMPTY: usize = 0;
const LOADS: usize = 1;
const MISSED_L3: usize = LOADS + 3;
const INTEGER_DIVIDER: usize = 5;
const FP_DIVIDER: usize = 6;

/// Schedulers that units share.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sharing {
    /// Units of arithmetic, a scheduler for each; none if there are no such schedulers.
    pub(crate) arithmetic: UnitsInTurn,
    /// Units of addresses, which have their uops from the first of these.
    pub(crate) addresses: u32,
    /// Entries of each.
    pub(crate) entries: u32,
}

/// The units of a core.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Units<'a> {
    pub(crate) names: &'a [String],
    /// Those that plain loads go to: a bit for each.
    pub(crate) loads: u32,
    /// Those of uops with a choice among others.
    pub(crate) choices: u32,
    /// Those that uops are bound to in turn at allocation.
    pub(crate) turns: Sharing,
    /// Those of the uop that brings the stack pointer up to date; 0 if renaming does that.
    pub(crate) stack: u32,
    /// Those of loads and stores, if their uops have a scheduler of their own.
    pub(crate) memory: u32,
    /// Those that a store takes again if its line is not known by its linear address.
    pub(crate) stores: u32,
    /// The longest way from distant sources, in cycles.
    pub(crate) way: u16,
}

#[derive(Debug)]
pub(crate) struct BackEnd {
    allocation: Allocation,
    retirement: Lane,
    ports: Ports,
    /// Units that are execution ports, as places in the totals.
    port_places: Vec<Option<usize>>,
    /// The same as bits.
    port_units: u32,
    executed_before: u32,
    /// Of all uops, or of those that need no unit of memory, and of the others.
    schedulers: [Scheduler; 2],
    /// Their entries.
    entries: [u32; 2],
    memory_units: u32,
    /// The units that uops take in turn.
    turns: Option<Box<Turns>>,
    /// When each register is ready, and how many there are.
    ready: [u64; RESOURCES],
    registers: usize,
    /// The reorder buffer: a ring.
    in_flight: Box<[InFlight; IN_FLIGHT]>,
    oldest: usize,
    newest: usize,
    in_flight_slots: u32,
    /// When the newest loads leave the load buffer.
    loads: [u64; LOAD_BUFFER],
    load_count: usize,
    load_buffer: usize,
    reorder_buffer: u32,
    activity: Activity,
    /// The same behind the window: which things, and until when.
    far_activity: Far<(Range<usize>, u64)>,
    /// When the newest of all uops leaves the scheduler.
    last_issue: u64,
    /// Up to where that is only known to be empty.
    empty_until: u64,
    /// When everything so far is complete.
    pub(crate) last_completed: u64,
    /// Nothing is allocated before this: a serialising instruction.
    pub(crate) serialised: u64,
    integer_divider: u64,
    fp_divider: u64,
    pub(crate) restart: Option<Restart>,
    /// The cycle in which uops were allocated last.
    newest_allocation: u64,
    /// The slot of its cycle in which the newest instruction begins, and whether it takes others.
    first_slot: u32,
    more_slots: bool,
    /// [`Core::allocates_whole`].
    allocates_whole: bool,
    binds: bool,
    wakes_late: bool,
    /// Cycles after which a result still matters that is there: to what it is distant from.
    lingers: u64,
    domains: Domains,
    /// Register of the stack pointer, and units of the uop that brings it up to date.
    stack: (u8, u32),
    /// See [`Units::stores`].
    store_units: u32,
}

impl BackEnd {
    pub(crate) fn new(core: &'static Core, units: &Units<'_>, registers: u32) -> Self {
        let rule = match core.binding {
            PortBinding::ByPressure { ranks, much } if units.names.len() <= BOUND => {
                Some(Rule { ranks: ranks.into(), much: much.into() })
            }
            _ => None,
        };
        let binds = rule.is_some();
        let mut place = 0;
        let port_places: Vec<Option<usize>> = units
            .names
            .iter()
            .map(|name| {
                let port = is_port(name) && place < PORTS;
                place += usize::from(port);
                port.then(|| place - 1)
            })
            .collect();
        let apart = core.memory_scheduler.filter(|_| units.memory != 0).map(|(entries, _)| entries);
        let entries = [core.scheduler.saturating_sub(apart.unwrap_or(0)), apart.unwrap_or(u32::MAX)];
        let is_some = |(unit, place): (usize, &Option<usize>)| u32::from(place.is_some()) << unit;
        let port_units = port_places.iter().enumerate().map(is_some).sum();
        Self {
            allocation: Allocation::new(core.dispatch_width),
            retirement: Lane::new(core.retire_width),
            ports: Ports::new(units, rule),
            port_places,
            port_units,
            executed_before: 0,
            schedulers: [Scheduler::new(), Scheduler::new()],
            entries,
            memory_units: units.memory,
            turns: Turns::new(units.turns, units.names.len()).map(Box::new),
            ready: [0; RESOURCES],
            // Four at a time; what is more than there are stays 0.
            registers: registers.min(REGISTERS).next_multiple_of(4) as usize,
            in_flight: Box::new([InFlight::default(); IN_FLIGHT]),
            oldest: 0,
            newest: 0,
            in_flight_slots: 0,
            loads: [0; LOAD_BUFFER],
            load_count: 0,
            load_buffer: (core.load_buffer.max(1) as usize).min(LOAD_BUFFER),
            reorder_buffer: core.reorder_buffer.min(IN_FLIGHT as u32 - 1),
            activity: Activity::new(),
            far_activity: Far::new(),
            last_issue: 0,
            empty_until: 0,
            last_completed: 0,
            serialised: 0,
            integer_divider: 0,
            fp_divider: 0,
            restart: None,
            newest_allocation: u64::MAX,
            first_slot: 0,
            allocates_whole: core.allocates_whole,
            more_slots: false,
            binds,
            wakes_late: core.wakes_late,
            lingers: u64::from(units.way).saturating_sub(1),
            domains: Domains::new(core),
            stack: (core.stack_engine.map_or(READY, |engine| engine.0), units.stack),
            store_units: units.stores,
        }
    }

    /// Cycle of allocation.
    #[inline(always)]
    pub(crate) fn cycle(&self) -> u64 {
        self.allocation.cycle()
    }

    /// Waits until a cycle, for a reason in the back end: memory in cycles in which the oldest instruction waits for a
    /// load and nothing executes. TMA's memory bound is loads in flight that coincide with starvation of the execution
    /// units.
    fn hold(&mut self, totals: &mut CoreTotals, until: u64) {
        let start = self.allocation.cycle();
        let (mut cycle, mut waiting, mut first) = (start, 0, Leaf::Core);
        while cycle < until {
            let Some(oldest) = self.oldest_at(cycle) else { break };
            let from = cycle.max(oldest.retired - u64::from(oldest.memory_for));
            let to = until.min(oldest.retired - u64::from(oldest.computes_for));
            if from < to {
                // Nothing is known to execute beyond the horizon.
                let known = to.min(self.ports.horizon());
                waiting += to - from - self.ports.count_busy(from, known, self.port_units);
                if from == start && !(from < known && self.ports.is_busy(from, self.port_units)) {
                    first = Leaf::Memory;
                }
            }
            cycle = oldest.retired;
        }
        if start < until {
            self.allocation.hold(totals, until, first, waiting);
        }
    }

    /// True if uops have been allocated in this cycle, and others can be.
    #[inline(always)]
    pub(crate) fn is_within_cycle(&self) -> bool {
        (1..self.allocation.width()).contains(&self.allocation.used())
    }

    /// As [`hold`](Self::hold).
    pub(crate) fn wait_until(&mut self, totals: &mut CoreTotals, until: u64) {
        self.ports.look_from(self.allocation.cycle());
        self.hold(totals, until);
    }

    /// True if it has what few cores have: units of arithmetic in turn.
    pub(crate) fn has_quirks(&self) -> bool {
        self.turns.is_some()
    }

    /// The oldest instruction that has not retired at a cycle; what has retired leaves the reorder buffer.
    #[inline]
    fn oldest_at(&mut self, cycle: u64) -> Option<InFlight> {
        while self.oldest != self.newest {
            let oldest = self.in_flight[self.oldest % IN_FLIGHT];
            if oldest.retired > cycle {
                return Some(oldest);
            }
            self.in_flight_slots -= u32::from(oldest.slots);
            self.oldest = self.oldest.wrapping_add(1);
        }
        None
    }

    /// When the load buffer has room for one more.
    #[inline(always)]
    pub(crate) fn load_room(&self) -> u64 {
        self.loads[self.load_count.wrapping_sub(self.load_buffer) % LOAD_BUFFER]
    }

    /// Waits for room in reorder buffer and schedulers, and until there is some in load and store buffer.
    #[inline(always)]
    pub(crate) fn make_room(
        &mut self,
        totals: &mut CoreTotals,
        slots: u32,
        load_room: u64,
        stores_room: u64,
        unit_room: u64,
    ) {
        let cycle = self.allocation.cycle();
        // It is not looked at what has left the schedulers until there is no room, or the cycles are finished.
        // Where uops are bound, a whole cycle of them needs room, or none of them enters.
        let width = self.allocation.width();
        let slots = match self.binds {
            true if self.allocation.used() == 0 => width,
            true => slots.min(width),
            false => slots,
        };
        let [waiting, memory] = self.schedulers.each_ref().map(Scheduler::waiting);
        if self.in_flight_slots + slots > self.reorder_buffer
            || waiting + slots > self.entries[0]
            || memory + slots > self.entries[1]
            || load_room.max(stores_room).max(unit_room).max(self.serialised) > cycle
            || self.restart.is_some()
        {
            self.wait_for_room(totals, slots, [load_room, stores_room, unit_room]);
        }
    }

    /// What leaves the schedulers before a cycle has left.
    fn advance_schedulers(&mut self, cycle: u64) {
        let turns = self.turns.as_mut().map_or(&mut [][..], |turns| &mut turns.schedulers[..]);
        self.schedulers.iter_mut().chain(turns).for_each(|scheduler| scheduler.advance(cycle));
    }

    /// When the scheduler of the unit whose turn it is has room for an instruction, in another cycle of dispatch if
    /// this one can have no more such uops. `memory`: it loads or stores.
    #[inline(always)]
    pub(crate) fn enter_group<const QUIRKS: bool>(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        memory: bool,
    ) -> u64 {
        if !QUIRKS || self.turns.is_none() { 0 } else { self.enter_group_in_turn(totals, prepared, memory) }
    }

    #[inline(never)]
    fn enter_group_in_turn(&mut self, totals: &mut CoreTotals, prepared: &Prepared, memory: bool) -> u64 {
        let Some(turns) = &mut self.turns else { return 0 };
        if self.allocation.used() == 0 {
            turns.begin_group();
        }
        if !turns.enter_group(prepared.in_turn(), prepared.compute, memory) && self.allocation.used() > 0 {
            turns.begin_group();
            let next = self.allocation.cycle() + 1;
            self.allocation.wait(totals, next, Leaf::Core, false);
        }
        turns.room(prepared.in_turn(), self.allocation.cycle())
    }

    #[inline(never)]
    fn wait_for_room(&mut self, totals: &mut CoreTotals, slots: u32, rooms: [u64; 3]) {
        let [load_room, stores_room, unit_room] = rooms;
        self.ports.wait_from(self.allocation.cycle());
        // Where units share schedulers, what is dispatched together waits together.
        let together = self.turns.is_some() && self.restart.is_none();
        let used = if together { self.allocation.used() } else { 0 };
        if let Some(restart) = self.restart.take() {
            self.recover(totals, restart);
        }
        if self.serialised > self.allocation.cycle() {
            totals.serialisation_stalls += self.serialised - self.allocation.cycle();
            self.hold(totals, self.serialised);
        }
        while self.in_flight_slots + slots > self.reorder_buffer {
            let Some(oldest) = self.oldest_at(self.allocation.cycle()) else { break };
            if self.in_flight_slots + slots <= self.reorder_buffer {
                break;
            }
            totals.reorder_buffer_stalls += oldest.retired - self.allocation.cycle();
            self.hold(totals, oldest.retired);
        }
        if load_room > self.allocation.cycle() {
            totals.load_buffer_stalls += load_room - self.allocation.cycle();
            self.hold(totals, load_room);
        }
        if stores_room > self.allocation.cycle() {
            totals.store_buffer_stalls += stores_room - self.allocation.cycle();
            self.allocation.wait(totals, stores_room, Leaf::Memory, false);
        }
        if unit_room > self.allocation.cycle() {
            totals.scheduler_stalls += unit_room - self.allocation.cycle();
            self.hold(totals, unit_room);
        }
        for place in 0..self.schedulers.len() {
            if self.schedulers[place].waiting() + slots > self.entries[place] {
                self.make_room_in_scheduler(totals, slots, place);
            }
        }
        if used > 0 && self.allocation.used() == 0 {
            self.allocation.resume(totals, used);
        }
    }

    fn make_room_in_scheduler(&mut self, totals: &mut CoreTotals, slots: u32, place: usize) {
        let cycle = self.allocation.cycle();
        let scheduler = &mut self.schedulers[place];
        scheduler.advance(cycle);
        let room = scheduler.advance_until(self.entries[place].saturating_sub(slots));
        totals.scheduler_stalls += room - cycle;
        self.hold(totals, room);
    }

    /// Wrong-path uops until the reason of a restart is known, as long as there is room for them, then recovery.
    fn recover(&mut self, totals: &mut CoreTotals, restart: Restart) {
        let Restart { resolved, recovered, leaf } = restart;
        let cycle = self.allocation.cycle();
        if resolved > cycle {
            // What is older than the branch mostly waits for the same thing, and makes no room meanwhile.
            self.oldest_at(cycle);
            let room = self.reorder_buffer.saturating_sub(self.in_flight_slots);
            let cycles = u64::from((room + self.allocation.used()).div_ceil(self.allocation.width()));
            self.allocation.wait(totals, resolved.min(cycle + cycles), leaf, true);
            self.hold(totals, resolved);
        }
        if recovered > self.allocation.cycle() {
            totals.recovery_cycles += recovered - self.allocation.cycle();
            totals.recoveries += 1;
            self.allocation.wait(totals, recovered, leaf, false);
        }
    }

    /// Waits for the front end.
    #[inline(never)]
    pub(crate) fn wait_for_supply(&mut self, totals: &mut CoreTotals, supplied: u64) {
        let next = self.allocation.cycle() + 1;
        if supplied > next || self.allocation.was_short() {
            totals.short_supplies += 1;
        }
        let whole = self.allocation.cycle() + u64::from(self.allocation.used() > 0);
        if let Some(log2) = supplied.saturating_sub(whole).checked_ilog2() {
            for gaps in totals.supply_gaps.iter_mut().take(log2 as usize + 1) {
                *gaps += 1;
            }
        }
        self.allocation.wait(totals, supplied, Leaf::FrontEnd, false);
    }

    /// Allocates uops that retire, whose slots the caller books; the cycle of the last one.
    #[inline(always)]
    pub(crate) fn allocate<const QUIRKS: bool>(&mut self, totals: &mut CoreTotals, slots: u32) -> u64 {
        if slots > 1 && self.allocates_whole {
            self.allocation.make_whole(totals, slots);
        }
        (self.first_slot, self.more_slots) = (self.allocation.used(), slots > 1);
        let cycle = self.allocation.take(totals, slots);
        if cycle != self.newest_allocation {
            self.enter_cycle::<QUIRKS>(totals, cycle, slots);
        }
        if QUIRKS && let Some(turns) = &mut self.turns {
            turns.dispatch();
        }
        cycle
    }

    /// The first uops, or none, of an instruction are allocated in another cycle than those before.
    fn enter_cycle<const QUIRKS: bool>(&mut self, totals: &mut CoreTotals, cycle: u64, slots: u32) {
        self.ports.look_from(cycle);
        if self.ports.base() | 63 < cycle {
            self.finish_cycles(totals, cycle & !63);
        }
        if slots > 0 {
            self.newest_allocation = cycle;
            if QUIRKS
                && let Some(turns) = &mut self.turns
                && (self.first_slot == 0 || self.first_slot + slots > self.allocation.width())
            {
                turns.begin_group();
            }
            if cycle > self.last_issue + 1 {
                self.note_empty(totals, cycle);
            }
        }
    }

    /// When the newest instruction retires.
    pub(crate) fn retired(&self) -> u64 {
        self.retirement.cycle
    }

    /// When the address of an instruction without [`Traits::MANY_REGISTERS`] is ready.
    #[inline(always)]
    pub(crate) fn address_ready(&self, prepared: &Prepared) -> u64 {
        let [a, b] = prepared.address_registers.map(|register| self.ready[usize::from(register) % RESOURCES]);
        a.max(b)
    }

    /// Those schedulers that there are.
    fn used_schedulers(&self) -> &[Scheduler] {
        let count = 1 + usize::from(self.memory_units != 0);
        self.schedulers.get(..count).unwrap_or(&self.schedulers)
    }

    /// When a uop can be dispatched whose sources are ready at a cycle, not before `earliest`.
    #[inline(always)]
    pub(crate) fn woken(&self, ready: u64, earliest: u64) -> u64 {
        let late = self.wakes_late && ready.wrapping_sub(earliest) <= 1;
        ready.max(earliest) + u64::from(late)
    }

    /// When its sources are ready.
    #[inline(always)]
    pub(crate) fn sources_ready(&self, prepared: &Prepared) -> u64 {
        let [a, b, c, d] =
            prepared.source_registers.map(|register| self.ready[usize::from(register) % RESOURCES]);
        a.max(b).max(c.max(d))
    }

    /// When the sources of an operation are there that take longer to it, or all of them if it waits so.
    #[inline(always)]
    pub(crate) fn crossing(&self, prepared: &Prepared) -> u64 {
        match self.domains.late(prepared) {
            (0, ..) => 0,
            (_, delay, true) => self.sources_ready(prepared) + delay,
            (late, delay, false) => self.ready(late) + delay,
        }
    }

    /// The uop that adds a constant before a shift, if there is one to add: asked if [`crossing`](Self::crossing) takes
    /// any time.
    #[inline(never)]
    pub(crate) fn add_constant<const QUIRKS: bool>(&mut self, prepared: &Prepared, ready: u64) {
        if self.domains.adds_constant(prepared) {
            self.issue::<QUIRKS>(prepared.groups(), ready);
        }
    }

    /// When the distant sources of an instruction without memory are there.
    #[inline(always)]
    pub(crate) fn distant(&self, prepared: &Prepared) -> u64 {
        if prepared.load == 0 {
            return 0;
        }
        self.ready(prepared.rest.distant) + u64::from(prepared.load)
    }

    /// When all registers of a set are ready.
    pub(crate) fn ready(&self, mut registers: RegisterSet) -> u64 {
        let mut latest = 0;
        while registers != 0 {
            let register = registers.trailing_zeros() as usize;
            registers &= registers - 1;
            latest = latest.max(self.ready[register % RESOURCES]);
        }
        latest
    }

    /// Reserves ports from `start` on; the cycle in which the last group of uops begins.
    #[inline(always)]
    pub(crate) fn issue<const QUIRKS: bool>(&mut self, groups: &[Uops], start: u64) -> u64 {
        let mut issued = start;
        let mut slot = self.first_slot as usize;
        for &uops in groups {
            let begun = match &mut self.turns {
                Some(turns) if QUIRKS && turns.concern(uops.units) => {
                    turns.issue(&mut self.ports, uops, start, self.newest_allocation)
                }
                _ => self.ports.issue_bound(uops, start, slot),
            };
            issued = issued.max(begun);
            slot += usize::from(self.more_slots);
            if self.binds && uops.cycles > 0 {
                let memory = usize::from(uops.units & self.memory_units != 0);
                self.schedulers[memory].enter(uops.cycles, begun + DISPATCH);
            }
        }
        issued
    }

    /// How renaming can connect an access with another one.
    #[inline(always)]
    pub(crate) fn follow(&self, prepared: &Prepared) -> Follow {
        if !prepared.traits.intersects(Traits::RENAMED) {
            return Follow::NO;
        }
        let stack = prepared.stack_change != 0 || prepared.address_registers == [self.stack.0, READY];
        if stack { Follow::STACK } else { Follow::access(prepared.rest.expression) }
    }

    /// A load takes ports again, though not those of its instruction's store; when it begins. It has a place in the
    /// scheduler already.
    #[inline(never)]
    pub(crate) fn replay(&mut self, groups: &[Uops], start: u64) -> u64 {
        let once = groups.iter().map(|&Uops { units, .. }| Uops { units, cycles: 1 });
        once.fold(start, |last, uops| last.max(self.ports.issue(uops, start)))
    }

    /// Selects a uop at the first cycle from `start` on in which one of its units is free, in vain if its last source,
    /// which is ready at a cycle, is not known to be there; when it can be selected again.
    #[inline(never)]
    pub(crate) fn select(&mut self, uops: Uops, start: u64, ready: u64) -> u64 {
        if start > ready || start >= self.ports.horizon() {
            return 0;
        }
        let (selected, unit) = self.ports.issue_one(uops.units, start);
        let Some(unit) = unit else { return 0 };
        if selected <= ready {
            return selected + 1;
        }
        self.ports.release(selected, unit);
        0
    }

    /// A store takes its unit once more, from `start` on.
    #[inline(never)]
    pub(crate) fn store_again(&mut self, start: u64) {
        self.ports.issue(Uops { units: self.store_units, cycles: 1 }, start);
    }

    /// Brings the stack pointer up to date, not before `earliest`; without a uop that executes if it needs no units.
    #[inline(never)]
    pub(crate) fn synchronise_stack(&mut self, earliest: u64) {
        let (register, units) = self.stack;
        self.first_slot += 1;
        if units == 0 {
            return;
        }
        let ready = self.ready[usize::from(register) % RESOURCES].max(earliest);
        let issued = self.ports.issue_bound(Uops { units, cycles: 1 }, ready, self.first_slot as usize + 1);
        self.ready[usize::from(register) % RESOURCES] = issued + 1;
    }

    /// Waits for a divider, and keeps it busy; when the division begins. One whose operands are there goes ahead of
    /// older ones that wait for theirs, if it is over before those begin.
    pub(crate) fn divide(&mut self, start: u64, cycles: u16, integer: bool) -> u64 {
        let (free, divider) = if integer {
            (&mut self.integer_divider, INTEGER_DIVIDER)
        } else {
            (&mut self.fp_divider, FP_DIVIDER)
        };
        let cycles = u64::from(cycles);
        let begin = if start < *free && *free <= self.ports.horizon() {
            self.activity.gap(divider, start.max(self.ports.base()), cycles, *free)
        } else {
            start.max(*free)
        };
        let end = begin + cycles;
        *free = end.max(*free);
        self.note(divider..divider + 1, begin, end);
        begin
    }

    /// A load that is outstanding from one cycle to another, and how many levels missed.
    #[inline]
    pub(crate) fn outstanding(&mut self, from: u64, to: u64, missed: u32) {
        self.note(LOADS..(LOADS + 1 + missed as usize).min(MISSED_L3 + 1), from, to);
    }

    /// Notes some things for the cycles from one up to, and without, another.
    #[inline]
    fn note(&mut self, things: Range<usize>, from: u64, to: u64) {
        let (from, end) = (from.max(self.ports.base()), self.ports.horizon());
        if to > end {
            self.far_activity.add(from.max(end), (things.clone(), to));
        }
        self.activity.set_all(things, from, to.min(end));
    }

    /// Writes the results, and retires an instruction, which has no [`Traits::RARE`] unless `RARE`; the cycle of
    /// retirement.
    #[inline(always)]
    pub(crate) fn complete<const RARE: bool>(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        slots: u32,
        executed: &Executed,
    ) -> u64 {
        let Executed { issued, completed, memory_from, computes, .. } = *executed;
        for register in prepared.result_registers {
            self.ready[usize::from(register) % RESOURCES] = completed;
        }
        if RARE && prepared.traits.intersects(Traits::MANY_REGISTERS) {
            self.complete_many(&prepared.rest, completed);
        }
        self.domains.note(prepared);
        self.last_completed = self.last_completed.max(completed);
        let retired = self.retirement.pass_instruction(totals, completed, slots);
        if slots > 0 {
            let memory_for = retired.saturating_sub(memory_from).min(u64::from(u32::MAX)) as u32;
            let computes_for = computes.min(memory_for.into()).min(u64::from(u16::MAX)) as u16;
            self.enter_reorder_buffer(InFlight { retired, slots: slots as u16, memory_for, computes_for });
            if !self.binds {
                self.schedulers[0].enter(slots as u16, issued);
            }
            self.last_issue = self.last_issue.max(issued);
        }
        retired
    }

    /// The same for a jump that has become one uop with the instruction before it.
    #[inline(always)]
    pub(crate) fn complete_fused(&mut self, totals: &mut CoreTotals, completed: u64) {
        self.last_completed = self.last_completed.max(completed);
        self.retirement.pass_instruction(totals, completed, 0);
    }

    #[inline(always)]
    fn enter_reorder_buffer(&mut self, entry: InFlight) {
        self.in_flight_slots += u32::from(entry.slots);
        let newest = &mut self.in_flight[self.newest.wrapping_sub(1) % IN_FLIGHT];
        // Neighbours leave together, and only the first can be the oldest. What has left did so at an earlier time.
        if newest.retired == entry.retired {
            newest.slots += entry.slots;
            return;
        }
        self.in_flight[self.newest % IN_FLIGHT] = entry;
        self.newest = self.newest.wrapping_add(1);
    }

    #[inline(never)]
    fn complete_many(&mut self, rest: &Rest, completed: u64) {
        let mut results = rest.results;
        while results != 0 {
            let register = results.trailing_zeros() as usize;
            results &= results - 1;
            self.ready[register % RESOURCES] = completed;
        }
        let (register, cycles) = rest.second;
        self.ready[usize::from(register) % RESOURCES] = completed + u64::from(cycles);
    }

    /// Writes the address of a load or store back to its base register, if it has one.
    #[inline(always)]
    pub(crate) fn write_back(&mut self, prepared: &Prepared, addressed: u64) {
        self.ready[usize::from(prepared.base_register) % RESOURCES] = addressed;
    }

    /// The load buffer's newest entry is free again from this cycle on.
    #[inline(always)]
    pub(crate) fn leave_load_buffer(&mut self, cycle: u64) {
        self.loads[self.load_count % LOAD_BUFFER] = cycle;
        self.load_count = self.load_count.wrapping_add(1);
    }

    /// Retires uops of microcode that belong to no instruction.
    pub(crate) fn microcode(&mut self, totals: &mut CoreTotals, uops: u32, completed: u64) {
        self.last_completed = self.last_completed.max(completed);
        self.retirement.pass(totals, completed, uops);
    }

    /// From now on books how many instructions retire in each cycle.
    pub(crate) fn count_instructions(&mut self) {
        self.retirement.count_instructions();
    }

    /// True after [`count_instructions`](Self::count_instructions).
    pub(crate) fn counts_instructions(&self) -> bool {
        self.retirement.counts_instructions()
    }

    /// From now on books the floating-point operations beyond so many in a cycle.
    pub(crate) fn limit_flops(&mut self, limit: u32) {
        self.retirement.limit_flops(limit);
    }

    /// True after [`limit_flops`](Self::limit_flops).
    pub(crate) fn limits_flops(&self) -> bool {
        self.retirement.limits_flops()
    }

    /// Floating-point operations of the instruction that has retired last.
    pub(crate) fn pass_flops(&mut self, totals: &mut CoreTotals, flops: [u8; 4]) {
        self.retirement.pass_flops(totals, flops);
    }

    /// Ends the current cycle if any of its slots is taken.
    pub(crate) fn end_cycle(&mut self, totals: &mut CoreTotals) {
        if self.allocation.used() > 0 {
            let next = self.allocation.cycle() + 1;
            self.allocation.wait(totals, next, Leaf::FrontEnd, false);
        }
    }

    /// Waits until everything has retired, and books all of it.
    pub(crate) fn drain(&mut self, totals: &mut CoreTotals) {
        self.ports.look_from(self.cycle());
        if let Some(restart) = self.restart.take() {
            self.recover(totals, restart);
        }
        let retired = self.retirement.cycle.max(self.serialised);
        self.hold(totals, retired);
        self.end_cycle(totals);
        self.finish_all(totals);
    }

    /// Goes on at a later cycle, when everything has retired; the cycles in between belong to no instruction.
    pub(crate) fn skip_to(&mut self, totals: &mut CoreTotals, cycle: u64) {
        self.allocation.wait(totals, cycle, Leaf::Core, false);
        self.finish_all(totals);
    }

    /// Books everything before now.
    fn finish_all(&mut self, totals: &mut CoreTotals) {
        self.ports.look_from(self.cycle());
        self.finish_cycles(totals, self.cycle());
        self.retirement.idle_until(totals, self.cycle());
    }
}
