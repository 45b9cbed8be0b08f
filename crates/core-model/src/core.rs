//! Parameters of a core.
//!
//! Cores are data: `cores/*.rs` has one constant for each, with the source of its figures. Latencies are in core
//! cycles; where a source gives nanoseconds they are converted at the clock that is named there.

use retire::BranchKind;
use std::num::{NonZeroU32, NonZeroU64};

/// Instruction sets of cores: what the names in their uop tables mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// x86-64.
    X86,
    /// AArch64's.
    A64,
}

/// Sets and ways of a cache, TLB or buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Sets; a power of two.
    pub sets: u32,
    /// Entries of a set.
    pub ways: u16,
}

impl Geometry {
    /// Of so many bytes in lines, in about as many ways as this has, more rather than fewer; at least one set.
    #[must_use]
    pub(crate) fn resized(self, bytes: u64) -> Self {
        let lines = (bytes / 64).max(self.ways.into());
        let sets = 1 << (lines / u64::from(self.ways)).ilog2().min(31);
        Self { sets: sets as u32, ways: (lines / sets).min(u64::from(u16::MAX)) as u16 }
    }
}

/// What a core finds outside of itself, where that is not what its CPU has for a single core: others share the last
/// level and memory, or a partition (Intel CAT, AMD's L3 allocation enforcement) gives it a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uncore {
    /// Bytes of the last-level cache; `None` is all of it.
    pub llc: Option<NonZeroU64>,
    /// Cycles after which the last level has lost a line that this core did not use, as others have taken its place;
    /// `None`: it is kept.
    pub llc_lifetime: Option<NonZeroU64>,
    /// Cycles from a load's issue to its value from memory; `None` is [`Memory::memory_latency`].
    pub memory_latency: Option<NonZeroU32>,
}

impl Uncore {
    /// Cycles of [`memory_latency`](Self::memory_latency) that there may be at most.
    pub const MOST_LATENCY: u32 = 2000;
}

/// From the bytes of instructions to uops for the back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontEnd {
    /// Uops that wait between front end and allocation.
    pub queue: u32,
    /// Uops a cycle from the uop cache, or from an instruction cache in front of the first level.
    pub uop_cache_width: u32,
    /// Lines of that cache.
    pub uop_cache: Geometry,
    /// Log2 of the bytes of code that one of its lines holds in this model, at most 6.
    pub uop_cache_shift: u32,
    /// Instructions that one of its lines holds, and as many constants (displacements, immediate values), from the
    /// instruction on at which fetch came to it, or the line before ended, also beyond the end of a line of code. Two
    /// lines that begin in one line of code are read in a cycle, and each two more two cycles later. 0: any number, and
    /// it does not matter where fetch came from.
    pub uop_cache_instructions: u32,
    /// Lines of code, of 64 bytes, that the uops of one cycle of dispatch can come from; 0: any number.
    pub dispatched_lines: u8,
    /// The predictor takes a cycle for the end of a line of code, of 64 bytes, as for a taken branch. Lines are told
    /// apart where [`dispatched_lines`](Self::dispatched_lines) has a limit.
    pub line_a_cycle: bool,
    /// Decoders: instructions a cycle.
    pub decode_width: u32,
    /// Uops a cycle that they make together.
    pub decode_uops: u32,
    /// Bytes a cycle to the decoders.
    pub decode_bytes: u32,
    /// Instructions a cycle that are told apart in an aligned block of so many bytes, and then wait in a queue in
    /// front of the decoders; 0 if the decoders take any bytes.
    pub predecode_width: u32,
    /// Windows of 32 bytes with a branch that crosses or ends at their boundary are not in the uop cache.
    pub bars_boundary_branches: bool,
    /// Decoders that have taken over go on up to the next taken branch; only there is the uop cache asked again.
    pub decodes_until_branch: bool,
    /// Taken branches behind a fence of all memory (MFENCE) up to the last of which decoders go on. Behind one of loads
    /// (LFENCE) they end that where nothing that they made is left to allocate, if each 32 bytes of the line before
    /// took one line of the uop cache.
    pub fence_branches: u8,
    /// Most uops of an instruction that a decoder makes; more come from the microcode sequencer.
    pub decoder_uops: u32,
    /// Most uops of an instruction that each decoder makes; more makes the first one only.
    pub simple_uops: u32,
    /// A uop whose constants take the room of another one in the uop cache is the last of its cycle from there, and
    /// takes two places of it.
    pub wide_alone: bool,
    /// Direct branches have a decoder of their own, beside the others, and take nothing of their width.
    pub branch_decoder: bool,
    /// Loops that fit into the queue are replayed from there.
    pub loop_stream: bool,
    /// Cycles lost when the uop cache misses and the decoders take over.
    pub decode_switch: u32,
    /// Uops a cycle from the microcode sequencer.
    pub microcode_width: u32,
    /// Cycles to switch to the microcode sequencer.
    pub microcode_switch: u32,
    /// Cycles lost by a length-changing prefix in the decoders.
    pub length_changing_prefix: u32,
    /// Cycles by which the branch predictor can be ahead of the decoders, and ask for lines of code that will be
    /// needed.
    pub run_ahead: u8,
    /// Cycles that the predictor, which can be ahead of fetch, takes for a page that the second level of TLBs has; 0:
    /// fetch waits for it.
    pub page_cycles: u8,
    /// Cycles between lines of code from the second level.
    pub line_cycles: u8,
    /// First-level instruction cache, lines of 64 bytes.
    pub icache: Geometry,
    /// First-level instruction TLB for pages of 4 KiB.
    pub itlb: Geometry,
    /// First-level instruction TLB for larger pages.
    pub itlb_large: Geometry,
}

