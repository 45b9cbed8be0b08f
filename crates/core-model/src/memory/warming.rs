//! Instructions that only leave their traces in caches and translations, for [sampling](crate::sampling).

use super::caches::Asker;
use super::system::{MemorySystem, crosses_line};
use super::translation::Purpose;
use crate::instruction::{Prepared, Traits};
use crate::totals::CoreTotals;
use retire::Block;

/// The code that was fetched last: page, line, and the piece that a line of the uop cache holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fetched {
    page: u64,
    line: u64,
    piece: u64,
}

impl Default for Fetched {
    fn default() -> Self {
        Self { page: u64::MAX, line: u64::MAX, piece: u64::MAX }
    }
}

impl MemorySystem {
    /// A block at about this cycle, of these instructions from its first one on.
    pub(crate) fn warm(
        &mut self,
        totals: &mut CoreTotals,
        fetched: &mut Fetched,
        instructions: &[Prepared],
        block: &Block<'_>,
        at: u64,
    ) {
        let Some(([first, ..], last)) = instructions.split_last().map(|(last, _)| (instructions, last))
        else {
            return;
        };
        self.warm_code(totals, fetched, block, u64::from(first.offset)..u64::from(last.offset), at);
        let mut newest = (u64::MAX, false);
        for access in block.memory {
            let purpose = if access.write { Purpose::Store } else { Purpose::Load };
            self.tlbs.translate(totals, purpose, access.linear, access.page, at);
            if access.uncached {
                continue;
            }
            let owner = instructions.get(usize::from(access.owner).wrapping_sub(block.first.into()));
            let traits = owner.map_or(Traits::default(), |owner| owner.traits);
            let line = access.physical >> 6;
            if traits.intersects(Traits::FLUSH) {
                self.caches.flush_line(line);
                continue;
            }
            if !access.write && !traits.intersects(Traits::STRING) {
                let offset = owner.map_or(0, |owner| owner.offset);
                self.caches.stride(totals, block.rip.wrapping_add(offset.into()), access.physical, at);
            }
            // A string instruction has many accesses to a line.
            if std::mem::replace(&mut newest, (line, access.write)) == (line, access.write) {
                continue;
            }
            let asker = if access.write { Asker::Store } else { Asker::Load };
            self.caches.access(totals, line, at, asker);
            if crosses_line(access) {
                self.caches.access(totals, line + 1, at, asker);
            }
        }
    }

    /// Code between two offsets, those of the first and the last instruction.
    #[inline]
    fn warm_code(
        &mut self,
        totals: &mut CoreTotals,
        fetched: &mut Fetched,
        block: &Block<'_>,
        offsets: std::ops::Range<u64>,
        at: u64,
    ) {
        let page = block.rip >> block.fetch_page.clamp(12, 30);
        if std::mem::replace(&mut fetched.page, page) != page {
            self.tlbs.translate(
                totals,
                Purpose::Fetch,
                block.rip.wrapping_add(offsets.start),
                block.fetch_page,
                at,
            );
        }
        let shift = self.code.piece_shift();
        let piece = |offset: u64| (block.fetch_pa + offset) >> shift;
        for piece in piece(offsets.start)..=piece(offsets.end) {
            if std::mem::replace(&mut fetched.piece, piece) == piece {
                continue;
            }
            let physical = piece << shift;
            let line = physical >> 6;
            if !self.code.has_uops(physical) && line != fetched.line {
                fetched.line = line;
                self.code.fetch(totals, line, (at, 0), &mut self.caches);
            }
        }
    }
}
