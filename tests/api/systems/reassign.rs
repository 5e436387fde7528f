//! A system goes to another organization (spec: systems#reassignment; alert-management#handling;
//! authorization#object-rules).

use super::{backups::stored, lifecycle::counters_are_true, *};
use crate::applications::figures_are_true;
use bailiwick_alerts::{self as alerts, Sender, liveness_monitor};
use bailiwick_fleet::inventory;
use bailiwick_identity::credentials;
use bailiwick_store::leases;
use bailiwick_testkit::{
    eventually,
    seed::{Seeded, Tree},
};

mod backups;
mod races;

const MOVED: &str = "system updated successfully";
const RIVAL: &str = "system reassignment is already in progress";
const ALERTS: &str = "/services/mimir/alertmanager/api/v2";

async fn shift(t: &Test, who: &Persona, system: &Seeded, to: impl serde::Serialize) -> Reply {
    put(t, who, &system.id.to_string(), json!({"organization_id": to})).await
}

async fn cleared(t: &Test) {
    bailiwick_alerts::transfer_cleanup::run_until_idle(&t.app.alerts).await.unwrap();
}

/// The records of the moves, by time: from, to, the five numbers.
async fn move_records(t: &Test) -> Vec<(OrgId, OrgId, [i64; 5])> {
    let rows: Vec<(uuid::Uuid, uuid::Uuid, i64, i64, i64, i64, i64)> = Q::new(
        "SELECT from_org_id, to_org_id, backups_copied, backups_deleted, silences_cleared, history_rows_reassigned, \
         apps_unassigned FROM system_reassignments ORDER BY occurred_at, id",
    )
    .all(&t.app.platform.db)
    .await
    .unwrap();
    rows.into_iter().map(|r| (OrgId(r.0), OrgId(r.1), [r.2, r.3, r.4, r.5, r.6])).collect()
}

async fn home_of(t: &Test, system: &Seeded) -> Value {
    let owner = t.owner().await;
    get(t, &owner, &format!("/{}", system.id)).await.expect(200).data()["organization"]["id"].clone()
}

async fn document(t: &Test, system: &Seeded, modules: Value) {
    let body = json!({"installation": "nethserver", "facts": {"modules": modules}});
    let call = t.post("/systems/inventory").basic(&system.key, &system.secret).json(body);
    call.send().await.expect(202);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
}

fn module(id: &str) -> Value {
    json!({"id": id, "module": "mail", "name": "Mail", "version": "1.0", "certification_level": 5, "node": "1"})
}

async fn assign(t: &Test, who: &Persona, system: &Seeded, module: &str, to: OrgId) {
    let path = format!("/api/applications/{}-{module}/assign", system.id);
    t.patch(&path).bearer(&who.token).json(json!({"organization_id": to})).send().await.expect(200);
}

// Proves spec: acceptance#scenarios 25.
api_test!(a_move_is_checked_in_order, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let gone = t.organization(tree.reseller, OrgType::Customer, "Gone").await;
    t.delete_organization(gone).await;
    let made = made(&t, &d, tree.customer, "S").await;
    let id = text(&made, "id");
    let to = |org: Value| json!({"organization_id": org, "name": " "});
    // An organization that cannot be, then the state of the system, then the other fields, then rivals.
    let unknown = t.app.platform.fresh::<OrgId>();
    for org in [json!(tree.other_customer), json!(tree.owner), json!(gone), json!(unknown), json!("x")] {
        let refused = put(&t, &d, id, to(org)).await;
        let refused = refused.expect_message(403, "access denied: organization not in your hierarchy");
        assert_eq!(refused.data(), Value::Null);
    }
    let refused = put(&t, &d, id, to(json!(tree.reseller))).await;
    refused.expect_fields(&[("organization_id", "system_not_registered")]);
    register(&t, text(&made, "system_secret")).await.expect(200);
    put(&t, &d, id, to(json!(tree.reseller))).await.expect_fields(&[("name", "required")]);
    let (name, holder, now) = (format!("reassignment:{id}"), t.app.platform.fresh(), t.app.platform.now());
    let until = now.plus(Duration::from_secs(300));
    assert!(leases::take(&t.app.platform.db, &name, holder, now, until).await.unwrap());
    let rival = put(&t, &d, id, json!({"organization_id": tree.reseller})).await;
    let rival = rival.expect_message(409, RIVAL);
    assert_eq!(rival.data(), json!({"type": "validation_error", "errors": []}));
    // A change that is no move needs no lock. The same organization is no move, however it is written.
    let upper = tree.customer.to_string().to_uppercase();
    for same in [json!(upper), json!(""), Value::Null, json!(tree.customer)] {
        put(&t, &d, id, json!({"organization_id": same})).await.expect(200);
    }
    assert_eq!(get(&t, &d, &format!("/{id}")).await.data()["organization"]["id"], json!(tree.customer));
    assert_eq!(move_records(&t).await, []);
    // The lock ends by itself.
    t.advance(Duration::from_secs(300));
    let answer = put(&t, &d, id, json!({"organization_id": tree.reseller, "name": "Moved"})).await;
    let moved = answer.expect_message(200, MOVED).data();
    assert_eq!((&moved["name"], &moved["updated_at"]), (&json!("Moved"), &json!(t.app.platform.now())));
    let home =
        json!({"id": tree.reseller, "logto_id": tree.reseller, "name": "Alfa Reseller", "type": "reseller"});
    assert_eq!(moved["organization"], home);
    assert_eq!(get(&t, &d, &format!("/{id}")).await.expect(200).data(), moved);
    cleared(&t).await;
    let sql = "SELECT COUNT(*) FROM leases WHERE name LIKE 'reassignment:%' OR name LIKE 'clearing:%'";
    assert_eq!(Q::new(sql).count(&t.app.platform.db).await.unwrap(), 0);
});

