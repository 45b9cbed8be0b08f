/// Why microcode had to help an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assist {
    /// A denormal operand or result that the floating-point units do not take.
    FloatingPoint,
    /// Setting accessed or dirty bits during a page walk.
    PageTable,
    /// Raising a page fault. Its cost is that of the delivery of the exception.
    PageFault,
}

/// What happens to a core besides retired instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreEvent {
    /// An interrupt or exception was delivered, and its handler runs at this privilege level.
    Interrupt {
        /// The handler runs in user mode.
        user: bool,
    },
    /// Microcode had to help.
    Assist {
        /// With what.
        kind: Assist,
        /// In user mode.
        user: bool,
    },
    /// Everything older has to be complete before anything younger starts: VM exits, and reads of totals that include
    /// all that has retired.
    Serialise,
    /// All translations were dropped: a write to CR3 or CR4.
    TlbFlush,
    /// The translation of one linear address was dropped: INVLPG.
    InvalidatePage(u64),
    /// Code that may be in the pipeline was written; the physical address of the write.
    CodeWritten(u64),
    /// A device wrote memory; the physical address of the line.
    LineWritten(u64),
    /// A line was flushed from all caches: CLFLUSH; its physical address.
    LineFlushed(u64),
    /// All caches were emptied: WBINVD, INVD.
    CachesFlushed,
    /// The predictors forget what they know: IBPB.
    PredictorBarrier,
    /// The core stops until an event wakes it, as HLT does. No cycles pass.
    Halt,
}
