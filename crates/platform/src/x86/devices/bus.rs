//! What is special about the port bus: absent ports, and the record of who touched them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Accesses to ports that no device answers, for traces and for "why does my guest hang".
///
/// Bounded: only the first [`UnknownPorts::CAPACITY`] different ports are told apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownPorts {
    ports: BTreeMap<u16, PortAccesses>,
    others: PortAccesses,
}

/// How often a port was accessed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortAccesses {
    /// IN instructions (elements of string input count one each).
    pub reads: u64,
    /// OUT instructions.
    pub writes: u64,
}

impl UnknownPorts {
    /// How many different ports are told apart.
    pub const CAPACITY: usize = 256;

    /// Ports in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, PortAccesses)> + '_ {
        self.ports.iter().map(|(port, accesses)| (*port, *accesses))
    }

    /// Accesses to ports beyond the first [`Self::CAPACITY`].
    #[must_use]
    pub fn others(&self) -> PortAccesses {
        self.others
    }

    pub(super) fn record_read(&mut self, port: u16) {
        self.accesses(port).reads += 1;
    }

    pub(super) fn record_write(&mut self, port: u16) {
        self.accesses(port).writes += 1;
    }

    fn accesses(&mut self, port: u16) -> &mut PortAccesses {
        let full = self.ports.len() >= Self::CAPACITY;
        if full && !self.ports.contains_key(&port) {
            return &mut self.others;
        }
        self.ports.entry(port).or_default()
    }
}
