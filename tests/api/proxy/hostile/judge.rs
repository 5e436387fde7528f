//! The requests that may reach the router: only those that the service itself writes, for any caller (spec:
//! alerts#request-order).

use super::Who;
use bailiwick_alertmanager::{
    Intake, Limits, Matcher, Nanos, SilenceIntake,
    alert::write_alerts,
    parse_alerts, parse_silence,
    silence::{is_owned, write_silence},
};
use bailiwick_domain::Ts;
use bailiwick_testkit::parts::recorder::Recorded;
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

const BASE: &str = "/alertmanager/api/v2";

/// Judges recorded requests.
pub(super) struct Judge<'w> {
    pub(super) systems: &'w [Who],
    /// Names and values of the headers of an untampered request, in their order.
    pub(super) headers: Vec<(String, String)>,
    pub(super) now: Ts,
}

/// Those that differ from request to request.
const VARYING: [&str; 3] = ["x-request-id", "x-scope-orgid", "content-length"];

/// The headers of a request but the values of those that vary.
pub(super) fn headers(request: &Recorded) -> Vec<(String, String)> {
    let fixed = |(name, value): &(String, String)| {
        let value = if VARYING.contains(&name.as_str()) { "" } else { value.as_str() };
        (name.clone(), value.to_owned())
    };
    request.headers.iter().map(fixed).collect()
}

impl Judge<'_> {
    /// The system that sent this request. The id that each client gives names it.
    pub(super) fn who(&self, request: &Recorded) -> &Who {
        let id = request.value("x-request-id").unwrap();
        let (worker, _) = id.split_once('-').unwrap_or_else(|| panic!("{id}"));
        &self.systems[worker.parse::<usize>().unwrap()]
    }

    /// Is it one that the service would make for this system?
    pub(super) fn check(&self, request: &Recorded) {
        let who = self.who(request);
        self.check_headers(request, who);
        let path = request.path.strip_prefix(BASE).unwrap_or_else(|| panic!("{request:?}"));
        match (request.method.as_str(), path) {
            ("GET", "/alerts" | "/silences") => check_query(request, who),
            ("POST", "/alerts") => self.check_alerts(request, who),
            ("POST", "/silences") => self.check_silence(request, who),
            ("GET" | "DELETE", _) => {
                let id = path.strip_prefix("/silence/").unwrap_or_else(|| panic!("{request:?}"));
                assert_eq!(uuid::Uuid::parse_str(id).unwrap().to_string(), id, "{request:?}");
                assert!(request.query.is_none(), "{request:?}");
                if request.method == "DELETE" {
                    assert_eq!(id, who.silence.to_string(), "only the own one is ended");
                }
            }
            _ => panic!("not in the list of requests: {request:?}"),
        }
        if request.method != "POST" {
            assert!(request.body.is_empty(), "{request:?}");
        }
    }

    /// A request of the tenant without anything else.
    pub(super) fn check_count(&self, request: &Recorded) {
        self.check_headers(request, self.who(request));
        assert!(request.body.is_empty(), "{request:?}");
    }

    fn check_headers(&self, request: &Recorded, who: &Who) {
        let mut expected = self.headers.clone();
        // The length of a request without a body goes without saying.
        if request.method != "POST" {
            expected.retain(|(name, _)| name != "content-length");
        }
        assert_eq!(headers(request), expected, "{request:?}");
        assert_eq!(request.values("x-scope-orgid"), [who.identity.organization_id.as_str()]);
        if request.method == "POST" {
            assert_eq!(request.values("content-length"), [request.body.len().to_string()]);
        }
    }

    fn check_alerts(&self, request: &Recorded, who: &Who) {
        let text = written_as_read(request);
        let value: Value = serde_json::from_str(text).unwrap();
        for alert in value.as_array().unwrap() {
            let keys: Vec<&str> = alert.as_object().unwrap().keys().map(String::as_str).collect();
            let allowed = ["labels", "annotations", "startsAt", "endsAt", "generatorURL"];
            let mut rest = allowed.iter();
            assert!(keys.iter().all(|key| rest.any(|a| a == key)), "{keys:?}");
            let (labels, annotations) = (strings(&alert["labels"]), strings(&alert["annotations"]));
            for (name, value) in who.identity.stable() {
                assert_eq!(labels.get(name).map(String::as_str), Some(value), "{text}");
                assert!(!annotations.contains_key(name), "{text}");
            }
            for (name, value) in who.identity.display() {
                let shown = annotations.get(name).map_or("", String::as_str);
                assert_eq!(shown, value, "{text}");
                assert!(!labels.contains_key(name), "{text}");
            }
            let is_name = |name: &String| {
                name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                    && name.starts_with(|c: char| !c.is_ascii_digit())
            };
            assert!(labels.len() > 3 && labels.keys().chain(annotations.keys()).all(is_name), "{text}");
            assert!(labels.values().all(|value| !value.is_empty()), "{text}");
        }
        let limits = judging();
        let intake = Intake {
            identity: Some(&who.identity),
            now: Nanos::from_ts(self.now),
            resolve_timeout: Duration::from_secs(6 * 3600),
            limits: &limits,
        };
        let again = parse_alerts(text.as_bytes(), &intake).unwrap();
        assert!(again.refused.is_empty(), "{:?}", again.refused);
        assert_eq!(write_alerts(&again.alerts), text, "the service writes the same of it again");
    }

    fn check_silence(&self, request: &Recorded, who: &Who) {
        let text = written_as_read(request);
        let value: Value = serde_json::from_str(text).unwrap();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let allowed = ["id", "matchers", "startsAt", "endsAt", "createdBy", "comment", "annotations"];
        let mut rest = allowed.iter();
        assert!(keys.iter().all(|key| rest.any(|a| a == key)), "{keys:?}");
        if let Some(id) = value.get("id") {
            assert_eq!(*id, who.silence.to_string(), "only the own one is changed");
        }
        let key = &who.identity.system_key;
        let matchers = value["matchers"].as_array().unwrap();
        for matcher in matchers {
            let keys: Vec<&str> = matcher.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys, ["isEqual", "isRegex", "name", "value"]);
        }
        let of_systems: Vec<&Value> = matchers.iter().filter(|m| m["name"] == "system_key").collect();
        let own = serde_json::json!({"isEqual": true, "isRegex": false, "name": "system_key", "value": key});
        assert_eq!(of_systems, [&own], "{text}");
        let limits = judging();
        let intake =
            SilenceIntake { identity: Some(&who.identity), now: Nanos::from_ts(self.now), limits: &limits };
        let again = parse_silence(text.as_bytes(), &intake).unwrap();
        assert!(is_owned(&again.matchers, key), "{text}");
        assert_eq!(write_silence(&again), text, "the service writes the same of it again");
    }
}

