//! The alert interface of people (spec: alert-management#management): lists and figures over their organizations,
//! silences, notes and assignments. `config` has the alert configuration.
//!
//! Aggregates read an [`OrganizationsRead`], made by [`within`] from the caller and the organizations the
//! request names. Operations of one organization take a tenant, made by [`tenant`].
//!
//! To add an operation that both routers answer, write a method of the alert router in `router`, one function for the
//! embedded router (`embedded`, `embedded_changes`), one for a remote router (`remote`, `remote_changes`), and the use
//! case that calls the method. No other module asks which router serves.

mod active;
mod alert_groups;
mod alert_query;
mod attention;
mod cached_figures;
mod embedded;
mod embedded_changes;
mod figures;
mod find_silence;
mod found_silences;
mod groups;
mod handling;
mod remote;
mod remote_changes;
mod router;
mod silence_changes;
mod silence_lists;
mod silence_orders;
mod silence_preview;
mod silence_records;
mod stats;
pub mod tools;
mod totals;

pub use active::{active, active_alert, active_of_system};
pub use alert_groups::Groups;
pub use alert_query::{ActiveAlert, ActiveAlerts, AlertQuery};
pub use attention::{Attention, attention};
pub use bailiwick_store::{
    alert_handling::Assignment,
    history::{
        active::{ActiveFilter, ActiveOrder},
        active_groups::{Group, GroupBy, NamedSystem},
        figures::{CLASSES, Lasted},
        list::{HistoryFilter, HistoryOrder, Record},
    },
};
pub use figures::{ResolvedStats, figures};
pub use find_silence::{CallerContext, SilenceScope, silence};
pub use found_silences::{FoundSilence, FoundSilences};
pub use groups::{active_names, groups, named_systems};
pub use handling::{Assign, Event, MAX_NOTE_CHARS, NewNote, activity, add_note, assign};
pub use silence_changes::{change_silence, create_silence, end_silence};
pub use silence_lists::{silences, silences_of_system};
pub use silence_orders::{NewSilence, SilenceChange};
pub use silence_preview::{SilencePreview, preview_silence};
pub use stats::{
    HistoryQuery, Statistics, StatisticsQuery, TOP, TOP_MOST, Trend, catalogue, history, history_of_system,
    occurrences, statistics, time, trend,
};
pub use totals::{TOTALS, Totals, refresh_totals, totals};

use super::Fault;
use crate::Alerts;
use bailiwick_domain::{Error, FieldError, OrgId, OrgType, Result};
use bailiwick_platform::list_filters;
use bailiwick_policy::{Caller, OrgNode, Resource, Scope, in_hierarchy, list_scope};
use bailiwick_store::{history::OrganizationsRead, organizations};
use std::collections::{BTreeMap, BTreeSet};

/// Organizations that a request names, as sent.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// `organization_id`, repeated.
    pub ids: Vec<String>,
    /// `include=descendants`.
    pub with_descendants: bool,
}

/// The organizations of an aggregate: the caller's hierarchy, or the part of it that the request names. A customer's
/// user names none.
async fn within(service: &Alerts, caller: &Caller, named: &Named) -> Result<OrganizationsRead> {
    let scope = list_scope(caller, Resource::Systems)?;
    if named.ids.is_empty() || caller.org_type() == Some(OrgType::Customer) {
        return Ok(OrganizationsRead::all(scope));
    }
    let sent: BTreeSet<&String> = named.ids.iter().collect();
    list_filters::check_lengths([Some(sent.len())])?;
    let ids: BTreeSet<OrgId> = sent.iter().filter_map(|id| id.parse().ok()).collect();
    let nodes: BTreeMap<OrgId, OrgNode> = organizations::places(&service.platform.db, ids.iter().copied())
        .await?
        .into_iter()
        .map(|node| (node.path.id, node))
        .collect();
    let mut read = Vec::with_capacity(sent.len());
    for id in sent {
        let node = id.parse().ok().and_then(|id: OrgId| nodes.get(&id));
        let granted = in_hierarchy(caller, node)?;
        if let Some(node) = node {
            read.push((granted.id(), node.org_type));
        }
    }
    read.dedup();
    Ok(match read[..] {
        [(id, org_type)] => read_of(id, org_type, named.with_descendants, scope),
        _ => OrganizationsRead { scope, named: Some(read), with_descendants: named.with_descendants },
    })
}

