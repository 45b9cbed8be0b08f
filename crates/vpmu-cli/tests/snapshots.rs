//! Snapshots as a user takes and resumes them; files that are none, and files that were tampered with.

mod support;

use std::fs;
use support::{Ran, TempFile, flat_image, json, vpmu};

/// Of what [`guest`] retires, in the middle of its counting.
const AT: &str = "400";

/// Counts instructions in fixed counter 0 and prints `a` to `z` while it does so.
fn guest() -> TempFile {
    let wrmsr = |index: u32, low: u32, high: u32| {
        let mut code = vec![0xB9]; //                   mov ecx, index
        code.extend(index.to_le_bytes());
        code.push(0xB8); //                             mov eax, low
        code.extend(low.to_le_bytes());
        code.push(0xBA); //                             mov edx, high
        code.extend(high.to_le_bytes());
        code.extend([0x0F, 0x30]); //                   wrmsr
        code
    };
    let mut code = wrmsr(0x38D, 0x3, 0);
    code.extend(wrmsr(0x38F, 0, 1));
    code.extend([0x66, 0xBA, 0xF8, 0x03]); //           mov dx, 0x3f8
    code.extend([0xB0, b'a']); //                       mov al, 'a'
    code.push(0xEE); //                            1:   out dx, al
    code.extend([0xB9, 20, 0, 0, 0]); //                mov ecx, 20
    code.extend([0xE2, 0xFE]); //                       loop .
    code.extend([0xFE, 0xC0]); //                       inc al
    code.extend([0x3C, b'z' + 1]); //                   cmp al, 'z' + 1
    code.extend([0x75, 0xF2]); //                       jne 1b
    code.extend(wrmsr(0x38F, 0, 0));
    code.extend([0xB9, 0x09, 0x03, 0, 0, 0x0F, 0x32]); // mov ecx, 0x309; rdmsr
    code.extend([0x31, 0xC0, 0xE6, 0xF4]); //           xor eax, eax; out 0xf4, al
    TempFile::new("snapshot-guest", &flat_image(&code))
}

/// Runs the guest and returns what the run says, and the file that it wrote at [`AT`].
fn saved(name: &str, more: &[&str]) -> (Ran, TempFile) {
    let image = guest();
    let file = TempFile::new(name, b"");
    let mut args = vec!["run", image.as_str(), "--snapshot-at", AT, "--snapshot", file.as_str()];
    args.extend(more);
    let ran = vpmu(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (ran, file)
}

/// Asserts one line of error that holds all `parts`, with a next step, and status 2.
fn assert_refused(ran: &Ran, parts: &[&str]) {
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("error: "), "{}", ran.stderr);
    assert!(lines[1].trim_start().starts_with("next: "), "{}", ran.stderr);
    for part in parts {
        assert!(lines[0].contains(part), "{part:?} in {}", ran.stderr);
    }
}

