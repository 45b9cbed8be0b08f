//! Blocks with what a CPU took for them.

use super::image::Shape;
use crate::error::TaskError;
use core_model::Core;
use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, Register};
use std::fs;
use std::path::Path;

/// Instructions that a loop should have, so that its own DEC and JNZ hardly count.
const LOOP: usize = 56;
const MOST_COPIES: usize = 64;
const FEWEST_COPIES: usize = 2;
/// Iterations of a loop, of two images. More than histories of directions reach, which is 194 on Golden Cove: the end
/// of 70 is learnt there, and that of 210 is not, which would be part of the difference. The model has many more in
/// the second, because the ends of two images do not take it quite the same.
pub(crate) const MEASURED_ITERATIONS: [u32; 2] = [200, 270];
pub(crate) const MODEL_ITERATIONS: [u32; 2] = [200, 480];
/// Instructions of an unrolled block at least, of two images.
const UNROLLED: [usize; 2] = [150, 450];
/// Bytes of either.
const MOST_BYTES: usize = 0x1_8000;

/// The two ways to execute a block again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Loop,
    Unrolled,
}

impl Way {
    pub(crate) const ALL: [Self; 2] = [Self::Loop, Self::Unrolled];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Unrolled => "unrolled",
        }
    }
}

/// A block, and cycles for one execution of it where that could be measured.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// The program that it is of.
    pub(crate) source: String,
    pub(crate) code: Vec<u8>,
    pub(crate) unrolled: Option<f64>,
    pub(crate) looped: Option<f64>,
}

impl Measured {
    pub(crate) fn cycles(&self, way: Way) -> Option<f64> {
        match way {
            Way::Loop => self.looped,
            Way::Unrolled => self.unrolled,
        }
    }

