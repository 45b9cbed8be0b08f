//! Instructions that only leave their traces in caches and translations, for [sampling](crate::sampling).

use super::caches::Asker;
use super::code::Room;
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
    /// What the line of the uop cache has room for, and where the code ended.
    room: Room,
    end: u64,
    /// The uop cache has that line.
    hit: bool,
}

impl Default for Fetched {
    fn default() -> Self {
        Self {
            page: u64::MAX,
            line: u64::MAX,
            piece: u64::MAX,
            room: Room::default(),
            end: u64::MAX,
            hit: false,
        }
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
        self.warm_page(totals, fetched, block, first.offset.into(), at);
        if let Some(room) = self.code.room() {
            self.warm_lines(totals, fetched, (instructions, room), block, at);
        } else {
            self.warm_pieces(totals, fetched, block, u64::from(first.offset)..u64::from(last.offset), at);
        }
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

    /// The page of code from an offset on.
    #[inline]
    fn warm_page(
        &mut self,
        totals: &mut CoreTotals,
        fetched: &mut Fetched,
        block: &Block<'_>,
        offset: u64,
        at: u64,
    ) {
        let page = block.rip >> block.fetch_page.clamp(12, 30);
        if std::mem::replace(&mut fetched.page, page) != page {
            self.tlbs.translate(totals, Purpose::Fetch, block.rip.wrapping_add(offset), block.fetch_page, at);
        }
    }

    /// Lines of the uop cache that begin where fetch comes to them, and have room for so many instructions.
    fn warm_lines(
        &mut self,
        totals: &mut CoreTotals,
        fetched: &mut Fetched,
        (instructions, room): (&[Prepared], u32),
        block: &Block<'_>,
        at: u64,
    ) {
        let shift = self.code.piece_shift();
        let mut before = Traits::default();
        for prepared in instructions {
            let physical = block.fetch_pa + u64::from(prepared.offset);
            let fused = before.fuses_with(prepared.traits) || prepared.slots == 0;
            let takes = [u32::from(!fused), prepared.constants().into()];
            before = prepared.traits;
            let piece = physical >> shift;
            let page = block.fetch_page.clamp(12, 30);
            let other_page = physical >> page != fetched.piece << shift >> page;
            if other_page || physical != fetched.end || fetched.room.is_full(takes) {
                fetched.room.open(room);
                self.warm_line(totals, fetched, physical, at);
            } else if piece != fetched.piece && !fetched.hit {
                self.warm_code(totals, fetched, physical, at);
            }
            fetched.piece = piece;
            fetched.room.fill(takes);
            fetched.end = physical + u64::from(prepared.length());
        }
    }

    /// The uop cache's line at an address, and that of the instruction cache if it has none.
    #[inline]
    fn warm_line(&mut self, totals: &mut CoreTotals, fetched: &mut Fetched, physical: u64, at: u64) {
        fetched.hit = self.code.has_uops(physical);
        if !fetched.hit {
            self.warm_code(totals, fetched, physical, at);
        }
    }

    /// The instruction cache's line of an address.
    #[inline]
    fn warm_code(&mut self, totals: &mut CoreTotals, fetched: &mut Fetched, physical: u64, at: u64) {
        let line = physical >> 6;
        if std::mem::replace(&mut fetched.line, line) != line {
            self.code.fetch(totals, line, (at, 0), &mut self.caches);
        }
    }

    /// Code between two offsets, those of the first and the last instruction.
    #[inline]
    fn warm_pieces(
        &mut self,
        totals: &mut CoreTotals,
        fetched: &mut Fetched,
        block: &Block<'_>,
        offsets: std::ops::Range<u64>,
        at: u64,
    ) {
        let shift = self.code.piece_shift();
        let piece = |offset: u64| (block.fetch_pa + offset) >> shift;
        for piece in piece(offsets.start)..=piece(offsets.end) {
            if std::mem::replace(&mut fetched.piece, piece) == piece {
                continue;
            }
            self.warm_line(totals, fetched, piece << shift, at);
        }
    }
}
