//! A process of known instructions from its first to its last, see [`linux_guest::fixed_work`].
//!
//! It starts in its own assembly: no C library, no start-up that depends on the environment. Around its loop it
//! tells the VMM, if there is one of ours, to count an interval for itself.
#![no_main]
#![expect(unsafe_code, reason = "a process in assembly, whose instructions are counted")]

use guest_protocol::{control, ports};
use linux_guest::fixed_work::ROUNDS;

std::arch::global_asm!(
    ".globl _start",
    "_start:",
    "mov edi, 3",
    "mov eax, 172", // iopl
    "syscall",
    // The interval's name.
    "lea rsi, [rip + 5f]",
    "mov edx, {label_port}",
    "1:",
    "lodsb",
    "out dx, al",
    "test al, al",
    "jnz 1b",
    "mov ecx, {rounds}",
    "mov edx, {control_port}",
    "mov eax, {begin}",
    "out dx, eax",
    // One round: 6 instructions, and one more in every second round; 4 branches.
    "2:",
    "call 3f",
    "dec ecx",
    "jnz 2b",
    "mov eax, {end}",
    "out dx, eax",
    "xor edi, edi",
    "mov eax, 60", // exit
    "syscall",
    "3:",
    "test ecx, 1",
    "jz 4f",
    "nop",
    "4:",
    "ret",
    "5:",
    ".asciz \"fixed-work\"",
    label_port = const ports::CONTROL_LABEL,
    control_port = const ports::CONTROL,
    begin = const control::INTERVAL_BEGIN,
    end = const control::INTERVAL_END,
    rounds = const ROUNDS,
);
