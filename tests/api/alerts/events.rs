//! Every event of the history's table (spec: alert-management#history), with both kinds of router.

use super::*;

/// Pushes one alert with this name and these other fields.
async fn push(c: &Client<'_>, name: &str, rest: Value) {
    let mut alert = json!({"labels": {"alertname": name, "severity": "warning"}});
    for (key, value) in rest.as_object().unwrap() {
        alert[key] = value.clone();
    }
    c.push(&json!([alert]).to_string()).await.expect(200);
    written(c.test).await;
}

/// The same conversation in front of the embedded router and of one elsewhere.
macro_rules! both_routers {
    ($name:ident, |$p:ident| $body:expr) => {
        api_test!($name, |settings| generous(settings), |t| async move {
            {
                let $p = &t;
                $body.await;
            }
            let upstream = obliging().await;
            let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
            {
                let $p = &p;
                $body.await;
            }
        });
    };
}

both_routers!(a_firing_alert_is_one_row_that_refreshes_move, |t| async {
    let c = Client::new(t).await;
    push(&c, "A", json!({"startsAt": timestamp(-60), "annotations": {"summary_en": "first"}})).await;
    push(&c, "B", json!({"endsAt": timestamp(600)})).await;
    let opened = [
        "A warning firing from -60 to - until 21600 at 0, first",
        "B warning firing from 0 to - until 600 at 0",
    ];
    assert_eq!(rows(t).await, opened);
    t.advance(MINUTE);
    push(&c, "A", json!({"startsAt": timestamp(-60), "annotations": {"summary": "second"}})).await;
    push(&c, "B", json!({"endsAt": timestamp(660)})).await;
    let refreshed = [
        "A warning firing from -60 to - until 21660 at 0, second",
        "B warning firing from 0 to - until 660 at 0",
    ];
    assert_eq!(rows(t).await, refreshed);
    // A later start changes nothing, an earlier one is taken over.
    push(&c, "A", json!({"startsAt": timestamp(0)})).await;
    assert_eq!(rows(t).await[0], "A warning firing from -60 to - until 21660 at 0");
    push(&c, "A", json!({"startsAt": timestamp(-120)})).await;
    assert_eq!(rows(t).await[0], "A warning firing from -120 to - until 21660 at 0");
});

// Proves spec: alert-guarantees#guarantees 21.
both_routers!(each_occurrence_is_one_row_however_often_it_is_pushed, |t| async {
    let c = Client::new(t).await;
    push(&c, "A", json!({"startsAt": timestamp(0), "annotations": {"summary": "text"}})).await;
    t.advance(MINUTE);
    for _ in 0..4 {
        push(&c, "A", json!({"startsAt": timestamp(0), "endsAt": timestamp(50)})).await;
    }
    let over = "A warning resolved from 0 to 50 until - at 60, text";
    assert_eq!(rows(t).await, [over]);
    assert_eq!(figures(t, tenant(&c).await).await, [1; 3]);
    // The next occurrence has a row of its own.
    t.advance(MINUTE);
    push(&c, "A", json!({"startsAt": timestamp(100)})).await;
    t.advance(MINUTE);
    push(&c, "A", json!({"endsAt": timestamp(170)})).await;
    assert_eq!(rows(t).await, [over, "A warning resolved from 100 to 170 until - at 180"]);
    assert_eq!(figures(t, tenant(&c).await).await, [2; 3]);
    // The start of the first goes on with the first: its end was only supposed.
    push(&c, "A", json!({"startsAt": timestamp(0)})).await;
    let goes_on = "A warning firing from 0 to - until 21780 at 180";
    assert_eq!(rows(t).await[0], goes_on);
    assert_eq!(figures(t, tenant(&c).await).await, [1; 3]);
});

async fn tenant(c: &Client<'_>) -> OrgId {
    let text = "SELECT organization_id FROM systems WHERE id = ?";
    let (id,): (uuid::Uuid,) = Q::new(text).bind(c.system.id).one(&c.test.app.platform.db).await.unwrap();
    OrgId(id)
}

