//! What a guest asked of its PMU and got: a compact stream of bytes that can be answered from later.
//!
//! # Format, version 1
//!
//! The magic bytes `vpmurec\0`, a byte with the version, and the header: length of the profile's name in a byte, the
//! name, flags in a byte (bit 0: instructions are counted; others 0), and a number with the architectural events that
//! were not available (CPUID.0AH:EBX). Then entries, each a byte with the kind in bits 3:0 and bits of it above,
//! the number of instructions since the entry before, and what the kind has:
//!
//! | kind | entry | bits 7:4 | then |
//! | --- | --- | --- | --- |
//! | 0 | read of a register | 4: at user level; 5: fault | index, value or fault |
//! | 1 | write of a register | 4: at user level; 5: fault | index, value, fault if there was one |
//! | 2 | RDPMC | 5: fault | ECX, value or fault |
//! | 3 | a PMI is requested | | |
//! | 4 | the interrupt line | 4: it rises | |
//! | 5 | an NMI that no PMI is behind | | |
//! | 15 | the end | | the number of entries before |
//!
//! Numbers are LEB128: seven bits a byte, the lowest first, bit 7 in all but the last. A fault is a byte with its
//! variant in the order of [`Fault`], and the number that the variant has. Without counted instructions all distances
//! are 0. Bytes behind the end, and a stream without one, are errors.

use crate::pmu::{Fault, ReadOutcome, WriteOutcome};
use crate::source::Level;
use alloc::string::String;
use alloc::vec::Vec;

/// What a recording begins with.
pub const MAGIC: [u8; 8] = *b"vpmurec\0";
/// The version that is written, and the only one that is read.
pub const VERSION: u8 = 1;
/// Bits 3:0 of an entry's first byte.
const KIND: u8 = 0xF;
const USER: u8 = 1 << 4;
const FAULT: u8 = 1 << 5;
const RISES: u8 = 1 << 4;
/// Flag of the header.
const COUNTED: u8 = 1;

/// What the guest did, or the PMU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// RDMSR or MRS.
    Read {
        /// Where it was executed.
        level: Level,
        /// Index or encoding.
        index: u32,
        /// What came of it; never [`ReadOutcome::NotHandled`].
        outcome: ReadOutcome,
    },
    /// WRMSR or MSR.
    Write {
        /// Where it was executed.
        level: Level,
        /// Index or encoding.
        index: u32,
        /// What was to be written.
        value: u64,
        /// What came of it; never [`WriteOutcome::NotHandled`].
        outcome: WriteOutcome,
    },
    /// RDPMC.
    Rdpmc {
        /// ECX.
        ecx: u32,
        /// What came of it; never [`ReadOutcome::NotHandled`].
        outcome: ReadOutcome,
    },
    /// A PMI is requested.
    Pmi,
    /// The interrupt line changes: it is high now, or low.
    Line(bool),
    /// An NMI that no PMI is behind.
    Nmi,
}

/// An entry of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Instructions retired since boot; 0 where they are not counted.
    pub instructions: u64,
    /// What happened.
    pub event: Event,
}

/// What a recording is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Name of the profile, at most 255 bytes; what is longer is cut.
    pub profile: String,
    /// The engine counted instructions.
    pub counted: bool,
    /// CPUID.0AH:EBX: architectural events that the counts source could not count.
    pub unavailable_events: u32,
}

/// Bytes that are no recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Something else.
    #[error("it is no recording of a PMU")]
    Magic,
    /// Another version.
    #[error("it has version {0}, and this program reads {VERSION}")]
    Version(u8),
    /// It stops before its end.
    #[error("it has no end: what wrote it was stopped")]
    Truncated,
    /// No header can be like this.
    #[error("its header is damaged")]
    Header,
    /// No entry can be like this.
    #[error("entry {0} is damaged")]
    Entry(u64),
    /// Something behind the end, or another number of entries.
    #[error("its end is damaged")]
    End,
}

/// Makes bytes of entries.
#[derive(Debug, Clone)]
pub struct Writer {
    counted: bool,
    before: u64,
    entries: u64,
}

