//! A program at EL1 that switches the MMU on and looks at what it does, at EL0 too.

use crate::common::{AnyBus, BASE, CONSOLE, Recorder, reset};
use arm_cpu::{Budget, Cpu, Exit, State};

/// Where the program is, its exception vectors, a page of EL0's, and what the program reports.
const PROGRAM: u64 = BASE + 0x20_0000;
const VECTORS: u64 = PROGRAM + 0x800;
const USER: u64 = PROGRAM + 0x7000;
const LOG: u64 = PROGRAM + 0x8000;
/// Data that is not there at first, and data.
const LATER: u64 = PROGRAM + 0xA000;
const DATA: u64 = PROGRAM + 0xB000;
/// Tables: level 1 of the lower and the upper half, levels 2 and 3 of both, level 1 for another ASID.
const LOWER: u64 = PROGRAM + 0x1_0000;
const UPPER: u64 = PROGRAM + 0x1_1000;
const LEVEL_2: u64 = PROGRAM + 0x1_2000;
const LEVEL_3: u64 = PROGRAM + 0x1_3000;
const OTHER: u64 = PROGRAM + 0x1_4000;

/// The first address of the upper half; RAM is a gigabyte further on there, as in the lower half.
const HIGH: u64 = 0xFFFF_FF80_0000_0000;

const KERNEL_PAGE: u64 = 0x60_0000_0000_0703;

const CODE: &[u32] = &[
    // The MMU is off: data is Device memory.
    0x1000_4016, // adr x22, vectors
    0xD518_C016, // msr vbar_el1, x22
    0x1000_005B, // adr x27, 1f
    0xF840_2380, // ldur x0, [x28, #2]
    0x1000_005B, // adr x27, 1f
    0xD50B_743C, // dc zva, x28
    // It is switched on, and execution goes on in the upper half.
    0xD518_A201, // msr mair_el1, x1
    0xD518_2042, // msr tcr_el1, x2
    0xD518_2003, // msr ttbr0_el1, x3
    0xD518_2024, // msr ttbr1_el1, x4
    0xD503_3FDF, // isb
    0xD538_1000, // mrs x0, sctlr_el1
    0xB240_0000, // orr x0, x0, #1
    0xD518_1000, // msr sctlr_el1, x0
    0xD503_3FDF, // isb
    0x1000_00A0, // adr x0, upper
    0x8B05_0000, // add x0, x0, x5
    0x8B05_02D6, // add x22, x22, x5
    0xD518_C016, // msr vbar_el1, x22
    0xD61F_0000, // br x0
    // A page at two addresses, not aligned.
    0xF800_312B, // stur x11, [x9, #3]
    0xF840_314C, // ldur x12, [x10, #3]
    0xF801_078C, // str x12, [x28], #16
    // Not there; read-only; without access flag; never executed; PC not aligned.
    0x1000_005B, // adr x27, 1f
    0xF960_0120, // ldr x0, [x9, #0x4000]
    0x1000_005B, // adr x27, 1f
    0xF908_0120, // str x0, [x9, #0x1000]
    0x1000_005B, // adr x27, 1f
    0xF950_0120, // ldr x0, [x9, #0x2000]
    0x1000_005B, // adr x27, 1f
    0xD61F_0120, // br x9
    0x1000_007B, // adr x27, 1f
    0x9100_08A0, // add x0, x5, #2
    0xD61F_0000, // br x0
    // A device: not aligned, and DC ZVA.
    0x1000_005B, // adr x27, 1f
    0xB840_11A0, // ldur w0, [x13, #1]
    0x1000_005B, // adr x27, 1f
    0xD50B_742D, // dc zva, x13
    // DC IVAC of what is read-only, DC CVAC of what is not there.
    0x1000_007B, // adr x27, 1f
    0x9140_0520, // add x0, x9, #0x1, lsl #12
    0xD508_7620, // dc ivac, x0
    0x1000_005B, // adr x27, 1f
    0xD50B_7A30, // dc cvac, x16
    // Into a page that is not there; with the rights of EL0; between the halves; with a tag that is none.
    0x1000_007B, // adr x27, 1f
    0xD291_FFA0, // mov x0, #0x8ffd
    0xF940_0000, // ldr x0, [x0]
    0x1000_005B, // adr x27, 1f
    0xF840_0920, // ldtr x0, [x9]
    0x1000_007B, // adr x27, 1f
    0xD2C0_1000, // movz x0, #0x80, lsl #32
    0xF940_0000, // ldr x0, [x0]
    0x1000_007B, // adr x27, 1f
    0xF2E2_5FEA, // movk x10, #0x12ff, lsl #48
    0xF900_0140, // str x0, [x10]
    // With a tag.
    0xF2EB_4009, // movk x9, #0x5a00, lsl #48
    0xF840_312C, // ldur x12, [x9, #3]
    0xF801_078C, // str x12, [x28], #16
    0xF2E0_0009, // movk x9, #0, lsl #48
    // AT for a load of EL1 and a store of EL0.
    0xD508_7809, // at s1e1r, x9
    0xD538_7400, // mrs x0, par_el1
    0xF801_0780, // str x0, [x28], #16
    0xD508_7869, // at s1e0w, x9
    0xD538_7400, // mrs x0, par_el1
    0xF801_0780, // str x0, [x28], #16
    // What appears needs no TLBI, what is replaced does.
    0xF900_01CF, // str x15, [x14]
    0xD503_3A9F, // dsb ishst
    0xD503_3FDF, // isb
    0xF900_0210, // str x16, [x16]
    0xF940_0200, // ldr x0, [x16]
    0xF801_0780, // str x0, [x28], #16
    0xF900_01DF, // str xzr, [x14]
    0xD503_3A9F, // dsb ishst
    0xD34C_FE00, // lsr x0, x16, #12
    0xD508_8360, // tlbi vaae1is, x0
    0xD503_3B9F, // dsb ish
    0xD274_01EF, // eor x15, x15, #0x1000
    0xF900_01CF, // str x15, [x14]
    0xD503_3A9F, // dsb ishst
    0xD503_3FDF, // isb
    0xF940_0200, // ldr x0, [x16]
    0xF801_0780, // str x0, [x28], #16
    // Another ASID with tables of its own, and back.
    0xD518_2006, // msr ttbr0_el1, x6
    0xD503_3FDF, // isb
    0x1000_005B, // adr x27, 1f
    0xF940_0200, // ldr x0, [x16]
    0xD518_2003, // msr ttbr0_el1, x3
    0xD503_3FDF, // isb
    0xF940_0200, // ldr x0, [x16]
    0xF801_0780, // str x0, [x28], #16
    // EL0 loads what is the kernel's, and then executes it.
    0xD28E_0000, // mov x0, #0x7000
    0xD518_4020, // msr elr_el1, x0
    0xD518_401F, // msr spsr_el1, xzr
    0x1000_005B, // adr x27, 1f
    0xD69F_03E0, // eret
    0x1000_00BB, // adr x27, 1f
    0xD28E_0080, // mov x0, #0x7004
    0xD518_4020, // msr elr_el1, x0
    0xD518_401F, // msr spsr_el1, xzr
    0xD69F_03E0, // eret
    0x1000_007B, // adr x27, 1f
    // EL1 does not execute what EL0 may write.
    0xD290_0000, // mov x0, #0x8000
    0xD61F_0000, // br x0
    0xD280_0000, // mov x0, #0
    // The end.
    0xD400_0002, // hvc #0
];

