//! Times as alert senders write them: to the nanosecond, with any offset or none, or a bare date (spec:
//! alerts#date-times).

use bailiwick_domain::Ts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt, time::Duration};

/// Nanoseconds since the Unix epoch, UTC. Wide enough for every year that RFC 3339 can write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub i128);

const SECOND: i128 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;

impl Nanos {
    /// 0001-01-01T00:00:00Z, which senders write for a missing time.
    pub const ZERO_TIME: Nanos = Nanos(-62_135_596_800 * SECOND);
    /// The Unix epoch.
    pub const EPOCH: Nanos = Nanos(0);
    const FIRST: Nanos = Nanos(-62_167_219_200 * SECOND);
    const LAST: Nanos = Nanos(253_402_300_800 * SECOND - 1);

    /// From whole seconds since the epoch and nanoseconds after them.
    pub const fn from_parts(seconds: i64, nanos: u32) -> Nanos {
        Nanos(seconds as i128 * SECOND + nanos as i128)
    }

    /// Whole seconds since the epoch (rounded down) and the nanoseconds after them; for storage in two columns.
    pub fn to_parts(self) -> (i64, u32) {
        (i64::try_from(self.0.div_euclid(SECOND)).unwrap_or(0), self.0.rem_euclid(SECOND) as u32)
    }

    /// Whole seconds since the epoch, rounded down.
    pub fn secs(self) -> i64 {
        self.to_parts().0
    }

    /// From the microseconds of the clock and the database.
    pub fn from_ts(ts: Ts) -> Nanos {
        Nanos(i128::from(ts.0) * 1000)
    }

    /// To whole microseconds, rounded down.
    pub fn to_ts(self) -> Ts {
        Ts(i64::try_from(self.0.div_euclid(1000)).unwrap_or(i64::MAX))
    }

    /// Whether this is the zero time, which stands for a missing one.
    pub fn is_zero_time(self) -> bool {
        self == Nanos::ZERO_TIME
    }

    /// This time plus a duration, at most the end of the year 9999.
    #[must_use]
    pub fn plus(self, d: Duration) -> Nanos {
        Nanos(self.0 + nanos_of(d)).min(Nanos::LAST)
    }

    /// This time minus a duration, at least the start of the year 0.
    #[must_use]
    pub fn minus(self, d: Duration) -> Nanos {
        Nanos(self.0 - nanos_of(d)).max(Nanos::FIRST)
    }

    /// Is this more than `d` after `earlier`?
    pub fn exceeds(self, earlier: Nanos, d: Duration) -> bool {
        self.0 - earlier.0 > nanos_of(d)
    }

    /// Reads the date-times that an Alertmanager reads, and some more offsets (spec: alerts#date-times): a date, which
    /// is its midnight, or a date with a time of day, with or without seconds and a zone. Without a zone it is UTC.
    /// Digits of the fraction after the ninth are cut. `None` for everything else.
    pub fn parse(text: &str) -> Option<Nanos> {
        let b = text.as_bytes();
        let (year, month, day) = (number(b, 0, 4)?, number(b, 5, 2)?, number(b, 8, 2)?);
        if b[4] != b'-'
            || b[7] != b'-'
            || !(1..=12).contains(&month)
            || day < 1
            || day > month_days(year, month)
        {
            return None;
        }
        let midnight = days_from_civil(year, month, day) * DAY_SECONDS;
        let (seconds, nanos) = match b.get(10..)? {
            [] => (0, 0),
            [b'T' | b't', time @ ..] => time_of_day(time, true)?,
            [b' ', time @ ..] => time_of_day(time.trim_ascii_start(), false)?,
            _ => return None,
        };
        Some(Nanos::from_parts(midnight + seconds, nanos).clamp(Nanos::FIRST, Nanos::LAST))
    }

