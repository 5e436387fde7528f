//! Silences with their places (spec: alert-management#handling), in both routers.

use crate::Alerts;
use bailiwick_alertmanager::{ListedSilence, Matcher, Op};
use bailiwick_domain::{OrgId, Result};
use bailiwick_store::history::shown;
use std::collections::{BTreeSet, HashMap};

/// Silences of one list.
pub(super) const SHOWN: usize = 5000;

/// One silence with its place.
#[derive(Clone, Debug)]
pub struct FoundSilence {
    /// Tenant.
    pub organization_id: OrgId,
    pub system_key: String,
    pub silence: ListedSilence,
}

/// Silences of several organizations.
#[derive(Clone, Debug)]
pub struct FoundSilences {
    /// In order.
    pub silences: Vec<FoundSilence>,
    /// Tenants that could not be asked, and silences that could not be shown.
    pub warnings: Vec<String>,
    /// Whether there are more than these in force or to come.
    pub is_cut: bool,
}

/// The silences of systems that the organizations have.
pub(super) async fn of_their_systems(
    service: &Alerts,
    silences: Vec<(OrgId, ListedSilence)>,
    system_keys: Option<&[String]>,
) -> Result<Vec<FoundSilence>> {
    let mut visible = Vec::with_capacity(silences.len());
    let mut systems: BTreeSet<(OrgId, String)> = BTreeSet::new();
    for (organization_id, silence) in silences {
        let Some(system_key) = key_of(&silence.matchers).map(str::to_owned) else { continue };
        if system_keys.is_none_or(|keys| keys.contains(&system_key)) {
            systems.insert((organization_id, system_key.clone()));
            visible.push(FoundSilence { organization_id, system_key, silence });
        }
    }
    let systems: Vec<((OrgId, String), String)> =
        systems.into_iter().map(|(tenant, key)| ((tenant, key.clone()), key)).collect();
    let shown: HashMap<(OrgId, String), shown::AlertDetails> =
        shown::shown(&service.platform.db, &systems).await?.into_iter().collect();
    let has = |f: &FoundSilence| {
        let shown = shown.get(&(f.organization_id, f.system_key.clone()));
        shown.is_some_and(|s| s.system.is_some())
    };
    visible.retain(has);
    Ok(visible)
}

/// The system that a silence is bound to: a literal, positive matcher.
pub(super) fn key_of(matchers: &[Matcher]) -> Option<&str> {
    let own = matchers.iter().find(|m| m.op == Op::Equal && m.name == "system_key");
    own.map(|m| m.value.as_str()).filter(|key| !key.is_empty())
}
