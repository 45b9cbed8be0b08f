//! Stands between the pipeline and memory, and writes down questions and answers.

use super::tree::{Link, Question, Tree};
use crate::instruction::{Execution, Prepared};
use crate::memory::{
    Answer, Entered, Entry, Level, Loaded, Loads, MemoryPort, MemorySystem, NO_CODE, StoreTimes, Stored,
    branch_code,
};
use crate::predictor::Outcome;
use crate::totals::CoreTotals;
use retire::{Block, Branch, MemoryAccess};

pub(crate) struct Recorder<'a> {
    tree: &'a mut Tree,
    system: &'a mut MemorySystem,
    totals: &'a mut CoreTotals,
    /// The cycle in which the block began, and its address.
    from: u64,
    rip: u64,
    /// The next node of a known path, or where to put one. `None` if this cannot be written down.
    place: Option<Result<u32, Link>>,
    asked: usize,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(
        tree: &'a mut Tree,
        system: &'a mut MemorySystem,
        totals: &'a mut CoreTotals,
        (state, from): (u32, u64),
        block: &Block<'_>,
    ) -> Self {
        let place = tree.begin(state, block);
        Self { tree, system, totals, from, rip: block.rip, place, asked: 0 }
    }

    /// Where the end of the path belongs; `None` if it cannot be written down.
    pub(crate) fn end(self) -> Option<Link> {
        self.place.and_then(Result::err)
    }

    fn offset(&self, linear: u64) -> Option<u16> {
        u16::try_from(linear.wrapping_sub(self.rip)).ok()
    }

    fn since(&self, cycle: u64) -> Option<i16> {
        i16::try_from(cycle.wrapping_sub(self.from) as i64).ok()
    }

    /// Answers: what was answered already, else what memory says.
    fn answer<A: Answer>(
        &mut self,
        question: Option<Question>,
        ask: impl FnOnce(&mut MemorySystem, &mut CoreTotals) -> A,
    ) -> A {
        let answer = self.given().and_then(A::of_code).unwrap_or_else(|| ask(self.system, self.totals));
        self.follow(question, answer.code());
        answer
    }

    /// The answer that is known to the question at hand.
    fn given(&self) -> Option<u64> {
        self.tree.answers.get(self.asked).copied().filter(|&code| code != NO_CODE)
    }

    /// Writes question and answer down.
    fn follow(&mut self, question: Option<Question>, code: Option<u64>) {
        self.asked += 1;
        self.place = self.place_after(question, code);
    }

    fn place_after(&mut self, question: Option<Question>, code: Option<u64>) -> Option<Result<u32, Link>> {
        let (question, code) = (question?, code?);
        let link = match self.place? {
            Ok(node) => match self.tree.follow(node, code) {
                Ok(node) => return Some(self.tree.after(node)),
                Err(link) => link,
            },
            Err(link) => link,
        };
        let node = self.tree.add(link, question, code);
        Some(Err(Link::Next(node)))
    }
}

impl MemoryPort for Recorder<'_> {
    fn enter(&mut self, _: &mut CoreTotals, entry: &Entry) -> Entered {
        let offset = self.offset(entry.linear);
        let switch = u16::try_from(entry.switch).ok();
        let ahead = u8::try_from(entry.ahead).ok();
        let places = offset.zip(switch).zip(self.since(entry.at).zip(ahead));
        let question = places.map(|((offset, switch), (at, ahead))| {
            let Entry { new_page, new_line, decoded, goes_on, .. } = *entry;
            Question::Enter { offset, switch, new_page, new_line, decoded, goes_on, at, ahead }
        });
        self.answer(question, |system, totals| system.enter(totals, entry))
    }

    fn loads(&mut self, _: &mut CoreTotals, execution: &Execution<'_>, loads: Loads) -> Option<Loaded> {
        let Loads { latency, lock, destination, follow, since, issued } = loads;
        let offset = self.offset(execution.rip).zip(self.since(issued));
        let question = offset.map(|(offset, issued)| Question::Loads {
            number: execution.number,
            lock,
            destination,
            follow,
            since,
            offset,
            latency,
            issued,
        });
        self.answer(question, |system, totals| system.loads(totals, execution, loads))
    }

    fn store_room(&mut self, at: u64) -> u64 {
        let question = self.since(at).map(|at| Question::StoreRoom { at });
        self.answer(question, |system, _| system.store_room(at))
    }

    fn drain(&mut self, at: u64) -> u64 {
        let question = self.since(at).map(|at| Question::Drain { at });
        self.answer(question, |system, _| system.drain(at))
    }

    fn store(
        &mut self,
        _: &mut CoreTotals,
        execution: &Execution<'_>,
        index: u8,
        times: StoreTimes,
    ) -> Option<Stored> {
        let StoreTimes { allocated, addressed, data, retired, follow } = times;
        let since = [allocated, addressed, data, retired].map(|cycle| self.since(cycle));
        let question = if let [Some(allocated), Some(addressed), Some(data), Some(retired)] = since {
            let number = execution.number;
            Some(Question::Store { number, index, follow, allocated, addressed, data, retired })
        } else {
            None
        };
        self.answer(question, |system, totals| system.store(totals, execution, index, times))
    }

    fn bar(&mut self, linear: u64, physical: u64) {
        if self.given().is_none() {
            self.system.bar(linear, physical);
        }
        let question = self.offset(linear).map(|offset| Question::Bar { offset });
        self.follow(question, Some(0));
    }

    fn branch(&mut self, branch: &Branch, outcome: Outcome) {
        self.follow(Some(Question::Branch), Some(branch_code(branch, outcome)));
    }

    fn flush_lines(&mut self, accesses: &[MemoryAccess]) {
        self.place = None;
        self.system.flush_lines(accesses);
    }

    fn prefetch(&mut self, _: &mut CoreTotals, prepared: &Prepared, execution: &Execution<'_>, at: u64) {
        self.place = None;
        self.system.prefetch(self.totals, prepared, execution, at);
    }

    fn string(
        &mut self,
        _: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        issued: u64,
    ) -> (u64, Level) {
        self.place = None;
        self.system.string(self.totals, prepared, execution, issued)
    }
}
