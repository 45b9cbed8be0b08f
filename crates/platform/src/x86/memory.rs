//! Where a PC has RAM, and the map of it that the guest is shown.
//!
//! ```text
//! 0 ........... 3 GiB ........... 4 GiB ...........
//! |    low RAM    |   no RAM: local   |  high RAM: what did not fit below
//! |               |   APIC, I/O APIC  |
//! ```

use crate::memory::{GuestMemory, Layout, MAX_SIZE_MIB};

/// First address without RAM below 4 GiB. The local APIC page 0xFEE00000 lies in the hole.
pub const HOLE_START: u64 = 3 << 30;
/// First address above the hole.
pub const HOLE_END: u64 = 4 << 30;
/// End of the RAM that a PC offers below the EBDA, the VGA window and the BIOS.
pub const LOW_RAM_END: u64 = 0x9_FC00;
/// Start of the RAM above the legacy areas.
pub const HIGH_RAM_START: u64 = 0x10_0000;
/// Where a PC has RAM.
pub static LAYOUT: Layout =
    Layout(&[0..HOLE_START, HOLE_END..(MAX_SIZE_MIB << 20) + (HOLE_END - HOLE_START)]);

/// What a range of the memory map is (ACPI 6.5 table 15.10, "address range types").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RangeKind {
    /// Usable RAM.
    Ram = 1,
    /// Not to be used by the guest.
    Reserved = 2,
}

/// One entry of the memory map that the guest is shown. The values are the same in E820 tables,
/// PVH start info and multiboot info.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapEntry {
    /// First guest physical address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// What the range is.
    pub kind: RangeKind,
}

/// First address behind the RAM that starts at 0; at most [`HOLE_START`].
#[must_use]
pub fn low_end(memory: &GuestMemory) -> u64 {
    (memory.size_mib() << 20).min(HOLE_START)
}

/// The memory map for the guest. Addresses that are not listed are free for devices.
#[must_use]
pub fn memory_map(memory: &GuestMemory) -> Vec<MapEntry> {
    let ram = |start, end| MapEntry { start, size: end - start, kind: RangeKind::Ram };
    let mut map = vec![
        ram(0, LOW_RAM_END),
        MapEntry { start: LOW_RAM_END, size: HIGH_RAM_START - LOW_RAM_END, kind: RangeKind::Reserved },
        ram(HIGH_RAM_START, low_end(memory)),
    ];
    map.extend(memory.regions().filter(|r| r.guest_phys != 0).map(|r| ram(r.guest_phys, r.end())));
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MIN_SIZE_MIB, MemoryConfig};

    fn memory(size_mib: u64) -> GuestMemory {
        GuestMemory::with_available(MemoryConfig { size_mib }, &LAYOUT, None).unwrap()
    }

    #[test]
    fn ram_below_3_gib_is_one_region() {
        let memory = memory(16);
        let regions: Vec<_> = memory.regions().collect();
        assert_eq!(regions.len(), 1);
        assert_eq!((regions[0].guest_phys, regions[0].size), (0, 16 << 20));
        assert_ne!(regions[0].host, 0);
        assert_eq!(low_end(&memory), 16 << 20);
    }

    #[test]
    fn ram_above_3_gib_continues_at_4_gib_and_leaves_the_apic_page_free() {
        let memory = memory(5 * 1024);
        let ranges: Vec<_> = memory.regions().map(|r| (r.guest_phys, r.end())).collect();
        assert_eq!(ranges, [(0, 3 << 30), (4 << 30, 6 << 30)]);
        assert!(memory.read(0xFEE0_0000, &mut [0]).is_err());
        memory.write((6 << 30) - 1, &[7]).unwrap();
        assert!(memory.write(6 << 30, &[7]).is_err());
    }

    #[test]
    fn the_map_lists_ram_and_the_legacy_area() {
        let entry = |start, end, kind| MapEntry { start, size: end - start, kind };
        assert_eq!(
            memory_map(&memory(4 * 1024)),
            [
                entry(0, 0x9_FC00, RangeKind::Ram),
                entry(0x9_FC00, 0x10_0000, RangeKind::Reserved),
                entry(0x10_0000, 0xC000_0000, RangeKind::Ram),
                entry(0x1_0000_0000, 0x1_4000_0000, RangeKind::Ram),
            ]
        );
        assert_eq!(memory_map(&memory(4)).last(), Some(&entry(0x10_0000, 0x40_0000, RangeKind::Ram)));
    }

    #[test]
    fn the_size_needed_for_a_range_counts_the_hole() {
        assert_eq!(LAYOUT.size_needed_mib(0, 1), Some(MIN_SIZE_MIB));
        assert_eq!(LAYOUT.size_needed_mib(0x40_0000, 0x103_8000), Some(17));
        assert_eq!(LAYOUT.size_needed_mib(4 << 30, 6 << 30), Some(5 * 1024));
        assert_eq!(LAYOUT.size_needed_mib(0xFEE0_0000, 0xFEE0_1000), None);
        assert_eq!(LAYOUT.size_needed_mib(0, u64::MAX), None);
        assert_eq!(LAYOUT.size_needed_mib(1 << 50, 1 << 51), None);
        for (start, end) in [(0x40_0000, 0x103_8000), (4 << 30, (4 << 30) + 1)] {
            let needed = LAYOUT.size_needed_mib(start, end).unwrap();
            assert!(memory(needed).contains(start, end));
            assert!(!memory(needed - 1).contains(start, end));
        }
    }
}
