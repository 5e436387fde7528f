//! The audit log. Rows are written in the transaction of the change and never changed again, but for the place that
//! their organization has in the tree. [`listing`] has what the people of a branch read.

pub mod listing;

use crate::{
    Db, StoreError, Tx,
    sql::{Column, Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{AuditAction, OrgId, Ts, UserId};
use serde_json::Value;
use sqlx_macros::FromRow;
use uuid::Uuid;

const INSERT: &str = "INSERT INTO audit_log \
    (at, actor_user_id, acting_for_user_id, actor_organization_id, p2, p3, action, object_type, object_id, before, \
    after, request_id) VALUES (?, ?, ?, ?, (SELECT o.p2 FROM organizations o WHERE o.id = ?), \
    (SELECT o.p3 FROM organizations o WHERE o.id = ?), ?, ?, ?, ?, ?, ?)";

/// One row. Secrets never go into `before` or `after`.
#[derive(Clone, Debug)]
pub struct AuditRecord<'a> {
    /// When.
    pub at: Ts,
    /// The person who acted; while impersonating, the impersonator. None: a job or the command line.
    pub actor_user_id: Option<UserId>,
    /// The impersonated user, while the actor impersonates.
    pub acting_for_user_id: Option<UserId>,
    /// Organization of the user whose rights were used.
    pub actor_organization_id: Option<OrgId>,
    /// `<object type>.<action>`: `customer.create`.
    pub action: AuditAction,
    /// The kind of the object: `customer`, `user`, `system`.
    pub object_type: &'a str,
    pub object_id: Option<Uuid>,
    /// State before, as far as the action changed it.
    pub before: Option<Value>,
    /// State after.
    pub after: Option<Value>,
    /// `X-Request-Id` of the request.
    pub request_id: Option<&'a str>,
}

impl AuditRecord<'static> {
    /// What an operator has done to a user by the command line.
    pub fn of_operator(at: Ts, action: AuditAction, user: UserId) -> AuditRecord<'static> {
        AuditRecord {
            at,
            actor_user_id: None,
            acting_for_user_id: None,
            actor_organization_id: None,
            action,
            object_type: "user",
            object_id: Some(user.0),
            before: None,
            after: None,
            request_id: None,
        }
    }
}

/// Appends a row.
pub async fn record(tx: &mut Tx, entry: AuditRecord<'_>) -> Result<(), StoreError> {
    Q::new(INSERT)
        .bind(entry.at)
        .bind(entry.actor_user_id)
        .bind(entry.acting_for_user_id)
        .bind(entry.actor_organization_id)
        .bind(entry.actor_organization_id)
        .bind(entry.actor_organization_id)
        .bind(entry.action.to_string())
        .bind(entry.object_type)
        .bind(entry.object_id)
        .bind(entry.before)
        .bind(entry.after)
        .bind(entry.request_id)
        .run(tx)
        .await?;
    Ok(())
}

/// Appends the same row for each of these objects.
pub async fn record_of_all(tx: &mut Tx, entry: AuditRecord<'_>, objects: &[Uuid]) -> Result<(), StoreError> {
    for chunk in objects.chunks(ROWS) {
        let mut q = Q::new(
            "INSERT INTO audit_log (at, actor_user_id, acting_for_user_id, actor_organization_id, p2, p3, action, \
             object_type, object_id, before, after, request_id) SELECT ?, ?, ?, ?, \
             (SELECT o.p2 FROM organizations o WHERE o.id = ?), (SELECT o.p3 FROM organizations o WHERE o.id = ?), \
             ?, ?, v.id, ?, ?, ? FROM ",
        )
        .bind(entry.at)
        .bind(entry.actor_user_id)
        .bind(entry.acting_for_user_id)
        .bind(entry.actor_organization_id)
        .bind(entry.actor_organization_id)
        .bind(entry.actor_organization_id)
        .bind(entry.action.to_string())
        .bind(entry.object_type)
        .bind(entry.before.clone())
        .bind(entry.after.clone())
        .bind(entry.request_id);
        push_rows(&mut q, tx.is_postgres(), vec![("id", Column::Ids(chunk.to_vec()))]);
        q.run(tx).await?;
    }
    Ok(())
}

const IS_RECORDED: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM audit_log WHERE object_id = ? AND action = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![INSERT, IS_RECORDED];

