//! Completing an instruction that KVM cannot emulate, with the interpreter.
//!
//! Hosts without VT-x or AMD-V interpret ring 0 and know few SSE instructions. When KVM gives up, the
//! vCPU's state goes into the interpreter, which executes that one instruction on the same memory and
//! machine, exceptions included, and comes back.

#![expect(unsafe_code, reason = "KVM_SET_XSAVE takes a structure whose size KVM knows")]

use super::KvmEngine;
use super::error::KvmError;
use super::state;
use super::vcpu::Vcpu;
use crate::engine::soft::x86::{Principal, SoftBus, silicon};
use crate::engine::{InstructionCount, dump};
use crate::machine::Machine;
use crate::machine::x86::Pc;
use iced_x86::{Decoder, DecoderOptions, Instruction};
use kvm_bindings::{KVM_MAX_CPUID_ENTRIES, Msrs, kvm_msr_entry};
use kvm_ioctls::VcpuFd;
use platform::memory::GuestMemory;
use soft_cpu::{Budget, Cpu, CpuidLeaf, Exit, Features, State};

const UD: u8 = 6;
const MSR_TSC: u32 = 0x10;
/// `kvm_vcpu_events.interrupt.shadow` after STI.
const SHADOW_STI: u8 = 2;

/// What came of an instruction.
#[derive(Debug)]
pub(super) enum Completed {
    /// The guest can go on.
    Done,
    /// Its exception could not be delivered.
    TripleFault,
    /// The guest's CPU has it, but the interpreter does not know it either; its name.
    Unknown(String),
}

impl KvmEngine {
    /// Executes the instruction at RIP.
    pub(super) fn complete_instruction(&mut self, machine: &mut Machine<Pc>) -> Result<Completed, KvmError> {
        let vcpu = &mut self.vcpu;
        let (before, mut xsave, mut events) = read(vcpu)?;
        let instruction = instruction(&before, &machine.memory);
        let profile = machine.pmu.profile().clone();
        // The host's CPUID may announce state components that the interpreter does not have.
        let mut cpu = Cpu::new(&before).with_silicon(silicon(&profile)).without_xsave();
        let mut bus = SoftBus::on_behalf_of(vcpu.fd(), machine, &profile);
        let exit = cpu.run(&mut bus, Budget { instructions: 1, interrupt_window: false });
        if let Some(unknown) = cpu.unimplemented().first() {
            // KVM gives up alike on an instruction that its emulator lacks and on one that the guest's CPU does not
            // have. The second raises #UD on a CPU, and careful guests try for that.
            if !Features::are_lacking(&instruction, |leaf, subleaf| vcpu.fd().cpuid(leaf, subleaf)) {
                return Ok(Completed::Unknown(unknown.code.clone()));
            }
            // #UD, which the interpreter has raised.
        }
        if exit == Exit::Shutdown {
            return Ok(Completed::TripleFault);
        }
        let mut after = cpu.state();
        if exit == Exit::Halted {
            // KVM does the HLT itself; its opcode is the byte before.
            after.rip = after.rip.wrapping_sub(1);
        }
        if after.xmm != before.xmm
            || after.st != before.st
            || (after.mxcsr, after.fcw, after.fsw, after.ftw)
                != (before.mxcsr, before.fcw, before.fsw, before.ftw)
            || after.x87_pointers != before.x87_pointers
        {
            state::put_xsave(&after, &mut xsave);
            // SAFETY: this process has not asked for dynamically enabled state (AMX), so that KVM reads no more than
            // the 4096 bytes of the structure.
            unsafe { vcpu.fd().set_xsave(&xsave) }.map_err(vcpu.error("write the vector registers"))?;
        }
        write_msrs(vcpu, &before, &after)?;
        if (after.dr, after.dr6, after.dr7) != (before.dr, before.dr6, before.dr7) {
            let mut debug = vcpu.fd().get_debug_regs().map_err(vcpu.error("read the debug registers"))?;
            (debug.db, debug.dr6, debug.dr7) = (after.dr, after.dr6, after.dr7);
            vcpu.fd().set_debug_regs(&debug).map_err(vcpu.error("write the debug registers"))?;
        }
        events.nmi.masked = u8::from(after.nmi_blocked);
        events.interrupt.shadow = if after.interrupt_shadow { SHADOW_STI } else { 0 };
        if events.exception.nr == UD {
            // KVM queues a #UD before it gives up.
            (events.exception.injected, events.exception.pending) = (0, 0);
        }
        vcpu.fd().set_vcpu_events(&events).map_err(vcpu.error("write the pending events"))?;
        let sregs = state::to_sregs(&after, vcpu.sregs());
        if sregs != *vcpu.sregs() {
            vcpu.set_sregs(&sregs)?;
        }
        vcpu.set_regs(&state::to_regs(&after))?;
        self.note_completed(mnemonic(&instruction));
        Ok(Completed::Done)
    }

