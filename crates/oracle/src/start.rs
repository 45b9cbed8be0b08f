//! The state in which a case starts: everything follows from one seed.

use crate::layout::{
    CODE, DATA, DATA_LEN, FS_BASE, FXSAVE_IMAGE, GS_BASE, HIGH, PAGE, SCRATCH, SCRATCH_LEN, STACK,
    XSAVE_IMAGE,
};
use crate::machine::Machine;
use iced_x86::Register;
use random_testing::Random;

/// Different contents of the scratch pages.
const IMAGES: u64 = 64;

/// What a register holds, for the choice of operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An address in the scratch pages.
    Pointer,
    /// A number below 256.
    Small,
    /// Any value.
    Value,
}

/// User-mode registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15.
    pub gpr: [u64; 16],
    /// What is in them.
    pub roles: [Role; 16],
    /// RFLAGS.
    pub rflags: u64,
    /// XMM0 to XMM15 on a machine without AVX; [`Vectors`](crate::vectors::Vectors) has those of others.
    pub xmm: [u128; 16],
    /// MXCSR.
    pub mxcsr: u32,
    /// x87 control word.
    pub fcw: u16,
    /// x87 status word.
    pub fsw: u16,
    /// Abridged x87 tag word.
    pub ftw: u8,
    /// ST0 to ST7.
    pub st: [u128; 8],
    /// Which of the scratch images.
    pub image: usize,
}

const INTEGERS: [u64; 24] = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x1_0000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x1_0000_0000,
    0x7FFF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    0xFFFF_FFFF_FFFF_FFFF,
    0xFFFF_FFFF_FFFF_FFFE,
    0xFFFF_FFFF_8000_0000,
    0xFFFF_FFFF_7FFF_FFFF,
    0x5555_5555_5555_5555,
    0xAAAA_AAAA_AAAA_AAAA,
    0x0102_0408_1020_4080,
];

/// An integer that tends to matter: boundaries, their neighbours, small ones, any.
pub fn integer(random: &mut Random) -> u64 {
    match random.below(8) {
        0..=2 => random.pick(&INTEGERS),
        3 => random.pick(&INTEGERS).wrapping_add(random.below(5)).wrapping_sub(2),
        4 => random.below(256),
        5 => 1 << random.below(64),
        6 => random.bits() >> random.below(64),
        _ => random.bits(),
    }
}

/// A float with `mantissa` stored bits and `exponent` bits.
pub(crate) fn float(random: &mut Random, mantissa: u32, exponent: u32) -> u64 {
    let sign = random.bits() & 1;
    let top = (1 << exponent) - 1;
    let bias = top / 2;
    let ones = (1 << mantissa) - 1;
    let any = random.bits() & ones;
    let quiet = 1 << (mantissa - 1);
    let (e, m) = match random.below(16) {
        0 => (0, 0),
        1 => (0, random.pick(&[1, ones, any])),
        2 => (top, 0),
        3 => (top, quiet | any),
        4 => (top, (any & (quiet - 1)).max(1)),
        5 => (1, random.pick(&[0, 1, any])),
        6 => (top - 1, random.pick(&[ones, ones - 1, any])),
        // Small integers and halves.
        7 | 8 => (bias + random.below(8), random.below(16) << (mantissa - 4)),
        // Around the limits of the integer types.
        9 => (bias + random.pick(&[15, 30, 31, 32, 62, 63, 64]), random.pick(&[0, 1, ones, any])),
        10 | 11 => ((bias + random.below(64)).saturating_sub(32), any & random.bits() & random.bits()),
        12 => (random.below(top), random.pick(&[0, ones, any])),
        13 => (bias - 1, random.pick(&[0, 1, ones])),
        _ => (bias + random.below(6) - 3, any),
    };
    // Half precision has fewer exponents than that.
    sign << (mantissa + exponent) | e.min(top) << mantissa | m
}

