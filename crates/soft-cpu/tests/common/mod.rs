//! A small machine around the CPU: RAM, a console, an exit port, MSRs that remember.
#![allow(dead_code, unreachable_pub, missing_docs)]
#![allow(clippy::unwrap_used, reason = "test code, of an example too")]

use retire::{BlockId, CoreEvent, Instruction, MemoryAccess, Observer};
use soft_cpu::silicon::Silicon;
use soft_cpu::{
    Access, BranchRecorder, Bus, CpuidLeaf, GeneralProtection, LBR_COMPONENT_WORDS, LbrState, Ram, State,
    TakenBranch, Totals,
};
use std::collections::BTreeMap;

pub const COM1: u16 = 0x3F8;
pub const EXIT: u16 = 0xF4;

/// Deterministic: xorshift. Not 0 at the start.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// What the host's CPU is.
#[cfg(target_arch = "x86_64")]
pub fn host_silicon() -> Silicon {
    use std::arch::x86_64::__cpuid;
    let signature = __cpuid(1).eax;
    match __cpuid(0).ebx.to_le_bytes() {
        [b'A', ..] if signature >> 20 & 0xFF > 10 => Silicon::Zen5,
        [b'A', ..] if matches!(signature >> 16, 0xA1 | 0xA6..=0xAA) => Silicon::Zen4,
        [b'A', ..] => Silicon::Zen3,
        _ => Silicon::Intel,
    }
}

/// Without an observer.
pub type TestBus = AnyBus<false>;
/// Its recorder is the observer, if it has one.
pub type ObservedBus = AnyBus<true>;

#[derive(Debug, Default)]
pub struct AnyBus<const OBSERVED: bool> {
    pub ram: Vec<u8>,
    pub console: Vec<u8>,
    pub exit: Option<u32>,
    pub msrs: BTreeMap<u32, u64>,
    /// Totals at each WRMSR.
    pub writes: Vec<(u32, u64, Totals)>,
    pub mmio: BTreeMap<u64, u32>,
    pub mmio_log: Vec<(u64, u64, usize)>,
    pub branches: Vec<TakenBranch>,
    /// Kinds of branches that are wanted.
    pub wanted_branches: u8,
    /// How many of them matter, if not all.
    pub kept_branches: Option<u64>,
    /// Branches that were left out, each time before so many that were recorded.
    pub skipped_branches: Vec<(usize, u64)>,
    /// DEBUGCTL.BTF.
    pub steps_on_branches: bool,
    /// Interrupts and debug exceptions, each with the branches recorded before it.
    pub deliveries: Vec<(&'static str, usize)>,
    /// At each access to a device: the totals and how many branches had been recorded or left out.
    pub looks: Vec<(Totals, u64)>,
    /// An access to a device ends the run.
    pub looks_end_runs: bool,
    pub ports: Vec<(u16, u32)>,
    pub attention: bool,
    pub recorder: Option<Recorder>,
    /// Component 15, if there is one; what was restored last.
    pub lbr: Option<Lbr>,
}

/// An observer that remembers.
#[derive(Debug)]
pub struct Recorder {
    /// Instructions of the blocks by name; released ones have none.
    blocks: Vec<Vec<Instruction>>,
    pub steps: Vec<Recorded>,
    pub events: Vec<CoreEvent>,
    /// Steps before each event.
    pub steps_before: Vec<usize>,
    /// Ends the run after so many steps.
    pub stop_after: usize,
    /// Takes no blocks.
    pub one_by_one: bool,
}

/// A step, for keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub rip: u64,
    pub fetch: (u64, u8),
    pub length: u8,
    pub user: bool,
    pub memory: Vec<MemoryAccess>,
    pub branch: Option<retire::Branch>,
    pub repetitions: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        let (blocks, steps, events, steps_before) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { blocks, steps, events, steps_before, stop_after: usize::MAX, one_by_one: false }
    }
}

