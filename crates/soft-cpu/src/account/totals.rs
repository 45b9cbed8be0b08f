//! What has retired.

use core::ops::Index;
use retire::BranchKind;

/// Running totals at one privilege level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ModeTotals {
    /// Retired instructions.
    pub instructions: u64,
    /// Memory operands read, one per element for string instructions; pushes, pops and gates included as far as the
    /// instruction names them.
    pub loads: u64,
    /// Memory operands written.
    pub stores: u64,
    /// Interrupts and exceptions taken, other than by INT n, INT3 and INTO.
    #[cfg_attr(feature = "serde", serde(default))]
    pub events: u64,
    /// Iterations of string instructions with REP, also of those that have not ended.
    #[cfg_attr(feature = "serde", serde(default))]
    pub repetitions: u64,
    /// Instructions that work on x87 registers, as [`retire::RegisterFile`] has it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub x87: u64,
    /// Those that work on MMX registers.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mmx: u64,
    /// Those that work on XMM registers.
    #[cfg_attr(feature = "serde", serde(default))]
    pub sse: u64,
    /// By [`place`].
    branches: [u64; BranchKind::COUNT + 1],
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) flops: [u64; Flop::COUNT],
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) arithmetic: [u64; Arithmetic::COUNT],
}

/// Instructions of floating-point arithmetic, as Intel's event FP_ARITH_INST_RETIRED tells them apart: additions,
/// subtractions, multiplications, divisions, square roots, minima, maxima and reciprocals. A dot product counts twice,
/// and so does a multiplication with addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// On one double.
    ScalarDouble,
    /// On one single.
    ScalarSingle,
    /// On two doubles.
    PackedDouble,
    /// On four singles.
    PackedSingle,
    /// On four doubles.
    PackedDouble256,
    /// On eight singles.
    PackedSingle256,
    /// On eight doubles.
    PackedDouble512,
    /// On sixteen singles.
    PackedSingle512,
}

impl Arithmetic {
    pub(crate) const COUNT: usize = 8;

    /// As the retirement stream describes it.
    pub(crate) const fn described(arithmetic: &retire::Arithmetic) -> Self {
        match (arithmetic.packed, arithmetic.double, arithmetic.width) {
            (false, true, _) => Self::ScalarDouble,
            (false, false, _) => Self::ScalarSingle,
            (true, true, 64..) => Self::PackedDouble512,
            (true, false, 64..) => Self::PackedSingle512,
            (true, true, 32..) => Self::PackedDouble256,
            (true, false, 32..) => Self::PackedSingle256,
            (true, true, _) => Self::PackedDouble,
            (true, false, _) => Self::PackedSingle,
        }
    }

    /// On elements of so many bits, of 128 bits in all.
    pub(crate) const fn of(packed: bool, bits: u32) -> Self {
        match (packed, bits) {
            (false, 64) => Self::ScalarDouble,
            (false, _) => Self::ScalarSingle,
            (true, 64) => Self::PackedDouble,
            (true, _) => Self::PackedSingle,
        }
    }
}

/// What a floating-point operation of an SSE or AVX instruction is. Each lane counts for itself; comparisons, minima,
/// conversions, roundings and estimates are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flop {
    /// Addition or subtraction; of a dot product every sum.
    AddSub,
    /// Multiplication; of a dot product every product.
    Mul,
    /// Division or square root.
    DivSqrt,
    /// Multiplication with addition: two operations.
    MulAdd,
}

impl Flop {
    const COUNT: usize = 4;
}

/// Kinds of both.
pub(crate) const OPERATIONS: usize = Flop::COUNT + Arithmetic::COUNT;

/// Where branches are counted: the conditional ones that were taken, those that were not, and the other kinds.
#[inline(always)]
pub(crate) const fn place(kind: BranchKind, taken: bool) -> usize {
    match kind {
        BranchKind::Conditional if taken => 0,
        kind => kind as usize + 1,
    }
}

impl ModeTotals {
    fn since(&self, earlier: &Self) -> Self {
        fn each<const N: usize>(now: &[u64; N], then: &[u64; N]) -> [u64; N] {
            std::array::from_fn(|n| now[n].saturating_sub(then[n]))
        }
        let Self { instructions, loads, stores, events, repetitions, x87, mmx, sse, .. } = *earlier;
        Self {
            instructions: self.instructions.saturating_sub(instructions),
            loads: self.loads.saturating_sub(loads),
            stores: self.stores.saturating_sub(stores),
            events: self.events.saturating_sub(events),
            repetitions: self.repetitions.saturating_sub(repetitions),
            x87: self.x87.saturating_sub(x87),
            mmx: self.mmx.saturating_sub(mmx),
            sse: self.sse.saturating_sub(sse),
            branches: each(&self.branches, &earlier.branches),
            flops: each(&self.flops, &earlier.flops),
            arithmetic: each(&self.arithmetic, &earlier.arithmetic),
        }
    }

    /// Counts floating-point arithmetic, of a dot product with that immediate.
    pub(crate) fn count_arithmetic(&mut self, arithmetic: &retire::Arithmetic, immediate: u8) {
        self.arithmetic[Arithmetic::described(arithmetic) as usize] += u64::from(arithmetic.count);
        let retire::Arithmetic { double, width, count, operations, .. } = *arithmetic;
        let dot_product = count == 2 && operations[Flop::MulAdd as usize] == 0;
        let operations =
            if dot_product { crate::describe::dot_product(immediate, double, width) } else { operations };
        for (total, count) in self.flops.iter_mut().zip(operations) {
            *total += u64::from(count);
        }
    }

