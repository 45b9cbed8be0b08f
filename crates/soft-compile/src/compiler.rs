//! Compiles blocks, links them, and enters their code.

use crate::branch::{TABLE, TABLE_ENTRY, table_entry};
use crate::emit::Emitter;
use crate::frame::{self, BETWEEN, CLASSES, Passed, packed, unpacked};
use crate::memory::{CODE, Memory, WORDS};
use crate::ram::Ram;
use crate::registers::{self, LOADED_BY, Vectors};
use crate::translate::{Surroundings, translate};
use core::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};
use soft_cpu::compiled::{Code, Compiler, Entry, Exit, Frame, NotCompiled, Resume, Source};
use soft_cpu::{CpuidLeaf, Features};
use std::io;

/// Links at most: what is left of the words behind the table, two each.
const LINKS: u32 = ((WORDS - TABLE * TABLE_ENTRY) / 2) as u32;
const FIRST_LINK_WORD: usize = TABLE * TABLE_ENTRY;
/// Room that a block may need, and links.
const LARGEST: usize = 1 << 15;
const LINKS_OF_BLOCK: u32 = 4;
/// Where blocks begin in the host's memory.
const ALIGNMENT: usize = 16;

/// Executions that make a block hot.
pub const HOT: u32 = 24;

/// Compiles blocks for a guest with such RAM.
#[derive(Debug)]
pub struct BlockCompiler {
    memory: Memory,
    ram: Ram,
    threshold: u32,
    /// Where the blocks begin.
    blocks: Vec<usize>,
    /// Bytes of code.
    used: usize,
    /// Links.
    links: u32,
    /// Where the code begins that goes out.
    exit: usize,
    /// Where the functions begin that move limits.
    refill: [usize; CLASSES.len()],
    /// Where the code begins that loads vector registers: those of SSE, AVX and AVX-512.
    load_vectors: [usize; 3],
    /// Behind all of that.
    first: usize,
    /// What this host's CPU has.
    host: Features,
    intel: bool,
    /// The link by which code was left last, and the address that it leads to.
    left_by: Option<(u32, u64)>,
}

/// Whether this host's CPU is Intel's (SDM volume 2, CPUID leaf 0).
fn is_intel() -> bool {
    let CpuidResult { ebx, ecx, edx, .. } = __cpuid(0);
    [ebx, edx, ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
}

impl BlockCompiler {
    /// A compiler for blocks that have been executed so often; 0 compiles all.
    ///
    /// # Errors
    /// Those of the system: there is no memory that may be executed.
    pub fn new(ram: Ram, threshold: u32) -> io::Result<Self> {
        Self::with_vectors(ram, threshold, Vectors::Avx512)
    }

    /// The same as on a host that has no more vector registers than these.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_vectors(ram: Ram, threshold: u32, most: Vectors) -> io::Result<Self> {
        let widest = Vectors::of_host().min(most).max(Vectors::Sse);
        // Bit 0: LAHF and SAHF in 64-bit mode (SDM volume 2, CPUID).
        if !ram.suffices() || __cpuid(0x8000_0001).ecx & 1 == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut memory = Memory::new()?;
        let start = memory.code() as u64;
        let mut entry = Emitter::new(start);
        frame::entry(&mut entry);
        let entry = entry.finish().ok_or(io::ErrorKind::Unsupported)?;
        let exit = entry.len().next_multiple_of(ALIGNMENT);
        let mut leave = Emitter::new(start + exit as u64);
        frame::exit(&mut leave, |e| registers::store(e, widest));
        let leave = leave.finish().ok_or(io::ErrorKind::Unsupported)?;
        memory.write_code(0, &entry);
        memory.write_code(exit, &leave);
        let mut first = (exit + leave.len()).next_multiple_of(ALIGNMENT);
        let mut refill = [0; CLASSES.len()];
        for (class, at) in refill.iter_mut().enumerate() {
            *at = first;
            let mut moves = Emitter::new(start + first as u64);
            frame::refill(&mut moves, class);
            let moves = moves.finish().ok_or(io::ErrorKind::Unsupported)?;
            memory.write_code(first, &moves);
            first = (first + moves.len()).next_multiple_of(ALIGNMENT);
        }
        let mut load_vectors = [0; 3];
        for (at, wanted) in load_vectors.iter_mut().zip(LOADED_BY) {
            *at = first;
            let mut load = Emitter::new(start + first as u64);
            registers::load(&mut load, wanted, widest);
            let load = load.finish().ok_or(io::ErrorKind::Unsupported)?;
            memory.write_code(first, &load);
            first = (first + load.len()).next_multiple_of(ALIGNMENT);
        }
        Ok(Self {
            memory,
            ram,
            threshold,
            blocks: Vec::new(),
            used: first,
            links: 0,
            exit,
            refill,
            load_vectors,
            first,
            host: Features::of(|leaf, subleaf| {
                let CpuidResult { eax, ebx, ecx, edx } = __cpuid_count(leaf, subleaf);
                CpuidLeaf { eax, ebx, ecx, edx }
            }),
            intel: is_intel(),
            left_by: None,
        })
    }

    fn address(&self, at: usize) -> u64 {
        self.memory.code() as u64 + at as u64
    }

    /// From now on code goes on by itself from where it was left last, and so do returns and the like.
    fn link(&mut self, frame: &Frame<'_>, code: u64) {
        if let Some((link, target)) = self.left_by.take()
            && target == frame.rip
        {
            let word = FIRST_LINK_WORD + 2 * link as usize;
            self.memory.set_word(word, frame.epoch);
            self.memory.set_word(word + 1, code);
        }
        let entry = table_entry(frame.rip) * TABLE_ENTRY;
        self.memory.set_word(entry, frame.rip);
        self.memory.set_word(entry + 1, frame.epoch);
        self.memory.set_word(entry + 2, code);
    }
}

