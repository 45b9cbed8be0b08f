//! What the program has written in the guest, as files of the host.
//!
//! The guest is not trusted: nothing is written outside the directory, through no link, and no more than the guest's
//! memory can hold.

use super::files::Files;
use guest_protocol::program as protocol;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Directories that the guest has by itself.
const OWN: [&str; 4] = ["/", "/tmp", "/root", "/etc"];
/// The owner may do at least this with what comes back.
const OWNERS_FILE: u32 = 0o600;
const OWNERS_DIRECTORY: u32 = 0o700;
/// Set-user-ID and the like do not come back.
const PERMISSIONS: u32 = 0o777;

/// A record as the protocol has it.
#[derive(Debug, PartialEq, Eq)]
struct Record<'a> {
    kind: u32,
    mode: u32,
    modified: SystemTime,
    path: &'a Path,
    data: &'a [u8],
}

impl<'a> Record<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(protocol::HEADER)?;
        let (words, _) = header.as_chunks::<4>();
        let mut numbers = words.iter().map(|word| u32::from_le_bytes(*word));
        let mut next = || numbers.next().unwrap_or(0);
        let [kind, mode, data, path, low, high, nanoseconds] = std::array::from_fn(|_| next());
        let (path, rest) = rest.split_at_checked(path as usize)?;
        let (&end, path) = path.split_last()?;
        let since = Duration::new(u64::from(high) << 32 | u64::from(low), nanoseconds.min(999_999_999));
        let modified = SystemTime::UNIX_EPOCH.checked_add(since)?;
        let path = Path::new(OsStr::from_bytes(path));
        let data = rest.get(..data as usize)?;
        (end == 0 && path.is_absolute() && !path.as_os_str().as_bytes().contains(&0)).then_some(Self {
            kind,
            mode: mode & PERMISSIONS,
            modified,
            path,
            data,
        })
    }
}

/// Puts what comes back into a directory.
#[derive(Debug)]
pub(super) struct Changed {
    directory: PathBuf,
    /// What lies in it keeps its path from there.
    base: PathBuf,
    /// Directories that the guest has had before.
    known: BTreeSet<PathBuf>,
    /// Bytes that may still come.
    left: u64,
    files: BTreeSet<PathBuf>,
    directories: BTreeSet<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
}

impl Changed {
    /// What the program changes in its working directory `base` comes to the same paths below `directory`, all else
    /// with its absolute path; `most` bytes of files at most.
    pub(super) fn new(directory: &Path, base: &Path, files: &Files, most: u64) -> Self {
        let known = files.iter().map(|(path, _)| path.clone()).chain(OWN.map(PathBuf::from)).collect();
        Self {
            directory: directory.to_owned(),
            base: base.to_owned(),
            known,
            left: most,
            files: BTreeSet::new(),
            directories: BTreeSet::new(),
            links: Vec::new(),
        }
    }

    /// One record of the guest's init.
    pub(super) fn record(&mut self, bytes: &[u8]) -> io::Result<()> {
        let record = Record::parse(bytes).ok_or(io::ErrorKind::InvalidData)?;
        let path = self.destination(record.path)?;
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        self.left = self.left.checked_sub(record.data.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        match record.kind {
            protocol::DIRECTORY if self.known.contains(record.path) => Ok(()),
            protocol::DIRECTORY => self.make(&path),
            protocol::FILE => self.file(&path, &record),
            protocol::APPEND if self.files.contains(&path) => append(&path, &record),
            protocol::LINK => {
                self.links.push((path.clone(), PathBuf::from(OsStr::from_bytes(record.data))));
                Ok(())
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
        .map_err(told)
    }

    /// The links, which nothing is written through as they come last. Returns how many files and links there are.
    pub(super) fn finish(&mut self) -> io::Result<usize> {
        let links = std::mem::take(&mut self.links);
        for (path, target) in &links {
            let made = self.parents(path).and_then(|()| replace(path)).and_then(|()| symlink(target, path));
            made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        }
        Ok(self.files.len() + links.len())
    }

    fn destination(&self, path: &Path) -> io::Result<PathBuf> {
        let relative = path.strip_prefix(&self.base).or_else(|_| path.strip_prefix("/"));
        let relative = relative.unwrap_or(Path::new(""));
        if relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(self.directory.join(relative));
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    fn file(&mut self, path: &Path, record: &Record<'_>) -> io::Result<()> {
        if !self.files.insert(path.to_owned()) {
            return Err(io::Error::other("the guest has two files that come here"));
        }
        self.parents(path)?;
        replace(path)?;
        let options = OpenOptions::new().write(true).create_new(true).mode(OWNERS_FILE).to_owned();
        finish_piece(options.open(path)?, record)
    }

    /// Every directory on the way to a path, which are ours and no links.
    fn parents(&mut self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) => self.make(parent),
            None => Ok(()),
        }
    }

    fn make(&mut self, path: &Path) -> io::Result<()> {
        if !path.starts_with(&self.directory) || self.directories.contains(path) {
            return Ok(());
        }
        if path == self.directory {
            fs::create_dir_all(path)?;
        } else {
            self.parents(path)?;
            match fs::symlink_metadata(path) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                Err(_) => DirBuilder::new().mode(OWNERS_DIRECTORY | 0o055).create(path)?,
            }
        }
        self.directories.insert(path.to_owned());
        Ok(())
    }
}

/// An older file or link goes; a directory stays, and is an error of the next step.
fn replace(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_dir() => fs::remove_file(path),
        _ => Ok(()),
    }
}

