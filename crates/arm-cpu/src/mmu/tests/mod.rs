//! Translation by itself: RAM that holds nothing but tables.

mod coherence;
mod faults;
mod instructions;
mod naive;
mod random;

use super::regime::Regime;
use soft_base::Ram;
use std::collections::BTreeMap;

/// RAM here and there; a position is a physical address.
#[derive(Debug, Clone, Default)]
struct Memory(BTreeMap<u64, [u8; 4096]>);

impl Memory {
    fn word(&self, address: u64) -> Option<u64> {
        let page = self.0.get(&(address & !0xFFF))?;
        let at = (address & 0xFF8) as usize;
        Some(u64::from_le_bytes(page[at..at + 8].try_into().unwrap()))
    }

    fn set_word(&mut self, address: u64, value: u64) {
        let page = self.0.entry(address & !0xFFF).or_insert([0; 4096]);
        let at = (address & 0xFF8) as usize;
        page[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
}

impl Ram for Memory {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        self.0.contains_key(&gpa).then_some(gpa)
    }

    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N] {
        let at = (position & 0xFFF) as usize;
        self.0[&(position & !0xFFF)][at..at + N].try_into().unwrap()
    }

    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]) {
        let at = (position & 0xFFF) as usize;
        self.0.get_mut(&(position & !0xFFF)).unwrap()[at..at + N].copy_from_slice(&bytes);
    }
}

/// The registers as software writes them.
#[derive(Debug, Clone, Copy)]
struct Registers {
    sctlr: u64,
    tcr: u64,
    mair: u64,
    tables: [u64; 2],
    mmfr0: u64,
}

impl Registers {
    /// MMU on, 39 bits of addresses in each half, 48 bits of physical ones, ASIDs of 16 bits; MAIR 0 is Normal
    /// memory, 1 Device-nGnRE, 2 Normal without caches.
    const USUAL: Self = Self {
        sctlr: 1,
        tcr: 25 | 25 << 16 | 2 << 30 | 5 << 32 | 1 << 36,
        mair: 0x44_04FF,
        tables: [0x1000, 0x2000],
        mmfr0: 5,
    };

    fn regime(&self) -> Regime {
        Regime::new([self.sctlr, self.tcr, self.mair], self.tables, self.mmfr0)
    }
}
