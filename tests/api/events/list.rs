//! Which events there are, in which order, and for whom.

use super::{act, read, settle, types};
use bailiwick_alerts::liveness_monitor;
use bailiwick_domain::{OrgId, SortDirection};
use bailiwick_events as events;
use bailiwick_fleet::inventory;
use bailiwick_policy::KeyMode;
use bailiwick_store::{
    events::{About, NewEvent},
    sql::Q,
};
use bailiwick_testkit::{Engine, Persona, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

async fn life(t: &Test, who: &Persona, path: &str) {
    for (method, verb) in [
        ("PATCH", "/suspend"),
        ("PATCH", "/reactivate"),
        ("DELETE", ""),
        ("PATCH", "/restore"),
        ("DELETE", "/destroy"),
    ] {
        act(t, who, method, &format!("{path}{verb}"), Value::Null).await;
    }
}

const LIFE: [&str; 7] =
    ["created", "updated", "suspended", "reactivated", "deleted", "restored", "destroyed"];

api_test!(every_change_of_organizations_users_and_systems_is_an_event_in_order, |t| async move {
    let owner = t.owner().await;
    let customer = t.tree().await.customer;
    for (family, path) in
        [("distributor", "/distributors"), ("reseller", "/resellers"), ("customer", "/customers")]
    {
        let body = |name: &str| json!({"name": name, "custom_data": {"vat": format!("IT{family}")}});
        let id = act(&t, &owner, "POST", path, body("New")).await["id"].as_str().unwrap().to_owned();
        act(&t, &owner, "PUT", &format!("{path}/{id}"), body("Changed")).await;
        life(&t, &owner, &format!("{path}/{id}")).await;
        let listed = read(&t, &owner, &format!("object_id={id}")).await;
        // The events of an organization go with it. The one above gets the event that it is gone.
        assert_eq!(types(&listed), [format!("{family}.destroyed")]);
        assert_eq!(listed[0]["data"]["name"], "Changed");
        assert_eq!(listed[0]["subject"], Value::Null);
    }
    let body = |name: &str| json!({"email": "m@example.org", "name": name, "user_role_ids": ["reader"], "organization_id": customer});
    let user = act(&t, &owner, "POST", "/users", body("New")).await["id"].as_str().unwrap().to_owned();
    act(&t, &owner, "PUT", &format!("/users/{user}"), body("Changed")).await;
    life(&t, &owner, &format!("/users/{user}")).await;
    let body = |name: &str| json!({"name": name, "organization_id": customer});
    let system = act(&t, &owner, "POST", "/systems", body("New")).await["id"].as_str().unwrap().to_owned();
    act(&t, &owner, "PUT", &format!("/systems/{system}"), json!({"name": "Changed"})).await;
    life(&t, &owner, &format!("/systems/{system}")).await;
    for (kind, id) in [("user", &user), ("system", &system)] {
        let listed = read(&t, &owner, &format!("object_id={id}")).await;
        let expected: Vec<String> = LIFE.iter().map(|what| format!("{kind}.{what}")).collect();
        assert_eq!(types(&listed), expected);
        assert_eq!(listed[1]["data"]["changed"], json!(["name"]));
        let numbers: Vec<u64> =
            listed.iter().map(|e| e["sequence"].as_str().unwrap().parse().unwrap()).collect();
        assert!(numbers.is_sorted() && numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
        let event = &listed[0];
        assert_eq!(event["specversion"], "1.0");
        assert_eq!(event["subject"], format!("/{kind}s/{id}"));
        assert_eq!((&event["time"], &event["data"]["id"]), (&event["timestamp"], &json!(id)));
        assert_eq!(event["data"]["organization_id"], json!(customer));
        assert!(!event.to_string().contains("m@example.org"), "{event}");
    }
    let one = format!("types=system.deleted&object_id={system}");
    assert_eq!(types(&read(&t, &owner, &one).await), ["system.deleted"]);
});

api_test!(registration_inventory_applications_links_and_alerts_are_events, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let body = json!({"name": "Gate", "organization_id": tree.customer});
    let made = act(&t, &owner, "POST", "/systems", body).await;
    let (id, secret) = (made["id"].as_str().unwrap(), made["system_secret"].as_str().unwrap());
    let body = json!({"system_secret": secret});
    let key =
        t.post("/api/systems/register").json(body).send().await.expect(200).data()["system_key"].clone();
    let key = key.as_str().unwrap();
    for version in ["1", "1", "2"] {
        let document = json!({"installation": "nethserver", "facts": {"cluster": {"fqdn": "a.example", "version": version},
            "modules": [{"id": "mail1", "module": "mail", "name": "Mail", "version": version}]}});
        t.post("/api/systems/inventory").basic(key, secret).json(document).send().await;
        t.advance(Duration::from_secs(1));
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
    }
    let push = |end: Option<&str>| {
        let mut alert = json!([{"labels": {"alertname": "DiskFull", "severity": "warning"}, "annotations": {"summary": "no"}}]);
        if let Some(end) = end {
            alert[0]["endsAt"] = json!(end);
        }
        t.post("/services/mimir/alertmanager/api/v2/alerts").basic(key, secret).json(alert)
    };
    for _ in 0..3 {
        push(None).send().await.expect(200);
    }
    push(Some(&t.app.platform.now().rfc3339(0))).send().await.expect(200);
    t.post("/api/systems/heartbeat").basic(key, secret).send().await.expect(200);
    t.advance(Duration::from_secs(21 * 60));
    liveness_monitor::check(&t.app.alerts).await.unwrap();
    t.advance(Duration::from_secs(6 * 60));
    liveness_monitor::check(&t.app.alerts).await.unwrap();
    t.post("/api/systems/heartbeat").basic(key, secret).send().await.expect(200);
    liveness_monitor::check(&t.app.alerts).await.unwrap();
    let listed = read(&t, &owner, "types=system.*&types=inventory.*&types=alert.*&types=application.*").await;
    let mut kinds = types(&listed);
    // An alert about the link is one like any other.
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        [
            "alert.firing",
            "alert.firing",
            "alert.resolved",
            "alert.resolved",
            "application.found",
            "application.updated",
            "inventory.changed",
            "system.created",
            "system.link_failed",
            "system.link_restored",
            "system.registered",
        ],
        "{listed:#?}"
    );
    let event_of = |kind: &str| listed.iter().find(|event| event["type"] == kind).unwrap();
    assert_eq!(event_of("system.registered")["data"]["name"], "Gate");
    assert_eq!(event_of("inventory.changed")["data"]["system_name"], "Gate");
    assert_eq!(event_of("inventory.changed")["data"]["system_id"], id);
    assert_eq!(event_of("alert.firing")["data"]["alertname"], "DiskFull");
    assert_eq!(event_of("alert.firing")["subject"], format!("/systems/{id}/alerts/history"));
    assert_eq!(event_of("application.found")["data"]["module_id"], "mail1");
    assert!(!json!(listed).to_string().contains(secret));
    for event in &listed {
        assert_eq!(event["data"]["organization_id"], json!(tree.customer), "{event}");
    }
});

