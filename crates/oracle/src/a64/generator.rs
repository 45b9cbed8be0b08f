//! Random cases.

use super::case::Case;
use super::forms::{Form, Group};
use super::rules;
use super::soft::Soft;
use super::start::{Role, Start};
use super::system;
use a64_runner::{BRK, CODE, CODE_LEN, CONSTANTS, DATA, DATA_LEN, MAX_WORDS, PAGE};
use disarm64_defn::InsnClass;
use random_testing::Random;

/// One in so many cases starts with an encoding of a later extension, or with any word.
const OTHERS: u64 = 24;
/// Attempts to find a word that is compared.
const ATTEMPTS: u32 = 32;
/// Number of the stack pointer, and of XZR.
const R31: u32 = 31;
/// NOP.
const NOP: u32 = 0xD503_201F;

/// Makes cases.
#[derive(Debug)]
pub struct Generator {
    forms: Vec<Form>,
    absent: Vec<Form>,
    /// Cases begin with system instructions, later extensions and random words as well.
    others: bool,
}

impl Default for Generator {
    fn default() -> Self {
        Self::new()
    }
}

impl Generator {
    /// Of all encodings.
    #[must_use]
    pub fn new() -> Self {
        let (mut forms, absent) = Form::all();
        forms.retain(rules::is_generated);
        Self { forms, absent, others: true }
    }

    /// The encodings of the CPU that are compared.
    #[must_use]
    pub fn forms(&self) -> &[Form] {
        &self.forms
    }

    /// Leaves only the encodings that are wanted.
    pub fn retain(&mut self, wanted: impl Fn(&Form) -> bool) {
        self.forms.retain(wanted);
        self.others = false;
    }

    /// The case of a seed with its start, and what it begins with. Each encoding gets its turn as the first one:
    /// number `turn` of the list, modulo its length.
    #[must_use]
    pub fn case(&self, seed: u64, turn: u64) -> (Case, Start, Group) {
        let random = &mut Random::new(seed ^ 0x4136_344F_5241_434C);
        let offset = 4 * match random.below(16) {
            // Across the two code pages, at the end of the last one.
            0 => PAGE / 4 - random.below(6),
            1 => CODE_LEN / 4 - 1 - random.below(6),
            _ => 0x40 + random.below(0x100),
        };
        let start = Start::from_seed(seed, CODE + offset);
        let mut sequence = Sequence { start: &start, random, code: Vec::new() };
        let count = if sequence.random.one_in(2) { 1 } else { 1 + sequence.random.below(8) };
        let group = if self.others && sequence.random.one_in(OTHERS) {
            self.other(&mut sequence)
        } else {
            let form = self.forms[(turn % self.forms.len() as u64) as usize];
            sequence.push(form);
            form.group()
        };
        for _ in 1..count {
            let form = sequence.random.pick(&self.forms);
            sequence.push(form);
        }
        let mut code = sequence.code;
        code.truncate(MAX_WORDS.min(((CODE_LEN - offset) / 4) as usize));
        (Case { code, offset: offset as u16, seed }, start, group)
    }

    /// Something that is no encoding of the CPU's user mode, or a system instruction.
    fn other(&self, sequence: &mut Sequence<'_>) -> Group {
        for _ in 0..ATTEMPTS {
            let random = &mut *sequence.random;
            let (word, group) = match random.below(3) {
                0 => (system::word(random), Group::System),
                1 => {
                    let form = random.pick(&self.absent);
                    (form.word(random.bits() as u32), Group::Absent)
                }
                _ => (random.bits() as u32, Group::Word),
            };
            if rules::is_compared(word) {
                sequence.code.push(word);
                return group;
            }
        }
        sequence.code.push(NOP);
        Group::System
    }
}

struct Sequence<'a> {
    start: &'a Start,
    random: &'a mut Random,
    code: Vec<u32>,
}

