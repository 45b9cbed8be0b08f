//! The length of lines: of Rust, where rustfmt does not break them (comments, strings and macros), and of the pages'
//! prose.

use crate::cargo::root;
use crate::error::TaskError;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Most columns of a line, in characters. rustfmt breaks earlier what it can (`rustfmt.toml`).
const COLUMNS: usize = 120;

/// What a generated page says at its top; its lines are as long as the generator makes them.
const GENERATED: &str = "do not edit";

/// Names every line of the workspace's Rust files, and of prose in Markdown, that is longer than [`COLUMNS`].
///
/// # Errors
/// There is such a line, or a file cannot be read.
pub(crate) fn check() -> Result<(), TaskError> {
    let root = root();
    let mut long = Vec::new();
    search(&root, &root, &mut long)?;
    for line in &long {
        anstream::eprintln!("{line}");
    }
    match long.len() {
        0 => Ok(()),
        count => Err(TaskError::Data(format!("lines over {COLUMNS} columns: {count}"))),
    }
}

/// Adds the long lines below `folder`, as `file:line: columns`, with paths from `root`.
fn search(folder: &Path, root: &Path, long: &mut Vec<String>) -> Result<(), TaskError> {
    let error = |path: &Path| {
        let path = path.to_path_buf();
        |source| TaskError::File { path, source }
    };
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut paths: Vec<PathBuf> = entries.map_err(error(folder))?.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let place = path.strip_prefix(root).unwrap_or(&path);
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                search(&path, root, long)?;
            }
            continue;
        }
        let lines: fn(&str) -> Vec<(usize, &str)> = match path.extension().and_then(OsStr::to_str) {
            Some("rs") => |text| text.lines().enumerate().collect(),
            Some("md") => prose,
            _ => continue,
        };
        let text = fs::read_to_string(&path).map_err(error(&path))?;
        let columns = lines(&text).into_iter().map(|(n, line)| (n, line.chars().count()));
        let over = columns.filter(|(_, columns)| *columns > COLUMNS);
        long.extend(over.map(|(n, columns)| format!("{}:{}: {columns} columns", place.display(), n + 1)));
    }
    Ok(())
}

/// The lines of a page but for those of tables, of code and output, and of a page that is generated.
fn prose(text: &str) -> Vec<(usize, &str)> {
    if text.lines().take(5).any(|line| line.contains(GENERATED)) {
        return Vec::new();
    }
    let mut is_code = false;
    let is_prose = |(_, line): &(usize, &str)| {
        let line = line.trim_start();
        is_code ^= line.starts_with("```");
        !is_code && !line.starts_with('|')
    };
    text.lines().enumerate().filter(is_prose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_and_line_of_long_lines_are_named() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let long = format!("// {}", "é".repeat(COLUMNS - 2));
        let most = format!("// {}", "é".repeat(COLUMNS - 3));
        for (file, text) in [
            ("a/b/c.rs", format!("fn c() {{}}\n{long}\n{most}\n{long}")),
            ("a/text.md", format!("{most}\n{long}\n| {long} |\n```\n{long}\n```\n{long}")),
            ("a/generated.md", format!("Generated; do not edit.\n\n{long}")),
            ("a/data.tsv", long.clone()),
            ("target/built.rs", long.clone()),
            (".git/hook.rs", long.clone()),
            ("crates/vpmu-cli/src/main.rs", long.clone()),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().ok_or("a folder")?)?;
            fs::write(path, text)?;
        }
        let mut found = Vec::new();
        search(folder.path(), folder.path(), &mut found)?;
        let expected = [
            "a/b/c.rs:2: 121 columns",
            "a/b/c.rs:4: 121 columns",
            "a/text.md:2: 121 columns",
            "a/text.md:7: 121 columns",
            "crates/vpmu-cli/src/main.rs:1: 121 columns",
        ];
        assert_eq!(found, expected);
        Ok(())
    }
}
