use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use super::*;

const TABLES: [(&str, EventTable); 10] = [
    ("skylake_sp", EventTable::SKYLAKE_SP),
    ("icelake_sp", EventTable::ICELAKE_SP),
    ("sapphire_rapids", EventTable::SAPPHIRE_RAPIDS),
    ("granite_rapids", EventTable::GRANITE_RAPIDS),
    ("lion_cove", EventTable::LION_COVE),
    ("zen2", EventTable::ZEN2),
    ("zen3", EventTable::ZEN3),
    ("zen4", EventTable::ZEN4),
    ("zen5", EventTable::ZEN5),
    ("falkor", EventTable::FALKOR),
];

/// The first ones are Intel's.
fn intel_tables() -> impl Iterator<Item = (&'static str, EventTable)> {
    TABLES.into_iter().take(5)
}

#[test]
fn names_round_trip_in_any_case() {
    for event in Event::ALL {
        assert_eq!(Event::from_name(event.name()), Some(event));
        assert_eq!(Event::from_name(&event.name().to_lowercase()), Some(event));
        assert_eq!(Event::ALL[event.index()], event);
        assert_eq!(event.to_string(), event.name());
    }
    assert_eq!(Event::from_name("INST_RETIRED."), None);
    assert_eq!(Event::from_name(""), None);
}

#[test]
fn every_name_and_alias_is_unique() {
    let names = Event::ALL.into_iter().map(Event::name);
    let mut seen = BTreeSet::new();
    for name in names.chain(Event::OTHER_NAMES.iter().map(|&(alias, _)| alias)) {
        assert!(seen.insert(name.to_lowercase()), "{name} is declared twice");
    }
}

#[test]
fn perf_names_are_understood() {
    assert_eq!(Event::from_name("instructions"), Some(Event::InstRetiredAny));
    assert_eq!(Event::from_name("cycles"), Some(Event::CpuClkUnhaltedThread));
    assert_eq!(Event::from_name("branch-misses"), Some(Event::BrMispRetiredAllBranches));
    assert_eq!(Event::from_name("l1-dcache-loads"), Some(Event::MemInstRetiredAllLoads));
    let aliases: Vec<_> = Event::BrInstRetiredAllBranches.aliases().collect();
    assert_eq!(aliases, ["branches", "branch-instructions"]);
}

#[test]
fn every_core_specific_name_is_understood() {
    for (core, table) in TABLES {
        for encoding in table.encodings() {
            assert_eq!(Event::from_name(encoding.name), Some(encoding.event), "{core}: {}", encoding.name);
        }
    }
}

#[test]
fn descriptions_are_single_sentences() {
    for event in Event::ALL {
        let text = event.description();
        assert!(text.ends_with('.') && !text.starts_with(' ') && !text.contains('\n'), "{event}: {text:?}");
    }
}

#[test]
fn one_code_names_one_event() {
    for (core, table) in TABLES {
        let mut codes = BTreeMap::new();
        let mut events = BTreeSet::new();
        for encoding in table.encodings() {
            // Two events share a code only when an extra register tells them apart.
            let key = (encoding.code, encoding.extra);
            if let Some(other) = codes.insert(key, encoding.event) {
                panic!("{core}: {encoding} is both {other} and {}", encoding.event);
            }
            assert!(events.insert(encoding.event), "{core}: {} has two encodings", encoding.event);
            let same_code = table.by_select_umask(encoding.code.select, encoding.code.umask);
            for other in same_code.filter(|other| other.code == encoding.code) {
                assert_eq!(other.extra.map(|e| e.msr), encoding.extra.map(|e| e.msr), "{core}: {encoding}");
                // resolve() answers with one counter mask per code.
                assert_eq!(other.counters, encoding.counters, "{core}: {encoding}");
            }
        }
    }
}

#[test]
fn every_event_can_be_counted_somewhere() {
    let mut reachable: BTreeSet<Event> = BTreeSet::new();
    for (_, table) in TABLES {
        reachable.extend(table.encodings().iter().map(|encoding| encoding.event));
    }
    reachable.extend(FixedEvent::ALL.map(|fixed| fixed.event));
    reachable.extend(ArchEvent::ALL.map(|arch| arch.event));
    let unreachable: Vec<_> = Event::ALL.into_iter().filter(|event| !reachable.contains(event)).collect();
    assert!(unreachable.is_empty(), "{unreachable:?}");
}

