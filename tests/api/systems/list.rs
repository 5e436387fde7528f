//! The list of systems: scopes, filters, orders, pages (spec: systems#list).

use super::*;

/// Systems of every status in the customer's organization, by name: `a…` active, `i…` inactive, and so on.
async fn zoo(t: &Test, who: &Persona, org: OrgId) {
    for (name, beat) in [("inactive 1", true), ("inactive 2", true), ("suspended b", true)] {
        let made = made(t, who, org, name).await;
        register(t, text(&made, "system_secret")).await.expect(200);
        if beat {
            let (key, secret) = (text(&made, "system_key"), text(&made, "system_secret"));
            t.post("/systems/heartbeat").basic(key, secret).send().await.expect(200);
        }
        if name == "suspended b" {
            t.suspend_system(text(&made, "id").parse().unwrap()).await;
        }
    }
    t.pass(t.app.settings.systems.liveness_timeout).await;
    for name in ["Active 1", "active 2", "unknown 1", "unknown 2", "suspended a", "deleted"] {
        let made = made(t, who, org, name).await;
        let (key, secret) = (text(&made, "system_key"), text(&made, "system_secret"));
        let id = text(&made, "id").parse().unwrap();
        match name {
            "suspended a" => t.suspend_system(id).await,
            "deleted" => t.delete_system(id).await,
            "unknown 1" | "unknown 2" => {}
            _ => {
                register(t, secret).await.expect(200);
                t.post("/systems/heartbeat").basic(key, secret).send().await.expect(200);
            }
        }
    }
}

api_test!(each_status_is_a_filter_and_an_order, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["admin"]).await;
    zoo(&t, &c, tree.customer).await;
    let mut sum = 0;
    for (status, expected) in [
        ("active", vec!["Active 1", "active 2"]),
        ("inactive", vec!["inactive 1", "inactive 2"]),
        ("suspended", vec!["suspended a", "suspended b"]),
        ("unknown", vec!["unknown 1", "unknown 2"]),
        ("deleted", vec!["deleted"]),
        ("online", vec!["Active 1", "active 2"]),
        ("offline&status=online", vec!["Active 1", "active 2", "inactive 1", "inactive 2"]),
        (
            "no_inventory",
            vec!["Active 1", "active 2", "inactive 1", "inactive 2", "suspended a", "suspended b"],
        ),
        ("nonsense", vec![]),
        ("", vec![]),
        ("deleted&status=unknown", vec!["deleted", "unknown 1", "unknown 2"]),
    ] {
        let reply = get(&t, &c, &format!("?sort_by=name&status={status}")).await;
        assert_eq!(names(&reply), expected, "{status}");
        assert_eq!(reply.data()["pagination"]["total_count"], expected.len(), "{status}");
        if ["active", "inactive", "suspended", "unknown"].contains(&status) {
            let data = reply.data();
            assert!(data["systems"].as_array().unwrap().iter().all(|s| s["status"] == status));
            sum += expected.len();
        }
    }
    assert_eq!(count(&t, &c, "").await, sum as u64);
    assert_eq!(count(&t, &c, "?search=SUSP").await, 2);
    assert_eq!(count(&t, &c, "?search=activ").await, 4);
    // The runs of the order by status, cut into pages at every place.
    let all = names(&get(&t, &c, "?sort_by=status").await);
    let statuses: Vec<_> = all.iter().map(|n| n.split(' ').next().unwrap().to_lowercase()).collect();
    assert!(statuses.is_sorted(), "{all:?}");
    let mut reversed = names(&get(&t, &c, "?sort_by=status&sort_direction=desc").await);
    reversed.reverse();
    assert_eq!(reversed, all);
    for size in 1..=3 {
        let mut pages = Vec::new();
        for page in 1..=9 {
            pages.extend(names(&get(&t, &c, &format!("?sort_by=status&page_size={size}&page={page}")).await));
        }
        assert_eq!(pages, all, "pages of {size}");
    }
    let with_deleted =
        names(&get(&t, &c, "?sort_by=status&status=deleted&status=active&status=unknown").await);
    assert_eq!(with_deleted.iter().position(|n| n == "deleted"), Some(2));
});

