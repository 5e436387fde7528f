//! What management reads of a system's inventory (spec: inventory#reads).

use super::*;
use bailiwick_domain::Ts;

async fn get(t: &Test, who: &Persona, id: SystemId, rest: &str) -> Reply {
    t.get(&format!("/api/systems/{id}/inventory{rest}")).bearer(&who.token).send().await
}

async fn data(t: &Test, who: &Persona, id: SystemId, rest: &str) -> Value {
    get(t, who, id, rest).await.expect(200).data()
}

async fn process(t: &Test, s: &Seeded, document: &Value) {
    t.advance(Duration::from_secs(1));
    send(t, s, document.to_string()).await.expect(202);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
}

/// A cluster with two nodes; each call passes its differences.
fn cluster(edit: impl FnOnce(&mut Value)) -> Value {
    let mut document = json!({"installation": "nethserver", "facts": {
        "cluster": {"ui_name": "Ünïted 50%_A"},
        "nodes": {"1": {"ui_name": "Rack A", "version": "3.1.0", "cluster_leader": true},
            "2": {"ui_name": "Rack B", "version": "3.1.0"}},
        "modules": [{"id": "mail1", "module": "mail", "version": "1.0.0"}],
        "memory": {"installed": 9_007_199_254_740_993_i64}}});
    edit(&mut document["facts"]);
    document
}

/// Three records: a new module and version, then a node gone and the cluster renamed.
async fn three_records(t: &Test, s: &Seeded) {
    process(t, s, &cluster(|_| ())).await;
    process(
        t,
        s,
        &cluster(|facts| {
            facts["modules"][0]["version"] = "1.1.0".into();
            facts["modules"]
                .as_array_mut()
                .unwrap()
                .insert(0, json!({"id": "New1", "module": "x", "n": 1.50}));
        }),
    )
    .await;
    process(
        t,
        s,
        &cluster(|facts| {
            facts["modules"][0]["version"] = "1.1.0".into();
            facts["modules"]
                .as_array_mut()
                .unwrap()
                .insert(0, json!({"id": "New1", "module": "x", "n": 1.50}));
            facts["nodes"].as_object_mut().unwrap().remove("2");
            facts["cluster"]["ui_name"] = "other \"name\"".into();
        }),
    )
    .await;
}

/// Ids of a list.
fn ids(list: &Value) -> Vec<i64> {
    list.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|row| row["field_path"].as_str().unwrap()).collect()
}

// Proves spec: clients#checklist 18.
api_test!(without_any_inventory, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    for path in ["/latest", "/changes", "/changes/latest"] {
        let reply = get(&t, &owner, s.id, path).await.expect_message(200, "no inventory available");
        assert_eq!(reply.data(), Value::Null);
    }
    let pagination = json!({"page": 1, "page_size": 20, "total_count": 0, "total_pages": 0, "has_next": false,
        "has_prev": false});
    let history = get(&t, &owner, s.id, "").await;
    let history = history.expect_message(200, "inventory history retrieved successfully").data();
    assert_eq!(history, json!({"records": [], "pagination": pagination}));
    let diffs = get(&t, &owner, s.id, "/diffs").await;
    let diffs = diffs.expect_message(200, "inventory diffs retrieved successfully").data();
    assert_eq!(diffs, json!({"diffs": [], "pagination": pagination}));
    let latest = get(&t, &owner, s.id, "/diffs/latest").await;
    let latest = latest.expect_message(200, "latest inventory diffs retrieved successfully").data();
    assert_eq!(latest, json!({"diffs": [], "count": 0}));
    let timeline = get(&t, &owner, s.id, "/timeline").await;
    let timeline = timeline.expect_message(200, "inventory timeline retrieved successfully").data();
    let summary = json!({"total": 0, "critical": 0, "high": 0, "medium": 0, "low": 0});
    assert_eq!(timeline, json!({"summary": summary, "groups": [], "pagination": pagination}));
});

