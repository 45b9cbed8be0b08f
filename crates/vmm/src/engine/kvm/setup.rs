//! Builds the virtual machine: capabilities, memory, MSR filter, vCPU, CPUID.
//!
//! The order matters: MSR exits are enabled before the filter (or a denied access becomes #GP), both
//! before the vCPU, and CPUID before the first KVM_RUN.

#![expect(unsafe_code, reason = "memory that KVM maps into the guest")]

use super::KvmConfig;
use super::cpuid::{Policy, altered, cpuid_table, missing};
use super::error::{DEVICE, KvmError};
use super::filter;
use super::vcpu::Vcpu;
use crate::machine::x86::{MSR_APIC_BASE, MSR_TSC_DEADLINE};
use kvm_bindings::*;
use kvm_ioctls::{Cap, Kvm, VmFd};
use platform::memory::GuestMemory;
use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use vpmu::register::trapped_ranges;

/// Version of the KVM API; it has not changed since 2007.
const API_VERSION: i32 = 12;
/// Where KVM may keep a task state segment and an identity page table for a vCPU in real mode (VMX
/// without "unrestricted guest" only). In the device hole, below where firmware would be.
const IDENTITY_MAP: u64 = 0xFFFB_C000;
const TSS: usize = 0xFFFB_D000;

/// What this KVM can do beyond the necessary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abilities {
    /// Registers in the shared page.
    pub(super) sync_regs: bool,
    /// Accepted controls of KVM_SET_GUEST_DEBUG.
    pub(super) debug_controls: u32,
}

/// The finished parts. The VM's descriptor has to stay open as long as the vCPU's.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) vm: VmFd,
    pub(super) vcpu: Vcpu,
    pub(super) abilities: Abilities,
    pub(super) tsc_khz: u32,
}

/// Builds everything up to a vCPU that has its CPUID table.
pub(super) fn build(config: &KvmConfig<'_>) -> Result<Parts, KvmError> {
    let kvm = open()?;
    let vm = kvm.create_vm().map_err(KvmError::setup("create a virtual machine"))?;
    let abilities = require(&vm)?;
    enable(&vm)?;
    map_memory(&vm, config.memory)?;
    vm.set_identity_map_address(IDENTITY_MAP).map_err(KvmError::setup("place its identity map"))?;
    vm.set_tss_address(TSS).map_err(KvmError::setup("place its task state segment"))?;
    let mut denied = trapped_ranges();
    // KVM would handle IA32_APIC_BASE without an exit, and the APIC model would miss transitions.
    denied.extend([(MSR_TSC_DEADLINE, 1), (MSR_APIC_BASE, 1)]);
    filter::install(&vm, denied)?;

    let fd = vm.create_vcpu(u64::from(config.apic.id)).map_err(KvmError::setup("create a vCPU"))?;
    // KVM answers EIO on hosts whose TSC is not stable; then the leaf stays empty.
    let tsc_khz = fd.get_tsc_khz().unwrap_or(0);
    let supported =
        kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES).map_err(KvmError::setup("list its CPUID features"))?;
    let policy = Policy { profile: config.profile, apic: config.apic, tsc_khz };
    let table = cpuid_table(supported.as_slice(), policy);
    let entries =
        CpuId::from_entries(&table).map_err(|_| KvmError::CpuidTooLarge { entries: table.len() })?;
    fd.set_cpuid2(&entries).map_err(KvmError::setup("set the CPUID table"))?;
    let shown = fd.get_cpuid2(KVM_MAX_CPUID_ENTRIES).map_err(KvmError::setup("read back the CPUID table"))?;
    if let Some(bits) = altered(&table, shown.as_slice(), config.profile) {
        return Err(KvmError::Profile { profile: config.profile.name.to_string(), bits });
    }
    let missing = missing(shown.as_slice(), config.profile);
    if !missing.is_empty() {
        log::warn!("{} has {}, which this host's KVM does not give", config.profile.name, missing.join(", "));
    }
    let vcpu = Vcpu::new(fd, vm.run_size(), abilities.sync_regs)?;
    Ok(Parts { vm, vcpu, abilities, tsc_khz })
}

/// Opens the device, and makes sure that it is KVM.
pub(super) fn open() -> Result<Kvm, KvmError> {
    open_at(DEVICE)
}

fn open_at(path: &str) -> Result<Kvm, KvmError> {
    let c_path = CString::new(path).map_err(|e| KvmError::Open { source: e.into() })?;
    // SAFETY: the path is a C string; no other memory is touched.
    let fd = unsafe { libc::open(c_path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    if fd < 0 {
        let source = io::Error::last_os_error();
        return Err(match source.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => KvmError::Missing,
            Some(libc::EACCES | libc::EPERM) => KvmError::Permission { group: device_group(path) },
            _ => KvmError::Open { source },
        });
    }
    // SAFETY: `open` has just given us the descriptor.
    let owned = unsafe { OwnedFd::from_raw_fd(fd) };
    let is_device = std::fs::metadata(path).is_ok_and(|m| m.file_type().is_char_device());
    if !is_device {
        return Err(KvmError::NotKvm { version: -1 });
    }
    // SAFETY: the descriptor is owned, open, and given away. That it may not be KVM's is what the next
    // call finds out.
    let kvm = unsafe { Kvm::from_raw_fd(std::os::fd::IntoRawFd::into_raw_fd(owned)) };
    match kvm.get_api_version() {
        API_VERSION => Ok(kvm),
        version => Err(KvmError::NotKvm { version }),
    }
}

/// The device's group, if that may use it.
fn device_group(path: &str) -> Option<String> {
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    let found = std::fs::metadata(path).ok()?;
    group_that_may(found.mode(), found.gid(), &groups).map(str::to_owned)
}

/// Name of the group of a file, if it may read and write; not root's, which is for root alone.
fn group_that_may(mode: u32, gid: u32, groups: &str) -> Option<&str> {
    const READ_WRITE: u32 = 0o060;
    let mut names = groups.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (id.parse() == Ok(gid)).then_some(name)
    });
    if gid != 0 && mode & READ_WRITE == READ_WRITE { names.next() } else { None }
}

