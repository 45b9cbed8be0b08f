//! The x86 machine, a small PC.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`apic`] | the local APIC model that every engine shares |
//! | [`devices`] | port devices, and the I/O APIC |
//! | [`memory`] | where RAM is, and the map of it that the guest is shown |

pub mod apic;
pub mod devices;
pub mod memory;
