//! Devices of our images that every machine has, wherever it shows their registers, and consoles.

mod capture;
mod console;
pub mod control;
pub mod debug_console;
mod effect;
mod exit;
pub mod fw_cfg;
pub mod program;

pub use self::capture::Capture;
pub use self::console::{Console, Input, Output, Typed, Uart};
pub use self::debug_console::DebugConsole;
pub use self::effect::Effect;
pub use self::exit::exit_status;
pub use self::fw_cfg::{FwCfg, FwCfgError};