api_test!(who_may_not_change_a_system_does_not_move_it, |t| async move {
    let tree = t.tree().await;
    let (system, foreign) = (t.system(tree.customer).await, t.system(tree.other_customer).await);
    let c = t.user(tree.customer, &["admin"]).await;
    let reader = t.user(tree.distributor, &["reader"]).await;
    shift(&t, &reader, &system, tree.reseller).await.expect_message(403, "insufficient permissions");
    shift(&t, &c, &foreign, tree.customer).await.expect_message(404, "system not found");
    // A customer has nowhere to move it to.
    for to in [tree.reseller, tree.distributor, tree.owner, tree.other_customer] {
        let refused = shift(&t, &c, &system, to).await;
        refused.expect_message(403, "access denied: organization not in your hierarchy");
    }
    let owner = t.owner().await;
    shift(&t, &owner, &system, tree.owner).await.expect_message(200, MOVED);
    assert_eq!(home_of(&t, &system).await, json!(tree.owner));
    counters_are_true(&t).await;
});

// Who has lost a system is nothing to the ones who have got it.
api_test!(people_and_names_of_the_former_branch_are_not_shown, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let former = t.user(tree.reseller, &["admin"]).await;
    let made = made(&t, &former, tree.customer, "Wanderer").await;
    let (id, secret) = (made["id"].as_str().unwrap(), made["system_secret"].as_str().unwrap());
    let call = t.post("/systems/register").json(json!({"system_secret": secret}));
    let key = call.send().await.expect(200).data()["system_key"].as_str().unwrap().to_owned();
    let alert = |labels: Value| json!([{"labels": labels, "endsAt": t.app.platform.now().plus(Duration::from_secs(60))}]);
    let push = t.post(&format!("{ALERTS}/alerts")).basic(&key, secret);
    push.json(alert(json!({"alertname": "A", "severity": "critical"}))).send().await.expect(200);
    let history = "/api/alerts/history?status=firing";
    eventually("the alert is in the history", async || {
        let listed = t.get(history).bearer(&former.token).send().await;
        listed.data()["pagination"]["total_count"] == 1
    })
    .await;
    let near = get(&t, &former, &format!("/{id}")).await.expect(200).data();
    assert_eq!(near["created_by"]["user_id"], json!(former.id));
    put(&t, &owner, id, json!({"organization_id": tree.other_customer})).await.expect_message(200, MOVED);
    cleared(&t).await;
    let traces = [
        former.id.to_string(),
        tree.reseller.to_string(),
        tree.customer.to_string(),
        "Alfa Reseller".to_owned(),
        "Alfa Customer".to_owned(),
        near["created_by"]["email"].as_str().unwrap().to_owned(),
    ];
    for organization in [tree.other_distributor, tree.other_customer] {
        let who = t.user(organization, &["admin"]).await;
        for path in [
            format!("/systems/{id}"),
            "/systems".to_owned(),
            "/systems?cursor=".to_owned(),
            "/systems?search=Wanderer".to_owned(),
            "/systems/export?format=csv".to_owned(),
            "/search?q=Wanderer".to_owned(),
            "/filters/systems".to_owned(),
            "/alerts/history?status=firing&status=resolved".to_owned(),
            format!("/systems/{id}/alerts/history?status=firing&status=resolved"),
        ] {
            let reply = t.get(&format!("/api{path}")).bearer(&who.token).send().await.expect(200);
            let found: Vec<_> = traces.iter().filter(|trace| reply.text().contains(*trace)).collect();
            assert!(found.is_empty(), "{path} shows {found:?}: {}", reply.text());
        }
        let changed = put(&t, &who, id, json!({"notes": "ours"})).await.expect(200);
        assert_eq!(changed.data()["created_by"]["name"], "");
        // No filter and no search reveals whether a guess is right.
        for guess in [&near["created_by"]["email"], &near["created_by"]["name"]] {
            let path = format!("/api/systems?search={}", guess.as_str().unwrap().replace(' ', "%20"));
            let listed = t.get(&path).bearer(&who.token).send().await.expect(200).data();
            assert_eq!(listed["systems"], json!([]), "{path}");
        }
        for guess in [former.id.to_string(), tree.reseller.to_string()] {
            for end in ["", "&cursor=", "&sort_by=status"] {
                let path = format!("/api/systems?created_by={guess}{end}");
                let listed = t.get(&path).bearer(&who.token).send().await.expect(200).data();
                assert_eq!(listed["systems"], json!([]), "{path}");
            }
        }
    }
    assert_eq!(get(&t, &owner, &format!("/{id}")).await.data()["created_by"], near["created_by"]);
});

