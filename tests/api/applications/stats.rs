//! Summary, trend, filters, and the numbers that organizations show (spec: applications#operations; guarantees#systems
//! rule 39; organizations#counts,
//! organizations#filters).

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

// Proves spec: acceptance#scenarios 30.
api_test!(a_summary_counts_types, |t| async move {
    let tree = t.tree().await;
    let (d, s) = (t.user(tree.distributor, &["admin"]).await, t.system(tree.customer).await);
    send(&t, &s, NS8).await;
    let summary = async |query: &str| {
        let reply = get(&t, &d, &format!("/applications/summary{query}")).await;
        reply.expect_message(200, "application type summary retrieved successfully").data()
    };
    let page = summary("?page_size=1&sort_by=count").await;
    let expected = json!({"total": 24, "by_type": [{"instance_of": "webserver", "name": "Web Server", "count": 14}],
        "pagination": {"page": 1, "page_size": 1, "total_count": 11, "total_pages": 11, "has_next": true,
            "has_prev": false, "next_page": 2, "sort_by": "count", "sort_direction": "desc"}});
    assert_eq!(page, expected);
    let all = summary("").await;
    for unknown in ["", "nonsense"] {
        let usual = summary(&format!("?sort_by={unknown}&sort_direction=asc")).await;
        assert_eq!(usual["by_type"], all["by_type"], "{unknown}");
    }
    assert_eq!((all.get("pagination"), all["by_type"].as_array().unwrap().len()), (None, 11));
    let types = |data: &Value| -> Vec<String> {
        let rows = data["by_type"].as_array().unwrap();
        rows.iter().map(|r| r["instance_of"].as_str().unwrap().to_owned()).collect()
    };
    assert!(types(&all)[1..].is_sorted() && types(&all)[0] == "webserver");
    assert!(types(&summary("?sort_by=instance_of&sort_direction=asc").await).is_sorted());
    let last = summary("?page_size=4&page=3&sort_by=instance_of&sort_direction=asc").await;
    assert_eq!(types(&last)[1..], ["webserver", "webtop"]);
    assert_eq!(last["by_type"].as_array().unwrap().len(), 3);
    // Narrowed.
    let id = id_of(&t, &d, "nextcloud1").await;
    assign(&t, &d, &id, tree.customer).await.expect(200);
    let narrow = async |query: &str| summary(&format!("?{query}")).await["total"].as_u64().unwrap();
    assert_eq!(narrow(&format!("system_id={}", s.id)).await, 24);
    assert_eq!(narrow(&format!("organization_id={}", tree.customer)).await, 1);
    assert_eq!(narrow(&format!("organization_id={}", tree.reseller)).await, 0);
    assert_eq!(narrow(&format!("organization_id={}&include_hierarchy=true", tree.reseller)).await, 1);
    let both = format!("organization_id={}&system_id={}&sort_by=created_at", tree.customer, s.id);
    assert_eq!(narrow(&both).await, 1);
    let other = t.system(tree.other_customer).await;
    let unknown = "01950000-0000-7000-8000-000000000000";
    for (key, text, values) in [
        (
            "organization_id",
            "access denied to organization",
            [tree.other_customer.to_string(), unknown.into(), "x".into(), String::new()],
        ),
        (
            "system_id",
            "access denied to system",
            [other.id.to_string(), unknown.into(), "x".into(), String::new()],
        ),
    ] {
        for value in values {
            let reply = get(&t, &d, &format!("/applications/summary?{key}={value}")).await;
            assert_eq!(reply.expect_message(403, text).data(), Value::Null, "{value}");
        }
    }
});

api_test!(a_type_has_the_name_of_its_application_seen_last, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["admin"]).await;
    let systems =
        [t.system(tree.customer).await, t.system(tree.customer).await, t.system(tree.customer).await];
    let named = |name: Value| {
        let mut m = module("mail1", "mail");
        m["name"] = name;
        cluster(json!([m, module("old1", "old")]))
    };
    let name = async || {
        let summary = data(&t, &c, "/applications/summary?sort_by=created_at&page_size=5").await;
        let filters = data(&t, &c, "/filters/applications").await;
        let names = |list: &Value| {
            list.as_array().unwrap().iter().find(|r| r["instance_of"] == "mail").unwrap()["name"].clone()
        };
        assert_eq!(names(&summary["by_type"]), names(&filters["types"]));
        names(&filters["types"])
    };
    for (s, sent, expected) in [
        (&systems[0], json!(null), "mail"),
        (&systems[1], json!("Post"), "Post"),
        (&systems[2], json!("Mail Server"), "Mail Server"),
        (&systems[0], json!(""), "Mail Server"),
        (&systems[1], json!("Post"), "Post"),
    ] {
        t.advance(Duration::from_secs(60));
        send(&t, s, named(sent)).await;
        assert_eq!(name().await, expected);
    }
    figures_are_true(&t).await;
});

