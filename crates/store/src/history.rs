//! Alert history (spec: alert-management#history): the reads before rows are written, and the writes together with
//! their counters.
//!
//! A transaction that writes rows of an organization [`lock_for_writing`]s the organization first. So writers of the
//! same rows follow one another, and `alert_history_days` and `alert_totals.history` always equal a count of the
//! resolved rows.

pub mod active;
pub mod active_counts;
pub mod active_groups;
mod alert_events;
pub mod expiry;
pub mod figures;
pub mod list;
mod organizations_read;
pub mod shown;
pub mod silences;
pub mod stats;

pub use organizations_read::OrganizationsRead;

use crate::{
    StoreError, Tx,
    alert_rows::{AlertKey, key_columns},
    filters::can_be_stored,
    router::lock_tenants,
    sql::{Column, Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts, fold::contains_pattern};
use bailiwick_policy::Path;
use sqlx_macros::FromRow;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};
use uuid::Uuid;

/// Within this time after a push its rows are written.
const SLOWEST_WRITE: Duration = Duration::from_secs(60);
/// Characters of a name that is offered as a filter: it is part of a key.
const NAME_CHARS: usize = 200;

/// Appends ` AND (…)`: the text occurs in the name or the summary of the alert, or in the name of its system or of its
/// organization, which is `o`.
fn push_search(q: &mut Q, text: &str) {
    if !can_be_stored(text) {
        q.push(" AND 1 = 0");
        return;
    }
    let pattern = contains_pattern(text);
    for start in [
        " AND (LOWER(h.alertname) LIKE ? [[||ESCAPE '\\']]",
        " OR LOWER(h.summary) LIKE ? [[||ESCAPE '\\']]",
        " OR o.name_key LIKE ? [[||ESCAPE '\\']]",
        " OR EXISTS (SELECT 1 FROM systems s WHERE s.system_key = h.system_key \
         AND s.organization_id = h.organization_id AND s.deleted_at IS NULL AND s.name_key LIKE ? [[||ESCAPE '\\']]))",
    ] {
        q.push(start).arg(pattern.clone());
    }
}

/// Organizations with a history that this transaction may write.
#[derive(Debug)]
pub struct Held(HashMap<OrgId, Path>);

impl Held {
    /// Whether the organization is there.
    pub fn contains(&self, organization: OrgId) -> bool {
        self.0.contains_key(&organization)
    }
}

/// Makes other writers of alerts, silences or history of these organizations wait for the end of the transaction, and
/// keeps the organizations from being destroyed meanwhile. Organizations that no longer exist are left out. To be
/// called once, before any of these rows is written.
pub async fn lock_for_writing(
    tx: &mut Tx,
    organizations: impl IntoIterator<Item = OrgId>,
) -> Result<Held, StoreError> {
    let ids: BTreeSet<OrgId> = organizations.into_iter().collect();
    let ids: Vec<OrgId> = ids.into_iter().collect();
    lock_tenants(tx, &ids).await?;
    let mut paths = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(ROWS) {
        let mut q = Q::new("SELECT o.id, o.p2, o.p3 FROM organizations o WHERE o.id IN (");
        q.list(chunk.iter().copied()).push(") ORDER BY o.id [[FOR KEY SHARE||]]");
        let rows: Vec<(Uuid, Uuid, Uuid)> = q.all(&mut *tx).await?;
        paths.extend(
            rows.into_iter()
                .map(|(id, p2, p3)| (OrgId(id), Path { id: OrgId(id), p2: OrgId(p2), p3: OrgId(p3) })),
        );
    }
    Ok(Held(paths))
}

/// The present organizations of systems by their keys.
pub async fn homes(tx: &mut Tx, keys: &BTreeSet<String>) -> Result<HashMap<String, OrgId>, StoreError> {
    let keys: Vec<&String> = keys.iter().collect();
    let mut homes = HashMap::with_capacity(keys.len());
    for chunk in keys.chunks(ROWS) {
        let mut q = Q::new("SELECT s.system_key, s.organization_id FROM systems s WHERE s.system_key IN (");
        q.list(chunk.iter().copied()).push(")");
        let rows: Vec<(String, Uuid)> = q.all(&mut *tx).await?;
        homes.extend(rows.into_iter().map(|(key, organization)| (key, OrgId(organization))));
    }
    Ok(homes)
}

