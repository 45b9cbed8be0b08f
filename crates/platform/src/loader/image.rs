//! A file that can boot: what it is, and where its parts go.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use super::elf::{self, Elf, Segment};
use super::error::ImageError;
use super::{linux, multiboot, pvh};
use linux_loader::bootparam::setup_header;

/// Largest image file in bytes (1 GiB); a Linux kernel with all debug information is about half.
pub const MAX_IMAGE_SIZE: u64 = 1 << 30;

/// How an image wants to be started. PVH and multiboot start in 32-bit protected mode without paging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Xen's PVH: ELF with a `XEN_ELFNOTE_PHYS32_ENTRY` note; EBX points to `hvm_start_info`.
    Pvh,
    /// Multiboot 1: a header in the first 8 KiB; EBX points to the multiboot information.
    Multiboot,
    /// Linux's 64-bit boot protocol: bzImage or vmlinux; long mode, RSI points to `boot_params`.
    Linux,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pvh => "PVH",
            Self::Multiboot => "multiboot",
            Self::Linux => "the Linux boot protocol",
        })
    }
}

/// What to copy where, and where to start. Checked against the file, not yet against guest memory.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) protocol: Protocol,
    /// Ascending in physical memory, not overlapping.
    pub(super) segments: Vec<Segment>,
    pub(super) entry: u32,
    /// Of a bzImage.
    pub(super) setup_header: Option<Box<setup_header>>,
}

impl Plan {
    /// # Errors
    /// The entry point does not come from the file, or is not a 32-bit address.
    pub(super) fn new(protocol: Protocol, segments: Vec<Segment>, entry: u64) -> Result<Self, ImageError> {
        if !segments.iter().any(|s| s.holds_physical(entry)) {
            return Err(ImageError::EntryOutside { protocol, entry });
        }
        match u32::try_from(entry) {
            Ok(entry) => Ok(Self { protocol, segments, entry, setup_header: None }),
            Err(_) => Err(ImageError::EntryAbove4Gib { protocol, entry }),
        }
    }
}

/// A boot image, checked: an `Image` has at least one protocol that it can be started with.
#[derive(Debug, Clone)]
pub struct Image {
    name: String,
    bytes: Vec<u8>,
    is_elf: bool,
    /// The protocol to prefer first.
    plans: Vec<Plan>,
}

impl Image {
    /// Reads and checks an image file. Its file name becomes the image's name.
    ///
    /// # Errors
    /// The file cannot be read, or is not something that we can boot.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImageError> {
        let path = path.as_ref();
        let read = |source| ImageError::Read { path: path.to_owned(), source };
        // Looked at before opening: opening some devices already does something.
        let metadata = std::fs::metadata(path).map_err(read)?;
        let kind = metadata.file_type();
        let what = if kind.is_dir() {
            Some("a directory")
        } else if kind.is_char_device() || kind.is_block_device() {
            Some("a device")
        } else {
            None
        };
        if let Some(what) = what {
            return Err(ImageError::NotAFile { path: path.to_owned(), what });
        }
        if metadata.len() > MAX_IMAGE_SIZE {
            return Err(ImageError::TooLarge { limit: MAX_IMAGE_SIZE });
        }
        // A pipe has no length, so the bound is needed here too.
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_IMAGE_SIZE + 1).read_to_end(&mut bytes))
            .map_err(read)?;
        let image = Self::parse(bytes)?;
        Ok(match path.file_name() {
            Some(name) => image.with_name(name.to_string_lossy()),
            None => image,
        })
    }

    /// Checks an image that is in memory. Its name is `image`.
    ///
    /// # Errors
    /// It is not something that we can boot.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Result<Self, ImageError> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(ImageError::Empty);
        }
        if bytes.len() as u64 > MAX_IMAGE_SIZE {
            return Err(ImageError::TooLarge { limit: MAX_IMAGE_SIZE });
        }
        let is_elf = bytes.starts_with(elf::MAGIC);
        let plans = find_plans(&bytes, is_elf)?;
        Ok(Self { name: "image".to_owned(), bytes, is_elf, plans })
    }

    /// The same image under another name. White space becomes `_`: multiboot guests split their
    /// command line, which starts with the name, into words.
    #[must_use]
    pub fn with_name(mut self, name: impl AsRef<str>) -> Self {
        self.name = name
            .as_ref()
            .chars()
            .map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c })
            .collect();
        self
    }

    /// File name of the image.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file's content.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the image can be started with, the preferred one (PVH) first. Never empty.
    pub fn protocols(&self) -> impl Iterator<Item = Protocol> + '_ {
        self.plans.iter().map(|plan| plan.protocol)
    }

    /// True if it is a Linux kernel: a bzImage or a vmlinux.
    #[must_use]
    pub fn is_linux(&self) -> bool {
        self.protocols().any(|protocol| protocol == Protocol::Linux)
    }

    /// True if the file is an ELF file, which can list tests and may have symbols.
    #[must_use]
    pub fn is_elf(&self) -> bool {
        self.is_elf
    }

    /// In order of preference; never empty.
    pub(super) fn plans(&self) -> &[Plan] {
        &self.plans
    }
}

/// Every way to boot this file.
fn find_plans(bytes: &[u8], is_elf: bool) -> Result<Vec<Plan>, ImageError> {
    if linux::is_bzimage(bytes) {
        return Ok(vec![linux::bzimage(bytes)?]);
    }
    let header = multiboot::Header::find(bytes);
    let raw = matches!(&header, Ok(Some(header)) if header.has_addresses());
    if !is_elf && !raw {
        return Err(match header {
            Err(error) => error,
            Ok(Some(_)) => ImageError::MultibootNoAddresses,
            Ok(None) => ImageError::NotElf { what: guess(bytes) },
        });
    }
    // An image with its own addresses needs no valid ELF header.
    let elf = match Elf::parse(bytes) {
        Ok(elf) => Some(elf),
        Err(_) if raw => None,
        Err(error) => return Err(error),
    };
    let pvh = match &elf {
        Some(elf) => pvh::plan(bytes, elf),
        None => Ok(None),
    };
    let multiboot =
        header.and_then(|header| header.map(|header| header.plan(bytes, elf.as_ref())).transpose());

    // One usable protocol is enough; a defect of the other matters only if there is none.
    let mut plans = Vec::new();
    let mut defect = None;
    let linux = match &elf {
        Some(elf) => linux::vmlinux(bytes, elf),
        None => Ok(None),
    };
    for found in [pvh, multiboot, linux] {
        match found {
            Ok(plan) => plans.extend(plan),
            Err(error) => {
                log::debug!("Not usable: {error}");
                defect.get_or_insert(error);
            }
        }
    }
    if !plans.is_empty() {
        return Ok(plans);
    }
    Err(defect.unwrap_or_else(|| {
        if multiboot::has_version_2(bytes) {
            return ImageError::Multiboot2;
        }
        let hint = match elf {
            Some(elf) if elf.has_interpreter => "; it is a program for an operating system",
            _ => "",
        };
        ImageError::NoProtocol { hint }
    }))
}

/// What a file that is not ELF seems to be, by its first bytes.
fn guess(bytes: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 10] = [
        (b"\x1F\x8B", "it is gzip-compressed; unpack it first (gunzip)"),
        (b"\xFD7zXZ\0", "it is xz-compressed; unpack it first (unxz)"),
        (b"\x28\xB5\x2F\xFD", "it is zstd-compressed; unpack it first (unzstd)"),
        (b"\x04\x22\x4D\x18", "it is lz4-compressed; unpack it first (unlz4)"),
        (b"\x02\x21\x4C\x18", "it is lz4-compressed; unpack it first (unlz4)"),
        (b"BZh", "it is bzip2-compressed; unpack it first (bunzip2)"),
        (b"!<arch>\n", "it is a static library; link it into an executable first"),
        (b"QFI\xFB", "it is a qcow2 disk image; only kernels can be booted"),
        (b"MZ", "it is a PE/EFI program; only ELF and multiboot kernels can be booted"),
        (b"#!", "it is a script"),
    ];
    KNOWN
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map_or("it has neither the ELF magic number nor a multiboot header", |(_, what)| what)
}
