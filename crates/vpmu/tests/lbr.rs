//! Last branch records: any guest on any branches, against lists of branches.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use vpmu::event::Event;
use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS};
use vpmu::source::ScriptedSource;
use vpmu::state::VpmuState;
use vpmu::{Answer, BranchKind, BranchRecord, Level, Profile, ReadOutcome, Vpmu, WriteOutcome};

const DEBUGCTL: u32 = 0x1D9;
const STATUS: u32 = 0x38E;
const STATUS_RESET: u32 = 0x390;
const STATUS_SET: u32 = 0x391;
const LBR_FROZEN: u64 = 1 << 58;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Legacy,
    Arch,
}

/// What a guest and its CPU do.
#[derive(Debug, Clone)]
enum Op {
    Branch {
        kind: BranchKind,
        to: u64,
        from_cpl: u8,
        cpl: u8,
        mispredicted: bool,
        cycles: u64,
    },
    /// IA32_DEBUGCTL.
    DebugCtl(u64),
    /// LBR_SELECT or IA32_LBR_CTL, as a change of bits.
    Control(u64),
    /// The top of the stack or IA32_LBR_DEPTH.
    Position(u64),
    /// FROM, TO or INFO of an entry.
    Entry {
        row: u32,
        n: u32,
        value: u64,
    },
    /// FROM, TO or INFO of the last-exception record.
    LastException {
        row: u32,
        value: u64,
    },
    /// An exception or interrupt, but #DB.
    Interrupt,
    DebugException,
    Freeze(bool),
    /// A counter overflows and requests a PMI.
    Pmi,
    SaveAndRestore,
    Reset,
}

/// FROM, TO, INFO.
type Entry = [u64; 3];

/// The rules of the manual, as lists.
struct Model {
    kind: Kind,
    debugctl: u64,
    control: u64,
    frozen: bool,
    /// Legacy: by index.
    slots: Vec<Entry>,
    tos: usize,
    /// Architectural: youngest first.
    ages: Vec<Entry>,
    last_change: Option<u64>,
    last_exception: Entry,
}

fn is_canonical(address: u64) -> bool {
    address >> 47 == 0 || address >> 47 == 0x1_FFFF
}

/// The outcome of an operation that requests no PMI.
fn quiet<T>(answer: Answer<T>) -> T {
    let mut pmis = 0;
    let outcome = answer.deliver(|| pmis += 1);
    assert_eq!(pmis, 0);
    outcome
}

impl Model {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            debugctl: 0,
            control: 0,
            frozen: false,
            slots: vec![[0; 3]; 32],
            tos: 0,
            ages: vec![[0; 3]; 32],
            last_change: None,
            last_exception: [0; 3],
        }
    }

    /// Bit of a branch kind in LBR_SELECT or IA32_LBR_CTL.
    fn control_bit(&self, kind: BranchKind) -> u32 {
        let (legacy, arch) = match kind {
            BranchKind::Conditional => (2, 16),
            BranchKind::RelativeCall => (3, 19),
            BranchKind::IndirectCall => (4, 20),
            BranchKind::Return => (5, 21),
            BranchKind::IndirectJump => (6, 18),
            BranchKind::RelativeJump => (7, 17),
            BranchKind::Other => (8, 22),
        };
        if self.kind == Kind::Legacy { legacy } else { arch }
    }

    fn records(&self, kind: BranchKind, cpl: u8) -> bool {
        let bit = |n: u32| self.control >> n & 1 == 1;
        let own = bit(self.control_bit(kind));
        !self.frozen
            && match self.kind {
                Kind::Legacy => self.debugctl & 1 == 1 && !own && !bit(u32::from(cpl > 0)),
                Kind::Arch => bit(0) && own && bit(1 + u32::from(cpl > 0)),
            }
    }

    fn records_anything(&self) -> bool {
        BranchKind::ALL.into_iter().any(|kind| self.records(kind, 0) || self.records(kind, 3))
    }

    fn is_call_stack(&self) -> bool {
        self.control >> (if self.kind == Kind::Legacy { 9 } else { 3 }) & 1 == 1
    }

    fn branch(&mut self, branch: &BranchRecord) {
        if !self.records(branch.kind, branch.cpl) {
            return;
        }
        if self.is_call_stack() && branch.kind == BranchKind::Return {
            let newest =
                if self.kind == Kind::Legacy { &mut self.slots[self.tos] } else { &mut self.ages[0] };
            if newest[..2] == [0, 0] {
                return;
            }
            *newest = [0; 3];
            self.tos = (self.tos + 31) % 32;
            self.ages.rotate_left(1);
            self.last_change = Some(branch.cycle);
            return;
        }
        let distance = self.last_change.map(|last| (branch.cycle - last).min(65535));
        let mut info = distance.unwrap_or(0) | u64::from(branch.mispredicted) << 63;
        if self.kind == Kind::Arch {
            let number = match branch.kind {
                BranchKind::Conditional => 0,
                BranchKind::IndirectJump => 1,
                BranchKind::RelativeJump => 2,
                BranchKind::IndirectCall => 3,
                BranchKind::RelativeCall => 4,
                BranchKind::Return => 5,
                BranchKind::Other => 8,
            };
            info |= number << 56 | u64::from(distance.is_some()) << 60;
        }
        let from_level =
            self.kind == Kind::Legacy || self.control >> (1 + u32::from(branch.from_cpl > 0)) & 1 == 1;
        let entry = [if from_level { branch.from } else { u64::MAX }, branch.to, info];
        self.tos = (self.tos + 1) % 32;
        self.slots[self.tos] = entry;
        self.ages.insert(0, entry);
        self.ages.pop();
        self.last_change = Some(branch.cycle);
    }

    /// Makes a change; if recording begins by it, the next record's distance is unknown.
    fn change(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.records_anything();
        change(self);
        if !before && self.records_anything() {
            self.last_change = None;
        }
    }
}

