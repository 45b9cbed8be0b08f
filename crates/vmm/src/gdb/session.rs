//! One GDB after the other: when the guest stands still, and what GDB is told.

use super::cpu::Cpu;
use super::target::{Action, Guest};
use crate::engine::{Changes, DebugStops, Debugger, Registers as _, Resume, Stop, StoppedVcpu};
use crate::machine::Outcome;
use crate::machine::stop::{LOOK, StopRequest};
use gdbstub::common::Signal;
use gdbstub::conn::Connection;
use gdbstub::stub::state_machine::GdbStubStateMachine;
use gdbstub::stub::{DisconnectReason, GdbStub, SingleThreadStopReason};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Host time between two looks for what GDB sends while the guest runs.
const POLL: Duration = Duration::from_millis(5);

type Protocol<C> = GdbStubStateMachine<'static, Guest<C>, Wire>;

/// The stub at an engine.
pub(super) struct Session<C: Cpu> {
    listener: TcpListener,
    /// GDB has to let the guest start.
    freeze: bool,
    stop: StopRequest,
    guest: Guest<C>,
    /// The conversation with the GDB that is connected.
    protocol: Option<Protocol<C>>,
    /// A GDB that has just connected.
    arrived: Option<TcpStream>,
    polled: Option<Instant>,
}

impl<C: Cpu> fmt::Debug for Session<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("listener", &self.listener)
            .field("guest", &self.guest)
            .finish_non_exhaustive()
    }
}

/// How a conversation ended.
enum End {
    Detached,
    Killed,
}

impl<C: Cpu> Session<C> {
    pub(super) fn new(listener: TcpListener, freeze: bool, stop: StopRequest) -> Self {
        let (guest, protocol, arrived, polled) = (Guest::default(), None, None, None);
        Self { listener, freeze, stop, guest, protocol, arrived, polled }
    }

    /// A GDB that wants to connect.
    fn accept(&self) -> Option<TcpStream> {
        match self.listener.accept() {
            Ok((stream, peer)) => {
                log::info!("GDB has connected from {peer}");
                Some(stream)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) => {
                log::warn!("GDB could not connect: {error}");
                None
            }
        }
    }

    /// Waits for a GDB, unless the run has to end.
    fn wait(&self) -> Option<TcpStream> {
        while self.stop.signal().is_none() {
            if let Some(stream) = self.accept() {
                return Some(stream);
            }
            std::thread::sleep(POLL);
        }
        None
    }

    /// GDB is gone: the guest goes on without it.
    fn detach(&mut self, why: &str) {
        log::info!("GDB is gone: {why}");
        self.protocol = None;
        self.guest.reset();
    }

    /// Tells GDB why the guest stands still.
    fn tell(&mut self, stop: &Stop) {
        let Some(protocol) = self.protocol.take() else { return };
        let pc = self.guest.vcpu.as_ref().map_or(0, |vcpu| vcpu.state().pc());
        let reason = match stop {
            Stop::Asked => SingleThreadStopReason::Signal(Signal::SIGINT),
            Stop::Crashed => SingleThreadStopReason::Signal(Signal::SIGSEGV),
            Stop::Step | Stop::Breakpoint => match self.guest.hardware_breakpoint(pc) {
                Some(true) => SingleThreadStopReason::HwBreak(()),
                Some(false) => SingleThreadStopReason::SwBreak(()),
                None => SingleThreadStopReason::DoneStep,
            },
            Stop::Watchpoint(data) => SingleThreadStopReason::Watch {
                tid: (),
                kind: self.guest.watch_kind(*data),
                addr: data.address,
            },
        };
        let told = match protocol {
            GdbStubStateMachine::Running(running) => running.report_stop(&mut self.guest, reason),
            GdbStubStateMachine::CtrlCInterrupt(interrupt) => {
                interrupt.interrupt_handled(&mut self.guest, Some(reason))
            }
            other => Ok(other),
        };
        match told {
            Ok(protocol) => self.protocol = Some(protocol),
            Err(error) => self.detach(&error.to_string()),
        }
    }

    /// Answers GDB until it lets the guest go on. `Err`: it is gone.
    fn converse(&mut self) -> Result<(), End> {
        loop {
            let byte = match self.protocol.take() {
                None => return Err(End::Detached),
                Some(GdbStubStateMachine::Running(running)) => {
                    self.protocol = Some(running.into());
                    return Ok(());
                }
                Some(GdbStubStateMachine::Disconnected(end)) => {
                    return Err(match end.get_reason() {
                        DisconnectReason::Kill => End::Killed,
                        _ => End::Detached,
                    });
                }
                Some(GdbStubStateMachine::CtrlCInterrupt(interrupt)) => {
                    // It stands still already.
                    match interrupt.interrupt_handled(&mut self.guest, None::<SingleThreadStopReason<u64>>) {
                        Ok(protocol) => self.protocol = Some(protocol),
                        Err(error) => self.detach(&error.to_string()),
                    }
                    continue;
                }
                Some(GdbStubStateMachine::Idle(mut idle)) => {
                    let byte = idle.borrow_conn().read(&self.stop);
                    self.protocol = Some(idle.into());
                    byte
                }
            };
            match byte {
                Ok(Some(byte)) => self.feed(byte),
                // The run has to end.
                Ok(None) => return Ok(()),
                Err(error) => self.detach(&error.to_string()),
            }
        }
    }

    /// Passes on what GDB has sent.
    fn feed(&mut self, byte: u8) {
        let fed = match self.protocol.take() {
            Some(GdbStubStateMachine::Idle(idle)) => idle.incoming_data(&mut self.guest, byte),
            Some(GdbStubStateMachine::Running(running)) => running.incoming_data(&mut self.guest, byte),
            Some(other) => Ok(other),
            None => return,
        };
        match fed {
            Ok(protocol) => self.protocol = Some(protocol),
            Err(error) => self.detach(&error.to_string()),
        }
    }

