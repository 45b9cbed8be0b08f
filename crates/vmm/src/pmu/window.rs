//! Measuring windows: what the guest read next to what the source counted.
//!
//! A window opens when the guest writes a GLOBAL_CTRL that enables something after one that enabled
//! nothing, and closes when GLOBAL_CTRL goes back to 0. That is how perf, kvm-unit-tests and our own
//! images measure. At both ends the recorder takes the source's totals, bypassing the vPMU's
//! counters; what the guest then reads from a counter is put next to the difference. So a row
//! compares the guest's view with an independent one.

use crate::counts::Source;
use serde::Serialize;
use vpmu::pmu::CounterId;
use vpmu::register::RegisterId;
use vpmu::register::intel::PerfGlobalCtrl;
use vpmu::register::{locate, low_bits};
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Provenance, TopdownSlots, Vpmu, WriteOutcome};

/// Most windows kept; later ones are counted but not recorded.
pub const MAX_WINDOWS: usize = 1024;
/// Longest label, in bytes.
pub const MAX_LABEL: usize = 64;

/// One counter over one window.
#[derive(Debug, Clone, Serialize)]
pub struct WindowRow {
    /// The counter, for example `FIXED_CTR0`.
    pub counter: String,
    /// Event name or raw code.
    pub event: String,
    /// `:u`, `:k` or empty.
    pub filter: String,
    /// What the numbers are worth.
    pub provenance: Provenance,
    /// Difference of the source's totals.
    pub vmm: u64,
    /// Difference of what the guest read and the counter's value at the start; `None` if it never read.
    pub guest: Option<u64>,
    #[serde(skip)]
    id: CounterId,
    #[serde(skip)]
    start: u64,
    #[serde(skip)]
    width: u32,
    #[serde(skip)]
    mark: u64,
    #[serde(skip)]
    request: EventRequest,
    #[serde(skip)]
    privileges: PrivilegeFilter,
}

/// One measuring window.
#[derive(Debug, Clone, Serialize)]
pub struct Window {
    /// The name that the guest gave it, or empty.
    pub label: String,
    /// Counters that ran.
    pub rows: Vec<WindowRow>,
    /// Slots by category, by the source's totals, when PERF_METRICS ran.
    pub topdown: Option<TopdownSlots>,
    /// PERF_METRICS as the guest read it after the window.
    pub guest_metrics: Option<u64>,
    #[serde(skip)]
    topdown_mark: Option<(PrivilegeFilter, TopdownSlots)>,
}

/// State between the two halves of a WRMSR.
#[derive(Debug, Clone, Copy)]
pub(super) struct BeforeWrite {
    /// GLOBAL_CTRL is being written; this was its value.
    global_ctrl: Option<u64>,
}

/// Records windows.
#[derive(Debug, Default)]
pub(super) struct WindowRecorder {
    windows: Vec<Window>,
    open: Option<Window>,
    label: String,
}

impl WindowRecorder {
    pub(super) fn windows(&self) -> &[Window] {
        &self.windows
    }

    pub(super) fn set_label(&mut self, mut label: String) {
        let mut end = label.len().min(MAX_LABEL);
        while !label.is_char_boundary(end) {
            end -= 1;
        }
        label.truncate(end);
        self.label = label;
    }

    /// Call before the write takes effect.
    pub(super) fn before_write(
        &mut self,
        index: u32,
        vpmu: &mut Vpmu,
        source: &mut dyn Source,
    ) -> BeforeWrite {
        if index != PerfGlobalCtrl::MSR {
            return BeforeWrite { global_ctrl: None };
        }
        match vpmu.read_msr(index, source) {
            vpmu::ReadOutcome::Value(value) => BeforeWrite { global_ctrl: Some(value) },
            _ => BeforeWrite { global_ctrl: None },
        }
    }

    /// Call after the write.
    pub(super) fn after_write(
        &mut self,
        before: BeforeWrite,
        _index: u32,
        value: u64,
        outcome: WriteOutcome,
        vpmu: &mut Vpmu,
        source: &mut dyn Source,
    ) {
        let (Some(old), WriteOutcome::Done) = (before.global_ctrl, outcome) else { return };
        if old == 0 && value != 0 {
            self.open(vpmu, source);
        } else if old != 0 && value == 0 {
            self.close(source);
        }
    }

    fn open(&mut self, vpmu: &mut Vpmu, source: &mut dyn Source) {
        let gp_width = u32::from(vpmu.profile().gp_width);
        let fixed_width = u32::from(vpmu.profile().fixed_width);
        let mut window = Window {
            label: std::mem::take(&mut self.label),
            rows: Vec::new(),
            topdown: None,
            guest_metrics: None,
            topdown_mark: None,
        };
        for active in vpmu.active() {
            let (name, width) = match active.counter {
                CounterId::Gp(n) => (format!("PMC{n}"), gp_width),
                CounterId::Fixed(n) => (format!("FIXED_CTR{n}"), fixed_width),
                CounterId::Metric(_) => {
                    if window.topdown_mark.is_none() {
                        window.topdown_mark =
                            source.topdown(active.filter).map(|slots| (active.filter, slots));
                    }
                    continue;
                }
            };
            window.rows.push(WindowRow {
                counter: name,
                event: active.request.to_string(),
                filter: active.filter.perf_suffix().to_owned(),
                provenance: source.provenance(&active.request),
                vmm: 0,
                guest: None,
                id: active.counter,
                start: (1_u64 << width).wrapping_sub(active.until_overflow) & low_bits(width),
                width,
                mark: source.total(&active.request, active.filter),
                request: active.request,
                privileges: active.filter,
            });
        }
        self.open = Some(window);
    }

    fn close(&mut self, source: &mut dyn Source) {
        let Some(mut window) = self.open.take() else { return };
        for row in &mut window.rows {
            row.vmm = source.total(&row.request, row.privileges).saturating_sub(row.mark);
        }
        if let Some((filter, mark)) = window.topdown_mark {
            window.topdown = source.topdown(filter).map(|now| now.since(&mark));
        }
        if self.windows.len() < MAX_WINDOWS {
            self.windows.push(window);
        }
    }

    /// The guest read an MSR.
    pub(super) fn read_msr(&mut self, index: u32, value: u64) {
        let Some(located) = locate(index) else { return };
        match located.register.id {
            RegisterId::Pmc | RegisterId::APmc => {
                self.guest_read(CounterId::Gp(located.instance as u8), value);
            }
            RegisterId::FixedCtr => self.guest_read(CounterId::Fixed(located.instance as u8), value),
            RegisterId::PerfMetrics => self.guest_read(CounterId::Metric(0), value),
            _ => {}
        }
    }

    /// The guest executed RDPMC.
    pub(super) fn rdpmc(&mut self, ecx: u32, value: u64) {
        match ecx >> 16 {
            0 => self.guest_read(CounterId::Gp(ecx as u8), value),
            0x4000 => self.guest_read(CounterId::Fixed(ecx as u8), value),
            0x2000 => self.guest_read(CounterId::Metric(0), value),
            _ => {}
        }
    }

    /// The first read after the window has closed counts; reads inside a window are not compared.
    fn guest_read(&mut self, id: CounterId, value: u64) {
        if self.open.is_some() {
            return;
        }
        let Some(window) = self.windows.last_mut() else { return };
        if let CounterId::Metric(_) = id {
            if window.topdown.is_some() {
                window.guest_metrics.get_or_insert(value);
            }
            return;
        }
        if let Some(row) = window.rows.iter_mut().find(|row| row.id == id) {
            // Counters of all profiles are 48 bits wide.
            row.guest.get_or_insert(value.wrapping_sub(row.start) & low_bits(row.width));
        }
    }
}
