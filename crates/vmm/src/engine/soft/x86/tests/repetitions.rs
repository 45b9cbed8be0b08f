//! REP takes time: a core cycle for each iteration, in which counters overflow and timers fire.

use super::*;
use soft_cpu::DescriptorTable;

/// Fixed counters 0 and 1 from 0 and `start`, with PMI, over REP STOSB of `count` bytes.
fn storing(count: u32, start: u64) -> Vec<u8> {
    let mut code = wrmsr(0x1D9, 1 << 12); //        freeze on PMI
    code.extend(wrmsr(0x30A, start));
    code.extend(wrmsr(0x38D, 0xBB));
    code.extend([0xBF, 0, 0x80, 0, 0]); //          mov edi, 0x8000
    code.push(0xBD); //                             mov ebp, count
    code.extend(count.to_le_bytes());
    code.extend(wrmsr(0x38F, 3 << 32));
    code.extend([0x89, 0xE9]); //                   mov ecx, ebp
    code.extend([0xF3, 0xAA]); //                   rep stosb
    code.extend(wrmsr(0x38F, 0));
    code.extend([0x31, 0xC0]); //                   xor eax, eax
    code.extend(EXIT);
    code
}

/// The enabling WRMSR, MOV, REP STOSB, and the three MOVs of the disabling WRMSR.
const INSTRUCTIONS: u64 = 6;

#[test]
fn an_iteration_of_rep_is_a_cycle_and_no_instruction() {
    for count in [0, 1, 7, 1000, 200_000] {
        let mut guest = Guest::new(&storing(count, 0));
        assert_eq!(guest.run(), Outcome::Exit { status: 1 });
        assert_eq!(guest.rdmsr(0x309), INSTRUCTIONS, "{count}");
        assert_eq!(guest.rdmsr(0x30A), INSTRUCTIONS + u64::from(count), "{count}");
    }
}

/// The first of three instructions that count is the WRMSR, so that iteration n is in cycle 2 + n.
#[test]
fn cycles_overflow_in_the_iteration_that_passes_their_top() {
    for until in [3, 4, 20, 500, 1001] {
        let mut guest = Guest::new(&storing(1000, (1 << 48) - until));
        assert_eq!(guest.run(), Outcome::Exit { status: 1 });
        assert!(PerfGlobalStatus(guest.rdmsr(0x38E)).ovf_fixed(1), "{until}");
        // Frozen at the very iteration, before REP has ended.
        assert_eq!((guest.rdmsr(0x309), guest.rdmsr(0x30A)), (2, 0), "{until}");
    }
    // The last iteration ends REP, in its own cycle. Behind it, at an instruction.
    for (until, instructions, value) in [(1002, 3, 1), (1003, 3, 0), (1005, 5, 0)] {
        let mut guest = Guest::new(&storing(1000, (1 << 48) - until));
        assert_eq!(guest.run(), Outcome::Exit { status: 1 });
        assert_eq!((guest.rdmsr(0x309), guest.rdmsr(0x30A)), (instructions, value), "{until}");
    }
}

/// A timer interrupts REP between two iterations, when its time has come.
#[test]
fn timers_fire_within_rep() {
    const MICROSECONDS: u64 = 20;
    let mut code = wrmsr(0x1B, 0xFEE0_0D00); //     x2APIC
    code.extend(wrmsr(0x80F, 0x1FF));
    code.extend(wrmsr(0x832, 0x30)); //             timer, one-shot
    code.extend([0xBF, 0, 0x80, 0, 0]); //          mov edi, 0x8000
    code.extend([0xBE, 0, 0, 0x10, 0]); //          mov esi, 1 MiB
    // A clock of 1 GHz, divided by 2.
    code.extend(wrmsr(0x838, MICROSECONDS * 500));
    code.extend([0xB9, 0, 0, 0x10, 0, 0xFB]); //    mov ecx, 1 MiB; sti
    code.extend([0xF3, 0xA4]); //                   rep movsb
    code.push(0xF4);
    let mut guest = Guest::new(&code);
    let handler = CODE + 0x200;
    // The iterations that are left, in units of 64 Ki.
    let mut exit = vec![0x89, 0xC8, 0xC1, 0xE8, 16]; // mov eax, ecx; shr eax, 16
    exit.extend(EXIT);
    let gate = u64::from(handler) | 8 << 16 | 0x8E00 << 32;
    for (at, bytes) in [
        (u64::from(handler), &exit[..]),
        (0x3000 + 0x30 * 8, &gate.to_le_bytes()),
        (0x4008, &0x00CF_9B00_0000_FFFF_u64.to_le_bytes()),
    ] {
        guest.machine.memory.write(at, bytes).expect("RAM");
    }
    guest.engine.state.idtr = DescriptorTable { base: 0x3000, limit: 0x1FF };
    guest.engine.state.gdtr = DescriptorTable { base: 0x4000, limit: 0xF };
    guest.engine.state.gpr[4] = 0x7000;
    let Outcome::Exit { status } = guest.run() else { panic!("no interrupt") };
    // 20 µs are some 50,000 iterations of 1,048,576.
    assert_eq!(status >> 1, 15);
    let now = guest.machine.now().0;
    assert!((MICROSECONDS * 1000..MICROSECONDS * 1000 + 500).contains(&now), "{now} ns");
}

/// A run that is saved within reach of REP goes on with the same time.
#[test]
fn saved_runs_keep_the_time_of_rep() {
    let code = storing(1000, 0);
    let mut whole = Guest::new(&code);
    whole.run();
    let expected = (whole.machine.now(), whole.engine.totals);
    let mut guest = Guest::new(&code);
    let limits = RunLimits { timeout: Duration::from_secs(20) };
    let instructions = whole.engine.totals.instructions();
    for until in instructions - 6..=instructions {
        guest.engine.run_until(&mut guest.machine, limits, until);
        let saved = serde_json::to_string(&guest.engine.save()).expect("JSON");
        let read: VcpuState = serde_json::from_str(&saved).expect("what was written");
        guest.engine.restore(&read).expect("a possible state");
    }
    guest.run();
    assert_eq!((guest.machine.now(), guest.engine.totals), expected);
    assert_eq!(guest.engine.totals.repetitions(), 1000);
}
