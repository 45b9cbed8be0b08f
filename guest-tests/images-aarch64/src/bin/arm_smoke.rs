//! Tests of the runtime itself: what every other image relies on.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::{
    arch::asm,
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use guest_runtime::{
    Exception, Frame, at_el0, catch, check, check_eq, counting_loop, gic, guest_test,
    protocol::mmio::{PHYSICAL_TIMER_INTID, VIRTUAL_TIMER_INTID},
    registers::{packed, read, write},
    set_handler, set_interrupts, spin_for, spin_until, timer,
    vectors::set_synchronous_handler,
    wait_for_interrupt, with_interrupts,
};

guest_runtime::image!();

/// A register that no CPU has: CRn = 7 with op0 = 3.
const BOGUS: u32 = packed(3, 0, 7, 7, 7);
const MIDR_EL1: u32 = packed(3, 0, 0, 0, 0);
const TPIDR_EL0: u32 = packed(3, 3, 13, 0, 2);
const TPIDRRO_EL0: u32 = packed(3, 3, 13, 0, 3);
const SCTLR_EL1: u32 = packed(3, 0, 1, 0, 0);
/// The virtual timer's interrupt, as handlers know it.
const TIMER: u8 = VIRTUAL_TIMER_INTID as u8;
/// Ticks far beyond what any machine needs; they only end a test that would hang otherwise.
const PATIENCE: u64 = 1 << 24;

static ARRIVALS: AtomicU64 = AtomicU64::new(0);

fn arrivals() -> u64 {
    ARRIVALS.load(Relaxed)
}

fn level() -> u8 {
    // The register can be read at EL1 only.
    if read(packed(3, 0, 4, 2, 2)).is_ok() { 1 } else { 0 }
}

fn count_timer(frame: &mut Frame) {
    ARRIVALS.fetch_add(1, Relaxed);
    timer::stop();
    gic::end(frame.vector as u32);
}

fn count_sgi(frame: &mut Frame) {
    ARRIVALS.fetch_add(1, Relaxed);
    gic::end(frame.vector as u32);
}

/// Goes on behind the instruction.
fn step_over(frame: &mut Frame) {
    ARRIVALS.fetch_add(frame.syndrome >> 26, Relaxed);
    frame.pc += 4;
}

/// MMU and caches are on, and there is a CPU with a name.
#[guest_test]
fn control_registers() {
    check_eq!(read(SCTLR_EL1).map(|sctlr| sctlr & 0x1005), Ok(0x1005));
    check!(read(MIDR_EL1).is_ok_and(|midr| midr >> 24 != 0));
}

/// A register that does not exist is UNDEFINED at both levels, and the test goes on.
#[guest_test]
fn bogus_register_is_undefined() {
    check_eq!(read(BOGUS), Err(Exception::UNDEFINED));
    check_eq!(write(BOGUS, 1), Err(Exception::UNDEFINED));
    check_eq!(at_el0(|| read(BOGUS)), Err(Exception::UNDEFINED));
}

/// Writing a register that can only be read is UNDEFINED.
#[guest_test]
fn read_only_register_is_not_written() {
    check_eq!(write(MIDR_EL1, 0), Err(Exception::UNDEFINED));
    check_eq!(at_el0(|| write(TPIDRRO_EL0, 0)), Err(Exception::UNDEFINED));
}

/// A register keeps all 64 bits.
#[guest_test]
fn registers_keep_values() {
    for value in [0x1234_5678_9ABC_DEF0, !0, 0] {
        check_eq!(write(TPIDR_EL0, value), Ok(()));
        check_eq!(read(TPIDR_EL0), Ok(value));
        check_eq!(at_el0(|| read(TPIDR_EL0)), Ok(value));
    }
}

/// Code runs at EL0 and its result comes back to EL1, twice.
#[guest_test]
fn el0_and_back() {
    check_eq!(level(), 1);
    for input in 1..3 {
        let (at, output) = at_el0(|| (level(), black_box(input) * 21_u64));
        check_eq!((at, output), (0, input * 21));
        check_eq!(level(), 1);
    }
}

/// A check that fails at EL0 fails the test, and the next code runs at EL1.
#[guest_test]
fn el0_can_give_up() {
    // SAFETY: BRK raises an exception and does nothing else.
    let fault = catch(|| at_el0(|| unsafe { asm!("brk #7") })).expect_err("BRK returned");
    check_eq!((fault.exception.class(), fault.exception.specific(), fault.level), (0x3C, 7, 0));
    check_eq!(level(), 1);
}

