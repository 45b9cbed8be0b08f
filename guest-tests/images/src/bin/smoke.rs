//! Tests of the runtime itself: what every other image relies on.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use guest_runtime::{
    Exception, Frame, apic, catch, check, check_eq, cpu, cpuid, guest_test, halt, rdmsr, rdpmc, rdpmc_ring0,
    read_cr0, read_cr4, ring0_loop, ring0_loop_interruptible, ring3_loop, set_handler, set_pce, skip,
    spin_for, spin_until, traps, with_interrupts, wrmsr,
};

guest_runtime::image!();

/// An MSR that no CPU has.
const BOGUS_MSR: u32 = 0x4000_1234;
const TIMER_VECTOR: u8 = 0x40;
/// Far beyond what any machine needs; only ends a test that would hang otherwise.
const PATIENCE: u64 = 20_000_000_000;

static ARRIVALS: AtomicU64 = AtomicU64::new(0);

fn count_arrival(frame: &mut Frame) {
    ARRIVALS.fetch_add(1, Relaxed);
    if frame.vector != u64::from(traps::NMI) {
        apic::eoi();
    }
}

fn arrivals() -> u64 {
    ARRIVALS.load(Relaxed)
}

/// CPUID answers, and leaves beyond the highest are zero.
#[guest_test]
fn cpuid_works() {
    check!(cpuid(0, 0).eax >= 1, "highest leaf is {}", cpuid(0, 0).eax);
    check!(cpuid(1, 0).edx & 1 << 5 != 0, "no MSRs according to CPUID");
    check_eq!(cpuid(0x0FFF_FFFF, 0).eax, 0);
}

/// The machine is in long mode with paging, and ring 3 cannot use RDPMC yet.
#[guest_test]
fn control_registers() {
    check_eq!(read_cr0() & 0x8000_0001, 0x8000_0001);
    check_eq!(read_cr4() & 1 << 8, 0, "CR4.PCE");
    check_eq!(set_pce(true), Ok(()));
    check_eq!(read_cr4() & 1 << 8, 1 << 8, "CR4.PCE");
}

/// EFER reads back with LME and LMA set.
#[guest_test]
fn rdmsr_reads() {
    check_eq!(rdmsr(0xC000_0080).map(|efer| efer & 0x500), Ok(0x500));
}

/// QEMU's own interpreter accepts any MSR and refuses RDPMC with #UD.
fn skip_under_tcg() {
    let name = cpuid(0x4000_0000, 0);
    if [name.ebx, name.ecx, name.edx] == [0x5447_4354, 0x4354_4743, 0x4743_5447] {
        skip!("QEMU TCG");
    }
}

/// A refused MSR access reports #GP(0) and the test goes on.
#[guest_test]
fn bogus_msr_faults() {
    skip_under_tcg();
    check_eq!(rdmsr(BOGUS_MSR), Err(Exception::GP0));
    check_eq!(wrmsr(BOGUS_MSR, 1), Err(Exception::GP0));
}

/// A WRMSR reaches the register with all 64 bits: KERNEL_GS_BASE is sticky everywhere.
#[guest_test]
fn wrmsr_writes() {
    const KERNEL_GS_BASE: u32 = 0xC000_0102;
    check_eq!(wrmsr(KERNEL_GS_BASE, 0x1234_5678_9ABC), Ok(()));
    check_eq!(rdmsr(KERNEL_GS_BASE), Ok(0x1234_5678_9ABC));
    check_eq!(wrmsr(KERNEL_GS_BASE, 0), Ok(()));
}

/// RDPMC of a counter that does not exist faults in both rings and is reported.
#[guest_test]
fn bogus_rdpmc_faults() {
    skip_under_tcg();
    check_eq!(rdpmc_ring0(0x0FFF_0000), Err(Exception::GP0));
    check_eq!(rdpmc(0x0FFF_0000), Err(Exception::GP0), "PCE clear");
    check_eq!(set_pce(true), Ok(()));
    check_eq!(rdpmc(0x0FFF_0000), Err(Exception::GP0), "PCE set");
}

