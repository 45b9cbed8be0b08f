//! From arguments to what the guest gets.

use crate::args::program::ProgramArgs;
use crate::error::CliError;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use vmm::guest_program::counters::PerfEvent;
use vmm::guest_program::files::Files;
use vmm::guest_program::files::root::Root;
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
    let directory = env::current_dir().map_err(|source| CliError::Directory { source })?;
    let host = Root::host();
    let other = match (&args.sysroot, &args.image) {
        (Some(directory), _) => Some(Root::directory(directory)?),
        (None, Some(image)) => Some(Root::image(image)?),
        (None, None) => None,
    };
    let environment = environment(other.as_ref().map_or(&[], Root::environment), &args.env);
    let path = match &other {
        Some(_) => environment.get(&b"PATH"[..]).cloned().map(OsString::from_vec),
        None => env::var_os("PATH"),
    };
    let path = path.unwrap_or_default();
    let roots: Vec<&Root> = other.iter().chain([&host]).collect();
    let sources = Sources { roots: &roots, directory: &directory, path: &path };
    let mut needs = Needs::new(&mut files, &roots);
    let program = needs.program(name, &directory, &path)?;
    for word in shell_words(&program, &args.program[1..], &sources) {
        // A word may be anything; a shell says itself what it does not find.
        if let Err(reason) = needs.program(&word, &directory, &path) {
            log::debug!("not copied: {reason}");
        }
    }
    let needed = needs.found();
    files.add(&host, &directory)?;
    for path in &args.file {
        let (root, path) = sources.file(path);
        files.add(root, &path)?;
    }
    for path in &args.dir {
        let path = directory.join(path);
        files.add_tree(sources.root(&path), &path)?;
    }
    for argument in &args.program[1..] {
        add_argument(&mut files, &sources, argument);
    }
    let mut needs = Needs::going_on(&mut files, &roots, needed);
    needs.libraries_of_files();
    needs.finish();
    accounts(&mut files);
    let input = input(args.stdin.as_deref(), &mut files)?;
    let arguments = args.program.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    let environment = environment.into_iter().map(|(name, value)| [name, value].join(&b'=')).collect();
    let returns = args.out.is_some();
    Ok((files, Job { program, arguments, environment, directory, input, returns, events }))
}

/// Where files come from.
struct Sources<'a> {
    /// One after the other; the host is the last.
    roots: &'a [&'a Root],
    directory: &'a Path,
    path: &'a OsStr,
}

impl<'a> Sources<'a> {
    /// The first root that has an absolute path; the host, if none has.
    fn root(&self, path: &Path) -> &'a Root {
        let has = |root: &&&Root| root.look(path).is_some();
        let last = self.roots.len().saturating_sub(1);
        self.roots.iter().find(has).unwrap_or(&self.roots[last])
    }

    /// A path, or the name of a program.
    fn file(&self, path: &Path) -> (&'a Root, PathBuf) {
        let here = self.directory.join(path);
        let root = self.root(&here);
        if root.look(&here).is_some() {
            return (root, here);
        }
        let mut roots = self.roots.iter();
        let found =
            roots.find_map(|root| Some((*root, find(root, path.as_os_str(), self.directory, self.path)?)));
        found.unwrap_or((root, here))
    }

    /// The content of a file, as far as one of a script goes.
    fn script(&self, path: &Path) -> Option<Vec<u8>> {
        let entry = self.root(path).look(path).filter(|entry| entry.content.is_found())?;
        entry.content.beginning(MOST_SCRIPT).ok()
    }
}

/// Those whom programs ask for.
fn accounts(files: &mut Files) {
    for (path, text) in [
        ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
        ("/etc/group", "root:x:0:\n"),
        ("/etc/hosts", "127.0.0.1 localhost\n"),
    ] {
        if !files.contains(Path::new(path)) {
            files.add_bytes(Path::new(path), 0o644, text.into());
        }
    }
}

