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
    kept: HashMap<OrgId, Arc<Routing>>,
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
        let missing: Vec<OrgId> = tenants.iter().copied().filter(|t| !self.kept.contains_key(t)).collect();
        if !missing.is_empty() {
            for (tenant, plan) in config::plans(app, &missing).await? {
                self.kept.insert(tenant, Arc::new(Routing::new(plan)?));
            }
        }
        Ok(tenants.iter().filter_map(|t| Some((*t, self.kept.get(t)?.clone()))).collect())
    }
}
