//! Bars of a fraction, in eighths of a character.

use super::{columns, paint};
use anstyle::Style;

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

/// Fills of the parts of a stacked bar, so that they can be told apart without colour.
const FILLS: [char; 4] = ['█', '▓', '▒', '░'];

/// A bar of exactly `width` characters for parts that add up to 1 at most, each in its style. What is left over
/// stays blank.
pub(crate) fn stacked(fractions: [f64; 4], styles: [Style; 4], width: usize) -> String {
    let mut text = String::new();
    let (mut sum, mut drawn) = (0.0, 0_usize);
    for (index, fraction) in fractions.into_iter().enumerate() {
        sum += if fraction.is_nan() { 0.0 } else { fraction.max(0.0) };
        let end = ((sum.min(1.0) * width as f64).round() as usize).max(drawn);
        let part: String = std::iter::repeat_n(FILLS[index], end - drawn).collect();
        text += &paint(styles[index], part);
        drawn = end;
    }
    text + &" ".repeat(width - drawn)
}

/// What the parts of a stacked bar stand for.
pub(crate) fn legend(names: [&str; 4], styles: [Style; 4]) -> String {
    let parts: Vec<String> =
        (0..4).map(|index| format!("{} {}", paint(styles[index], FILLS[index]), names[index])).collect();
    // In two lines where one is too long.
    let length = names.iter().map(|name| name.chars().count() + 2).sum::<usize>() + 2 * 3 + 2;
    if length <= columns() {
        parts.join("  ")
    } else {
        format!("{}\n  {}", parts[..2].join("  "), parts[2..].join("  "))
    }
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
    fn a_stacked_bar_is_as_wide_as_asked() {
        let plain =
            |fractions| anstream::adapter::strip_str(&stacked(fractions, [Style::new(); 4], 10)).to_string();
        assert_eq!(plain([0.4, 0.2, 0.1, 0.3]), "████▓▓▒░░░");
        assert_eq!(plain([0.0; 4]), "          ");
        assert_eq!(plain([1.0, 0.0, 0.0, 0.0]), "██████████");
        assert_eq!(plain([2.0, 2.0, f64::NAN, -1.0]), "██████████");
        assert_eq!(plain([0.34, 0.33, 0.33, 0.0]).chars().count(), 10);
    }

    #[test]
    fn eighths_round_to_the_nearest() {
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.5, 1), "▌");
        assert_eq!(bar(15.4 / 16.0, 2), "█▉");
        assert_eq!(bar(15.9 / 16.0, 2), "██");
    }
}
