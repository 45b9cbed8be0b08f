//! A small profiler that distrusts its PMU. It samples instructions and looks at metrics, branch records and PEBS
//! records, and says what it finds wrong: with a PMU in order nothing, with faults on command what the word
//! `find=NAME[,NAME]` of the command line names.
#![no_std]
#![no_main]

use core::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
};

use guest_images::{
    amd,
    debug_store::DebugStore,
    msr::{
        COUNTER_MAX, DEBUGCTL, DS_AREA, GLOBAL_CTRL, GLOBAL_STATUS, PEBS_DATA_CFG, PEBS_ENABLE,
        PERF_CAPABILITIES, PERF_METRICS, PERFEVTSEL0, PMC0, STATUS_RESET, event, global,
        select::{ALWAYS, INT},
    },
    pmi,
    pmu::{count_metrics, has_arch_lbr, has_debug_store, preset, program, read, write},
};
use guest_runtime::pace::{Increments, Oddity, Pace};
use guest_runtime::{Frame, PerfMon, apic, boot, check, cpu, cpuid, guest_test, println, rdmsr, ring3_loop};

guest_runtime::image!();

/// Instructions between two samples.
const PERIOD: u64 = 20_000;
/// Iterations between two looks at the counters: a few thousand instructions.
const CHUNK: u64 = 1_000;
/// How many looks.
const LOOKS: u32 = 200;
/// Instructions within which an interrupt comes, and by which two counters of the same may differ.
const SOON: u64 = 1_500;
/// Instructions behind an overflow after which its interrupt is taken for lost.
const LOST: u64 = 9_000;
/// Highest bit of a counter: clear when it has passed its top.
const TOP: u64 = 1 << 47;

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    LatePmi,
    LostPmi,
    SpuriousNmi,
    FrozenCounter,
    JumpedCounter,
    LostCounts,
    WrongStatus,
    StaleMetrics,
    MissingBranches,
    TruncatedRecord,
}

impl Finding {
    const ALL: [Self; 10] = [
        Self::LatePmi,
        Self::LostPmi,
        Self::SpuriousNmi,
        Self::FrozenCounter,
        Self::JumpedCounter,
        Self::LostCounts,
        Self::WrongStatus,
        Self::StaleMetrics,
        Self::MissingBranches,
        Self::TruncatedRecord,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::LatePmi => "late-pmi",
            Self::LostPmi => "lost-pmi",
            Self::SpuriousNmi => "spurious-nmi",
            Self::FrozenCounter => "frozen-counter",
            Self::JumpedCounter => "jumped-counter",
            Self::LostCounts => "lost-counts",
            Self::WrongStatus => "wrong-status",
            Self::StaleMetrics => "stale-metrics",
            Self::MissingBranches => "missing-branches",
            Self::TruncatedRecord => "truncated-record",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Findings, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Findings(u32);

impl fmt::Debug for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Finding::ALL.into_iter().filter(|finding| self.0 & finding.bit() != 0);
        f.debug_list().entries(found.map(Finding::name)).finish()
    }
}

static FOUND: AtomicU32 = AtomicU32::new(0);
static SAMPLES: AtomicU64 = AtomicU64::new(0);
static IS_AMD: AtomicBool = AtomicBool::new(false);

fn find(finding: Finding) {
    FOUND.fetch_or(finding.bit(), Relaxed);
}

/// Registers of the vendor's counters 0 (sampled) and 1 (counts the same and is never touched).
fn is_amd() -> bool {
    IS_AMD.load(Relaxed)
}

fn counter(n: u32) -> u32 {
    if is_amd() { amd::ctr(n) } else { PMC0 + n }
}

/// The status register and the one that clears it, where there are some.
fn status_registers() -> Option<(u32, u32)> {
    match (is_amd(), amd::has_global_registers()) {
        (true, true) => Some((amd::GLOBAL_STATUS, amd::STATUS_CLR)),
        (true, false) => None,
        (false, _) => Some((GLOBAL_STATUS, STATUS_RESET)),
    }
}

fn value(n: u32) -> u64 {
    rdmsr(counter(n)).unwrap_or(0)
}

fn status() -> Option<u64> {
    let (status, _) = status_registers()?;
    rdmsr(status).ok()
}

fn clear_status(bits: u64) {
    if let Some((_, clear)) = status_registers() {
        write(clear, bits);
    }
}

fn reload() {
    if is_amd() {
        write(counter(0), PERIOD.wrapping_neg() & COUNTER_MAX);
    } else {
        preset(0, PERIOD as u32);
    }
}

/// The interrupt: a sample if counter 0 has overflowed.
fn sample(frame: &mut Frame) {
    let now = value(0);
    let overflowed = now & TOP == 0 && status().is_none_or(|status| status & 1 != 0);
    if overflowed {
        if now > SOON {
            find(Finding::LatePmi);
        }
        SAMPLES.fetch_add(1, Relaxed);
        reload();
        clear_status(1);
    } else {
        find(Finding::SpuriousNmi);
    }
    pmi::arrived(frame);
    apic::set_lvtpc(apic::Pmi::Nmi);
}

