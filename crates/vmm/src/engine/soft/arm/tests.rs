//! Small guests at EL1 with the MMU off.

use super::*;
use crate::machine::arm::SystemFault;
use crate::test_guest_arm::{CODE, Guest, UPPER_HALF, load, msr, off, to_upper_half};

#[test]
fn a_guest_prints_and_switches_off() {
    let mut code = load(1, 0x0900_0000).to_vec();
    for byte in b"hi" {
        code.extend(load(2, (*byte).into()));
        code.push(0xB900_0022); // str w2, [x1]
    }
    code.extend(off());
    let mut guest = Guest::new(&code);
    assert_eq!(guest.run(), Outcome::PoweredOff);
    assert_eq!(guest.console.text(), "hi");
    assert_eq!(guest.engine.report().instructions, Some(2 + 2 * 3 + 3));
}

#[test]
fn the_exit_register_ends_the_run_with_its_status() {
    let mut code = load(1, 0x0A80_0000).to_vec();
    code.extend(load(2, 1));
    code.push(0xB900_0022); // str w2, [x1]
    assert_eq!(Guest::new(&code).run(), Outcome::Exit { status: 3 });
}

/// PMCNTENSET_EL0, PMCCNTR_EL0, PMCR_EL0.
const PMCNTENSET: u32 = 0x1B_9C20;
const PMCCNTR: u32 = 0x1B_9D00;
const PMCR: u32 = 0x1B_9C00;

#[test]
fn the_cycle_counter_counts_instructions_between_two_writes_of_pmcr() {
    let mut code = load(1, 1 << 31).to_vec();
    code.push(msr(PMCNTENSET, 1));
    code.extend(load(2, 1 << 6 | 1 << 2 | 1)); //  LC, C, E
    code.push(msr(PMCR, 2));
    code.extend(load(3, 100));
    code.push(0xF100_0463); //                     subs x3, x3, #1
    code.push(0x54FF_FFE1); //                     b.ne .-4
    code.push(msr(PMCR, 31)); //                   msr pmcr_el0, xzr
    code.extend(off());
    let mut guest = Guest::new(&code);
    assert_eq!(guest.run(), Outcome::PoweredOff);
    // The MSR that starts it is counted, the one that stops it is not.
    assert_eq!(guest.machine.read_system(PMCCNTR, 1, 0), Ok(1 + 2 + 200));
    assert_eq!(guest.machine.read_system(PMCCNTR, 0, 0), Err(SystemFault::Trapped));
    guest.machine.pmu.finish_trace().expect("the trace goes to memory");
    assert!(guest.trace.text().contains("PMCR_EL0"), "{}", guest.trace.text());
}

/// PMEVTYPER0_EL0 to PMEVTYPER2_EL0, and their counters.
const PMEVTYPER: [u32; 3] = [0x1B_EC00, 0x1B_EC20, 0x1B_EC40];
const PMEVCNTR: [u32; 3] = [0x1B_E800, 0x1B_E820, 0x1B_E840];

/// Counts INST_RETIRED, EXC_TAKEN and L1D_CACHE over an undefined instruction, a loop that loads, and their handler.
fn counts_of_a_loop() -> Vec<u32> {
    let mut code = load(5, HANDLER).to_vec();
    code.push(0xD518_C005); //                     msr vbar_el1, x5
    code.extend(load(4, HANDLER + 0x2000));
    for (typer, event) in PMEVTYPER.into_iter().zip([0x08, 0x09, 0x04]) {
        code.extend(load(1, event));
        code.push(msr(typer, 1));
    }
    code.extend(load(1, 0x8000_0007));
    code.push(msr(PMCNTENSET, 1));
    code.extend(load(2, 1 << 6 | 1 << 2 | 1 << 1 | 1)); // LC, C, P, E
    code.push(msr(PMCR, 2));
    code.push(0); //                               udf #0
    code.extend(load(3, 1000));
    code.push(0xF940_0086); //                     ldr x6, [x4]
    code.push(0xF100_0463); //                     subs x3, x3, #1
    code.push(0x54FF_FFC1); //                     b.ne .-8
    code.push(msr(PMCR, 31)); //                   msr pmcr_el0, xzr
    code.extend(off());
    code
}

/// A vector table; exceptions at EL1 with SP_EL1 are at 200H.
const HANDLER: u32 = (CODE as u32) + 0x1000;

/// Skips the instruction: mrs x9, elr_el1; add x9, x9, #4; msr elr_el1, x9; eret
const SKIP: [u32; 4] = [0xD538_4029, 0x9100_1129, 0xD518_4029, 0xD69F_03E0];

impl Guest {
    fn skips_undefined(self) -> Self {
        let bytes: Vec<u8> = SKIP.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.machine.memory.write(u64::from(HANDLER) + 0x200, &bytes).expect("RAM");
        self
    }

