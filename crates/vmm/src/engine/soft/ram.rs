//! Guest RAM by host address: the interpreter reads and writes it for every memory operand.

#![expect(unsafe_code, reason = "guest memory at the speed of memory")]

use crate::engine::paging::Tables;
use platform::convert::host_size;
use platform::memory::GuestMemory;

/// The guest's RAM, which starts at `BASE`; a position is a guest physical address.
#[derive(Debug)]
pub(super) struct Ram<const BASE: u64> {
    regions: [Region; 2],
    /// The first region starts at `BASE`, and [`LONGEST`] bytes from any address less than this above it are in it.
    low_end: u64,
    // Keeps the mapping alive.
    _memory: GuestMemory,
}

impl<const BASE: u64> Tables for Ram<BASE> {
    fn entry<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        self.read_quick(address).or_else(|| {
            let mut bytes = [0; N];
            self.read_bytes(address, &mut bytes).then_some(bytes)
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct Region {
    start: u64,
    size: u64,
    host: *mut u8,
}

/// Bytes of the longest operand.
const LONGEST: u64 = 64;

impl Region {
    const NONE: Self = Self { start: 0, size: 0, host: std::ptr::null_mut() };
}

impl<const BASE: u64> Ram<BASE> {
    pub(super) fn new(memory: &GuestMemory) -> Self {
        let mut regions = [Region::NONE; 2];
        for (region, ram) in regions.iter_mut().zip(memory.regions()) {
            *region = Region { start: ram.guest_phys, size: ram.size, host: ram.host as *mut u8 };
        }
        let [low, _] = regions;
        let low_end = if low.start == BASE { (low.size + 1).saturating_sub(LONGEST) } else { 0 };
        Self { regions, low_end, _memory: memory.clone() }
    }

    /// True if the 4 KiB page at `gpa` is RAM.
    pub(super) fn has_page(&self, gpa: u64) -> bool {
        self.pointer(gpa, 4096).is_some()
    }

    /// The low region for compiled code, whose positions begin at 0.
    #[cfg(all(feature = "compile", target_arch = "x86_64"))]
    pub(super) fn compiled(&self) -> soft_compile::Ram {
        let [low, _] = self.regions;
        let size = if low.start == 0 { low.size } else { 0 };
        // SAFETY: the engine, which the CPU with this does not outlive, keeps the memory mapped; for references see
        // `read_quick`.
        unsafe { soft_compile::Ram::new(low.host, size) }
    }

    /// Host address of bytes of RAM that the first look finds: up to [`LONGEST`] in the low region.
    #[inline(always)]
    fn low(&self, gpa: u64) -> Option<*mut u8> {
        let offset = gpa.wrapping_sub(BASE);
        (offset < self.low_end).then(|| self.regions[0].host.wrapping_add(host_size(offset)))
    }

    /// Host address of `len` bytes of RAM.
    fn pointer(&self, gpa: u64, len: u64) -> Option<*mut u8> {
        self.regions.iter().find_map(|region| {
            let offset = gpa.wrapping_sub(region.start);
            let inside = offset < region.size && region.size - offset >= len;
            // `wrapping_add` because the compiler need not know that it stays inside the mapping.
            inside.then(|| region.host.wrapping_add(host_size(offset)))
        })
    }

    /// Reads RAM of the low region, but for its end.
    #[inline(always)]
    pub(super) fn read_quick<const N: usize>(&self, gpa: u64) -> Option<[u8; N]> {
        const { assert!(N as u64 <= LONGEST) };
        // SAFETY: LONGEST bytes, at least N, from here lie in a region that `_memory` keeps mapped. No Rust
        // reference points into guest memory, and one thread uses it.
        self.low(gpa).map(|pointer| unsafe { pointer.cast::<[u8; N]>().read_unaligned() })
    }

    /// Writes there; false, and nothing happens, elsewhere.
    #[inline(always)]
    pub(super) fn write_quick<const N: usize>(&self, gpa: u64, bytes: [u8; N]) -> bool {
        const { assert!(N as u64 <= LONGEST) };
        let Some(pointer) = self.low(gpa) else { return false };
        // SAFETY: as in `read_quick`.
        unsafe { pointer.cast::<[u8; N]>().write_unaligned(bytes) };
        true
    }

    /// Reads RAM; all ones where there is none.
    #[inline(always)]
    pub(super) fn read<const N: usize>(&self, gpa: u64) -> [u8; N] {
        match self.read_quick(gpa) {
            Some(bytes) => bytes,
            None => self.read_anywhere(gpa),
        }
    }

    /// Writes RAM; nothing happens where there is none.
    #[inline(always)]
    pub(super) fn write<const N: usize>(&self, gpa: u64, bytes: [u8; N]) {
        if !self.write_quick(gpa, bytes) {
            self.write_anywhere(gpa, bytes);
        }
    }

    /// True if so many bytes are RAM of one region.
    pub(super) fn has_bytes(&self, gpa: u64, len: u64) -> bool {
        self.pointer(gpa, len).is_some()
    }

    /// Reads bytes; false, and nothing happens, if some are not RAM of one region.
    pub(super) fn read_bytes(&self, gpa: u64, bytes: &mut [u8]) -> bool {
        let Some(pointer) = self.pointer(gpa, bytes.len() as u64) else { return false };
        // SAFETY: `pointer` has checked that so many bytes from here lie in a region that `_memory` keeps mapped; no
        // Rust reference, and so neither `bytes`, points into guest memory, and one thread uses it.
        unsafe { pointer.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        true
    }

    /// Writes bytes; false, and nothing happens, if some are not RAM of one region.
    pub(super) fn write_bytes(&self, gpa: u64, bytes: &[u8]) -> bool {
        let Some(pointer) = self.pointer(gpa, bytes.len() as u64) else { return false };
        // SAFETY: as in `read_bytes`.
        unsafe { pointer.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        true
    }

    #[inline(never)]
    fn read_anywhere<const N: usize>(&self, gpa: u64) -> [u8; N] {
        match self.pointer(gpa, N as u64) {
            // SAFETY: `pointer` has checked that N bytes from here lie in a region that `_memory` keeps
            // mapped; for the rest see `read_quick`.
            Some(pointer) => unsafe { pointer.cast::<[u8; N]>().read_unaligned() },
            None => [0xFF; N],
        }
    }

    #[inline(never)]
    fn write_anywhere<const N: usize>(&self, gpa: u64, bytes: [u8; N]) {
        if let Some(pointer) = self.pointer(gpa, N as u64) {
            // SAFETY: as in `read_anywhere`.
            unsafe { pointer.cast::<[u8; N]>().write_unaligned(bytes) };
        }
    }
}
