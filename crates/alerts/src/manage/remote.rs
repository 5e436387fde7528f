//! Requests to many tenants of a remote router, side by side and within a bounded time (spec:
//! alert-management#active-alerts).

use crate::{Alerts, Fault};
use bailiwick_alerting::{
    AlertState, ListedAlert, ListedSilence, SilencesQuery,
    answer::{complete_status, decode_alerts, decode_silences},
    router::active_silences,
};
use bailiwick_domain::{Error, OrgId, Result};
use bailiwick_outbound::{RouterClient, router_client::Caller};
use bailiwick_store::history::{
    OrganizationsRead,
    active::{self, ActiveFilter},
};
use futures_util::{StreamExt, stream};
use std::{future::Future, time::Duration};
use tokio::time::{Instant, timeout_at};

/// Tenants asked at the same time.
const SIDE_BY_SIDE: usize = 50;
/// Time for all of them.
const IN_ALL: Duration = Duration::from_secs(10);
/// Tenants of one read.
const TENANTS: u64 = 20_000;
/// Bytes of labels and annotations that one read may hold.
const BYTES: usize = 64 * 1024 * 1024;
/// Number of warnings listed one by one; the others are only counted.
const WARNINGS: usize = 20;

/// The combined answers of several tenants.
#[derive(Debug)]
pub(super) struct TenantAnswers<T> {
    pub(super) found: Vec<(OrgId, T)>,
    pub(super) warnings: Vec<String>,
}

/// The alerts of all tenants that may have matching ones; alerts that do not match are among them.
pub(super) async fn alerts(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    filter: &ActiveFilter,
) -> Result<TenantAnswers<ListedAlert>> {
    let tenants = active::tenants(&service.db, within, filter, TENANTS).await?;
    let key = only(filter.system_keys.as_deref());
    let weight = |a: &ListedAlert| a.labels.size() + a.annotations.size() + 256;
    ask(service, tenants, weight, "failed to fetch alerts", |tenant| alerts_of(service, client, tenant, key))
        .await
}

/// Silences of all tenants with systems; `system_keys`: with one of these.
pub(super) async fn silences(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    system_keys: Option<&[String]>,
) -> Result<TenantAnswers<ListedSilence>> {
    let tenants = active::tenants_with_systems(&service.db, within, system_keys, TENANTS).await?;
    let key = only(system_keys);
    let weight = |s: &ListedSilence| s.comment.len() + s.annotations.size() + s.matchers.len() * 64 + 256;
    ask(service, tenants, weight, "alerting backend is unavailable", |tenant| {
        silences_of(service, client, tenant, key)
    })
    .await
}

/// The system that the filter names, if it names exactly one: the router can then leave out all others.
fn only(system_keys: Option<&[String]>) -> Option<&str> {
    match system_keys {
        Some([key]) => Some(key),
        _ => None,
    }
}

/// Asks each tenant. A tenant that fails becomes a warning, unless all fail.
async fn ask<T, F: Future<Output = std::result::Result<Vec<T>, Fault>>>(
    service: &Alerts,
    tenants: Vec<OrgId>,
    weight: impl Fn(&T) -> usize,
    failed: &'static str,
    each: impl Fn(OrgId) -> F,
) -> Result<TenantAnswers<T>> {
    let until = Instant::now() + IN_ALL;
    let asked = tenants.len();
    let answers = stream::iter(tenants).map(|tenant| {
        let answer = each(tenant);
        // Concurrent lists wait for each other.
        let answer = async move {
            let _place = service.alerting().asked.acquire().await;
            answer.await
        };
        async move { (tenant, timeout_at(until, answer).await.unwrap_or(Err(Fault::TimedOut))) }
    });
    let mut answers = std::pin::pin!(answers.buffer_unordered(SIDE_BY_SIDE));
    let (mut found, mut bytes) = (Vec::new(), 0_usize);
    let (mut failures, mut log) = (Vec::new(), String::new());
    while let Some((tenant, answer)) = answers.next().await {
        let reason = match answer {
            Ok(list) => {
                bytes = bytes.saturating_add(list.iter().map(&weight).sum());
                if bytes <= BYTES {
                    found.extend(list.into_iter().map(|item| (tenant, item)));
                    continue;
                }
                bytes = BYTES;
                "too many to show"
            }
            Err(fault) => {
                log = format!("tenant {tenant}: {fault}");
                tracing::warn!(%tenant, %fault, "a tenant could not be asked at the alert router");
                if matches!(fault, Fault::TimedOut) { "timed out" } else { "unavailable" }
            }
        };
        failures.push(format!("org {tenant}: {reason}"));
    }
    if asked > 0 && failures.len() == asked {
        return Err(Error::Upstream { message: failed.into(), log });
    }
    failures.sort();
    let more = failures.len().saturating_sub(WARNINGS);
    failures.truncate(WARNINGS);
    if more > 0 {
        failures.push(format!("{more} more organizations could not be asked"));
    }
    Ok(TenantAnswers { found, warnings: failures })
}

/// The query for one system's alerts or silences.
fn of_system(key: &str) -> String {
    SilencesQuery::default().upstream(key)
}

fn request_id(service: &Alerts) -> String {
    service.fresh::<uuid::Uuid>().to_string()
}

/// Alerts of a tenant with a complete status; only those with the tenant's label. `system_key`: only that system's.
pub(crate) async fn alerts_of(
    service: &Alerts,
    client: &RouterClient,
    tenant: OrgId,
    system_key: Option<&str>,
) -> std::result::Result<Vec<ListedAlert>, Fault> {
    let (id, request_id) = (tenant.to_string(), request_id(service));
    let caller = Caller { tenant: &id, request_id: &request_id };
    let query = system_key.map(of_system).unwrap_or_default();
    let body = match client.list_alerts(caller, &query).await.map_err(Fault::from) {
        Err(Fault::UnknownTenant) => return Ok(Vec::new()),
        body => body?,
    };
    let mut alerts = decode_alerts(&body)?;
    // A router without tenants returns the alerts of all organizations.
    alerts.retain(|a| a.labels.value("organization_id") == id);
    if alerts.iter().any(|a| a.status.state == AlertState::Unprocessed) {
        let silences = silences_of(service, client, tenant, system_key).await?;
        complete_status(&mut alerts, &active_silences(&silences));
    }
    Ok(alerts)
}

/// The silences of a tenant; a router without tenants returns those of all organizations.
pub(crate) async fn silences_of(
    service: &Alerts,
    client: &RouterClient,
    tenant: OrgId,
    system_key: Option<&str>,
) -> std::result::Result<Vec<ListedSilence>, Fault> {
    let (id, request_id) = (tenant.to_string(), request_id(service));
    let caller = Caller { tenant: &id, request_id: &request_id };
    let query = system_key.map(of_system).unwrap_or_default();
    match client.list_silences(caller, &query).await.map_err(Fault::from) {
        Err(Fault::UnknownTenant) => Ok(Vec::new()),
        body => Ok(decode_silences(&body?)?),
    }
}
