//! What can happen to a vPMU, and how bytes say so.

use crate::model::{Occurrences, Slots};
use crate::retirement::{AREA, Retirement};
use crate::subject::{Slot, Subject, USUAL_CODES};
use arbitrary::{Result, Unstructured};
use std::fmt;
use vpmu::BranchKind;
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::register::{RegisterId, amd, intel};

/// When the vPMU gets to know what has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// At once.
    AtOnce,
    /// When a counter passes a deadline, as with an engine that stops where the vPMU asked to.
    AtDeadline,
    /// At the next access, so that many overflows may come at once.
    Later,
}

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// The guest writes an MSR.
    Wrmsr { index: u32, value: u64 },
    /// The guest reads one.
    Rdmsr { index: u32 },
    /// RDPMC.
    Rdpmc { ecx: u32, context: RdpmcContext },
    /// Something is counted.
    Count { occurrences: Occurrences, notice: Notice },
    /// Slots pass, by category.
    Slots { slots: Slots, notice: Notice },
    /// A guest switches another one in, which uses PERF_METRICS too, and back.
    SwitchMetrics { slots: Slots },
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
    /// An instruction has retired, for precise samples.
    Retire(Retirement),
    /// RESET.
    Reset,
    /// Check every register.
    Look,
}

impl Op {
    /// The next operation of the input. Behind its end everything is 0.
    pub(crate) fn read(u: &mut Unstructured<'_>, subject: &Subject) -> Result<Self> {
        Ok(match byte(u)? {
            0..=79 => {
                let slot = *a_register(u, subject)?;
                Self::Wrmsr { index: slot.index, value: value(u, subject, &slot)? }
            }
            80..=87 => Self::Wrmsr { index: any_index(u)?, value: u.arbitrary()? },
            // Few CPUs have records of more than branches.
            88..=107 if subject.logs_events() => branch(u)?,
            88..=107 => Self::Rdmsr { index: a_register(u, subject)?.index },
            108..=115 => Self::Rdmsr { index: any_index(u)? },
            116..=135 => rdpmc(u)?,
            136..=169 => Self::Count {
                occurrences: Occurrences {
                    event: event(u, subject)?,
                    os: u.ratio(1, 2)?,
                    each: if u.ratio(1, 4)? { u64::from(byte(u)?) * 2 } else { 1 },
                    cycles: amount(u)?,
                },
                notice: notice(u)?,
            },
            170..=179 => Self::Slots { slots: slots(u)?, notice: notice(u)? },
            180 | 181 => Self::SwitchMetrics { slots: slots(u)? },
            182..=203 => {
                Self::ToOverflow { which: byte(u)?, beyond: *u.choose(&[-1, 0, 0, 0, 1, 7, -100, 100])? }
            }
            204..=208 => Self::TakePmi,
            209 | 210 => Self::Interrupt,
            211 => Self::DebugException,
            // Few CPUs have samples to give.
            212..=223 if subject.profile.has_precise_sampling() => Self::Retire(Retirement::read(u)?),
            212..=231 => branch(u)?,
            232..=235 => {
                let whole = u.ratio(1, 4)?;
                Self::Xrstors {
                    change: if whole { None } else { Some((byte(u)?, u64::from(u.arbitrary::<u16>()?))) },
                }
            }
            236..=239 => Self::Migrate { fresh: u.ratio(1, 2)? },
            240 | 241 => Self::Snapshot,
            242 | 243 => Self::RollBack,
            244..=247 => Self::Tamper {
                word: byte(u)?,
                value: if u.ratio(1, 2)? { 1 << (byte(u)? & 63) } else { u.arbitrary()? },
                flip: u.ratio(1, 2)?,
            },
            248 if u.ratio(1, 2)? => Self::Reset,
            249 => Self::Retire(Retirement::read(u)?),
            _ => Self::Look,
        })
    }
}

fn byte(u: &mut Unstructured<'_>) -> Result<u8> {
    u.arbitrary()
}

fn branch(u: &mut Unstructured<'_>) -> Result<Op> {
    Ok(Op::Branch {
        kind: *u.choose(&BranchKind::ALL)?,
        levels: *u.choose(&[(0, 0), (3, 0), (0, 3), (3, 3)])?,
        from: u64::from(u.arbitrary::<u16>()?) << 4 | 0x40_0000,
        to: u64::from(u.arbitrary::<u16>()?) << 4 | 0xFFFF_8000_0000_0000,
        mispredicted: u.ratio(1, 4)?,
        cycles: u64::from(byte(u)?).pow(2),
    })
}