    pub(crate) fn hexadecimal(&self) -> String {
        self.code.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Names of the columns, which every recording begins with.
pub(crate) const HEADER: &str = "source\tunrolled_cycles\tunrolled_spread\tloop_cycles\tloop_spread\tcode";

/// Reads blocks: source, cycles unrolled and their spread, cycles in a loop and their spread, code in hexadecimal,
/// separated by tabs, below a line that begins with `source`. `-` stands for what could not be measured.
pub(crate) fn read(path: &Path) -> Result<Vec<Measured>, TaskError> {
    parse(&text(path)?).map_err(|wrong| TaskError::at_line(path, wrong))
}

/// A file's text.
pub(crate) fn text(path: &Path) -> Result<String, TaskError> {
    fs::read_to_string(path).map_err(|source| TaskError::File { path: path.to_owned(), source })
}

/// Blocks, or the first line that is wrong, and why.
pub(crate) fn parse(text: &str) -> Result<Vec<Measured>, (usize, String)> {
    let lines = text.lines().enumerate();
    let wanted = lines.filter(|(_, line)| {
        !line.is_empty() && !line.starts_with('#') && line.split('\t').next() != Some("source")
    });
    wanted.map(|(number, line)| parse_line(line).map_err(|what| (number + 1, what))).collect()
}

fn parse_line(line: &str) -> Result<Measured, String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [source, unrolled, _, looped, _, code] = fields[..] else {
        return Err(format!("{} fields instead of 6", fields.len()));
    };
    let cycles = |text: &str| match text {
        "-" => Ok(None),
        _ => match text.parse::<f64>() {
            Ok(cycles) if cycles > 0.0 && cycles.is_finite() => Ok(Some(cycles)),
            _ => Err(format!("{text} is no number of cycles")),
        },
    };
    let code = bytes(code).ok_or_else(|| format!("{code} is no code in hexadecimal"))?;
    let (unrolled, looped) = (cycles(unrolled)?, cycles(looped)?);
    Ok(Measured { source: source.to_owned(), code, unrolled, looped })
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    if text.is_empty() || !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes().chunks(2).map(byte).collect()
}

/// The instructions of a block; `None` if not all of its bytes are any.
pub(crate) fn decode(code: &[u8]) -> Option<Vec<Instruction>> {
    let all: Vec<_> = Decoder::new(64, code, DecoderOptions::NONE).iter().collect();
    (!all.is_empty() && all.iter().all(|one| !one.is_invalid())).then_some(all)
}

/// True if a core can execute so many instructions in so many cycles: a slot has two at most, which are one uop. What
/// the shorter image alone is kept up by makes the difference of two images less than that.
pub(crate) fn is_possible(cycles: f64, instructions: usize, core: &Core) -> bool {
    cycles * f64::from(2 * core.dispatch_width) >= instructions as f64
}

/// True if any instruction writes memory.
pub(crate) fn stores(instructions: &[Instruction]) -> bool {
    let mut info = InstructionInfoFactory::new();
    let writes = |access| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
    instructions.iter().any(|one| info.info(one).used_memory().iter().any(|memory| writes(memory.access())))
}

/// A general-purpose register that no instruction uses, R15 first.
pub(crate) fn spare_register(instructions: &[Instruction]) -> Option<u8> {
    let mut info = InstructionInfoFactory::new();
    let mut used = 1_u32 << 4;
    for instruction in instructions {
        for register in info.info(instruction).used_registers() {
            let full = register.register().full_register();
            if full.is_gpr64() {
                used |= 1 << (full as u32 - Register::RAX as u32);
            }
        }
    }
    (0..16).rev().find(|register| used >> register & 1 == 0)
}

/// The two images that a block is measured with, and how many more executions of the block the second one has;
/// `None` if there is no room, or no register to count with.
pub(crate) fn shapes(
    way: Way,
    iterations: [u32; 2],
    instructions: &[Instruction],
    bytes: usize,
) -> Option<([Shape; 2], f64)> {
    let count = instructions.len();
    match way {
        Way::Loop => {
            let counter = spare_register(instructions)?;
            let copies = (LOOP / count).clamp(FEWEST_COPIES, MOST_COPIES) as u32;
            let shapes = iterations.map(|iterations| Shape::Loop { copies, iterations, counter });
            let more = f64::from(copies * (iterations[1] - iterations[0]));
            (bytes * copies as usize <= MOST_BYTES).then_some((shapes, more))
        }
        Way::Unrolled => {
            let [first, second] = UNROLLED.map(|wanted| wanted.div_ceil(count).max(2) as u32);
            let second = second.max(first + 2);
            let shapes = [first, second].map(|copies| Shape::Unrolled { copies });
            (bytes * second as usize <= MOST_BYTES).then_some((shapes, f64::from(second - first)))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;

    #[test]
    fn blocks_are_read_and_wrong_lines_named() {
        let text = "source\tunrolled_cycles\tx\tloop_cycles\ty\tcode\nmine\t1.01\t0.001\t-\t-\t4801d8\n";
        let blocks = parse(text).unwrap();
        assert_eq!((blocks[0].unrolled, blocks[0].looped, blocks[0].code.len()), (Some(1.01), None, 3));
        let wrong = |text: &str| parse(text).unwrap_err();
        assert_eq!(wrong("a\t1\t0\t1\t0\t4"), (1, "4 is no code in hexadecimal".to_owned()));
        assert_eq!(wrong("\na\t-1\t0\t1\t0\t90"), (2, "-1 is no number of cycles".to_owned()));
        assert_eq!(wrong("a\t1"), (1, "2 fields instead of 6".to_owned()));
    }

    #[test]
    fn the_counter_is_a_register_that_the_block_leaves_alone() {
        let code = decode(&[0x4D, 0x01, 0xFB, 0x41, 0x8A, 0x06]).unwrap();
        assert_eq!(spare_register(&code), Some(13));
        assert!(!stores(&code));
        assert!(stores(&decode(&[0x50]).unwrap()));
    }
}
