//! The API reference at `/docs`, and the content of its document.

use bailiwick_api::{
    openapi::document,
    routes::{Credential, table},
};
use bailiwick_testkit::{Reply, Test, api_test, published::matching};
use serde_json::Value;
use std::{collections::BTreeSet, io::Read};

async fn get(t: &Test, path: &str) -> Reply {
    t.get(path).send().await
}

/// Addresses in a page that a browser fetches by itself.
fn fetched(page: &str) -> Vec<&str> {
    let head = page.split("</head>").next().unwrap_or_default();
    let after = |key: &'static str| head.split(key).skip(1).filter_map(|rest| rest.split('"').next());
    after("src=\"").chain(after("href=\"")).filter(|address| !address.starts_with("data:")).collect()
}

api_test!(the_reference_is_served_at_every_base_path_and_asks_nobody_else, |t| async move {
    for base in ["", "/api", "/backend/api", "/collect/api"] {
        for path in ["/docs", "/docs/", "/docs/operations/createSystem", "/docs/signed-in"] {
            let page = get(&t, &format!("{base}{path}")).await.expect(200);
            assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
            let policy = page.header("content-security-policy").unwrap().to_owned();
            assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
            assert!(!policy.contains('*') && !policy.contains("unsafe"), "{policy}");
            // Where people sign in is asked by the script.
            let issuer = url::Url::parse(&t.app.settings.public_url).unwrap().origin().ascii_serialization();
            assert!(policy.contains(&format!("connect-src 'self' {issuer};")), "{policy}");
            let text = page.text();
            assert!(!text.contains("<script>") && !text.contains(" style="), "no script stands in the page");
            assert!(text.contains("data-client=\"bailiwick\""), "{text}");
            let addresses = fetched(&text);
            assert_eq!(addresses.len(), 2);
            for address in addresses {
                assert!(address.starts_with(&format!("{base}/docs/assets/")), "{address}");
                let file = get(&t, address).await.expect(200);
                assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
                assert_eq!(file.header("content-security-policy"), Some(policy.as_str()));
                assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
            }
        }
    }
    get(&t, "/docs/other.js").await.expect_message(404, "api not found");
});

api_test!(the_list_of_operations_is_searched, |t| async move {
    let all = get(&t, "/docs").await.expect(200).text();
    assert_eq!(all.matches("class=\"summary\"").count(), table().len());
    for (query, wanted) in [
        ("getMe", "getMe"),
        ("manage:systems+secret", "regenerateSystemSecret"),
        ("POST+/systems", "createSystem"),
        ("sort_by+systems", "listSystems"),
        ("Bice+nothing", ""),
    ] {
        let page = get(&t, &format!("/docs?q={query}")).await.expect(200).text();
        let is_found = page.contains(&format!("/docs/operations/{wanted}\""));
        assert_eq!(is_found, !wanted.is_empty(), "{query}");
        assert!(page.matches("class=\"summary\"").count() < 60, "{query}");
    }
});

api_test!(the_document_is_packed_for_those_who_take_it, |t| async move {
    let plain = get(&t, "/docs/openapi.json").await.expect(200);
    assert_eq!(
        (plain.header("content-type"), plain.header("content-encoding")),
        (Some("application/json"), None)
    );
    let packed = t.get("/docs/openapi.json").header("accept-encoding", "gzip").send().await.expect(200);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < 256 * 1024, "{}", packed.body.len());
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == plain.body);
});

api_test!(
    the_document_names_the_base_paths_of_this_service,
    |settings| settings.base_paths = vec!["/portal".to_owned()],
    |t| async move {
        for base in ["", "/portal"] {
            let served = get(&t, &format!("{base}/docs/openapi.json")).await.expect(200).json();
            assert_eq!(served["servers"], serde_json::json!([{"url": "/portal"}]));
            let router = &served["paths"]["/{service}/api/v2/alerts"]["get"]["servers"];
            assert_eq!(*router, serde_json::json!([{"url": "/portal/services/mimir"}]));
            assert_eq!(served["components"], document()["components"]);
        }
        get(&t, "/api/docs").await.expect_message(404, "api not found");
    }
);

