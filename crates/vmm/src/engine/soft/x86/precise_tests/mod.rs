//! Precise samples are about the very instruction that the manuals name. The same guest runs twice: one instruction at
//! a time, with what each of them has done; and as always, with records of every so many occurrences of an event.

mod guest;
mod ibs;

use self::guest::Step;
use crate::engine::Detail;
use crate::test_guest::Guest;
use vpmu::Profile;
use vpmu::event::{Encoding, ExtraRegister};
use vpmu::profile::{Architecture, GRANITE_RAPIDS, ICELAKE_SP, SAPPHIRE_RAPIDS, SKYLAKE_SP};
use vpmu::register::intel::{DsArea, PebsDataCfg, PebsEnable, PebsLdLat, PerfEvtSel, PerfGlobalCtrl};
use vpmu::source::EventRequest;

/// The register that enables counters.
const ENABLE: u32 = PerfGlobalCtrl::INDEX;
const FIXED_CTR_CTRL: u32 = 0x38D;
const FIXED_CTR0: u32 = 0x309;
const FULL_WIDTH_PMC0: u32 = 0x4C1;
/// The debug store's management area, and its buffer.
const AREA: u64 = 0xA000;
const BUFFER: u64 = 0x30_0000;
const BUFFER_END: u64 = 0x3F_0000;
const COUNTER_BITS: u32 = 48;

/// Events that can be precise: those that instructions have when they retire (SDM volume 3B, "PEBS Events"; `PEBS` in
/// the lists of `intel/perfmon`).
const PRECISE: [&str; 9] = [
    "INST_RETIRED.",
    "BR_INST_RETIRED.",
    "BR_MISP_RETIRED.",
    "FRONTEND_RETIRED.",
    "MEM_INST_RETIRED.",
    "MEM_LOAD_RETIRED.",
    "MEM_LOAD_L3_HIT_RETIRED.",
    "MEM_LOAD_L3_MISS_RETIRED.",
    "MEM_TRANS_RETIRED.",
];

/// Of these some happen with a model of the core.
const MODELLED: [&str; 12] = [
    "BR_MISP_RETIRED.ALL_BRANCHES",
    "FRONTEND_RETIRED.ANY_DSB_MISS",
    "FRONTEND_RETIRED.DSB_MISS",
    "FRONTEND_RETIRED.L1I_MISS",
    "FRONTEND_RETIRED.LATENCY_GE_8",
    "MEM_INST_RETIRED.LOCK_LOADS",
    "MEM_INST_RETIRED.SPLIT_LOADS",
    "MEM_INST_RETIRED.SPLIT_STORES",
    "MEM_LOAD_RETIRED.L1_HIT",
    "MEM_LOAD_RETIRED.L1_MISS",
    "MEM_LOAD_RETIRED.L3_MISS",
    "MEM_INST_RETIRED.STLB_MISS_LOADS",
];
const SLOW: [&str; 2] = ["MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_128"];
const PERIODS: [u64; 3] = [1, 7, 97];

/// What a guest writes before it works.
struct Setup {
    registers: Vec<(u32, u64)>,
    memory: Vec<(u64, u64)>,
    /// The register that lets counters run, and its value.
    switch: (u32, u64),
}

/// A counter that samples.
#[derive(Clone)]
struct Sampled {
    name: String,
    request: EventRequest,
    /// Of IA32_PERFEVTSELx.
    code: u64,
    extra: Option<ExtraRegister>,
    /// Its bit in IA32_PEBS_ENABLE: of fixed counters from 32 on.
    bit: u32,
}

impl Sampled {
    fn of(profile: &Profile, encoding: &Encoding) -> Self {
        let counter = encoding.counters.trailing_zeros();
        let resolved = match encoding.extra {
            Some(extra) => profile.events.resolve_extra(encoding.code, extra.value),
            None => profile.events.resolve(encoding.code),
        };
        let mut request = EventRequest::resolved(encoding.code, &resolved, counter);
        if let Some(ExtraRegister { msr: PebsLdLat::INDEX, value }) = encoding.extra {
            request.threshold = u16::try_from(value).ok();
        }
        Self {
            name: encoding.name.to_owned(),
            request,
            code: encoding.code.to_evtsel_bits(),
            extra: encoding.extra,
            bit: counter,
        }
    }

