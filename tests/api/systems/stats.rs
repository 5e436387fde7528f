//! Totals, trend and filters of systems (spec: systems#totals, systems#trend, systems#filters; guarantees#systems rules
//! 1, 2, 11).

use super::*;
use bailiwick_domain::SystemId;
use bailiwick_testkit::seed::Seeded;

const DAY: Duration = Duration::from_secs(86_400);

async fn totals(t: &Test, who: &Persona, query: &str) -> Value {
    get(t, who, &format!("/totals{query}")).await.expect_message(200, "systems totals retrieved").data()
}

async fn beat(t: &Test, s: &Seeded) {
    t.post("/systems/heartbeat").basic(&s.key, &s.secret).send().await.expect(200);
}

async fn lifecycle(t: &Test, who: &Persona, path: &str) {
    t.patch(&format!("/api/{path}")).bearer(&who.token).send().await.expect(200);
}

/// For each status the list's number is that of the totals, and every row has the status it is listed under.
async fn agrees(t: &Test, who: &Persona) -> Value {
    let all = totals(t, who, "").await;
    for status in ["active", "inactive", "unknown", "suspended"] {
        let list = get(t, who, &format!("?page_size=100&status={status}")).await.expect(200).data();
        assert_eq!(list["pagination"]["total_count"], all[status], "{status}");
        for row in list["systems"].as_array().unwrap() {
            assert_eq!(row["status"], status);
            let shown = get(t, who, &format!("/{}", text(row, "id"))).await.expect(200).data();
            assert_eq!(&shown, row);
        }
    }
    assert_eq!(count(t, who, "").await, all["total"].as_u64().unwrap());
    let parts = ["active", "inactive", "unknown", "suspended"].map(|k| all[k].as_u64().unwrap());
    assert_eq!(parts.iter().sum::<u64>(), all["total"].as_u64().unwrap());
    for (older, status) in [("alive", "active"), ("dead", "inactive"), ("zombie", "unknown")] {
        assert_eq!(all[older], all[status]);
    }
    all
}

// Proves spec: guarantees#systems 1.
api_test!(every_status_agrees_everywhere_at_any_moment, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut systems = Vec::new();
    for org in
        [tree.customer, tree.customer, tree.customer, tree.reseller, tree.other_customer, tree.other_customer]
    {
        systems.push(t.system(org).await);
    }
    for s in &systems[..2] {
        beat(&t, s).await;
    }
    beat(&t, &systems[4]).await;
    t.pass(t.app.settings.systems.liveness_timeout).await;
    beat(&t, &systems[3]).await;
    beat(&t, &systems[4]).await;
    let callers = [
        owner.clone(),
        t.user(tree.distributor, &["reader"]).await,
        t.user(tree.reseller, &["reader"]).await,
        t.user(tree.customer, &["reader"]).await,
        t.user(tree.other_distributor, &["reader"]).await,
    ];
    let numbers = async |n: usize| {
        let all = agrees(&t, &callers[n]).await;
        ["total", "active", "inactive", "unknown", "suspended"].map(|k| all[k].as_u64().unwrap())
    };
    let all =
        async || [numbers(0).await, numbers(1).await, numbers(2).await, numbers(3).await, numbers(4).await];
    assert_eq!(
        all().await,
        [[6, 2, 2, 2, 0], [4, 1, 2, 1, 0], [4, 1, 2, 1, 0], [3, 0, 2, 1, 0], [2, 1, 0, 1, 0]]
    );
    // Own marks, then those of organizations, then both.
    lifecycle(&t, &owner, &format!("systems/{}/suspend", systems[0].id)).await;
    lifecycle(&t, &owner, &format!("systems/{}/suspend", systems[3].id)).await;
    t.delete(&format!("/api/systems/{}", systems[1].id)).bearer(&owner.token).send().await.expect(200);
    assert_eq!(
        all().await,
        [[5, 1, 0, 2, 2], [3, 0, 0, 1, 2], [3, 0, 0, 1, 2], [2, 0, 0, 1, 1], [2, 1, 0, 1, 0]]
    );
    lifecycle(&t, &owner, &format!("customers/{}/suspend", tree.customer)).await;
    // Its own users cannot ask any more.
    let others = [numbers(0).await, numbers(1).await, numbers(2).await, numbers(4).await];
    assert_eq!(others, [[5, 1, 0, 1, 3], [3, 0, 0, 0, 3], [3, 0, 0, 0, 3], [2, 1, 0, 1, 0]]);
    let path = format!("/api/customers/{}", tree.other_customer);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    assert_eq!(numbers(0).await, [3, 0, 0, 0, 3]);
    assert_eq!(numbers(4).await, [0; 5]);
    lifecycle(&t, &owner, &format!("customers/{}/reactivate", tree.customer)).await;
    lifecycle(&t, &owner, &format!("systems/{}/reactivate", systems[0].id)).await;
    lifecycle(&t, &owner, &format!("systems/{}/restore", systems[1].id)).await;
    assert_eq!(numbers(0).await, [4, 0, 2, 1, 1]);
});

