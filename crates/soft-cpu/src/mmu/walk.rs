//! Page-table walks (SDM volume 3, chapter 5).

use super::{OFFSET, PAGE, view};
use crate::bus::Bus;
use crate::context::{CR0_PG, CR0_WP, CR4_PAE, CR4_PSE, CR4_SMAP, CR4_SMEP, Core, EFER_LMA, EFER_NXE};
use crate::cpuid::PHYSICAL_BITS;
use crate::exception::{self, Exception, Fault};
use crate::low::Low;
use retire::Assist;

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
const ACCESSED: u64 = 1 << 5;
const DIRTY: u64 = 1 << 6;
const LARGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;
const ADDRESS: u64 = 0x000F_FFFF_FFFF_F000;
const RESERVED_ADDRESS: u64 = ADDRESS & !((1 << PHYSICAL_BITS) - 1);

/// Error code bits.
const CODE_PRESENT: u32 = 1;
const CODE_WRITE: u32 = 1 << 1;
const CODE_USER: u32 = 1 << 2;
const CODE_RESERVED: u32 = 1 << 3;
const CODE_FETCH: u32 = 1 << 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    Read,
    Write,
    Fetch,
}

/// A table entry that the walk used, to set its accessed and dirty bits.
#[derive(Clone, Copy, Default)]
struct Used {
    gpa: u64,
    value: u64,
}

struct Walk {
    used: [Used; 4],
    levels: usize,
    wide: bool,
    /// Physical address of the byte.
    gpa: u64,
    /// AND of the entries' R/W and U/S bits.
    rights: u64,
    no_execute: bool,
    /// Log2 of the page's size: 12, 21 or 30. Pages of 4 MiB count as one of 2 MiB.
    page: u8,
}