/// A vector: ESR and FAR are reported, and X27 is where EL1 goes on.
const HANDLER: &[u32] = &[
    0xD538_5214, // mrs x20, esr_el1
    0xD538_6015, // mrs x21, far_el1
    0xA881_5794, // stp x20, x21, [x28], #16
    0xD518_403B, // msr elr_el1, x27
    0xD280_78B4, // mov x20, #0x3c5
    0xD518_4014, // msr spsr_el1, x20
    0xD69F_03E0, // eret
];

/// ldr x0, [x9]; br x9
const USER_CODE: &[u32] = &[0xF940_0120, 0xD61F_0120];

fn set_up<const OBSERVED: bool>() -> (AnyBus<OBSERVED>, State) {
    let mut bus = AnyBus::new(4 << 20);
    bus.write_words(PROGRAM, CODE);
    (0..16).for_each(|vector| bus.write_words(VECTORS + vector * 0x80, HANDLER));
    bus.write_words(USER, USER_CODE);
    for (table, first) in [(LOWER, LEVEL_2 | 3), (UPPER, LEVEL_2 | 3), (OTHER, 0)] {
        bus.write_u64(table, first);
        // The gigabyte with RAM, for EL1.
        bus.write_u64(table + 8, BASE | 0x701);
    }
    bus.write_u64(LEVEL_2, LEVEL_3 | 3);
    let read_only = 1 << 7;
    let user = 1 << 6;
    let pages = [
        0,
        DATA | KERNEL_PAGE,
        DATA | KERNEL_PAGE | read_only,
        // Without access flag.
        DATA | KERNEL_PAGE & !(1 << 10),
        CONSOLE | KERNEL_PAGE | 1 << 2,
        0,
        DATA | KERNEL_PAGE,
        USER | 0x703 | read_only | user,
        USER | 0x703 | user,
    ];
    (LEVEL_3..).step_by(8).zip(pages).for_each(|(at, page)| bus.write_u64(at, page));
    let mut state = State { pc: PROGRAM, ..reset() };
    for (register, value) in [
        // MAIR_EL1: Normal memory, Device-nGnRE. TCR_EL1: 39 bits, 16-bit ASIDs, TBI0.
        (1, 0x04FF),
        (2, 25 | 25 << 16 | 2 << 30 | 5 << 32 | 1 << 36 | 1 << 37),
        (3, LOWER),
        (4, UPPER),
        (5, HIGH),
        (6, OTHER | 1 << 48),
        (9, 0x1000),
        (10, HIGH + 0x1000),
        (11, 0x1122_3344_5566_7788),
        (13, 0x4000),
        (14, HIGH + LEVEL_3 + 5 * 8),
        (15, LATER | KERNEL_PAGE),
        (16, 0x5000),
        (28, LOG),
    ] {
        state.x[register] = value;
    }
    (bus, state)
}

