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
    triple: &'static str,
    pub(crate) version: String,
}

impl Mca {
    /// The best that is of this LLVM or newer, for an instruction set as `-mtriple` takes it.
    pub(crate) fn find(triple: &'static str, oldest: u32) -> Result<Self, TaskError> {
        for program in NAMES {
            let Ok(output) = Command::new(program).arg("--version").output() else { continue };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = text.split("version ").nth(1).and_then(|rest| rest.split_whitespace().next());
            let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
            if let (Some(version), true) = (version, major.is_some_and(|major| major >= oldest)) {
                return Ok(Self { program, triple, version: version.to_owned() });
            }
        }
        Err(TaskError::Tool {
            tool: "llvm-mca that is new enough (LLVM 19 for x86)",
            hint: "install Debian's package llvm-19",
        })
    }

    /// The texts of instruction words; `None` for those that are no instructions.
    pub(crate) fn disassemble(&self, words: &[u32]) -> Result<Vec<Option<String>>, TaskError> {
        let bytes = |word: &u32| word.to_le_bytes().map(|byte| format!("{byte:#04x}")).join(" ") + "\n";
        let input: String = words.iter().map(bytes).collect();
        let program = self.program.replace("mca", "mc");
        // Of any CPU, so that what the core lacks is left to the other program.
        let arguments = [
            "--disassemble".to_owned(),
            format!("--triple={}", self.triple),
            "--mattr=+v8.5a,+crypto".to_owned(),
        ];
        let (out, err) = run(&program, &arguments, &input)?;
        let wrong: HashSet<usize> = err.lines().filter_map(|line| line_of(line, "warning")).collect();
        let mut texts = out.lines().filter(|line| line.starts_with('\t') && !line.starts_with("\t.text"));
        let text = |number| if wrong.contains(&number) { None } else { texts.next().map(str::to_owned) };
        Ok((1..=words.len()).map(text).collect())
    }

    /// True if a core executes an instruction: of others LLVM's model knows nothing.
    pub(crate) fn executes(&self, core: &str, text: &str) -> Result<bool, TaskError> {
        let arguments = [format!("-mtriple={}", self.triple), format!("-mcpu={core}"), "--json".to_owned()];
        let (_, err) = run(self.program, &arguments, text)?;
        Ok(!err.lines().any(|line| line.contains("error")))
    }

    /// Runs on one instruction a line, and leaves out the lines that LLVM does not know. The JSON, and the
    /// numbers of the lines that are in it.
    pub(crate) fn analyse(
        &self,
        core: &str,
        arguments: &[&str],
        lines: &[String],
    ) -> Result<(Value, Vec<usize>), TaskError> {
        let mut all = vec![format!("-mtriple={}", self.triple), format!("-mcpu={core}"), "--json".to_owned()];
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let mut left: Vec<usize> = (0..lines.len()).collect();
        loop {
            let assembly: String = left.iter().flat_map(|&n| [lines[n].as_str(), "\n"]).collect();
            let (out, err) = run(self.program, &all, &assembly)?;
            let wrong: HashSet<usize> = err.lines().filter_map(|line| line_of(line, "error")).collect();
            // It stops at the first one that the scheduling model does not have.
            let unsupported = err.lines().find_map(|line| line.strip_prefix("note: instruction: "));
            if let Some(text) = unsupported
                && left.iter().any(|&n| is_same(&lines[n], text))
            {
                left.retain(|&n| !is_same(&lines[n], text));
                continue;
            }
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

/// Standard output and error of a program for its input.
fn run(program: &str, arguments: &[String], input: &str) -> Result<(String, String), TaskError> {
    let failed = |source| TaskError::Start { program: program.to_owned(), source };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let stdin = child.stdin.take();
    let input = input.to_owned();
    // A thread feeds it, so that full pipes cannot block both sides.
    let feeder = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().map_err(failed)?;
    drop(feeder.join());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(&output.stdout), text(&output.stderr)))
}

/// True for texts of one instruction by iced-x86 and by LLVM, which differ in white space and in suffixes of mnemonics.
fn is_same(a: &str, b: &str) -> bool {
    let parts = |text: &str| {
        let mut words = text.split_whitespace();
        (words.next().unwrap_or_default().to_owned(), words.collect::<String>())
    };
    let ((a, operands), (b, others)) = (parts(a), parts(b));
    operands == others && (a.starts_with(&b) || b.starts_with(&a))
}

/// The line in `<stdin>:LINE:COLUMN: error: ...`, or with another word in the place of `error`.
fn line_of(text: &str, kind: &str) -> Option<usize> {
    let (place, message) = text.strip_prefix("<stdin>:")?.split_once(": ")?;
    message.starts_with(kind).then(|| place.split(':').next()?.parse().ok()).flatten()
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
