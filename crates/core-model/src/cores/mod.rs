//! The cores that there are.

mod golden_cove;
mod skylake_sp;
mod sunny_cove;
mod zen;

use crate::core::Core;
pub use golden_cove::GOLDEN_COVE;
pub use skylake_sp::SKYLAKE_SP;
pub use sunny_cove::SUNNY_COVE;
pub use zen::{ZEN2, ZEN4};

/// All cores.
pub const CORES: [&Core; 5] = [&SKYLAKE_SP, &SUNNY_COVE, &GOLDEN_COVE, &ZEN2, &ZEN4];
