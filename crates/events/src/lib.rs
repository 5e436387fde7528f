//! Events for other software (docs/events.md): listed, streamed and delivered, each to the callers who may read its
//! object.
//!
//! To add one, follow the row "kind of event" in docs/architecture.md; the use case writes its [`EventDraft`] in the
//! transaction of the change.

pub mod deliver;
mod delivery_slots;
pub mod emit;
pub mod kinds;
pub mod mail;
mod numbering;
mod shares;
pub mod signatures;
pub mod stream;
pub mod subscriptions;
pub mod test_and_replay;

pub use bailiwick_store::events::{Stored, deliveries::Delivery};
pub use numbering::number_all;

use bailiwick_domain::{Error, OrgId, OrgType, Page, PageRequest, Result, SortDirection};
use bailiwick_outbound::webhook::Webhooks;
use bailiwick_platform::{
    Platform,
    answer_cache::{self, DependsOn, Key},
    list_filters,
    tasks::lease,
};
use bailiwick_policy::{Caller, Scope, hierarchy};
use bailiwick_settings::Settings;
use bailiwick_store::{
    events::{self, Filter, Visibility},
    organizations,
};
use deliver::Deliveries;
use mail::Outbox;
use std::{sync::Arc, time::Duration};
use stream::Streams;

pub use emit::EventDraft;

/// Patterns of one request.
const PATTERNS: usize = 100;

/// Rows of one step of retention.
const PURGED_AT_ONCE: i64 = 2_000;
/// The task of retention.
pub const PURGE: &str = "events purge";
/// The time between two of its runs.
pub const PURGE_INTERVAL: Duration = Duration::from_secs(300);

/// Events and mail: they inform people and other software of changes. Cloning it is cheap.
#[derive(Clone)]
pub struct Events(Arc<Parts>);

bailiwick_platform::service!(Events, Parts);

/// The parts of [`Events`].
pub struct Parts {
    /// Database, clock, keys and limits.
    pub platform: Platform,
    /// Settings of all services.
    pub settings: Arc<Settings>,
    /// Client for webhooks.
    pub webhooks: Webhooks,
    /// Events on their way to subscribers.
    pub deliveries: Deliveries,
    /// Open streams of events.
    pub streams: Streams,
    /// Mail on its way.
    pub outbox: Outbox,
}

impl Events {
    /// Puts the parts together. It reads nothing and starts nothing.
    pub fn new(platform: Platform, settings: Arc<Settings>) -> Events {
        Events(Arc::new(Parts {
            webhooks: Webhooks::new(settings.alerting.allowed_hosts.clone()),
            deliveries: Deliveries::default(),
            streams: Streams::default(),
            outbox: Outbox::default(),
            platform,
            settings,
        }))
    }
}

/// Starts the workers of this crate.
pub fn start(service: &Events) {
    numbering::start(service);
    deliver::start(service);
}

/// The types a caller may read among those that the patterns match; no patterns = all.
pub(crate) fn visibility(caller: &Caller, patterns: Option<&[String]>) -> Visibility {
    let is_wanted = |kind: &String| patterns.is_none_or(|all| all.iter().any(|p| kinds::takes(p, kind)));
    let (mut types, mut own) = (Vec::new(), Vec::new());
    for group in kinds::GROUPS {
        let wanted = group.types().filter(is_wanted);
        if caller.holds(group.permission) {
            types.extend(wanted);
        } else if group.is_family() {
            own.extend(wanted);
        }
    }
    // Users can read their own organization without any permission (spec: authorization#object-rules).
    Visibility { scope: hierarchy(caller), types, own: caller.org().map(|o| (o.id, own)) }
}

/// The query of the list as sent.
#[derive(Clone, Debug)]
pub struct ListQuery {
    pub page: PageRequest,
    /// `types`: types or patterns; none given = all.
    pub types: Vec<String>,
    pub organization_id: Vec<String>,
    /// Whether the organizations below the one that is named count too.
    pub with_descendants: bool,
    pub object_id: Vec<String>,
    /// `after`: a sequence number; an invalid one matches nothing.
    pub after: Option<String>,
    /// Newest first unless ascending.
    pub direction: SortDirection,
}

/// A page of events.
#[derive(Clone, Debug)]
pub struct Listed {
    pub page: Page<Stored>,
    /// The newest number that retention has removed from the caller's organizations: a reader with an older position
    /// may have missed events.
    pub removed_up_to: i64,
}

