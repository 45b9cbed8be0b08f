//! How much longer results take to some operations than to others.
//!
//! Golden Cove keeps with each register where its value was made. Measured on Raptor Cove (docs/silicon.md), in chains
//! whose other operands were made once, long before: an operation takes as much longer for all of its operands.

use crate::core::{Bypass, Core};
use crate::instruction::Prepared;
use crate::state::Words;
use crate::state::packed::{Packer, Unpacker};
use retire::{Domain, RegisterFile, RegisterSet};

pub(crate) use kind::Kind;

mod kind;

/// Where the values of registers were made.
#[derive(Debug, Clone)]
pub(super) struct Domains {
    bypass: Bypass,
    /// It matters of registers that are ready, too.
    keeps: bool,
    /// It matters of those that are not.
    crosses: bool,
    /// Vector registers by the domain of their value. On cores that keep it, a sum's are in both sets.
    integers: RegisterSet,
    floats: RegisterSet,
    /// General-purpose registers that renaming has added a constant to, which is to be added yet.
    pending: u16,
    /// The newest flags were made by logic.
    logic: bool,
}

impl Domains {
    pub(super) fn new(core: &Core) -> Self {
        let bypass = core.bypass;
        let keeps = matches!(bypass, Bypass::Kept { .. });
        let crosses = !keeps && bypass != Bypass::None;
        Self { bypass, keeps, crosses, integers: 0, floats: 0, pending: 0, logic: false }
    }

    /// The sources of an operation that take longer to it, and by how much; and whether it waits as long for the
    /// others.
    #[inline(always)]
    pub(super) fn late(&self, prepared: &Prepared) -> (RegisterSet, u64, bool) {
        if self.keeps {
            return if Kind::may_be_late(prepared) { self.late_of(prepared) } else { (0, 0, false) };
        }
        if !self.crosses || prepared.register_file != RegisterFile::Vector {
            return (0, 0, false);
        }
        let (late, cycles) = match (self.bypass, prepared.rest.domain) {
            (Bypass::Domains(cycles), Domain::Float | Domain::Sum) => (self.integers, cycles),
            (Bypass::Domains(cycles), Domain::Integer) => (self.floats, cycles),
            (Bypass::Sums(cycles), Domain::Float | Domain::Integer) => (self.floats, cycles),
            _ => (0, 0),
        };
        (late & prepared.rest.sources, cycles.into(), false)
    }

    fn late_of(&self, prepared: &Prepared) -> (RegisterSet, u64, bool) {
        let Self { integers, floats, pending, logic, .. } = *self;
        let (late, delay) = match Kind::of(prepared) {
            Kind::Float => (integers, 1),
            Kind::Integer => (floats, 1),
            Kind::Element => (integers & floats, 1),
            Kind::Shift if pending != 0 => (pending.into(), 2),
            Kind::Select if logic => (RegisterSet::MAX, 1),
            _ => return (0, 0, false),
        };
        (late & prepared.rest.sources, delay, true)
    }

    /// It shifts what a constant is to be added to yet, which another uop does: asked of operations that something is
    /// late for.
    pub(super) fn adds_constant(&self, prepared: &Prepared) -> bool {
        Kind::of(prepared) == Kind::Shift && self.keeps
    }

    /// Notes in which domain the results were made; a move of a whole register leaves them in that of its source.
    #[inline(always)]
    pub(super) fn note(&mut self, prepared: &Prepared) {
        if self.keeps {
            if Kind::makes_flags(prepared) {
                self.logic = Kind::of(prepared) == Kind::Logic;
            }
            let results = prepared.first_results;
            if Kind::is_noted(prepared) {
                match prepared.register_file {
                    RegisterFile::Vector => self.note_kept(prepared),
                    _ => self.pending |= results,
                }
            } else if self.pending != 0 {
                let moves = Kind::of(prepared) == Kind::Move;
                let inherits = moves && prepared.rest.sources & RegisterSet::from(self.pending) != 0;
                self.pending = self.pending & !results | if inherits { results } else { 0 };
            }
        } else if self.crosses && prepared.register_file == RegisterFile::Vector {
            let (domain, apart) = (prepared.rest.domain, matches!(self.bypass, Bypass::Sums(_)));
            let float = domain == Domain::Sum || domain == Domain::Float && !apart;
            self.note_vectors(prepared, [domain == Domain::Integer, float], domain == Domain::None);
        }
    }

    /// The same of vectors, on cores that keep it.
    #[inline(never)]
    fn note_kept(&mut self, prepared: &Prepared) {
        let kind = Kind::of(prepared);
        let sum = kind == Kind::Sum;
        let domains = [sum || kind == Kind::Integer, sum || kind == Kind::Float];
        self.note_vectors(prepared, domains, kind == Kind::Move);
    }

    fn note_vectors(&mut self, prepared: &Prepared, domains: [bool; 2], moves: bool) {
        let (sources, results) = (prepared.rest.sources, prepared.rest.results);
        for (set, here) in [&mut self.integers, &mut self.floats].into_iter().zip(domains) {
            let here = here || moves && *set & sources != 0;
            *set = *set & !results | if here { results } else { 0 };
        }
    }

    /// Saves the domain of a register that is not ready.
    #[inline(always)]
    pub(super) fn save_of(&self, register: usize, packer: &mut Packer<'_>) {
        if self.crosses {
            let [integer, float] = [self.integers, self.floats].map(|set| (set >> register & 1) as u64);
            packer.put(integer | float << 1, 2);
        }
    }

    pub(super) fn restore_of(&mut self, register: usize, unpacker: &mut Unpacker<'_, '_>) {
        if self.crosses {
            let domain = RegisterSet::from(unpacker.get(2));
            self.integers |= (domain & 1) << register;
            self.floats |= (domain >> 1) << register;
        }
    }

    /// Saves what matters of all registers.
    pub(super) fn save(&self, shape: &mut Vec<u64>) {
        if self.keeps {
            let Self { integers, floats, pending, logic, .. } = *self;
            // Most code has none of these.
            let vectors = integers | floats != 0;
            shape.push(u64::from(pending) | u64::from(logic) << 16 | u64::from(vectors) << 17);
            if vectors {
                let halves = |set: RegisterSet| [set as u64, (set >> 64) as u64];
                shape.extend([integers, floats].into_iter().flat_map(halves));
            }
        }
    }

    pub(super) fn restore(&mut self, shape: &mut Words<'_>) {
        (self.integers, self.floats) = (0, 0);
        if self.keeps {
            let word = shape.next();
            (self.pending, self.logic) = (word as u16, word >> 16 & 1 == 1);
            if word >> 17 & 1 == 1 {
                let mut set = || RegisterSet::from(shape.next()) | RegisterSet::from(shape.next()) << 64;
                (self.integers, self.floats) = (set(), set());
            }
        }
    }
}
