//! What the loader told, in its own words.
//!
//! Formats: Xen `hvm_start_info` (public headers of Xen, `arch-x86/hvm/start_info.h`) and the
//! Multiboot Specification 0.6.96, section 3.3.

use firmware::{BOOT_MULTIBOOT, BOOT_PVH, BootInfo, LOW_PAGE_ALIAS};

const START_INFO_MAGIC: u32 = 0x336E_C578;
const START_INFO_COMMAND_LINE: u64 = 24;
const START_INFO_MEMORY_MAP: u64 = 40;
const START_INFO_MEMORY_MAP_ENTRIES: u64 = 48;
const MULTIBOOT_FLAG_COMMAND_LINE: u32 = 1 << 2;
const MULTIBOOT_FLAG_MEMORY_MAP: u32 = 1 << 6;
const MULTIBOOT_COMMAND_LINE: u64 = 16;
const MULTIBOOT_MEMORY_MAP_LENGTH: u64 = 44;
const MULTIBOOT_MEMORY_MAP: u64 = 48;
/// Type of usable RAM in both memory maps.
const RAM: u32 = 1;
/// End of the identity map.
pub(crate) const MAPPED_END: u64 = 1 << 32;

/// Reads `N` bytes at physical address `address`, which the loader supplied.
fn peek<const N: usize>(address: u64) -> [u8; N] {
    core::array::from_fn(|i| {
        let physical = address.wrapping_add(i as u64);
        let mapped = if physical < 0x1000 { physical + u64::from(LOW_PAGE_ALIAS) } else { physical };
        // SAFETY: the loader's structures lie in mapped RAM; a bad pointer faults and ends the run
        // with a message.
        unsafe { (mapped as *const u8).read_volatile() }
    })
}

fn peek_u32(address: u64) -> u32 {
    u32::from_le_bytes(peek(address))
}

fn peek_u64(address: u64) -> u64 {
    u64::from_le_bytes(peek(address))
}

/// Offers each piece of RAM, by start and length in bytes, and returns the bytes of the command line.
pub(crate) fn read(info: &BootInfo, mut offer: impl FnMut(u64, u64)) -> impl Iterator<Item = u8> {
    let base = info.information;
    let mut command_line = 0;
    match info.protocol {
        BOOT_PVH if peek_u32(base) == START_INFO_MAGIC => {
            command_line = peek_u64(base + START_INFO_COMMAND_LINE);
            let map = peek_u64(base + START_INFO_MEMORY_MAP);
            let version = peek_u32(base + 4);
            let entries = if version == 0 { 0 } else { peek_u32(base + START_INFO_MEMORY_MAP_ENTRIES) };
            for entry in (0..u64::from(entries)).map(|i| map + i * 24) {
                if peek_u32(entry + 16) == RAM {
                    offer(peek_u64(entry), peek_u64(entry + 8));
                }
            }
        }
        BOOT_MULTIBOOT => {
            let flags = peek_u32(base);
            if flags & MULTIBOOT_FLAG_COMMAND_LINE != 0 {
                command_line = u64::from(peek_u32(base + MULTIBOOT_COMMAND_LINE));
            }
            if flags & MULTIBOOT_FLAG_MEMORY_MAP != 0 {
                let mut entry = u64::from(peek_u32(base + MULTIBOOT_MEMORY_MAP));
                let end = entry + u64::from(peek_u32(base + MULTIBOOT_MEMORY_MAP_LENGTH));
                while entry < end {
                    if peek_u32(entry + 20) == RAM {
                        offer(peek_u64(entry + 4), peek_u64(entry + 12));
                    }
                    entry += u64::from(peek_u32(entry)) + 4;
                }
            }
        }
        _ => {}
    }
    (command_line..)
        .take_while(move |_| command_line != 0)
        .map(peek)
        .map(|[byte]| byte)
        .take_while(|byte| *byte != 0)
}
