//! Runs cases of the A64 oracle, under `qemu-aarch64` or on a CPU: reads them from standard input, and writes what
//! became of them to standard output.
//!
//! A case starts by `rt_sigreturn` and ends in a signal, BRK's at its regular end. So the handler is all there is: it
//! notes how the case ended, and changes the frame that it returns to into the start of the next one. The program uses
//! no FP registers and no thread pointer of its own.

#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "system calls, the frame of a signal, and pages at fixed addresses")]

mod frame;
mod memory;
mod system;

use a64_runner::{Changed, IMAGE_LEN, IMAGES, MAX_BATCH, Reply, Request};
use core::ops::Range;
use core::panic::PanicInfo;
use frame::{Frame, SignalInfo};
use zerocopy::{FromZeros, IntoBytes};

/// Ended by the end of the input.
const DONE: i32 = 0;
/// The other side has broken the rules.
const PROTOCOL: i32 = 2;
/// A system call has failed.
const SYSTEM: i32 = 3;
/// This program is wrong.
const PANIC: i32 = 101;

/// All that there is, in one place so that the handler finds it.
struct Runner {
    images: [[u64; IMAGE_LEN / 8]; IMAGES],
    requests: [Request; MAX_BATCH],
    /// Cases of the batch.
    count: usize,
    /// The next one.
    next: usize,
    /// There is one that runs: the one before.
    running: bool,
    /// Words of the code pages that are a case's.
    code: Range<usize>,
    output: memory::Output,
}

core::arch::global_asm!(
    ".global _start",
    "_start:",
    "bl {set_up}",
    // From here on everything happens in the handler.
    "brk #0",
    set_up = sym set_up,
);

extern "C" fn set_up() {
    if !memory::map() {
        system::exit(SYSTEM);
    }
    let runner = system::runner();
    if !system::read(runner.images.as_mut_bytes()) {
        system::exit(PROTOCOL);
    }
    if !memory::write_constants(&runner.images[0]) || !system::handle_signals() {
        system::exit(SYSTEM);
    }
}

/// The handler of all signals that a case can end in.
extern "C" fn ended(signal: i32, info: &SignalInfo, frame: &mut Frame) {
    let runner = system::runner();
    if runner.running {
        runner.note(signal, info, frame);
    }
    if runner.next == runner.count {
        runner.read_batch();
    }
    let request = &runner.requests[runner.next];
    let image = runner.images.get(request.image as usize);
    let Some(code) = image.and_then(|image| memory::load(request, image, &runner.code)) else {
        system::exit(PROTOCOL)
    };
    runner.code = code;
    frame.set(&request.state);
    runner.running = true;
    runner.next += 1;
    system::start_case(request.state.tpidr);
}

impl Runner {
    /// Notes how a case ended.
    fn note(&mut self, signal: i32, info: &SignalInfo, frame: &Frame) {
        let image = &self.images[self.requests[self.next - 1].image as usize];
        let mut reply = Reply::new_zeroed();
        reply.state = frame.get();
        reply.state.tpidr = system::thread_pointer();
        (reply.signal, reply.code, reply.address) = (signal as u32, info.code as u32, info.address);
        let head = self.output.reserve(size_of::<Reply>());
        memory::differences(image, |offset, value| {
            reply.changed += 1;
            self.output.push(Changed { offset, value }.as_bytes());
        });
        self.output.put(head, reply.as_bytes());
    }

    /// Answers the batch, and waits for the next one.
    fn read_batch(&mut self) {
        let mut count = 0_u64;
        if !self.output.flush() {
            system::exit(SYSTEM);
        }
        if !system::read(count.as_mut_bytes()) {
            system::exit(DONE);
        }
        if count == 0 || count > MAX_BATCH as u64 {
            system::exit(PROTOCOL);
        }
        self.count = count as usize;
        self.next = 0;
        if !system::read(self.requests[..self.count].as_mut_bytes()) {
            system::exit(PROTOCOL);
        }
    }
}

#[panic_handler]
fn panic(_info: &PanicInfo<'_>) -> ! {
    system::exit(PANIC)
}
