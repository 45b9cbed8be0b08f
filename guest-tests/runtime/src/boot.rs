//! What the loader told: the command line and the memory map.
//!
//! Formats: Xen `hvm_start_info` (public headers of Xen, `arch-x86/hvm/start_info.h`) and the
//! Multiboot Specification 0.6.96, section 3.3.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use firmware::{BOOT_MULTIBOOT, BOOT_PVH, BootInfo, LOW_PAGE_ALIAS};

use crate::{global::Global, text::Text};

const START_INFO_MAGIC: u32 = 0x336E_C578;
const START_INFO_COMMAND_LINE: u64 = 24;
const START_INFO_MEMORY_MAP: u64 = 40;
const START_INFO_MEMORY_MAP_ENTRIES: u64 = 48;
const MULTIBOOT_FLAG_COMMAND_LINE: u32 = 1 << 2;
const MULTIBOOT_FLAG_MEMORY_MAP: u32 = 1 << 6;
const MULTIBOOT_COMMAND_LINE: u64 = 16;
const MULTIBOOT_MEMORY_MAP_LENGTH: u64 = 44;
const MULTIBOOT_MEMORY_MAP: u64 = 48;
/// Type of usable RAM in both memory maps.
const RAM: u32 = 1;
/// Longest command line that is looked at, in bytes; Linux takes the same.
const COMMAND_LINE_LIMIT: usize = 2048;
/// End of the identity map.
const MAPPED_END: u64 = 1 << 32;

/// A copy, because the loader's text may lie in memory that `with_scratch` hands out.
static COMMAND_LINE: Global<Text<COMMAND_LINE_LIMIT>> = Global::new(Text::new());
static SCRATCH_START: AtomicU64 = AtomicU64::new(0);
static SCRATCH_END: AtomicU64 = AtomicU64::new(0);
static SCRATCH_IN_USE: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    static __image_end: u8;
}

/// Reads `N` bytes at physical address `address`, which the loader supplied.
fn peek<const N: usize>(address: u64) -> [u8; N] {
    core::array::from_fn(|i| {
        let physical = address.wrapping_add(i as u64);
        let mapped = if physical < 0x1000 { physical + u64::from(LOW_PAGE_ALIAS) } else { physical };
        // SAFETY: the loader's structures lie in mapped RAM; a bad pointer faults and ends the run
        // with a message.
        unsafe { (mapped as *const u8).read_volatile() }
    })
}

fn peek_u32(address: u64) -> u32 {
    u32::from_le_bytes(peek(address))
}

fn peek_u64(address: u64) -> u64 {
    u64::from_le_bytes(peek(address))
}

pub(crate) fn initialise(info: &BootInfo) {
    let base = info.information;
    let mut command_line = 0;
    let mut scratch = Scratch::new();
    match info.protocol {
        BOOT_PVH if peek_u32(base) == START_INFO_MAGIC => {
            command_line = peek_u64(base + START_INFO_COMMAND_LINE);
            let map = peek_u64(base + START_INFO_MEMORY_MAP);
            let version = peek_u32(base + 4);
            let entries = if version == 0 { 0 } else { peek_u32(base + START_INFO_MEMORY_MAP_ENTRIES) };
            for entry in (0..u64::from(entries)).map(|i| map + i * 24) {
                scratch.offer(peek_u64(entry), peek_u64(entry + 8), peek_u32(entry + 16));
            }
        }
        BOOT_MULTIBOOT => {
            let flags = peek_u32(base);
            if flags & MULTIBOOT_FLAG_COMMAND_LINE != 0 {
                command_line = u64::from(peek_u32(base + MULTIBOOT_COMMAND_LINE));
            }
            if flags & MULTIBOOT_FLAG_MEMORY_MAP != 0 {
                let mut entry = u64::from(peek_u32(base + MULTIBOOT_MEMORY_MAP));
                let end = entry + u64::from(peek_u32(base + MULTIBOOT_MEMORY_MAP_LENGTH));
                while entry < end {
                    scratch.offer(peek_u64(entry + 4), peek_u64(entry + 12), peek_u32(entry + 20));
                    entry += u64::from(peek_u32(entry)) + 4;
                }
            }
        }
        _ => {}
    }
    SCRATCH_START.store(scratch.start, Relaxed);
    SCRATCH_END.store(scratch.end, Relaxed);
    if command_line != 0 {
        let bytes = (0..COMMAND_LINE_LIMIT as u64)
            .map(|i| peek(command_line + i))
            .map(|[byte]| byte)
            .take_while(|byte| *byte != 0);
        // SAFETY: nothing else runs yet, so there is no other reference to the text.
        let copy = unsafe { &mut *COMMAND_LINE.get() };
        bytes.for_each(|byte| copy.push(char::from(byte)));
    }
}

/// The largest piece of RAM above the image, below 4 GiB.
struct Scratch {
    start: u64,
    end: u64,
    floor: u64,
}

impl Scratch {
    fn new() -> Self {
        Self { start: 0, end: 0, floor: (&raw const __image_end) as u64 }
    }

    fn offer(&mut self, start: u64, length: u64, kind: u32) {
        let end = start.saturating_add(length).min(MAPPED_END);
        let start = start.max(self.floor);
        if kind == RAM && end.saturating_sub(start) > self.end - self.start {
            (self.start, self.end) = (start, end);
        }
    }
}

/// Lends RAM that nothing else uses: `words` times 8 bytes, contents undefined but initialised.
/// `None` if the machine has less, or if it is lent already.
pub fn with_scratch<R>(words: usize, body: impl FnOnce(&mut [u64]) -> R) -> Option<R> {
    let (start, end) = (SCRATCH_START.load(Relaxed).next_multiple_of(64), SCRATCH_END.load(Relaxed));
    if end.saturating_sub(start) / 8 < words as u64 || SCRATCH_IN_USE.swap(true, Relaxed) {
        return None;
    }
    // SAFETY: the memory map says RAM, it is above the image and below 4 GiB, hence mapped; the
    // flag makes this the only reference; what the loader left there has been copied.
    let memory = unsafe { core::slice::from_raw_parts_mut(start as *mut u64, words) };
    let result = body(memory);
    SCRATCH_IN_USE.store(false, Relaxed);
    Some(result)
}

/// Takes the scratch memory back from a test that was abandoned.
pub(crate) fn reset_scratch() {
    SCRATCH_IN_USE.store(false, Relaxed);
}

/// The kernel command line; empty if there is none. Bytes above 127 are read as Latin-1.
#[must_use]
pub fn command_line() -> &'static str {
    // SAFETY: written once, before any test runs.
    unsafe { &*COMMAND_LINE.get() }.as_str()
}

/// The value of the word `key=value` on the command line.
#[must_use]
pub fn option(key: &str) -> Option<&'static str> {
    command_line().split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// True if the command line contains `word` by itself.
#[must_use]
pub fn flag(word: &str) -> bool {
    command_line().split_ascii_whitespace().any(|other| other == word)
}
