//! The configuration in force for a tenant, and the version that changes with it.

use bailiwick_alertmanager::config::Layer;
use bailiwick_alerts::config;
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Test, api_test};
use serde_json::{Value, json};

/// A layer with one mail recipient and one webhook.
fn layer(name: &str) -> Value {
    json!({
        "enabled": {"email": true, "webhook": true},
        "email_recipients": [{"address": format!("{name}@example.org")}],
        "webhook_recipients": [{"name": name, "url": format!("https://example.org/{name}")}],
    })
}

/// The names of the recipients of a tenant's alerts.
async fn recipients(t: &Test, tenant: OrgId) -> String {
    let effective = config::effective(&t.app.alerts, &t.app.platform.db, &[tenant]).await.expect("a read");
    names(effective.get(&tenant).expect("the tenant"))
}

fn names(layer: &Layer) -> String {
    let channels = &layer.channels;
    let mails = channels.email_recipients.iter().map(|r| r.address.trim_end_matches("@example.org"));
    let hooks = channels.webhook_recipients.iter().map(|r| r.url.trim_start_matches("https://example.org/"));
    assert!(mails.clone().eq(hooks), "one of each: {layer:?}");
    mails.collect::<Vec<_>>().join(" ")
}

// Proves spec: acceptance#scenarios 34.
api_test!(layers_are_merged_from_the_owner_down_and_kept_sealed, |t| async move {
    let tree = t.tree().await;
    let direct = t.organization(tree.owner, OrgType::Customer, "Direct").await;
    for (org, name) in [
        (tree.owner, "owner"),
        (tree.distributor, "distributor"),
        (tree.reseller, "reseller"),
        (tree.customer, "customer"),
        (tree.other_customer, "other"),
        (direct, "direct"),
    ] {
        t.alert_layer(org, layer(name)).await;
    }
    let expected = [
        (tree.owner, "owner"),
        (tree.distributor, "owner distributor"),
        (tree.reseller, "owner distributor reseller"),
        (tree.customer, "owner distributor reseller customer"),
        (tree.other_reseller, "owner"),
        (tree.other_customer, "owner other"),
        (direct, "owner direct"),
    ];
    for (tenant, names) in expected {
        assert_eq!(recipients(&t, tenant).await, names);
    }
    let all: Vec<OrgId> = expected.iter().map(|(id, _)| *id).chain([t.app.platform.fresh()]).collect();
    let together = config::effective(&t.app.alerts, &t.app.platform.db, &all).await.unwrap();
    assert_eq!(together.len(), expected.len(), "the unknown one is left out");
    for (tenant, wanted) in expected {
        assert_eq!(names(&together[&tenant]), wanted);
    }
    let plans = config::plans(&t.app.alerts, &all).await.unwrap();
    let plan = config::plan(&t.app.alerts, direct).await.unwrap().unwrap();
    assert_eq!(plans[&direct], plan);
    assert!(plan.receiver(&format!("{direct}-severity-info-receiver")).is_some());
    assert!(config::plan(&t.app.alerts, t.app.platform.fresh()).await.unwrap().is_none());

    let stored: Vec<(String,)> =
        Q::new("SELECT CAST(layer AS TEXT) FROM alert_layers").all(&t.app.platform.db).await.unwrap();
    assert_eq!(stored.len(), 6);
    assert!(stored.iter().all(|(text,)| !text.contains("https://")), "webhooks are sealed");
});

api_test!(suspension_deletion_and_moves_change_recipients_and_the_version, |t| async move {
    let tree = t.tree().await;
    for (org, name) in [
        (tree.owner, "owner"),
        (tree.distributor, "distributor"),
        (tree.reseller, "reseller"),
        (tree.customer, "customer"),
    ] {
        t.alert_layer(org, layer(name)).await;
    }
    let owner = t.owner().await;
    let mut version = config::version(&t.app.alerts).await.unwrap();
    let act = async |method: &str, path: String| {
        let call = if method == "DELETE" { t.delete(&path) } else { t.patch(&path) };
        call.bearer(&owner.token).send().await.expect(200);
    };
    let all = "owner distributor reseller customer";
    for (method, path, names) in [
        ("PATCH", format!("/api/resellers/{}/suspend", tree.reseller), "owner distributor"),
        ("PATCH", format!("/api/resellers/{}/reactivate", tree.reseller), all),
        ("DELETE", format!("/api/distributors/{}", tree.distributor), "owner"),
        ("PATCH", format!("/api/distributors/{}/restore", tree.distributor), all),
        ("PATCH", format!("/api/customers/{}/suspend", tree.customer), "owner distributor reseller"),
        ("PATCH", format!("/api/customers/{}/reactivate", tree.customer), all),
    ] {
        act(method, path.clone()).await;
        assert_eq!(recipients(&t, tree.customer).await, names, "{method} {path}");
        let moved = config::version(&t.app.alerts).await.unwrap();
        assert!(moved > version, "{method} {path}");
        version = moved;
    }
    t.patch(&format!("/api/resellers/{}/promote", tree.reseller))
        .bearer(&owner.token)
        .send()
        .await
        .expect(200);
    assert_eq!(recipients(&t, tree.customer).await, "owner reseller customer");
    assert!(config::version(&t.app.alerts).await.unwrap() > version);

    version = config::version(&t.app.alerts).await.unwrap();
    t.organization(tree.owner, OrgType::Customer, "Another").await;
    t.user(tree.customer, &["admin"]).await;
    assert_eq!(config::version(&t.app.alerts).await.unwrap(), version, "the recipients have not changed");
    t.alert_layer(tree.customer, layer("new")).await;
    assert_eq!(recipients(&t, tree.customer).await, "owner reseller new");
    assert!(config::version(&t.app.alerts).await.unwrap() > version);
});
