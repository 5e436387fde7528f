//! The liveness monitor and its alerts (spec: systems#liveness; alerts#link-failed; §14 rules 36, 37).

use crate::proxy::{patient, wall_clock};
use bailiwick_alerts::liveness_monitor::{self, Checked};
use bailiwick_domain::OrgId;
use bailiwick_settings::{RemoteRouter, Router, RouterKind};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{
    Engine, Persona, Test, api_test,
    parts::alertmanager::{Alertmanager, SILENT_CONFIGURATION},
    seed::Seeded,
};
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

async fn beat(t: &Test, s: &Seeded) {
    t.post("/systems/heartbeat").basic(&s.key, &s.secret).send().await.expect(200);
}

async fn check(t: &Test) -> (u64, u64) {
    let Checked { is_leader, posted, resolved } = liveness_monitor::check(&t.app.alerts).await.unwrap();
    assert!(is_leader);
    (posted, resolved)
}

/// The alerts of a tenant as its router keeps them.
async fn alerts(t: &Test, tenant: OrgId) -> Vec<Value> {
    let rows: Vec<(String,)> = Q::new(
        "SELECT CAST(payload AS TEXT) FROM router_alerts WHERE organization_id = ? ORDER BY system_key",
    )
    .bind(tenant)
    .all(&t.app.platform.db)
    .await
    .unwrap();
    rows.into_iter().map(|(payload,)| serde_json::from_str(&payload).unwrap()).collect()
}

/// Alerts of a system that fire, as it sees them itself.
async fn firing(t: &Test, s: &Seeded) -> Vec<Value> {
    let path = "/services/mimir/alertmanager/api/v2/alerts";
    let reply = t.get(path).basic(&s.key, &s.secret).send().await.expect(200);
    reply.json().as_array().unwrap().clone()
}

async fn act(t: &Test, who: &Persona, method: &str, path: &str) {
    t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&who.token).send().await.expect(200);
}

api_test!(an_outage_is_raised_refreshed_and_resolved, |t| async move {
    let tree = t.tree().await;
    let (s, silent) = (t.system(tree.customer).await, t.system(tree.customer).await);
    beat(&t, &s).await;
    let last_heartbeat = t.app.platform.now();
    t.advance(20 * MINUTE - Duration::from_micros(1));
    assert_eq!(check(&t).await, (0, 0));
    t.advance(Duration::from_micros(1));
    assert_eq!(check(&t).await, (1, 0));
    let raised = firing(&t, &s).await;
    assert_eq!(raised.len(), 1);
    let labels = json!({"alertname": "LinkFailed", "severity": "critical", "managed_by": "bailiwick",
        "system_key": s.key, "system_id": s.id, "organization_id": tree.customer});
    assert_eq!(raised[0]["labels"], labels);
    let annotations = raised[0]["annotations"].as_object().unwrap();
    let keys: Vec<&str> = annotations.keys().map(String::as_str).collect();
    let expected = [
        "description",
        "description_en",
        "description_it",
        "organization_name",
        "organization_type",
        "organization_vat",
        "summary",
        "summary_en",
        "summary_it",
        "system_name",
    ];
    assert_eq!(keys, expected);
    let (description, name) =
        (annotations["description_en"].as_str().unwrap(), annotations["system_name"].as_str().unwrap());
    assert!(
        description.contains(&last_heartbeat.rfc3339(0)) && description.contains("20 minutes"),
        "{description}"
    );
    assert!(annotations["summary_it"].as_str().unwrap().contains(name));
    let start = raised[0]["startsAt"].clone();
    assert_eq!(start, last_heartbeat.plus(20 * MINUTE).rfc3339(3));
    // Nothing to do until the refresh, which moves the end only.
    t.advance(MINUTE);
    assert_eq!(check(&t).await, (0, 0));
    let end = |alert: &Value| alert["endsAt"].as_str().unwrap().to_owned();
    assert_eq!(end(&raised[0]), last_heartbeat.plus(30 * MINUTE).rfc3339(3));
    t.advance(4 * MINUTE);
    assert_eq!(check(&t).await, (1, 0));
    let refreshed = firing(&t, &s).await;
    assert_eq!(
        (&refreshed[0]["startsAt"], end(&refreshed[0])),
        (&start, last_heartbeat.plus(35 * MINUTE).rfc3339(3))
    );
    beat(&t, &s).await;
    let last_heartbeat = t.app.platform.now();
    assert_eq!(check(&t).await, (0, 1));
    // It ends with the moment of the check.
    t.advance(Duration::from_secs(1));
    assert_eq!(firing(&t, &s).await, Vec::<Value>::new());
    assert_eq!(check(&t).await, (0, 0));
    // Another outage has another start. A system that never sent anything has none.
    t.advance(20 * MINUTE);
    assert_eq!(check(&t).await, (1, 0));
    assert_eq!(firing(&t, &s).await[0]["startsAt"], last_heartbeat.plus(20 * MINUTE).rfc3339(3));
    assert_eq!(firing(&t, &silent).await, Vec::<Value>::new());
});

