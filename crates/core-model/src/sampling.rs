//! Systematic sampling: a short stretch of each period goes through the pipeline, what lies between stretches only
//! warms caches, translations and predictors, and takes as many cycles as the stretch before it says.
//!
//! This is SMARTS (Wunderlich, Wenisch, Falsafi and Hoe: "SMARTS: Accelerating Microarchitecture Simulation via
//! Rigorous Statistical Sampling", ISCA 2003). Instructions and branches, with their predictions, are counted one by
//! one all the same.

use crate::memory::Fetched;
use crate::totals::CoreTotals;

/// How much of a program goes through the pipeline, in instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Of each stretch that is measured.
    pub unit: u32,
    /// In detail before each of them, so that the pipeline is in a usual state.
    pub warm_up: u32,
    /// From the beginning of a stretch to that of the next one.
    pub period: u32,
}

impl Sampling {
    /// Instructions in detail of each period that SMARTS found to be enough: 1,000 after 2,000.
    const UNIT: u32 = 1_000;
    const WARM_UP: u32 = 2_000;
    /// The shortest period.
    pub const LEAST_PERIOD: u32 = 2 * (Self::UNIT + Self::WARM_UP);

    /// One stretch in each period, which is as long as [`LEAST_PERIOD`](Self::LEAST_PERIOD) at least.
    #[must_use]
    pub fn every(period: u32) -> Self {
        Self { unit: Self::UNIT, warm_up: Self::WARM_UP, period: period.max(Self::LEAST_PERIOD) }
    }

    fn between(self) -> u64 {
        u64::from(self.period.saturating_sub(self.unit).saturating_sub(self.warm_up)).max(1)
    }
}

/// What sampling has come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingReport {
    /// How samples were taken.
    pub sampling: Sampling,
    /// How many stretches were measured.
    pub units: u64,
    /// Half of the 95 % confidence interval of cycles per instruction, as a part of their mean; `None` for fewer than
    /// 30 stretches, of which it would say nothing.
    pub error: Option<f64>,
}

/// Stretches below which there is no interval, and its half in standard deviations of the mean.
const FEW: u64 = 30;
const HALF_INTERVAL: f64 = 1.96;

/// What goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    WarmUp,
    Unit,
    Between,
}

/// What so many instructions have added.
#[derive(Debug, Clone, Default)]
struct Rate {
    instructions: u64,
    totals: Box<CoreTotals>,
}

impl Rate {
    /// What a word comes to for so many instructions. Words that count down are negative.
    fn of(&self, word: u64, instructions: u64) -> u64 {
        let of = self.instructions.max(1);
        let wide = i128::from(word.cast_signed()) * i128::from(instructions);
        i64::try_from(wide).map_or((wide / i128::from(of)) as u64, |narrow| {
            (narrow / i64::try_from(of).unwrap_or(i64::MAX)).cast_unsigned()
        })
    }
}

/// What is known of a level, or else of the other.
fn rate(rates: &[Rate; 2], level: usize) -> &Rate {
    match &rates[level] {
        Rate { instructions: 0, .. } => &rates[1 - level],
        rate => rate,
    }
}

#[derive(Debug)]
pub(crate) struct Sampler {
    sampling: Sampling,
    pub(crate) phase: Phase,
    /// Instructions until the next phase.
    left: u64,
    /// Totals of both levels when the stretch began, what the newest stretches have added to each, and what is used.
    began: [Box<CoreTotals>; 2],
    gathered: [Rate; 2],
    rates: [Rate; 2],
    /// Instructions between stretches at each level since that began, and what has been booked of them.
    passed: [u64; 2],
    booked: [Box<CoreTotals>; 2],
    /// The cycle from which that counts, and cycles per instruction, in parts of 65,536.
    pub(crate) base: u64,
    steps: [u64; 2],
    pub(crate) fetched: Fetched,
    /// What warming does is not booked.
    pub(crate) ignored: Box<CoreTotals>,
    units: u64,
    mean: f64,
    squares: f64,
}

