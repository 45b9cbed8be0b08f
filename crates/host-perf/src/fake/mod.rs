//! A kernel for tests: it follows the rules of Linux' perf subsystem, on hardware that exists in memory only.
//!
//! It knows permissions, groups and their constraints, read formats, pinned events in error state,
//! multiplexing, overflow budgets, the quantisation of topdown metrics and the user page. Work is done by
//! calling [`FakeKernel::run`]; nothing happens by itself.
//!
//! Not modelled: CPUs other than one, task inheritance, sampling buffers, precise events.

mod hardware;
mod page;
mod rules;

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::errno::Errno;
use crate::event::{Event, Level, Metric};
use crate::host::Privileges;
use crate::kernel::{Ioctl, PageView, PerfFd, PerfSys, perf_event_attr};
use crate::slots::SlotCounts;
use hardware::FakeEvent;

/// The simulated machine and the rights of the calling process.
#[derive(Clone, Debug)]
pub struct FakeConfig {
    /// General counters of the core PMU; `None` is a machine without a PMU.
    pub counters: Option<usize>,
    /// `perf_event_attr.type` of the core PMU.
    pub pmu_type: u32,
    /// PERF_METRICS of the core PMU.
    pub topdown: Option<Level>,
    /// Whether the counters can interrupt.
    pub overflow_interrupt: bool,
    /// Whether user space may execute RDPMC.
    pub user_rdpmc: bool,
    /// `kernel.perf_event_paranoid`.
    pub paranoid: i32,
    /// Whether level 3 forbids everything: a patch of distributions. Upstream treats it as 2.
    pub strict_paranoid: bool,
    /// Capabilities of the caller.
    pub privileges: Privileges,
    /// A running VM owns the counters in guest mode.
    pub mediated_vm: bool,
    /// How many events may be open.
    pub max_files: usize,
    /// The caller's threads; the first one runs at the start.
    pub threads: Vec<i32>,
    /// Threads of other users.
    pub foreign_threads: Vec<i32>,
}

impl Default for FakeConfig {
    /// A big-core machine of the Sapphire Rapids kind, and a privileged caller.
    fn default() -> Self {
        FakeConfig {
            counters: Some(8),
            pmu_type: 4,
            topdown: Some(Level::Two),
            overflow_interrupt: true,
            user_rdpmc: true,
            paranoid: 2,
            strict_paranoid: true,
            privileges: Privileges { perfmon: true, sys_admin: false },
            mediated_vm: false,
            max_files: 64,
            threads: vec![100],
            foreign_threads: Vec::new(),
        }
    }
}

/// A slice of execution of one thread.
#[derive(Clone, Debug)]
pub struct Work {
    ns: u64,
    tid: i32,
    guest: bool,
    os: bool,
    events: Vec<(Event, u64)>,
    /// Slots, then the eight metrics.
    slots: [u64; 9],
}

impl Work {
    /// `ns` nanoseconds of thread `tid`, in the host, at user level.
    pub fn new(tid: i32, ns: u64) -> Self {
        Work { ns, tid, guest: false, os: false, events: Vec::new(), slots: [0; 9] }
    }

    /// In guest mode.
    pub fn guest(mut self) -> Self {
        self.guest = true;
        self
    }

    /// At privilege level 0.
    pub fn os(mut self) -> Self {
        self.os = true;
        self
    }

    /// Makes `event` happen `count` times.
    pub fn event(mut self, event: Event, count: u64) -> Self {
        self.events.push((event, count));
        self
    }

    /// Issues these slots.
    pub fn slots(mut self, counts: SlotCounts) -> Self {
        self.slots[0] = counts.slots;
        for metric in Metric::ALL {
            self.slots[1 + metric as usize] = counts.get(metric).unwrap_or(0);
        }
        self
    }
}

/// An overflow signal that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FakeSignal {
    /// The receiving thread.
    pub tid: i32,
    /// Signal number.
    pub signal: i32,
    /// `si_fd`.
    pub fd: RawFd,
    /// `si_code` is POLL_HUP (the budget is used up) instead of POLL_IN.
    pub hup: bool,
}

