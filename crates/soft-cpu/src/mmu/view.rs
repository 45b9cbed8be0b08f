//! Views of memory: what decides, besides the page tables, whether an access is allowed. Each has its own part of the
//! TLB, so that a change of privilege or of RFLAGS.AC flushes nothing.

use crate::context::{CR0_AM, CR4_SMAP, Core};
use crate::exception::{self, Done, Exception};
use crate::flags::AC;

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

impl Core {
    /// The view of explicit accesses at a privilege level.
    pub(crate) fn view_at(&self, cpl: u8) -> usize {
        let ac = self.rflags & AC != 0;
        match cpl {
            3 if ac && self.cr0 & CR0_AM != 0 => ALIGNED,
            3 => USER,
            _ if ac && self.cr4 & CR4_SMAP != 0 => UNGUARDED,
            _ => SUPERVISOR,
        }
    }

    /// #AC unless an operand of `size` bytes is aligned. Those of 16 bytes have rules of their own.
    #[cold]
    pub(crate) fn check_alignment(&mut self, linear: u64, size: usize) -> Done {
        if matches!(size, 2 | 4 | 8) && linear & (size as u64 - 1) != 0 {
            return Err(self.raise(Exception::with_error(exception::AC, 0)));
        }
        Ok(())
    }
}
