//! Silences of a system and across systems (spec: alert-management#handling).

use super::{
    Named,
    found_silences::{FoundSilences, SHOWN},
    within,
};
use crate::Alerts;
use bailiwick_alertmanager::{ListedSilence, SilenceState, silence::is_owned};
use bailiwick_domain::{Result, SystemId};
use bailiwick_fleet::systems;
use bailiwick_platform::list_filters;
use bailiwick_policy::Caller;

/// `GET /systems/{id}/alerts/silences`.
///
/// # Errors
/// 404 unless the caller may read the system; the router's.
pub async fn silences_of_system(
    service: &Alerts,
    caller: &Caller,
    id: Option<SystemId>,
) -> Result<Vec<ListedSilence>> {
    let system = systems::load(&service.fleet, caller, id).await?.system;
    let (tenant, key) = (system.organization.id, system.system_key);
    let mut listed = service.state.for_people().silences_of_system(service, tenant, &key).await?;
    listed.retain(|s| s.status.state != SilenceState::Expired && is_owned(&s.matchers, &key));
    sort(&mut listed, |s| s);
    Ok(listed)
}

/// `GET /alerts/silences`; `system_keys`: only of these.
///
/// # Errors
/// 403 for an organization out of reach; with a remote router 502 when no tenant could be asked.
pub async fn silences(
    service: &Alerts,
    caller: &Caller,
    named: &Named,
    system_keys: Option<Vec<String>>,
) -> Result<FoundSilences> {
    let within = within(service, caller, named).await?;
    list_filters::check_lengths([system_keys.as_ref().map(Vec::len)])?;
    let router = service.state.for_people();
    let mut listed = router.silences_within(service, &within, system_keys.as_deref(), false).await?;
    listed.silences.retain(|f| {
        f.silence.status.state != SilenceState::Expired && is_owned(&f.silence.matchers, &f.system_key)
    });
    sort(&mut listed.silences, |f| &f.silence);
    listed.is_cut |= listed.silences.len() > SHOWN;
    listed.silences.truncate(SHOWN);
    if listed.is_cut {
        listed.warnings.push(format!("only the first {} silences are shown", listed.silences.len()));
    }
    Ok(listed)
}

/// Those in force by their end, then those to come by their start.
fn sort<T>(all: &mut [T], silence: impl Fn(&T) -> &ListedSilence) {
    all.sort_by_key(|item| {
        let s = silence(item);
        let time = if s.status.state == SilenceState::Pending { s.starts_at } else { s.ends_at };
        (s.status.state, time, s.id)
    });
}
