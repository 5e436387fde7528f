//! Silences of a system and across systems (spec: alert-management#handling).

use super::{Named, remote, told, within};
use crate::{AlertRouter, Alerts, embedded};
use bailiwick_alerting::{ListedSilence, Matcher, Nanos, Op, SilenceState, StoredSilence, silence::is_owned};
use bailiwick_domain::{OrgId, Result, SystemId};
use bailiwick_fleet::systems;
use bailiwick_platform::list_filters;
use bailiwick_policy::Caller;
use bailiwick_store::{StoreError, history::active, router as rows};
use std::collections::{BTreeSet, HashMap};

/// Silences of one list.
const SHOWN: usize = 5000;

/// One silence with its place.
#[derive(Clone, Debug)]
pub struct FoundSilence {
    /// Tenant.
    pub organization_id: OrgId,
    /// Its system.
    pub system_key: String,
    /// The silence.
    pub silence: ListedSilence,
}

/// Silences of several organizations.
#[derive(Clone, Debug)]
pub struct FoundSilences {
    /// In order.
    pub silences: Vec<FoundSilence>,
    /// Tenants that could not be asked, and silences that could not be shown.
    pub warnings: Vec<String>,
}

/// `GET /systems/{id}/alerts/silences`.
///
/// # Errors
/// 404 unless the caller may read the system; the router's.
pub async fn silences_of_system(
    service: &Alerts,
    caller: &Caller,
    id: Option<SystemId>,
) -> Result<Vec<ListedSilence>> {
    let system = systems::load(service, caller, id).await?.system;
    let (tenant, key) = (system.organization.id, system.system_key);
    let mut listed: Vec<ListedSilence> = match service.alerting().for_people() {
        AlertRouter::Embedded => {
            let at = service.now();
            let stored = rows::silences_of_system(&service.db, tenant, &key, at).await?;
            let read = stored.iter().filter_map(|payload| embedded::read::<StoredSilence>(payload));
            read.map(|s| s.listed(Nanos::from_ts(at))).collect()
        }
        AlertRouter::Remote(client) => {
            remote::silences_of(service, client, tenant, Some(&key)).await.map_err(told)?
        }
    };
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
    let (mut found, mut warnings) = match service.alerting().for_people() {
        AlertRouter::Embedded => {
            let at = service.now();
            let mut limit = SHOWN as u64 + 1;
            let rows = loop {
                let keys = system_keys.as_deref();
                match active::silences(&service.db, &within, keys, at, limit).await {
                    // Shorter pages, rather than an error because a few systems have written large silences.
                    Err(StoreError::TooHeavy) if limit > 1 => limit = limit.div_ceil(4),
                    rows => break rows?,
                }
            };
            let is_cut = limit <= SHOWN as u64 && rows.len() as u64 == limit;
            let read = rows.into_iter().filter_map(|(organization_id, system_key, payload)| {
                let silence = embedded::read::<StoredSilence>(&payload)?.listed(Nanos::from_ts(at));
                Some(FoundSilence { organization_id, system_key, silence })
            });
            let found: Vec<FoundSilence> = read.collect();
            let cut = is_cut.then(|| format!("only the first {} silences are shown", found.len()));
            (found, cut.into_iter().collect::<Vec<_>>())
        }
        AlertRouter::Remote(client) => {
            let told = remote::silences(service, client, &within, system_keys.as_deref()).await?;
            (of_their_systems(service, told.found, system_keys.as_deref()).await?, told.warnings)
        }
    };
    found.retain(|f| {
        f.silence.status.state != SilenceState::Expired && is_owned(&f.silence.matchers, &f.system_key)
    });
    sort(&mut found, |f| &f.silence);
    if found.len() > SHOWN {
        found.truncate(SHOWN);
        warnings.push(format!("only the first {SHOWN} silences are shown"));
    }
    Ok(FoundSilences { silences: found, warnings })
}

/// The silences of systems that the organizations have.
pub(super) async fn of_their_systems(
    service: &Alerts,
    silences: Vec<(OrgId, ListedSilence)>,
    system_keys: Option<&[String]>,
) -> Result<Vec<FoundSilence>> {
    let mut found = Vec::with_capacity(silences.len());
    let mut asked: BTreeSet<(OrgId, String)> = BTreeSet::new();
    for (organization_id, silence) in silences {
        let Some(system_key) = key_of(&silence.matchers).map(str::to_owned) else { continue };
        if system_keys.is_none_or(|keys| keys.contains(&system_key)) {
            asked.insert((organization_id, system_key.clone()));
            found.push(FoundSilence { organization_id, system_key, silence });
        }
    }
    let asked: Vec<((OrgId, String), String)> =
        asked.into_iter().map(|(tenant, key)| ((tenant, key.clone()), key)).collect();
    let shown: HashMap<(OrgId, String), active::Shown> =
        active::shown(&service.db, &asked).await?.into_iter().collect();
    let has = |f: &FoundSilence| {
        let shown = shown.get(&(f.organization_id, f.system_key.clone()));
        shown.is_some_and(|s| s.system.is_some())
    };
    found.retain(has);
    Ok(found)
}

/// The system that a silence is bound to: a literal, positive matcher.
pub(super) fn key_of(matchers: &[Matcher]) -> Option<&str> {
    let own = matchers.iter().find(|m| m.op == Op::Equal && m.name == "system_key");
    own.map(|m| m.value.as_str()).filter(|key| !key.is_empty())
}

/// Those in force by their end, then those to come by their start.
fn sort<T>(all: &mut [T], silence: impl Fn(&T) -> &ListedSilence) {
    all.sort_by_key(|item| {
        let s = silence(item);
        let at = if s.status.state == SilenceState::Pending { s.starts_at } else { s.ends_at };
        (s.status.state, at, s.id)
    });
}
