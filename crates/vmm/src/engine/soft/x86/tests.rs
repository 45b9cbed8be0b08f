//! Small guests in 32-bit protected mode; each line of bytes has its mnemonic. The guest test images
//! run on this engine in `cargo xtask test`.

use super::*;
use crate::test_code::wrmsr;
use crate::test_guest::{CODE, Guest};
use platform::devices::Capture;
use platform::x86::apic::ApicConfig;
use std::time::Duration;
use vpmu::profile::ICELAKE_SP;
use vpmu::register::intel::PerfGlobalStatus;

mod exceptions;
mod intervals;
mod repetitions;

/// OUT 0xF4, AL: ends the run with status (AL << 1) | 1.
const EXIT: [u8; 2] = [0xE6, 0xF4];

impl Guest {
    fn new(code: &[u8]) -> Self {
        Self::with(code, Detail::Counts, ApicConfig::default())
    }

    fn with_detail(code: &[u8], detail: Detail) -> Self {
        Self::with(code, detail, ApicConfig::default())
    }

    fn run(&mut self) -> Outcome {
        let limits = RunLimits { timeout: Duration::from_secs(20) };
        self.engine.run(&mut self.machine, limits).expect("the engine does not fail")
    }

    fn rdmsr(&mut self, index: u32) -> u64 {
        self.machine.rdmsr(index, None).expect("a register that exists")
    }
}

/// 100 times DEC, JNZ: 201 instructions with the MOV.
fn hundred_times() -> Vec<u8> {
    let mut code = vec![0xBB, 100, 0, 0, 0]; //     mov ebx, 100
    code.push(0x4B); //                        1:   dec ebx
    code.extend([0x75, 0xFD]); //                   jnz 1b
    code
}

/// Fixed counter 0 from `start`, with PMI, over the loop.
fn counting(start: u64) -> Vec<u8> {
    let mut code = wrmsr(0x309, start);
    code.extend(wrmsr(0x38D, 0xB));
    code.extend(wrmsr(0x38F, 1 << 32));
    code.extend(hundred_times());
    code.extend(wrmsr(0x38F, 0));
    code.extend([0x31, 0xC0]); //                   xor eax, eax
    code.extend(EXIT);
    code
}

/// The enabling WRMSR counts, the disabling one does not: 1 + 201 + its 3 MOVs.
const COUNTED: u64 = 1 + 201 + 3;

#[test]
fn counts_to_the_instruction() {
    for detail in [Detail::Counts, Detail::Timing] {
        let mut guest = Guest::with_detail(&counting(0), detail);
        assert_eq!(guest.run(), Outcome::Exit { status: 1 });
        assert_eq!(guest.rdmsr(0x309), COUNTED);
    }
}

#[test]
fn overflows_at_the_very_instruction() {
    let top = 1 << 48;
    let cases = [(top - COUNTED, true), (top - COUNTED - 1, false)];
    for ((start, overflows), detail) in
        cases.into_iter().flat_map(|case| [(case, Detail::Counts), (case, Detail::Timing)])
    {
        let mut guest = Guest::with_detail(&counting(start), detail);
        guest.run();
        let status = PerfGlobalStatus(guest.rdmsr(0x38E));
        assert_eq!(status.ovf_fixed(0), overflows, "from {start:#x}");
        assert_eq!(guest.machine.pmu.stats().pmis, u64::from(overflows));
    }
}

#[test]
fn a_run_repeats_byte_for_byte() {
    for detail in [Detail::Counts, Detail::Timing] {
        let run = || {
            let mut guest = Guest::with_detail(&counting((1 << 48) - 50), detail);
            guest.run();
            guest.machine.pmu.finish_trace().expect("the trace goes to memory");
            guest.trace.text()
        };
        let first = run();
        assert!(first.lines().count() >= 5, "{first}");
        assert_eq!(first, run());
    }
}

