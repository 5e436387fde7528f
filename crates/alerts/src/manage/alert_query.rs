//! Active alerts as people ask for them and see them (spec: alert-management#active-alerts), in both routers.

use crate::Alerts;
use bailiwick_alertmanager::{ListedAlert, listing::AlertState};
use bailiwick_domain::{OrgId, Page, PageRequest, Result, SortDirection};
use bailiwick_platform::list_filters;
use bailiwick_store::{
    alert_handling::Assignment,
    history::{
        OrganizationsRead,
        active::{ActiveFilter, ActiveOrder, ActiveQuery},
        shown::{self, AlertDetails},
    },
};
use std::collections::HashMap;

/// A list as asked for.
#[derive(Clone, Debug)]
pub struct AlertQuery {
    pub filter: ActiveFilter,
    pub order: ActiveOrder,
    pub direction: SortDirection,
    pub page: PageRequest,
    /// Whether the embedded router is to name the receivers of each alert: they follow from the configuration of its
    /// organization and of all above. A remote router always does.
    pub with_receivers: bool,
}

impl AlertQuery {
    pub(super) fn wants(&self, is_suppressed: bool) -> bool {
        let is_meant = |word: &String| ActiveFilter::STATES.parse(word).flatten() == Some(is_suppressed);
        self.filter.statuses.as_ref().is_none_or(|words| words.iter().any(is_meant))
    }

    /// Whether the alert itself matches the filter. The router does not know who is assigned to it.
    pub(super) fn selects(&self, alert: &ListedAlert) -> bool {
        let is_one = |wanted: &Option<Vec<String>>, name: &str| {
            let value = alert.labels.value(name);
            wanted.as_ref().is_none_or(|all| !value.is_empty() && all.iter().any(|w| w == value))
        };
        self.wants(alert.status.state == AlertState::Suppressed)
            && is_one(&self.filter.severities, "severity")
            && is_one(&self.filter.system_keys, "system_key")
            && is_one(&self.filter.names, "alertname")
    }

    pub(super) fn check(&self) -> Result<()> {
        let f = &self.filter;
        list_filters::check_lengths([
            f.statuses.as_ref().map(Vec::len),
            f.severities.as_ref().map(Vec::len),
            f.system_keys.as_ref().map(Vec::len),
            f.names.as_ref().map(Vec::len),
            f.assignees.as_ref().map(Vec::len),
        ])
    }
}

/// An alert as people see it.
#[derive(Clone, Debug)]
pub struct ActiveAlert {
    /// The alert; its labels carry the present display values too.
    pub alert: ListedAlert,
    /// The user who takes care of it.
    pub assigned: Option<Assignment>,
}

/// A page of active alerts.
#[derive(Clone, Debug)]
pub struct ActiveAlerts {
    pub page: Page<ActiveAlert>,
    /// The tenants that could not be asked.
    pub warnings: Vec<String>,
}

/// Which alerts are meant at this moment.
pub(super) fn live(service: &Alerts, within: OrganizationsRead) -> ActiveQuery {
    ActiveQuery {
        within,
        filter: ActiveFilter::default(),
        is_suppressed: None,
        order: ActiveOrder::StartsAt,
        direction: SortDirection::Desc,
        now: service.platform.now(),
        spared: crate::history::expiry::spared(service),
    }
}

/// Adds the details that lists show with alerts. Alerts of systems that have left the organization are dropped: they
/// belong to the organization the system is in now.
pub(super) async fn decorate(
    service: &Alerts,
    alerts: Vec<(OrgId, ListedAlert)>,
) -> Result<Vec<ActiveAlert>> {
    let keys: Vec<_> = alerts
        .iter()
        .map(|(tenant, a)| ((*tenant, a.fingerprint.to_string()), a.labels.value("system_key").to_owned()))
        .collect();
    let mut shown: HashMap<_, AlertDetails> =
        shown::shown(&service.platform.db, &keys).await?.into_iter().collect();
    let mut found = Vec::with_capacity(alerts.len());
    for ((tenant, mut alert), (key, _)) in alerts.into_iter().zip(keys) {
        let Some(AlertDetails { system: Some(system), organization, assigned }) = shown.remove(&key) else {
            continue;
        };
        if alert.labels.get("organization_id").is_some_and(|o| o != tenant.to_string()) {
            continue;
        }
        let names = ["system_name", "system_type", "system_fqdn", "system_ipv4"].into_iter().zip(system);
        let more =
            ["organization_name", "organization_type", "organization_vat"].into_iter().zip(organization);
        for (name, value) in names.chain(more).filter(|(_, value)| !value.is_empty()) {
            alert.labels.insert(name, value);
        }
        if !is_web_address(&alert.generator_url) {
            alert.generator_url.clear();
        }
        found.push(ActiveAlert { alert, assigned });
    }
    Ok(found)
}

/// A browser could execute an address with any other scheme.
fn is_web_address(address: &str) -> bool {
    let Some((scheme, _)) = address.split_once(':') else { return true };
    let is_scheme = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    !is_scheme || scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

#[cfg(test)]
mod tests {
    use super::is_web_address;

    #[test]
    fn only_addresses_of_the_web_are_shown() {
        for (address, shown) in [
            ("", true),
            ("http://x/y?z=1:2", true),
            ("HTTPS://x", true),
            ("/graph?a=b:c", true),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("vbscript+x:y", false),
        ] {
            assert_eq!(is_web_address(address), shown, "{address}");
        }
    }
}
