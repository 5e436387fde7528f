//! Applications that follow from the modules in a document (spec: applications#intake, inventory-documents#samples;
//! guarantees#systems rules 22, 41).

use super::*;

// Proves spec: acceptance#scenarios 30.
api_test!(the_sample_yields_what_the_contract_says, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    let receipt = t.app.platform.now();
    send(&t, &s, NS8).await;
    let (rows, facing): (i64, i64) = Q::new(
        "SELECT CAST(COUNT(*) AS BIGINT), CAST(SUM(CASE WHEN is_user_facing THEN 1 ELSE 0 END) AS BIGINT) \
         FROM applications",
    )
    .one(&t.app.platform.db)
    .await
    .unwrap();
    assert_eq!((rows, facing), (39, 25));
    let totals = get(&t, &c, "/applications/totals").await;
    let totals = totals.expect_message(200, "application totals retrieved successfully").data();
    let by_type = json!({"ejabberd": 1, "imapsync": 1, "mail": 1, "mattermost": 1, "nethvoice": 1,
        "nethvoice-proxy": 1, "nextcloud": 1, "piler": 1, "roundcubemail": 1, "webserver": 14, "webtop": 1});
    let expected = json!({"total": 24, "unassigned": 24, "assigned": 0, "with_errors": 0, "by_type": by_type,
        "by_status": {"assigned": 0, "unassigned": 24}});
    assert_eq!(totals, expected);
    let list = data(&t, &c, "/applications?page_size=100&sort_by=module_id").await;
    assert_eq!(list["applications"].as_array().unwrap().len(), 24);
    assert!(!list.to_string().contains("dokuwiki"));
    let mut item = by_module(&t, &c, "").await.remove("nextcloud1").unwrap();
    let (id, received_at) = (item["id"].as_str().unwrap().to_owned(), receipt.to_string());
    let words = [
        (id.as_str(), "[id]"),
        (&*s.id.to_string(), "[system]"),
        (&*received_at, "[receipt]"),
        (item["system"]["name"].clone().as_str().unwrap(), "[system name]"),
    ]
    .map(|(a, b)| (a.to_owned(), b));
    let words: Vec<(&str, &str)> = words.iter().map(|(a, b)| (a.as_str(), *b)).collect();
    item = steady(item, &words);
    insta::assert_json_snapshot!("application_item", item);
    let shown = get(&t, &c, &format!("/applications/{id}")).await;
    let shown = shown.expect_message(200, "application retrieved successfully").data();
    insta::assert_json_snapshot!("application", steady(shown, &words));
    // The older form of an id; one that is not listed can be read all the same.
    let older = data(&t, &c, &format!("/applications/{}-dokuwiki1", s.id)).await;
    assert_eq!((&older["module_id"], &older["is_user_facing"]), (&json!("dokuwiki1"), &json!(true)));
    figures_are_true(&t).await;
    // The other family lists none.
    let firewall = t.system(tree.customer).await;
    let nsec = include_bytes!("../../../crates/inventory/tests/data/inventory-nsec.json");
    send(&t, &firewall, nsec.as_slice()).await;
    assert_eq!(total(&t, &c, "").await, 24);
});

// Proves spec: guarantees#systems 41.
api_test!(an_application_keeps_its_id_notes_and_assignment_while_it_is_away, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    send(&t, &s, cluster(json!([module("mail1", "mail"), module("web1", "web")]))).await;
    let before = id_of(&t, &c, "mail1").await;
    put(&t, &c, &before, json!({"notes": "kept"})).await.expect(200);
    assign(&t, &c, &before, tree.customer).await.expect(200);
    t.advance(Duration::from_secs(60));
    send(&t, &s, cluster(json!([module("web1", "web")]))).await;
    get(&t, &c, &format!("/applications/{before}")).await.expect_message(404, "application not found");
    assert_eq!(total(&t, &c, "").await, 1);
    figures_are_true(&t).await;
    t.advance(Duration::from_secs(60));
    send(&t, &s, cluster(json!([module("web1", "web"), module("mail1", "mail")]))).await;
    let after = data(&t, &c, &format!("/applications/{before}")).await;
    assert_eq!((&after["notes"], &after["status"]), (&json!("kept"), &json!("assigned")));
    assert_eq!(after["organization"]["id"], json!(tree.customer));
    assert_eq!(
        (&after["last_inventory_at"], &after["updated_at"]),
        (&json!(t.app.platform.now()), &json!(t.app.platform.now()))
    );
    assert!(after["first_seen_at"] != after["last_inventory_at"]);
    figures_are_true(&t).await;
});

