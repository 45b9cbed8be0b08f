//! The source over a core that executes a few instructions.

use super::*;
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};
use retire::{Assist, Block, Branch, CoreEvent, Observer};
use soft_cpu::describe;
use vpmu::CounterId;
use vpmu::event::{EventTable, FixedEvent, IDENTITIES};
use vpmu::profile::{FALKOR, ICELAKE_SP, PROFILES, SAPPHIRE_RAPIDS, SKYLAKE_SP, Vendor, ZEN2, ZEN3, ZEN4};

const ALL: PrivilegeFilter = PrivilegeFilter::ALL;

/// A block of one instruction, at address 0.
fn define(core: &SharedCore, bytes: &[u8]) -> Block<'static> {
    let instruction = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
    let described = describe::instruction(&instruction, bytes, &mut InstructionInfoFactory::new());
    Block {
        id: core.drive().define(&[described]),
        first: 0,
        count: 1,
        whole: true,
        user: true,
        fetch_page: 12,
        rip: 0,
        fetch_pa: 0,
        memory: &[],
        branch: None,
        last: 0,
        end: described.length.into(),
        repetitions: 1,
    }
}

/// DEC, JNZ; a load and a DIV now and then; some of it at CPL 3. Stops when something is due.
fn run(core: &SharedCore, instructions: u64) -> u64 {
    let dec = define(core, &[0xFF, 0xC9]);
    let jnz = define(core, &[0x75, 0xF0]);
    let load = define(core, &[0x48, 0x8B, 0x06]);
    let div = define(core, &[0x48, 0xF7, 0xF1]);
    for n in 0..instructions {
        let instruction = match n % 8 {
            3 => &load,
            5 => &div,
            7 => &jnz,
            _ => &dec,
        };
        let linear = 0x10_0000 + n * 4096;
        let access =
            retire::MemoryAccess { linear, physical: linear, size: 8, page: 12, ..Default::default() };
        let branch = Branch {
            kind: retire::BranchKind::Conditional,
            taken: n % 24 < 16,
            target: 0x1000 + (n % 24 / 16) * 16,
        };
        let block = Block {
            rip: 0x1000 + n % 8 * 2,
            fetch_pa: 0x1000 + n % 8 * 2,
            user: n % 1000 >= 500,
            memory: if n % 8 == 3 { std::slice::from_ref(&access) } else { &[] },
            branch: (n % 8 == 7).then_some(branch),
            ..*instruction
        };
        if core.drive().retire(&block) {
            return n + 1;
        }
    }
    instructions
}

fn new(profile: &Profile) -> (SharedCore, TimingSource) {
    let core = SharedCore::new(profile).expect("a model");
    (core.clone(), TimingSource::new(profile, core))
}

fn named(event: Event) -> EventRequest {
    EventRequest::named(event, EventCode::default())
}

fn coded(table: EventTable, code: EventCode) -> EventRequest {
    let resolved = table.resolve(code);
    EventRequest::resolved(code, &resolved, resolved.counters.trailing_zeros())
}

fn active(request: EventRequest, until_overflow: u64) -> Active {
    Active { counter: CounterId::Gp(0), request, filter: ALL, until_overflow, interrupts: true }
}

/// Names of a profile's events that the model cannot know; all others count.
fn unknown(profile: &Profile) -> Vec<&'static str> {
    let (_, source) = new(profile);
    let encodings = profile.events.encodings().iter().map(|encoding| {
        let request = EventRequest { event: Some(encoding.event), ..coded(profile.events, encoding.code) };
        (encoding.name, request)
    });
    let fixed = (0..profile.fixed_counters()).filter_map(FixedEvent::event);
    let fixed = fixed.map(|event| (event.name(), named(event)));
    let unknown = |(_, request): &(_, EventRequest)| source.provenance(request) == Provenance::Unknown;
    encodings.chain(fixed).filter(unknown).map(|(name, _)| name).collect()
}