/// A counter of cycles that freezes all counters when it overflows ends where it passed its top: later by less
/// than an instruction takes.
#[test]
fn cycles_overflow_at_their_instruction() {
    const FREEZE_ON_PMI: u64 = 1 << 12;
    let mut code = wrmsr(0x1D9, FREEZE_ON_PMI);
    code.extend(wrmsr(0x30A, (1 << 48) - 30));
    code.extend(wrmsr(0x38D, 0xB0));
    code.extend(wrmsr(0x38F, 1 << 33));
    code.extend(hundred_times());
    code.extend([0x31, 0xC0]); //                   xor eax, eax
    code.extend(EXIT);
    let mut guest = Guest::with_detail(&code, Detail::Timing);
    assert_eq!(guest.run(), Outcome::Exit { status: 1 });
    assert!(PerfGlobalStatus(guest.rdmsr(0x38E)).ovf_fixed(1));
    assert!(guest.rdmsr(0x30A) < 500, "{} cycles behind the top", guest.rdmsr(0x30A));
}

/// A CPU that halts lets time pass and no cycles.
#[test]
fn halting_takes_no_cycles() {
    let mut code = wrmsr(0x38D, 0xB0);
    code.extend(wrmsr(0x38F, 1 << 33));
    code.extend(wrmsr(0x832, 0x30)); //             timer, one-shot
    let gate = u64::from(CODE + 0x100) | 8 << 16 | 0x8E00 << 32;
    let mut start = wrmsr(0x1B, 0xFEE0_0D00); //    x2APIC
    start.extend(wrmsr(0x80F, 0x1FF)); //           spurious vector, enabled
    start.extend(&code);
    start.extend(wrmsr(0x838, 25_000)); //          initial count: 50 µs
    start.extend([0xFB, 0xF4]); //                  sti; hlt
    start.extend([0xFA, 0xF4]); //                  cli; hlt
    let mut guest = Guest::with_detail(&start, Detail::Timing);
    guest.machine.memory.write(0x3000 + 0x30 * 8, &gate.to_le_bytes()).expect("RAM");
    guest.machine.memory.write(0x4008, &0x00CF_9B00_0000_FFFF_u64.to_le_bytes()).expect("RAM");
    guest.machine.memory.write(u64::from(CODE + 0x100), &[0xCF]).expect("RAM");
    guest.engine.state.idtr = soft_cpu::DescriptorTable { base: 0x3000, limit: 0x1FF };
    guest.engine.state.gdtr = soft_cpu::DescriptorTable { base: 0x4000, limit: 0xF };
    guest.engine.state.gpr[4] = 0x8000;
    assert_eq!(guest.run(), Outcome::Halted);
    assert!(guest.machine.now() >= platform::time::GuestTime(50_000), "{:?}", guest.machine.now());
    assert!((1..5_000).contains(&guest.rdmsr(0x30A)), "{} cycles", guest.rdmsr(0x30A));
}

#[test]
fn a_modelled_core_takes_no_snapshots() {
    let mut guest = Guest::with_detail(&EXIT, Detail::Timing);
    assert!(guest.engine.snapshots().is_none());
    assert!(Guest::with_detail(&EXIT, Detail::Counts).engine.snapshots().is_some());
}

#[test]
fn halting_for_good_and_triple_faults_end_the_run() {
    let mut halted = Guest::new(&[0xF4]); //        hlt
    assert_eq!(halted.run(), Outcome::Halted);
    let mut faulted = Guest::new(&[0x0F, 0x0B]); // ud2, without an IDT
    assert_eq!(faulted.run(), Outcome::TripleFault);
    let dump = faulted.engine.registers(&faulted.machine);
    assert!(dump.registers.contains(&("rip", u64::from(CODE))), "{dump:x?}");
    assert_eq!(dump.code[..2], [0x0F, 0x0B]);
}

