//! Documents for remote routers and the trees in them.

use super::*;
use crate::{
    Labels,
    config::{Plan, Tree, document::Document},
};
use std::collections::BTreeSet;

const TENANT: &str = "0195fada-0000-7000-8000-000000000001";

/// The configuration of the specification's example, and more.
fn example() -> Layer {
    layer(&json!({
        "enabled": {"email": true, "webhook": true, "telegram": true, "slack": true, "teams": true, "pagerduty": true},
        "email_recipients": [
            {"address": "noc@example.org", "severities": ["critical"], "language": "it"},
            {"address": "plain@example.org", "severities": ["critical", "warning"], "format": "plain"}],
        "webhook_recipients": [{"name": "hook", "url": "https://example.org/h?key=secret", "severities": ["warning"]}],
        "telegram_recipients": [{"bot_token": "12:secret", "chat_id": 5, "severities": ["critical"], "language": "it"}],
        "slack_recipients": [{"name": "ops", "url": "https://example.org/slack/secret", "severities": ["critical"]}],
        "teams_recipients": [{"name": "ops", "url": "https://example.org/teams/secret", "severities": ["critical"], "language": "it"}],
        "pagerduty_recipients": [
            {"name": "duty", "routing_key": "secretsecretsecretsecretsecretse", "region": "eu", "severities": ["critical"]}],
        "systems": [
            {"system_key": "SYS-MUTE", "enabled": {"email": false, "webhook": false, "telegram": false,
                "slack": false, "teams": false, "pagerduty": false}},
            {"system_key": "SYS-A", "email_recipients": [{"address": "only@example.org"}]},
        ],
    }))
}

#[test]
fn the_document() {
    let upload = Upload::new(TENANT, &example(), &publishing()).unwrap();
    insta::assert_snapshot!("document", upload.alertmanager_config);
    assert_eq!(
        upload.template_files.keys().collect::<Vec<_>>(),
        [
            "_datetime.tmpl",
            "_dispatcher.tmpl",
            "firing_en.html",
            "firing_en.txt",
            "firing_it.html",
            "firing_it.txt",
            "resolved_en.html",
            "resolved_en.txt",
            "resolved_it.html",
            "resolved_it.txt",
            "slack_en.tmpl",
            "slack_it.tmpl",
            "telegram_en.tmpl",
            "telegram_it.tmpl",
        ]
    );
    let again: Upload = serde_saphyr::from_str(&upload.to_yaml().unwrap()).unwrap();
    assert_eq!(again, upload);
    assert!(upload.to_yaml().unwrap().contains("alertmanager_config: |\n"));
    assert_eq!(
        Upload::new(TENANT, &example(), &publishing()).unwrap(),
        upload,
        "the same layers give the same bytes"
    );
}

#[test]
fn a_tenant_without_recipients() {
    let bare = Publishing { smtp: None, history: None, ..publishing() };
    let upload = Upload::new(TENANT, &Layer::default(), &bare).unwrap();
    insta::assert_snapshot!("nobody", upload.to_yaml().unwrap());
    assert_eq!(shown_yaml(TENANT, &Layer::default(), &publishing()), Ok(None));
}

