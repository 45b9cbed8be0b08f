//! Starting again and again in the same memory.

use crate::common::{BASE, MIDR, TestBus, reset};
use arm_cpu::{Budget, Cpu, State};

/// MOVZ X0, #number; STR X0, \[X1\].
fn code(number: u32) -> [u32; 2] {
    [0xD280_0000 | number << 5, 0xF900_0020]
}

fn start(number: u64) -> State {
    let mut state = reset();
    state.x[1] = BASE + 0x1000 + 8 * number;
    state.x[2] = number;
    state
}

#[test]
fn registers_are_replaced_and_changed_code_is_seen() {
    let mut bus = TestBus::new(1 << 16);
    let mut cpu = Cpu::<TestBus>::new(&reset());
    for number in 1..20 {
        bus.write_words(BASE, &code(number));
        cpu.memory_changed(BASE, 8);
        let state = start(number.into());
        cpu.set_registers(&state);
        assert_eq!(cpu.state(), state);
        cpu.run(&mut bus, Budget { instructions: 2 });
        assert_eq!(bus.read_u64(BASE + 0x1000 + 8 * u64::from(number)), number.into());
        assert_eq!(cpu.totals().instructions(), 2 * u64::from(number));
        // As a CPU that starts for the first time.
        let mut fresh = Cpu::<TestBus>::new(&state);
        fresh.run(&mut bus, Budget { instructions: 2 });
        assert_eq!(cpu.state(), fresh.state());
    }
}

#[test]
fn words_are_defined_or_not() {
    let identification = arm_cpu::Identification::implemented(MIDR);
    let defined = |word| Cpu::<TestBus>::is_defined(word, &identification);
    // ADD, ERET (at whichever level), SHA256H; UDF, ADD with a reserved shift, LDADD of Armv8.1, FADD of halves.
    for word in [0x8B02_0020, 0xD69F_03E0, 0x5E02_4020] {
        assert!(defined(word), "{word:#x}");
    }
    for word in [0, 0x8BC2_0020, 0xB820_0041, 0x1EE2_2820] {
        assert!(!defined(word), "{word:#x}");
    }
}