#[test]
fn every_encoding_resolves_to_its_event() {
    for (core, table) in TABLES {
        for encoding in table.encodings() {
            assert_eq!(table.by_event(encoding.event), Some(encoding));
            let resolved = match encoding.extra {
                Some(extra) => table.resolve_extra(encoding.code, extra.value),
                None => table.resolve(encoding.code),
            };
            assert_eq!(resolved.exact, Some(encoding.event), "{core}: {encoding}");
            assert_eq!(resolved.counters, encoding.counters, "{core}: {encoding}");
            assert_eq!(resolved.extra_msr, encoding.extra.map(|extra| extra.msr), "{core}: {encoding}");
        }
    }
}

#[test]
fn modifiers_lead_to_the_cycles_event_and_its_base() {
    let table = EventTable::ICELAKE_SP;
    let issued = EventCode::new(0x0E, 0x01);
    let stalls = EventCode { cmask: 1, inv: true, ..issued };
    let resolved = table.resolve(stalls);
    assert_eq!(resolved.exact, Some(Event::UopsIssuedStallCycles));
    assert_eq!(resolved.base, Some(Event::UopsIssuedAny));

    // No list names "at least 3 uops issued", but the base tells what to compare.
    let resolved = table.resolve(EventCode { cmask: 3, ..issued });
    assert_eq!((resolved.exact, resolved.base), (None, Some(Event::UopsIssuedAny)));
    assert_eq!(resolved.counters, 0xFF);

    // Hardware ignores INV while CMASK is 0.
    let resolved = table.resolve(EventCode { inv: true, ..issued });
    assert_eq!((resolved.exact, resolved.base), (Some(Event::UopsIssuedAny), Some(Event::UopsIssuedAny)));

    // CYCLE_ACTIVITY exists only with its CMASK.
    let resolved = table.resolve(EventCode::new(0xA3, 0x06));
    assert_eq!((resolved.exact, resolved.base), (None, None));
}

#[test]
fn cores_differ_where_the_event_lists_differ() {
    let recovery = EventCode::new(0x0D, 0x01);
    assert_eq!(EventTable::ICELAKE_SP.resolve(recovery).exact, Some(Event::IntMiscRecoveryCycles));
    assert_eq!(EventTable::SAPPHIRE_RAPIDS.resolve(recovery), Resolved::default());

    let reference = EventCode::new(0x3C, 0x01);
    assert_eq!(EventTable::ICELAKE_SP.resolve(reference).exact, Some(Event::CpuClkUnhaltedRefXclk));
    assert_eq!(EventTable::SAPPHIRE_RAPIDS.resolve(reference).exact, Some(Event::CpuClkUnhaltedRefTscP));
}

#[test]
fn extra_register_selects_the_event() {
    let table = EventTable::SAPPHIRE_RAPIDS;
    let frontend = EventCode::new(0xC6, 0x01);
    let alone = table.resolve(frontend);
    assert_eq!((alone.exact, alone.base), (None, None));
    assert_eq!(alone.extra_msr, Some(MSR_PEBS_FRONTEND));

    let dsb_miss = table.resolve_extra(frontend, 0x11);
    assert_eq!(dsb_miss.exact, Some(Event::FrontendRetiredDsbMiss));
    assert_eq!(dsb_miss.base, Some(Event::FrontendRetiredDsbMiss));

    let latency = table.resolve_extra(EventCode::new(0xCD, 0x01), 30);
    assert_eq!((latency.exact, latency.extra_msr), (None, Some(MSR_PEBS_LD_LAT)));
    assert_eq!(latency.counters, 0xFE);
}

#[test]
fn code_and_evtsel_bits_agree() {
    // C3/01 CMASK 1, edge, with USR, OS, INT and EN set.
    let code = EventCode::from_evtsel(0x0157_01C3);
    assert_eq!(code, EventCode { select: 0xC3, umask: 0x01, cmask: 1, inv: false, edge: true });
    assert_eq!(code.to_evtsel_bits(), 0x0104_01C3);
    assert_eq!(EventCode::from_evtsel(!0).to_evtsel_bits(), 0xFF00_FF84_FFFF);
    assert_eq!(EventCode::from_perf_ctl(!0).to_evtsel_bits(), 0xF_FF84_FFFF);
    for (core, table) in TABLES {
        let from = if core.starts_with("zen") { EventCode::from_perf_ctl } else { EventCode::from_evtsel };
        for encoding in table.encodings() {
            assert_eq!(from(encoding.code.to_evtsel_bits()), encoding.code, "{core}");
        }
    }
}

