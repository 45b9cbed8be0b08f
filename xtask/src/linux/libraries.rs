//! Which shared libraries a program of an unpacked root file system needs.

use super::apt::file_error;
use super::architecture::Architecture;
use crate::error::TaskError;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _};
use object::{Endianness, elf};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The libraries of a program, with the dynamic linker, and theirs: file content by DT_NEEDED name.
pub(super) fn closure(
    root: &Path,
    architecture: Architecture,
    program: &[u8],
) -> Result<BTreeMap<String, Vec<u8>>, TaskError> {
    let mut found = BTreeMap::new();
    let mut wanted = needed(program);
    wanted.push(architecture.linker().1.to_owned());
    while let Some(name) = wanted.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let Some(path) = find(root, architecture, &name) else {
            return Err(TaskError::Data(format!("{name} is in none of the packages in {}", root.display())));
        };
        let data = fs::read(&path).map_err(|source| file_error(&path, source))?;
        wanted.extend(needed(&data));
        found.insert(name, data);
    }
    Ok(found)
}

fn find(root: &Path, architecture: Architecture, name: &str) -> Option<PathBuf> {
    let directories = ["lib", "usr/lib"].map(|directory| root.join(directory).join(architecture.libraries()));
    directories.into_iter().map(|directory| directory.join(name)).find(|path| path.exists())
}

/// The DT_NEEDED names of an ELF64 file; none where it has none.
fn needed(data: &[u8]) -> Vec<String> {
    let names = || -> object::Result<Vec<String>> {
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, data)?;
        let Some((dynamic, link)) = sections.dynamic(endian, data)? else { return Ok(Vec::new()) };
        let strings = sections.strings(endian, data, link)?;
        dynamic
            .iter()
            .take_while(|entry| entry.tag(endian) != elf::DT_NULL)
            .filter(|entry| entry.tag(endian) == DT_NEEDED)
            .map(|entry| Ok(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned()))
            .collect()
    };
    names().unwrap_or_default()
}
