//! A loop whose instructions are known, and what samples of it have to say:
//!
//! ```text
//! sampled-loop run ROUNDS    runs the loop
//! sampled-loop chase KIB ROUNDS  follows pointers through so much memory, a line each, in an order of no stride
//! sampled-loop check         reads `perf script -F ip,sym,symoff`, and says how many samples are in the loop and how
//!                            many of these are about no instruction of it
//! ```
//!
//! Loop and chase are an interval `sampled` of the VMM.

#![expect(unsafe_code, reason = "instructions that the program is about")]

use linux_guest::vmm;
use std::io::{self, BufRead};
use std::process::ExitCode;

#[cfg(target_arch = "x86_64")]
mod sampled {
    std::arch::global_asm!(
        ".globl sampled_loop",
        ".type sampled_loop, @function",
        "sampled_loop:",
        "12: mov rax, qword ptr [rsi]",
        "3: add qword ptr [rsi + 8], rax",
        "4: call 8f",
        "5: dec rdi",
        "6: jnz 12b",
        "7: ret",
        "8: ret",
        ".size sampled_loop, . - sampled_loop",
        ".globl sampled_chase",
        ".type sampled_chase, @function",
        "sampled_chase:",
        "2: mov rsi, qword ptr [rsi]",
        "dec rdi",
        "jnz 2b",
        "ret",
        ".size sampled_chase, . - sampled_chase",
        ".pushsection .rodata",
        ".globl sampled_places",
        "sampled_places:",
        ".long 12b - 12b, 3b - 12b, 4b - 12b, 5b - 12b, 6b - 12b, 7b - 12b, 8b - 12b",
        ".popsection",
    );

    unsafe extern "C" {
        safe static sampled_places: [u32; 7];
        fn sampled_loop(rounds: u64, data: *mut [u64; 2]);
        fn sampled_chase(rounds: u64, first: *const u64);
    }

    pub(super) fn run(rounds: u64) {
        let mut data = [1, 0];
        // SAFETY: it uses RAX, RDI and RSI, as functions may, and the two words.
        super::vmm::interval("sampled", || unsafe { sampled_loop(rounds.max(1), &raw mut data) });
    }

    /// Each line points to another one, by a generator with the full period (Knuth, volume 2, 3.2.1.2).
    pub(super) fn chase(kib: usize, rounds: u64) {
        const WORDS: usize = 8;
        let lines = (kib * 16).next_power_of_two();
        let mut memory = vec![0_u64; (lines + 1) * WORDS];
        let skip = memory.as_ptr().align_offset(64);
        let base = memory[skip..].as_ptr() as u64;
        let mut line = 0;
        for _ in 0..lines {
            let next = (line * 1_664_525 + 1_013_904_223) % lines;
            memory[skip + line * WORDS] = base + (next * WORDS * 8) as u64;
            line = next;
        }
        // SAFETY: it reads pointers to lines of `memory`, which outlives it, and uses RDI and RSI as functions may.
        super::vmm::interval("sampled", || unsafe { sampled_chase(rounds.max(1), base as *const u64) });
        std::hint::black_box(&memory);
    }

    /// Where instructions begin.
    pub(super) fn places() -> &'static [u32] {
        &sampled_places
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod sampled {
    pub(super) fn run(_rounds: u64) {}

    pub(super) fn chase(_kib: usize, _rounds: u64) {}

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
    let command = args.next();
    let mut numbers = args.map_while(|text| text.parse::<u64>().ok());
    match (command.as_deref(), numbers.next(), numbers.next()) {
        (Some("run"), Some(rounds), None) => sampled::run(rounds),
        (Some("chase"), Some(kib), Some(rounds)) => match usize::try_from(kib) {
            Ok(kib @ 1..=0x10_0000) => sampled::chase(kib, rounds),
            _ => return ExitCode::FAILURE,
        },
        (Some("check"), None, None) => {
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
            eprintln!("usage: sampled-loop run ROUNDS | chase KIB ROUNDS | check");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
