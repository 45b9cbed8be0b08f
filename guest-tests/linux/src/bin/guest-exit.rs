//! `guest-exit [VALUE]`: writes VALUE (default 0: passed) to the exit device.

use linux_guest::vmm::Vmm;
use std::process::ExitCode;

fn main() -> ExitCode {
    let value = std::env::args().nth(1).map_or(Ok(0), |text| text.parse());
    let Ok(value) = value else {
        eprintln!("guest-exit: the status is a number from 0 to 255");
        return ExitCode::FAILURE;
    };
    match Vmm::open() {
        Ok(vmm) => vmm.exit(value),
        Err(error) => eprintln!("guest-exit: the VMM's devices: {error}"),
    }
    // The machine has no exit device.
    ExitCode::FAILURE
}
