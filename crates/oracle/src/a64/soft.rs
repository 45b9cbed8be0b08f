//! The interpreter's side: user mode in a small machine, and what Linux would make of its exceptions.

use super::case::{Case, Failure, Outcome, Signal};
use super::start::{Start, images};

use crate::changes;
use a64_runner::{BRK, CLOSED, CODE, CODE_LEN, CONSTANTS, DATA, DATA_LEN, IMAGE_LEN, PAGE, STACK};
use arm_cpu::{
    Access, Budget, Bus, Cpu, Exit, ExternalAbort, Identification, Ram, State, SystemFault, SystemRegister,
};

const SCTLR: SystemRegister = SystemRegister::new(3, 0, 1, 0, 0);
const CPACR: SystemRegister = SystemRegister::new(3, 0, 1, 0, 2);
const TTBR0: SystemRegister = SystemRegister::new(3, 0, 2, 0, 0);
const TTBR1: SystemRegister = SystemRegister::new(3, 0, 2, 0, 1);
const TCR: SystemRegister = SystemRegister::new(3, 0, 2, 0, 2);
const SPSR: SystemRegister = SystemRegister::new(3, 0, 4, 0, 0);
const ELR: SystemRegister = SystemRegister::new(3, 0, 4, 0, 1);
const ESR: SystemRegister = SystemRegister::new(3, 0, 5, 2, 0);
const FAR: SystemRegister = SystemRegister::new(3, 0, 6, 0, 0);
const MAIR: SystemRegister = SystemRegister::new(3, 0, 10, 2, 0);
const VBAR: SystemRegister = SystemRegister::new(3, 0, 12, 0, 0);
const TPIDR: SystemRegister = SystemRegister::new(3, 3, 13, 0, 2);

/// MIDR_EL1 and CTR_EL0 of the Cortex-A57 of QEMU (target/arm/cpu64.c).
const MIDR: u64 = 0x411F_D070;
const CTR: u64 = 0x8444_C004;

/// SCTLR_EL1: M; DZE, UCT, nTWI, nTWE and UCI, as Linux has them. Without SA0, which QEMU has not.
const CONTROLS: u64 = 1 | 1 << 14 | 1 << 15 | 1 << 16 | 1 << 18 | 1 << 26;
/// TCR_EL1: 48 bits below, 39 above; TBI0, as Linux has it.
const TRANSLATION: u64 = 16 | 25 << 16 | 1 << 37;

/// Tables of the lower half of the address space, from the first level to the last.
const LOWER: [u64; 4] = [0x1000, 0x2000, 0x3000, 0x4000];
/// The table of the upper half.
const UPPER: u64 = 0x5000;
/// The vectors of EL1, where they are in RAM and as an address.
const VECTORS: u64 = 0x8000;
const UPPER_HALF: u64 = 0xFFFF_FF80_0000_0000;
/// Code and what follows it, in RAM.
const CODE_AT: u64 = 0x1_0000;
const IMAGE_AT: u64 = 0x2_0000;
const RAM: usize = 0x3_0000;

/// Descriptors: valid, a table or a page; AttrIndx 0, AF, inner shareable.
const TABLE: u64 = 3;
const BLOCK: u64 = 1 | 1 << 10 | 3 << 8;
const LEAF: u64 = BLOCK | 2;
/// AP\[1\] for EL0, AP\[2\] for no writes; PXN and UXN.
const USER: u64 = 1 << 6;
const READ_ONLY: u64 = 1 << 7;
const NOT_AT_EL1: u64 = 1 << 53;
const NOT_AT_EL0: u64 = 1 << 54;

/// HVC #0.
const HVC: u32 = 0xD400_0002;
/// Instructions after which a case counts as endless.
const BUDGET: u64 = 2000;

/// RAM, and a hypervisor that stops at the first call.
#[derive(Debug)]
struct Machine {
    ram: Vec<u8>,
    ended: bool,
}

impl Ram for Machine {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        (gpa < self.ram.len() as u64).then_some(gpa)
    }
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.ram[position as usize..position as usize + N]);
        bytes
    }
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]) {
        self.ram[position as usize..position as usize + N].copy_from_slice(&bytes);
    }
}