/// Counters 0 and 1 count instructions, the first with interrupts.
fn start() {
    pmi::as_nmi_to(sample);
    if is_amd() {
        write(amd::ctr(1), 0);
        reload();
        amd::enable_globally();
        write(amd::ctl(1), amd::INSTRUCTIONS | ALWAYS);
        write(amd::ctl(0), amd::INSTRUCTIONS | ALWAYS | INT);
    } else {
        program(0, event::INSTRUCTIONS, ALWAYS | INT);
        program(1, event::INSTRUCTIONS, ALWAYS);
        reload();
        write(GLOBAL_CTRL, 0b11);
    }
}

fn stop() {
    if is_amd() {
        write(amd::ctl(0), 0);
        write(amd::ctl(1), 0);
    } else {
        write(GLOBAL_CTRL, 0);
        write(PERFEVTSEL0, 0);
    }
}

/// Samples, and looks at the counters between the interrupts.
fn sampling() {
    start();
    let look = || (SAMPLES.load(Relaxed), value(0), value(1), SAMPLES.load(Relaxed));
    let (mut before, mut pace) = (look(), Pace::default());
    for _ in 0..LOOKS {
        ring3_loop(CHUNK);
        let now = look();
        let undisturbed = before.3 == now.0 && now.0 == now.3 && before.0 == before.3;
        if undisturbed {
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
            clear_status(1);
            before = look();
            continue;
        }
        if let Some(wrong) = status().map(|status| status & !1).filter(|wrong| *wrong != 0) {
            find(Finding::WrongStatus);
            clear_status(wrong);
        }
        before = look();
    }
    stop();
}

/// PERF_METRICS is 0 after a write of 0, and adds up after slots have been counted.
fn metrics() {
    if is_amd() || PerfMon::discover().capabilities & 1 << 15 == 0 {
        return;
    }
    count_metrics();
    let before = read(PERF_METRICS);
    write(GLOBAL_CTRL, global::SLOTS_AND_METRICS);
    ring3_loop(CHUNK);
    write(GLOBAL_CTRL, 0);
    let after = read(PERF_METRICS);
    let sum: u64 = (0..4).map(|field| after >> (8 * field) & 0xFF).sum();
    if before == after || sum < 250 {
        find(Finding::StaleMetrics);
    }
}

/// After a loop of branches every record holds one.
fn branches() {
    const LBR_SELECT: u32 = 0x1C8;
    const LBR_CTL: u32 = 0x14CE;
    let (first, step, records) = if is_amd() {
        if cpuid(0x8000_0022, 0).eax & 2 == 0 {
            return;
        }
        write(amd::LBR_SELECT, 0);
        write(amd::DBG_EXTN_CFG, 1 << 6);
        ring3_loop(CHUNK);
        write(amd::DBG_EXTN_CFG, 0);
        (amd::SAMP_BR_FROM0, 2, 16)
    } else if has_arch_lbr() {
        write(LBR_CTL, 0x7F_0007);
        ring3_loop(CHUNK);
        write(LBR_CTL, 0);
        (0x1500, 1, 32)
    } else if rdmsr(LBR_SELECT).is_ok() {
        write(LBR_SELECT, 0);
        write(DEBUGCTL, 1);
        ring3_loop(CHUNK);
        write(DEBUGCTL, 0);
        (0x680, 1, 32)
    } else {
        return;
    };
    let missing = (0..records).filter(|n| read(first + step * n) == 0).count();
    if missing > 0 {
        println!("# {missing} of {records} branch records are empty");
        find(Finding::MissingBranches);
    }
}

type Buffer = DebugStore<1_024>;

static STORE: Buffer = Buffer::new();

/// Records follow one another by the sizes that they say.
fn records() {
    let adaptive = || read(PERF_CAPABILITIES) & 1 << 14 != 0;
    if is_amd() || !has_debug_store() || rdmsr(PEBS_ENABLE).is_err() || !adaptive() {
        return;
    }
    STORE.prepare(Buffer::BYTES, Buffer::BYTES + 1, 100);
    // Groups of registers, in adaptive records of counter 0.
    write(PEBS_DATA_CFG, 2);
    program(0, event::INSTRUCTIONS, ALWAYS | 1 << 34);
    preset(0, 100);
    write(PEBS_ENABLE, 1);
    write(GLOBAL_CTRL, 1);
    ring3_loop(CHUNK);
    write(GLOBAL_CTRL, 0);
    write(PEBS_ENABLE, 0);
    write(PEBS_DATA_CFG, 0);
    write(DS_AREA, 0);
    let filled = STORE.filled();
    let mut at = 0;
    while at < filled {
        let size = STORE.word(at as usize / 8) >> 48;
        at += size;
        if size != 176 || at > filled {
            println!("# a record of {size} bytes ends at {at} of {filled}");
            find(Finding::TruncatedRecord);
            return;
        }
    }
}

/// What is wrong with the PMU is found, and nothing else.
#[guest_test(needs(exact))]
fn findings_are_those_expected() {
    IS_AMD.store(cpu::is_amd(), Relaxed);
    let wanted = boot::option("find").unwrap_or("");
    let named = |finding: &Finding| wanted.split(',').any(|name| name == finding.name());
    let expected = Finding::ALL.iter().filter(|finding| named(finding)).fold(0, |all, one| all | one.bit());
    sampling();
    metrics();
    branches();
    records();
    let found = Findings(FOUND.load(Relaxed));
    println!("# {} samples, findings {found:?}", SAMPLES.load(Relaxed));
    let expected = Findings(expected);
    check!(found == expected, "{found:?} instead of {expected:?}");
}
