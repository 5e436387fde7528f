//! Tools that speak to an Alertmanager, with a system's credentials (spec: clients#alertmanager-clients; scenarios 32
//! and 35, rules 4, 6, 7).

use super::*;
use crate::proxy::{Client, P, generous, remote};
use bailiwick_domain::OrgType;
use bailiwick_settings::RouterKind;
use bailiwick_testkit::{
    api_test,
    parts::recorder::{Answer, Recorder},
};
use std::time::Duration;

/// The fields that typed clients decode: every one must be there, and of this type.
#[track_caller]
fn is_alert(alert: &Value) {
    for field in ["fingerprint", "startsAt", "updatedAt", "endsAt"] {
        assert!(alert[field].is_string(), "{field}: {alert}");
    }
    assert!(alert["annotations"].is_object() && alert["labels"].is_object(), "{alert}");
    assert!(
        alert["receivers"].as_array().is_some_and(|r| r.iter().all(|r| r["name"].is_string())),
        "{alert}"
    );
    let status = &alert["status"];
    assert!(matches!(status["state"].as_str(), Some("active" | "suppressed" | "unprocessed")), "{alert}");
    assert!(status["silencedBy"].is_array() && status["inhibitedBy"].is_array(), "{alert}");
}

#[track_caller]
fn is_silence(silence: &Value) {
    for field in ["id", "updatedAt", "startsAt", "endsAt", "createdBy", "comment"] {
        assert!(silence[field].is_string(), "{field}: {silence}");
    }
    assert!(
        matches!(silence["status"]["state"].as_str(), Some("pending" | "active" | "expired")),
        "{silence}"
    );
    let matchers = silence["matchers"].as_array().expect("matchers");
    assert!(!matchers.is_empty());
    for matcher in matchers {
        assert!(matcher["name"].is_string() && matcher["value"].is_string(), "{silence}");
        assert!(matcher["isRegex"].is_boolean() && matcher["isEqual"].is_boolean(), "{silence}");
    }
}

#[track_caller]
fn is_status(status: &Value) {
    assert!(
        matches!(status["cluster"]["status"].as_str(), Some("ready" | "settling" | "disabled")),
        "{status}"
    );
    for field in ["version", "revision", "branch", "buildUser", "buildDate", "goVersion"] {
        assert!(status["versionInfo"][field].is_string(), "{field}: {status}");
    }
    assert!(status["config"]["original"].is_string() && status["uptime"].is_string(), "{status}");
    assert!(!status.to_string().contains('@') && !status.to_string().contains("http"), "redacted: {status}");
}

#[track_caller]
fn is_group(group: &Value) {
    assert!(group["labels"].is_object() && group["receiver"]["name"].is_string(), "{group}");
    group["alerts"].as_array().expect("alerts").iter().for_each(is_alert);
}

/// A list of which each passes.
#[track_caller]
fn each(reply: Reply, is: fn(&Value)) -> Vec<Value> {
    let list = reply.expect(200).json();
    let list = list.as_array().unwrap_or_else(|| panic!("{list}")).clone();
    list.iter().for_each(is);
    list
}

const FIRING: &str = r#"[{"labels":{"alertname":"DiskSpaceLow","severity":"warning","device":"sda1","mountpoint":"/"},
    "annotations":{"summary_en":"low","summary_it":"poco spazio"},"startsAt":"2026-03-04T09:59:00.000000001Z",
    "endsAt":"2026-03-04T10:04:00Z","generatorURL":"http://cluster:9090/graph?g0.expr=x"}]"#;

/// The expected silence of scripts: no `isEqual`.
const SILENCE: &str = r#"{"matchers":[{"name":"alertname","value":"DiskSpaceLow","isRegex":false}],
    "startsAt":"2026-03-04T10:00:00Z","endsAt":"2026-03-04T12:00:00Z","createdBy":"script","comment":"at work"}"#;

/// Where the tools are pointed at: the interface of management, and the one beside the collect address.
const AT: [&str; 2] = [P, "/collect/api/services/mimir/alertmanager"];

