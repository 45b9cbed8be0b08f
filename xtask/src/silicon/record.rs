//! Recordings: blocks of our own, or of a file, measured on this host.

use super::able;
use super::block::{HEADER, MEASURED_ITERATIONS, Way, decode, is_possible, shapes, stores};
use super::image::{self, CODE, Entry, IMAGE, PAGE};
use super::machine::{self, Vectors};
use super::native::{self, Host, Sampled};
use crate::error::TaskError;
use crate::mca::blocks::{KINDS, Random, block};
use core_model::Core;
use iced_x86::{Encoder, Register};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Samples of each image.
const SAMPLES: usize = 15;
/// A figure whose spread is more does not count.
const STABLE: f64 = 0.03;
/// Latencies and penalties: what each block is about, and its code.
const SINGLE: [(&str, &[u8]); 24] = [
    // MOV RAX, [RAX]
    ("pointer from a load", &[0x48, 0x8B, 0x00]),
    // MOV RAX, [RAX + 4096]
    ("pointer, far displacement", &[0x48, 0x8B, 0x80, 0, 0x10, 0, 0]),
    // ADD QWORD [RBX], 1
    ("read-modify-write", &[0x48, 0x83, 0x03, 1]),
    // MOV [RBX], RAX; MOV RAX, [RBX]
    ("store forwarding", &[0x48, 0x89, 0x03, 0x48, 0x8B, 0x03]),
    // MOVAPS [RBX], XMM0; MOVAPS XMM0, [RBX]
    ("store forwarding, XMM", &[0x0F, 0x29, 0x03, 0x0F, 0x28, 0x03]),
    // PUSH RAX; POP RAX
    ("PUSH and POP", &[0x50, 0x58]),
    // ADD RSP, 8; POP RBX; SUB RSP, 16
    ("stack pointer", &[0x48, 0x83, 0xC4, 8, 0x5B, 0x48, 0x83, 0xEC, 16]),
    // LEA RAX, [RAX + RBX]
    ("LEA of two", &[0x48, 0x8D, 0x04, 0x18]),
    // LEA RAX, [RAX + RBX + 5]
    ("LEA of three", &[0x48, 0x8D, 0x44, 0x18, 5]),
    // SHL RAX, CL
    ("shift by CL", &[0x48, 0xD3, 0xE0]),
    // IMUL RAX, RAX
    ("IMUL", &[0x48, 0x0F, 0xAF, 0xC0]),
    // MUL RBX
    ("MUL", &[0x48, 0xF7, 0xE3]),
    // XOR EDX, EDX; DIV ECX
    ("DIV of 32 bits", &[0x31, 0xD2, 0xF7, 0xF1]),
    // XOR EDX, EDX; DIV RCX
    ("DIV of 64 bits", &[0x31, 0xD2, 0x48, 0xF7, 0xF1]),
    // ADC RAX, RBX
    ("ADC", &[0x48, 0x11, 0xD8]),
    // CMOVA RAX, RBX
    ("CMOVA", &[0x48, 0x0F, 0x47, 0xC3]),
    // POPCNT RAX, RAX
    ("POPCNT", &[0xF3, 0x48, 0x0F, 0xB8, 0xC0]),
    // ADDSD XMM0, XMM1
    ("ADDSD", &[0xF2, 0x0F, 0x58, 0xC1]),
    // MULSD XMM0, XMM1
    ("MULSD", &[0xF2, 0x0F, 0x59, 0xC1]),
    // DIVSD XMM0, XMM1
    ("DIVSD", &[0xF2, 0x0F, 0x5E, 0xC1]),
    // MOVQ XMM0, RAX; MOVQ RAX, XMM0
    ("MOVQ there and back", &[0x66, 0x48, 0x0F, 0x6E, 0xC0, 0x66, 0x48, 0x0F, 0x7E, 0xC0]),
    // LOCK ADD QWORD [RBX], 1
    ("locked ADD", &[0xF0, 0x48, 0x83, 0x03, 1]),
    // XCHG [RBX], RAX
    ("XCHG with memory", &[0x48, 0x87, 0x03]),
    // MOVABS RAX, constant; CMP RBX, RAX
    ("constants of 64 bits", &[0x48, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8, 0x48, 0x39, 0xC3]),
];

/// Blocks by name: those above, and generated ones.
pub(super) fn blocks(count: usize, seed: u64) -> Result<Vec<(String, Vec<u8>)>, TaskError> {
    let mut random = Random::new(seed);
    let mut all: Vec<_> = SINGLE.iter().map(|(name, code)| ((*name).to_owned(), code.to_vec())).collect();
    for kind in KINDS.into_iter().cycle().take(count) {
        let wrong = |error: iced_x86::IcedError| TaskError::Data(error.to_string());
        let instructions = block(kind, &mut random).map_err(wrong)?;
        let mut encoder = Encoder::new(64);
        for instruction in &instructions {
            encoder.encode(instruction, 0).map_err(wrong)?;
        }
        all.push((kind.name().to_owned(), encoder.take_buffer()));
    }
    Ok(all)
}