both_routers!(an_unknown_resolved_alert_is_stored_once_if_it_has_a_start, |t| async {
    let c = Client::new(t).await;
    push(&c, "A", json!({"endsAt": timestamp(-10)})).await;
    assert_eq!(rows(t).await, [""; 0]);
    for end in [-30, -30, -40, -20, -25] {
        push(&c, "A", json!({"startsAt": timestamp(-100), "endsAt": timestamp(end)})).await;
    }
    assert_eq!(rows(t).await, ["A warning resolved from -100 to -20 until - at 0"]);
    assert_eq!(figures(t, tenant(&c).await).await, [1; 3]);
});

// Proves spec: alert-guarantees#guarantees 21.
both_routers!(an_end_pushed_again_with_another_start_is_the_same_occurrence, |t| async {
    let c = Client::new(t).await;
    push(&c, "A", json!({"startsAt": timestamp(-100)})).await;
    push(&c, "A", json!({"startsAt": timestamp(-100), "endsAt": timestamp(-10)})).await;
    let over = "A warning resolved from -100 to -10 until - at 0";
    for start in [-60, -10, -100, -500] {
        push(&c, "A", json!({"startsAt": timestamp(start), "endsAt": timestamp(-10)})).await;
        assert_eq!(rows(t).await, [over], "{start}");
    }
    // The later end counts. An alert that began after it is another occurrence.
    push(&c, "A", json!({"startsAt": timestamp(-11), "endsAt": timestamp(-8)})).await;
    push(&c, "A", json!({"startsAt": timestamp(-5), "endsAt": timestamp(-2)})).await;
    let expected =
        ["A warning resolved from -100 to -8 until - at 0", "A warning resolved from -5 to -2 until - at 0"];
    assert_eq!(rows(t).await, expected);
    assert_eq!(figures(t, tenant(&c).await).await, [2; 3]);
});

both_routers!(alerts_of_one_request_follow_each_other, |t| async {
    let c = Client::new(t).await;
    let alert = |start: i64, end: Option<i64>| {
        let end = end.map(timestamp).unwrap_or_default();
        json!({"labels": {"alertname": "A"}, "startsAt": timestamp(start), "endsAt": end})
    };
    let all = json!([alert(-90, None), alert(-90, Some(-60)), alert(-30, None)]);
    c.push(&all.to_string()).await.expect(200);
    written(t).await;
    let expected = ["A - resolved from -90 to -60 until - at 0", "A - firing from -30 to - until 21600 at 0"];
    assert_eq!(rows(t).await, expected);
});

both_routers!(silenced_alerts_are_recorded_and_labels_are_cleaned, |t| async {
    let c = Client::new(t).await;
    push(&c, "A", json!({"labels": {"alertname": "A\u{0}B", "severity": "", "system_key": "x"}})).await;
    assert_eq!(rows(t).await, ["A\u{fffd}B - firing from 0 to - until 21600 at 0"]);
    let text = "SELECT CAST(labels AS TEXT) FROM alert_history";
    let (labels,): (String,) = Q::new(text).one(&t.app.platform.db).await.unwrap();
    let labels: Value = serde_json::from_str(&labels).unwrap();
    assert_eq!(labels["system_key"], c.system.key.as_str());
    assert_eq!(labels["organization_id"], tenant(&c).await.to_string());
});

both_routers!(who_takes_care_of_an_alert_does_so_until_it_is_over, |t| async {
    let c = Client::new(t).await;
    let organization = tenant(&c).await;
    push(&c, "A", json!({})).await;
    push(&c, "B", json!({})).await;
    assign_all(t, organization).await;
    push(&c, "A", json!({"annotations": {"x": "refreshed"}})).await;
    assert_eq!(assigned(t).await, 2);
    t.advance(MINUTE);
    push(&c, "A", json!({"endsAt": timestamp(60)})).await;
    assert_eq!(assigned(t).await, 1);
    let text = "SELECT action, actor_name, CAST(details AS TEXT), created_at FROM alert_activity";
    let rows: Vec<(String, Option<String>, String, TsCodec)> =
        Q::new(text).all(&t.app.platform.db).await.unwrap();
    assert_eq!(rows.len(), 1);
    let (action, actor, details, created) = &rows[0];
    assert_eq!((action.as_str(), actor, seconds(created.0)), ("unassigned", &None, 60));
    let expected = json!({
        "reason": "resolved", "assigned_user_id": organization, "assigned_user_name": "Ada",
        "assigned_user_org_id": organization, "assigned_user_org_name": "Home",
    });
    assert_eq!(serde_json::from_str::<Value>(details).unwrap(), expected);
});

