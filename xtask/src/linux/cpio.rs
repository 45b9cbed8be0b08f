//! An initial RAM disk: a cpio archive of the format "newc" (Linux
//! `Documentation/driver-api/early-userspace/buffer-format.rst`), not compressed, because unpacking would cost the
//! guest more instructions than its boot.

use std::collections::BTreeSet;

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive under construction. Directories come by themselves.
#[derive(Debug, Default)]
pub(super) struct Cpio {
    bytes: Vec<u8>,
    members: u32,
    directories: BTreeSet<String>,
}

impl Cpio {
    /// An empty directory.
    pub(super) fn directory(&mut self, path: &str) {
        if self.directories.contains(path) {
            return;
        }
        self.parents(path);
        self.directories.insert(path.to_owned());
        self.member(path, DIRECTORY, (0, 0), &[]);
    }

    /// An executable file.
    pub(super) fn program(&mut self, path: &str, data: &[u8]) {
        self.parents(path);
        self.member(path, PROGRAM, (0, 0), data);
    }

    /// A character device.
    pub(super) fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.parents(path);
        self.member(path, CHARACTER_DEVICE, (major, minor), &[]);
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.member("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn parents(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent);
        }
    }

    fn member(&mut self, path: &str, mode: u32, device: (u32, u32), data: &[u8]) {
        self.members += 1;
        let size = data.len() as u32;
        let name_size = path.len() as u32 + 1;
        let fields = [self.members, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        for part in [format!("{path}\0").as_bytes(), data] {
            self.bytes.extend_from_slice(part);
            self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_first_and_once() {
        let mut cpio = Cpio::default();
        cpio.program("usr/bin/a", b"1");
        cpio.program("usr/bin/b", b"22");
        let bytes = cpio.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let at = |name: &str| text.matches(name).count();
        assert_eq!([at("usr\0"), at("usr/bin\0"), at("usr/bin/a\0"), at("TRAILER!!!\0")], [1, 1, 1, 1]);
        assert!(
            text.find("usr\0") < text.find("usr/bin\0") && text.find("usr/bin\0") < text.find("usr/bin/a\0")
        );
    }
}
