//! Which images there are, and what their manifests say about them.

use super::engine::Engine;
use super::error::TestError;
use super::manifest::{self, Declared, Expect, Need};
use super::unittests::{self, Unit};
use crate::args::test::TestArgs;
use crate::similar::most_similar;
use platform::loader::{self, Image, ImageError};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use vpmu::profile::Architecture;

/// An image with what is to be known about running it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// The CPUs that it is for; `None` if there is no such image.
    pub(super) architecture: Option<Architecture>,
    /// The manifest that names it.
    pub(super) manifest: Option<PathBuf>,
    /// What the tests in it are about.
    pub(super) area: String,
    pub(super) groups: Vec<String>,
    pub(super) append: String,
    /// Seconds.
    pub(super) timeout: u64,
    /// MiB.
    pub(super) memory: u64,
    /// `None`: on all.
    pub(super) profiles: Option<Vec<String>>,
    pub(super) engines: Option<Vec<Engine>>,
    pub(super) needs: Vec<Need>,
    /// A file of faults that the PMU has, and how late its interrupts are.
    pub(super) inject: Option<PathBuf>,
    pub(super) skid: Option<String>,
    pub(super) expect: Expect,
    /// Host files that KVM tests look at, and what must be in them.
    pub(super) checks: Vec<(PathBuf, String)>,
    /// Why it is skipped everywhere.
    pub(super) skip: Option<String>,
}

impl Entry {
    fn new(path: PathBuf, architecture: Option<Architecture>, args: &TestArgs) -> Self {
        let name = image_name(&path);
        Self {
            area: name.clone(),
            name,
            path,
            architecture,
            manifest: None,
            groups: Vec::new(),
            append: args.append.clone(),
            timeout: args.timeout,
            memory: args.memory,
            profiles: None,
            engines: None,
            needs: Vec::new(),
            inject: None,
            skid: None,
            expect: Expect::Pass,
            checks: Vec::new(),
            skip: None,
        }
    }

    /// Command line of the manifest, then that of the user.
    fn append(&mut self, first: &str) {
        self.append =
            [first, &self.append].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    }
}

/// File name without what only says that it is an image.
pub(super) fn image_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let short = name.strip_suffix(".elf").or_else(|| name.strip_suffix(".flat"));
    short.filter(|short| !short.is_empty()).unwrap_or(&name).to_owned()
}

/// Everything that the paths of the command line stand for.
pub(super) fn discover(args: &TestArgs) -> Result<Vec<Entry>, TestError> {
    let directories = args.paths.iter().filter(|path| path.is_dir()).count();
    if args.manifest.is_some() && (directories != 1 || args.paths.len() != 1) {
        return Err(TestError::ManifestWithout(args.paths.len()));
    }
    let mut entries = Vec::new();
    for path in &args.paths {
        if path.is_dir() {
            let found = directory(path, args)?;
            if found.is_empty() {
                return Err(TestError::Empty(path.clone()));
            }
            entries.extend(found);
        } else {
            entries.push(Entry::new(path.clone(), Some(check(path)?), args));
        }
    }
    unique(entries)
}

/// A file that was asked for has to boot.
fn check(path: &Path) -> Result<Architecture, TestError> {
    let image = Image::open(path).map_err(|source| TestError::Image { path: path.to_owned(), source })?;
    Ok(architecture(&image))
}

fn architecture(image: &Image) -> Architecture {
    match image.architecture() {
        loader::Architecture::X86 => Architecture::X86_64,
        loader::Architecture::Aarch64 => Architecture::Aarch64,
    }
}

fn directory(directory: &Path, args: &TestArgs) -> Result<Vec<Entry>, TestError> {
    let own = directory.join(manifest::FILE_NAME);
    let suite = directory.join(unittests::FILE_NAME);
    let path = match &args.manifest {
        Some(path) => path.clone(),
        None if own.exists() => own,
        None if suite.exists() => suite,
        None => {
            let found = bootable(directory)?.into_iter();
            return Ok(found.map(|(path, of)| Entry::new(path, Some(of), args)).collect());
        }
    };
    let text = fs::read_to_string(&path).map_err(|source| TestError::Read { path: path.clone(), source })?;
    if path.extension().is_some_and(|extension| extension == "cfg") {
        let units = unittests::parse(&path, &text)?;
        return Ok(units.into_iter().map(|unit| from_unit(directory, unit, args)).collect());
    }
    let manifest = manifest::parse(&path, &text)?;
    let mut entries = Vec::new();
    for declared in manifest.tests {
        entries.push(from_declared(directory, &path, declared, args)?);
    }
    if manifest.discover {
        let named = |path: &PathBuf| {
            entries.iter().any(|entry: &Entry| entry.path == *path)
                || manifest.ignore.contains(&image_name(path))
        };
        let more: Vec<_> = bootable(directory)?.into_iter().filter(|(path, _)| !named(path)).collect();
        entries.extend(more.into_iter().map(|(path, of)| Entry::new(path, Some(of), args)));
        entries.sort_by(|a, b| a.name.cmp(&b.name));
    }
    Ok(entries)
}

