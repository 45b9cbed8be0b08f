//! Files and the program, record by record.

use crate::changed;
use crate::counters::Counters;
use crate::program;
use crate::run;
use crate::system::{self, Errno};
use crate::vmm::Vmm;

/// What could not be done, and why.
pub(crate) type Failure = (&'static [u8], Errno);

/// A record: the numbers of its header, its path with the 0 behind it, its content.
pub(crate) struct Record<'a> {
    kind: u32,
    pub(crate) mode: u32,
    seconds: u64,
    nanoseconds: u32,
    pub(crate) more: u32,
    pub(crate) path: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl<'a> Record<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (data, path) = (word(8)? as usize, word(12)? as usize);
        let rest = bytes.get(program::HEADER..)?;
        Some(Self {
            kind: word(0)?,
            mode: word(4)?,
            seconds: u64::from(word(20)?) << 32 | u64::from(word(16)?),
            nanoseconds: word(24)?,
            more: word(28)?,
            path: rest.get(..path).filter(|path| path.last() == Some(&0))?,
            data: rest.get(path..path + data)?,
        })
    }
}

/// Receives everything and runs the program; returns only if something fails.
pub(crate) fn receive(vmm: &Vmm) -> Result<(), Failure> {
    const INVALID: Errno = Errno(22);
    let mut counters = Counters::default();
    let mut since = None;
    loop {
        let record = Record::parse(vmm.receive()).ok_or((&b"read what the VMM sent\0"[..], INVALID))?;
        match record.kind {
            program::COUNT => counters.open(record.data),
            program::RETURN => {
                let now = changed::mark().map_err(|errno| (&b"read the clock\0"[..], errno))?;
                since = Some(now);
            }
            program::RUN => return run::run(vmm, &record, &counters, since),
            _ => store(&record)?,
        }
    }
}

fn store(record: &Record<'_>) -> Result<(), Failure> {
    let Record { mode, path, data, .. } = *record;
    let set_time = || {
        let done = system::set_time(path, record.seconds, u64::from(record.nanoseconds));
        done.map(|_| ()).map_err(|errno| (&b"set the time of a file\0"[..], errno))
    };
    match record.kind {
        program::DIRECTORY => {
            let made = system::make_directory(path, mode).and_then(|_| system::change_mode(path, mode));
            made.map_err(|errno| (&b"make a directory\0"[..], errno))?;
        }
        program::LINK => {
            system::link(data, path).map_err(|errno| (&b"make a symbolic link\0"[..], errno))?;
            set_time()?;
        }
        program::TIME => set_time()?,
        program::FILE | program::APPEND => {
            let flags = if record.kind == program::FILE { system::WRITE_NEW } else { system::WRITE_END };
            let written = system::open(path, flags, mode).and_then(|file| {
                let written = system::write_all(file, data);
                system::close(file);
                written
            });
            let changed = written.and_then(|()| system::change_mode(path, mode));
            changed.map_err(|errno| (&b"write a file\0"[..], errno))?;
            set_time()?;
        }
        _ => return Err((b"understand what the VMM sent\0", Errno(22))),
    }
    Ok(())
}