impl Writer {
    /// A recording with this header, which is appended to `bytes`.
    #[must_use]
    pub fn new(header: &Header, bytes: &mut Vec<u8>) -> Self {
        let mut length = header.profile.len().min(u8::MAX.into());
        while !header.profile.is_char_boundary(length) {
            length -= 1;
        }
        bytes.extend(MAGIC);
        bytes.extend([VERSION, u8::try_from(length).unwrap_or(u8::MAX)]);
        bytes.extend(&header.profile.as_bytes()[..length]);
        bytes.push(if header.counted { COUNTED } else { 0 });
        number(header.unavailable_events.into(), bytes);
        Self { counted: header.counted, before: 0, entries: 0 }
    }

    /// Appends an entry. Instructions do not run backwards; accesses that the PMU does not handle are none of its.
    pub fn write(&mut self, entry: &Entry, bytes: &mut Vec<u8>) {
        let now = if self.counted { entry.instructions.max(self.before) } else { 0 };
        let user = |level| if level == Level::User { USER } else { 0 };
        let read_fault = |outcome| if matches!(outcome, ReadOutcome::Fault(_)) { FAULT } else { 0 };
        let first = match entry.event {
            Event::Read { outcome: ReadOutcome::NotHandled, .. }
            | Event::Write { outcome: WriteOutcome::NotHandled, .. }
            | Event::Rdpmc { outcome: ReadOutcome::NotHandled, .. } => return,
            Event::Read { level, outcome, .. } => user(level) | read_fault(outcome),
            Event::Write { level, outcome, .. } => {
                1 | user(level) | if matches!(outcome, WriteOutcome::Fault(_)) { FAULT } else { 0 }
            }
            Event::Rdpmc { outcome, .. } => 2 | read_fault(outcome),
            Event::Pmi => 3,
            Event::Line(rises) => 4 | if rises { RISES } else { 0 },
            Event::Nmi => 5,
        };
        bytes.push(first);
        number(now - self.before, bytes);
        (self.before, self.entries) = (now, self.entries + 1);
        let answer = |outcome, bytes: &mut Vec<u8>| match outcome {
            ReadOutcome::Value(value) => number(value, bytes),
            ReadOutcome::Fault(reason) => fault(reason, bytes),
            ReadOutcome::NotHandled => {}
        };
        match entry.event {
            Event::Read { index, outcome, .. } | Event::Rdpmc { ecx: index, outcome } => {
                number(index.into(), bytes);
                answer(outcome, bytes);
            }
            Event::Write { index, value, outcome, .. } => {
                number(index.into(), bytes);
                number(value, bytes);
                if let WriteOutcome::Fault(reason) = outcome {
                    fault(reason, bytes);
                }
            }
            Event::Pmi | Event::Line(_) | Event::Nmi => {}
        }
    }

    /// Appends the end.
    pub fn finish(self, bytes: &mut Vec<u8>) {
        bytes.extend([KIND, 0]);
        number(self.entries, bytes);
    }
}

/// Reads entries from bytes, which may say anything.
#[derive(Debug, Clone)]
pub struct Reader<B> {
    bytes: B,
    at: usize,
    counted: bool,
    before: u64,
    entries: u64,
    over: bool,
}

