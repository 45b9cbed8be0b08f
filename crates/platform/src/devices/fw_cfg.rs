//! fw_cfg: named blobs that the VMM hands to the guest (QEMU `docs/specs/fw_cfg`).
//!
//! Traditional port interface: 16-bit selector, byte-wide data. No DMA interface (the ID item says
//! so) and read-only.

use crate::convert::count_u32;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Selector keys with a fixed meaning. Numbers are little-endian.
pub mod key {
    /// Four bytes "QEMU".
    pub const SIGNATURE: u16 = 0x00;
    /// u32 feature bits: bit 0 the port interface, bit 1 DMA.
    pub const ID: u16 = 0x01;
    /// u64 RAM size in bytes.
    pub const RAM_SIZE: u16 = 0x03;
    /// u16 number of CPUs.
    pub const NB_CPUS: u16 = 0x05;
    /// u16 highest possible APIC ID plus one.
    pub const MAX_CPUS: u16 = 0x0F;
    /// u32 length of the kernel command line, with its final 0.
    pub const CMDLINE_SIZE: u16 = 0x14;
    /// Kernel command line, ended by 0.
    pub const CMDLINE_DATA: u16 = 0x15;
    /// Directory of named files: u32 count, then 64 bytes each, numbers big-endian.
    pub const FILE_DIR: u16 = 0x19;
    /// First named file.
    pub const FILE_FIRST: u16 = 0x20;
}

/// Selector bit 14, write access (ignored) and bit 15, architecture-specific items (we have none).
const WRITE_CHANNEL: u16 = 1 << 14;
/// Bytes of a file name in the directory, with its final 0.
const NAME_SIZE: usize = 56;
/// Number of named files that fit, as QEMU's default.
const MAX_FILES: usize = 0x20;

/// A file that the directory cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FwCfgError {
    /// Empty, too long, or with a 0 inside.
    #[error("fw_cfg file name {0:?} must have 1 to 55 bytes and no NUL")]
    Name(String),
    /// Name given twice.
    #[error("fw_cfg file {0} is given twice")]
    Duplicate(String),
    /// Directory full.
    #[error("fw_cfg holds at most {MAX_FILES} files; {0} is one too many")]
    TooMany(String),
    /// Size does not fit in 32 bits.
    #[error("fw_cfg file {name} has {size} bytes, more than 32 bits can say")]
    TooLarge {
        /// File name.
        name: String,
        /// File size in bytes.
        size: usize,
    },
}

/// The device: items, and the guest's position in one of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FwCfg {
    items: BTreeMap<u16, Vec<u8>>,
    files: BTreeMap<String, Vec<u8>>,
    selected: u16,
    offset: usize,
}

impl FwCfg {
    /// Items of a machine with `cpus` CPUs and `ram_bytes` of memory, without files.
    #[must_use]
    pub fn new(cpus: u16, ram_bytes: u64) -> Self {
        let items = BTreeMap::from([
            (key::SIGNATURE, b"QEMU".to_vec()),
            (key::ID, 1_u32.to_le_bytes().to_vec()),
            (key::RAM_SIZE, ram_bytes.to_le_bytes().to_vec()),
            (key::NB_CPUS, cpus.to_le_bytes().to_vec()),
            (key::MAX_CPUS, cpus.to_le_bytes().to_vec()),
        ]);
        let mut device = Self { items, files: BTreeMap::new(), selected: key::SIGNATURE, offset: 0 };
        device.number_files();
        device
    }

    /// Publishes the kernel command line under the keys that QEMU uses for `-append`.
    pub fn set_command_line(&mut self, command_line: &str) {
        let mut data = command_line.as_bytes().to_vec();
        data.push(0);
        // A command line of 4 GiB does not exist; its size item would be the one thing wrong.
        let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
        self.items.insert(key::CMDLINE_SIZE, size.to_le_bytes().to_vec());
        self.items.insert(key::CMDLINE_DATA, data);
    }

    /// Adds a named file, like QEMU's `-fw_cfg name=…`. Add files before the guest runs: files are
    /// numbered in the order of their names.
    ///
    /// # Errors
    /// [`FwCfgError`] for a bad or repeated name, a full directory, and data over 4 GiB.
    pub fn add_file(&mut self, name: &str, data: Vec<u8>) -> Result<(), FwCfgError> {
        if name.is_empty() || name.len() >= NAME_SIZE || name.contains('\0') {
            return Err(FwCfgError::Name(name.to_owned()));
        }
        if self.files.contains_key(name) {
            return Err(FwCfgError::Duplicate(name.to_owned()));
        }
        if self.files.len() >= MAX_FILES {
            return Err(FwCfgError::TooMany(name.to_owned()));
        }
        if u32::try_from(data.len()).is_err() {
            return Err(FwCfgError::TooLarge { name: name.to_owned(), size: data.len() });
        }
        self.files.insert(name.to_owned(), data);
        self.number_files();
        Ok(())
    }

    /// Selector write: the next read gives the item's first byte.
    pub(crate) fn select(&mut self, key: u16) {
        self.selected = key & !WRITE_CHANNEL;
        self.offset = 0;
    }

    /// Next byte of the selected item; 0 past its end and for items that do not exist.
    pub(crate) fn read(&mut self) -> u8 {
        let Some(byte) = self.selected_item().get(self.offset).copied() else { return 0 };
        self.offset += 1;
        byte
    }

    fn selected_item(&self) -> &[u8] {
        if let Some(index) = self.selected.checked_sub(key::FILE_FIRST) {
            return self.files.values().nth(index.into()).map_or(&[], Vec::as_slice);
        }
        self.items.get(&self.selected).map_or(&[], Vec::as_slice)
    }

    /// Rebuilds the directory.
    fn number_files(&mut self) {
        let mut directory = count_u32(self.files.len()).to_be_bytes().to_vec();
        for (key, (name, data)) in (key::FILE_FIRST..).zip(&self.files) {
            directory.extend(count_u32(data.len()).to_be_bytes());
            directory.extend(key.to_be_bytes());
            directory.extend([0, 0]);
            let mut padded = [0; NAME_SIZE];
            padded[..name.len()].copy_from_slice(name.as_bytes());
            directory.extend(padded);
        }
        self.items.insert(key::FILE_DIR, directory);
    }
}
