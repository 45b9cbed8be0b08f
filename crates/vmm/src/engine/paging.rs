//! Guest linear addresses to physical ones, as the CPU's page walk does it with supervisor rights.
//!
//! KVM_TRANSLATE does the same for the price of an ioctl; this costs a few reads of guest memory.
//! SDM volume 3A, chapter "Paging". Access rights are not checked: the caller stands in for the
//! CPU, which has just used the address.

use kvm_bindings::kvm_sregs;
use platform::convert::host_size;
use platform::memory::GuestMemory;

const CR0_PG: u64 = 1 << 31;
const CR4_PSE: u64 = 1 << 4;
const CR4_PAE: u64 = 1 << 5;
const CR4_LA57: u64 = 1 << 12;
const EFER_LMA: u64 = 1 << 10;

const PRESENT: u64 = 1 << 0;
/// PS in an entry that is not of the last level: it maps a large page.
const LARGE: u64 = 1 << 7;
/// Address bits of a 64-bit entry: 51:12.
const ADDRESS: u64 = 0x000F_FFFF_FFFF_F000;

/// Where page tables are.
pub(crate) trait Tables {
    /// Bytes at a physical address; `None` where there is no RAM.
    fn entry<const N: usize>(&self, address: u64) -> Option<[u8; N]>;
}

impl Tables for GuestMemory {
    fn entry<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes).ok()?;
        Some(bytes)
    }
}

/// The registers that decide how a linear address is translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Paging {
    cr3: u64,
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// CR0.PG = 0.
    #[default]
    Off,
    /// Two levels of 32-bit entries.
    Bits32 { pse: bool },
    /// Three levels, the first of four entries.
    Pae,
    /// Four or five levels.
    Long { levels: u32 },
}

impl Paging {
    /// As KVM's vCPU has it now.
    pub(super) fn of(sregs: &kvm_sregs) -> Self {
        Self::new(sregs.cr0, sregs.cr3, sregs.cr4, sregs.efer)
    }

    /// As these registers have it.
    pub(crate) fn new(cr0: u64, cr3: u64, cr4: u64, efer: u64) -> Self {
        let mode = if cr0 & CR0_PG == 0 {
            Mode::Off
        } else if efer & EFER_LMA != 0 {
            Mode::Long { levels: if cr4 & CR4_LA57 != 0 { 5 } else { 4 } }
        } else if cr4 & CR4_PAE != 0 {
            Mode::Pae
        } else {
            Mode::Bits32 { pse: cr4 & CR4_PSE != 0 }
        };
        Self { cr3, mode }
    }

    /// True for addresses that are 64 bits wide.
    pub(super) fn is_long(&self) -> bool {
        matches!(self.mode, Mode::Long { .. })
    }

    /// The physical address, or `None` where nothing is mapped or a table is not in RAM.
    pub(super) fn translate(&self, memory: &impl Tables, linear: u64) -> Option<u64> {
        match self.mode {
            Mode::Off => Some(linear & 0xFFFF_FFFF),
            Mode::Bits32 { pse } => self.walk_32(memory, linear & 0xFFFF_FFFF, pse),
            Mode::Pae => {
                let linear = linear & 0xFFFF_FFFF;
                let pdpte = entry(memory, (self.cr3 & 0xFFFF_FFE0) + (linear >> 30) * 8)?;
                walk(memory, pdpte & ADDRESS, linear, 2)
            }
            Mode::Long { levels } => walk(memory, self.cr3 & ADDRESS, linear, levels),
        }
    }

    fn walk_32(&self, memory: &impl Tables, linear: u64, pse: bool) -> Option<u64> {
        let read = |address: u64| {
            let entry = u64::from(u32::from_le_bytes(memory.entry(address)?));
            (entry & PRESENT != 0).then_some(entry)
        };
        let directory = read((self.cr3 & 0xFFFF_F000) + (linear >> 22) * 4)?;
        if pse && directory & LARGE != 0 {
            // PSE-36: bits 20:13 are physical address bits 39:32.
            let high = (directory >> 13 & 0xFF) << 32;
            return Some(high | directory & 0xFFC0_0000 | linear & 0x003F_FFFF);
        }
        let table = read((directory & 0xFFFF_F000) + (linear >> 12 & 0x3FF) * 4)?;
        Some(table & 0xFFFF_F000 | linear & 0xFFF)
    }

    /// Copies guest memory at a linear address; false if some byte is not mapped to RAM.
    pub(crate) fn read(&self, memory: &GuestMemory, linear: u64, buffer: &mut [u8]) -> bool {
        self.read_some(memory, linear, buffer) == buffer.len()
    }

    /// Copies as much as is mapped to RAM, and returns how much that is.
    pub(super) fn read_some(&self, memory: &GuestMemory, linear: u64, buffer: &mut [u8]) -> usize {
        let mut done = 0;
        while done < buffer.len() {
            let at = linear.wrapping_add(done as u64);
            let in_page = host_size(0x1000 - (at & 0xFFF));
            let end = buffer.len().min(done + in_page);
            let Some(physical) = self.translate(memory, at) else { break };
            if memory.read(physical, &mut buffer[done..end]).is_err() {
                break;
            }
            done = end;
        }
        done
    }
}

