//! `vpmu test` over guests of a few bytes: some pass, fail, hang, crash.

mod support;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::{Images, Ran, command, json, say, vpmu};

/// `jmp` to itself.
const HANG: [u8; 2] = [0xEB, 0xFE];
/// `ud2` without an IDT.
const CRASH: [u8; 2] = [0x0F, 0x0B];

fn good() -> (&'static str, Vec<u8>) {
    ("good.elf", say("1..2\nok 1 - a\nok 2 - b # SKIP needs more\n", 0))
}

fn bad() -> (&'static str, Vec<u8>) {
    ("bad.elf", say("1..2\nok 1 - a\nnot ok 2 - b\n  ---\n  message: \"left is 1\"\n  ...\n", 1))
}

/// The lines of the report without times.
fn lines(ran: &Ran) -> Vec<String> {
    let without_time = |line: &str| match line.split_once(" [") {
        Some((word, rest)) => {
            format!("{} {}", word.trim(), rest.split_once("] ").map_or(rest, |(_, rest)| rest))
        }
        None => line.trim().to_owned(),
    };
    ran.stderr.lines().map(without_time).collect()
}

#[test]
fn each_end_has_its_word_and_one_failure_fails_the_run() {
    let images = Images::new(
        "ends",
        &[
            good(),
            bad(),
            ("hang", HANG.to_vec()),
            ("crash", CRASH.to_vec()),
            ("none", say("1..1\nok 1 - a # SKIP no\n", 0)),
        ],
    );
    let ran = images.test(&["--no-fail-fast", "--timeout", "1", "-j", "3"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    let lines = lines(&ran);
    // In the order of the names, whatever ended first; and once more those that failed.
    let words: Vec<&str> = lines
        .iter()
        .filter(|line| line.contains("@icelake-sp/soft") && !line.contains("again:"))
        .map(String::as_str)
        .collect();
    assert_eq!(
        words,
        [
            "FAIL bad@icelake-sp/soft (1 of 2 checks)",
            "CRASH crash@icelake-sp/soft",
            "PASS good@icelake-sp/soft (2 checks, 1 skipped)",
            "TIMEOUT hang@icelake-sp/soft",
            "SKIP none@icelake-sp/soft (no)",
            "FAIL bad@icelake-sp/soft (1 of 2 checks)",
            "CRASH crash@icelake-sp/soft",
            "TIMEOUT hang@icelake-sp/soft",
        ]
    );
    for wanted in [
        "Summary 5 tests run: 1 passed, 3 failed, 1 skipped",
        "not ok b",
        "message: \"left is 1\"",
        "the guest did not end within 1 s",
    ] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted} in {}", ran.stderr);
    }
    assert!(
        ran.stderr.contains("5 checks run (5 different): 2 passed, 1 failed, 2 skipped"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("again: vpmu run"), "{}", ran.stderr);
}

#[test]
fn a_failure_stops_what_has_not_begun() {
    let images = Images::new("fail-fast", &[good(), bad(), ("x", say("", 0)), ("y", say("", 0))]);
    let ran = images.test(&["-j", "1"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("1/4 tests run"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("3 tests were not run after a failure; --no-fail-fast runs them"),
        "{}",
        ran.stderr
    );
    assert!(images.test(&["-j", "1", "--no-fail-fast"]).stderr.contains(" 4 tests run"));
}

#[test]
fn only_passes_and_skips_are_a_success_and_only_skips_are_77() {
    let images =
        Images::new("success", &[good(), ("none", say("SKIP: x\nSUMMARY: 1 tests, 1 skipped\n", 38))]);
    assert_eq!(images.test(&[]).code, Some(0));
    let skipped = images.test(&["-E", "image(none)"]);
    assert_eq!(skipped.code, Some(77), "{}", skipped.stderr);
    let quiet = images.test(&["-q"]);
    assert!(!quiet.stderr.contains("PASS") && quiet.stderr.contains("Summary"), "{}", quiet.stderr);
}

#[test]
fn a_process_that_dies_is_one_failed_test() {
    let images = Images::new("dies", &[good(), ("hang", HANG.to_vec())]);
    let args =
        ["test", images.path(), "--profile", "icelake-sp", "--no-fail-fast", "-j", "2", "--timeout", "60"];
    let runner = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("vpmu starts");
    // The hanging guest's process, once it is there.
    let deadline = Instant::now() + Duration::from_secs(50);
    let hanging = loop {
        assert!(Instant::now() < deadline, "no child of vpmu test runs the image");
        if let Some(child) = child_of(runner.id(), "/hang") {
            break child;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let killed = std::process::Command::new("kill").args(["-ABRT", &hanging.to_string()]).status();
    assert!(killed.expect("kill starts").success());
    let output = runner.wait_with_output().expect("vpmu ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("ABORT") && stderr.contains("vpmu was killed by signal 6 (SIGABRT)"), "{stderr}");
    assert!(stderr.contains("PASS") && stderr.contains("1 passed, 1 failed"), "{stderr}");
}

/// The child of `parent` whose command line holds `word`.
fn child_of(parent: u32, word: &str) -> Option<u32> {
    let read = |pid: u32, file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let pids = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.into_iter().find(|pid: &u32| {
        let status = read(*pid, "status");
        let ppid = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap_or_default();
        ppid.trim() == parent.to_string() && read(*pid, "cmdline").contains(word)
    })
}

#[test]
fn reports_for_programs_say_the_same() {
    let images = Images::new("reports", &[good(), bad(), ("crash", CRASH.to_vec())]);
    let (tap, junit) = (images.0.join("out.tap"), images.0.join("out.xml"));
    let (tap, junit) = (tap.to_str().unwrap(), junit.to_str().unwrap());
    let ran = images.test(&["--no-fail-fast", "--tap", tap, "--junit", junit, "--json"]);
    let document = json(&ran);
    assert_eq!((ran.code, &document["exit_code"]), (Some(1), &1.into()));
    assert_eq!(
        (&document["passed"], &document["failed"], &document["not_run"]),
        (&1.into(), &2.into(), &0.into())
    );
    let names: Vec<&str> =
        document["tests"].as_array().unwrap().iter().map(|test| test["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bad@icelake-sp/soft", "crash@icelake-sp/soft", "good@icelake-sp/soft"]);
    assert_eq!(document["tests"][0]["checks"][1]["status"], "failed");
    assert_eq!(document["tests"][1]["word"], "CRASH");

    let tap = images.read("out.tap");
    let top: Vec<&str> =
        tap.lines().filter(|line| !line.starts_with(' ') && !line.starts_with('#')).collect();
    let expected = [
        "TAP version 13",
        "1..3",
        "not ok 1 - bad@icelake-sp/soft",
        "not ok 2 - crash@icelake-sp/soft",
        "ok 3 - good@icelake-sp/soft",
    ];
    assert_eq!(top, expected, "{tap}");
    assert!(tap.contains("    ok 2 - b # SKIP needs more\n"), "{tap}");

    let junit = images.read("out.xml");
    assert!(
        junit.contains("<testsuites name=\"vpmu\" tests=\"5\" skipped=\"1\" failures=\"2\" errors=\"0\""),
        "{junit}"
    );
    assert!(junit.contains("<testcase name=\"b\" classname=\"bad@icelake-sp/soft\" time=\""), "{junit}");
    assert!(junit.contains("<failure message=\"&quot;left is 1&quot;\">"), "{junit}");
    assert!(junit.contains("<skipped message=\"needs more\"/>"), "{junit}");
    let cases: Vec<&str> = junit.lines().filter(|line| line.contains("<testcase ")).collect();
    assert!(cases.iter().all(|case| case.contains(" time=\"")), "{cases:#?}");
    assert!(junit.contains("<system-out>1..2\nok 1 - a\n"), "{junit}");
}

#[test]
fn tap_can_go_to_stdout_but_one_report_only() {
    let images = Images::new("stdout", &[good()]);
    let ran = images.test(&["--tap", "-"]);
    assert!(ran.stdout.starts_with("TAP version 13\n1..1\n"), "{}", ran.stdout);
    for args in [["--tap", "-", "--json", "-q"], ["--tap", "-", "--junit", "-"]] {
        let ran = images.test(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    }
    let unwritable = images.test(&["--junit", "/nonexistent/x.xml"]);
    assert_eq!((unwritable.code, unwritable.stdout.as_str()), (Some(2), ""));
    assert!(!unwritable.stderr.contains("PASS"), "nothing has run: {}", unwritable.stderr);
    assert!(unwritable.stderr.contains("cannot write /nonexistent/x.xml"), "{}", unwritable.stderr);
}

#[test]
fn a_list_runs_nothing_and_obeys_filter_and_shard() {
    let images = Images::new("list", &[good(), bad(), ("hang", HANG.to_vec())]);
    images.put("README", b"no image");
    let list = |args: &[&str]| {
        let ran = images.test(&[&["--list"], args].concat());
        (ran.code, ran.stdout)
    };
    assert_eq!(
        list(&[]),
        (Some(0), "bad@icelake-sp/soft\ngood@icelake-sp/soft\nhang@icelake-sp/soft\n".to_owned())
    );
    assert_eq!(list(&["-E", "image(*a*) - image(bad)"]), (Some(0), "hang@icelake-sp/soft\n".to_owned()));
    assert_eq!(list(&["--shard", "2/2"]), (Some(0), "good@icelake-sp/soft\n".to_owned()));
    assert_eq!(list(&["-E", "none()"]), (Some(4), String::new()));
}

#[test]
fn a_manifest_says_what_images_need_and_how_they_end() {
    let hang = ("hang", HANG.to_vec());
    let images =
        Images::new("manifest", &[good(), bad(), hang, ("crash", CRASH.to_vec()), ("tool", say("", 1))]);
    let manifest = "ignore = ['tool']\n\
                    [[test]]\nimage = 'bad'\nexpect = 'fail'\n\
                    [[test]]\nimage = 'crash'\nname = 'falls'\narea = 'ends'\nexpect = 'triple-fault'\n\
                    [[test]]\nimage = 'hang'\ntimeout = 1\nexpect = 'timed-out'\n\
                    [[test]]\nimage = 'good'\nname = 'level-2'\nneeds = ['metrics_l2']\n";
    images.put("vpmu-test.toml", manifest.as_bytes());
    let ran = images.test(&["--no-fail-fast"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = lines(&ran);
    for wanted in [
        "PASS falls@icelake-sp/soft (1 check)",
        "SKIP level-2@icelake-sp/soft (needs metrics_l2)",
        "Summary 4 tests run: 3 passed, 1 skipped",
    ] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted} in {}", ran.stderr);
    }
    let by_area = images.test(&["-E", "area(ends)", "--list"]);
    assert_eq!(by_area.stdout, "falls@icelake-sp/soft\n");
}

#[test]
fn the_list_of_kvm_unit_tests_is_understood() {
    let images = Images::new(
        "unittests",
        &[("pmu.flat", say("PASS: a\nFAIL: b\nSUMMARY: 2 tests, 1 unexpected failures\n", 1))],
    );
    let list = "[pmu]\nfile = pmu.flat\ngroups = pmu\n\n[absent]\nfile = absent.flat\n\n\
                [old]\nfile = pmu.flat\narch = i386\n";
    images.put("unittests.cfg", list.as_bytes());
    let ran = images.test(&["--no-fail-fast"]);
    let lines = lines(&ran);
    for wanted in [
        "FAIL pmu@icelake-sp/soft (1 of 2 checks)",
        "not ok b",
        "SKIP absent@icelake-sp/soft (absent.flat is not built)",
        "SKIP old@icelake-sp/soft (for i386)",
    ] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted} in {}", ran.stderr);
    }
    assert_eq!(images.test(&["-E", "group(pmu)", "--list"]).stdout, "pmu@icelake-sp/soft\n");
}

#[test]
fn wrong_input_is_one_clear_line() {
    let images = Images::new("wrong", &[good()]);
    let empty = Images::new("empty", &[]);
    let first_line = |ran: &Ran| ran.stderr.lines().next().unwrap_or_default().to_owned();
    for (args, code, wanted) in [
        (vec!["test", "/nonexistent/image"], 2, "error: image /nonexistent/image"),
        (vec!["test", empty.path()], 4, "error: no bootable image in "),
        (
            vec!["test", images.path(), "-E", "image(good"],
            2,
            "error: filter expression `image(good`, column 7: a `)` is missing",
        ),
        (vec!["test", images.path(), "-E", "profile(zen99)"], 2, "error: no profile matches `zen99`"),
        (
            vec!["test", images.path(), "--shard", "3/2"],
            2,
            "error: invalid value '3/2' for '--shard <I/N|auto>'",
        ),
        (vec!["test", images.path(), "--profile", "i386"], 2, "error: there is no profile \"i386\""),
        (vec!["test", images.path(), "--jobs", "0"], 2, "error: invalid value '0'"),
        (vec!["test", images.path(), images.path()], 2, "error: "),
        (
            vec!["test", images.path(), images.path(), "--manifest", "x"],
            2,
            "error: --manifest is for one directory",
        ),
        (
            vec!["test", images.path(), "--manifest", "/nonexistent/x.toml"],
            2,
            "error: cannot read /nonexistent/x.toml",
        ),
        (vec!["test"], 2, "error: the following required arguments were not provided"),
    ] {
        let ran = vpmu(&args);
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
        assert!(first_line(&ran).starts_with(wanted), "{args:?}: {}", ran.stderr);
    }
    images.put("vpmu-test.toml", b"[[test]]\nimage = 'nothing'\n");
    let ran = images.test(&[]);
    assert_eq!(ran.code, Some(2));
    assert!(first_line(&ran).contains("nothing"), "{}", ran.stderr);
    assert!(Path::new(images.path()).exists());
}

#[test]
fn a_profile_can_come_from_a_file_beside_built_in_ones() {
    let images = Images::new("profile-file", &[good()]);
    images.put("mine.toml", b"base = 'icelake-sp'\nname = 'mine'\ngp-counters = 4\n");
    let file = images.0.join("mine.toml");
    let profiles = format!("zen4,{}", file.display());
    let ran = vpmu(&["test", images.path(), "-p", &profiles, "-E", "profile(mine) + profile(zen4)"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = lines(&ran);
    for wanted in ["PASS good@zen4/soft (2 checks, 1 skipped)", "PASS good@mine/soft (2 checks, 1 skipped)"] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted} in {}", ran.stderr);
    }
    let wrong = images.test(&["-p", "saphire-rapids"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("did you mean `sapphire-rapids`?"), "{}", wrong.stderr);
}

#[test]
fn a_misspelt_image_names_its_manifest_and_the_image_that_is_meant() {
    let images = Images::new("misspelt", &[good()]);
    images.put("vpmu-test.toml", b"[[test]]\nimage = 'goood'\n");
    let ran = images.test(&[]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("vpmu-test.toml: there is no image `goood` in "), "{}", ran.stderr);
    assert!(ran.stderr.contains("next: did you mean `good`?"), "{}", ran.stderr);
}

#[test]
fn a_misspelt_profile_names_its_manifest_and_the_profile_that_is_meant() {
    let images = Images::new("misspelt-profile", &[good()]);
    images.put("vpmu-test.toml", b"[[test]]\nimage = 'good'\nprofiles = ['zen4', 'saphire-rapids']\n");
    let ran = images.test(&["-p", "zen4"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let what = "vpmu-test.toml: test `good` names a profile `saphire-rapids` that there is not";
    assert!(ran.stderr.contains(what), "{}", ran.stderr);
    assert!(ran.stderr.contains("next: did you mean `sapphire-rapids`?"), "{}", ran.stderr);
    // A profile from a file counts where the file is given.
    images.put("mine.toml", b"base = 'zen4'\nname = 'mine'\n");
    images.put("vpmu-test.toml", b"[[test]]\nimage = 'good'\nprofiles = ['mine']\n");
    let ran = images.test(&["-p", "zen4"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let mine = images.0.join("mine.toml");
    let ran = images.test(&["-p", mine.to_str().expect("the path is UTF-8")]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn an_error_of_toml_is_printed_once() {
    let images = Images::new("toml", &[good()]);
    images.put("p.toml", b"base = 'icelake-sp'\nname = 'p'\ngp-counter = 4\n");
    let ran = images.test(&["-p", images.0.join("p.toml").to_str().expect("the path is UTF-8")]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr.matches("unknown field `gp-counter`").count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("\n\n"), "{}", ran.stderr);
}
