//! Execution by the rules of llvm-mca's simulation, for comparison with it. They differ from those of real cores:
//!
//! - all uops of an instruction leave the scheduler together; one with a load and another source may leave as many
//!   cycles before the source is ready as the load takes, but not before the source's producer has left
//! - flags are not such a source: whoever reads them waits for them
//! - stores leave in order, and after all older loads have left

use crate::pipeline::{Executed, NEVER, Pipeline};
use crate::prepared::{FLAGS, Prepared, RESOURCES, Traits};

/// What these rules need to know of the past.
#[derive(Debug)]
pub(crate) struct AsLlvm {
    /// When the newest writer of each register left the scheduler.
    left: [u64; RESOURCES],
    last_load: u64,
    last_store: u64,
}

impl AsLlvm {
    pub(crate) fn new() -> Self {
        Self { left: [0; RESOURCES], last_load: 0, last_store: 0 }
    }
}

impl Pipeline {
    /// Executes; nothing begins before `earliest`.
    pub(crate) fn execute_as_llvm(&mut self, prepared: &Prepared, earliest: u64) -> Executed {
        let load = u64::from(prepared.load);
        let address = self.back_end.ready(prepared.rest.address).max(earliest);
        let mut start = address.max(self.back_end.ready(prepared.rest.sources & FLAGS));
        let others = prepared.rest.sources & !FLAGS;
        start = start.max(self.back_end.ready(others).saturating_sub(load));
        let llvm = &mut self.as_llvm;
        for (register, &left) in llvm.left.iter().enumerate() {
            if others >> register & 1 == 1 {
                start = start.max(left);
            }
        }
        if prepared.traits.any(Traits::STORE) {
            start = start.max(llvm.last_store).max(llvm.last_load);
        }
        let issued = self.back_end.issue(prepared.groups(), start);
        let llvm = &mut self.as_llvm;
        for (register, left) in llvm.left.iter_mut().enumerate() {
            if prepared.rest.results >> register & 1 == 1 {
                *left = issued;
            }
        }
        if prepared.traits.any(Traits::STORE) {
            llvm.last_store = issued;
        }
        if prepared.traits.any(Traits::LOAD) {
            llvm.last_load = llvm.last_load.max(issued);
        }
        let completed = issued + load + u64::from(prepared.compute);
        Executed { issued, addressed: issued, completed, memory_from: NEVER, computes: 0, clear: false }
    }
}
