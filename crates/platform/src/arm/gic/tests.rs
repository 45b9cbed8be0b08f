//! What a guest sees of the interrupt controller.

use super::{FRAME, Gic, INTERRUPTS, IccRegister as R, Lines};
use random_testing::Random;

const TIMER: u32 = 27;
const UART: u32 = 33;
const IRQ: Lines = Lines { irq: true, fiq: false };
const NONE: Lines = Lines { irq: false, fiq: false };
/// Offset of `SGI_base` in the redistributor.
const SGI: u64 = FRAME;

impl Gic {
    fn distributor(&self, offset: u64) -> u32 {
        let mut data = [0; 4];
        self.read_distributor(offset, &mut data);
        u32::from_le_bytes(data)
    }

    fn redistributor(&self, offset: u64) -> u32 {
        let mut data = [0; 4];
        self.read_redistributor(offset, &mut data);
        u32::from_le_bytes(data)
    }

    fn set_distributor(&mut self, offset: u64, value: u32) {
        self.write_distributor(offset, &value.to_le_bytes());
    }

    fn set_redistributor(&mut self, offset: u64, value: u32) {
        self.write_redistributor(offset, &value.to_le_bytes());
    }

    fn get(&mut self, register: R) -> u64 {
        self.read_system(register).expect("it can be read")
    }

    fn set(&mut self, register: R, value: u64) {
        self.write_system(register, value).expect("it can be written");
    }

    /// As Linux's driver leaves it: everything in group 1 with priority A0H, the CPU awake and taking group 1.
    fn linux() -> Self {
        let mut gic = Self::default();
        gic.set_distributor(0, 0);
        for word in 1..3 {
            gic.set_distributor(0x80 + 4 * word, u32::MAX);
            gic.set_distributor(0x180 + 4 * word, u32::MAX);
        }
        for word in 8..24 {
            gic.set_distributor(0x400 + 4 * word, 0xA0A0_A0A0);
        }
        gic.set_distributor(0, 0x12);
        gic.set_redistributor(0x14, 0);
        assert_eq!(gic.redistributor(0x14), 0, "awake");
        gic.set_redistributor(SGI + 0x80, u32::MAX);
        for word in 0..8 {
            gic.set_redistributor(SGI + 0x400 + 4 * word, 0xA0A0_A0A0);
        }
        gic.set(R::Pmr, 0xF0);
        gic.set(R::Bpr1, 0);
        gic.set(R::Ctlr, 0);
        gic.set(R::Igrpen1, 1);
        gic
    }

    fn enable(&mut self, intid: u32) {
        let word = u64::from(intid / 32) * 4;
        if word == 0 {
            self.set_redistributor(SGI + 0x100, 1 << intid);
        } else {
            self.set_distributor(0x100 + word, 1 << (intid % 32));
        }
    }
}

#[test]
fn a_level_interrupts_until_it_is_taken_and_again_if_it_stays() {
    let mut gic = Gic::linux();
    gic.set_level(TIMER, true);
    assert_eq!(gic.lines(), NONE, "not enabled");
    gic.enable(TIMER);
    assert_eq!(gic.lines(), IRQ);
    assert_eq!(gic.get(R::Hppir1), u64::from(TIMER));
    assert_eq!(gic.get(R::Iar0), 1023, "it is of group 1");
    assert_eq!(gic.get(R::Iar1), u64::from(TIMER));
    assert_eq!((gic.lines(), gic.get(R::Rpr), gic.get(R::Ap1r0)), (NONE, 0xA0, 1 << 20));
    assert_eq!(gic.redistributor(SGI + 0x300), 1 << TIMER, "active");
    gic.set(R::Eoir1, TIMER.into());
    assert_eq!((gic.lines(), gic.get(R::Rpr)), (IRQ, 0xFF), "the level stays");
    assert_eq!(gic.get(R::Iar1), u64::from(TIMER));
    gic.set_level(TIMER, false);
    gic.set(R::Eoir1, TIMER.into());
    assert_eq!(gic.lines(), NONE);
    assert_eq!(gic.get(R::Iar1), 1023, "spurious");
}

