//! `LinkFailed` alerts (spec: systems#link-failed): which systems are inactive, and which alerts were raised for them.
//! The rows of raised alerts outlive their systems.

use crate::{Db, StoreError, Tx, sql::Q, systems::own_marked, time::TsCodec, tree::parse_type};
use bailiwick_domain::{OrgId, SystemId, Ts, org::OrgRef};
use sqlx_macros::FromRow;
use std::collections::BTreeSet;
use uuid::Uuid;

/// The inactive systems of a source: `$source` finds candidates without reading a system, then status and marks decide.
/// `OFFSET 0` (`LIMIT -1`) makes the engine run the source first and in order; LATERAL looks up each candidate by its
/// key.
macro_rules! silent {
    ($source:expr, $condition:literal) => {
        concat!(
            "[[SELECT v.* FROM (",
            $source,
            " ORDER BY c.system_id OFFSET 0) c CROSS JOIN LATERAL (||]]SELECT s.id, s.system_key, s.name, \
             s.type AS system_type, s.fqdn, s.ipv4_address, o.id AS org_id, o.name AS org_name, o.type AS org_type, \
             o.vat, a.last_heartbeat FROM [[||(",
            $source,
            " ORDER BY c.system_id LIMIT -1) c CROSS JOIN ]]systems s [[JOIN||CROSS JOIN]] system_activity a ON a.system_id = s.id \
             [[JOIN||CROSS JOIN]] organizations o ON o.id = s.organization_id \
             LEFT JOIN link_alerts l ON l.system_id = s.id AND l.organization_id = s.organization_id \
             WHERE s.id = c.system_id AND ",
            $condition,
            " AND a.status = 2 AND s.deleted_at IS NULL AND s.suspended_at IS NULL \
             AND o.eff_deleted_at IS NULL AND o.eff_suspended_at IS NULL[[ OFFSET 0) v||]] \
             ORDER BY c.system_id LIMIT ?"
        )
    };
}

const NEW: &str = silent!(
    concat!(
        "SELECT c.system_id FROM system_activity c JOIN organizations o ON o.id = c.organization_id \
         LEFT JOIN link_alerts l ON l.system_id = c.system_id AND l.organization_id = c.organization_id \
         WHERE c.status = 2 AND c.system_id > ? AND o.eff_deleted_at IS NULL AND o.eff_suspended_at IS NULL \
         AND l.system_id IS NULL AND c.system_id NOT IN ",
        own_marked!()
    ),
    "l.system_id IS NULL"
);
/// By system and not by time: refreshing moves the time, and an index of it would cost more than it finds.
const RAISED: &str = silent!(
    "SELECT c.system_id, c.organization_id FROM link_alerts c WHERE c.refreshed_at <= ? AND c.system_id > ?",
    "l.organization_id = c.organization_id"
);
/// Alerts whose system is not inactive in their organization, or marked.
const OVER: &str = concat!(
    "SELECT l.system_id, l.organization_id, l.system_key FROM link_alerts l \
     LEFT JOIN system_activity k ON k.system_id = l.system_id AND k.organization_id = l.organization_id \
     AND k.status = 2 LEFT JOIN organizations o ON o.id = l.organization_id \
     WHERE (l.system_id, l.organization_id) > (?, ?) AND (k.system_id IS NULL OR o.id IS NULL \
     OR o.eff_deleted_at IS NOT NULL OR o.eff_suspended_at IS NOT NULL OR l.system_id IN ",
    own_marked!(),
    ") ORDER BY l.system_id, l.organization_id LIMIT ?"
);

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![NEW, RAISED, OVER];

/// Rows of one statement.
const ROWS: usize = 500;

/// An inactive system.
#[derive(Clone, Debug, PartialEq)]
pub struct Silent {
    pub id: SystemId,
    pub system_key: String,
    pub name: String,
    /// `""` when unset, as the following.
    pub system_type: String,
    /// Host name.
    pub fqdn: String,
    pub ipv4_address: String,
    /// Its organization, which is the tenant.
    pub organization: OrgRef,
    /// VAT number of that.
    pub vat: String,
    /// Its last heartbeat.
    pub last_heartbeat: Ts,
}

/// Where systems are found whose alert is due. None reads the systems of alerts that are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Inactive systems that have no alert.
    New,
    /// Alerts that have not been posted for a while.
    Raised,
}

impl Source {
    /// All of them.
    pub const ALL: [Source; 2] = [Source::New, Source::Raised];
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    system_key: String,
    name: String,
    system_type: Option<String>,
    fqdn: String,
    ipv4_address: String,
    org_id: Uuid,
    org_name: String,
    org_type: String,
    vat: Option<String>,
    last_heartbeat: TsCodec,
}

