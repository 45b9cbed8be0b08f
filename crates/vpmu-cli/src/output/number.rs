//! Counts, percentages and times as text.

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A difference with its sign: `+1,234`, `-5`, `0`.
pub(crate) fn signed(difference: i128) -> String {
    let size = u64::try_from(difference.unsigned_abs()).unwrap_or(u64::MAX);
    match difference {
        0 => "0".to_owned(),
        1.. => format!("+{}", grouped(size)),
        _ => format!("-{}", grouped(size)),
    }
}

/// `part` in percent of `whole`; `None` of nothing.
pub(crate) fn percent_of(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 * 100.0 / whole as f64)
}

/// Two decimals and a sign; what rounds to zero has none.
pub(crate) fn signed_decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    if text.chars().all(|c| matches!(c, '+' | '-' | '0' | '.')) {
        text.trim_start_matches(['+', '-']).to_owned()
    } else {
        text
    }
}

/// Nanoseconds in the unit that leaves one to three digits before the point.
pub(crate) fn duration(nanoseconds: u64) -> String {
    // The limits are where one decimal would round up to 1000.0 of the smaller unit.
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..999_950 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        999_950..999_950_000 => format!("{:.1} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.1} s", nanoseconds as f64 / 1e9),
    }
}

/// `1 test`, `2 tests`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{} {thing}s", grouped(count as u64)) }
}

/// A number as people type it: `0x` for hexadecimal, else decimal; `_` may separate digits.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        // `from_str_radix` would accept a sign.
        Some(hex) if hex.starts_with(['+', '-']) => None,
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if digits.starts_with('+') => None,
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(999_999), "999,999");
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn differences_have_a_sign_unless_zero() {
        assert_eq!(signed(0), "0");
        assert_eq!(signed(1_000), "+1,000");
        assert_eq!(signed(-1), "-1");
        assert_eq!(signed(-i128::from(u64::MAX)), "-18,446,744,073,709,551,615");
    }

    #[test]
    fn what_rounds_to_zero_has_no_sign() {
        assert_eq!(signed_decimal(0.004, 2), "0.00");
        assert_eq!(signed_decimal(-0.004, 2), "0.00");
        assert_eq!(signed_decimal(-0.006, 2), "-0.01");
        assert_eq!(signed_decimal(0.006, 2), "+0.01");
        assert_eq!(signed_decimal(12.0, 1), "+12.0");
    }

    #[test]
    fn durations_change_the_unit_before_they_need_four_digits() {
        assert_eq!(duration(0), "0 ns");
        assert_eq!(duration(999), "999 ns");
        assert_eq!(duration(1_000), "1.0 µs");
        assert_eq!(duration(999_949), "999.9 µs");
        assert_eq!(duration(999_950), "1.0 ms");
        assert_eq!(duration(999_949_999), "999.9 ms");
        assert_eq!(duration(999_950_000), "1.0 s");
        assert_eq!(duration(60_000_000_000), "60.0 s");
    }

    #[test]
    fn percent_of_nothing_is_no_number() {
        assert_eq!(percent_of(1, 0), None);
        assert_eq!(percent_of(1, 4), Some(25.0));
    }

    #[test]
    fn numbers_as_people_type_them() {
        assert_eq!(parse("0x38d"), Some(0x38D));
        assert_eq!(parse("0XFFFF_FFFF_FFFF_FFFF"), Some(u64::MAX));
        assert_eq!(parse("909"), Some(909));
        assert_eq!(parse("1_000"), Some(1000));
        for wrong in ["", "0x", "-1", "+1", "0x+1", "38d", "1.5", "0x1_0000_0000_0000_0000"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!(counted(0, "test"), "0 tests");
        assert_eq!(counted(1, "test"), "1 test");
        assert_eq!(counted(1_000, "test"), "1,000 tests");
    }
}
