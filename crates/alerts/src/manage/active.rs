//! Active alerts across the hierarchy and of one system (spec: alert-management#active-alerts).

use super::{Named, fingerprint, remote, tenant, told, within};
use crate::{AlertRouter, Alerts, config, embedded};
use bailiwick_alerting::{
    Labels, ListedAlert, Nanos, StoredAlert, StoredSilence,
    config::{BLACKHOLE, Tree},
    listing::AlertState,
    router::{self, ActiveSilence},
};
use bailiwick_domain::{
    Error, Keywords, ObjectKind, OrgId, Page, PageRequest, Result, SortDirection, SystemId, fold::fold,
};
use bailiwick_fleet::systems;
use bailiwick_outbound::RouterClient;
use bailiwick_platform::list_filters;
use bailiwick_policy::{Caller, Scope};
use bailiwick_store::{
    StoreError,
    alert_handling::{self, Assignment},
    history::{
        OrganizationsRead,
        active::{self, ActiveFilter, ActiveOrder, ActiveQuery, JUDGED, Shown},
    },
};
use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashMap},
};

/// Number of systems whose silences are read at once.
const SYSTEMS: usize = 500;

/// The words of `status` and `state`: whether an alert is suppressed. None matches `unprocessed`.
pub const STATES: Keywords<Option<bool>> =
    Keywords::of(&[("active", Some(false)), ("suppressed", Some(true)), ("unprocessed", None)]);

/// A list as asked for.
#[derive(Clone, Debug)]
pub struct AlertQuery {
    /// `active`, `suppressed`; other words match nothing. None = not given.
    pub statuses: Option<Vec<String>>,
    /// The other filters.
    pub filter: ActiveFilter,
    /// Order.
    pub order: ActiveOrder,
    /// Direction.
    pub direction: SortDirection,
    /// Page.
    pub page: PageRequest,
}

impl AlertQuery {
    fn wants(&self, is_suppressed: bool) -> bool {
        let mut asked = self.statuses.iter().flatten();
        self.statuses.is_none() || asked.any(|word| STATES.parse(word).flatten() == Some(is_suppressed))
    }

    /// Whether the alert itself matches the filter. The router does not know who is assigned to it.
    fn selects(&self, alert: &ListedAlert) -> bool {
        let is_one = |wanted: &Option<Vec<String>>, name: &str| {
            let value = alert.labels.value(name);
            wanted.as_ref().is_none_or(|all| !value.is_empty() && all.iter().any(|w| w == value))
        };
        self.wants(alert.status.state == AlertState::Suppressed)
            && is_one(&self.filter.severities, "severity")
            && is_one(&self.filter.system_keys, "system_key")
            && is_one(&self.filter.names, "alertname")
    }

    pub(super) fn check(&self) -> Result<()> {
        let f = &self.filter;
        list_filters::check_lengths([
            self.statuses.as_ref().map(Vec::len),
            f.severities.as_ref().map(Vec::len),
            f.system_keys.as_ref().map(Vec::len),
            f.names.as_ref().map(Vec::len),
            f.assignees.as_ref().map(Vec::len),
        ])
    }
}

/// An alert as people see it.
#[derive(Clone, Debug)]
pub struct ActiveAlert {
    /// The alert; its labels carry the present display values too.
    pub alert: ListedAlert,
    /// The user who takes care of it.
    pub assigned: Option<Assignment>,
}

/// A page of active alerts.
#[derive(Clone, Debug)]
pub struct ActiveAlerts {
    /// The page.
    pub page: Page<ActiveAlert>,
    /// The tenants that could not be asked.
    pub warnings: Vec<String>,
}

/// `GET /alerts`.
///
/// # Errors
/// 403 for an organization out of reach; with a remote router 502 when no tenant could be asked.
pub async fn active(
    service: &Alerts,
    caller: &Caller,
    named: &Named,
    query: AlertQuery,
) -> Result<ActiveAlerts> {
    let within = within(service, caller, named).await?;
    query.check()?;
    match service.alerting().for_people() {
        AlertRouter::Embedded => {
            let page = list_embedded(service, within, query).await?;
            Ok(ActiveAlerts { page, warnings: Vec::new() })
        }
        AlertRouter::Remote(client) => {
            let (found, warnings) = all_remote(service, client, &within, &query).await?;
            Ok(ActiveAlerts { page: sorted_page(found, &query), warnings })
        }
    }
}

