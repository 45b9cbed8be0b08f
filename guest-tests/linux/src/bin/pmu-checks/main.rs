//! Asks the PMU what the kernel's driver asks at boot, what the recorder rr asks at its start,
//! and whether the kernel can step from branch to branch.
//!
//! Run as root, with `/dev/cpu/0/msr`. The NMI watchdog is off meanwhile, so that no counter is in use.

mod amd;
mod block;
mod intel;
mod msr;
mod rr;

use linux_guest::checks::Checks;
use msr::Msr;
use std::fs;
use std::process::ExitCode;

const WATCHDOG: &str = "/proc/sys/kernel/nmi_watchdog";

fn main() -> ExitCode {
    let mut checks = Checks::default();
    let watchdog = fs::read_to_string(WATCHDOG).unwrap_or_default();
    if let Err(error) = fs::write(WATCHDOG, "0") {
        println!("# {WATCHDOG}: {error}");
    }
    let amd = is_amd();
    match Msr::open() {
        Ok(msr) if amd => amd::check(&msr, &mut checks),
        Ok(msr) => intel::check(&msr, &mut checks),
        Err(reason) => checks.check("opens the MSR device", Err(reason)),
    }
    block::check(&mut checks);
    rr::check(if amd { &rr::ZEN } else { &rr::ICE_LAKE }, &mut checks);
    if let Err(error) = fs::write(WATCHDOG, watchdog.trim()) {
        println!("# {WATCHDOG}: {error}");
    }
    if checks.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// "AuthenticAMD"; everything else is asked as Intel's.
fn is_amd() -> bool {
    std::arch::x86_64::__cpuid(0).ebx == u32::from_le_bytes(*b"Auth")
}