// Proves spec: acceptance#scenarios 28.
api_test!(the_history_newest_first, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let start = t.app.platform.now();
    three_records(&t, &s).await;
    let history = data(&t, &owner, s.id, "").await;
    let records = history["records"].as_array().unwrap();
    let numbers = ids(&history["records"]);
    assert!(numbers.len() == 3 && numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    let times: Vec<Ts> = (1..4).rev().map(|n| start.plus(Duration::from_secs(n))).collect();
    assert_eq!(
        records.iter().map(|r| r["timestamp"].clone()).collect::<Vec<_>>(),
        times.iter().map(|time| json!(time)).collect::<Vec<_>>()
    );
    assert_eq!(
        records.iter().map(|r| r["change_count"].clone()).collect::<Vec<_>>(),
        [json!(2), json!(2), json!(0)]
    );
    assert_eq!(records[2]["data"], cluster(|_| ()));
    for record in records {
        assert_eq!(*record, data(&t, &owner, s.id, &format!("/{}", record["id"])).await);
    }
    assert_eq!(records[0], data(&t, &owner, s.id, "/latest").await);
    assert_eq!(history["pagination"]["total_count"], 3);
    // Pages, also past the end; only the record's own data without the documents.
    let page = data(&t, &owner, s.id, "?page=2&page_size=2").await;
    assert_eq!((ids(&page["records"]), &page["pagination"]["total_count"]), (vec![numbers[2]], &json!(3)));
    assert!(page["pagination"].get("sort_by").is_none());
    let page = data(&t, &owner, s.id, "?page=18446744073709551615&page_size=1000").await;
    assert_eq!((&page["records"], &page["pagination"]["page_size"]), (&json!([]), &json!(100)));
    let meta = data(&t, &owner, s.id, "?fields=meta").await;
    let mut without = records.clone();
    without.iter_mut().for_each(|record| drop(record.as_object_mut().unwrap().remove("data")));
    assert_eq!(meta["records"], json!(without));
    // Dates act on the record's timestamp; an end without a fraction includes its second; other values are ignored.
    let second = times[1].rfc3339(0);
    for (query, expected) in [
        (format!("?from_date={second}"), vec![numbers[0], numbers[1]]),
        (format!("?to_date={second}"), vec![numbers[1], numbers[2]]),
        (format!("?from_date={second}&to_date={second}"), vec![numbers[1]]),
        (format!("?to_date={}", &second[..10]), numbers.clone()),
        (format!("?from_date={}", &second[..10]), numbers.clone()),
        ("?to_date=2001-01-01".to_owned(), vec![]),
        ("?from_date=nonsense&to_date=".to_owned(), numbers.clone()),
        ("?from_date=-009999-01-01T00:00:00Z&to_date=9999-12-31".to_owned(), numbers.clone()),
    ] {
        assert_eq!(ids(&data(&t, &owner, s.id, &query).await["records"]), expected, "{query}");
    }
});

api_test!(one_record, |t| async move {
    let tree = t.tree().await;
    let (owner, s, other) = (t.owner().await, t.system(tree.customer).await, t.system(tree.customer).await);
    process(&t, &s, &cluster(|_| ())).await;
    process(&t, &other, &cluster(|_| ())).await;
    let id = data(&t, &owner, s.id, "/latest").await["id"].as_i64().unwrap();
    let reply = get(&t, &owner, s.id, &format!("/{id}")).await;
    reply.expect_message(200, "inventory record retrieved successfully");
    for bad in ["0", "-1", "x", "1.5", "99999999999999999999", "%00"] {
        let reply =
            get(&t, &owner, s.id, &format!("/{bad}")).await.expect_message(400, "invalid inventory ID");
        assert_eq!(reply.data(), Value::Null);
    }
    for absent in [id + 1, id + 1000, i64::MAX] {
        let reply = get(&t, &owner, s.id, &format!("/{absent}")).await;
        assert_eq!(reply.expect_message(404, "inventory record not found").data(), Value::Null);
    }
});

