//! What a guest is given besides its image, and where it lies.

use super::protocol::Protocol;

/// A file for the guest besides the image: an initrd, or the environment of a kvm-unit-tests image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Module {
    /// The module's own command line.
    pub cmdline: String,
    /// Its content.
    pub data: Vec<u8>,
}

/// What the guest is given besides the image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootParams {
    /// Command line without the image's name. Multiboot guests get the name in front of it.
    pub cmdline: String,
    /// Modules, in the order in which the guest sees them.
    pub modules: Vec<Module>,
    /// How to start the image; `None` takes what it offers, PVH before multiboot.
    pub protocol: Option<Protocol>,
}

/// What a piece of guest memory was filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A segment of the image, with bss.
    Image,
    /// The module with this index.
    Module(usize),
    /// Start info, multiboot information or `boot_params`, with tables and strings.
    BootInfo,
    /// ACPI tables.
    Acpi,
}

/// A piece of guest memory that was filled before the guest starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedRange {
    /// What is there.
    pub content: Content,
    /// First guest physical address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
}

/// A module and its place; always below 4 GiB.
#[derive(Debug)]
pub(super) struct PlacedModule<'a> {
    pub(super) cmdline: &'a str,
    pub(super) data: &'a [u8],
    pub(super) start: u64,
}

impl PlacedModule<'_> {
    pub(super) fn end(&self) -> u64 {
        self.start + self.data.len() as u64
    }
}
