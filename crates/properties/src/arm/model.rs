//! PMUv3 and the matrix, naively: every register by itself, every counter added to at once. What registers and events
//! are is written by hand, from the manual and the reference of the patch.

use super::{
    NEXT, PMACTLR, PMCCFILTR, PMCCNTR, PMCEID0, PMCEID1, PMCNTENCLR, PMCNTENSET, PMCR, PMEVCNTR0, PMEVTYPER0,
    PMINTENCLR, PMINTENSET, PMOVSCLR, PMOVSSET, PMRESR0, PMSELR, PMSWINC, PMUSERENR, PMXEVCNTCR, PMXEVCNTR,
    PMXEVTYPER,
};
use vpmu::event::Event;
use vpmu::profile::BeyondLast;
use vpmu::{Level, Profile};

/// What happens in sequences.
pub(super) const HAPPENING: [Event; 4] =
    [Event::InstRetired, Event::CpuCycles, Event::L1dCache, Event::LdRetired];
/// The common events of those.
const COMMON: [(u64, Event); 4] =
    [(0x08, Event::InstRetired), (0x11, Event::CpuCycles), (0x04, Event::L1dCache), (0x06, Event::LdRetired)];
/// Region, code and group of the made-up events that count one of those.
pub(super) const MATRIX: [(u64, u64, u64, Event); 6] = [
    (0, 0x00, 0, Event::InstRetired),
    (0, 0xFF, 6, Event::InstRetired),
    (0, 0x7F, 7, Event::CpuCycles),
    (2, 0x06, 0, Event::LdRetired),
    (2, 0x41, 0, Event::L1dCache),
    // Nothing has this code.
    (1, 0x55, 3, Event::InstRetired),
];
/// Of the last one.
const NOTHING: (u64, u64, u64) = (1, 0x55, 3);

const SW_INCR: u64 = 0;
const CHAIN: u64 = 0x1E;
const CYCLES: usize = 31;
const E: u64 = 1;
const D: u64 = 1 << 3;
const LC: u64 = 1 << 6;

/// The registers that Falkor has beside PMUv3's.
const IN_MATRIX: [u32; 5] = [PMACTLR, PMXEVCNTCR, PMRESR0, PMRESR0 + 2 * NEXT, PMRESR0 + 4 * NEXT];

/// Why an access is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The instruction is UNDEFINED.
    Undefined,
    /// Trapped to EL1.
    Trapped,
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    counters: usize,
    aarch32: bool,
    event_bits: u64,
    matrix: bool,
    selected_beyond: BeyondLast,
    direct_beyond: BeyondLast,
    pmcr: u64,
    enabled: u64,
    overflowed: u64,
    interrupts: u64,
    select: u64,
    user: u64,
    types: [u64; 32],
    values: [u64; 32],
    resr: [u64; 3],
    control: [u64; 32],
    actlr: u64,
    /// Cycles since the source began, at EL0 and EL1.
    cycles: [u64; 2],
    /// Occurrences counted since power-on, by counter.
    pub(super) books: [u64; 32],
    /// How often a counter of CHAIN has been added to.
    pub(super) chained: u64,
}

fn bit(value: u64, n: usize) -> bool {
    value >> n & 1 != 0
}

impl Model {
    pub(super) fn power_on(profile: &Profile) -> Self {
        let arm = profile.arm().expect("an Arm CPU");
        let mut model = Self {
            counters: profile.gp_counters.into(),
            aarch32: arm.aarch32,
            event_bits: if arm.version >= 4 { 0xFFFF } else { 0x3FF },
            matrix: arm.matrix,
            selected_beyond: arm.selected_beyond,
            direct_beyond: arm.direct_beyond,
            pmcr: 0,
            enabled: 0,
            overflowed: 0,
            interrupts: 0,
            select: 0,
            user: 0,
            types: [0; 32],
            values: [0; 32],
            resr: [0; 3],
            control: [0; 32],
            actlr: 0,
            cycles: [0; 2],
            books: [0; 32],
            chained: 0,
        };
        model.reset();
        model
    }

    /// The source goes on, and so do the books.
    pub(super) fn reset(&mut self) {
        self.pmcr = 0x5100_0000 | (self.counters as u64) << 11 | if self.aarch32 { 0 } else { LC };
        (self.enabled, self.overflowed, self.interrupts) = (0, 0, 0);
        (self.select, self.user, self.actlr) = (0, 0, 0);
        (self.types, self.values, self.control, self.resr) = ([0; 32], [0; 32], [0; 32], [0; 3]);
    }

    /// Goes back to older registers; the source goes on.
    pub(super) fn roll_back(&mut self, older: &Self) {
        let Self { cycles, books, chained, .. } = *self;
        *self = Self { cycles, books, chained, ..older.clone() };
    }

    pub(super) fn line(&self) -> bool {
        self.pmcr & E != 0 && self.overflowed & self.interrupts != 0
    }

    fn all_counters(&self) -> u64 {
        1 << CYCLES | ((1 << self.counters) - 1)
    }

