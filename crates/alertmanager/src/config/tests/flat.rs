//! The flat form of older clients.

use super::*;

fn recipients(layer: &Layer, key: &str, severity: Severity) -> Vec<String> {
    let recipients = layer.recipients(key, severity);
    let mails = recipients.email.iter().map(Recipient::key);
    let hooks = recipients.webhook.iter().map(Recipient::key);
    let mut all: Vec<String> =
        mails.chain(hooks).chain(recipients.telegram.iter().map(Recipient::key)).collect();
    all.sort();
    all
}

#[test]
fn lists_in_force_become_severities() {
    let read = layer(&json!({
        "mail_enabled": true, "webhook_enabled": false, "telegram_enabled": null,
        "mail_addresses": ["a@example.org", "b@example.org", "A@example.org"],
        "webhook_receivers": [{"name": "hook", "url": "https://example.org/h"}],
        "severities": [
            {"severity": "critical", "mail_addresses": ["b@example.org", "c@example.org"]},
            {"severity": "info", "mail_enabled": false, "telegram_enabled": true,
             "telegram_receivers": [{"bot_token": "1:a", "chat_id": 5}]},
        ],
        "email_template_lang": "it",
    }));
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        whole(json!({
            "enabled": {"email": true, "webhook": false, "telegram": true},
            "email_recipients": [
                {"address": "a@example.org", "severities": ["warning"], "language": "it", "format": "html"},
                {"address": "b@example.org", "severities": ["critical", "warning"], "language": "it", "format": "html"},
                {"address": "c@example.org", "severities": ["critical"], "language": "it", "format": "html"},
            ],
            // Switched off, and kept.
            "webhook_recipients": [{"name": "hook", "url": "https://example.org/h", "severities": []}],
            "telegram_recipients": [{"bot_token": "1:a", "chat_id": 5, "severities": ["info"], "language": "it"}],
            "systems": [],
        }))
    );
}

#[test]
fn systems_become_overrides() {
    let read = layer(&json!({
        "mail_enabled": true, "mail_addresses": ["a@example.org"], "webhook_enabled": true,
        "severities": [{"severity": "info", "mail_enabled": false}],
        "systems": [
            {"system_key": "FOLLOWS"},
            {"system_key": "OWN-LIST", "mail_addresses": ["s@example.org"]},
            {"system_key": "OFF", "mail_enabled": false, "mail_addresses": ["kept@example.org"]},
            {"system_key": "ALL-ON", "mail_enabled": true},
            {"system_key": "CHAT", "telegram_receivers": [{"bot_token": "1:a", "chat_id": 5}], "telegram_enabled": true},
        ],
    }));
    let recipients = |key, severity| recipients(&read, key, severity);
    assert_eq!(recipients("FOLLOWS", Severity::Critical), ["a@example.org"]);
    assert_eq!(recipients("FOLLOWS", Severity::Info), [""; 0]);
    assert_eq!(recipients("OWN-LIST", Severity::Warning), ["s@example.org"]);
    assert_eq!(recipients("OWN-LIST", Severity::Info), [""; 0]);
    assert_eq!(recipients("OFF", Severity::Critical), [""; 0]);
    assert_eq!(read.systems[2].channels.email_recipients[0].address, "kept@example.org");
    // The toggle of the system comes before that of the severity.
    assert_eq!(recipients("ALL-ON", Severity::Info), ["a@example.org"]);
    assert_eq!(recipients("CHAT", Severity::Info), ["1:a/5"]);
    assert_eq!(read.systems[0].channels, Channels::default());
}

