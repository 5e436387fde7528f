//! Silences (spec: silences#create-for-systems, silences#one-silence, silences#update-rules, silences#expire-and-list).

use super::*;
use bailiwick_testkit::api_test;
use serde_json::{Value, json};
use std::time::Duration;

const UNKNOWN: &str = "00000000-0000-4000-8000-000000000000";

/// A body with these parts replaced; an empty text leaves a key out.
fn body(changes: &[(&str, &str)]) -> String {
    let mut parts = vec![
        ("matchers", r#"[{"name":"alertname","value":"A","isRegex":false}]"#),
        ("startsAt", r#""2026-03-04T10:00:00Z""#),
        ("endsAt", r#""2026-03-04T12:00:00Z""#),
        ("createdBy", r#""me""#),
        ("comment", r#""c""#),
    ];
    for (key, value) in changes {
        match parts.iter_mut().find(|(k, _)| k == key) {
            Some(part) => part.1 = value,
            None => parts.push((key, value)),
        }
    }
    let fields = parts.iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| format!("\"{k}\":{v}"));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn matchers(list: &str) -> String {
    body(&[("matchers", list)])
}

async fn created(system: &Client<'_>, body: &str) -> String {
    let reply = system.silence(body).await.expect(200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let answer = reply.json();
    assert_eq!(answer.as_object().unwrap().len(), 1);
    answer["silenceID"].as_str().unwrap().to_owned()
}

async fn ids(system: &Client<'_>, query: &str) -> Vec<String> {
    let list = system.get(&format!("/api/v2/silences{query}")).await.expect(200).json();
    list.as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap().to_owned()).collect()
}

fn required(key: &str) -> String {
    format!(r#"{{"code":602,"message":"{key} in body is required"}}"#)
}

fn invalid(rest: &str) -> String {
    format!("{}\n", json!(format!("invalid silence: {rest}")))
}

api_test!(refusals_have_the_exact_bodies_and_create_nothing, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    let unreadable = r#"{"code":400,"message":"parsing silence body from \"\" failed, because "#;
    let past = [("startsAt", r#""2020-01-01T00:00:00Z""#), ("endsAt", r#""2020-01-02T00:00:00Z""#)];
    let turned = [("startsAt", r#""2026-03-05T00:00:00Z""#), ("endsAt", r#""2026-03-04T11:00:00Z""#)];
    let long = [("endsAt", r#""2027-03-06T10:00:00Z""#)];
    let empty = r#"[{"name":"a","value":"","isRegex":false}]"#;
    let all = r#"[{"name":"a","value":".*","isRegex":true}]"#;
    let at_least_one = invalid("matcher set 0: at least one matcher must not match the empty string");
    for (body, status, expected) in [
        (body(&[("comment", "")]), 422, required("comment")),
        (body(&[("comment", "null"), ("endsAt", "")]), 422, required("comment")),
        (body(&[("createdBy", ""), ("endsAt", "")]), 422, required("createdBy")),
        (body(&[("endsAt", ""), ("matchers", "")]), 422, required("endsAt")),
        (body(&[("matchers", ""), ("startsAt", "")]), 422, required("matchers")),
        (body(&[("startsAt", "")]), 422, required("startsAt")),
        ("null".to_owned(), 422, required("comment")),
        ("{}".to_owned(), 422, required("comment")),
        (
            body(&[("matchers", "[]")]),
            422,
            r#"{"code":612,"message":"matchers in body should have at least 1 items"}"#.to_owned(),
        ),
        (matchers(r#"[{"name":"a","value":"b"}]"#), 422, required("matchers.0.isRegex")),
        (matchers(r#"[{"value":"b","isRegex":false}]"#), 422, required("matchers.0.name")),
        (matchers(r#"[{"name":"a","isRegex":false}]"#), 422, required("matchers.0.value")),
        ("{{{".to_owned(), 400, unreadable.to_owned()),
        ("[]".to_owned(), 400, unreadable.to_owned()),
        (body(&[("comment", "1")]), 400, unreadable.to_owned()),
        (body(&[("endsAt", r#""soon""#)]), 400, unreadable.to_owned()),
        (matchers(r#"[{"name":"a","value":"b","isRegex":"no"}]"#), 400, unreadable.to_owned()),
        (body(&turned), 400, "\"Failed to create silence: start time must be before end time\"\n".to_owned()),
        (body(&past), 400, "\"Failed to create silence: end time can't be in the past\"\n".to_owned()),
        (body(&long), 400, "\"Failed to create silence: duration exceeds the maximum\"\n".to_owned()),
        (
            matchers(r#"[{"name":"a-b","value":"b","isRegex":false}]"#),
            400,
            invalid(r#"invalid label matcher 0 in set 0: invalid label name "a-b""#),
        ),
        (
            matchers(r#"[{"name":"a","value":"[","isRegex":true}]"#),
            400,
            invalid(
                "invalid label matcher 0 in set 0: invalid regular expression \"[\": error parsing regexp: missing closing ]: `[`",
            ),
        ),
        (matchers(empty), 400, at_least_one.clone()),
        (matchers(all), 400, at_least_one),
        (body(&[("id", r#""abc""#)]), 404, "\"silence not found\"\n".to_owned()),
        (body(&[("id", &format!("\"{UNKNOWN}\""))]), 404, "\"silence not found\"\n".to_owned()),
        (
            body(&[("comment", &format!("\"{}\"", "x".repeat(17_000)))]),
            400,
            "\"silence exceeds the size limit\"\n".to_owned(),
        ),
    ] {
        let reply = system.silence(&body).await.expect(status);
        let text = reply.text();
        assert!(
            text == expected || (expected == unreadable && text.starts_with(unreadable)),
            "{body}: {text}"
        );
        assert_eq!(reply.header("content-type"), Some("application/json"), "{body}");
    }
    assert_eq!(ids(&system, "").await, [""; 0]);
});

// Proves spec: acceptance#scenarios 31.
api_test!(a_silence_is_put_on_the_own_system_and_shown_with_its_fields, |t| async move {
    let system = Client::new(&t).await;
    let list = r#"[{"name":"system_key","value":".+","isRegex":true},{"name":"b","value":"x|y","isRegex":true,"isEqual":false},
        {"name":"alertname","value":"A","isRegex":false},{"name":"system_id","value":"x","isRegex":false,"isEqual":false}]"#;
    let id = created(
        &system,
        &body(&[("matchers", list), ("extra", "[1]"), ("comment", "\"\""), ("createdBy", "\"\"")]),
    )
    .await;
    let expected = json!({
        "id": id,
        "status": {"state": "active"},
        "updatedAt": "2026-03-04T10:00:00.000Z",
        "comment": "",
        "createdBy": "",
        "startsAt": "2026-03-04T10:00:00.000Z",
        "endsAt": "2026-03-04T12:00:00.000Z",
        "matchers": [
            {"name": "b", "value": "x|y", "isRegex": true, "isEqual": false},
            {"name": "alertname", "value": "A", "isRegex": false, "isEqual": true},
            {"name": "system_key", "value": system.system.key, "isRegex": false, "isEqual": true},
        ],
    });
    for path in ["silence", "silences"] {
        let one = system.get(&format!("/api/v2/{path}/{id}")).await.expect(200);
        assert_eq!(one.json(), expected);
        assert_eq!(one.header("content-type"), Some("application/json"));
    }
    assert_eq!(system.get("/api/v2/silences").await.json(), json!([expected]));
    let key = &system.system.key;
    let whole = matchers(&format!(r#"[{{"name":"system_key","value":"{key}","isRegex":false}}]"#));
    let id = created(&system, &whole).await;
    let own = json!([{"name": "system_key", "value": key, "isRegex": false, "isEqual": true}]);
    assert_eq!(system.get(&format!("/api/v2/silence/{id}")).await.json()["matchers"], own);
});

api_test!(a_matcher_that_names_another_system_is_refused, |t| async move {
    let tree = t.tree().await;
    let own = Client { test: &t, system: t.system(tree.customer).await };
    let neighbour = t.system(tree.customer).await;
    let stranger = t.system(tree.other_customer).await;
    let update = format!("\"{}\"", created(&own, &body(&[])).await);
    let before = own.get("/api/v2/silences").await.json();
    let (neighbour_id, own_id) = (neighbour.id.to_string(), own.system.id.to_string());
    for (name, value, flags) in [
        ("system_key", neighbour.key.as_str(), ""),
        ("system_key", stranger.key.as_str(), ""),
        ("system_key", "nobody", ""),
        ("system_key", own.system.key.as_str(), r#","isEqual":false"#),
        ("system_id", neighbour_id.as_str(), ""),
        ("system_id", own_id.as_str(), r#","isEqual":false"#),
        ("organization_id", &tree.other_customer.to_string(), ""),
        ("organization_id", "", ""),
    ] {
        let foreign = format!(r#"{{"name":"{name}","value":"{value}","isRegex":false{flags}}}"#);
        let alert = r#"{"name":"alertname","value":"A","isRegex":false}"#;
        for list in [format!("[{foreign}]"), format!("[{alert},{foreign}]")] {
            for body in [matchers(&list), body(&[("matchers", &list), ("id", &update)])] {
                let reply = own.silence(&body).await.expect(400);
                assert_eq!(
                    reply.text(),
                    format!("\"matcher {name} does not match this system\"\n"),
                    "{body}"
                );
            }
        }
    }
    assert_eq!(own.get("/api/v2/silences").await.json(), before);
});

// Proves spec: acceptance#guarantees 1 2, clients#checklist 10, acceptance#scenarios 31, alert-guarantees#guarantees 3 4.
api_test!(foreign_ids, |t| async move {
    let tree = t.tree().await;
    let mine = Client { test: &t, system: t.system(tree.customer).await };
    let same_tenant = Client { test: &t, system: t.system(tree.customer).await };
    let other_tenant = Client { test: &t, system: t.system(tree.other_customer).await };
    let id = created(&mine, &body(&[])).await;
    for other in [&same_tenant, &other_tenant] {
        for path in ["silence", "silences"] {
            for id in [id.as_str(), UNKNOWN] {
                let path = format!("/api/v2/{path}/{id}");
                for reply in [other.get(&path).await, other.delete(&path).await] {
                    let reply = reply.expect(404);
                    assert!(reply.body.is_empty());
                    assert_eq!(reply.header("content-type"), None);
                }
            }
        }
        let update = body(&[("id", &format!("\"{id}\"")), ("endsAt", r#""2026-03-04T13:00:00Z""#)]);
        assert_eq!(other.silence(&update).await.expect(404).text(), "\"silence not found\"\n");
        assert_eq!(ids(other, "").await, [""; 0]);
    }
    for path in ["silence", "silences"] {
        let path = format!("/api/v2/{path}/{id}");
        assert_eq!(mine.get(&path).await.expect(200).json()["status"]["state"], "active", "{path}");
    }
    for path in ["silence", "silences"] {
        for reply in [
            mine.get(&format!("/api/v2/{path}/abc")).await,
            mine.delete(&format!("/api/v2/{path}/abc")).await,
        ] {
            let expected = r#"{"code":601,"message":"silenceID in path must be of type uuid: \"abc\""}"#;
            assert_eq!(reply.expect(422).text(), expected);
        }
        // Both end it; it is over already at the second.
        assert!(mine.delete(&format!("/api/v2/{path}/{id}")).await.expect(200).body.is_empty());
    }
});

async fn state(system: &Client<'_>, id: &str) -> (String, String, String) {
    let s = system.get(&format!("/api/v2/silence/{id}")).await.expect(200).json();
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    (text(&s["status"]["state"]), text(&s["startsAt"]), text(&s["endsAt"]))
}

fn today(clock: &str) -> String {
    format!("2026-03-04T{clock}.000Z")
}

api_test!(
    expiring_is_idempotent_and_ended_silences_can_be_read_for_a_while,
    |s| generous(s),
    |t| async move {
        let system = Client::new(&t).await;
        let active = created(&system, &body(&[])).await;
        let pending = created(&system, &body(&[("startsAt", r#""2026-03-04T11:00:00Z""#)])).await;
        t.advance(Duration::from_secs(60));
        for (id, path, start) in [(&active, "silence", "10:00:00"), (&pending, "silences", "10:01:00")] {
            for _ in 0..2 {
                let reply = system.delete(&format!("/api/v2/{path}/{id}")).await.expect(200);
                assert!(reply.body.is_empty());
                assert_eq!(state(&system, id).await, ("expired".to_owned(), today(start), today("10:01:00")));
            }
            t.advance(Duration::from_millis(0));
        }
        t.advance(Duration::from_secs(120 * 3600));
        assert_eq!(ids(&system, "").await.len(), 2);
        t.advance(Duration::from_secs(1));
        assert_eq!(ids(&system, "").await, [""; 0]);
        system.get(&format!("/api/v2/silence/{active}")).await.expect(404);
        assert_eq!(bailiwick_alerts::purge_ended(&t.app.alerts).await.unwrap(), 2);
    }
);

// Proves spec: alert-guarantees#guarantees 29.
api_test!(updates_keep_the_id_only_where_they_may, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    let update = |id: &str, changes: &[(&'static str, &'static str)]| {
        let id = format!("\"{id}\"");
        let mut all = vec![("id", id.as_str())];
        all.extend_from_slice(changes);
        body(&all)
    };
    let later = ("endsAt", r#""2026-03-04T13:00:00Z""#);
    // Active: same matchers and start (to the second), later end.
    let id = created(&system, &body(&[])).await;
    t.advance(Duration::from_secs(60));
    assert_eq!(
        created(&system, &update(&id, &[later, ("startsAt", r#""2026-03-04T10:00:00.9Z""#)])).await,
        id
    );
    assert_eq!(state(&system, &id).await.2, today("13:00:00"));
    // Active with another start, or other matchers: a new one, the old one is over.
    for change in [
        [later, ("startsAt", r#""2026-03-04T10:00:30Z""#)],
        [later, ("matchers", r#"[{"name":"alertname","value":"B","isRegex":false}]"#)],
    ] {
        let old = created(&system, &body(&[])).await;
        let new = created(&system, &update(&old, &change)).await;
        assert_ne!(new, old);
        assert_eq!(state(&system, &old).await.0, "expired");
        assert_eq!(state(&system, &new).await, ("active".to_owned(), today("10:01:00"), today("13:00:00")));
    }
    // Pending: any start to come.
    let id = created(&system, &body(&[("startsAt", r#""2026-03-04T11:00:00Z""#)])).await;
    assert_eq!(created(&system, &update(&id, &[later, ("startsAt", r#""2026-03-04T10:30:00Z""#)])).await, id);
    assert_eq!(state(&system, &id).await, ("pending".to_owned(), today("10:30:00"), today("13:00:00")));
    // Expired ones are never revived.
    system.delete(&format!("/api/v2/silence/{id}")).await.expect(200);
    let new = created(&system, &update(&id, &[later, ("startsAt", r#""2026-03-04T10:30:00Z""#)])).await;
    assert_ne!(new, id);
    assert_eq!(state(&system, &id).await.0, "expired");
});

api_test!(silences_are_listed_in_order_and_filtered_literally, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    let make = async |start: &str, end: &str, name: &str| {
        let (start, end) = (format!("\"2026-03-04T{start}Z\""), format!("\"2026-03-04T{end}Z\""));
        let list = format!(r#"[{{"name":"alertname","value":"{name}","isRegex":false}}]"#);
        created(&system, &body(&[("startsAt", &start), ("endsAt", &end), ("matchers", &list)])).await
    };
    let late = make("10:00:00", "14:00:00", "late").await;
    let soon = make("10:00:00", "11:00:00", "soon").await;
    let pending_late = make("12:30:00", "14:00:00", "p").await;
    let pending_soon = make("10:30:00", "15:00:00", "p").await;
    let first_gone = make("10:00:00", "12:00:00", "g").await;
    let then_gone = make("10:00:00", "12:00:00", "g").await;
    system.delete(&format!("/api/v2/silence/{first_gone}")).await.expect(200);
    t.advance(Duration::from_secs(1));
    system.delete(&format!("/api/v2/silence/{then_gone}")).await.expect(200);
    let all = [&soon, &late, &pending_soon, &pending_late, &then_gone, &first_gone];
    assert_eq!(ids(&system, "").await.iter().collect::<Vec<_>>(), all);
    let key = &system.system.key;
    for (query, expected) in [
        ("?expired=false".to_owned(), &all[..4]),
        ("?active=false&expired=0".to_owned(), &all[2..4]),
        ("?pending=no&expired=no".to_owned(), &all[..2]),
        ("?filter=alertname%3Dsoon".to_owned(), &all[..1]),
        ("?filter=alertname%3D~%22so.*%22".to_owned(), &[]),
        ("?filter=alertname!%3D%22soon%22".to_owned(), &[]),
        (format!("?filter=system_key%3D{key}&filter=alertname%3Dg"), &all[4..]),
        ("?filter=system_key%3Dother".to_owned(), &[]),
    ] {
        assert_eq!(ids(&system, &query).await.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let reply = system.get("/api/v2/silences?filter=bad-!!").await.expect(400);
    assert_eq!(reply.text(), "\"bad matcher format: bad-!!\"\n");
});

api_test!(silenced_alerts_say_so_and_only_for_as_long, |t| async move {
    let tree = t.tree().await;
    let system = Client { test: &t, system: t.system(tree.customer).await };
    let other = Client { test: &t, system: t.system(tree.customer).await };
    for s in [&system, &other] {
        s.push(r#"[{"labels":{"alertname":"A"}},{"labels":{"alertname":"B"}}]"#).await.expect(200);
    }
    let id = created(&system, &body(&[])).await;
    let list = system.get("/api/v2/alerts?filter=alertname%3DA").await.json();
    let status = json!({"state": "suppressed", "silencedBy": [id], "inhibitedBy": [], "mutedBy": []});
    assert_eq!(list[0]["status"], status);
    assert_eq!(system.alert_names("?silenced=false").await, ["B"]);
    assert_eq!(system.alert_names("?active=false").await, ["A"]);
    assert_eq!(other.alert_names("?silenced=false").await, ["A", "B"]);
    t.advance(Duration::from_secs(2 * 3600));
    assert_eq!(system.alert_names("?silenced=false").await, ["A", "B"]);
});