    fn note_completed(&mut self, mnemonic: String) {
        /// There are some 2000 mnemonics.
        const MAX: usize = 4096;
        if let Some(known) = self.completed.iter_mut().find(|known| known.mnemonic == mnemonic) {
            known.count += 1;
        } else if self.completed.len() < MAX {
            let rip = self.vcpu.regs().rip;
            log::debug!("KVM cannot emulate {mnemonic} (before {rip:#x}): the interpreter completes it");
            self.completed.push(InstructionCount { mnemonic, count: 1 });
        }
    }
}

/// Everything that the interpreter has of a CPU, and what its other parts go back into.
fn read(vcpu: &Vcpu) -> Result<(State, kvm_bindings::kvm_xsave, kvm_bindings::kvm_vcpu_events), KvmError> {
    let fd = vcpu.fd();
    let mut state = state::visible(vcpu.regs(), vcpu.sregs());
    let xsave = fd.get_xsave().map_err(vcpu.error("read the vector registers"))?;
    state::take_xsave(&mut state, &xsave);
    state::set_msr_values(&mut state, read_msrs(vcpu, state::MSRS)?);
    let debug = fd.get_debug_regs().map_err(vcpu.error("read the debug registers"))?;
    (state.dr, state.dr6, state.dr7) = (debug.db, debug.dr6, debug.dr7);
    let events = fd.get_vcpu_events().map_err(vcpu.error("read the pending events"))?;
    // A pending NMI stays KVM's.
    state.nmi_blocked = events.nmi.masked != 0;
    state.interrupt_shadow = events.interrupt.shadow != 0;
    Ok((state, xsave, events))
}

fn read_msrs<const N: usize>(vcpu: &Vcpu, indices: [u32; N]) -> Result<[u64; N], KvmError> {
    let mut values = [0; N];
    for (value, index) in values.iter_mut().zip(indices) {
        *value = read_msr(vcpu.fd(), index).map_err(vcpu.error("read an MSR"))?.unwrap_or(0);
    }
    Ok(values)
}

/// `None`: this KVM does not have it.
fn read_msr(fd: &VcpuFd, index: u32) -> Result<Option<u64>, kvm_ioctls::Error> {
    let entry = kvm_msr_entry { index, ..kvm_msr_entry::default() };
    let Ok(mut msrs) = Msrs::from_entries(&[entry]) else { return Ok(None) };
    let read = fd.get_msrs(&mut msrs)?;
    Ok(msrs.as_slice().first().filter(|_| read == 1).map(|entry| entry.data))
}

fn write_msrs(vcpu: &Vcpu, before: &State, after: &State) -> Result<(), KvmError> {
    let values = state::msr_values(before).into_iter().zip(state::msr_values(after));
    for (index, (_, data)) in state::MSRS.into_iter().zip(values).filter(|(_, (old, new))| old != new) {
        let entry = kvm_msr_entry { index, data, ..kvm_msr_entry::default() };
        if let Ok(msrs) = Msrs::from_entries(&[entry]) {
            vcpu.fd().set_msrs(&msrs).map_err(vcpu.error("write an MSR"))?;
        }
    }
    Ok(())
}

/// At RIP.
fn instruction(state: &State, memory: &GuestMemory) -> Instruction {
    let rights = state.segments[1].rights;
    let bits = match (rights >> 13 & 1, rights >> 14 & 1) {
        (1, _) => 64,
        (_, 1) => 32,
        _ => 16,
    };
    let code = dump::code(state, memory);
    Decoder::with_ip(bits, &code, state.rip, DecoderOptions::NONE).decode()
}

/// In lower case, as disassemblers write it.
fn mnemonic(instruction: &Instruction) -> String {
    format!("{:?}", instruction.mnemonic()).to_ascii_lowercase()
}

/// What only the vCPU knows.
impl Principal for VcpuFd {
    /// What the guest's CPUID says.
    fn cpuid(&self, leaf: u32, subleaf: u32) -> CpuidLeaf {
        let table = self.get_cpuid2(KVM_MAX_CPUID_ENTRIES);
        let found = table.ok().and_then(|table| {
            let entries = table.as_slice();
            entries.iter().find(|e| e.function == leaf && (e.index == subleaf || e.flags & 1 == 0)).copied()
        });
        found.map_or_else(CpuidLeaf::default, |e| CpuidLeaf {
            eax: e.eax,
            ebx: e.ebx,
            ecx: e.ecx,
            edx: e.edx,
        })
    }

    fn tsc(&self) -> u64 {
        read_msr(self, MSR_TSC).ok().flatten().unwrap_or(0)
    }
}
