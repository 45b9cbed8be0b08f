//! What can happen to a vPMU of an Arm CPU, and how bytes say so.

use super::model::{HAPPENING, MATRIX};
use super::{
    NEXT, PMCCFILTR, PMCCNTR, PMCNTENSET, PMCR, PMEVCNTR0, PMEVTYPER0, PMINTENSET, PMRESR0, PMSELR,
    PMXEVCNTR, PMXEVTYPER, Subject,
};
use crate::op::Notice;
use arbitrary::{Result, Unstructured};
use std::fmt;
use vpmu::Level;
use vpmu::decode::msr_name;
use vpmu::event::Event;
use vpmu::profile::FALKOR;

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// MSR.
    Write { level: Level, register: u32, value: u64 },
    /// MRS.
    Read { level: Level, register: u32 },
    /// An event happens so often.
    Count { event: Event, os: bool, count: u64, notice: Notice },
    /// A running counter goes on until so many occurrences before or after its overflow.
    ToOverflow { which: u8, beyond: i8 },
    /// Save and restore, into the same vPMU or a new one.
    Migrate { fresh: bool },
    /// Save, for a later roll-back.
    Snapshot,
    /// Go back to the last snapshot.
    RollBack,
    /// Restore a saved state with one word changed.
    Tamper { word: u8, value: u64, flip: bool },
    /// Warm reset.
    Reset,
    /// Check every register.
    Look,
}

impl Op {
    /// The next operation of the input. Behind its end everything is 0.
    pub(crate) fn read(u: &mut Unstructured<'_>, subject: &Subject) -> Result<Self> {
        Ok(match u.arbitrary::<u8>()? {
            0..=99 => {
                let register = register(u, subject)?;
                Self::Write { level: level(u)?, register, value: value(u, register)? }
            }
            100..=149 => Self::Read { level: level(u)?, register: register(u, subject)? },
            150..=199 => Self::Count {
                event: *u.choose(&HAPPENING)?,
                os: u.ratio(1, 2)?,
                count: amount(u)?,
                notice: *u.choose(&[
                    Notice::AtOnce,
                    Notice::AtDeadline,
                    Notice::AtDeadline,
                    Notice::Later,
                ])?,
            },
            200..=229 => {
                Self::ToOverflow { which: u.arbitrary()?, beyond: *u.choose(&[-1, 0, 0, 0, 1, 7, 100])? }
            }
            230..=237 => Self::Migrate { fresh: u.ratio(1, 2)? },
            238 | 239 => Self::Snapshot,
            240 | 241 => Self::RollBack,
            242..=245 => Self::Tamper {
                word: u.arbitrary()?,
                value: if u.ratio(1, 2)? { 1 << (u.arbitrary::<u8>()? & 63) } else { u.arbitrary()? },
                flip: u.ratio(1, 2)?,
            },
            246 if u.ratio(1, 2)? => Self::Reset,
            _ => Self::Look,
        })
    }
}

fn level(u: &mut Unstructured<'_>) -> Result<Level> {
    Ok(if u.ratio(1, 4)? { Level::User } else { Level::Kernel })
}

/// One that the CPU has; now and then a neighbour, or anything.
fn register(u: &mut Unstructured<'_>, subject: &Subject) -> Result<u32> {
    let known = *u.choose(&subject.registers)?;
    Ok(match u.arbitrary::<u8>()? {
        0..=7 => known.wrapping_add(NEXT * u32::from(u.arbitrary::<u8>()? % 40)),
        8 => known | 1 << (u.arbitrary::<u8>()? % 32),
        9 => u.arbitrary()?,
        10..=40 => *u.choose(&[PMCR, PMCNTENSET, PMINTENSET, PMSELR])?,
        _ => known,
    })
}

