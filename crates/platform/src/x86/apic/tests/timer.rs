//! APIC timer.

use super::*;
use crate::x86::apic::spec::MSR_TSC_DEADLINE;

const PERIODIC: u32 = 1 << 17;
const DEADLINE: u32 = 2 << 17;
/// Divide by 1.
const BY_1: u32 = 0xB;

fn at(nanoseconds: u64) -> GuestTime {
    NOW + nanoseconds
}

#[test]
fn one_shot_counts_down_and_fires_once() {
    let mut apic = enabled();
    apic.set(LVT_TIMER, 0x40);
    apic.set(DIVIDE, BY_1);
    apic.set(INITIAL, 1000);
    assert_eq!(apic.next_deadline(), Some(at(1000)));
    assert_eq!(apic.get(CURRENT), 1000);
    assert_eq!(apic.get_at(CURRENT, at(400)), 600);
    assert_eq!(apic.get_at(CURRENT, at(999)), 1);
    assert_eq!(apic.accept_vector(), None);
    apic.advance(at(1000));
    assert_eq!(apic.accept_vector(), Some(0x40));
    assert_eq!((apic.get_at(CURRENT, at(5000)), apic.next_deadline()), (0, None));
    assert_eq!(apic.get(INITIAL), 1000, "the initial count stays readable");
}

#[test]
fn every_divider_stretches_the_count() {
    let table = [(0, 2), (1, 4), (2, 8), (3, 16), (8, 32), (9, 64), (0xA, 128), (0xB, 1)];
    for (divide, factor) in table {
        let mut apic = enabled();
        apic.set(LVT_TIMER, 0x40);
        apic.set(DIVIDE, divide);
        apic.set(INITIAL, 100);
        assert_eq!(apic.next_deadline(), Some(at(100 * factor)), "divide configuration {divide:#x}");
        assert_eq!(apic.get_at(CURRENT, at(30 * factor)), 70);
        assert_eq!(apic.get_at(CURRENT, at(30 * factor + 1)), if factor == 1 { 69 } else { 70 });
    }
}

#[test]
fn changing_the_divider_goes_on_from_the_current_count() {
    let mut apic = enabled();
    apic.set(LVT_TIMER, 0x40);
    apic.set(DIVIDE, BY_1);
    apic.set(INITIAL, 100);
    apic.set_at(DIVIDE, 0, at(60));
    assert_eq!(apic.get_at(CURRENT, at(60)), 40);
    assert_eq!(apic.next_deadline(), Some(at(60 + 80)));
}

#[test]
fn periodic_reloads_without_drift() {
    // 24 MHz crystal: a period of 1000 ticks is 41666.67 ns, which must not be rounded every time.
    let mut apic = with(ApicConfig { timer_hz: 24_000_000, ..ApicConfig::default() });
    apic.set(SVR, 0x1FF);
    apic.set(DIVIDE, BY_1);
    apic.set(LVT_TIMER, PERIODIC | 0x40);
    apic.set(INITIAL, 1000);
    for period in 1..=24_000_u64 {
        let due = apic.next_deadline().unwrap();
        assert_eq!(due, at((period * 1000 * 1_000_000_000).div_ceil(24_000_000)));
        apic.advance(GuestTime(due.0 - 1));
        assert_eq!(apic.pending().vector, None, "period {period}");
        apic.advance(due);
        assert_eq!(apic.accept_vector(), Some(0x40));
        apic.set_at(EOI, 0, due);
        assert_eq!(apic.get_at(CURRENT, due), 1000);
    }
    assert_eq!(apic.next_deadline().unwrap().since(NOW), 1_000_041_667, "24000 periods are one second");
}

#[test]
fn missed_periods_merge_and_keep_the_phase() {
    let mut apic = enabled();
    apic.set(DIVIDE, BY_1);
    apic.set(LVT_TIMER, PERIODIC | 0x40);
    apic.set(INITIAL, 100);
    apic.advance(at(1050));
    assert_eq!(apic.accept_vector(), Some(0x40));
    apic.set_at(EOI, 0, at(1050));
    assert_eq!(apic.accept_vector(), None);
    assert_eq!(apic.next_deadline(), Some(at(1100)));
}

#[test]
fn switching_between_one_shot_and_periodic_keeps_the_count() {
    let mut apic = enabled();
    apic.set(DIVIDE, BY_1);
    apic.set(LVT_TIMER, 0x40);
    apic.set(INITIAL, 100);
    apic.set_at(LVT_TIMER, PERIODIC | 0x40, at(50));
    assert_eq!(apic.get_at(CURRENT, at(50)), 50);
    assert_eq!(apic.get_at(CURRENT, at(120)), 80, "reloaded at 100");
    apic.set_at(LVT_TIMER, 0x40, at(150));
    assert_eq!(apic.get_at(CURRENT, at(150)), 50);
    assert_eq!(apic.get_at(CURRENT, at(250)), 0);
    apic.set_at(LVT_TIMER, PERIODIC | 0x40, at(260));
    assert_eq!(apic.get_at(CURRENT, at(260)), 0, "a timer that ran out stays at zero");
}