// As after a move: the creator's organization is in another branch from the start.
api_test!(a_creator_in_another_branch_is_not_found_by, |t| async move {
    let tree = t.tree().await;
    let (d, c) = (t.user(tree.distributor, &["admin"]).await, t.user(tree.customer, &["admin"]).await);
    let beside = t.organization(tree.distributor, OrgType::Reseller, "Beside").await;
    for (creator, found) in [(beside, 0), (tree.reseller, 1)] {
        let body =
            json!({"name": "S", "organization_id": tree.customer, "created_by_organization_id": creator});
        let made = post(&t, &d, body).await.expect(201).data();
        let (id, email) = (text(&made, "id"), text(&made["created_by"], "email"));
        let shown = get(&t, &c, &format!("/{id}")).await.expect(200).data();
        assert_eq!(shown["created_by"]["email"], if found == 0 { "" } else { email });
        assert_eq!(count(&t, &c, &format!("?search={email}")).await, found, "{creator}");
    }
});

api_test!(what_the_new_organization_is_the_system_becomes, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    let beat = async || t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await;
    beat().await.expect(200);
    // A suspended organization takes systems, as it does when they are created; the very next call is refused.
    t.suspend_organization(tree.other_reseller).await;
    let moved = shift(&t, &owner, &system, tree.other_customer).await.expect_message(200, MOVED).data();
    assert_eq!(
        (&moved["status"], &moved["suspended_by_org_id"]),
        (&json!("suspended"), &json!(tree.other_reseller))
    );
    beat().await.expect_message(401, "invalid system credentials");
    // Back: its status follows from its heartbeat, which has not moved.
    let back = shift(&t, &owner, &system, tree.customer).await.expect(200).data();
    assert_eq!((&back["status"], &back["last_heartbeat"]), (&json!("active"), &json!(t.app.platform.now())));
    beat().await.expect(200);
    // Deleted organizations take none, and a deleted system goes nowhere.
    t.delete_organization(tree.other_reseller).await;
    let refused = shift(&t, &owner, &system, tree.other_customer).await;
    refused.expect_message(403, "access denied: organization not in your hierarchy");
    t.delete_system(system.id).await;
    shift(&t, &owner, &system, tree.reseller).await.expect_message(404, "system not found");
    counters_are_true(&t).await;
});

