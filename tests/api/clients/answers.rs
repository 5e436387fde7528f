//! The parts of every answer (spec: clients#errors, browser-client#required-fields; checklist 8, 9, 13; rules 13 to
//! 18).

use super::{entities::Entity, *};
use crate::provider::client::set_password;
use bailiwick_api::routes::{Body, Credential, Route, table};
use bailiwick_domain::OrgType;
use bailiwick_policy::Catalogue;
use bailiwick_testkit::{
    Call, api_test,
    seed::{Seeded, Tree},
};
use std::collections::BTreeSet;

/// Whether a person's browser may call it.
fn is_a_persons(route: &Route) -> bool {
    matches!(route.credential, Credential::User | Credential::Session | Credential::SessionOrKey)
}

/// Calls every list, filter and single thing that can be read; how many there were. The client of all tests holds each
/// answer to the schema that is published of it, with every array required (`bailiwick_testkit::published`), and
/// `examples` calls every operation with ids that fit.
async fn read_everything(t: &Test, who: &Persona, system: &Seeded, organization: &str) -> usize {
    let mut answered = 0;
    let reads = table().into_iter().filter(|r| r.method == "GET" && is_a_persons(r));
    for route in reads.filter(|r| !r.gives_a_file()) {
        let of_organization = ["/distributors", "/resellers", "/customers"];
        let id = match &route.path {
            path if of_organization.iter().any(|p| path.starts_with(p)) => organization.to_owned(),
            path if path.starts_with("/systems") => system.id.to_string(),
            _ => who.id.to_string(),
        };
        let path = route.path.replace("{id}", &id).replace("{entity_type}", "customers");
        let path = filled(&path.replace("{fingerprint}", "00f1f1f1f1f1f1f1"));
        let more = match path.as_str() {
            path if path.ends_with("/summary") => format!("?system_id={}", system.id),
            path if path.contains("/alerts/activity") => format!("?organization_id={organization}"),
            _ => String::new(),
        };
        let reply = t.get(&format!("/api{path}{more}")).bearer(&who.token).send().await;
        answered += usize::from(reply.status == 200);
    }
    answered
}

// Proves spec: clients#checklist 9, acceptance#guarantees 17.
api_test!(every_array_is_one_when_it_is_empty_and_when_it_is_not, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let customer = tree.customer.to_string();
    let nobody = t.user(tree.other_customer, &["reader"]).await;
    assert!(read_everything(&t, &nobody, &system, &customer).await > 20);
    assert!(read_everything(&t, &owner, &system, &customer).await > 60);
    t.application(&system).await;
    let push = t.post("/api/services/mimir/alertmanager/api/v2/alerts").basic(&system.key, &system.secret);
    push.json(json!([{"labels": {"alertname": "A"}}])).send().await.expect(200);
    assert!(read_everything(&t, &owner, &system, &customer).await > 60);
    // Fields without which a page breaks (spec: browser-client#required-fields).
    for (path, list, fields) in [
        ("/api/systems", "systems", &["organization", "created_by"][..]),
        ("/api/applications", "applications", &["system", "inventory_data"]),
        ("/api/customers", "customers", &["custom_data", "created_by"]),
        ("/api/resellers", "resellers", &["custom_data", "created_by"]),
        ("/api/distributors", "distributors", &["custom_data", "created_by"]),
        ("/api/users", "users", &["organization"]),
    ] {
        let data = shown(&t, &owner, path).await;
        assert!(data["pagination"].is_object(), "{path}");
        for row in data[list].as_array().unwrap() {
            for field in fields {
                assert!(row[field].is_object(), "{path} {field}: {row}");
            }
            assert!(row.get("organization").is_none_or(|o| o["type"].is_string()), "{path}: {row}");
        }
    }
    let filters = shown(&t, &owner, "/api/filters/systems").await;
    assert!(filters["versions"].as_array().unwrap().iter().all(|v| v["versions"].is_array()), "{filters}");
});

/// A row's call with a body that is none, and with an empty one.
fn form_calls<'t>(t: &'t Test, route: &Route, id: &str) -> impl Iterator<Item = Call> + 't {
    let path = filled(&format!("/api{}", route.path.replace("{id}", id)));
    let method = route.method.clone();
    ["{}", "{", r#"{"name":7,"email":{},"duration_hours":"x"}"#].into_iter().map(move |body| {
        let call = t.call(method.clone(), &path).header("content-type", "application/json");
        call.body(body)
    })
}