#[test]
fn codes_print_as_perf_takes_them() {
    let plain = EventCode::new(0xC2, 0x02);
    assert_eq!(plain.to_string(), "cpu/event=0xc2,umask=0x2/");
    assert_eq!(plain.perf_raw().to_string(), "r2c2");
    let stalls = EventCode { cmask: 1, inv: true, ..plain };
    assert_eq!(stalls.to_string(), "cpu/event=0xc2,umask=0x2,cmask=0x1,inv/");
    assert_eq!(stalls.perf_raw().to_string(), "r18002c2");

    let frontend = EventTable::ICELAKE_SP.by_event(Event::FrontendRetiredDsbMiss).unwrap();
    assert_eq!(frontend.to_string(), "cpu/event=0xc6,umask=0x1,frontend=0x11/");
    let latency = EventTable::ICELAKE_SP.by_event(Event::MemTransRetiredLoadLatencyGt4).unwrap();
    assert_eq!(latency.to_string(), "cpu/event=0xcd,umask=0x1,ldlat=0x4/");
}

#[test]
fn counts_as_is_final_and_stays_within_one_quantity() {
    for event in Event::ALL {
        assert_eq!(event.counts_as().counts_as(), event.counts_as());
    }
    assert_eq!(Event::InstRetiredAnyP.counts_as(), Event::InstRetiredAny);
    assert_eq!(Event::TopdownSlotsP.counts_as(), Event::TopdownSlots);
    // Crystal clock and TSC are different clocks.
    assert_eq!(Event::CpuClkUnhaltedRefXclk.counts_as(), Event::CpuClkUnhaltedRefXclk);
}

#[test]
fn architectural_events_match_the_tables() {
    for (position, arch) in ArchEvent::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(arch.bit), position);
        assert_eq!(ArchEvent::by_code(arch.code), Some(arch));
        for (core, table) in intel_tables() {
            // Ice Lake-SP has another reference clock; bit 9 came after these cores, bit 12 with Lion Cove, the other
            // top-down ones after Skylake.
            let elsewhere = match arch.bit {
                2 => matches!(core, "icelake_sp" | "skylake_sp"),
                7 | 8 => core == "skylake_sp",
                9 => true,
                12 => core != "lion_cove",
                _ => false,
            };
            assert_eq!(
                table.resolve(arch.code).exact == Some(arch.event),
                !elsewhere,
                "{core}: {}",
                arch.name
            );
        }
    }
}

#[test]
fn architectural_event_needs_a_clear_bit_within_the_vector() {
    let [cycles, _, _, _, _, _, _, slots, backend, ..] = ArchEvent::ALL;
    assert!(slots.is_available(8, 0));
    assert!(!slots.is_available(7, 0), "beyond the vector");
    assert!(!backend.is_available(8, 0), "beyond the vector");
    assert!(!cycles.is_available(8, 1), "marked as missing");
}

#[test]
fn fixed_counters_are_found_by_index_and_by_event() {
    assert_eq!(FixedEvent::event(3), Some(Event::TopdownSlots));
    assert_eq!(FixedEvent::event(7), None);
    assert_eq!(FixedEvent::by_event(Event::InstRetiredAnyP).map(|fixed| fixed.counter), Some(0));
    assert_eq!(FixedEvent::by_event(Event::BrInstRetiredAllBranches), None);
    for (position, fixed) in FixedEvent::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(fixed.counter), position);
        assert_eq!(usize::from(fixed.code.umask), position + 1);
        for (core, table) in intel_tables() {
            assert_eq!(table.resolve(fixed.code), Resolved::default(), "{core}: pseudo code is not for GP");
        }
    }
}

