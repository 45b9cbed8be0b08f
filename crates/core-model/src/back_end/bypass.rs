//! How much longer results take to operations on vector registers of another domain.

use crate::core::{Bypass, Core};
use crate::instruction::Prepared;
use crate::state::Words;
use crate::state::packed::{Packer, Unpacker};
use retire::{Domain, RegisterFile, RegisterSet};

/// Cycles of an operation below which it is logic, with which the unit of products has nothing to do.
const PRODUCT: u16 = 3;

/// Vector registers by the domain that their value was made in. On cores that keep it, a sum's are in both sets.
#[derive(Debug, Clone)]
pub(super) struct Domains {
    bypass: Bypass,
    /// Units of operations on integers, on cores that keep domains: those that cannot go there move elements.
    integer_units: u32,
    integers: RegisterSet,
    floats: RegisterSet,
}

impl Domains {
    pub(super) fn new(core: &Core, integer_units: u32) -> Self {
        Self { bypass: core.bypass, integer_units, integers: 0, floats: 0 }
    }

    fn is_idle(&self, prepared: &Prepared) -> bool {
        self.bypass == Bypass::None || prepared.register_file != RegisterFile::Vector
    }

    /// The domain of an operation, on cores that keep it.
    fn kept(&self, prepared: &Prepared) -> Domain {
        let (_, _, operation) = prepared.split_groups();
        match prepared.rest.domain {
            Domain::Float if prepared.compute < PRODUCT => Domain::None,
            Domain::Integer if !operation.iter().any(|uops| uops.units & self.integer_units != 0) => {
                Domain::None
            }
            domain => domain,
        }
    }

    /// The sources of an operation that take longer to it, and by how much; and whether it waits as long for the
    /// others.
    #[inline(always)]
    pub(super) fn late(&self, prepared: &Prepared) -> (RegisterSet, u64, bool) {
        if self.is_idle(prepared) {
            return (0, 0, false);
        }
        let Self { integers, floats, .. } = *self;
        let (late, delay, all) = match (self.bypass, prepared.rest.domain) {
            (Bypass::Kept { .. }, _) => match self.kept(prepared) {
                Domain::Sum => return (0, 0, false),
                Domain::Float => (integers, 1, true),
                Domain::Integer => (floats, 1, true),
                Domain::None => (integers & floats, 1, true),
            },
            (Bypass::None, _) | (_, Domain::None) | (Bypass::Sums(_), Domain::Sum) => return (0, 0, false),
            (Bypass::Sums(cycles), _) => (floats, cycles, false),
            (Bypass::Domains(cycles), Domain::Float | Domain::Sum) => (integers, cycles, false),
            (Bypass::Domains(cycles), Domain::Integer) => (floats, cycles, false),
        };
        (late & prepared.rest.sources, delay.into(), all)
    }

    /// Notes in which domain the results were made; a move of a whole register leaves them in that of its source.
    #[inline(always)]
    pub(super) fn note(&mut self, prepared: &Prepared) {
        if self.is_idle(prepared) {
            return;
        }
        let (sources, results) = (prepared.rest.sources, prepared.rest.results);
        let (integer, float, moved) = match self.bypass {
            Bypass::Kept { .. } => {
                let domain = self.kept(prepared);
                let sum = domain == Domain::Sum;
                let moved = !prepared.has_groups();
                (sum || domain == Domain::Integer, sum || domain == Domain::Float, moved)
            }
            bypass => {
                let (domain, apart) = (prepared.rest.domain, matches!(bypass, Bypass::Sums(_)));
                let float = domain == Domain::Sum || domain == Domain::Float && !apart;
                (domain == Domain::Integer, float, domain == Domain::None)
            }
        };
        for (set, here) in [(&mut self.integers, integer), (&mut self.floats, float)] {
            let here = here || moved && *set & sources != 0;
            *set = *set & !results | if here { results } else { 0 };
        }
    }

    /// True if it matters of registers that are ready, too.
    fn keeps(&self) -> bool {
        matches!(self.bypass, Bypass::Kept { .. })
    }

    /// Saves the domain of a register that is not ready.
    pub(super) fn save_of(&self, register: usize, packer: &mut Packer<'_>) {
        if self.bypass != Bypass::None && !self.keeps() {
            let [integer, float] = [self.integers, self.floats].map(|set| (set >> register & 1) as u64);
            packer.put(integer | float << 1, 2);
        }
    }

    /// Saves what matters of all registers, for each word of them.
    pub(super) fn save(&self, shape: &mut Vec<u64>, words: usize) {
        if self.keeps() {
            for word in 0..words.min(2) {
                shape.extend([self.integers, self.floats].map(|set| (set >> (64 * word)) as u64));
            }
        }
    }

    pub(super) fn clear(&mut self) {
        (self.integers, self.floats) = (0, 0);
    }

    pub(super) fn restore_of(&mut self, register: usize, unpacker: &mut Unpacker<'_, '_>) {
        if self.bypass != Bypass::None && !self.keeps() {
            let domain = RegisterSet::from(unpacker.get(2));
            self.integers |= (domain & 1) << register;
            self.floats |= (domain >> 1) << register;
        }
    }

    /// Of what [`save`](Self::save) has saved.
    pub(super) fn restore(&mut self, shape: &mut Words<'_>, words: usize) {
        if self.keeps() {
            for word in 0..words.min(2) {
                for set in [&mut self.integers, &mut self.floats] {
                    *set |= RegisterSet::from(shape.next()) << (64 * word);
                }
            }
        }
    }
}
