//! What one trapped access costs: ns per call of `read_msr`, `write_msr` and `rdpmc`.
//!
//! `cargo bench -p vpmu --bench access`. Two guests: one whose PMU is idle, and one that has all
//! eight general-purpose counters, all four fixed counters and PERF_METRICS running. The totals grow
//! before every call, so that nothing can be answered from the call before.

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime,
};
use std::hint::black_box;
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::source::ScriptedSource;
use vpmu::{Level, ReadOutcome, TopdownSlots, Vpmu, WriteOutcome, profile};

const PMC0: u32 = 0xC1;
const PERFEVTSEL0: u32 = 0x186;
const PERF_METRICS: u32 = 0x329;
const FIXED_CTR_CTRL: u32 = 0x38D;
const GLOBAL_STATUS: u32 = 0x38E;
const GLOBAL_CTRL: u32 = 0x38F;

struct Guest {
    pmu: Vpmu,
    source: ScriptedSource,
}

impl Guest {
    fn idle() -> Self {
        Self { pmu: Vpmu::new(profile::SAPPHIRE_RAPIDS), source: ScriptedSource::new() }
    }

    fn counting() -> Self {
        let mut guest = Self::idle();
        // Instructions, cycles, reference cycles, cache references and misses, branches and misses, slots.
        let codes = [0xC0, 0x3C, 0x13C, 0x4F2E, 0x412E, 0xC4, 0xC5, 0x1A4];
        for (n, code) in (0..).zip(codes) {
            guest.write(PERFEVTSEL0 + n, 0x43_0000 | code);
        }
        guest.write(FIXED_CTR_CTRL, 0xBBBB);
        guest.write(GLOBAL_CTRL, 0x0001_000F_0000_00FF);
        guest.run();
        assert_eq!(guest.pmu.active().count(), 8 + 4 + 8, "counters and metric accumulators");
        guest
    }

    fn write(&mut self, index: u32, value: u64) {
        let (outcome, _) =
            self.pmu.write_register(Level::Kernel, index, value, &mut self.source).into_parts();
        assert_eq!(outcome, WriteOutcome::Done);
    }

    /// A little guest work.
    fn run(&mut self) {
        self.source.add_user(Event::InstRetiredAny, 3);
        let fields = [3, 1, 1, 1, 1, 1, 1, 1];
        self.source.add_user_slots(TopdownSlots { slots: 6, fields });
    }
}

fn bench<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    start: &Guest,
    mut call: impl FnMut(&mut Guest) -> T,
) {
    let mut guest = Guest { pmu: start.pmu.clone(), source: start.source.clone() };
    group.bench_function(name, |b| {
        b.iter(|| {
            guest.run();
            black_box(call(black_box(&mut guest)))
        });
    });
}

fn accesses(c: &mut Criterion) {
    for (state, guest) in [("idle", Guest::idle()), ("8+4 counters", Guest::counting())] {
        let mut group = c.benchmark_group(state);
        let group = &mut group;
        bench(group, "guest work alone (to subtract)", &guest, |_| ());
        bench(group, "rdmsr PMC0", &guest, |g| g.pmu.read_register(Level::Kernel, PMC0, &mut g.source));
        bench(group, "rdmsr GLOBAL_STATUS", &guest, |g| {
            g.pmu.read_register(Level::Kernel, GLOBAL_STATUS, &mut g.source)
        });
        bench(group, "rdmsr PERF_METRICS", &guest, |g| {
            g.pmu.read_register(Level::Kernel, PERF_METRICS, &mut g.source)
        });
        bench(group, "rdmsr of no PMU register", &guest, |g| {
            g.pmu.read_register(Level::Kernel, 0x10, &mut g.source)
        });
        bench(group, "rdpmc PMC0", &guest, |g| g.pmu.rdpmc(0, RdpmcContext::RING0, &mut g.source));
        bench(group, "rdpmc FIXED_CTR3", &guest, |g| {
            g.pmu.rdpmc(0x4000_0003, RdpmcContext::RING0, &mut g.source)
        });
        bench(group, "rdpmc PERF_METRICS", &guest, |g| {
            g.pmu.rdpmc(0x2000_0000, RdpmcContext::RING0, &mut g.source)
        });
        bench(group, "wrmsr PMC0", &guest, |g| g.pmu.write_register(Level::Kernel, PMC0, 0, &mut g.source));
        let select = guest.pmu.clone().read_register(Level::Kernel, PERFEVTSEL0, &mut ScriptedSource::new());
        let select = if let (ReadOutcome::Value(value), _) = select.into_parts() { value } else { 0 };
        bench(group, "wrmsr PERFEVTSEL0, same event", &guest, |g| {
            g.pmu.write_register(Level::Kernel, PERFEVTSEL0, select, &mut g.source)
        });
        let mut other = 0;
        bench(group, "wrmsr PERFEVTSEL0, another event", &guest, |g| {
            other ^= 0xC0 ^ 0x3C;
            g.pmu.write_register(Level::Kernel, PERFEVTSEL0, (select & !0xFF) | other, &mut g.source)
        });
        // perf's interrupt handler: everything off, everything on.
        let mut enables = 0;
        bench(group, "wrmsr GLOBAL_CTRL, off and on in turn", &guest, |g| {
            enables ^= 0x0001_000F_0000_00FF;
            g.pmu.write_register(Level::Kernel, GLOBAL_CTRL, enables, &mut g.source)
        });
    }
    let guest = Guest::counting();
    let mut group = c.benchmark_group("whole");
    group.bench_function("sync, 8+4 counters", |b| {
        b.iter_batched_ref(
            || Guest { pmu: guest.pmu.clone(), source: guest.source.clone() },
            |g| g.pmu.sync(&mut g.source),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("new", |b| b.iter(|| Vpmu::new(black_box(profile::SAPPHIRE_RAPIDS))));
}

criterion_group!(benches, accesses);
criterion_main!(benches);