struct Guest {
    pmu: Vpmu,
    source: ScriptedSource,
    model: Model,
    cycle: u64,
    from: u64,
}

impl Guest {
    fn new(kind: Kind) -> Self {
        Self {
            pmu: Vpmu::new(profile(kind)),
            source: ScriptedSource::new(),
            model: Model::new(kind),
            cycle: 0,
            from: 0x40_0000,
        }
    }

    fn write(&mut self, index: u32, value: u64) -> bool {
        match quiet(self.pmu.write_register(Level::Kernel, index, value, &mut self.source)) {
            WriteOutcome::Done => true,
            WriteOutcome::Fault(_) => false,
            WriteOutcome::NotHandled => unreachable!("{index:#x} belongs to the PMU"),
        }
    }

    fn read(&mut self, index: u32) -> Option<u64> {
        match quiet(self.pmu.read_register(Level::Kernel, index, &mut self.source)) {
            ReadOutcome::Value(value) => Some(value),
            ReadOutcome::Fault(_) => None,
            ReadOutcome::NotHandled => unreachable!("{index:#x} belongs to the PMU"),
        }
    }

    fn rows(&self) -> [u32; 3] {
        if self.model.kind == Kind::Legacy { [0x680, 0x6C0, 0xDC0] } else { [0x1500, 0x1600, 0x1200] }
    }

