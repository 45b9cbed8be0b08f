//! The CPU's side: ring 3 of a KVM guest.
//!
//! A case starts with an IRETQ in ring 0, the only instruction that runs there, and ends with the HLT of the
//! handler of its exception. x87 and SSE state goes through KVM_SET_XSAVE: KVM_SET_FPU leaves XSTATE_BV alone,
//! and a component whose bit is 0 comes out in its initial state.

#![expect(unsafe_code, reason = "memory that KVM maps into a guest")]

use crate::case::{Case, Failure, Outcome};
use crate::changes;
use crate::layout::{
    CODE, CODE_LEN, CR0, EFER, FS_BASE, GDT, GDT_LIMIT, GS_BASE, HANDLER_SIZE, HANDLERS, IDT, IDT_LIMIT,
    IRET, KERNEL_CODE, KERNEL_DATA, PML4, RAM, RING0_STACK, SCRATCH, SCRATCH_LEN, TASK, TSS, USER_CODE,
    USER_DATA, initial_ram,
};
use crate::machine::Machine;
use crate::start::{Start, images};
use crate::vectors::Vectors;
use crate::xsave::Area;
use kvm_bindings::{
    CpuId, KVM_MAX_CPUID_ENTRIES, kvm_regs, kvm_segment, kvm_userspace_memory_region, kvm_xcrs, kvm_xsave,
};
use kvm_ioctls::{Kvm, VcpuExit, VcpuFd, VmFd};
use vm_memory::{Bytes as _, GuestAddress, GuestMemoryBackend as _, GuestMemoryMmap};

/// Why there is no native side.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// The host has no KVM.
    #[error("{0}")]
    Missing(#[from] vmm::engine::kvm::KvmError),
    /// There are no rules for the CPU.
    #[error("the CPU is neither Intel's nor AMD's")]
    Vendor,
    /// KVM refuses what is needed.
    #[error("KVM cannot {what}: {reason}")]
    Setup {
        /// What was asked.
        what: &'static str,
        /// The answer.
        reason: String,
    },
}

fn setup<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> NativeError {
    move |error| NativeError::Setup { what, reason: error.to_string() }
}

/// A virtual machine in the [`layout`](crate::layout).
#[derive(Debug)]
pub struct Native {
    vcpu: VcpuFd,
    _vm: VmFd,
    memory: GuestMemoryMmap,
    /// What is enabled in it.
    machine: Machine,
    /// The case before may have written FS_BASE or GS_BASE.
    bases_changed: bool,
    area: Area,
    images: [Vec<Vec<u8>>; 2],
    ram: Vec<u8>,
    dirty: u64,
    dirty_len: usize,
}

