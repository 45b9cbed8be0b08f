//! Memory disambiguation: which loads run ahead of older stores whose addresses are not known yet.

/// Counters of loads, by the low bits of their addresses.
const LOADS: usize = 256;
/// Executions without a conflict after which a load runs ahead of stores again: measured on Raptor Cove, 16 after a
/// conflict, 48 more if conflicts are frequent. Intel's patents US 7,590,825 and 8,549,263 have a saturating counter of
/// four bits for the former, and a watchdog for the latter.
const EXECUTIONS: u8 = 16;
const MORE_EXECUTIONS: u8 = 48;
/// Conflicts are frequent if the sum of so many for each, less the stores since, is more than `FREQUENT`. Measured on
/// Raptor Cove: not with one in 200 stores, always with one in 96, with two within 20 and not within 64.
const CONFLICT: u32 = 160;
const FREQUENT: u32 = 300;

/// Executions for which a load waits for older stores' addresses: those without a conflict, then more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Careful {
    executions: u8,
    more: u8,
}

#[derive(Debug)]
pub(super) struct Disambiguation {
    loads: Box<[Careful; LOADS]>,
    /// How frequently loads were too early, and how many stores there were before the newest one.
    conflicts: u32,
    newest: u32,
}

impl Disambiguation {
    pub(super) fn new() -> Self {
        Self { loads: Box::new([Careful::default(); LOADS]), conflicts: 0, newest: 0 }
    }

    /// True if the load at this address waits for the addresses of older stores, because it was too early not long
    /// ago.
    #[inline]
    pub(super) fn is_careful(&self, rip: u64) -> bool {
        self.loads[rip as usize % LOADS] != Careful::default()
    }

    /// The load at this address was too early, or would have been if it had not waited, after so many stores.
    pub(super) fn was_early(&mut self, rip: u64, stores: u32) {
        let careful = &mut self.loads[rip as usize % LOADS];
        let frequent = if *careful == Careful::default() {
            let since = stores.wrapping_sub(self.newest);
            self.conflicts = self.conflicts.saturating_sub(since) + CONFLICT;
            self.newest = stores;
            self.conflicts > FREQUENT
        } else {
            careful.more > 0
        };
        *careful = Careful { executions: EXECUTIONS, more: if frequent { MORE_EXECUTIONS } else { 0 } };
    }

    /// The load at this address, which waited, read from a store of which it would have known the address. While it
    /// has more to wait that counts as a conflict: measured, with one such load in four it never runs ahead again, with
    /// one in 32 it does.
    pub(super) fn was_dependent(&mut self, rip: u64) {
        let careful = &mut self.loads[rip as usize % LOADS];
        if careful.more > 0 {
            careful.executions = EXECUTIONS;
        }
    }

    /// The load at this address, which waited, read from no older store.
    pub(super) fn was_independent(&mut self, rip: u64) {
        let careful = &mut self.loads[rip as usize % LOADS];
        if careful.executions > 0 {
            careful.executions -= 1;
        } else {
            careful.more = careful.more.saturating_sub(1);
        }
    }
}