/// Every number and list of systems and applications a person sees.
async fn views(t: &Test, who: &Persona) -> Vec<(String, Value)> {
    let mut views = Vec::new();
    for path in [
        "/systems",
        "/systems?status=active",
        "/systems/totals",
        "/systems/trend",
        "/filters/systems",
        "/applications",
        "/applications/totals",
        "/applications/summary",
        "/applications/trend",
        "/filters/applications",
        "/customers",
    ] {
        let data = t.get(&format!("/api{path}")).bearer(&who.token).send().await.expect(200).data();
        views.push((path.to_owned(), data));
    }
    let csv = t.get("/api/systems/export?format=csv").bearer(&who.token).send().await.expect(200);
    views.push(("export".to_owned(), json!(csv.text())));
    views
}

async fn stats(t: &Test, who: &Persona, family: &str, org: OrgId) -> (Value, Value) {
    let path = format!("/api/{family}/{org}/stats");
    let data = t.get(&path).bearer(&who.token).send().await.expect(200).data();
    (data["systems_count"].clone(), data["applications_count"].clone())
}

/// A system with everything that can hang on it, in the customer; and one beside it.
async fn furnished(t: &Test, tree: &Tree) -> Seeded {
    let owner = t.owner().await;
    let (system, beside) = (t.system(tree.customer).await, t.system(tree.customer).await);
    for s in [&system, &beside] {
        t.post("/systems/heartbeat").basic(&s.key, &s.secret).send().await.expect(200);
        document(t, s, json!([module("mail1"), module("mail2"), module("mail3")])).await;
        assign(t, &owner, s, "mail1", tree.customer).await;
        assign(t, &owner, s, "mail2", tree.reseller).await;
    }
    // Assigned, and not in the newest document.
    document(t, &system, json!([module("mail1"), module("mail3")])).await;
    system
}

// Proves spec: acceptance#scenarios 25, authorization#guarantees 28.
api_test!(everything_of_a_system_goes_along_with_it, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    // Before: the view of the old side without the system, and of the new side with it.
    let empty = views(&t, &t.user(tree.other_reseller, &["admin"]).await).await;
    let system = furnished(&t, &tree).await;
    stored(&t, &system, "ciphertext").await;
    let (old, new) = (t.user(tree.reseller, &["admin"]).await, t.user(tree.other_reseller, &["admin"]).await);
    let application = {
        let answer = t.get(&format!("/api/applications/{}-mail1", system.id)).bearer(&old.token).send().await;
        text(&answer.expect(200).data(), "id").to_owned()
    };
    let before = get(&t, &old, &format!("/{}", system.id)).await.expect(200).data();
    let call = t.put(&format!("/api/systems/{}", system.id)).bearer(&owner.token);
    let call = call.header("user-agent", "browser/1.0").from("192.0.2.7");
    call.json(json!({"organization_id": tree.other_customer})).send().await.expect_message(200, MOVED);
    figures_are_true(&t).await;
    counters_are_true(&t).await;
    // The very next look: the old side has lost every path to it, the new side has them all.
    let missing = get(&t, &old, "/01950000-0000-7000-8000-000000000000").await.expect(404).body;
    let (of_system, of_application) =
        (format!("/systems/{}", system.id), format!("/applications/{application}"));
    for path in ["", "/inventory", "/inventory/latest", "/inventory/diffs", "/backups"] {
        let path = format!("/api{of_system}{path}");
        let foreign = t.get(&path).bearer(&old.token).send().await.expect(404);
        assert_eq!(foreign.body, missing, "{path}");
        t.get(&path).bearer(&new.token).send().await.expect(200);
    }
    t.get(&format!("/api{of_application}")).bearer(&old.token).send().await.expect(404);
    let answer = t.get(&format!("/api{of_application}")).bearer(&new.token).send().await.expect(200).data();
    assert_eq!((&answer["status"], answer.get("organization")), (&json!("unassigned"), None));
    for (path, data) in views(&t, &old).await {
        for word in [system.id.to_string(), application.clone(), system.key.clone()] {
            assert!(!data.to_string().contains(&word), "{path}: {data}");
        }
    }
    let fresh = views(&t, &new).await;
    assert_ne!(fresh, empty);
    let totals = |views: &[(String, Value)], path: &str| {
        views.iter().find(|(p, _)| p == path).unwrap().1["total"].clone()
    };
    let left = views(&t, &old).await;
    assert_eq!((totals(&left, "/systems/totals"), totals(&fresh, "/systems/totals")), (json!(1), json!(1)));
    assert_eq!(
        (totals(&left, "/applications/totals"), totals(&fresh, "/applications/totals")),
        (json!(3), json!(2))
    );
    assert_eq!(stats(&t, &old, "customers", tree.customer).await, (json!(1), json!(1)));
    assert_eq!(stats(&t, &new, "customers", tree.other_customer).await, (json!(1), json!(0)));
    // Inventory, heartbeat, key and secret are unchanged; its own tenant is the new one.
    let after = get(&t, &new, &format!("/{}", system.id)).await.expect(200).data();
    for key in ["system_key", "registered_at", "last_heartbeat", "last_inventory", "created_by", "created_at"]
    {
        assert_eq!(after[key], before[key], "{key}");
    }
    let info = t.get("/systems/info").basic(&system.key, &system.secret).send().await.expect(200).data();
    assert_eq!(info["organization"]["id"], json!(tree.other_customer));
    // An application that had disappeared comes back without its assignment.
    document(&t, &system, json!([module("mail1"), module("mail2"), module("mail3")])).await;
    let back = t.get(&format!("/api/applications/{}-mail2", system.id)).bearer(&new.token).send().await;
    assert_eq!(back.expect(200).data()["status"], "unassigned");
    figures_are_true(&t).await;
    cleared(&t).await;
    assert_eq!(move_records(&t).await, [(tree.customer, tree.other_customer, [1, 1, 0, 0, 2])]);
    let actor: (uuid::Uuid, String, uuid::Uuid, String, String, String) = Q::new(
        "SELECT actor_user_id, actor_user_email, actor_organization_id, actor_ip, user_agent, system_key \
         FROM system_reassignments",
    )
    .one(&t.app.platform.db)
    .await
    .unwrap();
    let expected = (
        owner.id.0,
        "owner@example.org".to_owned(),
        tree.owner.0,
        "192.0.2.7".to_owned(),
        "browser/1.0".to_owned(),
        system.key.clone(),
    );
    assert_eq!(actor, expected);
    let audited: Vec<(Value, Value)> =
        Q::new("SELECT before, after FROM audit_log WHERE action = 'system.reassign'")
            .all(&t.app.platform.db)
            .await
            .unwrap();
    let [(from, to)] = audited.as_slice() else { panic!("{audited:?}") };
    assert_eq!(
        (&from["organization_id"], &to["organization_id"]),
        (&json!(tree.customer), &json!(tree.other_customer))
    );
    // The row outlives everything it names.
    t.delete(&format!("/api{of_system}/destroy")).bearer(&owner.token).send().await.expect(200);
    let path = format!("/api/distributors/{}/destroy", tree.distributor);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    cleared(&t).await;
    assert_eq!(move_records(&t).await, [(tree.customer, tree.other_customer, [1, 1, 0, 0, 2])]);
});