/// A null dereference is a data abort with its address, at both levels, and can be caught.
#[guest_test]
fn null_faults() {
    fn load() {
        // SAFETY: none; the test is that page 0 is not mapped. The asm keeps the access as it is.
        unsafe { asm!("ldr x9, [{}]", in(reg) 8_u64, out("x9") _) };
    }
    let fault = catch(load).expect_err("page 0 is mapped");
    check_eq!(fault.exception.class(), Exception::CLASS_DATA_ABORT);
    check_eq!(
        (fault.exception.specific() & 0x7F, fault.address),
        (6, 8),
        "read, translation fault of level 2"
    );
    let fault = catch(|| at_el0(load)).expect_err("page 0 is mapped at EL0");
    check_eq!((fault.exception.class(), fault.address), (Exception::CLASS_DATA_ABORT_EL0, 8));
}

/// Code cannot be written, data cannot be executed.
#[guest_test]
fn permissions_hold() {
    let code = permissions_hold as *const () as u64;
    // SAFETY: the store faults; that is the test.
    let store = || unsafe { asm!("str xzr, [{}]", in(reg) code) };
    let fault = catch(store).expect_err("code was written");
    check_eq!(
        (fault.exception.specific() & 0x7F, fault.address),
        (0x4E, code),
        "write, permission fault of level 2"
    );
    let data = 0xD65F_03C0_u64;
    let pointer = (&raw const data) as u64;
    // SAFETY: the branch faults; that is the test. If not, the word is a RET.
    let jump = || unsafe { asm!("blr {}", in(reg) pointer, out("x30") _) };
    let fault = catch(jump).expect_err("data was executed");
    check_eq!((fault.exception.class(), fault.pc), (0x21, pointer), "instruction abort at EL1");
}

/// An undefined instruction can be caught, twice.
#[guest_test]
fn undefined_instruction_faults() {
    for _ in 0..2 {
        // SAFETY: UDF is UNDEFINED and does nothing else.
        let fault = catch(|| unsafe { asm!("udf #0") });
        check_eq!(fault.map_err(|fault| fault.exception), Err(Exception::UNDEFINED));
    }
}

/// A stack overflow hits the guard page and is caught on the emergency stack.
#[guest_test]
fn stack_overflow_faults() {
    #[expect(unconditional_recursion)]
    fn recurse(depth: u64) -> u64 {
        let frame = black_box([depth; 64]);
        recurse(depth + 1) + frame[0]
    }
    let fault = catch(|| recurse(0)).expect_err("endless recursion returned");
    check_eq!(fault.exception.class(), Exception::CLASS_DATA_ABORT);
}

/// A handler of an exception may change the registers and go on behind the instruction.
#[guest_test]
fn handler_repairs_registers() {
    fn handler(frame: &mut Frame) {
        frame.x[5] = 7;
        frame.pc += 4;
    }
    set_synchronous_handler(Some(handler));
    let value: u64;
    // SAFETY: UDF leads to the handler above, which changes X5 only.
    unsafe { asm!("udf #0", inout("x5") 0_u64 => value) };
    check_eq!(value, 7);
}

/// All registers and flags survive a handler.
#[guest_test]
fn handler_keeps_registers() {
    set_synchronous_handler(Some(step_over));
    let (kept, flags): (u64, u64);
    // SAFETY: UDF leads to the handler above, which changes the PC only.
    unsafe {
        asm!(
            "mov x2, #2", "mov x8, #8", "mov x17, #17", "mov x28, #28", "mov x30, #30",
            "cmp xzr, xzr",
            "udf #0",
            "mrs {flags}, nzcv",
            "add {kept}, x2, x8", "add {kept}, {kept}, x17", "add {kept}, {kept}, x28", "add {kept}, {kept}, x30",
            kept = out(reg) kept, flags = out(reg) flags,
            out("x2") _, out("x8") _, out("x17") _, out("x28") _, out("x30") _,
        );
    }
    check_eq!((kept, flags >> 28), (2 + 8 + 17 + 28 + 30, 6), "sum of the registers, NZCV");
}

