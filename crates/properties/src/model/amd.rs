//! AMD's PMU with six counters, without its branch records: both halves of a merged pair are kept for themselves.

use super::{Books, Model, Tick, bit, ones};
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::{Fault, Profile, ReadOutcome, WriteOutcome};

const COUNTERS: usize = 6;
const CTL_BITS: u64 = 0xF_FFD7_FFFF;
const EN: u64 = 1 << 22;
const INT: u64 = 1 << 20;
/// EDGE and CNTMASK: with them a counter counts cycles, which do not happen here.
const MODIFIERS: u64 = 1 << 18 | 0xFF << 24;
/// The event that merges a counter with the even one below.
const MERGE: u64 = 0xF_0000_00FF;
/// Events that may happen, by their select; the unit mask of these is ignored.
const EVENTS: [(u64, Event); 4] = [
    (0xC0, Event::ExRetInstr),
    (0x76, Event::LsNotHaltedCyc),
    (0xC4, Event::ExRetBrnTkn),
    (0xC2, Event::ExRetBrn),
];

#[derive(Debug, Clone)]
pub(super) struct Amd {
    /// Performance monitoring version 2: global registers.
    v2: bool,
    /// Unit mask of every floating-point operation.
    flops_umask: u64,
    ctl: [u64; COUNTERS],
    ctr: [u64; COUNTERS],
    global_ctl: u64,
    status: u64,
    debugctl: u64,
    pmi: bool,
}

/// The counter that an address belongs to, and whether it is the control.
fn counter(index: u32) -> Option<(usize, bool)> {
    match index {
        0xC001_0000..=0xC001_0003 => Some(((index - 0xC001_0000) as usize, true)),
        0xC001_0004..=0xC001_0007 => Some(((index - 0xC001_0004) as usize, false)),
        0xC001_0200..=0xC001_020B => Some(((index - 0xC001_0200) as usize / 2, index.is_multiple_of(2))),
        _ => None,
    }
}

impl Amd {
    pub(super) fn power_on(profile: &Profile) -> Self {
        let v2 = profile.amd().is_some_and(|amd| amd.v2);
        let mut amd = Self {
            v2,
            flops_umask: if v2 { 0x1F } else { 0xFF },
            ctl: [0; COUNTERS],
            ctr: [0; COUNTERS],
            global_ctl: 0,
            status: 0,
            debugctl: 0,
            pmi: false,
        };
        amd.reset();
        amd
    }

    fn is_merged(&self, even: usize) -> bool {
        let odd = self.ctl[even | 1];
        odd & EN != 0 && odd & MERGE == MERGE
    }

    fn value(&self, n: usize) -> u64 {
        let high = if n.is_multiple_of(2) && self.is_merged(n) { self.ctr[n + 1] << 48 } else { 0 };
        self.ctr[n] | high
    }

    fn event(&self, n: usize) -> Option<Event> {
        let ctl = self.ctl[n];
        if ctl & MODIFIERS != 0 {
            return None;
        }
        // Further bits of the unit mask, which stand for nothing, do not matter.
        if ctl & MERGE == 0x03 {
            return (ctl >> 8 & self.flops_umask == self.flops_umask).then_some(Event::FpRetSseAvxOpsAll);
        }
        EVENTS.into_iter().find(|(select, _)| ctl & MERGE == *select).map(|(_, event)| event)
    }

    fn runs(&self, n: usize, os: bool) -> bool {
        let global = if self.v2 { self.global_ctl } else { ones(6) };
        let frozen = bit(self.status, 59);
        let ring = if os { 17 } else { 16 };
        let enabled = self.ctl[n] & EN != 0 && bit(self.ctl[n], ring) && bit(global, n as u32) && !frozen;
        let pair = !self.is_merged(n & !1) || n.is_multiple_of(2) && bit(global, n as u32 + 1);
        enabled && pair
    }
}

impl Model for Amd {
    fn codes(&self) -> Vec<(u64, Option<Event>)> {
        let events = EVENTS.map(|(select, event)| (select, Some(event)));
        let flops = (self.flops_umask << 8 | 3, Some(Event::FpRetSseAvxOpsAll));
        [events.as_slice(), &[flops, flops, (MERGE, None), (MERGE, None), (0xEE, None)]].concat()
    }

