//! Finds free guest memory beside what is already taken.

use std::ops::Range;

/// Ranges of guest physical addresses that are in use.
#[derive(Debug, Default)]
pub(super) struct Placement {
    taken: Vec<Range<u64>>,
}

impl Placement {
    /// Marks a range as used.
    pub(super) fn take(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.taken.push(range);
        }
    }

    /// The lowest free place in `window`; it is marked as used. `align` is a power of two.
    pub(super) fn lowest(&mut self, size: u64, align: u64, window: Range<u64>) -> Option<u64> {
        // Each step leaves at least one taken range behind, so this ends.
        let mut start = window.start.checked_next_multiple_of(align)?;
        loop {
            let end = start.checked_add(size).filter(|&end| end <= window.end)?;
            match self.overlapping(&(start..end)) {
                Some(other) => start = other.end.checked_next_multiple_of(align)?,
                None => {
                    self.take(start..end);
                    return Some(start);
                }
            }
        }
    }

    /// The highest free place in `window`; it is marked as used. `align` is a power of two.
    pub(super) fn highest(&mut self, size: u64, align: u64, window: Range<u64>) -> Option<u64> {
        let mut top = window.end;
        loop {
            let start = top.checked_sub(size)? & !(align - 1);
            if start < window.start {
                return None;
            }
            match self.overlapping(&(start..start + size)) {
                Some(other) => top = other.start,
                None => {
                    self.take(start..start + size);
                    return Some(start);
                }
            }
        }
    }

    fn overlapping(&self, range: &Range<u64>) -> Option<&Range<u64>> {
        self.taken.iter().find(|t| t.start < range.end && range.start < t.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(taken: &[(u64, u64)]) -> Placement {
        Placement { taken: taken.iter().map(|&(start, end)| start..end).collect() }
    }

    #[test]
    fn lowest_skips_what_is_taken_and_aligns() {
        let mut placement = with(&[(0x1800, 0x2001), (0x1000, 0x1800)]);
        assert_eq!(placement.lowest(0x10, 0x1000, 0x1000..0x8000), Some(0x3000));
        // The place found is taken now.
        assert_eq!(placement.lowest(0x10, 0x10, 0x2000..0x8000), Some(0x2010));
        assert_eq!(placement.lowest(0x1000, 0x1000, 0x1000..0x8000), Some(0x4000));
    }

    #[test]
    fn highest_skips_what_is_taken_and_aligns() {
        let mut placement = with(&[(0x7000, 0x7800)]);
        assert_eq!(placement.highest(0x900, 0x1000, 0x1000..0x8000), Some(0x6000));
        assert_eq!(placement.highest(0x800, 0x800, 0x1000..0x8000), Some(0x7800));
        assert_eq!(placement.highest(0x800, 0x800, 0x1000..0x8000), Some(0x5800));
    }

    #[test]
    fn a_full_window_has_no_place() {
        let mut placement = with(&[(0x1000, 0x2000)]);
        assert_eq!(placement.lowest(1, 1, 0x1000..0x2000), None);
        assert_eq!(placement.highest(1, 1, 0x1000..0x2000), None);
        assert_eq!(placement.lowest(0x1001, 1, 0x2000..0x3000), None);
        assert_eq!(placement.highest(0x3001, 1, 0..0x3000), None);
        assert_eq!(placement.lowest(u64::MAX, 0x1000, 0x2000..u64::MAX), None);
        assert_eq!(placement.highest(u64::MAX, 0x1000, 0..0x2000), None);
    }
}
