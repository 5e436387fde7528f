//! Documents for remote routers, judged by the real programs: `amtool` and an Alertmanager with a mail server.

mod messages;
mod routing;

use bailiwick_alertmanager::{
    config::{Layer, Posted, Publishing, Smtp, Timing, Upload, merge},
    receivers::RecipientKind,
    texts::{Language, Pages, Surroundings, Zone},
    webhook_target::AllowedHosts,
};
use bailiwick_testkit::parts::{alertmanager, scratch::Scratch};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

const TENANT: &str = "0195fada-0000-7000-8000-000000000001";

fn layer(body: &Value) -> Layer {
    let posted = Posted::read(body.to_string().as_bytes()).expect("a body");
    merge(
        [],
        Some(
            &posted
                .check(None, None, &AllowedHosts::default(), Language::English)
                .expect("a configuration")
                .layer,
        ),
    )
}

fn publishing() -> Publishing {
    Publishing {
        resolve_timeout: Duration::from_secs(21_600),
        timing: Timing::default(),
        smtp: Some(Smtp {
            smarthost: "127.0.0.1:587".to_owned(),
            from: "alerts@example.org".to_owned(),
            username: Some("yes".to_owned()),
            password: Some("0x1F: '#\"\\{{ no }}".to_owned()),
            requires_tls: true,
        }),
        // The Alertmanager of the tests is older than 0.28.
        omitted: vec![RecipientKind::Teams],
        history: Some(bailiwick_alertmanager::config::History {
            url: "https://portal.example.org/api/alert_history".to_owned(),
            secret: "12:30:00 thirty-two characters of a secret".to_owned(),
        }),
        surroundings: Surroundings {
            pages: Pages::Other("https://portal.example.org".to_owned()),
            zone: Zone::utc(),
        },
    }
}

/// Configurations that people might have, some of them with texts that are hard on YAML, matchers or templates.
fn configurations() -> Vec<Layer> {
    let nasty = "a \"b\" \\c\nd: #e {{ .x }}";
    vec![
        Layer::default(),
        layer(&json!({"enabled": {"email": true}, "email_recipients": [{"address": "noc@example.org"}]})),
        layer(&json!({
            "enabled": {"email": true, "webhook": true, "telegram": true, "slack": true, "pagerduty": true},
            "email_recipients": [
                {"address": "\"a\\\"b: #\"@example.org", "severities": ["critical"], "language": "it"},
                {"address": "yes@example.org", "severities": ["warning", "info"], "format": "plain"}],
            "webhook_recipients": [
                {"name": "h", "url": "https://example.org/h?a=\"&b='#:%7B%7B", "severities": ["warning"]}],
            "telegram_recipients": [{"bot_token": "12:30", "chat_id": -100_123, "severities": ["info"]},
                {"bot_token": "1:1e3", "chat_id": 9_007_199_254_740_993_i64, "language": "it"}],
            "slack_recipients": [{"name": "ops", "url": "https://example.org/s?a=\"&b='#:", "language": "it"}],
            "pagerduty_recipients": [{"name": "duty", "routing_key": "0".repeat(32)},
                {"name": "eu", "routing_key": "1e3".repeat(10) + "00", "region": "eu"}],
            "systems": [
                {"system_key": nasty, "email_recipients": [{"address": "nasty@example.org"}]},
                {"system_key": "SYS-MUTE", "enabled": {"email": false, "webhook": false, "telegram": false}},
                {"system_key": "SYS-A", "enabled": {"telegram": false},
                 "webhook_recipients": [{"name": "own", "url": "https://example.org/own", "severities": ["critical"]}]},
            ],
        })),
        layer(&json!({"enabled": {"webhook": false}, "email_recipients": [{"address": "off@example.org"}],
            "systems": [{"system_key": "SYS-A", "enabled": {"email": true}}]})),
    ]
}

/// The files of an upload as an Alertmanager reads them.
fn written(upload: &Upload) -> (Scratch, PathBuf) {
    let scratch = Scratch::new("document").expect("a directory");
    for (name, text) in &upload.template_files {
        scratch.write(name, text).expect("a template");
    }
    let file = scratch.write("alertmanager.yml", &upload.alertmanager_config).expect("the document");
    (scratch, file)
}

fn amtool(home: &Path, arguments: &[&str]) -> Output {
    std::process::Command::new(alertmanager::amtool().expect("amtool"))
        .args(arguments)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("amtool runs")
}