    fn step(&mut self, op: &Op) {
        let kind = self.model.kind;
        match *op {
            Op::Branch { kind, to, from_cpl, cpl, mispredicted, cycles } => {
                self.cycle += cycles;
                let (from, cycle) = (self.from, self.cycle);
                let branch = BranchRecord { from, to, kind, from_cpl, cpl, mispredicted, cycle };
                assert_eq!(self.pmu.branch_filter().admits(kind, cpl), self.model.records(kind, cpl));
                self.pmu.record_branch(&branch);
                self.model.branch(&branch);
                self.from = to;
            }
            Op::DebugCtl(value) => {
                // Bits 0, 1, 11, 12, 14 are legal; 0 is dropped where it has no function.
                let legal = value & !0x5803 == 0;
                assert_eq!(self.write(DEBUGCTL, value), legal);
                if legal {
                    let kept = if kind == Kind::Legacy { 0x5803 } else { 0x5802 };
                    self.model.change(|model| model.debugctl = value & kept);
                }
            }
            Op::Control(bits) => {
                let value = self.model.control ^ bits;
                let (index, legal) = if kind == Kind::Legacy {
                    (0x1C8, value < 0x400)
                } else {
                    (0x14CE, value & !0x7F_000F == 0)
                };
                assert_eq!(self.write(index, value), legal, "{value:#x}");
                if legal {
                    self.model.change(|model| model.control = value);
                }
            }
            Op::Position(value) if kind == Kind::Legacy => {
                assert!(self.write(0x1C9, value));
                self.model.tos = value as usize % 32;
            }
            Op::Position(value) => {
                let legal = [8, 16, 32].contains(&value);
                assert_eq!(self.write(0x14CF, value), legal, "depth {value}");
                if legal {
                    self.model.ages = vec![[0; 3]; value as usize];
                    self.model.last_change = None;
                }
            }
            Op::Entry { row, n, value: written } => {
                let value = written;
                let cycles_and_flags = 0xE000_0000_0000_FFFF;
                // The architectural INFO has undefined bits, which are dropped, and no reserved ones.
                let (exists, info, faults) = match kind {
                    Kind::Legacy => (true, cycles_and_flags, true),
                    Kind::Arch => {
                        ((n as usize) < self.model.ages.len(), cycles_and_flags | 0x1F << 56, false)
                    }
                };
                let legal =
                    exists && if row < 2 { is_canonical(value) } else { !faults || value & !info == 0 };
                let value = if row == 2 && !faults { value & info } else { value };
                let index = self.rows()[row as usize] + n;
                assert_eq!(self.write(index, written), legal, "{index:#x} = {written:#x}");
                if legal {
                    let model = &mut self.model;
                    let list = if kind == Kind::Legacy { &mut model.slots } else { &mut model.ages };
                    list[n as usize][row as usize] = value;
                }
            }
            Op::LastException { row, value } => {
                let legal = if row < 2 { is_canonical(value) } else { kind == Kind::Arch };
                assert_eq!(
                    self.write([0x1DD, 0x1DE, 0x1E0][row as usize], value),
                    legal,
                    "{row} = {value:#x}"
                );
                if legal {
                    self.model.last_exception[row as usize] =
                        if row == 2 { value & 0xEF << 56 } else { value };
                }
            }
            Op::Interrupt => {
                self.pmu.interrupted();
                let model = &mut self.model;
                if model.records_anything() {
                    let [from, to, info] =
                        if kind == Kind::Legacy { model.slots[model.tos] } else { model.ages[0] };
                    let info = if kind == Kind::Arch { info & 0xEF << 56 } else { 0 };
                    model.last_exception = [from, to, info];
                }
            }
            Op::DebugException => {
                self.pmu.debug_exception();
                let model = &mut self.model;
                model.debugctl &= !3;
                if kind == Kind::Arch {
                    model.control &= !1;
                }
            }
            Op::Freeze(freeze) => {
                assert!(self.write(if freeze { STATUS_SET } else { STATUS_RESET }, LBR_FROZEN));
                self.model.change(|model| model.frozen = freeze);
            }
            Op::Pmi => {
                // FREEZE_PERFMON_ON_PMI may have stopped the counters.
                assert!(self.write(STATUS_RESET, 1 << 59));
                assert!(self.write(0xC1, u64::MAX));
                assert!(self.write(0x186, 0x53_00C0));
                self.source.add_user(Event::InstRetiredAny, 1);
                assert_eq!(self.pmu.sync(&mut self.source).count(), 1);
                self.model.change(|model| model.frozen |= model.debugctl >> 11 & 1 == 1);
                assert!(self.write(0x186, 0));
            }
            Op::SaveAndRestore => {
                let text =
                    serde_json::to_string(&quiet(self.pmu.save(&mut self.source))).expect("a state is data");
                let state: VpmuState = serde_json::from_str(&text).expect("own text");
                self.pmu = Vpmu::new(profile(kind));
                assert_eq!(self.pmu.restore(&state, &mut self.source), Ok(()));
                assert_eq!(quiet(self.pmu.save(&mut self.source)), state);
            }
            Op::Reset => {
                self.pmu.reset(&mut self.source);
                self.model = Model::new(kind);
            }
        }
    }

