//! A guest that never comes back: a tight loop with interrupts masked. The run has to end by its time-out.
#![no_std]
#![no_main]

guest_runtime::image!(program);

fn program() {
    guest_runtime::println!("# endless loop");
    guest_runtime::set_interrupts(false);
    loop {
        core::hint::spin_loop();
    }
}
