//! Who may read which rows of the audit record (spec: audit#list).

use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

async fn page(t: &Test, who: &Persona, query: &str) -> Value {
    t.get(&format!("/api/audit?{query}")).bearer(&who.token).send().await.expect(200).data()
}

fn actions(page: &Value) -> Vec<&str> {
    page["audit"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect()
}

/// A system that this person makes; its id.
async fn system(t: &Test, who: &Persona, organization: bailiwick_domain::OrgId) -> String {
    t.advance(Duration::from_secs(1));
    let body = json!({"name": format!("Made by {}", who.id), "organization_id": organization});
    let made = t.post("/api/systems").bearer(&who.token).json(body).send().await.expect(201).data();
    made["id"].as_str().unwrap().to_owned()
}

api_test!(a_branch_reads_what_was_done_with_its_own_rights, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let distributor = t.user(tree.distributor, &["super"]).await;
    let reseller = t.user(tree.reseller, &["admin"]).await;
    let customer = t.user(tree.customer, &["admin"]).await;
    let other = t.user(tree.other_distributor, &["super"]).await;
    let mut made = Vec::new();
    for (who, organization) in [
        (&owner, tree.customer),
        (&distributor, tree.customer),
        (&reseller, tree.customer),
        (&customer, tree.customer),
        (&other, tree.other_customer),
    ] {
        made.push(system(&t, who, organization).await);
    }
    let created = async |who: &Persona| {
        let answer = page(&t, who, "action=system.create&page_size=100").await;
        let rows = answer["audit"].as_array().unwrap().clone();
        let ids: Vec<usize> = rows
            .iter()
            .filter_map(|row| made.iter().position(|id| row["object_id"].as_str() == Some(id)))
            .collect();
        ids
    };
    assert_eq!(created(&owner).await, [4, 3, 2, 1, 0], "the newest first");
    assert_eq!(created(&distributor).await, [3, 2, 1]);
    assert_eq!(created(&reseller).await, [3, 2]);
    assert_eq!(created(&customer).await, [3]);
    assert_eq!(created(&other).await, [4]);

    let row = page(&t, &reseller, &format!("object_id={}", made[2])).await["audit"][0].clone();
    assert_eq!(row["actor"]["id"], json!(reseller.id));
    assert_eq!((&row["organization"]["id"], &row["object_type"]), (&json!(tree.reseller), &json!("system")));
    assert_eq!((&row["before"], &row["acting_for"]), (&Value::Null, &Value::Null));
    assert!(row["after"]["name"].as_str().unwrap().starts_with("Made by"), "{row}");
});

