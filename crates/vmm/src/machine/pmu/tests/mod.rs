//! Tests of the trace and the measuring windows, with a source whose totals are set by hand.

mod trace;
mod window;
mod window_arm;

use super::trace::Tracer;
use super::window::Window;
use super::*;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use vpmu::event::Event;
use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS, SKYLAKE_SP};
use vpmu::source::{EventRequest, PrivilegeFilter, ScriptedSource};
use vpmu::{CountsSource, TopdownSlots};

const GLOBAL_CTRL: u32 = 0x38F;
const GLOBAL_STATUS: u32 = 0x38E;
const GLOBAL_OVF_CTRL: u32 = 0x390;
const FIXED_CTR_CTRL: u32 = 0x38D;
const FIXED_CTR0: u32 = 0x309;
const FIXED_CTR1: u32 = 0x30A;
const FIXED_CTR3: u32 = 0x30C;
const PERF_METRICS: u32 = 0x329;
const PERFEVTSEL0: u32 = 0x186;
const DEBUGCTL: u32 = 0x1D9;
/// GLOBAL_CTRL bits.
const EN_FIXED0: u64 = 1 << 32;
const EN_FIXED1: u64 = 1 << 33;
const EN_FIXED3: u64 = 1 << 35;
const EN_METRICS: u64 = 1 << 48;
/// User-level counting of branch instructions, enabled.
const BRANCHES: u64 = 0x41_00C4;

/// The source of a test, shared with the device.
#[derive(Debug, Clone, Default)]
pub(in crate::machine) struct Script(Rc<RefCell<ScriptedSource>>);

impl Script {
    pub(in crate::machine) fn user(&self, event: Event, count: u64) {
        self.0.borrow_mut().add_user(event, count);
    }
}

impl CountsSource for Script {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        self.0.borrow().provenance(request)
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        self.0.borrow_mut().total(request, filter)
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        self.0.borrow_mut().topdown(filter)
    }
}

impl Source for Script {
    fn label(&self) -> Provenance {
        Provenance::Exact
    }
}

/// Trace lines, shared with the device; refuses everything after `room` bytes.
#[derive(Clone)]
struct Lines {
    bytes: Rc<RefCell<Vec<u8>>>,
    room: usize,
}

impl Write for Lines {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.borrow_mut();
        if bytes.len() + data.len() > self.room {
            return Err(io::Error::other("disk full"));
        }
        bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The outcome of an access that requests no PMI.
#[track_caller]
fn quiet<T>(answer: Answer<T>) -> T {
    answer.deliver(|| panic!("a PMI"))
}

/// A device, its script and its trace.
struct Bench {
    device: PmuDevice,
    script: Script,
    lines: Lines,
}

impl Bench {
    fn new(profile: Profile) -> Self {
        Self::with_room(profile, usize::MAX)
    }

    fn with_room(profile: Profile, room: usize) -> Self {
        let script = Script::default();
        let lines = Lines { bytes: Rc::default(), room };
        let tracer = Tracer::new(Box::new(lines.clone()));
        Self { device: PmuDevice::new(profile, Box::new(script.clone()), Some(tracer)), script, lines }
    }

    /// The guest writes these registers without a fault.
    fn write(&mut self, writes: &[(u32, u64)]) {
        for &(index, value) in writes {
            let outcome = quiet(self.device.wrmsr(index, value, Origin::default()));
            assert_eq!(outcome, WriteOutcome::Done, "{index:#x}");
        }
    }

    fn read(&mut self, index: u32) -> u64 {
        match quiet(self.device.rdmsr(index, Origin::default())) {
            ReadOutcome::Value(value) => value,
            other => panic!("{index:#x}: {other:?}"),
        }
    }

    fn rdpmc(&mut self, ecx: u32) -> u64 {
        match quiet(self.device.rdpmc(ecx, RdpmcContext::RING0, Origin::default())) {
            ReadOutcome::Value(value) => value,
            other => panic!("{ecx:#x}: {other:?}"),
        }
    }

    fn window(&self) -> &Window {
        assert_eq!(self.device.windows().len(), 1);
        &self.device.windows()[0]
    }

    /// (counter, event, filter, vmm, guest) of the rows of the only window.
    fn rows(&self) -> Vec<(&str, &str, &str, u64, Option<u64>)> {
        self.window()
            .rows
            .iter()
            .map(|r| (r.counter.as_str(), r.event.as_str(), r.filter.as_str(), r.vmm, r.guest))
            .collect()
    }

    fn trace(&self) -> Vec<serde_json::Value> {
        let bytes = self.lines.bytes.borrow();
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
