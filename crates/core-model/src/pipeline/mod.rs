//! One instruction's way through the pipeline. It knows cycles only; what depends on addresses and on the past comes
//! from a [`MemoryPort`].

mod execute;
mod written;

use crate::back_end::{BackEnd, Leaf, Restart, Units};
use crate::core::{Core, MemoryRenaming};
use crate::front_end::{FrontEnd, Place};
use crate::instruction::prepared::Rest;
use crate::instruction::{Definition, Executed, Execution, Predicted, Prepared, Traits, accesses_of};
use crate::memory::{BARRED_SHIFT, MemoryPort, StoreTimes};
use crate::predictor::Outcome;
use crate::state::{Shaped, Words};
use crate::table::Uops;
use crate::totals::CoreTotals;
use retire::{Assist, Branch, BranchKind, RegisterFile, RegisterSet};
use written::Written;

/// Where a register's value comes from, as far as a core treats it in a way of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// That makes no difference.
    Any,
    /// A load, or a copy of what it has brought; what is computed from that is another matter.
    Load,
    /// A load, or what waited for one.
    BehindLoad,
    /// An operation of one cycle whose sources were ready when it was allocated, or came from a load.
    Prompt,
}

impl Origin {
    fn that_matters(core: &Core) -> Self {
        match core {
            _ if core.selects_early => Self::Prompt,
            _ if core.memory.fast_pointer => Self::Load,
            _ if core.memory.dependent_loads[0] > 0 => Self::BehindLoad,
            _ => Self::Any,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) core: &'static Core,
    pub(crate) front_end: FrontEnd,
    pub(crate) back_end: BackEnd,
    /// The store buffer is known to have room for the next store.
    pub(crate) store_fits: bool,
    /// Where the next instruction is if the last one can fuse with it.
    pub(crate) fusible_end: u64,
    pub(crate) fusible: Traits,
    /// How long that one is.
    pub(crate) fusible_length: u8,
    /// The last instruction, if the slot that it takes has room for a NOP: no branch, and no NOP that has none itself.
    host: Option<Host>,
    /// Where the newest block ended: no part of the state, but it tells states apart.
    end: u64,
    /// Those of the first 16 registers whose value comes from where `origin` says.
    pub(crate) marked: u16,
    /// Where [`Origin::Prompt`] matters: registers that prompt operations have made, flags among them, and
    /// general-purpose registers that loads have brought.
    pub(crate) prompt: RegisterSet,
    pub(crate) loaded: RegisterSet,
    pub(crate) origin: Origin,
    /// Counts loads that wait for such a value: see [`Memory::dependent_loads`](crate::core::Memory::dependent_loads).
    pub(crate) dependent: u8,
    /// How many stores ago registers were written, on cores that connect loads with stores by that.
    written: Option<Written>,
    /// Counts operations with a load that follow plain loads, and whether the newest load was a plain one: see
    /// [`Memory::mixed_loads`](crate::core::Memory::mixed_loads).
    pub(crate) mixed: (u8, bool),
    /// Line of the newest instruction, and how many lines the uops of this cycle of allocation are from: see
    /// [`FrontEnd::dispatched_lines`](crate::core::FrontEnd::dispatched_lines).
    pub(crate) line: u64,
    pub(crate) lines: u8,
    /// That cycle.
    pub(crate) lines_cycle: u64,
    /// What the stack engine adds to the stack pointer.
    pub(crate) stack_offset: i16,
    /// Recovery is over, and the front end has not delivered anything since.
    pub(crate) refilling: bool,
    /// There is a limit to [`dispatched_lines`](crate::core::FrontEnd::dispatched_lines).
    limits_lines: bool,
    /// [`Core::fuses_nops`].
    fuses_nops: bool,
    /// It has anything that few cores have. Others go through code that does not ask for it, which is a tenth of what
    /// instructions without misses take.
    pub(crate) has_quirks: bool,
}

/// An instruction in whose slot there is room for a NOP: see [`Core::fuses_nops`](crate::core::Core::fuses_nops).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Host {
    /// Where it ends.
    end: u64,
    /// Its length, if it is a NOP.
    nop: u8,
}

