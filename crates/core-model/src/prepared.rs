//! An instruction as the model needs it, made once for all its executions.

use crate::core::Core;
use crate::flops::{RegisterFile, flops, packed_count};
use crate::system::{Order, system_cost};
use crate::table::{Cost, Form, UopTable, Uops};
use iced_x86::{
    CodeSize, ConditionCode, CpuidFeature, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory,
    Mnemonic, OpAccess, OpKind, Register, RflagsBits,
};

/// Numbers of what instructions read and write: the bits of a word.
pub(crate) const RESOURCES: usize = 64;
const XMM: u8 = 16;
/// CF apart from the other flags, because INC, DEC and rotates treat it apart.
const CARRY: u8 = 32;
const OTHER_FLAGS: u8 = 33;
/// Both of them.
pub(crate) const FLAGS: u64 = 1 << CARRY | 1 << OTHER_FLAGS;
/// The x87 stack and the MMX registers, as one.
const X87: u8 = 34;
/// MXCSR, segment and control registers, and whatever else is written rarely.
const SYSTEM: u8 = 35;
const STACK_POINTER: u64 = 1 << 4;
/// In the place of a source: always ready.
const READY: u8 = 62;
/// In the place of a result: nobody reads it.
pub(crate) const UNREAD: u8 = 63;
/// Most groups of uops that are told apart; what is more goes to the last group.
const GROUPS: usize = 7;
/// As many have almost all instructions.
const NEAR_GROUPS: usize = 3;

/// What an instruction is besides its uops: one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Traits(u32);

impl Traits {
    pub(crate) const LOAD: Self = Self(1);
    pub(crate) const STORE: Self = Self(1 << 1);
    pub(crate) const LOCK: Self = Self(1 << 2);
    pub(crate) const SERIALISING: Self = Self(1 << 3);
    pub(crate) const FENCE: Self = Self(1 << 4);
    /// Can be the first half of a macro-fused pair, with any condition; with conditions that do not read CF only.
    pub(crate) const FUSES: Self = Self(1 << 5);
    pub(crate) const FUSES_TEST: Self = Self(1 << 6);
    pub(crate) const FUSES_NO_CARRY: Self = Self(1 << 7);
    pub(crate) const CONDITIONAL: Self = Self(1 << 8);
    pub(crate) const READS_CARRY: Self = Self(1 << 9);
    pub(crate) const READS_SIGN: Self = Self(1 << 10);
    pub(crate) const NOP: Self = Self(1 << 11);
    pub(crate) const X87: Self = Self(1 << 12);
    pub(crate) const MICROCODED: Self = Self(1 << 13);
    pub(crate) const LENGTH_CHANGING: Self = Self(1 << 14);
    pub(crate) const FLUSH: Self = Self(1 << 15);
    pub(crate) const PREFETCH: Self = Self(1 << 16);
    pub(crate) const STRING: Self = Self(1 << 17);
    pub(crate) const FP_DOUBLE: Self = Self(1 << 18);
    pub(crate) const FP_SINGLE: Self = Self(1 << 19);
    pub(crate) const FP_PACKED: Self = Self(1 << 20);
    pub(crate) const INTEGER_DIVIDER: Self = Self(1 << 21);
    pub(crate) const FP_DIVIDER: Self = Self(1 << 22);
    /// A string instruction that compares or loads, an iteration at a time.
    pub(crate) const COMPARES: Self = Self(1 << 23);
    pub(crate) const PAUSE: Self = Self(1 << 24);
    /// More registers than [`Prepared`] has places for.
    pub(crate) const MANY_REGISTERS: Self = Self(1 << 25);
    /// Anything that needs more than execution and a memory access.
    pub(crate) const RARE: Self = Self(
        Self::LOCK.0
            | Self::SERIALISING.0
            | Self::FENCE.0
            | Self::NOP.0
            | Self::PAUSE.0
            | Self::X87.0
            | Self::MICROCODED.0
            | Self::FLUSH.0
            | Self::PREFETCH.0
            | Self::STRING.0
            | Self::FP_DOUBLE.0
            | Self::FP_SINGLE.0
            | Self::INTEGER_DIVIDER.0
            | Self::FP_DIVIDER.0
            | Self::MANY_REGISTERS.0,
    );

