//! `vpmu-test.toml`: what the images of a directory are and need. docs/test.md is the reference.

use super::error::TestError;
use crate::args::mebibytes;
use serde::Deserialize;
use serde::de::Error as _;
use std::path::{Path, PathBuf};

/// File name of a manifest of our own.
pub(super) const FILE_NAME: &str = "vpmu-test.toml";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// Bootable files of the directory that no `[[test]]` names run too.
    #[serde(default = "yes")]
    pub(super) discover: bool,
    /// Image names that are no tests.
    #[serde(default)]
    pub(super) ignore: Vec<String>,
    #[serde(default, rename = "test")]
    pub(super) tests: Vec<Declared>,
}

/// A `[[test]]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declared {
    /// File, relative to the directory; `.elf` or `.flat` may be left out.
    pub(super) image: PathBuf,
    /// Another name than the image's.
    pub(super) name: Option<String>,
    pub(super) area: Option<String>,
    #[serde(default)]
    pub(super) groups: Vec<String>,
    #[serde(default)]
    pub(super) append: String,
    /// Seconds.
    pub(super) timeout: Option<u64>,
    #[serde(default, deserialize_with = "size")]
    pub(super) memory: Option<u64>,
    pub(super) profiles: Option<Vec<String>>,
    pub(super) engines: Option<Vec<super::engine::Engine>>,
    #[serde(default)]
    pub(super) needs: Vec<Need>,
    /// A file of faults, relative to the manifest.
    pub(super) inject: Option<PathBuf>,
    /// As `--skid` takes it.
    pub(super) skid: Option<String>,
    #[serde(default)]
    pub(super) expect: Expect,
}

fn yes() -> bool {
    true
}

/// As `--memory` takes it.
fn size<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a number of MiB or a text such as \"512M\"")]
    enum Size {
        Mebibytes(u64),
        Text(String),
    }
    match Size::deserialize(deserializer)? {
        Size::Mebibytes(mib) => Ok(Some(mib)),
        Size::Text(text) => mebibytes(&text).map(Some).map_err(D::Error::custom),
    }
}

/// What a profile or an engine must have; a test that lacks it is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Need {
    /// An Intel CPU.
    Intel,
    /// An AMD CPU.
    Amd,
    /// Full-width counter writes.
    FullWidth,
    /// PERF_METRICS.
    Metrics,
    /// PERF_METRICS with eight fields.
    MetricsL2,
    /// Perfmon version 4.
    StreamlinedFreeze,
    /// Branch records of either kind, on an engine that reports branches.
    Lbr,
    /// PEBS of a known format, which is then shown (`--precise on`).
    Pebs,
    /// IBS, which is then shown.
    Ibs,
    /// Counts exact to the instruction.
    Exact,
}

impl Need {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Intel => "intel",
            Self::Amd => "amd",
            Self::FullWidth => "full_width",
            Self::Metrics => "metrics",
            Self::MetricsL2 => "metrics_l2",
            Self::StreamlinedFreeze => "streamlined_freeze",
            Self::Lbr => "lbr",
            Self::Pebs => "pebs",
            Self::Ibs => "ibs",
            Self::Exact => "exact",
        }
    }
}

/// How a run has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Expect {
    #[default]
    Pass,
    /// The guest reports failures and comes to its end.
    Fail,
    TripleFault,
    Reset,
    PoweredOff,
    Panicked,
    Halted,
    Idle,
    TimedOut,
    CannotExecute,
}

impl Expect {
    /// The VMM's word for this end; `None` for the two that are a value at the exit port.
    pub(super) fn outcome(self) -> Option<&'static str> {
        match self {
            Self::Pass | Self::Fail => None,
            Self::TripleFault => Some("triple-fault"),
            Self::Reset => Some("reset"),
            Self::PoweredOff => Some("powered-off"),
            Self::Panicked => Some("panicked"),
            Self::Halted => Some("halted"),
            Self::Idle => Some("idle"),
            Self::TimedOut => Some("timed-out"),
            Self::CannotExecute => Some("cannot-execute"),
        }
    }
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Manifest, TestError> {
    toml::from_str(text).map_err(|error| {
        let line =
            error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let what = error.message().lines().collect::<Vec<_>>().join(" ");
        TestError::Manifest { path: path.to_owned(), line, what }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(Path::new("m.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn everything_but_the_image_has_a_default() {
        let manifest = parse(Path::new("m.toml"), "[[test]]\nimage = 'x.elf'\n").unwrap();
        assert!(manifest.discover && manifest.ignore.is_empty());
        let [test] = manifest.tests.try_into().unwrap();
        assert_eq!((test.image.as_path(), test.expect), (Path::new("x.elf"), Expect::Pass));
        assert_eq!((test.timeout, test.memory, test.profiles), (None, None, None));
    }

    #[test]
    fn a_test_says_what_it_needs_and_how_it_ends() {
        let text = "discover = false\nignore = ['speed']\n[[test]]\nimage = 'x'\nname = 'y'\nmemory = '1G'\n\
                    engines = ['soft']\nneeds = ['metrics_l2', 'lbr']\nexpect = 'triple-fault'\ntimeout = 2\n";
        let manifest = parse(Path::new("m.toml"), text).unwrap();
        assert!(!manifest.discover);
        let [test] = manifest.tests.try_into().unwrap();
        assert_eq!(test.needs, [Need::MetricsL2, Need::Lbr]);
        assert_eq!((test.memory, test.timeout), (Some(1024), Some(2)));
        assert_eq!((test.expect, test.engines.unwrap().len()), (Expect::TripleFault, 1));
    }

    #[test]
    fn mistakes_are_one_line_with_a_place() {
        insta::assert_snapshot!(
            [
                "[[test]]\nname = 'x'\n",
                "\n[[test]]\nimage = 'x'\nneeds = ['magic']\n",
                "[[test]]\nimage = 'x'\n\ntimout = 3\n",
                "[[test]]\nimage = 'x'\nmemory = '1T'\n",
                "discover = maybe\n",
            ]
            .map(error)
            .join("\n")
        );
    }
}
