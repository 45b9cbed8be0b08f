//! JSON documents of shards.

use super::{MergeError, Part, Test, Whole};
use crate::commands::test::check::Status;
use crate::commands::test::report::{Document, PartOf};
use crate::commands::test::show::Areas;
use crate::error::CliError;
use crate::output::{SCHEMA_VERSION, to_json};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

/// What is read of the document of a shard.
#[derive(Debug, Deserialize)]
struct ShardDocument {
    schema_version: u32,
    shard: Option<PartOf>,
    seconds: f64,
    tests: Vec<TestValue>,
}

/// A test: what is needed of it, and all of it.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct TestValue {
    needed: Needed,
    value: Value,
}

#[derive(Debug, Deserialize)]
struct Needed {
    name: String,
    area: String,
    status: Status,
    checks: Vec<NeededCheck>,
}

#[derive(Debug, Deserialize)]
struct NeededCheck {
    name: String,
    status: Status,
}

impl TryFrom<Value> for TestValue {
    type Error = serde_json::Error;

    fn try_from(value: Value) -> Result<Self, serde_json::Error> {
        Ok(Self { needed: Needed::deserialize(&value)?, value })
    }
}

impl Test for TestValue {
    fn name(&self) -> &str {
        &self.needed.name
    }

    fn status(&self) -> Status {
        self.needed.status
    }
}

pub(super) fn parts(texts: Vec<(PathBuf, String)>) -> Result<Vec<Part<TestValue>>, MergeError> {
    let part = |(path, text): (PathBuf, String)| match serde_json::from_str::<ShardDocument>(&text) {
        Ok(ShardDocument { schema_version, .. }) if schema_version != SCHEMA_VERSION => {
            Err(MergeError::SchemaVersion { path, found: schema_version, known: SCHEMA_VERSION })
        }
        Ok(ShardDocument { shard: Some(of), seconds, tests, .. }) => Ok(Part { path, of, seconds, tests }),
        Ok(_) => Err(MergeError::NoShard(path)),
        Err(source) => Err(MergeError::Json { path, source }),
    };
    texts.into_iter().map(part).collect()
}

pub(super) fn write(whole: Whole<TestValue>) -> Result<String, CliError> {
    let mut areas = Areas::default();
    for Needed { name, area, checks, .. } in whole.tests.iter().map(|test| &test.needed) {
        // IMAGE@PROFILE/ENGINE; a profile has no @.
        let test = name.rsplit_once('@').map_or(name.as_str(), |(test, _)| test);
        areas.add(area, test, checks.iter().map(|check| (check.name.as_str(), check.status)));
    }
    let areas = areas.finish();
    to_json(&Document {
        command: "test",
        exit_code: whole.exit_code(),
        tests_run: whole.counts,
        not_run: whole.not_run,
        seconds: whole.seconds,
        shard: None,
        missing_shards: Some(whole.missing),
        areas,
        tests: whole.tests.into_iter().map(|test| test.value).collect(),
    })
}
