//! One point in time, in whole microseconds, as stored and as written on the wire (spec: conventions#ids-and-times).

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr, time::Duration};

/// Microseconds since the Unix epoch, UTC. Both storage engines keep exactly this precision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ts(pub i64);

impl Ts {
    /// The Unix epoch.
    pub const EPOCH: Ts = Ts(0);

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
    type Err = jiff::Error;
    fn from_str(s: &str) -> Result<Ts, jiff::Error> {
        s.parse::<jiff::Timestamp>().map(Ts::from)
    }
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
    }
}
