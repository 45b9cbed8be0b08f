# Descriptor tables, task state and page tables. Built by the assembler where it can, because on
# some hosts every ring-0 instruction of the boot path costs a microsecond.

    .section .data.firmware, "aw", @progbits

# --- GDT ----------------------------------------------------------------------------------------
# Same selectors as Linux: 0x33/0x2b for ring 3 are also what a host kernel would use natively.
    .p2align 4
gdt:
    .quad 0
    .quad 0x00CF9B000000FFFF                    # 0x08 ring 0 code, 32 bit
    .quad 0x00AF9B000000FFFF                    # 0x10 ring 0 code, 64 bit
    .quad 0x00CF93000000FFFF                    # 0x18 ring 0 data
    .quad 0x00CFFB000000FFFF                    # 0x20 ring 3 code, 32 bit
    .quad 0x00CFF3000000FFFF                    # 0x28 ring 3 data
    .quad 0x00AFFB000000FFFF                    # 0x30 ring 3 code, 64 bit
    .quad 0                                     # 0x38 unused
gdt_tss:                                        # 0x40 TSS; the base is filled in at boot
    .quad 0x0000890000002068                    # limit 0x68 + the I/O bitmap and its end
    .quad 0
gdt_end:

    .p2align 3
    .word 0, 0, 0
gdt_pointer:
    .word gdt_end - gdt - 1
    .quad gdt

    .p2align 3
    .word 0, 0, 0
idt_pointer:
    .word 256 * 16 - 1
    .quad idt

# --- TSS ----------------------------------------------------------------------------------------
    .p2align 4
tss:
    .long 0
    .quad __ring0_stack_top                     # RSP0
    .quad 0, 0                                  # RSP1, RSP2
    .quad 0
    .quad __nmi_stack_top                       # IST1
    .quad __double_fault_stack_top              # IST2
    .quad 0, 0, 0, 0, 0
    .quad 0
    .word 0
    .word 0x68                                  # offset of the I/O bitmap
    .skip 0x2000, 0                             # ring 3 may use every port
    .byte 0xFF                                  # the CPU reads one byte further

    .section .bss.firmware, "aw", @nobits
    .p2align 4
    .globl firmware_idt                         # for images that break it on purpose
firmware_idt:
idt:
    .skip 256 * 16

# --- page tables --------------------------------------------------------------------------------
# Identity map of the low 4 GiB. Present, writable, user, accessed (and dirty on leaves) are set
# from the start, so that no entry ever needs an update.
    .set PAGE_TABLE_FLAGS, 0x27
    .set PAGE_4K, 0x67
    .set PAGE_2M, 0xE7
    .set PAGE_UNCACHED, 0x18                    # PCD, PWT

    .section .data.firmware_paging, "aw", @progbits
    .p2align 12
pml4:
    .quad pdpt + PAGE_TABLE_FLAGS
    .fill 511, 8, 0
pdpt:
    .quad page_directory + 0x0000 + PAGE_TABLE_FLAGS
    .quad page_directory + 0x1000 + PAGE_TABLE_FLAGS
    .quad page_directory + 0x2000 + PAGE_TABLE_FLAGS
    .quad page_directory + 0x3000 + PAGE_TABLE_FLAGS
    .fill 508, 8, 0
page_directory:
    .quad page_table + PAGE_TABLE_FLAGS
    .set page, 0x200000
    .rept 2048 - 1 - 16
    .quad page + PAGE_2M
    .set page, page + 0x200000
    .endr
    .rept 16                                    # 0xFE000000 and up: local APIC and other devices
    .quad page + PAGE_2M + PAGE_UNCACHED
    .set page, page + 0x200000
    .endr
page_table:                                     # first 2 MiB; page 0 absent, so null faults
    .quad 0
    .set page, 0x1000
    .rept 511
    .if page == {LOW_PAGE_ALIAS}                # loaders may leave information in physical page 0
    .quad 0 + PAGE_4K
    .else
    .quad page + PAGE_4K
    .endif
    .set page, page + 0x1000
    .endr