/// All alerts of a remote router that the query selects, in no order, and the tenants that could not be asked.
pub(super) async fn all_remote(
    service: &Alerts,
    client: &RouterClient,
    within: &OrganizationsRead,
    query: &AlertQuery,
) -> Result<(Vec<ActiveAlert>, Vec<String>)> {
    if !query.wants(false) && !query.wants(true) {
        return Ok((Vec::new(), Vec::new()));
    }
    let read = remote::alerts(service, client, within, &query.filter).await?;
    let wanted = read.found.into_iter().filter(|(_, alert)| query.selects(alert));
    Ok((selected(decorate(service, wanted.collect()).await?, query), read.warnings))
}

/// `GET /alerts` for one alert of one organization, by its fingerprint.
///
/// # Errors
/// 400 without an organization, 403 for one out of reach, 404 `alert not found`; the router's.
pub async fn active_alert(
    service: &Alerts,
    caller: &Caller,
    organizations: &[String],
    alert: &str,
) -> Result<(OrgId, ActiveAlert)> {
    let tenant = tenant(service, caller, organizations).await?;
    let missing = || Error::NotFound(ObjectKind::Alert);
    fingerprint(alert).map_err(|_| missing())?;
    let found = match service.alerting().for_people() {
        AlertRouter::Embedded => {
            let query = AlertQuery {
                statuses: None,
                filter: ActiveFilter { fingerprint: Some(alert.to_owned()), ..ActiveFilter::default() },
                order: ActiveOrder::default(),
                direction: SortDirection::Desc,
                page: PageRequest { page: 1, page_size: 1 },
            };
            list_embedded(service, OrganizationsRead::all(Scope::Organization(tenant)), query).await?.rows
        }
        AlertRouter::Remote(client) => {
            let key = alert_handling::firing(&service.db, tenant, alert).await?;
            let mut alerts =
                remote::alerts_of(service, client, tenant, key.as_deref()).await.map_err(told)?;
            alerts.retain(|a| a.fingerprint.to_string() == alert);
            decorate(service, alerts.into_iter().map(|alert| (tenant, alert)).collect()).await?
        }
    };
    found.into_iter().next().map(|found| (tenant, found)).ok_or_else(missing)
}

/// `GET /systems/{id}/alerts`; filters by system do not count.
///
/// # Errors
/// 404 unless the caller may read the system; the router's.
pub async fn active_of_system(
    service: &Alerts,
    caller: &Caller,
    id: Option<SystemId>,
    mut query: AlertQuery,
) -> Result<Page<ActiveAlert>> {
    let found = systems::load(service, caller, id).await?;
    query.check()?;
    let (tenant, key) = (found.system.organization.id, found.system.system_key);
    query.filter.system_keys = None;
    match service.alerting().for_people() {
        AlertRouter::Embedded => {
            query.filter.system_keys = Some(vec![key]);
            list_embedded(service, OrganizationsRead::all(Scope::Organization(tenant)), query).await
        }
        AlertRouter::Remote(client) => {
            let alerts = remote::alerts_of(service, client, tenant, Some(&key)).await.map_err(told)?;
            let of_it = |a: &ListedAlert| a.labels.value("system_key") == key && query.selects(a);
            let alerts = alerts.into_iter().filter(of_it);
            let found = decorate(service, alerts.map(|alert| (tenant, alert)).collect()).await?;
            Ok(sorted_page(selected(found, &query), &query))
        }
    }
}

/// Which alerts are meant at this moment.
pub(super) fn live(service: &Alerts, within: OrganizationsRead) -> ActiveQuery {
    ActiveQuery {
        within,
        filter: ActiveFilter::default(),
        is_suppressed: None,
        order: ActiveOrder::StartsAt,
        direction: SortDirection::Desc,
        now: service.now(),
        spared: crate::history::expiry::spared(service),
    }
}

/// The read of the embedded router's alerts that the query selects, with the rows that silences suppress if it asks for
/// them; none = nothing can match.
pub(super) async fn prepared(
    service: &Alerts,
    within: OrganizationsRead,
    query: AlertQuery,
) -> Result<Option<(ActiveQuery, Vec<i64>)>> {
    let (active, suppressed) = (query.wants(false), query.wants(true));
    if !active && !suppressed {
        return Ok(None);
    }
    let asked = ActiveQuery {
        filter: query.filter,
        is_suppressed: (active != suppressed).then_some(suppressed),
        order: query.order,
        direction: query.direction,
        ..live(service, within)
    };
    let needs_states = asked.is_suppressed.is_some() || asked.order == ActiveOrder::Status;
    let states = if needs_states { suppressed_rows(service, &asked).await? } else { Vec::new() };
    Ok(Some((asked, states)))
}

