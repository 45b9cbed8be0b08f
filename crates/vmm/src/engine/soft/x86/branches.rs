//! From the interpreter's branches to the vPMU's records.
//!
//! A guest that records branches sees the newest ones only, and only when it asks. So they wait here until
//! they may be read; what more recent ones have pushed out by then is never worked out.

use crate::engine::soft::timing::Retirement;
use crate::machine::pmu::PmuDevice;
use platform::convert::host_size;
use retire::BranchKind;
use soft_cpu::TakenBranch;
use vpmu::BranchRecord;

/// The newest branches that matter: as many as the deepest stack has entries, and the one before its oldest, which
/// tells that one's cycles.
const KEPT: u64 = vpmu::lbr::MAX_DEPTH as u64 + 1;
/// Branches that wait.
const WAITING: usize = 64;
const _: () = assert!(WAITING as u64 >= KEPT);

/// A branch that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noted {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Core cycle, without a model the instructions before it.
    pub(super) retired: u64,
    pub(super) kind: BranchKind,
    /// Privilege levels before and after it.
    pub(super) levels: Levels,
}

/// Privilege levels before and after a branch, in one byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Levels(u8);

impl Levels {
    #[inline(always)]
    pub(super) fn new(from: u8, to: u8) -> Self {
        Self(from << 2 | to)
    }

    fn from(self) -> u8 {
        self.0 >> 2
    }

    #[inline(always)]
    pub(super) fn to(self) -> u8 {
        self.0 & 3
    }
}

impl From<TakenBranch> for Noted {
    #[inline(always)]
    fn from(branch: TakenBranch) -> Self {
        let TakenBranch { from, to, kind, from_cpl, to_cpl, retired, .. } = branch;
        Self { from, to, retired, kind, levels: Levels::new(from_cpl, to_cpl) }
    }
}

const NONE: Noted = Noted { from: 0, to: 0, retired: 0, kind: BranchKind::Conditional, levels: Levels(0) };

/// The branches since the vPMU was last told.
#[derive(Debug)]
pub(super) struct BranchLog {
    /// What the guest wants recorded of branches to CPL 0, and to CPL 1 to 3: a bit for each kind.
    wanted: [u8; 2],
    /// A model of the core says later how branches have retired.
    timed: bool,
    /// Every branch matters, not only the newest: tell the vPMU before one is overwritten.
    every: bool,
    /// The newest one has not been completed.
    open: bool,
    /// Branches before those that wait, which no guest will see.
    skipped: u64,
    /// Branches since these; the newest [`WAITING`] are in `branches`.
    taken: u64,
    /// Which of them were mispredicted: a bit for each.
    mispredicted: u64,
    branches: [Noted; WAITING],
}

impl BranchLog {
    /// `timed`: there is a model of the core, which [completes](Self::complete) each branch.
    pub(super) fn new(timed: bool) -> Self {
        Self {
            wanted: [0; 2],
            timed,
            every: false,
            open: false,
            skipped: 0,
            taken: 0,
            mispredicted: 0,
            branches: [NONE; WAITING],
        }
    }

    /// True if the guest wants any branch recorded.
    #[inline(always)]
    pub(super) fn is_recording(&self) -> bool {
        self.wanted != [0; 2]
    }

    /// True if [`deliver`](Self::deliver) has to come before the next branch.
    pub(super) fn is_full(&self) -> bool {
        self.every && self.taken == WAITING as u64
    }

    /// Fills in how the newest branch has retired, where a model knows.
    pub(super) fn complete(&mut self, retirement: Retirement) {
        if std::mem::take(&mut self.open) {
            let place = host_size(self.taken.wrapping_sub(1)) % WAITING;
            self.branches[place].retired = retirement.cycle;
            self.mispredicted |= u64::from(retirement.mispredicted) << place;
        }
    }

    /// The branches to this privilege level that the guest wants recorded: a bit for each kind.
    #[inline(always)]
    pub(super) fn wanted(&self, cpl: u8) -> u8 {
        self.wanted[level(cpl)]
    }

    /// True if branches are [noted with care](Self::note_carefully): each matters, or is completed later.
    #[inline(always)]
    pub(super) fn is_careful(&self) -> bool {
        self.every || self.timed
    }

    /// Notes a branch that is [wanted](Self::wanted).
    #[inline(always)]
    pub(super) fn note(&mut self, branch: Noted) {
        self.branches[host_size(self.taken) % WAITING] = branch;
        self.taken += 1;
    }

    /// How many of the newest branches matter.
    pub(super) fn depth(&self) -> u64 {
        if self.is_careful() { u64::MAX } else { KEPT }
    }

    /// So many branches have been taken before [as many as matter](Self::depth), which follow.
    pub(super) fn skip(&mut self, count: u64) {
        self.skipped += std::mem::take(&mut self.taken) + count;
    }

    /// [Notes](Self::note) a branch; true if [`deliver`](Self::deliver) has to follow.
    pub(super) fn note_carefully(&mut self, branch: Noted) -> bool {
        self.mispredicted &= !(1 << (self.taken % WAITING as u64));
        self.note(branch);
        self.open = self.timed;
        self.is_full()
    }

    /// Tells the vPMU what has been taken. Called before its registers are accessed.
    #[inline]
    pub(super) fn deliver(&mut self, pmu: &mut PmuDevice) {
        if self.taken != 0 {
            self.deliver_some(pmu);
        }
    }

