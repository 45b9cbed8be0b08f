//! Results in files: whole or not at all; `-` is stdout.

use crate::error::CliError;
use std::io::{self, Write as _};
use std::path::Path;
use vmm::file;

/// Whether results go to stdout instead.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Before anything runs, so that a wrong path is not told after a minute. A file that is there stays as it is.
/// One of the results may go to stdout; `json` does, if asked for.
pub(crate) fn check(json: bool, paths: &[(&'static str, Option<&Path>)]) -> Result<(), CliError> {
    let given = || paths.iter().filter_map(|(flag, path)| Some((*flag, (*path)?)));
    let mut on_stdout: Vec<&str> = json.then_some("--json").into_iter().collect();
    on_stdout.extend(given().filter(|(_, path)| is_stdout(path)).map(|(flag, _)| flag));
    if on_stdout.len() > 1 {
        return Err(CliError::StdoutTwice { flags: on_stdout.join(" and ") });
    }
    for (_, path) in given().filter(|(_, path)| !is_stdout(path)) {
        file::check_replaceable(path)
            .map_err(|source| CliError::NotWritable { path: path.to_owned(), source })?;
    }
    Ok(())
}

/// Writes all of it.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), CliError> {
    if is_stdout(path) {
        let mut stdout = io::stdout().lock();
        stdout.write_all(content)?;
        stdout.flush()?;
        return Ok(());
    }
    file::replace(path, content).map_err(|source| CliError::Write { path: path.to_owned(), source })
}
