//! The Alertmanager interface of an organization, or of it and everything below it, for the tools of people (spec:
//! alerts-of-organizations). Tools know no pages, so an answer is complete or refused.

use super::{
    AlertQuery, NOT_READY,
    find_silence::{CallerContext, SilenceTarget, look_up},
    found_silences::SHOWN,
    read_of,
    remote::TOO_MANY,
    remote_changes::deadline,
    silence_orders::{Change, NO_SYSTEM, PreparedSilence},
};
use crate::{Alerts, Fault, judging};
use bailiwick_alertmanager::{
    AlertsQuery, ListedAlert, ListedSilence, Matcher, Nanos, Op, Reject, SenderLabels, SilenceIntake,
    SilenceState, SilencesQuery,
    active_silence::Expressions,
    listing::{NEUTRAL_RECEIVER, Receiver, Viewer, select_alerts, select_silences},
    parse_silence,
    sender_labels::{SYSTEM_KEY, is_display},
};
use bailiwick_domain::{Error, ObjectKind, OrgId, PageRequest, Result as DomainResult, SortDirection};
use bailiwick_platform::limits::FairPermit;
use bailiwick_policy::{Caller, Resource, in_hierarchy, list_scope};
use bailiwick_store::{
    history::{
        OrganizationsRead,
        active::{ActiveFilter, ActiveOrder},
        silences::system_of_key,
    },
    organizations,
};
use std::{collections::BTreeSet, time::Duration};
use uuid::Uuid;

/// The most alerts of one answer.
const MOST: u64 = 10_000;
/// Longest value of a filter that the database compares: columns hold no longer ones.
const COMPARED: usize = 100;
/// How long a request waits for the others of its organization.
const WAIT: Duration = Duration::from_secs(10);

const ORGANIZATION_ID: &str = "organization_id";

/// The organizations that a request may read.
#[derive(Clone, Debug)]
pub struct Reach {
    read: OrganizationsRead,
    /// The tenant, if there is just one.
    tenant: Option<OrgId>,
    /// The caller's organization.
    by: OrgId,
}

/// Finds the organization of a path; `with_descendants`: and everything below it.
///
/// # Errors
/// 404 `organization not found` for one that does not exist or is out of the caller's reach.
pub async fn reach(
    service: &Alerts,
    caller: &Caller,
    id: &str,
    with_descendants: bool,
) -> DomainResult<Reach> {
    let scope = list_scope(caller, Resource::Systems)?;
    let missing = || Error::NotFound(ObjectKind::Organization);
    let id: OrgId = id.parse().map_err(|_| missing())?;
    let node = organizations::node(&service.platform.db, id).await?;
    let granted = in_hierarchy(caller, node.as_ref()).map_err(|_| missing())?;
    let node = node.ok_or_else(missing)?;
    Ok(Reach {
        read: read_of(granted.id(), node.org_type, with_descendants, scope),
        tenant: (!with_descendants).then(|| granted.id()),
        by: caller.org().map_or(granted.id(), |own| own.id),
    })
}

/// The alerts that the query selects, by fingerprint.
///
/// # Errors
/// 400 for more than 10,000 alerts; the router's, also when only some of the organizations could be asked.
pub async fn alerts(service: &Alerts, reach: &Reach, query: &AlertsQuery) -> Result<Vec<ListedAlert>, Fault> {
    let alert_query = AlertQuery {
        filter: compared(query),
        order: ActiveOrder::StartsAt,
        direction: SortDirection::Desc,
        page: PageRequest { page: 1, page_size: MOST },
        with_receivers: false,
    };
    let router = service.state.for_people();
    let result = router.active(service, reach.read.clone(), alert_query).await.map_err(fault)?;
    check_whole(result.warnings)?;
    if result.page.total > MOST {
        return Err(too_many());
    }
    let query = query.clone();
    let select = move |_: &Expressions| {
        let stored = result.page.rows.into_iter().map(|result| as_stored(result.alert)).collect();
        select_alerts(stored, &[], &query, &Viewer::Tenant)
    };
    Ok(judging::by_person(service, reach.by, select).await?)
}

