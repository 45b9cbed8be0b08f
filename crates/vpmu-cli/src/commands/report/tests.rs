//! A small recording, and what each export has of it: read back, its sums are those of the recording.

use super::branches::Branches;
use super::rows::Rows;
use super::totals::Totals;
use super::{callgrind, pprof, stacks, table};
use crate::args::report::Weight;
use crate::output;
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::Read as _;
use vmm::engine::Detail;
use vmm::recording::data::{
    Call, Context, FIGURES, Function, Image, ImageKind, Jump, Line, Modelled, Piece, Place, Recording, Row,
    Segment, VERSION,
};

const PROGRAM: u16 = 1;

fn place(address: u64) -> Place {
    Place { image: PROGRAM, address }
}

/// `main` calls `work` three times, which calls itself once and the kernel twice.
fn recording(detail: Detail) -> Recording {
    let image = |name: &str, kind, segments| Image {
        name: name.into(),
        path: if kind == ImageKind::Kernel { String::new() } else { format!("/bin/{name}") },
        build_id: None,
        kind,
        segments,
    };
    let function = |name: &str, image, address| Function {
        name: name.into(),
        symbol: name.into(),
        image,
        address,
        size: 64,
    };
    let context = |parent, function| Context { parent, function, process: None };
    let piece = |function, image, address, lines: &[u32]| Piece {
        function,
        place: Place { image, address },
        lengths: vec![4; lines.len()],
        lines: lines.to_vec(),
    };
    let figures = |cycles: u64| {
        // Four slots a cycle, all of them in other leaves.
        let mut figures = [0; FIGURES];
        figures[0] = cycles;
        figures[1] = cycles;
        figures[7] = 2 * cycles;
        figures[8] = cycles;
        figures[9] = cycles / 10;
        (detail == Detail::Timing).then_some(Modelled(figures))
    };
    let row = |context, piece, count, cycles| Row { context, piece, count, modelled: figures(cycles) };
    let call = |from, site, to, count| Call { from, site: place(site), to, count, jump: false };
    let line = |file: &str, number| Line { file: file.into(), number };
    Recording {
        version: VERSION,
        program: vec!["prog".into(), "-x".into()],
        profile: "skylake-sp".into(),
        detail,
        images: vec![
            image("[kernel]", ImageKind::Kernel, vec![]),
            image(
                "prog",
                ImageKind::Program,
                vec![Segment { address: 0x1000, size: 0x1000, offset: 0x1000 }],
            ),
        ],
        functions: vec![
            function("main", PROGRAM, 0x1000),
            function("work<a; b>", PROGRAM, 0x1100),
            function("do_syscall_64", 0, 0xFFFF_FFFF_8100_0000),
        ],
        lines: vec![line("", 0), line("/src/main.c", 3), line("/src/main.c", 4), line("/src/work.h", 7)],
        pieces: vec![
            piece(0, PROGRAM, 0x1000, &[1, 2]),
            piece(1, PROGRAM, 0x1100, &[3]),
            piece(2, 0, 0xFFFF_FFFF_8100_0000, &[0]),
        ],
        contexts: vec![
            Context { process: Some("prog".into()), ..context(None, None) },
            context(Some(0), Some(0)),
            context(Some(1), Some(1)),
            context(Some(2), Some(2)),
        ],
        calls: vec![call(1, 0x1004, 2, 3), call(2, 0x1100, 2, 1), call(2, 0x1100, 3, 2)],
        rows: vec![row(1, 0, 10, 30), row(2, 1, 700, 100), row(3, 2, 40, 50)],
        jumps: vec![
            Jump {
                start: Place { image: 0, address: 0 },
                from: Place { image: 0, address: 5 },
                to: place(0x1000),
                count: 1,
                mispredicted: 0,
            },
            Jump { start: place(0x1000), from: place(0x1004), to: place(0x1100), count: 3, mispredicted: 1 },
            Jump {
                start: place(0x1100),
                from: place(0x1100),
                to: place(0x1100),
                count: 697,
                mispredicted: 0,
            },
            Jump { start: place(0x1100), from: place(0x1100), to: Place::NONE, count: 1, mispredicted: 0 },
            Jump {
                start: place(0x1100),
                from: place(0x1100),
                to: Place { image: 0, address: 5 },
                count: 2,
                mispredicted: 0,
            },
        ],
    }
}

