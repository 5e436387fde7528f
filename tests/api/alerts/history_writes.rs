//! Ends and removals of history without a request (spec: alert-management#history; inventory#retention), and the
//! figures that follow them.

use super::{
    events::{assign_all, assigned},
    *,
};
use bailiwick_app::retention;
use bailiwick_testkit::{Engine, seed::Tree};

const DAY: Duration = Duration::from_secs(86_400);

async fn sweep(t: &Test) -> Option<u64> {
    alerts::sweep_history(&t.app.alerts).await.unwrap()
}

api_test!(alerts_that_nobody_refreshes_end_at_their_time, |t| async move {
    let tree = t.tree().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    c.push(
        &json!([{"labels": {"alertname": "A"}, "endsAt": timestamp(300)}, {"labels": {"alertname": "B"}}])
            .to_string(),
    )
    .await
    .expect(200);
    assign_all(&t, tree.customer).await;
    t.advance(5 * MINUTE);
    assert_eq!(sweep(&t).await, Some(0), "it may end at this very moment, and is not over before");
    t.advance(Duration::from_micros(1));
    assert_eq!(sweep(&t).await, Some(1));
    let swept = "A - resolved from 0 to 300 until - at 300";
    let mut stored = rows(&t).await;
    stored.sort();
    assert_eq!(stored, [swept, "B - firing from 0 to - until 21600 at 0"]);
    assert_eq!((assigned(&t).await, figures(&t, tree.customer).await), (1, [1; 3]));
    assert_eq!(sweep(&t).await, Some(0));
});

api_test!(an_alert_that_begins_after_its_expiry_is_another_occurrence, |t| async move {
    let tree = t.tree().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    c.push(&json!([{"labels": {"alertname": "A"}, "endsAt": timestamp(60)}]).to_string()).await.expect(200);
    assign_all(&t, tree.customer).await;
    t.advance(Duration::from_secs(70));
    // Nobody has swept yet.
    c.push(&json!([{"labels": {"alertname": "A"}, "startsAt": timestamp(65)}]).to_string()).await.expect(200);
    let mut stored = rows(&t).await;
    stored.sort();
    let expected = ["A - firing from 65 to - until 21670 at 70", "A - resolved from 0 to 60 until - at 70"];
    assert_eq!(stored, expected);
    assert_eq!((assigned(&t).await, figures(&t, tree.customer).await), (0, [1; 3]));
});

api_test!(many_alerts_end_in_several_transactions, |settings| generous(settings), |t| async move {
    let tree = t.tree().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    let many: Vec<Value> = (0..900)
        .map(|n| {
            json!({"labels": {"alertname": format!("A{n}")},
            "endsAt": timestamp(60)})
        })
        .collect();
    c.push(&json!(many).to_string()).await.expect(200);
    t.advance(2 * MINUTE);
    assert_eq!(sweep(&t).await, Some(900));
    assert_eq!(figures(&t, tree.customer).await, [900; 3]);
});

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_several_processes_sweeps() {
    let t = Test::start(Engine::Postgres, |_| {}).await;
    let other = t.replica().await;
    let c = Client::new(&t).await;
    c.push(&json!([{"labels": {"alertname": "A"}, "endsAt": timestamp(60)}]).to_string()).await.expect(200);
    t.advance(2 * MINUTE);
    let (a, b) = tokio::join!(sweep(&t), sweep(&other));
    assert!(matches!((a, b), (Some(1), None) | (None, Some(1))), "{a:?} {b:?}");
    // The lease stays with its holder until the holder has been silent for three minutes.
    let (holder, waiting) = if a.is_some() { (&t, &other) } else { (&other, &t) };
    t.advance(2 * MINUTE);
    assert_eq!(sweep(waiting).await, None);
    assert_eq!(sweep(holder).await, Some(0));
    t.advance(4 * MINUTE);
    assert_eq!(sweep(waiting).await, Some(0));
}

api_test!(
    after_an_outage_senders_have_time_to_refresh,
    |settings| settings.alerting.short_outage = MINUTE,
    |t| async move {
        let c = Client::new(&t).await;
        let end = |name: &str, end: i64| {
            json!({"labels": {"alertname": name}, "startsAt": timestamp(0),
            "endsAt": timestamp(end)})
        };
        c.push(&json!([end("A", 600), end("B", 600), end("C", 20)]).to_string()).await.expect(200);
        t.advance(MINUTE / 2);
        // The last sign of life.
        assert_eq!(purge(&t).await, 0);
        t.app.platform.stop.cancel();
        t.app.platform.tasks.close();
        t.app.platform.tasks.wait().await;
        t.advance(20 * MINUTE);
        let again = t.replica().await;
        assert_eq!(sweep(&again).await, Some(1), "C had ended before");
        let wait = async |minutes: u32| {
            for _ in 0..minutes {
                again.advance(MINUTE);
                assert_eq!(purge(&again).await, 0);
            }
        };
        wait(2).await;
        Client { test: &again, system: c.system }
            .push(&json!([end("A", 3600)]).to_string())
            .await
            .expect(200);
        wait(4).await;
        assert_eq!(sweep(&again).await, Some(1));
        let expected = [
            "A - firing from 0 to - until 3600 at 0",
            "B - resolved from 0 to 600 until - at 1590",
            "C - resolved from 0 to 20 until - at 1230",
        ];
        let mut stored = rows(&t).await;
        stored.sort();
        assert_eq!(stored, expected);
    }
);

