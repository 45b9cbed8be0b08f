//! How a run ended, for people.

use super::number::{counted, duration, grouped};
use super::{BAD, DIM, GOOD, HEADING, WARN, paint, printable};
use crate::exit;
use crate::interrupt;
use anstyle::Style;
use std::fmt::Write as _;
use std::path::Path;
use vmm::machine::exceptions::Cause;
use vmm::machine::{Outcome, UnknownMsr, UnknownMsrs};
use vmm::run::RunReport;
use vmm::run::warning::Warning;
use vpmu::Provenance;

/// What is said about counts of a provenance, next to its name.
pub(crate) fn worth(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Exact => "counted by an engine that sees every instruction",
        Provenance::Modelled => "computed by a model of the core",
        Provenance::Host => "counted by the host's PMU",
        Provenance::Synthetic => "made up from run time and rates; they say nothing about the guest's code",
        Provenance::Unknown => "not counted",
    }
}

/// How counts of a provenance look: what is not real stands out.
pub(crate) fn provenance_style(provenance: Provenance) -> Style {
    match provenance {
        Provenance::Exact | Provenance::Host => GOOD,
        Provenance::Modelled | Provenance::Synthetic => WARN,
        Provenance::Unknown => DIM,
    }
}

/// The outcome in words, with its style.
pub(crate) fn outcome(outcome: &Outcome) -> (Style, String) {
    match outcome {
        Outcome::Exit { status: 1 } => (GOOD, "passed: the guest wrote 0 to the exit port".to_owned()),
        Outcome::Exit { status: exit::SKIP } => {
            (WARN, "skipped: the guest says that it ran no test (status 77)".to_owned())
        }
        Outcome::Exit { status } => {
            (BAD, format!("failed: the guest wrote {} to the exit port (status {status})", status >> 1))
        }
        Outcome::TripleFault => (BAD, "crashed: triple fault".to_owned()),
        Outcome::Reset => (BAD, "ended: the guest reset the machine".to_owned()),
        Outcome::PoweredOff => (GOOD, "powered off by the guest".to_owned()),
        Outcome::Panicked => (BAD, "crashed: the guest's kernel panicked".to_owned()),
        Outcome::Halted => (BAD, "halted: HLT with nothing that could wake the CPU".to_owned()),
        Outcome::Idle => {
            (BAD, "idle: the guest waited for an hour of its time, and its console has no input".to_owned())
        }
        Outcome::Quit => (WARN, "ended: Ctrl-A X at the console".to_owned()),
        Outcome::TimedOut => (BAD, "timed out: the guest did not end".to_owned()),
        Outcome::Interrupted { signal } => {
            (WARN, format!("interrupted by {}: the results are those up to there", interrupt::name(*signal)))
        }
        Outcome::CannotExecute { what } => (BAD, format!("stopped: cannot execute {}", printable(what))),
    }
}

