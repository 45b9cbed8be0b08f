//! What an image says about what it tested.

use serde::{Deserialize, Serialize};

/// Of a check or of a whole test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Passed,
    Failed,
    Skipped,
}

/// What an image says about one thing that it tested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) status: Status,
    /// Why it was skipped.
    pub(super) reason: Option<String>,
    /// The image's description of a failure.
    pub(super) details: Vec<String>,
    /// From the result before it to its own, on the wall clock; `None` where that is not known.
    pub(super) seconds: Option<f64>,
}
