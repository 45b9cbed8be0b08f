//! What the CPU needs from outside.

mod branches;
mod lbr_state;
mod tracer;

pub use branches::{BranchRecorder, TakenBranch};
pub use lbr_state::{LBR_COMPONENT_WORDS, LbrState};
pub use tracer::Tracer;

use crate::account::totals::Totals;
use crate::cpuid::CpuidLeaf;
use core::convert::Infallible;
use retire::{Observer, Unobserved};
use soft_base::Ram;

/// The guest gets #GP(0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("#GP(0)")]
pub struct GeneralProtection;

/// The instruction that accesses the bus.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Its address.
    pub rip: u64,
    /// Current privilege level, 0 to 3.
    pub cpl: u8,
    /// Everything that has retired before it.
    pub totals: &'a Totals,
}

/// The CPU's surroundings.
///
/// Methods that return an `Option` of a trait hand out an optional part, and have an embedder without it do nothing.
pub trait Bus: Ram {
    /// Reads from a device; at most 16 bytes within a page.
    fn mmio_read(&mut self, gpa: u64, data: &mut [u8], access: &Access<'_>);
    /// Writes to a device; at most 16 bytes within a page.
    fn mmio_write(&mut self, gpa: u64, data: &[u8], access: &Access<'_>);
    /// IN of 1, 2 or 4 bytes.
    fn port_in(&mut self, port: u16, data: &mut [u8], access: &Access<'_>);
    /// OUT of 1, 2 or 4 bytes.
    fn port_out(&mut self, port: u16, data: &[u8], access: &Access<'_>);

    /// RDMSR of an MSR that the CPU does not own.
    ///
    /// # Errors
    /// #GP(0).
    fn rdmsr(&mut self, index: u32, access: &Access<'_>) -> Result<u64, GeneralProtection>;
    /// WRMSR of an MSR that the CPU does not own. The instruction itself counts after this call.
    ///
    /// # Errors
    /// #GP(0); nothing has changed.
    fn wrmsr(&mut self, index: u32, value: u64, access: &Access<'_>) -> Result<(), GeneralProtection>;
    /// RDPMC; `pce` is CR4.PCE.
    ///
    /// # Errors
    /// #GP(0).
    fn rdpmc(&mut self, counter: u32, pce: bool, access: &Access<'_>) -> Result<u64, GeneralProtection>;
    /// CPUID. [`crate::cpuid::leaf`] is the policy to start from.
    fn cpuid(&mut self, leaf: u32, subleaf: u32, access: &Access<'_>) -> CpuidLeaf;
    /// The time stamp counter.
    fn tsc(&mut self, access: &Access<'_>) -> u64;
    /// CR8, the task-priority class of the local APIC.
    fn cr8(&mut self) -> u8 {
        0
    }
    /// MOV to CR8, 0 to 15.
    fn set_cr8(&mut self, _value: u8) {}

    /// MOV to CR3 loads this value, without bit 63; the page tables are still the old ones.
    fn address_space(&mut self, _cr3: u64, _access: &Access<'_>) {}

    /// What records taken branches.
    #[inline(always)]
    fn branches(&mut self) -> Option<&mut impl BranchRecorder> {
        None::<&mut Infallible>
    }
    /// The architectural last branch records, where XSAVES and XRSTORS know them.
    #[inline(always)]
    fn lbr_state(&mut self) -> Option<&mut impl LbrState> {
        None::<&mut Infallible>
    }
    /// What traces exceptions and interrupts.
    #[inline(always)]
    fn tracer(&mut self) -> Option<&mut impl Tracer> {
        None::<&mut Infallible>
    }
    /// What sees every instruction retire. Always the same answer.
    #[inline(always)]
    fn observer(&mut self) -> Option<&mut impl Observer> {
        None::<&mut Unobserved>
    }
    /// [`observer`](Self::observer) is implemented, and positions in RAM are guest physical addresses. A constant,
    /// because the fast paths of memory accesses have to be compiled without any code for it where it is not.
    const OBSERVED: bool = false;

    /// Asked after every call above that may have side effects: true ends the run after the
    /// instruction, with [`Exit::Attention`](crate::Exit::Attention).
    #[inline(always)]
    fn attention(&self) -> bool {
        false
    }
}
