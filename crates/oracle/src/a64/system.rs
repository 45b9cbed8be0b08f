//! System instructions of user mode.

use random_testing::Random;

/// Fixed bits of the class (Arm ARM C4.1.87).
const SYSTEM: u32 = 0xD500_0000;
/// The names that user mode can use: op0, op1, CRn, CRm, op2; and whether it may read and write.
const NAMES: [([u32; 5], bool, bool); 19] = [
    // NZCV, FPCR, FPSR, TPIDR_EL0.
    ([3, 3, 4, 2, 0], true, true),
    ([3, 3, 4, 2, 0], true, true),
    ([3, 3, 4, 4, 0], true, true),
    ([3, 3, 4, 4, 0], true, true),
    ([3, 3, 4, 4, 1], true, true),
    ([3, 3, 4, 4, 1], true, true),
    ([3, 3, 13, 0, 2], true, true),
    // TPIDRRO_EL0, CTR_EL0, DCZID_EL0: writes are UNDEFINED.
    ([3, 3, 13, 0, 3], false, true),
    ([3, 3, 0, 0, 1], true, true),
    ([3, 3, 0, 0, 7], true, true),
    // DAIF, SPSel, CurrentEL: not for user mode.
    ([3, 3, 4, 2, 1], true, true),
    ([3, 0, 4, 2, 0], true, true),
    ([3, 0, 4, 2, 2], true, true),
    // DC ZVA, three times as often; DC CVAC, DC CVAU, DC CIVAC, IC IVAU.
    ([1, 3, 7, 4, 1], false, true),
    ([1, 3, 7, 4, 1], false, true),
    ([1, 3, 7, 10, 1], false, true),
    ([1, 3, 7, 11, 1], false, true),
    ([1, 3, 7, 14, 1], false, true),
    ([1, 3, 7, 5, 1], false, true),
];

/// A hint, a barrier, an access to a register, cache maintenance, or any word of the class.
pub(super) fn word(random: &mut Random) -> u32 {
    let any = random.bits() as u32;
    match random.below(16) {
        // Hints.
        0 | 1 => 0xD503_201F | any & 0xFE0,
        // Barriers, CLREX.
        2 | 3 => 0xD503_301F | any & 0xFE0,
        4 => SYSTEM | any & 0x3F_FFFF,
        // PSTATE.
        5 => 0xD500_401F | any & 0x7_0FE0,
        _ => {
            let ([op0, op1, crn, crm, op2], read, write) = random.pick(&NAMES);
            let direction = read && (!write || any >> 5 & 1 == 1);
            SYSTEM
                | u32::from(direction) << 21
                | op0 << 19
                | op1 << 16
                | crn << 12
                | crm << 8
                | op2 << 5
                | any & 0x1F
        }
    }
}
