//! `vpmu record -- PROGRAM`: everything that a program executes, or where it is at exact numbers of instructions.

use super::{Run, Watch};
use crate::args::RecordArgs;
use crate::commands::report::totals::Totals;
use crate::error::CliError;
use crate::exit;
use crate::output::console::Target;
use crate::output::number::{grouped, percent_of};
use crate::output::table::{self, left, right};
use crate::output::{HEADING, file, paint, print_json, remark};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::num::NonZeroU64;
use std::path::Path;
use vmm::engine::Detail;
use vmm::guest_program::sample::{Function, Stacks};

/// Where results go.
const RECORDING: &str = "vpmu.data";
const STACKS: &str = "vpmu.folded";
/// Functions that the table shows; the file has all.
const SHOWN: usize = 30;

/// A function in the results.
#[derive(Debug, Serialize)]
struct Row {
    function: String,
    file: String,
    /// Samples in it.
    own: u64,
    /// Samples in it or in what it has called.
    total: u64,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    command: &'static str,
    program: Vec<String>,
    exit_code: u8,
    period: u64,
    samples: u64,
    stacks: &'a Path,
    functions: &'a [Row],
}

/// What was recorded, in short.
#[derive(Debug, Serialize)]
struct Recorded<'a> {
    command: &'static str,
    program: &'a [String],
    exit_code: u8,
    recording: &'a Path,
    instructions_user: u64,
    instructions_kernel: u64,
}

pub(in crate::commands) fn record(args: &RecordArgs, json: bool) -> Result<u8, CliError> {
    match args.count {
        Some(count) => sample(args, count, json),
        None => everything(args, json),
    }
}

/// Records everything.
fn everything(args: &RecordArgs, json: bool) -> Result<u8, CliError> {
    let RecordArgs { machine, program, .. } = args;
    let output = args.output.as_deref().unwrap_or(Path::new(RECORDING));
    file::check(json, &[("--output", Some(output))])?;
    let to_stdout = json || file::is_stdout(output);
    let targets = [if to_stdout { Target::Nowhere } else { Target::Stdout }, Target::Stderr];
    let mut run =
        Run::watched(machine, program, &args.region, targets, Watch::Everything, |_| Ok(Vec::new()))?;
    let Some(recorder) = run.report.recorder.take() else { return Err(CliError::NothingRecorded) };
    let words = program.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let recording = recorder.finish(words, &run.profile.name, machine.detail.unwrap_or_default());
    let mut text = serde_json::to_vec(&recording).map_err(io::Error::from)?;
    text.push(b'\n');
    file::write(output, &text)?;
    let whole = Totals::new(&recording).whole();
    if json {
        print_json(&Recorded {
            command: "record",
            program: &recording.program,
            exit_code: run.exit_code(),
            recording: output,
            instructions_user: whole.user,
            instructions_kernel: whole.kernel,
        })?;
    } else if !machine.quiet && !file::is_stdout(output) {
        remark(&format!(
            "{} instructions of the program and {} of the kernel for it are in {}: see `vpmu report`\n",
            grouped(whole.user),
            grouped(whole.kernel),
            output.display()
        ));
    }
    run.remarks();
    Ok(run.exit_code())
}

fn sample(args: &RecordArgs, count: NonZeroU64, json: bool) -> Result<u8, CliError> {
    let RecordArgs { machine, program, .. } = args;
    let output = args.output.as_deref().unwrap_or(Path::new(STACKS));
    if machine.detail == Some(Detail::Timing) {
        return Err(CliError::SamplesOfModel);
    }
    file::check(json, &[("--output", Some(output))])?;
    let to_stdout = json || file::is_stdout(output);
    let targets = [if to_stdout { Target::Nowhere } else { Target::Stdout }, Target::Stderr];
    let run =
        Run::watched(machine, program, &args.region, targets, Watch::Samples(count), |_| Ok(Vec::new()))?;
    let stacks = run.report.stacks.clone().unwrap_or_default();
    file::write(output, folded(&super::prepare::name(program), &stacks).as_bytes())?;
    let rows = rows(&stacks);
    let samples = stacks.values().sum();
    if json {
        print_json(&Document {
            command: "record",
            program: program.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_code: run.exit_code(),
            period: count.get(),
            samples,
            stacks: output,
            functions: &rows,
        })?;
    } else {
        remark(&render(&rows, samples, count.get()));
        if !machine.quiet && !file::is_stdout(output) {
            remark(&format!("stacks in {}: for speedscope.app, or flamegraph.pl\n", output.display()));
        }
    }
    run.remarks();
    Ok(if samples == 0 && run.exit_code() == exit::PASS { exit::PASS } else { run.exit_code() })
}

/// Stacks as flame graphs take them: `outermost;…;innermost count`.
fn folded(program: &str, stacks: &Stacks) -> String {
    // What separates names and counts there must not be in a name.
    let plain = |name: &str| name.replace([';', '\n'], "_");
    let mut lines = BTreeMap::<String, u64>::new();
    for (stack, count) in stacks {
        let names = stack.iter().map(|function| plain(&function.name));
        let line: Vec<String> = std::iter::once(plain(program)).chain(names).collect();
        *lines.entry(line.join(";")).or_default() += count;
    }
    lines.into_iter().fold(String::new(), |mut text, (line, count)| {
        let _ = writeln!(text, "{line} {count}");
        text
    })
}

/// Functions, those with most samples of their own first.
fn rows(stacks: &Stacks) -> Vec<Row> {
    let mut functions = BTreeMap::<&Function, [u64; 2]>::new();
    for (stack, count) in stacks {
        if let Some(innermost) = stack.last() {
            functions.entry(innermost).or_default()[0] += count;
        }
        for function in stack.iter().collect::<BTreeSet<_>>() {
            functions.entry(function).or_default()[1] += count;
        }
    }
    let mut rows: Vec<Row> = functions
        .into_iter()
        .map(|(function, [own, total])| Row {
            function: function.name.clone(),
            file: function.file.clone(),
            own,
            total,
        })
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.own), std::cmp::Reverse(row.total)));
    rows
}

fn render(rows: &[Row], samples: u64, period: u64) -> String {
    let title = format!("{} samples, one each {} instructions", grouped(samples), grouped(period));
    let mut text = format!("\n{}\n\n", paint(HEADING, title));
    let mut table = table::new(vec![right("Own %"), right("Total %"), left("Function"), left("File")]);
    for row in rows.iter().take(SHOWN) {
        let percent = |count| right(format!("{:.2}", percent_of(count, samples).unwrap_or(0.0)));
        table.add_row(vec![percent(row.own), percent(row.total), left(&row.function), left(&row.file)]);
    }
    text += &table::Fitting { prose: false, dispensable: &[3] }.render(&mut table);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> Function {
        Function { name: name.into(), file: "prog".into() }
    }

    #[test]
    fn a_function_that_calls_itself_counts_once() {
        let stacks = Stacks::from([
            (vec![function("main"), function("f"), function("f")], 3),
            (vec![function("main")], 1),
        ]);
        let rows: Vec<_> = rows(&stacks).into_iter().map(|row| (row.function, row.own, row.total)).collect();
        assert_eq!(rows, [("f".to_owned(), 3, 3), ("main".to_owned(), 1, 4)]);
        assert_eq!(folded("p;q", &stacks), "p_q;main 1\np_q;main;f;f 3\n");
    }
}
