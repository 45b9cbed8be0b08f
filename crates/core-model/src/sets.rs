//! Set-associative storage of keys with least-recently-used replacement: caches, TLBs, target buffers.

use crate::core::Geometry;

/// What is kept of a key. None is 0, which marks an empty place.
pub(crate) trait Tag: Copy + Default + Eq {
    /// Of a key, of which `bits` say in which set it is.
    fn new(key: u64, bits: u32) -> Self;
    /// The key in this set.
    fn key(self, set: u64, bits: u32) -> u64;
    /// Is the same but for the mark.
    fn is(self, other: Self) -> bool;
    fn mark(&mut self);
    fn is_marked(self) -> bool;
}

/// The whole key.
impl Tag for u64 {
    #[inline(always)]
    fn new(key: u64, _bits: u32) -> Self {
        (key + 1) & !(1 << 63)
    }
    #[inline(always)]
    fn key(self, _set: u64, _bits: u32) -> u64 {
        (self & !(1 << 63)) - 1
    }
    #[inline(always)]
    fn is(self, other: Self) -> bool {
        self & !(1 << 63) == other
    }
    #[inline(always)]
    fn mark(&mut self) {
        *self |= 1 << 63;
    }
    fn is_marked(self) -> bool {
        self >> 63 != 0
    }
}

/// Its 30 bits above those of the set: enough for lines of memory up to 4 TiB and 64 sets.
impl Tag for u32 {
    #[inline(always)]
    fn new(key: u64, bits: u32) -> Self {
        ((key >> bits) as u32 & 0x3FFF_FFFF) + 1
    }
    #[inline(always)]
    fn key(self, set: u64, bits: u32) -> u64 {
        u64::from((self & !(1 << 31)) - 1) << bits | set
    }
    #[inline(always)]
    fn is(self, other: Self) -> bool {
        self & !(1 << 31) == other
    }
    #[inline(always)]
    fn mark(&mut self) {
        *self |= 1 << 31;
    }
    fn is_marked(self) -> bool {
        self >> 31 != 0
    }
}

/// What is done with a set, for its number of ways: loops of a fixed length take vectors.
#[derive(Debug, Clone, Copy)]
struct Ways<T> {
    has: fn(&[T], T) -> bool,
    push: fn(&mut [T], T) -> T,
    renew_or_push: fn(&mut [T], T) -> Option<T>,
}

impl<T: Tag> Ways<T> {
    /// Of many ways, most of which are not looked at: what is there is mostly among the newest.
    const ANY: Self =
        Self { has: |set, wanted| set.iter().any(|tag| tag.is(wanted)), push, renew_or_push: search };

    const fn fixed<const WAYS: usize>() -> Self {
        Self {
            has: |set, wanted| set.first_chunk::<WAYS>().is_some_and(|set| has(set, wanted)),
            push: |set, wanted| set.first_chunk_mut::<WAYS>().map_or(wanted, |set| push(set, wanted)),
            renew_or_push: |set, wanted| {
                set.first_chunk_mut::<WAYS>().and_then(|set| renew_or_push(set, wanted))
            },
        }
    }

    fn of(ways: usize) -> Self {
        match ways {
            4 => Self::fixed::<4>(),
            5 => Self::fixed::<5>(),
            6 => Self::fixed::<6>(),
            7 => Self::fixed::<7>(),
            8 => Self::fixed::<8>(),
            10 => Self::fixed::<10>(),
            11 => Self::fixed::<11>(),
            12 => Self::fixed::<12>(),
            15 => Self::fixed::<15>(),
            16 => Self::fixed::<16>(),
            20 => Self::fixed::<20>(),
            _ => Self::ANY,
        }
    }
}

/// Tags by set, the newest first.
#[derive(Debug, Clone)]
pub(crate) struct Sets<T = u64> {
    tags: Box<[T]>,
    ways: usize,
    /// Bits of a key that say in which set it is, and how many they are.
    mask: u64,
    bits: u32,
    of_ways: Ways<T>,
}

/// Physical lines by set.
pub(crate) type Lines = Sets<u32>;

