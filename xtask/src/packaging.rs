//! What packagers and embedders rely on: the published crates can be packaged, the licences are known, and the oldest
//! Rust that is promised suffices.

use crate::cargo::{capture, cargo, line};
use crate::error::TaskError;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Stdio;

/// The crates that are published.
const PUBLISHED: [&str; 8] =
    ["arm-cpu", "core-model", "host-perf", "retire", "soft-arithmetic", "soft-base", "soft-cpu", "vpmu"];

/// Files that every package has.
const FILES: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Licences of dependencies, as they spell them. Each asks for a notice at most. A new one is
/// looked at before it is added here.
const LICENCES: [&str; 22] = [
    "(MIT OR Apache-2.0) AND Unicode-3.0",
    "0BSD",
    "0BSD OR MIT OR Apache-2.0",
    "Apache-2.0",
    "Apache-2.0 / MIT",
    "Apache-2.0 AND BSD-3-Clause",
    "Apache-2.0 OR BSD-3-Clause",
    "Apache-2.0 OR BSL-1.0",
    "Apache-2.0 OR MIT",
    "Apache-2.0 WITH LLVM-exception",
    "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
    "Apache-2.0/MIT",
    "BSD-2-Clause OR Apache-2.0 OR MIT",
    "BSD-3-Clause",
    "MIT",
    "MIT OR Apache-2.0",
    "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
    "MIT OR Zlib OR Apache-2.0",
    "MIT/Apache-2.0",
    "Unlicense OR MIT",
    "Unlicense/MIT",
    "Zlib",
];

/// Checks all of it. Takes seconds: nothing is compiled.
pub(crate) fn check() -> Result<(), TaskError> {
    // Of one platform: what that needs has been downloaded, so that all this works without a network.
    let platform = "x86_64-unknown-linux-gnu";
    let metadata = json(&["metadata", "--format-version", "1", "--locked", "--filter-platform", platform])?;
    let mut wrong = of_dependencies(&metadata);
    wrong.extend(of_published(&metadata));
    for name in PUBLISHED {
        let listed = text(&["package", "--list", "--allow-dirty", "--package", name])?;
        let listed: BTreeSet<&str> = listed.lines().collect();
        let missing = FILES.iter().filter(|file| !listed.contains(**file));
        wrong.extend(missing.map(|file| format!("package {name} lacks {file}")));
    }
    if !wrong.is_empty() {
        return Err(TaskError::Data(wrong.join("\n")));
    }
    let selected = PUBLISHED.iter().flat_map(|name| ["--package", name]);
    let arguments =
        ["package", "--offline", "--no-verify", "--allow-dirty", "--quiet"].into_iter().chain(selected);
    text(&arguments.collect::<Vec<_>>())?;
    let dependencies = packages(&metadata).filter(|package| !package["source"].is_null()).count();
    anstream::println!(
        "ok {} can be packaged; {dependencies} dependencies have licences that are known and take the Rust \
         that is promised",
        PUBLISHED.join(", ")
    );
    Ok(())
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn word<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

/// What is wrong with the licence or the `rust-version` of a package.
fn of_dependencies(metadata: &Value) -> Vec<String> {
    let own = packages(metadata).find(|package| word(package, "name") == "vpmu");
    let promised = own.and_then(|package| version(word(package, "rust_version")));
    let mut wrong = Vec::new();
    for package in packages(metadata) {
        let (name, licence, needed) =
            (word(package, "name"), word(package, "license"), word(package, "rust_version"));
        if !LICENCES.contains(&licence) {
            wrong.push(format!(
                "{name} has the licence {licence:?}, which is not on the list of accepted ones"
            ));
        }
        if version(needed) > promised {
            wrong.push(format!("{name} needs Rust {needed}, later than rust-version"));
        }
    }
    wrong
}

/// Major and minor of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next().map_or(Some(0), Result::ok)?))
}

/// What is wrong with what is published, or with what is not.
fn of_published(metadata: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages(metadata).filter(|package| package["source"].is_null()) {
        let name = word(package, "name");
        let may_be_published = package["publish"].is_null();
        if may_be_published != PUBLISHED.contains(&name) {
            wrong.push(format!("{name}: `publish` and the list of published crates differ"));
        }
        if !may_be_published {
            continue;
        }
        for key in ["description", "license", "repository", "readme", "rust_version"] {
            if word(package, key).is_empty() {
                wrong.push(format!("{name} has no {key}"));
            }
        }
        for key in ["keywords", "categories"] {
            if !(1..=5).contains(&package[key].as_array().map_or(0, Vec::len)) {
                wrong.push(format!("{name} has no {key}, or more than five"));
            }
        }
    }
    wrong
}

fn json(arguments: &[&str]) -> Result<Value, TaskError> {
    let error = |error: serde_json::Error| TaskError::Output {
        command: format!("cargo {}", arguments.join(" ")),
        what: error.to_string(),
    };
    serde_json::from_str(&text(arguments)?).map_err(error)
}

fn text(arguments: &[&str]) -> Result<String, TaskError> {
    let mut command = cargo(arguments);
    let output = capture(command.stderr(Stdio::inherit()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(TaskError::Command { command: line(&command) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn own(publish: &Value) -> Value {
        json!({
            "name": "vpmu", "source": null, "publish": publish, "license": "Apache-2.0 OR MIT",
            "rust_version": "1.88", "description": "x", "repository": "x", "readme": "README.md",
            "keywords": ["x"], "categories": ["x"],
        })
    }

    fn dependency(licence: &str, rust: &Value) -> Value {
        json!({ "name": "other", "source": "registry", "license": licence, "rust_version": rust })
    }

    #[test]
    fn unknown_licences_and_a_later_rust_are_named() {
        let wrong = |licence: &str, rust: Value| {
            of_dependencies(&json!({ "packages": [own(&Value::Null), dependency(licence, &rust)] }))
        };
        assert_eq!(wrong("MIT", Value::Null), [] as [&str; 0]);
        assert_eq!(wrong("MIT", json!("1.88.0")), [] as [&str; 0]);
        assert_eq!(wrong("MIT", json!("1.100")), ["other needs Rust 1.100, later than rust-version"]);
        assert_eq!(
            wrong("GPL-3.0-only", json!("1.56")),
            ["other has the licence \"GPL-3.0-only\", which is not on the list of accepted ones"]
        );
    }

    #[test]
    fn what_is_published_is_what_is_listed_and_describes_itself() {
        let wrong = |package: Value| of_published(&json!({ "packages": [package] }));
        assert_eq!(wrong(own(&Value::Null)), [] as [&str; 0]);
        assert_eq!(wrong(own(&json!([]))), ["vpmu: `publish` and the list of published crates differ"]);
        let mut bare = own(&Value::Null);
        bare["readme"] = Value::Null;
        bare["keywords"] = json!([]);
        assert_eq!(wrong(bare), ["vpmu has no readme", "vpmu has no keywords, or more than five"]);
    }
}
