//! Registers of interrupted code.

/// The interrupted code's registers; a handler may change them. Layout: `runtime.S` and the
/// firmware's `traps.S`.
#[derive(Debug, Clone)]
#[repr(C)]
#[allow(missing_docs)] // the names of the registers say it
pub struct Frame {
    pub r15: u64,
    pub r14: u64,
    pub r13: u64,
    pub r12: u64,
    pub r11: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rdi: u64,
    pub rsi: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub rdx: u64,
    pub rcx: u64,
    pub rax: u64,
    /// What arrived: 2 = NMI, up to 31 an exception, else an interrupt.
    pub vector: u64,
    /// Error code; 0 if the vector has none.
    pub error: u64,
    /// CR2 at that time: the faulting address if this is a page fault.
    pub cr2: u64,
    /// Where it goes on. For an event that came in ring 0 this is the end of the call.
    pub rip: u64,
    cs: u64,
    pub rflags: u64,
    pub rsp: u64,
    ss: u64,
}
