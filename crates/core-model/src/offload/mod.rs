//! A machine on a thread of its own, while its results are not wanted.
//!
//! It gets the same blocks in the same order, so its results are the same.

mod batch;
mod worker;

use crate::instruction::{Definition, Predicted};
use crate::machine::Machine;
use retire::BlockId;
use worker::Worker;

/// Instructions for which the results must not be wanted before the machine is handed over.
const MIN_QUIET: u64 = 1 << 15;
/// Blocks in a row without a read of the results after which the machine is handed over: at first, and the least and
/// the most as it turns out how many come before the next read.
const DELAY: u64 = 256;
const MIN_DELAY: u64 = 64;
const MAX_DELAY: u64 = 1 << 14;
/// Blocks that make up for handing the machine over and getting it back.
const BREAK_EVEN: u64 = 2048;

/// A machine, here or on a thread.
#[derive(Debug)]
pub(crate) struct Offload {
    /// `None` while the thread has it.
    machine: Option<Box<Machine>>,
    /// `None` if it stays here.
    worker: Option<Worker>,
    /// Instructions for which the results are not wanted.
    quiet: u64,
    /// Blocks since the last read, or since the machine was handed over.
    blocks: u64,
    delay: u64,
}

impl Offload {
    pub(crate) fn new(machine: Machine) -> Self {
        Self { machine: Some(Box::new(machine)), worker: None, quiet: 0, blocks: 0, delay: DELAY }
    }

    /// The machine may be handed to a thread, if there can be one.
    pub(crate) fn start_thread(&mut self) {
        self.worker = Worker::start().ok();
    }

    /// The machine with everything that has retired. Waits for it.
    #[inline]
    pub(crate) fn get(&mut self) -> &mut Machine {
        if self.machine.is_none() {
            let delay = if self.blocks < BREAK_EVEN { self.delay * 2 } else { self.delay / 2 };
            self.delay = delay.clamp(MIN_DELAY, MAX_DELAY);
        }
        self.blocks = 0;
        let worker = &mut self.worker;
        self.machine.get_or_insert_with(|| match worker {
            Some(worker) => worker.take_back(),
            None => unreachable!("only a thread can have it"),
        })
    }

    /// The results are not wanted before so many instructions have retired.
    #[inline]
    pub(crate) fn expect_quiet(&mut self, instructions: u64) {
        self.quiet = instructions;
    }

    pub(crate) fn define(&mut self, id: BlockId, definition: Definition) {
        match (&mut self.machine, &mut self.worker) {
            (Some(machine), _) => machine.define(id, definition),
            (None, Some(worker)) => worker.define(id, definition),
            (None, None) => {}
        }
    }

    #[inline]
    pub(crate) fn retire(&mut self, block: &Predicted<'_>) {
        match (&mut self.machine, &mut self.worker) {
            (Some(machine), worker) => {
                machine.retire(block);
                if self.blocks >= self.delay
                    && self.quiet >= MIN_QUIET
                    && let Some(worker) = worker
                    && let Some(machine) = self.machine.take()
                {
                    worker.hand_over(machine);
                    self.blocks = 0;
                }
            }
            (None, Some(worker)) => worker.retire(block),
            (None, None) => {}
        }
        // One instruction may clear memory, and be as much work as many blocks.
        self.blocks += if block.whole { 1 } else { 1 + block.memory.len() as u64 };
        self.quiet = self.quiet.saturating_sub(block.count.into());
    }
}