/// A system's own list is notified where its toggle is on, even if the organization has no recipients.
#[test]
fn a_list_of_a_system_has_a_toggle_of_its_own() {
    let read = layer(&json!({
        "mail_enabled": false, "webhook_enabled": true,
        "severities": [{"severity": "critical", "mail_enabled": true}],
        "systems": [
            {"system_key": "MAIL", "mail_addresses": ["s@example.org"]},
            {"system_key": "HOOK", "webhook_receivers": [{"name": "h", "url": "https://example.org/h"}]},
            {"system_key": "OFF", "telegram_receivers": [{"bot_token": "1:a", "chat_id": 5}]},
            {"system_key": "ON", "mail_enabled": true},
        ],
    }));
    assert_eq!(recipients(&read, "MAIL", Severity::Critical), ["s@example.org"]);
    assert_eq!(recipients(&read, "MAIL", Severity::Info), [""; 0]);
    assert_eq!(recipients(&read, "HOOK", Severity::Info), ["https://example.org/h"]);
    assert_eq!(recipients(&read, "OFF", Severity::Info), [""; 0]);
    let toggles: Vec<Toggles> = read.systems.iter().map(|s| s.channels.enabled).collect();
    let none = Toggles::default();
    assert_eq!(
        toggles,
        [
            Toggles { email: Some(true), ..none },
            Toggles { webhook: Some(true), ..none },
            Toggles { telegram: Some(false), ..none },
            Toggles { email: Some(true), ..none },
        ]
    );
    assert_eq!(read.systems[2].channels.telegram_recipients.len(), 1, "kept");
    // Sent by itself it is the flat form too.
    let alone = layer(
        &json!({"systems": [{"system_key": "A", "mail_enabled": true, "mail_addresses": ["s@example.org"]}]}),
    );
    assert_eq!(recipients(&alone, "A", Severity::Info), ["s@example.org"]);
}

#[test]
fn errors_have_the_paths_of_the_flat_form() {
    for (body, expected) in [
        (
            json!({"severities": [{"severity": "fatal"}]}),
            vec!["invalid severity level: fatal. allowed: critical, warning, info"],
        ),
        (json!({"severities": [{}]}), vec!["invalid severity level: . allowed: critical, warning, info"]),
        (
            json!({"email_template_lang": "fr"}),
            vec!["invalid email_template_lang: allowed values are en, it"],
        ),
        (
            json!({"mail_addresses": ["x"], "webhook_receivers": [{"name": "", "url": "http://127.0.0.1/"}],
                "telegram_receivers": [{"bot_token": "x", "chat_id": 0}],
                "severities": [{"severity": "info", "mail_addresses": [""]}, {"severity": "info"}],
                "systems": [{"system_key": "A", "mail_addresses": ["y"]}, {"system_key": "A"}]}),
            vec![
                "mail_addresses.0: invalid_format",
                "webhook_receivers.0.name: required",
                "webhook_receivers.0.url: host_not_publicly_routable",
                "telegram_receivers.0.bot_token: invalid_format",
                "telegram_receivers.0.chat_id: invalid_value",
                "severities.0.mail_addresses.0: required",
                "severities.1.severity: duplicate",
                "systems.0.mail_addresses.0: invalid_format",
                "systems.1.system_key: duplicate",
            ],
        ),
    ] {
        assert_eq!(refusals(&body), expected, "{body}");
    }
    // Together they are more than a layer takes.
    let mails = |c: &str| (0..30).map(|i| format!("{c}{i}@example.org")).collect::<Vec<_>>();
    let body = json!({"mail_enabled": true, "mail_addresses": mails("a"),
        "severities": [{"severity": "critical", "mail_addresses": mails("b")}]});
    assert_eq!(refusals(&body), ["mail_addresses: max"]);
    // The same for a system, whose toggle overrides that of a severity.
    let body = json!({"mail_enabled": true, "mail_addresses": mails("a"), "severities": [
        {"severity": "critical", "mail_enabled": false, "mail_addresses": mails("b")}],
        "systems": [{"system_key": "A", "mail_enabled": true}]});
    assert_eq!(refusals(&body), ["systems.0.mail_addresses: max"]);
}

