use super::*;
use crate::{
    Fingerprint, Labels, Matcher, Op, StoredAlert,
    active_silence::{ActiveSilence, Expressions},
    router::Outage,
    texts::{Language, Offset, Pages, Surroundings, Zone},
};
use bailiwick_domain::visible::is_steering;
use proptest::prelude::*;

const NOW: Nanos = Nanos::from_parts(1_795_300_000, 169_860_167);
const HOUR: Duration = Duration::from_secs(3600);

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// An alert that began ten minutes ago and ends that many seconds after now.
fn alert(name: &str, ends_in: i64) -> StoredAlert {
    let ends_at = if ends_in < 0 {
        NOW.minus(seconds(ends_in.unsigned_abs()))
    } else {
        NOW.plus(seconds(ends_in.unsigned_abs()))
    };
    StoredAlert {
        labels: [("alertname", "DiskFull"), ("mount", name), ("system_key", "SYS-1")].into_iter().collect(),
        annotations: [("system_name", "Milan"), ("summary", name)].into_iter().collect(),
        starts_at: NOW.minus(seconds(600)),
        ends_at,
        updated_at: NOW.minus(seconds(60)),
        generator_url: String::new(),
        timeout: false,
    }
}

fn firing(name: &str) -> StoredAlert {
    alert(name, 60)
}

fn resolved(name: &str) -> StoredAlert {
    alert(name, -60)
}

fn taken(alerts: &[StoredAlert]) -> Snapshot {
    Snapshot::take(alerts.to_vec(), (&[], &Expressions::new(0)), NOW, None)
}

fn entry(firing: &[&str], resolved: &[&str], ago: u64) -> SentNotification {
    let prints = |names: &[&str]| {
        let mut all: Vec<Fingerprint> = names.iter().map(|n| alert(n, 0).fingerprint()).collect();
        all.sort_unstable();
        all
    };
    SentNotification { firing: prints(firing), resolved: prints(resolved), at: Some(NOW.minus(seconds(ago))) }
}

#[test]
fn the_first_look_at_a_group() {
    let wait = seconds(30);
    for (began, due) in [(0, 30), (-29, 30), (-30, 30), (-31, 0), (-3600, 0)] {
        let starts_at = NOW.minus(seconds(i64::unsigned_abs(began)));
        assert_eq!(first_flush(NOW, starts_at, wait), NOW.plus(seconds(due)), "{began}");
    }
    // An alert that starts in the future waits no longer than others.
    assert_eq!(first_flush(NOW, NOW.plus(HOUR), wait), NOW.plus(wait));
}

