use super::*;
use crate::{Limits, answer};
use proptest::prelude::*;

/// Two systems of one tenant, as a remote router lists them.
const ALERTS: &str = r#"[{"annotations":{"summary":"disk"},"endsAt":"2026-11-20T22:21:43.717Z","fingerprint":"3d877aa4db064864","receivers":[{"name":"builtin-history"},{"name":"blackhole"}],"startsAt":"2026-11-20T22:16:43.717Z","status":{"inhibitedBy":["9822ee52b31ac95f"],"mutedBy":["night"],"silencedBy":["3b2ee7c2-178a-47f1-aa50-88e745959d86","ec723bee-594d-4205-ac02-6d684e9106ed"],"state":"suppressed"},"updatedAt":"2026-11-20T22:16:43.717Z","generatorURL":"http://x/y","labels":{"alertname":"DiskFull","severity":"critical","system_key":"NETH-1"},"secret":"x"},
{"annotations":{},"endsAt":"2026-11-20T22:21:43.717Z","fingerprint":"3d8b7aa4db0a313b","receivers":[{"name":"blackhole"}],"startsAt":"2026-11-20T22:16:43.717Z","status":{"inhibitedBy":[],"mutedBy":[],"silencedBy":[],"state":"active"},"updatedAt":"2026-11-20T22:16:43.717Z","labels":{"alertname":"DiskFull","severity":"critical","system_key":"NETH-2"}},
{"annotations":null,"endsAt":"2026-11-20T22:18:26.527Z","fingerprint":"1822ee52b31ac95f","receivers":null,"startsAt":"2026-11-20T22:13:26.527Z","status":{"state":"active","silencedBy":null},"updatedAt":"2026-11-20T22:13:26.527Z","generatorURL":null,"labels":{"alertname":"A","organization_id":"org","system_key":"NETH-1"}},
{"endsAt":"2026-11-20T22:18:26.527Z","fingerprint":"2822ee52b31ac95f","startsAt":"2026-11-20T22:13:26.527Z","status":{"state":"active"},"updatedAt":"2026-11-20T22:13:26.527Z","labels":{"alertname":"A","organization_id":"other","system_key":"NETH-1"}}]"#;

const SILENCES: &str = r#"[{"id":"3b2ee7c2-178a-47f1-aa50-88e745959d86","status":{"state":"active"},"updatedAt":"2026-11-20T22:16:46.750Z","comment":"c","createdBy":"tester","endsAt":"2026-11-21T00:16:43.000Z","matchers":[{"isEqual":true,"isRegex":false,"name":"alertname","value":"DiskFull"},{"isEqual":true,"isRegex":false,"name":"system_key","value":"NETH-2"}],"startsAt":"2026-11-20T22:16:46.750Z"},
{"id":"ec723bee-594d-4205-ac02-6d684e9106ed","status":{"state":"active"},"updatedAt":"2026-11-20T22:16:46.766Z","comment":"c","createdBy":"tester","endsAt":"2026-11-21T00:16:43.000Z","matchers":[{"isRegex":false,"name":"system_key","value":"NETH-1"}],"startsAt":"2026-11-20T22:16:46.766Z"}]"#;

const NETH_1: Viewer<'static> = Viewer::System { system_key: "NETH-1", organization_id: "org" };

fn alerts() -> Vec<ListedAlert> {
    answer::decode_alerts(ALERTS.as_bytes()).unwrap()
}

fn silences() -> Vec<ListedSilence> {
    answer::decode_silences(SILENCES.as_bytes()).unwrap()
}

fn query(text: &str) -> AlertsQuery {
    AlertsQuery::parse(text, &Limits::default()).unwrap()
}

fn fingerprints(text: &str, viewer: &Viewer<'_>) -> Vec<String> {
    select_alerts(alerts(), &silences(), &query(text), viewer)
        .iter()
        .map(|a| a.fingerprint.to_string())
        .collect()
}