/// The summary that follows the console.
/// `image`: the file with the guest's symbols, if it can have some.
pub(crate) fn summary(report: &RunReport, image: Option<&Path>) -> String {
    let mut text = String::new();
    let (style, ended) = outcome(&report.outcome);
    line(&mut text, "outcome", &paint(style, ended));
    text += &report.cause.as_ref().map_or_else(String::new, |known| cause(known, rip(report)));
    let time = format!(
        "{} (start-up {}) on {}, profile {}",
        duration(report.run_ns),
        duration(report.startup_ns),
        report.engine,
        report.profile
    );
    line(&mut text, "time", &time);
    if let Some(instructions) = report.instructions {
        line(&mut text, "work", &format!("{} instructions retired", grouped(instructions)));
    }
    let total: u64 = report.exits.iter().map(|(_, count)| count).sum();
    let kinds = list(report.exits.iter().map(|&(kind, count)| (kind, count)));
    line(
        &mut text,
        "exits",
        &format!("{}{}", grouped(total), kinds.map_or_else(String::new, |k| format!(": {k}"))),
    );
    let accesses = &report.accesses;
    let pmu = list(
        [
            ("WRMSR", accesses.wrmsr),
            ("RDMSR", accesses.rdmsr),
            ("RDPMC", accesses.rdpmc),
            ("#GP", accesses.faults),
            ("PMI", accesses.pmis),
            ("PEBS records", accesses.pebs_records),
            ("lost", accesses.pebs_lost),
            ("IBS samples", accesses.ibs_samples),
        ]
        .into_iter(),
    );
    line(&mut text, "pmu", pmu.as_deref().unwrap_or("not used"));
    let style = provenance_style(report.counts);
    line(&mut text, "counts", &format!("{}: {}", paint(style, report.counts), worth(report.counts)));
    for interval in &report.intervals {
        let rows = interval
            .rows
            .iter()
            .map(|row| format!("{} {}:u {}:k", row.event, grouped(row.user), grouped(row.kernel)));
        let rows: Vec<String> = rows.collect();
        line(&mut text, "interval", &format!("{}: {}", printable(&interval.label), rows.join(", ")));
    }
    for injection in &report.injections {
        let times = counted(usize::try_from(injection.times).unwrap_or(usize::MAX), "time");
        let first = injection.instructions.filter(|_| injection.times > 0);
        let first = first
            .map_or_else(String::new, |[first, _]| format!(", first after {} instructions", grouped(first)));
        line(&mut text, "fault", &format!("line {}: {}: {times}{first}", injection.line, injection.fault));
    }
    if let Some(replay) = &report.replay {
        let said =
            format!("{} entries of the recording, {} left", grouped(replay.replayed), grouped(replay.left));
        line(&mut text, "replay", &said);
    }
    text += &unknown_msrs(&report.unknown_msrs);
    text += &warnings(report);
    text += &postmortem(report, image);
    text
}

/// Why the guest crashed, an exception a line.
fn cause(cause: &Cause, rip: Option<u64>) -> String {
    let mut text = String::new();
    let mut name = "cause";
    let mut put = |value: &str| line(&mut text, std::mem::take(&mut name), &printable(value));
    for (n, raised) in cause.exceptions.iter().enumerate() {
        let newest = if raised.delivery_raised.is_none() { "newest exception: " } else { "" };
        let hence = if n > 0 { "hence " } else { "" };
        let instruction = raised.instruction.as_ref().filter(|_| n == 0);
        let instruction = instruction.map_or_else(String::new, |code| format!(": {code}"));
        let at = format!(" {}{instruction}", raised.details);
        put(&format!("{newest}{hence}{}{}", raised.title, if n == 0 { &at } else { "" }));
        if let Some(refused) = &raised.refused {
            put(&format!("  {refused}"));
        }
        if let Some(in_delivery) = &raised.delivery_raised {
            put(&format!("  its delivery raised {in_delivery}"));
        }
    }
    if let Some(refused) = &cause.refused {
        let at = cause.refused_rip.map_or_else(String::new, |rip| format!(" at {rip:#x}"));
        if cause.refused_rip.is_some() && cause.refused_rip == rip {
            put(&format!("most likely the #GP{at}, where the guest still is: KVM tells of no exceptions"));
        } else {
            put(&format!("not known: KVM tells of no exceptions. The newest #GP of an MSR access was{at}"));
        }
        put(&format!("  {refused}"));
    }
    text
}

/// MSRs that are not implemented, one a line.
fn unknown_msrs(unknown: &UnknownMsrs) -> String {
    /// A guest that scans all MSRs has thousands.
    const SHOWN: usize = 8;
    let mut text = String::new();
    let mut name = "#GP";
    let mut put = |value: &str| line(&mut text, std::mem::take(&mut name), value);
    if !unknown.seen.is_empty() {
        put(&format!("{} not implemented:", counted(unknown.seen.len(), "MSR")));
    }
    for UnknownMsr { index, count, first, rip } in unknown.seen.iter().take(SHOWN) {
        let value = first.value().map_or_else(String::new, |value| format!(" = {value:#x}"));
        let at = rip.map_or_else(String::new, |rip| format!(" at {rip:#x}"));
        let times = if *count > 1 { format!(", {} times in all", grouped(*count)) } else { String::new() };
        put(&format!("{index:#x}: {}{value}{at}{times}", first.mnemonic().to_uppercase()));
    }
    if unknown.seen.len() > SHOWN {
        put(&format!("and {} more, which --json lists", unknown.seen.len() - SHOWN));
    }
    if unknown.further_accesses > 0 {
        put(&format!("and {} accesses to further ones", grouped(unknown.further_accesses)));
    }
    text
}

