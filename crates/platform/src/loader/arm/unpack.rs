//! Compressed kernels for arm64: `Image.gz`, and EFI's zboot format (`vmlinuz.efi`), which holds one.
//!
//! Sources: RFC 1952; Linux `drivers/firmware/efi/libstub/zboot-header.S`.

use super::linux;
use crate::loader::error::ImageError;
use flate2::read::GzDecoder;
use std::io::Read as _;

const GZIP: &[u8] = b"\x1F\x8B";
/// Magic numbers of zboot, and where they are.
const DOS: &[u8] = b"MZ";
const ZBOOT: (usize, &[u8]) = (4, b"zimg");
/// Offsets of the payload's offset and size, 32 bits each, and of the name of its compression, which ends with a zero.
const PAYLOAD: usize = 8;
const SIZE: usize = 12;
const COMPRESSION: usize = 24;
const LONGEST_NAME: usize = 32;

/// The kernel in a compressed file, at most `limit` bytes; `None` if the file is none, but whatever else.
///
/// # Errors
/// It is one, and cannot be unpacked.
pub(in crate::loader) fn unpack(bytes: &[u8], limit: u64) -> Result<Option<Vec<u8>>, ImageError> {
    if bytes.starts_with(GZIP) {
        return gunzip(bytes, limit);
    }
    let (at, magic) = ZBOOT;
    if !bytes.starts_with(DOS) || bytes.get(at..at + magic.len()) != Some(magic) {
        return Ok(None);
    }
    let refuse = |reason: String| Err(ImageError::Arm64Image { reason });
    let name = bytes.get(COMPRESSION..).unwrap_or_default();
    let name = name.iter().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_graphic());
    let name: String = name.map(|byte| char::from(*byte)).collect();
    if name != "gzip" {
        return refuse(format!("its zboot payload is compressed by {name:?}, and only gzip can be unpacked"));
    }
    let field = |at: usize| {
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
        usize::try_from(word.unwrap_or(0)).unwrap_or(usize::MAX)
    };
    let (start, size) = (field(PAYLOAD), field(SIZE));
    let payload = start.checked_add(size).and_then(|end| bytes.get(start..end));
    match payload.map(|payload| gunzip(payload, limit)) {
        Some(Ok(Some(kernel))) => Ok(Some(kernel)),
        Some(Err(error)) => Err(error),
        Some(Ok(None)) => refuse("its zboot payload is no arm64 kernel".to_owned()),
        None => refuse("its zboot payload is cut off".to_owned()),
    }
}

/// Unpacks an `Image`; `None` if it is something else.
fn gunzip(bytes: &[u8], limit: u64) -> Result<Option<Vec<u8>>, ImageError> {
    let mut header = [0; linux::HEADER];
    if GzDecoder::new(bytes).read_exact(&mut header).is_err() || !linux::is_image(&header) {
        return Ok(None);
    }
    let mut kernel = Vec::new();
    let read = GzDecoder::new(bytes).take(limit.saturating_add(1)).read_to_end(&mut kernel);
    if let Err(error) = read {
        return Err(ImageError::Arm64Image { reason: format!("it cannot be unpacked: {error}") });
    }
    if kernel.len() as u64 > limit {
        return Err(ImageError::TooLarge { limit });
    }
    Ok(Some(kernel))
}