/// Units of uops of instructions with a register of 512 bits, whose names have `_zmm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WideUnits {
    /// The table's units.
    pub from: &'static [&'static str],
    /// Those that it should have.
    pub to: &'static [&'static str],
    /// Beginnings of the names, behind the prefix, of the instructions that this is about; all if there is none.
    pub of: &'static [&'static str],
}

/// Uops of an operation and its memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOperands {
    /// An operation and its load are one uop for allocation, as are a store's address and data; the table counts them
    /// one by one.
    Fused,
    /// An operation and its load with an index become two uops behind the decoders and the uop cache, unless the
    /// instruction has two operands, of which it reads and writes the first, and reads no flags.
    FusedUnlessIndexed,
    /// The table counts macro-operations, which have their memory operands; there is one more behind the uop cache if
    /// what is executed by integer units has an index and is not a load alone.
    MacroUnlessIndexed,
}

/// How much longer results take to operations on vector registers of another domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// No longer.
    None,
    /// So many cycles, between integers and floating-point numbers.
    Domains(u8),
    /// So many cycles, from a floating-point sum to an operation that is none.
    Sums(u8),
    /// A cycle, from a floating-point sum to an operation that is none, and between integers and floating-point numbers
    /// that are no sums. An operation with such a source waits so much longer for all its sources, however long ago
    /// that one was made. So do CMOVcc and SETcc for flags that logic has made. A shift of a register that renaming has
    /// added a constant to takes two cycles more, and another uop of its units.
    Kept {
        /// Where operations on integers can go that do not only move elements.
        integers: &'static str,
    },
}

/// When a uop's port is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortBinding {
    /// When it executes.
    AtExecution,
    /// When it is allocated, by what waits for each.
    ByPressure {
        /// Slots of a cycle take turns with so many of the units that have the fewest, up to 6.
        ranks: u8,
        /// Unless a unit has so many more than the one with the fewest, which is chosen then.
        much: u8,
    },
    /// When it is allocated, in turn; what is allocated together waits for room together.
    InTurn {
        /// The units that are chosen so, four; uops that can go to another unit choose when they execute.
        units: &'static [&'static str],
        /// Units of addresses, at most as many, which share their schedulers.
        addresses: &'static [&'static str],
        /// Those of the four that a conditional jump can have which is one uop with an operation that has a result.
        jumps: &'static [&'static str],
        /// Entries of each one's scheduler.
        entries: u32,
    },
}

