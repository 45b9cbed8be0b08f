//! Counts by address space: what a program executed, what the kernel executed while the program's page tables were
//! loaded, and the rest.
//!
//! In a guest whose init runs one program, every address space but init's is the program's: its processes have one
//! each. The kernel has one of its own too, in which nothing is ever executed above CPL 0, so that it goes to the rest.
//! Kernel threads and the idle loop have none, and run in that of the process before them.

use crate::machine::pmu::PmuDevice;
use std::collections::{BTreeMap, BTreeSet};
use vpmu::TopdownSlots;
use vpmu::source::EventRequest;

/// CR3 without PCID (SDM volume 3, "Paging"): where the page tables begin.
const PAGE_TABLES: u64 = !0xFFF & ((1 << 52) - 1);
/// In pairs, the kernel comes first, as in the source's totals.
const USER: usize = 1;

/// Occurrences of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpaceCount {
    /// By the program.
    pub user: u64,
    /// By the kernel, in the program's address spaces.
    pub kernel: u64,
    /// By the guest's init, and by the kernel elsewhere.
    pub rest: u64,
}

/// What was counted from when the program got its address space to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCounts {
    /// One for each event that was asked for.
    pub events: Vec<SpaceCount>,
    /// Slots by category of the program itself.
    pub topdown_user: TopdownSlots,
    /// The same of the kernel in its address spaces.
    pub topdown_kernel: TopdownSlots,
}

/// Totals at one moment, or what was added to them.
#[derive(Debug, Clone, Default)]
struct Reading {
    /// Instructions, by which an address space is known as one of processes.
    events: Vec<[u64; 2]>,
    topdown: [TopdownSlots; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Init does something else.
    Before,
    /// A process with these page tables is about to become the program.
    Armed(u64),
    /// The program has an address space.
    Running,
}

/// Sorts counts by address space.
#[derive(Debug)]
pub(super) struct Spaces {
    requests: Vec<EventRequest>,
    init: u64,
    current: u64,
    phase: Phase,
    last: Reading,
    spaces: BTreeMap<u64, Reading>,
    /// Those in which something was executed above CPL 0, measured or not.
    executed: BTreeSet<u64>,
    /// Instructions of the program above CPL 0, measured or not.
    user: u64,
    /// What is executed is counted.
    measured: bool,
}

impl Spaces {
    pub(super) fn new(requests: Vec<EventRequest>, space: u64) -> Self {
        let init = space & PAGE_TABLES;
        Self {
            requests,
            init,
            current: init,
            phase: Phase::Before,
            last: Reading::default(),
            spaces: BTreeMap::new(),
            executed: BTreeSet::new(),
            user: 0,
            measured: true,
        }
    }

    /// The process that runs becomes the program with its next `execve`.
    pub(super) fn arm(&mut self) {
        self.phase = Phase::Armed(self.current);
    }

    /// CR3 changes. True if the program has got its first address space.
    pub(super) fn switch(&mut self, cr3: u64, pmu: &mut PmuDevice) -> bool {
        let space = cr3 & PAGE_TABLES;
        if space == self.current {
            return false;
        }
        if self.phase == Phase::Running {
            self.account(pmu);
        }
        self.current = space;
        let starts = matches!(self.phase, Phase::Armed(before) if ![before, self.init].contains(&space));
        if starts {
            self.phase = Phase::Running;
            self.last = self.read(pmu);
        }
        starts
    }

    /// Whether the current address space is none of init's, after the program's start.
    pub(super) fn is_program(&self) -> bool {
        self.phase == Phase::Running && self.current != self.init
    }

    /// The same, in a part of the program that is counted.
    pub(super) fn is_measured(&self) -> bool {
        self.measured && self.is_program()
    }

    /// From here on what is executed is counted, or not.
    pub(super) fn measure(&mut self, measured: bool, pmu: &mut PmuDevice) {
        if self.phase == Phase::Running {
            self.account(pmu);
        }
        self.measured = measured;
    }

    /// Instructions of the program above CPL 0 from its start to now, counted or not.
    pub(super) fn user(&mut self, pmu: &mut PmuDevice) -> u64 {
        if self.phase == Phase::Running {
            self.account(pmu);
        }
        self.user
    }

    /// The totals start anew.
    pub(super) fn rebase(&mut self, pmu: &mut PmuDevice) {
        self.last = self.read(pmu);
    }

    pub(super) fn counts(&mut self, pmu: &mut PmuDevice) -> ProgramCounts {
        if self.phase == Phase::Running {
            self.account(pmu);
        }
        let mut counts = ProgramCounts {
            events: vec![SpaceCount::default(); self.requests.len()],
            topdown_user: TopdownSlots::default(),
            topdown_kernel: TopdownSlots::default(),
        };
        for (space, reading) in &self.spaces {
            let is_program = self.executed.contains(space) && *space != self.init;
            for (count, [kernel, user]) in counts.events.iter_mut().zip(&reading.events) {
                if is_program {
                    count.user += user;
                    count.kernel += kernel;
                } else {
                    count.rest += user + kernel;
                }
            }
            if is_program {
                let [kernel, user] = reading.topdown;
                counts.topdown_kernel += kernel;
                counts.topdown_user += user;
            }
        }
        // The first is our own.
        counts
    }

