//! Branches of one file, exact, for optimisers of the code that was executed.

use crate::error::CliError;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use vmm::recording::data::{Image, ImageKind, Recording};

/// Branches within a file, and code between them.
#[derive(Debug, Default)]
pub(super) struct Branches<'a> {
    image: Option<&'a Image>,
    /// From, to: how often, and how often mispredicted.
    taken: BTreeMap<(u64, u64), (u64, u64)>,
    /// From where a branch went to the next branch that was taken.
    straight: BTreeMap<(u64, u64), u64>,
    /// The same with the branch after it: start, from, to.
    traces: BTreeMap<(u64, u64, Option<u64>), u64>,
}

impl<'a> Branches<'a> {
    /// Of the file of this name, or of the program that executed most.
    pub(super) fn new(recording: &'a Recording, object: Option<&str>) -> Result<Self, CliError> {
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
        let Some((number, image)) = most else {
            return Err(CliError::NoObject { name: object.unwrap_or("a program").to_owned() });
        };
        let mut branches = Self { image: Some(image), ..Self::default() };
        for jump in &recording.jumps {
            let inside = |place: vmm::recording::data::Place| usize::from(place.image) == number;
            let (start, from, to) = (jump.start.address, jump.from.address, jump.to.address);
            let stays = inside(jump.from) && inside(jump.to);
            if stays {
                let (count, mispredicted) = branches.taken.entry((from, to)).or_default();
                *count += jump.count;
                *mispredicted += jump.mispredicted;
            }
            if inside(jump.start) && inside(jump.from) && start <= from {
                *branches.straight.entry((start, from)).or_default() += jump.count;
                *branches.traces.entry((start, from, stays.then_some(to))).or_default() += jump.count;
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

    /// The text that AutoFDO's `create_llvm_prof --profiler=text` reads: ranges, addresses, branches.
    pub(super) fn autofdo(&self) -> String {
        let mut text = format!("{}\n", self.straight.len());
        for ((start, end), count) in &self.straight {
            let _ = writeln!(text, "{start:x}-{end:x}:{count}");
        }
        let _ = write!(text, "0\n{}\n", self.taken.len());
        for ((from, to), (count, _)) in &self.taken {
            let _ = writeln!(text, "{from:x}->{to:x}:{count}");
        }
        text
    }

    /// What `perf script --show-mmap-events -F ip,brstack` prints, with a count before each sample, as
    /// `llvm-profgen --perfscript` takes it: the branch into a piece of straight code, and the one out of it.
    pub(super) fn brstack(&self) -> String {
        let mut text = String::new();
        if let Some(image) = self.image {
            for segment in &image.segments {
                let (address, size, offset) = (segment.address, segment.size, segment.offset);
                let _ = writeln!(
                    text,
                    "PERF_RECORD_MMAP2 1/1: [{address:#x}({size:#x}) @ {offset:#x} 00:00 0 0]: r-xp {}",
                    image.path
                );
            }
        }
        for ((start, from, to), count) in &self.traces {
            // Where a trace began is known, not from where it was reached; one that leaves the file ends outside.
            let to = to.unwrap_or(u64::MAX);
            let _ = writeln!(
                text,
                "{count}\n\t{from:16x}  {from:#x}/{to:#x}/P/-/-/0  {:#x}/{start:#x}/P/-/-/0",
                u64::MAX
            );
        }
        text
    }
}
