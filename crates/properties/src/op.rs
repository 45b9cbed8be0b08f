//! What can happen to a vPMU, and how bytes say so.

use crate::input::Input;
use crate::subject::{Slot, Subject, USUAL_CODES};
use std::fmt;
use vpmu::BranchKind;
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::register::{RegisterId, amd, intel};

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// The guest writes an MSR.
    Wrmsr { index: u32, value: u64 },
    /// The guest reads one.
    Rdmsr { index: u32 },
    /// RDPMC.
    Rdpmc { ecx: u32, context: RdpmcContext },
    /// `cycles` cycles pass with `each` occurrences of an event in each. The vPMU hears of it at once, or when
    /// somebody next looks.
    Count { event: Event, os: bool, each: u64, cycles: u64, at_once: bool },
    /// Slots pass, by category.
    Slots { os: bool, fields: [u64; 8], at_once: bool },
    /// A running counter goes on until so many occurrences before or after its overflow.
    ToOverflow { which: u8, beyond: i8 },
    /// A taken branch.
    Branch { kind: BranchKind, levels: (u8, u8), from: u64, to: u64, mispredicted: bool, cycles: u64 },
    /// An exception or interrupt other than #DB.
    Interrupt,
    /// #DB.
    DebugException,
    /// XSAVES and XRSTORS of the branch records, one word changed in between; without one: their initial state.
    Xrstors { change: Option<(u8, u64)> },
    /// Save and restore, into the same vPMU or a new one.
    Migrate { fresh: bool },
    /// Save, for a later roll-back.
    Snapshot,
    /// Go back to the last snapshot.
    RollBack,
    /// Restore a saved state with one word changed.
    Tamper { word: u8, value: u64, flip: bool },
    /// The local APIC takes the PMI.
    TakePmi,
    /// RESET.
    Reset,
    /// Check every register.
    Look,
}

impl Op {
    /// The next operation of the input.
    pub(crate) fn read(input: &mut Input<'_>, subject: &Subject) -> Self {
        match input.byte() {
            0..=79 => {
                let slot = *a_register(input, subject);
                Self::Wrmsr { index: slot.index, value: value(input, subject, &slot) }
            }
            80..=87 => Self::Wrmsr { index: any_index(input), value: input.quad() },
            88..=107 => Self::Rdmsr { index: a_register(input, subject).index },
            108..=115 => Self::Rdmsr { index: any_index(input) },
            116..=135 => rdpmc(input),
            136..=169 => Self::Count {
                event: event(input, subject),
                os: input.one_in(2),
                each: if input.one_in(4) { u64::from(input.byte()) * 2 } else { 1 },
                cycles: amount(input),
                at_once: !input.one_in(3),
            },
            170..=181 => slots(input),
            182..=203 => {
                Self::ToOverflow { which: input.byte(), beyond: *input.pick(&[-1, 0, 0, 0, 1, 7, -100, 100]) }
            }
            204..=208 => Self::TakePmi,
            209 | 210 => Self::Interrupt,
            211 => Self::DebugException,
            212..=231 => Self::Branch {
                kind: *input.pick(&BranchKind::ALL),
                levels: *input.pick(&[(0, 0), (3, 0), (0, 3), (3, 3)]),
                from: u64::from(input.word()) << 4 | 0x40_0000,
                to: u64::from(input.word()) << 4 | 0xFFFF_8000_0000_0000,
                mispredicted: input.one_in(4),
                cycles: u64::from(input.byte()).pow(2),
            },
            232..=235 => {
                Self::Xrstors { change: (!input.one_in(4)).then(|| (input.byte(), u64::from(input.word()))) }
            }
            236..=239 => Self::Migrate { fresh: input.one_in(2) },
            240 | 241 => Self::Snapshot,
            242 | 243 => Self::RollBack,
            244..=247 => Self::Tamper {
                word: input.byte(),
                value: if input.one_in(2) { 1 << (input.byte() & 63) } else { input.quad() },
                flip: input.one_in(2),
            },
            248 if input.one_in(2) => Self::Reset,
            _ => Self::Look,
        }
    }
}

