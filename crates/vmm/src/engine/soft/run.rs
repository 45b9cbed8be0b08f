//! The run loop: what ends a run, and who looks at the guest in between.

use crate::engine::Stop;
use crate::machine::{Board, Machine, Outcome};
use std::time::{Duration, Instant};

/// Instructions between two looks at the wall clock.
const CHUNK: u64 = 1 << 20;
/// Pauses between two such looks at most, and instructions in those: a look takes as long as a hundred instructions.
const PAUSES: u32 = 16;
const MANY: u64 = 1 << 16;

/// Why a CPU has returned.
#[derive(Debug)]
pub(super) enum Pause {
    /// It can go on.
    Ready,
    /// It waits for an interrupt.
    Waits,
    /// It cannot go on.
    Ended(Outcome),
    /// Its debugger wants to look.
    Debug(Stop),
    /// It is where the run is to stop.
    Reached,
}

/// A CPU with the machine around it.
pub(super) trait Vcpu {
    /// What is around it.
    type Board: Board;

    /// The machine.
    fn machine(&mut self) -> &mut Machine<Self::Board>;

    /// Instructions retired since boot.
    fn instructions(&self) -> u64;

    /// Those of them above the kernel's privilege level.
    fn user_instructions(&self) -> u64 {
        0
    }

    /// Brings counts and guest time up to date.
    fn publish(&mut self);

    /// Delivers what is pending, and runs to what is due next, at most so many instructions.
    fn run(&mut self, most: u64) -> Pause;

    /// Waits for an interrupt, at most until `end`. False if none can come.
    fn sleep(&mut self, end: Instant) -> bool;

    /// True if a debugger wants to look.
    fn wants_stop(&mut self) -> bool {
        false
    }

    /// Lets a debugger look at the guest, and change it. Returns how long it took.
    fn stand_still(&mut self, _stop: &Stop) -> Duration {
        Duration::ZERO
    }

    /// Tells a debugger that the run has ended.
    fn ended(&mut self, _outcome: &Outcome) {}
}

/// Where a run stops, whatever comes first: numbers of instructions since boot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Until {
    /// Of all instructions.
    pub(super) instructions: u64,
    /// Of those above the kernel's privilege level.
    pub(super) user: u64,
}

/// Runs until the machine has an outcome, so many instructions have retired, or a program wants a pause: `None`.
pub(super) fn run(vcpu: &mut impl Vcpu, timeout: Duration, until: Until) -> Option<Outcome> {
    let mut end = Instant::now() + timeout;
    let (mut pauses, mut looked) = (PAUSES, 0);
    loop {
        vcpu.publish();
        let instructions = vcpu.instructions();
        vcpu.machine().note_progress(instructions);
        vcpu.machine().poll_input();
        if let Some(outcome) = vcpu.machine().outcome().cloned() {
            if outcome.is_crash() {
                vcpu.stand_still(&Stop::Crashed);
            }
            vcpu.ended(&outcome);
            return Some(outcome);
        }
        if vcpu.machine().take_pause() {
            return None;
        }
        let mut left = until.instructions.saturating_sub(instructions);
        if until.user != u64::MAX {
            left = left.min(until.user.saturating_sub(vcpu.user_instructions()));
        }
        if left == 0 {
            return None;
        }
        pauses += 1;
        if pauses >= PAUSES || instructions - looked >= MANY {
            (pauses, looked) = (0, instructions);
            if Instant::now() >= end {
                vcpu.machine().stop(Outcome::TimedOut);
                continue;
            }
        }
        if vcpu.wants_stop() {
            end += vcpu.stand_still(&Stop::Asked);
            continue;
        }
        let due = vcpu.machine().until_injection().unwrap_or(u64::MAX).max(1);
        match vcpu.run(CHUNK.min(left).min(due)) {
            Pause::Ready => {}
            Pause::Reached => {
                vcpu.publish();
                return None;
            }
            Pause::Waits => {
                vcpu.publish();
                vcpu.machine().end_skid();
                if !vcpu.sleep(end) {
                    vcpu.machine().stop(Outcome::Halted);
                }
            }
            Pause::Ended(outcome) => vcpu.machine().stop(outcome),
            Pause::Debug(stop) => {
                vcpu.publish();
                end += vcpu.stand_still(&stop);
            }
        }
    }
}
