//! Branch prediction.

mod direction;
mod path;
mod targets;

use crate::core::{Core, Pairing};
use crate::sets::Sets;
use direction::Direction;
use path::{Path, TABLES};
use retire::{Branch, BranchKind};
use targets::{Indirect, ReturnStack};

/// What was predicted of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Guess {
    right: bool,
    /// History knows better than what is looked up sooner: the target of the address alone, or the direction of tables
    /// of short histories.
    overrides: bool,
}

/// What the front end did with a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    /// Direction or target was wrong.
    pub(crate) mispredicted: bool,
    /// The decoders found a taken direct branch whose target was not known.
    pub(crate) unknown: bool,
    /// The target came from the larger, slower buffer.
    pub(crate) slow: bool,
    /// History, or the return stack, had another target for it than its address, which fetch had followed, or longer
    /// histories another direction than a fast predictor, where that makes a difference.
    pub(crate) overridden: bool,
    /// It was not taken, but a buffer of targets has it, where that makes a difference.
    pub(crate) passed: bool,
}

/// Log2 of the bytes of code whose branches share a set of the larger buffer of targets. Measured on Cascade Lake,
/// where 128 jumps 32 bytes apart lose no cycle and 2048 lose one (docs/silicon.md).
const WINDOW: u32 = 5;
/// Log2 of the bytes of a line of code.
const LINE: u32 = 6;

/// Bits that are kept of a conditional branch where indirect targets are predicted by such, and those of its address
/// that one of them is folded from: estimates.
const DIRECTION: u32 = 2;
const FOOTPRINT: u64 = 0xFFFF;

/// The key of a branch's target: its window of so many bytes (log2) says in which set it is.
fn by_window(rip: u64, bits: u32) -> u64 {
    const ADDRESS: u32 = 52;
    let within = rip & ((1 << bits) - 1);
    rip >> bits & ((1 << ADDRESS) - 1) | within << ADDRESS
}

#[derive(Debug)]
pub(crate) struct Predictor {
    path: Path,
    direction: Direction,
    targets: Sets,
    fast_targets: Sets,
    fast_target_window: u32,
    indirect: Indirect,
    /// The newest conditional branches, and which of these bits matter: none where the path does.
    directions: u64,
    directions_mask: u64,
    returns: ReturnStack,
    /// See [`Prediction::predicts_more_returns`](crate::core::Prediction::predicts_more_returns).
    predicts_more_returns: bool,
    /// See [`Pairing::TwoAhead`].
    two_ahead: bool,
    /// See [`BranchCycles::overrides_returns`](crate::core::BranchCycles::overrides_returns).
    overrides_returns: bool,
    /// The line of code that the newest taken branch called.
    called: u64,
}

impl Predictor {
    pub(crate) fn new(core: &Core) -> Self {
        let parameters = &core.prediction;
        Self {
            path: Path::new(parameters),
            direction: Direction::new(parameters),
            targets: Sets::new(parameters.targets),
            fast_targets: Sets::new(parameters.fast_targets),
            fast_target_window: parameters.fast_target_window,
            indirect: Indirect::new(parameters),
            directions: 0,
            directions_mask: (1 << (DIRECTION * parameters.indirect_directions).min(63)) - 1,
            returns: ReturnStack::new(parameters),
            predicts_more_returns: parameters.predicts_more_returns,
            overrides_returns: parameters.branch_cycles.overrides_returns,
            called: u64::MAX,
            two_ahead: parameters.branch_cycles.pairing == Pairing::TwoAhead,
        }
    }

    /// As [`see`](Self::see), if there is a branch.
    #[inline]
    pub(crate) fn outcome(&mut self, branch: Option<&Branch>, rip: u64, next: u64) -> Outcome {
        branch.map_or_else(Outcome::default, |branch| self.see(rip, next, branch))
    }

