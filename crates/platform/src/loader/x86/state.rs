//! The first state of a vCPU.

use crate::loader::params::LoadedRange;
use crate::loader::protocol::Protocol;

/// A segment register with its hidden part, as both KVM and a software CPU want it
/// (Intel SDM volume 3, 3.4.3 and 3.4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentState {
    /// Visible part.
    pub selector: u16,
    /// Linear address of the first byte.
    pub base: u32,
    /// Last valid offset in bytes.
    pub limit: u32,
    /// Type field, 4 bits.
    pub kind: u8,
    /// S: a code or data segment, not a system one.
    pub code_or_data: bool,
    /// D/B: 32-bit code or stack.
    pub default_32: bool,
    /// L: 64-bit code.
    pub long: bool,
    /// G: the descriptor counts its limit in pages.
    pub granular: bool,
}

/// The first state of the boot vCPU: interrupts off; 32-bit protected mode without paging for PVH and multiboot,
/// long mode with an identity map for Linux. All that is not listed is as after a reset. IDTR is not valid, and
/// GDTR only for Linux, as the protocols allow: a guest loads its own before it loads a segment register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootState {
    /// How the image is started.
    pub protocol: Protocol,
    /// First instruction.
    pub eip: u32,
    /// Multiboot: 0x2BADB002. PVH: 0.
    pub eax: u32,
    /// Physical address of the boot information; 0 for Linux.
    pub ebx: u32,
    /// Linux: physical address of the boot information, `boot_params`.
    pub esi: u32,
    /// Only the always-one bit 1 is set.
    pub eflags: u32,
    /// PE and ET; Linux: and PG.
    pub cr0: u32,
    /// Page tables, with PG.
    pub cr3: u64,
    /// 0: no paging extensions, no SSE; Linux: PAE.
    pub cr4: u32,
    /// 0; Linux: LME and LMA.
    pub efer: u64,
    /// GDTR: base and limit.
    pub gdt: (u64, u16),
    /// CS.
    pub code: SegmentState,
    /// DS, ES, FS, GS and SS.
    pub data: SegmentState,
    /// TR.
    pub task: SegmentState,
    /// What lies where, in the order it was written. The ranges do not overlap.
    pub loaded: Vec<LoadedRange>,
}

impl BootState {
    /// The machine state that multiboot 0.6.96 section 3.2 and Xen `docs/misc/pvh.pandoc` ask for, at
    /// `eip`, without boot information. Nothing is loaded.
    #[must_use]
    pub fn flat(eip: u32) -> Self {
        let flat = |selector, kind| SegmentState {
            selector,
            base: 0,
            limit: u32::MAX,
            kind,
            code_or_data: true,
            default_32: true,
            long: false,
            granular: true,
        };
        Self {
            protocol: Protocol::Pvh,
            eip,
            eax: 0,
            ebx: 0,
            esi: 0,
            eflags: 1 << 1,
            // PE (bit 0) on; ET (bit 4) is fixed to 1.
            cr0: 1 << 0 | 1 << 4,
            cr3: 0,
            cr4: 0,
            efer: 0,
            gdt: (0, 0),
            // Types of SDM volume 3, tables 3-1 and 3-2: code execute/read accessed, data read/write
            // accessed, 32-bit TSS busy.
            code: flat(0x08, 0xB),
            data: flat(0x10, 0x3),
            task: SegmentState {
                selector: 0,
                base: 0,
                limit: 0x67,
                kind: 0xB,
                code_or_data: false,
                default_32: false,
                long: false,
                granular: false,
            },
            loaded: Vec::new(),
        }
    }
}