/// The list of docs/core-model.md, "Events that the model does not know".
#[test]
fn unknown_events_are_those_of_the_documentation() {
    let documentation = include_str!("../../../../../docs/core-model.md");
    let words: Vec<&str> = documentation.split_whitespace().collect();
    let documentation = words.join(" ");
    let mut missing = String::new();
    for profile in PROFILES.iter().filter(|profile| core_of(profile).is_some()) {
        let unknown = unknown(profile);
        if profile.vendor() == Vendor::Intel {
            assert_eq!(unknown, [""; 0], "{}", profile.name);
            continue;
        }
        // By unit: what is before the dot.
        let mut units: Vec<&str> = unknown.iter().filter_map(|name| name.split('.').next()).collect();
        units.sort_unstable();
        units.dedup();
        let (count, all) = (unknown.len(), profile.events.encodings().len());
        let item = format!("- {}, {count} of {all}: `{}`", profile.name, units.join("`, `"));
        if !documentation.contains(&item) {
            missing += &format!("{item}\n");
        }
    }
    assert_eq!(missing, "", "items that docs/core-model.md lacks");
}

/// An event whose loads would have to be picked for PEBS counts none, and that is known.
#[test]
fn load_latency_needs_pebs() {
    let (core, mut source) = new(&ICELAKE_SP);
    run(&core, 20_000);
    let request = named(Event::MemTransRetiredLoadLatencyGt4);
    assert_eq!((source.provenance(&request), source.total(&request, ALL)), (Provenance::Modelled, 0));
}

/// With a threshold, as PEBS has it, each load that takes longer counts: here each misses, one in eight instructions.
#[test]
fn loads_above_a_threshold_count() {
    let slow = |threshold| {
        let (core, mut source) = new(&ICELAKE_SP);
        let request = EventRequest { threshold: Some(threshold), ..EventRequest::default() };
        source.rearm(&[active(request, 1 << 40)]);
        run(&core, 20_000);
        (source.provenance(&request), source.total(&request, ALL))
    };
    let [any, some, none] = [3, 100, u16::MAX].map(slow);
    assert_eq!((any.0, none), (Provenance::Modelled, (Provenance::Modelled, 0)));
    assert_eq!(any.1, 2_500, "every load takes more than three cycles");
    assert!((1..=2_500).contains(&some.1), "{some:?}");
}

/// A probe around one instruction says where its data came from, and how long that took.
#[test]
fn a_probe_says_how_a_load_was_served() {
    use vpmu::precise::{DataSource, Translation};
    for profile in [&ICELAKE_SP, &ZEN4] {
        let (core, _) = new(profile);
        let load = define(&core, &[0x48, 0x8B, 0x06]);
        let access = retire::MemoryAccess {
            linear: 0x10_0000,
            physical: 0x10_0000,
            size: 8,
            page: 12,
            ..Default::default()
        };
        let probed = || {
            let before = core.drive().probe();
            core.drive().retire(&Block { memory: std::slice::from_ref(&access), ..load });
            // The next instructions wait for its data.
            core.drive().event(CoreEvent::Serialise);
            core.drive().probe().since(&before).served(true)
        };
        let (first, second) = (probed(), probed());
        assert_eq!(
            (first.source, first.translation),
            (DataSource::Memory, Translation::Walk),
            "{}",
            profile.name
        );
        assert_eq!(
            (second.source, second.translation),
            (DataSource::L1, Translation::L1Tlb),
            "{}",
            profile.name
        );
        assert!(first.latency > 100 && (3..10).contains(&second.latency), "{first:?}, {second:?}");
    }
}

/// Unit masks of microcode assists: page faults are among them from Golden Cove on, and Skylake's event leaves
/// floating point out.
#[test]
fn assists_of_any_kind_are_the_cpu_s() {
    for (profile, any) in [(&SKYLAKE_SP, 2), (&ICELAKE_SP, 3), (&SAPPHIRE_RAPIDS, 7)] {
        let (core, mut source) = new(profile);
        for (kind, times) in [(Assist::FloatingPoint, 1), (Assist::PageTable, 2), (Assist::PageFault, 4)] {
            for _ in 0..times {
                core.drive().event(CoreEvent::Assist { kind, user: true });
            }
        }
        assert_eq!(source.total(&named(Event::AssistsFp), ALL), 1);
        assert_eq!(source.total(&named(Event::AssistsAny), ALL), any, "{}", profile.name);
        assert_eq!(source.total(&named(Event::AssistsAny), PrivilegeFilter { os: true, usr: false }), 0);
    }
}

