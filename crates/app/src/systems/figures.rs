//! Totals, trend and the choices of the list's filters (contract 03 §2.7, §2.8, §2.10).

use crate::{
    App,
    organizations::by_name,
    trend::{Trend, Window},
};
use bailiwick_domain::{Result, Ts, org::OrgRef};
use bailiwick_policy::{Caller, Resource, list_scope};
use bailiwick_store::{
    creators::{self, CreatorChoice, Of},
    systems::figures,
};
use std::{collections::BTreeMap, time::Duration};

pub use figures::Totals;

/// `GET /systems/totals`, with the timeout they were counted by, in minutes; none = the liveness timeout.
pub async fn totals(app: &App, caller: &Caller, minutes: Option<u64>) -> Result<(Totals, u64)> {
    let scope = list_scope(caller, Resource::Systems)?;
    let timeout = match minutes {
        Some(minutes) => Duration::from_secs(minutes.saturating_mul(60)),
        None => app.settings.systems.liveness_timeout,
    };
    // No system is older than the epoch, and no database knows all times before it.
    let cutoff = app.now().minus(timeout).max(Ts(0));
    let totals = figures::totals(&app.db, &scope, cutoff).await?;
    Ok((totals, minutes.unwrap_or(timeout.as_secs() / 60)))
}

/// `GET /systems/trend`. `period` as sent; none = 7.
pub async fn trend(app: &App, caller: &Caller, period: Option<&str>) -> Result<Trend> {
    let scope = list_scope(caller, Resource::Systems)?;
    let window = Window::parse_calendar(app.now(), period)?;
    let changes = figures::changes_by_day(&app.db, &scope, window.since()?).await?;
    window.fill(&changes, super::all(app, scope).await?)
}

/// What the filters of the list can be set to.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Types, ascending, with their versions, descending.
    pub products: BTreeMap<String, Vec<String>>,
    /// Who created systems, by name.
    pub creators: Vec<CreatorChoice>,
    /// Organizations with systems, by name.
    pub organizations: Vec<OrgRef>,
}

/// `GET /filters/systems`.
pub async fn choices(app: &App, caller: &Caller) -> Result<Choices> {
    let scope = list_scope(caller, Resource::Systems)?;
    let mut products: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (product, version) in figures::products(&app.db, &scope).await? {
        let versions = products.entry(product).or_default();
        if !version.is_empty() {
            versions.push(version);
        }
    }
    products.values_mut().for_each(|versions| versions.reverse());
    let creators = by_name(creators::creators(&app.db, Of::Systems, &scope).await?);
    Ok(Choices { products, creators, organizations: figures::homes(&app.db, &scope).await? })
}
