//! What the CPU needs from outside.

use crate::cpuid::CpuidLeaf;
use crate::exception::Delivery;
use crate::observe::{Observer, Unobserved};
use crate::silicon::Silicon;
use crate::totals::Totals;

/// 64-bit words of state component 15 with 32 records: five registers, then FROM, TO and INFO of each record.
pub const LBR_COMPONENT_WORDS: usize = 5 + 3 * 32;

/// State components (bits of XCR0 and IA32_XSS) that the CPU knows by itself: x87 and SSE.
pub const STATE_COMPONENTS: u64 = 3;

/// The guest gets #GP(0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("#GP(0)")]
pub struct GeneralProtection;

/// The instruction that accesses the bus.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Its address.
    pub rip: u64,
    /// Current privilege level, 0 to 3.
    pub cpl: u8,
    /// Everything that has retired before it.
    pub totals: &'a Totals,
}

/// Kinds of branches, as performance counters and LBRs tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BranchKind {
    /// Jcc, LOOPcc, JrCXZ that jumped.
    ConditionalTaken,
    /// The same, fallen through.
    ConditionalNotTaken,
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
    /// Far JMP, CALL and RET, IRET, SYSCALL, SYSRET, SYSENTER, SYSEXIT, INT n, INT3, INTO. For
    /// [`Bus::taken_branch`] also exceptions and interrupts, which do not retire as branches.
    Far,
}

impl BranchKind {
    /// The kind as a set of kinds.
    #[inline(always)]
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Number of kinds.
    pub const COUNT: usize = Self::ALL.len();

    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::ConditionalTaken,
        Self::ConditionalNotTaken,
        Self::DirectJump,
        Self::IndirectJump,
        Self::DirectCall,
        Self::IndirectCall,
        Self::Return,
        Self::Far,
    ];
}

/// A taken branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// Address of the branch instruction; for an exception or interrupt of the instruction that did
    /// not execute.
    pub from: u64,
    /// Its target.
    pub to: u64,
    /// What it is.
    pub kind: BranchKind,
    /// It is an exception or interrupt, not an instruction.
    pub event: bool,
    /// Privilege level before.
    pub from_cpl: u8,
    /// Privilege level after.
    pub to_cpl: u8,
    /// Instructions retired before it, at all privilege levels, since the CPU was made.
    pub retired: u64,
}