/// ADDPS, MULSD and DIVPD, and unit masks with and without a name.
#[test]
fn floating_point_operations_of_amd() {
    for profile in [&ZEN2, &ZEN4] {
        let (core, mut source) = new(profile);
        for bytes in [&[0x0F, 0x58, 0xC1][..], &[0xF2, 0x0F, 0x59, 0xC1], &[0x66, 0x0F, 0x5E, 0xC1]] {
            let block = Block { rip: 0x1000, fetch_pa: 0x1000, ..define(&core, bytes) };
            core.drive().retire(&block);
        }
        let mut count = |umask| {
            let request = coded(profile.events, EventCode::new(0x03, umask));
            assert_ne!(source.provenance(&request), Provenance::Unknown, "{} {umask:#x}", profile.name);
            source.total(&request, ALL)
        };
        assert_eq!([1, 2, 4, 8].map(&mut count), [4, 1, 2, 0]);
        // Two kinds, all of them, and all with the reserved bits.
        assert_eq!([5, 0x0F, 0x1F, 0xFF].map(&mut count), [6, 7, 7, 7]);
    }
}

/// A load from memory, and behind it many ADDPS and MULPS that wait for nothing but to retire: eight instructions a
/// cycle, of four operations each.
#[test]
fn a_counter_that_is_not_merged_adds_15_in_a_cycle() {
    let counted = |limited: bool| {
        let (core, mut source) = new(&ZEN4);
        let mut count = |umask: u16, limit: u8| {
            let request =
                EventRequest { limit: Some(limit), ..coded(ZEN4.events, EventCode::new(0x03, umask)) };
            let exact = source.provenance(&request) == Provenance::Exact;
            assert_eq!(exact, limit == 255, "{umask:#x}");
            source.total(&request, ALL)
        };
        if limited {
            assert_eq!(count(7, 15), 0);
        }
        let load = define(&core, &[0x48, 0x8B, 0x06]);
        let [add, mul] = [0x58, 0x59].map(|opcode| {
            [0, 1, 2, 3, 4, 5].map(|register| define(&core, &[0x0F, opcode, 0xC7 | register << 3]))
        });
        for n in 0..410 {
            let instruction = match n % 41 {
                0 => &load,
                n if n % 2 == 0 => &add[n as usize / 2 % 6],
                n => &mul[n as usize / 2 % 6],
            };
            let linear = 0x100_0000 + n * 8 * 4096;
            let access =
                retire::MemoryAccess { linear, physical: linear, size: 8, page: 21, ..Default::default() };
            let block = Block {
                rip: 0x1000 + n % 41 * 4,
                fetch_pa: 0x1000 + n % 41 * 4,
                memory: if n % 41 == 0 { std::slice::from_ref(&access) } else { &[] },
                ..*instruction
            };
            core.drive().retire(&block);
        }
        [
            count(1, 255),
            count(3, 255),
            if limited { count(1, 15) } else { 0 },
            if limited { count(3, 15) } else { 0 },
        ]
    };
    let [adds, all, limited_adds, limited] = counted(true);
    // Who is not limited is not affected by who is.
    assert_eq!(counted(false), [adds, all, 0, 0]);
    assert_eq!((adds, all), (800, 1600));
    // At most 15 of 32: of both kinds less than half is counted, of one kind up to 15 of 16.
    assert!((100..=1600 * 3 / 4).contains(&limited), "{limited}");
    assert!(limited_adds < adds && limited_adds * 16 >= adds * 15, "{limited_adds}");
}

/// Unions of unit masks, as Linux's generic events ask for them.
#[test]
fn unit_masks_of_several_events_add_up() {
    let (core, mut source) = new(&ZEN3);
    run(&core, 20_000);
    let mut zen = |select, umask| {
        let request = coded(ZEN3.events, EventCode::new(select, umask));
        assert_ne!(source.provenance(&request), Provenance::Unknown, "{select:x}/{umask:x}");
        source.total(&request, ALL)
    };
    // cache-references, cache-misses, L1-dcache-loads and -load-misses, dTLB-load-misses, iTLB-load-misses.
    assert_eq!(zen(0x60, 0xFF), zen(0x60, 0xF9) + zen(0x60, 0x02) + zen(0x60, 0x04));
    assert_eq!(zen(0x60, 0xC8), zen(0x60, 0x80) + zen(0x60, 0x40));
    // Every load of the loop is to another page.
    assert!(zen(0x60, 0xC8) >= 2_500 && zen(0x64, 0x09) >= 2_500 && zen(0x40, 0) == 2_500);
    assert!(zen(0x45, 0xF0) >= 2_000 && zen(0x85, 0xFF) >= 1);

    let (core, mut source) = new(&ICELAKE_SP);
    run(&core, 20_000);
    let request = coded(ICELAKE_SP.events, EventCode::new(0xC4, 0x03));
    assert_eq!(source.provenance(&request), Provenance::Exact);
    let taken = source.total(&named(Event::BrInstRetiredCondTaken), ALL);
    assert_eq!((source.total(&request, ALL), taken > 0), (taken, true));
}

