//! Loads whose value renaming has from an older store.
//!
//! Zen 3 has two mechanisms. One is about accesses relative to the stack pointer. The other one learns which loads read
//! from stores (AMD, "Security analysis of AMD predictive store forwarding"): measured are 24 loads that it knows, and
//! that no load is known of a loop with 28.

use crate::core::MemoryRenaming;

/// Times that a load has read from a store after which it is known to do so: estimate.
const KNOWN: u8 = 4;

/// How renaming can connect a load or a store with another access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Follow {
    /// Not at all.
    #[default]
    No,
    /// Only if it is known to read from a store, on cores that learn that.
    Access,
    /// Its address is relative to the stack pointer.
    Stack,
}

/// A store that a load reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Forwarder {
    /// How renaming can connect it with a load that begins where it begins.
    pub(crate) follow: Follow,
    /// Stores since.
    pub(crate) younger: u32,
    /// How often loads have read from stores to this place.
    pub(crate) reads: u8,
}

/// What is known of loads.
#[derive(Debug)]
pub(super) struct Connections {
    renaming: MemoryRenaming,
    /// Addresses of loads, the newest last, and how often they have read from a store.
    known: Vec<(u64, u8)>,
}

impl Connections {
    pub(super) fn new(renaming: MemoryRenaming) -> Self {
        Self { renaming, known: Vec::new() }
    }

    /// The load at an address reads from a store: true if renaming connects the two.
    pub(super) fn connects(&mut self, rip: u64, load: Follow, store: Forwarder) -> bool {
        match (self.renaming, load, store.follow) {
            (_, Follow::No, _) | (_, _, Follow::No) | (MemoryRenaming::None, ..) => false,
            (MemoryRenaming::Addressed { distance, .. }, ..) if store.younger >= distance => false,
            (MemoryRenaming::Plain, ..) | (_, Follow::Stack, Follow::Stack) => true,
            (MemoryRenaming::Addressed { loads, .. }, ..) => store.reads > KNOWN || self.is_known(rip, loads),
            (MemoryRenaming::Predicted { loads }, ..) => self.is_known(rip, loads),
        }
    }

    fn is_known(&mut self, rip: u64, loads: usize) -> bool {
        let place = self.known.iter().rposition(|&(load, _)| load == rip);
        let (_, times) = match place {
            Some(place) => self.known.remove(place),
            None => (rip, 0),
        };
        if self.known.len() >= loads.max(1) {
            self.known.remove(0);
        }
        self.known.push((rip, times.saturating_add(1)));
        times >= KNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(follow: Follow) -> Forwarder {
        Forwarder { follow, younger: 0, reads: 0 }
    }

    #[test]
    fn an_address_that_has_been_read_needs_no_load_that_is_known() {
        let mut connections = Connections::new(MemoryRenaming::Addressed { loads: 24, distance: 12 });
        let mut connects = |rip, younger, reads| {
            connections.connects(rip, Follow::Access, Forwarder { follow: Follow::Access, younger, reads })
        };
        assert!(connects(1, 11, KNOWN + 1));
        assert!(!connects(1, 12, KNOWN + 1));
        assert!(!connects(1, 0, 0));
        assert!((0..KNOWN).all(|_| !connects(2, 0, 0)) && connects(2, 0, 0));
    }

    #[test]
    fn a_loop_of_more_loads_than_are_known_has_none_that_is() {
        let renamed = |loads: u64| {
            let mut connections = Connections::new(MemoryRenaming::Predicted { loads: 24 });
            let mut access = |rip| connections.connects(rip, Follow::Access, store(Follow::Access));
            (0..10).for_each(|_| (0..loads).for_each(|rip| _ = access(rip)));
            (0..loads).filter(|&rip| access(rip)).count()
        };
        assert_eq!((renamed(1), renamed(24), renamed(25)), (1, 24, 0));
    }

    #[test]
    fn the_stack_needs_no_knowledge() {
        let mut connections = Connections::new(MemoryRenaming::Predicted { loads: 24 });
        assert!(connections.connects(1, Follow::Stack, store(Follow::Stack)));
        assert!(!connections.connects(2, Follow::Stack, store(Follow::Access)));
        assert!(!connections.connects(1, Follow::No, store(Follow::Stack)));
    }
}
