//! The reference texts of an operation: its permissions, the order of its list, and its tag.

use super::order;
use crate::route::{Credential, Gate, Route};
use bailiwick_policy::{Permission, RebrandingChange};

/// Whether people use it, so that permissions apply.
const fn is_of_a_person(credential: Credential) -> bool {
    matches!(
        credential,
        Credential::Provider
            | Credential::User
            | Credential::Session
            | Credential::SessionOrKey
            | Credential::ApiKey
    )
}

/// The summary of its row.
pub(super) fn summary(route: &Route) -> String {
    let older = if is_older_spelling(route) { " (older path)" } else { "" };
    format!("{}{older}", route.summary)
}

/// Permissions of which the caller needs each.
pub(super) fn permissions(route: &Route) -> Vec<&'static str> {
    match route.gate {
        Gate::Needs(list) => list.iter().map(|p| p.as_str()).collect(),
        Gate::OwnOrganizationOr(p) => vec![p.as_str()],
        Gate::Open | Gate::OneOf(_) | Gate::Rebranding(_) => Vec::new(),
    }
}

/// Permissions of which one is enough, for some callers or with some settings, as the description says.
pub(super) fn one_of(route: &Route) -> Vec<&'static str> {
    match route.gate {
        Gate::Rebranding(RebrandingChange::Update | RebrandingChange::Delete) => {
            vec!["manage:distributors", "manage:systems"]
        }
        Gate::Rebranding(_) => vec!["manage:distributors"],
        Gate::Open if route.operation == "promoteReseller" => vec!["manage:distributors"],
        Gate::OneOf(list) => list.iter().map(|p| p.as_str()).collect(),
        Gate::Open | Gate::Needs(_) | Gate::OwnOrganizationOr(_) => Vec::new(),
    }
}

/// The permissions it needs, and the order of a list.
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
        Credential::ApiKey => "A personal API key, as `Bearer` or as the password of `Basic`.",
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
        Gate::Needs(list) => format!(" Needs {}.", named(list, " and ")),
        Gate::OneOf(list) => format!(" Needs {}.", named(list, " or ")),
        Gate::OwnOrganizationOr(p) => format!(" Needs `{}`, except for one's own organization.", p.as_str()),
        Gate::Rebranding(RebrandingChange::Update | RebrandingChange::Delete) => {
            " Needs the owner organization and `manage:distributors`; with the setting \
             `rebranding.organizations_manage_assets`, `manage:systems` for organizations within reach is enough."
                .to_owned()
        }
        Gate::Rebranding(_) => " Needs the owner organization and `manage:distributors`.".to_owned(),
    };
    let not_self = if route.not_self { " Refused on oneself." } else { "" };
    format!("{who}{needs}{not_self}{}", order::sentences(route))
}

fn named(permissions: &[Permission], word: &str) -> String {
    let names: Vec<String> = permissions.iter().map(|p| format!("`{}`", p.as_str())).collect();
    names.join(word)
}

/// Where it is shown.
pub(super) fn tag(route: &Route) -> String {
    let first = route.path.trim_start_matches('/').split('/').next().unwrap_or_default();
    match first {
        "{service}" => "alert router".to_owned(),
        "organizations" if route.is_proxied() => "alert router".to_owned(),
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

/// The description of a tag.
pub(super) fn about_tag(tag: &str) -> &'static str {
    match tag {
        "alert router" => {
            "What Alertmanager tools and appliances ask: alerts and silences of the own system, or of an organization."
        }
        "alerts" => {
            "Alerts of all systems within reach, their history and figures, silences, and recipients."
        }
        "appliances" => "What appliances call: registration, heartbeat, inventory, backups, rebranding.",
        "applications" => "Applications found on systems, and the organizations that they belong to.",
        "auth" => "Sessions: sign in with a token of the identity provider, stay signed in, sign out.",
        "audit" => "Who has changed what within reach.",
        "customers" => "Organizations of the family of customers, the lowest level.",
        "distributors" => "Organizations of the family of distributors, directly below the owner.",
        "events" => "What happens within reach, for other software: a list, a stream, and subscriptions.",
        "filters" => "What can be chosen in the filters of lists.",
        "health" => "Whether the service is well.",
        "impersonate" => "Acting as somebody else with their consent, and the record of it.",
        "me" => "The caller: account, picture, password and API keys.",
        "older appliances" => {
            "What appliances with an older pair of id and secret call, where that is switched on."
        }
        "organization roles" => "Roles that users have by the type of their organization.",
        "organizations" => "All organizations within reach in one list.",
        "rebranding" => "Names and images that products show instead of their own.",
        "resellers" => "Organizations of the family of resellers, below distributors.",
        "roles" => "Roles that can be given to users.",
        "search" => "One text over all kinds of objects.",
        "systems" => "Systems, their inventories, differences, backups, alerts and silences.",
        "third party applications" => "Other applications that the caller can sign in to.",
        "users" => "Users of all organizations within reach.",
        "validators" => "Checks of single values before a form is sent.",
        _ => "",
    }
}

/// Whether another path does the same and is the one for new clients.
pub(super) fn is_older_spelling(route: &Route) -> bool {
    route.operation.contains("Alias")
}