/// A stored row without its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Number.
    pub id: i64,
    /// Which alert.
    pub key: AlertKey,
    /// The system of the alert.
    pub system_key: String,
    /// Whether it fires.
    pub is_open: bool,
    pub starts_at: Ts,
    pub ends_at: Option<Ts>,
    /// When an open row ends by itself.
    pub expires_at: Option<Ts>,
    /// The receiver that was notified.
    pub receiver: Option<String>,
    /// When the row was created or resolved.
    pub created_at: Ts,
}

#[derive(FromRow)]
struct StoredRow {
    id: i64,
    organization_id: Uuid,
    fingerprint: String,
    system_key: String,
    status: String,
    starts_at: TsCodec,
    ends_at: Option<TsCodec>,
    expires_at: Option<TsCodec>,
    receiver: Option<String>,
    created_at: TsCodec,
}

impl From<StoredRow> for Stored {
    fn from(r: StoredRow) -> Stored {
        Stored {
            id: r.id,
            key: (OrgId(r.organization_id), r.fingerprint),
            system_key: r.system_key,
            is_open: r.status == "firing",
            starts_at: r.starts_at.0,
            ends_at: r.ends_at.map(Ts::from),
            expires_at: r.expires_at.map(Ts::from),
            receiver: r.receiver,
            created_at: r.created_at.0,
        }
    }
}

const STORED: &str = "SELECT h.id, h.organization_id, h.fingerprint, h.system_key, h.status, h.starts_at, h.ends_at, \
     h.expires_at, h.receiver, h.created_at FROM ";

/// The open rows of these alerts.
pub async fn open_rows(tx: &mut Tx, alerts: &[AlertKey]) -> Result<Vec<Stored>, StoreError> {
    let mut rows: Vec<StoredRow> = Vec::new();
    for chunk in alerts.chunks(ROWS) {
        let mut q = Q::new(STORED);
        push_rows(&mut q, tx.is_postgres(), key_columns(chunk.iter()));
        q.push(
            " [[JOIN||CROSS JOIN]] alert_history h ON h.organization_id = v.o AND h.fingerprint = v.f \
             AND h.status = 'firing'",
        );
        rows.extend(q.all::<StoredRow>(&mut *tx).await?);
    }
    Ok(rows.into_iter().map(Stored::from).collect())
}

/// The rows of these alerts that begin at the first time or later, and before the second.
pub async fn rows_started(tx: &mut Tx, alerts: &[(AlertKey, Ts, Ts)]) -> Result<Vec<Stored>, StoreError> {
    let mut rows: Vec<StoredRow> = Vec::new();
    for chunk in alerts.chunks(ROWS) {
        let mut columns = key_columns(chunk.iter().map(|(key, ..)| key));
        columns.push(("from_at", Column::times(chunk.iter().map(|a| a.1))));
        columns.push(("before_at", Column::times(chunk.iter().map(|a| a.2))));
        let mut q = Q::new(STORED);
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(
            " [[JOIN||CROSS JOIN]] alert_history h ON h.organization_id = v.o AND h.fingerprint = v.f \
             AND h.starts_at >= v.from_at AND h.starts_at < v.before_at",
        );
        rows.extend(q.all::<StoredRow>(&mut *tx).await?);
    }
    Ok(rows.into_iter().map(Stored::from).collect())
}

/// The last row of each of these alerts that began by that time.
pub async fn rows_begun_by(tx: &mut Tx, alerts: &[(AlertKey, Ts)]) -> Result<Vec<Stored>, StoreError> {
    let mut rows: Vec<StoredRow> = Vec::new();
    for chunk in alerts.chunks(ROWS) {
        let mut columns = key_columns(chunk.iter().map(|(key, _)| key));
        columns.push(("by_at", Column::times(chunk.iter().map(|a| a.1))));
        let mut q = Q::new(STORED);
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(
            " [[JOIN||CROSS JOIN]] alert_history h ON h.organization_id = v.o AND h.fingerprint = v.f \
             AND h.starts_at = (SELECT MAX(x.starts_at) FROM alert_history x WHERE x.organization_id = v.o \
             AND x.fingerprint = v.f AND x.starts_at <= v.by_at)",
        );
        rows.extend(q.all::<StoredRow>(&mut *tx).await?);
    }
    Ok(rows.into_iter().map(Stored::from).collect())
}