/// Prediction of branches, and what it costs to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prediction {
    /// Log2 of the counters that are indexed by address alone.
    pub bimodal_bits: u32,
    /// Each of the tables that are looked up by address and history.
    pub tagged: Geometry,
    /// Bits of the path history register that each of these tables looks at, shortest first; at most 576, in pairs: a
    /// taken branch shifts the register by two.
    pub histories: &'static [u32],
    /// A mispredicted branch gets an entry of any table with a longer history, not always of the first that has room.
    pub spreads_branches: bool,
    /// A new entry predicts at once. Else only while such entries have been better than what they come after.
    pub trusts_new_entries: bool,
    /// The lowest bit of a branch's address that the register has: 16 of them.
    pub path_address: u32,
    /// Branches whose targets are known.
    pub targets: Geometry,
    /// Branches whose targets are known without a lost cycle.
    pub fast_targets: Geometry,
    /// Log2 of the bytes of code whose branches share a set of these.
    pub fast_target_window: u32,
    /// Log2 of the entries for indirect branches by address alone.
    pub indirect_bits: u32,
    /// The tables for indirect branches by address and history: which of `histories` each looks at, by number, shortest
    /// first.
    pub indirect: &'static [(usize, Geometry)],
    /// Return addresses.
    pub return_stack: u32,
    /// A return that the stack knows nothing of is predicted as an indirect jump.
    pub predicts_more_returns: bool,
    /// Taken branches of a cycle, outside of loops that the queue replays, whose iterations have cycles of their own.
    pub taken_branches: u32,
    /// But a conditional branch that closes a loop is the last one of its cycle.
    pub loop_branches_alone: bool,
    /// Cycles that a taken branch loses if its target comes from the larger buffer.
    pub slow_target: u32,
    /// What the predictor takes for some kinds of branches.
    pub branch_cycles: BranchCycles,
    /// Cycles by which the predictor can be ahead of fetch with taken branches.
    pub lead: u8,
    /// Indirect targets are predicted by so many conditional branches before, up to 31, and not by the path; 0: by the
    /// path.
    pub indirect_directions: u32,
    /// Cycles that fetch loses at an indirect jump or call.
    pub indirect_bubble: u32,
    /// Directions that the predictor knows better than its fast part.
    pub overridden_directions: OverriddenDirections,
    /// Taken branches behind a misprediction, or where else fetch begins anew.
    pub restarted_targets: RestartedTargets,
    /// Cycles that fetch loses at a direct call.
    pub call_bubble: u32,
    /// The same at an indirect call, besides what it loses as any indirect branch.
    pub indirect_call_bubble: u32,
    /// Cycles until fetch is redirected from the decoders, for a taken direct branch without known target.
    pub unknown_branch: u32,
    /// Cycles that allocation recovers after a mispredicted branch was executed.
    pub recovery: u32,
    /// Cycles from there until the first uop of the right path reaches allocation.
    pub refill: u32,
}

/// The first taken branches behind a misprediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartedTargets {
    /// How many they are.
    pub count: u8,
    /// Cycles that the predictor takes for each.
    pub cycles: u8,
    /// Cycles that it begins ahead of fetch.
    pub ahead: u8,
}

impl RestartedTargets {
    /// They take as long as others.
    pub const NONE: Self = Self { count: 0, cycles: 0, ahead: 0 };
}

/// Conditional branches of which the predictor's fast part has another direction than all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverriddenDirections {
    /// Cycles that the predictor takes for one besides.
    pub cycles: u32,
    /// The fast part has the table with the shortest history, beside the bimodal one.
    pub first_is_fast: bool,
}

