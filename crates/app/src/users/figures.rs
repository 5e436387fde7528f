//! Totals, trend and the choices of the list's filters (contract 01 §5.4, §5.7).

use crate::{App, roles::RoleChoice};
use bailiwick_domain::{
    Error, Result, Ts, UserId,
    fold::fold,
    org::{Creator, OrgRef},
};
use bailiwick_policy::{Caller, Resource, filter_roles, list_scope};
use bailiwick_store::users::figures::{self, Totals};
use jiff::{
    ToSpan,
    civil::{Date, date},
    tz::TimeZone,
};
use std::collections::HashSet;

/// How many users the caller sees, and how many of them are suspended.
pub async fn totals(app: &App, caller: &Caller) -> Result<Totals> {
    let scope = list_scope(caller, Resource::Users)?;
    Ok(figures::count_by_state(&app.db, &scope).await?)
}

/// A growing number over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trend {
    /// Days looked back.
    pub period: u16,
    /// UTC dates with the number at their end; the last one is today.
    pub points: Vec<(Date, u64)>,
}

/// The users the caller sees by date of creation. `period` as sent; none = 7.
pub async fn trend(app: &App, caller: &Caller, period: Option<&str>) -> Result<Trend> {
    let scope = list_scope(caller, Resource::Users)?;
    let period = parse_period(period)?;
    let today = app.now().to_jiff().to_zoned(TimeZone::UTC).date();
    let dates = dates(today, period)?;
    let first = dates.first().copied().unwrap_or(today);
    let since =
        first.checked_add(1.day()).and_then(|d| d.to_zoned(TimeZone::UTC)).map_err(Error::internal)?;
    let created = figures::created_by_day(&app.db, &scope, Ts::from(since.timestamp())).await?;
    let total = figures::count(&app.db, &scope).await?;
    Ok(Trend { period, points: accumulate(&dates, &created, total)? })
}

fn parse_period(sent: Option<&str>) -> Result<u16> {
    match sent.unwrap_or("7") {
        "7" => Ok(7),
        "30" => Ok(30),
        "180" => Ok(180),
        "365" => Ok(365),
        _ => Err(Error::bad_request("invalid period parameter (supported: 7, 30, 180, 365)")),
    }
}

/// From `period` days ago in steps of a day, a week or a month; today is always the last.
fn dates(today: Date, period: u16) -> Result<Vec<Date>> {
    let first = today.checked_sub(i64::from(period).days()).map_err(Error::internal)?;
    let mut dates = Vec::new();
    for step in 0_i64.. {
        let span = match period {
            7 | 30 => step.days(),
            180 => step.weeks(),
            _ => step.months(),
        };
        // Counted from the first, so that short months do not move what follows.
        let next = first.checked_add(span).map_err(Error::internal)?;
        if next >= today {
            break;
        }
        dates.push(next);
    }
    dates.push(today);
    Ok(dates)
}

/// `created`: numbers by day since 1970 after the first date, in order; `total`: all there are now.
fn accumulate(dates: &[Date], created: &[(i64, u64)], total: u64) -> Result<Vec<(Date, u64)>> {
    let since: u64 = created.iter().map(|(_, n)| n).sum();
    let mut count = total.saturating_sub(since);
    let mut created = created.iter().peekable();
    let mut points = Vec::with_capacity(dates.len());
    for (index, day) in dates.iter().enumerate() {
        let number = i64::from(date(1970, 1, 1).until(*day).map_err(Error::internal)?.get_days());
        // What another replica, slightly ahead, dates to tomorrow belongs to today.
        let is_last = index + 1 == dates.len();
        while let Some((_, n)) = created.next_if(|(created_on, _)| is_last || *created_on <= number) {
            count += n;
        }
        points.push((*day, count));
    }
    Ok(points)
}

/// What the filters of the list can be set to.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Roles the caller could assign by level.
    pub roles: Vec<RoleChoice>,
    /// Organizations with visible users, by name.
    pub organizations: Vec<OrgRef>,
    /// One snapshot for each creating user, the latest, by name.
    pub creators: Vec<(UserId, Creator)>,
}

/// `GET /filters/users`.
pub async fn choices(app: &App, caller: &Caller) -> Result<Choices> {
    let scope = list_scope(caller, Resource::Users)?;
    let roles = filter_roles(caller, &app.catalogue).into_iter().map(RoleChoice::of).collect();
    let organizations = figures::homes(&app.db, &scope).await?;
    let mut seen = HashSet::new();
    let latest = figures::creators(&app.db, &scope).await?.into_iter();
    let mut creators: Vec<_> = latest
        .filter_map(|creator| creator.user_id.map(|id| (id, creator)))
        .filter(|(id, _)| seen.insert(*id))
        .collect();
    creators.sort_by_cached_key(|(id, creator)| (fold(&creator.name), *id));
    Ok(Choices { roles, organizations, creators })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_is_always_the_last_of_the_promised_number_of_points() {
        for today in
            [date(2026, 3, 4), date(2024, 2, 29), date(2024, 3, 1), date(2025, 1, 31), date(2028, 12, 31)]
        {
            for (period, points) in [(7, 8), (30, 31), (180, 27), (365, 13)] {
                let dates = dates(today, period).unwrap();
                assert_eq!((dates.len(), dates.last()), (points, Some(&today)), "{today} {period}");
                assert!(dates.is_sorted_by(|a, b| a < b), "{dates:?}");
            }
        }
    }

    #[test]
    fn days_without_creations_repeat_the_number_before() {
        let dates = [date(1970, 1, 1), date(1970, 1, 8), date(1970, 1, 15), date(1970, 1, 20)];
        let points = accumulate(&dates, &[(1, 2), (7, 1), (8, 4), (20, 1)], 10).unwrap();
        assert_eq!(points.iter().map(|p| p.1).collect::<Vec<_>>(), [2, 5, 9, 10]);
    }
}