impl<T: Tag> Sets<T> {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let sets = geometry.sets.next_power_of_two() as usize;
        let ways = usize::from(geometry.ways.max(1));
        let mask = sets as u64 - 1;
        let tags = vec![T::default(); sets * ways].into_boxed_slice();
        Self { tags, ways, mask, bits: mask.count_ones(), of_ways: Ways::of(ways) }
    }

    #[inline(always)]
    fn set(&mut self, key: u64) -> &mut [T] {
        let start = (key & self.mask) as usize * self.ways;
        &mut self.tags[start..start + self.ways]
    }

    /// The key of a tag that had to go, and whether it was marked; `None` if its place was empty.
    #[inline(always)]
    fn gone(&self, old: T, set: u64) -> Option<(u64, bool)> {
        (old != T::default()).then(|| (old.key(set & self.mask, self.bits), old.is_marked()))
    }

    /// True if the key is there and the newest of its set.
    #[inline(always)]
    pub(crate) fn is_newest(&mut self, key: u64) -> bool {
        let wanted = T::new(key, self.bits);
        self.set(key)[0].is(wanted)
    }

    /// True if the key is there; it becomes the newest of its set.
    #[inline]
    pub(crate) fn touch(&mut self, key: u64) -> bool {
        let Ways { has, .. } = self.of_ways;
        let wanted = T::new(key, self.bits);
        let set = self.set(key);
        set[0].is(wanted) || has(set, wanted) && move_to_front(set, wanted)
    }

    /// True if the key is there; it becomes the newest of its set, which it is added to if need be.
    #[inline]
    pub(crate) fn bring(&mut self, key: u64) -> bool {
        let Ways { renew_or_push, .. } = self.of_ways;
        let wanted = T::new(key, self.bits);
        let set = self.set(key);
        set[0].is(wanted) || renew_or_push(set, wanted).is_none()
    }

    /// The same; for a key that is new, the key that had to go and whether it was marked.
    #[inline]
    pub(crate) fn exchange(&mut self, key: u64) -> Option<Option<(u64, bool)>> {
        let Ways { renew_or_push, .. } = self.of_ways;
        let wanted = T::new(key, self.bits);
        let set = self.set(key);
        if set[0].is(wanted) {
            return None;
        }
        let old = renew_or_push(set, wanted)?;
        Some(self.gone(old, key))
    }

    /// True if the key is there.
    #[inline]
    pub(crate) fn contains(&self, key: u64) -> bool {
        let start = (key & self.mask) as usize * self.ways;
        (self.of_ways.has)(&self.tags[start..start + self.ways], T::new(key, self.bits))
    }

    /// Adds a key that is not there as the newest; the key that had to go, and whether it was marked.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64) -> Option<(u64, bool)> {
        let Ways { push, .. } = self.of_ways;
        let wanted = T::new(key, self.bits);
        let old = push(self.set(key), wanted);
        self.gone(old, key)
    }

    /// Marks the newest key of the set that this key belongs to.
    #[inline]
    pub(crate) fn mark_newest(&mut self, key: u64) {
        self.set(key)[0].mark();
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: u64) {
        let wanted = T::new(key, self.bits);
        let set = self.set(key);
        if let Some(way) = set.iter().position(|tag| tag.is(wanted)) {
            set[way..].rotate_left(1);
            if let Some(last) = set.last_mut() {
                *last = T::default();
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.tags.fill(T::default());
    }
}

/// True if a tag is there, which it is most often not: without a branch for each.
#[inline(always)]
fn has<T: Tag>(set: &[T], wanted: T) -> bool {
    set.iter().fold(false, |found, tag| found | tag.is(wanted))
}

/// Puts a tag before the others; the last one, which has no place any more.
#[inline(always)]
fn push<T: Tag>(set: &mut [T], wanted: T) -> T {
    let others = set.len() - 1;
    let last = set[others];
    set.copy_within(..others, 1);
    set[0] = wanted;
    last
}

/// Puts a tag before the others; if it was not there, the last one, which has no place any more.
#[inline(always)]
fn renew_or_push<T: Tag>(set: &mut [T], wanted: T) -> Option<T> {
    if !has(set, wanted) {
        return Some(push(set, wanted));
    }
    move_to_front(set, wanted);
    None
}

/// As [`renew_or_push`], from the newest tag on.
fn search<T: Tag>(set: &mut [T], wanted: T) -> Option<T> {
    let Some(way) = set.iter().position(|tag| tag.is(wanted)) else { return Some(push(set, wanted)) };
    let found = set[way];
    set.copy_within(..way, 1);
    set[0] = found;
    None
}

/// Puts a tag that is there before the others; true.
#[inline]
fn move_to_front<T: Tag>(set: &mut [T], wanted: T) -> bool {
    let mut moved = wanted;
    for place in &mut *set {
        std::mem::swap(place, &mut moved);
        if moved.is(wanted) {
            break;
        }
    }
    set[0] = moved;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_key_goes() {
        let mut sets = Sets::<u64>::new(Geometry { sets: 2, ways: 2 });
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
    fn many_ways_are_searched_as_few_are() {
        let geometry = Geometry { sets: 2, ways: 8 };
        let (mut few, mut many) = (Sets::<u64>::new(geometry), Sets::<u64>::new(geometry));
        many.of_ways = Ways::ANY;
        let mut seed = 1_u64;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = seed >> 33 & 31;
            assert_eq!(few.exchange(key), many.exchange(key));
            assert_eq!(few.touch(key ^ 4), many.touch(key ^ 4));
            assert_eq!(few.contains(key ^ 8), many.contains(key ^ 8));
        }
        assert_eq!(few.tags, many.tags);
    }

    #[test]
    fn sets_do_not_disturb_each_other() {
        let mut sets = Sets::<u64>::new(Geometry { sets: 2, ways: 1 });
        sets.insert(0);
        sets.insert(1);
        assert!(sets.touch(0) && sets.touch(1));
    }

    #[test]
    fn a_short_tag_gives_the_whole_key_back() {
        let key = (1 << 35) | 0x15;
        let mut lines = Lines::new(Geometry { sets: 64, ways: 1 });
        assert_eq!(lines.insert(key), None);
        assert!(lines.touch(key) && !lines.touch(key ^ 1 << 35));
        lines.mark_newest(key);
        assert!(lines.contains(key));
        assert_eq!(lines.insert(0x15), Some((key, true)));
    }
}
