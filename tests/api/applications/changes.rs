//! Notes, deletion, assignment; the fate of applications when systems and organizations come and go (spec:
//! applications#operations; guarantees#systems rule 40; organizations#deletion–organizations#destruction).

use super::*;
use crate::systems::futures;

// Proves spec: acceptance#scenarios 30.
api_test!(notes_and_what_is_ignored, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["backoffice"]).await, t.system(tree.customer).await);
    send(&t, &s, cluster(json!([module("mail1", "mail")]))).await;
    let id = id_of(&t, &c, "mail1").await;
    t.advance(Duration::from_secs(60));
    let mut form = data(&t, &c, &format!("/applications/{id}")).await;
    form["notes"] = json!("seen to");
    form["status"] = json!("assigned");
    form["module_id"] = json!("other");
    let shown = put(&t, &c, &id, form.clone()).await;
    let shown = shown.expect_message(200, "application updated successfully").data();
    assert_eq!((&shown["notes"], &shown["status"]), (&json!("seen to"), &json!("unassigned")));
    assert_eq!((&shown["module_id"], &shown["updated_at"]), (&json!("mail1"), &json!(t.app.platform.now())));
    for body in [json!({}), json!({"notes": null})] {
        assert_eq!(put(&t, &c, &id, body).await.expect(200).data(), shown);
    }
    put(&t, &c, &id, json!({"notes": "a\0"})).await.expect_fields(&[("notes", "invalid_format")]);
    put(&t, &c, &id, json!({"notes": "é".repeat(16_385)})).await.expect_fields(&[("notes", "too_long")]);
    put(&t, &c, &id, json!({"notes": 1})).await.expect_fields(&[("notes", "wrong_type")]);
    assert_eq!(put(&t, &c, &id, json!({"notes": ""})).await.expect(200).data()["notes"], Value::Null);
    let (audited,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM audit_log WHERE action = 'application.update'")
            .one(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(audited, 2);
});

api_test!(a_deleted_application_comes_back_with_the_next_inventory, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    let document = cluster(json!([module("mail1", "mail"), module("web1", "web")]));
    send(&t, &s, document.clone()).await;
    let id = id_of(&t, &c, "mail1").await;
    let reply = delete(&t, &c, &format!("/applications/{id}")).await;
    assert_eq!(reply.expect_message(200, "application deleted successfully").data(), Value::Null);
    for call in ["", "/assign", "/unassign"] {
        let path = format!("/api/applications/{id}{call}");
        let reply = match call {
            "" => t.get(&path),
            _ => t.patch(&path),
        };
        reply.bearer(&c.token).send().await.expect_message(404, "application not found");
    }
    delete(&t, &c, &format!("/applications/{id}")).await.expect_message(404, "application not found");
    assert_eq!(total(&t, &c, "").await, 1);
    figures_are_true(&t).await;
    // The very same document: it names the application, so that is back.
    t.advance(Duration::from_secs(60));
    send(&t, &s, document).await;
    assert_eq!(id_of(&t, &c, "mail1").await, id);
    figures_are_true(&t).await;
});

// Proves spec: acceptance#scenarios 30.
api_test!(assignment, |t| async move {
    let tree = t.tree().await;
    let (d, s) = (t.user(tree.distributor, &["admin"]).await, t.system(tree.customer).await);
    send(&t, &s, cluster(json!([module("mail1", "mail")]))).await;
    let id = id_of(&t, &d, "mail1").await;
    let gone = t.organization(tree.reseller, bailiwick_domain::OrgType::Customer, "Gone").await;
    t.delete_organization(gone).await;
    let unknown = t.app.platform.fresh::<OrgId>();
    for to in [json!(tree.other_customer), json!(tree.owner), json!(gone), json!(unknown), json!("x")] {
        let reply = assign(&t, &d, &id, to).await;
        assert_eq!(
            reply.expect_message(403, "access denied: organization not in your hierarchy").data(),
            Value::Null
        );
    }
    for nothing in [json!(null), json!(""), json!("  ")] {
        assign(&t, &d, &id, nothing).await.expect_fields(&[("organization_id", "required")]);
    }
    let path = format!("/api/applications/{id}/assign");
    let empty = t.patch(&path).bearer(&d.token).send().await;
    empty.expect_fields(&[("organization_id", "required")]);
    let broken = t.patch(&path).bearer(&d.token).body("{").send().await;
    broken.expect_message(400, "validation failed");
    t.advance(Duration::from_secs(60));
    for to in [tree.reseller, tree.customer, tree.customer] {
        let reply = assign(&t, &d, &id, to).await.expect_message(200, "organization assigned successfully");
        let shown = reply.data();
        assert_eq!((&shown["status"], &shown["organization_id"]), (&json!("assigned"), &json!(to)));
        assert_eq!(
            (&shown["organization"]["id"], &shown["updated_at"]),
            (&json!(to), &json!(t.app.platform.now()))
        );
        figures_are_true(&t).await;
    }
    let shown = data(&t, &d, &format!("/applications/{id}")).await;
    let organization = json!({"id": tree.customer, "logto_id": tree.customer, "name": "Alfa Customer",
        "description": "", "type": "customer"});
    assert_eq!((&shown["organization"], &shown["organization_type"]), (&organization, &json!("customer")));
    for _ in 0..2 {
        let reply = unassign(&t, &d, &id).await.expect_message(200, "organization unassigned successfully");
        let shown = reply.data();
        assert_eq!((&shown["status"], &shown["organization_id"]), (&json!("unassigned"), &Value::Null));
        assert!(shown.get("organization").is_none() && shown["organization_type"].is_null());
        figures_are_true(&t).await;
    }
});

