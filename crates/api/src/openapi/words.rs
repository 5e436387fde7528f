//! What the reference tells people of an operation: who may call it, in which order lists are, and where it belongs.

use super::order;
use crate::routes::{Credential, Gate, Route};
use bailiwick_policy::RebrandingChange;

/// Whether it is people who call with it, and permissions are a question at all.
const fn is_of_a_person(credential: Credential) -> bool {
    matches!(
        credential,
        Credential::Provider | Credential::User | Credential::Session | Credential::SessionOrKey
    )
}

/// Permissions of which the caller needs each.
pub(super) fn permissions(route: &Route) -> Vec<&'static str> {
    match route.gate {
        Gate::Needs(list) => list.iter().map(|p| p.as_str()).collect(),
        Gate::OwnOrganizationOr(p) => vec![p.as_str()],
        Gate::Open | Gate::Rebranding(_) => Vec::new(),
    }
}

/// Permissions of which one is enough, for some callers or with some settings: the description says when.
pub(super) fn one_of(route: &Route) -> Vec<&'static str> {
    match route.gate {
        Gate::Rebranding(RebrandingChange::Update | RebrandingChange::Delete) => {
            vec!["manage:distributors", "manage:systems"]
        }
        Gate::Rebranding(_) => vec!["manage:distributors"],
        Gate::Open if route.operation == "promoteReseller" => vec!["manage:distributors"],
        Gate::Open | Gate::Needs(_) | Gate::OwnOrganizationOr(_) => Vec::new(),
    }
}

/// Who may call it, and the order of a list.
pub(super) fn description(route: &Route) -> String {
    let who = match route.credential {
        Credential::Public => "Anybody.",
        Credential::HistoryWebhook => {
            "The remote alert router, with the secret of `alerting.history_webhook.secret`."
        }
        Credential::Provider => {
            "Whoever has signed in: a token of the identity provider, or a session token."
        }
        Credential::User => "A user's session token; no API key, and not while impersonating.",
        Credential::Session => "A user's session token, also while impersonating; no API key.",
        Credential::SessionOrKey => "A user's session token or personal API key.",
        Credential::System => "A system: `system_key` and secret.",
        Credential::SystemOrLegacy => "A system, also with its older pair of id and secret.",
        Credential::Legacy => "An appliance with its older pair of id and secret.",
    };
    let needs = match route.gate {
        Gate::Open if route.operation == "promoteReseller" => {
            " Needs `manage:distributors`, or a role that only the owner organization can give.".to_owned()
        }
        Gate::Open if is_of_a_person(route.credential) => " Needs no permission.".to_owned(),
        Gate::Open => String::new(),
        Gate::Needs(list) => {
            let names: Vec<String> = list.iter().map(|p| format!("`{}`", p.as_str())).collect();
            format!(" Needs {}.", names.join(" and "))
        }
        Gate::OwnOrganizationOr(p) => format!(" Needs `{}`, except for one's own organization.", p.as_str()),
        Gate::Rebranding(RebrandingChange::Update | RebrandingChange::Delete) => {
            " Needs the owner organization and `manage:distributors`; with the setting \
             `rebranding.organizations_manage_assets`, `manage:systems` for organizations within reach is enough."
                .to_owned()
        }
        Gate::Rebranding(_) => " Needs the owner organization and `manage:distributors`.".to_owned(),
    };
    let not_self = if route.not_self { " Refused on oneself." } else { "" };
    format!("{who}{needs}{not_self}{}", order::sentences(&route.operation))
}

/// Where it is shown.
pub(super) fn tag(route: &Route) -> String {
    let first = route.path.trim_start_matches('/').split('/').next().unwrap_or_default();
    match first {
        "{service}" => "alert router".to_owned(),
        "proxy" => "older appliances".to_owned(),
        "systems" if route.credential.is_of_system() || route.credential == Credential::Public => {
            "appliances".to_owned()
        }
        "alert_history" | "alerting" => "alerts".to_owned(),
        "downloads" => "appliances".to_owned(),
        "public" | "user" => "users".to_owned(),
        first => first.replace(['-', '_'], " "),
    }
}