api_test!(only_what_changes_is_written, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    let first = t.app.platform.now();
    let document = |version: &str, users: u64| {
        let mut cloud = module("cloud1", "nextcloud");
        cloud["version"] = json!(version);
        cloud["active_users"] = json!(users);
        cluster(json!([cloud, module("web1", "web")]))
    };
    send(&t, &s, document("1.0", 1)).await;
    let shown = async || {
        let rows = by_module(&t, &c, "").await;
        let row = rows["cloud1"].clone();
        let detail = data(&t, &c, &format!("/applications/{}", row["id"].as_str().unwrap())).await;
        (detail["updated_at"].clone(), detail["last_inventory_at"].clone(), detail)
    };
    // The same again: only the time.
    t.advance(Duration::from_secs(60));
    send(&t, &s, document("1.0", 1)).await;
    let (updated, last_seen, _) = shown().await;
    assert_eq!((updated, last_seen), (json!(first), json!(t.app.platform.now())));
    // Figures are stored, but are no change of the application.
    t.advance(Duration::from_secs(60));
    send(&t, &s, document("1.0", 2)).await;
    let (updated, last_seen, detail) = shown().await;
    assert_eq!((updated, last_seen), (json!(first), json!(t.app.platform.now())));
    assert_eq!(detail["inventory_data"], json!({"active_users": 2, "certification_level": 4}));
    t.advance(Duration::from_secs(60));
    send(&t, &s, document("1.1", 2)).await;
    let (updated, last_seen, detail) = shown().await;
    assert_eq!(
        (updated, last_seen, &detail["version"]),
        (json!(t.app.platform.now()), json!(t.app.platform.now()), &json!("1.1"))
    );
    let other = by_module(&t, &c, "").await["web1"]["id"].as_str().unwrap().to_owned();
    assert_eq!(data(&t, &c, &format!("/applications/{other}")).await["updated_at"], json!(first));
    figures_are_true(&t).await;
    // A document without modules leaves them as they are.
    for body in [
        cluster(json!([])),
        cluster(json!([null, {"id": "x"}])),
        b"{\"installation\":\"nethserver\",\"facts\":null}".to_vec(),
    ] {
        t.advance(Duration::from_secs(60));
        send(&t, &s, body).await;
        let (_, seen_now, _) = shown().await;
        assert!(seen_now != json!(t.app.platform.now()));
        assert_eq!(total(&t, &c, "").await, 2);
    }
});

api_test!(names_that_are_missing_are_kept, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    let mut full = module("mail1", "mail");
    full["ui_name"] = json!("Post");
    send(&t, &s, cluster(json!([full]))).await;
    t.advance(Duration::from_secs(60));
    let bare = json!({"id": "mail1", "module": "mail", "ui_name": "", "certification_level": 4});
    send(&t, &s, cluster(json!([bare]))).await;
    let row = by_module(&t, &c, "").await["mail1"].clone();
    let texts = ["name", "source", "display_name"].map(|k| row[k].as_str().unwrap_or("-"));
    assert_eq!(texts, ["mail", "ghcr.io/x", "Post"]);
    assert_eq!((&row["version"], &row["node_id"]), (&Value::Null, &Value::Null));
    figures_are_true(&t).await;
});

