//! Runs random sequences of operations on a `Vpmu` and on the model, and compares.

pub mod coverage;
pub mod engine;
pub mod generate;
pub mod op;
pub mod pair;
pub mod shrink;
pub mod variants;

use crate::rng::Rng;
use op::Op;
use pair::{Mode, Pair};
use std::panic::{AssertUnwindSafe, catch_unwind};
use variants::Variant;

/// Operations in one sequence, which starts at power-on.
pub const SEQUENCE: usize = 250;
/// Operations of all variants and modes together, unless `VPMU_OPS` says otherwise.
const DEFAULT_OPS: usize = 2_000_000;
/// Start of all randomness, unless `VPMU_SEED` says otherwise.
const DEFAULT_SEED: u64 = 0x5EED_0329;

/// A number from the environment, decimal or 0x…
fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    Some(number.unwrap_or_else(|_| panic!("{name}={text:?} is not a number; use decimal or 0x…")))
}

pub fn seed() -> u64 {
    setting("VPMU_SEED").unwrap_or(DEFAULT_SEED)
}

/// Compares on one CPU: its share of the operations, half of them in each mode. The default of
/// `VPMU_OPS` makes more than a million over all variants.
pub fn compare(variant: &Variant) {
    let total = setting("VPMU_OPS").map_or(DEFAULT_OPS, |n| usize::try_from(n).expect("fits"));
    let sequences = total.div_ceil(variants::ALL.len() * 2 * SEQUENCE).max(1);
    for mode in [Mode::Deadlines, Mode::Lazy] {
        for number in 0..sequences {
            let mut rng = Rng::new(seed()).fork(variant.name).fork(mode.name());
            let mut rng = rng.nth(number as u64);
            let ops = generate::sequence(&variant.cpu(), &mut rng, SEQUENCE);
            if let Err(first) = run(variant, mode, &ops) {
                report(variant, mode, number, &ops, &first);
            }
        }
    }
}

/// One sequence; the error says where the two part.
pub fn run(variant: &Variant, mode: Mode, ops: &[Op]) -> Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut pair = Pair::power_on(variant, mode);
        for (at, op) in ops.iter().enumerate() {
            pair.step(op).map_err(|what| format!("op {at} ({op}): {what}"))?;
        }
        pair.compare_everything().map_err(|what| format!("after the last op: {what}"))
    }));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn report(variant: &Variant, mode: Mode, number: usize, ops: &[Op], first: &str) -> ! {
    // Every failing candidate of the shrinker may panic; one message is enough.
    std::panic::set_hook(Box::new(|_| {}));
    let fewest = shrink::shrink(ops, |candidate| run(variant, mode, candidate).is_err());
    drop(std::panic::take_hook());
    let divergence = run(variant, mode, &fewest).expect_err("a shrunk sequence fails");
    let list: String = fewest.iter().map(|op| format!("\n    {op}")).collect();
    panic!(
        "{} differs from the model in mode {} (sequence {number}, VPMU_SEED={:#x})\n  first seen: {first}\n  \
         shrunk to {} ops: {divergence}{list}",
        variant.name,
        mode.name(),
        seed(),
        fewest.len(),
    );
}
