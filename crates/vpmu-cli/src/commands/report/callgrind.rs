//! Callgrind's profile format (Valgrind manual, "Callgrind Format Specification"): exact counts by line, and calls with
//! what they cost.

use super::totals::{Sum, Totals, by_instruction};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use vmm::engine::Detail;
use vmm::recording::data::{MODELLED, Place};

/// Where a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    function: usize,
    /// Position in the recording's lines.
    line: u32,
}

/// Names that are written once, and as numbers from then on.
#[derive(Debug, Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn write(&mut self, name: &str) -> String {
        let next = self.0.len() + 1;
        match self.0.get(name) {
            Some(number) => format!("({number})"),
            None => {
                self.0.insert(name.to_owned(), next);
                format!("({next}) {name}")
            }
        }
    }
}

/// The whole file.
pub(super) fn text(totals: &Totals<'_>) -> String {
    let recording = totals.recording;
    let has_model = recording.detail == Detail::Timing;
    let mut own = BTreeMap::<At, Sum>::new();
    let mut lines = HashMap::<Place, u32>::new();
    for row in &recording.rows {
        let piece = &recording.pieces[row.piece as usize];
        let function = piece.function as usize;
        for (address, line, sum) in by_instruction(recording, row) {
            lines.insert(Place { image: piece.place.image, address }, line);
            *own.entry(At { function, line }).or_default() += sum;
        }
    }
    let mut calls = BTreeMap::<(At, usize), (u64, Sum)>::new();
    for call in &recording.calls {
        let (Some((from, _)), Some((to, _))) =
            (totals.function(call.from as usize), totals.function(call.to as usize))
        else {
            continue;
        };
        let line = lines.get(&call.site).copied().unwrap_or(0);
        let (count, sum) = calls.entry((At { function: from, line }, to)).or_default();
        *count += call.count;
        *sum += totals.of_call(call);
        own.entry(At { function: from, line }).or_default();
    }
    let first_lines = first_lines(&own);
    let events: Vec<&str> = if has_model { MODELLED.to_vec() } else { Vec::new() };
    let mut text = format!(
        "# callgrind format\nversion: 1\ncreator: vpmu-{}\ncmd: {}\npositions: line\n",
        env!("CARGO_PKG_VERSION"),
        recording.program.join(" ").replace('\n', " ")
    );
    text += "event: Ir : Instructions of the program\nevent: Kr : Instructions of the kernel for it\n";
    let _ = writeln!(text, "events: Ir Kr{}{}", if has_model { " " } else { "" }, events.join(" "));
    let _ = writeln!(text, "summary: {}\n", costs(&totals.whole(), has_model));
    let mut writer = Writer { totals, has_model, names: Default::default(), text };
    let mut before = None;
    for (at, sum) in &own {
        if before != Some(at.function) {
            writer.function(at.function, first_lines[&at.function]);
            before = Some(at.function);
        }
        writer.line(*at, sum, first_lines[&at.function]);
        for ((_, to), (count, sum)) in calls.range((*at, 0)..=(*at, usize::MAX)) {
            writer.call(*to, first_lines.get(to).copied().unwrap_or(0), *count, at.line, sum);
        }
    }
    let _ = writeln!(writer.text, "\ntotals: {}", costs(&totals.whole(), has_model));
    writer.text
}

/// A line of each function, whose file is the function's: the one that counts most.
fn first_lines(own: &BTreeMap<At, Sum>) -> HashMap<usize, u32> {
    let mut best = HashMap::<usize, (u64, u32)>::new();
    for (at, sum) in own {
        let best = best.entry(at.function).or_insert((0, at.line));
        if sum.instructions() > best.0 {
            *best = (sum.instructions(), at.line);
        }
    }
    best.into_iter().map(|(function, (_, line))| (function, line)).collect()
}

fn costs(sum: &Sum, has_model: bool) -> String {
    let mut text = format!("{} {}", sum.user, sum.kernel);
    for figure in sum.modelled.0.iter().filter(|_| has_model) {
        let _ = write!(text, " {figure}");
    }
    text
}

struct Writer<'a> {
    totals: &'a Totals<'a>,
    has_model: bool,
    names: [Names; 3],
    text: String,
}

impl Writer<'_> {
    fn file_of(&mut self, line: u32) -> String {
        let file = &self.totals.recording.lines[line as usize].file;
        self.names[1].write(if file.is_empty() { "???" } else { file })
    }

    fn name_of(&mut self, function: usize) -> (String, String) {
        let recording = self.totals.recording;
        let function = &recording.functions[function];
        let image = &recording.images[usize::from(function.image)];
        let object = if image.path.is_empty() { &image.name } else { &image.path };
        // Two functions may have one name.
        let object = self.names[0].write(object);
        (object, self.names[2].write(&function.name))
    }

    fn function(&mut self, function: usize, line: u32) {
        let (object, name) = self.name_of(function);
        let file = self.file_of(line);
        let _ = write!(self.text, "\nob={object}\nfl={file}\nfn={name}\n");
    }

    fn line(&mut self, at: At, sum: &Sum, first: u32) {
        let recording = self.totals.recording;
        let line = &recording.lines[at.line as usize];
        let home = &recording.lines[first as usize].file;
        // Of another file, for what is inlined.
        let file = self.file_of(at.line);
        let key = if line.file == *home { "fe" } else { "fi" };
        let _ = write!(self.text, "{key}={file}\n{} {}\n", line.number, costs(sum, self.has_model));
    }

    fn call(&mut self, to: usize, to_line: u32, count: u64, from_line: u32, sum: &Sum) {
        let recording = self.totals.recording;
        let (object, name) = self.name_of(to);
        let file = self.file_of(to_line);
        let (target, source) =
            (recording.lines[to_line as usize].number, recording.lines[from_line as usize].number);
        let _ = write!(
            self.text,
            "cob={object}\ncfi={file}\ncfn={name}\ncalls={count} {target}\n{source} {}\n",
            costs(sum, self.has_model)
        );
    }
}
