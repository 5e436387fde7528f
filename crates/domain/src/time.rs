//! One point in time, in whole microseconds, as stored and as written on the wire (spec: conventions#ids-and-times).

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr, time::Duration};

/// Microseconds since the Unix epoch, UTC. Both storage engines keep exactly this precision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ts(pub i64);

impl Ts {
    /// The Unix epoch.
    pub const EPOCH: Ts = Ts(0);
    /// 0000-01-01T00:00:00Z, the earliest time that RFC 3339 can write.
    const EARLIEST: Ts = Ts::from_secs(-62_167_219_200);

    /// From whole seconds since the epoch.
    pub const fn from_secs(secs: i64) -> Ts {
        Ts(secs.saturating_mul(1_000_000))
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Whole milliseconds since the epoch, rounded down.
    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// This time plus a duration, saturating.
    #[must_use]
    pub fn plus(self, d: Duration) -> Ts {
        Ts(self.0.saturating_add(micros(d)))
    }

    /// This time minus a duration, saturating.
    #[must_use]
    pub fn minus(self, d: Duration) -> Ts {
        Ts(self.0.saturating_sub(micros(d)))
    }

    /// How much later this is than `earlier`; zero when it is not.
    pub fn since(self, earlier: Ts) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// As jiff's timestamp. Times beyond jiff's range become its bounds.
    pub fn to_jiff(self) -> jiff::Timestamp {
        let bound = if self.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        jiff::Timestamp::from_microsecond(self.0).unwrap_or(bound)
    }

    /// RFC 3339 with `digits` fraction digits (0, 3 or 6) and `Z`; the rest is cut, not rounded.
    pub fn rfc3339(self, digits: usize) -> String {
        let z = self.to_jiff().to_zoned(jiff::tz::TimeZone::UTC);
        let head = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            z.year(),
            z.month(),
            z.day(),
            z.hour(),
            z.minute(),
            z.second()
        );
        let fraction = format!("{:06}", self.0.rem_euclid(1_000_000));
        match digits {
            0 => format!("{head}Z"),
            n => format!("{head}.{}Z", &fraction[..n.min(6)]),
        }
    }
}

fn micros(d: Duration) -> i64 {
    i64::try_from(d.as_micros()).unwrap_or(i64::MAX)
}

impl From<jiff::Timestamp> for Ts {
    fn from(t: jiff::Timestamp) -> Ts {
        Ts(t.as_microsecond())
    }
}

impl fmt::Display for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339(6))
    }
}

impl fmt::Debug for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Ts {
    type Err = &'static str;

    /// Reads RFC 3339.
    fn from_str(text: &str) -> Result<Ts, &'static str> {
        let time = text.parse::<jiff::Timestamp>().ok().filter(|_| is_rfc3339(text)).map(Ts::from);
        time.filter(|time| *time >= Ts::EARLIEST).ok_or("not a time in RFC 3339")
    }
}

/// Whether a time that jiff reads has the form of RFC 3339. jiff also reads years of six digits, a blank in place of
/// the `T`, times without seconds, other offsets and names of zones.
fn is_rfc3339(text: &str) -> bool {
    let has_form = |text: &str, form: &str| {
        let fits = |(byte, wanted): (u8, u8)| match wanted {
            b'0' => byte.is_ascii_digit(),
            _ => byte.eq_ignore_ascii_case(&wanted),
        };
        text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
    };
    let Some((time, rest)) = text.split_at_checked(19) else { return false };
    let fraction = rest.strip_prefix('.');
    let zone = fraction.map_or(rest, |digits| digits.trim_start_matches(|c: char| c.is_ascii_digit()));
    has_form(time, "0000-00-00T00:00:00")
        && (has_form(zone, "Z") || has_form(zone, "+00:00") || has_form(zone, "-00:00"))
        && zone.get(1..3).is_none_or(|hour| hour < "24")
}

impl Serialize for Ts {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ts {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Ts, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_microseconds() {
        let t = Ts(1_772_355_600_123_456);
        assert_eq!(t.to_string(), "2026-03-01T09:00:00.123456Z");
        assert_eq!(t.rfc3339(3), "2026-03-01T09:00:00.123Z");
        assert_eq!(t.rfc3339(0), "2026-03-01T09:00:00Z");
        assert_eq!("2026-03-01T10:00:00.123456+01:00".parse::<Ts>().unwrap(), t);
        assert_eq!("2026-03-01t09:00:00.123456789z".parse::<Ts>().unwrap(), t);
        assert_eq!("0000-01-01T00:00:00Z".parse::<Ts>().unwrap().to_string(), "0000-01-01T00:00:00.000000Z");
    }

    #[test]
    fn reads_nothing_but_rfc3339() {
        for text in [
            "-004000-01-01T00:00:00Z",
            "+002026-03-04T10:00:00Z",
            "0000-01-01T00:00:00+01:00",
            "2026-03-04",
            "2026-03-04 10:00:00Z",
            "2026-03-04T10:00Z",
            "2026-03-04T10:00:00",
            "2026-03-04T10:00:00,5Z",
            "2026-03-04T10:00:00.Z",
            "2026-03-04T10:00:00+01",
            "2026-03-04T10:00:00+0100",
            "2026-03-04T10:00:00+01:00:00",
            "2026-03-04T10:00:00+24:00",
            "2026-03-04T10:00:00Z[UTC]",
            "2026-03-04T25:00:00Z",
            "20260304T100000Z",
            "2026-03-04T10:00:0é",
            "",
        ] {
            assert!(text.parse::<Ts>().is_err(), "{text}");
        }
    }
}
