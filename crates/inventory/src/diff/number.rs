//! Decimal numbers of any size: equal when mathematically equal, and how far one is from another.

use std::{cmp::Ordering, fmt};

/// A number in normal form: `0.DIGITS × 10^point`, digits without zeros at either end; zero has none.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Decimal {
    is_negative: bool,
    digits: String,
    point: i64,
}

/// Digits that an `i128` holds, with two more to spare for percents.
const EXACT_DIGITS: usize = 35;

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        write!(f, "{sign}0.{}e{}", self.digits, self.point)
    }
}

impl Decimal {
    /// Parses a number in JSON's form, also with a plus sign or leading zeros. None for any other text and for an
    /// absurd exponent.
    pub(super) fn parse(text: &str) -> Option<Decimal> {
        let (is_negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], exponent(&unsigned[at + 1..])?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let whole = whole.trim_start_matches('0');
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        digits.truncate(digits.trim_end_matches('0').len());
        let zeros = digits.len() - digits.trim_start_matches('0').len();
        digits.drain(..zeros);
        if digits.is_empty() {
            return Some(Decimal { is_negative: false, digits, point: 0 });
        }
        let shift = i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()?;
        Some(Decimal { is_negative, digits, point: exponent.checked_add(shift)? })
    }

    const fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Power of ten of the last digit.
    fn scale(&self) -> i64 {
        // Both come from lengths of texts and checked additions.
        self.point.saturating_sub(i64::try_from(self.digits.len()).unwrap_or(i64::MAX))
    }

    /// As a whole number of units of `10^scale`; none when that does not fit.
    fn units(&self, scale: i64) -> Option<i128> {
        let zeros = usize::try_from(self.scale().checked_sub(scale)?).ok()?;
        if self.is_zero() {
            return Some(0);
        }
        if zeros.checked_add(self.digits.len())? > EXACT_DIGITS {
            return None;
        }
        let units = self.digits.parse::<i128>().ok()? * 10_i128.pow(u32::try_from(zeros).ok()?);
        Some(if self.is_negative { -units } else { units })
    }

    /// About the number divided by `10^scale`.
    fn approximate(&self, scale: i64) -> f64 {
        let leading = &self.digits[..self.digits.len().min(17)];
        let fraction = format!("0.{leading}0").parse().unwrap_or(0.0);
        let power = self.point.saturating_sub(scale).clamp(-300, 300);
        let size: f64 = fraction * 10_f64.powi(i32::try_from(power).unwrap_or(0));
        if self.is_negative { -size } else { size }
    }
}

fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if is_digits { text.parse().ok() } else { None }
}

/// Whether two number literals mean the same number.
pub(super) fn are_equal(a: &str, b: &str) -> bool {
    a == b || matches!((Decimal::parse(a), Decimal::parse(b)), (Some(a), Some(b)) if a == b)
}

/// Compares the change between two numbers with a percentage of the first one, ignoring signs.
pub(super) fn compare_change(previous: &Decimal, current: &Decimal, percent: u32) -> Ordering {
    if previous == current {
        return if percent == 0 || previous.is_zero() { Ordering::Equal } else { Ordering::Less };
    }
    if previous.is_zero() {
        return Ordering::Greater;
    }
    let scale = if current.is_zero() { previous.scale() } else { previous.scale().min(current.scale()) };
    if let (Some(before), Some(after)) = (previous.units(scale), current.units(scale)) {
        return ((after - before).abs() * 100).cmp(&(before.abs() * i128::from(percent)));
    }
    // Scaled by the first one, which becomes a number near 1.
    let (before, after) = (previous.approximate(previous.point), current.approximate(previous.point));
    ((after - before).abs() * 100.0).total_cmp(&(before.abs() * f64::from(percent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_many_literals() {
        for (a, b) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("100", "1E+2"),
            ("0.001", "1e-3"),
            ("0", "-0"),
            ("0", "0e999"),
            ("0.0", "0"),
            ("12345678901234567890123", "1.2345678901234567890123e22"),
            ("1e99999999999999999999999", "1e99999999999999999999999"),
        ] {
            assert!(are_equal(a, b) && are_equal(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("9007199254740993", "9007199254740992"),
            ("1", "-1"),
            ("0.1", "0.10000000000000000001"),
            ("1e999", "1e1000"),
            ("1e99999999999999999999999", "1e99999999999999999999998"),
        ] {
            assert!(!are_equal(a, b), "{a} {b}");
        }
    }

    #[test]
    fn what_is_a_number() {
        for text in ["4", "+4", "-4", "004", "4.50", "4e1", "4E-1"] {
            assert!(Decimal::parse(text).is_some(), "{text}");
        }
        for text in
            ["", " 4", "4 ", "1.4.2", "0x10", "inf", "NaN", "-", "1e", "1e+", ".", ".5", "5.", "e5", "1_0"]
        {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn changes() {
        use Ordering::{Equal, Greater, Less};
        for (previous, current, percent, expected) in [
            ("16000", "16300", 5, Less),
            ("16000", "20000", 5, Greater),
            ("100", "105", 5, Equal),
            ("100", "95", 5, Equal),
            ("100", "94.999999999999", 5, Greater),
            ("0.1", "0.12", 20, Equal),
            ("0.1", "0.1200000000000000000000001", 20, Greater),
            ("0", "0.0001", 20, Greater),
            ("0", "0", 20, Equal),
            ("5", "0", 20, Greater),
            ("5", "-5", 20, Greater),
            ("5", "5.0", 20, Less),
            ("1e400", "1.1e400", 20, Less),
            ("1e400", "1e500", 20, Greater),
            ("1e500", "1e400", 20, Greater),
            ("1", "1e-9999999999", 20, Greater),
            ("123456789012345678901234567890123456789", "123456789012345678901234567890123456780", 5, Less),
        ] {
            let parse = |text| Decimal::parse(text).unwrap();
            let found = compare_change(&parse(previous), &parse(current), percent);
            assert_eq!(found, expected, "{previous} {current}");
        }
    }
}