#[test]
fn the_first_use_of_an_unimplemented_instruction_is_traced_once() {
    let mut code = wrmsr(0x309, 1);
    code.extend([0xF3, 0x0F, 0xAE, 0xE0]); //       ptwrite eax
    let mut guest = Guest::new(&code);
    // A #UD gate whose handler goes back to the instruction, until the second time.
    let gate = u64::from(CODE + 0x100) | 8 << 16 | 0x8E00 << 32;
    guest.machine.memory.write(0x3000 + 6 * 8, &gate.to_le_bytes()).expect("RAM");
    guest.machine.memory.write(0x4008, &0x00CF_9B00_0000_FFFF_u64.to_le_bytes()).expect("RAM");
    let mut handler = vec![0x43]; //                inc ebx
    handler.extend([0x83, 0xFB, 2]); //             cmp ebx, 2
    handler.extend([0x74, 0x01, 0xCF]); //          je +1; iret
    handler.extend(wrmsr(0x309, 2));
    handler.extend(EXIT);
    guest.machine.memory.write(u64::from(CODE + 0x100), &handler).expect("RAM");
    guest.engine.state.idtr = soft_cpu::DescriptorTable { base: 0x3000, limit: 0xFF };
    guest.engine.state.gdtr = soft_cpu::DescriptorTable { base: 0x4000, limit: 0xF };
    guest.engine.state.gpr[3] = 0;
    guest.engine.state.gpr[4] = 0x8000;
    guest.run();
    guest.machine.pmu.finish_trace().expect("the trace goes to memory");
    let trace: Vec<serde_json::Value> =
        guest.trace.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ops: Vec<&str> = trace.iter().filter_map(|line| line["op"].as_str()).collect();
    assert_eq!(ops, ["wrmsr", "unimplemented", "wrmsr"], "in order, and once for two uses");
    assert_eq!(trace[1]["rip"], format!("{:#x}", CODE + 17));
    assert_eq!(trace[1]["count"], 1);
    let name = trace[1]["name"].as_str().expect("a name");
    assert!(name.to_lowercase().contains("ptwrite"), "{name}");
}

#[test]
fn an_endless_loop_is_ended() {
    let mut guest = Guest::new(&[0xEB, 0xFE]); //   1: jmp 1b
    let limits = RunLimits { timeout: Duration::from_millis(50) };
    let outcome = guest.engine.run(&mut guest.machine, limits);
    assert_eq!(outcome.expect("the engine does not fail"), Outcome::TimedOut);
}

#[test]
fn a_refused_write_is_gp_in_the_guest() {
    let mut guest = Guest::new(&wrmsr(0x38F, u64::MAX));
    assert_eq!(guest.run(), Outcome::TripleFault, "there is no handler");
    assert_eq!(guest.machine.pmu.stats().faults, 1);
}

#[test]
fn cpuid_is_the_profile_and_only_what_is_implemented() {
    let leaf = cpuid::leaf(&ICELAKE_SP, true, 0xA, 0);
    assert_eq!((leaf.eax, leaf.ecx, leaf.edx), (0x0830_0805, 0xF, 0x8604));
    let features = cpuid::leaf(&ICELAKE_SP, false, 1, 0);
    assert_eq!(features.eax, 0x606A6);
    assert_eq!(features.ecx >> 21 & 1, 0, "no x2APIC when the APIC has none");
    assert_eq!(features.ecx >> 15 & 1, 1, "PERF_CAPABILITIES");
    assert_eq!(features.ecx >> 28 & 1, 1, "AVX");
    assert_eq!(features.ecx >> 3 & 1, 0, "no MONITOR");
    // TSC = crystal * EBX / EAX.
    let tsc = cpuid::leaf(&ICELAKE_SP, true, 0x15, 0);
    assert_eq!(u64::from(tsc.ecx) * u64::from(tsc.ebx) / u64::from(tsc.eax), ICELAKE_SP.tsc_hz);
}

/// Runs `code`, which leaves a result in EAX, and returns the seven bits of it that an exit status holds.
fn result_of(code: Vec<u8>) -> u8 {
    result_with(code, Detail::Counts)
}

fn result_with(mut code: Vec<u8>, detail: Detail) -> u8 {
    code.extend(EXIT);
    match Guest::with_detail(&code, detail).run() {
        Outcome::Exit { status } => status >> 1,
        other => panic!("{other:?}"),
    }
}

#[test]
fn events_that_nobody_counts_are_announced_as_unavailable() {
    let mut code = vec![0xB8, 0x0A, 0, 0, 0]; //    mov eax, 0xa
    code.extend([0x0F, 0xA2]); //                   cpuid
    code.extend([0x89, 0xD8]); //                   mov eax, ebx
    // Last-level cache references and misses, mispredicted branches.
    assert_eq!(result_of(code.clone()), 1 << 3 | 1 << 4 | 1 << 6);
    assert_eq!(result_with(code, Detail::Timing), 0, "a model knows them");
}

