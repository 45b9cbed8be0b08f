//! The pipeline's interface to memory: everything that depends on addresses and on all of the past.

use super::caches::Level;
use super::renaming::Follow;
use super::stores::StoreTimes;
use crate::core::Forwarding;
use crate::instruction::{Execution, Prepared};
use crate::predictor::Outcome;
use crate::totals::CoreTotals;
use bitflags::bitflags;
use retire::{Branch, MemoryAccess};

/// Fetch goes on in another piece of code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) linear: u64,
    pub(crate) physical: u64,
    /// Log2 of the size of its page.
    pub(crate) page: u8,
    pub(crate) at: u64,
    /// Page and line are others than before.
    pub(crate) new_page: bool,
    pub(crate) new_line: bool,
    /// Cycles until decoders can begin.
    pub(crate) switch: u64,
    /// How long before the line was asked for.
    pub(crate) ahead: u64,
    /// The decoders go on, whatever the uop cache has.
    pub(crate) decoded: bool,
    /// The entry of the uop cache goes on: none begins here.
    pub(crate) goes_on: bool,
}

/// What fetch met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entered {
    /// Cycles of a translation.
    pub(crate) translation: u64,
    /// The uop cache has the piece.
    pub(crate) hit: bool,
    /// Cycles until the line is there.
    pub(crate) wait: u64,
}

/// What a loaded value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A general-purpose register.
    Register,
    /// An operation of the instruction that loads it.
    Operand,
    /// One whose result is stored in its place.
    Update,
    /// A register of another kind.
    Vector,
}

impl Forwarding {
    pub(super) fn cycles(&self, destination: Destination) -> u64 {
        u64::from(match destination {
            Destination::Register => self.load,
            Destination::Operand => self.operand,
            Destination::Update => self.update,
            Destination::Vector => self.vector,
        })
    }
}

/// What an instruction loads with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loads {
    /// Cycles of a hit of the first level.
    pub(crate) latency: u16,
    pub(crate) lock: bool,
    pub(crate) destination: Destination,
    /// How renaming connects it with a store.
    pub(crate) follow: Follow,
    /// Stores since the registers of its address were written, at most 15, where that matters.
    pub(crate) since: u8,
    /// When the address is known and a port is free.
    pub(crate) issued: u64,
}

/// What the loads of an instruction met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// Cycles in addition to a hit of the first level.
    pub(crate) delay: u64,
    pub(crate) level: Level,
    pub(crate) flags: LoadFlags,
    /// Waited so long for the value of a store that it is forwarded from: that is no wait for memory.
    pub(crate) data: u64,
    /// How often it takes a port again, 15 at most.
    pub(crate) again: u8,
}

impl Loaded {
    pub(crate) const NOTHING: Self =
        Self { delay: 0, level: Level::L1, flags: LoadFlags::empty(), data: 0, again: 0 };

    #[inline(always)]
    pub(crate) fn is(&self, flag: LoadFlags) -> bool {
        self.flags.intersects(flag)
    }
}

bitflags! {
    /// What is so or not of the loads of an instruction.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct LoadFlags: u8 {
        /// There was one.
        const ANY = 1 << 0;
        /// Waited for a store, a translation or a device.
        const HELD = 1 << 1;
        /// Walked page tables.
        const WALKED = 1 << 2;
        /// A load was executed before the store that it reads from had its address.
        const EARLY = 1 << 3;
        /// Renaming has connected it with a store, whose value it has after `data` cycles.
        const RENAMED = 1 << 4;
        /// It takes a port twice, and its value does not wait for that: an older store did not have its address yet,
        /// or its value comes from a store.
        const TWICE = 1 << 5;
        /// Others read the same bank of the cache when it began: it takes a port again when it can.
        const CONFLICT = 1 << 6;
    }
}

/// What a store met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Another store of the same instruction follows.
    pub(crate) more: bool,
    /// The store buffer had room for one more in the cycle in which this one was allocated, so it has for the next.
    pub(crate) room: bool,
    /// It takes a unit of stores once more.
    pub(crate) twice: bool,
}

/// Who answers the pipeline. Cycles of an answer count from those of the question.
pub(crate) trait MemoryPort {
    fn enter(&mut self, totals: &mut CoreTotals, entry: &Entry) -> Entered;

    /// The loads of an instruction; `None` if it does not access memory.
    fn loads(&mut self, totals: &mut CoreTotals, execution: &Execution<'_>, loads: Loads) -> Option<Loaded>;

    /// Cycles from `at` on until the store buffer has room for another store.
    fn store_room(&mut self, at: u64) -> u64;

    /// Cycles from `at` on until all stores have reached the cache.
    fn drain(&mut self, at: u64) -> u64;

    /// A store of an instruction, by its number among them; `None` if there is none.
    fn store(
        &mut self,
        totals: &mut CoreTotals,
        execution: &Execution<'_>,
        index: u8,
        times: StoreTimes,
    ) -> Option<Stored>;

    /// No question: the uop cache cannot keep the piece of a branch at these addresses.
    fn bar(&mut self, linear: u64, physical: u64);

    /// No question: a branch, and what was predicted of it.
    fn branch(&mut self, branch: &Branch, outcome: Outcome);

    /// Flushes the lines of an instruction from all caches. This and what follows is not repeatable
    /// ([`Prepared::is_repeatable`]).
    fn flush_lines(&mut self, accesses: &[MemoryAccess]);

    /// A software prefetch.
    fn prefetch(&mut self, totals: &mut CoreTotals, prepared: &Prepared, execution: &Execution<'_>, at: u64);

    /// A repeated string instruction: its lines one after the other, overlapping as far as buffers allow. Its cycles,
    /// and the deepest level that it reached.
    fn string(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        issued: u64,
    ) -> (u64, Level);
}
