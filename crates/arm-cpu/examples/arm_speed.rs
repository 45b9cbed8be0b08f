//! Million instructions per second of small loops: `cargo run --release --example arm_speed`.

#[path = "../tests/common/mod.rs"]
mod common;

use arm_cpu::{Budget, Cpu};
use common::{BASE, TestBus, reset};
use std::time::Instant;

fn main() {
    const INSTRUCTIONS: u64 = 200_000_000;
    let loops: [(&str, &[u32]); 5] = [
        // add x0, x0, #1; subs x1, x1, #1; b.ne .-8; b .-12
        ("ADD, SUBS, B.NE", &[0x9100_0400, 0xF100_0421, 0x54FF_FFC1, 0x17FF_FFFD]),
        // eor x2, x0, x1, lsl #3; add x0, x2, x1; lsr x3, x0, #7; cmp x3, x4; b.ne .-16; b .-20
        (
            "EOR LSL, ADD, LSR, CMP, B.NE",
            &[0xCA01_0C02, 0x8B01_0040, 0xD347_FC03, 0xEB04_007F, 0x54FF_FF81, 0x17FF_FFFB],
        ),
        // ldr x0, [x5]; add x0, x0, x1; str x0, [x5, #8]; add x1, x1, #1; b .-16
        ("LDR, ADD, STR, ADD, B", &[0xF940_00A0, 0x8B01_0000, 0xF900_04A0, 0x9100_0421, 0x17FF_FFFC]),
        // bl .+8; b .-4; stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16; ret
        ("BL, STP, LDP, RET, B", &[0x9400_0002, 0x17FF_FFFF, 0xA9BF_7BFD, 0xA8C1_7BFD, 0xD65F_03C0]),
        // madd x0, x1, x2, x0; udiv x3, x0, x2; cbnz x3, .-8; b .-12
        ("MADD, UDIV, CBNZ", &[0x9B02_0020, 0x9AC2_0803, 0xB5FF_FFC3, 0x17FF_FFFD]),
    ];
    for (name, code) in loops {
        let mut bus = TestBus::new(2 << 20);
        bus.write_words(BASE, code);
        let mut state = reset();
        state.x[5] = BASE + 0x1000;
        state.sp[1] = BASE + 0x2000;
        let mut cpu = Cpu::<TestBus>::new(&state);
        let start = Instant::now();
        cpu.run(&mut bus, Budget { instructions: INSTRUCTIONS });
        let speed = cpu.totals().instructions() as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{speed:7.1} million/s  {name}");
        assert!(bus.deliveries.is_empty(), "{:?}", bus.deliveries);
    }
}
