//! What a cycle of dispatch takes to schedulers that units of arithmetic share with units of addresses.
//!
//! Measured on an EPYC 9004 with sequences of LEA, loads, comparisons with memory and eliminated moves
//! (docs/silicon.md): a cycle ends at the fifth operation of arithmetic, at the fifth address and at the fourth
//! instruction with both, and the next one begins there. Each scheduler takes two uops a cycle: two loads and a LEA
//! take 0.75 cycles in place of 0.67, whatever their order, because of the four loads of a cycle the unit gets two that
//! shares no scheduler with a LEA, and of eight the three units get three, three and two.

/// How many units of arithmetic there are, which are taken in turn.
pub(super) const TURNS: usize = 4;
/// All turns, a bit each.
const ALL: u8 = (1 << TURNS) - 1;
/// In the bytes of a [`Demand`] the highest bits.
const HIGHEST: u32 = 0x80_80_80;
/// What a cycle begins with: as much less than these as it can dispatch of each.
const NOTHING: u32 = HIGHEST - (4 << ARITHMETIC | 4 << ADDRESSES | 3 << BOTH) - 0x01_01_01;
const ARITHMETIC: u32 = 0;
const ADDRESSES: u32 = 8;
const BOTH: u32 = 16;

/// What an instruction needs, a byte each: uops of arithmetic, addresses, and one if it has both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Demand(u32);

impl Demand {
    #[inline(always)]
    pub(super) fn new(arithmetic: u8, address: bool) -> Self {
        let both = arithmetic > 0 && address;
        Self(u32::from(arithmetic) << ARITHMETIC | u32::from(address) << ADDRESSES | u32::from(both) << BOTH)
    }

    #[inline(always)]
    pub(super) fn is_both(self) -> bool {
        self.0 >> BOTH > 0
    }
}

/// The uops that are dispatched in a cycle, by the turns of their schedulers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    entered: Entered,
    /// What it all needs, and [`NOTHING`].
    counts: u32,
    /// When the newest address of each scheduler executes, if there is one, and its uop of arithmetic.
    addressed: [u64; TURNS],
    executed: [u64; TURNS],
}

/// What has entered the schedulers: a bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Entered {
    /// Those with a uop, and with as many as they take in a cycle.
    begun: u8,
    full: u8,
    /// Those with an address alone, and with two.
    addressed: u8,
    addressed_twice: u8,
    /// Those with a uop of arithmetic, and the turns that each of these could have, a bit each.
    computing: u8,
    turns: [u8; TURNS],
}

impl Entered {
    #[inline(always)]
    fn enter(&mut self, bit: u8) {
        self.full |= self.begun & bit;
        self.begun |= bit;
    }

    fn leave(&mut self, bit: u8) {
        let left = if self.full & bit != 0 { &mut self.full } else { &mut self.begun };
        *left &= !bit;
    }
}

impl Default for Group {
    fn default() -> Self {
        Self { entered: Entered::default(), counts: NOTHING, addressed: [0; TURNS], executed: [0; TURNS] }
    }
}

