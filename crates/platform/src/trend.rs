//! Numbers over time: the dates of a trend and the value of each (spec: conventions#trends, organizations#stats). All
//! trends use this module; the store supplies the changes of each day.

use bailiwick_domain::{Error, Keywords, Result, Ts};
use jiff::{
    ToSpan,
    civil::{Date, date},
    tz::TimeZone,
};
use serde::{Deserialize, Serialize};

/// The words of `period`: days to look back.
pub const PERIODS: Keywords<u16> = Keywords::of(&[("7", 7), ("30", 30), ("180", 180), ("365", 365)]);

/// A number over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trend {
    /// The number of days before now.
    pub period: u16,
    /// UTC dates with the number at their end; the last one is today.
    pub points: Vec<(Date, u64)>,
}

/// The dates of a trend, before their values are known.
#[derive(Clone, Debug)]
pub struct Window {
    period: u16,
    dates: Vec<Date>,
    /// The day at whose end each value is taken.
    ends: Vec<Date>,
}

impl Window {
    /// A window that looks back from now. `period` is the parameter as sent; none means 7.
    ///
    /// # Errors
    /// 400 for an unknown period.
    pub fn parse(now: Ts, period: Option<&str>) -> Result<Window> {
        let period = parse_period(period)?;
        let today = now.to_jiff().to_zoned(TimeZone::UTC).date();
        let dates = dates(today, period)?;
        Ok(Window { period, ends: dates.clone(), dates })
    }

    /// A window of whole days, weeks or months of the calendar, the last of which is not over (spec: systems#trend).
    ///
    /// # Errors
    /// 400 for an unknown period.
    pub fn parse_calendar(now: Ts, period: Option<&str>) -> Result<Window> {
        let period = parse_period(period)?;
        let today = now.to_jiff().to_zoned(TimeZone::UTC).date();
        let dates = calendar(today, period)?;
        let mut ends = Vec::with_capacity(dates.len());
        for next in dates.iter().skip(1) {
            ends.push(next.yesterday().map_err(Error::internal)?);
        }
        ends.push(today);
        Ok(Window { period, dates, ends })
    }

    /// A text that distinguishes this window from others, for the key of a cached answer.
    pub fn key(&self) -> String {
        format!("{} {}", self.period, self.dates.last().copied().unwrap_or_default())
    }

    /// The end of the first date: only changes from then on matter.
    ///
    /// # Errors
    /// The date is out of range.
    pub fn since(&self) -> Result<Ts> {
        let first = self.ends.first().copied().unwrap_or_else(|| date(1970, 1, 1));
        let next = first.checked_add(1.day()).and_then(|d| d.to_zoned(TimeZone::UTC));
        Ok(Ts::from(next.map_err(Error::internal)?.timestamp()))
    }

    /// The trend. `changes` are those of each day since 1970-01-01, in order, from [`Window::since`] on; `total` is
    /// the present number.
    ///
    /// # Errors
    /// A number is out of range.
    pub fn fill(&self, changes: &[(i64, i64)], total: u64) -> Result<Trend> {
        Ok(Trend { period: self.period, points: accumulate(&self.dates, &self.ends, changes, total)? })
    }
}

/// The days of a period as sent; none means 7.
///
/// # Errors
/// 400 for an unknown period.
pub fn parse_period(sent: Option<&str>) -> Result<u16> {
    let unknown =
        || Error::bad_request(format!("invalid period parameter (supported: {})", PERIODS.list().join(", ")));
    PERIODS.parse(sent.unwrap_or("7")).ok_or_else(unknown)
}

/// From `period` days ago in steps of a day, a week or a month; today is always the last.
fn dates(today: Date, period: u16) -> Result<Vec<Date>> {
    let first = today.checked_sub(i64::from(period).days()).map_err(Error::internal)?;
    let mut dates = steps(first, period, |next| next < today)?;
    dates.push(today);
    Ok(dates)
}

