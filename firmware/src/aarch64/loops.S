// Code whose instructions are known, for both levels.

    .section .text.firmware, "ax", @progbits

// The counting loop, \register iterations (at least 1); ten instructions each, one of them a conditional branch.
    .macro COUNTING_LOOP register
77: nop
    nop
    nop
    nop
    nop
    nop
    nop
    nop
    subs \register, \register, #1
    b.ne 77b
    .endm

    .globl firmware_loop
    .p2align 4
firmware_loop:
    COUNTING_LOOP x0
    ret

    .globl firmware_window
    .p2align 4
firmware_window:
    msr pmcr_el0, x0
    isb
    COUNTING_LOOP x1
    msr pmcr_el0, x2
    isb
    ret