// Proves spec: clients#checklist 8, acceptance#guarantees 18.
api_test!(
    a_good_session_is_never_401_and_forms_name_their_errors,
    // An address at which browsers offer passkeys.
    |s| s.public_url = crate::provider::client::LOCALHOST.into(),
    |t| async move {
        let tree = t.tree().await;
        let mut refusals = 0;
        for route in table().into_iter().filter(is_a_persons) {
            let who = t.user(tree.owner, &["super"]).await;
            let one = match route.path.split('/').nth(1) {
                // One of its own: some of these calls end it.
                Some("distributors" | "resellers" | "customers") => t
                    .organization(tree.owner, route.family.unwrap_or(OrgType::Reseller), "One")
                    .await
                    .to_string(),
                Some("systems") => t.system(tree.customer).await.id.to_string(),
                Some("users") => t.user(tree.customer, &["reader"]).await.id.to_string(),
                _ => "0195fada-0000-7000-8000-00000000dead".to_owned(),
            };
            if route.operation == "logout" {
                continue;
            }
            if route.path == "/me/api-keys" {
                set_password(&t, who.id, "Other-Window-93-Rivers", None).await;
            }
            for call in form_calls(&t, &route, &one) {
                let reply = call.bearer(&who.token).send().await;
                let what = format!("{route:?}: {} {}", reply.status, reply.text());
                assert_ne!(reply.status, 401, "{what}");
                // A caller with every permission is offered every route except those of an impersonator.
                assert!(reply.status != 403 || route.operation.contains("mpersonat"), "{what}");
                let is_form =
                    route.method != "GET" && route.method != "DELETE" && !matches!(route.body, Body::File(_));
                if is_form && matches!(reply.status.as_u16(), 400 | 409 | 422) {
                    refusals += 1;
                    let json = reply.json();
                    assert_eq!(json["code"], reply.status.as_u16(), "{what}");
                    assert_eq!(json["data"]["type"], "validation_error", "{what}");
                    for error in json["data"]["errors"].as_array().unwrap_or_else(|| panic!("{what}")) {
                        assert!(error["key"].is_string() && error["message"].is_string(), "{what}");
                    }
                }
            }
        }
        assert!(refusals > 40, "{refusals}");
        // A mistake that the user can correct does not look like the end of the session.
        let owner = t.owner().await;
        let wrong =
            json!({"current_password": "Wrong-Horse-7-Battery", "new_password": "Other-Window-93-Rivers"});
        let reply = t.post("/api/me/change-password").bearer(&owner.token).json(wrong).send().await;
        reply.expect_fields(&[("current_password", "incorrect_password")]);
        let key =
            json!({"name": "n", "mode": "read", "expires_in_days": 90, "password": "Wrong-Horse-7-Battery"});
        let reply = t.post("/api/me/api-keys").bearer(&owner.token).json(key).send().await.expect(400);
        assert_eq!(reply.data()["errors"][0]["key"], "password", "{}", reply.text());
        t.get("/api/me").bearer(&owner.token).send().await.expect(200);
    }
);

// Proves spec: clients#checklist 13, acceptance#guarantees 13, acceptance#scenarios 13.
api_test!(an_export_survives_being_read_as_text, |t| async move {
    let tree = t.tree().await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/api", &t.owner().await.token);
    for entity in Entity::all(&tree, 0) {
        entity.whole_life(&spa).await;
    }
    let foreign =
        json!({"name": "Ελληνική «Ромашка» ñ 日本 😀", "organization_id": tree.customer, "notes": "ü"});
    spa.post("/systems", foreign).await.expect(201);
    for kind in ["distributors", "resellers", "customers", "users", "systems"] {
        let pdf = spa.get(&format!("/{kind}/export?format=pdf&search=&status=")).await.expect(200);
        assert_eq!(pdf.header("content-type"), Some("application/pdf"));
        assert!(pdf.body.is_ascii(), "{kind}: a byte of eight bits");
        // The text that `response.text()` returns, and the bytes of a file saved from it.
        let saved = String::from_utf8(pdf.body.to_vec()).expect("text").into_bytes();
        assert_eq!(saved, pdf.body, "{kind}");
        assert!(crate::exports::pages(&saved).contains("Page 1 of"), "{kind}: opens");
        let csv = spa.get(&format!("/{kind}/export?format=csv")).await.expect(200);
        assert_eq!(csv.header("content-type"), Some("text/csv"));
        String::from_utf8(csv.body.to_vec()).expect("UTF-8");
    }
});

