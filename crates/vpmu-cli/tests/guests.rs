//! Guests of a few bytes: how their ends become exit codes. Skipped without /dev/kvm.

mod support;

use support::{BASE, Ran, TempFile, elf_with_tests, flat_image, have_kvm, json, vpmu};

/// `mov al, VALUE; out 0xF4, al`.
fn exit_with(value: u8) -> Vec<u8> {
    vec![0xB0, value, 0xE6, 0xF4, 0xF4]
}

/// Prints `text` on COM1: `mov dx, 0x3F8` and for each byte `mov al, BYTE; out dx, al`.
fn say(text: &str) -> Vec<u8> {
    let mut code = vec![0x66, 0xBA, 0xF8, 0x03];
    code.extend(text.bytes().flat_map(|byte| [0xB0, byte, 0xEE]));
    code
}

/// `cli; hlt`.
const HALT: [u8; 2] = [0xFA, 0xF4];
/// `jmp` to itself.
const HANG: [u8; 2] = [0xEB, 0xFE];
/// `ud2` without an IDT.
const CRASH: [u8; 2] = [0x0F, 0x0B];

fn run(command: &str, name: &str, code: &[u8], more: &[&str]) -> Ran {
    let image = TempFile::new(name, &flat_image(code));
    let mut args = vec![command, image.as_str(), "--counts", "synthetic"];
    args.extend(more);
    vpmu(&args)
}

#[test]
fn value_0_is_a_pass_and_others_are_failures() {
    if !have_kvm("value_0_is_a_pass_and_others_are_failures") {
        return;
    }
    for (value, code, raw) in [(0, 0, 1), (1, 1, 3), (77, 1, 155)] {
        let name = format!("exit-{value}");
        assert_eq!(run("run", &name, &exit_with(value), &[]).code, Some(code));
        assert_eq!(run("run", &name, &exit_with(value), &["--raw-exit"]).code, Some(raw));
        assert_eq!(run("stat", &name, &exit_with(value), &[]).code, Some(code));
        assert_eq!(run("compare", &name, &exit_with(value), &[]).code, Some(code));
    }
}

#[test]
fn the_console_is_stdout_and_the_summary_stderr() {
    if !have_kvm("the_console_is_stdout_and_the_summary_stderr") {
        return;
    }
    let code = [say("hello\n"), exit_with(0)].concat();
    let ran = run("run", "console", &code, &[]);
    assert_eq!(ran.stdout, "hello\n");
    assert!(ran.stderr.contains("outcome  passed"), "{}", ran.stderr);
    assert!(ran.stderr.contains("synthetic"), "{}", ran.stderr);
    let quiet = run("run", "console-quiet", &code, &["-q"]);
    assert_eq!(quiet.stdout, "hello\n");
    // A host without all of the profile's instructions is warned about whatever it is.
    let host = |line: &str| line.contains("which this host's KVM does not give");
    assert!(quiet.stderr.lines().all(host), "{}", quiet.stderr);
}

#[test]
fn json_holds_the_console_and_nothing_mixes_into_it() {
    if !have_kvm("json_holds_the_console_and_nothing_mixes_into_it") {
        return;
    }
    let code = [say("hello\n"), exit_with(3)].concat();
    for command in ["run", "stat", "compare"] {
        let ran = run(command, &format!("json-{command}"), &code, &["--json", "-vv"]);
        let document = json(&ran);
        assert_eq!(document["command"], command);
        assert_eq!(document["console"], "hello\n");
        assert_eq!(document["outcome"]["kind"], "exit");
        assert_eq!(document["exit_code"], 1);
        assert_eq!(ran.code, Some(1));
        assert_eq!(document["counts"], "synthetic");
    }
}

#[test]
fn guests_that_die_have_a_register_dump_and_a_next_step() {
    if !have_kvm("guests_that_die_have_a_register_dump_and_a_next_step") {
        return;
    }
    for (name, code, outcome) in [("halt", HALT, "halted"), ("crash", CRASH, "triple fault")] {
        let ran = run("run", name, &code, &[]);
        assert_eq!(ran.code, Some(4), "{}", ran.stderr);
        for part in [outcome, "registers", "rip", "code      ", "\n  next: "] {
            assert!(ran.stderr.contains(part), "{name}: {part:?} in {}", ran.stderr);
        }
    }
}

