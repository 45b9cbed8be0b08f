//! Faults that have been planned, and what has become of them.

use platform::time::GuestTime;
use serde::Serialize;
use vpmu::Vpmu;
use vpmu::inject::{Fault, Injector, Skid};

/// A planned fault with its place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFault {
    /// Line, from 1.
    pub line: usize,
    /// What it is, for reports.
    pub text: String,
    /// The fault.
    pub fault: Fault,
}

/// How often a planned fault has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Injection {
    /// Line of the file that plans it.
    pub line: usize,
    /// What it is.
    pub fault: String,
    /// How often it has happened.
    pub times: u64,
    /// When it happened first and last: instructions retired since boot, where the engine counts them.
    pub instructions: Option<[u64; 2]>,
    /// The same in nanoseconds of guest time.
    pub t_ns: Option<[u64; 2]>,
}

/// The faults of a run.
#[derive(Debug, Default)]
pub(super) struct Injections {
    rows: Vec<Injection>,
    active: bool,
}

impl Injections {
    /// From here on the vPMU does as planned.
    pub(super) fn start(vpmu: &mut Vpmu, plan: &[PlannedFault], skid: Option<Skid>) -> Self {
        let faults: Vec<Fault> = plan.iter().map(|planned| planned.fault).collect();
        vpmu.inject(Injector::new(&faults, skid));
        let row = |planned: &PlannedFault| Injection {
            line: planned.line,
            fault: planned.text.clone(),
            times: 0,
            instructions: None,
            t_ns: None,
        };
        Self { rows: plan.iter().map(row).collect(), active: true }
    }

    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    pub(super) fn rows(&self) -> &[Injection] {
        &self.rows
    }

    /// Takes over what has happened; `counted`: the vPMU is told how many instructions have retired. `trace` gets each.
    pub(super) fn follow(
        &mut self,
        vpmu: &mut Vpmu,
        counted: bool,
        now: GuestTime,
        mut trace: impl FnMut(&Injection),
    ) {
        for injected in vpmu.take_injected() {
            let Some(row) = self.rows.get_mut(injected.fault) else { continue };
            row.times += 1;
            row.t_ns = Some([row.t_ns.map_or(now.0, |[first, _]| first), now.0]);
            if counted {
                let first = row.instructions.map_or(injected.instructions, |[first, _]| first);
                row.instructions = Some([first, injected.instructions]);
            }
            trace(row);
        }
    }
}
