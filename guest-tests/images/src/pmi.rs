//! Receiving PMIs.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_runtime::{
    Frame, Handler, apic, check, check_eq, rdmsr, set_handler, spin_until, traps, with_interrupts,
};

use crate::{msr::GLOBAL_STATUS, work::busy};

/// Vector of PMIs that come as plain interrupts.
pub const VECTOR: u8 = 0x52;
/// Ticks after which a PMI is given up. Far beyond what any machine needs; only ends a test that
/// would hang otherwise.
pub const PATIENCE: u64 = 4_000_000_000;

static ARRIVALS: AtomicU64 = AtomicU64::new(0);
static STATUS: AtomicU64 = AtomicU64::new(0);
static LVTPC: AtomicU64 = AtomicU64::new(0);

/// What the last PMI's handler saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// GLOBAL_STATUS.
    pub status: u64,
    /// The LVT entry.
    pub lvtpc: u32,
}

/// Notes what it sees and changes nothing, so that LVTPC stays masked and the status stays set.
fn note(frame: &mut Frame) {
    STATUS.store(rdmsr(GLOBAL_STATUS).unwrap_or(u64::MAX), Relaxed);
    LVTPC.store(u64::from(apic::lvtpc()), Relaxed);
    arrived(frame);
}

/// For handlers of a test's own: counts the arrival and ends an interrupt.
pub fn arrived(frame: &Frame) {
    ARRIVALS.fetch_add(1, Relaxed);
    if frame.vector != u64::from(traps::NMI) {
        apic::eoi();
    }
}

/// PMIs come as NMIs from now on; `handler` calls [`arrived`].
pub fn as_nmi_to(handler: Handler) {
    ARRIVALS.store(0, Relaxed);
    set_handler(traps::NMI, Some(handler));
    apic::set_lvtpc(apic::Pmi::Nmi);
}

/// PMIs come as NMIs from now on, and are noted.
pub fn as_nmi() {
    as_nmi_to(note);
}

/// PMIs come as interrupts [`VECTOR`] from now on, and are noted.
pub fn as_vector() {
    ARRIVALS.store(0, Relaxed);
    set_handler(VECTOR, Some(note));
    apic::set_lvtpc(apic::Pmi::Vector(VECTOR));
}

/// PMIs since the last `as_...`.
#[must_use]
pub fn arrivals() -> u64 {
    ARRIVALS.load(Relaxed)
}

/// Runs, with interrupts let in, until `count` PMIs have come; fails the test if they do not.
#[track_caller]
pub fn wait_for(count: u64) {
    let came = with_interrupts(|| spin_until(PATIENCE, || arrivals() >= count));
    check!(came, "{} PMIs came, {count} expected", arrivals());
}

/// Runs until one PMI has come, and a while longer: it must stay the only one.
#[track_caller]
pub fn wait_for_one() -> Seen {
    wait_for(1);
    expect_no_more_than(1);
    Seen { status: STATUS.load(Relaxed), lvtpc: LVTPC.load(Relaxed) as u32 }
}

/// Runs for a while and fails the test if more than `count` PMIs have come.
#[track_caller]
pub fn expect_no_more_than(count: u64) {
    with_interrupts(busy);
    check_eq!(arrivals(), count, "PMIs");
}
