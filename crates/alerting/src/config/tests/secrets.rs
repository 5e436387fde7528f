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
fn what_nobody_stored_is_refused() {
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
    let mut kept = secrets(&again);
    kept.sort();
    let mut all = secrets(&stored);
    all.sort();
    assert_eq!(kept, all);
}

#[test]
fn strangers_are_hidden_whole() {
    let own = layer(&json!({"email_recipients": [{"address": "own@example.org"}]}));
    let above =
        layer(&json!({"email_recipients": [{"address": "OWN@example.org"}, {"address": "noc@example.org"}],
        "webhook_recipients": [{"name": "a", "url": "https://example.org/x"}],
        "telegram_recipients": [{"bot_token": "1:a", "chat_id": 5}]}));
    let mut shown = merge([&above], Some(&own));
    shown.hide_strangers(&own);
    assert_eq!(
        serde_json::to_value(&shown.channels).unwrap(),
        json!({
            "enabled": {"email": null, "webhook": null, "telegram": null},
            "email_recipients": [
                {"address": "OWN@example.org", "severities": [], "language": "en", "format": "html"},
                {"address": "[REDACTED]", "severities": [], "language": "en", "format": "html"}],
            "webhook_recipients": [{"name": "[REDACTED]", "url": "[REDACTED]", "severities": []}],
            "telegram_recipients": [{"bot_token": "[REDACTED]", "chat_id": 0, "severities": [], "language": "en"}],
        })
    );
}