/// The CPU's surroundings. All RAM accesses stay within one 4 KiB page.
pub trait Bus {
    /// The RAM page that starts at guest physical address `gpa`, as a position for
    /// [`ram_read`](Self::ram_read) and [`ram_write`](Self::ram_write); `None` for anything that is not RAM. The
    /// answer must stay the same until [`Cpu::flush`](crate::Cpu::flush).
    fn ram_page(&mut self, gpa: u64) -> Option<u64>;
    /// Reads RAM at a position from [`ram_page`](Self::ram_page) plus the offset in the page.
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N];
    /// Writes RAM.
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]);
    /// This will be read soon: so many cache lines from its start on may be brought into the host's caches, even if it
    /// has fewer.
    #[inline(always)]
    fn prefetch<T: ?Sized, const LINES: usize>(&self, _soon: &T) {}
    /// [`ram_read`](Self::ram_read) for the fast path: `None` where it takes more than a load.
    #[inline(always)]
    fn ram_read_quick<const N: usize>(&mut self, position: u64) -> Option<[u8; N]> {
        Some(self.ram_read(position))
    }
    /// [`ram_write`](Self::ram_write) for the fast path: false, and nothing happens, where it takes more than a
    /// store.
    #[inline(always)]
    fn ram_write_quick<const N: usize>(&mut self, position: u64, bytes: [u8; N]) -> bool {
        self.ram_write(position, bytes);
        true
    }

    /// Reads from a device; at most 16 bytes within a page.
    fn mmio_read(&mut self, gpa: u64, data: &mut [u8], access: &Access<'_>);
    /// Writes to a device; at most 16 bytes within a page.
    fn mmio_write(&mut self, gpa: u64, data: &[u8], access: &Access<'_>);
    /// IN of 1, 2 or 4 bytes.
    fn port_in(&mut self, port: u16, data: &mut [u8], access: &Access<'_>);
    /// OUT of 1, 2 or 4 bytes.
    fn port_out(&mut self, port: u16, data: &[u8], access: &Access<'_>);

    /// RDMSR of an MSR that the CPU does not own.
    ///
    /// # Errors
    /// #GP(0).
    fn rdmsr(&mut self, index: u32, access: &Access<'_>) -> Result<u64, GeneralProtection>;
    /// WRMSR of an MSR that the CPU does not own. The instruction itself counts after this call.
    ///
    /// # Errors
    /// #GP(0); nothing has changed.
    fn wrmsr(&mut self, index: u32, value: u64, access: &Access<'_>) -> Result<(), GeneralProtection>;
    /// RDPMC; `pce` is CR4.PCE.
    ///
    /// # Errors
    /// #GP(0).
    fn rdpmc(&mut self, counter: u32, pce: bool, access: &Access<'_>) -> Result<u64, GeneralProtection>;
    /// The state components (bits of XCR0 and IA32_XSS) that the XSAVE feature set manages. 0: its
    /// instructions are not for this CPU to execute, because there are components that it does not know.
    fn state_components(&self) -> u64 {
        STATE_COMPONENTS
    }
    /// 64-bit words of state component 15, the architectural last branch records; 0 without them. At most
    /// [`LBR_COMPONENT_WORDS`].
    fn lbr_component_words(&self) -> usize {
        0
    }
    /// What XSAVES stores as component 15.
    fn save_lbr_component(&mut self, _words: &mut [u64; LBR_COMPONENT_WORDS], _access: &Access<'_>) {}
    /// What XRSTORS has loaded as component 15; `None` for its initial configuration.
    ///
    /// # Errors
    /// #GP(0); nothing has changed.
    fn restore_lbr_component(
        &mut self,
        _words: Option<&[u64; LBR_COMPONENT_WORDS]>,
        _access: &Access<'_>,
    ) -> Result<(), GeneralProtection> {
        Err(GeneralProtection)
    }
    /// CPUID. [`crate::cpuid::leaf`] is the policy to start from.
    fn cpuid(&mut self, leaf: u32, subleaf: u32, access: &Access<'_>) -> CpuidLeaf;
    /// The time stamp counter.
    fn tsc(&mut self, access: &Access<'_>) -> u64;
    /// CR8, the task-priority class of the local APIC.
    fn cr8(&mut self) -> u8 {
        0
    }
    /// MOV to CR8, 0 to 15.
    fn set_cr8(&mut self, _value: u8) {}

    /// Whose side the CPU takes in what [`RULES`](crate::silicon::RULES) lists. Always the same answer.
    fn silicon(&self) -> Silicon {
        Silicon::Intel
    }

    /// The guest executes this instruction for the first time, and it is not implemented: it raises #UD. `code` is
    /// as in [`Unimplemented`](crate::Unimplemented).
    fn unimplemented(&mut self, _code: &str, _access: &Access<'_>) {}

    /// An exception or interrupt has entered its handler, or could not. `totals` is what has retired before it.
    fn delivery(&mut self, _delivery: &Delivery, _totals: &Totals) {}

    /// The taken branches to this privilege level that [`taken_branch`](Self::taken_branch) is told of: a bit for each
    /// [`BranchKind`]; none, unless implemented. The answer must stay the same until [`attention`](Self::attention).
    #[inline(always)]
    fn wanted_branches(&self, _cpl: u8) -> u8 {
        0
    }

    /// How many of the newest branches matter, of those of which [`taken_branch`](Self::taken_branch) is told between
    /// two other calls: all, unless implemented. Of older ones only their number is told. The answer must stay the same
    /// until [`attention`](Self::attention).
    #[inline(always)]
    fn branches_kept(&self) -> u64 {
        u64::MAX
    }

    /// A branch has been taken, one of those that are [wanted](Self::wanted_branches). Told in program order, and before
    /// any other call that says which instruction it belongs to.
    #[inline(always)]
    fn taken_branch(&mut self, _branch: Branch) {}

    /// So many branches that are [wanted](Self::wanted_branches) have been taken before those that
    /// [`taken_branch`](Self::taken_branch) is told of next, which are all that [matter](Self::branches_kept).
    #[inline(always)]
    fn skip_branches(&mut self, _count: u64) {}

    /// An exception or interrupt other than #DB has been delivered, or INT n, INT3 or INTO executed. Told after the branches
    /// before it, and before [`taken_branch`](Self::taken_branch) of itself.
    fn interrupted(&mut self) {}

    /// #DB has been delivered, told as [`interrupted`](Self::interrupted) is. It is not told as a branch.
    fn debug_exception(&mut self) {}

    /// Whether, with RFLAGS.TF set, #DB comes after taken branches only (DEBUGCTL.BTF). Asked before each instruction that
    /// executes with it.
    fn steps_on_branches(&self) -> bool {
        false
    }

    /// Somebody may watch: [`observer`](Self::observer) is implemented, and positions in RAM are guest physical
    /// addresses. The CPU of a bus without has no code for it.
    const OBSERVED: bool = false;
    /// Who watches every instruction retire; nobody, unless implemented. Always the same answer.
    #[inline(always)]
    fn observer(&mut self) -> Option<&mut impl Observer> {
        None::<&mut Unobserved>
    }

    /// Asked after every call above that may have side effects: true ends the run after the
    /// instruction, with [`Exit::Attention`](crate::Exit::Attention).
    #[inline(always)]
    fn attention(&self) -> bool {
        false
    }
}