    fn compare(&mut self) {
        let legacy = self.model.kind == Kind::Legacy;
        let entries = if legacy { self.model.slots.clone() } else { self.model.ages.clone() };
        for (row, base) in self.rows().into_iter().enumerate() {
            for n in 0..32 {
                let expected = entries.get(n as usize).map(|entry| entry[row]);
                assert_eq!(self.read(base + n), expected, "{:#x}", base + n);
            }
        }
        if legacy {
            assert_eq!(self.read(0x1C9), Some(self.model.tos as u64));
            assert_eq!(self.read(0x1C8), Some(self.model.control));
            assert_eq!((self.read(0x14CE), self.read(0x14CF)), (None, None));
        } else {
            assert_eq!(self.read(0x14CE), Some(self.model.control));
            assert_eq!(self.read(0x14CF), Some(self.model.ages.len() as u64));
            assert_eq!((self.read(0x1C8), self.read(0x1C9)), (None, None));
        }
        let [from, to, info] = self.model.last_exception;
        assert_eq!((self.read(0x1DD), self.read(0x1DE)), (Some(from), Some(to)));
        assert_eq!(self.read(0x1E0), (!legacy).then_some(info));
        assert_eq!(self.pmu.steps_on_branches(), self.model.debugctl & 2 != 0);
        assert_eq!(self.read(DEBUGCTL), Some(self.model.debugctl));
        assert_eq!(self.read(STATUS).map(|status| status & LBR_FROZEN != 0), Some(self.model.frozen));
    }
}

fn profile(kind: Kind) -> Profile {
    if kind == Kind::Legacy { ICELAKE_SP } else { SAPPHIRE_RAPIDS }
}

fn op() -> impl Strategy<Value = Op> {
    let cycles = prop_oneof![8 => 0..20_u64, 1 => 65_530..65_540_u64, 1 => 0..1_u64 << 40];
    let kind = prop::sample::select(BranchKind::ALL.to_vec());
    let branch = (kind, 1..1_u64 << 47, 0..4_u8, 0..4_u8, any::<bool>(), cycles).prop_map(
        |(kind, to, from_cpl, cpl, mispredicted, cycles)| Op::Branch {
            kind,
            to,
            from_cpl,
            cpl,
            mispredicted,
            cycles,
        },
    );
    let debugctl =
        prop::sample::select(vec![0_u64, 1, 1, 1, 3, 1 | 1 << 11, 1 << 11, 1 << 12, 1 << 14, 1 << 6, 4]);
    let control = prop_oneof![
        4 => (0..23_u32).prop_map(|bit| 1 << bit),
        1 => Just(0x7F_0007),
        1 => Just(1),
        1 => any::<u64>(),
    ];
    let position = prop_oneof![
        4 => prop::sample::select(vec![8_u64, 16, 32]),
        2 => 0..70_u64,
        1 => any::<u64>(),
    ];
    let value = prop_oneof![
        1 => Just(0),
        2 => any::<u64>(),
        2 => (0..64_u32).prop_map(|bit| 1 << bit),
        1 => (0..64_u32).prop_map(|bit| u64::MAX << bit),
    ];
    let last = (0..3_u32, value.clone()).prop_map(|(row, value)| Op::LastException { row, value });
    prop_oneof![
        60 => branch,
        4 => debugctl.prop_map(Op::DebugCtl),
        6 => control.prop_map(Op::Control),
        2 => position.prop_map(Op::Position),
        4 => (0..3_u32, 0..32_u32, value).prop_map(|(row, n, value)| Op::Entry { row, n, value }),
        2 => any::<bool>().prop_map(Op::Freeze),
        1 => last,
        3 => Just(Op::Interrupt),
        1 => Just(Op::DebugException),
        1 => Just(Op::Pmi),
        1 => Just(Op::SaveAndRestore),
        1 => prop::bool::weighted(0.1).prop_map(|rare| if rare { Op::Reset } else { Op::Freeze(false) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(0x14CE), ..ProptestConfig::default() })]

    #[test]
    fn the_stack_is_what_was_branched(
        kind in prop::sample::select(vec![Kind::Legacy, Kind::Arch]),
        ops in prop::collection::vec(op(), 1..300),
    ) {
        let mut guest = Guest::new(kind);
        // Recording is what most sequences are about.
        guest.step(&Op::DebugCtl(1));
        guest.step(&Op::Control(if kind == Kind::Legacy { 0 } else { 0x7F_0007 }));
        for op in &ops {
            guest.step(op);
            if !matches!(op, Op::Branch { .. }) {
                guest.compare();
            }
        }
        guest.compare();
    }
}