/// Removes history that may be removed; returns how much that was.
async fn purge(t: &Test) -> u64 {
    alerts::purge_ended(&t.app.alerts).await.unwrap()
}

/// An alert that fired and was over at once.
async fn occurrence(c: &Client<'_>, name: &str, time: Ts) {
    let alert = json!([{"labels": {"alertname": name}, "startsAt": time.rfc3339(0),
        "endsAt": time.rfc3339(0)}]);
    c.push(&alert.to_string()).await.expect(200);
}

api_test!(resolved_alerts_go_after_half_a_year_in_batches, |settings| generous(settings), |t| async move {
    let tree = t.tree().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    for chunk in 0..3 {
        let many: Vec<Value> = (0..500)
            .map(|n| {
                json!({"labels": {"alertname": format!("A{}", chunk * 500 + n)},
                "startsAt": timestamp(-9), "endsAt": timestamp(-1)})
            })
            .collect();
        c.push(&json!(many).to_string()).await.expect(200);
    }
    t.advance(DAY);
    occurrence(&c, "young", t.app.platform.now()).await;
    c.push(r#"[{"labels":{"alertname":"open"}}]"#).await.expect(200);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let text = "UPDATE alert_history SET expires_at = ? WHERE status = 'firing'";
    Q::new(text).bind(t.app.platform.now().plus(400 * DAY)).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    t.advance(183 * DAY);
    assert_eq!(retention::dry_run(&t.app).await.unwrap().history, 0, "not before it is older");
    t.advance(Duration::from_micros(1));
    assert_eq!(retention::dry_run(&t.app).await.unwrap().history, 1500);
    assert_eq!(figures(&t, tree.customer).await, [1501; 3], "only counted");
    assert_eq!(retention::run(&t.app).await.unwrap().unwrap().history, 1500);
    assert_eq!(figures(&t, tree.customer).await, [1; 3]);
    let names =
        rows(&t).await.iter().map(|row| row.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names, ["young", "open"], "what fires stays however old it is");
    let days = Q::new("SELECT COUNT(*) FROM alert_history_days").count(&t.app.platform.db).await.unwrap();
    let offered = Q::new("SELECT COUNT(*) FROM alert_names").count(&t.app.platform.db).await.unwrap();
    assert_eq!((days, offered), (1, 2));
});

api_test!(names_are_offered_as_long_as_the_history_has_them, |t| async move {
    let tree = t.tree().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    let long = "x".repeat(300);
    let fires = |name: &str| {
        json!([{"labels": {"alertname": name}, "startsAt": timestamp(0),
            "endsAt": timestamp(200 * 86_400)}])
    };
    for name in ["A", &long, "B"] {
        c.push(&fires(name).to_string()).await.expect(200);
    }
    occurrence(&c, "C", t.app.platform.now()).await;
    let names = async || {
        let text = "SELECT SUBSTR(alertname, 1, 1) FROM alert_names ORDER BY alertname";
        let names: Vec<(String,)> = Q::new(text).all(&t.app.platform.db).await.unwrap();
        names.into_iter().map(|(name,)| name).collect::<String>()
    };
    t.advance(100 * DAY);
    let over = json!([{"labels": {"alertname": "B"}, "startsAt": timestamp(0),
        "endsAt": timestamp(8_640_000)}]);
    c.push(&over.to_string()).await.expect(200);
    // All began longer ago than history is kept; A still fires, and B was over 85 days ago.
    t.advance(85 * DAY);
    retention::run(&t.app).await.unwrap().unwrap();
    assert_eq!(names().await, "ABx");
    t.advance(100 * DAY);
    sweep(&t).await;
    retention::run(&t.app).await.unwrap().unwrap();
    assert_eq!(names().await, "Ax");
});

api_test!(a_destroyed_system_leaves_its_history_and_nothing_that_fires, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    let other = Client { test: &t, system: t.system(tree.customer).await };
    occurrence(&c, "old", t.app.platform.now()).await;
    for c in [&c, &other] {
        c.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(200);
    }
    assign_all(&t, tree.customer).await;
    t.advance(MINUTE);
    let path = format!("/api/systems/{}/destroy", c.system.id);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    let expected = [
        "old - resolved from 0 to 0 until - at 0",
        "A - resolved from 0 to 60 until - at 60",
        "A - firing from 0 to - until 21600 at 0",
    ];
    assert_eq!(rows(&t).await, expected);
    assert_eq!((assigned(&t).await, figures(&t, tree.customer).await), (1, [2; 3]));
    let path = format!("/api/resellers/{}/destroy", tree.reseller);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    for table in [
        "alert_history",
        "alert_history_days",
        "alert_names",
        "alert_totals",
        "alert_assignments",
        "alert_activity",
    ] {
        let left = Q::new(&format!("SELECT COUNT(*) FROM {table}")).count(&t.app.platform.db).await.unwrap();
        assert_eq!(left, 0, "{table}");
    }
});