fn append(path: &Path, record: &Record<'_>) -> io::Result<()> {
    finish_piece(OpenOptions::new().append(true).open(path)?, record)
}

fn finish_piece(mut file: File, record: &Record<'_>) -> io::Result<()> {
    file.write_all(record.data)?;
    file.set_permissions(Permissions::from_mode(record.mode | OWNERS_FILE))?;
    file.set_modified(record.modified)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, path: &str, data: &[u8]) -> Vec<u8> {
        let numbers = [kind, 0o4711, data.len() as u32, path.len() as u32 + 1, 1_000_000, 0, 5, 0];
        let header: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        [&header[..], path.as_bytes(), &[0], data].concat()
    }

    fn changed(directory: &Path) -> Changed {
        Changed::new(directory, Path::new("/work/here"), &Files::default(), 100)
    }

    #[test]
    fn what_lies_in_the_working_directory_keeps_its_path_from_there() {
        let base = tempfile::tempdir().unwrap();
        let out = base.path().join("out");
        let mut changed = changed(&out);
        changed.record(&record(protocol::DIRECTORY, "/tmp", &[])).unwrap();
        changed.record(&record(protocol::DIRECTORY, "/work/here/empty", &[])).unwrap();
        changed.record(&record(protocol::FILE, "/work/here/sub/a", b"one ")).unwrap();
        changed.record(&record(protocol::APPEND, "/work/here/sub/a", b"two")).unwrap();
        changed.record(&record(protocol::FILE, "/tmp/b", b"b")).unwrap();
        changed.record(&record(protocol::LINK, "/work/here/link", b"sub/a")).unwrap();
        assert_eq!(changed.finish().unwrap(), 3);
        assert_eq!(fs::read(out.join("link")).unwrap(), b"one two");
        assert_eq!(fs::read(out.join("tmp/b")).unwrap(), b"b");
        assert!(out.join("empty").is_dir());
        let found = fs::metadata(out.join("sub/a")).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, 0o711, "no set-user-ID");
        let since = found.modified().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(since, Duration::new(1_000_000, 5));
    }

    #[test]
    fn nothing_is_written_outside() {
        let base = tempfile::tempdir().unwrap();
        let (out, other) = (base.path().join("out"), base.path().join("other"));
        fs::create_dir_all(&other).unwrap();
        fs::create_dir_all(&out).unwrap();
        // What an earlier run has left.
        symlink(&other, out.join("way")).unwrap();
        fs::write(other.join("file"), "kept").unwrap();
        symlink(other.join("file"), out.join("alias")).unwrap();
        let mut changed = changed(&out);
        for path in ["/work/here/../x", "/../x", "relative", "/work/here/way/x", "/a\0b"] {
            assert!(changed.record(&record(protocol::FILE, path, b"x")).is_err(), "{path:?}");
        }
        changed.record(&record(protocol::FILE, "/work/here/alias", b"new")).unwrap();
        assert_eq!(fs::read_to_string(other.join("file")).unwrap(), "kept");
        assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
        // A link of the guest is made after all files.
        changed
            .record(&record(protocol::LINK, "/work/here/later", other.to_str().unwrap().as_bytes()))
            .unwrap();
        changed.record(&record(protocol::FILE, "/work/here/later/x", b"x")).unwrap();
        assert!(changed.finish().is_err() || !other.join("x").exists());
        assert!(!other.join("x").exists());
    }

    #[test]
    fn what_is_too_much_or_no_record_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let mut changed = changed(base.path());
        let good = record(protocol::FILE, "/work/here/a", &[0; 60]);
        changed.record(&good).unwrap();
        assert_eq!(changed.record(&good).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for len in 0..good.len() {
            assert!(changed.record(&good[..len]).is_err(), "{len}");
        }
        assert!(changed.record(&record(protocol::APPEND, "/work/here/never", b"x")).is_err());
        assert!(changed.record(&record(77, "/work/here/b", b"x")).is_err());
    }
}