/// What the program reports: ESR and FAR of exceptions, or a value and 0. A Cortex-A57 of QEMU 7.2 reports the same,
/// but does not do what is marked: it knows no alignment of Device memory, does nothing to caches, and asks whether
/// the address of an instruction is there before whether it is aligned.
const REPORT: &[[u64; 2]] = &[
    [0x9600_0021, LOG + 2],  // differs
    [0x9600_0061, LOG + 16], // differs
    [0x1122_3344_5566_7788, 0],
    [0x9600_0007, 0x5000],
    [0x9600_004F, 0x2000],
    [0x9600_000B, 0x3000],
    [0x8600_000F, 0x1000],
    [0x8A00_0000, HIGH + 2], // differs
    [0x9600_0021, 0x4001],   // differs
    [0x9600_0061, 0x4000],   // differs
    [0x9600_014F, 0x2000],   // differs
    [0x9600_0147, 0x5000],   // differs
    [0x9600_0007, 0x9000],
    [0x9600_000F, 0x1000],
    [0x9600_0004, 0x80_0000_0000],
    [0x9600_0044, 0x12FF_FF80_0000_1000],
    [0x1122_3344_5566_7788, 0],
    // PAR_EL1: cacheable and Inner Shareable; a permission fault at level 3.
    [0xFF00_0000_0000_0B80 | DATA, 0],
    [0x81F, 0],
    [0x5000, 0],
    [0x4455_6677_8800_0000, 0],
    [0x9600_0005, 0x5000],
    [0x4455_6677_8800_0000, 0],
    [0x9200_000F, 0x1000],
    [0x8200_000F, 0x1000],
    [0x8600_000F, 0x8000],
];

fn check<const OBSERVED: bool>(bus: &mut AnyBus<OBSERVED>, state: &State) -> Cpu<AnyBus<OBSERVED>> {
    let mut cpu = Cpu::new(state);
    assert_eq!(cpu.run(bus, Budget { instructions: 10_000 }), Exit::Attention);
    let report = (LOG..).step_by(16).map(|at| [bus.read_u64(at), bus.read_u64(at + 8)]);
    let end = cpu.state().x[28];
    let report: Vec<_> = report.take(((end - LOG) / 16) as usize).collect();
    let hex = |report: &[[u64; 2]]| -> Vec<_> { report.iter().map(|entry| format!("{entry:x?}")).collect() };
    assert_eq!(hex(&report), hex(REPORT));
    cpu
}

#[test]
fn a_program_switches_the_mmu_on() {
    let (mut bus, state) = set_up::<false>();
    let cpu = check(&mut bus, &state);
    // Of those that were not aligned three took place.
    assert_eq!(cpu.totals().el1().unaligned, 3);
    assert_eq!((cpu.totals().el0().instructions, cpu.totals().el0().loads), (1, 0));
}

#[test]
fn an_observer_sees_where_accesses_go() {
    let (mut bus, state) = set_up::<true>();
    bus.recorder = Some(Recorder::default());
    check(&mut bus, &state);
    let steps = bus.recorder.unwrap().steps;
    let accesses: Vec<_> = steps.iter().flat_map(|step| &step.memory).collect();
    let at = |linear| accesses.iter().find(|access| access.linear == linear).unwrap();
    let of_page = at(HIGH + 0x1003);
    assert_eq!((of_page.physical, of_page.page, of_page.write), (DATA + 3, 12, false));
    let of_block = at(HIGH + LEVEL_3 + 5 * 8);
    assert_eq!((of_block.physical, of_block.page, of_block.write), (LEVEL_3 + 5 * 8, 30, true));
    // Tags are not part of addresses.
    assert!(accesses.iter().all(|access| access.linear >> 56 == 0 || access.linear >> 39 == HIGH >> 39));
}
