// Boot: entry at EL1 with the MMU off, page tables, jump to Rust.
//
// The loader has placed the image and zeroed its bss.

    .section .boot.text, "ax", @progbits
    .globl _start
_start:
    msr daifset, #15
    msr spsel, #1
    adrp x9, __stack_top
    mov sp, x9
    adrp x9, boot_info
    add x9, x9, :lo12:boot_info
    str x0, [x9]                                // X0 = devicetree

    ldr x10, ={MAIR}
    msr mair_el1, x10
    ldr x10, ={TCR}
    msr tcr_el1, x10
    adrp x10, table_1
    msr ttbr0_el1, x10
    mov x10, #{CPACR}
    msr cpacr_el1, x10
    mov x10, #{CNTKCTL}
    msr cntkctl_el1, x10
    adrp x10, vectors
    add x10, x10, :lo12:vectors
    msr vbar_el1, x10
    dsb sy
    tlbi vmalle1
    ic iallu
    dsb sy
    isb
    ldr x10, ={SCTLR}
    msr sctlr_el1, x10
    isb

    mov x29, xzr
    mov x30, xzr
    mov x0, x9
    b guest_main

    .ltorg

    .section .bss.boot_info, "aw", @nobits
    .p2align 3
boot_info:                                      // firmware::BootInfo
    .skip 8

// --- page tables --------------------------------------------------------------------------------
// Level 1 is 1 GiB an entry, level 2 is 2 MiB, level 3 is 4 KiB. Access flag set everywhere.
    .set TABLE, 3
    .set BLOCK, 0x401                           // AF, block
    .set PAGE, 0x403                            // AF, page
    .set EL0, 1 << 6
    .set READ_ONLY, 1 << 7
    .set SHARED, 3 << 8
    .set NO_EXECUTE, 3 << 53                    // PXN, UXN
    .set DEVICE, 1 << 2 | EL0 | NO_EXECUTE
    .set DATA, SHARED | EL0 | NO_EXECUTE
    .set CODE, SHARED | EL0 | READ_ONLY

    .section .data.firmware_paging, "aw", @progbits
    .p2align 12
table_1:
    .quad table_devices + TABLE
    .quad table_ram + TABLE
    .fill 510, 8, 0

table_devices:                                  // 8000000H to BFFFFFFH: GIC, PL011, fw_cfg, control device
    .fill 64, 8, 0
    .set address, 0x08000000
    .rept 32
    .quad address + BLOCK + DEVICE
    .set address, address + 0x200000
    .endr
    .fill 512 - 96, 8, 0

table_ram:                                      // devicetree, code, data, free memory
    .quad 0x40000000 + BLOCK + DATA
    .quad 0x40200000 + BLOCK + CODE
    .quad table_data + TABLE
    .set address, 0x40600000
    .rept 509
    .quad address + BLOCK + DATA
    .set address, address + 0x200000
    .endr

table_data:                                     // the page below the stack is missing
    .set address, 0x40400000
    .rept 512
    .if address != 0x4043F000
    .quad address + PAGE + DATA
    .else
    .quad 0
    .endif
    .set address, address + 0x1000
    .endr
