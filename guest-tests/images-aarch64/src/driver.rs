//! A driver for Falkor's PMU in miniature: maps perf's events to counters and programs them in the order that the
//! public review of the Linux driver asks for. Its defects, on request, are those that the review found in earlier
//! versions.

use guest_runtime::{counters, power_on_value};

use crate::{
    falkor::{EN, Event, PMXEVCNTCR, REGIONS, resr},
    pmu::{
        COUNTER_MAX, PMCNTENCLR, PMCNTENSET, PMCR, PMINTENCLR, PMINTENSET, PMOVSCLR, PMSELR, counter, event,
        event_type, implemented, pmcr, read, write,
    },
};

/// Most event counters that the architecture allows.
const ROOM: usize = 31;
/// The flag of a matrix event in perf's raw number, 0xPRCCG.
const MATRIX: u32 = 1 << 16;

/// Why an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// -ENOENT: there is no such event.
    NoEntry,
    /// -EAGAIN: it conflicts with one that is there, or no counter is free; later it may go.
    Again,
}

/// How perf names an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// PERF_TYPE_HARDWARE: a number of perf's own list, which is never a matrix event.
    Hardware,
    /// PERF_TYPE_RAW or the PMU's own type: a number of the CPU.
    Raw,
}

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A common event.
    Common(u64),
    /// An event of the matrix.
    Matrix(Event),
}

impl Counted {
    /// The event that perf means.
    ///
    /// # Errors
    /// [`Refusal::NoEntry`] for regions, groups and codes that do not exist.
    pub fn map(kind: Kind, config: u32) -> Result<Self, Refusal> {
        match kind {
            // PERF_COUNT_HW_CPU_CYCLES and PERF_COUNT_HW_INSTRUCTIONS.
            Kind::Hardware => match config {
                0 => Ok(Self::Common(event::CPU_CYCLES)),
                1 => Ok(Self::Common(event::INST_RETIRED)),
                _ => Err(Refusal::NoEntry),
            },
            Kind::Raw if config & MATRIX == 0 => match config {
                0..=0x3FF => Ok(Self::Common(config.into())),
                _ => Err(Refusal::NoEntry),
            },
            Kind::Raw => {
                let event = Event::new(config);
                let exists = config >> 17 == 0
                    && event.region < REGIONS
                    && event.group <= 7
                    && (event.group < 7 || event.code < 0x80);
                if exists { Ok(Self::Matrix(event)) } else { Err(Refusal::NoEntry) }
            }
        }
    }

    /// Both can be counted at once: a group has one code.
    #[must_use]
    pub fn fits(self, other: Self) -> bool {
        match (self, other) {
            (Self::Matrix(one), Self::Matrix(other)) => {
                (one.region, one.group) != (other.region, other.group) || one.code == other.code
            }
            _ => true,
        }
    }

    fn selector(self) -> u64 {
        match self {
            Self::Common(number) => number,
            Self::Matrix(event) => event.selector(),
        }
    }
}

/// What is wrong with a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    None,
    /// Disabling an event calls what enables it.
    DisableEnables,
    /// Disabling an event clears its group, though another event uses the same code.
    NoUseCount,
    /// Clearing group 7 takes eight bits, and EN is the eighth.
    ClearsEn,
    /// A register without any code but 0 is taken for unused.
    CodeZeroIsUnused,
    /// Reset leaves what power-on left.
    NoReset,
}

/// The driver of one CPU.
#[derive(Debug)]
pub struct Driver {
    defect: Defect,
    used: [Option<Counted>; ROOM],
}