/// Assigns every firing alert to a user.
pub(super) async fn assign_all(t: &Test, organization: OrgId) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let text = "INSERT INTO alert_assignments (organization_id, fingerprint, system_key, assigned_user_id, \
         assigned_user_name, assigned_user_key, assigned_user_org_id, assigned_user_org_name, assigned_at) \
         SELECT organization_id, fingerprint, system_key, organization_id, 'Ada', 'ada', organization_id, 'Home', \
         created_at FROM alert_history WHERE organization_id = ? AND status = 'firing'";
    Q::new(text).bind(organization).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

pub(super) async fn assigned(t: &Test) -> u64 {
    Q::new("SELECT COUNT(*) FROM alert_assignments").count(&t.app.platform.db).await.unwrap()
}

api_test!(with_the_embedded_router_alert_and_history_are_stored_together_or_not_at_all, |t| async move {
    let c = Client::new(&t).await;
    c.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(200);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("ALTER TABLE alert_history RENAME TO gone").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    c.push(r#"[{"labels":{"alertname":"B"}}]"#).await.expect(500);
    assert_eq!(c.alert_names("").await, ["A"]);
});

api_test!(a_router_elsewhere_that_refuses_makes_no_history_and_a_queued_push_does, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(500)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let c = Client::new(&p).await;
    c.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(502);
    upstream.answer_by(|_| Answer::status(412));
    c.push(r#"[{"labels":{"alertname":"B"}}]"#).await.expect(200);
    written(&p).await;
    assert_eq!(rows(&p).await, ["B - firing from 0 to - until 21600 at 0"]);
});

api_test!(the_alerts_of_the_service_itself_are_recorded, |t| async move {
    const LIVENESS: Duration = Duration::from_secs(20 * 60);
    let c = Client::new(&t).await;
    let beat = async || {
        t.post("/systems/heartbeat").basic(&c.system.key, &c.system.secret).send().await.expect(200);
    };
    let check = async || bailiwick_alerts::liveness_monitor::check(&t.app.alerts).await.unwrap();
    beat().await;
    t.advance(LIVENESS + MINUTE);
    assert_eq!(check().await.posted, 1);
    let name = rows(&t).await[0].split(", ").nth(1).unwrap().to_owned();
    assert!(name.starts_with("System System ") && name.ends_with(" does not answer"), "{name}");
    let line = |text: &str| format!("LinkFailed critical {text}, {name}");
    assert_eq!(rows(&t).await, [line("firing from 1200 to - until 1860 at 1260")]);
    t.advance(5 * MINUTE);
    check().await;
    assert_eq!(rows(&t).await, [line("firing from 1200 to - until 2160 at 1260")]);
    // Its refreshes stay away; then it is found silent since the same time: the same occurrence.
    t.advance(11 * MINUTE);
    assert_eq!(alerts::sweep_history(&t.app.alerts).await.unwrap(), Some(1));
    assert_eq!(rows(&t).await, [line("resolved from 1200 to 2160 until - at 2220")]);
    check().await;
    assert_eq!(rows(&t).await, [line("firing from 1200 to - until 2820 at 2220")]);
    beat().await;
    t.advance(MINUTE);
    assert_eq!(check().await.resolved, 1);
    assert_eq!(rows(&t).await, [line("resolved from 1200 to 2280 until - at 2280")]);
    assert_eq!(figures(&t, tenant(&c).await).await, [1; 3]);
});
