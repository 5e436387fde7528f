//! The words that the interface document lists for keys of queries and parts of paths: each is understood, and another
//! word has the effect that spec: conventions#lists describes.

use bailiwick_api::openapi;
use bailiwick_domain::OrgType;
use bailiwick_testkit::{
    Persona, Test, api_test,
    seed::{Seeded, Tree},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

/// Keys with words that are known beforehand, wherever the keys stand.
const LISTED: [&str; 13] = [
    "sort_by",
    "sort_direction",
    "status",
    "state",
    "category",
    "diff_type",
    "event",
    "period",
    "as",
    "include",
    "fields",
    "format",
    "kinds",
];

/// A parameter of an operation, with the words that the document lists.
struct Listed {
    method: String,
    path: String,
    operation: String,
    name: String,
    location: String,
    is_deprecated: bool,
    words: Vec<String>,
}

fn listed() -> Vec<Listed> {
    let document = openapi::document();
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for parameter in operation["parameters"].as_array().unwrap() {
                let schema = &parameter["schema"];
                let words = schema["enum"].as_array().or_else(|| schema["items"]["enum"].as_array());
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                all.push(Listed {
                    method: method.clone(),
                    path: path.clone(),
                    operation: text(&operation["operationId"]),
                    name: text(&parameter["name"]),
                    location: text(&parameter["in"]),
                    is_deprecated: parameter["deprecated"] == true,
                    words: words.into_iter().flatten().map(text).collect(),
                });
            }
        }
    }
    all
}

fn words_of(operation: &str, name: &str) -> Vec<String> {
    let found = listed().into_iter().find(|one| one.operation == operation && one.name == name);
    found.unwrap_or_else(|| panic!("{operation} has no {name}")).words
}

#[test]
fn words_that_are_known_beforehand_are_listed() {
    for one in listed() {
        let is_known = LISTED.contains(&one.name.as_str())
            || (one.name == "severity" && one.path.contains("/inventory/"))
            || (one.name == "type" && one.path == "/organizations")
            || ["entity_type", "asset"].contains(&one.name.as_str());
        // A key without effect has no words either; `state` means the same as `status`.
        let wanted = is_known && (!one.is_deprecated || one.name == "state");
        assert_eq!(!one.words.is_empty(), wanted, "{} {} {}", one.method, one.path, one.name);
    }
    assert_eq!(words_of("listCustomers", "sort_direction"), ["asc", "desc"]);
    let orders = ["name", "description", "created_at", "updated_at", "suspended_at", "creator_name"];
    assert_eq!(words_of("listCustomers", "sort_by"), orders);
    assert_eq!(words_of("listUsers", "status"), ["enabled", "active", "suspended", "deleted"]);
    assert_eq!(words_of("listAlertsHistory", "status"), ["firing", "resolved"]);
    assert_eq!(words_of("validateVat", "entity_type"), ["distributors", "resellers", "customers"]);
}

#[test]
fn pages_have_a_largest_size() {
    let document = openapi::document();
    let mut count = 0;
    for operation in document["paths"].as_object().unwrap().values().map(|item| &item["get"]) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["name"] == "page_size" {
                count += 1;
                assert_eq!(parameter["schema"]["maximum"], 100);
            }
        }
    }
    assert!(count > 20);
}

/// A filter that the stream ignores is not in the document: a client would take all events for the filtered ones.
#[test]
fn the_stream_of_events_has_no_filter_that_it_ignores() {
    let listed = listed();
    let names = listed.iter().filter(|one| one.operation == "streamEvents").map(|one| one.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["types", "last_event_id"]);
}

/// Every key that handlers read is in the document, so that the author of a client finds it.
#[test]
fn keys_that_are_read_are_documented() {
    for (operation, keys) in [
        ("listInventory", vec!["fields"]),
        ("listOwnAlerts", vec!["filter", "receiver", "receiver_matchers", "silenced", "unprocessed"]),
        ("listOwnSilences", vec!["filter", "active", "expired", "pending"]),
        ("getAlertConfig", vec!["format", "organization_id"]),
        ("getAlertConfigAlias", vec!["format", "organization_id"]),
        ("setAlertConfigAlias", vec!["organization_id"]),
        ("listSilences", vec!["organization_id", "include", "system_key"]),
        ("createSilence", vec!["organization_id"]),
        ("getSilenceById", vec!["organization_id"]),
        ("updateSilence", vec!["organization_id"]),
        ("deleteSilence", vec!["organization_id"]),
    ] {
        let all = listed();
        assert!(all.iter().any(|one| one.operation == operation), "{operation}");
        for key in keys {
            assert!(all.iter().any(|one| one.operation == operation && one.name == key), "{operation} {key}");
        }
    }
}

