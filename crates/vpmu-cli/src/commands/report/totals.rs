//! Sums of a recording by context, function and line.

use crate::args::report::Weight;
use std::ops::AddAssign;
use vmm::recording::data::{Call, Function, ImageKind, Modelled, Recording, Row};

/// What was counted of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::commands) struct Sum {
    /// Instructions of the program itself.
    pub(in crate::commands) user: u64,
    /// Instructions of the kernel for it.
    pub(in crate::commands) kernel: u64,
    /// What a model of the core says; zeros without one.
    pub(super) modelled: Modelled,
}

impl Sum {
    pub(super) fn instructions(&self) -> u64 {
        self.user + self.kernel
    }

    pub(super) fn weight(&self, weight: Weight) -> u64 {
        match weight {
            Weight::Instructions => self.instructions(),
            Weight::Cycles => self.modelled.cycles(),
        }
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.user += other.user;
        self.kernel += other.kernel;
        self.modelled += other.modelled;
    }
}

/// A recording with the sums of its contexts.
#[derive(Debug)]
pub(in crate::commands) struct Totals<'a> {
    pub(super) recording: &'a Recording,
    /// Of each context itself.
    pub(super) own: Vec<Sum>,
    /// Of each context with all that it calls.
    pub(super) inclusive: Vec<Sum>,
    /// The address space of each context.
    pub(super) roots: Vec<usize>,
}

impl<'a> Totals<'a> {
    pub(in crate::commands) fn new(recording: &'a Recording) -> Self {
        let contexts = &recording.contexts;
        let mut own = vec![Sum::default(); contexts.len()];
        for row in &recording.rows {
            own[row.context as usize] += sum_of(recording, row);
        }
        let mut inclusive = own.clone();
        let mut roots: Vec<usize> = (0..contexts.len()).collect();
        // Parents come before their children.
        for (number, context) in contexts.iter().enumerate() {
            if let Some(parent) = context.parent {
                roots[number] = roots[parent as usize];
            }
        }
        for (number, context) in contexts.iter().enumerate().rev() {
            if let Some(parent) = context.parent {
                let sum = inclusive[number];
                inclusive[parent as usize] += sum;
            }
        }
        Self { recording, own, inclusive, roots }
    }

    /// The whole program.
    pub(in crate::commands) fn whole(&self) -> Sum {
        let mut whole = Sum::default();
        self.own.iter().for_each(|sum| whole += *sum);
        whole
    }

    /// The function of a context, if it is one.
    pub(super) fn function(&self, context: usize) -> Option<(usize, &'a Function)> {
        let number = self.recording.contexts[context].function? as usize;
        Some((number, &self.recording.functions[number]))
    }

    /// The name of the program that a context's address space was made for.
    pub(super) fn process(&self, context: usize) -> &'a str {
        match &self.recording.contexts[self.roots[context]].process {
            Some(name) if !name.is_empty() => name,
            _ => "[unknown]",
        }
    }

    /// What the callee of a call has counted with all that it calls. Nothing of a function that is open already, whose
    /// sum has it.
    pub(super) fn of_call(&self, call: &Call) -> Sum {
        let is_child = self.recording.contexts[call.to as usize].parent == Some(call.from);
        if is_child { self.inclusive[call.to as usize] } else { Sum::default() }
    }

    pub(super) fn is_kernel(&self, image: u16) -> bool {
        self.recording.images[usize::from(image)].kind == ImageKind::Kernel
    }
}

/// What a row counts.
fn sum_of(recording: &Recording, row: &Row) -> Sum {
    let piece = &recording.pieces[row.piece as usize];
    let instructions = row.count.saturating_mul(piece.lengths.len() as u64);
    let is_kernel = recording.images[usize::from(piece.place.image)].kind == ImageKind::Kernel;
    let (user, kernel) = if is_kernel { (0, instructions) } else { (instructions, 0) };
    Sum { user, kernel, modelled: row.modelled.unwrap_or_default() }
}

/// What each instruction of a row counts, with its line.
pub(super) fn by_instruction<'a>(
    recording: &'a Recording,
    row: &'a Row,
) -> impl Iterator<Item = (u64, u32, Sum)> + 'a {
    let piece = &recording.pieces[row.piece as usize];
    let is_kernel = recording.images[usize::from(piece.place.image)].kind == ImageKind::Kernel;
    // A model's figures are of single instructions.
    let modelled = row.modelled.unwrap_or_default();
    piece.instructions().enumerate().map(move |(number, (address, line))| {
        let (user, kernel) = if is_kernel { (0, row.count) } else { (row.count, 0) };
        let modelled = if number == 0 { modelled } else { Modelled::default() };
        (address, line, Sum { user, kernel, modelled })
    })
}
