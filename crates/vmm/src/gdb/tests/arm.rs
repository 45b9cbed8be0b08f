//! The same for AArch64.

use super::*;
use crate::test_guest_arm::{CODE, Guest, UPPER_HALF, load, msr, off, to_upper_half};

const PMCNTENSET: u32 = 0x1B_9C20;
const PMCR: u32 = 0x1B_9C00;
const DATA: u64 = CODE + 0x1000;
/// Of the loop: behind what is before it in the program.
const LOOP: u64 = CODE + 4 * 10;
/// Of the SUBS in it.
const SUBS: u64 = LOOP + 4;

/// Counts down in X3 from 100, stores each number, and switches off; the cycle counter runs meanwhile.
fn program() -> Vec<u32> {
    let mut code = load(1, 1 << 31).to_vec();
    code.push(msr(PMCNTENSET, 1));
    code.extend(load(2, 1 << 6 | 1)); // LC, E
    code.push(msr(PMCR, 2));
    code.extend(load(4, DATA as u32));
    code.extend(load(3, 100));
    code.push(0xF900_0083); //          str x3, [x4]
    code.push(0xF100_0463); //          subs x3, x3, #1
    code.push(0x54FF_FFC1); //          b.ne .-8
    code.push(msr(PMCR, 31)); //        msr pmcr_el0, xzr
    code.extend(off());
    code
}

fn run(code: &[u32], detail: Detail, gdb: Option<GdbServer>) -> Ran {
    let mut guest = if detail == Detail::Timing { Guest::timed(code) } else { Guest::new(code) };
    if let Some(gdb) = gdb {
        guest.engine.attach(gdb.into_debugger::<GuestA64>(StopRequest::default()));
    }
    let outcome = guest.run();
    guest.machine.pmu.finish_trace().expect("the trace goes to memory");
    let (trace, now) = (guest.trace.text(), guest.machine.now().0);
    Ran { outcome, instructions: guest.engine.report().instructions, trace, now }
}

fn debug(code: Vec<u32>, detail: Detail) -> Client {
    connect(move |server| run(&code, detail, Some(server)))
}

const X3: usize = 3;
const SP: usize = 31;
const PC: usize = 32;
const CPSR: usize = 33;
const V1: usize = 35;
const FPCR: usize = 67;
const SP_EL0: usize = 68;
const SP_EL1: usize = 69;
const SCTLR: usize = 75;

#[test]
fn breakpoints_steps_and_watchpoints_leave_counts_and_trace_as_they_are() {
    for detail in [Detail::Counts, Detail::Timing] {
        let alone = run(&program(), detail, None);
        assert_eq!(alone.outcome, Outcome::PoweredOff);
        assert!(alone.trace.contains("PMCR_EL0"), "{}", alone.trace);
        let mut gdb = debug(program(), detail);
        assert!(gdb.ask("?").starts_with("T05"));
        assert_eq!(gdb.register(PC), CODE, "before the first instruction");
        assert_eq!(gdb.ask(&format!("Z0,{SUBS:x},4")), "OK");
        for x3 in [100, 99] {
            assert!(gdb.ask("c").contains("swbreak"));
            assert_eq!((gdb.register(PC), gdb.register(X3)), (SUBS, x3));
        }
        assert_eq!(number_of(&gdb.ask(&format!("m{SUBS:x},4"))), 0xF100_0463, "nothing is patched");
        assert_eq!(gdb.ask(&format!("z0,{SUBS:x},4")), "OK");
        for pc in [SUBS + 4, LOOP, SUBS] {
            assert!(gdb.ask("s").starts_with("S05"));
            assert_eq!(gdb.register(PC), pc);
        }
        assert!(gdb.ask(&format!("vCont;r{SUBS:x},{:x}:1", SUBS + 8)).starts_with("S05"));
        assert_eq!(gdb.register(PC), LOOP);
        // A watchpoint stops behind the store.
        assert_eq!(gdb.ask(&format!("Z2,{DATA:x},8")), "OK");
        let stopped = gdb.ask("c");
        assert!(stopped.contains(&format!("watch:{DATA:x}")), "{stopped}");
        assert_eq!((gdb.register(PC), number_of(&gdb.ask(&format!("m{DATA:x},8")))), (SUBS, 97));
        assert_eq!(gdb.ask(&format!("z2,{DATA:x},8")), "OK");
        // A hardware breakpoint behind the loop.
        assert_eq!(gdb.ask(&format!("Z1,{:x},4", SUBS + 8)), "OK");
        assert!(gdb.ask("c").contains("hwbreak"));
        assert_eq!(gdb.register(X3), 0);
        assert_eq!(gdb.ask("c"), "W00");
        assert_eq!(gdb.end(), alone, "{detail:?}");
    }
}

