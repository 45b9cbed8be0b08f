# Calls of ring 3, by INT3: gate 3 leads here and nowhere else.
#
# Why INT3: KVM hosts that interpret ring 0 neither emulate INT n nor enter ring 0 on SYSCALL, but
# every host delivers exceptions.
#
# EAX = firmware::CALL_*, the rest as each call says. Results: RAX = value, RDX = 0 or the fault word
# (firmware::FAULT_FLAG). Other registers are kept unless said. The way in is AND, JMP; the way out
# of all calls is JMP, CMP, JNE (not taken), IRETQ.

    .section .text.firmware, "ax", @progbits

    .p2align 4
call_entry:
    and eax, 15
    jmp qword ptr [call_table + rax * 8]

# RDMSR of ECX, first after the way in; seven instructions follow: SHL, OR, MOV and the way out.
    .p2align 4
call_rdmsr:
fault_rdmsr:
    rdmsr
    shl rdx, 32
    or rax, rdx
    mov edx, 0
    jmp exit_to_ring3

# WRMSR of EDX:ESI to ECX. MOV between the way in and the WRMSR; five follow: MOV and the way out.
    .p2align 4
call_wrmsr:
    mov eax, esi
fault_wrmsr:
    wrmsr
    mov edx, 0
    jmp exit_to_ring3

# RDPMC of ECX, counted as RDMSR.
    .p2align 4
call_rdpmc:
fault_rdpmc:
    rdpmc
    shl rdx, 32
    or rax, rdx
    mov edx, 0
    jmp exit_to_ring3

# RAX = CR0.
    .p2align 4
call_read_cr0:
    mov rax, cr0
    mov edx, 0
    jmp exit_to_ring3

# RAX = CR4.
    .p2align 4
call_read_cr4:
    mov rax, cr4
    mov edx, 0
    jmp exit_to_ring3

# CR4 = RSI.
    .p2align 4
call_write_cr4:
fault_write_cr4:
    mov cr4, rsi
    mov edx, 0
    jmp exit_to_ring3

# The counting loop, RDI iterations (at least 1); ten instructions each, one of them a conditional
# branch. guest-runtime's ring3_loop has the same body.
    .macro COUNTING_LOOP
77: nop
    nop
    nop
    nop
    nop
    nop
    nop
    nop
    dec rdi
    jnz 77b
    .endm

    .p2align 4
call_loop:
    COUNTING_LOOP
    mov edx, 0
    jmp exit_to_ring3

# The same with interrupts enabled; what arrives is delivered on return.
    .p2align 4
call_loop_interruptible:
    sti
    COUNTING_LOOP
    cli
    mov edx, 0
    jmp exit_to_ring3

# Window: WRMSR of EDX:ESI to ECX, the loop, WRMSR of R8 to the same register. R9 = R8 >> 32. Between the
# two WRMSRs retire exactly 10 * iterations + 2 instructions, of which `iterations` branches.
    .p2align 4
call_window:
    mov eax, esi
fault_window_first:
    wrmsr
    COUNTING_LOOP
    mov eax, r8d
    mov edx, r9d
fault_window_second:
    wrmsr
    mov edx, 0
    jmp exit_to_ring3

# Halt until an interrupt or NMI, which is delivered on return. STI blocks interrupts for one more
# instruction, so one that is already there wakes the HLT.
    .p2align 4
call_halt:
halt_begin:
    sti
    hlt
halt_end:
    cli
    mov edx, 0
    jmp exit_to_ring3

# Ring 3 continues with the interrupt flag as in RSI (0 or 0x200). IOPL is 0, because not every KVM
# host keeps it, so ring 3 has no STI and CLI of its own.
    .p2align 4
call_set_interrupt_flag:
    and qword ptr [rsp + 16], ~0x200
    or qword ptr [rsp + 16], rsi
    xor edx, edx
    jmp exit_to_ring3

# CPUID, leaf ECX, sub-leaf ESI: EAX in RAX[31:0], EBX in RAX[63:32], ECX in RSI[31:0], EDX in
# RSI[63:32]. RCX is lost. In ring 3 the instruction may run natively and show the host's CPU.
    .p2align 4
call_cpuid:
    push rbx
    mov eax, ecx
    mov ecx, esi
    cpuid
    shl rbx, 32
    or rax, rbx
    mov esi, ecx
    shl rdx, 32
    or rsi, rdx
    pop rbx
    mov edx, 0
    jmp exit_to_ring3

# XCR0 = EDX:ESI.
    .p2align 4
call_xsetbv:
    mov eax, esi
    xor ecx, ecx
fault_xsetbv:
    xsetbv
    mov edx, 0
    jmp exit_to_ring3

# CR0 = RSI.
    .p2align 4
call_write_cr0:
fault_write_cr0:
    mov cr0, rsi
    mov edx, 0
    jmp exit_to_ring3

# XSAVES to RSI, and XRSTORS from there, of the components in EDI.
    .p2align 4
call_xsaves:
    mov eax, edi
    xor edx, edx
fault_xsaves:
    xsaves64 [rsi]
    mov edx, 0
    jmp exit_to_ring3

    .p2align 4
call_xrstors:
    mov eax, edi
    xor edx, edx
fault_xrstors:
    xrstors64 [rsi]
    mov edx, 0
    jmp exit_to_ring3

    .section .rodata.firmware, "a", @progbits
    .p2align 3
call_table:                                     # in the order of firmware::CALL_*
    .quad call_rdmsr
    .quad call_wrmsr
    .quad call_rdpmc
    .quad call_read_cr0
    .quad call_read_cr4
    .quad call_write_cr4
    .quad call_loop
    .quad call_loop_interruptible
    .quad call_window
    .quad call_halt
    .quad call_set_interrupt_flag
    .quad call_cpuid
    .quad call_xsetbv
    .quad call_write_cr0
    .quad call_xsaves
    .quad call_xrstors

fault_table:                                    # instructions that may fault
    .quad fault_rdmsr
    .quad fault_wrmsr
    .quad fault_rdpmc
    .quad fault_write_cr4
    .quad fault_window_first
    .quad fault_window_second
    .quad fault_xsetbv
    .quad fault_write_cr0
    .quad fault_xsaves
    .quad fault_xrstors
fault_table_end:
