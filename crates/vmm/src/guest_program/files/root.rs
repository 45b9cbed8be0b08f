//! Where files are looked for: on the host, below a directory of it, or in a container image.

use super::oci::Tree;
use super::{Content, Entry, MOST_LINKS, OWN, PERMISSIONS, Time, components};
use crate::guest_program::ProgramError;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A tree of files.
#[derive(Debug)]
pub enum Root {
    /// Below this directory of the host.
    Directory(PathBuf),
    /// Those of a container image.
    Image(Tree),
}

/// What a path leads to.
#[derive(Debug)]
pub(super) struct Found {
    /// Every directory and symbolic link on the way, and what is at the end.
    pub(super) passed: Vec<(PathBuf, Entry)>,
    /// The path without links.
    pub(super) real: PathBuf,
}

impl Root {
    /// The host itself.
    #[must_use]
    pub fn host() -> Self {
        Self::Directory(PathBuf::from("/"))
    }

    /// A directory of the host that is the guest's root.
    ///
    /// # Errors
    /// It is no directory.
    pub fn directory(path: &Path) -> Result<Self, ProgramError> {
        let real = path.canonicalize().map_err(ProgramError::file(path))?;
        if !real.is_dir() {
            return Err(ProgramError::file(path)(io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self::Directory(real))
    }

    /// A container image in a file, see [`Tree::open`].
    ///
    /// # Errors
    /// It is none.
    pub fn image(path: &Path) -> Result<Self, ProgramError> {
        // A reason may cite what it has read, which may be anything.
        let plain = |what: String| what.chars().take_while(|letter| !letter.is_control()).take(120).collect();
        let failed = |what| ProgramError::Image { path: path.to_owned(), what: plain(what) };
        Tree::open(path).map(Self::Image).map_err(failed)
    }

    /// Whether it is the host as a whole.
    #[must_use]
    pub fn is_host(&self) -> bool {
        matches!(self, Self::Directory(directory) if directory == Path::new("/"))
    }

    /// Variables that an image asks for, `NAME=VALUE`.
    #[must_use]
    pub fn environment(&self) -> &[String] {
        match self {
            Self::Directory(_) => &[],
            Self::Image(tree) => tree.environment(),
        }
    }

    /// What the guest gets of an absolute path without links in all but its last part; `None` of devices, pipes and
    /// sockets.
    fn entry(&self, path: &Path) -> io::Result<Option<Entry>> {
        match self {
            Self::Image(tree) => {
                tree.entry(path).cloned().map(Some).ok_or_else(|| io::ErrorKind::NotFound.into())
            }
            Self::Directory(root) => {
                let path = root.join(path.strip_prefix("/").unwrap_or(path));
                let metadata = fs::symlink_metadata(&path)?;
                let content = content(&path, &metadata)?;
                Ok(content.map(|content| entry(&metadata, content)))
            }
        }
    }

    /// Names in a directory, in order.
    pub(super) fn names(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        match self {
            Self::Image(tree) => Ok(tree.names(directory)),
            Self::Directory(root) => {
                let path = root.join(directory.strip_prefix("/").unwrap_or(directory));
                let found = fs::read_dir(path)?.map(|found| found.map(|found| found.file_name().into()));
                let mut names = found.collect::<io::Result<Vec<PathBuf>>>()?;
                names.sort();
                Ok(names)
            }
        }
    }

    /// Everything on the way to an absolute path; links are followed within the root.
    pub(super) fn walk(&self, path: &Path) -> io::Result<Found> {
        let mut rest: Vec<PathBuf> = components(path);
        let mut found = Found { passed: Vec::new(), real: PathBuf::from("/") };
        let mut links = 0;
        while let Some(next) = rest.pop() {
            if next == Path::new("..") {
                found.real.pop();
                continue;
            }
            let path = found.real.join(&next);
            if OWN.iter().any(|own| path == Path::new(own)) {
                // Nothing of it comes from here.
                rest.reverse();
                found.real = rest.iter().fold(path, |path, next| path.join(next));
                return Ok(found);
            }
            let Some(entry) = self.entry(&path)? else {
                return Err(io::Error::other("it is no file and no directory"));
            };
            match &entry.content {
                Content::Link(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(io::ErrorKind::TooManyLinks.into());
                    }
                    if target.is_absolute() {
                        found.real = PathBuf::from("/");
                    }
                    rest.extend(components(target));
                }
                Content::Directory => found.real.clone_from(&path),
                _ if rest.is_empty() => found.real.clone_from(&path),
                _ => return Err(io::ErrorKind::NotADirectory.into()),
            }
            found.passed.push((path, entry));
        }
        Ok(found)
    }

    /// What a path leads to; `None` if that is nothing.
    #[must_use]
    pub fn look(&self, path: &Path) -> Option<Entry> {
        let found = self.walk(path).ok()?;
        let last = found.passed.into_iter().rfind(|(path, _)| *path == found.real);
        last.map(|(_, entry)| entry)
    }

    /// What is at a path itself, without anything on the way; `None` of devices, pipes and sockets.
    pub(super) fn at(&self, path: &Path) -> io::Result<Option<Entry>> {
        self.entry(path)
    }
}

fn entry(metadata: &Metadata, content: Content) -> Entry {
    let time = Time {
        seconds: u64::try_from(metadata.mtime()).unwrap_or(0),
        nanoseconds: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
    };
    Entry { mode: metadata.mode() & PERMISSIONS, time, content }
}

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
