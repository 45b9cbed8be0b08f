//! Booking of cycles that are over.

use super::{BackEnd, EMPTY, FP_DIVIDER, INTEGER_DIVIDER, LOADS};
use crate::state::cycle_bits::AHEAD;
use crate::totals::{CoreTotals, MOST_PER_CYCLE, PORTS, PerCycle};

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
        // No more at a time than the window tells apart.
        while self.ports.base() + AHEAD < cycle {
            self.finish_known(totals, self.ports.base() + AHEAD);
            self.come_near();
        }
        self.finish_known(totals, cycle);
        self.come_near();
    }

    /// The window has moved: what is in it now has its place there.
    #[inline]
    fn come_near(&mut self) {
        self.ports.come_near();
        let end = self.ports.base() + AHEAD;
        while let Some((from, (things, to))) = self.far_activity.take_before(end) {
            if to > end {
                self.far_activity.add(end, (things.clone(), to));
            }
            self.activity.set_all(things, from.max(self.ports.base()), to.min(end));
        }
    }

    fn finish_known(&mut self, totals: &mut CoreTotals, cycle: u64) {
        self.advance_schedulers(cycle);
        self.note_empty(totals, cycle);
        let Self { ports, port_places, activity, executed_before, .. } = self;
        ports.forget_before(cycle, |word, cycles, units| {
            // Sorts the ports of each cycle: bit c of element n says that more than n are taken in cycle c.
            let mut more_than = [0_u64; PORTS];
            for (unit, place) in units.iter().zip(port_places.iter()) {
                let Some(place) = *place else { continue };
                if *unit == 0 {
                    continue;
                }
                totals.ports[place] += u64::from(unit.count_ones());
                let mut more = *unit;
                for cycles in &mut more_than {
                    (*cycles, more) = (*cycles | more, *cycles & more);
                    if more == 0 {
                        break;
                    }
                }
            }
            let idle = cycles & !more_than[0];
            book_word(&mut totals.uops_executed, &more_than, cycles, executed_before);
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

/// Books a run of cycles of a word, of which those in element n have more than n.
fn book_word(what: &mut PerCycle, more_than: &[u64; PORTS], cycles: u64, before: &mut u32) {
    let first = cycles & cycles.wrapping_neg();
    let end = 63 - cycles.leading_zeros();
    let (mut count, mut last) = (u64::from(cycles.count_ones()), 0);
    for (n, &more_than) in more_than.iter().enumerate() {
        if more_than == 0 {
            what.cycles[n.min(MOST_PER_CYCLE)] += count;
            *before = last;
            return;
        }
        let more = u64::from(more_than.count_ones());
        what.cycles[n.min(MOST_PER_CYCLE)] += count - more;
        what.total += more;
        if n < MOST_PER_CYCLE {
            let carried = if *before as usize > n { first } else { 0 };
            what.book_rises(n + 1, u64::from((more_than & !(more_than << 1 | carried)).count_ones()));
        }
        last += (more_than >> end) as u32 & 1;
        count = more;
    }
    what.cycles[MOST_PER_CYCLE] += count;
    *before = last;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SUNNY_COVE;
    use crate::back_end::Units;

    #[test]
    fn a_long_wait_does_not_hide_what_waited_before_it() {
        let mut totals = CoreTotals::default();
        let names = ["ICXPort0".to_owned()];
        let units = Units { names: &names, ..Units::default() };
        let mut back_end = BackEnd::new(&SUNNY_COVE, &units, 1);
        back_end.last_issue = 1000;
        back_end.finish_cycles(&mut totals, 20_000);
        assert_eq!((totals.stalls_execution, totals.scheduler_empty), (1001, 20_000 - 1001));
    }

    #[test]
    fn a_word_of_cycles_is_booked_as_its_cycles_one_by_one() {
        let counts: Vec<u32> = (0..64).map(|n| [0, 3, 3, 7, 1, 0, 16, 15, 2][n * n % 9]).collect();
        let mut more_than = [0; PORTS];
        for (cycle, &count) in counts.iter().enumerate() {
            more_than.iter_mut().take(count as usize).for_each(|cycles| *cycles |= 1 << cycle);
        }
        let (mut word, mut single) = (PerCycle::default(), PerCycle::default());
        let (mut before_word, mut before) = (2, 2);
        for part in [0x7F, 1 << 7, !0xFF] {
            book_word(&mut word, &more_than.map(|cycles| cycles & part), part, &mut before_word);
        }
        for &count in &counts {
            single.book(count, 1, before);
            before = count;
        }
        assert_eq!((word, before_word), (single, before));
    }
}
