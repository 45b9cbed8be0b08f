//! Accesses to be translated.

/// What an access is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An instruction.
    Fetch,
    /// Cache maintenance, which needs the right to read.
    Maintain,
    /// DC IVAC, which needs the right to write.
    Invalidate,
}

/// An access to be translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// What it is for.
    pub(crate) intent: Intent,
    /// With the rights of EL0.
    pub(crate) el0: bool,
    /// It may be to Device memory: false for data that is not aligned, and for DC ZVA.
    pub(crate) aligned: bool,
}
