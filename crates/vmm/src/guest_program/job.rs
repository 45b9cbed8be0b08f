//! Files and program as the records that the guest's init reads, see [`guest_protocol::program`].

use super::ProgramError;
use super::counters::PerfEvent;
use super::files::{Content, Files, Time};
use crate::machine::program::Records;
use guest_protocol::program as protocol;
use platform::convert::count_u32;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What the guest is to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The file, as a path in the guest.
    pub program: PathBuf,
    /// Arguments, from the name of the program on.
    pub arguments: Vec<Vec<u8>>,
    /// Variables, `NAME=VALUE`.
    pub environment: Vec<Vec<u8>>,
    /// The working directory in the guest, which is among the files.
    pub directory: PathBuf,
    /// The file in the guest that is the program's standard input.
    pub input: PathBuf,
    /// What it changes comes back.
    pub returns: bool,
    /// What perf counts in it.
    pub events: Vec<PerfEvent>,
}

/// All records: directories and files first, then times, which their content changes, then the program.
#[must_use]
pub fn records(files: Files, job: &Job) -> Records {
    let mut last = Vec::new();
    let plain = |kind, data: &[u8]| Ok(record(kind, 0, Time::default(), 0, Path::new(""), data));
    if !job.events.is_empty() {
        let attributes: Vec<u8> = job.events.iter().flat_map(|event| event.attribute()).collect();
        last.push(plain(protocol::COUNT, &attributes));
    }
    if job.returns {
        last.push(plain(protocol::RETURN, &[]));
    }
    last.push(run_record(job));
    let directories: Vec<(PathBuf, Time)> = files
        .iter()
        .filter(|(_, entry)| matches!(entry.content, Content::Directory))
        .map(|(path, entry)| (path.to_owned(), entry.time))
        .collect();
    let times =
        directories.into_iter().rev().map(|(path, time)| Ok(record(protocol::TIME, 0, time, 0, &path, &[])));
    Box::new(
        files.into_iter().flat_map(|(path, entry)| FileRecords::new(path, entry)).chain(times).chain(last),
    )
}

fn record(kind: u32, mode: u32, time: Time, more: u32, path: &Path, data: &[u8]) -> Vec<u8> {
    let path = path.as_os_str().as_bytes();
    let mut bytes = Vec::with_capacity(protocol::HEADER + path.len() + 1 + data.len());
    for number in [kind, mode, count_u32(data.len()), count_u32(path.len() + 1)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(time.seconds.to_le_bytes());
    bytes.extend(time.nanoseconds.to_le_bytes());
    bytes.extend(more.to_le_bytes());
    bytes.extend(path);
    bytes.push(0);
    bytes.extend(data);
    bytes
}

fn run_record(job: &Job) -> io::Result<Vec<u8>> {
    let mut texts = Vec::new();
    let files = [&job.program, &job.input].map(|path| path.as_os_str().as_bytes());
    let lists = job.arguments.iter().chain(&job.environment).map(Vec::as_slice);
    for text in files.into_iter().chain(lists) {
        if text.contains(&0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        texts.extend(text);
        texts.push(0);
    }
    let [arguments, variables] = [&job.arguments, &job.environment].map(|list| count_u32(list.len()));
    Ok(record(protocol::RUN, arguments, Time::default(), variables, &job.directory, &texts))
}

/// The records of one file.
struct FileRecords {
    path: PathBuf,
    mode: u32,
    time: Time,
    content: Content,
    /// The content of a file, as far as it has not been sent.
    open: Option<Box<dyn Read>>,
    done: bool,
}

impl FileRecords {
    fn new(path: PathBuf, entry: super::files::Entry) -> Self {
        let super::files::Entry { mode, time, content } = entry;
        Self { path, mode, time, content, open: None, done: false }
    }

    /// The next piece of a file, which is sent while it is read.
    fn piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (kind, file) = match &mut self.open {
            Some(file) => (protocol::APPEND, file),
            none => (protocol::FILE, none.insert(self.content.open()?)),
        };
        let mut data = Vec::new();
        file.take(protocol::MOST_DATA as u64).read_to_end(&mut data)?;
        self.done = data.len() < protocol::MOST_DATA;
        let is_end = kind == protocol::APPEND && data.is_empty();
        Ok((!is_end).then(|| record(kind, self.mode, self.time, 0, &self.path, &data)))
    }
}

impl Iterator for FileRecords {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let Self { path, mode, time, .. } = self;
        let (kind, data) = match &self.content {
            Content::Directory => (protocol::DIRECTORY, Vec::new()),
            Content::Link(target) => (protocol::LINK, [target.as_os_str().as_bytes(), &[0]].concat()),
            Content::Host(_) | Content::Part(_) | Content::Bytes(_) => {
                let piece = self.piece();
                self.done |= piece.is_err();
                return piece.transpose();
            }
        };
        self.done = true;
        Some(Ok(record(kind, *mode, *time, 0, path, &data)))
    }
}

/// What the job has to find in the guest.
///
/// # Errors
/// More than the guest's memory holds beside the kernel.
pub fn check_size(files: &Files, memory_mib: u64) -> Result<(), ProgramError> {
    let files_mib = files.bytes() >> 20;
    // The kernel, its page cache's own overhead, and the program itself.
    if files_mib > memory_mib.saturating_sub(192) {
        return Err(ProgramError::TooLarge { files_mib, memory_mib });
    }
    Ok(())
}
