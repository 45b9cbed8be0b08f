//! Exit port (QEMU `isa-debug-exit`, `iobase=0xf4,iosize=4`).

/// First port.
pub const BASE: u16 = guest_protocol::ports::EXIT;
/// Number of ports; a write to any of them ends the run.
pub const PORTS: u16 = 4;
/// What reading gives, as in QEMU.
pub const READ_VALUE: u8 = 0;

/// Process exit status for a write of 1, 2 or 4 bytes: `(value << 1) | 1`, of which the operating
/// system keeps eight bits. So it is always odd, and a guest cannot claim success by accident.
#[must_use]
pub fn exit_status(data: &[u8]) -> u8 {
    let low = data.first().copied().unwrap_or(0);
    low << 1 | 1
}
