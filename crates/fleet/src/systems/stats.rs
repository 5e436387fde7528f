//! Totals, trend and the choices of the list's filters (spec: systems#totals, systems#trend, systems#filters).

use crate::Fleet;
use bailiwick_directory::{creators::narrow, organizations::by_name};
use bailiwick_domain::{ChoiceSearch, Result, Ts, org::OrgRef};
use bailiwick_platform::{
    answer_cache::{self, DependsOn},
    trend::{Trend, Window},
};
use bailiwick_policy::{Caller, Resource, Scope, list_scope};
use bailiwick_store::{
    creators::{self, CreatorChoice, Of},
    systems::{stats, status},
};
use std::{collections::BTreeMap, time::Duration};

pub use stats::Totals;

/// Systems that one look for late statuses finds at most.
const LATE: u64 = 50_000;
/// Systems whose statuses are set at once.
const BATCH: usize = 500;

/// Sets the statuses that time has changed: of systems that have fallen silent, and, after another timeout was set, of
/// those that count as active again.
///
/// # Errors
/// The database's.
pub async fn update_statuses(service: &Fleet) -> Result<()> {
    let cutoff = service.platform.now().minus(service.settings.systems.liveness_timeout);
    loop {
        let due = status::due(&service.platform.db, cutoff, LATE).await?;
        let mut set = 0;
        for ids in due.chunks(BATCH) {
            match status::update_some(&service.platform.db, ids, cutoff).await {
                Ok(some) => set += some,
                // The next round has them.
                Err(e) if e.is_collision() => {}
                Err(e) => return Err(e.into()),
            }
        }
        // The next round has what others have locked.
        if set == 0 || (due.len() as u64) < LATE {
            return Ok(());
        }
    }
}

/// `GET /systems/totals`, with the timeout to count by, in minutes; none = the liveness timeout.
pub async fn totals(service: &Fleet, caller: &Caller, minutes: Option<u64>) -> Result<(Totals, u64)> {
    let scope = list_scope(caller, Resource::Systems)?;
    let timeout = service.settings.systems.liveness_timeout;
    let limit = minutes.map_or(timeout, |minutes| Duration::from_secs(minutes.saturating_mul(60)));
    let totals = if limit == timeout {
        of(service, scope).await?
    } else {
        // No system is older than the epoch, and some databases cannot store earlier times.
        let cutoff = service.platform.now().minus(limit).max(Ts(0));
        stats::totals_at(&service.platform.db, &scope, cutoff).await?
    };
    Ok((totals, minutes.unwrap_or(timeout.as_secs() / 60)))
}

/// The totals of a scope.
pub(super) async fn of(service: &Fleet, scope: Scope) -> Result<Totals> {
    let totals = async { Ok(stats::totals(&service.platform.db, &scope).await?) };
    answer_cache::computed(
        &service.platform,
        DependsOn::Statuses,
        "systems/totals",
        scope,
        String::new(),
        totals,
    )
    .await
}

/// `GET /systems/trend`. `period` as sent; none = 7.
pub async fn trend(service: &Fleet, caller: &Caller, period: Option<&str>) -> Result<Trend> {
    let scope = list_scope(caller, Resource::Systems)?;
    let window = Window::parse_calendar(service.platform.now(), period)?;
    let since = window.since()?;
    let changes = async { Ok(stats::changes_by_day(&service.platform.db, &scope, since).await?) };
    let (depends_on, day) = (DependsOn::Figures, since.secs().to_string());
    let changes: Vec<(i64, i64)> =
        answer_cache::computed(&service.platform, depends_on, "systems/changes", scope, day, changes).await?;
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
    let found = async { Ok(stats::products(&service.platform.db, &scope).await?) };
    let found: Vec<(String, String)> = answer_cache::computed(
        &service.platform,
        DependsOn::Systems,
        "systems/products",
        scope,
        String::new(),
        found,
    )
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

/// The creators of systems. A system keeps its creator, so they change only when there are more or fewer systems, or
/// with people.
async fn creators_of(service: &Fleet, scope: Scope) -> Result<Vec<CreatorChoice>> {
    let found = async { Ok(creators::creators(&service.platform.db, Of::Systems, &scope).await?) };
    let other = String::new();
    answer_cache::computed(&service.platform, DependsOn::Figures, "systems/creators", scope, other, found)
        .await
}

/// `GET /filters/systems`; with a search only creators and organizations that it finds.
pub async fn choices(service: &Fleet, caller: &Caller, search: Option<&ChoiceSearch>) -> Result<Choices> {
    let scope = list_scope(caller, Resource::Systems)?;
    let products = products(service, caller).await?;
    let mut creators = by_name(creators_of(service, scope).await?);
    let mut organizations = stats::homes(&service.platform.db, &scope, search).await?;
    let more = narrow(search, &mut creators, &mut organizations);
    Ok(Choices { products, creators, organizations, more })
}