/// Capabilities without which this engine cannot work.
const NEEDED: [(u32, &str, &str, &str); 6] = [
    (KVM_CAP_USER_MEMORY, "KVM_CAP_USER_MEMORY", "guest memory", "2.6.25"),
    (KVM_CAP_USER_NMI, "KVM_CAP_USER_NMI", "performance monitoring interrupts", "2.6.29"),
    (KVM_CAP_SET_GUEST_DEBUG, "KVM_CAP_SET_GUEST_DEBUG", "RDPMC", "2.6.30"),
    (KVM_CAP_IMMEDIATE_EXIT, "KVM_CAP_IMMEDIATE_EXIT", "leaving the guest on time", "4.12"),
    (KVM_CAP_X86_USER_SPACE_MSR, "KVM_CAP_X86_USER_SPACE_MSR", "trapping the PMU's registers", "5.10"),
    (KVM_CAP_X86_MSR_FILTER, "KVM_CAP_X86_MSR_FILTER", "trapping the PMU's registers", "5.10"),
];

fn require(vm: &VmFd) -> Result<Abilities, KvmError> {
    for (number, capability, purpose, since) in NEEDED {
        if vm.check_extension_raw(number.into()) <= 0 {
            return Err(KvmError::Capability { capability, purpose, since });
        }
    }
    let sync = vm.check_extension_int(Cap::SyncRegs).cast_unsigned();
    let wanted = KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS;
    Ok(Abilities {
        sync_regs: sync & wanted == wanted,
        debug_controls: vm.check_extension_raw(KVM_CAP_SET_GUEST_DEBUG2.into()).max(0).cast_unsigned(),
    })
}

fn enable(vm: &VmFd) -> Result<(), KvmError> {
    let capability = |cap: u32, value: u32| {
        let mut request = kvm_enable_cap { cap, ..kvm_enable_cap::default() };
        request.args[0] = u64::from(value);
        vm.enable_cap(&request)
    };
    let reasons = KVM_MSR_EXIT_REASON_INVAL | KVM_MSR_EXIT_REASON_UNKNOWN | KVM_MSR_EXIT_REASON_FILTER;
    capability(KVM_CAP_X86_USER_SPACE_MSR, reasons)
        .map_err(KvmError::setup("hand MSR accesses to user space"))?;
    // Both are niceties. KVM's own PMU would only waste host counters: the filter hides it from the guest.
    if vm.check_extension_raw(KVM_CAP_PMU_CAPABILITY.into()) > 0
        && let Err(error) = capability(KVM_CAP_PMU_CAPABILITY, KVM_PMU_CAP_DISABLE)
    {
        log::debug!("KVM keeps its own PMU on: {error}");
    }
    if vm.check_extension_raw(KVM_CAP_EXIT_ON_EMULATION_FAILURE.into()) > 0
        && let Err(error) = capability(KVM_CAP_EXIT_ON_EMULATION_FAILURE, 1)
    {
        log::debug!("KVM raises #UD for instructions that it cannot emulate: {error}");
    }
    Ok(())
}

fn map_memory(vm: &VmFd, memory: &GuestMemory) -> Result<(), KvmError> {
    for (slot, region) in (0..).zip(memory.regions()) {
        let slot = kvm_userspace_memory_region {
            slot,
            flags: 0,
            guest_phys_addr: region.guest_phys,
            memory_size: region.size,
            userspace_addr: region.host,
        };
        // SAFETY: the region is mapped in this process, and stays so: the engine keeps a clone of `memory`.
        unsafe { vm.set_user_memory_region(slot) }.map_err(KvmError::setup("map guest memory"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::error::KvmAdvice;
    use super::*;

    #[test]
    fn the_group_of_a_device_helps_only_if_it_may_use_it() {
        let groups = "root:x:0:\nkvm:x:104:alice\n";
        assert_eq!(group_that_may(0o20_660, 104, groups), Some("kvm"));
        assert_eq!(group_that_may(0o20_600, 104, groups), None);
        assert_eq!(group_that_may(0o20_660, 0, groups), None);
        assert_eq!(group_that_may(0o20_660, 36, groups), None);
    }

    #[test]
    fn a_missing_device_is_named_with_a_way_out() {
        let error = open_at("/dev/no-such-kvm").unwrap_err();
        assert!(error.is_unavailable());
        assert!(matches!(error, KvmError::Missing), "{error}");
        assert_eq!(error.advice(), Some(KvmAdvice::Provide));
    }

    #[test]
    fn another_device_is_not_taken_for_kvm() {
        for path in ["/dev/null", "/dev/zero"] {
            let error = open_at(path).unwrap_err();
            assert!(matches!(error, KvmError::NotKvm { .. }), "{path}: {error}");
        }
    }

    #[test]
    fn a_regular_file_is_not_taken_for_kvm() {
        let path = std::env::temp_dir().join(format!("vpmu-not-kvm-{}", std::process::id()));
        std::fs::write(&path, b"").unwrap();
        let error = open_at(path.to_str().unwrap()).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(error, KvmError::NotKvm { version: -1 }), "{error}");
    }
}
