//! Maps by guest physical address.

use crate::low::Low;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes keys that are page addresses and block addresses. A guest that makes them collide slows itself down only.
#[derive(Debug, Default, Clone, Copy)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 32;
    }
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value.cast_unsigned().low_u64());
    }
}

/// A map by guest physical address.
pub type ByAddress<K, V> = HashMap<K, V, BuildHasherDefault<AddressHasher>>;
