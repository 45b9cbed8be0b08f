//! An instruction as the model needs it, made once for all its executions.

use super::traits::Traits;
use super::units::UnitsInTurn;
use crate::core::{Core, MemoryOperands, MemoryRenaming, RenamedAccesses};
use crate::table::{Cost, Form, Order, SystemCost, UopTable, Uops};
use retire::{
    Addressing, Class, Divider, Domain, Encoding, Instruction, Prefetch, REGISTERS, RegisterFile,
    RegisterSet, Renaming,
};

/// Registers and places that stand for none: the bits of a [`RegisterSet`].
pub(crate) const RESOURCES: usize = 128;
/// In the place of a source: always ready.
pub(crate) const READY: u8 = 126;
/// In the place of a result: no instruction reads it.
const UNREAD: u8 = 127;
const _: () = assert!(REGISTERS <= READY as u32);
/// Most groups of uops that are told apart; what is more goes to the last group.
const GROUPS: usize = 7;
/// As many have almost all instructions.
const NEAR_GROUPS: usize = 3;
/// Most uops of an instruction whose load and store are fused with its operation.
const MOST_FUSED: u16 = 6;
/// Cycles from the address to the value of an instruction that also stores: those of a plain load.
const READ_MODIFY_WRITE_LOAD: u16 = 5;
/// Uops of PAUSE.
const PAUSE_UOPS: u16 = 4;

/// An instruction with its costs and what it depends on, in one cache line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Prepared {
    pub(crate) traits: Traits,
    /// Slots at allocation; 0 of a move that is one uop with the operation behind it.
    pub(crate) slots: u16,
    /// Cycles from the address to the loaded value; without a load, those that distant sources take longer.
    pub(crate) load: u16,
    /// Cycles from the last source to the result.
    pub(crate) compute: u16,
    /// The registers below one by one, unless there are too many.
    pub(crate) address_registers: [u8; 2],
    pub(crate) source_registers: [u8; 4],
    pub(crate) result_registers: [u8; 4],
    /// Where it begins in its block.
    pub(crate) offset: u16,
    /// Its length, from bit 4 on the constants among its bytes, and from bit 6 on where its opcode is.
    bytes: u8,
    /// What it adds to the stack pointer in the stack engine.
    pub(crate) stack_change: i8,
    group_count: u8,
    /// How many of the groups are loads, which come first, and above bit 4 how many of those behind them make addresses
    /// of stores.
    memory_groups: u8,
    /// See [`in_turn`](Self::in_turn), or, on cores that keep domains, what that is about.
    pub(crate) operation: u8,
    /// Slots that it takes at allocation beyond those in the queue in front of it.
    pub(crate) unlaminated: u8,
    pub(crate) register_file: RegisterFile,
    /// The register that it writes back its address to.
    pub(crate) base_register: u8,
    /// The first 16 registers that it writes.
    pub(crate) first_results: u16,
    near_groups: [Uops; NEAR_GROUPS],
    pub(crate) rest: Box<Rest>,
}

/// What few executions need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rest {
    groups: [Uops; GROUPS],
    /// Registers that the address is made of, other sources, those of all these that are distant, and results: a bit
    /// for each.
    pub(crate) address: RegisterSet,
    pub(crate) sources: RegisterSet,
    pub(crate) distant: RegisterSet,
    pub(crate) results: RegisterSet,
    /// A result that comes some cycles later than the others.
    pub(crate) second: (u8, u16),
    /// Cycles that a divider is busy.
    pub(crate) divider: u16,
    /// Part of the vector unit.
    pub(crate) domain: Domain,
    /// Floating-point operations by kind.
    pub(crate) flops: [u8; 4],
    /// What it adds to the count of packed instructions.
    pub(crate) fp_count: u64,
    /// Bytes of the register.
    pub(crate) fp_width: u8,
    /// PAUSE.
    pub(crate) pauses: bool,
    /// A string instruction that compares or loads, an iteration at a time.
    pub(crate) compares: bool,
    /// What its address is made of: see [`retire::Encoding::expression`].
    pub(crate) expression: u8,
    /// See [`retire::Encoding::joined_move`].
    pub(crate) joined_move: u8,
    /// Of a software prefetch.
    pub(crate) prefetch: Prefetch,
}