#[test]
fn a_system_gets_its_own_alerts_without_foreign_facts() {
    let list = select_alerts(alerts(), &silences(), &query(""), &NETH_1);
    assert_eq!(
        render(&list).unwrap(),
        r#"[{"annotations":{},"endsAt":"2026-11-20T22:18:26.527Z","fingerprint":"1822ee52b31ac95f","receivers":[{"name":"default"}],"startsAt":"2026-11-20T22:13:26.527Z","status":{"inhibitedBy":[],"mutedBy":[],"silencedBy":[],"state":"active"},"updatedAt":"2026-11-20T22:13:26.527Z","labels":{"alertname":"A","organization_id":"org","system_key":"NETH-1"}},"#
            .to_owned()
            + r#"{"annotations":{"summary":"disk"},"endsAt":"2026-11-20T22:21:43.717Z","fingerprint":"3d877aa4db064864","receivers":[{"name":"default"}],"startsAt":"2026-11-20T22:16:43.717Z","status":{"inhibitedBy":[],"mutedBy":[],"silencedBy":["ec723bee-594d-4205-ac02-6d684e9106ed"],"state":"suppressed"},"updatedAt":"2026-11-20T22:16:43.717Z","generatorURL":"http://x/y","labels":{"alertname":"DiskFull","severity":"critical","system_key":"NETH-1"}}]"#
            + "\n"
    );
    assert_eq!(render::<[ListedAlert]>(&[]).unwrap(), "[]\n");
}

#[test]
fn flags_and_filters() {
    let (a, disk) = ("1822ee52b31ac95f", "3d877aa4db064864");
    for (text, expected) in [
        ("", vec![a, disk]),
        ("active=false", vec![disk]),
        ("silenced=false", vec![a]),
        ("inhibited=false", vec![a]),
        ("unprocessed=false&muted=0", vec![a, disk]),
        ("filter=alertname%3DA", vec![a]),
        ("filter=severity%3D%22%22", vec![a]),
        ("filter=severity%21%3D%22%22&filter=alertname%3D~D.%2B", vec![disk]),
        ("filter=system_key%3DNETH-2", vec![]),
        ("receiver=default", vec![a, disk]),
        ("receiver=blackhole", vec![]),
        ("receiver_matchers=name%3Dblackhole", vec![]),
    ] {
        assert_eq!(fingerprints(text, &NETH_1), expected, "{text}");
    }
    assert_eq!(fingerprints("receiver=builtin.*", &Viewer::Tenant), [disk]);
    assert_eq!(fingerprints("filter=system_key%3DNETH-2", &Viewer::Tenant), ["3d8b7aa4db0a313b"]);
}

#[test]
fn silences_of_a_system() {
    let get = |text: &str, viewer: &Viewer<'_>| {
        let q = SilencesQuery::parse(text, &Limits::default()).unwrap();
        select_silences(silences(), &q, viewer)
    };
    assert_eq!(
        render(&get("", &NETH_1)).unwrap(),
        "[{\"id\":\"ec723bee-594d-4205-ac02-6d684e9106ed\",\"status\":{\"state\":\"active\"},\"updatedAt\":\"2026-11-20T22:16:46.766Z\",\"comment\":\"c\",\"createdBy\":\"tester\",\"endsAt\":\"2026-11-21T00:16:43.000Z\",\"matchers\":[{\"name\":\"system_key\",\"value\":\"NETH-1\",\"isRegex\":false,\"isEqual\":true}],\"startsAt\":\"2026-11-20T22:16:46.766Z\"}]\n"
    );
    assert_eq!(get("active=false", &NETH_1), []);
    assert_eq!(get("expired=false&pending=false", &NETH_1).len(), 1);
    assert_eq!(get("filter=system_key%3DNETH-1", &Viewer::Tenant).len(), 1);
    assert_eq!(get("filter=system_key%3DNETH-2&filter=alertname%3DDiskFull", &Viewer::Tenant).len(), 1);
    assert_eq!(get("filter=system_key%3D~%22NETH-.%2A%22", &Viewer::Tenant), [], "not evaluated");
    assert_eq!(get("filter=system_key%21%3DNETH-1", &Viewer::Tenant), []);
}

