//! Totals, trend, statistics, history and the catalogue (spec: alert-management#figures).

use super::{
    lists::{client, get},
    *,
};
use bailiwick_testkit::{Engine, Persona};

const DAY: Duration = Duration::from_secs(86_400);

/// An alert that fired from one moment to another.
async fn over(c: &Client<'_>, labels: Value, from: i64, to: i64) {
    let alert = json!([{"labels": labels, "startsAt": timestamp(from), "endsAt": timestamp(to)}]);
    c.push(&alert.to_string()).await.expect(200);
}

async fn data(t: &Test, who: &Persona, path: &str, message: &str) -> Value {
    get(t, who, path).await.expect_message(200, message).data()
}

// Proves spec: alert-guarantees#guarantees 15.
api_test!(figures_and_history_have_the_scope_of_the_list, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for (organization, n) in [(tree.customer, 2), (tree.reseller, 3), (tree.other_customer, 4)] {
        let c = client(&t, organization).await;
        for i in 0..n {
            let labels = json!({"alertname": format!("A{i}"), "severity": "critical",
                "organization_id": tree.customer.to_string()});
            over(&c, labels, -100, -40).await;
        }
    }
    let distributor = t.user(tree.distributor, &["reader"]).await;
    let customer = t.user(tree.customer, &["reader"]).await;
    let one = format!("?organization_id={}", tree.reseller);
    let below = format!("{one}&include=descendants");
    let several = format!("{below}&organization_id={}", tree.other_customer);
    for (who, query, n) in [
        (&owner, "", 9),
        (&distributor, "", 5),
        (&customer, "", 2),
        (&customer, one.as_str(), 2),
        (&distributor, one.as_str(), 3),
        (&distributor, below.as_str(), 5),
        (&owner, several.as_str(), 9),
    ] {
        let path_of = |path: &str| format!("/alerts/{path}{query}");
        let totals = data(&t, who, &path_of("totals"), "alerts totals retrieved successfully").await;
        let trend = data(&t, who, &path_of("trend"), "alerts trend retrieved successfully").await;
        let stats = data(&t, who, &path_of("stats"), "alerts stats retrieved successfully").await;
        let history = data(&t, who, &path_of("history"), "alerts history retrieved successfully").await;
        let counts = [
            &totals["history"],
            &trend["current_total"],
            &stats["total"],
            &history["pagination"]["total_count"],
            &json!(history["alerts"].as_array().unwrap().len()),
        ];
        assert_eq!(counts, [&json!(n); 5], "{query}");
    }
    // Labels do not decide the organization of a row.
    let rows = data(&t, &owner, &format!("/alerts/history?organization_id={}", tree.customer), HISTORY).await;
    assert_eq!(rows["pagination"]["total_count"], 2);
    t.delete_organization(tree.reseller).await;
    for (path, key) in [("totals", "history"), ("trend", "current_total"), ("stats", "total")] {
        let answer = get(&t, &owner, &format!("/alerts/{path}")).await.expect(200).data();
        assert_eq!(answer[key], 4, "the customer below is deleted with it: {path}");
    }
});

const HISTORY: &str = "alerts history retrieved successfully";

