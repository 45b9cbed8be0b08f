//! Translation table walks: stage 1 of the EL1&0 regime with the 4 KiB granule (Arm ARM D8).

use super::OFFSET;
use super::fault::Status;
use super::regime::Regime;
use super::request::{Intent, Request};
use soft_base::{Low, Ram};

/// Where an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Translation {
    /// Physical address.
    pub(crate) address: u64,
    /// Log2 of the size of the page or block: 12, 21 or 30.
    pub(crate) size: u8,
    /// Writes at this level are allowed too.
    pub(crate) writable: bool,
    /// Memory attributes as MAIR_EL1 has them.
    pub(crate) attributes: u8,
    /// SH, as descriptors have it.
    pub(crate) shareability: u8,
}

impl Translation {
    /// Device memory, where accesses have to be aligned.
    pub(crate) fn is_device(&self) -> bool {
        self.attributes >> 4 == 0
    }

    /// The permission fault of the page or block.
    fn denied(&self) -> Status {
        Status::Permission((LAST - (u32::from(self.size) - 12) / STRIDE).low_u8())
    }
}

// Descriptors (Arm ARM D8.3).
const VALID: u64 = 1;
/// A table, or at level 3 a page.
const TABLE: u64 = 1 << 1;
const ADDRESS: u64 = 0x0000_FFFF_FFFF_F000;
const AP_EL0: u64 = 1 << 6;
const AP_READ_ONLY: u64 = 1 << 7;
const ACCESS_FLAG: u64 = 1 << 10;
const PXN: u64 = 1 << 53;
const UXN: u64 = 1 << 54;
const PXN_TABLE: u64 = 1 << 59;
const UXN_TABLE: u64 = 1 << 60;
const AP_TABLE_NO_EL0: u64 = 1 << 61;
const AP_TABLE_READ_ONLY: u64 = 1 << 62;

/// Last level: pages.
const LAST: u32 = 3;
/// Log2 of the descriptors of a table.
const STRIDE: u32 = 9;
/// Device-nGnRnE, as MAIR_EL1 has it.
const DEVICE: u8 = 0;
/// As descriptors have it.
const OUTER_SHAREABLE: u8 = 2;

/// What the tables take away from the rights of all that is below them.
#[derive(Clone, Copy, Default)]
struct Limits {
    no_el0: bool,
    read_only: bool,
    no_execute_el0: bool,
    no_execute_el1: bool,
}

impl Limits {
    fn add(&mut self, descriptor: u64) {
        self.no_el0 |= descriptor & AP_TABLE_NO_EL0 != 0;
        self.read_only |= descriptor & AP_TABLE_READ_ONLY != 0;
        self.no_execute_el0 |= descriptor & UXN_TABLE != 0;
        self.no_execute_el1 |= descriptor & PXN_TABLE != 0;
    }
}

/// What an exception level may do.
#[derive(Clone, Copy)]
struct Rights {
    read: bool,
    write: bool,
    execute: bool,
}

impl Rights {
    /// Those of a page or block (Arm ARM D8.4.1).
    fn new(regime: &Regime, limits: Limits, descriptor: u64, el0: bool) -> Self {
        let wxn = regime.writable_is_not_executable();
        let for_el0 = descriptor & AP_EL0 != 0 && !limits.no_el0;
        let writable = descriptor & AP_READ_ONLY == 0 && !limits.read_only;
        let write_el0 = for_el0 && writable;
        if el0 {
            // EL0 may execute what it may not read.
            let never = descriptor & UXN != 0 || limits.no_execute_el0;
            Self { read: for_el0, write: write_el0, execute: !(never || wxn && write_el0) }
        } else {
            // What EL0 may write EL1 never executes.
            let never = descriptor & PXN != 0 || limits.no_execute_el1;
            Self { read: true, write: writable, execute: !(never || wxn && writable || write_el0) }
        }
    }

    fn allow(self, intent: Intent) -> bool {
        match intent {
            Intent::Read | Intent::Maintain => self.read,
            Intent::Write | Intent::Invalidate => self.write,
            Intent::Fetch => self.execute,
        }
    }
}

