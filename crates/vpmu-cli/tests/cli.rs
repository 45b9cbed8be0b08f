//! The command as a user types it, without any guest.

mod support;

use std::io::Read as _;
use std::process::{Command, Stdio};
use support::{TempFile, command, flat_image, json, vpmu};

#[test]
fn help_documents_every_exit_status() {
    let help = vpmu(&["--help"]);
    assert_eq!(help.code, Some(0));
    for status in ["    0 ", "    1 ", "    2 ", "    3 ", "    4 ", "  124 ", "  130 "] {
        assert!(help.stdout.contains(status), "{status:?} in {}", help.stdout);
    }
}

#[test]
fn version_has_a_number() {
    let version = vpmu(&["--version"]);
    assert_eq!(version.stdout.trim(), format!("vpmu {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn profiles_are_listed() {
    let list = vpmu(&["list", "profiles"]);
    assert_eq!(list.code, Some(0));
    assert!(list.stdout.contains("icelake-sp") && list.stdout.contains("sapphire-rapids"));
    let profiles = json(&vpmu(&["list", "profiles", "--json"]));
    let level = |name: &str| {
        let listed = profiles["profiles"]
            .as_array()
            .and_then(|all| all.iter().find(|profile| profile["name"] == name));
        listed.map(|profile| profile["metrics_level"].clone())
    };
    assert_eq!(["skylake-sp", "icelake-sp", "sapphire-rapids"].map(level), [0, 1, 2].map(|n| Some(n.into())));
}

#[test]
fn events_can_be_filtered_and_know_their_aliases() {
    let list = vpmu(&["list", "events", "branch-misses"]);
    assert!(list.stdout.contains("BR_MISP_RETIRED.ALL_BRANCHES"), "{}", list.stdout);
    assert!(!list.stdout.contains("INST_RETIRED.NOP"));
    let events = json(&vpmu(&["list", "events", "--profile", "icelake-sp", "branch-misses", "--json"]));
    assert_eq!(events["events"][0]["config"], 0xC5);
    assert_eq!(events["events"][0]["counters"], "PMC0-7");
}

#[test]
fn a_filter_without_matches_is_an_empty_list() {
    let list = vpmu(&["list", "events", "no-such-thing"]);
    assert_eq!((list.code, list.stdout.as_str()), (Some(0), ""));
    assert!(list.stderr.contains("no-such-thing"));
    assert_eq!(json(&vpmu(&["list", "events", "no-such-thing", "--json"]))["events"], serde_json::json!([]));
}

#[test]
fn counters_have_an_rdpmc_index() {
    let counters = json(&vpmu(&["list", "counters", "--json"]));
    let slots =
        counters["counters"].as_array().and_then(|all| all.iter().find(|c| c["counter"] == "FIXED_CTR3"));
    assert_eq!(slots.map(|c| c["rdpmc"].clone()), Some(0x4000_0003_u32.into()));
}

#[test]
fn a_register_is_decoded_by_any_name() {
    for register in ["0x38d", "909", "IA32_FIXED_CTR_CTRL", "fixed_ctr_ctrl"] {
        let decoded = json(&vpmu(&["decode", register, "0xb0b", "--json"]));
        assert_eq!(decoded["register"], "IA32_FIXED_CTR_CTRL");
        assert_eq!(decoded["fields"][0]["name"], "EN0_OS");
        assert_eq!(decoded["write_fault"], serde_json::Value::Null);
    }
}

#[test]
fn reserved_bits_are_decoded_as_a_fault() {
    let decoded = json(&vpmu(&["decode", "0x38d", "0x10000", "--json"]));
    assert_eq!(decoded["reserved"], 0x1_0000);
    assert!(decoded["write_fault"].as_str().is_some_and(|why| why.contains("0x10000")), "{decoded}");
}

#[test]
fn an_rdpmc_index_is_explained() {
    let index = json(&vpmu(&["decode", "rdpmc", "0x20000000", "--json"]));
    assert_eq!(index["msr"], 0x329);
    let wrong = vpmu(&["decode", "rdpmc", "0x100000000"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("32-bit"), "{}", wrong.stderr);
}

#[test]
fn wrong_names_are_answered_with_the_right_ones() {
    let register = vpmu(&["decode", "PERFEVTSLE0", "1"]);
    assert_eq!(register.code, Some(2));
    assert!(register.stderr.contains("did you mean `PERFEVTSEL0`?"), "{}", register.stderr);
    let profile = vpmu(&["list", "events", "--profile", "icelake"]);
    assert_eq!(profile.code, Some(2));
    assert!(profile.stderr.contains("did you mean `icelake-sp`?"), "{}", profile.stderr);
    assert!(profile.stderr.contains("vpmu list profiles"), "{}", profile.stderr);
}

#[test]
fn errors_have_a_value_and_a_next_step() {
    let junk = TempFile::new("junk", b"#!/bin/sh\n");
    for (args, value) in [
        (vec!["run", "/nonexistent/image"], "/nonexistent/image"),
        (vec!["run", junk.as_str()], "it is a script"),
        (vec!["run", "/"], "a directory"),
        (vec!["list", "tests", junk.as_str()], "it is a script"),
        (vec!["decode", "0x38d", "0xzz"], "\"0xzz\""),
        (vec!["decode", "0x10", "1"], "\"0x10\""),
        (vec!["run", junk.as_str(), "--rates", "r.toml"], "r.toml"),
        (vec!["stat", junk.as_str()], "it is a script"),
        (vec!["compare", junk.as_str()], "it is a script"),
    ] {
        let ran = vpmu(&args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(ran.stderr.starts_with("error: "), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(value), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("\n  next: ").count(), 1, "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn detail_is_a_property_of_the_soft_engine() {
    let image = TempFile::new("detail", &flat_image(&[0xB0, 0, 0xE6, 0xF4])); // mov al, 0; out 0xF4, al
    for command in ["run", "stat", "compare"] {
        for more in [&["--engine", "soft"][..], &["--detail", "counts"]] {
            let ran = vpmu(&[&[command, image.as_str(), "--json"], more].concat());
            assert_eq!(
                (ran.code, &json(&ran)["detail"]),
                (Some(0), &serde_json::json!("counts")),
                "{command}"
            );
        }
    }
    let kvm = vpmu(&["run", image.as_str(), "--engine", "kvm", "--detail", "counts"]);
    assert_eq!(kvm.code, Some(2), "{}", kvm.stderr);
    assert!(kvm.stderr.contains("--engine soft"), "{}", kvm.stderr);
    let timing = vpmu(&["run", image.as_str(), "--detail", "timing", "--json"]);
    assert_eq!((timing.code, &json(&timing)["detail"]), (Some(0), &serde_json::json!("timing")));
    for flag in [["--llc", "4M"], ["--memory-latency", "500"]] {
        let of_model = [&["run", image.as_str(), "--engine", "soft"], &flag[..]].concat();
        let without = vpmu(&of_model);
        assert_eq!(without.code, Some(2), "{flag:?}: {}", without.stderr);
        assert!(without.stderr.contains(flag[0]), "{}", without.stderr);
        assert!(without.stderr.contains("next: add --detail timing"), "{}", without.stderr);
        assert_eq!(vpmu(&[&of_model[..], &["--detail", "timing"]].concat()).code, Some(0), "{flag:?}");
    }
    for wrong in [["--llc", "0"], ["--llc", "8G"], ["--memory-latency", "0"]] {
        assert_eq!(
            vpmu(&[&["run", image.as_str(), "--detail", "timing"], &wrong[..]].concat()).code,
            Some(2)
        );
    }
    let wrong = vpmu(&["run", image.as_str(), "--detail", "cycles"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("counts") && wrong.stderr.contains("timing"), "{}", wrong.stderr);
}

#[test]
fn a_profile_can_come_from_a_file() {
    let file = TempFile::new("mine.toml", b"base = 'icelake-sp'\nname = 'mine'\ngp-counters = 4\n");
    let counters = vpmu(&["list", "counters", "--profile", file.as_str()]);
    assert_eq!(counters.code, Some(0), "{}", counters.stderr);
    assert!(counters.stdout.contains("PMC3") && !counters.stdout.contains("PMC4"), "{}", counters.stdout);
    let image = TempFile::new("with-profile", &flat_image(&[0xB0, 0, 0xE6, 0xF4]));
    let run = vpmu(&["run", image.as_str(), "--engine", "soft", "--profile", file.as_str(), "--json"]);
    assert_eq!((run.code, &json(&run)["profile"]), (Some(0), &serde_json::json!("mine")));
    let wrong = TempFile::new("wrong.toml", b"base = 'icelake-sp'\nname = 'mine'\ngp-counters = 40\n");
    let refused = vpmu(&["run", image.as_str(), "--profile", wrong.as_str()]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("gp-counters = 40 is not between 1 and 10"), "{}", refused.stderr);
    assert_eq!(vpmu(&["run", image.as_str(), "--profile", "none.toml"]).code, Some(2));
}

#[test]
fn wrong_numbers_are_usage_errors() {
    for args in [
        vec!["run", "x", "--timeout", "0"],
        vec!["run", "x", "--memory", "-1"],
        vec!["run", "x", "--isolate", "--raw-exit"],
        vec!["run"],
        vec!["nonsense"],
        vec![],
    ] {
        assert_eq!(vpmu(&args).code, Some(2), "{args:?}");
    }
}

#[test]
fn a_missing_module_is_named() {
    let image = TempFile::new("module-image", &flat_image(&[0xF4]));
    let ran = vpmu(&["run", image.as_str(), "--module", "/nonexistent/initrd"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("/nonexistent/initrd"), "{}", ran.stderr);
}

#[test]
fn tests_of_an_image_without_tests_cannot_be_selected() {
    let image = TempFile::new("no-tests", &flat_image(&[0xF4]));
    for args in [
        vec!["run", image.as_str(), "--test", "x"],
        vec!["run", image.as_str(), "--isolate"],
        vec!["list", "tests", image.as_str()],
    ] {
        let ran = vpmu(&args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("lists no tests"), "{args:?}: {}", ran.stderr);
    }
    let listed = vpmu(&["list", "tests", image.as_str(), "--json"]);
    assert_eq!((listed.code, &json(&listed)["tests"]), (Some(0), &serde_json::json!([])));
}

#[test]
fn the_doctor_has_an_opinion_on_everything() {
    let ran = vpmu(&["doctor", "--json"]);
    let diagnosis = json(&ran);
    for part in ["kvm", "host_pmu", "engines", "counts"] {
        let checks = diagnosis[part].as_array().expect("a list");
        assert!(!checks.is_empty(), "{part}");
        for check in checks {
            assert!(["ok", "warn", "missing"].map(Into::into).contains(&check["status"]), "{check}");
        }
    }
    let works = |part: &str, name: &str| {
        let all = diagnosis[part].as_array().expect("a list");
        all.iter().any(|choice| choice["name"] == name && choice["status"] == "ok")
    };
    assert!(works("engines", "soft") && works("counts", "auto") && works("counts", "model"));
    let expected = if works("counts", "host") { "--engine kvm" } else { "--engine soft" };
    assert_eq!(diagnosis["usable_with"], expected);
    assert_eq!(ran.code, Some(0));
    let text = vpmu(&["doctor"]);
    assert_eq!(text.code, Some(0));
    assert!(text.stdout.contains("--counts"), "{}", text.stdout);
}

#[test]
fn every_document_says_its_version() {
    let image = TempFile::new("versioned", &flat_image(&[0xB0, 0, 0xE6, 0xF4])); // mov al, 0; out 0xF4, al
    let image = image.as_str();
    for args in [
        &["run", image, "--engine", "soft"][..],
        &["stat", image, "--engine", "soft"],
        &["compare", image, "--engine", "soft"],
        &["test", image, "-p", "icelake-sp"],
        &["test", image, "-p", "icelake-sp", "--list"],
        &["list", "profiles"],
        &["list", "events"],
        &["list", "counters"],
        &["list", "tests", image],
        &["decode", "0x38d", "0xb0b"],
        &["decode", "rdpmc", "0"],
        &["doctor"],
    ] {
        let document = json(&vpmu(&[args, &["--json"]].concat()));
        assert_eq!(document["schema_version"], 1, "{args:?}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_noticed_before_anything_runs() {
    let image =
        TempFile::new("unwritten", &flat_image(&[0xB0, b'x', 0x66, 0xBA, 0xF8, 0x03, 0xEE, 0xE6, 0xF4]));
    let old = TempFile::new("old", b"old");
    for (command, flag) in [
        ("compare", "--html"),
        ("compare", "--csv"),
        ("stat", "--csv"),
        ("test", "--junit"),
        ("test", "--tap"),
    ] {
        let ran = vpmu(&[command, image.as_str(), flag, "/nonexistent/report"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{command} {flag}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: cannot write /nonexistent/report"), "{}", ran.stderr);
        let both = vpmu(&[command, image.as_str(), flag, "-", "--json"]);
        assert_eq!(both.code, Some(2), "{}", both.stderr);
        assert!(
            both.stderr.contains(&format!("only one of --json and {flag} can go to stdout")),
            "{}",
            both.stderr
        );
        // Refused for another reason: an earlier report stays.
        assert_eq!(vpmu(&[command, "/nonexistent/image", flag, old.as_str()]).code, Some(2));
        assert_eq!(std::fs::read_to_string(old.as_str()).expect("it is there"), "old");
    }
}

#[test]
fn a_report_on_stdout_is_alone_there() {
    let image = TempFile::new("alone", &flat_image(&[0xB0, 0, 0xE6, 0xF4])); // mov al, 0; out 0xF4, al
    let page = vpmu(&["compare", image.as_str(), "--engine", "soft", "--html", "-"]);
    assert!(
        page.stdout.starts_with("<!DOCTYPE html>") && page.stdout.ends_with("</html>"),
        "{}",
        page.stdout
    );
    let lines = vpmu(&["stat", image.as_str(), "--engine", "soft", "--csv", "-"]);
    assert_eq!((lines.code, lines.stdout.lines().count()), (Some(0), 1), "no counter ran: {}", lines.stdout);
}

/// What the doctor says of `--engine` and `--counts` is what a run does, for us and for a user without privileges.
#[test]
fn the_doctor_agrees_with_a_run() {
    let image = TempFile::new("healthy", &flat_image(&[0xB0, 0, 0xE6, 0xF4])); // mov al, 0; out 0xF4, al
    let as_user = |nobody: bool, args: &[&str]| {
        let mut command = command(args);
        if nobody {
            let program = command.get_program().to_owned();
            let mut other = Command::new("setpriv");
            other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).args(args);
            command = other;
        }
        command.output().expect("it starts")
    };
    for nobody in [false, true] {
        let doctor = as_user(nobody, &["doctor", "--json"]);
        if nobody && !doctor.status.success() {
            println!("SKIP as nobody: {}", String::from_utf8_lossy(&doctor.stderr));
            continue;
        }
        let diagnosis: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
        for (part, flag) in [("engines", "--engine"), ("counts", "--counts")] {
            for choice in diagnosis[part].as_array().expect("a list") {
                let name = choice["name"].as_str().expect("a name");
                // With made-up numbers the engine does not need a PMU as well.
                let more: &[&str] = if name == "kvm" { &["--counts", "synthetic"] } else { &[] };
                let ran = as_user(nobody, &[&["run", image.as_str(), flag, name], more].concat());
                let stderr = String::from_utf8_lossy(&ran.stderr);
                assert_eq!(
                    choice["status"] == "ok",
                    ran.status.success(),
                    "{flag} {name}: {choice} {stderr}"
                );
                if choice["status"] != "ok" {
                    let what = choice["what"].as_str().expect("a sentence");
                    assert!(stderr.contains(what), "{flag} {name}: {what:?} is not in {stderr}");
                }
            }
        }
    }
}

#[test]
fn colours_are_the_users_choice() {
    const ESCAPE: char = '\x1b';
    assert!(!vpmu(&["decode", "0x38d", "1"]).stdout.contains(ESCAPE), "not into pipes");
    assert!(vpmu(&["decode", "0x38d", "1", "--color", "always"]).stdout.contains(ESCAPE));
    let no_color = command(&["decode", "0x38d", "1"]).env("NO_COLOR", "1").output().expect("vpmu starts");
    assert!(!String::from_utf8_lossy(&no_color.stdout).contains(ESCAPE));
    let forced =
        |args: &[&str]| command(args).env("CLICOLOR_FORCE", "1").output().expect("vpmu starts").stdout;
    assert!(String::from_utf8_lossy(&forced(&["decode", "0x38d", "1"])).contains(ESCAPE));
    let never = forced(&["decode", "0x38d", "1", "--color", "never"]);
    assert!(!String::from_utf8_lossy(&never).contains(ESCAPE));
}

#[test]
fn a_closed_pipe_is_a_quiet_success() {
    let mut child = command(&["list", "events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("vpmu starts");
    // Closed before vpmu can have written more than a pipe holds.
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("stderr is UTF-8");
    assert_eq!((child.wait().expect("vpmu ends").code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn shells_complete_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = vpmu(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert!(ran.stdout.contains("compare") && ran.stdout.contains("no-fail-fast"), "{}", ran.stdout);
    }
    let wrong = vpmu(&["completions", "tcsh"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("[possible values: bash, elvish, fish, powershell, zsh]"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn manual_pages_are_written_to_a_directory() {
    let directory = std::env::temp_dir().join(format!("vpmu-man-{}", std::process::id()));
    let ran = vpmu(&["man", directory.to_str().unwrap()]);
    let page = std::fs::read_to_string(directory.join("vpmu-decode.1")).unwrap_or_default();
    let _ = std::fs::remove_dir_all(&directory);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    assert!(page.contains(".TH vpmu-decode 1") && page.contains("PERFEVTSEL0 0x4300c4"), "{page}");
    let nowhere = vpmu(&["man", "/dev/null/man"]);
    assert_eq!(nowhere.code, Some(3));
    assert!(nowhere.stderr.starts_with("error: cannot write /dev/null/man"), "{}", nowhere.stderr);
}