/// The first `limit` inactive systems of a source behind `after` whose alert has not been posted since `due`.
pub async fn due(
    db: &Db,
    source: Source,
    due: Ts,
    after: SystemId,
    limit: u64,
) -> Result<Vec<Silent>, StoreError> {
    let q = match source {
        Source::New => Q::new(NEW),
        Source::Raised => Q::new(RAISED).bind(due),
    };
    let rows: Vec<Row> = q.bind(after).bind(limit).all(db).await?;
    rows.into_iter()
        .map(|r| {
            Ok(Silent {
                id: SystemId(r.id),
                system_key: r.system_key,
                name: r.name,
                system_type: r.system_type.unwrap_or_default(),
                fqdn: r.fqdn,
                ipv4_address: r.ipv4_address,
                organization: OrgRef {
                    id: OrgId(r.org_id),
                    name: r.org_name,
                    org_type: parse_type(&r.org_type)?,
                },
                vat: r.vat.unwrap_or_default(),
                last_heartbeat: r.last_heartbeat.0,
            })
        })
        .collect()
}

/// An alert that has been raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenLinkAlert {
    /// About this system.
    pub system_id: SystemId,
    /// In this tenant.
    pub organization_id: OrgId,
    /// Key of the system.
    pub system_key: String,
}

/// The first `limit` raised alerts behind `after` for systems that are no longer inactive there, or no longer exist
/// there.
pub async fn over(db: &Db, after: (SystemId, OrgId), limit: u64) -> Result<Vec<OpenLinkAlert>, StoreError> {
    let rows: Vec<(Uuid, Uuid, String)> =
        Q::new(OVER).bind(after.0).bind(after.1).bind(limit).all(db).await?;
    Ok(rows
        .into_iter()
        .map(|(system, organization, system_key)| OpenLinkAlert {
            system_id: SystemId(system),
            organization_id: OrgId(organization),
            system_key,
        })
        .collect())
}

/// Records that these alerts were posted now, each with its start.
pub async fn record_posted(tx: &mut Tx, raised: &[(OpenLinkAlert, Ts)], now: Ts) -> Result<(), StoreError> {
    for chunk in raised.chunks(ROWS) {
        let mut q = Q::new(
            "INSERT INTO link_alerts (system_id, organization_id, system_key, started_at, refreshed_at) VALUES ",
        );
        for (i, (alert, started_at)) in chunk.iter().enumerate() {
            q.push(if i == 0 { "(?, ?, ?, ?, ?)" } else { ", (?, ?, ?, ?, ?)" });
            q.arg(alert.system_id).arg(alert.organization_id).arg(&alert.system_key);
            q.arg(*started_at).arg(now);
        }
        q.push(
            " ON CONFLICT (system_id, organization_id) DO UPDATE SET started_at = excluded.started_at, \
             refreshed_at = excluded.refreshed_at",
        );
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Which of these have not been posted before.
pub async fn not_posted_before(
    tx: &mut Tx,
    raised: &[(OpenLinkAlert, Ts)],
) -> Result<Vec<OpenLinkAlert>, StoreError> {
    let mut posted: BTreeSet<(SystemId, OrgId)> = BTreeSet::new();
    for chunk in raised.chunks(ROWS) {
        let mut q = Q::new("SELECT l.system_id, l.organization_id FROM link_alerts l WHERE l.system_id IN (");
        q.list(chunk.iter().map(|(alert, _)| alert.system_id)).push(")");
        let rows: Vec<(Uuid, Uuid)> = q.all(&mut *tx).await?;
        posted.extend(rows.into_iter().map(|(system, organization)| (SystemId(system), OrgId(organization))));
    }
    let is_new = |alert: &&OpenLinkAlert| !posted.contains(&(alert.system_id, alert.organization_id));
    Ok(raised.iter().map(|(alert, _)| alert).filter(is_new).cloned().collect())
}

/// Which of these systems are active: the alerts of the others have ended for another reason.
pub async fn active_among(tx: &mut Tx, raised: &[OpenLinkAlert]) -> Result<BTreeSet<SystemId>, StoreError> {
    let mut active = BTreeSet::new();
    for chunk in raised.chunks(ROWS) {
        let mut q =
            Q::new("SELECT a.system_id FROM system_activity a WHERE a.status = 1 AND a.system_id IN (");
        q.list(chunk.iter().map(|alert| alert.system_id)).push(")");
        let rows: Vec<(Uuid,)> = q.all(&mut *tx).await?;
        active.extend(rows.into_iter().map(|(id,)| SystemId(id)));
    }
    Ok(active)
}

/// Forgets alerts that are resolved.
pub async fn forget(tx: &mut Tx, resolved: &[OpenLinkAlert]) -> Result<(), StoreError> {
    for chunk in resolved.chunks(ROWS) {
        let mut q = Q::new("DELETE FROM link_alerts WHERE (system_id, organization_id) IN (VALUES ");
        for (i, alert) in chunk.iter().enumerate() {
            q.push(if i == 0 { "(?, ?)" } else { ", (?, ?)" })
                .arg(alert.system_id)
                .arg(alert.organization_id);
        }
        q.push(")");
        q.run(&mut *tx).await?;
    }
    Ok(())
}
