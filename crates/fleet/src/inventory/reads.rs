//! Reads of a system's inventory by management (spec: inventory#reads). Rows are selected first and loaded in portions,
//! so that no answer needs more memory than its largest row, however long the history is.

use super::{Latest, pack};
use crate::{Fleet, systems};
use bailiwick_domain::{Error, ObjectKind, Page, PageRequest, Parameter, Result, SystemId, Ts};
use bailiwick_inventory::{Category, ChangeKind, Severity};
use bailiwick_platform::list_filters;
use bailiwick_policy::Caller;
use bailiwick_store::inventory::{
    self, RecordMeta,
    reads::{self, Chosen, DiffCount, DiffFilter, DiffRow, TimeRange},
};
use std::{collections::BTreeMap, collections::HashMap, time::Duration};

/// The age up to which a change is recent.
const RECENT: Duration = Duration::from_secs(24 * 3600);
/// An inventory alert ends after this time at the latest.
const ALERT_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Bytes of rows loaded at one time; a single larger row is loaded alone.
const PORTION: i64 = 2 * 1024 * 1024;
/// Rows loaded at one time.
const PORTION_ROWS: usize = 128;

/// The keys of a query of differences, without its times. Values that mean nothing match nothing.
pub const FILTERS: &[Parameter<DiffFilter>] = &[
    Parameter::words(
        "severity",
        || words(Severity::ALL, Severity::word),
        |filter, words| {
            filter.severities = Some(codes(&words, |word| Severity::of_word(word).map(|code| code as i64)));
        },
    ),
    Parameter::words(
        "category",
        || words(Category::ALL, Category::word),
        |filter, words| {
            filter.categories =
                Some(codes(&words, |word| Category::of_word(word).map(|code| code.word().to_owned())));
        },
    ),
    Parameter::words(
        "diff_type",
        || words(ChangeKind::ALL, ChangeKind::word),
        |filter, words| {
            filter.kinds = Some(codes(&words, |word| ChangeKind::of_word(word).map(|code| code as i64)));
        },
    ),
    Parameter::each("inventory_id", |filter, numbers| {
        filter.records = Some(codes(&numbers, |number| number.parse().ok()));
    }),
    Parameter::text("search", |filter, text| filter.search = Some(text)),
];

fn words<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|code| word(*code)).collect()
}

fn codes<T>(values: &[String], meaning: impl Fn(&str) -> Option<T>) -> Vec<T> {
    values.iter().filter_map(|value| meaning(value)).collect()
}

/// A range of days or times as a client names it: RFC 3339 or `YYYY-MM-DD`, the latter for the whole day; an end
/// without a fraction includes its second. Any other text is ignored.
pub fn time_range(from: Option<&str>, to: Option<&str>) -> TimeRange {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let day = |text: &str| format!("{text}T00:00:00Z").parse::<Ts>().ok();
    let is_day = |text: &str| text.len() == 10;
    let from = from.and_then(|text| if is_day(text) { day(text) } else { text.parse().ok() });
    let before = to.and_then(|text| {
        if is_day(text) {
            return day(text).map(|start| start.plus(DAY));
        }
        let whole_seconds = !text.contains('.');
        let last = if whole_seconds { Duration::from_secs(1) } else { Duration::from_micros(1) };
        text.parse().ok().map(|moment: Ts| moment.plus(last))
    });
    TimeRange { from, before }
}

/// Splits rows into portions that fit into memory, in order.
pub fn portions(rows: impl IntoIterator<Item = Chosen>) -> Vec<Vec<i64>> {
    let mut portions: Vec<Vec<i64>> = Vec::new();
    let mut bytes = 0;
    for (id, size) in rows {
        match portions.last_mut() {
            Some(portion) if bytes + size <= PORTION && portion.len() < PORTION_ROWS => portion.push(id),
            _ => {
                portions.push(vec![id]);
                bytes = 0;
            }
        }
        bytes += size;
    }
    portions
}

/// A page of the history without the texts.
pub async fn history(
    service: &Fleet,
    caller: &Caller,
    id: Option<SystemId>,
    range: TimeRange,
    page: PageRequest,
) -> Result<(SystemId, Page<RecordMeta>)> {
    let system = systems::load(service, caller, id).await?.system.id;
    Ok((system, reads::history(&service.platform.db, system, range, page).await?))
}

/// The texts of the records that [`history`] has returned.
pub async fn texts(service: &Fleet, records: &[i64]) -> Result<HashMap<i64, String>> {
    let stored = inventory::stored(&service.platform.db, records).await?;
    let unpack = move || {
        stored.into_iter().map(|record| Ok((record.id, pack::unpack(&record.text)?))).collect::<Result<_>>()
    };
    service.platform.tasks.spawn_blocking(unpack).await.map_err(Error::internal)?
}

