//! What perf counts in the program.

use crate::program;
use crate::system::{self, Errno, Result};
use crate::vmm::Vmm;
use core::ptr;

/// The error of an event that was not asked for.
const NONE: Errno = Errno(0);

/// Events of our own process, which children inherit and `execve` enables; we execute nothing ourselves.
pub(crate) struct Counters {
    events: [Result<usize>; program::MOST_EVENTS],
    count: usize,
}

impl Default for Counters {
    fn default() -> Self {
        Self { events: [Err(NONE); program::MOST_EVENTS], count: 0 }
    }
}

impl Counters {
    /// Opens one for each attribute.
    pub(crate) fn open(&mut self, attributes: &[u8]) {
        for attribute in attributes.chunks_exact(program::EVENT) {
            if let Some(event) = self.events.get_mut(self.count) {
                *event = system::open_event(attribute);
                self.count += 1;
            }
        }
    }

    /// Tells the VMM what they have counted.
    pub(crate) fn tell(&self, vmm: &Vmm) {
        const NUMBERS: usize = 4;
        let window = vmm.window();
        for (event, slot) in self.events[..self.count].iter().zip(window.chunks_exact_mut(NUMBERS * 8)) {
            let mut values = [0_u64; NUMBERS - 1];
            let read = event.and_then(|file| {
                let mut bytes = [0; (NUMBERS - 1) * 8];
                system::read(file, &mut bytes)?;
                // SAFETY: the kernel has written it.
                let bytes = unsafe { ptr::read_volatile(&raw const bytes) };
                for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(8)) {
                    *value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                }
                Ok(())
            });
            let errno = read.err().map_or(0, |errno| errno.0 as u64);
            let [count, enabled, running] = values;
            for (to, number) in slot.chunks_exact_mut(8).zip([errno, count, enabled, running]) {
                to.copy_from_slice(&number.to_le_bytes());
            }
        }
        if self.count > 0 {
            vmm.counted(self.count * NUMBERS * 8);
        }
    }
}
