//! Which boot protocols a file offers.

use super::{linux, multiboot, pvh};
use crate::loader::elf::Elf;
use crate::loader::error::{ImageError, OtherFormat};
use crate::loader::plan::Plan;

/// Every way to boot this file.
pub(in crate::loader) fn plans(bytes: &[u8], is_elf: bool) -> Result<Vec<Plan>, ImageError> {
    if linux::is_bzimage(bytes) {
        return Ok(vec![linux::bzimage(bytes)?]);
    }
    let header = multiboot::Header::find(bytes);
    let raw = matches!(&header, Ok(Some(header)) if header.has_addresses());
    if !is_elf && !raw {
        return Err(match header {
            Err(error) => error,
            Ok(Some(_)) => ImageError::MultibootNoAddresses,
            Ok(None) => ImageError::NotElf(guess(bytes)),
        });
    }
    // An image with its own addresses needs no valid ELF header.
    let elf = match Elf::parse(bytes) {
        Ok(elf) => Some(elf),
        Err(_) if raw => None,
        Err(error) => return Err(error),
    };
    let pvh = match &elf {
        Some(elf) => pvh::plan(bytes, elf),
        None => Ok(None),
    };
    let multiboot =
        header.and_then(|header| header.map(|header| header.plan(bytes, elf.as_ref())).transpose());

    // One usable protocol is enough; a defect of the other matters only if there is none.
    let mut plans = Vec::new();
    let mut defect = None;
    let linux = match &elf {
        Some(elf) => linux::vmlinux(bytes, elf),
        None => Ok(None),
    };
    for found in [pvh, multiboot, linux] {
        match found {
            Ok(plan) => plans.extend(plan),
            Err(error) => {
                log::debug!("Not usable: {error}");
                defect.get_or_insert(error);
            }
        }
    }
    if !plans.is_empty() {
        return Ok(plans);
    }
    Err(defect.unwrap_or_else(|| {
        if multiboot::has_version_2(bytes) {
            return ImageError::Multiboot2;
        }
        ImageError::NoProtocol { program: elf.is_some_and(|elf| elf.has_interpreter) }
    }))
}

/// What a file that is not ELF seems to be, by its first bytes.
fn guess(bytes: &[u8]) -> OtherFormat {
    const fn compressed(format: &'static str, unpack: &'static str) -> OtherFormat {
        OtherFormat::Compressed { format, unpack }
    }
    const KNOWN: [(&[u8], OtherFormat); 10] = [
        (b"\x1F\x8B", compressed("gzip", "gunzip")),
        (b"\xFD7zXZ\0", compressed("xz", "unxz")),
        (b"\x28\xB5\x2F\xFD", compressed("zstd", "unzstd")),
        (b"\x04\x22\x4D\x18", compressed("lz4", "unlz4")),
        (b"\x02\x21\x4C\x18", compressed("lz4", "unlz4")),
        (b"BZh", compressed("bzip2", "bunzip2")),
        (b"!<arch>\n", OtherFormat::StaticLibrary),
        (b"QFI\xFB", OtherFormat::Qcow2),
        (b"MZ", OtherFormat::Pe),
        (b"#!", OtherFormat::Script),
    ];
    let known = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic));
    known.map_or(OtherFormat::Unknown, |(_, format)| *format)
}