    /// A step within the range that GDB wants to leave is not told.
    fn steps_on(&self, stop: &Stop) -> bool {
        let pc = self.guest.vcpu.as_ref().map_or(0, |vcpu| vcpu.state().pc());
        let Action::Range(range) = &self.guest.action else { return false };
        *stop == Stop::Step && range.contains(&pc) && self.guest.hardware_breakpoint(pc).is_none()
    }

    fn decide(&mut self, stop: &Stop) -> Resume {
        if self.protocol.is_some() && self.steps_on(stop) {
            return Resume::Run(self.guest.stops());
        }
        let arrived = self.arrived.take();
        if let Some(stream) = arrived {
            match Wire::new(stream).map(GdbStub::new).map(|stub| stub.run_state_machine(&mut self.guest)) {
                Ok(Ok(protocol)) => self.protocol = Some(protocol),
                Ok(Err(error)) => self.detach(&error.to_string()),
                Err(error) => self.detach(&error.to_string()),
            }
        } else {
            self.tell(stop);
        }
        match self.converse() {
            Ok(()) => Resume::Run(self.guest.stops()),
            Err(End::Detached) => {
                self.detach("it has let the guest go");
                Resume::Run(DebugStops::default())
            }
            Err(End::Killed) => {
                self.detach("it has killed the guest");
                Resume::Kill
            }
        }
    }
}

impl<C: Cpu> Debugger<C::State> for Session<C> {
    fn wants_stop(&mut self) -> bool {
        if std::mem::take(&mut self.freeze) {
            self.arrived = self.wait();
            return self.arrived.is_some();
        }
        if self.polled.is_some_and(|then| then.elapsed() < POLL) {
            return false;
        }
        self.polled = Some(Instant::now());
        if self.protocol.is_none() {
            self.arrived = self.accept();
            return self.arrived.is_some();
        }
        loop {
            let byte = match &mut self.protocol {
                Some(GdbStubStateMachine::Running(running)) => running.borrow_conn().poll(),
                // Something to tell GDB, or to take note of.
                Some(_) => return true,
                None => return false,
            };
            match byte {
                Ok(Some(byte)) => self.feed(byte),
                Ok(None) => return false,
                Err(error) => {
                    self.detach(&error.to_string());
                    // The engine has its breakpoints still.
                    return true;
                }
            }
        }
    }

    fn stopped(&mut self, stop: &Stop, vcpu: StoppedVcpu<C::State>) -> (Resume, Changes<C::State>) {
        if self.protocol.is_none() && self.arrived.is_none() {
            return (Resume::Run(DebugStops::default()), Changes::default());
        }
        self.guest.vcpu = Some(vcpu);
        let resume = self.decide(stop);
        (resume, self.guest.vcpu.take().map(StoppedVcpu::into_changes).unwrap_or_default())
    }

    fn ended(&mut self, outcome: &Outcome) {
        let Some(GdbStubStateMachine::Running(running)) = self.protocol.take() else { return };
        let reason = match outcome {
            // What the guest wrote to the exit port: 0 is a pass.
            Outcome::Exit { status } => SingleThreadStopReason::Exited(status >> 1),
            Outcome::PoweredOff | Outcome::Quit => SingleThreadStopReason::Exited(0),
            Outcome::TimedOut => SingleThreadStopReason::Terminated(Signal::SIGALRM),
            Outcome::Interrupted { .. } => SingleThreadStopReason::Terminated(Signal::SIGINT),
            _ => SingleThreadStopReason::Terminated(Signal::SIGSEGV),
        };
        if let Err(error) = running.report_stop(&mut self.guest, reason) {
            log::info!("GDB could not be told of the end: {error}");
        }
    }
}

/// The connection to GDB.
#[derive(Debug)]
struct Wire {
    stream: TcpStream,
    /// What has come and has not been looked at yet.
    received: Vec<u8>,
    next: usize,
    /// What is to be sent.
    pending: Vec<u8>,
}

impl Wire {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        Ok(Self { stream, received: Vec::new(), next: 0, pending: Vec::new() })
    }

    fn buffered(&mut self) -> Option<u8> {
        let byte = self.received.get(self.next).copied();
        self.next += usize::from(byte.is_some());
        byte
    }

    /// What has come by now; waits for it as long as the stream does. `None`: nothing.
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                self.received.clear();
                self.received.extend_from_slice(&bytes[..len]);
                self.next = 0;
                Ok(self.buffered())
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The next byte; waits for it. `None`: the run has to end.
    fn read(&mut self, stop: &StopRequest) -> io::Result<Option<u8>> {
        loop {
            if let Some(byte) = self.buffered() {
                return Ok(Some(byte));
            }
            if stop.signal().is_some() {
                return Ok(None);
            }
            if let Some(byte) = self.receive()? {
                return Ok(Some(byte));
            }
        }
    }

    /// The next byte, if there is one.
    fn poll(&mut self) -> io::Result<Option<u8>> {
        if let Some(byte) = self.buffered() {
            return Ok(Some(byte));
        }
        self.stream.set_nonblocking(true)?;
        let byte = self.receive();
        self.stream.set_nonblocking(false)?;
        byte
    }
}

impl Connection for Wire {
    type Error = io::Error;

    fn write(&mut self, byte: u8) -> io::Result<()> {
        self.pending.push(byte);
        Ok(())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let sent = Write::write_all(&mut self.stream, &self.pending);
        self.pending.clear();
        sent
    }
}
