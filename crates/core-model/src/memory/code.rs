//! Caches of code: the uop cache by pieces, and the instruction cache by lines.

use super::caches::{Asker, Caches};
use crate::core::Core;
use crate::sets::Lines;
use crate::totals::CoreTotals;

/// Log2 of the bytes of windows that branches may not cross to be in the uop cache of some cores.
pub(crate) const BARRED_SHIFT: u32 = 5;

/// Lines of code on their way.
const FETCHES: usize = 8;

/// Instructions and constants that a line of the uop cache has room for yet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Room(pub(crate) [u32; 2]);

impl Room {
    /// Another line begins, with room for so many of each.
    pub(crate) fn open(&mut self, room: u32) {
        self.0 = [room; 2];
    }

    /// There is no room for so many.
    #[inline]
    pub(crate) fn is_full(self, more: [u32; 2]) -> bool {
        self.0[0] < more[0] || self.0[1] < more[1]
    }

    /// So many are in the line.
    #[inline]
    pub(crate) fn fill(&mut self, more: [u32; 2]) {
        self.0 = [0, 1].map(|n| self.0[n].saturating_sub(more[n]));
    }
}

#[derive(Debug)]
pub(crate) struct CodeCaches {
    uop_cache: Lines,
    icache: Lines,
    /// Lines that are on their way to the instruction cache, and when they come.
    fetches: [(u64, u64); FETCHES],
    next_fetch: usize,
    /// When the last of them comes.
    latest: u64,
    /// The line that came along with another one last, and has not been read.
    along: u64,
    piece_shift: u32,
    /// Instructions of a line of the uop cache, which begins where fetch came to it; 0: any number.
    instructions: u32,
    /// Cycles between lines, and when the next one can come.
    line_cycles: u64,
    next_line: u64,
}

impl CodeCaches {
    pub(crate) fn new(core: &Core) -> Self {
        let parameters = &core.front_end;
        Self {
            uop_cache: Lines::new(parameters.uop_cache),
            icache: Lines::new(parameters.icache),
            fetches: [(u64::MAX, 0); FETCHES],
            next_fetch: 0,
            latest: 0,
            along: u64::MAX,
            piece_shift: parameters.uop_cache_shift,
            instructions: parameters.uop_cache_instructions,
            line_cycles: parameters.line_cycles.into(),
            next_line: 0,
        }
    }

    /// Log2 of the bytes of code that a line of the uop cache holds.
    #[inline]
    pub(crate) fn piece_shift(&self) -> u32 {
        self.piece_shift
    }

    /// Instructions, and constants, that a line of the uop cache has room for, from where fetch came to it; `None`: any
    /// number, from wherever.
    #[inline]
    pub(crate) fn room(&self) -> Option<u32> {
        (self.instructions > 0).then_some(self.instructions)
    }

    /// True if the uop cache has the piece of code at an address, or the line of it that begins there; from now on it
    /// does.
    #[inline]
    pub(crate) fn has_uops(&mut self, physical: u64) -> bool {
        self.uop_cache.bring(self.key(physical))
    }

    #[inline]
    fn key(&self, physical: u64) -> u64 {
        // Above all bits of lines of the first 64 GiB.
        const START: u32 = 30;
        let within = if self.instructions > 0 { physical & ((1 << self.piece_shift) - 1) } else { 0 };
        physical >> self.piece_shift ^ within << START
    }

    /// Reads a line of code, for which was asked some cycles before; how long it takes.
    pub(crate) fn fetch(
        &mut self,
        totals: &mut CoreTotals,
        line: u64,
        (at, ahead): (u64, u64),
        caches: &mut Caches,
    ) -> u64 {
        let asked = at.saturating_sub(ahead);
        let arrival = if self.icache.bring(line) {
            totals.icache.hits += 1;
            if line == self.along {
                self.bring_along(totals, line + 1, asked, caches);
            }
            if at >= self.latest {
                return 0;
            }
            self.fetches.iter().find(|fetch| fetch.0 == line).map_or(0, |fetch| fetch.1)
        } else {
            totals.icache.misses += 1;
            let arrival = self.request(totals, line, asked, caches);
            self.bring_along(totals, line + 1, asked, caches);
            arrival
        };
        arrival.saturating_sub(at)
    }

    /// The line behind one that was missed, or that has come along itself.
    fn bring_along(&mut self, totals: &mut CoreTotals, line: u64, at: u64, caches: &mut Caches) {
        self.along = line;
        if !self.icache.contains(line) {
            self.icache.insert(line);
            self.request(totals, line, at, caches);
        }
    }

    /// Asks for a line that has a place already; when it comes.
    fn request(&mut self, totals: &mut CoreTotals, line: u64, at: u64, caches: &mut Caches) -> u64 {
        let at = at.max(self.next_line);
        self.next_line = at + self.line_cycles;
        let (_, arrival) = caches.second(totals, line, at, Asker::Fetch);
        self.fetches[self.next_fetch] = (line, arrival);
        self.next_fetch = (self.next_fetch + 1) % FETCHES;
        self.latest = self.latest.max(arrival);
        arrival
    }

    /// A line was written; true if it is code that may be in the pipeline.
    pub(crate) fn forget_line(&mut self, physical: u64) -> bool {
        if !self.icache.contains(physical >> 6) {
            return false;
        }
        self.icache.remove(physical >> 6);
        let first = physical >> 6 << 6;
        let step = if self.instructions > 0 { 1 } else { 1 << self.piece_shift };
        for start in (first..first + 64).step_by(step) {
            self.uop_cache.remove(self.key(start));
        }
        true
    }

    /// The uop cache does not have the window of an address any more.
    pub(crate) fn bar(&mut self, physical: u64) {
        let shift = BARRED_SHIFT.saturating_sub(self.piece_shift);
        let first = physical >> self.piece_shift >> shift << shift;
        for piece in first..first + (1 << shift) {
            self.uop_cache.remove(piece);
        }
    }

    pub(crate) fn flush(&mut self) {
        self.icache.clear();
        self.uop_cache.clear();
    }
}
