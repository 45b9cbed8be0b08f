//! Event select codes, and how an event is encoded on a core.

use core::fmt;

use super::Event;
use crate::bits::{low_u8, low_u16};
use crate::register::amd::PerfCtl;
use crate::register::intel::PerfEvtSel;

/// MSR_PEBS_LD_LAT_THRESHOLD: cycles that a load must exceed to be counted by event CD/01.
pub const MSR_PEBS_LD_LAT: u32 = crate::register::intel::PebsLdLat::INDEX;
/// MSR_PEBS_FRONTEND: which front-end event C6/01 (and a few others) counts.
pub const MSR_PEBS_FRONTEND: u32 = crate::register::intel::PebsFrontend::INDEX;

/// OFFCORE_RSP_0: which requests that leave the core event B7/01, of newer cores 2A/01, counts.
pub const MSR_OFFCORE_RSP_0: u32 = crate::register::intel::OffcoreRsp::INDEX;
/// OFFCORE_RSP_1: the same for event BB/01, of newer cores 2B/01.
pub const MSR_OFFCORE_RSP_1: u32 = crate::register::intel::OffcoreRsp1::INDEX;

/// The part of an IA32_PERFEVTSELx or PERF_CTLx value that says what is counted.
///
/// Source of the bit positions: SDM volume 3, "Architectural Performance Monitoring"; APM volume 2,
/// "Performance Event-Select Registers".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventCode {
    /// Event select, bits 7:0; of an AMD CPU bits 35:32 too.
    pub select: u16,
    /// Unit mask, bits 15:8; on an Intel CPU with perfmon version 6 also bits 47:40, as bits 15:8 of this field.
    pub umask: u16,
    /// Counter mask, bits 31:24: when not 0, count cycles with at least this many occurrences.
    pub cmask: u8,
    /// Invert, bit 23: count cycles with fewer occurrences than the counter mask.
    pub inv: bool,
    /// Edge detect, bit 18: count the starts of such cycles.
    pub edge: bool,
}

impl EventCode {
    /// A code without modifiers.
    #[must_use]
    pub const fn new(select: u16, umask: u16) -> Self {
        Self { select, umask, cmask: 0, inv: false, edge: false }
    }

    /// Takes the code out of an IA32_PERFEVTSELx value.
    ///
    /// All other bits (USR, OS, PC, INT, EN) say how, not what, and are ignored.
    #[must_use]
    pub const fn from_evtsel(value: u64) -> Self {
        let register = PerfEvtSel(value);
        Self {
            select: low_u16(register.event_select()),
            umask: low_u16(register.umask() | register.umask2() << 8),
            cmask: low_u8(register.cmask()),
            inv: register.invert(),
            edge: register.edge(),
        }
    }

    /// Takes the code out of an AMD PERF_CTLx value: as [`from_evtsel`](Self::from_evtsel), with 12 bits of
    /// event select.
    #[must_use]
    pub const fn from_perf_ctl(value: u64) -> Self {
        let register = PerfCtl(value);
        let select = low_u16(register.event_select() | register.event_select_high() << 8);
        Self { select, umask: low_u16(register.umask()), ..Self::from_evtsel(value) }
    }

    /// The same code as bits of IA32_PERFEVTSELx or PERF_CTLx; also perf's `config` of a raw event.
    #[must_use]
    pub const fn to_evtsel_bits(self) -> u64 {
        let [select, select_high] = self.select.to_le_bytes();
        let [umask, umask2] = self.umask.to_le_bytes();
        let common = PerfEvtSel(0)
            .with_event_select(select as u64)
            .with_umask(umask as u64)
            .with_umask2(umask2 as u64)
            .with_edge(self.edge)
            .with_invert(self.inv)
            .with_cmask(self.cmask as u64);
        PerfCtl(common.0).with_event_select_high(select_high as u64).0
    }

    /// Event select and unit mask alone.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self::new(self.select, self.umask)
    }

    /// Whether no modifier changes what is counted. INV without CMASK has no effect.
    #[must_use]
    pub const fn is_plain(self) -> bool {
        self.cmask == 0 && !self.edge
    }

    /// The shortest code with the same meaning: INV cleared where it has no effect.
    #[must_use]
    pub const fn normalized(self) -> Self {
        Self { inv: self.inv && self.cmask != 0, ..self }
    }

    /// The code as `perf stat -e` takes a raw event: `r2c2` for C2/02.
    #[must_use]
    pub fn perf_raw(self) -> impl fmt::Display {
        PerfRaw(self.to_evtsel_bits())
    }

    fn write_terms(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event={:#x},umask={:#x}", self.select, self.umask)?;
        if self.cmask != 0 {
            write!(f, ",cmask={:#x}", self.cmask)?;
        }
        if self.inv {
            f.write_str(",inv")?;
        }
        if self.edge {
            f.write_str(",edge")?;
        }
        Ok(())
    }
}

/// perf's notation, for example `cpu/event=0xc2,umask=0x2,cmask=0x1,inv/`.
impl fmt::Display for EventCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cpu/")?;
        self.write_terms(f)?;
        f.write_str("/")
    }
}

struct PerfRaw(u64);

impl fmt::Display for PerfRaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{:x}", self.0)
    }
}

/// A further MSR whose value selects the event, besides the event select.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtraRegister {
    /// [`MSR_PEBS_LD_LAT`], [`MSR_PEBS_FRONTEND`] or [`MSR_OFFCORE_RSP_0`].
    pub msr: u32,
    /// The value that the MSR must hold; of OFFCORE_RSP the value of the event list, where others select the same.
    pub value: u64,
}

/// How one core encodes one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// What is counted.
    pub event: Event,
    /// The event's name in the event list of this core; differs from [`Event::name`] where the
    /// core is older than the name.
    pub name: &'static str,
    /// The event select code.
    pub code: EventCode,
    /// The general-purpose counters on which the event counts, one bit each. Other counters accept
    /// the code and count nothing meaningful.
    pub counters: u32,
    /// The extra register that the event needs, if any.
    pub extra: Option<ExtraRegister>,
}

impl Encoding {
    /// Whether general-purpose counter `index` can count the event.
    #[must_use]
    pub const fn counts_on(&self, index: u32) -> bool {
        index < u32::BITS && self.counters & (1 << index) != 0
    }
}

/// perf's notation with the extra register, for example `cpu/event=0xc6,umask=0x1,frontend=0x11/`.
impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cpu/")?;
        self.code.write_terms(f)?;
        if let Some(ExtraRegister { msr, value }) = self.extra {
            let term = match msr {
                MSR_PEBS_LD_LAT => "ldlat",
                MSR_OFFCORE_RSP_0 => "offcore_rsp",
                _ => "frontend",
            };
            write!(f, ",{term}={value:#x}")?;
        }
        f.write_str("/")
    }
}