/// One line per warning.
pub(crate) fn warnings(report: &RunReport) -> String {
    let mut text = String::new();
    for warning in &report.warnings {
        let next = match warning {
            Warning::NoCoreModel => "; --detail timing models the core",
            Warning::Windows(_) | Warning::Other(_) => "",
        };
        let _ =
            writeln!(text, "{} {}{next}", paint(WARN.bold(), "warning:"), printable(&warning.to_string()));
    }
    if report.console_dropped > 0 {
        let _ = writeln!(
            text,
            "{} the report keeps the end of the console only; {} bytes before it are gone",
            paint(WARN.bold(), "warning:"),
            grouped(report.console_dropped)
        );
    }
    text
}

/// Registers and the next step, when the guest did not end the run itself.
pub(crate) fn postmortem(report: &RunReport, image: Option<&Path>) -> String {
    let mut text = String::new();
    if let Some(dump) = &report.registers {
        let _ = writeln!(text, "{}", paint(HEADING, "registers"));
        for row in dump.registers.chunks(3) {
            let cells: Vec<String> =
                row.iter().map(|(name, value)| format!("{name:<10}{value:016x}")).collect();
            let _ = writeln!(text, "{}", cells.join(" "));
        }
        if !dump.code.is_empty() {
            let bytes: Vec<String> = dump.code.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(text, "code      {}", bytes.join(" "));
        }
        if let Some(instruction) = &dump.instruction {
            let _ = writeln!(text, "          {instruction}");
        }
    }
    if let Some(step) = next_step(report, image) {
        let _ = writeln!(text, "  {} {step}", paint(HEADING, "next:"));
    }
    text
}

fn rip(report: &RunReport) -> Option<u64> {
    let registers = &report.registers.as_ref()?.registers;
    registers.iter().find(|(name, _)| name.eq_ignore_ascii_case("rip")).map(|(_, rip)| *rip)
}

fn next_step(report: &RunReport, image: Option<&Path>) -> Option<String> {
    let source = match (image.map(Path::display), rip(report)) {
        (Some(image), Some(rip)) => format!("`addr2line -f -e {image} {rip:#x}` shows the source line"),
        (Some(image), None) => format!("`objdump -d {image}` shows the code"),
        (None, _) => "the kernel's System.map has the function around RIP".to_owned(),
    };
    match report.outcome {
        Outcome::Exit { .. } | Outcome::Quit | Outcome::PoweredOff | Outcome::Interrupted { .. } => None,
        Outcome::TripleFault => {
            let more = match report.engine {
                "soft" => "--trace-exceptions FILE records every exception up to the fault",
                _ => "--engine soft names the exceptions",
            };
            Some(format!("{source}; {more}"))
        }
        Outcome::Reset => Some(format!("{source}; a guest reports a result through the exit port 0xF4")),
        Outcome::Panicked => Some("the end of the console says why".to_owned()),
        Outcome::Halted => Some(format!("{source}; a guest ends its run through the exit port 0xF4")),
        Outcome::Idle => Some(
            "--input FILE types for the guest; a program ends the run by power-off or the exit port 0xF4"
                .to_owned(),
        ),
        Outcome::TimedOut if report.engine == "kvm" => Some(format!(
            "{source}; --timeout SECONDS gives it longer; `vpmu doctor` tells whether this host's KVM interprets \
             ring 0, and --engine soft does not depend on that"
        )),
        Outcome::TimedOut => Some(format!("{source}; --timeout SECONDS gives it longer")),
        Outcome::CannotExecute { .. } => Some(format!("{source} of what this engine cannot execute")),
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{} {value}", paint(DIM, format_args!("{name:<8}")));
}

/// `3 RDMSR, 1 WRMSR`, without zeros; `None` when there is nothing.
fn list<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> Option<String> {
    let parts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{} {name}", grouped(count)))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