    /// True if any of these is set.
    #[inline(always)]
    pub(crate) fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// True if the conditional jump `next`, directly behind this instruction, retires as one uop with it.
    #[inline(always)]
    pub(crate) fn fuses_with(self, next: Self) -> bool {
        next.any(Self::CONDITIONAL)
            && (self.any(Self::FUSES_TEST)
                || self.any(Self::FUSES) && !next.any(Self::READS_SIGN)
                || self.any(Self::FUSES_NO_CARRY) && !next.any(Self::READS_CARRY | Self::READS_SIGN))
    }

    /// All of them as a number.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    fn set(&mut self, what: Self, when: bool) {
        if when {
            self.0 |= what.0;
        }
    }
}

impl std::ops::BitOr for Traits {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An instruction with its costs and what it depends on, in one cache line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Prepared {
    pub(crate) traits: Traits,
    /// Slots at allocation.
    pub(crate) slots: u16,
    /// Cycles from the address to the loaded value; 0 without a load.
    pub(crate) load: u16,
    /// Cycles from the last source to the result.
    pub(crate) compute: u16,
    /// Cycles that a divider is busy.
    pub(crate) divider: u16,
    /// The registers below one by one, unless there are too many.
    pub(crate) address_registers: [u8; 2],
    pub(crate) source_registers: [u8; 4],
    pub(crate) result_registers: [u8; 4],
    /// Low bits of the address at which it was decoded, and its length in bytes.
    pub(crate) offset: u16,
    pub(crate) length: u8,
    /// 0: PREFETCHNTA, 1: PREFETCHT0, 2: PREFETCHT1 and T2, 3: PREFETCHW.
    pub(crate) prefetch: u8,
    group_count: u8,
    /// How many of the groups are loads; they come first.
    load_groups: u8,
    pub(crate) register_file: RegisterFile,
    near_groups: [Uops; NEAR_GROUPS],
    pub(crate) rest: Box<Rest>,
}

/// What few executions need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rest {
    groups: [Uops; GROUPS],
    /// Registers that the address is made of, other sources, and results: a bit for each.
    pub(crate) address: u64,
    pub(crate) sources: u64,
    pub(crate) results: u64,
    pub(crate) flops: [u8; 3],
    /// What it adds to the count of packed instructions.
    pub(crate) fp_count: u64,
}

const _: () = assert!(size_of::<Prepared>() == 64);

impl Prepared {
    /// Where the instruction was decoded: the low 16 bits of its address, which are its place in a block at address 0.
    #[inline(always)]
    #[must_use]
    pub fn offset(&self) -> u16 {
        self.offset
    }

    /// Length of the instruction in bytes.
    #[inline(always)]
    #[must_use]
    pub fn length(&self) -> u8 {
        self.length
    }

