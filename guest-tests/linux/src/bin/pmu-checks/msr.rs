//! MSRs from user space.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

/// `/dev/cpu/0/msr`.
pub(crate) struct Msr(File);

impl Msr {
    pub(crate) fn open() -> Result<Self, String> {
        let path = "/dev/cpu/0/msr";
        let file = OpenOptions::new().read(true).write(true).open(path);
        file.map(Self).map_err(|e| format!("{path}: {e}"))
    }

    /// RDMSR; #GP comes back as EIO.
    pub(crate) fn read(&self, index: u32) -> Result<u64, String> {
        let mut bytes = [0; 8];
        let read = self.0.read_exact_at(&mut bytes, index.into());
        read.map_err(|e| format!("RDMSR {index:#x}: {e}")).map(|()| u64::from_le_bytes(bytes))
    }

    /// WRMSR.
    pub(crate) fn write(&self, index: u32, value: u64) -> Result<(), String> {
        let written = self.0.write_all_at(&value.to_le_bytes(), index.into());
        written.map_err(|e| format!("WRMSR {index:#x}, {value:#x}: {e}"))
    }

    /// Changes the bits of `mask`, reads them back, and restores: the kernel's probe of a register.
    pub(crate) fn keeps(&self, index: u32, mask: u64) -> Result<(), String> {
        let old = self.read(index)?;
        let changed = old ^ mask;
        self.write(index, changed)?;
        let seen = self.read(index)?;
        self.write(index, old)?;
        if seen == changed {
            Ok(())
        } else {
            Err(format!("MSR {index:#x}: {seen:#x} after writing {changed:#x}"))
        }
    }
}
