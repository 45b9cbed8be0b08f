//! A small machine around the CPU: RAM, a console, system registers that remember.
#![allow(dead_code, unreachable_pub, missing_docs)]
#![allow(clippy::unwrap_used, reason = "test code, of an example too")]

use arm_cpu::{
    Access, Bus, Delivery, ExternalAbort, Identification, Ram, State, SystemFault, SystemRegister, Tracer,
};
use retire::{BlockId, CoreEvent, Instruction, MemoryAccess, Observer};
use std::collections::BTreeMap;

/// Where RAM begins.
pub const BASE: u64 = 0x4000_0000;
/// A device that prints what is written to it.
pub const CONSOLE: u64 = 0x0900_0000;
/// MIDR_EL1 of Falkor.
pub const MIDR: u64 = 0x510F_C000;

/// Without an observer.
pub type TestBus = AnyBus<false>;
/// With one.
pub type ObservedBus = AnyBus<true>;

#[derive(Debug, Default)]
pub struct AnyBus<const OBSERVED: bool> {
    pub ram: Vec<u8>,
    pub console: Vec<u8>,
    pub system: BTreeMap<SystemRegister, u64>,
    /// Registers of which accesses are trapped.
    pub trapped: Vec<SystemRegister>,
    pub deliveries: Vec<Delivery>,
    pub calls: Vec<(u16, [u64; 8])>,
    pub unimplemented: Vec<(String, u64)>,
    pub attention: bool,
    pub recorder: Option<Recorder>,
}

/// An observer that remembers.
#[derive(Debug, Default)]
pub struct Recorder {
    blocks: Vec<Vec<Instruction>>,
    pub steps: Vec<Recorded>,
    pub events: Vec<CoreEvent>,
    /// How far away its horizon is.
    pub quiet: u64,
}

/// A retired instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub pc: u64,
    pub user: bool,
    pub memory: Vec<MemoryAccess>,
    pub branch: Option<retire::Branch>,
}

impl Recorder {
    /// One whose horizon is so far away.
    pub fn new(quiet: u64) -> Self {
        Self { quiet, ..Self::default() }
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
        for owner in block.first..block.first + block.count {
            let offset = u64::from(instructions[usize::from(owner)].offset);
            let memory = block.memory.iter().filter(|access| access.owner == owner);
            self.steps.push(Recorded {
                pc: block.rip + offset,
                user: block.user,
                memory: memory.map(|access| MemoryAccess { owner: 0, ..*access }).collect(),
                branch: block.branch.filter(|_| owner + 1 == block.first + block.count),
            });
        }
        false
    }
    fn quiet_horizon(&mut self) -> u64 {
        self.quiet
    }
    fn event(&mut self, event: CoreEvent) {
        self.events.push(event);
    }
}

impl<const OBSERVED: bool> AnyBus<OBSERVED> {
    pub fn new(size: usize) -> Self {
        Self { ram: vec![0; size], ..Self::default() }
    }

    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let at = (address - BASE) as usize;
        self.ram[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub fn write_words(&mut self, address: u64, words: &[u32]) {
        words.iter().zip((address..).step_by(4)).for_each(|(word, at)| self.write(at, &word.to_le_bytes()));
    }

    pub fn write_u64(&mut self, address: u64, value: u64) {
        self.write(address, &value.to_le_bytes());
    }

    pub fn read_u64(&self, address: u64) -> u64 {
        let at = (address - BASE) as usize;
        u64::from_le_bytes(self.ram[at..at + 8].try_into().unwrap())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.console).into_owned()
    }
}

/// A CPU after reset that begins at the start of RAM.
pub fn reset() -> State {
    State { pc: BASE, ..State::reset(Identification::implemented(MIDR)) }
}

impl<const OBSERVED: bool> AnyBus<OBSERVED> {
    /// What the bus is told of has been reported to the observer.
    fn check_reported(&self, access: &Access<'_>) {
        if let Some(recorder) = &self.recorder {
            assert_eq!(recorder.steps.len() as u64, access.totals.instructions(), "at {:#x}", access.pc);
        }
    }
}

impl<const OBSERVED: bool> Ram for AnyBus<OBSERVED> {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        // With an observer, positions are physical addresses.
        let inside = gpa >= BASE && gpa - BASE + 4096 <= self.ram.len() as u64;
        inside.then_some(gpa)
    }
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N] {
        let at = (position - BASE) as usize;
        self.ram[at..at + N].try_into().unwrap()
    }
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]) {
        let at = (position - BASE) as usize;
        self.ram[at..at + N].copy_from_slice(&bytes);
    }
}

impl<const OBSERVED: bool> Bus for AnyBus<OBSERVED> {
    const OBSERVED: bool = OBSERVED;

    fn mmio_read(&mut self, address: u64, data: &mut [u8], access: &Access<'_>) -> Result<(), ExternalAbort> {
        self.check_reported(access);
        data.fill(0);
        if address & !0xFFF == CONSOLE { Ok(()) } else { Err(ExternalAbort) }
    }
    fn mmio_write(&mut self, address: u64, data: &[u8], access: &Access<'_>) -> Result<(), ExternalAbort> {
        self.check_reported(access);
        if address == CONSOLE {
            self.console.push(data[0]);
        }
        if address & !0xFFF == CONSOLE { Ok(()) } else { Err(ExternalAbort) }
    }
    fn read_system(&mut self, register: SystemRegister, access: &Access<'_>) -> Result<u64, SystemFault> {
        self.check_reported(access);
        if self.trapped.contains(&register) {
            return Err(SystemFault::Trapped);
        }
        self.system.get(&register).copied().ok_or(SystemFault::Undefined)
    }
    fn write_system(
        &mut self,
        register: SystemRegister,
        value: u64,
        access: &Access<'_>,
    ) -> Result<(), SystemFault> {
        self.check_reported(access);
        if self.trapped.contains(&register) {
            return Err(SystemFault::Trapped);
        }
        self.system.get_mut(&register).map(|old| *old = value).ok_or(SystemFault::Undefined)
    }
    /// X0 0 ends the run.
    fn hypervisor_call(
        &mut self,
        immediate: u16,
        registers: &mut [u64; 8],
        access: &Access<'_>,
    ) -> Result<(), SystemFault> {
        self.check_reported(access);
        self.calls.push((immediate, *registers));
        self.attention |= registers[0] == 0;
        Ok(())
    }
    fn tracer(&mut self) -> Option<&mut impl Tracer> {
        Some(self)
    }
    fn observer(&mut self) -> Option<&mut impl Observer> {
        self.recorder.as_mut()
    }
    fn attention(&self) -> bool {
        self.attention
    }
}

impl<const OBSERVED: bool> Tracer for AnyBus<OBSERVED> {
    fn delivery(&mut self, delivery: &Delivery, _totals: &arm_cpu::Totals) {
        self.deliveries.push(*delivery);
    }
    fn unimplemented(&mut self, name: &str, access: &Access<'_>) {
        self.unimplemented.push((name.to_owned(), access.pc));
    }
}