/// Writes `bytes` with a right checksum.
fn sealed(name: &str, mut bytes: Vec<u8>) -> TempFile {
    let checksum = crc32fast::hash(&bytes[16..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    TempFile::new(name, &bytes)
}

/// The file with `from` replaced by `to` in its header.
fn forged(name: &str, file: &TempFile, from: &str, to: &str) -> TempFile {
    let bytes = fs::read(file.as_str()).expect("the snapshot is there");
    let (prefix, rest) = bytes.split_at(24);
    let header = u64::from_le_bytes(prefix[16..].try_into().expect("eight bytes")) as usize;
    let (header, pages) = rest.split_at(header);
    let header = std::str::from_utf8(header).expect("JSON is UTF-8");
    assert!(header.contains(from), "{from} in {}", &header[..header.len().min(400)]);
    let header = header.replacen(from, to, 1);
    let length = (header.len() as u64).to_le_bytes();
    sealed(name, [&prefix[..16], &length, header.as_bytes(), pages].concat())
}

#[test]
fn a_restored_run_prints_and_counts_what_is_left() {
    let (whole, file) = saved("rest", &["--json"]);
    let (whole, rest) = (json(&whole), json(&vpmu(&["run", "--restore", file.as_str(), "--json"])));
    let text = |document: &serde_json::Value| document["console"].as_str().unwrap_or_default().to_owned();
    let (all, end) = (text(&whole), text(&rest));
    assert_eq!(all, "abcdefghijklmnopqrstuvwxyz");
    assert!(all.ends_with(&end) && (1..26).contains(&end.len()), "{end:?}");
    assert_eq!(rest["counted"], whole["counted"]);
    assert_eq!(rest["windows"], whole["windows"]);
    assert_eq!(rest["outcome"], whole["outcome"]);
}

#[test]
fn a_snapshot_can_be_taken_of_a_restored_run() {
    let (_, first) = saved("first", &[]);
    let later = TempFile::new("later", b"");
    let args = ["run", "--restore", first.as_str(), "--snapshot-at", "500", "--snapshot", later.as_str()];
    let ran = vpmu(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let direct = TempFile::new("direct", b"");
    let image = guest();
    let args = ["run", image.as_str(), "--snapshot-at", "500", "--snapshot", direct.as_str()];
    assert_eq!(vpmu(&args).code, Some(0));
    let read = |file: &TempFile| fs::read(file.as_str()).expect("a snapshot");
    // Both name their image by the file name, which is the same.
    assert!(read(&later) == read(&direct), "the same point of the same run is the same file");
    let back = vpmu(&["run", "--restore", later.as_str(), "--snapshot-at", AT, "--snapshot", "x"]);
    assert_refused(&back, &["400", "500"]);
}

#[test]
fn stat_and_the_profile_survive() {
    let (_, file) = saved("profile", &["--profile", "icelake-sp"]);
    let stat = json(&vpmu(&["stat", "--restore", file.as_str(), "--json"]));
    assert_eq!(stat["profile"], "icelake-sp");
    assert!(stat["stat"].as_array().is_some_and(|rows| !rows.is_empty()), "{stat}");
}

#[test]
fn what_the_snapshot_decides_cannot_be_given_again() {
    let (_, file) = saved("again", &[]);
    for more in [["--profile", "icelake-sp"], ["--memory", "64"], ["--engine", "kvm"], ["--append", "x"]] {
        let ran = vpmu(&[&["run", "--restore", file.as_str()], &more[..]].concat());
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("--restore") && ran.stderr.contains(more[0]), "{}", ran.stderr);
    }
}

#[test]
fn a_point_that_the_run_does_not_reach_says_where_it_ended() {
    let image = guest();
    let file = TempFile::new("far", b"");
    let args = ["run", image.as_str(), "-q", "--snapshot-at", "1000000", "--snapshot", file.as_str()];
    let ran = vpmu(&args);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("1000000"), "{}", ran.stderr);
    let kvm = vpmu(&[&args[..], &["--engine", "kvm", "--counts", "synthetic"]].concat());
    // Without /dev/kvm the engine itself is the reason.
    assert!(matches!(kvm.code, Some(2 | 3)), "{}", kvm.stderr);
}

#[test]
fn files_that_are_no_snapshot_are_refused_in_one_line() {
    let restore = |path: &str| vpmu(&["run", "--restore", path]);
    assert_refused(&restore("/nonexistent/s"), &["/nonexistent/s"]);
    assert_refused(&restore("/"), &["snapshot /"]);
    let junk = TempFile::new("junk-snapshot", b"\x7FELF and more");
    assert_refused(&restore(junk.as_str()), &[junk.as_str(), "no snapshot"]);
    let empty = TempFile::new("empty-snapshot", b"");
    assert_refused(&restore(empty.as_str()), &["no snapshot"]);
    let (_, file) = saved("whole", &[]);
    let good = fs::read(file.as_str()).expect("the snapshot is there");
    for len in [8, 11, 15, 23, 24, 100, good.len() / 2, good.len() - 1] {
        let cut = TempFile::new("cut", &good[..len]);
        assert_refused(&restore(cut.as_str()), &["damaged"]);
    }
    for at in [8, 12, 16, 30, good.len() / 2, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] = if at == 8 { 17 } else { bytes[at] ^ 0x10 };
        let file = TempFile::new("flipped", &bytes);
        assert_refused(&restore(file.as_str()), &[if at == 8 { "version 17" } else { "damaged" }]);
    }
    let longer = sealed("longer", [&good[..], b"x"].concat());
    assert_refused(&restore(longer.as_str()), &["damaged"]);
}

#[test]
fn snapshots_of_other_machines_are_refused_in_one_line() {
    let (_, file) = saved("forge", &["--memory", "32"]);
    let restore = |file: &TempFile| vpmu(&["run", "--restore", file.as_str()]);
    let profile = forged("f-profile", &file, "\"profile\":\"sapphire-rapids\"", "\"profile\":\"i486\"");
    assert_refused(&restore(&profile), &["i486"]);
    // Its vPMU state does not fit the other profile's registers.
    let other = forged("f-other", &file, "\"profile\":\"sapphire-rapids\"", "\"profile\":\"icelake-sp\"");
    assert_refused(&restore(&other), &["of profile \"sapphire-rapids\"", "\"icelake-sp\""]);
    // The image's page lies above the end of RAM, or RAM is no size that a machine has.
    for (mib, part) in [("1", "MiB"), ("0", "MiB"), ("99999999", "MiB"), ("-1", "damaged")] {
        let memory = forged("f-memory", &file, "\"memory_mib\":32", &format!("\"memory_mib\":{mib}"));
        assert_refused(&restore(&memory), &[part]);
    }
    let field = forged("f-field", &file, "\"memory_mib\"", "\"more\":1,\"memory_mib\"");
    assert_refused(&restore(&field), &["more"]);
}

/// A file with a corrected checksum gives a run or an error, never a crash of `vpmu`.
#[test]
fn tampered_headers_end_in_a_run_or_an_error() {
    let (_, file) = saved("tamper", &["--memory", "32"]);
    let good = fs::read(file.as_str()).expect("the snapshot is there");
    let header = u64::from_le_bytes(good[16..24].try_into().expect("eight bytes")) as usize;
    let digits: Vec<usize> = (24..24 + header).filter(|at| good[*at].is_ascii_digit()).collect();
    for step in 0..48 {
        let mut bytes = good.clone();
        bytes[digits[step * digits.len() / 48]] = b'9';
        let file = sealed("tampered", bytes);
        let ran = vpmu(&["run", "-q", "--timeout", "1", "--restore", file.as_str()]);
        assert!(matches!(ran.code, Some(0 | 1 | 2 | 4 | 77 | 124)), "{:?} {}", ran.code, ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}