/// The filters that the database can compare; [`select_alerts`] applies all of them.
fn compared(query: &AlertsQuery) -> ActiveFilter {
    let value_of = |name: &str| {
        let mut all = query.filters.iter().map(|filter| filter.matcher());
        let found = all.find(|m| m.op == Op::Equal && m.name == name && !m.value.is_empty())?;
        (found.value.len() <= COMPARED).then(|| vec![found.value.clone()])
    };
    ActiveFilter {
        severities: value_of("severity"),
        system_keys: value_of(SYSTEM_KEY),
        names: value_of("alertname"),
        ..ActiveFilter::default()
    }
}

/// An alert with its own labels, by which tools write silences, and with the neutral receiver.
fn as_stored(mut alert: ListedAlert) -> ListedAlert {
    alert.labels.retain(|name, _| !is_display(name));
    alert.receivers = vec![Receiver { name: NEUTRAL_RECEIVER.to_owned() }];
    alert.status.inhibited_by.clear();
    alert.status.muted_by.clear();
    alert
}

/// The silences that the query selects, in order; of those that are over, the last.
///
/// # Errors
/// 400 for more than 5,000 silences in force or to come; the router's, also when only some of the organizations could
/// be asked.
pub async fn silences(
    service: &Alerts,
    reach: &Reach,
    query: &SilencesQuery,
) -> Result<Vec<ListedSilence>, Fault> {
    let router = service.state.for_people();
    let result = router.silences_within(service, &reach.read, None, query.expired).await.map_err(fault)?;
    check_whole(result.warnings)?;
    let is_over = |s: &ListedSilence| s.status.state == SilenceState::Expired;
    let open = result.silences.iter().filter(|f| !is_over(&f.silence)).count();
    if result.is_cut || open > SHOWN {
        return Err(too_many());
    }
    let named = result.silences.into_iter().map(|f| with_organization(f.silence, f.organization_id));
    let mut silences = select_silences(named.collect(), query, &Viewer::Tenant);
    silences.truncate(SHOWN);
    Ok(silences)
}

/// One silence; `None` if it does not exist or is out of reach.
///
/// # Errors
/// The router's.
pub async fn silence(
    service: &Alerts,
    context: CallerContext<'_>,
    reach: &Reach,
    id: Uuid,
) -> Result<Option<ListedSilence>, Fault> {
    let found = find(service, context, reach, id).await?;
    Ok(found.map(|(tenant, _, silence)| with_organization(silence, tenant)))
}

/// Creates or updates a silence of the system that it names; returns its id, which may be a new one.
///
/// # Errors
/// As for systems; 400 unless it names exactly one system within reach.
pub async fn set_silence(
    service: &Alerts,
    context: CallerContext<'_>,
    reach: &Reach,
    body: &[u8],
) -> Result<Uuid, Fault> {
    let until = deadline(service);
    let intake = |identity| SilenceIntake {
        identity,
        now: Nanos::from_ts(service.platform.now()),
        limits: &service.state.limits,
    };
    let sent = parse_silence(body, &intake(None))?;
    let identity = named_system(service, reach, &sent.matchers).await?;
    let posted = parse_silence(body, &intake(Some(&identity)))?;
    let tenant =
        identity.organization_id.parse().map_err(|_| Fault::Internal("an organization id".into()))?;
    let system = (tenant, identity.system_key.as_str());
    let router = service.state.for_people();
    let Some(id) = posted.id else {
        return router
            .post_silence(service, context, system, PreparedSilence::of_tool(posted), until)
            .await
            .map_err(fault);
    };
    let found = SilenceTarget { tenant, system_key: Some(identity.system_key.clone()), is_registered: true };
    let (_, stored) = look_up(service, &found, context.ctx, &id.to_string()).await.map_err(fault)?;
    let change = Change::of_tool(posted, &stored);
    router.change_silence(service, context, system, change, until).await.map_err(fault)
}

