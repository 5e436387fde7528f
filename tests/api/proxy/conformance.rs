//! The embedded router and a real Prometheus Alertmanager behind the service give the same answers to the same
//! requests (spec: alert-router#conformance). Both serve the same systems of one database; times are compared by what
//! they stand for (one sent, or some present moment), ids by the order in which they appear.

use super::*;
use bailiwick_domain::Ts;
use bailiwick_testkit::{api_test, parts::alertmanager::Alertmanager};
use std::collections::BTreeMap;

/// One receiver, and the service's own default for alerts without end.
pub(crate) const CONFIGURATION: &str =
    "global:\n  resolve_timeout: 6h\nroute:\n  receiver: nobody\nreceivers:\n  - name: nobody\n";

/// Reviewed: the differences of Debian's Alertmanager 0.25 from 0.34, by the step that shows them. Empty: there are
/// none in this list of requests; annotations of silences, which 0.25 does not know, are not part of it.
const DIFFERENT_IN_0_25: &[&str] = &[];

/// `{+10m}` and the like are times around the start of the test; `{a}` is the id that the step named `a` was given.
const STEPS: &[(&str, &str, &str, &str)] = &[
    // Nothing there yet.
    ("empty list", "GET", "alerts", ""),
    ("empty silences", "GET", "silences", ""),
    ("empty groups", "GET", "alerts/groups", ""),
    // The table of 1.6.
    ("no body", "POST", "alerts", ""),
    ("nothing", "POST", "alerts", "[]"),
    ("null", "POST", "alerts", "null"),
    ("no JSON", "POST", "alerts", "{{{"),
    ("an object", "POST", "alerts", r#"{"labels":{"alertname":"A"}}"#),
    ("no labels", "POST", "alerts", "[{}]"),
    ("null element", "POST", "alerts", "[null]"),
    ("no pair", "POST", "alerts", r#"[{"labels":{}}]"#),
    ("bad name", "POST", "alerts", r#"[{"labels":{"bad-name":"x","alertname":"B"}}]"#),
    ("bad address", "POST", "alerts", r#"[{"labels":{"alertname":"B"},"generatorURL":"::not a url"}]"#),
    (
        "turned times",
        "POST",
        "alerts",
        r#"[{"labels":{"alertname":"B"},"startsAt":"{+20m}","endsAt":"{+10m}"}]"#,
    ),
    ("good and bad", "POST", "alerts", r#"[{"labels":{"alertname":"Mixed"}},{"labels":{"":"x"}}]"#),
    ("the good one", "GET", "alerts", ""),
    // Defaults of 5.2.
    ("neither", "POST", "alerts", r#"[{"labels":{"alertname":"Neither"}}]"#),
    ("start", "POST", "alerts", r#"[{"labels":{"alertname":"Start"},"startsAt":"{-60m}"}]"#),
    ("end", "POST", "alerts", r#"[{"labels":{"alertname":"End"},"endsAt":"{+60m}"}]"#),
    ("both", "POST", "alerts", r#"[{"labels":{"alertname":"Both"},"startsAt":"{-60m}","endsAt":"{+60m}"}]"#),
    (
        "to come",
        "POST",
        "alerts",
        r#"[{"labels":{"alertname":"Future"},"startsAt":"{+30m}","endsAt":"{+60m}"}]"#,
    ),
    (
        "as a webhook",
        "POST",
        "alerts",
        r#"[{"status":"firing","fingerprint":"deadbeef","labels":{"alertname":"Hook","severity":"warning","e":""},"annotations":{"s":"x"},"startsAt":"{-60m}","endsAt":"0001-01-01T00:00:00Z","generatorURL":""}]"#,
    ),
    ("an address", "POST", "alerts", r#"[{"labels":{"alertname":"Link"},"generatorURL":"http://x/y?z=1"}]"#),
    ("a date", "POST", "alerts", r#"[{"labels":{"alertname":"Date"},"startsAt":"2026-01-02"}]"#),
    ("all", "GET", "alerts", ""),
    // Merges of 5.2.
    ("earlier start", "POST", "alerts", r#"[{"labels":{"alertname":"Neither"},"startsAt":"{-30m}"}]"#),
    ("no start again", "POST", "alerts", r#"[{"labels":{"alertname":"Start"}}]"#),
    (
        "shorter",
        "POST",
        "alerts",
        r#"[{"labels":{"alertname":"Both"},"startsAt":"{-50m}","endsAt":"{+40m}"}]"#,
    ),
    ("longer", "POST", "alerts", r#"[{"labels":{"alertname":"End"},"endsAt":"{+80m}"}]"#),
    (
        "end for a made up one",
        "POST",
        "alerts",
        r#"[{"labels":{"alertname":"Hook","severity":"warning"},"endsAt":"{+20m}"}]"#,
    ),
    ("merged", "GET", "alerts", ""),
    (
        "resolved",
        "POST",
        "alerts",
        r#"[{"labels":{"alertname":"Both"},"endsAt":"{-10m}"},{"labels":{"alertname":"Link"},"endsAt":"{-20m}"}]"#,
    ),
    ("without the resolved", "GET", "alerts", ""),
    (
        "resolved later",
        "POST",
        "alerts",
        r#"[{"labels":{"alertname":"Both"},"startsAt":"{-60m}","endsAt":"{-5m}"}]"#,
    ),
    ("fires again", "POST", "alerts", r#"[{"labels":{"alertname":"Both"},"startsAt":"{-20m}"}]"#),
    ("re-fired", "GET", "alerts?filter=alertname%3DBoth", ""),
    // Filters of 5.5 and 5.6, and flags.
    ("equal", "GET", "alerts?filter=alertname%3D%22Hook%22", ""),
    ("not equal", "GET", "alerts?filter=severity!%3Dwarning", ""),
    ("expression", "GET", "alerts?filter=alertname%3D~%22H.*%7CEnd%22", ""),
    ("anchored", "GET", "alerts?filter=alertname%3D~%22oo%22", ""),
    ("negative expression", "GET", "alerts?filter=alertname!~%22H.*%22&filter=alertname!%3DEnd", ""),
    ("missing", "GET", "alerts?filter=severity%3D%22%22", ""),
    ("there", "GET", "alerts?filter=severity!%3D%22%22", ""),
    ("bad filter", "GET", "alerts?filter=bad-!!", ""),
    ("braces", "GET", "alerts?filter=%7Balertname%3D%22A%22%7D", ""),
    ("bad expression", "GET", "alerts?filter=a%3D~%5B", ""),
    ("flag", "GET", "alerts?active=false", ""),
    ("odd flag", "GET", "alerts?active=maybe", ""),
    ("groups", "GET", "alerts/groups", ""),
    ("groups filtered", "GET", "alerts/groups?filter=severity%3Dwarning", ""),
    // The tables of 1.8 and 1.9.
    ("silence no JSON", "POST", "silences", "{{{"),
    ("silence null", "POST", "silences", "null"),
    (
        "silence without comment",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"a","value":"b","isRegex":false}],"startsAt":"{-10m}","endsAt":"{+60m}"}"#,
    ),
    (
        "silence without matchers",
        "POST",
        "silences",
        r#"{"matchers":[],"startsAt":"{-10m}","endsAt":"{+60m}","createdBy":"","comment":""}"#,
    ),
    (
        "silence turned",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"a","value":"b","isRegex":false}],"startsAt":"{+60m}","endsAt":"{+50m}","createdBy":"","comment":""}"#,
    ),
    (
        "silence over",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"a","value":"b","isRegex":false}],"startsAt":"{-60m}","endsAt":"{-50m}","createdBy":"","comment":""}"#,
    ),
    (
        "silence bad name",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"a-b","value":"b","isRegex":false}],"startsAt":"{-10m}","endsAt":"{+60m}","createdBy":"","comment":""}"#,
    ),
    (
        "silence bad expression",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"a","value":"[","isRegex":true}],"startsAt":"{-10m}","endsAt":"{+60m}","createdBy":"","comment":""}"#,
    ),
    (
        "silence of nothing",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"a","value":"","isRegex":false}],"startsAt":"{-10m}","endsAt":"{+60m}","createdBy":"","comment":""}"#,
    ),
    (
        "update unknown",
        "POST",
        "silences",
        r#"{"id":"00000000-0000-4000-8000-000000000000","matchers":[{"name":"a","value":"b","isRegex":false}],"startsAt":"{-10m}","endsAt":"{+60m}","createdBy":"","comment":""}"#,
    ),
    ("unknown", "GET", "silence/00000000-0000-4000-8000-000000000000", ""),
    ("expire unknown", "DELETE", "silence/00000000-0000-4000-8000-000000000000", ""),
    ("no id", "GET", "silences/abc", ""),
    (
        "active",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"alertname","value":"Hook","isRegex":false}],"startsAt":"{-10m}","endsAt":"{+60m}","createdBy":"me","comment":"c"}"#,
    ),
    (
        "pending",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"alertname","value":"N.*","isRegex":true}],"startsAt":"{+20m}","endsAt":"{+60m}","createdBy":"","comment":""}"#,
    ),
    ("the active one", "GET", "silence/{active}", ""),
    ("the pending one", "GET", "silences/{pending}", ""),
    ("suppressed", "GET", "alerts?filter=alertname%3DHook", ""),
    ("not silenced", "GET", "alerts?silenced=false", ""),
    ("only silenced", "GET", "alerts?active=false", ""),
    // Updates of 5.8 in all states.
    (
        "pending moved",
        "POST",
        "silences",
        r#"{"id":"{pending}","matchers":[{"name":"alertname","value":"N.*","isRegex":true}],"startsAt":"{+30m}","endsAt":"{+70m}","createdBy":"you","comment":"d"}"#,
    ),
    (
        "pending back in time",
        "POST",
        "silences",
        r#"{"id":"{pending}","matchers":[{"name":"alertname","value":"N.*","isRegex":true}],"startsAt":"{-30m}","endsAt":"{+75m}","createdBy":"","comment":""}"#,
    ),
    ("after that", "GET", "silences", ""),
    (
        "active from another start",
        "POST",
        "silences",
        r#"{"id":"{active}","matchers":[{"name":"alertname","value":"Hook","isRegex":false}],"startsAt":"{-20m}","endsAt":"{+70m}","createdBy":"","comment":""}"#,
    ),
    ("the old one", "GET", "silence/{active}", ""),
    (
        "other matchers",
        "POST",
        "silences",
        r#"{"id":"{active from another start}","matchers":[{"name":"alertname","value":"Hook","isRegex":false,"isEqual":false}],"startsAt":"{-20m}","endsAt":"{+70m}","createdBy":"","comment":""}"#,
    ),
    (
        "expired again",
        "POST",
        "silences",
        r#"{"id":"{active}","matchers":[{"name":"alertname","value":"Hook","isRegex":false}],"startsAt":"{-20m}","endsAt":"{+70m}","createdBy":"","comment":""}"#,
    ),
    (
        "two later",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"alertname","value":"L","isRegex":false}],"startsAt":"{+40m}","endsAt":"{+50m}","createdBy":"","comment":""}"#,
    ),
    ("expire active", "DELETE", "silence/{expired again}", ""),
    ("expire it again", "DELETE", "silences/{expired again}", ""),
    ("expire pending", "DELETE", "silence/{two later}", ""),
    ("was active", "GET", "silence/{expired again}", ""),
    ("was pending", "GET", "silence/{two later}", ""),
    // Order and filters of 5.9.
    (
        "a pending one",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"alertname","value":"P","isRegex":false}],"startsAt":"{+40m}","endsAt":"{+50m}","createdBy":"","comment":""}"#,
    ),
    (
        "an earlier one",
        "POST",
        "silences",
        r#"{"matchers":[{"name":"alertname","value":"P","isRegex":false}],"startsAt":"{+20m}","endsAt":"{+60m}","createdBy":"","comment":""}"#,
    ),
    ("all silences", "GET", "silences", ""),
    ("literally", "GET", "silences?filter=alertname%3DP", ""),
    ("not evaluated", "GET", "silences?filter=alertname%3D~%22P.*%22", ""),
    ("the expression itself", "GET", "silences?filter=alertname%3D~%22N.*%22", ""),
    ("bad silence filter", "GET", "silences?filter=bad-!!", ""),
    // Paths and methods.
    ("put", "PUT", "alerts", "[]"),
    ("head", "HEAD", "silences", ""),
    ("options", "OPTIONS", "silence/abc", ""),
    ("unknown path", "GET", "nope", ""),
    ("receivers", "GET", "receivers", ""),
];

