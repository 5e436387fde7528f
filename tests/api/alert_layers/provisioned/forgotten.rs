//! Idle tenants whose configuration is removed from the router, and what keeps one there.

use super::*;

api_test!(the_liveness_alert_of_a_forgotten_tenant_is_resolved, |t| async move {
    let router = Configurations::start().await.unwrap();
    let t = with_router(&t, router.url()).await;
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    t.advance(Duration::from_secs(1200));
    assert_eq!(liveness_monitor::check(&t.app.alerts).await.unwrap().posted, 1);
    router.wait_until("it is made", |r| r.of(tree.customer).is_some()).await.unwrap();
    let owner = t.owner().await;
    let path = format!("/api/customers/{}/destroy", tree.customer);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    router.wait_until("it is forgotten", |r| r.of(tree.customer).is_none()).await.unwrap();
    // The router does not know the tenant, and the organization has no queue any more.
    let resolved = async || liveness_monitor::check(&t.app.alerts).await.unwrap().resolved;
    assert_eq!((resolved().await, resolved().await), (1, 0));
    assert_eq!(waiting_alerts(&t).await, 0);
});

api_test!(an_idle_tenant_is_forgotten_and_made_again, |t| async move {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let router = Configurations::start().await.unwrap();
    let t = with_router(&t, router.url()).await;
    let tree = t.tree().await;
    make_all(&t).await;
    let system = t.system(tree.customer).await;
    // It begins and ends, so that only the history knows of it.
    let push_alert = async |ends: Option<String>| {
        let mut alert = json!({"labels": {"alertname": "DiskFull", "severity": "critical"}});
        if let Some(ends) = ends {
            alert["endsAt"] = json!(ends);
        }
        t.post(ALERTS).basic(&system.key, &system.secret).json(json!([alert])).send().await.expect(200);
    };
    t.advance(29 * DAY);
    push_alert(None).await;
    let count = async |status: &str| -> i64 {
        let text = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_history WHERE status = ?";
        let (n,): (i64,) = Q::new(text).bind(status).one(&t.app.platform.db).await.unwrap();
        n
    };
    eventually("the history has the alert", async || count("firing").await == 1).await;
    t.advance(Duration::from_secs(60));
    push_alert(Some(t.app.platform.now().rfc3339(0))).await;
    eventually("the history has its end", async || count("firing").await == 0).await;
    t.advance(2 * DAY);
    let pruned = async |apply| config::prune(&t.app.alerts, 30 * DAY, apply).await.unwrap().unwrap();
    let listed = pruned(false).await;
    assert_eq!((listed.idle.len(), listed.kept.len()), (6, 0), "{listed:?}");
    assert!(listed.idle.iter().all(|(id, _)| *id != tree.customer));
    push(&t).await;
    assert_eq!(router.count(), 7, "a dry run");
    // One whose alert comes before the router has forgotten it.
    router.fail_by(|_| Some(Answer::status(500)));
    assert_eq!(pruned(true).await.idle.len(), 6);
    let late = t.system(tree.reseller).await;
    let alert = json!([{"labels": {"alertname": "DiskFull", "severity": "critical"}}]);
    t.post(ALERTS).basic(&late.key, &late.secret).json(alert).send().await.expect(200);
    at_rest(&t).await;
    router.recover();
    t.advance(Duration::from_secs(3600));
    push(&t).await;
    eventually("the others are forgotten", async || router.count() == 2).await;
    assert!(router.of(tree.customer).is_some() && router.of(tree.reseller).is_some());
    let other = t.system(tree.other_customer).await;
    let alert = json!([{"labels": {"alertname": "DiskFull", "severity": "critical"}}]);
    t.post(ALERTS).basic(&other.key, &other.secret).json(alert).send().await.expect(200);
    router.wait_until("it is made again", |r| r.of(tree.other_customer).is_some()).await.unwrap();
});

api_test!(a_tenant_in_which_something_is_in_force_is_kept, |t| async move {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let router = Recorder::start(|_| Answer::status(201)).await.unwrap();
    let t = with_router(&t, router.url()).await;
    let tree = t.tree().await;
    make_all(&t).await;
    t.advance(31 * DAY);
    let silence = |state: &str| {
        json!([{"id": "00000000-0000-4000-8000-000000000001", "status": {"state": state}, "comment": "c", "createdBy": "t",
            "updatedAt": "2026-03-04T09:00:00.000Z", "startsAt": "2026-03-04T09:00:00.000Z",
            "endsAt": "2036-03-04T12:00:00.000Z",
            "matchers": [{"name": "a", "value": "b", "isRegex": false, "isEqual": true}]}])
    };
    let alert = json!([{"labels": {"alertname": "A"}, "annotations": {}, "fingerprint": "0123456789abcdef", "receivers": [],
        "status": {"state": "active", "silencedBy": [], "inhibitedBy": []}, "updatedAt": "2026-03-04T09:00:00.000Z",
        "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2036-03-04T12:00:00.000Z"}]);
    let [silenced, over, firing, away] =
        [tree.customer, tree.reseller, tree.other_customer, tree.other_reseller].map(|id| id.to_string());
    router.answer_by(move |request| {
        let tenant = request.value("x-scope-orgid").unwrap_or_default();
        match request.path.rsplit('/').next() {
            _ if tenant == away => Answer::status(500),
            Some("silences") if tenant == silenced => Answer::json(200, &silence("active")),
            Some("silences") if tenant == over => Answer::json(200, &silence("expired")),
            Some("alerts") if tenant == firing => Answer::json(200, &alert),
            _ => Answer::json(200, &json!([])),
        }
    });
    let pruned = config::prune(&t.app.alerts, 30 * DAY, true).await.unwrap().unwrap();
    let mut kept: Vec<(OrgId, &str)> = pruned.kept.iter().map(|(id, why)| (*id, why.as_str())).collect();
    kept.sort_unstable_by_key(|(id, _)| {
        [tree.customer, tree.other_customer, tree.other_reseller].iter().position(|o| o == id)
    });
    assert_eq!(kept.len(), 3, "{pruned:?}");
    assert_eq!(kept[0], (tree.customer, "a silence is in force"));
    assert_eq!(kept[1], (tree.other_customer, "the router has alerts"));
    assert!(
        kept[2].0 == tree.other_reseller && kept[2].1.starts_with("the router does not tell"),
        "{kept:?}"
    );
    assert_eq!(pruned.idle.len(), 4);
    let (going,): (i64,) = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM alert_tenants WHERE is_gone = TRUE")
        .one(&t.app.platform.db)
        .await
        .unwrap();
    assert!(going <= 4, "{going} are forgotten");
});
