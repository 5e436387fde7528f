//! Silences that people make, see, change and end (spec: alert-management#handling), with both routers.

use super::{
    lists::{client, fire, get, in_both_modes, sorted},
    *,
};
use bailiwick_testkit::{Engine, Persona, Reply};

const UNKNOWN: &str = "0195fada-0000-4000-8000-00000000dead";

async fn post(t: &Test, who: &Persona, path: &str, body: Value) -> Reply {
    t.post(&format!("/api{path}")).bearer(&who.token).json(body).send().await
}

async fn put(t: &Test, who: &Persona, path: &str, body: Value) -> Reply {
    t.put(&format!("/api{path}")).bearer(&who.token).json(body).send().await
}

async fn delete(t: &Test, who: &Persona, path: &str) -> Reply {
    t.delete(&format!("/api{path}")).bearer(&who.token).send().await
}

/// The fingerprint of the system's alert of that name.
pub(super) async fn fingerprint(c: &Client<'_>, name: &str) -> String {
    let list = c.get(&format!("/api/v2/alerts?filter=alertname%3D{name}")).await.expect(200).json();
    list[0]["fingerprint"].as_str().unwrap_or_else(|| panic!("{name}: {list}")).to_owned()
}

fn later(t: &Test, minutes: u32) -> String {
    t.app.platform.now().plus(MINUTE * minutes).rfc3339(0)
}

/// Actions in the audit log, in order.
pub(super) async fn audited(t: &Test) -> Vec<String> {
    let text = "SELECT action FROM audit_log WHERE action LIKE 'alert%' ORDER BY id";
    let rows: Vec<(String,)> = Q::new(text).all(&t.app.platform.db).await.unwrap();
    rows.into_iter().map(|(action,)| action).collect()
}