#[test]
fn the_tsc_goes_on_from_what_the_guest_writes() {
    let mut code = wrmsr(0x10, 0x15_0000_0000);
    code.extend([0x0F, 0x31]); //                   rdtsc
    code.extend([0x89, 0xD0]); //                   mov eax, edx
    assert_eq!(result_of(code), 0x15);
}

#[test]
fn the_tsc_deadline_timer_fires_when_the_tsc_is_there() {
    const DEADLINE: u64 = 50_000;
    let apic = ApicConfig { tsc_deadline_hz: Some(ICELAKE_SP.tsc_hz), ..ApicConfig::default() };
    // Armed last, and with the TSC moved to shortly before and shortly after the deadline once it is armed.
    for moved in [None, Some(DEADLINE - 1000), Some(DEADLINE + 5)] {
        let mut code = vec![0xB8, 1, 0, 0, 0, 0x0F, 0xA2]; // mov eax, 1; cpuid
        code.extend([0x0F, 0xBA, 0xE1, 24, 0x73, 0xFE]); // bt ecx, 24; jnc .
        code.extend(wrmsr(0x1B, 0xFEE0_0D00)); //       x2APIC
        code.extend(wrmsr(0x80F, 0x1FF));
        code.extend(wrmsr(0x832, 2 << 17 | 0x40)); //   TSC deadline, vector 0x40
        code.extend(wrmsr(0x6E0, DEADLINE));
        code.extend(moved.map_or(vec![], |tsc| wrmsr(0x10, tsc)));
        code.extend([0xB9, 0x22, 8, 0, 0]); //          mov ecx, 0x822: IRR of vectors 0x40 to 0x5f
        code.extend([0x0F, 0x32, 0xA8, 1, 0x74, 0xFA]); // 1: rdmsr; test al, 1; jz 1b
        code.extend([0x0F, 0x31]); //                   rdtsc
        code.push(0x2D); //                             sub eax, DEADLINE
        code.extend((DEADLINE as u32).to_le_bytes());
        code.extend(EXIT);
        let mut guest = Guest::with(&code, Detail::Counts, apic);
        let late = match guest.run() {
            Outcome::Exit { status } => status >> 1,
            other => panic!("{other:?}"),
        };
        // RDTSC comes a few instructions after the interrupt is seen to be requested, by an access to the APIC; never
        // before.
        let poll = ICELAKE_SP.tsc_hz.div_ceil(ICELAKE_SP.crystal_hz.into()) as u8;
        assert!((1..poll + 20).contains(&late), "{late} cycles after the deadline, moved to {moved:?}");
    }
}

#[test]
fn cpuid_has_an_apic_only_while_it_is_enabled() {
    for (base, present) in [(0xFEE0_0900, 1), (0xFEE0_0100, 0)] {
        let mut code = wrmsr(0x1B, base);
        code.extend([0xB8, 1, 0, 0, 0]); //         mov eax, 1
        code.extend([0x0F, 0xA2]); //               cpuid
        code.extend([0xC1, 0xEA, 9]); //            shr edx, 9
        code.extend([0x83, 0xE2, 1]); //            and edx, 1
        code.extend([0x89, 0xD0]); //               mov eax, edx
        assert_eq!(result_of(code), present);
    }
}

#[test]
fn there_are_no_machine_check_banks() {
    let mut code = vec![0xB9, 0x79, 1, 0, 0]; //    mov ecx, 0x179
    code.extend([0x0F, 0x32]); //                   rdmsr
    assert_eq!(result_of(code), 0);
}