// Proves spec: guarantees#systems 36.
api_test!(a_heartbeat_makes_a_system_active_in_the_next_read, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let status = async || {
        let path = format!("/api/systems/{}", s.id);
        t.get(&path).bearer(&owner.token).send().await.expect(200).data()["status"].clone()
    };
    assert_eq!(status().await, "unknown");
    beat(&t, &s).await;
    assert_eq!(status().await, "active");
    t.pass(20 * MINUTE).await;
    assert_eq!(status().await, "inactive");
    beat(&t, &s).await;
    assert_eq!(status().await, "active");
});

// Proves spec: guarantees#systems 37.
api_test!(an_alert_is_resolved_in_its_tenant_whatever_becomes_of_the_system, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut systems = Vec::new();
    for _ in 0..5 {
        let s = t.system(tree.customer).await;
        beat(&t, &s).await;
        systems.push(s);
    }
    t.advance(20 * MINUTE);
    assert_eq!(check(&t).await, (5, 0));
    let active = async |tenant: OrgId| {
        let now = t.app.platform.now();
        let rows: (i64,) = Q::new(
            "SELECT CAST(COUNT(*) AS BIGINT) FROM router_alerts WHERE organization_id = ? AND ends_at > ?",
        )
        .bind(tenant)
        .bind(now.0)
        .one(&t.app.platform.db)
        .await
        .unwrap();
        rows.0
    };
    assert_eq!(active(tree.customer).await, 5);
    act(&t, &owner, "PATCH", &format!("/systems/{}/suspend", systems[0].id)).await;
    act(&t, &owner, "DELETE", &format!("/systems/{}", systems[1].id)).await;
    act(&t, &owner, "DELETE", &format!("/systems/{}/destroy", systems[2].id)).await;
    let to = serde_json::json!({"organization_id": tree.other_customer});
    let moved = t.put(&format!("/api/systems/{}", systems[3].id)).bearer(&owner.token).json(to).send().await;
    moved.expect(200);
    t.advance(MINUTE);
    assert_eq!(check(&t).await, (1, 4));
    assert_eq!((active(tree.customer).await, active(tree.other_customer).await), (1, 1));
    for alert in alerts(&t, tree.customer).await {
        let text = alert.to_string();
        assert!(text.contains(&tree.customer.to_string()), "{text}");
    }
    // The alerts end with their organization. An alert that comes back is raised again.
    act(&t, &owner, "PATCH", &format!("/resellers/{}/suspend", tree.reseller)).await;
    assert_eq!(check(&t).await, (0, 1));
    act(&t, &owner, "PATCH", &format!("/resellers/{}/reactivate", tree.reseller)).await;
    act(&t, &owner, "PATCH", &format!("/systems/{}/restore", systems[1].id)).await;
    act(&t, &owner, "PATCH", &format!("/systems/{}/reactivate", systems[0].id)).await;
    assert_eq!(check(&t).await, (3, 0));
    assert_eq!(active(tree.customer).await, 3);
    let owner = t.owner().await;
    act(&t, &owner, "DELETE", &format!("/resellers/{}/destroy", tree.reseller)).await;
    assert_eq!(check(&t).await, (0, 3));
    let left: (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM link_alerts").one(&t.app.platform.db).await.unwrap();
    assert_eq!(left.0, 1);
});