    /// True if it is enough to know which registers it reads and writes.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        !self.traits.any(Traits::LOAD | Traits::STORE | Traits::RARE)
    }

    /// True if what an execution does to the pipeline depends on nothing but the state of the pipeline and on the
    /// answers that it gets.
    #[inline(always)]
    pub(crate) fn is_repeatable(&self) -> bool {
        !self.traits.any(Traits::STRING | Traits::PREFETCH | Traits::FLUSH)
    }

    /// Uops in groups that can go to the same ports.
    #[inline(always)]
    pub(crate) fn groups(&self) -> &[Uops] {
        let count = usize::from(self.group_count);
        self.near_groups.get(..count).unwrap_or_else(|| &self.rest.groups[..count.min(GROUPS)])
    }

    /// The groups that load, and the others.
    #[inline(always)]
    pub(crate) fn split_groups(&self) -> (&[Uops], &[Uops]) {
        self.groups().split_at(usize::from(self.load_groups))
    }

    /// Gives each register its place.
    fn place_registers(&mut self) {
        let address = one_by_one(self.rest.address, &mut self.address_registers, READY);
        let sources = one_by_one(self.rest.sources, &mut self.source_registers, READY);
        let results = one_by_one(self.rest.results, &mut self.result_registers, UNREAD);
        self.traits.set(Traits::MANY_REGISTERS, !(address && sources && results));
    }

    /// As the table says; `None` if the table does not know the instruction.
    pub(crate) fn from_table(
        instruction: &Instruction,
        table: &UopTable,
        info: &mut InstructionInfoFactory,
    ) -> Option<Self> {
        let memory = has_memory(instruction);
        let form = if memory { Form::Memory } else { Form::Register };
        let cost = table.cost(instruction.code(), form)?;
        let register_form = table.cost(instruction.code(), Form::Register);
        let load_units = table.load_units();
        Some(Self::with_cost(instruction, cost, register_form, load_units, info.info(instruction)))
    }

    /// As the core executes it: with fused uops, eliminated moves and microcode.
    pub(crate) fn new(
        instruction: &Instruction,
        core: &Core,
        table: &UopTable,
        info: &mut InstructionInfoFactory,
    ) -> Self {
        let known = Self::from_table(instruction, table, info);
        let mut prepared = known.unwrap_or_else(|| {
            // As a class: an operation of one cycle on any port.
            let cost = Cost { slots: 1, latency: 1, uops: Vec::new() };
            Self::with_cost(instruction, &cost, None, 0, info.info(instruction))
        });
        prepared.apply_system(instruction, core);
        if core.fusion {
            prepared.fuse(instruction);
        }
        prepared.eliminate(instruction, core);
        prepared.find_divider(instruction, core);
        let string = prepared.traits.any(Traits::STRING);
        let decoded = u32::from(prepared.slots) <= core.front_end.decoder_uops && !string;
        prepared.traits.set(Traits::MICROCODED, !decoded);
        if prepared.is_plain() {
            // LEA: the address is a source as any other.
            prepared.rest.sources |= std::mem::take(&mut prepared.rest.address);
        }
        prepared.place_registers();
        prepared
    }

    fn with_cost(
        instruction: &Instruction,
        cost: &Cost,
        register_form: Option<&Cost>,
        load_units: u32,
        info: &InstructionInfo,
    ) -> Self {
        let memory = has_memory(instruction);
        let mut address = 0;
        if memory {
            for register in [instruction.memory_base(), instruction.memory_index()] {
                address |= bit(register);
            }
        }
        let mut sources = 0;
        let mut results = 0;
        for used in info.used_registers() {
            let register = bit(used.register());
            let access = used.access();
            let reads = matches!(
                access,
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            );
            let writes = !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
            // A write of part of a register keeps the rest of it.
            let merges = writes && (used.register().is_gpr8() || used.register().is_gpr16());
            let only_address = reads && address & register != 0 && !is_operand(instruction, register);
            if (reads || merges || access == OpAccess::CondWrite) && !only_address {
                sources |= register;
            }
            if writes {
                results |= register;
            }
        }
        sources |= flags(instruction.rflags_read());
        results |= flags(instruction.rflags_modified());
        let accesses =
            |wanted: fn(OpAccess) -> bool| info.used_memory().iter().any(|memory| wanted(memory.access()));
        let loads = accesses(|access| {
            !matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::NoMemAccess)
        });
        let stores =
            accesses(|access| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess));
        if instruction.is_stack_instruction() && results & STACK_POINTER != 0 {
            // The stack engine adds to RSP at decoding: whoever uses it does not wait.
            results &= !STACK_POINTER;
            address |= sources & STACK_POINTER;
            sources &= !STACK_POINTER;
        }
        let (load, compute) = split_latency(cost, register_form, memory && loads, loads, memory || stores);
        let mut traits = Traits::default();
        traits.set(Traits::LOAD, loads);
        traits.set(Traits::STORE, stores);
        let locked = instruction.has_lock_prefix() || memory && instruction.mnemonic() == Mnemonic::Xchg;
        traits.set(Traits::LOCK, locked);
        traits.set(Traits::X87, instruction.code().cpuid_features().contains(&CpuidFeature::FPU));
        let conditional = instruction.flow_control() == FlowControl::ConditionalBranch;
        traits.set(Traits::CONDITIONAL, conditional && instruction.is_jcc_short_or_near());
        let read = instruction.rflags_read();
        traits.set(Traits::READS_CARRY, read & RflagsBits::CF != 0);
        traits.set(
            Traits::READS_SIGN,
            read & (RflagsBits::SF | RflagsBits::OF | RflagsBits::PF) != 0
                && matches!(
                    instruction.condition_code(),
                    ConditionCode::s
                        | ConditionCode::ns
                        | ConditionCode::o
                        | ConditionCode::no
                        | ConditionCode::p
                        | ConditionCode::np
                ),
        );
        let string = instruction.is_string_instruction()
            && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
        traits.set(Traits::STRING, string);
        let moves = matches!(
            instruction.mnemonic(),
            Mnemonic::Movsb
                | Mnemonic::Movsw
                | Mnemonic::Movsd
                | Mnemonic::Movsq
                | Mnemonic::Stosb
                | Mnemonic::Stosw
                | Mnemonic::Stosd
                | Mnemonic::Stosq
        );
        traits.set(Traits::COMPARES, string && !moves);
        traits.set(Traits::LENGTH_CHANGING, changes_length(instruction));
        traits.set(Traits::NOP, matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Fnop));
        traits.set(Traits::PAUSE, instruction.mnemonic() == Mnemonic::Pause);
        let (fp, prefetch) = classify(instruction, &mut traits);
        traits.0 |= fp.0;
        let mut groups = [Uops { units: 0, cycles: 0 }; GROUPS];
        let mut group_count = 0;
        let is_load = |uops: &&Uops| uops.units & !load_units == 0;
        let loading = cost.uops.iter().filter(is_load);
        let load_groups = if loads { loading.clone().count().min(GROUPS) } else { 0 };
        for uops in loading.chain(cost.uops.iter().filter(|uops| !is_load(uops))) {
            if group_count < GROUPS {
                groups[group_count] = *uops;
                group_count += 1;
            } else {
                groups[GROUPS - 1].cycles += uops.cycles;
            }
        }
        let [first, second, third, ..] = groups;
        let mut prepared = Self {
            near_groups: [first, second, third],
            rest: Box::new(Rest {
                groups,
                address,
                sources,
                results,
                flops: flops(instruction),
                fp_count: packed_count(instruction),
            }),
            register_file: RegisterFile::of(instruction),
            group_count: group_count as u8,
            load_groups: load_groups as u8,
            prefetch,
            slots: cost.slots,
            load,
            compute,
            divider: 0,
            traits,
            address_registers: [READY; 2],
            source_registers: [READY; 4],
            result_registers: [UNREAD; 4],
            offset: instruction.ip() as u16,
            length: instruction.len() as u8,
        };
        prepared.place_registers();
        prepared
    }

    /// Replaces LLVM's costs, which leave out what microcode does.
    fn apply_system(&mut self, instruction: &Instruction, core: &Core) {
        // A jump or NOP without uops still needs a slot.
        self.slots = self.slots.max(1);
        let mov_special = instruction.mnemonic() == Mnemonic::Mov
            && (0..instruction.op_count()).any(|operand| {
                let register = instruction.op_register(operand);
                instruction.op_kind(operand) == OpKind::Register && (register.is_cr() || register.is_dr())
            });
        let far = matches!(instruction.flow_control(), FlowControl::Interrupt)
            || instruction.is_jmp_far()
            || instruction.is_call_far()
            || instruction.is_call_far_indirect()
            || instruction.is_jmp_far_indirect()
            || instruction.mnemonic() == Mnemonic::Retf;
        let cost = system_cost(instruction.mnemonic()).map(|cost| (cost.uops, cost.cycles, cost.order));
        let cost = match cost {
            Some(cost) => cost,
            None if instruction.mnemonic() == Mnemonic::Pause => (4, core.flows.pause, Order::Free),
            None if mov_special => {
                let writes = instruction.op0_register().is_cr() || instruction.op0_register().is_dr();
                if writes { (20, 100, Order::Serialising) } else { (4, 25, Order::Free) }
            }
            None if far => (40, 100, Order::Serialising),
            None => return,
        };
        let (uops, cycles, order) = cost;
        self.slots = uops;
        self.compute = cycles;
        (self.group_count, self.load_groups) = (0, 0);
        self.traits.set(Traits::SERIALISING, order != Order::Free);
        self.traits.set(Traits::FENCE, order == Order::Fence);
    }

    /// An operation and its load are one uop for allocation, and so are a store's address and data.
    fn fuse(&mut self, instruction: &Instruction) {
        let other_operands = self.slots;
        let load = self.traits.any(Traits::LOAD) && other_operands > 1;
        let store = self.traits.any(Traits::STORE) && other_operands > 1;
        if self.slots <= 6 {
            self.slots = self.slots.saturating_sub(u16::from(load) + u16::from(store)).max(1);
        }
        let immediate = (0..instruction.op_count())
            .any(|n| instruction.op_kind(n) != OpKind::Register && instruction.op_kind(n) != OpKind::Memory);
        // A compare of memory with a constant does not fuse with the jump behind it; no RIP-relative one does.
        let fusible = !(has_memory(instruction) && (immediate || instruction.is_ip_rel_memory_operand()))
            && !self.traits.any(Traits::STORE);
        let kind = match instruction.mnemonic() {
            Mnemonic::Test | Mnemonic::And => Traits::FUSES_TEST,
            Mnemonic::Cmp | Mnemonic::Add | Mnemonic::Sub => Traits::FUSES,
            Mnemonic::Inc | Mnemonic::Dec => Traits::FUSES_NO_CARRY,
            _ => return,
        };
        self.traits.set(kind, fusible);
    }

    /// Zeroing idioms and moves that renaming does.
    fn eliminate(&mut self, instruction: &Instruction, core: &Core) {
        if self.traits.any(Traits::NOP) {
            (self.group_count, self.load_groups, self.compute) = (0, 0, 0);
            return;
        }
        if instruction.op_count() != 2
            || instruction.op0_kind() != OpKind::Register
            || instruction.op1_kind() != OpKind::Register
        {
            return;
        }
        let (to, from) = (instruction.op0_register(), instruction.op1_register());
        let zeroes = match instruction.mnemonic() {
            Mnemonic::Xor | Mnemonic::Sub => to.is_gpr32() || to.is_gpr64(),
            Mnemonic::Pxor | Mnemonic::Xorps | Mnemonic::Xorpd => to.is_xmm(),
            Mnemonic::Psubb | Mnemonic::Psubw | Mnemonic::Psubd | Mnemonic::Psubq => to.is_xmm(),
            _ => false,
        };
        if zeroes && to == from {
            self.rest.sources = 0;
            self.compute = 0;
            (self.group_count, self.load_groups) = (0, 0);
            return;
        }
        let moves = match instruction.mnemonic() {
            Mnemonic::Mov => {
                core.move_elimination && (to.is_gpr32() || to.is_gpr64()) && !from.is_segment_register()
            }
            Mnemonic::Movaps | Mnemonic::Movapd | Mnemonic::Movups | Mnemonic::Movdqa | Mnemonic::Movdqu => {
                to.is_xmm() && from.is_xmm()
            }
            _ => false,
        };
        if moves && to != from {
            self.compute = 0;
            (self.group_count, self.load_groups) = (0, 0);
        }
    }

    fn find_divider(&mut self, instruction: &Instruction, core: &Core) {
        let divider = core.flows.divider;
        let mnemonic = instruction.mnemonic();
        use Mnemonic as M;
        let cycles = match mnemonic {
            M::Div | M::Idiv => {
                let wide = matches!(instruction.code(), iced_x86::Code::Div_rm64 | iced_x86::Code::Idiv_rm64);
                if wide { divider.wide_integer } else { divider.integer }
            }
            M::Divss | M::Divps => divider.single,
            M::Divsd | M::Divpd => divider.double,
            M::Sqrtss | M::Sqrtps => divider.root_single,
            M::Sqrtsd | M::Sqrtpd => divider.root_double,
            M::Fdiv | M::Fdivp | M::Fdivr | M::Fdivrp | M::Fidiv | M::Fidivr => divider.double,
            M::Fsqrt => divider.root_double,
            _ => return,
        };
        self.divider = cycles;
        let integer = matches!(mnemonic, M::Div | M::Idiv);
        self.traits.set(if integer { Traits::INTEGER_DIVIDER } else { Traits::FP_DIVIDER }, true);
    }
}

