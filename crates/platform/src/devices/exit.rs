//! The exit device (QEMU `isa-debug-exit`).

/// Process exit status for a write of 1, 2 or 4 bytes: `(value << 1) | 1`, of which the operating
/// system keeps eight bits. So it is always odd, and a guest cannot claim success by accident.
#[must_use]
pub fn exit_status(data: &[u8]) -> u8 {
    let low = data.first().copied().unwrap_or(0);
    low << 1 | 1
}
