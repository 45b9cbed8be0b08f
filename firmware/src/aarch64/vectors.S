// Exceptions: all sixteen vectors save the registers in a frame on the EL1 stack, call
// `guest_exception(frame)` and return to where the frame says.

    .set F_SP_EL0, 248                          // X0 to X30 come first
    .set F_ELR, 256
    .set F_SPSR, 264
    .set F_ESR, 272
    .set F_FAR, 280
    .set F_KIND, 288                            // number of the vector
    .set F_SIZE, 304

    .section .text.firmware, "ax", @progbits

// Every address of the stacks has bit 18 set, and none just below them, so a stack that has overflowed shows without a
// free register.
    .p2align 11
vectors:
    .set kind, 0
    .rept {VECTORS}
    .p2align 7
    msr tpidr_el1, x0
    sub sp, sp, #F_SIZE
    mov x0, sp
    tbz x0, #18, stack_broken
    mov x0, #kind
    b save_frame
    .set kind, kind + 1
    .endr
    .p2align 7

stack_broken:
    adrp x0, __emergency_stack_top
    sub x0, x0, #F_SIZE
    mov sp, x0
    mov x0, #4                                  // only code at EL1 uses this stack

save_frame:
    stp x1, x2, [sp, #8]
    stp x3, x4, [sp, #24]
    stp x5, x6, [sp, #40]
    stp x7, x8, [sp, #56]
    stp x9, x10, [sp, #72]
    stp x11, x12, [sp, #88]
    stp x13, x14, [sp, #104]
    stp x15, x16, [sp, #120]
    stp x17, x18, [sp, #136]
    stp x19, x20, [sp, #152]
    stp x21, x22, [sp, #168]
    stp x23, x24, [sp, #184]
    stp x25, x26, [sp, #200]
    stp x27, x28, [sp, #216]
    stp x29, x30, [sp, #232]
    mrs x1, tpidr_el1
    str x1, [sp]
    mrs x1, sp_el0
    mrs x2, elr_el1
    stp x1, x2, [sp, #F_SP_EL0]
    mrs x1, spsr_el1
    mrs x2, esr_el1
    stp x1, x2, [sp, #F_SPSR]
    mrs x1, far_el1
    stp x1, x0, [sp, #F_FAR]
    mov x29, xzr
    mov x0, sp
    bl guest_exception

    ldp x1, x2, [sp, #F_SP_EL0]
    msr sp_el0, x1
    msr elr_el1, x2
    ldr x1, [sp, #F_SPSR]
    msr spsr_el1, x1
    ldp x1, x2, [sp, #8]
    ldp x3, x4, [sp, #24]
    ldp x5, x6, [sp, #40]
    ldp x7, x8, [sp, #56]
    ldp x9, x10, [sp, #72]
    ldp x11, x12, [sp, #88]
    ldp x13, x14, [sp, #104]
    ldp x15, x16, [sp, #120]
    ldp x17, x18, [sp, #136]
    ldp x19, x20, [sp, #152]
    ldp x21, x22, [sp, #168]
    ldp x23, x24, [sp, #184]
    ldp x25, x26, [sp, #200]
    ldp x27, x28, [sp, #216]
    ldp x29, x30, [sp, #232]
    ldr x0, [sp]
    add sp, sp, #F_SIZE
    eret
