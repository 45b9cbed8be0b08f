//! RDPMC, caught at the guest's own #GP handler.
//!
//! KVM answers RDPMC itself: without its vPMU always with #GP, and never with an exit. So a hardware
//! breakpoint waits on the first instruction of the guest's #GP handler. When the guest gets there,
//! the frame on its stack says which instruction faulted. If that was an RDPMC that the vPMU serves,
//! the registers go back to the interrupted code behind it, and the handler never ran. Anything
//! else is the guest's own fault: it steps over the breakpoint and handles it.
//!
//! | file | what it is |
//! | --- | --- |
//! | `mod.rs` | when to set the breakpoint, what to do when it is hit |
//! | `gate.rs` | the #GP gate, segment descriptors |
//! | `frame.rs` | the exception frame |
//! | `instruction.rs` | recognising RDPMC |
//!
//! # Limits
//! - Protected and long mode; not real or virtual-8086 mode.
//! - While the breakpoint is set, the guest's own hardware breakpoints do not fire (KVM_SET_GUEST_DEBUG
//!   replaces them). Its single steps do.
//! - A guest that changes its #GP gate and executes RDPMC without any exit in between gets #GP.

mod frame;
mod gate;
mod instruction;

use super::error::KvmError;
use super::vcpu::Vcpu;
use crate::engine::paging::Paging;
use crate::machine::Machine;
use crate::machine::x86::Pc;
use frame::Frame;
use gate::{FrameSize, Gate, GateBytes};
use kvm_bindings::{
    KVM_GUESTDBG_BLOCKIRQ, KVM_GUESTDBG_ENABLE, KVM_GUESTDBG_INJECT_DB, KVM_GUESTDBG_SINGLESTEP,
    KVM_GUESTDBG_USE_HW_BP, kvm_sregs,
};
use platform::convert::low_u32;
use platform::memory::GuestMemory;
use vpmu::pmu::RdpmcContext;

const CR4_PCE: u64 = 1 << 8;
const RFLAGS_TF: u64 = 1 << 8;
const RFLAGS_RF: u64 = 1 << 16;
/// DR6: B0, and all conditions that a debug exception reports (B0-B3, BD, BS).
const DR6_B0: u64 = 1;
const DR6_BS: u64 = 1 << 14;
const DR6_CONDITIONS: u64 = 0xE00F;
/// Vector of #DB.
const DB_VECTOR: u32 = 1;

/// What a debug exit was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Debug {
    /// An RDPMC, served.
    Served,
    /// Something else; the guest goes on by itself.
    Passed,
}

/// What the position of the gate in guest memory depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct View {
    paging: Paging,
    idt_base: u64,
    idt_limit: u16,
    protected: bool,
}

impl View {
    fn of(sregs: &kvm_sregs) -> Self {
        Self {
            paging: Paging::of(sregs),
            idt_base: sregs.idt.base,
            idt_limit: sregs.idt.limit,
            protected: sregs.cr0 & 1 != 0,
        }
    }
}

/// The breakpoint on the guest's #GP handler.
#[derive(Debug)]
pub(super) struct Intercept {
    /// KVM can hold back interrupts during a single step.
    block_irq: bool,
    view: View,
    /// Physical address and size of the gate, in `view`; `None` if there is none, or it crosses a page.
    at: Option<(u64, usize)>,
    /// The gate when it was last looked at.
    bytes: GateBytes,
    /// Where the breakpoint is.
    armed: Option<Gate>,
    /// The guest is executing the handler's first instruction by itself.
    stepping: bool,
}

impl Intercept {
    /// `debug_controls`: what KVM_CAP_SET_GUEST_DEBUG2 answered.
    pub(super) fn new(debug_controls: u32) -> Self {
        Self {
            block_irq: debug_controls & KVM_GUESTDBG_BLOCKIRQ != 0,
            view: View::default(),
            at: None,
            bytes: GateBytes::default(),
            armed: None,
            stepping: false,
        }
    }

    /// Looks, after an exit, where the guest's #GP handler is now, and moves the breakpoint there.
    /// Unless something has changed this is one read of guest memory.
    pub(super) fn follow(&mut self, vcpu: &Vcpu, memory: &GuestMemory) -> Result<(), KvmError> {
        if self.stepping {
            return self.end_step_if_gone(vcpu);
        }
        let sregs = vcpu.sregs();
        let view = View::of(sregs);
        let moved = view != self.view;
        if moved {
            self.view = view;
            self.at = locate(sregs, &view.paging, memory);
        }
        let mut bytes = GateBytes::default();
        let readable =
            self.at.is_some_and(|(address, size)| memory.read(address, &mut bytes[..size]).is_ok());
        if bytes == self.bytes && !moved {
            return Ok(());
        }
        self.bytes = bytes;
        let gate = if readable { Gate::decode(&bytes, sregs, &view.paging, memory) } else { None };
        if gate == self.armed {
            return Ok(());
        }
        log::trace!("#GP handler of the guest: {gate:x?}");
        self.armed = gate;
        self.arm(vcpu, 0)
    }

    /// Sets the breakpoint that belongs to `armed`.
    fn arm(&self, vcpu: &Vcpu, more: u32) -> Result<(), KvmError> {
        match self.armed {
            Some(gate) => {
                vcpu.guest_debug(KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_HW_BP | more, Some(gate.handler))
            }
            None if more != 0 => vcpu.guest_debug(KVM_GUESTDBG_ENABLE | more, None),
            None => vcpu.guest_debug(0, None),
        }
    }