// Proves spec: acceptance#scenarios 33.
in_both_modes!(an_alert_is_silenced_read_changed_and_unsilenced, |t| async {
    let tree = t.tree().await;
    let support = t.user(tree.distributor, &["admin"]).await;
    // Systems of every type of organization (rule 13).
    for organization in [tree.distributor, tree.reseller, tree.customer] {
        let c = client(t, organization).await;
        fire(
            &c,
            &[json!({"alertname": "A", "severity": "info", "note": "a\"b\\c"}), json!({"alertname": "B"})],
        )
        .await;
        let alert = fingerprint(&c, "A").await;
        let of_system = format!("/systems/{}/alerts/silences", c.system.id);
        let of_organization = format!("?organization_id={organization}");
        let across = format!("/alerts/silences{of_organization}");
        for (path, one) in
            [(of_system.clone(), format!("{of_system}/")), (across.clone(), "/alerts/silences/".to_owned())]
        {
            let by_id = |id: &str| {
                if path == across { format!("{one}{id}{of_organization}") } else { format!("{one}{id}") }
            };
            let body = json!({"fingerprint": alert, "comment": "  at work ", "duration_minutes": 90});
            let made = post(t, &support, &path, body.clone()).await;
            let made = made.expect_message(200, "alert silenced successfully").data();
            let id = made["silence_id"].as_str().unwrap().to_owned();
            assert_eq!(
                sorted(t, &support, &format!("/systems/{}/alerts?status=active", c.system.id)).await,
                ["B"]
            );
            post(t, &support, &path, body).await.expect_message(400, "alert is already silenced");
            // The system sees it too: it is bound to its key.
            let own = c.get(&format!("/api/v2/silence/{id}")).await.expect(200).json();
            assert_eq!(own["id"], id.as_str());
            let reply = get(t, &support, &by_id(&id)).await;
            let silence =
                reply.expect_message(200, "silence retrieved successfully").data()["silence"].clone();
            assert_eq!(
                (&silence["comment"], &silence["status"]),
                (&json!("at work"), &json!({"state": "active"}))
            );
            let names: Vec<&str> =
                silence["matchers"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
            let expected = ["alertname", "note", "organization_id", "severity", "system_id", "system_key"];
            assert_eq!(names, expected);
            let note = json!({"name": "note", "value": "a\"b\\c", "isRegex": false, "isEqual": true});
            assert_eq!(silence["matchers"][1], note);
            for (list, more) in [(&of_system, 0), (&across, 3)] {
                let listed = get(t, &support, list).await;
                let listed = listed.expect_message(200, "silences retrieved successfully").data();
                let listed = listed["silences"].as_array().unwrap();
                assert_eq!((listed.len(), listed[0]["id"].as_str()), (1, Some(id.as_str())), "{list}");
                assert_eq!(
                    more == 3,
                    listed[0].get("system_key").is_some_and(|k| *k == c.system.key.as_str())
                );
            }
            let change = json!({"end_at": later(t, 300), "comment": "longer"});
            let changed = put(t, &support, &by_id(&id), change).await;
            let changed = changed.expect_message(200, "silence updated successfully").data();
            let id = changed["silence_id"].as_str().unwrap().to_owned();
            let after = get(t, &support, &by_id(&id)).await.expect(200).data()["silence"].clone();
            assert_eq!(after["comment"], "longer");
            for key in ["matchers", "startsAt", "createdBy"] {
                assert_eq!(after[key], silence[key], "{key}");
            }
            let ended = delete(t, &support, &by_id(&id)).await;
            ended.expect_message(200, "silence disabled successfully");
            delete(t, &support, &by_id(&id)).await.expect(200);
            assert_eq!(
                sorted(t, &support, &format!("/systems/{}/alerts?status=active", c.system.id)).await,
                ["A", "B"]
            );
            let listed = get(t, &support, &of_system).await.expect(200).data();
            assert_eq!(listed, json!({"silences": []}));
        }
    }
    let each = ["alert_silence.create", "alert_silence.update", "alert_silence.delete"];
    assert_eq!(audited(t).await, each.repeat(6));
});

// Proves spec: alert-guarantees#guarantees 13.
in_both_modes!(a_silence_of_another_system_or_organization_is_not_there, |t| async {
    let tree = t.tree().await;
    let distributor = t.user(tree.distributor, &["admin"]).await;
    let customer = t.user(tree.customer, &["admin"]).await;
    let owner = t.owner().await;
    let (c, d) = (client(t, tree.customer).await, client(t, tree.customer).await);
    let foreign = client(t, tree.other_customer).await;
    let mut ids = Vec::new();
    for c in [&c, &d, &foreign] {
        fire(c, &[json!({"alertname": "A"})]).await;
        let body = json!({"fingerprint": fingerprint(c, "A").await});
        let made = post(t, &owner, &format!("/systems/{}/alerts/silences", c.system.id), body).await;
        ids.push(made.expect(200).data()["silence_id"].as_str().unwrap().to_owned());
    }
    let [_, of_d, of_foreign] = [&ids[0], &ids[1], &ids[2]];
    let system = format!("/systems/{}/alerts/silences", c.system.id);
    let tenant = format!("?organization_id={}", tree.customer);
    let change = json!({"end_at": later(t, 30)});
    let mut bodies = Vec::new();
    for path in [
        format!("{system}/{of_d}"),
        format!("{system}/{of_foreign}"),
        format!("{system}/{UNKNOWN}"),
        format!("{system}/x"),
        format!("/alerts/silences/{of_foreign}{tenant}"),
        format!("/alerts/silences/{UNKNOWN}{tenant}"),
    ] {
        bodies.push(get(t, &distributor, &path).await.expect_message(404, "silence not found").body);
        put(t, &distributor, &path, change.clone()).await.expect_message(404, "silence not found");
        delete(t, &distributor, &path).await.expect_message(404, "silence not found");
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
    // The tenant is that of the query, and it must be in reach.
    let refused = "access denied: organization not in your hierarchy";
    for id in [tree.other_customer.to_string(), UNKNOWN.to_owned(), "x".to_owned()] {
        let path = format!("/alerts/silences/{of_foreign}?organization_id={id}");
        get(t, &distributor, &path).await.expect_message(403, refused);
        delete(t, &distributor, &path).await.expect_message(403, refused);
    }
    for path in [
        format!("/alerts/silences/{of_d}"),
        format!("/alerts/silences/{of_d}{tenant}&organization_id={}", tree.reseller),
    ] {
        let text = "organization_id query parameter is required";
        get(t, &distributor, &path).await.expect_message(400, text);
    }
    // A customer's user is in their own organization, whatever the parameter.
    let path = format!("/alerts/silences/{of_d}?organization_id={}", tree.other_customer);
    get(t, &customer, &path).await.expect(200);
    let path = format!("/systems/{}/alerts/silences", foreign.system.id);
    let body = json!({"fingerprint": fingerprint(&foreign, "A").await});
    post(t, &distributor, &path, body.clone()).await.expect_message(404, "system not found");
    get(t, &distributor, &path).await.expect_message(404, "system not found");
    post(t, &distributor, &system, body.clone()).await.expect_message(404, "alert not found");
    post(t, &distributor, &format!("/alerts/silences{tenant}"), body)
        .await
        .expect_message(404, "alert not found");
    // Lists have the scope of the caller.
    for (who, query, n) in [
        (&owner, String::new(), 3),
        (&distributor, String::new(), 2),
        (&customer, String::new(), 2),
        (&owner, format!("?organization_id={}", tree.other_customer), 1),
        (&owner, format!("?organization_id={}&include=descendants", tree.distributor), 2),
        (&owner, format!("?system_key={}", d.system.key), 1),
        (&distributor, format!("?system_key={}", foreign.system.key), 0),
    ] {
        let answer = get(t, who, &format!("/alerts/silences{query}")).await.expect(200).data();
        assert_eq!(answer["silences"].as_array().unwrap().len(), n, "{query}");
        assert_eq!(answer["warnings"], json!([]));
    }
    // Nothing has changed for the others.
    assert_eq!(
        foreign.get(&format!("/api/v2/silence/{of_foreign}")).await.expect(200).json()["status"]["state"],
        "active"
    );
});

// Proves spec: alert-guarantees#guarantees 14.
in_both_modes!(an_update_keeps_negative_and_regular_expressions, |t| async {
    let tree = t.tree().await;
    let support = t.user(tree.customer, &["admin"]).await;
    let c = client(t, tree.customer).await;
    let matchers = json!([
        {"name": "alertname", "value": "A.*", "isRegex": true},
        {"name": "severity", "value": "info", "isRegex": false, "isEqual": false},
        {"name": "job", "value": "x|y", "isRegex": true, "isEqual": false},
    ]);
    let body = json!({"matchers": matchers, "comment": "own", "createdBy": "script",
        "startsAt": later(t, 0), "endsAt": later(t, 60)});
    let id = c.silence(&body.to_string()).await.expect(200).json()["silenceID"].as_str().unwrap().to_owned();
    let path = |id: &str| format!("/systems/{}/alerts/silences/{id}", c.system.id);
    let before = get(t, &support, &path(&id)).await.expect(200).data()["silence"].clone();
    let changed = put(t, &support, &path(&id), json!({"end_at": later(t, 120)})).await.expect(200).data();
    let id = changed["silence_id"].as_str().unwrap();
    let after = get(t, &support, &path(id)).await.expect(200).data()["silence"].clone();
    for key in ["matchers", "startsAt", "createdBy", "comment"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(after["matchers"].as_array().unwrap().len(), 4);
    assert_eq!(&after["endsAt"].as_str().unwrap()[..19], &later(t, 120)[..19]);
    // Only one is active: the old one, if it was replaced, has expired.
    let listed =
        get(t, &support, &format!("/systems/{}/alerts/silences", c.system.id)).await.expect(200).data();
    assert_eq!(listed["silences"].as_array().unwrap().len(), 1);
});

api_test!(what_is_wrong_with_a_silence_is_named, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let reader = t.user(tree.customer, &["reader"]).await;
    let c = client(&t, tree.customer).await;
    fire(&c, &[json!({"alertname": "A"})]).await;
    let alert = fingerprint(&c, "A").await;
    let path = format!("/systems/{}/alerts/silences", c.system.id);
    for (body, fields) in [
        (json!({}), vec![("fingerprint", "required")]),
        (json!({"fingerprint": "a b"}), vec![("fingerprint", "invalid_format")]),
        (json!({"fingerprint": "x".repeat(129)}), vec![("fingerprint", "invalid_format")]),
        (json!({"fingerprint": alert, "duration_minutes": 0}), vec![("duration_minutes", "out_of_range")]),
        (
            json!({"fingerprint": alert, "duration_minutes": 10_081}),
            vec![("duration_minutes", "out_of_range")],
        ),
        (json!({"fingerprint": alert, "end_at": "tomorrow"}), vec![("end_at", "invalid_format")]),
        (json!({"fingerprint": alert, "end_at": timestamp(0)}), vec![("end_at", "must_be_future")]),
        (json!({"fingerprint": alert, "end_at": later(&t, 60 * 24 * 367)}), vec![("end_at", "too_late")]),
        (
            json!({"fingerprint": "", "comment": "a\0b"}),
            vec![("fingerprint", "required"), ("comment", "invalid_format")],
        ),
        (json!({"fingerprint": alert, "comment": "x".repeat(20_000)}), vec![("comment", "too_long")]),
    ] {
        post(&t, &owner, &path, body).await.expect_fields(&fields);
    }
    post(&t, &owner, &path, json!({"fingerprint": "0000000000000000"}))
        .await
        .expect_message(404, "alert not found");
    post(&t, &reader, &path, json!({"fingerprint": alert}))
        .await
        .expect_message(403, "insufficient permissions");
    // The end wins, even over a length that is none.
    let body = json!({"fingerprint": alert, "duration_minutes": -1, "end_at": later(&t, 5)});
    let id =
        post(&t, &owner, &path, body).await.expect(200).data()["silence_id"].as_str().unwrap().to_owned();
    let silence = get(&t, &owner, &format!("{path}/{id}")).await.expect(200).data()["silence"].clone();
    assert_eq!(
        (&silence["comment"], &silence["createdBy"]),
        (&json!("silenced from Bailiwick"), &json!("owner"))
    );
    let one = format!("{path}/{id}");
    for (body, fields) in [
        (json!({}), vec![("end_at", "required")]),
        (json!({"end_at": "x"}), vec![("end_at", "invalid_format")]),
        (json!({"end_at": timestamp(-5)}), vec![("end_at", "must_be_future")]),
    ] {
        put(&t, &owner, &one, body).await.expect_fields(&fields);
    }
    // A system that has not registered has no alerts; one that is over is not silenced.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let text = "UPDATE systems SET registered_at = NULL WHERE id = ?";
    Q::new(text).bind(c.system.id).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    post(&t, &owner, &path, json!({"fingerprint": alert}))
        .await
        .expect_message(400, "system is not registered");
    let d = client(&t, tree.customer).await;
    fire(&d, &[json!({"alertname": "A"})]).await;
    let over = fingerprint(&d, "A").await;
    t.advance(MINUTE * 361);
    let path = format!("/systems/{}/alerts/silences", d.system.id);
    let again = t.session(owner.id).await;
    post(&t, &again, &path, json!({"fingerprint": over})).await.expect_message(404, "alert not found");
    assert_eq!(audited(&t).await, ["alert_silence.create"], "what is refused changes nothing");
});

api_test!(
    a_system_with_too_many_silences_gets_no_more,
    |settings| {
        generous(settings);
        settings.alerting.limits.silences_per_system = 2;
    },
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let c = client(&t, tree.customer).await;
        fire(&c, &[json!({"alertname": "A"}), json!({"alertname": "B"}), json!({"alertname": "C"})]).await;
        let path = format!("/systems/{}/alerts/silences", c.system.id);
        for (name, status) in [("A", 200), ("B", 200), ("C", 409)] {
            let body = json!({"fingerprint": fingerprint(&c, name).await});
            post(&t, &owner, &path, body).await.expect(status);
        }
        assert_eq!(audited(&t).await.len(), 2);
    }
);

api_test!(
    an_ended_silence_is_renewed_within_the_budget_of_expressions,
    |settings| {
        generous(settings);
        settings.alerting.limits.compiled_per_system = 256 * 1024;
    },
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let c = client(&t, tree.customer).await;
        let matchers = json!([{"name": "alertname", "value": "[a-f]{400}", "isRegex": true}]);
        let body = json!({"matchers": matchers, "comment": "", "createdBy": "", "startsAt": later(&t, 0),
            "endsAt": later(&t, 60)});
        let body = body.to_string();
        let mut ids = Vec::new();
        loop {
            let reply = c.silence(&body).await;
            if reply.status != 200 {
                reply.expect(400);
                break;
            }
            ids.push(reply.json()["silenceID"].as_str().unwrap().to_owned());
        }
        // Another one takes the share of the first.
        c.delete(&format!("/api/v2/silence/{}", ids[0])).await.expect(200);
        c.silence(&body).await.expect(200);
        let first = format!("/systems/{}/alerts/silences/{}", c.system.id, ids[0]);
        let longer = json!({"end_at": later(&t, 120)});
        let beyond = "the regular expressions of all silences of this system are too complex: end some silences, or use matchers with =";
        put(&t, &owner, &first, longer.clone()).await.expect_message(400, beyond);
        c.delete(&format!("/api/v2/silence/{}", ids[1])).await.expect(200);
        put(&t, &owner, &first, longer).await.expect(200);
    }
);

