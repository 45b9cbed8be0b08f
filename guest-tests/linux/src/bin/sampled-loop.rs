//! A loop whose instructions are known, and what samples of it have to say:
//!
//! ```text
//! sampled-loop run ROUNDS    runs the loop
//! sampled-loop check         reads `perf script -F ip,sym,symoff`, and says how many samples are in the loop and how
//!                            many of these are about no instruction of it
//! ```

#![expect(unsafe_code, reason = "instructions that the program is about")]

use std::io::{self, BufRead};
use std::process::ExitCode;

#[cfg(target_arch = "x86_64")]
mod sampled {
    std::arch::global_asm!(
        ".globl sampled_loop",
        ".type sampled_loop, @function",
        "sampled_loop:",
        "2: mov rax, qword ptr [rsi]",
        "3: add qword ptr [rsi + 8], rax",
        "4: call 8f",
        "5: dec rdi",
        "6: jnz 2b",
        "7: ret",
        "8: ret",
        ".size sampled_loop, . - sampled_loop",
        ".pushsection .rodata",
        ".globl sampled_places",
        "sampled_places:",
        ".long 2b - 2b, 3b - 2b, 4b - 2b, 5b - 2b, 6b - 2b, 7b - 2b, 8b - 2b",
        ".popsection",
    );

    unsafe extern "C" {
        safe static sampled_places: [u32; 7];
        fn sampled_loop(rounds: u64, data: *mut [u64; 2]);
    }

    pub(super) fn run(rounds: u64) {
        let mut data = [1, 0];
        // SAFETY: it uses RAX, RDI and RSI, as functions may, and the two words.
        unsafe { sampled_loop(rounds.max(1), &raw mut data) }
    }

    /// Where instructions begin.
    pub(super) fn places() -> &'static [u32] {
        &sampled_places
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod sampled {
    pub(super) fn run(_rounds: u64) {}

    pub(super) fn places() -> &'static [u32] {
        &[]
    }
}

/// The offset in a word such as `sampled_loop+0x3`.
fn offset(line: &str) -> Option<u32> {
    let word = line.split_whitespace().find_map(|word| word.strip_prefix("sampled_loop+0x"))?;
    u32::from_str_radix(word, 16).ok()
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match (args.next().as_deref(), args.next().and_then(|text| text.parse().ok())) {
        (Some("run"), Some(rounds)) => sampled::run(rounds),
        (Some("check"), None) => {
            let mut seen = vec![0_u64; sampled::places().len()];
            let (mut samples, mut bad) = (0, 0);
            for offset in io::stdin().lock().lines().map_while(Result::ok).filter_map(|line| offset(&line)) {
                samples += 1;
                match sampled::places().iter().position(|place| *place == offset) {
                    Some(place) => seen[place] += 1,
                    None => bad += 1,
                }
            }
            println!("by instruction: {seen:?}");
            println!("{samples} samples, {bad} bad");
        }
        _ => {
            eprintln!("usage: sampled-loop run ROUNDS | check");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
