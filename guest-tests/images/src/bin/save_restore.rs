//! The VMM saves the whole vPMU, resets it and restores it, while it is in use. The guest must not
//! notice.
#![no_std]
#![no_main]

use guest_images::{
    msr::{
        A_PMC0, DEBUGCTL, FIXED_CTR_CTRL, FIXED_CTR0, FREEZE_PERFMON_ON_PMI, FRONTEND, GLOBAL_CTRL,
        GLOBAL_STATUS, INUSE, LD_LAT, MISC_ENABLE, OFFCORE_RSP_0, OFFCORE_RSP_1, PERF_CAPABILITIES,
        PERF_METRICS, PERFEVTSEL0, SLOTS, STATUS_SET, event,
        global::{self, CTR_FROZEN, SLOTS_AND_METRICS},
        select::{ALWAYS, EN, INT, USR},
    },
    pmi,
    pmu::{
        all_fixed, all_gp, count, count_fixed, count_metrics, fixed, gp, gp_counters, preset, program, read,
        status, window, write,
    },
    work::{busy, busy_in_ring3},
};
use guest_runtime::{apic, check, check_eq, control, guest_test, port, protocol, random::Random, rdmsr};

guest_runtime::image!();

#[track_caller]
fn save_restore() {
    check_eq!(control::save_restore(), Ok(()));
}

/// Calls `look` with each register of the PMU.
fn each_register(mut look: impl FnMut(u32)) {
    const ONCE: [u32; 13] = [
        FIXED_CTR_CTRL,
        GLOBAL_STATUS,
        GLOBAL_CTRL,
        INUSE,
        PERF_METRICS,
        PERF_CAPABILITIES,
        DEBUGCTL,
        MISC_ENABLE,
        OFFCORE_RSP_0,
        OFFCORE_RSP_1,
        LD_LAT,
        FRONTEND,
        0x390,
    ];
    ONCE.into_iter().for_each(&mut look);
    (0..gp_counters()).for_each(|n| look(A_PMC0 + n));
    (0..gp_counters()).for_each(|n| look(PERFEVTSEL0 + n));
    (0..4).for_each(|n| look(FIXED_CTR0 + n));
}

/// Fails the test unless every register reads the same after save and restore as before.
#[track_caller]
fn check_nothing_changes() {
    let mut before = [None; 64];
    let mut slots = before.iter_mut();
    each_register(|msr| {
        if let Some(slot) = slots.next() {
            *slot = rdmsr(msr).ok();
        }
    });
    save_restore();
    let mut expected = before.into_iter();
    each_register(|msr| check_eq!(rdmsr(msr).ok(), expected.next().flatten(), "register {msr:#x}"));
}

/// Registers of a PMU at rest are the same afterwards.
#[guest_test(needs(vpmu, pmu))]
fn idle_pmu() {
    check_nothing_changes();
}

/// Every register that can hold something holds it afterwards.
#[guest_test(needs(vpmu, metrics))]
fn programmed_registers() {
    let mut random = Random::new(0x5A7E);
    for _ in 0..5 {
        for n in 0..gp_counters() {
            write(PERFEVTSEL0 + n, random.bits() & 0xFF97_FFFF);
            write(A_PMC0 + n, random.bits() >> 16);
        }
        (0..4).for_each(|n| write(FIXED_CTR0 + n, random.bits() >> 16));
        write(FIXED_CTR_CTRL, random.bits() & 0xBBBB);
        write(PERF_METRICS, random.bits());
        write(STATUS_SET, random.bits() & (all_gp() | all_fixed() | global::METRICS));
        write(DEBUGCTL, FREEZE_PERFMON_ON_PMI);
        write(OFFCORE_RSP_0, random.bits() & 0x3F_FFFF_8FFF);
        write(OFFCORE_RSP_1, random.bits() & 0x3F_FFFF_8FFF);
        write(LD_LAT, random.bits() & 0xFFFF);
        write(FRONTEND, random.bits() & 0x7F_FF17);
        check_nothing_changes();
    }
    [OFFCORE_RSP_0, OFFCORE_RSP_1, LD_LAT, FRONTEND].into_iter().for_each(|msr| write(msr, 0));
}

/// MISC_ENABLE keeps what the guest changed.
#[guest_test(needs(vpmu, pmu))]
fn misc_enable() {
    let original = read(MISC_ENABLE);
    write(MISC_ENABLE, original ^ 1 << 18);
    check_nothing_changes();
    write(MISC_ENABLE, original);
}

/// Running counters lose nothing and go on.
#[guest_test(needs(vpmu, pmu))]
fn running_counters_go_on() {
    count(0, event::INSTRUCTIONS);
    program(1, event::INSTRUCTIONS, USR | EN);
    count_fixed(0b111);
    window(0b11 | global::fixed(0) | global::fixed(1) | global::fixed(2), || {
        let values = || [gp(0), gp(1), fixed(0), fixed(1), fixed(2)];
        for _ in 0..3 {
            busy_in_ring3();
            let before = values();
            save_restore();
            let after = values();
            check!(after.iter().zip(&before).all(|(after, before)| after >= before), "{before:?}, {after:?}");
            busy_in_ring3();
            let later = values();
            check!(later.iter().zip(&after).all(|(later, after)| later > after), "{after:?}, {later:?}");
        }
    });
}

