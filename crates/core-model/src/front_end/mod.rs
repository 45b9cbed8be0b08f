//! Supply of uops: uop cache, decoders, loop stream detector, microcode sequencer, instruction cache and TLB.

mod line;
mod pairs;
mod state;
mod two_ahead;

use crate::core::{Core, RestartedTargets};
use crate::instruction::{Prepared, Traits};
use crate::memory::{Entry, MemoryPort};
use crate::predictor::Outcome;
use crate::totals::CoreTotals;
use line::{ENTRIES, Line};
use pairs::Pairs;
use retire::{Branch, BranchKind};

/// Iterations after which a loop is known to be one.
const LOOP_ITERATIONS: u32 = 16;
/// Cycles by which instructions can be told apart ahead of the decoders: a queue of 25 (uiCA), 4 a cycle.
const AHEAD: u64 = 6;
/// Bytes of code, as a power of two, whose uops lines of the uop cache have together.
const WINDOW: u32 = 5;
/// Cycles after which it does not matter any more when a block was split: what is split next cannot be ahead of
/// decoding, in whatever cycle of a block of 16 instructions.
const SPLIT_LONG_AGO: u64 = AHEAD + 16;
/// Places for uops between front end and allocation: more than any core has.
const QUEUE: usize = 256;

/// Where an instruction is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) linear: u64,
    pub(crate) physical: u64,
    /// Log2 of the size of its page.
    pub(crate) page: u8,
    pub(crate) prepared: &'a Prepared,
}

/// Where uops come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    Decoders,
    UopCache,
    Loop,
}

#[derive(Debug)]
pub(crate) struct FrontEnd {
    core: &'static Core,
    path: Path,
    /// Piece of code that a line of the uop cache holds, and line of the instruction cache, that were used last.
    piece: u64,
    line: u64,
    page: u64,
    /// The cycle in which uops are supplied, what of it is used, and by which path.
    cycle: u64,
    used: u32,
    bytes: u32,
    /// Uops that the first decoder has made in this cycle beyond one.
    beyond: u32,
    /// The aligned block of code that was split into instructions last, when, and how many instructions ended there.
    block: u64,
    split: u64,
    split_count: u32,
    block_shift: u32,
    /// The last uop of this cycle has more constants than there is room for beside it.
    wide: bool,
    /// Entries of the uop cache that this cycle reads, where there is a limit.
    entries: u32,
    /// The line of code, where its uops make a difference.
    of_line: Line,
    /// The last cycle with uops of each path, and how many, to know when a run begins.
    before: [(u64, u32); 4],
    /// When the newest instructions left the queue, which has a place for so many.
    left: [u64; QUEUE],
    entered: usize,
    queue: usize,
    piece_shift: u32,
    /// Its lines have room for so many, or for any number.
    has_room_for_few: bool,
    width: u32,
    /// Taken branches among the uops of this cycle.
    taken: u32,
    /// Taken branches up to the last of which the decoders go on.
    decoded_branches: u8,
    /// They may end that before: an LFENCE was the reason.
    serialised: bool,
    /// The last windows of code had more uops than a line of the uop cache.
    takes_lines: [bool; 2],
    /// Cycles by which the branch predictor is ahead of the decoders.
    ahead: u64,
    /// When it has predicted the newest taken branch, and whether another one can go with that.
    predicted: u64,
    pairs: Pairs,
    /// Taken branches to come that the predictor takes longer for, since it has begun anew.
    restarted: u8,
    /// The taken branch that may close a loop: its address, target, iterations, and uops since the last one.
    loop_branch: u64,
    loop_target: u64,
    loop_count: u32,
    loop_uops: u32,
    /// What those were when the window of code was entered.
    window_from: u32,
    /// The branch of the last loop that was replayed: it is known from its first iteration on.
    replayed: u64,
}