impl Sequence<'_> {
    /// Appends an instruction, if there is one that is compared.
    fn push(&mut self, form: Form) {
        for attempt in 1..=ATTEMPTS {
            let skipped = self.random.below(4) as u32;
            let word = self.word(form, skipped);
            // What is reserved has its share, and no more, unless it is all there is.
            let wanted = Soft::is_defined(word) || self.random.one_in(24) || attempt == ATTEMPTS;
            if !wanted || !rules::is_compared(word) {
                continue;
            }
            self.code.push(word);
            if is_load_exclusive(word) && !self.random.one_in(4) {
                self.store_exclusive(word);
            }
            if is_direct_branch(form.definition.class) {
                // What a branch jumps over: nothing that matters, or the end.
                let filler = if self.random.one_in(2) { NOP } else { BRK };
                self.code.extend((0..skipped).map(|_| filler));
            }
            return;
        }
    }

    /// Appends the store that belongs to a load exclusive, with another instruction between them at times.
    fn store_exclusive(&mut self, load: u32) {
        if self.random.one_in(4) {
            self.code.push(NOP);
        }
        let [status, data] = [self.random.below(32), self.random.below(32)].map(|number| number as u32);
        let store = load & !(1 << 22 | 0x1F << 16 | 0x1F) | status << 16 | data;
        if rules::is_compared(store) {
            self.code.push(store);
        }
    }

    fn word(&mut self, form: Form, skipped: u32) -> u32 {
        use InsnClass as C;
        let initial = form.word(self.random.bits() as u32);
        let mut word = initial;
        let free = !form.definition.mask;
        // Sets a field, as far as its bits are not fixed.
        let mut set = |lowest: u32, width: u32, value: u32| {
            let mask = (((1_u64 << width) - 1) as u32) << lowest & free;
            word = word & !mask | value << lowest & mask;
        };
        match form.definition.class {
            C::LDST_POS => {
                set(5, 5, self.base());
                let small = self.random.below(64) as u32;
                set(10, 12, if self.random.one_in(16) { self.random.bits() as u32 & 0xFFF } else { small });
            }
            C::LDST_UNSCALED | C::LDST_IMM9 | C::LDST_UNPRIV => {
                set(5, 5, self.base());
                if self.random.one_in(2) {
                    let aligned = (self.random.below(16) as u32 * 8 + 0x1C0) & 0x1FF;
                    set(12, 9, aligned);
                }
            }
            C::LDST_REGOFF => {
                set(5, 5, self.base());
                set(16, 5, self.register(Role::Small));
            }
            C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS => {
                set(5, 5, self.base());
                if !self.random.one_in(4) {
                    let small = (self.random.below(16) as u32 + 0x78) & 0x7F;
                    set(15, 7, small);
                }
            }
            C::LDSTEXCL => {
                set(5, 5, self.base());
                // Fields that are not used are ones (Arm ARM C4.1.94).
                let [ordered, load, pair] = [23, 22, 21].map(|bit| initial >> bit & 1 == 1);
                if !pair {
                    set(10, 5, R31);
                }
                if load || ordered {
                    set(16, 5, R31);
                }
            }
            C::ASISDLSE | C::ASISDLSEP | C::ASISDLSO | C::ASISDLSOP => {
                set(5, 5, self.base());
                let after = if self.random.one_in(2) { R31 } else { self.register(Role::Small) };
                set(16, 5, after);
            }
            C::LOADLIT if !self.random.one_in(16) => {
                let first = if self.random.one_in(8) { CONSTANTS } else { DATA };
                let target = first + self.random.below(DATA_LEN);
                set(5, 19, (target.wrapping_sub(self.here()) / 4) as u32);
            }
            C::BRANCH_IMM => {
                let target = self.target(skipped, 26);
                set(0, 26, target);
            }
            C::CONDBRANCH | C::COMPBRANCH => {
                let target = self.target(skipped, 19);
                set(5, 19, target);
            }
            C::TESTBRANCH => {
                let target = self.target(skipped, 14);
                set(5, 14, target);
            }
            C::BRANCH_REG if !self.random.one_in(4) => set(5, 5, self.register(Role::Code)),
            _ => {}
        }
        word
    }

    /// Address of the next instruction.
    fn here(&self) -> u64 {
        self.start.state.pc + 4 * self.code.len() as u64
    }

    /// A register that holds such a thing at first, or any.
    fn register(&mut self, role: Role) -> u32 {
        let fitting: Vec<u32> = (0..31).filter(|n| self.start.roles[*n as usize] == role).collect();
        if fitting.is_empty() || self.random.one_in(24) {
            self.random.below(32) as u32
        } else {
            self.random.pick(&fitting)
        }
    }

    /// The base of an address.
    fn base(&mut self) -> u32 {
        if self.random.one_in(12) { R31 } else { self.register(Role::Pointer) }
    }

    /// Where a branch goes, in words from itself: over what is skipped, seldom back or anywhere.
    fn target(&mut self, skipped: u32, width: u32) -> u32 {
        match self.random.below(48) {
            0 => self.random.bits() as u32 & ((1 << width) - 1),
            1 | 2 => (self.random.below(9) as u32).wrapping_sub(8),
            _ => skipped + 1,
        }
    }
}

/// LDXR, LDAXR, LDXP, LDAXP and those of bytes and halfwords.
fn is_load_exclusive(word: u32) -> bool {
    word & 0x3FC0_0000 == 0x0840_0000
}

fn is_direct_branch(class: InsnClass) -> bool {
    use InsnClass as C;
    matches!(class, C::BRANCH_IMM | C::CONDBRANCH | C::COMPBRANCH | C::TESTBRANCH)
}
