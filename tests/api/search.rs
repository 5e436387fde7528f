//! One text over all kinds of objects (spec: search#search).

use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};

const KINDS: [&str; 4] = ["organizations", "users", "systems", "applications"];

async fn search(t: &Test, who: &Persona, query: &str) -> Value {
    t.get(&format!("/api/search?{query}")).bearer(&who.token).send().await.expect(200).data()
}

fn names(results: &Value, kind: &str) -> Vec<String> {
    let items = results[kind]["items"].as_array().into_iter().flatten();
    items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

api_test!(one_text_finds_every_kind_in_the_callers_branch, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for (organization, branch) in [(tree.customer, "near"), (tree.other_customer, "far")] {
        let body = json!({"name": format!("Zephyr {branch}"), "organization_id": organization});
        t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
        let person = json!({"name": format!("Zephyr person {branch}"), "email": format!("{branch}@zephyr.example"),
            "user_role_ids": ["reader"], "organization_id": organization});
        t.post("/api/users").bearer(&owner.token).json(person).send().await.expect(201);
    }
    let parent = t.user(tree.reseller, &["super"]).await;
    let made = json!({"name": "Zephyr Ltd", "description": "", "custom_data": {"vat": "z90"}});
    t.post("/api/customers").bearer(&parent.token).json(made).send().await.expect(201);

    let all = search(&t, &owner, "q=zephyr").await;
    assert_eq!(names(&all, "systems"), ["Zephyr far", "Zephyr near"]);
    assert_eq!(names(&all, "users"), ["Zephyr person far", "Zephyr person near"]);
    assert_eq!(names(&all, "organizations"), ["Zephyr Ltd"]);
    assert_eq!(all["organizations"]["items"][0]["detail"], "customer");
    let own = search(&t, &parent, "q=ZEPHYR").await;
    assert_eq!(names(&own, "systems"), ["Zephyr near"]);
    assert_eq!(
        (names(&own, "users"), own["users"]["total_count"].clone()),
        (vec!["Zephyr person near".to_owned()], json!(1))
    );
    assert!(!own.to_string().contains("far"), "another branch");
    let by_address = search(&t, &owner, "q=far@zephyr").await;
    assert_eq!(names(&by_address, "users"), ["Zephyr person far"]);

    let some = search(&t, &owner, "q=zephyr&kinds=systems&kinds=nothing&limit=1").await;
    assert_eq!(names(&some, "systems"), ["Zephyr far"]);
    assert_eq!(some["systems"]["total_count"], 2);
    assert!(KINDS.iter().filter(|kind| **kind != "systems").all(|kind| some[*kind].is_null()));
    for blank in ["", "q=", "q=%20", "q=zephyr&kinds=nothing"] {
        let results = search(&t, &owner, blank).await;
        assert!(KINDS.iter().all(|kind| results[*kind].is_null()), "{blank}");
    }
    assert_eq!(search(&t, &owner, "q=%00&limit=900").await["systems"]["total_count"], 0);
});

api_test!(a_kind_is_found_with_its_read_permission_only, |t| async move {
    let tree = t.tree().await;
    for org in [tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let user = t.user(org, &[role]).await;
            let results = search(&t, &user, "q=zz").await;
            for kind in ["users", "systems", "applications"] {
                let list = t.get(&format!("/api/{kind}")).bearer(&user.token).send().await.status;
                assert_eq!(results[kind].is_null(), list != 200, "{kind} as {role}");
            }
        }
    }
});

api_test!(no_more_than_ten_of_a_kind, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    for number in 0..12 {
        let body = json!({"name": format!("Quartz {number:02}"), "organization_id": tree.customer});
        t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
    }
    let results = search(&t, &owner, "q=quartz&limit=50").await;
    assert_eq!(
        (names(&results, "systems").len(), results["systems"]["total_count"].clone()),
        (10, json!(12))
    );
    assert_eq!(names(&results, "systems")[0], "Quartz 00");
    for (limit, most) in [("0", 1), ("-1", 1), ("3", 3), ("99999999999999999999", 10), ("x", 10)] {
        let results = search(&t, &owner, &format!("q=quartz&limit={limit}")).await;
        assert_eq!(names(&results, "systems").len(), most, "{limit}");
    }
});