/// Floating-point arithmetic, prefetches and flushes.
fn classify(instruction: &Instruction, traits: &mut Traits) -> (Traits, u8) {
    use Mnemonic as M;
    let (double, single, packed) = (Traits::FP_DOUBLE.0, Traits::FP_SINGLE.0, Traits::FP_PACKED.0);
    let fp = match instruction.mnemonic() {
        M::Addsd | M::Subsd | M::Mulsd | M::Divsd | M::Sqrtsd | M::Minsd | M::Maxsd => double,
        M::Addss
        | M::Subss
        | M::Mulss
        | M::Divss
        | M::Sqrtss
        | M::Minss
        | M::Maxss
        | M::Rcpss
        | M::Rsqrtss => single,
        M::Addpd
        | M::Subpd
        | M::Mulpd
        | M::Divpd
        | M::Sqrtpd
        | M::Minpd
        | M::Maxpd
        | M::Haddpd
        | M::Hsubpd
        | M::Addsubpd
        | M::Dppd => double | packed,
        M::Addps
        | M::Subps
        | M::Mulps
        | M::Divps
        | M::Sqrtps
        | M::Minps
        | M::Maxps
        | M::Haddps
        | M::Hsubps
        | M::Addsubps
        | M::Dpps
        | M::Rcpps
        | M::Rsqrtps => single | packed,
        _ => 0,
    };
    let prefetch = match instruction.mnemonic() {
        M::Prefetchnta => Some(0),
        M::Prefetcht0 => Some(1),
        M::Prefetcht1 | M::Prefetcht2 => Some(2),
        M::Prefetchw => Some(3),
        _ => None,
    };
    traits.set(Traits::PREFETCH, prefetch.is_some());
    traits.set(Traits::FLUSH, matches!(instruction.mnemonic(), M::Clflush | M::Clflushopt));
    (Traits(fp), prefetch.unwrap_or(0))
}

