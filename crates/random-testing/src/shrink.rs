//! Shorter cases that still fail, by delta debugging.

/// Attempts, so that a slow failure ends.
const ATTEMPTS: usize = 20_000;

/// The shortest and simplest case found for which `fails` still holds: without parts that it does not need, each of
/// the others replaced by what `simpler` offers. What `simpler` offers has to become ever smaller.
pub fn shrink<T: Clone>(
    case: &[T],
    simpler: impl Fn(&T) -> Vec<T>,
    mut fails: impl FnMut(&[T]) -> bool,
) -> Vec<T> {
    let mut best = case.to_vec();
    let mut left = ATTEMPTS;
    let mut attempt = |candidate: Vec<T>, best: &mut Vec<T>| {
        left = left.saturating_sub(1);
        let better = left > 0 && fails(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let mut progress = false;
        let mut chunk = best.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < best.len() {
                let mut candidate = best.clone();
                candidate.drain(at..(at + chunk).min(best.len()));
                if attempt(candidate, &mut best) {
                    progress = true;
                } else {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        for at in 0..best.len() {
            while simpler(&best[at]).into_iter().any(|part| {
                let mut candidate = best.clone();
                candidate[at] = part;
                attempt(candidate, &mut best)
            }) {
                progress = true;
            }
        }
        if !progress {
            return best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn only_what_fails_stays() {
        let case: Vec<u32> = (0..200).collect();
        let fails = |case: &[u32]| case.contains(&77) && case.iter().any(|&n| n > 100);
        let half = |&n: &u32| if n == 0 { Vec::new() } else { vec![n / 2, n - 1] };
        assert_eq!(shrink(&case, half, fails), [77, 101]);
    }
}
