//! Management and a remote router at the edges: failures, races, and requests that it does not send at all; and alerts
//! and silences that the lists of both routers leave out.

use super::{
    lists::{client, fire, get, in_both_modes, sorted},
    silences::{audited, fingerprint},
    *,
};
use bailiwick_testkit::{Persona, Reply, eventually, parts::recorder::Recorded};
use std::sync::atomic::{AtomicUsize, Ordering};

const ID: &str = "a2e4ebe0-81c0-474b-a001-eed897ce79ab";
const UNAVAILABLE: &str = "alerting backend is unavailable";

async fn post(t: &Test, who: &Persona, path: &str, body: Value) -> Reply {
    t.post(&format!("/api{path}")).bearer(&who.token).json(body).send().await
}

async fn put(t: &Test, who: &Persona, path: &str, body: Value) -> Reply {
    t.put(&format!("/api{path}")).bearer(&who.token).json(body).send().await
}

async fn delete(t: &Test, who: &Persona, path: &str) -> Reply {
    t.delete(&format!("/api{path}")).bearer(&who.token).send().await
}

/// A router elsewhere that has one alert of a system, and one silence that is about something else.
struct Behind {
    p: Test,
    upstream: Recorder,
    owner: Persona,
    key: String,
    tenant: OrgId,
    /// Fingerprint of the alert.
    alert: String,
    /// `/systems/{id}/alerts`.
    path: String,
}

impl Behind {
    async fn new(t: &Test) -> Behind {
        let upstream = obliging().await;
        let p = remote(t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
        let tree = p.tree().await;
        let owner = p.owner().await;
        let c = client(&p, tree.customer).await;
        fire(&c, &[json!({"alertname": "A"})]).await;
        let (alert,): (String,) =
            Q::new("SELECT fingerprint FROM alert_history").one(&p.app.platform.db).await.unwrap();
        let (key, path) = (c.system.key.clone(), format!("/systems/{}/alerts", c.system.id));
        let behind = Behind { p, upstream, owner, key, tenant: tree.customer, alert, path };
        let works = behind.works();
        behind.upstream.answer_by(works);
        drop(behind.upstream.take());
        behind
    }

    /// The answers of a router that works.
    fn works(&self) -> impl Fn(&Recorded) -> Answer + Send + Sync + Clone + 'static {
        let listed = json!([{"labels": {"alertname": "A", "system_key": self.key, "organization_id": self.tenant.to_string()},
            "fingerprint": self.alert, "startsAt": timestamp(0), "endsAt": timestamp(600),
            "updatedAt": timestamp(0), "annotations": {},
            "receivers": [], "status": {"state": "active", "silencedBy": [], "inhibitedBy": []}}]);
        let silence = json!({"id": ID, "status": {"state": "active"}, "updatedAt": timestamp(0),
            "comment": "c", "createdBy": "t",
            "startsAt": timestamp(0), "endsAt": timestamp(600), "matchers": [
                {"name": "alertname", "value": "B", "isRegex": false, "isEqual": true},
                {"name": "system_key", "value": self.key, "isRegex": false, "isEqual": true}]});
        move |request| match (request.method.as_str(), request.path.as_str()) {
            ("GET", path) if path.ends_with("/alerts") => Answer::json(200, &listed),
            ("GET", path) if path.ends_with("/silences") => Answer::json(200, &json!([silence])),
            ("GET", path) if path.contains(ID) => Answer::json(200, &silence),
            ("GET", _) => Answer::status(404),
            ("POST", path) if path.ends_with("/silences") => Answer::json(200, &json!({"silenceID": ID})),
            _ => Answer::status(200),
        }
    }

    fn silences(&self) -> String {
        format!("{}/silences", self.path)
    }

    fn one(&self) -> String {
        format!("{}/silences/{ID}", self.path)
    }

    async fn silence(&self) -> Reply {
        post(&self.p, &self.owner, &self.silences(), json!({"fingerprint": self.alert})).await
    }

