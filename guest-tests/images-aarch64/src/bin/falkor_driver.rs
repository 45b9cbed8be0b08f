//! A driver for the matrix, as the public review of Linux' driver wants it: which events it takes, what it programs,
//! and that each defect which the review found can be seen from its counts.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_images_aarch64::{
    checks,
    driver::{Counted, Defect, Driver, Kind, Refusal},
    falkor::{EN, Event, MatrixRegister as Register, PMRESR0, REGIONS, resr},
    overflow::{arrivals, interrupts_to, note_and_clear},
    pmu::{
        COUNTER_MAX, PMCNTENSET, PMCR, PMINTENSET, PMOVSCLR, counter, event, event_type, filter, pmcr, read,
        write,
    },
};
use guest_runtime::{
    Frame, LOOP_INSTRUCTIONS, at_el0, check, check_eq, counters, counting_loop, fail, guest_test,
    power_on_value, set_interrupts, skip,
};

guest_runtime::image!();

const ITERATIONS: u64 = 1_000;
/// What the loop counts at EL0, at least; going there and back adds a few instructions.
const LOOP: u64 = ITERATIONS * LOOP_INSTRUCTIONS;

/// Numbers as user space writes them. Those with a meaning are synthetic.
const EVERY_INSTRUCTION: u32 = 0x1_0FF6;
const BASIC_INSTRUCTIONS: u32 = 0x1_0000;
const EVERY_CYCLE: u32 = 0x1_07F7;

fn raw(config: u32) -> Result<Counted, Refusal> {
    Counted::map(Kind::Raw, config)
}

/// The event of a number that exists.
#[track_caller]
fn known(config: u32) -> Counted {
    match raw(config) {
        Ok(counted) => counted,
        Err(refusal) => fail(format_args!("{config:#x} is refused: {refusal:?}")),
    }
}

/// Allocates and enables an event that counts from zero.
#[track_caller]
fn add(driver: &mut Driver, config: u32, filter: u64) -> u32 {
    match driver.allocate(known(config)) {
        Ok(n) => {
            driver.enable(n, filter, 0);
            n
        }
        Err(refusal) => fail(format_args!("{config:#x} is refused: {refusal:?}")),
    }
}

/// Lets the counters run over the loop at EL0.
fn work(driver: &Driver) {
    driver.start();
    at_el0(|| counting_loop(ITERATIONS));
    driver.stop();
}

/// One event alone: what selects it, and its region's register.
#[track_caller]
fn encodes(config: u32, selector: u64, region: u32, value: u64) {
    let mut driver = Driver::reset(Defect::None);
    let n = add(&mut driver, config, 0);
    check_eq!((read(event_type(n)), read(resr(region))), (selector, value));
    for other in (0..REGIONS).filter(|other| *other != region) {
        check_eq!(read(resr(other)), 0, "region {other}");
    }
    check_eq!((read(PMCNTENSET), read(PMINTENSET)), (1 << n, 1 << n));
    driver.disable(n);
    check_eq!((read(resr(region)), read(PMCNTENSET), read(PMINTENSET)), (0, 0, 0), "disabled");
}

/// A second event beside a first one that has a counter, and in one group with it.
#[track_caller]
fn beside(first: u32, second: u32, expected: Result<u32, Refusal>) {
    let mut driver = Driver::reset(Defect::None);
    add(&mut driver, first, 0);
    check_eq!(driver.allocate(known(second)), expected, "on one CPU");
    let group = Driver::validate(&[known(first), known(second)]);
    check_eq!(group, expected.map(|_| ()), "in one group");
}

checks! {
    "EVENT" - @ PMRESR0 {
        "0x10203_is_region_0_group_3" => |_| encodes(0x1_0203, 0xDB, 0, 0x8000_0000_2000_0000);
        "0x11300_is_region_1_group_0" => |_| encodes(0x1_1300, 0xE0, 1, 0x8000_0000_0000_0030);
        "0x12411_is_region_2_group_1" => |_| encodes(0x1_2411, 0xE9, 2, 0x8000_0000_0000_4100);
        "0x12517_is_region_2_group_7" => |_| encodes(0x1_2517, 0xEF, 2, 0xD100_0000_0000_0000);
        "0x10000_is_code_0" => |_| encodes(0x1_0000, 0xD8, 0, 0x8000_0000_0000_0000);
        "0x107F7_is_the_last_of_group_7" => |_| encodes(0x1_07F7, 0xDF, 0, 0xFF00_0000_0000_0000);
        "region_3_is_refused" => |_| check_eq!(raw(0x1_3000), Err(Refusal::NoEntry));
        "group_8_is_refused" => |_| check_eq!(raw(0x1_0008), Err(Refusal::NoEntry));
        "group_15_is_refused" => |_| check_eq!(raw(0x1_210F), Err(Refusal::NoEntry));
        "code_0x80_of_group_7_is_refused" => |_| check_eq!(raw(0x1_0807), Err(Refusal::NoEntry));
        "bits_above_P_are_refused" => |_| check_eq!(raw(0x3_0203), Err(Refusal::NoEntry));
        "bits_above_evtCount_are_refused" => |_| check_eq!(raw(0x400), Err(Refusal::NoEntry));
        "without_P_is_a_common_event" => |_| check_eq!(raw(0x08), Ok(Counted::Common(event::INST_RETIRED)));
        "of_perf_is_never_in_the_matrix" => |_| {
            check_eq!(Counted::map(Kind::Hardware, 1), Ok(Counted::Common(event::INST_RETIRED)));
            check_eq!(Counted::map(Kind::Hardware, 0x1_0203), Err(Refusal::NoEntry));
        };
    }
    "PAIR" - @ PMRESR0 {
        "of_one_group_with_two_codes_is_refused" => |_| beside(0x1_0FF6, 0x1_0206, Err(Refusal::Again));
        "with_code_0_is_refused_too" => |_| beside(0x1_0000, 0x1_0010, Err(Refusal::Again));
        "in_group_7_is_refused" => |_| beside(0x1_07F7, 0x1_0017, Err(Refusal::Again));
        "of_equal_codes_shares" => |_| beside(0x1_0FF6, 0x1_0FF6, Ok(1));
        "of_two_groups_fits" => |_| beside(0x1_0FF6, 0x1_0FF5, Ok(1));
        "of_two_regions_fits" => |_| beside(0x1_0FF6, 0x1_1026, Ok(1));
        "with_a_common_event_fits" => |_| beside(0x1_0FF6, 0x08, Ok(1));
        "with_a_selector_as_common_event_fits" => |_| beside(0x1_0FF6, 0xDE, Ok(1));
    }
}

