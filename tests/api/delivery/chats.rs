//! Notifications to Slack, Microsoft Teams and PagerDuty (spec: alert-delivery#chats-and-incidents). Each body has the shape of the
//! example that its maker publishes.

use super::*;

/// One with every field that Slack's reference of attachments names and this service sends.
fn slack_example() -> Value {
    json!({"text": "", "attachments": [{"mrkdwn_in": ["text"], "color": "#36a64f", "pretext": "", "author_name": "", "title": "title",
        "title_link": "", "text": "Optional text", "fallback": "", "fields": [], "footer": "", "ts": 123_456_789}]})
}

fn teams_example() -> Value {
    json!({"type": "message", "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null,
        "content": {"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.2",
            "msteams": {"width": "Full"}, "body": [{"type": "TextBlock"}]}}]})
}

fn pagerduty_example() -> Value {
    json!({"payload": {"summary": "Example alert", "timestamp": "2015-07-17T08:42:58.315+0000", "source": "monitoringtool",
            "severity": "info", "component": "postgres", "group": "prod-datapipe", "class": "deploy", "custom_details": {}},
        "routing_key": "samplekeyhere", "dedup_key": "samplekeyhere", "images": [], "links": [], "event_action": "trigger",
        "client": "Sample Monitoring Service", "client_url": "https://monitoring.example.com"})
}

/// Every key of a body is one of the example, with a value of the same type; free parts of the example are empty objects, and
/// lists have elements of the first one's shape.
#[track_caller]
fn has_shape_of(body: &Value, example: &Value, path: &str) {
    match (body, example) {
        (Value::Object(body), Value::Object(example)) if !example.is_empty() => {
            for (key, value) in body {
                let expected =
                    example.get(key).unwrap_or_else(|| panic!("{path}.{key} is not in the example"));
                has_shape_of(value, expected, &format!("{path}.{key}"));
            }
        }
        (Value::Array(body), Value::Array(example)) if path != ".attachments.content.body" => {
            body.iter().for_each(|one| has_shape_of(one, &example[0], path));
        }
        _ => assert_eq!(std::mem::discriminant(body), std::mem::discriminant(example), "{path}"),
    }
}

const KEY: &str = "0123456789abcdefghijABCDEFGHIJ01";

async fn to_all(engine: Engine) -> (DeliveryTest, Recorder) {
    let events = Recorder::start(|_| Answer::json(202, &json!({"status": "success"}))).await.unwrap();
    let api = format!("{}/v2/enqueue", events.url());
    let test = DeliveryTest::with(engine, |settings| settings.alerting.pagerduty_api = Some(api)).await;
    let organization = test.system_organization().await;
    let layer = json!({"enabled": {"slack": true, "teams": true, "pagerduty": true},
        "slack_recipients": [{"name": "ops", "url": format!("{}/slack", test.hook.url()), "language": "it"}],
        "teams_recipients": [{"name": "desk", "url": format!("{}/teams", test.hook.url())}],
        "pagerduty_recipients": [{"name": "duty", "routing_key": KEY}]});
    test.t.alert_layer(organization, layer).await;
    (test, events)
}

/// The bodies that the chats received since the last call: Slack's and those of Teams.
fn posted(test: &DeliveryTest) -> [Vec<Value>; 2] {
    let all = test.hook.take();
    ["/slack", "/teams"]
        .map(|path| all.iter().filter(|sent| sent.path == path).map(|sent| sent.json().unwrap()).collect())
}

on_both!(chats_and_incidents_follow_a_group, |engine| async {
    let (test, events) = to_all(engine).await;
    test.push(&["<a> & b"], None).await;
    test.after(30 * SECOND).await;

    let [slack, teams] = posted(&test);
    assert_eq!((slack.len(), teams.len()), (1, 1));
    has_shape_of(&slack[0], &slack_example(), "");
    let message = &slack[0]["attachments"][0];
    assert_eq!(message["color"], "danger");
    assert!(message["title"].as_str().unwrap().starts_with("[FIRING:1] DiskFull "), "{message}");
    let text = message["text"].as_str().unwrap();
    assert!(text.starts_with("*DiskFull* (critical, attivo)\n&lt;a&gt; &amp; b is full\n"), "{text}");
    assert!(text.contains("|Apri il sistema>"), "{text}");

    has_shape_of(&teams[0], &teams_example(), "");
    let body = &teams[0]["attachments"][0]["content"]["body"];
    let heading = body[0]["inlines"][0]["text"].as_str().unwrap();
    assert!(heading.starts_with("[FIRING:1] DiskFull "), "{heading}");
    let shown = body.to_string();
    assert!(shown.contains("\"<a> & b is full\"") && shown.contains("Action.OpenUrl"), "{shown}");

    let sent = events.take();
    assert_eq!((sent.len(), sent[0].path.as_str()), (1, "/v2/enqueue"));
    let opened = sent[0].json().unwrap();
    has_shape_of(&opened, &pagerduty_example(), "");
    assert_eq!((&opened["routing_key"], &opened["event_action"]), (&json!(KEY), &json!("trigger")));
    let payload = &opened["payload"];
    assert_eq!((&payload["severity"], &payload["class"]), (&json!("critical"), &json!("DiskFull")));
    assert_eq!(payload["source"], test.system.key.as_str());
    assert_eq!(payload["custom_details"]["num_firing"], 1);
    let incident = opened["dedup_key"].as_str().unwrap();
    assert!(!incident.is_empty() && incident.len() <= 255);

    // The end of the group resolves the incident that its beginning has opened.
    test.push(&["<a> & b"], Some(0)).await;
    test.after(5 * MINUTE).await;
    let [slack, teams] = posted(&test);
    assert_eq!((slack.len(), teams.len(), &slack[0]["attachments"][0]["color"]), (1, 1, &json!("good")));
    let closed = events.take()[0].json().unwrap();
    assert_eq!(closed, json!({"routing_key": KEY, "dedup_key": incident, "event_action": "resolve"}));
});

