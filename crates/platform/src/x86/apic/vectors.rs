//! A set of interrupt vectors in the layout of ISR, TMR and IRR.

/// 256 bits, word `n` holds vectors `32 n` to `32 n + 31`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct VectorSet(pub(super) [u32; 8]);

impl VectorSet {
    pub(super) fn insert(&mut self, vector: u8) {
        self.0[usize::from(vector >> 5)] |= 1 << (vector & 31);
    }

    pub(super) fn remove(&mut self, vector: u8) {
        self.0[usize::from(vector >> 5)] &= !(1 << (vector & 31));
    }

    pub(super) fn contains(&self, vector: u8) -> bool {
        self.0[usize::from(vector >> 5)] & 1 << (vector & 31) != 0
    }

    /// One 32-bit register of the set; 0 outside of it.
    pub(super) fn word(&self, index: u8) -> u32 {
        self.0.get(usize::from(index)).copied().unwrap_or(0)
    }

    /// The member with the highest number, which is the one of highest priority.
    pub(super) fn highest(&self) -> Option<u8> {
        let (index, word) = self.0.iter().enumerate().rev().find(|(_, word)| **word != 0)?;
        u8::try_from(index * 32 + (31 - word.leading_zeros() as usize)).ok()
    }
}
