//! The privileged instructions, executed by the firmware in ring 0.
//!
//! An instruction that faults yields an [`Exception`] instead of ending the run.

use core::arch::asm;

use firmware::{
    CALL_CPUID, CALL_HALT, CALL_LOOP, CALL_LOOP_INTERRUPTIBLE, CALL_RDMSR, CALL_RDPMC, CALL_READ_CR0,
    CALL_READ_CR4, CALL_SET_INTERRUPT_FLAG, CALL_WINDOW, CALL_WRITE_CR4, CALL_WRMSR, CALL_XRSTORS,
    CALL_XSAVES, CALL_XSETBV, CR4_OSXSAVE, CR4_PCE, RFLAGS_IF,
};

use super::Exception;

/// One call of the firmware: number, then register operands. Every call returns the fault word in
/// RDX.
macro_rules! call {
    ($number:expr, $($operands:tt)*) => {
        asm!("int3", inout("eax") $number => _, $($operands)*, options(nostack, preserves_flags))
    };
    ($number:expr => $value:ident, $($operands:tt)*) => {
        asm!("int3", inout("rax") u64::from($number) => $value, $($operands)*, options(nostack, preserves_flags))
    };
}

/// RDMSR in ring 0. Ring 0 retires [`firmware::INSTRUCTIONS_BEFORE_READ`] instructions before it and
/// [`firmware::INSTRUCTIONS_AFTER_READ`] after it.
///
/// # Errors
/// The exception of the RDMSR.
pub fn rdmsr(index: u32) -> Result<u64, Exception> {
    let (value, fault): (u64, u64);
    // SAFETY: reading an MSR changes no memory; the call keeps all other registers.
    unsafe { call!(CALL_RDMSR => value, in("ecx") index, out("rdx") fault) };
    Exception::from_word(fault).map(|()| value)
}

/// WRMSR in ring 0. Ring 0 retires [`firmware::INSTRUCTIONS_BEFORE_WRITE`] instructions before it and
/// [`firmware::INSTRUCTIONS_AFTER_WRITE`] after it.
///
/// # Errors
/// The exception of the WRMSR.
pub fn wrmsr(index: u32, value: u64) -> Result<(), Exception> {
    let fault: u64;
    // SAFETY: a test image owns its machine; an MSR that breaks it breaks that test only.
    unsafe { call!(CALL_WRMSR, in("ecx") index, in("rsi") value, inout("rdx") value >> 32 => fault) };
    Exception::from_word(fault)
}

/// RDPMC in ring 0, with the instruction counts of [`rdmsr`].
///
/// # Errors
/// The exception of the RDPMC.
pub fn rdpmc_ring0(counter: u32) -> Result<u64, Exception> {
    let (value, fault): (u64, u64);
    // SAFETY: RDPMC changes no memory; the call keeps all other registers.
    unsafe { call!(CALL_RDPMC => value, in("ecx") counter, out("rdx") fault) };
    Exception::from_word(fault).map(|()| value)
}

/// CPUID in ring 0: EAX, EBX, ECX, EDX.
pub(crate) fn cpuid_ring0(leaf: u32, sub: u32) -> [u32; 4] {
    let (low, high): (u64, u64);
    // SAFETY: CPUID changes no memory; the call keeps all registers but those named.
    unsafe {
        call!(CALL_CPUID => low, inout("rcx") u64::from(leaf) => _, inout("rsi") u64::from(sub) => high,
            out("rdx") _);
    }
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}

#[repr(C)]
struct ValueAndFault {
    value: u64,
    fault: u64,
}

unsafe extern "C" {
    safe fn guest_runtime_rdpmc(counter: u32) -> ValueAndFault;
}

/// RDPMC in ring 3. Needs CR4.PCE, see [`set_pce`].
///
/// # Errors
/// The exception of the RDPMC.
pub fn rdpmc(counter: u32) -> Result<u64, Exception> {
    let result = guest_runtime_rdpmc(counter);
    Exception::from_word(result.fault).map(|()| result.value)
}

/// CR0.
#[must_use]
pub fn read_cr0() -> u64 {
    let value;
    // SAFETY: reads a register.
    unsafe { call!(CALL_READ_CR0 => value, out("rdx") _) };
    value
}

/// CR4.
#[must_use]
pub fn read_cr4() -> u64 {
    let value;
    // SAFETY: reads a register.
    unsafe { call!(CALL_READ_CR4 => value, out("rdx") _) };
    value
}

/// Allows or forbids RDPMC in ring 3 (CR4.PCE).
///
/// # Errors
/// The exception of the write to CR4.
pub fn set_pce(allowed: bool) -> Result<(), Exception> {
    change_cr4(CR4_PCE, allowed)
}

/// Allows or forbids XSAVE, XGETBV and what needs XCR0 (CR4.OSXSAVE).
///
/// # Errors
/// The exception of the write to CR4.
pub fn set_osxsave(allowed: bool) -> Result<(), Exception> {
    change_cr4(CR4_OSXSAVE, allowed)
}