/// The system's own active alerts or silences.
async fn own(t: &Test, system: &Seeded, what: &str) -> Vec<Value> {
    let reply =
        t.get(&format!("{ALERTS}/{what}")).basic(&system.key, &system.secret).send().await.expect(200);
    let all = reply.json().as_array().unwrap().clone();
    all.into_iter().filter(|one| one["status"]["state"] != "expired").collect()
}

/// How many alerts and silences are active in a tenant.
async fn in_force(t: &Test, tenant: OrgId) -> (u64, u64) {
    let count = async |table: &str| {
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE organization_id = ? AND ends_at > ?");
        Q::new(&sql).bind(tenant).bind(t.app.platform.now().0).count(&t.app.platform.db).await.unwrap()
    };
    (count("router_alerts").await, count("router_silences").await)
}

fn silence(matchers: Value) -> Value {
    json!({"matchers": matchers, "startsAt": "2026-03-01T00:00:00Z", "endsAt": "2026-12-01T00:00:00Z", "createdBy": "me",
        "comment": ""})
}

api_test!(alerts_and_silences_end_in_the_tenant_that_was_left, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (system, beside) = (t.system(tree.customer).await, t.system(tree.customer).await);
    let post = |s: &Seeded, what: &str, body: Value| {
        t.post(&format!("{ALERTS}/{what}")).basic(&s.key, &s.secret).json(body).send()
    };
    let alert = |name: &str| json!([{"labels": {"alertname": name, "severity": "warning"}}]);
    for s in [&system, &beside] {
        post(s, "alerts", alert("DiskFull")).await.expect(200);
        post(s, "alerts", alert("BackupFailed")).await.expect(200);
        let own = json!([{"name": "system_key", "value": s.key, "isRegex": false}]);
        post(s, "silences", silence(own)).await.expect(200);
        let one = json!([{"name": "alertname", "value": "DiskFull", "isRegex": false}]);
        post(s, "silences", silence(one)).await.expect(200);
    }
    assert_eq!(in_force(&t, tree.customer).await, (4, 4));
    // A push that was let in before the move and is stored after it.
    let basic = base64::Engine::encode(
        &base64::prelude::BASE64_STANDARD,
        format!("{}:{}", system.key, system.secret),
    );
    let header = format!("Basic {basic}");
    let early = credentials::authenticate_system(&t.app.identity, Some(&header), [192, 0, 2, 1].into())
        .await
        .unwrap();
    shift(&t, &owner, &system, tree.other_customer).await.expect_message(200, MOVED);
    cleared(&t).await;
    t.advance(Duration::from_secs(1));
    // Only the silence about the whole system ends; the one beside it keeps everything.
    assert_eq!(in_force(&t, tree.customer).await, (2, 3));
    assert_eq!((own(&t, &beside, "alerts").await.len(), own(&t, &beside, "silences").await.len()), (2, 2));
    assert_eq!((own(&t, &system, "alerts").await.len(), own(&t, &system, "silences").await.len()), (0, 0));
    assert_eq!(move_records(&t).await, [(tree.customer, tree.other_customer, [0, 0, 1, 2, 0])]);
    let router = t.app.alerts.state.router_for_worker();
    let late = alert("Late").to_string();
    alerts::push_alerts(&t.app.alerts, &router, &Sender::new(&early, "r"), late.as_bytes()).await.unwrap();
    assert_eq!(in_force(&t, tree.customer).await, (3, 3));
    // Its alerts from now on are in the new tenant, and stay there when the old one is read again.
    post(&system, "alerts", alert("DiskFull")).await.expect(200);
    assert_eq!(in_force(&t, tree.other_customer).await, (1, 0));
    let fired = own(&t, &system, "alerts").await;
    assert_eq!(fired[0]["labels"]["organization_id"], json!(tree.other_customer));
    t.advance(Duration::from_secs(120));
    cleared(&t).await;
    t.advance(Duration::from_secs(1));
    assert_eq!(
        (in_force(&t, tree.customer).await, in_force(&t, tree.other_customer).await),
        ((2, 3), (1, 0))
    );
    let (jobs,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM jobs").one(&t.app.platform.db).await.unwrap();
    assert_eq!(jobs, 0);
    // The system comes back while the service still looks at the old tenant: an alert that fires there now is right.
    let owner = t.owner().await;
    shift(&t, &owner, &system, tree.customer).await.expect(200);
    cleared(&t).await;
    shift(&t, &owner, &system, tree.other_customer).await.expect(200);
    post(&system, "alerts", alert("Again")).await.expect(200);
    t.advance(Duration::from_secs(120));
    cleared(&t).await;
    t.advance(Duration::from_secs(1));
    assert_eq!(own(&t, &system, "alerts").await.len(), 1);
});

