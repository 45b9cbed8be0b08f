//! Views of memory: what decides, besides the page tables, whether an access is allowed. Each has its own part of the
//! TLB, so that a change of privilege or of RFLAGS.AC flushes nothing.

/// Supervisor. With CR4.SMAP not in user pages.
pub(crate) const SUPERVISOR: usize = 0;
/// User; also the bit that both views of CPL 3 have.
pub(crate) const USER: usize = 1;
/// Supervisor with RFLAGS.AC, which suspends CR4.SMAP for explicit accesses.
pub(crate) const UNGUARDED: usize = 2;
/// User with alignment checks. The TLB has nothing of it, so that every access is looked at.
pub(crate) const ALIGNED: usize = 3;
/// Number of views.
pub(crate) const COUNT: usize = 4;