impl FrontEnd {
    pub(crate) fn new(core: &'static Core) -> Self {
        let parameters = &core.front_end;
        Self {
            core,
            path: Path::Decoders,
            piece: u64::MAX,
            line: u64::MAX,
            page: u64::MAX,
            cycle: 0,
            used: 0,
            bytes: 0,
            beyond: 0,
            block: u64::MAX,
            split: 0,
            split_count: 0,
            block_shift: parameters.decode_bytes.max(1).ilog2(),
            wide: false,
            entries: 0,
            of_line: Line::default(),
            before: [(0, 0); 4],
            left: [0; QUEUE],
            entered: 0,
            queue: (parameters.queue.max(1) as usize).min(QUEUE),
            piece_shift: parameters.uop_cache_shift,
            has_room_for_few: parameters.uop_cache_instructions > 0,
            width: parameters.uop_cache_width,
            taken: 0,
            decoded_branches: 0,
            serialised: false,
            takes_lines: [false; 2],
            ahead: 0,
            predicted: 0,
            pairs: Pairs::begun(core.prediction.branch_cycles.pairing),
            restarted: 0,
            loop_branch: u64::MAX,
            loop_target: 0,
            loop_count: 0,
            loop_uops: 0,
            window_from: 0,
            replayed: u64::MAX,
        }
    }

    /// True if it has what few cores have: a uop cache whose lines have room for few instructions.
    pub(crate) fn has_quirks(&self) -> bool {
        self.has_room_for_few
    }

    /// Supplies an instruction, which has no [`Traits::RARE`] unless `RARE`; the cycle of its last uop.
    #[inline(always)]
    pub(crate) fn supply<const QUIRKS: bool, const RARE: bool>(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        traits: Traits,
        place: &Place<'_>,
        slots: u32,
    ) -> u64 {
        // The queue is full until the instruction that had this place has left.
        let room = self.left[self.entered.wrapping_sub(self.queue) % QUEUE];
        self.pass(totals, room);
        let takes = [slots.min(1), place.prepared.constants().into()];
        let full = QUIRKS && self.has_room_for_few && self.of_line.room.is_full(takes);
        if (place.physical >> self.piece_shift != self.piece || full) && self.path != Path::Loop {
            self.enter(port, totals, place, full);
        }
        if QUIRKS && self.has_room_for_few {
            self.of_line.room.fill(takes);
        }
        self.loop_uops += slots;
        if self.path == Path::Decoders || RARE && traits.intersects(Traits::MICROCODED) {
            self.make(totals, traits, place, slots);
        } else {
            let wide = traits.intersects(Traits::WIDE) && self.path == Path::UopCache;
            if self.used + slots + u32::from(wide) > self.width || self.wide {
                self.next_cycle(totals);
                self.wide = wide;
            } else {
                self.wide |= wide;
            }
            self.used += slots;
        }
        self.cycle
    }

    /// The next instruction ends in another line of code than the one before, or begins in another one than it ends
    /// in: predictions are for parts of a line, and an instruction comes with the line that it ends in.
    #[inline(never)]
    pub(crate) fn end_line(&mut self, totals: &mut CoreTotals, crosses: bool) {
        // Behind a taken branch the part has been predicted with it, but for the line in which fetch begins.
        if self.path == Path::UopCache && (crosses || self.piece != u64::MAX) {
            self.predict(totals, 1);
        }
    }

    /// Nothing comes before a cycle.
    #[inline(always)]
    fn pass(&mut self, totals: &mut CoreTotals, cycle: u64) {
        if cycle > self.cycle {
            self.skip_to(totals, cycle);
        }
    }

    fn next_cycle(&mut self, totals: &mut CoreTotals) {
        self.skip_to(totals, self.cycle + 1);
    }

    #[inline(never)]
    fn skip_to(&mut self, totals: &mut CoreTotals, cycle: u64) {
        self.end_cycle(totals);
        self.cycle = cycle;
    }