/// A row in its new state.
#[derive(Clone, Debug)]
pub struct Write {
    /// The stored row; none = a new row.
    pub stored: Option<Stored>,
    /// Which alert.
    pub key: AlertKey,
    /// The system of the alert.
    pub system_key: String,
    /// Name of the alert, maybe empty.
    pub alertname: String,
    /// Severity, if it has one.
    pub severity: Option<String>,
    /// Whether it fires.
    pub is_open: bool,
    pub starts_at: Ts,
    pub ends_at: Option<Ts>,
    /// When an open row ends by itself.
    pub expires_at: Option<Ts>,
    /// The receiver that was notified.
    pub receiver: Option<String>,
    /// When the row was created or resolved.
    pub created_at: Ts,
    /// Labels as JSON.
    pub labels: String,
    /// New texts; none keeps the stored ones.
    pub texts: Option<Texts>,
}

impl Write {
    /// Whether figures of alerts, or their order by start, can change. A repeated alert changes none, unless it begins
    /// at another time, expires earlier, has expired, or may have until its row is written.
    fn changes_figures(&self, now: Ts) -> bool {
        match &self.stored {
            Some(stored) if stored.is_open && self.is_open => {
                self.starts_at != stored.starts_at
                    || self.expires_at < stored.expires_at
                    || stored.expires_at < Some(now.plus(SLOWEST_WRITE))
            }
            _ => true,
        }
    }
}

/// Texts of an alert.
#[derive(Clone, Debug)]
pub struct Texts {
    /// The one that lists show.
    pub summary: Option<String>,
    /// Annotations as JSON.
    pub annotations: String,
}

/// Writes rows of locked organizations with their counters; rows of other organizations are left out. `now`: when the
/// newest of the alerts was pushed.
pub async fn write(tx: &mut Tx, locked: &Held, rows: Vec<Write>, now: Ts) -> Result<(), StoreError> {
    let rows: Vec<Write> = rows.into_iter().filter(|row| locked.contains(row.key.0)).collect();
    let (old, new): (Vec<&Write>, Vec<&Write>) = rows.iter().partition(|row| row.stored.is_some());
    // Ended rows are written first: they give their place to alerts that begin, or begin again.
    let (open, over): (Vec<&Write>, Vec<&Write>) = old.into_iter().partition(|row| row.is_open);
    for chunk in over.chunks(ROWS).chain(open.chunks(ROWS)) {
        update(tx, chunk).await?;
    }
    for chunk in new.chunks(ROWS) {
        insert(tx, locked, chunk).await?;
    }
    if rows.iter().any(|row| row.changes_figures(now)) {
        tx.active_alerts_changed();
    }
    let begun = rows.iter().filter(|row| row.stored.as_ref().is_none_or(|s| !s.is_open));
    note_names(tx, begun).await?;
    alert_events::written(tx, &rows).await?;
    let mut counts = Counts::default();
    for row in &rows {
        if let Some(stored) = row.stored.as_ref().filter(|s| !s.is_open) {
            counts.add(row.key.0, stored.created_at, -1);
        }
        if !row.is_open {
            counts.add(row.key.0, row.created_at, 1);
        }
    }
    counts.write(tx).await
}