// Proves spec: acceptance#guarantees 15.
api_test!(a_derived_field_is_of_one_type_and_the_document_stays_as_it_came, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut kinds: Vec<BTreeSet<(String, String)>> = Vec::new();
    for document in [NS8, NSEC] {
        let system = t.system(tree.customer).await;
        let call = t.post("/collect/api/systems/inventory").basic(&system.key, &system.secret);
        call.header("content-type", "application/json").body(document).send().await.expect(202);
        settle(&t).await;
        let row = shown(&t, &owner, &format!("/api/systems/{}", system.id)).await;
        let kind = |value: &Value| {
            let text = match value {
                Value::Null => "null",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            text.to_owned()
        };
        kinds
            .push(row.as_object().unwrap().iter().map(|(name, value)| (name.clone(), kind(value))).collect());
        assert!(row["type"].is_string() && row["version"].is_string() && row["fqdn"].is_string(), "{row}");
        let latest = shown(&t, &owner, &format!("/api/systems/{}/inventory/latest", system.id)).await;
        assert_eq!(latest["data"], serde_json::from_slice::<Value>(document).unwrap());
    }
    assert_eq!(kinds[0], kinds[1]);
});

/// The requests of a page, and the permission in the user object that offers the page. An empty permission offers it to
/// every user.
const PAGES: [(&str, &[&str]); 10] = [
    (
        "",
        &[
            "/me",
            "/roles",
            "/organizations",
            "/third-party-applications",
            "/impersonate/consent",
            "/impersonate/sessions",
        ],
    ),
    (
        "read:distributors",
        &[
            "/distributors",
            "/distributors/totals",
            "/filters/distributors",
            "/distributors/export?format=csv",
            "/distributors/import/template",
        ],
    ),
    (
        "read:resellers",
        &[
            "/resellers",
            "/resellers/totals",
            "/filters/resellers",
            "/resellers/export?format=csv",
            "/resellers/import/template",
        ],
    ),
    (
        "read:customers",
        &[
            "/customers",
            "/customers/totals",
            "/filters/customers",
            "/customers/export?format=csv",
            "/customers/import/template",
        ],
    ),
    (
        "read:users",
        &["/users", "/users/totals", "/filters/users", "/users/export?format=csv", "/users/import/template"],
    ),
    (
        "read:systems",
        &[
            "/systems",
            "/systems/totals",
            "/filters/systems",
            "/systems/export?format=csv",
            "/alerts",
            "/alerts/totals",
            "/filters/alerts",
        ],
    ),
    ("read:applications", &["/applications", "/applications/totals", "/filters/applications"]),
    ("read:alerts", &["/alerts/config"]),
    ("impersonate:users", &["/impersonate/status"]),
    ("config:alerts", &["/alerts/config/effective"]),
];

/// The requests of the page of one thing, for things that every user above the customer sees. (The test of each role in
/// `sweep::objects` asks whether a system can be reached: here the check would go out into the network.)
const DETAILS: [(&str, &[&str]); 8] = [
    ("read:distributors", &["/distributors/{distributor}", "/distributors/{distributor}/stats"]),
    ("read:resellers", &["/resellers/{reseller}", "/resellers/{reseller}/stats"]),
    ("read:customers", &["/customers/{customer}", "/customers/{customer}/stats"]),
    ("read:users", &["/users/{user}"]),
    (
        "read:systems",
        &[
            "/systems/{system}",
            "/systems/{system}/inventory",
            "/systems/{system}/inventory/latest",
            "/systems/{system}/inventory/changes",
            "/systems/{system}/inventory/changes/latest",
            "/systems/{system}/inventory/diffs?page=1&page_size=100&severity=high&diff_type=update",
            "/systems/{system}/inventory/diffs/latest",
            "/systems/{system}/inventory/timeline?page=1&page_size=10",
            "/systems/{system}/backups",
            "/systems/{system}/backups/{backup}/download",
            "/systems/{system}/alerts?page=1&page_size=10",
            "/systems/{system}/alerts/history?page=1&page_size=10",
            "/systems/{system}/alerts/silences",
            "/systems/export?format=csv&system_key={key}",
            "/alerts/activity/{fingerprint}?organization_id={customer}&limit=500",
        ],
    ),
    (
        "read:applications",
        &[
            "/applications/{application}",
            "/applications?page=1&page_size=10&system_id={system}",
            "/applications/summary?system_id={system}&page=1&page_size=5&sort_by=count",
            "/applications/summary?organization_id={customer}&page=1&page_size=5&sort_by=count",
        ],
    ),
    ("read:alerts", &["/alerts/config?organization_id={customer}"]),
    ("config:alerts", &["/alerts/config/effective?organization_id={customer}"]),
];

