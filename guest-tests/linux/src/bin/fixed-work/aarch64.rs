//! System calls of AArch64, and the registers of the VMM by `/dev/mem`.

use guest_protocol::{control, mmio};
use linux_guest::FixedWork;

std::arch::global_asm!(
    ".globl fixed_work",
    "fixed_work:",
    "mov x0, #-100", // AT_FDCWD
    "adr x1, 6f",
    "mov w2, #0x1002", // O_RDWR | O_SYNC
    "movk w2, #0x10, lsl #16",
    "mov x8, #56", // openat
    "svc #0",
    "mov x4, x0",
    "mov x0, #0",
    "mov x1, #{page_size}",
    "mov x2, #3", // PROT_READ | PROT_WRITE
    "mov x3, #1", // MAP_SHARED
    "mov x5, #{page}",
    "mov x8, #222", // mmap
    "svc #0",
    "mov x19, x0",
    // The interval's name.
    "adr x1, 5f",
    "1:",
    "ldrb w2, [x1], #1",
    "str w2, [x19, #{label_register}]",
    "cbnz w2, 1b",
    "mov w20, #{rounds} & 0xFFFF",
    "movk w20, #{rounds} >> 16, lsl #16",
    "mov w2, #{begin}",
    "str w2, [x19, #{control_register}]",
    // One round: 5 instructions, and one more in every second round; 4 branches.
    "2:",
    "bl 3f",
    "subs w20, w20, #1",
    "b.ne 2b",
    "mov w2, #{end}",
    "str w2, [x19, #{control_register}]",
    "mov x0, #0",
    "mov x8, #93", // exit
    "svc #0",
    "3:",
    "tbz w20, #0, 4f",
    "nop",
    "4:",
    "ret",
    "5:",
    ".asciz \"fixed-work\"",
    "6:",
    ".asciz \"/dev/mem\"",
    page = const mmio::control::BASE,
    page_size = const mmio::control::SIZE,
    label_register = const mmio::control::LABEL,
    control_register = const mmio::control::CONTROL,
    begin = const control::INTERVAL_BEGIN,
    end = const control::INTERVAL_END,
    rounds = const FixedWork::ROUNDS,
);
