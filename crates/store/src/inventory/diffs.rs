//! Changes found between two records.

use crate::{
    StoreError, Tx,
    sql::{Arg, Q},
};
use bailiwick_domain::{SystemId, Ts, fold::fold};

const ADD: &str = "INSERT INTO inventory_diffs (system_id, previous_id, current_id, record_at, kind, severity, \
     category, field_path, previous_value, current_value, folded, notification_sent, created_at) \
     SELECT v.system_id, v.previous_id, v.current_id, v.record_at, v.kind, v.severity, v.category, v.field_path, \
     NULLIF(v.previous_value, ''), NULLIF(v.current_value, ''), NULLIF(v.folded, ''), [[true||1]], v.created_at FROM \
     [[unnest(?::uuid[], ?::bigint[], ?::bigint[], ?::timestamptz[], ?::bigint[], ?::bigint[], ?::text[], ?::text[], \
     ?::text[], ?::text[], ?::text[], ?::timestamptz[]) WITH ORDINALITY AS v (system_id, previous_id, current_id, \
     record_at, kind, severity, category, field_path, previous_value, current_value, folded, created_at, n) \
     ORDER BY v.n||(SELECT ? AS system_id, ? AS previous_id, ? AS current_id, ? AS record_at, ? AS kind, \
     ? AS severity, ? AS category, ? AS field_path, ? AS previous_value, ? AS current_value, ? AS folded, \
     ? AS created_at) v WHERE 1 = 1]] RETURNING id";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![ADD];

/// Separates the parts of the text that a search compares; no text of a client contains it.
pub(crate) const SEPARATOR: char = '\u{1f}';

/// A change to be stored.
#[derive(Clone, Debug)]
pub struct NewDiff {
    pub system_id: SystemId,
    /// Record compared with.
    pub previous_id: i64,
    /// Record compared.
    pub current_id: i64,
    /// Its timestamp.
    pub record_at: Ts,
    /// 0 delete, 1 update, 2 create.
    pub kind: i64,
    /// 0 critical, 1 high, 2 medium, 3 low.
    pub severity: i64,
    /// Word of the category.
    pub category: &'static str,
    /// Shown path.
    pub field_path: String,
    /// JSON text; none on a create.
    pub previous: Option<String>,
    /// JSON text; none on a delete.
    pub current: Option<String>,
    /// Now.
    pub created_at: Ts,
}

impl NewDiff {
    /// The folded text that a search compares; empty when folding changes nothing.
    fn folded(&self) -> String {
        let (previous, current) = (self.previous.as_deref(), self.current.as_deref());
        let parts = [self.field_path.as_str(), previous.unwrap_or_default(), current.unwrap_or_default()];
        let folded = parts.map(fold);
        if folded.iter().zip(parts).all(|(folded, part)| folded == part) {
            return String::new();
        }
        folded.join(&String::from(SEPARATOR))
    }
}

/// Stores changes in this order and returns their ids. The rows are stored as already notified: receivers read the rows
/// themselves.
pub async fn add(tx: &mut Tx, diffs: Vec<NewDiff>) -> Result<Vec<i64>, StoreError> {
    let mut ids = Vec::with_capacity(diffs.len());
    if !tx.is_postgres() {
        for d in diffs {
            let folded = d.folded();
            let q = Q::new(ADD).bind(d.system_id).bind(d.previous_id).bind(d.current_id).bind(d.record_at);
            let q = q.bind(d.kind).bind(d.severity).bind(d.category).bind(d.field_path);
            let q = q.bind(d.previous.unwrap_or_default()).bind(d.current.unwrap_or_default());
            ids.push(q.bind(folded).bind(d.created_at).one::<(i64,)>(&mut *tx).await?.0);
        }
        return Ok(ids);
    }
    if diffs.is_empty() {
        return Ok(ids);
    }
    let ints = |value: fn(&NewDiff) -> i64| Arg::Ints(diffs.iter().map(value).collect());
    let times = |value: fn(&NewDiff) -> Ts| Arg::Times(diffs.iter().map(value).collect());
    let texts = |value: fn(&NewDiff) -> String| Arg::Texts(diffs.iter().map(value).collect());
    let q = Q::new(ADD)
        .bind(Arg::Ids(diffs.iter().map(|d| d.system_id.0).collect()))
        .bind(ints(|d| d.previous_id))
        .bind(ints(|d| d.current_id))
        .bind(times(|d| d.record_at))
        .bind(ints(|d| d.kind))
        .bind(ints(|d| d.severity))
        .bind(texts(|d| d.category.to_owned()))
        .bind(texts(|d| d.field_path.clone()))
        .bind(texts(|d| d.previous.clone().unwrap_or_default()))
        .bind(texts(|d| d.current.clone().unwrap_or_default()))
        .bind(texts(NewDiff::folded))
        .bind(times(|d| d.created_at));
    ids.extend(q.all::<(i64,)>(tx).await?.into_iter().map(|row| row.0));
    // Ids follow the order of the rows, whatever order the database returns them in.
    ids.sort_unstable();
    Ok(ids)
}
