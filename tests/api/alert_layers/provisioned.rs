//! Configurations pushed to a router with tenants: when, for whom, and until it has them.

mod forgotten;

use super::*;
use crate::proxy::patient;
use bailiwick_alerts::{config, deliver_queued, liveness_monitor};
use bailiwick_domain::OrgId;
use bailiwick_policy::KeyMode;
use bailiwick_settings::{RemoteRouter, Router, RouterKind, Settings};
use bailiwick_store::{alert_tenants, sql::Q};
use bailiwick_testkit::{
    Engine, api_test, eventually,
    parts::{
        configurations::Configurations,
        recorder::{Answer, Recorded, Recorder},
    },
    patience,
};
use std::time::Duration;

/// The settings for a router with tenants that takes configurations at this address.
fn provisioning(t: &Test, url: String) -> Settings {
    let mut settings = (*t.app.settings).clone();
    settings.alerting.router = Router::Remote(RemoteRouter {
        url,
        prefix: "/alertmanager".to_owned(),
        kind: RouterKind::Mimir,
        is_provisioned: true,
    });
    patient(&mut settings);
    settings
}

/// The same engine again, with such a router.
async fn with_router(t: &Test, url: String) -> Test {
    Test::with(t.engine, provisioning(t, url)).await
}

/// The same without background work: nothing is pushed but by a save and by [`push`].
async fn step_by_step(t: &Test, url: String) -> Test {
    Test::without_background(t.engine, provisioning(t, url)).await
}

/// Whether the router's document for a tenant names this.
fn names(router: &Configurations, tenant: OrgId, text: &str) -> bool {
    router.of(tenant).is_some_and(|upload| upload.alertmanager_config.contains(text))
}

