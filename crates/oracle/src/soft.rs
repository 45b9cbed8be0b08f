//! The interpreter's side.

use crate::case::{Case, Failure, Outcome};
use crate::changes;
use crate::layout::{
    CODE, CODE_LEN, CR0, EFER, FS_BASE, GDT, GDT_LIMIT, GS_BASE, HANDLER_SIZE, HANDLERS, IDT, IDT_LIMIT,
    PML4, SCRATCH, SCRATCH_LEN, TASK, TSS, USER_CODE, USER_DATA, initial_ram,
};
use crate::machine::{Machine, Zmm};
use crate::start::{Start, images};
use crate::vectors::Vectors;
use soft_cpu::silicon::Silicon;
use soft_cpu::{
    Access, Budget, Bus, Cpu, CpuidLeaf, DescriptorTable, Exit, GeneralProtection, Segment, State,
};

/// A change of state behind the instruction at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// The instruction.
    pub(crate) rip: u64,
    /// Bits of RFLAGS to invert.
    pub(crate) flags: u64,
    /// Bits of the x87 status word to invert.
    pub(crate) status: u16,
    /// What to add to the significand of ST0 and ST1.
    pub(crate) places: [i8; 2],
}

/// RAM and nothing else, and which CPU it is.
#[derive(Debug)]
struct Ram(Vec<u8>);

impl soft_cpu::Ram for Ram {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        (gpa < self.0.len() as u64).then_some(gpa)
    }
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[position as usize..position as usize + N]);
        bytes
    }
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]) {
        self.0[position as usize..position as usize + N].copy_from_slice(&bytes);
    }
}

