//! What another change than its own leaves in the cache. Rows that are changed without an epoch show that an answer was not
//! made again.

use super::*;
use crate::{alerts::written, proxy::Client};

/// Changes rows without moving an epoch.
async fn change_unseen(t: &Test, sql: &str) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert!(Q::new(sql).run(&mut tx).await.unwrap() > 0, "{sql}");
    tx.commit().await.unwrap();
}

/// A change of a system that is of no concern to figures of alerts, creators and trends.
async fn rename(t: &Test, who: &Persona, path: &str, name: &str) {
    t.put(path).bearer(&who.token).json(json!({"name": name})).send().await.expect(200);
}

api_test!(a_change_of_a_system_leaves_figures_that_do_not_depend_on_its_columns, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let client = Client { test: &t, system: t.system(tree.customer).await };
    let made = json!({"name": "One", "organization_id": tree.customer.to_string()});
    t.post("/api/systems").bearer(&owner.token).json(made).send().await.expect(201);
    let alert = json!([{"labels": {"alertname": "A", "severity": "critical"}}]);
    client.push(&alert.to_string()).await.expect(200);
    written(&t).await;
    let paths = ["/api/alerts/totals", "/api/systems/trend?period=7"];
    let creators = async || -> Vec<Value> {
        let filters = t.get("/api/filters/systems").bearer(&owner.token).send().await.expect(200).data();
        filters["created_by"].as_array().unwrap().iter().map(|creator| creator["name"].clone()).collect()
    };
    let (before, creator_names) = (ask(&t, &owner, &paths).await, creators().await);
    assert_eq!((&before[0]["critical"], creator_names.is_empty()), (&json!(1), false));
    change_unseen(&t, "UPDATE alert_history SET severity = 'warning'").await;
    change_unseen(
        &t,
        "UPDATE systems SET created_at = [[created_at - INTERVAL '72 hours'||created_at - 259200000000]]",
    )
    .await;
    let word = "[[jsonb_set(created_by, '{name}', '\"Other\"')||json_set(created_by, '$.name', 'Other')]]";
    let renamed = format!("UPDATE systems SET created_by = {word} WHERE creator_user_id IS NOT NULL");
    change_unseen(&t, &renamed).await;
    rename(&t, &owner, &format!("/api/systems/{}", client.system.id), "Renamed").await;
    assert_eq!((ask(&t, &owner, &paths).await, creators().await), (before.clone(), creator_names.clone()));
    // One system more concerns them all.
    t.system(tree.customer).await;
    // Ids of one millisecond have no order, so any of the systems may be the one that names its creator.
    change_unseen(&t, &renamed).await;
    let after = ask(&t, &owner, &paths).await;
    assert!(after[0] != before[0] && after[1] != before[1], "{after:?}");
    assert_eq!(creators().await, ["Other"]);
});

api_test!(a_trend_forgets_a_deleted_system_that_is_destroyed, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await.id);
    let path = format!("/api/systems/{}", t.system(tree.customer).await.id);
    let trend = async |t: &Test| {
        let owner = t.session(owner).await;
        t.get("/api/systems/trend?period=7").bearer(&owner.token).send().await.expect(200).data()
    };
    let replica = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let processes: Vec<&Test> = std::iter::once(&t).chain(&replica).collect();
    t.advance(Duration::from_secs(3 * 86_400));
    let owner = t.session(owner).await;
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    for process in &processes {
        assert!(trend(process).await.to_string().contains("\"count\":1"), "it was there yesterday");
    }
    t.delete(&format!("{path}/destroy")).bearer(&owner.token).send().await.expect(200);
    for process in processes {
        assert!(!trend(process).await.to_string().contains("\"count\":1"), "it was never there");
    }
});
