# Calls of ring 3, one interrupt gate each (`int CALL_...`). No dispatcher: the gate leads straight
# to the code, so the ring-0 instructions of a call are exactly those written here.
#
# Results: RAX = value, RDX = 0 or the fault word (firmware::FAULT_FLAG). Other registers are kept
# unless said. The way out of all calls is JMP, CMP, JNE (not taken), IRETQ.

    .section .text.firmware, "ax", @progbits

# RDMSR is the first ring-0 instruction; seven follow: SHL, OR, MOV and the way out. ECX = index.
    .p2align 4
call_rdmsr:
fault_rdmsr:
    rdmsr
    shl rdx, 32
    or rax, rdx
    mov edx, 0
    jmp exit_to_ring3

# WRMSR is the first ring-0 instruction; five follow: MOV and the way out. ECX = index, EDX:EAX = value.
    .p2align 4
call_wrmsr:
fault_wrmsr:
    wrmsr
    mov edx, 0
    jmp exit_to_ring3

# RDPMC is the first ring-0 instruction; seven follow, as for RDMSR. ECX = counter.
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

# CR4 = RDI.
    .p2align 4
call_write_cr4:
fault_write_cr4:
    mov cr4, rdi
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

# Window: WRMSR, the loop, WRMSR to the same register. ECX = index, EDX:EAX = first value,
# RDI = iterations, R8D:ESI = second value. Between the two WRMSRs retire exactly
# 10 * iterations + 2 instructions, of which `iterations` branches. RDI, RAX are lost.
    .p2align 4
call_window:
fault_window_first:
    wrmsr
    COUNTING_LOOP
    mov eax, esi
    mov edx, r8d
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

    .section .rodata.firmware, "a", @progbits
    .p2align 3
call_table:                                     # in the order of firmware::CALL_*
    .long call_rdmsr
    .long call_wrmsr
    .long call_rdpmc
    .long call_read_cr0
    .long call_read_cr4
    .long call_write_cr4
    .long call_loop
    .long call_loop_interruptible
    .long call_window
    .long call_halt
call_table_end:

    .p2align 3
fault_table:                                    # instructions that may fault
    .quad fault_rdmsr
    .quad fault_wrmsr
    .quad fault_rdpmc
    .quad fault_write_cr4
    .quad fault_window_first
    .quad fault_window_second
fault_table_end:
