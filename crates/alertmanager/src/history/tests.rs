use super::*;
use proptest::prelude::*;

fn texts(summary: &str) -> Labels {
    [("summary", summary)].into_iter().collect()
}

fn event_at(at: i64, what: AlertEventKind) -> AlertEvent {
    AlertEvent { at: Ts(at), what, annotations: texts(&at.to_string()) }
}

fn firing(at: i64, start: Option<i64>, until: i64) -> AlertEvent {
    event_at(at, AlertEventKind::Firing { start: start.map(Ts), until: Ts(until) })
}

fn resolved(at: i64, start: Option<i64>, end: i64) -> AlertEvent {
    event_at(at, AlertEventKind::Resolved { start: start.map(Ts), end: Ts(end) })
}

fn delivered(at: i64, start: i64, end: Option<i64>) -> AlertEvent {
    let (start, end) = (Some(Ts(start)), end.map(Ts));
    event_at(at, AlertEventKind::Delivered { start, end, receiver: "r".to_owned() })
}

/// Status, start, end, expiry, creation.
type Row = (Status, i64, Option<i64>, Option<i64>, i64);

/// All rows after these events, including those stored before.
fn rows(stored: &[Occurrence], events: Vec<AlertEvent>) -> Vec<Row> {
    let mut all = Occurrences::new(stored.iter().cloned());
    events.into_iter().for_each(|event| all.apply(event));
    let plain = |t: Option<Ts>| t.map(|t| t.0);
    let each = all.0.iter().map(|k| &k.row);
    each.map(|r| (r.status, r.starts_at.0, plain(r.ends_at), plain(r.expires_at), r.created_at.0)).collect()
}

fn open(start: i64, until: i64, created: i64) -> Occurrence {
    let (starts_at, expires_at, created_at) = (Ts(start), Some(Ts(until)), Ts(created));
    let (id, status) = (Some(start), Firing);
    Occurrence { id, status, starts_at, ends_at: None, expires_at, receiver: None, created_at }
}

fn over(start: i64, end: i64, created: i64) -> Occurrence {
    let (starts_at, ends_at, created_at) = (Ts(start), Some(Ts(end)), Ts(created));
    let (id, status) = (Some(start), Resolved);
    Occurrence { id, status, starts_at, ends_at, expires_at: None, receiver: None, created_at }
}

use Status::{Firing, Resolved};

#[test]
fn a_firing_alert_without_open_row_gets_one() {
    assert_eq!(rows(&[], vec![firing(10, Some(5), 90)]), [(Firing, 5, None, Some(90), 10)]);
    assert_eq!(rows(&[], vec![firing(10, None, 90)]), [(Firing, 10, None, Some(90), 10)]);
    // One that is over is another occurrence.
    let expected = [(Resolved, 1, Some(3), None, 3), (Firing, 5, None, Some(90), 10)];
    assert_eq!(rows(&[over(1, 3, 3)], vec![firing(10, Some(5), 90)]), expected);
}

#[test]
fn an_alert_that_starts_after_the_expiry_of_the_open_row_is_another_occurrence() {
    let expected = [(Resolved, 1, Some(8), None, 10), (Firing, 9, None, Some(90), 10)];
    assert_eq!(rows(&[open(1, 8, 1)], vec![firing(10, Some(9), 90)]), expected);
    for start in [Some(8), Some(1), None] {
        assert_eq!(rows(&[open(1, 8, 1)], vec![firing(10, start, 90)]), [(Firing, 1, None, Some(90), 1)]);
    }
}

