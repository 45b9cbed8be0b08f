//! The state in which a case starts: everything follows from one seed.

use crate::start::{integer, vector};
use a64_runner::{CODE, CODE_LEN, CONSTANTS, DATA, DATA_LEN, IMAGE_LEN, IMAGES, PAGE, STACK, State};
use random_testing::Random;
use zerocopy::FromZeros;

/// FPCR: AHP, DN, FZ, RMode.
const FPCR: u32 = 0x07C0_0000;
/// FPSR: QC, IDC, IXC, UFC, OFC, DZC, IOC.
const FPSR: u32 = 1 << 27 | 0x9F;

/// What a register holds, for the choice of operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An address in or next to what a case can access.
    Pointer,
    /// An address in the code.
    Code,
    /// A number below 256.
    Small,
    /// Any value.
    Value,
}

/// The start of a case.
#[derive(Debug, Clone)]
pub struct Start {
    /// Registers; the PC is that of the case.
    pub state: State,
    /// What is in X0 to X30.
    pub roles: [Role; 31],
    /// Number of the image in memory.
    pub image: usize,
}

impl Start {
    /// The start of a seed, at such an address.
    #[must_use]
    pub fn from_seed(seed: u64, pc: u64) -> Self {
        let random = &mut Random::new(seed);
        let mut state = State::new_zeroed();
        let mut roles = [Role::Value; 31];
        for (role, value) in roles.iter_mut().zip(&mut state.x) {
            (*role, *value) = match random.below(16) {
                0..=6 => (Role::Pointer, pointer(random)),
                7 => (Role::Code, pc.wrapping_add(4 * random.below(12))),
                8 | 9 => (Role::Small, random.below(256)),
                _ => (Role::Value, integer(random)),
            };
        }
        state.sp =
            STACK + if random.one_in(32) { random.below(PAGE) } else { 0x400 + random.below(0x80) * 16 };
        state.pc = pc;
        state.nzcv = (random.bits() & 0xF) << 28;
        state.tpidr = integer(random);
        if random.one_in(2) {
            state.fpcr = random.bits() as u32 & FPCR;
        }
        if random.one_in(3) {
            state.fpsr = random.bits() as u32 & FPSR;
        }
        for register in &mut state.v {
            let value = operand(random);
            *register = [value as u64, (value >> 64) as u64];
        }
        let image = random.below(IMAGES as u64) as usize;
        Self { state, roles, image }
    }
}

/// 16 bytes: of integers, floats, or floats of half precision.
fn operand(random: &mut Random) -> u128 {
    if random.one_in(8) {
        return (0..8).fold(0, |value, lane| value | u128::from(half(random)) << (16 * lane));
    }
    vector(random)
}

/// A float of half precision.
fn half(random: &mut Random) -> u16 {
    let any = random.bits() as u16;
    let exponent = random.pick(&[0, 1, 14, 15, 16, 30, 31, any >> 10 & 0x1F]);
    let fraction = random.pick(&[0, 1, 0x200, 0x3FF, any & 0x3FF, any & 0x3FF]);
    any & 0x8000 | exponent << 10 | fraction
}

/// An address in or next to constants, data and stack.
fn pointer(random: &mut Random) -> u64 {
    let tag = if random.one_in(24) { random.bits() << 56 } else { 0 };
    let address = match random.below(32) {
        // Constants, the hole behind the data, and the closed page: faults.
        0 => CONSTANTS + random.below(PAGE),
        1 => DATA + DATA_LEN - random.below(64),
        2 => DATA + DATA_LEN + random.below(2 * PAGE),
        // Across the two data pages.
        3 => DATA + PAGE - random.below(32),
        4..=7 => DATA + 0x200 + random.below(DATA_LEN - 0x400),
        _ => DATA + 0x200 + (random.below(DATA_LEN - 0x400) & !15),
    };
    address | tag
}

/// The contents of constants, data and stack, and of what is between them, one for each value of [`Start::image`].
#[must_use]
pub fn images() -> Vec<Vec<u8>> {
    (0..IMAGES as u64).map(image).collect()
}

fn image(number: u64) -> Vec<u8> {
    let random = &mut Random::new(number ^ 0x4136_3449_4D47);
    let mut bytes = vec![0; IMAGE_LEN];
    for slot in bytes.chunks_exact_mut(16) {
        let value = match random.below(16) {
            0 => u128::from(CODE + 4 * random.below(CODE_LEN / 4)) | u128::from(pointer(random)) << 64,
            1 => u128::from(pointer(random)) | u128::from(integer(random)) << 64,
            _ => operand(random),
        };
        slot.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}
