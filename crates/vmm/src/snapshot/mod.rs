//! The whole machine of the soft engine in a file, to go on from there later.
//!
//! A snapshot holds the CPU with its totals, RAM, devices, local APIC, vPMU, measuring windows and guest time. A run
//! that is resumed from one continues with the bytes of the uninterrupted run: console, trace and totals. The
//! one exception is a guest that relies on translations that its page tables no longer have: the TLB starts empty.
//!
//! # File
//!
//! | bytes | what it is |
//! | --- | --- |
//! | 8 | `VPMUSNAP` |
//! | 4 | [`VERSION`] |
//! | 4 | CRC-32 (IEEE) of everything behind it |
//! | 8 | length of the header |
//! | | the header, JSON |
//! | 8 + 4096 each | pages that are not all zero: guest physical address and content, in ascending order |
//!
//! Numbers are little-endian.

mod file;
pub mod mapped;
#[cfg(test)]
mod tests;

use crate::engine::{Snapshots, VcpuState};
use crate::machine::{Board, BoardState, Machine, MachineState, StateError};
use platform::memory::{GuestMemory, MemoryError};
use serde::{Deserialize, Serialize};
use std::io;
use vpmu::Profile;
use vpmu::profile::{Isa, LbrKind};

/// Version of the file's layout and of the meaning of its header.
pub const VERSION: u32 = 9;
/// Bytes of a page.
pub const PAGE: usize = 4096;

/// A machine between two instructions.
#[derive(Debug, Clone)]
pub struct Snapshot {
    header: Header,
    pages: Vec<(u64, Box<[u8; PAGE]>)>,
}

/// What a machine has booted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Booted {
    /// Name of the image.
    pub image: String,
    /// It is a Linux kernel.
    pub linux: bool,
}

/// Everything but RAM.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    booted: Booted,
    profile: String,
    /// The profile has its branch records (`--lbr off` takes them away).
    lbr: bool,
    /// The profile shows its PEBS or IBS (`--precise`).
    #[serde(alias = "pebs")]
    precise: bool,
    /// The most of its instruction sets that is shown (`--isa`).
    #[serde(default = "all_sets")]
    isa: String,
    memory_mib: u64,
    vcpu: VcpuState,
    machine: MachineState,
}

/// What profiles have unless a user lowers it.
fn all_sets() -> String {
    Isa::default().name().to_owned()
}

impl Header {
    fn of<B: Board>(vcpu: VcpuState, machine: &mut Machine<B>, booted: &Booted) -> Self {
        Self {
            booted: booted.clone(),
            profile: machine.pmu.profile().name.to_string(),
            lbr: machine.pmu.profile().lbr != LbrKind::None,
            precise: machine.pmu.profile().has_precise_sampling(),
            isa: machine.pmu.profile().isa.name().to_owned(),
            memory_mib: machine.memory.size_mib(),
            vcpu,
            machine: machine.save(),
        }
    }
}

/// A file that is no snapshot of this machine.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another kind of file.
    #[error("this is no snapshot: it does not begin with VPMUSNAP")]
    Magic,
    /// Another layout.
    #[error("the snapshot has version {0}, this vpmu reads version {VERSION}")]
    Version(u32),
    /// The checksum is wrong, or the end is missing.
    #[error("the snapshot is damaged: {0}")]
    Damaged(String),
    /// The profile is not one of this build.
    #[error("the snapshot is of profile {0:?}, which this vpmu does not have")]
    UnknownProfile(String),
    /// The machine is of another profile.
    #[error("the snapshot is of profile {saved:?}, this machine is {own:?}")]
    Profile {
        /// Profile of the snapshot.
        saved: String,
        /// Profile of the machine.
        own: String,
    },
    /// The state cannot be taken over.
    #[error("the snapshot holds a state that no guest can have reached")]
    State(#[from] StateError),
    /// Guest memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl Snapshot {
    /// Takes a copy of a machine whose vCPU is `vcpu`.
    ///
    /// # Errors
    /// RAM cannot be read.
    pub fn take<B: Board>(
        vcpu: VcpuState,
        machine: &mut Machine<B>,
        booted: &Booted,
    ) -> Result<Self, SnapshotError> {
        let header = Header::of(vcpu, machine, booted);
        let mut pages = Vec::new();
        let mut page = Box::new([0; PAGE]);
        for region in machine.memory.regions() {
            for address in (region.guest_phys..region.end()).step_by(PAGE) {
                machine.memory.read(address, &mut *page)?;
                if *page != [0; PAGE] {
                    pages.push((address, std::mem::replace(&mut page, Box::new([0; PAGE]))));
                }
            }
        }
        Ok(Self { header, pages })
    }

    /// What was booted.
    #[must_use]
    pub fn booted(&self) -> &Booted {
        &self.header.booted
    }

    /// Guest RAM in MiB.
    #[must_use]
    pub fn memory_mib(&self) -> u64 {
        self.header.memory_mib
    }

    /// Instructions retired since boot.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.header.vcpu.instructions()
    }

    /// The profile.
    ///
    /// # Errors
    /// [`SnapshotError::UnknownProfile`].
    pub fn profile(&self) -> Result<Profile, SnapshotError> {
        let name = &self.header.profile;
        let profile = Profile::by_name(name).cloned();
        let profile = profile.ok_or_else(|| SnapshotError::UnknownProfile(name.clone()))?;
        let isa = Isa::ALL.into_iter().find(|isa| isa.name() == self.header.isa);
        let isa = isa.ok_or(SnapshotError::State(StateError::InstructionSets))?;
        let profile = Profile { isa, ..profile };
        let profile = if self.header.lbr { profile } else { profile.without_lbr() };
        Ok(if self.header.precise { profile.with_precise_sampling() } else { profile })
    }

    /// The state of what is around the vCPU, to make devices from.
    pub(crate) fn board(&self) -> &BoardState {
        &self.header.machine.board
    }

    /// Fills fresh RAM.
    ///
    /// # Errors
    /// A page lies where this machine has no RAM.
    pub fn fill(&self, memory: &GuestMemory) -> Result<(), SnapshotError> {
        for (address, page) in &self.pages {
            memory.write(*address, &page[..])?;
        }
        Ok(())
    }

    /// Puts engine and machine into the saved state. Their RAM and devices must be the snapshot's.
    ///
    /// # Errors
    /// Another profile, or a state that this machine cannot have been in. Then they are of no more use.
    pub fn resume<B: Board>(
        &self,
        engine: &mut dyn Snapshots<B>,
        machine: &mut Machine<B>,
    ) -> Result<(), SnapshotError> {
        let own = machine.pmu.profile().name.to_string();
        if own != self.header.profile {
            return Err(SnapshotError::Profile { saved: self.header.profile.clone(), own });
        }
        engine.restore(&self.header.vcpu)?;
        Ok(machine.resume(&self.header.machine)?)
    }
}
