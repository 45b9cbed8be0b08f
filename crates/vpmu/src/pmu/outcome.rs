//! What an access ends in.

/// Answer to a read: RDMSR or RDPMC, MRS on an Arm CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// The instruction completes with this value, in EDX:EAX or Xt.
    Value(u64),
    /// The guest gets an exception.
    Fault(Fault),
    /// Not a PMU register: the embedder decides.
    NotHandled,
}

/// Answer to a write: WRMSR, MSR on an Arm CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The instruction completes.
    Done,
    /// The guest gets an exception; nothing has changed.
    Fault(Fault),
    /// Not a PMU register: the embedder decides.
    NotHandled,
}

/// Why an access raises an exception.
///
/// On an x86 CPU it is #GP(0) for all of them. On an Arm CPU [`Fault::Trapped`] is taken to EL1 as a trapped system
/// register access (exception class 0x18); for all others the instruction is UNDEFINED (exception class 0). Otherwise
/// the guest sees no difference; traces and people do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The profile does not have this register or instance.
    #[error("this CPU has no such register")]
    Absent,
    /// A write of a read-only register.
    #[error("the register is read-only")]
    ReadOnly,
    /// A read of a write-only register.
    #[error("the register is write-only")]
    WriteOnly,
    /// The register cannot be accessed at this privilege level, or not in this way.
    #[error("no access at this privilege level")]
    Privilege,
    /// PMUSERENR_EL0 does not let EL0 access the register.
    #[error("PMUSERENR_EL0 does not allow it at EL0")]
    Trapped,
    /// WRMSR set reserved bits.
    #[error("reserved bits {0:#x} are set")]
    ReservedBits(u64),
    /// WRMSR would change bits that only the CPU may change.
    #[error("bits {0:#x} cannot be changed")]
    FixedBits(u64),
    /// A branch record beyond IA32_LBR_DEPTH.
    #[error("IA32_LBR_DEPTH is {depth}, and the record lies beyond")]
    BeyondDepth {
        /// IA32_LBR_DEPTH.
        depth: u64,
    },
    /// IA32_LBR_DEPTH cannot have this value.
    #[error("CPUID.1CH does not list a depth of {0:#x}")]
    Depth(u64),
    /// WRMSR of an address whose upper bits are not copies of its highest.
    #[error("address {0:#x} is not canonical")]
    NonCanonical(u64),
    /// RDPMC with an index or type that does not exist.
    #[error("RDPMC index {0:#x} does not exist")]
    RdpmcIndex(u32),
    /// RDPMC at CPL > 0 with CR4.PCE = 0.
    #[error("RDPMC at CPL > 0 needs CR4.PCE")]
    RdpmcPrivilege,
}

/// The privilege state that RDPMC checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RdpmcContext {
    /// Current privilege level, 0 to 3.
    pub cpl: u8,
    /// CR4.PCE.
    pub pce: bool,
    /// CR0.PE.
    pub protected_mode: bool,
}

impl RdpmcContext {
    /// Ring 0 in protected mode: always allowed.
    pub const RING0: Self = Self { cpl: 0, pce: false, protected_mode: true };

    /// SDM vol. 2B, RDPMC: #GP(0) if CPL is not 0, CR4.PCE = 0 and CR0.PE = 1.
    #[must_use]
    pub fn allowed(self) -> bool {
        self.cpl == 0 || self.pce || !self.protected_mode
    }
}
