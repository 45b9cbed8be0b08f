//! Guest time of the soft engine, and a CPU that waits.
//!
//! Time comes from the guest itself: core cycles, each a tick of the TSC or of what else the core's rate is named by,
//! and ticks for which the CPU was halted or waited for a device.

use super::idle::Idle;
use crate::counts::Slice;
use crate::machine::stop::LOOK;
use crate::machine::{Board, Machine, Outcome};
use platform::time::GuestTime;
use std::time::{Duration, Instant};

const NS_PER_SECOND: u128 = 1_000_000_000;

/// Guest time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Ticks in a second.
    hz: u64,
    /// Core cycles, as of the last look at them.
    pub(super) cycles: u64,
    /// Those that were no ticks of this clock.
    origin: u64,
    idle_ticks: u64,
    /// Not saved: a run that goes on from a snapshot begins anew.
    idle: Idle,
}

impl Clock {
    /// Time goes on after so many ticks in which the CPU was idle; `hz` is the core's rate, not 0.
    pub(super) fn new(hz: u64, idle_ticks: u64) -> Self {
        Self { hz, cycles: 0, origin: 0, idle_ticks, idle: Idle::default() }
    }

    /// From here on cycles are counted in another way, which is at so many now; time goes on.
    pub(super) fn recount(&mut self, cycles: u64) {
        self.wait(self.cycles - self.origin);
        self.cycles = cycles;
        self.origin = cycles;
        self.alive();
    }

    /// Ticks for which the CPU was halted or waited for a device.
    pub(super) fn idle_ticks(&self) -> u64 {
        self.idle_ticks
    }

    /// Ticks until so many core cycles.
    pub(super) fn ticks_at(&self, cycles: u64) -> u64 {
        cycles.saturating_sub(self.origin).saturating_add(self.idle_ticks)
    }

    /// Ticks until now.
    pub(super) fn ticks(&self) -> u64 {
        self.ticks_at(self.cycles)
    }

    /// Guest time now.
    pub(super) fn now(&self) -> GuestTime {
        self.time_at(self.cycles)
    }

    /// Guest time after so many core cycles.
    pub(super) fn time_at(&self, cycles: u64) -> GuestTime {
        GuestTime(saturate(u128::from(self.ticks_at(cycles)) * NS_PER_SECOND / u128::from(self.hz)))
    }

    /// Ticks, rounded up, until a point in guest time.
    pub(super) fn ticks_until(&self, then: GuestTime) -> u64 {
        let ticks = (u128::from(then.0) * u128::from(self.hz)).div_ceil(NS_PER_SECOND);
        saturate(ticks).saturating_sub(self.ticks())
    }

    /// The CPU waits for so many ticks.
    pub(super) fn wait(&mut self, ticks: u64) {
        self.idle_ticks = self.idle_ticks.saturating_add(ticks);
    }

    /// The guest has given a sign of life.
    pub(super) fn alive(&mut self) {
        self.idle.alive(self.ticks(), self.cycles);
    }

    /// The CPU waits for an interrupt: skips to what wakes it, as `wakes` says of the board. False when nothing will.
    /// With live input at the console it waits instead of skipping, at most until `end`; without, the run ends when the
    /// guest has done nothing else for long. `interrupts`: timers and devices can wake it.
    pub(super) fn sleep<B: Board>(
        &mut self,
        machine: &mut Machine<B>,
        wakes: impl Fn(&B) -> bool,
        interrupts: bool,
        end: Instant,
    ) -> bool {
        loop {
            if wakes(&machine.board) {
                return true;
            }
            if interrupts && machine.idle_input() {
                continue;
            }
            if machine.outcome().is_some() {
                return true;
            }
            let then = machine.board.next_deadline().filter(|_| interrupts);
            if interrupts && machine.board.console().is_live() && self.wait_for_input(machine, then, end) {
                continue;
            }
            let Some(then) = then else { return false };
            if !machine.board.console().is_live() && self.idle.halts(self.ticks(), self.cycles, self.hz) {
                machine.stop(Outcome::Idle);
                return true;
            }
            self.wait(self.ticks_until(then).max(1));
            machine.advance(self.now(), Slice::default());
        }
    }

    /// Waits for input, until a point in guest time. False if that has come.
    fn wait_for_input<B: Board>(
        &mut self,
        machine: &mut Machine<B>,
        then: Option<GuestTime>,
        end: Instant,
    ) -> bool {
        let started = Instant::now();
        let left = end.saturating_duration_since(started);
        if left.is_zero() {
            machine.stop(Outcome::TimedOut);
            return true;
        }
        let ticks = then.map(|then| self.ticks_until(then));
        let guest = ticks.map(|ticks| u128::from(ticks) * NS_PER_SECOND / u128::from(self.hz));
        let guest = guest.map_or(LOOK, |ns| Duration::from_nanos(saturate(ns)));
        if !machine.wait_for_input(guest.min(left)) {
            // With no more input and no timer, nothing will wake the CPU.
            return then.is_none() && machine.board.console().is_live();
        }
        let waited = saturate(started.elapsed().as_nanos() * u128::from(self.hz) / NS_PER_SECOND);
        self.wait(waited.min(ticks.unwrap_or(u64::MAX)));
        machine.advance(self.now(), Slice::default());
        true
    }
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