api_test!(
    // Proves spec: guarantees#systems 37.
    a_link_alert_is_resolved_where_it_was_raised_and_raised_where_the_system_is,
    |t| async move {
        let tree = t.tree().await;
        let system = t.system(tree.customer).await;
        t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
        t.advance(Duration::from_secs(20 * 60));
        assert_eq!(liveness_monitor::check(&t.app.alerts).await.unwrap().posted, 1);
        assert_eq!(in_force(&t, tree.customer).await, (1, 0));
        let owner = t.owner().await;
        shift(&t, &owner, &system, tree.other_customer).await.expect(200);
        // The next check does both, whether or not the old tenant has been cleared.
        let checked = liveness_monitor::check(&t.app.alerts).await.unwrap();
        assert_eq!((checked.posted, checked.resolved), (1, 1));
        t.advance(Duration::from_secs(1));
        assert_eq!(
            (in_force(&t, tree.customer).await, in_force(&t, tree.other_customer).await),
            ((0, 0), (1, 0))
        );
        cleared(&t).await;
        assert_eq!(
            (in_force(&t, tree.customer).await, in_force(&t, tree.other_customer).await),
            ((0, 0), (1, 0))
        );
        let checked = liveness_monitor::check(&t.app.alerts).await.unwrap();
        assert_eq!((checked.posted, checked.resolved), (0, 0));
    }
);