    #[inline(never)]
    fn make(&mut self, totals: &mut CoreTotals, traits: Traits, place: &Place<'_>, slots: u32) {
        if traits.intersects(Traits::MICROCODED) {
            self.sequence(totals, slots);
        } else {
            self.decode(totals, traits, place, slots);
        }
    }

    /// The instruction that was supplied has left the queue.
    #[inline(always)]
    pub(crate) fn leave_queue(&mut self, cycle: u64) {
        self.left[self.entered % QUEUE] = cycle;
        self.entered = self.entered.wrapping_add(1);
    }

    /// Another piece of code: from the uop cache or from the decoders.
    #[inline(never)]
    fn enter(&mut self, port: &mut impl MemoryPort, totals: &mut CoreTotals, place: &Place<'_>, full: bool) {
        let Place { linear, physical, page: page_size, .. } = *place;
        let page = linear >> page_size.clamp(12, 30);
        let line = physical >> 6;
        let switch = match self.path {
            Path::UopCache => self.core.front_end.decode_switch.into(),
            Path::Decoders | Path::Loop => 0,
        };
        let gave_way = self.decoded_branches > 0 && self.gives_way(physical);
        let begins = self.path != Path::Decoders || self.piece == u64::MAX;
        let other_piece = physical >> self.piece_shift != self.piece;
        // An entry goes on in the next line of the page.
        let goes_on = self.has_room_for_few && !full && self.piece != u64::MAX && page == self.page;
        if !goes_on {
            self.of_line.room.open(self.core.front_end.uop_cache_instructions);
        }
        let entry = Entry {
            linear,
            physical,
            page: page_size,
            at: self.cycle,
            new_page: page != self.page,
            new_line: line != self.line,
            switch,
            ahead: self.ahead,
            decoded: self.core.front_end.decodes_until_branch
                && (!begins && !gave_way || self.decoded_branches > 0),
            goes_on,
        };
        if self.piece != u64::MAX && self.piece << self.piece_shift >> 6 != line {
            let cycles = self.pairs.next_line();
            if cycles > 0 {
                self.predict(totals, cycles);
            }
        }
        self.piece = physical >> self.piece_shift;
        if goes_on && self.path == Path::UopCache {
            self.of_line.begin(self.cycle, false);
            return;
        }
        let entered = port.enter(totals, &entry);
        self.page = page;
        if entered.translation > 0 {
            let page_cycles = self.core.front_end.page_cycles;
            if page_cycles > 0 && entered.translation <= self.core.memory.stlb_latency.into() {
                let before = self.cycle;
                self.predict(totals, page_cycles.into());
                totals.itlb_stall_cycles += self.cycle - before;
            } else {
                totals.itlb_stall_cycles += entered.translation;
                self.stall(totals, entered.translation);
            }
        }
        if entered.hit {
            if self.has_room_for_few {
                if other_piece {
                    self.of_line.begin(self.cycle, self.taken > 0);
                }
                let comes = self.of_line.enter();
                self.pass(totals, comes);
                if self.entries == ENTRIES {
                    self.next_cycle(totals);
                }
                self.entries += 1;
            }
            if self.path == Path::Decoders {
                self.path = Path::UopCache;
                self.next_cycle(totals);
            }
            return;
        }
        totals.uop_cache_misses += 1;
        if self.path == Path::UopCache {
            totals.dsb_to_mite_cycles += switch;
            totals.dsb_to_mite_switches += 1;
            self.stall(totals, switch);
        }
        self.path = Path::Decoders;
        self.line = line;
        if entered.wait > 0 {
            totals.icache_stall_cycles += entered.wait;
            self.stall(totals, entered.wait);
        }
        if other_piece {
            // Prediction goes on while a line is awaited, and has more of a cycle than the decoders.
            self.ahead = (self.ahead + entered.wait + 1).min(self.core.front_end.run_ahead.into());
        }
        if begins {
            self.block = u64::MAX;
            self.split = self.split.max(self.cycle.saturating_sub(1));
        }
    }