#[test]
fn an_edge_is_latched_and_counts_once() {
    let mut gic = Gic::linux();
    // Bit 1 of the field of INTID 33.
    gic.set_distributor(0xC08, 0b1000);
    assert_eq!(gic.distributor(0xC08), 0b1000);
    gic.enable(UART);
    gic.set_level(UART, true);
    gic.set_level(UART, false);
    assert_eq!(gic.lines(), IRQ);
    assert_eq!(gic.distributor(0x204), 2, "pending");
    assert_eq!(gic.get(R::Iar1), u64::from(UART));
    gic.set(R::Eoir1, UART.into());
    gic.set_level(UART, true);
    gic.set_level(UART, true);
    assert_eq!(gic.get(R::Iar1), u64::from(UART));
    gic.set(R::Eoir1, UART.into());
    assert_eq!(gic.lines(), NONE, "no further edge");
}

#[test]
fn the_more_urgent_one_preempts() {
    let mut gic = Gic::linux();
    gic.enable(TIMER);
    gic.enable(UART);
    gic.write_distributor(0x400 + u64::from(UART), &[0x80]);
    gic.set_level(TIMER, true);
    assert_eq!(gic.get(R::Iar1), u64::from(TIMER));
    gic.set_level(UART, true);
    assert_eq!(gic.lines(), IRQ);
    assert_eq!(gic.get(R::Iar1), u64::from(UART));
    assert_eq!((gic.get(R::Rpr), gic.get(R::Ap1r0)), (0x80, 1 << 16 | 1 << 20));
    gic.set_level(UART, false);
    gic.set(R::Eoir1, UART.into());
    assert_eq!(gic.get(R::Rpr), 0xA0, "back in the first");
    gic.set(R::Eoir1, TIMER.into());
    // With group priorities of one bit neither preempts the other.
    gic.set(R::Bpr1, 7);
    assert_eq!(gic.get(R::Iar1), u64::from(TIMER));
    gic.set_level(UART, true);
    assert_eq!((gic.lines(), gic.get(R::Rpr)), (NONE, 0x80));
    gic.set(R::Eoir1, TIMER.into());
    assert_eq!(gic.lines(), IRQ);
    gic.set(R::Bpr1, 0);
    gic.set(R::Pmr, 0x80);
    assert_eq!(gic.lines(), NONE, "masked by priority");
}

#[test]
fn groups_are_told_apart() {
    let mut gic = Gic::linux();
    gic.enable(UART);
    gic.set_distributor(0x84, 0);
    gic.set_level(UART, true);
    assert_eq!(gic.lines(), NONE, "group 0 is off");
    gic.set_distributor(0, 3);
    assert_eq!(gic.lines(), NONE, "at the CPU too");
    gic.set(R::Igrpen0, 1);
    assert_eq!(gic.lines(), Lines { irq: false, fiq: true });
    assert_eq!((gic.get(R::Iar1), gic.get(R::Iar0)), (1023, u64::from(UART)));
    gic.set(R::Eoir1, UART.into());
    assert_eq!(gic.get(R::Rpr), 0xA0, "the end of the other group changes nothing");
    gic.set(R::Eoir0, UART.into());
    assert_eq!(gic.get(R::Rpr), 0xFF);
}

#[test]
fn the_end_may_be_in_two_steps() {
    let mut gic = Gic::linux();
    gic.enable(TIMER);
    gic.set(R::Ctlr, 2);
    gic.set_level(TIMER, true);
    assert_eq!(gic.get(R::Iar1), u64::from(TIMER));
    gic.set(R::Eoir1, TIMER.into());
    assert_eq!((gic.get(R::Rpr), gic.lines()), (0xFF, NONE), "still active");
    gic.set(R::Dir, TIMER.into());
    assert_eq!(gic.lines(), IRQ);
}

