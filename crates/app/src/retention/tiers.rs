//! Which records of a system stay: all of the last 7 days; of older ones the newest of each day, from one month on of
//! each ISO week, from three months on of each calendar month, from one year on of each quarter (spec:
//! inventory#retention). UTC.

use bailiwick_domain::{Error, Result, Ts};
use jiff::{Span, ToSpan, tz::TimeZone};
use std::collections::HashMap;

const DAY: i64 = 24 * 3600;
/// From 1970-01-01, a Thursday, back to the Monday of its week.
const SINCE_MONDAY: i64 = 3;

/// The ages at which fewer records stay, as moments: records created before them are that old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiers([Ts; 4]);

/// A stretch of time of which one record stays: which tier, and its number in there.
type Stretch = (usize, i64);

impl Tiers {
    /// The tiers as of that moment.
    pub(super) fn at(now: Ts) -> Result<Tiers> {
        let zoned = now.to_jiff().to_zoned(TimeZone::UTC);
        let ago = |span: Span| -> Result<Ts> {
            Ok(Ts::from(zoned.checked_sub(span).map_err(Error::internal)?.timestamp()))
        };
        Ok(Tiers([ago(7.days())?, ago(1.month())?, ago(3.months())?, ago(1.year())?]))
    }

    /// Where records have changed their tier since an earlier moment: from, and before.
    pub(super) fn passed_since(self, earlier: Tiers) -> impl Iterator<Item = (Ts, Ts)> {
        earlier.0.into_iter().zip(self.0)
    }

    /// None: too young for any.
    fn stretch(self, created_at: Ts) -> Option<Stretch> {
        let tier = self.0.iter().take_while(|border| created_at < **border).count();
        let day = created_at.secs().div_euclid(DAY);
        let month = || {
            let date = created_at.to_jiff().to_zoned(TimeZone::UTC).date();
            i64::from(date.year()) * 12 + i64::from(date.month()) - 1
        };
        let number = match tier {
            0 => return None,
            1 => day,
            2 => (day + SINCE_MONDAY).div_euclid(7),
            3 => month(),
            _ => month().div_euclid(3),
        };
        Some((tier, number))
    }
}

/// Walks through the records of one system, the oldest first.
#[derive(Debug)]
pub(super) struct Thinning {
    tiers: Tiers,
    is_first: bool,
    newest: HashMap<Stretch, (Ts, i64)>,
}

impl Thinning {
    pub(super) fn new(tiers: Tiers) -> Thinning {
        Thinning { tiers, is_first: true, newest: HashMap::new() }
    }

    /// Whether the record, and so all behind it, are too young.
    pub(super) fn is_over(&self, created_at: Ts) -> bool {
        self.tiers.stretch(created_at).is_none()
    }

