//! Why reports of shards cannot be joined.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum MergeError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is no JUnit report of vpmu test", path.display())]
    Junit { path: PathBuf, source: quick_junit::DeserializeError },
    #[error("{} is no JSON document of vpmu test", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{} has schema_version {found}, and this vpmu writes {known}", path.display())]
    SchemaVersion { path: PathBuf, found: u32, known: u32 },
    #[error("{} is no report of a shard", .0.display())]
    NoShard(PathBuf),
    #[error("{} is JUnit, and {} is not", xml.display(), other.display())]
    Mixed { xml: PathBuf, other: PathBuf },
    #[error("{} is JUnit, which --json cannot print", .0.display())]
    NotJson(PathBuf),
    #[error("{} is {one}, {} is {other}: they are not of one run", first.display(), second.display())]
    OtherRun { first: PathBuf, one: String, second: PathBuf, other: String },
    #[error("shard {shard} is there twice: {} and {}", first.display(), second.display())]
    Doubled { shard: String, first: PathBuf, second: PathBuf },
    #[error("test {name} is in {} and in {}: they are not of one run", first.display(), second.display())]
    TestTwice { name: String, first: PathBuf, second: PathBuf },
    #[error("the reports have {tests} tests of {selected}: they are not of one run")]
    TooMany { tests: usize, selected: usize },
    #[error("{} says that it is one of more than {most} shards", path.display())]
    TooManyParts { path: PathBuf, most: u64 },
    #[error("cannot write XML")]
    Serialize(#[source] io::Error),
}

impl MergeError {
    pub(crate) fn next_step(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check the path",
            Self::Junit { .. } | Self::Json { .. } => {
                "give what `vpmu test --shard` wrote with --junit or --json; a shard that broke off is to be run again"
            }
            Self::SchemaVersion { .. } => "join the reports with the vpmu that wrote them",
            Self::NoShard(_) => "it is whole already; reports of `vpmu test --shard` can be joined",
            Self::Mixed { .. } => "join those of a kind",
            Self::NotJson(_) => "leave --json out, or give what `vpmu test --json` printed",
            Self::OtherRun { .. } | Self::Doubled { .. } | Self::TestTwice { .. } | Self::TooMany { .. } => {
                "give the reports of one run, each once"
            }
            Self::TooManyParts { .. } | Self::Serialize(_) => "run the shard again",
        }
    }
}
