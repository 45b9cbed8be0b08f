//! The same for Arm's PMUv3 with Falkor's matrix: random sequences on a vPMU, compared after each operation with a
//! naive model, which keeps every register for itself and adds to each counter as the guest runs.
//!
//! | file | what it is |
//! | --- | --- |
//! | `subject.rs` | the CPUs |
//! | `op.rs` | what can happen, and how bytes say so |
//! | `model.rs` | the naive model |
//! | `machine.rs` | the vPMU and the model side by side, and what has to hold |

mod machine;
mod model;
mod op;
mod subject;

pub(crate) use machine::Machine;
pub(crate) use op::Op;
pub(crate) use subject::{SUBJECTS, Subject};

/// The packed number of a system register.
const fn sys(op0: u32, op1: u32, crn: u32, crm: u32, op2: u32) -> u32 {
    op0 << 19 | op1 << 16 | crn << 12 | crm << 8 | op2 << 5
}

const PMCR: u32 = sys(3, 3, 9, 12, 0);
const PMCNTENSET: u32 = sys(3, 3, 9, 12, 1);
const PMCNTENCLR: u32 = sys(3, 3, 9, 12, 2);
const PMOVSCLR: u32 = sys(3, 3, 9, 12, 3);
const PMSWINC: u32 = sys(3, 3, 9, 12, 4);
const PMSELR: u32 = sys(3, 3, 9, 12, 5);
const PMCEID0: u32 = sys(3, 3, 9, 12, 6);
const PMCEID1: u32 = sys(3, 3, 9, 12, 7);
const PMCCNTR: u32 = sys(3, 3, 9, 13, 0);
const PMXEVTYPER: u32 = sys(3, 3, 9, 13, 1);
const PMXEVCNTR: u32 = sys(3, 3, 9, 13, 2);
const PMUSERENR: u32 = sys(3, 3, 9, 14, 0);
const PMOVSSET: u32 = sys(3, 3, 9, 14, 3);
const PMINTENSET: u32 = sys(3, 0, 9, 14, 1);
const PMINTENCLR: u32 = sys(3, 0, 9, 14, 2);
const PMEVCNTR0: u32 = sys(3, 3, 14, 8, 0);
const PMEVTYPER0: u32 = sys(3, 3, 14, 12, 0);
const PMCCFILTR: u32 = sys(3, 3, 14, 15, 7);
const PMRESR0: u32 = sys(3, 5, 11, 3, 0);
const PMACTLR: u32 = sys(3, 5, 11, 0, 2);
const PMXEVCNTCR: u32 = sys(3, 5, 11, 0, 3);
/// From one counter's register to the next.
const NEXT: u32 = 1 << 5;

/// Every register, of a CPU with so many event counters.
fn registers(counters: u32) -> impl Iterator<Item = u32> {
    const ONCE: [u32; 21] = [
        PMCR,
        PMCNTENSET,
        PMCNTENCLR,
        PMOVSCLR,
        PMSWINC,
        PMSELR,
        PMCEID0,
        PMCEID1,
        PMCCNTR,
        PMXEVTYPER,
        PMXEVCNTR,
        PMUSERENR,
        PMOVSSET,
        PMINTENSET,
        PMINTENCLR,
        PMCCFILTR,
        PMRESR0,
        PMRESR0 + 2 * NEXT,
        PMRESR0 + 4 * NEXT,
        PMACTLR,
        PMXEVCNTCR,
    ];
    ONCE.into_iter().chain((0..counters).flat_map(|n| [PMEVCNTR0 + n * NEXT, PMEVTYPER0 + n * NEXT]))
}