#[test]
fn the_sum_over_functions_and_over_lines_is_the_whole() {
    for detail in [Detail::Counts, Detail::Timing] {
        let recording = recording(detail);
        assert!(recording.is_sound());
        let totals = Totals::new(&recording);
        assert_eq!((totals.whole().user, totals.whole().kernel), (720, 40));
        for rows in [Rows::by_function(&totals), Rows::by_line(&totals)] {
            assert_eq!(rows.rows.iter().map(|row| row.instructions).sum::<u64>(), rows.whole.instructions);
            let slots = |row: &super::rows::Row| row.model.map_or(0, |model| model.slots.slots);
            assert_eq!(rows.rows.iter().map(slots).sum::<u64>(), slots(&rows.whole));
            assert_eq!(slots(&rows.whole), if detail == Detail::Timing { 4 * 180 } else { 0 });
        }
    }
}

#[test]
fn functions_come_with_what_they_call() {
    let recording = recording(Detail::Counts);
    let rows = Rows::by_function(&Totals::new(&recording)).rows;
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.function.as_str(), row.instructions, row.instructions_with_callees))
        .collect();
    let expected = [("work<a; b>", 700, Some(740)), ("do_syscall_64", 40, Some(40)), ("main", 20, Some(760))];
    assert_eq!(found, expected);
}

#[test]
fn tables_fit_every_terminal() {
    for detail in [Detail::Counts, Detail::Timing] {
        let recording = recording(detail);
        let totals = Totals::new(&recording);
        output::assert_fits(&["main"], || table::render(&Rows::by_function(&totals), 0));
        output::assert_fits(&["main"], || table::render(&Rows::by_line(&totals), 0));
    }
}

#[test]
fn csv_has_a_row_for_each_line() {
    let recording = recording(Detail::Timing);
    let mut text = Vec::new();
    Rows::by_line(&Totals::new(&recording)).write_csv(&mut text).expect("to memory");
    let mut csv = csv::Reader::from_reader(&*text);
    let rows: Vec<BTreeMap<String, String>> =
        csv.deserialize().collect::<Result<_, _>>().expect("names and values");
    assert_eq!(rows.len(), 4);
    let work = rows.iter().find(|row| row["line"] == "7").expect("the line");
    let expected = ["/src/work.h", "700", "100", "400", "7.0000"];
    assert_eq!(["file", "instructions", "cycles", "slots", "ipc"].map(|name| work[name].as_str()), expected);
}

#[test]
fn folded_stacks_end_in_their_weight() {
    let recording = recording(Detail::Counts);
    let totals = Totals::new(&recording);
    let text = stacks::folded(&totals, Weight::Instructions);
    let expected = "prog;main 20\nprog;main;work<a_ b> 700\nprog;main;work<a_ b>;do_syscall_64_[k] 40\n";
    assert_eq!(text, expected);
}

#[test]
fn speedscope_and_firefox_have_every_weight() {
    let recording = recording(Detail::Timing);
    let totals = Totals::new(&recording);
    let sum = |weights: &serde_json::Value| -> u64 {
        weights.as_array().expect("weights").iter().filter_map(serde_json::Value::as_u64).sum()
    };
    let speedscope = stacks::speedscope(&totals, Weight::Cycles);
    let profile = &speedscope["profiles"][0];
    assert_eq!((sum(&profile["weights"]), profile["endValue"].as_u64()), (180, Some(180)));
    let frames = speedscope["shared"]["frames"].as_array().expect("frames").len() as u64;
    let samples =
        profile["samples"].as_array().expect("samples").iter().flat_map(|s| s.as_array().expect("frames"));
    assert!(samples.into_iter().all(|frame| frame.as_u64().is_some_and(|frame| frame < frames)));
    let firefox = serde_json::to_value(stacks::firefox(&totals, Weight::Instructions)).expect("JSON");
    let threads = firefox["threads"].as_array().expect("threads");
    let weights: u64 = threads.iter().map(|thread| sum(&thread["samples"]["weight"])).sum();
    assert_eq!(weights, 760);
}