/// A present 64-bit entry.
fn entry(memory: &impl Tables, address: u64) -> Option<u64> {
    let entry = u64::from_le_bytes(memory.entry(address)?);
    (entry & PRESENT != 0).then_some(entry)
}

/// Walks `levels` tables of 512 entries. Large pages: level 2 (2 MiB) and 3 (1 GiB).
fn walk(memory: &impl Tables, mut table: u64, linear: u64, levels: u32) -> Option<u64> {
    for level in (1..=levels).rev() {
        let shift = 12 + 9 * (level - 1);
        let found = entry(memory, table + (linear >> shift & 0x1FF) * 8)?;
        let offset = (1_u64 << shift) - 1;
        if level == 1 || (level <= 3 && found & LARGE != 0) {
            return Some(found & ADDRESS & !offset | linear & offset);
        }
        table = found & ADDRESS;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::memory::MemoryConfig;
    use platform::x86::memory::LAYOUT;

    fn memory() -> GuestMemory {
        GuestMemory::new(MemoryConfig { size_mib: 16 }, &LAYOUT).unwrap()
    }

    fn put(memory: &GuestMemory, address: u64, entry: u64) {
        memory.write(address, &entry.to_le_bytes()).unwrap();
    }

    fn sregs(cr3: u64, cr4: u64, efer: u64) -> kvm_sregs {
        kvm_sregs { cr0: CR0_PG | 1, cr3, cr4, efer, ..kvm_sregs::default() }
    }

    #[test]
    fn four_levels_with_each_page_size() {
        let memory = memory();
        let paging = Paging::of(&sregs(0x1000 | 0x18, CR4_PAE, EFER_LMA));
        put(&memory, 0x1000 + 511 * 8, 0x2003);
        put(&memory, 0x2000, 0x4000_0083);
        put(&memory, 0x2008, 0x3003);
        put(&memory, 0x3000, 0x8020_0083);
        put(&memory, 0x3008, 0x4003);
        put(&memory, 0x4000 + 8, 0x8000_0000_0005_6003);
        let base = 0xFFFF_FF80_0000_0000;
        assert_eq!(paging.translate(&memory, base + 0x1234_5678), Some(0x4000_0000 + 0x1234_5678));
        assert_eq!(paging.translate(&memory, base + 0x4000_0000 + 0x12_3456), Some(0x8020_0000 + 0x12_3456));
        assert_eq!(paging.translate(&memory, base + 0x4020_1ABC), Some(0x5_6ABC), "4 KiB, NX ignored");
        assert_eq!(paging.translate(&memory, base + 0x4020_0ABC), None, "not present");
        assert_eq!(paging.translate(&memory, 0x1000), None, "other half");
    }

    #[test]
    fn five_levels() {
        let memory = memory();
        let paging = Paging::of(&sregs(0x1000, CR4_PAE | CR4_LA57, EFER_LMA));
        for table in [0x1000, 0x2000, 0x3000, 0x4000] {
            put(&memory, table, table + 0x1003);
        }
        put(&memory, 0x5000 + 8, 0x7003);
        assert_eq!(paging.translate(&memory, 0x1010), Some(0x7010));
    }

    #[test]
    fn pae_and_32_bit() {
        let memory = memory();
        put(&memory, 0x1020 + 3 * 8, 0x2001);
        put(&memory, 0x2000, 0x3003);
        put(&memory, 0x3000, 0x1_0000_4003);
        let pae = Paging::of(&sregs(0x1020, CR4_PAE, 0));
        assert_eq!(pae.translate(&memory, 0xC000_0123), Some(0x1_0000_4123));

        memory.write(0x5000 + 0x301 * 4, &0x6003_u32.to_le_bytes()).unwrap();
        memory.write(0x6000 + 4, &0x9003_u32.to_le_bytes()).unwrap();
        memory.write(0x5000, &0x0040_2083_u32.to_le_bytes()).unwrap();
        let plain = Paging::of(&sregs(0x5000, CR4_PSE, 0));
        assert_eq!(plain.translate(&memory, 0xC040_1045), Some(0x9045));
        assert_eq!(plain.translate(&memory, 0x0001_2345), Some(0x1_0041_2345), "4 MiB, PSE-36");
    }

    #[test]
    fn a_read_crosses_pages_that_are_not_neighbours() {
        let memory = memory();
        for table in [0x1000, 0x2000, 0x3000] {
            put(&memory, table, table + 0x1003);
        }
        put(&memory, 0x4000, 0x8003);
        put(&memory, 0x4008, 0x6003);
        memory.write(0x8FFE, &[1, 2]).unwrap();
        memory.write(0x6000, &[3, 4]).unwrap();
        let paging = Paging::of(&sregs(0x1000, CR4_PAE, EFER_LMA));
        let mut bytes = [0; 4];
        assert!(paging.read(&memory, 0xFFE, &mut bytes));
        assert_eq!(bytes, [1, 2, 3, 4]);
        assert_eq!(paging.read_some(&memory, 0x1FFE, &mut bytes), 2, "third page is not mapped");
    }

    #[test]
    fn tables_outside_of_ram_map_nothing() {
        let memory = memory();
        let paging = Paging::of(&sregs(0xF_FFFF_FFFF_F000, CR4_PAE, EFER_LMA));
        assert_eq!(paging.translate(&memory, u64::MAX), None);
    }
}
