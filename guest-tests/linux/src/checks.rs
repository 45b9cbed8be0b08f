//! Checks that print their results as TAP.

#![expect(unsafe_code, reason = "instructions that a check is about")]

use std::fmt::Display;

/// Counts and prints results.
#[derive(Debug, Default)]
pub struct Checks {
    run: usize,
    failed: usize,
}

impl Checks {
    /// One check: `Ok` with what was seen, or `Err` with what is wrong.
    pub fn check(&mut self, name: &str, result: Result<String, String>) {
        self.run += 1;
        match result {
            Ok(seen) if seen.is_empty() => println!("ok {} - {name}", self.run),
            Ok(seen) => println!("ok {} - {name}: {seen}", self.run),
            Err(wrong) => {
                self.failed += 1;
                println!("not ok {} - {name}: {wrong}", self.run);
            }
        }
    }

    /// Prints the plan. True if every check passed.
    #[must_use]
    pub fn finish(self) -> bool {
        println!("1..{}", self.run);
        self.failed == 0
    }
}

/// An error as the text of a failed check.
pub fn text(error: impl Display) -> String {
    error.to_string()
}

/// `Ok(seen)` if the condition holds, else `Err(seen)`.
///
/// # Errors
/// The condition does not hold.
pub fn ensure(condition: bool, seen: String) -> Result<String, String> {
    if condition { Ok(seen) } else { Err(seen) }
}

/// Executes 2 instructions a round, one of them a branch; and a few around them.
pub fn spin(rounds: u64) {
    if rounds == 0 {
        return;
    }
    // SAFETY: it counts a register down.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("2:", "dec {0}", "jnz 2b", inout(reg) rounds => _, options(nomem, nostack));
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("2:", "subs {0}, {0}, #1", "b.ne 2b", inout(reg) rounds => _, options(nomem, nostack));
    }
}
