//! Vectors of 512 bits, their elements, and the registers.

use crate::state::State;
use core::array;
use core::ops::{Index, IndexMut};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// 512 bits; the lowest quarter is an XMM register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub(crate) struct Vector(pub(crate) [u128; 4]);

impl Vector {
    pub(crate) const ZERO: Self = Self([0; 4]);

    /// The lowest 64 bits; above them zeros.
    pub(crate) fn from_low(value: u64) -> Self {
        Self([u128::from(value), 0, 0, 0])
    }

    /// The lowest 64 bits.
    #[inline(always)]
    pub(crate) fn low(&self) -> u64 {
        self.elements::<u64>()[0]
    }

    /// All elements, the lowest first.
    #[inline(always)]
    pub(crate) fn elements<E: Element>(&self) -> &[E] {
        E::all(self)
    }

    #[inline(always)]
    pub(crate) fn elements_mut<E: Element>(&mut self) -> &mut [E] {
        E::all_mut(self)
    }

    /// Element `n`; 0 behind the last one.
    #[inline(always)]
    pub(crate) fn get<E: Element>(&self, n: usize) -> E {
        self.elements::<E>().get(n).copied().unwrap_or_default()
    }

    /// Replaces element `n`, if there is one.
    #[inline(always)]
    pub(crate) fn set<E: Element>(&mut self, n: usize, value: E) {
        if let Some(element) = self.elements_mut::<E>().get_mut(n) {
            *element = value;
        }
    }

    /// The same value in all elements.
    #[inline(always)]
    pub(crate) fn broadcast<E: Element>(value: E) -> Self {
        let mut all = Self::ZERO;
        all.elements_mut::<E>().fill(value);
        all
    }

    /// Zeros from byte `bytes` on, a multiple of 16.
    #[inline(always)]
    pub(crate) fn zero_from(&mut self, bytes: usize) {
        self.0.iter_mut().skip(bytes / 16).for_each(|quarter| *quarter = 0);
    }
}

/// An element of a vector.
pub(crate) trait Element: Copy + Default + 'static {
    /// Its size.
    const BYTES: usize;
    /// 16 bytes of them: what loops take at once, so that the compiler makes one operation of the host of it.
    type Quarter: Copy + AsRef<[Self]> + AsMut<[Self]>;
    fn all(vector: &Vector) -> &[Self];
    fn all_mut(vector: &mut Vector) -> &mut [Self];
    fn quarters(vector: &Vector) -> &[Self::Quarter; 4];
    fn quarters_mut(vector: &mut Vector) -> &mut [Self::Quarter; 4];
}

macro_rules! element {
    ($($t:ty)*) => { $(
        impl Element for $t {
            const BYTES: usize = size_of::<$t>();
            type Quarter = [$t; 16 / size_of::<$t>()];
            #[inline(always)]
            fn all(vector: &Vector) -> &[Self] {
                let all: &[$t; 64 / size_of::<$t>()] = zerocopy::transmute_ref!(vector);
                all
            }
            #[inline(always)]
            fn all_mut(vector: &mut Vector) -> &mut [Self] {
                let all: &mut [$t; 64 / size_of::<$t>()] = zerocopy::transmute_mut!(vector);
                all
            }
            #[inline(always)]
            fn quarters(vector: &Vector) -> &[Self::Quarter; 4] {
                zerocopy::transmute_ref!(vector)
            }
            #[inline(always)]
            fn quarters_mut(vector: &mut Vector) -> &mut [Self::Quarter; 4] {
                zerocopy::transmute_mut!(vector)
            }
        }
    )* };
}
element!(u8 u16 u32 u64 u128 i8 i16 i32 i64 f32 f64);

/// The 32 vector registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registers(pub(crate) [Vector; 32]);

impl Registers {
    pub(crate) fn of(state: &State) -> Self {
        let mut registers = Self([Vector::ZERO; 32]);
        registers.set_low(&state.xmm);
        registers.set_ymm_high(&state.ymm_high);
        registers.set_zmm_high(&state.zmm_high);
        registers.set_upper(&state.zmm_16_to_31);
        registers
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u8) -> &Vector {
        &self.0[usize::from(number & 31)]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, number: u8) -> &mut Vector {
        &mut self.0[usize::from(number & 31)]
    }

    /// XMM0 to XMM15.
    pub(crate) fn low(&self) -> [u128; 16] {
        array::from_fn(|n| self.0[n].0[0])
    }

    /// Replaces them; what is above stays.
    pub(crate) fn set_low(&mut self, values: &[u128; 16]) {
        self.0.iter_mut().zip(values).for_each(|(register, value)| register.0[0] = *value);
    }

    /// Bits 255:128 of the first 16.
    pub(crate) fn ymm_high(&self) -> [u128; 16] {
        array::from_fn(|n| self.0[n].0[1])
    }

    /// Replaces them.
    pub(crate) fn set_ymm_high(&mut self, values: &[u128; 16]) {
        self.0.iter_mut().zip(values).for_each(|(register, value)| register.0[1] = *value);
    }

    /// Bits 511:256 of the first 16.
    pub(crate) fn zmm_high(&self) -> [[u128; 2]; 16] {
        array::from_fn(|n| [self.0[n].0[2], self.0[n].0[3]])
    }

    /// Replaces them.
    pub(crate) fn set_zmm_high(&mut self, values: &[[u128; 2]; 16]) {
        for (register, [third, fourth]) in self.0.iter_mut().zip(values) {
            (register.0[2], register.0[3]) = (*third, *fourth);
        }
    }

    /// ZMM16 to ZMM31.
    pub(crate) fn upper(&self) -> [[u128; 4]; 16] {
        array::from_fn(|n| self.0[16 + n].0)
    }

    /// Replaces them.
    pub(crate) fn set_upper(&mut self, values: &[[u128; 4]; 16]) {
        self.0.iter_mut().skip(16).zip(values).for_each(|(register, value)| register.0 = *value);
    }
}

/// The low 128 bits.
impl Index<usize> for Registers {
    type Output = u128;
    #[inline(always)]
    fn index(&self, number: usize) -> &u128 {
        &self.0[number].0[0]
    }
}

impl IndexMut<usize> for Registers {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut u128 {
        &mut self.0[number].0[0]
    }
}
