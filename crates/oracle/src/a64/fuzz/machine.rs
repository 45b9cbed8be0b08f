//! A machine that answers everything, and states to start in.

use arm_cpu::{Access, Bus, ExternalAbort, Identification, Ram, State, SystemFault, SystemRegister};
use random_testing::Random;
use std::collections::BTreeMap;

/// Bytes of RAM, from address 0.
const RAM: u64 = 1 << 19;
/// First byte of the code, of which a part is vectors.
const CODE: u64 = 0x1_0000;
/// Words of code.
pub(super) const CODE_WORDS: usize = 0x1000;
/// Tables of each half, and what they map.
const LOWER: [u64; 4] = [0x1000, 0x2000, 0x3000, 0x4000];
const UPPER: [u64; 4] = [0x5000, 0x6000, 0x7000, 0x8000];
const HIGH: u64 = 0xFFFF_0000_0000_0000;
/// A device behind RAM.
const DEVICE: u64 = RAM;

/// Vector tables at the start of the code.
const VECTOR_TABLES: u64 = 4;
const SKIP: [u32; 4] = [0xD538_4029, 0x9100_1129, 0xD518_4029, 0xD69F_03E0];

/// A register that the machine has: PMCCNTR_EL0.
const OUTSIDE: SystemRegister = SystemRegister::new(3, 3, 9, 13, 0);

#[derive(Debug)]
pub(super) struct Machine {
    ram: Vec<u8>,
    system: BTreeMap<SystemRegister, u64>,
    attention: bool,
}

impl Machine {
    pub(super) fn new(random: &mut Random) -> Self {
        let mut ram = vec![0; RAM as usize];
        random.fill(&mut ram);
        Self { ram, system: BTreeMap::from([(OUTSIDE, 0)]), attention: false }
    }

