//! What the engine tells the model of each retired instruction.

/// One retired instruction, as it happened.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Linear address of the first byte.
    pub rip: u64,
    /// Physical address of the first byte.
    pub fetch_pa: u64,
    /// Log2 of the size of the page that it was fetched from, in bytes: 12, 21 or 30.
    pub fetch_page: u8,
    /// Bytes.
    pub length: u8,
    /// Retired at privilege level 3.
    pub user: bool,
    /// Its reads and writes of memory in the order of execution, without fetches and page walks.
    pub memory: &'a [MemoryAccess],
    /// Set for branches, also those that fall through.
    pub branch: Option<BranchStep>,
    /// Iterations of a string instruction with a REP prefix, else 1.
    pub repetitions: u64,
}

/// One read or write of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryAccess {
    /// Linear address of the first byte.
    pub linear: u64,
    /// Physical address of the first byte.
    pub physical: u64,
    /// Bytes, up to 64.
    pub size: u8,
    /// Log2 of the size of its page in bytes: 12, 21 or 30; anything below 12 counts as 12.
    pub page: u8,
    /// Stores; a read-modify-write instruction makes two accesses.
    pub write: bool,
    /// Goes to a device and not to memory: no cache holds it.
    pub uncached: bool,
}

/// How a branch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchStep {
    /// Kind of the instruction.
    pub kind: BranchKind,
    /// False for a conditional branch that fell through.
    pub taken: bool,
    /// Where execution went on.
    pub target: u64,
}

/// Kinds of branch instructions, as the predictors treat them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BranchKind {
    /// Jcc, LOOPcc, JrCXZ.
    Conditional,
    /// JMP rel.
    DirectJump,
    /// JMP r/m.
    IndirectJump,
    /// CALL rel.
    DirectCall,
    /// CALL r/m.
    IndirectCall,
    /// RET.
    Return,
    /// Far JMP, CALL and RET, IRET, SYSCALL, SYSRET, SYSENTER, SYSEXIT, INT n.
    Far,
}

impl BranchKind {
    /// Number of kinds.
    pub const COUNT: usize = 7;
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Conditional,
        Self::DirectJump,
        Self::IndirectJump,
        Self::DirectCall,
        Self::IndirectCall,
        Self::Return,
        Self::Far,
    ];
}

/// What happens to a core besides retired instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreEvent {
    /// An interrupt or exception was delivered, and its handler runs at this privilege level.
    Interrupt {
        /// The handler runs at privilege level 3.
        user: bool,
    },
    /// Everything older has to be complete before anything younger starts: VM exits, and whoever wants totals
    /// that include all that has retired.
    Serialise,
    /// All translations were dropped: a write to CR3 or CR4.
    TlbFlush,
    /// The translation of one linear address was dropped: INVLPG.
    InvalidatePage(u64),
    /// Code that may be in the pipeline was written; the physical address of the write.
    CodeWritten(u64),
    /// Memory was written behind the core's back, by a device: the physical address of the line.
    LineWritten(u64),
    /// A line was flushed from all caches: CLFLUSH; its physical address.
    LineFlushed(u64),
    /// All caches were emptied: WBINVD, INVD.
    CachesFlushed,
    /// The predictors forget what they know: IBPB.
    PredictorBarrier,
    /// The core stops until something wakes it, as HLT does. No cycles pass.
    Halt,
}
