//! Images on the CPU of this host.
//!
//! Ticks of the TSC become core cycles by a chain of dependent multiplications before and behind each sample. A sample
//! counts if both agree, and if independent additions are as fast as without a busy neighbour: else the clock changes,
//! or a neighbour on the same core is busy.
#![expect(unsafe_code, reason = "runs generated code, on memory at fixed addresses")]

use super::image::{
    self, AFTER, ALIAS, BEFORE, CODE, COUNT, DATA, Entry, FILL, FXSAVE, IMAGES, Image, PAGE, Shape, TEMPLATE,
};
use crate::error::TaskError;
use std::arch::asm;
use std::arch::x86_64::{_mm_lfence, _rdtsc};
use std::ffi::c_void;
use std::ops::{Add, Sub};
use std::process::Command;
use std::time::Instant;
use std::{hint, io, mem, ptr, thread};

/// Bytes behind the two images: those that calibrate.
const CALIBRATION: u64 = 0x4_0000;
/// Multiplications of a chain, the cycles of each (3 on Intel's cores since Nehalem and on Zen), and how often its
/// loop runs, of two images: long enough that the code around them, whose time varies by some 20 cycles, is no more
/// than a thousandth.
const LINKS: u32 = 40;
const LATENCY: u32 = 3;
const ROUNDS: [u32; 2] = [20, 220];
/// How often both are run for a look.
const ATTEMPTS: u32 = 3;
/// How often the loop of independent additions runs, which take a fifth to a quarter of a cycle each.
const WIDE_ROUNDS: [u32; 2] = [100, 500];
/// By how much two looks at the clock may differ, and by how much additions may be slower than ever before.
const STEADY: f64 = 1.003;
/// The first for samples of a tenth of a second.
const STEADY_LONG: f64 = 1.01;
const QUIET: f64 = 1.08;
/// Executions of an image in a sample. With four of them, blocks of one cycle took 0.975 unrolled on Zen 3.
const OUTER: u64 = 64;
/// Looks at the clock before and behind a long sample.
const PATIENT_LOOKS: usize = 15;
/// Looks at the clock before anything is measured.
const LOOKS: u32 = 2000;

/// What a sample of ticks was worth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampled {
    /// Cycles of one execution of an image.
    pub(crate) cycles: f64,
    /// Half of all samples are within this share of it.
    pub(crate) spread: f64,
}

/// Code with its memory, which can be called.
#[derive(Debug)]
pub(crate) struct Function {
    entry: u64,
    mapped: [(u64, u64); 3],
}

/// Memory at the addresses of the images.
#[derive(Debug)]
pub(crate) struct Host {
    page: i32,
    chains: [Image; 2],
    wides: [Image; 2],
    /// Cycles of independent additions on a core without a busy neighbour.
    best: f64,
    /// Samples that did not count.
    pub(crate) dropped: u64,
}

fn failed(what: &'static str) -> TaskError {
    TaskError::Measure { what, reason: io::Error::last_os_error().to_string() }
}

/// Maps memory at a fixed address where nothing is.
fn map(at: u64, len: u64, executable: bool, file: Option<i32>) -> Result<(), TaskError> {
    let execute = if executable { libc::PROT_EXEC } else { 0 };
    let flags = libc::MAP_FIXED_NOREPLACE
        | file.map_or(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, |_| libc::MAP_SHARED);
    // SAFETY: MAP_FIXED_NOREPLACE replaces no mapping of this process.
    let got = unsafe {
        libc::mmap(
            at as *mut c_void,
            len as usize,
            libc::PROT_READ | libc::PROT_WRITE | execute,
            flags,
            file.unwrap_or(-1),
            0,
        )
    };
    if got as u64 == at { Ok(()) } else { Err(failed("memory at a fixed address")) }
}

/// Copies bytes to mapped memory.
fn write(at: u64, bytes: &[u8]) {
    // SAFETY: callers write to what `Host::new` has mapped, and Rust has no references to it.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
}

/// Fills a mapped page with addresses in the shared page.
fn fill(page: u64) {
    for offset in (0..PAGE).step_by(8) {
        write(page + offset, &FILL.to_le_bytes());
    }
}

fn read(at: u64) -> u64 {
    // SAFETY: as for `write`.
    unsafe { (at as *const u64).read_volatile() }
}

