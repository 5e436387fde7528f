//! Bodies and their fields.

use super::*;

#[test]
fn a_layer_is_read_with_its_defaults() {
    let read = layer(&json!({
        "enabled": {"email": true, "webhook": false},
        "email_recipients": [{"address": " noc@example.org "}, {"address": "it@example.org", "severities":
            ["warning", "critical"], "language": "it", "format": "plain"}],
        "webhook_recipients": [{"name": "hook", "url": "https://example.org/h", "severities": null}],
        "telegram_recipients": [{"bot_token": "12:a-B_c", "chat_id": -100_123, "language": ""}],
        "systems": [{"system_key": "SYS-1", "enabled": {"telegram": false}, "email_recipients": null}],
        "updated_by_name": "Ada", "config": {"mail_enabled": true},
    }));
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        whole(json!({
            "enabled": {"email": true, "webhook": false, "telegram": true},
            "email_recipients": [
                {"address": "noc@example.org", "severities": [], "language": "en", "format": "html"},
                {"address": "it@example.org", "severities": ["warning", "critical"], "language": "it",
                 "format": "plain"},
            ],
            "webhook_recipients": [{"name": "hook", "url": "https://example.org/h", "severities": []}],
            "telegram_recipients": [
                {"bot_token": "12:a-B_c", "chat_id": -100_123, "severities": [], "language": "en"}],
            "systems": [{"system_key": "SYS-1", "enabled": {"email": null, "webhook": null, "telegram": false},
                "email_recipients": [], "webhook_recipients": [], "telegram_recipients": []}],
        }))
    );
    assert_eq!(serde_json::from_value::<Layer>(serde_json::to_value(&read).unwrap()).unwrap(), read);
    assert_eq!(layer(&json!({})), Layer::default());
    assert_eq!(layer(&json!({"enabled": null, "email_recipients": null, "systems": null})), Layer::default());
}

#[test]
fn only_the_owner_refuses() {
    let body = json!({"enabled": {"email": false, "webhook": true}, "systems": [
        {"system_key": "SYS-1", "enabled": {"email": false}}]});
    let check = |above: Option<&Channels>| {
        let posted = Posted::read(body.to_string().as_bytes()).unwrap();
        posted.check(None, above, &AllowedHosts::default(), Language::English).unwrap().layer
    };
    assert_eq!(check(None).channels.enabled.email, Some(false));
    let other = check(Some(&Channels::default()));
    assert_eq!((other.channels.enabled.email, other.channels.enabled.webhook), (None, Some(true)));
    // An override replaces the organization's setting, so its `false` is kept.
    assert_eq!(other.systems[0].channels.enabled.email, Some(false));
}