/// LLC-loads and LLC-load-misses of perf: Linux's values for OFFCORE_RSP_0.
#[test]
fn offcore_responses_are_those_of_the_model_s_caches() {
    let loads = |core: &SharedCore, lines: u64| {
        let load = define(core, &[0x48, 0x8B, 0x06]);
        for n in 0..lines {
            // Pages apart: no prefetcher helps.
            let linear = 0x100_0000 + n * 7 * 4096;
            let access =
                retire::MemoryAccess { linear, physical: linear, size: 8, page: 21, ..Default::default() };
            let block =
                Block { rip: 0x1000, fetch_pa: 0x1000, memory: std::slice::from_ref(&access), ..load };
            core.drive().retire(&block);
        }
    };
    for (profile, select, values) in [
        (&SKYLAKE_SP, 0xB7, [0x3F_C001_0001, 0x3F_FC02_0001]),
        (&SAPPHIRE_RAPIDS, 0x2A, [0x1_0001, 0x3F_BFC0_0001]),
    ] {
        let (core, mut source) = new(profile);
        let code = EventCode::new(select, 1);
        let mut count = || {
            values.map(|value| {
                let request = EventRequest::resolved(code, &profile.events.resolve_extra(code, value), 0);
                assert_eq!(source.provenance(&request), Provenance::Modelled);
                source.total(&request, ALL)
            })
        };
        // Twice the same lines, more of them than the first two levels have in the sets that these addresses meet.
        loads(&core, 900);
        assert_eq!(count(), [900, 900], "{}: all from memory", profile.name);
        loads(&core, 900);
        let [all, misses] = count();
        assert!(all > 1200 && misses + 200 < all, "{}: {all} of which {misses} missed", profile.name);
    }
}

#[test]
fn sums_and_slots_add_up() {
    for profile in [&ICELAKE_SP, &SAPPHIRE_RAPIDS] {
        let (core, mut source) = new(profile);
        run(&core, 20_000);
        for filter in
            [ALL, PrivilegeFilter { os: true, usr: false }, PrivilegeFilter { os: false, usr: true }]
        {
            for identity in IDENTITIES {
                let known = |event: &Event| source.quantity(&named(*event)).is_some();
                if known(&identity.total) && identity.parts.iter().all(known) {
                    let total = source.total(&named(identity.total), filter);
                    let parts: u64 =
                        identity.parts.iter().map(|part| source.total(&named(*part), filter)).sum();
                    assert_eq!(total, parts, "{}", identity.total);
                }
            }
            let slots = source.topdown(filter).expect("metrics");
            assert_eq!(slots.fields[..4].iter().sum::<u64>(), slots.slots);
            assert_eq!(slots.slots, source.total(&named(Event::TopdownSlots), filter));
        }
        assert_eq!(source.total(&named(Event::InstRetiredAny), ALL), 20_000);
        assert_eq!(source.total(&named(Event::BrInstRetiredCond), ALL), 2_500);
    }
}

#[test]
fn modifiers_count_cycles_and_their_starts() {
    let (core, mut source) = new(&ICELAKE_SP);
    run(&core, 20_000);
    // What has been allocated has also retired.
    core.drive().event(CoreEvent::Serialise);
    let table = ICELAKE_SP.events;
    let mut count = |code: EventCode| {
        let request = coded(table, code);
        assert_ne!(source.provenance(&request), Provenance::Unknown, "{code}");
        source.total(&request, ALL)
    };
    let cycles = count(EventCode::new(0x3C, 0));
    let slots = EventCode::new(0xC2, 2);
    for cmask in [2, 3, 5, 9] {
        let with = count(EventCode { cmask, ..slots });
        let without = count(EventCode { cmask, inv: true, ..slots });
        assert_eq!(with + without, cycles, "cmask {cmask}");
        assert!(count(EventCode { cmask, edge: true, ..slots }) <= with);
    }
    // perf's cycles:pp: fewer than 16 instructions retire in every cycle.
    assert_eq!(count(EventCode { cmask: 17, inv: true, ..EventCode::new(0xC0, 0) }), cycles);
    assert_eq!(count(EventCode { cmask: 1, ..EventCode::new(0x3C, 0) }), cycles);
    assert_eq!(count(EventCode { cmask: 2, ..EventCode::new(0x3C, 0) }), 0);
    // A unit mask without a name: scalar and packed doubles.
    assert_eq!(count(EventCode::new(0xC7, 5)), 0);
}

