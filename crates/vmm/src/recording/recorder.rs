//! Takes what retires.

use super::branches::{Branches, Way};
use super::code::{Code, KERNEL};
use super::contexts::{Contexts, Thread};
use super::data::{Modelled, Piece, Place, Row};
use super::symbols::Symbols;
use crate::guest_program::files::Files;
use platform::memory::GuestMemory;
use retire::{Block, BlockId, BranchKind, Instruction};
use rustc_hash::FxHashMap;

/// Log2 of the size of Linux's stacks for kernel code on x86-64 (`THREAD_SIZE`), by which threads are told apart.
const KERNEL_STACK: u32 = 14;
/// No position.
const NONE: u32 = u32::MAX;

/// Records a program's instructions.
#[derive(Debug)]
pub struct Recorder {
    memory: GuestMemory,
    code: Code,
    contexts: Contexts,
    branches: Branches,
    /// By the name that a block has now.
    blocks: Vec<Known>,
    free: Vec<u32>,
    generation: u32,
    pieces: Vec<Piece>,
    by_code: FxHashMap<(Place, Vec<u8>), u32>,
    rows: Vec<Row>,
    by_piece: FxHashMap<(u32, u32), u32>,
    /// The address space, its context, and whether it may be the program's.
    space: u64,
    root: u32,
    counts: bool,
    roots: FxHashMap<u64, u32>,
    /// The kernel's stack, and the thread that has it.
    kernel_stack: u64,
    thread: (u64, u64),
    running: Running,
    others: FxHashMap<(u64, u64), Running>,
    in_kernel: bool,
    /// Of kernel and user mode: the newest row, and what the model had counted.
    newest: [u32; 2],
    modelled: [Modelled; 2],
    /// What came before there was a row.
    pending: [Modelled; 2],
}

#[derive(Debug, Default)]
struct Running {
    thread: Thread,
    way: Way,
}

/// A block.
#[derive(Debug, Default)]
struct Known {
    lengths: Vec<u8>,
    /// Where its first instruction is, once it has retired.
    place: Option<Place>,
    /// The function of each instruction, and whether it only jumps to another one.
    functions: Vec<(u32, bool)>,
    /// By the first instruction.
    newest: Vec<Newest>,
}

/// What retired last from one of a block's instructions on.
#[derive(Debug, Clone, Copy)]
struct Newest {
    count: u8,
    context: u32,
    row: u32,
    piece: u32,
    /// Of kernel code: the context of the program.
    outer: u32,
}

impl Recorder {
    /// For a guest with this RAM, these files, and a kernel with these functions.
    #[must_use]
    pub fn new(memory: &GuestMemory, files: &Files, kernel: Symbols) -> Self {
        Self {
            memory: memory.clone(),
            code: Code::new(files, kernel),
            contexts: Contexts::default(),
            branches: Branches::default(),
            blocks: Vec::new(),
            free: Vec::new(),
            generation: 0,
            pieces: Vec::new(),
            by_code: FxHashMap::default(),
            rows: Vec::new(),
            by_piece: FxHashMap::default(),
            space: 0,
            root: NONE,
            counts: false,
            roots: FxHashMap::default(),
            kernel_stack: 0,
            thread: (0, 0),
            running: Running::default(),
            others: FxHashMap::default(),
            in_kernel: true,
            newest: [NONE; 2],
            modelled: [Modelled::default(); 2],
            pending: [Modelled::default(); 2],
        }
    }

    /// A name for a block, where no model gives it one.
    pub(crate) fn name(&mut self) -> BlockId {
        let next = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        self.generation = self.generation.wrapping_add(1);
        BlockId { index: self.free.pop().unwrap_or(next), generation: self.generation }
    }

    /// The name is free again.
    pub(crate) fn release(&mut self, block: BlockId) {
        self.free.push(block.index);
    }

    pub(crate) fn define(&mut self, block: BlockId, instructions: &[Instruction]) {
        let index = block.index as usize;
        if index >= self.blocks.len() {
            self.blocks.resize_with(index + 1, Known::default);
        }
        let lengths = instructions.iter().map(|instruction| instruction.length).collect();
        self.blocks[index] = Known { lengths, ..Known::default() };
    }

    /// The CPU gets another address space; it may be the program's if `counts`.
    pub(crate) fn switch(&mut self, space: u64, counts: bool) {
        (self.space, self.counts) = (space, counts);
        self.newest = [NONE; 2];
        if counts {
            let contexts = &mut self.contexts;
            self.root = *self.roots.entry(space).or_insert_with(|| contexts.root());
        }
    }