    async fn change(&self) -> Reply {
        put(&self.p, &self.owner, &self.one(), json!({"end_at": timestamp(3600)})).await
    }

    async fn end(&self) -> Reply {
        delete(&self.p, &self.owner, &self.one()).await
    }
}

async fn activity(t: &Test) -> Vec<String> {
    let text = "SELECT action FROM alert_activity ORDER BY id";
    let rows: Vec<(String,)> = Q::new(text).all(&t.app.platform.db).await.unwrap();
    rows.into_iter().map(|(action,)| action).collect()
}

api_test!(changes_at_the_router_are_recorded_after_the_caller_left, |t| async move {
    let b = Behind::new(&t).await;
    let works = b.works();
    b.upstream.answer_by(move |request| {
        let answer = works(request);
        let is_change = request.method != "GET";
        if is_change { answer.held() } else { answer }
    });
    let is_change = |r: &Recorded| r.method != "GET";
    for (request, action) in [
        (Box::pin(b.silence()) as std::pin::Pin<Box<dyn Future<Output = Reply>>>, "alert_silence.create"),
        (Box::pin(b.change()), "alert_silence.update"),
        (Box::pin(b.end()), "alert_silence.delete"),
    ] {
        drop(b.upstream.take());
        let router_called = async {
            let mut requests = b.upstream.requests();
            while !requests.iter().any(is_change) {
                requests = b.upstream.wait_for(requests.len() + 1).await.unwrap();
            }
        };
        // The caller leaves while the router is at it.
        tokio::select! {
            biased;
            () = router_called => {}
            reply = request => panic!("answered before the router was: {}", reply.text()),
        }
        b.upstream.release();
        eventually(action, async || audited(&b.p).await.last().map(String::as_str) == Some(action)).await;
    }
    assert_eq!(activity(&b.p).await, ["silenced", "silence_updated", "unsilenced"]);
});

api_test!(a_silence_that_cannot_be_recorded_is_taken_back, |t| async move {
    let b = Behind::new(&t).await;
    let mut tx = b.p.app.platform.db.begin().await.unwrap();
    Q::new("ALTER TABLE alert_activity RENAME TO gone").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    b.silence().await.expect(500);
    let requests = b.upstream.take();
    let changes: Vec<&str> =
        requests.iter().map(|r| r.method.as_str()).filter(|method| *method != "GET").collect();
    assert_eq!(changes, ["POST", "DELETE"]);
    assert!(requests.last().unwrap().path.ends_with(ID));
});

api_test!(a_silence_that_has_vanished_is_not_found, |t| async move {
    let b = Behind::new(&t).await;
    let requests = std::sync::Arc::new(AtomicUsize::new(0));
    for method in ["PUT", "DELETE"] {
        let (works, count) = (b.works(), requests.clone());
        count.store(0, Ordering::SeqCst);
        // It is there when it is looked up, and gone when it is to be changed.
        b.upstream.answer_by(move |request| {
            let is_look = request.method == "GET" && request.path.contains(ID);
            if is_look && count.fetch_add(1, Ordering::SeqCst) > 0 {
                Answer::status(404)
            } else {
                works(request)
            }
        });
        let reply = if method == "PUT" { b.change().await } else { b.end().await };
        reply.expect_message(404, "silence not found");
    }
    assert!(b.upstream.take().iter().all(|r| r.method == "GET"), "nothing was changed");
    assert_eq!(audited(&b.p).await, [""; 0]);
});

