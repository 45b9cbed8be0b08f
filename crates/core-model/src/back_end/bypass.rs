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
        Self { bypass: core.bypass, integers: 0, floats: 0, pending: 0, logic: false }
    }

    /// True if it matters of registers that are ready, too.
    fn keeps(&self) -> bool {
        matches!(self.bypass, Bypass::Kept { .. })
    }

    /// The sources of an operation that take longer to it, and by how much; and whether it waits as long for the
    /// others.
    #[inline(always)]
    pub(super) fn late(&self, prepared: &Prepared) -> (RegisterSet, u64, bool) {
        match self.bypass {
            Bypass::None => (0, 0, false),
            Bypass::Kept { .. } if !Kind::may_be_late(prepared) => (0, 0, false),
            Bypass::Kept { .. } => self.late_of(Kind::of(prepared), prepared),
            _ if prepared.register_file != RegisterFile::Vector => (0, 0, false),
            bypass => {
                let (late, cycles) = match (bypass, prepared.rest.domain) {
                    (Bypass::Domains(cycles), Domain::Float | Domain::Sum) => (self.integers, cycles),
                    (Bypass::Domains(cycles), Domain::Integer) => (self.floats, cycles),
                    (Bypass::Sums(cycles), Domain::Float | Domain::Integer) => (self.floats, cycles),
                    _ => (0, 0),
                };
                (late & prepared.rest.sources, cycles.into(), false)
            }
        }
    }

    fn late_of(&self, kind: Kind, prepared: &Prepared) -> (RegisterSet, u64, bool) {
        let Self { integers, floats, pending, logic, .. } = *self;
        let (late, delay) = match kind {
            Kind::Float => (integers, 1),
            Kind::Integer => (floats, 1),
            Kind::Element => (integers & floats, 1),
            Kind::Shift => (pending.into(), 2),
            Kind::Select => (if logic { RegisterSet::MAX } else { 0 }, 1),
            Kind::Sum | Kind::Logic | Kind::Constant | Kind::Move | Kind::Other => (0, 0),
        };
        (late & prepared.rest.sources, delay, true)
    }

    /// It shifts what a constant is to be added to yet, which another uop does.
    #[inline(always)]
    pub(super) fn adds_constant(&self, prepared: &Prepared) -> bool {
        self.pending != 0
            && Kind::may_be_late(prepared)
            && Kind::of(prepared) == Kind::Shift
            && RegisterSet::from(self.pending) & prepared.rest.sources != 0
    }

    /// Notes in which domain the results were made; a move of a whole register leaves them in that of its source.
    #[inline(always)]
    pub(super) fn note(&mut self, prepared: &Prepared) {
        match self.bypass {
            Bypass::None => {}
            Bypass::Kept { .. } => self.note_kind(prepared),
            bypass if prepared.register_file == RegisterFile::Vector => {
                let (domain, apart) = (prepared.rest.domain, matches!(bypass, Bypass::Sums(_)));
                let float = domain == Domain::Sum || domain == Domain::Float && !apart;
                self.note_vectors(prepared, [domain == Domain::Integer, float], domain == Domain::None);
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn note_kind(&mut self, prepared: &Prepared) {
        let kind = Kind::of(prepared);
        if prepared.register_file == RegisterFile::Vector {
            let sum = kind == Kind::Sum;
            let domains = [sum || kind == Kind::Integer, sum || kind == Kind::Float];
            self.note_vectors(prepared, domains, kind == Kind::Move);
            return;
        }
        if Kind::makes_flags(prepared) {
            self.logic = kind == Kind::Logic;
        }
        if self.pending != 0 || kind == Kind::Constant {
            let inherits = kind == Kind::Move && prepared.rest.sources & RegisterSet::from(self.pending) != 0;
            let has = kind == Kind::Constant || inherits;
            self.pending =
                self.pending & !prepared.first_results | if has { prepared.first_results } else { 0 };
        }
    }

    #[inline(never)]
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
        if self.bypass != Bypass::None && !self.keeps() {
            let [integer, float] = [self.integers, self.floats].map(|set| (set >> register & 1) as u64);
            packer.put(integer | float << 1, 2);
        }
    }

    pub(super) fn restore_of(&mut self, register: usize, unpacker: &mut Unpacker<'_, '_>) {
        if self.bypass != Bypass::None && !self.keeps() {
            let domain = RegisterSet::from(unpacker.get(2));
            self.integers |= (domain & 1) << register;
            self.floats |= (domain >> 1) << register;
        }
    }

    /// Saves what matters of all registers.
    pub(super) fn save(&self, shape: &mut Vec<u64>) {
        if self.keeps() {
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
        if self.keeps() {
            let word = shape.next();
            (self.pending, self.logic) = (word as u16, word >> 16 & 1 == 1);
            if word >> 17 & 1 == 1 {
                let mut set = || RegisterSet::from(shape.next()) | RegisterSet::from(shape.next()) << 64;
                (self.integers, self.floats) = (set(), set());
            }
        }
    }
}