impl Bus for Machine {
    fn mmio_read(&mut self, _: u64, _: &mut [u8], _: &Access<'_>) -> Result<(), ExternalAbort> {
        Err(ExternalAbort)
    }
    fn mmio_write(&mut self, _: u64, _: &[u8], _: &Access<'_>) -> Result<(), ExternalAbort> {
        Err(ExternalAbort)
    }
    fn read_system(&mut self, _: SystemRegister, _: &Access<'_>) -> Result<u64, SystemFault> {
        Err(SystemFault::Undefined)
    }
    fn write_system(&mut self, _: SystemRegister, _: u64, _: &Access<'_>) -> Result<(), SystemFault> {
        Err(SystemFault::Undefined)
    }
    fn hypervisor_call(&mut self, _: u16, _: &mut [u64; 8], _: &Access<'_>) -> Result<(), SystemFault> {
        self.ended = true;
        Ok(())
    }
    fn attention(&self) -> bool {
        self.ended
    }
}

impl Machine {
    fn new() -> Self {
        let mut machine = Self { ram: vec![0; RAM], ended: false };
        let index = |level: usize| (CODE >> (39 - 9 * level) & 0x1FF) * 8;
        for level in 0..3 {
            machine.put(LOWER[level] + index(level), LOWER[level + 1] | TABLE);
        }
        let pages = [
            (CODE, CODE_LEN, CODE_AT, USER | READ_ONLY | NOT_AT_EL1),
            (CONSTANTS, PAGE, IMAGE_AT, USER | READ_ONLY | NOT_AT_EL1 | NOT_AT_EL0),
            (DATA, DATA_LEN, IMAGE_AT + PAGE, USER | NOT_AT_EL1 | NOT_AT_EL0),
            (STACK, PAGE, IMAGE_AT + 5 * PAGE, USER | NOT_AT_EL1 | NOT_AT_EL0),
        ];
        for (first, len, at, rights) in pages {
            for offset in (0..len).step_by(PAGE as usize) {
                let entry = (first + offset) >> 12 & 0x1FF;
                machine.put(LOWER[3] + 8 * entry, (at + offset) | LEAF | rights);
            }
        }
        // The first gigabyte, for EL1.
        machine.put(UPPER, BLOCK | NOT_AT_EL0);
        for vector in 0..16 {
            let at = (VECTORS + 0x80 * vector) as usize;
            machine.ram[at..at + 4].copy_from_slice(&HVC.to_le_bytes());
        }
        machine.fill(0..CODE_LEN as usize / 4, std::iter::repeat(BRK));
        machine
    }

