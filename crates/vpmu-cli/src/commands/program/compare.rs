//! `vpmu compare -- PROGRAM`: what the guest's perf counted in the program, next to what the VMM counted.
//!
//! perf's events are opened by the guest's init, inherited by the program and enabled by its `execve`: the kernel
//! programs the guest's PMU, switches it with the program's threads, and reads it. The VMM's totals go by CR3 and know
//! nothing of the PMU.

use super::Run;
use super::events::{self, Asked, Level};
use crate::args::CompareArgs;
use crate::error::CliError;
use crate::output::console::Target;
use crate::output::number::{counted, grouped, signed, signed_decimal};
use crate::output::table::{self, left, right, styled};
use crate::output::{DIM, GOOD, HEADING, WARN, file, paint, print, print_json, remark, report};
use serde::Serialize;
use std::io;
use vmm::engine::Detail;
use vmm::guest_program::counters::{PerfCount, PerfEvent};
use vpmu::event::{Event, EventCode};
use vpmu::{Profile, Provenance};

/// What is compared without being asked for, as far as the profile has codes for it; the last ones need a model of the
/// core. Few enough for the counters of every profile, so that the kernel need not share them.
const USUAL: [&str; 6] = [
    "instructions:u",
    "branches:u",
    "mem_inst_retired.all_loads:u",
    "mem_inst_retired.all_stores:u",
    "ex_ret_brn:u",
    "ex_ret_cond:u",
];
const KERNEL: &str = "instructions:k";
const MODELLED: [&str; 1] = ["cycles:u"];

/// An event at one privilege level.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    /// With `:u` or `:k`.
    event: String,
    /// By the guest's perf; `None` if it was not counted all the time.
    guest: Option<u64>,
    /// In the program's address spaces.
    vmm: Option<u64>,
    difference: Option<i128>,
    /// Of the VMM's.
    percent: Option<f64>,
    provenance: Provenance,
    /// Why there is no count of the guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    command: &'static str,
    program: Vec<String>,
    exit_code: u8,
    profile: &'a str,
    detail: Detail,
    comparison: &'a [Row],
}

/// `vpmu compare -- PROGRAM`.
pub(in crate::commands) fn compare(args: &CompareArgs, json: bool) -> Result<u8, CliError> {
    let CompareArgs { machine, program, event, csv, .. } = args;
    file::check(json, &[("--csv", csv.as_deref())])?;
    let detail = machine.detail.unwrap_or_default();
    let to_stdout = json || csv.as_deref().is_some_and(file::is_stdout);
    let targets = [if to_stdout { Target::Nowhere } else { Target::Stdout }, Target::Stderr];
    let mut asked = Vec::new();
    let run = Run::perfed(machine, program, targets, |profile| {
        asked = match event.is_empty() {
            true => usual(profile, detail),
            false => levels(events::parse(profile, event)?),
        };
        let perf = asked.iter().map(|asked| perf_event(profile, asked)).collect::<Result<_, _>>()?;
        Ok((asked.iter().map(|asked| asked.request).collect(), perf))
    })?;
    let rows = rows(&asked, &run);
    if let Some(path) = csv {
        let mut lines = csv::Writer::from_writer(Vec::new());
        for row in &rows {
            lines.serialize(Line::of(row)).map_err(io::Error::from)?;
        }
        file::write(path, &lines.into_inner().map_err(csv::IntoInnerError::into_error)?)?;
    }
    if json {
        print_json(&Document {
            command: "compare",
            program: program.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_code: run.exit_code(),
            profile: &run.profile.name,
            detail,
            comparison: &rows,
        })?;
    } else {
        let name = super::prepare::name(program);
        let text = render(&name, &run.profile.name, detail, &rows);
        // The program's own output goes to stdout.
        if to_stdout { print(&text)? } else { remark(&text) }
    }
    run.remarks();
    Ok(run.exit_code())
}

/// A line of `--csv`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    event: &'a str,
    provenance: String,
    guest: Option<u64>,
    vmm: Option<u64>,
    difference: Option<i128>,
}

impl<'a> Line<'a> {
    fn of(row: &'a Row) -> Self {
        let Row { event, guest, vmm, difference, provenance, .. } = row;
        let (guest, vmm, difference) = (*guest, *vmm, *difference);
        Self { event, provenance: provenance.to_string(), guest, vmm, difference }
    }
}

/// What of the usual events the profile has.
fn usual(profile: &Profile, detail: Detail) -> Vec<Asked> {
    let modelled = if detail == Detail::Timing { &MODELLED[..] } else { &[] };
    let names = USUAL.iter().chain(modelled).chain([&KERNEL]);
    let asked = names.filter_map(|name| events::parse(profile, &[(*name).to_owned()]).ok()).flatten();
    // AMD's names of what Intel counts too are not for Intel's profiles.
    let listed = |name: &str| profile.events.encodings().iter().any(|encoding| encoding.name == name);
    let own = |asked: &Asked| !asked.name.starts_with("ex_ret") || listed(&asked.name);
    asked.filter(|asked| own(asked) && perf_event(profile, asked).is_ok()).collect()
}

/// Each event at one level.
fn levels(asked: Vec<Asked>) -> Vec<Asked> {
    let at = |asked: &Asked, level| Asked { level, ..asked.clone() };
    asked
        .into_iter()
        .flat_map(|asked| match asked.level {
            Level::Both => vec![at(&asked, Level::User), at(&asked, Level::Kernel)],
            Level::User | Level::Kernel => vec![asked],
        })
        .collect()
}