#[test]
fn the_document_that_people_see() {
    let shown = shown_yaml(TENANT, &example(), &publishing()).unwrap().unwrap();
    for secret in ["secret", "mail.example.org", "p: #", "alert_history", "'alerts'", "\"alerts\""] {
        assert!(!shown.contains(secret), "{secret}\n{shown}");
    }
    for part in [
        "smtp_smarthost: '[REDACTED]'",
        "smtp_auth_username: '[REDACTED]'",
        "smtp_auth_password: '[REDACTED]'",
        "credentials: '[REDACTED]'",
        "bot_token: '[REDACTED]'",
        "routing_key: '[REDACTED]'",
        "https://example.org/[REDACTED]",
        "https://portal.example.org/[REDACTED]",
        "noc@example.org",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

/// The largest layer there can be is a document of some hundred thousand nodes.
#[test]
fn the_largest_document_is_read_back_and_its_errors_reveal_no_secret() {
    let systems: Vec<Value> = (0..100)
        .map(|s| {
            json!({"system_key": format!("SYS-{s}"),
                "email_recipients": (0..50).map(|n| json!({"address": format!("n{n}@s{s}.example.org")})).collect::<Vec<_>>(),
                "telegram_recipients": (0..20).map(|n| json!({"bot_token": format!("{n}:{s}"), "chat_id": 5})).collect::<Vec<_>>()})
        })
        .collect();
    let large = layer(&json!({"enabled": {"email": true, "telegram": true}, "systems": systems}));
    let upload = Upload::new(TENANT, &large, &publishing()).unwrap();
    let broken = upload.alertmanager_config.replacen("bot_token: ", "bot_tocken: ", 1);
    let error = Document::from_yaml(&broken).unwrap_err().to_string();
    assert!(!error.contains("0:0") && !error.contains("example.org"), "{error}");
}

#[test]
fn without_a_mail_server_mail_is_left_out() {
    let publishing = Publishing { smtp: None, omitted: vec![RecipientKind::Email], ..publishing() };
    let upload = Upload::new(TENANT, &example(), &publishing).unwrap();
    let document = Document::from_yaml(&upload.alertmanager_config).unwrap();
    assert!(document.receivers.iter().all(|r| r.email_configs.is_empty()));
    assert!(document.receivers.iter().any(|r| !r.webhook_configs.is_empty()));
    let only_mail =
        layer(&json!({"enabled": {"email": true}, "email_recipients": [{"address": "a@example.org"}]}));
    assert_eq!(shown_yaml(TENANT, &only_mail, &publishing), Ok(None));
}

#[test]
fn names_and_groups_of_a_tree() {
    let plan = Plan::new(TENANT, &example(), &Timing::default());
    let tree = Tree::new(&plan.route).unwrap();
    let alert: Labels = [
        ("alertname", "Disk\"Full"),
        ("organization_id", TENANT),
        ("system_key", "SYS-B"),
        ("severity", "critical"),
    ]
    .into_iter()
    .collect();
    let destinations = tree.route(&alert);
    assert_eq!(destinations.len(), 1);
    assert_eq!(destinations[0].receiver, format!("{TENANT}-severity-critical-receiver"));
    assert_eq!(destinations[0].group_wait, Duration::from_secs(30));
    let group = destinations[0].group_labels(&alert);
    assert_eq!(
        destinations[0].group_key(&group),
        format!(
            "{{}}/{{organization_id=\"{TENANT}\"}}/{{severity=\"critical\"}}:{{alertname=\"Disk\\\"Full\", organization_id=\"{TENANT}\", system_key=\"SYS-B\"}}"
        )
    );
    let recipients = &plan.receiver(&destinations[0].receiver).unwrap().recipients;
    assert_eq!((recipients.email.len(), recipients.webhook.len(), recipients.telegram.len()), (2, 0, 1));
    let receiver_of = |key: &str, severity: &str| {
        let labels: Labels =
            [("organization_id", TENANT), ("system_key", key), ("severity", severity)].into_iter().collect();
        tree.route(&labels)[0].receiver.clone()
    };
    assert_eq!(receiver_of("SYS-A", "info"), format!("{TENANT}-system-SYS-A-severity-info-receiver"));
    assert_eq!(receiver_of("SYS-MUTE", "critical"), "blackhole");
    assert_eq!(receiver_of("SYS-B", "info"), "blackhole");
}

#[test]
fn trees_are_walked_as_alertmanagers_walk_them() {
    let read = |text: &str| -> Route { serde_saphyr::from_str(text).unwrap() };
    let tree = Tree::new(&read(
        "receiver: root\ngroup_wait: 1s\nroutes:\n\
         - {receiver: all, continue: true}\n\
         - {receiver: a, matchers: ['x=\"1\"'], continue: true, group_by: [x], routes: [{receiver: deep, matchers: ['y=~\"a|b\"']}]}\n\
         - {receiver: b, matchers: ['x=\"1\"', 'z!=\"\"']}\n\
         - {receiver: c, matchers: ['x!~\"2|3\"']}\n",
    ))
    .unwrap();
    let receivers = |pairs: &[(&str, &str)]| -> Vec<String> {
        tree.route(&pairs.iter().copied().collect()).iter().map(|d| d.receiver.clone()).collect()
    };
    assert_eq!(receivers(&[("x", "1")]), ["all", "a", "c"]);
    assert_eq!(receivers(&[("x", "1"), ("y", "b")]), ["all", "deep", "c"]);
    assert_eq!(receivers(&[("x", "1"), ("z", "1")]), ["all", "a", "b"]);
    assert_eq!(receivers(&[]), ["all", "c"]);
    assert_eq!(receivers(&[("x", "2")]), ["all"]);
    let deep = [("x", "1"), ("y", "b")].into_iter().collect();
    assert_eq!(tree.route(&deep)[1].group_by, ["x"]);
    assert_eq!(tree.route(&deep)[1].group_wait, Duration::from_secs(1));
    let nowhere = Tree::new(&read("receiver: root\nroutes: [{receiver: a, matchers: ['x=\"1\"']}]")).unwrap();
    assert_eq!(nowhere.route(&Labels::new())[0].receiver, "root");
    assert!(Tree::new(&read("receiver: r\nroutes: [{receiver: r, matchers: ['x=~\"[\"']}]")).is_err());
    assert!(Document::from_yaml("global: {resolve_timeout: 5m}\nroute: {receiver: a, mute_time_intervals: [x]}\nreceivers: []\ntemplates: []").is_err());
}

/// Names of templates that are defined, and of those that are called.
fn templates(upload: &Upload) -> (BTreeSet<String>, BTreeSet<String>) {
    let all: String = upload.template_files.values().chain([&upload.alertmanager_config]).cloned().collect();
    let all = all.replace("\\\"", "\"");
    let names = |word: &str| {
        all.split(&format!("{word} \""))
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect()
    };
    (names("define"), names("template"))
}

// Proves spec: alert-guarantees#guarantees 17.
#[test]
fn every_template_is_defined() {
    for (telegram, html, plain) in (0..8).map(|n| (n & 1 > 0, n & 2 > 0, n & 4 > 0)) {
        for language in ["en", "it"] {
            let mut body = json!({"enabled": {"email": true, "telegram": true}, "email_recipients": [], "telegram_recipients": []});
            if telegram {
                body["telegram_recipients"] =
                    json!([{"bot_token": "1:a", "chat_id": 5, "language": language}]);
            }
            let mut mails = Vec::new();
            if html {
                mails.push(json!({"address": "h@example.org", "language": language}));
            }
            if plain {
                mails.push(json!({"address": "p@example.org", "language": language, "format": "plain"}));
            }
            body["email_recipients"] = json!(mails);
            let upload = Upload::new(TENANT, &layer(&body), &publishing()).unwrap();
            let (defined, called) = templates(&upload);
            assert!(called.is_subset(&defined), "{:?}", called.difference(&defined));
            assert_eq!(called.is_empty(), !(telegram || html || plain));
            let document = Document::from_yaml(&upload.alertmanager_config).unwrap();
            assert_eq!(document.templates, upload.template_files.keys().cloned().collect::<Vec<_>>());
        }
    }
}

#[test]
fn no_placeholder_is_left_in_a_template() {
    let upload = Upload::new(TENANT, &example(), &publishing()).unwrap();
    for (name, text) in &upload.template_files {
        let text = text.replace("@media", "");
        assert!(!text.contains('@'), "{name}: {text}");
        assert!(!text.contains("\"\"}}"), "{name} has an empty word");
    }
}

/// The check finds notifications to too many, too few or other recipients.
#[test]
fn a_document_with_other_recipients_is_not_uploaded() {
    let (layer, publishing) = (merge([], Some(&example())), publishing());
    let good = Upload::new(TENANT, &layer, &publishing).unwrap().alertmanager_config;
    let check = |yaml: &str| generate::check(yaml, TENANT, &layer, &publishing);
    assert_eq!(check(&good), Ok(()));
    let critical = format!("receiver: {TENANT}-severity-critical-receiver");
    for (from, to) in [
        (critical.as_str(), "receiver: blackhole"),
        (
            "receiver: blackhole\n      continue: false\nreceivers",
            "receiver: nobody\n      continue: false\nreceivers",
        ),
        ("organization_id=\"", "organization_id!=\""),
        ("system_key=\"SYS-MUTE\"", "system_key=\"SYS-OTHER\""),
        ("continue: false", "continue: true"),
        ("to: noc@example.org", "to: nobody@example.org"),
        ("chat_id: 5", "chat_id: 6"),
        ("severity!~\"critical|warning\"", "severity=\"info\""),
        ("html: \"\"", "html: \"x\""),
        ("global:", "inhibit_rules: []\nglobal:"),
    ] {
        let spoilt = good.replace(from, to);
        assert_ne!(spoilt, good, "{from}");
        assert!(check(&spoilt).is_err(), "{from} -> {to}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The check walks the tree itself; it must accept any configuration.
    #[test]
    fn documents_name_exactly_the_recipients_to_notify(layer in layers(), has_mail in any::<bool>()) {
        let mut publishing = publishing();
        publishing.omitted = if has_mail { vec![RecipientKind::Teams] } else { vec![RecipientKind::Email] };
        let effective = merge([], Some(&layer));
        let upload = Upload::new(TENANT, &effective, &publishing).unwrap();
        let document = Document::from_yaml(&upload.alertmanager_config).unwrap();
        prop_assert_eq!(document.to_yaml().unwrap(), upload.alertmanager_config.clone());
        let mut named: BTreeSet<&str> = BTreeSet::new();
        fn names<'r>(route: &'r Route, into: &mut BTreeSet<&'r str>) {
            into.insert(&route.receiver);
            route.routes.iter().for_each(|r| names(r, into));
        }
        names(&document.route, &mut named);
        let defined: BTreeSet<&str> = document.receivers.iter().map(|r| r.name.as_str()).collect();
        prop_assert_eq!(named, defined, "only used receivers appear, and all of them");
    }

    // Proves spec: alert-guarantees#guarantees 19.
    #[test]
    fn every_text_survives(
        key in "\\PC{1,20}|[\"\\\\\n:# \t'{}]{1,12}",
        url in "https://example\\.org/[!-~]{0,40}",
        tenant in "[\"\\\\a-z: #-]{1,20}",
        password in any::<String>(),
    ) {
        let mut effective = Layer::default();
        effective.channels.enabled.webhook = Some(true);
        effective.channels.webhook_recipients =
            vec![WebhookRecipient { name: "a".to_owned(), url: url.clone(), severities: Vec::new() }];
        effective.systems = vec![SystemOverride { system_key: key.clone(), channels: Channels::default() }];
        let mut publishing = publishing();
        publishing.smtp.as_mut().unwrap().password = Some(password.clone());
        let upload = Upload::new(&tenant, &effective, &publishing).unwrap();
        let again: Upload = serde_saphyr::from_str(&upload.to_yaml().unwrap()).unwrap();
        prop_assert_eq!(&again, &upload);
        let document = Document::from_yaml(&again.alertmanager_config).unwrap();
        prop_assert_eq!(document.global.smtp_auth_password, Some(password));
        prop_assert!(document.receivers.iter().any(|r| r.webhook_configs.iter().any(|w| w.url == url)));
        let matcher = &document.route.routes[1].matchers[0];
        prop_assert_eq!(crate::Matcher::parse(matcher.as_bytes()), Ok(crate::Matcher::equal("system_key", key)));
    }
}
