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
    /// Position of its instruction in its block.
    pub owner: u8,
    /// A store; a read-modify-write instruction makes two accesses.
    pub write: bool,
    /// Goes to a device and not to memory: no cache holds it.
    pub uncached: bool,
}