// Proves spec: guarantees#systems 9.
api_test!(inherited_marks_name_where_they_come_from, |t| async move {
    let tree = t.tree().await;
    let (owner, d) = (t.owner().await, t.user(tree.distributor, &["admin"]).await);
    let made = made(&t, &d, tree.customer, "S").await;
    let path = format!("/{}", text(&made, "id"));
    t.suspend_organization(tree.reseller).await;
    let shown = get(&t, &d, &path).await.expect(200).data();
    assert_eq!(
        (&shown["status"], &shown["suspended_by_org_id"]),
        (&json!("suspended"), &json!(tree.reseller))
    );
    assert_eq!((count(&t, &d, "?status=suspended").await, count(&t, &d, "?status=unknown").await), (1, 0));
    // The system's own mark is shown, whatever marks are above.
    let reactivate = format!("/api/resellers/{}/reactivate", tree.reseller);
    t.patch(&reactivate).bearer(&owner.token).send().await.expect(200);
    t.suspend_system(text(&made, "id").parse().unwrap()).await;
    t.suspend_organization(tree.reseller).await;
    let shown = get(&t, &d, &path).await.expect(200).data();
    assert_eq!((&shown["status"], &shown["suspended_by_org_id"]), (&json!("suspended"), &Value::Null));
    t.delete_organization(tree.reseller).await;
    get(&t, &d, &path).await.expect(404);
    assert_eq!((count(&t, &owner, "").await, names(&get(&t, &owner, "").await).len()), (0, 0));
    let deleted = get(&t, &d, "?status=deleted").await.expect(200).data();
    assert_eq!(deleted["systems"][0]["deleted_by_org_id"], json!(tree.reseller));
    assert_eq!(
        (&deleted["systems"][0]["status"], &deleted["pagination"]["total_count"]),
        (&json!("deleted"), &json!(1))
    );
});

api_test!(lists_stay_inside_the_scope, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for (org, name) in [
        (tree.owner, "at owner"),
        (tree.distributor, "at D"),
        (tree.reseller, "at R"),
        (tree.customer, "at C"),
        (tree.other_distributor, "at D2"),
        (tree.other_reseller, "at R2"),
        (tree.other_customer, "at C2"),
    ] {
        made(&t, &owner, org, name).await;
    }
    let r = t.user(tree.reseller, &["reader"]).await;
    for (org, expected) in [
        (tree.owner, vec!["at C", "at C2", "at D", "at D2", "at R", "at R2", "at owner"]),
        (tree.distributor, vec!["at C", "at D", "at R"]),
        (tree.reseller, vec!["at C", "at R"]),
        (tree.customer, vec!["at C"]),
    ] {
        let who = if org == tree.owner { t.owner().await } else { t.user(org, &["reader"]).await };
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        expected.sort_by_key(|n| n.to_lowercase());
        for order in ["name", "organization_name", "status", "created_at", "creator_name"] {
            let reply = get(&t, &who, &format!("?sort_by={order}")).await;
            let found: BTreeSet<String> = names(&reply).into_iter().collect();
            assert_eq!(found, expected.iter().cloned().collect(), "{order}");
            assert_eq!(reply.data()["pagination"]["total_count"], expected.len(), "{order}");
        }
        assert_eq!(names(&get(&t, &who, "?sort_by=name").await), expected);
    }
    // A filter is ANDed with the scope; the hierarchy expands the filter only.
    let filter = |org: OrgId, more: &str| format!("?sort_by=name&organization_id={org}{more}");
    for (who, query, expected) in [
        (&owner, filter(tree.distributor, ""), vec!["at D"]),
        (&owner, filter(tree.distributor, "&include_hierarchy=true"), vec!["at C", "at D", "at R"]),
        (&owner, filter(tree.other_reseller, "&include_hierarchy=true"), vec!["at C2", "at R2"]),
        (&owner, filter(tree.customer, "&include_hierarchy=true"), vec!["at C"]),
        (&r, filter(tree.distributor, "&include_hierarchy=true"), vec!["at C", "at R"]),
        (&r, filter(tree.owner, "&include_hierarchy=true"), vec!["at C", "at R"]),
        (&r, filter(tree.other_reseller, "&include_hierarchy=true"), vec![]),
        (&r, "?organization_id=nonsense".to_owned(), vec![]),
        (&r, filter(tree.customer, &format!("&organization_id={}", tree.reseller)), vec!["at C", "at R"]),
    ] {
        let reply = get(&t, who, &query).await;
        assert_eq!(names(&reply), expected, "{query}");
        assert_eq!(reply.data()["pagination"]["total_count"], expected.len(), "{query}");
    }
});