api_test!(impersonation_events_do_not_name_the_impersonator, |t| async move {
    let tree = t.tree().await;
    let (owner, user) = (t.owner().await, t.user(tree.customer, &["reader"]).await);
    let admin = t.user(tree.customer, &["admin"]).await;
    act(&t, &user, "POST", "/impersonate/consent", json!({"duration_hours": 1})).await;
    let started = act(&t, &owner, "POST", "/impersonate", json!({"user_id": user.id})).await;
    let token = started["token"].as_str().unwrap();
    t.delete("/api/impersonate").bearer(token).send().await.expect(200);
    act(&t, &user, "DELETE", "/impersonate/consent", Value::Null).await;
    let listed = read(&t, &admin, "types=impersonation.*").await;
    let expected = [
        "impersonation.consented",
        "impersonation.started",
        "impersonation.ended",
        "impersonation.consent_withdrawn",
    ];
    assert_eq!(types(&listed), expected);
    assert_eq!(listed[2]["data"]["cause"], "exit");
    assert!(!json!(listed).to_string().contains(&owner.id.to_string()));
});

api_test!(events_are_read_with_present_permissions_only, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let people =
        [tree.distributor, tree.reseller, tree.customer, tree.other_distributor, tree.other_customer];
    let mut admins = Vec::new();
    for organization in people {
        admins.push(t.user(organization, &["admin"]).await);
    }
    let [distributor, reseller, customer, other, other_customer] = &admins[..] else { panic!() };
    let body = json!({"name": "Gate", "organization_id": tree.customer});
    let made = act(&t, &owner, "POST", "/systems", body).await;
    let (id, secret) = (made["id"].as_str().unwrap(), made["system_secret"].as_str().unwrap());
    t.post("/api/systems/register").json(json!({"system_secret": secret})).send().await.expect(200);
    let mine = format!("object_id={id}");
    for who in [&owner, distributor, reseller, customer] {
        assert_eq!(types(&read(&t, who, &mine).await), ["system.created", "system.registered"]);
    }
    for who in [other, other_customer] {
        assert!(read(&t, who, &mine).await.is_empty());
    }
    // The system moves to another branch. The organizations that had it read that it has left, and nothing else of it
    // any more. The organizations that have it now read nothing of the time before.
    let body = json!({"organization_id": tree.other_customer});
    act(&t, &owner, "PUT", &format!("/systems/{id}"), body).await;
    let expected = ["system.created", "system.registered", "system.left", "system.reassigned"];
    assert_eq!(types(&read(&t, &owner, &mine).await), expected);
    for who in [distributor, reseller, customer] {
        let listed = read(&t, who, &mine).await;
        assert_eq!(types(&listed), ["system.left"]);
        assert!(!listed[0].to_string().contains(&tree.other_customer.to_string()));
    }
    for who in [other, other_customer] {
        let listed = read(&t, who, &mine).await;
        assert_eq!(types(&listed), ["system.reassigned"]);
        assert!(!listed[0].to_string().contains(&tree.customer.to_string()));
    }
});

