//! Trends, filters, the VAT check and the list of all families (spec: organizations#stats, organizations#vat-validator,
//! organizations#filters, organizations#directory; guarantees#organizations rules 2, 6, 7, 25, 26, 34).

use super::*;
use bailiwick_domain::{OrgId, OrgType};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

async fn trend(t: &Test, who: &Persona, family: &str, query: &str) -> Value {
    let reply = get(t, who, &format!("/api/{family}/trend{query}")).await;
    reply.expect_message(200, &format!("{family} trend retrieved successfully")).data()
}

fn counts(data: &Value) -> Vec<u64> {
    data["data_points"].as_array().unwrap().iter().map(|p| p["count"].as_u64().unwrap()).collect()
}

async fn change(t: &Test, who: &Persona, verb: &str, path: &str) {
    let call = if verb == "delete" { t.delete(path) } else { t.patch(&format!("{path}/{verb}")) };
    call.bearer(&who.token).send().await.expect(200);
}

// Proves spec: guarantees#organizations 26.
api_test!(deletions_make_a_trend_fall, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await.id;
    t.advance(DAY * 3);
    let own = t.organization(tree.reseller, OrgType::Customer, "Second").await;
    t.advance(DAY);
    let (owner, d_now) = (t.owner().await, t.session(d).await);
    assert_eq!(counts(&trend(&t, &d_now, "customers", "").await), [0, 0, 0, 1, 1, 1, 2, 2]);
    assert_eq!(counts(&trend(&t, &owner, "customers", "").await), [0, 0, 0, 2, 2, 2, 3, 3]);
    // Customers deleted: one by itself yesterday, others with their reseller today. Customers elsewhere stay.
    change(&t, &owner, "delete", &format!("/api/customers/{own}")).await;
    t.advance(DAY);
    let owner = t.owner().await;
    change(&t, &owner, "delete", &format!("/api/resellers/{}", tree.reseller)).await;
    let d_now = t.session(d).await;
    assert_eq!(counts(&trend(&t, &d_now, "customers", "").await), [0, 0, 1, 1, 1, 2, 1, 0]);
    assert_eq!(counts(&trend(&t, &owner, "customers", "").await), [0, 0, 2, 2, 2, 3, 2, 1]);
    assert_eq!(counts(&trend(&t, &d_now, "resellers", "").await), [0, 0, 1, 1, 1, 1, 1, 0]);
    change(&t, &owner, "restore", &format!("/api/resellers/{}", tree.reseller)).await;
    assert_eq!(counts(&trend(&t, &d_now, "customers", "").await), [0, 0, 1, 1, 1, 2, 1, 1]);
    // A suspension changes nothing. An organization that came and went on one day was never there.
    t.suspend_organization(tree.distributor).await;
    let brief = t.organization(tree.reseller, OrgType::Customer, "Brief").await;
    change(&t, &owner, "delete", &format!("/api/customers/{brief}")).await;
    assert_eq!(counts(&trend(&t, &owner, "customers", "").await), [0, 0, 2, 2, 2, 3, 2, 2]);
    // Destroyed rows are forgotten on every date.
    let path = format!("/api/distributors/{}/destroy", tree.other_distributor);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    assert_eq!(counts(&trend(&t, &owner, "customers", "").await), [0, 0, 1, 1, 1, 2, 1, 1]);
});