api_test!(a_router_that_is_not_ready_or_hangs_is_502_or_504_and_nothing_else, |t| async move {
    let b = Behind::new(&t).await;
    let list = format!("/alerts/silences?organization_id={}", b.tenant);
    for status in [503, 500, 412, 404] {
        b.upstream.answer_by(move |request| match request.method.as_str() {
            "GET" if status == 412 || status == 404 => Answer::status(200).body("no JSON"),
            _ => Answer::status(status).body("a secret text"),
        });
        // The clock moves on for each answer, because the service stops asking the router after many faults.
        b.p.advance(Duration::from_secs(20));
        let replies = [
            get(&b.p, &b.owner, &b.path).await,
            get(&b.p, &b.owner, &b.silences()).await,
            get(&b.p, &b.owner, &b.one()).await,
            get(&b.p, &b.owner, &list).await,
            b.silence().await,
            b.change().await,
            b.end().await,
        ];
        for reply in replies {
            assert!(!reply.text().contains("secret"));
            reply.expect_message(502, UNAVAILABLE);
        }
    }
    b.upstream.answer_by(|_| Answer::status(200).after(Duration::from_secs(600)));
    let hurried =
        b.p.replica_with(|s| {
            s.alerting.limits.read_timeout = Duration::from_millis(50);
            s.alerting.limits.write_timeout = Duration::from_millis(50);
        })
        .await;
    for path in [b.path.clone(), b.silences(), b.one()] {
        get(&hurried, &b.owner, &path).await.expect_message(504, "alerting backend timed out");
    }
    let body = json!({"fingerprint": b.alert});
    post(&hurried, &b.owner, &b.silences(), body).await.expect_message(504, "alerting backend timed out");
});

api_test!(a_tenant_that_stops_running_is_worth_a_later_try, |t| async move {
    let b = Behind::new(&t).await;
    let works = b.works();
    b.upstream.answer_by(move |request| match request.method.as_str() {
        "GET" => works(request),
        _ => Answer::status(412),
    });
    for reply in [b.silence().await, b.change().await, b.end().await] {
        reply.expect_message(503, "alerting backend is not ready");
    }
    assert_eq!(audited(&b.p).await, [""; 0]);
});

api_test!(filters_decide_which_tenants_are_queried_and_for_what, |t| async move {
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let tree = p.tree().await;
    let owner = p.owner().await;
    let (c, d) = (client(&p, tree.customer).await, client(&p, tree.other_customer).await);
    fire(&c, &[json!({"alertname": "A", "severity": "critical"})]).await;
    fire(&d, &[json!({"alertname": "B", "severity": "info"})]).await;
    let (one, other) = (tree.customer.to_string(), tree.other_customer.to_string());
    let filter = |key: &str| format!("filter=system_key%3D%22{key}%22");
    for (path, tenants, query) in [
        ("/alerts".to_owned(), vec![&one, &other], None),
        ("/alerts?alertname=A".to_owned(), vec![&one], None),
        ("/alerts?severity=info".to_owned(), vec![&other], None),
        ("/alerts?severity=info&alertname=A".to_owned(), vec![], None),
        (format!("/alerts?system_key={}", c.system.key), vec![&one], Some(filter(&c.system.key))),
        ("/alerts?status=unprocessed".to_owned(), vec![], None),
        (format!("/alerts?assigned_user_id={}", owner.id), vec![], None),
        ("/alerts?assigned_user_id=none".to_owned(), vec![&one, &other], None),
        ("/alerts/silences".to_owned(), vec![&one, &other], None),
        (format!("/alerts/silences?system_key={}", d.system.key), vec![&other], Some(filter(&d.system.key))),
        ("/alerts/silences?system_key=SYS-NONE".to_owned(), vec![], None),
    ] {
        drop(upstream.take());
        get(&p, &owner, &path).await.expect(200);
        let requests = upstream.take();
        let mut tenant_ids: Vec<&str> = requests.iter().map(|r| r.value("x-scope-orgid").unwrap()).collect();
        tenant_ids.sort_unstable();
        let mut expected: Vec<&str> = tenants.into_iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(tenant_ids, expected, "{path}");
        assert!(requests.iter().all(|r| r.query == query), "{path}: {requests:?}");
    }
});