async fn list_embedded(
    service: &Alerts,
    within: OrganizationsRead,
    query: AlertQuery,
) -> Result<Page<ActiveAlert>> {
    let request = query.page;
    let Some((asked, states)) = prepared(service, within, query).await? else {
        return Ok(Page { rows: Vec::new(), total: 0, request });
    };
    let (rows, total) = asked.page(&service.db, &states, request).await?;
    let systems: BTreeSet<(OrgId, String)> =
        rows.iter().map(|row| (row.key.0, row.system_key.clone())).collect();
    let silences = silences_of(service, systems.into_iter().collect()).await?;
    let trees = trees_of(service, rows.iter().map(|row| row.key.0).collect()).await?;
    let (now, outage) = (Nanos::from_ts(asked.now), service.alerting().outage.get());
    let mut alerts = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(stored) = embedded::read::<StoredAlert>(&row.payload) else { continue };
        let key = (row.key.0, row.system_key);
        let own = silences.get(&key).map(Vec::as_slice).unwrap_or_default();
        let receivers = |labels: &Labels| match trees.get(&key.0) {
            Some(tree) => tree.route(labels).into_iter().map(|to| to.receiver.clone()).collect(),
            None => vec![BLACKHOLE.to_owned()],
        };
        let listed = router::list_alerts([&stored], own, now, outage, receivers);
        alerts.extend(listed.into_iter().map(|alert| (key.0, alert)));
    }
    Ok(Page { rows: decorate(service, alerts).await?, total, request })
}

/// The routing of these tenants. A tenant whose routing cannot be read has none: none of its recipients is notified or
/// shown.
async fn trees_of(service: &Alerts, tenants: BTreeSet<OrgId>) -> Result<HashMap<OrgId, Tree>> {
    let tenants: Vec<OrgId> = tenants.into_iter().collect();
    let plans = match config::plans(service, &tenants).await {
        Err(Error::Internal(e)) => {
            tracing::error!(error = %e, "the receivers of alerts cannot be shown");
            HashMap::new()
        }
        plans => plans?,
    };
    Ok(plans.iter().filter_map(|(id, plan)| Some((*id, Tree::new(&plan.route).ok()?))).collect())
}

/// The rows that silences suppress.
pub(super) async fn suppressed_rows(service: &Alerts, query: &ActiveQuery) -> Result<Vec<i64>> {
    let query = ActiveQuery { is_suppressed: None, ..query.clone() };
    let (mut suppressed, mut after) = (Vec::new(), i64::MIN);
    loop {
        let rows = query.of_silenced_systems(&service.db, after).await?;
        let Some(last) = rows.last().map(|row| row.0) else { return Ok(suppressed) };
        let is_end = rows.len() < JUDGED;
        suppressed.extend(suppressed_of(service, rows).await?);
        if is_end {
            return Ok(suppressed);
        }
        after = last;
    }
}

async fn suppressed_of(service: &Alerts, rows: Vec<(i64, uuid::Uuid, String, String)>) -> Result<Vec<i64>> {
    let systems: BTreeSet<(OrgId, String)> =
        rows.iter().map(|(_, organization, key, _)| (OrgId(*organization), key.clone())).collect();
    let silences = silences_of(service, systems.into_iter().collect()).await?;
    let judge = move || {
        let is_suppressed = |(_, organization, key, labels): &(i64, uuid::Uuid, String, String)| {
            let own = silences.get(&(OrgId(*organization), key.clone()));
            let labels = embedded::read::<Labels>(labels).unwrap_or_default();
            own.is_some_and(|own| own.iter().any(|s| s.silences(&labels)))
        };
        rows.iter().filter(|row| is_suppressed(row)).map(|row| row.0).collect::<Vec<_>>()
    };
    service.tasks.spawn_blocking(judge).await.map_err(Error::internal)
}

/// The silences in force of these systems, ready to be applied.
async fn silences_of(
    service: &Alerts,
    systems: Vec<(OrgId, String)>,
) -> Result<HashMap<(OrgId, String), Vec<ActiveSilence>>> {
    let at = service.now();
    let now = Nanos::from_ts(at);
    let mut found: HashMap<(OrgId, String), Vec<ActiveSilence>> = HashMap::new();
    // Even if some systems have very large silences, those of the others are read.
    let mut waiting: Vec<&[(OrgId, String)]> = systems.chunks(SYSTEMS).collect();
    while let Some(some) = waiting.pop() {
        let read = match active::silences_of(&service.db, some, at).await {
            Err(StoreError::TooHeavy) if some.len() > 1 => {
                waiting.extend(<[_; 2]>::from(some.split_at(some.len() / 2)));
                continue;
            }
            read => read?,
        };
        for (organization, key, payload) in read {
            let stored = embedded::read::<StoredSilence>(&payload).map(|s| s.listed(now));
            let in_force = router::active_silences(stored.as_ref());
            found.entry((organization, key)).or_default().extend(in_force);
        }
    }
    Ok(found)
}

