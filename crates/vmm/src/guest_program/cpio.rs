//! An initial RAM disk: a cpio archive of the format "newc" (Linux
//! `Documentation/driver-api/early-userspace/buffer-format.rst`), not compressed.

use cpio::newc::{Builder, ModeFileType, trailer};
use std::io::{self, Write as _};

/// Device number of /dev/console.
const CONSOLE: (u32, u32) = (5, 1);

/// An archive with this program as `/init`, and what it mounts file systems on.
///
/// # Errors
/// The program has 4 GiB or more.
pub fn with_init(init: &[u8]) -> io::Result<Vec<u8>> {
    let directories = ["dev", "proc", "sys", "tmp", "root", "etc"]
        .map(|name| (Builder::new(name).mode(0o755).set_mode_file_type(ModeFileType::Directory), &[][..]));
    let console = Builder::new("dev/console").mode(0o600).set_mode_file_type(ModeFileType::Char);
    let console = console.rdev_major(CONSOLE.0).rdev_minor(CONSOLE.1);
    let program = Builder::new("init").mode(0o755).set_mode_file_type(ModeFileType::Regular);
    let mut archive = Vec::new();
    let members = directories.into_iter().chain([(console, &[][..]), (program, init)]);
    for (number, (member, data)) in (1..).zip(members) {
        let size = u32::try_from(data.len()).map_err(io::Error::other)?;
        let mut writer = member.ino(number).write(&mut archive, size);
        writer.write_all(data)?;
        writer.finish()?;
    }
    trailer(archive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;

    #[test]
    fn every_member_is_read_again() {
        let archive = with_init(b"12345").unwrap();
        let (mut rest, mut members) = (&archive[..], Vec::new());
        loop {
            let reader = Reader::new(rest).unwrap();
            let entry = reader.entry();
            if entry.is_trailer() {
                break;
            }
            members.push((entry.name().to_owned(), entry.mode(), entry.file_size()));
            rest = reader.finish().unwrap();
        }
        let find = |name: &str| members.iter().find(|(found, ..)| found == name).cloned();
        assert_eq!(find("init"), Some(("init".to_owned(), 0o100_755, 5)));
        assert_eq!(find("dev/console"), Some(("dev/console".to_owned(), 0o020_600, 0)));
        assert_eq!(find("proc"), Some(("proc".to_owned(), 0o040_755, 0)));
    }
}
