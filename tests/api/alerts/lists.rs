//! Active alerts across the hierarchy and of one system (spec: alert-management#organizations,
//! alert-management#active-alerts), with both routers.

use super::*;
use bailiwick_testkit::{Engine, Persona, Reply, seed::Tree};

/// The same conversation with the embedded router and with a real Alertmanager behind the service.
macro_rules! in_both_modes {
    ($name:ident, |$p:ident| $body:expr) => {
        api_test!($name, |settings| generous(settings), |t| async move {
            t.clock.set(crate::proxy::wall_clock());
            {
                let $p = &t;
                $body.await;
            }
            let real = bailiwick_testkit::parts::alertmanager::Alertmanager::start(
                crate::proxy::conformance::CONFIGURATION,
            )
            .await
            .unwrap();
            let p = remote(&t, real.url(), RouterKind::Plain, |_| {}).await;
            p.clock.set(crate::proxy::wall_clock());
            {
                let $p = &p;
                $body.await;
            }
        });
    };
}
pub(super) use in_both_modes;

/// Pushes alerts, each with its labels.
pub(super) async fn fire(c: &Client<'_>, labels: &[Value]) {
    let alerts: Vec<Value> = labels.iter().map(|labels| json!({"labels": labels})).collect();
    c.push(&json!(alerts).to_string()).await.expect(200);
    written(c.test).await;
}

pub(super) async fn client(t: &Test, organization: OrgId) -> Client<'_> {
    Client { test: t, system: t.system(organization).await }
}

pub(super) async fn get(t: &Test, who: &Persona, path: &str) -> Reply {
    t.get(&format!("/api{path}")).bearer(&who.token).send().await
}

/// The names of the listed alerts, in order.
pub(super) async fn names(t: &Test, who: &Persona, path: &str) -> Vec<String> {
    let data = get(t, who, path).await.expect_message(200, "alerts retrieved successfully").data();
    assert_eq!(data["warnings"], json!([]), "{data}");
    let name = |a: &Value| a["labels"]["alertname"].as_str().unwrap().to_owned();
    let names: Vec<String> = data["alerts"].as_array().unwrap().iter().map(name).collect();
    assert!(data["pagination"]["total_count"].as_u64().unwrap() >= names.len() as u64);
    names
}

pub(super) async fn sorted(t: &Test, who: &Persona, path: &str) -> Vec<String> {
    let mut names = names(t, who, path).await;
    names.sort();
    names
}

/// One alert in each of four organizations.
async fn forest(t: &Test) -> Tree {
    let tree = t.tree().await;
    for (organization, name) in
        [(tree.reseller, "R"), (tree.customer, "C"), (tree.other_reseller, "OR"), (tree.other_customer, "OC")]
    {
        let c = client(t, organization).await;
        fire(&c, &[json!({"alertname": name, "severity": "warning"})]).await;
    }
    tree
}