api_test!(the_rows_of_users_with_more_rights_are_left_out, |t| async move {
    let tree = t.tree().await;
    let above = t.user(tree.distributor, &["super"]).await;
    let support = t.user(tree.distributor, &["support"]).await;
    let reader = t.user(tree.distributor, &["reader"]).await;
    let by_above = system(&t, &above, tree.customer).await;
    let by_support = system(&t, &support, tree.customer).await;
    let objects = async |who: &Persona| {
        let reply = t.get("/api/audit?action=system.create").bearer(&who.token).send().await;
        if reply.status != 200 {
            reply.expect_message(403, "insufficient permissions");
            return None;
        }
        let rows = reply.data()["audit"].as_array().unwrap().clone();
        Some(rows.into_iter().map(|row| row["object_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(objects(&above).await.unwrap(), [by_support.clone(), by_above.clone()]);
    if let Some(listed) = objects(&support).await {
        assert!(!listed.contains(&by_above) && listed.contains(&by_support));
    }
    if let Some(listed) = objects(&reader).await {
        assert!(listed.is_empty(), "{listed:?}");
    }
    let backoffice = t.user(tree.distributor, &["backoffice"]).await;
    if let Some(listed) = objects(&backoffice).await {
        assert!(!listed.contains(&by_above));
    }
});

api_test!(filters_narrow_and_a_cursor_goes_on, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(system(&t, &owner, tree.customer).await);
    }
    let body = json!({"name": "Renamed"});
    t.put(&format!("/api/systems/{}", made[0])).bearer(&owner.token).json(body).send().await.expect(200);
    let of_system = format!("object_id={}", made[0]);
    let rows = page(&t, &owner, &of_system).await;
    assert_eq!(actions(&rows), ["system.update", "system.create"]);
    assert_eq!((&rows["audit"][0]["after"]["name"], &rows["next_cursor"]), (&json!("Renamed"), &Value::Null));
    assert_eq!(
        actions(&page(&t, &owner, &format!("{of_system}&action=system.create")).await),
        ["system.create"]
    );
    let filter = format!("actor_id={}&action=system.create", owner.id);
    assert_eq!(actions(&page(&t, &owner, &filter).await).len(), 5);
    let created_at = rows["audit"][1]["created_at"].as_str().unwrap().to_owned();
    assert_eq!(
        actions(&page(&t, &owner, &format!("{of_system}&from_date={created_at}&to_date={created_at}")).await),
        ["system.create"]
    );
    for nothing in ["object_id=x", "actor_id=x", "action=%00", "cursor=x", "action=system"] {
        assert!(actions(&page(&t, &owner, nothing).await).is_empty(), "{nothing}");
    }

    // Neither ids nor cursors reveal how many rows there are.
    let id = rows["audit"][1]["id"].as_str().unwrap();
    assert_eq!(page(&t, &owner, &format!("{of_system}&action=system.create")).await["audit"][0]["id"], id);
    assert!(id.parse::<uuid::Uuid>().is_ok() && rows["audit"][0]["id"] != id, "{id}");

    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let answer = page(&t, &owner, &format!("action=system.create&page_size=2&cursor={cursor}")).await;
        let other = page(&t, &owner, &format!("action=system.create&page_size=2&cursor=1{cursor}")).await;
        assert!(actions(&other).is_empty(), "a cursor is taken as it was given, or not at all");
        all.extend(
            answer["audit"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["object_id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = answer["next_cursor"].as_str() else { break };
        cursor = next.to_owned();
    }
    made.reverse();
    assert_eq!(all, made);
});

api_test!(the_rows_of_a_promoted_reseller_go_with_it, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let before = t.user(tree.distributor, &["super"]).await;
    let reseller = t.user(tree.reseller, &["admin"]).await;
    let made = system(&t, &reseller, tree.customer).await;
    let filter = format!("object_id={made}");
    assert_eq!(actions(&page(&t, &before, &filter).await).len(), 1);
    t.patch(&format!("/api/resellers/{}/promote", tree.reseller))
        .bearer(&owner.token)
        .send()
        .await
        .expect(200);
    assert!(actions(&page(&t, &before, &filter).await).is_empty());
    let promoted = t.session(reseller.id).await;
    assert_eq!(actions(&page(&t, &promoted, &filter).await).len(), 1);
});

api_test!(an_impersonator_from_elsewhere_is_not_named, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["admin"]).await;
    let consent = t.post("/api/impersonate/consent").bearer(&target.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    let started = t.post("/api/impersonate").bearer(&actor.token).json(json!({"user_id": target.id}));
    let token = started.send().await.expect(200).data()["token"].as_str().map(str::to_owned);
    let started = token.expect("an access token");
    let body = json!({"name": "Made in their name", "organization_id": tree.customer});
    let made = t.post("/api/systems").bearer(&started).json(body).send().await.expect(201).data();
    let filter = format!("object_id={}", made["id"].as_str().unwrap());
    let near = page(&t, &target, &filter).await["audit"][0].clone();
    assert_eq!((&near["actor"], &near["acting_for"]["id"]), (&Value::Null, &json!(target.id)));
    let above = page(&t, &actor, &filter).await["audit"][0].clone();
    assert_eq!((&above["actor"]["id"], &above["acting_for"]["id"]), (&json!(actor.id), &json!(target.id)));
});
