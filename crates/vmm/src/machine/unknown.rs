//! MSRs that a guest asks for and the machine does not have.

use super::exceptions::MsrAccess;
use serde::{Deserialize, Serialize};

/// MSRs that the machine does not have, for the report; bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownMsrs {
    /// In order of first access; at most 64.
    pub seen: Vec<UnknownMsr>,
    /// Accesses to other ones, for which there was no room.
    pub further_accesses: u64,
}

/// An MSR that the machine does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownMsr {
    /// MSR index.
    pub index: u32,
    /// Number of accesses.
    pub count: u64,
    /// The first access.
    pub first: MsrAccess,
    /// Address of its instruction, where the engine knows it.
    pub rip: Option<u64>,
}

impl UnknownMsrs {
    const MAX: usize = 64;

    pub(super) fn note(&mut self, access: MsrAccess, rip: Option<u64>) {
        let index = access.index();
        if let Some(known) = self.seen.iter_mut().find(|known| known.index == index) {
            known.count += 1;
        } else if self.seen.len() < Self::MAX {
            log::debug!("guest accessed unknown MSR {index:#x}: #GP");
            self.seen.push(UnknownMsr { index, count: 1, first: access, rip });
        } else {
            self.further_accesses += 1;
        }
    }
}
