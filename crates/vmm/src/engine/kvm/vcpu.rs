//! The vCPU's file descriptor, its shared page and its registers.

#![expect(unsafe_code, reason = "the page that KVM shares")]

use super::error::KvmError;
use super::exit::{Exit, PortIo};
use kvm_bindings::*;
use kvm_ioctls::VcpuFd;
use platform::loader::x86::{BootState, SegmentState};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU8;
use vmm_sys_util::ioctl::ioctl_with_ref;
use vmm_sys_util::ioctl_iow_nr;

// kvm-ioctls has no wrapper for it.
ioctl_iow_nr!(KVM_INTERRUPT, KVMIO, 0x86, kvm_interrupt);

const SYNC_REGS: u64 = KVM_SYNC_X86_REGS as u64;
const SYNC_SREGS: u64 = KVM_SYNC_X86_SREGS as u64;

/// One vCPU. Registers are those of the last exit.
#[derive(Debug)]
pub(super) struct Vcpu {
    fd: VcpuFd,
    run: NonNull<kvm_run>,
    /// Bytes of the shared page(s).
    run_size: usize,
    /// KVM_CAP_SYNC_REGS: registers come and go in the shared page, without ioctls.
    synced: bool,
    /// Where they are kept otherwise.
    regs: kvm_regs,
    sregs: kvm_sregs,
}

// SAFETY: `run` points into the mapping that `fd` owns; the owner of the `Vcpu` has both.
unsafe impl Send for Vcpu {}

impl Vcpu {
    /// Takes over a fresh vCPU. `synced`: use KVM_CAP_SYNC_REGS.
    pub(super) fn new(mut fd: VcpuFd, run_size: usize, synced: bool) -> Result<Self, KvmError> {
        let regs = fd.get_regs().map_err(KvmError::setup("read the registers"))?;
        let sregs = fd.get_sregs().map_err(KvmError::setup("read the system registers"))?;
        let run = NonNull::from(fd.get_kvm_run());
        let mut vcpu = Self { fd, run, run_size, synced, regs, sregs };
        if synced {
            let run = vcpu.run_mut();
            run.kvm_valid_regs = SYNC_REGS | SYNC_SREGS;
            run.s.regs.regs = regs;
            run.s.regs.sregs = sregs;
        }
        Ok(vcpu)
    }

    pub(super) fn fd(&self) -> &VcpuFd {
        &self.fd
    }

    pub(super) fn run_page(&self) -> &kvm_run {
        // SAFETY: the mapping lives as long as `fd`. Between two KVM_RUNs the kernel does not touch it;
        // a signal handler may set `immediate_exit`, which is only accessed through `immediate_exit()`.
        unsafe { self.run.as_ref() }
    }

    pub(super) fn run_mut(&mut self) -> &mut kvm_run {
        // SAFETY: as in `run_page`, and `self` is borrowed mutably.
        unsafe { self.run.as_mut() }
    }

    /// `kvm_run.immediate_exit`, valid as long as the vCPU.
    pub(super) fn immediate_exit(&self) -> *const AtomicU8 {
        // SAFETY: the field lies inside the mapping. An atomic u8 has the layout of a u8.
        unsafe { (&raw const (*self.run.as_ptr()).immediate_exit).cast() }
    }

    /// Runs the guest until the next exit.
    ///
    /// # Errors
    /// KVM_RUN failed for a reason that is not the guest's.
    pub(super) fn run(&mut self) -> Result<Exit, KvmError> {
        let result = self.fd.run().map(drop);
        let exit = match result {
            Ok(()) => Exit::decode(self.run_page()),
            Err(errno) => match errno.errno() {
                libc::EINTR => Exit::Interrupted,
                libc::EAGAIN => Exit::Again,
                libc::EFAULT => Exit::BadAddress,
                _ => return Err(self.error("run the guest")(errno)),
            },
        };
        if !self.synced {
            self.regs = self.fd.get_regs().map_err(self.error("read the registers"))?;
            self.sregs = self.fd.get_sregs().map_err(self.error("read the system registers"))?;
        }
        Ok(exit)
    }