    /// Counts a branch; only conditional ones may not be taken.
    #[inline(always)]
    pub(crate) fn count_branch(&mut self, kind: BranchKind, taken: bool) {
        self.branches[place(kind, taken)] += 1;
    }

    /// Counts branches by [`place`].
    pub(crate) fn add_branches(&mut self, counts: &[u64; BranchKind::COUNT + 1]) {
        self.branches.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }

    /// Counts floating-point operations by [`Flop`], and instructions by [`Arithmetic`].
    pub(crate) fn add_operations(&mut self, counts: &[u64; OPERATIONS]) {
        let totals = self.flops.iter_mut().chain(&mut self.arithmetic);
        totals.zip(counts).for_each(|(total, count)| *total += count);
    }

    /// Retired branches of a kind that were taken.
    #[must_use]
    pub fn taken(&self, kind: BranchKind) -> u64 {
        self.branches[place(kind, true)]
    }

    /// Retired branches that were not taken; all are conditional.
    #[must_use]
    pub fn not_taken(&self) -> u64 {
        self.branches[place(BranchKind::Conditional, false)]
    }

    /// All retired branches, taken or not.
    #[must_use]
    pub fn all_branches(&self) -> u64 {
        self.branches.iter().sum()
    }

    /// Retired branches that were taken.
    #[must_use]
    pub fn taken_branches(&self) -> u64 {
        self.all_branches() - self.not_taken()
    }

    /// Retired conditional branches, taken or not.
    #[must_use]
    pub fn conditional_branches(&self) -> u64 {
        self.taken(BranchKind::Conditional) + self.not_taken()
    }

    /// Retired floating-point operations of SSE and AVX instructions, of all kinds.
    #[must_use]
    pub fn all_flops(&self) -> u64 {
        self.flops.iter().sum()
    }

    /// Retired near calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.taken(BranchKind::DirectCall) + self.taken(BranchKind::IndirectCall)
    }
}

impl Index<Flop> for ModeTotals {
    type Output = u64;

    fn index(&self, kind: Flop) -> &u64 {
        &self.flops[kind as usize]
    }
}

impl Index<Arithmetic> for ModeTotals {
    type Output = u64;

    fn index(&self, kind: Arithmetic) -> &u64 {
        &self.arithmetic[kind as usize]
    }
}

/// Running totals since the CPU was made; they never go down.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "Saved", into = "Saved")
)]
pub struct Totals {
    /// Where what retires now is counted, without asking for the privilege level each time.
    pub(crate) current: ModeTotals,
    other: ModeTotals,
    /// `current` is that of CPL 1 to 3.
    user: bool,
}

/// Totals as they are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Saved {
    /// At CPL 0 and at CPL 1 to 3.
    modes: [ModeTotals; 2],
}

impl From<Saved> for Totals {
    fn from(Saved { modes: [os, usr] }: Saved) -> Self {
        Self { current: os, other: usr, user: false }
    }
}

impl From<Totals> for Saved {
    fn from(totals: Totals) -> Self {
        Self { modes: [*totals.os(), *totals.usr()] }
    }
}

impl PartialEq for Totals {
    fn eq(&self, other: &Self) -> bool {
        Saved::from(*self) == Saved::from(*other)
    }
}

impl Eq for Totals {}

impl Totals {
    /// What retired at CPL 0.
    #[must_use]
    pub fn os(&self) -> &ModeTotals {
        if self.user { &self.other } else { &self.current }
    }

    /// What retired at CPL 1 to 3.
    #[must_use]
    pub fn usr(&self) -> &ModeTotals {
        if self.user { &self.current } else { &self.other }
    }

    /// Those of a privilege level.
    pub(crate) fn at(&mut self, user: bool) -> &mut ModeTotals {
        if self.user == user { &mut self.current } else { &mut self.other }
    }

    /// From now on instructions retire at this privilege level.
    pub(crate) fn bill(&mut self, user: bool) {
        if self.user != user {
            std::mem::swap(&mut self.current, &mut self.other);
            self.user = user;
        }
    }

    /// `current` is that of CPL 1 to 3.
    pub(crate) fn bills_user(&self) -> bool {
        self.user
    }

    /// True if every single count is below `limit`: a check of saved totals.
    #[must_use]
    pub fn all_below(&self, limit: u64) -> bool {
        let below = |mode: &ModeTotals| {
            let ModeTotals { instructions, loads, stores, events, repetitions, x87, mmx, sse, .. } = *mode;
            let counts = [instructions, loads, stores, events, repetitions, x87, mmx, sse];
            let arrays = mode.branches.iter().chain(&mode.flops).chain(&mode.arithmetic);
            counts.iter().chain(arrays).all(|count| *count < limit)
        };
        [&self.current, &self.other].into_iter().all(below)
    }

    /// What has retired since `earlier`, which none of the counts may be below.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { current: self.os().since(earlier.os()), other: self.usr().since(earlier.usr()), user: false }
    }

    /// Taken branches at all levels.
    pub(crate) fn taken_branches(&self) -> u64 {
        self.current.taken_branches() + self.other.taken_branches()
    }

    /// Iterations of string instructions with REP at all levels.
    #[must_use]
    pub fn repetitions(&self) -> u64 {
        self.current.repetitions + self.other.repetitions
    }

    /// Retired instructions at all levels.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.current.instructions + self.other.instructions
    }
}
