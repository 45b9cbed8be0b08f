//! Units that uops take in turn when they are allocated, each with a scheduler of its own.
//!
//! Measured on an EPYC 7003 and an EPYC 9004 (docs/silicon.md): the uops of a cycle enter the four schedulers one after
//! the other, whatever waits in them, one each, and begin with the first or the third; allocation stops at a uop whose
//! scheduler is full. Older uops of its cycle make room for one that cannot use any unit that is left, by taking
//! others; if they cannot, the cycle ends before it, but for a second one that has the same unit only. What makes
//! addresses enters the same schedulers: see [`group`](super::group).

use super::Sharing;
use super::group::{Demand, Group, Moves, TURNS};
use super::late::Late;
use super::ports::Ports;
use super::scheduler::Scheduler;
use crate::instruction::UnitsInTurn;
use crate::state::{Shaped, Words};
use crate::table::{MAX_UNITS, Uops};

/// Uops of LEA of three parts, which take the first two or the last two turns of four (measured).
const PAIR: u16 = 2;
/// In the first word of a shape, whose turn it is, and from this bit on those whose multiplications matter.
const WHICH_SHIFT: u32 = 8;

#[derive(Debug)]
pub(super) struct Turns {
    units: UnitsInTurn,
    /// The units of addresses that share a scheduler with one of these, by turn, all of them, and the turns.
    address_units: [u8; TURNS],
    addresses: u32,
    address_turns: u8,
    /// By turns, a bit each, these units.
    units_of: [u32; 1 << TURNS],
    entries: u32,
    pub(super) schedulers: [Scheduler; TURNS],
    /// Whose turn it is.
    next: usize,
    /// What the cycle has dispatched, what the next instruction needs, and whether the newest one has both.
    group: Group,
    demand: Demand,
    both: bool,
    /// When the result of the newest instruction comes.
    result: ResultTime,
    /// What stands for the results of the first of these units among the units of all.
    results: usize,
    late: [Late; TURNS],
}

/// When an operation's result comes, of which a unit has one in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultTime {
    /// After a cycle.
    Prompt,
    /// After three: a multiplication, CRC32, PDEP or PEXT.
    Late,
    /// At another time: nothing was measured.
    Other,
}

impl ResultTime {
    #[inline(always)]
    fn new(compute: u16, turns: u8) -> Self {
        match compute {
            1 => Self::Prompt,
            3 if turns.is_power_of_two() => Self::Late,
            _ => Self::Other,
        }
    }
}

impl Turns {
    /// Takes turns among these units; `None` if it is not as many as there are, or there are others between them.
    /// `units`: how many units there are.
    pub(super) fn new(sharing: Sharing, units: usize) -> Option<Self> {
        let Sharing { arithmetic, addresses, entries } = sharing;
        if units + TURNS > MAX_UNITS || arithmetic.all.checked_shr(arithmetic.first())? != (1 << TURNS) - 1 {
            return None;
        }
        let mut places = (0..u32::BITS as u8).filter(|&place| addresses >> place & 1 == 1);
        let address_units = [0; TURNS].map(|_| places.next().unwrap_or(u8::MAX));
        let units_of = |turns: usize| {
            let of = |(turn, &unit): (usize, &u8)| {
                u32::from(unit != u8::MAX && turns >> turn & 1 == 1) << (unit & 31)
            };
            address_units.iter().enumerate().map(of).sum()
        };
        Some(Self {
            units_of: std::array::from_fn(units_of),
            units: arithmetic,
            address_units,
            addresses,
            address_turns: (0..)
                .zip(address_units)
                .map(|(turn, unit)| u8::from(unit != u8::MAX) << turn)
                .sum(),
            entries,
            schedulers: [0; TURNS].map(|_| Scheduler::new()),
            next: 0,
            group: Group::default(),
            demand: Demand::default(),
            both: false,
            result: ResultTime::Other,
            results: units,
            late: [Late::default(); TURNS],
        })
    }

    /// True if uops of these units enter one of the schedulers.
    #[inline(always)]
    pub(super) fn concern(&self, units: u32) -> bool {
        units & (self.units.all | self.addresses) != 0
    }

    /// Another cycle of dispatch begins.
    #[inline(always)]
    pub(super) fn begin_group(&mut self) {
        if self.next % 2 == 1 {
            self.pass();
        }
        self.group.begin();
    }

    /// The next instruction, with so many uops of arithmetic that can have these turns; false if it has to wait for the
    /// next cycle.
    #[inline(always)]
    pub(super) fn enter_group(&mut self, (turns, uops): (u8, u8), compute: u16, address: bool) -> bool {
        self.result = ResultTime::new(compute, turns);
        let arithmetic = if u16::from(uops) <= PAIR { uops } else { 0 };
        self.demand = Demand::new(arithmetic, address);
        self.both = self.demand.is_both();
        self.group.has_room(self.demand) && (arithmetic == 0 || self.group.has_turn(turns))
    }

    /// That instruction is dispatched.
    #[inline(always)]
    pub(super) fn dispatch(&mut self) {
        self.group.count(std::mem::take(&mut self.demand));
    }

    /// The unit that has a turn.
    #[inline(always)]
    fn unit(&self, turn: usize) -> u32 {
        (self.units.first() + turn as u32) & 31
    }

    /// Of these turns the one that comes first.
    #[inline(always)]
    fn first(&self, turns: u8) -> Option<usize> {
        let after = turns >> self.next;
        let turns = if after > 0 { after << self.next } else { turns };
        (turns > 0).then(|| turns.trailing_zeros() as usize)
    }

    /// The turn that a uop gets which can have these: the first one that is left, or else one for which older uops of
    /// the cycle take others.
    #[inline(always)]
    fn choose(&mut self, turns: u8, now: u64) -> (usize, Option<Moves>) {
        match self.first(turns & self.group.left()) {
            Some(turn) => (turn, None),
            None => self.choose_other(turns, now),
        }
    }

    #[inline(never)]
    fn choose_other(&mut self, turns: u8, now: u64) -> (usize, Option<Moves>) {
        if let Some(moves) = self.group.moves(turns)
            && let Some((turn, _)) = moves.last()
        {
            return (turn, Some(moves));
        }
        let next = self.next;
        let order =
            [0, 1, 2, 3].map(|n| (next + n) % TURNS).into_iter().filter(|turn| turns >> turn & 1 == 1);
        // What has left by now does not count, whether or not that has been looked at.
        self.schedulers.iter_mut().for_each(|scheduler| scheduler.advance(now));
        let waiting = |turn: &usize| self.schedulers[*turn % TURNS].waiting();
        (order.min_by_key(waiting).unwrap_or(next), None)
    }

    /// An older uop of the cycle takes another turn, if it has not been executed.
    #[inline(never)]
    fn exchange(&mut self, ports: &mut Ports, turn: usize, to: usize, now: u64) {
        let issued = self.group.change(turn, to);
        let [from, other] = [turn, to].map(|turn| self.unit(turn) as usize);
        if issued <= now {
            return;
        }
        let results = self.results + to;
        let kept = !ports.is_busy(issued, 1 << results) && ports.exchange(issued, from, other);
        if !kept && ports.release(issued, from) {
            ports.issue_prompt(other, results, issued);
        }
        if self.schedulers[turn % TURNS].withdraw(issued) {
            self.schedulers[to % TURNS].enter(1, issued);
        }
    }

    /// When there is room for the first of so many uops that can have these turns; not before `now`.
    #[inline(always)]
    pub(super) fn room(&mut self, (turns, uops): (u8, u8), now: u64) -> u64 {
        match self.first(turns & self.group.left()) {
            _ if uops == 0 => 0,
            Some(turn) if self.schedulers[turn % TURNS].waiting() < self.entries => now,
            _ => self.room_later(turns, now),
        }
    }

    #[inline(never)]
    fn room_later(&mut self, turns: u8, now: u64) -> u64 {
        let (turn, _) = self.choose(turns, now);
        let scheduler = &mut self.schedulers[turn % TURNS];
        if scheduler.waiting() < self.entries {
            return now;
        }
        scheduler.advance(now);
        scheduler.advance_until(self.entries.saturating_sub(1)).max(now)
    }

    /// Issues uops that these schedulers [concern](Self::concern), not before `start`; when the last one begins, if all
    /// of them could begin in one cycle.
    #[inline]
    pub(super) fn issue(&mut self, ports: &mut Ports, uops: Uops, start: u64, now: u64) -> u64 {
        if self.units.include(uops.units) {
            return self.issue_arithmetic(ports, uops, start, now);
        }
        let others = uops.units & !self.units.all;
        if others & self.addresses != 0 {
            return self.issue_addresses(ports, uops, start);
        }
        // A jump: what cannot have the unit that is for jumps alone has a turn.
        let (issued, unit) = ports.issue_one(uops.units, start);
        match unit.filter(|&unit| self.units.all >> unit & 1 == 1) {
            Some(unit) if ports.release(issued, unit) => {
                self.group.count(Demand::new(1, false));
                self.issue_arithmetic(ports, Uops { units: uops.units & self.units.all, ..uops }, start, now)
            }
            _ => issued,
        }
    }

    /// The address of an instruction with arithmetic shares its entry.
    #[inline]
    fn issue_addresses(&mut self, ports: &mut Ports, uops: Uops, start: u64) -> u64 {
        (0..uops.cycles).fold(start, |start, _| {
            if self.both {
                return ports.issue_one(uops.units, start).0;
            }
            self.issue_address(ports, start)
        })
    }

