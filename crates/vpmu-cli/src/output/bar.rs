//! Bars of a fraction, in eighths of a character.

const EIGHTHS: [&str; 7] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar of at most `width` characters for a fraction of 0 to 1. What is more than nothing shows.
pub(crate) fn bar(fraction: f64, width: usize) -> String {
    if fraction.is_nan() || fraction <= 0.0 {
        return String::new();
    }
    let eighths = ((fraction.min(1.0) * width as f64 * 8.0).round() as usize).max(1);
    let mut text = "█".repeat(eighths / 8);
    if let Some(rest) = (eighths % 8).checked_sub(1) {
        text.push_str(EIGHTHS[rest]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_empty_and_more_than_nothing_is_not() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(-1.0, 10), "");
        assert_eq!(bar(f64::NAN, 10), "");
        assert_eq!(bar(1e-9, 10), "▏");
    }

    #[test]
    fn all_is_full_and_more_than_all_is_not_wider() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(7.0, 4), "████");
    }

    #[test]
    fn eighths_round_to_the_nearest() {
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.5, 1), "▌");
        assert_eq!(bar(15.4 / 16.0, 2), "█▉");
        assert_eq!(bar(15.9 / 16.0, 2), "██");
    }
}