impl OverriddenDirections {
    /// They take as long as others.
    pub const NONE: Self = Self { cycles: 0, first_is_fast: true };
}

/// Cycles that the predictor, which can be ahead of fetch, takes for a taken branch; 0: no more than for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchCycles {
    /// Indirect jumps, and calls of this kind.
    pub indirect_jumps: u32,
    /// Calls of either kind.
    pub calls: u32,
    /// Returns.
    pub returns: u32,
    /// Indirect jumps and calls of which history knows another target than their address alone.
    pub overridden: u32,
    /// Returns to another place than the last time are overridden too, but for those in the line of code that was just
    /// called.
    pub overrides_returns: bool,
    /// What direct branches and ends of lines of code take.
    pub pairing: Pairing,
}

/// Which of taken direct branches, and ends of lines of code that are executed to, the predictor takes in one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// As many as fetch does: see [`Prediction::taken_branches`].
    AsFetched,
    /// One goes with what was predicted before it if that was the first of two, and takes a cycle else; conditional
    /// branches in front of it that are not taken, but whose targets are known, let it take a cycle too.
    TwoAhead,
    /// So many in a row, behind an indirect branch or a return, take a cycle each, and two of the later ones one.
    InRow {
        /// Up to 254.
        alone: u8,
        /// A jump within its line of code takes a cycle in any case.
        lines_apart: bool,
    },
}

impl BranchCycles {
    /// No kind makes a difference.
    pub const NONE: Self = Self {
        indirect_jumps: 0,
        calls: 0,
        returns: 0,
        overridden: 0,
        overrides_returns: false,
        pairing: Pairing::AsFetched,
    };

    pub(crate) fn of(&self, kind: BranchKind, overridden: bool) -> u32 {
        let of_kind = match kind {
            BranchKind::IndirectJump => self.indirect_jumps,
            BranchKind::DirectCall => self.calls,
            BranchKind::IndirectCall => self.calls.max(self.indirect_jumps),
            BranchKind::Return => self.returns,
            BranchKind::Conditional | BranchKind::DirectJump | BranchKind::Far => 0,
        };
        of_kind.max(if overridden { self.overridden } else { 0 })
    }
}

/// Cycles from a store's data to a load that reads it, by what loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forwarding {
    /// A load of a general-purpose register.
    pub load: u32,
    /// An operation with the loaded value.
    pub operand: u32,
    /// One that stores its result in the same place.
    pub update: u32,
    /// A load of a vector or x87 register.
    pub vector: u32,
}

/// Loads of general-purpose registers whose value renaming has from an older store of the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryRenaming {
    /// None.
    None,
    /// Those that [`retire::Encoding::plain_access`] describes.
    Plain,
    /// At addresses relative to the stack pointer, if the store has such a one too, and of others as many as a
    /// predictor knows to read from stores.
    Predicted {
        /// Which these can be.
        accesses: RenamedAccesses,
        /// Loads that the predictor knows.
        loads: usize,
        /// Loads whose address is made of the same registers and displacement as the store's, which were not written
        /// since, need no predictor, if the store is among so many newest ones, at most 15; 0: that makes no
        /// difference.
        distance: u8,
    },
}

/// Which accesses renaming can connect with others if a predictor knows of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenamedAccesses {
    /// Those that [`retire::Encoding::whole_access`] describes. The next store to a place reaches the cache alone.
    Whole,
    /// Those that [`retire::Encoding::operand_access`] describes.
    Operand,
}

/// Lines of the first level that are found by a hash of a linear address, and accesses by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinearTags {
    /// They are found by their physical address.
    None,
    /// The first load takes a port four times, the next ones twice; stores relative to the stack pointer reach the
    /// cache alone until their line is known by their address.
    StackApart,
    /// A load takes ten cycles longer, and a port once more, or so many times more if neither of the last two addresses
    /// of the line was its own. Tags have four more bits; stores do not matter.
    LoadAgain(u8),
    /// Loads take a port twice, and the first store one of these units.
    StoreAgain {
        /// Names of the units in the uop table.
        units: &'static [&'static str],
    },
}