// Proves spec: guarantees#systems 8.
api_test!(who_may_not_read_the_system_sees_nothing_of_its_inventory, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    process(&t, &s, &cluster(|_| ())).await;
    let number = data(&t, &owner, s.id, "/latest").await["id"].clone();
    let stranger = t.user(tree.other_customer, &["reader"]).await;
    let deleted = t.system(tree.customer).await;
    t.delete(&format!("/api/systems/{}", deleted.id)).bearer(&owner.token).send().await.expect(200);
    for rest in ["", "/latest", "/changes", "/changes/latest", "/diffs", "/diffs/latest", "/timeline", "/x"] {
        let foreign = get(&t, &stranger, s.id, rest).await.expect_message(404, "system not found");
        let absent = get(&t, &stranger, SystemId(t.app.platform.fresh()), rest).await.expect(404);
        assert_eq!(foreign.body, absent.body, "{rest}");
        get(&t, &owner, deleted.id, rest).await.expect_message(404, "system not found");
        let malformed = t.get(&format!("/api/systems/nonsense/inventory{rest}")).bearer(&owner.token);
        malformed.send().await.expect_message(404, "system not found");
    }
    get(&t, &stranger, s.id, &format!("/{number}")).await.expect_message(404, "system not found");
});

// Proves spec: acceptance#scenarios 28, guarantees#systems 31.
api_test!(differences_as_native_values, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    three_records(&t, &s).await;
    let records = ids(&data(&t, &owner, s.id, "?fields=meta").await["records"]);
    let mut list = data(&t, &owner, s.id, "/diffs").await;
    let numbers = ids(&list["diffs"]);
    // Newest batch first, inside of it by number.
    assert!(numbers[0] < numbers[1] && numbers[1] > numbers[2] && numbers[2] < numbers[3], "{numbers:?}");
    for diff in list["diffs"].as_array_mut().unwrap() {
        let newer = diff["current_id"] == json!(records[0]);
        assert_eq!(diff["inventory_id"], diff["current_id"]);
        assert_eq!(diff["previous_inventory_id"], diff["previous_id"]);
        assert_eq!(diff["previous_id"], json!(records[if newer { 1 } else { 2 }]));
        assert_eq!(diff["system_id"], json!(s.id));
        for key in [
            "id",
            "system_id",
            "inventory_id",
            "previous_inventory_id",
            "current_id",
            "previous_id",
            "created_at",
        ] {
            diff[key] = json!(format!("checked {key}"));
        }
    }
    insta::assert_json_snapshot!("inventory_diffs", list);
    // The texts of numbers, too, are as they were received.
    let text = get(&t, &owner, s.id, "/diffs?search=new1").await.expect(200).text();
    assert!(text.contains(r#""current_value":{"id":"New1","module":"x","n":1.5}"#), "{text}");
});

// Proves spec: guarantees#systems 30.
api_test!(large_integers_over_the_wire, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    for number in ["9007199254740993", "9007199254740992", "1e400", "12345678901234567890123"] {
        t.advance(Duration::from_secs(1));
        send(&t, &s, format!("{{\"n\":{number}}}")).await.expect(202);
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
    }
    let text = get(&t, &owner, s.id, "/diffs").await.expect(200).text();
    for (previous, current) in [
        ("9007199254740993", "9007199254740992"),
        ("9007199254740992", "1e400"),
        ("1e400", "12345678901234567890123"),
    ] {
        let expected = format!("\"previous_value\":{previous},\"current_value\":{current},");
        assert!(text.contains(&expected), "{expected} {text}");
    }
    let text = get(&t, &owner, s.id, "").await.expect(200).text();
    assert!(text.contains("\"data\":{\"n\":12345678901234567890123}"), "{text}");
});

