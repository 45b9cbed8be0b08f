//! Devices of our images that every machine has, wherever it shows their registers, and consoles.

mod capture;
mod console;
pub mod control;
pub mod fw_cfg;

pub use self::capture::Capture;
pub use self::console::{Input, Output, Typed};
pub use self::fw_cfg::{FwCfg, FwCfgError};
