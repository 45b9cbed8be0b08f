//! What the counts of this machine are, for tolerances.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use guest_runtime::{fail, fw_cfg, protocol::files};

/// Where counts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An engine that sees every instruction.
    Exact,
    /// A model of the core.
    Modelled,
    /// Run time and configured rates.
    Synthetic,
    /// Hardware counters, or a machine that does not say.
    Hardware,
}

const UNKNOWN: u8 = u8::MAX;
static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);

/// What the machine says about its counts. Asked once: each look is hundreds of port reads.
#[must_use]
pub fn kind() -> Kind {
    const KINDS: [(&str, Kind); 3] =
        [("exact", Kind::Exact), ("modelled", Kind::Modelled), ("synthetic", Kind::Synthetic)];
    if KIND.load(Relaxed) == UNKNOWN {
        let label = fw_cfg::file_text::<16>(files::COUNTS);
        let known = label.and_then(|label| KINDS.iter().position(|(name, _)| label.as_str() == *name));
        KIND.store(known.unwrap_or(KINDS.len()) as u8, Relaxed);
    }
    KINDS.get(usize::from(KIND.load(Relaxed))).map_or(Kind::Hardware, |(_, kind)| *kind)
}

/// True if two counters of one event that the same WRMSR starts and stops show the same number.
/// Hardware behind a VMM starts its counters one after the other.
#[must_use]
pub fn are_simultaneous() -> bool {
    kind() != Kind::Hardware
}

/// Fails the test unless two counts of the same thing agree: exactly, or on hardware within 1 % and
/// the few thousand events that starting one counter after the other costs.
#[track_caller]
pub fn check_same(what: &str, left: u64, right: u64) {
    let tolerance = if are_simultaneous() { 0 } else { left.max(right) / 100 + 10_000 };
    check_within(what, left, right, tolerance);
}

/// Fails the test unless the two differ by `tolerance` at most.
#[track_caller]
pub fn check_within(what: &str, left: u64, right: u64, tolerance: u64) {
    if left.abs_diff(right) > tolerance {
        fail(format_args!("{what}: {left} and {right} differ by more than {tolerance}"));
    }
}
