//! The control device of our own VMM. Only for tests that need `vpmu`.

use guest_protocol::control::{SAVE_RESTORE, STATUS_OK};

use crate::machine::devices;

/// Has the VMM save the whole vPMU, reset it and restore it.
///
/// # Errors
/// The status that the VMM answered, see [`guest_protocol::control`].
pub fn save_restore() -> Result<(), u32> {
    match devices::command(SAVE_RESTORE) {
        STATUS_OK => Ok(()),
        status => Err(status),
    }
}

/// Names the next measuring window.
pub fn label(name: &str) {
    name.bytes().chain([0]).for_each(devices::label_byte);
}
