//! What differs between instruction sets.

use super::llvm::Mca;
use crate::error::TaskError;
use core_model::{Form, Isa};

/// An instruction set, as llvm-mca and the uop tables have it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) isa: Isa,
    /// As LLVM's `-mtriple` takes it.
    pub(crate) triple: &'static str,
    /// The oldest LLVM whose scheduling models will do.
    pub(crate) oldest: u32,
    /// Name of the form of a plain load.
    pub(crate) load: &'static str,
    /// An instruction that cores with all extensions have.
    pub(crate) probe: Option<&'static str>,
    /// Instructions of all forms.
    pub(crate) entries: fn(&Mca) -> Result<Vec<Entry>, TaskError>,
}

impl Target {
    /// The llvm-mca of this machine that is new enough.
    pub(crate) fn mca(&self) -> Result<Mca, TaskError> {
        Mca::find(self.triple, self.oldest)
    }
}

/// An instruction of some form.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Name of the form.
    pub(crate) name: String,
    pub(crate) form: Form,
    /// As assembly.
    pub(crate) text: String,
    /// It is of an extension that not every core has.
    pub(crate) extension: bool,
}
