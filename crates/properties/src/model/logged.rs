//! LBR event logging: how often the events of the first counters have occurred since the newest record.
//!
//! Written from the SDM (volume 3B, "Last Branch Records"): IA32_LBR_x_INFO has two bits for each counter whose event
//! select says EN_LBR_LOG, from bit 32 on, which stay at 3 when there are more. Where that leaves something open:
//!
//! | open point | choice |
//! | --- | --- |
//! | before the first record | from when recording begins |
//! | a counter gets another event | from there on |
//! | a return that removes a record in call-stack mode | takes its events with it |
//! | a counter without EN_LBR_LOG | goes on, and its field is 0 |

/// Counters whose events are logged.
pub(crate) const COUNTERS: usize = 4;
/// EN_LBR_LOG.
const LOGS: u32 = 35;
/// Event select, both unit masks, EDGE, INV and CMASK.
const CODE: u64 = 0xFF00_FF84_FFFF;

/// Occurrences, eagerly; none where another register has changed what the event is.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    since: [Option<u64>; COUNTERS],
    recording: bool,
}

impl Default for Logged {
    fn default() -> Self {
        Self { since: [Some(0); COUNTERS], recording: false }
    }
}

impl Logged {
    /// A counter has counted so many.
    pub(crate) fn counted(&mut self, counter: u8, count: u64) {
        if let Some(Some(since)) = self.since.get_mut(usize::from(counter)) {
            *since += count;
        }
    }

    /// This has been written; event selects before and after.
    pub(crate) fn written(&mut self, index: u32, before: [u64; COUNTERS], after: [u64; COUNTERS]) {
        for (since, (before, after)) in self.since.iter_mut().zip(before.into_iter().zip(after)) {
            match index {
                _ if (before ^ after) & CODE != 0 => *since = Some(0),
                // MSR_OFFCORE_RSP_x, MSR_PEBS_LD_LAT_THRESHOLD and MSR_PEBS_FRONTEND are a part of some events.
                0x1A6 | 0x1A7 | 0x3F6 | 0x3F7 => *since = None,
                _ => {}
            }
        }
    }

    /// Branches are recorded now, or not.
    pub(crate) fn follow(&mut self, recording: bool) {
        if recording && !self.recording {
            self.since = [Some(0); COUNTERS];
        }
        self.recording = recording;
    }

    /// A branch is recorded while these are the event selects: its fields, from bit 32 of INFO on, as far as they are
    /// known.
    pub(crate) fn branch(&mut self, selects: [u64; COUNTERS]) -> [Option<u64>; COUNTERS] {
        let mut fields = [Some(0); COUNTERS];
        for (n, select) in selects.into_iter().enumerate() {
            if super::bit(select, LOGS) {
                fields[n] = self.since[n].replace(0).map(|since| since.min(3));
            }
        }
        fields
    }
}
