use super::*;
use crate::{Op, active_silence::active_silences, listing::render};
use proptest::prelude::*;

fn at(secs: i64) -> Nanos {
    Nanos::from_parts(1_800_000_000 + secs, 0)
}

const TIMEOUT: Duration = Duration::from_secs(3600);

fn posted(start: Option<i64>, end: Option<i64>) -> PostedAlert {
    let labels = [("alertname", "A")].into_iter().collect();
    let mut posted = PostedAlert::of(labels);
    (posted.starts_at, posted.ends_at) = (start.map(at), end.map(at));
    posted
}

fn alert(start: Option<i64>, end: Option<i64>, now: i64) -> StoredAlert {
    StoredAlert::new(posted(start, end), at(now), TIMEOUT)
}

fn span(a: &StoredAlert) -> (i64, i64, bool) {
    let base = at(0).secs();
    (a.starts_at.secs() - base, a.ends_at.secs() - base, a.timeout)
}

#[test]
fn defaults_of_times() {
    assert_eq!(span(&alert(None, None, 10)), (10, 3610, true));
    assert_eq!(span(&alert(Some(5), None, 10)), (5, 3610, true));
    assert_eq!(span(&alert(None, Some(7), 10)), (7, 7, false));
    assert_eq!(span(&alert(Some(5), Some(70), 10)), (5, 70, false));
    assert_eq!(alert(None, None, 10).updated_at, at(10));
}

/// (start, end, timeout) after an old alert and a new push at second 100.
fn stored(old: (Option<i64>, Option<i64>), new: (Option<i64>, Option<i64>)) -> (i64, i64, bool) {
    let old = alert(old.0, old.1, 50);
    span(&store(Some(&old), alert(new.0, new.1, 100), at(100)))
}

#[test]
fn merging() {
    // Refreshed without end: the start stays, the time-out moves on.
    assert_eq!(stored((None, None), (None, None)), (50, 3700, true));
    // Refreshed with an earlier end than the old one the sender gave: the later one stays.
    assert_eq!(stored((Some(0), Some(900)), (Some(0), Some(500))), (0, 900, false));
    assert_eq!(stored((Some(0), Some(500)), (Some(0), Some(900))), (0, 900, false));
    // An end from the time-out gives way.
    assert_eq!(stored((Some(0), None), (Some(0), Some(500))), (0, 500, false));
    // The earlier start wins.
    assert_eq!(stored((Some(40), Some(500)), (Some(20), Some(400))), (20, 500, false));
    // Resolved: the end is that of the resolving push, also before the old start plus something.
    assert_eq!(stored((Some(0), Some(900)), (Some(0), Some(100))), (0, 100, false));
    assert_eq!(stored((Some(0), None), (None, Some(90))), (0, 90, false));
    // Both resolved: the later end wins.
    assert_eq!(stored((Some(0), Some(95)), (Some(0), Some(60))), (0, 95, false));
    // Spans apart: a new occurrence.
    assert_eq!(stored((Some(0), Some(60)), (Some(80), Some(500))), (80, 500, false));
    assert_eq!(stored((Some(0), Some(60)), (None, None)), (100, 3700, true));
    assert_eq!(store(None, alert(None, None, 100), at(100)), alert(None, None, 100));
}

#[test]
fn life() {
    let a = alert(Some(0), Some(100), 0);
    assert!(a.is_listed(at(100), None) && !a.is_listed(Nanos(at(100).0 + 1), None));
    assert!(a.is_resolved(at(100)) && !a.is_resolved(at(99)));
    assert!(!a.is_removable(true, at(100 + 900), None) && a.is_removable(true, at(101 + 900), None));
    assert!(!a.is_removable(false, at(100 + 2700), None) && a.is_removable(false, at(101 + 2700), None));
}

#[test]
fn after_an_outage_senders_can_refresh() {
    assert_eq!(Outage::new(at(0), at(60)), None, "a short one");
    let outage = Outage::new(at(50), at(200));
    let ended = alert(Some(0), Some(100), 0);
    assert!(ended.is_listed(at(500), outage) && !ended.is_listed(at(501), outage));
    assert!(!ended.is_removable(false, at(500 + 2700), outage));
    for (end, listed) in [(49, false), (50, true), (200, true), (201, false)] {
        assert_eq!(alert(Some(0), Some(end), 0).is_listed(at(300), outage), listed, "{end}");
    }
    // Its sender has ended it, which can be in the time of an outage only if a clock has jumped.
    let ended = alert(Some(0), Some(100), 100);
    assert!(ended.is_listed(at(100), outage) && !ended.is_listed(at(101), outage));
}

fn silence(matchers: Vec<Matcher>, start: i64, end: i64) -> PostedSilence {
    PostedSilence {
        id: None,
        matchers,
        starts_at: at(start),
        ends_at: at(end),
        created_by: "t".into(),
        comment: "c".into(),
        annotations: Labels::new(),
        compiled_bytes: 0,
    }
}