impl Group {
    /// Nothing is dispatched yet.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        (self.entered, self.counts) = (Entered::default(), NOTHING);
    }

    /// True if an instruction can be dispatched with those that there are.
    #[inline(always)]
    pub(super) fn has_room(&self, demand: Demand) -> bool {
        let needed = demand.0 + (HIGHEST - 0x01_01_01);
        (self.counts + demand.0) & needed & HIGHEST == 0
    }

    /// An instruction is dispatched.
    #[inline(always)]
    pub(super) fn count(&mut self, demand: Demand) {
        // Where there is no room left, it stays so.
        let sum = self.counts + demand.0;
        let full = sum & HIGHEST;
        self.counts = sum & !(full - (full >> 7));
    }

    /// Of these turns, a bit each, those whose schedulers an address can enter: with room, and the fewest addresses.
    #[inline(always)]
    pub(super) fn open(&self, turns: u8) -> u8 {
        let open = turns & !self.entered.full;
        let fewest = open & !self.entered.addressed;
        match (open, fewest) {
            (0, _) => turns,
            (_, 0) => open,
            _ => fewest,
        }
    }

    /// An address has entered a scheduler, and executes at a cycle.
    #[inline(always)]
    pub(super) fn enter_address(&mut self, turn: usize, cycle: u64) {
        let bit = bit(turn);
        self.entered.enter(bit);
        self.entered.addressed_twice |= self.entered.addressed & bit;
        self.entered.addressed |= bit;
        self.addressed[turn % TURNS] = cycle;
    }

    /// When the address executes, after now, that has to leave a scheduler to its uop of arithmetic.
    #[inline(always)]
    pub(super) fn displaced(&self, turn: usize, now: u64) -> Option<u64> {
        Some(self.addressed[turn % TURNS]).filter(|&cycle| self.displacing() & bit(turn) != 0 && cycle > now)
    }

    /// The turns in which an address would have to leave a scheduler to a uop of arithmetic, which it has not.
    #[inline(always)]
    fn displacing(&self) -> u8 {
        let Entered { full, addressed, computing, .. } = self.entered;
        full & addressed & !computing
    }

    /// It leaves the scheduler; of one before it nothing is known.
    pub(super) fn leave(&mut self, turn: usize) {
        let bit = bit(turn);
        self.entered.leave(bit);
        self.entered.addressed &= self.entered.addressed_twice | !bit;
        self.entered.addressed_twice &= !bit;
        self.addressed[turn % TURNS] = 0;
    }

    /// A uop of arithmetic enters a scheduler, which could have these turns.
    #[inline(always)]
    pub(super) fn enter(&mut self, turn: usize, turns: u8) {
        self.entered.enter(bit(turn));
        self.entered.computing |= bit(turn);
        self.entered.turns[turn % TURNS] = turns;
    }

    /// It executes at a cycle.
    #[inline(always)]
    pub(super) fn execute(&mut self, turn: usize, cycle: u64) {
        self.executed[turn % TURNS] = cycle;
    }

    /// The turns that no uop of arithmetic has, a bit each.
    #[inline(always)]
    pub(super) fn left(&self) -> u8 {
        ALL & !self.entered.computing
    }

    /// True if a uop of arithmetic that can have these turns gets one: one that is left, that others make room for, or
    /// that another uop has which can have no other either.
    #[inline(always)]
    pub(super) fn has_turn(&self, turns: u8) -> bool {
        turns & self.left() != 0 || self.moves(turns).is_some() || self.has_room_beside(turns)
    }

    /// True if that is one turn, what has it is such a uop too, and there is room for another one.
    fn has_room_beside(&self, turns: u8) -> bool {
        let Entered { full, addressed, .. } = self.entered;
        let only = turns.is_power_of_two() && self.turns_of(turns.trailing_zeros() as usize) == turns;
        only && turns & full & !addressed == 0
    }

    /// Moves of uops of arithmetic from a turn to another one, in their order, after which one of these turns is left;
    /// `None` if there are none. The fewest, and the first of these turns for which that is so.
    #[inline(never)]
    pub(super) fn moves(&self, turns: u8) -> Option<Moves> {
        // By turn, the one whose uop would come there.
        let mut from = [None; TURNS];
        let (mut seen, mut found) = (turns, turns);
        while found != 0 {
            let mut next = 0;
            for turn in (0..TURNS).filter(|&turn| found & bit(turn) != 0) {
                let others = self.turns_of(turn);
                let left = others & self.left();
                if left != 0 {
                    return Some(Moves { from, turn: Some(turn), to: left.trailing_zeros() as usize });
                }
                for other in (0..TURNS).filter(|&other| others & bit(other) & !seen != 0) {
                    from[other] = Some(turn);
                    next |= bit(other);
                }
                seen |= next;
            }
            found = next;
        }
        None
    }

    /// The turns that a scheduler's uop of arithmetic could have; 0 if it has none.
    #[inline(always)]
    fn turns_of(&self, turn: usize) -> u8 {
        self.entered.turns[turn % TURNS]
    }

    /// It takes another turn, which is left; when it executes.
    pub(super) fn change(&mut self, turn: usize, to: usize) -> u64 {
        self.entered.leave(bit(turn));
        self.entered.computing &= !bit(turn);
        let turns = std::mem::take(&mut self.entered.turns[turn % TURNS]);
        self.enter(to, turns);
        let executed = self.executed[turn % TURNS];
        self.execute(to, executed);
        executed
    }

    /// As words, the same for whatever goes on alike; `None` if something executes too late for these.
    pub(super) fn words(&self, now: u64) -> Option<[u64; 3]> {
        let Entered { begun, full, addressed, addressed_twice, computing, .. } = self.entered;
        let turns = self.changes();
        let small = [begun, full, addressed, addressed_twice, computing].into_iter().chain(turns);
        let word = small.fold(0, |word, part| word << 4 | u64::from(part)) << 24 | u64::from(self.counts);
        let after = |cycles: &[u64; TURNS], matters: &dyn Fn(usize) -> bool| {
            cycles.iter().enumerate().try_fold(0, |word, (turn, cycle)| {
                let after = if matters(turn) { cycle.saturating_sub(now) } else { 0 };
                Some(word << 16 | u64::from(u16::try_from(after).ok()?))
            })
        };
        let addressed = after(&self.addressed, &|turn| self.displacing() & bit(turn) != 0)?;
        let executed = after(&self.executed, &|turn| turns[turn].count_ones() > 1)?;
        Some([word, addressed, executed])
    }

    /// The turns that uops of arithmetic could have, if they can still leave their own.
    fn changes(&self) -> [u8; TURNS] {
        // Those that are left, or can be.
        let (mut open, mut before) = (self.left(), 0);
        while open != before {
            before = open;
            for turn in 0..TURNS {
                open |= if self.turns_of(turn) & before & !bit(turn) != 0 { bit(turn) } else { 0 };
            }
        }
        std::array::from_fn(|turn| self.turns_of(turn) & if open & bit(turn) != 0 { ALL } else { bit(turn) })
    }

    /// What [`words`](Self::words) has made.
    pub(super) fn from_words(now: u64, [word, addressed, executed]: [u64; 3]) -> Self {
        // The last one is in the lowest bits.
        let part = |place: usize| (word >> (24 + 4 * place) & 15) as u8;
        let cycles = |word: u64| {
            std::array::from_fn(|turn| match word >> (16 * (TURNS - 1 - turn)) & 0xFFFF {
                0 => 0,
                after => now + after,
            })
        };
        Self {
            entered: Entered {
                begun: part(TURNS + 4),
                full: part(TURNS + 3),
                addressed: part(TURNS + 2),
                addressed_twice: part(TURNS + 1),
                computing: part(TURNS),
                turns: std::array::from_fn(|turn| part(TURNS - 1 - turn)),
            },
            counts: (word & 0xFF_FF_FF) as u32,
            addressed: cycles(addressed),
            executed: cycles(executed),
        }
    }
}