/// A single organization, which reads an index range like any other scope; `scope`: the caller's.
fn read_of(id: OrgId, org_type: OrgType, with_descendants: bool, scope: Scope) -> OrganizationsRead {
    OrganizationsRead::all(match org_type {
        _ if !with_descendants => Scope::Organization(id),
        OrgType::Owner => scope,
        OrgType::Customer => Scope::Organization(id),
        OrgType::Distributor | OrgType::Reseller => Scope::Subtree { root: id, org_type },
    })
}

/// The one organization that a request names. A customer's user names none.
async fn tenant(service: &Alerts, caller: &Caller, ids: &[String]) -> Result<OrgId> {
    if let Some(own) = caller.org().filter(|own| own.org_type == OrgType::Customer) {
        return Ok(own.id);
    }
    let sent: BTreeSet<&str> = ids.iter().map(|id| id.trim()).filter(|id| !id.is_empty()).collect();
    let mut sent = sent.into_iter();
    let (Some(id), None) = (sent.next(), sent.next()) else {
        return Err(Error::bad_request("organization_id query parameter is required"));
    };
    let node = match id.parse::<OrgId>() {
        Ok(id) => organizations::node(&service.platform.db, id).await?,
        Err(_) => None,
    };
    Ok(in_hierarchy(caller, node.as_ref())?.id())
}

/// Longest fingerprint, in characters.
pub const MAX_FINGERPRINT_CHARS: usize = 128;

/// A fingerprint as it is sent.
fn fingerprint(sent: &str) -> Result<(), FieldError> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
    match sent {
        "" => Err(FieldError::new("fingerprint", "required")),
        _ if sent.len() <= MAX_FINGERPRINT_CHARS && sent.bytes().all(is_plain) => Ok(()),
        _ => Err(FieldError::new("fingerprint", "invalid_format").with_value(sent)),
    }
}

/// Checks a text that a user has written.
fn text(key: &'static str, sent: &str, most: usize) -> Result<(), FieldError> {
    if sent.contains('\0') {
        return Err(FieldError::new(key, "invalid_format"));
    }
    if sent.chars().count() > most { Err(FieldError::new(key, "too_long")) } else { Ok(()) }
}

/// Refuses with all that is wrong.
fn check_all<const N: usize>(checked: [Result<(), FieldError>; N]) -> Result<()> {
    let wrong: Vec<FieldError> = checked.into_iter().filter_map(std::result::Result::err).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Error::Invalid(wrong)) }
}

/// The text of a 503: a remote router does not run the tenant yet, or no longer.
const NOT_READY: &str = "alerting backend is not ready";

/// The error of the management interface for a fault of either router (spec: alert-management#handling,
/// alert-guarantees#guarantees rule 16).
fn to_error(fault: Fault) -> Error {
    match fault {
        Fault::Unavailable(log) => Error::Upstream { message: "alerting backend is unavailable".into(), log },
        Fault::TimedOut => Error::UpstreamTimeout("alerting backend timed out".into()),
        // People only learn whether the router has answered, not why it could not.
        Fault::NotReady { log, .. } => {
            Error::Upstream { message: "alerting backend is unavailable".into(), log }
        }
        Fault::UnknownTenant => Error::Unavailable {
            message: NOT_READY.into(),
            log: "the tenant does not run at the alert router".to_owned(),
        },
        Fault::Rejected(reject) => Error::Upstream {
            message: "alerting backend is unavailable".into(),
            log: format!("refused with {}: {}", reject.status, reject.render().trim_end()),
        },
        Fault::SlowBody => Error::SlowBody,
        Fault::Database(log) => Error::Unavailable { message: "service temporarily unavailable".into(), log },
        Fault::SilenceLimit => Error::conflict("silence limit exceeded"),
        Fault::RateLimited | Fault::AlertLimit => {
            Error::internal("a limit of systems does not hold for management")
        }
        Fault::Internal(log) => Error::internal(log),
    }
}
