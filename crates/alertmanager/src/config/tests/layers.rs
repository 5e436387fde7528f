//! Merging, and the recipients that result.

use super::*;

fn addresses(recipients: &Recipients) -> Vec<&str> {
    recipients.email.iter().map(|r| r.address.as_str()).collect()
}

#[test]
fn layers_add_up() {
    let owner = layer(&json!({"enabled": {"email": false, "webhook": true}, "email_recipients": [
        {"address": "noc@example.org", "severities": ["critical"], "language": "it", "format": "plain"}],
        "systems": [{"system_key": "SYS-OWNER", "enabled": {"webhook": false}}]}));
    let reseller = layer(&json!({"enabled": {"email": true}, "email_recipients": [
        {"address": "NOC@example.org", "severities": ["info"]}, {"address": "b@example.org", "severities": ["info"]}],
        "webhook_recipients": [{"name": "first", "url": "https://example.org/h", "severities": ["info"]}]}));
    let own = layer(
        &json!({"email_recipients": [{"address": "b@example.org", "severities": ["warning", "critical"]}],
        "webhook_recipients": [{"name": "second", "url": "https://example.org/h"}],
        "systems": [{"system_key": "SYS-2"}, {"system_key": "SYS-1", "email_recipients": [{"address": "one@example.org",
        "severities": ["info", "critical", "warning"]}]}]}),
    );
    let merged = merge([&owner, &reseller], Some(&own));
    assert_eq!(
        serde_json::to_value(&merged).unwrap(),
        whole(json!({
            "enabled": {"email": true, "webhook": true, "telegram": null},
            "email_recipients": [
                {"address": "noc@example.org", "severities": ["critical", "info"], "language": "it", "format": "plain"},
                {"address": "b@example.org", "severities": [], "language": "en", "format": "html"},
            ],
            "webhook_recipients": [{"name": "first", "url": "https://example.org/h", "severities": []}],
            "telegram_recipients": [],
            "systems": [
                {"system_key": "SYS-1", "enabled": {"email": true, "webhook": null, "telegram": null},
                 "email_recipients": [
                    {"address": "one@example.org", "severities": [], "language": "en", "format": "html"}],
                 "webhook_recipients": [], "telegram_recipients": []},
                {"system_key": "SYS-2", "enabled": {"email": null, "webhook": null, "telegram": null},
                 "email_recipients": [], "webhook_recipients": [], "telegram_recipients": []},
            ],
        }))
    );
    // Overrides of organizations above do not apply to this tenant.
    assert_eq!(merge([&owner], None).systems, []);
    assert_eq!(merge([], None), Layer::default());
}

#[test]
fn an_override_takes_the_place_of_what_it_names() {
    let merged = layer(
        &json!({"enabled": {"email": true, "webhook": true, "telegram": false}, "email_recipients": [{"address": "a@example.org"}],
        "webhook_recipients": [{"name": "a", "url": "https://example.org/h"}],
        "telegram_recipients": [{"bot_token": "1:a", "chat_id": 1}],
        "systems": [
            {"system_key": "OTHER-LIST", "email_recipients": [{"address": "b@example.org", "severities": ["critical"]}]},
            {"system_key": "MUTE", "enabled": {"email": false, "webhook": false}},
            {"system_key": "CHAT", "enabled": {"telegram": true}},
        ]}),
    );
    let recipients_of = |key, severity| merged.recipients(key, severity);
    assert_eq!(addresses(&recipients_of("NONE", Severity::Info)), ["a@example.org"]);
    assert_eq!(addresses(&recipients_of("OTHER-LIST", Severity::Critical)), ["b@example.org"]);
    assert_eq!(addresses(&recipients_of("OTHER-LIST", Severity::Info)), [""; 0]);
    assert_eq!(recipients_of("OTHER-LIST", Severity::Info).webhook.len(), 1);
    assert!(recipients_of("MUTE", Severity::Critical).is_empty());
    assert_eq!(
        (
            recipients_of("CHAT", Severity::Info).telegram.len(),
            recipients_of("NONE", Severity::Info).telegram.len()
        ),
        (1, 0)
    );
}

#[test]
fn what_is_neither_critical_nor_a_warning_is_info() {
    for (label, severity) in [("critical", Severity::Critical), ("warning", Severity::Warning)] {
        assert_eq!(Severity::of_label(label), severity);
    }
    for label in ["info", "", "Critical", "none", "critical "] {
        assert_eq!(Severity::of_label(label), Severity::Info);
    }
}

proptest! {
    /// The merged layer notifies every recipient of a part, and no recipient that no part names.
    #[test]
    fn merging_only_adds(stack in prop::collection::vec(channels(), 1..4)) {
        let stack: Vec<Layer> =
            stack.into_iter().map(|channels| Layer { channels, systems: Vec::new() }).collect();
        let (own, above) = stack.split_last().unwrap();
        let merged = merge(above, Some(own));
        for severity in Severity::ALL {
            let recipients = merged.recipients("", severity);
            for part in &stack {
                let part = part.recipients("", severity);
                prop_assert!(part.email.iter().all(|r| recipients.email.iter().any(|t| t.key() == r.key())));
                prop_assert!(
                    part.webhook.iter().all(|r| recipients.webhook.iter().any(|t| t.key() == r.key()))
                );
                prop_assert!(
                    part.telegram.iter().all(|r| recipients.telegram.iter().any(|t| t.key() == r.key()))
                );
            }
            for recipient in &recipients.email {
                let names = |l: &Layer| l.channels.email_recipients.iter().any(|r| r.key() == recipient.key() && r.wants(severity));
                prop_assert!(stack.iter().any(names));
            }
        }
        // Merging a merged layer again changes nothing.
        prop_assert_eq!(&merge([], Some(&merged)), &merged);
        prop_assert_eq!(&merge([&merged], Some(&Layer::default())), &merged);
    }
}