api_test!(permissions_are_those_of_the_resources, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    act(&t, &owner, "PATCH", &format!("/customers/{}/suspend", tree.customer), Value::Null).await;
    act(&t, &owner, "PATCH", &format!("/customers/{}/reactivate", tree.customer), Value::Null).await;
    let support = t.user(tree.customer, &["support"]).await;
    let body = json!({"email": "m@example.org", "name": "M", "user_role_ids": ["reader"], "organization_id": tree.customer});
    act(&t, &owner, "POST", "/users", body).await;
    act(&t, &owner, "POST", "/systems", json!({"name": "Gate", "organization_id": tree.customer})).await;
    // Support reads systems, not users; and its own organization, without a permission.
    let listed = read(&t, &support, "").await;
    assert_eq!(types(&listed), ["customer.suspended", "customer.reactivated", "system.created"]);
    let reader = t.user(tree.reseller, &["reader"]).await;
    let expected = ["customer.suspended", "customer.reactivated", "user.created", "system.created"];
    assert_eq!(types(&read(&t, &reader, "").await), expected);
    let (_, key) = t.api_key(reader.id, KeyMode::Read).await;
    let reply =
        t.get("/api/events").bearer(&key).send().await.expect_message(200, "events retrieved successfully");
    assert_eq!(reply.data()["pagination"]["total_count"], 4);
    assert_eq!(reply.data()["events"][0]["type"], "system.created", "the newest first");
    // Filters narrow; unknown values match nothing.
    for (query, count) in [
        ("types=user.created", 1),
        ("types=user.*&types=system.created", 2),
        ("types=nonsense", 0),
        ("types=*", 4),
        ("object_id=x", 0),
        ("after=x", 0),
        ("after=0", 4),
        ("organization_id=x", 0),
    ] {
        assert_eq!(read(&t, &reader, query).await.len(), count, "{query}");
    }
    let all = read(&t, &reader, "").await;
    let after = all[1]["sequence"].as_str().unwrap();
    let page = t
        .get(&format!("/api/events?after={after}&page_size=1"))
        .bearer(&reader.token)
        .send()
        .await
        .expect(200);
    assert_eq!(page.data()["events"][0], all[2]);
    assert_eq!(page.data()["pagination"]["total_count"], 2);
});