#[test]
fn a_guest_that_hangs_is_ended() {
    if !have_kvm("a_guest_that_hangs_is_ended") {
        return;
    }
    let ran = run("run", "hang", &HANG, &["--timeout", "1"]);
    assert_eq!(ran.code, Some(124), "{}", ran.stderr);
    assert!(ran.stderr.contains("--timeout"), "{}", ran.stderr);
    // The guest's own address is in the dump.
    assert!(ran.stderr.contains(&format!("{:x}", BASE + 32)), "{}", ran.stderr);
}

#[test]
fn no_counts_source_is_refused_and_never_guessed() {
    if !have_kvm("no_counts_source_is_refused_and_never_guessed") {
        return;
    }
    let image = TempFile::new("model", &flat_image(&exit_with(0)));
    let ran = vpmu(&["run", image.as_str(), "--engine", "kvm", "--counts", "model"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("next: "), "{}", ran.stderr);
}

#[test]
fn too_little_memory_says_how_much_is_needed() {
    if !have_kvm("too_little_memory_says_how_much_is_needed") {
        return;
    }
    let ran = run("run", "memory", &exit_with(0), &["--memory", "1"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("the least is 4 MiB"), "{}", ran.stderr);
}

#[test]
fn a_trace_that_cannot_be_written_is_a_usage_error() {
    if !have_kvm("a_trace_that_cannot_be_written_is_a_usage_error") {
        return;
    }
    let ran = run("run", "trace", &exit_with(0), &["--trace", "/nonexistent/trace"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("/nonexistent/trace"), "{}", ran.stderr);
}

/// A guest that does what the last letter of its command line says: `b` hangs, `c` crashes, everything
/// else prints that the test `good_a` passed.
fn test_guest() -> Vec<u8> {
    let mut code = vec![
        0x8B, 0x73, 0x10, // mov esi, [ebx + 16]: multiboot_info.cmdline
        0xAC, // lodsb
        0x84, 0xC0, // test al, al
        0x75, 0xFB, // jnz lodsb
        0x8A, 0x46, 0xFE, // mov al, [esi - 2]
        0x3C, b'b', // cmp al, 'b'
        0x74, 0xFE, // je self
        0x3C, b'c', // cmp al, 'c'
        0x75, 0x02, // jne over ud2
        0x0F, 0x0B, // ud2
    ];
    code.extend(say("ok 1 - good_a\n"));
    code.extend(exit_with(0));
    code
}

#[test]
fn isolated_tests_do_not_stop_each_other() {
    if !have_kvm("isolated_tests_do_not_stop_each_other") {
        return;
    }
    let tests = [("hangs_b", 10), ("crashes_c", 20), ("silent_d", 30), ("good_a", 40)];
    let image = TempFile::new("isolate", &elf_with_tests(&test_guest(), &tests));
    let listed = json(&vpmu(&["list", "tests", image.as_str(), "--json"]));
    assert_eq!(listed["tests"].as_array().map(Vec::len), Some(4));

    let args = ["run", image.as_str(), "--counts", "synthetic", "--isolate", "--timeout", "1"];
    let ran = vpmu(&args);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let results: Vec<&str> =
        ran.stdout.lines().filter(|line| line.starts_with("ok") || line.starts_with("not ok")).collect();
    let expected = ["not ok 1 - hangs_b", "not ok 2 - crashes_c", "not ok 3 - silent_d", "ok 4 - good_a"];
    assert_eq!(results, expected);
    assert!(ran.stdout.starts_with("TAP version 13\n1..4\n"), "{}", ran.stdout);
    for part in ["timed out", "at: src/guest.rs:10", "triple fault", "at: src/guest.rs:20", "no result"] {
        assert!(ran.stdout.contains(part), "{part:?} in {}", ran.stdout);
    }

    let good = [&args[..], &["--test", "good_a", "--json"]].concat();
    let ran = vpmu(&good);
    let document = json(&ran);
    assert_eq!((ran.code, document["passed"].as_u64()), (Some(0), Some(1)));
    assert_eq!(document["tests"][0]["status"], "passed");
}

#[test]
fn a_mistyped_test_is_answered_with_the_right_name() {
    let image = TempFile::new("typo", &elf_with_tests(&test_guest(), &[("good_a", 1)]));
    let ran = vpmu(&["run", image.as_str(), "--test", "good_b"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("did you mean `good_a`?"), "{}", ran.stderr);
}