// Proves spec: acceptance#scenarios 35.
api_test!(scripts_and_senders_push_silence_and_look, |s| generous(s), |t| async move {
    for base in AT {
        let c = Client::new(&t).await;
        let call = |method: &str, path: &str| {
            let call = t.call(method.parse().unwrap(), &format!("{base}{path}"));
            call.basic(&c.system.key, &c.system.secret)
        };
        let get = |path: &str| call("GET", path).send();
        let post = |path: &str, body: &str| {
            let call = call("POST", path).header("content-type", "application/json");
            call.body(body.to_owned()).send()
        };
        let now = t.app.platform.now();
        let later = |seconds: u64| now.plus(Duration::from_secs(seconds)).rfc3339(0);
        let firing = FIRING.replace("2026-03-04T10:04:00Z", &later(240));
        let firing = firing.replace("2026-03-04T09:59:00.000000001Z", &now.rfc3339(0));
        // Prometheus and vmalert send it again and again, at the end several times as resolved.
        for _ in 0..3 {
            post("/api/v2/alerts", &firing).await.expect(200);
            t.advance(Duration::from_secs(60));
        }
        let every = "/api/v2/alerts?active=true&silenced=true&inhibited=true&unprocessed=true";
        let alerts = each(get(every).await, is_alert);
        assert_eq!(alerts.len(), 1);
        let silence = SILENCE.replace("2026-03-04T10:00:00Z", &now.rfc3339(0));
        let id = post("/api/v2/silences", &silence).await.expect(200).json();
        let id = text(&id, "silenceID");
        let silences = each(get("/api/v2/silences").await, is_silence);
        assert_eq!(silences[0]["id"], id.as_str());
        let alerts = each(get("/api/v2/alerts").await, is_alert);
        assert_eq!(alerts[0]["status"]["silencedBy"], json!([id]));
        call("DELETE", &format!("/api/v2/silence/{id}")).send().await.expect(200);
        let resolved = firing.replace(&later(240), &later(120));
        for _ in 0..3 {
            post("/api/v2/alerts", &resolved).await.expect(200);
        }
        t.advance(Duration::from_secs(120));
        assert!(each(get("/api/v2/alerts").await, is_alert).is_empty());
    }
});

// Proves spec: acceptance#scenarios 35.
api_test!(dashboards_read_what_they_decode, |s| generous(s), |t| async move {
    for base in AT {
        let c = Client::new(&t).await;
        c.push(FIRING).await.expect(200);
        c.silence(SILENCE).await.expect(200);
        let call = |method: &str, path: &str| {
            let call = t.call(method.parse().unwrap(), &format!("{base}{path}"));
            call.basic(&c.system.key, &c.system.secret)
        };
        // Grafana knows a plain router from one of many tenants by where a status is and where none is.
        let backend = base.trim_end_matches("/alertmanager");
        for (path, is_there) in [
            (format!("{base}/api/v2/status"), true),
            (format!("{base}/alertmanager/api/v2/status"), false),
            (format!("{backend}/api/v2/status"), false),
            (format!("{base}/api/v1/status/buildinfo"), false),
            (format!("{backend}/api/v1/alerts"), false),
        ] {
            let reply = t.get(&path).basic(&c.system.key, &c.system.secret).send().await;
            assert_eq!(reply.status == 200, is_there, "{path}: {}", reply.status);
            assert!(!reply.status.is_server_error(), "{path}");
        }
        let get = |path: &str| call("GET", path).send();
        is_status(&get("/api/v2/status").await.expect(200).json());
        // karma, which asks for no more than these three.
        assert!(get("/metrics").await.expect(200).text().contains("alertmanager_build_info"));
        assert_eq!(each(get("/api/v2/silences").await, is_silence).len(), 1);
        assert_eq!(each(get("/api/v2/alerts/groups").await, is_group).len(), 1);
        assert_eq!(each(get("/api/v2/alerts").await, is_alert).len(), 1);
        // Both write by the same calls.
        let made = call("POST", "/api/v2/silences").header("content-type", "application/json").body(SILENCE);
        let id = text(&made.send().await.expect(200).json(), "silenceID");
        is_silence(&get(&format!("/api/v2/silence/{id}")).await.expect(200).json());
        let ended = call("DELETE", &format!("/api/v2/silence/{id}")).send().await.expect(200);
        assert!(ended.body.is_empty());
        for probe in ["/-/ready", "/-/healthy"] {
            let reply = t.get(&format!("{base}{probe}")).send().await.expect(200);
            assert!(reply.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
        }
    }
});

// Proves spec: acceptance#scenarios 32.
api_test!(one_name_in_two_organizations_is_two_alerts, |s| generous(s), |t| async move {
    let tree = t.tree().await;
    let sibling = t.organization(tree.reseller, OrgType::Customer, "Sibling").await;
    let clients = [
        Client { test: &t, system: t.system(tree.customer).await },
        Client { test: &t, system: t.system(sibling).await },
        Client { test: &t, system: t.system(tree.other_customer).await },
    ];
    for c in &clients {
        c.push(FIRING).await.expect(200);
        c.silence(SILENCE).await.expect(200);
    }
    for c in &clients {
        for alert in each(c.get("/api/v2/alerts").await, is_alert) {
            assert_eq!(alert["labels"]["system_key"], c.system.key.as_str());
        }
        assert_eq!(each(c.get("/api/v2/alerts").await, is_alert).len(), 1);
        let silences = each(c.get("/api/v2/silences").await, is_silence);
        assert_eq!(silences.len(), 1);
        let own = json!({"name": "system_key", "value": c.system.key, "isRegex": false, "isEqual": true});
        assert!(silences[0]["matchers"].as_array().unwrap().contains(&own));
        let groups = each(c.get("/api/v2/alerts/groups").await, is_group);
        assert_eq!(groups.len(), 1);
    }
});

// Proves spec: acceptance#guarantees 4.
api_test!(customers_of_one_reseller_are_tenants_of_their_own, |t| async move {
    let upstream = Recorder::start(|request| {
        if request.method == "GET" { Answer::json(200, &json!([])) } else { Answer::status(200) }
    })
    .await
    .unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, portal).await;
    // In the background the service asks from time to time for the alerts of every tenant.
    let p = Test::without_background(t.engine, (*p.app.settings).clone()).await;
    let tree = p.tree().await;
    let sibling = p.organization(tree.reseller, OrgType::Customer, "Sibling").await;
    for org in [tree.customer, sibling, tree.reseller] {
        for (base, path) in BASES.into_iter().zip(["alerts", "silences"].into_iter().cycle()) {
            let c = Client { test: &p, system: p.system(org).await };
            let url = format!("{base}/services/mimir/alertmanager/api/v2/{path}");
            let other = tree.other_customer.to_string();
            let call = p.get(&url).basic(&c.system.key, &c.system.secret).header("x-scope-orgid", &other);
            call.send().await.expect(200);
            c.push(FIRING).await.expect(200);
            let requests = upstream.take();
            assert!(!requests.is_empty());
            for request in requests {
                assert_eq!(request.values("x-scope-orgid"), [org.to_string().as_str()]);
            }
        }
    }
});

