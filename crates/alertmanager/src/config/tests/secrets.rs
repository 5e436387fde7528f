//! Secrets hidden and sent back.

use super::*;

fn stored() -> Layer {
    layer(&json!({
        "webhook_recipients": [
            {"name": "a", "url": "https://hooks.example.org/one"},
            {"name": "a", "url": "https://hooks.example.org/two", "severities": ["critical"]},
            {"name": "b", "url": "http://example.org:8080/three"},
        ],
        "telegram_recipients": [
            {"bot_token": "1:one", "chat_id": 7}, {"bot_token": "2:two", "chat_id": 7, "severities": ["info"]},
            {"bot_token": "3:three", "chat_id": 8},
        ],
        "systems": [{"system_key": "SYS-1", "webhook_recipients": [{"name": "a", "url": "https://hooks.example.org/own"}]}],
    }))
}

fn secrets(layer: &Layer) -> Vec<String> {
    let mut all = Vec::new();
    let result: Result<(), ()> = layer.clone().change_secrets(|s| {
        all.push(s.clone());
        Ok(())
    });
    result.unwrap();
    all
}

#[test]
fn they_are_not_shown() {
    assert_eq!(
        secrets(&stored().redacted()),
        [
            "https://hooks.example.org/[REDACTED]",
            "https://hooks.example.org/[REDACTED]",
            "http://example.org:8080/[REDACTED]",
            "[REDACTED]",
            "[REDACTED]",
            "[REDACTED]",
            "https://hooks.example.org/[REDACTED]",
        ]
    );
}

#[test]
fn what_was_hidden_is_kept_when_it_is_sent_back() {
    let stored = stored();
    let shown = serde_json::to_value(stored.redacted()).unwrap();
    assert_eq!(checked(&shown, Some(&stored)).unwrap().layer, stored);
    // In another order, and with one gone.
    let some = json!({"webhook_recipients": [{"name": "b", "url": "http://example.org:8080/[REDACTED]"},
        {"name": "a", "url": "https://hooks.example.org/[REDACTED]"}, {"name": "new", "url": "https://example.org/new"}],
        "telegram_recipients": [{"bot_token": "[REDACTED]", "chat_id": 8}]});
    assert_eq!(
        secrets(&checked(&some, Some(&stored)).unwrap().layer),
        [
            "http://example.org:8080/three",
            "https://hooks.example.org/one",
            "https://example.org/new",
            "3:three"
        ]
    );
}

#[test]
fn a_secret_that_was_never_stored_is_refused() {
    let stored = stored();
    for (body, expected) in [
        (
            json!({"webhook_recipients": [{"name": "c", "url": "https://hooks.example.org/[REDACTED]"}]}),
            "webhook_recipients.0.url",
        ),
        (
            json!({"webhook_recipients": [{"name": "a", "url": "http://hooks.example.org/[REDACTED]"}]}),
            "webhook_recipients.0.url",
        ),
        (
            json!({"webhook_recipients": [{"name": "a", "url": "https://evil.example.org/[REDACTED]"}]}),
            "webhook_recipients.0.url",
        ),
        (json!({"webhook_recipients": [{"name": "a", "url": "[REDACTED]"}]}), "webhook_recipients.0.url"),
        (
            json!({"webhook_recipients": [
            {"name": "b", "url": "http://example.org:8080/[REDACTED]"},
            {"name": "b", "url": "http://example.org:8080/[REDACTED]"}]}),
            "webhook_recipients.1.url",
        ),
        (
            json!({"telegram_recipients": [{"bot_token": "[REDACTED]", "chat_id": 9}]}),
            "telegram_recipients.0.bot_token",
        ),
    ] {
        let Err(Error::Invalid(fields)) = checked(&body, Some(&stored)) else { panic!("{body} passes") };
        let found: Vec<_> = fields.iter().map(|f| (f.key.as_str(), f.message.as_str())).collect();
        assert_eq!(found, [(expected, "invalid_value")]);
    }
}

