//! The code around a block: what measures it on silicon and what the model runs are the same bytes.
//!
//! ```text
//! entry:  save the caller's registers, time stamp            (silicon only)
//! again:  reset the page if it is written to; FXRSTOR, registers, flags; MFENCE, LFENCE; one or two jumps
//! body:   the block, so many times; in a loop also DEC counter, JNZ body
//!         LFENCE; DEC count; JNZ again
//! end:    time stamp, the caller's registers, return         (silicon only)
//! ```
//!
//! Every page that the block touches is the same physical page, and all registers point into it.

use core_model::{Core, ZEN5};

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
/// Linear address of the first image.
pub(crate) const CODE: u64 = 0x10_0000_0000;
/// Bytes between the images of one block, and of all of them.
pub(crate) const IMAGE: u64 = 0x2_0000;
pub(crate) const IMAGES: u64 = 2 * IMAGE;
/// The variables below, which no block touches.
pub(crate) const DATA: u64 = CODE + 0x4000_0000;
/// The page that all pages of a block are, by an address of its own, and what it starts with.
pub(crate) const ALIAS: u64 = DATA + 0x1_0000;
pub(crate) const TEMPLATE: u64 = DATA + 0x2_0000;
/// What memory and pointers start with: an address, aligned for all instructions.
pub(crate) const FILL: u64 = 0x232_4000;
/// Bases of FS and GS.
pub(crate) const FS: u64 = 0x280_0000;
pub(crate) const GS: u64 = 0x280_1100;
/// Offsets in [`DATA`].
pub(crate) const SAVED_RSP: u64 = 0;
pub(crate) const COUNT: u64 = 8;
pub(crate) const BEFORE: u64 = 16;
pub(crate) const AFTER: u64 = 24;
pub(crate) const FXSAVE: u64 = 64;
/// Bytes of a line of code.
const LINE: u64 = 64;
/// Where the body begins in its image: the same place whatever comes before it.
const BODY: u64 = 0x380;
/// Lines of the page that are reset one by one at most.
const FEW_LINES: u32 = 16;

/// How often a block is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// So many copies, one behind the other.
    Unrolled {
        /// How many.
        copies: u32,
    },
    /// A loop.
    Loop {
        /// Copies in the loop.
        copies: u32,
        /// How often it runs.
        iterations: u32,
        /// The register that counts, which the block does not use; 0 to 15.
        counter: u8,
    },
}

/// How the body is entered. Only behind a taken branch does the front end look into the uop cache again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    Jump,
    /// Behind the microcode of FXRSTOR, Zen 5 mostly goes on with its decoders after a first one (docs/silicon.md).
    TwoJumps,
}

impl Entry {
    /// On a core.
    pub(crate) fn of(core: &Core) -> Self {
        if core.name == ZEN5.name { Self::TwoJumps } else { Self::Jump }
    }
}

/// One image.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    /// Where it begins.
    pub(crate) entry: u64,
    /// Where an execution begins, and where the last one ends.
    pub(crate) again: u64,
    pub(crate) end: u64,
    pub(crate) bytes: Vec<u8>,
}

/// What a register starts with.
pub(crate) fn initial(register: u8) -> u64 {
    let n = u64::from(register);
    FILL + 0x1_0000 * (3 * n + 1) + 0x100 * n
}

/// The state that FXRSTOR loads: FTZ and DAZ set, and ordinary numbers in all lanes.
pub(crate) fn fxsave() -> [u8; 512] {
    let mut area = [0; 512];
    area[..2].copy_from_slice(&0x37F_u16.to_le_bytes());
    area[24..28].copy_from_slice(&0x9FC0_u32.to_le_bytes());
    for lane in area[160..416].chunks_exact_mut(8) {
        lane.copy_from_slice(&0x3FF0_0000_3F80_0000_u64.to_le_bytes());
    }
    area
}

/// Writes code.
struct Writer {
    at: u64,
    bytes: Vec<u8>,
}