/// SVC reaches a handler from both levels, with its immediate and the address behind it.
#[guest_test]
fn svc_reaches_a_handler() {
    fn handler(frame: &mut Frame) {
        ARRIVALS.fetch_add(frame.syndrome & 0xFFFF, Relaxed);
        frame.x[0] = u64::from(frame.level());
    }
    fn call() -> u64 {
        let level;
        // SAFETY: the handler changes X0 only.
        unsafe { asm!("svc #0x123", out("x0") level) };
        level
    }
    ARRIVALS.store(0, Relaxed);
    set_synchronous_handler(Some(handler));
    check_eq!((call(), at_el0(call)), (1, 0));
    check_eq!(arrivals(), 2 * 0x123);
}

/// The counting loop ends, at both levels.
#[guest_test]
fn counting_loops() {
    counting_loop(1_000);
    at_el0(|| counting_loop(1_000));
}

/// A timer interrupt reaches its handler while EL1 spins, once.
#[guest_test]
fn timer_reaches_el1() {
    ARRIVALS.store(0, Relaxed);
    set_handler(TIMER, Some(count_timer));
    gic::enable(VIRTUAL_TIMER_INTID);
    let seen = with_interrupts(|| {
        timer::start(10_000);
        spin_until(PATIENCE, || arrivals() == 1)
    });
    check!(seen, "no timer interrupt");
    with_interrupts(|| counting_loop(100_000));
    check_eq!(arrivals(), 1, "arrivals");
}

/// A timer interrupt reaches its handler while EL0 spins.
#[guest_test]
fn timer_reaches_el0() {
    fn handler(frame: &mut Frame) {
        check_eq!(frame.level(), 0, "the interrupted level");
        count_timer(frame);
    }
    ARRIVALS.store(0, Relaxed);
    set_handler(TIMER, Some(handler));
    gic::enable(VIRTUAL_TIMER_INTID);
    timer::start(100_000);
    set_interrupts(true);
    let seen = at_el0(|| spin_until(PATIENCE, || arrivals() == 1));
    set_interrupts(false);
    check!(seen, "no timer interrupt");
}

/// WFI sleeps until the timer, whose interrupt waits for the mask to open.
#[guest_test]
fn timer_ends_wait() {
    ARRIVALS.store(0, Relaxed);
    set_handler(TIMER, Some(count_timer));
    gic::enable(VIRTUAL_TIMER_INTID);
    timer::start(100_000);
    wait_for_interrupt();
    check!(gic::is_pending(VIRTUAL_TIMER_INTID));
    check_eq!(arrivals(), 0, "arrivals with interrupts masked");
    with_interrupts(|| counting_loop(10));
    check_eq!(arrivals(), 1, "arrivals");
}

/// An interrupt that is disabled at the GIC stays pending and does not arrive.
#[guest_test]
fn disabled_interrupt_waits() {
    set_handler(TIMER, Some(count_timer));
    ARRIVALS.store(0, Relaxed);
    timer::start(1);
    with_interrupts(|| spin_for(100_000));
    check_eq!((arrivals(), gic::is_pending(VIRTUAL_TIMER_INTID)), (0, true));
    gic::enable(VIRTUAL_TIMER_INTID);
    check!(with_interrupts(|| spin_until(PATIENCE, || arrivals() == 1)));
    check!(!gic::is_pending(VIRTUAL_TIMER_INTID), "the line is low again");
}

/// The request of a level-sensitive line goes away with its cause.
#[guest_test]
fn level_follows_its_line() {
    timer::start(1);
    spin_for(10_000);
    check!(gic::is_pending(VIRTUAL_TIMER_INTID));
    timer::stop();
    check!(!gic::is_pending(VIRTUAL_TIMER_INTID));
    check!(!gic::is_pending(PHYSICAL_TIMER_INTID), "another line");
}

/// Software-generated interrupts arrive, each once, and wait while masked.
#[guest_test]
fn software_interrupts() {
    ARRIVALS.store(0, Relaxed);
    for intid in [0, 15] {
        set_handler(intid, Some(count_sgi));
        gic::enable(u32::from(intid));
        gic::send_to_self(u32::from(intid));
    }
    counting_loop(1_000);
    check_eq!(arrivals(), 0, "arrivals with interrupts masked");
    check!(with_interrupts(|| spin_until(PATIENCE, || arrivals() == 2)), "{} arrivals", arrivals());
}

/// Time passes.
#[guest_test]
fn time_passes() {
    let start = timer::now();
    spin_for(1_000);
    check!(timer::now() - start >= 1_000);
    check!(timer::frequency() >= 1_000_000, "{} Hz", timer::frequency());
}