/// A 80-bit float, unnormal ones included.
fn extended(random: &mut Random) -> u128 {
    let sign = random.bits() << 15 & 0x8000;
    let one = 1 << 63;
    let any = random.bits();
    let (e, m) = match random.below(20) {
        0 => (0, 0),
        1 => (0, random.pick(&[1, one - 1, any >> 1])),
        2 => (0x7FFF, one),
        3 => (0x7FFF, one | 1 << 62 | any >> 2),
        4 => (0x7FFF, one | (any >> 2).max(1)),
        5 => (1, one | random.pick(&[0, 1, any])),
        6 => (0x7FFE, one | random.pick(&[u64::MAX, u64::MAX - 1, any])),
        // Unsupported: unnormal, pseudo-infinity, pseudo-NaN; and pseudo-denormal.
        7 => random.pick(&[(0x4000, any >> 1), (0x7FFF, 0), (0x7FFF, any >> 1), (0, one | any)]),
        8 => (0x3FFF + random.pick(&[15, 30, 31, 32, 62, 63, 64]), one | random.pick(&[0, 1, u64::MAX, any])),
        9..=11 => (0x3FFF + random.below(8), one | random.below(16) << 59),
        12 => (random.below(0x7FFF), one | any),
        // What a double or a float can hold.
        13 => (0x3FFF + random.below(64) - 32, one | any << 11),
        14 => (0x3FFF + random.below(64) - 32, one | any << 40),
        15 => (random.pick(&[0x3C00, 0x3C01, 0x43FE, 0x43FF, 0x3F80, 0x3F81, 0x407E, 0x407F]), one | any),
        _ => (0x3FFF + random.below(6) - 3, one | any),
    };
    u128::from(sign | e) << 64 | u128::from(m)
}

/// 16 bytes of one kind, or of several.
pub(crate) fn vector(random: &mut Random) -> u128 {
    let pair = |low: u64, high: u64| u128::from(low) | u128::from(high) << 64;
    match random.below(8) {
        0 | 1 => pair(float(random, 52, 11), float(random, 52, 11)),
        2 | 3 => {
            let mut quad = || float(random, 23, 8) | float(random, 23, 8) << 32;
            pair(quad(), quad())
        }
        4 => pair(integer(random), integer(random)),
        5 => {
            // Words and bytes at their boundaries.
            let mut value = 0;
            for n in 0..8 {
                value |= u128::from(integer(random) & 0xFFFF) << (16 * n);
            }
            value
        }
        6 => pair(random.bits(), random.bits()),
        _ => {
            let any = random.bits() as u8;
            u128::from_le_bytes([random.pick(&[0, 1, 0x7F, 0x80, 0xFF, any]); 16])
        }
    }
}

/// An address in or next to the scratch pages.
pub fn pointer(random: &mut Random) -> u64 {
    let offset = match random.below(32) {
        // Constants, the hole behind the data, the supervisor page: faults.
        0 => SCRATCH + random.below(PAGE),
        1 => DATA + DATA_LEN - random.below(32),
        2 => DATA + DATA_LEN + PAGE + random.below(PAGE),
        // Across the two data pages.
        3 | 4 => DATA + PAGE - random.below(32),
        5..=9 => DATA + 0x100 + random.below(DATA_LEN - 0x200),
        _ => DATA + 0x100 + (random.below(DATA_LEN - 0x200) & !15),
    };
    if random.one_in(4) { offset | HIGH } else { offset }
}

impl Start {
    /// What a general register, or the base of a segment, holds.
    pub(crate) fn register(&self, register: Register) -> u64 {
        let base = match register {
            Register::FS => return FS_BASE,
            Register::GS => return GS_BASE,
            _ if register.is_gpr64() => Register::RAX,
            _ if register.is_gpr32() => Register::EAX,
            _ => return 0,
        };
        let value = self.gpr[(register as usize - base as usize) & 15];
        if register.is_gpr32() { value & 0xFFFF_FFFF } else { value }
    }

