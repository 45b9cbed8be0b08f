//! IBS on AMD's CPUs: what retires behind the instruction in which the periodic count reaches its maximum is sampled.

use super::guest::{self, Step};
use super::{Guest, Setup};
use crate::engine::Detail;
use vpmu::event::{Event, EventCode};
use vpmu::profile::{Architecture, Profile};
use vpmu::register::amd::{
    IbsBrTarget, IbsDcLinAd, IbsFetchCtl, IbsFetchLinAd, IbsOpCtl, IbsOpData, IbsOpData3, IbsOpRip,
};
use vpmu::source::EventRequest;

/// Multiples of 16, all of which a maximum can be.
const PERIODS: [u64; 3] = [16, 48, 112];
/// Instructions of the WRMSR that switches a counter on.
const SWITCHING: u64 = 4;

/// What switches a counter on with a period.
type Control = fn(u64) -> (u32, u64);

/// A counter of ops, which are instructions where no model of the core looks on.
fn ops(period: u64) -> (u32, u64) {
    (IbsOpCtl::INDEX, IbsOpCtl(0).with_max_count(period >> 4).with_enable(true).with_count_ops(true).0)
}

fn fetches(period: u64) -> (u32, u64) {
    (IbsFetchCtl::INDEX, IbsFetchCtl(0).with_max_count(period >> 4).with_enable(true).0)
}

/// The step behind the one in which `event` has happened so often, counted from a step on.
fn tagged(steps: &[Step], event: usize, from: usize, period: u64) -> Option<usize> {
    let mut count = 0;
    let full = steps.iter().skip(from).position(|step| {
        count += step.counts[event];
        count >= period
    });
    full.map(|full| from + full + 1).filter(|next| *next < steps.len())
}

/// Runs from one sample to the next with both counters in turn; how many samples were as they have to be.
fn samples(profile: &Profile, (control, event): (Control, usize)) -> usize {
    let mut setup = Setup { registers: Vec::new(), memory: Vec::new(), switch: (control(PERIODS[0]).0, 1) };
    let events = [Event::InstRetiredAny, Event::UopsRetiredSlots]
        .map(|event| EventRequest::named(event, EventCode::default()));
    // A maximum alone counts nothing.
    let steps = guest::trace(&mut guest::guest(profile, Detail::Counts, &setup), &setup, &events);
    setup.switch = control(PERIODS[0]);
    let mut guest = guest::guest(profile, Detail::Counts, &setup);
    assert_eq!(guest::advance(&mut guest, SWITCHING), None);
    // The WRMSR that switches it on counts.
    let (mut from, mut at, mut found) = (0, 1, 0);
    for period in PERIODS.into_iter().cycle() {
        if found > 0 {
            let (index, value) = control(period);
            guest.machine.wrmsr(index, value, None).expect("a control of IBS");
            from = at;
        }
        let period = if found > 0 { period } else { PERIODS[0] };
        let Some(expected) = tagged(&steps, event, from, period) else { return found };
        // Beyond it: nothing else is sampled while this sample is valid.
        let instructions = period as usize + 9;
        if at + instructions >= steps.len() {
            return found;
        }
        assert_eq!(guest::advance(&mut guest, instructions as u64), None);
        at += instructions;
        let what = format!("sample {found} of {} on {}", ["fetches", "ops"][event], profile.name);
        check(&mut guest, event, &steps[expected], &what);
        found += 1;
    }
    found
}

fn check(guest: &mut Guest, event: usize, step: &Step, what: &str) {
    let mut read = |index| guest.machine.rdmsr(index, None).expect("a register of IBS");
    if event == 0 {
        assert!(IbsFetchCtl(read(IbsFetchCtl::INDEX)).valid(), "{what}");
        assert_eq!(read(IbsFetchLinAd::INDEX), step.rip, "{what}");
        return;
    }
    assert!(IbsOpCtl(read(IbsOpCtl::INDEX)).valid(), "{what}");
    assert_eq!(read(IbsOpRip::INDEX), step.rip, "{what}");
    let data = IbsOpData(read(IbsOpData::INDEX));
    let is_branch = matches!(step.code, [0x74 | 0x75 | 0xE8 | 0xEB | 0xC3, _] | [0xFF, 0xD1]);
    let taken = is_branch && !(matches!(step.code[0], 0x74 | 0x75) && step.next == step.rip + 2);
    assert_eq!((data.branch(), data.taken()), (is_branch, taken), "{what}");
    assert_eq!(data.returned(), step.code[0] == 0xC3, "{what}");
    assert_eq!(read(IbsBrTarget::INDEX), if taken { step.next } else { 0 }, "{what}");
    let access = IbsOpData3(read(IbsOpData3::INDEX));
    let address = guest::address(&step.code, &step.before);
    assert_eq!(access.load() || access.store(), address.is_some(), "{what}");
    assert_eq!(read(IbsDcLinAd::INDEX), address.unwrap_or_default(), "{what}");
}

#[test]
fn ibs_samples_what_retires_behind_the_full_count() {
    let profiles = Architecture::X86_64.profiles().map(|profile| profile.clone().with_ibs());
    for profile in profiles.filter(Profile::has_ibs) {
        for counter in [(fetches as Control, 0), (ops, 1)] {
            let found = samples(&profile, counter);
            assert!(found >= 15, "{found} samples on {}", profile.name);
        }
    }
}
