//! Every row of the route table against every kind of caller (spec: authorization#guarantees rule 38).

mod callers;
mod objects;
mod order;

use bailiwick_api::routes::{Credential, Gate, Route, table};
use bailiwick_domain::OrgType;
use bailiwick_policy::{Catalogue, KeyMode, PermissionSet};
use bailiwick_testkit::{Call, Persona, Reply, Test, api_test};

const UNKNOWN: &str = "0195fada-0000-7000-8000-00000000dead";

/// The row's path with its parameters filled in.
fn path(route: &Route, id: &str) -> String {
    let filled = route
        .path
        .replace("{service}", "services/mimir/alertmanager")
        .replace("{entity_type}", "distributors")
        .replace("{product_id}", "ns8")
        .replace("{asset}", "favicon")
        .replace("{id}", id);
    let mut path = String::new();
    let mut rest = filled.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        path.push_str(before);
        path.push_str(UNKNOWN);
        rest = after.split_once('}').map_or("", |(_, tail)| tail);
    }
    format!("/api{path}{rest}")
}

fn call(t: &Test, route: &Route, id: &str) -> Call {
    let call = t.call(route.method.clone(), &path(route, id));
    if route.method == "GET" || route.method == "DELETE" { call } else { call.json(serde_json::json!({})) }
}

fn takes_bearer(route: &Route) -> bool {
    matches!(route.credential, Credential::User | Credential::Session | Credential::SessionOrKey)
}

/// So that the routes are there that only older pairs need.
fn all(settings: &mut bailiwick_testkit::Settings) {
    settings.systems.legacy_aliases = true;
}

api_test!(nobody_gets_past_a_route_that_wants_a_credential, |settings| all(settings), |t| async move {
    for route in table() {
        let reply = call(&t, &route, UNKNOWN).send().await;
        let what = format!("{route:?}: {}", reply.text());
        match route.credential {
            Credential::Public | Credential::HistoryWebhook => assert_ne!(reply.status, 401, "{what}"),
            credential if credential.is_of_system() => {
                assert_eq!(reply.status, 401, "{what}");
                assert_eq!(reply.message(), "authentication required", "{what}");
                assert_eq!(
                    reply.header("www-authenticate"),
                    Some("Basic realm=\"System Authentication\""),
                    "{what}"
                );
            }
            credential => {
                let challenge = match credential {
                    Credential::ApiKey => "Bearer, Basic realm=\"API key as the password\"",
                    _ => "Bearer",
                };
                assert_eq!(reply.status, 401, "{what}");
                assert_eq!(reply.message(), "authorization header required", "{what}");
                assert_eq!(reply.header("www-authenticate"), Some(challenge), "{what}");
            }
        }
    }
});

api_test!(a_credential_of_the_other_kind_is_no_credential, |settings| all(settings), |t| async move {
    let owner = t.owner().await;
    for route in table() {
        let bearer = call(&t, &route, UNKNOWN).bearer(&owner.token);
        let basic = call(&t, &route, UNKNOWN).basic("SYS-0", "my_0.0");
        if route.credential.is_of_system() {
            bearer.send().await.expect_message(401, "invalid authentication format");
        } else if takes_bearer(&route) {
            basic.send().await.expect_message(401, "invalid authorization header format");
        } else if route.credential == Credential::ApiKey {
            for call in [bearer, basic] {
                call.send().await.expect_message(401, "api key required");
            }
        }
    }
});

/// The answer of a row's gate to a holder of these permissions, from the specification's words alone.
fn refusal(gate: Gate, set: PermissionSet, org_type: OrgType) -> Option<String> {
    let refused = match gate {
        Gate::Open => false,
        Gate::Needs(needed) => !needed.iter().all(|p| set.contains(*p)),
        Gate::OneOf(enough) => !enough.iter().any(|p| set.contains(*p)),
        Gate::OwnOrganizationOr(p) => !set.contains(p),
        Gate::Rebranding(change) => {
            let is_owner = org_type == OrgType::Owner && set.names().contains(&"manage:distributors");
            let text = format!("only owner organization can {} rebranding", change.verb());
            return (!is_owner).then_some(text);
        }
    };
    refused.then(|| "insufficient permissions".to_owned())
}