api_test!(a_trend_of_each_family_in_both_spellings, |t| async move {
    let tree = t.tree().await;
    t.advance(DAY * 2);
    t.organization(tree.reseller, OrgType::Customer, "Late").await;
    let owner = t.owner().await;
    let today = t.app.platform.now().rfc3339(0)[..10].to_owned();
    let data = trend(&t, &owner, "customers", "?period=7").await;
    assert_eq!(data["data_points"][7], json!({"date": today, "count": 3, "Date": today, "Count": 3}));
    let numbers = json!({"period": 7, "period_label": "7 days", "current_total": 3, "previous_total": 0,
        "delta": 3, "delta_percentage": 0.0, "trend": "up"});
    for (key, value) in numbers.as_object().unwrap() {
        assert_eq!(&data[key], value, "{key}");
    }
    let c = t.user(tree.customer, &["admin"]).await;
    for family in ["distributors", "resellers", "customers"] {
        for (period, points) in [("7", 8), ("30", 31), ("180", 27), ("365", 13)] {
            let data = trend(&t, &owner, family, &format!("?period={period}")).await;
            let list = data["data_points"].as_array().unwrap();
            assert_eq!((list.len(), &list[points - 1]["date"]), (points, &json!(today)), "{family}");
            let totals = get(&t, &owner, &format!("/api/{family}/totals")).await.expect(200).data();
            assert_eq!(data["current_total"], totals["total"], "{family}");
        }
        for bad in ["8", "x", "07", "-7", "", "%20"] {
            let path = format!("/api/{family}/trend?period={bad}");
            let text = "invalid period parameter (supported: 7, 30, 180, 365)";
            assert_eq!(get(&t, &owner, &path).await.expect_message(400, text).data(), Value::Null);
        }
        get(&t, &c, &format!("/api/{family}/trend?period=8"))
            .await
            .expect_message(403, "insufficient permissions");
    }
    // Nothing in scope: zeros.
    let empty = t.organization(tree.distributor, OrgType::Reseller, "Empty").await;
    let r = t.user(empty, &["admin"]).await;
    let data = trend(&t, &r, "customers", "?period=30").await;
    assert_eq!((counts(&data), &data["trend"]), (vec![0; 31], &json!("stable")));
});

/// Names and the true total of one page of all families.
async fn directory(t: &Test, who: &Persona, query: &str) -> (Vec<String>, u64) {
    let reply = get(t, who, &format!("/api/organizations{query}")).await;
    let data = reply.expect_message(200, "organizations retrieved successfully").data();
    let rows = data["organizations"].as_array().unwrap();
    let names = rows.iter().map(|r| r["name"].as_str().unwrap().to_owned()).collect();
    (names, data["pagination"]["total_count"].as_u64().unwrap())
}

api_test!(all_families_in_one_list, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let all = [
        "Alfa Customer",
        "Alfa Distributor",
        "Alfa Reseller",
        "Beta Customer",
        "Beta Distributor",
        "Beta Reseller",
    ];
    let data = get(&t, &owner, "/api/organizations").await.expect(200).data();
    let pagination = json!({"page": 1, "page_size": 1000, "total_count": 6, "total_pages": 1,
        "has_next": false, "has_prev": false});
    assert_eq!(data["pagination"], pagination);
    let first = json!({"id": tree.customer, "logto_id": tree.customer, "name": "Alfa Customer",
        "description": "", "type": "customer"});
    assert_eq!(data["organizations"][0], first);
    let list = async |query: &str| directory(&t, &owner, query).await.0;
    assert_eq!(list("").await, all);
    assert_eq!(list("?sort_by=bogus&sort_direction=desc").await, all);
    assert_eq!(list("?sort_by=name&sort_direction=desc").await[0], "Beta Reseller");
    let by_type = list("?sort_by=type&page=1").await;
    assert!(by_type[0].ends_with("Customer") && by_type[5].ends_with("Reseller"), "{by_type:?}");
    assert_eq!(list("?sort_by=description").await.len(), 6);
    assert_eq!(list("?search=ALFA").await.len(), 3);
    assert_eq!(list("?search=%25").await.len(), 0);
    assert_eq!(list("?search=x%00").await.len(), 0);
    assert_eq!(list("?name=Alfa%20Customer").await, ["Alfa Customer"]);
    for nothing in ["?name=alfa%20customer", "?name=Alfa", "?name=%00", "?type=owner", "?type=x", "?type="] {
        assert_eq!(list(nothing).await.len(), 0, "{nothing}");
    }
    assert_eq!(list("?type=Customer&type=reseller&type=x").await.len(), 4);
    assert_eq!(list("?description=").await.len(), 6);
    // Two of six; the totals stay true on every page.
    assert_eq!(
        directory(&t, &owner, "?page=2&page_size=4").await,
        (all[4..].iter().map(|n| (*n).to_owned()).collect(), 6)
    );
    assert_eq!(directory(&t, &owner, "?page=9").await, (vec![], 6));
    t.get("/api/organizations").send().await.expect(401);
});