#[test]
fn sums_are_unions_of_unit_masks() {
    // Levels of the memory hierarchy, not unit masks of one counter.
    let levels = [
        Event::MemLoadRetiredL1Miss,
        Event::MemLoadRetiredL2Miss,
        // An event register selects these.
        Event::OcrDemandDataRdAnyResponse,
        Event::OcrDemandRfoAnyResponse,
        Event::OcrDemandCodeRdAnyResponse,
    ];
    for identity in IDENTITIES {
        assert!(identity.parts.len() > 1, "{}", identity.total);
        assert_eq!(identity.total.parts(), identity.parts);
        let mut compared = levels.contains(&identity.total);
        for (core, table) in TABLES {
            let Some(total) = table.by_event(identity.total) else { continue };
            let parts: Vec<_> = identity.parts.iter().filter_map(|part| table.by_event(*part)).collect();
            // These lists have fewer parts of some sums.
            if matches!(core, "skylake_sp" | "lion_cove") && parts.len() < identity.parts.len() {
                continue;
            }
            assert_eq!(parts.len(), identity.parts.len(), "{core}: {} lacks a part", identity.total);
            assert!(parts.iter().all(|part| part.code.select == total.code.select), "{core}: {total}");
            if !levels.contains(&identity.total) {
                let umask = parts.iter().fold(0, |umask, part| umask | part.code.umask);
                // This core has requests that are neither hits nor misses.
                let more = core == "lion_cove" && total.name.starts_with("L2_RQSTS.");
                let whole = if more { umask | total.code.umask } else { umask };
                assert_eq!(whole, total.code.umask, "{core}: {}", identity.total);
                compared = true;
            }
        }
        assert!(compared, "{} is in no table", identity.total);
    }
    assert!(Event::InstRetiredAny.parts().is_empty());
}

fn union(table: EventTable, select: u16, umask: u16) -> Vec<Event> {
    let resolved = table.resolve(EventCode::new(select, umask));
    assert_eq!(resolved.exact, resolved.base, "{select:x}/{umask:x}");
    resolved.exact.into_iter().chain(resolved.union.events()).collect()
}

/// The codes that Linux programs for its generic events, where no event list names them.
#[test]
fn unit_masks_of_linux_s_generic_events_mean_something() {
    use Event as E;
    let exact = |table: EventTable, select, umask| table.resolve(EventCode::new(select, umask)).exact;
    for table in [EventTable::ZEN2, EventTable::ZEN3, EventTable::ZEN4, EventTable::ZEN5] {
        // iTLB-load-misses.
        assert_eq!(exact(table, 0x85, 0xFF), Some(E::BpL1TlbMissL2TlbMissAll));
    }
    // cache-references.
    let requests = [
        E::L2RequestG1Group2,
        E::L2RequestG1L2HwPf,
        E::L2RequestG1PrefetchL2Cmd,
        E::L2RequestG1ChangeToX,
        E::L2RequestG1CacheableIcRead,
        E::L2RequestG1LsRdBlkCS,
        E::L2RequestG1RdBlkX,
        E::L2RequestG1RdBlkL,
    ];
    assert_eq!(union(EventTable::ZEN2, 0x60, 0xFF), requests);
    assert_eq!(union(EventTable::ZEN3, 0x60, 0xFF), requests);
    assert_eq!(exact(EventTable::ZEN4, 0x60, 0xFF), Some(E::L2RequestG1All));
    // Zen 5 has nothing at bit 3.
    assert_eq!(exact(EventTable::ZEN5, 0x60, 0xFF), Some(E::L2RequestG1All));
    // L1-dcache-load-misses.
    assert_eq!(exact(EventTable::ZEN2, 0x60, 0xC8), Some(E::L2RequestG1AllDc));
    let data = [E::L2RequestG1ChangeToX, E::L2RequestG1RdBlkX, E::L2RequestG1RdBlkL];
    assert_eq!(union(EventTable::ZEN4, 0x60, 0xC8), data);
    assert_eq!(union(EventTable::ZEN5, 0x60, 0xC8), data[1..]);
    // branch-loads on Golden Cove.
    assert_eq!(exact(EventTable::SAPPHIRE_RAPIDS, 0xC4, 0x04), Some(E::BrInstRetiredAllBranches));
    assert_eq!(exact(EventTable::SAPPHIRE_RAPIDS, 0xC5, 0x04), Some(E::BrMispRetiredAllBranches));
}