/// Answers made comparable.
struct Plain {
    base: Ts,
    ids: Vec<String>,
}

impl Plain {
    /// A time sent stands for itself, any other for how far it is from the start in tens of minutes.
    fn time(&self, text: &str) -> String {
        let Ok(t) = text.parse::<Ts>() else { return text.to_owned() };
        let off = t.0 - self.base.0;
        if off.abs() > 86_400_000_000 {
            text.to_owned()
        } else if off % 60_000_000 == 0 {
            format!("<{:+}m>", off / 60_000_000)
        } else {
            format!("<about {:+}m>", (off as f64 / 600_000_000.0).round() as i64 * 10)
        }
    }

    /// Quoted words of the text that are times or ids are replaced.
    fn text(&mut self, text: &str) -> String {
        let words = text.split('"').map(|word| {
            if word.len() == 36 && uuid::Uuid::parse_str(word).is_ok() {
                let index = self.ids.iter().position(|id| id == word).unwrap_or_else(|| {
                    self.ids.push(word.to_owned());
                    self.ids.len() - 1
                });
                return format!("<id {index}>");
            }
            if word.len() >= 20 && word.starts_with("20") && word.ends_with('Z') {
                self.time(word)
            } else {
                word.to_owned()
            }
        });
        let joined = words.collect::<Vec<_>>().join("\"");
        match joined.split_once(", because ") {
            Some((head, _)) => format!("{head}, because …"),
            None => joined,
        }
    }
}