// Proves spec: acceptance#scenarios 24.
api_test!(filters_and_searches, |t| async move {
    let tree = t.tree().await;
    let (d, r) = (t.user(tree.distributor, &["admin"]).await, t.user(tree.reseller, &["admin"]).await);
    for (who, name) in [(&d, "beta"), (&r, "Alfa")] {
        t.post("/api/me/change-info").bearer(&who.token).json(json!({"name": name})).send().await.expect(200);
    }
    for (who, name, kind, version, fqdn, v4) in [
        (&d, "Milan_1", "ns8", "3.19.2", "milan.example", "203.0.113.21"),
        (&d, "Milan%2", "ns8", "3.20", "MILAN2.example", ""),
        (&r, "Róma", "nsec", "8.7.1", "", "203.0.113.99"),
    ] {
        t.advance(Duration::from_secs(1));
        let made = made(&t, who, tree.customer, name).await;
        let id: bailiwick_domain::SystemId = text(&made, "id").parse().unwrap();
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let mut system = bailiwick_store::systems::lock(&mut tx, id).await.unwrap().unwrap().system;
        system.system_type = Some(kind.to_owned());
        (system.version, system.fqdn, system.ipv4_address) =
            (version.to_owned(), fqdn.to_owned(), v4.to_owned());
        bailiwick_store::systems::set_facts(&mut tx, &system).await.unwrap();
        tx.commit().await.unwrap();
    }
    let creator = t.get("/api/me").bearer(&r.token).send().await.expect(200).data();
    let email = text(&creator, "email").to_uppercase();
    for (query, expected) in [
        ("search=MILAN", vec!["Milan%2", "Milan_1"]),
        ("search=_1", vec!["Milan_1"]),
        ("search=%25", vec!["Milan%2"]),
        ("search=R%C3%93M", vec!["Róma"]),
        ("search=0.113.9", vec!["Róma"]),
        ("search=nsec", vec!["Róma"]),
        ("search=3.19", vec!["Milan_1"]),
        (&format!("search={email}"), vec!["Róma"]),
        ("search=nothing", vec![]),
        ("search=a%00b", vec![]),
        ("search=%1f", vec![]),
        ("search=unknown", vec!["Milan%2", "Milan_1", "Róma"]),
        ("name=ilan", vec!["Milan%2", "Milan_1"]),
        ("name=example", vec![]),
        ("name=%00", vec![]),
        ("system_key=x%00", vec![]),
        ("type=ns8", vec!["Milan%2", "Milan_1"]),
        ("type=ns8&type=nsec", vec!["Milan%2", "Milan_1", "Róma"]),
        ("type=NS8", vec![]),
        ("type=", vec![]),
        ("version=3.20", vec!["Milan%2"]),
        ("version=ns8:3.20&version=nsec:8.7.1", vec!["Milan%2", "Róma"]),
        ("version=nsec:3.20", vec![]),
        ("type=ns8&version=3.20&search=milan2", vec!["Milan%2"]),
        (&format!("created_by={}", r.id), vec!["Róma"]),
        (&format!("created_by={}&created_by=x", tree.distributor), vec!["Milan%2", "Milan_1"]),
        ("created_by=x", vec![]),
    ] {
        let reply = get(&t, &d, &format!("?sort_by=name&{query}")).await;
        assert_eq!(names(&reply), expected, "{query}");
        assert_eq!(reply.data()["pagination"]["total_count"], expected.len(), "{query}");
    }
    for (order, expected) in [
        // Text without regard to case, but versions as they are.
        ("fqdn", ["Róma", "Milan_1", "Milan%2"]),
        ("type", ["Milan_1", "Milan%2", "Róma"]),
        ("version", ["Milan_1", "Milan%2", "Róma"]),
    ] {
        let mut found = names(&get(&t, &d, &format!("?sort_by={order}")).await);
        assert_eq!(found, expected, "{order}");
        found.reverse();
        assert_eq!(names(&get(&t, &d, &format!("?sort_by={order}&sort_direction=desc")).await), found);
    }
    let by_creator = get(&t, &d, "?sort_by=creator_name").await.expect(200).data();
    let creators: Vec<&str> =
        by_creator["systems"].as_array().unwrap().iter().map(|s| text(&s["created_by"], "name")).collect();
    assert_eq!(creators, ["Alfa", "beta", "beta"]);
    let long = format!("?search={}", "x".repeat(60_000));
    assert_eq!(count(&t, &d, &long).await, 0);
    let many = format!("?{}", "type=a&".repeat(1001));
    get(&t, &d, &many).await.expect_message(400, "too many filter values");
});

