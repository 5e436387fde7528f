//! Notifications and the destruction of the organization they are about, at the same moment.

use super::*;
use crate::impersonation::let_wait_in;
use bailiwick_domain::OrgId;
use bailiwick_store::delivery;
use bailiwick_testkit::Persona;

async fn destroy(t: &Test, owner: &Persona, customer: OrgId) {
    t.delete(&format!("/api/customers/{customer}/destroy")).bearer(&owner.token).send().await.expect(200);
}

on_both!(
    whoever_destroys_a_tenant_waits_for_what_is_written_about_it_and_holds_nothing_of_it,
    |engine| async {
        let test = DeliveryTest::start(engine).await;
        test.push(&["/a"], None).await;
        test.after(MINUTE).await;
        let (t, tenant) = (&test.t, test.system_organization().await);
        let owner = t.owner().await;
        // As a process does that has a notification to send.
        let later = t.app.platform.now().plus(MINUTE * 60);
        let mut tx = t.begin_apart().await;
        let taken =
            delivery::acquire(&mut tx, t.app.platform.fresh(), later, later, &[tenant]).await.unwrap();
        assert_eq!(taken.len(), 1);
        let group = Q::new("INSERT INTO router_groups (organization_id, id, due_at) VALUES (?, 'x', ?)");
        let group = group.bind(tenant).bind(later);
        if engine == Engine::Postgres {
            // Not with its rows in hand.
            let_wait_in(tx, "SELECT id FROM organizations", group, destroy(t, &owner, tenant)).await;
        } else {
            let writing = async {
                group.run(&mut tx).await.unwrap();
                tx.commit().await.unwrap();
            };
            tokio::join!(destroy(t, &owner, tenant), writing);
        }
        let rest = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM router_tenants")
            .count(&t.app.platform.db)
            .await
            .unwrap();
        assert_eq!(rest, 0);
    }
);

on_both!(tenants_are_destroyed_while_their_alerts_are_sent, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let (t, owner) = (&test.t, test.t.owner().await);
    for round in 0..5 {
        let body = json!({"name": format!("Gone {round}"), "custom_data": {"vat": format!("G{round}")}});
        let made = t.post("/api/customers").bearer(&owner.token).json(body).send().await.expect(201).data();
        let tenant = OrgId(made["id"].as_str().unwrap().parse().unwrap());
        let system = t.system(tenant).await;
        t.alert_layer(tenant, test.layer()).await;
        let client = Client { test: t, system };
        let alerts: Vec<Value> = (0..20).map(|n| test.alert(&format!("/{n}"), None)).collect();
        client.push(&json!(alerts).to_string()).await.expect(200);
        t.advance(MINUTE);
        let (done, ()) = tokio::join!(notify::run_until_idle(&t.app.alerts), destroy(t, &owner, tenant));
        done.unwrap();
    }
});