// Proves spec: guarantees#systems 39.
api_test!(points_carry_both_spellings_and_end_with_the_total, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    let other = t.system(tree.customer).await;
    for bad in ["8", "x", "07", ""] {
        let reply = get(&t, &c, &format!("/applications/trend?period={bad}")).await;
        let text = "invalid period parameter (supported: 7, 30, 180, 365)";
        assert_eq!(reply.expect_message(400, text).data(), Value::Null);
    }
    send(&t, &s, cluster(json!([module("a1", "a"), module("b1", "b")]))).await;
    t.advance(DAY * 2);
    send(&t, &other, cluster(json!([module("c1", "c")]))).await;
    t.advance(DAY);
    send(&t, &s, cluster(json!([module("a1", "a")]))).await;
    let c = t.session(c.id).await;
    let trend = async |c: &Persona, query: &str| {
        let reply = get(&t, c, &format!("/applications/trend{query}")).await;
        reply.expect_message(200, "applications trend retrieved successfully").data()
    };
    let data7 = trend(&c, "").await;
    let counts = |data: &Value| -> Vec<u64> {
        data["data_points"].as_array().unwrap().iter().map(|p| p["count"].as_u64().unwrap()).collect()
    };
    assert_eq!(counts(&data7), [0, 0, 0, 0, 2, 2, 3, 2]);
    for point in data7["data_points"].as_array().unwrap() {
        assert_eq!((&point["date"], &point["count"]), (&point["Date"], &point["Count"]));
    }
    assert_eq!(data7["data_points"][7]["date"], t.app.platform.now().rfc3339(0)[..10]);
    assert_eq!((&data7["trend"], &data7["delta"]), (&json!("up"), &json!(2)));
    for (period, label, points) in
        [(7, "7 days", 8), (30, "30 days", 31), (180, "6 months", 27), (365, "1 year", 13)]
    {
        let data = trend(&c, &format!("?period={period}")).await;
        assert_eq!((&data["period"], &data["period_label"]), (&json!(period), &json!(label)));
        assert_eq!(counts(&data).len(), points);
        assert_eq!(data["current_total"], super::data(&t, &c, "/applications/totals").await["total"]);
    }
    // An application that goes today was there before: it goes by itself, with its system, or with its organization.
    t.advance(DAY);
    let (c, owner) = (t.session(c.id).await, t.owner().await);
    delete(&t, &owner, &format!("/systems/{}", other.id)).await.expect(200);
    assert_eq!(counts(&trend(&c, "").await), [0, 0, 0, 2, 2, 3, 2, 1]);
    let d = t.user(tree.distributor, &["reader"]).await;
    delete(&t, &owner, &format!("/customers/{}", tree.customer)).await.expect(200);
    for who in [&owner, &d] {
        assert_eq!(counts(&trend(who, "").await), [0, 0, 0, 2, 2, 3, 2, 0]);
    }
    let foreign = t.user(tree.other_distributor, &["reader"]).await;
    assert_eq!(counts(&trend(&foreign, "").await), [0; 8]);
});

