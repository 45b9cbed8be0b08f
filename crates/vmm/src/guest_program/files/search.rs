//! Finds programs as a shell does, and libraries as ld.so(8) does: DT_RPATH, DT_RUNPATH, the directories of
//! /etc/ld.so.conf, and the loader's own. Variants for better CPUs (`glibc-hwcaps`) are left out: which one is taken
//! would depend on the profile, and all of them on the host.

use super::Files;
use super::cache;
use super::elf::{self, Elf};
use super::root::Root;
use crate::guest_program::ProgramError;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Where the loaders of distributions look in the end.
const DIRECTORIES: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
];
/// The kernel looks at so much of a script's first line.
const SCRIPT_LINE: usize = 256;
/// A script may be interpreted by another, so often.
const MOST_SCRIPTS: usize = 5;

/// What has been found, see [`Needs::found`].
#[derive(Debug, Default)]
pub struct Found {
    seen: BTreeSet<PathBuf>,
    libraries: Vec<(String, PathBuf)>,
}

/// Collects what programs need.
#[derive(Debug)]
pub struct Needs<'a> {
    files: &'a mut Files,
    /// Where programs are looked for, one after the other; libraries are those of the first.
    roots: &'a [&'a Root],
    directories: Vec<PathBuf>,
    /// Paths of files that have been looked into.
    seen: BTreeSet<PathBuf>,
    /// Libraries by the name under which they are looked for.
    libraries: Vec<(String, PathBuf)>,
}

impl<'a> Needs<'a> {
    /// What is found goes to these files. Programs are looked for in all of the roots, one after the other, and what
    /// they need in the first.
    #[must_use]
    pub fn new(files: &'a mut Files, roots: &'a [&'a Root]) -> Self {
        Self::going_on(files, roots, Found::default())
    }

    /// What has been found so far, to go on with after other files have been added.
    #[must_use]
    pub fn found(self) -> Found {
        Found { seen: self.seen, libraries: self.libraries }
    }

    /// Goes on after [`found`](Self::found).
    #[must_use]
    pub fn going_on(files: &'a mut Files, roots: &'a [&'a Root], found: Found) -> Self {
        let Found { seen, libraries } = found;
        let mut directories = Vec::new();
        if let Some(root) = roots.first() {
            configured(root, Path::new("/etc/ld.so.conf"), &mut directories, 0);
        }
        directories.extend(DIRECTORIES.map(PathBuf::from));
        Self { files, roots, directories, seen, libraries }
    }

    /// A program, by name or by path, with everything that it takes to execute it. Returns its absolute path.
    ///
    /// # Errors
    /// It is not there, cannot be executed, is for another machine, or lacks a library.
    pub fn program(&mut self, name: &OsStr, directory: &Path, path: &OsStr) -> Result<PathBuf, ProgramError> {
        let not_found = || {
            let here = directory.join(name);
            let named = name.as_bytes().contains(&b'/');
            if named && self.roots.iter().any(|root| root.look(&here).is_some()) {
                return ProgramError::NotExecutable(here);
            }
            ProgramError::NotFound(name.to_string_lossy().into_owned())
        };
        let mut found =
            self.roots.iter().filter_map(|root| Some((*root, find(root, name, directory, path)?)));
        let (root, program) = found.next().ok_or_else(not_found)?;
        self.executable(root, &program, path, 0)?;
        Ok(program)
    }

    /// Libraries of everything executable among the files. What lacks a library stays without it.
    pub fn libraries_of_files(&mut self) {
        let found = self.files.iter().filter(|(_, entry)| entry.content.is_found());
        let paths: Vec<PathBuf> = found.map(|(path, _)| path.clone()).collect();
        for path in paths {
            if let Err(reason) = self.elf(&path, &[]) {
                log::info!("{}: {reason}", path.display());
            }
        }
    }

    /// Writes the loader's cache.
    pub fn finish(self) {
        if !self.libraries.is_empty() {
            self.files.add_bytes(Path::new("/etc/ld.so.cache"), 0o644, cache::cache(self.libraries));
        }
    }

    fn executable(
        &mut self,
        root: &Root,
        program: &Path,
        path: &OsStr,
        depth: usize,
    ) -> Result<(), ProgramError> {
        let real = self.files.add(root, program)?;
        let data = self.read(&real)?;
        if let Some(line) = data.strip_prefix(b"#!") {
            let line = &line[..line.len().min(SCRIPT_LINE)];
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let Some(interpreter) = words.next().filter(|_| depth < MOST_SCRIPTS) else {
                return Err(ProgramError::Foreign(program.to_owned()));
            };
            let interpreter = PathBuf::from(OsStr::from_bytes(interpreter));
            let Some(root) = self.roots.first() else { return Ok(()) };
            self.executable(root, &interpreter, path, depth + 1)?;
            if interpreter.file_name() == Some(OsStr::new("env"))
                && let Some(name) = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))
            {
                let name = OsStr::from_bytes(name);
                let program = find(root, name, Path::new("/"), path)
                    .ok_or_else(|| ProgramError::NotFound(name.to_string_lossy().into_owned()))?;
                self.executable(root, &program, path, depth + 1)?;
            }
            return Ok(());
        }
        if Elf::parse(&data).is_none() {
            return Err(ProgramError::Foreign(program.to_owned()));
        }
        self.elf(&real, &[])
    }

