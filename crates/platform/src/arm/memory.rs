//! Where the AArch64 machine has RAM.

use crate::memory::{Layout, MAX_SIZE_MIB};
use guest_protocol::mmio;

/// One piece, above the devices.
pub static LAYOUT: Layout = Layout(&[mmio::RAM..mmio::RAM + (MAX_SIZE_MIB << 20)]);