#[test]
fn a_firing_alert_with_open_row_refreshes_it() {
    let stored = [open(5, 90, 10)];
    assert_eq!(rows(&stored, vec![firing(20, None, 99)]), [(Firing, 5, None, Some(99), 10)]);
    assert_eq!(rows(&stored, vec![firing(20, Some(7), 99)]), [(Firing, 5, None, Some(99), 10)]);
    assert_eq!(rows(&stored, vec![firing(20, Some(3), 99)]), [(Firing, 3, None, Some(99), 10)]);
    let stored = [over(3, 4, 4), open(5, 90, 10)];
    let expected = [(Resolved, 3, Some(4), None, 4), (Firing, 5, None, Some(99), 10)];
    assert_eq!(rows(&stored, vec![firing(20, Some(3), 99)]), expected, "a row with that key exists");
    let mut all = Occurrences::new([open(5, 90, 10)]);
    all.apply(firing(20, None, 99));
    let changed: Vec<Kept> = all.into_changed().collect();
    assert_eq!(changed[0].annotations, Some(texts("20")));
}

#[test]
fn the_start_of_a_row_that_is_over_opens_it_again() {
    let stored = [over(5, 90, 90)];
    assert_eq!(rows(&stored, vec![firing(100, Some(5), 190)]), [(Firing, 5, None, Some(190), 100)]);
    // An event from before the end does not reopen the row.
    assert_eq!(rows(&stored, vec![firing(89, Some(5), 190)]), [(Resolved, 5, Some(90), None, 90)]);
}

#[test]
fn a_resolved_alert_ends_the_open_row_whatever_start_it_has() {
    let stored = [open(5, 90, 10)];
    for start in [None, Some(5), Some(7), Some(1)] {
        assert_eq!(rows(&stored, vec![resolved(20, start, 19)]), [(Resolved, 5, Some(19), None, 20)]);
    }
    assert_eq!(rows(&stored, vec![resolved(20, None, 2)]), [(Resolved, 5, Some(5), None, 20)]);
    let mut all = Occurrences::new(stored);
    all.apply(resolved(20, None, 19));
    assert!(all.is_over());
    let changed: Vec<Kept> = all.into_changed().collect();
    assert_eq!((changed.len(), &changed[0].annotations), (1, &None), "texts stay");
}

#[test]
fn a_resolved_alert_without_open_row_is_kept_once_if_it_has_a_start() {
    assert_eq!(rows(&[], vec![resolved(20, Some(5), 19)]), [(Resolved, 5, Some(19), None, 20)]);
    assert_eq!(rows(&[], vec![resolved(20, None, 19)]), []);
    let stored = [over(5, 19, 20)];
    let repeated = || rows(&stored, vec![resolved(30, Some(5), 19), resolved(31, Some(5), 18)]);
    assert_eq!(repeated(), [(Resolved, 5, Some(19), None, 20)]);
    assert_eq!(rows(&stored, vec![resolved(30, Some(5), 25)]), [(Resolved, 5, Some(25), None, 20)]);
    let mut all = Occurrences::new(stored);
    all.apply(resolved(30, Some(5), 19));
    assert!(!all.is_over());
    assert_eq!(all.into_changed().count(), 0, "nothing to write");
}

#[test]
fn a_delivery_ends_what_it_is_about() {
    let stored = [open(5_500, 90_000, 10)];
    for (at, start, end) in [(20_000, 5_999, 19_000), (20_000, 3_000, 19_000)] {
        let expected = [(Resolved, 5_500, Some(19_000), None, 20_000)];
        assert_eq!(rows(&stored, vec![delivered(at, start, Some(end))]), expected, "{start}");
    }
    assert_eq!(rows(&stored, vec![delivered(20_000, 5_000, None)]), [(Resolved, 5_500, None, None, 20_000)]);
    // Late, after the alert has fired again.
    let stored = [over(1_000, 2_000, 2_000), open(5_000, 90_000, 5_000)];
    let expected = [(Resolved, 1_000, Some(2_500), None, 2_000), (Firing, 5_000, None, Some(90_000), 5_000)];
    assert_eq!(rows(&stored, vec![delivered(6_000, 1_000, Some(2_500))]), expected);
    let late = rows(&stored[1..], vec![delivered(6_000, 1_000, Some(2_500))]);
    assert_eq!(
        late,
        [(Firing, 5_000, None, Some(90_000), 5_000), (Resolved, 1_000, Some(2_500), None, 6_000)]
    );
    let mut all = Occurrences::new([over(1_000, 2_000, 2_000)]);
    (0..3).for_each(|n| all.apply(delivered(6_000 + n, 1_000, Some(2_000))));
    let changed: Vec<Kept> = all.into_changed().collect();
    assert_eq!((changed.len(), changed[0].row.receiver.as_deref()), (1, Some("r")));
}