fn event(organization: OrgId, name: &str) -> NewEvent {
    NewEvent {
        at: bailiwick_domain::Ts(0),
        kind: bailiwick_domain::EventTopic::System.kind(bailiwick_domain::Happening::Updated),
        organization: Some(organization),
        about: About::Organization,
        object_id: name.to_owned(),
        subject: None,
        data: json!({}),
    }
}

/// On PostgreSQL the first to ask a sequence may be the last to commit. SQLite has one writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_misses_no_event_that_commits_later() {
    let t = Test::start(Engine::Postgres, |_| {}).await;
    let owner = t.owner().await;
    let mut early = t.app.platform.db.begin().await.unwrap();
    bailiwick_store::events::write(&mut early, &[event(owner.org, "early")]).await.unwrap();
    let mut late = t.app.platform.db.begin().await.unwrap();
    bailiwick_store::events::write(&mut late, &[event(owner.org, "late")]).await.unwrap();
    late.commit().await.unwrap();
    let events = read(&t, &owner, "").await;
    assert_eq!(events.len(), 1);
    early.commit().await.unwrap();
    let after = events[0]["sequence"].as_str().unwrap();
    assert_eq!(read(&t, &owner, &format!("after={after}")).await.len(), 1);
}

/// Of two processes that number at the same moment one leaves it to the other, and no event gets two numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_number_together() {
    let t = Test::start(Engine::Postgres, |_| {}).await;
    let (other, owner) = (t.replica().await, t.owner().await);
    let write = async |t: &Test, name: &str| {
        for n in 0..50 {
            let mut tx = t.app.platform.db.begin().await.unwrap();
            bailiwick_store::events::write(&mut tx, &[event(owner.org, &format!("{name}{n}"))])
                .await
                .unwrap();
            tx.commit().await.unwrap();
            events::number_all(&t.app.events).await.unwrap();
        }
    };
    tokio::join!(write(&t, "a"), write(&other, "b"));
    let listed = read(&t, &owner, "").await;
    let numbers: Vec<String> = listed.iter().map(|e| e["sequence"].as_str().unwrap().to_owned()).collect();
    assert_eq!(numbers, (1..=100).map(|n| n.to_string()).collect::<Vec<_>>());
}

// The moment of an event decides which organizations it belongs to, not the moment at which it gets its number.
api_test!(events_of_destroyed_or_moved_objects_keep_their_state, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let admin = t.user(tree.customer, &["admin"]).await;
    let other = t.user(tree.other_customer, &["admin"]).await;
    let gone = t.user(tree.customer, &["admin"]).await;
    let system = t.system(tree.customer).await;
    let application = t.application(&system).await;
    settle(&t).await;
    let body = json!({"duration_hours": 2});
    let consent = t.post("/api/impersonate/consent").bearer(&gone.token).json(body);
    consent.send().await.expect(200);
    act(&t, &owner, "PUT", &format!("/applications/{application}"), json!({"notes": "of the first owner"}))
        .await;
    act(
        &t,
        &owner,
        "PUT",
        &format!("/systems/{}", system.id),
        json!({"organization_id": tree.other_customer}),
    )
    .await;
    act(&t, &owner, "DELETE", &format!("/users/{}", gone.id), Value::Null).await;
    act(&t, &owner, "DELETE", &format!("/users/{}/destroy", gone.id), Value::Null).await;
    let listed = read(&t, &admin, "types=impersonation.*").await;
    assert_eq!(types(&listed), ["impersonation.consented"]);
    let of_applications = read(&t, &other, "types=application.*").await;
    assert!(of_applications.is_empty(), "{of_applications:?}");
});

api_test!(a_reader_is_warned_of_removed_events, |settings| settings.events.most = 1, |t| async move {
    let owner = t.owner().await;
    let system = t.system(t.tree().await.customer).await.id.to_string();
    for name in ["A", "B", "C"] {
        act(&t, &owner, "PUT", &format!("/systems/{system}"), json!({"name": name})).await;
    }
    settle(&t).await;
    let page = async || act(&t, &owner, "GET", "/events?after=0", Value::Null).await;
    assert_eq!(page().await["removed_up_to"], "0");
    events::purge(&t.app.events).await.unwrap();
    let page = page().await;
    let first: u64 = page["events"][0]["sequence"].as_str().unwrap().parse().unwrap();
    assert_eq!(page["removed_up_to"], (first - 1).to_string());
});