fn notice(u: &mut Unstructured<'_>) -> Result<Notice> {
    u.choose(&[Notice::AtOnce, Notice::AtOnce, Notice::AtDeadline, Notice::Later]).copied()
}

/// One instance of a register that the CPU has. Every register is as likely as another, those of the
/// general-purpose counters more.
fn a_register<'s>(u: &mut Unstructured<'_>, subject: &'s Subject) -> Result<&'s Slot> {
    let count = subject.registers.len();
    let at = match usize::from(byte(u)?) {
        at @ 192.. => at % 3,
        at => at,
    };
    u.choose(&subject.registers[at % count])
}

/// Any MSR: neighbours of the PMUs' registers mostly.
fn any_index(u: &mut Unstructured<'_>) -> Result<u32> {
    let base = *u.choose(&[
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
    ])?;
    Ok(match byte(u)? {
        255 => u.arbitrary()?,
        offset => base + u32::from(offset % 48),
    })
}

/// What is written to a register: mostly something that makes sense there.
fn value(u: &mut Unstructured<'_>, subject: &Subject, slot: &Slot) -> Result<u64> {
    use amd::RegisterId as A;
    use intel::RegisterId as I;
    let kind = byte(u)?;
    if kind < 16 {
        return u.arbitrary();
    }
    let sensible = if slot.is_select() {
        let codes = if u.ratio(1, 6)? { &subject.codes[..] } else { &subject.codes[..USUAL_CODES] };
        let code = u.choose(codes)?.0;
        let rings = u64::from(*u.choose(&[3_u8, 3, 1, 2])?) << 16;
        let interrupt = u64::from(u.ratio(1, 2)?) << 20;
        let enable = u64::from(!u.ratio(1, 8)?) << 22;
        // CMASK, INV and E now and then.
        let modifiers =
            if u.ratio(1, 16)? { u64::from(u.arbitrary::<u16>()?) << 18 & 0xFF84_0000 } else { 0 };
        // EN_LBR_LOG.
        let logs = if subject.logs_events() && !u.ratio(1, 4)? { slot.accepted & 1 << 35 } else { 0 };
        code | rings | interrupt | enable | modifiers | logs
    } else if slot.is_counter() {
        match byte(u)? {
            0..=99 => u64::from(byte(u)?).wrapping_neg(),
            100..=149 => slot.stored - u64::from(byte(u)?).min(slot.stored),
            150..=189 => 0xFFFF,
            190..=219 => u64::from(byte(u)?),
            220..=239 => *u.choose(&[0, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000, u64::MAX])?,
            _ => u.arbitrary()?,
        }
    } else {
        match slot.id {
            RegisterId::Intel(I::PerfGlobalCtrl) | RegisterId::Amd(A::PerfCntrGlobalCtl)
                if !u.ratio(1, 4)? =>
            {
                slot.stored
            }
            // Bit 14: RDPMC clears PERF_METRICS.
            RegisterId::Intel(I::FixedCtrCtrl) if u.ratio(1, 2)? => 0xFBBB & slot.accepted,
            // What the events that need these registers ask for.
            RegisterId::Intel(I::PebsLdLat) if u.ratio(1, 2)? => 4,
            RegisterId::Intel(I::PebsFrontend) if u.ratio(1, 2)? => 0x11,
            RegisterId::Intel(I::DsArea) if !u.ratio(1, 8)? => AREA,
            RegisterId::Intel(I::PebsEnable) if !u.ratio(1, 4)? => slot.accepted,
            // Enabled, of cycles or ops, with a short period.
            RegisterId::Amd(A::IbsOpCtl) if !u.ratio(1, 4)? => {
                let kind = u64::from(*u.choose(&[2_u8, 2, 3, 3, 10, 11, 6])?) << 16;
                kind | u64::from(byte(u)? % 32) | u64::from(byte(u)?) << 32
            }
            RegisterId::Amd(A::IbsFetchCtl) if !u.ratio(1, 4)? => {
                let kind =
                    *u.choose(&[1_u64 << 48, 1 << 48, 1 << 48 | 1 << 57, 1 << 48 | 1 << 59, 3 << 48])?;
                kind | u64::from(byte(u)? % 32) | u64::from(byte(u)? % 32) << 16
            }
            RegisterId::Intel(I::ArchLbrDepth) => 8 * u64::from(byte(u)? % 6),
            RegisterId::Intel(I::ArchLbrCtl) if subject.logs_events() || u.ratio(1, 2)? => 0x7F_0007,
            RegisterId::Intel(I::LbrSelect) | RegisterId::Amd(A::LbrSelect) if u.ratio(1, 2)? => 0,
            RegisterId::Intel(I::PerfMetrics) => match byte(u)? {
                0..=99 => 0,
                100..=199 => 0x4040_403F,
                _ => u.arbitrary()?,
            },
            RegisterId::Intel(I::MiscEnable) => 0x1881 ^ 1 << (byte(u)? & 63),
            _ => match byte(u)? {
                0..=49 => 0,
                50..=99 => slot.accepted,
                100..=149 => 1 << (byte(u)? & 63),
                _ => u.arbitrary::<u64>()? & slot.accepted,
            },
        }
    };
    // One bit too many.
    Ok(if kind < 32 { sensible | 1 << (byte(u)? & 63) } else { sensible })
}