#[test]
fn pprof_can_be_read_back() {
    let recording = recording(Detail::Timing);
    let file = pprof::file(&Totals::new(&recording)).expect("to memory");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&*file).read_to_end(&mut bytes).expect("gzip");
    let profile = pprof::Profile::decode(&*bytes).expect("a message");
    let mut sums = [0; 3];
    for sample in &profile.sample {
        sums.iter_mut().zip(&sample.value).for_each(|(sum, value)| *sum += value);
        for location in &sample.location_id {
            assert!(profile.location.iter().any(|known| known.id == *location));
        }
    }
    assert_eq!(sums, [720, 40, 180]);
    let text = |number: i64| profile.string_table[number as usize].as_str();
    assert_eq!((text(0), text(profile.default_sample_type)), ("", "cycles"));
    assert_eq!(profile.mapping.first().map(|mapping| text(mapping.filename)), Some("/bin/prog"));
    let files: Vec<_> =
        profile.function.iter().map(|found| (text(found.name), text(found.filename))).collect();
    let expected = [("main", "/src/main.c"), ("work<a; b>", "/src/work.h"), ("do_syscall_64", "")];
    assert_eq!(files, expected);
}

/// What callgrind_annotate adds up: lines of costs that do not follow one of calls.
fn callgrind_sums(text: &str) -> Vec<u64> {
    let mut sums = Vec::new();
    let mut called = false;
    for line in text.lines() {
        if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) && !std::mem::take(&mut called) {
            let numbers: Vec<u64> =
                line.split(' ').skip(1).map(|number| number.parse().expect("a number")).collect();
            sums.resize(numbers.len().max(sums.len()), 0);
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
    }
    sums
}

#[test]
fn callgrind_adds_up_to_its_totals() {
    for detail in [Detail::Counts, Detail::Timing] {
        let recording = recording(detail);
        let text = callgrind::text(&Totals::new(&recording));
        let sums = callgrind_sums(&text);
        assert_eq!(sums[..2], [720, 40]);
        let totals: Vec<String> = sums.iter().map(u64::to_string).collect();
        assert!(text.ends_with(&format!("\ntotals: {}\n", totals.join(" "))), "{text}");
        assert!(text.contains("calls=3 7\n4 700 40"), "what work costs with the kernel: {text}");
        assert!(text.contains("calls=1 7\n7 0 0"), "recursion is in the first call: {text}");
    }
}

#[test]
fn branches_are_those_within_the_program() {
    let recording = recording(Detail::Counts);
    let branches = Branches::new(&recording, None).expect("the program");
    let expected = "B 1004 1100 3 1\nB 1100 1100 697 0\nF 1000 1004 3\nF 1100 1100 700\n";
    assert_eq!(branches.bolt(), expected);
    let expected = "2\n1000-1004:3\n1100-1100:700\n0\n2\n1004->1100:3\n1100->1100:697\n";
    assert_eq!(branches.autofdo(), expected);
    let expected = "2\n1000-1004:3\n1100-1100:700\n3\n1->1000:1\n1004->1100:3\n1100->1100:697\n";
    assert_eq!(branches.profgen(), expected);
    assert!(Branches::new(&recording, Some("other")).is_err());
}

#[test]
fn what_is_no_recording_is_not_taken_for_one() {
    let mut broken = recording(Detail::Counts);
    broken.rows[0].piece = 7;
    assert!(!broken.is_sound());
    let mut broken = recording(Detail::Counts);
    broken.contexts[1].parent = Some(1);
    assert!(!broken.is_sound());
}