// Proves spec: acceptance#scenarios 33.
in_both_modes!(alerts_are_listed_over_the_hierarchy_or_what_is_named_of_it, |t| async {
    let tree = forest(t).await;
    let owner = t.owner().await;
    let distributor = t.user(tree.distributor, &["reader"]).await;
    let customer = t.user(tree.customer, &["reader"]).await;
    assert_eq!(sorted(t, &owner, "/alerts").await, ["C", "OC", "OR", "R"]);
    assert_eq!(sorted(t, &owner, "/alerting/alerts").await, ["C", "OC", "OR", "R"]);
    assert_eq!(sorted(t, &distributor, "/alerts").await, ["C", "R"]);
    assert_eq!(sorted(t, &customer, "/alerts").await, ["C"]);
    let one = |id: OrgId| format!("/alerts?organization_id={id}");
    let below = |id: OrgId| format!("/alerts?include=descendants&organization_id={id}");
    assert_eq!(sorted(t, &owner, &one(tree.reseller)).await, ["R"]);
    assert_eq!(sorted(t, &owner, &one(tree.distributor)).await, [""; 0]);
    assert_eq!(sorted(t, &owner, &below(tree.distributor)).await, ["C", "R"]);
    assert_eq!(sorted(t, &owner, &below(tree.reseller)).await, ["C", "R"]);
    assert_eq!(sorted(t, &owner, &below(tree.owner)).await, ["C", "OC", "OR", "R"]);
    assert_eq!(sorted(t, &distributor, &below(tree.customer)).await, ["C"]);
    let (a, b) = (tree.reseller, tree.other_customer);
    let both = format!("/alerts?organization_id={a}&organization_id={b}&organization_id={a}");
    assert_eq!(sorted(t, &owner, &both).await, ["OC", "R"]);
    assert_eq!(sorted(t, &owner, &format!("{both}&include=descendants")).await, ["C", "OC", "R"]);
    // The parameter has no effect for a customer's user, whatever its value.
    for named in [tree.other_customer.to_string(), tree.reseller.to_string(), "x".to_owned()] {
        assert_eq!(sorted(t, &customer, &format!("/alerts?organization_id={named}")).await, ["C"]);
    }
    let refused = "access denied: organization not in your hierarchy";
    let unknown = "0195fada-0000-7000-8000-00000000dead".to_owned();
    let mut bodies = Vec::new();
    for id in [tree.other_customer.to_string(), unknown.clone(), "x".to_owned(), String::new()] {
        for path in ["alerts", "alerts/totals", "alerts/trend", "alerts/stats", "alerts/history"] {
            let path = format!("/{path}?organization_id={}&organization_id={id}", tree.customer);
            bodies.push(get(t, &distributor, &path).await.expect_message(403, refused).body);
        }
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
    get(t, &owner, &one(unknown.parse().unwrap())).await.expect_message(403, refused);
    // A deleted organization is not there any more.
    t.delete_organization(tree.other_customer).await;
    assert_eq!(sorted(t, &owner, "/alerts").await, ["C", "OR", "R"]);
    get(t, &owner, &one(tree.other_customer)).await.expect_message(403, refused);
});

in_both_modes!(an_alert_has_its_fields_and_present_names, |t| async {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let c = client(t, tree.customer).await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("UPDATE systems SET type = 'ns8' WHERE id = ?").bind(c.system.id).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let alert = json!([{
        "labels": {"alertname": "Full", "severity": "critical", "service": "storage"},
        "annotations": {"summary_en": "full"}, "generatorURL": "javascript:alert(1)",
    }]);
    c.push(&alert.to_string()).await.expect(200);
    c.push(r#"[{"labels":{"alertname":"Web"},"generatorURL":"https://x/y"}]"#).await.expect(200);
    written(t).await;
    let data = get(t, &owner, "/alerts?sort_by=alertname&sort_direction=asc").await.expect(200).data();
    let full = &data["alerts"][0];
    let own = &c.get("/api/v2/alerts?filter=alertname%3DFull").await.expect(200).json()[0];
    for key in ["fingerprint", "startsAt", "endsAt", "updatedAt", "annotations"] {
        assert_eq!(full[key], own[key], "{key}");
    }
    let labels = &full["labels"];
    for (key, value) in [
        ("alertname", "Full"),
        ("severity", "critical"),
        ("system_key", c.system.key.as_str()),
        ("organization_name", "Alfa Customer"),
        ("organization_type", "customer"),
        ("system_type", "ns8"),
        ("system_id", &c.system.id.to_string()),
        ("organization_id", &tree.customer.to_string()),
    ] {
        assert_eq!(labels[key], value, "{labels}");
    }
    assert!(labels["system_name"].as_str().is_some_and(|name| name.starts_with("System ")), "{labels}");
    assert_eq!(
        full["status"],
        json!({"state": "active", "silencedBy": [], "inhibitedBy": [], "mutedBy": []})
    );
    assert_eq!(full["assigned_to"], Value::Null);
    assert_eq!((full.get("generatorURL"), &data["alerts"][1]["generatorURL"]), (None, &json!("https://x/y")));
    // A new name is shown at once, and the fingerprint stays (rule 9).
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("UPDATE systems SET name = 'Renamed' WHERE id = ?").bind(c.system.id).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let data = get(t, &owner, "/alerts?alertname=Full").await.expect(200).data();
    assert_eq!(data["alerts"][0]["labels"]["system_name"], "Renamed");
    assert_eq!(data["alerts"][0]["fingerprint"], own["fingerprint"]);
});

// Proves spec: acceptance#scenarios 33.
in_both_modes!(alerts_are_filtered_sorted_and_paged, |t| async {
    let tree = t.tree().await;
    let reader = t.user(tree.distributor, &["reader"]).await;
    let (c, d) = (client(t, tree.customer).await, client(t, tree.reseller).await);
    let now = t.app.platform.now();
    for (c, name, severity, age) in
        [(&c, "A", "info", 60), (&c, "B", "critical", 240), (&d, "C", "warning", 120), (&d, "D", "odd", 180)]
    {
        let start = now.minus(Duration::from_secs(age)).rfc3339(0);
        let alert = json!([{"labels": {"alertname": name, "severity": severity}, "startsAt": start}]);
        c.push(&alert.to_string()).await.expect(200);
    }
    fire(&d, &[json!({"alertname": "E"})]).await;
    let silence = json!({"matchers": [{"name": "alertname", "value": "C", "isRegex": false}], "comment": "",
        "createdBy": "x", "startsAt": now.rfc3339(0), "endsAt": now.plus(MINUTE * 60).rfc3339(0)});
    d.silence(&silence.to_string()).await.expect(200);
    let key = &c.system.key;
    for (query, expected) in [
        ("", "EACDB"),
        ("?sort_by=starts_at&sort_direction=asc", "BDCAE"),
        ("?sort_by=nonsense&sort_direction=upward", "EACDB"),
        ("?sort_direction=asc", "BDCAE"),
        // An unknown or empty order is the usual one, whatever stands beside it.
        ("?sort_by=nonsense&sort_direction=asc", "EACDB"),
        ("?sort_by=&sort_direction=asc", "EACDB"),
        ("?sort_by=alertname", "EDCBA"),
        ("?sort_by=alertname&sort_direction=asc&page_size=2&page=2", "CD"),
        ("?sort_by=alertname&sort_direction=asc&page_size=2&page=9", ""),
        ("?severity=critical&severity=warning&sort_by=severity", "BC"),
        ("?severity=critical&alertname=C", ""),
        ("?severity=nothing", ""),
        ("?severity=", ""),
        ("?alertname=A&alertname=B&sort_by=alertname&sort_direction=asc", "AB"),
        (&format!("?system_key={key}&sort_by=alertname&sort_direction=asc"), "AB"),
        ("?status=suppressed", "C"),
        ("?state=suppressed", "C"),
        ("?status=active&sort_by=alertname&sort_direction=asc", "ABDE"),
        ("?status=active&status=suppressed&sort_by=alertname&sort_direction=asc", "ABCDE"),
        ("?status=unprocessed", ""),
        ("?status=unprocessed&status=suppressed", "C"),
        ("?assigned_user_id=none&sort_by=alertname&sort_direction=asc", "ABCDE"),
        ("?assigned_user_id=nonsense", ""),
        ("?alertname=%00", ""),
        ("?search=nowhere", ""),
        ("?search=%00", ""),
        ("?search=&alertname=A", "A"),
    ] {
        let found = names(t, &reader, &format!("/alerts{query}")).await.concat();
        assert_eq!(found, expected, "{query}");
    }
    let ranked = names(t, &reader, "/alerts?sort_by=severity&sort_direction=desc").await.concat();
    assert_eq!((&ranked[..3], ranked.len()), ("BCA", 5));
    let by_status = names(t, &reader, "/alerts?sort_by=status").await.concat();
    assert_eq!(&by_status[..1], "C");
    let data = get(t, &reader, "/alerts?page_size=2&sort_by=alertname").await.expect(200).data();
    let expected = json!({"page": 1, "page_size": 2, "total_count": 5, "total_pages": 3, "has_next": true,
        "has_prev": false, "next_page": 2, "sort_by": "alertname", "sort_direction": "desc"});
    assert_eq!(data["pagination"], expected);
    for (sent, used) in [("0", 50), ("x", 50), ("1000", 100)] {
        let data = get(t, &reader, &format!("/alerts?page_size={sent}")).await.expect(200).data();
        assert_eq!(data["pagination"]["page_size"], used, "{sent}");
    }
    let many: String = (0..1001).map(|n| format!("&severity={n}")).collect();
    get(t, &reader, &format!("/alerts?{many}")).await.expect_message(400, "too many filter values");
    let suppressed = get(t, &reader, "/alerts?status=suppressed").await.expect(200).data();
    assert_eq!(suppressed["alerts"][0]["status"]["silencedBy"].as_array().unwrap().len(), 1);
    let totals = get(t, &reader, "/alerts/totals").await.expect(200).data();
    if t.app.alerts.state.is_embedded() {
        let expected = json!({"active": 5, "critical": 1, "warning": 1, "info": 3, "muted": 1, "history": 0,
            "warnings": []});
        assert_eq!(totals, expected);
    }
});

in_both_modes!(a_search_reads_the_summary_else_the_english_one, |t| async {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let c = client(t, tree.customer).await;
    let alerts = json!([
        {"labels": {"alertname": "A"}, "annotations": {"summary": "Disk is full", "summary_en": "other"}},
        {"labels": {"alertname": "B"}, "annotations": {"summary_en": "Disk is full"}},
    ]);
    c.push(&alerts.to_string()).await.expect(200);
    written(t).await;
    assert_eq!(sorted(t, &owner, "/alerts?search=DISK").await, ["A", "B"]);
    assert_eq!(sorted(t, &owner, "/alerts?search=other").await, [""; 0]);
});

in_both_modes!(alerts_of_one_system_are_its_own, |t| async {
    let tree = t.tree().await;
    let customer = t.user(tree.customer, &["reader"]).await;
    let (c, d) = (client(t, tree.customer).await, client(t, tree.customer).await);
    let foreign = client(t, tree.other_customer).await;
    for c in [&c, &d, &foreign] {
        fire(c, &[json!({"alertname": "A", "severity": "info"}), json!({"alertname": "B"})]).await;
    }
    let path = |c: &Client<'_>| format!("/systems/{}/alerts", c.system.id);
    let found = sorted(t, &customer, &path(&c)).await;
    assert_eq!(found, ["A", "B"]);
    // Filters by organization and system do not count.
    let odd =
        format!("{}?system_key={}&organization_id={}&severity=info", path(&c), d.system.key, tree.owner);
    assert_eq!(names(t, &customer, &odd).await, ["A"]);
    let unknown = "/systems/0195fada-0000-7000-8000-00000000dead/alerts".to_owned();
    let mut bodies = Vec::new();
    for path in [path(&foreign), unknown, "/systems/x/alerts".to_owned()] {
        for path in [path.clone(), format!("{path}/history")] {
            bodies.push(get(t, &customer, &path).await.expect_message(404, "system not found").body);
        }
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
    // An alert that is over is not listed.
    c.push(&json!([{"labels": {"alertname": "B"}, "endsAt": t.app.platform.now().rfc3339(6)}]).to_string())
        .await
        .expect(200);
    written(t).await;
    t.advance(Duration::from_millis(1));
    assert_eq!(names(t, &customer, &path(&c)).await, ["A"]);
});

// Proves spec: alert-guarantees#guarantees 16.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_that_fail_become_warnings_and_texts_of_the_router_are_not_shown() {
    let t = Test::start(Engine::Sqlite, |_| {}).await;
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let tree = p.tree().await;
    let owner = p.owner().await;
    let mut clients = Vec::new();
    for organization in [tree.customer, tree.other_customer] {
        let c = client(&p, organization).await;
        fire(&c, &[json!({"alertname": "A"})]).await;
        clients.push(c);
    }
    // Only tenants with alerts are queried.
    drop(upstream.take());
    get(&p, &owner, "/alerts").await.expect(200);
    let mut tenant_ids: Vec<String> =
        upstream.take().iter().filter_map(|r| r.value("x-scope-orgid").map(str::to_owned)).collect();
    tenant_ids.sort();
    let mut tenants = [tree.customer.to_string(), tree.other_customer.to_string()];
    tenants.sort();
    assert_eq!(tenant_ids, tenants);
    let other = tree.other_customer.to_string();
    upstream.answer_by(move |request| {
        if request.value("x-scope-orgid") == Some(&other) {
            Answer::status(418).body("a secret text")
        } else {
            Answer::json(200, &json!([]))
        }
    });
    let reply = get(&p, &owner, "/alerts").await.expect(200);
    assert_eq!(reply.data()["warnings"], json!([format!("org {}: unavailable", tree.other_customer)]));
    assert!(!reply.text().contains("secret"));
    let path = format!("/systems/{}/alerts", clients[1].system.id);
    get(&p, &owner, &path).await.expect_message(502, "alerting backend is unavailable");
    upstream.answer_by(|_| Answer::status(418).body("a secret text"));
    get(&p, &owner, "/alerts").await.expect_message(502, "failed to fetch alerts");
    // A tenant that does not run yet has no alerts.
    upstream.answer_by(|_| Answer::status(412));
    let data = get(&p, &owner, "/alerts").await.expect(200).data();
    assert_eq!((&data["alerts"], &data["warnings"]), (&json!([]), &json!([])));
}

api_test!(people_see_the_true_receivers_of_an_alert, |settings| generous(settings), |t| async move {
    let tree = t.tree().await;
    let (c, d) = (client(&t, tree.customer).await, t.user(tree.distributor, &["admin"]).await);
    let layer = json!({"enabled": {"email": true},
        "email_recipients": [{"address": "noc@example.org", "severities": ["critical"]}]});
    t.alert_layer(tree.distributor, layer).await;
    let labels = |name: &str, severity: &str| json!({"alertname": name, "severity": severity});
    fire(&c, &[labels("Told", "critical"), labels("Untold", "warning")]).await;
    let receiver = format!("{}-severity-critical-receiver", tree.customer);
    for path in [
        "/alerts?sort_by=alertname&sort_direction=asc".to_owned(),
        format!("/systems/{}/alerts", c.system.id),
    ] {
        let mut alerts = get(&t, &d, &path).await.expect(200).data()["alerts"].as_array().unwrap().clone();
        alerts.sort_by_key(|a| a["labels"]["alertname"].to_string());
        let shown: Vec<&Value> = alerts.iter().map(|a| &a["receivers"]).collect();
        assert_eq!(shown, [&json!([{"name": receiver}]), &json!([{"name": "blackhole"}])]);
    }
    // The system itself does not see the receivers.
    let own = c.get("/api/v2/alerts").await.expect(200).json();
    assert_eq!(own[0]["receivers"], json!([{"name": "default"}]));
});
