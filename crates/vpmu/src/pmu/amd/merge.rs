//! Large Increment per Cycle: event FFFH in an odd counter merges it with the even one below.
//!
//! A pair adds up to 255 a cycle to a count of 64 bits. The even counter's control says what is counted,
//! bits 15:0 of the odd counter are bits 63:48 of the count, and the carry out of bit 63 is the even counter's
//! overflow. Both must be enabled in PerfCntrGlobalCtl. Source: Linux `arch/x86/events/amd/core.c` and
//! `arch/x86/events/core.c`.
//!
//! Hardware does not document a pair that is programmed wrongly. Here event FFFH merges only in an odd counter
//! with EN set; anywhere else it counts nothing. A merged even counter may count any event.

use super::Amd;
use crate::event::EventCode;
use crate::register::amd::{MERGE, PerfCtl};
use crate::register::low_bits;

/// Most that a pair adds in one cycle.
pub(super) const INCREMENT_LIMIT: u8 = 255;
/// Width of a merged count.
const PAIR_WIDTH: u32 = 64;
/// Bits of the count in the even counter's register.
const EVEN_BITS: u32 = 48;
/// Bits of the count in the odd counter's register.
const ODD: u64 = low_bits(PAIR_WIDTH - EVEN_BITS);

impl Amd {
    pub(super) fn is_merged(&self, n: u32) -> bool {
        self.merged >> n & 1 != 0
    }

    pub(super) fn is_merged_odd(&self, n: u32) -> bool {
        n % 2 == 1 && self.is_merged(n)
    }

    pub(super) fn width(&self, n: u32) -> u32 {
        if self.is_merged(n) && n.is_multiple_of(2) { PAIR_WIDTH } else { u32::from(self.profile.gp_width) }
    }

    /// Merges and parts pairs as the odd counters' controls say. Counters must be up to date.
    pub(super) fn update_pairs(&mut self) {
        let merges = self.amd.merge && self.amd.ext_core;
        let pairs = if merges { u32::from(self.profile.gp_counters) / 2 } else { 0 };
        for even in (0..pairs).map(|pair| 2 * pair) {
            let odd = even + 1;
            let control = self.bank.nth::<PerfCtl>(odd);
            let merge = control.enable() && EventCode::from_perf_ctl(control.0).select == MERGE;
            if merge == self.is_merged(even) {
                continue;
            }
            let count = self.count(even);
            let value = if merge { self.pair(even) } else { count & low_bits(EVEN_BITS) };
            *self.count_mut(odd) = self.odd_value(odd);
            *self.count_mut(even) = value;
            self.merged ^= 0b11 << even;
            self.reprogram(even);
        }
    }

    fn count(&self, n: u32) -> u64 {
        self.gp[n as usize].value
    }

    fn count_mut(&mut self, n: u32) -> &mut u64 {
        &mut self.gp[n as usize].value
    }

    /// The count of a pair, merged or not.
    fn pair(&self, even: u32) -> u64 {
        let count = self.count(even);
        if self.is_merged(even) { count } else { count | (self.count(even + 1) & ODD) << EVEN_BITS }
    }

    /// What the odd counter's register reads as.
    pub(super) fn odd_value(&self, odd: u32) -> u64 {
        let own = self.count(odd);
        if self.is_merged(odd) { own & !ODD | self.count(odd - 1) >> EVEN_BITS } else { own }
    }

    /// A write of a counter's register, within its width.
    pub(super) fn write_counter(&mut self, n: u32, value: u64) {
        if !self.is_merged(n) {
            *self.count_mut(n) = value;
        } else if n.is_multiple_of(2) {
            let count = self.count_mut(n);
            *count = *count & !low_bits(EVEN_BITS) | value;
        } else {
            *self.count_mut(n) = value;
            let count = self.count_mut(n - 1);
            *count = *count & low_bits(EVEN_BITS) | (value & ODD) << EVEN_BITS;
        }
    }
}
