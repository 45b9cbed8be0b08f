//! A vendor's list of events, in JSON.

use super::{Named, read};
use crate::error::TaskError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How an event is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) select: u64,
    pub(super) umask: u64,
    pub(super) cmask: u64,
    pub(super) inv: bool,
    pub(super) edge: bool,
    /// Address and value of a further MSR that selects the event.
    pub(super) extra: Option<(u64, u64)>,
    /// The general-purpose counters that can count it, one bit each; `None` for every one that the core has.
    pub(super) counters: Option<u64>,
}

impl Code {
    /// A code as perf writes it: `event=0x37,umask=0x1`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mut select, mut umask) = (None, 0);
        for term in text.split(',') {
            match term.split_once('=')? {
                ("event", value) => select = Some(number(value)?),
                ("umask", value) => umask = number(value)?,
                _ => return None,
            }
        }
        Some(Self { select: select?, umask, cmask: 0, inv: false, edge: false, extra: None, counters: None })
    }

    /// `None` for what a general-purpose counter does not count: events of fixed counters and of the uncore, metrics.
    fn of(event: &Value) -> Option<Self> {
        let field = |name: &str| event[name].as_str().and_then(number);
        let or_0 = |name| field(name).unwrap_or(0);
        // Skylake's list has a second field for counters without hyper-threading, when there are eight.
        let counters = event["CounterHTOff"].as_str().or(event["Counter"].as_str());
        if counters.is_some_and(|counters| counters.contains("ixed")) || !event["Unit"].is_null() {
            return None;
        }
        let bits = |list: &str| list.split(',').filter_map(number).fold(0, |bits, n| bits | 1 << n);
        Some(Self {
            select: field("EventCode")?,
            umask: or_0("UMask") | or_0("UMaskExt") << 8,
            cmask: or_0("CounterMask"),
            inv: or_0("Invert") != 0,
            edge: or_0("EdgeDetect") != 0,
            extra: field("MSRIndex").filter(|&msr| msr != 0).map(|msr| (msr, or_0("MSRValue"))),
            counters: counters.map(bits),
        })
    }
}

/// The first number of a field: `0x2A,0x2B` stands for two registers that do the same.
fn number(text: &str) -> Option<u64> {
    let first = text.split(',').next()?.trim();
    match first.strip_prefix("0x").or(first.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => first.parse().ok(),
    }
}

/// The events of a core that general-purpose counters can count.
pub(super) struct List {
    /// The files with their versions, or the kernel that they come with.
    pub(super) versions: Vec<String>,
    codes: BTreeMap<String, Code>,
}

impl List {
    /// Reads files, or every file of a folder.
    pub(super) fn read(base: &Path, files: &[&str]) -> Result<Self, TaskError> {
        let mut list = Self { versions: Vec::new(), codes: BTreeMap::new() };
        for file in files {
            let path = base.join(file);
            if path.is_dir() {
                list.versions.push(kernel(base)?);
                let entries = fs::read_dir(&path).map_err(|source| TaskError::File { path, source })?;
                let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
                paths.sort();
                for path in &paths {
                    list.add(path)?;
                }
            } else if !list.add(&path)? {
                list.versions.push(kernel(base)?);
            }
        }
        let every = list.codes.values().fold(0, |all, code| all | code.counters.unwrap_or(0));
        for code in list.codes.values_mut() {
            code.counters = code.counters.filter(|&counters| counters != every);
        }
        Ok(list)
    }

    /// Adds a file of Linux, an array of events, or of perfmon, where a header comes before it: true if that has said
    /// the version.
    fn add(&mut self, path: &Path) -> Result<bool, TaskError> {
        let wrong = |what: &str| TaskError::Data(format!("{}: {what}", path.display()));
        let json: Value = serde_json::from_str(&read(path)?).map_err(|error| wrong(&error.to_string()))?;
        let version = json["Header"]["Version"].as_str().zip(path.file_name());
        if let Some((version, name)) = version {
            self.versions.push(format!("{} {version}", name.display()));
        }
        let events =
            json.as_array().or(json["Events"].as_array()).ok_or_else(|| wrong("no list of events"))?;
        for event in events {
            if let (Some(name), Some(code)) = (event["EventName"].as_str(), Code::of(event)) {
                self.codes.insert(name.to_owned(), code);
            }
        }
        Ok(version.is_some())
    }

    /// The list's name and code of an event.
    pub(super) fn find<'a>(&self, event: &'a Named) -> Option<(&'a String, Code)> {
        let mut names = std::iter::once(&event.name).chain(&event.others);
        names.find_map(|name| Some((name, self.codes.get(name)?.clone())))
    }
}

/// `Linux 6.12`, from the tree's Makefile.
fn kernel(tree: &Path) -> Result<String, TaskError> {
    let makefile = read(&tree.join("Makefile"))?;
    let value = |name: &str| {
        let line = makefile.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='));
        line.unwrap_or_default().trim().to_owned()
    };
    Ok(format!("Linux {}.{}.{}", value("VERSION"), value("PATCHLEVEL"), value("SUBLEVEL")))
}
