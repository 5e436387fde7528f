//! How people handle alerts (spec: alert-management#handling): assignees, and the record of all actions.

use crate::{
    Db, StoreError, Tx,
    alert_rows::{AlertKey, Spared, key_columns},
    sql::{Column, On, Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts, UserId, fold::fold};
use serde_json::{Value, json};
use sqlx_macros::FromRow;
use uuid::Uuid;

const REMOVE_OF_SYSTEM: &str = "DELETE FROM alert_assignments WHERE organization_id = ? AND system_key = ?";
const PURGE: &str = "DELETE FROM alert_activity WHERE id [[= ANY(ARRAY(||IN (]]SELECT a.id FROM alert_activity a \
     WHERE a.created_at < ? ORDER BY a.created_at LIMIT ?[[))||)]]";
const COUNT_OLD: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_activity WHERE created_at < ?";

#[derive(FromRow)]
struct Ended {
    organization_id: Uuid,
    fingerprint: String,
    assigned_user_id: Uuid,
    assigned_user_name: String,
    assigned_user_org_id: Uuid,
    assigned_user_org_name: String,
}

/// Ends the assignments of alerts that have ended, and records it.
pub async fn end(tx: &mut Tx, alerts: &[AlertKey], now: Ts) -> Result<(), StoreError> {
    for chunk in alerts.chunks(ROWS) {
        let mut q = Q::new(
            "DELETE FROM alert_assignments WHERE (organization_id, fingerprint) IN (SELECT v.o, v.f FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), key_columns(chunk.iter()));
        q.push(
            ") RETURNING organization_id, fingerprint, assigned_user_id, assigned_user_name, assigned_user_org_id, \
             assigned_user_org_name",
        );
        let ended: Vec<Ended> = q.all(&mut *tx).await?;
        if ended.is_empty() {
            continue;
        }
        tx.active_alerts_changed();
        let details = |e: &Ended| {
            json!({
                "reason": "resolved",
                "assigned_user_id": e.assigned_user_id, "assigned_user_name": e.assigned_user_name,
                "assigned_user_org_id": e.assigned_user_org_id,
                "assigned_user_org_name": e.assigned_user_org_name,
            })
        };
        let columns = vec![
            ("o", Column::Ids(ended.iter().map(|e| e.organization_id).collect())),
            ("f", Column::texts(ended.iter().map(|e| e.fingerprint.as_str()))),
            ("details", Column::Texts(ended.iter().map(|e| Some(details(e).to_string())).collect())),
        ];
        let mut q = Q::new(
            "INSERT INTO alert_activity (organization_id, fingerprint, action, details, created_at) \
             SELECT v.o, v.f, 'unassigned', [[CAST(v.details AS jsonb)||v.details]], ? FROM ",
        );
        q.arg(now);
        push_rows(&mut q, tx.is_postgres(), columns);
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Removes the remaining assignments of a system's alerts.
pub(crate) async fn remove_of_system(
    tx: &mut Tx,
    organization: OrgId,
    system_key: &str,
) -> Result<(), StoreError> {
    tx.active_alerts_changed();
    Q::new(REMOVE_OF_SYSTEM).bind(organization).bind(system_key).run(tx).await?;
    Ok(())
}

/// Removes up to `limit` records made before `before`; returns how many.
pub async fn purge(tx: &mut Tx, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::by_index(PURGE).bind(before).bind(limit).run(tx).await
}

/// How many records [`purge`] would remove in all.
pub async fn count_old(db: &Db, before: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_OLD).bind(before).count(db).await
}

/// The recorded handling of an alert.
#[derive(Clone, Debug)]
pub struct Doing {
    /// Tenant.
    pub organization_id: OrgId,
    /// The alert.
    pub fingerprint: String,
    /// `silenced`, `silence_updated`, `unsilenced`, `assigned`, `note_added`.
    pub action: &'static str,
    pub actor: (UserId, String),
    /// The silence it is about.
    pub silence_id: Option<Uuid>,
    /// More, by the action.
    pub details: Value,
    /// When.
    pub at: Ts,
}

const RECORD: &str = "INSERT INTO alert_activity (organization_id, fingerprint, action, actor_user_id, \
     actor_name, silence_id, details, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
const SILENCED: &str = "SELECT a.fingerprint FROM alert_activity a WHERE a.organization_id = ? \
     AND a.silence_id = ? ORDER BY a.id DESC LIMIT 1";
const EVENTS: &str = "SELECT a.id, a.action, a.actor_user_id, a.actor_name, a.silence_id, a.details, \
     a.created_at FROM alert_activity a WHERE a.organization_id = ? AND a.fingerprint = ? \
     ORDER BY a.created_at DESC, a.id DESC LIMIT ?";
const FIRING: &str = "SELECT h.system_key FROM alert_history h WHERE h.organization_id = ? \
     AND h.fingerprint = ? AND h.status = 'firing'";
const FIRING_NOW: &str = "SELECT h.system_key FROM alert_history h WHERE h.organization_id = ? \
     AND h.fingerprint = ? AND h.status = 'firing' AND (h.expires_at >= ? OR (h.expires_at >= ? AND h.expires_at <= ?))";
const ASSIGNED: &str = "SELECT assigned_user_id, assigned_user_name FROM alert_assignments WHERE organization_id = ? AND fingerprint = ?";
const ASSIGN: &str = "INSERT INTO alert_assignments (organization_id, fingerprint, system_key, \
     assigned_user_id, assigned_user_name, assigned_user_key, assigned_user_org_id, assigned_user_org_name, assigned_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (organization_id, fingerprint) DO UPDATE SET \
     system_key = excluded.system_key, assigned_user_id = excluded.assigned_user_id, \
     assigned_user_name = excluded.assigned_user_name, assigned_user_key = excluded.assigned_user_key, \
     assigned_user_org_id = excluded.assigned_user_org_id, assigned_user_org_name = excluded.assigned_user_org_name, \
     assigned_at = excluded.assigned_at";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    REMOVE_OF_SYSTEM,
    PURGE,
    COUNT_OLD,
    RECORD,
    SILENCED,
    EVENTS,
    FIRING,
    FIRING_NOW,
    ASSIGNED,
    ASSIGN
];

/// The assignee of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub user_id: UserId,
    /// Their name at that moment.
    pub user_name: String,
    /// Their organization.
    pub user_org_id: OrgId,
    /// Its name at that moment.
    pub user_org_name: String,
    /// Since when.
    pub assigned_at: Ts,
}

/// Records an action.
pub async fn record(tx: &mut Tx, doing: Doing) -> Result<(), StoreError> {
    let (user, name) = doing.actor;
    Q::new(RECORD)
        .bind(doing.organization_id)
        .bind(doing.fingerprint)
        .bind(doing.action)
        .bind(user)
        .bind(name)
        .bind(doing.silence_id)
        .bind(doing.details)
        .bind(doing.at)
        .run(tx)
        .await?;
    Ok(())
}

/// The alert that management created this silence for.
pub async fn silenced(tx: &mut Tx, organization: OrgId, silence: Uuid) -> Result<Option<String>, StoreError> {
    let row: Option<(String,)> = Q::new(SILENCED).bind(organization).bind(silence).optional(tx).await?;
    Ok(row.map(|(fingerprint,)| fingerprint))
}

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Number.
    pub id: i64,
    pub action: String,
    /// The user; none = the service itself.
    pub actor: Option<(UserId, String)>,
    /// The silence it is about.
    pub silence_id: Option<Uuid>,
    /// More, by the action.
    pub details: Value,
    /// When.
    pub created_at: Ts,
}