/// The one system that a silence is for.
async fn named_system(service: &Alerts, reach: &Reach, matchers: &[Matcher]) -> Result<SenderLabels, Fault> {
    let named = matchers.iter().filter(|m| m.op == Op::Equal && m.name == SYSTEM_KEY && !m.value.is_empty());
    let keys: BTreeSet<&str> = named.map(|m| m.value.as_str()).collect();
    let mut keys = keys.into_iter();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return Err(Reject::bad("a silence needs a matcher system_key=\"...\" of one system").into());
    };
    let found = system_of_key(&service.platform.db, &reach.read, key).await?;
    let (organization, system) = found.ok_or_else(|| Reject::bad(NO_SYSTEM))?;
    Ok(SenderLabels {
        system_key: key.to_owned(),
        system_id: system.to_string(),
        organization_id: organization.to_string(),
        ..SenderLabels::default()
    })
}

/// Expires a silence; false if it does not exist or is out of reach. One that is over already stays as it is.
///
/// # Errors
/// The router's.
pub async fn expire_silence(
    service: &Alerts,
    context: CallerContext<'_>,
    reach: &Reach,
    id: Uuid,
) -> Result<bool, Fault> {
    let until = deadline(service);
    let Some((tenant, key, stored)) = find(service, context, reach, id).await? else { return Ok(false) };
    if stored.status.state == SilenceState::Expired {
        return Ok(true);
    }
    let router = service.state.for_people();
    match router.end_silence(service, context, (tenant, &key), stored, until).await {
        Err(Error::NotFound(_)) => Ok(false),
        ended => ended.map(|()| true).map_err(fault),
    }
}

/// A silence with its organization and the key of its system.
async fn find(
    service: &Alerts,
    context: CallerContext<'_>,
    reach: &Reach,
    id: Uuid,
) -> Result<Option<(OrgId, String, ListedSilence)>, Fault> {
    let router = service.state.for_people();
    let tenant = match reach.tenant {
        Some(tenant) => Some(tenant),
        None => {
            // A remote router is asked for the silences of all tenants.
            let _permit = match router.is_embedded() {
                true => None,
                false => Some(permit(service, reach).await?),
            };
            router.tenant_of_silence(service, &reach.read, id).await.map_err(fault)?
        }
    };
    let Some(tenant) = tenant else { return Ok(None) };
    let found = SilenceTarget { tenant, system_key: None, is_registered: true };
    match look_up(service, &found, context.ctx, &id.to_string()).await {
        Err(Error::NotFound(_)) => Ok(None),
        found => found.map(|(key, silence)| Some((tenant, key, silence))).map_err(fault),
    }
}

/// Says which organization a silence belongs to, as alerts do.
fn with_organization(mut silence: ListedSilence, tenant: OrgId) -> ListedSilence {
    if silence.matchers.iter().all(|m| m.name != ORGANIZATION_ID) {
        silence.matchers.push(Matcher::equal(ORGANIZATION_ID, tenant.to_string()));
    }
    silence
}

/// The permit for a whole list, to be held until the answer is made: few are made at a time, one for each organization
/// of callers.
///
/// # Errors
/// 503 for a request that waits too long.
pub async fn permit(service: &Alerts, reach: &Reach) -> Result<FairPermit, Fault> {
    let lists = &service.state.whole_lists;
    lists.acquire(reach.by, WAIT, "too many whole lists are being read").await.map_err(fault)
}

/// A tool would take a part of the alerts for all of them.
fn check_whole(warnings: Vec<String>) -> Result<(), Fault> {
    if warnings.iter().any(|warning| warning.ends_with(TOO_MANY)) {
        return Err(too_many());
    }
    if warnings.is_empty() { Ok(()) } else { Err(Fault::Unavailable(warnings.join(", "))) }
}

fn too_many() -> Fault {
    Reject::bad(
        "too many to show: name a smaller organization, or filter by system_key, alertname or severity",
    )
    .into()
}

/// The fault that tools get for an error of the management interface.
fn fault(error: Error) -> Fault {
    match error {
        Error::NotFound(_) => Reject::silence_not_found().into(),
        Error::TooLarge { .. } => too_many(),
        Error::BadRequest { message, .. } => Reject::bad(message).into(),
        Error::Conflict { .. } => Fault::SilenceLimit,
        Error::Upstream { log, .. } => Fault::Unavailable(log),
        Error::UpstreamTimeout(_) => Fault::TimedOut,
        Error::Unavailable { message, .. } if message == NOT_READY => Fault::UnknownTenant,
        Error::Unavailable { log, .. } => Fault::Database(log),
        other => Fault::Internal(other.to_string()),
    }
}