#[test]
fn bodies_that_are_none() {
    for (body, reason) in [
        ("", "malformed JSON: unexpected end of input at line 1 column 1"),
        ("{", "malformed JSON: unexpected end of input at line 1 column 2"),
        ("[]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ("[1,", "malformed JSON: unexpected end of input at line 1 column 4"),
        ("{\"enabled\": nope}", "malformed JSON: unexpected character 'o' at line 1 column 14"),
        ("{} {}", "malformed JSON: data after the value at line 1 column 4"),
        ("{\"enabled\": true}", "enabled has the wrong type"),
        ("{\"enabled\": {\"email\": \"yes\"}}", "enabled.email has the wrong type"),
        ("{\"email_recipients\": {}}", "email_recipients has the wrong type"),
        ("{\"email_recipients\": [null]}", "email_recipients.0 has the wrong type"),
        ("{\"email_recipients\": [{\"address\": 5}]}", "email_recipients.0.address has the wrong type"),
        (
            "{\"telegram_recipients\": [{\"chat_id\": \"5\"}]}",
            "telegram_recipients.0.chat_id has the wrong type",
        ),
        (
            "{\"telegram_recipients\": [{\"chat_id\": 1.5}]}",
            "telegram_recipients.0.chat_id has the wrong type",
        ),
        (
            "{\"telegram_recipients\": [{\"chat_id\": 99999999999999999999}]}",
            "telegram_recipients.0.chat_id has the wrong type",
        ),
        ("{\"systems\": [{\"enabled\": 1}]}", "systems.0.enabled has the wrong type"),
        ("{\"mail_addresses\": [1]}", "mail_addresses.0 has the wrong type"),
        ("{\"enabled\": [true]}", "enabled has the wrong type"),
        ("{\"email_recipients\": [[\"a@example.org\"]]}", "email_recipients.0 has the wrong type"),
        ("{\"systems\": [{\"system_key\": \"A\", \"enabled\": []}]}", "systems.0.enabled has the wrong type"),
        ("{\"systems\": [[\"A\"]]}", "systems.0 has the wrong type"),
        ("{\"systems\": {\"mail_enabled\": true}}", "systems has the wrong type"),
        ("{\"mail_enabled\": true, \"systems\": [[\"A\"]]}", "systems.0 has the wrong type"),
        (
            "{\"webhook_receivers\": [[\"a\", \"https://example.org\"]]}",
            "webhook_receivers.0 has the wrong type",
        ),
        ("{\"systems\": [{\"mail_enabled\": true}], \"enabled\": {}}", "mixed configuration forms"),
        ("{\"systems\": [{\"mail_addresses\": [], \"email_recipients\": []}]}", "mixed configuration forms"),
        ("{\"mail_enabled\": true, \"systems\": [{\"enabled\": {}}]}", "mixed configuration forms"),
        ("{\"mail_enabled\": true, \"enabled\": {}}", "mixed configuration forms"),
        ("{\"severities\": [], \"webhook_recipients\": []}", "mixed configuration forms"),
    ] {
        let Err(Error::BadRequest { message, .. }) = Posted::read(body.as_bytes()) else { panic!("{body}") };
        assert_eq!(message, format!("invalid request body: {reason}"), "{body}");
    }
    assert!(Posted::read(b"{\"enabled\": {\"email\": true}}\xff").is_err());
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Posted::read(deep.as_bytes()).is_ok(), "what is ignored is skipped, however deep");
    let deep = format!("{{\"systems\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Posted::read(deep.as_bytes()).is_err());
}

#[test]
fn every_wrong_field_is_named() {
    for (body, expected) in [
        (
            json!({"email_recipients": [{"address": ""}, {}, {"address": "no"}, {"address": "a@b, c@d"},
                {"address": "{{x}}@b.org"}, {"address": "a@b.org\nBcc: c@d"}, {"address": format!("{}@b.org", "a".repeat(320))}]}),
            vec![
                "email_recipients.0.address: required",
                "email_recipients.1.address: required",
                "email_recipients.2.address: invalid_format",
                "email_recipients.3.address: invalid_format",
                "email_recipients.4.address: invalid_format",
                "email_recipients.5.address: invalid_format",
                "email_recipients.6.address: max",
            ],
        ),
        (
            json!({"email_recipients": [{"address": "a@b.org", "severities": ["critical", "fatal"], "language": "fr",
                "format": "pdf"}, {"address": "A@B.org"}, {"address": "c@b.org", "severities": ["info", "info"]},
                {"address": "d@b.org", "severities": ["info", "warning", "critical", "info"]}]}),
            vec![
                "email_recipients.0.severities.1: invalid_value",
                "email_recipients.0.language: invalid_value",
                "email_recipients.0.format: invalid_value",
                "email_recipients.2.severities.1: duplicate",
                "email_recipients.3.severities: max",
            ],
        ),
        (
            json!({"email_recipients": [{"address": "a@b.org"}, {"address": "A@B.org"}],
                "webhook_recipients": [{"name": "", "url": "https://example.org/"}, {"name": "n".repeat(101)},
                {"name": "a\u{0}", "url": "ftp://x"}, {"name": "a", "url": "https://10.0.0.1/"},
                {"name": "a", "url": "https://example.org/[REDACTED]"},
                {"name": "b", "url": "https://a.org/"}, {"name": "c", "url": "https://a.org/"}]}),
            vec![
                "email_recipients.1: duplicate",
                "webhook_recipients.0.name: required",
                "webhook_recipients.1.name: max",
                "webhook_recipients.1.url: required",
                "webhook_recipients.2.name: invalid_format",
                "webhook_recipients.2.url: invalid_scheme",
                "webhook_recipients.3.url: host_not_publicly_routable",
                "webhook_recipients.4.url: invalid_value",
                "webhook_recipients.6: duplicate",
            ],
        ),
        (
            json!({"telegram_recipients": [{}, {"bot_token": "x", "chat_id": 0}, {"bot_token": "[REDACTED]", "chat_id": 5},
                {"bot_token": format!("1:{}", "a".repeat(255)), "chat_id": 5}, {"bot_token": "1:a", "chat_id": 5},
                {"bot_token": "1:a", "chat_id": 5}, {"bot_token": "1:a", "chat_id": 6}, {"bot_token": ":a", "chat_id": 5}]}),
            vec![
                "telegram_recipients.0.bot_token: required",
                "telegram_recipients.0.chat_id: required",
                "telegram_recipients.1.bot_token: invalid_format",
                "telegram_recipients.1.chat_id: invalid_value",
                "telegram_recipients.2.bot_token: invalid_value",
                "telegram_recipients.3.bot_token: max",
                "telegram_recipients.5: duplicate",
                "telegram_recipients.7.bot_token: invalid_format",
            ],
        ),
        (
            json!({"systems": [{}, {"system_key": "A"}, {"system_key": "A"}, {"system_key": "B",
                "email_recipients": [{"address": "x"}], "webhook_recipients": [{"name": "a", "url": "https://localhost/"}]}]}),
            vec![
                "systems.0.system_key: required",
                "systems.2.system_key: duplicate",
                "systems.3.email_recipients.0.address: invalid_format",
                "systems.3.webhook_recipients.0.url: host_not_allowed",
            ],
        ),
    ] {
        assert_eq!(refusals(&body), expected, "{body}");
    }
}

#[test]
fn lists_are_bounded() {
    let mails = |n: usize| (0..n).map(|i| json!({"address": format!("a{i}@b.org")})).collect::<Vec<_>>();
    let hooks = |n: usize| -> Vec<Value> {
        (0..n).map(|i| json!({"name": "a", "url": format!("https://example.org/{i}")})).collect()
    };
    let chats =
        |n: usize| -> Vec<Value> { (0..n).map(|i| json!({"bot_token": "1:a", "chat_id": i + 1})).collect() };
    let systems = |n: usize| (0..n).map(|i| json!({"system_key": format!("S{i}")})).collect::<Vec<_>>();
    let body = |m, w, t, s| {
        json!({"email_recipients": mails(m), "webhook_recipients": hooks(w), "telegram_recipients": chats(t),
            "systems": systems(s)})
    };
    assert_eq!(layer(&body(50, 20, 20, 100)).systems.len(), 100);
    assert_eq!(
        refusals(&body(51, 21, 21, 101)),
        ["email_recipients: max", "webhook_recipients: max", "telegram_recipients: max", "systems: max"]
    );
}

#[test]
fn refusals_reveal_no_secret() {
    let body = json!({
        "webhook_recipients": [{"name": "a", "url": "https://user:S3CRET@example.org/S3CRET"}],
        "telegram_recipients": [{"bot_token": "S3CRET", "chat_id": 1}],
        "email_recipients": [{"address": "shown"}],
    });
    let Err(Error::Invalid(fields)) = checked(&body, None) else { panic!("it passes") };
    assert_eq!((fields.len(), fields[0].value.as_str()), (3, "shown"));
    assert!(!format!("{fields:?}").contains("S3CRET"));
    for body in [
        json!({"telegram_recipients": [{"bot_token": ["S3CRET"]}]}),
        json!({"telegram_recipients": [{"bot_token": "S3CRET", "chat_id": "S3CRET"}]}),
        json!({"webhook_recipients": "S3CRET"}),
    ] {
        let text = format!("{:?}", Posted::read(body.to_string().as_bytes()).unwrap_err());
        assert!(!text.contains("S3CRET"), "{text}");
    }
    let secret = layer(&json!({"webhook_recipients": [{"name": "a", "url": "https://example.org/S3CRET"}],
        "telegram_recipients": [{"bot_token": "1:S3CRET", "chat_id": 1}]}));
    assert!(!format!("{secret:?}").contains("S3CRET"));
}

#[test]
fn unusual_addresses_are_fine() {
    for address in ["\"a\\\"b: #\"@example.org", "o'hara#x@example.org", "ü@höst.example", "a+b@[192.0.2.1]"]
    {
        assert_eq!(
            layer(&json!({"email_recipients": [{"address": address}]})).channels.email_recipients[0].address,
            address
        );
    }
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(posted) = Posted::read(&bytes) {
            let _ = posted.check(None, Some(&Channels::default()), &AllowedHosts::default(), Language::English);
        }
    }

    #[test]
    fn what_is_shown_can_be_sent_back(layer in layers()) {
        let shown = serde_json::to_value(&layer).unwrap();
        // The stock of the strategies has addresses that only a generator has to bear.
        let shown: Value = serde_json::from_str(&shown.to_string().replace("?a=\\\"&b='#: x\\\\", "")).unwrap();
        // The first save switches on the channels that have recipients; a second save of the result changes nothing.
        let saved = serde_json::to_value(checked(&shown, None).unwrap().layer).unwrap();
        let again = checked(&saved, None).unwrap().layer;
        prop_assert_eq!(serde_json::to_value(again).unwrap(), saved);
    }
}
