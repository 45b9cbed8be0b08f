//! A VMM with nothing but /dev/kvm and a virtual PMU.
//!
//! ```text
//! cargo run -p vpmu --example kvm
//! ```
//!
//! The guest, a few instructions of 32-bit code in ring 0, counts reference cycles and slots while it runs a loop, and
//! reads the counters by RDPMC and RDMSR. The VMM traps
//!
//! * the PMU's MSRs, by KVM's MSR filter;
//! * CPUID, by the table that KVM answers from;
//! * RDPMC, which KVM does not hand out. Without a PMU of its own it raises #GP, and a hardware breakpoint on the
//!   guest's #GP handler brings that here. (`crates/vmm` does this for guests that move their IDT, page and have ring
//!   3.)
//!
//! What is counted is the time inside KVM_RUN at the TSC's rate: honest for reference cycles, and for slots as good as
//! the assumption that the core runs at that rate. A VMM that wants real counts asks the host's perf
//! (`crates/host-perf`). There is no local APIC: where a VMM has one, [`no_apic`] raises the interrupt of its LVTPC,
//! see the example `embed`.

#![expect(unsafe_code, reason = "memory that KVM maps into the guest")]

use kvm_bindings::{
    KVM_CAP_PMU_CAPABILITY, KVM_CAP_X86_USER_SPACE_MSR, KVM_GUESTDBG_ENABLE, KVM_GUESTDBG_USE_HW_BP,
    KVM_MAX_CPUID_ENTRIES, KVM_MSR_EXIT_REASON_FILTER, KVM_PMU_CAP_DISABLE, kvm_cpuid_entry2, kvm_dtable,
    kvm_enable_cap, kvm_guest_debug, kvm_segment, kvm_userspace_memory_region,
};
use kvm_ioctls::{Kvm, MsrFilterDefaultAction, MsrFilterRange, MsrFilterRangeFlags, VcpuExit, VcpuFd, VmFd};
use std::error::Error;
use std::time::Instant;
use vm_memory::{Bytes, GuestAddress, GuestMemoryBackend, GuestMemoryMmap};
use vpmu::cpuid::{self, CpuidResult};
use vpmu::event::Event;
use vpmu::register::filter_ranges;
use vpmu::{
    CountsSource, EventRequest, Level, PrivilegeFilter, Profile, Provenance, RdpmcContext, ReadOutcome,
    TopdownSlots, Vpmu, WriteOutcome, profile,
};

const MEMORY: usize = 0x1_0000;
const GDT: u64 = 0x1000;
const IDT: u64 = 0x1800;
const CODE: u64 = 0x2000;
const GP_HANDLER: u64 = 0x4000;
const STACK: u64 = 0x8000;

/// What the guest does.
#[derive(Debug)]
enum Step {
    Cpuid(u32),
    Wrmsr(u32, u64),
    Rdmsr(u32),
    Rdpmc(u32),
    /// So many rounds of an empty loop.
    Loop(u32),
}

const PROGRAM: [Step; 10] = [
    Step::Cpuid(0xA),
    // FIXED_CTR_CTRL: fixed counters 2 (reference cycles) and 3 (slots) in all rings; GLOBAL_CTRL starts them.
    Step::Wrmsr(0x38D, 0x3300),
    Step::Wrmsr(0x38F, 1 << 34 | 1 << 35),
    Step::Loop(100_000),
    Step::Rdpmc(0x4000_0003),
    Step::Wrmsr(0x38F, 0),
    Step::Rdpmc(0x4000_0002),
    Step::Rdpmc(0x4000_0003),
    Step::Rdmsr(0x30C),
    // There is no such counter: #GP, which is the guest's own.
    Step::Wrmsr(0x38F, 1 << 20),
];

