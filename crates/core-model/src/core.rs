//! Widths and sizes of a core.

/// Parameters of one core, as its pipeline needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Core {
    /// Name of the microarchitecture.
    pub name: &'static str,
    /// Name of the core as LLVM's `-mcpu` takes it.
    pub llvm_name: &'static str,
    /// Uops that are dispatched in a cycle: the slots of TMA.
    pub dispatch_width: u32,
    /// Uops that retire in a cycle.
    pub retire_width: u32,
    /// Entries of the reorder buffer, in uops.
    pub reorder_buffer: u32,
    /// Entries of the schedulers together, in uops.
    pub scheduler: u32,
    /// The uop table as text; see [`UopTable::parse`](crate::UopTable::parse).
    pub table: &'static str,
}

/// Ice Lake-SP. Sizes: Intel 64 and IA-32 Architectures Optimization Reference Manual, Sunny Cove
/// (allocation width 5, reorder buffer 352); the scheduler sizes of its ports together are LLVM's
/// `X86SchedIceLake.td` figure of 60 for the main one.
pub const SUNNY_COVE: Core = Core {
    name: "Sunny Cove",
    llvm_name: "icelake-server",
    dispatch_width: 5,
    retire_width: 8,
    reorder_buffer: 352,
    scheduler: 160,
    table: include_str!("../data/icelake-server.tsv"),
};

/// Sapphire Rapids. Sizes: Intel 64 and IA-32 Architectures Optimization Reference Manual, Golden Cove
/// (allocation width 6, reorder buffer 512, retirement of 8).
pub const GOLDEN_COVE: Core = Core {
    name: "Golden Cove",
    llvm_name: "sapphirerapids",
    dispatch_width: 6,
    retire_width: 8,
    reorder_buffer: 512,
    scheduler: 205,
    table: include_str!("../data/sapphirerapids.tsv"),
};