/// A step's text with its times and ids.
fn filled(text: &str, base: Ts, ids: &BTreeMap<&str, String>) -> String {
    let mut out = text.to_owned();
    for minutes in (-120..=120).step_by(5) {
        let time = Ts(base.0 + minutes * 60_000_000).rfc3339(0);
        out = out.replace(&format!("{{{minutes:+}m}}"), &time);
    }
    for (name, id) in ids {
        out = out.replace(&format!("{{{name}}}"), id);
    }
    out
}

/// The present, in a later millisecond than any answer before. A real router gives times in milliseconds, and the order
/// of its silences is by these times, so two steps in one millisecond would have none.
async fn later_millisecond() -> Ts {
    let millisecond = |time: Ts| time.0.div_euclid(1_000);
    let before = millisecond(wall_clock());
    loop {
        tokio::time::sleep(std::time::Duration::from_micros(100)).await;
        let now = wall_clock();
        if millisecond(now) > before {
            return now;
        }
    }
}

/// Every step's answer, made comparable.
async fn transcript(system: &Client<'_>) -> Vec<(&'static str, String)> {
    let base = Ts::from_secs(wall_clock().secs() - 5);
    let mut plain = Plain { base, ids: Vec::new() };
    let (mut ids, mut answers) = (BTreeMap::new(), Vec::new());
    for (name, method, path, body) in STEPS {
        system.test.clock.set(later_millisecond().await);
        let path = filled(path, base, &ids);
        let mut call = system.call(method, &format!("/api/v2/{path}"));
        if *method == "POST" || *method == "PUT" {
            call = call.header("content-type", "application/json").body(filled(body, base, &ids));
        }
        let reply = call.send().await;
        if let Ok(answer) = serde_json::from_slice::<serde_json::Value>(&reply.body)
            && let Some(id) = answer["silenceID"].as_str()
        {
            ids.insert(*name, id.to_owned());
        }
        let (kind, allow) = (reply.header("content-type"), reply.header("allow"));
        let text = plain.text(&reply.text());
        answers.push((*name, format!("{} {kind:?} {allow:?} {text}", reply.status.as_u16())));
    }
    answers
}

