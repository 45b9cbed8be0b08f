//! One A64 instruction of every form.

use super::llvm::Mca;
use super::target::{Entry, Target};
use crate::error::TaskError;
use arm_cpu::describe;
use core_model::{Form, Isa};

/// LLVM 14 is what Debian 12 has; the scheduling model of Falkor is older.
pub(crate) const TARGET: Target =
    Target { isa: Isa::A64, triple: "aarch64", oldest: 14, load: "ldr_x_imm", probe: None, entries };

/// Every form that LLVM's disassembler has a text for.
fn entries(mca: &Mca) -> Result<Vec<Entry>, TaskError> {
    let (names, words): (Vec<String>, Vec<u32>) = describe::examples().into_iter().unzip();
    let texts = mca.disassemble(&words)?;
    let entry = |(name, text): (String, Option<String>)| {
        Some(Entry { name, form: Form::Register, text: text?, extension: false })
    };
    Ok(names.into_iter().zip(texts).filter_map(entry).collect())
}