    /// Ends that the decoders go on for some branches, at another piece of code: behind LFENCE, where nothing that they
    /// have made waits for allocation, and each of the last windows took one line of the uop cache. Whether it did.
    fn gives_way(&mut self, physical: u64) -> bool {
        if self.piece == u64::MAX {
            self.begin_windows();
            return false;
        }
        if self.piece << self.piece_shift >> WINDOW != physical >> WINDOW {
            let takes_lines = self.loop_uops.wrapping_sub(self.window_from) > self.width;
            self.takes_lines = [takes_lines, self.takes_lines[0]];
            self.window_from = self.loop_uops;
        }
        let decodes = self.path == Path::Decoders;
        let starves = self.left[self.entered.wrapping_sub(1) % QUEUE] <= self.cycle;
        let ends = decodes && starves && self.serialised && self.takes_lines == [false; 2];
        if ends {
            self.decoded_branches = 0;
        }
        ends
    }

    /// Nothing is known of the windows before this one.
    fn begin_windows(&mut self) {
        (self.window_from, self.takes_lines) = (self.loop_uops, [true; 2]);
    }

    #[inline]
    fn decode(&mut self, totals: &mut CoreTotals, traits: Traits, place: &Place<'_>, slots: u32) {
        let parameters = &self.core.front_end;
        if traits.intersects(Traits::LENGTH_CHANGING) {
            totals.length_changing_prefixes += 1;
            self.stall(totals, parameters.length_changing_prefix.into());
        }
        if parameters.predecode_width > 0 {
            let split = self.split(parameters.predecode_width, place);
            self.pass(totals, split);
        }
        // What has been split takes no room among the bytes of a cycle.
        let bytes = if parameters.predecode_width > 0 { 0 } else { u32::from(place.prepared.length()) };
        let complex = slots > parameters.simple_uops && self.used > 0;
        if complex
            || self.used.saturating_sub(self.beyond) >= parameters.decode_width
            || self.used + slots > parameters.decode_uops
            || self.bytes + bytes > parameters.decode_bytes
        {
            self.next_cycle(totals);
        }
        if self.used == 0 {
            totals.first_decoder_uops += u64::from(slots);
            self.beyond = slots.saturating_sub(1);
        }
        self.used += slots;
        self.bytes += bytes;
    }

    /// When an instruction can be decoded: an aligned block of code is split into the instructions that end there in a
    /// cycle, or in more if it has more than `width` of them. One that goes on in the next block takes a place in that,
    /// but it takes a cycle of this one as well if its opcode is here, and none of the `width` is left (uiCA).
    fn split(&mut self, width: u32, place: &Place<'_>) -> u64 {
        let Place { linear, prepared, .. } = *place;
        let (length, opcode) = (prepared.length(), prepared.opcode());
        let block = (linear + u64::from(length) - 1) >> self.block_shift;
        if block != self.block {
            if self.split_count == width && (linear + u64::from(opcode)) >> self.block_shift == self.block {
                self.split += 1;
            }
            self.block = block;
            self.split = (self.split + 1).max(self.cycle.saturating_sub(AHEAD));
            self.split_count = 0;
        }
        if self.split_count == width {
            self.split += 1;
            self.split_count = 0;
        }
        self.split_count += 1;
        self.split
    }

    /// Books microcode that takes no time of its own.
    pub(crate) fn sequence_along(&mut self, totals: &mut CoreTotals, slots: u32) {
        let width = self.core.front_end.microcode_width.max(1);
        let mut before = 0;
        if slots / width > 0 {
            totals.ms_uops.book_run(width, (slots / width).into(), &mut before);
        }
        if !slots.is_multiple_of(width) {
            totals.ms_uops.book_run(slots % width, 1, &mut before);
        }
    }