    /// Predicts a branch, and learns how it went.
    #[inline]
    pub(crate) fn see(&mut self, rip: u64, next: u64, branch: &Branch) -> Outcome {
        let mut outcome = Outcome::default();
        let kind = branch.kind;
        match kind {
            BranchKind::Conditional => {
                let guess = self.direction.predict(rip, self.path.folds(), branch.taken);
                (outcome.mispredicted, outcome.overridden) = (!guess.right, guess.overrides);
                if self.directions_mask != 0 {
                    self.add_direction(next.wrapping_sub(1), branch);
                }
            }
            BranchKind::IndirectJump | BranchKind::IndirectCall => {
                let guess = self.indirect_target(rip, branch.target);
                (outcome.mispredicted, outcome.overridden) = (!guess.right, guess.overrides);
            }
            BranchKind::Return => {
                if self.overrides_returns && rip >> LINE != self.called {
                    let last = self.indirect.by_address(rip, branch.target);
                    outcome.overridden = last.is_some_and(|last| last != branch.target);
                }
                outcome.mispredicted = match self.returns.pop() {
                    None if self.predicts_more_returns => !self.indirect_target(rip, branch.target).right,
                    predicted => predicted != Some(branch.target),
                };
            }
            // Serialises anyway.
            BranchKind::Far => return outcome,
            BranchKind::DirectJump | BranchKind::DirectCall => {}
        }
        let calls = matches!(kind, BranchKind::DirectCall | BranchKind::IndirectCall);
        if calls {
            self.returns.push(next);
        }
        if self.two_ahead && !branch.taken {
            outcome.passed = self.fast_targets.contains(by_window(rip, self.fast_target_window));
        }
        if branch.taken {
            self.called = if calls { branch.target >> LINE } else { u64::MAX };
            self.path.push(next.wrapping_sub(1), branch.target);
        }
        if branch.taken && !self.fast_targets.bring(by_window(rip, self.fast_target_window)) {
            outcome.slow = self.targets.bring(by_window(rip, WINDOW));
            let direct =
                matches!(kind, BranchKind::Conditional | BranchKind::DirectJump | BranchKind::DirectCall);
            outcome.unknown = !outcome.slow && direct && !outcome.mispredicted;
        }
        outcome
    }

    /// Adds a conditional branch to those that indirect targets are predicted by: its direction, and a bit of its
    /// address, or of its distance to where it goes.
    fn add_direction(&mut self, address: u64, branch: &Branch) {
        let footprint = if branch.taken { address ^ branch.target } else { address };
        let folded = (footprint & FOOTPRINT).count_ones() % 2;
        let bits = u64::from(folded) << 1 | u64::from(branch.taken);
        self.directions = (self.directions << DIRECTION | bits) & self.directions_mask;
    }

    /// Predicts an indirect target.
    fn indirect_target(&mut self, rip: u64, target: u64) -> Guess {
        let directions = [self.directions; TABLES];
        let history = if self.directions_mask == 0 { self.path.folds() } else { &directions };
        self.indirect.predict(rip, history, target)
    }

    /// Forgets everything: IBPB.
    pub(crate) fn forget(&mut self) {
        self.path.forget();
        self.direction.forget();
        self.targets.clear();
        self.fast_targets.clear();
        self.indirect.forget();
        self.returns.forget();
        self.directions = 0;
        self.called = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GOLDEN_COVE, RAPTOR_COVE, REDWOOD_COVE, SKYLAKE_SP, SUNNY_COVE, ZEN4, ZEN5};

    /// The branch that makes a loop of what is predicted, as a branch that is not taken leaves no trace.
    const BACK: Branch = Branch { kind: BranchKind::DirectJump, taken: true, target: 0xFE0 };

    fn mispredicted(kind: BranchKind, outcomes: impl Iterator<Item = (bool, u64)>) -> f64 {
        let mut predictor = Predictor::new(&SUNNY_COVE);
        let (mut wrong, mut all) = (0, 0);
        for (n, (taken, target)) in outcomes.enumerate() {
            let outcome = predictor.see(0x1000, 0x1002, &Branch { kind, taken, target });
            predictor.see(0x3005, 0x3007, &BACK);
            // The first ones are learning.
            if n >= 2000 {
                all += 1;
                wrong += u32::from(outcome.mispredicted);
            }
        }
        f64::from(wrong) / f64::from(all)
    }

