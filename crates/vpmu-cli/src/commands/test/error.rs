//! What can be wrong before a test runs, or with writing its results.

use super::filter::FilterError;
use super::merge::MergeError;
use super::shard::AutoError;
use crate::exit;
use platform::loader::ImageError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum TestError {
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error(transparent)]
    Shard(#[from] AutoError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A predicate that can match nothing.
    #[error("no {property} matches `{matcher}`")]
    NothingMatches { property: &'static str, matcher: String, similar: Option<String> },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("image {}", path.display())]
    Image { path: PathBuf, source: ImageError },
    #[error("manifest {}, line {line}: {what}", path.display())]
    Manifest { path: PathBuf, line: usize, what: String },
    /// A `[[test]]` of a file that is not there.
    #[error("manifest {}: there is no image `{}` in {}", manifest.display(), image.display(), directory.display())]
    DeclaredImage { manifest: PathBuf, image: PathBuf, directory: PathBuf, similar: Option<String> },
    /// A name in the `profiles` of a `[[test]]` that is neither built in nor of a file of this run.
    #[error("manifest {}: test `{test}` names a profile `{profile}` that there is not", manifest.display())]
    DeclaredProfile { manifest: PathBuf, test: String, profile: String, similar: Option<String> },
    #[error("--manifest is for one directory, and {0} were given")]
    ManifestWithout(usize),
    #[error("{} and {} are the same test, {name}", first.display(), second.display())]
    SameName { name: String, first: PathBuf, second: PathBuf },
    #[error("no bootable image in {}", .0.display())]
    Empty(PathBuf),
    /// The filter left nothing.
    #[error("no tests to run: {0} found, none selected")]
    NothingSelected(usize),
    #[error("cannot start {}", program.display())]
    Start { program: PathBuf, source: io::Error },
}

impl TestError {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Empty(_) | Self::NothingSelected(_) => exit::NOTHING_TO_RUN,
            Self::Start { .. } => exit::HOST,
            _ => exit::USAGE,
        }
    }

    pub(crate) fn next_step(&self) -> String {
        match self {
            Self::Filter(_) => "`vpmu test --help` shows the language".to_owned(),
            Self::Shard(error) => error.next_step(),
            Self::Merge(error) => error.next_step().to_owned(),
            Self::NothingMatches { similar: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::NothingMatches { .. } => "`vpmu test DIR --list` shows what there is".to_owned(),
            Self::Read { .. } => "check the path".to_owned(),
            Self::Image { source: ImageError::Read(_), .. } => "check the path".to_owned(),
            Self::Image { .. } => "`cargo xtask images` builds images that boot".to_owned(),
            Self::Manifest { .. } => "docs/test.md describes manifests".to_owned(),
            Self::DeclaredImage { similar: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::DeclaredImage { .. } => "correct the manifest, or build the image".to_owned(),
            Self::DeclaredProfile { similar: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::DeclaredProfile { .. } => {
                "`vpmu list profiles` shows the built-in ones; one from a file has to be given by --profile \
                 too"
                .to_owned()
            }
            Self::ManifestWithout(_) => "give one directory, or put a manifest into each".to_owned(),
            Self::SameName { .. } => "run them one after the other, or name them in a manifest".to_owned(),
            Self::Empty(_) => "`cargo xtask images` builds images and prints their paths".to_owned(),
            Self::NothingSelected(_) => "leave out -E, with --list, to see all".to_owned(),
            Self::Start { .. } => "check the limits on processes (ulimit -u)".to_owned(),
        }
    }
}