    /// Makes the effect of the last exit visible (registers written, instruction skipped) without
    /// running the guest: KVM does that first, and then finds the flag.
    pub(super) fn complete(&mut self) -> Result<(), KvmError> {
        self.run_mut().immediate_exit = 1;
        let result = self.run().map(drop);
        self.run_mut().immediate_exit = 0;
        result
    }

    /// General registers.
    pub(super) fn regs(&self) -> &kvm_regs {
        if self.synced {
            // SAFETY: `new` asked KVM to fill this member of the union; all bits are valid.
            unsafe { &self.run_page().s.regs.regs }
        } else {
            &self.regs
        }
    }

    /// System registers.
    pub(super) fn sregs(&self) -> &kvm_sregs {
        if self.synced {
            // SAFETY: as in `regs`.
            unsafe { &self.run_page().s.regs.sregs }
        } else {
            &self.sregs
        }
    }

    /// Writes the general registers. Not between an MSR, port or MMIO exit and its completion.
    pub(super) fn set_regs(&mut self, regs: &kvm_regs) -> Result<(), KvmError> {
        if self.synced {
            let run = self.run_mut();
            run.s.regs.regs = *regs;
            run.kvm_dirty_regs |= SYNC_REGS;
        } else {
            self.fd.set_regs(regs).map_err(self.error("write the registers"))?;
            self.regs = *regs;
        }
        Ok(())
    }

    /// Writes the system registers. Allowed between an MSR exit and its completion.
    pub(super) fn set_sregs(&mut self, sregs: &kvm_sregs) -> Result<(), KvmError> {
        if self.synced {
            let run = self.run_mut();
            run.s.regs.sregs = *sregs;
            run.kvm_dirty_regs |= SYNC_SREGS;
        } else {
            self.fd.set_sregs(sregs).map_err(self.error("write the system registers"))?;
            self.sregs = *sregs;
        }
        Ok(())
    }

    /// Gives KVM now what it would get with the next KVM_RUN.
    pub(super) fn flush(&mut self) -> Result<(), KvmError> {
        let dirty = if self.synced { self.run_page().kvm_dirty_regs } else { 0 };
        if dirty & SYNC_SREGS != 0 {
            self.fd.set_sregs(self.sregs()).map_err(self.error("write the system registers"))?;
        }
        if dirty & SYNC_REGS != 0 {
            self.fd.set_regs(self.regs()).map_err(self.error("write the registers"))?;
        }
        self.run_mut().kvm_dirty_regs = 0;
        Ok(())
    }

    /// Current privilege level: DPL of SS (Linux KVM API, KVM_GET_SREGS).
    pub(super) fn cpl(&self) -> u8 {
        self.sregs().ss.dpl & 3
    }

    /// Data of a port exit: `size * count` bytes in the shared page.
    pub(super) fn io_data(&mut self, io: PortIo) -> Result<&mut [u8], KvmError> {
        let end = io.size.checked_mul(io.count).and_then(|len| len.checked_add(io.offset));
        if end.is_none_or(|end| end > self.run_size) || io.size == 0 {
            return Err(KvmError::SharedPage { what: format!("{io:?}") });
        }
        // SAFETY: the range was checked to lie inside the mapping, which is borrowed mutably.
        Ok(unsafe {
            let start = self.run.as_ptr().cast::<u8>().add(io.offset);
            std::slice::from_raw_parts_mut(start, io.size * io.count)
        })
    }

    /// Data of an MMIO exit.
    pub(super) fn mmio_data(&mut self, len: usize) -> &mut [u8] {
        // SAFETY: after an MMIO exit this is the member in use; for any other exit it is plain bytes.
        let data = unsafe { &mut self.run_mut().__bindgen_anon_1.mmio.data };
        let len = len.min(data.len());
        &mut data[..len]
    }

    /// Answers an MSR exit: `Some` is a value (WRMSR ignores it), `None` is #GP(0).
    pub(super) fn answer_msr(&mut self, value: Option<u64>) {
        // SAFETY: only called after an MSR exit, where this is the member in use.
        let msr = unsafe { &mut self.run_mut().__bindgen_anon_1.msr };
        match value {
            Some(value) => msr.data = value,
            None => msr.error = 1,
        }
    }

