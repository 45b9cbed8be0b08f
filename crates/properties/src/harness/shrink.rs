//! Makes a failing sequence short: fewer operations, fewer counts, smaller numbers.

use super::op::Op;
use crate::model::counting::Tick;

/// Attempts, so that a slow failure cannot take forever.
const ATTEMPTS: usize = 20_000;

/// The shortest sequence found for which `fails` still holds.
pub fn shrink(ops: &[Op], fails: impl Fn(&[Op]) -> bool) -> Vec<Op> {
    let mut best = ops.to_vec();
    let mut attempts = 0;
    let mut attempt = |candidate: Vec<Op>, best: &mut Vec<Op>| {
        attempts += 1;
        let better = attempts <= ATTEMPTS && fails(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let mut progress = false;
        let mut chunk = best.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < best.len() {
                let mut candidate = best.clone();
                candidate.drain(at..(at + chunk).min(best.len()));
                if attempt(candidate, &mut best) {
                    progress = true;
                } else {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        for at in 0..best.len() {
            while simpler(&best[at]).into_iter().any(|op| {
                let mut candidate = best.clone();
                candidate[at] = op;
                attempt(candidate, &mut best)
            }) {
                progress = true;
            }
        }
        if !progress {
            return best;
        }
    }
}

/// Simpler forms of one operation; each is strictly smaller, so that this ends.
fn simpler(op: &Op) -> Vec<Op> {
    match op {
        Op::Wrmsr { index, value } => {
            let bits = (0..64).filter(|n| value >> n & 1 == 1).map(|n| value & !(1 << n));
            bits.map(|value| Op::Wrmsr { index: *index, value }).collect()
        }
        Op::Advance { ticks } => {
            simpler_ticks(ticks).into_iter().map(|ticks| Op::Advance { ticks }).collect()
        }
        Op::Migrate { fresh: true } => vec![Op::Migrate { fresh: false }],
        _ => Vec::new(),
    }
}

fn simpler_ticks(ticks: &[Tick]) -> Vec<Vec<Tick>> {
    let mut candidates = Vec::new();
    for at in 0..ticks.len() {
        let mut fewer = ticks.to_vec();
        fewer.remove(at);
        candidates.push(fewer);
        let mut with = |change: &dyn Fn(&mut Tick)| {
            let mut ticks = ticks.to_vec();
            change(&mut ticks[at]);
            candidates.push(ticks);
        };
        for n in 0..ticks[at].events.len() {
            with(&|tick| {
                tick.events.remove(n);
            });
            if ticks[at].events[n].count > 1 {
                with(&|tick| tick.events[n].count = 1);
                with(&|tick| tick.events[n].count /= 2);
                with(&|tick| tick.events[n].count -= 1);
            }
        }
        for n in 0..ticks[at].slots.len() {
            with(&|tick| {
                tick.slots.remove(n);
            });
            for category in 0..8 {
                if ticks[at].slots[n].categories[category] > 0 {
                    with(&|tick| tick.slots[n].categories[category] = 0);
                    with(&|tick| tick.slots[n].categories[category] /= 2);
                }
            }
        }
    }
    candidates
}
