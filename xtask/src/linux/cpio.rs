//! An initial RAM disk: a cpio archive of the format "newc" (Linux
//! `Documentation/driver-api/early-userspace/buffer-format.rst`), not compressed, because unpacking would cost the
//! guest more instructions than its boot.

use super::apt::file_error;
use crate::error::TaskError;
use cpio::newc::{Builder, ModeFileType, trailer};
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::Path;

/// An archive under construction. Directories come by themselves.
#[derive(Debug, Default)]
pub(super) struct Cpio {
    bytes: Vec<u8>,
    members: u32,
    directories: BTreeSet<String>,
}

impl Cpio {
    /// An empty directory.
    pub(super) fn directory(&mut self, path: &str) -> Result<(), TaskError> {
        if self.directories.contains(path) {
            return Ok(());
        }
        self.parents(path)?;
        self.directories.insert(path.to_owned());
        self.member(path, Builder::new(path).mode(0o755).set_mode_file_type(ModeFileType::Directory), &[])
    }

    /// An executable file.
    pub(super) fn program(&mut self, path: &str, data: &[u8]) -> Result<(), TaskError> {
        self.parents(path)?;
        self.member(path, Builder::new(path).mode(0o755).set_mode_file_type(ModeFileType::Regular), data)
    }

    /// A character device.
    pub(super) fn device(&mut self, path: &str, major: u32, minor: u32) -> Result<(), TaskError> {
        self.parents(path)?;
        let node = Builder::new(path).mode(0o600).set_mode_file_type(ModeFileType::Char);
        self.member(path, node.rdev_major(major).rdev_minor(minor), &[])
    }

    /// The whole archive.
    pub(super) fn finish(self) -> Result<Vec<u8>, TaskError> {
        trailer(self.bytes).map_err(|source| file_error(Path::new("TRAILER!!!"), source))
    }

    fn parents(&mut self, path: &str) -> Result<(), TaskError> {
        path.rsplit_once('/').map_or(Ok(()), |(parent, _)| self.directory(parent))
    }

    fn member(&mut self, path: &str, member: Builder, data: &[u8]) -> Result<(), TaskError> {
        self.members += 1;
        let write = || {
            let size = u32::try_from(data.len()).map_err(io::Error::other)?;
            let mut writer = member.ino(self.members).write(&mut self.bytes, size);
            writer.write_all(data)?;
            writer.finish().map(|_| ())
        };
        write().map_err(|source| file_error(Path::new(path), source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_first_and_once() {
        let mut cpio = Cpio::default();
        cpio.program("usr/bin/a", b"1").expect("memory");
        cpio.program("usr/bin/b", b"22").expect("memory");
        let bytes = cpio.finish().expect("memory");
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let at = |name: &str| text.matches(name).count();
        assert_eq!([at("usr\0"), at("usr/bin\0"), at("usr/bin/a\0"), at("TRAILER!!!\0")], [1, 1, 1, 1]);
        assert!(
            text.find("usr\0") < text.find("usr/bin\0") && text.find("usr/bin\0") < text.find("usr/bin/a\0")
        );
    }
}
