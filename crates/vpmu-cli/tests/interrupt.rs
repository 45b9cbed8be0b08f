//! Ctrl-C: what there is so far is written, and the status says why it is not all.

mod support;

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;
use support::{TempFile, command, flat_image};

/// 32-bit code: programs PMC0 to count instructions, starts it, prints `x` and stays in a loop.
fn counts_forever() -> Vec<u8> {
    let mut code = Vec::new();
    for (msr, low) in [(0x186_u32, 0x43_00C0_u32), (0x38F, 1)] {
        code.push(0xB9); // mov ecx, msr
        code.extend(msr.to_le_bytes());
        code.push(0xB8); // mov eax, low
        code.extend(low.to_le_bytes());
        code.extend([0x31, 0xD2, 0x0F, 0x30]); // xor edx, edx; wrmsr
    }
    code.extend([0x66, 0xBA, 0xF8, 0x03, 0xB0, b'x', 0xEE]); // mov dx, 0x3f8; mov al, 'x'; out dx, al
    code.extend([0xEB, 0xFE]); // jmp to itself
    code
}

/// Prints `x` for ever.
const PRINTS_FOREVER: [u8; 9] = [0x66, 0xBA, 0xF8, 0x03, 0xB0, b'x', 0xEE, 0xEB, 0xFD];

/// Whether signals reach what is started here. A script's `&` and `nohup` ignore them, vpmu leaves that as it is, and
/// its guests here do not end by themselves.
fn can_interrupt() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("this process has a status");
    let mask =
        status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask of ignored signals");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("in hexadecimal");
    let all = [Signal::INT, Signal::TERM].iter().all(|signal| mask >> (signal.as_raw() - 1) & 1 == 0);
    if !all {
        println!("SKIP interrupts: SIGINT is ignored here, as `&` in a script does");
    }
    all
}

fn start(args: &[&str]) -> Child {
    command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("vpmu starts")
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    kill_process(pid, signal).expect("it still runs");
}

/// Waits for the guest's `x` on one of the streams, sends a signal, and returns the status and what was printed.
fn interrupted(mut child: Child, on_stderr: bool, signal: Signal) -> (Option<i32>, String, String) {
    let mut first = [0];
    if on_stderr {
        child.stderr.as_mut().expect("piped").read_exact(&mut first).expect("the guest prints");
    } else {
        child.stdout.as_mut().expect("piped").read_exact(&mut first).expect("the guest prints");
    }
    assert_eq!(&first, b"x");
    send(&child, signal);
    let output = child.wait_with_output().expect("vpmu ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_interrupted_run_has_a_summary_and_a_whole_trace() {
    if !can_interrupt() {
        return;
    }
    let image = TempFile::new("forever", &flat_image(&counts_forever()));
    let trace = TempFile::new("trace.jsonl", b"");
    let child = start(&["run", image.as_str(), "--engine", "soft", "--trace", trace.as_str()]);
    let (code, _, stderr) = interrupted(child, false, Signal::INT);
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("interrupted by SIGINT") && stderr.contains("2 WRMSR"), "{stderr}");
    let lines = fs::read_to_string(trace.as_str()).expect("the trace is there");
    let ops: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["op"].clone())
        .collect();
    assert_eq!(ops, ["wrmsr", "wrmsr"]);
}

#[test]
fn an_interrupted_stat_has_the_counts_so_far() {
    if !can_interrupt() {
        return;
    }
    let image = TempFile::new("forever", &flat_image(&counts_forever()));
    let csv = TempFile::new("counts.csv", b"an earlier report");
    let child = start(&["stat", image.as_str(), "--engine", "soft", "--csv", csv.as_str()]);
    let (code, stdout, stderr) = interrupted(child, true, Signal::TERM);
    assert_eq!(code, Some(143), "{stderr}");
    assert!(stdout.contains("interrupted by SIGTERM"), "{stdout}");
    let line = stdout.lines().find(|line| line.starts_with("PMC0")).expect("a row");
    assert!(line.contains("INST_RETIRED"), "{line}");
    let lines = fs::read_to_string(csv.as_str()).expect("the report is there");
    assert!(lines.starts_with("window,kind,name,event,count") && lines.contains("counter,PMC0,"), "{lines}");
}