#[test]
fn sgis_come_to_this_cpu_alone() {
    let mut gic = Gic::linux();
    gic.enable(5);
    for (value, comes) in [
        (5 << 24 | 1, true),
        (5 << 24 | 2, false),
        (5 << 24 | 1 | 1 << 16, false),
        (5 << 24 | 1 | 1 << 32, false),
        (5 << 24 | 1 | 1 << 40, false),
        (5 << 24 | 1 | 1 << 48, false),
    ] {
        gic.set(R::Sgi1r, value);
        assert_eq!(gic.lines().irq, comes, "{value:#x}");
        gic.set_redistributor(SGI + 0x280, u32::MAX);
    }
    gic.set(R::Sgi0r, 5 << 24 | 1);
    assert_eq!(gic.lines(), NONE, "it is not in group 0");
    gic.set_level(5, true);
    assert_eq!(gic.lines(), NONE, "an SGI has no input");
}

#[test]
fn a_route_elsewhere_and_a_sleeping_cpu_get_nothing() {
    let mut gic = Gic::linux();
    gic.enable(UART);
    gic.set_level(UART, true);
    let route = 0x6000 + 8 * u64::from(UART);
    gic.write_distributor(route, &3_u64.to_le_bytes());
    assert_eq!(gic.lines(), NONE);
    gic.write_distributor(route, &u64::MAX.to_le_bytes());
    let mut data = [0; 8];
    gic.read_distributor(route, &mut data);
    assert_eq!(u64::from_le_bytes(data), 0xFF_80FF_FFFF, "reserved bits");
    assert_eq!(gic.lines(), IRQ, "to any");
    gic.set_redistributor(0x14, 2);
    assert_eq!((gic.redistributor(0x14), gic.lines()), (6, NONE));
}

#[test]
fn what_drivers_look_at_is_there() {
    let mut gic = Gic::default();
    assert_eq!(gic.distributor(0) & 0x50, 0x50, "ARE and DS");
    assert_eq!(gic.distributor(4) & 0x1F, 2, "96 INTIDs");
    assert_eq!([gic.distributor(0xFFE8) >> 4 & 15, gic.redistributor(0xFFE8) >> 4 & 15], [3, 3], "GICv3");
    let mut data = [0; 8];
    gic.read_redistributor(8, &mut data);
    assert_eq!(u64::from_le_bytes(data), 0x10, "the last redistributor");
    assert_eq!((gic.redistributor(0x14), gic.get(R::Sre)), (6, 7));
    assert_eq!((gic.get(R::Ctlr) >> 8 & 7, gic.get(R::Bpr0), gic.get(R::Bpr1)), (4, 2, 3));
    gic.set(R::Pmr, 0xFF);
    assert_eq!(gic.get(R::Pmr), 0xF8, "five bits of priority");
    gic.set_redistributor(SGI + 0xC00, 0);
    assert_eq!(gic.redistributor(SGI + 0xC00), 0xAAAA_AAAA, "SGIs are edges");
    for (offset, what) in
        [(0x80, "SGIs' group"), (0x400, "SGIs' priority"), (0xC00, "SGIs' configuration"), (0x800, "targets")]
    {
        gic.set_distributor(offset, u32::MAX);
        assert_eq!(gic.distributor(offset), 0, "{what}");
    }
    for register in [R::Eoir0, R::Eoir1, R::Dir, R::Sgi0r, R::Sgi1r, R::Asgi1r] {
        assert!(gic.read_system(register).is_err(), "{register:?}");
    }
    for register in [R::Iar0, R::Iar1, R::Hppir0, R::Hppir1, R::Rpr] {
        assert!(gic.write_system(register, 0).is_err(), "{register:?}");
    }
    assert_eq!(R::find(0x18_CC00), Some(R::Iar1), "S3_0_C12_C12_0");
    assert_eq!(R::find(0x18_C000), None, "VBAR_EL1");
}

