//! Blocks on the core model: the interpreter runs their images, and the model observes.

use super::image::{
    self, ALIAS, CODE, COUNT, DATA, Entry, FS, FXSAVE, GS, IMAGE, IMAGES, Image, PAGE, TEMPLATE,
};
use crate::silicon::block::{MEASURED_ITERATIONS, MODEL_ITERATIONS, Way, decode, shapes, stores};
use core_model::{Core, Model};
use retire::{Block, BlockId, CoreEvent, Instruction, Observer};
use soft_cpu::{Access, Budget, Bus, Cpu, CpuidLeaf, Exit, GeneralProtection, Segment, State, describe};
use std::collections::VecDeque;

/// Where things are in RAM: page tables at its end, which grow.
const CODE_PHYSICAL: u64 = 0x10_0000;
const DATA_PHYSICAL: u64 = CODE_PHYSICAL + IMAGES;
const SHARED_PHYSICAL: u64 = DATA_PHYSICAL + 4 * PAGE;
const TEMPLATE_PHYSICAL: u64 = SHARED_PHYSICAL + PAGE;
const TABLES: u64 = TEMPLATE_PHYSICAL + PAGE;
const RAM: u64 = TABLES + 0x60_0000;
/// Bits of entries: present, writable, user, accessed, dirty; and a large page.
const FLAGS: u64 = 0x67;
const LARGE: u64 = 0x80;
/// Pages that a block may touch.
const MOST_PAGES: usize = 2048;
/// Executions of an image whose cycles count, after those that fill caches and predictors, and one more behind them: a
/// jump that ends them is mispredicted of some images and not of others.
const EXECUTIONS: u64 = 4;
const WARM: u64 = 2;
/// Instructions of one run at most.
const BUDGET: u64 = 4_000_000;
/// Stores that a load can still be forwarded from, as far as classes of blocks go.
const FORWARDERS: usize = 56;

/// What a block took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    /// Cycles for one execution.
    pub(crate) cycles: f64,
    /// A load read what a store in the store buffer wrote.
    pub(crate) forwards: bool,
}

/// Why a block has no figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It uses all registers, is too long, or is not code.
    Shape,
    /// It raises an exception, or executes what the interpreter does not know.
    Exception,
    /// It touches too many pages.
    Pages,
    /// It does not end.
    Endless,
}

/// The model behind a look at what is forwarded.
struct Watched {
    model: Model,
    newest: VecDeque<(u64, u64)>,
    forwards: bool,
}

impl Observer for Watched {
    fn define(&mut self, instructions: &[Instruction]) -> BlockId {
        self.model.define(instructions)
    }

    fn release(&mut self, block: BlockId) {
        self.model.release(block);
    }

    fn retire(&mut self, block: &Block<'_>) -> bool {
        let own = |linear: u64| (DATA..DATA + 0x10_0000).contains(&linear);
        let looked_at = if self.forwards { &[] } else { block.memory };
        for access in looked_at.iter().filter(|access| !own(access.linear)) {
            let (from, to) = (access.linear, access.linear.wrapping_add(access.size.into()));
            if access.write {
                self.newest.truncate(FORWARDERS - 1);
                self.newest.push_front((from, to));
            } else {
                self.forwards |= self.newest.iter().any(|&(first, end)| from < end && first < to);
            }
        }
        self.model.retire(block)
    }

    fn event(&mut self, event: CoreEvent) {
        self.model.event(event);
    }

    fn quiet_horizon(&mut self) -> u64 {
        self.model.quiet_horizon()
    }
}

/// RAM, and the model.
pub(super) struct Board {
    ram: Vec<u8>,
    watched: Watched,
    tables: u64,
}

impl Board {
    /// With so many bytes of RAM.
    pub(super) fn new(model: Model, ram: u64) -> Self {
        let watched = Watched { model, newest: VecDeque::new(), forwards: false };
        Self { ram: vec![0; ram.max(RAM) as usize], watched, tables: TABLES + PAGE }
    }