/// A counter that was saved often agrees with itself: C0/00 and fixed counter 0 stay together.
#[guest_test(needs(vpmu, pmu))]
fn counters_stay_together() {
    count(0, event::INSTRUCTIONS);
    count(1, event::CYCLES);
    count_fixed(0b11);
    window(0b11 | global::fixed(0) | global::fixed(1), || {
        for _ in 0..20 {
            save_restore();
        }
        busy();
    });
    guest_images::counts::check_same("C0/00 and FIXED_CTR0", gp(0), fixed(0));
    guest_images::counts::check_same("3C/00 and FIXED_CTR1", gp(1), fixed(1));
}

/// Stopped counters stay stopped.
#[guest_test(needs(vpmu, pmu))]
fn stopped_counters_stay_stopped() {
    count(0, event::INSTRUCTIONS);
    count_fixed(0b1);
    window(1 | global::fixed(0), busy);
    let stopped = [gp(0), fixed(0)];
    save_restore();
    busy();
    check_eq!([gp(0), fixed(0)], stopped);
}

/// An overflow that has not been acknowledged is still in the status, and can be acknowledged.
#[guest_test(needs(vpmu, pmu))]
fn pending_status_is_kept() {
    count(0, event::INSTRUCTIONS);
    preset(0, 1_000);
    window(1, busy);
    check_eq!(status(), 1);
    save_restore();
    check_eq!(status(), 1);
    write(0x390, 1);
    check_eq!(status(), 0);
}

/// Frozen counters stay frozen until the guest thaws them.
#[guest_test(needs(vpmu, streamlined_freeze))]
fn freeze_is_kept() {
    pmi::as_nmi();
    write(DEBUGCTL, FREEZE_PERFMON_ON_PMI);
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    preset(0, 1_000);
    count(1, event::INSTRUCTIONS);
    write(GLOBAL_CTRL, 0b11);
    pmi::wait_for_one();
    let frozen = [gp(0), gp(1)];
    save_restore();
    busy();
    check_eq!((status(), [gp(0), gp(1)]), (CTR_FROZEN | 1, frozen));
    write(0x390, CTR_FROZEN | 1);
    busy();
    check!(gp(0) > frozen[0] && gp(1) > frozen[1], "still frozen");
}

/// Slots and metrics of a running pair go on from where they were.
#[guest_test(needs(vpmu, metrics))]
fn metrics_go_on() {
    count_metrics();
    window(SLOTS_AND_METRICS, || {
        for _ in 0..5 {
            busy();
            let before = read(SLOTS);
            save_restore();
            check!(read(SLOTS) >= before, "{} slots after {before}", read(SLOTS));
        }
    });
    let sum: u64 = [0, 8, 16, 24].into_iter().map(|shift| read(PERF_METRICS) >> shift & 0xFF).sum();
    check!((0xFC..=0x102).contains(&sum), "level 1 adds up to {sum}");
}

/// A long past behind the metrics is kept with its weight, beyond what the register shows.
#[guest_test(needs(vpmu, metrics))]
fn metrics_keep_their_weight() {
    count_metrics();
    write(SLOTS, 1 << 46);
    write(PERF_METRICS, 0x3F40_4040);
    window(SLOTS_AND_METRICS, busy);
    let before = (read(SLOTS), read(PERF_METRICS));
    save_restore();
    check_eq!((read(SLOTS), read(PERF_METRICS)), before);
    window(SLOTS_AND_METRICS, busy);
    // A brief run is far below 1/255 of 2^46 slots.
    check_eq!(read(PERF_METRICS) & 0xFFFF_FFFF, 0x3F40_4040);
}

/// An armed counter still raises its PMI.
#[guest_test(needs(vpmu, pmu))]
fn armed_pmi_still_fires() {
    pmi::as_nmi();
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    // A period longer than the save takes on any machine.
    preset(0, 5_000_000);
    write(GLOBAL_CTRL, 1);
    save_restore();
    pmi::wait_for(1);
    pmi::expect_no_more_than(1);
    check_eq!(status(), 1);
}

/// A PMI that was delivered is not delivered again.
#[guest_test(needs(vpmu, pmu))]
fn delivered_pmi_does_not_come_back() {
    pmi::as_nmi();
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    preset(0, 1_000);
    write(GLOBAL_CTRL, 1);
    pmi::wait_for_one();
    apic::set_lvtpc(apic::Pmi::Nmi);
    save_restore();
    pmi::expect_no_more_than(1);
}

/// LVTPC belongs to the local APIC and is not touched.
#[guest_test(needs(vpmu, pmu))]
fn lvtpc_is_not_touched() {
    for pmi in [apic::Pmi::Nmi, apic::Pmi::Vector(0x77), apic::Pmi::Masked] {
        apic::set_lvtpc(pmi);
        let before = apic::lvtpc();
        save_restore();
        check_eq!(apic::lvtpc(), before);
    }
}

/// The control port knows no other command and says so.
#[guest_test(needs(vpmu))]
fn unknown_command_is_refused() {
    for command in [0, 0x1000, u32::MAX] {
        port::write_u32(protocol::ports::CONTROL, command);
        let status = port::read_u32(protocol::ports::CONTROL);
        check_eq!(status, protocol::control::STATUS_UNKNOWN, "command {command:#x}");
    }
    save_restore();
}