impl Driver {
    /// Resets the PMU, as section 2.5 of the reference orders it: matrix, its controls by counter, enables, PMCR.
    #[must_use]
    pub fn reset(defect: Defect) -> Self {
        if defect == Defect::NoReset {
            (0..REGIONS).for_each(|region| write(resr(region), power_on_value(resr(region)).unwrap_or(0)));
        } else {
            (0..REGIONS).for_each(|region| write(resr(region), 0));
            for n in 0..counters() {
                write(PMSELR, n.into());
                write(PMXEVCNTCR, 0);
            }
        }
        write(PMCNTENCLR, implemented());
        write(PMINTENCLR, implemented());
        write(PMOVSCLR, implemented());
        write(PMCR, pmcr::P | pmcr::C | pmcr::LC);
        Self { defect, used: [None; ROOM] }
    }

    /// A counter for the event, which is now its; the lowest that is free.
    ///
    /// # Errors
    /// [`Refusal::Again`] if it conflicts with an event that has a counter, or none is free.
    pub fn allocate(&mut self, counted: Counted) -> Result<u32, Refusal> {
        if !self.used.iter().flatten().all(|other| counted.fits(*other)) {
            return Err(Refusal::Again);
        }
        let free = (0..counters()).find(|n| self.slot(*n).is_none()).ok_or(Refusal::Again)?;
        self.used[free as usize] = Some(counted);
        Ok(free)
    }

    /// A group of events can be counted together, on a PMU that has nothing else to do.
    ///
    /// # Errors
    /// Why not.
    pub fn validate(group: &[Counted]) -> Result<(), Refusal> {
        let mut empty = Self { defect: Defect::None, used: [None; ROOM] };
        group.iter().try_for_each(|counted| empty.allocate(*counted).map(|_| ()))
    }

    /// Gives the counter back; it must be disabled.
    pub fn free(&mut self, n: u32) {
        self.used[n as usize] = None;
    }

    fn slot(&self, n: u32) -> Option<Counted> {
        self.used.get(n as usize).copied().flatten()
    }

    /// Enables the event of counter `n` with these filter bits, from this count: matrix first, then the counter.
    pub fn enable(&self, n: u32, filter: u64, start: u64) {
        let Some(counted) = self.slot(n) else { return };
        if let Counted::Matrix(event) = counted {
            event.select();
        }
        write(PMCNTENCLR, 1 << n);
        write(event_type(n), counted.selector() | filter);
        write(counter(n), start & COUNTER_MAX);
        Self::enable_counter(n);
    }

    fn enable_counter(n: u32) {
        write(PMINTENSET, 1 << n);
        write(PMCNTENSET, 1 << n);
    }

    /// Disables the event of counter `n`: the counter first, then the matrix, unless another counter needs the code.
    pub fn disable(&self, n: u32) {
        if self.defect == Defect::DisableEnables {
            Self::enable_counter(n);
        } else {
            write(PMCNTENCLR, 1 << n);
            write(PMINTENCLR, 1 << n);
            write(PMOVSCLR, 1 << n);
        }
        let Some(Counted::Matrix(event)) = self.slot(n) else { return };
        let others = || {
            (0..counters()).filter(|other| *other != n).filter_map(|other| match self.slot(other) {
                Some(Counted::Matrix(other)) if other.region == event.region => Some(other),
                _ => None,
            })
        };
        // A driver that enables by mistake clears no code either, or nothing would go on counting.
        let shared = others().any(|other| other.group == event.group);
        if self.defect == Defect::DisableEnables || shared && self.defect != Defect::NoUseCount {
            return;
        }
        let field = match (self.defect, event.group) {
            (Defect::ClearsEn, 7) => 0xFF << 56,
            _ => event.field(),
        };
        let left = read(event.resr()) & !field;
        let unused = match self.defect {
            Defect::CodeZeroIsUnused => left == EN,
            _ => others().next().is_none(),
        };
        write(event.resr(), if unused { 0 } else { left });
    }

    /// Lets all enabled counters run.
    pub fn start(&self) {
        write(PMCR, pmcr::E | pmcr::LC);
    }

    /// Stops all counters.
    pub fn stop(&self) {
        write(PMCR, pmcr::LC);
    }

    /// The count of counter `n`.
    #[must_use]
    pub fn read(&self, n: u32) -> u64 {
        read(counter(n))
    }
}