api_test!(a_timeout_of_the_request_counts_for_it_alone, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["reader"]).await, t.system(tree.customer).await);
    beat(&t, &s).await;
    t.advance(Duration::from_secs(600));
    let active = async |query: &str| {
        let all = totals(&t, &c, query).await;
        (all["timeout_minutes"].as_u64().unwrap(), all["active"].as_u64().unwrap())
    };
    for (query, expected) in [
        ("", (20, 1)),
        ("?timeout=10", (10, 0)),
        ("?timeout=11", (11, 1)),
        ("?timeout=0", (20, 1)),
        ("?timeout=-1", (20, 1)),
        ("?timeout=x", (20, 1)),
        ("?timeout=", (20, 1)),
        ("?timeout=5.5", (20, 1)),
        ("?timeout=99999999999999", (99_999_999_999_999, 1)),
    ] {
        assert_eq!(active(query).await, expected, "{query}");
    }
    // Too large for any number: not one.
    assert_eq!(active("?timeout=99999999999999999999999").await, (20, 1));
});

api_test!(
    // Proves spec: guarantees#systems 2.
    one_setting_moves_every_cut_off,
    |settings| settings.systems.liveness_timeout = Duration::from_secs(60),
    |t| async move {
        let tree = t.tree().await;
        let (c, s) = (t.user(tree.customer, &["reader"]).await, t.system(tree.customer).await);
        beat(&t, &s).await;
        for (advance, status, alerts) in [(59, "active", 0), (1, "inactive", 1)] {
            t.pass(Duration::from_secs(advance)).await;
            let all = agrees(&t, &c).await;
            assert_eq!((&all[status], &all["timeout_minutes"]), (&json!(1), &json!(1)));
            let info = t.get("/systems/info").basic(&s.key, &s.secret).send().await.expect(200).data();
            assert_eq!(info["status"], status);
            let checked = bailiwick_alerts::liveness_monitor::check(&t.app.alerts).await.unwrap();
            assert_eq!((checked.is_leader, checked.posted), (true, alerts));
        }
    }
);

api_test!(a_trend_has_the_promised_points, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["reader"]).await;
    let trend = async |who: &Persona, query: &str| get(&t, who, &format!("/trend{query}")).await;
    for bad in ["?period=8", "?period=x", "?period=07", "?period="] {
        let reply = trend(&c, bad).await;
        let text = "invalid period parameter (supported: 7, 30, 180, 365)";
        assert_eq!(reply.expect_message(400, text).data(), Value::Null);
    }
    // The clock begins on Wednesday, 2026-03-04.
    for (period, label, points, first, last) in [
        ("7", "Last 7 days", 7, "2026-02-26", "2026-03-04"),
        ("30", "Last 30 days", 30, "2026-02-03", "2026-03-04"),
        ("180", "Last 6 months", 27, "2025-09-01", "2026-03-02"),
        ("365", "Last year", 13, "2025-03-01", "2026-03-01"),
    ] {
        let data = trend(&c, &format!("?period={period}")).await;
        let data = data.expect_message(200, "systems trend retrieved successfully").data();
        let list = data["data_points"].as_array().unwrap();
        assert_eq!((list.len(), &list[0]), (points, &json!({"date": first, "count": 0})), "{period}");
        assert_eq!(list[points - 1]["date"], last);
        assert_eq!((&data["period"].to_string(), &data["period_label"]), (&period.to_owned(), &json!(label)));
    }
});