/// What is written to a register: mostly something that makes sense there.
fn value(u: &mut Unstructured<'_>, register: u32) -> Result<u64> {
    if u.ratio(1, 12)? {
        return u.arbitrary();
    }
    let small = u64::from(u.arbitrary::<u8>()?);
    Ok(match register {
        // E mostly, D and LC now and then, P and C seldom.
        PMCR => u64::from(small < 230) | small & 0x48 | if small % 16 == 0 { small >> 4 & 6 } else { 0 },
        PMCNTENSET | PMINTENSET if small < 180 => u64::MAX,
        PMSELR => *u.choose(&[0, 1, 2, 3, 7, 8, 30, 31])?,
        PMCCNTR => u.choose(&[0, 1 << 32, 0_u64])?.wrapping_sub(small),
        _ if register == PMXEVCNTR || (PMEVCNTR0..PMEVTYPER0).contains(&register) => match small % 4 {
            0 => small,
            _ => u64::from(u32::MAX) - small,
        },
        _ if register == PMXEVTYPER || (PMEVTYPER0..=PMCCFILTR).contains(&register) => {
            let filter = if small < 64 { small << 26 } else { 0 };
            // CHAIN makes sense in odd counters.
            let odd = (PMEVTYPER0..PMCCFILTR).contains(&register) && register / NEXT % 2 == 1;
            let number = if odd && u.ratio(1, 2)? { 0x1E } else { event_number(u)? };
            number | filter
        }
        _ if (PMRESR0..=PMRESR0 + 4 * NEXT).contains(&register) => {
            let mut value = u64::from(small < 220) << 63;
            for _ in 0..3 {
                let (_, code, group, _) = *u.choose(&MATRIX)?;
                value = value & !(0x7F << (8 * group)) | code << (8 * group);
            }
            value
        }
        _ => match small {
            0..=63 => 0,
            64..=127 => u64::MAX,
            128..=191 => 1 << (small & 63),
            _ => u.arbitrary()?,
        },
    })
}

/// A common event that happens, SW_INCR or CHAIN, or a place of the matrix.
fn event_number(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.arbitrary::<u8>()? {
        0..=39 => 0x1E,
        40..=59 => 0,
        60..=139 => *u.choose(&[0x08, 0x11, 0x04, 0x06])?,
        140..=229 => {
            let (region, _, group, _) = *u.choose(&MATRIX)?;
            0xD8 + 8 * region + group
        }
        _ => u64::from(u.arbitrary::<u16>()?),
    })
}

/// Mostly few, so that overflows are hit closely; now and then enough to wrap several times.
fn amount(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.arbitrary::<u8>()? {
        0..=7 => u64::from(u.arbitrary::<u32>()?) << 10,
        8..=31 => u64::from(u.arbitrary::<u32>()?),
        _ => u64::from(u.arbitrary::<u8>()?),
    })
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let el = |level| if level == Level::Kernel { "EL1" } else { "EL0" };
        let name =
            |register| msr_name(&FALKOR, register).unwrap_or_else(|| format!("register {register:#x}"));
        match *self {
            Self::Write { level, register, value } => {
                write!(f, "msr {} = {value:#x} at {}", name(register), el(level))
            }
            Self::Read { level, register } => write!(f, "mrs {} at {}", name(register), el(level)),
            Self::Count { event, os, count, notice } => {
                let when = match notice {
                    Notice::AtOnce => "",
                    Notice::AtDeadline => ", noticed at a deadline",
                    Notice::Later => ", unnoticed",
                };
                write!(f, "{count} {event} at EL{}{when}", u8::from(os))
            }
            Self::ToOverflow { which, beyond } => {
                write!(f, "running counter {which} (modulo their number) goes to its overflow {beyond:+}")
            }
            Self::Migrate { fresh } => {
                write!(f, "save, restore{}", if fresh { " into a new vPMU" } else { "" })
            }
            Self::Snapshot => write!(f, "save"),
            Self::RollBack => write!(f, "restore what was saved"),
            Self::Tamper { word, value, flip } => {
                write!(f, "restore with word {word} {} {value:#x}", if flip { "^" } else { "=" })
            }
            Self::Reset => write!(f, "reset"),
            Self::Look => write!(f, "look at everything"),
        }
    }
}
