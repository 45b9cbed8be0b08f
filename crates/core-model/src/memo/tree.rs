//! The paths that executions of blocks have left.

use super::sums::Sums;
use crate::instruction::{Execution, Predicted, accesses_of};
use crate::memory::{
    Answer, Destination, Entry, Follow, Loads, MemoryPort, MemorySystem, NO_CODE, StoreTimes, branch_code,
};
use crate::totals::CoreTotals;
use retire::{Block, BlockId, MemoryAccess};

/// No node, no edge.
pub(crate) const NONE: u32 = u32::MAX;

/// A block that was executed in a state.
#[derive(Debug, Clone, Copy)]
struct Edge {
    /// `None` in the place of a state in which no block was executed.
    block: Option<BlockId>,
    rip: u64,
    branch: bool,
    node: u32,
    /// Another block in the same state.
    other: u32,
}

impl Edge {
    fn new(block: Option<BlockId>, rip: u64, branch: bool, other: u32) -> Self {
        Self { block, rip, branch, node: NONE, other }
    }

    #[inline(always)]
    fn is_of(&self, block: &Block<'_>) -> bool {
        self.block == Some(block.id) && self.rip == block.rip && self.branch == block.branch.is_some()
    }
}

/// A question of the pipeline. Cycles count from that in which the block began; they are short, so that a node has
/// half a cache line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Question {
    Enter {
        offset: u16,
        switch: u16,
        new_page: bool,
        new_line: bool,
        decoded: bool,
        goes_on: bool,
        at: i16,
        ahead: u8,
    },
    Loads {
        number: u8,
        lock: bool,
        destination: Destination,
        follow: Follow,
        since: u8,
        offset: u16,
        latency: u16,
        issued: i16,
    },
    Store {
        number: u8,
        index: u8,
        follow: Follow,
        allocated: i16,
        addressed: i16,
        data: i16,
        retired: i16,
    },
    StoreRoom {
        at: i16,
    },
    Drain {
        at: i16,
    },
    /// No question: see [`MemoryPort::bar`].
    Bar {
        offset: u16,
    },
    /// No question: how the branch went and was predicted.
    Branch,
    /// No question: what comes of it.
    End {
        sum: u32,
        cycles: u16,
        state: u32,
    },
}

#[derive(Debug, Clone, Copy)]
struct Node {
    question: Question,
    answer: u64,
    /// What comes after this answer.
    next: u32,
    /// The same question with another answer.
    other: u32,
    /// The question and answer before it.
    before: u32,
}

/// Where a node is to be put.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Link {
    /// As the first node of a state's first block, or of another one.
    First(u32),
    Edge(u32),
    Next(u32),
    Other(u32),
}

/// Edges that are found without a search.
const SHORTCUTS: usize = 1 << 12;
/// Edges of a state that are searched before one is worth a shortcut.
const FEW_EDGES: u32 = 2;

#[derive(Debug)]
pub(crate) struct Tree {
    /// A state and an edge of it, by state and block: a state that depends on no address has an edge for each of
    /// thousands of functions.
    shortcuts: Box<[(u32, u32); SHORTCUTS]>,
    /// The first edge of each state, and the others.
    first: Vec<Edge>,
    edges: Vec<Edge>,
    nodes: Vec<Node>,
    pub(super) sums: Sums,
    /// The answers that the last replay got, if it did not come to an end.
    pub(crate) answers: Vec<u64>,
    /// See [`fetch`](Self::fetch).
    fetched: u32,
}

fn later(from: u64, by: i16) -> u64 {
    from.wrapping_add(by as i64 as u64)
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            shortcuts: Box::new([(NONE, NONE); SHORTCUTS]),
            first: Vec::new(),
            edges: Vec::new(),
            nodes: Vec::new(),
            sums: Sums::default(),
            answers: Vec::new(),
            fetched: 0,
        }
    }
}

impl Tree {
    pub(crate) fn add_state(&mut self) {
        self.first.push(Edge::new(None, 0, false, NONE));
    }

    /// Forgets everything, but keeps the room.
    pub(crate) fn clear(&mut self) {
        self.first.clear();
        self.edges.clear();
        self.shortcuts.fill((NONE, NONE));
        self.nodes.clear();
        self.answers.clear();
        self.sums.clear();
    }

