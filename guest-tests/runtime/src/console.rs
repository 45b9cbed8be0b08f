//! The console: COM1, polled.

use core::fmt;

use guest_protocol::ports::COM1;

use crate::port;

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

struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for chunk in text.as_bytes().chunks(FIFO_SIZE) {
            flush();
            for byte in chunk {
                port::write_u8(COM1, *byte);
            }
        }
        Ok(())
    }
}

/// Prints to COM1; the function behind [`print!`](crate::print).
pub fn print(arguments: fmt::Arguments<'_>) {
    // The console itself never fails; a failing Display has nowhere else to report to.
    let _ = fmt::Write::write_fmt(&mut Console, arguments);
}

/// Prints to COM1.
#[macro_export]
macro_rules! print {
    ($($arguments:tt)*) => { $crate::console::print(::core::format_args!($($arguments)*)) };
}

/// Prints a line to COM1.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arguments:tt)*) => { $crate::print!("{}\n", ::core::format_args!($($arguments)*)) };
}
