// To EL0 and back.

    .section .text.firmware, "ax", @progbits

// firmware_enter_el0(function, argument, pstate): the EL1 stack pointer stays what it is while EL0 runs.
    .globl firmware_enter_el0
    .p2align 4
firmware_enter_el0:
    stp x29, x30, [sp, #-96]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    adrp x9, __el0_stack_top
    msr sp_el0, x9
    msr elr_el1, x0
    msr spsr_el1, x2
    mov x0, x1
    mov x29, xzr
    adr x30, leave_el0
    eret

leave_el0:                                      // at EL0, X0 = result
    svc #{SVC_LEAVE_EL0}

    .globl firmware_left_el0
firmware_left_el0:                              // at EL1 again
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #96
    ret