#[test]
fn silences_in_order() {
    let base = silences().remove(0);
    let make = |n: u128, state, start: i64, end: i64| ListedSilence {
        id: Uuid::from_u128(n),
        status: SilenceStatus { state },
        starts_at: Nanos::from_parts(start, 0),
        ends_at: Nanos::from_parts(end, 0),
        ..base.clone()
    };
    use SilenceState::{Active, Expired, Pending};
    let expected = [
        make(9, Active, 5, 10),
        make(2, Active, 0, 20),
        make(3, Active, 1, 20),
        make(8, Pending, 30, 90),
        make(1, Pending, 31, 40),
        make(7, Expired, 0, 3),
        make(4, Expired, 1, 2),
        make(5, Expired, 0, 2),
    ];
    let mut shuffled = expected.to_vec();
    shuffled.reverse();
    shuffled.swap(0, 1);
    let q = SilencesQuery::default();
    assert_eq!(select_silences(shuffled, &q, &Viewer::Tenant), expected);
}

#[test]
fn every_text_counts_towards_the_size() {
    let long = || "x".repeat(100_000);
    let alert_texts: [fn(&mut ListedAlert, String); 7] = [
        |alert, text| alert.labels.insert("a", text),
        |alert, text| alert.annotations.insert("a", text),
        |alert, text| alert.generator_url = text,
        |alert, text| alert.receivers = vec![Receiver { name: text }],
        |alert, text| alert.status.inhibited_by = vec![text],
        |alert, text| alert.status.muted_by = vec![text],
        |alert, text| alert.status.silenced_by = vec![text],
    ];
    for (index, set) in alert_texts.into_iter().enumerate() {
        let mut alert = alerts().remove(0);
        set(&mut alert, long());
        assert!(alert.size() >= long().len(), "{index}");
    }
    let silence_texts: [fn(&mut ListedSilence, String); 5] = [
        |silence, text| silence.comment = text,
        |silence, text| silence.created_by = text,
        |silence, text| silence.annotations.insert("a", text),
        |silence, text| silence.matchers = vec![Matcher::equal("a", text)],
        |silence, text| silence.matchers = vec![Matcher::equal(text, "a")],
    ];
    for (index, set) in silence_texts.into_iter().enumerate() {
        let mut silence = silences().remove(0);
        set(&mut silence, long());
        assert!(silence.size() >= long().len(), "{index}");
    }
}

