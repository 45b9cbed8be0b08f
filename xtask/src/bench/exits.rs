//! The round trip of an MSR exit: our run loop with the virtual PMU against a bare KVM_RUN loop with
//! an empty handler, on the same guest loop, in interleaved rounds.

#![expect(unsafe_code, reason = "memory that KVM maps into the guest")]

use super::access::INSTRUCTIONS;
use super::{Figure, figure, ratio};
use crate::error::TaskError;
use kvm_bindings::{
    KVM_CAP_X86_USER_SPACE_MSR, KVM_MAX_CPUID_ENTRIES, KVM_MSR_EXIT_REASON_FILTER, KVM_MSR_EXIT_REASON_INVAL,
    KVM_MSR_EXIT_REASON_UNKNOWN, kvm_enable_cap, kvm_userspace_memory_region,
};
use kvm_ioctls::{Kvm, MsrFilterDefaultAction, MsrFilterRange, MsrFilterRangeFlags, VcpuExit};
use platform::devices::{Capture, FwCfg};
use platform::loader::x86::BootState;
use platform::memory::{GuestMemory, MemoryConfig};
use platform::x86::apic::{ApicConfig, LocalApic};
use platform::x86::devices::Devices;
use platform::x86::memory::LAYOUT;
use std::time::{Duration, Instant};
use vmm::counts::synthetic::{Rates, SyntheticSource};
use vmm::engine::kvm::{KvmConfig, KvmEngine};
use vmm::engine::{Engine, RunLimits};
use vmm::machine::pmu::PmuDevice;
use vmm::machine::x86::Pc;
use vmm::machine::{Machine, Outcome};
use vpmu::profile::SAPPHIRE_RAPIDS;
use vpmu::register::intel::{FixedCtr, FixedCtrCtrl, PerfEvtSel, PerfGlobalCtrl, Pmc};

/// Exits per round.
const EXITS: u32 = 5_000;
/// Where the guest's code is.
const CODE: u32 = 0x1000;

/// A guest loop in 32-bit protected mode: EXITS times one MSR instruction, then OUT to the exit port.
fn code(index: u32, write: bool) -> Vec<u8> {
    let mut code = vec![0xB9]; //                                      mov ecx, index
    code.extend(index.to_le_bytes());
    code.push(0xBB); //                                                mov ebx, EXITS
    code.extend(EXITS.to_le_bytes());
    code.extend([0x31, 0xC0]); //                                      xor eax, eax
    code.extend([0x31, 0xD2]); //                                      xor edx, edx
    code.extend([0x0F, if write { 0x30 } else { 0x32 }]); //     1:    wrmsr / rdmsr
    code.push(0x4B); //                                                dec ebx
    code.extend([0x75, 0xFB]); //                                      jnz 1b
    code.extend([0x31, 0xC0]); //                                      xor eax, eax
    code.extend([0xE6, 0xF4]); //                                      out 0xF4, al
    code
}

fn failed(error: impl std::fmt::Display) -> TaskError {
    TaskError::Measure { what: "MSR exits", reason: error.to_string() }
}

fn memory(code: &[u8]) -> Result<GuestMemory, TaskError> {
    let memory = GuestMemory::new(MemoryConfig { size_mib: 4 }, &LAYOUT).map_err(failed)?;
    memory.write(u64::from(CODE), code).map_err(failed)?;
    Ok(memory)
}

/// Seconds for the guest loop on our engine, machine and virtual PMU.
fn ours(code: &[u8], counting: bool) -> Result<f64, TaskError> {
    let memory = memory(code)?;
    let apic = ApicConfig::default();
    let mut engine = KvmEngine::new(&KvmConfig { memory: &memory, profile: &SAPPHIRE_RAPIDS, apic: &apic })
        .map_err(failed)?;
    let rates = Rates::built_in().map_err(failed)?;
    let source = Box::new(SyntheticSource::new(&SAPPHIRE_RAPIDS, &rates, engine.tsc_hz()));
    let quiet = || Box::new(Capture::new(0));
    let devices = Devices::new(quiet(), quiet(), FwCfg::new(1, 4 << 20));
    let pmu = PmuDevice::new(SAPPHIRE_RAPIDS, source, None);
    let tsc_hz = engine.tsc_hz();
    let mut machine =
        Machine::new(memory, Pc::new(devices, LocalApic::new(apic).map_err(failed)?, tsc_hz), pmu);
    if counting {
        let mut set = |index, value| machine.wrmsr(index, value, None).map_err(failed);
        for n in 0..8 {
            set(PerfEvtSel::INDEX + n, INSTRUCTIONS)?;
        }
        set(FixedCtrCtrl::INDEX, 0x3333)?;
        set(PerfGlobalCtrl::INDEX, 0x0001_000F_0000_00FF)?;
    }
    engine.boot(&BootState::flat(CODE)).map_err(failed)?;
    let started = Instant::now();
    let limits = RunLimits { timeout: Duration::from_secs(60) };
    match engine.run(&mut machine, limits).map_err(failed)? {
        Outcome::Exit { .. } => Ok(started.elapsed().as_secs_f64()),
        other => Err(failed(format!("the guest loop ended by {other:?}"))),
    }
}