    /// The next record; returns the one that it replaces.
    pub(super) fn next(&mut self, id: i64, created_at: Ts) -> Option<i64> {
        // The oldest record stays and counts for no period.
        if std::mem::take(&mut self.is_first) {
            return None;
        }
        let this = (created_at, id);
        let newest = self.newest.entry(self.tiers.stretch(created_at)?).or_insert(this);
        if *newest == this {
            return None;
        }
        // Processes with differing clocks may give ids in another order than that of time.
        let older = this.min(*newest);
        *newest = this.max(*newest);
        Some(older.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Ts {
        text.parse().unwrap()
    }

    /// The records that stay, of records created at these times.
    fn remaining<'a>(now: &str, times: &[&'a str]) -> Vec<&'a str> {
        let mut thinning = Thinning::new(Tiers::at(at(now)).unwrap());
        let gone: Vec<i64> =
            times.iter().zip(0..).filter_map(|(time, id)| thinning.next(id, at(time))).collect();
        times.iter().zip(0..).filter(|(_, id)| !gone.contains(id)).map(|(time, _)| *time).collect()
    }

    const OLDEST: &str = "2020-01-01T00:00:00Z";
    const NOW: &str = "2026-03-31T12:00:00Z";

    #[test]
    fn everything_of_seven_days_stays() {
        let times = [OLDEST, "2026-03-24T12:00:00Z", "2026-03-24T12:00:01Z", "2026-03-31T11:59:59Z"];
        assert_eq!(remaining(NOW, &times), times);
    }

    #[test]
    fn then_the_newest_of_each_day() {
        let times = [OLDEST, "2026-03-23T00:00:00Z", "2026-03-23T23:59:59.999999Z", "2026-03-24T11:59:59Z"];
        assert_eq!(remaining(NOW, &times), [times[0], times[2], times[3]]);
        // The last day of February is one month ago.
        let times = [OLDEST, "2026-02-28T12:00:00Z", "2026-02-28T13:00:00Z", "2026-03-01T00:00:00Z"];
        assert_eq!(remaining(NOW, &times), [times[0], times[2], times[3]]);
    }

    #[test]
    fn then_the_newest_of_each_week_from_monday() {
        // 2026-02-16 is a Monday.
        let times = [OLDEST, "2026-02-15T12:00:00Z", "2026-02-16T00:00:00Z", "2026-02-22T23:00:00Z"];
        assert_eq!(remaining(NOW, &times), [times[0], times[1], times[3]]);
        // The week of a new year has no border in it; 2026-01-01 is a Thursday.
        let times = [OLDEST, "2025-12-30T00:00:00Z", "2026-01-02T00:00:00Z"];
        assert_eq!(remaining("2026-03-15T00:00:00Z", &times), [times[0], times[2]]);
    }

    #[test]
    fn then_the_newest_of_each_month_and_quarter() {
        let times = [OLDEST, "2025-10-01T00:00:00Z", "2025-10-31T23:59:59Z", "2025-11-01T00:00:00Z"];
        assert_eq!(remaining(NOW, &times), [times[0], times[2], times[3]]);
        let times = [OLDEST, "2024-07-01T00:00:00Z", "2024-09-30T00:00:00Z", "2024-10-01T00:00:00Z"];
        assert_eq!(remaining(NOW, &times), [times[0], times[2], times[3]]);
    }

    #[test]
    fn the_oldest_stays_beside_the_newest_of_its_stretch() {
        let times = ["2024-07-01T00:00:00Z", "2024-07-02T00:00:00Z", "2024-07-03T00:00:00Z"];
        assert_eq!(remaining(NOW, &times), [times[0], times[2]]);
        assert_eq!(remaining(NOW, &times[..1]), times[..1]);
    }

    #[test]
    fn doing_it_again_or_later_never_takes_what_stands_for_a_longer_time() {
        // Hourly runs over two years keep the same records as one run at the end.
        let start = at("2024-01-01T06:00:00Z");
        let step = std::time::Duration::from_secs(12 * 3600);
        let (mut now, mut stored, mut all, mut id) = (start, Vec::new(), Vec::new(), 0);
        for _ in 0..1460 {
            stored.push((id, now));
            all.push((id, now));
            id += 1;
            now = now.plus(step);
            let mut thinning = Thinning::new(Tiers::at(now).unwrap());
            let gone: Vec<i64> = stored.iter().filter_map(|(id, at)| thinning.next(*id, *at)).collect();
            stored.retain(|record| !gone.contains(&record.0));
        }
        let tiers = Tiers::at(now).unwrap();
        let stretches: std::collections::BTreeSet<Stretch> =
            all.iter().filter_map(|record| tiers.stretch(record.1)).collect();
        let mut count = HashMap::<Stretch, u32>::new();
        for record in &stored[1..] {
            if let Some(stretch) = tiers.stretch(record.1) {
                *count.entry(stretch).or_default() += 1;
            }
        }
        assert!(count.values().all(|n| *n == 1), "{count:?}");
        // No stretch of the present has lost its only record, but those cut by the border of a tier.
        let lost = stretches.iter().filter(|stretch| !count.contains_key(stretch)).count();
        assert!(lost <= 3, "{lost} of {}", stretches.len());
        assert_eq!(stored.last(), all.last());
        assert_eq!(stored.first(), all.first());
    }

    #[test]
    fn what_has_changed_its_tier() {
        let passed: Vec<(Ts, Ts)> = Tiers::at(at("2026-03-31T13:00:00Z"))
            .unwrap()
            .passed_since(Tiers::at(at(NOW)).unwrap())
            .collect();
        let expected = [
            ("2026-03-24T12:00:00Z", "2026-03-24T13:00:00Z"),
            ("2026-02-28T12:00:00Z", "2026-02-28T13:00:00Z"),
            ("2025-12-31T12:00:00Z", "2025-12-31T13:00:00Z"),
            ("2025-03-31T12:00:00Z", "2025-03-31T13:00:00Z"),
        ];
        assert_eq!(passed, expected.map(|(from, before)| (at(from), at(before))));
    }
}
