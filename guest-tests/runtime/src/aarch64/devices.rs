//! The devices at fixed addresses: PL011, fw_cfg, our control device; and PSCI.

use core::{
    arch::asm,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use guest_protocol::{
    control::STATUS_UNKNOWN,
    mmio::{FW_CFG_DATA, FW_CFG_SELECTOR, PL011, control},
};

use super::mmio;

/// UARTDR.
const DATA: u64 = PL011;
/// UARTFR.
const FLAGS: u64 = PL011 + 0x18;
const FLAG_BUSY: u32 = 1 << 3;
const FLAG_TRANSMIT_FULL: u32 = 1 << 5;
/// UARTLCR_H.
const LINE_CONTROL: u64 = PL011 + 0x2C;
/// UARTCR.
const CONTROL: u64 = PL011 + 0x30;
/// UARTIMSC.
const INTERRUPT_MASK: u64 = PL011 + 0x38;

/// SYSTEM_OFF (Arm DEN 0022, 5.1.9).
const PSCI_SYSTEM_OFF: u64 = 0x8400_0008;

static HAS_CONTROL: AtomicBool = AtomicBool::new(false);

/// Sets the UART to 8N1 with FIFOs and without interrupts.
pub(crate) fn initialise() {
    mmio::write(CONTROL, 0);
    mmio::write(INTERRUPT_MASK, 0);
    mmio::write(LINE_CONTROL, 0x70); // eight bits, FIFOs
    mmio::write(CONTROL, 0x301); // enabled, both directions
}

/// The devicetree shows the control device.
pub(super) fn note_control() {
    HAS_CONTROL.store(true, Relaxed);
}

fn has_control() -> bool {
    HAS_CONTROL.load(Relaxed)
}

/// Waits until everything printed has left the UART.
pub(crate) fn flush() {
    while mmio::read(FLAGS) & FLAG_BUSY != 0 {}
}

/// Prints bytes.
pub(crate) fn print(bytes: &[u8]) {
    for byte in bytes {
        while mmio::read(FLAGS) & FLAG_TRANSMIT_FULL != 0 {}
        mmio::write(DATA, u32::from(*byte));
    }
}

/// Selects an item of fw_cfg, from its start.
pub(crate) fn fw_cfg_select(key: u16) {
    mmio::write_u16(FW_CFG_SELECTOR, key.to_be());
}

/// The next byte of the selected item.
pub(crate) fn fw_cfg_byte() -> u8 {
    mmio::read_u8(FW_CFG_DATA)
}

/// Gives the VMM a command and returns its status.
pub(crate) fn command(command: u32) -> u32 {
    if !has_control() {
        return STATUS_UNKNOWN;
    }
    mmio::write(control::BASE + control::CONTROL, command);
    mmio::read(control::BASE + control::CONTROL)
}

/// A byte of the next window's name; 0 ends it.
pub(crate) fn label_byte(byte: u8) {
    if has_control() {
        mmio::write(control::BASE + control::LABEL, u32::from(byte));
    }
}

/// Ends the run: by the control device, which takes the status, or else by PSCI.
pub(crate) fn exit(status: u8) {
    if has_control() {
        mmio::write(control::BASE + control::EXIT, u32::from(status));
    }
    // SAFETY: does not return, unless there is no PSCI; then X0 to X3 are lost (Arm DEN 0028, 2.6).
    unsafe { asm!("hvc #0", inout("x0") PSCI_SYSTEM_OFF => _, out("x1") _, out("x2") _, out("x3") _) };
    crate::println!("# neither control device nor PSCI: halting");
}
