# Exceptions, NMIs and interrupts.
#
# From ring 3 each of them becomes an upcall: a frame on the ring-3 stack and an IRETQ to
# `guest_upcall`, which saves the registers natively, calls the Rust handler and returns to the
# interrupted code without ring 0. Interrupts that arrive while ring 0 runs are only noted in a
# bitmap and become upcalls on the way out.
#
# Why no arrival is lost: ring 0 runs with interrupts off except in two labelled places, so only
# an NMI can come at any instruction. It has its own stack and touches nothing but the bitmap. If
# it hits the last instructions of the way out, after the bitmap was looked at, it moves the
# interrupted RIP back to the look (`exit_to_ring3`).

    .section .text.firmware, "ax", @progbits

# --- stubs: one per vector, 16 bytes apart --------------------------------------------------------
# Vectors with a hardware error code: 8, 10-14, 17, 21, 29, 30.
    .set HAS_ERROR_CODE, 0x60227D00

    .p2align 4
isr_stubs:
    .set vector, 0
    .rept 256
    .p2align 4
    .if vector == 7                             # #NM: the upcall saves SSE registers
    clts
    .endif
    .if (vector >= 32) || (((HAS_ERROR_CODE >> vector) & 1) == 0)
    push 0
    .endif
    push vector
    jmp isr_common
    .set vector, vector + 1
    .endr
    .p2align 4

# --- offsets in the ring-0 frame after isr_common pushed three registers -------------------------
    .set F_RDX, 0
    .set F_RCX, 8
    .set F_RAX, 16
    .set F_VECTOR, 24
    .set F_ERROR, 32
    .set F_RIP, 40
    .set F_CS, 48
    .set F_RFLAGS, 56
    .set F_RSP, 64
    .set F_SS, 72

# --- offsets in the upcall frame on the ring-3 stack (guest-runtime's UpcallFrame) ----------------
    .set U_VECTOR, 0
    .set U_ERROR, 8
    .set U_CR2, 16
    .set U_RIP, 24                              # from here on an IRETQ frame
    .set U_CS, 32
    .set U_RFLAGS, 40
    .set U_RSP, 48
    .set U_SS, 56
    .set U_SIZE, 64
    .set RED_ZONE, 128

isr_common:
    push rax
    push rcx
    push rdx
    test byte ptr [rsp + F_CS], 3
    jz from_ring0

build_upcall:
    mov rax, qword ptr [rsp + F_RSP]
    lea rcx, [rax - RED_ZONE - U_SIZE]
    and rcx, -16
    # Ring 0 must not fault on a stack that ring 3 broke: use the emergency stack instead.
    cmp rax, offset __stack_bottom + RED_ZONE + U_SIZE + 16
    jb 1f
    cmp rax, offset __stack_top
    jbe 2f
1:  cmp rax, offset __emergency_stack_bottom + RED_ZONE + U_SIZE + 16
    jb 3f
    cmp rax, offset __emergency_stack_top
    jbe 2f
3:  mov ecx, offset __emergency_stack_top - U_SIZE
2:  mov rax, qword ptr [rsp + F_VECTOR]
    mov qword ptr [rcx + U_VECTOR], rax
    mov rax, qword ptr [rsp + F_ERROR]
    mov qword ptr [rcx + U_ERROR], rax
    mov rax, cr2
    mov qword ptr [rcx + U_CR2], rax
    mov rax, qword ptr [rsp + F_RIP]
    mov qword ptr [rcx + U_RIP], rax
    mov rax, qword ptr [rsp + F_CS]
    mov qword ptr [rcx + U_CS], rax
    mov rax, qword ptr [rsp + F_RFLAGS]
    mov qword ptr [rcx + U_RFLAGS], rax
    mov rax, qword ptr [rsp + F_RSP]
    mov qword ptr [rcx + U_RSP], rax
    mov rax, qword ptr [rsp + F_SS]
    mov qword ptr [rcx + U_SS], rax

    mov qword ptr [rsp + F_RSP], rcx
    mov eax, offset guest_upcall
    mov qword ptr [rsp + F_RIP], rax
    # The handler starts with TF, DF, NT, RF and AC clear. IF stays: the local APIC holds back
    # what must wait until EOI.
    and qword ptr [rsp + F_RFLAGS], ~0x54500
    pop rdx
    pop rcx
    pop rax
    add rsp, 16

# --- way out: RSP points at an IRETQ frame of ring 3 ----------------------------------------------
    .globl exit_to_ring3
exit_to_ring3:
    cmp byte ptr [pending_any], 0
    jne deliver_pending
    iretq
exit_to_ring3_end:

deliver_pending:
    push 0                                      # error code
    push 0                                      # vector, filled in below
    push rax
    push rcx
    push rdx
    mov byte ptr [pending_any], 0               # before the scan: an NMI from here on sets it again
    xor ecx, ecx
