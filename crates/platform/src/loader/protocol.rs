//! Boot protocols.

use std::fmt;

/// How an image wants to be started. On x86 PVH and multiboot start in 32-bit protected mode without paging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Protocol {
    /// Xen's PVH.
    ///
    /// ELF with a `XEN_ELFNOTE_PHYS32_ENTRY` note; EBX points to `hvm_start_info`.
    Pvh,
    /// Multiboot 1.
    ///
    /// A header in the first 8 KiB; EBX points to the multiboot information.
    Multiboot,
    /// Linux's 64-bit boot protocol.
    ///
    /// x86: bzImage or vmlinux; long mode, RSI points to `boot_params`. arm64: `Image`, and every ELF file for AArch64
    /// at its entry point; EL1 without MMU, X0 points to the devicetree.
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