#[derive(FromRow)]
struct EventRow {
    id: i64,
    action: String,
    actor_user_id: Option<Uuid>,
    actor_name: Option<String>,
    silence_id: Option<Uuid>,
    details: Value,
    created_at: TsCodec,
}

/// The newest records about an alert, newest first.
pub async fn events(
    db: &Db,
    organization: OrgId,
    fingerprint: &str,
    limit: u64,
) -> Result<Vec<Event>, StoreError> {
    let rows: Vec<EventRow> = Q::new(EVENTS).bind(organization).bind(fingerprint).bind(limit).all(db).await?;
    let event = |r: EventRow| Event {
        id: r.id,
        action: r.action,
        actor: r.actor_user_id.map(UserId).zip(r.actor_name),
        silence_id: r.silence_id,
        details: r.details,
        created_at: r.created_at.0,
    };
    Ok(rows.into_iter().map(event).collect())
}

/// The system of this alert, if the history shows the alert as firing.
pub async fn firing(
    on: impl Into<On<'_>>,
    organization: OrgId,
    fingerprint: &str,
) -> Result<Option<String>, StoreError> {
    let row: Option<(String,)> = Q::new(FIRING).bind(organization).bind(fingerprint).optional(on).await?;
    Ok(row.map(|(key,)| key))
}

/// The firing alert, if it has not ended at `now`; ends spared after an outage do not count.
pub async fn firing_now(
    tx: &mut Tx,
    organization: OrgId,
    fingerprint: &str,
    now: Ts,
    spared: Spared,
) -> Result<Option<String>, StoreError> {
    let (from, to) = spared.unwrap_or((now, now));
    let q = Q::new(FIRING_NOW).bind(organization).bind(fingerprint).bind(now).bind(from).bind(to);
    let row: Option<(String,)> = q.optional(tx).await?;
    Ok(row.map(|(key,)| key))
}

/// The assignee of an alert: id and name.
pub async fn assigned(
    tx: &mut Tx,
    organization: OrgId,
    fingerprint: &str,
) -> Result<Option<(UserId, String)>, StoreError> {
    let row: Option<(Uuid, String)> =
        Q::new(ASSIGNED).bind(organization).bind(fingerprint).optional(tx).await?;
    Ok(row.map(|(id, name)| (UserId(id), name)))
}

/// Assigns a firing alert to a user, in place of the previous assignee; its organization is held.
pub async fn assign(
    tx: &mut Tx,
    (organization, fingerprint, system_key): (OrgId, &str, &str),
    to: &Assignment,
) -> Result<(), StoreError> {
    tx.active_alerts_changed();
    Q::new(ASSIGN)
        .bind(organization)
        .bind(fingerprint)
        .bind(system_key)
        .bind(to.user_id)
        .bind(&to.user_name)
        .bind(fold(&to.user_name))
        .bind(to.user_org_id)
        .bind(&to.user_org_name)
        .bind(to.assigned_at)
        .run(tx)
        .await?;
    Ok(())
}
