//! Delivery of exceptions and interrupts through the IDT (SDM volume 3, chapter 6).

use crate::bus::{BranchRecorder, Bus, Tracer};
use crate::context::{CS, Core, RSP, SS};
use crate::exception::{self, Delivery, Done, EventKind, Exception, Fault, Place};
use crate::flags::{IF, NT, RF, TF, VM};
use crate::low::Low;
use crate::segment::selector_error;
use crate::state::Segment;
use retire::{Assist, CoreEvent, Observer};

/// Error code bit EXT: the event came from outside the program.
const EXTERNAL: u32 = 1;
/// Error code bit IDT: the index is that of a gate.
const IDT: u32 = 2;

/// The guest cannot go on: triple fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TripleFault;

/// A gate of the IDT.
struct Gate {
    selector: u16,
    offset: u64,
    ist: u8,
    kind: u8,
}

impl Core {
    /// Delivers an exception, with double-fault rules. `rip` is what the handler returns to.
    pub(crate) fn deliver<B: Bus>(
        &mut self,
        bus: &mut B,
        first: Exception,
        source: EventKind,
    ) -> Result<(), TripleFault> {
        // Breakpoints on what delivery itself accesses are not reported.
        let pending = self.debug_pending;
        let user = self.cpl == 3;
        let delivered = self.try_deliver(bus, first, source);
        self.debug_pending = pending;
        self.debugger.delivered |= delivered.is_ok();
        if B::OBSERVED && self.watch.on && delivered.is_ok() {
            self.watch.clear();
            if let Some(observer) = bus.observer() {
                if first.vector == exception::PF {
                    observer.event(CoreEvent::Assist { kind: Assist::PageFault, user });
                }
                observer.event(CoreEvent::Interrupt { user: self.cpl != 0 });
            }
        }
        delivered
    }

    fn try_deliver<B: Bus>(
        &mut self,
        bus: &mut B,
        first: Exception,
        mut source: EventKind,
    ) -> Result<(), TripleFault> {
        let mut current = first;
        loop {
            if current.vector == exception::PF {
                self.cr2 = current.address;
            }
            self.raised = None;
            let from = self.place(self.rip);
            match self.enter_gate(bus, current.vector, source, current.error) {
                Ok(()) => {
                    self.trace_handler(bus, current, source, from);
                    return Ok(());
                }
                Err(Fault) => {
                    // Delivery only fails by raising something.
                    let second = self.raised.take().unwrap_or(Exception::plain(exception::DF));
                    self.trace_delivery(bus, current, source, from, Err(second));
                    if current.vector == exception::DF && source == EventKind::Exception {
                        return Err(TripleFault);
                    }
                    let doubles = source == EventKind::Exception && second.doubles(&current);
                    source = EventKind::Exception;
                    current = if doubles { Exception::with_error(exception::DF, 0) } else { second };
                }
            }
        }
    }

    /// INT n and its like: enters the handler of `vector`, to return to RIP.
    pub(crate) fn interrupt_itself<B: Bus>(&mut self, bus: &mut B, vector: u8, source: EventKind) -> Done {
        let from = self.place(self.instruction_rip());
        self.enter_gate(bus, vector, source, None)?;
        self.sync(bus);
        self.trace_handler(bus, Exception::plain(vector), source, from);
        Ok(())
    }

    fn place(&self, rip: u64) -> Place {
        Place { cs: self.segs[CS].selector, rip, cpl: self.cpl }
    }

    /// Traces what has entered its handler.
    fn trace_handler<B: Bus>(&self, bus: &mut B, event: Exception, kind: EventKind, from: Place) {
        self.trace_delivery(bus, event, kind, from, Ok(self.place(self.rip)));
    }

    fn trace_delivery<B: Bus>(
        &self,
        bus: &mut B,
        event: Exception,
        kind: EventKind,
        from: Place,
        handler: Result<Place, Exception>,
    ) {
        if let Some(tracer) = bus.tracer() {
            tracer.delivery(&Delivery { event, kind, from, handler }, &self.totals);
        }
    }