/// The simulated kernel. Clones share one state.
#[derive(Clone, Debug)]
pub struct FakeKernel(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    config: FakeConfig,
    current: i32,
    events: BTreeMap<RawFd, FakeEvent>,
    next: i32,
    /// Start of the round-robin over flexible groups.
    rotation: usize,
    signals: Vec<FakeSignal>,
    refusals: Vec<Errno>,
    /// So many RDPMCs will be interrupted by a context switch.
    disturbances: usize,
    /// RDPMCs that real hardware would have answered with #GP.
    faults: usize,
}

impl FakeKernel {
    /// A kernel on the machine that `config` describes.
    pub fn new(config: FakeConfig) -> Self {
        let current = config.threads.first().copied().unwrap_or(1);
        FakeKernel(Arc::new(Mutex::new(State {
            config,
            current,
            events: BTreeMap::new(),
            next: 3,
            rotation: 0,
            signals: Vec::new(),
            refusals: Vec::new(),
            disturbances: 0,
            faults: 0,
        })))
    }

    /// Executes some work of a thread; running time of its events passes.
    pub fn run(&self, work: &Work) {
        self.state().run(work);
    }

    /// Makes `tid` the calling thread.
    pub fn switch_to(&self, tid: i32) {
        self.state().current = tid;
    }

    /// Changes the machine or the rights; open events stay.
    pub fn configure(&self, change: impl FnOnce(&mut FakeConfig)) {
        change(&mut self.state().config);
    }

    /// Refuses the next open with an errno whose cause is not modelled.
    pub fn refuse_next_open(&self, errno: i32) {
        self.state().refusals.push(Errno(errno));
    }

    /// Interrupts the next `count` RDPMC instructions by a context switch.
    pub fn disturb_rdpmc(&self, count: usize) {
        self.state().disturbances = count;
    }

    /// Takes the signals sent so far.
    pub fn take_signals(&self) -> Vec<FakeSignal> {
        std::mem::take(&mut self.state().signals)
    }

    /// How many events are open.
    pub fn open_events(&self) -> usize {
        self.state().events.len()
    }

    /// How many RDPMCs named a counter that was not there.
    pub fn rdpmc_faults(&self) -> usize {
        self.state().faults
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PerfSys for FakeKernel {
    fn open(
        &self,
        attr: &mut perf_event_attr,
        tid: i32,
        leader: Option<RawFd>,
    ) -> Result<Box<dyn PerfFd>, Errno> {
        let fd = self.state().open(attr, tid, leader)?;
        Ok(Box::new(FakeFd { kernel: self.clone(), fd }))
    }

    fn current_tid(&self) -> i32 {
        self.state().current
    }
}

#[derive(Debug)]
struct FakeFd {
    kernel: FakeKernel,
    fd: RawFd,
}

impl PerfFd for FakeFd {
    fn raw_fd(&self) -> RawFd {
        self.fd
    }

    fn ioctl(&self, operation: Ioctl) -> Result<u64, Errno> {
        self.kernel.state().ioctl(self.fd, operation)
    }

    fn read(&self, words: &mut [u64]) -> Result<usize, Errno> {
        let answer = self.kernel.state().read(self.fd)?;
        words.get_mut(..answer.len()).ok_or(Errno(libc::ENOSPC))?.copy_from_slice(&answer);
        Ok(answer.len())
    }

    fn map_page(&self) -> Result<Box<dyn PageView>, Errno> {
        Ok(Box::new(page::FakePage { kernel: self.kernel.clone(), fd: self.fd }))
    }

    fn signal_thread(&self, tid: i32, signal: i32) -> Result<(), Errno> {
        let mut state = self.kernel.state();
        if !state.config.threads.contains(&tid) {
            return Err(Errno(libc::ESRCH));
        }
        state.event(self.fd)?.signal = Some((tid, signal));
        Ok(())
    }
}

impl Drop for FakeFd {
    fn drop(&mut self) {
        self.kernel.state().close(self.fd);
    }
}