async fn move_system(t: &Test, c: &Client<'_>, to: OrgId) {
    let owner = t.owner().await;
    let body = json!({"organization_id": to.to_string()});
    t.put(&format!("/api/systems/{}", c.system.id)).bearer(&owner.token).json(body).send().await.expect(200);
}

api_test!(the_history_of_a_system_moves_with_it, |t| async move {
    let tree = t.tree().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    let stays = Client { test: &t, system: t.system(tree.customer).await };
    occurrence(&c, "old", t.app.platform.now()).await;
    occurrence(&stays, "old", t.app.platform.now()).await;
    for c in [&c, &stays] {
        c.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(200);
    }
    assign_all(&t, tree.customer).await;
    t.advance(2 * DAY);
    move_system(&t, &c, tree.other_customer).await;
    let count_of = async |organization: OrgId| {
        let text = "SELECT COUNT(*) FROM alert_history h JOIN organizations o ON o.id = h.organization_id \
             AND o.p2 = h.p2 AND o.p3 = h.p3 WHERE h.organization_id = ? AND h.system_key = ?";
        let q = Q::new(text).bind(organization).bind(&c.system.key);
        q.count(&t.app.platform.db).await.unwrap()
    };
    assert_eq!((count_of(tree.customer).await, count_of(tree.other_customer).await), (0, 2));
    assert_eq!((figures(&t, tree.customer).await, figures(&t, tree.other_customer).await), ([1; 3], [2; 3]));
    assert_eq!(assigned(&t).await, 1, "only that of the system that stays");
    // News of the alert in the old tenant is not written from now on; news in the new tenant is.
    let service = bailiwick_alerts::liveness_monitor::check(&t.app.alerts).await.unwrap();
    assert_eq!(service.resolved, 0);
    let before = rows(&t).await.len();
    c.push(&json!([{"labels": {"alertname": "A"}, "startsAt": timestamp(0)}]).to_string()).await.expect(200);
    assert_eq!((rows(&t).await.len(), count_of(tree.other_customer).await), (before + 1, 3));
    let names =
        Q::new("SELECT COUNT(*) FROM alert_names WHERE organization_id = ?").bind(tree.other_customer);
    assert_eq!(names.count(&t.app.platform.db).await.unwrap(), 2);
    // And back.
    move_system(&t, &c, tree.customer).await;
    assert_eq!((count_of(tree.customer).await, count_of(tree.other_customer).await), (3, 0));
    assert_eq!((figures(&t, tree.customer).await, figures(&t, tree.other_customer).await), ([4; 3], [0; 3]));
});

/// Random pushes of two systems; after each step the counters equal the counted rows.
async fn walk(t: &Test, tree: &Tree, seed: u64) {
    let mut seed = seed;
    let mut next = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let systems = [
        Client { test: t, system: t.system(tree.customer).await },
        Client { test: t, system: t.system(tree.customer).await },
    ];
    let mut homes = [tree.customer; 2];
    for _ in 0..60 {
        let which = next(2) as usize;
        let c = &systems[which];
        let now = seconds(t.app.platform.now());
        let alert = |name: u64, start: Option<i64>, end: i64| {
            let start = start.map(timestamp).unwrap_or_default();
            json!({"labels": {"alertname": format!("A{name}")}, "startsAt": start, "endsAt": timestamp(end)})
        };
        match next(8) {
            0 => t.advance(Duration::from_secs(next(40) * 3600)),
            1 => drop(sweep(t).await),
            2 => {
                let to = if homes[which] == tree.customer { tree.other_customer } else { tree.customer };
                move_system(t, c, to).await;
                homes[which] = to;
            }
            3 => drop(retention::run(&t.app).await.unwrap()),
            4 => {
                let start = now - 100 - next(3) as i64 * 3600;
                c.push(&json!([alert(next(3), Some(start), now - next(50) as i64)]).to_string())
                    .await
                    .expect(200);
            }
            _ => {
                let start = (next(2) == 0).then(|| now - next(3) as i64 * 3600);
                c.push(&json!([alert(next(3), start, now + 60 + next(7200) as i64)]).to_string())
                    .await
                    .expect(200);
            }
        }
        for organization in [tree.customer, tree.other_customer] {
            let [total, days, rows] = figures(t, organization).await;
            assert_eq!((total, days), (rows, rows));
        }
    }
}

api_test!(
    the_figures_are_always_those_of_the_rows,
    |settings| {
        generous(settings);
        settings.alerting.history_retention = 3 * DAY;
    },
    |t| async move {
        let tree = t.tree().await;
        for seed in 1..4 {
            walk(&t, &tree, seed).await;
        }
        let all = Q::new("SELECT COUNT(*) FROM alert_history").count(&t.app.platform.db).await.unwrap();
        assert!(all > 10, "{all}");
    }
);
