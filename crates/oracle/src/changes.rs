//! What has changed: memory byte by byte, registers by their numbers. In outcomes, recordings and messages.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Bytes of the memory of a case that have changed: offset and new value, ascending.
pub type Memory = Vec<(u16, u8)>;

/// Numbers of registers or offsets, and their contents.
pub(crate) type Changed<N, T> = Vec<(N, T)>;

/// The bytes that differ.
pub(crate) fn memory(before: &[u8], after: &[u8]) -> Memory {
    let mut changes = Memory::new();
    if before == after {
        return changes;
    }
    for (chunk, (old, new)) in (0..).zip(before.chunks(64).zip(after.chunks(64))) {
        if old != new {
            let changed = (0..).zip(old.iter().zip(new)).filter(|(_, (a, b))| a != b);
            changes.extend(changed.map(|(n, (_, b))| (chunk * 64 + n, *b)));
        }
    }
    changes
}

/// Bytes in a row, as recordings have them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Runs(Changed<u16, Vec<u8>>);

impl Runs {
    pub(crate) fn of(memory: &Memory) -> Self {
        let mut runs: Changed<u16, Vec<u8>> = Vec::new();
        for (at, value) in memory {
            match runs.last_mut() {
                Some((first, bytes)) if usize::from(*first) + bytes.len() == usize::from(*at) => {
                    bytes.push(*value);
                }
                _ => runs.push((*at, vec![*value])),
            }
        }
        Self(runs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let bytes = self.0.iter().flat_map(|(first, bytes)| (*first..).zip(bytes.iter().copied()));
        bytes.collect()
    }
}

/// The registers that differ.
pub(crate) fn changed<T: Copy + PartialEq>(before: &[T], after: &[T]) -> Changed<u8, T> {
    let pairs = (0..).zip(before.iter().zip(after));
    pairs.filter(|(_, (old, new))| old != new).map(|(n, (_, new))| (n, *new)).collect()
}

/// Sets what differs.
pub(crate) fn put<T: Copy>(to: &mut [T], changed: &Changed<u8, T>) {
    for (n, value) in changed {
        if let Some(place) = to.get_mut(usize::from(*n)) {
            *place = *value;
        }
    }
}

/// Changed bytes of memory that begins at an address, in runs of consecutive ones; no more than fit on a line.
pub(crate) fn text(start: u64, memory: &Memory) -> String {
    let mut text = String::new();
    let mut next = None;
    for (at, value) in memory.iter().take(48) {
        if next != Some(*at) {
            let _ = write!(text, " {:#x}:", start + u64::from(*at));
        }
        let _ = write!(text, " {value:02x}");
        next = at.checked_add(1);
    }
    if memory.is_empty() {
        text.push_str(" unchanged");
    }
    if memory.len() > 48 {
        text.push_str(" ...");
    }
    text.trim_start().to_owned()
}
