//! Reading and writing the file. See the parent module for the layout.

use super::{PAGE, Snapshot, SnapshotError, VERSION};
use platform::convert::{host_size, low_u32};
use platform::memory::MAX_SIZE_MIB;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

const MAGIC: &[u8; 8] = b"VPMUSNAP";
/// Magic, version, checksum.
const PREFIX: usize = 16;
/// Longest header; a real one has some hundred KiB.
pub(super) const MAX_HEADER: u64 = 1 << 28;

impl Snapshot {
    /// The bytes of the file.
    ///
    /// # Errors
    /// The header cannot be expressed in JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let header = serde_json::to_vec(&self.header).map_err(std::io::Error::from)?;
        let mut bytes = Vec::with_capacity(PREFIX + 8 + header.len() + self.pages.len() * (8 + PAGE));
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend((header.len() as u64).to_le_bytes());
        bytes.extend(header);
        for (address, page) in &self.pages {
            bytes.extend(address.to_le_bytes());
            bytes.extend(&page[..]);
        }
        let checksum = crc32fast::hash(&bytes[PREFIX..]);
        bytes[PREFIX - 4..PREFIX].copy_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// [`SnapshotError`] says whether it is another kind of file, another version or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let damaged = |what: &str| SnapshotError::Damaged(what.to_owned());
        if !bytes.starts_with(MAGIC) {
            return Err(SnapshotError::Magic);
        }
        let mut rest = &bytes[MAGIC.len()..];
        let mut take = |len: usize| {
            let (taken, left) = rest.split_at_checked(len)?;
            rest = left;
            Some(taken)
        };
        let short = || damaged("its end is missing");
        let version = take(4).map(number).ok_or_else(short)?;
        if version != u64::from(VERSION) {
            return Err(SnapshotError::Version(low_u32(version)));
        }
        let checksum = take(4).map(number).ok_or_else(short)?;
        if u64::from(crc32fast::hash(bytes.get(PREFIX..).unwrap_or_default())) != checksum {
            return Err(damaged("the checksum is wrong, bytes are missing or changed"));
        }
        let len = take(8).map(number).filter(|len| *len <= MAX_HEADER).ok_or_else(short)?;
        let header = take(host_size(len)).ok_or_else(short)?;
        let header = serde_json::from_slice(header).map_err(|e| SnapshotError::Damaged(e.to_string()))?;
        let entries = rest.chunks_exact(8 + PAGE);
        if !entries.remainder().is_empty() {
            return Err(short());
        }
        let pages = entries.map(|entry| {
            let (address, content) = entry.split_at(8);
            let mut page = Box::new([0; PAGE]);
            page.copy_from_slice(content);
            (number(address), page)
        });
        Ok(Self { header, pages: pages.collect() })
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), SnapshotError> {
        Ok(crate::file::replace(path, &self.to_bytes()?)?)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), or it cannot be read.
    pub fn read(path: &Path) -> Result<Self, SnapshotError> {
        let mut bytes = Vec::new();
        // The bound keeps a device file from filling our memory.
        File::open(path)?.take(MAX_HEADER + (MAX_SIZE_MIB << 20) * 2).read_to_end(&mut bytes)?;
        Self::from_bytes(&bytes)
    }
}

/// At most eight bytes, little-endian.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