fn own(key: &str) -> Vec<Matcher> {
    vec![Matcher::equal("alertname", "A"), Matcher::equal("system_key", key)]
}

const OLD: Uuid = Uuid::from_u128(1);
const NEW: Uuid = Uuid::from_u128(2);

fn stored_silence(start: i64, end: i64, now: i64) -> StoredSilence {
    put_silence(silence(own("K"), start, end), None, Some("K"), at(now), OLD).unwrap().put
}

fn update(old: &StoredSilence, mut posted: PostedSilence, now: i64) -> SilencePut {
    posted.id = Some(old.id);
    put_silence(posted, Some(old), Some("K"), at(now), NEW).unwrap()
}

#[test]
fn a_new_silence_does_not_start_in_the_past() {
    let put = put_silence(silence(own("K"), -50, 100), None, Some("K"), at(0), NEW).unwrap();
    assert_eq!((put.put.id, put.put.starts_at, put.put.updated_at, put.replaced), (NEW, at(0), at(0), None));
    assert_eq!(stored_silence(50, 100, 0).starts_at, at(50));
}

#[test]
fn states() {
    let s = stored_silence(50, 100, 0);
    let states = [49, 50, 99, 100].map(|t| s.state(at(t)));
    use SilenceState::{Active, Expired, Pending};
    assert_eq!(states, [Pending, Active, Active, Expired]);
}

#[test]
fn an_active_silence_keeps_its_id_only_with_its_start() {
    let mut old = stored_silence(0, 100, 0);
    old.starts_at = Nanos(old.starts_at.0 + 15_000_000);
    let same_second = update(&old, silence(own("K"), 0, 500), 10);
    assert_eq!((same_second.put.id, same_second.put.ends_at, same_second.replaced), (OLD, at(500), None));
    let moved = update(&old, silence(own("K"), 60, 500), 10);
    assert_eq!((moved.put.id, moved.put.starts_at), (NEW, at(60)));
    let replaced = moved.replaced.unwrap();
    assert_eq!((replaced.id, replaced.ends_at, replaced.updated_at), (OLD, at(10), at(10)));
    let other = update(&old, silence(vec![own("K").swap_remove(1)], 0, 500), 10);
    assert_eq!((other.put.id, other.put.starts_at, other.replaced.is_some()), (NEW, at(10), true));
    let mut reordered = own("K");
    reordered.reverse();
    assert_eq!(update(&old, silence(reordered, 0, 500), 10).put.id, NEW);
    let mut kind = own("K");
    kind[0].op = Op::Regex;
    assert_eq!(update(&old, silence(kind, 0, 500), 10).put.id, NEW);
}

#[test]
fn a_pending_silence_keeps_its_id_until_it_would_start_in_the_past() {
    let old = stored_silence(100, 200, 0);
    assert_eq!(update(&old, silence(own("K"), 50, 300), 10).put.id, OLD);
    let past = update(&old, silence(own("K"), 5, 300), 10);
    assert_eq!((past.put.id, past.put.starts_at), (NEW, at(10)));
    let replaced = past.replaced.unwrap();
    assert_eq!((replaced.starts_at, replaced.ends_at), (at(10), at(10)));
}

#[test]
fn an_expired_silence_is_never_revived() {
    let old = stored_silence(0, 100, 0);
    let again = update(&old, silence(own("K"), 0, 500), 100);
    assert_eq!((again.put.id, again.put.starts_at, again.replaced), (NEW, at(100), None));
}

#[test]
fn foreign_and_unknown_ids_answer_alike() {
    let foreign = put_silence(silence(own("OTHER"), 0, 100), None, Some("OTHER"), at(0), OLD).unwrap().put;
    let mut posted = silence(own("K"), 0, 100);
    posted.id = Some(OLD);
    let refused = put_silence(posted.clone(), Some(&foreign), Some("K"), at(1), NEW).unwrap_err();
    assert_eq!((refused.status, refused.render().as_str()), (404, "\"silence not found\"\n"));
    assert_eq!(put_silence(posted.clone(), None, Some("K"), at(1), NEW), Err(refused));
    assert!(put_silence(posted, Some(&foreign), None, at(1), NEW).is_ok(), "the tenant itself may");
}

#[test]
fn expiring() {
    let s = stored_silence(50, 100, 0);
    let pending = s.expired(at(10)).unwrap();
    assert_eq!((pending.starts_at, pending.ends_at, pending.updated_at), (at(10), at(10), at(10)));
    let active = s.expired(at(60)).unwrap();
    assert_eq!((active.starts_at, active.ends_at), (at(50), at(60)));
    assert_eq!(active.state(at(60)), SilenceState::Expired);
    assert_eq!(s.expired(at(100)), None);
    let hours = Duration::from_secs(120 * 3600);
    assert!(!s.is_removable(at(100 + 432_000), hours) && s.is_removable(at(101 + 432_000), hours));
}