    /// Appends RFC 3339 in UTC with exactly three decimals and `Z`; the rest is cut (spec: alerts#answers).
    pub fn write_millis(self, out: &mut String) {
        let nanos = self.write_seconds(out);
        out.push('.');
        digits(out, i64::from(nanos / 1_000_000), 3);
        out.push('Z');
    }

    /// RFC 3339 in UTC with exactly three decimals.
    pub fn millis(self) -> String {
        let mut out = String::with_capacity(24);
        self.write_millis(&mut out);
        out
    }

    /// RFC 3339 in UTC with as many decimals as needed, none when there is no fraction: for notifications.
    pub fn exact(self) -> String {
        let mut out = String::with_capacity(30);
        self.write_exact(&mut out);
        out
    }

    /// Appends RFC 3339 in UTC with as many decimals as needed.
    pub fn write_exact(self, out: &mut String) {
        let nanos = self.write_seconds(out);
        if nanos > 0 {
            out.push('.');
            digits(out, i64::from(nanos), 9);
            out.truncate(out.trim_end_matches('0').len());
        }
        out.push('Z');
    }

    /// Appends the time up to the second; returns the nanoseconds that are left.
    fn write_seconds(self, out: &mut String) -> u32 {
        let (seconds, nanos) = self.clamp(Nanos::FIRST, Nanos::LAST).to_parts();
        let (year, month, day) = civil_from_days(seconds.div_euclid(DAY_SECONDS));
        let second = seconds.rem_euclid(DAY_SECONDS);
        digits(out, year, 4);
        for (mark, value) in
            [('-', month), ('-', day), ('T', second / 3600), (':', second / 60 % 60), (':', second % 60)]
        {
            out.push(mark);
            digits(out, value, 2);
        }
        nanos
    }
}

fn nanos_of(d: Duration) -> i128 {
    i128::try_from(d.as_nanos()).unwrap_or(i128::MAX / 4)
}

fn digits(out: &mut String, value: i64, width: u32) {
    for power in (0..width).rev() {
        let digit = value / 10_i64.pow(power) % 10;
        out.push(char::from(b'0' + digit as u8));
    }
}

/// The number made of exactly `n` digits at `at`.
fn number(b: &[u8], at: usize, n: usize) -> Option<i64> {
    b.get(at..at + n)?
        .iter()
        .try_fold(0, |acc, d| if d.is_ascii_digit() { Some(acc * 10 + i64::from(d - b'0')) } else { None })
}

/// The time after a `T` or after a blank: seconds since midnight UTC and nanoseconds. The hour may have one digit.
/// After a blank the seconds are required and no zone may follow.
fn time_of_day(b: &[u8], after_t: bool) -> Option<(i64, u32)> {
    let digits = if b.get(1) == Some(&b':') { 1 } else { 2 };
    let (hour, rest) = (number(b, 0, digits)?, b.get(digits..)?);
    let (minute, rest) = (after_colon(rest)?, &rest[3..]);
    if hour > 23 || minute > 59 {
        return None;
    }
    let seconds = hour * 3600 + minute * 60;
    if after_t && matches!(rest, b"" | b"Z" | b"z") {
        return Some((seconds, 0));
    }
    let (second, rest) = (after_colon(rest)?, &rest[3..]);
    let (nanos, zone) = fraction(rest)?;
    let east = match zone {
        b"" => 0,
        zone if after_t => offset(zone)?,
        _ => return None,
    };
    (second <= 59).then_some((seconds + second - east, nanos))
}

/// The number of a colon and two digits.
fn after_colon(b: &[u8]) -> Option<i64> {
    b.strip_prefix(b":").and_then(|digits| number(digits, 0, 2))
}

/// An optional fraction in nanoseconds, and the rest.
fn fraction(b: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.' | b',', rest @ ..] = b else { return Some((0, b)) };
    let len = rest.iter().take_while(|d| d.is_ascii_digit()).count();
    if len == 0 {
        return None;
    }
    let nine = rest[..len].iter().chain(std::iter::repeat(&b'0')).take(9);
    Some((nine.fold(0, |acc, d| acc * 10 + u32::from(d - b'0')), &rest[len..]))
}

