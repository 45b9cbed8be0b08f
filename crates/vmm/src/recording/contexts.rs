//! Who called whom: a tree of contexts, and the calls that are open in each thread.
//!
//! A call opens a frame at the stack address where its return address lies; a return that reads at an address closes
//! every frame up to there, so that `longjmp` and exceptions close theirs as well. A function that is entered by a
//! jump (a tail call) gets a frame at the same address as the one that jumped, and is closed with it.

use super::data::{Call, Context, Place};
use rustc_hash::FxHashMap;

/// Contexts from which on callers are left out, so that a program cannot fill the memory.
const MOST_CONTEXTS: usize = 1 << 20;
/// Open calls of a thread.
const MOST_FRAMES: usize = 1 << 20;
/// No function.
const NO_FUNCTION: u32 = u32::MAX;
/// Where the frame of a thread's first function returns to.
const BOTTOM: u64 = u64::MAX;

/// A call that is open.
#[derive(Debug, Clone, Copy)]
struct Frame {
    slot: u64,
    context: u32,
    function: u32,
    /// It only jumps to another one: by whom and where it was called.
    linkage: Option<(u32, Place)>,
}

/// The calls that are open in a thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    frames: Vec<Frame>,
    /// A call whose target has not been reached: the instruction, and where the return address lies.
    call: Option<(Place, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    function: u32,
}

/// The tree.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    nodes: Vec<Node>,
    calls: Vec<Call>,
    /// Positions in `calls` by caller, instruction and function.
    by_call: FxHashMap<(u32, Place, u32), u32>,
    /// Where callers are left out.
    truncated: FxHashMap<u32, u32>,
}

impl Contexts {
    /// A new address space.
    pub(super) fn root(&mut self) -> u32 {
        self.add(u32::MAX, NO_FUNCTION)
    }

    fn add(&mut self, parent: u32, function: u32) -> u32 {
        self.nodes.push(Node { parent, function });
        u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
    }

    /// The context that a function has when it is entered from there; if it is open already, the one that it has.
    pub(super) fn enter(&mut self, from: u32, site: Place, function: u32, jump: bool) -> u32 {
        self.follow(from, site, function, jump, 1)
    }

    /// The same of a function whose caller is not followed, which counts so many times.
    pub(super) fn visit(&mut self, from: u32, site: Place, function: u32, count: u64) -> u32 {
        self.follow(from, site, function, true, count)
    }

    fn follow(&mut self, from: u32, site: Place, function: u32, jump: bool, count: u64) -> u32 {
        if let Some(known) = self.by_call.get(&(from, site, function)) {
            let call = &mut self.calls[*known as usize];
            call.count += count;
            return call.to;
        }
        let mut open = from;
        while let Some(node) = self.nodes.get(open as usize).filter(|node| node.function != function) {
            open = node.parent;
        }
        let to = if self.nodes.get(open as usize).is_some() {
            open
        } else if self.nodes.len() < MOST_CONTEXTS {
            self.add(from, function)
        } else {
            let root = self.root_of(from);
            match self.truncated.get(&function) {
                Some(known) => *known,
                None => {
                    let new = self.add(root, function);
                    self.truncated.insert(function, new);
                    new
                }
            }
        };
        let number = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.by_call.insert((from, site, function), number);
        self.calls.push(Call { from, site, to, count, jump });
        to
    }

    /// The address space of a context.
    pub(super) fn root_of(&self, mut context: u32) -> u32 {
        while let Some(node) = self.nodes.get(context as usize)
            && node.function != NO_FUNCTION
        {
            context = node.parent;
        }
        context
    }

    /// Contexts and calls between them.
    pub(super) fn into_parts(self) -> (Vec<Context>, Vec<Call>) {
        let known = |number: u32| (number != u32::MAX).then_some(number);
        let context = |node: Node| Context {
            parent: known(node.parent),
            function: known(node.function),
            process: None,
        };
        (self.nodes.into_iter().map(context).collect(), self.calls)
    }
}

impl Thread {
    /// Code of a function retires, after an instruction at `last`; in a thread without frames in the context `root`.
    #[inline]
    pub(super) fn reach(
        &mut self,
        contexts: &mut Contexts,
        root: u32,
        (function, is_linkage): (u32, bool),
        last: Place,
    ) -> u32 {
        if let Some((site, slot)) = self.call.take() {
            let from = self.frames.last().map_or(root, |frame| frame.context);
            let context = contexts.enter(from, site, function, false);
            return self.push(slot, context, function, is_linkage.then_some((from, site)));
        }
        match self.frames.last() {
            Some(top) if top.function == function => top.context,
            _ => self.jump(contexts, root, (function, is_linkage), last),
        }
    }

    /// Code of another function than before without a call.
    #[cold]
    fn jump(
        &mut self,
        contexts: &mut Contexts,
        root: u32,
        (function, is_linkage): (u32, bool),
        last: Place,
    ) -> u32 {
        let Some(top) = self.frames.last().copied() else {
            let context = contexts.enter(root, Place::NONE, function, true);
            return self.push(BOTTOM, context, function, None);
        };
        if let Some((from, site)) = top.linkage {
            self.frames.pop();
            let context = contexts.enter(from, site, function, false);
            return self.push(top.slot, context, function, None);
        }
        // Back to one that has jumped here.
        let group = self.frames.iter().rev().take_while(|frame| frame.slot == top.slot);
        if let Some(above) = group.clone().position(|frame| frame.function == function) {
            self.frames.truncate(self.frames.len() - above);
            return self.frames.last().map_or(root, |frame| frame.context);
        }
        let context = contexts.enter(top.context, last, function, true);
        self.push(top.slot, context, function, is_linkage.then_some((top.context, last)))
    }

