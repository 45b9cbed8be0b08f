//! The CPU interface: system registers ICC_* (IHI 0069, 12.2).

use super::Gic;
use super::interrupts::{INTERRUPTS, PRIORITY};
use crate::convert::{low_u8, low_u32};
use serde::{Deserialize, Serialize};

/// Packed name of a system register with op0 3, op1 0 and CRn 12, or of ICC_PMR_EL1.
const fn icc(crn: u32, crm: u32, op2: u32) -> u32 {
    3 << 19 | crn << 12 | crm << 8 | op2 << 5
}

/// INTID of no interrupt.
const SPURIOUS: u64 = 1023;
/// Running priority while none is active.
const IDLE: u8 = 0xFF;
/// Least binary points: five bits of group priority. ICC_BPR1_EL1 counts as that of a non-secure state, one more.
const LEAST_BINARY_POINTS: [u8; 2] = [2, 3];
/// ICC_CTLR_EL1: CBPR, EOImode.
const CBPR: u64 = 1 << 0;
const EOI_MODE: u64 = 1 << 1;
/// PRIbits: five bits of priority. IDbits: 16 bits of INTID.
const CTLR_CONSTANT: u64 = 4 << 8;
/// ICC_SRE_EL1: system registers, no bypass; none of it can be written.
const SRE: u64 = 7;

macro_rules! registers {
    ($($(#[doc = $doc:literal])* $name:ident = ($crn:literal, $crm:literal, $op2:literal),)*) => {
        /// A register of the CPU interface.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are those of the manual")]
        pub enum IccRegister {
            $($(#[doc = $doc])* $name,)*
        }

        impl IccRegister {
            /// All, with their packed names: op0 in bits 20:19, op1 in 18:16, CRn in 15:12, CRm in 11:8, op2 in 7:5.
            pub const ALL: &[(Self, u32)] = &[$((Self::$name, icc($crn, $crm, $op2)),)*];
        }
    };
}

registers! {
    Pmr = (4, 6, 0),
    Iar0 = (12, 8, 0),
    Eoir0 = (12, 8, 1),
    Hppir0 = (12, 8, 2),
    Bpr0 = (12, 8, 3),
    Ap0r0 = (12, 8, 4),
    Ap1r0 = (12, 9, 0),
    Dir = (12, 11, 1),
    Rpr = (12, 11, 3),
    Sgi1r = (12, 11, 5),
    Asgi1r = (12, 11, 6),
    Sgi0r = (12, 11, 7),
    Iar1 = (12, 12, 0),
    Eoir1 = (12, 12, 1),
    Hppir1 = (12, 12, 2),
    Bpr1 = (12, 12, 3),
    Ctlr = (12, 12, 4),
    Sre = (12, 12, 5),
    Igrpen0 = (12, 12, 6),
    Igrpen1 = (12, 12, 7),
}

impl IccRegister {
    /// The register with this packed name. All belong to EL1: at EL0 they are UNDEFINED, which their op1 says.
    #[must_use]
    pub fn find(packed: u32) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == packed).map(|(register, _)| *register)
    }
}

/// An access that the register does not allow: UNDEFINED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("undefined")]
pub struct Undefined;

/// What the CPU interface holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CpuInterface {
    /// ICC_PMR_EL1.
    mask: u8,
    /// ICC_BPR0_EL1, ICC_BPR1_EL1; values below the least count as that.
    binary_point: [u8; 2],
    /// ICC_CTLR_EL1.CBPR and EOImode.
    control: u64,
    /// ICC_IGRPEN0_EL1, ICC_IGRPEN1_EL1.
    enabled: [bool; 2],
    /// ICC_AP0R0_EL1, ICC_AP1R0_EL1: bit n is priority 8 n.
    active: [u32; 2],
}

impl CpuInterface {
    pub(super) fn is_valid(&self) -> bool {
        self.mask & !PRIORITY == 0
            && self.binary_point.iter().all(|point| *point < 8)
            && self.control & !(CBPR | EOI_MODE) == 0
            && self.active[0] & self.active[1] == 0
    }

    fn running_priority(&self) -> u8 {
        match (self.active[0] | self.active[1]).trailing_zeros() {
            32 => IDLE,
            n => low_u8(u64::from(n) << 3),
        }
    }

    fn binary_point(&self, group: usize) -> u8 {
        self.binary_point[group].max(LEAST_BINARY_POINTS[group])
    }

    /// The group priority: what an interrupt needs more of to preempt another.
    fn group_priority(&self, group: usize, priority: u8) -> u8 {
        // With BPR0 = n the group priority is bits 7:n+1, with BPR1 = n bits 7:n.
        let shift = if group == 0 || self.control & CBPR != 0 {
            u32::from(self.binary_point(0)) + 1
        } else {
            u32::from(self.binary_point(1))
        };
        priority & low_u8(0xFF << shift)
    }
}

/// The inputs of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lines {
    /// IRQ: an interrupt of group 1.
    pub irq: bool,
    /// FIQ: an interrupt of group 0.
    pub fiq: bool,
}

impl Gic {
    /// The inputs of the CPU now.
    #[must_use]
    pub fn lines(&self) -> Lines {
        let group = self.signalled().map(|intid| self.interrupts.is_group_1(intid));
        Lines { irq: group == Some(true), fiq: group == Some(false) }
    }

    /// The most urgent pending interrupt of the groups that are enabled everywhere.
    fn most_urgent(&self) -> Option<u32> {
        if self.asleep {
            return None;
        }
        let enabled = |group: usize| self.groups >> group & 1 != 0 && self.cpu.enabled[group];
        self.interrupts.most_urgent(enabled(0), enabled(1))
    }

