//! A small profiler that distrusts its PMU. It samples instructions, compares the sampled counter with one that counts
//! the same, and says what it finds wrong: with a PMU in order nothing, with faults on command what the word
//! `find=NAME[,NAME]` of the command line names.
#![no_std]
#![no_main]

use core::{
    fmt,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use guest_images_aarch64::{
    counting::{count, program, run},
    overflow::interrupts_to,
    pmu::{COUNTER_MAX, PMINTENSET, PMOVSCLR, counter, event, need_event, read, write},
};
use guest_runtime::pace::{Increments, Oddity, Pace};
use guest_runtime::{
    Frame, boot, check, counting_loop, gic, guest_test, println, protocol::mmio::PMU_INTID, with_interrupts,
};

guest_runtime::image!();

/// Instructions between two samples.
const PERIOD: u64 = 20_000;
/// Iterations between two looks at the counters: a few thousand instructions.
const CHUNK: u64 = 1_000;
/// How many looks.
const LOOKS: u32 = 400;
/// Instructions within which an interrupt comes, and by which two counters of the same may differ.
const SOON: u64 = 1_500;
/// Instructions behind an overflow after which its interrupt is taken for lost.
const LOST: u64 = 9_000;
/// Highest bit of a counter: clear when it has passed its top.
const TOP: u64 = 1 << 31;
/// Where the other counter begins: it does not overflow.
const FAR: u64 = 1 << 20;

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    LatePmi,
    LostPmi,
    SpuriousPmi,
    FrozenCounter,
    JumpedCounter,
    LostCounts,
    WrongStatus,
}

impl Finding {
    const ALL: [(Self, &'static str); 7] = [
        (Self::LatePmi, "late-pmi"),
        (Self::LostPmi, "lost-pmi"),
        (Self::SpuriousPmi, "spurious-pmi"),
        (Self::FrozenCounter, "frozen-counter"),
        (Self::JumpedCounter, "jumped-counter"),
        (Self::LostCounts, "lost-counts"),
        (Self::WrongStatus, "wrong-status"),
    ];

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Findings, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Findings(u32);

impl fmt::Debug for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Finding::ALL.into_iter().filter(|(finding, _)| self.0 & finding.bit() != 0);
        f.debug_list().entries(found.map(|(_, name)| name)).finish()
    }
}

static FOUND: AtomicU32 = AtomicU32::new(0);
static SAMPLES: AtomicU64 = AtomicU64::new(0);

fn find(finding: Finding) {
    FOUND.fetch_or(finding.bit(), Relaxed);
}

fn reload() {
    write(counter(0), PERIOD.wrapping_neg() & COUNTER_MAX);
}

/// The interrupt: a sample if counter 0 has overflowed.
fn sample(_: &mut Frame) {
    let (flags, now) = (read(PMOVSCLR), count(0));
    if flags & 1 != 0 && now & TOP == 0 {
        if now > SOON {
            find(Finding::LatePmi);
        }
        SAMPLES.fetch_add(1, Relaxed);
        reload();
        write(PMOVSCLR, 1);
    } else {
        find(Finding::SpuriousPmi);
    }
    gic::end(PMU_INTID);
}

/// Looks at the counters between the interrupts.
fn watch() {
    let look = || (SAMPLES.load(Relaxed), count(0), count(1), SAMPLES.load(Relaxed));
    let (mut before, mut pace) = (look(), Pace::default());
    for _ in 0..LOOKS {
        counting_loop(CHUNK);
        let now = look();
        if before.3 == now.0 && now.0 == now.3 && before.0 == before.3 {
            let looks = ((before.1, before.2), (now.1, now.2));
            let increments = Increments::between(looks.0, looks.1, COUNTER_MAX, SOON);
            pace = pace.follow(increments, |oddity| {
                find(match oddity {
                    Oddity::Frozen => Finding::FrozenCounter,
                    Oddity::Jumped => Finding::JumpedCounter,
                    Oddity::Lost => Finding::LostCounts,
                });
            });
        }
        if now.1 & TOP == 0 && now.1 > LOST {
            find(Finding::LostPmi);
            reload();
            write(PMOVSCLR, 1);
        }
        let wrong = read(PMOVSCLR) & !1;
        if wrong != 0 {
            find(Finding::WrongStatus);
            write(PMOVSCLR, wrong);
        }
        before = look();
    }
}

/// What is wrong with the PMU is found, and nothing else.
#[guest_test(needs(pmu, exact))]
fn findings_are_those_expected() {
    need_event(event::INST_RETIRED);
    let wanted = boot::option("find").unwrap_or("");
    let named = |name: &str| wanted.split(',').any(|wanted| wanted == name);
    let expected =
        Finding::ALL.iter().filter(|(_, name)| named(name)).fold(0, |all, (one, _)| all | one.bit());
    interrupts_to(sample);
    program(0, event::INST_RETIRED);
    program(1, event::INST_RETIRED);
    write(counter(1), FAR);
    reload();
    write(PMINTENSET, 1);
    with_interrupts(|| run(watch));
    let found = Findings(FOUND.load(Relaxed));
    println!("# {} samples, findings {found:?}", SAMPLES.load(Relaxed));
    let expected = Findings(expected);
    check!(found == expected, "{found:?} instead of {expected:?}");
    check!(SAMPLES.load(Relaxed) > 20, "few samples");
}
