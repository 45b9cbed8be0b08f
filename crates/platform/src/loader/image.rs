//! A file that can boot: what it is, and where its parts go.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use super::architecture::Architecture;
use super::elf;
use super::error::{ImageError, LoadError};
use super::plan::Plan;
use super::protocol::Protocol;
use super::{arm, x86};

/// Largest image file in bytes (1 GiB); a Linux kernel with all debug information is about half.
pub const MAX_IMAGE_SIZE: u64 = 1 << 30;

/// A boot image, checked: an `Image` has at least one protocol that it can be started with.
#[derive(Clone)]
pub struct Image {
    name: String,
    bytes: Vec<u8>,
    is_elf: bool,
    architecture: Architecture,
    /// The protocol to prefer first.
    plans: Vec<Plan>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("name", &self.name).field("plans", &self.plans).finish_non_exhaustive()
    }
}

impl Image {
    /// Reads and checks an image file. Its file name becomes the image's name.
    ///
    /// # Errors
    /// The file cannot be read, or is not something that we can boot.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImageError> {
        let path = path.as_ref();
        // Looked at before opening: opening some devices already does something.
        let metadata = std::fs::metadata(path).map_err(ImageError::Read)?;
        let kind = metadata.file_type();
        let what = if kind.is_dir() {
            Some("a directory")
        } else if kind.is_char_device() || kind.is_block_device() {
            Some("a device")
        } else {
            None
        };
        if let Some(what) = what {
            return Err(ImageError::NotAFile { what });
        }
        if metadata.len() > MAX_IMAGE_SIZE {
            return Err(ImageError::TooLarge { limit: MAX_IMAGE_SIZE });
        }
        // A pipe has no length, so the bound is needed here too.
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_IMAGE_SIZE + 1).read_to_end(&mut bytes))
            .map_err(ImageError::Read)?;
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
        let bytes = arm::unpack(&bytes, MAX_IMAGE_SIZE)?.unwrap_or(bytes);
        let is_elf = bytes.starts_with(elf::MAGIC);
        let (architecture, plans) = match arm::plan(&bytes)? {
            Some(plan) => (Architecture::Aarch64, vec![plan]),
            None => (Architecture::X86, x86::identify::plans(&bytes, is_elf)?),
        };
        Ok(Self { name: "image".to_owned(), bytes, is_elf, architecture, plans })
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

    /// True if it is a Linux kernel: a bzImage, an `Image` of arm64 or a vmlinux.
    #[must_use]
    pub fn is_linux(&self) -> bool {
        match self.architecture {
            Architecture::X86 => self.protocols().any(|protocol| protocol == Protocol::Linux),
            Architecture::Aarch64 => !self.is_elf,
        }
    }

    /// True if the file is an ELF file, which can list tests and may have symbols.
    #[must_use]
    pub fn is_elf(&self) -> bool {
        self.is_elf
    }

    /// The CPUs that it is for.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// How to start it on such a machine, by this protocol or the one to prefer.
    ///
    /// # Errors
    /// It is for other CPUs, or does not offer the protocol.
    pub(super) fn plan(&self, machine: Architecture, asked: Option<Protocol>) -> Result<&Plan, LoadError> {
        if self.architecture != machine {
            return Err(LoadError::Architecture { image: self.architecture, machine });
        }
        let plan = self.plans.iter().find(|plan| asked.is_none_or(|asked| asked == plan.protocol));
        plan.ok_or_else(|| {
            let asked = asked.unwrap_or(Protocol::Pvh);
            let offered = self.plans.first().map_or(asked, |plan| plan.protocol);
            LoadError::Protocol { asked, offered }
        })
    }
}
