//! Generated documentation.

use crate::cargo::root;
use crate::error::TaskError;
use std::fs;

/// Writes the generated pages, or checks that they are as they would be written.
pub(crate) fn docs(check: bool) -> Result<(), TaskError> {
    let path = root().join("docs/registers.md");
    let page = vpmu::decode::markdown();
    if check {
        let written = fs::read_to_string(&path).unwrap_or_default();
        return if written == page { Ok(()) } else { Err(TaskError::Stale(path)) };
    }
    fs::write(&path, page).map_err(|source| TaskError::File { path: path.clone(), source })?;
    anstream::println!("wrote {}", path.display());
    Ok(())
}