// Proves spec: guarantees#systems 11.
api_test!(past_points_do_not_change_when_a_system_is_deleted_today, |t| async move {
    let tree = t.tree().await;
    let (owner, c) = (t.owner().await, t.user(tree.customer, &["reader"]).await);
    let mut ids: Vec<SystemId> = Vec::new();
    for _ in 0..3 {
        ids.push(t.system(tree.customer).await.id);
        t.advance(DAY);
    }
    let d = t.user(tree.distributor, &["reader"]).await;
    let (owner, c, d) = (t.session(owner.id).await, t.session(c.id).await, t.session(d.id).await);
    let counts = async |who: &Persona, query: &str| {
        let data = get(&t, who, &format!("/trend{query}")).await.expect(200).data();
        assert_eq!(data["current_total"], totals(&t, who, "").await["total"]);
        let list = data["data_points"].as_array().unwrap();
        list.iter().map(|p| p["count"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(counts(&c, "").await, [0, 0, 0, 1, 2, 3, 3]);
    t.delete(&format!("/api/systems/{}", ids[0])).bearer(&owner.token).send().await.expect(200);
    assert_eq!(counts(&c, "").await, [0, 0, 0, 1, 2, 3, 2]);
    t.delete(&format!("/api/customers/{}", tree.customer)).bearer(&owner.token).send().await.expect(200);
    for who in [&owner, &d] {
        assert_eq!(counts(who, "").await, [0, 0, 0, 1, 2, 3, 0]);
        // A week and a month end later than they are named after: the last one of each is now.
        for period in ["180", "365"] {
            assert_eq!(counts(who, &format!("?period={period}")).await.last(), Some(&0));
        }
    }
    let path = format!("/api/customers/{}/restore", tree.customer);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    assert_eq!(counts(&d, "").await, [0, 0, 0, 1, 2, 3, 2]);
    let data = get(&t, &d, "/trend?period=7").await.expect(200).data();
    assert_eq!(
        (&data["trend"], &data["delta"], &data["previous_total"]),
        (&json!("up"), &json!(2), &json!(0))
    );
    assert_eq!(data["delta_percentage"].as_f64(), Some(0.0));
    t.delete(&format!("/api/systems/{}/destroy", ids[0])).bearer(&owner.token).send().await.expect(200);
    assert_eq!(counts(&d, "").await, [0, 0, 0, 0, 1, 2, 2]);
});

async fn describe(t: &Test, id: SystemId, kind: &str, version: &str) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let mut system = bailiwick_store::systems::lock(&mut tx, id).await.unwrap().unwrap().system;
    (system.system_type, system.version) = (Some(kind.to_owned()), version.to_owned());
    bailiwick_store::systems::set_facts(&mut tx, &system).await.unwrap();
    tx.commit().await.unwrap();
}

api_test!(filters_offer_what_the_caller_sees, |t| async move {
    let tree = t.tree().await;
    let (d, r) = (t.user(tree.distributor, &["admin"]).await, t.user(tree.reseller, &["admin"]).await);
    for (who, org, kind, version) in [
        (&d, tree.customer, "ns8", "3.9.0"),
        (&d, tree.customer, "ns8", "3.19.2"),
        (&r, tree.customer, "ns8", "3.9.0"),
        (&r, tree.reseller, "nsec", "8.7.1"),
        (&r, tree.reseller, "nsec", ""),
        (&r, tree.reseller, "", ""),
    ] {
        let made = made(&t, who, org, "S").await;
        if !kind.is_empty() {
            describe(&t, text(&made, "id").parse().unwrap(), kind, version).await;
        }
    }
    let foreign = t.system(tree.other_customer).await;
    describe(&t, foreign.id, "secret", "1").await;
    let filters = async |who: &Persona| {
        let reply = t.get("/api/filters/systems").bearer(&who.token).send().await;
        reply.expect_message(200, "system filters retrieved successfully").data()
    };
    let shown = filters(&d).await;
    assert_eq!(shown["products"], json!(["ns8", "nsec"]));
    let versions = json!([{"product": "ns8", "versions": ["ns8:3.9.0", "ns8:3.19.2"]},
        {"product": "nsec", "versions": ["nsec:8.7.1"]}]);
    assert_eq!(shown["versions"], versions);
    let org =
        |id: OrgId, name: &str, kind: &str| json!({"id": id, "logto_id": id, "name": name, "type": kind});
    let (customer, reseller) =
        (org(tree.customer, "Alfa Customer", "customer"), org(tree.reseller, "Alfa Reseller", "reseller"));
    assert_eq!(shown["organizations"], json!([customer, reseller]));
    let mut creators = Vec::new();
    for (who, org, name) in [(&d, tree.distributor, "Alfa Distributor"), (&r, tree.reseller, "Alfa Reseller")]
    {
        let me = t.get("/api/me").bearer(&who.token).send().await.expect(200).data();
        creators.push(json!({"user_id": who.id, "name": me["name"], "email": me["email"],
            "organization_id": org,
            "organization_name": name}));
    }
    creators.sort_by_key(|c| c["name"].as_str().unwrap().to_owned());
    assert_eq!(shown["created_by"], json!(creators));
    let c = t.user(tree.customer, &["reader"]).await;
    let own = filters(&c).await;
    assert_eq!((&own["products"], &own["organizations"]), (&json!(["ns8"]), &json!([customer])));
    let owner = filters(&t.owner().await).await;
    assert_eq!(owner["products"], json!(["ns8", "nsec", "secret"]));
    assert_eq!(owner["created_by"].as_array().unwrap().len(), 3);
    // A deleted organization offers nothing.
    t.delete_organization(tree.customer).await;
    let shown = filters(&d).await;
    assert_eq!((&shown["products"], &shown["organizations"]), (&json!(["nsec"]), &json!([reseller])));
    assert_eq!(shown["created_by"].as_array().unwrap().len(), 1);
    let empty = json!({"products": [], "created_by": [], "versions": [], "organizations": []});
    assert_eq!(
        filters(&t.user(t.organization(tree.owner, OrgType::Customer, "New").await, &["reader"]).await).await,
        empty
    );
});