#[test]
fn events_of_one_request_follow_each_other() {
    let all = vec![firing(10, Some(5), 90), resolved(10, Some(5), 10), firing(10, Some(5), 80)];
    assert_eq!(rows(&[], all), [(Firing, 5, None, Some(80), 10)]);
    let mut all = Occurrences::default();
    all.apply(firing(10, Some(5), 90));
    assert!(!all.is_over());
    all.apply(resolved(11, None, 11));
    assert!(all.is_over());
}

#[test]
fn the_summary_is_the_plain_one_else_the_english_one() {
    let summary_of = |pairs: &[(&str, &str)]| {
        let labels: Labels = pairs.iter().copied().collect();
        summary(&labels).map(str::to_owned)
    };
    assert_eq!(summary_of(&[("summary", "a"), ("summary_en", "b")]).as_deref(), Some("a"));
    assert_eq!(summary_of(&[("summary", ""), ("summary_en", "b")]).as_deref(), Some("b"));
    assert_eq!(summary_of(&[("summary_it", "c")]), None);
}

fn event() -> impl Strategy<Value = AlertEvent> {
    let start = prop_oneof![Just(None), (0_i64..6).prop_map(Some)];
    (0_i64..4, start, 1_i64..5, 0_u8..3).prop_map(|(at, start, length, kind)| {
        let at = 10 + at;
        match kind {
            0 => firing(at, start, at + length),
            1 => resolved(at, start, at - length + 1),
            _ => delivered(at, start.unwrap_or(3), Some(at - length)),
        }
    })
}

proptest! {
    #[test]
    fn at_most_one_row_is_open_and_no_two_share_a_start(events in prop::collection::vec(event(), 0..12)) {
        let mut all = Occurrences::default();
        for event in events {
            all.apply(event);
            prop_assert!(all.0.iter().filter(|k| k.row.status == Firing).count() <= 1);
            let mut starts: Vec<Ts> = all.0.iter().map(|k| k.row.starts_at).collect();
            starts.sort_unstable();
            starts.dedup();
            prop_assert_eq!(starts.len(), all.0.len());
            for kept in &all.0 {
                prop_assert_eq!(kept.row.status == Firing, kept.row.expires_at.is_some());
                prop_assert!(kept.row.status == Resolved || kept.row.ends_at.is_none());
            }
        }
    }
}

#[test]
fn a_delivery_without_a_start_is_of_the_occurrence_that_ended_then() {
    // The router received ends and no starts, so it uses the last end for both.
    let stored = Occurrence {
        id: Some(1),
        status: Resolved,
        starts_at: Ts(1_000_000),
        ends_at: Some(Ts(9_000_000)),
        expires_at: None,
        receiver: None,
        created_at: Ts(9_500_000),
    };
    let unchanged = vec![(Resolved, 1_000_000, Some(9_000_000), None, 9_500_000)];
    let ending = |end: i64| delivered(10_000_000, end, Some(end));
    assert_eq!(rows(std::slice::from_ref(&stored), vec![ending(9_000_000)]), unchanged);
    assert_eq!(
        rows(std::slice::from_ref(&stored), vec![ending(5_000_000)]),
        unchanged,
        "the later end counts"
    );
    assert_eq!(rows(&[stored], vec![ending(9_100_000)]).len(), 2, "that was another one");
}