/// A null dereference is a page fault with its address, and can be caught.
#[guest_test]
fn null_faults() {
    let fault = catch(|| {
        // SAFETY: none; the test is that page 0 is not mapped. The asm keeps the access as it is.
        unsafe { core::arch::asm!("mov eax, dword ptr [{}]", in(reg) 8_u64, out("eax") _) };
    });
    let fault = fault.expect_err("page 0 is mapped");
    check_eq!(fault.exception, Exception { vector: Exception::PAGE_FAULT, error: 4 });
    check_eq!(fault.cr2, 8);
}

/// An undefined instruction can be caught, twice.
#[guest_test]
fn undefined_instruction_faults() {
    for _ in 0..2 {
        // SAFETY: UD2 raises #UD and does nothing else.
        let fault = catch(|| unsafe { core::arch::asm!("ud2") });
        check_eq!(fault.map_err(|fault| fault.exception.vector), Err(Exception::INVALID_OPCODE));
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
    check_eq!(fault.exception.vector, Exception::PAGE_FAULT);
}

/// A handler of an exception may change the registers and go on behind the instruction.
#[guest_test]
fn handler_repairs_registers() {
    fn handler(frame: &mut Frame) {
        frame.rsi = 7;
        frame.rip += 2;
    }
    set_handler(Exception::INVALID_OPCODE, Some(handler));
    let value: u64;
    // SAFETY: UD2 is two bytes long and leads to the handler above, which changes RSI only.
    unsafe { core::arch::asm!("ud2", inout("rsi") 0_u64 => value) };
    check_eq!(value, 7);
}

/// SSE2 works in ring 3 and survives a handler that uses it too, and so does the red zone.
#[guest_test]
fn handler_keeps_sse_and_red_zone() {
    fn handler(frame: &mut Frame) {
        ARRIVALS.store((black_box(3.5_f64) * frame.vector as f64) as u64, Relaxed);
        frame.rip += 2;
    }
    set_handler(Exception::INVALID_OPCODE, Some(handler));
    let mut values = [1.5_f64, -2.25];
    let below: u64;
    // SAFETY: UD2 leads to the handler above, and the upcall keeps all registers; that is the test.
    // The stack below RSP is free here up to the size of the red zone.
    unsafe {
        core::arch::asm!("mov qword ptr [rsp - 128], 77", "movupd xmm7, [{0}]", "ud2", "addpd xmm7, xmm7",
            "movupd [{0}], xmm7", "mov {1}, qword ptr [rsp - 128]", in(reg) values.as_mut_ptr(),
            out(reg) below, out("xmm7") _);
    }
    check!(values == [3.0, -4.5], "{values:?}");
    check_eq!(below, 77, "the red zone");
    check_eq!(arrivals(), 21, "3.5 times the vector");
}

/// The counting loop ends, in both rings.
#[guest_test]
fn counting_loops() {
    ring3_loop(1_000);
    ring0_loop(1_000);
    ring3_loop(0);
    ring0_loop(0);
}

/// A one-shot timer interrupt reaches its handler while ring 3 spins, once.
#[guest_test]
fn timer_reaches_ring3() {
    ARRIVALS.store(0, Relaxed);
    set_handler(TIMER_VECTOR, Some(count_arrival));
    let seen = with_interrupts(|| {
        apic::start_timer(TIMER_VECTOR, 100_000);
        spin_until(PATIENCE, || arrivals() == 1)
    });
    check!(seen, "no timer interrupt; count {}", apic::timer_count());
    with_interrupts(|| ring3_loop(1_000_000));
    check_eq!(arrivals(), 1, "arrivals");
}

/// A timer interrupt during a ring-0 call is delivered when the call returns.
#[guest_test]
fn timer_during_ring0_call() {
    ARRIVALS.store(0, Relaxed);
    set_handler(TIMER_VECTOR, Some(count_arrival));
    apic::start_timer(TIMER_VECTOR, 1_000);
    for _ in 0..10_000 {
        ring0_loop_interruptible(100);
        if arrivals() != 0 {
            break;
        }
    }
    check_eq!(arrivals(), 1, "arrivals");
}

/// HLT sleeps until the timer, whose handler has run when it returns.
#[guest_test]
fn timer_ends_halt() {
    ARRIVALS.store(0, Relaxed);
    set_handler(TIMER_VECTOR, Some(count_arrival));
    apic::start_timer(TIMER_VECTOR, 1_000_000);
    halt();
    check_eq!(arrivals(), 1, "arrivals");
}

/// Interrupts wait while the interrupt flag is clear.
#[guest_test]
fn interrupt_flag_holds_back() {
    ARRIVALS.store(0, Relaxed);
    set_handler(TIMER_VECTOR, Some(count_arrival));
    apic::send_to_self(TIMER_VECTOR);
    ring3_loop(10_000);
    check_eq!(arrivals(), 0, "arrivals with interrupts off");
    check!(with_interrupts(|| spin_until(PATIENCE, || arrivals() == 1)), "no interrupt after STI");
}

/// An NMI reaches its handler even with interrupts off.
#[guest_test]
fn nmi_reaches_ring3() {
    ARRIVALS.store(0, Relaxed);
    set_handler(traps::NMI, Some(count_arrival));
    for expected in 1..=3 {
        apic::send_nmi_to_self();
        check!(spin_until(PATIENCE, || arrivals() == expected), "{} NMIs instead of {expected}", arrivals());
    }
}

/// An NMI loses its way at no instruction: on the way into ring 0, in it, out of it, or in between.
#[guest_test(needs(pmu, exact))]
fn nmi_at_every_instruction_of_a_call() {
    const PERFEVTSEL0: u32 = 0x186;
    const PMC0: u32 = 0xC1;
    const GLOBAL_CTRL: u32 = 0x38F;
    const GLOBAL_STATUS_RESET: u32 = 0x390;
    /// Instructions retired in both rings, with interrupt on overflow.
    const INSTRUCTIONS: u64 = 0x53_00C0;
    set_handler(traps::NMI, Some(count_arrival));
    check_eq!(wrmsr(PERFEVTSEL0, INSTRUCTIONS), Ok(()));
    for left in 1..=150_i64 {
        ARRIVALS.store(0, Relaxed);
        check_eq!(wrmsr(GLOBAL_STATUS_RESET, 1), Ok(()));
        check_eq!(wrmsr(PMC0, (-left) as u64 & 0xFFFF_FFFF), Ok(()));
        apic::set_lvtpc(apic::Pmi::Nmi);
        check_eq!(wrmsr(GLOBAL_CTRL, 1), Ok(()));
        for _ in 0..4 {
            check_eq!(rdmsr(GLOBAL_CTRL), Ok(1));
            ring0_loop(2);
        }
        ring3_loop(20);
        check_eq!(wrmsr(GLOBAL_CTRL, 0), Ok(()));
        check_eq!(arrivals(), 1, "NMIs for an overflow after {left} instructions");
    }
}

/// Two pending vectors are both delivered on return from ring 0.
#[guest_test]
fn two_vectors_at_once() {
    ARRIVALS.store(0, Relaxed);
    set_handler(TIMER_VECTOR, Some(count_arrival));
    set_handler(TIMER_VECTOR + 0x10, Some(count_arrival));
    apic::send_to_self(TIMER_VECTOR);
    apic::send_to_self(TIMER_VECTOR + 0x10);
    ring0_loop_interruptible(1_000);
    check!(with_interrupts(|| spin_until(PATIENCE, || arrivals() == 2)), "{} arrivals", arrivals());
}

/// x2APIC mode works like the MMIO page, and the next test is back in xAPIC mode.
#[guest_test]
fn x2apic_mode() {
    if !apic::has_x2apic() {
        skip!("the CPU has no x2APIC");
    }
    let id = apic::id();
    check_eq!(apic::enable(apic::Mode::X2Apic), Ok(()));
    check_eq!(apic::id(), id);
    apic::set_lvtpc(apic::Pmi::Vector(0x50));
    check_eq!(apic::lvtpc(), 0x50);
    timer_reaches_ring3();
}

/// LVTPC keeps its mode and vector.
#[guest_test]
fn lvtpc_is_sticky() {
    check_eq!(apic::mode() == apic::Mode::XApic, true);
    apic::set_lvtpc(apic::Pmi::Nmi);
    check_eq!(apic::lvtpc(), 0x400);
    apic::set_lvtpc(apic::Pmi::Masked);
    check_eq!(apic::lvtpc() & apic::MASKED, apic::MASKED);
}

/// The time stamp counter moves.
#[guest_test]
fn time_passes() {
    let start = cpu::rdtsc();
    spin_for(1_000);
    check!(cpu::rdtsc() - start >= 1_000);
}
