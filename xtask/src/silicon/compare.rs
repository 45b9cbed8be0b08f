//! The model beside measured blocks.

use super::block::{Measured, Way, decode};
use super::machine::{Outcome, Refusal, measure};
use crate::concurrently::{concurrently, cores};
use core_model::Core;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeMap;

/// One block on both sides.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    /// Its place among the measured ones.
    pub(crate) index: usize,
    pub(crate) way: Way,
    pub(crate) class: &'static str,
    pub(crate) silicon: f64,
    pub(crate) model: f64,
}

impl Compared {
    /// Of silicon's cycles.
    pub(crate) fn error(&self) -> f64 {
        (self.model / self.silicon - 1.0).abs()
    }
}

/// Mean, median and 90th percentile of errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Errors {
    pub(crate) count: usize,
    pub(crate) mean: f64,
    pub(crate) median: f64,
    pub(crate) ninetieth: f64,
}

impl Errors {
    pub(crate) fn of(compared: &[&Compared]) -> Self {
        let mut errors: Vec<f64> = compared.iter().map(|one| one.error()).collect();
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| errors.get((errors.len() as f64 * share) as usize).copied().unwrap_or_default();
        let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        Self { count: errors.len(), mean, median: at(0.5), ninetieth: at(0.9) }
    }
}

/// All blocks in all ways, and what was refused.
pub(crate) fn compare(core: &'static Core, blocks: &[Measured]) -> (Vec<Compared>, BTreeMap<String, usize>) {
    let on_the_model = |(index, block): (usize, &Measured)| {
        let measured = Way::ALL.into_iter().filter_map(|way| Some((way, block.cycles(way)?)));
        let both = measured.map(|(way, silicon)| {
            let Outcome { cycles: model, forwards } = measure(core, &block.code, way)?;
            Ok(Compared { index, way, class: class(&block.code, forwards), silicon, model })
        });
        both.collect::<Vec<Result<Compared, Refusal>>>()
    };
    let mut compared = Vec::new();
    let mut refused = BTreeMap::new();
    for outcome in concurrently(blocks.iter().enumerate(), cores(), on_the_model).into_iter().flatten() {
        match outcome {
            Ok(one) => compared.push(one),
            Err(refusal) => *refused.entry(reason(refusal).to_owned()).or_default() += 1,
        }
    }
    (compared, refused)
}

fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Shape => "no spare register, no room, or no code",
        Refusal::Exception => "exceptions or unknown instructions",
        Refusal::Pages => "too many pages",
        Refusal::Endless => "endless",
    }
}

/// What a block is mostly about: the first that fits.
fn class(code: &[u8], forwards: bool) -> &'static str {
    let instructions = decode(code).unwrap_or_default();
    let any = |holds: fn(&Instruction) -> bool| instructions.iter().any(holds);
    if forwards {
        "store forwarding"
    } else if any(|one| matches!(one.mnemonic(), Mnemonic::Div | Mnemonic::Idiv)) {
        "division"
    } else if any(|one| one.has_lock_prefix() || one.is_string_instruction()) {
        "locks and strings"
    } else if any(Instruction::is_stack_instruction) {
        "stack"
    } else if any(|one| registers(one).any(|register| register.is_vector_register() || register.is_mm())) {
        "vector"
    } else if any(|one| registers(one).any(|register| register.is_gpr8() || register.is_gpr16())) {
        "8 and 16 bits"
    } else if any(|one| one.op_kinds().any(|kind| kind == OpKind::Memory) && one.mnemonic() != Mnemonic::Lea)
    {
        "memory"
    } else {
        "integer"
    }
}

fn registers(instruction: &Instruction) -> impl Iterator<Item = Register> {
    let operands = 0..instruction.op_count();
    let register = |&n: &u32| instruction.op_kind(n) == OpKind::Register;
    operands.filter(register).map(|n| instruction.op_register(n)).collect::<Vec<_>>().into_iter()
}
