//! What instructions load and store.

use crate::Ram;

/// Something that can be loaded and stored.
pub trait Operand: Copy + 'static {
    /// Its size.
    const BYTES: usize;
    /// Reads it from a position in RAM.
    fn ram_read<R: Ram>(ram: &mut R, position: u64) -> Self;
    /// Writes it there.
    fn ram_write<R: Ram>(self, ram: &mut R, position: u64);
    /// [`Ram::ram_read_quick`].
    fn ram_read_quick<R: Ram>(ram: &mut R, position: u64) -> Option<Self>;
    /// [`Ram::ram_write_quick`].
    fn ram_write_quick<R: Ram>(self, ram: &mut R, position: u64) -> bool;
    /// From [`BYTES`](Self::BYTES) little-endian bytes; missing ones are 0.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Into [`BYTES`](Self::BYTES) little-endian bytes.
    fn to_bytes(self, bytes: &mut [u8]);
}

macro_rules! memory {
    ($($t:ty)*) => { $(
        impl Operand for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline(always)]
            fn ram_read<R: Ram>(ram: &mut R, position: u64) -> Self {
                Self::from_le_bytes(ram.ram_read(position))
            }
            #[inline(always)]
            fn ram_write<R: Ram>(self, ram: &mut R, position: u64) {
                ram.ram_write(position, self.to_le_bytes());
            }
            #[inline(always)]
            fn ram_read_quick<R: Ram>(ram: &mut R, position: u64) -> Option<Self> {
                ram.ram_read_quick(position).map(Self::from_le_bytes)
            }
            #[inline(always)]
            fn ram_write_quick<R: Ram>(self, ram: &mut R, position: u64) -> bool {
                ram.ram_write_quick(position, self.to_le_bytes())
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                let mut all = [0; size_of::<$t>()];
                all.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                Self::from_le_bytes(all)
            }
            fn to_bytes(self, bytes: &mut [u8]) {
                bytes.iter_mut().zip(self.to_le_bytes()).for_each(|(to, from)| *to = from);
            }
        }
    )* };
}
memory!(u8 u16 u32 u64 u128);

/// Vectors, as bytes.
macro_rules! bytes {
    ($($size:literal)*) => { $(
        impl Operand for [u8; $size] {
            const BYTES: usize = $size;
            #[inline(always)]
            fn ram_read<R: Ram>(ram: &mut R, position: u64) -> Self {
                ram.ram_read(position)
            }
            #[inline(always)]
            fn ram_write<R: Ram>(self, ram: &mut R, position: u64) {
                ram.ram_write(position, self);
            }
            #[inline(always)]
            fn ram_read_quick<R: Ram>(ram: &mut R, position: u64) -> Option<Self> {
                ram.ram_read_quick(position)
            }
            #[inline(always)]
            fn ram_write_quick<R: Ram>(self, ram: &mut R, position: u64) -> bool {
                ram.ram_write_quick(position, self)
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                let mut all = [0; $size];
                all.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                all
            }
            fn to_bytes(self, bytes: &mut [u8]) {
                bytes.iter_mut().zip(self).for_each(|(to, from)| *to = from);
            }
        }
    )* };
}
bytes!(32 64);