/// Caches, TLBs and the buffers between them. Lines have 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// First-level data cache; its latency is part of the uop table.
    pub l1d: Geometry,
    /// Second-level cache.
    pub l2: Geometry,
    /// Last-level cache.
    pub llc: Geometry,
    /// Cycles from a load's issue to its value from the second level.
    pub l2_latency: u32,
    /// The same from the last level.
    pub llc_latency: u32,
    /// The same from memory.
    pub memory_latency: u32,
    /// The same from a device.
    pub uncached_latency: u32,
    /// Lines that can be on their way to the first level.
    pub fill_buffers: u32,
    /// Lines that can be on their way to the second level.
    pub l2_fill_buffers: u32,
    /// Cycles between lines from the last level, for one core.
    pub llc_line_cycles: u32,
    /// Cycles between lines from memory, for one core.
    pub memory_line_cycles: u32,
    /// First-level data TLB for loads, pages of 4 KiB.
    pub dtlb_load: Geometry,
    /// First-level data TLB for loads, larger pages.
    pub dtlb_load_large: Geometry,
    /// First-level data TLB for stores, all pages.
    pub dtlb_store: Geometry,
    /// Second-level TLB, for data and code.
    pub stlb: Geometry,
    /// Additional cycles if only the second-level TLB knows the page.
    pub stlb_latency: u32,
    /// Cycles of a page walk besides its accesses to memory.
    pub walk_base: u32,
    /// Page walks at a time.
    pub walkers: u32,
    /// A load whose address is a register and a small displacement takes a cycle less if the register was loaded.
    pub fast_pointer: bool,
    /// Additional cycles of a load whose address has a multiplied index.
    pub scaled_index: u16,
    /// Additional cycles of a load whose address has base, index and displacement, if the index is not multiplied.
    pub displaced_index: u16,
    /// Cycles from a store's data to a load that reads it.
    pub store_forward: Forwarding,
    /// Additional cycles of a forwarding from every second store to a place, to a general-purpose register, if the load
    /// was ready before the data.
    pub store_forward_again: u32,
    /// Cycles from a load that a store was forwarded to, to the next load of the same bytes, at least, if the value of
    /// the store between the two came within two cycles behind the first; but for general-purpose registers that are
    /// stored as they are loaded. 0 if there is no such bound.
    pub forward_interval: u32,
    /// Log2 of the aligned bytes to which two neighbouring stores reach the cache together; 0 if none do, 64 if any two
    /// do.
    pub joins_stores: u32,
    /// More than two neighbours do so too.
    pub joins_runs: bool,
    /// A load that missed the first level takes a port once more when its line arrives.
    pub replays_loads: bool,
    /// Cycles in which no store reaches the first level, for each line that comes there.
    pub fill_cycles: u32,
    /// Cycles until the first level has a line of the second for a store, at the earliest: from when the store before
    /// reached it that was to another line, which the first level had, and from one whose line it did not have either;
    /// from the last store to that line a cycle less. `[0, 0]`: the lines are there by then.
    pub store_fill: [u32; 2],
    /// So many of the oldest stores in the buffer ask for their lines; 0: all do.
    pub store_prefetch: u32,
    /// Cycles that a line takes of the way between the first two levels, and a modified one that makes room for it;
    /// `[0, 0]`: that never is what lines wait for.
    pub l1_line_cycles: [u32; 2],
    /// Whether lines of the first level are found by a hash of the linear address that they were used by last.
    pub linear_tags: LinearTags,
    /// Of so many loads that wait for an address that a load has brought, so many take a port twice; `[0, 0]`: none do.
    pub dependent_loads: [u8; 2],
    /// One of so many loads whose value comes from a store takes a port twice; 0: none does.
    pub forwarded_loads: u8,
    /// One of so many operations with a load that follow plain loads takes a load's port twice; 0: none does.
    pub mixed_loads: u8,
    /// Loads to general-purpose registers take a port once more if an older store does not have its address yet.
    pub overtaking_loads: bool,
    /// Additional cycles of a store that does not begin and end at addresses that are multiples of 4, if one of the
    /// last stores wrote to the same place, and another one to other places since.
    pub partial_store: u32,
    /// Each four bytes of a line can be read by two loads a cycle only.
    pub load_banks: bool,
    /// Additional cycles of a load across lines or pages.
    pub split_load: u32,
    /// How often such a load takes a port again: across lines, and across pages; 15 at most.
    pub split_ports: [u8; 2],
    /// Additional cycles in which a store across pages lets no other reach the cache.
    pub page_split_store: u32,
    /// Which loads to general-purpose registers renaming connects with stores of the same address.
    pub renames_memory: MemoryRenaming,
    /// Additional cycles if a store cannot be forwarded, after it has reached the cache: to general-purpose registers,
    /// and to others.
    pub store_forward_block: [u32; 2],
    /// Additional cycles of a load whose address agrees with an older store in the low 12 bits only.
    pub alias_block: u32,
    /// Lines that the streamer runs ahead to the second level.
    pub stream_distance: u32,
    /// Lines that it runs ahead to the last level; 0 if it has no prefetches to the last level only.
    pub stream_llc_distance: u32,
    /// Second-level misses also fetch the other line of the aligned pair.
    pub adjacent_line: bool,
}