/// A refused event goes when the one in its way has gone.
#[guest_test(needs(falkor))]
fn a_conflict_ends_with_its_cause() {
    let mut driver = Driver::reset(Defect::None);
    let n = add(&mut driver, EVERY_INSTRUCTION, 0);
    let other = known(0x1_0206);
    check_eq!(driver.allocate(other), Err(Refusal::Again));
    driver.disable(n);
    driver.free(n);
    check_eq!(driver.allocate(other), Ok(n));
}

/// No more events than counters.
#[guest_test(needs(falkor))]
fn counters_run_out() {
    let mut driver = Driver::reset(Defect::None);
    for n in 0..counters() {
        check_eq!(driver.allocate(known(0x1_1000 + n % 8)), Ok(n));
    }
    check_eq!(driver.allocate(known(0x08)), Err(Refusal::Again));
    driver.free(1);
    check_eq!(driver.allocate(known(0x08)), Ok(1));
}

/// What is refused programs nothing.
#[guest_test(needs(falkor))]
fn a_refusal_changes_nothing() {
    let mut driver = Driver::reset(Defect::None);
    let n = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    let before = (read(resr(0)), read(PMCNTENSET));
    check_eq!(driver.allocate(known(0x1_0206)), Err(Refusal::Again));
    check_eq!((read(resr(0)), read(PMCNTENSET)), before);
    work(&driver);
    check!(driver.read(n) >= LOOP);
}

/// All that it allocates counts at once, each its own event.
#[guest_test(needs(falkor, vpmu))]
fn everything_at_once() {
    let mut driver = Driver::reset(Defect::None);
    let [all, user, kernel] =
        [0, filter::P, filter::U].map(|filter| add(&mut driver, EVERY_INSTRUCTION, filter));
    let cycles = add(&mut driver, EVERY_CYCLE, filter::P);
    let branches = add(&mut driver, 0x1_0600, filter::P);
    let common = add(&mut driver, event::INST_RETIRED as u32, filter::P);
    work(&driver);
    let count = |n| driver.read(n);
    check_eq!(count(user) + count(kernel), count(all), "levels");
    check_eq!(count(common), count(user), "instructions at EL0");
    check!(count(cycles) > 0, "cycles at EL0");
    check_eq!(count(branches), ITERATIONS, "branches at EL0");
}

/// A disabled event keeps its count, and its neighbours go on.
#[guest_test(needs(falkor))]
fn disabling_stops_one_event() {
    let mut driver = Driver::reset(Defect::None);
    let gone = add(&mut driver, EVERY_CYCLE, filter::P);
    let stays = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    work(&driver);
    let (at_end, so_far) = (driver.read(gone), driver.read(stays));
    driver.disable(gone);
    work(&driver);
    check_eq!(driver.read(gone), at_end, "disabled");
    check_eq!(driver.read(stays), 2 * so_far, "the other one, in the same region");
    check!(at_end > 0);
}

/// Two counters share a code; one goes, the other counts on.
#[guest_test(needs(falkor))]
fn a_shared_code_stays_while_it_is_used() {
    let mut driver = Driver::reset(Defect::None);
    let gone = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    let stays = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    driver.disable(gone);
    driver.free(gone);
    work(&driver);
    check_eq!(driver.read(gone), 0);
    check!(driver.read(stays) >= LOOP);
    driver.disable(stays);
    check_eq!(read(resr(0)), 0, "no event is left");
}