impl Native {
    /// Builds the machine.
    ///
    /// # Errors
    /// Without usable KVM; the message says why.
    pub fn new() -> Result<Self, NativeError> {
        vmm::engine::kvm::check_host()?;
        crate::watchdog::start().map_err(setup("start a timer"))?;
        let kvm = Kvm::new().map_err(setup("be opened"))?;
        let vm = kvm.create_vm().map_err(setup("create a virtual machine"))?;
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), RAM)]).map_err(setup("get memory"))?;
        let host = memory.get_host_address(GuestAddress(0)).map_err(setup("find its memory"))?;
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: RAM as u64,
            userspace_addr: host as u64,
        };
        // SAFETY: the memory is mapped, and `self` keeps it longer than the virtual machine.
        unsafe { vm.set_user_memory_region(region) }.map_err(setup("map guest memory"))?;
        vm.set_identity_map_address(0xFFFB_C000).map_err(setup("place its identity map"))?;
        vm.set_tss_address(0xFFFB_D000).map_err(setup("place its task state segment"))?;
        let vcpu = vm.create_vcpu(0).map_err(setup("create a vCPU"))?;
        let cpuid: CpuId = kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES).map_err(setup("list features"))?;
        vcpu.set_cpuid2(&cpuid).map_err(setup("set the CPUID table"))?;
        let native = Self {
            vcpu,
            _vm: vm,
            memory,
            machine: Machine::Sse,
            bases_changed: false,
            area: Area::host(),
            images: [images(Machine::Sse), images(Machine::Xsave)],
            ram: vec![0; RAM],
            dirty: CODE,
            dirty_len: 0,
        };
        native.write(0, &initial_ram()).map_err(setup("fill guest memory"))?;
        native.enter_long_mode().map_err(setup("enter 64-bit mode"))?;
        Ok(native)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.memory.write_slice(bytes, GuestAddress(at)).map_err(|error| Failure::Kvm(error.to_string()))
    }

    fn enter_long_mode(&self) -> Result<(), kvm_ioctls::Error> {
        let mut sregs = self.vcpu.get_sregs()?;
        let segment = |selector: u16, type_, dpl, base| kvm_segment {
            base,
            limit: u32::MAX,
            selector,
            type_,
            present: 1,
            dpl,
            db: 1,
            s: 1,
            l: 0,
            g: 1,
            ..kvm_segment::default()
        };
        sregs.cs = kvm_segment { l: 1, db: 0, ..segment(KERNEL_CODE, 0xB, 0, 0) };
        sregs.ss = segment(KERNEL_DATA, 3, 0, 0);
        (sregs.ds, sregs.es) = (segment(USER_DATA, 3, 3, 0), segment(USER_DATA, 3, 3, 0));
        (sregs.fs, sregs.gs) = (segment(USER_DATA, 3, 3, FS_BASE), segment(USER_DATA, 3, 3, GS_BASE));
        sregs.tr = kvm_segment { limit: 0x67, s: 0, g: 0, db: 0, ..segment(TASK, 0xB, 0, TSS) };
        sregs.ldt = kvm_segment { unusable: 1, ..kvm_segment::default() };
        (sregs.gdt.base, sregs.gdt.limit) = (GDT, GDT_LIMIT);
        (sregs.idt.base, sregs.idt.limit) = (IDT, IDT_LIMIT);
        (sregs.cr0, sregs.cr3, sregs.cr4, sregs.efer) = (CR0, PML4, self.machine.cr4(), EFER & !1);
        self.vcpu.set_sregs(&sregs)
    }

    /// Enables what a case can use, and restores the bases of segments.
    fn enable(&mut self, machine: Machine) -> Result<(), kvm_ioctls::Error> {
        if machine == self.machine && !self.bases_changed {
            return Ok(());
        }
        self.bases_changed = false;
        let mut sregs = self.vcpu.get_sregs()?;
        sregs.cr4 = machine.cr4();
        (sregs.fs.base, sregs.gs.base) = (FS_BASE, GS_BASE);
        self.vcpu.set_sregs(&sregs)?;
        let mut xcrs = kvm_xcrs { nr_xcrs: 1, ..kvm_xcrs::default() };
        xcrs.xcrs[0].value = machine.xcr0();
        self.vcpu.set_xcrs(&xcrs)?;
        self.machine = machine;
        Ok(())
    }

    /// Runs a case to its exception.
    ///
    /// # Errors
    /// There is none.
    pub fn run(&mut self, case: &Case) -> Result<Outcome, Failure> {
        let start = Start::from_seed(case.seed);
        let kvm = |error: kvm_ioctls::Error| Failure::Kvm(error.to_string());
        self.enable(case.machine).map_err(kvm)?;
        // WRFSBASE and WRGSBASE have this opcode.
        self.bases_changed = case.code.windows(2).any(|bytes| bytes == [0x0F, 0xAE]);
        self.load(case, &start)?;
        let gpr = &start.gpr;
        let regs = kvm_regs {
            rax: gpr[0],
            rcx: gpr[1],
            rdx: gpr[2],
            rbx: gpr[3],
            rsp: RING0_STACK - 40,
            rbp: gpr[5],
            rsi: gpr[6],
            rdi: gpr[7],
            r8: gpr[8],
            r9: gpr[9],
            r10: gpr[10],
            r11: gpr[11],
            r12: gpr[12],
            r13: gpr[13],
            r14: gpr[14],
            r15: gpr[15],
            rip: IRET,
            rflags: 2,
        };
        self.vcpu.set_regs(&regs).map_err(kvm)?;
        let xsave = self.area.fill(case.machine, &start, &Vectors::of(case));
        // SAFETY: the area has the size that KVM_SET_XSAVE reads; no dynamic features are enabled.
        unsafe { self.vcpu.set_xsave(&kvm_xsave { region: xsave, ..kvm_xsave::default() }) }.map_err(kvm)?;
        let mut interrupted = 0;
        loop {
            match self.vcpu.run() {
                Ok(VcpuExit::Hlt) => break,
                Ok(VcpuExit::Shutdown) => return Err(Failure::Shutdown),
                Ok(exit) => return Err(Failure::Kvm(format!("{exit:?}"))),
                // The watchdog's timer.
                Err(error) if error.errno() == libc::EINTR => {
                    interrupted += 1;
                    if interrupted > 2 {
                        return Err(Failure::Endless);
                    }
                }
                Err(error) if error.errno() == libc::EAGAIN => {}
                Err(error) => return Err(kvm(error)),
            }
        }
        self.outcome(&start)
    }

    fn image(&self, start: &Start) -> &[u8] {
        &self.images[usize::from(self.machine != Machine::Sse)][start.image]
    }

    fn load(&mut self, case: &Case, start: &Start) -> Result<(), Failure> {
        self.write(self.dirty, &vec![0xCC; self.dirty_len])?;
        let end = CODE as usize + CODE_LEN;
        (self.dirty, self.dirty_len) = (case.rip(), case.code.len().min(end - case.rip() as usize));
        self.write(self.dirty, &case.code[..self.dirty_len])?;
        self.write(SCRATCH, self.image(start))?;
        // What IRETQ pops: RIP, CS, RFLAGS, RSP, SS.
        let frame = [case.rip(), USER_CODE.into(), start.rflags, start.gpr[4], USER_DATA.into()];
        let mut bytes = [0; 40];
        for (to, from) in bytes.chunks_exact_mut(8).zip(frame) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        self.write(RING0_STACK - 40, &bytes)
    }

    fn outcome(&mut self, start: &Start) -> Result<Outcome, Failure> {
        let kvm = |error: kvm_ioctls::Error| Failure::Kvm(error.to_string());
        let regs = self.vcpu.get_regs().map_err(kvm)?;
        let vector = (regs.rip.wrapping_sub(HANDLERS + 1) / HANDLER_SIZE) as u8;
        let cr2 = if vector == 14 { self.vcpu.get_sregs().map_err(kvm)?.cr2 } else { 0 };
        let area = self.vcpu.get_xsave().map_err(kvm)?.region;
        let mut outcome = Outcome {
            vector,
            cr2,
            gpr: [
                regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp, regs.rsi, regs.rdi, regs.r8,
                regs.r9, regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15,
            ],
            ..Outcome::default()
        };
        self.area.read(&area, &mut outcome);
        let scratch = SCRATCH as usize..SCRATCH as usize + SCRATCH_LEN;
        for range in [(RING0_STACK - 48) as usize..RING0_STACK as usize, scratch.clone()] {
            self.memory
                .read_slice(&mut self.ram[range.clone()], GuestAddress(range.start as u64))
                .map_err(|error| Failure::Kvm(error.to_string()))?;
        }
        outcome.read_frame(&self.ram);
        outcome.memory = changes::memory(self.image(start), &self.ram[scratch]);
        Ok(outcome)
    }
}
