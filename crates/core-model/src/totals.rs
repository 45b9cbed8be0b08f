//! Running totals of what the model saw, for one privilege level.

use retire::{Branch, BranchKind, RegisterFile};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, transmute_mut, transmute_ref};

/// Largest number of occurrences in a cycle that [`PerCycle`] tells apart.
pub const MOST_PER_CYCLE: usize = 15;
/// Sets of kinds of floating-point operations.
pub const FLOP_SETS: usize = 16;
/// Execution ports that are told apart.
pub const PORTS: usize = 16;
/// Lengths of gaps in the supply of uops that are told apart.
pub const SUPPLY_GAPS: usize = 10;

/// How often something happened within a cycle: enough to answer every `cmask`, `inv` and `edge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PerCycle {
    /// Occurrences.
    pub total: u64,
    /// Element n: cycles with exactly n occurrences; the last one also counts those with more.
    pub cycles: [u64; MOST_PER_CYCLE + 1],
    /// How often a cycle with more than n occurrences followed one with n, less how often a cycle with n followed one
    /// with fewer: the differences of what [`rising`](Self::rising) says.
    rises: [i64; MOST_PER_CYCLE + 1],
}

impl PerCycle {
    /// Cycles with at least `n` occurrences: `cmask` n.
    #[must_use]
    pub fn at_least(&self, n: usize) -> u64 {
        self.cycles.iter().skip(n).sum()
    }

    /// Cycles with fewer than `n` occurrences: `cmask` n with `inv`.
    #[must_use]
    pub fn fewer_than(&self, n: usize) -> u64 {
        self.cycles.iter().take(n).sum()
    }

    /// How often a run of cycles with at least `n` began: `cmask` n with `edge`.
    #[must_use]
    pub fn rising(&self, n: usize) -> u64 {
        let rises = if n > MOST_PER_CYCLE { 0 } else { self.rises.iter().take(n).sum::<i64>() };
        rises.max(0) as u64
    }

    /// Books `cycles` equal cycles with `count` occurrences each, after one with `before`.
    #[inline]
    pub(crate) fn book(&mut self, count: u32, cycles: u64, before: u32) {
        let index = (count as usize).min(MOST_PER_CYCLE);
        self.total += u64::from(count) * cycles;
        self.cycles[index] += cycles;
        if count > before {
            self.rises[(before as usize).min(MOST_PER_CYCLE)] += 1;
            self.rises[index] -= 1;
        }
    }

    /// The same, and remembers the count for the next time.
    #[inline]
    pub(crate) fn book_run(&mut self, count: u32, cycles: u64, before: &mut u32) {
        if count | *before == 0 {
            self.cycles[0] += cycles;
            return;
        }
        self.book(count, cycles, *before);
        *before = count;
    }

    /// Books runs of cycles with at least `n` occurrences that have begun.
    pub(crate) fn book_rises(&mut self, n: usize, rises: u64) {
        if let Some(before) = n.checked_sub(1) {
            self.rises[before] += rises as i64;
            self.rises[n] -= rises as i64;
        }
    }
}

/// Slots by the TMA leaf of level 2 that they are booked to. Level 1 are sums of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Slots {
    /// Retiring: the last or only uop of each instruction.
    pub light_operations: u64,
    /// Retiring: the other uops of instructions with several.
    pub heavy_operations: u64,
    /// Bad speculation: uops behind a mispredicted branch, and cycles of recovery from it.
    pub branch_mispredicts: u64,
    /// Bad speculation: work thrown away for another reason.
    pub machine_clears: u64,
    /// Front-end bound: cycles in which nothing was supplied.
    pub fetch_latency: u64,
    /// Front-end bound: cycles in which too little was supplied.
    pub fetch_bandwidth: u64,
    /// Back-end bound: waiting for loads or stores.
    pub memory_bound: u64,
    /// Back-end bound: waiting for anything else.
    pub core_bound: u64,
}

impl Slots {
    /// Level 1: retiring.
    #[must_use]
    pub fn retiring(&self) -> u64 {
        self.light_operations + self.heavy_operations
    }

    /// Level 1: bad speculation.
    #[must_use]
    pub fn bad_speculation(&self) -> u64 {
        self.branch_mispredicts + self.machine_clears
    }

    /// Level 1: front-end bound.
    #[must_use]
    pub fn frontend_bound(&self) -> u64 {
        self.fetch_latency + self.fetch_bandwidth
    }

    /// Level 1: back-end bound.
    #[must_use]
    pub fn backend_bound(&self) -> u64 {
        self.memory_bound + self.core_bound
    }

