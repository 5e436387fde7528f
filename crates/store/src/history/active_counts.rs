//! How many alerts are active, counted by the open rows (spec: alerts#limits), and which.

use crate::{
    StoreError,
    sql::{On, Q, ROWS},
};
use bailiwick_domain::OrgId;

const COUNTS: &str = "SELECT (SELECT CAST(COUNT(*) AS BIGINT) FROM alert_history \
     WHERE system_key = ? AND status = 'firing' AND organization_id = ?), (SELECT CAST(COUNT(*) AS BIGINT) \
     FROM alert_history WHERE organization_id = ? AND status = 'firing')";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![COUNTS];

/// How many open rows a system has in a tenant, and the tenant.
pub async fn counts(
    on: impl Into<On<'_>>,
    tenant: OrgId,
    system_key: &str,
) -> Result<(u64, u64), StoreError> {
    let (system, all): (i64, i64) = Q::new(COUNTS).bind(system_key).bind(tenant).bind(tenant).one(on).await?;
    Ok((u64::try_from(system).unwrap_or(0), u64::try_from(all).unwrap_or(0)))
}

/// Which of these alerts of a tenant have an open row, each with the key of its system.
pub async fn which<'a>(
    on: impl Into<On<'a>>,
    tenant: OrgId,
    fingerprints: &[String],
) -> Result<Vec<(String, String)>, StoreError> {
    let mut on = on.into();
    let mut alerts = Vec::new();
    for chunk in fingerprints.chunks(ROWS) {
        let mut q = Q::new(
            "SELECT fingerprint, system_key FROM alert_history WHERE organization_id = ? AND status = 'firing' \
             AND fingerprint IN (",
        )
        .bind(tenant);
        q.list(chunk.iter()).push(")");
        alerts.extend(q.all::<(String, String)>(on.reborrow()).await?);
    }
    Ok(alerts)
}