    /// Instructions on fixed counter 0.
    fn fixed_0() -> Self {
        let event = vpmu::event::Event::InstRetiredAny;
        let request = EventRequest::named(event, vpmu::event::EventCode::default());
        Self { name: event.name().to_owned(), request, code: 0, extra: None, bit: 32 }
    }

    /// On fixed counter 0, on counter 0 from Golden Cove on, and before Ice Lake with its own event: SDM volume 3B,
    /// "Precise Distribution of Instructions Retired"; `:ppp` in Linux `arch/x86/events/intel/core.c`.
    fn is_distributed(&self, profile: &Profile) -> bool {
        match self.bit {
            32 => true,
            0 => profile.metrics_level() == 2 && !self.name.starts_with("INST_RETIRED."),
            _ => self.name == "INST_RETIRED.PREC_DIST",
        }
    }

    fn setup(&self, profile: &Profile, period: u64) -> Setup {
        let start = period.wrapping_neg() & (u64::MAX >> (u64::BITS - COUNTER_BITS));
        // After RESET general-purpose counters are enabled.
        let mut registers = vec![(ENABLE, 0), (DsArea::INDEX, AREA), (PebsEnable::INDEX, 1 << self.bit)];
        let adaptive = is_adaptive(profile);
        if adaptive {
            registers.push((PebsDataCfg::INDEX, 3));
        }
        // As many for each event, so that the work is at the same addresses.
        registers.push(self.extra.map_or((DsArea::INDEX, AREA), |extra| (extra.msr, extra.value)));
        let adaptive = if adaptive { 1_u64 << 34 } else { 0 };
        let reset = if self.bit < 32 {
            registers.push((PerfEvtSel::INDEX + self.bit, self.code | adaptive | 3 << 16 | 1 << 22));
            registers.push((FULL_WIDTH_PMC0 + self.bit, start));
            self.bit
        } else {
            registers.push((FIXED_CTR_CTRL, 3 | 1 << 32));
            registers.push((FIXED_CTR0, start));
            8
        };
        let mut memory: Vec<(u64, u64)> =
            (AREA + 32..).step_by(8).zip([BUFFER, BUFFER, BUFFER_END, u64::MAX]).collect();
        memory.push((AREA + 64 + 8 * u64::from(reset), start));
        Setup { registers, memory, switch: (ENABLE, 1 << 32 | ((1 << profile.gp_counters) - 1)) }
    }
}

/// A record, as far as every format has it.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    event_ip: u64,
    rip: u64,
    gpr: [u64; 16],
    /// Of the access, where there is one.
    address: u64,
}

fn is_adaptive(profile: &Profile) -> bool {
    profile.intel().is_some_and(|pmu| pmu.perf_capabilities.pebs_baseline())
}

fn records(guest: &Guest, profile: &Profile) -> Vec<Record> {
    let word = |address| {
        let mut bytes = [0; 8];
        guest.machine.memory.read(address, &mut bytes).expect("RAM");
        u64::from_le_bytes(bytes)
    };
    let words = if is_adaptive(profile) { 26 } else { 25 };
    let end = word(AREA + 40);
    assert_eq!((end - BUFFER) % (8 * words), 0, "whole records");
    (BUFFER..end)
        .step_by(8 * words as usize)
        .map(|start| {
            let at = |n: u64| word(start + 8 * n);
            if words == 26 {
                let gpr = std::array::from_fn(|n| at(10 + n as u64));
                return Record { event_ip: at(1), rip: at(9), gpr, address: at(4) };
            }
            let mut gpr = [0; 16];
            // RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP and the others, by their numbers.
            for (n, register) in (2..).zip([0, 3, 1, 2, 6, 7, 5, 4].into_iter().chain(8..16)) {
                gpr[register] = at(n);
            }
            Record { event_ip: at(22), rip: at(1), gpr, address: at(19) }
        })
        .collect()
}

/// The steps that are sampled: a counter that overflows is armed, and the next occurrence makes a record and loads the
/// reset value (SDM volume 3B, "Processor Event Based Sampling"). With precise distribution it is the one that makes
/// the counter overflow.
fn sampled(steps: &[Step], event: usize, period: u64, distributed: bool) -> Vec<usize> {
    let (mut left, mut armed) = (period, false);
    let mut found = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        match step.counts[event] {
            0 => {}
            _ if armed || distributed && left == 1 => {
                found.push(n);
                (left, armed) = (period, false);
            }
            count => {
                armed = count >= left;
                left = left.saturating_sub(count);
            }
        }
    }
    found
}

