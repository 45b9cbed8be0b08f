//! The AArch64 machine, with the memory map of QEMU's `virt`.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`devicetree`] | what the guest is told of it |
//! | [`gic`] | the interrupt controller |
//! | [`memory`] | where RAM is |

pub mod devicetree;
pub mod gic;
pub mod memory;
