//! The AArch64 machine, with the memory map of QEMU's `virt`.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`devicetree`] | what the guest is told of it |
//! | [`devices`] | devices by address: console, fw_cfg, control device |
//! | [`gic`] | the interrupt controller |
//! | [`memory`] | where RAM is |
//! | [`pl011`] | the UART |
//! | [`psci`] | switching the machine off |
//! | [`system_register`] | system registers by name |
//! | [`timer`] | the generic timer |

pub mod devices;
pub mod devicetree;
pub mod gic;
pub mod memory;
pub mod pl011;
pub mod psci;
pub mod system_register;
pub mod timer;
