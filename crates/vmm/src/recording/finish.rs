//! From what was recorded to what is written: processes by name, and code by line.

use super::data::{Function, Image, ImageKind, Line, Piece, Recording, VERSION};
use super::recorder::{Recorded, Recorder, is_kernel};
use crate::engine::Detail;
use addr2line::Loader;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

impl Recorder {
    /// Everything that was recorded, with lines where files of the host have debug information.
    #[must_use]
    pub fn finish(self, program: Vec<String>, profile: &str, detail: Detail) -> Recording {
        let Recorded { images, functions, mut pieces, mut contexts, mut calls, mut rows, mut jumps } =
            self.into_parts();
        let lines = Lines::default().of(&images, &mut pieces);
        let root = |mut context: u32| {
            while let Some(parent) = contexts.get(context as usize).and_then(|found| found.parent) {
                context = parent;
            }
            context
        };
        // An address space in which only the kernel has run is its own.
        let mut names = BTreeMap::<u32, &str>::new();
        for row in &rows {
            let place = pieces[row.piece as usize].place;
            if is_kernel(place) {
                continue;
            }
            let image = &images[usize::from(place.image)].0;
            let name = names.entry(root(row.context)).or_default();
            if image.kind == ImageKind::Program && name.is_empty() {
                *name = &image.name;
            }
        }
        let processes: BTreeSet<u32> = names.keys().copied().collect();
        rows.retain(|row| processes.contains(&root(row.context)));
        calls.retain(|call| processes.contains(&root(call.from)));
        let names: Vec<(u32, String)> =
            names.into_iter().map(|(root, name)| (root, name.to_owned())).collect();
        for (root, name) in names {
            contexts[root as usize].process = Some(name);
        }
        jumps.sort_by_key(|jump| (jump.start, jump.from, jump.to));
        Recording {
            version: VERSION,
            program,
            profile: profile.to_owned(),
            detail,
            images: images.into_iter().map(|(image, _)| image).collect(),
            functions: functions.into_iter().map(tidy).collect(),
            lines,
            pieces,
            contexts,
            calls,
            rows,
            jumps,
        }
    }
}

/// Names without what would break lines of text.
fn tidy(function: Function) -> Function {
    let plain = |text: String| text.replace(['\n', '\r'], " ");
    Function { name: plain(function.name), symbol: plain(function.symbol), ..function }
}

/// Lines by number.
#[derive(Default)]
struct Lines {
    lines: Vec<Line>,
    numbers: FxHashMap<Line, u32>,
}

impl Lines {
    fn number(&mut self, line: Line) -> u32 {
        let lines = &mut self.lines;
        *self.numbers.entry(line).or_insert_with_key(|line| {
            lines.push(line.clone());
            u32::try_from(lines.len() - 1).unwrap_or(0)
        })
    }

    /// All lines, which pieces get.
    fn of(mut self, images: &[(Image, PathBuf)], pieces: &mut [Piece]) -> Vec<Line> {
        let none = self.number(Line { file: String::new(), number: 0 });
        let mut loaders = BTreeMap::new();
        let mut known = FxHashMap::default();
        for piece in pieces {
            let image = piece.place.image;
            let (_, path) = &images[usize::from(image)];
            let loader = loaders
                .entry(image)
                .or_insert_with(|| if path.as_os_str().is_empty() { None } else { Loader::new(path).ok() });
            let mut address = piece.place.address;
            for length in &piece.lengths {
                let line = *known.entry((image, address)).or_insert_with(|| {
                    let found =
                        loader.as_ref().and_then(|loader| loader.find_location(address).ok().flatten());
                    found.map_or(none, |found| {
                        let file = found.file.unwrap_or_default().to_owned();
                        self.number(Line { file, number: found.line.unwrap_or(0) })
                    })
                });
                piece.lines.push(line);
                address = address.wrapping_add(u64::from(*length));
            }
        }
        self.lines
    }
}