/// Measures blocks, which have names, on this host, and writes them to a file.
pub(super) fn record(core: &'static Core, path: &Path, all: &[(String, Vec<u8>)]) -> Result<(), TaskError> {
    let (rows, dropped, unstable) = native::on_thread(|host| measure(core, host, all))?;
    let text = format!(
        "# {}\n# {} of {} figures stable, {dropped} samples dropped\n{HEADER}\n{rows}",
        host_name(),
        2 * all.len() - unstable,
        2 * all.len(),
    );
    fs::write(path, text).map_err(|source| TaskError::File { path: path.to_owned(), source })?;
    anstream::println!(
        "wrote {}: {} blocks, {unstable} figures unstable or refused",
        path.display(),
        all.len()
    );
    Ok(())
}

/// Rows of the file, dropped samples, and figures that are not there.
fn measure(
    core: &'static Core,
    mut host: Host,
    all: &[(String, Vec<u8>)],
) -> Result<(String, u64, usize), TaskError> {
    let (mut rows, mut missing) = (String::new(), 0);
    for (name, code) in all {
        let mut figure = |way| figure(core, &mut host, code, How { way, vectors: Vectors::Sse, tries: 1 });
        let [looped, unrolled] = [figure(Way::Loop)?, figure(Way::Unrolled)?];
        let text = |figure: &Option<Sampled>| match figure {
            Some(Sampled { cycles, spread }) => format!("{cycles:.4}\t{spread:.4}"),
            None => "-\t-".to_owned(),
        };
        missing += usize::from(looped.is_none()) + usize::from(unrolled.is_none());
        let hexadecimal: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(rows, "{name}\t{}\t{}\t{hexadecimal}", text(&unrolled), text(&looped));
    }
    Ok((rows, host.dropped, missing))
}

/// How a block is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) way: Way,
    pub(super) vectors: Vectors,
    /// How often, until a figure is stable.
    pub(super) tries: usize,
}

/// Cycles of one execution of a block on this host. The model says which pages it needs: what the interpreter refuses
/// is not run here.
pub(super) fn figure(
    core: &'static Core,
    host: &mut Host,
    code: &[u8],
    How { way, vectors, tries }: How,
) -> Result<Option<Sampled>, TaskError> {
    let Ok(mut pages) = machine::pages(core, code, way, vectors) else { return Ok(None) };
    let instructions = decode(code).unwrap_or_default();
    // Their bases are this process's own.
    if instructions.iter().any(|one| matches!(one.segment_prefix(), Register::FS | Register::GS)) {
        return Ok(None);
    }
    let dirty = if stores(&instructions) { u64::MAX } else { 0 };
    let Some((shapes, more)) = shapes(way, MEASURED_ITERATIONS, &instructions, code.len()) else {
        return Ok(None);
    };
    let [first, second] = shapes;
    let build = |at, shape| image::build(at, code, shape, dirty, Entry::of(core));
    let images = build(CODE, first).zip(build(CODE + IMAGE, second));
    let Some((first, second)) = images else { return Ok(None) };
    let images = [first, second];
    let wide = vectors == Vectors::Avx512;
    if wide {
        // What masks leave out is not read, but looked up.
        pages.extend((0..16).map(|register| image::initial(register) & !(PAGE - 1)));
        pages.sort_unstable();
        pages.dedup();
    }
    if let Some(mapped) = pages.iter().position(|&page| host.map_page(page).is_err()) {
        // An address that no program has, or one that is taken.
        pages.iter().take(mapped).copied().for_each(Host::unmap_page);
        return Ok(None);
    }
    // The interpreter has instructions that not every CPU has.
    let runs = !wide || {
        Host::place(&images);
        able::survives(&images)
    };
    let mut found = None;
    for _ in 0..if runs { tries } else { 0 } {
        Host::place(&images);
        if wide {
            able::clear_upper();
        }
        let sampled = images.each_ref().map(|image| host.sample(image, SAMPLES));
        let [Some(first), Some(second)] = sampled else { continue };
        let cycles = (second.cycles - first.cycles) / more;
        let spread = first.spread.max(second.spread);
        let stands = spread <= STABLE && cycles > 0.0 && is_possible(cycles, instructions.len(), core);
        found = stands.then_some(Sampled { cycles, spread });
        if found.is_some() {
            break;
        }
    }
    pages.iter().copied().for_each(Host::unmap_page);
    Ok(found)
}

/// CPU, microcode, clock and date.
pub(super) fn host_name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split(':').nth(1)).unwrap_or("unknown").trim().to_owned()
    };
    format!(
        "{}, family {} model {} stepping {}, microcode {}, {} MHz, {}",
        field("model name"),
        field("cpu family"),
        field("model"),
        field("stepping"),
        field("microcode"),
        field("cpu MHz"),
        today()
    )
}

/// The date, of the Gregorian calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // Days since the first of March of the year 0.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{}-{month:02}-{date:02}", era * 400 + year + u64::from(month <= 2))
}
