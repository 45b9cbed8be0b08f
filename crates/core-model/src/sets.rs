//! Set-associative storage of keys with least-recently-used replacement: caches, TLBs, target buffers.

use crate::core::Geometry;

/// Set on a key that was marked, such as a modified line.
const MARK: u64 = 1 << 63;

/// Keys by set, the newest first. A key is stored plus one, so that zero means empty.
#[derive(Debug, Clone)]
pub(crate) struct Sets {
    ways: usize,
    mask: u64,
    keys: Box<[u64]>,
}

impl Sets {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let sets = geometry.sets.next_power_of_two() as usize;
        let ways = usize::from(geometry.ways.max(1));
        Self { ways, mask: sets as u64 - 1, keys: vec![0; sets * ways].into_boxed_slice() }
    }

    #[inline]
    fn set(&mut self, key: u64) -> &mut [u64] {
        let start = (key & self.mask) as usize * self.ways;
        &mut self.keys[start..start + self.ways]
    }

    /// True if the key is there; it becomes the newest of its set.
    #[inline]
    pub(crate) fn touch(&mut self, key: u64) -> bool {
        let wanted = (key + 1) & !MARK;
        let set = self.set(key);
        set[0] & !MARK == wanted || renew(set, wanted)
    }

    /// True if the key is there.
    #[inline]
    pub(crate) fn contains(&self, key: u64) -> bool {
        let start = (key & self.mask) as usize * self.ways;
        let wanted = (key + 1) & !MARK;
        self.keys[start..start + self.ways].iter().any(|&stored| stored & !MARK == wanted)
    }

    /// Adds a key that is not there as the newest; the key that had to go, and whether it was marked.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64) -> Option<(u64, bool)> {
        let old = push(self.set(key), (key + 1) & !MARK);
        (old != 0).then(|| ((old & !MARK) - 1, old & MARK != 0))
    }

    /// Marks the newest key of the set that this key belongs to.
    pub(crate) fn mark_newest(&mut self, key: u64) {
        self.set(key)[0] |= MARK;
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: u64) {
        let wanted = (key + 1) & !MARK;
        let set = self.set(key);
        if let Some(way) = set.iter().position(|&stored| stored & !MARK == wanted) {
            set[way..].rotate_left(1);
            if let Some(last) = set.last_mut() {
                *last = 0;
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.keys.fill(0);
    }
}

/// Puts a value before the others; the last one, which has no place any more.
#[inline]
fn push(values: &mut [u64], value: u64) -> u64 {
    values.iter_mut().fold(value, |value, place| std::mem::replace(place, value))
}

/// Looks for a value behind the first one, and puts it before the others.
fn renew(set: &mut [u64], wanted: u64) -> bool {
    let Some(way) = set.iter().position(|&stored| stored & !MARK == wanted) else { return false };
    let found = set[way];
    push(&mut set[..=way], found);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_key_goes() {
        let mut sets = Sets::new(Geometry { sets: 2, ways: 2 });
        assert_eq!(sets.insert(0), None);
        assert_eq!(sets.insert(2), None);
        sets.mark_newest(2);
        assert!(sets.touch(0));
        assert_eq!(sets.insert(4), Some((2, true)));
        assert!(sets.contains(0) && sets.contains(4) && !sets.contains(2));
        sets.remove(4);
        assert!(!sets.touch(4));
        assert_eq!(sets.insert(6), None);
        assert_eq!(sets.insert(8), Some((0, false)));
    }

    #[test]
    fn sets_do_not_disturb_each_other() {
        let mut sets = Sets::new(Geometry { sets: 2, ways: 1 });
        sets.insert(0);
        sets.insert(1);
        assert!(sets.touch(0) && sets.touch(1));
    }
}
