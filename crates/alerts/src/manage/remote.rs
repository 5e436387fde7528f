//! Lists for people from a remote router: requests to many tenants, side by side and within a bounded time (spec:
//! alert-management#active-alerts).

use super::{
    alert_groups::{Groups, grouped},
    alert_query::{ActiveAlert, ActiveAlerts, AlertQuery, decorate},
    found_silences::{FoundSilences, of_their_systems},
    to_error,
};
use crate::{Alerts, Fault, judging};
use bailiwick_alertmanager::{
    AlertState, ListedAlert, ListedSilence, SilencesQuery,
    active_silence::{Expressions, active_silences},
    answer::{complete_status, decode_alerts, decode_silences},
    history::summary,
};
use bailiwick_domain::{Error, OrgId, Page, PageRequest, Result, SortDirection, fold::fold};
use bailiwick_outbound::{RouterClient, router_client::TenantRequest};
use bailiwick_store::{
    alert_handling,
    history::{
        OrganizationsRead,
        active::{self, ActiveFilter, ActiveOrder},
        active_groups::GroupBy,
    },
};
use futures_util::{StreamExt, stream};
use std::{cmp::Ordering, future::Future, time::Duration};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

/// Tenants asked at the same time.
const SIDE_BY_SIDE: usize = 50;
/// Time for all of them.
const IN_ALL: Duration = Duration::from_secs(10);
/// Tenants of one read.
const TENANTS: u64 = 20_000;
/// Bytes of alerts or silences that one read may hold.
const BYTES: usize = 64 * 1024 * 1024;
/// The end of the warning about an answer that was too large, or about tenants that could not all be asked.
pub(super) const TOO_MANY: &str = "too many to show";
/// Number of warnings listed one by one; the others are only counted.
const WARNINGS: usize = 20;

/// The combined answers of several tenants.
#[derive(Debug)]
struct TenantAnswers<T> {
    found: Vec<(OrgId, T)>,
    warnings: Vec<String>,
}

/// A page of the active alerts of these organizations.
pub(super) async fn active(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    query: &AlertQuery,
) -> Result<ActiveAlerts> {
    let (found, warnings) = all(service, client, within, query).await?;
    Ok(ActiveAlerts { page: sorted_page(found, query), warnings })
}

/// A page of groups of the active alerts of these organizations.
pub(super) async fn groups(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    query: &AlertQuery,
    group_by: GroupBy,
) -> Result<Groups> {
    let (found, warnings) = all(service, client, within, query).await?;
    Ok(Groups { page: cut(grouped(&found, group_by), query.page), warnings })
}

/// All alerts that the query selects, in no order, and the tenants that could not be asked.
async fn all(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    query: &AlertQuery,
) -> Result<(Vec<ActiveAlert>, Vec<String>)> {
    if !query.wants(false) && !query.wants(true) {
        return Ok((Vec::new(), Vec::new()));
    }
    let read = alerts(service, client, within, &query.filter).await?;
    let wanted = read.found.into_iter().filter(|(_, alert)| query.selects(alert));
    Ok((selected(decorate(service, wanted.collect()).await?, query), read.warnings))
}

/// One active alert of a tenant.
pub(super) async fn active_alert(
    service: &Alerts,
    client: &RouterClient,
    tenant: OrgId,
    fingerprint: &str,
) -> Result<Option<ActiveAlert>> {
    let key = alert_handling::firing(&service.platform.db, tenant, fingerprint).await?;
    let mut alerts = alerts_of(service, client, tenant, key.as_deref()).await.map_err(to_error)?;
    alerts.retain(|a| a.fingerprint.to_string() == fingerprint);
    let found = decorate(service, alerts.into_iter().map(|alert| (tenant, alert)).collect()).await?;
    Ok(found.into_iter().next())
}

/// A page of the active alerts of one system.
pub(super) async fn active_of_system(
    service: &Alerts,
    client: &RouterClient,
    (tenant, system_key): (OrgId, &str),
    query: &AlertQuery,
) -> Result<Page<ActiveAlert>> {
    let alerts = alerts_of(service, client, tenant, Some(system_key)).await.map_err(to_error)?;
    let of_it = |a: &ListedAlert| a.labels.value("system_key") == system_key && query.selects(a);
    let alerts = alerts.into_iter().filter(of_it);
    let found = decorate(service, alerts.map(|alert| (tenant, alert)).collect()).await?;
    Ok(sorted_page(selected(found, query), query))
}