/// A guest that polls its timer sees it move, by one tick of its clock with each access.
#[test]
fn the_apic_timer_moves_between_two_reads_of_it() {
    let code = [
        &[0xC7, 0x05, 0xE0, 0x03, 0xE0, 0xFE, 0x0B, 0, 0, 0][..], // mov dword [DIVIDE], by 1
        &[0xC7, 0x05, 0x80, 0x03, 0xE0, 0xFE, 0xE8, 0x03, 0, 0],  // mov dword [INITIAL], 1000
        &[0xA1, 0x90, 0x03, 0xE0, 0xFE],                          // mov eax, [CURRENT]
        &[0x2B, 0x05, 0x90, 0x03, 0xE0, 0xFE],                    // sub eax, [CURRENT]
        &EXIT,
    ]
    .concat();
    let apic = ApicConfig { timer_hz: ICELAKE_SP.crystal_hz.into(), ..ApicConfig::default() };
    assert_eq!(Guest::with(&code, Detail::Counts, apic).run(), Outcome::Exit { status: 3 });
}

/// Halts for a second again and again, and with `output` writes a byte to the console each time.
fn ticking(output: bool) -> Guest {
    const HANDLER: u32 = CODE + 0x200;
    const IDT: u64 = 0x2000;
    const GDT: u64 = 0x3000;
    const POINTERS: u64 = 0x3100;
    const VECTOR: u32 = 0x40;
    let code = [
        &[0x0F, 0x01, 0x15, 0x00, 0x31, 0, 0][..], //               lgdt [POINTERS]
        &[0x0F, 0x01, 0x1D, 0x10, 0x31, 0, 0],     //               lidt [POINTERS + 16]
        &[0xBC, 0x00, 0x80, 0, 0],                 //               mov esp, 0x8000
        &[0xC7, 0x05, 0xF0, 0x00, 0xE0, 0xFE, 0xFF, 0x01, 0, 0], // mov dword [SVR], 0x1ff
        &[0xC7, 0x05, 0xE0, 0x03, 0xE0, 0xFE, 0x0B, 0, 0, 0], //    mov dword [DIVIDE], by 1
        &[0xC7, 0x05, 0x20, 0x03, 0xE0, 0xFE, VECTOR as u8, 0, 2, 0], // mov dword [LVT_TIMER], periodic
        &[0xC7, 0x05, 0x80, 0x03, 0xE0, 0xFE],     //               mov dword [INITIAL], 1 s
        &1_000_000_000_u32.to_le_bytes(),
        &[0xFB, 0xF4, 0xEB, 0xFD], //                               sti; 1: hlt; jmp 1b
    ]
    .concat();
    let guest = Guest::new(&code);
    let print: &[u8] = if output { &[0xE6, 0xE9] } else { &[] }; // out 0xe9, al
    let end_of_interrupt = &[0xC7, 0x05, 0xB0, 0x00, 0xE0, 0xFE, 0, 0, 0, 0];
    let handler = [print, end_of_interrupt, &[0xCF]].concat(); //   mov dword [EOI], 0; iretd
    let write = |address: u64, bytes: &[u8]| guest.machine.memory.write(address, bytes).expect("RAM");
    write(HANDLER.into(), &handler);
    write(IDT + 8 * u64::from(VECTOR), &(u64::from(HANDLER) | 0x08 << 16 | 0x8E00 << 32).to_le_bytes());
    for (n, descriptor) in [0, 0x00CF_9B00_0000_FFFF, 0x00CF_9300_0000_FFFF_u64].into_iter().enumerate() {
        write(GDT + 8 * n as u64, &descriptor.to_le_bytes());
    }
    for (pointer, table) in [(POINTERS, GDT), (POINTERS + 16, IDT)] {
        write(pointer, &(0xFFF | table << 16).to_le_bytes());
    }
    guest
}

#[test]
fn a_guest_that_only_waits_ends_after_an_hour_of_its_time() {
    const HOUR: u64 = 3600 * 1_000_000_000;
    let mut guest = ticking(false);
    assert_eq!(guest.run(), Outcome::Idle);
    assert!((HOUR..HOUR + 2_000_000_000).contains(&guest.machine.now().0), "{:?}", guest.machine.now());
}

#[test]
fn a_guest_that_says_something_now_and_then_is_not_idle() {
    let mut guest = ticking(true);
    let limits = RunLimits { timeout: Duration::from_secs(20) };
    // Some 4000 seconds.
    assert_eq!(guest.engine.run_until(&mut guest.machine, limits, 20_000), None);
    assert!(guest.machine.now().0 > 3700 * 1_000_000_000, "{:?}", guest.machine.now());
}
