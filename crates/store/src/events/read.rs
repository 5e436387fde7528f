//! Reads events. A reader gets only events whose subject they could read at that moment.

use crate::{
    Db, StoreError,
    filters::push_in,
    scope::push_scope,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, PageRequest, SortDirection, Ts};
use bailiwick_policy::Scope;
use serde_json::Value;
use sqlx_macros::FromRow;
use std::time::Duration;
use uuid::Uuid;

/// The events a reader may see.
#[derive(Clone, Debug, PartialEq)]
pub struct Visibility {
    /// The organizations of the events.
    pub scope: Scope,
    /// The types the caller may read.
    pub types: Vec<String>,
    /// The types the caller may read about their own organization.
    pub own: Option<(OrgId, Vec<String>)>,
}

/// The caller's filter. None: not given. An empty list: given, but nothing can match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub organizations: Option<Vec<Uuid>>,
    pub objects: Option<Vec<String>>,
    /// Only those with a greater number.
    pub after: Option<i64>,
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Number: the order of events.
    pub seq: i64,
    pub id: Uuid,
    /// When.
    pub at: Ts,
    /// Type.
    pub kind: String,
    /// Path of the object, if there is one to read.
    pub subject: Option<String>,
    /// A JSON object.
    pub data: Value,
}

#[derive(FromRow)]
pub(crate) struct Row {
    seq: i64,
    id: Uuid,
    at: TsCodec,
    #[sqlx(rename = "type")]
    kind: String,
    subject: Option<String>,
    data: Value,
}

impl From<Row> for Stored {
    fn from(r: Row) -> Stored {
        Stored { seq: r.seq, id: r.id, at: r.at.0, kind: r.kind, subject: r.subject, data: r.data }
    }
}

impl Visibility {
    /// Appends ` AND …` by the columns of `e`: by the present place of the event's organization, and by the present
    /// place of the system or user, if it still exists.
    pub(crate) fn push(&self, q: &mut Q) {
        push_scope(q, "e", "organization_id", &self.scope);
        q.push(" AND (1 = 0");
        if !self.types.is_empty() {
            q.push(" OR e.type IN (").list(self.types.iter()).push(")");
        }
        if let Some((own, types)) = self.own.as_ref().filter(|(_, types)| !types.is_empty()) {
            q.push(" OR (e.object_id = ? AND e.type IN (").arg(own.to_string());
            q.list(types.iter()).push("))");
        }
        q.push(")");
        if self.scope == Scope::Everything {
            return;
        }
        for (table, column) in [("systems", "system_id"), ("users", "user_id")] {
            // Both tables repeat the place of the organization. The condition does not mention NULL (never an id
            // anyway), so that a total looks up all of them at once and not one by one.
            q.push(&format!(
                " AND NOT EXISTS (SELECT 1 FROM {table} t WHERE t.id = e.{column} AND NOT (1 = 1"
            ));
            push_scope(q, "t", "organization_id", &self.scope);
            q.push("))");
        }
    }
}

impl Filter {
    fn push(&self, q: &mut Q) {
        if let Some(ids) = &self.organizations {
            q.push(" AND e.organization_id IN (").list(ids.iter().copied()).push(")");
        }
        if let Some(objects) = &self.objects {
            push_in(q, "e.object_id", objects);
        }
        if let Some(after) = self.after {
            q.push(" AND e.seq > ?").arg(after);
        }
    }
}

const COLUMNS: &str = "SELECT e.seq, e.id, e.at, e.type, e.subject, e.data FROM events e WHERE 1 = 1";

/// The rows of a page.
pub async fn page(
    db: &Db,
    visibility: &Visibility,
    filter: &Filter,
    direction: SortDirection,
    request: PageRequest,
) -> Result<Vec<Stored>, StoreError> {
    let mut q = Q::new(COLUMNS);
    visibility.push(&mut q);
    filter.push(&mut q);
    q.push(&format!(" ORDER BY e.seq {} LIMIT ? OFFSET ?", direction.as_str()));
    q.arg(request.page_size).arg(request.offset());
    Ok(q.all::<Row>(db).await?.into_iter().map(Stored::from).collect())
}

/// How many events there are, and the number of the newest event of all when they were counted. Numbers are given in
/// the order of visibility, so a later count needs to look only behind that number.
pub async fn count(db: &Db, visibility: &Visibility, filter: &Filter) -> Result<(u64, i64), StoreError> {
    let mut q = Q::new(
        "SELECT CAST(COUNT(*) AS BIGINT), COALESCE((SELECT MAX(n.seq) FROM events n), 0) FROM events e WHERE 1 = 1",
    );
    visibility.push(&mut q);
    filter.push(&mut q);
    let (count, newest): (i64, i64) = q.one(db).await?;
    Ok((u64::try_from(count).unwrap_or(0), newest))
}

/// The first `limit` events behind a number and not behind another, in order.
pub async fn after(
    db: &Db,
    visibility: &Visibility,
    (after, up_to): (i64, i64),
    limit: u64,
) -> Result<Vec<Stored>, StoreError> {
    let mut q = Q::new(COLUMNS);
    q.push(" AND e.seq > ? AND e.seq <= ?").arg(after).arg(up_to);
    visibility.push(&mut q);
    q.push(" ORDER BY e.seq LIMIT ?").arg(limit);
    Ok(q.all::<Row>(db).await?.into_iter().map(Stored::from).collect())
}

const FIRST_AT: &str = "SELECT e.at FROM events e WHERE e.at >= ? ORDER BY e.at LIMIT 1";
/// A sum, so that PostgreSQL searches these times and not all numbers from the first one on.
const FIRST_SINCE: &str = "SELECT MIN(e.seq + 0) FROM events e WHERE e.at >= ? AND e.at <= ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![FIRST_AT, FIRST_SINCE, NEXT];
/// An event is numbered after its transaction, so one of a later time may have a smaller number; not of more than this.
const OUT_OF_ORDER: Duration = Duration::from_secs(180);

/// The smallest number of an event of this time or later; none when there is no such event.
pub async fn first_since(db: &Db, since: Ts) -> Result<Option<i64>, StoreError> {
    let first: Option<(TsCodec,)> = Q::new(FIRST_AT).bind(since).optional(db).await?;
    let Some((first,)) = first else { return Ok(None) };
    let (seq,): (Option<i64>,) =
        Q::new(FIRST_SINCE).bind(first.0).bind(first.0.plus(OUT_OF_ORDER)).one(db).await?;
    Ok(seq)
}

const NEXT: &str = "SELECT e.seq FROM events e WHERE e.seq > ? ORDER BY e.seq LIMIT 1";

/// The smallest number behind `after` that an event still has; none when there is none.
pub async fn next_after(on: impl Into<On<'_>>, after: i64) -> Result<Option<i64>, StoreError> {
    let next: Option<(i64,)> = Q::by_index(NEXT).bind(after).optional(on).await?;
    Ok(next.map(|(seq,)| seq))
}
