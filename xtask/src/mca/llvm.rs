//! Running llvm-mca and reading its JSON.

use crate::error::TaskError;
use iced_x86::{Formatter, GasFormatter, Instruction};
use serde_json::Value;
use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};

/// Names under which distributions install llvm-mca, best first.
const NAMES: [&str; 4] = ["llvm-mca-21", "llvm-mca-20", "llvm-mca-19", "llvm-mca"];

/// The llvm-mca of this machine.
#[derive(Debug)]
pub(crate) struct Mca {
    program: &'static str,
    pub(crate) version: String,
}

impl Mca {
    pub(crate) fn find() -> Result<Self, TaskError> {
        for program in NAMES {
            let Ok(output) = Command::new(program).arg("--version").output() else { continue };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = text.split("version ").nth(1).and_then(|rest| rest.split_whitespace().next());
            let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
            if let (Some(version), Some(19..)) = (version, major) {
                return Ok(Self { program, version: version.to_owned() });
            }
        }
        Err(TaskError::Tool {
            tool: "llvm-mca of LLVM 19 or newer",
            hint: "install Debian's package llvm-19",
        })
    }

    /// Standard output and error for some assembly.
    fn run(&self, core: &str, arguments: &[&str], assembly: &str) -> Result<(String, String), TaskError> {
        let failed = |source| TaskError::Start { program: self.program.to_owned(), source };
        let mut child = Command::new(self.program)
            .args(["-mtriple=x86_64", &format!("-mcpu={core}"), "--json"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let input = child.stdin.take();
        let assembly = assembly.to_owned();
        // A thread feeds it, so that full pipes cannot block both sides.
        let feeder = std::thread::spawn(move || input.map(|mut input| input.write_all(assembly.as_bytes())));
        let output = child.wait_with_output().map_err(failed)?;
        drop(feeder.join());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    }

    /// Runs on one instruction a line, and leaves out the lines that LLVM does not know. The JSON, and the
    /// numbers of the lines that are in it.
    pub(crate) fn analyse(
        &self,
        core: &str,
        arguments: &[&str],
        lines: &[String],
    ) -> Result<(Value, Vec<usize>), TaskError> {
        let mut left: Vec<usize> = (0..lines.len()).collect();
        loop {
            let assembly: String = left.iter().flat_map(|&n| [lines[n].as_str(), "\n"]).collect();
            let (out, err) = self.run(core, arguments, &assembly)?;
            let wrong: HashSet<usize> = err.lines().filter_map(error_line).collect();
            if wrong.is_empty() {
                let value = serde_json::from_str(&out)
                    .map_err(|_| TaskError::Output { command: self.program.to_owned(), what: err })?;
                return Ok((value, left));
            }
            let mut position = 0;
            left.retain(|_| {
                position += 1;
                !wrong.contains(&position)
            });
        }
    }
}

/// The line in `<stdin>:LINE:COLUMN: error: ...`.
fn error_line(text: &str) -> Option<usize> {
    let (place, message) = text.strip_prefix("<stdin>:")?.split_once(": ")?;
    message.starts_with("error").then(|| place.split(':').next()?.parse().ok()).flatten()
}

/// AT&T text of an instruction.
pub(crate) fn att(instruction: &Instruction) -> String {
    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_gas_show_mnemonic_size_suffix(true);
    formatter.options_mut().set_space_after_operand_separator(true);
    let mut text = String::new();
    formatter.format(instruction, &mut text);
    text
}
