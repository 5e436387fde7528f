//! What people do with alerts (contract 04 §2): lists and figures over their organizations, silences, notes, taking
//! charge. The configuration of alerts is elsewhere.
//!
//! Aggregates read a [`Within`], made by [`within`] from the caller and the organizations he names; what concerns one
//! organization takes a tenant, made by [`tenant`]. To add a read: a function in the room of its kind, which serves both
//! routers.

mod active;
mod figures;
mod remote;
mod totals;

pub use active::{ActiveAlert, ActiveAlerts, AlertQuery, active, active_of_system};
pub use bailiwick_store::history::{
    active::{ActiveFilter, ActiveOrder, Assignment},
    list::{HistoryFilter, HistoryOrder, Record},
};
pub use figures::{
    CatalogueEntry, HistoryQuery, Statistics, StatisticsQuery, Trend, catalogue, history, history_of_system,
    statistics, time, trend,
};
pub(super) use totals::start as start_totals;
pub use totals::{Totals, refresh_totals, totals};

use super::Fault;
use crate::{App, listing};
use bailiwick_domain::{Error, OrgId, OrgType, Result};
use bailiwick_policy::{Caller, OrgPlace, Resource, Scope, in_hierarchy, list_scope};
use bailiwick_store::{history::Within, organizations};
use std::collections::{BTreeMap, BTreeSet};

/// Organizations that a request names, as sent.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// `organization_id`, repeated.
    pub ids: Vec<String>,
    /// `include=descendants`.
    pub with_descendants: bool,
}

/// The organizations of an aggregate: the caller's hierarchy or what he names of it. A customer's user names nothing.
async fn within(app: &App, caller: &Caller, named: &Named) -> Result<Within> {
    let scope = list_scope(caller, Resource::Systems)?;
    if named.ids.is_empty() || caller.org_type() == Some(OrgType::Customer) {
        return Ok(Within::all(scope));
    }
    let sent: BTreeSet<&String> = named.ids.iter().collect();
    listing::check_lengths([Some(sent.len())])?;
    let ids: BTreeSet<OrgId> = sent.iter().filter_map(|id| id.parse().ok()).collect();
    let places: BTreeMap<OrgId, OrgPlace> = organizations::places(&app.db, ids.iter().copied())
        .await?
        .into_iter()
        .map(|place| (place.path.id, place))
        .collect();
    let mut found = Vec::with_capacity(sent.len());
    for id in sent {
        let place = id.parse().ok().and_then(|id: OrgId| places.get(&id));
        let granted = in_hierarchy(caller, place)?;
        if let Some(place) = place {
            found.push((granted.id(), place.org_type));
        }
    }
    found.dedup();
    Ok(match found[..] {
        // One of them is an index range like any other scope.
        [(id, org_type)] => Within::all(match org_type {
            _ if !named.with_descendants => Scope::Organization(id),
            OrgType::Owner => scope,
            OrgType::Customer => Scope::Organization(id),
            OrgType::Distributor | OrgType::Reseller => Scope::Subtree { root: id, org_type },
        }),
        _ => Within { scope, named: Some(found), with_descendants: named.with_descendants },
    })
}

/// What the remote or the embedded router could not do, for management (contract 04 §2.8, §8 rule 16).
fn told(fault: Fault) -> Error {
    match fault {
        Fault::Unavailable(log) => Error::Upstream { message: "alerting backend is unavailable".into(), log },
        Fault::TimedOut => Error::UpstreamTimeout("alerting backend timed out".into()),
        Fault::NotReady { log, .. } => {
            Error::Unavailable { message: "alerting backend is not ready".into(), log }
        }
        Fault::UnknownTenant => Error::Unavailable {
            message: "alerting backend is not ready".into(),
            log: "the tenant does not run at the alert router".to_owned(),
        },
        Fault::Rejected(reject) => Error::Upstream {
            message: "alerting backend is unavailable".into(),
            log: format!("refused with {}: {}", reject.status, reject.render().trim_end()),
        },
        Fault::SilenceLimit => Error::conflict("silence limit exceeded"),
        Fault::RateLimited | Fault::AlertLimit => {
            Error::internal("a limit of systems does not hold for management")
        }
        Fault::Internal(log) => Error::internal(log),
    }
}