/// The alerts of all tenants that may have matching ones; alerts that do not match are among them.
async fn alerts(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    filter: &ActiveFilter,
) -> Result<TenantAnswers<ListedAlert>> {
    let tenants = active::tenants(&service.platform.db, within, filter, TENANTS + 1).await?;
    let key = only(filter.system_keys.as_deref());
    ask(service, tenants, ListedAlert::size, "failed to fetch alerts", |tenant| {
        alerts_of(service, client, tenant, key)
    })
    .await
}

/// The silences of the systems of these organizations, those that are over too; `system_keys`: only of these.
pub(super) async fn silences(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    system_keys: Option<&[String]>,
) -> Result<FoundSilences> {
    let tenants =
        active::tenants_with_systems(&service.platform.db, within, system_keys, TENANTS + 1).await?;
    let key = only(system_keys);
    let TenantAnswers { found, warnings } =
        ask(service, tenants, ListedSilence::size, "alerting backend is unavailable", |tenant| {
            silences_of(service, client, tenant, key)
        })
        .await?;
    let silences = of_their_systems(service, found, system_keys).await?;
    Ok(FoundSilences { silences, warnings, is_cut: false })
}

/// The organization of a silence, if it is one of these. A router knows silences by tenant only, so each is asked.
pub(super) async fn tenant_of_silence(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    id: Uuid,
) -> Result<Option<OrgId>> {
    let found = silences(service, client, within, None).await?;
    let tenant = found.silences.into_iter().find(|f| f.silence.id == id).map(|f| f.organization_id);
    match found.warnings.first() {
        Some(log) if tenant.is_none() => {
            Err(Error::Upstream { message: "alerting backend is unavailable".into(), log: log.clone() })
        }
        _ => Ok(tenant),
    }
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
    mut tenants: Vec<OrgId>,
    size: impl Fn(&T) -> usize,
    failed: &'static str,
    each: impl Fn(OrgId) -> F,
) -> Result<TenantAnswers<T>> {
    let until = Instant::now() + IN_ALL;
    let is_cut = tenants.len() as u64 > TENANTS;
    tenants.truncate(usize::try_from(TENANTS).unwrap_or(usize::MAX));
    let count = tenants.len();
    let answers = stream::iter(tenants).map(|tenant| {
        let answer = each(tenant);
        // Concurrent lists wait for each other.
        let answer = async move {
            let _place = service.state.remote_reads.acquire().await;
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
                bytes = bytes.saturating_add(list.iter().map(&size).sum());
                if bytes <= BYTES {
                    found.extend(list.into_iter().map(|item| (tenant, item)));
                    continue;
                }
                bytes = BYTES;
                TOO_MANY
            }
            Err(fault) => {
                log = format!("tenant {tenant}: {fault}");
                tracing::warn!(%tenant, %fault, "a tenant could not be asked at the alert router");
                if matches!(fault, Fault::TimedOut) { "timed out" } else { "unavailable" }
            }
        };
        failures.push(format!("org {tenant}: {reason}"));
    }
    if count > 0 && failures.len() == count {
        return Err(Error::Upstream { message: failed.into(), log });
    }
    failures.sort();
    let more = failures.len().saturating_sub(WARNINGS);
    failures.truncate(WARNINGS);
    if more > 0 {
        failures.push(format!("{more} more organizations could not be asked"));
    }
    if is_cut {
        failures.push(format!("more than {TENANTS} organizations: {TOO_MANY}"));
    }
    Ok(TenantAnswers { found, warnings: failures })
}

/// The query for one system's alerts or silences.
fn of_system(key: &str) -> String {
    SilencesQuery::default().upstream(key)
}

fn request_id(service: &Alerts) -> String {
    service.platform.fresh::<Uuid>().to_string()
}

