//! AMD's state machine against a naive model, on random sequences.
//!
//! The model is eager: it keeps every register for itself, the halves of a merged pair too, and adds to each
//! counter as the guest runs. The vPMU is lazy, and holds a pair's count in one place.

use proptest::prelude::*;
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::profile::{ZEN2, ZEN4};
use vpmu::source::ScriptedSource;
use vpmu::{Profile, ReadOutcome, Vpmu, WriteOutcome};

const COUNTERS: usize = 6;
const MASK48: u64 = (1 << 48) - 1;
const CTL_BITS: u64 = 0xF_FFD7_FFFF;
const EN: u64 = 1 << 22;
const INT: u64 = 1 << 20;
/// EDGE and CNTMASK: what a scripted source cannot count.
const MODIFIERS: u64 = 1 << 18 | 0xFF << 24;

#[derive(Debug, Clone)]
enum Op {
    Write(u32, u64),
    Read(u32),
    Rdpmc(u32),
    /// So many cycles with `each` occurrences in every one.
    Run {
        usr: bool,
        flops: bool,
        each: u64,
        cycles: u64,
    },
    TakePmi,
    SaveAndRestore,
}

#[derive(Debug, Clone, Default)]
struct Model {
    v2: bool,
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

impl Model {
    fn new(v2: bool) -> Self {
        let (flops_umask, global_ctl) = if v2 { (0x1F, 0x3F) } else { (0xFF, 0) };
        Self { v2, flops_umask, global_ctl, ..Self::default() }
    }

    fn status_bits(&self) -> u64 {
        3 << 58 | 0x3F
    }

    fn merged(&self, even: usize) -> bool {
        let odd = self.ctl[even | 1];
        odd & EN != 0 && odd & 0xF_0000_00FF == 0xF_0000_00FF
    }

    fn read(&self, index: u32) -> Option<u64> {
        if let Some((n, control)) = counter(index) {
            return Some(if control { self.ctl[n] } else { self.value(n) });
        }
        match index {
            0xC000_0300 if self.v2 => Some(self.status),
            0xC000_0301 if self.v2 => Some(self.global_ctl),
            0xC000_0302 | 0xC000_0303 if self.v2 => Some(0),
            0x1D9 => Some(self.debugctl),
            _ => None,
        }
    }

    fn value(&self, n: usize) -> u64 {
        let high = if n.is_multiple_of(2) && self.merged(n) { self.ctr[n + 1] << 48 } else { 0 };
        self.ctr[n] | high
    }

    fn write(&mut self, index: u32, value: u64) -> bool {
        if let Some((n, control)) = counter(index) {
            if control {
                self.ctl[n] = value & CTL_BITS;
            } else {
                self.ctr[n] = value & MASK48;
            }
            return true;
        }
        match index {
            0xC000_0300 if self.v2 => {}
            0xC000_0301 if self.v2 => self.global_ctl = value & 0x3F,
            0xC000_0302 if self.v2 => self.status &= !value,
            0xC000_0303 if self.v2 => self.status |= value & self.status_bits(),
            // Pin controls in bits 5:2, which both CPUs here have.
            0x1D9 if value & 0x40 == 0 => self.debugctl = value & if self.v2 { 0x183F } else { 0x3F },
            _ => return false,
        }
        true
    }

    fn runs(&self, n: usize, usr: bool) -> bool {
        let global = if self.v2 { self.global_ctl } else { 0x3F };
        let frozen = self.status >> 59 & 1 != 0;
        let ring = if usr { 1 << 16 } else { 1 << 17 };
        let enabled = self.ctl[n] & EN != 0 && self.ctl[n] & ring != 0 && global >> n & 1 != 0 && !frozen;
        let pair = !self.merged(n & !1) || n.is_multiple_of(2) && global >> (n + 1) & 1 != 0;
        enabled && pair
    }

    fn run(&mut self, usr: bool, flops: bool, each: u64, cycles: u64) {
        // Further bits of the unit mask, which stand for nothing, do not matter.
        let wanted = |event: u64| match flops {
            true => event & !0xFF00 == 0x03 && event >> 8 & self.flops_umask == self.flops_umask,
            false => event == 0xC0,
        };
        let mut overflowed = 0;
        for n in 0..COUNTERS {
            let event = self.ctl[n] & (0xF_0000_FFFF | MODIFIERS);
            if !wanted(event) || !self.runs(n, usr) {
                continue;
            }
            if n.is_multiple_of(2) && self.merged(n) {
                let sum = u128::from(self.value(n)) + u128::from(each.min(255) * cycles);
                self.ctr[n] = sum as u64 & MASK48;
                self.ctr[n + 1] = self.ctr[n + 1] & !0xFFFF | sum as u64 >> 48;
                overflowed |= u64::from(sum >> 64 != 0) << n;
            } else {
                let sum = self.ctr[n] + each.min(15) * cycles;
                self.ctr[n] = sum & MASK48;
                overflowed |= u64::from(sum > MASK48) << n;
            }
        }
        if self.v2 {
            self.status |= overflowed;
        }
        if (0..COUNTERS).any(|n| overflowed >> n & 1 != 0 && self.ctl[n] & INT != 0) {
            self.pmi = true;
            // FLBRI, FPMCI.
            self.status |= (self.debugctl >> 11 & 3) << 58;
        }
    }
}

fn registers() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 0xC001_0200..0xC001_020C_u32,
        2 => 0xC001_0000..0xC001_0008_u32,
        2 => 0xC000_0300..0xC000_0304_u32,
        1 => prop::sample::select(vec![0x1D9, 0xC1, 0x186, 0x38F, 0xC001_020C]),
    ]
}