/// The limits of a client's request with room for the service's own additions, which do not count.
fn judging() -> Limits {
    let given = Limits::default();
    Limits {
        labels: given.labels + 3,
        annotations: given.annotations + 7,
        alert_bytes: given.alert_bytes * 2,
        silence_bytes: given.silence_bytes * 2,
        matchers: given.matchers + 1,
        ..given
    }
}

/// The body, which is exactly one JSON value in its shortest form; keys that stand twice would be lost on the way.
fn written_as_read(request: &Recorded) -> &str {
    assert!(request.query.is_none(), "{request:?}");
    let text = std::str::from_utf8(&request.body).unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value.to_string(), text);
    text
}

fn strings(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.as_object().unwrap().iter();
    pairs.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// Only filters, each written as the service writes it, the own system's last.
fn check_query(request: &Recorded, who: &Who) {
    let query = request.query.as_deref().unwrap();
    let mut filters = Vec::new();
    for pair in query.split('&') {
        let value = pair.strip_prefix("filter=").unwrap_or_else(|| panic!("{query}"));
        assert!(
            value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~' | b'%')),
            "{query}"
        );
        let pair: Vec<_> = url::form_urlencoded::parse(pair.as_bytes()).collect();
        let matcher = Matcher::parse(pair[0].1.as_bytes()).unwrap();
        assert_eq!(matcher.to_string(), pair[0].1);
        filters.push(matcher);
    }
    assert_eq!(filters.last(), Some(&Matcher::equal("system_key", &who.identity.system_key)), "{query}");
}
