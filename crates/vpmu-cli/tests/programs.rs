//! `-- PROGRAM` as a user types it, as far as it goes without a kernel.

mod support;

use support::{Ran, command, vpmu};

/// With an empty cache.
fn without_kernel(args: &[&str]) -> Ran {
    let cache = std::env::temp_dir().join("vpmu-no-such-cache");
    let output = command(args).env("XDG_CACHE_HOME", cache).output().expect("vpmu");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn without_a_kernel_the_next_step_is_setup() {
    for command in ["run", "stat"] {
        let ran = without_kernel(&[command, "--", "true"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("`vpmu setup`") && ran.stderr.contains("--kernel"), "{}", ran.stderr);
    }
}

#[test]
fn what_is_missing_of_a_program_is_told_before_anything_boots() {
    let missing = without_kernel(&["stat", "--", "no-such-program-at-all"]);
    assert!(missing.stderr.contains("no-such-program-at-all"), "{}", missing.stderr);
    for named in ["/etc/passwd", "/etc/"] {
        let plain = without_kernel(&["stat", "--", named]);
        assert!(plain.stderr.contains("is not an executable file"), "{}", plain.stderr);
        assert!(plain.stderr.contains("chmod +x"), "{}", plain.stderr);
    }
    for (variable, found) in [("NOT_THERE_AT_ALL", "NAME=VALUE sets one"), ("=x", "needs a name")] {
        let odd = without_kernel(&["stat", "--env", variable, "--", "true"]);
        assert!(odd.stderr.contains(found), "{variable}: {}", odd.stderr);
    }
    let detail = without_kernel(&["stat", "--sample", "--", "true"]);
    assert!(
        detail.stderr.contains("--sample") && detail.stderr.contains("--detail timing"),
        "{}",
        detail.stderr
    );
    for wrong in ["--sample=100", "--sample=often"] {
        let odd = without_kernel(&["stat", "--detail", "timing", wrong, "--", "true"]);
        assert_eq!(odd.code, Some(2), "{wrong}: {}", odd.stderr);
    }
    let foreign = without_kernel(&["stat", "--stdin", "/no/such/file", "--", "true"]);
    assert!(foreign.stderr.contains("/no/such/file"), "{}", foreign.stderr);
    let event = without_kernel(&["stat", "-e", "instructoins", "--", "true"]);
    assert!(
        event.stderr.contains("instructoins") && event.stderr.contains("instructions"),
        "{}",
        event.stderr
    );
}

#[test]
fn a_program_does_not_go_with_an_image() {
    for args in [
        &["stat", "image.elf", "--", "true"][..],
        &["stat", "--restore", "file", "--", "true"],
        &["run", "--engine", "kvm", "--", "true"],
        &["stat", "image.elf", "-e", "cycles"],
    ] {
        assert_eq!(vpmu(args).code, Some(2), "{args:?}");
    }
}
