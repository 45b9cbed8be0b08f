//! Loads whose value renaming has from an older store.
//!
//! Zen 3 has two mechanisms. One is about accesses relative to the stack pointer. The other one learns which loads read
//! from stores (AMD, "Security analysis of AMD predictive store forwarding"): measured are 24 loads that it knows, and
//! that no load is known of a loop with 28. Zen 4 and Zen 5 also connect accesses that are made of the same registers
//! and displacement, if these registers were not written in between: measured, on Zen 4 across up to 11 other stores.

use crate::core::MemoryRenaming;

/// Times that a load has read from a store after which it is known to do so: estimate.
const KNOWN: u8 = 4;

/// How renaming can connect a load or a store with another access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Follow(u8);

impl Follow {
    /// Not at all.
    pub(crate) const NO: Self = Self(0);
    /// Its address is relative to the stack pointer.
    pub(crate) const STACK: Self = Self(1);

    /// If it is known to read from a store, on cores that learn that, or its address is made of what the store's is
    /// made of: see [`retire::Encoding::expression`].
    pub(crate) fn access(expression: u8) -> Self {
        Self(expression.max(2))
    }
}

/// A store that a load reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Forwarder {
    /// How renaming can connect it with a load that begins where it begins.
    pub(crate) follow: Follow,
    /// Stores since.
    pub(crate) younger: u32,
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

    /// The load at an address reads from a store: true if renaming connects the two. `since`: stores since the
    /// registers of its address were written.
    pub(super) fn connects(&mut self, rip: u64, load: Follow, since: u8, store: Forwarder) -> bool {
        if load == Follow::NO || store.follow == Follow::NO {
            return false;
        }
        let stack = load == Follow::STACK && store.follow == Follow::STACK;
        match self.renaming {
            MemoryRenaming::None => false,
            MemoryRenaming::Plain => true,
            MemoryRenaming::Predicted { loads, distance, .. } => {
                let unchanged = store.younger < since.min(distance).into();
                stack || unchanged && load == store.follow || self.is_known(rip, loads)
            }
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
    use crate::core::RenamedAccesses;

    const ACCESS: Follow = Follow(2);

    fn store(follow: Follow, younger: u32) -> Forwarder {
        Forwarder { follow, younger }
    }

    fn predicted(distance: u8) -> Connections {
        let accesses = RenamedAccesses::Whole;
        Connections::new(MemoryRenaming::Predicted { accesses, loads: 24, distance })
    }

    #[test]
    fn a_loop_of_more_loads_than_are_known_has_none_that_is() {
        let renamed = |loads: u64| {
            let mut connections = predicted(0);
            let mut access = |rip| connections.connects(rip, ACCESS, 15, store(ACCESS, 0));
            (0..10).for_each(|_| (0..loads).for_each(|rip| _ = access(rip)));
            (0..loads).filter(|&rip| access(rip)).count()
        };
        assert_eq!((renamed(1), renamed(24), renamed(25)), (1, 24, 0));
    }

    #[test]
    fn the_stack_needs_no_knowledge() {
        let mut connections = predicted(0);
        let mut connects = |rip, load, follow| connections.connects(rip, load, 0, store(follow, 0));
        assert!(connects(1, Follow::STACK, Follow::STACK));
        assert!(!connects(2, Follow::STACK, ACCESS));
        assert!(!connects(1, Follow::NO, Follow::STACK));
    }

    #[test]
    fn the_same_registers_need_no_knowledge_while_they_are_unchanged() {
        let mut connections = predicted(12);
        let mut connects =
            |load, since, younger| connections.connects(1, load, since, store(ACCESS, younger));
        assert!(connects(ACCESS, 15, 11) && connects(ACCESS, 3, 2));
        assert!(!connects(ACCESS, 3, 3) && !connects(ACCESS, 15, 12));
        assert!(!connects(Follow::access(3), 15, 0));
    }
}