    fn push(&mut self, slot: u64, context: u32, function: u32, linkage: Option<(u32, Place)>) -> u32 {
        if self.frames.len() < MOST_FRAMES {
            self.frames.push(Frame { slot, context, function, linkage });
        }
        context
    }

    /// An instruction calls, and has written the return address there.
    pub(super) fn call(&mut self, site: Place, slot: u64) {
        // What lies below is of calls that were left without a return.
        self.close(slot);
        self.call = Some((site, slot));
    }

    /// An instruction returns by the address that it has read there.
    pub(super) fn leave(&mut self, slot: u64) {
        self.call = None;
        let before = self.frames.len();
        self.close(slot);
        // The first function that was seen of a thread has a caller all the same.
        if self.frames.len() == before && self.frames.last().is_some_and(|frame| frame.slot == BOTTOM) {
            self.frames.clear();
        }
    }

    /// Closes what has its return address at or below a place on the stack.
    fn close(&mut self, slot: u64) {
        while self.frames.last().is_some_and(|frame| frame.slot <= slot) {
            self.frames.pop();
        }
    }

    /// The context of the function that runs.
    pub(super) fn context(&self, root: u32) -> u32 {
        self.frames.last().map_or(root, |frame| frame.context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: u32 = 1;
    const F: u32 = 2;
    const G: u32 = 3;

    struct Stack {
        contexts: Contexts,
        thread: Thread,
        root: u32,
    }

    impl Stack {
        fn new() -> Self {
            let mut contexts = Contexts::default();
            let root = contexts.root();
            let mut stack = Self { contexts, thread: Thread::default(), root };
            stack.at(MAIN);
            stack
        }

        fn at(&mut self, function: u32) -> Vec<u32> {
            let mut context = self.thread.reach(&mut self.contexts, self.root, (function, false), place(99));
            let mut path = Vec::new();
            while context != self.root {
                let node = self.contexts.nodes[context as usize];
                path.insert(0, node.function);
                context = node.parent;
            }
            path
        }

        fn call(&mut self, site: u64, slot: u64, function: u32) -> Vec<u32> {
            self.thread.call(place(site), slot);
            self.at(function)
        }
    }

    fn place(address: u64) -> Place {
        Place { image: 2, address }
    }

    #[test]
    fn calls_nest_and_returns_undo_them() {
        let mut stack = Stack::new();
        assert_eq!(stack.call(10, 1000, F), [MAIN, F]);
        assert_eq!(stack.call(20, 900, G), [MAIN, F, G]);
        stack.thread.leave(900);
        assert_eq!(stack.at(F), [MAIN, F]);
        stack.thread.leave(1000);
        assert_eq!(stack.at(MAIN), [MAIN]);
        let counts: Vec<_> = stack.contexts.calls.iter().map(|call| (call.count, call.jump)).collect();
        assert_eq!(counts, [(1, true), (1, false), (1, false)]);
    }

    #[test]
    fn a_tail_call_returns_to_the_caller_s_caller() {
        let mut stack = Stack::new();
        stack.call(10, 1000, F);
        assert_eq!(stack.at(G), [MAIN, F, G]);
        stack.thread.leave(1000);
        assert_eq!(stack.at(MAIN), [MAIN]);
    }

    #[test]
    fn linkage_is_left_out() {
        let mut stack = Stack::new();
        stack.thread.call(place(10), 1000);
        stack.thread.reach(&mut stack.contexts, stack.root, (F, true), place(10));
        assert_eq!(stack.at(G), [MAIN, G]);
        stack.thread.leave(1000);
        assert_eq!(stack.at(MAIN), [MAIN]);
    }

    #[test]
    fn code_that_jumps_to_and_fro_does_not_pile_up() {
        let mut stack = Stack::new();
        stack.call(10, 1000, F);
        for _ in 0..3 {
            assert_eq!(stack.at(G), [MAIN, F, G]);
            assert_eq!(stack.at(F), [MAIN, F]);
        }
        assert_eq!(stack.thread.frames.len(), 2);
    }

    #[test]
    fn a_function_that_calls_itself_has_one_context() {
        let mut stack = Stack::new();
        stack.call(10, 1000, F);
        assert_eq!(stack.call(20, 900, G), [MAIN, F, G]);
        assert_eq!(stack.call(30, 800, F), [MAIN, F], "by way of another one");
        stack.thread.leave(800);
        assert_eq!(stack.at(G), [MAIN, F, G]);
    }

    #[test]
    fn longjmp_closes_what_it_leaves() {
        let mut stack = Stack::new();
        stack.call(10, 1000, F);
        stack.call(20, 900, G);
        stack.thread.call(place(12), 1000);
        assert_eq!(stack.at(G), [MAIN, G]);
    }

    #[test]
    fn a_thread_may_return_further_than_was_seen() {
        let mut stack = Stack::new();
        stack.thread.leave(5000);
        assert_eq!(stack.at(F), [F]);
    }
}
