//! Boots a guest test image (ELF64 with a PVH note) without any device but a console and the exit
//! port, and says how fast it ran: `cargo run --release --example boot -- IMAGE INSTRUCTIONS [COMMAND LINE]`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{TestBus, load_pvh};
use soft_cpu::{Budget, Cpu, Exit};
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: boot IMAGE INSTRUCTIONS [COMMAND LINE]";
    let image = arguments.next().expect(usage);
    let instructions: u64 = arguments.next().and_then(|n| n.parse().ok()).expect(usage);
    let file = std::fs::read(&image).expect("the image can be read");
    let mut bus = TestBus::new(64 << 20);
    bus.msrs.insert(0x1B, 0xFEE0_0900);
    let state = load_pvh(&mut bus, &file, &arguments.collect::<Vec<_>>().join(" "));
    let mut cpu = Cpu::new(&state);
    let start = Instant::now();
    let exit = loop {
        let left = instructions - cpu.totals().instructions();
        let exit = cpu.run(&mut bus, Budget { instructions: left, interrupt_window: false });
        if exit != Exit::Yield {
            break exit;
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    println!("{}", bus.text());
    let totals = cpu.totals();
    println!("{exit:?}, exit port {:?}, {:#x?}", bus.exit, totals);
    println!("{:.1} million instructions/s", totals.instructions() as f64 / seconds / 1e6);
    for missing in cpu.unimplemented() {
        println!("not implemented: {missing:?}");
    }
    if matches!(exit, Exit::Shutdown | Exit::Budget) {
        println!("{:#x?}", cpu.state());
    }
}