    /// The start of a seed.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let mut gpr = [0; 16];
        let mut roles = [Role::Value; 16];
        for n in 0..16 {
            (roles[n], gpr[n]) = match random.below(8) {
                0..=2 => (Role::Pointer, pointer(random)),
                3 => (Role::Small, random.below(256)),
                _ => (Role::Value, integer(random)),
            };
        }
        // RSP, and most of the time the registers of string instructions.
        let offset =
            STACK + if random.one_in(32) { random.below(PAGE) } else { 0x400 + random.below(0x100) * 8 };
        (roles[4], gpr[4]) = (Role::Pointer, if random.one_in(4) { offset | HIGH } else { offset });
        if random.one_in(2) {
            for n in [6, 7] {
                (roles[n], gpr[n]) = (Role::Pointer, pointer(random));
            }
            (roles[1], gpr[1]) = (Role::Small, random.below(40));
        }
        let id = (random.bits() & 1) << 21;
        let rflags = random.bits() & 0xCD5 & !0x300 | id | 0x202;
        let mut xmm = [0; 16];
        xmm.fill_with(|| vector(random));
        let mut mxcsr = 0x1F80;
        if random.one_in(3) {
            mxcsr |= (random.bits() & 0xE07F) as u32;
        }
        mxcsr |= (random.bits() & 0x6000) as u32;
        if random.one_in(8) {
            mxcsr ^= (random.bits() & 0x1F80) as u32;
        }
        let mut fcw = 0x7F | (random.bits() & 0xF00) as u16;
        if random.one_in(2) {
            fcw |= 0x300;
        }
        if random.one_in(8) {
            fcw ^= (random.bits() & 0x3F) as u16;
        }
        let mut fsw = (random.bits() & 0x7F00) as u16;
        if random.one_in(4) {
            fsw |= (random.bits() & 0x7F) as u16;
        }
        // Pending unmasked exceptions would hide everything else; they are rare enough this way.
        if !random.one_in(4) {
            fsw &= !0x3F | fcw & 0x3F;
        }
        if fsw & !fcw & 0x3F != 0 {
            fsw |= 0x8080;
        }
        let ftw = match random.below(4) {
            0 => random.bits() as u8,
            1 => 0xFF,
            // Some room to push.
            _ => !(1 << ((fsw >> 11).wrapping_sub(1) & 7)) & !(1 << ((fsw >> 11).wrapping_sub(2) & 7)),
        };
        let mut st = [0; 8];
        st.fill_with(|| match random.below(8) {
            0 => u128::from(vector(random) as u64) | 0xFFFF << 64,
            _ => extended(random),
        });
        let image = random.below(IMAGES) as usize;
        Self { gpr, roles, rflags, xmm, mxcsr, fcw, fsw, ftw, st, image }
    }
}

/// The contents of the scratch pages, one for each value of [`Start::image`].
#[must_use]
pub fn images(machine: Machine) -> Vec<Vec<u8>> {
    (0..IMAGES).map(if machine == Machine::Sse { image } else { image_with_xsave }).collect()
}

/// An [`image`] with some half-precision floats, and an area that XRSTOR accepts most of the time.
fn image_with_xsave(number: u64) -> Vec<u8> {
    let random = &mut Random::new(number ^ 0x5853_4156_4500);
    let mut bytes = image(number);
    for slot in bytes.chunks_exact_mut(16) {
        if !random.one_in(5) {
            continue;
        }
        for half in slot.chunks_exact_mut(2) {
            half.copy_from_slice(&(float(random, 10, 5) as u16).to_le_bytes());
        }
    }
    let area = (XSAVE_IMAGE - SCRATCH) as usize;
    bytes[area + 24 + 2..area + 24 + 4].fill(0);
    // XSTATE_BV, XCOMP_BV, and what is reserved (SDM volume 1, section 13.4.2).
    let mut header = [0_u64; 8];
    header[0] = random.bits() & 0xE7;
    if random.one_in(3) {
        header[1] = 1 << 63 | header[0] | random.bits() & 0xE7;
    }
    if random.one_in(12) {
        header[random.below(8) as usize] ^= 1 << random.below(64);
    }
    for (to, from) in bytes[area + 512..area + 576].chunks_exact_mut(8).zip(header) {
        to.copy_from_slice(&from.to_le_bytes());
    }
    bytes
}

fn image(number: u64) -> Vec<u8> {
    let random = &mut Random::new(number ^ 0x0053_4352_4154_4348);
    let mut bytes = vec![0; SCRATCH_LEN];
    for slot in bytes.chunks_exact_mut(16) {
        let value = match random.below(16) {
            // Return addresses into the INT3s behind the code, and pointers.
            0 => u128::from(CODE + 0x1800 + random.below(0x100)) | u128::from(pointer(random)) << 64,
            1 => u128::from(pointer(random)) | u128::from(integer(random)) << 64,
            2 | 3 => extended(random) | u128::from(random.bits()) << 80,
            // Packed decimals.
            4 => (0..18).fold(0, |bcd, n| bcd | u128::from(random.below(10)) << (4 * n)),
            _ => vector(random),
        };
        slot.copy_from_slice(&value.to_le_bytes());
    }
    // The one field of what FXRSTOR loads that can make it raise #GP: MXCSR.
    let mxcsr = (FXSAVE_IMAGE - SCRATCH) as usize + 24;
    bytes[mxcsr + 2..mxcsr + 4].fill(0);
    bytes
}
