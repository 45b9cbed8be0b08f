//! A guest that shuts its CPU down by a triple fault. The VMM has to say so and end the run.
#![no_std]
#![no_main]

use guest_images::ring0;

guest_runtime::image!(program);

fn program() {
    guest_runtime::println!("# triple fault");
    ring0::triple_fault();
}
