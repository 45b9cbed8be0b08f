//! Top-down level 1 from general-purpose events, for CPUs without PERF_METRICS, by the published formulas.
//!
//! Intel's are those of `TMA_Metrics` (`intel/perfmon`), AMD's those of Linux (`amdzen4/pipeline.json`).
//!
//! | category | Intel to Cascade Lake | AMD from Zen 4 |
//! | --- | --- | --- |
//! | slots | width x CPU_CLK_UNHALTED.THREAD | width x ls_not_halted_cyc |
//! | retiring | UOPS_RETIRED.RETIRE_SLOTS | ex_ret_ops |
//! | front-end bound | IDQ_UOPS_NOT_DELIVERED.CORE | de_no_dispatch_per_slot.no_ops_from_frontend |
//! | bad speculation | UOPS_ISSUED.ANY - retiring + width x INT_MISC.RECOVERY_CYCLES | de_src_op_disp.all - retiring |
//! | back-end bound | the rest | de_no_dispatch_per_slot.backend_stalls |

use crate::measured::{Reading, quantity};
use vpmu::TopdownSlots;
use vpmu::event::Event;

/// The slots of a window by category; `None` unless the guest counted and read every event of a formula, at all
/// privilege levels.
pub(crate) fn level1(readings: &[Reading], width: u8) -> Option<TopdownSlots> {
    let width = u64::from(width);
    let of = |event: Event| {
        let counts = |reading: &&Reading| {
            reading.filter.is_empty() && quantity(&reading.event) == Some(event.counts_as())
        };
        readings.iter().filter(counts).find_map(|reading| reading.guest)
    };
    let slots = width * of(Event::CpuClkUnhaltedThread)?;
    let [retiring, bad, front, back] = intel(of, width, slots).or_else(|| amd(of))?;
    Some(TopdownSlots { slots, fields: [retiring, bad, front, back, 0, 0, 0, 0] })
}

fn intel(of: impl Fn(Event) -> Option<u64>, width: u64, slots: u64) -> Option<[u64; 4]> {
    let retiring = of(Event::UopsRetiredSlots)?;
    let front = of(Event::IdqUopsNotDeliveredCore)?;
    let recovery = width * of(Event::IntMiscRecoveryCycles)?;
    let bad = (of(Event::UopsIssuedAny)? + recovery).saturating_sub(retiring);
    Some([retiring, bad, front, slots.saturating_sub(retiring + bad + front)])
}

fn amd(of: impl Fn(Event) -> Option<u64>) -> Option<[u64; 4]> {
    let retiring = of(Event::ExRetOps)?;
    let bad = of(Event::DeSrcOpDispAll)?.saturating_sub(retiring);
    let front = of(Event::DeNoDispatchPerSlotNoOpsFromFrontend)?;
    Some([retiring, bad, front, of(Event::DeNoDispatchPerSlotBackendStalls)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::Provenance;

    fn reading(event: &str, filter: &str, count: u64) -> Reading {
        Reading::new("PMC0", (event, filter), Provenance::Modelled, Some(count), count)
    }

    fn skylake() -> Vec<Reading> {
        vec![
            reading("CPU_CLK_UNHALTED.THREAD", "", 1_000),
            reading("UOPS_RETIRED.SLOTS", "", 1_500),
            reading("UOPS_ISSUED.ANY", "", 1_800),
            reading("IDQ_UOPS_NOT_DELIVERED.CORE", "", 600),
            reading("INT_MISC.RECOVERY_CYCLES", "", 50),
        ]
    }

    #[test]
    fn intel_has_the_rest_in_the_back_end() {
        let slots = level1(&skylake(), 4).unwrap();
        assert_eq!((slots.slots, &slots.fields[..4]), (4_000, &[1_500, 500, 600, 1_400][..]));
    }

    #[test]
    fn amd_counts_all_four() {
        let readings = [
            reading("ls_not_halted_cyc", "", 1_000),
            reading("ex_ret_ops", "", 2_000),
            reading("de_src_op_disp.all", "", 2_400),
            reading("de_no_dispatch_per_slot.no_ops_from_frontend", "", 1_600),
            reading("de_no_dispatch_per_slot.backend_stalls", "", 2_000),
        ];
        let slots = level1(&readings, 6).unwrap();
        assert_eq!((slots.slots, &slots.fields[..4]), (6_000, &[2_000, 400, 1_600, 2_000][..]));
    }

    #[test]
    fn an_event_that_is_missing_or_was_counted_at_one_level_makes_no_formula() {
        for missing in 0..5 {
            let mut readings = skylake();
            readings.remove(missing);
            assert_eq!(level1(&readings, 4), None);
            readings.push(reading("UOPS_ISSUED.ANY", ":u", 1));
            assert_eq!(level1(&readings, 4), None);
        }
    }
}
