//! `workload NAME BATCHES [CONTROL ACK]`: one of the labelled workloads, in an interval that the VMM counts for itself.
//!
//! With the two pipes of `perf stat -D -1 --control fifo:CONTROL,ACK` perf counts the same interval.

use linux_guest::vmm::Vmm;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
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
    let vmm = match Vmm::open() {
        Ok(vmm) => vmm,
        Err(error) => {
            eprintln!("workload: the VMM's devices: {error}");
            return ExitCode::FAILURE;
        }
    };
    vmm.label(workload.name);
    let perf = match (args.next(), args.next()) {
        (Some(control), Some(ack)) => Perf::open(&control, &ack).map(Some),
        _ => Ok(None),
    };
    let mut perf = match perf {
        Ok(perf) => perf,
        Err(error) => {
            eprintln!("workload: the pipes to perf: {error}");
            return ExitCode::FAILURE;
        }
    };
    let started = perf.as_mut().map_or(Ok(()), |perf| perf.say(b"enable\n"));
    vmm.begin_interval();
    let checksum = prepared.run(batches * workload.batch);
    vmm.end_interval();
    let ended = perf.as_mut().map_or(Ok(()), |perf| perf.say(b"disable\n"));
    black_box(checksum);
    match started.and(ended) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("workload: perf does not answer: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The pipes of `perf stat --control`.
struct Perf {
    control: File,
    ack: File,
}

impl Perf {
    fn open(control: &str, ack: &str) -> io::Result<Self> {
        Ok(Self { control: OpenOptions::new().write(true).open(control)?, ack: File::open(ack)? })
    }

    /// Tells perf a command and waits until it has carried it out.
    fn say(&mut self, command: &[u8]) -> io::Result<()> {
        const ACK: &[u8] = b"ack\n\0";
        let mut answer = [0; ACK.len()];
        self.control.write_all(command)?;
        self.ack.read_exact(&mut answer)?;
        if answer == ACK { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}