    #[inline]
    fn issue_address(&mut self, ports: &mut Ports, start: u64) -> u64 {
        let open = self.group.open(self.address_turns);
        let (issued, unit) = ports.issue_one(self.units_of[usize::from(open) % self.units_of.len()], start);
        let is_that = |&address: &u8| unit == Some(address.into());
        if let Some(turn) = self.address_units.iter().position(is_that) {
            self.group.enter_address(turn, issued);
        }
        issued
    }

    /// A uop of arithmetic enters a scheduler, from where an address that came before it may have to go to another one.
    #[inline(always)]
    fn enter(&mut self, ports: &mut Ports, turn: usize, turns: u8, now: u64) {
        if let Some(issued) = self.group.displaced(turn, now)
            && ports.release(issued, self.address_units[turn % TURNS].into())
        {
            self.group.leave(turn);
            self.group.enter(turn, turns);
            self.issue_address(ports, issued);
        } else {
            self.group.enter(turn, turns);
        }
    }

    #[inline]
    fn issue_arithmetic(&mut self, ports: &mut Ports, uops: Uops, start: u64, now: u64) -> u64 {
        let (mut first, mut last) = (u64::MAX, start);
        if uops.cycles == PAIR && self.next % 2 == 1 {
            // Nobody gets the turn that is left.
            self.pass();
        }
        let turns = self.units.turns(uops.units);
        for _ in 0..uops.cycles {
            let waits = uops.cycles <= PAIR;
            let (turn, moves) = if waits { self.choose(turns, now) } else { (self.next, None) };
            self.pass();
            for (from, to) in moves.into_iter().flatten() {
                self.exchange(ports, from, to, now);
            }
            if waits {
                self.enter(ports, turn, turns, now);
            }
            let (unit, results) = (self.unit(turn), self.results + turn);
            let issued = match self.result {
                ResultTime::Prompt => ports.issue_prompt(unit as usize, results, start),
                ResultTime::Late => self.issue_late(ports, turn, start),
                ResultTime::Other => ports.issue(Uops { units: 1 << unit, cycles: 1 }, start),
            };
            self.schedulers[turn % TURNS].enter(1, issued);
            if waits {
                self.group.execute(turn, issued);
            }
            (first, last) = (first.min(issued), last.max(issued));
        }
        first.min(last).max((last + 1).saturating_sub(uops.cycles.into()))
    }

    fn issue_late(&mut self, ports: &mut Ports, turn: usize, start: u64) -> u64 {
        let unit = self.unit(turn) as usize;
        let late = &mut self.late[turn % TURNS];
        let may = |cycle| late.may_go_ahead(cycle);
        let (issued, moved) = ports.issue_late(unit, self.results + turn, start, may);
        late.begin(issued);
        if let Some([from, to]) = moved
            && self.schedulers[turn % TURNS].withdraw(from)
        {
            self.schedulers[turn % TURNS].enter(1, to);
        }
        issued
    }

    /// The next turn is over.
    #[inline(always)]
    fn pass(&mut self) {
        self.next = (self.next + 1) % TURNS;
    }

    /// A word that is the same for the same state.
    pub(super) fn outline(&self, now: u64) -> u64 {
        let group = self
            .group
            .words(now)
            .map_or(0, |words| words.iter().fold(0_u64, |all, word| all.rotate_left(17) ^ word));
        let own = self.next as u64 ^ group.rotate_left(23);
        self.schedulers.iter().fold(own, |word, scheduler| word << 8 ^ u64::from(scheduler.waiting()))
    }
}

impl Shaped for Turns {
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        // Mostly none of them matters.
        let late = self.late.map(|late| late.words(now));
        let which = (0..).zip(&late).fold(0, |which, (turn, words)| which | u64::from(words[0] > 0) << turn);
        shape.push(self.next as u64 | which << WHICH_SHIFT);
        shape.extend(late.iter().filter(|words| words[0] > 0).flatten());
        shape.extend(self.group.words(now)?);
        self.schedulers.iter().try_for_each(|scheduler| scheduler.save(now, shape))
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        let first = shape.next();
        self.next = (first & ((1 << WHICH_SHIFT) - 1)) as usize;
        for (turn, late) in self.late.iter_mut().enumerate() {
            let matters = first >> WHICH_SHIFT >> turn & 1 == 1;
            *late =
                if matters { Late::from_words(now, [shape.next(), shape.next()]) } else { Late::default() };
        }
        self.group = Group::from_words(now, std::array::from_fn(|_| shape.next()));
        self.schedulers.iter_mut().for_each(|scheduler| scheduler.restore(now, shape));
    }
}
