//! The messages that the templates make of alerts.

use super::*;
use bailiwick_alertmanager::{
    Labels, Nanos, StoredAlert,
    active_silence::Expressions,
    config::Document,
    notify::{Message, Reason, Snapshot, Taken},
    texts::{Language, Pages},
};
use bailiwick_domain::visible::is_steering;
use bailiwick_testkit::{
    parts::{alertmanager::Alertmanager, smtp::SmtpSink},
    patience,
};

/// Summer time in Rome in 2026.
fn rome() -> Zone {
    let jiff = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second();
    let offset = |hours: i64, name: &str| bailiwick_alertmanager::texts::Offset {
        seconds: hours * 3600,
        name: name.to_owned(),
    };
    let summer = (jiff("2026-03-29T01:00:00Z"), jiff("2026-10-25T01:00:00Z"));
    Zone { base: offset(1, "CET"), others: vec![(offset(2, "CEST"), vec![(0, 1), summer])] }
}

fn alert(status: &str, starts: &str) -> Value {
    json!({
        "status": status, "startsAt": starts, "endsAt": if status == "firing" { "0001-01-01T00:00:00Z" } else { "2026-11-20T23:30:00Z" },
        "labels": {"alertname": "DiskFull", "severity": "critical", "organization_id": "org-1", "system_id": "id-1", "system_key": "SYS-1"},
        "annotations": {"summary_it": "Disco <b>pieno</b> & {{ .x }}", "summary": "plain", "summary_en": "Disk full",
            "description_en": "only English", "system_name": "Milan <cluster>", "organization_vat": "IT123"},
        "fingerprint": "0",
    })
}

/// Another interface, whose address needs to be escaped.
fn elsewhere() -> Pages {
    Pages::Other("https://portal.example.org/\"x&y".to_owned())
}

/// Renders one template of an upload with `amtool template render`.
fn rendered(name: &str, kind: &str, status: &str, alerts: &[Value]) -> String {
    rendered_for(elsewhere(), name, kind, status, alerts)
}

