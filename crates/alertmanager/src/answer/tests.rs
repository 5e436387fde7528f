use super::*;
use crate::{RejectBody, active_silence::active_silences, listing::render};

const LIST: &str = r#"[{"annotations":{},"endsAt":"2026-11-20T22:20:32.295Z","fingerprint":"111e6cbc5e40c3cc","receivers":[{"name":"blackhole"}],"startsAt":"2026-11-20T22:15:32.295Z","status":{"inhibitedBy":[],"mutedBy":[],"silencedBy":[],"state":"unprocessed"},"updatedAt":"2026-11-20T22:15:32.295Z","labels":{"alertname":"EmptyVal"}},{"annotations":{"summary":"disk"},"endsAt":"2026-11-20T22:21:43.717Z","fingerprint":"3d877aa4db064864","receivers":[{"name":"blackhole"}],"startsAt":"2026-11-20T22:16:43.717Z","status":{"inhibitedBy":[],"mutedBy":[],"silencedBy":[],"state":"unprocessed"},"updatedAt":"2026-11-20T22:16:43.717Z","generatorURL":"http://x/y","labels":{"alertname":"DiskFull","severity":"critical","system_key":"NETH-1"}}]"#;

const SILENCE: &str = r#"{"id":"ec723bee-594d-4205-ac02-6d684e9106ed","status":{"state":"active"},"updatedAt":"2026-11-20T22:16:46.766Z","comment":"c","createdBy":"tester","endsAt":"2026-11-21T00:16:43.000Z","matchers":[{"isEqual":true,"isRegex":false,"name":"alertname","value":"DiskFull"},{"isEqual":true,"isRegex":false,"name":"system_key","value":"NETH-1"}],"startsAt":"2026-11-20T22:16:46.766Z"}"#;

#[test]
fn captured_lists_come_out_as_they_went_in() {
    let alerts = decode_alerts(LIST.as_bytes()).unwrap();
    assert_eq!(render(&alerts).unwrap(), format!("{LIST}\n"));
    assert!(alerts.iter().all(|a| a.fingerprint == crate::Fingerprint::of(&a.labels)));
    let silence = decode_silence(SILENCE.as_bytes()).unwrap();
    let again: serde_json::Value = serde_json::from_str(&render(&silence).unwrap()).unwrap();
    assert_eq!(again, serde_json::from_str::<serde_json::Value>(SILENCE).unwrap());
}

#[test]
fn unprocessed_is_completed() {
    let mut alerts = decode_alerts(LIST.as_bytes()).unwrap();
    alerts[0].status.inhibited_by.push("3d877aa4db064864".into());
    let mut silence = decode_silence(SILENCE.as_bytes()).unwrap();
    complete_status(&mut alerts, &active_silences([&silence]), &Expressions::new(0));
    assert_eq!(alerts[0].status.state, AlertState::Suppressed, "inhibited");
    assert_eq!(alerts[1].status.state, AlertState::Suppressed);
    assert_eq!(alerts[1].status.silenced_by, ["ec723bee-594d-4205-ac02-6d684e9106ed"]);
    silence.status.state = crate::SilenceState::Expired;
    let mut fresh = decode_alerts(LIST.as_bytes()).unwrap();
    complete_status(&mut fresh, &active_silences([&silence]), &Expressions::new(0));
    assert!(fresh.iter().all(|a| a.status.state == AlertState::Active && a.status.silenced_by.is_empty()));
    // Silences that the router itself reports are kept.
    let mut completed = alerts.clone();
    complete_status(&mut completed, &[], &Expressions::new(0));
    assert_eq!(completed, alerts);
}

#[test]
fn other_answers() {
    assert_eq!(decode_alerts(b"null").unwrap(), []);
    assert_eq!(decode_silences(b"[]\n").unwrap(), []);
    for bad in
        ["", "the Alertmanager is not configured", "{}", "[1]", "[{}]", &LIST.replace("unprocessed", "odd")]
    {
        assert!(decode_alerts(bad.as_bytes()).is_err(), "{bad}");
    }
    let id = decode_created(b"{\"silenceID\":\"3b2ee7c2-178a-47f1-aa50-88e745959d86\"}\n").unwrap();
    assert_eq!(id.to_string(), "3b2ee7c2-178a-47f1-aa50-88e745959d86");
    assert!(decode_created(b"{\"silenceID\":\"x\"}").is_err());
}

#[test]
fn which_refusals_pass() {
    let text = passable_refusal(400, b"\"at least one label pair required\"\n").unwrap();
    assert_eq!(text.render(), "\"at least one label pair required\"\n");
    let coded = passable_refusal(422, br#"{"message":"0.labels in body is required","code":602}"#).unwrap();
    assert_eq!(coded.body, RejectBody::Coded { code: 602, message: "0.labels in body is required".into() });
    assert_eq!(coded.render(), r#"{"code":602,"message":"0.labels in body is required"}"#);
    for (status, body) in [
        (404, "the Alertmanager is not configured"),
        (400, ""),
        (400, r#"{"code":1,"message":"m","stack":"secret"}"#),
        (400, r#"{"message":"m"}"#),
        (403, "\"x\""),
        (500, "\"x\""),
        (400, &format!("\"{}\"", "x".repeat(4096))),
    ] {
        assert_eq!(passable_refusal(status, body.as_bytes()), None, "{status} {body}");
    }
}
