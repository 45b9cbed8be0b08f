//! Why the KVM engine could not be set up, or failed.

use std::fmt;
use std::io;

/// Where KVM is.
pub(super) const DEVICE: &str = "/dev/kvm";

/// Why the KVM engine could not be set up, or failed.
#[derive(Debug, thiserror::Error)]
pub enum KvmError {
    /// No such file.
    #[error("{DEVICE} does not exist: this machine has no KVM")]
    Missing,
    /// The file is there, but not for us.
    #[error("no permission for {DEVICE}")]
    Permission {
        /// The group that may use it.
        group: Option<String>,
    },
    /// Open failed in another way.
    #[error("{DEVICE} cannot be opened")]
    Open {
        /// The system's reason.
        source: io::Error,
    },
    /// It opened, but does not speak KVM.
    #[error("{DEVICE} is not a KVM with API version 12 (it says {version})")]
    NotKvm {
        /// What KVM_GET_API_VERSION answered; negative when it is not implemented.
        version: i32,
    },
    /// The kernel is too old or built without something that we cannot do without.
    #[error("this KVM lacks {capability}, needed for {purpose}")]
    Capability {
        /// Name of the capability in the KVM API documentation.
        capability: &'static str,
        /// What we use it for.
        purpose: &'static str,
        /// First kernel that has it.
        since: &'static str,
    },
    /// An ioctl failed while the machine was built.
    #[error("KVM could not {what}")]
    Setup {
        /// What was to be done.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The MSRs of the vPMU do not fit KVM's filter.
    #[error("the MSRs to trap need {slots} filter ranges, and KVM has {max}")]
    FilterTooLarge {
        /// Ranges needed.
        slots: usize,
        /// Ranges that there are.
        max: usize,
    },
    /// The CPUID table does not fit KVM's limit.
    #[error("the CPUID table of {entries} entries is larger than KVM allows")]
    CpuidTooLarge {
        /// Entries.
        entries: usize,
    },
    /// The guest would not find the profile's PMU.
    #[error("this KVM cannot show profile {profile}: it fills in CPUID by itself, and {bits}")]
    Profile {
        /// The profile.
        profile: String,
        /// What the guest would read.
        bits: CpuidBits,
    },
    /// The timer that ends KVM_RUN.
    #[error("the timer that interrupts the guest could not be {what}")]
    Timer {
        /// What was to be done.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A vCPU ioctl failed during the run.
    #[error("KVM could not {what} at guest RIP {rip:#x}")]
    Vcpu {
        /// What was to be done.
        what: &'static str,
        /// Where the guest was, as far as known.
        rip: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel and we disagree about the shared page.
    #[error("KVM described an exit that lies outside of its shared page: {what}")]
    SharedPage {
        /// What did not fit.
        what: String,
    },
}

/// A register of a CPUID leaf that announces another PMU than the profile's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuidBits {
    /// EAX on entry.
    pub leaf: u32,
    /// ECX on entry, if the leaf has subleaves.
    pub subleaf: Option<u32>,
    /// EAX, EBX, ECX or EDX.
    pub register: &'static str,
    /// What the guest would read.
    pub shown: u32,
    /// What it has to read.
    pub wanted: u32,
}

impl fmt::Display for CpuidBits {
    /// As "CPUID.07H.1:EAX bit 8 is 0".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leaf, subleaf, register, shown, wanted } = *self;
        write!(f, "CPUID.{leaf:02X}H")?;
        if let Some(subleaf) = subleaf {
            write!(f, ".{subleaf}")?;
        }
        let different = shown ^ wanted;
        if different.is_power_of_two() {
            let bit = different.trailing_zeros();
            write!(f, ":{register} bit {bit} is {}", shown >> bit & 1)
        } else {
            write!(f, ":{register} is {shown:#x} instead of {wanted:#x}")
        }
    }
}

/// What makes KVM usable on this machine. Displayed as an imperative without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KvmAdvice {
    /// There is no KVM.
    Provide,
    /// The user is not in the group that may use the device.
    JoinGroup(String),
    /// No group may use the device.
    GrantAccess,
    /// The kernel has said why.
    ReadKernelLog,
    /// Another device has KVM's name.
    CheckDevice,
    /// The kernel is older than this version.
    UpdateKernel(&'static str),
}

impl fmt::Display for KvmAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provide => f.write_str(
                "load the module (modprobe kvm_intel or kvm_amd), enable virtualisation in the firmware, or give \
                 this virtual machine nested virtualisation",
            ),
            Self::JoinGroup(group) => {
                write!(f, "add yourself to its group (sudo usermod -aG {group} $USER) and log in again")
            }
            Self::GrantAccess => {
                write!(f, "run `sudo setfacl -m u:$USER:rw {DEVICE}`, which holds until the next boot")
            }
            Self::ReadKernelLog => f.write_str("see `dmesg | grep kvm`"),
            Self::CheckDevice => write!(f, "check that no other device is mounted at {DEVICE}"),
            Self::UpdateKernel(since) => write!(f, "use Linux {since} or later"),
        }
    }
}

impl KvmError {
    /// What makes KVM usable here; `None` for a failure of the VMM, or of KVM in a run.
    #[must_use]
    pub fn advice(&self) -> Option<KvmAdvice> {
        Some(match self {
            Self::Missing => KvmAdvice::Provide,
            Self::Permission { group: Some(group) } => KvmAdvice::JoinGroup(group.clone()),
            Self::Permission { group: None } => KvmAdvice::GrantAccess,
            Self::Open { .. } => KvmAdvice::ReadKernelLog,
            Self::NotKvm { .. } => KvmAdvice::CheckDevice,
            Self::Capability { since, .. } => KvmAdvice::UpdateKernel(since),
            Self::Setup { .. }
            | Self::FilterTooLarge { .. }
            | Self::CpuidTooLarge { .. }
            | Self::Profile { .. }
            | Self::Timer { .. }
            | Self::Vcpu { .. }
            | Self::SharedPage { .. } => return None,
        })
    }

    /// Makes the error of a failed set-up step.
    pub(super) fn setup(what: &'static str) -> impl FnOnce(kvm_ioctls::Error) -> Self {
        move |errno| Self::Setup { what, source: errno.into() }
    }

    /// True when KVM is simply not there for us, as on a machine without it, or not for this profile: a reason to
    /// use another engine or to skip a test, rather than a defect.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::Missing
                | Self::Permission { .. }
                | Self::Open { .. }
                | Self::NotKvm { .. }
                | Self::Profile { .. }
        )
    }
}
