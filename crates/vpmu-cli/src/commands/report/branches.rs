//! Branches of one file, exact, for optimisers of the code that was executed.

use crate::error::CliError;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use vmm::recording::data::{Image, ImageKind, Recording};

/// Branches within a file, and code between them.
#[derive(Debug, Default)]
pub(super) struct Branches {
    /// From, to: how often, and how often mispredicted.
    taken: BTreeMap<(u64, u64), (u64, u64)>,
    /// From where a branch went to the next branch that was taken.
    straight: BTreeMap<(u64, u64), u64>,
    /// Where branches of other files went.
    entered: BTreeMap<u64, u64>,
}

/// llvm-profgen's address of what is in no function (`ExternalAddr`).
const OUTSIDE: u64 = 1;

impl Branches {
    /// Of the file of this name, or of the program that executed most.
    pub(super) fn new(recording: &Recording, object: Option<&str>) -> Result<Self, CliError> {
        let mut executed = vec![0_u64; recording.images.len()];
        for row in &recording.rows {
            let piece = &recording.pieces[row.piece as usize];
            executed[usize::from(piece.place.image)] += row.count.saturating_mul(piece.lengths.len() as u64);
        }
        let wanted = |image: &Image| match object {
            Some(name) => image.name == name || image.path == name,
            None => image.kind == ImageKind::Program,
        };
        let images = recording.images.iter().enumerate().zip(&executed);
        let most = images.filter(|((_, image), count)| wanted(image) && **count > 0);
        let most = most.max_by_key(|(_, count)| **count).map(|(found, _)| found);
        let Some((number, _)) = most else {
            return Err(CliError::NoObject { name: object.unwrap_or("a program").to_owned() });
        };
        let mut branches = Self::default();
        for jump in &recording.jumps {
            let inside = |place: vmm::recording::data::Place| usize::from(place.image) == number;
            let (start, from, to) = (jump.start.address, jump.from.address, jump.to.address);
            let stays = inside(jump.from) && inside(jump.to);
            if stays {
                let (count, mispredicted) = branches.taken.entry((from, to)).or_default();
                *count += jump.count;
                *mispredicted += jump.mispredicted;
            } else if inside(jump.to) {
                *branches.entered.entry(to).or_default() += jump.count;
            }
            if inside(jump.start) && inside(jump.from) && start <= from {
                *branches.straight.entry((start, from)).or_default() += jump.count;
            }
        }
        Ok(branches)
    }

    /// BOLT's pre-aggregated profile (`perf2bolt -pa`, `llvm-bolt --pa`): a branch or a fall-through a line.
    pub(super) fn bolt(&self) -> String {
        let mut text = String::new();
        for ((from, to), (count, mispredicted)) in &self.taken {
            let _ = writeln!(text, "B {from:x} {to:x} {count} {mispredicted}");
        }
        for ((start, end), count) in &self.straight {
            let _ = writeln!(text, "F {start:x} {end:x} {count}");
        }
        text
    }
    /// The text that AutoFDO's tools read with `--profiler=text`: ranges, addresses, branches.
    pub(super) fn autofdo(&self) -> String {
        let mut text = self.ranges();
        let _ = write!(text, "0\n{}\n", self.taken.len());
        self.write_taken(&mut text);
        text
    }

    /// The text that `llvm-profgen --unsymbolized-profile --use-offset=0` reads: ranges, branches.
    pub(super) fn profgen(&self) -> String {
        let mut text = self.ranges();
        let _ = writeln!(text, "{}", self.taken.len() + self.entered.len());
        for (to, count) in &self.entered {
            let _ = writeln!(text, "{OUTSIDE:x}->{to:x}:{count}");
        }
        self.write_taken(&mut text);
        text
    }

    fn ranges(&self) -> String {
        let mut text = format!("{}\n", self.straight.len());
        for ((start, end), count) in &self.straight {
            let _ = writeln!(text, "{start:x}-{end:x}:{count}");
        }
        text
    }

    fn write_taken(&self, text: &mut String) {
        for ((from, to), (count, _)) in &self.taken {
            let _ = writeln!(text, "{from:x}->{to:x}:{count}");
        }
    }
}