    fn rdmsr(&self, index: u32) -> Option<ReadOutcome> {
        if let Some((n, control)) = counter(index) {
            return Some(ReadOutcome::Value(if control { self.ctl[n] } else { self.value(n) }));
        }
        Some(ReadOutcome::Value(match index {
            0xC000_0300 if self.v2 => self.status,
            0xC000_0301 if self.v2 => self.global_ctl,
            0xC000_0302 | 0xC000_0303 if self.v2 => 0,
            0x1D9 => self.debugctl,
            _ => return None,
        }))
    }

    fn wrmsr(&mut self, index: u32, value: u64) -> Option<WriteOutcome> {
        if let Some((n, control)) = counter(index) {
            if control {
                self.ctl[n] = value & CTL_BITS;
            } else {
                self.ctr[n] = value & ones(48);
            }
            return Some(WriteOutcome::Done);
        }
        match index {
            0xC000_0300 if self.v2 => {}
            0xC000_0301 if self.v2 => self.global_ctl = value & 0x3F,
            0xC000_0302 if self.v2 => self.status &= !value,
            0xC000_0303 if self.v2 => self.status |= value & (3 << 58 | 0x3F),
            0x1D9 if bit(value, 6) => return Some(WriteOutcome::Fault(Fault::ReservedBits(1 << 6))),
            // Pin controls in bits 5:2, which these CPUs have.
            0x1D9 => self.debugctl = value & if self.v2 { 0x183F } else { 0x3F },
            _ => return None,
        }
        Some(WriteOutcome::Done)
    }

    fn rdpmc(&mut self, ecx: u32, context: RdpmcContext) -> ReadOutcome {
        if context.cpl > 0 && !context.pce && context.protected_mode {
            return ReadOutcome::Fault(Fault::RdpmcPrivilege);
        }
        match ecx as usize {
            n @ 0..COUNTERS => ReadOutcome::Value(self.value(n)),
            _ => ReadOutcome::Fault(Fault::RdpmcIndex(ecx)),
        }
    }

    fn tick(&mut self, tick: &Tick, _: &mut Books) {
        let mut overflowed = 0;
        let runs: Vec<[bool; 2]> = (0..COUNTERS).map(|n| [false, true].map(|os| self.runs(n, os))).collect();
        for (n, runs) in runs.into_iter().enumerate() {
            let Some(event) = self.event(n) else { continue };
            let merged = n.is_multiple_of(2) && self.is_merged(n);
            let limit = if merged { 255 } else { 15 };
            let rings = runs.into_iter().zip([false, true]).filter(|(runs, _)| *runs);
            let count: u64 = rings.map(|(_, os)| tick.limited(event, os, limit)).sum();
            let sum = u128::from(self.value(n)) + u128::from(count);
            self.ctr[n] = sum as u64 & ones(48);
            let width = if merged { 64 } else { 48 };
            if merged {
                self.ctr[n + 1] = self.ctr[n + 1] & !0xFFFF | u64::from((sum >> 48) as u16);
            }
            overflowed |= u64::from(sum >> width != 0) << n;
        }
        if self.v2 {
            self.status |= overflowed;
        }
        if (0..COUNTERS).any(|n| bit(overflowed, n as u32) && self.ctl[n] & INT != 0) {
            self.pmi = true;
            // FLBRI, FPMCI.
            self.status |= (self.debugctl >> 11 & 3) << 58;
        }
    }

    fn freezes(&self) -> bool {
        bit(self.debugctl, 12)
    }

    fn debug_exception(&mut self) {
        self.debugctl &= !3;
    }

    fn pmi(&mut self) -> &mut bool {
        &mut self.pmi
    }

    fn reset(&mut self) {
        (self.ctl, self.ctr) = ([0; COUNTERS], [0; COUNTERS]);
        self.global_ctl = if self.v2 { ones(6) } else { 0 };
        (self.status, self.debugctl, self.pmi) = (0, 0, false);
    }

    fn boxed(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }
}