    #[inline(never)]
    fn deliver_some(&mut self, pmu: &mut PmuDevice) {
        let lost = self.taken.saturating_sub(WAITING as u64);
        pmu.skip_branches(self.skipped + lost);
        for number in lost..self.taken {
            let place = host_size(number) % WAITING;
            let mispredicted = self.mispredicted >> place & 1 != 0;
            pmu.record_branch(&record(&self.branches[place], mispredicted));
        }
        (self.skipped, self.taken) = (0, 0);
    }

    /// Takes over what the vPMU wants from now on, and says whether that has changed. Called after anything that may
    /// have changed it.
    pub(super) fn follow(&mut self, pmu: &PmuDevice) -> bool {
        let filter = pmu.branch_filter();
        let mut wanted = [0; 2];
        let before = (self.wanted, self.every);
        if !filter.is_empty() {
            self.every = pmu.needs_every_branch();
            for kind in BranchKind::ALL {
                for cpl in [0, 3] {
                    if filter.admits(record_kind(kind), cpl) {
                        wanted[level(cpl)] |= kind.bit();
                    }
                }
            }
        }
        self.wanted = wanted;
        (self.wanted, self.every) != before
    }
}

#[inline(always)]
fn level(cpl: u8) -> usize {
    usize::from(cpl != 0)
}

/// How the vPMU knows a branch. Without a model of the core, an instruction is a core cycle, and nothing predicts
/// branches: no record is marked as mispredicted.
fn record(branch: &Noted, mispredicted: bool) -> BranchRecord {
    BranchRecord {
        from: branch.from,
        to: branch.to,
        kind: record_kind(branch.kind),
        from_cpl: branch.levels.from(),
        cpl: branch.levels.to(),
        mispredicted,
        cycle: branch.retired,
    }
}

fn record_kind(kind: BranchKind) -> vpmu::BranchKind {
    match kind {
        BranchKind::Conditional => vpmu::BranchKind::Conditional,
        BranchKind::DirectJump => vpmu::BranchKind::RelativeJump,
        BranchKind::IndirectJump => vpmu::BranchKind::IndirectJump,
        BranchKind::DirectCall => vpmu::BranchKind::RelativeCall,
        BranchKind::IndirectCall => vpmu::BranchKind::IndirectCall,
        BranchKind::Return => vpmu::BranchKind::Return,
        BranchKind::Far => vpmu::BranchKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::model::{ModelSource, Retired};
    use crate::machine::pmu::Origin;
    use platform::time::GuestTime;
    use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS};
    use vpmu::{Profile, WriteOutcome};

    const ORIGIN: Origin = Origin { now: GuestTime(0), rip: None };

    struct Case {
        profile: Profile,
        enable: (u32, u64),
        /// All branches, those of one ring, call stack.
        settings: [(u32, u64); 3],
        /// First FROM, TO and INFO register.
        rows: [u32; 3],
    }

    const CASES: [Case; 2] = [
        Case {
            profile: ICELAKE_SP,
            enable: (0x1D9, 1),
            settings: [(0x1C8, 0), (0x1C8, 2), (0x1C8, 1 << 9)],
            rows: [0x680, 0x6C0, 0xDC0],
        },
        Case {
            profile: SAPPHIRE_RAPIDS,
            enable: (0x14CE, 0x7F_0007),
            settings: [(0x14CE, 0x7F_0007), (0x14CE, 0x7F_0003), (0x14CE, 0x7F_000F)],
            rows: [0x1500, 0x1600, 0x1200],
        },
    ];

    fn branch(n: u64) -> TakenBranch {
        let kind = BranchKind::ALL[(n * n % 11 % 7) as usize];
        let cpl = if n.is_multiple_of(3) { 3 } else { 0 };
        TakenBranch { from: n, to: n + 7, kind, event: false, from_cpl: cpl, to_cpl: cpl, retired: 3 * n }
    }

    /// What the guest reads does not depend on when branches are delivered.
    #[test]
    fn waiting_branches_end_where_immediate_ones_do() {
        for case in CASES {
            for (setting, count) in case.settings.into_iter().flat_map(|s| [(s, 40), (s, 128), (s, 500)]) {
                let new = || {
                    let source = Box::new(ModelSource::new(&case.profile, Retired::default()));
                    let mut pmu = PmuDevice::new(case.profile.clone(), source, None);
                    for (index, value) in [case.enable, setting] {
                        assert_eq!(pmu.wrmsr(index, value, ORIGIN).into_parts().0, WriteOutcome::Done);
                    }
                    pmu
                };
                let (mut at_once, mut later, mut log) = (new(), new(), BranchLog::new(false));
                log.follow(&later);
                for n in 1..=count {
                    at_once.record_branch(&record(&branch(n).into(), false));
                    let branch = branch(n);
                    if log.wanted(branch.to_cpl) & branch.kind.bit() == 0 {
                        continue;
                    }
                    if !log.is_careful() {
                        log.note(branch.into());
                    } else if log.note_carefully(branch.into()) {
                        log.deliver(&mut later);
                    }
                }
                log.deliver(&mut later);
                let position = if case.rows[0] == 0x680 { vec![0x1C9] } else { vec![] };
                for index in case.rows.into_iter().flat_map(|row| row..row + 32).chain(position) {
                    let expected = at_once.rdmsr(index, ORIGIN);
                    assert_eq!(later.rdmsr(index, ORIGIN), expected, "{index:#x} {setting:x?} {count}");
                }
            }
        }
    }
}
