//! The interrupts and their state, one bit each in words of 32.

use serde::{Deserialize, Serialize};

/// Number of INTIDs: 16 SGIs, 16 PPIs, 64 SPIs.
pub const INTERRUPTS: u32 = 96;
/// Words of 32 INTIDs: SGIs and PPIs in the first, SPIs in the others.
pub(super) const WORDS: usize = (INTERRUPTS / 32) as usize;
/// First SPI.
pub const FIRST_SPI: u32 = 32;
/// The SGIs in the first word; they are always edge-triggered.
pub(super) const SGIS: u32 = 0xFFFF;
/// Implemented bits of a priority: 32 levels.
pub(super) const PRIORITY: u8 = 0xF8;
/// Bits of GICD_IROUTER: Aff3, IRM, Aff2, Aff1, Aff0.
pub(super) const ROUTE: u64 = 0xFF_80FF_FFFF;
/// IRM: to any CPU.
const ANY_CPU: u64 = 1 << 31;

/// One bit for each INTID.
pub(super) type Bits = [u32; WORDS];

/// The state of all interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Interrupts {
    /// Group 1; else group 0.
    pub(super) group: Bits,
    pub(super) enabled: Bits,
    /// Made pending by an edge, an SGI or GICD_ISPENDR.
    pub(super) latched: Bits,
    pub(super) active: Bits,
    /// Edge-triggered; else level-sensitive.
    pub(super) edge: Bits,
    /// The input is asserted.
    pub(super) level: Bits,
    /// By INTID; lower is more urgent.
    pub(super) priority: Vec<u8>,
    /// GICD_IROUTER of each SPI.
    pub(super) route: Vec<u64>,
}

impl Default for Interrupts {
    fn default() -> Self {
        let none = [0; WORDS];
        Self {
            group: none,
            enabled: none,
            latched: none,
            active: none,
            edge: [SGIS, 0, 0],
            level: none,
            priority: vec![0; INTERRUPTS as usize],
            route: vec![0; (INTERRUPTS - FIRST_SPI) as usize],
        }
    }
}

/// Word and bit of an INTID.
fn place(intid: u32) -> (usize, u32) {
    ((intid / 32) as usize, 1 << (intid % 32))
}

impl Interrupts {
    /// No field has what software or an input cannot have put there.
    pub(super) fn is_valid(&self) -> bool {
        let sgis_are_edges = self.edge[0] & SGIS == SGIS && self.level[0] & SGIS == 0;
        sgis_are_edges
            && self.priority.len() == INTERRUPTS as usize
            && self.priority.iter().all(|priority| priority & !PRIORITY == 0)
            && self.route.len() == (INTERRUPTS - FIRST_SPI) as usize
            && self.route.iter().all(|route| route & !ROUTE == 0)
    }

    /// Pending: latched, or asserted if level-sensitive.
    pub(super) fn pending(&self, word: usize) -> u32 {
        self.latched[word] | self.level[word] & !self.edge[word]
    }

    /// The input of an interrupt changes; SGIs have none.
    pub(super) fn set_level(&mut self, intid: u32, asserted: bool) {
        if !(16..INTERRUPTS).contains(&intid) {
            return;
        }
        let (word, bit) = place(intid);
        if !asserted {
            self.level[word] &= !bit;
        } else if self.level[word] & bit == 0 {
            self.level[word] |= bit;
            self.latched[word] |= bit & self.edge[word];
        }
    }

    /// An SGI comes for this CPU; only if the interrupt is in that group.
    pub(super) fn raise_sgi(&mut self, intid: u32, group_1: bool) {
        let (_, bit) = place(intid & 15);
        if (self.group[0] & bit != 0) == group_1 {
            self.latched[0] |= bit;
        }
    }

    pub(super) fn is_group_1(&self, intid: u32) -> bool {
        let (word, bit) = place(intid);
        self.group[word] & bit != 0
    }

    pub(super) fn priority(&self, intid: u32) -> u8 {
        self.priority[intid as usize]
    }

    /// The most urgent interrupt that is enabled, pending, not active, in one of these groups, and comes to this CPU;
    /// of equal ones that with the lowest INTID.
    pub(super) fn most_urgent(&self, group_0: bool, group_1: bool) -> Option<u32> {
        let mut best: Option<(u8, u32)> = None;
        for (word, first) in (0..WORDS).zip((0..).step_by(32)) {
            let mut groups = 0;
            if group_0 {
                groups |= !self.group[word];
            }
            if group_1 {
                groups |= self.group[word];
            }
            let mut left = self.pending(word) & self.enabled[word] & !self.active[word] & groups;
            while left != 0 {
                let intid = first + left.trailing_zeros();
                left &= left - 1;
                let key = (self.priority(intid), intid);
                if self.comes_here(intid) && best.is_none_or(|best| key < best) {
                    best = Some(key);
                }
            }
        }
        best.map(|(_, intid)| intid)
    }

    /// The only CPU has affinity 0.0.0.0.
    fn comes_here(&self, intid: u32) -> bool {
        intid < FIRST_SPI || {
            let route = self.route[(intid - FIRST_SPI) as usize];
            route & ANY_CPU != 0 || route == 0
        }
    }

    /// The CPU has taken it: from pending to active. Its input may keep it pending as well.
    pub(super) fn acknowledge(&mut self, intid: u32) {
        let (word, bit) = place(intid);
        self.latched[word] &= !bit;
        self.active[word] |= bit;
    }

    pub(super) fn deactivate(&mut self, intid: u32) {
        if intid < INTERRUPTS {
            let (word, bit) = place(intid);
            self.active[word] &= !bit;
        }
    }
}