1:  mov rax, qword ptr [pending + rcx * 8]
    test rax, rax
    jnz 2f
    inc ecx
    cmp ecx, 4
    jne 1b
    pop rdx                                     # nothing left
    pop rcx
    pop rax
    add rsp, 16
    jmp exit_to_ring3
2:  bsf rdx, rax
    btr qword ptr [pending + rcx * 8], rdx
    mov byte ptr [pending_any], 1               # there may be more; look again on the way out
    shl ecx, 6
    add edx, ecx
    mov qword ptr [rsp + F_VECTOR], rdx
    jmp build_upcall

# --- interrupted in ring 0 ------------------------------------------------------------------------
from_ring0:
    mov rax, qword ptr [rsp + F_VECTOR]
    cmp rax, 2
    je 1f
    cmp rax, 32
    jb ring0_exception

1:  mov rcx, rax                                # NMI or interrupt: note it
    shr ecx, 6
    and eax, 63
    bts qword ptr [pending + rcx * 8], rax
    mov byte ptr [pending_any], 1
    mov rcx, qword ptr [rsp + F_RIP]
    cmp rcx, offset exit_to_ring3
    jb 2f
    cmp rcx, offset exit_to_ring3_end
    jae 2f
    mov ecx, offset exit_to_ring3
    jmp 3f
2:  cmp rcx, offset halt_begin                  # about to halt: do not, the event is here
    jb 4f
    cmp rcx, offset halt_end
    jae 4f
    mov ecx, offset halt_end
3:  mov qword ptr [rsp + F_RIP], rcx
4:  pop rdx
    pop rcx
    pop rax
    add rsp, 16
    iretq

# An exception at an instruction of a call that may fault ends that call: RAX = 0 and RDX = the
# fault word. Any other is a bug of the firmware.
ring0_exception:
    mov rcx, qword ptr [rsp + F_RIP]
    mov edx, offset fault_table
1:  cmp rcx, qword ptr [rdx]
    je 2f
    add rdx, 8
    cmp rdx, offset fault_table_end
    jne 1b
    jmp firmware_died
2:  or eax, {FAULT_FLAG}
    shl rax, 32
    mov ecx, dword ptr [rsp + F_ERROR]
    or rax, rcx
    mov qword ptr [rsp + F_RDX], rax
    mov qword ptr [rsp + F_RAX], 0
    mov ecx, offset exit_to_ring3
    mov qword ptr [rsp + F_RIP], rcx
    jmp 4b

# --- end of the firmware --------------------------------------------------------------------------
firmware_died:
    mov rbp, rsp
    mov esi, offset text_vector
    mov rbx, qword ptr [rbp + F_VECTOR]
    call put_field
    mov esi, offset text_error
    mov rbx, qword ptr [rbp + F_ERROR]
    call put_field
    mov esi, offset text_rip
    mov rbx, qword ptr [rbp + F_RIP]
    call put_field
    mov esi, offset text_rsp
    mov rbx, qword ptr [rbp + F_RSP]
    call put_field
    mov esi, offset text_cr2
    mov rbx, cr2
    call put_field
    mov al, 10
    call put_byte
    mov eax, {EXIT_BROKEN}
    mov edx, {PORT_EXIT}
    out dx, eax
1:  cli
    hlt
    jmp 1b

# Prints the text at RSI and RBX in hexadecimal.
put_field:
    mov al, byte ptr [rsi]
    inc rsi
    test al, al
    jz 1f
    call put_byte
    jmp put_field
1:  mov edi, 16
2:  mov rax, rbx
    shr rax, 60
    shl rbx, 4
    add al, 0x30
    cmp al, 0x3A
    jb 3f
    add al, 0x27
3:  call put_byte
    dec edi
    jnz 2b
    ret

# Prints AL on the debug port and on COM1. A UART that is never ready is given up on.
put_byte:
    mov r8d, eax
    mov edx, {PORT_DEBUGCON}
    out dx, al
    mov ecx, 10000
    mov edx, {PORT_COM1} + 5
1:  in al, dx
    test al, 0x20
    jnz 2f
    dec ecx
    jnz 1b
2:  mov eax, r8d
    mov edx, {PORT_COM1}
    out dx, al
    ret

    .section .rodata.firmware, "a", @progbits
text_vector: .asciz "\nfirmware: exception in ring 0: vector 0x"
text_error:  .asciz " error 0x"
text_rip:    .asciz " rip 0x"
text_rsp:    .asciz " rsp 0x"
text_cr2:    .asciz " cr2 0x"

    .section .bss.firmware, "aw", @nobits
    .p2align 3
pending:                                        # one bit per vector
    .skip 32
pending_any:                                    # some bit may be set
    .skip 8