async fn persona_sweep(t: &Test, persona: &Persona, role: &str) {
    let set = Catalogue::built_in().effective(persona.org_type, &[role.to_owned()]).set();
    for route in table().into_iter().filter(takes_bearer) {
        if route.operation == "logout" {
            continue;
        }
        let reply = call(t, &route, UNKNOWN).bearer(&persona.token).send().await;
        let what = format!("{route:?} as {role} of {:?}: {}", persona.org_type, reply.text());
        match refusal(route.gate, set, persona.org_type) {
            Some(text) => {
                assert_eq!(reply.status, 403, "{what}");
                assert_eq!(
                    reply.json(),
                    serde_json::json!({"code": 403, "message": text, "data": null}),
                    "{what}"
                );
            }
            None => {
                assert_ne!(reply.status, 401, "{what}");
                assert!(reply.status.as_u16() < 500, "{what}");
                // A file has no message.
                let is_file = reply.status == 200 && route.gives_a_file();
                assert!(is_file || reply.message() != "insufficient permissions", "{what}");
            }
        }
    }
}

// Proves spec: authorization#guarantees 38.
api_test!(every_role_at_every_level_meets_exactly_its_gates, |t| async move {
    let tree = t.tree().await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let persona = t.user(org, &[role]).await;
            persona_sweep(&t, &persona, role).await;
        }
    }
});

/// The refusal of an API key before any use case, by path and method alone (spec: authorization#credentials,
/// account#api-keys).
fn key_refusal(route: &Route, mode: KeyMode, set: PermissionSet, org_type: OrgType) -> Option<(u16, String)> {
    let path = route.path.as_str();
    let refused = |text: &str| Some((403, text.to_owned()));
    let is_below = |root: &str| path == root || path.starts_with(&format!("{root}/"));
    if ["/me", "/user", "/impersonate", "/auth/logout"].into_iter().any(is_below) {
        return refused("this endpoint cannot be accessed with an api key");
    }
    if route.credential.is_of_system() {
        return Some((401, "invalid authentication format".to_owned()));
    }
    let never = path.ends_with("/destroy")
        || path.contains("/second-factor")
        || path == "/users/{id}/password"
        || path == "/alerts/config/effective";
    if never || (mode == KeyMode::Read && route.method != "GET") {
        return refused("insufficient permissions");
    }
    refusal(route.gate, mode.mask(set), org_type).map(|text| (403, text))
}

async fn key_sweep(t: &Test, persona: &Persona, role: &str, mode: KeyMode) {
    let set = Catalogue::built_in().effective(persona.org_type, &[role.to_owned()]).set();
    let (_, token) = t.api_key(persona.id, mode).await;
    let is_open = |c| matches!(c, Credential::Public | Credential::HistoryWebhook);
    for route in table().into_iter().filter(|r| !is_open(r.credential)) {
        let reply = call(t, &route, UNKNOWN).bearer(&token).send().await;
        let what =
            format!("{route:?} with a {mode:?} key of {role} of {:?}: {}", persona.org_type, reply.text());
        match key_refusal(&route, mode, set, persona.org_type) {
            Some((status, text)) => {
                assert_eq!((reply.status.as_u16(), reply.message()), (status, text), "{what}");
                assert_eq!(reply.data(), serde_json::Value::Null, "{what}");
            }
            None => {
                assert!(reply.status.as_u16() < 500, "{what}");
                assert!(!matches!(reply.status.as_u16(), 401 | 429), "{what}");
                // A file has no message.
                let is_file = reply.status == 200 && route.gives_a_file();
                assert!(is_file || reply.message() != "insufficient permissions", "{what}");
            }
        }
    }
}

api_test!(
    // Proves spec: authorization#guarantees 38 40.
    an_api_key_meets_its_masked_gates_on_every_route,
    |settings| {
        all(settings);
        settings.limits.api_key_request_burst = 1_000;
    },
    |t| async move {
        let tree = t.tree().await;
        for (org, role) in [
            (tree.owner, "super"),
            (tree.distributor, "super"),
            (tree.distributor, "admin"),
            (tree.reseller, "backoffice"),
            (tree.reseller, "support"),
            (tree.customer, "reader"),
        ] {
            let persona = t.user(org, &[role]).await;
            key_sweep(&t, &persona, role, KeyMode::Read).await;
            key_sweep(&t, &persona, role, KeyMode::Write).await;
        }
    }
);

// Proves spec: authorization#guarantees 39.
api_test!(unknown_paths_and_methods_are_one_404, |t| async move {
    for (method, path) in [
        ("GET", "/api/nope"),
        ("PATCH", "/api/users"),
        ("DELETE", "/health"),
        ("POST", "/backend/api/me"),
        ("PUT", "/collect/api/systems/heartbeat"),
        ("GET", "/api/users/totals/more"),
    ] {
        let reply = t.call(method.parse().unwrap(), path).send().await;
        assert_eq!(reply.json(), serde_json::json!({"code": 404, "message": "api not found", "data": null}));
        assert_eq!(reply.status, 404);
    }
});
