//! perf in the guest beside the VMM's own totals, for the same stretch of the same program.
//!
//! `workload` lets perf count while it runs (`--control`), and marks the same stretch for the VMM. On each side only
//! user space counts, so what differs is the few instructions with which it talks to perf (the same number for each
//! workload), the rounding of PERF_METRICS, and what the kernel loses each time it saves and restores the pair.

use super::{Guest, session};
use crate::error::TaskError;
use crate::tally::Tally;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;
use session::Output;
use vpmu::metrics::{FIELD_NAMES, FULL_SCALE, fields_of};
use vpmu::profile::Vendor;

/// Workloads with their batches, of some 100,000 instructions each.
const WORKLOADS: [(&str, u64); 6] =
    [("alu", 500), ("divide", 100), ("branches", 60), ("decode", 10), ("code", 10), ("chase-l2", 100)];
/// One of the 255 steps of a field of PERF_METRICS.
const TOLERANCE_POINTS: f64 = 100.0 / FULL_SCALE as f64;
/// Most user-space instructions between perf's start and the VMM's, and between their ends.
const AROUND: u64 = 1_000;

/// Runs the workloads in one boot, and prints and judges a table.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let facts = guest.facts(profile)?;
    let fields = match facts.metrics_level {
        0 => 0,
        level => fields_of(level),
    };
    let metrics: String = FIELD_NAMES[..fields].iter().map(|field| format!(",{field}:u")).collect();
    let slots = if fields > 0 { format!("'{{slots:u{metrics}}}',") } else { String::new() };
    let commands = WORKLOADS.map(|(name, batches)| {
        format!(
            "perf stat -D -1 --control fifo:ctl,ack -e {slots}'{{instructions:u,{}}}' \
             workload {name} {batches} ctl ack",
            branches(&facts)
        )
    });
    let mut script = "mkfifo ctl ack\n".to_owned();
    for (number, command) in commands.iter().enumerate() {
        script += &session::marked(number, command);
    }
    let report = guest.boot(profile, &(script + session::END))?;
    let console = report["console"].as_str().unwrap_or_default();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["workload", "", "perf", "VMM", "difference", ""]);
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    anstream::println!("{profile}: perf in the guest beside the VMM's totals, user space");
    anstream::println!("  $ {}", commands[0]);
    let mut around = Vec::new();
    for (number, (name, _)) in WORKLOADS.into_iter().enumerate() {
        let output = session::output_of(number, console);
        let output = output.map(|(text, status)| Output { text, status, facts, report: &report });
        match output.ok_or_else(|| "it did not run".to_owned()).and_then(|o| rows(name, &o, fields)) {
            Ok(rows) => {
                around.extend(rows.first().map(|row| row.difference.clone()));
                for row in rows {
                    tally.add(row.good);
                    let verdict = if row.good { "ok" } else { "FAILED" };
                    table.add_row([name, row.what, &row.guest, &row.vmm, &row.difference, verdict]);
                }
            }
            Err(reason) => {
                tally.add(false);
                table.add_row([name, "", "", "", &reason, "FAILED"]);
            }
        }
    }
    anstream::println!("{}", table.trim_fmt());
    around.dedup();
    tally.add(around.len() == 1);
    match &*around {
        [same] => anstream::println!("ok {profile}: perf and the VMM differ by the same {same} instructions"),
        _ => anstream::println!("FAILED {profile}: the differences in instructions differ: {around:?}"),
    }
    Ok(())
}

/// The event of all branches. What Linux calls `branches` on Arm are those that are taken.
fn branches(facts: &session::Facts) -> &'static str {
    match facts.vendor {
        Vendor::Intel | Vendor::Amd => "branches:u",
        Vendor::Qualcomm => "r21:u",
    }
}

struct Row {
    what: &'static str,
    guest: String,
    vmm: String,
    difference: String,
    good: bool,
}

fn rows(name: &str, output: &Output<'_>, fields: usize) -> Result<Vec<Row>, String> {
    output.success()?;
    let mut rows = Vec::new();
    // AMD counts exceptions and interrupts as branches.
    let tolerance = if output.facts.vendor == Vendor::Amd { 100 } else { AROUND };
    for (what, event, tolerance) in [
        ("instructions:u", "INST_RETIRED.ANY", AROUND),
        (self::branches(&output.facts), "BR_INST_RETIRED.ALL_BRANCHES", tolerance),
    ] {
        let (guest, vmm) = (output.count(what)?, output.interval(name, event)?);
        rows.push(Row {
            what,
            guest: guest.to_string(),
            vmm: vmm.to_string(),
            difference: format!("{:+}", i128::from(guest) - i128::from(vmm)),
            good: guest >= vmm && guest - vmm <= tolerance,
        });
    }
    if fields == 0 {
        return Ok(rows);
    }
    let slots = output.count("slots:u")?;
    let interval = output.interval_of(name)?;
    let total = number(&interval["topdown_user"]["slots"])?;
    for (index, field) in FIELD_NAMES.into_iter().enumerate().take(fields) {
        let guest = 100.0 * output.count(&format!("{field}:u"))? as f64 / slots.max(1) as f64;
        let vmm = 100.0 * number(&interval["topdown_user"]["fields"][index])? as f64 / total.max(1) as f64;
        rows.push(Row {
            what: field,
            guest: format!("{guest:.2} %"),
            vmm: format!("{vmm:.2} %"),
            difference: format!("{:+.2}", guest - vmm),
            good: (guest - vmm).abs() <= TOLERANCE_POINTS,
        });
    }
    Ok(rows)
}

fn number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| "the VMM has no slots".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::Facts;

    #[test]
    fn shares_are_compared_in_points_of_percent() {
        let report = serde_json::json!({ "intervals": [{
            "label": "alu",
            "rows": [
                { "event": "INST_RETIRED.ANY", "user": 1000 },
                { "event": "BR_INST_RETIRED.ALL_BRANCHES", "user": 100 },
            ],
            "topdown_user": { "slots": 1000, "fields": [200, 300, 0, 500, 0, 0, 0, 0] },
        }]});
        let text = " 1010 instructions:u\n 102 branches:u\n 2000 slots:u\n 400 topdown-retiring:u\n \
                    620 topdown-bad-spec:u\n 0 topdown-fe-bound:u\n 980 topdown-be-bound:u\n";
        let facts = Facts::of("icelake-sp", "timing").unwrap();
        let output = Output { text, status: 0, facts, report: &report };
        let rows = rows("alu", &output, 4).unwrap();
        let differences: Vec<_> = rows.iter().map(|row| (row.difference.as_str(), row.good)).collect();
        let expected = [
            ("+10", true),
            ("+2", true),
            ("+0.00", true),
            ("+1.00", false),
            ("+0.00", true),
            ("-1.00", false),
        ];
        assert_eq!(differences, expected);
    }
}
