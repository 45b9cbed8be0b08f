//! PERF_METRICS, with the choices for what no public document says.
//!
//! * Behind each field stands a 48-bit count of slots.
//! * Writing PERF_METRICS sets these counts to field / 255 of the slots in FIXED_CTR3. The level-1
//!   counts are the distances between the cuts at 1/255ths of the slots, rounded down: fields that
//!   add up to 255 give counts that add up to FIXED_CTR3.
//! * Writing FIXED_CTR3 keeps the fields; from the next counted slot on they are the old counts
//!   over the new number of slots.
//! * What was written or kept reads back until slots are counted, and while FIXED_CTR3 is 0.
//! * Counts that add up to FIXED_CTR3 are rounded to fields that add up to 255, largest remainder
//!   first; others are rounded to nearest, one by one, and limited to 255.
//! * A level-2 field is limited by its level-1 parent. A CPU without level 2 has no such counts,
//!   and its bits 63:32 are dropped.

use super::counting::carry;
use crate::model::Slots;

#[derive(Debug, Clone, Default)]
pub(super) struct Metrics {
    /// What the register shows while nothing is counted.
    shown: u64,
    counts: [u64; 8],
    counting: bool,
}

impl Metrics {
    pub(super) fn write(&mut self, value: u64, slots: u64, fields: usize) {
        let value = if fields < 8 { value & 0xFFFF_FFFF } else { value };
        self.shown = value;
        self.counting = false;
        self.counts = [0; 8];
        let cut = |parts: u64| (u128::from(parts) * u128::from(slots) / 255) as u64;
        let byte = |n: usize| u64::from(value.to_le_bytes()[n]);
        let mut parts = 0;
        for n in 0..fields.min(4) {
            self.counts[n] = cut(parts + byte(n)) - cut(parts);
            parts += byte(n);
        }
        for n in 4..fields {
            self.counts[n] = cut(byte(n));
        }
        for count in &mut self.counts {
            *count &= super::ones(48);
        }
    }

    /// FIXED_CTR3, which holds `slots`, is about to be written.
    pub(super) fn keep(&mut self, slots: u64, fields: usize) {
        self.shown = self.read(slots, fields);
        self.counting = false;
    }

    /// True when a count overflowed.
    pub(super) fn count(&mut self, slots: &Slots, fields: usize) -> bool {
        self.counting |= slots.total() != 0;
        let mut overflow = false;
        for n in 0..fields {
            overflow |= carry(&mut self.counts[n], slots.fields[n], 48);
        }
        overflow
    }

    pub(super) fn read(&self, slots: u64, fields: usize) -> u64 {
        if !self.counting || slots == 0 {
            return self.shown;
        }
        let slots = u128::from(slots);
        let scaled = self.counts.map(|count| u128::from(count) * 255);
        let nearest = |n: usize| ((2 * scaled[n] + slots) / (2 * slots)).min(255) as u8;
        let mut bytes = [0_u8; 8];
        let sum: u128 = self.counts[..4].iter().map(|&count| u128::from(count)).sum();
        if sum == slots {
            // What each field has lost by rounding down, in 1/(255 slots).
            let mut lost = [0; 4];
            for n in 0..4 {
                bytes[n] = (scaled[n] / slots) as u8;
                lost[n] = scaled[n] % slots;
            }
            while bytes[..4].iter().map(|&byte| u32::from(byte)).sum::<u32>() < 255 {
                let mut most = 0;
                for n in 1..4 {
                    if lost[n] > lost[most] {
                        most = n;
                    }
                }
                bytes[most] += 1;
                lost[most] = 0;
            }
        } else {
            for (n, byte) in bytes.iter_mut().enumerate().take(4) {
                *byte = nearest(n);
            }
        }
        for n in 4..fields {
            bytes[n] = nearest(n).min(bytes[n - 4]);
        }
        u64::from_le_bytes(bytes)
    }
}