#[test]
fn every_row_of_the_table() {
    type Row = (&'static str, Option<SentNotification>, Vec<StoredAlert>, Option<Reason>);
    let rows: &[Row] = &[
        ("no entry, some firing", None, vec![firing("a"), resolved("b")], Some(Reason::First)),
        ("no entry, none firing", None, vec![resolved("a")], None),
        ("new, nothing fired", Some(entry(&[], &["a"], 5)), vec![firing("a")], Some(Reason::First)),
        ("new", Some(entry(&["a"], &[], 5)), vec![firing("a"), firing("b")], Some(Reason::NewAlerts)),
        (
            "new and ended",
            Some(entry(&["a"], &[], 5)),
            vec![resolved("a"), firing("b")],
            Some(Reason::NewAlerts),
        ),
        (
            "all over",
            Some(entry(&["a", "b"], &[], 5)),
            vec![resolved("a"), resolved("b")],
            Some(Reason::AllResolved),
        ),
        ("another over", Some(entry(&["a"], &[], 5)), vec![resolved("b")], Some(Reason::AllResolved)),
        ("resolved and notified", Some(entry(&[], &["a"], 5)), vec![resolved("a")], None),
        ("resolved and notified long ago", Some(entry(&[], &["a"], 90_000)), vec![resolved("a")], None),
        ("over, never fired", Some(entry(&[], &["a"], 5)), vec![resolved("b")], None),
        (
            "some over",
            Some(entry(&["a", "b"], &[], 5)),
            vec![firing("a"), resolved("b")],
            Some(Reason::SomeResolved),
        ),
        ("some resolved, notified", Some(entry(&["a"], &["b"], 5)), vec![firing("a"), resolved("b")], None),
        ("repeat", Some(entry(&["a"], &[], 12 * 3600 + 1)), vec![firing("a")], Some(Reason::Repeat)),
        ("not yet", Some(entry(&["a"], &[], 12 * 3600)), vec![firing("a")], None),
        ("fewer", Some(entry(&["a", "b"], &[], 5)), vec![firing("a")], None),
        ("nobody left", Some(entry(&["a"], &[], 90_000)), vec![], None),
    ];
    for (name, entry, alerts, expected) in rows {
        assert_eq!(decide(entry.as_ref(), &taken(alerts), NOW, 12 * HOUR), *expected, "{name}");
    }
}

#[test]
fn the_words_of_reasons() {
    let words = [Reason::First, Reason::NewAlerts, Reason::AllResolved, Reason::SomeResolved, Reason::Repeat]
        .map(Reason::as_str);
    assert_eq!(
        words,
        [
            "first notification",
            "new alerts added",
            "all alerts resolved",
            "some alerts resolved",
            "repeat interval elapsed"
        ]
    );
}

#[test]
fn a_snapshot_leaves_out_the_silenced_but_lets_them_leave() {
    let matcher = Matcher { name: "mount".into(), value: "a|c".into(), op: Op::Regex };
    let silence = ActiveSilence::new(uuid::Uuid::nil(), &[matcher]);
    let alerts = vec![firing("a"), resolved("b"), resolved("c"), firing("d"), alert("e", 0)];
    let snapshot = Snapshot::take(alerts, (&[silence], &Expressions::new(0)), NOW, None);
    let reported: Vec<_> =
        snapshot.alerts.iter().map(|t| (t.alert.labels.value("mount"), t.is_resolved)).collect();
    // One that ends now is over.
    assert_eq!(reported, [("b", true), ("d", false), ("e", true)]);
    assert_eq!(snapshot.ended, [resolved("b"), resolved("c"), alert("e", 0)].map(|a| a.fingerprint()));
    assert!(snapshot.is_firing());
}

#[test]
fn what_ended_while_the_service_was_down_fires_for_a_while() {
    let outage = Outage::new(NOW.minus(seconds(180)), NOW.minus(seconds(30)));
    let expired = StoredAlert { updated_at: NOW.minus(seconds(200)), ..resolved("a") };
    let fires_at = |now: Nanos| {
        Snapshot::take(vec![expired.clone()], (&[], &Expressions::new(0)), now, outage).is_firing()
    };
    assert!(fires_at(NOW) && fires_at(NOW.plus(seconds(269))));
    assert!(!fires_at(NOW.plus(seconds(270))));
    assert!(
        !Snapshot::take(vec![resolved("a")], (&[], &Expressions::new(0)), NOW, outage).is_firing(),
        "its sender has ended it"
    );
}

#[test]
fn alerts_are_in_the_order_of_groups() {
    let with =
        |labels: &[(&str, &str)]| StoredAlert { labels: labels.iter().copied().collect(), ..firing("") };
    let alerts = [
        with(&[("x", "1")]),
        with(&[("instance", "b"), ("job", "j")]),
        with(&[("instance", "a")]),
        with(&[("job", "i")]),
        with(&[("instance", "a"), ("job", "j")]),
    ];
    let order: Vec<Labels> = taken(&alerts).alerts.into_iter().map(|t| t.alert.labels).collect();
    assert_eq!(order, [3, 4, 1, 2, 0].map(|i: usize| alerts[i].labels.clone()));
}

#[test]
fn waits_grow_to_a_minute() {
    assert_eq!(retry_wait(0, 0), Duration::from_millis(250));
    assert_eq!(retry_wait(0, 255), Duration::from_millis(750));
    assert_eq!(retry_wait(2, 0), Duration::from_micros(562_500));
    assert_eq!((retry_wait(12, 255), retry_wait(u32::MAX, 0)), (seconds(60), seconds(30)));
    assert_eq!((patience(seconds(1)), patience(seconds(300))), (seconds(10), seconds(300)));
    assert_eq!((kept_for(12 * HOUR), kept_for(72 * HOUR)), (120 * HOUR, 144 * HOUR));
}

fn message(snapshot: &Snapshot, write: impl Fn(&Message<'_>) -> String) -> String {
    let group_labels: Labels = [("alertname", "DiskFull"), ("system_key", "SYS-1")].into_iter().collect();
    write(&Message {
        receiver: "org-severity-critical-receiver",
        reason: Reason::NewAlerts,
        snapshot,
        group_labels: &group_labels,
        group_key: "{}/{organization_id=\"org\"}:{alertname=\"DiskFull\"}",
        external_url: "https://bailiwick.example.org",
    })
}

#[test]
fn the_body_of_a_webhook() {
    let body = message(&taken(&[firing("b"), resolved("a")]), |m| m.webhook());
    let alert = |status: &str, name: &str, ends: &str| {
        format!(
            "{{\"status\":\"{status}\",\"labels\":{{\"alertname\":\"DiskFull\",\"mount\":\"{name}\",\"system_key\":\"SYS-1\"}},\
             \"annotations\":{{\"summary\":\"{name}\",\"system_name\":\"Milan\"}},\"startsAt\":\"2026-11-21T22:16:40.169860167Z\",\
             \"endsAt\":\"{ends}\",\"generatorURL\":\"\",\"fingerprint\":\"{}\"}}",
            firing(name).fingerprint()
        )
    };
    let (a, b) = (
        alert("resolved", "a", "2026-11-21T22:25:40.169860167Z"),
        alert("firing", "b", "0001-01-01T00:00:00Z"),
    );
    let expected = format!(
        "{{\"receiver\":\"org-severity-critical-receiver\",\"status\":\"firing\",\"alerts\":[{a},{b}],\
         \"notification_reason\":\"new alerts added\",\
         \"groupLabels\":{{\"alertname\":\"DiskFull\",\"system_key\":\"SYS-1\"}},\
         \"commonLabels\":{{\"alertname\":\"DiskFull\",\"system_key\":\"SYS-1\"}},\
         \"commonAnnotations\":{{\"system_name\":\"Milan\"}},\"externalURL\":\"https://bailiwick.example.org\",\
         \"version\":\"4\",\"groupKey\":\"{{}}/{{organization_id=\\\"org\\\"}}:{{alertname=\\\"DiskFull\\\"}}\",\
         \"truncatedAlerts\":0}}"
    );
    assert_eq!(body, expected);
    assert!(
        message(&taken(&[resolved("a")]), |m| m.webhook()).contains("\"status\":\"resolved\",\"alerts\"")
    );
}

fn around() -> Surroundings {
    let zone = Zone { base: Offset { seconds: 3600, name: "CET".into() }, others: Vec::new() };
    Surroundings { pages: Pages::Other("https://portal.example.org".into()), zone }
}

#[test]
fn subjects_are_one_line() {
    assert_eq!(message(&taken(&[firing("a"), resolved("b")]), |m| m.subject()), "[FIRING:1] DiskFull Milan");
    assert_eq!(message(&taken(&[resolved("b")]), |m| m.subject()), "[RESOLVED] DiskFull Milan");
    let mut bare = firing("a");
    bare.annotations = Labels::new();
    assert_eq!(message(&taken(&[bare.clone()]), |m| m.subject()), "[FIRING:1] DiskFull SYS-1");
    bare.labels.insert("alertname", "Disk\r\nBcc: x@evil.example\u{2028}y");
    assert_eq!(
        message(&taken(&[bare.clone()]), |m| m.subject()),
        "[FIRING:1] Disk Bcc: x@evil.example y SYS-1"
    );
    bare.labels.insert("alertname", "x".repeat(4096));
    assert_eq!(message(&taken(&[bare]), |m| m.subject()).chars().count(), 250);
}

#[test]
fn people_read_the_same_in_text_and_html() {
    let mut alert = resolved("a");
    alert.labels.insert("severity", "critical");
    alert.labels.insert("system_id", "id/1");
    alert.annotations = [
        ("summary_it", "Disco <b>pieno</b> & {{ .x }}"),
        ("summary", "plain"),
        ("description_en", "only 'English'"),
        ("system_name", "Milan <cluster>"),
        ("organization_vat", "IT123"),
        ("system_fqdn", ""),
    ]
    .into_iter()
    .collect();
    let snapshot = taken(&[alert]);
    let lines = [
        "Allarmi risolti",
        "",
        "DiskFull (critical, risolto)",
        "Disco <b>pieno</b> & {{ .x }}",
        "only 'English'",
        "Sistema: Milan <cluster>",
        "Partita IVA: IT123",
        "Dal: 21/11/2026 23:16 CET",
        "Al: 21/11/2026 23:25 CET",
        "https://portal.example.org/systems/id%2F1",
        "",
    ];
    assert_eq!(message(&snapshot, |m| m.text(Language::Italian, &around())), lines.join("\n"));
    let html = message(&snapshot, |m| m.html(Language::Italian, &around()));
    for part in [
        "<html lang=\"it\">",
        "Disco &lt;b&gt;pieno&lt;/b&gt; &amp; {{ .x }}",
        "only &#39;English&#39;",
        "Milan &lt;cluster&gt;",
        "href=\"https://portal.example.org/systems/id%2F1\"",
        "Dal</td><td>21/11/2026 23:16 CET",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let english = message(&snapshot, |m| m.text(Language::English, &around()));
    assert!(english.contains("plain\n") && english.contains("Since: 21 Nov 2026 23:16 CET\n"), "{english}");
    let chat = message(&snapshot, |m| m.telegram(Language::Italian, &around()));
    assert!(chat.starts_with("<b>🟢 DiskFull</b> (critical, risolto)\nDisco &lt;b&gt;pieno"), "{chat}");
    assert!(
        chat.ends_with("<a href=\"https://portal.example.org/systems/id%2F1\">Apri il sistema</a>"),
        "{chat}"
    );
}

#[test]
fn the_link_leads_to_the_alert_in_the_console() {
    let mut alert = firing("a");
    alert.labels.insert("system_id", "id/1");
    alert.labels.insert("organization_id", "org");
    let snapshot = taken(&[alert.clone()]);
    let around = Surroundings { pages: Pages::Console("https://fleet.example.org".into()), ..around() };
    let fingerprint = snapshot.alerts.first().unwrap().fingerprint;
    let text = message(&snapshot, |m| m.text(Language::English, &around));
    let link = format!("https://fleet.example.org/console/alerts/org/{fingerprint}?system=id%2F1");
    assert!(text.lines().any(|line| line == link), "{text}");
    let html = message(&snapshot, |m| m.html(Language::Italian, &around));
    assert!(html.contains(&format!("<a href=\"{link}\">Apri l’allarme</a>")), "{html}");
    // Without a system there is nothing to open.
    alert.labels.insert("system_id", "");
    assert!(!message(&taken(&[alert]), |m| m.text(Language::English, &around)).contains("https://"));
}

/// A mail program, a terminal or a chat may obey a control character or one of direction.
#[test]
fn characters_that_steer_are_never_sent() {
    for (sent, shown) in [
        ("a\u{1b}[2Jb", "a\u{fffd}[2Jb"),
        ("nul\u{0}del\u{7f}", "nul\u{fffd}del\u{fffd}"),
        ("c1\u{9b}31m", "c1\u{fffd}31m"),
        ("back\u{8}\u{8}", "back\u{fffd}\u{fffd}"),
        ("lone\rreturn", "lone\u{fffd}return"),
        ("two\r\nlines\tand a tab", "two\nlines\tand a tab"),
        ("gnp\u{202e}exe.\u{2066}", "gnp\u{fffd}exe.\u{fffd}"),
    ] {
        let mut alert = firing("a");
        for name in ["alertname", "severity"] {
            alert.labels.insert(name, sent);
        }
        for name in ["summary", "description", "system_name", "organization_name"] {
            alert.annotations.insert(name, sent);
        }
        let snapshot = taken(&[alert]);
        for (kind, text) in [
            ("subject", message(&snapshot, |m| m.subject())),
            ("text", message(&snapshot, |m| m.text(Language::English, &around()))),
            ("html", message(&snapshot, |m| m.html(Language::English, &around()))),
            ("telegram", message(&snapshot, |m| m.telegram(Language::English, &around()))),
            ("slack", message(&snapshot, |m| m.slack(Language::English, &around()))),
        ] {
            assert!(
                !text.contains(|c: char| is_steering(c) && !matches!(c, '\n' | '\t')),
                "{kind}: {text:?}"
            );
            assert!(kind == "subject" || text.contains(shown), "{kind}: {text:?}");
        }
        let event = message(&snapshot, |m| m.pagerduty(Language::English, &around()).to_string());
        assert!(!event.contains("\\u00"), "{event}");
    }
}

/// Whether every tag of Telegram's is closed and every entity ends.
fn is_well_formed(chat: &str) -> bool {
    let count = |what: &str| chat.matches(what).count();
    let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].map(count).iter().sum::<usize>();
    count("<b>") == count("</b>")
        && count("<a href=\"") == count("</a>")
        && count("<") == 2 * (count("<b>") + count("<a href=\""))
        && count("&") == entities
}

#[test]
fn a_mail_of_a_large_group_has_a_bound_and_says_how_many_are_left_out() {
    let alerts: Vec<StoredAlert> = (0..400)
        .map(|i| {
            let mut alert = firing(&format!("{i:03}"));
            alert.annotations.insert("description", "\"x\"".repeat(500));
            alert
        })
        .collect();
    let snapshot = taken(&alerts);
    let text = message(&snapshot, |m| m.text(Language::English, &around()));
    let html = message(&snapshot, |m| m.html(Language::Italian, &around()));
    for (mail, heading) in [(&text, "Further alerts: "), (&html, "Altri allarmi: ")] {
        assert!(mail.len() < 160 * 1024, "{}", mail.len());
        let left = mail.split(heading).nth(1).unwrap().split(['\n', '<']).next().unwrap();
        let listed = mail.matches(if heading.starts_with('F') { ", firing)\n" } else { "<h2" }).count();
        assert_eq!(left.parse::<usize>().unwrap() + listed, 400);
    }
    assert!(html.ends_with("</body>\n</html>\n"));
}

proptest! {
    #[test]
    fn a_chat_message_has_a_bound_and_stays_whole(
        texts in prop::collection::vec(prop_oneof!["[a<&>\"'é🔴]{0,3000}", "\\PC{0,40}"], 1..8)
    ) {
        let alerts: Vec<StoredAlert> = texts.iter().enumerate().map(|(i, text)| {
            let mut alert = firing(&i.to_string());
            alert.labels.insert("alertname", text.clone());
            alert.labels.insert("system_id", text.clone());
            alert.annotations.insert("summary", text.clone());
            alert
        }).collect();
        let chat = message(&taken(&alerts), |m| m.telegram(Language::English, &around()));
        prop_assert!(chat.chars().count() <= 4096);
        prop_assert!(is_well_formed(&chat), "{}", chat);
        let channel = message(&taken(&alerts), |m| m.slack(Language::English, &around()));
        prop_assert!(channel.chars().count() <= 4000);
        let count = |what: &str| channel.matches(what).count();
        let escapes = count("&amp;") + count("&lt;") + count("&gt;");
        prop_assert!(count("&") == escapes && count("<") == count(">"), "{}", channel);
    }

    /// After any sequence of changes, a recipient of every snapshot knows all firing alerts, and no notification
    /// repeats.
    #[test]
    fn recipients_are_notified_once(steps in prop::collection::vec(prop::collection::vec((0..4_u8, any::<bool>()), 0..4), 1..12)) {
        let mut last_sent: Option<SentNotification> = None;
        for step in steps {
            let alerts: std::collections::BTreeMap<u8, bool> = step.into_iter().collect();
            let alerts: Vec<StoredAlert> = alerts.into_iter()
                .map(|(n, fires)| if fires { firing(&n.to_string()) } else { resolved(&n.to_string()) }).collect();
            let snapshot = taken(&alerts);
            if decide(last_sent.as_ref(), &snapshot, NOW, HOUR).is_some() {
                last_sent = Some(SentNotification::of(&snapshot, NOW));
            }
            let entry = last_sent.clone().unwrap_or_default();
            prop_assert!(snapshot.alerts.iter().filter(|a| !a.is_resolved).all(|a| entry.firing.contains(&a.fingerprint)));
            prop_assert_eq!(decide(last_sent.as_ref(), &snapshot, NOW, HOUR), None);
            prop_assert_eq!(SentNotification::read(&SentNotification::write(&entry.firing)), entry.firing);
        }
    }
}
