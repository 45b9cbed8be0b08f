//! Translation table walks: stage 1 of the EL1&0 regime with the 4 KiB granule (Arm ARM D8).

use super::context::view;
use super::fault::Status;
use super::{OFFSET, PAGE};
use crate::bus::Bus;
use crate::context::{Core, SCTLR_M, SCTLR_WXN};
use crate::exception::Fault;
use crate::register::Own;
use soft_base::Low;

/// What an access is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    Read,
    Write,
    Fetch,
    /// Cache maintenance, which needs the right to read only.
    Maintain,
}

/// Where an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Translation {
    pub(crate) address: u64,
    /// Log2 of the size of the page or block: 12, 21, 30.
    pub(crate) size: u8,
    /// Writes are allowed too.
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
}

const VALID: u64 = 1;
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

/// Bit 55 of an address chooses the table, also of tagged addresses.
const UPPER: u64 = 1 << 55;

/// The half of the address space that an address is in, as TCR_EL1 describes it.
struct Half {
    table: u64,
    /// Bits of virtual addresses.
    bits: u32,
    top_byte_ignored: bool,
    disabled: bool,
    granule_4k: bool,
}

impl Core {
    fn half(&self, va: u64) -> Half {
        let tcr = self.own(Own::Tcr);
        let (fields, table, epd, tbi, tg) = if va & UPPER == 0 {
            (tcr, Own::Ttbr0, 7, 37, tcr >> 14 & 3 == 0)
        } else {
            (tcr >> 16, Own::Ttbr1, 23, 38, tcr >> 30 & 3 == 2)
        };
        // Values outside 16 to 39 behave as the nearest one.
        let size = (fields & 0x3F).clamp(16, 39).low_u32();
        Half {
            table: self.own(table) & 0x0000_FFFF_FFFF_FFFE,
            bits: 64 - size,
            top_byte_ignored: tcr >> tbi & 1 != 0,
            disabled: tcr >> epd & 1 != 0,
            granule_4k: tg,
        }
    }

    /// An address without its tag.
    pub(crate) fn untagged(&self, va: u64) -> u64 {
        if self.own(Own::Sctlr) & SCTLR_M == 0 {
            return va;
        }
        let upper = va & UPPER != 0;
        let ignored = self.own(Own::Tcr) >> if upper { 38 } else { 37 } & 1 != 0;
        match (ignored, upper) {
            (false, _) => va,
            (true, false) => va & (u64::MAX >> 8),
            (true, true) => va | !(u64::MAX >> 8),
        }
    }

    /// Translates for an access at the level of a view, and fills the TLB for RAM that is Normal memory.
    pub(crate) fn translate<B: Bus>(
        &mut self,
        bus: &mut B,
        va: u64,
        intent: Intent,
        view: usize,
    ) -> Result<Translation, Fault> {
        let translation = match self.walk(bus, va, intent, view::is_el0(view)) {
            Ok(translation) => translation,
            Err(status) => return Err(self.abort(va, status, intent)),
        };
        self.watch.page = translation.size;
        let page = translation.address & !OFFSET;
        let off = self.own(Own::Sctlr) & SCTLR_M == 0;
        if matches!(intent, Intent::Read | Intent::Write)
            && (off || !translation.is_device())
            && !self.watches_page(va)
            && let Some(position) = bus.ram_page(page)
        {
            let write = translation.writable && !self.mmu.code.contains(page);
            self.mmu.tlb.fill(view, va, position, page, translation.size, write);
        }
        Ok(translation)
    }

    /// Walks the tables, and checks the rights of EL0 or EL1.
    pub(crate) fn walk<B: Bus>(
        &mut self,
        bus: &mut B,
        va: u64,
        intent: Intent,
        el0: bool,
    ) -> Result<Translation, Status> {
        let sctlr = self.own(Own::Sctlr);
        if sctlr & SCTLR_M == 0 {
            // Device-nGnRnE for data; bits above the physical address size are an address size fault.
            if va >> 48 != 0 {
                return Err(Status::AddressSize(0));
            }
            return Ok(Translation { address: va, size: 12, writable: true, attributes: 0, shareability: 2 });
        }
        let half = self.half(va);
        let checked = if half.top_byte_ignored {
            va << 8 >> 8 | ((va << 8).cast_signed() >> 63).cast_unsigned() << 56
        } else {
            va
        };
        let extension = if va & UPPER == 0 { 0 } else { u64::MAX };
        if (checked ^ extension) >> half.bits != 0 || half.disabled || !half.granule_4k {
            return Err(Status::Translation(0));
        }
        let input = va & (u64::MAX >> (64 - half.bits));
        // The first level resolves what is left over: 1 to 9 bits.
        let first = 4 - (half.bits - 12).div_ceil(9);
        let mut table = half.table & !0x3F;
        let (mut no_el0, mut read_only, mut uxn, mut pxn) = (false, false, false, false);
        for level in first..=3 {
            let shift = 12 + 9 * (3 - level);
            let index = input >> shift & 0x1FF;
            let at = level.low_u8();
            let descriptor = self.descriptor(bus, table + index * 8).ok_or(Status::ExternalOnWalk(at))?;
            let leaf = level == 3;
            if descriptor & VALID == 0
                || leaf && descriptor & TABLE == 0
                || level == 0 && descriptor & TABLE == 0
            {
                return Err(Status::Translation(at));
            }
            if !leaf && descriptor & TABLE != 0 {
                no_el0 |= descriptor & AP_TABLE_NO_EL0 != 0;
                read_only |= descriptor & AP_TABLE_READ_ONLY != 0;
                uxn |= descriptor & UXN_TABLE != 0;
                pxn |= descriptor & PXN_TABLE != 0;
                table = descriptor & ADDRESS;
                continue;
            }
            if descriptor & ACCESS_FLAG == 0 {
                return Err(Status::AccessFlag(at));
            }
            let el0_access = descriptor & AP_EL0 != 0 && !no_el0;
            let write = descriptor & AP_READ_ONLY == 0 && !read_only;
            let wxn = write && sctlr & SCTLR_WXN != 0;
            let execute = if el0 {
                el0_access && descriptor & UXN == 0 && !uxn && !wxn
            } else {
                // What EL0 may write EL1 never executes.
                descriptor & PXN == 0 && !pxn && !wxn && !(el0_access && write)
            };
            let allowed = match intent {
                Intent::Fetch => execute,
                Intent::Write => write && (el0_access || !el0),
                Intent::Read | Intent::Maintain => el0_access || !el0,
            };
            if !allowed {
                return Err(Status::Permission(at));
            }
            let offset = (1_u64 << shift) - 1;
            let attributes = self.own(Own::Mair) >> (8 * (descriptor >> 2 & 7));
            return Ok(Translation {
                address: descriptor & ADDRESS & !offset | input & offset,
                size: shift.low_u8(),
                writable: write && (el0_access || !el0),
                attributes: attributes.low_u8(),
                shareability: (descriptor >> 8 & 3).low_u8(),
            });
        }
        Err(Status::Translation(3))
    }

    fn descriptor<B: Bus>(&mut self, bus: &mut B, address: u64) -> Option<u64> {
        let page = bus.ram_page(address & !(PAGE - 1))?;
        Some(u64::from_le_bytes(bus.ram_read(page + (address & OFFSET))))
    }
}