    /// Microcode.
    fn sequence(&mut self, totals: &mut CoreTotals, slots: u32) {
        let parameters = &self.core.front_end;
        self.stall(totals, parameters.microcode_switch.into());
        let cycles = u64::from(slots.div_ceil(parameters.microcode_width.max(1)));
        let full = slots / parameters.microcode_width.max(1);
        let rest = slots % parameters.microcode_width.max(1);
        let ms = &mut totals.ms_uops;
        let (mut before, gap) = (self.before[3].1, self.before[3].0);
        if gap + 1 < self.cycle {
            before = 0;
        }
        if full > 0 {
            ms.book_run(parameters.microcode_width, full.into(), &mut before);
        }
        if rest > 0 {
            ms.book_run(rest, 1, &mut before);
        }
        self.cycle += cycles;
        self.before[3] = (self.cycle, before);
    }

    /// Nothing is supplied for some cycles.
    fn stall(&mut self, totals: &mut CoreTotals, cycles: u64) {
        self.skip_to(totals, self.cycle + cycles);
    }

    /// Books the uops of the cycle that is over.
    #[inline]
    fn end_cycle(&mut self, totals: &mut CoreTotals) {
        self.taken = 0;
        if self.used == 0 {
            return;
        }
        let (index, what) = match self.path {
            Path::Decoders => (0, &mut totals.mite_uops),
            Path::UopCache => (1, &mut totals.dsb_uops),
            Path::Loop => (2, &mut totals.lsd_uops),
        };
        let (cycle, count) = self.before[index];
        let before = if cycle + 1 == self.cycle { count } else { 0 };
        what.book(self.used, 1, before);
        self.before[index] = (self.cycle, self.used);
        self.used = 0;
        self.bytes = 0;
        self.entries = 0;
        self.wide = false;
    }

    /// A taken branch, by the addresses of its first and last bytes, that was predicted rightly: what comes next is
    /// somewhere else.
    #[inline]
    pub(crate) fn jump(
        &mut self,
        totals: &mut CoreTotals,
        [rip, last]: [u64; 2],
        branch: &Branch,
        outcome: Outcome,
    ) {
        let target = branch.target;
        // A loop with calls or returns is not replayed (optimisation manual, "Loop Stream Detector").
        let loops = matches!(branch.kind, BranchKind::Conditional | BranchKind::DirectJump);
        let again = loops && rip == self.loop_branch && target == self.loop_target;
        if again {
            self.loop_count = (self.loop_count + 1).min(LOOP_ITERATIONS);
            if self.path == Path::Loop {
                // Iterations follow each other without a gap, but in cycles of their own.
                self.loop_uops = 0;
                if self.taken > 0 {
                    self.next_cycle(totals);
                }
                self.taken = 1;
                return;
            }
            let fits = self.loop_uops <= self.core.front_end.queue;
            let known = self.loop_count >= LOOP_ITERATIONS || rip == self.replayed;
            if self.core.front_end.loop_stream && fits && known {
                self.replayed = rip;
                self.next_cycle(totals);
                self.path = Path::Loop;
            }
        } else {
            self.loop_count = 0;
            self.loop_branch = rip;
            self.loop_target = target;
            self.leave_loop(totals);
        }
        self.loop_uops = 0;
        self.piece = u64::MAX;
        self.line = u64::MAX;
        self.decoded_branches = self.decoded_branches.saturating_sub(1);
        if self.has_room_for_few && self.path == Path::UopCache {
            self.pass(totals, self.of_line.end());
        }
        if self.used > 0 {
            self.taken += 1;
            // The next iteration of a loop may begin in another cycle.
            let loops = branch.kind == BranchKind::Conditional && self.core.prediction.loop_branches_alone;
            let alone = again && (self.has_room_for_few || loops);
            if self.taken >= self.core.prediction.taken_branches || self.path == Path::Decoders || alone {
                self.next_cycle(totals);
            }
        }
        let prediction = &self.core.prediction;
        let cycles =
            if outcome.slow { prediction.slow_target + 1 } else { u32::from(prediction.taken_branches == 1) };
        let crosses = if rip >> 6 != last >> 6 { self.pairs.crosses() } else { 0 };
        let of_kind = crosses
            + self.pairs.cycles(
                &prediction.branch_cycles,
                branch.kind,
                outcome.overridden,
                rip >> 6 == target >> 6,
            );
        let restarted = if self.restarted > 0 { prediction.restarted_targets.cycles.into() } else { 0 };
        self.restarted = self.restarted.saturating_sub(1);
        self.predict(totals, cycles.max(of_kind).max(restarted) + self.late_direction(branch.kind, outcome));
    }

