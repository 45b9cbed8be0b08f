//! Which boot protocols a file offers.

use super::{linux, multiboot, pvh};
use crate::loader::elf::Elf;
use crate::loader::error::ImageError;
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
            Ok(None) => ImageError::NotElf { what: guess(bytes) },
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
        let hint = match elf {
            Some(elf) if elf.has_interpreter => "; it is a program for an operating system",
            _ => "",
        };
        ImageError::NoProtocol { hint }
    }))
}

/// What a file that is not ELF seems to be, by its first bytes.
fn guess(bytes: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 10] = [
        (b"\x1F\x8B", "it is gzip-compressed; unpack it first (gunzip)"),
        (b"\xFD7zXZ\0", "it is xz-compressed; unpack it first (unxz)"),
        (b"\x28\xB5\x2F\xFD", "it is zstd-compressed; unpack it first (unzstd)"),
        (b"\x04\x22\x4D\x18", "it is lz4-compressed; unpack it first (unlz4)"),
        (b"\x02\x21\x4C\x18", "it is lz4-compressed; unpack it first (unlz4)"),
        (b"BZh", "it is bzip2-compressed; unpack it first (bunzip2)"),
        (b"!<arch>\n", "it is a static library; link it into an executable first"),
        (b"QFI\xFB", "it is a qcow2 disk image; only kernels can be booted"),
        (b"MZ", "it is a PE/EFI program; only ELF and multiboot kernels can be booted"),
        (b"#!", "it is a script"),
    ];
    KNOWN
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map_or("it has neither the ELF magic number nor a multiboot header", |(_, what)| what)
}
