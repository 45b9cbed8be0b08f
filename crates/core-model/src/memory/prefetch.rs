//! Hardware prefetchers: what they notice.

/// Pages that the streamer follows.
const STREAMS: usize = 32;
/// Lines of a page of 4 KiB, over which prefetchers do not reach.
const PAGE_LINES: u64 = 64;
/// Lines that the streamer asks for at once, for each level.
const AT_ONCE: u64 = 2;
/// Loads that the stride prefetcher tells apart.
const LOADS: usize = 128;

#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    last: u64,
    /// How far it has asked ahead, for the second and for the last level.
    ahead: [u64; 2],
    /// Steps in the same direction.
    steps: u8,
    down: bool,
}

/// Where a line is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// In the second level.
    Near(u64),
    /// In the last level only.
    Far(u64),
}

/// The streamer of the second level. What is far ahead it fetches to the last level only (Intel Optimization
/// Reference Manual, "Data Prefetch to the L2 and Last Level Cache").
#[derive(Debug)]
pub(crate) struct Streams {
    pages: [u64; STREAMS],
    used: [u64; STREAMS],
    streams: [Stream; STREAMS],
    /// Which was used last.
    newest: usize,
    clock: u64,
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self {
            pages: [u64::MAX; STREAMS],
            used: [0; STREAMS],
            streams: [Stream::default(); STREAMS],
            newest: 0,
            clock: 0,
        }
    }

    /// Sees a line that the first level missed, and says which lines to fetch, up to which distances.
    pub(crate) fn see(&mut self, line: u64, distances: [u64; 2], wanted: &mut Vec<Wanted>) {
        let page = line / PAGE_LINES;
        self.clock += 1;
        if self.pages[self.newest] != page {
            let known = self.pages.iter().position(|&known| known == page);
            let oldest = || self.used.iter().enumerate().min_by_key(|(_, used)| **used);
            self.newest = known.or_else(|| Some(oldest()?.0)).unwrap_or(0);
            if known.is_none() {
                self.pages[self.newest] = page;
                self.used[self.newest] = self.clock;
                self.streams[self.newest] = Stream { last: line, ahead: [line; 2], steps: 0, down: false };
                return;
            }
        }
        self.used[self.newest] = self.clock;
        let stream = &mut self.streams[self.newest];
        if line == stream.last {
            return;
        }
        let down = line < stream.last;
        if down == stream.down && stream.steps > 0 {
            stream.steps = stream.steps.saturating_add(1);
        } else {
            stream.steps = 1;
            stream.down = down;
            stream.ahead = [line; 2];
        }
        stream.last = line;
        if stream.steps < 2 {
            return;
        }
        let (first, last) = (page * PAGE_LINES, page * PAGE_LINES + PAGE_LINES - 1);
        let mut from = line;
        for (level, distance) in distances.into_iter().enumerate() {
            for _ in 0..AT_ONCE {
                let ahead = stream.ahead[level];
                let next = if down { ahead.min(from).saturating_sub(1) } else { ahead.max(from) + 1 };
                if next < first || next > last || next.abs_diff(line) > distance {
                    break;
                }
                stream.ahead[level] = next;
                wanted.push(if level == 0 { Wanted::Near(next) } else { Wanted::Far(next) });
            }
            from = stream.ahead[level];
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Stride {
    rip: u64,
    last: u64,
    step: i64,
    sure: u8,
}

/// The stride prefetcher of the first level, by the load's address.
#[derive(Debug)]
pub(crate) struct Strides(Box<[Stride; LOADS]>);

impl Strides {
    pub(crate) fn new() -> Self {
        Self(Box::new([Stride::default(); LOADS]))
    }

    /// Sees a load, and says which line to fetch.
    #[inline]
    pub(crate) fn see(&mut self, rip: u64, physical: u64) -> Option<u64> {
        let entry = &mut self.0[(rip ^ rip >> 7) as usize % LOADS];
        if entry.rip != rip {
            *entry = Stride { rip, last: physical, step: 0, sure: 0 };
            return None;
        }
        let step = physical.wrapping_sub(entry.last) as i64;
        entry.last = physical;
        if step == 0 {
            return None;
        }
        if step != entry.step {
            entry.step = step;
            entry.sure = 0;
            return None;
        }
        if entry.sure < 2 {
            entry.sure += 1;
            return None;
        }
        // Two steps ahead, within the page.
        let next = physical.wrapping_add_signed(2 * step);
        (next >> 12 == physical >> 12 && next >> 6 != physical >> 6).then_some(next >> 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_followed_within_its_page() {
        let mut streams = Streams::new();
        let mut wanted = Vec::new();
        for line in 0..3 {
            streams.see(line, [8, 0], &mut wanted);
        }
        assert_eq!(wanted, [Wanted::Near(3), Wanted::Near(4)]);
        wanted.clear();
        streams.see(63, [8, 0], &mut wanted);
        assert_eq!(wanted, []);
    }

    #[test]
    fn a_line_far_ahead_is_wanted_in_the_last_level_before_the_second() {
        let mut streams = Streams::new();
        let mut wanted = Vec::new();
        for line in 0..32 {
            streams.see(line, [4, 12], &mut wanted);
        }
        let place = |what| wanted.iter().position(|&one| one == what);
        for line in 8..36 {
            assert!(place(Wanted::Far(line)) < place(Wanted::Near(line)), "line {line}");
        }
        assert_eq!(place(Wanted::Near(36)), None);
        assert_eq!(place(Wanted::Far(44)), None);
    }

    #[test]
    fn a_stride_is_learnt() {
        let mut strides = Strides::new();
        let seen: Vec<_> = (0..6).map(|n| strides.see(0x400, n * 128)).collect();
        assert_eq!(seen, [None, None, None, None, Some(12), Some(14)]);
    }
}