    /// The file at a path that has been added.
    fn read(&self, path: &Path) -> Result<Vec<u8>, ProgramError> {
        let entry = self.files.get(path);
        entry.map_or(Ok(Vec::new()), |entry| entry.content.read()).map_err(ProgramError::file(path))
    }

    /// What a program or library needs; nothing of another file. `inherited`: where its users have looked.
    fn elf(&mut self, path: &Path, inherited: &[PathBuf]) -> Result<(), ProgramError> {
        if !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        let Some(root) = self.roots.first() else { return Ok(()) };
        let magic = self.files.get(path).map(|entry| entry.content.beginning(4));
        if !magic.is_some_and(|magic| magic.is_ok_and(|magic| elf::is_elf(&magic))) {
            return Ok(());
        }
        let Some(elf) = Elf::parse(&self.read(path)?) else { return Ok(()) };
        if let Some(interpreter) = &elf.interpreter {
            let real = self.files.add(root, interpreter)?;
            self.elf(&real, &[])?;
        }
        let origin = path.parent().unwrap_or(Path::new("/"));
        let expand = |directory: &String| {
            let origin = origin.to_string_lossy();
            let replaced = directory.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
            PathBuf::from(
                replaced.replace("${LIB}", "lib/x86_64-linux-gnu").replace("$LIB", "lib/x86_64-linux-gnu"),
            )
        };
        let own: Vec<PathBuf> = match elf.runpath.is_empty() {
            true => elf.rpath.iter().map(expand).chain(inherited.iter().cloned()).collect(),
            false => elf.runpath.iter().map(expand).collect(),
        };
        // DT_RUNPATH is for the file's own libraries alone.
        let passed_on = if elf.runpath.is_empty() { own.clone() } else { Vec::new() };
        for name in &elf.needed {
            let found = self
                .library(name, &own)
                .ok_or_else(|| ProgramError::Library { path: path.to_owned(), library: name.clone() })?;
            let real = self.files.add(root, &found)?;
            if !name.contains('/') && !own.iter().any(|directory| found.starts_with(directory)) {
                self.libraries.push((name.clone(), found));
            }
            self.elf(&real, &passed_on)?;
        }
        Ok(())
    }

    fn library(&self, name: &str, own: &[PathBuf]) -> Option<PathBuf> {
        let root = self.roots.first()?;
        if name.contains('/') {
            let is_file = |path: &PathBuf| root.look(path).is_some_and(|entry| entry.content.is_found());
            return Some(PathBuf::from(name)).filter(is_file);
        }
        let paths = own.iter().chain(&self.directories).map(|directory| directory.join(name));
        paths.into_iter().find(|path| is_for_us(root, path))
    }
}

/// A library for another machine, in a directory for several, is passed over.
fn is_for_us(root: &Root, path: &Path) -> bool {
    const MACHINE: usize = 18;
    let header = root.look(path).and_then(|entry| entry.content.beginning(MACHINE as u64 + 2).ok());
    // ELFCLASS64, EM_X86_64.
    header
        .is_some_and(|header| elf::is_elf(&header) && header.get(4) == Some(&2) && header.ends_with(&[62, 0]))
}

/// Directories of /etc/ld.so.conf, with the files that it includes.
fn configured(root: &Root, file: &Path, directories: &mut Vec<PathBuf>, depth: usize) {
    let Some(text) = root.look(file).and_then(|entry| entry.content.read().ok()) else { return };
    let text = String::from_utf8_lossy(&text);
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(pattern) = line.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t'])) {
            if depth < MOST_SCRIPTS {
                for included in matching(root, Path::new(pattern.trim())) {
                    configured(root, &included, directories, depth + 1);
                }
            }
        } else if line.starts_with('/') {
            directories.push(PathBuf::from(line));
        }
    }
}

/// Files that match a pattern with one `*` in its last part, in order.
fn matching(root: &Root, pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let directory = Path::new("/etc").join(pattern.parent().unwrap_or(Path::new("")));
    let Some((before, after)) = name.split_once('*') else { return vec![directory.join(name)] };
    let Ok(names) = root.names(&directory) else { return Vec::new() };
    let names = names.into_iter().map(|name| name.to_string_lossy().into_owned());
    let found = names.filter(|name| {
        name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    });
    found.map(|name| directory.join(name)).collect()
}

/// The absolute path of a program: a path as it is, a name in the directories of PATH.
#[must_use]
pub fn find(root: &Root, name: &OsStr, directory: &Path, path: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        root.look(path).is_some_and(|found| found.content.is_found() && found.mode & 0o111 != 0)
    };
    if name.as_bytes().contains(&b'/') {
        return Some(directory.join(name)).filter(is_program);
    }
    let directories =
        path.as_bytes().split(|byte| *byte == b':').map(|part| Path::new(OsStr::from_bytes(part)));
    directories.map(|part| directory.join(part).join(name)).find(is_program)
}