fn expected(step: &Step) -> Record {
    Record {
        event_ip: step.rip,
        rip: step.next,
        gpr: step.after,
        address: guest::address(&step.code, &step.before).unwrap_or_default(),
    }
}

/// Samples events every so often, and compares with the steps of the same guest. The names of those that happened.
fn check(profile: &Profile, detail: Detail, events: &[Sampled]) -> Vec<String> {
    let requests: Vec<EventRequest> = events.iter().map(|event| event.request).collect();
    // Nothing is sampled where the steps are looked at.
    let mut setup = Sampled::fixed_0().setup(profile, 1);
    for (index, value) in &mut setup.registers {
        *value = if *index == DsArea::INDEX { *value } else { 0 };
    }
    let steps = guest::trace(&mut guest::guest(profile, detail, &setup), &setup, &requests);
    let mut happened = Vec::new();
    for (n, event) in events.iter().enumerate() {
        for period in PERIODS {
            let guest = guest::run(guest::guest(profile, detail, &event.setup(profile, period)));
            let expected: Vec<Record> = sampled(&steps, n, period, event.is_distributed(profile))
                .into_iter()
                .map(|step| expected(&steps[step]))
                .collect();
            let found = records(&guest, profile);
            let what = format!("{} on {} every {period}", event.name, profile.name);
            let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            if let Some(differs) = differs {
                panic!("{what}: record {differs}: {:x?} instead of {:x?}", found[differs], expected[differs]);
            }
            assert_eq!(found.len(), expected.len(), "{what}");
        }
        if steps.iter().any(|step| step.counts[n] != 0) {
            happened.push(event.name.clone());
        }
    }
    happened
}

/// All events of a CPU that can be precise.
fn precise(profile: &Profile) -> Vec<Sampled> {
    let precise = profile.events.encodings().iter().filter(|encoding| {
        PRECISE.iter().any(|family| encoding.name.starts_with(family)) && encoding.code.is_plain()
    });
    let mut events: Vec<Sampled> = precise.map(|encoding| Sampled::of(profile, encoding)).collect();
    if is_adaptive(profile) {
        events.push(Sampled::fixed_0());
    }
    events
}

/// Every Intel CPU that has PEBS.
#[test]
fn every_precise_event_is_sampled_where_it_happens() {
    let profiles = Architecture::X86_64.profiles().map(|profile| profile.clone().with_pebs());
    for profile in profiles.filter(Profile::has_pebs) {
        let happened = check(&profile, Detail::Counts, &precise(&profile));
        for event in [
            "INST_RETIRED.ANY_P",
            "BR_INST_RETIRED.NEAR_CALL",
            "BR_INST_RETIRED.NEAR_RETURN",
            "BR_INST_RETIRED.NEAR_TAKEN",
            "BR_INST_RETIRED.COND_NTAKEN",
            "MEM_INST_RETIRED.ALL_LOADS",
            "MEM_INST_RETIRED.ALL_STORES",
        ] {
            assert!(happened.iter().any(|name| name == event), "{event} on {}", profile.name);
        }
    }
}

/// With a model of the core there are events of caches, predictors and the front end. It counts loads above one
/// latency at a time.
#[test]
fn and_so_are_those_that_a_model_of_the_core_knows() {
    for profile in [SKYLAKE_SP, ICELAKE_SP, SAPPHIRE_RAPIDS, GRANITE_RAPIDS] {
        let profile = &profile.with_pebs();
        let (slow, others): (Vec<_>, Vec<_>) =
            precise(profile).into_iter().partition(|event| event.request.threshold.is_some());
        let mut happened = check(profile, Detail::Timing, &others);
        for event in slow.iter().filter(|event| SLOW.contains(&&*event.name)) {
            happened.extend(check(profile, Detail::Timing, std::slice::from_ref(event)));
        }
        for event in MODELLED.iter().chain(&SLOW) {
            assert!(happened.iter().any(|name| name == event), "{event} on {}: {happened:?}", profile.name);
        }
    }
}
