//! The GICv3: private interrupts of the one CPU (Arm IHI 0069).

use guest_protocol::mmio::{GICD, GICR};

use super::{Exception, mmio, registers};

const GICD_CTLR: u64 = GICD;
/// ARE_NS and EnableGrp1.
const GICD_ENABLE: u32 = 1 << 4 | 1 << 1;
const GICR_WAKER: u64 = GICR + 0x14;
const WAKER_PROCESSOR_SLEEP: u32 = 1 << 1;
const WAKER_CHILDREN_ASLEEP: u32 = 1 << 2;
/// Frame of the private interrupts.
const SGI: u64 = GICR + 0x1_0000;
const GICR_IGROUPR0: u64 = SGI + 0x80;
const GICR_ISENABLER0: u64 = SGI + 0x100;
const GICR_ICENABLER0: u64 = SGI + 0x180;
const GICR_ISPENDR0: u64 = SGI + 0x200;
const GICR_ICPENDR0: u64 = SGI + 0x280;
const GICR_ISACTIVER0: u64 = SGI + 0x300;

const ICC_PMR_EL1: u32 = registers::packed(3, 0, 4, 6, 0);
const ICC_IAR1_EL1: u32 = registers::packed(3, 0, 12, 12, 0);
const ICC_EOIR1_EL1: u32 = registers::packed(3, 0, 12, 12, 1);
const ICC_CTLR_EL1: u32 = registers::packed(3, 0, 12, 12, 4);
const ICC_SRE_EL1: u32 = registers::packed(3, 0, 12, 12, 5);
const ICC_IGRPEN1_EL1: u32 = registers::packed(3, 0, 12, 12, 7);
const ICC_SGI1R_EL1: u32 = registers::packed(3, 0, 12, 11, 5);
/// INTIDs from here on are no interrupts.
const SPECIAL: u32 = 1020;
/// Looks at the redistributor until it is given up on.
const PATIENCE: u32 = 100_000;

/// Wakes the redistributor and lets interrupts of group 1 through to the CPU, none of them enabled.
pub(super) fn initialise() -> Result<(), Exception> {
    mmio::write(GICD_CTLR, GICD_ENABLE);
    mmio::write(GICR_WAKER, mmio::read(GICR_WAKER) & !WAKER_PROCESSOR_SLEEP);
    (0..PATIENCE).find(|_| mmio::read(GICR_WAKER) & WAKER_CHILDREN_ASLEEP == 0);
    mmio::write(GICR_IGROUPR0, u32::MAX);
    mmio::write(GICR_ICENABLER0, u32::MAX);
    registers::write(ICC_SRE_EL1, 7)?;
    registers::write(ICC_PMR_EL1, 0xFF)?;
    registers::write(ICC_CTLR_EL1, 0)?;
    registers::write(ICC_IGRPEN1_EL1, 1)
}

/// Lets the private interrupt `intid` (0 to 31) through.
pub fn enable(intid: u32) {
    mmio::write(GICR_ISENABLER0, 1 << intid);
}

/// Holds the private interrupt `intid` back; others are left alone.
pub fn disable(intid: u32) {
    if intid < u32::BITS {
        mmio::write(GICR_ICENABLER0, 1 << intid);
    }
}

/// The private interrupt `intid` is pending: its line is high, or it was sent.
#[must_use]
pub fn is_pending(intid: u32) -> bool {
    mmio::read(GICR_ISPENDR0) & 1 << intid != 0
}

/// Sends the software-generated interrupt `intid` (0 to 15) to this CPU.
pub fn send_to_self(intid: u32) {
    // Affinity 0.0.0, target 0.
    let _ = registers::write(ICC_SGI1R_EL1, u64::from(intid) << 24 | 1);
}

/// Takes the interrupt that is pending; `None` if it has gone away.
pub(super) fn acknowledge() -> Option<u32> {
    let intid = registers::read(ICC_IAR1_EL1).unwrap_or(SPECIAL.into()) as u32;
    (intid < SPECIAL).then_some(intid)
}

/// Ends an interrupt whose handler is done. While its line is high it arrives again.
pub fn end(intid: u32) {
    let _ = registers::write(ICC_EOIR1_EL1, intid.into());
}

/// Disables all private interrupts, and ends what an abandoned handler left.
pub(super) fn quiesce() {
    mmio::write(GICR_ICENABLER0, u32::MAX);
    let active = mmio::read(GICR_ISACTIVER0);
    (0..u32::BITS).filter(|intid| active & 1 << intid != 0).for_each(end);
    mmio::write(GICR_ICPENDR0, u32::MAX);
}