async fn push(t: &Test, system: &Seeded, alerts: Value) {
    let call = t.post("/api/services/mimir/alertmanager/api/v2/alerts");
    call.basic(&system.key, &system.secret).json(alerts).send().await.expect(200);
}

/// Some of everything that lists show, made at different times.
async fn world(t: &Test) -> (Persona, Seeded, Tree) {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut systems = Vec::new();
    for org in [tree.customer, tree.reseller, tree.customer] {
        t.user(org, &["reader"]).await;
        t.advance(Duration::from_secs(1));
        let system = t.system(org).await;
        let mut modules = vec![
            json!({"id": "mail1", "module": "mail", "name": "Mail", "version": "1.0.0", "certification_level": 5}),
        ];
        // Of two kinds one has more and newer ones.
        if systems.len() < 2 {
            modules.push(json!({"id": "webtop1", "module": "webtop", "name": "Webtop", "version": "2.0.0",
                "certification_level": 5}));
        }
        let document = json!({"installation": "nethserver", "facts": {"modules": modules}});
        let call = t.post("/systems/inventory").basic(&system.key, &system.secret).json(document);
        call.send().await.expect(202);
        systems.push(system);
    }
    bailiwick_fleet::inventory::run_until_idle(&t.app.fleet).await.unwrap();
    let answer = t.get("/api/applications").bearer(&owner.token).send().await.expect(200).data();
    let assign = format!("/api/applications/{}/assign", answer["applications"][0]["id"].as_str().unwrap());
    let to = json!({"organization_id": tree.customer});
    t.patch(&assign).bearer(&owner.token).json(to).send().await.expect(200);
    // Two have been silent for long, one is alive.
    for (system, is_last) in systems.iter().zip([false, false, true]) {
        if is_last {
            t.pass(t.app.settings.systems.liveness_timeout).await;
        }
        t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    }
    let suspended = t.user(tree.customer, &["reader"]).await;
    t.suspend_user(suspended.id).await;
    let gone = t.user(tree.customer, &["reader"]).await;
    t.delete_user(gone.id).await;
    for org_type in [OrgType::Distributor, OrgType::Reseller, OrgType::Customer] {
        let parent = if org_type == OrgType::Distributor { tree.owner } else { tree.distributor };
        let first = t.organization(parent, org_type, "Sospesa").await;
        t.suspend_organization(first).await;
        let second = t.organization(parent, org_type, "Andata").await;
        t.delete_organization(second).await;
    }
    t.system(tree.customer).await;
    t.suspend_system(t.system(tree.customer).await.id).await;
    t.delete_system(t.system(tree.customer).await.id).await;
    let labels = |name: &str, severity: &str| json!({"alertname": name, "severity": severity});
    let system = systems.remove(0);
    for (name, severity) in [("DiskFull", "critical"), ("LinkFailed", "info"), ("BackupFailed", "warning")] {
        push(t, &system, json!([{"labels": labels(name, severity)}])).await;
        t.advance(Duration::from_secs(1));
    }
    for name in ["Gone1", "Gone2"] {
        push(t, &system, json!([{"labels": labels(name, "info")}])).await;
        t.advance(Duration::from_secs(1));
        let end = t.app.platform.now().rfc3339(3);
        push(t, &system, json!([{"labels": labels(name, "info"), "endsAt": end}])).await;
    }
    (owner, system, tree)
}

/// The rows of a list, in its order: their ids, or the values that take the place of ids. A file has lines.
async fn rows(t: &Test, who: &Persona, path: &str, query: &str) -> Vec<String> {
    let reply = t.get(&format!("/api{path}?page_size=100&{query}")).bearer(&who.token).send().await;
    let reply = reply.expect(200);
    if reply.header("content-type") == Some("text/csv") {
        return reply.text().lines().skip(1).map(str::to_owned).collect();
    }
    let data = reply.data();
    let is_row_list = |key: &&String| !["warnings", "pagination"].contains(&key.as_str());
    let keys: Vec<&String> = data.as_object().unwrap().keys().filter(is_row_list).collect();
    let rows = keys.iter().find_map(|key| data[key.as_str()].as_array()).unwrap();
    let name = |row: &Value| {
        let keys = ["id", "fingerprint", "instance_of", "date"];
        keys.iter().find_map(|key| row.get(key)).unwrap_or_else(|| panic!("{row}")).to_string()
    };
    rows.iter().map(name).collect()
}

fn is_list(one: &Listed) -> bool {
    one.method == "get" && one.location == "query" && !one.words.is_empty()
}

