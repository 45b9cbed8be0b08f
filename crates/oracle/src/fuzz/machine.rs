//! A machine that answers everything, and states to start in.

use super::Mode;
use random_testing::Random;
use soft_cpu::compiled::Compiler;
use soft_cpu::{Access, Bus, CpuidLeaf, DescriptorTable, GeneralProtection, Ram, Segment, State};
use std::collections::BTreeMap;

/// Bytes of RAM.
const RAM: u32 = 1 << 20;
/// First byte of the code.
pub(super) const CODE_START: u32 = 0x1_0000;
/// Behind the last one.
pub(super) const CODE_END: u32 = 0x1_4000;

const TABLES: u64 = 0x1000;
const GDT: u64 = 0x5000;
const IDT: u64 = 0x6000;
const TSS: u64 = 0x7000;
const STACK: u64 = 0x8_0000;
/// Present, writable, user.
const ALL: u64 = 7;
/// CR4.OSXSAVE.
const OSXSAVE: u64 = 1 << 18;
/// All that is announced, half of the time, and less.
const XCR0: [u64; 4] = [0xE7, 7, 3, 1];
/// IA32_APIC_BASE.
const APIC_BASE: u32 = 0x1B;

#[derive(Debug)]
pub(super) struct Machine {
    ram: Vec<u8>,
    msrs: BTreeMap<u32, u64>,
}

impl Clone for Machine {
    fn clone(&self) -> Self {
        Self { ram: self.ram.clone(), msrs: self.msrs.clone() }
    }

    /// The bytes stay where they are: compiled code knows their address.
    fn clone_from(&mut self, other: &Self) {
        self.ram.copy_from_slice(&other.ram);
        self.msrs.clone_from(&other.msrs);
    }
}

impl Machine {
    pub(super) fn new(random: &mut Random) -> Self {
        let mut ram = vec![0; RAM as usize];
        for word in ram.chunks_exact_mut(8) {
            word.copy_from_slice(&random.bits().to_le_bytes());
        }
        Self { ram, msrs: BTreeMap::from([(APIC_BASE, 0xFEE0_0900)]) }
    }

