//! A part of a program that is counted alone: from its first to its last instruction, exactly.
//!
//! Functions and marks are those of the program itself, whose addresses become known when its first instruction has
//! been executed: the kernel tells the entry point in the auxiliary vector (System V ABI for x86-64, 3.4.3).

mod places;
pub mod spec;

use super::ProgramError;
use super::files::Files;
use super::job::Job;
use crate::engine::Registers as _;
use crate::engine::soft::x86::Goal;
use places::Places;
use platform::memory::GuestMemory;
use soft_cpu::State;
use spec::Region;

const RSP: usize = 4;
const CS: usize = 1;
/// Of the auxiliary vector: its end, and the program's entry point.
const AT_NULL: u64 = 0;
const AT_ENTRY: u64 = 9;
/// Most words of arguments and variables that are looked through.
const MOST_WORDS: u64 = 1 << 20;

/// Where a region ends.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// Behind so many user instructions.
    Number(u64),
    /// At one of these addresses of the program's file.
    Places(Vec<u64>),
    /// Where the function returns to.
    Return,
    /// With the program.
    Never,
}

/// Where a region begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Begin {
    /// Behind so many user instructions.
    Number(u64),
    /// At one of these addresses of the program's file.
    Places(Vec<u64>),
}

/// What a stop of the guest is for a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Begins,
    Ends,
}

/// Finds the region while the program runs.
#[derive(Debug)]
pub struct Roi {
    begin: Begin,
    end: End,
    places: Option<Places>,
    /// What is added to addresses of the file, once that is known.
    base: Option<u64>,
    /// Return address and stack pointer behind the return, of a function that is being executed.
    call: Option<(u64, u64)>,
    open: bool,
    /// A region of numbers comes once.
    over: bool,
}

impl Roi {
    /// A region of a program with these files.
    ///
    /// # Errors
    /// The program has no such function or mark, or is no ELF file.
    pub fn new(region: &Region, files: &Files, job: &Job) -> Result<Self, ProgramError> {
        let (begin, end, places) = match region {
            Region::Numbers { from, to } => (Begin::Number(*from), to.map_or(End::Never, End::Number), None),
            Region::Function(name) => {
                let places = Places::of(files, &job.program)?;
                (Begin::Places(places.symbol(name)?), End::Return, Some(places))
            }
            Region::Marks { from, to } => {
                let places = Places::of(files, &job.program)?;
                let begin = Begin::Places(places.mark(from)?);
                let end = to.as_ref().map(|mark| places.mark(mark)).transpose()?;
                (begin, end.map_or(End::Never, End::Places), Some(places))
            }
        };
        let base = match &places {
            Some(places) if places.moves() => None,
            _ => Some(0),
        };
        Ok(Self { begin, end, places, base, call: None, open: false, over: false })
    }

    /// How far to go, after so many user instructions of the program, of which the CPU has `user` in all.
    pub(super) fn goal(&self, executed: u64, user: u64) -> Goal {
        let mut goal = Goal::default();
        let Some(base) = self.base else {
            goal.user = user + 1;
            return goal;
        };
        let moved = |places: &[u64]| places.iter().map(|place| place.wrapping_add(base)).collect();
        let number = |number: u64| user.saturating_add(number.saturating_sub(executed));
        match (self.open, &self.begin, &self.end) {
            _ if self.over => {}
            (false, Begin::Number(from), _) => goal.user = number(*from),
            (false, Begin::Places(places), _) => goal.stops = moved(places),
            (true, _, End::Number(to)) => goal.user = number(*to),
            (true, _, End::Places(places)) => goal.stops = moved(places),
            (true, _, End::Return) => goal.stops.extend(self.call.map(|(back, _)| back)),
            (true, _, End::Never) => {}
        }
        goal
    }

    /// The CPU has stopped in the program, which has executed so many user instructions.
    pub(super) fn stopped(&mut self, state: &State, memory: &GuestMemory, executed: u64) -> Option<Change> {
        const USER: u16 = 3;
        let in_user = state.segments[CS].selector & USER == USER;
        let Some(base) = self.base else {
            if in_user && executed > 0 {
                let entry = self.places.as_ref().map_or(0, Places::entry);
                self.base = entry_point(state, memory).map(|at| at.wrapping_sub(entry)).or(Some(0));
            }
            return None;
        };
        let is_at = |places: &[u64]| in_user && places.contains(&state.rip.wrapping_sub(base));
        let change = match (self.open, &self.begin, &self.end) {
            _ if self.over => None,
            (false, Begin::Number(from), _) => (executed >= *from).then_some(Change::Begins),
            (false, Begin::Places(places), _) => {
                let is_ours = || self.places.as_ref().is_some_and(|file| file.is_at(state, memory, base));
                (is_at(places) && is_ours()).then_some(Change::Begins)
            }
            (true, _, End::Number(to)) => (executed >= *to).then_some(Change::Ends),
            (true, _, End::Places(places)) => is_at(places).then_some(Change::Ends),
            (true, _, End::Return) => {
                // The same place may be reached by a deeper call.
                let returned =
                    |(back, top): &(u64, u64)| in_user && state.rip == *back && state.gpr[RSP] >= *top;
                self.call.as_ref().is_some_and(returned).then_some(Change::Ends)
            }
            (true, _, End::Never) => None,
        }?;
        self.open = change == Change::Begins;
        self.over = !self.open && matches!(self.begin, Begin::Number(_));
        if self.open && self.end == End::Return {
            let top = state.gpr[RSP];
            self.call = word(state, memory, top).map(|back| (back, top.wrapping_add(8)));
        }
        Some(change)
    }
}

fn word(state: &State, memory: &GuestMemory, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    let whole = (0..8).all(|at| {
        let physical = state.translate(memory, address.wrapping_add(at as u64));
        physical.is_some_and(|physical| memory.read(physical, &mut bytes[at..=at]).is_ok())
    });
    whole.then(|| u64::from_le_bytes(bytes))
}

/// The program's entry point, by what the kernel has put on the stack of its first instruction.
fn entry_point(state: &State, memory: &GuestMemory) -> Option<u64> {
    let at = |number: u64| word(state, memory, state.gpr[RSP].wrapping_add(number.wrapping_mul(8)));
    let arguments = at(0)?;
    // Behind the arguments, the variables and their ends.
    let mut next = arguments.checked_add(2)?;
    while next < MOST_WORDS && at(next)? != 0 {
        next += 1;
    }
    next += 1;
    while next < MOST_WORDS {
        match at(next)? {
            AT_NULL => return None,
            AT_ENTRY => return at(next + 1),
            _ => next += 2,
        }
    }
    None
}

#[cfg(test)]
mod tests;
