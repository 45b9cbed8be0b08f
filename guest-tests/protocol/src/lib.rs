//! What the guest test images and the VMM agree on.
//!
//! Both sides use this crate, so a port number, a file name or the layout of a test descriptor
//! exists once. Nothing here is needed to boot: an image that runs under another hypervisor finds
//! no [`files`] of ours and skips what depends on them.
#![no_std]
#![forbid(unsafe_code)]

use bitflags::bitflags;
use core::fmt::{self, Write as _};

pub mod mmio;
pub mod program;
pub mod tap;

/// I/O ports that our images use.
pub mod ports {
    /// First 16550 UART (COM1), eight ports.
    pub const COM1: u16 = 0x3F8;
    /// Debug console: each byte written is a character (QEMU `isa-debugcon`, Bochs port 0xE9).
    pub const DEBUGCON: u16 = 0xE9;
    /// Exit device: writing `v` ends the run with process status `(v << 1) | 1` (QEMU `isa-debug-exit`).
    pub const EXIT: u16 = 0xF4;
    /// fw_cfg selector, 16-bit write (QEMU `docs/specs/fw_cfg`).
    pub const FW_CFG_SELECTOR: u16 = 0x510;
    /// fw_cfg data, byte reads.
    pub const FW_CFG_DATA: u16 = 0x511;
    /// Control port of our VMM: 32-bit writes of a [`control`](super::control) command, 32-bit reads
    /// of the last command's status. Absent elsewhere (reads all ones).
    pub const CONTROL: u16 = 0x5F0;
    /// Program port of our VMM: 32-bit writes of a [`program`](super::program) command.
    pub const PROGRAM: u16 = super::program::PORT;
    /// Length for, and answer to, a command of the program port, 32 bits.
    pub const PROGRAM_LENGTH: u16 = super::program::LENGTH_PORT;
    /// Label data of our VMM: bytes written here, ended by 0, name the next measuring window.
    pub const CONTROL_LABEL: u16 = 0x5F4;
}

/// Commands of the [`ports::CONTROL`] port and of [`mmio::control::CONTROL`].
pub mod control {
    /// Save the whole vPMU, reset it, restore it from the saved bytes. A correct vPMU does not notice.
    pub const SAVE_RESTORE: u32 = 1;
    /// From here on the VMM counts an interval from its own totals, whatever the guest's PMU does. Its name is
    /// what was written to [`CONTROL_LABEL`](super::ports::CONTROL_LABEL) last.
    pub const INTERVAL_BEGIN: u32 = 2;
    /// End of the interval. The OUT or store that began it is in it, the one that ends it is not.
    pub const INTERVAL_END: u32 = 3;
    /// Status: the last command succeeded.
    pub const STATUS_OK: u32 = 0;
    /// Status: the last command failed; the VMM's log says why.
    pub const STATUS_FAILED: u32 = 1;
    /// Status: the last command is not known.
    pub const STATUS_UNKNOWN: u32 = 2;
}

/// fw_cfg files of our VMM. QEMU users may pass the same names with `-fw_cfg`.
pub mod files {
    /// Name of the profile shown to the guest, for example `sapphire-rapids`.
    pub const PROFILE: &str = "opt/org.vpmu/profile";
    /// What the counts are: `exact`, `modelled`, `synthetic` or `host`.
    pub const COUNTS: &str = "opt/org.vpmu/counts";
    /// Which engine runs the guest: `kvm` or `soft`.
    pub const ENGINE: &str = "opt/org.vpmu/engine";
}

/// Process exit values that our images write to [`ports::EXIT`] or [`mmio::control::EXIT`].
pub mod exit {
    /// Every test passed or was skipped.
    pub const PASS: u8 = 0;
    /// At least one test failed.
    pub const FAIL: u8 = 1;
    /// The firmware or the runtime itself broke.
    pub const BROKEN: u8 = 2;
}

/// ELF section that holds one [`TestDescriptor`] per test, back to back.
pub const TEST_SECTION: &str = ".guest_tests";

/// One guest test, as it stands in [`TEST_SECTION`] of the image. All pointers are guest virtual
/// addresses, which in our images equal guest physical ones.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TestDescriptor {
    /// Address of the UTF-8 name.
    pub name: u64,
    /// Length of the name in bytes.
    pub name_len: u64,
    /// Address of the UTF-8 source path.
    pub file: u64,
    /// Length of the source path in bytes.
    pub file_len: u64,
    /// Address of the first line of the test's doc comment.
    pub summary: u64,
    /// Length of the summary in bytes.
    pub summary_len: u64,
    /// Address of the test function.
    pub function: u64,
    /// [`Needs`] of the test.
    pub needs: u32,
    /// Source line of the test function.
    pub line: u32,
}

/// Size of a [`TestDescriptor`] in the image, in bytes.
pub const TEST_DESCRIPTOR_SIZE: usize = 64;
const _: () = assert!(core::mem::size_of::<TestDescriptor>() == TEST_DESCRIPTOR_SIZE);

bitflags! {
    /// What a test needs from the machine; a missing need skips the test with its [word](Self::words) as the reason.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    #[repr(transparent)]
    pub struct Needs: u32 {
        /// An architectural PMU, version 2 or later; on AArch64 a PMUv3.
        const PMU = 1 << 0;
        /// Full-width counter writes (PERF_CAPABILITIES bit 13).
        const FULL_WIDTH = 1 << 1;
        /// Fixed counter 3 and PERF_METRICS (PERF_CAPABILITIES bit 15).
        const METRICS = 1 << 2;
        /// PERF_METRICS level 2 (Golden Cove and later).
        const METRICS_L2 = 1 << 3;
        /// Streamlined freezing (perfmon version 4 or later).
        const STREAMLINED_FREEZE = 1 << 4;
        /// Our own VMM, with the control port.
        const VPMU = 1 << 5;
        /// Counts that are exact to the instruction.
        const EXACT = 1 << 6;
        /// A CPU whose vendor is Intel.
        const INTEL = 1 << 7;
        /// Six AMD core counters (CPUID 8000_0001H ECX bit 23).
        const AMD = 1 << 8;
        /// AMD's global registers (CPUID 8000_0022H EAX bit 0).
        const PERFMON_V2 = 1 << 9;
        /// Qualcomm Falkor's matrix of events, by MIDR_EL1.
        const FALKOR = 1 << 10;
    }
}

impl Needs {
    /// The need that is called by this [word](Self::words).
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::all().iter_names().find(|(name, _)| Word(name) == *word).map(|(_, need)| need)
    }

    /// The words of the needs in this set.
    pub fn words(self) -> impl Iterator<Item = Word> {
        self.iter_names().map(|(name, _)| Word(name))
    }
}

/// The name of a need as the `needs(...)` attribute and the reason of a skipped test have it: in lower case.
#[derive(Debug, Clone, Copy)]
pub struct Word(&'static str);

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| f.write_char(c.to_ascii_lowercase()))
    }
}

impl PartialEq<str> for Word {
    fn eq(&self, other: &str) -> bool {
        self.0.bytes().map(|byte| byte.to_ascii_lowercase()).eq(other.bytes())
    }
}