api_test!(embedded_and_a_real_alertmanager_answer_alike, |s| generous(s), |t| async move {
    let real = Alertmanager::start(CONFIGURATION).await.unwrap();
    t.clock.set(wall_clock());
    let embedded = Client::new(&t).await;
    let url = real.url().to_owned();
    let p = t
        .replica_with(|s| {
            let remote =
                RemoteRouter { url, prefix: String::new(), kind: RouterKind::Plain, is_provisioned: false };
            s.alerting.router = Router::Remote(remote);
            patient(s);
        })
        .await;
    let plain = Client { test: &p, system: embedded.system.clone() };
    let (here, there) = (transcript(&embedded).await, transcript(&plain).await);
    let mut different = Vec::new();
    for ((name, ours), (_, theirs)) in here.iter().zip(&there) {
        if (ours != theirs) != DIFFERENT_IN_0_25.contains(name) {
            different.push(format!("{name}:\n  embedded: {ours}\n  real:     {theirs}"));
        }
    }
    assert!(different.is_empty(), "{}\n{}", different.join("\n"), real.log());
    // The list means something: it sees alerts, silences and refusals.
    let answered = |status: &str| here.iter().filter(|(_, a)| a.starts_with(status)).count();
    assert!(
        answered("200") > 40 && answered("400") > 10 && answered("422") > 5 && answered("404") > 3,
        "{here:#?}"
    );
});