impl Core {
    /// Translates a canonical linear address, and fills the TLB for RAM.
    pub(crate) fn translate<B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        intent: Intent,
        user: usize,
    ) -> Result<u64, Fault> {
        let (gpa, dirty) = if self.cr0 & CR0_PG == 0 {
            self.watch.page = 12;
            (linear & 0xFFFF_FFFF, true)
        } else {
            match self.walk_and_check(bus, linear, intent, user) {
                Ok(found) => found,
                Err(code) => {
                    let exception = Exception { vector: exception::PF, error: Some(code), address: linear };
                    return Err(self.raise(exception));
                }
            }
        };
        if intent != Intent::Fetch
            && user != view::ALIGNED
            && !self.watch_page(linear)
            && let Some(position) = bus.ram_page(gpa & !OFFSET)
        {
            let page = gpa & !OFFSET;
            let write = intent == Intent::Write && dirty && !self.mmu.code.contains(page);
            self.mmu.tlb.fill(user, linear, position, page, self.watch.page, write);
        }
        Ok(gpa)
    }

    /// The physical address and log2 of its page's size, rights aside: no access, so that no table entry changes.
    #[cold]
    pub(crate) fn look_up<B: Bus>(&mut self, bus: &mut B, linear: u64) -> Option<(u64, u8)> {
        let walk = self.walk(bus, linear).ok()?;
        Some((walk.gpa, walk.page))
    }

    /// The physical address, and whether later writes need no walk. `Err` is the #PF error code.
    pub(crate) fn walk_and_check<B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        intent: Intent,
        view: usize,
    ) -> Result<(u64, bool), u32> {
        let user = view & view::USER != 0;
        let mut base = 0;
        if intent == Intent::Write {
            base |= CODE_WRITE;
        }
        if user {
            base |= CODE_USER;
        }
        let nx = self.efer & EFER_NXE != 0 && self.cr4 & CR4_PAE != 0;
        if intent == Intent::Fetch && (nx || self.cr4 & CR4_SMEP != 0) {
            base |= CODE_FETCH;
        }
        let walk = self.walk(bus, linear).map_err(|code| base | code)?;
        let user_page = walk.rights & USER != 0;
        let guard = if intent == Intent::Fetch { CR4_SMEP } else { CR4_SMAP };
        let guarded = self.cr4 & guard != 0 && (intent == Intent::Fetch || view != view::UNGUARDED);
        let denied = match intent {
            Intent::Fetch => walk.no_execute,
            Intent::Write => walk.rights & WRITABLE == 0 && (user || self.cr0 & CR0_WP != 0),
            Intent::Read => false,
        };
        if denied || if user { !user_page } else { user_page && guarded } {
            return Err(base | CODE_PRESENT);
        }
        let write = intent == Intent::Write;
        let mut assisted = false;
        for (level, used) in walk.used[..walk.levels].iter().enumerate() {
            let leaf = level + 1 == walk.levels;
            let bits = if leaf && write { ACCESSED | DIRTY } else { ACCESSED };
            if used.value & bits != bits {
                self.set_entry(bus, used.gpa, used.value | bits, walk.wide);
                assisted = true;
            }
        }
        if assisted {
            self.note_assist(Assist::PageTable);
        }
        self.watch.page = walk.page;
        Ok((walk.gpa, write))
    }

    fn walk<B: Bus>(&mut self, bus: &mut B, linear: u64) -> Result<Walk, u32> {
        if self.efer & EFER_LMA != 0 {
            self.walk_4_level(bus, linear)
        } else if self.cr4 & CR4_PAE != 0 {
            self.walk_pae(bus, linear)
        } else {
            self.walk_32(bus, linear)
        }
    }

    fn walk_4_level<B: Bus>(&mut self, bus: &mut B, linear: u64) -> Result<Walk, u32> {
        self.walk_wide(bus, linear, self.cr3 & ADDRESS, 39, Walk::new(true))
    }

    fn walk_pae<B: Bus>(&mut self, bus: &mut B, linear: u64) -> Result<Walk, u32> {
        let gpa = (self.cr3 & 0xFFFF_FFE0) + (linear >> 30 & 3) * 8;
        let entry = self.get_entry(bus, gpa, true);
        if entry & PRESENT == 0 {
            return Err(0);
        }
        self.walk_wide(bus, linear & 0xFFFF_FFFF, entry & ADDRESS, 21, Walk::new(true))
    }

    /// Tables of 512 entries from the level whose index starts at bit `shift`.
    fn walk_wide<B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        mut table: u64,
        mut shift: u32,
        mut walk: Walk,
    ) -> Result<Walk, u32> {
        let nxe = self.efer & EFER_NXE != 0;
        loop {
            let gpa = table + (linear >> shift & 0x1FF) * 8;
            let entry = self.get_entry(bus, gpa, true);
            if entry & PRESENT == 0 {
                return Err(0);
            }
            walk.use_entry(gpa, entry);
            walk.no_execute |= entry & NO_EXECUTE != 0;
            let large = entry & LARGE != 0 && shift > 12;
            let size = 1_u64 << shift;
            let mut reserved = RESERVED_ADDRESS;
            if !nxe {
                reserved |= NO_EXECUTE;
            }
            if shift == 39 {
                reserved |= LARGE;
            } else if large {
                // Bit 12 of a large page's entry is PAT.
                reserved |= (size - 1) & ADDRESS & !(1 << 12);
            }
            if entry & reserved != 0 {
                return Err(CODE_PRESENT | CODE_RESERVED);
            }
            if shift == 12 || large {
                walk.page = shift.low_u8();
                walk.gpa = entry & ADDRESS & !(size - 1) | linear & (size - 1);
                return Ok(walk);
            }
            table = entry & ADDRESS;
            shift -= 9;
        }
    }

    fn walk_32<B: Bus>(&mut self, bus: &mut B, linear: u64) -> Result<Walk, u32> {
        let mut walk = Walk::new(false);
        let gpa = (self.cr3 & 0xFFFF_F000) + (linear >> 22 & 0x3FF) * 4;
        let entry = self.get_entry(bus, gpa, false);
        if entry & PRESENT == 0 {
            return Err(0);
        }
        walk.use_entry(gpa, entry);
        if entry & LARGE != 0 && self.cr4 & CR4_PSE != 0 {
            // Bits 20:13 are physical address bits 39:32 (PSE-36), bit 21 is reserved.
            if entry & 1 << 21 != 0 {
                return Err(CODE_PRESENT | CODE_RESERVED);
            }
            walk.page = 21;
            walk.gpa = entry & 0xFFC0_0000 | (entry >> 13 & 0xFF) << 32 | linear & 0x3F_FFFF;
            return Ok(walk);
        }
        let gpa = (entry & 0xFFFF_F000) + (linear >> 12 & 0x3FF) * 4;
        let entry = self.get_entry(bus, gpa, false);
        if entry & PRESENT == 0 {
            return Err(0);
        }
        walk.use_entry(gpa, entry);
        walk.gpa = entry & 0xFFFF_F000 | linear & (PAGE - 1);
        Ok(walk)
    }

    fn get_entry<B: Bus>(&mut self, bus: &mut B, gpa: u64, wide: bool) -> u64 {
        match bus.ram_page(gpa & !OFFSET) {
            Some(page) if wide => u64::from_le_bytes(bus.ram_read(page + (gpa & OFFSET))),
            Some(page) => u64::from(u32::from_le_bytes(bus.ram_read(page + (gpa & OFFSET)))),
            // No device holds page tables; what is not there reads as all ones on a bus, which
            // has reserved bits set.
            None if wide => u64::MAX,
            None => u64::from(u32::MAX),
        }
    }

    fn set_entry<B: Bus>(&mut self, bus: &mut B, gpa: u64, value: u64, wide: bool) {
        let bytes = value.to_le_bytes();
        self.write_physical(bus, gpa, if wide { &bytes } else { &bytes[..4] });
    }
}

impl Walk {
    fn new(wide: bool) -> Self {
        Self {
            used: [Used::default(); 4],
            levels: 0,
            wide,
            gpa: 0,
            rights: WRITABLE | USER,
            no_execute: false,
            page: 12,
        }
    }

    fn use_entry(&mut self, gpa: u64, value: u64) {
        self.used[self.levels & 3] = Used { gpa, value };
        self.levels += 1;
        self.rights &= value;
    }
}
