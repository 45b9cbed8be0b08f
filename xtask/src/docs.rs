//! Generated documentation.

use crate::cargo::root;
use crate::error::TaskError;
use std::fs;

/// Writes the generated pages, or checks that they are as they would be written.
pub(crate) fn docs(check: bool) -> Result<(), TaskError> {
    let pages = [
        ("docs/registers.md", vpmu::decode::markdown()),
        ("docs/instructions.md", vmm::engine::soft::x86::instructions_page()),
    ];
    for (name, page) in pages {
        let path = root().join(name);
        if check {
            let written = fs::read_to_string(&path).unwrap_or_default();
            if written != page {
                return Err(TaskError::Stale(path));
            }
            continue;
        }
        fs::write(&path, page).map_err(|source| TaskError::File { path: path.clone(), source })?;
        anstream::println!("wrote {}", path.display());
    }
    Ok(())
}