// Proves spec: acceptance#scenarios 28.
api_test!(filters_of_differences, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let start = t.app.platform.now();
    three_records(&t, &s).await;
    let records = ids(&data(&t, &owner, s.id, "?fields=meta").await["records"]);
    let (added, renamed) = ("facts.modules.New1", "facts.cluster.ui_name");
    let (version, gone) = ("facts.modules.mail1.version", "facts.nodes.Rack B");
    let all = vec![gone, renamed, added, version];
    let second = |n| start.plus(Duration::from_secs(n)).rfc3339(0);
    for (query, expected) in [
        (String::new(), all.clone()),
        ("severity=critical".into(), vec![gone]),
        ("severity=critical&severity=medium".into(), vec![gone, renamed]),
        ("severity=high&category=modules".into(), vec![added, version]),
        ("category=cluster&category=nodes".into(), vec![gone, renamed]),
        ("diff_type=create".into(), vec![added]),
        ("diff_type=delete&diff_type=create".into(), vec![gone, added]),
        (format!("inventory_id={}", records[1]), vec![added, version]),
        (format!("inventory_id={}&inventory_id={}", records[0], records[1]), all.clone()),
        (format!("inventory_id={}", records[2]), vec![]),
        (format!("from_date={}", second(3)), vec![gone, renamed]),
        (format!("to_date={}", second(2)), vec![added, version]),
        // A value without a meaning matches nothing, and never widens the result.
        ("severity=urgent".into(), vec![]),
        ("severity=".into(), vec![]),
        ("category=Modules".into(), vec![]),
        ("diff_type=move".into(), vec![]),
        ("inventory_id=x".into(), vec![]),
        // In the path or either value, ignoring case, wildcards taken literally.
        ("search=rack%20b".into(), vec![gone]),
        ("search=NEW1".into(), vec![added]),
        ("search=1.0.0".into(), vec![version]),
        ("search=%C3%BCN%C3%8FTED".into(), vec![renamed]),
        ("search=50%25_a".into(), vec![renamed]),
        ("search=5%25a".into(), vec![]),
        ("search=facts_modules".into(), vec![]),
        ("search=OTHER".into(), vec![renamed]),
        ("search=%00".into(), vec![]),
        ("search=%1F".into(), vec![]),
        ("search=%20".into(), all.clone()),
        (format!("search={}", "x".repeat(5000)), vec![]),
        ("page_size=1&page=2".into(), vec![renamed]),
        ("page_size=3&page=2".into(), vec![version]),
        ("page=9".into(), vec![]),
    ] {
        let answer = data(&t, &owner, s.id, &format!("/diffs?{query}")).await;
        assert_eq!(paths(&answer["diffs"]), expected, "{query}");
        if !query.contains("page") {
            assert_eq!(answer["pagination"]["total_count"], expected.len(), "{query}");
        }
    }
    let many = "severity=high&".repeat(1001);
    get(&t, &owner, s.id, &format!("/diffs?{many}")).await.expect_message(400, "too many filter values");
});

api_test!(the_latest_batch, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    three_records(&t, &s).await;
    let newest = ids(&data(&t, &owner, s.id, "?fields=meta").await["records"])[0];
    let batch = data(&t, &owner, s.id, "/diffs/latest").await;
    assert_eq!((&batch["count"], &batch["current_inventory_id"]), (&json!(2), &json!(newest)));
    assert_eq!(paths(&batch["diffs"]), ["facts.nodes.Rack B", "facts.cluster.ui_name"]);
    // A record without changes has no batch.
    process(
        &t,
        &s,
        &cluster(|facts| {
            facts["modules"][0]["version"] = "1.1.0".into();
            facts["modules"].as_array_mut().unwrap().push(json!({"id": "New1", "module": "x", "n": 1.5}));
            facts["nodes"].as_object_mut().unwrap().remove("2");
            facts["cluster"]["ui_name"] = "other \"name\"".into();
            facts["uptime_seconds"] = json!(5);
        }),
    )
    .await;
    assert_eq!(data(&t, &owner, s.id, "?fields=meta").await["pagination"]["total_count"], 4);
    assert_eq!(data(&t, &owner, s.id, "/diffs/latest").await, batch);
});