api_test!(many_silent_systems_are_raised_in_batches, |t| async move {
    let tree = t.tree().await;
    let plan = bailiwick_demo::Plan { organizations: 20, systems: 3_000, ..Default::default() };
    bailiwick_demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap();
    let owner = t.owner().await;
    let inactive = async || {
        let all = t.get("/api/systems/totals").bearer(&owner.token).send().await.expect(200).data();
        all["inactive"].as_u64().unwrap()
    };
    let expected = inactive().await;
    assert!(expected > 200, "{expected}");
    assert_eq!(check(&t).await, (expected, 0));
    assert_eq!(check(&t).await, (0, 0));
    t.advance(Duration::from_secs(3600));
    let owner = t.session(owner.id).await;
    let (posted, resolved) = check(&t).await;
    let all = t.get("/api/systems/totals").bearer(&owner.token).send().await.expect(200).data();
    assert_eq!((posted, resolved), (all["inactive"].as_u64().unwrap(), 0));
    assert!(posted > 2_000, "{posted}");
    let _ = tree;
});

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_several_processes_watches() {
    let t = Test::start(Engine::Postgres, |_| {}).await;
    let other = t.replica().await;
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    beat(&t, &s).await;
    t.pass(20 * MINUTE).await;
    let both = async || {
        let (a, b) =
            tokio::join!(liveness_monitor::check(&t.app.alerts), liveness_monitor::check(&other.app.alerts));
        (a.unwrap(), b.unwrap())
    };
    let (a, b) = both().await;
    assert!(a.is_leader != b.is_leader, "{a:?} {b:?}");
    assert_eq!(a.posted + b.posted, 1);
    let (leader, follower) = if a.is_leader { (&t, &other) } else { (&other, &t) };
    let interval = t.app.settings.systems.check_interval;
    // It stays so as long as the one goes on, and the other takes over when it does not.
    for _ in 0..10 {
        t.advance(interval);
        assert!(liveness_monitor::check(&leader.app.alerts).await.unwrap().is_leader);
        assert!(!liveness_monitor::check(&follower.app.alerts).await.unwrap().is_leader);
    }
    t.advance(3 * interval - Duration::from_micros(1));
    assert!(!liveness_monitor::check(&follower.app.alerts).await.unwrap().is_leader);
    t.advance(Duration::from_micros(1));
    let taken_over = liveness_monitor::check(&follower.app.alerts).await.unwrap();
    assert_eq!((taken_over.is_leader, taken_over.resolved), (true, 0));
    assert!(!liveness_monitor::check(&leader.app.alerts).await.unwrap().is_leader);
    beat(&t, &s).await;
    assert_eq!(liveness_monitor::check(&follower.app.alerts).await.unwrap().resolved, 1);
}

api_test!(
    no_alert_of_a_system_keeps_the_service_from_raising_its_own,
    |settings| {
        settings.alerting.limits.alerts_per_system = 1;
        settings.alerting.limits.alerts_per_tenant = 1;
    },
    |t| async move {
        let tree = t.tree().await;
        let (s, beside) = (t.system(tree.customer).await, t.system(tree.customer).await);
        beat(&t, &s).await;
        beat(&t, &beside).await;
        let path = "/services/mimir/alertmanager/api/v2/alerts";
        // As many rows as the system may have, of which one fires.
        for n in 0..20 {
            let end = if n == 19 { json!(null) } else { json!(t.app.platform.now()) };
            let alert = json!([{"labels": {"alertname": format!("A{n}")}, "endsAt": end}]);
            t.post(path).basic(&s.key, &s.secret).json(alert).send().await.expect(200);
        }
        t.advance(20 * MINUTE);
        assert_eq!(check(&t).await, (2, 0));
        assert_eq!((firing(&t, &s).await.len(), firing(&t, &beside).await.len()), (2, 1));
        beat(&t, &s).await;
        assert_eq!(check(&t).await, (0, 1));
        t.advance(Duration::from_micros(1));
        assert_eq!((firing(&t, &s).await.len(), firing(&t, &beside).await.len()), (1, 1));
    }
);

api_test!(a_real_alertmanager_receives_an_outage_and_its_end, |t| async move {
    let real = Alertmanager::start(SILENT_CONFIGURATION).await.unwrap();
    let now = wall_clock();
    t.clock.set(now.minus(60 * MINUTE));
    let tree = t.tree().await;
    let (lost, well) = (t.system(tree.customer).await, t.system(tree.customer).await);
    beat(&t, &lost).await;
    t.clock.set(now);
    let url = real.url().to_owned();
    let remote = RemoteRouter { url, prefix: String::new(), kind: RouterKind::Plain, is_provisioned: false };
    let p = t
        .replica_with(|s| {
            s.alerting.router = Router::Remote(remote);
            patient(s);
        })
        .await;
    let alerts_known = async || -> Vec<Value> {
        let output = real.amtool(&["alert", "query", "-o", "json"]).await.unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(check(&p).await, (1, 0));
    let raised = alerts_known().await;
    assert_eq!(raised.len(), 1, "{}", real.log());
    let labels = json!({"alertname": "LinkFailed", "severity": "critical", "managed_by": "bailiwick",
        "system_key": lost.key, "system_id": lost.id, "organization_id": tree.customer});
    assert_eq!(raised[0]["labels"], labels);
    assert_eq!(raised[0]["startsAt"], now.minus(40 * MINUTE).rfc3339(3));
    // The system sees its own, and no other system does.
    assert_eq!(firing(&p, &lost).await[0]["fingerprint"], raised[0]["fingerprint"]);
    assert_eq!(firing(&p, &well).await, Vec::<Value>::new());

    beat(&p, &lost).await;
    assert_eq!(check(&p).await, (0, 1));
    assert_eq!(alerts_known().await, Vec::<Value>::new());
    assert_eq!(firing(&p, &lost).await, Vec::<Value>::new());
});