impl Host {
    /// True if a NOP of so many bytes at an address shares the slot.
    #[inline(always)]
    fn takes(self, rip: u64, nop: u8) -> bool {
        self.end == rip && (self.nop == 0 || self.nop.max(nop) < LONG_NOP)
    }
}

/// Bytes of a NOP from which on it takes no slot together with another one.
const LONG_NOP: u8 = 7;
/// Bytes by which the stack pointer can be ahead in the stack engine (uiCA).
const STACK_OFFSET: u16 = 192;

/// Slots of a string instruction in addition to those that it always has.
#[inline(never)]
fn string_slots(prepared: &Prepared, execution: &Execution<'_>) -> u32 {
    // A uop moves up to 32 bytes, and never less than one iteration that compares.
    let bytes: u64 = execution.memory.iter().map(|access| u64::from(access.size)).sum();
    let compares = prepared.rest.compares;
    let uops = if compares { 2 * execution.repetitions } else { bytes / 32 };
    uops.min(60_000) as u32
}

impl Pipeline {
    pub(crate) fn new(core: &'static Core, units: &Units<'_>, registers: u32) -> Self {
        let (front_end, back_end) = (FrontEnd::new(core), BackEnd::new(core, units, registers));
        let origin = Origin::that_matters(core);
        let written = match core.memory.renames_memory {
            MemoryRenaming::Predicted { distance: 1.., .. } => Some(Written::new()),
            _ => None,
        };
        let limits_lines = core.front_end.dispatched_lines > 0;
        let has_quirks = matches!(origin, Origin::BehindLoad | Origin::Prompt)
            || written.is_some()
            || limits_lines
            || core.fuses_nops
            || core.memory.mixed_loads > 0
            || front_end.has_quirks()
            || back_end.has_quirks();
        Self {
            core,
            front_end,
            back_end,
            store_fits: true,
            fusible_end: u64::MAX,
            fusible: Traits::default(),
            fusible_length: 0,
            host: None,
            end: 0,
            marked: 0,
            prompt: 0,
            loaded: 0,
            origin,
            dependent: 0,
            written,
            mixed: (0, false),
            line: u64::MAX,
            lines: 0,
            lines_cycle: u64::MAX,
            stack_offset: 0,
            refilling: false,
            limits_lines,
            fuses_nops: core.fuses_nops,
            has_quirks,
        }
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.back_end.cycle()
    }

    /// Takes instructions that have retired through the pipeline, one after the other.
    pub(crate) fn retire(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        definition: &Definition,
        block: &Predicted<'_>,
    ) {
        if self.has_quirks {
            self.retire_on::<true>(port, totals, definition, block);
        } else {
            self.retire_on::<false>(port, totals, definition, block);
        }
    }

