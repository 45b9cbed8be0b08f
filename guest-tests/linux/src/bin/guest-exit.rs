//! `guest-exit [VALUE]`: writes VALUE (default 0: passed) to the exit port.

use std::process::ExitCode;

fn main() -> ExitCode {
    let value = std::env::args().nth(1).map_or(Ok(0), |text| text.parse());
    let Ok(value) = value else {
        eprintln!("guest-exit: the status is a number from 0 to 255");
        return ExitCode::FAILURE;
    };
    match linux_guest::allow_ports() {
        Ok(()) => linux_guest::out8(guest_protocol::ports::EXIT, value),
        Err(error) => eprintln!("guest-exit: iopl: {error}"),
    }
    // The machine has no exit port.
    ExitCode::FAILURE
}
