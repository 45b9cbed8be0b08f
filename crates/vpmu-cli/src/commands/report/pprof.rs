//! pprof's profiles: `proto/profile.proto` of github.com/google/pprof, in gzip.

use super::totals::{Sum, Totals, by_instruction};
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use prost::Message;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write as _};
use vmm::engine::Detail;
use vmm::recording::data::{Image, ImageKind};

/// `message Profile`; numbers of fields are those of the file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub(super) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(super) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(super) mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    pub(super) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(super) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(super) string_table: Vec<String>,
    #[prost(int64, tag = "14")]
    pub(super) default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(super) kind: i64,
    #[prost(int64, tag = "2")]
    pub(super) unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    pub(super) location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) value: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(uint64, tag = "2")]
    pub(super) memory_start: u64,
    #[prost(uint64, tag = "3")]
    pub(super) memory_limit: u64,
    #[prost(int64, tag = "5")]
    pub(super) filename: i64,
    #[prost(int64, tag = "6")]
    pub(super) build_id: i64,
    #[prost(bool, tag = "7")]
    pub(super) has_functions: bool,
    #[prost(bool, tag = "9")]
    pub(super) has_line_numbers: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Location {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(uint64, tag = "2")]
    pub(super) mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    pub(super) line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Line {
    #[prost(uint64, tag = "1")]
    pub(super) function_id: u64,
    #[prost(int64, tag = "2")]
    pub(super) line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Function {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: i64,
    #[prost(int64, tag = "3")]
    pub(super) system_name: i64,
    #[prost(int64, tag = "4")]
    pub(super) filename: i64,
}

/// Names of what samples have.
const INSTRUCTIONS: &str = "instructions";
const CYCLES: &str = "cycles";

/// The file.
pub(super) fn file(totals: &Totals<'_>) -> io::Result<Vec<u8>> {
    // Neither a time nor a name: the same bytes for the same recording.
    let mut file: GzEncoder<Vec<u8>> = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    file.write_all(&profile(totals).encode_to_vec())?;
    file.finish()
}

/// A sample for each line of each context.
fn profile(totals: &Totals<'_>) -> Profile {
    let recording = totals.recording;
    let has_model = recording.detail == Detail::Timing;
    let mut sums = BTreeMap::<(usize, u32), Sum>::new();
    for row in &recording.rows {
        for (_, line, sum) in by_instruction(recording, row) {
            *sums.entry((row.context as usize, line)).or_default() += sum;
        }
    }
    let mut strings = Strings::default();
    let count = strings.number("count");
    let mut types = vec![INSTRUCTIONS, "kernel_instructions"];
    if has_model {
        types.push(CYCLES);
    }
    let sample_type =
        types.into_iter().map(|name| ValueType { kind: strings.number(name), unit: count }).collect();
    let files = vec![0; recording.functions.len()];
    let mut writer = Writer { totals, strings, locations: Vec::new(), known: HashMap::new(), files };
    let sample = sums
        .into_iter()
        .map(|((context, line), sum)| {
            let values = [sum.user, sum.kernel, sum.modelled.cycles()];
            let used = if has_model { 3 } else { 2 };
            let value =
                values[..used].iter().map(|value| i64::try_from(*value).unwrap_or(i64::MAX)).collect();
            Sample { location_id: writer.stack(context, line), value }
        })
        .collect();
    let Writer { mut strings, locations, files, .. } = writer;
    let function = (1..).zip(recording.functions.iter().zip(files)).map(|(id, (function, file))| Function {
        id,
        name: strings.number(&function.name),
        system_name: strings.number(&function.symbol),
        filename: strings.number(&recording.lines[file as usize].file),
    });
    let function = function.collect();
    let mut images: Vec<(u64, &Image)> = (1..).zip(&recording.images).collect();
    // The first one is taken for the program.
    images.sort_by_key(|(_, image)| image.kind != ImageKind::Program);
    let mapping = images.into_iter().map(|(id, image)| {
        let first = image.segments.first();
        Mapping {
            id,
            memory_start: first.map_or(0, |segment| segment.address),
            memory_limit: first.map_or(0, |segment| segment.address.saturating_add(segment.size)),
            filename: strings.number(if image.path.is_empty() { &image.name } else { &image.path }),
            build_id: strings.number(image.build_id.as_deref().unwrap_or_default()),
            has_functions: true,
            has_line_numbers: true,
        }
    });
    let mapping = mapping.collect();
    let default_sample_type = strings.number(if has_model { CYCLES } else { INSTRUCTIONS });
    Profile {
        sample_type,
        sample,
        mapping,
        location: locations,
        function,
        string_table: strings.list,
        default_sample_type,
    }
}

struct Writer<'a> {
    totals: &'a Totals<'a>,
    strings: Strings,
    locations: Vec<Location>,
    known: HashMap<(usize, u32), u64>,
    /// A line of each function, 0 where none is known: its file is the function's.
    files: Vec<u32>,
}

impl Writer<'_> {
    /// Locations, innermost first.
    fn stack(&mut self, context: usize, line: u32) -> Vec<u64> {
        let mut stack = Vec::new();
        let (mut next, mut line) = (Some(context), line);
        while let Some(context) = next {
            if let Some((function, _)) = self.totals.function(context) {
                stack.push(self.location(function, line));
            }
            next = self.totals.recording.contexts[context].parent.map(|parent| parent as usize);
            line = 0;
        }
        stack
    }

    fn location(&mut self, function: usize, line: u32) -> u64 {
        let recording = self.totals.recording;
        if line > 0 && self.files[function] == 0 {
            self.files[function] = line;
        }
        let locations = &mut self.locations;
        *self.known.entry((function, line)).or_insert_with(|| {
            let id = locations.len() as u64 + 1;
            let number = recording.lines[line as usize].number;
            locations.push(Location {
                id,
                mapping_id: u64::from(recording.functions[function].image) + 1,
                line: vec![Line { function_id: function as u64 + 1, line: number.into() }],
            });
            id
        })
    }
}

/// `string_table`, whose first is empty.
struct Strings {
    list: Vec<String>,
    numbers: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { list: vec![String::new()], numbers: HashMap::from([(String::new(), 0)]) }
    }
}

impl Strings {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