    /// A step ends with a debug exit. If the handler's first instruction caused another exit and is
    /// done, that comes to the same.
    fn end_step_if_gone(&mut self, vcpu: &Vcpu) -> Result<(), KvmError> {
        let at_handler = self.armed.is_some_and(|gate| gate.handler == linear_rip(vcpu));
        if at_handler {
            return Ok(());
        }
        self.stepping = false;
        self.arm(vcpu, 0)
    }

    /// Handles KVM_EXIT_DEBUG.
    pub(super) fn on_debug(
        &mut self,
        exception: u32,
        dr6: u64,
        vcpu: &mut Vcpu,
        machine: &mut Machine<Pc>,
    ) -> Result<Debug, KvmError> {
        if std::mem::take(&mut self.stepping) {
            self.arm(vcpu, 0)?;
            return Ok(Debug::Passed);
        }
        if exception != DB_VECTOR {
            return Ok(Debug::Passed);
        }
        match self.armed {
            Some(gate) if dr6 & DR6_B0 != 0 && gate.handler == linear_rip(vcpu) => {
                if self.serve(gate.size, vcpu, machine)? {
                    return Ok(Debug::Served);
                }
                self.step_over(vcpu)?;
            }
            _ => self.reflect(dr6, vcpu)?,
        }
        Ok(Debug::Passed)
    }

    /// Completes the RDPMC that led to the handler; false if it was none, or raises #GP.
    fn serve(&self, size: FrameSize, vcpu: &mut Vcpu, machine: &mut Machine<Pc>) -> Result<bool, KvmError> {
        let sregs = *vcpu.sregs();
        let mut regs = *vcpu.regs();
        let paging = Paging::of(&sregs);
        let Some(frame) = Frame::read(size, &regs, &sregs, &paging, &machine.memory) else {
            return Ok(false);
        };
        if frame.error_code != 0 {
            return Ok(false);
        }
        let Some(to) = frame.segments(&sregs, &paging, &machine.memory) else { return Ok(false) };
        let long = to.cs.l != 0 && paging.is_long();
        let mut code = [0; instruction::MAX_LENGTH];
        let linear = if long { frame.rip } else { to.cs.base.wrapping_add(frame.rip) & 0xFFFF_FFFF };
        let fetched = paging.read_some(&machine.memory, linear, &mut code);
        let Some(length) = instruction::rdpmc_length(&code[..fetched], long) else { return Ok(false) };
        let context = RdpmcContext { cpl: frame.cpl(), pce: sregs.cr4 & CR4_PCE != 0, protected_mode: true };
        let Ok(value) = machine.rdpmc(low_u32(regs.rcx), context, Some(frame.rip)) else { return Ok(false) };

        regs.rax = value & 0xFFFF_FFFF;
        regs.rdx = value >> 32;
        regs.rip = frame.rip.wrapping_add(length) & if long { u64::MAX } else { 0xFFFF_FFFF };
        regs.rsp = frame.rsp;
        regs.rflags = frame.rflags & !RFLAGS_RF;
        if (to.cs, to.ss) != (sregs.cs, sregs.ss) {
            vcpu.set_sregs(&kvm_sregs { cs: to.cs, ss: to.ss, ..sregs })?;
        }
        vcpu.set_regs(&regs)?;
        if regs.rflags & RFLAGS_TF != 0 {
            // The guest is single-stepping: the trap that follows the RDPMC. KVM forgets queued exceptions
            // when registers are written, so that comes first.
            vcpu.flush()?;
            self.reflect(DR6_BS, vcpu)?;
        }
        Ok(true)
    }

    /// Lets the guest execute the handler's first instruction with the breakpoint off. RFLAGS.RF alone
    /// does not get a guest past it whose ring 0 is interpreted.
    fn step_over(&mut self, vcpu: &Vcpu) -> Result<(), KvmError> {
        self.stepping = true;
        let block = if self.block_irq { KVM_GUESTDBG_BLOCKIRQ } else { 0 };
        vcpu.guest_debug(KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP | block, None)
    }

    /// Gives the guest a debug exception that was its own: with a breakpoint of ours set, all of them
    /// come to us.
    fn reflect(&self, dr6: u64, vcpu: &Vcpu) -> Result<(), KvmError> {
        let mut debug = vcpu.fd().get_debug_regs().map_err(vcpu.error("read the debug registers"))?;
        debug.dr6 = debug.dr6 & !0xF | dr6 & DR6_CONDITIONS;
        vcpu.fd().set_debug_regs(&debug).map_err(vcpu.error("write the debug registers"))?;
        self.arm(vcpu, KVM_GUESTDBG_INJECT_DB)
    }
}

/// Physical address and size of the #GP gate. One that crosses a page is not followed; that takes an
/// IDT that is not aligned to 16 bytes.
fn locate(sregs: &kvm_sregs, paging: &Paging, memory: &GuestMemory) -> Option<(u64, usize)> {
    let (linear, size) = gate::location(sregs, paging.is_long())?;
    let one_page = (linear & 0xFFF) + size as u64 <= 0x1000;
    let physical = one_page.then(|| paging.translate(memory, linear))??;
    Some((physical, size))
}

fn linear_rip(vcpu: &Vcpu) -> u64 {
    let cs = &vcpu.sregs().cs;
    let rip = vcpu.regs().rip;
    if cs.l != 0 { rip } else { cs.base.wrapping_add(rip) & 0xFFFF_FFFF }
}