fn rendered_for(pages: Pages, name: &str, kind: &str, status: &str, alerts: &[Value]) -> String {
    let mut publishing = publishing();
    publishing.surroundings = Surroundings { pages, zone: rome() };
    let everything = layer(&json!({"enabled": {"email": true, "telegram": true},
        "email_recipients": [{"address": "a@example.org"}, {"address": "b@example.org", "language": "it"}],
        "telegram_recipients": [{"bot_token": "1:a", "chat_id": 1, "language": "it"}]}));
    let upload = Upload::new(TENANT, &everything, &publishing).expect("an upload");
    let (scratch, _) = written(&upload);
    let data = json!({
        "receiver": "r", "status": status, "alerts": alerts, "groupLabels": {},
        "commonLabels": alerts[0]["labels"], "commonAnnotations": alerts[0]["annotations"], "externalURL": "http://x",
    });
    let data = scratch.write("data.json", data.to_string()).expect("the data");
    let glob = format!("--template.glob={}/*_*", scratch.path().display());
    let glob = glob.as_str();
    let (text, kind) =
        (format!("--template.text={{{{ template \"{name}\" . }}}}"), format!("--template.type={kind}"));
    let data = format!("--template.data={}", data.display());
    let output = amtool(scratch.path(), &["template", "render", glob, &text, &kind, &data]);
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn subjects() {
    let firing = [alert("firing", "2026-11-20T22:19:20Z"), alert("resolved", "2026-11-20T22:19:20Z")];
    assert_eq!(
        rendered("alert_it.subject", "text", "firing", &firing).trim(),
        "[FIRING:1] DiskFull Milan <cluster>"
    );
    assert_eq!(
        rendered("alert_en.subject", "text", "resolved", &firing[1..]).trim(),
        "[RESOLVED] DiskFull Milan <cluster>"
    );
    let mut bare = alert("firing", "2026-11-20T22:19:20Z");
    bare["annotations"] = json!({});
    assert_eq!(rendered("alert_en.subject", "text", "firing", &[bare]).trim(), "[FIRING:1] DiskFull SYS-1");
}

#[test]
fn a_text_message() {
    let text = rendered("alert_it.txt", "text", "firing", &[alert("firing", "2026-07-20T22:19:20Z")]);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(
        lines,
        [
            "Allarmi",
            "DiskFull (critical, attivo)",
            "Disco <b>pieno</b> & {{ .x }}",
            "only English",
            "Sistema: Milan <cluster>",
            "Partita IVA: IT123",
            // Summer time.
            "Dal: 21/07/2026 00:19 CEST",
            "https://portal.example.org/\"x&y/systems/id-1",
        ]
    );
    let text = rendered("alert_en.txt", "text", "resolved", &[alert("resolved", "2026-11-20T22:19:20Z")]);
    for part in [
        "Alerts resolved",
        "DiskFull (critical, resolved)",
        // The plain one goes before English only where there is none of the language.
        "Disk full",
        "Since: 20 Nov 2026 23:19 CET",
        "Until: 21 Nov 2026 00:30 CET",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn html_is_escaped() {
    let html = rendered("alert_it.html", "html", "firing", &[alert("firing", "2026-11-20T22:19:20Z")]);
    for part in [
        "Disco &lt;b&gt;pieno&lt;/b&gt; &amp; {{ .x }}",
        "Milan &lt;cluster&gt;",
        "href=\"https://portal.example.org/%22x&amp;y/systems/id-1\"",
        "Dal</td><td>20/11/2026 23:19 CET",
        "<html lang=\"it\">",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let telegram =
        rendered("telegram_it.message", "html", "firing", &[alert("firing", "2026-11-20T22:19:20Z")]);
    for part in [
        "<b>🔴 DiskFull</b> (critical, attivo)",
        "Disco &lt;b&gt;",
        "Sistema: Milan &lt;cluster&gt;",
        "Apri il sistema</a>",
    ] {
        assert!(telegram.contains(part), "{part}\n{telegram}");
    }
}

/// The same alerts as the embedded router has them.
fn snapshot(alerts: &[Value]) -> Snapshot {
    let labels = |value: &Value| -> Labels {
        value.as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.as_str().unwrap())).collect()
    };
    let now = Nanos::parse("2026-12-01T00:00:00Z").unwrap();
    let stored = alerts.iter().map(|alert| {
        let time = |key: &str| Nanos::parse(alert[key].as_str().unwrap()).unwrap();
        let ends_at = time("endsAt");
        StoredAlert {
            labels: labels(&alert["labels"]),
            annotations: labels(&alert["annotations"]),
            starts_at: time("startsAt"),
            ends_at: if ends_at.is_zero_time() { now.plus(Duration::from_secs(60)) } else { ends_at },
            updated_at: now,
            generator_url: String::new(),
            timeout: false,
        }
    });
    Snapshot::take(stored.collect(), (&[], &Expressions::new(0)), now, None)
}

/// Lines without the empty ones; characters that the two escape in different ways in one way.
fn lines(text: &str) -> Vec<String> {
    let text = text.replace("&#34;", "&quot;").replace("%22", "&quot;");
    text.lines().map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect()
}

#[test]
fn the_embedded_router_sends_the_same() {
    says_the_same(&elsewhere());
    says_the_same(&Pages::Console("https://fleet.example.org/\"x&y".to_owned()));
}

/// Characters that lead to other places or directions in a text.
const STEERING: &str = "a\u{1b}[2Jb\u{7}\u{8}c\rd\r\ne\tf\u{7f}g\u{9b}h\u{61c}i\u{200e}j\u{200f}k\u{2028}l\u{202e}m\u{2066}n\u{2069}o\u{200d}p";

#[test]
fn nothing_that_steers_is_sent() {
    let mut alert = alert("firing", "2026-11-20T22:19:20Z");
    for key in ["labels", "annotations"] {
        for value in alert[key].as_object_mut().unwrap().values_mut() {
            *value = json!(STEERING);
        }
    }
    for (name, kind) in [
        ("alert_it.subject", "text"),
        ("alert_it.txt", "text"),
        ("alert_it.html", "html"),
        ("telegram_it.message", "html"),
        ("slack_it.title", "text"),
        ("slack_it.text", "text"),
    ] {
        // Only the service itself writes the labels of the link.
        alert["labels"]["system_id"] = json!("id-1");
        alert["labels"]["organization_id"] = json!("org-1");
        let text = rendered(name, kind, "firing", std::slice::from_ref(&alert));
        let steering = text.chars().filter(|c| !matches!(c, '\n' | '\t') && is_steering(*c));
        assert_eq!(steering.collect::<String>(), "", "{name}: {text:?}");
        let is_one_line = name.ends_with("subject") || name.ends_with("title");
        let shown = if is_one_line {
            "a [2Jb c d e f g h i j k l m n o\u{200d}p"
        } else {
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}d\ne\tf\u{fffd}g\u{fffd}h\u{fffd}i\u{fffd}j\u{fffd}k\u{fffd}l\u{fffd}m\u{fffd}n\u{fffd}o\u{200d}p"
        };
        assert!(text.contains(shown), "{name}: {text:?}");
        assert_eq!(is_one_line, !text.trim().contains('\n'), "{name}: {text:?}");
    }
}

fn says_the_same(pages: &Pages) {
    let around = Surroundings { pages: pages.clone(), zone: rome() };
    let mut bare = alert("firing", "2026-07-20T22:19:20Z");
    bare["labels"] = json!({"alertname": "DiskFull", "system_key": "SYS-1", "z": "second"});
    bare["annotations"] = json!({"summary": "only 'this' \"one\"", "system_name": "Milan <cluster>"});
    // A mail program, a terminal or a chat may obey these.
    let mut steering = bare.clone();
    for name in ["alertname", "severity", "z"] {
        steering["labels"][name] = json!(STEERING);
    }
    for name in ["summary", "description", "system_name", "organization_name"] {
        steering["annotations"][name] = json!(STEERING);
    }
    let firing = [alert("firing", "2026-11-20T22:19:20Z"), bare, steering];
    let resolved = [alert("resolved", "2026-03-29T00:59:59Z")];
    for (status, alerts) in [("firing", &firing[..]), ("resolved", &resolved[..])] {
        let snapshot = snapshot(alerts);
        // In the order of the notification.
        let find = |taken: &Taken| {
            let is_it = |a: &&Value| a["labels"]["z"].as_str() == taken.alert.labels.get("z");
            let mut alert = alerts.iter().find(is_it).unwrap().clone();
            alert["fingerprint"] = json!(taken.fingerprint.to_string());
            alert
        };
        let alerts: Vec<Value> = snapshot.alerts.iter().map(find).collect();
        let message = Message {
            receiver: "r",
            reason: Reason::First,
            snapshot: &snapshot,
            group_labels: &Labels::new(),
            group_key: "",
            external_url: "",
        };
        for language in Language::ALL {
            let code = language.code();
            let theirs = |name: &str, kind: &str| {
                rendered_for(
                    pages.clone(),
                    &format!("{name}_{code}.{}", part(name, kind)),
                    kind,
                    status,
                    &alerts,
                )
            };
            assert_eq!(
                lines(&message.text(language, &around)),
                lines(&theirs("alert", "text")),
                "{status} {code}"
            );
            assert_eq!(
                lines(&message.html(language, &around)),
                filled(&theirs("alert", "html")),
                "{status} {code}"
            );
            let chat = theirs("telegram", "html");
            let channel = theirs("slack", "text");
            let subject = format!("alert_{code}.subject");
            assert_eq!(
                message.subject(),
                rendered_for(pages.clone(), &subject, "text", status, &common(&alerts)).trim(),
                "{status} {code}"
            );
            assert_eq!(lines(&message.slack(language, &around)), lines(&channel), "{status} {code}");
            // A chat needs no more than what Telegram asks for.
            assert_eq!(lines(&message.telegram(language, &around)), lines(&chat), "{status} {code}");
        }
    }
}

/// The same alerts, the first with what all have in common only: a group's subject is written from that.
fn common(alerts: &[Value]) -> Vec<Value> {
    let mut alerts = alerts.to_vec();
    let others = alerts.clone();
    for key in ["labels", "annotations"] {
        let is_common =
            |name: &String, value: &mut Value| others.iter().all(|other| other[key][name] == *value);
        alerts[0][key].as_object_mut().unwrap().retain(is_common);
    }
    alerts
}

fn part(name: &str, kind: &str) -> &'static str {
    match (name, kind) {
        ("telegram", _) => "message",
        ("slack", _) => "text",
        (_, "text") => "txt",
        _ => "html",
    }
}

