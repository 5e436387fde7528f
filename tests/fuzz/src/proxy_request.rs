//! The alerting proxy turns the requests that a system may send into requests of the service's own. The first byte says
//! which request it is, the rest is the body or the query. The request that the service sends on reads back as itself,
//! names its system, and holds nothing more.

use bailiwick_alertmanager::{
    AlertsQuery, Intake, Limits, Matcher, Nanos, SenderLabels, SilenceIntake, SilencesQuery,
    alert::write_alerts,
    parse_alerts, parse_silence,
    silence::{is_owned, path_id, write_silence},
};
use std::time::Duration;

fn own() -> SenderLabels {
    let text = str::to_owned;
    SenderLabels {
        system_key: text("SYS-OWN"),
        system_id: text("01990000-0000-7000-8000-000000000001"),
        organization_id: text("01990000-0000-7000-8000-000000000002"),
        system_name: text("a \"name\""),
        organization_name: text("{{ .system_key }}"),
        organization_type: text("customer"),
        ..SenderLabels::default()
    }
}

/// The limits of a client's request with room for the service's own additions, which do not count.
fn judging(given: &Limits) -> Limits {
    Limits {
        labels: given.labels + 3,
        annotations: given.annotations + 7,
        alert_bytes: given.alert_bytes * 2,
        silence_bytes: given.silence_bytes * 2,
        matchers: given.matchers + 1,
        ..given.clone()
    }
}

fn alerts(body: &[u8], now: Nanos) {
    let (identity, limits) = (own(), Limits::default());
    let intake = |limits| Intake {
        identity: Some(&identity),
        now,
        resolve_timeout: Duration::from_secs(6 * 3600),
        limits,
    };
    let Ok(batch) = parse_alerts(body, &intake(&limits)) else { return };
    for alert in &batch.alerts {
        for (name, value) in identity.stable() {
            assert_eq!(alert.labels().get(name), Some(value));
            assert_eq!(alert.annotations.get(name), None);
        }
        for (name, value) in identity.display() {
            assert_eq!(alert.annotations.value(name), value);
            assert_eq!(alert.labels().get(name), None);
        }
    }
    if batch.alerts.is_empty() {
        return;
    }
    // A value that was put in for a placeholder may itself look like one, so the own names are not given again.
    let written = write_alerts(&batch.alerts);
    let wide = judging(&limits);
    let plain = Intake { identity: None, ..intake(&wide) };
    let again = parse_alerts(written.as_bytes(), &plain).expect("what is sent on can be read");
    assert!(again.refused.is_empty(), "{:?}", again.refused);
    assert_eq!(again.alerts, batch.alerts);
    assert_eq!(write_alerts(&again.alerts), written);
}

fn silence(body: &[u8], now: Nanos) {
    let (identity, limits) = (own(), Limits::default());
    let intake = |limits| SilenceIntake { identity: Some(&identity), now, limits };
    let Ok(posted) = parse_silence(body, &intake(&limits)) else { return };
    assert!(is_owned(&posted.matchers, &identity.system_key));
    assert_eq!(posted.matchers.iter().filter(|m| identity.stable_value(&m.name).is_some()).count(), 1);
    let written = write_silence(&posted);
    let wide = judging(&limits);
    let again = parse_silence(written.as_bytes(), &intake(&wide));
    assert_eq!(again.as_ref(), Ok(&posted));
}

/// Filters only, each as it is written, the own system's last.
fn query(sent: &str) {
    let key = own().system_key;
    for pair in sent.split('&') {
        let filter = pair.strip_prefix("filter=").expect("only filters");
        assert!(filter.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~%".contains(&b)), "{sent}");
    }
    let read =
        SilencesQuery::parse(sent, &Limits { filters: 64, expression_bytes: 4096, ..Limits::default() });
    let read = read.expect("what is sent on can be read");
    assert_eq!(read.filters.last(), Some(&Matcher::equal("system_key", key)));
}

/// See the top of the file.
pub fn proxy_request(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let Some(now) = Nanos::parse("2026-03-04T10:00:00Z") else { return };
    let text = String::from_utf8_lossy(rest);
    match kind % 5 {
        0 => alerts(rest, now),
        1 => silence(rest, now),
        2 => {
            if let Ok(read) = AlertsQuery::parse(&text, &Limits::default()) {
                query(&read.upstream(&own().system_key));
            }
        }
        3 => {
            if let Ok(read) = SilencesQuery::parse(&text, &Limits::default()) {
                query(&read.upstream(&own().system_key));
            }
        }
        _ => {
            if let Ok(id) = path_id(&text) {
                assert!(id.to_string().eq_ignore_ascii_case(&text));
            }
        }
    }
}