    /// As [`retire`](Self::retire). `QUIRKS`: the core may have what few cores have.
    fn retire_on<const QUIRKS: bool>(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        definition: &Definition,
        block: &Predicted<'_>,
    ) {
        let instructions = definition.retired(block);
        let Some(first) = instructions.first() else { return };
        let follows = block.rip.wrapping_add(u64::from(first.offset)) == self.fusible_end;
        let mut before = if follows { self.fusible } else { Traits::default() };
        let mut length = if follows { self.fusible_length } else { 0 };
        let mut host = self.host.take();
        let (mut rest, mut rip, mut start, mut completed, mut slots, mut light) = (0, 0, 0, 0, 0, 0);
        for (number, prepared) in (usize::from(block.first)..).zip(instructions) {
            rip = block.rip.wrapping_add(u64::from(prepared.offset));
            let last_length = std::mem::replace(&mut length, prepared.length());
            let place = &Place {
                linear: rip,
                physical: block.fetch_pa + u64::from(prepared.offset),
                page: block.fetch_page,
                prepared,
            };
            let jumps = prepared.traits.intersects(Traits::CONDITIONAL) && before.fuses_with(prepared.traits);
            let fused = jumps || prepared.slots == 0;
            let hidden = QUIRKS && self.fuses_nops && {
                let nop = if prepared.traits.intersects(Traits::NOP) { length } else { 0 };
                let hidden = nop > 0 && host.is_some_and(|host| host.takes(rip, nop));
                host = (!hidden && !fused).then(|| Host { end: rip.wrapping_add(length.into()), nop });
                hidden
            };
            start = if fused { rip.wrapping_sub(last_length.into()) } else { rip };
            before = prepared.traits;
            let execution =
                |memory| Execution { number: number as u8, rip, memory, repetitions: block.repetitions };
            let taken;
            (completed, taken) = if fused || hidden {
                let count = if fused { &mut totals.macro_fused } else { &mut totals.nops };
                *count += 1;
                self.complete_fused::<QUIRKS>(port, totals, prepared, place)
            } else if prepared.is_plain() {
                self.complete::<QUIRKS, false, false>(port, totals, prepared, place, &execution(&[]))
            } else {
                let execution = execution(accesses_of(block, number, &mut rest));
                if prepared.traits.intersects(Traits::RARE) {
                    self.complete_any::<QUIRKS>(port, totals, prepared, place, &execution)
                } else {
                    self.complete::<QUIRKS, false, true>(port, totals, prepared, place, &execution)
                }
            };
            slots += u64::from(taken);
            light += u64::from(!fused && !hidden);
        }
        let end = rip.wrapping_add(u64::from(length));
        self.end = end;
        // Mostly a branch, behind which it does not matter where it was.
        let fuses = before.intersects(Traits::FIRST);
        (self.fusible, self.fusible_end, self.fusible_length) =
            if fuses { (before, end, length) } else { (Traits::default(), u64::MAX, 0) };
        totals.instructions += instructions.len() as u64;
        totals.slots.light_operations += light;
        totals.slots.heavy_operations += slots - light;
        self.host = host.filter(|_| block.branch.is_none());
        if let Some(branch) = &block.branch {
            if self.core.front_end.bars_boundary_branches && start >> BARRED_SHIFT != end >> BARRED_SHIFT {
                port.bar(start, block.fetch_pa.wrapping_add(start.wrapping_sub(block.rip)));
            }
            self.branch(port, totals, [rip, end.wrapping_sub(1)], (branch, block.outcome), completed);
        }
    }

    #[inline(never)]
    fn complete_any<const QUIRKS: bool>(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        place: &Place<'_>,
        execution: &Execution<'_>,
    ) -> (u64, u32) {
        self.complete::<QUIRKS, true, true>(port, totals, prepared, place, execution)
    }

    /// As [`complete`](Self::complete), for a conditional jump that has become one uop with the instruction before it,
    /// or a NOP in its slot.
    #[inline(always)]
    fn complete_fused<const QUIRKS: bool>(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        place: &Place<'_>,
    ) -> (u64, u32) {
        totals.register_files[prepared.register_file as usize] += 1;
        let allocated = self.allocate::<QUIRKS, false>(port, totals, prepared.traits, place, [0; 2], [0; 3]);
        let ready = self.back_end.sources_ready(prepared).max(allocated);
        self.back_end.complete_fused(totals, ready);
        (ready, 0)
    }

