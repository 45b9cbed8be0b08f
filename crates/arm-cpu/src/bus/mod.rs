//! What the CPU needs from outside.

mod tracer;

pub use tracer::Tracer;

use crate::register::SystemRegister;
use crate::totals::Totals;
use core::convert::Infallible;
use retire::{Observer, Unobserved};
use soft_base::Ram;

/// Why an access to a system register is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SystemFault {
    /// There is no such register, or not at this exception level: an UNDEFINED instruction (EC 0x00).
    #[error("undefined")]
    Undefined,
    /// A control traps the access to EL1 (EC 0x18).
    #[error("trapped to EL1")]
    Trapped,
}

/// Nothing answers at a physical address: a synchronous external abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("external abort")]
pub struct ExternalAbort;

/// The instruction that accesses the bus.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Its address.
    pub pc: u64,
    /// Current exception level, 0 or 1.
    pub el: u8,
    /// Everything that has retired before it.
    pub totals: &'a Totals,
}

/// The CPU's surroundings.
///
/// Methods that return an `Option` of a trait hand out an optional part, and have an embedder without it do nothing.
pub trait Bus: Ram {
    /// Reads from a device; at most 16 bytes within a page.
    ///
    /// # Errors
    /// There is none.
    fn mmio_read(&mut self, address: u64, data: &mut [u8], access: &Access<'_>) -> Result<(), ExternalAbort>;
    /// Writes to a device; at most 16 bytes within a page.
    ///
    /// # Errors
    /// There is none.
    fn mmio_write(&mut self, address: u64, data: &[u8], access: &Access<'_>) -> Result<(), ExternalAbort>;
    /// MRS of a register that the CPU does not own.
    ///
    /// # Errors
    /// The access is refused.
    fn read_system(&mut self, register: SystemRegister, access: &Access<'_>) -> Result<u64, SystemFault>;
    /// MSR of a register that the CPU does not own. The instruction itself counts after this call.
    ///
    /// # Errors
    /// The access is refused; nothing has changed.
    fn write_system(
        &mut self,
        register: SystemRegister,
        value: u64,
        access: &Access<'_>,
    ) -> Result<(), SystemFault>;
    /// HVC at EL1 with an immediate: a call by the SMC Calling Convention (DEN 0028), with arguments and results in
    /// X0 to X7. The instruction itself counts after this call.
    ///
    /// # Errors
    /// [`SystemFault::Undefined`] where there is no hypervisor.
    fn hypervisor_call(
        &mut self,
        immediate: u16,
        registers: &mut [u64; 8],
        access: &Access<'_>,
    ) -> Result<(), SystemFault>;

    /// What traces exceptions.
    #[inline(always)]
    fn tracer(&mut self) -> Option<&mut impl Tracer> {
        None::<&mut Infallible>
    }
    /// What sees every instruction retire. Always the same answer.
    #[inline(always)]
    fn observer(&mut self) -> Option<&mut impl Observer> {
        None::<&mut Unobserved>
    }
    /// [`observer`](Self::observer) is implemented, and positions in RAM are physical addresses. A constant, because
    /// the fast paths of memory accesses have to be compiled without any code for it where it is not.
    const OBSERVED: bool = false;

    /// Asked after every call above that may have side effects: true ends the run after the
    /// instruction, with [`Exit::Attention`](crate::Exit::Attention).
    #[inline(always)]
    fn attention(&self) -> bool {
        false
    }
}
