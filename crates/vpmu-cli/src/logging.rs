//! Diagnostics of the VMM, on stderr.

use log::LevelFilter;

/// Starts logging: warnings, `-v` information, `-vv` debugging, `-vvv` everything. `RUST_LOG`, when
/// set, decides instead.
pub(crate) fn init(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::Warn,
        1 => LevelFilter::Info,
        2 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    };
    let mut builder = env_logger::Builder::new();
    builder.filter_level(level).parse_default_env().format_timestamp(None).init();
}
