//! `vpmu run`: boots an image and shows its console.

use crate::args::RunArgs;
use crate::error::CliError;
use crate::machine::Plan;
use crate::output::console::Target;
use crate::output::progress::Progress;
use crate::output::{print_json, remark, report};
use serde::Serialize;
use std::path::Path;
use vmm::run::RunReport;

/// The JSON document of every command that runs a guest once: the VMM's report and a few more keys.
#[derive(Serialize)]
pub(super) struct Document<'a, T: Serialize> {
    command: &'static str,
    image: &'a Path,
    exit_code: u8,
    #[serde(flatten)]
    report: &'a RunReport,
    #[serde(flatten)]
    more: T,
}

/// What `vpmu test` wants to know besides.
#[derive(Serialize)]
struct ForParent {
    #[serde(skip_serializing_if = "Option::is_none")]
    console_line_ns: Option<Vec<u64>>,
}

impl<'a, T: Serialize> Document<'a, T> {
    pub(super) fn new(command: &'static str, plan: &'a Plan<'_>, report: &'a RunReport, more: T) -> Self {
        Self { command, image: plan.image_path(), exit_code: plan.exit_code(report), report, more }
    }
}

pub(super) fn run(args: &RunArgs, json: bool) -> Result<u8, CliError> {
    let RunArgs { machine: args, gdb, freeze, sandboxed, .. } = args;
    let plan = Plan::new(args)?.sandboxed(*sandboxed);
    let plan = match gdb {
        Some(address) => plan.debugged(address, *freeze),
        None => plan,
    };
    let interactive = args.is_interactive(json);
    let plan = if interactive { plan.interactive() } else { plan };
    if interactive && !args.quiet {
        remark("console: every key goes to the guest; Ctrl-A X ends the run\n");
    }
    let progress = Progress::start(plan.activity(), args.quiet);
    let target = if json { Target::Nowhere } else { Target::Stdout };
    let report = plan.run(target, &progress)?;
    if json {
        print_json(&Document::new(
            "run",
            &plan,
            &report,
            ForParent { console_line_ns: plan.console_line_ns() },
        ))?;
    } else if !args.quiet {
        remark(&report::summary(&report, plan.symbols()));
    }
    Ok(plan.exit_code(&report))
}