fn operations() -> Vec<(String, Value)> {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let item = item.as_object().unwrap().clone();
        item.into_iter()
            .map(move |(method, operation)| (format!("{method} {path}"), operation))
            .collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

/// Whether an answer of the alerting proxy, which has refusals of its own.
fn is_proxied(what: &str) -> bool {
    ["/{service}/", " /proxy/alerts", "/alertmanager/"].iter().any(|part| what.contains(part))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn every_operation_is_described() {
    let operations = operations();
    assert_eq!(operations.len(), table().len());
    let routes = table();
    for (what, operation) in &operations {
        let summary = operation["summary"].as_str().unwrap();
        assert!((8..80).contains(&summary.len()), "{what} has no summary: {summary:?}");
        let description = operation["description"].as_str().unwrap();
        let route = routes.iter().find(|r| operation["operationId"] == r.operation.as_str()).unwrap();
        // The description of an operation for programs names their credential; that of an operation for people names
        // permissions.
        let is_a_persons = !matches!(route.credential, Credential::Public | Credential::HistoryWebhook)
            && !route.credential.is_of_system();
        assert!(description.len() >= 8, "{what}: {description}");
        assert_eq!(description.contains(" Needs "), is_a_persons, "{what}: {description}");
        let words = ["x-permissions", "x-permissions-one-of"];
        let permissions = words.iter().flat_map(|word| operation[*word].as_array().into_iter().flatten());
        let permissions: Vec<&str> = permissions.map(text).collect();
        let needs_none = !is_a_persons || description.contains("Needs no permission.");
        assert_eq!(permissions.is_empty(), needs_none, "{what}: {description}");
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{what}");
        for permission in permissions {
            let named = format!("`{permission}`");
            assert!(description.contains(&named), "{what}: {named}");
        }
        for parameter in operation["parameters"].as_array().unwrap() {
            assert!(parameter["name"].is_string() && parameter["schema"].is_object(), "{what}: {parameter}");
        }
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.contains_key("default"), "{what}");
        let wanted = if is_proxied(what) { vec![] } else { vec!["400", "500", "503"] };
        for status in wanted {
            assert!(answers.contains_key(status), "{what} does not document when it answers {status}");
        }
        if !is_proxied(what) && operation["security"] != serde_json::json!([]) {
            assert!(answers.contains_key("401"), "{what}");
        }
    }
}

#[test]
fn every_tag_is_described_once_and_used() {
    let document = document();
    let tags = document["tags"].as_array().unwrap();
    let described: Vec<&str> = tags.iter().map(|tag| text(&tag["name"])).collect();
    let used: BTreeSet<String> =
        operations().iter().map(|(_, operation)| text(&operation["tags"][0]).to_owned()).collect();
    assert_eq!(described, used.iter().map(String::as_str).collect::<Vec<_>>());
    for tag in tags {
        let about = text(&tag["description"]);
        assert!(about.len() > 20 && about.ends_with('.'), "{tag}");
    }
}

/// Of two spellings of one operation, the document asks new clients to use the newer one; both go on working.
#[test]
fn the_older_of_two_spellings_is_deprecated() {
    for (what, operation) in operations() {
        let is_older = what.contains(" /alerting/") || what.contains(" /proxy/");
        // The way from an older pair to a present one has no other spelling.
        let is_older = is_older && !what.ends_with("/credentials");
        assert_eq!(operation["deprecated"] == true, is_older, "{what}");
        for parameter in operation["parameters"].as_array().unwrap() {
            assert!(parameter["name"] != "state" || parameter["deprecated"] == true, "{what}");
        }
    }
    let schemas = document()["components"]["schemas"].clone();
    for (schema, older, newer) in [
        ("TrendPoint", "Date", "date"),
        ("TrendPoint", "Count", "count"),
        ("SystemTotals", "alive", "active"),
    ] {
        let properties = &schemas[schema]["properties"];
        assert_eq!(properties[older]["deprecated"], true, "{schema}.{older}");
        assert!(
            properties[newer].is_object() && properties[newer]["deprecated"].is_null(),
            "{schema}.{newer}"
        );
    }
}

/// See spec: acceptance#guarantees rule 14: a list with a choice of order or with pages states its usual order. The
/// order itself is checked in each answer that any test gets.
// Proves spec: acceptance#guarantees 14.
#[test]
fn every_list_documents_its_usual_order() {
    let mut count = 0;
    for (what, operation) in operations() {
        let has = |name: &str| {
            operation["parameters"].as_array().unwrap().iter().any(|parameter| parameter["name"] == name)
        };
        let id = operation["operationId"].as_str().unwrap();
        let is_list = has("page") || has("sort_by") || (id.starts_with("list") && !is_proxied(&what));
        let description = operation["description"].as_str().unwrap();
        let says = description.contains("Order of ")
            || description.contains("rder unless")
            || description.contains("The order is");
        assert!(!is_list || says, "{what}: {description}");
        for (rows, keys) in operation["x-order"].as_object().into_iter().flatten() {
            assert!(rows.is_empty() || description.contains(&format!("Order of `{rows}` ")), "{what}");
            let keys = keys.as_array().unwrap().iter().map(|key| text(key).trim_start_matches('-'));
            assert!(keys.into_iter().all(|key| description.contains(&format!("`{key}` "))), "{what}");
            count += 1;
        }
    }
    assert!(count > 35, "{count}");
}

/// Answers of few operations, and rare answers, are named like the rest: no client should find them under `default`
/// only.
#[test]
fn operations_name_conflicts_slow_bodies_and_what_they_rely_on() {
    let named = |what: &Value, status: &str| what["responses"].get(status).is_some();
    let operations = operations();
    for (what, operation) in operations.iter().filter(|(what, _)| !is_proxied(what)) {
        if operation["requestBody"].is_object() {
            assert!(named(operation, "408") && named(operation, "413"), "{what}");
        }
    }
    let one = |id: &str| {
        let found = operations.iter().find(|(_, operation)| operation["operationId"] == id);
        found.map(|(_, operation)| operation).unwrap()
    };
    for id in
        ["createEventSubscription", "startImpersonation", "updateSystem", "createSilence", "createApiKey"]
    {
        assert!(named(one(id), "409"), "{id}");
    }
    for id in [
        "listActiveAlerts",
        "listSilences",
        "createSystemSilence",
        "getBackup",
        "updateSystem",
        "exchangeToken",
    ] {
        assert!(named(one(id), "502") && named(one(id), "504"), "{id}");
    }
    assert!(named(one("sendInventory"), "415"));
}

/// Bytes that no example can show.
fn is_text(media_type: &str) -> bool {
    media_type == "application/json" || media_type.starts_with("text/")
}

/// Every media type of a body or answer with its schema and its examples.
fn contents(holder: &Value) -> Vec<(&str, &Value, Vec<&Value>)> {
    holder["content"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(media_type, content)| {
            let examples = content["examples"].as_object();
            let values = examples.into_iter().flat_map(|all| all.values()).map(|example| &example["value"]);
            (media_type.as_str(), &content["schema"], values.collect())
        })
        .collect()
}

#[test]
fn every_operation_has_an_example_of_what_is_sent_and_answered() {
    for (what, operation) in operations() {
        let (_, success) = operation["responses"]
            .as_object()
            .unwrap()
            .iter()
            .find(|(status, _)| status.starts_with('2'))
            .unwrap_or_else(|| panic!("{what} has no success"));
        let shown = contents(success);
        let needs_one = shown.iter().any(|(media_type, ..)| is_text(media_type));
        assert!(!needs_one || shown.iter().any(|(.., examples)| !examples.is_empty()), "{what}: no answer");
        for (media_type, _, examples) in contents(&operation["requestBody"]) {
            assert!(media_type != "application/json" || !examples.is_empty(), "{what}: nothing that is sent");
        }
    }
}

#[test]
fn examples_match_their_operation() {
    let (document, mut count) = (document(), 0);
    let mut check = |what: &str, holder: &Value| {
        for (media_type, schema, examples) in contents(holder) {
            for example in examples {
                count += 1;
                assert!(example.to_string().len() <= 8192, "{what}: too long");
                if media_type == "application/json" || media_type == "multipart/form-data" {
                    let wrong = matching::differences(&document, schema, example);
                    assert!(wrong.is_empty(), "{what}: {wrong:#?}\n{example:#}");
                }
            }
        }
    };
    for (what, operation) in operations() {
        check(&format!("{what} body"), &operation["requestBody"]);
        for (status, answer) in operation["responses"].as_object().unwrap() {
            check(&format!("{what} {status}"), answer);
            for (.., examples) in contents(answer) {
                let is_of_status =
                    |example: &&Value| example["code"].as_u64().is_none_or(|code| status.parse() == Ok(code));
                assert!(examples.iter().all(is_of_status), "{what} {status}");
            }
        }
    }
    assert!(count > 300, "{count}");
}
