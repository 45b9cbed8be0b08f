//! Images that run the workloads of the `workloads` crate, each in a measuring window.
//!
//! Command line: `workload=NAME[,NAME...]` chooses, `passes=N` sets how often each runs a batch of iterations (without
//! it: for a fixed time).

use core::hint::black_box;

use workloads::{ALL, Prepared, Workload};

use crate::{boot, check, control, fw_cfg, machine, machine::ticks, println};

/// True if there is nothing to choose or the command line chooses `name`.
fn is_chosen(name: &str) -> bool {
    boot::option("workload").is_none_or(|names| names.split(',').any(|chosen| chosen == name))
}

/// Runs batches: as many as the command line says, else until `duration` ticks are over. Returns iterations.
pub fn run(prepared: &mut Prepared<'_>, batch: u64, duration: u64) -> u64 {
    let passes = boot::option("passes").and_then(|passes| passes.parse::<u64>().ok());
    let start = ticks();
    let mut done = 0;
    loop {
        black_box(prepared.run(batch));
        done += 1;
        let enough = match passes {
            Some(passes) => done >= passes,
            None => ticks().wrapping_sub(start) >= duration,
        };
        if enough {
            return done * batch;
        }
    }
}

/// Has each workload that is chosen measured; tells the VMM its name first.
pub fn measure_each(measure: impl Fn(&Workload, &mut Prepared<'_>)) {
    let labels = fw_cfg::has_file(guest_protocol::files::PROFILE);
    for name in boot::option("workload").into_iter().flat_map(|names| names.split(',')) {
        check!(workloads::find(name).is_some(), "there is no workload `{name}`");
    }
    let vectors = machine::allow_vectors();
    for workload in ALL.iter().filter(|workload| is_chosen(workload.name)) {
        if workload.extension.is_some() && !(vectors && workload.is_usable()) {
            println!("# workload {} needs instructions that this CPU does not have", workload.name);
            continue;
        }
        if labels {
            control::label(workload.name);
        }
        let measured = boot::with_scratch(workload.memory_words, |memory| {
            workload.prepare(memory).map(|mut prepared| measure(workload, &mut prepared))
        });
        if measured.flatten().is_none() {
            println!("# workload {} needs {} MiB of memory", workload.name, workload.memory_words >> 17);
        }
    }
}
