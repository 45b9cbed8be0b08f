//! How an image can be started, as its file says.

use super::elf::Segment;
use super::error::ImageError;
use super::protocol::Protocol;

/// What to copy where, and where to start. Checked against the file, not yet against guest memory.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) protocol: Protocol,
    /// Ascending in physical memory, not overlapping.
    pub(super) segments: Vec<Segment>,
    pub(super) entry: u64,
}

impl Plan {
    /// # Errors
    /// The entry point does not come from the file.
    pub(super) fn new(protocol: Protocol, segments: Vec<Segment>, entry: u64) -> Result<Self, ImageError> {
        if !segments.iter().any(|s| s.holds_physical(entry)) {
            return Err(ImageError::EntryOutside { protocol, entry });
        }
        Ok(Self { protocol, segments, entry })
    }
}
