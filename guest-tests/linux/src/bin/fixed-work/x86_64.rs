//! System calls and I/O ports of x86-64.

use guest_protocol::{control, ports};
use linux_guest::FixedWork;

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
    rounds = const FixedWork::ROUNDS,
);