impl Writer {
    fn here(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn dword(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    /// The end of an instruction with a displacement from its end.
    fn relative(&mut self, target: u64) {
        let next = self.here() + 4;
        self.dword(target.wrapping_sub(next) as u32);
    }

    fn load_immediate(&mut self, register: u8, value: u64) {
        self.put(&[0x48 | register >> 3, 0xB8 | register & 7]);
        self.put(&value.to_le_bytes());
    }

    /// MOV between a register and a variable.
    fn variable(&mut self, opcode: u8, register: u8, offset: u64) {
        self.put(&[0x48 | register >> 3 << 2, opcode, 5 | (register & 7) << 3]);
        self.relative(DATA + offset);
    }

    /// LFENCE; RDTSC; both halves to a variable; LFENCE.
    fn stamp(&mut self, offset: u64) {
        self.put(&[0x0F, 0xAE, 0xE8, 0x0F, 0x31, 0x48, 0xC1, 0xE2, 0x20, 0x48, 0x09, 0xD0]);
        self.variable(0x89, 0, offset);
        self.put(&[0x0F, 0xAE, 0xE8]);
    }

    /// Copies the template to lines of the page. A loop would do it as well, but the misprediction of its end comes and
    /// goes with the process, and takes a tenth of what the shorter image takes (measured on Zen 5).
    fn reset(&mut self, lines: u64) {
        self.load_immediate(7, ALIAS);
        self.load_immediate(6, TEMPLATE);
        if lines.count_ones() <= FEW_LINES {
            for line in (0..64).filter(|line| lines >> line & 1 == 1) {
                for part in 0..4 {
                    // MOVUPS XMM0, [RSI + n]; MOVUPS [RDI + n], XMM0
                    self.put(&[0x0F, 0x10, 0x86]);
                    self.dword(64 * line + 16 * part);
                    self.put(&[0x0F, 0x11, 0x87]);
                    self.dword(64 * line + 16 * part);
                }
            }
        } else {
            // CLD; MOV ECX, 512; REP MOVSQ
            self.put(&[0xFC, 0xB9, 0, 2, 0, 0, 0xF3, 0x48, 0xA5]);
        }
    }
}

/// The image of a block at an address. `dirty`: lines of the page that the block writes to, a bit each. `None` if it
/// has no room.
pub(crate) fn build(at: u64, block: &[u8], shape: Shape, dirty: u64, entry: Entry) -> Option<Image> {
    let mut code = Writer { at, bytes: Vec::new() };
    // PUSH RBX, RBP, R12 to R15
    code.put(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]);
    code.variable(0x89, 4, SAVED_RSP);
    code.stamp(BEFORE);
    let again = code.here();
    if dirty != 0 {
        code.reset(dirty);
    }
    // FXRSTOR64
    code.put(&[0x48, 0x0F, 0xAE, 0x0D]);
    code.relative(DATA + FXSAVE);
    for register in 1..16 {
        code.load_immediate(register, initial(register));
    }
    // CLD; XOR EAX, EAX; SAHF
    code.put(&[0xFC, 0x31, 0xC0, 0x9E]);
    code.load_immediate(0, initial(0));
    let copies = match shape {
        Shape::Unrolled { copies } => copies,
        Shape::Loop { copies, iterations, counter } => {
            code.load_immediate(counter, iterations.into());
            copies
        }
    };
    if dirty != 0 {
        code.put(&[0x0F, 0xAE, 0xF0]);
    }
    code.put(&[0x0F, 0xAE, 0xE8]);
    let body = at + if dirty != 0 { 0x200 + BODY } else { BODY };
    let targets = match entry {
        Entry::Jump => &[body][..],
        Entry::TwoJumps => &[body - LINE, body],
    };
    for &target in targets {
        code.put(&[0xE9]);
        code.relative(target);
        if code.here() > target {
            return None;
        }
        code.bytes.resize((target - at) as usize, 0xCC);
    }
    for _ in 0..copies {
        code.put(block);
    }
    if let Shape::Loop { counter, .. } = shape {
        // DEC counter; JNZ body
        code.put(&[0x48 | counter >> 3, 0xFF, 0xC8 | counter & 7, 0x0F, 0x85]);
        code.relative(body);
    }
    // LFENCE; DEC QWORD [count]; JNZ again
    code.put(&[0x0F, 0xAE, 0xE8, 0x48, 0xFF, 0x0D]);
    code.relative(DATA + COUNT);
    code.put(&[0x0F, 0x85]);
    code.relative(again);
    let end = code.here();
    code.stamp(AFTER);
    code.variable(0x8B, 4, SAVED_RSP);
    // CLD; FNINIT; POP R15 to R12, RBP, RBX; RET
    code.put(&[0xFC, 0xDB, 0xE3, 0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5D, 0x5B, 0xC3]);
    (code.bytes.len() as u64 <= IMAGE).then_some(Image { entry: at, again, end, bytes: code.bytes })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};

    #[test]
    fn an_image_is_code_from_its_entry_to_its_end() {
        let shape = Shape::Loop { copies: 3, iterations: 7, counter: 9 };
        for (dirty, entry) in [(0, Entry::Jump), (5, Entry::TwoJumps), (u64::MAX, Entry::TwoJumps)] {
            let image = build(CODE, &[0x48, 0x01, 0xD8], shape, dirty, entry).unwrap();
            let mut decoder = Decoder::with_ip(64, &image.bytes, CODE, DecoderOptions::NONE);
            let all: Vec<_> = decoder.iter().filter(|one| one.mnemonic() != Mnemonic::Int3).collect();
            assert!(all.iter().all(|one| !one.is_invalid()), "{dirty}");
            let at = |address| all.iter().position(|one| one.ip() == address).unwrap();
            let adds = all.iter().filter(|one| one.mnemonic() == Mnemonic::Add);
            assert!(adds.filter(|one| one.ip() > image.again + 0x100).count() >= 3);
            assert_eq!(all[at(image.end) - 1].near_branch_target(), image.again);
            let jump = all.iter().rfind(|one| one.mnemonic() == Mnemonic::Jmp).unwrap();
            let body = at(jump.near_branch_target());
            assert_eq!(all[body + 4].near_branch_target(), all[body].ip());
        }
    }
}
