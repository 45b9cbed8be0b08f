//! /etc/ld.so.cache for the libraries that the guest has, in glibc's format since 2.2 (`elf/cache.c`, "new" format):
//! the loader then finds them as on the host, wherever they are.

use std::cmp::Ordering;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// Magic, number of entries, length of the texts, flags and padding, offset of extensions, three unused words.
const HEADER: usize = 20 + 4 + 4 + 4 + 4 + 12;
const ENTRY: usize = 24;
/// Header flag: little-endian.
const LITTLE_ENDIAN: u32 = 2;
/// Entry flag: a library of glibc's kind (3) for x86-64 (300H).
const X86_64: u32 = 0x0303;

/// The cache of these libraries: name and path.
#[must_use]
pub fn cache(mut libraries: Vec<(String, PathBuf)>) -> Vec<u8> {
    libraries.sort_by(|one, other| compare(other.0.as_bytes(), one.0.as_bytes()));
    libraries.dedup_by(|one, other| one.0 == other.0);
    let texts_at = HEADER + ENTRY * libraries.len();
    let (mut entries, mut texts) = (Vec::new(), Vec::new());
    for (name, path) in &libraries {
        entries.extend(X86_64.to_le_bytes());
        for text in [name.as_bytes(), path.as_os_str().as_bytes()] {
            entries.extend(low(texts_at + texts.len()).to_le_bytes());
            texts.extend(text);
            texts.push(0);
        }
        // The kernel version and hardware capabilities that it needs: none.
        entries.extend([0; 12]);
    }
    let mut bytes = MAGIC.to_vec();
    for number in [low(libraries.len()), low(texts.len()), LITTLE_ENDIAN, 0, 0, 0, 0] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(entries);
    bytes.extend(texts);
    bytes
}

fn low(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// glibc's order of names (`_dl_cache_libcmp`): digits are numbers, and come after everything else.
fn compare(mut one: &[u8], mut other: &[u8]) -> Ordering {
    loop {
        let digit = |text: &[u8]| text.first().is_some_and(u8::is_ascii_digit);
        match (digit(one), digit(other)) {
            (true, true) => {
                let (first, second) = (number(&mut one), number(&mut other));
                if first != second {
                    return first.cmp(&second);
                }
            }
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => match (one.split_first(), other.split_first()) {
                (None, None) => return Ordering::Equal,
                (None, Some(_)) => return Ordering::Less,
                (Some(_), None) => return Ordering::Greater,
                (Some((first, rest)), Some((second, other_rest))) => {
                    if first != second {
                        return first.cmp(second);
                    }
                    (one, other) = (rest, other_rest);
                }
            },
        }
    }
}

fn number(text: &mut &[u8]) -> u64 {
    let mut value = 0_u64;
    while let Some((digit, rest)) = text.split_first().filter(|(digit, _)| digit.is_ascii_digit()) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        *text = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_in_which_the_loader_looks() {
        let mut names = ["libz.so.1", "liba.so.10", "liba.so.9", "libm.so.6", "liba-x.so"];
        names.sort_by(|one, other| compare(other.as_bytes(), one.as_bytes()));
        assert_eq!(names, ["libz.so.1", "libm.so.6", "liba.so.10", "liba.so.9", "liba-x.so"]);
    }

    #[test]
    fn texts_are_where_the_entries_say() {
        let bytes = cache(vec![("b.so".into(), "/x/b.so".into()), ("c.so".into(), "/y/c.so".into())]);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let text = |at: usize| {
            let rest = &bytes[at..];
            std::str::from_utf8(&rest[..rest.iter().position(|byte| *byte == 0).unwrap()]).unwrap()
        };
        assert_eq!(word(20), 2);
        let entries: Vec<_> =
            [HEADER, HEADER + ENTRY].map(|at| (text(word(at + 4)), text(word(at + 8)))).into();
        assert_eq!(entries, [("c.so", "/y/c.so"), ("b.so", "/x/b.so")]);
        assert_eq!(bytes.len(), HEADER + 2 * ENTRY + word(24));
    }
}
