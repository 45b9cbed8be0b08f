//! Guest RAM, where the machine's [`Layout`] has it.
//!
//! The mappings are private, anonymous and not reserved (`MAP_NORESERVE`): the host pays for a page
//! when the guest touches it. A size is refused when the host could not give all of it, because a
//! guest may touch every page.

#![expect(unsafe_code, reason = "madvise on guest memory")]

use crate::convert::host_size;
use std::fs::{self, File};
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;
use vm_memory::{
    Bytes as _, FileOffset, GuestAddress, GuestMemoryBackend as _, GuestMemoryError, GuestMemoryMmap,
    GuestMemoryRegion as _, GuestRegionMmap, MmapRegion, mmap::FromRangesError,
};

#[cfg(test)]
mod tests;

/// Smallest guest, in MiB. Less than this does not hold our own test images with their stacks.
pub const MIN_SIZE_MIB: u64 = 4;
/// Largest guest, in MiB (64 GiB): more than any PMU test wants, and a bound for typing errors.
pub const MAX_SIZE_MIB: u64 = 64 * 1024;

const MIB: u64 = 1 << 20;
/// Largest page size of a Linux host that we may run on; smaller pages divide it.
const PAGE: usize = 64 * 1024;
const _: () = assert!(usize::BITS >= 64, "guest addresses and sizes must fit a pointer of the host");

/// How much RAM a guest gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Size in MiB, [`MIN_SIZE_MIB`] to [`MAX_SIZE_MIB`].
    pub size_mib: u64,
}

impl Default for MemoryConfig {
    /// 128 MiB, as QEMU.
    fn default() -> Self {
        Self { size_mib: 128 }
    }
}

/// Where a machine has RAM: guest physical addresses that it fills in this order, ascending.
#[derive(Debug)]
pub struct Layout(pub &'static [Range<u64>]);

impl Layout {
    /// The size in MiB that a guest needs so that `start..end` is RAM; `None` if no guest can have
    /// RAM there (the range lies beside the layout's, or beyond [`MAX_SIZE_MIB`]).
    #[must_use]
    pub fn size_needed_mib(&self, start: u64, end: u64) -> Option<u64> {
        let mut before = 0;
        for window in self.0 {
            if window.start <= start && end <= window.end {
                let mib = (before + (end - window.start)).div_ceil(MIB).max(MIN_SIZE_MIB);
                return (mib <= MAX_SIZE_MIB).then_some(mib);
            }
            before += window.end - window.start;
        }
        None
    }
}

/// Why guest memory could not be made or used.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// Below [`MIN_SIZE_MIB`].
    #[error("{size_mib} MiB of guest memory is too little; the least is {MIN_SIZE_MIB} MiB")]
    TooSmall {
        /// What was asked for.
        size_mib: u64,
    },
    /// Above [`MAX_SIZE_MIB`].
    #[error("{size_mib} MiB of guest memory is too much; the limit is {MAX_SIZE_MIB} MiB (64 GiB)")]
    TooLarge {
        /// What was asked for.
        size_mib: u64,
    },
    /// More than the host has free.
    #[error(
        "{size_mib} MiB of guest memory does not fit on this host, which has {available_mib} MiB available"
    )]
    HostTooSmall {
        /// What was asked for.
        size_mib: u64,
        /// `MemAvailable` of the host.
        available_mib: u64,
    },
    /// The host refused the mapping.
    #[error("The host refused to map {size_mib} MiB of guest memory")]
    Map {
        /// What was asked for.
        size_mib: u64,
        /// The host's reason.
        source: FromRangesError,
    },
    /// An access touches an address without RAM.
    #[error("{len} bytes at guest address {address:#x} are not all RAM")]
    NotRam {
        /// First byte of the access.
        address: u64,
        /// Length of the access.
        len: usize,
        /// What vm-memory says.
        source: GuestMemoryError,
    },
}