impl Compiler for BlockCompiler {
    fn threshold(&self) -> u32 {
        self.threshold
    }

    fn compile(&mut self, source: &Source<'_>) -> Result<Code, NotCompiled> {
        if self.used + LARGEST > CODE || self.links + LINKS_OF_BLOCK > LINKS {
            return Err(NotCompiled::Full);
        }
        let surroundings = Surroundings {
            start: self.address(self.used),
            offset: self.used as u32,
            exit: self.address(self.exit),
            refill: self.refill.map(|at| self.address(at)),
            load_vectors: self.load_vectors.map(|at| self.address(at)),
            link_words: self.memory.word_address(FIRST_LINK_WORD),
            table: self.memory.word_address(0),
            host: self.host,
            intel: self.intel,
        };
        let translated = translate(source, &surroundings, self.links);
        let (bytes, links) = translated.ok_or(NotCompiled::Unsuitable)?;
        if bytes.len() > LARGEST || !self.memory.write_code(self.used, &bytes) {
            return Err(NotCompiled::Unsuitable);
        }
        let number = u32::try_from(self.blocks.len()).map_err(|_| NotCompiled::Full)?;
        self.links = links;
        self.blocks.push(self.used);
        self.used = (self.used + bytes.len()).next_multiple_of(ALIGNMENT);
        Ok(Code(number))
    }

    fn run(&mut self, entry: Entry, frame: &mut Frame<'_>) -> Exit {
        let entry = match entry {
            Entry::Block(code) => {
                let Some(at) = self.blocks.get(code.0 as usize).copied() else {
                    return Exit::Between;
                };
                let entry = self.address(at);
                self.link(frame, entry);
                entry
            }
            // What code said itself when it was left.
            Entry::Inside(resume) if (self.first..self.used).contains(&(resume.at as usize)) => {
                self.address(resume.at as usize)
            }
            Entry::Inside(_) => return Exit::Between,
        };
        let mut passed = self.ram.passed(frame);
        passed.flags = packed(frame.flags);
        self.memory.enter(entry, &mut passed);
        let Passed { rip, block, detail, flags, note, mxcsr, no_floats, resume, .. } = passed;
        frame.next = frame.notes.number_of(note);
        frame.flags = unpacked(flags);
        frame.rip = rip;
        if no_floats == 0 {
            frame.mxcsr = mxcsr;
        }
        if block == BETWEEN {
            self.left_by = (detail != BETWEEN).then_some((detail, rip));
            return Exit::Between;
        }
        self.left_by = None;
        let (instruction, next) = (detail & 0xFF, detail >> 8);
        let resume = (resume != 0).then_some(Resume { at: resume, instruction: next });
        Exit::Inside { block, instruction, resume }
    }

    fn clear(&mut self) {
        self.memory.clear_words(FIRST_LINK_WORD + 2 * self.links as usize);
        self.blocks.clear();
        self.left_by = None;
        (self.used, self.links) = (self.first, 0);
    }
}