impl Sampler {
    /// The first period is in detail.
    pub(crate) fn new(sampling: Sampling) -> Self {
        Self {
            sampling,
            phase: Phase::WarmUp,
            left: sampling.between() + u64::from(sampling.warm_up),
            began: Default::default(),
            gathered: Default::default(),
            rates: Default::default(),
            passed: [0; 2],
            booked: Default::default(),
            base: 0,
            steps: [0; 2],
            fetched: Fetched::default(),
            ignored: Box::default(),
            units: 0,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// So many instructions have retired; true if the phase is over.
    #[inline]
    pub(crate) fn is_over(&mut self, instructions: u8) -> bool {
        self.left = self.left.saturating_sub(instructions.into());
        self.left == 0
    }

    /// A stretch begins, with these totals.
    pub(crate) fn begin_unit(&mut self, totals: &[CoreTotals; 2]) {
        (self.phase, self.left) = (Phase::Unit, self.sampling.unit.into());
        for (began, totals) in self.began.iter_mut().zip(totals) {
            **began = *totals;
        }
    }

    /// It is over.
    pub(crate) fn end_unit(&mut self, totals: &[CoreTotals; 2]) {
        let (mut cycles, mut instructions) = (0, 0);
        let levels = self.gathered.iter_mut().zip(&mut self.rates).zip(&self.began).zip(totals);
        for (((gathered, rate), began), totals) in levels {
            let mut added = *totals;
            added.subtract(began);
            cycles += added.cycles;
            instructions += added.instructions;
            gathered.instructions += added.instructions;
            gathered.totals.take(&mut added);
            // A few instructions of a level say nothing about it.
            if gathered.instructions >= u64::from(self.sampling.unit / 2) {
                // These are not estimated.
                gathered.totals.instructions = 0;
                gathered.totals.branches = Default::default();
                *rate = std::mem::take(gathered);
            }
        }
        self.note(cycles as f64 / instructions.max(1) as f64);
        (self.phase, self.left) = (Phase::Between, self.sampling.between());
        (self.passed, self.fetched) = ([0; 2], Fetched::default());
        self.booked.iter_mut().for_each(|booked| **booked = CoreTotals::default());
        let step = |level: usize| {
            let rate = rate(&self.rates, level);
            (rate.totals.cycles << 16) / rate.instructions.max(1)
        };
        self.steps = [step(0), step(1)];
    }

    /// One more stretch with so many cycles per instruction (Welford's method).
    fn note(&mut self, cycles: f64) {
        self.units += 1;
        let before = cycles - self.mean;
        self.mean += before / self.units as f64;
        self.squares += before * (cycles - self.mean);
    }

    /// Instructions between stretches; the cycle in which they are.
    #[inline]
    pub(crate) fn pass(&mut self, user: bool, instructions: u8) -> u64 {
        let passed = &mut self.passed[usize::from(user)];
        *passed += u64::from(instructions);
        let [kernel, user] = self.passed;
        self.base + ((kernel * self.steps[0] + user * self.steps[1]) >> 16)
    }

    /// The cycle that is reached between stretches.
    pub(crate) fn cycle(&self) -> u64 {
        let cycles = |level: usize| {
            let rate = rate(&self.rates, level);
            rate.of(rate.totals.cycles, self.passed[level])
        };
        self.base + cycles(0) + cycles(1)
    }

    /// Books what lies between stretches as far as it has not been.
    pub(crate) fn book(&mut self, totals: &mut [CoreTotals; 2]) {
        for (level, totals) in totals.iter_mut().enumerate() {
            let passed = self.passed[level];
            if passed == 0 {
                continue;
            }
            let rate = rate(&self.rates, level);
            let words = totals.words_mut().iter_mut().zip(self.booked[level].words_mut());
            for ((total, booked), &word) in words.zip(rate.totals.words()) {
                if word != 0 {
                    let all = rate.of(word, passed);
                    *total = total.wrapping_add(all.wrapping_sub(*booked));
                    *booked = all;
                }
            }
        }
    }

    /// The next stretch is near.
    pub(crate) fn warm_up(&mut self) {
        (self.phase, self.left) = (Phase::WarmUp, self.sampling.warm_up.max(1).into());
    }

    pub(crate) fn report(&self) -> SamplingReport {
        let error = (self.units >= FEW && self.mean > 0.0).then(|| {
            let units = self.units as f64;
            let deviation = (self.squares / (units - 1.0)).sqrt();
            HALF_INTERVAL * deviation / units.sqrt() / self.mean
        });
        SamplingReport { sampling: self.sampling, units: self.units, error }
    }
}