    /// Marsaglia's xorshift64.
    fn random() -> impl Iterator<Item = u64> {
        let mut state = 0x1234_5678_9ABC_DEF1_u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 20
        })
    }

    #[test]
    fn patterns_are_learnt_and_coins_are_not() {
        let pattern = |period: usize| (0..20_000).map(move |n| (n % period != 0, 0x2000));
        assert!(mispredicted(BranchKind::Conditional, pattern(1)) < 0.001);
        assert!(mispredicted(BranchKind::Conditional, pattern(7)) < 0.01);
        assert!(mispredicted(BranchKind::Conditional, pattern(40)) < 0.02);
        let coin = random().take(20_000).map(|bits| (bits & 1 == 1, 0x2000));
        let wrong = mispredicted(BranchKind::Conditional, coin);
        assert!((0.45..0.55).contains(&wrong), "{wrong}");
    }

    /// Measured on Zen 5: branches that were never taken make no difference there.
    #[test]
    fn only_a_branch_that_was_taken_once_can_be_passed() {
        let mut predictor = Predictor::new(&ZEN5);
        let mut passed = |taken| {
            let branch = Branch { kind: BranchKind::Conditional, taken, target: 0x2000 };
            predictor.see(0x1000, 0x1002, &branch).passed
        };
        assert_eq!([false, true, false].map(&mut passed), [false, false, true]);
    }

    /// Measured on Emerald Rapids: 0.149 of directions of which one in eight differs.
    #[test]
    fn new_entries_that_predict_at_once_mispredict_more_of_rare_directions() {
        let share = |core: &Core| {
            let mut predictor = Predictor::new(core);
            let wrong = random().take(200_000).filter(|bits| {
                let branch = Branch { kind: BranchKind::Conditional, taken: bits % 8 == 0, target: 0x1005 };
                let outcome = predictor.see(0x1000, 0x1002, &branch);
                predictor.see(0x1005, 0x1007, &BACK);
                outcome.mispredicted
            });
            wrong.count() as f64 / 200_000.0
        };
        let [golden, sunny] = [&GOLDEN_COVE, &SUNNY_COVE].map(share);
        assert!((0.142..0.156).contains(&golden), "{golden}");
        assert!((0.125..0.135).contains(&sunny), "{sunny}");
    }

    /// Half&Half: 93 taken branches on Skylake, 194 from Sunny Cove on.
    #[test]
    fn exits_of_loops_are_learnt_as_far_as_the_path_reaches() {
        let exits = |core: &Core, iterations: u32| {
            let mut predictor = Predictor::new(core);
            let mut wrong = 0;
            for outer in 0..400 {
                for n in 1..=iterations {
                    let again =
                        Branch { kind: BranchKind::Conditional, taken: n < iterations, target: 0xFF0 };
                    let outcome = predictor.see(0x1000, 0x1002, &again);
                    wrong += u32::from(outer >= 300 && outcome.mispredicted);
                }
                predictor.see(0x1005, 0x1007, &BACK);
            }
            wrong
        };
        for (core, reach) in [(&SKYLAKE_SP, 93), (&SUNNY_COVE, 194), (&GOLDEN_COVE, 194)] {
            for iterations in [2, 4, 7, 16, 31, 32, 33, 64, reach - 4] {
                assert_eq!(exits(core, iterations), 0, "{}: {iterations} iterations", core.name);
            }
            // Each exit is one that has not been seen.
            assert_eq!(exits(core, reach + 8), 100, "{}", core.name);
        }
    }

    #[test]
    fn indirect_targets_are_learnt_by_history() {
        let cycle = (0..20_000_u64).map(|n| (true, 0x2000 + n % 3 * 0x144));
        assert!(mispredicted(BranchKind::IndirectJump, cycle) < 0.01);
        let random = random().take(20_000).map(|bits| (true, 0x2000 + bits % 8 * 0x144));
        assert!(mispredicted(BranchKind::IndirectJump, random) > 0.7);
    }

    /// The share of mispredicted jumps whose target a branch decides that is so many taken branches before, behind
    /// random ones.
    fn mispredicted_behind(core: &Core, distance: u64) -> f64 {
        let mut predictor = Predictor::new(core);
        let mut bits = random();
        let mut wrong = 0;
        let direct = |target| Branch { kind: BranchKind::DirectJump, taken: true, target };
        for round in 0..30_000 {
            let random = bits.next().unwrap_or_default();
            for n in 0..14_u64 {
                let (rip, taken) = (0x1000 + n * 13, random >> n & 1 == 1);
                let target = rip + 8;
                predictor.see(rip, rip + 2, &Branch { kind: BranchKind::Conditional, taken, target });
            }
            let taken = random >> 20 & 1 == 1;
            let branch = Branch { kind: BranchKind::Conditional, taken, target: 0x2010 };
            predictor.see(0x2000, 0x2002, &branch);
            let rip = if taken { 0x2010 } else { 0x2003 };
            predictor.see(rip, rip + 2, &direct(0x3000));
            for n in 0..distance {
                predictor.see(0x3000 + n * 8, 0x3002 + n * 8, &direct(0x3008 + n * 8));
            }
            let jump = Branch {
                kind: BranchKind::IndirectJump,
                taken: true,
                target: if taken { 0x6000 } else { 0x6040 },
            };
            let outcome = predictor.see(0x5000, 0x5002, &jump);
            predictor.see(0x6060, 0x6062, &direct(0x1000));
            wrong += u32::from(round >= 20_000 && outcome.mispredicted);
        }
        f64::from(wrong) / 10_000.0
    }

    /// Measured on Granite Rapids: see docs/silicon.md.
    #[test]
    fn targets_are_learnt_as_far_as_each_history_reaches() {
        for distance in [7, 17, 33, 65, 193] {
            let share = mispredicted_behind(&REDWOOD_COVE, distance);
            assert!(share < 0.05, "{distance}: {share}");
        }
        for distance in [9, 19, 35, 67, 194] {
            let share = mispredicted_behind(&REDWOOD_COVE, distance);
            assert!(share > 0.3, "{distance}: {share}");
        }
    }

    /// Mispredicted of 16 targets that take turns in an order of 64; each has a branch with one of two directions and
    /// addresses if `conditional`, else a jump.
    fn mispredicted_in_turn(core: &Core, conditional: bool) -> f64 {
        let order: Vec<u64> = random().take(64).map(|bits| bits % 16).collect();
        let mut predictor = Predictor::new(core);
        let mut wrong = 0;
        for round in 0..100 {
            for &number in &order {
                let target = 0x2000 + number * 64;
                let jump = Branch { kind: BranchKind::IndirectJump, taken: true, target };
                wrong += u32::from(round >= 80 && predictor.see(0x1000, 0x1002, &jump).mispredicted);
                let kind = if conditional { BranchKind::Conditional } else { BranchKind::DirectJump };
                for bit in 0..4 {
                    let taken = !conditional || number >> bit & 1 == 1;
                    let rip = target + bit * 8;
                    predictor.see(rip, rip + 2, &Branch { kind, taken, target: rip + 8 });
                }
            }
        }
        f64::from(wrong) / (20.0 * 64.0)
    }

    /// Measured on Zen 4: 24 cycles each with jumps, as if all were mispredicted, and 10 with conditional branches.
    #[test]
    fn targets_follow_from_directions_alone_where_the_path_does_not_matter() {
        assert!(mispredicted_in_turn(&ZEN4, false) > 0.8);
        assert!(mispredicted_in_turn(&ZEN4, true) < 0.4);
        assert!(mispredicted_in_turn(&ZEN5, false) < 0.2);
    }

    /// Measured on Zen 4: directions that repeat after 8 branches cost nothing, of thousands half of three cycles.
    #[test]
    fn longer_histories_override_directions_where_that_makes_a_difference() {
        let overridden = |core, period: usize| {
            let order: Vec<bool> = random().take(period).map(|bits| bits & 1 == 1).collect();
            let mut predictor = Predictor::new(core);
            let mut count = 0;
            for &taken in order.iter().cycle().take(100_000) {
                let branch = Branch { kind: BranchKind::Conditional, taken, target: 0x1005 };
                let outcome = predictor.see(0x1000, 0x1002, &branch);
                predictor.see(0x1005, 0x1007, &BACK);
                count += u32::from(outcome.overridden);
            }
            f64::from(count) / 100_000.0
        };
        assert!(overridden(&ZEN4, 8) < 0.02);
        assert!(overridden(&ZEN4, 4096) > 0.2);
        assert!(overridden(&ZEN5, 4096) == 0.0);
        // Measured on Emerald Rapids: what the shortest history alone knows is late as well.
        assert!(overridden(&RAPTOR_COVE, 8) > 0.2);
    }

    #[test]
    fn targets_that_history_has_override_those_of_the_address() {
        let mut predictor = Predictor::new(&REDWOOD_COVE);
        let mut see = |target| {
            let jump = Branch { kind: BranchKind::IndirectJump, taken: true, target };
            let outcome = predictor.see(0x1000, 0x1002, &jump);
            predictor.see(target, target + 2, &BACK);
            (outcome.mispredicted, outcome.overridden)
        };
        for n in 0..100 {
            see(0x2000 + n % 4 * 0x144);
        }
        let all: Vec<_> = (0..8).map(|n| see(0x2000 + n % 4 * 0x144)).collect();
        assert!(all.iter().all(|&(mispredicted, _)| !mispredicted), "{all:?}");
        // The address alone is right once in four times at most.
        assert!(all.iter().filter(|&&(_, overridden)| overridden).count() >= 6, "{all:?}");
        for _ in 0..100 {
            see(0x4000);
        }
        assert_eq!(see(0x4000), (false, false));
    }

    /// Measured on Emerald Rapids: a function with a jump, called from eight places, takes a cycle or more longer than
    /// eight such functions; one that returns at once does not.
    #[test]
    fn returns_to_another_place_are_overridden_behind_jumps() {
        let overridden = |places: u64, jumps: bool| {
            let mut predictor = Predictor::new(&RAPTOR_COVE);
            let mut see =
                |rip, kind, target| predictor.see(rip, rip + 2, &Branch { kind, taken: true, target });
            let mut count = 0;
            for n in 0..800 {
                let call = 0x1000 + n % places * 32;
                see(call, BranchKind::DirectCall, 0x4000);
                if jumps {
                    see(0x4000, BranchKind::DirectJump, 0x4020);
                }
                let rip = if jumps { 0x4020 } else { 0x4000 };
                count += u32::from(see(rip, BranchKind::Return, call + 2).overridden);
            }
            count
        };
        assert_eq!((overridden(1, true), overridden(8, false)), (0, 0));
        assert!(overridden(8, true) >= 790);
    }

    #[test]
    fn returns_follow_calls_as_deep_as_the_stack_is() {
        let depth = |core: &Core, depth: u64| {
            let mut predictor = Predictor::new(core);
            let mut wrong = 0;
            for n in 0..depth {
                let call = Branch { kind: BranchKind::DirectCall, taken: true, target: 0 };
                predictor.see(n * 16, n * 16 + 5, &call);
            }
            for n in (0..depth).rev() {
                let back = Branch { kind: BranchKind::Return, taken: true, target: n * 16 + 5 };
                wrong += u64::from(predictor.see(0x8000, 0, &back).mispredicted);
            }
            wrong
        };
        assert_eq!((depth(&SUNNY_COVE, 16), depth(&SUNNY_COVE, 20)), (0, 4));
        // Where returns beyond the stack are predicted as indirect jumps, the same way up is learnt.
        let again = |core: &Core| {
            let mut predictor = Predictor::new(core);
            for n in 0..40 * 8 {
                let call = Branch { kind: BranchKind::DirectCall, taken: true, target: 0 };
                let back = Branch { kind: BranchKind::Return, taken: true, target: 0x105 };
                match n % 80 {
                    0..40 => predictor.see(0x100, 0x105, &call),
                    _ => predictor.see(0x8000, 0, &back),
                };
            }
            let mut wrong = 0;
            for _ in 0..40 {
                predictor.see(0x100, 0x105, &Branch { kind: BranchKind::DirectCall, taken: true, target: 0 });
            }
            for _ in 0..40 {
                let back = Branch { kind: BranchKind::Return, taken: true, target: 0x105 };
                wrong += u32::from(predictor.see(0x8000, 0, &back).mispredicted);
            }
            wrong
        };
        assert_eq!((again(&SUNNY_COVE), again(&GOLDEN_COVE)), (24, 0));
    }

    #[test]
    fn a_barrier_makes_the_predictor_wrong_again() {
        let mut predictor = Predictor::new(&SUNNY_COVE);
        let jump = Branch { kind: BranchKind::IndirectJump, taken: true, target: 0x4000 };
        for _ in 0..10 {
            predictor.see(0x1000, 0x1002, &jump);
        }
        assert!(!predictor.see(0x1000, 0x1002, &jump).mispredicted);
        predictor.forget();
        assert!(predictor.see(0x1000, 0x1002, &jump).mispredicted);
    }
}