impl<B: AsRef<[u8]>> Reader<B> {
    /// The header, and a reader of the entries.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn new(bytes: B) -> Result<(Header, Self), Malformed> {
        if !bytes.as_ref().starts_with(&MAGIC) {
            return Err(Malformed::Magic);
        }
        let mut reader = Self { bytes, at: MAGIC.len(), counted: false, before: 0, entries: 0, over: false };
        let version = reader.byte()?;
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        let length = usize::from(reader.byte()?);
        let name = reader.bytes.as_ref().get(reader.at..reader.at + length).ok_or(Malformed::Truncated)?;
        let profile = core::str::from_utf8(name).map_err(|_| Malformed::Header)?.into();
        reader.at += length;
        let flags = reader.byte()?;
        if flags & !COUNTED != 0 {
            return Err(Malformed::Header);
        }
        let counted = flags & COUNTED != 0;
        reader.counted = counted;
        let unavailable = reader.number()?;
        let unavailable_events = u32::try_from(unavailable).map_err(|_| Malformed::Header)?;
        Ok((Header { profile, counted, unavailable_events }, reader))
    }

    /// The next entry; `None` behind the last.
    ///
    /// # Errors
    /// [`Malformed`]; there is nothing more to be read then.
    pub fn read(&mut self) -> Result<Option<Entry>, Malformed> {
        if self.over {
            return Ok(None);
        }
        let entry = self.entry();
        self.over = !matches!(entry, Ok(Some(_)));
        entry
    }

    fn entry(&mut self) -> Result<Option<Entry>, Malformed> {
        let damaged = Malformed::Entry(self.entries);
        let first = self.byte()?;
        let distance = self.number()?;
        if first & KIND == KIND {
            let entries = self.number()?;
            let whole = first == KIND && distance == 0 && entries == self.entries;
            let whole = whole && self.at == self.bytes.as_ref().len();
            return if whole { Ok(None) } else { Err(Malformed::End) };
        }
        if !self.counted && distance != 0 {
            return Err(damaged);
        }
        let instructions = self.before.checked_add(distance).ok_or(damaged)?;
        let allowed = match first & KIND {
            0 | 1 => USER | FAULT,
            2 => FAULT,
            4 => RISES,
            _ => 0,
        };
        if first & !KIND & !allowed != 0 {
            return Err(damaged);
        }
        let level = if first & USER != 0 { Level::User } else { Level::Kernel };
        let faults = first & FAULT != 0;
        let event = match first & KIND {
            0 => Event::Read { level, index: self.index()?, outcome: self.answer(faults)? },
            1 => Event::Write {
                level,
                index: self.index()?,
                value: self.number()?,
                outcome: if faults { WriteOutcome::Fault(self.fault()?) } else { WriteOutcome::Done },
            },
            2 => Event::Rdpmc { ecx: self.index()?, outcome: self.answer(faults)? },
            3 => Event::Pmi,
            4 => Event::Line(first & RISES != 0),
            5 => Event::Nmi,
            _ => return Err(damaged),
        };
        (self.before, self.entries) = (instructions, self.entries + 1);
        Ok(Some(Entry { instructions, event }))
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.as_ref().get(self.at).ok_or(Malformed::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            // The tenth byte has one bit left.
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed::Entry(self.entries))
    }

    fn index(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed::Entry(self.entries))
    }

    fn answer(&mut self, faults: bool) -> Result<ReadOutcome, Malformed> {
        Ok(if faults { ReadOutcome::Fault(self.fault()?) } else { ReadOutcome::Value(self.number()?) })
    }

    fn fault(&mut self) -> Result<Fault, Malformed> {
        Ok(match self.byte()? {
            0 => Fault::Absent,
            1 => Fault::ReadOnly,
            2 => Fault::WriteOnly,
            3 => Fault::Privilege,
            4 => Fault::Trapped,
            5 => Fault::ReservedBits(self.number()?),
            6 => Fault::FixedBits(self.number()?),
            7 => Fault::BeyondDepth { depth: self.number()? },
            8 => Fault::Depth(self.number()?),
            9 => Fault::NonCanonical(self.number()?),
            10 => Fault::RdpmcIndex(self.index()?),
            11 => Fault::RdpmcPrivilege,
            _ => return Err(Malformed::Entry(self.entries)),
        })
    }
}

/// Appends a number.
fn number(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(crate::bits::low_u8(value & 0x7F | 0x80));
        value >>= 7;
    }
    bytes.push(crate::bits::low_u8(value));
}

/// Appends a fault.
fn fault(reason: Fault, bytes: &mut Vec<u8>) {
    let (variant, value) = match reason {
        Fault::Absent => (0, None),
        Fault::ReadOnly => (1, None),
        Fault::WriteOnly => (2, None),
        Fault::Privilege => (3, None),
        Fault::Trapped => (4, None),
        Fault::ReservedBits(bits) => (5, Some(bits)),
        Fault::FixedBits(bits) => (6, Some(bits)),
        Fault::BeyondDepth { depth } => (7, Some(depth)),
        Fault::Depth(depth) => (8, Some(depth)),
        Fault::NonCanonical(address) => (9, Some(address)),
        Fault::RdpmcIndex(index) => (10, Some(index.into())),
        Fault::RdpmcPrivilege => (11, None),
    };
    bytes.push(variant);
    if let Some(value) = value {
        number(value, bytes);
    }
}

#[cfg(test)]
mod tests;
