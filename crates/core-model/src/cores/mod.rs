//! The cores that there are.

mod golden_cove;
mod sunny_cove;

pub use golden_cove::GOLDEN_COVE;
pub use sunny_cove::SUNNY_COVE;