// Proves spec: guarantees#organizations 34.
api_test!(children_of_one_organization_and_no_others, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["reader"]).await;
    let r = t.user(tree.reseller, &["reader"]).await;
    let c = t.user(tree.customer, &["reader"]).await;
    let below =
        async |who: &Persona, parent: &str| directory(&t, who, &format!("?created_by={parent}")).await;
    let names = |list: &[&str]| (list.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>(), list.len() as u64);
    assert_eq!(
        below(&owner, &tree.owner.to_string()).await,
        names(&["Alfa Distributor", "Beta Distributor"])
    );
    assert_eq!(below(&d, &tree.owner.to_string()).await, names(&["Alfa Distributor"]));
    assert_eq!(below(&d, &tree.distributor.to_string()).await, names(&["Alfa Reseller"]));
    assert_eq!(below(&d, &tree.other_distributor.to_string()).await, names(&[]));
    for nothing in ["", "x", "00000000-0000-7000-8000-000000000000"] {
        assert_eq!(below(&owner, nothing).await, names(&[]));
    }
    // No permission is required; the own organization is there.
    assert_eq!(directory(&t, &d, "").await, names(&["Alfa Customer", "Alfa Distributor", "Alfa Reseller"]));
    assert_eq!(directory(&t, &r, "").await, names(&["Alfa Customer", "Alfa Reseller"]));
    assert_eq!(directory(&t, &c, "").await, names(&["Alfa Customer"]));
    t.suspend_organization(tree.customer).await;
    assert_eq!(directory(&t, &r, "").await.1, 2);
    t.delete_organization(tree.customer).await;
    assert_eq!(directory(&t, &r, "").await, names(&["Alfa Reseller"]));
    assert_eq!(below(&d, &tree.reseller.to_string()).await, names(&[]));
});

async fn vat(t: &Test, who: &Persona, query: &str) -> bool {
    let reply = get(t, who, &format!("/api/validators/vat/{query}")).await;
    let data = reply.expect_message(200, "VAT validation completed").data();
    assert_eq!(data.as_object().unwrap().len(), 1);
    data["exists"].as_bool().unwrap()
}

async fn vat_of(t: &Test, id: OrgId) -> String {
    bailiwick_store::organizations::get(&t.app.platform.db, id).await.unwrap().unwrap().vat.unwrap()
}

api_test!(the_vat_check_sees_what_is_below_the_caller, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["reader"]).await;
    let r = t.user(tree.reseller, &["reader"]).await;
    let c = t.user(tree.customer, &["reader"]).await;
    let ids = [
        ("distributors", tree.distributor, tree.other_distributor),
        ("resellers", tree.reseller, tree.other_reseller),
        ("customers", tree.customer, tree.other_customer),
    ];
    // Which caller finds numbers of the first branch, and which finds numbers of the other one.
    let expected = [
        (&owner, [true, true, true], [true, true, true]),
        (&d, [false, true, true], [false; 3]),
        (&r, [false, false, true], [false; 3]),
        (&c, [false; 3], [false; 3]),
    ];
    for (who, own, other) in expected {
        for (n, (family, mine, foreign)) in ids.into_iter().enumerate() {
            let (a, b) = (vat_of(&t, mine).await, vat_of(&t, foreign).await);
            assert_eq!(
                vat(&t, who, &format!("{family}?vat={a}")).await,
                own[n],
                "{family} {:?}",
                who.org_type
            );
            assert_eq!(
                vat(&t, who, &format!("{family}?vat={b}")).await,
                other[n],
                "{family} {:?}",
                who.org_type
            );
        }
    }
    let key = vat_of(&t, tree.reseller).await;
    let spaced = format!("%20{}%09{}", key[..4].to_lowercase(), &key[4..]);
    assert!(vat(&t, &d, &format!("resellers?vat={spaced}")).await);
    assert!(!vat(&t, &d, &format!("resellers?vat={key}&exclude_id={}", tree.reseller)).await);
    assert!(vat(&t, &d, &format!("resellers?vat={key}&exclude_id=x")).await);
    for nothing in ["resellers?vat=%20%09", "resellers?vat=%00", "customers?vat=none"] {
        assert!(!vat(&t, &owner, nothing).await, "{nothing}");
    }
    // An organization that is hidden from above keeps its number; one that is deleted itself does not. Customers are
    // simply gone.
    let customer = vat_of(&t, tree.customer).await;
    t.delete_organization(tree.distributor).await;
    assert!(!vat(&t, &owner, &format!("distributors?vat={}", vat_of(&t, tree.distributor).await)).await);
    assert!(vat(&t, &owner, &format!("resellers?vat={key}")).await);
    assert!(!vat(&t, &owner, &format!("customers?vat={customer}")).await);
});

