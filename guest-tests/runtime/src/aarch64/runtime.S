// Recovery of the runtime.

    .section .text.runtime, "ax", @progbits

// u64 guest_runtime_try(function, data): calls function(data) with a recovery point. 0 = it
// returned, 1 = guest_runtime_throw was called. Recovery points nest.
    .globl guest_runtime_try
    .p2align 4
guest_runtime_try:
    stp x29, x30, [sp, #-112]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    adrp x9, guest_runtime_recovery
    add x9, x9, :lo12:guest_runtime_recovery
    ldr x10, [x9]
    str x10, [sp, #96]
    mov x10, sp
    str x10, [x9]
    mov x9, x0
    mov x0, x1
    blr x9
    mov x0, #0
1:  adrp x9, guest_runtime_recovery
    ldr x10, [sp, #96]
    str x10, [x9, :lo12:guest_runtime_recovery]
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #112
    ret

// Abandons everything since the innermost guest_runtime_try, which then returns 1. There must be
// one. By way of an exception, because that is how EL0 gets to EL1.
    .globl guest_runtime_throw
    .p2align 4
guest_runtime_throw:
    svc #{SVC_THROW}

    .globl guest_runtime_thrown
guest_runtime_thrown:                           // at EL1, exceptions masked
    adrp x9, guest_runtime_recovery
    ldr x9, [x9, :lo12:guest_runtime_recovery]
    mov sp, x9
    mov x0, #1
    b 1b

    .section .bss.runtime, "aw", @nobits
    .p2align 3
    .globl guest_runtime_recovery
guest_runtime_recovery:                         // SP of the innermost recovery point, 0 = none
    .skip 8
