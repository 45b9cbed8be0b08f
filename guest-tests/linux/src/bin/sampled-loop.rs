//! A loop whose instructions are known, and what samples of it have to say:
//!
//! ```text
//! sampled-loop run ROUNDS    runs the loop
//! sampled-loop chase KIB STEPS  follows pointers through so much memory, a line each, in an order of no stride
//! sampled-loop store KIB STEPS  stores to so much memory in that order
//! sampled-loop check         reads `perf script -F ip,sym,symoff`, and says how many samples are in the loop and how
//!                            many of these are about no instruction of it
//! ```
//!
//! Loop, chase and stores are an interval `sampled` of the VMM.

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
        "mov rsi, qword ptr [rsi]",
        "dec rdi",
        "jnz 2b",
        "ret",
        ".size sampled_chase, . - sampled_chase",
        ".globl sampled_store",
        ".type sampled_store, @function",
        "sampled_store:",
        "2: mov rax, qword ptr [rsi]",
        "mov qword ptr [rax + 8], rdi",
        "add rsi, 8",
        "dec rdi",
        "jnz 2b",
        "ret",
        ".size sampled_store, . - sampled_store",
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
        fn sampled_store(stores: u64, places: *const u64);
    }

    pub(super) fn run(rounds: u64) {
        let mut data = [1, 0];
        // SAFETY: it uses RAX, RDI and RSI, as functions may, and the two words.
        super::vmm::interval("sampled", || unsafe { sampled_loop(rounds.max(1), &raw mut data) });
    }

    /// Lines of memory, of which each points to another one, by a generator with the full period (Knuth, volume 2,
    /// 3.2.1.2).
    struct Lines {
        memory: Vec<u64>,
        /// The word that the first line begins with.
        skip: usize,
        count: usize,
    }

    const WORDS: usize = 8;

    impl Lines {
        fn new(kib: usize) -> Self {
            let count = (kib * 16).next_power_of_two();
            let mut memory = vec![0_u64; (count + 1) * WORDS];
            let skip = memory.as_ptr().align_offset(64);
            let base = memory[skip..].as_ptr() as u64;
            let mut line = 0;
            for _ in 0..count {
                let next = (line * 1_664_525 + 1_013_904_223) % count;
                memory[skip + line * WORDS] = base + (next * WORDS * 8) as u64;
                line = next;
            }
            Self { memory, skip, count }
        }

        fn first(&self) -> *const u64 {
            self.memory[self.skip..].as_ptr()
        }
    }

    pub(super) fn chase(kib: usize, steps: u64) {
        let lines = Lines::new(kib);
        let (rounds, first) = (steps.max(1).div_ceil(2), lines.first());
        // SAFETY: it reads pointers to lines of memory that outlives it, and uses RDI and RSI as functions may.
        super::vmm::interval("sampled", || unsafe { sampled_chase(rounds, first) });
        std::hint::black_box(&lines.memory);
    }

    pub(super) fn store(kib: usize, steps: u64) {
        let lines = Lines::new(kib);
        let mut line = 0;
        let order: Vec<u64> = std::iter::repeat_with(|| {
            let place = lines.memory[lines.skip + line * WORDS];
            line = (place - lines.first() as u64) as usize / (WORDS * 8);
            place
        })
        .take(lines.count.min(usize::try_from(steps.max(1)).unwrap_or(usize::MAX)))
        .collect();
        super::vmm::interval("sampled", || {
            for _ in 0..steps.max(1).div_ceil(order.len() as u64) {
                // SAFETY: it writes to the second words of lines, which nothing else uses, by as many pointers to
                // lines as there are, and uses RAX, RDI and RSI as functions may.
                unsafe { sampled_store(order.len() as u64, order.as_ptr()) }
            }
        });
        std::hint::black_box(&lines.memory);
    }

    /// Where instructions begin.
    pub(super) fn places() -> &'static [u32] {
        &sampled_places
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod sampled {
    pub(super) fn run(_rounds: u64) {}

    pub(super) fn chase(_kib: usize, _steps: u64) {}

    pub(super) fn store(_kib: usize, _steps: u64) {}

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
        (Some("store"), Some(kib), Some(rounds)) => match usize::try_from(kib) {
            Ok(kib @ 1..=0x10_0000) => sampled::store(kib, rounds),
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
            eprintln!("usage: sampled-loop run ROUNDS | chase KIB STEPS | store KIB STEPS | check");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