/// Seconds east of UTC; the colon may be missing. Up to 24 hours and 60 minutes, as in other routers.
fn offset(zone: &[u8]) -> Option<i64> {
    if matches!(zone, b"Z" | b"z") {
        return Some(0);
    }
    let sign = match zone.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let minutes_at = match zone.len() {
        5 => 3,
        6 if zone[3] == b':' => 4,
        _ => return None,
    };
    let (hours, minutes) = (number(zone, 1, 2)?, number(zone, minutes_at, 2)?);
    (hours <= 24 && minutes <= 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn month_days(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the epoch of a date in the proleptic Gregorian calendar. Years are counted from March, so that the
/// leap day is the last one of its year, in cycles of 400 years (146 097 days).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * 146_097 + day_of_cycle - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let cycle = shifted.div_euclid(146_097);
    let day_of_cycle = shifted.rem_euclid(146_097);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.exact())
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.exact())
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.exact())
    }
}

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Nanos, D::Error> {
        let text = Cow::<'de, str>::deserialize(d)?;
        Nanos::parse(&text).ok_or_else(|| serde::de::Error::custom("not a date-time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn millis(text: &str) -> Option<String> {
        Nanos::parse(text).map(Nanos::millis)
    }

    #[test]
    fn reads_what_senders_write() {
        let t = Nanos::parse("2026-11-20T20:00:00.123456789Z").unwrap();
        assert_eq!(t.to_parts(), (1_795_204_800, 123_456_789));
        assert_eq!(t.millis(), "2026-11-20T20:00:00.123Z");
        assert_eq!(t.exact(), "2026-11-20T20:00:00.123456789Z");
        assert_eq!(millis("2026-11-20").as_deref(), Some("2026-11-20T00:00:00.000Z"));
        assert_eq!(millis("2026-11-20T00:30:00+02:00").as_deref(), Some("2026-11-19T22:30:00.000Z"));
        assert_eq!(millis("2026-11-20T00:30:00.5-0130").as_deref(), Some("2026-11-20T02:00:00.500Z"));
        assert_eq!(millis("2024-02-29T23:59:59.9999999999Z").as_deref(), Some("2024-02-29T23:59:59.999Z"));
        assert_eq!(millis("9999-12-31T23:59:59Z").as_deref(), Some("9999-12-31T23:59:59.000Z"));
        assert!(Nanos::parse("0001-01-01T00:00:00Z").unwrap().is_zero_time());
        assert!(Nanos::parse("0001-01-01T00:00:00.000Z").unwrap().is_zero_time());
        assert_eq!(Nanos::parse("2026-11-20T22:19:28Z").unwrap().exact(), "2026-11-20T22:19:28Z");
        assert_eq!(Nanos::parse("2026-11-20T22:19:28.5Z").unwrap().exact(), "2026-11-20T22:19:28.5Z");
        assert_eq!(Nanos::parse("1969-12-31T23:59:59.25Z").unwrap().millis(), "1969-12-31T23:59:59.250Z");
    }

    /// Every layout of the strfmt library that Alertmanager 0.34 reads times with, as Go's parser takes it.
    #[test]
    fn reads_what_an_alertmanager_reads() {
        for (text, expected) in [
            ("2026-11-28T09:00:00", "2026-11-28T09:00:00Z"),
            ("2026-11-28T09:00:00.123456", "2026-11-28T09:00:00.123456Z"),
            ("2026-11-28T09:00:00,5", "2026-11-28T09:00:00.5Z"),
            ("2026-11-28T09:00:00,123Z", "2026-11-28T09:00:00.123Z"),
            ("2026-11-28T9:00:00Z", "2026-11-28T09:00:00Z"),
            ("2026-11-28T9:00:00", "2026-11-28T09:00:00Z"),
            ("2026-11-28T09:00Z", "2026-11-28T09:00:00Z"),
            ("2026-11-28T09:00", "2026-11-28T09:00:00Z"),
            ("2026-11-28T9:00", "2026-11-28T09:00:00Z"),
            ("2026-11-28 09:00:00", "2026-11-28T09:00:00Z"),
            ("2026-11-28 09:00:00.5", "2026-11-28T09:00:00.5Z"),
            ("2026-11-28 9:00:00", "2026-11-28T09:00:00Z"),
            ("2026-11-28  09:00:00", "2026-11-28T09:00:00Z"),
            ("2026-11-28", "2026-11-28T00:00:00Z"),
            ("2026-11-28T09:00:00.123+02:00", "2026-11-28T07:00:00.123Z"),
            ("2026-11-28T09:00:00+24:00", "2026-11-27T09:00:00Z"),
            ("2026-11-28T09:00:00+02:60", "2026-11-28T06:00:00Z"),
            ("2026-11-28T09:00:00.1234567891234Z", "2026-11-28T09:00:00.123456789Z"),
            // Beyond it.
            ("2026-11-28t09:00:00z", "2026-11-28T09:00:00Z"),
            ("2026-11-28T09:00:00+0200", "2026-11-28T07:00:00Z"),
        ] {
            assert_eq!(Nanos::parse(text).map(Nanos::exact).as_deref(), Some(expected), "{text}");
        }
        assert!(Nanos::parse("0001-01-01T00:00:00").unwrap().is_zero_time());
    }

    #[test]
    fn refuses_what_is_no_time() {
        for bad in [
            "yesterday",
            "",
            "2026-11",
            "2026-13-01",
            "2026-02-29",
            "2026-00-10",
            "2026-01-00",
            "2026-01-01T",
            "2026-01-01T10",
            "2026-01-01T10:00+01:00",
            "2026-01-01T10:00.5Z",
            "2026-01-01T10:0:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T010:00:00Z",
            "2026-01-01T:00:00Z",
            "2026-01-01T10:00:60Z",
            "2026-01-01T10:00:00.Z",
            "2026-01-01T10:00:00+2:00",
            "2026-01-01T10:00:00+25:00",
            "2026-01-01T10:00:00+01:61",
            "2026-01-01 10:00:00Z",
            "2026-01-01 10:00",
            "2026-01-01  10:00:00Z",
            "2026-01-01T10:00:00 +0100",
            "2026-01-01T10:00:00Zx",
            "+026-01-01",
            "2026-01-01é",
            "１026-01-01",
        ] {
            assert_eq!(Nanos::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn written_times_read_back(secs in -62_167_219_200_i64..253_402_300_800, nanos in 0u32..1_000_000_000) {
            let t = Nanos::from_parts(secs, nanos);
            prop_assert_eq!(Nanos::parse(&t.exact()), Some(t));
            prop_assert_eq!(Nanos::parse(&t.millis()), Some(Nanos(t.0 - t.0.rem_euclid(1_000_000))));
            prop_assert_eq!(serde_json::from_str::<Nanos>(&serde_json::to_string(&t).unwrap()).unwrap(), t);
        }

        #[test]
        fn agrees_with_the_calendar_of_the_domain(micros in -62_000_000_000_000_000_i64..253_000_000_000_000_000) {
            prop_assert_eq!(Nanos::from_ts(Ts(micros)).millis(), Ts(micros).rfc3339(3));
            prop_assert_eq!(Nanos::from_ts(Ts(micros)).to_ts(), Ts(micros));
        }

        #[test]
        fn never_panics(text in "\\PC*", zone in "[-+Zz:0-9.]{0,12}") {
            let _ = Nanos::parse(&text);
            let _ = Nanos::parse(&format!("2026-01-01T10:00:00{zone}"));
            let _ = Nanos::parse(&format!("2026-01-01{zone}"));
        }
    }
}