    /// Takes an instruction from the front end to retirement; when its result is there, and the slots that it took.
    /// `RARE`: it may have [`Traits::RARE`]. `MEMORY`: it may load or store.
    #[inline(always)]
    fn complete<const QUIRKS: bool, const RARE: bool, const MEMORY: bool>(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        place: &Place<'_>,
        execution: &Execution<'_>,
    ) -> (u64, u32) {
        let traits = prepared.traits;
        let string = RARE && traits.intersects(Traits::STRING);
        let slots = u32::from(prepared.slots) + if string { string_slots(prepared, execution) } else { 0 };
        totals.register_files[prepared.register_file as usize] += 1;
        let synchronises = traits.intersects(Traits::STACK_POINTER) && self.stack_offset != 0;
        if synchronises || prepared.stack_change != 0 {
            self.move_stack(prepared, synchronises);
        }
        // Microcode of strings flows while they move.
        let along = if string { slots - u32::from(prepared.slots) } else { 0 };
        if RARE && along > 0 {
            self.front_end.sequence_along(totals, along);
        }
        let supplied = slots - along - u32::from(prepared.unlaminated);
        let slots = slots + u32::from(synchronises);
        let load = MEMORY && traits.intersects(Traits::LOAD);
        let store = MEMORY && traits.intersects(Traits::STORE);
        let unit_room = self.back_end.enter_group::<QUIRKS>(totals, prepared, load || store);
        let load_room = if load { self.back_end.load_room() } else { 0 };
        let store_room = if store { self.store_room(port) } else { 0 };
        let rooms = [load_room, store_room, unit_room];
        let allocated = self.allocate::<QUIRKS, RARE>(port, totals, traits, place, [supplied, slots], rooms);
        if synchronises {
            self.back_end.synchronise_stack(allocated + 1);
        }
        let executed = self.execute::<QUIRKS, RARE, MEMORY>(port, totals, prepared, execution, allocated + 1);
        let Executed { addressed, completed, clear, .. } = executed;
        if RARE && along > 0 {
            let first = allocated.saturating_sub(u64::from(along / self.core.dispatch_width.max(1)));
            self.back_end.microcode(totals, along, first);
        }
        let retired = self.back_end.complete::<RARE>(totals, prepared, slots - along, &executed);
        if self.origin != Origin::Any {
            self.mark(prepared, executed.prompt);
        }
        if QUIRKS && let Some(written) = &mut self.written {
            written.retire(prepared, store);
        }
        if load || store {
            self.back_end.write_back(prepared, addressed);
        }
        if load {
            self.back_end.leave_load_buffer(retired);
            totals.loads += 1;
        }
        if store {
            totals.stores += 1;
            let follow = self.back_end.follow(prepared);
            let times = StoreTimes { allocated, addressed, data: completed, retired, follow };
            self.store(port, totals, prepared, execution, times);
        }
        if MEMORY && clear {
            totals.machine_clears += 1;
            self.clear(totals, completed);
        }
        if traits.intersects(Traits::COUNTS_FP) {
            self.count_floating_point(totals, prepared);
        }
        if RARE && traits.intersects(Traits::RARE) {
            self.rare(port, totals, prepared, execution, slots, retired);
        }
        (completed, slots)
    }

    /// Which registers are marked after an instruction.
    #[inline(always)]
    fn mark(&mut self, prepared: &Prepared, prompt: bool) {
        let traits = prepared.traits;
        let marks = match self.origin {
            Origin::Any => false,
            Origin::Load => {
                let source = u32::from(prepared.source_registers[0] & 15);
                traits.intersects(Traits::LOADED)
                    || traits.intersects(Traits::MOVE) && self.marked >> source & 1 == 1
            }
            Origin::BehindLoad => {
                traits.intersects(Traits::LOAD) || self.marked & prepared.rest.sources as u16 != 0
            }
            Origin::Prompt => return self.mark_prompt(prepared, prompt),
        };
        self.marked &= !prepared.first_results;
        self.marked |= if marks { prepared.first_results } else { 0 };
    }