/// Random accesses: never a panic, a state that can be saved, and what the CPU may take is what a search by the rules
/// finds.
#[test]
fn random_accesses_keep_the_rules() {
    let mut random = Random::new(1);
    let mut taken = 0;
    for round in 0..50 {
        let mut gic = if round % 5 == 0 { Gic::default() } else { Gic::linux() };
        (0..INTERRUPTS).for_each(|intid| gic.enable(intid));
        for _ in 0..300 {
            let offsets =
                [0, 0x14, 0x80, 0x100, 0x180, 0x200, 0x280, 0x300, 0x380, 0x400, 0x420, 0xC00, 0xC08, 0x6100];
            let near = random.pick(&offsets) + 4 * random.below(4);
            let offset = if random.one_in(4) { random.below(FRAME) } else { near };
            let value = (random.bits() & random.bits()).to_le_bytes();
            let size = random.pick(&[1, 2, 4, 8]);
            let mut data = [0; 8];
            match random.below(40) {
                0 => gic.write_distributor(offset, &value[..size]),
                1 => gic.write_redistributor(offset + FRAME * random.below(2), &value[..size]),
                2 => gic.read_distributor(offset, &mut data[..size]),
                3 => gic.read_redistributor(offset + FRAME * random.below(2), &mut data[..size]),
                4 => {
                    let (register, _) = random.pick(R::ALL);
                    let _ = gic.write_system(register, random.bits() & random.bits());
                }
                5..10 => {
                    let intid = random.below(INTERRUPTS.into());
                    gic.write_distributor(0x400 + intid, &value[..1]);
                    gic.write_redistributor(SGI + 0x400 + intid, &value[..1]);
                }
                10..16 => {
                    let (register, _) = random.pick(R::ALL);
                    let _ = gic.read_system(register);
                }
                16..22 => {
                    let end = random.pick(&[R::Eoir0, R::Eoir1]);
                    gic.set(end, random.below(INTERRUPTS.into()));
                }
                _ => gic.set_level(random.below(u64::from(INTERRUPTS) + 40) as u32, !random.one_in(3)),
            }
            assert!(gic.is_valid());
            let expected = naive(&gic);
            let lines = gic.lines();
            assert_eq!([lines.fiq, lines.irq], [expected == Some(0), expected == Some(1)]);
            taken += u32::from(expected.is_some());
        }
        let saved = serde_json::to_string(&gic).expect("it is saved");
        assert_eq!(serde_json::from_str::<Gic>(&saved).expect("it is restored"), gic);
    }
    assert!(taken > 1000, "{taken} states with an interrupt");
}

/// The group of the interrupt that the CPU may take, from what registers say.
fn naive(gic: &Gic) -> Option<usize> {
    let mut reader = gic.clone();
    let mut get = |register| reader.read_system(register).expect("it can be read");
    let word = |own: u64, shared: u64, intid: u32| {
        let bits = if intid < 32 {
            gic.redistributor(SGI + own)
        } else {
            gic.distributor(shared + u64::from(intid / 32) * 4)
        };
        bits >> (intid % 32) & 1 != 0
    };
    let running = get(R::Rpr);
    let enabled = [get(R::Igrpen0), get(R::Igrpen1)];
    let (mask, common) = (get(R::Pmr), get(R::Ctlr) & 1 != 0);
    let points = [get(R::Bpr0) + 1, if common { get(R::Bpr0) + 1 } else { get(R::Bpr1) }];
    let mut best: Option<(u64, u32, usize)> = None;
    for intid in 0..INTERRUPTS {
        let group = usize::from(word(0x80, 0x80, intid));
        let mut priority = [0];
        let mut route = [0; 8];
        if intid < 32 {
            gic.read_redistributor(SGI + 0x400 + u64::from(intid), &mut priority);
        } else {
            gic.read_distributor(0x400 + u64::from(intid), &mut priority);
            gic.read_distributor(0x6000 + 8 * u64::from(intid), &mut route);
        }
        let route = u64::from_le_bytes(route);
        let candidate = word(0x100, 0x100, intid)
            && word(0x200, 0x200, intid)
            && !word(0x300, 0x300, intid)
            && (route == 0 || route >> 31 & 1 != 0)
            && enabled[group] != 0
            && gic.distributor(0) >> group & 1 != 0;
        let key = (u64::from(priority[0]), intid, group);
        if candidate && best.is_none_or(|best| key < best) {
            best = Some(key);
        }
    }
    let (priority, _, group) = best?;
    let urgent = priority < mask && (priority >> points[group] << points[group]) < running;
    (urgent && gic.redistributor(0x14) == 0).then_some(group)
}