#[test]
fn unit_masks_add_up_without_counting_twice() {
    use Event as E;
    let (icl, skl, spr) = (EventTable::ICELAKE_SP, EventTable::SKYLAKE_SP, EventTable::SAPPHIRE_RAPIDS);
    assert_eq!(union(icl, 0xC4, 0x03), [E::BrInstRetiredCondTaken, E::BrInstRetiredNearCall]);
    // Skylake's C4/01 are all conditional branches.
    assert_eq!(
        union(skl, 0xC4, 0x03),
        [E::BrInstRetiredCondTaken, E::BrInstRetiredCondNtaken, E::BrInstRetiredNearCall]
    );
    // Near taken branches contain the calls and the conditional ones that are taken.
    assert_eq!(union(icl, 0xC4, 0x23), [E::BrInstRetiredNearTaken]);
    assert_eq!(union(skl, 0xC4, 0x21), [E::BrInstRetiredCondNtaken, E::BrInstRetiredNearTaken]);
    // An indirect call would be counted twice.
    assert_eq!(union(icl, 0xC4, 0x82), []);
    // A named mask with what it contains.
    assert_eq!(union(spr, 0xD0, 0x91), [E::MemInstRetiredAllLoads]);
    assert_eq!(
        union(spr, 0xD1, 0x0A),
        [E::MemLoadRetiredL2Hit, E::MemLoadRetiredL3Hit, E::MemLoadRetiredL3Miss]
    );
    // Kinds of requests with what became of them: no bit means anything alone.
    assert_eq!(union(spr, 0x24, 0x25), [E::L2RqstsDemandDataRdMiss, E::L2RqstsCodeRdMiss]);
    assert_eq!(union(spr, 0x24, 0x01), []);
    // What a list names is not taken apart.
    assert_eq!(spr.resolve(EventCode::new(0xC7, 0x18)).exact, Some(E::FpArithInstRetired4Flops));
    assert_eq!(
        union(spr, 0xC7, 0x07),
        [
            E::FpArithInstRetiredScalarDouble,
            E::FpArithInstRetiredScalarSingle,
            E::FpArithInstRetired128bPackedDouble
        ]
    );
    // Bits of no event add nothing, where all are known.
    let zen4 = EventTable::ZEN4;
    assert_eq!(union(zen4, 0x03, 0x83), [E::FpRetSseAvxOpsAddSubFlops, E::FpRetSseAvxOpsMultFlops]);
    assert_eq!(zen4.resolve(EventCode::new(0x03, 0x82)).exact, Some(E::FpRetSseAvxOpsMultFlops));
    assert_eq!(zen4.resolve(EventCode::new(0xC0, 0x55)).exact, Some(E::ExRetInstr));
    assert_eq!(zen4.resolve(EventCode::new(0x03, 0x80)), Resolved::default());
    // Miss buffers: the parts of a named mask have no names.
    assert_eq!(EventTable::ZEN4.resolve(EventCode::new(0x41, 0x01)), Resolved::default());
    // Two reasons to stall may hold in one cycle.
    assert_eq!(union(icl, 0xA2, 0x0A), []);
    // Loads fit counters 0 to 3 only, and so do unions with them.
    assert_eq!(icl.resolve(EventCode::new(0xD1, 0x03)).counters, 0x0F);
}

/// A union of every pair of unit masks that a list names contains no event twice, nor a part beside its sum.
#[test]
fn no_union_has_a_part_beside_its_sum() {
    for (core, table) in TABLES {
        for a in table.encodings() {
            for b in table.encodings().iter().filter(|row| row.code.select == a.code.select) {
                let code = EventCode::new(a.code.select, a.code.umask | b.code.umask);
                let events: Vec<Event> = table.resolve(code).union.events().collect();
                for (n, event) in events.iter().enumerate() {
                    assert!(!events[..n].contains(event), "{core}: {code}: {event} twice");
                    assert!(event.parts().is_empty(), "{core}: {code}: {event} beside its parts");
                }
            }
        }
    }
}