/// An event of code 0 counts on when the other of its region goes.
#[guest_test(needs(falkor, vpmu))]
fn code_0_stays_while_it_is_used() {
    let mut driver = Driver::reset(Defect::None);
    let stays = add(&mut driver, BASIC_INSTRUCTIONS, filter::P);
    let gone = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    driver.disable(gone);
    check_eq!(read(resr(0)), EN);
    work(&driver);
    check!(driver.read(stays) >= LOOP);
}

/// Sampling as perf does it: the handler reads the flags, stops, arms, starts.
#[guest_test(needs(falkor, exact))]
fn sampling() {
    const PERIOD: u64 = 1_000;
    static TOTAL: AtomicU64 = AtomicU64::new(0);
    fn sample(frame: &mut Frame) {
        write(PMCR, pmcr::LC);
        TOTAL.fetch_add(PERIOD + read(counter(0)), Relaxed);
        write(counter(0), COUNTER_MAX + 1 - PERIOD);
        note_and_clear(frame);
        write(PMCR, pmcr::LC | pmcr::E);
    }
    TOTAL.store(0, Relaxed);
    interrupts_to(sample);
    let mut driver = Driver::reset(Defect::None);
    check_eq!(driver.allocate(known(EVERY_INSTRUCTION)), Ok(0));
    driver.enable(0, filter::P, COUNTER_MAX + 1 - PERIOD);
    set_interrupts(true);
    work(&driver);
    set_interrupts(false);
    let rest = read(counter(0)).wrapping_sub(COUNTER_MAX + 1 - PERIOD) & COUNTER_MAX;
    check_eq!(arrivals(), LOOP / PERIOD);
    check!((LOOP..LOOP + 100).contains(&(TOTAL.load(Relaxed) + rest)), "{} and {rest}", TOTAL.load(Relaxed));
}

/// The driver clears what power-on left: nothing that it did not ask for counts.
#[guest_test(needs(falkor))]
fn reset_clears_what_power_on_left() {
    let _ = Driver::reset(Defect::NoReset);
    let mut driver = Driver::reset(Defect::None);
    (0..REGIONS).for_each(|region| check_eq!(read(resr(region)), 0, "PMRESR{region}"));
    let n = add(&mut driver, EVERY_INSTRUCTION, 0);
    check_eq!(read(resr(0)), EN | 0xFF << 48, "counter {n}");
}

/// A driver that does not clear them counts wrong events, where power-on leaves random codes.
#[guest_test(needs(falkor))]
fn defect_no_reset_is_seen() {
    let left = power_on_value(resr(0)).unwrap_or(0);
    if left == 0 {
        skip!("power-on left no codes here");
    }
    let mut driver = Driver::reset(Defect::NoReset);
    add(&mut driver, EVERY_INSTRUCTION, 0);
    check!(read(resr(0)) != EN | 0xFF << 48, "the other groups are {left:#x}");
}

/// A disable that enables: the counter advances after it.
#[guest_test(needs(falkor))]
fn defect_disable_enables_is_seen() {
    let mut driver = Driver::reset(Defect::DisableEnables);
    let n = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    work(&driver);
    let so_far = driver.read(n);
    driver.disable(n);
    check_eq!(read(PMCNTENSET), 1 << n, "the counter is still enabled");
    work(&driver);
    check_eq!(driver.read(n), 2 * so_far);
}

/// No use count: disabling one of two events with one code stops the other.
#[guest_test(needs(falkor))]
fn defect_no_use_count_is_seen() {
    let mut driver = Driver::reset(Defect::NoUseCount);
    let gone = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    let stays = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    driver.disable(gone);
    work(&driver);
    check_eq!(driver.read(stays), 0, "stopped by mistake");
}

/// Eight bits for group 7: disabling its event stops the region.
#[guest_test(needs(falkor))]
fn defect_clears_en_is_seen() {
    let mut driver = Driver::reset(Defect::ClearsEn);
    let gone = add(&mut driver, EVERY_CYCLE, filter::P);
    let stays = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    driver.disable(gone);
    check_eq!(read(resr(0)) & EN, 0);
    work(&driver);
    check_eq!((driver.read(stays), read(PMOVSCLR)), (0, 0), "stopped by mistake");
}

/// Code 0 taken for unused: disabling another event of the region stops it.
#[guest_test(needs(falkor, vpmu))]
fn defect_code_zero_is_unused_is_seen() {
    let mut driver = Driver::reset(Defect::CodeZeroIsUnused);
    let stays = add(&mut driver, BASIC_INSTRUCTIONS, filter::P);
    let gone = add(&mut driver, EVERY_INSTRUCTION, filter::P);
    driver.disable(gone);
    check_eq!(read(resr(0)), 0);
    work(&driver);
    check_eq!(driver.read(stays), 0, "stopped by mistake");
}

/// Every pair of places: fits unless it is one group with two codes.
#[guest_test(needs(falkor))]
fn every_pair_of_places() {
    let place = |n: u32, code| Counted::Matrix(Event { region: n / 8, code, group: n % 8 });
    for (one, other) in (0..24).flat_map(|one| (0..24).map(move |other| (one, other))) {
        check_eq!(place(one, 1).fits(place(other, 2)), one != other, "{one} and {other}");
        check!(place(one, 1).fits(place(other, 1)), "{one} and {other}, one code");
    }
}