/// An operand-size prefix that changes the length of an immediate.
fn changes_length(instruction: &Instruction) -> bool {
    let immediate = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Immediate16);
    let natural = instruction.code_size() == CodeSize::Code16;
    immediate && !natural && instruction.op_count() > 1
}

fn has_memory(instruction: &Instruction) -> bool {
    instruction.op_kinds().any(|kind| kind == OpKind::Memory)
}

/// Latency of the load and of the rest.
fn split_latency(
    cost: &Cost,
    register_form: Option<&Cost>,
    explicit: bool,
    loads: bool,
    memory: bool,
) -> (u16, u16) {
    match register_form {
        Some(register) if explicit => {
            (cost.latency.saturating_sub(register.latency), register.latency.min(cost.latency))
        }
        // POP, RET and string instructions have no other form, and their latency includes the load.
        _ if loads && memory => (cost.latency.min(5), cost.latency.saturating_sub(5)),
        _ if loads => (cost.latency, 0),
        // A store's own latency is nobody's: the value goes to memory.
        _ if memory => (0, 1),
        _ => (0, cost.latency),
    }
}

fn flags(bits: u32) -> u64 {
    let others = RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::PF;
    u64::from(bits & RflagsBits::CF != 0) << CARRY | u64::from(bits & others != 0) << OTHER_FLAGS
}

/// True if the register is an operand itself, not only part of an address.
fn is_operand(instruction: &Instruction, register: u64) -> bool {
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && bit(instruction.op_register(operand)) == register
    }) || instruction.is_stack_instruction()
        || instruction.is_string_instruction()
}

/// Puts the registers of a set into places, of which the others are filled up; false if there are too few places.
fn one_by_one(mut set: u64, places: &mut [u8], filler: u8) -> bool {
    for place in places {
        *place = if set == 0 { filler } else { set.trailing_zeros() as u8 };
        set &= set.wrapping_sub(1);
    }
    set == 0
}

/// The register's bit; 0 for those that nothing waits for.
fn bit(register: Register) -> u64 {
    let full = register.full_register();
    if full.is_gpr64() {
        1 << full.number()
    } else if register.is_xmm() {
        1 << (XMM + register.number() as u8)
    } else if register.is_st() || register.is_mm() {
        1 << X87
    } else if register.is_cr() || register.is_segment_register() {
        // Reads of segments come with every memory access, and do not wait.
        0
    } else if register == Register::None || register.is_ip() {
        0
    } else {
        1 << SYSTEM
    }
}