// Proves spec: acceptance#scenarios 30, guarantees#systems 40.
api_test!(totals_change_in_the_answer_right_after, |t| async move {
    let tree = t.tree().await;
    let (c, s) = (t.user(tree.customer, &["admin"]).await, t.system(tree.customer).await);
    send(&t, &s, cluster(json!([module("mail1", "mail"), module("web1", "web")]))).await;
    let (mail, web) = (id_of(&t, &c, "mail1").await, id_of(&t, &c, "web1").await);
    let totals = async || {
        let all = data(&t, &c, "/applications/totals").await;
        ["total", "unassigned", "assigned"].map(|k| all[k].as_u64().unwrap())
    };
    assert_eq!(totals().await, [2, 2, 0]);
    assign(&t, &c, &mail, tree.customer).await.expect(200);
    assert_eq!(totals().await, [2, 1, 1]);
    delete(&t, &c, &format!("/applications/{web}")).await.expect(200);
    assert_eq!(totals().await, [1, 0, 1]);
    unassign(&t, &c, &mail).await.expect(200);
    assert_eq!(totals().await, [1, 1, 0]);
});

api_test!(foreign_and_absent_are_the_same_bytes, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (s, doomed) = (t.system(tree.other_customer).await, t.system(tree.customer).await);
    send(&t, &s, cluster(json!([module("mail1", "mail")]))).await;
    send(&t, &doomed, cluster(json!([module("web1", "web")]))).await;
    let (foreign, lost) = (id_of(&t, &owner, "mail1").await, id_of(&t, &owner, "web1").await);
    delete(&t, &owner, &format!("/systems/{}", doomed.id)).await.expect(200);
    let c = t.user(tree.customer, &["admin"]).await;
    let absent = get(&t, &c, "/applications/01950000-0000-7000-8000-000000000000").await;
    let absent = absent.expect_message(404, "application not found");
    assert_eq!(absent.text(), r#"{"code":404,"message":"application not found","data":null}"#);
    let older = format!("{}-mail1", s.id);
    for id in [foreign.as_str(), &lost, "nonsense", &older] {
        assert_eq!(get(&t, &c, &format!("/applications/{id}")).await.expect(404).body, absent.body, "{id}");
        assert_eq!(put(&t, &c, id, json!([])).await.expect(404).body, absent.body);
        assert_eq!(delete(&t, &c, &format!("/applications/{id}")).await.expect(404).body, absent.body);
        assert_eq!(assign(&t, &c, id, "x").await.expect(404).body, absent.body);
        assert_eq!(unassign(&t, &c, id).await.expect(404).body, absent.body);
    }
    let reader = t.user(tree.other_customer, &["support"]).await;
    get(&t, &reader, &format!("/applications/{foreign}")).await.expect(200);
    for reply in [
        put(&t, &reader, &foreign, json!({})).await,
        delete(&t, &reader, &format!("/applications/{foreign}")).await,
        assign(&t, &reader, &foreign, tree.other_customer).await,
        unassign(&t, &reader, &foreign).await,
    ] {
        reply.expect_message(403, "insufficient permissions");
    }
});