async fn update(tx: &mut Tx, rows: &[&Write]) -> Result<(), StoreError> {
    let each = || rows.iter();
    let texts = |pick: fn(&Texts) -> Option<String>| {
        Column::Texts(each().map(|r| r.texts.as_ref().and_then(pick)).collect())
    };
    let columns = vec![
        ("id", Column::Ints(each().filter_map(|r| r.stored.as_ref()).map(|s| s.id).collect())),
        ("status", Column::texts(each().map(|r| word(r.is_open)))),
        ("starts_at", Column::times(each().map(|r| r.starts_at))),
        ("ends_at", Column::Times(each().map(|r| r.ends_at).collect())),
        ("expires_at", Column::Times(each().map(|r| r.expires_at).collect())),
        ("receiver", Column::Texts(each().map(|r| r.receiver.clone()).collect())),
        ("created_at", Column::times(each().map(|r| r.created_at))),
        ("summary", texts(|t| t.summary.clone())),
        ("annotations", texts(|t| Some(t.annotations.clone()))),
    ];
    let mut q = Q::new(
        "UPDATE alert_history AS h SET status = v.status, starts_at = v.starts_at, ends_at = v.ends_at, \
         expires_at = v.expires_at, receiver = v.receiver, created_at = v.created_at, \
         summary = CASE WHEN v.annotations IS NULL THEN h.summary ELSE v.summary END, \
         annotations = COALESCE([[CAST(v.annotations AS jsonb)||v.annotations]], h.annotations) FROM ",
    );
    push_rows(&mut q, tx.is_postgres(), columns);
    q.push(" WHERE h.id = v.id");
    q.run(tx).await?;
    Ok(())
}

async fn insert(tx: &mut Tx, locked: &Held, rows: &[&Write]) -> Result<(), StoreError> {
    let each = || rows.iter();
    let path = |pick: fn(&Path) -> OrgId| {
        Column::Ids(each().filter_map(|r| locked.0.get(&r.key.0)).map(|p| pick(p).0).collect())
    };
    let texts = |pick: fn(&Texts) -> Option<String>| {
        Column::Texts(each().map(|r| r.texts.as_ref().and_then(pick)).collect())
    };
    let columns = vec![
        ("o", path(|p| p.id)),
        ("p2", path(|p| p.p2)),
        ("p3", path(|p| p.p3)),
        ("system_key", Column::texts(each().map(|r| r.system_key.as_str()))),
        ("alertname", Column::texts(each().map(|r| r.alertname.as_str()))),
        ("severity", Column::Texts(each().map(|r| r.severity.clone()).collect())),
        ("status", Column::texts(each().map(|r| word(r.is_open)))),
        ("fingerprint", Column::texts(each().map(|r| r.key.1.as_str()))),
        ("starts_at", Column::times(each().map(|r| r.starts_at))),
        ("ends_at", Column::Times(each().map(|r| r.ends_at).collect())),
        ("expires_at", Column::Times(each().map(|r| r.expires_at).collect())),
        ("summary", texts(|t| t.summary.clone())),
        ("labels", Column::texts(each().map(|r| r.labels.as_str()))),
        ("annotations", texts(|t| Some(t.annotations.clone()))),
        ("receiver", Column::Texts(each().map(|r| r.receiver.clone()).collect())),
        ("created_at", Column::times(each().map(|r| r.created_at))),
    ];
    let mut q = Q::new(
        "INSERT INTO alert_history (organization_id, p2, p3, system_key, alertname, severity, status, fingerprint, \
         starts_at, ends_at, expires_at, summary, labels, annotations, receiver, created_at) \
         SELECT v.o, v.p2, v.p3, v.system_key, v.alertname, v.severity, v.status, v.fingerprint, v.starts_at, \
         v.ends_at, v.expires_at, v.summary, [[CAST(v.labels AS jsonb)||v.labels]], \
         COALESCE([[CAST(v.annotations AS jsonb)||v.annotations]], '{}'), v.receiver, v.created_at FROM ",
    );
    push_rows(&mut q, tx.is_postgres(), columns);
    q.run(tx).await?;
    Ok(())
}

pub(crate) const fn word(is_open: bool) -> &'static str {
    if is_open { "firing" } else { "resolved" }
}

