//! Whatever software does to tables, contexts and the TLB: an access finds what the tables say, or what the
//! architecture lets a TLB still know (Arm ARM D8.13, D8.14).

use super::naive::{self, Leaf};
use super::{Memory, Registers};
use crate::mmu::{Intent, Invalidation, Mmu, Request, Status, view};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// First tables of TTBR0_EL1 for two processes, and of TTBR1_EL1 for the kernel and for user mode.
const LOWER: [u64; 2] = [0x1_0000, 0x1_1000];
const UPPER: [u64; 2] = [0x1_2000, 0x1_3000];
/// Tables of level 2, of which a first table has one each; and of level 3, which anyone may use.
const LEVEL_2: [u64; 4] = [0x2_0000, 0x2_1000, 0x2_2000, 0x2_3000];
const LEVEL_3: [u64; 3] = [0x3_0000, 0x3_1000, 0x3_2000];
const ASIDS: u64 = 3;
/// RAM for data.
const DATA: u64 = 0x4000_0000;

/// The addresses that are looked at: pages of a half, as index of level 2 and level 3.
const PLACES: [(u64, u64); 5] = [(0, 0), (0, 1), (0, 511), (1, 0), (1, 1)];

const INTENTS: [Intent; 3] = [Intent::Read, Intent::Write, Intent::Fetch];

fn address(upper: bool, place: usize) -> u64 {
    let (two, three) = PLACES[place];
    let offset = two << 21 | three << 12;
    if upper { 0xFFFF_FF80_0000_0000 | offset } else { offset }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A descriptor of level 2: table or index, what for.
    SetTwo(usize, u64, u64),
    /// A descriptor of level 3.
    SetThree(usize, u64, u64),
    Switch {
        lower: usize,
        upper: usize,
        asid: u64,
    },
    InvalidateAll,
    InvalidateAsid(u64),
    /// By address, for an ASID or for all.
    InvalidateAddress {
        upper: bool,
        place: usize,
        asid: Option<u64>,
    },
    Access {
        upper: bool,
        place: usize,
        intent: Intent,
        el0: bool,
    },
    /// To every address, in every way.
    Sweep,
}

/// Attributes: nG, read-only, EL0, UXN, PXN; sometimes without access flag.
fn attributes() -> impl Strategy<Value = u64> {
    (0..4_u64, 0..4_u64, 0..4_u64, 0..8_u64).prop_map(|(global, rights, never, flag)| {
        u64::from(global != 0) << 11 | rights << 6 | never << 53 | u64::from(flag != 0) << 10
    })
}

