//! The routing of a tenant: a tree and the receivers it names (spec: alert-delivery#generated-configuration).

use super::{
    document::{Route, Span},
    layer::Layer,
};
use crate::{Matcher, Op, Severity, receivers::Recipients};
use std::time::Duration;

/// The receiver without recipients.
pub const BLACKHOLE: &str = "blackhole";

/// Times of all groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Wait before the first message of a group.
    pub group_wait: Duration,
    /// Wait before the next one.
    pub group_interval: Duration,
    /// After which time a message without news is sent again.
    pub repeat_interval: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            group_wait: Duration::from_secs(30),
            group_interval: Duration::from_secs(300),
            repeat_interval: Duration::from_secs(12 * 3600),
        }
    }
}

/// A named receiver and its recipients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Unique in the plan.
    pub name: String,
    /// Never empty, but for [`BLACKHOLE`].
    pub recipients: Recipients,
}

/// The routing of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Root of the tree.
    pub route: Route,
    /// The receivers the tree names, [`BLACKHOLE`] first.
    pub receivers: Vec<Receiver>,
}

impl Plan {
    /// The routing that `effective` (the result of [`super::merge()`]) means for a tenant.
    pub fn new(tenant: &str, effective: &Layer, timing: &Timing) -> Plan {
        let mut receivers = vec![Receiver { name: BLACKHOLE.to_owned(), recipients: Recipients::default() }];
        let mut routes = Vec::with_capacity(effective.systems.len() + 1);
        let mut systems: Vec<&str> = effective.systems.iter().map(|o| o.system_key.as_str()).collect();
        systems.sort_unstable();
        for key in systems {
            let matcher = Matcher::equal("system_key", key);
            routes.push(branch(effective, matcher, &format!("{tenant}-system-{key}"), key, &mut receivers));
        }
        // No system has an empty key, so this branch applies to systems without an override.
        let matcher = Matcher::equal("organization_id", tenant);
        routes.push(branch(effective, matcher, tenant, "", &mut receivers));
        let group_by = ["organization_id", "alertname", "system_key"].map(str::to_owned);
        let route = Route {
            group_by: Some(group_by.to_vec()),
            group_wait: Some(Span(timing.group_wait)),
            group_interval: Some(Span(timing.group_interval)),
            repeat_interval: Some(Span(timing.repeat_interval)),
            routes,
            ..Route::to(BLACKHOLE)
        };
        Plan { route, receivers }
    }

    /// The receiver of this name.
    pub fn receiver(&self, name: &str) -> Option<&Receiver> {
        self.receivers.iter().find(|r| r.name == name)
    }

    /// Whether any alert has a recipient.
    pub fn has_recipients(&self) -> bool {
        self.receivers.len() > 1
    }
}

/// The branch of a tenant or of one of its systems, with a child for each severity.
fn branch(
    effective: &Layer,
    matcher: Matcher,
    name: &str,
    system_key: &str,
    receivers: &mut Vec<Receiver>,
) -> Route {
    let before = receivers.len();
    let mut children = Vec::with_capacity(Severity::ALL.len());
    for severity in Severity::ALL {
        let recipients = effective.recipients(system_key, severity);
        let receiver = if recipients.is_empty() {
            BLACKHOLE.to_owned()
        } else {
            let name = format!("{name}-severity-{}-receiver", severity.as_str());
            receivers.push(Receiver { name: name.clone(), recipients });
            name
        };
        let matchers = vec![of_severity(severity).to_string()];
        children.push(Route { matchers, continues: Some(false), ..Route::to(receiver) });
    }
    let routes = if receivers.len() > before { children } else { Vec::new() };
    Route { matchers: vec![matcher.to_string()], continues: Some(false), routes, ..Route::to(BLACKHOLE) }
}

/// Info includes every severity other than critical and warning, and none at all.
pub(super) fn of_severity(severity: Severity) -> Matcher {
    match severity {
        Severity::Critical | Severity::Warning => Matcher::equal("severity", severity.as_str()),
        Severity::Info => {
            Matcher { name: "severity".to_owned(), value: "critical|warning".to_owned(), op: Op::NotRegex }
        }
    }
}