async fn note_names<'a>(tx: &mut Tx, rows: impl Iterator<Item = &'a Write>) -> Result<(), StoreError> {
    let mut names: BTreeMap<(OrgId, String), (Option<String>, Ts)> = BTreeMap::new();
    for row in rows.filter(|row| !row.alertname.is_empty()) {
        let name: String = row.alertname.chars().take(NAME_CHARS).collect();
        names.insert((row.key.0, name), (row.severity.clone(), row.created_at));
    }
    let names: Vec<_> = names.into_iter().collect();
    for chunk in names.chunks(ROWS) {
        let columns = vec![
            ("o", Column::Ids(chunk.iter().map(|(key, _)| key.0.0).collect())),
            ("name", Column::texts(chunk.iter().map(|(key, _)| key.1.as_str()))),
            ("severity", Column::Texts(chunk.iter().map(|(_, (severity, _))| severity.clone()).collect())),
            ("seen_at", Column::times(chunk.iter().map(|(_, (_, at))| *at))),
        ];
        let mut q = Q::new(
            "INSERT INTO alert_names (organization_id, alertname, severity, seen_at) \
             SELECT v.o, v.name, v.severity, v.seen_at FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(
            " WHERE 1 = 1 ON CONFLICT (organization_id, alertname) DO UPDATE SET severity = excluded.severity, \
             seen_at = excluded.seen_at WHERE excluded.seen_at >= alert_names.seen_at",
        );
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// The changes of the numbers of resolved rows.
#[derive(Debug, Default)]
pub(crate) struct Counts(BTreeMap<(OrgId, i64), i64>);

impl Counts {
    /// `n` more rows of an organization that were resolved at that time.
    pub(crate) fn add(&mut self, organization: OrgId, created_at: Ts, n: i64) {
        const DAY: i64 = 86_400;
        *self.0.entry((organization, created_at.secs().div_euclid(DAY))).or_default() += n;
    }

    /// Updates the counters; last in a transaction.
    pub(crate) async fn write(mut self, tx: &mut Tx) -> Result<(), StoreError> {
        self.0.retain(|_, n| *n != 0);
        let mut totals: BTreeMap<OrgId, i64> = BTreeMap::new();
        for ((organization, _), n) in &self.0 {
            *totals.entry(*organization).or_default() += n;
        }
        let days: Vec<((OrgId, i64), i64)> = self.0.into_iter().collect();
        for chunk in days.chunks(ROWS) {
            let columns = vec![
                ("o", Column::Ids(chunk.iter().map(|((o, _), _)| o.0).collect())),
                ("day", Column::Ints(chunk.iter().map(|((_, day), _)| *day).collect())),
                ("n", Column::Ints(chunk.iter().map(|(_, n)| *n).collect())),
            ];
            let mut q = Q::new(
                "INSERT INTO alert_history_days (organization_id, day, resolved) SELECT v.o, v.day, v.n FROM ",
            );
            push_rows(&mut q, tx.is_postgres(), columns);
            q.push(
                " WHERE 1 = 1 ON CONFLICT (organization_id, day) DO UPDATE SET \
                 resolved = alert_history_days.resolved + excluded.resolved",
            );
            q.run(&mut *tx).await?;
        }
        drop_empty_days(tx, &days).await?;
        let totals: Vec<(OrgId, i64)> = totals.into_iter().filter(|(_, n)| *n != 0).collect();
        for chunk in totals.chunks(ROWS) {
            let columns = vec![
                ("o", Column::Ids(chunk.iter().map(|(o, _)| o.0).collect())),
                ("n", Column::Ints(chunk.iter().map(|(_, n)| *n).collect())),
            ];
            let mut q = Q::new("INSERT INTO alert_totals (organization_id, history) SELECT v.o, v.n FROM ");
            push_rows(&mut q, tx.is_postgres(), columns);
            q.push(
                " WHERE 1 = 1 ON CONFLICT (organization_id) DO UPDATE SET \
                 history = alert_totals.history + excluded.history",
            );
            q.run(&mut *tx).await?;
        }
        Ok(())
    }
}

/// A day without rows has no figure.
async fn drop_empty_days(tx: &mut Tx, changes: &[((OrgId, i64), i64)]) -> Result<(), StoreError> {
    let fewer: Vec<(OrgId, i64)> = changes.iter().filter(|(_, n)| *n < 0).map(|(key, _)| *key).collect();
    for chunk in fewer.chunks(ROWS) {
        let columns = vec![
            ("o", Column::Ids(chunk.iter().map(|(o, _)| o.0).collect())),
            ("day", Column::Ints(chunk.iter().map(|(_, day)| *day).collect())),
        ];
        let mut q = Q::new(
            "DELETE FROM alert_history_days WHERE resolved = 0 AND (organization_id, day) IN (SELECT v.o, v.day FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(")");
        q.run(&mut *tx).await?;
    }
    Ok(())
}
