//! What GDB asks of the guest while it stands still.

use super::cpu::Cpu;
use crate::engine::{DebugStops, StoppedVcpu, Watchpoint};
use gdbstub::common::Signal;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::single_register_access::{SingleRegisterAccess, SingleRegisterAccessOps};
use gdbstub::target::ext::base::singlethread::{
    SingleThreadBase, SingleThreadRangeStepping, SingleThreadRangeSteppingOps, SingleThreadResume,
    SingleThreadResumeOps, SingleThreadSingleStep, SingleThreadSingleStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint,
    SwBreakpointOps, WatchKind,
};
use gdbstub::target::{Target, TargetError, TargetResult};
use std::convert::Infallible;
use std::ops::Range;

/// Breakpoints and watchpoints at most, of each kind.
const MAX_STOPS: usize = 1024;

/// How GDB wants the guest to go on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Action {
    #[default]
    Continue,
    Step,
    /// Steps while the PC is in there.
    Range(Range<u64>),
}

/// The guest as GDB sees it.
#[derive(Debug)]
pub(super) struct Guest<C: Cpu> {
    /// While it stands still.
    pub(super) vcpu: Option<StoppedVcpu<C::State>>,
    /// GDB's software and hardware breakpoints, which are the same here.
    software: Vec<u64>,
    hardware: Vec<u64>,
    data: Vec<(Watchpoint, WatchKind)>,
    pub(super) action: Action,
}

impl<C: Cpu> Default for Guest<C> {
    fn default() -> Self {
        let (software, hardware, data) = (Vec::new(), Vec::new(), Vec::new());
        Self { vcpu: None, software, hardware, data, action: Action::default() }
    }
}

impl<C: Cpu> Guest<C> {
    /// Forgets what GDB has set.
    pub(super) fn reset(&mut self) {
        *self = Self { vcpu: self.vcpu.take(), ..Self::default() };
    }

    /// Where the engine has to stop.
    pub(super) fn stops(&self) -> DebugStops {
        DebugStops {
            execute: self.software.iter().chain(&self.hardware).copied().collect(),
            data: self.data.iter().map(|(data, _)| *data).collect(),
            step: self.action != Action::Continue,
        }
    }

    /// Whether the breakpoint there is one of those that GDB calls hardware breakpoints; `None`: there is none.
    pub(super) fn hardware_breakpoint(&self, address: u64) -> Option<bool> {
        match (self.hardware.contains(&address), self.software.contains(&address)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// GDB's kind of a watchpoint.
    pub(super) fn watch_kind(&self, data: Watchpoint) -> WatchKind {
        self.data.iter().find(|(own, _)| *own == data).map_or(WatchKind::ReadWrite, |(_, kind)| *kind)
    }

    fn vcpu(&mut self) -> TargetResult<&mut StoppedVcpu<C::State>, Self> {
        self.vcpu.as_mut().ok_or(TargetError::NonFatal)
    }
}

/// Adds to a list with a bound. False if it is full.
fn add<T: PartialEq>(list: &mut Vec<T>, item: T) -> bool {
    if !list.contains(&item) {
        if list.len() == MAX_STOPS {
            return false;
        }
        list.push(item);
    }
    true
}

/// False if it was not there.
fn remove<T: PartialEq>(list: &mut Vec<T>, item: &T) -> bool {
    let position = list.iter().position(|own| own == item);
    position.map(|position| list.remove(position)).is_some()
}

impl<C: Cpu> Target for Guest<C> {
    type Arch = C;
    type Error = Infallible;

    fn base_ops(&mut self) -> BaseOps<'_, C, Infallible> {
        BaseOps::SingleThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }
}

impl<C: Cpu> SingleThreadBase for Guest<C> {
    fn read_registers(&mut self, regs: &mut C::Registers) -> TargetResult<(), Self> {
        *regs = C::all(self.vcpu()?.state());
        Ok(())
    }