async fn waiting(t: &Test) -> i64 {
    let (n,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM alert_tenants WHERE next_attempt_at IS NOT NULL")
            .one(&t.app.platform.db)
            .await
            .unwrap();
    n
}

/// Pushes due configurations until none is left, and waits for those that the background work has taken.
async fn push(t: &Test) {
    while config::work_off(&t.app.alerts).await.unwrap() > 0 {}
    eventually("every push has ended", async || waiting(t).await == 0).await;
}

/// Waits until no push is under way and none is due. One that is under way when the clock moves outlives its lease, and may reach
/// the router after a later one.
async fn at_rest(t: &Test) {
    let text = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_tenants WHERE claimed_until IS NOT NULL OR next_attempt_at <= ?";
    eventually("no push is under way", async || {
        Q::new(text).bind(t.app.platform.now()).count(&t.app.platform.db).await.unwrap() == 0
    })
    .await;
}

/// Has the router make the tenants of all organizations, as their first alerts would.
async fn make_all(t: &Test) {
    let all: Vec<(uuid::Uuid,)> =
        Q::new("SELECT id FROM organizations").all(&t.app.platform.db).await.unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for (id,) in all {
        alert_tenants::make(&mut tx, OrgId(id), t.app.platform.now()).await.unwrap();
    }
    tx.commit().await.unwrap();
    push(t).await;
}

/// Uploads of configurations so far.
fn uploads(router: &Configurations) -> usize {
    router.requests().iter().filter(|r| r.method == "POST" && r.path == "/api/v1/alerts").count()
}

fn hook(name: &str) -> Value {
    json!({"enabled": {"webhook": true}, "webhook_recipients": [{"name": name, "url": format!("https://8.8.8.8/{name}")}]})
}

/// An organization below the owner, over HTTP.
async fn create(t: &Test, who: &Persona, family: &str, name: &str, vat: &str) -> OrgId {
    let body = json!({"name": name, "custom_data": {"vat": vat}});
    let made =
        t.post(&format!("/api/{family}")).bearer(&who.token).json(body).send().await.expect(201).data();
    made["id"].as_str().unwrap_or_else(|| made["logto_id"].as_str().unwrap()).parse().unwrap()
}

const ALERTS: &str = "/api/services/mimir/alertmanager/api/v2/alerts";

/// Fingerprints of the alerts that wait for the router.
async fn waiting_alerts(t: &Test) -> i64 {
    let (n,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM alert_queue").one(&t.app.platform.db).await.unwrap();
    n
}

api_test!(a_tenant_has_its_configuration_from_its_first_alert_to_its_destruction, |t| async move {
    let router = Configurations::start().await.unwrap();
    let t = with_router(&t, router.url()).await;
    let owner = t.owner().await;
    let distributor = create(&t, &owner, "distributors", "D", "10000000001").await;
    let reply = post(&t, &owner, "", hook("all")).await.expect(200).data();
    assert_eq!(reply, json!({"warnings": [], "propagated_to": 2, "affected_tenants": 2}));
    let system = t.system(distributor).await;
    t.get(ALERTS).basic(&system.key, &system.secret).send().await.expect(200);
    assert_eq!((router.count(), uploads(&router)), (0, 0), "neither a save nor a read makes a tenant");
    let alert = json!([{"labels": {"alertname": "DiskFull", "severity": "critical"}}]);
    t.post(ALERTS).basic(&system.key, &system.secret).json(alert).send().await.expect(200);
    router
        .wait_until("the first alert makes it", |r| names(r, distributor, "https://8.8.8.8/all"))
        .await
        .unwrap();
    assert_eq!(router.count(), 1, "no other");
    let query = format!("?organization_id={distributor}");
    post(&t, &owner, &query, hook("own")).await.expect(200);
    assert!(names(&router, distributor, "8.8.8.8/own"));

    // Suspended it contributes nothing, reactivated it does again.
    let act = async |method: &str, what: &str| {
        let path = format!("/api/distributors/{distributor}{what}");
        let call = if method == "DELETE" { t.delete(&path) } else { t.patch(&path) };
        call.bearer(&owner.token).send().await.expect(200);
    };
    for (method, what, has) in [
        ("PATCH", "/suspend", false),
        ("PATCH", "/reactivate", true),
        ("DELETE", "", false),
        ("PATCH", "/restore", true),
    ] {
        act(method, what).await;
        let text = format!("{method} {what}");
        router.wait_until(&text, |r| names(r, distributor, "8.8.8.8/own") == has).await.unwrap();
        assert!(names(&router, distributor, "8.8.8.8/all"));
    }
    t.delete(&format!("{PATH}{query}")).bearer(&owner.token).send().await.expect(200);
    assert!(!names(&router, distributor, "8.8.8.8/own"));

    act("DELETE", "/destroy").await;
    router.wait_until("the destroyed one is forgotten", |r| r.of(distributor).is_none()).await.unwrap();
    let rows = async || -> i64 {
        let (n,): (i64,) = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM alert_tenants")
            .one(&t.app.platform.db)
            .await
            .unwrap();
        n
    };
    eventually("its row goes", async || rows().await == 0).await;
    assert!(router.requests().iter().all(|r| r.values("x-scope-orgid").len() == 1));
    let is_upload = |r: &Recorded| r.method == "POST" && r.path == "/api/v1/alerts";
    let yaml = router.requests().into_iter().find(is_upload).unwrap();
    assert_eq!(
        (yaml.path.as_str(), yaml.value("content-type")),
        ("/api/v1/alerts", Some("application/yaml"))
    );
});

api_test!(unreachable_tenants_are_named_and_pushed_later, |t| async move {
    let router = Configurations::start().await.unwrap();
    let t = with_router(&t, router.url()).await;
    let (tree, owner) = (t.tree().await, t.owner().await);
    make_all(&t).await;
    let (refused, broken) = (tree.customer.to_string(), tree.reseller.to_string());
    router.fail_by(move |tenant| match tenant {
        id if id == refused => Some(Answer::status(400).body("error validating Alertmanager config: secret")),
        id if id == broken => Some(Answer::status(500).body("unable to store secret")),
        _ => None,
    });
    let reply = post(&t, &owner, "", hook("new")).await.expect(200);
    assert!(!reply.text().contains("secret"), "{}", reply.text());
    let data = reply.data();
    assert_eq!((&data["propagated_to"], &data["affected_tenants"]), (&json!(5), &json!(7)));
    let mut warnings: Vec<&str> =
        data["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    warnings.sort_unstable();
    let mut expected = [
        format!("org {}: configuration rejected", tree.customer),
        format!("org {}: alerting backend is unavailable", tree.reseller),
    ];
    expected.sort();
    assert_eq!(warnings, expected);
    eventually("only they wait", async || waiting(&t).await == 2).await;
    router.recover();
    assert!(!names(&router, tree.customer, "8.8.8.8/new"), "not before its time");
    t.advance(Duration::from_secs(1));
    push(&t).await;
    router
        .wait_until("they are pushed", |r| {
            names(r, tree.customer, "8.8.8.8/new") && names(r, tree.reseller, "8.8.8.8/new")
        })
        .await
        .unwrap();
});

api_test!(what_the_router_has_lost_is_pushed_again, |t| async move {
    let router = Configurations::start().await.unwrap();
    let t = with_router(&t, router.url()).await;
    let (tree, owner) = (t.tree().await, t.owner().await);
    make_all(&t).await;
    post(&t, &owner, "", hook("all")).await.expect(200);
    push(&t).await;
    assert_eq!(router.count(), 7);
    router.lose();
    t.advance(Duration::from_secs(120));
    let system = t.system(tree.customer).await;
    let listed = t.get(ALERTS).basic(&system.key, &system.secret).send().await;
    assert_eq!(listed.expect(200).json(), json!([]));
    router.wait_until("the sign is followed", |r| names(r, tree.customer, "8.8.8.8/all")).await.unwrap();
    assert_eq!(router.count(), 1);
});

api_test!(what_the_router_has_lost_without_a_sign_is_noticed, |t| async move {
    let router = Configurations::start().await.unwrap();
    // The background reads back every minute of real time, and what it has read is left out here.
    let t = step_by_step(&t, router.url()).await;
    let (tree, owner) = (t.tree().await, t.owner().await);
    make_all(&t).await;
    post(&t, &owner, "", hook("all")).await.expect(200);
    push(&t).await;
    let read_back = async || config::read_back(&t.app.alerts).await.unwrap();
    assert_eq!(read_back().await, Some(0), "all were pushed a moment ago");
    t.advance(Duration::from_secs(600));
    assert_eq!(read_back().await, Some(0), "all are as they were pushed");
    let (lost, other) = (tree.customer, tree.reseller);
    let own = router.of(other).unwrap();
    router.lose();
    router.change(other, own.clone());
    assert_eq!(read_back().await, Some(0), "they were asked about a moment ago");
    t.advance(Duration::from_secs(600));
    assert_eq!(read_back().await, Some(6));
    push(&t).await;
    router.wait_until("they are pushed", |r| r.count() == 7 && names(r, lost, "8.8.8.8/all")).await.unwrap();
    // One that has something else has lost it, too; one that cannot be asked has not.
    let mut stale = own;
    stale.alertmanager_config.push_str("# old\n");
    router.change(other, stale);
    t.advance(Duration::from_secs(600));
    assert_eq!(read_back().await, Some(1));
    push(&t).await;
    router
        .wait_until("it is pushed", |r| !r.of(other).unwrap().alertmanager_config.contains("# old"))
        .await
        .unwrap();
});

api_test!(a_router_without_configuration_interface_is_reported, |t| async move {
    let mut settings = (*t.app.settings).clone();
    settings.alerting.router = Router::Remote(RemoteRouter {
        url: "http://127.0.0.1:9".to_owned(),
        prefix: String::new(),
        kind: RouterKind::Plain,
        is_provisioned: false,
    });
    let t = Test::with(t.engine, settings).await;
    let owner = t.owner().await;
    let saved = post(&t, &owner, "", hook("a")).await.expect(200).data();
    let warnings = ["the alert router takes no configuration"];
    assert_eq!(saved, json!({"warnings": warnings, "propagated_to": 0, "affected_tenants": 1}));
    assert_eq!(waiting(&t).await, 0);
});

api_test!(alerts_and_silences_of_a_destroyed_tenant_end_before_its_configuration, |t| async move {
    let ended = "a2e4ebe0-81c0-474b-a001-eed897ce79ab";
    let silence = |id: &str, state: &str| {
        json!({"id": id, "status": {"state": state}, "updatedAt": "2026-03-04T09:00:00Z", "comment": "c", "createdBy": "t",
            "startsAt": "2026-03-04T09:00:00Z", "endsAt": "2026-03-04T12:00:00Z",
            "matchers": [{"name": "system_key", "value": "SYS-1", "isRegex": false, "isEqual": true}]})
    };
    let alerts = json!([{"labels": {"alertname": "A", "system_key": "SYS-1"}, "fingerprint": "9822ee52b31ac95f",
        "startsAt": "2026-03-04T09:00:00Z", "endsAt": "2026-03-04T12:00:00Z", "updatedAt": "2026-03-04T09:00:00Z",
        "annotations": {}, "receivers": [], "status": {"state": "active", "silencedBy": [], "inhibitedBy": []}}]);
    let silences =
        json!([silence(ended, "active"), silence("a2e4ebe0-81c0-474b-a001-000000000000", "expired")]);
    let router = Recorder::start(move |request| match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/alertmanager/api/v2/alerts") => Answer::json(200, &alerts),
        ("GET", "/alertmanager/api/v2/silences") => Answer::json(200, &silences),
        ("POST", "/api/v1/alerts") => Answer::status(201),
        _ => Answer::status(200),
    })
    .await
    .unwrap();
    let t = with_router(&t, router.url()).await;
    let owner = t.owner().await;
    let distributor = create(&t, &owner, "distributors", "D", "10000000002").await;
    make_all(&t).await;
    for (method, what) in [("DELETE", ""), ("DELETE", "/destroy")] {
        let path = format!("/api/distributors/{distributor}{what}");
        t.call(method.parse().unwrap(), &path).bearer(&owner.token).send().await.expect(200);
    }
    let of_it = || -> Vec<Recorded> {
        let tenant = distributor.to_string();
        router.requests().into_iter().filter(|r| r.value("x-scope-orgid") == Some(tenant.as_str())).collect()
    };
    let is_forgotten = |r: &Recorded| r.method == "DELETE" && r.path == "/api/v1/alerts";
    let deletion_arrived = async || {
        let has_arrived = of_it().iter().any(is_forgotten);
        if !has_arrived {
            push(&t).await;
        }
        has_arrived
    };
    patience::eventually_or(|| format!("{:?}", of_it()), deletion_arrived).await;
    let changes: Vec<Recorded> = of_it()
        .into_iter()
        .filter(|r| r.method != "GET" && (r.method != "POST" || r.path != "/api/v1/alerts"))
        .collect();
    let sent: Vec<(&str, &str)> = changes.iter().map(|r| (r.method.as_str(), r.path.as_str())).collect();
    let silence = format!("/alertmanager/api/v2/silence/{ended}");
    let expected =
        [("POST", "/alertmanager/api/v2/alerts"), ("DELETE", silence.as_str()), ("DELETE", "/api/v1/alerts")];
    assert_eq!(sent, expected);
    assert_eq!(changes[0].json().unwrap()[0]["endsAt"], "2026-03-04T10:00:00Z");
});

// A start uploads what differs from what the router has; so does every change.
api_test!(a_start_uploads_only_what_differs, |t| async move {
    let router = Configurations::start().await.unwrap();
    let t = with_router(&t, router.url()).await;
    let owner = t.owner().await;
    t.tree().await;
    make_all(&t).await;
    assert_eq!((router.count(), uploads(&router)), (7, 7));
    let queue_all = async || {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let queued = alert_tenants::queue(&mut tx, alert_tenants::Whose::All, false, t.app.platform.now())
            .await
            .unwrap();
        tx.commit().await.unwrap();
        queued
    };
    assert_eq!(queue_all().await, 7, "as at a start");
    push(&t).await;
    assert_eq!(uploads(&router), 7);
    if t.engine == Engine::Postgres {
        let queued = async || {
            let text = "SELECT CAST(SUM(wanted) AS BIGINT) FROM alert_tenants";
            Q::new(text).count(&t.app.platform.db).await.unwrap()
        };
        let before = queued().await;
        let replica = t.replica().await;
        eventually("it queues all at its start", async || queued().await > before).await;
        push(&t).await;
        assert_eq!(uploads(&router), 7, "another process has nothing to upload");
        // Nor is it to read configurations back in the place of this one.
        replica.app.platform.stop.cancel();
        replica.app.platform.tasks.close();
        replica.app.platform.tasks.wait().await;
    }
    post(&t, &owner, "", hook("new")).await.expect(200);
    push(&t).await;
    assert_eq!(uploads(&router), 14);
    // The same configuration again, but the router has lost it meanwhile.
    router.lose();
    t.advance(Duration::from_secs(600));
    while config::read_back(&t.app.alerts).await.unwrap() != Some(0) {}
    push(&t).await;
    assert_eq!((router.count(), uploads(&router)), (7, 21));
});

api_test!(liveness_alerts_and_history_survive_that_their_tenant_is_made, |t| async move {
    let router = Configurations::start().await.unwrap();
    // In the background, the router could be given the tenant before it gets the alert.
    let t = step_by_step(&t, router.url()).await;
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    t.advance(Duration::from_secs(1200));
    assert_eq!(liveness_monitor::check(&t.app.alerts).await.unwrap().posted, 1);
    assert_eq!(waiting_alerts(&t).await, 1, "the router did not have the tenant");
    push(&t).await;
    assert!(router.of(tree.customer).is_some());
    t.advance(Duration::from_secs(60));
    eventually("the alert is delivered", async || {
        deliver_queued(&t.app.alerts).await.unwrap();
        waiting_alerts(&t).await == 0
    })
    .await;
    let customer = tree.customer.to_string();
    let delivered = router.requests().into_iter().filter(|r| {
        r.method == "POST"
            && r.path == "/alertmanager/api/v2/alerts"
            && r.value("x-scope-orgid") == Some(&customer)
            && r.json().is_ok_and(|body| body[0]["labels"]["alertname"] == "LinkFailed")
    });
    assert!(delivered.count() >= 1);
    let fires = async || -> i64 {
        let text = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_history WHERE organization_id = ? AND status = 'firing'";
        let (n,): (i64,) = Q::new(text).bind(tree.customer).one(&t.app.platform.db).await.unwrap();
        n
    };
    eventually("the history has it", async || fires().await == 1).await;
});

api_test!(a_first_silence_makes_a_tenant_too, |t| async move {
    let router = Configurations::start().await.unwrap();
    let t = with_router(&t, router.url()).await;
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let now = t.app.platform.now();
    let silence = json!({"matchers": [{"name": "alertname", "value": "A", "isRegex": false}], "startsAt": now.rfc3339(0),
        "endsAt": now.plus(Duration::from_secs(3600)).rfc3339(0), "createdBy": "me", "comment": "c"});
    // The router does not have the tenant yet, so the sender has to try again. The configuration is pushed at
    // the same moment, and must not arrive before the silence.
    router.fail_by(|_| Some(Answer::status(500)));
    let silences = ALERTS.replace("/alerts", "/silences");
    let reply = t.post(&silences).basic(&system.key, &system.secret).json(silence).send().await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    at_rest(&t).await;
    router.recover();
    t.advance(Duration::from_secs(2));
    router.wait_until("it is made", |r| r.of(tree.customer).is_some()).await.unwrap();
    assert_eq!(router.count(), 1);
});

api_test!(a_tool_is_to_try_again_when_the_router_has_lost_the_tenant, |t| async move {
    let router = Configurations::start().await.unwrap();
    let t = with_router(&t, router.url()).await;
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    make_all(&t).await;
    router.lose();
    t.advance(Duration::from_secs(120));
    let admin = t.user(tree.customer, &["admin"]).await;
    let (_, key) = t.api_key(admin.id, KeyMode::Write).await;
    let now = t.app.platform.now();
    let matchers = json!([{"name": "alertname", "value": "A", "isRegex": false},
        {"name": "system_key", "value": system.key, "isRegex": false}]);
    let silence = json!({"matchers": matchers, "startsAt": now.rfc3339(0),
        "endsAt": now.plus(Duration::from_secs(3600)).rfc3339(0), "createdBy": "me", "comment": "c"});
    let path = format!("/api/organizations/{}/alertmanager/api/v2/silences", tree.customer);
    let reply = t.post(&path).bearer(&key).json(silence).send().await;
    let reply = reply.expect_message(503, "alerting backend is not ready");
    assert_eq!(reply.header("retry-after"), Some("15"));
    router.wait_until("it is made again", |r| r.of(tree.customer).is_some()).await.unwrap();
    assert_eq!(router.count(), 1);
});

// An alert or a silence that only the router still knows.