/// One instance of a register that the CPU has. Every register is as likely as another, those of the
/// general-purpose counters more.
fn a_register<'s>(input: &mut Input<'_>, subject: &'s Subject) -> &'s Slot {
    let count = subject.registers.len();
    let at = match usize::from(input.byte()) {
        at @ 192.. => at % 3,
        at => at,
    };
    input.pick(&subject.registers[at % count])
}

/// Any MSR: neighbours of the PMUs' registers mostly.
fn any_index(input: &mut Input<'_>) -> u32 {
    let base = *input.pick(&[
        0xC0,
        0x186,
        0x1A0,
        0x1C8,
        0x1D9,
        0x309,
        0x329,
        0x345,
        0x38C,
        0x3F0,
        0x4C0,
        0x600,
        0x680,
        0x6C0,
        0xDC0,
        0x1200,
        0x14CC,
        0x1500,
        0x1600,
        0x1900,
        0x1980,
        0xC000_0100,
        0xC000_0300,
        0xC001_0000,
        0xC001_0200,
        0xC001_0300,
    ]);
    match input.byte() {
        255 => input.double(),
        offset => base + u32::from(offset % 48),
    }
}

/// What is written to a register: mostly something that makes sense there.
fn value(input: &mut Input<'_>, subject: &Subject, slot: &Slot) -> u64 {
    use amd::RegisterId as A;
    use intel::RegisterId as I;
    let kind = input.byte();
    if kind < 16 {
        return input.quad();
    }
    let sensible = if slot.is_select() {
        let codes = if input.one_in(6) { &subject.codes[..] } else { &subject.codes[..USUAL_CODES] };
        let code = input.pick(codes).0;
        let rings = u64::from(*input.pick(&[3_u8, 3, 1, 2])) << 16;
        let interrupt = u64::from(input.one_in(2)) << 20;
        let enable = u64::from(!input.one_in(8)) << 22;
        // CMASK, INV and E now and then.
        let modifiers = if input.one_in(16) { u64::from(input.word()) << 18 & 0xFF84_0000 } else { 0 };
        code | rings | interrupt | enable | modifiers
    } else if slot.is_counter() {
        match input.byte() {
            0..=99 => u64::from(input.byte()).wrapping_neg(),
            100..=149 => slot.stored - u64::from(input.byte()).min(slot.stored),
            150..=189 => 0xFFFF,
            190..=219 => u64::from(input.byte()),
            220..=239 => *input.pick(&[0, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000, u64::MAX]),
            _ => input.quad(),
        }
    } else {
        match slot.id {
            RegisterId::Intel(I::PerfGlobalCtrl) | RegisterId::Amd(A::PerfCntrGlobalCtl)
                if !input.one_in(4) =>
            {
                slot.stored
            }
            RegisterId::Intel(I::FixedCtrCtrl) if input.one_in(2) => 0xBBBB & slot.accepted,
            RegisterId::Intel(I::ArchLbrDepth) => 8 * u64::from(input.byte() % 6),
            RegisterId::Intel(I::ArchLbrCtl) if input.one_in(2) => 0x7F_0007,
            RegisterId::Intel(I::LbrSelect) | RegisterId::Amd(A::LbrSelect) if input.one_in(2) => 0,
            RegisterId::Intel(I::PerfMetrics) => match input.byte() {
                0..=99 => 0,
                100..=199 => 0x4040_403F,
                _ => input.quad(),
            },
            RegisterId::Intel(I::MiscEnable) => 0x1881 ^ 1 << (input.byte() & 63),
            _ => match input.byte() {
                0..=49 => 0,
                50..=99 => slot.accepted,
                100..=149 => 1 << (input.byte() & 63),
                _ => input.quad() & slot.accepted,
            },
        }
    };
    // One bit too many.
    if kind < 32 { sensible | 1 << (input.byte() & 63) } else { sensible }
}