// Proves spec: guarantees#organizations 28, guarantees#systems 22.
api_test!(hostile_modules_are_stored_and_never_make_a_read_fail, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    let long = "é".repeat(3000);
    let body = format!(
        "{{\"installation\":\"nethserver\",\"facts\":{{\"cluster\":null,\"nodes\":{{}},\"modules\":[\
         {{\"id\":\"a\\u0000b\",\"module\":\"m\\u0000\",\"certification_level\":5,\"big\":123456789012345678901,\
           \"huge\":1e300,\"version\":\"{long}\",\"name\":\"{long}\",\"ui_name\":\"{long}\",\"node\":\"99999999999999999999\"}},\
         {{\"id\":\"str\",\"module\":\"m\",\"certification_level\":\"5\"}},\
         {{\"id\":\"frac\",\"module\":\"m\",\"certification_level\":4.5}},\
         {{\"id\":\"six\",\"module\":\"m\",\"certification_level\":6}},\
         {{\"id\":\"ok\",\"module\":\"m\",\"certification_level\":4,\"version\":7,\"user_domains\":[[],null]}}]}}}}"
    );
    send(&t, &s, body).await;
    let (quarantined,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM inventory_queue").one(&t.app.platform.db).await.unwrap();
    assert_eq!(quarantined, 0);
    let text = get(&t, &c, "/applications?sort_by=version").await.expect(200).text();
    assert!(text.contains("\"big\":123456789012345678901") && text.contains("\"huge\":1e300"));
    let rows = by_module(&t, &c, "").await;
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["a\u{fffd}b", "ok"]);
    assert_eq!(rows["a\u{fffd}b"]["version"].as_str().unwrap().chars().count(), 255);
    // 02 rule 28: one level that is none affects no list, count or filter.
    for path in
        ["/applications/totals", "/applications/summary", "/filters/applications", "/applications/trend"]
    {
        get(&t, &c, path).await.expect(200);
    }
    let summary = data(&t, &c, "/applications/summary").await;
    assert_eq!(summary["total"], 2);
    assert_eq!(summary["by_type"][0]["name"].as_str().unwrap(), "m");
    assert_eq!(summary["by_type"][1]["name"].as_str().unwrap(), long);
    // No reader of JSON is sure to take this one, yet it comes out as it went in.
    let huge = r#"{"installation":"nethserver","facts":{"modules":[{"id":"h","module":"m","certification_level":4,"x":1e999999}]}}"#;
    send(&t, &s, huge).await;
    assert!(get(&t, &c, "/applications").await.expect(200).text().contains("\"x\":1e999999"));
    figures_are_true(&t).await;
});

api_test!(a_thousand_modules, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    let many: Vec<Value> =
        (0..1001).map(|n| module(&format!("m{n:04}"), &format!("kind{}", n % 3))).collect();
    send(&t, &s, cluster(json!(many))).await;
    assert_eq!(total(&t, &c, "").await, 1001);
    figures_are_true(&t).await;
    send(&t, &s, cluster(json!(many[..1]))).await;
    assert_eq!(total(&t, &c, "").await, 1);
    figures_are_true(&t).await;
});

api_test!(a_name_known_only_from_the_row_makes_the_address, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    let body = json!({"installation": "nethserver", "facts": {"cluster": {}, "modules": [module("web1", "web")],
        "nodes": {"1": {"fqdn": "leader.example", "cluster_leader": true, "ui_name": "Rack"}}}});
    send(&t, &s, body.to_string()).await;
    let row = by_module(&t, &c, "").await["web1"].clone();
    assert_eq!(row["url"], "https://leader.example/cluster-admin/#/apps/web1");
    assert_eq!((&row["node_id"], &row["node_label"]), (&json!(1), &json!("Rack")));
    send(
        &t,
        &s,
        json!({"installation": "nethserver", "facts": {"modules": [module("web1", "web")]}}).to_string(),
    )
    .await;
    assert_eq!(
        by_module(&t, &c, "").await["web1"]["url"],
        "https://leader.example/cluster-admin/#/apps/web1"
    );
});