/// One contiguous piece of guest RAM, as a KVM memory slot wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RamRegion {
    /// Guest physical address of the first byte; page-aligned.
    pub guest_phys: u64,
    /// Bytes; a multiple of 1 MiB.
    pub size: u64,
    /// Where the region is mapped in this process. Valid as long as any clone of the
    /// [`GuestMemory`] lives.
    pub host: u64,
}

impl RamRegion {
    /// First guest physical address behind the region.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.guest_phys + self.size
    }
}

/// The RAM of one guest. A clone is another handle to the same RAM.
#[derive(Debug, Clone)]
pub struct GuestMemory {
    mmap: GuestMemoryMmap<()>,
    layout: &'static Layout,
    size_mib: u64,
    /// Its pages come from a file: given back, they would hold what the file has.
    from_file: bool,
}

impl GuestMemory {
    /// Maps zeroed RAM of the configured size.
    ///
    /// # Errors
    /// The size is out of bounds, larger than what the host has available, or the host refuses.
    pub fn new(config: MemoryConfig, layout: &'static Layout) -> Result<Self, MemoryError> {
        Self::with_available(config, layout, host_available_mib())
    }

    /// Maps RAM that begins with what a file has from `offset` on, region after region. The file keeps its content.
    ///
    /// # Errors
    /// As [`new`](Self::new), or the file is too short.
    pub fn from_file(
        config: MemoryConfig,
        layout: &'static Layout,
        file: File,
        offset: u64,
    ) -> Result<Self, MemoryError> {
        let MemoryConfig { size_mib } = config;
        check(size_mib, host_available_mib())?;
        let file = Arc::new(file);
        let mut at = offset;
        let ranges: Vec<_> = ranges(size_mib, layout)
            .into_iter()
            .map(|(start, size)| {
                let from = FileOffset::from_arc(Arc::clone(&file), at);
                at += size as u64;
                map_private(start, size, from)
            })
            .collect::<Result<_, _>>()
            .map_err(|source| MemoryError::Map { size_mib, source })?;
        let mmap = GuestMemoryMmap::from_regions(ranges);
        let mmap = mmap.map_err(|source| MemoryError::Map { size_mib, source: source.into() })?;
        Ok(Self { mmap, layout, size_mib, from_file: true })
    }

    /// As [`new`](Self::new) on a host with `available_mib` MiB; `None` skips that check.
    pub(crate) fn with_available(
        config: MemoryConfig,
        layout: &'static Layout,
        available_mib: Option<u64>,
    ) -> Result<Self, MemoryError> {
        let MemoryConfig { size_mib } = config;
        check(size_mib, available_mib)?;
        let mmap = GuestMemoryMmap::from_ranges(&ranges(size_mib, layout))
            .map_err(|source| MemoryError::Map { size_mib, source })?;
        Ok(Self { mmap, layout, size_mib, from_file: false })
    }

    /// Size of all RAM in MiB.
    #[must_use]
    pub fn size_mib(&self) -> u64 {
        self.size_mib
    }

