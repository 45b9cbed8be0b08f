//! Execution by the rules of llvm-mca's simulation, to compare the back end with it: an ideal front end, ideal branch
//! prediction and an ideal first-level cache, and uops as LLVM counts them, without fused ones and eliminated moves.
//! Its rules differ from those of real cores:
//!
//! - all uops of an instruction leave the scheduler together; one with a load and another source may leave as many
//!   cycles before the source is ready as the load takes, but not before the source's producer has left
//! - flags are not such a source: an instruction that reads them waits for them
//! - stores leave in order, and after all older loads have left

use crate::back_end::{BackEnd, Units};
use crate::core::Core;
use crate::instruction::{Executed, NEVER, Prepared, RESOURCES, Traits};
use crate::table::{TableError, UopTable};
use crate::totals::CoreTotals;
use retire::{Instruction, InstructionSet, RegisterSet};

/// Simulates loops as llvm-mca does, on the back end of a core.
#[derive(Debug)]
pub struct LlvmSimulation {
    core: &'static Core,
    table: UopTable,
    set: InstructionSet,
}

impl LlvmSimulation {
    /// A simulation of a core, with its instruction set as for [`Model::new`](crate::Model::new).
    ///
    /// # Errors
    /// The core's uop table cannot be read; cores of this crate have one that can.
    pub fn new(core: &'static Core, set: &InstructionSet) -> Result<Self, TableError> {
        Ok(Self { core, table: UopTable::parse(core.table, set.form)?, set: *set })
    }

    /// Cycles of so many iterations of a loop body, until the last instruction has retired. An instruction that the
    /// uop table does not know costs what the model makes of it.
    #[must_use]
    pub fn cycles(&self, body: &[Instruction], iterations: u32) -> u64 {
        let body: Vec<Prepared> = body
            .iter()
            .map(|instruction| {
                Prepared::from_table(instruction, &self.table)
                    .unwrap_or_else(|| Prepared::new(instruction, self.core, &self.table))
            })
            .collect();
        let (names, loads) = (self.table.units(), self.table.load_units());
        let units = Units { names, loads, ..Units::default() };
        let mut run = Run {
            back_end: BackEnd::new(self.core, &units, self.set.registers),
            totals: CoreTotals::default(),
            flags: self.set.flags,
            left: [0; RESOURCES],
            last_load: 0,
            last_store: 0,
        };
        for _ in 0..iterations {
            body.iter().for_each(|prepared| run.retire(prepared));
        }
        run.back_end.drain(&mut run.totals);
        run.back_end.cycle()
    }
}

#[derive(Debug)]
struct Run {
    back_end: BackEnd,
    totals: CoreTotals,
    flags: RegisterSet,
    /// When the newest writer of each register left the scheduler.
    left: [u64; RESOURCES],
    last_load: u64,
    last_store: u64,
}

impl Run {
    fn retire(&mut self, prepared: &Prepared) {
        let slots = u32::from(prepared.slots);
        let load = prepared.traits.intersects(Traits::LOAD);
        let load_room = if load { self.back_end.load_room() } else { 0 };
        self.back_end.make_room(&mut self.totals, slots, load_room, 0, 0);
        let allocated = self.back_end.allocate::<true>(&mut self.totals, slots);
        let executed = self.execute(prepared, allocated + 1);
        let retired = self.back_end.complete::<true>(&mut self.totals, prepared, slots, &executed);
        self.back_end.write_back(prepared, executed.addressed);
        if load {
            self.back_end.leave_load_buffer(retired);
        }
        if prepared.traits.intersects(Traits::SERIALISING) {
            self.back_end.serialised = retired;
        }
    }

    /// Executes; nothing begins before `earliest`.
    fn execute(&mut self, prepared: &Prepared, earliest: u64) -> Executed {
        let load = u64::from(prepared.load);
        let address = self.back_end.ready(prepared.rest.address).max(earliest);
        let mut start = address.max(self.back_end.ready(prepared.rest.sources & self.flags));
        let others = prepared.rest.sources & !self.flags;
        start = start.max(self.back_end.ready(others).saturating_sub(load));
        for (register, &left) in self.left.iter().enumerate() {
            if others >> register & 1 == 1 {
                start = start.max(left);
            }
        }
        let store = prepared.traits.intersects(Traits::STORE);
        if store {
            start = start.max(self.last_store).max(self.last_load);
        }
        let issued = self.back_end.issue::<true>(prepared.groups(), start);
        for (register, left) in self.left.iter_mut().enumerate() {
            if prepared.rest.results >> register & 1 == 1 {
                *left = issued;
            }
        }
        if store {
            self.last_store = issued;
        }
        if prepared.traits.intersects(Traits::LOAD) {
            self.last_load = self.last_load.max(issued);
        }
        let completed = issued + load + u64::from(prepared.compute);
        Executed {
            issued,
            addressed: issued,
            completed,
            memory_from: NEVER,
            computes: 0,
            clear: false,
            prompt: false,
        }
    }
}
