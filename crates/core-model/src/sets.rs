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
    fn key(self, _set: u64, _bits: u32) -> u64 {
        (self & !(1 << 63)) - 1
    }
    #[inline(always)]
    fn is(self, other: Self) -> bool {
        self & !(1 << 63) == other
    }
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
    fn key(self, set: u64, bits: u32) -> u64 {
        u64::from((self & !(1 << 31)) - 1) << bits | set
    }
    #[inline(always)]
    fn is(self, other: Self) -> bool {
        self & !(1 << 31) == other
    }
    fn mark(&mut self) {
        *self |= 1 << 31;
    }
    fn is_marked(self) -> bool {
        self >> 31 != 0
    }
}

/// Tags by set, the newest first.
#[derive(Debug, Clone)]
pub(crate) struct Sets<T = u64> {
    ways: usize,
    /// Bits of a key that say in which set it is, and how many they are.
    mask: u64,
    bits: u32,
    tags: Box<[T]>,
}

/// Physical lines by set.
pub(crate) type Lines = Sets<u32>;

impl<T: Tag> Sets<T> {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let sets = geometry.sets.next_power_of_two() as usize;
        let ways = usize::from(geometry.ways.max(1));
        let mask = sets as u64 - 1;
        Self { ways, mask, bits: mask.count_ones(), tags: vec![T::default(); sets * ways].into_boxed_slice() }
    }

    #[inline(always)]
    fn set(&mut self, key: u64) -> &mut [T] {
        let start = (key & self.mask) as usize * self.ways;
        &mut self.tags[start..start + self.ways]
    }

    /// True if the key is there; it becomes the newest of its set.
    #[inline]
    pub(crate) fn touch(&mut self, key: u64) -> bool {
        let wanted = T::new(key, self.bits);
        let set = self.set(key);
        set[0].is(wanted) || renew(set, wanted)
    }

    /// True if the key is there; it becomes the newest of its set, which it is added to if need be.
    #[inline]
    pub(crate) fn bring(&mut self, key: u64) -> bool {
        let wanted = T::new(key, self.bits);
        let set = self.set(key);
        set[0].is(wanted) || renew_or_push(set, wanted)
    }

    /// True if the key is there.
    #[inline]
    pub(crate) fn contains(&self, key: u64) -> bool {
        let start = (key & self.mask) as usize * self.ways;
        has(&self.tags[start..start + self.ways], T::new(key, self.bits))
    }

    /// Adds a key that is not there as the newest; the key that had to go, and whether it was marked.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64) -> Option<(u64, bool)> {
        let bits = self.bits;
        let old = push(self.set(key), T::new(key, bits));
        (old != T::default()).then(|| (old.key(key & self.mask, bits), old.is_marked()))
    }

    /// Marks the newest key of the set that this key belongs to.
    pub(crate) fn mark_newest(&mut self, key: u64) {
        self.set(key)[0].mark();
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: u64) {
        let wanted = T::new(key, self.bits);
        let set = self.set(key);
        if let Some(way) = find(set, wanted) {
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

/// The place of a tag.
#[inline(always)]
fn find<T: Tag>(set: &[T], wanted: T) -> Option<usize> {
    set.iter().position(|tag| tag.is(wanted))
}

/// Most tags that are looked at and moved one by one.
const FEW: usize = 8;

/// True if a tag is there, which it is most often not.
#[inline]
fn has<T: Tag>(set: &[T], wanted: T) -> bool {
    match set.len() {
        4 => has_of::<T, 4>(set, wanted),
        5 => has_of::<T, 5>(set, wanted),
        6 => has_of::<T, 6>(set, wanted),
        8 => has_of::<T, 8>(set, wanted),
        12 => has_of::<T, 12>(set, wanted),
        15 => has_of::<T, 15>(set, wanted),
        16 => has_of::<T, 16>(set, wanted),
        20 => has_of::<T, 20>(set, wanted),
        _ => find(set, wanted).is_some(),
    }
}

/// Without a branch for each, which takes vectors.
#[inline(always)]
fn has_of<T: Tag, const WAYS: usize>(set: &[T], wanted: T) -> bool {
    set.first_chunk::<WAYS>().is_some_and(|set| set.iter().fold(false, |found, tag| found | tag.is(wanted)))
}

/// Puts a value before the others; the last one, which has no place any more.
#[inline]
fn push<T: Tag>(set: &mut [T], value: T) -> T {
    match set.len() {
        4 => push_of::<T, 4>(set, value),
        5 => push_of::<T, 5>(set, value),
        6 => push_of::<T, 6>(set, value),
        8 => push_of::<T, 8>(set, value),
        12 => push_of::<T, 12>(set, value),
        15 => push_of::<T, 15>(set, value),
        16 => push_of::<T, 16>(set, value),
        20 => push_of::<T, 20>(set, value),
        ..=FEW => set.iter_mut().fold(value, |value, place| std::mem::replace(place, value)),
        _ => push_any(set, value),
    }
}

#[inline(always)]
fn push_of<T: Tag, const WAYS: usize>(set: &mut [T], value: T) -> T {
    set.first_chunk_mut::<WAYS>().map_or(value, |set| push_any(set, value))
}

#[inline(always)]
fn push_any<T: Tag>(set: &mut [T], value: T) -> T {
    let others = set.len() - 1;
    let last = set[others];
    set.copy_within(..others, 1);
    set[0] = value;
    last
}

/// Looks for a tag, and puts it before the others.
#[inline]
fn renew<T: Tag>(set: &mut [T], wanted: T) -> bool {
    if !has(set, wanted) {
        return false;
    }
    let Some(way) = find(set, wanted) else { return false };
    let found = set[way];
    push_any(&mut set[..=way], found);
    true
}

/// Looks for a tag, and puts it before the others even if it was not there; true if it was.
fn renew_or_push<T: Tag>(set: &mut [T], wanted: T) -> bool {
    let known = renew(set, wanted);
    if !known {
        push(set, wanted);
    }
    known
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
