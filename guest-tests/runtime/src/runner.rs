//! Runs the tests of an image and reports them as TAP 13.

extern crate alloc;

use alloc::vec::Vec;
use core::fmt;

use firmware::BootInfo;
use guest_protocol::{Needs, TestDescriptor, exit};

use crate::{boot, handlers, have, heap, machine, println, recovery};

/// A [`TestDescriptor`] as the image's own code sees it: pointers instead of addresses, because
/// the compiler cannot turn one into the other at compile time.
#[derive(Debug)]
#[repr(C)]
pub struct Test {
    name: *const u8,
    name_len: usize,
    file: *const u8,
    file_len: usize,
    summary: *const u8,
    summary_len: usize,
    function: fn(),
    needs: Needs,
    line: u32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<Test>() == size_of::<TestDescriptor>());
    assert!(offset_of!(Test, name) == offset_of!(TestDescriptor, name));
    assert!(offset_of!(Test, name_len) == offset_of!(TestDescriptor, name_len));
    assert!(offset_of!(Test, file) == offset_of!(TestDescriptor, file));
    assert!(offset_of!(Test, file_len) == offset_of!(TestDescriptor, file_len));
    assert!(offset_of!(Test, summary) == offset_of!(TestDescriptor, summary));
    assert!(offset_of!(Test, summary_len) == offset_of!(TestDescriptor, summary_len));
    assert!(offset_of!(Test, function) == offset_of!(TestDescriptor, function));
    assert!(offset_of!(Test, needs) == offset_of!(TestDescriptor, needs));
    assert!(offset_of!(Test, line) == offset_of!(TestDescriptor, line));
};

// SAFETY: the pointers are to constants.
unsafe impl Sync for Test {}

impl Test {
    /// A test; `#[guest_test]` calls this.
    #[must_use]
    pub const fn new(
        name: &'static str,
        file: &'static str,
        line: u32,
        summary: &'static str,
        needs: Needs,
        function: fn(),
    ) -> Self {
        Self {
            name: name.as_ptr(),
            name_len: name.len(),
            file: file.as_ptr(),
            file_len: file.len(),
            summary: summary.as_ptr(),
            summary_len: summary.len(),
            function,
            needs,
            line,
        }
    }

    fn name(&self) -> &'static str {
        // SAFETY: `new` took the parts from a `&'static str`.
        unsafe { text(self.name, self.name_len) }
    }

    fn file(&self) -> &'static str {
        // SAFETY: as for `name`.
        unsafe { text(self.file, self.file_len) }
    }

    fn summary(&self) -> &'static str {
        // SAFETY: as for `name`.
        unsafe { text(self.summary, self.summary_len) }
    }
}

/// # Safety
/// The parts of a `&'static str`.
unsafe fn text(bytes: *const u8, length: usize) -> &'static str {
    // SAFETY: passed on.
    unsafe { core::str::from_utf8_unchecked(core::slice::from_raw_parts(bytes, length)) }
}

unsafe extern "C" {
    static __guest_tests_start: u8;
    static __guest_tests_end: u8;
}

/// All tests of the image, in the order of their source.
fn all() -> Vec<&'static Test> {
    let start = (&raw const __guest_tests_start).cast::<Test>();
    let end = (&raw const __guest_tests_end).cast::<Test>();
    // SAFETY: the linker script puts the symbols around the section, which `guest_test` alone fills.
    let tests = unsafe { core::slice::from_raw_parts(start, end.offset_from_unsigned(start)) };
    let mut tests: Vec<&'static Test> = tests.iter().collect();
    // Those of one table stand on one line.
    tests.sort_by_key(|test| (test.file(), test.line, test.name()));
    tests
}

/// The words of a set of needs, separated by commas.
struct Words(Needs);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.words().enumerate().try_for_each(|(i, word)| {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{word}")
        })
    }
}

/// A double-quoted YAML string.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_default())
    }
}

fn print_failure(test: &Test, failure: &recovery::Failure) {
    println!("  ---");
    match failure {
        recovery::Failure::Message { text, file, line } => {
            println!("  message: {}", Quoted(text.as_str()));
            println!("  at: {}:{line}", file.as_str());
        }
        recovery::Failure::Fault(fault) => {
            println!("  message: \"unexpected {fault}\"");
            println!("  at: {}:{}", test.file(), test.line);
            for (name, value) in fault.fields() {
                println!("  {name}: {value:#x}");
            }
        }
        recovery::Failure::UnexpectedInterrupt { .. } | recovery::Failure::Skip(_) => {
            println!("  message: \"{failure}\"");
            println!("  at: {}:{}", test.file(), test.line);
        }
    }
    println!("  ...");
}

/// Puts everything back to where a test may expect it.
fn reset() {
    machine::reset();
    handlers::reset();
    boot::reset_scratch();
}

fn run_each(tests: &[&'static Test]) -> u8 {
    let have = have::discover();
    let mut result = exit::PASS;
    println!("1..{}", tests.len());
    reset();
    for (number, test) in (1..).zip(tests) {
        let missing = test.needs.difference(have);
        if !missing.is_empty() {
            println!("ok {number} - {} # SKIP needs {}", test.name(), Words(missing));
            continue;
        }
        let heap = heap::mark();
        let outcome = recovery::run(test.function);
        reset();
        // SAFETY: the test is over and returned nothing.
        unsafe { heap::rewind(heap) };
        match outcome {
            Ok(()) => println!("ok {number} - {}", test.name()),
            Err(recovery::Failure::Skip(reason)) => {
                println!("ok {number} - {} # SKIP {}", test.name(), reason.as_str());
            }
            Err(failure) => {
                result = exit::FAIL;
                println!("not ok {number} - {}", test.name());
                print_failure(test, &failure);
            }
        }
    }
    result
}

/// Tests that the command line selects with `test=NAME[,NAME...]`; all without.
fn selected(all: &[&'static Test]) -> Result<Vec<&'static Test>, &'static str> {
    let Some(names) = boot::option("test") else {
        return Ok(all.to_vec());
    };
    for name in names.split(',') {
        if !all.iter().any(|test| test.name() == name) {
            return Err(name);
        }
    }
    Ok(all.iter().copied().filter(|test| names.split(',').any(|name| name == test.name())).collect())
}

/// Runs the image's tests as the command line says; returns the exit status.
#[must_use]
pub fn run_tests() -> u8 {
    let all = all();
    if boot::flag("list") {
        for test in &all {
            println!("{}: {}", test.name(), test.summary());
        }
        return exit::PASS;
    }
    println!("TAP version 13");
    match selected(&all) {
        Ok(tests) => run_each(&tests),
        Err(name) => {
            println!("Bail out! this image has no test `{name}`; boot it with `list` to see its tests");
            exit::BROKEN
        }
    }
}

unsafe extern "Rust" {
    /// What [`image!`](crate::image) made of the image; returns the exit status.
    safe fn guest_image() -> u8;
}

/// Entry of the image, called by the firmware.
pub(crate) fn main(info: &BootInfo) -> ! {
    machine::devices::initialise();
    if let Err(exception) = machine::prepare() {
        println!("Bail out! making the machine ready raised {exception}");
        crate::exit(exit::BROKEN);
    }
    boot::initialise(info);
    crate::exit(guest_image())
}