/// Cycles for which the dividers are busy with one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divider {
    /// DIV and IDIV up to 32 bits.
    pub integer: u16,
    /// DIV and IDIV of 64 bits.
    pub wide_integer: u16,
    /// Those whose dividend needs both registers, and cycles from their last uop to the result; 0 if they take no
    /// longer than others.
    pub long_integer: [u16; 2],
    /// Floating-point division of singles.
    pub single: u16,
    /// Floating-point division of doubles, and of the x87 unit.
    pub double: u16,
    /// Square root of singles.
    pub root_single: u16,
    /// Square root of doubles.
    pub root_double: u16,
}

/// What microcode flows and long operations cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flows {
    /// Cycles of a locked read-modify-write on a line that is in the first-level cache.
    pub lock: u32,
    /// Additional cycles of one on the line of the newest store, and on another line.
    pub lock_line: [u32; 2],
    /// Cycles from the end of one to the next, at least, if there is a load in between.
    pub lock_after_load: u32,
    /// Cycles from when stores of other instructions have reached the cache to one, at least.
    pub lock_drain: u32,
    /// Cycles of PAUSE.
    pub pause: u16,
    /// Uops of the delivery of an interrupt or exception.
    pub interrupt_uops: u32,
    /// Cycles of it.
    pub interrupt_cycles: u32,
    /// Uops of a microcode assist for a denormal operand or result; 0 if the units take them.
    pub fp_assist_uops: u32,
    /// Uops of a microcode assist that sets accessed or dirty bits of page tables.
    pub page_assist_uops: u32,
    /// Cycles of either.
    pub assist_cycles: u32,
    /// Cycles from a machine clear until the first uop is allocated again.
    pub machine_clear: u32,
    /// Dividers.
    pub divider: Divider,
    /// Cycles before the first iteration of a string instruction with REP has an effect.
    pub string_start: u32,
    /// Bytes that such an instruction reads and writes in a cycle.
    pub string_bytes: u32,
    /// Cycles of REP MOVS by bytes moved, in the first level, ascending; between them as a line through both, and
    /// beyond the last of them as through the last two. None: as the two figures above say.
    pub string_moves: &'static [(u32, u32)],
    /// The same of REP STOS.
    pub string_stores: &'static [(u32, u32)],
}

