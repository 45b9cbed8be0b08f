//! From arguments to what the guest gets.

use crate::args::program::ProgramArgs;
use crate::error::CliError;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use vmm::guest_program::counters::PerfEvent;
use vmm::guest_program::files::Files;
use vmm::guest_program::files::search::{Needs, find};
use vmm::guest_program::job::Job;

/// What every program gets, so that a host's own settings change no count.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/root"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];
/// Shells whose scripts are looked at for names of programs, and most bytes of one.
const SHELLS: [&str; 3] = ["sh", "bash", "dash"];
const MOST_SCRIPT: u64 = 1 << 20;
/// Where standard input is in the guest.
const STDIN: &str = "/dev/shm/stdin";
const NOTHING: &str = "/dev/null";

/// What the program is called.
pub(super) fn name(args: &ProgramArgs) -> String {
    args.program.first().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The files and the program.
pub(super) fn prepare(args: &ProgramArgs, events: Vec<PerfEvent>) -> Result<(Files, Job), CliError> {
    let Some(name) = args.program.first() else { return Err(CliError::NoImage) };
    let mut files = Files::default();
    accounts(&mut files);
    let directory = env::current_dir().map_err(|source| CliError::Directory { source })?;
    let own_path = env::var_os("PATH").unwrap_or_default();
    files.add(&directory)?;
    for path in &args.file {
        files.add(&file(path, &directory, &own_path))?;
    }
    for path in &args.dir {
        files.add_tree(&directory.join(path))?;
    }
    for argument in &args.program[1..] {
        add_argument(&mut files, &directory, argument);
    }
    let mut needs = Needs::new(&mut files);
    let program = needs.program(name, &directory, &own_path)?;
    for word in shell_words(&program, &args.program[1..], &directory) {
        // A word may be anything; a shell says itself what it does not find.
        if let Err(reason) = needs.program(&word, &directory, &own_path) {
            log::debug!("not copied: {reason}");
        }
    }
    needs.libraries_of_files();
    needs.finish();
    let input = input(args.stdin.as_deref(), &mut files)?;
    let arguments = args.program.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    let (environment, returns) = (environment(&args.env), args.out.is_some());
    Ok((files, Job { program, arguments, environment, directory, input, returns, events }))
}

/// A path, or the name of a program.
fn file(path: &Path, directory: &Path, own_path: &OsStr) -> PathBuf {
    let here = directory.join(path);
    if here.exists() {
        return here;
    }
    find(path.as_os_str(), directory, own_path).unwrap_or(here)
}

/// Those whom programs ask for.
fn accounts(files: &mut Files) {
    files.add_bytes(Path::new("/etc/passwd"), 0o644, b"root:x:0:0:root:/root:/bin/sh\n".to_vec());
    files.add_bytes(Path::new("/etc/group"), 0o644, b"root:x:0:\n".to_vec());
    files.add_bytes(Path::new("/etc/hosts"), 0o644, b"127.0.0.1 localhost\n".to_vec());
}

/// An argument, what follows its `=`, or a word of it, that names something which is there. What cannot be copied is
/// the program's affair, which may not want it.
fn add_argument(files: &mut Files, directory: &Path, argument: &OsStr) {
    let bytes = argument.as_bytes();
    let behind = bytes.iter().position(|byte| *byte == b'=').map(|at| &bytes[at + 1..]);
    let words = bytes.split(|byte| byte.is_ascii_whitespace() || b"'\"<>;|".contains(byte));
    for text in [Some(bytes), behind].into_iter().flatten().chain(words).filter(|text| !text.is_empty()) {
        let path = directory.join(OsStr::from_bytes(text));
        if path.exists()
            && let Err(reason) = files.add(&path)
        {
            log::info!("not copied: {reason}");
        }
    }
}

/// What may name programs in a script for a shell: every word of it, in the order of words.
fn shell_words(program: &Path, arguments: &[OsString], directory: &Path) -> BTreeSet<OsString> {
    let read = |path: &Path| {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MOST_SCRIPT).read_to_end(&mut text));
        read.map_or_else(|_| Vec::new(), |_| text)
    };
    let is_shell = |name: &[u8]| SHELLS.iter().any(|shell| name.ends_with(shell.as_bytes()));
    let own = read(program);
    let first = own.strip_prefix(b"#!").and_then(|line| line.split(|byte| *byte == b'\n').next());
    let interpreter = first.and_then(|line| line.split(u8::is_ascii_whitespace).find(|word| is_shell(word)));
    let mut texts = Vec::new();
    if interpreter.is_some() {
        texts.push(own);
    } else if program.file_name().is_some_and(|name| SHELLS.iter().any(|shell| name == *shell)) {
        for argument in arguments {
            let path = directory.join(argument);
            texts.push(argument.as_bytes().to_vec());
            if path.is_file() {
                texts.push(read(&path));
            }
        }
    }
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+/-".contains(byte);
    let words = texts.iter().flat_map(|text| text.split(|byte| !is_word(byte)));
    words.filter(|word| !word.is_empty()).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// `NAME=VALUE`, in the order of names.
fn environment(asked: &[OsString]) -> Vec<Vec<u8>> {
    let fixed = ENVIRONMENT.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let mut variables = BTreeMap::from(fixed);
    for text in asked {
        let bytes = text.as_bytes();
        match bytes.iter().position(|byte| *byte == b'=') {
            Some(at) => {
                variables.insert(bytes[..at].to_vec(), bytes[at + 1..].to_vec());
            }
            None => {
                if let Some(value) = env::var_os(text) {
                    variables.insert(bytes.to_vec(), value.into_vec());
                }
            }
        }
    }
    variables.into_iter().map(|(name, value)| [name, value].join(&b'=')).collect()
}

/// The file in the guest that is the program's standard input.
fn input(asked: Option<&Path>, files: &mut Files) -> Result<PathBuf, CliError> {
    let mut data = Vec::new();
    match asked {
        Some(path) if path != Path::new("-") => {
            let read = std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut data));
            read.map_err(|source| CliError::Input { path: path.to_owned(), source })?;
        }
        None if io::stdin().is_terminal() => return Ok(PathBuf::from(NOTHING)),
        _ => {
            let read = io::stdin().lock().read_to_end(&mut data);
            read.map_err(|source| CliError::Input { path: PathBuf::from("-"), source })?;
        }
    }
    if data.is_empty() {
        return Ok(PathBuf::from(NOTHING));
    }
    files.add_bytes(Path::new(STDIN), 0o600, data);
    Ok(PathBuf::from(STDIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_scripts_for_shells_may_be_programs() {
        let words = |program: &str, arguments: &[&str]| -> Vec<String> {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let words = shell_words(Path::new(program), &arguments, Path::new("/"));
            words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(words("/bin/sh", &["-c", "x=$(seq 3)|sort"]), ["-c", "3", "seq", "sort", "x"]);
        assert!(words("/bin/gzip", &["-c", "sort"]).is_empty());
    }

    #[test]
    fn the_environment_is_ours_and_what_was_asked_for() {
        let asked = ["B=2", "LC_ALL=de_DE.UTF-8", "NOT_THERE_AT_ALL"].map(OsString::from);
        let variables = environment(&asked);
        let texts: Vec<_> = variables.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        assert_eq!(texts[..3], ["B=2", "HOME=/root", "LC_ALL=de_DE.UTF-8"]);
        assert_eq!(texts.len(), 5);
    }
}