fn event(input: &mut Input<'_>, subject: &Subject) -> Event {
    let codes = if input.one_in(4) { &subject.codes[..] } else { &subject.codes[..USUAL_CODES] };
    match input.pick(codes).1 {
        // Slots happen by category.
        Some(event) if event.counts_as() != Event::TopdownSlots.counts_as() => event,
        _ => subject.codes[0].1.unwrap_or(Event::InstRetiredAny),
    }
}

/// Mostly few, so that overflows are hit closely; now and then enough to wrap several times.
fn amount(input: &mut Input<'_>) -> u64 {
    match input.byte() {
        0..=3 => u64::from(input.double()) << 17,
        4..=15 => u64::from(input.double()),
        16..=63 => u64::from(input.word()),
        _ => u64::from(input.byte()),
    }
}

fn slots(input: &mut Input<'_>) -> Op {
    let mut fields = [0; 8];
    for n in 0..4 {
        fields[n] = amount(input);
        fields[n + 4] = match input.byte() {
            0..=63 => 0,
            64..=127 => fields[n],
            part => fields[n] / u64::from(part),
        };
    }
    Op::Slots { os: input.one_in(2), fields, at_once: !input.one_in(3) }
}

fn rdpmc(input: &mut Input<'_>) -> Op {
    let ecx = match input.byte() {
        0..=119 => u32::from(input.byte() % 10),
        120..=179 => 0x4000_0000 + u32::from(input.byte() % 5),
        180..=219 => 0x2000_0000,
        220..=239 => 1 << (input.byte() & 31),
        _ => input.double(),
    };
    let context = match input.byte() {
        0..=63 => {
            RdpmcContext { cpl: input.byte() & 3, pce: input.one_in(2), protected_mode: input.one_in(2) }
        }
        _ => RdpmcContext::RING0,
    };
    Op::Rdpmc { ecx, context }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = |os: bool| if os { "CPL 0" } else { "CPL 3" };
        let when = |at_once: bool| if at_once { "" } else { ", unnoticed" };
        match *self {
            Self::Wrmsr { index, value } => write!(f, "wrmsr {index:#x} = {value:#x}"),
            Self::Rdmsr { index } => write!(f, "rdmsr {index:#x}"),
            Self::Rdpmc { ecx, context: c } => {
                write!(f, "rdpmc {ecx:#x} cpl={} pce={} pe={}", c.cpl, c.pce, c.protected_mode)
            }
            Self::Count { event, os, each, cycles, at_once } => {
                write!(
                    f,
                    "{cycles} cycles with {each} {} each at {}{}",
                    event.name(),
                    ring(os),
                    when(at_once)
                )
            }
            Self::Slots { os, fields, at_once } => {
                write!(f, "slots {fields:?} at {}{}", ring(os), when(at_once))
            }
            Self::ToOverflow { which, beyond } => {
                write!(f, "running counter {which} (modulo their number) goes to its overflow {beyond:+}")
            }
            Self::Interrupt => write!(f, "an exception or interrupt"),
            Self::DebugException => write!(f, "#DB"),
            Self::Branch { kind, levels: (from_cpl, cpl), from, to, mispredicted, cycles } => write!(
                f,
                "{kind:?} from {from:#x} at CPL {from_cpl} to {to:#x} at CPL {cpl}, mispredicted: {mispredicted}, {cycles} cycles later"
            ),
            Self::Xrstors { change: None } => write!(f, "xrstors of the initial state"),
            Self::Xrstors { change: Some((word, value)) } => {
                write!(f, "xsaves, xrstors with word {word} ^ {value:#x}")
            }
            Self::Migrate { fresh } => {
                write!(f, "save, restore{}", if fresh { " into a new vPMU" } else { "" })
            }
            Self::Snapshot => write!(f, "save"),
            Self::RollBack => write!(f, "restore what was saved"),
            Self::Tamper { word, value, flip } => {
                write!(f, "restore with word {word} {} {value:#x}", if flip { "^" } else { "=" })
            }
            Self::TakePmi => write!(f, "take PMI"),
            Self::Reset => write!(f, "RESET"),
            Self::Look => write!(f, "look at everything"),
        }
    }
}
