//! What executes a test.

use serde::{Deserialize, Serialize};

/// What executes a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    Soft,
    Kvm,
}

impl Engine {
    pub(super) const NAMES: [&'static str; 2] = ["soft", "kvm"];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Kvm => "kvm",
        }
    }
}