    /// The counter counts at EL0, at EL1.
    fn levels(&self, n: usize) -> [bool; 2] {
        let types = self.types[n];
        let runs = self.pmcr & E != 0 && bit(self.enabled, n);
        [(30, 28), (31, 29)].map(|(a, b)| runs && bit(types, a) == bit(types, b))
    }

    /// The event that happens and is counted.
    fn event(&self, n: usize) -> Option<Event> {
        if n == CYCLES {
            return Some(Event::CpuCycles);
        }
        let number = self.types[n] & self.event_bits;
        if (0xD8..=0xEF).contains(&number) {
            let (region, group) = ((number - 0xD8) / 8, (number - 0xD8) % 8);
            let selected = self.resr[region as usize];
            let code = selected >> (8 * group) & if group == 7 { 0x7F } else { 0xFF };
            if !self.matrix || !bit(selected, 63) || (region, code, group) == NOTHING {
                return None;
            }
            let row = MATRIX.into_iter().find(|&(r, c, g, _)| (r, c, g) == (region, code, group));
            return row.map(|row| row.3);
        }
        COMMON.into_iter().find(|row| row.0 == number).map(|row| row.1)
    }

    pub(super) fn tick(&mut self, event: Event, os: bool, count: u64) {
        let cycles = self.cycles;
        if event == Event::CpuCycles {
            self.cycles[usize::from(os)] += count;
        }
        for n in (0..self.counters).chain([CYCLES]) {
            let levels = self.levels(n);
            if self.event(n) != Some(event) || !levels[usize::from(os)] {
                continue;
            }
            let divides = n == CYCLES && self.pmcr & D != 0 && self.pmcr & LC == 0;
            let of = |cycles: [u64; 2]| (0..2).map(|n| if levels[n] { cycles[n] } else { 0 }).sum::<u64>();
            let count = if divides { of(self.cycles) / 64 - of(cycles) / 64 } else { count };
            self.add(n, count);
        }
    }

    fn add(&mut self, n: usize, count: u64) {
        self.books[n] += count;
        let sum = u128::from(self.values[n]) + u128::from(count);
        let wraps = if n != CYCLES {
            self.values[n] = sum as u32 as u64;
            (sum >> 32) as u64
        } else {
            let old = self.values[n];
            self.values[n] = sum as u64;
            if self.pmcr & LC != 0 { (sum >> 64) as u64 } else { (sum >> 32) as u64 - (old >> 32) }
        };
        if wraps == 0 {
            return;
        }
        self.overflowed |= 1 << n;
        let odd = n + 1;
        let chained = n != CYCLES
            && n.is_multiple_of(2)
            && odd < self.counters
            && self.types[odd] & self.event_bits == CHAIN
            && self.pmcr & E != 0
            && bit(self.enabled, odd);
        if chained {
            self.chained += 1;
            self.add(odd, wraps);
        }
    }

    /// Whether EL0 may.
    fn check(&self, level: Level, register: u32, write: bool) -> Result<(), Refused> {
        let (en, sw, cr, er) =
            (self.user & 1 != 0, self.user & 2 != 0, self.user & 4 != 0, self.user & 8 != 0);
        let undefined = match register {
            PMCEID0 | PMCEID1 => write,
            PMSWINC => !write,
            _ => false,
        };
        if undefined {
            return Err(Refused::Undefined);
        }
        if level == Level::Kernel {
            return Ok(());
        }
        let (may, refused) = match register {
            PMINTENSET | PMINTENCLR | PMACTLR => (false, Refused::Undefined),
            PMUSERENR => (!write, Refused::Undefined),
            _ if IN_MATRIX.contains(&register) => (self.actlr & 1 != 0, Refused::Undefined),
            PMSWINC => (en || sw, Refused::Trapped),
            PMSELR => (en || er, Refused::Trapped),
            PMCCNTR => (en || cr && !write, Refused::Trapped),
            PMXEVCNTR => (en || er && !write, Refused::Trapped),
            _ if (PMEVCNTR0..PMEVTYPER0).contains(&register) => (en || er && !write, Refused::Trapped),
            _ => (en, Refused::Trapped),
        };
        if may { Ok(()) } else { Err(refused) }
    }

