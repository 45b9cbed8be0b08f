//! The local APIC: xAPIC page or x2APIC MSRs.
//!
//! Register offsets are those of the xAPIC page (Intel SDM volume 3A, "Local APIC Register Address
//! Map"); in x2APIC mode register `offset` is MSR `0x800 + offset / 16`.

use core::{
    arch::asm,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{Exception, calls, cpu, port};

const MSR_APIC_BASE: u32 = 0x1B;
const APIC_BASE_EXTD: u64 = 1 << 10;
const APIC_BASE_EN: u64 = 1 << 11;
const PAGE: u64 = 0xFEE0_0000;
const MSR_X2APIC: u32 = 0x800;

const ID: u32 = 0x20;
const EOI: u32 = 0xB0;
const SPURIOUS: u32 = 0xF0;
const IN_SERVICE: u32 = 0x100;
const INTERRUPT_COMMAND: u32 = 0x300;
const INTERRUPT_COMMAND_HIGH: u32 = 0x310;
const LVT_TIMER: u32 = 0x320;
const LVT_PERFORMANCE: u32 = 0x340;
const TIMER_INITIAL_COUNT: u32 = 0x380;
const TIMER_CURRENT_COUNT: u32 = 0x390;
const TIMER_DIVIDE: u32 = 0x3E0;

/// SVR: APIC software-enabled, spurious vector 0xFF.
const SPURIOUS_ENABLED: u32 = 0x1FF;
/// ICR: delivery mode NMI, asserted.
const COMMAND_NMI: u32 = 0x4400;
const DIVIDE_BY_ONE: u32 = 0xB;

/// LVT: masked.
pub const MASKED: u32 = 1 << 16;

static X2APIC: AtomicBool = AtomicBool::new(false);

/// How the registers are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// MMIO page at 0xFEE0_0000.
    XApic,
    /// MSRs from 0x800.
    X2Apic,
}

/// What the PMU's LVT entry does with an overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pmi {
    /// Deliver as NMI.
    Nmi,
    /// Deliver as this interrupt vector.
    Vector(u8),
    /// Deliver nothing.
    Masked,
}

/// True if the CPU has x2APIC.
#[must_use]
pub fn has_x2apic() -> bool {
    cpu::cpuid(1, 0).ecx & 1 << 21 != 0
}

/// The mode that the APIC is in.
#[must_use]
pub fn mode() -> Mode {
    if X2APIC.load(Relaxed) { Mode::X2Apic } else { Mode::XApic }
}

/// Switches the APIC to `mode` and software-enables it.
///
/// # Errors
/// The exception of the write to IA32_APIC_BASE.
pub fn enable(mode: Mode) -> Result<(), Exception> {
    let base = calls::rdmsr(MSR_APIC_BASE)?;
    let wanted = match mode {
        Mode::XApic => base & !APIC_BASE_EXTD | APIC_BASE_EN,
        Mode::X2Apic => base | APIC_BASE_EXTD | APIC_BASE_EN,
    };
    if base & APIC_BASE_EXTD != 0 && mode == Mode::XApic {
        // The only legal way back leads through "disabled".
        calls::wrmsr(MSR_APIC_BASE, base & !(APIC_BASE_EXTD | APIC_BASE_EN))?;
    }
    if wanted != base {
        calls::wrmsr(MSR_APIC_BASE, wanted)?;
    }
    X2APIC.store(mode == Mode::X2Apic, Relaxed);
    write(SPURIOUS, SPURIOUS_ENABLED);
    Ok(())
}

/// Reads the register at `offset`; 0 if it cannot be read.
#[must_use]
pub fn read(offset: u32) -> u32 {
    if mode() == Mode::X2Apic {
        return calls::rdmsr(MSR_X2APIC + offset / 16).unwrap_or(0) as u32;
    }
    let value;
    // SAFETY: the page is mapped, uncached, and holds device registers only. A plain MOV, because
    // not every VMM decodes more.
    unsafe {
        asm!("mov {value:e}, dword ptr [{address}]", value = out(reg) value,
            address = in(reg) PAGE + u64::from(offset), options(nostack, preserves_flags));
    }
    value
}

/// Writes the register at `offset`. A write that x2APIC mode refuses is ignored.
pub fn write(offset: u32, value: u32) {
    if mode() == Mode::X2Apic {
        let _ = calls::wrmsr(MSR_X2APIC + offset / 16, u64::from(value));
        return;
    }
    // SAFETY: as for `read`.
    unsafe {
        asm!("mov dword ptr [{address}], {value:e}", value = in(reg) value,
            address = in(reg) PAGE + u64::from(offset), options(nostack, preserves_flags));
    }
}

/// The local APIC ID.
#[must_use]
pub fn id() -> u32 {
    let raw = read(ID);
    if mode() == Mode::X2Apic { raw } else { raw >> 24 }
}

/// Ends the interrupt in service.
pub fn eoi() {
    write(EOI, 0);
}

/// Interrupts in service: a bit for each vector.
pub(crate) fn in_service_count() -> u32 {
    (0..8).map(|word| read(IN_SERVICE + word * 0x10).count_ones()).sum()
}

/// Sets the LVT entry of the PMU.
pub fn set_lvtpc(pmi: Pmi) {
    write(
        LVT_PERFORMANCE,
        match pmi {
            Pmi::Nmi => 0x400,
            Pmi::Vector(vector) => u32::from(vector),
            Pmi::Masked => MASKED,
        },
    );
}

/// The LVT entry of the PMU, raw; see [`MASKED`].
#[must_use]
pub fn lvtpc() -> u32 {
    read(LVT_PERFORMANCE)
}

/// Starts the timer: `vector` arrives once, after `ticks` of the APIC timer clock.
pub fn start_timer(vector: u8, ticks: u32) {
    write(TIMER_DIVIDE, DIVIDE_BY_ONE);
    write(LVT_TIMER, u32::from(vector));
    write(TIMER_INITIAL_COUNT, ticks);
}

/// Stops the timer.
pub fn stop_timer() {
    write(TIMER_INITIAL_COUNT, 0);
    write(LVT_TIMER, MASKED);
}

/// Ticks left until the timer fires; 0 when it is stopped.
#[must_use]
pub fn timer_count() -> u32 {
    read(TIMER_CURRENT_COUNT)
}

/// Sends an NMI to this CPU, by its APIC ID (the "self" shorthand does not do NMIs).
pub fn send_nmi_to_self() {
    if mode() == Mode::X2Apic {
        let command = u64::from(id()) << 32 | u64::from(COMMAND_NMI);
        let _ = calls::wrmsr(MSR_X2APIC + INTERRUPT_COMMAND / 16, command);
    } else {
        write(INTERRUPT_COMMAND_HIGH, id() << 24);
        write(INTERRUPT_COMMAND, COMMAND_NMI);
    }
}

/// Sends `vector` to this CPU.
pub fn send_to_self(vector: u8) {
    const SELF_SHORTHAND_ASSERT: u32 = 0x44000;
    write(INTERRUPT_COMMAND, SELF_SHORTHAND_ASSERT | u32::from(vector));
}

/// Masks the two 8259s, whose vectors would collide with exceptions. Without them nothing happens.
pub(crate) fn mask_legacy_interrupts() {
    port::write_u8(0x21, 0xFF);
    port::write_u8(0xA1, 0xFF);
}
