//! Notes the memory accesses of instructions.

use crate::bus::Bus;
use crate::context::Core;
use retire::MemoryAccess;
use soft_base::{Low, Place};

impl Core {
    /// Notes an access within a page.
    #[inline(always)]
    pub(crate) fn note_access<B: Bus>(&mut self, place: Place, size: usize, write: bool) {
        if B::OBSERVED && self.watch.on {
            self.note(place, size, write, false);
        }
    }

    /// Notes an access to RAM that had to be translated.
    pub(crate) fn note_walked<B: Bus>(&mut self, va: u64, address: u64, size: usize, write: bool) {
        let place = self.walked_place(va, address);
        self.note_access::<B>(place, size, write);
    }

    /// Notes an access to a device.
    pub(crate) fn note_device<B: Bus>(&mut self, va: u64, address: u64, size: usize, write: bool) {
        if B::OBSERVED && self.watch.on {
            self.note(self.walked_place(va, address), size, write, true);
        }
    }

    /// Where an operand is that was translated last.
    fn walked_place(&self, va: u64, physical: u64) -> Place {
        Place { linear: self.mmu.regime().untagged(va), physical, page: self.watch.page }
    }

    fn note(&mut self, place: Place, size: usize, write: bool, uncached: bool) {
        let Place { linear, physical, page } = place;
        let owner = self.position.index().low_u8();
        let size = size.low_u8();
        self.watch.accesses.push(MemoryAccess { linear, physical, size, page, owner, write, uncached });
    }
}
