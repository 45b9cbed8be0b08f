//! A file that stands in another: in an archive that is not unpacked.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// Bytes of a file.
#[derive(Debug, Clone)]
pub struct Part {
    file: Arc<File>,
    start: u64,
    len: u64,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && (self.start, self.len) == (other.start, other.len)
    }
}

impl Eq for Part {}

impl Part {
    /// All of a file.
    ///
    /// # Errors
    /// Its size cannot be asked for.
    pub fn whole(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), start: 0, len })
    }

    /// So many bytes from an offset in it on; `None` if it has not so many.
    #[must_use]
    pub fn part(&self, offset: u64, len: u64) -> Option<Self> {
        let end = offset.checked_add(len)?;
        (end <= self.len).then(|| Self { file: Arc::clone(&self.file), start: self.start + offset, len })
    }

    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads it from its beginning.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader { part: self.clone(), at: 0 }
    }
}

/// A position in a [`Part`].
#[derive(Debug)]
pub struct Reader {
    part: Part,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.part.len.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let read =
            self.part.file.read_at(&mut buffer[..most], self.part.start + self.at.min(self.part.len))?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.part.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_part_of_a_part_has_its_own_beginning_and_end() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let part = Part::whole(file).unwrap().part(2, 6).unwrap().part(1, 4).unwrap();
        let mut reader = part.reader();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "3456");
        reader.seek(SeekFrom::End(-1)).unwrap();
        let mut last = [0; 4];
        assert_eq!(reader.read(&mut last).unwrap(), 1);
        assert_eq!(last[0], b'6');
        assert_eq!(part.part(3, 2), None);
        assert_eq!(part.part(u64::MAX, 2), None);
        reader.seek(SeekFrom::Start(99)).unwrap();
        assert_eq!(reader.read(&mut last).unwrap(), 0);
        assert!(reader.seek(SeekFrom::Current(-100)).is_err());
    }
}
