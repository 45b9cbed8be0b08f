//! `unittests.cfg` of kvm-unit-tests: sections with `key = value` lines.
//!
//! Understood are `file`, `extra_params`/`qemu_params` (`-append`, `-m`), `test_args`, `timeout`, `groups`,
//! `arch` and `check`. `smp` and `accel` are not: there is one CPU, and both engines may try.

use super::error::TestError;
use std::path::{Path, PathBuf};

/// File name of the suite's list of tests.
pub(super) const FILE_NAME: &str = "unittests.cfg";

/// One section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) append: String,
    /// Seconds.
    pub(super) timeout: Option<u64>,
    /// MiB.
    pub(super) memory: Option<u64>,
    pub(super) groups: Vec<String>,
    /// Files of the host's KVM and what must be in them.
    pub(super) checks: Vec<(PathBuf, String)>,
    /// Why it is for another machine.
    pub(super) skip: Option<String>,
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Unit>, TestError> {
    let mut units: Vec<Unit> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |what: String| TestError::Manifest { path: path.to_owned(), line: number, what };
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| error("a `]` is missing".to_owned()))?;
            units.push(Unit { name: name.trim().to_owned(), ..Unit::default() });
            continue;
        }
        let (key, value) =
            line.split_once('=').ok_or_else(|| error("this is neither [name] nor key = value".to_owned()))?;
        let unit = units.last_mut().ok_or_else(|| error("this stands before the first [name]".to_owned()))?;
        set(unit, key.trim(), value.trim()).map_err(error)?;
    }
    match units.iter().find(|unit| unit.file.as_os_str().is_empty()) {
        None => Ok(units),
        Some(unit) => Err(TestError::Manifest {
            path: path.to_owned(),
            line: text.lines().count(),
            what: format!("[{}] has no file", unit.name),
        }),
    }
}

fn set(unit: &mut Unit, key: &str, value: &str) -> Result<(), String> {
    let words = || shlex::split(value).ok_or_else(|| format!("{key}: a quote is never closed"));
    match key {
        "file" => unit.file = PathBuf::from(value),
        "test_args" => unit.append = words()?.join(" "),
        "extra_params" | "qemu_params" => {
            let mut words = words()?.into_iter();
            while let Some(word) = words.next() {
                match word.as_str() {
                    "-append" => unit.append = words.next().unwrap_or_default(),
                    // QEMU's size is in MiB without a unit; what is no size stays our default.
                    "-m" => unit.memory = words.next().and_then(|size| crate::args::mebibytes(&size).ok()),
                    _ => {}
                }
            }
        }
        "timeout" => {
            let seconds: u64 = value
                .trim_end_matches('s')
                .parse()
                .map_err(|_| format!("`{value}` is no number of seconds"))?;
            // 0 switches the suite's own time-out off.
            unit.timeout = (seconds > 0).then_some(seconds);
        }
        "groups" => unit.groups = value.split_whitespace().map(str::to_owned).collect(),
        "arch" if value != "x86_64" => unit.skip = Some(format!("for {value}")),
        "check" => {
            let pair = |word: &str| {
                word.split_once('=').map(|(path, wanted)| (PathBuf::from(path), wanted.to_owned()))
            };
            unit.checks = value.split_whitespace().filter_map(pair).collect();
        }
        _ => {}
    }
    if unit.groups.iter().any(|group| group == "nodefault") {
        unit.skip = Some("in group nodefault: run it by itself, with `vpmu run`".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(Path::new("unittests.cfg"), text).unwrap_err().to_string()
    }

    #[test]
    fn sections_become_tests() {
        let text = "##\n# comment\n[apic-split]\nfile = apic.flat\nsmp = 2\nextra_params = -cpu qemu64,+x2apic \
                    -m 1G -append 'a \"b c\"'\narch = x86_64\ngroups = apic slow\ntimeout = 30\n\n[pmu]\n\
                    file = pmu.flat\ntest_args = \"x y\"\ncheck = /proc/sys/kernel/nmi_watchdog=0\n\
                    timeout = 90s\naccel = kvm\n";
        let units = parse(Path::new("unittests.cfg"), text).unwrap();
        let apic = Unit {
            name: "apic-split".to_owned(),
            file: "apic.flat".into(),
            append: "a \"b c\"".to_owned(),
            timeout: Some(30),
            memory: Some(1024),
            groups: vec!["apic".to_owned(), "slow".to_owned()],
            ..Unit::default()
        };
        let pmu = Unit {
            name: "pmu".to_owned(),
            file: "pmu.flat".into(),
            append: "x y".to_owned(),
            timeout: Some(90),
            checks: vec![("/proc/sys/kernel/nmi_watchdog".into(), "0".to_owned())],
            ..Unit::default()
        };
        assert_eq!(units, [apic, pmu]);
    }

    #[test]
    fn what_is_for_other_machines_is_skipped_with_a_reason() {
        let text = "[a]\nfile = a.flat\narch = i386\n[b]\nfile = b.flat\ngroups = nodefault vmx\n";
        let skips: Vec<_> =
            parse(Path::new("c"), text).unwrap().into_iter().map(|unit| unit.skip.unwrap()).collect();
        assert!(skips[0].contains("i386") && skips[1].contains("nodefault"), "{skips:?}");
    }

    #[test]
    fn mistakes_are_one_line_with_a_place() {
        assert_eq!(
            error("file = x\n"),
            "manifest unittests.cfg, line 1: this stands before the first [name]"
        );
        assert_eq!(
            error("[a]\nfile\n"),
            "manifest unittests.cfg, line 2: this is neither [name] nor key = value"
        );
        assert_eq!(error("[a\n"), "manifest unittests.cfg, line 1: a `]` is missing");
        assert_eq!(error("[a]\n\n"), "manifest unittests.cfg, line 2: [a] has no file");
        assert_eq!(
            error("[a]\ntimeout = soon\n"),
            "manifest unittests.cfg, line 2: `soon` is no number of seconds"
        );
        assert_eq!(
            error("[a]\ntest_args = 'x\n"),
            "manifest unittests.cfg, line 2: test_args: a quote is never closed"
        );
    }
}
