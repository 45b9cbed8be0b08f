//! The interrupt controller: GICv3 (Arm IHI 0069) for one CPU, as QEMU's `virt` has it with `gic-version=3`: without
//! security extensions, LPIs and ITS.
//!
//! | file | what it is |
//! | --- | --- |
//! | `interrupts.rs` | the state of every interrupt |
//! | `distributor.rs` | the registers in memory |
//! | `cpu_interface.rs` | the system registers, priorities, and what the CPU is told |

mod cpu_interface;
mod distributor;
mod interrupts;

pub use cpu_interface::{IccRegister, Lines, Undefined};
pub use distributor::FRAME;
pub use interrupts::{FIRST_SPI, INTERRUPTS};

use cpu_interface::CpuInterface;
use distributor::ENABLE_GROUPS;
use interrupts::Interrupts;
use serde::{Deserialize, Serialize};

/// The interrupt controller. Saved, it is everything that the guest can notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gic {
    /// GICD_CTLR.EnableGrp0 and EnableGrp1.
    groups: u32,
    /// GICR_WAKER.ProcessorSleep: nothing is passed to the CPU.
    asleep: bool,
    interrupts: Interrupts,
    cpu: CpuInterface,
}

impl Default for Gic {
    /// After a reset.
    fn default() -> Self {
        Self { groups: 0, asleep: true, interrupts: Interrupts::default(), cpu: CpuInterface::default() }
    }
}

impl Gic {
    /// The input of a PPI or SPI changes. SGIs, and INTIDs that are not there, have none.
    pub fn set_level(&mut self, intid: u32, asserted: bool) {
        self.interrupts.set_level(intid, asserted);
    }

    /// True if a guest can have brought it about; a saved one is checked before it is used.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.groups & !ENABLE_GROUPS == 0 && self.interrupts.is_valid() && self.cpu.is_valid()
    }
}

#[cfg(test)]
mod tests;
