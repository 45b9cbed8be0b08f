//! An instruction that retires while a precise sample is due, and memory in which a PEBS record may go wrong.

use arbitrary::{Result, Unstructured};
use std::fmt;
use vpmu::ibs::{IbsBranch, IbsFetch, IbsSample};
use vpmu::pebs::{DebugStore, NotMapped, PebsSample};
use vpmu::precise::{DataSource, MemoryAccess, Page, Served, Translation};

/// Where IA32_DS_AREA mostly points to.
pub(crate) const AREA: u64 = 0xFFFF_8880_0000_1000;
/// Bytes from there to the words about the buffer, as they lie in memory.
const WORDS: usize = 32;
/// To the reset values.
const RESETS: usize = 64;
/// Bytes of the management area and of the buffer behind it.
const MOST: usize = 0x1800;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Retirement {
    /// Base, index, absolute maximum and threshold of the buffer.
    words: [u64; 4],
    /// What counters get from the debug store.
    reset: u64,
    /// Bytes from [`AREA`] that are mapped.
    mapped: usize,
    writable: bool,
    /// Of the instruction.
    address: u64,
    access: Option<MemoryAccess>,
    branch: Option<IbsBranch>,
    l3_miss: bool,
}

fn byte(u: &mut Unstructured<'_>) -> Result<u8> {
    u.arbitrary()
}

/// A word of the management area: near the buffer, near an end of memory, or anything.
fn word(u: &mut Unstructured<'_>, usual: u64) -> Result<u64> {
    Ok(match byte(u)? {
        0..=199 => usual,
        200..=219 => usual.wrapping_add_signed(u.arbitrary::<i16>()?.into()),
        220..=229 => AREA + u64::from(byte(u)?),
        230..=239 => u64::from(byte(u)?).wrapping_neg(),
        240..=245 => u64::from(byte(u)?),
        _ => u.arbitrary()?,
    })
}

impl Retirement {
    pub(crate) fn read(u: &mut Unstructured<'_>) -> Result<Self> {
        let base = AREA + 0x100;
        let filled = 8 * u64::from(byte(u)?);
        let limit = 8 * u64::from(u.arbitrary::<u16>()? % 512);
        let words =
            [word(u, base)?, word(u, base + filled)?, word(u, base + limit)?, word(u, base + limit / 2)?];
        let reset = match byte(u)? {
            0..=199 => u64::from(byte(u)?).wrapping_neg(),
            200..=219 => 0,
            _ => u.arbitrary()?,
        };
        let mapped = match byte(u)? {
            0..=199 => MOST,
            200..=239 => usize::from(u.arbitrary::<u16>()?) % MOST,
            _ => 0,
        };
        let served = Served {
            source: *u.choose(&[
                DataSource::L1,
                DataSource::InFlight,
                DataSource::L2,
                DataSource::L3,
                DataSource::Memory,
                DataSource::Memory,
            ])?,
            latency: u.arbitrary()?,
            translation: *u.choose(&[Translation::L1Tlb, Translation::L2Tlb, Translation::Walk])?,
            translation_latency: u.arbitrary()?,
        };
        let kind = byte(u)?;
        let flag = |n: u8| kind >> n & 1 != 0;
        let access = MemoryAccess {
            address: u.arbitrary()?,
            physical: flag(0).then_some(0x1234_5000),
            page: *u.choose(&[Page::Small, Page::Large, Page::Huge])?,
            bytes: u.arbitrary()?,
            load: flag(1),
            store: flag(2),
            locked: flag(3),
            prefetch: flag(4),
            uncacheable: flag(5),
            served: flag(6).then_some(served),
        };
        let branch = IbsBranch {
            returned: u.ratio(1, 4)?,
            target: if u.ratio(1, 2)? { Some(u.arbitrary()?) } else { None },
            mispredicted: u.ratio(1, 4)?,
            fused: u.ratio(1, 4)?,
        };
        Ok(Self {
            words,
            reset,
            mapped,
            writable: !u.ratio(1, 16)?,
            address: u.arbitrary()?,
            access: (!flag(7)).then_some(access),
            branch: if u.ratio(1, 2)? { Some(branch) } else { None },
            l3_miss: u.ratio(1, 2)?,
        })
    }

    /// For PEBS.
    pub(crate) fn pebs(&self) -> PebsSample {
        PebsSample {
            event_ip: self.address,
            tsc: !self.address,
            memory: self.access,
            ..PebsSample::default()
        }
    }

    /// For IBS.
    pub(crate) fn ibs(&self) -> IbsSample {
        IbsSample {
            address: self.address,
            fetch: IbsFetch { l3_miss: self.l3_miss, ..IbsFetch::default() },
            branch: self.branch,
            access: self.access,
            ..IbsSample::default()
        }
    }

    /// Memory with a debug store at [`AREA`].
    pub(crate) fn store(&self) -> Store {
        let mut bytes = vec![0; MOST];
        for (at, word) in (WORDS..).step_by(8).zip(self.words) {
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        for at in (RESETS..RESETS + 8 * 12).step_by(8) {
            bytes[at..at + 8].copy_from_slice(&self.reset.to_le_bytes());
        }
        bytes.truncate(self.mapped);
        Store { bytes, writable: self.writable, written: Vec::new() }
    }
}

impl fmt::Display for Retirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { words, reset, mapped, writable, address, access, branch, l3_miss } = self;
        write!(
            f,
            "the instruction at {address:#x} retires: {branch:x?}, {access:x?}, L3 miss: {l3_miss}; debug store at \
             {AREA:#x} with {words:x?}, resets {reset:#x}, {mapped:#x} bytes mapped, writable: {writable}"
        )
    }
}

/// Memory from [`AREA`] on.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    bytes: Vec<u8>,
    writable: bool,
    /// What has been written, in order.
    pub(crate) written: Vec<(u64, Vec<u8>)>,
}

impl Store {
    /// A word, if it is mapped.
    pub(crate) fn word(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Whether so many bytes can be written.
    pub(crate) fn takes(&self, address: u64, len: usize) -> bool {
        self.writable && self.place(address, len).is_some()
    }

    fn place(&self, address: u64, len: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(address.checked_sub(AREA)?).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then_some(start..end)
    }
}

impl DebugStore for Store {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> std::result::Result<(), NotMapped> {
        let place = self.place(address, bytes.len()).ok_or(NotMapped)?;
        bytes.copy_from_slice(&self.bytes[place]);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> std::result::Result<(), NotMapped> {
        let place = self.place(address, bytes.len()).filter(|_| self.writable).ok_or(NotMapped)?;
        self.bytes[place].copy_from_slice(bytes);
        self.written.push((address, bytes.to_vec()));
        Ok(())
    }
}