in_both_modes!(alerts_and_silences_of_a_deleted_system_are_shown_and_counted_nowhere, |t| async {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (c, d) = (client(t, tree.customer).await, client(t, tree.customer).await);
    for (c, name) in [(&c, "Stays"), (&d, "Goes")] {
        fire(
            c,
            &[json!({"alertname": name, "severity": "critical"}), json!({"alertname": format!("{name}Too")})],
        )
        .await;
        let path = format!("/systems/{}/alerts/silences", c.system.id);
        post(t, &owner, &path, json!({"fingerprint": fingerprint(c, name).await})).await.expect(200);
    }
    let gone = fingerprint(&d, "GoesToo").await;
    let totals = async || {
        alerts::manage::refresh_totals(&t.app.alerts).await.unwrap();
        let data = get(t, &owner, "/alerts/totals").await.expect(200).data();
        ["active", "critical", "info", "muted"].map(|key| data[key].as_u64().unwrap())
    };
    let silences = async || {
        let data = get(t, &owner, "/alerts/silences").await.expect(200).data();
        data["silences"].as_array().unwrap().len()
    };
    assert_eq!(sorted(t, &owner, "/alerts").await, ["Goes", "GoesToo", "Stays", "StaysToo"]);
    assert_eq!((totals().await, silences().await), ([4, 2, 2, 2], 2));
    t.delete_system(d.system.id).await;
    // So that the cached figures are stale and are fetched again.
    t.advance(Duration::from_secs(1));
    assert_eq!(sorted(t, &owner, "/alerts").await, ["Stays", "StaysToo"]);
    assert_eq!(sorted(t, &owner, "/alerts?status=suppressed").await, ["Stays"]);
    assert_eq!(sorted(t, &owner, &format!("/alerts?system_key={}", d.system.key)).await, [""; 0]);
    assert_eq!((totals().await, silences().await), ([2, 1, 1, 1], 1));
    let path = format!("/alerts/silences?organization_id={}", tree.customer);
    let reply = post(t, &owner, &path, json!({"fingerprint": gone})).await;
    reply.expect_message(404, "alert not found");
});

in_both_modes!(errors_of_the_end_are_reported_last, |t| async {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let c = client(t, tree.customer).await;
    fire(&c, &[json!({"alertname": "A"})]).await;
    let alert = fingerprint(&c, "A").await;
    let path = format!("/systems/{}/alerts/silences", c.system.id);
    for end in ["tomorrow", "2001-01-01T00:00:00Z"] {
        let body = json!({"fingerprint": "0000000000000000", "end_at": end});
        post(t, &owner, &path, body).await.expect_message(404, "alert not found");
    }
    let body = json!({"fingerprint": alert, "end_at": "tomorrow"});
    post(t, &owner, &path, body.clone()).await.expect_fields(&[("end_at", "invalid_format")]);
    post(t, &owner, &path, json!({"fingerprint": alert})).await.expect(200);
    post(t, &owner, &path, body).await.expect_message(400, "alert is already silenced");
});

in_both_modes!(of_several_who_end_a_silence_one_has_done_it, |t| async {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let c = client(t, tree.customer).await;
    fire(&c, &[json!({"alertname": "A"})]).await;
    let path = format!("/systems/{}/alerts/silences", c.system.id);
    let body = json!({"fingerprint": fingerprint(&c, "A").await, "comment": "first"});
    let made = post(t, &owner, &path, body).await.expect(200).data();
    let id = made["silence_id"].as_str().unwrap();
    let end = t.app.platform.now().plus(MINUTE * 90).rfc3339(0);
    let change = json!({"end_at": end, "comment": "second"});
    let changed = put(t, &owner, &format!("{path}/{id}"), change).await.expect(200).data();
    let one = format!("{path}/{}", changed["silence_id"].as_str().unwrap());
    let all = futures_util::future::join_all((0..6).map(|_| delete(t, &owner, &one))).await;
    all.into_iter().for_each(|reply| drop(reply.expect(200)));
    let actions = ["alert_silence.create", "alert_silence.update", "alert_silence.delete"];
    assert_eq!(audited(t).await, actions);
    assert_eq!(activity(t).await, ["silenced", "silence_updated", "unsilenced"]);
    // The audit log holds the silence as it was before.
    let text = "SELECT CAST(before AS TEXT) FROM audit_log WHERE object_type = 'alert_silence' ORDER BY id";
    let before: Vec<(Option<String>,)> = Q::new(text).all(&t.app.platform.db).await.unwrap();
    let before: Vec<Value> = before
        .into_iter()
        .map(|(text,)| text.map_or(Value::Null, |t| serde_json::from_str(&t).unwrap()))
        .collect();
    assert_eq!(before[0], Value::Null);
    assert_eq!(before[1]["comment"], "first");
    assert_eq!(before[2], json!({"comment": "second", "end_at": end}));
});