/// One core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Core {
    /// Name of the microarchitecture.
    pub name: &'static str,
    /// Its instruction set.
    pub isa: Isa,
    /// Name of the core, or of another one with the same pipeline, as LLVM's `-mcpu` takes it: that of the uop table.
    pub llvm_name: &'static str,
    /// Uops that are dispatched in a cycle: the slots of TMA.
    pub dispatch_width: u32,
    /// Uops that retire in a cycle.
    pub retire_width: u32,
    /// Entries of the reorder buffer, in uops.
    pub reorder_buffer: u32,
    /// Entries of the schedulers together, in uops.
    pub scheduler: u32,
    /// How many of these are for uops of some units alone, and the names of these units, those of memory; the others
    /// are for all other uops.
    pub memory_scheduler: Option<(u32, &'static [&'static str])>,
    /// A uop whose last source is there in the first cycle in which it could be dispatched, or in the next one, is
    /// dispatched a cycle later.
    pub wakes_late: bool,
    /// A uop that waits for an operation of one cycle, whose own sources were ready when it was allocated or came from
    /// a load, is selected by its age alone: in vain, in a cycle of one of its ports, if that is not the second one
    /// behind the operation or later.
    pub selects_early: bool,
    /// Loads between allocation and retirement.
    pub load_buffer: u32,
    /// Stores between allocation and the cache.
    pub store_buffer: u32,
    /// Compare and jump become one uop, and operations are together with their memory operand.
    pub fusion: bool,
    /// How they are together.
    pub memory_operands: MemoryOperands,
    /// All uops of an instruction are allocated in one cycle if there are no more than those of a cycle.
    pub allocates_whole: bool,
    /// When a uop's port is chosen, and how.
    pub binding: PortBinding,
    /// The stack engine: register of the stack pointer, and the form of instruction whose ports the uop takes that
    /// brings the register up to date before an instruction names it.
    pub stack_engine: Option<(u8, &'static str)>,
    /// An instruction that names the stack pointer needs that uop if it does no more than read it.
    pub reads_synchronise: bool,
    /// Legacy SSE instructions wait for their destination while upper bits of any vector register are in use, because
    /// they merge their result into it.
    pub merges_upper_bits: bool,
    /// How much longer results take to operations on vector registers of another domain.
    pub bypass: Bypass,
    /// Moves between registers need no port.
    pub move_elimination: bool,
    /// Nor do moves of 32 and 64 bits of a register to itself.
    pub own_move_elimination: bool,
    /// SBB of a register and itself waits for the carry flag alone.
    pub breaks_borrow: bool,
    /// A NOP and the instruction or the short NOP in front of it take one slot.
    pub fuses_nops: bool,
    /// A move between general-purpose registers and an operation on its destination behind it become one uop: see
    /// [`retire::Encoding::joined_move`].
    pub joins_moves: bool,
    /// Moves from the stack pointer are executed, whatever becomes of other moves.
    pub moves_stack_pointer: bool,
    /// Nor do sums of a register and a small constant, which renaming makes, and extensions of low bytes.
    pub adds_at_renaming: bool,
    /// Front end.
    pub front_end: FrontEnd,
    /// Branch prediction.
    pub prediction: Prediction,
    /// Memory hierarchy.
    pub memory: Memory,
    /// Microcode.
    pub flows: Flows,
    /// The uop table as text; see [`UopTable::parse`](crate::UopTable::parse).
    pub table: &'static str,
    /// Where uops of 512 bits go instead of the units that the table has for them.
    pub wide: &'static [WideUnits],
    /// Entries that replace those of the table and of corrections before them, where measurements differ from LLVM; the
    /// same format.
    pub corrections: &'static [&'static str],
    /// Costs of system instructions, which replace those of the table: name of the form, slots, cycles and order
    /// (`free`, `serialising` or `fence`), separated by tabs.
    pub system: &'static str,
}