/// One record. `entry` is the number from the path, parsed once the caller may read the system.
pub async fn record(
    service: &Fleet,
    caller: &Caller,
    id: Option<SystemId>,
    entry: &str,
) -> Result<(SystemId, Latest)> {
    let system = systems::load(service, caller, id).await?.system.id;
    let number = entry.parse::<i64>().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| Error::bad_request("invalid inventory ID"))?;
    let record = reads::record(&service.platform.db, system, number)
        .await?
        .ok_or(Error::NotFound(ObjectKind::InventoryRecord))?;
    let document = pack::unpack(&record.text)?;
    Ok((system, Latest { record: record.meta, document }))
}

/// How much has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub system: SystemId,
    /// Differences in all.
    pub total: i64,
    /// Of the last 24 hours.
    pub recent: i64,
    /// Timestamp of the record.
    pub last_inventory: Ts,
    /// Whether one is critical.
    pub has_critical: bool,
    /// Whether an inventory alert is not over.
    pub has_alerts: bool,
    /// By word.
    pub by_category: BTreeMap<String, i64>,
    /// By word.
    pub by_severity: BTreeMap<&'static str, i64>,
}

fn severity_word(severity: i64) -> &'static str {
    let index = usize::try_from(severity).unwrap_or(usize::MAX);
    Severity::ALL.get(index).map_or("low", |severity| severity.word())
}

fn summary(system: SystemId, last_inventory: Ts, has_alerts: bool, counts: Vec<DiffCount>) -> Summary {
    let mut summary = Summary {
        system,
        total: 0,
        recent: 0,
        last_inventory,
        has_critical: false,
        has_alerts,
        by_category: BTreeMap::new(),
        by_severity: BTreeMap::new(),
    };
    for count in counts {
        summary.total += count.all_of_them;
        summary.recent += count.recent;
        summary.has_critical |= count.severity == Severity::Critical as i64;
        *summary.by_category.entry(count.category).or_default() += count.all_of_them;
        *summary.by_severity.entry(severity_word(count.severity)).or_default() += count.all_of_them;
    }
    summary
}

/// Counts over all stored differences; none without any inventory.
pub async fn changes(service: &Fleet, caller: &Caller, id: Option<SystemId>) -> Result<Option<Summary>> {
    let system = systems::load(service, caller, id).await?.system.id;
    let Some((_, at)) = reads::latest_time(&service.platform.db, system).await? else { return Ok(None) };
    let counts =
        reads::diff_counts(&service.platform.db, system, service.platform.now().minus(RECENT)).await?;
    let has_alerts =
        reads::has_alert(&service.platform.db, system, service.platform.now().minus(ALERT_LIFE), None)
            .await?;
    Ok(Some(summary(system, at, has_alerts, counts)))
}

/// Over the latest processed record.
pub async fn latest_changes(
    service: &Fleet,
    caller: &Caller,
    id: Option<SystemId>,
) -> Result<Option<Summary>> {
    let system = systems::load(service, caller, id).await?.system.id;
    let Some((record, at)) = reads::last_processed(&service.platform.db, system).await? else {
        return Ok(None);
    };
    let counts = reads::diff_counts_of(&service.platform.db, record).await?;
    let has_alerts = reads::has_alert(
        &service.platform.db,
        system,
        service.platform.now().minus(ALERT_LIFE),
        Some(record),
    )
    .await?;
    Ok(Some(summary(system, at, has_alerts, counts)))
}

fn check_filter(filter: &DiffFilter) -> Result<()> {
    list_filters::check_lengths([
        filter.severities.as_ref().map(Vec::len),
        filter.categories.as_ref().map(Vec::len),
        filter.kinds.as_ref().map(Vec::len),
        filter.records.as_ref().map(Vec::len),
    ])
}

/// A page of the differences.
pub async fn diffs(
    service: &Fleet,
    caller: &Caller,
    id: Option<SystemId>,
    filter: &DiffFilter,
    page: PageRequest,
) -> Result<(SystemId, Page<Chosen>)> {
    let system = systems::load(service, caller, id).await?.system.id;
    check_filter(filter)?;
    Ok((system, reads::diffs(&service.platform.db, system, filter, page).await?))
}

/// The newest batch: its record (none when that was thinned out, or without any) and the differences.
pub async fn latest_diffs(
    service: &Fleet,
    caller: &Caller,
    id: Option<SystemId>,
) -> Result<(SystemId, Option<i64>, Vec<Chosen>)> {
    let system = systems::load(service, caller, id).await?.system.id;
    let (record, chosen) = reads::newest_batch(&service.platform.db, system).await?.unwrap_or_default();
    Ok((system, record, chosen))
}

