//! `vpmu decode rdpmc`: what RDPMC reads.

use crate::error::CliError;
use crate::output::{BAD, HEADING, paint, print, print_json};
use serde::Serialize;
use vpmu::event::FixedEvent;
use vpmu::pmu::RdpmcContext;
use vpmu::profile::Vendor;
use vpmu::register::rdpmc_msr;
use vpmu::source::ScriptedSource;
use vpmu::{Profile, ReadOutcome, Vpmu};

/// What an ECX value means.
#[derive(Debug, Serialize)]
struct Index {
    profile: String,
    ecx: u32,
    /// ECX bits 31:16: what kind of counter.
    kind: &'static str,
    /// ECX bits 15:0.
    counter: u32,
    /// The MSR with the same content; `None` when there is none.
    msr: Option<u32>,
    /// Its name.
    msr_name: Option<String>,
    /// What is read.
    reads: String,
    /// Why RDPMC raises #GP(0) even in ring 0; `None` when it does not.
    fault: Option<String>,
}

pub(super) fn explain(profile: &Profile, ecx: u32, json: bool) -> Result<(), CliError> {
    let index = index(profile, ecx);
    if json { print_json(&index) } else { print(&render(&index)) }
}

fn index(profile: &Profile, ecx: u32) -> Index {
    let vendor = profile.vendor();
    let counter = if vendor == Vendor::Amd { ecx } else { ecx & 0xFFFF };
    // Types: SDM vol. 2B, RDPMC; indices: APM vol. 3, RDPMC.
    let (kind, reads) = match ecx >> 16 {
        _ if vendor == Vendor::Amd => (
            match ecx {
                0..6 => "core counter",
                6..10 => "data fabric counter",
                10..16 => "L3 counter",
                _ => "unknown index",
            },
            format!("{} bits, the event in PERF_CTL{counter}; 64 in a merged pair", profile.gp_width),
        ),
        0x0000 => (
            "general-purpose counter",
            format!("{} bits, the event in IA32_PERFEVTSEL{counter}", profile.gp_width),
        ),
        0x4000 => (
            "fixed-function counter",
            match u8::try_from(counter).ok().and_then(FixedEvent::event) {
                Some(event) => format!("{} bits, {}", profile.fixed_width(), event.name()),
                None => String::new(),
            },
        ),
        0x2000 => ("performance metrics", "8-bit fractions of the slots in FIXED_CTR3".to_owned()),
        _ => ("unknown type", String::new()),
    };
    // The model itself says what faults.
    let outcome = Vpmu::new(profile.clone()).rdpmc(ecx, RdpmcContext::RING0, &mut ScriptedSource::new());
    let fault = match outcome.into_parts().0 {
        ReadOutcome::Fault(fault) => Some(fault.to_string()),
        ReadOutcome::Value(_) | ReadOutcome::NotHandled => None,
    };
    let msr = rdpmc_msr(vendor, ecx).filter(|_| fault.is_none());
    let msr_name = msr.and_then(|msr| vpmu::decode::msr_name(profile, msr));
    Index { profile: profile.name.to_string(), ecx, kind, counter, msr, msr_name, reads, fault }
}

fn render(index: &Index) -> String {
    let Index { profile, ecx, kind, counter, msr, msr_name, reads, fault } = index;
    let head = paint(HEADING, format_args!("RDPMC with ECX = {ecx:#x}"));
    let mut text =
        format!("{head} on {profile}\n\ntype      {:#x}: {kind}\nindex     {counter}\n", ecx >> 16);
    match fault {
        Some(reason) => {
            text += &format!("result    {}\n", paint(BAD, format_args!("raises #GP(0): {reason}")));
        }
        None => {
            text += &format!("reads     {reads}\n");
            if let Some(name) = msr_name {
                text += &format!("same as   {name} ({:#x})\n", msr.unwrap_or_default());
            }
            text += "allowed   in ring 0, elsewhere with CR4.PCE\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::profile::SAPPHIRE_RAPIDS;

    fn shown(ecx: u32) -> String {
        anstream::adapter::strip_str(&render(&index(&SAPPHIRE_RAPIDS, ecx))).to_string()
    }

    #[test]
    fn slots_are_fixed_counter_3() {
        insta::assert_snapshot!(shown(0x4000_0003));
    }

    #[test]
    fn a_counter_too_many_faults() {
        insta::assert_snapshot!(shown(8));
    }

    #[test]
    fn metrics_have_a_type_of_their_own() {
        assert!(shown(0x2000_0000).contains("IA32_PERF_METRICS (0x329)"));
    }
}