// Proves spec: acceptance#scenarios 33.
api_test!(history_is_filtered_sorted_and_paged, |t| async move {
    let tree = t.tree().await;
    let reader = t.user(tree.distributor, &["reader"]).await;
    let (c, d) = (client(&t, tree.customer).await, client(&t, tree.reseller).await);
    over(&c, json!({"alertname": "A", "severity": "critical"}), -300, -200).await;
    t.advance(MINUTE);
    over(&d, json!({"alertname": "B", "severity": "info"}), -400, -10).await;
    t.advance(MINUTE);
    over(&c, json!({"alertname": "C"}), -100, 30).await;
    c.push(r#"[{"labels":{"alertname":"D"}}]"#).await.expect(200);
    let key = &c.system.key;
    let (first, second) = (timestamp(60), timestamp(120));
    for (query, expected) in [
        ("", "CBA"),
        ("?sort_direction=asc", "ABC"),
        ("?sort_by=&sort_direction=asc", "CBA"),
        ("?sort_by=nonsense&sort_direction=asc", "CBA"),
        ("?sort_by=id&sort_direction=asc", "ABC"),
        ("?sort_by=alertname", "CBA"),
        ("?sort_by=severity&sort_direction=asc", "CAB"),
        ("?sort_by=starts_at&sort_direction=asc", "BAC"),
        ("?sort_by=ends_at&sort_direction=asc", "ABC"),
        ("?sort_by=status&status=firing&status=resolved&sort_direction=asc", "DABC"),
        ("?sort_by=ends_at&status=firing&status=resolved&sort_direction=asc", "DABC"),
        ("?status=firing", "D"),
        ("?status=nonsense", ""),
        ("?severity=info&severity=critical", "BA"),
        ("?alertname=A&alertname=C", "CA"),
        (&format!("?system_key={key}"), "CA"),
        (&format!("?from_date={first}"), "CB"),
        (&format!("?from_date={first}&to_date={second}"), "B"),
        (&format!("?to_date={first}"), "A"),
        ("?page_size=1&page=2", "B"),
        ("?alertname=%00", ""),
    ] {
        let answer = data(&t, &reader, &format!("/alerts/history{query}"), HISTORY).await;
        let rows = answer["alerts"].as_array().unwrap().iter();
        let names: String = rows.map(|r| r["alertname"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names, expected, "{query}");
    }
    let own = format!("/systems/{}/alerts/history", c.system.id);
    for (query, expected) in
        [("", "CA"), ("?sort_direction=asc", "AC"), ("?sort_by=&sort_direction=asc", "CA")]
    {
        let answer = data(&t, &reader, &format!("{own}{query}"), HISTORY).await;
        let rows = answer["alerts"].as_array().unwrap().iter();
        let names: String = rows.map(|r| r["alertname"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names, expected, "{query}");
    }
    for (name, value) in
        [("from_date", "yesterday"), ("to_date", "2026-01-01"), ("from_date", "12026-01-01T00:00:00Z")]
    {
        let text = format!("invalid {name}: must be RFC3339 (e.g. 2026-01-01T00:00:00Z)");
        for path in ["history", "stats"] {
            get(&t, &reader, &format!("/alerts/{path}?{name}={value}")).await.expect_message(400, &text);
        }
    }
    let answer = data(&t, &reader, "/alerts/history?alertname=B", HISTORY).await;
    assert_eq!(answer["pagination"]["page_size"], 20);
    let row = &answer["alerts"][0];
    let expected = json!({"system_key": d.system.key, "alertname": "B", "severity": "info", "status": "resolved",
        "summary": null, "receiver": null, "annotations": row["annotations"], "labels": row["labels"],
        "organization_id": tree.reseller.to_string(), "id": row["id"], "fingerprint": row["fingerprint"],
        "starts_at": row["starts_at"], "ends_at": row["ends_at"], "created_at": row["created_at"]});
    assert_eq!(row, &expected);
    assert!(row["id"].is_i64() && row["labels"]["alertname"] == "B");
    let seconds = |key: &str| row[key].as_str().unwrap()[..19].to_owned();
    assert_eq!(
        (seconds("starts_at"), seconds("created_at")),
        (timestamp(-400)[..19].to_owned(), timestamp(60)[..19].to_owned())
    );
    // Of one system.
    let path = format!("/systems/{}/alerts/history?system_key={}", c.system.id, d.system.key);
    let answer = data(&t, &reader, &path, HISTORY).await;
    assert_eq!(answer["pagination"]["total_count"], 2);
});

api_test!(trends_have_every_day_of_their_period, |t| async move {
    let tree = t.tree().await;
    let c = client(&t, tree.customer).await;
    let mut n = 0;
    let mut resolve = async |count: i64| {
        for _ in 0..count {
            n += 1;
            let now = seconds(t.app.platform.now());
            over(&c, json!({"alertname": format!("A{n}")}), now - 60, now).await;
        }
    };
    resolve(4).await;
    t.advance(8 * DAY);
    resolve(1).await;
    t.advance(2 * DAY);
    resolve(2).await;
    let owner = t.owner().await;
    let path = "/alerts/trend";
    let trend = data(&t, &owner, path, "alerts trend retrieved successfully").await;
    let points: Vec<u64> =
        trend["data_points"].as_array().unwrap().iter().map(|p| p["count"].as_u64().unwrap()).collect();
    assert_eq!(points, [0, 0, 0, 0, 1, 0, 2]);
    assert_eq!(trend["data_points"][6]["date"], timestamp(10 * 86_400)[..10]);
    let rest = json!({"period": 7, "period_label": "7 days", "current_total": 3, "previous_total": 4, "delta": -1,
        "delta_percentage": -25.0, "trend": "down", "data_points": trend["data_points"]});
    assert_eq!(trend, rest);
    for (period, label) in [(30, "30 days"), (180, "6 months"), (365, "1 year")] {
        let trend =
            data(&t, &owner, &format!("{path}?period={period}"), "alerts trend retrieved successfully").await;
        assert_eq!(trend["data_points"].as_array().unwrap().len(), period);
        assert_eq!((&trend["period_label"], &trend["current_total"]), (&json!(label), &json!(7)));
        assert_eq!((&trend["delta_percentage"], &trend["trend"]), (&json!(0.0), &json!("up")));
    }
    for period in ["8", "", "7.0"] {
        let text = "invalid period parameter (supported: 7, 30, 180, 365)";
        get(&t, &owner, &format!("{path}?period={period}")).await.expect_message(400, text);
    }
});

api_test!(statistics_say_how_often_and_how_long, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (c, d) = (client(&t, tree.customer).await, client(&t, tree.reseller).await);
    let path = "/alerts/stats";
    let message = "alerts stats retrieved successfully";
    let empty = json!({"total": 0, "by_severity": {}, "top_alertnames": [], "top_systems": []});
    assert_eq!(data(&t, &owner, path, message).await, empty);
    over(&c, json!({"alertname": "A", "severity": "critical"}), -1000, -900).await;
    let one = data(&t, &owner, path, message).await;
    assert_eq!((&one["mttr_seconds"], one.get("mtbf_seconds")), (&json!(100.0), None));
    over(&d, json!({"alertname": "A"}), -800, -600).await;
    over(&d, json!({"alertname": "B", "severity": "info"}), -400, -100).await;
    c.push(r#"[{"labels":{"alertname":"still"}}]"#).await.expect(200);
    let all = data(&t, &owner, path, message).await;
    let expected = json!({"total": 3, "by_severity": {"critical": 1, "info": 1},
        "top_alertnames": [{"alertname": "A", "count": 2}, {"alertname": "B", "count": 1}],
        "top_systems": [{"system_key": d.system.key, "count": 2}, {"system_key": c.system.key, "count": 1}],
        "mttr_seconds": 200.0, "mtbf_seconds": 300.0});
    assert_eq!(all, expected);
    let span = format!("{path}?from_date={}&to_date={}", timestamp(0), timestamp(90));
    let stats = data(&t, &owner, &span, message).await;
    assert_eq!((&stats["total"], &stats["mtbf_seconds"]), (&json!(3), &json!(30.0)));
    for (top, n) in [("1", 1), ("0", 1), ("-5", 1), ("x", 2), ("99", 2)] {
        let stats = data(&t, &owner, &format!("{path}?top={top}"), message).await;
        assert_eq!(stats["top_alertnames"].as_array().unwrap().len(), n, "{top}");
    }
    let turned = format!("{path}?from_date={}&to_date={}", timestamp(5), timestamp(5));
    get(&t, &owner, &turned).await.expect_message(400, "to_date must be after from_date");
});

api_test!(names_of_alerts_are_offered_with_their_severity, |t| async move {
    let tree = t.tree().await;
    let reader = t.user(tree.distributor, &["reader"]).await;
    let path = "/filters/alerts";
    let message = "alert filters retrieved successfully";
    let built_in = data(&t, &reader, path, message).await["alerts"].clone();
    let built_in = built_in.as_array().unwrap();
    assert_eq!(built_in.len(), 25);
    assert_eq!(
        built_in[0],
        json!({"name": "BackupEncryptionDisabled", "severity": "warning", "service": "backup"})
    );
    assert_eq!(built_in[2], json!({"name": "CertExpired", "severity": "critical"}));
    let (c, foreign) = (client(&t, tree.customer).await, client(&t, tree.other_customer).await);
    over(&c, json!({"alertname": "AOwn", "severity": "critical"}), -9, -8).await;
    over(&c, json!({"alertname": "ZNone"}), -9, -8).await;
    over(&c, json!({"alertname": "WanDown", "severity": "info"}), -9, -8).await;
    over(&foreign, json!({"alertname": "Foreign"}), -9, -8).await;
    t.advance(MINUTE);
    let d = client(&t, tree.reseller).await;
    over(&d, json!({"alertname": "AOwn", "severity": "info"}), -9, -8).await;
    let names = data(&t, &reader, path, message).await["alerts"].clone();
    let names = names.as_array().unwrap();
    assert_eq!(names.len(), 27);
    assert_eq!(names[0], json!({"name": "AOwn", "severity": "info"}));
    assert_eq!(names[25]["severity"], "critical", "what is configured stays: {}", names[25]);
    assert_eq!(names[26], json!({"name": "ZNone", "severity": "info"}));
});

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_of_a_remote_router_are_cached_and_marked_as_stale() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let t = Test::start(engine, |_| {}).await;
        let upstream = obliging().await;
        let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
        let tree = p.tree().await;
        let owner = p.owner().await;
        let c = client(&p, tree.customer).await;
        c.push(r#"[{"labels":{"alertname":"A"},"endsAt":"2099-01-01T00:00:00Z"}]"#).await.expect(200);
        written(&p).await;
        let alert = |severity: &str, silenced: bool| {
            let silence_ids =
                if silenced { json!(["0195fada-0000-4000-8000-00000000dead"]) } else { json!([]) };
            json!({"labels": {"alertname": severity, "severity": severity, "system_key": c.system.key,
                "organization_id": tree.customer.to_string()}, "fingerprint": "3d877aa4db064864",
                "startsAt": timestamp(0), "endsAt": timestamp(600), "updatedAt": timestamp(0),
                "annotations": {}, "receivers": [],
                "status": {"state": if silenced { "suppressed" } else { "active" }, "silencedBy": silence_ids,
                    "inhibitedBy": []}})
        };
        let alerts = json!([alert("critical", false), alert("warning", true), alert("odd", false)]);
        upstream.answer_by(move |_| Answer::json(200, &alerts));
        let totals = async || get(&p, &owner, "/alerts/totals").await.expect(200).data();
        assert_eq!(totals().await["active"], 0, "not asked yet");
        assert_eq!(alerts::manage::refresh_totals(&p.app.alerts).await.unwrap(), Some(1));
        let expected = |warnings: Value| {
            json!({"active": 3, "critical": 1, "warning": 1, "info": 1, "muted": 1, "history": 0,
                "warnings": warnings})
        };
        assert_eq!(totals().await, expected(json!([])));
        p.advance(5 * MINUTE + Duration::from_secs(2));
        upstream.answer_by(|_| Answer::status(500));
        assert_eq!(alerts::manage::refresh_totals(&p.app.alerts).await.unwrap(), Some(0));
        let stale = "totals: stale data, oldest refresh 5m2s ago";
        assert_eq!(totals().await, expected(json!([stale])));
    }
}

api_test!(statistics_take_turns, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let customer = t.user(tree.customer, &["admin"]).await;
    let stats =
        async |who: &Persona| data(&t, who, "/alerts/stats", "alerts stats retrieved successfully").await;
    let state = &t.app.alerts.state;
    let own = state.hold_statistics(owner.org).await.unwrap();
    let mut request = std::pin::pin!(stats(&owner));
    let early = tokio::time::timeout(Duration::from_millis(200), &mut request).await;
    assert!(early.is_err(), "those of the same organization are being made");
    assert_eq!(stats(&customer).await["total"], 0, "other callers do not wait for that");
    // Two in all.
    let other = state.hold_statistics(tree.reseller).await.unwrap();
    assert!(state.hold_statistics(tree.distributor).await.is_err());
    // A request for the kept totals does not wait.
    get(&t, &owner, "/alerts/totals").await.expect(200);
    drop((own, other));
    assert_eq!(request.await["total"], 0);
});