impl Host {
    /// Maps code, variables, and the page of all pages.
    pub(crate) fn new() -> Result<Self, TaskError> {
        map(CODE, IMAGES + CALIBRATION, true, None)?;
        map(DATA, 4 * PAGE, false, None)?;
        map(TEMPLATE, PAGE, false, None)?;
        // SAFETY: the name is a string with an end.
        let page = unsafe { libc::memfd_create(c"page".as_ptr(), 0) };
        // SAFETY: a plain system call.
        if page < 0 || unsafe { libc::ftruncate(page, PAGE as i64) } != 0 {
            return Err(failed("a shared page"));
        }
        map(ALIAS, PAGE, false, Some(page))?;
        fill(TEMPLATE);
        write(DATA + FXSAVE, &image::fxsave());
        // IMUL RAX, RAX, as Golden Cove renames additions of constants away; and ADD of 1 to RAX, RDX, RSI, R8
        let chain = [0x48, 0x0F, 0xAF, 0xC0];
        let wide = [0x48, 0x83, 0xC0, 1, 0x48, 0x83, 0xC2, 1, 0x48, 0x83, 0xC6, 1, 0x49, 0x83, 0xC0, 1];
        let mut at = CODE + IMAGES;
        let mut build = |code: &[u8], copies, iterations| {
            let shape = Shape::Loop { copies, iterations, counter: 9 };
            let image = image::build(at, code, shape, 0, Entry::Jump).ok_or_else(|| failed("the clock"))?;
            write(at, &image.bytes);
            at += CALIBRATION / 4;
            Ok::<_, TaskError>(image)
        };
        let chains = [build(&chain, LINKS, ROUNDS[0])?, build(&chain, LINKS, ROUNDS[1])?];
        let wides = [build(&wide, LINKS / 4, WIDE_ROUNDS[0])?, build(&wide, LINKS / 4, WIDE_ROUNDS[1])?];
        let mut host = Self { page, chains, wides, best: f64::MAX, dropped: 0 };
        let mut looks: Vec<f64> = (0..LOOKS).filter_map(|_| host.wide().map(|(_, wide)| wide)).collect();
        looks.sort_by(f64::total_cmp);
        // The fewest of all may be due to a clock that changed in between.
        host.best = looks.get(looks.len() / 20).copied().unwrap_or(f64::MAX);
        Ok(host)
    }

    /// Makes the shared page a page of a block too.
    pub(crate) fn map_page(&self, linear: u64) -> Result<(), TaskError> {
        map(linear, PAGE, false, Some(self.page))
    }

    /// The page is a page of a block no more.
    pub(crate) fn unmap_page(linear: u64) {
        // SAFETY: only what `map_page` has mapped, which Rust knows nothing of.
        unsafe { libc::munmap(linear as *mut c_void, PAGE as usize) };
    }

    /// Puts the images of a block where they belong, and into the shared page what it has for each block first.
    pub(crate) fn place(images: &[Image]) {
        fill(ALIAS);
        images.iter().for_each(|image| write(image.entry, &image.bytes));
    }

    /// Ticks of so many executions of an image.
    pub(super) fn ticks(image: &Image, count: u64) -> u64 {
        write(DATA + COUNT, &count.to_le_bytes());
        let mut control = 0_u32;
        // SAFETY: the image is code of this process that keeps to the calling convention but for MXCSR, which is
        // restored, and touches only pages that are mapped for it, as the model has found out.
        unsafe {
            asm!(
                "stmxcsr [r12]",
                "call r13",
                "ldmxcsr [r12]",
                // The image keeps them.
                in("r12") &raw mut control,
                in("r13") image.entry,
                clobber_abi("C"),
            );
        }
        read(DATA + AFTER).wrapping_sub(read(DATA + BEFORE))
    }