/// Adds the details that lists show with alerts. Alerts of systems that have left the organization are dropped: they
/// belong to the organization the system is in now.
pub(super) async fn decorate(
    service: &Alerts,
    alerts: Vec<(OrgId, ListedAlert)>,
) -> Result<Vec<ActiveAlert>> {
    let keys: Vec<_> = alerts
        .iter()
        .map(|(tenant, a)| ((*tenant, a.fingerprint.to_string()), a.labels.value("system_key").to_owned()))
        .collect();
    let mut shown: HashMap<_, Shown> = active::shown(&service.db, &keys).await?.into_iter().collect();
    let mut found = Vec::with_capacity(alerts.len());
    for ((tenant, mut alert), (key, _)) in alerts.into_iter().zip(keys) {
        let Some(Shown { system: Some(system), organization, assigned }) = shown.remove(&key) else {
            continue;
        };
        if alert.labels.get("organization_id").is_some_and(|o| o != tenant.to_string()) {
            continue;
        }
        let names = ["system_name", "system_type", "system_fqdn", "system_ipv4"].into_iter().zip(system);
        let more =
            ["organization_name", "organization_type", "organization_vat"].into_iter().zip(organization);
        for (name, value) in names.chain(more).filter(|(_, value)| !value.is_empty()) {
            alert.labels.insert(name, value);
        }
        if !is_web_address(&alert.generator_url) {
            alert.generator_url.clear();
        }
        found.push(ActiveAlert { alert, assigned });
    }
    Ok(found)
}

/// A browser could execute an address with any other scheme.
fn is_web_address(address: &str) -> bool {
    let Some((scheme, _)) = address.split_once(':') else { return true };
    let is_scheme = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    !is_scheme || scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// The alerts of a remote router that match in what the router does not know: the assignee and the names of systems and
/// organizations.
fn selected(mut found: Vec<ActiveAlert>, query: &AlertQuery) -> Vec<ActiveAlert> {
    let f = &query.filter;
    let searched = f.search.as_deref().map(fold);
    found.retain(|ActiveAlert { alert, assigned }| {
        let is_theirs = f.assignees.as_ref().is_none_or(|users| match assigned {
            Some(a) => users.contains(&a.user_id),
            None => f.or_unassigned,
        });
        let texts = [
            alert.labels.value("alertname"),
            alert.annotations.value("summary"),
            alert.labels.value("system_name"),
            alert.labels.value("organization_name"),
        ];
        let has = |text: &String| texts.iter().any(|t| fold(t).contains(text.as_str()));
        is_theirs && searched.as_ref().is_none_or(has)
    });
    found
}

/// Sorts the alerts of a remote router and cuts the page.
fn sorted_page(mut found: Vec<ActiveAlert>, query: &AlertQuery) -> Page<ActiveAlert> {
    found.sort_by(|a, b| order(query.order, query.direction, a, b));
    cut(found, query.page)
}

/// A page of rows that are all at hand.
pub(super) fn cut<T>(all: Vec<T>, request: PageRequest) -> Page<T> {
    let total = all.len() as u64;
    let from = usize::try_from(request.offset()).unwrap_or(usize::MAX);
    let size = usize::try_from(request.page_size).unwrap_or(usize::MAX);
    Page { rows: all.into_iter().skip(from).take(size).collect(), total, request }
}

fn order(by: ActiveOrder, direction: SortDirection, a: &ActiveAlert, b: &ActiveAlert) -> Ordering {
    let (x, y) = (&a.alert, &b.alert);
    let rank = |alert: &ListedAlert| match alert.labels.value("severity") {
        "critical" => 3,
        "warning" => 2,
        "info" => 1,
        _ => 0,
    };
    let is_suppressed = |alert: &ListedAlert| alert.status.state == AlertState::Suppressed;
    let who = |a: &ActiveAlert| a.assigned.as_ref().map(|a| fold(&a.user_name)).unwrap_or_default();
    let ordering = match by {
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

#[cfg(test)]
mod tests {
    use super::is_web_address;

    #[test]
    fn only_addresses_of_the_web_are_shown() {
        for (address, shown) in [
            ("", true),
            ("http://x/y?z=1:2", true),
            ("HTTPS://x", true),
            ("/graph?a=b:c", true),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("vbscript+x:y", false),
        ] {
            assert_eq!(is_web_address(address), shown, "{address}");
        }
    }
}
