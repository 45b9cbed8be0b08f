# Ring-3 assembly of the runtime: upcall trampoline, recovery, RDPMC with a fixup.

    .section .text.runtime, "ax", @progbits

# Entered by the firmware instead of an interrupt handler. RSP is 16-byte aligned and points at
# vector, error code, CR2 and an IRETQ frame (traps::Frame from `vector` on).
    .globl guest_upcall
    .p2align 4
guest_upcall:
    push rax
    push rcx
    push rdx
    push rbx
    push rbp
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    push r12
    push r13
    push r14
    push r15
    mov rdi, rsp
    sub rsp, 512 + 8                            # the frame is 15 * 8 bytes off, so this aligns to 16
    fxsave64 [rsp]
    call guest_runtime_upcall                   # (&mut Frame)
    fxrstor64 [rsp]
    add rsp, 512 + 8
    pop r15
    pop r14
    pop r13
    pop r12
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rbp
    pop rbx
    pop rdx
    pop rcx
    pop rax
    add rsp, 24                                 # vector, error code, CR2
    iretq                                       # ring 3 to ring 3; RIP, RFLAGS and RSP at once

# u64 guest_runtime_try(function, data): calls function(data) with a recovery point. 0 = it
# returned, 1 = guest_runtime_throw was called. Recovery points nest.
    .globl guest_runtime_try
    .p2align 4
guest_runtime_try:
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    push qword ptr [guest_runtime_recovery]
    mov qword ptr [guest_runtime_recovery], rsp
    mov rax, rdi
    mov rdi, rsi
    call rax
    xor eax, eax
1:  pop qword ptr [guest_runtime_recovery]
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret

# Abandons everything since the innermost guest_runtime_try, which then returns 1. There must be
# one. SSE control goes back to its default, because the abandoned code may have changed it.
    .globl guest_runtime_throw
    .p2align 4
guest_runtime_throw:
    mov rsp, qword ptr [guest_runtime_recovery]
    cld
    fninit
    ldmxcsr [guest_runtime_mxcsr]
    mov eax, 1
    jmp 1b

# (RAX, RDX) guest_runtime_rdpmc(counter): value and fault word. If the RDPMC faults, the upcall
# sets RAX = 0, RDX and RIP = guest_runtime_rdpmc_end.
    .globl guest_runtime_rdpmc
    .globl guest_runtime_rdpmc_instruction
    .globl guest_runtime_rdpmc_end
    .p2align 4
guest_runtime_rdpmc:
    mov ecx, edi
guest_runtime_rdpmc_instruction:
    rdpmc
    shl rdx, 32
    or rax, rdx
    xor edx, edx
guest_runtime_rdpmc_end:
    ret

    .section .rodata.runtime, "a", @progbits
    .p2align 2
guest_runtime_mxcsr:
    .long 0x1F80

    .section .bss.runtime, "aw", @nobits
    .p2align 3
    .globl guest_runtime_recovery
guest_runtime_recovery:                         # RSP of the innermost recovery point, 0 = none
    .skip 8