    /// The same where [`Origin::Prompt`] matters. An eliminated move has what its source has.
    #[inline(always)]
    fn mark_prompt(&mut self, prepared: &Prepared, prompt: bool) {
        let Rest { sources, results, .. } = *prepared.rest;
        let moves = prepared.traits.intersects(Traits::MOVE) && !prepared.has_groups();
        let loaded = prepared.traits.intersects(Traits::LOADED) || moves && self.loaded & sources != 0;
        let general = prepared.register_file == RegisterFile::General;
        let prompt = general && (prompt || moves && self.prompt & sources != 0);
        self.loaded = self.loaded & !results | if loaded { results } else { 0 };
        self.prompt = self.prompt & !results | if prompt { results } else { 0 };
    }

    /// True if a load, which waits for its address, takes a port once more because a load has brought that.
    #[inline(always)]
    fn loads_again(&mut self, prepared: &Prepared) -> bool {
        let [among, again] = self.core.memory.dependent_loads;
        let is_loaded = |&register: &u8| register < 16 && self.marked >> register & 1 == 1;
        if among == 0 || !prepared.address_registers.iter().any(is_loaded) {
            return false;
        }
        self.dependent = (self.dependent + again) % among;
        self.dependent < again
    }

    /// True if the load of an instruction, which has these groups besides, takes a port once more because it is part of
    /// an operation, and the one before was not.
    #[inline(always)]
    pub(crate) fn mixes(&mut self, prepared: &Prepared, groups: &[Uops]) -> bool {
        let among = self.core.memory.mixed_loads;
        if among == 0 || prepared.traits.intersects(Traits::STORE) {
            return false;
        }
        let general = prepared.register_file == RegisterFile::General;
        let (count, plain) = self.mixed;
        self.mixed.1 = groups.is_empty() || plain && !general;
        if !plain || !general || groups.is_empty() {
            return false;
        }
        self.mixed.0 = (count + 1) % among;
        self.mixed.0 == 0
    }

    /// What the stack engine makes of an instruction.
    #[inline(always)]
    fn move_stack(&mut self, prepared: &Prepared, synchronises: bool) {
        if synchronises {
            self.stack_offset = 0;
        }
        self.stack_offset = self.stack_offset.saturating_add(prepared.stack_change.into());
        if prepared.stack_change != 0 && self.stack_offset.unsigned_abs() > STACK_OFFSET {
            // It has few bits, and begins anew.
            self.stack_offset = 0;
        }
    }

    /// No more uops are allocated in this cycle if the next one is from one line of code more than there can be.
    #[inline]
    fn limit_lines(&mut self, totals: &mut CoreTotals, line: u64) {
        let other = std::mem::replace(&mut self.line, line) != line;
        if other && self.back_end.is_within_cycle() && self.back_end.cycle() == self.lines_cycle {
            self.lines += 1;
            if self.lines > self.core.front_end.dispatched_lines {
                self.back_end.wait_for_supply(totals, self.back_end.cycle() + 1);
            }
        }
    }

    /// Supplies an instruction and allocates it; the cycle of its last uop.
    #[inline(always)]
    fn allocate<const QUIRKS: bool, const RARE: bool>(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        traits: Traits,
        place: &Place<'_>,
        [supplied, slots]: [u32; 2],
        [load_room, store_room, unit_room]: [u64; 3],
    ) -> u64 {
        let decoded = if traits.intersects(Traits::OWN_DECODER) { 0 } else { supplied };
        let limits_lines = QUIRKS && self.limits_lines;
        // It is in the line where it ends.
        let line = || (place.linear + u64::from(place.prepared.length().saturating_sub(1))) >> 6;
        if limits_lines && self.core.front_end.line_a_cycle {
            let line = line();
            let crosses = line != place.linear >> 6;
            if crosses || line != self.line {
                self.front_end.end_line(totals, crosses);
            }
        }
        let mut supplied = self.front_end.supply::<QUIRKS, RARE>(port, totals, traits, place, decoded);
        if RARE && traits.intersects(Traits::MICROCODED) {
            // The first uops of microcode are allocated while the others are being sequenced.
            let width = self.core.dispatch_width.max(self.core.front_end.microcode_width).max(1);
            supplied -= u64::from(decoded.saturating_sub(1) / width);
        }
        if limits_lines && slots > 0 {
            self.limit_lines(totals, line());
        }
        self.back_end.make_room(totals, slots, load_room, store_room, unit_room);
        if supplied > self.back_end.cycle() {
            if self.refilling {
                totals.clear_resteer_cycles += supplied - self.back_end.cycle();
            }
            self.back_end.wait_for_supply(totals, supplied);
        }
        self.refilling = false;
        let allocated = self.back_end.allocate::<QUIRKS>(totals, slots);
        if limits_lines && allocated != self.lines_cycle {
            (self.lines_cycle, self.lines) = (allocated, 1);
        }
        self.front_end.leave_queue(allocated);
        allocated
    }

    /// What few instructions need.
    fn rare(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        slots: u32,
        retired: u64,
    ) {
        let traits = prepared.traits;
        if traits.intersects(Traits::NOP) {
            totals.nops += 1;
        }
        if traits.intersects(Traits::HOLDING) {
            let cycles = u64::from(prepared.compute);
            if prepared.rest.pauses {
                totals.pauses += 1;
                totals.pause_cycles += cycles;
            }
            // From when it was allocated first.
            let passed = u64::from(slots.saturating_sub(1) / self.core.dispatch_width.max(1));
            self.back_end.serialised = (self.cycles() + cycles).saturating_sub(passed);
        }
        if traits.intersects(Traits::X87) {
            totals.x87_uops += u64::from(slots);
        }
        if traits.intersects(Traits::MICROCODED) {
            totals.ms_retired += u64::from(slots);
        }
        if traits.intersects(Traits::STRING) {
            totals.repetitions += execution.repetitions;
            self.back_end.wait_until(totals, retired);
        }
        if traits.intersects(Traits::LOCK) {
            totals.lock_loads += 1;
        }
        if traits.intersects(Traits::SERIALISING) {
            self.back_end.serialised = retired;
            if !traits.intersects(Traits::MICROCODED) {
                self.front_end.serialise();
            }
        }
        if traits.intersects(Traits::FENCE) {
            self.front_end.fence(totals, retired);
        }
        if traits.intersects(Traits::FLUSH) {
            port.flush_lines(execution.memory);
        }
        if traits.intersects(Traits::PREFETCH) {
            totals.software_prefetches[prepared.rest.prefetch as usize] += 1;
        }
    }

    /// Counts floating-point operations of the instruction that has retired last.
    #[inline(never)]
    fn count_floating_point(&mut self, totals: &mut CoreTotals, prepared: &Prepared) {
        let traits = prepared.traits;
        match (
            traits.intersects(Traits::FP_DOUBLE),
            traits.intersects(Traits::FP_SINGLE),
            traits.intersects(Traits::FP_PACKED),
        ) {
            (true, _, false) => totals.fp_scalar_double += prepared.rest.fp_count,
            (_, true, false) => totals.fp_scalar_single += prepared.rest.fp_count,
            (double, single, true) if double || single => {
                let total = match (double, prepared.rest.fp_width) {
                    (true, 64..) => &mut totals.fp_packed_double_512,
                    (true, 32..) => &mut totals.fp_packed_double_256,
                    (true, _) => &mut totals.fp_packed_double,
                    (false, 64..) => &mut totals.fp_packed_single_512,
                    (false, 32..) => &mut totals.fp_packed_single_256,
                    (false, _) => &mut totals.fp_packed_single,
                };
                *total += prepared.rest.fp_count;
            }
            _ => {}
        }
        for (total, count) in totals.flops.iter_mut().zip(prepared.rest.flops) {
            *total += u64::from(count);
        }
        self.back_end.pass_flops(totals, prepared.rest.flops);
    }

    /// A branch at `rip`, and what was predicted of it.
    fn branch(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        [rip, last]: [u64; 2],
        (branch, outcome): (&Branch, Outcome),
        completed: u64,
    ) {
        totals.count_branch(branch, outcome.mispredicted);
        port.branch(branch, outcome);
        if outcome.mispredicted {
            let prediction = &self.core.prediction;
            let recovered = completed + u64::from(prediction.recovery);
            self.restart(totals, completed, recovered, prediction.refill, Leaf::BranchMispredicts);
            return;
        }
        if branch.kind == BranchKind::Far {
            self.front_end.restart(totals, completed);
        } else if branch.taken {
            self.front_end.jump(totals, [rip, last], branch, outcome);
            let prediction = &self.core.prediction;
            let bubble = match branch.kind {
                BranchKind::DirectCall => prediction.call_bubble,
                BranchKind::IndirectCall => prediction.indirect_bubble + prediction.indirect_call_bubble,
                BranchKind::IndirectJump => prediction.indirect_bubble,
                _ => 0,
            };
            if bubble > 0 {
                self.front_end.bubble(totals, bubble);
            }
            if outcome.unknown {
                let cycles = self.core.prediction.unknown_branch;
                totals.baclears += 1;
                totals.unknown_branch_cycles += u64::from(cycles);
                self.front_end.redirect(totals, cycles);
            }
        } else {
            self.front_end.fall_through(totals, rip, branch, outcome);
        }
    }

    /// Everything younger than now is thrown away.
    fn restart(&mut self, totals: &mut CoreTotals, resolved: u64, recovered: u64, refill: u32, leaf: Leaf) {
        self.back_end.restart = Some(Restart { resolved, recovered, leaf });
        self.front_end.restart(totals, recovered + u64::from(refill));
        self.refilling = true;
    }

    /// A machine clear that becomes known at a cycle.
    fn clear(&mut self, totals: &mut CoreTotals, resolved: u64) {
        let refill = self.core.prediction.refill;
        let recovered = resolved + u64::from(self.core.flows.machine_clear.saturating_sub(refill));
        self.restart(totals, resolved, recovered, refill, Leaf::MachineClears);
    }

    /// Code that may be in the pipeline was written.
    pub(crate) fn code_written(&mut self, totals: &mut CoreTotals) {
        totals.machine_clears += 1;
        totals.code_clears += 1;
        let known = self.back_end.last_completed.max(self.cycles());
        self.clear(totals, known);
    }

    /// Delivery of an interrupt: everything younger is thrown away, then microcode runs alone.
    pub(crate) fn interrupt(&mut self, totals: &mut CoreTotals) {
        totals.interrupts += 1;
        let flows = &self.core.flows;
        self.flow(totals, flows.interrupt_uops, flows.interrupt_cycles);
        // The last uop counts as that of an instruction.
        totals.slots.light_operations += 1;
        totals.slots.heavy_operations -= 1;
    }

    /// A microcode assist: the same as an interrupt, but for no instruction's sake.
    pub(crate) fn assist(&mut self, totals: &mut CoreTotals, kind: Assist) {
        let flows = &self.core.flows;
        let uops = match kind {
            Assist::FloatingPoint => {
                totals.fp_assists += 1;
                flows.fp_assist_uops
            }
            Assist::PageTable => {
                totals.page_assists += 1;
                flows.page_assist_uops
            }
            Assist::PageFault => {
                totals.page_faults += 1;
                0
            }
        };
        if uops > 0 {
            self.flow(totals, uops, flows.assist_cycles);
        }
    }

    /// Everything is over, and the next instruction comes at `cycle` at the earliest.
    pub(crate) fn skip_to(&mut self, totals: &mut CoreTotals, cycle: u64) {
        self.back_end.skip_to(totals, cycle);
        self.front_end.restart(totals, self.cycles());
        self.fusible_end = u64::MAX;
        self.refilling = false;
    }

