//! The panic handler. Only with `panic = "abort"`,
//! that is, in the `guest` profile; see [`image!`](crate::image).

use core::panic::{Location, PanicInfo};

use crate::recovery;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let location = info.location().unwrap_or(Location::caller());
    recovery::throw(recovery::Failure::message(format_args!("panicked: {}", info.message()), location))
}