    /// Maps a function, a page for variables and one below it for whatever is read there, and a buffer.
    pub(crate) fn load(
        entry: u64,
        code: &[u8],
        variables: u64,
        (buffer, len, large): (u64, u64, bool),
    ) -> Result<Function, TaskError> {
        let first = entry & !(PAGE - 1);
        let mapped = [
            (first, (entry - first + code.len() as u64).next_multiple_of(PAGE)),
            (variables, PAGE),
            (buffer, len.next_multiple_of(1 << 21)),
        ];
        for (at, len) in mapped {
            map(at, len, at == first, None)?;
        }
        let advice = if large { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: mapped above. Pages are of the other size if the host has none of these.
        unsafe { libc::madvise(buffer as *mut c_void, mapped[2].1 as usize, advice) };
        for at in (buffer..buffer + len).step_by(PAGE as usize) {
            write(at, &[0]);
        }
        write(entry, code);
        Ok(Function { entry, mapped })
    }

    /// Writes to the buffer or the variables of a function.
    pub(crate) fn put(at: u64, bytes: &[u8]) {
        write(at, bytes);
    }

    /// Unmaps what [`load`](Self::load) has mapped.
    pub(crate) fn unload(function: &Function) {
        for (at, len) in function.mapped {
            // SAFETY: mapped by `load`, and Rust has no references to it.
            unsafe { libc::munmap(at as *mut c_void, len as usize) };
        }
    }

    /// Calls a function with three arguments; its ticks.
    pub(crate) fn call(function: &Function, [a, b, c]: [u64; 3]) -> u64 {
        let stamp = || {
            // SAFETY: both are in every x86-64.
            unsafe {
                _mm_lfence();
                let stamp = _rdtsc();
                _mm_lfence();
                stamp
            }
        };
        let before = stamp();
        // SAFETY: the function keeps to the calling convention, and touches only what is mapped for it.
        unsafe {
            asm!(
                "call {entry}",
                entry = in(reg) function.entry,
                inout("rdi") a => _,
                inout("rsi") b => _,
                inout("rdx") c => _,
                clobber_abi("C"),
            );
        }
        stamp().wrapping_sub(before)
    }

    /// Ticks per cycle, and cycles of independent additions.
    fn wide(&self) -> Option<(f64, f64)> {
        // Whatever interrupts makes it longer.
        let fewest = |image: &Image| (0..ATTEMPTS).map(|_| Self::ticks(image, 1)).min().unwrap_or(0);
        let difference = |images: &[Image; 2]| {
            let [short, long] = images.each_ref().map(fewest);
            long.checked_sub(short).filter(|&ticks| ticks > 0).map(|ticks| ticks as f64)
        };
        let ticks = difference(&self.chains)? / f64::from(LATENCY * LINKS * (ROUNDS[1] - ROUNDS[0]));
        Some((ticks, difference(&self.wides)? / ticks))
    }

    /// Ticks per cycle, if nothing else runs on this core.
    fn look(&self) -> Option<f64> {
        let (ticks, wide) = self.wide()?;
        (wide <= self.best * QUIET).then_some(ticks)
    }

    /// Cycles of an execution of an image, of so many samples that count; `None` if there are too few.
    pub(crate) fn sample(&mut self, image: &Image, wanted: usize) -> Option<Sampled> {
        let sampled = self.sample_by(wanted, || {
            Self::ticks(image, 1);
            Self::ticks(image, OUTER)
        });
        sampled.map(|Sampled { cycles, spread }| Sampled { cycles: cycles / OUTER as f64, spread })
    }

    /// Cycles of what takes so many ticks, of so many samples that count; `None` if there are too few.
    pub(crate) fn sample_by(&mut self, wanted: usize, mut ticks: impl FnMut() -> u64) -> Option<Sampled> {
        let looks = Looks { look: Self::look, steady: STEADY, tries: 20 };
        self.sample_between(&looks, wanted, || Some(ticks() as f64))
    }

    /// The same of what takes so many seconds of processor time on this core; `None` also if it says so.
    pub(crate) fn sample_seconds(
        &mut self,
        wanted: usize,
        mut seconds: impl FnMut() -> Option<f64>,
    ) -> Option<Sampled> {
        let looks = Looks { look: Self::patient_look, steady: STEADY_LONG, tries: 4 };
        let stamp = || {
            // SAFETY: in every x86-64.
            unsafe { _rdtsc() }
        };
        self.sample_between(&looks, wanted, || {
            let (from, started) = (stamp(), Instant::now());
            let used = seconds()?;
            Some(used * stamp().wrapping_sub(from) as f64 / started.elapsed().as_secs_f64())
        })
    }

    /// Keeps the core busy without memory.
    pub(crate) fn wait(seconds: f64) {
        let started = Instant::now();
        while started.elapsed().as_secs_f64() < seconds {
            hint::spin_loop();
        }
    }

    /// Cycles of this core in a second; `None` if its clock is not steady.
    pub(crate) fn clock(&mut self) -> Option<f64> {
        const SECONDS: f64 = 1e-3;
        let sampled = self.sample_seconds(PATIENT_LOOKS, || {
            Self::wait(SECONDS);
            Some(SECONDS)
        });
        sampled.map(|sampled| sampled.cycles / SECONDS)
    }

    /// Cycles of what takes so many ticks, between two looks at the clock.
    fn sample_between(
        &mut self,
        &Looks { look, steady, tries }: &Looks,
        wanted: usize,
        mut ticks: impl FnMut() -> Option<f64>,
    ) -> Option<Sampled> {
        let mut samples = Vec::with_capacity(wanted);
        for _ in 0..wanted * tries {
            let before = look(self);
            let ticks = ticks()?;
            let (Some(before), Some(after)) = (before, look(self)) else {
                self.dropped += 1;
                continue;
            };
            if before / after > steady || after / before > steady {
                self.dropped += 1;
                continue;
            }
            samples.push(ticks * 2.0 / (before + after));
            if samples.len() == wanted {
                break;
            }
        }
        samples.sort_by(f64::total_cmp);
        let at = |share: usize| samples.get(samples.len() * share / 12).copied();
        // A third from below: whatever disturbs makes it longer.
        let (cycles, low, middle) = (at(4)?, at(1)?, at(6)?);
        (samples.len() >= wanted / 2).then_some(Sampled { cycles, spread: (middle - low) / middle })
    }

    /// The middle one of the first looks that count, as a clock may be elsewhere for a moment.
    fn patient_look(&self) -> Option<f64> {
        let mut looks: Vec<f64> = (0..LOOKS).filter_map(|_| self.look()).take(PATIENT_LOOKS).collect();
        looks.sort_by(f64::total_cmp);
        looks.get(looks.len() / 2).copied()
    }

    /// Runs a command on this core to its end: what it and its children used.
    pub(crate) fn processor_time(command: &mut Command) -> Result<Used, TaskError> {
        // SAFETY: sets of CPUs are plain data; both calls only read or write them.
        unsafe {
            let mut set: libc::cpu_set_t = mem::zeroed();
            let cpu = libc::sched_getcpu();
            libc::CPU_SET(usize::try_from(cpu).unwrap_or(0), &mut set);
            // The child has it too. Where this is refused, samples are less stable.
            libc::sched_setaffinity(0, mem::size_of_val(&set), &raw const set);
        }
        let before = Used::of(libc::RUSAGE_CHILDREN);
        let status = command.status();
        let reason = match status {
            Ok(status) if status.success() => return Ok(Used::of(libc::RUSAGE_CHILDREN) - before),
            Ok(status) => format!("{command:?}: {status}"),
            Err(error) => format!("{command:?}: {error}"),
        };
        Err(TaskError::Measure { what: "a program", reason })
    }

    /// Cycles of a page fault that the kernel books as those of user code: while it returns, the timer that tells the
    /// two apart cannot interrupt it. `None` if they are not stable.
    pub(crate) fn fault_in_user_time(&mut self) -> Result<Option<f64>, TaskError> {
        const SAMPLES: usize = 15;
        const PAGES: u64 = 1 << 12;
        const ROUNDS: u64 = 40;
        let at = CODE - PAGES * PAGE;
        let len = (PAGES * PAGE) as usize;
        map(at, PAGES * PAGE, false, None)?;
        // SAFETY: mapped above.
        unsafe { libc::madvise(at as *mut c_void, len, libc::MADV_NOHUGEPAGE) };
        let mut all = Used::default();
        let sampled = self.sample_seconds(SAMPLES, || {
            let before = Used::of(libc::RUSAGE_THREAD);
            for _ in 0..ROUNDS {
                // SAFETY: mapped above, and Rust has no references to it; it is all zeros again.
                unsafe { libc::madvise(at as *mut c_void, len, libc::MADV_DONTNEED) };
                (0..PAGES).for_each(|page| write(at + page * PAGE, &[1]));
            }
            let used = Used::of(libc::RUSAGE_THREAD) - before;
            all = all + used;
            Some(used.user + used.kernel)
        });
        // SAFETY: as above.
        unsafe { libc::munmap(at as *mut c_void, len) };
        Ok(sampled.map(|sampled| sampled.cycles / (PAGES * ROUNDS) as f64 * all.share_of_user()))
    }
}

/// What a process or a thread used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Used {
    /// Seconds of processor time. The kernel tells the two apart by what a timer interrupts, so of many runs together.
    pub(crate) user: f64,
    pub(crate) kernel: f64,
    /// Page faults without reading of a file.
    pub(crate) faults: f64,
}

