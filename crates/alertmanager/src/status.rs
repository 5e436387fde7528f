//! Documents that reveal nothing about the real configuration (spec: alerts#neutral-answers).

use crate::{Nanos, listing::NEUTRAL_RECEIVER};
use bailiwick_domain::json::write_str;

/// The status document: the reported version and the start of the service are its only real data.
pub fn status_document(version: &str, started: Nanos) -> String {
    let mut out =
        String::from("{\"cluster\":{\"status\":\"ready\",\"peers\":[]},\"versionInfo\":{\"version\":");
    write_str(&mut out, version);
    out.push_str(
        ",\"revision\":\"\",\"branch\":\"\",\"buildUser\":\"\",\"buildDate\":\"\",\"goVersion\":\"\"},\"config\":{\"original\":",
    );
    write_str(
        &mut out,
        &format!("route:\n  receiver: {NEUTRAL_RECEIVER}\nreceivers:\n- name: {NEUTRAL_RECEIVER}\n"),
    );
    out.push_str("},\"uptime\":\"");
    started.write_millis(&mut out);
    out.push_str("\"}\n");
    out
}

/// The list of receivers: the neutral one, unless the query does not want it.
pub fn receivers_document(wanted: bool) -> String {
    if !wanted {
        return "[]\n".to_owned();
    }
    format!("[{{\"name\":\"{NEUTRAL_RECEIVER}\",\"labels\":{{\"name\":\"{NEUTRAL_RECEIVER}\"}}}}]\n")
}

/// The one metric that clients read, in the text exposition format.
pub fn metrics_document(version: &str) -> String {
    let escaped = version.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("alertmanager_build_info{{version=\"{escaped}\"}} 1\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let status = status_document("0.34.0", Nanos::parse("2026-11-20T22:13:19.523456Z").unwrap());
        let value: serde_json::Value = serde_json::from_str(&status).unwrap();
        let expected = serde_json::json!({
            "cluster": {"status": "ready", "peers": []},
            "versionInfo": {"version": "0.34.0", "revision": "", "branch": "", "buildUser": "", "buildDate": "", "goVersion": ""},
            "config": {"original": "route:\n  receiver: default\nreceivers:\n- name: default\n"},
            "uptime": "2026-11-20T22:13:19.523Z",
        });
        assert_eq!(value, expected);
        assert_eq!(receivers_document(true), "[{\"name\":\"default\",\"labels\":{\"name\":\"default\"}}]\n");
        assert_eq!(receivers_document(false), "[]\n");
        assert_eq!(metrics_document("a\"b"), "alertmanager_build_info{version=\"a\\\"b\"} 1\n");
    }
}