fn value(index: u32) -> BoxedStrategy<u64> {
    let bits = prop::sample::select(vec![EN, EN | INT, EN | 3 << 16, EN | INT | 3 << 16, EN | 1 << 16, 0]);
    match counter(index) {
        Some((_, true)) => {
            let events = vec![0xC0, 0xFF03, 0x1F03, 0xF_0000_00FF, 0xF_0000_00FF, 0xEE, 0x0200_00C0];
            let programmed = (prop::sample::select(events), bits).prop_map(|(event, bits)| event | bits);
            prop_oneof![8 => programmed, 1 => any::<u64>()].boxed()
        }
        Some((_, false)) => prop_oneof![
            3 => (0..400_u64).prop_map(u64::wrapping_neg),
            2 => Just(0xFFFF_u64),
            1 => 0..4_u64,
            1 => any::<u64>(),
        ]
        .boxed(),
        None => prop_oneof![
            2 => any::<u64>(),
            2 => Just(u64::MAX),
            2 => 0..64_u64,
            1 => (0..64_u32).prop_map(|bit| 1 << bit),
            1 => Just(0x1800_u64),
        ]
        .boxed(),
    }
}

fn op() -> impl Strategy<Value = Op> {
    let write =
        registers().prop_flat_map(|index| value(index).prop_map(move |value| Op::Write(index, value)));
    let run = (any::<bool>(), any::<bool>(), 1..300_u64, 1..40_u64).prop_map(|(usr, flops, each, cycles)| {
        // The scripted source knows bursts in ring 3 only.
        let each = if usr && flops { each } else { 1 };
        Op::Run { usr, flops, each, cycles }
    });
    prop_oneof![
        10 => write,
        6 => run,
        3 => registers().prop_map(Op::Read),
        2 => prop_oneof![0..8_u32, Just(1 << 31), any::<u32>()].prop_map(Op::Rdpmc),
        1 => Just(Op::TakePmi),
        1 => Just(Op::SaveAndRestore),
    ]
}

fn compare(profile: &Profile, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut pmu = Vpmu::new(profile.clone());
    let mut source = ScriptedSource::new();
    let mut model = Model::new(profile.amd().is_some_and(|amd| amd.v2));
    for (step, op) in ops.iter().enumerate() {
        match *op {
            Op::Write(index, value) => {
                let done = pmu.write_msr(index, value, &mut source) == WriteOutcome::Done;
                prop_assert_eq!(done, model.write(index, value), "step {}: {:x?}", step, op);
            }
            Op::Read(index) => {
                let expected = model.read(index);
                let read = match pmu.read_msr(index, &mut source) {
                    ReadOutcome::Value(value) => Some(value),
                    _ => None,
                };
                prop_assert_eq!(read, expected, "step {}: {:x?}", step, op);
            }
            Op::Rdpmc(ecx) => {
                let expected = (ecx < COUNTERS as u32).then(|| model.value(ecx as usize));
                let read = match pmu.rdpmc(ecx, RdpmcContext::RING0, &mut source) {
                    ReadOutcome::Value(value) => Some(value),
                    _ => None,
                };
                prop_assert_eq!(read, expected, "step {}: {:x?}", step, op);
            }
            Op::Run { usr, flops, each, cycles } => {
                let event = if flops { Event::FpRetSseAvxOpsAll } else { Event::ExRetInstr };
                match usr {
                    true => source.add_user_cycles(event, each, cycles),
                    false => source.add_os(event, cycles),
                }
                pmu.sync(&mut source);
                model.run(usr, flops, each, cycles);
            }
            Op::TakePmi => {
                prop_assert_eq!(pmu.take_pmi(), std::mem::take(&mut model.pmi), "step {}", step);
            }
            Op::SaveAndRestore => {
                let state = pmu.save(&mut source);
                pmu = Vpmu::new(profile.clone());
                prop_assert_eq!(pmu.restore(&state, &mut source), Ok(()), "step {}", step);
                prop_assert_eq!(pmu.save(&mut source), state, "step {}", step);
            }
        }
    }
    for index in (0xC001_0000..0xC001_0008).chain(0xC001_0200..0xC001_020C).chain(0xC000_0300..0xC000_0304) {
        let read = match pmu.read_msr(index, &mut source) {
            ReadOutcome::Value(value) => Some(value),
            _ => None,
        };
        prop_assert_eq!(read, model.read(index), "{:#x} at the end", index);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn zen2_agrees_with_the_model(ops in prop::collection::vec(op(), 1..80)) {
        compare(&ZEN2, &ops)?;
    }

    #[test]
    fn zen4_agrees_with_the_model(ops in prop::collection::vec(op(), 1..80)) {
        compare(&ZEN4, &ops)?;
    }
}
