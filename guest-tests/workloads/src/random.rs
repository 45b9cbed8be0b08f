//! The inner loop of a program that mostly calls the C library's `random()`.
//!
//! Published TMA tables of guests use such a program. What it costs depends less on the generator (additive feedback
//! over 31 words: each is the sum of those 3 and 31 places before) than on the lock around it, of which glibc on
//! x86-64 has had two kinds:
//!
//! - A process with one thread tests a flag, then changes the lock with instructions without a LOCK prefix: CMPXCHG
//!   and DEC (`sysdeps/unix/sysv/linux/x86_64/lowlevellock.h` of 2019, `x86/lowlevellock.h` of 2020). The tables are
//!   from that time.
//! - Always LOCK CMPXCHG and XCHG: version 2.36 as Debian 12 builds it.

use core::cell::Cell;
use core::hint::black_box;
use core::slice::Iter;
use core::sync::atomic::{AtomicU32, Ordering};

/// Words of state, and how far the two places in it are apart.
const WORDS: usize = 31;
const SEPARATION: usize = 3;

/// 31 words of state two by two, then the place of the next one.
pub(crate) const MEMORY_WORDS: usize = WORDS.div_ceil(2) + 1;

/// The state as `srandom(1)` leaves it: powers of 16807 modulo 2^31 - 1, and ten rounds that are discarded.
pub(crate) fn prepare(memory: &mut [u64]) {
    let mut words = [0; WORDS];
    let mut word = 1_u64;
    for place in &mut words {
        *place = word as u32;
        word = word * 16_807 % 0x7FFF_FFFF;
    }
    let mut place = SEPARATION;
    for _ in 0..10 * WORDS {
        words[place] = words[place].wrapping_add(words[(place + WORDS - SEPARATION) % WORDS]);
        place = (place + 1) % WORDS;
    }
    save(memory, &words, place);
}

fn save(memory: &mut [u64], words: &[u32; WORDS], place: usize) {
    memory.fill(0);
    for (n, word) in words.iter().enumerate() {
        memory[n / 2] |= u64::from(*word) << (32 * (n % 2));
    }
    memory[MEMORY_WORDS - 1] = place as u64;
}

/// What the C library keeps in static variables.
struct Library<'a> {
    generator: Generator<'a>,
    /// Zero is free.
    lock: AtomicU32,
    /// Not zero if the process has more than one thread.
    threads: AtomicU32,
}

/// A generator, and where in its state the next two words are.
struct Generator<'a> {
    additive: bool,
    front: Iter<'a, Cell<u32>>,
    rear: Iter<'a, Cell<u32>>,
    state: &'a [Cell<u32>],
}

/// The word at a place, which then moves on.
#[inline(always)]
fn advance<'a>(place: &mut Iter<'a, Cell<u32>>, state: &'a [Cell<u32>]) -> Option<&'a Cell<u32>> {
    if place.len() == 0 {
        *place = state.iter();
    }
    place.next()
}

/// `random_r`: the next number; false if the generator is not what it should be.
#[inline(never)]
fn next(generator: &mut Generator<'_>, result: &mut u32) -> bool {
    if !generator.additive {
        return false;
    }
    let Some(front) = advance(&mut generator.front, generator.state) else { return false };
    let Some(rear) = advance(&mut generator.rear, generator.state) else { return false };
    let sum = front.get().wrapping_add(rear.get());
    front.set(sum);
    *result = sum >> 1;
    true
}

/// CMPXCHG without LOCK from 0 to 1; what the lock was.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(unsafe_code, reason = "no safe operation compiles to CMPXCHG without LOCK")]
fn exchange_alone(lock: &AtomicU32) -> u32 {
    let mut was = 0_u32;
    // SAFETY: `lock` is 4 bytes that are valid, aligned, and may change through a shared reference; no other thread
    // has it. No other memory and no stack is used.
    unsafe {
        core::arch::asm!(
            "cmpxchg dword ptr [{lock}], {one:e}",
            lock = in(reg) lock.as_ptr(),
            one = in(reg) 1,
            inout("eax") was,
            options(nostack),
        );
    }
    was
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn exchange_alone(lock: &AtomicU32) -> u32 {
    exchange(lock)
}

/// LOCK CMPXCHG from 0 to 1; what the lock was.
#[inline(always)]
fn exchange(lock: &AtomicU32) -> u32 {
    lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).unwrap_or_else(|was| was)
}

/// `random()` of a process with one thread.
#[inline(never)]
fn alone(library: &mut Library<'_>) -> u64 {
    let Library { generator, lock, threads } = library;
    let was = if threads.load(Ordering::Relaxed) == 0 { exchange_alone(lock) } else { exchange(lock) };
    if was != 0 {
        contended(lock);
    }
    let mut result = 0;
    next(generator, &mut result);
    if threads.load(Ordering::Relaxed) == 0 {
        lock.store(lock.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    } else {
        lock.store(0, Ordering::Release);
    }
    result.into()
}

/// `random()` with a lock that is always atomic.
#[inline(never)]
fn shared(library: &mut Library<'_>) -> u64 {
    let Library { generator, lock, .. } = library;
    if exchange(lock) != 0 {
        contended(lock);
    }
    let mut result = 0;
    next(generator, &mut result);
    if lock.swap(0, Ordering::Release) > 1 {
        contended(lock);
    }
    result.into()
}

/// Here the C library would call the kernel.
#[cold]
#[inline(never)]
fn contended(lock: &AtomicU32) {
    lock.store(0, Ordering::Relaxed);
}

fn run(memory: &mut [u64], iterations: u64, function: fn(&mut Library<'_>) -> u64) -> u64 {
    let mut words: [u32; WORDS] = core::array::from_fn(|n| (memory[n / 2] >> (32 * (n % 2))) as u32);
    let place = memory[MEMORY_WORDS - 1] as usize;
    let state = Cell::from_mut(&mut words[..]).as_slice_of_cells();
    let generator = Generator {
        additive: true,
        front: state[place..].iter(),
        rear: state[(place + WORDS - SEPARATION) % WORDS..].iter(),
        state,
    };
    let mut library = Library { generator, lock: AtomicU32::new(0), threads: AtomicU32::new(0) };
    let mut sum = 0_u64;
    for _ in 0..iterations {
        // A call of another object goes through a pointer.
        sum = sum.wrapping_add(black_box(function)(&mut library));
    }
    let left = library.generator.front.len();
    save(memory, &words, (WORDS - left) % WORDS);
    sum
}

/// Each iteration calls `random()` of a process with one thread.
#[inline(never)]
pub(crate) fn single_thread(memory: &mut [u64], iterations: u64) -> u64 {
    run(memory, iterations, alone)
}

/// Each iteration calls `random()` with a lock that is always atomic.
#[inline(never)]
pub(crate) fn locked(memory: &mut [u64], iterations: u64) -> u64 {
    run(memory, iterations, shared)
}