/// Lines of HTML without empty paragraphs.
fn filled(html: &str) -> Vec<String> {
    let says_nothing =
        |line: &str| line.contains("<p ") && (line.contains("<strong></strong>") || line.contains("\"></p>"));
    lines(html).into_iter().filter(|line| !says_nothing(line)).collect()
}

#[test]
fn times_in_utc() {
    let mut alert_in_utc = alert("firing", "2026-11-20T22:19:20.5Z");
    alert_in_utc["annotations"] = json!({});
    let text =
        format!("{{{{ with index .Alerts 0 }}}}{{{{ template \"{}\" .StartsAt }}}}{{{{ end }}}}", "ts_utc");
    let upload = Upload::new(TENANT, &configurations()[1], &publishing()).expect("an upload");
    let (scratch, _) = written(&upload);
    let data = json!({"status": "firing", "alerts": [alert_in_utc], "commonLabels": {},
        "commonAnnotations": {}, "groupLabels": {}});
    let data = scratch.write("data.json", data.to_string()).expect("the data");
    let output = amtool(
        scratch.path(),
        &[
            "template",
            "render",
            &format!("--template.glob={}/*_*", scratch.path().display()),
            &format!("--template.text={text}"),
            &format!("--template.data={}", data.display()),
        ],
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "2026-11-20T22:19:20Z", "{output:?}");
}