api_test!(filters_offer_what_the_caller_sees, |t| async move {
    let tree = t.tree().await;
    let (d, s) = (t.user(tree.distributor, &["admin"]).await, t.system(tree.customer).await);
    let (_, foreign) = (t.system(tree.reseller).await, t.system(tree.other_customer).await);
    let with = |id: &str, kind: &str, version: &str| {
        let mut m = module(id, kind);
        m["version"] = json!(version);
        m
    };
    let modules = json!([
        with("web1", "web", "1.2"),
        with("web2", "web", "1.10"),
        with("web3", "web", "1.2"),
        with("mail1", "mail", ""),
        with("loki1", "loki", "3")
    ]);
    send(&t, &s, cluster(modules)).await;
    send(&t, &foreign, cluster(json!([with("secret1", "secret", "1")]))).await;
    let filters = async |who: &Persona| {
        let reply = get(&t, who, "/filters/applications").await;
        reply.expect_message(200, "application filters retrieved successfully").data()
    };
    let shown = filters(&d).await;
    assert_eq!(
        shown["types"],
        json!([{"instance_of": "mail", "name": "mail", "count": 1}, {"instance_of": "web", "name": "web", "count": 3}])
    );
    assert_eq!(
        shown["versions"],
        json!([{"application": "web", "name": "web", "versions": ["web:1.2", "web:1.10"]}])
    );
    let system = data(&t, &d, &format!("/systems/{}", s.id)).await["name"].clone();
    assert_eq!(shown["systems"], json!([{"id": s.id, "name": system}]));
    let nobody = json!({"id": "no_org", "logto_id": "no_org", "name": "No organization", "description": "",
        "type": "unassigned"});
    assert_eq!(shown["organizations"], json!([nobody]));
    for m in ["web1", "web2", "web3", "mail1"] {
        let to = if m == "web1" { tree.reseller } else { tree.customer };
        let id = id_of(&t, &d, m).await;
        assign(&t, &d, &id, to).await.expect(200);
    }
    let org = |id: OrgId, name: &str, kind: &str| json!({"id": id, "logto_id": id, "name": name, "description": "", "type": kind});
    let expected = json!([
        org(tree.customer, "Alfa Customer", "customer"),
        org(tree.reseller, "Alfa Reseller", "reseller")
    ]);
    assert_eq!(filters(&d).await["organizations"], expected);
    let empty = json!({"types": [], "versions": [], "systems": [], "organizations": []});
    delete(&t, &d, &format!("/systems/{}", s.id)).await.expect(200);
    assert_eq!(filters(&d).await, empty);
});

// Proves spec: guarantees#organizations 33.
api_test!(no_org_is_offered_only_to_who_sees_an_unassigned_one, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (s, other) = (t.system(tree.customer).await, t.system(tree.other_customer).await);
    send(&t, &s, cluster(json!([module("a1", "a")]))).await;
    send(&t, &other, cluster(json!([module("b1", "b")]))).await;
    let id = id_of(&t, &owner, "a1").await;
    assign(&t, &owner, &id, tree.customer).await.expect(200);
    for (org, expected) in [(tree.distributor, false), (tree.other_distributor, true)] {
        let who = t.user(org, &["reader"]).await;
        let filters = data(&t, &who, "/filters/applications").await;
        assert_eq!(filters["organizations"][0]["id"] == "no_org", expected);
    }
});

api_test!(organizations_count_what_is_assigned_to_them, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let s = t.system(tree.customer).await;
    let hidden = json!({"id": "loki1", "module": "loki", "certification_level": 5});
    let low = json!({"id": "doku1", "module": "dokuwiki", "certification_level": 3});
    send(&t, &s, cluster(json!([module("a1", "a"), module("b1", "b"), module("c1", "c"), hidden, low])))
        .await;
    for (m, to) in [
        ("a1", tree.customer),
        ("b1", tree.reseller),
        ("c1", tree.distributor),
        ("loki1", tree.customer),
        ("doku1", tree.customer),
    ] {
        assign(&t, &owner, &format!("{}-{m}", s.id), to).await.expect(200);
    }
    let listed = async |family: &str| {
        let rows = data(&t, &owner, &format!("/{family}?sort_by=name")).await;
        let rows = rows[family].as_array().unwrap().clone();
        rows.iter().map(|r| r["applications_count"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    // User-facing or not, but of level 4 or 5.
    assert_eq!(listed("distributors").await, [4, 0]);
    assert_eq!(listed("resellers").await, [3, 0]);
    assert_eq!(listed("customers").await, [2, 0]);
    for (family, id, own, below) in [
        ("distributors", tree.distributor, 1, Some(4)),
        ("resellers", tree.reseller, 1, Some(3)),
        ("customers", tree.customer, 2, None),
    ] {
        let stats = data(&t, &owner, &format!("/{family}/{id}/stats")).await;
        assert_eq!(stats["applications_count"], own);
        assert_eq!(stats.get("applications_hierarchy_count").and_then(Value::as_u64), below);
    }
});