/// Machine code of a step. What was read goes to ports 10H (EAX) and 14H (EDX).
fn assemble(step: &Step) -> Vec<u8> {
    let ecx = |value: u32| [&[0xB9], value.to_le_bytes().as_slice()].concat(); // mov ecx, value
    let put: &[u8] = &[0xE7, 0x10, 0x89, 0xD0, 0xE7, 0x14]; // out 10h, eax; mov eax, edx; out 14h, eax
    match step {
        Step::Cpuid(leaf) => [&[0xB8], leaf.to_le_bytes().as_slice(), &[0x0F, 0xA2], put].concat(),
        Step::Wrmsr(index, value) => {
            let [eax, edx] = [*value as u32, (value >> 32) as u32].map(u32::to_le_bytes);
            [ecx(*index).as_slice(), &[0xB8], &eax, &[0xBA], &edx, &[0x0F, 0x30]].concat()
        }
        Step::Rdmsr(index) => [ecx(*index).as_slice(), &[0x0F, 0x32], put].concat(),
        Step::Rdpmc(index) => [ecx(*index).as_slice(), &RDPMC, put].concat(),
        Step::Loop(rounds) => [ecx(*rounds).as_slice(), &[0x49, 0x75, 0xFD]].concat(), // dec ecx; jnz -3
    }
}

const RDPMC: [u8; 2] = [0x0F, 0x33];

/// Counts of a guest that runs in ring 0 only.
struct RunTime {
    /// Ticks of the TSC inside KVM_RUN.
    ticks: u64,
    tsc_khz: u64,
    slots_per_cycle: u64,
}

impl RunTime {
    fn of(&self, event: Event) -> Option<u64> {
        match event.counts_as() {
            Event::CpuClkUnhaltedRefTsc => Some(self.ticks),
            Event::TopdownSlots => Some(self.ticks * self.slots_per_cycle),
            _ => None,
        }
    }
}

impl CountsSource for RunTime {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        let known = request.event.and_then(|event| self.of(event)).is_some();
        if known { Provenance::Modelled } else { Provenance::Unknown }
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        let in_ring_0 = request.event.and_then(|event| self.of(event)).unwrap_or(0);
        filter.sum_of(in_ring_0, 0)
    }

    fn topdown(&mut self, _filter: PrivilegeFilter) -> Option<TopdownSlots> {
        None
    }
}

/// A virtual machine whose PMU is ours.
struct Vm {
    vcpu: VcpuFd,
    _vm: VmFd,
    memory: GuestMemoryMmap,
    pmu: Vpmu,
    source: RunTime,
    /// What the guest says that it has read.
    read: Vec<u64>,
    /// Faults.
    log: Vec<String>,
}