    /// Enters the handler of `vector`. If that fails nothing has changed but memory below the stack
    /// pointer.
    fn enter_gate<B: Bus>(&mut self, bus: &mut B, vector: u8, source: EventKind, error: Option<u32>) -> Done {
        let from = self.rip;
        let from_cpl = self.cpl;
        let ext = if source == EventKind::Software { 0 } else { EXTERNAL };
        let gate = self.gate(bus, vector, source, ext)?;
        let rflags = self.rflags();
        let pushed_flags =
            if source == EventKind::Exception && is_fault(vector) { rflags | RF } else { rflags };
        if self.long_mode() {
            self.enter_64(bus, &gate, pushed_flags, error, ext)?;
        } else {
            self.enter_32(bus, &gate, pushed_flags, error, ext)?;
        }
        let mut cleared = TF | NT | RF | VM;
        if gate.kind & 1 == 0 {
            cleared |= IF;
        }
        self.rflags &= !cleared;
        self.entered = true;
        self.halted = false;
        self.record_branches(bus);
        if source == EventKind::Exception && vector == exception::DB {
            // Not recorded as a branch.
            self.totals.at(from_cpl > 0).events += 1;
            if let Some(recorder) = bus.branches() {
                recorder.debug_exception();
            }
            self.after_bus(bus);
            return Ok(());
        }
        if let Some(recorder) = bus.branches() {
            recorder.interrupted();
        }
        if source != EventKind::Software {
            self.totals.at(from_cpl > 0).events += 1;
            self.record_far(bus, true, from, from_cpl);
        }
        Ok(())
    }

    fn gate<B: Bus>(&mut self, bus: &mut B, vector: u8, source: EventKind, ext: u32) -> Result<Gate, Fault> {
        let error = u32::from(vector) << 3 | IDT | ext;
        let gp = Exception::with_error(exception::GP, error);
        let size: u32 = if self.long_mode() { 16 } else { 8 };
        let offset = u32::from(vector) * size;
        if offset + size - 1 > u32::from(self.idtr.limit) {
            return Err(self.raise(gp));
        }
        let address = self.idtr.base.wrapping_add(u64::from(offset));
        let low: u64 = self.system_load(bus, address)?;
        let high: u64 = if size == 16 { self.system_load(bus, address.wrapping_add(8))? } else { 0 };
        let rights = (low >> 40).low_u8();
        let kind = rights & 0x1F;
        // 14 and 15: interrupt and trap gate of 32 or 64 bits; 6 and 7 their 16-bit forms.
        let known = matches!(kind, 0xE | 0xF) || !self.long_mode() && matches!(kind, 6 | 7);
        if !known {
            if kind == 5 {
                log::warn!("guest uses a task gate for vector {vector}, which is not implemented: #GP");
            }
            return Err(self.raise(gp));
        }
        if source == EventKind::Software && rights >> 5 & 3 < self.cpl {
            return Err(self.raise(gp));
        }
        if rights & 0x80 == 0 {
            return Err(self.raise(Exception::with_error(exception::NP, error)));
        }
        let mut offset = low & 0xFFFF;
        if kind >= 0xE {
            offset |= low >> 32 & 0xFFFF_0000;
        }
        Ok(Gate {
            selector: (low >> 16).low_u16(),
            offset: offset | high << 32,
            ist: (low >> 32).low_u8() & 7,
            kind,
        })
    }

    /// The code segment of a gate, and the privilege level that it runs at.
    fn gate_code<B: Bus>(&mut self, bus: &mut B, gate: &Gate, ext: u32) -> Result<(Segment, u8), Fault> {
        let error = selector_error(gate.selector) | ext;
        if gate.selector & !3 == 0 {
            return Err(self.gp(ext));
        }
        let mut descriptor = match self.descriptor(bus, gate.selector, exception::GP, false) {
            Ok(descriptor) => descriptor,
            Err(fault) => {
                if let Some(raised) = &mut self.raised
                    && raised.vector == exception::GP
                {
                    raised.error = Some(error);
                }
                return Err(fault);
            }
        };
        let long = self.long_mode();
        let mode_fits = !long || descriptor.long() && !descriptor.big();
        if !descriptor.is_code() || descriptor.dpl() > self.cpl || !mode_fits {
            return Err(self.gp(error));
        }
        if !descriptor.present() {
            return Err(self.raise(Exception::with_error(exception::NP, error)));
        }
        self.set_accessed(bus, &mut descriptor)?;
        let cpl = if descriptor.conforming() { self.cpl } else { descriptor.dpl() };
        Ok((descriptor.segment(gate.selector & !3 | u16::from(cpl)), cpl))
    }

    fn enter_64<B: Bus>(
        &mut self,
        bus: &mut B,
        gate: &Gate,
        rflags: u64,
        error: Option<u32>,
        ext: u32,
    ) -> Done {
        let (code, cpl) = self.gate_code(bus, gate, ext)?;
        let stack = if gate.ist != 0 {
            self.task_stack_64(bus, 0x24 + (u64::from(gate.ist) - 1) * 8, ext)?
        } else if cpl < self.cpl {
            self.task_stack_64(bus, 4 + u64::from(cpl) * 8, ext)?
        } else {
            self.regs[RSP]
        };
        if !crate::mmu::is_canonical(gate.offset) {
            return Err(self.gp(ext));
        }
        let mut sp = stack & !15;
        let frame = [
            u64::from(self.segs[SS].selector),
            self.regs[RSP],
            rflags,
            u64::from(self.segs[CS].selector),
            self.rip,
        ];
        let user = self.view_at(cpl);
        let saved = std::mem::replace(&mut self.user, user);
        let result = (|| {
            for value in frame.into_iter().chain(error.map(u64::from)) {
                sp = sp.wrapping_sub(8);
                self.store(bus, sp, value, true)?;
            }
            Ok(())
        })();
        self.user = saved;
        result?;
        if cpl != self.cpl {
            self.segs[SS] = Segment {
                selector: u16::from(cpl),
                base: 0,
                limit: u32::MAX,
                rights: 0xC093 | u16::from(cpl) << 5,
            };
        }
        self.regs[RSP] = sp;
        self.segs[CS] = code;
        self.cpl = cpl;
        self.rip = gate.offset;
        self.update_mode();
        Ok(())
    }

