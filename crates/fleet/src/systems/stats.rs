//! Totals, trend and the choices of the list's filters (spec: systems#totals, systems#trend, systems#filters).

use crate::Fleet;
use bailiwick_directory::{creators::narrow, organizations::by_name};
use bailiwick_domain::{ChoiceSearch, Result, SystemId, Ts, org::OrgRef};
use bailiwick_platform::{
    answer_cache::{self, DependsOn, Key},
    trend::{Trend, Window},
};
use bailiwick_policy::{Caller, Resource, Scope, list_scope};
use bailiwick_store::{
    creators::{self, CreatorChoice, Of},
    systems::{
        stats::{self, Counters},
        status_counts,
    },
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use uuid::Uuid;

pub use stats::Totals;

/// Number of systems that are recounted at once.
const BATCH: u64 = 1_000;
/// Largest difference between clocks: a system counts as inactive only if the slowest clock agrees.
const SKEW: Duration = Duration::from_secs(30);
/// Number of check intervals for which systems about to become inactive are known in advance.
const INTERVALS: u32 = 3;

/// Updates the counts of systems by present status, and prepares for those about to become inactive, so that [`totals`]
/// reads few rows (`bailiwick_store::systems::status_counts`).
pub async fn settle(service: &Fleet) -> Result<()> {
    let systems = &service.settings.systems;
    let silent = service.now().minus(systems.liveness_timeout);
    let ahead = (systems.check_interval * INTERVALS).min(systems.liveness_timeout / 2);
    let silent_to = silent.minus(SKEW);
    status_counts::watch(&service.db, silent_to, silent.plus(ahead)).await?;
    let mut after = SystemId(Uuid::nil());
    while let Some(last) = status_counts::settle_some(&service.db, silent_to, after, BATCH).await? {
        after = last;
    }
    Ok(())
}

/// `GET /systems/totals`, with the timeout to count by, in minutes; none = the liveness timeout.
pub async fn totals(service: &Fleet, caller: &Caller, minutes: Option<u64>) -> Result<(Totals, u64)> {
    let scope = list_scope(caller, Resource::Systems)?;
    let timeout = match minutes {
        Some(minutes) => Duration::from_secs(minutes.saturating_mul(60)),
        None => service.settings.systems.liveness_timeout,
    };
    // No system is older than the epoch, and some databases cannot store earlier times.
    let cutoff = service.now().minus(timeout).max(Ts(0));
    let totals = of(service, scope, cutoff).await?;
    Ok((totals, minutes.unwrap_or(timeout.as_secs() / 60)))
}

/// The totals of a scope. The counters of its organizations are summed once for each version of them.
pub(super) async fn of(service: &Fleet, scope: Scope, cutoff: Ts) -> Result<Totals> {
    let db = &service.db;
    let key = |epochs| Key { epochs, operation: "systems/counters", scope, other: String::new() };
    let unsettled =
        service.unsettled.get(async { Ok(Arc::new(stats::unsettled_systems(db).await?)) }).await?;
    // Lists of a single organization read its heartbeats, so its totals do too.
    let is_single = matches!(scope, Scope::Organization(_)) && unsettled.are_too_many();
    let Some(lag) = unsettled.lag(&scope, cutoff).filter(|_| !is_single) else {
        return Ok(stats::counted_totals(db, &scope, cutoff).await?);
    };
    let kept = service.answers.get(&key(unsettled.epochs)).await;
    if let Some(counters) = kept.and_then(|kept| Counters::from_bytes(&kept)) {
        return Ok(counters.totals(lag));
    }
    let (epochs, counters, unsettled) = stats::counters(db, &scope, cutoff).await?;
    service.answers.put(key(epochs), counters.to_bytes().into()).await;
    match unsettled {
        Some(unsettled) => Ok(counters.totals(unsettled)),
        None => Ok(stats::counted_totals(db, &scope, cutoff).await?),
    }
}

/// `GET /systems/trend`. `period` as sent; none = 7.
pub async fn trend(service: &Fleet, caller: &Caller, period: Option<&str>) -> Result<Trend> {
    let scope = list_scope(caller, Resource::Systems)?;
    let window = Window::parse_calendar(service.now(), period)?;
    let since = window.since()?;
    let changes = async { Ok(stats::changes_by_day(&service.db, &scope, since).await?) };
    let (depends_on, day) = (DependsOn::Figures, since.secs().to_string());
    let changes: Vec<(i64, i64)> =
        answer_cache::computed(service, depends_on, "systems/changes", scope, day, changes).await?;
    window.fill(&changes, super::all(service, scope).await?)
}

/// The choices of the list's filters.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Types, ascending, with their versions, descending.
    pub products: BTreeMap<String, Vec<String>>,
    /// The creators of systems, by name.
    pub creators: Vec<CreatorChoice>,
    /// Organizations with systems, by name.
    pub organizations: Vec<OrgRef>,
    /// The lists that the search has cut, by their names on the wire; none without a search.
    pub more: Option<Vec<&'static str>>,
}

/// Types, ascending, with their versions, descending.
pub async fn products(service: &Fleet, caller: &Caller) -> Result<BTreeMap<String, Vec<String>>> {
    let scope = list_scope(caller, Resource::Systems)?;
    let found = async { Ok(stats::products(&service.db, &scope).await?) };
    let found: Vec<(String, String)> =
        answer_cache::computed(service, DependsOn::Systems, "systems/products", scope, String::new(), found)
            .await?;
    let mut products: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (product, version) in found {
        let versions = products.entry(product).or_default();
        if !version.is_empty() {
            versions.push(version);
        }
    }
    products.values_mut().for_each(|versions| versions.reverse());
    Ok(products)
}

/// The creators of systems. A system keeps its creator, so they change only when there are more or fewer systems, or with
/// people.
async fn creators_of(service: &Fleet, scope: Scope) -> Result<Vec<CreatorChoice>> {
    let found = async { Ok(creators::creators(&service.db, Of::Systems, &scope).await?) };
    let other = String::new();
    answer_cache::computed(service, DependsOn::Figures, "systems/creators", scope, other, found).await
}

/// `GET /filters/systems`; with a search only creators and organizations that it finds.
pub async fn choices(service: &Fleet, caller: &Caller, search: Option<&ChoiceSearch>) -> Result<Choices> {
    let scope = list_scope(caller, Resource::Systems)?;
    let products = products(service, caller).await?;
    let mut creators = by_name(creators_of(service, scope).await?);
    let mut organizations = stats::homes(&service.db, &scope, search).await?;
    let more = narrow(search, &mut creators, &mut organizations);
    Ok(Choices { products, creators, organizations, more })
}