    /// All slots.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.retiring() + self.bad_speculation() + self.frontend_bound() + self.backend_bound()
    }
}

/// Branches of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Branches {
    /// Retired and taken.
    pub taken: u64,
    /// Retired and fallen through.
    pub not_taken: u64,
    /// Of those taken, mispredicted: direction or target.
    pub mispredicted_taken: u64,
    /// Of those not taken, mispredicted.
    pub mispredicted_not_taken: u64,
}

/// Address translation for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Translation {
    /// Missed the first-level TLB and hit the second.
    pub second_level_hits: u64,
    /// Walks that found a page of 4 KiB.
    pub walks_4k: u64,
    /// Walks that found a page of 2 MiB.
    pub walks_2m: u64,
    /// Walks that found a page of 1 GiB.
    pub walks_1g: u64,
    /// Cycles with a walk in progress.
    pub walk_cycles: u64,
}

/// Hits and misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Lookups {
    /// Found.
    pub hits: u64,
    /// Not found.
    pub misses: u64,
}

/// Running totals of one privilege level; they never decrease.
///
/// At any time, `slots.total()` is the width of the core times `cycles`, plus the slots of the cycle that is not
/// over yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CoreTotals {
    /// Instructions retired.
    pub instructions: u64,
    /// The same by cycle, from when on
    /// [`Model::count_instructions_by_cycle`](crate::Model::count_instructions_by_cycle) was called.
    pub instructions_by_cycle: PerCycle,
    /// Of these, NOPs.
    pub nops: u64,
    /// Of these, PAUSE.
    pub pauses: u64,
    /// Cycles that they took.
    pub pause_cycles: u64,
    /// Instructions that retired as one uop with the compare before them.
    pub macro_fused: u64,
    /// Iterations of string instructions with REP.
    pub repetitions: u64,
    /// Unhalted core cycles that are over.
    pub cycles: u64,
    /// Slots by leaf.
    pub slots: Slots,

    /// Uops that left the front end for the back end, also on wrong paths.
    pub uops_issued: PerCycle,
    /// Uops that retired, as slots.
    pub uops_retired: PerCycle,
    /// Uops that went to execution ports.
    pub uops_executed: PerCycle,
    /// Slots that the front end left empty although the back end had room.
    pub uops_not_delivered: PerCycle,
    /// Uops by the decoders.
    pub mite_uops: PerCycle,
    /// Uops by the uop cache.
    pub dsb_uops: PerCycle,
    /// Uops by the loop stream detector.
    pub lsd_uops: PerCycle,
    /// Uops by the microcode sequencer.
    pub ms_uops: PerCycle,
    /// Uops by the first decoder: the first instruction of each cycle, and all that have several uops.
    pub first_decoder_uops: u64,
    /// Lines of the uop cache that were not there.
    pub uop_cache_misses: u64,
    /// How often that changed from the uop cache to the decoders.
    pub dsb_to_mite_switches: u64,
    /// Element n: gaps of at least 2^n cycles in which the front end supplied nothing while the back end had room.
    pub supply_gaps: [u64; SUPPLY_GAPS],
    /// How often an instruction came after at least two cycles in a row in each of which the front end left slots
    /// empty.
    pub short_supplies: u64,
    /// Retired uops of instructions with several, without the last one of each.
    pub heavy_uops: u64,
    /// Retired uops that came from the microcode sequencer.
    pub ms_retired: u64,
    /// Cycles lost by changing from the uop cache to the decoders.
    pub dsb_to_mite_cycles: u64,
    /// Uops that went to each port; the names are those of the core's uop table without its dividers.
    pub ports: [u64; PORTS],

    /// Branches by [`BranchKind`].
    pub branches: [Branches; BranchKind::COUNT],
    /// Fetch was redirected because the branch target buffer did not know a branch.
    pub baclears: u64,
    /// Cycles of these redirections.
    pub unknown_branch_cycles: u64,
    /// Cycles in which allocation recovered from a misprediction or a machine clear.
    pub recovery_cycles: u64,
    /// How often that happened.
    pub recoveries: u64,
    /// Cycles after recovery until the right path arrived from the front end.
    pub clear_resteer_cycles: u64,
    /// Machine clears of all kinds.
    pub machine_clears: u64,
    /// Machine clears because of memory ordering.
    pub memory_ordering_clears: u64,
    /// Machine clears because of self-modifying code.
    pub code_clears: u64,
    /// Microcode assists for floating point.
    pub fp_assists: u64,
    /// Microcode assists that set accessed or dirty bits of page tables.
    pub page_assists: u64,
    /// Page faults.
    pub page_faults: u64,
    /// Interrupts and exceptions delivered.
    pub interrupts: u64,

    /// Lines looked up in the instruction cache.
    pub icache: Lookups,
    /// Cycles that fetch waited for a line.
    pub icache_stall_cycles: u64,
    /// Cycles that fetch waited for a translation.
    pub itlb_stall_cycles: u64,
    /// Instructions with a length-changing prefix that went through the decoders.
    pub length_changing_prefixes: u64,
    /// Translation of fetches.
    pub fetch_translation: Translation,
    /// Translation of loads.
    pub load_translation: Translation,
    /// Translation of stores.
    pub store_translation: Translation,

    /// Instructions that load.
    pub loads: u64,
    /// Instructions that store.
    pub stores: u64,
    /// Loads with LOCK.
    pub lock_loads: u64,
    /// Locked accesses across lines.
    pub split_locks: u64,
    /// Loads across a line boundary.
    pub split_loads: u64,
    /// Stores across a line boundary.
    pub split_stores: u64,
    /// Loads that missed both levels of TLB.
    pub second_level_tlb_miss_loads: u64,
    /// Stores that missed both levels of TLB.
    pub second_level_tlb_miss_stores: u64,
    /// Loads that hit the first-level cache.
    pub l1_hits: u64,
    /// Loads whose line was on its way already.
    pub fill_buffer_hits: u64,
    /// Loads that missed the first-level cache and no line was on its way.
    pub l1_misses: u64,
    /// Loads that hit the second-level cache.
    pub l2_hits: u64,
    /// Loads that missed it.
    pub l2_misses: u64,
    /// Loads that hit the last-level cache.
    pub l3_hits: u64,
    /// Loads that missed it.
    pub l3_misses: u64,
    /// Lookups of the second-level cache by loads.
    pub l2_data_reads: Lookups,
    /// Lookups of the second-level cache by stores.
    pub l2_ownership: Lookups,
    /// Lookups of the second-level cache by fetches.
    pub l2_code_reads: Lookups,
    /// Lookups of the second-level cache by hardware prefetchers.
    pub l2_prefetches: Lookups,
    /// Of these, by the prefetcher of the first-level cache.
    pub l1_prefetches: Lookups,
    /// Lookups of the second-level cache by prefetch instructions.
    pub l2_software_prefetches: Lookups,
    /// Of these, by those that bring a line to the second level only.
    pub l2_only_prefetches: u64,
    /// Lines brought into the second-level cache.
    pub l2_lines_in: u64,
    /// Unmodified lines dropped from it.
    pub l2_lines_out_silent: u64,
    /// Modified lines written back from it.
    pub l2_lines_out_modified: u64,
    /// Lines replaced in the first-level data cache.
    pub l1d_replacements: u64,
    /// Lookups of the last-level cache, also those of prefetches to the first and second level.
    pub llc: Lookups,
    /// Lines that were prefetched to the last level only; such a prefetch is no lookup.
    pub llc_prefetches: u64,
    /// Demand loads that left the core.
    pub offcore_data_reads: u64,
    /// Demand stores that left the core.
    pub offcore_ownership: u64,
    /// Demand loads that left the core and missed the last-level cache.
    pub offcore_data_read_misses: u64,
    /// Demand stores that left the core and missed the last-level cache.
    pub offcore_ownership_misses: u64,
    /// Fetches that left the core and missed the last-level cache.
    pub offcore_code_read_misses: u64,
    /// Sum over cycles of the lines on their way to the first-level cache.
    pub l1d_pending: u64,
    /// Cycles with at least one.
    pub l1d_pending_cycles: u64,
    /// Cycles in which a load waited for a free fill buffer.
    pub fill_buffers_full_cycles: u64,
    /// Loads that waited because a store that they read from could not forward.
    pub store_forward_blocks: u64,
    /// Loads that waited because a store's address agrees in the low 12 bits only.
    pub alias_blocks: u64,
    /// PREFETCHNTA, PREFETCHT0, PREFETCHT1/T2 and PREFETCHW.
    pub software_prefetches: [u64; 4],

    /// Cycles without a uop executed while a load was outstanding.
    pub stalls_memory: u64,
    /// The same, with a load that missed the first-level cache.
    pub stalls_l1_miss: u64,
    /// The same, with a load that missed the second-level cache.
    pub stalls_l2_miss: u64,
    /// The same, with a load that missed the last-level cache.
    pub stalls_l3_miss: u64,
    /// Cycles with an outstanding load.
    pub cycles_memory: u64,
    /// Cycles with an outstanding load that missed the first-level cache.
    pub cycles_l1_miss: u64,
    /// Cycles with an outstanding load that missed the second-level cache.
    pub cycles_l2_miss: u64,
    /// Cycles with an outstanding load that missed the last-level cache.
    pub cycles_l3_miss: u64,
    /// Cycles in which allocation waited for the store buffer.
    pub store_buffer_stalls: u64,
    /// Cycles in which allocation waited for the reorder buffer.
    pub reorder_buffer_stalls: u64,
    /// Cycles in which allocation waited for the schedulers.
    pub scheduler_stalls: u64,
    /// Cycles in which allocation waited for the load buffer.
    pub load_buffer_stalls: u64,
    /// Cycles in which allocation waited for a serialising instruction.
    pub serialisation_stalls: u64,
    /// Cycles with the schedulers empty.
    pub scheduler_empty: u64,
    /// How often the schedulers became empty.
    pub scheduler_emptied: u64,
    /// Cycles without a uop executed although the schedulers had some, while no load was outstanding.
    pub stalls_execution: u64,
    /// Cycles with an integer division in progress.
    pub integer_divider_active: u64,
    /// Cycles with a floating-point division or square root in progress.
    pub fp_divider_active: u64,

    /// Floating-point instructions on one double.
    pub fp_scalar_double: u64,
    /// Floating-point instructions on one single.
    pub fp_scalar_single: u64,
    /// Floating-point instructions on two doubles.
    pub fp_packed_double: u64,
    /// Floating-point instructions on four singles.
    pub fp_packed_single: u64,
    /// Floating-point instructions on four doubles.
    pub fp_packed_double_256: u64,
    /// Floating-point instructions on eight singles.
    pub fp_packed_single_256: u64,
    /// Floating-point instructions on eight doubles.
    pub fp_packed_double_512: u64,
    /// Floating-point instructions on sixteen singles.
    pub fp_packed_single_512: u64,
    /// Additions and subtractions, multiplications, divisions and square roots, multiplications with addition, of each
    /// lane.
    pub flops: [u64; 4],
    /// Element n: of the kinds whose bits n has, how many there were in cycles beyond those that a counter adds, from
    /// when on [`Model::count_lost_flops`](crate::Model::count_lost_flops) was called.
    pub flops_lost: [u64; FLOP_SETS],
    /// Instructions by [`RegisterFile`].
    pub register_files: [u64; RegisterFile::COUNT],
    /// Uops of x87 instructions.
    pub x87_uops: u64,

    /// Cycles from the issue of loads to their data; of an instruction with several those of the slowest.
    pub load_latency: u64,
    /// Cycles from when stores could be written, retired and translated, to when the cache has them.
    pub store_latency: u64,
    /// Instructions whose loads took more cycles than
    /// [`Model::count_slow_loads`](crate::Model::count_slow_loads) says.
    pub slow_loads: u64,
}