    fn put(&mut self, at: u64, value: u64) {
        self.ram[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    }

    pub(super) fn load(&mut self, code: &[u32]) {
        let bytes = self.ram[CODE as usize..].chunks_exact_mut(4);
        bytes.zip(code).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    }

    /// Vectors that skip what raised the exception: MRS X9, ELR_EL1; ADD X9, X9, #4; MSR ELR_EL1, X9; ERET.
    pub(super) fn load_vectors(&mut self) {
        for vector in 0..VECTOR_TABLES * 16 {
            let at = (CODE + 0x80 * vector) as usize;
            for (place, word) in self.ram[at..].chunks_exact_mut(4).zip(SKIP) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
    }

    /// An identity map of 2 MiB in both halves; some pages have other permissions, or are absent or elsewhere.
    pub(super) fn tables(&mut self, random: &mut Random) {
        for tables in [LOWER, UPPER] {
            for level in 0..3 {
                self.put(tables[level], tables[level + 1] | 3);
            }
            for page in 0..512 {
                // AttrIndx, AP, AF, nG, PXN, UXN.
                let any = random.bits() & (7 << 2 | 3 << 6 | 1 << 11 | 3 << 53);
                let strange = match random.below(24) {
                    0 => random.bits(),
                    1 | 2 => page << 12 | 3 | 1 << 10 | any,
                    3 => (random.below(128) << 12) | 3 | 1 << 10 | 1 << 6,
                    _ => page << 12 | 3 | 1 << 10 | 1 << 6,
                };
                // EL1 does not execute what EL0 may write.
                let code = (CODE >> 12..(CODE >> 12) + 4).contains(&page);
                let entry = if code { page << 12 | 3 | 1 << 10 | 3 << 6 } else { strange };
                self.put(tables[3] + 8 * page, entry);
            }
        }
    }
}

/// A state that starts in random code.
pub(super) fn state(random: &mut Random, level: u8) -> State {
    let mut state = State::reset(Identification::implemented(0x510F_C000));
    let half = if random.one_in(3) { HIGH } else { 0 };
    state.pc = half + CODE + 4 * random.below(CODE_WORDS as u64);
    // D, A, I, F at times; SS and IL seldom; SP_EL1 or SP_EL0.
    let mode = if level == 0 { 0 } else { 4 + random.below(2) };
    let masks = random.bits() & 0x3C0;
    let odd = if random.one_in(16) { random.bits() & 0x30_0000 } else { 0 };
    state.pstate = mode | masks | odd | (random.bits() & 0xF) << 28;
    for value in state.x.iter_mut().chain(&mut state.sp) {
        *value = match random.below(8) {
            0 => random.bits(),
            1 => random.below(64),
            2 => half + DEVICE + random.below(0x2000),
            3 => half + CODE + 4 * random.below(CODE_WORDS as u64),
            _ => half + CODE + 4 * CODE_WORDS as u64 + random.below(RAM - CODE - 4 * CODE_WORDS as u64),
        };
    }
    for value in &mut state.v {
        *value = u128::from(random.bits()) << 64 | u128::from(random.bits());
    }
    (state.fpcr, state.fpsr) = (random.bits(), random.bits());
    let any = random.bits();
    // Translation, alignment and the controls of EL0; off at times.
    let sctlr = any & !0x8_0000 & !1 | u64::from(!random.one_in(6));
    let tcr = if random.one_in(8) { random.bits() } else { 16 | 16 << 16 | any & 3 << 37 };
    let mdscr = if random.one_in(8) { random.bits() } else { 0 };
    let names: [(u32, [u32; 4], u64); 10] = [
        (3, [0, 1, 0, 0], sctlr),
        (3, [0, 2, 0, 0], LOWER[0]),
        (3, [0, 2, 0, 1], UPPER[0]),
        (3, [0, 2, 0, 2], tcr),
        (3, [0, 10, 2, 0], if random.one_in(4) { random.bits() } else { 0xFF }),
        (3, [0, 12, 0, 0], half + CODE + 0x800 * random.below(VECTOR_TABLES)),
        (3, [0, 1, 0, 2], if random.one_in(8) { random.bits() } else { 3 << 20 }),
        (3, [0, 4, 0, 0], random.bits() & 0xF000_03C5),
        (3, [0, 4, 0, 1], half + CODE + 4 * random.below(CODE_WORDS as u64)),
        (2, [0, 0, 2, 2], mdscr),
    ];
    for (op0, [op1, crn, crm, op2], value) in names {
        state.set_system_register(SystemRegister::new(op0, op1, crn, crm, op2), value);
    }
    state
}

impl Ram for Machine {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        (gpa < RAM).then_some(gpa)
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
    fn mmio_read(&mut self, address: u64, data: &mut [u8], _: &Access<'_>) -> Result<(), ExternalAbort> {
        data.fill(address as u8);
        if address >> 12 == DEVICE >> 12 { Ok(()) } else { Err(ExternalAbort) }
    }
    fn mmio_write(&mut self, address: u64, data: &[u8], _: &Access<'_>) -> Result<(), ExternalAbort> {
        self.attention = data.first() == Some(&0);
        if address >> 12 == DEVICE >> 12 { Ok(()) } else { Err(ExternalAbort) }
    }
    fn read_system(&mut self, register: SystemRegister, access: &Access<'_>) -> Result<u64, SystemFault> {
        match self.system.get(&register) {
            Some(value) if access.el == 1 => Ok(*value),
            Some(_) => Err(SystemFault::Trapped),
            None => Err(SystemFault::Undefined),
        }
    }
    fn write_system(
        &mut self,
        register: SystemRegister,
        value: u64,
        _: &Access<'_>,
    ) -> Result<(), SystemFault> {
        self.system.get_mut(&register).map(|old| *old = value).ok_or(SystemFault::Undefined)
    }
    fn hypervisor_call(&mut self, number: u16, _: &mut [u64; 8], _: &Access<'_>) -> Result<(), SystemFault> {
        if number & 1 == 0 { Ok(()) } else { Err(SystemFault::Undefined) }
    }
    fn attention(&self) -> bool {
        self.attention
    }
}