impl Observer for Recorder {
    fn define(&mut self, instructions: &[Instruction]) -> BlockId {
        self.blocks.push(instructions.to_vec());
        BlockId { index: self.blocks.len() as u32 - 1, generation: 0 }
    }
    fn release(&mut self, block: BlockId) {
        assert!(!std::mem::take(&mut self.blocks[block.index as usize]).is_empty(), "released before");
    }
    /// Takes the block apart into its instructions.
    fn retire(&mut self, block: &retire::Block<'_>) -> bool {
        let instructions = &self.blocks[block.id.index as usize];
        assert!(!block.whole || usize::from(block.count) == instructions.len());
        let owners = block.first..block.first + block.count;
        for (owner, instruction) in owners.zip(&instructions[usize::from(block.first)..]) {
            let offset = u64::from(instruction.offset);
            let memory = block.memory.iter().filter(|access| access.owner == owner);
            self.steps.push(Recorded {
                rip: block.rip.wrapping_add(offset),
                fetch: (block.fetch_pa + offset, block.fetch_page),
                length: instruction.length,
                user: block.user,
                // The same wherever the instruction is in its block.
                memory: memory.map(|access| MemoryAccess { owner: 0, ..*access }).collect(),
                branch: block.branch.filter(|_| owner + 1 == block.first + block.count),
                repetitions: block.repetitions,
            });
            let end = instruction.offset + u16::from(instruction.length);
            assert!(
                block.branch.is_none()
                    || end < block.end
                    || (block.last, block.end) == (instruction.offset, end)
            );
        }
        self.steps.len() >= self.stop_after
    }
    fn quiet_horizon(&mut self) -> u64 {
        // The one that ends the run is reported by itself.
        let left = self.stop_after.saturating_sub(self.steps.len() + 1);
        if self.one_by_one { 0 } else { left as u64 }
    }
    fn event(&mut self, event: CoreEvent) {
        self.events.push(event);
        self.steps_before.push(self.steps.len());
    }
}

impl TestBus {
    pub fn observed(self, recorder: Recorder) -> ObservedBus {
        AnyBus { recorder: Some(recorder), ..self.turned() }
    }
}

impl ObservedBus {
    pub fn unobserved(self) -> TestBus {
        self.turned()
    }
}

impl<const OBSERVED: bool> AnyBus<OBSERVED> {
    pub fn new(size: usize) -> Self {
        Self { ram: vec![0; size], ..Self::default() }
    }

    /// The same without a recorder.
    fn turned<const OTHER: bool>(self) -> AnyBus<OTHER> {
        AnyBus {
            ram: self.ram,
            console: self.console,
            exit: self.exit,
            msrs: self.msrs,
            writes: self.writes,
            mmio: self.mmio,
            mmio_log: self.mmio_log,
            branches: self.branches,
            wanted_branches: self.wanted_branches,
            kept_branches: self.kept_branches,
            skipped_branches: self.skipped_branches,
            steps_on_branches: self.steps_on_branches,
            deliveries: self.deliveries,
            looks: self.looks,
            looks_end_runs: self.looks_end_runs,
            ports: self.ports,
            attention: self.attention,
            recorder: None,
            lbr: self.lbr,
        }
    }

    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        self.ram[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    }

    pub fn write_u64(&mut self, at: u64, value: u64) {
        self.write(at, &value.to_le_bytes());
    }

    pub fn read_u64(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.ram[at as usize..at as usize + 8].try_into().unwrap())
    }

    fn look(&mut self, access: &Access<'_>) {
        let skipped: u64 = self.skipped_branches.iter().map(|(_, count)| count).sum();
        self.attention |= self.looks_end_runs;
        self.looks.push((*access.totals, self.branches.len() as u64 + skipped));
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.console).into_owned()
    }
}

impl<const OBSERVED: bool> Ram for AnyBus<OBSERVED> {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        (gpa + 4096 <= self.ram.len() as u64).then_some(gpa)
    }
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N] {
        let at = position as usize;
        self.ram[at..at + N].try_into().unwrap()
    }
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]) {
        let at = position as usize;
        self.ram[at..at + N].copy_from_slice(&bytes);
    }
}

impl<const OBSERVED: bool> Bus for AnyBus<OBSERVED> {
    const OBSERVED: bool = OBSERVED;

    fn mmio_read(&mut self, gpa: u64, data: &mut [u8], access: &Access<'_>) {
        self.look(access);
        let value = self.mmio.get(&gpa).copied().unwrap_or(0);
        data.iter_mut().zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
    }
    fn mmio_write(&mut self, gpa: u64, data: &[u8], access: &Access<'_>) {
        self.look(access);
        let mut value = [0; 8];
        value.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        self.mmio.insert(gpa, u64::from_le_bytes(value) as u32);
        self.mmio_log.push((gpa, u64::from_le_bytes(value), data.len()));
    }
    fn port_in(&mut self, port: u16, data: &mut [u8], _access: &Access<'_>) {
        // Line status: transmitter empty.
        data.fill(if port == COM1 + 5 { 0x60 } else { 0 });
    }
    fn port_out(&mut self, port: u16, data: &[u8], _access: &Access<'_>) {
        let mut value = [0; 4];
        value.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        let value = u32::from_le_bytes(value);
        match port {
            COM1 => self.console.push(value as u8),
            EXIT => {
                self.exit = Some(value);
                self.attention = true;
            }
            _ => self.ports.push((port, value)),
        }
    }
    fn rdmsr(&mut self, index: u32, _access: &Access<'_>) -> Result<u64, GeneralProtection> {
        self.msrs.get(&index).copied().ok_or(GeneralProtection)
    }
    fn wrmsr(&mut self, index: u32, value: u64, access: &Access<'_>) -> Result<(), GeneralProtection> {
        self.writes.push((index, value, *access.totals));
        self.msrs.get_mut(&index).map(|old| *old = value).ok_or(GeneralProtection)
    }
    fn rdpmc(&mut self, counter: u32, pce: bool, access: &Access<'_>) -> Result<u64, GeneralProtection> {
        match counter {
            0 if pce || access.cpl == 0 => Ok(access.totals.instructions()),
            _ => Err(GeneralProtection),
        }
    }
    fn cpuid(&mut self, leaf: u32, subleaf: u32, _access: &Access<'_>) -> CpuidLeaf {
        soft_cpu::cpuid::leaf(leaf, subleaf)
    }
    fn tsc(&mut self, access: &Access<'_>) -> u64 {
        access.totals.instructions()
    }
    fn branches(&mut self) -> Option<&mut impl BranchRecorder> {
        Some(self)
    }
    fn lbr_state(&mut self) -> Option<&mut impl LbrState> {
        self.lbr.as_mut()
    }
    fn observer(&mut self) -> Option<&mut impl Observer> {
        self.recorder.as_mut()
    }
    fn attention(&self) -> bool {
        self.attention
    }
}

