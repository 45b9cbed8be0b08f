# The C memory functions that compiled Rust code calls. There is no C library in an image.

    .section .text.memory, "ax", @progbits

    .globl memcpy
    .p2align 4
memcpy:                                         # RDI = to, RSI = from, RDX = bytes
    mov rax, rdi
    mov rcx, rdx
    rep movsb
    ret

    .globl memmove
    .p2align 4
memmove:
    mov rax, rdi
    mov rcx, rdx
    mov r8, rdi
    sub r8, rsi
    cmp r8, rdx                                 # unsigned: true only if `to` is inside the source
    jb 1f
    rep movsb
    ret
1:  lea rdi, [rdi + rdx - 1]
    lea rsi, [rsi + rdx - 1]
    std
    rep movsb
    cld
    ret

    .globl memset
    .p2align 4
memset:                                         # RDI = to, ESI = byte, RDX = bytes
    mov r8, rdi
    mov eax, esi
    mov rcx, rdx
    rep stosb
    mov rax, r8
    ret

    .globl memcmp
    .globl bcmp
    .p2align 4
memcmp:                                         # RDI, RSI = blocks, RDX = bytes
bcmp:
    xor eax, eax
    xor ecx, ecx
1:  cmp rcx, rdx
    je 2f
    movzx eax, byte ptr [rdi + rcx]
    movzx r8d, byte ptr [rsi + rcx]
    inc rcx
    sub eax, r8d
    je 1b
2:  ret

    .globl strlen
    .p2align 4
strlen:                                         # RDI = text
    xor eax, eax
1:  cmp byte ptr [rdi + rax], 0
    je 2f
    inc rax
    jmp 1b
2:  ret