    /// Cycles that the predictor takes besides for a direction that its fast part has wrong.
    fn late_direction(&self, kind: BranchKind, outcome: Outcome) -> u32 {
        let late = kind == BranchKind::Conditional && outcome.overridden;
        if late { self.core.prediction.overridden_directions.cycles } else { 0 }
    }

    /// The predictor takes some cycles for a taken branch, and fetch waits for it if it is not ahead: measured on
    /// Granite Rapids (docs/silicon.md).
    fn predict(&mut self, totals: &mut CoreTotals, cycles: u32) {
        let lead = u64::from(self.core.prediction.lead.min(self.core.front_end.run_ahead));
        let begun = self.predicted.max(self.cycle.saturating_sub(lead + 1));
        self.predicted = (begun + u64::from(cycles)).max(self.cycle.saturating_sub(lead));
        if self.predicted > self.cycle {
            self.stall(totals, self.predicted - self.cycle);
        }
    }

    /// A branch that was not taken ends its loop.
    #[inline]
    pub(crate) fn fall_through(
        &mut self,
        totals: &mut CoreTotals,
        rip: u64,
        branch: &Branch,
        outcome: Outcome,
    ) {
        if outcome.passed {
            self.pairs.pass();
        }
        let cycles = self.late_direction(branch.kind, outcome);
        if cycles > 0 {
            self.predict(totals, cycles);
        }
        if rip == self.loop_branch {
            self.loop_count = 0;
            self.leave_loop(totals);
        }
    }

    fn leave_loop(&mut self, totals: &mut CoreTotals) {
        if self.path == Path::Loop {
            self.end_cycle(totals);
            self.path = Path::UopCache;
            self.piece = u64::MAX;
        }
    }

    /// Prediction and fetch lose cycles.
    pub(crate) fn bubble(&mut self, totals: &mut CoreTotals, cycles: u32) {
        self.stall(totals, cycles.into());
        self.predicted += u64::from(cycles);
    }

    /// A fence of all memory, until a cycle: fetch begins anew behind it, and decoders take over for some branches.
    pub(crate) fn fence(&mut self, totals: &mut CoreTotals, cycle: u64) {
        if self.core.front_end.fence_branches > 0 {
            self.restart(totals, cycle);
            self.serialise();
            self.serialised = false;
        }
    }

    /// An instruction that others wait for (LFENCE): decoders take over for some branches, or until they fall behind.
    pub(crate) fn serialise(&mut self) {
        self.serialised |= self.decoded_branches == 0;
        self.decoded_branches = self.core.front_end.fence_branches;
        self.begin_windows();
    }

    /// Decoders redirect fetch, which loses cycles.
    pub(crate) fn redirect(&mut self, totals: &mut CoreTotals, cycles: u32) {
        self.stall(totals, cycles.into());
        self.predict_anew();
    }

    fn predict_anew(&mut self) {
        self.ahead = 0;
        let prediction = &self.core.prediction;
        self.pairs = Pairs::begun(prediction.branch_cycles.pairing);
        let RestartedTargets { count, ahead, .. } = prediction.restarted_targets;
        self.restarted = count;
        self.predicted = self.cycle.saturating_sub(ahead.into());
    }

    /// Everything that was fetched is thrown away, and supply begins again at `cycle`.
    pub(crate) fn restart(&mut self, totals: &mut CoreTotals, cycle: u64) {
        self.end_cycle(totals);
        self.leave_loop(totals);
        self.loop_count = 0;
        self.loop_branch = u64::MAX;
        self.piece = u64::MAX;
        self.line = u64::MAX;
        self.cycle = self.cycle.max(cycle);
        self.predict_anew();
    }

    /// Translations have changed.
    pub(crate) fn forget_page(&mut self) {
        self.page = u64::MAX;
        self.piece = u64::MAX;
    }

    /// A line of code may have changed.
    pub(crate) fn forget_line(&mut self) {
        self.piece = u64::MAX;
        self.line = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Shaped, Words};
    use crate::{RAPTOR_COVE, SKYLAKE_SP, ZEN4, ZEN5};

    /// They are different states, and the first one restored from the second one is as that; gives it.
    fn other_state(mut one: FrontEnd, other: &FrontEnd) -> FrontEnd {
        let shape = |front_end: &FrontEnd| {
            let mut shape = Vec::new();
            front_end.save(100, &mut shape).map(|()| shape)
        };
        let saved = shape(other);
        assert!(saved.is_some());
        assert_ne!(shape(&one), saved);
        one.restore(100, &mut Words::new(&saved.clone().unwrap_or_default()));
        assert_eq!(shape(&one), saved);
        one
    }

    #[test]
    fn a_jump_that_may_have_another_one_with_it_is_another_state() {
        let branches = &ZEN5.prediction.branch_cycles;
        let [mut one, mut two] = [FrontEnd::new(&ZEN5), FrontEnd::new(&ZEN5)];
        one.pairs.cycles(branches, BranchKind::IndirectJump, false, false);
        two.pairs.cycles(branches, BranchKind::IndirectJump, false, false);
        two.pairs.cycles(branches, BranchKind::DirectJump, false, false);
        assert_eq!(other_state(one, &two).pairs, two.pairs);
    }

    /// Raptor Cove: direct branches in a row.
    #[test]
    fn a_row_of_branches_is_another_state() {
        let mut totals = CoreTotals::default();
        let jump = Branch { kind: BranchKind::DirectJump, taken: true, target: 0x2000 };
        let jumped = |count: u64| {
            let mut front_end = FrontEnd::new(&RAPTOR_COVE);
            for n in 0..count {
                front_end.jump(&mut totals, [0x1000 + n * 64; 2], &jump, Outcome::default());
            }
            front_end
        };
        let [mut one, two] = [1, 2].map(jumped);
        // Where they are otherwise the same.
        (one.cycle, one.predicted, one.restarted) = (two.cycle, two.predicted, two.restarted);
        assert_eq!(other_state(one, &two).pairs, two.pairs);
    }

    /// A jump whose last byte is in the next line takes a cycle more.
    #[test]
    fn a_jump_across_lines_is_the_end_of_a_line_too() {
        let mut totals = CoreTotals::default();
        let jump = Branch { kind: BranchKind::IndirectJump, taken: true, target: 0x2000 };
        let mut cycles = |last: u64| {
            let mut front_end = FrontEnd::new(&RAPTOR_COVE);
            for _ in 0..100 {
                front_end.jump(&mut totals, [0x103F, last], &jump, Outcome::default());
            }
            front_end.cycle
        };
        let [within, across] = [0x103F, 0x1040].map(&mut cycles);
        assert!((195..=205).contains(&within), "{within}");
        assert!((295..=305).contains(&across), "{across}");
    }

    #[test]
    fn a_branch_that_was_not_taken_is_another_state() {
        let mut totals = CoreTotals::default();
        let [one, mut two] = [FrontEnd::new(&ZEN5), FrontEnd::new(&ZEN5)];
        let branch = Branch { kind: BranchKind::Conditional, taken: false, target: 0x2000 };
        two.fall_through(&mut totals, 0x1000, &branch, Outcome { passed: true, ..Outcome::default() });
        assert_eq!(other_state(one, &two).pairs, two.pairs);
    }

    /// Measured on Zen 4: two jumps behind a misprediction come five cycles later than code without a jump.
    #[test]
    fn the_first_targets_behind_a_misprediction_come_late() {
        let mut totals = CoreTotals::default();
        let outcome = Outcome::default();
        let jump = Branch { kind: BranchKind::DirectJump, taken: true, target: 0x2000 };
        let mut late = [(); 2].map(|()| FrontEnd::new(&ZEN4));
        let [one, two] = &mut late;
        one.restart(&mut totals, 100);
        two.restart(&mut totals, 100);
        let mut arrivals = [0; 4];
        for arrival in &mut arrivals {
            two.jump(&mut totals, [0x1000, 0x1001], &jump, outcome);
            *arrival = two.cycle;
        }
        assert_eq!(arrivals, [102, 105, 106, 107]);
        let [one, two] = late;
        assert_eq!(other_state(two, &one).restarted, 2);
    }

    #[test]
    fn entries_that_were_read_are_another_state() {
        let [one, mut cycle, mut line] = [(); 3].map(|()| FrontEnd::new(&ZEN5));
        cycle.entries = 1;
        assert_eq!(other_state(one, &cycle).entries, 1);
        line.of_line.enter();
        line.of_line.enter();
        assert_eq!(other_state(cycle, &line).of_line.enter(), line.of_line.enter());
    }

    #[test]
    fn what_is_behind_a_fence_is_another_state() {
        let mut totals = CoreTotals::default();
        let [mut begun, mut fenced] = [FrontEnd::new(&SKYLAKE_SP), FrontEnd::new(&SKYLAKE_SP)];
        begun.restart(&mut totals, 100);
        fenced.fence(&mut totals, 100);
        let other = other_state(begun, &fenced);
        assert_eq!(other.decoded_branches, fenced.decoded_branches);
        let [mut serialised, mut lines, mut uops] = [(); 3].map(|()| FrontEnd::new(&SKYLAKE_SP));
        for one in [&mut serialised, &mut lines, &mut uops] {
            one.serialise();
        }
        let serialised = other_state(other, &serialised);
        assert!(serialised.serialised);
        lines.takes_lines = [true, false];
        let lines = other_state(serialised, &lines);
        assert_eq!(lines.takes_lines, [true, false]);
        uops.loop_uops = 3;
        let uops = other_state(lines, &uops);
        assert_eq!(uops.loop_uops.wrapping_sub(uops.window_from), 3);
    }

    /// Where code was split into instructions matters to the decoders, and for a few cycles.
    #[test]
    fn code_that_was_split_long_ago_leaves_no_trace() {
        const NOW: u64 = 1 << 40;
        let front_end =
            |path, ago: u64| FrontEnd { cycle: NOW, path, split: NOW - ago, ..FrontEnd::new(&SKYLAKE_SP) };
        let saved = |path, ago| {
            let mut shape = Vec::new();
            front_end(path, ago).save(NOW, &mut shape).map(|()| shape)
        };
        for path in [Path::Decoders, Path::UopCache] {
            assert!(saved(path, NOW).is_some());
            assert_eq!(saved(path, 100), saved(path, NOW));
        }
        let mut decoding = front_end(Path::Decoders, 1);
        decoding.beyond = 2;
        let mut shape = Vec::new();
        assert!(decoding.save(NOW, &mut shape).is_some());
        let mut restored = front_end(Path::Decoders, 1);
        restored.restore(NOW, &mut Words::new(&shape));
        assert_eq!(restored.beyond, 2);
        decoding.restore(NOW, &mut Words::new(&saved(Path::Decoders, 2).unwrap_or_default()));
        assert_eq!(decoding.split, NOW - 2);
    }
}
