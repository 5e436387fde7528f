//! A layer, and the configuration in force for a tenant, as the reader may see them.

use super::{
    condition::EditableLayer,
    last_failures,
    publishing::{publishing, warnings},
    sealed, target,
};
use crate::Alerts;
use bailiwick_alertmanager::config::{FlatView, Layer, Publishing, merge, shown_yaml};
use bailiwick_domain::{Error, OrgId, OrgType, Result, Ts};
use bailiwick_platform::conditions::Version;
use bailiwick_policy::{Caller, OrgNode, Permission, Scope, hierarchy};
use bailiwick_store::alert_layers::{self, Link};

/// A layer as its reader may see it.
#[derive(Clone, Debug)]
pub struct LayerView {
    /// The layer; nothing when none was saved.
    pub layer: Layer,
    /// The layer in the flat form of older clients; none when none was saved.
    pub flat: Option<FlatView>,
    /// The user who saved it last.
    pub updated_by_name: Option<String>,
    /// When.
    pub updated_at: Option<Ts>,
    /// Parts that have no effect at present, and recipients that the last notification did not reach.
    pub warnings: Vec<String>,
    /// The state of the layer, secrets included.
    pub version: Version,
}

/// `GET /alerts/config`: the layer of the caller's own organization or of the one named.
///
/// # Errors
/// 403 for an organization out of reach.
pub async fn get(service: &Alerts, caller: &Caller, organization: Option<&str>) -> Result<LayerView> {
    let (granted, _) = target(&service.platform.db, caller, Permission::ReadAlerts, organization).await?;
    let Some(stored) = alert_layers::get(&service.platform.db, granted.id()).await? else {
        let layer = Layer::default();
        return Ok(LayerView {
            layer,
            flat: None,
            updated_by_name: None,
            updated_at: None,
            warnings: Vec::new(),
            version: Version::of(&service.platform, &EditableLayer(None))?,
        });
    };
    let opened = sealed::open(&service.platform.keys, granted.id(), stored.layer)?;
    let mut warnings = warnings(service, &opened);
    if service.state.is_embedded() {
        let failures = last_failures(service, &opened).await?;
        warnings.extend(failures.iter().map(ToString::to_string));
    }
    let version = Version::of(&service.platform, &EditableLayer(Some(&opened)))?;
    let layer = if caller.may_see_alert_secrets() { opened } else { opened.redacted() };
    Ok(LayerView {
        flat: Some(FlatView::of(&layer)),
        warnings,
        version,
        layer,
        updated_by_name: Some(stored.updated_by_name),
        updated_at: Some(stored.updated_at),
    })
}

/// `GET /alerts/config?format=yaml`: the document of the tenant without secrets; none when it has no recipients.
///
/// # Errors
/// 403 for an organization out of reach.
pub async fn yaml(service: &Alerts, caller: &Caller, organization: Option<&str>) -> Result<Option<String>> {
    let (_, node) = target(&service.platform.db, caller, Permission::ReadAlerts, organization).await?;
    Ok(effective_view(service, caller, &node).await?.yaml)
}

/// An organization between the owner and the tenant.
#[derive(Clone, Debug)]
pub struct LinkView {
    pub organization_id: OrgId,
    pub organization_name: String,
    pub org_type: OrgType,
    /// Its layer without secrets; recipients above the reader's organization are hidden.
    pub layer: Option<Layer>,
    /// The user who saved it last; left out for users above the reader's organization.
    pub updated_by_name: Option<String>,
    /// When.
    pub updated_at: Option<Ts>,
}

/// The configuration in force and its layers, as the reader may see them.
#[derive(Clone, Debug)]
pub struct EffectiveView {
    /// The tenant.
    pub organization_id: OrgId,
    /// From the owner down to the tenant.
    pub chain: Vec<LinkView>,
    /// All together.
    pub effective: Layer,
    /// The configuration as a document; none when it has no recipients.
    pub yaml: Option<String>,
}

/// `GET /alerts/config/effective`.
///
/// # Errors
/// 400 without exactly one organization (customers always mean their own), 403 when it is not the caller's to see.
pub async fn view(service: &Alerts, caller: &Caller, organization: Option<&str>) -> Result<EffectiveView> {
    if organization.is_none() && caller.org_type() != Some(OrgType::Customer) {
        return Err(Error::bad_request("organization_id query parameter is required"));
    }
    let (_, node) = target(&service.platform.db, caller, Permission::ConfigAlerts, organization).await?;
    effective_view(service, caller, &node).await
}

/// Secrets are never included; recipients from above the reader's organization are hidden.
async fn effective_view(service: &Alerts, caller: &Caller, node: &OrgNode) -> Result<EffectiveView> {
    let links = alert_layers::chain(&service.platform.db, node.path).await?;
    let (scope, publishing, tenant) = (hierarchy(caller), publishing(service), node.path.id);
    let opening = service.clone();
    // A document may have some ten thousand recipients.
    let looking = move || assemble(&opening, tenant, links, &scope, &publishing);
    service.platform.tasks.spawn_blocking(looking).await.map_err(Error::internal)?
}

fn assemble(
    service: &Alerts,
    tenant: OrgId,
    links: Vec<Link>,
    scope: &Scope,
    publishing: &Publishing,
) -> Result<EffectiveView> {
    let (mut above, mut within, mut own) = (Vec::new(), Vec::new(), None);
    let mut chain = Vec::with_capacity(links.len());
    for link in links {
        let id = link.path.id;
        let is_known = scope.contains(&link.path);
        let (updated_by, at) = link.layer.as_ref().map(|l| (l.updated_by_name.clone(), l.updated_at)).unzip();
        let layer =
            link.layer.map(|stored| sealed::open(&service.platform.keys, id, stored.layer)).transpose()?;
        chain.push(LinkView {
            organization_id: id,
            organization_name: link.name,
            org_type: link.org_type,
            layer: layer.as_ref().map(|l| if is_known { l.redacted() } else { l.hidden() }),
            updated_by_name: updated_by.filter(|_| is_known),
            updated_at: at,
        });
        match layer.filter(|_| !link.is_silent) {
            Some(layer) if id == tenant => own = Some(layer),
            Some(layer) if is_known => within.push(layer),
            Some(layer) => above.push(layer),
            None => {}
        }
    }
    let effective = Layer::beside(&merge(&above, None), &merge(&within, own.as_ref()));
    let yaml = shown_yaml(&tenant.to_string(), &effective, publishing).map_err(Error::internal)?;
    Ok(EffectiveView { organization_id: tenant, chain, effective: effective.redacted(), yaml })
}