    /// Everything so far has retired; cycles until then.
    pub(super) fn cycles(&mut self) -> u64 {
        self.watched.model.event(CoreEvent::Serialise);
        self.watched.model.cycles()
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) {
        if let Some(place) = self.ram.get_mut(at as usize..at as usize + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn entry(&self, at: u64) -> u64 {
        let bytes = self.ram.get(at as usize..at as usize + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    }

    /// Maps a page; false if it is mapped already or there is no room.
    pub(super) fn map(&mut self, linear: u64, physical: u64) -> bool {
        self.map_page(linear, physical | FLAGS, 0)
    }

    /// Maps a page of 2 MiB.
    pub(super) fn map_large(&mut self, linear: u64, physical: u64) -> bool {
        self.map_page(linear, physical | FLAGS | LARGE, 1)
    }

    /// Writes the entry of a page in a table of this level.
    fn map_page(&mut self, linear: u64, entry: u64, lowest: u32) -> bool {
        let mut table = TABLES;
        for level in (lowest + 1..4).rev() {
            let at = table + (linear >> (12 + 9 * level) & 511) * 8;
            if self.entry(at) == 0 {
                if self.tables + PAGE > RAM {
                    return false;
                }
                self.write(at, &(self.tables | FLAGS).to_le_bytes());
                self.tables += PAGE;
            }
            table = self.entry(at) & !0xFFF;
        }
        let at = table + (linear >> (12 + 9 * lowest) & 511) * 8;
        let new = self.entry(at) == 0;
        self.write(at, &entry.to_le_bytes());
        new
    }
}

impl soft_cpu::Ram for Board {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        (gpa < self.ram.len() as u64).then_some(gpa)
    }
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.ram[position as usize..position as usize + N]);
        bytes
    }
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]) {
        self.ram[position as usize..position as usize + N].copy_from_slice(&bytes);
    }
}

impl Bus for Board {
    const OBSERVED: bool = true;

