// Access to every system register with op0 = 3, in the order op1, CRn, CRm, op2: see firmware::registers.

    .section .text.firmware_registers, "ax", @progbits
    .p2align 4
    .globl firmware_registers
firmware_registers:
    .set register, 0
    .rept {REGISTERS}
    .inst 0xD5380000 + (register << 5)          // MRS X0
    ret
    .inst 0xD5180000 + (register << 5)          // MSR from X0
    ret
    .set register, register + 1
    .endr