/// Translates an untagged address.
///
/// # Errors
/// Whichever of the faults comes first (Arm ARM D8.15.3): those of the lookups in their order, the access flag, an
/// address in Device memory that is not aligned, the rights.
pub(crate) fn translate<R: Ram>(
    regime: &Regime,
    ram: &mut R,
    va: u64,
    request: Request,
) -> Result<Translation, Status> {
    let (translation, rights) = if regime.is_on() {
        walk(regime, |address| read(ram, address), va, request.el0)?
    } else {
        (flat(regime, va)?, Rights { read: true, write: true, execute: true })
    };
    let fetch = request.intent == Intent::Fetch;
    if !request.aligned && !fetch && translation.is_device() {
        return Err(Status::Alignment);
    }
    if rights.allow(request.intent) { Ok(translation) } else { Err(translation.denied()) }
}

/// The address itself: the MMU is off (Arm ARM D8.2.10).
fn flat(regime: &Regime, va: u64) -> Result<Translation, Status> {
    if va >> regime.implemented_bits() != 0 {
        return Err(Status::AddressSize(0));
    }
    Ok(Translation {
        address: va,
        size: 12,
        writable: true,
        attributes: DEVICE,
        shareability: OUTER_SHAREABLE,
    })
}

/// Where an untagged address is for a debugger, which has all rights; `descriptor` reads RAM. `None`: nowhere.
pub(crate) fn locate(regime: &Regime, descriptor: impl FnMut(u64) -> Option<u64>, va: u64) -> Option<u64> {
    let found = if regime.is_on() {
        walk(regime, descriptor, va, false).map(|(translation, _)| translation)
    } else {
        flat(regime, va)
    };
    found.ok().map(|translation| translation.address)
}

fn walk(
    regime: &Regime,
    mut descriptor_at: impl FnMut(u64) -> Option<u64>,
    va: u64,
    el0: bool,
) -> Result<(Translation, Rights), Status> {
    let half = regime.half(va).ok_or(Status::Translation(0))?;
    let physical_bits = regime.physical_bits();
    if half.base >> physical_bits != 0 {
        return Err(Status::AddressSize(0));
    }
    let input = va & (u64::MAX >> (64 - half.bits));
    // The first level resolves what the others leave of the address, at least one bit; its table is aligned to its
    // size.
    let mut level = LAST + 1 - (half.bits - 12).div_ceil(STRIDE);
    let index_bits = half.bits - shift(level);
    let mut table = half.base >> (index_bits + 3) << (index_bits + 3);
    let mut limits = Limits::default();
    loop {
        let at = level.low_u8();
        let shift = shift(level);
        let index = input >> shift & 0x1FF;
        let descriptor = descriptor_at(table + index * 8).ok_or(Status::ExternalOnWalk(at))?;
        let is_table = descriptor & TABLE != 0;
        // Pages and tables have the same bit set; there are no blocks at level 0.
        if descriptor & VALID == 0 || !is_table && (level == 0 || level == LAST) {
            return Err(Status::Translation(at));
        }
        if (descriptor & ADDRESS) >> physical_bits != 0 {
            return Err(Status::AddressSize(at));
        }
        if is_table && level < LAST {
            limits.add(descriptor);
            table = descriptor & ADDRESS;
            level += 1;
            continue;
        }
        if descriptor & ACCESS_FLAG == 0 {
            return Err(Status::AccessFlag(at));
        }
        let rights = Rights::new(regime, limits, descriptor, el0);
        let offset = (1 << shift) - 1;
        let attributes = regime.mair >> (8 * (descriptor >> 2 & 7));
        let translation = Translation {
            address: descriptor & ADDRESS & !offset | input & offset,
            size: shift.low_u8(),
            writable: rights.write,
            attributes: attributes.low_u8(),
            shareability: (descriptor >> 8 & 3).low_u8(),
        };
        return Ok((translation, rights));
    }
}

/// The lowest bit that indexes the tables of a level.
fn shift(level: u32) -> u32 {
    12 + STRIDE * (LAST - level)
}

/// A descriptor. Tables are in RAM only.
fn read<R: Ram>(ram: &mut R, address: u64) -> Option<u64> {
    let page = ram.ram_page(address & !OFFSET)?;
    Some(u64::from_le_bytes(ram.ram_read(page + (address & OFFSET))))
}