#[test]
fn status_is_computed_when_listing() {
    let alerts = [alert(None, None, 0), alert(Some(0), Some(1), 0)];
    let make = |id: u128, value: &str, op| StoredSilence {
        id: Uuid::from_u128(id),
        matchers: vec![Matcher { name: "alertname".into(), value: value.into(), op }],
        ..stored_silence(0, 100, 0)
    };
    let silences = [
        make(9, "A|B", Op::Regex),
        make(3, "A", Op::Equal),
        make(4, "A", Op::NotEqual),
        make(5, "[", Op::Regex),
    ];
    let list = |now: i64| {
        let listed: Vec<ListedSilence> = silences.iter().map(|s| s.listed(at(now))).collect();
        let in_force = active_silences(&listed);
        list_alerts(&alerts, (&in_force, &Expressions::new(0)), at(now), None, |_| vec!["default".into()])
    };
    let now = list(50);
    assert_eq!(now.len(), 1, "the other one is over");
    assert_eq!(now[0].status.state, AlertState::Suppressed);
    assert_eq!(now[0].status.silenced_by, [Uuid::from_u128(3).to_string(), Uuid::from_u128(9).to_string()]);
    let later = list(100);
    assert_eq!((later[0].status.state, later[0].status.silenced_by.len()), (AlertState::Active, 0));
    assert_eq!(
        render(&later).unwrap(),
        "[{\"annotations\":{},\"endsAt\":\"2027-01-15T09:00:00.000Z\",\"fingerprint\":\"d2c6efc389df0927\",\"receivers\":[{\"name\":\"default\"}],\"startsAt\":\"2027-01-15T08:00:00.000Z\",\"status\":{\"inhibitedBy\":[],\"mutedBy\":[],\"silencedBy\":[],\"state\":\"active\"},\"updatedAt\":\"2027-01-15T08:00:00.000Z\",\"labels\":{\"alertname\":\"A\"}}]\n"
    );
}

fn any_push() -> impl Strategy<Value = (Option<i64>, Option<i64>, i64)> {
    (prop::option::of(0i64..200), prop::option::of(0i64..200), 0i64..200)
        .prop_filter("a span", |(start, end, now)| {
            alert(*start, *end, *now).ends_at >= alert(*start, *end, *now).starts_at
        })
}

proptest! {
    #[test]
    fn merge_laws((os, oe, on) in any_push(), (ns, ne, later) in any_push()) {
        let now = on + later;
        let (old, new) = (alert(os, oe, on), alert(ns, ne, now));
        let merged = store(Some(&old), new.clone(), at(now));
        // The sender's last values stay: labels, annotations, time of the push.
        prop_assert_eq!(
            (&merged.labels, merged.updated_at, merged.timeout),
            (&new.labels, new.updated_at, new.timeout)
        );
        // Both ends of the span come from one of the two, and the start is not after the end.
        prop_assert!(merged.starts_at == old.starts_at || merged.starts_at == new.starts_at);
        prop_assert!(merged.ends_at == old.ends_at || merged.ends_at == new.ends_at);
        prop_assert!(merged.starts_at <= merged.ends_at);
        prop_assert!(merged.starts_at <= new.starts_at && merged.ends_at >= new.ends_at);
        // A resolving push resolves, a firing one fires.
        prop_assert_eq!(merged.is_resolved(at(now)), new.is_resolved(at(now)));
        // The same push again changes nothing.
        prop_assert_eq!(store(Some(&merged), merged.clone(), at(now)), merged);
    }

    #[test]
    fn stored_data_reads_back((s, e, n) in any_push()) {
        let a = alert(s, e, n);
        prop_assert_eq!(serde_json::from_str::<StoredAlert>(&serde_json::to_string(&a).unwrap()).unwrap(), a);
        let s = stored_silence(n, n + 10, 0);
        prop_assert_eq!(serde_json::from_str::<StoredSilence>(&serde_json::to_string(&s).unwrap()).unwrap(), s);
    }

    /// See spec: alert-guarantees#guarantees rule 29: after an update at most one of the two is not expired.
    #[test]
    fn never_two_after_an_update(start in 0i64..100, end in 101i64..200, s2 in 0i64..300, len in 1i64..100, now in 0i64..250, same in any::<bool>()) {
        let old = stored_silence(start, end, 0);
        let matchers = if same { own("K") } else { vec![own("K").swap_remove(1)] };
        let done = update(&old, silence(matchers, s2, s2 + len), now);
        let left = done.replaced.clone().unwrap_or(old);
        prop_assert!(left.id == done.put.id || left.state(at(now)) == SilenceState::Expired);
    }
}
