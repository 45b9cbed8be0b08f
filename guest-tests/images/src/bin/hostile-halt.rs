//! A guest that halts with interrupts off. Nothing can wake it: the VMM has to notice and end the run.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::naked_asm;

use guest_images::ring0;

guest_runtime::image!(program);

fn program() {
    guest_runtime::println!("# halt with interrupts off");
    ring0::enter(halt);
}

#[unsafe(naked)]
unsafe extern "C" fn halt() -> ! {
    naked_asm!("cli", "2:", "hlt", "jmp 2b")
}
