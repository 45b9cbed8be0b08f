//! The kernel's functions: a booted guest knows them, and is asked once.

use super::prepare;
use crate::args::program::ProgramArgs;
use crate::error::CliError;
use crate::interrupt::Interrupt;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use vmm::counts::timing::Uncore;
use vmm::engine::Detail;
use vmm::file;
use vmm::guest_program::{self, ProgramConfig};
use vmm::machine::progress::RunProgress;
use vmm::recording::symbols::Symbols;
use vmm::snapshot::mapped::Mapped;

/// The program that prints the list, on every distribution.
const LIST: [&str; 2] = ["cat", "/proc/kallsyms"];

/// The functions of the kernel of a booted guest in the cache; none where it does not tell.
pub(super) fn of_guest(guest: &Path, timeout: Duration, interrupt: &Interrupt) -> Symbols {
    let path = guest.with_extension("kallsyms");
    let text = std::fs::read_to_string(&path).or_else(|_| {
        let text = ask(guest, timeout, interrupt).map_err(|error| io::Error::other(error.to_string()))?;
        file::replace(&path, text.as_bytes())?;
        Ok::<_, io::Error>(text)
    });
    match text {
        Ok(text) => Symbols::of_kernel(&text),
        Err(error) => {
            log::warn!("the kernel's functions stay without names: {error}");
            Symbols::default()
        }
    }
}

/// Runs `cat` in the guest.
fn ask(guest: &Path, timeout: Duration, interrupt: &Interrupt) -> Result<String, CliError> {
    let program = ProgramArgs {
        program: LIST.map(Into::into).to_vec(),
        stdin: Some(PathBuf::from("/dev/null")),
        ..ProgramArgs::default()
    };
    let (files, job) = prepare::prepare(&program, Vec::new())?;
    let snapshot =
        Mapped::open(guest).map_err(|source| CliError::Snapshot { path: guest.to_owned(), source })?;
    let printed = Printed::default();
    guest_program::run(ProgramConfig {
        snapshot,
        files,
        job,
        detail: Detail::Counts,
        uncore: Uncore::default(),
        sampling: None,
        compile: false,
        threads: NonZeroUsize::MIN,
        roi: None,
        warm_from: None,
        only_search: false,
        sampler: None,
        recorder: None,
        events: Vec::new(),
        changed: None,
        streams: [Box::new(printed.clone()), Box::new(io::sink())],
        timeout,
        stop: interrupt.request(),
        progress: RunProgress::default(),
    })?;
    let bytes = std::mem::take(&mut *printed.0.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a program prints.
#[derive(Debug, Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