    /// Where the machine has RAM, and could have more.
    #[must_use]
    pub fn layout(&self) -> &'static Layout {
        self.layout
    }

    /// The pieces of RAM in ascending order, for KVM slots and for a software MMU.
    pub fn regions(&self) -> impl Iterator<Item = RamRegion> + '_ {
        self.mmap.iter().map(|region| RamRegion {
            guest_phys: region.start_addr().0,
            size: region.len(),
            host: region.as_ptr() as u64,
        })
    }

    /// True if every byte of `start..end` is RAM. An empty range is, anywhere.
    #[must_use]
    pub fn contains(&self, start: u64, end: u64) -> bool {
        start >= end || self.regions().any(|r| r.guest_phys <= start && end <= r.end())
    }

    /// Copies guest memory to `buffer`.
    ///
    /// # Errors
    /// Some byte is not RAM.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> Result<(), MemoryError> {
        let len = buffer.len();
        self.mmap.read_slice(buffer, GuestAddress(address)).map_err(|source| MemoryError::NotRam {
            address,
            len,
            source,
        })
    }

    /// Copies `bytes` to guest memory.
    ///
    /// # Errors
    /// Some byte is not RAM; the bytes before it may have been written.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.mmap.write_slice(bytes, GuestAddress(address)).map_err(|source| MemoryError::NotRam {
            address,
            len: bytes.len(),
            source,
        })
    }

    /// Fills `len` bytes with zero. Whole host pages are given back instead of written, so that
    /// clearing a large range costs no memory.
    ///
    /// # Errors
    /// Some byte is not RAM; nothing has been written then.
    pub fn zero(&self, address: u64, len: usize) -> Result<(), MemoryError> {
        if len == 0 {
            return Ok(());
        }
        let slice = self
            .mmap
            .get_slice(GuestAddress(address), len)
            .map_err(|source| MemoryError::NotRam { address, len, source })?;
        let guard = slice.ptr_guard_mut();
        let start = guard.as_ptr();
        let head = start.align_offset(PAGE).min(len);
        let pages = (len - head) / PAGE * PAGE;
        // SAFETY: `start + head` is page-aligned and `pages` bytes from there lie inside the slice, which
        // vm-memory keeps mapped while we hold it. Its mapping is private and anonymous, for which
        // MADV_DONTNEED means "reads as zero from now on"; no Rust reference points into guest memory.
        let given_back = pages > 0
            && !self.from_file
            && unsafe { libc::madvise(start.add(head).cast(), pages, libc::MADV_DONTNEED) } == 0;
        let tail = if given_back { head + pages } else { head };
        self.write_zeros(address, head)?;
        self.write_zeros(address + tail as u64, len - tail)
    }

    fn write_zeros(&self, mut address: u64, mut len: usize) -> Result<(), MemoryError> {
        let zeros = [0; 4096];
        while len > 0 {
            let step = len.min(zeros.len());
            self.write(address, &zeros[..step])?;
            address += step as u64;
            len -= step;
        }
        Ok(())
    }

    /// The vm-memory object, for crates of the rust-vmm family.
    #[must_use]
    pub fn as_mmap(&self) -> &GuestMemoryMmap<()> {
        &self.mmap
    }
}

/// Checks a size against our bounds, and against what the host has available.
fn check(size_mib: u64, available_mib: Option<u64>) -> Result<(), MemoryError> {
    if size_mib < MIN_SIZE_MIB {
        return Err(MemoryError::TooSmall { size_mib });
    }
    if size_mib > MAX_SIZE_MIB {
        return Err(MemoryError::TooLarge { size_mib });
    }
    match available_mib.filter(|&available| size_mib > available) {
        Some(available_mib) => Err(MemoryError::HostTooSmall { size_mib, available_mib }),
        None => Ok(()),
    }
}

/// The pieces of RAM of a guest with so many MiB.
fn ranges(size_mib: u64, layout: &Layout) -> Vec<(GuestAddress, usize)> {
    let mut left = size_mib * MIB;
    let mut ranges = Vec::new();
    for window in layout.0 {
        let size = left.min(window.end - window.start);
        if size > 0 {
            ranges.push((GuestAddress(window.start), host_size(size)));
        }
        left -= size;
    }
    ranges
}

/// A piece of RAM that begins with what a file has, and is written to in this process only.
fn map_private(
    start: GuestAddress,
    size: usize,
    from: FileOffset,
) -> Result<GuestRegionMmap<()>, FromRangesError> {
    let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE;
    let region = MmapRegion::build(Some(from), size, libc::PROT_READ | libc::PROT_WRITE, flags)?;
    GuestRegionMmap::new(region, start).ok_or(FromRangesError::InvalidGuestRegion)
}

/// `MemAvailable` of Linux in MiB; `None` where that cannot be read.
fn host_available_mib() -> Option<u64> {
    parse_available_mib(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse_available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib / 1024)
}
