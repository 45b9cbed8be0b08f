//! Asks the PMU what the kernel's driver asks at boot, and what the recorder rr asks at its start.
//!
//! Run as root, with `/dev/cpu/0/msr`. The NMI watchdog is off meanwhile, so that no counter is in use.

mod kernel;
mod rr;

use linux_guest::checks::Checks;
use std::fs;
use std::process::ExitCode;

const WATCHDOG: &str = "/proc/sys/kernel/nmi_watchdog";

fn main() -> ExitCode {
    let mut checks = Checks::default();
    let watchdog = fs::read_to_string(WATCHDOG).unwrap_or_default();
    if let Err(error) = fs::write(WATCHDOG, "0") {
        println!("# {WATCHDOG}: {error}");
    }
    kernel::check(&mut checks);
    rr::check(&mut checks);
    if let Err(error) = fs::write(WATCHDOG, watchdog.trim()) {
        println!("# {WATCHDOG}: {error}");
    }
    if checks.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
