//! The files that a guest gets, with the paths that they have on the host.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`elf`] | what an ELF file says of its interpreter and libraries |
//! | [`search`] | finds programs and libraries as shell and loader do |
//! | [`cache`] | the loader's cache for what was found |
//! | [`root`] | where files are looked for |
//! | [`oci`] | the files of a container image |
//! | [`part`] | a file that stands in another |

pub mod cache;
pub mod elf;
pub mod oci;
pub mod part;
pub mod root;
pub mod search;

use self::part::Part;
use self::root::Root;
use super::ProgramError;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
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
    /// What stands here in a file of the host.
    Part(Part),
    /// These bytes.
    Bytes(Vec<u8>),
}

impl Content {
    /// Reads a file; of anything else nothing.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Self::Host(path) => Box::new(File::open(path)?),
            Self::Part(part) => Box::new(part.reader()),
            Self::Bytes(bytes) => Box::new(Cursor::new(bytes.clone())),
            Self::Directory | Self::Link(_) => Box::new(io::empty()),
        })
    }

    /// The whole of a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        self.open()?.read_to_end(&mut data)?;
        Ok(data)
    }

    /// Up to so many bytes from the beginning of a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn beginning(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        self.open()?.take(most).read_to_end(&mut data)?;
        Ok(data)
    }

    /// Whether it is a file that was found, not one of our own.
    #[must_use]
    pub fn is_found(&self) -> bool {
        matches!(self, Self::Host(_) | Self::Part(_))
    }

    fn size(&self) -> u64 {
        match self {
            Self::Host(path) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Self::Part(part) => part.len(),
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Directory | Self::Link(_) => 0,
        }
    }
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

    /// A file with this content, instead of what is there, and its directories.
    pub fn add_bytes(&mut self, path: &Path, mode: u32, content: Vec<u8>) {
        let parents: Vec<&Path> =
            path.ancestors().skip(1).filter(|parent| parent.parent().is_some()).collect();
        for parent in parents {
            let directory = Entry { mode: 0o755, time: Time::default(), content: Content::Directory };
            self.entries.entry(parent.to_owned()).or_insert(directory);
        }
        let entry = Entry { mode, time: Time::default(), content: Content::Bytes(content) };
        self.bytes += entry.content.size();
        if let Some(before) = self.entries.insert(path.to_owned(), entry) {
            self.bytes = self.bytes.saturating_sub(before.content.size());
        }
    }

    /// A file or directory by its absolute path in a root, with every directory and symbolic link on the way there.
    /// Returns its path without links. Of a directory nothing in it comes along.
    ///
    /// # Errors
    /// It is not there, or cannot be looked at.
    pub fn add(&mut self, root: &Root, path: &Path) -> Result<PathBuf, ProgramError> {
        let found = root.walk(path).map_err(ProgramError::file(path))?;
        for (path, entry) in found.passed {
            self.insert(path, entry);
        }
        Ok(found.real)
    }

    /// A directory with everything in it; or a file.
    ///
    /// # Errors
    /// It is not there, or something in it cannot be read.
    pub fn add_tree(&mut self, root: &Root, path: &Path) -> Result<(), ProgramError> {
        let real = self.add(root, path)?;
        let is_directory = |entry: &Entry| entry.content == Content::Directory;
        if !self.entries.get(&real).map_or(real == Path::new("/"), is_directory) {
            return Ok(());
        }
        let mut open = vec![real];
        while let Some(directory) = open.pop() {
            for name in root.names(&directory).map_err(ProgramError::file(&directory))? {
                let path = directory.join(name);
                if OWN.iter().any(|own| path == Path::new(own)) {
                    continue;
                }
                // A link may point to what is not there, or outside, and stays a link.
                if let Some(entry) = root.at(&path).map_err(ProgramError::file(&path))? {
                    if is_directory(&entry) {
                        open.push(path.clone());
                    }
                    self.insert(path, entry);
                }
            }
        }
        Ok(())
    }

    /// A path without symbolic links, as far as these files have them; `None` if they lead in circles.
    #[must_use]
    pub fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let mut rest = components(path);
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(next) = rest.pop() {
            if next == Path::new("..") {
                at.pop();
                continue;
            }
            let path = at.join(&next);
            match self.entries.get(&path).map(|entry| &entry.content) {
                Some(Content::Link(target)) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return None;
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    rest.extend(components(target));
                }
                _ => at = path,
            }
        }
        Some(at)
    }

    /// What is at a path without symbolic links.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// What is there already stays.
    fn insert(&mut self, path: PathBuf, entry: Entry) {
        if let btree_map::Entry::Vacant(place) = self.entries.entry(path) {
            self.bytes += entry.content.size();
            place.insert(entry);
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

#[cfg(test)]
mod tests;
