//! The files that a guest gets, with the paths that they have on the host.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`elf`] | what an ELF file says of its interpreter and libraries |
//! | [`search`] | finds programs and libraries as shell and loader do |
//! | [`cache`] | the loader's cache for what was found |

pub mod cache;
pub mod elf;
pub mod search;

use super::ProgramError;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// Most symbolic links on the way to a file, as the kernel has it.
const MOST_LINKS: usize = 40;
/// What the guest has by itself.
const OWN: [&str; 3] = ["/dev", "/proc", "/sys"];
const PERMISSIONS: u32 = 0o7777;

/// When something was modified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Time {
    /// Since 1970; nothing is older.
    pub seconds: u64,
    /// Below a second.
    pub nanoseconds: u32,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A directory.
    Directory,
    /// What this file of the host has.
    Host(PathBuf),
    /// A symbolic link to this.
    Link(PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A file, directory or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Permissions.
    pub mode: u32,
    /// When it was modified.
    pub time: Time,
    /// What it is.
    pub content: Content,
}

/// Files by their path in the guest; a directory comes before what is in it.
#[derive(Debug, Clone, Default)]
pub struct Files {
    entries: BTreeMap<PathBuf, Entry>,
    bytes: u64,
}

impl Files {
    /// Everything, in order.
    pub fn iter(&self) -> btree_map::Iter<'_, PathBuf, Entry> {
        self.entries.iter()
    }

    /// Sum of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether there is something at this path, which is without symbolic links.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// A file with this content, and its directories.
    pub fn add_bytes(&mut self, path: &Path, mode: u32, content: Vec<u8>) {
        let parents: Vec<&Path> =
            path.ancestors().skip(1).filter(|parent| parent.parent().is_some()).collect();
        for parent in parents {
            let directory = Entry { mode: 0o755, time: Time::default(), content: Content::Directory };
            self.entries.entry(parent.to_owned()).or_insert(directory);
        }
        let content = Content::Bytes(content);
        self.insert(path.to_owned(), Entry { mode, time: Time::default(), content });
    }

    /// A file or directory of the host by its absolute path, with every directory and symbolic link on the way there.
    /// Returns its path without links. Of a directory nothing in it comes along.
    ///
    /// # Errors
    /// It is not there, or cannot be looked at.
    pub fn add(&mut self, path: &Path) -> Result<PathBuf, ProgramError> {
        self.walk(path).map_err(ProgramError::file(path))
    }

    /// A directory of the host with everything in it; or a file.
    ///
    /// # Errors
    /// It is not there, or something in it cannot be read.
    pub fn add_tree(&mut self, path: &Path) -> Result<(), ProgramError> {
        let real = self.add(path)?;
        if !matches!(self.entries.get(&real).map(|entry| &entry.content), Some(Content::Directory)) {
            return Ok(());
        }
        let mut open = vec![real];
        while let Some(directory) = open.pop() {
            for found in fs::read_dir(&directory).map_err(ProgramError::file(&directory))? {
                let path = found.map_err(ProgramError::file(&directory))?.path();
                let metadata = fs::symlink_metadata(&path).map_err(ProgramError::file(&path))?;
                // A link may point to what is not there, or outside, and stays a link.
                if let Some(content) = content(&path, &metadata).map_err(ProgramError::file(&path))? {
                    if content == Content::Directory {
                        open.push(path.clone());
                    }
                    self.insert_found(path, &metadata, content);
                }
            }
        }
        Ok(())
    }

    fn walk(&mut self, path: &Path) -> io::Result<PathBuf> {
        let mut rest: Vec<PathBuf> = components(path);
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(next) = rest.pop() {
            if next == Path::new("..") {
                at.pop();
                continue;
            }
            let path = at.join(&next);
            if OWN.iter().any(|own| path == Path::new(own)) {
                // Nothing of it comes from the host.
                rest.reverse();
                return Ok(rest.iter().fold(path, |path, next| path.join(next)));
            }
            let metadata = fs::symlink_metadata(&path)?;
            let Some(content) = content(&path, &metadata)? else {
                return Err(io::Error::other("it is no file and no directory"));
            };
            if let Content::Link(target) = &content {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::ErrorKind::TooManyLinks.into());
                }
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                rest.extend(components(target));
            } else {
                at.clone_from(&path);
            }
            self.insert_found(path, &metadata, content);
        }
        Ok(at)
    }

    fn insert_found(&mut self, path: PathBuf, metadata: &Metadata, content: Content) {
        let time = Time {
            seconds: u64::try_from(metadata.mtime()).unwrap_or(0),
            nanoseconds: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
        };
        self.insert(path, Entry { mode: metadata.mode() & PERMISSIONS, time, content });
    }

    fn insert(&mut self, path: PathBuf, entry: Entry) {
        let size = match &entry.content {
            Content::Host(path) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Directory | Content::Link(_) => 0,
        };
        if self.entries.insert(path, entry).is_none() {
            self.bytes += size;
        }
    }
}

impl IntoIterator for Files {
    type Item = (PathBuf, Entry);
    type IntoIter = btree_map::IntoIter<PathBuf, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// The parts of a path, the last one first.
fn components(path: &Path) -> Vec<PathBuf> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    let mut parts: Vec<PathBuf> = named.map(|part| PathBuf::from(part.as_os_str())).collect();
    parts.reverse();
    parts
}

/// What the guest gets of it; nothing of devices, pipes and sockets.
fn content(path: &Path, metadata: &Metadata) -> io::Result<Option<Content>> {
    let kind = metadata.file_type();
    Ok(if kind.is_symlink() {
        Some(Content::Link(fs::read_link(path)?))
    } else if kind.is_dir() {
        Some(Content::Directory)
    } else {
        kind.is_file().then(|| Content::Host(path.to_owned()))
    })
}

#[cfg(test)]
mod tests;