    /// The word behind a register; `Ok(None)` for one that reads as 0 and ignores writes. `None`: not the PMU's.
    fn place(&mut self, register: u32) -> Option<Result<Option<&mut u64>, Refused>> {
        let select = self.select as usize;
        let beyond = |what| match what {
            BeyondLast::Undefined => Err(Refused::Undefined),
            BeyondLast::Zero => Ok(None),
        };
        let matrix =
            [PMACTLR, PMXEVCNTCR, PMRESR0, PMRESR0 + 2 * NEXT, PMRESR0 + 4 * NEXT].contains(&register);
        if matrix && !self.matrix {
            return Some(Err(Refused::Undefined));
        }
        let row = |base: u32| {
            let offset = register.wrapping_sub(base);
            (offset.is_multiple_of(NEXT) && offset / NEXT < 31).then_some((offset / NEXT) as usize)
        };
        let word = match register {
            PMCR => &mut self.pmcr,
            PMCNTENSET | PMCNTENCLR => &mut self.enabled,
            PMOVSSET | PMOVSCLR => &mut self.overflowed,
            PMINTENSET | PMINTENCLR => &mut self.interrupts,
            PMSELR => &mut self.select,
            PMUSERENR => &mut self.user,
            PMACTLR => &mut self.actlr,
            PMCCNTR => &mut self.values[CYCLES],
            PMCCFILTR => &mut self.types[CYCLES],
            PMXEVCNTCR if select < self.counters || select == CYCLES => &mut self.control[select],
            PMXEVTYPER if select < self.counters || select == CYCLES => &mut self.types[select],
            PMXEVCNTR if select < self.counters => &mut self.values[select],
            PMXEVTYPER | PMXEVCNTR => return Some(beyond(self.selected_beyond)),
            PMXEVCNTCR | PMCEID0 | PMCEID1 | PMSWINC => return Some(Ok(None)),
            _ => match (row(PMEVCNTR0), row(PMEVTYPER0)) {
                _ if IN_MATRIX.contains(&register) => {
                    &mut self.resr[((register - PMRESR0) / (2 * NEXT)) as usize]
                }
                (Some(n), _) if n < self.counters => &mut self.values[n],
                (_, Some(n)) if n < self.counters => &mut self.types[n],
                (None, None) => return None,
                _ => return Some(beyond(self.direct_beyond)),
            },
        };
        Some(Ok(Some(word)))
    }

    /// The word that an access reaches, as [`place`](Self::place) has it.
    fn access(
        &mut self,
        level: Level,
        register: u32,
        write: bool,
    ) -> Option<Result<Option<&mut u64>, Refused>> {
        // The saved elements of PMXEVCNTCR have no encoding.
        let element = register & !0x1F == 1 << 24 | PMXEVCNTCR;
        if element || IN_MATRIX.contains(&register) && !self.matrix {
            return Some(Err(Refused::Undefined));
        }
        let known = self.place(register).is_some();
        match self.check(level, register, write) {
            Err(refused) if known => Some(Err(refused)),
            _ => self.place(register),
        }
    }

    /// MRS; `None` for a register that is not the PMU's.
    pub(super) fn read(&mut self, level: Level, register: u32) -> Option<Result<u64, Refused>> {
        let word = self.access(level, register, false)?;
        Some(word.map(|word| match register {
            // All that have a name: the source knows them.
            PMCEID0 => 0xFFFF_FFFF,
            PMCEID1 => 0x003F_FFFF,
            _ => word.copied().unwrap_or(0),
        }))
    }

    /// MSR; `None` for a register that is not the PMU's.
    pub(super) fn write(&mut self, level: Level, register: u32, value: u64) -> Option<Result<(), Refused>> {
        let (counters, event_bits) = (self.all_counters(), self.event_bits);
        let lc = if self.aarch32 { value & LC } else { LC };
        let cycle_type = register == PMCCFILTR || register == PMXEVTYPER && self.select as usize == CYCLES;
        let word = match self.access(level, register, true)? {
            Err(refused) => return Some(Err(refused)),
            Ok(word) => word,
        };
        match (register, word) {
            (PMSWINC, _) => self.software(value, level),
            (_, None) => {}
            (PMCNTENSET | PMOVSSET | PMINTENSET, Some(word)) => *word |= value & counters,
            (PMCNTENCLR | PMOVSCLR | PMINTENCLR, Some(word)) => *word &= !value,
            (PMCR, Some(word)) => *word = *word & !0x7F | value & 0x39 | lc,
            (PMSELR, Some(word)) => *word = value & 0x1F,
            (PMUSERENR, Some(word)) => *word = value & 0xF,
            (PMACTLR, Some(word)) => *word = value & 1,
            (PMCCNTR, Some(word)) => *word = value,
            (PMXEVCNTR, Some(word)) => *word = u64::from(value as u32),
            (_, Some(word)) if IN_MATRIX.contains(&register) => *word = value,
            (_, Some(word)) if (PMEVCNTR0..PMEVTYPER0).contains(&register) => *word = u64::from(value as u32),
            (_, Some(word)) => *word = value & (0xFC00_0000 | if cycle_type { 0 } else { event_bits }),
        }
        if register == PMCR {
            if value & 2 != 0 {
                self.values[..CYCLES].fill(0);
            }
            if value & 4 != 0 {
                self.values[CYCLES] = 0;
            }
        }
        Some(Ok(()))
    }

    fn software(&mut self, counters: u64, level: Level) {
        for n in 0..self.counters {
            let counts = self.levels(n)[usize::from(level == Level::Kernel)];
            if bit(counters, n) && counts && self.types[n] & self.event_bits == SW_INCR {
                self.add(n, 1);
            }
        }
    }
}