    /// Queues an interrupt. Only when `ready_for_interrupt_injection`.
    pub(super) fn interrupt(&self, vector: u8) -> Result<(), KvmError> {
        let interrupt = kvm_interrupt { irq: u32::from(vector) };
        // SAFETY: `fd` is a vCPU and the argument is what this ioctl takes.
        match unsafe { ioctl_with_ref(&self.fd, KVM_INTERRUPT(), &interrupt) } {
            0 => Ok(()),
            _ => Err(self.error("inject an interrupt")(kvm_ioctls::Error::last())),
        }
    }

    /// Queues an NMI; KVM holds it back while NMIs are blocked.
    pub(super) fn nmi(&self) -> Result<(), KvmError> {
        self.fd.nmi().map_err(self.error("inject an NMI"))
    }

    /// Sets KVM_SET_GUEST_DEBUG `control`, with one execution breakpoint where `breakpoint` says.
    pub(super) fn guest_debug(&self, control: u32, breakpoint: Option<u64>) -> Result<(), KvmError> {
        let mut debug = kvm_guest_debug { control, ..kvm_guest_debug::default() };
        if let Some(address) = breakpoint {
            debug.arch.debugreg[0] = address;
            // G0 (bit 1) and the always-one bit 10; type and length of breakpoint 0 are 0: execute.
            debug.arch.debugreg[7] = 0x402;
        }
        self.fd.set_guest_debug(&debug).map_err(self.error("set the guest breakpoint"))
    }

    /// Puts the vCPU where the loader's image starts.
    pub(super) fn boot(&mut self, state: &BootState, apic_base: u64) -> Result<(), KvmError> {
        let mut sregs = self.fd.get_sregs().map_err(KvmError::setup("read the system registers"))?;
        sregs.cs = segment(&state.code);
        for data in [&mut sregs.ds, &mut sregs.es, &mut sregs.fs, &mut sregs.gs, &mut sregs.ss] {
            *data = segment(&state.data);
        }
        sregs.tr = segment(&state.task);
        sregs.ldt = kvm_segment { unusable: 1, ..kvm_segment::default() };
        sregs.gdt = kvm_dtable { base: state.gdt.0, limit: state.gdt.1, ..kvm_dtable::default() };
        sregs.idt = kvm_dtable::default();
        sregs.cr0 = u64::from(state.cr0);
        sregs.cr3 = state.cr3;
        sregs.cr4 = u64::from(state.cr4);
        sregs.efer = state.efer;
        sregs.apic_base = apic_base;
        let regs = kvm_regs {
            rax: u64::from(state.eax),
            rbx: u64::from(state.ebx),
            rsi: u64::from(state.esi),
            rip: u64::from(state.eip),
            rflags: u64::from(state.eflags),
            ..kvm_regs::default()
        };
        self.fd.set_sregs(&sregs).map_err(KvmError::setup("set the system registers of the first state"))?;
        self.fd.set_regs(&regs).map_err(KvmError::setup("set the registers of the first state"))?;
        self.sregs = sregs;
        self.regs = regs;
        if self.synced {
            let run = self.run_mut();
            run.s.regs.regs = regs;
            run.s.regs.sregs = sregs;
            run.kvm_dirty_regs = 0;
        }
        Ok(())
    }

    /// As on a host without KVM_CAP_SYNC_REGS from now on.
    #[cfg(test)]
    pub(super) fn stop_syncing(&mut self) {
        self.flush().unwrap();
        (self.regs, self.sregs) = (*self.regs(), *self.sregs());
        self.synced = false;
        self.run_mut().kvm_valid_regs = 0;
    }

    /// Makes the error of a failed vCPU ioctl.
    pub(super) fn error(&self, what: &'static str) -> impl FnOnce(kvm_ioctls::Error) -> KvmError + use<> {
        let rip = self.regs().rip;
        move |errno| KvmError::Vcpu { what, rip, source: io::Error::from(errno) }
    }
}

fn segment(state: &SegmentState) -> kvm_segment {
    kvm_segment {
        base: u64::from(state.base),
        limit: state.limit,
        selector: state.selector,
        type_: state.kind,
        present: 1,
        dpl: 0,
        db: u8::from(state.default_32),
        s: u8::from(state.code_or_data),
        l: u8::from(state.long),
        g: u8::from(state.granular),
        avl: 0,
        unusable: 0,
        padding: 0,
    }
}
