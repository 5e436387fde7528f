//! What is cached until an application, an alert or an event changes it: found texts, figures of active alerts, and the number
//! of events.

use super::is_same;
use crate::{
    alerts::written,
    applications::{cluster, id_of, module, send},
    proxy::Client,
};
use bailiwick_testkit::{Engine, Persona, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

/// Every list and number that is made from active alerts.
const ALERTS: [&str; 11] = [
    "/api/alerts/totals",
    "/api/alerts?page_size=1",
    "/api/alerts?severity=critical&page_size=1",
    "/api/alerts?assigned_user_id=none&page_size=1",
    "/api/alerts?search=customer&page_size=1",
    "/api/alerts?status=active&page_size=1",
    "/api/alerts?status=suppressed&page_size=1",
    "/api/filters/alerts",
    "/api/alerts?sort_by=starts_at&sort_direction=asc&page_size=1",
    "/api/alerts?sort_by=assigned_user_name&sort_direction=desc&page_size=1",
    "/api/alerts?sort_by=starts_at&page_size=1&page=2",
];

async fn change(t: &Test, who: &Persona, method: &str, path: &str, body: Value) {
    let call = match method {
        "PUT" => t.put(path).json(body),
        "PATCH" => t.patch(path),
        _ => t.delete(path),
    };
    call.bearer(&who.token).send().await.expect(200);
}

api_test!(every_change_of_active_alerts_shows_at_once_in_every_process, |t| async move {
    let tree = t.tree().await;
    let replica = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let processes: Vec<&Test> = std::iter::once(&t).chain(&replica).collect();
    let owner = t.owner().await;
    let client = Client { test: &t, system: t.system(tree.customer).await };
    let push = async |name: &str, severity: &str, ends_in: i64| {
        let ends = t.app.platform.now().0 + ends_in * 1_000_000;
        let alert = json!([{"labels": {"alertname": name, "severity": severity},
            "endsAt": bailiwick_domain::Ts(ends).rfc3339(3)}]);
        client.push(&alert.to_string()).await.expect(200);
        written(&t).await;
    };
    // How many are active, by the answer that may be cached.
    let active = async |after: &str| {
        is_same(&processes, &owner, &ALERTS, after).await;
        let totals = t.get(ALERTS[0]).bearer(&owner.token).send().await.expect(200).data();
        totals["active"].as_u64().unwrap()
    };
    assert_eq!(active("nothing").await, 0);
    push("A", "critical", 600).await;
    assert_eq!(active("a new alert").await, 1);
    push("B", "warning", 300).await;
    assert_eq!(active("another one").await, 2);
    // Only B is over.
    t.advance(Duration::from_secs(301));
    assert_eq!(active("an expiry").await, 1);
    push("B", "warning", 300).await;
    assert_eq!(active("its return").await, 2);
    // A is repeated, and outlives the time it had.
    push("A", "critical", 900).await;
    t.advance(Duration::from_secs(299));
    push("B", "warning", 600).await;
    assert_eq!(active("repeated alerts").await, 2);
    push("B", "warning", 10).await;
    assert_eq!(active("an earlier end").await, 2);
    t.advance(Duration::from_secs(11));
    assert_eq!(active("that end").await, 1);
    push("C", "critical", 600).await;
    assert_eq!(active("a third one").await, 2);

    // A repeated alert can have another summary.
    let figures = async || {
        let path = "/api/alerts?search=degraded";
        is_same(&processes, &owner, &[path], "another summary").await;
        let figures = t.get(path).bearer(&owner.token).send().await.expect(200).data();
        figures["pagination"]["total_count"].as_u64().unwrap()
    };
    assert_eq!(figures().await, 0);
    let ends = bailiwick_domain::Ts(t.app.platform.now().0 + 600_000_000).rfc3339(3);
    let mut again = json!([{"labels": {"alertname": "C", "severity": "critical"}, "endsAt": ends,
        "annotations": {"summary": "RAID degraded"}}]);
    client.push(&again.to_string()).await.expect(200);
    written(&t).await;
    assert_eq!(figures().await, 1);
    // It can also have begun earlier than it was known.
    let oldest = async || {
        active("an earlier start").await;
        t.get(ALERTS[8]).bearer(&owner.token).send().await.expect(200).data()["alerts"][0]["fingerprint"]
            .clone()
    };
    let before = oldest().await;
    again[0]["startsAt"] = json!(bailiwick_domain::Ts(t.app.platform.now().0 - 7_200_000_000).rfc3339(3));
    client.push(&again.to_string()).await.expect(200);
    written(&t).await;
    assert_ne!(oldest().await, before);

    let listed = t.get("/api/alerts?severity=critical").bearer(&owner.token).send().await.expect(200).data();
    let first = listed["alerts"][0]["fingerprint"].as_str().unwrap().to_owned();
    let ada = t.user(tree.customer, &["admin"]).await;
    let body = json!({"fingerprint": first});
    t.post("/api/alerts/assignment").bearer(&ada.token).json(body).send().await.expect(200);
    active("an assignment").await;
    let left = t.get(ALERTS[3]).bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(left["pagination"]["total_count"], 1, "{left}");

    let path = format!("/api/systems/{}", client.system.id);
    for (method, path, body, left) in [
        ("DELETE", path.clone(), Value::Null, 0),
        ("PATCH", format!("{path}/restore"), Value::Null, 2),
        ("DELETE", format!("/api/customers/{}", tree.customer), Value::Null, 0),
        ("PATCH", format!("/api/customers/{}/restore", tree.customer), Value::Null, 2),
        ("PUT", path.clone(), json!({"organization_id": tree.other_customer.to_string()}), 0),
    ] {
        change(&t, &owner, method, &path, body).await;
        assert_eq!(active(&format!("{method} {path}")).await, left, "{method} {path}");
    }
});

api_test!(every_change_of_texts_shows_at_once_in_a_search_of_every_process, |t| async move {
    let tree = t.tree().await;
    let replica = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let processes: Vec<&Test> = std::iter::once(&t).chain(&replica).collect();
    let owner = t.owner().await;
    let paths = [
        "/api/search?q=mail",
        "/api/search?q=post&kinds=applications",
        "/api/applications?search=mail&sort_by=system_name",
        "/api/applications?search=mail&sort_by=organization_name&sort_direction=desc",
        "/api/applications?search=e&sort_by=last_inventory_at&page_size=1&page=2",
    ];
    let matches = async |after: &str| {
        is_same(&processes, &owner, &paths, after).await;
        let matches = t.get(paths[0]).bearer(&owner.token).send().await.expect(200).data();
        matches["applications"]["total_count"].as_u64().unwrap()
    };
    let system = t.system(tree.customer).await;
    assert_eq!(matches("nothing").await, 0);
    send(&t, &system, cluster(json!([module("mail1", "mail"), module("web1", "web")]))).await;
    assert_eq!(matches("new applications").await, 1);
    // One goes and one comes, so no counter moves.
    send(&t, &system, cluster(json!([module("mail1", "mail"), module("mail2", "web")]))).await;
    assert_eq!(matches("another name").await, 2);
    let mut named = module("mail1", "mail");
    named["ui_name"] = json!("Post");
    send(&t, &system, cluster(json!([named, module("mail2", "web")]))).await;
    matches("another shown name").await;
    let mut hidden = module("mail2", "web");
    hidden["certification_level"] = json!(1);
    send(&t, &system, cluster(json!([module("mail1", "mail"), hidden]))).await;
    assert_eq!(matches("an application that lists leave out").await, 1);
    let id = id_of(&t, &owner, "mail1").await;
    t.delete(&format!("/api/applications/{id}")).bearer(&owner.token).send().await.expect(200);
    assert_eq!(matches("a removal").await, 0);
    send(&t, &system, cluster(json!([module("mail1", "mail"), module("web1", "web")]))).await;
    let path = format!("/api/systems/{}", system.id);
    for (method, path, body, left) in [
        ("PUT", path.clone(), json!({"name": "A mail server"}), 2),
        ("PUT", path.clone(), json!({"organization_id": tree.other_customer.to_string()}), 2),
        ("DELETE", path.clone(), Value::Null, 0),
        ("PATCH", format!("{path}/restore"), Value::Null, 2),
        ("DELETE", format!("/api/customers/{}", tree.other_customer), Value::Null, 0),
    ] {
        change(&t, &owner, method, &path, body).await;
        assert_eq!(matches(&format!("{method} {path}")).await, left, "{method} {path}");
    }
});

api_test!(the_number_of_events_is_true_after_every_change_of_who_sees_them, |t| async move {
    let tree = t.tree().await;
    let (owner, reseller) = (t.owner().await, t.user(tree.reseller, &["admin"]).await);
    let systems = [t.system(tree.customer).await, t.system(tree.customer).await];
    let paths = [
        "/api/events?page_size=1",
        "/api/events?types=system.*",
        "/api/events?sort_direction=asc&page_size=2",
    ];
    let counted = async |after: &str| {
        bailiwick_events::number_all(&t.app.events).await.unwrap();
        for who in [&owner, &reseller] {
            is_same(&[&t], who, &paths, after).await;
        }
        let listed = t.get(paths[1]).bearer(&reseller.token).send().await.expect(200).data();
        listed["pagination"]["total_count"].as_u64().unwrap()
    };
    let first = counted("nothing").await;
    assert!(first >= 2);
    let path = format!("/api/systems/{}", systems[0].id);
    t.put(&path).bearer(&owner.token).json(json!({"name": "Renamed"})).send().await.expect(200);
    assert_eq!(counted("one more").await, first + 1);
    // A system that has left takes its events along.
    let away = json!({"organization_id": tree.other_customer.to_string()});
    t.put(&path).bearer(&owner.token).json(away).send().await.expect(200);
    assert!(counted("a move").await < first + 1);
    t.advance(Duration::from_secs(3600 * 24 * 400));
    let owner = t.owner().await;
    is_same(&[&t], &owner, &paths, "a long time").await;
    assert!(bailiwick_events::purge(&t.app.events).await.unwrap() > 0);
    is_same(&[&t], &owner, &paths, "their removal").await;
});
