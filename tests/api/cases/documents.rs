//! JSON as other programs write it: a byte order mark before it, and errors with their position.

use bailiwick_testkit::{Reply, Test, api_test};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;

/// A JSON body that the service takes: who sends it, where to, and a valid one.
struct Taker {
    method: &'static str,
    path: String,
    authorization: String,
    body: String,
}

async fn takers(t: &Test) -> Vec<Taker> {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let system = t.system(tree.customer).await;
    let person = format!("Bearer {}", owner.token);
    let appliance = format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", system.key, system.secret)));
    let taker = |method, path: &str, authorization: &str, body: serde_json::Value| Taker {
        method,
        path: path.to_owned(),
        authorization: authorization.to_owned(),
        body: body.to_string(),
    };
    let router = "/services/mimir/alertmanager/api/v2";
    let matcher = json!({"name": "system_key", "value": system.key, "isRegex": false});
    let silence = json!({"matchers": [matcher], "startsAt": t.app.platform.now(), "endsAt": t.app.platform.now().plus(std::time::Duration::from_secs(60)),
        "createdBy": "c", "comment": "c"});
    vec![
        taker("PUT", &format!("/api/systems/{}", system.id), &person, json!({"notes": "n"})),
        taker("PUT", &format!("/api/customers/{}", tree.customer), &person, json!({"description": "n"})),
        taker("POST", "/api/impersonate/consent", &person, json!({"duration_hours": 1})),
        taker("POST", "/api/alerts/config", &person, json!({"enabled": {"email": true}})),
        taker("POST", "/systems/inventory", &appliance, json!({"a": 1})),
        taker("POST", &format!("{router}/alerts"), &appliance, json!([{"labels": {"alertname": "A"}}])),
        taker("POST", &format!("{router}/silences"), &appliance, silence),
    ]
}

async fn send(t: &Test, taker: &Taker, body: impl Into<Vec<u8>>) -> Reply {
    let call =
        t.call(taker.method.parse().unwrap(), &taker.path).header("authorization", &taker.authorization);
    call.header("content-type", "application/json").body(body.into()).send().await
}

// As OpenMetadata#31120 reports it.
api_test!(a_byte_order_mark_before_a_body_is_skipped, |t| async move {
    for taker in takers(&t).await {
        let plain = send(&t, &taker, taker.body.clone()).await;
        assert!(plain.status.is_success(), "{} {}", taker.path, plain.text());
        let marked = send(&t, &taker, format!("\u{feff}{}", taker.body)).await;
        assert_eq!(marked.status, plain.status, "{} {}", taker.path, marked.text());
        let twice = send(&t, &taker, format!("\u{feff}\u{feff}{}", taker.body)).await;
        assert_eq!(twice.status, 400, "{}", taker.path);
    }
});

api_test!(a_body_that_is_no_json_is_refused_with_the_place_and_what_stands_there, |t| async move {
    let takers = takers(&t).await;
    for (body, error) in [
        ("{\n\n\n\n\n\n \"é\": NaN}", "unexpected character 'N' at line 7 column 7"),
        ("\u{feff}{\"a\": 01}", "invalid number at line 1 column 8"),
        ("{\"a\": 'b'}", "unexpected character ''' at line 1 column 7"),
        ("{\"a\": 1,}", "unexpected character '}' at line 1 column 9"),
        ("{\"a\": [1", "unexpected end of input at line 1 column 9"),
        ("{\"a\": 1} x", "data after the value at line 1 column 10"),
        ("{\"a\": \"\\x\"}", "invalid escape at line 1 column 8"),
        ("{\"a\": \"\t\"}", "control character in a string at line 1 column 8"),
    ] {
        let (what, line) = error.split_once(" at ").unwrap();
        for taker in &takers {
            let reply = send(&t, taker, body).await;
            // An array is expected where alerts are pushed; the mistake comes first all the same.
            let text = reply.expect(400).text().replace('\\', "");
            assert!(text.contains(what) && text.contains(line), "{} {body:?}: {text}", taker.path);
        }
    }
});

/// The text of a member of an answer, as its bytes are: a parsed number would hide how it was written.
fn written(reply: &Reply, key: &str) -> String {
    let text = reply.text();
    let (_, from) = text.split_once(&format!("\"{key}\":")).unwrap_or_else(|| panic!("no {key} in {text}"));
    let end = from.find([',', '}', ']']).unwrap_or(from.len());
    from[..end].to_owned()
}

// As fleetdm/fleet#15472 reports it.
api_test!(numbers_of_free_data_stay_as_they_came, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let user = t.user(tree.customer, &["reader"]).await;
    for number in [
        "0",
        "-0",
        "42",
        "1.0",
        "1.10",
        "1e5",
        "1E+2",
        "1e400",
        "-1.5e-400",
        "1e400000",
        "18446744073709551616",
        "123456789012345678901234567890",
        "3.14159265358979323846264338327950288",
    ] {
        let paths = [format!("/api/customers/{}", tree.customer), format!("/api/users/{}", user.id)];
        for path in &paths {
            let body = format!(
                "{{\"custom_data\": {{\"vat\": \"IT01\", \"n\": {number}, \"in\": [{{\"m\": {number}}}]}}}}"
            );
            let changed = t.put(path).bearer(&owner.token).body(body).send().await.expect(200);
            let read = t.get(path).bearer(&owner.token).send().await.expect(200);
            let list = path.rsplit_once('/').unwrap().0;
            let listed =
                t.get(&format!("{list}?page_size=100&search=")).bearer(&owner.token).send().await.expect(200);
            for reply in [&changed, &read] {
                assert_eq!(
                    (written(reply, "n"), written(reply, "m")),
                    (number.into(), number.into()),
                    "{path}"
                );
            }
            assert!(listed.text().contains(&format!("\"n\":{number},")), "{path} {}", listed.text());
        }
        let audit = format!("/api/audit?object_id={}&page_size=1", tree.customer);
        let recorded = t.get(&audit).bearer(&owner.token).send().await.expect(200);
        assert!(recorded.text().contains(&format!("\"n\":{number},")), "{}", recorded.text());
    }
    let export = t.get("/api/customers/export?format=csv").bearer(&owner.token).send().await.expect(200);
    let cell = "\"\"n\"\":3.14159265358979323846264338327950288,";
    assert!(export.text().contains(cell), "{}", export.text());
    // A change of something else leaves them.
    let path = format!("/api/customers/{}", tree.customer);
    t.put(&path).bearer(&owner.token).json(json!({"description": "d"})).send().await.expect(200);
    let read = t.get(&path).bearer(&owner.token).send().await.expect(200);
    assert_eq!(written(&read, "n"), "3.14159265358979323846264338327950288");
    // A system's data is text only.
    let system = t.system(tree.customer).await;
    let body = "{\"custom_data\": {\"a\": 1e400}}";
    let call = t.put(&format!("/api/systems/{}", system.id)).bearer(&owner.token).body(body);
    let refused = call.send().await.expect(400).data()["errors"][0].clone();
    assert_eq!(refused["message"], "wrong_type");
});
