//! Whatever stands in a query, a list answers: no text and no time that only one of the engines can keep makes it fail.

use bailiwick_api::openapi;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};

/// Filters that the document has no words for.
const MORE: [(&str, &[&str]); 3] = [
    ("/events", &["types", "organization_id", "object_id", "after"]),
    ("/events/subscriptions/{id}/deliveries", &["status"]),
    ("/systems/{id}/inventory/changes", &["from_date", "category"]),
];

/// Operations with a query, and the names in it.
fn operations() -> Vec<(String, Vec<String>)> {
    let document = openapi::document();
    let mut all: Vec<(String, Vec<String>)> = MORE
        .iter()
        .map(|(path, keys)| ((*path).to_owned(), keys.iter().map(|k| (*k).to_owned()).collect()))
        .collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        let parameters = item["get"]["parameters"].as_array().into_iter().flatten();
        let keys: Vec<String> = parameters
            .filter(|p| p["in"] == "query")
            .map(|p| p["name"].as_str().unwrap().to_owned())
            .collect();
        if !keys.is_empty() {
            all.push((path.clone(), keys));
        }
    }
    all
}

/// A subscription to ask for the deliveries of.
async fn subscription(t: &Test, who: &Persona) -> String {
    let body = json!({"name": "n", "url": "https://8.8.8.8/x", "types": ["*"]});
    let made = t.post("/api/events/subscriptions").bearer(&who.token).json(body).send().await.expect(201);
    made.data()["subscription"]["id"].as_str().unwrap().to_owned()
}

api_test!(no_filter_makes_a_list_fail, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let customer = t.user(tree.customer, &["admin"]).await;
    let system = t.system(tree.customer).await.id.to_string();
    let subscription = subscription(&t, &customer).await;
    let mut failed: Vec<(String, u16, Value)> = Vec::new();
    for (path, keys) in operations() {
        let id = if path.starts_with("/events/") { &subscription } else { &system };
        let path = path.replace("{id}", id).replace("{entity_type}", "customers");
        let path = path.replace("{session_id}", &system).replace("{fingerprint}", "%00");
        for token in [&owner.token, &customer.token] {
            for sent in ["%00", "-009000-01-01T00:00:00Z", "9999-12-30T22:00:00Z"] {
                for key in &keys {
                    let more = if path.starts_with("/alerts/activity") { "&organization_id=" } else { "" };
                    let call = format!("/api{path}?{key}={sent}{more}");
                    let reply = t.get(&call).bearer(token).send().await;
                    if reply.status.is_server_error() {
                        failed.push((call, reply.status.as_u16(), reply.json()));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
});
