//! A block of boot information: a structure, and behind it the tables and strings it points to.

/// Little-endian bytes that will lie at a known guest address.
#[derive(Debug)]
pub(super) struct BootBlock {
    base: u64,
    bytes: Vec<u8>,
}

impl BootBlock {
    /// A block at page-aligned address `base` that starts with `header` zero bytes.
    pub(super) fn new(base: u64, header: usize) -> Self {
        Self { base, bytes: vec![0; header] }
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Pads to a multiple of `align`; returns the address of what comes next.
    pub(super) fn align(&mut self, align: usize) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
        self.base + self.bytes.len() as u64
    }

    /// Appends a number.
    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a number.
    pub(super) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a string and its 0; returns its address.
    pub(super) fn c_string(&mut self, text: &str) -> u64 {
        let address = self.base + self.bytes.len() as u64;
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        address
    }

    /// Sets a field of the header.
    pub(super) fn set_u32(&mut self, offset: usize, value: u32) {
        self.set(offset, &value.to_le_bytes());
    }

    /// Sets a field of the header.
    pub(super) fn set_u64(&mut self, offset: usize, value: u64) {
        self.set(offset, &value.to_le_bytes());
    }

    fn set(&mut self, offset: usize, value: &[u8]) {
        debug_assert!(offset + value.len() <= self.bytes.len());
        if let Some(field) = self.bytes.get_mut(offset..offset + value.len()) {
            field.copy_from_slice(value);
        }
    }

    /// The finished block.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