#[test]
fn kinds_that_the_flat_form_does_not_have_are_kept() {
    let key = "k".repeat(32);
    let stored = layer(&json!({
        "enabled": {"email": true, "slack": true, "pagerduty": false},
        "email_recipients": [{"address": "a@example.org"}],
        "slack_recipients": [{"name": "ops", "url": "https://example.org/s", "language": "it"}],
        "systems": [
            {"system_key": "BOTH", "enabled": {"teams": false}, "email_recipients": [{"address": "s@example.org"}]},
            {"system_key": "NEW", "pagerduty_recipients": [{"name": "duty", "routing_key": key}]},
            {"system_key": "OLD", "email_recipients": [{"address": "s@example.org"}]}],
    }));
    let mut sent = serde_json::to_value(FlatView::of(&stored)).unwrap();
    let back = checked(&sent, Some(&stored)).unwrap().layer;
    assert_eq!(
        back.channels.slack_recipients, stored.channels.slack_recipients,
        "sent back as it was received"
    );
    assert_eq!(back.systems[1], stored.systems[1]);
    sent["mail_addresses"] = json!(["b@example.org"]);
    sent["systems"] = json!([{"system_key": "BOTH", "mail_enabled": true}]);
    let read = checked(&sent, Some(&stored)).unwrap().layer;
    assert_eq!(read.channels.email_recipients[0].address, "b@example.org");
    assert_eq!(read.channels.slack_recipients, stored.channels.slack_recipients);
    assert_eq!((read.channels.enabled.slack, read.channels.enabled.pagerduty), (Some(true), Some(false)));
    let keys: Vec<&str> = read.systems.iter().map(|one| one.system_key.as_str()).collect();
    assert_eq!(keys, ["BOTH", "NEW"]);
    assert_eq!(
        read.systems[0].channels.enabled,
        Toggles { email: Some(true), teams: Some(false), ..Toggles::default() }
    );
    assert_eq!(read.systems[1].channels, stored.systems[1].channels);
    // Nothing is stored yet.
    assert_eq!(checked(&sent, None).unwrap().layer.channels.slack_recipients, []);
}

#[test]
fn the_flat_view() {
    let shown = layer(&json!({
        "enabled": {"email": true, "webhook": false, "telegram": false},
        "email_recipients": [{"address": "all@example.org", "language": "it"}, {"address": "c@example.org", "severities": ["critical"]}],
        "webhook_recipients": [{"name": "off", "url": "https://example.org/h"}],
        "systems": [{"system_key": "SYS-1", "enabled": {"email": false}, "email_recipients": [{"address": "s@example.org"}]}],
    }));
    let empty = json!({"mail_enabled": null, "webhook_enabled": null, "telegram_enabled": null, "mail_addresses": [],
        "webhook_receivers": [], "telegram_receivers": []});
    let with = |key: &str, value: &str, more: Value| {
        let mut object = empty.as_object().unwrap().clone();
        object.insert(key.to_owned(), json!(value));
        object.extend(more.as_object().unwrap().clone());
        Value::Object(object)
    };
    assert_eq!(
        serde_json::to_value(FlatView::of(&shown)).unwrap(),
        json!({
            "mail_enabled": true, "webhook_enabled": false, "telegram_enabled": false,
            "mail_addresses": ["all@example.org"],
            "webhook_receivers": [{"name": "off", "url": "https://example.org/h"}],
            "telegram_receivers": [],
            "severities": [with("severity", "critical", json!({"mail_addresses": ["all@example.org", "c@example.org"]}))],
            "systems": [with("system_key", "SYS-1", json!({"mail_enabled": false, "mail_addresses": ["s@example.org"]}))],
            "email_template_lang": "it",
        })
    );
}

proptest! {
    /// An older client that sends back what it received changes no recipients and loses nothing.
    #[test]
    fn sent_back_it_means_the_same(channels in channels()) {
        let mut layer = Layer { channels, systems: Vec::new() };
        for hook in &mut layer.channels.webhook_recipients {
            hook.url = hook.url.split('?').next().unwrap().to_owned();
        }
        let shown = serde_json::to_value(FlatView::of(&layer)).unwrap();
        let again = checked(&shown, None).unwrap().layer;
        for severity in Severity::ALL {
            prop_assert_eq!(recipients(&again, "", severity), recipients(&layer, "", severity));
        }
        let keys = |l: &Layer| {
            let mut keys: Vec<_> = l.channels.email_recipients.iter().map(Recipient::key)
                .chain(l.channels.webhook_recipients.iter().map(Recipient::key))
                .chain(l.channels.telegram_recipients.iter().map(Recipient::key)).collect();
            keys.sort();
            keys
        };
        prop_assert_eq!(keys(&again), keys(&layer));
    }
}
