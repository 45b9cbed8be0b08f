//! Runs that have to be the same run: their reports and traces.

use crate::error::TaskError;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What must not differ between two reports. Times of the host may.
const SAME: [&str; 6] = ["outcome", "instructions", "console", "counted", "intervals", "accesses"];

/// What a run has left.
pub(crate) struct Traced {
    pub(crate) report: Value,
    pub(crate) trace: Vec<u8>,
}

impl Traced {
    /// What comes of a run that writes its trace to the file that it is told, which has this name among others.
    pub(crate) fn of(
        name: &str,
        run: impl FnOnce(&Path) -> Result<Value, TaskError>,
    ) -> Result<Self, TaskError> {
        let path = std::env::temp_dir().join(format!("vpmu-{name}-{}", std::process::id()));
        let report = run(&path)?;
        let file_error = |source| TaskError::File { path: path.clone(), source };
        let trace = fs::read(&path).map_err(file_error)?;
        fs::remove_file(&path).map_err(file_error)?;
        Ok(Self { report, trace })
    }

    /// In what they differ, separated by commas; `None` if they are the same.
    pub(crate) fn differs_in(&self, other: &Self) -> Option<String> {
        let keys = SAME.iter().filter(|key| self.report[**key] != other.report[**key]);
        let mut different: Vec<&str> = keys.copied().collect();
        different.extend((self.trace != other.trace).then_some("trace"));
        (!different.is_empty()).then(|| different.join(", "))
    }
}