#[test]
fn a_masked_timer_counts_silently() {
    let mut apic = enabled();
    apic.set(DIVIDE, BY_1);
    apic.set(LVT_TIMER, MASKED | PERIODIC | 0x40);
    apic.set(INITIAL, 100);
    assert_eq!(apic.next_deadline(), None);
    assert_eq!(apic.get_at(CURRENT, at(130)), 70);
    apic.set_at(LVT_TIMER, PERIODIC | 0x40, at(150));
    assert_eq!((apic.pending().vector, apic.next_deadline()), (None, Some(at(200))));
}

#[test]
fn writing_zero_stops_the_timer() {
    let mut apic = enabled();
    apic.set(LVT_TIMER, 0x40);
    apic.set(INITIAL, 100);
    apic.set_at(INITIAL, 0, at(10));
    assert_eq!((apic.next_deadline(), apic.get_at(CURRENT, at(10))), (None, 0));
    apic.advance(at(1_000_000));
    assert_eq!(apic.pending().vector, None);
}

#[test]
fn an_access_after_the_deadline_sees_the_interrupt() {
    let mut apic = enabled();
    apic.set(DIVIDE, BY_1);
    apic.set(LVT_TIMER, 0x40);
    apic.set(INITIAL, 100);
    assert_eq!(apic.get_at(0x220, at(100)), 1, "IRR bit of vector 0x40 without an explicit advance");
}

fn deadline_apic() -> LocalApic {
    let mut apic = with(ApicConfig { tsc_deadline_hz: Some(2_000_000_000), ..ApicConfig::default() });
    apic.set(SVR, 0x1FF);
    apic.set(LVT_TIMER, DEADLINE | 0x40);
    apic
}

#[test]
fn tsc_deadline_fires_when_the_tsc_gets_there() {
    let mut apic = deadline_apic();
    apic.write_tsc_deadline(7_001, 5_000, NOW).unwrap();
    assert_eq!(apic.read_tsc_deadline(), Ok(7_001));
    assert_eq!(apic.next_deadline(), Some(at(1001)), "2001 cycles at 2 GHz, rounded up");
    assert_eq!(apic.get(CURRENT), 0);
    apic.advance(at(1000));
    assert_eq!(apic.pending().vector, None);
    apic.advance(at(1001));
    assert_eq!(apic.accept_vector(), Some(0x40));
    assert_eq!((apic.read_tsc_deadline(), apic.next_deadline()), (Ok(0), None));
}

#[test]
fn tsc_deadline_in_the_past_fires_at_once_and_zero_disarms() {
    let mut apic = deadline_apic();
    apic.write_tsc_deadline(100, 5_000, NOW).unwrap();
    assert_eq!(apic.accept_vector(), Some(0x40));
    apic.write_tsc_deadline(9_000, 5_000, NOW).unwrap();
    apic.write_tsc_deadline(0, 5_000, NOW).unwrap();
    assert_eq!(apic.next_deadline(), None);
}

#[test]
fn tsc_deadline_belongs_to_its_mode_and_to_its_cpuid_bit() {
    let mut apic = deadline_apic();
    apic.set(INITIAL, 100);
    assert_eq!((apic.get(INITIAL), apic.next_deadline()), (0, None), "count writes are ignored");
    apic.write_tsc_deadline(9_000, 5_000, NOW).unwrap();
    apic.set(LVT_TIMER, DEADLINE | 0x41);
    assert_eq!(apic.read_tsc_deadline(), Ok(9_000), "another vector does not disarm");
    apic.set(LVT_TIMER, 0x40);
    assert_eq!((apic.read_tsc_deadline(), apic.next_deadline()), (Ok(0), None), "leaving disarms");
    apic.write_tsc_deadline(9_000, 5_000, NOW).unwrap();
    assert_eq!(apic.next_deadline(), None, "ignored in one-shot mode");
    assert_eq!(enabled().read_tsc_deadline(), Err(GeneralProtection));
    assert_eq!(enabled().write_tsc_deadline(1, 0, NOW), Err(GeneralProtection));
    assert!(!LocalApic::owns_msr(MSR_TSC_DEADLINE));
}

#[test]
fn a_deadline_after_the_end_of_time_does_not_wrap() {
    let mut apic = deadline_apic();
    apic.write_tsc_deadline(u64::MAX, 0, GuestTime(u64::MAX - 5)).unwrap();
    assert_eq!(apic.next_deadline(), Some(GuestTime(u64::MAX)));
}
