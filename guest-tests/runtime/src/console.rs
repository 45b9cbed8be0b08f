//! The console: the machine's first UART, polled.

use core::fmt;

use crate::machine::devices;

struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        devices::print(text.as_bytes());
        Ok(())
    }
}

/// Prints to the console; the function behind [`print!`](crate::print).
pub fn print(arguments: fmt::Arguments<'_>) {
    // The console itself never fails; a failing Display has nowhere else to report to.
    let _ = fmt::Write::write_fmt(&mut Console, arguments);
}

/// Prints to the console.
#[macro_export]
macro_rules! print {
    ($($arguments:tt)*) => { $crate::console::print(::core::format_args!($($arguments)*)) };
}

/// Prints a line to the console.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arguments:tt)*) => { $crate::print!("{}\n", ::core::format_args!($($arguments)*)) };
}