fn event(u: &mut Unstructured<'_>, subject: &Subject) -> Result<Event> {
    let codes = if u.ratio(1, 4)? { &subject.codes[..] } else { &subject.codes[..USUAL_CODES] };
    Ok(match u.choose(codes)?.1 {
        // Slots happen by category.
        Some(event) if event.counts_as() != Event::TopdownSlots.counts_as() => event,
        _ => subject.codes[0].1.unwrap_or(Event::InstRetiredAny),
    })
}

/// Mostly few, so that overflows are hit closely; now and then enough to wrap several times.
fn amount(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match byte(u)? {
        0..=3 => u64::from(u.arbitrary::<u32>()?) << 17,
        4..=15 => u64::from(u.arbitrary::<u32>()?),
        16..=63 => u64::from(u.arbitrary::<u16>()?),
        _ => u64::from(byte(u)?),
    })
}

fn slots(u: &mut Unstructured<'_>) -> Result<Slots> {
    let mut fields = [0; 8];
    for n in 0..4 {
        fields[n] = amount(u)?;
        fields[n + 4] = match byte(u)? {
            0..=63 => 0,
            64..=127 => fields[n],
            part => fields[n] / u64::from(part),
        };
    }
    Ok(Slots { os: u.ratio(1, 2)?, fields })
}

fn rdpmc(u: &mut Unstructured<'_>) -> Result<Op> {
    let ecx = match byte(u)? {
        0..=119 => u32::from(byte(u)? % 10),
        120..=179 => 0x4000_0000 + u32::from(byte(u)? % 5),
        180..=219 => 0x2000_0000,
        220..=239 => 1 << (byte(u)? & 31),
        _ => u.arbitrary()?,
    };
    let context = match byte(u)? {
        0..=63 => RdpmcContext { cpl: byte(u)? & 3, pce: u.ratio(1, 2)?, protected_mode: u.ratio(1, 2)? },
        _ => RdpmcContext::RING0,
    };
    Ok(Op::Rdpmc { ecx, context })
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = |os: bool| if os { "CPL 0" } else { "CPL 3" };
        let when = |notice| match notice {
            Notice::AtOnce => "",
            Notice::AtDeadline => ", noticed at a deadline",
            Notice::Later => ", unnoticed",
        };
        match *self {
            Self::Wrmsr { index, value } => write!(f, "wrmsr {index:#x} = {value:#x}"),
            Self::Rdmsr { index } => write!(f, "rdmsr {index:#x}"),
            Self::Rdpmc { ecx, context: c } => {
                write!(f, "rdpmc {ecx:#x} cpl={} pce={} pe={}", c.cpl, c.pce, c.protected_mode)
            }
            Self::Count { occurrences: Occurrences { event, os, each, cycles }, notice } => {
                write!(f, "{cycles} cycles with {each} {event} each at {}{}", ring(os), when(notice))
            }
            Self::Slots { slots: Slots { os, fields }, notice } => {
                write!(f, "slots {fields:?} at {}{}", ring(os), when(notice))
            }
            Self::SwitchMetrics { slots: Slots { os, fields } } => {
                write!(f, "another guest with slots {fields:?} at {}, and back", ring(os))
            }
            Self::ToOverflow { which, beyond } => {
                write!(f, "running counter {which} (modulo their number) goes to its overflow {beyond:+}")
            }
            Self::Interrupt => write!(f, "an exception or interrupt"),
            Self::DebugException => write!(f, "#DB"),
            Self::Branch { kind, levels: (from_cpl, cpl), from, to, mispredicted, cycles } => write!(
                f,
                "{kind:?} from {from:#x} at CPL {from_cpl} to {to:#x} at CPL {cpl}, mispredicted: {mispredicted}, \
                 {cycles} cycles later"
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
            Self::Retire(ref retirement) => write!(f, "{retirement}"),
            Self::Reset => write!(f, "RESET"),
            Self::Look => write!(f, "look at everything"),
        }
    }
}