#[test]
fn registers_and_memory_can_be_read_and_written() {
    let mut gdb = debug(program(), Detail::Counts);
    let description = gdb.description();
    assert!(
        description.contains("org.gnu.gdb.aarch64.fpu") && description.contains("sctlr_el1"),
        "{description}"
    );
    let registers = description.matches("<reg ").count();
    assert_eq!(registers, 68 + 17, "as many as have numbers");
    let all = gdb.ask("g");
    assert_eq!(all.len(), 2 * (33 * 8 + 4 + 32 * 16 + 8));
    assert_eq!(number_of(&all[2 * 8 * PC..2 * 8 * (PC + 1)]), CODE);
    assert_eq!(gdb.ask(&format!("G{all}")), "OK");
    assert_eq!(gdb.ask("g"), all, "nothing is lost");
    assert_eq!(gdb.ask(&format!("P{V1:x}=000102030405060708090a0b0c0d0e0f")), "OK");
    assert_eq!(gdb.ask(&format!("p{V1:x}")), "000102030405060708090a0b0c0d0e0f");
    // SP is that of the exception level, EL1 after reset.
    assert_eq!(gdb.ask(&format!("P{SP:x}=0010000000000000")), "OK");
    assert_eq!((gdb.register(SP_EL1), gdb.register(SP_EL0)), (0x1000, 0));
    assert_eq!(gdb.ask(&format!("P{CPSR:x}=c4030060")), "OK", "EL1 with SP_EL0, Z and C");
    assert_eq!((gdb.register(CPSR), gdb.register(SP)), (0x6000_03C4, 0));
    assert_eq!(gdb.register(FPCR), 0);
    assert_eq!(gdb.register(SCTLR) & 1, 0, "the MMU is off");
    assert_eq!(gdb.ask(&format!("p{:x}", SCTLR + 20)), "", "no such register");
    // Another number to count from: the MOVZ before the loop, which has been decoded.
    assert_eq!(gdb.ask(&format!("Z0,{LOOP:x},4")), "OK");
    assert!(gdb.ask("c").contains("swbreak"));
    let [movz, _] = load(3, 3);
    let bytes: String = movz.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(gdb.ask(&format!("M{:x},4:{bytes}", LOOP - 8)), "OK");
    let pc: String = (LOOP - 8).to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(gdb.ask(&format!("P{PC:x}={pc}")), "OK");
    assert!(gdb.ask("c").contains("swbreak"));
    assert_eq!(gdb.register(X3), 3);
    assert!(gdb.ask("m1000,4").starts_with('E'), "no RAM");
    assert_eq!(gdb.ask(&format!("z0,{LOOP:x},4")), "OK");
    assert_eq!(gdb.ask("c"), "W00");
    assert_eq!(gdb.end().outcome, Outcome::PoweredOff);
}

#[test]
fn addresses_are_the_guests_with_the_mmu_on() {
    let code = to_upper_half();
    let target = UPPER_HALF | (CODE + 4 * (code.len() as u64 - 4));
    let mut gdb = debug(code, Detail::Counts);
    assert_eq!(gdb.ask(&format!("Z0,{target:x},4")), "OK");
    assert!(gdb.ask("c").contains("swbreak"));
    assert_eq!(gdb.register(PC), target);
    assert_eq!(number_of(&gdb.ask(&format!("m{target:x},4"))), 0xD503_201F, "by TTBR1_EL1");
    assert_eq!(number_of(&gdb.ask(&format!("m{CODE:x},4"))), u64::from(load(0, (CODE + 0x3000) as u32)[0]));
    assert!(gdb.ask("mffffff8000000000,4").starts_with('E'), "not mapped");
    assert_eq!(gdb.ask(&format!("z0,{target:x},4")), "OK");
    assert_eq!(gdb.ask("c"), "W00");
    assert_eq!(gdb.end().outcome, Outcome::PoweredOff);
}