    fn mmio_read(&mut self, _: u64, data: &mut [u8], _: &Access<'_>) {
        data.fill(0xFF);
    }
    fn mmio_write(&mut self, _: u64, _: &[u8], _: &Access<'_>) {}
    fn port_in(&mut self, _: u16, data: &mut [u8], _: &Access<'_>) {
        data.fill(0xFF);
    }
    fn port_out(&mut self, _: u16, _: &[u8], _: &Access<'_>) {}
    fn rdmsr(&mut self, _: u32, _: &Access<'_>) -> Result<u64, GeneralProtection> {
        Err(GeneralProtection)
    }
    fn wrmsr(&mut self, _: u32, _: u64, _: &Access<'_>) -> Result<(), GeneralProtection> {
        Err(GeneralProtection)
    }
    fn rdpmc(&mut self, _: u32, _: bool, _: &Access<'_>) -> Result<u64, GeneralProtection> {
        Err(GeneralProtection)
    }
    fn cpuid(&mut self, leaf: u32, subleaf: u32, _: &Access<'_>) -> CpuidLeaf {
        soft_cpu::cpuid::leaf(leaf, subleaf)
    }
    fn tsc(&mut self, access: &Access<'_>) -> u64 {
        access.totals.instructions()
    }
    fn observer(&mut self) -> Option<&mut impl Observer> {
        Some(&mut self.watched)
    }
}

/// Cycles of the model for one execution of a block.
pub(crate) fn measure(core: &'static Core, code: &[u8], way: Way) -> Result<Outcome, Refusal> {
    let instructions = decode(code).ok_or(Refusal::Shape)?;
    let (shapes, more) = shapes(way, MODEL_ITERATIONS, &instructions, code.len()).ok_or(Refusal::Shape)?;
    let dirty = if stores(&instructions) { u64::MAX } else { 0 };
    let model = Model::new(core, &describe::X86).map_err(|_| Refusal::Shape)?;
    let mut machine = Machine::new(model);
    let [first, second] = shapes;
    let entry = Entry::of(core);
    let build = |at, shape, dirty| image::build(at, code, shape, dirty, entry).ok_or(Refusal::Shape);
    let mut images = [build(CODE, first, dirty)?, build(CODE + IMAGE, second, dirty)?];
    machine.place(&images);
    for image in &images {
        machine.map_pages(image)?;
    }
    if dirty != 0 {
        // Only the lines that are written are reset, as long as they are few.
        let mut written = 0;
        for image in &images {
            machine.run(image, 1)?;
            written |= machine.written();
        }
        images = [build(CODE, first, written.max(1))?, build(CODE + IMAGE, second, written.max(1))?];
        machine.place(&images);
    }
    for image in &images {
        machine.run(image, WARM)?;
    }
    let mut cycles = [0.0; 2];
    for (image, cycles) in images.iter().zip(&mut cycles) {
        *cycles = machine.measure(image)?;
    }
    let [first, second] = cycles;
    Ok(Outcome { cycles: (second - first) / more, forwards: machine.board.watched.forwards })
}

/// The pages that a block touches, beside those of its images.
pub(crate) fn pages(
    core: &'static Core,
    code: &[u8],
    way: Way,
    vectors: Vectors,
) -> Result<Vec<u64>, Refusal> {
    let instructions = decode(code).ok_or(Refusal::Shape)?;
    let ([first, second], _) =
        shapes(way, MEASURED_ITERATIONS, &instructions, code.len()).ok_or(Refusal::Shape)?;
    let dirty = if stores(&instructions) { u64::MAX } else { 0 };
    let model = Model::new(core, &describe::X86).map_err(|_| Refusal::Shape)?;
    let mut machine = Machine { vectors, ..Machine::new(model) };
    let build = |at, shape| image::build(at, code, shape, dirty, Entry::of(core)).ok_or(Refusal::Shape);
    let images = [build(CODE, first)?, build(CODE + IMAGE, second)?];
    machine.place(&images);
    images.iter().try_for_each(|image| machine.map_pages(image))?;
    // The next execution begins with what the last one has left, but for the page.
    images.iter().try_for_each(|image| machine.run(image, 2).map(|_| ()))?;
    Ok(machine.pages)
}

/// The vector instructions that a block may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vectors {
    /// Those of the image's own state: SSE.
    Sse,
    /// Also AVX and AVX-512.
    Avx512,
}

struct Machine {
    board: Board,
    cpu: Cpu<Board>,
    pages: Vec<u64>,
    vectors: Vectors,
}

/// Runs, for at most so many instructions, until an exception that the machine has no handler for, which is how code
/// ends here. Returns the cycles of the model.
pub(crate) fn until_exception(cpu: &mut Cpu<Board>, board: &mut Board, most: u64) -> Result<u64, Refusal> {
    match run(cpu, board, most)? {
        (cycles, Stop::Exception) => Ok(cycles),
        (_, Stop::Budget) => Err(Refusal::Endless),
    }
}

/// Why code stopped.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    Exception,
    Budget,
}

/// Runs so many instructions, or until an exception. Returns the cycles of the model.
fn run(cpu: &mut Cpu<Board>, board: &mut Board, instructions: u64) -> Result<(u64, Stop), Refusal> {
    let before = board.cycles();
    let mut left = instructions;
    let stop = loop {
        let retired = cpu.totals().instructions();
        match cpu.run(board, Budget { instructions: left, interrupt_window: false }) {
            Exit::Shutdown => break Stop::Exception,
            Exit::Budget => break Stop::Budget,
            Exit::Halted => return Err(Refusal::Endless),
            _ => left -= cpu.totals().instructions() - retired,
        }
    };
    Ok((board.cycles() - before, stop))
}

impl Machine {
    fn new(model: Model) -> Self {
        let mut board = Board::new(model, RAM);
        for offset in (0..IMAGES).step_by(PAGE as usize) {
            board.map(CODE + offset, CODE_PHYSICAL + offset);
        }
        for offset in (0..4 * PAGE).step_by(PAGE as usize) {
            board.map(DATA + offset, DATA_PHYSICAL + offset);
        }
        board.map(ALIAS, SHARED_PHYSICAL);
        board.map(TEMPLATE, TEMPLATE_PHYSICAL);
        for offset in (0..PAGE).step_by(8) {
            board.write(SHARED_PHYSICAL + offset, &image::FILL.to_le_bytes());
            board.write(TEMPLATE_PHYSICAL + offset, &image::FILL.to_le_bytes());
        }
        board.write(DATA_PHYSICAL + FXSAVE, &image::fxsave());
        Self { board, cpu: Cpu::default(), pages: Vec::new(), vectors: Vectors::Sse }
    }

