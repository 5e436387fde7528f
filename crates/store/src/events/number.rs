//! Numbers events in the order of commits.

use super::SYSTEM;
use crate::{
    Db, StoreError, Tx,
    sql::{Column, On, Q, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts};
use bailiwick_policy::Path;
use serde_json::{Value, json};
use sqlx_macros::FromRow;
use std::collections::{BTreeSet, HashMap};
use uuid::Uuid;

const WAITING: &str = "SELECT id FROM event_outbox ORDER BY id LIMIT 1";
/// A process that does not get the row leaves the work to the process that holds it.
const POSITION: &str = "SELECT p.last FROM event_position p WHERE p.id = 1 [[FOR UPDATE SKIP LOCKED||]]";
const LAST: &str = "SELECT p.last FROM event_position p WHERE p.id = 1";
const MOVE_ON: &str = "UPDATE event_position SET last = ? WHERE id = 1";
/// Rows of one object come in the order of its changes: the second writer holds the object, so the first has committed,
/// with a smaller id.
const TAKE: &str = "SELECT x.id, x.at, x.type, \
     COALESCE(x.organization_id, s.organization_id, k.organization_id, u.organization_id) AS organization_id, x.object_id, x.subject, \
     COALESCE(x.system_id, k.id) AS system_id, COALESCE(s.name, k.name) AS system_name, x.user_id, x.data \
     FROM event_outbox x LEFT JOIN systems s ON s.id = x.system_id \
     LEFT JOIN systems k ON k.system_key = x.system_key \
     LEFT JOIN users u ON u.id = x.user_id \
     ORDER BY x.id LIMIT ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![WAITING, POSITION, LAST, MOVE_ON, TAKE];

/// Rows of one step. The columns of each are values of one statement.
const STEP: usize = 500;

#[derive(FromRow)]
struct Waiting {
    id: i64,
    at: TsCodec,
    #[sqlx(rename = "type")]
    kind: String,
    organization_id: Option<Uuid>,
    object_id: String,
    subject: Option<String>,
    system_id: Option<Uuid>,
    system_name: Option<String>,
    user_id: Option<Uuid>,
    data: Value,
}

/// An event that has a number now.
#[derive(Clone, Debug)]
pub struct Numbered {
    /// Its number.
    pub seq: i64,
    pub id: Uuid,
    /// When.
    pub at: Ts,
    /// Its type.
    pub kind: String,
    /// Place of the organization it belongs to.
    pub path: Path,
    /// Id of the object.
    pub object_id: String,
}

/// Whether events wait for their numbers.
pub async fn is_waiting(db: &Db) -> Result<bool, StoreError> {
    let row: Option<(i64,)> = Q::by_index(WAITING).optional(db).await?;
    Ok(row.is_some())
}

/// The newest number.
pub async fn position(on: impl Into<On<'_>>) -> Result<i64, StoreError> {
    let (last,): (i64,) = Q::new(LAST).one(on).await?;
    Ok(last)
}

/// Numbers waiting events, as many as one step takes. None: another process is numbering, or none are waiting. Readers
/// see the numbers with the commit of `tx`.
pub async fn number(
    tx: &mut Tx,
    mut fresh: impl FnMut() -> Uuid,
) -> Result<Option<Vec<Numbered>>, StoreError> {
    let position: Option<(i64,)> = Q::new(POSITION).optional(&mut *tx).await?;
    let Some((mut seq,)) = position else { return Ok(None) };
    let limit = i64::try_from(STEP).unwrap_or(i64::MAX);
    // A separate statement after the one that locked the row: it sees everything committed until then.
    let waiting: Vec<Waiting> = Q::by_index(TAKE).bind(limit).all(&mut *tx).await?;
    if waiting.is_empty() {
        return Ok(None);
    }
    let ids: Vec<i64> = waiting.iter().map(|w| w.id).collect();
    let paths = lock_organizations(tx, &waiting).await?;
    let mut rows = Vec::with_capacity(waiting.len());
    for w in waiting {
        // No reader may see the events of an organization that no longer exists.
        let Some(path) = w.organization_id.and_then(|id| paths.get(&id)).copied() else { continue };
        seq += 1;
        let one = Numbered {
            seq,
            id: fresh(),
            at: w.at.0,
            kind: w.kind.clone(),
            path,
            object_id: w.object_id.clone(),
        };
        rows.push((one, complete(w)));
    }
    insert(tx, &rows).await?;
    let mut q = Q::by_index("DELETE FROM event_outbox WHERE id IN (");
    q.list(ids).push(")");
    q.run(tx).await?;
    Q::new(MOVE_ON).bind(seq).run(tx).await?;
    Ok(Some(rows.into_iter().map(|(one, _)| one).collect()))
}

/// Locks the organizations of these events until the events have their numbers, in the order in which a destruction
/// locks them. Returns the existing ones with their places.
async fn lock_organizations(tx: &mut Tx, waiting: &[Waiting]) -> Result<HashMap<Uuid, Path>, StoreError> {
    let all: BTreeSet<Uuid> = waiting.iter().filter_map(|w| w.organization_id).collect();
    let mut q = Q::new("SELECT o.id, o.p2, o.p3 FROM organizations o WHERE o.id IN (");
    q.list(all).push(") ORDER BY o.id [[FOR KEY SHARE||]]");
    let rows: Vec<(Uuid, Uuid, Uuid)> = q.all(tx).await?;
    let path = |(id, p2, p3)| (id, Path { id: OrgId(id), p2: OrgId(p2), p3: OrgId(p3) });
    Ok(rows.into_iter().map(path).collect())
}

/// Adds the data of the system that the writer did not know.
fn complete(mut w: Waiting) -> Waiting {
    if let Some(system) = w.system_id {
        w.subject = w.subject.map(|subject| subject.replace(SYSTEM, &system.to_string()));
        if let Some(data) = w.data.as_object_mut().filter(|_| !w.kind.starts_with("system.")) {
            data.insert("system_id".to_owned(), json!(system));
            data.insert("system_name".to_owned(), json!(w.system_name));
        } else if let (Some(data), Some(name)) = (w.data.as_object_mut(), &w.system_name) {
            data.entry("name").or_insert_with(|| json!(name));
        }
    }
    // Without its system there is no object it refers to.
    w.subject = w.subject.filter(|subject| !subject.contains(SYSTEM));
    if let Some((data, organization)) = w.data.as_object_mut().zip(w.organization_id) {
        data.entry("organization_id").or_insert_with(|| json!(organization));
    }
    w
}

async fn insert(tx: &mut Tx, rows: &[(Numbered, Waiting)]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let each = || rows.iter();
    let columns = vec![
        ("seq", Column::Ints(each().map(|(n, _)| n.seq).collect())),
        ("id", Column::Ids(each().map(|(n, _)| n.id).collect())),
        ("at", Column::times(each().map(|(n, _)| n.at))),
        ("type", Column::texts(each().map(|(n, _)| n.kind.as_str()))),
        ("o", Column::Ids(each().map(|(n, _)| n.path.id.0).collect())),
        ("p2", Column::Ids(each().map(|(n, _)| n.path.p2.0).collect())),
        ("p3", Column::Ids(each().map(|(n, _)| n.path.p3.0).collect())),
        ("object_id", Column::texts(each().map(|(_, w)| w.object_id.as_str()))),
        ("subject", Column::Texts(each().map(|(_, w)| w.subject.clone()).collect())),
        ("system_id", Column::SomeIds(each().map(|(_, w)| w.system_id).collect())),
        ("user_id", Column::SomeIds(each().map(|(_, w)| w.user_id).collect())),
        ("data", Column::Texts(each().map(|(_, w)| Some(w.data.to_string())).collect())),
    ];
    let mut q = Q::new(
        "INSERT INTO events (seq, id, at, type, organization_id, p2, p3, object_id, subject, system_id, user_id, data) \
         SELECT v.seq, v.id, v.at, v.type, v.o, v.p2, v.p3, v.object_id, v.subject, v.system_id, v.user_id, \
         [[CAST(v.data AS jsonb)||v.data]] FROM ",
    );
    push_rows(&mut q, tx.is_postgres(), columns);
    q.run(tx).await?;
    Ok(())
}