impl Used {
    /// By `libc::RUSAGE_CHILDREN` and so on.
    fn of(who: i32) -> Self {
        // SAFETY: counts of times are plain data; the call only writes them.
        let usage = unsafe {
            let mut usage: libc::rusage = mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let [user, kernel] = [usage.ru_utime, usage.ru_stime].map(seconds);
        Self { user, kernel, faults: usage.ru_minflt as f64 }
    }

    /// The share of user code in the processor time.
    pub(crate) fn share_of_user(self) -> f64 {
        self.user / (self.user + self.kernel)
    }
}

impl Add for Used {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let Self { user, kernel, faults } = other;
        Self { user: self.user + user, kernel: self.kernel + kernel, faults: self.faults + faults }
    }
}

impl Sub for Used {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let Self { user, kernel, faults } = other;
        Self { user: self.user - user, kernel: self.kernel - kernel, faults: self.faults - faults }
    }
}

/// How the clock is looked at around a sample: by how much two looks may differ, and how many samples are tried for
/// each that is wanted.
struct Looks {
    look: fn(&Host) -> Option<f64>,
    steady: f64,
    tries: usize,
}

/// Measures on a thread of its own, whose floating-point state and CPU do not matter to others.
pub(crate) fn on_thread<T: Send>(
    work: impl FnOnce(Host) -> Result<T, TaskError> + Send,
) -> Result<T, TaskError> {
    thread::scope(|scope| scope.spawn(|| work(Host::new()?)).join())
        .map_err(|_| TaskError::Data("the measuring thread has ended".to_owned()))?
}
