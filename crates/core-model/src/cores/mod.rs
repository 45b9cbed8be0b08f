//! The cores that there are.

mod falkor;
mod golden_cove;
mod skylake_sp;
mod sunny_cove;
mod zen;
mod zen5;

use crate::core::{Core, Isa};
pub use falkor::FALKOR;
pub use golden_cove::{GOLDEN_COVE, GOLDEN_COVE_CLIENT, RAPTOR_COVE, REDWOOD_COVE};
pub use skylake_sp::{CASCADE_LAKE, SKYLAKE_SP};
pub use sunny_cove::{CYPRESS_COVE, SUNNY_COVE, SUNNY_COVE_CLIENT, WILLOW_COVE};
pub use zen::{ZEN2, ZEN3, ZEN4};
pub use zen5::ZEN5;

/// All cores.
pub const CORES: [&Core; 15] = [
    &SKYLAKE_SP,
    &CASCADE_LAKE,
    &SUNNY_COVE,
    &SUNNY_COVE_CLIENT,
    &WILLOW_COVE,
    &CYPRESS_COVE,
    &GOLDEN_COVE,
    &GOLDEN_COVE_CLIENT,
    &RAPTOR_COVE,
    &REDWOOD_COVE,
    &ZEN2,
    &ZEN3,
    &ZEN4,
    &ZEN5,
    &FALKOR,
];

/// The cores of an instruction set.
pub fn cores(isa: Isa) -> impl Iterator<Item = &'static Core> {
    CORES.into_iter().filter(move |core| core.isa == isa)
}

/// One core of each pipeline of an instruction set: those whose uop tables differ.
pub fn pipelines(isa: Isa) -> impl Iterator<Item = &'static Core> {
    let first = |core: &&Core| CORES.iter().find(|other| other.llvm_name == core.llvm_name) == Some(core);
    cores(isa).filter(first)
}