// Proves spec: guarantees#systems 35.
api_test!(summaries_and_alerts, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    process(&t, &s, &cluster(|_| ())).await;
    let first = t.app.platform.now();
    let nothing = json!({"system_id": s.id, "total_changes": 0, "recent_changes": 0, "last_inventory_time": first,
        "has_critical_changes": false, "has_alerts": false, "changes_by_category": {}, "changes_by_severity": {}});
    for path in ["/changes", "/changes/latest"] {
        assert_eq!(data(&t, &owner, s.id, path).await, nothing);
    }
    process(&t, &s, &cluster(|facts| facts["modules"][0]["version"] = "1.1.0".into())).await;
    t.advance(Duration::from_secs(24 * 3600));
    // A session does not last that long.
    let owner = t.owner().await;
    process(
        &t,
        &s,
        &cluster(|facts| {
            facts["modules"][0]["version"] = "1.1.0".into();
            facts["nodes"].as_object_mut().unwrap().remove("2");
            facts["cluster"]["ui_name"] = "x".into();
        }),
    )
    .await;
    let now = t.app.platform.now();
    let changes = get(&t, &owner, s.id, "/changes").await;
    let changes = changes.expect_message(200, "changes summary retrieved successfully").data();
    assert_eq!(
        changes,
        json!({"system_id": s.id, "total_changes": 3, "recent_changes": 2, "last_inventory_time": now,
        "has_critical_changes": true, "has_alerts": true,
        "changes_by_category": {"cluster": 1, "modules": 1, "nodes": 1},
        "changes_by_severity": {"critical": 1, "high": 1, "medium": 1}})
    );
    let latest = get(&t, &owner, s.id, "/changes/latest").await;
    let latest = latest.expect_message(200, "latest inventory changes summary retrieved successfully").data();
    assert_eq!(
        latest,
        json!({"system_id": s.id, "total_changes": 2, "recent_changes": 2, "last_inventory_time": now,
        "has_critical_changes": true, "has_alerts": true, "changes_by_category": {"cluster": 1, "nodes": 1},
        "changes_by_severity": {"critical": 1, "medium": 1}})
    );
    // A later record has no alert of its own; the system has one until the node is back.
    process(
        &t,
        &s,
        &cluster(|facts| {
            facts["modules"][0]["version"] = "1.2.0".into();
            facts["nodes"].as_object_mut().unwrap().remove("2");
            facts["cluster"]["ui_name"] = "x".into();
        }),
    )
    .await;
    assert_eq!(data(&t, &owner, s.id, "/changes/latest").await["has_alerts"], false);
    assert_eq!(data(&t, &owner, s.id, "/changes").await["has_alerts"], true);
    process(&t, &s, &cluster(|facts| facts["cluster"]["ui_name"] = "x".into())).await;
    let changes = data(&t, &owner, s.id, "/changes").await;
    assert_eq!((&changes["has_alerts"], &changes["has_critical_changes"]), (&json!(false), &json!(true)));
});

api_test!(an_alert_ends_after_thirty_days, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    process(&t, &s, &cluster(|_| ())).await;
    process(&t, &s, &cluster(|facts| drop(facts["nodes"].as_object_mut().unwrap().remove("2")))).await;
    for (days, alert) in [(29, true), (1, false)] {
        t.advance(Duration::from_secs(days * 24 * 3600));
        let who = t.owner().await;
        for path in ["/changes", "/changes/latest"] {
            assert_eq!(data(&t, &who, s.id, path).await["has_alerts"], alert, "{path}");
        }
    }
});