/// Seconds for the same guest loop in the smallest loop that KVM allows.
fn bare(code: &[u8], index: u32) -> Result<f64, TaskError> {
    let memory = memory(code)?;
    let kvm = Kvm::new().map_err(failed)?;
    let vm = kvm.create_vm().map_err(failed)?;
    let mut cap = kvm_enable_cap { cap: KVM_CAP_X86_USER_SPACE_MSR, ..Default::default() };
    cap.args[0] =
        u64::from(KVM_MSR_EXIT_REASON_FILTER | KVM_MSR_EXIT_REASON_UNKNOWN | KVM_MSR_EXIT_REASON_INVAL);
    vm.enable_cap(&cap).map_err(failed)?;
    let filter = [MsrFilterRange {
        flags: MsrFilterRangeFlags::READ | MsrFilterRangeFlags::WRITE,
        base: index,
        msr_count: 1,
        bitmap: &[0],
    }];
    vm.set_msr_filter(MsrFilterDefaultAction::ALLOW, &filter).map_err(failed)?;
    for (slot, region) in memory.regions().enumerate() {
        let region = kvm_userspace_memory_region {
            slot: slot as u32,
            guest_phys_addr: region.guest_phys,
            memory_size: region.size,
            userspace_addr: region.host,
            flags: 0,
        };
        // SAFETY: the region is mapped for as long as `memory` lives, which is longer than `vm` runs.
        unsafe { vm.set_user_memory_region(region) }.map_err(failed)?;
    }
    let mut vcpu = vm.create_vcpu(0).map_err(failed)?;
    let cpuid = kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES).map_err(failed)?;
    vcpu.set_cpuid2(&cpuid).map_err(failed)?;
    let mut sregs = vcpu.get_sregs().map_err(failed)?;
    sregs.cr0 |= 1;
    for segment in [&mut sregs.cs, &mut sregs.ds, &mut sregs.es, &mut sregs.ss, &mut sregs.fs, &mut sregs.gs]
    {
        segment.base = 0;
        segment.limit = u32::MAX;
        segment.selector = 0x10;
        segment.type_ = 0x3;
        segment.s = 1;
        segment.present = 1;
        segment.db = 1;
        segment.g = 1;
        segment.dpl = 0;
    }
    sregs.cs.selector = 0x8;
    sregs.cs.type_ = 0xB;
    vcpu.set_sregs(&sregs).map_err(failed)?;
    let mut regs = vcpu.get_regs().map_err(failed)?;
    regs.rip = u64::from(CODE);
    regs.rflags = 2;
    vcpu.set_regs(&regs).map_err(failed)?;
    let started = Instant::now();
    loop {
        match vcpu.run().map_err(failed)? {
            VcpuExit::X86Rdmsr(exit) => *exit.data = 0,
            VcpuExit::X86Wrmsr(_) => {}
            VcpuExit::IoOut(..) => return Ok(started.elapsed().as_secs_f64()),
            other => return Err(failed(format!("the bare loop ended by {other:?}"))),
        }
    }
}

pub(super) fn measure(rounds: usize) -> Result<Vec<Figure>, TaskError> {
    let mut figures = Vec::new();
    for (name, index, write) in
        [("RDMSR FIXED_CTR0", FixedCtr::INDEX, false), ("WRMSR PMC0", Pmc::INDEX, true)]
    {
        let code = code(index, write);
        let (mut full, mut counting, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let per_exit = 1e6 / f64::from(EXITS);
            full.push(ours(&code, false)? * per_exit);
            empty.push(bare(&code, index)? * per_exit);
            counting.push(ours(&code, true)? * per_exit);
        }
        let busy = "12 counters and metrics running";
        let full = figure(format!("{name} exit, run loop and virtual PMU"), "us", full);
        let empty = figure(format!("{name} exit, bare loop and empty handler"), "us", empty);
        let counting = figure(format!("{name} exit, {busy}"), "us", counting);
        let over = ratio(format!("{name} exit, ours to empty"), &full, &empty);
        let busy_over = ratio(format!("{name} exit, {busy}, to empty"), &counting, &empty);
        figures.extend([full, counting, empty, over, busy_over]);
    }
    Ok(figures)
}