impl Bus for Ram {
    fn mmio_read(&mut self, _gpa: u64, data: &mut [u8], _access: &Access<'_>) {
        data.fill(0xFF);
    }
    fn mmio_write(&mut self, _gpa: u64, _data: &[u8], _access: &Access<'_>) {}
    fn port_in(&mut self, _port: u16, data: &mut [u8], _access: &Access<'_>) {
        data.fill(0xFF);
    }
    fn port_out(&mut self, _port: u16, _data: &[u8], _access: &Access<'_>) {}
    fn rdmsr(&mut self, _index: u32, _access: &Access<'_>) -> Result<u64, GeneralProtection> {
        Err(GeneralProtection)
    }
    fn wrmsr(&mut self, _index: u32, _value: u64, _access: &Access<'_>) -> Result<(), GeneralProtection> {
        Err(GeneralProtection)
    }
    fn rdpmc(&mut self, _counter: u32, _pce: bool, _access: &Access<'_>) -> Result<u64, GeneralProtection> {
        Err(GeneralProtection)
    }
    fn cpuid(&mut self, leaf: u32, subleaf: u32, _access: &Access<'_>) -> CpuidLeaf {
        soft_cpu::cpuid::leaf(leaf, subleaf)
    }
    fn tsc(&mut self, access: &Access<'_>) -> u64 {
        access.totals.instructions()
    }
}

/// Vector of #UD.
const UNDEFINED_OPCODE: u8 = 6;
/// Instructions after which a case counts as endless. A REP is one.
const BUDGET: u64 = 2000;
/// Times that a run may yield.
const YIELDS: u32 = 64;

/// This host cannot execute compiled blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this host cannot execute compiled blocks: they take an x86-64 CPU, Linux, and memory for code")]
pub struct NotCompiling;

/// The interpreter in the machine of [`layout`](crate::layout).
#[derive(Debug)]
pub struct Soft {
    ram: Ram,
    cpu: Cpu<Ram>,
    images: [Vec<Vec<u8>>; 2],
    dirty: std::ops::Range<usize>,
    compiles: bool,
}

impl Soft {
    /// A machine between two cases, with such a CPU.
    #[must_use]
    pub fn new(silicon: Silicon) -> Self {
        Self {
            ram: Ram(initial_ram()),
            cpu: Cpu::default().with_silicon(silicon),
            images: [images(Machine::Sse), images(Machine::Xsave)],
            dirty: 0..0,
            compiles: false,
        }
    }

    /// The same machine, in which every block is compiled when it is come to first.
    ///
    /// # Errors
    /// The host cannot execute what is compiled: it is no x86-64 CPU with Linux, or gives no memory for code.
    pub fn compiling(silicon: Silicon) -> Result<Self, NotCompiling> {
        let mut soft = Self::new(silicon);
        let compiler = crate::compiled::compiler(&mut soft.ram.0).ok_or(NotCompiling)?;
        soft.cpu = soft.cpu.with_compiler(compiler);
        soft.compiles = true;
        Ok(soft)
    }

    /// Instructions executed, and how many of them by compiled code.
    #[must_use]
    pub fn executed(&self) -> (u64, u64) {
        (self.cpu.totals().instructions(), self.cpu.compiled())
    }

    /// Runs a case to its exception. With compiled blocks it runs twice: to these, memory is known that has been
    /// accessed before.
    ///
    /// # Errors
    /// There is none.
    pub fn run(&mut self, case: &Case) -> Result<Outcome, Failure> {
        let start = Start::from_seed(case.seed);
        let state = state(case, &start);
        self.load(case, &start);
        self.cpu.set_state(&state);
        let outcome = self.run_loaded(case, &start);
        if !self.compiles || outcome.is_err() {
            return outcome;
        }
        self.load(case, &start);
        self.cpu.rewind(&state);
        self.run_loaded(case, &start)
    }

    fn run_loaded(&mut self, case: &Case, start: &Start) -> Result<Outcome, Failure> {
        let mut budget = BUDGET;
        let mut yields = 0;
        loop {
            let before = self.cpu.totals().instructions();
            match self.cpu.run(&mut self.ram, Budget { instructions: budget, interrupt_window: false }) {
                Exit::Halted => return Ok(self.outcome(case, start)),
                Exit::Shutdown => return Err(Failure::Shutdown),
                Exit::Budget => return Err(Failure::Endless),
                Exit::Yield | Exit::Attention | Exit::InterruptWindow | Exit::Debug(_) => yields += 1,
            }
            budget -= self.cpu.totals().instructions() - before;
            if yields > YIELDS {
                return Err(Failure::Endless);
            }
        }
    }

    /// Runs a case like [`run`](Self::run), and changes the state behind some instructions.
    pub(crate) fn run_changed(&mut self, case: &Case, changes: &[Change]) -> Result<Outcome, Failure> {
        let start = Start::from_seed(case.seed);
        self.load(case, &start);
        self.cpu.set_state(&state(case, &start));
        for _ in 0..BUDGET {
            let at = self.cpu.state().rip;
            match self.cpu.run(&mut self.ram, Budget { instructions: 1, interrupt_window: false }) {
                Exit::Halted => return Ok(self.outcome(case, &start)),
                Exit::Shutdown => return Err(Failure::Shutdown),
                _ => {}
            }
            for change in changes.iter().filter(|change| change.rip == at) {
                let mut state = self.cpu.state();
                if state.rip == at {
                    continue;
                }
                state.rflags ^= change.flags;
                state.fsw ^= change.status;
                for (register, by) in state.st.iter_mut().zip(change.places) {
                    *register = register.wrapping_add_signed(i128::from(by));
                }
                self.cpu.set_state(&state);
            }
        }
        Err(Failure::Endless)
    }

    /// Whether an instruction is refused with #UD: not implemented, or of a CPU that this is not.
    #[must_use]
    pub fn refuses(&mut self, case: &Case) -> bool {
        self.run(case).is_ok_and(|outcome| outcome.vector == UNDEFINED_OPCODE)
    }

    fn load(&mut self, case: &Case, start: &Start) {
        let ram = &mut self.ram.0;
        let image = &self.images[set(case.machine)][start.image];
        ram[self.dirty.clone()].fill(0xCC);
        let at = case.rip() as usize;
        self.dirty = at..(at + case.code.len()).min(CODE as usize + CODE_LEN);
        let len = self.dirty.len();
        ram[self.dirty.clone()].copy_from_slice(&case.code[..len]);
        ram[SCRATCH as usize..SCRATCH as usize + SCRATCH_LEN].copy_from_slice(image);
    }

    fn outcome(&self, case: &Case, start: &Start) -> Outcome {
        let state = self.cpu.state();
        let vector = (state.rip.wrapping_sub(HANDLERS + 1) / HANDLER_SIZE) as u8;
        let mut outcome = Outcome {
            vector,
            cr2: if vector == 14 { state.cr2 } else { 0 },
            gpr: state.gpr,
            zmm: zmm(&state),
            k: state.opmask,
            mxcsr: state.mxcsr,
            fcw: state.fcw,
            fsw: state.fsw,
            ftw: state.ftw,
            st: state.st,
            ..Outcome::default()
        };
        outcome.read_frame(&self.ram.0);
        let scratch = SCRATCH as usize..SCRATCH as usize + SCRATCH_LEN;
        outcome.memory = changes::memory(&self.images[set(case.machine)][start.image], &self.ram.0[scratch]);
        outcome
    }
}

/// Which set of images a machine has.
fn set(machine: Machine) -> usize {
    usize::from(machine != Machine::Sse)
}

/// The vector registers, whose parts are in several places.
fn zmm(state: &State) -> [Zmm; 32] {
    let mut zmm = [[0; 4]; 32];
    for n in 0..16 {
        let [third, fourth] = state.zmm_high[n];
        zmm[n] = [state.xmm[n], state.ymm_high[n], third, fourth];
        zmm[16 + n] = state.zmm_16_to_31[n];
    }
    zmm
}

/// Ring 3 at the first instruction.
fn state(case: &Case, start: &Start) -> State {
    let data = |base| Segment { selector: USER_DATA, base, limit: u32::MAX, rights: 0xC0F3 };
    let code = Segment { selector: USER_CODE, base: 0, limit: u32::MAX, rights: 0xA0FB };
    let Vectors { zmm, k, .. } = Vectors::of(case);
    State {
        gpr: start.gpr,
        rip: case.rip(),
        rflags: start.rflags,
        segments: [data(0), code, data(0), data(0), data(FS_BASE), data(GS_BASE)],
        tr: Segment { selector: TASK, base: TSS, limit: 0x67, rights: 0x8B },
        gdtr: DescriptorTable { base: GDT, limit: GDT_LIMIT },
        idtr: DescriptorTable { base: IDT, limit: IDT_LIMIT },
        cr0: CR0,
        cr3: PML4,
        cr4: case.machine.cr4(),
        efer: EFER,
        xcr0: case.machine.xcr0(),
        xmm: std::array::from_fn(|n| zmm[n][0]),
        ymm_high: std::array::from_fn(|n| zmm[n][1]),
        opmask: k,
        zmm_high: std::array::from_fn(|n| [zmm[n][2], zmm[n][3]]),
        zmm_16_to_31: std::array::from_fn(|n| zmm[16 + n]),
        mxcsr: start.mxcsr,
        fcw: start.fcw,
        fsw: start.fsw,
        ftw: start.ftw,
        st: start.st,
        ..State::default()
    }
}