    fn write_registers(&mut self, regs: &C::Registers) -> TargetResult<(), Self> {
        C::set_all(self.vcpu()?.state_mut(), regs);
        Ok(())
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, (), Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, start: u64, data: &mut [u8]) -> TargetResult<usize, Self> {
        match self.vcpu()?.read(start, data) {
            0 if !data.is_empty() => Err(TargetError::NonFatal),
            read => Ok(read),
        }
    }

    fn write_addrs(&mut self, start: u64, data: &[u8]) -> TargetResult<(), Self> {
        if self.vcpu()?.write(start, data) { Ok(()) } else { Err(TargetError::NonFatal) }
    }

    fn support_resume(&mut self) -> Option<SingleThreadResumeOps<'_, Self>> {
        Some(self)
    }
}

impl<C: Cpu> SingleRegisterAccess<()> for Guest<C> {
    fn read_register(&mut self, (): (), register: C::RegId, buffer: &mut [u8]) -> TargetResult<usize, Self> {
        C::read(self.vcpu()?.state(), register, buffer).ok_or(TargetError::NonFatal)
    }

    fn write_register(&mut self, (): (), register: C::RegId, value: &[u8]) -> TargetResult<(), Self> {
        if C::write(self.vcpu()?.state_mut(), register, value) { Ok(()) } else { Err(TargetError::NonFatal) }
    }
}

// Signals are of no use to a CPU: GDB sends back the one that it was told.
impl<C: Cpu> SingleThreadResume for Guest<C> {
    fn resume(&mut self, _signal: Option<Signal>) -> Result<(), Infallible> {
        self.action = Action::Continue;
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<SingleThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_range_step(&mut self) -> Option<SingleThreadRangeSteppingOps<'_, Self>> {
        Some(self)
    }
}

impl<C: Cpu> SingleThreadSingleStep for Guest<C> {
    fn step(&mut self, _signal: Option<Signal>) -> Result<(), Infallible> {
        self.action = Action::Step;
        Ok(())
    }
}

impl<C: Cpu> SingleThreadRangeStepping for Guest<C> {
    fn resume_range_step(&mut self, start: u64, end: u64) -> Result<(), Infallible> {
        self.action = Action::Range(start..end);
        Ok(())
    }
}

impl<C: Cpu> Breakpoints for Guest<C> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl<C: Cpu> SwBreakpoint for Guest<C> {
    fn add_sw_breakpoint(&mut self, address: u64, _kind: usize) -> TargetResult<bool, Self> {
        Ok(add(&mut self.software, address))
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _kind: usize) -> TargetResult<bool, Self> {
        Ok(remove(&mut self.software, &address))
    }
}

impl<C: Cpu> HwBreakpoint for Guest<C> {
    fn add_hw_breakpoint(&mut self, address: u64, _kind: usize) -> TargetResult<bool, Self> {
        Ok(add(&mut self.hardware, address))
    }

    fn remove_hw_breakpoint(&mut self, address: u64, _kind: usize) -> TargetResult<bool, Self> {
        Ok(remove(&mut self.hardware, &address))
    }
}

impl<C: Cpu> HwWatchpoint for Guest<C> {
    fn add_hw_watchpoint(&mut self, address: u64, len: u64, kind: WatchKind) -> TargetResult<bool, Self> {
        Ok(add(&mut self.data, watchpoint(address, len, kind)))
    }

    fn remove_hw_watchpoint(&mut self, address: u64, len: u64, kind: WatchKind) -> TargetResult<bool, Self> {
        Ok(remove(&mut self.data, &watchpoint(address, len, kind)))
    }
}

fn watchpoint(address: u64, len: u64, kind: WatchKind) -> (Watchpoint, WatchKind) {
    let (read, write) = (kind != WatchKind::Write, kind != WatchKind::Read);
    (Watchpoint { address, len, read, write }, kind)
}
