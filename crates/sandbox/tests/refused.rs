//! A process in the sandbox: the test starts itself again, and the child does what the variable says.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use sandbox::Needs;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, exit};
use std::thread;

const VARIABLE: &str = "VPMU_SANDBOX_CHILD";
const SIGSYS: i32 = 31;

/// Runs the child's part with this task, and says how it ended.
fn child(task: &str) -> ExitStatus {
    let program = std::env::current_exe().expect("a test has a program");
    let mut command = Command::new(program);
    command.args(["--exact", "the_part_of_the_child", "--test-threads", "1"]).env(VARIABLE, task);
    command.output().expect("the child starts").status
}

/// Does nothing unless a test has started it.
#[test]
fn the_part_of_the_child() {
    let Ok(task) = std::env::var(VARIABLE) else { return };
    let file = std::env::temp_dir().join(format!("vpmu-sandbox-{}", std::process::id()));
    fs::write(&file, "secret").expect("the temporary directory can be written");
    let other = thread::spawn(thread::park);
    let files = sandbox::enter(Needs::default()).expect("a sandbox");
    let done = match task.as_str() {
        "allowed" => {
            let memory = vec![1_u8; 8 << 20];
            let thread = thread::spawn(move || memory.iter().map(|byte| u64::from(*byte)).sum::<u64>());
            let sum = thread.join().expect("a thread");
            other.thread().unpark();
            sum == 8 << 20
        }
        "read" => fs::read(&file).is_err() && fs::read("/etc/passwd").is_err(),
        "write" => fs::write(&file, "changed").is_err() && fs::File::create("/tmp/vpmu-sandbox-new").is_err(),
        "own" => {
            let own = fs::read_to_string("/proc/self/status").is_ok();
            own == (files == sandbox::Files::Landlock)
        }
        // From here on nothing comes back.
        "program" => Command::new("/bin/true").status().is_ok(),
        "socket" => UdpSocket::bind("127.0.0.1:0").is_ok(),
        "remove" => fs::remove_file(&file).is_ok(),
        "thread" => thread::spawn(|| UdpSocket::bind("127.0.0.1:0").is_ok()).join().is_ok(),
        _ => false,
    };
    exit(if done { 40 } else { 41 });
}

#[test]
fn what_a_run_needs_is_allowed() {
    assert_eq!(child("allowed").code(), Some(40));
    assert_eq!(child("own").code(), Some(40));
}

#[test]
fn files_cannot_be_opened() {
    assert_eq!(child("read").code(), Some(40));
    assert_eq!(child("write").code(), Some(40));
}

#[test]
fn other_calls_end_the_process() {
    for task in ["program", "socket", "remove", "thread"] {
        let status = child(task);
        assert_eq!(status.signal(), Some(SIGSYS), "{task}: {status}");
    }
}
