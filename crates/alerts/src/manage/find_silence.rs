//! Finds one silence where people look for it (spec: alert-management#handling), in both routers. `silence_changes`
//! creates and changes silences.

use super::{
    found_silences::{key_of, of_their_systems},
    tenant, to_error,
};
use crate::{Alerts, Fault, Sender};
use bailiwick_alertmanager::{ListedSilence, SenderLabels, silence::is_owned};
use bailiwick_domain::{Error, ObjectKind, OrgId, Result, SystemId};
use bailiwick_platform::RequestContext;
use bailiwick_policy::{Action, Caller, decide};
use bailiwick_store::systems as stored_systems;
use uuid::Uuid;

/// Where silences are looked for.
#[derive(Clone, Debug)]
pub enum SilenceScope {
    /// At one system, as the path names it.
    System(Option<SystemId>),
    /// In one organization, as the query names it.
    Organization(Vec<String>),
}

/// The tenant, and the system if one is named, whose silences a request is about.
pub(super) struct SilenceTarget {
    pub(super) tenant: OrgId,
    /// Key of the system, where one is named.
    pub(super) system_key: Option<String>,
    pub(super) is_registered: bool,
}

pub(super) async fn find(
    service: &Alerts,
    caller: &Caller,
    action: Action,
    scope: &SilenceScope,
) -> Result<SilenceTarget> {
    match scope {
        SilenceScope::System(id) => {
            let id = id.ok_or(Error::NotFound(ObjectKind::System))?;
            let found = stored_systems::get(&service.platform.db, id)
                .await?
                .ok_or(Error::NotFound(ObjectKind::System))?;
            decide(caller, action, &found.target()).granted()?;
            let system = found.system;
            Ok(SilenceTarget {
                tenant: system.organization.id,
                system_key: Some(system.system_key),
                is_registered: system.registered_at.is_some(),
            })
        }
        SilenceScope::Organization(ids) => {
            let tenant = tenant(service, caller, ids).await?;
            Ok(SilenceTarget { tenant, system_key: None, is_registered: true })
        }
    }
}

/// In the name of a system, as the routers' rules want it.
pub(super) fn sender<'a>(tenant: OrgId, system_key: &str, request_id: &'a str) -> Sender<'a> {
    let identity = SenderLabels {
        system_key: system_key.to_owned(),
        organization_id: tenant.to_string(),
        ..SenderLabels::default()
    };
    Sender { identity, tenant, request_id }
}

/// The caller and the context of the request.
#[derive(Clone, Copy, Debug)]
pub struct CallerContext<'a> {
    pub caller: &'a Caller,
    pub ctx: &'a RequestContext,
}

/// A silence of the place, with the key of its system.
pub(super) async fn look_up(
    service: &Alerts,
    target: &SilenceTarget,
    ctx: &RequestContext,
    id: &str,
) -> Result<(String, ListedSilence)> {
    let missing = || Error::NotFound(ObjectKind::Silence);
    let id = Uuid::try_parse(id).ok().filter(|_| id.len() == 36).ok_or_else(missing)?;
    let who = sender(target.tenant, target.system_key.as_deref().unwrap_or_default(), &ctx.request_id);
    let silence = match service.state.for_people().silence(service, &who, id).await {
        Err(Fault::UnknownTenant) => None,
        read => read.map_err(to_error)?,
    };
    let silence = silence.filter(|s| s.id == id).ok_or_else(missing)?;
    if let Some(key) = &target.system_key {
        return if is_owned(&silence.matchers, key) { Ok((key.clone(), silence)) } else { Err(missing()) };
    }
    let key = key_of(&silence.matchers).ok_or_else(missing)?.to_owned();
    let own = of_their_systems(service, vec![(target.tenant, silence)], None).await?.pop();
    own.map(|f| (key, f.silence)).ok_or_else(missing)
}

/// A silence that has vanished since it was looked up is reported as missing.
pub(super) fn gone(fault: Fault) -> Error {
    match fault {
        Fault::Rejected(reject) if reject.status == 404 => Error::NotFound(ObjectKind::Silence),
        fault => to_error(fault),
    }
}

/// `GET …/silences/{silence_id}`.
///
/// # Errors
/// 404 for one of another system or organization; the router's.
pub async fn silence(
    service: &Alerts,
    context: CallerContext<'_>,
    scope: &SilenceScope,
    id: &str,
) -> Result<ListedSilence> {
    let target = find(service, context.caller, Action::Read, scope).await?;
    Ok(look_up(service, &target, context.ctx, id).await?.1)
}