/// The values that Linux writes to OFFCORE_RSP for LLC-loads, LLC-load-misses, LLC-stores and LLC-store-misses, by
/// core, and those of the event lists.
#[test]
fn offcore_responses_select_by_kind_and_supplier() {
    use Event as E;
    let any_snoop = 0x3F_C000_0000_u64;
    let skl_miss = 0x3C00_0000 | 1 << 17 | any_snoop;
    for (table, select, values) in [
        (
            EventTable::SKYLAKE_SP,
            0xB7,
            [0x1_0001 | any_snoop, skl_miss | 1, 0x1_0002 | any_snoop, skl_miss | 2],
        ),
        (
            EventTable::ICELAKE_SP,
            0xBB,
            [0x1_0001 | any_snoop, skl_miss | 1, 0x1_0002 | any_snoop, skl_miss | 2],
        ),
        (EventTable::SAPPHIRE_RAPIDS, 0x2A, [0x1_0001, 0x3F_BFC0_0001, 0x3F_3FFC_0002, 0x3F_3FC0_0002]),
        (EventTable::GRANITE_RAPIDS, 0x2B, [0x1_0001, 0x3F_BFC0_0001, 0x3F_3FFC_0002, 0x3F_3FC0_0002]),
    ] {
        let code = EventCode::new(select, 1);
        let first = matches!(select, 0xB7 | 0x2A);
        let msr = if first { MSR_OFFCORE_RSP_0 } else { MSR_OFFCORE_RSP_1 };
        assert_eq!((table.resolve(code).exact, table.resolve(code).extra_msr), (None, Some(msr)));
        let wanted = [
            E::OcrDemandDataRdAnyResponse,
            E::OcrDemandDataRdL3Miss,
            E::OcrDemandRfoAnyResponse,
            E::OcrDemandRfoL3Miss,
        ];
        for (value, event) in values.into_iter().zip(wanted) {
            assert_eq!(table.resolve_extra(code, value).exact, Some(event), "{value:#x}");
        }
        let selected = |value| table.resolve_extra(code, value).union.events().collect::<Vec<_>>();
        assert_eq!(selected(0x1_0003), [E::OcrDemandDataRdAnyResponse, E::OcrDemandRfoAnyResponse]);
        // Prefetches are not told apart; remote memory, a line that another core had, and nothing at all.
        for value in [0x1_0011, 0x3F_B300_0001, 0x10_003C_0001, 0, 0x1_0000] {
            assert_eq!(
                (table.resolve_extra(code, value).exact, selected(value)),
                (None, Vec::new()),
                "{value:#x}"
            );
        }
    }
}

fn counters(mask: u32) -> String {
    match mask {
        0xFF => "0-7".into(),
        0x0F => "0-3".into(),
        0x3FF => "0-9".into(),
        0xFE => "1-7".into(),
        0x3FC => "2-9".into(),
        0x01 => "0".into(),
        other => format!("{other:#x}"),
    }
}

/// `cargo xtask events` has been run since the lists of names and corrections were changed.
#[test]
fn tables_are_those_of_the_data_files() {
    let fields = |text: &'static str| {
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect::<Vec<_>>())
    };
    let names = fields(include_str!("../../data/events.tsv"));
    let listed: Vec<_> = names
        .map(|fields| {
            (fields[0], fields[1], fields.get(2).map_or(Vec::new(), |others| others.split(", ").collect()))
        })
        .collect();
    let named: Vec<_> = Event::ALL
        .into_iter()
        .map(|event| (event.name(), event.description(), event.aliases().collect()))
        .collect();
    assert_eq!(named, listed);
    let cores = [
        ("SKX", EventTable::SKYLAKE_SP),
        ("LNL", EventTable::LION_COVE),
        ("ZEN2", EventTable::ZEN2),
        ("ZEN4", EventTable::ZEN4),
        ("ZEN5", EventTable::ZEN5),
        ("FALKOR", EventTable::FALKOR),
    ];
    for fields in fields(include_str!("../../data/events.corrections.tsv")) {
        for core in fields[0].split(',') {
            let (_, table) = cores.into_iter().find(|(name, _)| *name == core).expect(core);
            let event = Event::from_name(fields[1]).expect(fields[1]);
            let code = table.by_event(event).map(|encoding| encoding.code.to_string());
            let corrected = (fields[2] != "absent").then(|| fields[2]);
            let (code, corrected) = (code.as_deref().unwrap_or("none"), corrected.unwrap_or("none"));
            assert!(code.contains(corrected), "{core}: {event} is {code}, corrected to {corrected}");
        }
    }
}

/// The tables as text: a changed code shows up in review as one changed line.
#[test]
fn listing() {
    for (core, table) in TABLES {
        let mut text = String::new();
        for encoding in table.encodings() {
            let (name, counters) = (encoding.name, counters(encoding.counters));
            writeln!(text, "{name:<55} {counters} {encoding}").unwrap();
        }
        insta::assert_snapshot!(core, text);
    }
}