/// See [`Group::moves`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Moves {
    from: [Option<usize>; TURNS],
    turn: Option<usize>,
    to: usize,
}

impl Iterator for Moves {
    /// From a turn to another one.
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let turn = self.turn?;
        let to = std::mem::replace(&mut self.to, turn);
        self.turn = self.from[turn % TURNS];
        Some((turn, to))
    }
}

#[inline(always)]
fn bit(turn: usize) -> u8 {
    1 << (turn % TURNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_what_its_words_say() {
        let mut group = Group::default();
        let demands = [(1, false), (0, true), (2, true), (1, true)];
        for (arithmetic, address) in demands {
            group.count(Demand::new(arithmetic, address));
        }
        group.enter(3, 0b1001);
        group.execute(3, 104);
        group.enter(1, 0b0110);
        group.execute(1, 70_100);
        group.enter_address(1, 107);
        group.enter_address(0, 90);
        group.enter_address(2, 101);
        assert_eq!(group.words(100), None);
        let words = group.words(4_660).unwrap();
        let again = Group::from_words(4_660, words);
        assert_eq!(again.words(4_660), Some(words));
        assert_eq!((again.entered, again.executed), (group.entered, [0, 70_100, 0, 0]));
    }

    #[test]
    fn loads_keep_clear_of_schedulers_with_arithmetic() {
        let mut group = Group::default();
        group.enter(0, 0b1111);
        group.enter(1, 0b1111);
        for open in [0b111_u8, 0b110, 0b100] {
            assert_eq!(group.open(0b111), open);
            group.enter_address(open.trailing_zeros() as usize, 5);
        }
        assert_eq!(group.open(0b111), 0b100);
        group.enter_address(2, 6);
        // It has to leave if it has not been executed, and is in the way.
        assert_eq!([5, 6].map(|now| group.displaced(2, now)), [Some(6), None]);
        assert_eq!([0, 1].map(|turn| group.displaced(turn, 4)), [None; 2]);
        group.leave(2);
        assert_eq!(group.displaced(2, 0), None);
    }

    #[test]
    fn what_can_have_no_other_turn_executes_alike_whenever_it_does() {
        let at = |cycle: u64| {
            let mut group = Group::default();
            group.enter(0, 0b1001);
            group.enter(1, 0b0011);
            [0, 1].into_iter().for_each(|turn| group.execute(turn, cycle));
            group.enter(3, 0b1001);
            group.words(0)
        };
        assert_eq!(at(7), at(9));
    }

    #[test]
    fn older_uops_make_room_one_after_the_other() {
        let mut group = Group::default();
        group.enter(1, 0b0110);
        group.enter(2, 0b1111);
        let moves = |group: &Group, turns| group.moves(turns).map(Iterator::collect::<Vec<_>>);
        assert_eq!(moves(&group, 0b0010), Some(vec![(2, 0), (1, 2)]));
        assert!(group.has_turn(0b0010));
        for (from, to) in [(2, 0), (1, 2)] {
            group.change(from, to);
        }
        group.enter(1, 0b0010);
        // What has the others cannot leave them, but a second one that can have this alone goes there too.
        assert_eq!((group.left(), moves(&group, 0b0110)), (0b1000, None));
        assert!(group.has_turn(0b0010) && !group.has_turn(0b0110));
        group.enter(1, 0b0010);
        assert!(!group.has_turn(0b0010));
    }
}
