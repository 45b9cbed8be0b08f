//! Where a sequence comes from: bytes, of a random generator or a fuzzer.

/// Reads choices from bytes. After the end everything is 0.
#[derive(Debug, Clone)]
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    /// Reads from the first byte on.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// True when every byte has been read.
    pub(crate) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    /// The next `N` bytes.
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    /// The next two bytes, little endian.
    pub(crate) fn word(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    /// The next four bytes.
    pub(crate) fn double(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    /// The next eight bytes.
    pub(crate) fn quad(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// True once in `n` values of a byte.
    pub(crate) fn one_in(&mut self, n: u8) -> bool {
        self.byte().is_multiple_of(n)
    }

    /// One of the items; the first when there is just one, without reading.
    ///
    /// # Panics
    /// When there are no items.
    pub(crate) fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        let at = match items.len() {
            0 | 1 => 0,
            2..=256 => usize::from(self.byte()) % items.len(),
            _ => usize::from(self.word()) % items.len(),
        };
        &items[at]
    }
}
