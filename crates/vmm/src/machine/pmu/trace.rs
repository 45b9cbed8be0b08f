//! The trace: every PMU access, decoded, one JSON object a line; accesses to MSRs that are not implemented; and the
//! first use of each instruction that the soft engine does not implement.
//!
//! | key | meaning |
//! | --- | --- |
//! | `t_ns` | guest time in nanoseconds |
//! | `op` | `rdmsr`, `wrmsr`, `rdpmc`, of AArch64 `mrs` and `msr`; `pmi`, `inject`, `pebs`, `ibs`, `unimplemented` |
//! | `index` | MSR index, encoding of a system register or ECX of RDPMC, hexadecimal |
//! | `name` | register name; of an unimplemented instruction its mnemonic and operand types; of an IBS
//! sample `fetch`, `op` or `fetch, op`; of a planned fault its line and what it is |
//! | `value` | value read or written, hexadecimal |
//! | `decoded` | non-zero fields |
//! | `fault` | why the access raised #GP(0); why a PEBS record is lost; `#UD` of an unimplemented instruction |
//! | `count` | of an unimplemented instruction: how often so far |
//! | `delivery` | of a PMI: `nmi`, `vector` or `masked`; of an interrupt line `raised` or `lowered` |
//! | `rip` | address of the instruction, where the engine knows it; of a PEBS record or an IBS sample the sampled one |

use super::Origin;
use crate::machine::exceptions::{MsrAccess, RefusalReason};
use crate::machine::json_lines::JsonLines;
use platform::time::GuestTime;
use serde::Serialize;
use std::io::{self, Write};
use vpmu::decode::{msr_name, one_line};
use vpmu::ibs::IbsTags;
use vpmu::pebs::Lost;
use vpmu::profile::Architecture;
use vpmu::register::rdpmc_msr;
use vpmu::{Profile, ReadOutcome, WriteOutcome};

/// Kind of a reading access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// RDMSR, or MRS of an AArch64 CPU.
    Rdmsr,
    /// RDPMC.
    Rdpmc,
}

#[derive(Serialize)]
struct Line<'a> {
    t_ns: u64,
    op: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// Writes the trace.
#[derive(Debug)]
pub struct Tracer {
    lines: JsonLines,
}

impl Tracer {
    /// A tracer that writes to `sink`. The sink should buffer.
    #[must_use]
    pub fn new(sink: Box<dyn Write>) -> Self {
        Self { lines: JsonLines::new(sink) }
    }

    pub(super) fn read(
        &mut self,
        profile: &Profile,
        access: Access,
        index: u32,
        outcome: ReadOutcome,
        origin: Origin,
    ) {
        let msr = match access {
            Access::Rdmsr => Some(index),
            Access::Rdpmc => rdpmc_msr(profile.vendor(), index),
        };
        let value = if let ReadOutcome::Value(value) = outcome { Some(value) } else { None };
        self.lines.line(&Line {
            t_ns: origin.now.0,
            op: match (access, profile.architecture()) {
                (Access::Rdpmc, _) => "rdpmc",
                (Access::Rdmsr, Architecture::X86_64) => "rdmsr",
                (Access::Rdmsr, Architecture::Aarch64) => "mrs",
            },
            index: Some(format!("{index:#x}")),
            name: msr.and_then(|msr| msr_name(profile, msr)),
            value: value.map(|v| format!("{v:#x}")),
            decoded: msr.zip(value).map(|(m, v)| one_line(profile, m, v)).filter(|s| !s.is_empty()),
            fault: match outcome {
                ReadOutcome::Fault(fault) => Some(fault.to_string()),
                ReadOutcome::NotHandled => Some("not a PMU register".to_owned()),
                ReadOutcome::Value(_) => None,
            },
            delivery: None,
            rip: origin.rip.map(|rip| format!("{rip:#x}")),
            count: None,
        });
    }

    pub(super) fn write(
        &mut self,
        profile: &Profile,
        index: u32,
        value: u64,
        outcome: WriteOutcome,
        origin: Origin,
    ) {
        self.lines.line(&Line {
            t_ns: origin.now.0,
            op: match profile.architecture() {
                Architecture::X86_64 => "wrmsr",
                Architecture::Aarch64 => "msr",
            },
            index: Some(format!("{index:#x}")),
            name: msr_name(profile, index),
            value: Some(format!("{value:#x}")),
            decoded: Some(one_line(profile, index, value)).filter(|s| !s.is_empty()),
            fault: match outcome {
                WriteOutcome::Fault(fault) => Some(fault.to_string()),
                WriteOutcome::NotHandled => Some("not a PMU register".to_owned()),
                WriteOutcome::Done => None,
            },
            delivery: None,
            rip: origin.rip.map(|rip| format!("{rip:#x}")),
            count: None,
        });
    }

    /// An access to an MSR that is not implemented.
    pub(super) fn unknown(&mut self, access: MsrAccess, origin: Origin) {
        self.lines.line(&Line {
            t_ns: origin.now.0,
            op: access.mnemonic(),
            index: Some(format!("{:#x}", access.index())),
            name: None,
            value: access.value().map(|v| format!("{v:#x}")),
            decoded: None,
            fault: Some(RefusalReason::Unknown.to_string()),
            delivery: None,
            rip: origin.rip.map(|rip| format!("{rip:#x}")),
            count: None,
        });
    }

    pub(super) fn pmi(&mut self, delivery: &'static str, now: GuestTime) {
        self.lines.line(&Line {
            t_ns: now.0,
            op: "pmi",
            index: None,
            name: None,
            value: None,
            decoded: None,
            fault: None,
            delivery: Some(delivery),
            rip: None,
            count: None,
        });
    }

    /// A PEBS record.
    pub(super) fn pebs(&mut self, record: Result<(), Lost>, origin: Origin) {
        self.lines.line(&Line {
            t_ns: origin.now.0,
            op: "pebs",
            index: None,
            name: None,
            value: None,
            decoded: None,
            fault: record.err().map(|lost| lost.to_string()),
            delivery: None,
            rip: origin.rip.map(|rip| format!("{rip:#x}")),
            count: None,
        });
    }

    /// An IBS sample.
    pub(super) fn ibs(&mut self, sampled: IbsTags, origin: Origin) {
        let name = match (sampled.fetch, sampled.op) {
            (true, true) => "fetch, op",
            (true, false) => "fetch",
            _ => "op",
        };
        self.lines.line(&Line {
            t_ns: origin.now.0,
            op: "ibs",
            index: None,
            name: Some(name.to_owned()),
            value: None,
            decoded: None,
            fault: None,
            delivery: None,
            rip: origin.rip.map(|rip| format!("{rip:#x}")),
            count: None,
        });
    }

    /// A planned fault has happened.
    pub(super) fn injected(&mut self, line: usize, fault: &str, now: GuestTime) {
        self.lines.line(&Line {
            t_ns: now.0,
            op: "inject",
            index: None,
            name: Some(format!("line {line}: {fault}")),
            value: None,
            decoded: None,
            fault: None,
            delivery: None,
            rip: None,
            count: None,
        });
    }

    /// The first use of an instruction; later ones are in the log at the end of the run.
    pub(super) fn unimplemented(&mut self, code: &str, origin: Origin) {
        self.lines.line(&Line {
            t_ns: origin.now.0,
            op: "unimplemented",
            index: None,
            name: Some(code.to_owned()),
            value: None,
            decoded: None,
            fault: Some("#UD".to_owned()),
            delivery: None,
            rip: origin.rip.map(|rip| format!("{rip:#x}")),
            count: Some(1),
        });
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.lines.finish()
    }
}
