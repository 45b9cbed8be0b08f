//! The control port of our own VMM. Only for tests that need `vpmu`.

use guest_protocol::{
    control::{SAVE_RESTORE, STATUS_OK},
    ports::{CONTROL, CONTROL_LABEL},
};

use crate::port;

/// Has the VMM save the whole vPMU, reset it and restore it.
///
/// # Errors
/// The status that the VMM answered, see [`guest_protocol::control`].
pub fn save_restore() -> Result<(), u32> {
    port::write_u32(CONTROL, SAVE_RESTORE);
    match port::read_u32(CONTROL) {
        STATUS_OK => Ok(()),
        status => Err(status),
    }
}

/// Names the next measuring window.
pub fn label(name: &str) {
    name.bytes().chain([0]).for_each(|byte| port::write_u8(CONTROL_LABEL, byte));
}