/// One of each, by the names that [`DETAILS`] has for them.
async fn things(t: &Test, tree: &Tree) -> Vec<(&'static str, String)> {
    let system = t.system(tree.customer).await;
    let sent =
        |method: &str, path: &str| t.call(method.parse().unwrap(), path).basic(&system.key, &system.secret);
    let inventory = sent("POST", "/collect/api/systems/inventory").header("content-type", "application/json");
    inventory.body(NS8).send().await.expect(202);
    settle(t).await;
    let backup = sent("POST", "/collect/api/systems/backups").header("content-length", "1").body("x");
    let backup = text(&backup.send().await.expect(201).data(), "id");
    let alerts = "/collect/api/services/mimir/alertmanager/api/v2/alerts";
    sent("POST", alerts).json(json!([{"labels": {"alertname": "A"}}])).send().await.expect(200);
    let listed = sent("GET", alerts).send().await.expect(200).json();
    let path = format!("/api/applications?system_id={}", system.id);
    let applications = shown(t, &t.owner().await, &path).await;
    vec![
        ("{distributor}", tree.distributor.to_string()),
        ("{reseller}", tree.reseller.to_string()),
        ("{customer}", tree.customer.to_string()),
        ("{user}", t.user(tree.customer, &["reader"]).await.id.to_string()),
        ("{system}", system.id.to_string()),
        ("{key}", system.key.clone()),
        ("{backup}", backup),
        ("{fingerprint}", text(&listed[0], "fingerprint")),
        ("{application}", text(&applications["applications"][0], "id")),
    ]
}

/// Calls of one thing are for users who see it: those of its own level and above.
fn sees(org_role: &str, path: &str) -> bool {
    let rank = |word: &str| ["owner", "distributor", "reseller", "customer"].iter().position(|w| *w == word);
    let family = path.split('/').nth(1).unwrap_or_default().trim_end_matches('s');
    rank(family).is_none_or(|family| rank(&org_role.to_lowercase()) <= Some(family))
}

// Proves spec: acceptance#guarantees 16.
api_test!(no_page_asks_for_what_its_user_is_refused, |t| async move {
    let tree = t.tree().await;
    let things = things(&t, &tree).await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in Catalogue::built_in().user_roles().iter().map(|role| role.key.clone()) {
            let who = t.user(org, &[&role]).await;
            let me = shown(&t, &who, "/api/me").await;
            let list = |name: &str| me[name].as_array().unwrap().clone();
            let held = [list("org_permissions"), list("user_permissions")].concat();
            for (permission, calls) in PAGES {
                if permission.is_empty() || held.contains(&json!(permission)) {
                    for path in calls {
                        let reply = t.get(&format!("/api{path}")).bearer(&who.token).send().await;
                        assert!(
                            reply.status != 403 && reply.status != 401,
                            "{role}: {path}: {}",
                            reply.text()
                        );
                        assert!(
                            reply.status.is_success() || reply.status == 400,
                            "{role}: {path}: {}",
                            reply.text()
                        );
                    }
                }
            }
            for (permission, calls) in DETAILS {
                let is_offered = held.contains(&json!(permission));
                let visible = calls.iter().filter(|path| sees(me["org_role"].as_str().unwrap(), path));
                for path in visible.filter(|_| is_offered) {
                    let path =
                        things.iter().fold((*path).to_owned(), |path, (name, id)| path.replace(name, id));
                    let reply = t.get(&format!("/api{path}")).bearer(&who.token).send().await;
                    assert_eq!(reply.status, 200, "{role} of {}: {path}: {}", me["org_role"], reply.text());
                }
            }
            // The page of the own organization, whatever else one may read.
            let family = me["org_role"].as_str().unwrap().to_lowercase();
            if family != "owner" {
                for tail in ["", "/stats"] {
                    shown(&t, &who, &format!("/api/{family}s/{org}{tail}")).await;
                }
            }
        }
    }
});