/// Alerts of a tenant with a complete status; only those with the tenant's label. `system_key`: only that system's.
pub(crate) async fn alerts_of(
    service: &Alerts,
    client: &RouterClient,
    tenant: OrgId,
    system_key: Option<&str>,
) -> std::result::Result<Vec<ListedAlert>, Fault> {
    let (id, request_id) = (tenant.to_string(), request_id(service));
    let request = TenantRequest { tenant: &id, request_id: &request_id };
    let query = system_key.map(of_system).unwrap_or_default();
    let body = match client.list_alerts(request, &query).await.map_err(Fault::from) {
        Err(Fault::UnknownTenant) => return Ok(Vec::new()),
        body => body?,
    };
    let mut alerts = decode_alerts(&body)?;
    // A router without tenants returns the alerts of all organizations.
    alerts.retain(|a| a.labels.value("organization_id") == id);
    if alerts.iter().any(|a| a.status.state == AlertState::Unprocessed) {
        let silences = silences_of(service, client, tenant, system_key).await?;
        let complete = move |expressions: &Expressions| {
            complete_status(&mut alerts, &active_silences(&silences), expressions);
            alerts
        };
        return Ok(judging::by_person(service, tenant, complete).await?);
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
    let request = TenantRequest { tenant: &id, request_id: &request_id };
    let query = system_key.map(of_system).unwrap_or_default();
    match client.list_silences(request, &query).await.map_err(Fault::from) {
        Err(Fault::UnknownTenant) => Ok(Vec::new()),
        body => Ok(decode_silences(&body?)?),
    }
}

/// The alerts of a remote router that match in what the router does not know: the assignee and the names of systems and
/// organizations.
fn selected(mut alerts: Vec<ActiveAlert>, query: &AlertQuery) -> Vec<ActiveAlert> {
    let f = &query.filter;
    let searched = f.search.as_deref().map(fold);
    alerts.retain(|ActiveAlert { alert, assigned }| {
        let is_theirs = f.assignees.as_ref().is_none_or(|users| match assigned {
            Some(a) => users.contains(&a.user_id),
            None => f.or_unassigned,
        });
        let texts = [
            alert.labels.value("alertname"),
            summary(&alert.annotations).unwrap_or_default(),
            alert.labels.value("system_name"),
            alert.labels.value("organization_name"),
        ];
        let has = |text: &String| texts.iter().any(|t| fold(t).contains(text.as_str()));
        is_theirs && searched.as_ref().is_none_or(has)
    });
    alerts
}

/// Sorts the alerts of a remote router and cuts the page.
fn sorted_page(mut alerts: Vec<ActiveAlert>, query: &AlertQuery) -> Page<ActiveAlert> {
    alerts.sort_by(|a, b| order(query.order, query.direction, a, b));
    cut(alerts, query.page)
}

/// A page of rows that are all at hand.
fn cut<T>(all: Vec<T>, request: PageRequest) -> Page<T> {
    let total = all.len() as u64;
    let from = usize::try_from(request.offset()).unwrap_or(usize::MAX);
    let size = usize::try_from(request.page_size).unwrap_or(usize::MAX);
    Page { rows: all.into_iter().skip(from).take(size).collect(), total, request }
}

fn order(order: ActiveOrder, direction: SortDirection, a: &ActiveAlert, b: &ActiveAlert) -> Ordering {
    let (x, y) = (&a.alert, &b.alert);
    let rank = |alert: &ListedAlert| match alert.labels.value("severity") {
        "critical" => 3,
        "warning" => 2,
        "info" => 1,
        _ => 0,
    };
    let is_suppressed = |alert: &ListedAlert| alert.status.state == AlertState::Suppressed;
    let who = |a: &ActiveAlert| a.assigned.as_ref().map(|a| fold(&a.user_name)).unwrap_or_default();
    let ordering = match order {
        ActiveOrder::StartsAt => x.starts_at.cmp(&y.starts_at),
        ActiveOrder::Severity => rank(x).cmp(&rank(y)),
        ActiveOrder::Alertname => x.labels.value("alertname").cmp(y.labels.value("alertname")),
        ActiveOrder::Status => is_suppressed(x).cmp(&is_suppressed(y)),
        ActiveOrder::AssignedUserName => who(a).cmp(&who(b)),
    };
    let ordering = if direction == SortDirection::Desc { ordering.reverse() } else { ordering };
    let tenant = |alert: &ListedAlert| alert.labels.value("organization_id").to_owned();
    ordering.then_with(|| x.fingerprint.cmp(&y.fingerprint)).then_with(|| tenant(x).cmp(&tenant(y)))
}
