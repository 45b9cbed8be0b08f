# Boot: image headers, 32-bit entry, switch to long mode, tables, jump to ring 3.
#
# The loader has placed the image, zeroed its bss and entered 32-bit protected mode with paging
# off and flat segments. Nothing is on a stack yet.

# --- multiboot 1 header -------------------------------------------------------------------------
# The linker script puts it at the very start, so it is within the first 8 KiB of the file. Bit 16
# (address fields) makes loaders ignore the container, which is ELF64 and thus refused otherwise.
    .set MULTIBOOT_MAGIC, 0x1BADB002
    .set MULTIBOOT_FLAGS, 0x00010002            # memory information, address fields

    .section .boot.header, "a", @progbits
    .p2align 2
multiboot_header:
    .long MULTIBOOT_MAGIC
    .long MULTIBOOT_FLAGS
    .long -(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)
    .long multiboot_header
    .long __image_start
    .long __load_end
    .long __image_end
    .long multiboot_entry

# --- PVH note -----------------------------------------------------------------------------------
# XEN_ELFNOTE_PHYS32_ENTRY. The description is 8 bytes because QEMU reads that much from an ELF64.
    .section .note.Xen, "a", @note
    .p2align 2
    .long 4                                     # size of the name
    .long 8                                     # size of the description
    .long 18                                    # XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad pvh_entry

# --- 32-bit entry -------------------------------------------------------------------------------
    .section .boot.text, "ax", @progbits
    .code32

    .globl pvh_entry
pvh_entry:                                      # EBX = hvm_start_info
    mov ecx, {BOOT_PVH}
    jmp protected_mode

    .globl multiboot_entry
multiboot_entry:                                # EBX = multiboot information
    mov ecx, {BOOT_MULTIBOOT}

protected_mode:
    cli
    cld
    mov dword ptr [boot_info], ecx
    mov dword ptr [boot_info + 8], ebx
    lgdt [gdt_pointer]

    mov eax, {CR4_PAE} | {CR4_OSFXSR} | {CR4_OSXMMEXCPT}
    mov cr4, eax
    mov eax, offset pml4
    mov cr3, eax
    mov ecx, {MSR_EFER}
    rdmsr
    or eax, {EFER_LME}
    wrmsr
    mov eax, {CR0_VALUE}
    mov cr0, eax
    .byte 0xEA                                  # far jump, loads the 64-bit code segment
    .long long_mode
    .word {KERNEL_CS}

    .code64
long_mode:
    mov eax, {KERNEL_DS}
    mov ds, eax
    mov es, eax
    mov ss, eax
    xor eax, eax
    mov fs, eax
    mov gs, eax
    mov esp, offset __ring0_stack_top

    # The page below the ring-3 stack faults, so that an overflow cannot eat data.
    mov eax, offset __stack_guard
    shr eax, 9                                  # address / 4096 * 8
    mov qword ptr [rax + page_table], 0

    # All 256 gates: interrupt gates for ring 0 that lead to the vector's own 16-byte stub.
    mov edi, offset idt
    mov eax, offset isr_stubs
    mov ecx, 256
2:  mov word ptr [rdi], ax
    mov dword ptr [rdi + 2], {KERNEL_CS} | ({GATE_RING0} << 24)
    mov edx, eax
    shr edx, 16
    mov word ptr [rdi + 6], dx
    add rdi, 16
    add eax, 16
    dec ecx
    jnz 2b

    # Gate 3 is for the calls of ring 3, see calls.S.
    mov eax, offset call_entry
    mov word ptr [idt + 3 * 16], ax
    mov byte ptr [idt + 3 * 16 + 5], {GATE_RING3}
    shr eax, 16
    mov word ptr [idt + 3 * 16 + 6], ax

    mov byte ptr [idt + 2 * 16 + 4], 1              # NMI on its own stack, see traps.S
    mov byte ptr [idt + 8 * 16 + 4], 2              # double fault too
    lidt [idt_pointer]

    mov eax, offset tss                         # the address is split in the descriptor
    mov word ptr [gdt_tss + 2], ax
    shr eax, 16
    mov byte ptr [gdt_tss + 4], al
    mov byte ptr [gdt_tss + 7], ah
    mov eax, {TSS_SELECTOR}
    ltr ax

    # Ring 3, with interrupts off until it asks for them.
    mov edi, offset boot_info
    push {USER_DS}
    mov eax, offset __stack_top - 8             # as after a call: 16-byte aligned minus 8
    push rax
    push {RFLAGS_RING3}
    push {USER_CS}
    mov eax, offset guest_main
    push rax
    xor eax, eax
    xor ebx, ebx
    xor ecx, ecx
    xor edx, edx
    xor esi, esi
    xor ebp, ebp
    iretq

    .section .bss.boot_info, "aw", @nobits
    .p2align 3
boot_info:                                      # firmware::BootInfo
    .skip 16