api_test!(a_silence_is_as_long_as_it_may_be_counted_from_its_start, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let c = client(&t, tree.customer).await;
    let days = |n: u32| t.app.platform.now().plus(MINUTE * 60 * 24 * n).rfc3339(0);
    let body = json!({"matchers": [{"name": "alertname", "value": "A", "isRegex": false}], "comment": "", "createdBy": "",
        "startsAt": days(0), "endsAt": days(300)});
    let id = c.silence(&body.to_string()).await.expect(200).json()["silenceID"].as_str().unwrap().to_owned();
    t.advance(MINUTE * 60 * 24 * 100);
    let owner = t.session(owner.id).await;
    let path = format!("/systems/{}/alerts/silences/{id}", c.system.id);
    let reply = put(&t, &owner, &path, json!({"end_at": days(300)})).await;
    reply.expect_fields(&[("end_at", "too_late")]);
    put(&t, &owner, &path, json!({"end_at": days(260)})).await.expect(200);
});

// Proves spec: alert-guarantees#guarantees 9.
in_both_modes!(names_and_addresses_change_and_an_alert_stays_what_it_is, |t| async {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let c = client(t, tree.customer).await;
    let labels = [json!({"alertname": "A"})];
    fire(&c, &labels).await;
    let alert = fingerprint(&c, "A").await;
    let system = format!("/systems/{}", c.system.id);
    let body = json!({"fingerprint": alert});
    let made = post(t, &owner, &format!("{system}/alerts/silences"), body.clone()).await.expect(200).data();
    let assignment = format!("/alerts/assignment?organization_id={}", tree.customer);
    post(t, &owner, &assignment, body).await.expect(200);
    let shown = async || {
        let data = get(t, &owner, &format!("{system}/alerts")).await.expect(200).data();
        assert_eq!(data["alerts"].as_array().unwrap().len(), 1, "{data}");
        data["alerts"][0].clone()
    };
    let before = shown().await;

    put(t, &owner, &system, json!({"name": "Renamed"})).await.expect(200);
    let customer = json!({"name": "Another name", "custom_data": {"vat": "IT12345678901"}});
    put(t, &owner, &format!("/customers/{}", tree.customer), customer).await.expect(200);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let text = "UPDATE systems SET fqdn = 'new.example.org', ipv4_address = '192.0.2.7' WHERE id = ?";
    Q::new(text).bind(c.system.id).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    fire(&c, &labels).await;

    assert_eq!(fingerprint(&c, "A").await, alert);
    let after = shown().await;
    assert_eq!(after["fingerprint"], alert.as_str());
    assert_eq!(after["labels"]["system_name"], "Renamed");
    assert_eq!(after["labels"]["organization_name"], "Another name");
    for (value, key) in [(&before, "assigned_to"), (&before["status"], "silencedBy"), (&before, "startsAt")] {
        let now = if key == "silencedBy" { &after["status"][key] } else { &after[key] };
        assert_eq!(now, &value[key], "{key}");
    }
    assert_eq!(after["status"]["silencedBy"], json!([made["silence_id"]]));
    let text = "SELECT COUNT(*) FROM alert_history WHERE status = 'firing'";
    assert_eq!(Q::new(text).count(&t.app.platform.db).await.unwrap(), 1);
});