    fn put(&mut self, at: u64, value: u64) {
        self.ram[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// What compiles blocks for a CPU on this machine, as long as that is only changed by [`Clone::clone_from`].
    pub(super) fn compiler(&mut self) -> Option<Box<dyn Compiler>> {
        crate::compiled::compiler(&mut self.ram)
    }

    /// Where the other machine's RAM is not like this one's.
    pub(super) fn difference(&self, other: &Self) -> Option<usize> {
        if self.ram == other.ram {
            return None;
        }
        self.ram.iter().zip(&other.ram).position(|(one, other)| one != other)
    }

    pub(super) fn load(&mut self, code: &[u8]) {
        let at = CODE_START as usize;
        self.ram[at..at + code.len()].copy_from_slice(code);
    }

    /// Page tables, gates and descriptors; most of them make some sense.
    pub(super) fn tables(&mut self, random: &mut Random, mode: Mode) {
        self.put(TABLES, (TABLES + 0x1000) | ALL);
        self.put(TABLES + 0x1000, (TABLES + 0x2000) | ALL);
        self.put(TABLES + 0x2000, (TABLES + 0x3000) | ALL);
        // An identity map of 2 MiB, with some pages that are read-only, for the supervisor, or absent.
        for page in 0..512 {
            let strange = random.one_in(12) && page > 16;
            let flags = if strange { (random.bits() & ALL) | (random.bits() & 1) << 63 } else { ALL };
            self.put(TABLES + 0x3000 + page * 8, page << 12 | flags);
        }
        for n in 0..256 {
            let handler = u64::from(CODE_START) + random.below(u64::from(CODE_END - CODE_START));
            let any = random.bits() & 0xFF;
            let kind = random.pick(&[0x8E, 0x8E, 0x8E, 0xEE, 0xEF, 0x85, any]);
            let gate = handler & 0xFFFF | 8 << 16 | kind << 40 | (handler & 0xFFFF_0000) << 32;
            let gate = if random.one_in(16) { random.bits() } else { gate };
            if mode == Mode::Protected {
                self.put(IDT + n * 8, gate);
            } else {
                self.put(IDT + n * 16, gate);
                self.put(IDT + n * 16 + 8, 0);
            }
        }
        let ring0 = if mode == Mode::Protected { 0x00CF_9B00_0000_FFFF } else { 0x00AF_9B00_0000_FFFF };
        let descriptors = [
            0,
            ring0,
            0x00CF_9300_0000_FFFF,
            0x00CF_FB00_0000_FFFF,
            0x00CF_F300_0000_FFFF,
            0x00AF_FB00_0000_FFFF,
            random.bits(),
            random.bits() | 0x8000_0000_0000,
            0x0000_8900_0000_2067 | TSS << 16,
            0,
        ];
        for (n, descriptor) in (0..).zip(descriptors) {
            self.put(GDT + 8 * n, descriptor);
        }
        // Stacks of the task state segment, in both of its formats.
        for at in (4..0x68).step_by(4) {
            let at = (TSS + at) as usize;
            self.ram[at..at + 4].copy_from_slice(&0_u32.to_le_bytes());
        }
        if mode == Mode::Protected {
            self.put(TSS + 4, (STACK + 0x1_0000) | (0x10 << 32));
        } else {
            self.put(TSS + 4, STACK + 0x1_0000);
            self.put(TSS + 0x24, STACK + 0x2_0000);
        }
    }
}

/// A state that starts in random code.
pub(super) fn state(random: &mut Random, mode: Mode) -> State {
    let mut state = State {
        rip: u64::from(CODE_START) + random.below(u64::from(CODE_END - CODE_START)),
        rflags: random.bits() & if random.one_in(8) { 0x24_7ED5 } else { 0x0ED5 & !0x0100 } | 2,
        cr4: 0x620 | random.bits() & 0x10_0104 | if random.one_in(16) { 0 } else { OSXSAVE },
        xcr0: XCR0[random.below(8).saturating_sub(4) as usize],
        mxcsr: if random.one_in(4) { random.bits() as u32 & 0xFFFF } else { 0x1F80 },
        fcw: if random.one_in(4) { random.bits() as u16 & 0x1F3F | 0x40 } else { 0x37F },
        fsw: random.bits() as u16 & 0x7F00,
        ftw: random.bits() as u8,
        ..State::default()
    };
    for register in &mut state.gpr {
        *register = match random.below(4) {
            0 => random.bits(),
            1 => random.below(64),
            _ => u64::from(CODE_END) + random.below(u64::from(RAM - CODE_END)),
        };
    }
    let upper = state.zmm_high.as_flattened_mut().iter_mut().chain(state.zmm_16_to_31.as_flattened_mut());
    for register in state.xmm.iter_mut().chain(&mut state.ymm_high).chain(upper).chain(&mut state.st) {
        *register = match random.below(4) {
            // Indices of gathers.
            0 => u128::from(random.below(64)) << 64 | u128::from(random.below(64)) << 32,
            _ => u128::from(random.bits()) << 64 | u128::from(random.bits()),
        };
    }
    for mask in &mut state.opmask {
        *mask = if random.one_in(3) { random.bits() } else { random.below(16) };
    }
    for register in &mut state.st {
        *register &= (1 << 80) - 1;
    }
    state.gpr[4] = STACK + random.below(64) * 8;
    (state.cr0, state.cr3, state.efer) = match mode {
        Mode::Protected => (0x33, 0, 0),
        _ => (0x8001_0033, TABLES, 0xD01),
    };
    let user = random.one_in(2);
    let dpl = if user { 3 << 5 } else { 0 };
    let code = if mode == Mode::Long { 0xA09B } else { 0xC09B };
    let (code_selector, data_selector) = match (mode, user) {
        (_, false) => (0x08, 0x10),
        (Mode::Long, true) => (0x2B, 0x23),
        (_, true) => (0x1B, 0x23),
    };
    state.segments[1] = Segment { selector: code_selector, base: 0, limit: u32::MAX, rights: code | dpl };
    for number in [0, 2, 3, 4, 5] {
        // Limits that matter, in the modes that check them.
        let limit = if number != 2 && random.one_in(8) { random.bits() as u32 & 0xF_FFFF } else { u32::MAX };
        let base = if number > 3 { random.below(0x1000) } else { 0 };
        state.segments[number] = Segment { selector: data_selector, base, limit, rights: 0xC093 | dpl };
    }
    state.gdtr = DescriptorTable { base: GDT, limit: 0x4F };
    state.idtr = DescriptorTable { base: IDT, limit: 0xFFF };
    state.tr = Segment { selector: 0x40, base: TSS, limit: 0x2067, rights: 0x8B };
    state
}

impl Ram for Machine {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        (gpa + 4096 <= u64::from(RAM)).then_some(gpa)
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
    fn mmio_read(&mut self, gpa: u64, data: &mut [u8], _access: &Access<'_>) {
        data.fill(gpa as u8);
    }
    fn mmio_write(&mut self, _gpa: u64, _data: &[u8], _access: &Access<'_>) {}
    fn port_in(&mut self, port: u16, data: &mut [u8], _access: &Access<'_>) {
        data.fill(port as u8);
    }
    fn port_out(&mut self, _port: u16, _data: &[u8], _access: &Access<'_>) {}
    fn rdmsr(&mut self, index: u32, _access: &Access<'_>) -> Result<u64, GeneralProtection> {
        self.msrs.get(&index).copied().ok_or(GeneralProtection)
    }
    fn wrmsr(&mut self, index: u32, value: u64, _access: &Access<'_>) -> Result<(), GeneralProtection> {
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
}
