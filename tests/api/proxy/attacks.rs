//! Requests that try to reach, change or see data of another system, or to break the service (spec:
//! alert-guarantees#guarantees).

use super::*;
use bailiwick_domain::ports::random;
use bailiwick_store::router;
use bailiwick_testkit::{SeededEntropy, api_test};

/// Two systems of one tenant; the first has an alert and a silence.
async fn pair(t: &Test) -> (Client<'_>, Client<'_>) {
    let tree = t.tree().await;
    let victim = Client { test: t, system: t.system(tree.customer).await };
    let attacker = Client { test: t, system: t.system(tree.customer).await };
    victim.push(r#"[{"labels":{"alertname":"Secret"},"annotations":{"a":"secret"}}]"#).await.expect(200);
    victim.silence(&silence(r#"{"name":"x","value":"secret","isRegex":false}"#)).await.expect(200);
    (victim, attacker)
}

fn silence(matcher: &str) -> String {
    format!(
        r#"{{"matchers":[{matcher}],"startsAt":"2026-03-04T10:00:00Z","endsAt":"2026-03-04T12:00:00Z","createdBy":"me","comment":"c"}}"#
    )
}

/// The alerts and silences of a system, as the system itself sees them.
async fn everything(system: &Client<'_>) -> (String, String) {
    (
        system.get("/api/v2/alerts").await.expect(200).text(),
        system.get("/api/v2/silences").await.expect(200).text(),
    )
}

// Proves spec: acceptance#guarantees 3, alert-guarantees#guarantees 1.
api_test!(bodies_read_in_two_ways_are_not_read, |s| generous(s), |t| async move {
    let (victim, attacker) = pair(&t).await;
    let key = &victim.system.key;
    let before = everything(&victim).await;
    for body in [
        format!(r#"[{{"labels":{{"alertname":"Trail","system_key":"{key}"}}}}] x"#),
        format!(
            r#"[{{"labels":{{"alertname":"A"}}}}][{{"labels":{{"alertname":"A","system_key":"{key}"}}}}]"#
        ),
        format!(
            r#"[{{"labels":{{"alertname":"Dup"}},"labels":{{"alertname":"Dup","system_key":"{key}"}}}}]"#
        ),
        format!(r#"[{{"labels":{{"alertname":"Dup","alertname":"{key}"}}}}]"#),
        "[{\"labels\":{\"alertname\":\"A\"}},]".to_owned(),
        "[{'labels':{'alertname':'A'}}]".to_owned(),
        format!("{}{}", "[".repeat(17), "]".repeat(17)),
        format!("{}{}", "[".repeat(200_000), "]".repeat(200_000)),
        format!(r#"[{{"labels":{{"alertname":"A"}},"x":{}1{}}}]"#, "[".repeat(20), "]".repeat(20)),
        "[NaN]".to_owned(),
        "[1e999999999]".to_owned(),
    ] {
        let reply = attacker.push(&body).await;
        assert_eq!(reply.status, 400, "{}: {}", &body[..body.len().min(80)], reply.text());
        let text = reply.text();
        assert!(text.contains("parsing alerts body") || text.contains("duplicate key"), "{text}");
    }
    let not_utf8 = [b"\xff\xfe".as_slice(), b"[{\"labels\":{\"alertname\":\"A\"}}]"].concat();
    attacker.post("/api/v2/alerts", not_utf8).await.expect(400);
    for body in [
        format!("{} x", silence(r#"{"name":"alertname","value":".+","isRegex":true}"#)),
        silence(r#"{"name":"a","value":"b","name":"alertname","isRegex":false}"#),
        silence(r#"{"name":"a","value":"b","isRegex":false}"#)
            .replace("{\"matchers\"", "{\"matchers\":[],\"matchers\""),
    ] {
        assert!(attacker.silence(&body).await.expect(400).text().contains("parsing silence body"), "{body}");
    }
    assert_eq!(everything(&attacker).await, ("[]\n".to_owned(), "[]\n".to_owned()));
    assert_eq!(everything(&victim).await, before);
});

// Proves spec: alert-guarantees#guarantees 2.
api_test!(keys_are_compared_exactly, |s| generous(s), |t| async move {
    let (victim, attacker) = pair(&t).await;
    let key = &victim.system.key;
    let before = everything(&victim).await;
    for folded in ["LABELS", "Labels", "label\u{17f}", r"label\u017f"] {
        let body = format!(
            r#"[{{"labels":{{"alertname":"Fold"}},"{folded}":{{"alertname":"Fold","system_key":"{key}"}}}}]"#
        );
        attacker.push(&body).await.expect(200);
    }
    for folded in ["MATCHERS", "matcher\u{17f}", r"matcher\u017f"] {
        let body = silence(
            r#"{"name":"a","value":"b","isRegex":false,"NAME":"alertname","Value":".+","isregex":true}"#,
        )
        .replacen(
            '{',
            &format!(r#"{{"{folded}":[{{"name":"alertname","value":".+","isRegex":true}}],"#),
            1,
        );
        attacker.silence(&body).await.expect(200);
    }
    let (alerts, silences) = everything(&attacker).await;
    assert!(
        !alerts.contains(key) && !silences.contains(key) && !silences.contains(".+"),
        "{alerts}{silences}"
    );
    assert_eq!(attacker.alert_names("").await, ["Fold"]);
    assert_eq!(everything(&victim).await, before);
});

// Proves spec: acceptance#guarantees 5, acceptance#scenarios 31.
api_test!(filters_cannot_widen_what_is_seen, |s| generous(s), |t| async move {
    let (victim, attacker) = pair(&t).await;
    let key = &victim.system.key;
    for query in [
        format!("filter=system_key%3D%22{key}%22"),
        "filter=system_key!%3D%22x%22".to_owned(),
        "filter=system_key%3D~%22.*%22".to_owned(),
        format!("a;b=c&filter=system_key%3D%22{key}%22"),
        format!("filter=system_key%3D%22{key}%22;filter=x"),
        format!("filter%5B%5D=system_key%3D%22{key}%22"),
        format!("FILTER=system_key%3D%22{key}%22"),
        "receiver=.*&active=true&silenced=true".to_owned(),
        "organization_id=x&tenant=x&X-Scope-OrgID=x".to_owned(),
        "%00&&=&=x&filter".to_owned(),
    ] {
        for path in ["alerts", "silences", "alerts/groups"] {
            let reply = attacker.get(&format!("/api/v2/{path}?{query}")).await;
            assert!(!reply.text().to_lowercase().contains("secret"), "{query}: {}", reply.text());
            assert!(reply.status == 200 || reply.status == 400, "{query}: {}", reply.text());
        }
    }
});

api_test!(
    nul_characters_and_odd_texts_are_stored_or_refused_but_never_break,
    |s| generous(s),
    |t| async move {
        let system = Client::new(&t).await;
        for text in [r"\u0000", r"a\u0000b", r"\ud83d\ude00", r"\uffff", r"\u202e", "é", r#"\"\\\n\t"#] {
            system
                .push(&format!(
                    r#"[{{"labels":{{"alertname":"A","x":"{text}"}},"annotations":{{"y":"{text}"}}}}]"#
                ))
                .await
                .expect(200);
            system
                .silence(
                    &silence(&format!(r#"{{"name":"x","value":"{text}","isRegex":false}}"#))
                        .replace("\"c\"", &format!("\"{text}\"")),
                )
                .await
                .expect(200);
            let query =
                url::form_urlencoded::byte_serialize(format!("x=\"{text}\"").as_bytes()).collect::<String>();
            let reply = system.get(&format!("/api/v2/alerts?filter={query}")).await;
            assert!(reply.status == 200 || reply.status == 400, "{}", reply.text());
        }
        assert_eq!(system.get("/api/v2/silences").await.expect(200).json().as_array().unwrap().len(), 7);
        for path in [
            "/api/v2/silence/%00",
            "/api/v2/silence/%ff%fe",
            "/api/v2/%2e%2e/%2e%2e/metrics",
            "/api/v2/alerts%2Fgroups",
        ] {
            let status = system.get(path).await.status.as_u16();
            assert!(matches!(status, 200 | 404 | 422), "{path}: {status}");
        }
    }
);

// Proves spec: alert-guarantees#guarantees 7.
api_test!(text_is_never_executed, |s| generous(s), |t| async move {
    // Placeholders are not executed and not expanded twice, so an annotation cannot smuggle one in.
    let system = Client::new(&t).await;
    system
        .push(r#"[{"labels":{"alertname":"{{ .system_key }}","b":"{{ .alertname }}"},"annotations":{"x":"{{ .b }}"}}]"#)
        .await
        .expect(200);
    let alert = system.get("/api/v2/alerts").await.json()[0].take();
    assert_eq!(alert["labels"]["alertname"], "{{ .system_key }}");
    assert_eq!(alert["annotations"]["x"], "{{ .alertname }}");
});

// Valid bodies with bytes changed, cut, doubled: always an answer below 500.
// Proves spec: alert-guarantees#guarantees 5.
api_test!(no_body_gets_a_fault_of_the_service, |s| generous(s), |t| async move {
    let (victim, attacker) = pair(&t).await;
    let before = everything(&victim).await;
    let entropy = SeededEntropy::new(7);
    let seeds = [
        ("/api/v2/alerts", r#"[{"labels":{"alertname":"A","x":"\u00e9"},"annotations":{"s":"{{ .x }}"},"startsAt":"2026-03-04T08:00:00.123456789Z","endsAt":"2026-03-04T11:00:00+01:00","generatorURL":"http://x/y?z=1"}]"#.to_owned()),
        ("/api/v2/silences", silence(r#"{"name":"alertname","value":"A|B.*[x-z]","isRegex":true,"isEqual":false},{"name":"b","value":"c","isRegex":false}"#)),
    ];
    for round in 0..300 {
        let (path, seed) = &seeds[round % 2];
        let mut body = seed.clone().into_bytes();
        let [a, b, c, d, e, f] = random::<6>(&entropy).map(usize::from);
        for _ in 0..=(a % 3) {
            let index = (b * 256 + c) % body.len();
            match d % 4 {
                0 => body[index] = e as u8,
                1 => body.truncate(index.max(1)),
                2 => body.extend_from_within(index..),
                _ => drop(body.splice(index..index, [b'"', e as u8, f as u8])),
            }
        }
        let reply = attacker.post(path, body.clone()).await;
        let status = reply.status.as_u16();
        assert!(
            matches!(status, 200 | 400 | 404 | 422),
            "{status} {}: {}",
            String::from_utf8_lossy(&body),
            reply.text()
        );
    }
    attacker.get("/api/v2/alerts").await.expect(200);
    assert_eq!(everything(&victim).await, before);
});

api_test!(a_made_up_fingerprint_does_not_take_anothers_alert, |s| generous(s), |t| async move {
    let tree = t.tree().await;
    let victim = Client { test: &t, system: t.system(tree.customer).await };
    let attacker = Client { test: &t, system: t.system(tree.customer).await };
    victim.push(r#"[{"labels":{"alertname":"Secret"}}]"#).await.expect(200);
    attacker.push(r#"[{"labels":{"alertname":"Mine"}}]"#).await.expect(200);
    let listed = attacker.get("/api/v2/alerts").await.json();
    let fingerprint = listed[0]["fingerprint"].as_str().unwrap().to_owned();
    // The hash is not made against collisions: this is the state in which the victim's alert has the same one.
    let now = t.app.platform.now();
    let key = &victim.system.key;
    let (mut stored, _) =
        router::alerts_and_silences_of_system(&t.app.platform.db, tree.customer, key, now, now)
            .await
            .unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let row = router::AlertRow {
        organization_id: tree.customer,
        fingerprint,
        system_key: victim.system.key.clone(),
        ends_at: now.plus(std::time::Duration::from_secs(3600)),
        payload: stored.remove(0),
    };
    router::put_alerts(&mut tx, &[row]).await.unwrap();
    tx.commit().await.unwrap();
    let before = victim.get("/api/v2/alerts").await.expect(200).text();
    for body in [
        r#"[{"labels":{"alertname":"Mine"}}]"#,
        r#"[{"labels":{"alertname":"Mine"},"endsAt":"2026-03-04T10:00:00Z"}]"#,
    ] {
        attacker.push(body).await.expect(200);
        assert_eq!(victim.get("/api/v2/alerts").await.expect(200).text(), before);
    }
});