impl<const OBSERVED: bool> BranchRecorder for AnyBus<OBSERVED> {
    fn wanted(&self, _cpl: u8) -> u8 {
        self.wanted_branches
    }
    fn depth(&self) -> u64 {
        self.kept_branches.unwrap_or(u64::MAX)
    }
    fn record(&mut self, branch: TakenBranch) {
        self.branches.push(branch);
    }
    fn skip(&mut self, count: u64) {
        self.skipped_branches.push((self.branches.len(), count));
    }
    fn interrupted(&mut self) {
        self.deliveries.push(("interrupt", self.branches.len()));
    }
    fn debug_exception(&mut self) {
        self.deliveries.push(("#DB", self.branches.len()));
    }
    fn steps_on_branches(&self) -> bool {
        self.steps_on_branches
    }
}

/// Component 15, of which the first word cannot be all ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lbr(pub [u64; LBR_COMPONENT_WORDS]);

impl LbrState for Lbr {
    fn words(&self) -> usize {
        self.0.len()
    }
    fn save(&mut self, words: &mut [u64; LBR_COMPONENT_WORDS], _access: &Access<'_>) {
        *words = self.0;
    }
    fn restore(
        &mut self,
        words: Option<&[u64; LBR_COMPONENT_WORDS]>,
        _access: &Access<'_>,
    ) -> Result<(), GeneralProtection> {
        let words = words.copied().unwrap_or([0; LBR_COMPONENT_WORDS]);
        if words[0] == u64::MAX {
            return Err(GeneralProtection);
        }
        self.0 = words;
        Ok(())
    }
}

fn u16_at(file: &[u8], at: usize) -> u64 {
    u64::from(u16::from_le_bytes(file[at..at + 2].try_into().unwrap()))
}
fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}
fn u64_at(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

/// Loads an ELF64 file with a PVH note; the state to start it in.
pub fn load_pvh(bus: &mut TestBus, file: &[u8], cmdline: &str) -> State {
    const PT_LOAD: u32 = 1;
    const PT_NOTE: u32 = 4;
    let (table, size, count) = (u64_at(file, 32), u16_at(file, 54), u16_at(file, 56));
    let mut entry = 0;
    for n in 0..count {
        let header = (table + n * size) as usize;
        let (offset, paddr) = (u64_at(file, header + 8) as usize, u64_at(file, header + 24));
        let len = u64_at(file, header + 32) as usize;
        match u32_at(file, header) {
            PT_LOAD => bus.write(paddr, &file[offset..offset + len]),
            // Name "Xen", then an entry address of 8 bytes.
            PT_NOTE if u32_at(file, offset + 8) == 18 => entry = u64_at(file, offset + 16),
            _ => {}
        }
    }
    const INFO: u64 = 0x9000;
    bus.write(INFO + 0x100, cmdline.as_bytes());
    bus.write(INFO, &0x336E_C578_u32.to_le_bytes());
    bus.write(INFO + 4, &1_u32.to_le_bytes());
    bus.write_u64(INFO + 24, INFO + 0x100);
    bus.write_u64(INFO + 40, INFO + 0x80);
    bus.write(INFO + 48, &1_u32.to_le_bytes());
    bus.write_u64(INFO + 0x80, 0);
    bus.write_u64(INFO + 0x88, bus.ram.len() as u64);
    bus.write(INFO + 0x90, &1_u32.to_le_bytes());
    let mut state = State { rip: entry, ..State::default() };
    state.gpr[3] = INFO;
    state
}
