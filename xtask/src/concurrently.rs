//! Work on many items by several threads.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Threads that there are cores for.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// What `each` makes of the items, in their order; so many at a time.
pub(crate) fn concurrently<T: Send, R: Send>(
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    at_a_time: usize,
    each: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let left = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, item)) = next else { return };
            let result = each(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let results = concurrently(0..50_u64, 4, |n| {
            thread::sleep(Duration::from_micros(50 - n));
            n * n
        });
        assert_eq!(results, (0..50).map(|n| n * n).collect::<Vec<_>>());
    }
}