    /// Where each instruction of a block begins and ends, in bytes.
    pub(crate) fn extents(&self, block: BlockId) -> impl Iterator<Item = (u16, u16)> + '_ {
        let known = self.blocks.get(block.index as usize);
        let mut end = 0;
        known.into_iter().flat_map(|known| &known.lengths).map(move |length| {
            let start = end;
            end += u16::from(*length);
            (start, end)
        })
    }

    /// Instructions have retired.
    #[inline]
    pub(crate) fn retire(&mut self, block: &Block<'_>) {
        if block.user {
            self.retire_user(block);
        } else {
            self.retire_kernel(block);
        }
    }

    fn retire_kernel(&mut self, block: &Block<'_>) {
        let entered = !std::mem::replace(&mut self.in_kernel, true);
        if self.counts {
            // Before a process has run for the first time, and in the kernel's own address space, another thread's
            // calls are open.
            let outer =
                if self.thread.0 == self.space { self.running.thread.context(self.root) } else { self.root };
            let function = self.locate(block).1.0;
            let newest = self.newest_of(block);
            let context = if newest.outer == outer && newest.count > 0 && !entered {
                newest.context
            } else {
                // Only the first of the kernel's functions is called by the program.
                self.contexts.visit(outer, Place::NONE, function, u64::from(entered))
            };
            self.count(block, context, outer);
        }
        if let Some(branch) = &block.branch
            && matches!(branch.kind, BranchKind::DirectCall | BranchKind::IndirectCall | BranchKind::Return)
            && let Some(access) = block.memory.last()
        {
            self.kernel_stack = access.linear >> KERNEL_STACK;
        }
    }

    fn retire_user(&mut self, block: &Block<'_>) {
        if !self.counts {
            return;
        }
        let at = |offset: u16| block.rip.wrapping_add(u64::from(offset));
        let (place, function) = self.locate(block);
        let first = at(self.offset(block));
        let extent = self.extent(block);
        if std::mem::take(&mut self.in_kernel) {
            self.resume(first);
        }
        let Self { running: Running { thread, way }, contexts, branches, root, .. } = self;
        way.reach(branches, place);
        let context = thread.reach(contexts, *root, function, way.last);
        let (last, end) = extent;
        let last = place.plus(at(last).wrapping_sub(first));
        (way.last, way.next) = (last, at(end));
        if let Some(branch) = &block.branch
            && branch.taken
            && branch.kind != BranchKind::Far
        {
            way.next = branch.target;
            way.branch();
            let stack = block.memory.last().map(|access| access.linear);
            match (branch.kind, stack) {
                (BranchKind::DirectCall | BranchKind::IndirectCall, Some(slot)) => thread.call(last, slot),
                (BranchKind::Return, Some(slot)) => thread.leave(slot),
                _ => {}
            }
        }
        self.count(block, context, NONE);
    }

    /// The program goes on after the kernel: perhaps another thread, perhaps elsewhere.
    #[cold]
    fn resume(&mut self, rip: u64) {
        let thread = (self.space, self.kernel_stack);
        if thread != self.thread {
            let next = self.others.remove(&thread).unwrap_or_default();
            let before = std::mem::replace(&mut self.running, next);
            self.others.insert(self.thread, before);
            self.thread = thread;
        }
        if self.running.way.next != rip {
            self.running.way.interrupt(&mut self.branches);
        }
    }

    /// Where the first instruction is in its block, in bytes.
    fn offset(&self, block: &Block<'_>) -> u16 {
        let known = self.blocks.get(block.id.index as usize);
        let lengths = known.map_or(&[][..], |known| &known.lengths);
        lengths.iter().take(block.first.into()).map(|length| u16::from(*length)).sum()
    }

    /// Where the last instruction begins and ends. Of a part of a block it is not the block's last.
    #[inline]
    fn extent(&self, block: &Block<'_>) -> (u16, u16) {
        if block.whole || block.count == 1 {
            return (block.last, block.end);
        }
        let last = usize::from(block.first) + usize::from(block.count.max(1)) - 1;
        self.extents(block.id).nth(last).unwrap_or((block.last, block.end))
    }

    /// The place and the function of the first of the instructions.
    #[inline]
    fn locate(&mut self, block: &Block<'_>) -> (Place, (u32, bool)) {
        let index = block.id.index as usize;
        if self.blocks.get(index).is_none_or(|known| known.place.is_none()) {
            self.find(block, index);
        }
        let offset = self.offset(block);
        let known = &self.blocks[index];
        let place = known.place.unwrap_or(Place::NONE).plus(offset.into());
        (place, known.functions.get(usize::from(block.first)).copied().unwrap_or_default())
    }

    #[cold]
    fn find(&mut self, block: &Block<'_>, index: usize) {
        if index >= self.blocks.len() {
            self.blocks.resize_with(index + 1, Known::default);
        }
        let place = self.code.place(&self.memory, block.fetch_pa, block.rip, block.user);
        let known = &mut self.blocks[index];
        let mut at = place;
        known.functions = known
            .lengths
            .iter()
            .map(|length| {
                let function = self.code.function(at);
                at = at.plus(u64::from(*length));
                (function, self.code.is_linkage(function))
            })
            .collect();
        let none = Newest { count: 0, context: NONE, row: NONE, piece: NONE, outer: NONE };
        known.newest = vec![none; known.lengths.len()];
        known.place = Some(place);
    }

    fn newest_of(&self, block: &Block<'_>) -> Newest {
        self.blocks[block.id.index as usize].newest[usize::from(block.first)]
    }

    /// Counts the instructions in a context.
    #[inline]
    fn count(&mut self, block: &Block<'_>, context: u32, outer: u32) {
        let newest = self.newest_of(block);
        let row = if newest.count == block.count && newest.context == context {
            newest.row
        } else {
            self.row(block, newest, context, outer)
        };
        self.rows[row as usize].count += 1;
        self.newest[usize::from(block.user)] = row;
    }

    #[inline(never)]
    fn row(&mut self, block: &Block<'_>, newest: Newest, context: u32, outer: u32) -> u32 {
        let piece = if newest.count == block.count { newest.piece } else { self.piece(block) };
        let rows = &mut self.rows;
        let row = *self.by_piece.entry((context, piece)).or_insert_with(|| {
            rows.push(Row { context, piece, count: 0, modelled: None });
            u32::try_from(rows.len() - 1).unwrap_or(u32::MAX)
        });
        let known = &mut self.blocks[block.id.index as usize];
        known.newest[usize::from(block.first)] = Newest { count: block.count, context, row, piece, outer };
        row
    }

    fn piece(&mut self, block: &Block<'_>) -> u32 {
        let (place, (function, _)) = self.locate(block);
        let lengths = &self.blocks[block.id.index as usize].lengths;
        let first = usize::from(block.first).min(lengths.len());
        let behind = (first + usize::from(block.count)).min(lengths.len());
        let lengths = lengths[first..behind].to_vec();
        let pieces = &mut self.pieces;
        *self.by_code.entry((place, lengths)).or_insert_with_key(|(place, lengths)| {
            pieces.push(Piece { function, place: *place, lengths: lengths.clone(), lines: Vec::new() });
            u32::try_from(pieces.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// What a model of the core has counted up to now: what has been added belongs to the newest row.
    #[inline]
    pub(crate) fn charge(&mut self, user: bool, now: Modelled) {
        let level = usize::from(user);
        let added = now.since(&self.modelled[level]);
        self.modelled[level] = now;
        if added == Modelled::default() {
            return;
        }
        if user && added.mispredicted() > 0 {
            self.running.way.mispredicted();
        }
        if let Some(row) = self.rows.get_mut(self.newest[level] as usize) {
            let sum = row.modelled.get_or_insert_default();
            *sum += added;
            *sum += std::mem::take(&mut self.pending[level]);
        } else if self.counts {
            // A process may have a page fault before its first instruction has retired.
            self.pending[level] += added;
        }
    }

    /// Everything that was recorded.
    pub(super) fn into_parts(mut self) -> Recorded {
        for running in std::iter::once(&mut self.running).chain(self.others.values_mut()) {
            running.way.interrupt(&mut self.branches);
        }
        let (images, functions) = self.code.into_parts();
        let (contexts, calls) = self.contexts.into_parts();
        Recorded {
            images,
            functions,
            pieces: self.pieces,
            contexts,
            calls,
            rows: self.rows,
            jumps: self.branches.into_jumps(),
        }
    }
}

/// What a [`Recorder`] has found.
pub(super) struct Recorded {
    pub(super) images: Vec<(super::data::Image, std::path::PathBuf)>,
    pub(super) functions: Vec<super::data::Function>,
    pub(super) pieces: Vec<Piece>,
    pub(super) contexts: Vec<super::data::Context>,
    pub(super) calls: Vec<super::data::Call>,
    pub(super) rows: Vec<Row>,
    pub(super) jumps: Vec<super::data::Jump>,
}

/// Whether a place is in the kernel.
pub(super) fn is_kernel(place: Place) -> bool {
    place.image == KERNEL
}
