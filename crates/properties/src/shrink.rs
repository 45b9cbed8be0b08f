//! Makes a failing sequence short.

/// Attempts, so that a slow failure does not take for ever.
const ATTEMPTS: usize = 20_000;

/// The shortest bytes found for which `fails` still holds; the first byte, the CPU, stays.
pub fn shrink(bytes: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut best = bytes.to_vec();
    let mut attempts = 0;
    loop {
        let before = best.clone();
        let mut chunk = best.len() / 2;
        while chunk > 0 {
            let mut at = 1;
            while at < best.len() && attempts < ATTEMPTS {
                attempts += 1;
                let mut candidate = best.clone();
                candidate.drain(at..(at + chunk).min(best.len()));
                if fails(&candidate) {
                    best = candidate;
                } else {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        if best == before || attempts >= ATTEMPTS {
            return best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn only_what_fails_stays() {
        let bytes: Vec<u8> = (0..200).collect();
        assert_eq!(shrink(&bytes, |bytes| bytes.contains(&77) && bytes.contains(&150)), [0, 77, 150]);
    }
}