// Proves spec: guarantees#systems 33.
api_test!(the_timeline_adds_up_and_shows_what_is_thinned_out, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    process(&t, &s, &cluster(|_| ())).await;
    let first = t.app.platform.now().rfc3339(0)[..10].to_owned();
    let day = Duration::from_secs(24 * 3600);
    t.advance(day);
    process(&t, &s, &cluster(|facts| facts["modules"][0]["version"] = "1.1.0".into())).await;
    let second = t.app.platform.now().rfc3339(0)[..10].to_owned();
    process(
        &t,
        &s,
        &cluster(|facts| {
            facts["modules"][0]["version"] = "1.1.0".into();
            facts["nodes"].as_object_mut().unwrap().remove("2");
        }),
    )
    .await;
    t.advance(day);
    process(
        &t,
        &s,
        &cluster(|facts| {
            facts["modules"][0]["version"] = "1.1.0".into();
            facts["nodes"].as_object_mut().unwrap().remove("2");
            facts["uptime_seconds"] = json!(1);
        }),
    )
    .await;
    let third = t.app.platform.now().rfc3339(0)[..10].to_owned();
    let owner = if first == third { owner } else { t.owner().await };
    let mut records = ids(&data(&t, &owner, s.id, "?fields=meta").await["records"]);
    records.reverse();
    let summary = |numbers: [i64; 5]| {
        let [total, critical, high, medium, low] = numbers;
        json!({"total": total, "critical": critical, "high": high, "medium": medium, "low": low})
    };
    let group = |date: &str, changes: i64, of_day: &[i64]| json!({"date": date, "inventory_count": of_day.len(), "change_count": changes, "inventory_ids": of_day});
    let timeline = data(&t, &owner, s.id, "/timeline").await;
    let third_group = group(&third, 0, &records[3..]);
    let groups = [third_group.clone(), group(&second, 2, &records[1..3]), group(&first, 0, &records[..1])];
    assert_eq!((&timeline["summary"], &timeline["groups"]), (&summary([2, 1, 1, 0, 0]), &json!(groups)));
    assert_eq!(timeline["pagination"]["total_count"], 3);
    // Filters leave the dates with something that passes; ranges act on records and differences alike.
    for (query, numbers, expected) in [
        ("severity=high".to_owned(), [1, 0, 1, 0, 0], vec![group(&second, 1, &records[1..3])]),
        ("category=os".to_owned(), [0; 5], vec![]),
        ("search=rack".to_owned(), [1, 1, 0, 0, 0], vec![group(&second, 1, &records[1..3])]),
        (format!("from_date={third}"), [0; 5], vec![third_group.clone()]),
        (format!("to_date={first}"), [0; 5], vec![groups[2].clone()]),
        ("page_size=1&page=2".to_owned(), [2, 1, 1, 0, 0], vec![groups[1].clone()]),
        ("page=7".to_owned(), [2, 1, 1, 0, 0], vec![]),
    ] {
        let answer = data(&t, &owner, s.id, &format!("/timeline?{query}")).await;
        assert_eq!((&answer["summary"], &answer["groups"]), (&summary(numbers), &json!(expected)), "{query}");
    }
    // Thinned out: the day keeps its changes, the differences lose their references.
    change(&t, Q::new("DELETE FROM inventory_records WHERE id IN (?, ?)").bind(records[1]).bind(records[2]))
        .await;
    let timeline = data(&t, &owner, s.id, "/timeline").await;
    let sum: i64 =
        timeline["groups"].as_array().unwrap().iter().map(|g| g["change_count"].as_i64().unwrap()).sum();
    assert_eq!((&timeline["summary"]["total"], sum), (&json!(2), 2));
    assert_eq!(timeline["groups"][1], group(&second, 2, &[]));
    let list = data(&t, &owner, s.id, "/diffs").await;
    for diff in list["diffs"].as_array().unwrap() {
        assert_eq!((&diff["inventory_id"], &diff["current_id"]), (&json!(0), &json!(0)));
    }
    assert_eq!(list["diffs"][0]["previous_inventory_id"], Value::Null);
    assert_eq!(list["diffs"][1]["previous_inventory_id"], json!(records[0]));
    let batch = data(&t, &owner, s.id, "/diffs/latest").await;
    assert!(batch.get("current_inventory_id").is_none() && batch["count"] == 1, "{batch}");
});

// Proves spec: guarantees#systems 32.
api_test!(the_history_is_bounded, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    // Three portions; text that changes everywhere, so that none fits a base.
    let large = |n: usize| json!({"n": n, "text": format!("{n}").repeat(1_500_000)});
    for n in 0..3 {
        process(&t, &s, &large(n)).await;
    }
    let history = data(&t, &owner, s.id, "").await;
    assert_eq!(ids(&history["records"]).len(), 3);
    assert_eq!(history["records"][1]["data"], large(1));
    let diffs = data(&t, &owner, s.id, "/diffs").await;
    assert_eq!(diffs["pagination"]["total_count"], 4);
    assert_eq!(ids(&diffs["diffs"]).len(), 4);
    // A request without the documents reads none: a damaged one does not matter.
    change(
        &t,
        Q::new("UPDATE inventory_records SET body = ? WHERE system_id = ?").bind(vec![1_u8]).bind(s.id),
    )
    .await;
    assert_eq!(ids(&data(&t, &owner, s.id, "?fields=meta").await["records"]).len(), 3);
    let reply = get(&t, &owner, s.id, "").await.expect_message(500, "failed to retrieve inventory history");
    assert_eq!(reply.data(), Value::Null);
    get(&t, &owner, s.id, "/latest").await.expect_message(500, "failed to retrieve latest inventory");
});
