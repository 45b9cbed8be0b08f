//! Address translation instructions (Arm ARM C5.4) and their answer in PAR_EL1 (Arm ARM D17.2.111).

use super::fault::Status;
use super::regime::Regime;
use super::request::{Intent, Request};
use super::walk::{Translation, translate};
use soft_base::Ram;

/// PAR_EL1.F: the translation is aborted.
const ABORTED: u64 = 1;
/// PAR_EL1.SH, and FST of an abort, begin here.
const SH: u32 = 7;
const FST: u32 = 1;
/// PAR_EL1 bit 9, NS: the result is that of Non-secure state, where it may have any value. It is set, as in QEMU.
const NON_SECURE: u64 = 1 << 9;
/// PAR_EL1 bit 11 is RES1.
const ONES: u64 = 1 << 11;
const PA: u64 = 0x0000_FFFF_FFFF_F000;
const ATTR: u32 = 56;
/// Outer shareable, and what all memory is that no cache has (Normal memory that is neither Inner nor Outer Cacheable).
const OUTER_SHAREABLE: u64 = 2;
const NON_CACHEABLE: u8 = 0x44;

/// The value of PAR_EL1 after an AT with op1 0, CRn 7, CRm 8 and this op2: S1E1R, S1E1W, S1E0R or S1E0W.
///
/// # Errors
/// An external abort on a walk is not reported in PAR_EL1 but taken.
pub(crate) fn probe<R: Ram>(regime: &Regime, ram: &mut R, op2: u32, va: u64) -> Result<u64, Status> {
    let intent = if op2 & 1 == 0 { Intent::Read } else { Intent::Write };
    let request = Request { intent, el0: op2 & 2 != 0, aligned: true };
    match translate(regime, ram, regime.untagged(va), request) {
        Ok(translation) => Ok(found(translation)),
        Err(status @ Status::ExternalOnWalk(_)) => Err(status),
        Err(status) => Ok(ONES | u64::from(status.code()) << FST | ABORTED),
    }
}

fn found(translation: Translation) -> u64 {
    let attributes = translation.attributes;
    let shareability = if translation.is_device() || attributes == NON_CACHEABLE {
        OUTER_SHAREABLE
    } else {
        u64::from(translation.shareability)
    };
    u64::from(attributes) << ATTR | translation.address & PA | ONES | NON_SECURE | shareability << SH
}