/// Numbers in [`CoreTotals`].
const NUMBERS: usize = size_of::<CoreTotals>() / size_of::<u64>();

impl CoreTotals {
    /// All numbers in a row.
    pub(crate) fn words_mut(&mut self) -> &mut [u64; NUMBERS] {
        transmute_mut!(self)
    }

    /// As [`words_mut`](Self::words_mut), to read.
    pub(crate) fn words(&self) -> &[u64; NUMBERS] {
        transmute_ref!(self)
    }

    /// Takes the numbers of an earlier time away.
    pub(crate) fn subtract(&mut self, earlier: &Self) {
        for (word, earlier) in self.words_mut().iter_mut().zip(earlier.words()) {
            *word = word.wrapping_sub(*earlier);
        }
    }

    /// A branch, and whether its prediction was wrong.
    #[inline]
    pub(crate) fn count_branch(&mut self, branch: &Branch, mispredicted: bool) {
        let counts = &mut self.branches[branch.kind as usize];
        let (all, wrong) = match branch.taken {
            true => (&mut counts.taken, &mut counts.mispredicted_taken),
            false => (&mut counts.not_taken, &mut counts.mispredicted_not_taken),
        };
        *all += 1;
        *wrong += u64::from(mispredicted);
    }

    /// Adds all numbers of others, which are 0 afterwards.
    pub(crate) fn take(&mut self, others: &mut Self) {
        for (word, other) in self.words_mut().iter_mut().zip(others.words_mut()) {
            *word = word.wrapping_add(std::mem::take(other));
        }
    }

    /// Branches of a kind.
    #[must_use]
    pub fn branches_of(&self, kind: BranchKind) -> &Branches {
        &self.branches[kind as usize]
    }
}
