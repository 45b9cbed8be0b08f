//! Where the bytes come from.

use super::Mode;
use super::machine::CODE_START;
use crate::generator::Generator;
use crate::host::Host;
use iced_x86::{Decoder, DecoderOptions};
use random_testing::Random;

/// How code is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Random bytes.
    Bytes,
    /// Random bytes that decode to instructions.
    Instructions,
    /// The same with VEX or EVEX prefixes.
    Vectors,
    /// Sequences of the oracle, with bits flipped, bytes replaced, removed and repeated.
    Mutations,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bytes, Self::Instructions, Self::Vectors, Self::Mutations];

    /// A short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "random bytes",
            Self::Instructions => "random instructions",
            Self::Vectors => "random VEX and EVEX",
            Self::Mutations => "mutated sequences",
        }
    }
}

/// Makes code.
#[derive(Debug)]
pub struct Code {
    generator: Generator,
}

const PREFIXES: [u8; 11] = [0x66, 0x67, 0xF0, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65];
const LONGEST: usize = 15;

impl Code {
    pub(super) fn new() -> Self {
        Self { generator: Generator::new(&Host::complete()) }
    }

    pub(super) fn bytes(&self, random: &mut Random, mode: Mode, source: Source, len: usize) -> Vec<u8> {
        let mut code = Vec::with_capacity(len + LONGEST);
        while code.len() < len {
            match source {
                Source::Bytes => code.extend(random.bits().to_le_bytes()),
                Source::Instructions => instruction(random, mode, &mut code, false),
                // Others between them, so that addresses and flags change.
                Source::Vectors => {
                    let vector = !random.one_in(6);
                    instruction(random, mode, &mut code, vector);
                }
                Source::Mutations => {
                    let mut case = self.generator.case(random.bits(), random.bits()).code;
                    mutate(random, &mut case);
                    code.extend(case);
                }
            }
        }
        code.truncate(len);
        code
    }
}

/// Appends an instruction that the decoder knows, with `vector` one with a VEX or EVEX prefix.
fn instruction(random: &mut Random, mode: Mode, code: &mut Vec<u8>, vector: bool) {
    for _ in 0..if vector { 64 } else { 8 } {
        let mut bytes = Vec::with_capacity(LONGEST + 8);
        while !vector && random.one_in(4) && bytes.len() < 4 {
            bytes.push(random.pick(&PREFIXES));
        }
        if vector {
            if random.one_in(16) {
                bytes.push(random.pick(&[0x67, 0x64, 0x65]));
            }
        } else if mode == Mode::Long && random.one_in(3) {
            bytes.push(0x40 | random.below(16) as u8);
        }
        match if vector { random.below(8) + 7 } else { random.below(8) } {
            0..=2 => {}
            3..=5 => bytes.push(0x0F),
            6 => bytes.extend([0x0F, random.pick(&[0x38, 0x3A])]),
            7..=9 => vex(random, mode, &mut bytes),
            _ => evex(random, mode, &mut bytes),
        }
        bytes.extend(random.bits().to_le_bytes());
        bytes.extend(random.bits().to_le_bytes());
        let address = u64::from(CODE_START) + code.len() as u64;
        let decoded = Decoder::with_ip(mode.bitness(), &bytes, address, DecoderOptions::NONE).decode();
        if decoded.is_invalid() {
            continue;
        }
        // What halts or leaves for nowhere would end most runs.
        let ends = matches!(decoded.mnemonic(), iced_x86::Mnemonic::Hlt);
        if ends && !random.one_in(16) {
            continue;
        }
        code.extend(bytes.iter().take(decoded.len()));
        return;
    }
    code.push(0x90);
}

/// R, X of a prefix's second byte: without them the byte before means LES, LDS or BOUND in 32-bit code.
fn extensions(mode: Mode) -> u8 {
    if mode == Mode::Long { 0 } else { 0xC0 }
}

/// A VEX prefix (SDM volume 2, section 2.3.5).
fn vex(random: &mut Random, mode: Mode, bytes: &mut Vec<u8>) {
    if random.one_in(4) {
        bytes.extend([0xC5, random.bits() as u8 | extensions(mode)]);
        return;
    }
    let second = random.bits() as u8 & 0xE0 | extensions(mode) | random.pick(&[1, 2, 3]);
    bytes.extend([0xC4, second, random.bits() as u8]);
}

/// An EVEX prefix (SDM volume 2, section 2.7.1).
fn evex(random: &mut Random, mode: Mode, bytes: &mut Vec<u8>) {
    let second = random.bits() as u8 & 0xF0 | extensions(mode) | random.pick(&[1, 1, 2, 2, 3, 5, 6]);
    let mut last = random.bits() as u8;
    if random.one_in(2) {
        // No mask, no broadcast, no rounding.
        last &= 0x60;
    }
    bytes.extend([0x62, second, random.bits() as u8 | 4, last | if random.one_in(4) { 0 } else { 8 }]);
}

fn mutate(random: &mut Random, code: &mut Vec<u8>) {
    if code.is_empty() {
        return;
    }
    for _ in 0..random.below(4) {
        let at = random.below(code.len() as u64) as usize;
        match random.below(4) {
            0 => code[at] = random.bits() as u8,
            1 => {
                code.remove(at);
            }
            2 => code.insert(at, random.pick(&PREFIXES)),
            _ => code[at] ^= 1 << random.below(8),
        }
        if code.is_empty() {
            return;
        }
    }
}
