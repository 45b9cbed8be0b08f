//! What interpreters of CPUs share: guest RAM, operands, a software TLB, which pages hold decoded code, and where a
//! debugger outside the guest stops them.
//!
//! Nothing here is specific to an instruction set. Translation is the CPU's business: it fills the [`Tlb`] with what
//! its page walk has found.
#![deny(unsafe_code)]

mod by_address;
mod code;
mod debugger;
mod low;
mod operand;
mod prefetch;
mod ram;
mod tlb;

pub use by_address::{AddressHasher, ByAddress};
pub use code::CodePages;
pub use debugger::{DebugStop, DebugStops, Debugger, Watchpoint};
pub use low::Low;
pub use operand::Operand;
pub use prefetch::prefetch;
pub use ram::Ram;
pub use tlb::{Entry, Flushed, Place, Tlb};

/// Bytes of a page, as the TLB has them.
pub const PAGE: u64 = 4096;
/// The bits of an address within a page.
pub const OFFSET: u64 = PAGE - 1;
