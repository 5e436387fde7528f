//! The notification log: the notifications of groups of alerts that each integration was sent, and failures.

use super::{GroupKey, group_columns};
use crate::{
    Db, StoreError, Tx,
    sql::{Column, Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts};
use sqlx_macros::FromRow;
use uuid::Uuid;

const PURGE: &str = "DELETE FROM router_notices WHERE \
     [[ctid = ANY(ARRAY(SELECT ctid||(organization_id, group_id, receiver, integration) IN \
     (SELECT organization_id, group_id, receiver, integration]] FROM router_notices WHERE told_at < ? \
     ORDER BY told_at LIMIT ? [[FOR UPDATE SKIP LOCKED))||)]]";
const PURGE_FAILURES: &str = "DELETE FROM router_failures WHERE failed_at < ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![PURGE, PURGE_FAILURES];

/// The last notification of a group that an integration accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub group: GroupKey,
    /// Name of the receiver.
    pub receiver: String,
    /// Which of the receiver's recipients.
    pub integration: String,
    /// Alerts that fired.
    pub firing: String,
    /// Alerts that were over.
    pub resolved: String,
    /// When.
    pub told_at: Ts,
}

#[derive(FromRow)]
struct NoticeRow {
    organization_id: Uuid,
    group_id: String,
    receiver: String,
    integration: String,
    firing: String,
    resolved: String,
    told_at: TsCodec,
}

/// The notices of these groups.
pub async fn notices(db: &Db, groups: &[GroupKey]) -> Result<Vec<Notice>, StoreError> {
    let mut notices: Vec<NoticeRow> = Vec::new();
    for chunk in groups.chunks(ROWS) {
        let mut q = Q::by_index(
            "SELECT n.organization_id, n.group_id, n.receiver, n.integration, n.firing, n.resolved, n.told_at FROM ",
        );
        push_rows(&mut q, db.is_postgres(), group_columns(chunk.iter()));
        q.push(" [[JOIN||CROSS JOIN]] router_notices n ON n.organization_id = v.o AND n.group_id = v.g");
        notices.extend(q.all::<NoticeRow>(db).await?);
    }
    let notice = |r: NoticeRow| Notice {
        group: (OrgId(r.organization_id), r.group_id),
        receiver: r.receiver,
        integration: r.integration,
        firing: r.firing,
        resolved: r.resolved,
        told_at: r.told_at.0,
    };
    Ok(notices.into_iter().map(notice).collect())
}

/// Notes sent notifications, each (group, receiver, integration) at most once; those of removed tenants are left out.
pub async fn note(tx: &mut Tx, notices: &[Notice]) -> Result<(), StoreError> {
    for chunk in notices.chunks(ROWS) {
        let each = || chunk.iter();
        let mut columns = group_columns(each().map(|n| &n.group));
        columns.extend([
            ("receiver", Column::texts(each().map(|n| n.receiver.as_str()))),
            ("integration", Column::texts(each().map(|n| n.integration.as_str()))),
            ("firing", Column::texts(each().map(|n| n.firing.as_str()))),
            ("resolved", Column::texts(each().map(|n| n.resolved.as_str()))),
            ("told_at", Column::times(each().map(|n| n.told_at))),
        ]);
        let mut q = Q::new(
            "INSERT INTO router_notices (organization_id, group_id, receiver, integration, firing, resolved, told_at) \
             SELECT v.o, v.g, v.receiver, v.integration, v.firing, v.resolved, v.told_at FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(
            " [[JOIN||CROSS JOIN]] organizations o ON o.id = v.o WHERE 1 = 1 [[FOR KEY SHARE OF o||]] \
             ON CONFLICT (organization_id, group_id, receiver, integration) DO UPDATE SET \
             firing = excluded.firing, resolved = excluded.resolved, told_at = excluded.told_at",
        );
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Removes up to `limit` notices sent before `before`; how many.
pub async fn purge(tx: &mut Tx, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::by_index(PURGE).bind(before).bind(limit).run(tx).await
}

/// A recipient that the last notification did not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Digest of the recipient.
    pub recipient: String,
    /// Why, for people.
    pub reason: String,
    /// When.
    pub failed_at: Ts,
}

/// Notes failures, each recipient at most once.
pub async fn note_failures(tx: &mut Tx, failed: &[Failed]) -> Result<(), StoreError> {
    for chunk in failed.chunks(ROWS) {
        let columns = vec![
            ("recipient", Column::texts(chunk.iter().map(|f| f.recipient.as_str()))),
            ("reason", Column::texts(chunk.iter().map(|f| f.reason.as_str()))),
            ("failed_at", Column::times(chunk.iter().map(|f| f.failed_at))),
        ];
        let mut q = Q::new(
            "INSERT INTO router_failures (recipient, reason, failed_at) SELECT v.recipient, v.reason, v.failed_at FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(
            " WHERE 1 = 1 ON CONFLICT (recipient) DO UPDATE SET reason = excluded.reason, failed_at = excluded.failed_at",
        );
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Removes the failures of recipients that were reached.
pub async fn forget_failures(tx: &mut Tx, recipients: &[String]) -> Result<(), StoreError> {
    for chunk in recipients.chunks(ROWS) {
        let mut q = Q::new("DELETE FROM router_failures WHERE recipient IN (");
        q.list(chunk).push(")");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Those of these recipients that the last notification did not reach.
pub async fn failures(db: &Db, recipients: &[String]) -> Result<Vec<Failed>, StoreError> {
    let mut failures = Vec::new();
    for chunk in recipients.chunks(ROWS) {
        let mut q = Q::new("SELECT recipient, reason, failed_at FROM router_failures WHERE recipient IN (");
        q.list(chunk).push(")");
        let rows: Vec<(String, String, TsCodec)> = q.all(db).await?;
        let failed = |(recipient, reason, at): (String, String, TsCodec)| Failed {
            recipient,
            reason,
            failed_at: at.0,
        };
        failures.extend(rows.into_iter().map(failed));
    }
    Ok(failures)
}

/// Removes failures from before `before`; returns how many.
pub async fn purge_failures(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::by_index(PURGE_FAILURES).bind(before).run(tx).await
}