#[test]
fn the_flat_form_keeps_them_too() {
    let stored = stored();
    let shown = serde_json::to_value(FlatView::of(&stored.redacted())).unwrap();
    let open = serde_json::to_value(FlatView::of(&stored)).unwrap();
    let again = checked(&shown, Some(&stored)).unwrap().layer;
    assert_eq!(again, checked(&open, None).unwrap().layer);
    let mut kept_secrets = secrets(&again);
    kept_secrets.sort();
    let mut all = secrets(&stored);
    all.sort();
    assert_eq!(kept_secrets, all);
}

#[test]
fn a_layer_out_of_reach_is_hidden_whole_and_reveals_nothing_of_the_own_one() {
    let within = layer(&json!({"enabled": {"email": true},
        "email_recipients": [{"address": "own@example.org", "severities": ["critical"], "language": "it"}]}));
    let above = |address: &str| {
        layer(&json!({"enabled": {"telegram": true}, "email_recipients": [{"address": address}],
            "webhook_recipients": [{"name": "a", "url": "https://example.org/x", "severities": ["info"]}],
            "telegram_recipients": [{"bot_token": "1:a", "chat_id": 5}]}))
    };
    let shown = Layer::beside(&above("noc@example.org"), &within);
    assert_eq!(
        serde_json::to_value(&shown.channels).unwrap(),
        whole(json!({
            "enabled": {"email": true, "webhook": true, "telegram": true},
            "email_recipients": [
                {"address": "[REDACTED]", "severities": [], "language": "en", "format": "html"},
                {"address": "own@example.org", "severities": ["critical"], "language": "it", "format": "html"}],
            "webhook_recipients": [{"name": "[REDACTED]", "url": "[REDACTED]", "severities": ["info"]}],
            "telegram_recipients": [{"bot_token": "[REDACTED]", "chat_id": 0, "severities": [], "language": "en"}],
        }))
    );
    assert_eq!(
        Layer::beside(&above("OWN@example.org"), &within),
        shown,
        "an address of one's own shows nothing"
    );
}

/// One mebibyte of hidden webhooks against a stored layer as large as it may be.
#[test]
fn numbers_are_judged_before_anything_is_looked_for() {
    let many = |n: usize| json!({"name": "a", "url": format!("https://hooks.example.org/{n}")});
    let systems: Vec<Value> = (0..100)
        .map(|s| json!({"system_key": format!("SYS-{s}"), "webhook_recipients": (0..20).map(|n| many(s * 20 + n)).collect::<Vec<_>>()}))
        .collect();
    let stored = layer(&json!({"systems": systems}));
    let hidden = json!({"name": "a", "url": "https://hooks.example.org/[REDACTED]"});
    let body = json!({"webhook_recipients": vec![hidden.clone(); 15_000]});
    let begun = std::time::Instant::now();
    let Err(Error::Invalid(fields)) = checked(&body, Some(&stored)) else { panic!("15,000 recipients pass") };
    assert_eq!(
        (fields[0].key.as_str(), fields[0].message.as_str(), fields.len()),
        ("webhook_recipients", "max", 1)
    );
    // As many as may be: each finds its own, in its place.
    let shown = serde_json::to_value(stored.redacted()).unwrap();
    assert_eq!(checked(&shown, Some(&stored)).unwrap().layer, stored);
    let flat = json!({"severities": vec![json!({"severity": "info"}); 20_000]});
    assert_eq!(refusals(&flat), ["severities: max"]);
    let entry = |list: &str| {
        json!({"mail_enabled": true, list: [{"system_key": "A",
        "mail_addresses": (0..51).map(|n| format!("a{n}@example.org")).collect::<Vec<_>>()}]})
    };
    assert_eq!(refusals(&entry("systems")), ["systems.0.mail_addresses: max"]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn they_do_not_print() {
    let (layer, publishing) = (stored(), publishing());
    let upload = Upload::new("o", &layer, &publishing).unwrap();
    let document = Document::from_yaml(&upload.alertmanager_config).unwrap();
    let printed = format!("{layer:?}{upload:?}{document:?}{:?}{publishing:?}", FlatView::of(&layer));
    for secret in ["/one", "1:one", "2:two", "3:three", "/own", "p: #", "thirty-two", "alert_history"] {
        assert!(!printed.contains(secret), "{secret}: {printed}");
    }
}
