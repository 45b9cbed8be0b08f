//! The devices behind I/O ports: COM1, fw_cfg, the control and exit ports.

use guest_protocol::ports::{COM1, CONTROL, CONTROL_LABEL, EXIT, FW_CFG_DATA, FW_CFG_SELECTOR};

use super::port;

const LINE_CONTROL: u16 = COM1 + 3;
const LINE_STATUS: u16 = COM1 + 5;
const FIFO_CONTROL: u16 = COM1 + 2;
const INTERRUPT_ENABLE: u16 = COM1 + 1;
/// Line status: the transmitter (with FIFO: all of it) is empty.
const TRANSMITTER_EMPTY: u8 = 0x20;
/// Size of the 16550's transmit FIFO in bytes.
const FIFO_SIZE: usize = 16;

/// Sets the UART to 8N1 with FIFOs and without interrupts.
pub(crate) fn initialise() {
    port::write_u8(LINE_CONTROL, 0x80); // divisor latch
    port::write_u8(COM1, 1); // 115200 baud
    port::write_u8(INTERRUPT_ENABLE, 0);
    port::write_u8(LINE_CONTROL, 0x03);
    port::write_u8(FIFO_CONTROL, 0x07);
    port::write_u8(INTERRUPT_ENABLE, 0);
}

/// Waits until everything printed has left the UART.
pub(crate) fn flush() {
    while port::read_u8(LINE_STATUS) & TRANSMITTER_EMPTY == 0 {}
}

/// Prints bytes.
pub(crate) fn print(bytes: &[u8]) {
    for chunk in bytes.chunks(FIFO_SIZE) {
        flush();
        for byte in chunk {
            port::write_u8(COM1, *byte);
        }
    }
}

/// Selects an item of fw_cfg, from its start.
pub(crate) fn fw_cfg_select(key: u16) {
    port::write_u16(FW_CFG_SELECTOR, key);
}

/// The next byte of the selected item.
pub(crate) fn fw_cfg_byte() -> u8 {
    port::read_u8(FW_CFG_DATA)
}

/// Gives the VMM a command and returns its status.
pub(crate) fn command(command: u32) -> u32 {
    port::write_u32(CONTROL, command);
    port::read_u32(CONTROL)
}

/// A byte of the next window's name; 0 ends it.
pub(crate) fn label_byte(byte: u8) {
    port::write_u8(CONTROL_LABEL, byte);
}

/// Ends the run, where there is a device for that.
pub(crate) fn exit(status: u8) {
    port::write_u32(EXIT, u32::from(status));
    crate::println!("# no exit device at port {EXIT:#x}: halting");
}