/// What an operating system does: a descriptor is changed, and then its translation is dropped; others look.
fn replacement() -> impl Strategy<Value = Vec<Step>> {
    (step(), any::<bool>(), 0..PLACES.len(), prop::option::of(0..ASIDS)).prop_map(
        |(step, upper, place, asid)| {
            vec![Step::Sweep, step, Step::InvalidateAddress { upper, place, asid }, Step::Sweep]
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = prop_oneof![4 => step().prop_map(|step| vec![step]), 1 => replacement()];
    prop::collection::vec(some, 1..80).prop_map(|steps| steps.concat())
}

fn step() -> impl Strategy<Value = Step> {
    let frame = || 0..6_u64;
    let two = prop_oneof![
        2 => (0..LEVEL_3.len()).prop_map(|table| LEVEL_3[table] | 3),
        1 => (frame(), attributes()).prop_map(|(frame, attributes)| (DATA + (frame << 21)) | attributes | 1),
        1 => Just(0),
    ];
    let three = prop_oneof![
        4 => (frame(), attributes()).prop_map(|(frame, attributes)| (DATA + (frame << 12)) | attributes | 3),
        1 => Just(0),
    ];
    let three_index = prop::sample::select(vec![0, 1, 511_u64]);
    let intents = prop::sample::select(INTENTS.to_vec());
    let place = || 0..PLACES.len();
    prop_oneof![
        2 => (0..LEVEL_2.len(), 0..2_u64, two).prop_map(|(table, index, to)| Step::SetTwo(table, index, to)),
        3 => (0..LEVEL_3.len(), three_index, three).prop_map(|(table, index, to)| Step::SetThree(table, index, to)),
        5 => (0..2_usize, 0..2_usize, 0..ASIDS).prop_map(|(lower, upper, asid)| Step::Switch { lower, upper, asid }),
        1 => Just(Step::InvalidateAll),
        1 => (0..ASIDS).prop_map(Step::InvalidateAsid),
        3 => (any::<bool>(), place(), prop::option::of(0..ASIDS))
            .prop_map(|(upper, place, asid)| Step::InvalidateAddress { upper, place, asid }),
        4 => Just(Step::Sweep),
        8 => (any::<bool>(), place(), intents, any::<bool>())
            .prop_map(|(upper, place, intent, el0)| Step::Access { upper, place, intent, el0 }),
    ]
}

/// All that a TLB may know: translations of a context that were there at some time since they were last to go.
#[derive(Default)]
struct Allowed(Vec<Cached>);

#[derive(PartialEq)]
struct Cached {
    /// First address of the page or block.
    va: u64,
    /// `None`: global.
    asid: Option<u64>,
    leaf: Leaf,
}

impl Cached {
    fn covers(&self, va: u64) -> bool {
        self.va == va & !(self.leaf.size - 1)
    }
}

impl Allowed {
    /// A CPU may have walked to any address meanwhile.
    fn speculate(&mut self, memory: &Memory, registers: &Registers, asid: u64) {
        for upper in [false, true] {
            for place in 0..PLACES.len() {
                let va = address(upper, place);
                let Ok(leaf) = naive::leaf(memory, registers, va) else { continue };
                let asid = (leaf.descriptor >> 11 & 1 != 0).then_some(asid);
                let cached = Cached { va: va & !(leaf.size - 1), asid, leaf };
                if !self.0.contains(&cached) {
                    self.0.push(cached);
                }
            }
        }
    }
}

/// The CPU's side: data by the TLB, code by its tag, as the interpreter does.
struct Subject {
    mmu: Mmu,
    memory: Memory,
    registers: Registers,
    /// Physical address of code by its address and tag.
    known: BTreeMap<(u64, u64), u64>,
}

impl Subject {
    fn access(&mut self, va: u64, intent: Intent, el0: bool) -> Result<u64, u32> {
        let selected = self.mmu.select(&self.registers.regime(), el0);
        let code = (va, selected.code_tag);
        let entry = self.mmu.tlb.entry(selected.view, va);
        let quick = match intent {
            Intent::Read => entry.readable(va, 8),
            Intent::Write => entry.writable(va, 8),
            _ => self.known.get(&code).copied(),
        };
        if let Some(position) = quick {
            return Ok(position);
        }
        let request = Request { intent, el0, aligned: true };
        let translation = self.mmu.translate(&mut self.memory, va, request, selected.view, true);
        let translation = translation.map_err(Status::code)?;
        if intent == Intent::Fetch {
            self.mmu.note_code(va, translation.size);
            self.known.insert(code, translation.address);
        }
        Ok(translation.address)
    }
}

fn start() -> Memory {
    let mut memory = Memory::default();
    for (first, second) in LOWER.into_iter().chain(UPPER).zip(LEVEL_2) {
        memory.set_word(first, second | 3);
        memory.set_word(second, LEVEL_3[0] | 3);
    }
    for table in LEVEL_3 {
        memory.set_word(table, 0);
    }
    for page in 0..6 {
        memory.set_word(DATA + (page << 12), 0);
        for two in 1..6 {
            // Where the addresses are in blocks.
            memory.set_word(DATA + (two << 21) + (page << 12), 0);
            memory.set_word(DATA + (two << 21) + (511 << 12), 0);
        }
    }
    memory
}

/// Accesses an address, and says what is wrong with what was found.
fn judge(
    subject: &mut Subject,
    allowed: &Allowed,
    asid: u64,
    va: u64,
    intent: Intent,
    el0: bool,
) -> Result<(), String> {
    let registers = subject.registers;
    let fresh = naive::access(&subject.memory, &registers, va, intent, el0, true);
    let found = subject.access(va, intent, el0);
    let is_found = |outcome: Result<naive::Found, u32>| outcome.map(|there| there.address) == found;
    let stale = allowed.0.iter().any(|cached| {
        cached.covers(va)
            && cached.asid.is_none_or(|of| of == asid)
            && is_found(cached.leaf.access(&registers, va, intent, el0, true))
    });
    if is_found(fresh) || stale {
        return Ok(());
    }
    Err(format!("{intent:?} at {va:#x}, el0 {el0}, is {found:x?}, the tables say {fresh:x?}"))
}

/// Runs the steps; `asid_of_upper` is TCR_EL1.A1, and `narrow` leaves 8 bits of ASIDs, of which the others are noise.
fn check(steps: &[Step], asid_of_upper: bool, narrow: bool) -> Result<(), TestCaseError> {
    let tcr = Registers::USUAL.tcr & !(1 << 36) | u64::from(asid_of_upper) << 22 | u64::from(!narrow) << 36;
    let noise = if narrow { 0x5500 } else { 0 };
    let registers = Registers { tcr, tables: [LOWER[0], UPPER[0]], ..Registers::USUAL };
    let mut subject = Subject { mmu: Mmu::default(), memory: start(), registers, known: BTreeMap::new() };
    let mut allowed = Allowed::default();
    let mut current = 0;
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::SetTwo(table, index, descriptor) => {
                subject.memory.set_word(LEVEL_2[table] + index * 8, descriptor);
            }
            Step::SetThree(table, index, descriptor) => {
                subject.memory.set_word(LEVEL_3[table] + index * 8, descriptor);
            }
            Step::Switch { lower, upper, asid } => {
                current = asid;
                // The ASID of the other register means nothing.
                let other = (number as u64 % 5) << 48;
                let asid = (asid | if number % 2 == 0 { noise } else { 0 }) << 48;
                let (low, high) = if asid_of_upper { (other, asid) } else { (asid, other) };
                subject.registers.tables = [LOWER[lower] | low, UPPER[upper] | high];
                subject.mmu.select(&subject.registers.regime(), false);
            }
            Step::InvalidateAll => {
                subject.mmu.invalidate(Invalidation::decode(0, 0).unwrap());
                allowed.0.clear();
            }
            Step::InvalidateAsid(asid) => {
                subject.mmu.invalidate(Invalidation::decode(2, (asid | noise) << 48).unwrap());
                allowed.0.retain(|cached| cached.asid != Some(asid));
            }
            Step::InvalidateAddress { upper, place, asid } => {
                let va = address(upper, place);
                let op2 = if asid.is_some() { 1 } else { 3 };
                let operand = (asid.unwrap_or(0) | noise) << 48 | va >> 12 & ((1 << 44) - 1);
                subject.mmu.invalidate(Invalidation::decode(op2, operand).unwrap());
                allowed.0.retain(|cached| {
                    let meant = asid.is_none() || cached.asid.is_none() || cached.asid == asid;
                    !(meant && cached.covers(va))
                });
            }
            Step::Access { upper, place, intent, el0 } => {
                let outcome = judge(&mut subject, &allowed, current, address(upper, place), intent, el0);
                prop_assert!(outcome.is_ok(), "step {}: {}", number, outcome.unwrap_err());
            }
            Step::Sweep => {
                for (upper, place) in
                    [false, true].into_iter().flat_map(|upper| (0..PLACES.len()).map(move |at| (upper, at)))
                {
                    for (intent, el0) in
                        INTENTS.into_iter().flat_map(|intent| [(intent, false), (intent, true)])
                    {
                        let outcome =
                            judge(&mut subject, &allowed, current, address(upper, place), intent, el0);
                        prop_assert!(outcome.is_ok(), "step {}: {}", number, outcome.unwrap_err());
                    }
                }
            }
        }
        allowed.speculate(&subject.memory, &subject.registers, current);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_access_finds_what_is_or_what_may_be_remembered(
        steps in steps(),
        asid_of_upper in any::<bool>(),
        narrow in any::<bool>(),
    ) {
        check(&steps, asid_of_upper, narrow)?;
    }
}

/// Of a context, which is as good as any.
fn switch(asid: u64) -> Registers {
    Registers { tables: [LOWER[0] | asid << 48, UPPER[0]], ..Registers::USUAL }
}

#[test]
fn switching_back_finds_what_was_known() {
    let mut subject =
        Subject { mmu: Mmu::default(), memory: start(), registers: switch(1), known: BTreeMap::new() };
    subject.memory.set_word(LEVEL_3[0], DATA | 1 << 11 | 1 << 10 | 3);
    subject.access(0, Intent::Read, false).unwrap();
    let before = subject.mmu.select(&subject.registers.regime(), false);
    for asid in 2..8 {
        let other = subject.mmu.select(&switch(asid).regime(), false);
        assert_ne!(other, before);
        assert!(subject.mmu.tlb.entry(other.view, 0).readable(0, 8).is_none());
        assert_eq!(subject.mmu.select(&switch(1).regime(), false), before);
        assert!(subject.mmu.tlb.entry(before.view, 0).readable(0, 8).is_some());
    }
}

#[test]
fn a_table_that_becomes_valid_needs_no_tlbi() {
    let mut subject =
        Subject { mmu: Mmu::default(), memory: start(), registers: switch(1), known: BTreeMap::new() };
    for intent in [Intent::Read, Intent::Write, Intent::Fetch] {
        subject.memory.set_word(LEVEL_3[0] + 8, 0);
        let upper = intent == Intent::Fetch;
        let va = address(upper, 1);
        subject.mmu.invalidate(Invalidation::All);
        assert_eq!(subject.access(va, intent, false), Err(0b00_0111));
        subject.memory.set_word(LEVEL_3[0] + 8, DATA | 1 << 10 | 3);
        assert_eq!(subject.access(va, intent, false), Ok(DATA));
    }
}

#[test]
fn other_registers_drop_everything() {
    let registers = switch(1);
    let mut subject = Subject { mmu: Mmu::default(), memory: start(), registers, known: BTreeMap::new() };
    subject.memory.set_word(LEVEL_3[0], DATA | 1 << 10 | 3);
    for change in [
        Registers { sctlr: 1 | 1 << 19, ..registers },
        Registers { tcr: registers.tcr & !0x3F | 26, ..registers },
        Registers { mair: 0xFF, ..registers },
    ] {
        subject.registers = registers;
        subject.access(0, Intent::Read, false).unwrap();
        let before = subject.mmu.select(&registers.regime(), false);
        let after = subject.mmu.select(&change.regime(), false);
        assert!(subject.mmu.tlb.entry(after.view, 0).readable(0, 8).is_none());
        assert_ne!(after.code_tag, before.code_tag);
    }
}

#[test]
fn memory_that_wants_alignment_is_not_remembered() {
    let mut subject =
        Subject { mmu: Mmu::default(), memory: start(), registers: switch(1), known: BTreeMap::new() };
    subject.memory.set_word(LEVEL_3[0], DATA | 1 << 10 | 1 << 2 | 3);
    subject.access(0, Intent::Read, false).unwrap();
    assert!(subject.mmu.tlb.entry(view::of_el0(0) | 1, 0).readable(0, 8).is_none());
}
