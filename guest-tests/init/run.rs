//! The program: from fork to its status.

use crate::changed::{self, Time};
use crate::counters::Counters;
use crate::program;
use crate::receive::{Failure, Record};
use crate::system::{self, Errno, Pipe, Poll};
use crate::vmm::Vmm;
use core::ptr;

/// Most arguments, and most variables of the environment.
const MOST: usize = 1 << 12;

/// A list for `execve`, in memory of its own: the window changes.
static mut ARGUMENTS: [*const u8; MOST + 1] = [ptr::null(); MOST + 1];
static mut ENVIRONMENT: [*const u8; MOST + 1] = [ptr::null(); MOST + 1];
/// The record's content.
static mut TEXTS: [u8; 1 << 20] = [0; 1 << 20];
static mut DIRECTORY: [u8; 4096] = [0; 4096];

const TOO_BIG: Errno = Errno(7);

/// Texts that end in 0, one behind the other.
struct Texts<'a>(&'a [u8]);

impl<'a> Texts<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let (text, rest) = self.0.split_at(end + 1);
        self.0 = rest;
        Some(text)
    }

    fn list(&mut self, count: u32, list: &mut [*const u8]) -> Option<()> {
        let slots = list.get_mut(..count as usize)?;
        for slot in slots {
            *slot = self.next()?.as_ptr();
        }
        Some(())
    }
}

/// Runs it; what perf has counted and what has changed since a time is told before its status.
pub(crate) fn run(
    vmm: &Vmm,
    record: &Record<'_>,
    counters: &Counters,
    since: Option<Time>,
) -> Result<(), Failure> {
    let too_big = (&b"take the arguments and the environment\0"[..], TOO_BIG);
    // SAFETY: one thread, which comes here once.
    let (texts, directory, arguments, environment) = unsafe {
        (
            &mut *(&raw mut TEXTS),
            &mut *(&raw mut DIRECTORY),
            &mut *(&raw mut ARGUMENTS),
            &mut *(&raw mut ENVIRONMENT),
        )
    };
    texts.get_mut(..record.data.len()).ok_or(too_big)?.copy_from_slice(record.data);
    directory.get_mut(..record.path.len()).ok_or(too_big)?.copy_from_slice(record.path);
    let (argument_count, variable_count) = (record.mode, record.more);
    let mut rest = Texts(texts);
    let file = rest.next().ok_or(too_big)?;
    let input = rest.next().ok_or(too_big)?;
    rest.list(argument_count, &mut arguments[..MOST]).ok_or(too_big)?;
    rest.list(variable_count, &mut environment[..MOST]).ok_or(too_big)?;

    let step = |what: &'static [u8]| move |errno: Errno| (what, errno);
    let output = system::pipe().map_err(step(b"make a pipe\0"))?;
    let errors = system::pipe().map_err(step(b"make a pipe\0"))?;
    let failure = system::pipe().map_err(step(b"make a pipe\0"))?;
    let process = system::fork().map_err(step(b"fork\0"))?;
    if process == 0 {
        let errno = become_program(vmm, (file, input, directory), [&output, &errors], arguments, environment);
        let _ = system::write_all(failure.writer, &errno.0.to_le_bytes());
        system::exit(127);
    }
    for pipe in [&output, &errors, &failure] {
        system::close(pipe.writer);
    }
    let mut errno = [0; 8];
    if system::read(failure.reader, &mut errno).is_ok_and(|len| len == errno.len()) {
        // SAFETY: the kernel has written it.
        let errno = unsafe { ptr::read_volatile(&raw const errno) };
        vmm.not_executed(Errno(usize::from_le_bytes(errno)));
        return Ok(());
    }
    let watched = system::process_file(process).map_err(step(b"watch the program\0"))?;
    pass_on(vmm, [output.reader, errors.reader], watched)
        .map_err(step(b"pass on what the program prints\0"))?;
    let status = system::wait(process).map_err(step(b"wait for the program\0"))?;
    counters.tell(vmm);
    if let Some(since) = since {
        changed::tell(vmm, since).map_err(step(b"read what the program has written\0"))?;
    }
    vmm.exited(status);
    Ok(())
}

/// In the child. Returns only what failed.
fn become_program(
    vmm: &Vmm,
    (file, input, directory): (&[u8], &[u8], &[u8]),
    [output, errors]: [&Pipe; 2],
    arguments: &[*const u8],
    environment: &[*const u8],
) -> Errno {
    let prepared = system::open(input, system::READ_ONLY, 0)
        .and_then(|input| system::duplicate(input, 0))
        .and_then(|_| system::duplicate(output.writer, 1))
        .and_then(|_| system::duplicate(errors.writer, 2))
        .and_then(|_| system::change_directory(directory));
    if let Err(errno) = prepared {
        return errno;
    }
    vmm.announce();
    if let Err(errno) = system::port_access(0) {
        return errno;
    }
    system::execute(file, arguments, environment)
}

/// Until the program has ended, and its children have closed both streams or have nothing more to say.
fn pass_on(vmm: &Vmm, readers: [usize; 2], process: usize) -> system::Result<()> {
    let streams = [program::STDOUT, program::STDERR];
    let mut files = [Poll::of(readers[0]), Poll::of(readers[1]), Poll::of(process)];
    loop {
        let ended = files[2].file < 0;
        let ready = system::poll(&mut files, if ended { 0 } else { -1 })?;
        if ready == 0 {
            return Ok(());
        }
        for (file, stream) in files[..2].iter_mut().zip(streams) {
            if file.is_ready() {
                match system::read(file.file as usize, vmm.window())? {
                    0 => *file = Poll::NONE,
                    len => vmm.pass_on(stream, len),
                }
            }
        }
        if files[2].is_ready() {
            files[2] = Poll::NONE;
        }
    }
}