    fn place(&mut self, images: &[Image]) {
        for image in images {
            self.board.write(CODE_PHYSICAL + (image.entry - CODE), &image.bytes);
            // Behind its last execution: an instruction that faults, because there is no table of handlers.
            self.board.write(CODE_PHYSICAL + (image.end - CODE), &[0x0F, 0x0B]);
        }
        self.cpu.flush();
    }

    /// Runs until no page is missing.
    fn map_pages(&mut self, image: &Image) -> Result<(), Refusal> {
        while let Err(page) = self.attempt(image, 1)? {
            self.pages.push(page);
            if self.pages.len() > MOST_PAGES || !self.board.map(page, SHARED_PHYSICAL) {
                return Err(Refusal::Pages);
            }
            self.cpu.flush();
        }
        Ok(())
    }

    /// Executions of an image, and their cycles.
    fn run(&mut self, image: &Image, count: u64) -> Result<u64, Refusal> {
        self.attempt(image, count)?.map_err(|_| Refusal::Exception)
    }

    /// Cycles of an execution of an image, behind one that follows another image and much else, as on silicon.
    fn measure(&mut self, image: &Image) -> Result<f64, Refusal> {
        let before = self.cpu.totals().instructions();
        self.run(image, 1)?;
        let instructions = self.cpu.totals().instructions() - before;
        self.begin(image, EXECUTIONS + 2);
        let mut run = |executions| run(&mut self.cpu, &mut self.board, executions * instructions);
        run(1)?;
        let (cycles, stop) = run(EXECUTIONS)?;
        // What is left of it ends by the exception.
        let (_, end) = run(2)?;
        let whole = stop == Stop::Budget && end == Stop::Exception;
        if whole { Ok(cycles as f64 / EXECUTIONS as f64) } else { Err(Refusal::Exception) }
    }

    /// As [`run`](Self::run), or the page that is missing.
    fn attempt(&mut self, image: &Image, count: u64) -> Result<Result<u64, u64>, Refusal> {
        self.begin(image, count);
        let cycles = until_exception(&mut self.cpu, &mut self.board, BUDGET)?;
        let state = self.cpu.state();
        if state.rip == image.end {
            return Ok(Ok(cycles));
        }
        match state.cr2 {
            0 => Err(Refusal::Exception),
            address => Ok(Err(address & !(PAGE - 1))),
        }
    }

    /// Goes to where executions of an image begin.
    fn begin(&mut self, image: &Image, count: u64) {
        self.board.write(DATA_PHYSICAL + COUNT, &count.to_le_bytes());
        let mut state = start(image.again);
        if self.vectors == Vectors::Avx512 {
            // OSXSAVE; x87, SSE, AVX and the three parts of AVX-512.
            state.cr4 |= 1 << 18;
            state.xcr0 = 0xE7;
        }
        self.cpu.set_state(&state);
    }

    /// Lines of the page that differ from the template.
    fn written(&self) -> u64 {
        let line = |at: u64, line: u64| {
            let from = (at + 64 * line) as usize;
            self.board.ram.get(from..from + 64)
        };
        let differs = |number: &u64| line(SHARED_PHYSICAL, *number) != line(TEMPLATE_PHYSICAL, *number);
        (0..64).filter(differs).fold(0, |lines, number| lines | 1 << number)
    }
}

/// User mode at an address, with a flat memory and no handlers.
pub(super) fn start(rip: u64) -> State {
    let data = |base| Segment { selector: 0x23, base, limit: u32::MAX, rights: 0xC0F3 };
    let code = Segment { selector: 0x2B, base: 0, limit: u32::MAX, rights: 0xA0FB };
    State {
        rip,
        segments: [data(0), code, data(0), data(0), data(FS), data(GS)],
        // Protection, monitoring of the x87 unit, its native errors, write protection, paging.
        cr0: 0x8001_0033,
        cr3: TABLES,
        // PAE, OSFXSR, OSXMMEXCPT.
        cr4: 0x620,
        // SCE, LME, LMA, NXE.
        efer: 0xD01,
        ..State::default()
    }
}
