//! Loops of one kind of instruction each, for measuring how fast an engine executes them. What watches the
//! console takes the time from a loop's `begin` line to its `end` line.
//!
//! Command line: `scale=N` sets the length of each loop, in about ten million instructions (default 1). Words
//! of the image's own have counters run. The `end` lines then tell the instructions.

use crate::{boot, check, println};

/// Words of memory that the loops use.
const WORDS: usize = 1 << 15;

/// A loop.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// On the console.
    pub name: &'static str,
    /// Iterations that make about ten million instructions.
    pub iterations: u64,
    /// Does so many iterations with 256 KiB of memory, whose first two words hold the double 1.0.
    pub run: fn(&mut [u64], u64),
}

/// Counters that run during a loop.
#[derive(Debug, Clone, Copy)]
pub struct Counters {
    /// Programs them, before the first loop.
    pub prepare: fn(),
    /// Starts them.
    pub start: fn(),
    /// Stops them, and says how many instructions have retired since they started.
    pub stop: fn() -> u64,
}

/// Runs the loops, as long as the command line asks for, with these counters.
pub fn measure(mixes: &[Mix], counters: Option<Counters>) {
    let scale = boot::option("scale").and_then(|scale| scale.parse().ok()).unwrap_or(1);
    if let Some(counters) = counters {
        (counters.prepare)();
    }
    let done = boot::with_scratch(WORDS, |memory| {
        mixes.iter().for_each(|mix| run(mix, memory, scale, counters));
    });
    check!(done.is_some(), "this machine has no free memory");
    println!("done");
}

fn run(mix: &Mix, memory: &mut [u64], scale: u64, counters: Option<Counters>) {
    memory.fill(0);
    // 1.0, so that floating-point numbers stay in range.
    memory[..2].fill(0x3FF0_0000_0000_0000);
    // An engine that translates code has done it before the measurement.
    (mix.run)(memory, 1000);
    println!("begin {}", mix.name);
    if let Some(counters) = counters {
        (counters.start)();
    }
    (mix.run)(memory, mix.iterations * scale);
    match counters {
        Some(counters) => println!("end {} instructions={}", mix.name, (counters.stop)()),
        None => println!("end {}", mix.name),
    }
}