/// A real Alertmanager with an uploaded document sends a real mail to its recipient, and to no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_goes_out() {
    let sink = SmtpSink::start().await.unwrap();
    let mut publishing = publishing();
    publishing.history = None;
    publishing.timing.group_wait = Duration::from_millis(100);
    publishing.smtp = Some(Smtp {
        smarthost: format!("127.0.0.1:{}", sink.port()),
        from: "alerts@example.org".to_owned(),
        username: None,
        password: None,
        requires_tls: false,
    });
    let effective = layer(&json!({"enabled": {"email": true}, "email_recipients": [
        {"address": "noc@example.org", "severities": ["critical"], "language": "it"},
        {"address": "plain@example.org", "severities": ["critical"], "format": "plain"},
        {"address": "nobody@example.org", "severities": ["info"]}]}));
    let upload = Upload::new(TENANT, &effective, &publishing).unwrap();
    assert!(Document::from_yaml(&upload.alertmanager_config).unwrap().global.smtp_require_tls == Some(false));
    let router = Alertmanager::start_with(&upload.alertmanager_config, &upload.template_files).await.unwrap();
    let organization = format!("organization_id={TENANT}");
    let added = router
        .amtool(&[
            "alert",
            "add",
            "alertname=DiskFull",
            "severity=critical",
            "system_key=SYS-1",
            &organization,
            "--annotation=summary_it=Disco <pieno>",
            "--annotation=system_name=Milano",
        ])
        .await
        .unwrap();
    assert!(added.status.success(), "{added:?}");
    let mut mails = patience::found(
        || router.log(),
        async || Some(sink.messages().unwrap()).filter(|mails| mails.len() >= 2),
    )
    .await;
    mails.sort_by(|a, b| a.to.cmp(&b.to));
    assert_eq!(
        mails.iter().map(|m| m.to[0].as_str()).collect::<Vec<_>>(),
        ["noc@example.org", "plain@example.org"],
        "{}",
        router.log()
    );
    assert_eq!(mails[0].subject(), "[FIRING:1] DiskFull Milano");
    assert!(mails[0].html.as_deref().unwrap().contains("Disco &lt;pieno&gt;"), "{:?}", mails[0]);
    assert!(mails[0].body().contains("Disco <pieno>"));
    assert_eq!(mails[1].html.as_deref().unwrap_or_default(), "");
    assert!(mails[1].body().contains("System: Milano"), "{:?}", mails[1]);
}