    /// What has been added since the last time belongs to the current address space.
    fn account(&mut self, pmu: &mut PmuDevice) {
        let now = self.read(pmu);
        let instructions = |reading: &Reading| reading.events.first().map_or(0, |levels| levels[USER]);
        let user = instructions(&now).saturating_sub(instructions(&self.last));
        if user > 0 {
            self.executed.insert(self.current);
            if self.current != self.init {
                self.user += user;
            }
        }
        if !self.measured {
            self.last = now;
            return;
        }
        let space = self.spaces.entry(self.current).or_default();
        space.events.resize(now.events.len(), [0; 2]);
        for ((sum, now), last) in space.events.iter_mut().zip(&now.events).zip(&self.last.events) {
            for ((sum, now), last) in sum.iter_mut().zip(now).zip(last) {
                *sum += now.saturating_sub(*last);
            }
        }
        for ((sum, now), last) in space.topdown.iter_mut().zip(&now.topdown).zip(&self.last.topdown) {
            *sum += now.since(last);
        }
        self.last = now;
    }

    fn read(&self, pmu: &mut PmuDevice) -> Reading {
        let events = self.requests.iter().map(|request| pmu.totals(request)).collect();
        Reading { events, topdown: pmu.topdown() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::model::{ModelSource, Retired};
    use serde_json::json;
    use soft_cpu::Totals;
    use vpmu::event::{Event, EventCode};
    use vpmu::profile::SAPPHIRE_RAPIDS;

    const INIT: u64 = 0x1000;
    const BEFORE: u64 = 0x2000;

    /// A CPU that has retired so many instructions at CPL 0 and at CPL 3.
    struct Cpu {
        retired: Retired<Totals>,
        pmu: PmuDevice,
        spaces: Spaces,
        totals: [u64; 2],
    }

    impl Cpu {
        fn new() -> Self {
            let retired = Retired::default();
            let source = Box::new(ModelSource::new(&SAPPHIRE_RAPIDS, retired.clone()));
            let pmu = PmuDevice::new(SAPPHIRE_RAPIDS, source, None);
            let instructions = EventRequest::named(Event::InstRetiredAny, EventCode::default());
            let mut cpu =
                Self { retired, pmu, spaces: Spaces::new(vec![instructions], INIT), totals: [0; 2] };
            cpu.execute(100, 100);
            cpu
        }

        fn execute(&mut self, kernel: u64, user: u64) {
            self.totals = [self.totals[0] + kernel, self.totals[1] + user];
            let nothing = vec![0; retire::BranchKind::COUNT + 1];
            let mode = |count: u64| {
                json!({
                    "instructions": count, "loads": 0, "stores": 0, "events": 0, "branches": nothing,
                })
            };
            let totals = json!({ "modes": self.totals.map(mode) });
            self.retired.set(&serde_json::from_value(totals).expect("totals"));
        }

        fn switch(&mut self, space: u64) -> bool {
            self.spaces.switch(space, &mut self.pmu)
        }

        fn count(&mut self) -> SpaceCount {
            self.spaces.counts(&mut self.pmu).events[0]
        }
    }

    #[test]
    fn counting_begins_with_the_program_s_own_address_space() {
        let mut cpu = Cpu::new();
        assert!(!cpu.switch(BEFORE), "nothing has been announced");
        cpu.spaces.arm();
        cpu.execute(10, 10);
        assert!(!cpu.switch(INIT) && !cpu.switch(BEFORE), "neither of them is new");
        assert_eq!(cpu.count(), SpaceCount::default());
        assert!(cpu.switch(0x3000));
        cpu.execute(5, 7);
        assert_eq!(cpu.count(), SpaceCount { user: 7, kernel: 5, rest: 0 });
    }

    #[test]
    fn children_are_the_program_s_and_init_is_not() {
        let mut cpu = Cpu::new();
        cpu.switch(BEFORE);
        cpu.spaces.arm();
        cpu.switch(0x3000);
        cpu.execute(1, 10);
        cpu.switch(INIT);
        cpu.execute(2, 20);
        assert!(!cpu.switch(0x4000), "there is one start");
        cpu.execute(4, 40);
        // The same page tables with another PCID, and no flush.
        cpu.switch(0x4005);
        cpu.execute(8, 80);
        assert_eq!(cpu.count(), SpaceCount { user: 130, kernel: 13, rest: 22 });
    }

    #[test]
    fn what_is_not_measured_is_not_counted() {
        let mut cpu = Cpu::new();
        cpu.switch(BEFORE);
        cpu.spaces.arm();
        cpu.spaces.measure(false, &mut cpu.pmu);
        cpu.switch(0x3000);
        cpu.execute(1, 10);
        assert!(cpu.spaces.is_program() && !cpu.spaces.is_measured());
        cpu.spaces.measure(true, &mut cpu.pmu);
        cpu.execute(2, 0);
        cpu.spaces.measure(false, &mut cpu.pmu);
        cpu.execute(4, 40);
        assert_eq!(cpu.count(), SpaceCount { user: 0, kernel: 2, rest: 0 });
        assert_eq!(cpu.spaces.user(&mut cpu.pmu), 50);
    }

    #[test]
    fn an_address_space_without_user_code_is_the_kernel_s_own() {
        let mut cpu = Cpu::new();
        cpu.switch(BEFORE);
        cpu.spaces.arm();
        cpu.switch(0x3000);
        cpu.execute(1, 1);
        cpu.switch(0x9000);
        cpu.execute(50, 0);
        assert_eq!(cpu.count(), SpaceCount { user: 1, kernel: 1, rest: 50 });
    }
}