#[test]
fn an_interrupted_comparison_leaves_a_whole_page() {
    if !can_interrupt() {
        return;
    }
    let image = TempFile::new("forever", &flat_image(&counts_forever()));
    let page = TempFile::new("page.html", b"an earlier page");
    let trace = TempFile::new("trace.jsonl", b"");
    fs::remove_file(trace.as_str()).expect("it was there");
    let args = ["compare", image.as_str(), "--engine", "soft", "--json", "--html", page.as_str()];
    let child = start(&[&args[..], &["--trace", trace.as_str()]].concat());
    // The console is part of the document: the trace shows when the run begins.
    while !fs::exists(trace.as_str()).expect("its directory is there") {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(fs::read_to_string(page.as_str()).expect("the old page is there"), "an earlier page");
    send(&child, Signal::INT);
    let output = child.wait_with_output().expect("vpmu ends");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a whole document");
    assert_eq!((output.status.code(), &document["exit_code"]), (Some(130), &serde_json::json!(130)));
    assert_eq!(document["outcome"], serde_json::json!({ "kind": "interrupted", "signal": 2 }));
    let page = fs::read_to_string(page.as_str()).expect("the page is there");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page}");
}

#[test]
fn the_second_signal_ends_a_run_that_cannot_end_by_itself() {
    if !can_interrupt() {
        return;
    }
    let image = TempFile::new("prints", &flat_image(&PRINTS_FOREVER));
    let mut child = start(&["run", image.as_str(), "--engine", "soft"]);
    let mut first = [0];
    child.stdout.as_mut().expect("piped").read_exact(&mut first).expect("the guest prints");
    // Its console is not read any more, so that it waits for us as soon as the pipe is full.
    thread::sleep(Duration::from_millis(300));
    send(&child, Signal::INT);
    thread::sleep(Duration::from_millis(400));
    send(&child, Signal::INT);
    assert_eq!(child.wait().expect("vpmu ends").code(), Some(130));
}

/// Whether a process has a child with this argument (proc(5)).
fn has_child_with(parent: u32, argument: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).expect("it runs").flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<String> =
        children.flat_map(|ids| ids.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
    children
        .iter()
        .any(|id| fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains(argument)))
}

#[test]
fn interrupted_tests_are_stopped_and_reported() {
    if !can_interrupt() {
        return;
    }
    let good = TempFile::new("good", &flat_image(&[0xB0, 0, 0xE6, 0xF4])); // mov al, 0; out 0xF4, al
    let hang = TempFile::new("hang", &flat_image(&[0xEB, 0xFE]));
    let late = TempFile::new("late", &flat_image(&[0xB0, 0, 0xE6, 0xF4]));
    let (junit, tap) = (TempFile::new("out.xml", b""), TempFile::new("out.tap", b""));
    let mut child = start(
        &[
            &["test", good.as_str(), hang.as_str(), late.as_str(), "-p", "icelake-sp", "-j", "1"],
            &["--junit", junit.as_str(), "--tap", tap.as_str()][..],
        ]
        .concat(),
    );
    let mut report = BufReader::new(child.stderr.take().expect("piped"));
    let mut text = String::new();
    while !text.contains("PASS") {
        assert_ne!(report.read_line(&mut text).expect("UTF-8"), 0, "{text}");
    }
    // Bounded: a kernel may be without CONFIG_PROC_CHILDREN.
    for _ in 0..1_000 {
        if has_child_with(child.id(), hang.as_str()) {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    send(&child, Signal::INT);
    report.read_to_string(&mut text).expect("UTF-8");
    assert_eq!(child.wait().expect("vpmu ends").code(), Some(130), "{text}");
    assert!(text.contains("INTERRUPT [") && text.contains("2/3 tests run: 1 passed, 1 failed"), "{text}");
    assert!(text.contains("interrupted by SIGINT; 1 test was not run"), "{text}");
    let junit = fs::read_to_string(junit.as_str()).expect("the report is there");
    assert!(junit.contains("type=\"INTERRUPT\"") && junit.trim_end().ends_with("</testsuites>"), "{junit}");
    let tap = fs::read_to_string(tap.as_str()).expect("the report is there");
    assert!(tap.contains("ok 1 - good") && tap.ends_with("Bail out! interrupted by SIGINT\n"), "{tap}");
}