#[test]
fn groups() {
    let base = alerts().remove(1);
    let make = |labels: &[(&str, &str)]| {
        let labels: Labels = labels.iter().copied().collect();
        ListedAlert { fingerprint: Fingerprint::of(&labels), labels, ..base.clone() }
    };
    let k = ("system_key", "K");
    let expected = [
        // Of one label each: the side that lacks the smaller name comes first.
        vec![make(&[k, ("x", "1")])],
        vec![make(&[("alertname", "A")])],
        vec![
            make(&[k, ("alertname", "A"), ("instance", "i"), ("job", "a")]),
            make(&[k, ("alertname", "A"), ("job", "a")]),
            make(&[k, ("alertname", "A"), ("job", "b")]),
            make(&[k, ("alertname", "A"), ("instance", "i")]),
            make(&[k, ("alertname", "A")]),
            make(&[k, ("alertname", "A"), ("x", "1")]),
        ],
        vec![make(&[k, ("alertname", "B")])],
        vec![make(&[k, ("alertname", "A"), ("organization_id", "o")])],
    ];
    let mut all: Vec<ListedAlert> = expected.iter().flatten().cloned().collect();
    all.reverse();
    let groups = group_alerts(all);
    assert_eq!(groups.iter().map(|g| g.alerts.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(groups[2].labels, [k, ("alertname", "A")].into_iter().collect());
    assert!(groups.iter().all(|g| g.receiver.name == "default"));
    let one = render(&groups[1..2]).unwrap();
    assert!(
        one.starts_with("[{\"alerts\":[{")
            && one.ends_with("\"labels\":{\"alertname\":\"A\"},\"receiver\":{\"name\":\"default\"}}]\n")
    );
    assert_eq!(group_alerts(Vec::new()), []);
}

fn any_alert() -> impl Strategy<Value = ListedAlert> {
    let key = prop::option::of(prop::sample::select(vec!["NETH-1", "NETH-2", "neth-1", ""]));
    let org = prop::option::of(prop::sample::select(vec!["org", "foreign"]));
    let ids = prop::collection::vec(0u128..4, 0..3);
    (key, org, ids, 0u8..3).prop_map(|(key, org, ids, state)| {
        let mut labels = Labels::new();
        for (name, value) in [("system_key", key), ("organization_id", org), ("alertname", Some("A"))] {
            if let Some(value) = value {
                labels.insert(name, value);
            }
        }
        let foreign = key != Some("NETH-1") || org == Some("foreign");
        labels.insert("marker", if foreign { "FOREIGN" } else { "mine" });
        let states = [AlertState::Active, AlertState::Suppressed, AlertState::Unprocessed];
        ListedAlert {
            annotations: Labels::new(),
            ends_at: Nanos::EPOCH,
            fingerprint: Fingerprint::of(&labels),
            receivers: vec![Receiver { name: "FOREIGN".into() }],
            starts_at: Nanos::EPOCH,
            status: AlertStatus {
                inhibited_by: vec!["FOREIGN".into()],
                muted_by: vec!["FOREIGN".into()],
                silenced_by: ids.into_iter().map(|i| Uuid::from_u128(i).to_string()).collect(),
                state: states[usize::from(state)],
            },
            updated_at: Nanos::EPOCH,
            generator_url: String::new(),
            labels,
        }
    })
}

proptest! {
    /// See spec: alert-guarantees#guarantees rule 8: whatever the router sends, a system sees no data of another
    /// system.
    #[test]
    fn nothing_foreign_is_shown(
        alerts in prop::collection::vec(any_alert(), 0..12),
        owners in prop::collection::vec("NETH-[12]", 4),
        text in prop::sample::select(vec!["", "silenced=false", "active=0", "filter=system_key%3D~.%2A", "receiver=.%2A"]),
    ) {
        let base = silences().remove(0);
        let silences: Vec<ListedSilence> = owners
            .iter()
            .enumerate()
            .map(|(i, owner)| ListedSilence {
                id: Uuid::from_u128(i as u128),
                matchers: vec![Matcher::equal("system_key", owner.as_str())],
                ..base.clone()
            })
            .collect();
        let shown = select_alerts(alerts.clone(), &silences, &query(text), &NETH_1);
        let bytes = render(&shown).unwrap();
        prop_assert!(!bytes.contains("FOREIGN"), "{}", bytes);
        for silence in silences.iter().filter(|s| !NETH_1.sees_silence(&s.matchers)) {
            prop_assert!(!bytes.contains(&silence.id.to_string()));
        }
        prop_assert!(shown.is_sorted_by_key(|a| a.fingerprint));
        let grouped: usize = group_alerts(shown.clone()).iter().map(|g| g.alerts.len()).sum();
        prop_assert_eq!(grouped, shown.len());
        if text.is_empty() {
            let mine = alerts.iter().filter(|a| a.labels.value("marker") == "mine").count();
            prop_assert_eq!(shown.len(), mine, "and everything of its own");
        }
        let listed = select_silences(silences, &SilencesQuery::default(), &NETH_1);
        prop_assert!(listed.iter().all(|s| s.matchers == [Matcher::equal("system_key", "NETH-1")]));
    }
}