// Proves spec: alert-guarantees#guarantees 22.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_router_that_does_not_answer_gets_one_silence_at_most() {
    let t = Test::start(Engine::Sqlite, |_| {}).await;
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let tree = p.tree().await;
    let owner = p.owner().await;
    let c = client(&p, tree.customer).await;
    fire(&c, &[json!({"alertname": "A"})]).await;
    let (text, key, tenant) = ("SELECT fingerprint FROM alert_history", c.system.key.clone(), tree.customer);
    let (alert,): (String,) = Q::new(text).one(&p.app.platform.db).await.unwrap();
    let listed = json!([{"labels": {"alertname": "A", "system_key": key, "organization_id": tenant.to_string()},
        "fingerprint": alert, "startsAt": timestamp(0), "endsAt": timestamp(600),
        "updatedAt": timestamp(0), "annotations": {},
        "receivers": [], "status": {"state": "active", "silencedBy": [], "inhibitedBy": []}}]);
    upstream.answer_by(move |request| {
        match (request.method.as_str(), request.target().contains("silence")) {
            ("GET", false) => Answer::json(200, &listed),
            ("GET", true) => Answer::json(200, &json!([])),
            _ => Answer::status(500).body("a secret text"),
        }
    });
    drop(upstream.take());
    let path = format!("/systems/{}/alerts/silences", c.system.id);
    let reply = post(&p, &owner, &path, json!({"fingerprint": alert})).await;
    let reply = reply.expect_message(502, "alerting backend is unavailable");
    assert!(!reply.text().contains("secret"));
    assert_eq!(upstream.take().iter().filter(|r| r.method == "POST").count(), 1);
    assert_eq!(audited(&p).await, [""; 0]);
}
