//! Where the AArch64 machine has RAM.

use crate::memory::{Layout, MAX_SIZE_MIB};
use guest_protocol::mmio;
use std::ops::Range;

/// One piece, above the devices.
const WINDOW: Range<u64> = mmio::RAM..mmio::RAM + (MAX_SIZE_MIB << 20);
/// Where the machine has RAM.
pub static LAYOUT: Layout = Layout(&[WINDOW]);