api_test!(a_listed_order_turns_round_and_another_word_gives_the_usual_order, |t| async move {
    let (owner, system, _) = world(&t).await;
    let mut count = 0;
    for one in listed().iter().filter(|one| is_list(one) && one.name == "sort_by") {
        let path = one.path.replace("{id}", &system.id.to_string());
        let more = if path.ends_with("/export") { "format=csv&" } else { "" };
        let ask = async |query: String| rows(&t, &owner, &path, &format!("{more}{query}")).await;
        let usual = ask(String::new()).await;
        assert!(usual.len() > 1, "{path} shows too little");
        for word in ["nonsense", "NAME", ""] {
            for direction in ["", "&sort_direction=asc", "&sort_direction=desc"] {
                let query = format!("sort_by={word}{direction}");
                assert_eq!(ask(query.clone()).await, usual, "{path} {query}");
            }
        }
        for word in &one.words {
            let rising = ask(format!("sort_by={word}&sort_direction=asc")).await;
            let mut falling = ask(format!("sort_by={word}&sort_direction=desc")).await;
            // Active alerts that are equal go by their fingerprints both ways, and these are.
            let are_equal =
                path.ends_with("/alerts") && ["status", "assigned_user_name"].contains(&word.as_str());
            if !are_equal {
                falling.reverse();
            }
            assert_eq!(rising, falling, "{path} {word}");
            assert_eq!(rising.iter().collect::<BTreeSet<_>>(), usual.iter().collect(), "{path} {word}");
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
});

api_test!(a_listed_word_of_a_filter_finds_rows_and_another_one_none, |t| async move {
    let (owner, system, _) = world(&t).await;
    let filters = ["status", "state", "severity", "category", "diff_type", "event"];
    let is_filter = |one: &Listed| {
        filters.contains(&one.name.as_str()) || (one.name == "type" && one.path == "/organizations")
    };
    // Nothing of the world is of this kind.
    let absent = ["error", "suppressed", "unprocessed"];
    let mut count = 0;
    for one in listed().iter().filter(|one| is_list(one) && is_filter(one)) {
        let path = one.path.replace("{id}", &system.id.to_string());
        if path.contains("/events/") || path.contains("/me/") || path.ends_with("/timeline") {
            continue;
        }
        let more = if path.ends_with("/export") { "format=csv&" } else { "" };
        let ask = async |query: String| rows(&t, &owner, &path, &format!("{more}{query}")).await;
        assert_eq!(ask(format!("{}=nonsense", one.name)).await.len(), 0, "{path} {}", one.name);
        let together: Vec<String> = one.words.iter().map(|word| format!("{}={word}", one.name)).collect();
        let together: BTreeSet<String> = ask(together.join("&")).await.into_iter().collect();
        let mut union = BTreeSet::new();
        for word in &one.words {
            let found = ask(format!("{}={word}", one.name)).await;
            let may_be_empty = one.path.contains("/inventory/") || absent.contains(&word.as_str());
            assert!(may_be_empty || !found.is_empty(), "{path} {}={word} finds nothing", one.name);
            union.extend(found);
            count += 1;
        }
        assert_eq!(union, together, "{path} {}", one.name);
        let usual: BTreeSet<String> = ask(String::new()).await.into_iter().collect();
        assert!(usual.is_subset(&together), "{path} {}: some rows have none of the words", one.name);
    }
    assert!(count > 50, "{count}");
});

api_test!(other_words_are_understood_or_refused, |t| async move {
    let (owner, system, tree) = world(&t).await;
    let ask = async |path: String| t.get(&path).bearer(&owner.token).send().await;
    let mut names = BTreeSet::new();
    for one in listed().iter().filter(|one| one.method == "get" && !one.words.is_empty()) {
        let path = one.path.replace("{id}", &system.id.to_string());
        let own = owner.org.to_string();
        let (other, status) = match one.name.as_str() {
            "period" => ("8", 400),
            "format" if path.ends_with("/export") => ("xml", 400),
            "as" | "include" | "fields" => ("nonsense", 200),
            "format" => ("nonsense", 200),
            "entity_type" => ("owners", 400),
            _ => continue,
        };
        names.insert(one.name.clone());
        let call = |word: &str| match one.location.as_str() {
            "path" => format!("/api{}?vat=IT1", path.replace(&format!("{{{}}}", one.name), word)),
            _ => format!("/api{path}?{}={word}&organization_id={own}", one.name),
        };
        for word in &one.words {
            ask(call(word)).await.expect(200);
        }
        ask(call(other)).await.expect(status);
    }
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["as", "entity_type", "fields", "format", "include", "period"]
    );
    let asset = "/api/rebranding/{org}/products/nethvoice/";
    let asset = asset.replace("{org}", &tree.distributor.to_string());
    for word in words_of("getRebrandingAsset", "asset") {
        ask(format!("{asset}{word}")).await.expect_message(404, "asset not found");
    }
    ask(format!("{asset}nonsense")).await.expect_message(400, "invalid asset name");
});