/// From the first date in steps of a day, a week or a month, as long as `goes_on` holds.
fn steps(first: Date, period: u16, goes_on: impl Fn(Date) -> bool) -> Result<Vec<Date>> {
    let mut dates = Vec::new();
    for step in 0_i64.. {
        let span = match period {
            7 | 30 => step.days(),
            180 => step.weeks(),
            _ => step.months(),
        };
        // Counted from the first date, so that short months do not move the following ones.
        let next = first.checked_add(span).map_err(Error::internal)?;
        if !goes_on(next) {
            break;
        }
        dates.push(next);
    }
    Ok(dates)
}

/// Beginnings of the days, of the weeks from the Monday before, or of the months from the first of one, up to today.
fn calendar(today: Date, period: u16) -> Result<Vec<Date>> {
    let back = |days: i64| today.checked_sub(days.days()).map_err(Error::internal);
    let first = match period {
        7 | 30 => back(i64::from(period) - 1)?,
        180 => {
            let day = back(180)?;
            let since_monday = i64::from(day.weekday().to_monday_zero_offset());
            day.checked_sub(since_monday.days()).map_err(Error::internal)?
        }
        _ => back(i64::from(period))?.first_of_month(),
    };
    steps(first, period, |next| next <= today)
}

/// Goes back from the total by all changes, then forward through them.
fn accumulate(dates: &[Date], ends: &[Date], changes: &[(i64, i64)], total: u64) -> Result<Vec<(Date, u64)>> {
    let total = i64::try_from(total).map_err(Error::internal)?;
    let mut count = total - changes.iter().map(|(_, n)| n).sum::<i64>();
    let mut changes = changes.iter().peekable();
    let mut points = Vec::with_capacity(dates.len());
    for (index, (day, end)) in dates.iter().zip(ends).enumerate() {
        let number = i64::from(date(1970, 1, 1).until(*end).map_err(Error::internal)?.get_days());
        // A change that another replica, slightly ahead, dates to tomorrow belongs to today.
        let is_last = index + 1 == dates.len();
        while let Some((_, n)) = changes.next_if(|(changed_on, _)| is_last || *changed_on <= number) {
            count += n;
        }
        points.push((*day, u64::try_from(count).unwrap_or(0)));
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leap days, ends of months and of years among them.
    // Proves spec: guarantees#organizations 26.
    #[test]
    fn the_promised_number_of_points_ends_today_in_leap_years_too() {
        for today in [
            date(2026, 3, 4),
            date(2024, 2, 29),
            date(2024, 3, 1),
            date(2024, 12, 31),
            date(2025, 1, 31),
            date(2025, 2, 28),
            date(2028, 12, 31),
        ] {
            for (period, points) in [(7, 8), (30, 31), (180, 27), (365, 13)] {
                let dates = dates(today, period).unwrap();
                assert_eq!((dates.len(), dates.last()), (points, Some(&today)), "{today} {period}");
                assert!(dates.is_sorted_by(|a, b| a < b), "{dates:?}");
                assert_eq!(dates[0].until(today).unwrap().get_days(), i32::from(period), "{today}");
            }
        }
    }

    #[test]
    fn months_are_clamped_to_their_end_and_counted_from_the_first() {
        let dates = dates(date(2025, 1, 30), 365).unwrap();
        let shown: Vec<String> = dates.iter().take(4).map(ToString::to_string).collect();
        assert_eq!(shown, ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]);
    }

    #[test]
    fn days_without_changes_repeat_the_number_before_and_deletions_make_it_fall() {
        let dates = [date(1970, 1, 1), date(1970, 1, 8), date(1970, 1, 15), date(1970, 1, 20)];
        let counts = |changes: &[(i64, i64)], total| {
            let points = accumulate(&dates, &dates, changes, total).unwrap();
            points.iter().map(|p| p.1).collect::<Vec<_>>()
        };
        assert_eq!(counts(&[(1, 2), (7, 1), (8, 4), (20, 1)], 10), [2, 5, 9, 10]);
        assert_eq!(counts(&[(1, 2), (8, -3), (20, 1)], 1), [1, 3, 0, 1]);
    }
}