impl Vm {
    fn new(kvm: &Kvm, profile: Profile) -> Result<Self, Box<dyn Error>> {
        let vm = kvm.create_vm()?;
        let enable = |cap: u32, value: u32| {
            vm.enable_cap(&kvm_enable_cap {
                cap,
                args: [u64::from(value), 0, 0, 0],
                ..kvm_enable_cap::default()
            })
        };
        enable(KVM_CAP_X86_USER_SPACE_MSR, KVM_MSR_EXIT_REASON_FILTER)?;
        // A PMU of KVM's own would answer RDPMC. Where this is refused there is none, or Linux is older than 5.18.
        let _ = enable(KVM_CAP_PMU_CAPABILITY, KVM_PMU_CAP_DISABLE);

        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), MEMORY)])?;
        let region = kvm_userspace_memory_region {
            memory_size: MEMORY as u64,
            userspace_addr: memory.get_host_address(GuestAddress(0))? as u64,
            ..kvm_userspace_memory_region::default()
        };
        // SAFETY: the region is mapped by `memory`, which lives as long as the virtual machine: both are in `Self`.
        unsafe { vm.set_user_memory_region(region) }?;
        vm.set_tss_address(0xFFFB_D000)?;

        let trapped = profile.trapped_ranges().into_iter().map(|range| (range.first, range.count));
        let packed = filter_ranges(trapped.collect());
        let ranges = packed.iter().map(|range| MsrFilterRange {
            flags: MsrFilterRangeFlags::READ | MsrFilterRangeFlags::WRITE,
            base: range.base,
            msr_count: range.count,
            bitmap: &range.bitmap,
        });
        vm.set_msr_filter(MsrFilterDefaultAction::ALLOW, &ranges.collect::<Vec<_>>())?;

        let vcpu = vm.create_vcpu(0)?;
        let mut table = kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES)?;
        table.as_mut_slice().iter_mut().for_each(|entry| announce(&profile, entry));
        vcpu.set_cpuid2(&table)?;
        let tsc_khz = vcpu.get_tsc_khz().map_or(profile.tsc_hz / 1000, u64::from);
        let source = RunTime { ticks: 0, tsc_khz, slots_per_cycle: u64::from(profile.slots_per_cycle) };
        Ok(Self { vcpu, _vm: vm, memory, pmu: Vpmu::new(profile), source, read: Vec::new(), log: Vec::new() })
    }

    /// Puts the guest into memory, and the vCPU at its beginning: flat 32-bit segments, no paging.
    fn load(&self, program: &[Step]) -> Result<(), Box<dyn Error>> {
        let code: Vec<u8> = program.iter().flat_map(assemble).chain([0xF4]).collect(); // hlt
        self.memory.write_slice(&code, GuestAddress(CODE))?;
        self.memory.write_slice(&[0xE6, 0x18, 0xF4], GuestAddress(GP_HANDLER))?; // out 18h, al; hlt
        let gdt = [0_u64, 0x00CF_9B00_0000_FFFF, 0x00CF_9300_0000_FFFF];
        let gate = GP_HANDLER & 0xFFFF | 0x8 << 16 | 0x8E00 << 32 | (GP_HANDLER >> 16) << 48;
        for (at, entry) in (GDT..).step_by(8).zip(gdt).chain([(IDT + 13 * 8, gate)]) {
            self.memory.write_obj(entry, GuestAddress(at))?;
        }
        let mut sregs = self.vcpu.get_sregs()?;
        let flat = kvm_segment { limit: u32::MAX, present: 1, db: 1, s: 1, g: 1, ..kvm_segment::default() };
        sregs.cs = kvm_segment { selector: 0x8, type_: 0xB, ..flat };
        sregs.ss = kvm_segment { selector: 0x10, type_: 0x3, ..flat };
        (sregs.ds, sregs.es) = (sregs.ss, sregs.ss);
        sregs.gdt = kvm_dtable { base: GDT, limit: 3 * 8 - 1, ..kvm_dtable::default() };
        sregs.idt = kvm_dtable { base: IDT, limit: 14 * 8 - 1, ..kvm_dtable::default() };
        sregs.cr0 |= 1;
        self.vcpu.set_sregs(&sregs)?;
        let mut regs = self.vcpu.get_regs()?;
        (regs.rip, regs.rsp, regs.rflags) = (CODE, STACK, 2);
        self.vcpu.set_regs(&regs)?;
        // Breakpoint 0 of type and length 0, execution, enabled by G0 (bit 1); bit 10 is always 1.
        let mut debug = kvm_guest_debug {
            control: KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_HW_BP,
            ..kvm_guest_debug::default()
        };
        (debug.arch.debugreg[0], debug.arch.debugreg[7]) = (GP_HANDLER, 0x402);
        Ok(self.vcpu.set_guest_debug(&debug)?)
    }

    /// Runs the guest until it halts.
    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let mut eax = 0;
        loop {
            let entered = Instant::now();
            let exit = self.vcpu.run()?;
            self.source.ticks += (entered.elapsed().as_nanos() as u64) * self.source.tsc_khz / 1_000_000;
            match exit {
                VcpuExit::X86Rdmsr(msr) => {
                    match self.pmu.read_register(Level::Kernel, msr.index, &mut self.source).deliver(no_apic)
                    {
                        ReadOutcome::Value(value) => *msr.data = value,
                        // With an error KVM raises #GP.
                        ReadOutcome::Fault(_) | ReadOutcome::NotHandled => *msr.error = 1,
                    }
                }
                VcpuExit::X86Wrmsr(msr) => {
                    match self
                        .pmu
                        .write_register(Level::Kernel, msr.index, msr.data, &mut self.source)
                        .deliver(no_apic)
                    {
                        WriteOutcome::Done => {}
                        WriteOutcome::Fault(fault) => {
                            self.log.push(format!(
                                "WRMSR {:#x} = {:#x} raises #GP: {fault}",
                                msr.index, msr.data
                            ));
                            *msr.error = 1;
                        }
                        WriteOutcome::NotHandled => *msr.error = 1,
                    }
                }
                VcpuExit::Debug(_) => self.on_gp()?,
                VcpuExit::IoOut(0x10, data) => eax = u32::from_le_bytes(data.try_into()?),
                VcpuExit::IoOut(0x14, data) => {
                    let edx = u32::from_le_bytes(data.try_into()?);
                    self.read.push(u64::from(edx) << 32 | u64::from(eax));
                }
                VcpuExit::IoOut(0x18, _) => self.log.push("the guest handles #GP".to_owned()),
                VcpuExit::Hlt => return Ok(()),
                other => return Err(format!("unexpected exit {other:?}").into()),
            }
        }
    }

    /// The guest is at its #GP handler. An RDPMC that led there is completed, and the guest goes on behind it.
    fn on_gp(&mut self) -> Result<(), Box<dyn Error>> {
        let mut regs = self.vcpu.get_regs()?;
        // Error code, EIP, CS, EFLAGS.
        let frame: [u32; 4] = self.memory.read_obj(GuestAddress(regs.rsp))?;
        let [_, eip, cs, eflags] = frame.map(u64::from);
        let code: [u8; 2] = self.memory.read_obj(GuestAddress(eip))?;
        let pce = self.vcpu.get_sregs()?.cr4 >> 8 & 1 != 0;
        let context = RdpmcContext { cpl: (cs & 3) as u8, pce, protected_mode: true };
        let outcome = (code == RDPMC)
            .then(|| self.pmu.rdpmc(regs.rcx as u32, context, &mut self.source).deliver(no_apic));
        let Some(ReadOutcome::Value(value)) = outcome else {
            // The guest's own fault: it handles it, without the breakpoint. (One that goes on needs it again.)
            return Ok(self.vcpu.set_guest_debug(&kvm_guest_debug::default())?);
        };
        (regs.rax, regs.rdx) = (value & 0xFFFF_FFFF, value >> 32);
        (regs.rip, regs.rsp, regs.rflags) = (eip + 2, regs.rsp + 16, eflags);
        Ok(self.vcpu.set_regs(&regs)?)
    }
}

