//! A real kernel as an image: the processor time that an emulator needs to boot it to the first process.

use super::console::Lines;
use super::{Machine, failed, of};
use crate::error::TaskError;
use crate::linux::{MEMORY, fetched};
use crate::vpmu_cli::{EngineFlags, Vpmu};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What the first process says.
const SAYS: &str = "booted";

/// Kernel and initial RAM disk.
#[derive(Debug)]
pub(super) struct Linux {
    machine: Machine,
    kernel: PathBuf,
    initrd: PathBuf,
}

impl Linux {
    /// The files of `cargo xtask linux`, if that has been run.
    pub(super) fn find(machine: Machine) -> Result<Option<Self>, TaskError> {
        let files = fetched(machine.architecture, &format!("echo {SAYS}\n"))?;
        Ok(files.map(|(kernel, initrd)| Self { machine, kernel, initrd }))
    }

    /// Seconds on the soft engine.
    pub(super) fn soft(&self, vpmu: &Vpmu) -> Result<f64, TaskError> {
        let mut command = vpmu.on_image("run", &self.kernel, self.machine.profile, EngineFlags::Soft);
        command.arg("--initrd").arg(&self.initrd);
        command.args([
            "--memory",
            MEMORY,
            "--timeout",
            "300",
            "--append",
            self.machine.architecture.options(),
        ]);
        seconds(command)
    }

    /// Seconds on QEMU, firmware and translation included.
    pub(super) fn qemu(&self) -> Result<f64, TaskError> {
        // Idle time passes at once, as on the soft engine.
        let mut command = self.machine.qemu("shift=0,sleep=off", MEMORY);
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.initrd);
        command.args(["-append", self.machine.architecture.options()]);
        seconds(command)
    }
}

fn seconds(mut command: Command) -> Result<f64, TaskError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|source| TaskError::Start { program, source })?;
    let lines = child.stdout.take().map(|stdout| Lines::of(&child, stdout));
    let seconds = lines.ok_or_else(|| failed("no console")).and_then(|mut lines| lines.until(SAYS));
    let _ = child.kill();
    child.wait().map_err(failed)?;
    seconds.map_err(|error| of(&command, &error))
}
