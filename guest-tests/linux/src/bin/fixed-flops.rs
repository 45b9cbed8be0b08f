//! `fixed-flops [TIMES]`: SSE additions and multiplications of known number, see [`linux_guest::fixed_flops`].

#![expect(unsafe_code, reason = "system calls, and instructions that the program is about")]

use linux_guest::fixed_flops::ROUNDS;

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn flops(rounds: u64) {
    // SAFETY: it works on registers.
    unsafe {
        std::arch::asm!(
            "xorps xmm0, xmm0",
            "xorps xmm1, xmm1",
            "2:",
            "mulps xmm0, xmm0", // 4
            "addpd xmm1, xmm1", // 2
            "dec {0}",
            "jnz 2b",
            inout(reg) rounds => _,
            out("xmm0") _,
            out("xmm1") _,
            options(nomem, nostack),
        );
    }
}

fn main() {
    let times = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_u64);
    flops(times.max(1) * ROUNDS);
}