api_test!(applications_come_and_go_with_their_system, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let hidden = json!({"id": "loki1", "module": "loki", "certification_level": 5});
    send(&t, &s, cluster(json!([module("mail1", "mail"), module("web1", "web"), hidden]))).await;
    let id = id_of(&t, &owner, "mail1").await;
    assign(&t, &owner, &id, tree.reseller).await.expect(200);
    assign(&t, &owner, &format!("{}-loki1", s.id), tree.reseller).await.expect(200);
    let counts = async || {
        figures_are_true(&t).await;
        let totals = data(&t, &owner, "/applications/totals").await;
        let summary = data(&t, &owner, "/applications/summary").await;
        let stats = data(&t, &owner, &format!("/resellers/{}/stats", tree.reseller)).await;
        assert_eq!(
            (&totals["total"], total(&t, &owner, "").await),
            (&summary["total"], summary["total"].as_u64().unwrap())
        );
        (totals["total"].as_u64().unwrap(), stats["applications_count"].as_u64().unwrap())
    };
    let path = format!("/systems/{}", s.id);
    assert_eq!(counts().await, (2, 2));
    delete(&t, &owner, &path).await.expect(200);
    assert_eq!(counts().await, (0, 0));
    t.patch(&format!("/api{path}/restore")).bearer(&owner.token).send().await.expect(200);
    assert_eq!(counts().await, (2, 2));
    // With its organization: the assignment to another one does not keep it.
    for (what, expected) in [("delete", (0, 0)), ("restore", (2, 2))] {
        let path = format!("/api/customers/{}", tree.customer);
        let call = if what == "delete" { t.delete(&path) } else { t.patch(&format!("{path}/restore")) };
        call.bearer(&owner.token).send().await.expect(200);
        assert_eq!(counts().await, expected, "{what}");
    }
    delete(&t, &owner, &format!("{path}/destroy")).await.expect(200);
    assert_eq!(counts().await, (0, 0));
    for table in ["applications", "application_hosts", "application_counts", "assignment_counts"] {
        let text = format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table}");
        let (rows,): (i64,) = Q::new(&text).one(&t.app.platform.db).await.unwrap();
        assert_eq!(rows, 0, "{table}");
    }
});

api_test!(a_destroyed_organization_takes_its_assignments_along, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (s, inside) = (t.system(tree.other_customer).await, t.system(tree.customer).await);
    send(&t, &s, cluster(json!([module("mail1", "mail"), module("web1", "web"), module("a1", "a")]))).await;
    send(&t, &inside, cluster(json!([module("in1", "in")]))).await;
    let (mail, web) = (id_of(&t, &owner, "mail1").await, id_of(&t, &owner, "web1").await);
    assign(&t, &owner, &mail, tree.customer).await.expect(200);
    assign(&t, &owner, &web, tree.other_reseller).await.expect(200);
    let in1 = id_of(&t, &owner, "in1").await;
    assign(&t, &owner, &in1, tree.other_reseller).await.expect(200);
    t.advance(Duration::from_secs(60));
    delete(&t, &owner, &format!("/resellers/{}/destroy", tree.reseller)).await.expect(200);
    let shown = data(&t, &owner, &format!("/applications/{mail}")).await;
    assert_eq!(
        (&shown["status"], &shown["updated_at"]),
        (&json!("unassigned"), &json!(t.app.platform.now()))
    );
    assert_eq!(data(&t, &owner, &format!("/applications/{web}")).await["status"], "assigned");
    get(&t, &owner, &format!("/applications/{in1}")).await.expect(404);
    let totals = data(&t, &owner, "/applications/totals").await;
    assert_eq!((&totals["total"], &totals["assigned"]), (&json!(3), &json!(1)));
    figures_are_true(&t).await;
});

api_test!(figures_stay_true_when_everybody_writes_at_once, |t| async move {
    let tree = t.tree().await;
    let (d, s) = (t.user(tree.distributor, &["admin"]).await, t.system(tree.customer).await);
    let modules: Vec<Value> = (0..6).map(|n| module(&format!("m{n}"), &format!("kind{}", n % 2))).collect();
    send(&t, &s, cluster(json!(modules))).await;
    let rows = by_module(&t, &d, "").await;
    let ids: Vec<String> = rows.values().map(|r| r["id"].as_str().unwrap().to_owned()).collect();
    let targets = [tree.customer, tree.reseller, tree.distributor];
    let replies = futures(24, |n| {
        let (t, d, s, ids, modules) = (&t, &d, &s, &ids, &modules);
        async move {
            let id = &ids[n % ids.len()];
            match n % 4 {
                0 => assign(t, d, id, targets[n % 3]).await.status.as_u16(),
                1 => unassign(t, d, id).await.status.as_u16(),
                2 => delete(t, d, &format!("/applications/{id}")).await.status.as_u16(),
                _ => {
                    send(t, s, cluster(json!(modules[..=n % 6]))).await;
                    200
                }
            }
        }
    })
    .await;
    assert!(replies.iter().all(|status| [200, 404].contains(status)), "{replies:?}");
    figures_are_true(&t).await;
});