/// CMASK n counts cycles with at least n instructions: over all n, that is each instruction once.
#[test]
fn instructions_are_known_by_cycle() {
    let (core, mut source) = new(&ICELAKE_SP);
    let request = |cmask, inv| coded(ICELAKE_SP.events, EventCode { cmask, inv, ..EventCode::new(0xC0, 0) });
    let mut before: Vec<u64> = (1..=16).map(|n| source.total(&request(n, false), ALL)).collect();
    run(&core, 20_000);
    core.drive().event(CoreEvent::Serialise);
    for (n, before) in (1..=16).zip(&mut before) {
        let with = source.total(&request(n, false), ALL);
        assert_eq!(with + source.total(&request(n, true), ALL), {
            source.total(&request(1, false), ALL) + source.total(&request(1, true), ALL)
        });
        *before = with - *before;
    }
    assert!(before.is_sorted_by(|more, fewer| more >= fewer), "{before:?}");
    assert!(20_000 - before.iter().sum::<u64>() < 16, "{before:?}");
    assert!(before[1] > 1000 && before[10] == 0, "{before:?}");
}

/// The core asks to stop after the instruction in which a counter passes its top, and not before.
#[test]
fn overflows_stop_at_the_instruction() {
    for (event, until) in [
        (Event::InstRetiredAny, 1_000),
        (Event::CpuClkUnhaltedThread, 3_000),
        (Event::TopdownSlots, 20_001),
        (Event::BrInstRetiredAllBranches, 77),
        (Event::UopsRetiredHeavy, 50),
        (Event::MemInstRetiredAllLoads, 33),
    ] {
        let (core, mut source) = new(&SAPPHIRE_RAPIDS);
        run(&core, 100);
        let start = source.total(&named(event), ALL);
        source.rearm(&[active(named(event), until)]);
        core.drive().arm(u64::MAX);
        let stopped = run(&core, 100_000);
        let now = source.total(&named(event), ALL);
        assert!(now - start >= until, "{event}: {} of {until}", now - start);
        assert!(stopped < 100_000, "{event}");

        let (again, mut before) = new(&SAPPHIRE_RAPIDS);
        run(&again, 100);
        run(&again, stopped - 1);
        assert!(before.total(&named(event), ALL) - start < until, "{event} has overflowed before");
    }
}

#[test]
fn the_timer_stops_the_core() {
    let (core, _) = new(&ICELAKE_SP);
    core.drive().arm(5_000);
    run(&core, 1_000_000);
    let late = core.drive().cycles() - 5_000;
    assert!(late < 500, "{late} cycles late");
}

#[test]
fn pauses_gaps_and_branch_records_are_counted() {
    let (core, mut source) = new(&SAPPHIRE_RAPIDS);
    run(&core, 20_000);
    let pause = define(&core, &[0xF3, 0x90]);
    for n in 0..5 {
        let rip = 0x9000 + 0x4000 * n;
        core.drive().retire(&Block { rip, fetch_pa: rip, ..pause });
    }
    core.drive().event(CoreEvent::Serialise);
    let mut user = |event: Event| source.total(&named(event), PrivilegeFilter { os: false, usr: true });
    assert_eq!((user(Event::MiscRetiredPauseInst), user(Event::CpuClkUnhaltedPauseInst)), (5, 5));
    assert_eq!(user(Event::CpuClkUnhaltedPause), user(Event::CpuClkUnhaltedC0Wait));
    assert!(user(Event::CpuClkUnhaltedPause) >= 5 * 100);
    // Each was in code that had not been fetched before.
    let gaps = [1, 4, 16, 64].map(|n| match n {
        1 => user(Event::FrontendRetiredLatencyGe1),
        4 => user(Event::FrontendRetiredLatencyGe4),
        16 => user(Event::FrontendRetiredLatencyGe16),
        _ => user(Event::FrontendRetiredLatencyGe64),
    });
    assert!(gaps.is_sorted_by(|more, less| more >= less) && gaps[3] >= 5, "{gaps:?}");
    assert!((1..=user(Event::RsEmpty)).contains(&user(Event::RsEmptyCount)));
    assert_eq!(user(Event::MiscRetiredLbrInserts), 0);
    core.drive().count_branch_record(true);
    core.drive().count_branch_record(false);
    assert_eq!(source.total(&named(Event::MiscRetiredLbrInserts), ALL), 2);
}

