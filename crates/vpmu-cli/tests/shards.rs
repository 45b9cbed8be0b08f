//! `vpmu test --shard` on several machines, and `vpmu test merge`.

mod support;

use std::fs;
use support::{Images, Ran, command, json, say, vpmu};

/// Five tests, one of which fails.
fn five(test: &str) -> Images {
    let good = || say("1..2\nok 1 - a\nok 2 - b # SKIP needs more\n", 0);
    let bad = say("1..1\nnot ok 1 - wrong\n  ---\n  message: \"left is 1\"\n  ...\n", 1);
    Images::new(
        test,
        &[("a.elf", good()), ("b.elf", bad), ("c.elf", good()), ("d.elf", good()), ("e.elf", good())],
    )
}

/// `vpmu test --shard auto` of the directory, with these variables.
fn shard(images: &Images, variables: &[(&str, &str)], args: &[&str]) -> Ran {
    let all =
        [&["test", images.path(), "-p", "icelake-sp", "--no-fail-fast", "--shard", "auto"], args].concat();
    let output = command(&all).envs(variables.iter().copied()).output().expect("vpmu starts");
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The parts of an indexed Job; the names of the files.
fn kubernetes(images: &Images, parts: u32) -> (Vec<String>, Vec<String>) {
    let file = |name: String| images.0.join(name).to_str().expect("the path is UTF-8").to_owned();
    let one = |index: u32| {
        let (junit, document) = (file(format!("junit-{index}.xml")), file(format!("out-{index}.json")));
        let (index, count) = (index.to_string(), parts.to_string());
        let variables = [("JOB_COMPLETION_INDEX", index.as_str()), ("JOB_COMPLETIONS", &count)];
        let ran = shard(images, &variables, &["--junit", &junit, "--json"]);
        fs::write(&document, &ran.stdout).expect("the temporary directory can be written");
        (junit, document)
    };
    (0..parts).map(one).unzip()
}

fn merge(files: &[String], args: &[&str]) -> Ran {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    vpmu(&[&["test", "merge"], files.as_slice(), args].concat())
}

/// A report without times, which differ.
fn timeless(xml: &str) -> String {
    let cut = |line: &str| match line.split_once(" time=\"") {
        Some((before, rest)) => before.to_owned() + rest.split_once('"').map_or("", |(_, rest)| rest),
        None => line.to_owned(),
    };
    xml.lines().map(cut).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_reports_of_all_parts_are_that_of_one_run() {
    let images = five("merge-all");
    let (junit, documents) = kubernetes(&images, 3);
    let whole = images.0.join("whole.xml");
    let whole = whole.to_str().unwrap();
    let one = json(&images.test(&["--no-fail-fast", "--junit", whole, "--json"]));

    let merged = merge(&junit, &[]);
    assert_eq!(merged.code, Some(1), "{}", merged.stderr);
    assert!(merged.stderr.contains("3 of 3 shards, 5 tests run: 4 passed, 1 failed"), "{}", merged.stderr);
    assert_eq!(timeless(&merged.stdout), timeless(&images.read("whole.xml")));

    let output = images.0.join("all.json");
    let ran = merge(&documents, &["-q", "--output", output.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(1), "", ""));
    let merged: serde_json::Value = serde_json::from_str(&images.read("all.json")).unwrap();
    for key in ["command", "exit_code", "passed", "failed", "skipped", "not_run", "areas", "shard"] {
        assert_eq!(merged[key], one[key], "{key}");
    }
    let names = |document: &serde_json::Value| {
        let tests = document["tests"].as_array().unwrap();
        tests.iter().map(|test| test["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&merged), names(&one));
    assert_eq!(merged["missing_shards"], serde_json::json!([]));
}

#[test]
fn a_missing_or_doubled_part_is_named() {
    let images = five("merge-missing");
    let (mut junit, mut documents) = kubernetes(&images, 3);
    // What failed is in the part that is left out.
    let failed = junit.remove(1);
    documents.remove(1);
    let missing = merge(&junit, &[]);
    assert_eq!(missing.code, Some(1), "{}", missing.stderr);
    assert!(missing.stderr.contains("2 of 3 shards, 3 tests run: 3 passed"), "{}", missing.stderr);
    assert!(missing.stderr.contains("shard 2 of 3 is missing"), "{}", missing.stderr);
    assert!(missing.stderr.contains("2 tests without a result"), "{}", missing.stderr);
    let document = json(&merge(&documents, &[]));
    assert_eq!(
        (&document["missing_shards"], &document["not_run"], &document["exit_code"]),
        (&serde_json::json!([2]), &2.into(), &1.into())
    );

    let doubled = merge(&[&junit[..], &[failed, junit[0].clone()]].concat(), &[]);
    assert_eq!((doubled.code, doubled.stdout.as_str()), (Some(2), ""));
    assert!(doubled.stderr.starts_with("error: shard 1/3 is there twice: "), "{}", doubled.stderr);

    let mixed = merge(&[junit[0].clone(), documents[0].clone()], &[]);
    assert_eq!(mixed.code, Some(2));
    assert!(mixed.stderr.contains(" is JUnit, and "), "{}", mixed.stderr);
    let newer = images.read("out-0.json").replacen("\"schema_version\": ", "\"schema_version\": 9", 1);
    images.put("out-0.json", newer.as_bytes());
    let newer = merge(&documents, &[]);
    assert_eq!(newer.code, Some(2));
    assert!(newer.stderr.contains("out-0.json has schema_version 9"), "{}", newer.stderr);
    let text = images.0.join("text");
    fs::write(&text, "hello").expect("the temporary directory can be written");
    let text = merge(&[text.to_str().unwrap().to_owned()], &[]);
    assert!(text.stderr.contains("is no JSON document of vpmu test"), "{}", text.stderr);
    // A report that was cut off.
    let cut = &images.read("junit-0.xml")[..300];
    images.put("junit-0.xml", cut.as_bytes());
    let cut = merge(&junit, &[]);
    assert_eq!(cut.code, Some(2));
    assert!(cut.stderr.contains("junit-0.xml is no JUnit report of vpmu test"), "{}", cut.stderr);
}

#[test]
fn a_part_without_a_test_passes_and_reports() {
    let images = Images::new("empty-part", &[("a.elf", say("1..1\nok 1 - a\n", 0))]);
    let (junit, documents) = kubernetes(&images, 2);
    let empty = shard(&images, &[("JOB_COMPLETION_INDEX", "1"), ("JOB_COMPLETIONS", "2")], &[]);
    assert_eq!(empty.code, Some(0), "{}", empty.stderr);
    for files in [junit, documents] {
        let merged = merge(&files, &[]);
        assert_eq!(merged.code, Some(0), "{}", merged.stderr);
        assert!(merged.stderr.contains("2 of 2 shards, 1 test run: 1 passed"), "{}", merged.stderr);
    }
}

#[test]
fn bazel_is_told_that_shards_are_known_and_gets_its_report() {
    let images = five("bazel");
    let (status, xml) = (images.0.join("status"), images.0.join("test.xml"));
    let (status, xml) = (status.to_str().unwrap(), xml.to_str().unwrap());
    let variables = [
        ("BAZEL_TEST", "1"),
        ("TEST_SHARD_INDEX", "1"),
        ("TEST_TOTAL_SHARDS", "3"),
        ("TEST_SHARD_STATUS_FILE", status),
        ("XML_OUTPUT_FILE", xml),
    ];
    let ran = shard(&images, &variables, &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(fs::exists(status).unwrap());
    let report = images.read("test.xml");
    let suites = report.matches("<testsuite ").count();
    assert_eq!((suites, report.contains("name=\"b@icelake-sp/soft\"")), (2, true), "{report}");
    // Without --shard auto the variables mean nothing.
    fs::remove_file(xml).unwrap();
    let all =
        command(&["test", images.path(), "-p", "icelake-sp", "--list"]).envs(variables).output().unwrap();
    assert_eq!((String::from_utf8_lossy(&all.stdout).lines().count(), fs::exists(xml).unwrap()), (5, false));
}

#[test]
fn variables_that_do_not_fit_are_one_clear_line() {
    let images = Images::new("variables", &[("a.elf", say("1..1\nok 1 - a\n", 0))]);
    for (variables, wanted) in [
        (&[][..], "error: --shard auto: no scheduler says which part this is"),
        (
            &[("JOB_COMPLETION_INDEX", "1")],
            "error: --shard auto: Kubernetes set JOB_COMPLETION_INDEX, but JOB_COMPLETIONS is not set",
        ),
        (
            &[("TEST_SHARD_INDEX", "4"), ("TEST_TOTAL_SHARDS", "4")],
            "error: --shard auto: TEST_SHARD_INDEX is 4, and TEST_TOTAL_SHARDS is 4: there is no such part",
        ),
    ] {
        let ran = shard(&images, variables, &[]);
        assert_eq!((ran.code, ran.stderr.lines().next()), (Some(2), Some(wanted)));
        assert!(ran.stderr.lines().nth(1).unwrap_or_default().starts_with("  next: "), "{}", ran.stderr);
    }
}
