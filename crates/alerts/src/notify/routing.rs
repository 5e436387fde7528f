//! The routing of tenants, cached until a configuration changes.

use crate::{
    Alerts,
    config::{self, short_digest},
};
use bailiwick_alertmanager::{
    Labels,
    config::{BLACKHOLE, Destination, Plan, Tree},
};
use bailiwick_domain::{Error, OrgId, Result};
use bailiwick_store::delivery::UNREADABLE;
use serde_json::json;
use std::{collections::HashMap, sync::Arc, time::Duration};

/// Delay before an unreadable configuration is read again: a key may be back, another version of the service may
/// understand it.
pub(super) const RETRY: Duration = Duration::from_secs(60);

/// Number of tenants whose routing is cached.
const KEPT: usize = 4096;

/// A tenant's routing.
#[derive(Debug)]
pub(super) struct Routing {
    pub(super) plan: Plan,
    tree: Tree,
    /// Changes only when the routes or the recipients change.
    pub(super) digest: String,
}

impl Routing {
    fn new(plan: Plan) -> Result<Routing> {
        let tree = Tree::new(&plan.route).map_err(Error::internal)?;
        let receivers: Vec<_> =
            plan.receivers.iter().map(|r| [vec![json!(r.name)], r.recipients.lists()].concat()).collect();
        let digest = short_digest(&json!([plan.route, receivers]).to_string());
        Ok(Routing { plan, tree, digest })
    }

    /// The destination of an alert; none = it notifies no recipient. Each alert has one destination in the trees of
    /// this service.
    pub(super) fn destination(&self, labels: &Labels) -> Option<&Destination> {
        self.tree.route(labels).into_iter().find(|d| d.receiver != BLACKHOLE)
    }
}

/// Routings of one version of the configuration.
#[derive(Debug, Default)]
pub(super) struct RoutingCache {
    version: i64,
    routings: HashMap<OrgId, CachedRouting>,
}

#[derive(Debug)]
enum CachedRouting {
    Routing(Arc<Routing>),
    /// The configuration cannot be read.
    Unreadable,
}

impl RoutingCache {
    /// The routings of these tenants as of `version`, which the caller read before. A tenant that is gone, or whose
    /// configuration cannot be read, has none.
    pub(super) async fn get(
        &mut self,
        service: &Alerts,
        version: i64,
        tenants: &[OrgId],
    ) -> Result<HashMap<OrgId, Arc<Routing>>> {
        if self.version != version || self.routings.len() > KEPT {
            self.routings.clear();
            self.version = version;
        }
        let missing: Vec<OrgId> =
            tenants.iter().copied().filter(|t| !self.routings.contains_key(t)).collect();
        if missing.is_empty() {
            return Ok(self.of(tenants));
        }
        match config::plans(service, &missing).await {
            Ok(plans) => self.keep(plans),
            // An unreadable configuration must not delay the others.
            Err(e) if missing.len() > 1 && !matches!(e, Error::Unavailable { .. }) => {
                for tenant in &missing {
                    self.keep_one(service, *tenant).await?;
                }
            }
            Err(e) => self.keep_none(&missing, e)?,
        }
        Ok(self.of(tenants))
    }

    /// Identifies a tenant's plan, even one that cannot be read; none = it was not loaded, or the tenant is gone.
    pub(super) fn digest(&self, tenant: OrgId) -> Option<&str> {
        self.routings.get(&tenant).map(|cached| match cached {
            CachedRouting::Routing(routing) => routing.digest.as_str(),
            CachedRouting::Unreadable => UNREADABLE,
        })
    }

    /// Drops unreadable configurations, so that the next request reads them again.
    pub(super) fn forget_unreadable(&mut self) {
        self.routings.retain(|_, routing| !matches!(routing, CachedRouting::Unreadable));
    }

    fn of(&self, tenants: &[OrgId]) -> HashMap<OrgId, Arc<Routing>> {
        let routing = |t: &OrgId| match self.routings.get(t)? {
            CachedRouting::Routing(routing) => Some((*t, routing.clone())),
            CachedRouting::Unreadable => None,
        };
        tenants.iter().filter_map(routing).collect()
    }

    async fn keep_one(&mut self, service: &Alerts, tenant: OrgId) -> Result<()> {
        match config::plans(service, &[tenant]).await {
            Ok(plans) => self.keep(plans),
            Err(e) => self.keep_none(&[tenant], e)?,
        }
        Ok(())
    }

    fn keep(&mut self, plans: HashMap<OrgId, Plan>) {
        for (tenant, plan) in plans {
            let cached = match Routing::new(plan) {
                Ok(routing) => CachedRouting::Routing(Arc::new(routing)),
                Err(error) => unreadable(tenant, &error),
            };
            self.routings.insert(tenant, cached);
        }
    }

    fn keep_none(&mut self, tenants: &[OrgId], error: Error) -> Result<()> {
        if matches!(error, Error::Unavailable { .. }) {
            return Err(error);
        }
        for tenant in tenants {
            self.routings.insert(*tenant, unreadable(*tenant, &error));
        }
        Ok(())
    }
}

fn unreadable(tenant: OrgId, error: &Error) -> CachedRouting {
    tracing::error!(%tenant, %error, "an alert configuration cannot be read; its alerts notify no one");
    CachedRouting::Unreadable
}
