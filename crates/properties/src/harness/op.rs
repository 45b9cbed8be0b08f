//! What can happen to a vPMU.

use crate::model::counting::Tick;
use crate::model::rdpmc::Privilege;
use std::fmt;

#[derive(Debug, Clone)]
pub enum Op {
    Wrmsr {
        index: u32,
        value: u64,
    },
    Rdmsr {
        index: u32,
    },
    Rdpmc {
        ecx: u32,
        privilege: Privilege,
    },
    /// The guest runs.
    Advance {
        ticks: Vec<Tick>,
    },
    /// Save and restore, into the same vPMU or a new one.
    Migrate {
        fresh: bool,
    },
    /// Save, for a later roll-back.
    Snapshot,
    /// Go back to the last snapshot, if there is one.
    RollBack,
    TakePmi,
    Reset,
    /// Compare every register.
    LookAtAll,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrmsr { index, value } => write!(f, "wrmsr {index:#x} = {value:#x}"),
            Self::Rdmsr { index } => write!(f, "rdmsr {index:#x}"),
            Self::Rdpmc { ecx, privilege: p } => {
                write!(f, "rdpmc {ecx:#x} cpl={} pce={} pe={}", p.cpl, p.cr4_pce, p.cr0_pe)
            }
            Self::Advance { ticks } => {
                write!(f, "run")?;
                for tick in ticks {
                    write!(f, " [")?;
                    for e in &tick.events {
                        write!(f, " {:?}:{}={}", e.stream, ring(e.os), e.count)?;
                    }
                    for s in &tick.slots {
                        write!(f, " Slots:{}={:?}", ring(s.os), s.categories)?;
                    }
                    write!(f, " ]")?;
                }
                Ok(())
            }
            Self::Migrate { fresh } => {
                write!(f, "save, restore{}", if *fresh { " into a new vPMU" } else { "" })
            }
            Self::Snapshot => write!(f, "save"),
            Self::RollBack => write!(f, "restore what was saved"),
            Self::TakePmi => write!(f, "take PMI"),
            Self::Reset => write!(f, "RESET"),
            Self::LookAtAll => write!(f, "look at everything"),
        }
    }
}

fn ring(os: bool) -> &'static str {
    if os { "k" } else { "u" }
}