/// An argument, what follows its `=`, or a word of it, that names something which is there. What cannot be copied is
/// the program's affair, which may not want it.
fn add_argument(files: &mut Files, sources: &Sources<'_>, argument: &OsStr) {
    let bytes = argument.as_bytes();
    let behind = bytes.iter().position(|byte| *byte == b'=').map(|at| &bytes[at + 1..]);
    let words = bytes.split(|byte| byte.is_ascii_whitespace() || b"'\"<>;|".contains(byte));
    for text in [Some(bytes), behind].into_iter().flatten().chain(words).filter(|text| !text.is_empty()) {
        let path = sources.directory.join(OsStr::from_bytes(text));
        let root = sources.root(&path);
        if root.look(&path).is_some()
            && let Err(reason) = files.add(root, &path)
        {
            log::info!("not copied: {reason}");
        }
    }
}

/// What may name programs in a script for a shell: every word of it, in the order of words.
fn shell_words(program: &Path, arguments: &[OsString], sources: &Sources<'_>) -> BTreeSet<OsString> {
    let is_shell = |name: &[u8]| SHELLS.iter().any(|shell| name.ends_with(shell.as_bytes()));
    let own = sources.script(program).unwrap_or_default();
    let first = own.strip_prefix(b"#!").and_then(|line| line.split(|byte| *byte == b'\n').next());
    let interpreter = first.and_then(|line| line.split(u8::is_ascii_whitespace).find(|word| is_shell(word)));
    let mut texts = Vec::new();
    if interpreter.is_some() {
        texts.push(own);
    } else if program.file_name().is_some_and(|name| SHELLS.iter().any(|shell| name == *shell)) {
        for argument in arguments {
            texts.push(argument.as_bytes().to_vec());
            texts.extend(sources.script(&sources.directory.join(argument)));
        }
    }
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+/-".contains(byte);
    let words = texts.iter().flat_map(|text| text.split(|byte| !is_word(byte)));
    words.filter(|word| !word.is_empty()).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// Names and values: ours, those of an image, and those asked for.
fn environment(image: &[String], asked: &[OsString]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let fixed = ENVIRONMENT.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let mut variables = BTreeMap::from(fixed);
    for text in image.iter().map(OsStr::new).chain(asked.iter().map(OsString::as_os_str)) {
        let bytes = text.as_bytes();
        match bytes.iter().position(|byte| *byte == b'=') {
            Some(at) => {
                variables.insert(bytes[..at].to_vec(), bytes[at + 1..].to_vec());
            }
            None => {
                if let Some(value) = env::var_os(text) {
                    variables.insert(bytes.to_vec(), value.into_vec());
                } else {
                    log::warn!("--env: there is no variable {text:?} here; NAME=VALUE sets one");
                }
            }
        }
    }
    variables
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
            let host = Root::host();
            let sources =
                Sources { roots: &[&host], directory: Path::new("/"), path: OsStr::new("/bin:/usr/bin") };
            let words = shell_words(Path::new(program), &arguments, &sources);
            words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(words("/bin/sh", &["-c", "x=$(seq 3)|sort"]), ["-c", "3", "seq", "sort", "x"]);
        assert!(words("/bin/gzip", &["-c", "sort"]).is_empty());
    }

    #[test]
    fn the_environment_is_ours_and_what_was_asked_for() {
        let asked = ["B=2", "LC_ALL=de_DE.UTF-8", "NOT_THERE_AT_ALL"].map(OsString::from);
        let image = ["B=1", "HOME=/home"].map(str::to_owned);
        let variables = environment(&image, &asked);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let texts: Vec<_> = variables.iter().map(|(name, value)| text(name) + "=" + &text(value)).collect();
        assert_eq!(texts[..3], ["B=2", "HOME=/home", "LC_ALL=de_DE.UTF-8"]);
        assert_eq!(texts.len(), 5);
    }
}