const _: () = assert!(size_of::<Prepared>() == 64);

impl Prepared {
    /// True if it is enough to know which registers it reads and writes.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        !self.traits.intersects(Traits::LOAD | Traits::STORE | Traits::RARE)
    }

    /// Its length in bytes.
    #[inline(always)]
    pub(crate) fn length(&self) -> u8 {
        self.bytes & 0xF
    }

    /// Its displacement and immediate value, if the uop cache makes something of them.
    #[inline(always)]
    pub(crate) fn constants(&self) -> u8 {
        self.bytes >> 4 & 3
    }

    /// Where its opcode is, in bytes from its start; 3 for farther.
    #[inline(always)]
    pub(crate) fn opcode(&self) -> u8 {
        self.bytes >> 6
    }

    /// True if what an execution does to the pipeline depends on nothing but the state of the pipeline and on the
    /// answers that it gets.
    #[inline(always)]
    pub(crate) fn is_repeatable(&self) -> bool {
        !self.traits.intersects(Traits::STRING | Traits::PREFETCH | Traits::FLUSH)
    }

    /// True if it has uops that execute.
    #[inline(always)]
    pub(crate) fn has_groups(&self) -> bool {
        self.group_count > 0
    }

    /// Uops in groups that can go to the same ports.
    #[inline(always)]
    pub(crate) fn groups(&self) -> &[Uops] {
        let count = usize::from(self.group_count);
        self.near_groups.get(..count).unwrap_or_else(|| &self.rest.groups[..count.min(GROUPS)])
    }

    /// The groups that load, those that make addresses of stores, and the others.
    #[inline(always)]
    pub(crate) fn split_groups(&self) -> (&[Uops], &[Uops], &[Uops]) {
        let (loads, others) = self.groups().split_at(self.load_groups().into());
        let (addresses, others) = others.split_at((self.memory_groups >> 4).into());
        (loads, addresses, others)
    }

    #[inline(always)]
    fn load_groups(&self) -> u8 {
        self.memory_groups & 15
    }

    /// Of uops that take units in turn: the turns that they can have, a bit each, and how many they are, at most 15; 0
    /// of each if there are none.
    #[inline(always)]
    pub(crate) fn in_turn(&self) -> (u8, u8) {
        (self.operation & 15, self.operation >> 4)
    }

    /// Finds its first uops that take these units in turn.
    pub(super) fn find_operation(&mut self, units: UnitsInTurn) {
        let (_, _, others) = self.split_groups();
        let operation = others.iter().find(|uops| units.include(uops.units));
        self.operation =
            operation.map_or(0, |uops| units.turns(uops.units) | (uops.cycles.min(15) as u8) << 4);
    }

    /// Gives each register its place.
    fn place_registers(&mut self) {
        let address = one_by_one(self.rest.address, &mut self.address_registers, READY);
        let sources = one_by_one(self.rest.sources, &mut self.source_registers, READY);
        let results = one_by_one(self.rest.results, &mut self.result_registers, UNREAD);
        self.traits.set(Traits::MANY_REGISTERS, !(address && sources && results) || self.rest.second.1 > 0);
    }

    /// As the table says; `None` if the table does not know the instruction.
    pub(crate) fn from_table(instruction: &Instruction, table: &UopTable) -> Option<Self> {
        let form = if instruction.memory_operand { Form::Memory } else { Form::Register };
        let Encoding { addressing, scaled, .. } = instruction.encoding;
        let special = [(scaled, Form::Scaled), (addressing == Addressing::All, Form::Complex)];
        let mut special = special
            .iter()
            .filter_map(|&(has, form)| if has { table.cost(instruction.form, form) } else { None });
        let cost = special.next().or_else(|| table.cost(instruction.form, form))?;
        let register_form = table.cost(instruction.form, Form::Register);
        Some(Self::with_cost(instruction, cost, register_form, table.load_units()))
    }

    /// As the core executes it: with fused uops, eliminated moves and microcode.
    pub(crate) fn new(instruction: &Instruction, core: &Core, table: &UopTable) -> Self {
        let mut prepared = Self::from_table(instruction, table).unwrap_or_else(|| {
            // As a class: an operation of one cycle on any port.
            let cost = Cost { slots: 1, latency: 1, load: None, second: 0, uops: Vec::new() };
            Self::with_cost(instruction, &cost, None, 0)
        });
        // A jump or NOP without uops still needs a slot.
        prepared.slots = prepared.slots.max(1);
        let pause = SystemCost { slots: PAUSE_UOPS, cycles: core.flows.pause, order: Order::Holding };
        let pause = (instruction.class == Class::Pause).then_some(pause);
        if let Some(cost) = table.system_cost(instruction.form).or(pause) {
            prepared.apply_system(cost);
        }
        prepared.separate(instruction, table.load_units());
        if core.fusion {
            prepared.fuse(instruction, core.memory_operands);
        }
        prepared.rename(instruction, core);
        if let Some(cost) = table.high_byte_cost()
            && instruction.encoding.high_byte
        {
            prepared.take_cost_of_high_byte(cost);
        }
        if let Some(divider) = instruction.divider {
            prepared.rest.divider = divider_cycles(divider, core);
            prepared.traits.set_divider(divider);
        }
        let string = prepared.traits.intersects(Traits::STRING);
        let decoded = u32::from(prepared.slots) <= core.front_end.decoder_uops && !string;
        prepared.traits.set(Traits::MICROCODED, !decoded);
        prepared.unlaminate(instruction, core.memory_operands);
        prepared.encode(instruction, core);
        let branch = instruction.class == Class::DirectBranch;
        prepared.traits.set(Traits::OWN_DECODER, branch && core.front_end.branch_decoder);
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
    ) -> Self {
        let &Instruction { loads, stores, address, sources, distant, results, base, arithmetic, .. } =
            instruction;
        let (load, compute) = split_latency(instruction, cost, register_form);
        let mut groups = [Uops { units: 0, cycles: 0 }; GROUPS];
        let mut group_count = 0;
        let is_load = |uops: &&Uops| uops.units & !load_units == 0;
        // Addresses of stores have the ports of loads, and others beside them.
        let is_address = |uops: &&Uops| {
            stores && load_units != 0 && uops.units & load_units == load_units && !is_load(uops)
        };
        let loading = cost.uops.iter().filter(is_load);
        let addressing = cost.uops.iter().filter(is_address);
        let address_groups = addressing.clone().count();
        let others = cost.uops.iter().filter(|uops| !is_load(uops) && !is_address(uops));
        let load_groups = if loads { loading.clone().count().min(GROUPS) } else { 0 };
        for uops in loading.chain(addressing).chain(others) {
            if group_count < GROUPS {
                groups[group_count] = *uops;
                group_count += 1;
            } else {
                groups[GROUPS - 1].cycles += uops.cycles;
            }
        }
        let [first, second, third, ..] = groups;
        let mut prepared = Self {
            traits: Traits::of(instruction),
            slots: cost.slots,
            load,
            compute,
            address_registers: [READY; 2],
            source_registers: [READY; 4],
            result_registers: [UNREAD; 4],
            offset: instruction.offset,
            bytes: instruction.length & 0xF | instruction.encoding.opcode.min(3) << 6,
            stack_change: 0,
            group_count: group_count as u8,
            memory_groups: (load_groups | address_groups.min(GROUPS - load_groups) << 4) as u8,
            operation: 0,
            unlaminated: 0,
            register_file: instruction.register_file,
            base_register: base.unwrap_or(UNREAD),
            first_results: results as u16,
            near_groups: [first, second, third],
            rest: Box::new(Rest {
                groups,
                address,
                sources,
                distant,
                results,
                second: second_result(results, cost.second),
                divider: 0,
                domain: instruction.domain,
                flops: arithmetic.map_or([0; 4], |arithmetic| arithmetic.operations),
                fp_count: arithmetic.map_or(1, |arithmetic| arithmetic.count.into()),
                fp_width: arithmetic.map_or(16, |arithmetic| arithmetic.width),
                pauses: instruction.class == Class::Pause,
                compares: instruction.class == (Class::Repeated { compares: true }),
                expression: instruction.encoding.expression,
                joined_move: instruction.encoding.joined_move,
                prefetch: match instruction.class {
                    Class::Prefetch(prefetch) => prefetch,
                    _ => Prefetch::NonTemporal,
                },
            }),
        };
        prepared.place_registers();
        prepared
    }

    /// Replaces LLVM's costs, which leave out what microcode does.
    fn apply_system(&mut self, cost: SystemCost) {
        self.slots = cost.slots;
        self.compute = cost.cycles;
        self.drop_uops();
        self.traits.set(Traits::HOLDING, cost.order == Order::Holding);
        self.traits.set(Traits::SERIALISING, matches!(cost.order, Order::Serialising | Order::Fence));
        self.traits.set(Traits::FENCE, cost.order == Order::Fence);
    }

    /// What LLVM's models say of an instruction as a whole, for each of its parts.
    fn separate(&mut self, instruction: &Instruction, load_units: u32) {
        let &Instruction { loads, stores, memory_operand, encoding, .. } = instruction;
        if loads && !stores && self.group_count == self.load_groups() {
            // A plain load computes nothing.
            self.load += std::mem::take(&mut self.compute);
        } else if loads && stores {
            self.load = self.load.min(READ_MODIFY_WRITE_LOAD);
        } else if stores && !loads && (memory_operand || encoding.stack_change != 0) {
            // Its value can be forwarded as soon as it is there, that of PUSH too.
            self.compute = 0;
        }
        if stores && matches!(encoding.addressing, Addressing::Index | Addressing::All) {
            // A port for addresses of stores beside those of loads has no adder for an index.
            for uops in self.near_groups.iter_mut().chain(&mut self.rest.groups) {
                if uops.units & load_units == load_units {
                    uops.units = load_units;
                }
            }
        }
    }

    /// What the encoding says, on cores that make something of it.
    fn encode(&mut self, instruction: &Instruction, core: &Core) {
        let encoding = &instruction.encoding;
        let &Encoding {
            addressing,
            stack_change,
            stack_pointer,
            wide,
            plain_access,
            whole_access,
            operand_access,
            ..
        } = encoding;
        let general = instruction.register_file == RegisterFile::General;
        let near = core.memory.fast_pointer && instruction.loads && general && addressing == Addressing::Near;
        self.traits.set(Traits::NEAR, near);
        let plain = instruction.loads && !instruction.stores && self.group_count == self.load_groups();
        let follows = match core.memory.renames_memory {
            MemoryRenaming::None => false,
            MemoryRenaming::Plain => plain_access,
            MemoryRenaming::Predicted { accesses: RenamedAccesses::Whole, .. } => whole_access,
            MemoryRenaming::Predicted { accesses: RenamedAccesses::Operand, .. } => operand_access,
        };
        self.traits.set(Traits::RENAMED, follows && general && !instruction.locked);
        if instruction.loads && encoding.scaled {
            self.load += core.memory.scaled_index;
        } else if instruction.loads && addressing == Addressing::All {
            self.load += core.memory.displaced_index;
        }
        self.traits.set(Traits::LOADED, plain && general);
        self.traits.set(Traits::MOVE, core.move_elimination && instruction.renaming == Renaming::Move);
        let constants = if core.front_end.uop_cache_instructions > 0 { encoding.constants } else { 0 };
        self.bytes |= constants.min(3) << 4;
        self.traits.set(Traits::WIDE, wide && core.front_end.wide_alone);
        if core.stack_engine.is_some() {
            let (register, _) = core.stack_engine.unwrap_or_default();
            let writes = instruction.results >> register & 1 == 1;
            // Where renaming adds, it adds what the stack engine has to add, too.
            let synchronises = (writes || core.reads_synchronise) && !core.adds_at_renaming;
            self.traits.set(Traits::STACK_POINTER, stack_pointer && synchronises);
            self.stack_change = stack_change;
        }
    }

    /// An operation and its load are one uop for allocation, and so are a store's address and data. Of
    /// macro-operations, which have them already, an operation that loads and stores is two.
    fn fuse(&mut self, instruction: &Instruction, operands: MemoryOperands) {
        if operands == MemoryOperands::MacroUnlessIndexed {
            let both = instruction.loads && instruction.stores && self.slots == 1;
            self.slots += u16::from(both);
        } else if (2..=MOST_FUSED).contains(&self.slots) {
            let fused = u16::from(instruction.loads) + u16::from(instruction.stores);
            self.slots = self.slots.saturating_sub(fused).max(1);
            if instruction.loads && instruction.stores {
                // Load and operation are one uop, address and data of the store another one.
                self.slots = self.slots.max(2);
            }
        }
        self.traits.set_fusion(instruction.fusion);
    }

    /// An operation and its memory operand that cannot stay one uop.
    fn unlaminate(&mut self, instruction: &Instruction, operands: MemoryOperands) {
        let &Instruction { loads, stores, encoding, .. } = instruction;
        let indexed = matches!(encoding.addressing, Addressing::Index | Addressing::All);
        let with_load = loads && !stores && self.group_count > self.load_groups() && self.load_groups() > 0;
        let unlaminates = match operands {
            MemoryOperands::Fused => false,
            MemoryOperands::FusedUnlessIndexed => with_load && !encoding.two_operands,
            MemoryOperands::MacroUnlessIndexed => {
                let integer = instruction.register_file == RegisterFile::General;
                integer && self.slots == 1 && (with_load || stores && !loads)
            }
        };
        if indexed && unlaminates {
            self.unlaminated = 1;
            self.slots += 1;
        }
    }

    /// What renaming does.
    fn rename(&mut self, instruction: &Instruction, core: &Core) {
        let nop = self.traits.intersects(Traits::NOP);
        let eliminated = match instruction.renaming {
            Renaming::Zero => {
                self.rest.sources = 0;
                true
            }
            Renaming::Move => core.move_elimination && !self.moves_stack_pointer(core),
            Renaming::OwnMove => core.own_move_elimination && !self.moves_stack_pointer(core),
            Renaming::Borrow(register) => {
                if core.breaks_borrow {
                    self.rest.sources &= !(1 << register);
                }
                false
            }
            Renaming::VectorMove => true,
            Renaming::Offset | Renaming::Extension => core.adds_at_renaming,
            Renaming::Independent => {
                self.rest.sources = 0;
                false
            }
            Renaming::None => nop,
        };
        if eliminated {
            self.compute = 0;
            self.drop_uops();
        }
    }

    /// It is a move from the stack pointer, on a core that executes those.
    fn moves_stack_pointer(&self, core: &Core) -> bool {
        let pointer = core.stack_engine.map_or(0, |(register, _)| 1 << register);
        core.moves_stack_pointer && self.rest.sources & pointer != 0
    }

    /// If a jump behind this instruction becomes one uop with it, that uop goes where jumps go; to `with_result`, if
    /// that is other units and it has a result.
    pub(crate) fn take_ports_of(&mut self, jump: &Self, with_result: u32) {
        if !self.traits.fuses_with(jump.traits) {
            return;
        }
        let Some(&Uops { units, .. }) = jump.groups().first() else { return };
        let units = if with_result != 0 && self.first_results != 0 { with_result } else { units };
        let places = usize::from(self.load_groups())..usize::from(self.group_count);
        for place in places {
            let Some(group) = self.rest.groups.get_mut(place) else { return };
            if group.units & units == units || with_result != 0 && group.units & units != 0 {
                group.units = units;
                if let Some(near) = self.near_groups.get_mut(place) {
                    *near = *group;
                }
                return;
            }
        }
    }

    /// A move becomes one uop with the operation behind it, if that works on as many bytes of its destination: it takes
    /// no slot, and the operation has the source of the move.
    pub(crate) fn join(&mut self, operation: &mut Self) {
        let target = self.first_results;
        let joins = self.traits.intersects(Traits::MOVE)
            && self.rest.joined_move != 0
            && self.rest.joined_move == operation.rest.joined_move
            && target != 0
            && target & operation.first_results == target
            && !operation.traits.intersects(Traits::MOVE);
        if joins {
            self.slots = 0;
            operation.rest.sources = operation.rest.sources & !RegisterSet::from(target) | self.rest.sources;
            operation.place_registers();
        }
    }

    /// An operation on the second byte of a register, but for its load; a store only stores.
    fn take_cost_of_high_byte(&mut self, cost: &Cost) {
        let (Some(uops), loads) = (cost.uops.first(), usize::from(self.load_groups())) else { return };
        if self.traits.intersects(Traits::STORE) || loads >= usize::from(self.group_count) {
            return;
        }
        self.compute = cost.latency;
        for group in self.rest.groups.iter_mut().take(self.group_count.into()).skip(loads) {
            group.units = uops.units;
        }
        for (near, group) in self.near_groups.iter_mut().zip(&self.rest.groups) {
            *near = *group;
        }
    }

    fn drop_uops(&mut self) {
        (self.group_count, self.memory_groups) = (0, 0);
    }
}