    /// Nodes and what else takes as much room.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() + self.sums.len() / 4
    }

    /// The first node of a block in a state.
    #[inline(always)]
    fn first_node(&mut self, state: u32, block: &Block<'_>) -> Option<u32> {
        let first = self.first.get(state as usize)?;
        if first.is_of(block) { Some(first.node) } else { self.other_node(state, first.other, block) }
    }

    fn other_node(&mut self, state: u32, mut number: u32, block: &Block<'_>) -> Option<u32> {
        let place = (state.wrapping_mul(0x9E37_79B9) ^ block.id.index.wrapping_mul(0x85EB_CA6B)) >> 20;
        let shortcut = &mut self.shortcuts[place as usize % SHORTCUTS];
        if shortcut.0 == state
            && let Some(edge) = self.edges.get(shortcut.1 as usize)
            && edge.is_of(block)
        {
            return Some(edge.node);
        }
        let mut searched = 0;
        loop {
            let edge = self.edges.get(number as usize)?;
            if edge.is_of(block) {
                if searched >= FEW_EDGES {
                    *shortcut = (state, number);
                }
                return Some(edge.node);
            }
            (number, searched) = (edge.other, searched + 1);
        }
    }

    /// See [`Memo::replay`](super::Memo::replay).
    #[inline]
    pub(crate) fn replay(
        &mut self,
        system: &mut MemorySystem,
        totals: &mut CoreTotals,
        start: (u32, u64),
        block: &Predicted<'_>,
    ) -> Option<(u32, u64)> {
        let end = self.walk(system, totals, start, block);
        if let Err((last, answer)) = end {
            self.keep_answers(last, answer);
        }
        end.ok()
    }

    /// Keeps the answers up to this node, and another one after them.
    #[cold]
    fn keep_answers(&mut self, last: u32, answer: Option<u64>) {
        self.answers.clear();
        let mut number = last;
        while let Some(node) = self.nodes.get(number as usize) {
            self.answers.push(node.answer);
            number = node.before;
        }
        self.answers.reverse();
        self.answers.extend(answer);
    }

    /// Walks a path as far as it is known. If it has no end, the last node, and the answer that came after it.
    #[inline(always)]
    fn walk(
        &mut self,
        system: &mut MemorySystem,
        totals: &mut CoreTotals,
        (state, from): (u32, u64),
        block: &Predicted<'_>,
    ) -> Result<(u32, u64), (u32, Option<u64>)> {
        let mut last = NONE;
        let mut place = self.first_node(state, block).unwrap_or(NONE);
        let mut accesses = Accesses { block, rest: 0, number: u8::MAX, memory: &[] };
        loop {
            let Some(mut node) = self.nodes.get(place as usize) else { return Err((last, None)) };
            let answer = match node.question {
                Question::Enter { offset, switch, new_page, new_line, decoded, goes_on, at, ahead } => {
                    let entry = Entry {
                        linear: block.rip.wrapping_add(u64::from(offset)),
                        physical: block.fetch_pa + u64::from(offset),
                        page: block.fetch_page,
                        at: later(from, at),
                        new_page,
                        new_line,
                        switch: switch.into(),
                        ahead: ahead.into(),
                        decoded,
                        goes_on,
                    };
                    system.enter(totals, &entry).code()
                }
                Question::Loads { number, lock, destination, follow, since, offset, latency, issued } => {
                    let rip = block.rip.wrapping_add(offset.into());
                    let loads =
                        Loads { latency, lock, destination, follow, since, issued: later(from, issued) };
                    system.loads(totals, &accesses.of(number, rip), loads).code()
                }
                Question::Store { number, index, follow, allocated, addressed, data, retired } => {
                    let times = StoreTimes {
                        allocated: later(from, allocated),
                        addressed: later(from, addressed),
                        data: later(from, data),
                        retired: later(from, retired),
                        follow,
                    };
                    system.store(totals, &accesses.of(number, 0), index, times).code()
                }
                Question::StoreRoom { at } => system.store_room(later(from, at)).code(),
                Question::Drain { at } => system.drain(later(from, at)).code(),
                Question::Bar { offset } => {
                    let offset = u64::from(offset);
                    system.bar(block.rip.wrapping_add(offset), block.fetch_pa + offset);
                    Some(0)
                }
                Question::Branch => {
                    let Some(branch) = &block.branch else { return Err((last, None)) };
                    Some(branch_code(branch, block.outcome))
                }
                Question::End { sum, cycles, state } => {
                    self.sums.add(sum);
                    self.fetch(state);
                    return Ok((state, from + u64::from(cycles)));
                }
            };
            // An answer without a code is none that is known.
            let answer = answer.unwrap_or(NO_CODE);
            while node.answer != answer {
                place = node.other;
                let Some(other) = self.nodes.get(place as usize) else { return Err((last, Some(answer))) };
                node = other;
            }
            (last, place) = (place, node.next);
        }
    }

    /// Reads what mostly comes next, so that the processor has it at hand by then.
    #[inline(always)]
    fn fetch(&mut self, state: u32) {
        let edge = self.first.get(state as usize);
        let node = edge.and_then(|edge| self.nodes.get(edge.node as usize));
        self.fetched = node.map_or(0, |node| node.next);
    }

    /// Where the path of a block in a state begins: a node, or where to put it.
    pub(crate) fn begin(&mut self, state: u32, block: &Block<'_>) -> Option<Result<u32, Link>> {
        let first = &mut self.first[state as usize];
        let (id, rip, branch) = (Some(block.id), block.rip, block.branch.is_some());
        if first.block.is_none() {
            *first = Edge::new(id, rip, branch, NONE);
        }
        if first.is_of(block) {
            return Some(if first.node == NONE { Err(Link::First(state)) } else { Ok(first.node) });
        }
        let mut number = first.other;
        while let Some(edge) = self.edges.get(number as usize) {
            if edge.is_of(block) {
                return Some(if edge.node == NONE { Err(Link::Edge(number)) } else { Ok(edge.node) });
            }
            number = edge.other;
        }
        number = u32::try_from(self.edges.len()).ok()?;
        self.edges.push(Edge::new(id, rip, branch, first.other));
        first.other = number;
        Some(Err(Link::Edge(number)))
    }

    /// Follows an answer from a node: the node that has it, or where to put one.
    pub(crate) fn follow(&self, mut node: u32, answer: u64) -> Result<u32, Link> {
        loop {
            let known = &self.nodes[node as usize];
            if known.answer == answer {
                return Ok(node);
            }
            if known.other == NONE {
                return Err(Link::Other(node));
            }
            node = known.other;
        }
    }

    /// What comes after a node: another node, or where to put it.
    pub(crate) fn after(&self, node: u32) -> Result<u32, Link> {
        let next = self.nodes[node as usize].next;
        if next == NONE { Err(Link::Next(node)) } else { Ok(next) }
    }

    pub(crate) fn add(&mut self, link: Link, question: Question, answer: u64) -> u32 {
        let number = self.nodes.len() as u32;
        let before = match link {
            Link::First(_) | Link::Edge(_) => NONE,
            Link::Next(node) => node,
            Link::Other(node) => self.nodes[node as usize].before,
        };
        self.nodes.push(Node { question, answer, next: NONE, other: NONE, before });
        match link {
            Link::First(state) => self.first[state as usize].node = number,
            Link::Edge(edge) => self.edges[edge as usize].node = number,
            Link::Next(node) => self.nodes[node as usize].next = number,
            Link::Other(node) => self.nodes[node as usize].other = number,
        }
        number
    }

    /// Ends a path: the number of what to add to the totals, the next state, and how many cycles later that is.
    pub(crate) fn finish(&mut self, link: Link, sum: u32, state: u32, cycles: u64) {
        if let Ok(cycles) = u16::try_from(cycles) {
            self.add(link, Question::End { sum, cycles, state }, 0);
        }
    }
}

/// The accesses of a block by instruction.
struct Accesses<'a, 'b> {
    block: &'b Block<'a>,
    rest: usize,
    number: u8,
    memory: &'a [MemoryAccess],
}

impl<'a> Accesses<'a, '_> {
    /// Those of an instruction, to be called in program order.
    #[inline]
    fn of(&mut self, number: u8, rip: u64) -> Execution<'a> {
        if self.number != number {
            self.number = number;
            self.memory = accesses_of(self.block, number.into(), &mut self.rest);
        }
        Execution { number, rip, memory: self.memory, repetitions: 1 }
    }
}
const _: () = assert!(size_of::<Node>() == 32);