    /// A stack pointer from the 64-bit TSS.
    fn task_stack_64<B: Bus>(&mut self, bus: &mut B, offset: u64, ext: u32) -> Result<u64, Fault> {
        if offset + 7 > u64::from(self.tr.limit) {
            let error = selector_error(self.tr.selector) | ext;
            return Err(self.raise(Exception::with_error(exception::TS, error)));
        }
        let sp: u64 = self.system_load(bus, self.tr.base.wrapping_add(offset))?;
        if !crate::mmu::is_canonical(sp) {
            return Err(self.raise(Exception::with_error(exception::SS, ext)));
        }
        Ok(sp)
    }

    fn enter_32<B: Bus>(
        &mut self,
        bus: &mut B,
        gate: &Gate,
        rflags: u64,
        error: Option<u32>,
        ext: u32,
    ) -> Done {
        let (code, cpl) = self.gate_code(bus, gate, ext)?;
        let wide = gate.kind >= 0xE;
        let old = (self.segs[SS], self.regs[RSP], self.cpl, self.user);
        let inner = cpl < self.cpl;
        if inner {
            let (segment, sp) = self.task_stack_32(bus, cpl, ext)?;
            self.segs[SS] = segment;
            self.regs[RSP] = sp;
            self.cpl = cpl;
            self.user = self.view_at(cpl);
        }
        let outer = [u64::from(old.0.selector), old.1];
        let frame = [rflags, u64::from(self.segs[CS].selector), self.rip];
        let values = outer.into_iter().filter(|_| inner).chain(frame).chain(error.map(u64::from));
        for value in values {
            let pushed = if wide { self.push(bus, value.low_u32()) } else { self.push(bus, value.low_u16()) };
            if let Err(fault) = pushed {
                (self.segs[SS], self.regs[RSP], self.cpl, self.user) = old;
                return Err(fault);
            }
        }
        self.segs[CS] = code;
        self.cpl = cpl;
        self.rip = gate.offset;
        self.update_mode();
        Ok(())
    }

    /// SS and ESP of an inner level from the 32-bit TSS.
    fn task_stack_32<B: Bus>(&mut self, bus: &mut B, cpl: u8, ext: u32) -> Result<(Segment, u64), Fault> {
        let task_error = selector_error(self.tr.selector) | ext;
        let ts = |error| Exception::with_error(exception::TS, error);
        // Type bit 3: 32-bit TSS; the 16-bit one has words instead.
        let wide = self.tr.kind() & 8 != 0;
        let offset = u64::from(cpl) * if wide { 8 } else { 4 } + if wide { 4 } else { 2 };
        if offset + if wide { 5 } else { 3 } > u64::from(self.tr.limit) {
            return Err(self.raise(ts(task_error)));
        }
        let at = self.tr.base.wrapping_add(offset);
        let (sp, selector): (u64, u16) = if wide {
            let sp: u32 = self.system_load(bus, at)?;
            (u64::from(sp), self.system_load(bus, at.wrapping_add(4))?)
        } else {
            let sp: u16 = self.system_load(bus, at)?;
            (u64::from(sp), self.system_load(bus, at.wrapping_add(2))?)
        };
        let error = selector_error(selector) | ext;
        if selector & !3 == 0 {
            return Err(self.raise(ts(error)));
        }
        let mut descriptor = self.descriptor(bus, selector, exception::TS, false)?;
        let usable = descriptor.ordinary() && !descriptor.is_code() && descriptor.kind() & 2 != 0;
        if !usable || descriptor.dpl() != cpl || selector.low_u8() & 3 != cpl {
            return Err(self.raise(ts(error)));
        }
        if !descriptor.present() {
            return Err(self.raise(Exception::with_error(exception::SS, error)));
        }
        self.set_accessed(bus, &mut descriptor)?;
        Ok((descriptor.segment(selector), sp))
    }
}

/// Faults push RF = 1, so that the restarted instruction does not hit its own breakpoint.
fn is_fault(vector: u8) -> bool {
    !matches!(vector, exception::DB | exception::BP | exception::OF | exception::DF | exception::NMI)
}
