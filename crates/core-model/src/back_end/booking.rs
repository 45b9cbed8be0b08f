//! Booking of cycles that are over.

use super::{BackEnd, EMPTY, FP_DIVIDER, INTEGER_DIVIDER, LOADS};
use crate::totals::{CoreTotals, MOST_PER_CYCLE, PerCycle};

impl BackEnd {
    /// Between the last uop that left the schedulers and a cycle nothing was in them.
    #[inline(never)]
    pub(super) fn note_empty(&mut self, totals: &mut CoreTotals, cycle: u64) {
        let Self { ports, activity, last_issue, empty_until, .. } = self;
        if cycle > *last_issue + 1 {
            totals.scheduler_empty += cycle - *last_issue - 1;
            totals.scheduler_emptied += u64::from(*last_issue != *empty_until);
            activity.set_all(EMPTY..EMPTY + 1, ports.base().max(*last_issue + 1), cycle);
            *last_issue = cycle - 1;
            *empty_until = *last_issue;
        }
    }

    /// Books what was executed in cycles that nothing can be added to any more.
    #[inline(never)]
    pub(crate) fn finish_cycles(&mut self, totals: &mut CoreTotals, cycle: u64) {
        self.scheduler.advance(cycle);
        self.note_empty(totals, cycle);
        let Self { ports, port_places, activity, executed_before, .. } = self;
        ports.forget_before(cycle, |word, cycles, units| {
            // Adds up the ports of each cycle: bit n of the sum of cycle c is bit c of plane n.
            let mut planes = [0_u64; 5];
            let mut any = 0;
            for (unit, place) in units.iter().zip(port_places.iter()) {
                let Some(place) = *place else { continue };
                if *unit == 0 {
                    continue;
                }
                totals.ports[place] += u64::from(unit.count_ones());
                any |= unit;
                let mut carry = *unit;
                for plane in &mut planes {
                    (*plane, carry) = (*plane ^ carry, *plane & carry);
                    if carry == 0 {
                        break;
                    }
                }
            }
            let idle = cycles & !any;
            book_word(&mut totals.uops_executed, &planes, cycles, executed_before);
            let count = |bits: u64| if bits == 0 { 0 } else { u64::from(bits.count_ones()) };
            let noted = activity.take(word, cycles);
            let [loads, missed_l1, missed_l2, missed_l3] = [0, 1, 2, 3].map(|missed| noted[LOADS + missed]);
            totals.cycles_memory += count(loads);
            totals.stalls_memory += count(loads & idle);
            totals.stalls_execution += count(idle & !loads & !noted[EMPTY]);
            if missed_l1 != 0 {
                totals.cycles_l1_miss += count(missed_l1);
                totals.l1d_pending_cycles += count(missed_l1);
                totals.stalls_l1_miss += count(missed_l1 & idle);
                totals.cycles_l2_miss += count(missed_l2);
                totals.stalls_l2_miss += count(missed_l2 & idle);
                totals.cycles_l3_miss += count(missed_l3);
                totals.stalls_l3_miss += count(missed_l3 & idle);
            }
            totals.integer_divider_active += count(noted[INTEGER_DIVIDER]);
            totals.fp_divider_active += count(noted[FP_DIVIDER]);
        });
    }
}

/// Books a run of cycles of a word: bit c of plane n is bit n of the count of cycle c.
fn book_word(what: &mut PerCycle, planes: &[u64; 5], cycles: u64, before: &mut u32) {
    if planes.iter().all(|&plane| plane == 0) {
        what.cycles[0] += u64::from(cycles.count_ones());
        *before = 0;
        return;
    }
    let first = cycles & cycles.wrapping_neg();
    // Cycles with at least n, beginning with all of them.
    let mut at_least = cycles;
    let end = 63 - cycles.leading_zeros();
    let last = planes.iter().rev().fold(0, |count, &plane| count << 1 | (plane >> end) as u32 & 1);
    for n in 0..=MOST_PER_CYCLE {
        let exactly = planes
            .iter()
            .enumerate()
            .fold(cycles, |cycles, (bit, &plane)| cycles & if n >> bit & 1 == 1 { plane } else { !plane });
        let more = at_least & !exactly;
        let here = if n == MOST_PER_CYCLE { at_least } else { exactly };
        what.cycles[n] += u64::from(here.count_ones());
        if n > 0 {
            let carried = if *before as usize >= n { first } else { 0 };
            what.book_rises(n, u64::from((at_least & !(at_least << 1 | carried)).count_ones()));
        }
        at_least = more;
        if at_least == 0 {
            break;
        }
    }
    what.total +=
        planes.iter().enumerate().map(|(bit, plane)| u64::from(plane.count_ones()) << bit).sum::<u64>();
    *before = last;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_cycles_is_booked_as_its_cycles_one_by_one() {
        let counts: Vec<u32> = (0..64).map(|n| [0, 3, 3, 7, 1, 0, 16, 15, 2][n * n % 9]).collect();
        let mut planes = [0; 5];
        for (cycle, count) in counts.iter().enumerate() {
            for (bit, plane) in planes.iter_mut().enumerate() {
                *plane |= u64::from(count >> bit & 1) << cycle;
            }
        }
        let (mut word, mut single) = (PerCycle::default(), PerCycle::default());
        let (mut before_word, mut before) = (2, 2);
        for part in [0x7F, 1 << 7, !0xFF] {
            book_word(&mut word, &planes.map(|plane| plane & part), part, &mut before_word);
        }
        for &count in &counts {
            single.book(count, 1, before);
            before = count;
        }
        assert_eq!((word, before_word), (single, before));
    }
}