/// The three ways to leave out an end.
const ENDLESS: [&str; 3] = [
    r#"[{"labels":{"alertname":"NodeOffline"}}]"#,
    r#"[{"labels":{"alertname":"NodeOffline"},"endsAt":"0001-01-01T00:00:00Z"}]"#,
    r#"[{"labels":{"alertname":"NodeOffline"},"endsAt":"0001-01-01T00:00:00.000Z"}]"#,
];

async fn stays_until(t: &Test, horizon: Duration) {
    let c = Client::new(t).await;
    for push in ENDLESS {
        c.push(push).await.expect(200);
        t.advance(horizon - Duration::from_secs(1));
        assert_eq!(c.alert_names("").await, ["NodeOffline"], "{push}");
        t.advance(Duration::from_secs(2));
        assert_eq!(c.alert_names("").await, [""; 0], "{push}");
        // And until it is resolved.
        c.push(push).await.expect(200);
        t.advance(Duration::from_secs(60));
        assert_eq!(c.alert_names("").await, ["NodeOffline"], "{push}");
        let end = format!(
            r#"[{{"labels":{{"alertname":"NodeOffline"}},"endsAt":"{}"}}]"#,
            t.app.platform.now().rfc3339(0)
        );
        c.push(&end).await.expect(200);
        t.advance(Duration::from_secs(1));
        assert_eq!(c.alert_names("").await, [""; 0], "{push}");
    }
}

// Proves spec: acceptance#guarantees 6.
api_test!(an_alert_without_end_stays_six_hours, |s| generous(s), |t| async move {
    stays_until(&t, Duration::from_secs(6 * 3600)).await;
});

api_test!(
    // Proves spec: acceptance#guarantees 6.
    an_alert_without_end_stays_as_long_as_is_set,
    |s| {
        generous(s);
        s.alerting.resolve_timeout = Duration::from_secs(2 * 3600);
    },
    |t| async move { stays_until(&t, Duration::from_secs(2 * 3600)).await }
);

// Proves spec: acceptance#guarantees 7.
api_test!(what_is_sent_again_and_resolved_again_is_one_alert, |s| generous(s), |t| async move {
    let c = Client::new(&t).await;
    let owner = t.owner().await;
    let history = async |status: &str| {
        let path = format!(
            "/api/systems/{}/alerts/history?page=1&page_size=10&sort_by=&status={status}",
            c.system.id
        );
        shown(&t, &owner, &path).await["alerts"].as_array().unwrap().len()
    };
    for _ in 0..4 {
        c.push(FIRING).await.expect(200);
        assert_eq!(each(c.get("/api/v2/alerts").await, is_alert).len(), 1);
        t.advance(Duration::from_secs(30));
    }
    let resolved = FIRING.replace("10:04:00Z", "10:02:00Z");
    for _ in 0..4 {
        c.push(&resolved).await.expect(200);
        t.advance(Duration::from_secs(300));
        assert!(each(c.get("/api/v2/alerts").await, is_alert).is_empty());
        assert_eq!(history("resolved").await, 1);
    }
    // The end of an alert that never fired shows nothing either.
    let unknown = r#"[{"labels":{"alertname":"Never"},"startsAt":"2026-03-04T09:00:00Z","endsAt":"2026-03-04T09:30:00Z"}]"#;
    c.push(unknown).await.expect(200);
    assert!(each(c.get("/api/v2/alerts").await, is_alert).is_empty());
});