    fn put(&mut self, at: u64, value: u64) {
        self.ram[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Puts instructions into some words of the code.
    fn fill(&mut self, range: std::ops::Range<usize>, words: impl IntoIterator<Item = u32>) {
        let code = &mut self.ram[CODE_AT as usize..(CODE_AT + CODE_LEN) as usize];
        let places = code.chunks_exact_mut(4).skip(range.start).take(range.len());
        places.zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    }

    fn image(&mut self) -> &mut [u8] {
        &mut self.ram[IMAGE_AT as usize..IMAGE_AT as usize + IMAGE_LEN]
    }
}

/// The interpreter between two cases.
#[derive(Debug)]
pub struct Soft {
    machine: Machine,
    cpu: Cpu<Machine>,
    state: State,
    images: Vec<Vec<u8>>,
    /// Words of the code that are a case's.
    code: std::ops::Range<usize>,
}

impl Default for Soft {
    fn default() -> Self {
        Self::new()
    }
}

impl Soft {
    /// A machine between two cases.
    #[must_use]
    pub fn new() -> Self {
        let mut state = State::reset(identification());
        // EL0, interrupts masked.
        state.pstate = 0x3C0;
        let registers = [
            (SCTLR, CONTROLS),
            (CPACR, 3 << 20),
            (TTBR0, LOWER[0]),
            (TTBR1, UPPER),
            (TCR, TRANSLATION),
            (MAIR, 0xFF),
            (VBAR, UPPER_HALF | VECTORS),
        ];
        for (register, value) in registers {
            state.set_system_register(register, value);
        }
        let images = images();
        let mut machine = Machine::new();
        machine.image()[..PAGE as usize].copy_from_slice(&images[0][..PAGE as usize]);
        Self { cpu: Cpu::new(&state), machine, state, images, code: 0..0 }
    }

    /// Whether a word is an instruction; otherwise it is UNDEFINED everywhere.
    #[must_use]
    pub fn is_defined(word: u32) -> bool {
        Cpu::<Machine>::is_defined(word, &identification())
    }

    /// Runs a case to its exception.
    ///
    /// # Errors
    /// There is none.
    pub fn run(&mut self, case: &Case, start: &Start) -> Result<Outcome, Failure> {
        self.load(case, start);
        let mut left = BUDGET;
        while !self.machine.ended {
            let before = self.cpu.totals().instructions();
            match self.cpu.run(&mut self.machine, Budget { instructions: left }) {
                Exit::Budget | Exit::WaitForInterrupt => return Err(Failure::Endless),
                Exit::Attention | Exit::Yield | Exit::Debug(_) => {}
            }
            left -= self.cpu.totals().instructions() - before;
        }
        Ok(self.outcome(start))
    }

    fn load(&mut self, case: &Case, start: &Start) {
        let old = std::mem::take(&mut self.code);
        self.machine.fill(old.clone(), std::iter::repeat(BRK));
        let first = usize::from(case.offset) / 4;
        self.code = first..first + case.code.len();
        self.machine.fill(self.code.clone(), case.code.iter().copied());
        for range in [old, self.code.clone()] {
            self.cpu.memory_changed(CODE_AT + 4 * range.start as u64, 4 * range.len() as u64);
        }
        let writable = PAGE as usize..;
        self.machine.image()[writable.clone()].copy_from_slice(&self.images[start.image][writable]);
        self.machine.ended = false;
        let state = &mut self.state;
        (state.x, state.sp, state.pc) = (start.state.x, [start.state.sp, 0], start.state.pc);
        state.pstate = 0x3C0 | start.state.nzcv;
        (state.fpcr, state.fpsr) = (start.state.fpcr.into(), start.state.fpsr.into());
        state.v = start.state.v.map(|[low, high]| u128::from(low) | u128::from(high) << 64);
        state.set_system_register(TPIDR, start.state.tpidr);
        self.cpu.set_registers(state);
    }

    fn outcome(&mut self, start: &Start) -> Outcome {
        let state = self.cpu.state();
        let register = |name| state.system_register(name).unwrap_or_default();
        let (signal, address) = signal(register(ESR), register(FAR));
        let mut outcome = Outcome::new(signal);
        outcome.address = address;
        let to = &mut outcome.state;
        (to.x, to.sp, to.pc, to.nzcv) = (state.x, state.sp[0], register(ELR), register(SPSR) & 0xF << 28);
        (to.fpcr, to.fpsr, to.tpidr) = (state.fpcr as u32, state.fpsr as u32, register(TPIDR));
        to.v = state.v.map(|value| [value as u64, (value >> 64) as u64]);
        // Beside what a case can write, memory is not looked at.
        let image = &self.images[start.image];
        let kept = PAGE as usize..;
        let after = &self.machine.ram[IMAGE_AT as usize..][..IMAGE_LEN][kept.clone()];
        let changed = changes::memory(&image[kept], after);
        outcome.memory = changed.into_iter().map(|(at, value)| (at + PAGE as u16, value)).collect();
        outcome
    }
}

fn identification() -> Identification {
    Identification { ctr: CTR, ..Identification::implemented(MIDR) }
}

/// What Linux makes of an exception, and the address that it is about (arch/arm64/mm/fault.c, kernel/traps.c).
fn signal(esr: u64, far: u64) -> (Signal, u64) {
    // EC, and the fault status code of aborts (Arm ARM D17.2.37).
    match (esr >> 26 & 0x3F, esr & 0x3F) {
        (0x00 | 0x07 | 0x0E | 0x18, _) => (Signal::Illegal, 0),
        (0x3C, _) => (Signal::Trap, 0),
        (0x22 | 0x26, _) | (0x24, 0x21) => (Signal::Bus, untagged(far)),
        (0x20 | 0x24, _) => (if is_mapped(far) { Signal::NoAccess } else { Signal::NoPage }, untagged(far)),
        _ => (Signal::Other, 0),
    }
}

/// An address without its tag.
pub(crate) fn untagged(address: u64) -> u64 {
    ((address << 8) as i64 >> 8) as u64
}

/// Whether a page is there, with whichever permissions: Linux looks at its own list, not at the fault.
fn is_mapped(address: u64) -> bool {
    let pages = [(CODE, CODE_LEN), (CONSTANTS, PAGE + DATA_LEN), (CLOSED, PAGE), (STACK, PAGE)];
    pages.iter().any(|(first, len)| untagged(address).wrapping_sub(*first) < *len)
}