fn divider_cycles(divider: Divider, core: &Core) -> u16 {
    let cycles = &core.flows.divider;
    match divider {
        Divider::Integer => cycles.integer,
        Divider::WideInteger => cycles.wide_integer,
        Divider::Single => cycles.single,
        Divider::Double => cycles.double,
        Divider::RootSingle => cycles.root_single,
        Divider::RootDouble => cycles.root_double,
    }
}

/// The second of these registers, for a number of cycles.
fn second_result(results: RegisterSet, cycles: u16) -> (u8, u16) {
    let others = results & results.wrapping_sub(1);
    if others == 0 { (UNREAD, 0) } else { (others.trailing_zeros() as u8, cycles) }
}

/// Latency of the load and of the rest.
fn split_latency(instruction: &Instruction, cost: &Cost, register_form: Option<&Cost>) -> (u16, u16) {
    let &Instruction { memory_operand, loads, stores, .. } = instruction;
    let memory = memory_operand || stores;
    if let Some(load) = cost.load {
        return (load, cost.latency.saturating_sub(load));
    }
    match register_form {
        Some(register) if memory_operand && loads => {
            (cost.latency.saturating_sub(register.latency), register.latency.min(cost.latency))
        }
        // POP, RET and string instructions have no other form, and their latency includes the load.
        _ if loads && memory => (cost.latency.min(5), cost.latency.saturating_sub(5)),
        _ if loads => (cost.latency, 0),
        // No instruction waits for a store: the value goes to memory.
        _ if stores => (0, 1),
        _ => (0, cost.latency),
    }
}

/// Puts the registers of a set into places, of which the others are filled up; false if there are too few places.
fn one_by_one(mut set: RegisterSet, places: &mut [u8], filler: u8) -> bool {
    for place in places {
        *place = if set == 0 { filler } else { set.trailing_zeros() as u8 };
        set &= set.wrapping_sub(1);
    }
    set == 0
}
