//! Leases of a process that has died, on SQLite.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_domain::{OrgId, Ts};
use bailiwick_store::{
    Db, Options,
    alert_queue::{self, NewQueued},
    alert_tenants::{self, Whose},
    lease_recovery,
    sql::Q,
};
use uuid::Uuid;

#[tokio::test]
async fn alerts_and_configurations_for_a_remote_router_need_not_wait_for_the_end_of_dead_leases() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("t.db").display());
    let db = Db::open(&Options::new(url)).await.unwrap();
    db.migrate().await.unwrap();
    let (tenant, now, until) = (OrgId(Uuid::from_u128(1)), Ts(10), Ts(100));
    let mut tx = db.begin().await.unwrap();
    let owner = "INSERT INTO organizations (id, type, p2, p3, name, name_key, custom_data, search_key, created_at, \
         updated_at) VALUES (?, 'owner', ?, ?, 'O', 'o', '{}', 'o', ?, ?)";
    let q = Q::new(owner).bind(tenant).bind(tenant).bind(tenant).bind(now).bind(now);
    q.run(&mut tx).await.unwrap();
    let alert =
        NewQueued { fingerprint: "f".to_owned(), system_key: "s".to_owned(), payload: "{}".to_owned() };
    alert_queue::put(&mut tx, tenant, &[alert], now, now).await.unwrap();
    alert_tenants::make(&mut tx, tenant, now).await.unwrap();
    tx.commit().await.unwrap();
    let claim = async || {
        let alerts = alert_queue::claim(&db, tenant, now, until, 9).await.unwrap().alerts.len();
        (alerts, alert_tenants::claim(&db, Whose::All, now, until, 9).await.unwrap().len())
    };
    assert_eq!(claim().await, (1, 1));
    assert_eq!(claim().await, (0, 0));

    let mut tx = db.begin().await.unwrap();
    lease_recovery::release_all(&mut tx, now).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(claim().await, (1, 1));
}