api_test!(what_the_vat_check_refuses, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["reader"]).await;
    for family in ["owners", "Distributors", "distributor", "x", "%ff"] {
        get(&t, &c, &format!("/api/validators/vat/{family}?vat=1"))
            .await
            .expect_message(400, "entity_type must be one of: distributors, resellers, customers");
    }
    for query in ["", "?vat=", "?VAT=1"] {
        get(&t, &c, &format!("/api/validators/vat/customers{query}"))
            .await
            .expect_message(400, "vat query parameter is required");
    }
    t.get("/api/validators/vat/customers?vat=1").send().await.expect(401);
});

api_test!(the_filters_of_a_family_offer_its_creators, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let filters = async |who: &Persona, family: &str| {
        let reply = get(&t, who, &format!("/api/filters/{family}s")).await;
        let data = reply.expect_message(200, &format!("{family} filters retrieved successfully")).data();
        assert_eq!(data.as_object().unwrap().len(), 1);
        data["created_by"].as_array().unwrap().clone()
    };
    let body = |vat: &str| {
        json!({"name": "New", "custom_data": {"vat": vat},
        "created_by_organization_id": tree.reseller})
    };
    for vat in ["1", "2"] {
        post(&t, &d, "/api/customers", body(vat)).await.expect(201);
    }
    let made = post(&t, &r, "/api/customers", json!({"name": "Mine", "custom_data": {"vat": "3"}})).await;
    let made = made.expect(201).data()["id"].as_str().unwrap().to_owned();
    // The creator belongs to their own organization, whatever organization a creation is attributed to.
    let creators = filters(&r, "customer").await;
    let mine: Vec<&Value> = creators.iter().filter(|c| c["user_id"] == json!(d.id)).collect();
    assert_eq!(mine.len(), 1, "{creators:?}");
    assert_eq!(
        (&mine[0]["organization_id"], &mine[0]["organization_name"]),
        (&json!(tree.distributor), &json!("Alfa Distributor"))
    );
    assert_eq!(mine[0].as_object().unwrap().len(), 5);
    let names: Vec<String> = creators.iter().map(|c| c["name"].as_str().unwrap().to_lowercase()).collect();
    assert!(names.is_sorted(), "{names:?}");
    let has = |list: &[Value], id: &bailiwick_domain::UserId| list.iter().any(|c| c["user_id"] == json!(id));
    assert!(has(&creators, &r.id) && has(&filters(&owner, "customer").await, &r.id));
    // Deleted rows offer nothing; nor do other families and branches.
    change(&t, &d, "delete", &format!("/api/customers/{made}")).await;
    assert!(!has(&filters(&r, "customer").await, &r.id));
    assert!(!has(&filters(&owner, "reseller").await, &d.id));
    let other = t.user(tree.other_reseller, &["admin"]).await;
    assert!(!has(&filters(&other, "customer").await, &d.id));
    // A destroyed user is still named, without an organization.
    t.delete(&format!("/api/users/{}/destroy", d.id)).bearer(&owner.token).send().await.expect(200);
    let creators = filters(&r, "customer").await;
    let gone = creators.iter().find(|c| c["user_id"] == json!(d.id)).unwrap();
    assert_eq!((&gone["organization_id"], &gone["organization_name"]), (&json!(""), &json!("")));
    get(&t, &r, "/api/filters/resellers").await.expect_message(403, "insufficient permissions");
    get(&t, &r, "/api/filters/distributors").await.expect_message(403, "insufficient permissions");
});