/// Whether this was done to the object before.
pub async fn is_recorded(tx: &mut Tx, object: Uuid, action: AuditAction) -> Result<bool, StoreError> {
    Ok(Q::new(IS_RECORDED).bind(object).bind(action.to_string()).count(tx).await? > 0)
}

/// A row as it is read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Number, in the order of writing.
    pub id: i64,
    /// When.
    pub at: Ts,
    /// The user who acted; none = a job or the command line.
    pub actor_user_id: Option<UserId>,
    /// The user's present address, while they exist.
    pub actor_email: Option<String>,
    /// The impersonated user, while the actor impersonates.
    pub acting_for_user_id: Option<UserId>,
    /// Organization of the user whose rights were used.
    pub actor_organization_id: Option<OrgId>,
    /// `<object type>.<action>`.
    pub action: String,
    /// The kind of the object.
    pub object_type: String,
    pub object_id: Option<Uuid>,
    /// State before.
    pub before: Option<Value>,
    /// State after.
    pub after: Option<Value>,
    /// `X-Request-Id` of the request.
    pub request_id: Option<String>,
}

#[derive(FromRow)]
struct Row {
    id: i64,
    at: TsCodec,
    actor_user_id: Option<Uuid>,
    actor_email: Option<String>,
    acting_for_user_id: Option<Uuid>,
    actor_organization_id: Option<Uuid>,
    action: String,
    object_type: String,
    object_id: Option<Uuid>,
    before: Option<Value>,
    after: Option<Value>,
    request_id: Option<String>,
}

impl From<Row> for Recorded {
    fn from(row: Row) -> Recorded {
        Recorded {
            id: row.id,
            at: row.at.0,
            actor_user_id: row.actor_user_id.map(UserId),
            actor_email: row.actor_email,
            acting_for_user_id: row.acting_for_user_id.map(UserId),
            actor_organization_id: row.actor_organization_id.map(OrgId),
            action: row.action,
            object_type: row.object_type,
            object_id: row.object_id,
            before: row.before,
            after: row.after,
            request_id: row.request_id,
        }
    }
}

/// The filter; none = all. All conditions must match.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Not before.
    pub since: Option<Ts>,
    /// Before.
    pub until: Option<Ts>,
    /// The user who acted.
    pub actor: Option<UserId>,
    /// Organization of the user whose rights were used.
    pub organization: Option<OrgId>,
    pub object: Option<Uuid>,
    /// Beginning of the action.
    pub action: Option<String>,
    pub request_id: Option<String>,
}

/// The last row of the page before.
pub type Cursor = (Ts, i64);

/// The next rows after the cursor, the newest first.
pub async fn page(
    db: &Db,
    filter: &Filter,
    after: Option<Cursor>,
    rows: u64,
) -> Result<Vec<Recorded>, StoreError> {
    let mut q = Q::new(
        "SELECT a.id, a.at, a.actor_user_id, u.email AS actor_email, a.acting_for_user_id, a.actor_organization_id, \
         a.action, a.object_type, a.object_id, a.before, a.after, a.request_id \
         FROM audit_log a LEFT JOIN users u ON u.id = a.actor_user_id WHERE 1 = 1",
    );
    if let Some(since) = filter.since {
        q.push(" AND a.at >= ?").arg(since);
    }
    if let Some(until) = filter.until {
        q.push(" AND a.at < ?").arg(until);
    }
    if let Some(actor) = filter.actor {
        q.push(" AND a.actor_user_id = ?").arg(actor);
    }
    if let Some(organization) = filter.organization {
        q.push(" AND a.actor_organization_id = ?").arg(organization);
    }
    if let Some(object) = filter.object {
        q.push(" AND a.object_id = ?").arg(object);
    }
    if let Some(action) = &filter.action {
        // A range of the index: nothing sorts behind the last character.
        q.push(" AND a.action >= ? AND a.action < ?").arg(action).arg(format!("{action}\u{10ffff}"));
    }
    if let Some(request) = &filter.request_id {
        q.push(" AND a.request_id = ?").arg(request);
    }
    if let Some((at, id)) = after {
        q.push(" AND a.at <= ? AND (a.at < ? OR a.id < ?)").arg(at).arg(at).arg(id);
    }
    q.push(" ORDER BY a.at DESC, a.id DESC LIMIT ?").arg(rows);
    Ok(q.all::<Row>(db).await?.into_iter().map(Recorded::from).collect())
}
