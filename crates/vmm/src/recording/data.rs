//! A recording: what a program executed, by function, line and caller. `vpmu record` writes it as JSON.

use crate::engine::Detail;
use serde::{Deserialize, Serialize};

/// Of the format; another one is not read.
pub const VERSION: u32 = 1;

/// What a piece of code may be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    /// The kernel.
    Kernel,
    /// None of the files: the vDSO, or code that the program has written.
    Unknown,
    /// A program.
    Program,
    /// A library, or the dynamic linker.
    Library,
}

/// A file with code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its name without directories.
    pub name: String,
    /// Its path in the guest.
    pub path: String,
    /// Its build ID in hexadecimal digits.
    pub build_id: Option<String>,
    /// What it is.
    pub kind: ImageKind,
    /// Its code, as its program headers have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
}

/// A segment of code in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Where it is linked for.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

/// An address in an image, as that file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Position in [`Recording::images`].
    #[serde(rename = "i")]
    pub image: u16,
    /// Address, by the file's program headers.
    #[serde(rename = "a")]
    pub address: u64,
}

impl Place {
    /// No place.
    pub const NONE: Self = Self { image: u16::MAX, address: 0 };

    /// So many bytes further.
    #[must_use]
    pub fn plus(self, bytes: u64) -> Self {
        Self { address: self.address.wrapping_add(bytes), ..self }
    }
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Function {
    /// Its name, demangled; its address, or the file's name, where it has none.
    pub name: String,
    /// Its name in the symbol table.
    pub symbol: String,
    /// Position in [`Recording::images`].
    pub image: u16,
    /// Where it begins.
    pub address: u64,
    /// Bytes; 0 if that is not known.
    pub size: u64,
}

/// Instructions that were executed one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Position in [`Recording::functions`].
    pub function: u32,
    /// The first instruction.
    pub place: Place,
    /// Bytes of each instruction.
    pub lengths: Vec<u8>,
    /// The line of each: positions in [`Recording::lines`].
    pub lines: Vec<u32>,
}

impl Piece {
    /// The address of each instruction with its line.
    pub fn instructions(&self) -> impl Iterator<Item = (u64, u32)> {
        let mut address = self.place.address;
        self.lengths.iter().zip(&self.lines).map(move |(length, line)| {
            let this = address;
            address = address.wrapping_add(u64::from(*length));
            (this, *line)
        })
    }
}

/// A line of source code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Line {
    /// Its file, as debug information has it; empty where there is none.
    pub file: String,
    /// Its number; 0 where it is not known.
    pub number: u32,
}

/// A function as it was called from another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The caller's, before this one in [`Recording::contexts`]; `None` for the first function of a process.
    pub parent: Option<u32>,
    /// Position in [`Recording::functions`]; `None` for what an address space is.
    pub function: Option<u32>,
    /// The name of the program that an address space was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
}

/// How often a context was entered from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The caller's context.
    pub from: u32,
    /// The instruction that calls.
    pub site: Place,
    /// The context that was entered: a parent of the caller's where a function calls itself.
    pub to: u32,
    /// How often.
    pub count: u64,
    /// By a jump, so that the callee returns to the caller's caller.
    pub jump: bool,
}

/// Numbers of things that a model of the core counts, in this order: see [`MODELLED`].
pub const FIGURES: usize = 13;
/// Their names. The slots are the leaves of TMA level 2.
pub const MODELLED: [&str; FIGURES] = [
    "cycles",
    "light_operations",
    "heavy_operations",
    "branch_mispredicts",
    "machine_clears",
    "fetch_latency",
    "fetch_bandwidth",
    "memory_bound",
    "core_bound",
    "mispredicted_branches",
    "l1_misses",
    "l2_misses",
    "l3_misses",
];

/// What the model says of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Modelled(pub [u64; FIGURES]);

impl Modelled {
    /// Core cycles.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.0[0]
    }

    /// Slots by leaf of TMA level 2, in the order of [`MODELLED`].
    #[must_use]
    pub fn slots(&self) -> [u64; 8] {
        std::array::from_fn(|leaf| self.0[1 + leaf])
    }

    /// Mispredicted branches.
    #[must_use]
    pub fn mispredicted(&self) -> u64 {
        self.0[9]
    }

    /// What has been added since.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self(std::array::from_fn(|n| self.0[n].wrapping_sub(before.0[n])))
    }
}

impl std::ops::AddAssign for Modelled {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum = sum.wrapping_add(more);
        }
    }
}

/// How often a piece was executed in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Position in [`Recording::contexts`].
    pub context: u32,
    /// Position in [`Recording::pieces`].
    pub piece: u32,
    /// Executions.
    pub count: u64,
    /// What the model says, with `--detail timing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled: Option<Modelled>,
}

/// How often a branch was taken after another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jump {
    /// Where the branch before it went; from there on nothing jumped.
    pub start: Place,
    /// The branch.
    pub from: Place,
    /// Where it went; [`Place::NONE`] where a signal or the program's end came in place of a branch.
    pub to: Place,
    /// How often.
    pub count: u64,
    /// Of these, mispredicted by the model.
    pub mispredicted: u64,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// [`VERSION`].
    pub version: u32,
    /// The program with its arguments.
    pub program: Vec<String>,
    /// The profile of the CPU.
    pub profile: String,
    /// Whether a model of the core counted as well.
    pub detail: Detail,
    /// Files with code.
    pub images: Vec<Image>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Lines; the first is that of code without one.
    pub lines: Vec<Line>,
    /// Code that was executed.
    pub pieces: Vec<Piece>,
    /// Who called whom.
    pub contexts: Vec<Context>,
    /// Calls between contexts.
    pub calls: Vec<Call>,
    /// How often what was executed where.
    pub rows: Vec<Row>,
    /// Branches of the program itself, not of the kernel.
    pub jumps: Vec<Jump>,
}

impl Recording {
    /// Whether every position in it is one: a file may say anything.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let below = |position: u32, len: usize| (position as usize) < len;
        let place = |place: &Place| *place == Place::NONE || usize::from(place.image) < self.images.len();
        let contexts = self.contexts.iter().enumerate().all(|(number, context)| {
            context.parent.is_none_or(|parent| below(parent, number))
                && context.function.is_none_or(|function| below(function, self.functions.len()))
        });
        contexts
            && self.functions.iter().all(|function| usize::from(function.image) < self.images.len())
            && self.pieces.iter().all(|piece| {
                below(piece.function, self.functions.len())
                    && usize::from(piece.place.image) < self.images.len()
                    && piece.lines.len() == piece.lengths.len()
                    && piece.lines.iter().all(|line| below(*line, self.lines.len()))
            })
            && self.calls.iter().all(|call| {
                below(call.from, self.contexts.len())
                    && below(call.to, self.contexts.len())
                    && place(&call.site)
            })
            && self
                .rows
                .iter()
                .all(|row| below(row.context, self.contexts.len()) && below(row.piece, self.pieces.len()))
            && self.jumps.iter().all(|jump| [jump.start, jump.from, jump.to].iter().all(place))
            && !self.lines.is_empty()
    }
}
