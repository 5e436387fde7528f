//! The routing of tenants, kept for as long as no configuration changes.

use crate::{App, alerting::config};
use aws_lc_rs::digest::{SHA256, digest};
use bailiwick_alerting::{
    Labels,
    config::{BLACKHOLE, Destination, Plan, Recipient, Tree},
};
use bailiwick_domain::{Error, OrgId, Result};
use serde_json::json;
use std::{collections::HashMap, sync::Arc};

/// Tenants whose routing is kept.
const KEPT: usize = 4096;

/// 32 hex digits of a text.
pub(super) fn short_digest(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().take(16).map(|b| format!("{b:02x}")).collect()
}

/// What a recipient is known by where his address must not be.
pub(super) fn digest_of<R: Recipient>(recipient: &R) -> String {
    short_digest(&format!("{}\n{}", R::CHANNEL, recipient.key()))
}

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
        let told: Vec<_> = plan
            .receivers
            .iter()
            .map(|r| json!([r.name, r.audience.email, r.audience.webhook, r.audience.telegram]))
            .collect();
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
pub(super) struct Plans {
    version: i64,
    /// None: the configuration cannot be read.
    kept: HashMap<OrgId, Option<Arc<Routing>>>,
}

impl Plans {
    /// The routings of these tenants as of `version`, which was asked before.
    pub(super) async fn get(
        &mut self,
        app: &App,
        version: i64,
        tenants: &[OrgId],
    ) -> Result<HashMap<OrgId, Arc<Routing>>> {
        if self.version != version || self.kept.len() > KEPT {
            self.kept.clear();
            self.version = version;
        }
        // Once for each version, also what cannot be read.
        let missing: Vec<OrgId> = tenants.iter().copied().filter(|t| !self.kept.contains_key(t)).collect();
        if missing.is_empty() {
            return Ok(self.of(tenants));
        }
        match config::plans(app, &missing).await {
            Ok(plans) => self.keep(plans),
            // One that cannot be read must not keep the others waiting.
            Err(e) if missing.len() > 1 && !matches!(e, Error::Unavailable { .. }) => {
                for tenant in &missing {
                    self.keep_one(app, *tenant).await?;
                }
            }
            Err(e) => self.keep_none(&missing, e)?,
        }
        Ok(self.of(tenants))
    }

    fn of(&self, tenants: &[OrgId]) -> HashMap<OrgId, Arc<Routing>> {
        tenants.iter().filter_map(|t| Some((*t, self.kept.get(t)?.clone()?))).collect()
    }

    async fn keep_one(&mut self, app: &App, tenant: OrgId) -> Result<()> {
        match config::plans(app, &[tenant]).await {
            Ok(plans) => self.keep(plans),
            Err(e) => self.keep_none(&[tenant], e)?,
        }
        Ok(())
    }

    fn keep(&mut self, plans: HashMap<OrgId, Plan>) {
        for (tenant, plan) in plans {
            let routing = Routing::new(plan).map(Arc::new);
            let routing = routing.inspect_err(|e| tracing::error!(%tenant, error = %e, "alerts go nowhere"));
            self.kept.insert(tenant, routing.ok());
        }
    }

    fn keep_none(&mut self, tenants: &[OrgId], error: Error) -> Result<()> {
        if matches!(error, Error::Unavailable { .. }) {
            return Err(error);
        }
        for tenant in tenants {
            tracing::error!(%tenant, %error, "who is told of alerts cannot be read: nobody is until it is saved again");
            self.kept.insert(*tenant, None);
        }
        Ok(())
    }
}