    /// Microcode of at least one uop, alone.
    fn flow(&mut self, totals: &mut CoreTotals, uops: u32, cycles: u32) {
        let uops = uops.max(1);
        self.back_end.drain(totals);
        self.back_end.make_room(totals, uops, 0, 0, 0);
        self.back_end.allocate::<true>(totals, uops);
        totals.slots.heavy_operations += u64::from(uops);
        totals.ms_retired += u64::from(uops);
        let done = self.back_end.cycle() + u64::from(cycles);
        self.back_end.microcode(totals, uops, done);
        self.back_end.serialised = done;
        self.front_end.restart(totals, done);
        self.fusible_end = u64::MAX;
    }
}

/// A set of registers as words, the lower half first.
fn words_of(registers: RegisterSet) -> [u64; 2] {
    [registers as u64, (registers >> 64) as u64]
}

/// The set of registers that these words are.
fn set_of([low, high]: [u64; 2]) -> RegisterSet {
    RegisterSet::from(high) << 64 | RegisterSet::from(low)
}

/// Words of an outline.
const OUTLINE: usize = 6;

impl Pipeline {
    /// A few words that are the same for the same state, and mostly different for others.
    pub(crate) fn outline(&mut self) -> [u64; OUTLINE] {
        let now = self.cycles();
        let [a, b, c, d, e] = self.back_end.outline(now);
        [self.end, a, b, c, d, e]
    }
}

impl Shaped for Pipeline {
    /// After [`BackEnd::settle`].
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        let flags = u64::from(self.store_fits) << 1 | u64::from(self.refilling);
        shape.extend([self.fusible_end, u64::from(self.fusible.bits()) << 2 | flags]);
        let mixed = u64::from(self.mixed.0) << 1 | u64::from(self.mixed.1);
        let length = mixed << 16 | u64::from(self.dependent) << 8 | u64::from(self.fusible_length);
        shape.push(length << 32 | u64::from(self.marked) << 16 | u64::from(self.stack_offset as u16));
        if self.limits_lines {
            // Those of an older cycle do not matter.
            let lines = if self.lines_cycle == now { self.lines } else { 0 };
            shape.extend([self.line, lines.into()]);
        }
        shape.extend(self.written.map(Written::word));
        if self.origin == Origin::Prompt {
            shape.extend([self.prompt, self.loaded].into_iter().flat_map(words_of));
        }
        if self.core.fuses_nops {
            shape.extend(self.host.map_or([u64::MAX, 0], |host| [host.end, host.nop.into()]));
        }
        self.front_end.save(now, shape)?;
        self.back_end.save(now, shape)
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        self.fusible_end = shape.next();
        let word = shape.next();
        self.fusible = Traits::from_bits_retain((word >> 2) as u32);
        (self.store_fits, self.refilling) = (word >> 1 & 1 == 1, word & 1 == 1);
        let word = shape.next();
        (self.dependent, self.fusible_length) = ((word >> 40) as u8, (word >> 32) as u8);
        self.mixed = ((word >> 49) as u8, word >> 48 & 1 == 1);
        (self.marked, self.stack_offset) = ((word >> 16) as u16, word as u16 as i16);
        if self.limits_lines {
            (self.line, self.lines) = (shape.next(), shape.next() as u8);
            self.lines_cycle = if self.lines > 0 { now } else { u64::MAX };
        }
        if let Some(written) = &mut self.written {
            *written = Written::from_word(shape.next());
        }
        if self.origin == Origin::Prompt {
            [self.prompt, self.loaded] = [(); 2].map(|()| set_of([shape.next(), shape.next()]));
        }
        if self.core.fuses_nops {
            let host = Host { end: shape.next(), nop: shape.next() as u8 };
            self.host = Some(host).filter(|host| host.end != u64::MAX);
        }
        self.front_end.restore(now, shape);
        self.back_end.restore(now, shape);
    }
}