// Whoever causes many events loses their own.
api_test!(
    no_organization_pushes_out_the_events_of_another,
    |settings| settings.events.most = 50,
    |t| async move {
        let (owner, tree) = (t.owner().await, t.tree().await);
        let quiet = t.user(tree.other_customer, &["admin"]).await;
        let loud = t.user(tree.customer, &["admin"]).await;
        let body = |name: &str| json!({"description": name});
        let few = format!("/customers/{}", tree.other_customer);
        for n in 0..5 {
            act(&t, &owner, "PUT", &few, body(&n.to_string())).await;
        }
        let before = read(&t, &quiet, "").await;
        assert!(before.len() >= 5);
        let all: Vec<NewEvent> = (0..300)
            .map(|n| NewEvent { at: t.app.platform.now(), ..event(tree.customer, &n.to_string()) })
            .collect();
        let mut tx = t.app.platform.db.begin().await.unwrap();
        bailiwick_store::events::write(&mut tx, &all).await.unwrap();
        tx.commit().await.unwrap();
        settle(&t).await;
        assert!(events::purge(&t.app.events).await.unwrap() >= 250);
        assert_eq!(read(&t, &quiet, "").await, before);
        let page = async |who| act(&t, who, "GET", "/events?sort_direction=asc", Value::Null).await;
        let (of_quiet, of_loud) = (page(&quiet).await, page(&loud).await);
        assert_eq!(of_quiet["removed_up_to"], "0", "nothing of theirs is gone");
        let first: u64 = of_loud["events"][0]["sequence"].as_str().unwrap().parse().unwrap();
        assert_eq!(of_loud["removed_up_to"], (first - 1).to_string());
        assert_eq!(page(&owner).await["removed_up_to"], of_loud["removed_up_to"]);
        let left =
            Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM events").count(&t.app.platform.db).await.unwrap();
        assert_eq!(left, 50);
        assert_eq!(events::purge(&t.app.events).await.unwrap(), 0);
    }
);

api_test!(
    events_go_by_age_and_by_number_and_with_their_organization,
    |settings| settings.events.most = 5,
    |t| async move {
        let owner = t.owner().await;
        let tree = t.tree().await;
        let write = async |count: usize, organization: OrgId| {
            let now = t.app.platform.now();
            let all: Vec<NewEvent> =
                (0..count).map(|n| NewEvent { at: now, ..event(organization, &n.to_string()) }).collect();
            let mut tx = t.app.platform.db.begin().await.unwrap();
            bailiwick_store::events::write(&mut tx, &all).await.unwrap();
            tx.commit().await.unwrap();
            settle(&t).await;
        };
        write(8, tree.customer).await;
        assert_eq!(events::purge(&t.app.events).await.unwrap(), 3);
        assert_eq!(read(&t, &owner, "").await.len(), 5);
        t.advance(Duration::from_secs(31 * 86_400));
        write(2, tree.other_customer).await;
        assert_eq!(events::purge(&t.app.events).await.unwrap(), 5);
        let owner = t.owner().await;
        assert_eq!(read(&t, &owner, "").await.len(), 2);
        act(&t, &owner, "DELETE", &format!("/customers/{}/destroy", tree.other_customer), Value::Null).await;
        assert_eq!(types(&read(&t, &owner, "").await), ["customer.destroyed"]);
        // An event of an organization that is gone meanwhile is dropped.
        write(1, tree.other_customer).await;
        let left = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM event_outbox")
            .count(&t.app.platform.db)
            .await
            .unwrap();
        assert_eq!((left, read(&t, &owner, "").await.len()), (0, 1));
        let query = events::ListQuery {
            page: bailiwick_domain::PageRequest::parse(None, None, 20),
            types: vec!["*".to_owned(); 101],
            organization_id: vec![],
            with_descendants: false,
            object_id: vec![],
            after: None,
            direction: SortDirection::Asc,
        };
        assert!(
            events::list(&t.app.events, &bailiwick_policy::Caller::Worker, query).await.is_err(),
            "too many patterns"
        );
    }
);
