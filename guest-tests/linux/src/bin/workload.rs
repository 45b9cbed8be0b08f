//! `workload NAME BATCHES`: one of the labelled workloads, in an interval that the VMM counts for itself.

use guest_protocol::{control, ports};
use linux_guest::{allow_ports, out8, out32};
use std::hint::black_box;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let workload = args.next().and_then(|name| workloads::find(&name));
    let batches = args.next().and_then(|text| text.parse::<u64>().ok());
    let (Some(workload), Some(batches)) = (workload, batches) else {
        let names: Vec<&str> = workloads::ALL.iter().map(|workload| workload.name).collect();
        eprintln!("usage: workload NAME BATCHES; workloads: {}", names.join(" "));
        return ExitCode::FAILURE;
    };
    let mut memory = vec![0; workload.memory_words];
    let Some(mut prepared) = workload.prepare(&mut memory) else { return ExitCode::FAILURE };
    if let Err(error) = allow_ports() {
        eprintln!("workload: iopl: {error}");
        return ExitCode::FAILURE;
    }
    for byte in workload.name.bytes().chain([0]) {
        out8(ports::CONTROL_LABEL, byte);
    }
    out32(ports::CONTROL, control::INTERVAL_BEGIN);
    let checksum = prepared.run(batches * workload.batch);
    out32(ports::CONTROL, control::INTERVAL_END);
    black_box(checksum);
    ExitCode::SUCCESS
}