/// Falkor's units are where its events look for them.
#[test]
fn units_of_falkor_have_their_places() {
    let (core, _) = new(&FALKOR);
    let core = core.drive();
    let ports = core.model().ports();
    assert_eq!(ports[event::VECTOR_UNITS], ["FalkorUnitVX", "FalkorUnitVY"]);
    assert_eq!(ports[event::INTEGER_UNITS], ["FalkorUnitX", "FalkorUnitY", "FalkorUnitZ"]);
}

/// A loop of 1000 iterations: LDR X0, [X1]; ADD X2, X2, X0; FADD V0.2D, V0.2D, V1.2D; STR X2, [X3]; B.NE.
#[test]
fn events_of_falkor_count_a_loop() {
    let (core, mut source) = new(&FALKOR);
    let words = [0xF940_0020, 0x8B00_0042, 0x4E61_D400, 0xF900_0062, 0x54FF_FF81];
    let described: Vec<_> =
        words.iter().zip(0..).map(|(&word, n)| arm_cpu::describe::instruction(word, 4 * n)).collect();
    let id = core.drive().define(&described);
    for n in 0..1000 {
        let access = |owner: u8, write| {
            // The load takes a new page each time, and the store always the same line.
            let linear = if write { 0x9000_0000 } else { 0x8000_0000 + n * 4096 };
            let page = 12;
            retire::MemoryAccess { linear, physical: linear, size: 8, page, owner, write, uncached: false }
        };
        let branch = Branch { kind: retire::BranchKind::Conditional, taken: n < 999, target: 0x4000_0000 };
        core.drive().retire(&Block {
            id,
            first: 0,
            count: 5,
            whole: true,
            user: true,
            fetch_page: 12,
            rip: 0x4000_0000,
            fetch_pa: 0x4000_0000,
            memory: &[access(0, false), access(3, true)],
            branch: Some(branch),
            last: 16,
            end: 20,
            repetitions: 1,
        });
    }
    core.drive().event(CoreEvent::Serialise);
    let mut count = |event| source.total(&named(event), ALL);
    let exact = [
        (Event::InstRetired, 5000),
        (Event::SyntheticEveryInstr, 5000),
        (Event::BrRetired, 1000),
        (Event::BrImmedRetired, 1000),
        (Event::PcWriteRetired, 999),
        (Event::LdRetired, 1000),
        (Event::SyntheticStores, 1000),
        (Event::MemAccess, 2000),
        (Event::SyntheticL1dLookups, 2000),
        // One for each page, and one for the line of the stores.
        (Event::L1dCacheRefill, 1001),
        (Event::SyntheticL1dMisses, 1001),
        (Event::SyntheticDtlbMisses, 1001),
        (Event::DtlbWalk, 1001),
        // ADD takes one of three units, FADD of two doubles two uops.
        (Event::SyntheticAluOps, 1000),
        (Event::SyntheticFpOps, 2000),
        (Event::RemoteAccess, 0),
    ];
    for (event, expected) in exact {
        assert_eq!(count(event), expected, "{event}");
    }
    let cycles = count(Event::CpuCycles);
    assert_eq!(count(Event::SyntheticEveryCycle), cycles);
    let (front, back) = (count(Event::StallFrontend), count(Event::StallBackend));
    assert!(front + back <= cycles && back > cycles / 2, "{front} and {back} of {cycles}");
    assert_eq!(count(Event::BrMisPred), count(Event::SyntheticCondMispredicts));
    assert!(count(Event::SyntheticOpsDispatched) >= 6000);
    assert!(count(Event::SyntheticFetchGroups) + count(Event::SyntheticFetchStallCycles) == cycles);
}