/// The differences that [`diffs`] or [`latest_diffs`] have returned, in that order.
pub async fn diff_rows(service: &Fleet, ids: &[i64]) -> Result<Vec<DiffRow>> {
    Ok(reads::diffs_by_id(&service.platform.db, ids).await?)
}

/// A day of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    /// `YYYY-MM-DD`, UTC.
    pub date: String,
    /// Differences of that day that pass.
    pub change_count: i64,
    /// Records of that day that are still stored, by id.
    pub records: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Matching differences: in total, then critical, high, medium, low.
    pub summary: [i64; 5],
    /// A page of days, newest first.
    pub days: Page<Day>,
}

const DAY_SECONDS: i64 = 24 * 3600;

/// `GET …/inventory/timeline` (spec: inventory#timeline).
pub async fn timeline(
    service: &Fleet,
    caller: &Caller,
    id: Option<SystemId>,
    filter: &DiffFilter,
    page: PageRequest,
) -> Result<Timeline> {
    use bailiwick_store::inventory::timeline as store;
    let system = systems::load(service, caller, id).await?.system.id;
    check_filter(filter)?;
    let mut summary = [0; 5];
    let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
    for (day, severity, count) in store::diffs_by_day(&service.platform.db, system, filter).await? {
        *counts.entry(day).or_default() += count;
        summary[0] += count;
        if let Some(of_severity) = usize::try_from(severity).ok().and_then(|index| summary.get_mut(index + 1))
        {
            *of_severity += count;
        }
    }
    let is_narrowed = filter.severities.is_some()
        || filter.categories.is_some()
        || filter.kinds.is_some()
        || filter.search.is_some();
    if !is_narrowed {
        for day in store::record_days(&service.platform.db, system, filter.range).await? {
            counts.entry(day).or_default();
        }
    }
    let total = counts.len() as u64;
    let (skip, size) = (usize::try_from(page.offset()), usize::try_from(page.page_size));
    let (skip, size) = (skip.unwrap_or(usize::MAX), size.unwrap_or(usize::MAX));
    let shown: Vec<(i64, i64)> = counts.into_iter().rev().skip(skip).take(size).collect();
    let mut records: HashMap<i64, Vec<i64>> = HashMap::new();
    if let (Some((newest, _)), Some((oldest, _))) = (shown.first(), shown.last()) {
        let start = |day: i64| Ts::from_secs(day.saturating_mul(DAY_SECONDS));
        let range = TimeRange {
            from: Some(filter.range.from.map_or(start(*oldest), |from| from.max(start(*oldest)))),
            before: Some(
                filter.range.before.map_or(start(newest + 1), |before| before.min(start(newest + 1))),
            ),
        };
        for (day, id) in store::records_by_day(&service.platform.db, system, range).await? {
            records.entry(day).or_default().push(id);
        }
    }
    let day = |(day, change_count): (i64, i64)| {
        let date = Ts::from_secs(day.saturating_mul(DAY_SECONDS)).rfc3339(0).chars().take(10).collect();
        Day { date, change_count, records: records.remove(&day).unwrap_or_default() }
    };
    let rows = shown.into_iter().map(day).collect();
    Ok(Timeline { summary, days: Page { rows, total, request: page } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_ranges() {
        let time = |text: &str| Some(text.parse::<Ts>().unwrap());
        for (from, to, start, end) in [
            ("2026-03-04", "2026-03-04", time("2026-03-04T00:00:00Z"), time("2026-03-05T00:00:00Z")),
            (
                "2026-03-04T10:00:00+01:00",
                "2026-03-04T10:00:00Z",
                time("2026-03-04T09:00:00Z"),
                time("2026-03-04T10:00:01Z"),
            ),
            (
                "2026-03-04T10:00:00.5Z",
                "2026-03-04T10:00:00.5Z",
                time("2026-03-04T10:00:00.5Z"),
                time("2026-03-04T10:00:00.500001Z"),
            ),
            ("", "yesterday", None, None),
            ("2026-02-30", "2026-3-4", None, None),
            ("20260304", "-009999-01-01T00:00:00Z", None, None),
            ("1772323200", "2026-03-04 10:00:00Z", None, None),
        ] {
            assert_eq!(
                time_range(Some(from), Some(to)),
                TimeRange { from: start, before: end },
                "{from} {to}"
            );
        }
        assert_eq!(time_range(None, None), TimeRange::default());
    }

    #[test]
    fn portions_are_bounded() {
        assert_eq!(portions([]), [[0_i64; 0]; 0]);
        assert_eq!(portions([(1, 10), (2, 10)]), [[1, 2]]);
        assert_eq!(
            portions([(1, PORTION), (2, 1), (3, PORTION + 5), (4, 1)]),
            [vec![1], vec![2], vec![3], vec![4]]
        );
        let many = portions((0..300).map(|id| (id, 1)));
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [128, 128, 44]);
    }
}