/// A page of the events the caller may read.
pub async fn list(service: &Events, caller: &Caller, query: ListQuery) -> Result<Listed> {
    let types = (!query.types.is_empty()).then_some(query.types.as_slice());
    list_filters::check_lengths([
        types.map(|t| t.len() * (1000 / PATTERNS)),
        Some(query.organization_id.len()),
        Some(query.object_id.len()),
    ])?;
    let mut filter = Filter {
        organizations: list_filters::ids(&query.organization_id),
        objects: (!query.object_id.is_empty()).then_some(query.object_id),
        after: query.after.map(|after| after.parse().ok().filter(|n| *n >= 0).unwrap_or(i64::MAX)),
    };
    let mut visibility = visibility(caller, types);
    if query.with_descendants {
        narrow(service, caller, &mut visibility, &mut filter).await?;
    }
    let rows = events::page(&service.platform.db, &visibility, &filter, query.direction, query.page);
    let (rows, total) = tokio::join!(rows, total(service, &visibility, &filter));
    // Read after the page, so that it includes events removed before the page was read.
    let removed_up_to = events::removed_up_to(&service.platform.db, &visibility.scope).await?;
    Ok(Listed { page: Page { rows: rows?, total: total?, request: query.page }, removed_up_to })
}

/// Replaces the filter by one organization with a scope of that organization and those below it.
async fn narrow(
    service: &Events,
    caller: &Caller,
    visibility: &mut Visibility,
    filter: &mut Filter,
) -> Result<()> {
    let Some(&[id]) = filter.organizations.as_deref() else { return Ok(()) };
    let node = organizations::node(&service.platform.db, OrgId(id)).await?;
    let Some(node) = node.filter(|node| visibility.scope.contains(&node.path)) else { return Ok(()) };
    let is_own = caller.org().is_some_and(|own| own.id == node.path.id);
    if !is_own {
        if !matches!(node.org_type, OrgType::Distributor | OrgType::Reseller) {
            return Ok(());
        }
        visibility.scope = Scope::Subtree { root: node.path.id, org_type: node.org_type };
        visibility.own = None;
    }
    filter.organizations = None;
    Ok(())
}

/// How many events a list has. Stored events never change, so only those are counted that came after the last count of
/// the same list (docs/internals/answer-cache.md).
async fn total(service: &Events, visibility: &Visibility, filter: &Filter) -> Result<u64> {
    if filter.after.is_some() {
        return Ok(events::count(&service.platform.db, visibility, filter).await?.0);
    }
    // Who sees an event depends on the present place of its organization, system or user.
    let epochs = answer_cache::epochs(&service.platform, DependsOn::Systems).await?;
    let removed = events::removed_up_to(&service.platform.db, &visibility.scope).await?;
    let other = answer_cache::key_text(&(visibility, filter, removed));
    let key = Key { epochs, operation: "events/total", scope: visibility.scope, other };
    let counted =
        service.platform.answers.get(&key).await.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let (before, counted_to): (u64, i64) = counted.unwrap_or((0, 0));
    let since = Filter { after: Some(counted_to), ..filter.clone() };
    let (more, newest) = events::count(&service.platform.db, visibility, &since).await?;
    let total = before + more;
    // The count before may be another process's or the primary's, and this one a replica's.
    let newest = newest.max(counted_to);
    service
        .platform
        .answers
        .put(key, serde_json::to_vec(&(total, newest)).map_err(Error::internal)?.into())
        .await;
    Ok(total)
}

/// Removes events that are too old or too many, if this process holds the lease; returns how many.
pub async fn purge(service: &Events) -> Result<u64> {
    let settings = &service.settings.events;
    let before = service.platform.now().minus(settings.retention);
    let mut gone = 0;
    while hold_purge(service).await? {
        match events::purge(&service.platform.db, before, PURGED_AT_ONCE).await? {
            0 => break,
            n => gone += n,
        }
    }
    let most = i64::try_from(settings.most).unwrap_or(i64::MAX);
    let counts = events::counts_beyond(&service.platform.db, most).await?;
    for (organization, mut surplus) in shares::surplus(counts, most) {
        while surplus > 0 && hold_purge(service).await? {
            let step = surplus.min(PURGED_AT_ONCE);
            match events::purge_of(&service.platform.db, organization, step).await? {
                0 => break,
                n => gone += n,
            }
            surplus -= step;
        }
    }
    Ok(gone)
}

/// Whether this process may remove events now.
async fn hold_purge(service: &Events) -> Result<bool> {
    if service.platform.stop.is_cancelled() {
        return Ok(false);
    }
    lease(&service.platform, PURGE, PURGE_INTERVAL * 2).await
}