    fn counters(&mut self) -> [u64; 3] {
        PMEVCNTR.map(|register| self.machine.read_system(register, 1, 0).expect("a counter"))
    }
}

#[test]
fn a_model_gives_cycles_and_cache_events_and_what_retires_stays_exact() {
    let code = counts_of_a_loop();
    let mut plain = Guest::new(&code).skips_undefined();
    assert_eq!(plain.run(), Outcome::PoweredOff);
    let mut timed = Guest::timed(&code).skips_undefined();
    assert_eq!(timed.run(), Outcome::PoweredOff);
    let retired = 1 + 4 + 2 + 3000;
    let [instructions, exceptions, _] = plain.counters();
    assert_eq!([instructions, exceptions], [retired, 1]);
    let [instructions, exceptions, accesses] = timed.counters();
    assert_eq!([instructions, exceptions, accesses], [retired, 1, 1000]);
    let cycles = timed.machine.read_system(PMCCNTR, 1, 0).expect("a counter");
    assert!((1000..retired).contains(&cycles), "{cycles} cycles: more than one instruction in each");
    let clock = timed.engine.clock.cycles;
    assert!((cycles..cycles + 20_000).contains(&clock), "guest time is the model's: {clock} cycles");
}

#[test]
fn without_a_model_accesses_are_loads_and_stores() {
    let mut code = load(4, HANDLER + 0x2000).to_vec();
    code.extend(load(1, 0x13)); //                 MEM_ACCESS
    code.push(msr(PMEVTYPER[0], 1));
    code.extend(load(1, 1));
    code.push(msr(PMCNTENSET, 1));
    code.extend(load(2, 1 << 6 | 1));
    code.push(msr(PMCR, 2));
    code.extend([0xF940_0086, 0xF900_0086, 0xA940_1C86]); // ldr x6, [x4]; str x6, [x4]; ldp x6, x7, [x4]
    code.push(msr(PMCR, 31));
    code.extend(off());
    let mut guest = Guest::new(&code);
    assert_eq!(guest.run(), Outcome::PoweredOff);
    assert_eq!(guest.counters()[0], 3);
}

#[test]
fn a_device_shows_what_is_written_with_a_model_too() {
    let mut code = load(1, 0x0900_0000).to_vec();
    code.extend(load(2, u32::from(b'x')));
    code.push(0xB900_0022); // str w2, [x1]
    code.extend(off());
    let mut guest = Guest::timed(&code);
    assert_eq!(guest.run(), Outcome::PoweredOff);
    assert_eq!(guest.console.text(), "x");
}

#[test]
fn waiting_with_no_interrupt_to_come_ends_the_run() {
    let mut guest = Guest::new(&[0xD503_207F]); // wfi
    assert_eq!(guest.run(), Outcome::Halted);
}

#[test]
fn a_run_goes_on_from_a_saved_state_as_if_it_had_not_stopped() {
    let mut code = load(3, 5000).to_vec();
    code.push(0xF100_0463); //                     subs x3, x3, #1
    code.push(0x54FF_FFE1); //                     b.ne .-4
    code.extend(off());
    let mut whole = Guest::new(&code);
    whole.run();
    let mut first = Guest::new(&code);
    let limits = RunLimits { timeout: Duration::from_secs(20) };
    assert_eq!(first.engine.run_until(&mut first.machine, limits, 777), None);
    let (vcpu, machine) = (first.engine.save(), first.machine.save());
    assert_eq!(vcpu.instructions(), 777);
    let text = serde_json::to_string(&(vcpu, machine)).expect("JSON");
    let (vcpu, machine) = serde_json::from_str(&text).expect("what was written");
    let mut second = Guest::new(&code);
    second.engine.restore(&vcpu).expect("a state that was saved");
    second.machine.resume(&machine).expect("a state that was saved");
    assert_eq!(second.run(), Outcome::PoweredOff);
    assert_eq!(second.engine.report().instructions, whole.engine.report().instructions);
    assert_eq!(second.machine.now(), whole.machine.now());
}

#[test]
fn instructions_are_shown_with_the_mmu_on() {
    let code = to_upper_half();
    let mut guest = Guest::new(&code);
    assert_eq!(guest.run(), Outcome::PoweredOff);
    let registers = guest.engine.registers(&guest.machine).registers;
    let end = UPPER_HALF | (CODE + 4 * code.len() as u64);
    assert_eq!(registers[0], ("pc", end));
    let last = guest.engine.instruction_at(&guest.machine, end - 4);
    assert_eq!(last.as_deref().map(|text| &text[..3]), Some("hvc"), "{last:?}");
    assert_eq!(guest.engine.instruction_at(&guest.machine, UPPER_HALF), None, "not mapped");
}