// Proves spec: guarantees#identity 30, guarantees#systems 10.
api_test!(every_order_is_total_and_pages_are_stable, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for (n, org) in
        [tree.customer, tree.other_customer, tree.reseller].into_iter().cycle().take(11).enumerate()
    {
        made(&t, &owner, org, if n % 3 == 0 { "same" } else { ["Beta", "alfa", "gamma", "Delta"][n % 4] })
            .await;
        t.advance(Duration::from_secs(n as u64 % 2));
    }
    let ids = |reply: Reply| -> Vec<String> {
        reply.expect(200).data()["systems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| text(s, "id").to_owned())
            .collect()
    };
    for order in [
        "name",
        "type",
        "status",
        "fqdn",
        "version",
        "system_key",
        "created_at",
        "updated_at",
        "creator_name",
        "organization_name",
    ] {
        let up = ids(get(&t, &owner, &format!("?sort_by={order}")).await);
        let mut down = ids(get(&t, &owner, &format!("?sort_by={order}&sort_direction=desc")).await);
        down.reverse();
        assert_eq!(up, down, "{order}");
        let mut pages = Vec::new();
        for page in 1..=4 {
            let reply = get(&t, &owner, &format!("?sort_by={order}&page_size=3&page={page}")).await;
            assert_eq!(reply.data()["pagination"]["sort_by"], order);
            pages.extend(ids(reply));
        }
        assert_eq!(pages, up, "{order}");
    }
    let default = ids(get(&t, &owner, "").await);
    let mut newest = ids(get(&t, &owner, "?sort_by=created_at").await);
    newest.reverse();
    assert_eq!(default, newest);
    assert_eq!(ids(get(&t, &owner, "?sort_by=nonsense&sort_direction=asc").await), default);
    let by_name = names(&get(&t, &owner, "?sort_by=name").await);
    assert!(by_name.is_sorted_by_key(|n| n.to_lowercase()), "{by_name:?}");
    let homes: Vec<String> = get(&t, &owner, "?sort_by=organization_name").await.data()["systems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| text(&s["organization"], "name").to_owned())
        .collect();
    assert!(homes.is_sorted(), "{homes:?}");
    // Rule 10.
    let past = get(&t, &owner, "?page=999&page_size=101").await.expect(200).data();
    assert_eq!((&past["systems"], &past["pagination"]["total_count"]), (&json!([]), &json!(11)));
    assert_eq!((&past["pagination"]["page_size"], &past["pagination"]["page"]), (&json!(100), &json!(999)));
    assert_eq!(count(&t, &owner, &format!("?page={}", u64::MAX)).await, 11);
    let first = get(&t, &owner, "?page=x&page_size=0").await.data();
    assert_eq!((&first["pagination"]["page"], &first["pagination"]["page_size"]), (&json!(1), &json!(50)));
});

api_test!(a_thousand_values_of_one_filter_are_one_question, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    made(&t, &owner, tree.customer, "S").await;
    for (value, expected) in [
        ("status=active", 0),
        ("status=unknown", 1),
        ("version=1.0", 0),
        ("version=ns8:1.0", 0),
        ("type=ns8", 0),
    ] {
        let query = vec![value; 1000].join("&");
        assert_eq!(count(&t, &owner, &format!("?{query}")).await, expected, "{value}");
    }
});
