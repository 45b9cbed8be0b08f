//! PTRACE_SINGLEBLOCK: the kernel sets IA32_DEBUGCTL.BTF and RFLAGS.TF, and the tracer hears of each taken branch.

#![expect(unsafe_code, reason = "system calls, and instructions that the program is about")]

use linux_guest::checks::Checks;
use std::io;

/// Rounds of the child's loop; the last one does not jump back.
const ROUNDS: u32 = 5;

unsafe extern "C" {
    /// Stops at its start and at its end, and goes round a loop in between.
    fn stepped_loop(rounds: u32);
    static stepped_loop_round: u8;
    static stepped_loop_end: u8;
}

std::arch::global_asm!(
    ".pushsection .text.stepped_loop, \"ax\"",
    ".global stepped_loop, stepped_loop_round, stepped_loop_end",
    "stepped_loop:",
    "    int3",
    "stepped_loop_round:",
    "    nop",
    "    nop",
    "    dec edi",
    "    jnz stepped_loop_round",
    "    int3",
    "stepped_loop_end:",
    "    ret",
    ".popsection",
);

pub(crate) fn check(checks: &mut Checks) {
    checks.check("PTRACE_SINGLEBLOCK stops at each taken branch", run());
}

fn run() -> Result<String, String> {
    // SAFETY: the child only calls functions that are safe after a fork, and ends without unwinding.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(io::Error::last_os_error().to_string()),
        // SAFETY: these take no pointer, and the loop keeps to the C calling convention.
        0 => unsafe {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            stepped_loop(ROUNDS);
            libc::_exit(0)
        },
        _ => {}
    }
    let stops = stops(child);
    // SAFETY: the child is ours, and ends by this at the latest.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    let stops = stops?;
    let round = (&raw const stepped_loop_round) as u64;
    let end = (&raw const stepped_loop_end) as u64;
    // The first stop is that of the INT3 in front of the loop; the last round does not jump back.
    let mut expected = vec![round; ROUNDS as usize];
    expected.push(end);
    let seen = format!("{} stops", stops.len());
    if stops == expected { Ok(seen) } else { Err(format!("{seen}: {stops:x?}, loop at {round:x}")) }
}

/// Where the child stops on its way to the end of the loop.
fn stops(child: libc::pid_t) -> Result<Vec<u64>, String> {
    let end = (&raw const stepped_loop_end) as u64;
    let mut stops = Vec::new();
    while stops.last() != Some(&end) {
        if stops.len() > 100 {
            return Err(format!("it does not arrive: {stops:x?}"));
        }
        let mut status = 0;
        // SAFETY: waits for our own child; the registers are plain data that the call fills in.
        let rip = unsafe {
            if libc::waitpid(child, &raw mut status, 0) != child || !libc::WIFSTOPPED(status) {
                return Err(format!("it did not stop, status {status:#x}"));
            }
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            if libc::ptrace(libc::PTRACE_GETREGS, child, 0, &raw mut registers) != 0 {
                return Err(io::Error::last_os_error().to_string());
            }
            registers.rip
        };
        stops.push(rip);
        // SAFETY: the child is stopped.
        if unsafe { libc::ptrace(PTRACE_SINGLEBLOCK, child, 0, 0) } != 0 {
            return Err(io::Error::last_os_error().to_string());
        }
    }
    Ok(stops)
}

/// Linux `asm/ptrace-abi.h`; the libc crate does not have it.
const PTRACE_SINGLEBLOCK: libc::c_uint = 33;
