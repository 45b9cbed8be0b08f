//! A snapshot whose RAM is mapped, not read: for one that is resumed again and again.
//!
//! | bytes | what it is |
//! | --- | --- |
//! | 8 | `VPMURAM1` |
//! | 4 | [`VERSION`] |
//! | 4 | CRC-32 (IEEE) of the header |
//! | 8 | length of the header |
//! | 8 | where RAM begins, a multiple of 64 KiB |
//! | | the header, JSON |
//! | | RAM, region after region; pages of zeros may be holes |
//!
//! Numbers are little-endian. RAM has no checksum: looking at all of it would take longer than the guest's start.

use super::file::MAX_HEADER;
use super::{Booted, Header, PAGE, Snapshot, SnapshotError, VERSION};
use crate::engine::VcpuState;
use crate::machine::{Board, Machine};
use platform::convert::low_u32;
use platform::memory::{GuestMemory, Layout, MemoryConfig};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const MAGIC: &[u8; 8] = b"VPMURAM1";
const PREFIX: usize = 32;
/// Largest page of a Linux host.
const ALIGNMENT: u64 = 64 << 10;

/// A snapshot that has been opened.
#[derive(Debug)]
pub struct Mapped {
    /// Everything but RAM.
    pub snapshot: Snapshot,
    file: File,
    ram: u64,
}

impl Mapped {
    /// Writes a machine to a file, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write<B: Board>(
        path: &Path,
        vcpu: VcpuState,
        machine: &mut Machine<B>,
        booted: &Booted,
    ) -> Result<(), SnapshotError> {
        let header = serde_json::to_vec(&Header::of(vcpu, machine, booted)).map_err(std::io::Error::from)?;
        let ram = (PREFIX as u64 + header.len() as u64).next_multiple_of(ALIGNMENT);
        let mut prefix = MAGIC.to_vec();
        prefix.extend(VERSION.to_le_bytes());
        prefix.extend(crc32fast::hash(&header).to_le_bytes());
        prefix.extend((header.len() as u64).to_le_bytes());
        prefix.extend(ram.to_le_bytes());
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let temporary = tempfile::Builder::new().prefix(".vpmu-").tempfile_in(directory)?;
        let file = temporary.as_file();
        file.set_len(ram + (machine.memory.size_mib() << 20))?;
        file.write_all_at(&prefix, 0)?;
        file.write_all_at(&header, PREFIX as u64)?;
        let mut at = ram;
        let mut page = [0; PAGE];
        for region in machine.memory.regions() {
            for address in (region.guest_phys..region.end()).step_by(PAGE) {
                machine.memory.read(address, &mut page)?;
                if page != [0; PAGE] {
                    file.write_all_at(&page, at)?;
                }
                at += PAGE as u64;
            }
        }
        temporary.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Opens a file that [`write`](Self::write) has made.
    ///
    /// # Errors
    /// As [`Snapshot::read`].
    pub fn open(path: &Path) -> Result<Self, SnapshotError> {
        let mut file = File::open(path)?;
        let mut prefix = [0; PREFIX];
        file.read_exact(&mut prefix)?;
        let number = |at: usize, len: usize| {
            prefix[at..at + len].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        };
        if !prefix.starts_with(MAGIC) {
            return Err(SnapshotError::Magic);
        }
        if number(8, 4) != u64::from(VERSION) {
            return Err(SnapshotError::Version(low_u32(number(8, 4))));
        }
        let (len, ram) = (number(16, 8), number(24, 8));
        let mut header = Vec::new();
        Read::by_ref(&mut file).take(len.min(MAX_HEADER)).read_to_end(&mut header)?;
        if u64::from(crc32fast::hash(&header)) != number(12, 4) || ram % ALIGNMENT != 0 {
            return Err(SnapshotError::Damaged("the checksum of its header is wrong".to_owned()));
        }
        let header: Header =
            serde_json::from_slice(&header).map_err(|error| SnapshotError::Damaged(error.to_string()))?;
        let size = header.memory_mib.checked_mul(1 << 20).and_then(|size| size.checked_add(ram));
        if size != Some(file.metadata()?.len()) {
            return Err(SnapshotError::Damaged("its end is missing".to_owned()));
        }
        Ok(Self { snapshot: Snapshot { header, pages: Vec::new() }, file, ram })
    }

    /// The saved RAM: what the guest writes stays in this process.
    ///
    /// # Errors
    /// It cannot be mapped.
    pub fn memory(&self, layout: &'static Layout) -> Result<GuestMemory, SnapshotError> {
        let config = MemoryConfig { size_mib: self.snapshot.memory_mib() };
        Ok(GuestMemory::from_file(config, layout, self.file.try_clone()?, self.ram)?)
    }
}