on_both!(control_characters_are_never_sent, |engine| async {
    let (test, events) = to_all(engine).await;
    test.push(&["a\u{1b}[2Jb\u{7}"], None).await;
    test.after(30 * SECOND).await;
    let [slack, teams] = posted(&test);
    let opened = events.take()[0].json().unwrap();
    for body in [&slack[0], &teams[0], &opened] {
        let text = body.to_string();
        assert!(text.contains("a\u{fffd}[2Jb\u{fffd} is full") && !text.contains("\\u00"), "{text}");
    }
});

on_both!(a_large_group_fits_into_a_card_and_counts_what_is_left_out, |engine| async {
    let (test, _events) = to_all(engine).await;
    let mounts: Vec<String> = (0..120).map(|n| format!("{n:03}{}", "x".repeat(400))).collect();
    test.push(&mounts.iter().map(String::as_str).collect::<Vec<_>>(), None).await;
    test.after(30 * SECOND).await;
    let [slack, teams] = posted(&test);
    assert!(slack[0]["attachments"][0]["text"].as_str().unwrap().chars().count() <= 4000);
    let card = teams[0].to_string();
    assert!(card.len() < 28_000, "{}", card.len());
    let body = teams[0]["attachments"][0]["content"]["body"].as_array().unwrap();
    let left_out = body.last().unwrap()["inlines"][0]["text"].as_str().unwrap();
    assert_eq!(left_out, format!("Further alerts: {}", 120 - (body.len() - 2)));
});

on_both!(errors_of_chats_are_logged_without_secrets, |engine| async {
    let (test, events) = to_all(engine).await;
    let ada = test.t.user(test.system_organization().await, &["admin"]).await;
    test.hook.answer_by(|_| Answer::status(404).body("no_service"));
    events.answer_by(|_| Answer::status(400).body("invalid key"));
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    let layer = test.t.get("/api/alerts/config").bearer(&ada.token).send().await.expect(200).data();
    let warnings = layer["warnings"].to_string();
    for part in [
        "slack ops: delivery failed at",
        "teams desk: delivery failed at",
        "pagerduty duty: delivery failed at",
    ] {
        assert!(warnings.contains(part), "{warnings}");
    }
    assert!(
        !warnings.contains(KEY) && !warnings.contains("/slack") && !warnings.contains("no_service"),
        "{warnings}"
    );

    // Each can be tested.
    test.hook.answer_by(|_| Answer::status(200));
    events.answer_by(|_| Answer::status(202));
    let _ = events.take();
    for (channel, recipient) in [("slack", "ops"), ("teams", "desk"), ("pagerduty", "duty")] {
        let body = json!({"channel": channel, "recipient": recipient});
        let sent = test
            .t
            .post("/api/alerts/config/test")
            .bearer(&ada.token)
            .json(body.clone())
            .send()
            .await
            .expect(200)
            .data();
        assert_eq!((&sent["delivered"], &sent["channel"]), (&json!(true), &json!(channel)));
    }
    let event = events.take()[0].json().unwrap();
    assert_eq!(
        (&event["payload"]["severity"], &event["payload"]["class"]),
        (&json!("info"), &json!("TestNotification"))
    );
});

on_both!(an_incident_stays_the_same_when_the_configuration_moves_its_alerts, |engine| async {
    let (test, events) = to_all(engine).await;
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    let duty = json!([{"name": "duty", "routing_key": KEY}]);
    let layer = json!({"enabled": {"pagerduty": true}, "pagerduty_recipients": duty,
        "systems": [{"system_key": test.system.key, "enabled": {"email": true}}]});
    test.t.alert_layer(test.system_organization().await, layer).await;
    test.after(5 * MINUTE).await;
    test.push(&["a"], Some(0)).await;
    test.after(5 * MINUTE).await;
    test.after(5 * MINUTE).await;
    let sent: Vec<Value> = events.take().iter().map(|sent| sent.json().unwrap()).collect();
    assert!(sent.iter().all(|event| event["dedup_key"] == sent[0]["dedup_key"]), "{sent:?}");
    assert_eq!(sent.last().unwrap()["event_action"], "resolve", "{sent:?}");
});