/// As perf asks for it. What only a fixed counter has is no raw event.
fn perf_event(profile: &Profile, asked: &Asked) -> Result<PerfEvent, CliError> {
    let code = match asked.request.code {
        code if code == EventCode::default() => {
            // A fixed counter's event has a code of its own where a counter with an event select has it too.
            let quantity = asked.request.event.map(Event::counts_as);
            let mut listed = profile.events.encodings().iter();
            let found = listed.find(|found| Some(found.event.counts_as()) == quantity);
            found.map(|found| found.code).ok_or_else(|| CliError::NoCode { event: asked.name.clone() })?
        }
        code => code,
    };
    Ok(PerfEvent { config: profile.config_of_code(code), user: asked.level == Level::User })
}

fn rows(asked: &[Asked], run: &Run) -> Vec<Row> {
    let rows = asked.iter().zip(&run.report.events).enumerate().map(|(index, (asked, counted))| {
        let (suffix, vmm) = match asked.level {
            Level::User => (":u", counted.count.map(|count| count.user)),
            _ => (":k", counted.count.map(|count| count.kernel)),
        };
        let perf = run.report.perf.get(index);
        let guest = match perf {
            Some(PerfCount::Counted(count)) => Some(*count),
            _ => None,
        };
        let difference = guest.zip(vmm).map(|(guest, vmm)| i128::from(guest) - i128::from(vmm));
        let percent = difference
            .zip(vmm.filter(|vmm| *vmm > 0))
            .map(|(difference, vmm)| difference as f64 * 100.0 / vmm as f64);
        let refused = match perf {
            Some(PerfCount::Counted(_)) => None,
            Some(PerfCount::Shared) => Some("it shared its counter; ask for fewer events".to_owned()),
            Some(PerfCount::Refused(errno)) => {
                let error = io::Error::from_raw_os_error(i32::try_from(*errno).unwrap_or(0));
                Some(format!("the guest's kernel refuses it: {error}"))
            }
            None => Some("the program did not end".to_owned()),
        };
        let event = format!("{}{suffix}", asked.name);
        Row { event, guest, vmm, difference, percent, provenance: counted.provenance, refused }
    });
    rows.collect()
}

fn render(program: &str, profile: &str, detail: Detail, rows: &[Row]) -> String {
    let title = format!("The guest's perf and the VMM for {program}");
    let mut text = format!("\n{} on {profile} ({detail})\n\n", paint(HEADING, title));
    let heads = ["Guest's perf", "VMM counted", "Difference", "Diff %"].map(right);
    let heads = [left("Event")].into_iter().chain(heads).chain([left("Provenance")]);
    let mut table = table::new(heads.collect());
    for row in rows {
        let count = |count: Option<u64>| {
            count.map_or_else(|| styled(right("<not counted>"), DIM), |count| right(grouped(count)))
        };
        let judged = |text: String| styled(right(text), if row.difference == Some(0) { GOOD } else { WARN });
        table.add_row(vec![
            left(&row.event),
            count(row.guest),
            count(row.vmm),
            row.difference.map_or_else(|| right("-"), |difference| judged(signed(difference))),
            row.percent.map_or_else(|| right("-"), |percent| judged(signed_decimal(percent, 4))),
            styled(left(row.provenance), report::provenance_style(row.provenance)),
        ]);
    }
    text += &table::Fitting { prose: false, dispensable: &[4, 5] }.render(&mut table);
    let compared = rows.iter().filter(|row| row.difference.is_some()).count();
    let equal = rows.iter().filter(|row| row.difference == Some(0)).count();
    text += &format!("\n{} of {} equal the VMM's totals\n", equal, counted(compared, "count"));
    for row in rows {
        if let Some(why) = &row.refused {
            text += &format!("{}: {why}\n", row.event);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::profile::{PROFILES, SAPPHIRE_RAPIDS, ZEN4};

    #[test]
    fn an_event_without_a_level_is_one_at_each() {
        let asked = events::parse(&SAPPHIRE_RAPIDS, &["branches,instructions:k".to_owned()]).unwrap();
        let levels: Vec<_> = levels(asked).into_iter().map(|asked| (asked.name, asked.level)).collect();
        let (user, kernel) = (Level::User, Level::Kernel);
        let expected = [("branches", user), ("branches", kernel), ("instructions", kernel)];
        assert_eq!(levels, expected.map(|(name, level)| (name.to_owned(), level)));
    }

    #[test]
    fn perf_gets_the_codes_of_the_profile() {
        let config = |profile, name: &str| {
            let asked = events::parse(profile, &[name.to_owned()]).unwrap();
            perf_event(profile, &asked[0]).map(|event| (event.config, event.user)).ok()
        };
        assert_eq!(config(&SAPPHIRE_RAPIDS, "instructions:u"), Some((0xC0, true)));
        assert_eq!(config(&SAPPHIRE_RAPIDS, "r20d1:k"), Some((0x20D1, false)));
        assert_eq!(config(&ZEN4, "ex_ret_brn:u"), Some((0xC2, true)));
        assert_eq!(config(&ZEN4, "instructions:u"), Some((0xC0, true)));
        assert_eq!(config(&ZEN4, "mem_inst_retired.all_loads:u"), None);
    }

    #[test]
    fn the_usual_events_are_codes_on_every_profile_that_runs_programs() {
        for profile in
            PROFILES.iter().filter(|profile| profile.architecture() == SAPPHIRE_RAPIDS.architecture())
        {
            let asked = usual(profile, Detail::Timing);
            let names: Vec<&str> = asked.iter().map(|asked| asked.name.as_str()).collect();
            assert!(names.contains(&"instructions") && names.len() >= 4, "{}: {names:?}", profile.name);
        }
    }
}
