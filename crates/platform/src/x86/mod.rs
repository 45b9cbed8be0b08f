//! The x86 machine, a small PC.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`apic`] | the local APIC model that every engine shares |
//! | [`devices`] | port devices, and the I/O APIC |

pub mod apic;
pub mod devices;