/// The files of a directory that boot, by name, and what they boot on.
fn bootable(directory: &Path) -> Result<Vec<(PathBuf, Architecture)>, TestError> {
    let error = |source| TestError::Read { path: directory.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.is_file()
            && let Ok(image) = Image::open(&path)
        {
            paths.push((path, architecture(&image)));
        }
    }
    paths.sort();
    Ok(paths)
}

/// The file that a manifest means; `None` if there is none.
fn resolve(directory: &Path, file: &Path) -> Option<PathBuf> {
    let path = directory.join(file);
    let with = |extension: &str| {
        let mut name = path.clone().into_os_string();
        name.push(extension);
        PathBuf::from(name)
    };
    [path.clone(), with(".elf"), with(".flat")].into_iter().find(|path| path.is_file())
}

fn from_declared(
    directory: &Path,
    manifest: &Path,
    declared: Declared,
    args: &TestArgs,
) -> Result<Entry, TestError> {
    let Some(path) = resolve(directory, &declared.image) else {
        let names: Vec<String> = bootable(directory)?.iter().map(|(path, _)| image_name(path)).collect();
        let similar = most_similar(&declared.image.to_string_lossy(), names.iter().map(String::as_str));
        return Err(TestError::DeclaredImage {
            manifest: manifest.to_owned(),
            image: declared.image,
            directory: directory.to_owned(),
            similar,
        });
    };
    let architecture = check(&path)?;
    let mut entry = Entry::new(path, Some(architecture), args);
    entry.manifest = Some(manifest.to_owned());
    entry.append(&declared.append);
    entry.name = declared.name.unwrap_or(entry.name);
    entry.area = declared.area.unwrap_or(entry.area);
    entry.groups = declared.groups;
    entry.timeout = declared.timeout.unwrap_or(entry.timeout);
    entry.memory = declared.memory.unwrap_or(entry.memory);
    entry.profiles = declared.profiles;
    entry.engines = declared.engines;
    entry.needs = declared.needs;
    entry.inject = declared.inject.map(|file| manifest.parent().unwrap_or(Path::new("")).join(file));
    entry.skid = declared.skid;
    entry.expect = declared.expect;
    Ok(entry)
}

/// The suite lists tests that a build may have left out; they are skipped.
fn from_unit(directory: &Path, unit: Unit, args: &TestArgs) -> Entry {
    let path = directory.join(&unit.file);
    let (architecture, skip) = match Image::open(&path) {
        Ok(image) => (Some(architecture(&image)), None),
        Err(ImageError::Read(_)) => (None, Some(format!("{} is not built", unit.file.display()))),
        Err(error) => (None, Some(format!("{} does not boot: {error}", unit.file.display()))),
    };
    let mut entry = Entry::new(path, architecture, args);
    entry.append(&unit.append);
    entry.area.clone_from(&unit.name);
    entry.name = unit.name;
    entry.groups = unit.groups;
    entry.timeout = unit.timeout.unwrap_or(entry.timeout);
    entry.memory = unit.memory.unwrap_or(entry.memory);
    entry.checks = unit.checks;
    entry.skip = unit.skip.or(skip);
    entry
}

/// Images of the same name in different directories take the directory's name in front.
fn unique(mut entries: Vec<Entry>) -> Result<Vec<Entry>, TestError> {
    let mut count: HashMap<String, usize> = HashMap::new();
    for entry in &entries {
        *count.entry(entry.name.clone()).or_default() += 1;
    }
    for entry in &mut entries {
        if count.get(&entry.name).is_some_and(|count| *count > 1)
            && let Some(parent) = entry.path.parent().and_then(Path::file_name)
        {
            entry.name = format!("{}/{}", parent.to_string_lossy(), entry.name);
        }
    }
    let mut seen: HashMap<&str, &Path> = HashMap::new();
    for entry in &entries {
        if let Some(first) = seen.insert(&entry.name, &entry.path) {
            return Err(TestError::SameName {
                name: entry.name.clone(),
                first: first.to_owned(),
                second: entry.path.clone(),
            });
        }
    }
    Ok(entries)
}