/// A PMI is due.
fn no_apic() {}

/// Makes an entry of the CPUID table announce the PMU.
fn announce(profile: &Profile, entry: &mut kvm_cpuid_entry2) {
    let own = CpuidResult { eax: entry.eax, ebx: entry.ebx, ecx: entry.ecx, edx: entry.edx };
    let shown = cpuid::patch(profile, entry.function, entry.index, own);
    (entry.eax, entry.ebx, entry.ecx, entry.edx) = (shown.eax, shown.ebx, shown.ecx, shown.edx);
}

/// Runs the program. What the guest read in its steps, and its faults.
fn run(kvm: &Kvm) -> Result<(Vec<u64>, Vec<String>), Box<dyn Error>> {
    // KVM does not say which branches the guest takes.
    let mut vm = Vm::new(kvm, profile::SAPPHIRE_RAPIDS.without_lbr())?;
    vm.load(&PROGRAM)?;
    vm.run()?;
    Ok((vm.read, vm.log))
}

fn main() -> Result<(), Box<dyn Error>> {
    let kvm = match Kvm::new() {
        Ok(kvm) => kvm,
        Err(error) => {
            println!(
                "/dev/kvm cannot be opened ({error}): load kvm_intel or kvm_amd and join the group kvm."
            );
            println!("The example `embed` needs no KVM: cargo run -p vpmu --example embed");
            return Ok(());
        }
    };
    let (read, log) = run(&kvm)?;
    let steps = PROGRAM.iter().filter(|step| !matches!(step, Step::Wrmsr(..) | Step::Loop(_)));
    for (step, value) in steps.zip(read) {
        println!("{step:x?} = {value:#x} ({value})");
    }
    println!("{}", log.join("\n"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guest_reads_the_same_by_rdpmc_and_rdmsr() {
        let kvm = match Kvm::new() {
            Ok(kvm) => kvm,
            Err(error) => return println!("SKIP example kvm: /dev/kvm cannot be opened: {error}"),
        };
        let (read, log) = run(&kvm).unwrap();
        let [leaf_0a, running, cycles, slots, same] = read[..] else { panic!("{read:x?} {log:?}") };
        // Version 5, 8 counters of 48 bits.
        assert_eq!(leaf_0a & 0xFF_FFFF, 0x30_0805, "{read:x?}");
        assert!(0 < running && running < slots, "{read:x?}");
        assert_eq!((slots, same), (6 * cycles, slots), "{read:x?}");
        let end =
            ["WRMSR 0x38f = 0x100000 raises #GP: reserved bits 0x100000 are set", "the guest handles #GP"];
        assert_eq!(log, end);
    }
}
