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

/// Lines that are wanted, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wanted {
    first: u64,
    count: u8,
    down: bool,
}

impl Wanted {
    pub(crate) fn lines(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |n| if self.down { self.first - n } else { self.first + n })
    }
}

/// The streamer of the second level. What is far ahead it fetches to the last level only (Intel Optimization
/// Reference Manual, "Data Prefetch to the L2 and Last Level Cache").
#[derive(Debug)]
pub(crate) struct Streams {
    pages: [u64; STREAMS],
    streams: [Stream; STREAMS],
    /// Which of them were used last, the newest first.
    order: [u8; STREAMS],
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self {
            pages: [u64::MAX; STREAMS],
            streams: [Stream::default(); STREAMS],
            order: std::array::from_fn(|n| (STREAMS - 1 - n) as u8),
        }
    }

    /// Sees a line that the first level missed, and says which lines to fetch, up to which distances: to the second
    /// level, and to the last level only.
    pub(crate) fn see(&mut self, line: u64, distances: [u64; 2]) -> [Wanted; 2] {
        let page = line / PAGE_LINES;
        let mut wanted = [Wanted::default(); 2];
        let mut newest = usize::from(self.order[0]) % STREAMS;
        if self.pages[newest] != page {
            let known = self.pages.iter().position(|&known| known == page);
            let place =
                known.and_then(|known| self.order.iter().position(|&other| usize::from(other) == known));
            let place = place.unwrap_or(STREAMS - 1);
            newest = usize::from(self.order[place]) % STREAMS;
            self.order.copy_within(..place, 1);
            self.order[0] = newest as u8;
            if known.is_none() {
                self.pages[newest] = page;
                self.streams[newest] = Stream { last: line, ahead: [line; 2], steps: 0, down: false };
                return wanted;
            }
        }
        let stream = &mut self.streams[newest];
        if line == stream.last {
            return wanted;
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
            return wanted;
        }
        let (first, last) = (page * PAGE_LINES, page * PAGE_LINES + PAGE_LINES - 1);
        let mut from = line;
        for (level, distance) in distances.into_iter().enumerate() {
            for _ in 0..AT_ONCE {
                let ahead = stream.ahead[level];
                let next = if down { ahead.min(from).checked_sub(1) } else { Some(ahead.max(from) + 1) };
                let Some(next) = next else { break };
                if next < first || next > last || next.abs_diff(line) > distance {
                    break;
                }
                let Wanted { first, count, .. } = wanted[level];
                let first = if count == 0 { next } else { first };
                wanted[level] = Wanted { first, count: count + 1, down };
                stream.ahead[level] = next;
            }
            from = stream.ahead[level];
        }
        wanted
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
        let seen: Vec<_> =
            (0..3).map(|line| streams.see(line, [8, 0])[0].lines().collect::<Vec<_>>()).collect();
        assert_eq!(seen, [vec![], vec![], vec![3, 4]]);
        assert_eq!(streams.see(63, [8, 0]).map(|wanted| wanted.lines().count()), [0, 0]);
    }

    #[test]
    fn a_line_far_ahead_is_wanted_in_the_last_level_before_the_second() {
        let mut streams = Streams::new();
        let mut wanted = [Vec::new(), Vec::new()];
        for line in 0..32 {
            for (all, new) in wanted.iter_mut().zip(streams.see(line, [4, 12])) {
                all.extend(new.lines().map(|wanted| (wanted, line)));
            }
        }
        let seen = |level: usize, line| wanted[level].iter().find(|one| one.0 == line).map(|one| one.1);
        for line in 8..36 {
            assert!(seen(1, line) < seen(0, line), "line {line}");
        }
        assert_eq!(seen(0, 36), None);
        assert_eq!(seen(1, 44), None);
    }

    #[test]
    fn the_page_that_was_not_walked_for_longest_is_forgotten() {
        let mut streams = Streams::new();
        let mut walk = |page: u64, lines: std::ops::Range<u64>| {
            lines.map(|line| streams.see(page * PAGE_LINES + line, [8, 0])[0].lines().count()).sum::<usize>()
        };
        for page in 0..STREAMS as u64 {
            walk(page, 0..2);
        }
        walk(0, 2..3);
        walk(100, 0..1);
        assert_eq!(walk(0, 3..4), 2);
        assert_eq!(walk(1, 2..3), 0);
    }

    #[test]
    fn nothing_is_below_the_first_line_of_memory() {
        let mut streams = Streams::new();
        for line in (0..8).rev() {
            for wanted in streams.see(line, [4, 12]) {
                assert!(wanted.lines().all(|wanted| wanted < line.max(1)), "line {line}");
            }
        }
    }

    #[test]
    fn a_stride_is_learnt() {
        let mut strides = Strides::new();
        let seen: Vec<_> = (0..6).map(|n| strides.see(0x400, n * 128)).collect();
        assert_eq!(seen, [None, None, None, None, Some(12), Some(14)]);
    }
}
