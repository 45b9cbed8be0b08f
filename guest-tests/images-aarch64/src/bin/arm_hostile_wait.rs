//! A guest that waits for an interrupt while no timer runs. Nothing can wake it: the VMM has to notice and end the
//! run.
#![no_std]
#![no_main]

guest_runtime::image!(program);

fn program() {
    guest_runtime::println!("# WFI with nothing to come");
    guest_runtime::timer::stop();
    guest_runtime::set_interrupts(false);
    loop {
        guest_runtime::wait_for_interrupt();
    }
}
