//! How each core encodes the events, on its general-purpose counters.
//!
//! Sources: the event lists of Intel (`intel/perfmon`) and, for AMD and Arm, of `perf` (Linux
//! `tools/perf/pmu-events`), as `cargo xtask events` reads them, with the corrections in
//! `data/events.corrections.tsv`. Of an event that a list has under an older or newer name, that name stays. Unit
//! masks that are not listed are the OR of single bits, as [`union`](super::union) makes of them.

#[rustfmt::skip]
mod amd;
#[rustfmt::skip]
mod arm;
#[rustfmt::skip]
mod intel;

use super::encoding::{Encoding, ExtraRegister};
use super::{Event, EventCode};

/// A set of cores of one vendor.
pub(super) type Cores = u8;
pub(super) const SKX: Cores = 1 << 0;
pub(super) const ICX: Cores = 1 << 1;
pub(super) const SPR: Cores = 1 << 2;
pub(super) const GNR: Cores = 1 << 3;
pub(super) const LNL: Cores = 1 << 4;
pub(super) const ZEN2: Cores = 1 << 0;
pub(super) const ZEN3: Cores = 1 << 1;
pub(super) const ZEN4: Cores = 1 << 2;
pub(super) const ZEN5: Cores = 1 << 3;
pub(super) const FALKOR: Cores = 1 << 0;
/// Every core of the vendor.
const ALL: Cores = Cores::MAX;

/// An encoding, and the cores that have it.
pub(super) type Row = (Cores, Encoding);
pub(super) const INTEL: &[Row] = intel::ROWS;
pub(super) const AMD: &[Row] = amd::ROWS;
pub(super) const ARM: &[Row] = arm::ROWS;

/// Number of rows of one core.
pub(super) const fn count(rows: &[Row], core: Cores) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < rows.len() {
        if rows[at].0 & core != 0 {
            count += 1;
        }
        at += 1;
    }
    count
}

/// The encodings of one core with `counters` general-purpose counters; `N` is their [`count`].
pub(super) const fn of<const N: usize>(rows: &[Row], core: Cores, counters: u32) -> [Encoding; N] {
    let mut found = [rows[0].1; N];
    let (mut at, mut next) = (0, 0);
    while at < rows.len() {
        if rows[at].0 & core != 0 {
            found[next] = rows[at].1;
            found[next].counters &= (1 << counters) - 1;
            next += 1;
        }
        at += 1;
    }
    found
}

/// A row for every general-purpose counter that the core has.
const fn row(event: Event, select: u16, umask: u16) -> Encoding {
    Encoding {
        event,
        name: event.name(),
        code: EventCode::new(select, umask),
        counters: u32::MAX,
        extra: None,
    }
}

impl Encoding {
    const fn cmask(mut self, cmask: u8) -> Self {
        self.code.cmask = cmask;
        self
    }

    const fn inv(mut self) -> Self {
        self.code.inv = true;
        self
    }

    const fn edge(mut self) -> Self {
        self.code.edge = true;
        self
    }

    const fn on(mut self, counters: u32) -> Self {
        self.counters = counters;
        self
    }

    const fn extra(mut self, msr: u32, value: u64) -> Self {
        self.extra = Some(ExtraRegister { msr, value });
        self
    }

    const fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }
}
