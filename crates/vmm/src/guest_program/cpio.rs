//! An initial RAM disk: a cpio archive of the format "newc" (Linux
//! `Documentation/driver-api/early-userspace/buffer-format.rst`), not compressed.

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;
/// Device number of /dev/console.
const CONSOLE: (u32, u32) = (5, 1);

/// An archive with this program as `/init`, and what it mounts file systems on.
#[must_use]
pub fn with_init(init: &[u8]) -> Vec<u8> {
    let mut archive = Archive::default();
    for name in ["dev", "proc", "sys", "tmp", "root", "etc"] {
        archive.member(name, DIRECTORY, (0, 0), &[]);
    }
    archive.member("dev/console", CHARACTER_DEVICE, CONSOLE, &[]);
    archive.member("init", PROGRAM, (0, 0), init);
    archive.member("TRAILER!!!", 0, (0, 0), &[]);
    archive.bytes
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    members: usize,
}

impl Archive {
    fn member(&mut self, path: &str, mode: u32, device: (u32, u32), data: &[u8]) {
        self.members += 1;
        let numbers = [self.members, mode as usize, 0, 0, 1, 0, data.len(), 0, 0];
        let more = [device.0 as usize, device.1 as usize, path.len() + 1, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in numbers.into_iter().chain(more) {
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
    fn every_member_is_where_the_one_before_ends() {
        let archive = with_init(b"12345");
        let field = |at: usize, index: usize| {
            let text = &archive[at + 6 + index * 8..at + 14 + index * 8];
            usize::from_str_radix(std::str::from_utf8(text).unwrap(), 16).unwrap()
        };
        let (mut at, mut names) = (0, Vec::new());
        while at < archive.len() {
            assert_eq!(&archive[at..at + 6], b"070701");
            let (size, name) = (field(at, 6), field(at, 11));
            let text = &archive[at + 110..at + 110 + name - 1];
            names.push((String::from_utf8(text.to_vec()).unwrap(), size));
            at = (at + 110 + name).next_multiple_of(4) + size.next_multiple_of(4);
        }
        assert_eq!(at, archive.len());
        assert!(names.contains(&("init".to_owned(), 5)), "{names:?}");
        assert_eq!(names.last().unwrap().0, "TRAILER!!!");
    }
}