    /// The interrupt that the CPU may take now.
    fn signalled(&self) -> Option<u32> {
        let intid = self.most_urgent()?;
        let priority = self.interrupts.priority(intid);
        let group = usize::from(self.interrupts.is_group_1(intid));
        let urgent = priority < self.cpu.mask
            && self.cpu.group_priority(group, priority) < self.cpu.running_priority();
        urgent.then_some(intid)
    }

    /// MRS.
    ///
    /// # Errors
    /// The register can only be written.
    pub fn read_system(&mut self, register: IccRegister) -> Result<u64, Undefined> {
        use IccRegister as R;
        Ok(match register {
            R::Pmr => self.cpu.mask.into(),
            R::Iar0 => self.acknowledge(0),
            R::Iar1 => self.acknowledge(1),
            R::Hppir0 => self.highest_pending(0),
            R::Hppir1 => self.highest_pending(1),
            R::Bpr0 => self.cpu.binary_point(0).into(),
            // One more than the common binary point, up to 7.
            R::Bpr1 if self.cpu.control & CBPR != 0 => (self.cpu.binary_point(0) + 1).min(7).into(),
            R::Bpr1 => self.cpu.binary_point(1).into(),
            R::Ap0r0 => self.cpu.active[0].into(),
            R::Ap1r0 => self.cpu.active[1].into(),
            R::Rpr => self.cpu.running_priority().into(),
            R::Ctlr => self.cpu.control | CTLR_CONSTANT,
            R::Sre => SRE,
            R::Igrpen0 => self.cpu.enabled[0].into(),
            R::Igrpen1 => self.cpu.enabled[1].into(),
            R::Eoir0 | R::Eoir1 | R::Dir | R::Sgi0r | R::Sgi1r | R::Asgi1r => return Err(Undefined),
        })
    }

    /// MSR.
    ///
    /// # Errors
    /// The register can only be read; nothing changes.
    pub fn write_system(&mut self, register: IccRegister, value: u64) -> Result<(), Undefined> {
        use IccRegister as R;
        match register {
            R::Pmr => self.cpu.mask = low_u8(value) & PRIORITY,
            R::Eoir0 => self.end(0, value),
            R::Eoir1 => self.end(1, value),
            // With EOImode 0 the end of the interrupt has deactivated it.
            R::Dir if self.cpu.control & EOI_MODE == 0 => {}
            R::Dir => self.interrupts.deactivate(low_u32(value & 0xFF_FFFF)),
            R::Bpr0 => self.cpu.binary_point[0] = low_u8(value & 7),
            // With CBPR it is not used, and writes are ignored.
            R::Bpr1 if self.cpu.control & CBPR != 0 => {}
            R::Bpr1 => self.cpu.binary_point[1] = low_u8(value & 7),
            R::Ap0r0 => self.cpu.active[0] = low_u32(value) & !self.cpu.active[1],
            R::Ap1r0 => self.cpu.active[1] = low_u32(value) & !self.cpu.active[0],
            R::Ctlr => self.cpu.control = value & (CBPR | EOI_MODE),
            R::Sgi0r => self.send(value, false),
            R::Sgi1r => self.send(value, true),
            // To the other security state, which is not there.
            R::Asgi1r | R::Sre => {}
            R::Igrpen0 => self.cpu.enabled[0] = value & 1 != 0,
            R::Igrpen1 => self.cpu.enabled[1] = value & 1 != 0,
            R::Iar0 | R::Iar1 | R::Hppir0 | R::Hppir1 | R::Rpr => return Err(Undefined),
        }
        Ok(())
    }

    fn acknowledge(&mut self, group: usize) -> u64 {
        let of_group = |intid: &u32| usize::from(self.interrupts.is_group_1(*intid)) == group;
        let Some(intid) = self.signalled().filter(of_group) else { return SPURIOUS };
        let priority = self.cpu.group_priority(group, self.interrupts.priority(intid));
        self.cpu.active[group] |= 1 << (priority >> 3);
        self.interrupts.acknowledge(intid);
        intid.into()
    }

    fn highest_pending(&self, group: usize) -> u64 {
        let of_group = |intid: &u32| usize::from(self.interrupts.is_group_1(*intid)) == group;
        self.most_urgent().filter(of_group).map_or(SPURIOUS, u64::from)
    }

    /// Drops the priority, and with EOImode 0 deactivates. INTIDs of no interrupt, and of one of the other group,
    /// change nothing.
    fn end(&mut self, group: usize, value: u64) {
        let intid = low_u32(value & 0xFF_FFFF);
        if intid >= INTERRUPTS || usize::from(self.interrupts.is_group_1(intid)) != group {
            return;
        }
        // The running priority is of this group, or the other group has preempted it.
        let (own, other) = (self.cpu.active[group], self.cpu.active[1 - group]);
        if own.trailing_zeros() < other.trailing_zeros() {
            self.cpu.active[group] = own & (own - 1);
        }
        if self.cpu.control & EOI_MODE == 0 {
            self.interrupts.deactivate(intid);
        }
    }

    /// Sends an SGI to CPUs by their affinity: the only one has 0.0.0.0. "All but me" is none.
    fn send(&mut self, value: u64, group_1: bool) {
        const IRM: u64 = 1 << 40;
        /// Aff3, RS, Aff2, Aff1.
        const OTHERS: u64 = 0xFF << 48 | 0xF << 44 | 0xFF << 32 | 0xFF << 16;
        if value & (IRM | OTHERS) == 0 && value & 1 != 0 {
            self.interrupts.raise_sgi(low_u32(value >> 24 & 15), group_1);
        }
    }
}
