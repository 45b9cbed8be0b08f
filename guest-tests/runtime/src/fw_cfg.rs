//! fw_cfg: named files from the VMM (QEMU `docs/specs/fw_cfg`).

use crate::{
    machine::devices::{fw_cfg_byte, fw_cfg_select as select},
    text::Text,
};

const KEY_SIGNATURE: u16 = 0x00;
const KEY_FILE_DIRECTORY: u16 = 0x19;
/// Bytes of a name in the directory, padded with zeros.
const NAME_SIZE: usize = 56;
/// Most files that are looked at; a device that is not there might claim any number.
const FILE_LIMIT: u32 = 1024;

fn read<const N: usize>() -> [u8; N] {
    core::array::from_fn(|_| fw_cfg_byte())
}

/// True if the machine has fw_cfg.
#[must_use]
pub fn is_present() -> bool {
    select(KEY_SIGNATURE);
    read::<4>() == *b"QEMU"
}

/// Size in bytes and selector key of the file `name`.
fn find(name: &str) -> Option<(u32, u16)> {
    if !is_present() {
        return None;
    }
    select(KEY_FILE_DIRECTORY);
    let count = u32::from_be_bytes(read()).min(FILE_LIMIT);
    // The directory is read to its end, because a selector always starts over.
    (0..count).fold(None, |found, _| {
        let size = u32::from_be_bytes(read());
        let key = u16::from_be_bytes(read());
        let _reserved: [u8; 2] = read();
        let bytes: [u8; NAME_SIZE] = read();
        let matches = bytes.split(|byte| *byte == 0).next() == Some(name.as_bytes());
        found.or(matches.then_some((size, key)))
    })
}

/// True if the file `name` exists.
#[must_use]
pub fn has_file(name: &str) -> bool {
    find(name).is_some()
}

/// The file `name` as text: at most `N` bytes, trailing zeros and white space removed. `None` if it
/// does not exist.
#[must_use]
pub fn file_text<const N: usize>(name: &str) -> Option<Text<N>> {
    let (size, key) = find(name)?;
    select(key);
    let mut text = Text::<N>::new();
    for _ in 0..(size as usize).min(N) {
        match fw_cfg_byte() {
            0 => break,
            byte => text.push(char::from(byte)),
        }
    }
    let trimmed = text.as_str().trim_end();
    Some(Text::format(format_args!("{trimmed}")))
}
