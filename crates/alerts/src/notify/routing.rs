//! The routing of tenants, kept for as long as no configuration changes.

use crate::{
    Alerts,
    config::{self, short_digest},
};
use bailiwick_alerting::{
    Labels,
    config::{BLACKHOLE, Destination, Plan, Tree},
};
use bailiwick_domain::{Error, OrgId, Result};
use bailiwick_store::delivery::UNREADABLE;
use serde_json::json;
use std::{collections::HashMap, sync::Arc, time::Duration};

/// What cannot be read is read again after this: a key may be back, another version of the service may understand it.
pub(super) const RETRY: Duration = Duration::from_secs(60);

/// Tenants whose routing is kept.
const KEPT: usize = 4096;

/// A tenant's routing.
#[derive(Debug)]
pub(super) struct Routing {
    pub(super) plan: Plan,
    tree: Tree,
    /// The same text while nothing about it changes.
    pub(super) digest: String,
}

impl Routing {
    fn new(plan: Plan) -> Result<Routing> {
        let tree = Tree::new(&plan.route).map_err(Error::internal)?;
        let told: Vec<_> =
            plan.receivers.iter().map(|r| [vec![json!(r.name)], r.recipients.lists()].concat()).collect();
        let digest = short_digest(&json!([plan.route, told]).to_string());
        Ok(Routing { plan, tree, digest })
    }

    /// Where an alert goes; none = nobody is told. Each alert has one place in the trees of this service.
    pub(super) fn destination(&self, labels: &Labels) -> Option<&Destination> {
        self.tree.route(labels).into_iter().find(|d| d.receiver != BLACKHOLE)
    }
}

/// Routings of one version of the configuration.
#[derive(Debug, Default)]
pub(super) struct RoutingCache {
    version: i64,
    kept: HashMap<OrgId, Known>,
}

#[derive(Debug)]
enum Known {
    Routing(Arc<Routing>),
    /// The configuration cannot be read.
    Unreadable,
}

impl RoutingCache {
    /// The routings of these tenants as of `version`, which was asked before. Of a tenant whose configuration cannot be
    /// read, or who is gone, there is none.
    pub(super) async fn get(
        &mut self,
        service: &Alerts,
        version: i64,
        tenants: &[OrgId],
    ) -> Result<HashMap<OrgId, Arc<Routing>>> {
        if self.version != version || self.kept.len() > KEPT {
            self.kept.clear();
            self.version = version;
        }
        let missing: Vec<OrgId> = tenants.iter().copied().filter(|t| !self.kept.contains_key(t)).collect();
        if missing.is_empty() {
            return Ok(self.of(tenants));
        }
        match config::plans(service, &missing).await {
            Ok(plans) => self.keep(plans),
            // One that cannot be read must not keep the others waiting.
            Err(e) if missing.len() > 1 && !matches!(e, Error::Unavailable { .. }) => {
                for tenant in &missing {
                    self.keep_one(service, *tenant).await?;
                }
            }
            Err(e) => self.keep_none(&missing, e)?,
        }
        Ok(self.of(tenants))
    }

    /// What stands for a tenant's plan, one that cannot be read included; none = it was not asked for, or is gone.
    pub(super) fn digest(&self, tenant: OrgId) -> Option<&str> {
        self.kept.get(&tenant).map(|known| match known {
            Known::Routing(routing) => routing.digest.as_str(),
            Known::Unreadable => UNREADABLE,
        })
    }

    /// Has what could not be read be read again when it is asked for.
    pub(super) fn forget_unreadable(&mut self) {
        self.kept.retain(|_, known| !matches!(known, Known::Unreadable));
    }

    fn of(&self, tenants: &[OrgId]) -> HashMap<OrgId, Arc<Routing>> {
        let routing = |t: &OrgId| match self.kept.get(t)? {
            Known::Routing(routing) => Some((*t, routing.clone())),
            Known::Unreadable => None,
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
            let known = match Routing::new(plan) {
                Ok(routing) => Known::Routing(Arc::new(routing)),
                Err(error) => unreadable(tenant, &error),
            };
            self.kept.insert(tenant, known);
        }
    }

    fn keep_none(&mut self, tenants: &[OrgId], error: Error) -> Result<()> {
        if matches!(error, Error::Unavailable { .. }) {
            return Err(error);
        }
        for tenant in tenants {
            self.kept.insert(*tenant, unreadable(*tenant, &error));
        }
        Ok(())
    }
}

fn unreadable(tenant: OrgId, error: &Error) -> Known {
    tracing::error!(%tenant, %error, "who is told of alerts cannot be read: nobody is until it can be");
    Known::Unreadable
}
