//! What the guest's own perf counts in the program, by the guest's PMU: the other side of the VMM's totals.

use guest_protocol::program as protocol;
use platform::convert::count_u32;

/// Bits of `struct perf_event_attr` (perf_event_open(2)), in the word of flags.
const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// `PERF_TYPE_RAW`.
const RAW: u32 = 4;
/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `PERF_FORMAT_TOTAL_TIME_RUNNING`.
const TIMES: u64 = 3;
/// Offsets in the attribute.
const SIZE: usize = 4;
const CONFIG: usize = 8;
const READ_FORMAT: usize = 32;
const FLAGS: usize = 40;

/// A raw event at one privilege level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfEvent {
    /// As in the event select register.
    pub config: u64,
    /// Only above CPL 0; else only at CPL 0.
    pub user: bool,
}

impl PerfEvent {
    /// Its `struct perf_event_attr`.
    pub(super) fn attribute(self) -> [u8; protocol::EVENT] {
        let mut bytes = [0; protocol::EVENT];
        let mut put = |at: usize, number: &[u8]| bytes[at..at + number.len()].copy_from_slice(number);
        let level = if self.user { EXCLUDE_KERNEL } else { EXCLUDE_USER };
        put(0, &RAW.to_le_bytes());
        put(SIZE, &count_u32(protocol::EVENT).to_le_bytes());
        put(CONFIG, &self.config.to_le_bytes());
        put(READ_FORMAT, &TIMES.to_le_bytes());
        put(FLAGS, &(DISABLED | INHERIT | ENABLE_ON_EXEC | level).to_le_bytes());
        bytes
    }
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerfCount {
    /// It has been counted all the time.
    Counted(u64),
    /// It shared a counter with others, and was counted for a part of the time, or never.
    Shared,
    /// The kernel refuses it: an errno.
    Refused(u32),
}

/// The counts in what init tells: errno, count, time enabled, time running.
pub(super) fn parse(numbers: &[u8]) -> Vec<PerfCount> {
    let (words, _) = numbers.as_chunks::<8>();
    let (rows, _) = words.as_chunks::<4>();
    rows.iter()
        .map(|row| match row.map(u64::from_le_bytes) {
            [0, count, enabled, running] if enabled == running && enabled > 0 => PerfCount::Counted(count),
            [0, ..] => PerfCount::Shared,
            [errno, ..] => PerfCount::Refused(u32::try_from(errno).unwrap_or(u32::MAX)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_been_counted_all_the_time_is_a_count() {
        let rows = [[0, 7, 5, 5], [0, 7, 5, 4], [22, 0, 0, 0], [0, 0, 0, 0]];
        let bytes: Vec<u8> = rows.iter().flatten().flat_map(|word: &u64| word.to_le_bytes()).collect();
        let (shared, refused) = (PerfCount::Shared, PerfCount::Refused(22));
        assert_eq!(parse(&bytes), [PerfCount::Counted(7), shared, refused, shared]);
        assert_eq!(parse(&bytes[..40]).len(), 1, "half a row is none");
    }

    #[test]
    fn an_attribute_counts_one_level_from_execve_on() {
        let bytes = PerfEvent { config: 0x4_00C0, user: true }.attribute();
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!([word(0), word(8)], [64 << 32 | 4, 0x4_00C0]);
        assert_eq!(word(40), 1 | 2 | 1 << 5 | 1 << 12);
    }
}
