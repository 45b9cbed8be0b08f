//! The guest tests that an image lists in its [`TEST_SECTION`], read without booting it.

use crate::convert::low_u32;
use guest_protocol::{Needs, TEST_DESCRIPTOR_SIZE, TEST_SECTION};

use super::elf::{self, Segment};
use super::error::ImageError;
use super::image::Image;

/// Most tests in one image.
pub const MAX_TESTS: usize = 4096;
/// Longest name, source path and summary, in bytes.
pub const MAX_TEXT: u64 = 1024;

/// One test of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestInfo {
    /// Name; not empty.
    pub name: String,
    /// Source file, as the compiler was given it.
    pub file: String,
    /// Line of the test function.
    pub line: u32,
    /// First line of the test's documentation.
    pub summary: String,
    /// What the machine must have.
    pub needs: Needs,
}

/// Lists the tests in the order in which the image has them; empty if it lists none.
///
/// # Errors
/// The section or one of its descriptors is broken: a length out of bounds, an address that the
/// file does not load, text that is not UTF-8 or has control characters, an unknown need.
pub fn tests(image: &Image) -> Result<Vec<TestInfo>, ImageError> {
    if !image.is_elf() {
        return Ok(Vec::new());
    }
    let Some(section) = elf::section(image.bytes(), TEST_SECTION)? else {
        return Ok(Vec::new());
    };
    let (descriptors, rest) = section.as_chunks::<TEST_DESCRIPTOR_SIZE>();
    if !rest.is_empty() {
        let reason = format!(
            "{} bytes is not a multiple of {TEST_DESCRIPTOR_SIZE}, the size of a test",
            section.len()
        );
        return Err(ImageError::TestSection { reason });
    }
    if descriptors.len() > MAX_TESTS {
        let reason = format!("{} tests are more than the limit of {MAX_TESTS}", descriptors.len());
        return Err(ImageError::TestSection { reason });
    }
    let segments = elf::Elf::parse(image.bytes())?.segments;
    descriptors
        .iter()
        .enumerate()
        .map(|(index, descriptor)| {
            read(descriptor, &segments, image.bytes())
                .map_err(|reason| ImageError::TestDescriptor { index, reason })
        })
        .collect()
}

/// One descriptor, laid out as [`guest_protocol::TestDescriptor`].
fn read(
    descriptor: &[u8; TEST_DESCRIPTOR_SIZE],
    segments: &[Segment],
    image: &[u8],
) -> Result<TestInfo, String> {
    let (words, _) = descriptor.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    let mut next = || words.next().unwrap_or_default();
    let mut text = |what: &str| text(what, next(), next(), segments, image);
    let name = text("name")?;
    let file = text("source file")?;
    let summary = text("summary")?;
    if name.is_empty() {
        return Err("its name is empty".to_owned());
    }
    let function = next();
    if segments.iter().all(|s| s.physical(function).is_none()) {
        return Err(format!("its function is at {function:#x}, which the file does not load"));
    }
    let last = next();
    let (needs, line) = (low_u32(last), low_u32(last >> 32));
    let needs = Needs::from_bits(needs).ok_or_else(|| {
        let unknown = needs & !Needs::all().bits();
        format!("it has unknown needs {unknown:#x}; the image is newer than this program")
    })?;
    Ok(TestInfo { name, file, line, summary, needs })
}

fn text(what: &str, address: u64, len: u64, segments: &[Segment], image: &[u8]) -> Result<String, String> {
    if len > MAX_TEXT {
        return Err(format!("its {what} has {len} bytes; the limit is {MAX_TEXT}"));
    }
    if len == 0 {
        return Ok(String::new());
    }
    let bytes = segments.iter().find_map(|segment| segment.bytes(image, address, len)).ok_or_else(|| {
        format!("its {what} is at {address:#x} ({len} bytes), which the file does not load")
    })?;
    let text = str::from_utf8(bytes).map_err(|_| format!("its {what} is not UTF-8"))?;
    // The text is printed on terminals, where control characters are commands.
    match text.chars().find(|c| c.is_control()) {
        Some(c) => Err(format!("its {what} contains the control character {c:?}")),
        None => Ok(text.to_owned()),
    }
}