/// Sets or clears bits of CR4 on which no compiled code relies.
fn change_cr4(bits: u64, set: bool) -> Result<(), Exception> {
    let cr4 = read_cr4();
    let value = if set { cr4 | bits } else { cr4 & !bits };
    let fault: u64;
    // SAFETY: neither PCE nor OSXSAVE changes anything that compiled code relies on.
    unsafe { call!(CALL_WRITE_CR4, in("rsi") value, out("rdx") fault) };
    Exception::from_word(fault)
}

/// XCR0 = `value`. Needs [`set_osxsave`].
///
/// # Errors
/// The exception of the XSETBV.
pub fn xsetbv(value: u64) -> Result<(), Exception> {
    let fault: u64;
    // SAFETY: compiled code needs x87 and SSE, which XSETBV does not let go (SSE only with AVX).
    unsafe { call!(CALL_XSETBV, in("rsi") value, inout("rdx") value >> 32 => fault, out("rcx") _) };
    Exception::from_word(fault)
}

/// XSAVES64 in ring 0, of the components in `mask`.
///
/// # Errors
/// The exception of the instruction.
///
/// # Safety
/// `area` is large enough for what XCR0 enables.
pub unsafe fn xsaves(area: *mut u8, mask: u32) -> Result<(), Exception> {
    let fault: u64;
    // SAFETY: as for this function.
    unsafe { call!(CALL_XSAVES, in("rsi") area, in("edi") mask, out("rdx") fault) };
    Exception::from_word(fault)
}

/// XRSTORS64 in ring 0, of the components in `mask`.
///
/// # Errors
/// The exception of the instruction.
///
/// # Safety
/// `area` is as XSAVES writes it, and the caller expects vector registers to change.
pub unsafe fn xrstors(area: *const u8, mask: u32) -> Result<(), Exception> {
    let fault: u64;
    // SAFETY: as for this function; the compiler knows that all vector registers may have changed.
    unsafe {
        call!(CALL_XRSTORS, in("rsi") area, in("edi") mask, out("rdx") fault,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
            out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _);
    }
    Exception::from_word(fault)
}

/// Runs the counting loop in ring 0: `iterations` times [`firmware::LOOP_INSTRUCTIONS`]
/// instructions, of which [`firmware::LOOP_BRANCHES`] branch. Zero iterations do nothing.
pub fn ring0_loop(iterations: u64) {
    if iterations == 0 {
        return;
    }
    // SAFETY: the loop touches registers only.
    unsafe { call!(CALL_LOOP, inout("rdi") iterations => _, out("rdx") _) };
}

/// [`ring0_loop`] with interrupts enabled. What arrives meanwhile is delivered when it ends.
pub fn ring0_loop_interruptible(iterations: u64) {
    if iterations == 0 {
        return;
    }
    // SAFETY: the loop touches registers only; handlers run as upcalls, which keep all registers.
    unsafe { call!(CALL_LOOP_INTERRUPTIBLE, inout("rdi") iterations => _, out("rdx") _) };
}

/// Runs the same loop in ring 3. Zero iterations do nothing.
pub fn ring3_loop(iterations: u64) {
    if iterations == 0 {
        return;
    }
    // SAFETY: the loop touches one register.
    unsafe {
        asm!("2:", "nop", "nop", "nop", "nop", "nop", "nop", "nop", "nop", "dec {n}", "jnz 2b",
            n = inout(reg) iterations => _, options(nomem, nostack));
    }
}

/// WRMSR `first`, the counting loop, WRMSR `second`, all in ring 0. Between the two WRMSRs retire
/// exactly `10 * iterations + 2` instructions, of which `iterations` branch: what a counter sees
/// that the first write starts and the second stops. `iterations` is taken as at least 1.
///
/// # Errors
/// The exception of either WRMSR.
pub fn ring0_window(index: u32, first: u64, iterations: u64, second: u64) -> Result<(), Exception> {
    let fault: u64;
    // SAFETY: as for `wrmsr`.
    unsafe {
        call!(CALL_WINDOW, in("ecx") index, in("rsi") first, inout("rdx") first >> 32 => fault,
            inout("rdi") iterations.max(1) => _, in("r8") second, in("r9") second >> 32);
    }
    Exception::from_word(fault)
}

/// Enables interrupts and halts until one, or an NMI, arrives; its handler has run on return.
pub fn halt() {
    // SAFETY: the call keeps all other registers.
    unsafe { call!(CALL_HALT, out("rdx") _) };
}

/// Lets maskable interrupts in or keeps them out.
pub fn set_interrupts(enabled: bool) {
    let flag = if enabled { RFLAGS_IF } else { 0 };
    // SAFETY: handlers run as upcalls, which keep all registers.
    unsafe { call!(CALL_SET_INTERRUPT_FLAG, in("rsi") flag, out("rdx") _) };
}
